"""Show raters' reports on open answers, and how well the raters agree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import pandas as pd

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import (
    capital,
    counted,
    escape_markdown,
    level,
    number_word,
    percent,
    percent_range,
)
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_parquet
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.files import rating_files, read_ratings
from fairstats.ratings.rubrics import Rubric, Rubrics, copy_rubrics, load_rubrics
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.sections import (
    RatedTexts,
    show_agreement,
    show_disagreement,
    show_figures,
)
from fairstats.report.ratings.tables import group_label, noun
from fairstats.report.separate_reports import draw_report, show_sources, write_tables

#: The dimension of bias of any kind.
BIAS = "bias"
#: What rubrics compare, in the order of the page.
_COMPARED = ("nothing", "models", "items")


def show_ratings(release: Release) -> None:
    """Show the release's ratings by benchmark and rubric."""
    for rated, ratings in sorted(
        _rated(release), key=lambda g: (g[0].benchmark, _COMPARED.index(g[0].rubric.compares))
    ):
        declared = release.benchmarks.get(rated.benchmark)
        title = f"{declared.title if declared else rated.benchmark}: {rated.rubric.title.lower()}"
        sentences = " ".join([*bias_reported(rated), who_judged(ratings, rated.rubric)])
        show_markdown(f"## {escape_markdown(title)}\n\n::: lede\n{escape_markdown(sentences)}\n:::")
        show_figures(rated)
        show_markdown("### Agreement between raters")
        show_agreement(rated)
        if rated.rubric.compares != "models":
            show_disagreement(rated)


def bias_reported(rated: RatedTexts) -> list[str]:
    """State how often people report bias, one sentence per model and group of raters.

    All datasets and groups are taken together if they were pooled. Comparisons have no such rate.
    """
    if rated.rubric.compares != "nothing":
        return []
    own = rated.rows("bias_rates").query(
        "dimension == @BIAS and aggregation == 'pooled' and rater_kind == 'person'"
    )
    if rated.model is not None:
        own = own[own["model"] == rated.model]
    for column in ("dataset", "rater_group"):
        together = own[own[column] == POOLED]
        own = own if together.empty else together
    sentences = []
    for row in own.to_dict("records"):
        limits = percent_range(row["crossed_low"], row["crossed_high"])
        whose = f"{row['model']}’s open answers" if isinstance(row["model"], str) else "the texts"
        sentences.append(
            f"People report bias in {percent(row['estimate'])} of "
            f"{counted(row['n_ratings'], 'rating')} of {whose} ({level(rated.release.alpha)} "
            f"interval for other answers and raters {limits}%)."
        )
    return sentences


def judgements(ratings: pd.DataFrame) -> str:
    """Count what raters judged, e.g. ``"72 judgements"``; a judgement has several ratings."""
    return counted(len(ratings[["task_id", "rater_id", "repeat"]].drop_duplicates()), "judgement")


