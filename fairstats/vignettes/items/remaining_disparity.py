"""The accuracy disparity of a model that remains after adjusting for answer leakage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy

from fairstats.answers.engine_frames import NO_LETTER, open_answers
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.counts.item_outcomes import item_patterns
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.logistic_regression import VARIANT_COLUMNS, answer_rows
from fairstats.estimates.standardized_differences import (
    ItemEstimate,
    accuracy_difference_of,
    standardized_difference,
)
from fairstats.estimates.subset_differences import differences_of
from fairstats.inference._checks import check_alpha, check_number
from fairstats.inference.fieller import fieller
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.items.balanced_items import most_balanced
from fairstats.vignettes.items.within_items import within_items
from fairstats.vignettes.leakage.leakage_by_variant import leakage_of_variants
from fairstats.vignettes.measures import DISTRACTOR, KEY

ASPECT = "remaining disparity"
#: The estimates of a unit, pair and measure, in order; the last is for the text alone.
DIFFERENCE = "difference"
GEE = "adjusted difference (GEE)"
WITHIN = "difference at equal leakage (within items)"
SLOPES = (
    "change by leakage of the key (within items)",
    "change by leakage of a distractor (within items)",
)
BALANCED = "difference where leakage is balanced"
SHARE_GEE = "share remaining (GEE)"
SHARE_WITHIN = "share remaining (within items)"
OVERLAP = "overlap of leakage"
#: In table order.
QUANTITIES = (DIFFERENCE, GEE, WITHIN, *SLOPES, BALANCED, SHARE_GEE, SHARE_WITHIN, OVERLAP)

#: The covariates of a variant.
_LEAKS = [KEY, DISTRACTOR]
_UNCLEAR = "not reported: the difference is too uncertain to calculate a share of it"
_UNRELATED = "the answers are to variants other than the measured ones"
_SELECTED = "the model took part in selecting the items"
# Smaller differences are rounding error.
_ROUNDING, _DECIMALS = 1e-12, 12
# A p-value that underflows is not 0.
_LEAST_P = float(np.finfo(np.float64).tiny)
_NO_ANSWERS = "missing='bounds' gives no answers to fit"

_BETWEEN = (
    "working independence: differences between items are included, and leakage may reflect them"
)
_WRONG_SIGN = (
    "no effect of leakage: more leakage of a distractor to group a goes with a larger difference"
)

Row = dict[str, Any]


def remaining_disparity(
    answers: Any,
    measures: pd.DataFrame,
    *,
    versions: Collection[str] | None = None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    balanced_share: float = 1 / 3,
) -> pd.DataFrame:
    """Compute the accuracy difference of each pair, unadjusted and at equal leakage.

    L is the leakage of a variant's added text: of the key, and of the distractor that it leaks
    most.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`. The measures in
        `fairstats.vignettes.leakage.leakage_by_variant.ADJUSTED_FOR` are used, with one row per
        variant and option.
    versions : collection of str, optional
        The benchmark versions to which the measured text belongs, see `followed_leakage`. Answers
        to other versions are not adjusted. By default all are adjusted.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        The policy for missing answers; by default the benchmark's. With ``bounds`` there is nothing
        to adjust.
    alpha : float
        1 − confidence level.
    balanced_share : float
        The share of items that count as balanced.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`. For each unit, declared demographic pair and
        measure, one row for each of

        ``difference``
            Acc_a − Acc_b with interval and McNemar's mid-p, as in `fairstats.analyze`.
        ``adjusted difference (GEE)``
            `standardized_difference`: GEE logistic regression of correctness on group and L,
            averaged over all answers with their observed L.
        ``difference at equal leakage (within items)``
            With D_i = correct_a − correct_b and ΔL_i = L_a − L_b, the intercept of the linear
            regression of D on ΔL over items: the difference if both variants leak equally.
        ``change by leakage of the key (within items)``, ``… of a distractor …``
            The slopes of that regression: the change in D as ΔL goes from 0 to 1.
        ``difference where leakage is balanced``
            As ``difference``, only for the items with the most similar leakage in both variants.
        ``share remaining (GEE)``, ``share remaining (within items)``
            The adjusted difference divided by the unadjusted one for the same answers.

        and for each pair and measure, without a model, ``overlap of leakage``. If an estimate is
        not available it is NaN, and `note` gives the reason.

    Raises
    ------
    InputError
        As `fairstats.analyze`; also if there is no measure of leakage for the answers' benchmarks,
        or a duplicate.
    ValueError
        For alpha outside (0, 0.5) or `balanced_share` outside (0, 1].

    Notes
    -----
    How to interpret it:

    - The added text is both the treatment and the leak. The remaining difference is not "the effect
      of the group", but the part that these measures of leakage do not explain. The explained part
      does not mean "no bias".
    - Leakage is measured with error: a paraphrase shares no word with the option. Adjusting for
      such a measure removes too little, and a share of 1 does not show that nothing leaks.
    - Group and leakage are associated by design: a is helped and b misled. If few variants of a
      leak like those of b (``overlap of leakage``, the range in its note), the adjusted estimates
      depend more on the model than on data. The balanced items need no model, but are different
      items.
    - Text was revised until it flipped a model. A hint may then be strongest for items that were
      hard to flip. Leakage then reflects how hard an item is to move, and adjusting for it *raises*
      the difference. There are two signs of this: an adjusted difference above the unadjusted one,
      or a slope on the distractor's leakage above 0 (if b's text points more to a distractor, b is
      misled less). These estimates are then not effects. The regression within items is not
      affected by properties that make an item hard for both variants; the GEE is. But its slopes
      still compare items with hints that may differ because their models' answers did.
    - p-values are not adjusted for their number.

    L has the key and the *largest* distractor, two numbers. A hint misleads by pointing to one
    distractor, which the mean over three of them would hide, and key and distractor may have
    different effects. An item is left out of the adjusted estimates if a variant lacks the measure;
    the note counts such items. With several samples of an item, the mean is taken within items.

    The regression within items has HC3 standard errors and Student's t. A covariate without any
    differences is left out. The balanced items are the share `balanced_share` with the smallest
    imbalance, max(|Δ key|, |Δ distractor|), including all ties with the last of them. The note
    gives the largest imbalance. The overlap is 1 − the largest distance between the two groups'
    distribution functions of the advantage, key minus distractor. It is 1 if the groups leak
    equally, and 0 if the advantage separates them completely.

    Shares have Fieller's interval, from each item's contributions to both differences (the
    infinitesimal jackknife). They are given only if the denominator differs from 0 at level alpha.

    References
    ----------
    Robins (1986), Mathematical Modelling 7:1393-1512; MacKinnon & White (1985), Journal of
    Econometrics 29:305-325, for HC3; Fieller (1954), JRSS B 16:175-185. The GEE
    is fitted by `statsmodels.api.GEE`. The regression within items is solved from its normal
    equations (`fairstats.vignettes.items.within_items`). Both are checked against R
    (tests/r/gee.R).
    """
    alpha = check_alpha(alpha)
    check_number("balanced_share", balanced_share, low=0, high=1)
    if balanced_share == 0:
        raise ValueError(f"balanced_share={balanced_share!r} must be above 0 and at most 1")
    opened = open_answers(answers, benchmarks)
    known = opened.benchmarks
    leaks = leakage_of_variants(measures, known)
    patterns = item_patterns(opened)
    rows: list[Row] = []
    for (name, measure), own in leaks.groupby(["benchmark", "measure"]):
        benchmark = known[str(name)]
        policy = missing or benchmark.missing
        table = own.set_index(list(VARIANT_COLUMNS))[_LEAKS]
        answered = patterns[patterns["benchmark"] == name]
        whole = differences_of(answered, policy, alpha)
        for attribute in benchmark.varied:
            for a, b in attribute.pairs:
                side_a, side_b = (_of_group(table, attribute.name, group) for group in (a, b))
                change = (side_a - side_b).dropna()
                of = {"aspect": ASPECT, "measure": measure, "benchmark": name}
                of |= {"attribute": attribute.name, "group_a": a, "group_b": b}
                rows.append(of | _overlap(side_a, side_b, change))
                balanced, note = most_balanced(change, balanced_share)
                pairs = answered[
                    (answered[["attribute", "group_a", "group_b"]] == [attribute.name, a, b]).all(
                        axis=1
                    )
                ]
                subset = differences_of(pairs[pairs["item_id"].isin(balanced)], policy, alpha)
                for key, own_pairs in pairs.groupby(list(PAIR_COLUMNS)):
                    unit = of | dict(zip(PAIR_COLUMNS, key, strict=True))
                    reason = _NO_ANSWERS if policy == "bounds" else ""
                    if versions is not None and unit["benchmark_version"] not in versions:
                        reason = _UNRELATED
                    found = [_difference(DIFFERENCE, whole.loc[[key]], "", alpha)]
                    if reason:
                        found += [_none(quantity, reason) for quantity in QUANTITIES[1:-1]]
                    else:
                        found += _adjusted(own_pairs, policy, table, change, alpha)
                        there = subset[subset.index == key]
                        found.append(_difference(BALANCED, there, note, alpha))
                    if unit["model"] in benchmark.selected_on:
                        found = [row | {"note": _joined(row["note"], _SELECTED)} for row in found]
                    rows += [unit | row for row in found]
    found = findings_frame(rows)
    order = found["quantity"].map(QUANTITIES.index)
    keys = ["measure", *PAIR_COLUMNS, "_place"]
    return found.assign(_place=order).sort_values(keys, ignore_index=True).drop(columns="_place")


def _of_group(table: pd.DataFrame, attribute: str, group: str) -> pd.DataFrame:
    """Return the leakage of one group's variants, by item."""
    levels = [table.index.get_level_values(name) for name in ("attribute", "group")]
    own = table[(levels[0] == attribute) & (levels[1] == group)]
    return own.droplevel(["attribute", "group"]).sort_index()


