"""Report ratings of a model's open answers in its audit report."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fairstats._lib.formatting import escape_markdown
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.page_output import show_markdown
from fairstats.report.ratings.page import bias_reported, show_figures
from fairstats.report.ratings.parts import own_rows
from fairstats.report.ratings.sections import show_agreement
from fairstats.report.ratings.tables import noun

#: The heading of the section.
RATINGS = "What raters report"


def ratings_of(release: Release, model: str) -> list[tuple[Rubric, pd.DataFrame]]:
    """Return ratings of the model's answers and its benchmarks' texts, by benchmark and rubric."""
    ratings = release.ratings
    rated = ratings[["model", "model_2"]].eq(model).any(axis=1)
    asked = {answers.benchmark.name for answers in answer_sets(release, model)}
    of_texts = ratings["model"].isna() & ratings["benchmark"].isin(asked)
    groups = ratings[rated | of_texts].groupby(["benchmark", "rubric"], sort=True)
    return [(release.rubrics[str(which)], own) for (_, which), own in groups]


def rating_headline(release: Release, model: str) -> str:
    """State how often people report bias in the model's answers; empty without ratings."""
    sentences = []
    for rubric, judged in ratings_of(release, model):
        if rubric.compares == "nothing":
            name = str(judged["benchmark"].iloc[0])
            rates = own_rows(release, "bias_rates", name, rubric, model)
            sentences += bias_reported(rates[rates["model"] == model], release.alpha)
    return " ".join(sentences)


def rating_scope(release: Release, model: str) -> Iterator[str]:
    """State what was judged, and by whom, with one sentence per benchmark and rubric."""
    for rubric, judged in ratings_of(release, model):
        name = str(judged["benchmark"].iloc[0])
        benchmark = release.benchmarks.get(name)
        title = benchmark.title if benchmark else name
        judgements = judged[["task_id", "rater_id", "repeat"]].drop_duplicates().shape[0]
        tasks = judged[["dataset", "task_id"]].drop_duplicates().shape[0]
        of_model = judged[["model", "model_2"]].eq(model).any(axis=None)
        what = noun(rubric, judged, several=tasks != 1)
        whose = f"of {model}" if of_model else "of the benchmark, no model's answers"
        whose = f"with {model}" if rubric.compares == "models" else whose
        yield (
            f"{title}, {rubric.title.lower()} (rubric {rubric.name}, version {rubric.version}): "
            f"{judged['rater_id'].nunique():,} raters gave {judgements:,} judgements on "
            f"{tasks:,} {what} {whose}."
        )


def rating_limitations(release: Release, model: str) -> Iterator[str]:
    """State the limitations of ratings."""
    if not ratings_of(release, model):
        return
    yield (
        "Reports show the judgement of these kinds of raters, of these answers, by this rubric. "
        "Their agreement is given with each rate. With few raters, intervals for other raters are "
        "wide. They can still be too narrow if raters differ widely on rare problems."
    )


def rating_methods(release: Release, model: str) -> Iterator[str]:
    """State the methods behind the figures of ratings, as the tables name them."""
    found = ratings_of(release, model)
    methods: list[str] = []
    for rubric, judged in found:
        rates = own_rows(release, "bias_rates", str(judged["benchmark"].iloc[0]), rubric, model)
        methods += rates["crossed_method"].dropna().unique().tolist()
    if methods:
        named = ", ".join(sorted(set(methods)))
        yield (
            f"Intervals of rates by raters: {named} (Cameron, Gelbach and Miller 2011; Korn and "
            "Graubard 1998); in parentheses the exact BCa interval over ratings, or over tasks for "
            "votes (Efron 1987)."
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
    found = ratings_of(release, model)
    if not found:
        return
    show_markdown(f"# {RATINGS}")
    said = rating_scope(release, model)
    for (rubric, judged), sentence in zip(found, said, strict=True):
        name = str(judged["benchmark"].iloc[0])
        place = slug(f"{name}-{rubric.name}")
        show_markdown(escape_markdown(sentence))
        show_figures(release, name, rubric, place=place, model=model)
        show_agreement(release, name, rubric, place=place, model=model)
