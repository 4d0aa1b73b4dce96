"""The tables of a model's page: all figures, the choices behind a verdict, items that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    level,
    listed,
    number_word,
)
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.counts.answer_tables import flipping_items
from fairstats.estimates.specifications import INTERVAL, MARGIN, MISSING, SMALLEST, TEST
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.sections.section import CANNOT, Answer, by_pair
from fairstats.report.sensitivity import CHOICE_LABELS, with_missing
from fairstats.report.tables import written_table
from fairstats.report.words import discordant_note, unsigned

if TYPE_CHECKING:
    from great_tables import GT

# Both are too narrow if few pairs are discordant; the page on methods has their coverage.
_TOO_NARROW = ("wald", "bootstrap")
# More pairs than these are rows, not columns.
_MOST_COLUMNS = 4
_MOST_CHANGES = 4


def figures_caption(own: AnswerSet, release: Release) -> str:
    """Describe the limits and the tests in the table of all figures."""
    if own.ranged:
        limits = "In brackets: the range over all possible missing answers."
    else:
        test = "McNemar’s" if own.kind.test == "mcnemar" else "The sign-flip"
        limits = f"{level(release.alpha)} intervals in brackets. {test} test is the mid-p one."
    size = "AD: absolute accuracy difference. " if own.kind == CHOICE else ""
    text = f"{capital(own.label)}. {limits} {size}CFR: share of pairs with the same answer."
    if own.kind != CHOICE:
        return f"{text} {discordant_note(own.benchmark)}{_of_samples(own)}"
    if own.neutral is None:
        return text
    return f"{text} EO: AD on the items that are answered correctly with neutral text."


def _of_samples(own: AnswerSet) -> str:
    """State how the samples of a prompt are paired; empty with one sample."""
    rows = own.board.estimates
    notes = rows.loc[rows["model"] == own.model, "method_note"].dropna()
    found = notes.str.extract(r"(\d+) samples per item")[0].dropna()
    if found.empty:
        return ""
    return (
        f" Each prompt was asked {number_word(int(found.iloc[0]))} times, and every answer for one "
        "group is paired with every answer for the other."
    )


def margins_table(sets: list[AnswerSet], *, name: str) -> GT:
    """Show the smallest margin at which each pair would be equivalent: one row per answer set.

    Parameters
    ----------
    sets : list of AnswerSet
        The rows.
    name : str
        The table's id, unique on the page.
    """
    every = {(pair.attribute, pair.groups): pair for own in sets for pair in own.pairs}
    labels = {f"p{n}": pair.name for n, pair in enumerate(every.values())}
    rows: list[dict[str, str]] = []
    for own in sets:
        smallest = smallest_margins(own)
        row = {"set": capital(own.label if _versions(sets) > 1 else own.prompt)}
        for n, pair in enumerate(every.values()):
            values = pair.rows(smallest)["estimate"].dropna()
            row[f"p{n}"] = f"±{unsigned(own.kind, values.iloc[0])}" if len(values) else "–"
        rows.append(row)
    heading = f"Smallest margin, {sets[0].kind.unit}"
    if len(every) > _MOST_COLUMNS:
        names = {f"s{n}": row["set"] for n, row in enumerate(rows)}
        turned = [
            {"pair": label} | {f"s{n}": row[key] for n, row in enumerate(rows)}
            for key, label in labels.items()
        ]
        return written_table(
            turned, names, name=name, stub="pair", heading=heading, right=list(names)
        )
    return written_table(rows, labels, name=name, stub="set", heading=heading, right=list(labels))


def smallest_margins(own: AnswerSet) -> pd.DataFrame:
    """Return the rows of the table of sensitivity with the smallest margin of each pair."""
    rows = own.sensitivity
    names = {pair.attribute for pair in own.pairs}
    chosen = (rows["aspect"] == MARGIN) & (rows["choice"] == SMALLEST)
    return rows[chosen & rows["attribute"].isin(names)]


def _versions(sets: list[AnswerSet]) -> int:
    return len({own.board.version for own in sets})


def other_choices(own: AnswerSet) -> Answer:
    """State whether other methods, or policies for missing answers, would change a verdict."""
    rows = own.sensitivity
    missing = not with_missing(rows).empty
    aspects = [INTERVAL, TEST, MISSING] if missing else [INTERVAL, TEST]
    names = {pair.attribute for pair in own.pairs}
    rows = rows[rows["aspect"].isin(aspects) & (rows["choice"] != "bounds")]
    rows = rows[rows["attribute"].isin(names)]
    words, changes, weak = {}, [], False
    for pair in own.pairs:
        verdict, found = pair.verdict, pair.rows(rows)
        if verdict is None or found.empty:
            words[pair.name] = CANNOT
            continue
        others = found[found["verdict"].fillna("no verdict") != verdict]
        sound = others[~others["choice"].isin(_TOO_NARROW)]
        weak |= len(sound) < len(others)
        words[pair.name] = "No" if sound.empty else "Yes"
        for other, choices in sound.fillna({"verdict": "no verdict"}).groupby("verdict"):
            named = listed(CHOICE_LABELS.get(choice, choice) for choice in choices["choice"])
            changes.append(f"{pair.name}: {other} instead of {verdict} with {named}.")
    if len(changes) > _MOST_CHANGES:
        changes = [*changes[:_MOST_CHANGES], f"{len(changes) - _MOST_CHANGES} more such changes."]
    if set(words.values()) == {CANNOT}:
        reason = next(filter(None, (pair.reason for pair in own.pairs)), "there is no verdict")
        return Answer(CANNOT, f"{capital(reason)}.")
    if weak:
        rows = rows[~rows["choice"].isin(_TOO_NARROW)]
        changes.append(
            "Wald or bootstrap intervals would change a verdict, but they are too narrow if few "
            "pairs are discordant."
        )
    if "Yes" not in words.values():
        changes.insert(0, _all_the_same(rows, own.kind, missing=missing))
    return Answer(by_pair(words), " ".join(changes))


def _all_the_same(rows: pd.DataFrame, kind: Kind, *, missing: bool) -> str:
    # One method has a design effect for each pair.
    method = rows["choice"].str.replace(r", design effect .*", "", regex=True)
    counts = {
        aspect: method[rows["aspect"] == aspect].nunique() for aspect in (INTERVAL, TEST, MISSING)
    }
    things = {
        INTERVAL: "interval methods",
        TEST: f"versions of {'McNemar’s' if kind.test == 'mcnemar' else 'the sign-flip'} test",
        MISSING: "policies for missing answers",
    }
    parts = [
        f"{'both' if counts[aspect] == 2 else f'all {number_word(counts[aspect])}'} {thing}"
        for aspect, thing in things.items()
        if counts[aspect] > 1
    ]
    text = f"The verdict is the same with {listed(parts)}" if parts else "There is one method"
    return f"{text}{'' if missing else ', and no answer is missing'}."


def changing_items(own: AnswerSet, flips: pd.DataFrame) -> str:
    """State how many items get different answers, in a sentence."""
    entries = own.entries
    of = f" of {entries[0]['items']:,}" if len(entries) == 1 else ""
    # Answers to controls are no changes between groups.
    varied = [attribute.name for attribute in own.benchmark.varied]
    found = flipping_items(flips[flips["attribute"].isin(varied)])
    items = own.benchmark.words.items
    text = f"{len(found):,}{of} {items} {'gets' if len(found) == 1 else 'get'} a different answer"
    if len(own.pairs) > 1:
        text += " for at least one pair"
        every = int((found["pairs"] == len(own.pairs)).sum())
        text += f", {every:,} for {'both' if len(own.pairs) == 2 else 'all'} pairs"
    several = " (in at least one sample)" if (flips["sample"] > 0).any() else ""
    return f"{text}{several}."