def _overlap(a: pd.DataFrame, b: pd.DataFrame, change: pd.DataFrame) -> Row:
    """Return the overlap of both groups' distributions of the advantage, key minus distractor."""
    if change.empty:
        return _none(OVERLAP, "no item has this measure for both groups")
    # Differences from rounding alone do not count.
    own = [
        np.sort((side[KEY] - side[DISTRACTOR])[change.index].round(_DECIMALS)) for side in (a, b)
    ]
    places = np.concatenate(own)
    laws = [np.searchsorted(values, places, side="right") / len(values) for values in own]
    distance = float(np.abs(laws[0] - laws[1]).max())
    gain = change[KEY] - change[DISTRACTOR]
    less, same = int((gain < -_ROUNDING).sum()), int((gain.abs() <= _ROUNDING).sum())
    note = (
        f"advantage, a minus b: {gain.min():.3g} to {gain.max():.3g}; "
        f"above 0 in {len(gain) - less - same} items, 0 in {same}, below 0 in {less}"
    )
    return {"quantity": OVERLAP, "estimate": 1 - distance, "n": len(change), "note": note}


def _adjusted(
    pairs: pd.DataFrame, policy: Any, table: pd.DataFrame, change: pd.DataFrame, alpha: float
) -> list[Row]:
    """Return the adjusted estimates of one unit, pair and measure."""
    measured = pairs[pairs["item_id"].isin(change.index)]
    lacking = pairs["item_id"].nunique() - measured["item_id"].nunique()
    left_out = f"{lacking} items without this measure are left out" if lacking else ""
    data = answer_rows(measured, policy, table)
    plain, gee = accuracy_difference_of(data), standardized_difference(data)
    differences = _item_differences(measured, policy)
    within = within_items(differences, change.reindex(differences.index), alpha=alpha)
    n = data["item_id"].nunique()
    rows = [_wald(GEE, gee, n, alpha), within.row(0) | {"quantity": WITHIN}]
    for place, quantity in enumerate(SLOPES, start=1):
        rows.append(within.row(place) | {"quantity": quantity})
    rows.append(_share(SHARE_GEE, gee, plain, n, alpha))
    rows.append(_share(SHARE_WITHIN, within.adjusted, within.plain, within.n, alpha))
    # Misleading text cannot increase group a's advantage, so leakage then reflects difficulty.
    wrong_sign = _WRONG_SIGN if within.row(2).get("estimate", 0.0) > 0 else ""
    of_gee = {GEE: _BETWEEN, SHARE_GEE: _BETWEEN}
    noted = (WITHIN, SHARE_WITHIN, GEE, SHARE_GEE, SLOPES[1])
    for row in rows:
        quantity = str(row["quantity"])
        told = (of_gee.get(quantity, ""), wrong_sign if quantity in noted else "", left_out)
        row["note"] = _joined(row["note"], *told)
    return rows


