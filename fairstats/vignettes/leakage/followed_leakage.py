"""Whether wrong answers choose the distractor that the text added for a group leaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.answers.engine_frames import NO_LETTER, UNIT_COLUMNS, open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE, NEUTRALIZED
from fairstats.counts.by_item import item_patterns
from fairstats.inference._checks import check_alpha
from fairstats.inference.intervals import wilson
from fairstats.inference.mean_difference import mean_difference
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.leakage.leaked_options import leakage_of_options
from fairstats.vignettes.measures import DISTRACTOR

ASPECT = "leakage"
FOLLOWED = "wrong answers that follow the text"
EXPECTED = "the same choice of wrong answers to other texts"
EXCESS = "wrong answers that follow the text, above other texts"
OWN_TEXT = "leakage of the wrong option chosen, own text minus another's"
#: In the order in which they stand.
QUANTITIES = (FOLLOWED, EXPECTED, EXCESS, OWN_TEXT)

_ASKED = [*UNIT_COLUMNS, "item_id", "sample"]
_VERSION = ["benchmark", "benchmark_version"]
# What differs by less differs by floating point alone.
_ROUNDING = 1e-12

Row = dict[str, Any]


def followed_leakage(
    answers: Any,
    measures: pd.DataFrame,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    alpha: float = 0.05,
) -> pd.DataFrame:
    """How often a wrong answer is the distractor that its text leaks most, and whether by the text.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table. A missing answer is none, whatever the policy.
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`; of these
        `fairstats.vignettes.leakage.leaked_options.ADJUSTED_FOR`, with one row for each variant and
        option.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`. A variant points to a distractor where it
        leaks more of it than of any other distractor, and more than none. For each unit, measure
        and group (``group_a``; the group it is paired with in ``group_b``)

        ``wrong answers that follow the text``
            Of the wrong answers to variants that point to a distractor, the share that choose it.
        ``the same choice of wrong answers to other texts``
            How often wrong answers to the same items' neutralized vignette, or the other group's
            variant where that does not point there too, choose that same distractor. Items with
            such an answer alone.
        ``wrong answers that follow the text, above other texts``
            The first minus the second, of these same items. Also of each version over all its
            units, without a model.

        and for each unit, and again each version over all its units, measure by measure

        ``leakage of the wrong option chosen, own text minus another's``
            For two variants g and h of an item, of two attributes, on the same side of their
            pairs, both answered wrongly with o and p, ½ [L_g(o) − L_h(o) + L_h(p) − L_g(p)].

        Where there is no such answer the estimate is NaN, and `note` says so.

    Raises
    ------
    InputError
        As `fairstats.analyze`; where there is no measure of leakage of the answers' benchmarks,
        or one appears twice.

    Notes
    -----
    Whoever misleads by a text chooses a distractor that misleads anyway. So the first figure alone
    says little. The excess compares an item with itself, but items are in it only where another
    text was answered wrongly too, where there is less room for a hint; and where variants were
    written twice by one recipe, both texts may point to the distractor that is most plausible: an
    excess may then be found for the text of either.

    The last figure is free of this. Were an item's two texts exchanged, it would change its sign,
    while all that belongs to the item, such as a distractor that is plausible, cancels. So its mean
    is 0 where the answers have nothing to do with the text that was measured, and it tells which
    of several versions of the variants a text belongs to (`versions_that_follow`). It needs two
    attributes and two wrong answers to an item; 0 does not show that a text is another.

    The numbers of an item are averaged first, over samples and models: items are what is
    independent (Student's t, see `mean_difference`). The first figure alone has Wilson's interval
    of its answers. p-values are not adjusted for how many there are.
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
    """The versions of each benchmark whose wrong answers follow the text that was measured.

    Parameters
    ----------
    findings : pandas.DataFrame
        From `followed_leakage`.
    alpha : float
        The level, by Bonferroni over the measures and versions of a benchmark.

    Returns
    -------
    dict of str to list of str
        The versions by benchmark. One that is not there has too few answers to tell, or is of
        another text: a benchmark's declaration knows better.
    """
    pooled = findings[(findings["quantity"] == OWN_TEXT) & (findings["model"] == "")]
    # Limits that could say nothing have p = 1.
    tests = pooled.groupby("benchmark")["estimate"].transform("size")
    level = alpha / tests
    clear = pooled[(pooled["p_value"] < level) & (pooled["estimate"] > 0)]
    found = clear.groupby("benchmark")["benchmark_version"].unique()
    return {str(name): sorted(map(str, versions)) for name, versions in found.items()}


def _choices(patterns: pd.DataFrame) -> pd.DataFrame:
    """One row an answer that is there: what was asked, the letter, and whether it is wrong."""
    sides = [
        patterns[[*_ASKED, "attribute", f"group_{side}", f"letter_{side}", "answer_key"]].rename(
            columns={f"group_{side}": "group", f"letter_{side}": "letter"}
        )
        for side in "ab"
    ]
    # A group of several pairs stands there once a pair.
    table = pd.concat(sides).drop_duplicates([*_ASKED, "attribute", "group"])
    table = table[table["letter"] != NO_LETTER]
    return table.assign(wrong=table["letter"] != table["answer_key"])


def _pointed(options: pd.DataFrame) -> pd.DataFrame:
    """The distractor that each variant points to: item_id, attribute, group, pointed."""
    variant = ["item_id", "attribute", "group"]
    own = options[(options["role"] == DISTRACTOR) & (options["value"] > _ROUNDING)]
    largest = own.groupby(variant)["value"].transform("max")
    top = own[own["value"] >= largest - _ROUNDING]
    one = top[~top.duplicated(variant, keep=False)]
    return one[[*variant, "option"]].rename(columns={"option": "pointed"})


def _sides(benchmark: Benchmark) -> Iterator[tuple[str, str, str]]:
    """Each group of each declared pair with the other one: attribute, group, other."""
    for attribute in benchmark.varied:
        for a, b in attribute.pairs:
            yield attribute.name, a, b
            yield attribute.name, b, a


def _followed(
    wrong: pd.DataFrame, pointed: pd.DataFrame, attribute: str, group: str, other: str
) -> pd.DataFrame:
    """The wrong answers to a group's variants that point to a distractor.

    ``followed`` is 1 where it was chosen, ``expected`` the share of the wrong answers to the
    item's other texts that chose it, NaN where there is none.
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
    """The figures of one unit, measure and group."""
    if mine.empty:
        reason = "no wrong answers to variants that point to a distractor"
        return [_none(quantity, reason) for quantity in (FOLLOWED, EXPECTED, EXCESS)]
    count, n = int(mine["followed"].sum()), len(mine)
    limits = wilson(count, n, alpha=alpha)
    share = {
        "quantity": FOLLOWED,
        "estimate": count / n,
        "ci_low": float(limits.low),
        "ci_high": float(limits.high),
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
    """Of the wrong answers those with another wrong answer to the item, and their difference."""
    compared = mine[mine["expected"].notna()]
    return compared.assign(excess=compared["followed"] - compared["expected"])


def _own_text(wrong: pd.DataFrame, options: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """`OWN_TEXT` of every two variants on one side of their pairs: an item's values by unit."""
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
    """The mean over items of the mean of each."""
    values = rows.groupby("item_id")[column].mean().to_numpy(dtype=float)
    if len(values) == 0:
        return _none(quantity, "no item has two such answers")
    found = mean_difference(values, largest=max(1.0, float(np.abs(values).max())), alpha=alpha)
    names = ("estimate", "ci_low", "ci_high", "ci_method", "p_value", "test", "n")
    return {name: getattr(found, name) for name in names} | {"quantity": quantity}


def _none(quantity: str, reason: str) -> Row:
    return {"quantity": quantity, "ci_method": "none", "test": "none", "note": reason}
