"""Show the sections of a model's audit report, one per cell."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from fairstats._lib.formatting import capital, escape_markdown, level, listed, percent, span
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.benchmarks.declaration import BASELINE
from fairstats.benchmarks.kinds import CHOICE, TESTS
from fairstats.estimates.specifications import INTERVAL, MISSING, TEST
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.answer_sets import AnswerSet, answer_sets, names_of
from fairstats.report.audit.charts import (
    show_differences,
    show_letters,
    show_outcomes,
    show_rates,
)
from fairstats.report.audit.crosswalk import CROSSWALK, declarations
from fairstats.report.audit.crosswalk import show_crosswalk as show_crosswalk
from fairstats.report.audit.facts import AuditFacts
from fairstats.report.audit.facts import decoded_facts as decoded_facts
from fairstats.report.audit.groups import show_groups
from fairstats.report.audit.limits import limitations
from fairstats.report.audit.summary import bullets, charted_later, show_summary
from fairstats.report.audit.tables import (
    answers_changed,
    beyond_control,
    changes_table,
    control_table,
    diagnostics_table,
    pairs_table,
    size_table,
)
from fairstats.report.changed_items import flip_table
from fairstats.report.notes import (
    noise_line,
    screening_of,
    screening_summary,
    submission_facts,
    submissions_of,
)
from fairstats.report.page_output import output_format, show_markdown, show_table
from fairstats.report.ratings.in_reports import (
    RATINGS,
    rating_limitations,
    rating_methods,
    rating_provenance,
    rating_scope,
    ratings_of,
)
from fairstats.report.ratings.in_reports import show_rated as show_rated
from fairstats.report.sensitivity import choice_table, policy_table, with_missing
from fairstats.report.tables import breakable
from fairstats.report.words import counted_items, difference_name, meaning

#: The number of listed items with changed answers; the release has all of them.
_FLIPS = 10
_HASHED = ("answers", "estimates")
_QUESTIONS = {
    "choice": "Who loses accuracy?",
    "decision": "Who gets fewer favourable answers?",
    "level": "In which direction do answers move?",
    "score": "Who gets lower scores?",
}
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
    """Show rates or means, missing answers and ratios by group, for the summary's answers."""
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
    show_markdown(f"## {_QUESTIONS[answers.kind.name]}")
    if told := meaning(answers.benchmark):
        show_markdown(escape_markdown(told))
    show_rates([answers], name="accuracies" if answers.kind == CHOICE else "rates")
    show_markdown("## Could it be chance?")
    show_outcomes([answers], name="outcomes")
    few = answers.benchmark.few_units
    noise = noise_of(answers) if few else noise_line(answers.rows, answers.benchmark, release)
    if noise:
        show_markdown(escape_markdown(noise))
    if len(beyond_control(answers)):
        show_markdown("## Larger than meaningless changes?")
        controls = listed(control.label for control in answers.benchmark.controls)
        show_markdown(
            "How far answers change between the groups of a pair, minus how far they change "
            f"between controls, which should not matter: {escape_markdown(controls)}."
        )
        show_table(
            control_table(answers),
            caption="Mean change beyond that of the controls, in "
            f"{answers.kind.unit}{', in any direction' * answers.kind.numeric}; p-values are not "
            "adjusted",
        )
    if answers.ranges:
        # The policy gives ranges, which are on the first page.
        return
    show_markdown("## Is it big enough to matter?")
    if charted_later(answers):
        show_differences([answers], name="differences")
    show_table(
        size_table([answers]),
        caption="Size of the differences. Equivalent from: the smallest margin at which the pair "
        f"counts as equivalent.{'' if answers.kind.numeric else ' Detectable: with 80% power'}",
    )


def noise_of(answers: AnswerSet) -> str:
    """Compare changes between groups with those between samples of one prompt, for many pairs."""
    pairs = [p for p in answers.pairs if not math.isnan(p.value("excess_disagreement"))]
    if not pairs:
        return ""
    differ = [1 - pair.value("same_prompt_agreement") for pair in pairs]
    beyond = [pair for pair in pairs if pair.value("excess_disagreement", "ci_low") > 0]
    named = f"for {names_of(beyond, answers.pairs)}" if beyond else "for no pair"
    return (
        "Each prompt was asked several times. Two samples of the same prompt differ in "
        f"{span(percent(min(differ)), percent(max(differ)))} of cases. Answers for two groups "
        f"differ significantly more often than that {named} ({level(answers.release.alpha)} "
        "intervals, not adjusted)."
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
        choices = all(release.benchmarks[str(n)].kind == CHOICE for n in changes["benchmark"])
        unit = ", in points" if choices else ""
        show_table(
            changes_table(changes, release),
            caption=f"Change from the version or prompt on the left of the arrow{unit}",
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
    kinds = {answers.kind for answers in sets}
    screened = [screening_of(release, answers.board, model) for answers in sets]
    show_markdown(escape_markdown(screening_summary(pd.concat(screened))))
    if sets[0].pairs:
        what = "letters" if kinds == {CHOICE} else "answers"
        changing = f", or do {what} change," if answers_changed(sets) else ""
        show_table(
            diagnostics_table([answers for answers in sets if answers.pairs]),
            caption=f"Do answers go missing{changing} more for one group? p-values are not "
            "adjusted",
        )
    show_letters(sets[0], name="letters")
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
    own = pd.concat([pair.figures for a in sets for pair in a.pairs] or [_NO])
    tests = own.loc[own.index.isin(TESTS)]
    kinds = {answers.kind.name: answers.kind for answers in sets}
    used = {
        **{
            f"Intervals of {difference_name(kind)}s": own.loc[
                own.index == kind.difference, "ci_method"
            ]
            for kind in kinds.values()
        },
        "Intervals of shares": own.loc[own.index == "cfr", "ci_method"],
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
        f"{answers.label}: {counted_items(answers.benchmark, own['items'])}, "
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