def _item_differences(pairs: pd.DataFrame, policy: str) -> pd.Series:
    """Return correct_a − correct_b by item, averaged over its samples."""
    if policy != "incorrect":
        pairs = pairs[(pairs["letter_a"] != NO_LETTER) & (pairs["letter_b"] != NO_LETTER)]
    a, b = ((pairs[f"letter_{side}"] == pairs["answer_key"]).astype(float) for side in "ab")
    return (a - b).groupby(pairs["item_id"]).mean()


def _wald(quantity: str, found: ItemEstimate, n: int, alpha: float) -> Row:
    if found.reason:
        return _none(quantity, found.reason) | {"n": n}
    half = float(scipy.stats.norm.isf(alpha / 2)) * found.std_error
    return {
        "quantity": quantity,
        "estimate": found.estimate,
        "ci_low": max(found.estimate - half, -1.0),
        "ci_high": min(found.estimate + half, 1.0),
        "ci_level": 1 - alpha,
        "ci_method": "wald, delta method, items are clusters",
        "p_value": max(
            2 * float(scipy.stats.norm.sf(abs(found.estimate) / found.std_error)), _LEAST_P
        ),
        "test": "wald, robust",
        "n": n,
        "note": "",
    }


def _share(quantity: str, adjusted: ItemEstimate, plain: ItemEstimate, n: int, alpha: float) -> Row:
    reason = adjusted.reason or plain.reason
    if reason:
        return _none(quantity, reason) | {"n": n}
    found = fieller(
        adjusted.estimate,
        plain.estimate,
        variance_numerator=adjusted.std_error**2,
        variance_denominator=plain.std_error**2,
        covariance=float(adjusted.influence @ plain.influence),
        alpha=alpha,
    )
    if np.isnan(found.estimate):
        return _none(quantity, _UNCLEAR) | {"n": n}
    return {
        "quantity": quantity,
        "estimate": found.estimate,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "ci_level": found.ci_level,
        "ci_method": "fieller, infinitesimal jackknife over items",
        "n": n,
        "note": "",
    }


def _difference(quantity: str, found: pd.DataFrame, note: str, alpha: float) -> Row:
    """Return a row of `differences_of` as a finding."""
    if found.empty:
        return _none(quantity, _joined("no answer to such an item", note))
    row = found.iloc[0]
    names = ("estimate", "ci_low", "ci_high", "ci_method", "p_value", "test", "n")
    known = {name: row[name] for name in names if not pd.isna(row[name])}
    return known | {
        "quantity": quantity,
        "ci_level": 1 - alpha,
        "note": _joined(note, str(row["method_note"])),
    }


def _none(quantity: str, reason: str) -> Row:
    return {"quantity": quantity, "ci_method": "none", "test": "none", "note": reason}


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
