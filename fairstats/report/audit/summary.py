"""The first page of an audit report: a summary to sign."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta

from fairstats._lib.formatting import (
    capital,
    escape_html,
    escape_markdown,
    number_word,
    quoted,
    span,
)
from fairstats._lib.safe_names import file_sha256
from fairstats.benchmarks.declaration import BASELINE
from fairstats.release.contents import MANIFEST, Release
from fairstats.report.answer_sets import AnswerSet, by_benchmark, missing_reasons
from fairstats.report.audit.document import AuditReport
from fairstats.report.audit.sentences import (
    clauses,
    confidence,
    finding,
    finding_in_numbers,
    largest,
    not_tested,
    recommendation,
    tested,
)
from fairstats.report.charts.rows import show_chart
from fairstats.report.model.page import answered, snapshots_of
from fairstats.report.notes import has_none
from fairstats.report.page_output import (
    box,
    columns,
    output_format,
    pieces,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.pairs_table import pairs_table
from fairstats.report.ratings.page import rating_headline, ratings_of
from fairstats.report.sections.size import differences_chart
from fairstats.report.tables import breakable, labels_of
from fairstats.report.words import adjustment

# The first page has room for a chart of this number of pairs.
_CHARTED = 5
# The counts and tests are under Results.
_COLUMNS = ("rates", "gap", "cfr", "verdict")
NOT_STATED = "not stated"
# It has room for the findings on this number of other benchmarks.
_MOST_OTHERS = 3


def show_summary(report: AuditReport, sections: Iterable[str]) -> None:
    """Show the summary of one model's first answer set, for signature.

    `sections` are the headings of the report's other sections.
    """
    model, answers, others = report.model, report.first, report.others
    release = report.release
    with box("summary"):
        day = release.created_at
        published = f"fairstats release {release.name} · {day.day} {day:%B %Y}"
        show_markdown(pieces("running", "Fairness audit · executive summary", plain(published)))
        _show_title(model)
        _show_facts(_head(report))
        with box("finding"):
            show_markdown(f"**{plain(finding(answers))}**")
            show_markdown(f"*Recommendation: {plain(recommendation(answers, others))}*")
            numbers = (largest(answers), finding_in_numbers(answers))
            show_markdown(plain(" ".join(filter(None, numbers))))
            if elsewhere := _elsewhere(answers, others):
                show_markdown(plain(elsewhere))
            if rated := rating_headline(release, model):
                show_markdown(plain(rated))
            if note := answers.benchmark.read_first:
                show_markdown(f"*Read this first.* {plain(note)}")
        if answers.pairs:
            show_table(
                pairs_table([answers], name="pairs", columns=_COLUMNS),
                caption=table_notes(answers),
                css_class="estimates pairs",
            )
            if len(answers.pairs) <= _CHARTED:
                show_chart(differences_chart(answers, name="differences"))
        with columns() as second:
            show_markdown(f"# How confident are we?\n\n{_terms(confidence(answers, others))}")
            second()
            show_markdown(f"# What was tested\n\n{bullets(tested(answers, others))}")
        with columns() as second:
            rated_too = bool(ratings_of(release, model))
            show_markdown(f"# Not tested\n\n{bullets(not_tested(answers, rated=rated_too))}")
            second()
            show_markdown(f"# How to use this result\n\n{bullets(clauses('use', answers))}")
            show_markdown(_check(release))
        _show_statement(report)
        with box("contents"):
            show_markdown("Details: " + " · ".join(map(section_link, sections)))


def _elsewhere(answers: AnswerSet, others: Iterable[AnswerSet]) -> str:
    """Return the findings on the model's other benchmarks; empty if it has none."""
    found = [
        sets[0] for name, sets in by_benchmark(others).items() if name != answers.benchmark.name
    ]
    texts = [
        f"On {own.title}: {finding(own).removeprefix('Finding: ')}" for own in found[:_MOST_OTHERS]
    ]
    if more := len(found) - len(texts):
        texts.append(f"{capital(number_word(more))} more benchmarks are under Results.")
    return " ".join(texts)


