"""Show the sections of a model's audit report, one per cell."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace

import pandas as pd

from fairstats._lib.formatting import capital, escape_markdown, quoted
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.benchmarks.kinds import TESTS
from fairstats.estimates.specifications import INTERVAL, MISSING, TEST
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.answer_sets import AnswerSet, by_benchmark, missing_reasons
from fairstats.report.audit.crosswalk import declarations, read_crosswalk
from fairstats.report.audit.crosswalk import show_crosswalk as show_crosswalk
from fairstats.report.audit.document import AuditReport, read_origin
from fairstats.report.audit.groups import show_groups as show_groups
from fairstats.report.audit.sentences import limitations
from fairstats.report.audit.summary import bullets, method_name, show_summary, test_notes
from fairstats.report.changed_items import bold_key, flip_table
from fairstats.report.charts.rows import show_chart
from fairstats.report.model.page import answered
from fairstats.report.notes import screening_summary, submission_facts
from fairstats.report.page_output import on_one_page, output_format, show_markdown, show_table
from fairstats.report.pairs_table import pairs_table
from fairstats.report.ratings.page import (
    RATINGS,
    rating_limitations,
    rating_methods,
    rating_provenance,
    rating_scope,
    ratings_of,
)
from fairstats.report.ratings.page import show_rated as show_rated
from fairstats.report.sections.section import Section, sections
from fairstats.report.sensitivity import choice_table, policy_table, with_missing
from fairstats.report.tables import breakable, labels_of
from fairstats.report.words import difference_name, words_of

#: The number of listed items with changed answers; the release has all of them.
_FLIPS = 10
_HASHED = (f"{DOWNLOADS}/answers.parquet", f"{DOWNLOADS}/estimates.parquet")
_EFFECT = re.compile(r", design effect [0-9.e+]+")
OTHERS = "Other answers"
GROUPS = "Groups"


def audit_report(release: Release, keywords: str) -> AuditReport:
    """Return the report that the keywords of a PDF name."""
    origin = read_origin(keywords)
    assert origin is not None
    model = next(name for name, own in release.slugs.items() if own == origin.model)
    return AuditReport(release, model, origin.facts, origin.crosswalk, origin.signed)


def show_first_page(report: AuditReport) -> None:
    """Show the summary to sign."""
    show_summary(report, sections_of(report))


def sections_of(report: AuditReport) -> list[str]:
    """Return the headings of the sections after the summary."""
    others = [OTHERS] if any(own.pairs for own in report.others) else []
    rated = [RATINGS] if ratings_of(report.release, report.model) else []
    rest = ["Sensitivity", "Diagnostics", *rated, "Limits", "Methods", "Declarations", "Provenance"]
    appendix = [read_crosswalk()["heading"]] if report.crosswalk else []
    return ["Results", GROUPS, *others, *rest, *appendix]


def show_declarations(report: AuditReport) -> None:
    """Show what the answers record, and the auditor and submitters declare, or "not stated"."""
    show_markdown("fairstats cannot check these facts.")
    show_markdown(bullets(declarations(report)))


def show_results(report: AuditReport) -> None:
    """Show the sections of the model's page for the answer set of the summary, with tables."""
    own = report.first
    if not own.pairs:
        show_markdown("No pair of groups was compared.")
        return
    show_markdown("## Figures and tests")
    caption = test_notes(own)
    if len(own.charted) < len(own.pairs):
        caption = (
            f"All {len(own.pairs)} pairs. The other tables and charts show the "
            f"{len(own.charted)} with the largest differences. {caption}"
        )
    show_table(
        pairs_table([own], name="all-pairs", every=True),
        caption=caption,
        css_class="estimates pairs",
    )
    _show_sections(own, diagnostic=False)


def _show_sections(own: AnswerSet, *, diagnostic: bool) -> None:
    for section in sections():
        if section.diagnostic == diagnostic and section.applies(own):
            _show_section(section, own)


