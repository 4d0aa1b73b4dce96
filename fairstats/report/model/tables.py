"""The tables of a model's page: all figures, the choices behind a verdict, items that change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    level,
    number_word,
)
from fairstats.benchmarks.kinds import CHOICE
from fairstats.counts.answer_tables import flipping_items
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.figures import NONE
from fairstats.report.sections.section import CANNOT, Answer, by_pair
from fairstats.report.sections.size import smallest_margin
from fairstats.report.sensitivity import change_of, robustness, with_missing
from fairstats.report.tables import breakable, written_table
from fairstats.report.words import counted_items, discordant_note

if TYPE_CHECKING:
    from great_tables import GT

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


def margins_table(own: AnswerSet, *, name: str) -> GT:
    """Show the smallest margin at which each pair would be equivalent; the table's id is `name`."""
    rows = [
        {"pair": breakable(pair.name), "margin": smallest_margin(pair, own) or NONE}
        for pair in own.pairs
    ]
    labels = {"margin": f"Smallest margin, {own.kind.unit}"}
    return written_table(rows, labels, name=name, stub="pair", heading="Pair", right=["margin"])


def other_choices(own: AnswerSet) -> Answer:
    """State whether other methods, or policies for missing answers, would change a verdict."""
    found = robustness(own)
    changed = dict(found.changed)
    words = {
        pair.name: CANNOT if pair.verdict is None else "Yes" if pair in changed else "No"
        for pair in own.pairs
    }
    if set(words.values()) == {CANNOT}:
        reason = next(filter(None, (pair.reason for pair in own.pairs)), "there is no verdict")
        return Answer(CANNOT, f"{capital(reason)}.")
    said = [f"{pair.name}: {change_of(pair, rows)}." for pair, rows in changed.items()]
    if more := len(said[_MOST_CHANGES:]):
        said = [*said[:_MOST_CHANGES], f"{capital(number_word(more))} more pairs change too."]
    if not said:
        same = f"The verdict is the same with {found.kept}" if found.kept else "There is one method"
        missing = ", and no answer is missing" * with_missing(own.sensitivity).empty
        said = [f"{same}{missing}."]
    for pair, rows in found.uncounted[:_MOST_CHANGES]:
        said.append(
            f"Not counted for {pair.name}: {change_of(pair, rows)}. It is unreliable if few pairs "
            f"are discordant (here {sum(pair.counts or ()):,})."
        )
    return Answer(by_pair(words), " ".join(said))


def snapshots_of(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the snapshots in entries of the manifest, each once."""
    return list(dict.fromkeys(entry["snapshot"] or "snapshot not known" for entry in entries))


def answered(own: AnswerSet, entries: Iterable[Mapping[str, Any]]) -> str:
    """State the number of items and answers in entries of the manifest, e.g. of several prompts.

    Parameters
    ----------
    own : AnswerSet
        One of the answer sets, which names the items.
    entries : iterable of mappings
        The entries. Those of one prompt are about different items.
    """
    items: Counter[str] = Counter()
    answers = 0
    for entry in entries:
        items[entry["strategy"]] += entry["items"]
        answers += entry["answers"]
    counted = counted_items(own.benchmark, max(items.values()), own.units or None)
    return f"{counted}, {answers:,} answers"


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
