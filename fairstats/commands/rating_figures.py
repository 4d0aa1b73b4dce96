"""Commands on ratings that are there: checking them, and every figure that they give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    RubricFiles,
    check_alpha,
    check_one_of,
    load_rubric_files,
    print_table,
    says_what_is_wrong,
)
from fairstats.problems import InputError, Problem

commands = typer.Typer()

Ratings = Annotated[
    list[Path], typer.Argument(help="Ratings files, or folders with *.ratings.parquet.")
]

#: What stands in a terminal; --json and --csv give every column.
_SHOWN = {
    "bias_rates": (
        "rubric", "dataset", "model", "rater_group", "dimension", "aggregation", "estimate",
        "ci_low", "ci_high", "crossed_low", "crossed_high", "n_ratings", "n_tasks", "n_raters",
    ),
    "rater_agreement": (
        "rubric", "dataset", "model", "rater_group", "dimension", "coefficient", "level",
        "estimate", "ci_low", "ci_high", "n_items",
    ),
    "preferences": (
        "rubric", "dataset", "model", "model_2", "rater_group", "dimension", "metric", "estimate",
        "ci_low", "ci_high", "p_value", "n_ratings", "n_tasks",
    ),
    "strengths": (
        "rubric", "dataset", "rater_group", "model", "strength", "ci_low", "ci_high", "n_ratings",
        "method_note",
    ),
    "counterfactual_rates": (
        "dataset", "model", "rater_group", "dimension", "ideal_answers_differ", "contents_differ",
        "estimate", "ci_low", "ci_high", "n_reported", "n_ratings",
    ),
    "paired_bias": (
        "dataset", "model", "rater_group", "dimension", "aggregation", "metric", "estimate",
        "ci_low", "ci_high", "n_pairs",
    ),
    "raters": (
        "benchmark", "rubric", "rater_id", "rater_kind", "rater_group", "n_judgements",
        "n_repeats", "duration_s", "median_duration_s", "share_reported",
    ),
}  # fmt: skip


def _figures(
    paths: list[Path],
    names: tuple[str, ...],
    *,
    alpha: float,
    rubric_file: list[Path] | None,
    as_json: bool,
    as_csv: bool,
    nothing: str,
) -> None:
    """Print the first of these tables that has a row."""
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.summaries import RATING_TABLES
    from fairstats.report import terminal

    check_alpha(alpha)
    rubrics = load_rubric_files(rubric_file)
    ratings = read_ratings(paths, rubrics=rubrics)
    for name in names:
        table = RATING_TABLES[name].make(ratings, alpha=alpha, rubrics=rubrics)
        if len(table):
            break
    else:
        raise InputError([Problem(", ".join(map(str, paths)), "hold no such ratings", nothing)])

    def show(whole: Any) -> None:
        shown = whole[list(_SHOWN[name])]
        terminal.print_table(shown.loc[:, shown.notna().any()])

    print_table(table, as_json=as_json, as_csv=as_csv, show=show)


@commands.command()
@says_what_is_wrong
def validate(paths: Ratings, rubric_file: RubricFiles = None) -> None:
    """List every problem of ratings files, or say what they hold."""
    from fairstats.ratings.files import read_ratings

    ratings = read_ratings(paths, rubrics=load_rubric_files(rubric_file))
    for (benchmark, rubric, kind), own in ratings.groupby(["benchmark", "rubric", "rater_kind"]):
        judgements = own[["task_id", "rater_id", "repeat"]].drop_duplicates()
        missing = int(own["value"].isna().sum())
        typer.echo(
            f"{benchmark}, {rubric}: {len(judgements):,} judgements by "
            f"{judgements['rater_id'].nunique():,} raters ({kind}) on "
            f"{judgements['task_id'].nunique():,} tasks; {len(own):,} ratings, {missing:,} missing"
        )


@commands.command()
@says_what_is_wrong
def rates(
    paths: Ratings,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """How often raters report each dimension: of ratings, and of tasks by majority and by any."""
    _figures(
        paths,
        ("bias_rates",),
        alpha=alpha,
        rubric_file=rubric_file,
        as_json=as_json,
        as_csv=as_csv,
        nothing="comparisons of models: `fairstats ratings preferences`",
    )


@commands.command()
@says_what_is_wrong
def agreement(
    paths: Ratings,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """How far raters agree: percent, Randolph, Fleiss, Gwet, Krippendorff."""
    _figures(
        paths,
        ("rater_agreement",),
        alpha=alpha,
        rubric_file=rubric_file,
        as_json=as_json,
        as_csv=as_csv,
        nothing="name ratings of single answers or of counterfactual pairs",
    )


@commands.command()
@says_what_is_wrong
def preferences(
    paths: Ratings,
    strengths: Annotated[
        bool, typer.Option("--strengths", help="Bradley-Terry strengths of the models instead.")
    ] = False,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Which of two models' answers raters prefer, and whether the side mattered."""
    _figures(
        paths,
        ("strengths",) if strengths else ("preferences",),
        alpha=alpha,
        rubric_file=rubric_file,
        as_json=as_json,
        as_csv=as_csv,
        nothing="name ratings by a rubric that compares models, e.g. pairwise",
    )


@commands.command()
@says_what_is_wrong
def pairs(
    paths: Ratings,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Of answers judged alone: one, one or more, both biased."),
    ] = False,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Bias in counterfactual pairs, by whether ideal answers and contents differ."""
    _figures(
        paths,
        ("paired_bias",) if alone else ("counterfactual_rates",),
        alpha=alpha,
        rubric_file=rubric_file,
        as_json=as_json,
        as_csv=as_csv,
        nothing="name ratings by a rubric that compares items (with --alone, those of the single "
        "answers too)",
    )


@commands.command()
@says_what_is_wrong
def raters(
    paths: Ratings,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Each rater's judgements, repeats and time, and how often they report."""
    _figures(
        paths,
        ("raters",),
        alpha=0.05,
        rubric_file=rubric_file,
        as_json=as_json,
        as_csv=as_csv,
        nothing="name a ratings file",
    )


@commands.command()
@says_what_is_wrong
def report(
    paths: Ratings,
    to: Annotated[str, typer.Option(help="html or pdf.")] = "html",
    out: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    title: Annotated[str, typer.Option(help="The report's title.")] = "Ratings",
    alpha: Alpha = 0.05,
    rubric_file: RubricFiles = None,
) -> None:
    """Draw all figures of ratings as one HTML file or PDF, without letter answers beside them."""
    from fairstats.report.ratings_document import report_ratings

    check_alpha(alpha)
    check_one_of("--to", to, ("html", "pdf"))
    drawn = report_ratings(
        paths,
        to=to,  # type: ignore[arg-type]
        out=out,
        title=title,
        alpha=alpha,
        rubrics=load_rubric_files(rubric_file),
    )
    typer.echo(drawn)
