"""Sentences on comparisons of versions and of prompts, made from the release's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairstats._lib.formatting import level, listed, number_word, p_value
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.release.contents import Release
from fairstats.report.changes.rows import Comparison, PairChange, figures_of, gap_of
from fairstats.report.findings import prompt_label
from fairstats.report.words import signed_range

_NO_TEST = "Each change is a range, because missing answers could be anything. There is no test."
#: Names that a sentence lists; more are counted.
_LISTED = 6
# Outcomes of a version, in the order of their sentences.
_BETTER, _PARTLY, _UNCLEAR, _WORSE, _UNTESTED, _UNLIKE = range(6)
_Outcome = tuple[int, str]


def version_finding(compared: Sequence[Comparison]) -> str:
    """State which newer models are better than the previous version, as plain text.

    Parameters
    ----------
    compared : sequence of Comparison
        Models with the previous version, of one benchmark.
    """
    several = len({one.context for one in compared}) > 1
    models: dict[_Outcome, list[str]] = {}
    for one in compared:
        name = f"{one.new} ({one.context})" if several else one.new
        models.setdefault(_outcome(one), []).append(name)
    sentences = [_sentence(outcome, models[outcome]) for outcome in sorted(models)]
    kinds = {kind for kind, _ in models}
    if len(compared) > 1 and _BETTER not in kinds and kinds & {_PARTLY, _UNCLEAR, _WORSE}:
        none = "No newer model is better than the version before for every pair of groups."
        sentences.insert(0, none)
    return " ".join(sentences)


def _outcome(one: Comparison) -> _Outcome:
    """Return a model's outcome, and the words that follow its name."""
    if not one.alike:
        return _UNLIKE, f"asked different questions than {one.before}: no verdict"
    verdicts = [pair.verdict for pair in one.pairs]
    if all(verdict is None for verdict in verdicts):
        return _UNTESTED, ""
    every = " for every pair of groups" if len(verdicts) > 1 else ""
    choices = one.benchmark.kind == CHOICE
    if all(verdict == WIN_WIN for verdict in verdicts):
        how = "accuracy and CFR are higher and AD is lower"
        how = how if choices else "CFR is higher and the gap is smaller"
        return _BETTER, f"better than {one.before}: {how}{every}"
    if all(verdict == LOSE_LOSE for verdict in verdicts):
        how = "accuracy and CFR are lower and AD is higher"
        how = how if choices else "CFR is lower and the gap is larger"
        return _WORSE, f"worse than {one.before}: {how}{every}"
    words = {WIN_WIN: "better", LOSE_LOSE: "worse"}
    found: dict[str, list[str]] = {word: [] for word in (*words.values(), "unclear")}
    for pair in one.pairs:
        found[words.get(pair.verdict or "", "unclear")].append(in_sentence(pair.name))
    parts = [f"{word} for {listed(pairs)}" for word, pairs in found.items() if pairs]
    if len(found["unclear"]) < len(one.pairs):
        return _PARTLY if found["better"] else _WORSE, listed(parts)
    return _UNCLEAR, f"unclear{_figures_changed(one, every)}"


def _figures_changed(one: Comparison, every: str) -> str:
    """Name the figures that changed significantly and in one direction for all pairs."""
    kind = one.benchmark.kind
    # The last figure is the gap.
    *others, gap = [metric for metric in figures_of(kind) if metric in BETTER]
    names = {m: in_sentence(figures_of(kind)[m][0]) for m in others} | {gap: gap_of(kind)}
    directions = {metric: {pair.direction(metric) for pair in one.pairs} for metric in names}
    parts = []
    for direction, verb in ((1, "improved"), (-1, "became worse")):
        figures = [names[m] for m, own in directions.items() if own == {direction}]
        if figures:
            parts.append(f"{listed(figures)} {verb}")
    if not parts:
        return ""
    text = f": {listed(parts)}{every}"
    still = [names[m] for m, own in directions.items() if own == {0}]
    return f"{text}, without a significant change in {listed(still)}" if still else text


def _sentence(outcome: _Outcome, models: list[str]) -> str:
    kind, text = outcome
    many = len(models) > 1
    who = listed(models) if len(models) <= _LISTED else f"{number_word(len(models))} newer models"
    if kind == _UNTESTED:
        return _NO_TEST
    if kind == _UNCLEAR:
        return f"For {who} the result is {text}."
    who = f"{who[0].upper()}{who[1:]}" if len(models) > _LISTED else who
    if kind == _UNLIKE:
        return f"{who} {'were' if many else 'was'} {text}."
    return f"{who} {'are' if many else 'is'} {text}."


_Change = tuple[Comparison, PairChange]
#: The columns that identify a gap.
_GAP = [
    "benchmark", "benchmark_version", "model", "strategy", "attribute", "group_a", "group_b",
]  # fmt: skip


def prompt_finding(compared: Sequence[Comparison], release: Release) -> str:
    """State whether another prompt closes or narrows gaps, as plain text.

    Parameters
    ----------
    compared : sequence of Comparison
        Prompts with one reference, of one benchmark.
    release : Release
        Holds the verdicts on the gaps.
    """
    changes = [(one, pair) for one in compared for pair in one.pairs]
    if all(pair.verdict is None for _, pair in changes):
        return _NO_TEST
    closing = _closing(changes, release)
    return " ".join(filter(None, (closing, _narrowing(changes, release.alpha))))


