"""Which errors does the model make for each group?"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fairstats._lib.formatting import capital, level
from fairstats.benchmarks.kinds import Kind
from fairstats.report.answer_sets import AnswerSet, span_of
from fairstats.report.charts.marks import Axis, bar, interval, words
from fairstats.report.charts.rows import Cell, Chart
from fairstats.report.page_output import ACCENT_A, ACCENT_B
from fairstats.report.sections.pair_charts import axis_of, set_chart
from fairstats.report.sections.section import Answer, Mark, Section, sure, unknown

#: The errors of each kind without their side: the range of their figures, and their name.
_ERRORS = {
    "decision": {
        "true_positive_rate": ("true positive rate {}%", "the true positive rate"),
        "false_positive_rate": ("false positive rate {}%", "the false positive rate"),
    },
    "level": {
        "too_low": ("{}% below the key", "the share below the key"),
        "too_high": ("{}% above it", "the share above the key"),
    },
    "score": {"signed_error": ("mean error {}", "the mean error")},
}


def error_metrics(kind: Kind) -> tuple[str, ...]:
    """Return the metrics of errors against the key, without their side."""
    return tuple(_ERRORS.get(kind.name, ()))


def _applies(own: AnswerSet) -> bool:
    there = set(own.rows["metric"])
    errors = [f"{metric}_a" for metric in error_metrics(own.kind)]
    return bool(errors) and there.issuperset(errors)


def answer(own: AnswerSet) -> Answer:
    """State how the errors against the key differ between groups."""
    kind, parts = own.kind, {}
    for metric in error_metrics(kind):
        known = [f for f in own.sides(f"{metric}_a", f"{metric}_b").values() if f.known]
        if known:
            parts[metric] = [figure.estimate for figure in known]
    if own.ranged or not parts:
        return unknown(own)
    if kind.name == "score":
        size = span_of(next(iter(parts.values())), kind, signed=True)
        return Answer(f"Mean error {size}", f"Answer minus key, in {kind.unit}.")
    names = _ERRORS[kind.name]
    short = capital(", ".join(names[m][0].format(span_of(values)) for m, values in parts.items()))
    apart = {
        (metric, pair): figure
        for metric in parts
        for pair in own.pairs
        if (figure := pair.figure(f"{metric}_difference")).known
    }
    if not apart:
        return Answer(short, "")
    metric, pair = max(apart, key=lambda one: abs(apart[one].estimate))
    figure = apart[metric, pair]
    return Answer(
        short,
        f"The largest difference is in {names[metric][1]}, {own.full_name(pair)}: "
        f"{figure.text} points ({level(own.release.alpha)} interval {figure.limits}, "
        "not adjusted).",
    )


def chart(own: AnswerSet, name: str) -> Chart:
    """Draw the errors of each group against the key.

    For decisions, true and false positive rates; for levels, the shares below and above the key;
    for scores, the mean signed error.
    """
    if own.kind.name == "level":
        return _below_and_above(own, name)
    metrics = error_metrics(own.kind)
    drawn = [own.sides(f"{metric}_a", f"{metric}_b") for metric in metrics]
    share = own.kind.name == "decision"
    axis = axis_of(
        (figure for figures in drawn for figure in figures.values()),
        "errors",
        "share of favourable answers, %" if share else "mean error, score points",
        room=0.2,
        signed=not share,
        unit="%" if share else "",
    )
    places = (("35%", ACCENT_B), ("68%", ACCENT_A)) if share else (("50%", ACCENT_B),)

    def cell(group: tuple[str, str]) -> Cell:
        marks, said = Markup(), []
        for figures, (y, colour), metric in zip(drawn, places, metrics, strict=True):
            found = figures[group]
            if found.known:
                marks += interval(axis, *found.all, label=found.text, colour=colour, y=y)
                said.append(f"{metric.replace('_', ' ')} {found.text}")
        return Cell(marks, ", ".join(said))

    groups = [group for group in drawn[0] if any(figures[group].known for figures in drawn)]
    cases = ((own.group_name(*group), group) for group in groups)
    return set_chart(own, name, "Errors by group", axis, cases, cell, height=40 if share else 24)


def _below_and_above(own: AnswerSet, name: str) -> Chart:
    """Draw the share of answers below the key to the left, and above it to the right."""
    low, high = (own.sides(f"{metric}_a", f"{metric}_b") for metric in error_metrics(own.kind))
    known = [group for group, figure in low.items() if figure.known and high[group].known]
    most = max((max(low[g].estimate, high[g].estimate) for g in known), default=1.0) or 1.0
    note = "← below the key, % of answers · above it →"
    axis = Axis("errors", "", note, -1.35 * most, 1.35 * most, labelled=False)

    def cell(group: tuple[str, str]) -> Cell:
        down, up = low[group].estimate, high[group].estimate
        marks = bar(axis, -down, 0, colour=ACCENT_A) + bar(axis, 0, up, colour=ACCENT_B)
        marks += words(axis, -down, f"{down:.1f}", anchor="end", shift=-5)
        marks += words(axis, up, f"{up:.1f}", shift=5)
        return Cell(marks, f"{down:.1f}% below the key, {up:.1f}% above")

    cases = ((own.group_name(*group), group) for group in known)
    return set_chart(own, name, "Answers below and above the key", axis, cases, cell)


def _key(own: AnswerSet) -> Sequence[Mark]:
    if own.kind.name == "level":
        return []
    rates = [Mark("true positive rate", "b"), Mark("false positive rate", "a")]
    return [Mark(sure(own)), *(rates if own.kind.name == "decision" else [])]


SECTION = Section(
    order=80,
    title=lambda own: "Which errors does it make for each group?",
    answer=answer,
    applies=_applies,
    charts=lambda own, name: (chart(own, name),),
    key=_key,
)
