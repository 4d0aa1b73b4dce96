"""Show the sections of a model's audit report, one per cell."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from fairstats._lib.formatting import capital, escape_markdown
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.benchmarks.kinds import CHOICE, TESTS
from fairstats.estimates.specifications import INTERVAL, MISSING, TEST
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.answer_sets import AnswerSet, answer_sets, by_benchmark
from fairstats.report.audit.crosswalk import declarations, read_crosswalk
from fairstats.report.audit.crosswalk import show_crosswalk as show_crosswalk
from fairstats.report.audit.facts import AuditFacts
from fairstats.report.audit.facts import decoded_facts as decoded_facts
from fairstats.report.audit.groups import show_groups
from fairstats.report.audit.limits import limitations
from fairstats.report.audit.summary import bullets, show_summary
from fairstats.report.changed_items import flip_table
from fairstats.report.charts.rows import show_chart
from fairstats.report.model.page import answered
from fairstats.report.notes import (
    screening_of,
    screening_summary,
    submission_facts,
    submissions_of,
)
from fairstats.report.page_output import output_format, show_markdown, show_table
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
from fairstats.report.tables import breakable
from fairstats.report.words import difference_name

#: The number of listed items with changed answers; the release has all of them.
_FLIPS = 10
_HASHED = ("answers", "estimates")
#: What a mark of a chart's key looks like.
_MARKS = {
    "": "", "a": "red: ", "b": "blue: ", "bar": "upright line: ", "hollow": "circles: "
}  # fmt: skip
OTHERS = "Other answers"
GROUPS = "Groups"


def model_of(release: Release, slug: str) -> str:
    """Return the model with this name or page address.

    Raises
    ------
    InputError
        If the release has no such model.
    """
    for model, own in release.slugs.items():
        if slug in (model, own):
            return model
    known = ", ".join(release.models)
    raise InputError([Problem(slug, f"is no model of release {release.name}", f"one of: {known}")])


def show_first_page(release: Release, model: str, *, crosswalk: bool = False) -> None:
    """Show the summary to sign."""
    show_summary(release, model, sections_of(release, model, crosswalk=crosswalk))


def sections_of(release: Release, model: str, *, crosswalk: bool = False) -> list[str]:
    """Return the headings of the sections after the summary."""
    others = [OTHERS] if _has_others(release, model) else []
    rated = [RATINGS] if ratings_of(release, model) else []
    rest = ["Sensitivity", "Diagnostics", *rated, "Limits", "Methods", "Declarations", "Provenance"]
    return ["Results", GROUPS, *others, *rest, *([read_crosswalk().heading] if crosswalk else [])]


def show_group_figures(release: Release, model: str) -> None:
    """Show rates or means, missing answers and ratios by group, for the summary's answers."""
    show_groups(answer_sets(release, model)[0])


def show_declarations(release: Release, model: str, facts: AuditFacts) -> None:
    """Show what the auditor and the submitters declare; a missing fact is "not stated"."""
    show_markdown("These facts are declared. fairstats cannot check them.")
    show_markdown(bullets(declarations(release, model, facts)))


def show_results(release: Release, model: str) -> None:
    """Show the sections of the model's page for the answer set of the summary, with tables."""
    own = answer_sets(release, model)[0]
    if not own.pairs:
        show_markdown("No pair of groups was compared.")
        return
    if len(own.charted) < len(own.pairs):
        show_markdown("## All pairs")
        show_table(
            pairs_table([own], name="all-pairs", every=True),
            caption=f"All {len(own.pairs)} pairs. The other tables and charts show the "
            f"{len(own.charted)} with the largest differences",
            css_class="estimates pairs",
        )
    for section in sections():
        if not section.diagnostic and section.applies(own):
            _show_section(section, own)


