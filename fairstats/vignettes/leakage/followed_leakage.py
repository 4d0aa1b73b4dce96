"""Whether wrong answers choose the distractor that a group's added text leaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import NO_LETTER, UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.counts.item_outcomes import item_patterns
from fairstats.inference._checks import check_alpha
from fairstats.inference.differences import mean_difference
from fairstats.inference.intervals import wilson
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.leakage.leakage_by_variant import leakage_of_options
from fairstats.vignettes.measures import DISTRACTOR

ASPECT = "leakage"
FOLLOWED = "wrong answers that follow the text"
EXPECTED = "the same choice of wrong answers to other texts"
EXCESS = "wrong answers that follow the text, above other texts"
OWN_TEXT = "leakage of the wrong option chosen, own text minus another's"
#: In table order.
QUANTITIES = (FOLLOWED, EXPECTED, EXCESS, OWN_TEXT)

_ASKED = [*UNIT_COLUMNS, "item_id", "sample"]
_VERSION = ["benchmark", "benchmark_version"]
# Smaller differences are rounding error.
_ROUNDING = 1e-12

Row = dict[str, Any]


def followed_leakage(
    answers: Any,
    measures: pd.DataFrame,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Estimate how often wrong answers choose the most leaked distractor, and if due to the text.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table. A missing answer is left out, under any policy.
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`. The measures in
        `fairstats.vignettes.leakage.leakage_by_variant.ADJUSTED_FOR` are used, with one row per
        variant and option.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`. A variant points to a distractor if it leaks
        more of it than of any other distractor, and more than none. For each unit, measure and
        group (``group_a``; the group it is paired with in ``group_b``)

        ``wrong answers that follow the text``
            The share of wrong answers to variants that point to a distractor that choose this
            distractor.
        ``the same choice of wrong answers to other texts``
            How often wrong answers to other texts of the same items choose that distractor: the
            neutralized vignette, or the other group's variant if it does not point to the same
            distractor. Only items with such an answer are included.
        ``wrong answers that follow the text, above other texts``
            The first minus the second, for these same items. Also for each version over all its
            units, without a model.

        and for each unit, and for each version over all its units, by measure

        ``leakage of the wrong option chosen, own text minus another's``
            For two variants g and h of an item, for two attributes, on the same side of their
            pairs, both answered wrongly with o and p: ½ [L_g(o) − L_h(o) + L_h(p) − L_g(p)].

        Without such answers the estimate is NaN, and `note` gives the reason.

    Raises
    ------
    InputError
        As `fairstats.analyze`; also if there is no measure of leakage for the answers' benchmarks,
        or a duplicate.

    Notes
    -----
    A misleading text tends to use a distractor that misleads in any case. So the first estimate
    alone is not informative. The excess compares an item with itself. It includes only items with a
    wrong answer to another text as well, which leave less room for a hint. If variants were written
    twice by one recipe, both texts may point to the most plausible distractor. An excess may then
    be detected for either text.

    The last estimate does not have this problem. If an item's two texts were exchanged, it would
    change its sign, while everything specific to the item cancels, e.g. a plausible distractor. So
    its mean is 0 if the answers are unrelated to the measured text. It identifies which of several
    versions of the variants a text belongs to (`versions_that_follow`). It needs two attributes and
    two wrong answers to an item; a value of 0 does not show that the text is a different one.

    The numbers of an item are first averaged over samples and models: items are the independent
    units (Student's t, see `mean_difference`). Only the first estimate has Wilson's interval of its
    answers. p-values are not adjusted for their number.
    """
    alpha = check_alpha(alpha)
    opened = open_answers(answers, benchmarks)
    known = opened.benchmarks
    options = leakage_of_options(measures, known)
    choices = _choices(item_patterns(opened))
    rows: list[Row] = []
    for (name, measure), own in options.groupby(["benchmark", "measure"]):
        benchmark = known[str(name)]
        given = {"aspect": ASPECT, "measure": measure, "benchmark": name, "ci_level": 1 - alpha}
        wrong = choices[(choices["benchmark"] == name) & choices["wrong"]]
        pointed = _pointed(own)
        units = choices.loc[choices["benchmark"] == name, list(UNIT_COLUMNS)].drop_duplicates()
        for attribute, group, other in _sides(benchmark):
            pairs = _followed(wrong, pointed, attribute, group, other)
            for unit in units.to_dict("records"):
                of = given | unit | {"attribute": attribute, "group_a": group, "group_b": other}
                mine = pairs[(pairs[list(UNIT_COLUMNS)] == pd.Series(unit)).all(axis=1)]
                rows += [of | row for row in _group_rows(mine, alpha)]
            for version in units[_VERSION].drop_duplicates().to_dict("records"):
                of = given | version | {"attribute": attribute, "group_a": group, "group_b": other}
                mine = _with_excess(pairs[(pairs[_VERSION] == pd.Series(version)).all(axis=1)])
                rows.append(of | _mean(EXCESS, mine, "excess", alpha))
        compared = _own_text(wrong, own, benchmark)
        for keys in (list(UNIT_COLUMNS), _VERSION):
            for unit in units[keys].drop_duplicates().to_dict("records"):
                mine = compared[(compared[keys] == pd.Series(unit)).all(axis=1)]
                rows.append(given | unit | _mean(OWN_TEXT, mine, "value", alpha))
    found = findings_frame(rows)
    place = found["quantity"].map(QUANTITIES.index)
    keys = ["measure", *UNIT_COLUMNS, "attribute", "group_a", "group_b", "_place"]
    return found.assign(_place=place).sort_values(keys, ignore_index=True).drop(columns="_place")


