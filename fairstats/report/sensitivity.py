"""Show how a verdict changes with the choices of an analyst."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import escape_html, listed, number_word, p_figure, uncapital
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import BASELINE, MISSING_POLICIES
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.specifications import INTERVAL, INTERVALS, MISSING, TEST, TESTS
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.findings import prompted
from fairstats.report.tables import MARKS, breakable, cell_label, written_table
from fairstats.report.words import signed_range, test_name

if TYPE_CHECKING:
    from great_tables import GT
    from great_tables._text import BaseText

#: The treatment of a missing answer by each policy, in a few words.
POLICY_NOTES = {
    "available": "each group's own answers",
    "complete": "pairs with both answers",
    "incorrect": "missing is wrong",
    "bounds": "range over all fill-ins",
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
    """

    kept: str
    changed: list[tuple[Pair, pd.DataFrame]]
    uncounted: list[tuple[Pair, pd.DataFrame]]


def robustness(own: AnswerSet) -> Robustness:
    """Return which choices of method keep the published verdicts of an answer set.

    Intervals that cover too rarely count only if they change no verdict.
    """
    counts: dict[str, int] = {}
    changed, uncounted = [], []
    for pair in own.pairs:
        rows = pair.rows(own.sensitivity)
        aspects = [INTERVAL, TEST] if nothing_missing(rows) else list(_METHODS)
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
    kept_by = [
        f"{number_word(counts[aspect])} {methods.format(test=test_name(own.kind))}"
        for aspect, methods in _METHODS.items()
        if counts.get(aspect, 0) > 1
    ]
    return Robustness(listed(kept_by), changed, uncounted)


