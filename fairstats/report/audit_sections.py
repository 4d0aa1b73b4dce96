"""What the cells of the audit report of one model call: each shows one section."""

from __future__ import annotations

from collections.abc import Iterable

from fairstats._lib.formatting import (
    escape_markdown,
)
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256
from fairstats.benchmarks.terms import BASELINE, POOLED
from fairstats.estimates.sensitivity import INTERVAL, TEST
from fairstats.release.contents import MANIFEST, Release, plain_first
from fairstats.report.audit_prose import (
    boards_of,
    headline,
    limitations,
    methods_used,
    question,
    scope,
    verdict_sentences,
)
from fairstats.report.audit_ratings import (
    rating_headline,
    rating_limitations,
    rating_methods,
    rating_provenance,
    rating_scope,
)
from fairstats.report.audit_ratings import show_rated as show_rated
from fairstats.report.audit_tables import (
    DIAGNOSTICS,
    diagnostics_table,
    findings_table,
    verdict_table,
)
from fairstats.report.flips_section import flip_table
from fairstats.report.margin_strip import has_margins
from fairstats.report.model_page import show_policies
from fairstats.report.model_plots import show_forest, show_letters, show_margins, show_outcomes
from fairstats.report.page_output import show_markdown, show_table
from fairstats.report.prose import ranges
from fairstats.report.sensitivity_tables import choice_table
from fairstats.report.tables import estimates_table

#: Inches that a page has for a plot.
_TALLEST = 8.5
#: Of the items that flip, so many stand in the report; all are in the release.
_FLIPS = 10
_HASHED = ("downloads/answers.parquet", "downloads/estimates.parquet")


def model_of(release: Release, slug: str) -> str:
    """The model whose page has this address, or whose name this is.

    Raises
    ------
    InputError
        When the release has no such model.
    """
    for model, own in release.slugs.items():
        if slug in (model, own):
            return model
    known = ", ".join(release.models)
    raise InputError([Problem(slug, f"is no model of release {release.name}", f"one of: {known}")])


def show_head(release: Release, model: str) -> None:
    """Which release and what of it, and the verdicts in a line."""
    day = release.created_at.date()
    show_markdown(
        f"::: kicker\n{escape_markdown(f'Audit report · release {release.name} · {day}')}\n:::"
    )
    said = " ".join(filter(None, (headline(release, model), rating_headline(release, model))))
    show_markdown(f"::: lede\n{escape_markdown(said)}\n:::")


def show_scope(release: Release, model: str) -> None:
    """The question, and what was asked of the model."""
    show_markdown(escape_markdown(question(release, model)))
    _list([*scope(release, model), *rating_scope(release, model)])


def show_verdicts(release: Release, model: str) -> None:
    """A table with a row a pair, and each verdict in a sentence."""
    show_table(
        verdict_table(release, model),
        caption=f"Verdicts on {model}; differences in points, each with {ranges(release)}",
    )
    _list(verdict_sentences(release, model))


def show_findings(release: Release, model: str) -> None:
    """Forest plot, paired outcomes, and accuracy and CFR of each pair."""
    show_table(
        findings_table(release, model),
        caption=f"Accuracy of both groups and CFR, each with {ranges(release)}",
    )
    own = release.estimates[release.estimates["model"] == model]
    for name, rows in own.groupby("benchmark", sort=False):
        show_markdown(
            f"Accuracy differences, each with {ranges(release)}; the shaded band is the "
            "equivalence margin."
        )
        show_forest(rows, release.benchmarks[str(name)], tallest=_TALLEST)
        show_outcomes(rows, release.benchmarks[str(name)], tallest=_TALLEST)


def show_sensitivity(release: Release, model: str) -> None:
    """Policies for missing answers, margins, and methods of interval and test."""
    table = release.table("sensitivity")
    own = plain_first(table[table["model"] == model])
    # One file: there is no download beside it.
    show_policies(own, release, name="policies", download=None)
    for name, rows in own.groupby("benchmark", sort=False):
        if has_margins(rows):
            show_markdown(
                "From which margin on would each pair count as equivalent? Left of the change it "
                "would not."
            )
            show_margins(rows, release.benchmarks[str(name)], tallest=_TALLEST)
    # The baseline and the pooled attributes are on the model's page.
    pairs = own[~own["attribute"].isin([BASELINE, POOLED])]
    # Nor are p-values of a model that selected the items anything to go by.
    selected = [b.name for b in release.benchmarks.values() if model in b.selected_on]
    pairs = pairs[(pairs["aspect"] != TEST) | ~pairs["benchmark"].isin(selected)]
    for aspect, caption in (
        (INTERVAL, "Intervals of the same differences by other methods, in points"),
        (TEST, "Adjusted p-values of the same pairs by other tests"),
    ):
        if (pairs["aspect"] == aspect).any():
            show_table(
                choice_table(pairs, release, aspect, name=f"choices-{aspect}"),
                caption=caption,
            )