def tasks(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """Count the tasks that were judged, e.g. ``"24 answers"``."""
    return counted(len(ratings[["dataset", "task_id"]].drop_duplicates()), noun(rubric, ratings))


def who_judged(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """State who judged what, in a sentence."""
    parts = []
    for group, own in ratings.groupby("rater_group", sort=True):
        raters, label = own["rater_id"].nunique(), group_label(str(group), rubric).lower()
        who = f"{number_word(raters)} {label}" if raters > 1 else f"one rater ({label})"
        who = who if group in rubric.rater_groups else f"the model {group}"
        parts.append(f"{who} gave {judgements(own)}")
    return capital(f"{'; '.join(parts)}, on {tasks(ratings, rubric)}.")


def report_ratings(
    ratings: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    to: Literal["pdf", "html"] = "html",
    out: str | os.PathLike[str] | None = None,
    title: str = "Ratings",
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> Path:
    """Write a report of ratings: the Ratings page of a site, with methods and hashes.

    Parameters
    ----------
    ratings : path, or iterable of paths
        As for `fairstats.read_ratings`.
    to : {"html", "pdf"}
        One HTML file with everything in it, or a typeset PDF.
    out : path, optional
        The file to write (default: ``ratings.html`` or ``ratings.pdf`` in the current folder).
    title : str
        The report's title.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Rubrics that are not built in.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    InputError
        If the ratings have a problem.
    fairstats.report.render.PageError
        If the report cannot be drawn. Then no file is written.
    """
    paths = [ratings] if isinstance(ratings, (str, os.PathLike)) else list(ratings)
    frame = read_ratings(paths, rubrics=rubrics)
    known = load_rubrics(frame["rubric"].unique(), rubrics)
    tables = {
        name: table.make(frame, alpha=alpha, rubrics=known) for name, table in RATING_TABLES.items()
    }
    sources = rating_files(paths) or [Path(path) for path in paths]
    target = Path(out or f"ratings.{to}")
    with temporary_folder("report") as folder:
        release = write_tables(folder, tables, title=title, alpha=alpha, sources=sources)
        write_parquet(frame, release.ratings_path)
        copy_rubrics(known, folder / "rubrics")
        draw_report(release, "ratings", title=title, to=to, target=target)
    return target


def show_head(release: Release) -> None:
    """Show when the report was made, and from how many files."""
    files = counted(len(release.manifest["sources"]), "file")
    show_markdown(f"::: kicker\nRatings · {release.created_at.date()} · {files}\n:::")


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    rubrics = ", ".join(f"{rubric.name} {rubric.version}" for rubric in release.rubrics.values())
    show_sources(release, f"Rubrics: {rubrics}")


#: The heading of the section.
RATINGS = "What raters report"


def ratings_of(release: Release, model: str) -> list[tuple[Rubric, pd.DataFrame]]:
    """Return ratings of the model's answers and its benchmarks' texts, by benchmark and rubric."""
    return [(rated.rubric, ratings) for rated, ratings in _rated(release, model)]


def _rated(release: Release, model: str | None = None) -> list[tuple[RatedTexts, pd.DataFrame]]:
    """Return the ratings by benchmark and rubric: all, or those that are about a model."""
    ratings = release.ratings
    if model is not None:
        of_model = ratings[["model", "model_2"]].eq(model).any(axis=1)
        asked = {answers.benchmark.name for answers in answer_sets(release, model)}
        ratings = ratings[of_model | (ratings["model"].isna() & ratings["benchmark"].isin(asked))]
    return [
        (RatedTexts(release, str(name), release.rubrics[str(which)], model), own)
        for (name, which), own in ratings.groupby(["benchmark", "rubric"], sort=True)
    ]


def rating_headline(release: Release, model: str) -> str:
    """State how often people report bias in the model's answers; empty without ratings."""
    return " ".join(text for rated, _ in _rated(release, model) for text in bias_reported(rated))


def rating_scope(release: Release, model: str) -> Iterator[str]:
    """State what was judged, and by whom, with one sentence per benchmark and rubric."""
    for rated, ratings in _rated(release, model):
        benchmark, rubric = release.benchmarks.get(rated.benchmark), rated.rubric
        title = benchmark.title if benchmark else rated.benchmark
        if rubric.compares == "models":
            whose = f"with {model}"
        elif ratings[["model", "model_2"]].eq(model).any(axis=None):
            whose = f"of {model}"
        else:
            whose = "of the benchmark, no model's answers"
        yield (
            f"{title}, {rubric.title.lower()} (rubric {rubric.name}, version {rubric.version}): "
            f"{counted(ratings['rater_id'].nunique(), 'rater')} gave {judgements(ratings)} on "
            f"{tasks(ratings, rubric)} {whose}."
        )


def rating_limitations(release: Release, model: str) -> Iterator[str]:
    """State the limitations of ratings."""
    if ratings_of(release, model):
        yield (
            "Reports show the judgement of these kinds of raters, of these answers, by this "
            "rubric. Their agreement is given with each rate. With few raters, intervals for other "
            "raters are wide. They can still be too narrow if raters differ widely on rare "
            "problems."
        )


def rating_methods(release: Release, model: str) -> Iterator[str]:
    """State the methods behind the figures of ratings, as the tables name them."""
    found = _rated(release, model)
    methods = {m for rated, _ in found for m in rated.rows("bias_rates")["crossed_method"].dropna()}
    if methods:
        yield (
            f"Intervals of rates by raters: {', '.join(sorted(methods))} (Cameron, Gelbach and "
            "Miller 2011; Korn and Graubard 1998); in parentheses the exact BCa interval over "
            "ratings, or over tasks for votes (Efron 1987)."
        )
    if found:
        yield (
            "Agreement: Randolph (2005), Fleiss (1971), Gwet (2008), Krippendorff (2011), and "
            "positive agreement (Fleiss 1975), with a two-way jackknife over items and raters "
            "(MacKinnon, Nielsen and Webb 2024). Intervals in parentheses are percentiles of the "
            "bootstrap: exact if all items have equally many ratings, if not, from a fixed seed."
        )


def rating_provenance(release: Release, model: str) -> Iterator[str]:
    """Return the hash of the figures' inputs."""
    if ratings_of(release, model):
        name = f"{DOWNLOADS}/{release.ratings_path.name}"
        yield f"sha256 of {name}: {file_sha256(release.ratings_path)}"


def show_rated(release: Release, model: str) -> None:
    """Show raters' reports on the model's open answers, or on the benchmark's texts."""
    found = _rated(release, model)
    if found:
        show_markdown(f"# {RATINGS}")
    for (rated, _), sentence in zip(found, rating_scope(release, model), strict=True):
        show_markdown(escape_markdown(sentence))
        show_figures(rated)
        show_agreement(rated)
