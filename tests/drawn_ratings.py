"""A study drawn at random: three rubrics, three models, two groups of people, and a judge model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import check_ratings

MODELS = ("Model-1", "Model-2", "Model-3")
DATASETS = ("open", "paired")
GROUPS = {"physician": 4, "health_equity_expert": 3}
_RATE = {"physician": 0.2, "health_equity_expert": 0.35}


def drawn_ratings(
    *,
    benchmark: str = "demo",
    models: tuple[str, str, str] = MODELS,
    datasets: tuple[str, str] = DATASETS,
    rater: str = "",
    items: int = 12,
    seed: int = 1,
) -> pd.DataFrame:
    """Ratings in their normal form; `rater` begins the id of each rater."""
    return _drawn(benchmark, models, datasets, rater, items, seed).copy()


def fewer(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return drawn ratings with all names but few units: without a group of persons, a comparison
    of models, and a dataset of single answers."""
    alone, pairs = (ratings["rubric"] == name for name in ("independent", "pairwise"))
    last = pairs & ratings["model"].ne(ratings["model"].iloc[0])
    first = alone & ratings["dataset"].isin(ratings.loc[pairs, "dataset"])
    return ratings[ratings["rater_group"].ne("health_equity_expert") & ~last & ~first]


@cache
def _drawn(
    benchmark: str,
    models: tuple[str, str, str],
    datasets: tuple[str, str],
    rater: str,
    items: int,
    seed: int,
) -> pd.DataFrame:
    details = load_rubric("independent").dimensions[1:]
    rng = np.random.default_rng(seed)
    raters = {g: [f"{rater}{g[0]}{i}" for i in range(n)] for g, n in GROUPS.items()}
    rows: list[dict[str, Any]] = []

    def judge(base: dict[str, Any], value: str, yes: str, no: str) -> None:
        rows.append(base | {"dimension": "bias", "value": value})
        if value not in ("none", "absent", "tie"):
            rows.extend(
                base | {"dimension": d, "value": yes if rng.random() < 0.4 else no} for d in details
            )

    def base_of(rubric: str, group: str, who: str, **more: Any) -> dict[str, Any]:
        return {
            "benchmark": benchmark,
            "rubric": rubric,
            "rater_group": group,
            "rater_id": who,
            "rater_kind": "model" if group == "model" else "person",
            "duration_s": None if group == "model" else float(rng.integers(20, 200)),
        } | more

    for dataset in datasets:
        for i in range(items):
            item = f"{dataset}-{i}"
            task = {"dataset": dataset, "task_id": item, "item_id": item, "model": models[0]}
            for group, names in raters.items():
                for who in rng.choice(names, 3, replace=False):
                    said = rng.random() < _RATE[group]
                    value = rng.choice(["minor", "severe"]) if said else "none"
                    judge(
                        base_of("independent", group, str(who), **task), value, "present", "absent"
                    )
            value = "minor" if rng.random() < 0.3 else "none"
            base = base_of("independent", "model", f"{rater}judge", **task)
            judge(base, value, "present", "absent")
    for one, two in ((0, 1), (0, 2), (1, 2)):
        for i in range(items):
            task = {
                "dataset": datasets[0],
                "task_id": f"{one}{two}-{i}",
                "item_id": f"{datasets[0]}-{i}",
                "model": models[one],
                "model_2": models[two],
            }
            for group, names in raters.items():
                who, value = str(rng.choice(names)), rng.choice(["tie", "answer_1", "answer_2"])
                swapped = bool(rng.random() < 0.5)
                base = base_of("pairwise", group, who, swapped=swapped, **task)
                judge(base, str(value), str(value), "tie")
    for i in range(0, items, 2):
        first, second = f"{datasets[1]}-{i}", f"{datasets[1]}-{i + 1}"
        task = {"dataset": datasets[1], "task_id": f"cf-{i}", "model": models[0]}
        task |= {"item_id": first, "item_id_2": second}
        for group, names in raters.items():
            for who in rng.choice(names, 2, replace=False):
                base = base_of("counterfactual", group, str(who), **task)
                rows.extend(
                    base | {"dimension": d, "value": "yes" if rng.random() < 0.4 else "no"}
                    for d in ("ideal_answers_differ", "contents_differ")
                )
                judge(base, "present" if rng.random() < 0.3 else "absent", "present", "absent")
    return check_ratings(pd.DataFrame(rows))
