"""Statistics of items over models: the items that make up a gap, and how much the gap varies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import FloatArray
from fairstats.answers.engine_frames import OpenAnswers, open_answers
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.counts.grid import Grid, item_grid
from fairstats.counts.outcomes import groups_of
from fairstats.counts.patterns import CountingPolicy, GroupAnswers, IntArray, apply_policy
from fairstats.counts.unit_sums import SUM_COLUMNS, row_sums, worst_ends
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.inference.variance_components import GapComponents, gap_components

ItemTest = Literal["exact", "midp"]
# The columns of `GapComponents` in the unit of the differences.
_IN_UNITS = {
    "estimate",
    "ci_low",
    "ci_high",
    "model_sd",
    "same_items_low",
    "same_items_high",
    "new_items_low",
    "new_items_high",
}

_PAIR = ("benchmark", "benchmark_version", "attribute", "group_a", "group_b")
#: Columns of the table from `item_functioning`, in order.
ITEM_FUNCTIONING_COLUMNS = (
    *_PAIR,
    "item_id",
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
#: Columns of the table from `gap_heterogeneity`, in order.
HETEROGENEITY_COLUMNS = (*_PAIR, *(field.name for field in fields(GapComponents)), "missing")
#: A release lists the items of pairs with at least this many models.
FEWEST_MODELS = 5
_TYPES = dict.fromkeys((*_PAIR, "item_id", "test", "missing"), "str") | {
    "models": "int64",
    "n": "int64",
}
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
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `ITEM_FUNCTIONING_COLUMNS`, one row per declared pair and item; the largest contribution in
        the direction of the gap comes first. ``estimate`` is the item's mean difference in P(right)
        over models, a minus b. ``contribution`` is its part of the ``gap``, and ``share`` is
        contribution / gap (negative if the item reduces the gap; NaN if the gap is 0). ``n10`` and
        ``n01`` count the answer sets in which only a, or only b, is right. With several samples, an
        answer set counts with the share of its pairs of answers. ``odds_ratio`` is n10 / n01:
        Mantel and Haenszel's, with answer sets as strata of equal size (NaN without discordant
        pairs). ``least_p`` is the smallest p-value that this number of models allows. ``p_holm``
        and ``p_bh`` are adjusted over the items of a pair. ``n`` is the number of answer sets with
        such pairs.

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
    variant, that is the same test. If the groups were asked of different models, use Mantel and
    Haenszel's test with strata of ability (`statsmodels.stats.contingency_tables.StratifiedTable`).

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
    _check_policy(missing)
    return _table(_differences(open_answers(answers, benchmarks), missing), method)


def released_items(opened: OpenAnswers, missing: MissingPolicy | None) -> pd.DataFrame:
    """Return the table of a release: pairs of groups that at least `FEWEST_MODELS` models answered.

    Benchmarks with the policy ``bounds`` have no rows.
    """
    table = _table(_differences(opened, missing, skip_bounds=True), "exact")
    models = table.groupby(list(_PAIR))["models"].transform("max")
    return table[models >= FEWEST_MODELS].reset_index(drop=True)


def gap_heterogeneity(
    answers: Any,
    *,
    missing: CountingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Split the variation of each gap into items, models and the rest, and predict a new model's.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table of several models. To use one strategy, select its answers first.
    missing : {"available", "complete", "incorrect"}, optional
        By default the benchmark's. ``available`` uses the pairs with both answers, like
        ``complete``.
    alpha : float
        1 − level of the limits.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `HETEROGENEITY_COLUMNS`, one row per declared pair, with the results of
        `gap_components`. A model's difference on an item is the mean over its strategies
        and samples. Models that took part in selecting the items are left out. If the benchmark
        declares a cluster, clusters take the place of the items.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if the benchmark's policy is ``bounds``.
    ValueError
        For an unknown policy, or alpha outside (0, 1).

    References
    ----------
    As in `gap_components`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", strategy="plain", sample=0,
    ...            attribute="race", answer_key="C")
    >>> letters = {"i1": "CB", "i2": "CC", "i3": "BC"}
    >>> answers = pd.DataFrame([row | dict(model=f"m-{m}", item_id=item, group=group, answer=letter)
    ...                         for m in range(4) for item, pair in letters.items()
    ...                         for group, letter in zip(("white", "black"), pair)])
    >>> table = gap_heterogeneity(answers)
    >>> table[["estimate", "item_variance", "n_models"]].round(4).values.tolist()
    [[0.0, 1.0, 4.0]]
    """
    alpha = check_alpha(alpha)
    _check_policy(missing)
    rows = []
    opened = open_answers(answers, benchmarks)
    for pair, own in _differences(opened, missing):
        span = opened.benchmarks[pair["benchmark"]].span
        matrix = own.pivot_table("difference", "item_id", "model", aggfunc="mean") / span
        units = None
        if opened.benchmarks[pair["benchmark"]].cluster is not None:
            units = own.groupby("item_id")["unit"].first().reindex(matrix.index)
        found = gap_components(matrix, units=units, alpha=alpha).to_frame().iloc[0].to_dict()
        # From shares of the scale to levels or points.
        rows.append(
            pair
            | {
                name: value * span**2
                if name.endswith("_variance")
                else value * span
                if name in _IN_UNITS
                else value
                for name, value in found.items()
            }
        )
    return pd.DataFrame(rows, columns=list(HETEROGENEITY_COLUMNS))