def table_notes(answers: AnswerSet) -> str:
    """State once what all rows of the table of pairs have in common."""
    first, second = answers.benchmark.pair_terms
    missing, whole = answers.missing
    order = "" if (first, second) == ("first", "second") else f" ({first}, then {second})"
    baseline = _baseline(answers)
    facts = {
        "largest only": len(answers.charted) < len(answers.pairs),
        "units": bool(answers.benchmark.few_units and answers.units),
        "missing": missing > 0,
        "baseline": bool(baseline),
    }
    sentences = clauses(
        "table",
        answers,
        facts,
        charted=str(len(answers.charted)),
        pairs=str(len(answers.pairs)),
        rows=capital(f"{_rows(answers)}groups in the order of the name{order}."),
        missing=f"{missing:,}",
        reasons=missing_reasons(answers.entries),
        whole=f"{whole:,}",
        policy=", ".join(sorted(answers.rows["missing"].unique())),
        baseline=baseline,
    )
    return " ".join(sentences)


def test_notes(answers: AnswerSet) -> str:
    """Explain the counts and p-values in the table of all figures."""
    test = _test(answers)
    facts = {"ranged": answers.ranged, "tests": bool(test)}
    return " ".join(clauses("tests", answers, facts, tests=test))


def _rows(answers: AnswerSet) -> str:
    """Return the prompt, if there are several, and the number of pairs of answers per row."""
    numbers = [pair.value(answers.kind.difference, "n") for pair in answers.pairs]
    # Ranges of levels and scores count no pairs.
    counts = [int(n) for n in numbers if not math.isnan(n)]
    rows = f"{span(f'{min(counts):,}', f'{max(counts):,}')} pairs per row; " if counts else ""
    return f"{answers.prompt} prompt; {rows}" if answers.prompted else rows


def _baseline(answers: AnswerSet) -> str:
    """State the figure with the baseline text; empty without one."""
    kind, baseline = answers.kind, answers.benchmark.attributes.get(BASELINE)
    group = baseline.pairs[0][0] if baseline else ""
    figure = answers.baseline(group)
    if baseline is None or figure is None or math.isnan(figure.low):
        return ""
    label, unit = baseline.groups[group], "" if kind.numeric else "%"
    shown = f"{figure.text}{unit}" if figure.known else figure.label
    text = f"{label[:1].lower()}{label[1:]} text: {shown} ({figure.limits})."
    return f"{capital(kind.figure)}, {text}"


def _test(answers: AnswerSet) -> str:
    """Return the test and its adjustment, as the estimates name them."""
    test = answers.kind.test
    own = [p.estimates[test] for p in answers.pairs if p.verdict and test in p.estimates]
    said = dict.fromkeys(
        method_name(str(row["test"])) + adjustment(row["adjust_method"]) for row in own
    )
    return f"p: {'; '.join(said)}." if said else ""


def method_name(name: str) -> str:
    """Return the readers' name of a method of the estimates."""
    for part, label in labels_of("audit")["methods"].items():
        name = name.replace(part, label)
    return name


def _head(report: AuditReport) -> list[tuple[str, str]]:
    own, facts = report.first, report.facts
    recorded = report.answers.of([own])
    collected = span(*recorded.days) + f" from {recorded.services}" * bool(recorded.services)
    stated = {
        "Model tested": ", ".join(map(breakable, snapshots_of(own.entries))),
        "Benchmark": breakable(own.title),
        "Intended use": facts.intended_use,
        "Size": answered(own, own.items, own.missing[1]),
        "Collected": collected,
        "Without answer": recorded.unanswered(*own.missing),
        "Settings": capital(recorded.settings),
        "Margin": f"±{own.shown_margin} (declared by the benchmark)",
        "Auditor": facts.auditor,
        "Commissioned by": facts.commissioner,
    }
    return [(name, text or NOT_STATED) for name, text in stated.items()]


