"""Answer the questions of a model's page for one answer set, in words made from its figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    level,
    listed,
    number_word,
    p_figure,
    p_value,
    percent_range,
    point_range,
    points,
)
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.report.board.charts import FOUR_FIFTHS, ratio
from fairstats.report.board.figures import Panel
from fairstats.report.model.charts import beyond_of, error_metrics
from fairstats.report.model.sets import AnswerSet, span_of
from fairstats.report.words import higher_by, named_test, noun, scale_of, signed_range

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
    """State the lowest and highest figure of a group; None for choices with few groups."""
    known = {group: figure for group, figure in own.accuracies.items() if figure.known}
    choice = own.kind == CHOICE
    if own.ranged and not choice and not known:
        return Answer(CANNOT, _unknown(own))
    if not known or (choice and not own.many):
        return None
    least = min(known, key=lambda group: known[group].estimate)
    most = max(known, key=lambda group: known[group].estimate)
    size = span_of((figure.estimate for figure in known.values()), own.kind)
    short = f"{size}% of answers are right"
    if not choice:
        short = f"{capital(own.kind.figure)} {size}{'' if own.kind.numeric else '%'}"
    text = f"Lowest for {own.group_name(*least)}, highest for {own.group_name(*most)}."
    if not choice and known[least].estimate == known[most].estimate:
        return Answer(short, "It is the same for every group.")
    # Answers to the same items are paired, so intervals that overlap show nothing; the tests do.
    if choice and known[least].high >= known[most].low:
        text += " Their intervals overlap."
    return Answer(short, text)


def could_be_chance(own: AnswerSet) -> Answer:
    """State whether the discordant pairs could be so uneven by chance."""
    test = own.kind.test
    tests = {pair: row for pair in own.pairs if (row := own.row(test, pair)) is not None}
    # Without a verdict, a p-value is meaningless, e.g. if the model selected the items.
    p = {pair: float(row["p_adjusted"]) for pair, row in tests.items() if own.verdict(pair)}
    known = [value for value in p.values() if not math.isnan(value)]
    if not known:
        return Answer(CANNOT, _unknown(own))
    if all(row["n10"] + row["n01"] == 0 for pair, row in tests.items() if pair in p):
        what = {"choice": "is right for one group only", "decision": "is favourable for one only"}
        return Answer("No difference", f"No pair of answers {what.get(own.kind.name, 'differs')}.")
    alpha, words = own.figures.release.alpha, {}
    for pair in own.pairs:
        value = p.get(pair, math.nan)
        word = CANNOT if math.isnan(value) else "Yes" if value > alpha else "Hardly"
        # A test of the given answers proves little if missing ones could reverse it.
        words[pair] = "Unclear" if word == "Hardly" and own.reason(pair) else word
    adjusted = _adjusted(tests[pair]["adjust_method"] for pair in p)
    if own.kind == CHOICE:
        text = "If both versions had the same effect, the two bars of a row would be about equal."
        text += f" {_p_values(known)}{adjusted}."
    else:
        text = _smallest_p(own, p, adjusted)
    reasons = _reasons(own, [pair for pair in words if words[pair] in ("Unclear", CANNOT)])
    named = {own.name(pair): word for pair, word in words.items()}
    return Answer(by_pair(named), f"{text}{reasons}")


def _smallest_p(own: AnswerSet, p: Mapping[Panel, float], adjusted: str) -> str:
    """State the smallest p-value, its test and its pair."""
    known = {pair: value for pair, value in p.items() if not math.isnan(value)}
    pair = min(known, key=known.__getitem__)
    value = p_figure(known[pair]).replace("<", "below")
    test, n = named_test(own.kind), len(known)
    text = f"The p of the {test} test is {value}"
    if n > 1:
        text = f"The smallest p of {n} {test} tests is {value}, for {own.full_name(pair)}"
        if known[pair] == max(known.values()):
            text = f"The p of each of {n} {test} tests is {value}"
    expected = (
        "If the groups made no difference, each difference could as well have the other sign."
        if own.kind.numeric
        else "If the groups made no difference, the two bars of a row would be about equal."
    )
    return f"{expected} {text}{adjusted}."


def directions(own: AnswerSet) -> Answer:
    """State for which group levels or scores are higher, and how often."""
    found = {pair: row for pair in own.pairs if (row := own.row("net_moved", pair)) is not None}
    known = {pair: row for pair, row in found.items() if pd.notna(row["estimate"])}
    if own.ranged or not known:
        return Answer(CANNOT, _unknown(own))
    words = {}
    for pair in known:
        test = own.row(own.kind.test, pair)
        clear = test is not None and float(test["p_adjusted"]) <= own.figures.release.alpha
        one, other = (own.group(pair, side) for side in (0, 1))
        if len(own.pairs) > 1:
            one, other = "the first group", "the second group"
        # The test is that of the means, so its direction is theirs.
        side = one if own.figure(own.kind.difference, pair).estimate > 0 else other
        word = f"Higher on average for {side}" if clear else "In no clear direction"
        words[own.name(pair)] = word
        if clear and own.reason(pair):
            # Missing answers could reverse it.
            words[own.name(pair)] = "Unclear"
    words |= dict.fromkeys((own.name(pair) for pair in own.pairs if pair not in known), CANNOT)
    uneven = max(known, key=lambda pair: abs(float(known[pair]["estimate"])))
    short = by_pair(words) if len(words) > 1 else next(iter(words.values()))
    return Answer(short, _most_uneven(own, uneven))


def _most_uneven(own: AnswerSet, pair: Panel) -> str:
    """State in how many pairs of answers each group is higher."""
    row = own.row("net_moved", pair)
    assert row is not None
    if pd.isna(row["n10"]) or pd.isna(row["n01"]):
        return ""
    up, down, n = int(row["n10"]), int(row["n01"]), int(row["n"])
    one, other = (own.group(pair, side) for side in (0, 1))
    entries = own.entries
    single = len(entries) == 1 and n <= entries[0]["items"]
    of = own.benchmark.words.items if single else "pairs of answers"
    which = f"Most uneven is {own.full_name(pair)}: " if len(own.pairs) > 1 else ""
    more, verb = own.benchmark.higher, ("is", "are")
    if not more or own.benchmark.same_within:
        more, verb = f"a {own.kind.name} {higher_by(own.benchmark)}", ("has", "have")
    text = f"{which}{up:,} of {n:,} {of} {verb[up != 1]} {more} for {one}, {down:,} for {other}"
    p = float(row["p_value"])
    if not math.isnan(p):
        text += f" (exact sign test {p_value(p)}, not adjusted)"
    return f"{text}."


def four_fifths(own: AnswerSet) -> Answer:
    """State whether a group's selection rate is below four fifths of the other's."""
    ratios = {pair: own.figure("selection_ratio", pair) for pair in own.pairs}
    known = {pair: figure for pair, figure in ratios.items() if figure.known}
    if not own.ranged and not known and any(figure.known for figure in own.accuracies.values()):
        return Answer(CANNOT, "No decision is favourable, so there is no ratio.")
    if own.ranged or not known:
        return Answer(CANNOT, _unknown(own))
    low, high = FOUR_FIFTHS
    words = {}
    for pair, figure in known.items():
        inside = low <= figure.estimate <= high
        sure = (
            (low <= figure.low and figure.high <= high)
            if inside
            else (figure.high < low or figure.low > high)
        )
        words[own.name(pair)] = {
            (True, True): "No", (True, False): "Not clearly",
            (False, True): "Yes", (False, False): "Perhaps",
        }[inside, sure]  # fmt: skip

        if sure and own.reason(pair):
            words[own.name(pair)] = "Unclear"
    words |= dict.fromkeys((own.name(pair) for pair in own.pairs if pair not in known), CANNOT)

    def distance(pair: Panel) -> float:
        value = known[pair].estimate
        return min(value, 1 / value) if value else 0.0

    pair = min(known, key=distance)
    figure = known[pair]
    one, other = (own.group_name(pair.attribute, group) for group in pair.pair)
    text = (
        f"The selection rate for {one} is {ratio(figure.estimate)} times that for {other} "
        f"({level(own.figures.release.alpha)} interval {ratio(figure.low)} to "
        f"{ratio(figure.high)})"
    )
    text += ", the furthest from 1 of all pairs." if len(known) > 1 else "."
    text += f" {_parity(own)}"
    return Answer(by_pair(words), text.rstrip())


def _parity(own: AnswerSet) -> str:
    """State the largest demographic parity difference."""
    found = {}
    for panel in own.pairs:
        row = own.row("demographic_parity", replace(panel, pair=("", "")))
        if row is not None and pd.notna(row["estimate"]):
            found[panel.attribute] = row
    if not found:
        return ""
    name = max(found, key=lambda one: float(found[one]["estimate"]))
    row, label = found[name], own.benchmark.attribute(name).label
    which = f"largest for {label}: " if len(found) > 1 else ""
    limits = percent_range(row["ci_low"], row["ci_high"])
    return (
        f"The demographic parity difference, highest minus lowest rate of the groups, is {which}"
        f"{points(row['estimate'], signed=False)} points ({limits})."
    )


def beyond_controls(own: AnswerSet) -> Answer:
    """State whether changes between groups are larger than those between controls."""
    found = {panel: own.row("beyond_control", panel) for panel in beyond_of(own)}
    rows = {panel: row for panel, row in found.items() if row is not None}
    if own.ranged or not rows:
        return Answer(CANNOT, _unknown(own))
    alpha, kind = own.figures.release.alpha, own.kind
    words = {}
    for panel, row in rows.items():
        clear = float(row["p_value"]) <= alpha
        side = "Yes" if row["ci_low"] > 0 else "Smaller" if row["ci_high"] < 0 else "Not clearly"
        words[panel.label] = side if clear else "Not clearly"
    panel = max(rows, key=lambda one: float(rows[one]["estimate"]))
    row = rows[panel]
    controls = listed(f"“{control.label}”" for control in own.benchmark.controls)
    size, limits = kind.signed(row["estimate"]), signed_range(kind, row["ci_low"], row["ci_high"])
    which = f"largest change is that of {panel.label}:" if len(rows) > 1 else "change is"
    text = (
        f"Compared with the controls ({controls}), the {which} {size} {kind.unit} ({level(alpha)} "
        f"interval {limits}; {p_value(float(row['p_value']))}, not adjusted)."
    )
    return Answer(by_pair(words), text)


def against_key(own: AnswerSet) -> Answer:
    """State how the errors against the key differ between groups."""
    kind, parts = own.kind, []
    for metric in error_metrics(kind):
        known = [f for f in own.by_group(f"{metric}_a", f"{metric}_b").values() if f.known]
        if known:
            parts.append((metric, [figure.estimate for figure in known]))
    if own.ranged or not parts:
        return Answer(CANNOT, _unknown(own))
    if kind.name == "score":
        size = span_of(parts[0][1], kind, signed=True)
        return Answer(f"Mean error {size}", f"Answer minus key, in {kind.unit}.")
    named = {
        "too_low": "{}% below the key", "too_high": "{}% above it",
        "true_positive_rate": "true positive rate {}%",
        "false_positive_rate": "false positive rate {}%",
    }  # fmt: skip
    short = capital(", ".join(named[metric].format(span_of(values)) for metric, values in parts))
    sides = [f"{metric}_difference" for metric, _ in parts]
    apart = {
        (metric, pair): figure
        for metric in sides
        for pair in own.pairs
        if (figure := own.figure(metric, pair)).known
    }
    text = ""
    if apart:
        metric, pair = max(apart, key=lambda one: abs(apart[one].estimate))
        figure = apart[metric, pair]
        of = {
            "too_low": "the share below the key", "too_high": "the share above the key",
            "true_positive_rate": "the true positive rate",
            "false_positive_rate": "the false positive rate",
        }[metric.removesuffix("_difference")]  # fmt: skip
        limits = point_range(figure.low / 100, figure.high / 100)
        gap = points(figure.estimate / 100)
        text = (
            f"The largest difference is in {of}, {own.full_name(pair)}: {gap} points "
            f"({level(own.figures.release.alpha)} interval {limits}, not adjusted)."
        )
    return Answer(short, text)


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
    """State whether the difference is larger than the equivalence margin."""
    kind, scale = own.kind, scale_of(own.kind, own.kind.difference)
    gaps = {pair: own.figure(kind.difference, pair) for pair in own.pairs}
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
    size = span_of((gap.estimate for gap in gaps.values()), kind, signed=True)
    text = f"The {noun(kind)}{' is' if len(gaps) == 1 else 's are'} {size} {kind.unit}"
    if len(gaps) == 1:
        gap = next(iter(gaps.values()))
        limits = signed_range(kind, gap.low / scale, gap.high / scale)
        text += f" ({level(own.figures.release.alpha)} interval {limits})"
    reasons = _reasons(own, [pair for pair in words if words[pair] in ("Unclear", CANNOT)])
    text += _against_margin(own, list(words.values()), bool(reasons))
    named = {own.name(pair): word for pair, word in words.items()}
    return Answer(by_pair(named), f"{text}{reasons}")


def _against_margin(own: AnswerSet, words: list[str], explained: bool) -> str:
    """State how the intervals relate to the margin, to follow the size of the gaps."""
    gap = noun(own.kind)
    margin, every, one = f"±{own.margin:g} {own.kind.unit}", set(words), len(words) == 1
    if every == {"Yes"}:
        return f", and {'the' if one else 'every'} interval is beyond the margin of {margin}."
    if every == {"No"}:
        return f", equivalent within the margin of {margin}."
    if every == {"Perhaps"}:
        return f". {'It is' if one else 'All are'} significant, but could be within {margin}."
    if every == {"Unclear"} and not explained:
        return f". No {gap} and a {gap} beyond {margin} are both possible."
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
