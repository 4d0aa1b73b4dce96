"""State what a comparison of versions or of prompts shows, from the release's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fairstats._lib.formatting import (
    capital,
    counted,
    level,
    listed,
    number_word,
    p_value,
    uncapital,
)
from fairstats.answers.strategies import strategy_label
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.release.contents import Release
from fairstats.report.changes.rows import Comparison, PairChange, changes_of, figures_of, gap_of
from fairstats.report.findings import prompt_label
from fairstats.report.words import counted_items, signed_range

_NO_TEST = "Each change is a range, because missing answers could be anything. There is no test."
#: Names that a sentence lists, and sentences with details; of more, the number is given.
_LISTED = 6
#: More pairs than these are counted, not named.
_MOST_PAIRS = 4
#: What a newer model is for a pair of groups, the best first, and the short answer, if any.
_BETTER, _WORSE, _UNCLEAR = "better", "worse", "not clearly better or worse"
_MIXED, _UNTESTED = "better in part and worse in part", "not judged"
_SHORT = {
    _BETTER: "Yes", f"partly {_BETTER}": "Partly", _MIXED: "Mixed", _UNCLEAR: "Unclear",
    f"partly {_WORSE}": "No", _WORSE: "No, worse", _UNTESTED: "",
}  # fmt: skip
_VERDICTS = {WIN_WIN: _BETTER, LOSE_LOSE: _WORSE}
#: Without a verdict: by whether figures improved, and whether some became worse.
_MOVED = {
    (True, True): _MIXED, (True, False): f"partly {_BETTER}", (False, True): f"partly {_WORSE}",
    (False, False): _UNCLEAR,
}  # fmt: skip


def version_answer(one: Comparison) -> tuple[dict[str, str], str]:
    """Answer whether a model is better than the version before: a word per pair, and sentences.

    A word is empty if the pair is not judged.
    """
    items = counted_items(one.benchmark, int(max(pair.gap["n"] for pair in one.pairs)))
    basis = ", ".join([*[prompt_label(one.prompt)] * one.prompted, items])
    notes = dict.fromkeys([*(pair.reason for pair in one.pairs), one.note])
    texts = [_details(one), basis, *filter(None, notes)]
    words = {pair.name: _SHORT[_word(one, pair)] for pair in one.pairs}
    return words, " ".join(f"{capital(text)}." for text in texts)


def version_finding(compared: Sequence[Comparison]) -> str:
    """State which newer models are better than the previous version, as plain text.

    Parameters
    ----------
    compared : sequence of Comparison
        Models with the previous version, of one benchmark.
    """
    several = len({one.context for one in compared}) > 1
    models: dict[tuple[int, str, str, str], list[str]] = {}
    detailed = len({(_words(one), _details(one)) for one in compared}) <= _LISTED
    for one in compared:
        place = min(list(_SHORT).index(_word(one, pair)) for pair in one.pairs)
        key = (place, _words(one), _details(one) if detailed else "", one.before)
        models.setdefault(key, []).append(f"{one.new} ({one.context})" if several else one.new)
    sentences, last = [], ""
    for (_, words, details, before), names in sorted(models.items()):
        who = listed(names)
        if len(names) > _LISTED:
            who = f"{number_word(len(names))} newer models"
        text = f"{who} {'are' if len(names) > 1 else 'is'} {words}"
        text = text if before == last else f"compared with {before}, {text}"
        sentences.append(f"{capital(text)}{details and ': '}{details}.")
        last = before
    return " ".join(sentences)


def _words(one: Comparison) -> str:
    """Return what a newer model is, for each pair of groups if it differs."""
    found: dict[str, list[str]] = {}
    for pair in one.pairs:
        found.setdefault(_word(one, pair), []).append(pair.name)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{word}{_for_pairs(names, one)}" for word, names in found.items())


def _word(one: Comparison, pair: PairChange) -> str:
    if pair.verdict is None or not one.alike:
        return _UNTESTED
    if pair.verdict in _VERDICTS or pair.reason:
        return _VERDICTS.get(pair.verdict, _UNCLEAR)
    found = {pair.direction(metric) for metric in pair.figures}
    return _MOVED[1 in found, -1 in found]


def _details(one: Comparison) -> str:
    """State for which pairs each figure improved or became worse."""
    if not one.alike:
        return "the questions are different"
    if all(pair.verdict is None for pair in one.pairs):
        return "each change is a range, because missing answers could be anything"
    kind = one.benchmark.kind
    labels = {m: uncapital(label) for m, (label, _) in figures_of(kind).items() if m in BETTER}
    labels[f"delta_{kind.disparity}"] = gap_of(kind)
    found: dict[tuple[str, str], list[str]] = {}
    for verb, way in (("improved", 1), ("became worse", -1)):
        for metric, label in labels.items():
            names = [pair.name for pair in one.pairs if pair.direction(metric) == way]
            if names:
                found.setdefault((verb, _for_pairs(names, one)), []).append(label)
    if not found:
        return "no change is significant"
    changed = {label for group in found.values() for label in group}
    still = [label for label in labels.values() if label not in changed]
    parts = listed(f"{listed(own)} {verb}{where}" for (verb, where), own in found.items())
    return parts + (f", without a significant change in {listed(still)}" if still else "")


def _for_pairs(names: Sequence[str], one: Comparison) -> str:
    every = len(one.pairs)
    if len(names) == every:
        return " for every pair of groups" if every > 1 else ""
    return (
        f" for {listed(names) if len(names) <= _MOST_PAIRS else f'{len(names)} of {every} pairs'}"
    )


class _Gap(NamedTuple):
    """A gap with the reference and with another prompt: verdicts, and whether it is smaller."""

    one: Comparison
    pair: PairChange
    before: str | None
    after: str | None
    moved: int

    @property
    def name(self) -> str:
        return f"{self.one.new} with “{strategy_label(self.one.prompt)}” ({self.pair.name})"

    @property
    def closed(self) -> bool:
        """Check whether it is equivalent, by a significant change."""
        return self.after == EQUIVALENT and self.moved > 0


#: The columns that identify a gap.
_GAP = [
    "benchmark", "benchmark_version", "model", "strategy", "attribute", "group_a", "group_b",
]  # fmt: skip


def _gaps(compared: Sequence[Comparison], release: Release) -> list[_Gap]:
    kind, rows = compared[0].benchmark.kind, release.estimates
    rows = rows[rows["metric"].eq(kind.difference)]
    verdicts = dict(
        zip(rows[_GAP].itertuples(index=False, name=None), rows["verdict"], strict=True)
    )
    found = []
    for one, pair in changes_of(compared):
        sides = (
            verdicts.get((one.benchmark.name, one.version, one.new, strategy, *pair.pair))
            for strategy in (one.reference, one.prompt)
        )
        before, after = (verdict if isinstance(verdict, str) else None for verdict in sides)
        found.append(_Gap(one, pair, before, after, pair.direction(f"delta_{kind.disparity}")))
    return found


def prompt_answer(compared: Sequence[Comparison], release: Release) -> tuple[str, str]:
    """Answer whether another prompt closes the gaps of one model: in short, and in sentences.

    The short answer is empty if no gap has a verdict.
    """
    gaps = _gaps(compared, release)
    by_gap: dict[tuple[str, str, str], list[_Gap]] = {}
    for gap in gaps:
        by_gap.setdefault(gap.pair.pair, []).append(gap)
    left = [own for own in by_gap.values() if own[0].before != EQUIVALENT]
    closing = [{gap.one.prompt for gap in own if gap.closed} for own in left]
    if all(gap.before is None for gap in gaps):
        short = ""
    elif not left:
        short = "No gap to close"
    elif set.intersection(*closing):
        short = "Yes"
    elif all(gap.before == gap.after == DISPARITY for own in left for gap in own):
        narrower = all(any(gap.moved > 0 for gap in own) for own in left)
        short = "Only partly" if narrower else "No"
    else:
        short = "Unclear"
    return short, prompt_finding(compared, release)


def prompt_finding(compared: Sequence[Comparison], release: Release) -> str:
    """State whether another prompt closes or narrows gaps, as plain text.

    Parameters
    ----------
    compared : sequence of Comparison
        Prompts with one reference, of one benchmark.
    release : Release
        Holds the verdicts on the gaps.
    """
    gaps, kind = _gaps(compared, release), compared[0].benchmark.kind
    if all(gap.pair.verdict is None for gap in gaps):
        return _NO_TEST
    first = []
    # What became worse comes first: a reassuring sentence must not hide it.
    if worse := sum(gap.pair.direction("delta_cfr") < 0 for gap in gaps):
        many = f"{worse} of {counted(len(gaps), 'comparison')}"
        text = "With another prompt, answers differ significantly more often between groups"
        first.append(f"{text} in {many}.")
    new = [gap for gap in gaps if gap.after == DISPARITY and gap.before not in (None, DISPARITY)]
    if new:
        named = listed(gap.name for gap in new) if len(new) <= _LISTED else f"{len(new)} gaps"
        text = f"A disparity with another prompt only: {named}"
        # One verdict may be significant and the other not, although their difference is not.
        larger = sum(gap.moved < 0 for gap in new)
        many = f"{number_word(larger)} significant change{'s' * (larger > 1)}"
        first.append(f"{text}, with {many} in {gap_of(kind)}.")
    return " ".join([*first, _closing(gaps), _narrowing(gaps)])


def _closing(gaps: Sequence[_Gap]) -> str:
    """State which disparities with the reference are equivalent with another prompt."""
    one = gaps[0].one
    kind, reference = one.benchmark.kind, prompt_label(one.reference)
    margin = f"±{kind.shown_margin(one.benchmark.equivalence_margin)} {kind.unit}"
    disparities = [gap for gap in gaps if gap.before == DISPARITY]
    n, closed = len(disparities), [gap.name for gap in disparities if gap.closed]
    if not disparities:
        before = {(gap.one.new, gap.one.version, gap.pair.pair): gap.before for gap in gaps}
        if set(before.values()) == {EQUIVALENT}:
            return f"With the {reference} every gap between groups is equivalent (within {margin})."
        counts = Counter(verdict or "without a verdict" for verdict in before.values())
        found = ", ".join(f"{word}: {count} of {len(before)}" for word, count in counts.items())
        return f"With the {reference} no gap between groups is a disparity ({found})."
    if closed:
        named = listed(closed) if len(closed) <= _LISTED else f"{len(closed)} of {n} disparities"
        return f"Another prompt closes the gap (to within {margin}) for {named}."
    if all(gap.after == DISPARITY for gap in disparities):
        return f"Every disparity with the {reference} stays one with every other prompt."
    none = f"none of {n} comparisons turns a disparity" if n > 1 else "the disparity does not turn"
    how = " by a significant change" * any(gap.after == EQUIVALENT for gap in disparities)
    return f"{capital(none)} into an equivalent gap (within {margin}){how}."


def _narrowing(gaps: Sequence[_Gap]) -> str:
    """State how many changes of the gap are significant, in which direction, with which prompts."""
    n, kind = len(gaps), gaps[0].pair.kind
    significant = [gap for gap in gaps if gap.moved]
    of = f"{gap_of(kind)} from the {prompt_label(gaps[0].one.reference)}"
    of = f"Of {n} changes in {of}," if n > 1 else f"The change in {of}"
    if not significant:
        return f"{of} none is significant." if n > 1 else f"{of} is not significant."
    if len(significant) == 1:
        (gap,) = significant
        row, prompt = gap.pair.gap, strategy_label(gap.one.prompt)
        limits = signed_range(kind, row["ci_low"], row["ci_high"])
        return (
            f"{of} {'one ' * (n > 1)}is significant: with “{prompt}”, the gap of {gap.one.new} "
            f"({gap.pair.name}) changes by {kind.shown(row['estimate'])} "
            f"({level(gap.pair.alpha)} interval {limits}, adjusted {p_value(row['p_adjusted'])})."
        )
    tested = Counter(strategy_label(gap.one.prompt) for gap in gaps)
    parts = []
    for direction, word in ((1, "smaller"), (-1, "larger")):
        found = Counter(
            strategy_label(gap.one.prompt) for gap in significant if gap.moved == direction
        )
        if found:
            order = sorted(found, key=lambda label: (-found[label] / tested[label], label))
            named = listed(f"“{label}” ({found[label]} of {tested[label]})" for label in order)
            parts.append(f"{word} with {named}")
    return f"{of} {len(significant)} are significant. The gap is {' and '.join(parts)}."
