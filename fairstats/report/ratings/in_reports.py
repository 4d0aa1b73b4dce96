"""Report ratings of a model's open answers in its audit report."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats._lib.formatting import counted, escape_markdown
from fairstats._lib.safe_names import file_sha256
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.page import bias_reported, judgements, tasks
from fairstats.report.ratings.sections import RatedTexts, show_agreement, show_figures

#: The heading of the section.
RATINGS = "What raters report"


def ratings_of(release: Release, model: str) -> list[tuple[Rubric, pd.DataFrame]]:
    """Return ratings of the model's answers and its benchmarks' texts, by benchmark and rubric."""
    return [(rated.rubric, ratings) for rated, ratings in _rated(release, model)]


def _rated(release: Release, model: str) -> list[tuple[RatedTexts, pd.DataFrame]]:
    ratings = release.ratings
    of_model = ratings[["model", "model_2"]].eq(model).any(axis=1)
    asked = {answers.benchmark.name for answers in answer_sets(release, model)}
    of_texts = ratings["model"].isna() & ratings["benchmark"].isin(asked)
    return [
        (RatedTexts(release, str(name), release.rubrics[str(which)], model), own)
        for (name, which), own in ratings[of_model | of_texts].groupby(["benchmark", "rubric"])
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