def _show_section(section: Section, own: AnswerSet) -> None:
    show_markdown(f"## {escape_markdown(section.title(own))}")
    parts = section.parts(own) if section.parts else [own]
    for number, part in enumerate(parts):
        answer = section.answer(part)
        if answer is not None:
            which = f"{capital(part.version)}: " if len(parts) > 1 else ""
            short = escape_markdown(f"{which}{answer.short}")
            show_markdown(f"**{short}.** {escape_markdown(answer.text)}".rstrip())
        for place, chart in enumerate(section.charts(part, f"section-{section.order}-{number}")):
            show_chart(replace(chart, name=f"{chart.name}-{place}"))
        for note in section.notes(part):
            show_markdown(escape_markdown(note))
    if key := [f"{_MARKS.get(mark.css_class, '')}{mark.text}" for mark in section.key(parts[0])]:
        show_markdown(f"::: small\n{escape_markdown(capital('; '.join(key)))}.\n:::")
    for table in section.tables(parts[0]):
        show_table(table.table, caption=table.caption)


def show_others(release: Release, model: str) -> None:
    """Show the model's other answer sets."""
    if not _has_others(release, model):
        return
    show_markdown(f"# {OTHERS}")
    others = answer_sets(release, model)[1:]
    for name, sets in by_benchmark(own for own in others if own.pairs).items():
        title = release.benchmarks[name].title
        show_table(
            pairs_table(sets, name=f"pairs-{slug(name)}"),
            caption=f"{title}: the other answers of {model}, as on the first page",
            css_class="estimates pairs",
        )


def show_sensitivity(release: Release, model: str) -> None:
    """Show policies for missing answers, and other intervals and tests of the first answer set."""
    sets = answer_sets(release, model)
    kinds = {answers.kind for answers in sets}
    what, unit = "Differences", "the unit of each benchmark"
    if len(kinds) == 1:
        what, unit = f"{capital(difference_name(sets[0].kind))}s", sets[0].kind.unit
    rows = pd.concat([_of_pairs(answers) for answers in sets])
    missing = with_missing(rows[rows["aspect"] == MISSING])
    if missing.empty:
        show_markdown("No answers are missing: the four policies for them give the same figures.")
    else:
        show_table(
            policy_table(missing, release, name="policies"),
            caption=f"{what} under the four policies for missing answers, in {unit}",
        )
    first = sets[0]
    pairs = _of_pairs(first)
    # The p-values of a model that selected the items are meaningless.
    aspects = [INTERVAL] if first.selected else [INTERVAL, TEST]
    captions = {
        INTERVAL: f"The same differences with other intervals, in {first.kind.unit}",
        TEST: "The same comparisons with other tests, adjusted p-values",
    }
    for aspect in aspects:
        # Clustered answers and means have a single interval.
        other = pairs["published"] if first.kind != CHOICE else False
        if ((pairs["aspect"] == aspect) & ~other).any():
            show_table(
                choice_table(pairs, release, aspect, name=f"choices-{aspect}"),
                caption=captions[aspect],
            )
    files = f"{DOWNLOADS}/sensitivity.csv"
    show_markdown(f"All margins, methods and answer sets are in `{files}` of the release.")