def versions_that_follow(findings: pd.DataFrame, *, alpha: float = 0.05) -> dict[str, list[str]]:
    """Return the versions of each benchmark with wrong answers that follow the measured text.

    Parameters
    ----------
    findings : pandas.DataFrame
        From `followed_leakage`.
    alpha : float
        The level, with Bonferroni's correction over the measures and versions of a benchmark.

    Returns
    -------
    dict of str to list of str
        The versions by benchmark. A version that is absent has too few answers, or belongs to
        another text. A benchmark's declaration takes precedence.
    """
    pooled = findings[(findings["quantity"] == OWN_TEXT) & (findings["model"] == "")]
    # Uninformative limits have p = 1.
    tests = pooled.groupby("benchmark")["estimate"].transform("size")
    level = alpha / tests
    clear = pooled[(pooled["p_value"] < level) & (pooled["estimate"] > 0)]
    found = clear.groupby("benchmark")["benchmark_version"].unique()
    return {str(name): sorted(map(str, versions)) for name, versions in found.items()}


def _choices(patterns: pd.DataFrame) -> pd.DataFrame:
    """Return one row per available answer: the question, the letter, and whether it is wrong."""
    sides = [
        patterns[[*_ASKED, "attribute", f"group_{side}", f"letter_{side}", "answer_key"]].rename(
            columns={f"group_{side}": "group", f"letter_{side}": "letter"}
        )
        for side in "ab"
    ]
    # A group in several pairs has one row per pair.
    table = pd.concat(sides).drop_duplicates([*_ASKED, "attribute", "group"])
    table = table[table["letter"] != NO_LETTER]
    return table.assign(wrong=table["letter"] != table["answer_key"])


def _pointed(options: pd.DataFrame) -> pd.DataFrame:
    """Return the distractor that each variant points to: item_id, attribute, group, pointed."""
    variant = ["item_id", "attribute", "group"]
    own = options[(options["role"] == DISTRACTOR) & (options["value"] > _ROUNDING)]
    largest = own.groupby(variant)["value"].transform("max")
    top = own[own["value"] >= largest - _ROUNDING]
    one = top[~top.duplicated(variant, keep=False)]
    return one[[*variant, "option"]].rename(columns={"option": "pointed"})


def _sides(benchmark: Benchmark) -> Iterator[tuple[str, str, str]]:
    """Return each group of each declared pair with the other one: attribute, group, other."""
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            yield attribute.name, a, b
            yield attribute.name, b, a