def _show_section(section: Section, own: AnswerSet) -> None:
    show_markdown(f"## {escape_markdown(section.title(own))}")
    parts = section.parts(own) if section.parts else [own]
    for number, part in enumerate(parts):
        answer, last = section.answer(part), number == len(parts) - 1
        charts = section.charts(part, f"section-{section.order}-{number}")
        with on_one_page() if last and charts else nullcontext():
            if answer is not None:
                which = f"{capital(part.version)}: " if len(parts) > 1 else ""
                short = escape_markdown(f"{which}{answer.short}")
                show_markdown(f"**{short}.** {escape_markdown(answer.text)}".rstrip())
            for place, chart in enumerate(charts):
                show_chart(replace(chart, name=f"{chart.name}-{place}"))
            for note in section.notes(part):
                show_markdown(escape_markdown(note))
            if last:
                _show_key(section, parts[0])
    for table in section.tables(parts[0]):
        show_table(table.table, caption=table.caption)


def _show_key(section: Section, own: AnswerSet) -> None:
    marks = labels_of("audit")["marks"]
    if key := [f"{marks.get(mark.css_class, '')}{mark.text}" for mark in section.key(own)]:
        show_markdown(f"::: small\n{escape_markdown(capital('; '.join(key)))}.\n:::")


def show_others(report: AuditReport) -> None:
    """Show the model's other answer sets."""
    for number, sets in enumerate(by_benchmark(o for o in report.others if o.pairs).values()):
        if not number:
            show_markdown(f"# {OTHERS}")
        benchmark = sets[0].benchmark
        show_table(
            pairs_table(sets, name=f"pairs-{slug(benchmark.name)}"),
            caption=f"{benchmark.title}: the other answers of {quoted(report.model)}",
            css_class="estimates pairs",
        )


def show_sensitivity(report: AuditReport) -> None:
    """Show policies for missing answers, and other intervals and tests of the first answer set."""
    release, first = report.release, report.first
    what, unit = f"{capital(difference_name(first.kind))}s", first.kind.unit
    if len({own.kind for own in report.sets}) > 1:
        what, unit = "Differences", "the unit of each benchmark"
    rows = pd.concat([_of_pairs(own) for own in report.sets])
    missing = with_missing(rows[rows["aspect"] == MISSING])
    if missing.empty:
        show_markdown("No answers are missing: the four policies for them give the same figures.")
    else:
        show_table(
            policy_table(missing, release, name="policies"),
            caption=f"{what} under the four policies for missing answers, in {unit}",
        )
    pairs = _of_pairs(first)
    captions = {INTERVAL: f"The same differences with other intervals, in {first.kind.unit}"}
    if not first.selected:
        # The p-values of a model that selected the items are meaningless.
        captions[TEST] = "The same comparisons with other tests, adjusted p-values"
    for aspect, caption in captions.items():
        # Clustered answers and means have a single interval.
        if ((pairs["aspect"] == aspect) & ~pairs["published"].astype(bool)).any():
            table = choice_table(pairs, release, aspect, name=f"choices-{aspect}")
            show_table(table, caption=caption)
    files = f"{DOWNLOADS}/sensitivity.csv"
    show_markdown(f"All margins, methods and answer sets are in `{files}` of the release.")


