"""Sentences on comparisons of versions and of prompts, made from the release's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairstats._lib.formatting import capital, level, listed, number_word, p_value
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.kinds import CHOICE
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.inference.verdict import DISPARITY, EQUIVALENT
from fairstats.release.contents import Release
from fairstats.report.changes.rows import Change, Comparison, changes_of, figures_of, gap_of
from fairstats.report.findings import prompt_label
from fairstats.report.templates import prose
from fairstats.report.words import signed_range

_NO_TEST = "Each change is a range, because missing answers could be anything. There is no test."
#: Names that a sentence lists; more are counted.
_LISTED = 6
# Outcomes of a version, in the order of their sentences.
_BETTER, _PARTLY, _UNCLEAR, _WORSE, _UNTESTED, _UNLIKE = range(6)
#: The sentences of outcomes; the others are what a model is.
_SENTENCES = {
    _UNCLEAR: "For {who} the result is unclear{text}.",
    _UNTESTED: _NO_TEST,
    _UNLIKE: "{who} {was} asked different questions than {text}: no verdict.",
}
#: A verdict that all pairs share: its outcome and words, of choices and of other kinds.
_SHARED = {
    WIN_WIN: (
        _BETTER, "better", "accuracy and CFR are higher and AD is lower",
        "CFR is higher and the gap is smaller",
    ),
    LOSE_LOSE: (
        _WORSE, "worse", "accuracy and CFR are lower and AD is higher",
        "CFR is lower and the gap is larger",
    ),
}  # fmt: skip
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
    """Return a model's outcome, and the words that its sentence adds."""
    if not one.alike:
        return _UNLIKE, one.before
    verdicts = {pair.verdict for pair in one.pairs}
    every = " for every pair of groups" if len(one.pairs) > 1 else ""
    if verdicts == {None}:
        return _UNTESTED, ""
    if len(verdicts) == 1 and (shared := _SHARED.get(str(*verdicts))):
        outcome, word, *how = shared
        return outcome, f"{word} than {one.before}: {how[one.benchmark.kind != CHOICE]}{every}"
    found: dict[str, list[str]] = {"better": [], "worse": [], "unclear": []}
    for pair in one.pairs:
        word = _SHARED[pair.verdict][1] if pair.verdict in _SHARED else "unclear"
        found[word].append(in_sentence(pair.name))
    if len(found["unclear"]) == len(one.pairs):
        return _UNCLEAR, _figures_changed(one, every)
    parts = listed(f"{word} for {listed(pairs)}" for word, pairs in found.items() if pairs)
    return _PARTLY if found["better"] else _WORSE, parts


def _figures_changed(one: Comparison, every: str) -> str:
    """Name the figures that changed significantly and in one direction for all pairs."""
    kind = one.benchmark.kind
    # The last figure is the gap.
    *others, gap = [metric for metric in figures_of(kind) if metric in BETTER]
    names = {m: in_sentence(figures_of(kind)[m][0]) for m in others} | {gap: gap_of(kind)}

    def moved(direction: int) -> str:
        own = {m for m in names if {pair.direction(m) for pair in one.pairs} == {direction}}
        return listed(name for metric, name in names.items() if metric in own)

    ways = {"improved": moved(1), "became worse": moved(-1)}
    parts = [f"{figures} {verb}" for verb, figures in ways.items() if figures]
    if not parts:
        return ""
    still = moved(0)
    return f": {listed(parts)}{every}" + (
        f", without a significant change in {still}" if still else ""
    )


def _sentence(outcome: _Outcome, models: list[str]) -> str:
    kind, text = outcome
    sentence, who = _SENTENCES.get(kind, "{who} {is} {text}."), listed(models)
    if len(models) > _LISTED:
        who = f"{number_word(len(models))} newer models"
        who = capital(who) if sentence.startswith("{who}") else who
    verbs = {"is": "are", "was": "were"} if len(models) > 1 else {"is": "is", "was": "was"}
    return sentence.format(who=who, text=text, **verbs)


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
    changes = changes_of(compared)
    if all(pair.verdict is None for _, pair in changes):
        return _NO_TEST
    judged = _judged(changes, release)
    new = [name for before, after, name in judged if before != DISPARITY == after]
    worse = [pair for _, pair in changes if pair.direction("delta_cfr") < 0]
    # What became worse comes first: a reassuring sentence must not hide it.
    first = []
    if worse:
        often = f"in {len(worse)} of {len(changes)} comparisons"
        first.append(f"Answers change significantly more often between groups {often}.")
    if new:
        many = f"{len(new)} gaps are disparities with another prompt only"
        named = listed(new) if len(new) <= _LISTED else many
        first.append(f"New disparit{'y' if len(new) == 1 else 'ies'}: {named}.")
    open_gaps = [(after, name) for before, after, name in judged if before == DISPARITY]
    closing = _closing(open_gaps, changes[0][0])
    return " ".join(filter(None, (*first, closing, _narrowing(changes, release.alpha))))


def _judged(
    changes: Sequence[Change], release: Release
) -> list[tuple[str | None, str | None, str]]:
    """Return the verdict on each gap with the reference and with another prompt, and its name."""
    gaps = release.estimates
    gaps = gaps[gaps["metric"] == changes[0][0].benchmark.kind.difference]
    verdicts = dict(
        zip(gaps[_GAP].itertuples(index=False, name=None), gaps["verdict"], strict=True)
    )
    found = []
    for one, pair in changes:
        before, after = (
            verdicts.get((one.benchmark.name, one.version, one.new, strategy, *pair.pair))
            for strategy in (one.reference, one.prompt)
        )
        found.append((before, after, f"{one.new} with “{_label(one)}” ({in_sentence(pair.name)})"))
    return found


def _closing(after: Sequence[tuple[str | None, str]], one: Comparison) -> str:
    """State which disparities with the reference are equivalent with another prompt."""
    benchmark = one.benchmark
    n, closed = len(after), [name for verdict, name in after if verdict == EQUIVALENT]
    margin = benchmark.kind.shown(benchmark.equivalence_margin).removeprefix("+")
    if n == 0:
        reference = prompt_label(one.reference)
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


def _narrowing(changes: Sequence[Change], alpha: float) -> str:
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
    """Explain the words of a table of changes, with this release's level, as Markdown."""
    if release.policies == ["bounds"]:
        return prose("changes-bounds")
    benchmarks = release.benchmarks.values()
    families = sorted({benchmark.family for benchmark in benchmarks})
    words = {
        "alpha": f"{release.alpha:g}",
        "family": " or ".join(_FAMILIES[family] for family in families),
    }
    kinds = sorted({"choices" if one.kind == CHOICE else "kinds" for one in benchmarks})
    return "\n\n".join(prose(f"changes-{kind}", **words) for kind in kinds)


#: The tests that a benchmark's `family` adjusts together, in the words of the page.
_FAMILIES = {
    "model": "the comparison",
    "board": "all comparisons of the board",
    "release": "all comparisons of the release",
}
