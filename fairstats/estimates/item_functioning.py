"""Differential item functioning: the contribution of each item to the gap between two groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import named_in
from fairstats.answers.engine_frames import OpenAnswers, open_answers
from fairstats.benchmarks.declaration import BASELINE, Benchmark, MissingPolicy
from fairstats.counts.item_outcomes import crossed_patterns, item_patterns
from fairstats.counts.missing_policies import CountingPolicy, of_each_pattern
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.inference._checks import check_choice
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.multiplicity import adjust_pvalues

ItemTest = Literal["exact", "midp"]

_PAIR = ["benchmark", "benchmark_version", "attribute", "group_a", "group_b"]
_ITEM = [*_PAIR, "item_id"]
_SET = [*_PAIR, "model", "strategy"]
#: Columns of the table from `item_functioning`, in order.
ITEM_FUNCTIONING_COLUMNS = (
    *_ITEM,
    "estimate",
    "contribution",
    "share",
    "gap",
    "n10",
    "n01",
    "odds_ratio",
    "p_value",
    "p_holm",
    "p_bh",
    "least_p",
    "test",
    "models",
    "n",
    "missing",
)
#: A release lists the items of pairs with at least this many models.
FEWEST_MODELS = 5
_TEXTS = (*_ITEM, "test", "missing")
_NO_ITEMS = pd.DataFrame(
    {
        name: pd.Series(
            dtype="str" if name in _TEXTS else "int64" if name in ("models", "n") else "float64"
        )
        for name in ITEM_FUNCTIONING_COLUMNS
    }
)
_NO_DIFFERENCES = pd.DataFrame(
    {
        name: pd.Series(dtype="str")
        for name in (*PAIR_COLUMNS, "item_id", "n10", "n01", "difference", "part", "missing")
    }
)
# Differences are multiples of 1 / 5040 for up to 10 answers per model, and for most other numbers.
_STEPS = 5040


def item_functioning(
    answers: Any,
    *,
    missing: CountingPolicy | None = None,
    method: ItemTest = "exact",
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    r"""Find the items that make up the gap between two groups, over all models.

    A model's gap is the sum over its items of n10 − n01, divided by its number of pairs. So the
    contributions of the items, averaged over models, add up to the mean gap of the models. Models
    have equal weight; strategies have equal weight within a model.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table of several models. To use one strategy, select its answers first.
    missing : {"available", "complete", "incorrect"}, optional
        By default the benchmark's. Items are compared in pairs, so ``available`` uses the pairs
        with both answers, like ``complete``.
    method : {"exact", "midp"}
        The test of an item. ``exact`` is the default because few models are tested on many items:
        the smallest mid-p value is half as large as its true probability.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    pandas.DataFrame
        `ITEM_FUNCTIONING_COLUMNS`, one row per declared pair and item; the largest contribution in
        the direction of the gap comes first. ``estimate`` is the item's mean difference in P(right)
        over models, a minus b. ``contribution`` is its part of the ``gap``, and ``share`` is
        contribution / gap (negative if the item reduces the gap; NaN if the gap is 0). ``n10`` and
        ``n01`` count answers over all answer sets, and ``odds_ratio`` is their ratio: Mantel and
        Haenszel's, with answer sets as strata (NaN without discordant pairs). ``least_p`` is the
        smallest p-value that this number of models allows. ``p_holm`` and ``p_bh`` are adjusted
        over the items of a pair. ``n`` is the number of answer sets with such pairs.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if the benchmark's policy is ``bounds``.
    ValueError
        For an unknown policy or method.

    Notes
    -----
    In a test of persons, two groups answer an item, and persons of equal ability are compared.
    Here the same model answers both variants. Each model is its own match, so there is no ability
    to adjust for. With models as strata, the conditional Mantel-Haenszel test of an item is
    McNemar's exact test over models. Several strategies or samples of one model are not
    independent, so whole models are flipped (`sign_flip_test`). With one answer per
    variant, that is the same test. If the groups were asked of different models, use
    `mantel_haenszel` with strata of ability.

    The null hypothesis is that this item has no gap, not that its gap is the usual one. With m
    models, no p-value is below 2^(1−m). Models that took part in selecting the items are left out.
    The largest contributions are the largest of many, so expect smaller ones from new models.

    References
    ----------
    Holland & Thayer (1988), in Test Validity, 129-145; Breslow & Day (1980), Statistical Methods in
    Cancer Research I, section 5.2, for matched pairs as strata; McNemar (1947), Psychometrika
    12:153-157. Holm (1979) and Benjamini & Hochberg (1995) for the adjustment.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C")
    >>> letters = {"i1": "CB", "i2": "CC"}
    >>> answers = pd.DataFrame([row | dict(model=f"m-{m}", item_id=item, group=group, answer=letter)
    ...                         for m in range(6) for item, pair in letters.items()
    ...                         for group, letter in zip(("white", "black"), pair)])
    >>> items = item_functioning(answers)
    >>> items[["item_id", "contribution", "share", "p_value"]].values.tolist()
    [['i1', 0.5, 1.0, 0.03125], ['i2', 0.0, 0.0, 1.0]]
    """
    check_choice("method", method, get_args(ItemTest))
    return _table(paired_differences(answers, missing, benchmarks), method)


def released_items(opened: OpenAnswers, missing: MissingPolicy | None) -> pd.DataFrame:
    """Return the table of a release: pairs of groups that at least `FEWEST_MODELS` models answered.

    Benchmarks with the policy ``bounds`` have no rows.
    """
    table = _table(_differences(opened, missing, skip_bounds=True), "exact")
    models = table.groupby(_PAIR)["models"].transform("max")
    return table[models >= FEWEST_MODELS].reset_index(drop=True)


def paired_differences(
    answers: Any,
    missing: CountingPolicy | None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark],
) -> pd.DataFrame:
    """Return each answer set's paired difference on each item, for the declared pairs.

    Parameters
    ----------
    answers, missing, benchmarks
        As in `item_functioning`.

    Returns
    -------
    pandas.DataFrame
        `PAIR_COLUMNS`, ``item_id``, ``n10`` and ``n01`` (each answer counted once), ``difference``
        (in [−1, 1]), ``part`` (the item's part of the answer set's gap) and ``missing``. There is
        no row for an item without a pair, and none for models that took part in selecting items.

    Raises
    ------
    InputError, ValueError
        As `item_functioning`.
    """
    if missing is not None:
        check_choice("missing", missing, get_args(CountingPolicy))
    return _differences(open_answers(answers, benchmarks), missing)


def _differences(
    opened: OpenAnswers, missing: MissingPolicy | None, *, skip_bounds: bool = False
) -> pd.DataFrame:
    patterns = item_patterns(opened)
    tables = []
    for name, benchmark in opened.benchmarks.items():
        policy = missing or benchmark.missing
        own = patterns[(patterns["benchmark"] == name) & (patterns["attribute"] != BASELINE)]
        if policy != "bounds":
            tables.append(_of_benchmark(own, benchmark, policy))
        elif not skip_bounds:
            message = f"{name} has the policy bounds, which gives no pairs to count"
            raise InputError([Problem("missing", message, "choose another policy")])
    return pd.concat(tables, ignore_index=True) if tables else _NO_DIFFERENCES


def _of_benchmark(
    patterns: pd.DataFrame, benchmark: Benchmark, policy: CountingPolicy
) -> pd.DataFrame:
    models = patterns["model"].unique()
    selected = models[named_in(models, benchmark.selected_on)]
    crossed = crossed_patterns(patterns[~patterns["model"].isin(selected)])
    cells, one = crossed[list(PATTERNS)].to_numpy(dtype=np.int64), of_each_pattern(policy)
    n10, n01, n = cells @ one.n10, cells @ one.n01, cells @ one.n
    rows = crossed[[*PAIR_COLUMNS, "item_id"]].assign(
        n10=n10 / crossed["copies"],
        n01=n01 / crossed["copies"],
        difference=(n10 - n01) / np.maximum(n, 1),
        part=n10 - n01,
        pairs=n,
        missing=policy,
    )
    rows = rows[rows["pairs"] > 0]
    return rows.assign(part=rows["part"] / rows.groupby(_SET)["pairs"].transform("sum")).drop(
        columns="pairs"
    )


def _table(rows: pd.DataFrame, method: ItemTest) -> pd.DataFrame:
    tables = [_of_pair(own, method) for _, own in rows.groupby(_PAIR, sort=False)]
    table = pd.concat([_NO_ITEMS, *tables], ignore_index=True) if tables else _NO_ITEMS
    return table[list(ITEM_FUNCTIONING_COLUMNS)]


def _of_pair(rows: pd.DataFrame, method: ItemTest) -> pd.DataFrame:
    """Return the table of one pair of groups."""
    sets = rows[["model", "strategy"]].drop_duplicates()["model"].value_counts()
    weight = 1 / (rows["model"].map(sets) * len(sets))
    of_models = rows.pivot_table("difference", "item_id", "model", aggfunc="mean")
    items = rows.assign(contribution=rows["part"] * weight).groupby("item_id")
    table = items.agg(
        contribution=("contribution", "sum"),
        n10=("n10", "sum"),
        n01=("n01", "sum"),
        models=("model", "nunique"),
        n=("model", "size"),
        missing=("missing", "first"),
    )
    gap = float(table["contribution"].sum())
    # Contributions that cancel out can leave a rounding error.
    gap = 0.0 if abs(gap) < 1e-12 else gap
    with np.errstate(divide="ignore", invalid="ignore"):
        table["odds_ratio"] = table["n10"].to_numpy() / table["n01"].to_numpy()
        table["share"] = table["contribution"] / (gap or float("nan"))
    table["estimate"] = of_models.mean(axis=1)
    table["p_value"] = _p_values(of_models.reindex(table.index), method)
    for name in ("holm", "bh"):
        table[f"p_{name}"] = adjust_pvalues(table["p_value"], method=name)
    fewest = 0.5 ** table["models"]
    table = table.assign(
        gap=gap, least_p=fewest * (2 if method == "exact" else 1), test=f"sign flips, {method}"
    )
    direction = -np.sign(gap or 1.0) * table["contribution"].round(12)
    order = table.assign(order=direction).sort_values(["order", "p_value", "item_id"]).index
    pair = rows.iloc[0][_PAIR].to_dict()
    return table.loc[order].reset_index().assign(**pair)


def _p_values(of_models: pd.DataFrame, method: ItemTest) -> list[float]:
    steps = np.rint(of_models.fillna(0).to_numpy() * _STEPS).astype(np.int64)
    known: dict[tuple[int, ...], float] = {}
    found = []
    for row in np.sort(steps, axis=1).tolist():
        key = tuple(step for step in row if step)
        if key not in known:
            known[key] = float(sign_flip_test(key, method=method).p_value) if key else 1.0
        found.append(known[key])
    return found
