"""What the page of one model shows, from the summary to where its answers come from."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.safe_names import slug as slug_of
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.terms import BASELINE
from fairstats.release.contents import Release, plain_first
from fairstats.report.audit_ratings import rating_headline, rating_scope
from fairstats.report.flip_texts import flip_texts
from fairstats.report.flips_section import flip_table
from fairstats.report.margin_strip import has_margins
from fairstats.report.model_history import history_of, history_plot
from fairstats.report.model_plots import show_forest, show_letters, show_margins, show_outcomes
from fairstats.report.page_output import closed, page_root, show_markdown, show_plot, show_table
from fairstats.report.plots import OUTCOMES
from fairstats.report.prose import model_summary, ranges
from fairstats.report.same_prompt_section import noise_line
from fairstats.report.sensitivity_tables import policy_table, with_missing
from fairstats.report.tables import estimates_table, sources_table

_SETS = ["benchmark_version", "strategy"]
_UNIT = list(UNIT_COLUMNS)


def show_model(release: Release, slug: str) -> None:
    """Everything that the release says of one model, named by its page's address."""
    model = next(name for name, own in release.slugs.items() if own == slug)
    show_markdown(model_summary(release, model))
    own = release.estimates[release.estimates["model"] == model]
    for name, rows in own.groupby("benchmark"):
        _show_benchmark(release, model, release.benchmarks[str(name)], rows)
    rated = [*rating_scope(release, model)]
    if rated:
        said = " ".join(filter(None, (rating_headline(release, model), *rated)))
        show_markdown(
            f"## What raters say\n\n{escape_markdown(said)} The figures stand on the page "
            f"[Ratings]({page_root()}reports/ratings.html)."
        )
    show_markdown("## Where the answers come from")
    show_table(
        sources_table(release, model),
        caption=f"How many answers {model} gave, under which snapshot",
        css_class="sources",
    )


def _show_benchmark(release: Release, model: str, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    title = escape_markdown(benchmark.title)
    baseline = (
        " The baseline compares the original with the neutralized vignettes."
        if (rows["attribute"] == BASELINE).any()
        else ""
    )
    show_markdown(
        f"## {title}: accuracy difference\n\nPrivileged less unprivileged, each with "
        f"{ranges(release)}; the shaded band is the equivalence margin.{baseline}"
    )
    show_forest(rows, benchmark)
    if rows.loc[rows["metric"].isin(list(OUTCOMES)), "estimate"].notna().any():
        show_markdown(
            f"## {title}: paired outcomes\n\nEach pair is one vignette told for both groups, "
            "the privileged one named first."
        )
        show_outcomes(rows, benchmark)
    noise = noise_line(rows, benchmark, release)
    if noise:
        show_markdown(escape_markdown(noise))
    _show_choices(release, model, benchmark)
    _show_letters(release, model, benchmark)
    _show_flips(release, model, benchmark)
    _show_history(release, model, benchmark)
    _show_estimates(release, model, benchmark, rows)


def _of(release: Release, table: str, model: str, benchmark: Benchmark) -> pd.DataFrame:
    rows = release.table(table)
    return plain_first(rows[(rows["model"] == model) & (rows["benchmark"] == benchmark.name)])


def _show_choices(release: Release, model: str, benchmark: Benchmark) -> None:
    rows = _of(release, "sensitivity", model, benchmark)
    title, name = escape_markdown(benchmark.title), slug_of(benchmark.name)
    if has_margins(rows):
        show_markdown(
            f"## {title}: how the verdict depends on the margin\n\nFrom the smallest margin on at "
            "which its interval fits inside, a pair counts as equivalent."
        )
        show_margins(rows, benchmark)
    show_markdown(f"## {title}: what missing answers could change")
    show_policies(rows, release, name=f"policies-{name}")


def show_policies(
    rows: pd.DataFrame, release: Release, *, name: str, download: str | None = "sensitivity"
) -> None:
    """The four policies for missing answers, for the answer sets where they do not agree."""
    missing = with_missing(rows)
    sets = rows.groupby(_UNIT).ngroups - missing.groupby(_UNIT).ngroups
    if sets:
        which = "No answer is missing" if missing.empty else "Elsewhere no answer is missing"
        show_markdown(f"{which}: the four policies for missing answers give the same figures.")
    if len(missing):
        show_table(
            policy_table(missing, release, name=name),
            caption="Accuracy differences under the four policies for missing answers, in points",
            css_class="estimates changes",
            download=download,
        )


def _show_letters(release: Release, model: str, benchmark: Benchmark) -> None:
    rows = _of(release, "letters", model, benchmark)
    if rows["count"].sum() == 0:
        return
    show_markdown(
        f"## {escape_markdown(benchmark.title)}: letters\n\nHow often each letter was "
        "given, beside how often it is the key."
    )
    show_letters(rows, benchmark)


def _show_flips(release: Release, model: str, benchmark: Benchmark) -> None:
    rows = _of(release, "flips", model, benchmark)
    if rows.empty:
        return
    show_markdown(f"## {escape_markdown(benchmark.title)}: items whose answer changes")
    with closed("The items that change for most attributes"):
        show_table(
            flip_table(rows, release, name=f"flips-{slug_of(benchmark.name)}"),
            caption=f"Items whose answer by {model} changes with the group",
            download="flips",
        )
    for keys, own in rows.groupby(_SETS, sort=False):
        texts = flip_texts(own, benchmark)
        if texts:
            with closed(f"In their own words, {', '.join(map(str, keys))}"):
                show_markdown(texts)


def _show_history(release: Release, model: str, benchmark: Benchmark) -> None:
    rows = history_of(release, model, benchmark.name)
    if rows["release"].nunique() < 2:
        return
    show_markdown(f"## {escape_markdown(benchmark.title)}: over the releases")
    show_plot(
        history_plot,
        rows,
        benchmark,
        name=f"history-{slug_of(benchmark.name)}",
        alt=f"Accuracy differences of {model} in each release; the figures are in its table.",
        width=7,
        height=1.0 + 1.3 * rows.groupby(_SETS).ngroups,
    )


def _show_estimates(release: Release, model: str, benchmark: Benchmark, rows: pd.DataFrame) -> None:
    show_markdown(f"## {escape_markdown(benchmark.title)}: all estimates")
    for number, (keys, unit) in enumerate(plain_first(rows).groupby(_SETS, sort=False)):
        which = ", ".join(map(str, keys))
        with closed(f"All estimates, {which}"):
            show_table(
                estimates_table(
                    unit, release, name=f"estimates-{slug_of(benchmark.name)}-{number}"
                ),
                caption=f"All estimates of {model}: {benchmark.title}, {which}",
                download="estimates",
            )
            texts = pd.concat([unit["verdict_reason"], unit["method_note"]])
            notes = sorted(set(texts.dropna()) - {""})
            show_markdown("\n".join(f"- {escape_markdown(note)}" for note in notes))
