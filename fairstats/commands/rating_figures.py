"""Commands on ratings that are there: checking them, and every figure that they give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    RubricFiles,
    check_alpha,
    load_rubric_files,
    print_table,
    says_what_is_wrong,
)

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.ratings.rubrics import Rubric

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
        "rubric", "dataset", "model", "model_2", "rater_group", "dimension", "coefficient", "level",
        "estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "n_items", "n_repeats",
    ),
    "preferences": (
        "rubric", "dataset", "model", "model_2", "rater_group", "dimension", "metric", "estimate",
        "ci_low", "ci_high", "crossed_low", "crossed_high", "crossed_p_value", "n_ratings",
    ),
    "strengths": (
        "rubric", "dataset", "rater_group", "model", "strength", "ci_low", "ci_high", "n_ratings",
        "method_note",
    ),
    "counterfactual_rates": (
        "dataset", "model", "rater_group", "dimension", "ideal_answers_differ", "contents_differ",
        "estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "n_reported", "n_ratings",
    ),
    "paired_bias": (
        "dataset", "model", "rater_group", "dimension", "aggregation", "metric", "estimate",
        "ci_low", "ci_high", "clustered_low", "clustered_high", "n_pairs",
    ),
    "raters": (
        "benchmark", "rubric", "rater_id", "rater_kind", "rater_group", "n_judgements",
        "n_repeats", "duration_s", "median_duration_s", "share_reported",
    ),
}  # fmt: skip


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


def _only(table: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    """The rows with this value."""
    option = f"--{'group' if column == 'rater_group' else column}"
    there = table[column].dropna().unique().tolist() if column in table else []
    if value not in there:
        named = ", ".join(map(str, there[:20])) or "this table has none"
        raise InputError([Problem(option, f"no row has {value!r}", f"there are: {named}")])
    return table[table[column] == value]


def _main(table: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """All datasets together, where there are several, and the dimensions that are always asked."""
    from fairstats.ratings.pooling import all_datasets

    if "dataset" not in table:
        return table
    table = table[all_datasets(table)]
    if "dimension" in table:
        keys = zip(table["rubric"], table["dimension"], strict=True)
        table = table[[dimension in rubrics[name].leading for name, dimension in keys]]
    return table


def _add(command: str, table: str, said: str, nothing: str) -> None:
    """Add the command that prints one table."""

    @commands.command(command, help=said)
    @says_what_is_wrong
    def figures(
        paths: Ratings,
        rubric: Annotated[str | None, typer.Option(help="Of this rubric alone.")] = None,
        dimension: Annotated[str | None, typer.Option(help="Of this dimension alone.")] = None,
        dataset: Annotated[
            str | None, typer.Option(help="Of this dataset alone; pooled: all together.")
        ] = None,
        group: Annotated[
            str | None, typer.Option(help="Of this group of raters alone; pooled: all together.")
        ] = None,
        whole: Annotated[
            bool, typer.Option("--all", help="Print every row, not the main ones alone.")
        ] = False,
        alpha: Alpha = 0.05,
        as_json: AsJson = False,
        as_csv: AsCsv = False,
        rubric_file: RubricFiles = None,
    ) -> None:
        from fairstats.ratings.files import read_ratings
        from fairstats.ratings.rubrics import load_rubrics
        from fairstats.ratings.summaries import RATING_TABLES
        from fairstats.report import terminal

        check_alpha(alpha)
        rubrics = load_rubric_files(rubric_file)
        ratings = read_ratings(paths, rubrics=rubrics)
        found = RATING_TABLES[table].make(ratings, alpha=alpha, rubrics=rubrics)
        if found.empty:
            where = ", ".join(map(str, paths))
            raise InputError([Problem(where, "hold no such ratings", nothing)])

        wanted = {
            "rubric": rubric,
            "dimension": dimension,
            "dataset": dataset,
            "rater_group": group,
        }
        for column, value in wanted.items():
            if value is not None:
                found = _only(found, column, value)
        asked = whole or any(wanted.values())

        def show(rows: Any) -> None:
            shown = rows if asked else _main(rows, load_rubrics(rows["rubric"].unique(), rubrics))
            columns = shown[list(_SHOWN[table])]
            terminal.print_table(columns.loc[:, columns.notna().any()])
            if len(shown) < len(rows):
                typer.echo(
                    f"{len(shown):,} of {len(rows):,} rows: all datasets together, and what is "
                    "always asked; --all, --dataset, --dimension, --csv give the others",
                    err=True,
                )

        print_table(found, as_json=as_json, as_csv=as_csv, show=show)


_add(
    "rates",
    "bias_rates",
    "How often raters report each dimension: of ratings, of tasks by majority and by any rater.",
    "comparisons of models: `fairstats ratings preferences`",
)
_add(
    "agreement",
    "rater_agreement",
    "How far raters agree: percent, Randolph, Fleiss, Gwet, Krippendorff.",
    "name a ratings file",
)
_add(
    "preferences",
    "preferences",
    "Which of two models' answers raters prefer, and whether the side mattered.",
    "name ratings by a rubric that compares models, e.g. pairwise",
)
_add(
    "strengths",
    "strengths",
    "Bradley-Terry strengths of models that raters compare two by two.",
    "name ratings by a rubric that compares models, e.g. pairwise",
)
_add(
    "pairs",
    "counterfactual_rates",
    "Bias in counterfactual pairs, by whether ideal answers and contents differ.",
    "name ratings by a rubric that compares items, e.g. counterfactual",
)
_add(
    "pairs-alone",
    "paired_bias",
    "The same pairs with each answer judged alone: one, one or more, or both biased.",
    "name ratings of single answers together with those by a rubric that compares items: of one "
    "benchmark, with the same item ids and model",
)
_add(
    "raters",
    "raters",
    "Each rater's judgements, repeats and time, and how often they report.",
    "name a ratings file",
)


@commands.command()
@says_what_is_wrong
def report(
    paths: Ratings,
    to: Annotated[Literal["html", "pdf"], typer.Option(help="The format.")] = "html",
    out: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    title: Annotated[str, typer.Option(help="The report's title.")] = "Ratings",
    alpha: Alpha = 0.05,
    rubric_file: RubricFiles = None,
) -> None:
    """Draw all figures of ratings as one HTML file or PDF, without letter answers beside them."""
    from fairstats.report.ratings_document import report_ratings

    check_alpha(alpha)
    drawn = report_ratings(
        paths,
        to=to,
        out=out,
        title=title,
        alpha=alpha,
        rubrics=load_rubric_files(rubric_file),
    )
    typer.echo(drawn)