def show_diagnostics(report: AuditReport) -> None:
    """Show screening, missing answers by group, letters, and the items that change most."""
    first, release = report.first, report.release
    screened = pd.concat([own.screening for own in report.sets])
    show_markdown(escape_markdown(screening_summary(screened)))
    _show_sections(first, diagnostic=True)
    flips = first.table("flips")
    samples = int(flips["sample"].max()) + 1 if len(flips) and first.benchmark.few_units else 1
    if flips["attribute"].isin(first.benchmark.varied_names).any():
        show_table(
            flip_table(flips, release, name="flips", limit=max(1, _FLIPS // samples)),
            caption=f"{capital(words_of(first.benchmark).items)} whose answer changes for most "
            f"pairs.{bold_key(first.benchmark)}",
        )


def show_limitations(report: AuditReport) -> None:
    """Show the limitations of the figures."""
    own = (report.release, report.model)
    show_markdown(bullets([*limitations(*own), *rating_limitations(*own)]))


def show_methods(report: AuditReport) -> None:
    """Show the methods behind these figures, as the estimates name them."""
    rows = pd.concat([own.rows for own in report.sets])
    of_pairs = {name for own in report.sets for name in own.benchmark.varied_names}
    rows = rows[rows["attribute"].isin(of_pairs)]
    tests = rows[rows["metric"].isin(TESTS) & is_primary_test(rows)]
    used = {
        f"Intervals of {difference_name(kind)}s": rows.loc[
            rows["metric"] == kind.difference, "ci_method"
        ]
        for kind in dict.fromkeys(own.kind for own in report.sets)
    }
    used |= {
        "Intervals of shares": rows.loc[rows["metric"] == "cfr", "ci_method"],
        "Tests of no difference": tests.loc[tests["p_adjusted"].notna(), "test"],
        "Adjustment": tests["adjust_method"],
        "Policy for missing answers": rows["missing"],
    }
    lines = []
    for title, values in used.items():
        names = set(values.dropna().astype(str)) - {""}
        if all(own.benchmark.few_units for own in report.sets):
            # The design effect of each pair is in the estimates.
            names = {_EFFECT.sub(", with design effects", name) for name in names}
        if names:
            lines.append(f"{title}: {'; '.join(sorted(map(method_name, names)))}.")
    show_markdown(bullets([*lines, *rating_methods(report.release, report.model)]))


def show_provenance(report: AuditReport) -> None:
    """Show the inputs, hashes, versions and arguments, and how to draw the report again."""
    release, model, sets = report.release, report.model, report.sets
    manifest, folder = release.manifest, f"v/{release.name}"
    arguments = ", ".join(
        f"{key} = {'as the benchmark declares' if value is None else value}"
        for key, value in manifest["arguments"].items()
    )
    libraries = ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items())
    # The manifest has the hashes of answers in several files.
    files = [file for file in _HASHED if (release.path / file).is_file()]
    hashed = {"the manifest": MANIFEST} | {file: file for file in files}
    lines = [
        *(text for own in sets for text in scope(own)),
        *submission_facts(pd.concat([own.submissions for own in sets])),
        *rating_scope(release, model),
        *(
            f"{benchmark.title}: {', '.join(benchmark.sources) or 'no source stated'}; licence: "
            f"{benchmark.licence}; {benchmark.basis(alpha=release.alpha)}"
            for benchmark in {own.benchmark.name: own.benchmark for own in sets}.values()
        ),
        f"Release {release.name}, published {manifest['created_at']}",
        *(f"SHA-256 of {what}: {file_sha256(release.path / f)}" for what, f in hashed.items()),
        *rating_provenance(release, model),
        f"Arguments: {arguments}",
        f"fairstats {manifest['fairstats']}, Python {manifest['python']}, {libraries}",
    ]
    show_markdown(bullets(lines))
    options = " --crosswalk" * report.crosswalk
    options += " --facts FACTS.toml" * bool(report.facts.encoded)
    options += " --sign CERT.p12" * report.signed
    commands = [
        f"fairstats verify {folder}",
        f"fairstats report {release.slugs[model]} --release {folder} --to pdf{options}",
        *(["fairstats verify REPORT.pdf --release ."] if output_format() == "typst" else []),
    ]
    shown = "".join(f"    {command}\n" for command in commands)
    show_markdown(
        "To check the release and draw this report again, run in the site's folder, with this "
        f"version of fairstats:\n\n{shown}\n"
        f"All estimates of {escape_markdown(breakable(quoted(model)))} are in "
        f"`{DOWNLOADS}/estimates.csv`."
    )


def scope(answers: AnswerSet) -> list[str]:
    """Describe the answers, one sentence per snapshot."""
    return [
        f"{answers.full_label}: {answered(answers, own['items'], own['answers'])}, "
        f"{own['missing']:,} of them missing"
        f"{missing_reasons([own])}; "
        f"snapshot {quoted(own['snapshot']) if own['snapshot'] else 'not known'}; collected by "
        f"{own['collector'] or 'not known'}."
        for own in answers.entries
    ]


def _of_pairs(own: AnswerSet) -> pd.DataFrame:
    """Return the rows of sensitivity for the pairs that the report charts."""
    return pd.concat([pair.rows(own.sensitivity) for pair in own.charted] or [own.sensitivity[:0]])