def show_diagnostics(release: Release, model: str) -> None:
    """Missing answers by group, letters, and the items that flip."""
    own = release.estimates[release.estimates["model"] == model]
    tests = plain_first(own[own["metric"].isin(list(DIAGNOSTICS))])
    if len(tests):
        show_table(
            diagnostics_table(tests, release),
            caption="Are answers missing more often, or letters given otherwise, for one group? "
            "p-values, not adjusted",
        )
    letters = release.table("letters")
    letters = letters[letters["model"] == model]
    for name, rows in letters.groupby("benchmark", sort=False):
        show_letters(rows, release.benchmarks[str(name)], tallest=_TALLEST)
    flips = release.table("flips")
    flips = plain_first(flips[flips["model"] == model])
    if len(flips):
        show_table(
            flip_table(flips, release, name="flips", limit=_FLIPS),
            caption="Items whose answer changes for most attributes",
        )


def show_limitations(release: Release, model: str) -> None:
    """What the data say against reading too much into the figures."""
    _list([*limitations(release, model), *rating_limitations(release, model)])


def show_methods(release: Release, model: str) -> None:
    """What these figures rest on."""
    _list([*methods_used(release, model), *rating_methods(release, model)])


def show_provenance(release: Release, model: str) -> None:
    """Hashes, versions and arguments."""
    manifest = release.manifest
    own = [entry for entry in manifest["answers"] if entry["model"] == model]
    collectors = ", ".join(sorted({str(entry["collector"] or "not known") for entry in own}))
    arguments = ", ".join(
        f"{key} = {'as the benchmark declares' if value is None else value}"
        for key, value in manifest["arguments"].items()
    )
    libraries = ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items())
    lines = [
        f"Release {release.name}, published {manifest['created_at']}; sha256 of its manifest: "
        f"{file_sha256(release.path / MANIFEST)}",
        *(f"sha256 of {name}: {file_sha256(release.path / name)}" for name in _HASHED),
        *rating_provenance(release, model),
        f"Arguments: {arguments}",
        f"fairstats {manifest['fairstats']}, Python {manifest['python']}, {libraries}",
        f"Answers collected by: {collectors}",
    ]
    _list(lines)
    sources = [
        f"{benchmark.title}: {', '.join(benchmark.sources)}; licence: {benchmark.licence}"
        for benchmark in {b.benchmark.name: b.benchmark for b in boards_of(release, model)}.values()
    ]
    _list(sources)


def show_reproduction(release: Release, model: str) -> None:
    """The two commands that check the release and draw this report again."""
    folder = f"v/{release.name}"
    show_markdown(
        "In the site's folder, with the version of fairstats named above:\n\n"
        f"    fairstats verify {folder}\n"
        f"    fairstats report {release.slugs[model]} --release {folder} --to pdf\n\n"
        "The first recomputes the hash of every file and, from the answers, every table of the "
        "release, and names what differs; the second draws this report from it."
    )
    lines = [f"{what}: {'.' * 60}" for what in ("Signed", "Name and place", "Date")]
    show_markdown("\\\n".join(escape_markdown(line) for line in lines))


def show_all_estimates(release: Release, model: str) -> None:
    """Every estimate of the first answer set, where there are few; others are in the release."""
    first, *others = boards_of(release, model)
    if len(others) > 1:
        show_markdown("They are in the release, in `downloads/estimates.csv`.")
        return
    rows = first.estimates[first.estimates["model"] == model]
    which = f"{first.benchmark.title}, {first.version}, {first.strategy}"
    show_table(
        estimates_table(rows, release, name="all"),
        caption=f"All estimates of {model}: {which}",
    )


def _list(sentences: Iterable[str]) -> None:
    show_markdown("\n".join(f"- {escape_markdown(text)}" for text in sentences))