def paired_items(
    own: Grid, missing: CountingPolicy
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each version's demographic pairs, sorted by name, with the items of all answer sets.

    A table has the columns model, strategy, item_id, the numbers of pairs of answers n10, n01 and n
    under the policy, and ``total``, the sum of the pairs' differences.
    """
    versions = own.units["benchmark_version"]
    for version in sorted(set(versions)):
        of_version = own.of_units(versions == version)
        for name, groups in sorted(groups_of(of_version).items()):
            if groups.attribute not in own.benchmark.varied:
                continue
            rows = groups.grid
            sets = own.units[["model", "strategy"]].take(rows.unit).reset_index(drop=True)
            for a, b in sorted(groups.attribute.pairs):
                columns = _of_rows(groups, (a, b), missing)
                keys = (own.benchmark.name, version, name, a, b)
                items = sets.assign(item_id=rows.items, **columns)
                if groups.per_item > 1:
                    by = ["model", "strategy", "item_id"]
                    items = items.groupby(by, sort=False, as_index=False).sum()
                yield dict(zip(_PAIR, keys, strict=True)), items


def _of_rows(
    groups: GroupAnswers, pair: tuple[str, str], missing: CountingPolicy
) -> dict[str, FloatArray | IntArray]:
    """Return the columns of `paired_items` for each row."""
    copies = groups.copies[groups.grid.unit]
    if not groups.grid.benchmark.kind.numeric:
        paired = apply_policy(groups.pair(pair), missing, copies=copies)
        columns = {name: getattr(paired, name) for name in ("n10", "n01", "n")}
        return columns | {"total": paired.n10 - paired.n01}
    fill = worst_ends(groups.grid.benchmark) if missing == "incorrect" else None
    table = row_sums(groups, pair, slice(None), copies, fill)
    named = dict(zip(SUM_COLUMNS, table.T, strict=True))
    return {
        "n10": named["up"],
        "n01": named["down"],
        "n": named["pairs"],
        "total": named["difference"],
    }


def _check_policy(missing: CountingPolicy | None) -> None:
    if missing is not None:
        check_choice("missing", missing, get_args(CountingPolicy))


def _differences(
    opened: OpenAnswers, missing: MissingPolicy | None, *, skip_bounds: bool = False
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each pair and its policy, with the paired difference of each answer set and item.

    Its columns are model, strategy, item_id, unit (the item, or its declared cluster), n10 and n01
    (shares of the answer set's pairs of answers to the item), ``difference`` (in [−1, 1]) and
    ``part`` (the item's part of the answer set's gap). Items without a pair and models that took
    part in selecting items have no row.
    """
    for name, benchmark in opened.benchmarks.items():
        policy = missing or benchmark.missing
        if policy == "bounds":
            if skip_bounds:
                continue
            message = f"{name} has the policy bounds, which gives no pairs to count"
            raise input_error("missing", message, "choose another policy")
        own = item_grid(opened, benchmark)
        unit_of = own.unit_of_item
        for pair, table in paired_items(own.of_units(~own.selecting), policy):
            rows = table[table["n"] > 0]
            change = rows["total"]
            of_set = rows.groupby(["model", "strategy"])["n"].transform("sum")
            rows = rows.assign(
                unit=rows["item_id"].map(unit_of),
                n10=rows["n10"] / rows["n"],
                n01=rows["n01"] / rows["n"],
                difference=change / rows["n"],
                part=change / of_set,
            )
            if len(rows):
                yield pair | {"missing": policy}, rows


def _table(
    differences: Iterable[tuple[dict[str, str], pd.DataFrame]], method: ItemTest
) -> pd.DataFrame:
    columns = {
        name: pd.Series(dtype=_TYPES.get(name, "float64")) for name in ITEM_FUNCTIONING_COLUMNS
    }
    tables = [_of_pair(rows, method).assign(**pair) for pair, rows in differences]
    table = pd.concat([pd.DataFrame(columns), *tables], ignore_index=True)
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
    # Rounded, so that the last digit of a p-value does not order items.
    keys = table.assign(order=direction, p_value=table["p_value"].round(12))
    order = keys.sort_values(["order", "p_value", "item_id"]).index
    return table.loc[order].reset_index()


def _p_values(of_models: pd.DataFrame, method: ItemTest) -> FloatArray:
    steps = np.rint(of_models.fillna(0).to_numpy() * _STEPS).astype(np.int64)
    # Many items have the same differences.
    known, place = np.unique(np.sort(steps, axis=1), axis=0, return_inverse=True)
    keys = [tuple(step for step in row if step) for row in known.tolist()]
    found = [float(sign_flip_test(key, method=method).p_value) if key else 1.0 for key in keys]
    return np.array(found, dtype=np.float64)[place.ravel()]
