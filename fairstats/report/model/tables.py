"""The tables of a model's page: all figures, the choices behind a verdict, items that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    escape_html,
    level,
    listed,
    number_word,
    percent,
)
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.counts.answer_tables import NO_ANSWER, flipping_items
from fairstats.estimates.specifications import INTERVAL, MARGIN, MISSING, SMALLEST, TEST
from fairstats.release.contents import Release
from fairstats.report.board.tables import pair_cells
from fairstats.report.model.sentences import CANNOT, Answer, by_pair
from fairstats.report.model.sets import AnswerSet
from fairstats.report.model.versions import of_pair
from fairstats.report.sensitivity import CHOICE_LABELS, with_missing
from fairstats.report.tables import written_table
from fairstats.report.words import discordant_note, named_test, noun, unsigned

if TYPE_CHECKING:
    from great_tables import GT

# Both are too narrow if few pairs are discordant; the page on methods has their coverage.
_TOO_NARROW = ("wald", "bootstrap")
# More pairs than these are rows, not columns.
_MOST_COLUMNS = 4
_MOST_CHANGES = 4
# A letter is named if its share of answers exceeds its share of keys by `_FREQUENT`, among at least
# `_ENOUGH` answers. With fewer answers, it may be chance.
_FREQUENT, _ENOUGH = 0.05, 500


def of_set(table: pd.DataFrame, own: AnswerSet) -> pd.DataFrame:
    """Return the rows of one of the release's tables that belong to an answer set."""
    board = own.board
    unit = [board.benchmark.name, board.version, own.model, board.strategy]
    return table[(table[list(UNIT_COLUMNS)] == unit).all(axis=1)]


def figures_table(own: AnswerSet, *, name: str) -> GT:
    """Show all figures of an answer set: one row per pair, and one for all of them.

    Parameters
    ----------
    own : AnswerSet
        The answer set to show.
    name : str
        The table's id, unique on the page.
    """
    panels = list(own.pairs)
    if own.whole is not None and own.whole not in panels:
        panels.append(own.whole)
    rows = []
    for panel in panels:
        cells = pair_cells(own.figures, own.model, panel)
        # A pair that is named by its second group is named in the note already.
        named = panel.note.endswith(panel.label)
        label = panel.note if named else f"{panel.label}: {panel.note}"
        if own.kind != CHOICE and panel in own.pairs:
            label = own.full_name(panel)
        rows.append({"pair": label, **cells})
    first, second = own.sides
    kind, of, unit = own.kind, capital(own.kind.figure), "" if own.kind.numeric else ", %"
    choice = kind == CHOICE
    labels = {
        "a": f"{of}, {first}{unit}",
        "b": f"{of}, {second}{unit}",
        "ad": "AD ↓ points",
        **({} if choice else {"gap": f"{capital(noun(kind))}, {kind.unit}", "ratio": "Ratio"}),
        "cfr": "CFR ↑ %",
        "eo": "EO ↓ points",
        "h": "Cohen’s h",
        "discordant": f"{'Discordant ' * choice}n10 : n01",
        "p": f"{capital(named_test(kind))} p, adjusted",
        "verdict": "Verdict",
    }
    labels = {key: label for key, label in labels.items() if any(row.get(key) for row in rows)}
    return written_table(
        rows,
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        html=list(labels),
        right=[key for key in labels if key != "verdict"],
    )


def figures_caption(own: AnswerSet, release: Release) -> str:
    """Describe the limits and the tests in the table of all figures."""
    if own.ranged:
        limits = "In brackets: the range over all possible missing answers."
    else:
        test = "McNemar’s" if own.kind.test == "mcnemar" else "The sign-flip"
        limits = f"{level(release.alpha)} intervals in brackets. {test} test is the mid-p one."
    size = "AD: size of the accuracy gap. " if own.kind == CHOICE else ""
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


