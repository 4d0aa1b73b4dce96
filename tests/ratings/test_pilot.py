"""A pilot's design: shares of variance, and uninformative pilots."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats.inference.variance_components import variance_components
from fairstats.ratings.pilot import DESIGN_COLUMNS, design_from
from fairstats.ratings.planner import plan_ratings
from fairstats.ratings.table import check_ratings

DIMENSIONS = ("manage", "visit", "resource")


def pilot(said, *, group="physician", **facts):
    """Return ratings {task: {rater: 1, 0 or None}} by the triage rubric, the same in each
    dimension."""
    return pd.DataFrame(
        [
            {
                "benchmark": "demo",
                "rubric": "triage",
                "task_id": f"{task} {sorted(facts.items())}",
                "item_id": task,
                "rater_id": rater,
                "rater_group": group,
                "dimension": dimension,
                "value": {1: "yes", 0: "no", None: None}[value],
            }
            | facts
            for task, raters in said.items()
            for rater, value in raters.items()
            for dimension in DIMENSIONS
        ]
    )


def test_shares_rates_and_numbers():
    rng = np.random.default_rng(2)
    said = {
        f"t{i}": {f"r{j}": int(rng.random() < 0.2 + 0.5 * (i % 2)) for j in rng.choice(6, 3, False)}
        for i in range(40)
    }
    said["t0"]["r0"] = None
    table = design_from(check_ratings(pilot(said)))
    assert list(table.columns) == list(DESIGN_COLUMNS)
    assert table["dimension"].tolist() == list(DIMENSIONS)
    values = [(v, t, r) for t, raters in said.items() for r, v in raters.items() if v is not None]
    found = variance_components(*zip(*values, strict=True))
    row = table.iloc[0]
    assert row["rate"] == pytest.approx(np.mean([v for v, _, _ in values]))
    assert row["item_icc"] == pytest.approx(found.item_icc)
    assert row["item_icc"] > 0.1
    assert row["rater_sd"] ** 2 == pytest.approx(found.rater_icc * row["rate"] * (1 - row["rate"]))
    assert (row["n_items"], row["n_raters"], row["n_ratings"]) == (40, 6, len(values))
    # It can be planned from.
    plan = plan_ratings(
        rate=row["rate"],
        width=0.1,
        raters_per_item=3,
        item_icc=row["item_icc"],
        rater_icc=row["rater_icc"],
        n_raters=12,
    )
    assert float(plan.n_items) > 40


def test_uninformative_pilots_give_no_design():
    alike = design_from(check_ratings(pilot({"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 1}})))
    assert alike["item_icc"].isna().all() or (alike["item_icc"] == 0).all()
    assert (alike["method_note"] == "all ratings are the same").all()
    single = design_from(check_ratings(pilot({"a": {"x": 1}, "b": {"x": 0}, "c": {"y": 1}})))
    assert single["item_icc"].isna().all()
    assert single["method_note"].str.contains("variance of items").all()
    assert design_from(check_ratings(pilot({"a": {"x": None}}))).empty


def test_negative_variance_is_reported():
    said = {"a": {"x": 1, "y": 0}, "b": {"x": 0, "y": 1}}
    row = design_from(check_ratings(pilot(said))).iloc[0]
    assert (row["item_icc"], row["rater_icc"]) == (0, 0)
    assert row["design_effect"] == 1
    assert row["method_note"].count("set to 0") == 2


def test_persons_and_models_are_separate():
    people = pilot({"a": {"x": 1, "y": 0}, "b": {"x": 1, "y": 1}})
    models = pilot({"a": {"gpt": 1}, "b": {"gpt": 0}}, group="model", rater_kind="model").assign(
        task_id=lambda rows: rows["item_id"]
    )
    people = people.assign(task_id=people["item_id"], rater_kind="person")
    table = design_from(check_ratings(pd.concat([people, models])))
    assert table.groupby("rater_kind")["n_raters"].max().to_dict() == {"model": 1, "person": 2}


def test_clinicians(shared_data):
    data = pd.read_csv(shared_data("medperturb/dataset.csv"))
    parts = []
    for i in (1, 2, 3):
        parts.append(
            pd.DataFrame(
                {
                    "benchmark": "medperturb",
                    "dataset": data["dataset"],
                    "rubric": "triage",
                    "task_id": data.index.astype(str),
                    "item_id": data.index.astype(str),
                    "rater_id": data[f"Clinician_{i}"].astype(str),
                    "rater_group": "physician",
                }
                | {d: data[f"{d.upper()}_{i}"].map({0: "no", 1: "yes"}) for d in DIMENSIONS}
            )
        )
    wide = pd.concat(parts, ignore_index=True)
    wide["repeat"] = wide.groupby(["task_id", "rater_id"]).cumcount()
    long = wide.melt(
        id_vars=[c for c in wide if c not in DIMENSIONS], var_name="dimension", value_name="value"
    )
    table = design_from(check_ratings(long)).query("dataset == 'pooled'").set_index("dimension")
    assert (table["n_raters"] == 17).all()
    assert (table["n_ratings"] == 2400).all()
    # Of the correlation of two ratings of a message, directly: the mean over messages of products.
    for dimension in DIMENSIONS:
        said = data[[f"{dimension.upper()}_{i}" for i in (1, 2, 3)]].to_numpy()
        rest = said - said.mean()
        pairs = (rest.sum(axis=1) ** 2 - (rest**2).sum(axis=1)) / 6
        expected = pairs.mean() / said.var()
        assert table.loc[dimension, "item_icc"] == pytest.approx(expected, abs=0.03)
