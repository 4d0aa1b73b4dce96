"""Answer the questions of a model's page for one answer set, in words made from its figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairstats._lib.formatting import capital, level, listed, number_word, p_value, point_range
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.board_figures import Panel
from fairstats.report.model_sets import AnswerSet, span_of

CANNOT = "Cannot be judged"
# More groups than these are counted, not named.
_MOST_NAMES = 4


@dataclass(frozen=True)
class Answer:
    """An answer in a word or two, and the figures behind it; plain text."""

    short: str
    text: str


def by_pair(words: Mapping[str, str]) -> str:
    """Join the answers for each pair into one.

    Examples
    --------
    >>> by_pair({"Race": "Yes", "Sex": "Yes"})
    'Yes'
    >>> by_pair({"Race": "Yes", "Sex": "Unclear", "Income": "Yes"})
    'Yes for Race and Income, unclear for Sex'
    >>> by_pair({str(n): "Yes" if n else "No" for n in range(11)})
    'No for 0, yes for 10 of 11 pairs'
    """
    pairs: dict[str, list[str]] = {}
    for pair, word in words.items():
        pairs.setdefault(word, []).append(pair)
    if len(pairs) == 1:
        return next(iter(pairs))
    every = len(words)
    parts = [
        f"{word.lower()} for {listed(names)}"
        if len(names) <= _MOST_NAMES
        else f"{word.lower()} for {len(names)} of {every} pairs"
        for word, names in pairs.items()
    ]
    text = ", ".join(parts)
    return capital(text)


def who_loses(own: AnswerSet) -> Answer | None:
    """State which groups lose accuracy against the neutral text; None if that was not used."""
    neutral = own.neutral
    if neutral is None:
        return None
    accuracy = {
        (own.group(pair, side), pair.attribute): own.figure(f"accuracy_{'ab'[side]}", pair)
        for pair in own.pairs
        for side in (0, 1)
    }
    unknown = not all(figure.known for figure in (neutral, *accuracy.values()))
    if own.ranged or own.selected or unknown:
        return Answer(CANNOT, _unknown(own))
    # A group is named only if its interval is clear of the neutral text's: no test compares them.
    lower = [group for group, figure in accuracy.items() if figure.high < neutral.low]
    higher = [group for group, figure in accuracy.items() if figure.low > neutral.high]
    change = {group: figure.estimate - neutral.estimate for group, figure in accuracy.items()}
    if lower:
        names = [name for name, _ in lower]
        short = listed(names)
        many = len(names) > _MOST_NAMES
        if many:
            short = f"{capital(number_word(len(names)))} of {len(accuracy)} groups"
        if own.benchmark.slanted and not own.benchmark.swayed_by:
            # Not "Black patients lose": the text that was written for them misleads.
            short = f"Text for {short[:1].lower()}{short[1:]}" if many else f"Text for {short}"
        lost = span_of(-change[group] for group in lower)
        who = "them" if len(lower) > 1 else "this group"
        text = f"Against the neutral text, accuracy is {lost} points lower for {who}."
        rest = [value for group, value in change.items() if group not in lower]
        if rest:
            moves = f"changes by {span_of(rest, signed=True)} points"
            if min(rest) > 0:
                moves = f"is {span_of(rest)} points higher"
            text += f" For the other group{'s' * (len(rest) > 1)} it {moves}."
    else:
        short = "No group clearly"
        moves = span_of(change.values(), signed=True)
        text = f"Against the neutral text, accuracy changes by {moves} points."
        if higher:
            text += f" It is clearly higher for {listed(name for name, _ in higher)}."
        else:
            text += " Each interval overlaps that of the neutral text."
    return Answer(short, text)


def by_group(own: AnswerSet) -> Answer | None:
    """State the lowest and highest accuracy of a group; None if there are few groups."""
    known = {group: figure for group, figure in own.accuracies.items() if figure.known}
    if not own.many or not known:
        return None
    least = min(known, key=lambda group: known[group].estimate)
    most = max(known, key=lambda group: known[group].estimate)
    short = f"{span_of(figure.estimate for figure in known.values())}% of answers are right"
    text = f"Lowest for {own.group_name(*least)}, highest for {own.group_name(*most)}."
    if known[least].high >= known[most].low:
        text += " Their intervals overlap."
    return Answer(short, text)


def could_be_chance(own: AnswerSet) -> Answer:
    """State whether the discordant pairs could be so uneven by chance."""
    tests = {pair: row for pair in own.pairs if (row := own.row("mcnemar", pair)) is not None}
    # Without a verdict, a p-value is meaningless, e.g. if the model selected the items.
    p = {pair: float(row["p_adjusted"]) for pair, row in tests.items() if own.verdict(pair)}
    known = [value for value in p.values() if not math.isnan(value)]
    if not known:
        return Answer(CANNOT, _unknown(own))
    if all(row["n10"] + row["n01"] == 0 for pair, row in tests.items() if pair in p):
        return Answer("No difference", "No pair of answers is right for one group only.")
    alpha, words = own.figures.release.alpha, {}
    for pair in own.pairs:
        value = p.get(pair, math.nan)
        word = CANNOT if math.isnan(value) else "Yes" if value > alpha else "Hardly"
        # A test of the given answers proves little if missing ones could reverse it.
        words[pair] = "Unclear" if word == "Hardly" and own.reason(pair) else word
    text = "If both versions had the same effect, the two bars of a row would be about equal."
    text += f" {_p_values(known)}{_adjusted(tests[pair]['adjust_method'] for pair in p)}."
    reasons = _reasons(own, [pair for pair in words if words[pair] in ("Unclear", CANNOT)])
    named = {own.name(pair): word for pair, word in words.items()}
    return Answer(by_pair(named), f"{text}{reasons}")


def _p_values(p: list[float]) -> str:
    lowest, highest = (p_value(value) for value in (min(p), max(p)))
    if lowest == highest:
        return f"McNemar {lowest}{' for each' if len(p) > 1 else ''}"
    # The name of the figure once.
    low, high = (text.replace("p\u00a0", "").replace("=\u00a0", "") for text in (lowest, highest))
    return f"McNemar p runs from {low.replace('<', 'below')} to {high}"


def _adjusted(methods: Iterable[object]) -> str:
    """State how many tests the p-values are adjusted for."""
    found = re.match(r"\w+ over (\d+) tests", str(next(iter(methods), "")))
    if found is None:
        return ""
    return f", adjusted for {number_word(int(found[1]))} comparison{'s' * (found[1] != '1')}"


def matters(own: AnswerSet) -> Answer:
    """State whether the accuracy gap is larger than the equivalence margin."""
    gaps = {pair: own.figure("accuracy_difference", pair) for pair in own.pairs}
    if own.ranged or own.selected or not all(gap.known for gap in gaps.values()):
        return Answer(CANNOT, _unknown(own))
    words = {}
    for pair, gap in gaps.items():
        beyond = max(gap.low, -gap.high) > own.margin
        word = {
            DISPARITY: "Yes" if beyond else "Perhaps",
            EQUIVALENT: "No",
            INCONCLUSIVE: "Unclear",
        }
        words[pair] = word.get(own.verdict(pair) or "", CANNOT)
    size = span_of((gap.estimate for gap in gaps.values()), signed=True)
    text = f"The gap{' is' if len(gaps) == 1 else 's are'} {size} points"
    if len(gaps) == 1:
        gap = next(iter(gaps.values()))
        limits = point_range(gap.low / 100, gap.high / 100)
        text += f" ({level(own.figures.release.alpha)} interval {limits})"
    reasons = _reasons(own, [pair for pair in words if words[pair] in ("Unclear", CANNOT)])
    text += _against_margin(own, list(words.values()), bool(reasons))
    named = {own.name(pair): word for pair, word in words.items()}
    return Answer(by_pair(named), f"{text}{reasons}")


def _against_margin(own: AnswerSet, words: list[str], explained: bool) -> str:
    """State how the intervals relate to the margin, to follow the size of the gaps."""
    margin, every, one = f"±{own.margin:g} points", set(words), len(words) == 1
    if every == {"Yes"}:
        return f", and {'the' if one else 'every'} interval is beyond the margin of {margin}."
    if every == {"No"}:
        return f", equivalent within the margin of {margin}."
    if every == {"Perhaps"}:
        return f". {'It is' if one else 'All are'} significant, but could be within {margin}."
    if every == {"Unclear"} and not explained:
        return f". No gap and a gap beyond {margin} are both possible."
    if beyond := words.count("Yes"):
        of = f"{capital(number_word(beyond))} of {number_word(len(words))}"
        return f". {of} {'is' if beyond == 1 else 'are'} beyond {margin}."
    return f". The margin is {margin}."


def _unknown(own: AnswerSet) -> str:
    """Why there are no figures, in a sentence: ranges over missing answers, or no answers."""
    if own.ranged:
        return "Each figure is a range, because missing answers could be anything."
    return _reasons(own, own.pairs).strip() or "No answer could be read."


def _reasons(own: AnswerSet, pairs: Iterable[Panel]) -> str:
    """Why the verdict on these pairs is open, as sentences to append."""
    reasons = list(dict.fromkeys(filter(None, (own.reason(pair) for pair in pairs))))
    texts = [f"{capital(reason)}." for reason in reasons[:_MOST_NAMES]]
    if more := len(reasons[_MOST_NAMES:]):
        texts.append(f"{capital(number_word(more))} more pairs have similar reasons.")
    return "".join(f" {text}" for text in texts)