def show_diagnostics(release: Release, model: str) -> None:
    """Show screening, missing answers by group, letters, and the items that change most."""
    sets = answer_sets(release, model)
    screened = [screening_of(release, answers.board, model) for answers in sets]
    show_markdown(escape_markdown(screening_summary(pd.concat(screened))))
    for section in sections():
        if section.diagnostic and section.applies(sets[0]):
            _show_section(section, sets[0])
    flips = sets[0].table("flips")
    samples = int(flips["sample"].max()) + 1 if len(flips) and sets[0].benchmark.few_units else 1
    shown = max(1, _FLIPS // samples)
    if flips["attribute"].isin([one.name for one in sets[0].benchmark.varied]).any():
        show_table(
            flip_table(flips, release, name="flips", limit=shown),
            caption="Items whose answer changes for most "
            f"{'attributes' if sets[0].kind == CHOICE else 'pairs'}",
        )


def show_limitations(release: Release, model: str) -> None:
    """Show the limitations of the figures."""
    show_markdown(bullets([*limitations(release, model), *rating_limitations(release, model)]))


def show_methods(release: Release, model: str) -> None:
    """Show the methods behind these figures, as the estimates name them."""
    sets = answer_sets(release, model)
    own = pd.concat([_of_varied(answers) for answers in sets])
    tests = own[own["metric"].isin(TESTS) & is_primary_test(own)]
    kinds = {answers.kind.name: answers.kind for answers in sets}
    used = {
        **{
            f"Intervals of {difference_name(kind)}s": own.loc[
                own["metric"] == kind.difference, "ci_method"
            ]
            for kind in kinds.values()
        },
        "Intervals of shares": own.loc[own["metric"] == "cfr", "ci_method"],
        "Tests of no difference": tests.loc[tests["p_adjusted"].notna(), "test"],
        "Adjustment": tests["adjust_method"],
        "Policy for missing answers": own["missing"],
    }
    if all(answers.benchmark.few_units for answers in sets):
        # The design effect of each pair is in the estimates.
        own_effect = r", design effect [0-9.e+]+"
        used = {
            t: v.replace(own_effect, " with design effects", regex=True) for t, v in used.items()
        }
    named = {
        title: sorted(set(values.dropna().astype(str)) - {""}) for title, values in used.items()
    }
    lines = [f"{title}: {'; '.join(values)}." for title, values in named.items() if values]
    show_markdown(bullets([*lines, *rating_methods(release, model)]))


def _of_varied(own: AnswerSet) -> pd.DataFrame:
    """Return the estimates of the pairs of an answer set."""
    rows = own.rows
    return rows[rows["attribute"].isin([pair.attribute for pair in own.pairs])]


def show_provenance(
    release: Release, model: str, facts: AuditFacts | None = None, *, crosswalk: bool = False
) -> None:
    """Show the inputs, hashes, versions and arguments, and how to draw the report again."""
    manifest = release.manifest
    arguments = ", ".join(
        f"{key} = {'as the benchmark declares' if value is None else value}"
        for key, value in manifest["arguments"].items()
    )
    libraries = ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items())
    sets = answer_sets(release, model)
    lines = [
        *(text for answers in sets for text in scope(answers)),
        *submission_facts(pd.concat([submissions_of(release, a.board, model) for a in sets])),
        *rating_scope(release, model),
        *(
            f"{benchmark.title}: {', '.join(benchmark.sources) or 'no source stated'}; licence: "
            f"{benchmark.licence}"
            for benchmark in {a.benchmark.name: a.benchmark for a in sets}.values()
        ),
        f"Release {release.name}, published {manifest['created_at']}",
        f"SHA-256 of the manifest: {file_sha256(release.path / MANIFEST)}",
        *(
            f"SHA-256 of {DOWNLOADS}/{name}.parquet: "
            f"{file_sha256(release.path / DOWNLOADS / f'{name}.parquet')}"
            for name in _HASHED
        ),
        *rating_provenance(release, model),
        f"Arguments: {arguments}",
        f"fairstats {manifest['fairstats']}, Python {manifest['python']}, {libraries}",
    ]
    show_markdown(bullets(lines))
    folder = f"v/{release.name}"
    options = " --crosswalk" * crosswalk + " --facts FACTS.toml" * bool(facts and facts.encoded)
    this_file = (
        "    fairstats verify REPORT.pdf --release .\n" if output_format() == "typst" else ""
    )
    show_markdown(
        "To check the release and draw this report again, run in the site's folder, with this "
        "version of fairstats:\n\n"
        f"    fairstats verify {folder}\n"
        f"    fairstats report {release.slugs[model]} --release {folder} --to pdf{options}\n"
        f"{this_file}\n"
        f"All estimates of {escape_markdown(breakable(model))} are in `{DOWNLOADS}/estimates.csv`."
    )


def scope(answers: AnswerSet) -> list[str]:
    """Describe the answers, one sentence per snapshot."""
    return [
        f"{answers.full_label}: {answered(answers, [own])}, {own['missing']:,} of them missing; "
        f"snapshot {own['snapshot'] or 'not known'}; collected by "
        f"{own['collector'] or 'not known'}."
        for own in answers.entries
    ]


def _of_pairs(own: AnswerSet) -> pd.DataFrame:
    """Return the rows of sensitivity for the pairs that the report charts."""
    return pd.concat([pair.rows(own.sensitivity) for pair in own.charted] or [own.sensitivity[:0]])


def _has_others(release: Release, model: str) -> bool:
    others = answer_sets(release, model)[1:]
    return any(answers.pairs for answers in others)
