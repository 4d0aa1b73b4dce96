"""Show raters' reports on open answers, and how well the raters agree."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pandas as pd

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import (
    capital,
    escape_markdown,
    level,
    number_word,
    percent,
    percent_range,
)
from fairstats._lib.installation import __version__
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import write_parquet
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.files import rating_files, read_ratings
from fairstats.ratings.rubrics import Rubric, Rubrics, copy_rubrics, load_rubrics
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.report.builtin_renderer import draw_document
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.comparisons import show_pairs, show_preferences
from fairstats.report.ratings.parts import own_rows
from fairstats.report.ratings.sections import show_agreement, show_disagreement, show_rates
from fairstats.report.ratings.tables import group_label, noun
from fairstats.report.site_pages import copy_pages

#: The dimension of bias of any kind.
BIAS = "bias"


def show_ratings(release: Release) -> None:
    """Show the release's ratings by benchmark and rubric."""
    ratings = release.ratings
    groups = {(str(b), str(r)): own for (b, r), own in ratings.groupby(["benchmark", "rubric"])}
    order = ("nothing", "models", "items")
    for name, which in sorted(
        groups, key=lambda key: (key[0], order.index(release.rubrics[key[1]].compares), key[1])
    ):
        _show_rubric(release, name, release.rubrics[which], groups[name, which])


def _show_rubric(release: Release, name: str, rubric: Rubric, ratings: pd.DataFrame) -> None:
    declared = release.benchmarks.get(name)
    title = escape_markdown(declared.title if declared else name)
    place = slug(f"{name}-{rubric.name}")
    rates = own_rows(release, "bias_rates", name, rubric)
    found = bias_reported(rates, release.alpha) if rubric.compares == "nothing" else []
    show_markdown(
        f"## {title}: {escape_markdown(rubric.title.lower())}\n\n"
        f"::: lede\n{escape_markdown(' '.join([*found, _summary(ratings, rubric)]))}\n:::"
    )
    show_figures(release, name, rubric, place=place)
    show_markdown("### Agreement between raters")
    show_agreement(release, name, rubric, place=place)
    if rubric.compares != "models":
        show_disagreement(release, name, rubric, place=place)


def bias_reported(rates: pd.DataFrame, alpha: float) -> list[str]:
    """State how often people report bias, one sentence per model and group of raters.

    All datasets and groups are taken together if they were pooled.
    """
    own = rates[
        (rates["dimension"] == BIAS)
        & (rates["aggregation"] == "pooled")
        & (rates["rater_kind"] == "person")
    ]
    for column in ("dataset", "rater_group"):
        together = own[own[column] == POOLED]
        own = own if together.empty else together
    sentences = []
    for row in own.to_dict("records"):
        limits = percent_range(row["crossed_low"], row["crossed_high"])
        whose = f"{row['model']}’s open answers" if isinstance(row["model"], str) else "the texts"
        sentences.append(
            f"People report bias in {percent(row['estimate'])} of {row['n_ratings']:,} ratings of "
            f"{whose} ({level(alpha)} interval for other answers and raters {limits}%)."
        )
    return sentences


def show_figures(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show raters' reports by a rubric, on one model's answers or all."""
    if rubric.compares == "models":
        show_preferences(release, name, rubric, place=place, model=model)
    else:
        show_rates(release, name, rubric, place=place, model=model)
        show_pairs(release, name, rubric, place=place, model=model)


def _summary(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """State who judged what, in a sentence."""
    parts = []
    for group, own in ratings.groupby("rater_group", sort=True):
        raters = own["rater_id"].nunique()
        judgements = own[["task_id", "rater_id", "repeat"]].drop_duplicates().shape[0]
        named = group_label(str(group), rubric)
        people = f"{number_word(raters)} {named.lower()}"
        who = people if group in rubric.rater_groups else f"the model {group}"
        parts.append(f"{who} gave {judgements:,} judgements")
    tasks = ratings[["dataset", "task_id"]].drop_duplicates().shape[0]
    what = noun(rubric, ratings, several=tasks != 1)
    text = f"{'; '.join(parts)}, on {tasks:,} {what}."
    return capital(text)


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
    fairstats.report.builtin_renderer.PageError
        If the report cannot be drawn. Then no file is written.
    """
    paths = [ratings] if isinstance(ratings, (str, os.PathLike)) else list(ratings)
    frame = read_ratings(paths, rubrics=rubrics)
    known = load_rubrics(frame["rubric"].unique(), rubrics)
    files = rating_files(paths) or [Path(path) for path in paths]
    target = Path(out or f"ratings.{to}")
    with temporary_folder("report") as temporary:
        folder, project = temporary / "ratings", temporary / "pages"
        project.mkdir()
        made = Release(folder)
        write_parquet(frame, made.ratings_path)
        for name, table in RATING_TABLES.items():
            found = table.make(frame, alpha=alpha, rubrics=known)
            write_parquet(found, folder / DOWNLOADS / f"{name}.parquet")
        copy_rubrics(known, folder / "rubrics")
        manifest = {
            "release": title,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "arguments": {"alpha": alpha},
            "sources": [{"name": path.name, "sha256": file_sha256(path)} for path in files],
        }
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        copy_pages(project)
        body = (project / "reports" / "_ratings_report.qmd").read_text(encoding="utf-8")
        draw_document(made, project, "ratings", body, title=title, to=to, target=target)
    return target


def show_head(release: Release) -> None:
    """Show when the report was made, and from how many files."""
    count = len(release.manifest["sources"])
    files = f"{count} file{'' if count == 1 else 's'}"
    show_markdown(f"::: kicker\nRatings · {release.created_at.date()} · {files}\n:::")


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    sources = release.manifest["sources"]
    rubrics = ", ".join(f"{r.name} {r.version}" for r in release.rubrics.values())
    lines = [
        *(f"{source['name']}: sha256 {source['sha256']}" for source in sources),
        f"Rubrics: {rubrics}; alpha = {release.alpha}; fairstats {__version__}, "
        f"Python {platform.python_version()}",
    ]
    listed = "\n".join(f"- {escape_markdown(line)}" for line in lines)
    show_markdown(f"## Input files and versions\n\n{listed}")