def _followed(
    wrong: pd.DataFrame, pointed: pd.DataFrame, attribute: str, group: str, other: str
) -> pd.DataFrame:
    """Return the wrong answers to a group's variants that point to a distractor.

    ``followed`` is 1 if it was chosen. ``expected`` is the share of the wrong answers to the item's
    other texts that chose it, NaN if there are none.
    """

    variant = ["item_id", "attribute", "group"]
    texts = wrong.merge(pointed, on=variant, how="left")
    named = (texts["attribute"] == attribute) & (texts["group"] == group)
    mine = texts.loc[named & texts["pointed"].notna(), [*_ASKED, "letter", "pointed"]]
    is_neutral = (texts["attribute"] == BASELINE) & (texts["group"] == NEUTRALIZED)
    is_other = (texts["attribute"] == attribute) & (texts["group"] == other)
    others = texts.loc[is_neutral | is_other, [*_ASKED, "letter", "pointed"]]
    beside = mine.merge(others, on=_ASKED, suffixes=("", "_other"))
    beside = beside[beside["pointed"] != beside["pointed_other"]]
    same = (beside["letter_other"] == beside["pointed"]).astype(float)
    expected = same.groupby([beside[name] for name in _ASKED]).mean().rename("expected")
    followed = (mine["letter"] == mine["pointed"]).astype(float)
    return mine.assign(followed=followed).join(expected, on=_ASKED)


def _group_rows(mine: pd.DataFrame, alpha: float) -> list[Row]:
    """Return the estimates of one unit, measure and group."""
    if mine.empty:
        reason = "no wrong answers to variants that point to a distractor"
        return [_none(quantity, reason) for quantity in (FOLLOWED, EXPECTED, EXCESS)]
    count, n = int(mine["followed"].sum()), len(mine)
    limits = wilson(count, n, alpha=alpha)
    share = {
        "quantity": FOLLOWED,
        "estimate": count / n,
        "ci_low": float(limits.ci_low),
        "ci_high": float(limits.ci_high),
        "ci_method": "wilson",
        "test": "none",
        "n": n,
        "note": f"{count} of {n}",
    }
    compared = _with_excess(mine)
    return [
        share,
        _mean(EXPECTED, compared, "expected", alpha) | {"p_value": np.nan, "test": "none"},
        _mean(EXCESS, compared, "excess", alpha),
    ]


def _with_excess(mine: pd.DataFrame) -> pd.DataFrame:
    """Return wrong answers with another wrong answer to the same item, and their difference."""
    compared = mine[mine["expected"].notna()]
    return compared.assign(excess=compared["followed"] - compared["expected"])


def _own_text(wrong: pd.DataFrame, options: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """Return `OWN_TEXT` of every two variants on one side of their pairs, per item and unit."""
    leaks = options.set_index(["item_id", "attribute", "group", "option"])["value"]

    def leakage(rows: pd.DataFrame, text: str, chosen: str) -> npt.NDArray[np.float64]:
        names = ["item_id", f"attribute_{text}", f"group_{text}", f"letter_{chosen}"]
        return leaks.reindex(pd.MultiIndex.from_frame(rows[names])).to_numpy(dtype=float)

    sides: tuple[set[tuple[str, str]], ...] = (set(), set())
    for attribute in benchmark.varied:
        for pair in attribute.pairs:
            for side, group in zip(sides, pair, strict=True):
                side.add((attribute.name, group))
    tables = [pd.DataFrame(columns=[*_ASKED, "value"]).astype({"value": float})]
    answered = dict(list(wrong.groupby(["attribute", "group"])))
    # A group that is on both sides of its pairs has no direction.
    for side, other in (sides, sides[::-1]):
        for g, h in combinations(sorted(side - other), 2):
            if g[0] == h[0] or g not in answered or h not in answered:
                continue
            both = answered[g].merge(answered[h], on=_ASKED, suffixes=("_g", "_h"))
            own = leakage(both, "g", "g") + leakage(both, "h", "h")
            crossed = leakage(both, "h", "g") + leakage(both, "g", "h")
            tables.append(both[_ASKED].assign(value=(own - crossed) / 2))
    return pd.concat(tables, ignore_index=True).dropna(subset="value")


def _mean(quantity: str, rows: pd.DataFrame, column: str, alpha: float) -> Row:
    """Return the mean over items of each item's mean."""
    values = rows.groupby("item_id")[column].mean().to_numpy(dtype=float)
    if len(values) == 0:
        return _none(quantity, "no item has two such answers")
    found = mean_difference(values, largest=max(1.0, float(np.abs(values).max())), alpha=alpha)
    names = ("estimate", "ci_low", "ci_high", "ci_method", "p_value", "test", "n")
    return {name: found.to_row()[name] for name in names} | {"quantity": quantity}


def _none(quantity: str, reason: str) -> Row:
    return {"quantity": quantity, "ci_method": "none", "test": "none", "note": reason}
