"""Do results show signs of selection, i.e. of items kept because they flipped a model?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.formatting import quoted
from fairstats._lib.model_names import named_in
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.counts.grid import item_grid
from fairstats.estimates.item_statistics import paired_items
from fairstats.inference._checks import LEAST_P, check_alpha
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.vignettes.tables import Row, findings_frame, flags_frame, mean_row

ASPECT = "selection"
DIFFERENCE = "selecting model minus others"
ONE_SIDED = "one-sided flips"
#: Models with fewer flips show no side, if others have as many.
_FEWEST_FLIPS = 10
FLAG = "one-sided changes of answer: a sign of selection"

_SET = ["model", "strategy"]


def selection_findings(
    answers: Any,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compare the models used to select items with the others, and find models that resemble them.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        By default the benchmark's; ``bounds`` is replaced by ``complete`` here.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`, aspect "selection", for each declared pair
        of groups and version. `DIFFERENCE` is for each answer set of a model in the benchmark's
        ``selected_on``: its accuracy difference minus the mean of the other models', on the items
        that all were asked, paired by item. `ONE_SIDED` is for each other answer set: the smaller
        share of the items that flip in one direction. Its test is whether fewer items flip in that
        direction than of the most one-sided other model, Holm-adjusted over a benchmark. Without
        another model, it is not informative. Each ``note`` gives n10 and n01: the items of which
        only a, or only b, is right, on average over the samples.

    Notes
    -----
    If variants are kept because they mislead a model, it flips in only one direction: n01 is 0,
    whatever n10. Samples of an item are not independent, so n10 and n01 are those expected of one
    sample: each item counts with the shares of its pairs of answers, and the sums are rounded. The
    test is Fisher's exact one, one-sided. It compares n10 and n01 with those of the model with the
    smallest share among the others that are not declared as selecting and flip on ten items or
    more, if there are such. Models differ, and this least favourable comparison allows for it; so a
    model whose ten flips are all in one direction hides another one. Strategies of one model are
    not compared with each other.
    """
    alpha = check_alpha(alpha)
    opened = open_answers(answers, benchmarks)
    rows: list[Row] = []
    for benchmark in opened.benchmarks.values():
        policy = missing or benchmark.missing
        suspects = []
        own = item_grid(opened, benchmark)
        for keys, items in paired_items(own, "complete" if policy == "bounds" else policy):
            unit = keys | {"aspect": ASPECT, "measure": "selection"}
            # An item counts at most once, regardless of its samples. Models with more samples
            # would look more one-sided if it counted in the direction of most of its flips.
            of_item = items[["n10", "n01"]].div(items["n"].where(items["n"] > 0), axis=0)
            of_set = items[_SET].join(of_item).groupby(_SET, as_index=False).sum()
            table = of_set.round().astype({"n10": int, "n01": int}).assign(**keys)
            selecting = named_in(table["model"], benchmark.selected_on)
            for _, one in table[selecting].iterrows():
                rows.append(unit | _beside_others(one, table, items, benchmark, alpha))
            others = table[~selecting]
            suspects += [unit | _one_sided(one, others) for _, one in others.iterrows()]
        if suspects:
            adjusted = adjust_pvalues([row["p_value"] for row in suspects], method="holm")
            rows += [
                row | {"p_value": float(p), "ci_level": np.nan}
                for row, p in zip(suspects, adjusted, strict=True)
            ]
    return findings_frame(rows)


def selection_flags(findings: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """Return answer sets that flip in one direction more than chance and other models explain."""
    shown = findings[(findings["quantity"] == ONE_SIDED) & (findings["p_value"] <= alpha)]
    return flags_frame(
        {
            "aspect": ASPECT,
            "attribute": row["attribute"],
            "flag": FLAG,
            "detail": f"{quoted(row['model'], row['strategy'])} ({row['benchmark_version']}): "
            f"{row['note']}, p = {row['p_value']:.2g}",
        }
        for row in shown.to_dict("records")
    )


def _beside_others(
    one: pd.Series, table: pd.DataFrame, items: pd.DataFrame, benchmark: Benchmark, alpha: float
) -> Row:
    how = benchmark.selected_on[one["model"]]
    said = (
        f"{_said(one, benchmark)}; {quoted(one['model'])} took part in selecting the items: {how}"
    )
    row = {"quantity": DIFFERENCE, "model": one["model"], "strategy": one["strategy"]}
    others = table[~named_in(table["model"], benchmark.selected_on)]
    if others.empty:
        nothing = "none (no other model)"
        return row | {"ci_method": nothing, "test": nothing, "p_value": 1.0, "note": said}
    # An item's differences add up to n10 − n01 over its pairs with both answers.
    mean = items.assign(mean=(items["n10"] - items["n01"]) / items["n"].where(items["n"] > 0))
    by_set = mean.set_index([*_SET, "item_id"])["mean"].unstack(_SET).dropna()
    own = by_set[(one["model"], one["strategy"])]
    rest = by_set[[tuple(unit) for unit in others[_SET].to_numpy()]]
    # Each model counts once, regardless of its strategies.
    per_model = rest.T.groupby(level="model").mean().mean()
    ranges = [f"{others[side].min()} to {others[side].max()}" for side in ("n10", "n01")]
    labels = _labels(one, benchmark)
    compared = (
        f"the {others['model'].nunique()} other models: {ranges[0]} {labels[0]}, {ranges[1]} "
        f"{labels[1]}; {own.mean():+.4f} against {per_model.mean():+.4f}"
    )
    found = mean_row(own - per_model, 2.0, alpha)
    return row | found | {"note": f"{said}; {compared}"}


def _one_sided(one: pd.Series, table: pd.DataFrame) -> Row:
    """Test the smaller direction of a set's flips against the other model with the least."""
    n10, n01 = int(one["n10"]), int(one["n01"])
    total, fewer, side = n10 + n01, min(n10, n01), "n01" if n01 <= n10 else "n10"
    row = {
        "quantity": ONE_SIDED,
        "model": one["model"],
        "strategy": one["strategy"],
        "estimate": fewer / total if total else np.nan,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "ci_method": "none (tested against another model)",
        "n": total,
        "p_value": 1.0,
        "test": "none (no other model with a flip)",
        "note": f"n10 = {n10}, n01 = {n01}",
    }
    others = table[(table["model"] != one["model"]) & (table["n10"] + table["n01"] > 0)]
    if others.empty or not total:
        return row
    # A few flips show no side.
    flips = others["n10"] + others["n01"]
    several = others[flips >= min(_FEWEST_FLIPS, flips.max())]
    share = several[side] / (several["n10"] + several["n01"])
    least = several.loc[share.idxmin()]
    pair = [[fewer, total - fewer], [least[side], least["n10"] + least["n01"] - least[side]]]
    p_value = float(scipy.stats.fisher_exact(pair, alternative="less").pvalue)
    return row | {
        "p_value": max(p_value, LEAST_P),
        "test": "Fisher exact, one-sided, Holm",
        "note": f"n10 = {n10}, n01 = {n01}; the most one-sided other, "
        f"{quoted(least['model'], least['strategy'])}: n10 = {least['n10']}, n01 = {least['n01']}",
    }


def _labels(one: pd.Series, benchmark: Benchmark) -> tuple[str, str]:
    groups = benchmark.attributes[one["attribute"]].groups
    a, b = (groups[one[side]] for side in ("group_a", "group_b"))
    return f"only {a} right", f"only {b} right"


def _said(one: pd.Series, benchmark: Benchmark) -> str:
    a, b = _labels(one, benchmark)
    return f"{one['n10']} {a}, {one['n01']} {b}"