def _check(release: Release) -> str:
    """Return the command that recomputes the release, and the hash that anchors it."""
    folder = f"v/{release.name}"
    digest = file_sha256(release.path / MANIFEST)
    # A hash breaks in the middle, not in the margin.
    half = len(digest) // 2
    return (
        "# Check it yourself\n\n"
        f"In the site’s folder, `fairstats verify {folder}` recomputes every figure from the "
        f"answers. Manifest SHA-256: `{digest[:half]}`\u200b`{digest[half:]}`"
    )


def _show_statement(report: AuditReport) -> None:
    """Show what the auditor declares as ticked boxes and filled lines; the rest is to fill in."""
    labels, facts = labels_of("audit")["statement"], report.facts
    conflicts = facts.conflicts and ("none" if has_none(facts.conflicts) else "declared")
    ticked = {"opinion": facts.opinion, "verified": facts.verified, "conflicts": conflicts}
    with box("statement"):
        show_markdown(f"# {labels['heading']}\n\n{labels['text']}")
        for name, options in labels["ticks"].items():
            boxes = (
                pieces("ticked" if value == ticked[name] else "tick", text)
                for value, text in options.items()
            )
            show_markdown(" ".join(boxes))
        for title, text in (
            ("Reservations", facts.reservations),
            ("Conflicts of interest", facts.conflicts if conflicts == "declared" else None),
        ):
            if text:
                show_markdown(f"{title}: {plain(text)}")
        published = report.release.created_at
        # In the auditor's time zone, the release may be a day younger.
        if facts.audited and facts.audited < (published - timedelta(days=1)).date():
            show_markdown(plain(labels["early"].format(day=published.date())))
        signature = labels["signed"] if report.signed else ""
        day = f"{facts.audited}" if facts.audited else ""
        _show_line(labels["auditor"], (facts.auditor or "", signature, day))
        if not report.signed:
            _show_line(labels["reviewer"], ("", "", ""))


def _show_line(labels: Iterable[str], values: Iterable[str]) -> None:
    """Show a line to sign, with the values that are known above it."""
    filled = map(plain, values)
    if output_format() == "html":
        both = zip(filled, labels, strict=True)
        show_markdown(pieces("signatures", *(f"[{v}]{{.value}} {label}" for v, label in both)))
    else:
        show_markdown(pieces("signatures", *filled, *labels))


def _show_title(model: str) -> None:
    """Show the title, at the level that other pages have from the template."""
    if output_format() == "html":
        show_html(f"<h1>Audit of {escape_html(quoted(model))}</h1>")
        return
    with box("named"):
        show_markdown(f"Audit of {plain(quoted(model))}")


def section_link(title: str) -> str:
    """Return a link to a heading of letters and spaces, on paper with the page's number."""
    # This is pandoc's id of the heading.
    slug = title.lower().replace(" ", "-")
    page = f" p.\u00a0`#context counter(page).at(<{slug}>).first()`{{=typst}}"
    return f"[{title}](#{slug}){'' if output_format() == 'html' else page}"


def _terms(entries: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{plain(term)}\n:   {plain(text)}" for term, text in entries)


def _show_facts(entries: Iterable[tuple[str, str]]) -> None:
    if output_format() == "html":
        with box("facts"):
            show_markdown(_terms(entries))
    else:
        show_markdown(pieces("facts", *(plain(text) for entry in entries for text in entry)))


def bullets(sentences: Iterable[str]) -> str:
    """Return sentences as a list in Markdown; names in them need no escaping."""
    return "\n".join(f"- {plain(sentence)}" for sentence in sentences)


def plain(text: str) -> str:
    """Return plain text as Markdown, with places at which long names may break."""
    return escape_markdown(breakable(text))
