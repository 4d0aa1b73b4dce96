"""Show the sections of a model's audit report, one per cell."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.benchmarks.declaration import BASELINE
from fairstats.estimates.specifications import INTERVAL, MISSING, TEST
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.audit_answer_sets import AnswerSet, answer_sets
from fairstats.report.audit_charts import (
    show_accuracies,
    show_differences,
    show_letters,
    show_outcomes,
)
from fairstats.report.audit_crosswalk import CROSSWALK
from fairstats.report.audit_crosswalk import show_crosswalk as show_crosswalk
from fairstats.report.audit_declarations import declarations
from fairstats.report.audit_facts import AuditFacts
from fairstats.report.audit_facts import decoded_facts as decoded_facts
from fairstats.report.audit_groups import show_groups
from fairstats.report.audit_limits import limitations
from fairstats.report.audit_ratings import (
    RATINGS,
    rating_limitations,
    rating_methods,
    rating_provenance,
    rating_scope,
    ratings_of,
)
from fairstats.report.audit_ratings import show_rated as show_rated
from fairstats.report.audit_summary import bullets, charted_later, show_summary
from fairstats.report.audit_tables import changes_table, diagnostics_table, pairs_table, size_table
from fairstats.report.flips_section import flip_table
from fairstats.report.page_output import output_format, show_markdown, show_table
from fairstats.report.same_prompt_section import noise_line
from fairstats.report.screening_notes import screening_of, screening_summary
from fairstats.report.sensitivity_tables import choice_table, policy_table, with_missing
from fairstats.report.submission_notes import submission_facts, submissions_of
from fairstats.report.tables import breakable

#: The number of listed items with changed answers; the release has all of them.
_FLIPS = 10
_HASHED = ("answers", "estimates")
OTHERS = "Other prompts and versions"
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
    return ["Results", GROUPS, *others, *rest, *([CROSSWALK] if crosswalk else [])]


def show_group_figures(release: Release, model: str) -> None:
    """Show accuracy, missing answers and ratios by group, for the answer set of the summary."""
    show_groups(answer_sets(release, model)[0])


def show_declarations(release: Release, model: str, facts: AuditFacts) -> None:
    """Show what the auditor and the submitters declare; a missing fact is "not stated"."""
    show_markdown("These facts are declared. fairstats cannot check them.")
    show_markdown(bullets(declarations(release, model, facts)))


def show_results(release: Release, model: str) -> None:
    """Show the answer set of the summary, in the order of the questions."""
    answers = answer_sets(release, model)[0]
    if not answers.pairs:
        show_markdown("No pair of groups was compared.")
        return
    if len(answers.charted) < len(answers.pairs):
        show_markdown("## All pairs")
        show_table(
            pairs_table([answers], name="all-pairs", every=True),
            caption=f"All {len(answers.pairs)} pairs. The other tables and charts show the "
            f"{len(answers.charted)} with the largest differences",
            css_class="estimates pairs",
        )
    show_markdown("## Who loses accuracy?")
    show_accuracies([answers], name="accuracies")
    show_markdown("## Could it be chance?")
    show_outcomes([answers], name="outcomes")
    if noise := noise_line(answers.rows, answers.benchmark, release):
        show_markdown(escape_markdown(noise))
    if answers.ranges:
        # The policy gives ranges, which are on the first page.
        return
    show_markdown("## Is it big enough to matter?")
    if charted_later(answers):
        show_differences([answers], name="differences")
    show_table(
        size_table([answers]),
        caption="Size of the differences. Equivalent from: the smallest margin at which the pair "
        "counts as equivalent. Detectable: with 80% power",
    )


def show_others(release: Release, model: str) -> None:
    """Show the model's other answer sets, and the changes from other versions and prompts."""
    if not _has_others(release, model):
        return
    show_markdown(f"# {OTHERS}")
    first, *others = answer_sets(release, model)
    for name, sets in _by_benchmark(others).items():
        title = release.benchmarks[name].title
        show_table(
            pairs_table(sets, name=f"pairs-{slug(name)}"),
            caption=f"{title}: the other answers of {model}, as on the first page",
            css_class="estimates pairs",
        )
        also = [first] if first.benchmark.name == name else []
        show_differences([*also, *sets], name=f"differences-{slug(name)}")
    changes = _changes(release, model)
    if len(changes):
        show_table(
            changes_table(changes, release),
            caption="Change from the version or prompt on the left of the arrow, in points",
        )