def margins_table(sets: list[AnswerSet], release: Release, *, name: str) -> GT:
    """Show the smallest margin at which each pair would be equivalent: one row per answer set.

    Parameters
    ----------
    sets : list of AnswerSet
        The rows.
    release : Release
        The release with the table of sensitivity.
    name : str
        The table's id, unique on the page.
    """
    every = list(dict.fromkeys(pair for own in sets for pair in own.pairs))
    labels = {f"p{n}": sets[0].name(pair) for n, pair in enumerate(every)}
    rows: list[dict[str, str]] = []
    for own in sets:
        smallest = smallest_margins(own, release)
        row = {"set": capital(own.label if _versions(sets) > 1 else own.prompt)}
        for n, pair in enumerate(every):
            values = of_pair(smallest, pair)["estimate"].dropna()
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


def smallest_margins(own: AnswerSet, release: Release) -> pd.DataFrame:
    """Return the rows of the table of sensitivity with the smallest margin of each pair."""
    rows = of_set(release.table("sensitivity"), own)
    names = {pair.attribute for pair in own.pairs}
    chosen = (rows["aspect"] == MARGIN) & (rows["choice"] == SMALLEST)
    return rows[chosen & rows["attribute"].isin(names)]


def _versions(sets: list[AnswerSet]) -> int:
    return len({own.board.version for own in sets})


def other_choices(own: AnswerSet, release: Release) -> Answer:
    """State whether other methods, or policies for missing answers, would change a verdict."""
    rows = of_set(release.table("sensitivity"), own)
    missing = not with_missing(rows).empty
    aspects = [INTERVAL, TEST, MISSING] if missing else [INTERVAL, TEST]
    names = {pair.attribute for pair in own.pairs}
    rows = rows[rows["aspect"].isin(aspects) & (rows["choice"] != "bounds")]
    rows = rows[rows["attribute"].isin(names)]
    words, changes, weak = {}, [], False
    for pair in own.pairs:
        verdict, found = own.verdict(pair), of_pair(rows, pair)
        if verdict is None or found.empty:
            words[own.name(pair)] = CANNOT
            continue
        others = found[found["verdict"].fillna("no verdict") != verdict]
        sound = others[~others["choice"].isin(_TOO_NARROW)]
        weak |= len(sound) < len(others)
        words[own.name(pair)] = "No" if sound.empty else "Yes"
        for other, choices in sound.fillna({"verdict": "no verdict"}).groupby("verdict"):
            named = listed(CHOICE_LABELS.get(choice, choice) for choice in choices["choice"])
            changes.append(f"{own.name(pair)}: {other} instead of {verdict} with {named}.")
    if len(changes) > _MOST_CHANGES:
        changes = [*changes[:_MOST_CHANGES], f"{len(changes) - _MOST_CHANGES} more such changes."]
    if set(words.values()) == {CANNOT}:
        reason = next(filter(None, map(own.reason, own.pairs)), "there is no verdict")
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


def frequent_letter(own: AnswerSet, release: Release) -> str:
    """Name a letter given much more often than it is the key; empty if there is no such letter."""
    if own.kind != CHOICE:
        return ""
    rows = of_set(release.table("letters"), own)
    given = rows[rows["letter"] != NO_ANSWER].groupby("letter")[["count", "key_count"]].sum()
    if given["count"].sum() < _ENOUGH:
        return ""
    shares = given / given.sum()
    letter = (shares["count"] - shares["key_count"]).idxmax()
    count, key = shares.loc[letter, ["count", "key_count"]]
    if count - key < _FREQUENT:
        return ""
    return (
        f"The letter {letter} is {percent(count)} of the answers but {percent(key)} of the keys. "
        "The model or the parser of its replies may prefer it."
    )


def escaped(answer: Answer) -> str:
    """Return an answer as HTML."""
    return f"<b>{escape_html(answer.short)}.</b> {escape_html(answer.text)}"
