"""Show how a verdict changes with the choices of an analyst."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from great_tables import GT, html
from great_tables._text import BaseText
from markupsafe import Markup

from fairstats._lib.formatting import listed, number_word, p_figure, quoted, uncapital
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, MISSING_POLICIES
from fairstats.benchmarks.kinds import Kind
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.specifications import INTERVAL, INTERVALS, MISSING, TEST, TESTS
from fairstats.inference.verdict import INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.findings import prompted
from fairstats.report.page_output import filled
from fairstats.report.tables import MARKS, breakable, in_cell, written_table
from fairstats.report.words import signed_range, test_name

#: The treatment of a missing answer by each policy, in a few words.
POLICY_NOTES = {
    "available": "each group's own answers",
    "complete": "pairs with both answers",
    "incorrect": "missing is wrong",
    "bounds": "range of all items over all fill-ins",
}
#: The choices of interval and test as readers see them; another is named as the estimates do.
CHOICE_LABELS = {
    "tango": "Tango",
    "bonett_price": "Bonett–Price",
    "newcombe": "Newcombe",
    "newcombe, partly paired": "Newcombe, each group's own answers",
    "wald": "Wald",
    "bootstrap": "BCa bootstrap",
    "midp": "Mid-p",
    "exact": "Exact",
    "asymptotic": "χ²",
    "asymptotic_cc": "Continuity-corrected χ²",
}
NOT_JUDGED = "not judged"
_WORST = {"choice": "wrong", "decision": "not favourable"}
_PUBLISHED = "as published"


# Both cover far too rarely if few pairs are discordant (see the page on methods): no verdict has to
# survive them.
_UNRELIABLE = ("wald", "bootstrap")
_METHODS = {
    INTERVAL: "interval methods",
    TEST: "versions of {test}",
    MISSING: "policies for missing answers",
}


@dataclass(frozen=True)
class Robustness:
    """Hold how the published verdicts change under other choices that can be defended.

    Attributes
    ----------
    kept : str
        The choices that keep the verdicts, e.g. ``"four interval methods"``; empty if there is one.
    changed : list of (Pair, pandas.DataFrame)
        The pairs with a verdict that another choice changes, and those rows of the table of
        sensitivity.
    uncounted : list of (Pair, pandas.DataFrame)
        The same for intervals that no verdict has to survive.
    open : list of Pair
        The pairs with a verdict that missing answers could change. That other policies leave it
        open, too, shows nothing.
    """

    kept: str
    changed: list[tuple[Pair, pd.DataFrame]]
    uncounted: list[tuple[Pair, pd.DataFrame]]
    open: list[Pair]


def robustness(own: AnswerSet, pairs: Sequence[Pair] = ()) -> Robustness:
    """Return which choices of method keep the published verdicts of an answer set.

    Intervals that cover too rarely count only if they change no verdict.

    Without `pairs`, all pairs of groups are meant.
    """
    pairs = pairs or own.pairs
    counts: dict[str, int] = {}
    changed, uncounted = [], []
    undecided = [pair for pair in pairs if "could change the verdict" in pair.reason]
    for pair in pairs:
        rows = pair.rows(own.sensitivity)
        fewer = pair in undecided or nothing_missing(rows)
        aspects = [INTERVAL, TEST] if fewer else list(_METHODS)
        # The policy bounds has no verdict.
        rows = rows[rows["aspect"].isin(aspects) & (rows["choice"] != "bounds")]
        if pair.verdict is None or rows.empty:
            continue
        other = rows["verdict"].fillna("") != pair.verdict
        sound = ~rows["choice"].isin(_UNRELIABLE)
        if (other & sound).any():
            changed.append((pair, rows[other & sound]))
        if (other & ~sound).any():
            uncounted.append((pair, rows[other & ~sound]))
        kept = rows[sound] if other.any() else rows
        for aspect, number in kept.groupby("aspect")["choice"].nunique().items():
            counts[str(aspect)] = min(counts.get(str(aspect), number), number)
    if undecided:
        counts.pop(MISSING, None)
    kept_by = [
        f"{number_word(counts[aspect])} {methods.format(test=test_name(own.kind))}"
        for aspect, methods in _METHODS.items()
        if counts.get(aspect, 0) > 1
    ]
    return Robustness(listed(kept_by), changed, uncounted, undecided)


def change_of(pair: Pair, rows: pd.DataFrame) -> str:
    """State a pair's other verdicts, and the choices that give them."""
    rows = rows.assign(
        verdict=rows["verdict"].fillna("no verdict"),
        choice=list(map(_method, rows["aspect"], rows["choice"])),
    )
    return "; ".join(
        f"{other} instead of {pair.verdict} with {listed(choices)}"
        for other, choices in rows.groupby("verdict")["choice"]
    )