def show_sensitivity(release: Release, model: str) -> None:
    """Show policies for missing answers, and other intervals and tests of the first answer set."""
    sets = answer_sets(release, model)
    rows = pd.concat([_of_pairs(answers) for answers in sets])
    missing = with_missing(rows[rows["aspect"] == MISSING])
    if missing.empty:
        show_markdown("No answers are missing: the four policies for them give the same figures.")
    else:
        show_table(
            policy_table(missing, release, name="policies"),
            caption="Accuracy differences under the four policies for missing answers, in points",
        )
    first = sets[0]
    pairs = _of_pairs(first)
    # The p-values of a model that selected the items are meaningless.
    aspects = [INTERVAL] if first.selected else [INTERVAL, TEST]
    captions = {
        INTERVAL: "The same differences with other intervals, in points",
        TEST: "The same comparisons with other tests, adjusted p-values",
    }
    for aspect in aspects:
        if (pairs["aspect"] == aspect).any():
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
    if sets[0].pairs:
        show_table(
            diagnostics_table([answers for answers in sets if answers.pairs]),
            caption="Do answers go missing, or do letters change, more for one group? p-values are "
            "not adjusted",
        )
    show_letters(sets[0], name="letters")
    flips = sets[0].table("flips")
    if len(flips):
        show_table(
            flip_table(flips, release, name="flips", limit=_FLIPS),
            caption="Items whose answer changes for most attributes",
        )


def show_limitations(release: Release, model: str) -> None:
    """Show the limitations of the figures."""
    show_markdown(bullets([*limitations(release, model), *rating_limitations(release, model)]))


def show_methods(release: Release, model: str) -> None:
    """Show the methods behind these figures, as the estimates name them."""
    own = pd.concat(
        [pair.figures for a in answer_sets(release, model) for pair in a.pairs] or [_NO]
    )
    tests = own.loc[own.index == "mcnemar"]
    used = {
        "Intervals of accuracy differences": own.loc[
            own.index == "accuracy_difference", "ci_method"
        ],
        "Intervals of shares": own.loc[own.index == "cfr", "ci_method"],
        "Tests of no difference": tests.loc[tests["p_adjusted"].notna(), "test"],
        "Adjustment": tests["adjust_method"],
        "Policy for missing answers": own["missing"],
    }
    named = {
        title: sorted(set(values.dropna().astype(str)) - {""}) for title, values in used.items()
    }
    lines = [f"{title}: {'; '.join(values)}." for title, values in named.items() if values]
    show_markdown(bullets([*lines, *rating_methods(release, model)]))


_NO = pd.DataFrame(
    {name: [] for name in ("ci_method", "p_adjusted", "test", "adjust_method", "missing")}
)


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
            f"{benchmark.title}: {', '.join(benchmark.sources)}; licence: {benchmark.licence}"
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
        f"{answers.label}: {own['items']:,} vignette{'s' * (own['items'] != 1)}, "
        f"{own['answers']:,} answers, {own['missing']:,} of them missing; snapshot "
        f"{own['snapshot'] or 'not known'}; collected by {own['collector'] or 'not known'}."
        for own in answers.entries
    ]


def _of_pairs(answers: AnswerSet) -> pd.DataFrame:
    """Return the rows of sensitivity for the pairs of the report."""
    rows = answers.table("sensitivity")
    rows = rows[rows["attribute"].isin([pair.attribute.name for pair in answers.pairs])]
    if len(answers.charted) == len(answers.pairs):
        return rows
    shown = [(pair.attribute.name, *pair.groups) for pair in answers.charted]
    names = ["attribute", "group_a", "group_b"]
    return rows[pd.MultiIndex.from_frame(rows[names]).isin(shown)]


def _has_others(release: Release, model: str) -> bool:
    others = answer_sets(release, model)[1:]
    return any(answers.pairs for answers in others) or len(_changes(release, model)) > 0


def _changes(release: Release, model: str) -> pd.DataFrame:
    rows = release.comparisons
    own = rows[["model_old", "model_new"]].eq(model).any(axis=1)
    return rows[own & (rows["attribute"] != BASELINE)]


def _by_benchmark(sets: Iterable[AnswerSet]) -> dict[str, list[AnswerSet]]:
    found: dict[str, list[AnswerSet]] = {}
    for answers in sets:
        if answers.pairs:
            found.setdefault(answers.benchmark.name, []).append(answers)
    return found