def change_of(pair: Pair, rows: pd.DataFrame) -> str:
    """State a pair's other verdicts, and the choices that give them.

    Parameters
    ----------
    pair : Pair
        The pair.
    rows : pandas.DataFrame
        Its rows in `Robustness.changed`.
    """
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

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.estimates.specifications.sensitivity_of`; rows of other aspects are ignored.
    release : Release
        Names the benchmarks' attributes.
    name : str
        The table's id, unique on the page.
    """
    from great_tables import html

    rows = rows[rows["aspect"] == MISSING]
    table = []
    for unit, pairs in rows.groupby(list(UNIT_COLUMNS), sort=False):
        heading = unit_label(unit, release)
        if nothing_missing(pairs):
            heading += ". No answer is missing: the policies agree."
        for _, figures in pairs.groupby(list(PAIR_COLUMNS), sort=False):
            table.append({"set": heading, **_policy_row(figures.set_index("choice"), release)})
    kinds = {release.benchmarks[str(name)].kind for name in rows["benchmark"].unique()}
    worst = {_WORST.get(kind.name, "the worse end of the scale") for kind in kinds}
    worst = worst if len(worst) < 2 else {"the worst answer"}
    notes = POLICY_NOTES | {"incorrect": f"missing is {''.join(worst)}"}
    labels: dict[str, str | BaseText] = {
        policy: html(f"{policy}<br><small>{notes[policy]}</small>") for policy in MISSING_POLICIES
    }
    return written_table(
        table, labels, name=name, stub="pair", heading="Pair", group="set", html=["pair", *labels]
    )


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

    Parameters
    ----------
    rows : pandas.DataFrame
        From `fairstats.estimates.specifications.sensitivity_of`; rows of other aspects are ignored.
    release : Release
        Names the benchmarks' attributes.
    aspect : {"interval", "test"}
        The choice to vary.
    name : str
        The table's id, unique on the page.

    Notes
    -----
    The published choice comes first. A cell is marked if its choice would change the verdict. A
    cell is empty if its method has no version for the answers of a pair (they are clustered).
    """
    rows = rows[rows["aspect"] == aspect]
    methods: Iterable[str] = INTERVALS if aspect == INTERVAL else TESTS
    if all(_kind(row, release) != CHOICE for row in rows.head(1).to_dict("records")):
        methods = [method for method in methods if method in set(rows["choice"])]
    table = []
    for unit, pairs in rows.groupby(list(UNIT_COLUMNS), sort=False):
        for _, choices in pairs.groupby(list(PAIR_COLUMNS), sort=False):
            table.append(
                {
                    "set": unit_label(unit, release),
                    "pair": escape_html(_pair_label(choices.iloc[0], release)),
                    **_choices_row(choices, aspect, release),
                }
            )
    labels = {_PUBLISHED: "As published"} | {m: CHOICE_LABELS[m] for m in methods}
    return written_table(
        table, labels, name=name, stub="pair", heading="Pair", group="set", html=["pair", *labels]
    )


def _choices_row(choices: pd.DataFrame, aspect: str, release: Release) -> dict[str, str]:
    """Return one pair's cells: the published result, its method, and the other methods' results."""
    cells = {}
    published = choices[choices["published"]]
    for row in choices.to_dict("records"):
        if aspect == INTERVAL:
            limits = signed_range(_kind(row, release), row["ci_low"], row["ci_high"])
            cell = escape_html(limits)
        else:
            p = row["p_value"] if pd.isna(row["p_adjusted"]) else row["p_adjusted"]
            cell = escape_html(p_figure(p))
        other = len(published) and not _same(row["verdict"], published["verdict"].iloc[0])
        if other and row["attribute"] != BASELINE:
            cell += f"<br><small>{_verdict_mark(row['verdict'])}</small>"
        cells[row["choice"]] = cell
        if row["published"]:
            method, comma, effect = row["choice"].partition(", design effect")
            label = escape_html(f"{CHOICE_LABELS.get(method, method)}{comma}{effect}")
            cells[_PUBLISHED] = f"<strong>{cell}</strong><br><small>{label}</small>"
    return cells


def unit_label(unit: tuple[Hashable, ...], release: Release) -> str:
    """Return an answer set's name in the headings of rows."""
    name, version, model, strategy = map(str, unit)
    benchmark = release.benchmarks[name]
    vignettes = benchmark.versions.get(version, version)
    asked = f", {strategy_label(strategy)}" if prompted(release, name) else ""
    return f"{breakable(model)} ({benchmark.title}, {vignettes}{asked})"


def _pair_label(row: pd.Series, release: Release) -> str:
    benchmark = release.benchmarks[row["benchmark"]]
    return breakable(benchmark.pair_name(row["attribute"], (row["group_a"], row["group_b"])))


def _policy_row(figures: pd.DataFrame, release: Release) -> dict[str, str]:
    published = figures.loc[figures["published"], "verdict"].iloc[0]
    cells = {"pair": escape_html(_pair_label(figures.iloc[0], release))}
    for policy, row in figures.iterrows():
        kind = _kind(row, release)
        estimate = kind.signed(row["estimate"])
        limits = signed_range(kind, row["ci_low"], row["ci_high"])
        if policy == "bounds" and pd.isna(row["estimate"]):
            estimate = "range"
        elif policy == "bounds":
            limits = "no range"
        cell = f"<strong>{estimate}</strong> <small>{limits}</small>"
        # Under bounds there is no verdict, and the baseline has none.
        if row["published"] and row["attribute"] != BASELINE:
            cell += f"<br><small>published: {_verdict_mark(row['verdict'])}</small>"
        elif policy != "bounds" and not _same(row["verdict"], published):
            cell += f"<br><small>changes to {_verdict_mark(row['verdict'])}</small>"
        cells[str(policy)] = cell_label(str(policy)) + cell
    return cells


def _kind(row: Mapping[Hashable, Any] | pd.Series, release: Release) -> Kind:
    return release.benchmarks[str(row["benchmark"])].kind


def _same(verdict: object, other: object) -> bool:
    return verdict == other or (pd.isna(verdict) and pd.isna(other))


def _verdict_mark(verdict: object) -> str:
    if not isinstance(verdict, str):
        return NOT_JUDGED
    return (
        f'<span class="verdict {verdict.split()[-1]}"><span aria-hidden="true">'
        f"{MARKS[verdict]}</span> {verdict}</span>"
    )