def _method(aspect: str, choice: str) -> str:
    """Return the name of a choice in a sentence."""
    label = CHOICE_LABELS.get(choice, choice)
    if aspect == MISSING:
        return f"the policy “{label}”"
    return f"the {label} interval" if aspect == INTERVAL else f"the {uncapital(label)} test"


def policy_table(rows: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show the differences under the four policies for missing answers.

    There is one row per pair and one column per policy: the estimate with its interval, or the
    range over all fill-ins. A cell is marked if its policy would change the published verdict.
    """
    rows = rows[rows["aspect"] == MISSING]
    kinds = {release.benchmarks[str(name)].kind.name for name in rows["benchmark"].unique()}
    worst = {worst_answer(kind) for kind in kinds} or {"wrong"}
    as_ = worst.pop() if len(worst) == 1 else "the worst answer"
    notes = POLICY_NOTES | {"incorrect": f"missing is {as_}"}
    labels: dict[str, str | BaseText] = {
        policy: html(f"{policy}<br><small>{notes[policy]}</small>") for policy in MISSING_POLICIES
    }
    return _table(rows, release, _policy_cells, labels, name=name)


def worst_answer(kind: str) -> str:
    """Return what the policy ``incorrect`` takes a missing answer for, by the name of the kind."""
    return _WORST.get(kind, "the worse end of the scale")


def with_missing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of answer sets with missing answers; for the others, all policies agree."""
    units = rows.groupby(list(UNIT_COLUMNS), sort=False)
    return units.filter(lambda unit: not nothing_missing(unit))


def nothing_missing(rows: pd.DataFrame) -> bool:
    """Check that no pair has missing answers: the range over fill-ins is then a point."""
    bounds = rows[(rows["aspect"] == MISSING) & (rows["choice"] == "bounds")]
    return bool((bounds["ci_low"] == bounds["ci_high"]).all())


def choice_table(rows: pd.DataFrame, release: Release, aspect: str, *, name: str) -> GT:
    """Show other methods' intervals, or adjusted p-values, with one row per pair.

    `rows` are from `fairstats.estimates.specifications.sensitivity_of`; those of other aspects are
    ignored. The published choice comes first. A cell is marked if its choice would change the
    verdict. It is empty if its method has no version for the answers of a pair (they are
    clustered).
    """
    rows = rows[rows["aspect"] == aspect]
    every = INTERVALS if aspect == INTERVAL else TESTS
    methods = [method for method in every if method in set(rows["choice"])]
    labels = {_PUBLISHED: "As published"} | {method: CHOICE_LABELS[method] for method in methods}
    return _table(rows, release, partial(_choice_cells, alpha=release.alpha), labels, name=name)


def _table(
    rows: pd.DataFrame,
    release: Release,
    cells: Callable[[pd.DataFrame, Kind], dict[str, Markup]],
    labels: Mapping[str, str | BaseText],
    *,
    name: str,
) -> GT:
    """Make a table with one row per pair, and the answer sets as headings of their rows."""
    table = []
    for (*unit, attribute, first, second), own in rows.groupby(list(PAIR_COLUMNS), sort=False):
        benchmark = release.benchmarks[str(unit[0])]
        pair = benchmark.pair_name(str(attribute), (str(first), str(second)))
        names = {"set": unit_label(tuple(unit), release), "pair": breakable(pair)}
        table.append(names | cells(own, benchmark.kind))
    return written_table(table, labels, name=name, stub="pair", heading="Pair", group="set")


def unit_label(unit: tuple[Hashable, ...], release: Release) -> str:
    """Return an answer set's name in the headings of rows."""
    name, version, model, strategy = map(str, unit)
    benchmark = release.benchmarks[name]
    vignettes = benchmark.versions.get(version, version)
    asked = f", {strategy_label(strategy)}" if prompted(release, name) else ""
    return f"{breakable(quoted(model))} ({benchmark.title}, {vignettes}{asked})"


def _policy_cells(rows: pd.DataFrame, kind: Kind) -> dict[str, Markup]:
    """Return one pair's figure under each policy, and the verdict if it is another one."""
    cells = {}
    for row in rows.to_dict("records"):
        policy, bounds = str(row["choice"]), row["choice"] == "bounds"
        figure, limits = kind.signed(row["estimate"]), _limits(row, kind)
        if bounds and pd.isna(row["estimate"]):
            figure = "range"
        elif bounds:
            limits = "no range"
        # Under bounds there is no verdict.
        note, verdict = "changes to", "" if bounds else _other_verdict(row, rows)
        if row["published"] and row["attribute"] != BASELINE:
            note, verdict = "published:", _verdict(row["verdict"])
        shown = {"strong": figure, "limits": limits, "note": note, "verdict": verdict}
        cells[policy] = filled("choice_cell", label=in_cell(policy), **shown)
    return cells


def _choice_cells(rows: pd.DataFrame, kind: Kind, *, alpha: float) -> dict[str, Markup]:
    """Return one pair's cells: the published result, its method, and the other methods' results."""
    cells = {}
    for row in rows.to_dict("records"):
        figure, reason = _limits(row, kind), ""
        if row["aspect"] != INTERVAL:
            figure = p_figure(row["p_value"] if pd.isna(row["p_adjusted"]) else row["p_adjusted"])
            # The interval is the published one, so only other completions can leave this open.
            is_open = row["verdict"] == INCONCLUSIVE and row["p_adjusted"] <= alpha
            reason = "missing answers could change it" * is_open
        verdict = _other_verdict(row, rows, reason)
        cells[row["choice"]] = filled("choice_cell", figure=figure, verdict=verdict)
        if row["published"]:
            method, comma, effect = row["choice"].partition(", design effect")
            label = f"{CHOICE_LABELS.get(method, method)}{comma}{effect}"
            shown = {"strong": figure, "verdict": verdict, "method": label}
            cells[_PUBLISHED] = filled("choice_cell", **shown)
    return cells


def _limits(row: Mapping[Hashable, Any], kind: Kind) -> str:
    return signed_range(kind, row["ci_low"], row["ci_high"])


def _other_verdict(
    row: Mapping[Hashable, Any], rows: pd.DataFrame, reason: str = ""
) -> Markup | str:
    """Return the verdict of a choice if it differs from the published one; a baseline has none."""
    verdicts = rows.loc[rows["published"], "verdict"].head(1).fillna("")
    verdict = row["verdict"] if isinstance(row["verdict"], str) else ""
    same = row["attribute"] == BASELINE or (verdicts == verdict).all()
    return "" if same else _verdict(verdict, reason)


def _verdict(verdict: object, reason: str = "") -> Markup | str:
    if not isinstance(verdict, str) or not verdict:
        return NOT_JUDGED
    return filled("verdict", verdict=verdict, mark=MARKS[verdict], reason=reason)