def _closing(changes: Sequence[_Change], release: Release) -> str:
    """State which gaps are a disparity with the reference and equivalent with another prompt."""
    benchmark = changes[0][0].benchmark
    gaps = release.estimates[release.estimates["metric"] == benchmark.kind.difference]
    verdicts = dict(
        zip(gaps[_GAP].itertuples(index=False, name=None), gaps["verdict"], strict=True)
    )
    after: list[tuple[str, str]] = []
    for one, pair in changes:
        before, other = (
            verdicts.get((one.benchmark.name, one.version, one.new, strategy, *pair.pair))
            for strategy in (one.reference, one.prompt)
        )
        if before == DISPARITY:
            after.append((str(other), f"{one.new} with “{_label(one)}” ({in_sentence(pair.name)})"))
    n, closed = len(after), [name for verdict, name in after if verdict == EQUIVALENT]
    margin = benchmark.kind.shown(benchmark.equivalence_margin).removeprefix("+")
    if n == 0:
        reference = prompt_label(changes[0][0].reference)
        return f"With the {reference} no gap between groups is a disparity."
    if not closed:
        if all(verdict == DISPARITY for verdict, _ in after):
            where = f" in all {n} comparisons" if n > 1 else ""
            return f"No prompt closes the gap between groups: it stays a disparity{where}."
        return (
            f"No prompt closes the gap between groups: of {n} disparities, none becomes "
            f"equivalent (within ±{margin})."
        )
    named = listed(closed) if len(closed) <= _LISTED else f"{len(closed)} of {n} disparities"
    return f"Another prompt closes the gap (to within ±{margin}) for {named}."


def _narrowing(changes: Sequence[_Change], alpha: float) -> str:
    """State how many changes of the gap are significant, in which direction, with which prompts."""
    n, kind = len(changes), changes[0][1].kind
    metric, name = f"delta_{kind.disparity}", gap_of(kind)
    significant = [(one, pair) for one, pair in changes if pair.direction(metric)]
    reference = prompt_label(changes[0][0].reference)
    of = f"Of {n} changes in {name} from the {reference}," if n > 1 else f"The change in {name}"
    if not significant:
        return f"{of} none is significant." if n > 1 else f"{of} is not significant."
    if len(significant) == 1:
        one, pair = significant[0]
        row = pair.gap
        limits = f"{level(alpha)} interval {signed_range(kind, row['ci_low'], row['ci_high'])}"
        which = f"{of} one is significant:" if n > 1 else f"The change in {name} is significant:"
        gap = f"the gap of {one.new} ({in_sentence(pair.name)})"
        return (
            f"{which} with “{_label(one)}”, {gap} changes by "
            f"{kind.shown(row['estimate'])} ({limits}, adjusted {p_value(row['p_adjusted'])})."
        )
    tested = Counter(_label(one) for one, _ in changes)
    parts = []
    for direction, word in ((1, "smaller"), (-1, "larger")):
        found = Counter(
            _label(one) for one, pair in significant if pair.direction(metric) == direction
        )
        if found:
            order = sorted(found, key=lambda label: (-found[label] / tested[label], label))
            named = listed([f"“{label}” ({found[label]} of {tested[label]})" for label in order])
            parts.append(f"{word} with {named}")
    return f"{of} {len(significant)} are significant. The gap is {' and '.join(parts)}."


def in_sentence(label: str) -> str:
    """Return a label for use inside a sentence: a single capitalized word in lower case.

    Examples
    --------
    >>> in_sentence("Income"), in_sentence("SES"), in_sentence("White − Black")
    ('income', 'SES', 'White − Black')
    """
    return label.lower() if label[1:].islower() and label.isalpha() else label


def _label(one: Comparison) -> str:
    return strategy_label(one.prompt)


def how_to_read_changes(release: Release) -> str:
    """Explain the words of a table of changes, with this release's level."""
    if release.policies == ["bounds"]:
        return (
            "A range holds every change that the missing answers allow. "
            "This policy gives no test and no verdict."
        )
    texts = [
        _how_to_read(release, choices)
        for choices in (True, False)
        if any((one.kind == CHOICE) == choices for one in release.benchmarks.values())
    ]
    return "\n\n".join(texts)


def _how_to_read(release: Release, choices: bool) -> str:
    alpha = f"{release.alpha:g}"
    families = sorted({benchmark.family for benchmark in release.benchmarks.values()})
    named = " or ".join(_FAMILIES[family] for family in families)
    if not choices:
        return (
            f"A change is significant if its Holm-adjusted p-value is at most {alpha}. "
            "▲ win-win: CFR is higher and the gap is smaller. ▼ lose-lose: both changed for the "
            "worse. A higher or lower rate or mean is neither. A pair's p-value is the larger of "
            f"its two, Holm-adjusted over the pairs of {named}. A verdict needs a p-value of at "
            f"most {alpha} and two intervals that exclude 0. Whatever the missing answers were, "
            "the two changes must keep their direction. The better model's answers must also "
            "depend on the items: a model that always gives the same answer is not better. "
            "Unclear: at least one condition is not met. Answers to different questions get no "
            "verdict, because a change may come from the questions."
        )
    return (
        f"A change is significant if its Holm-adjusted p-value is at most {alpha}. "
        "▲ win-win: accuracy and CFR are higher and AD is lower. ▼ lose-lose: all three changed "
        "for the worse. A pair's p-value is the largest of its three, Holm-adjusted over the "
        f"pairs of {named}. A verdict needs a p-value of at most {alpha} and three intervals that "
        "exclude 0. Whatever the missing answers were, the three changes must keep their "
        "direction. The better model must also answer better than a guess. Unclear: at least one "
        "condition is not met. Answers to different questions get no verdict, because a change "
        "may come from the questions."
    )


#: The tests that a benchmark's `family` adjusts together, in the words of the page.
_FAMILIES = {
    "model": "the comparison",
    "board": "all comparisons of the board",
    "release": "all comparisons of the release",
}
