"""Commands on collected ratings: check them, and print every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import input_error, printable
from fairstats.commands._options import Alpha, RubricFiles, load_rubric_files, typed_pairs
from fairstats.commands._shared import Output, print_table, says_what_is_wrong

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.ratings.rubrics import Rubric

commands = typer.Typer()

Ratings = Annotated[
    list[Path], typer.Argument(help="Ratings files, or folders with *.ratings.parquet.")
]

#: The columns shown in a terminal; --json and --csv give all of them.
_SHOWN = {
    "bias_rates": (
        "rubric", "dataset", "model", "rater_group", "dimension", "aggregation", "estimate",
        "ci_low", "ci_high", "crossed_low", "crossed_high", "n_ratings", "n_tasks", "n_raters",
        "n_missing",
    ),
    "rater_agreement": (
        "rubric", "dataset", "model", "model_2", "rater_group", "dimension", "coefficient", "level",
        "estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "n_items", "n_repeats",
    ),
    "preferences": (
        "rubric", "dataset", "model", "model_2", "rater_group", "dimension", "metric", "estimate",
        "ci_low", "ci_high", "crossed_low", "crossed_high", "crossed_p_value", "n_ratings",
        "n_missing",
    ),
    "counterfactual_rates": (
        "dataset", "model", "rater_group", "dimension", "ideal_answers_differ", "contents_differ",
        "estimate", "ci_low", "ci_high", "crossed_low", "crossed_high", "n_reported", "n_ratings",
        "n_missing",
    ),
    "paired_bias": (
        "dataset", "model", "rater_group", "dimension", "aggregation", "metric", "estimate",
        "ci_low", "ci_high", "clustered_low", "clustered_high", "n_pairs",
        "n_pairs_missing",
    ),
}  # fmt: skip


#: The columns of `judged` in a terminal; --json and --csv give all of them.
_JUDGED_SHOWN = (
    "rubric", "dataset", "model", "rater_group", "dimension", "judge", "judge_rate", "judge_bias",
    "estimate", "ci_low", "ci_high", "people_rate", "people_low", "people_high", "correlation",
    "n_people", "n_items",
)  # fmt: skip


@commands.command()
@says_what_is_wrong
def validate(paths: Ratings, rubric_file: RubricFiles = None) -> None:
    """Check ratings files: list every problem, or summarize the content if there are none."""
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
    """Return the rows with this value."""
    option = f"--{'group' if column == 'rater_group' else column}"
    there = table[column].dropna().unique().tolist() if column in table else []
    if value not in there:
        named = ", ".join(map(str, there[:20])) or "none in this table"
        raise input_error(option, f"no row has {value!r}", f"use one of: {named}")
    return table[table[column] == value]


def _main(table: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Return the rows of all datasets together, if several, and of dimensions always asked."""
    from fairstats.ratings.pooling import all_datasets

    table = table[all_datasets(table)]
    keys = zip(table["rubric"], table["dimension"], strict=True)
    return table[[dimension in rubrics[name].leading for name, dimension in keys]]


def _add(command: str, table: str, said: str, nothing: str) -> None:
    """Add the command that prints one table."""

    @commands.command(command, help=said)
    @says_what_is_wrong
    def figures(
        paths: Ratings,
        *,
        rubric: Annotated[str | None, typer.Option(help="Show only this rubric.")] = None,
        dimension: Annotated[str | None, typer.Option(help="Show only this dimension.")] = None,
        dataset: Annotated[
            str | None, typer.Option(help="Show only this dataset, or `pooled` for all together.")
        ] = None,
        group: Annotated[
            str | None,
            typer.Option(help="Show only this rater group, or `pooled` for all together."),
        ] = None,
        whole: Annotated[
            bool, typer.Option("--all", help="Print all rows, not only the main ones.")
        ] = False,
        alpha: Alpha = 0.05,
        output: Output,
        rubric_file: RubricFiles = None,
    ) -> None:
        from fairstats.ratings.files import read_ratings
        from fairstats.ratings.rubrics import load_rubrics
        from fairstats.ratings.summaries import RATING_TABLES
        from fairstats.report import terminal

        rubrics = load_rubric_files(rubric_file)
        ratings = read_ratings(paths, rubrics=rubrics)
        found = RATING_TABLES[table].make(ratings, alpha=alpha, rubrics=rubrics)
        if found.empty:
            raise input_error(", ".join(map(str, paths)), "no such ratings in these files", nothing)

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
                    f"{len(shown):,} of {len(rows):,} rows shown: all datasets pooled, main "
                    "dimensions "
                    "only; use --all, --dataset, --dimension or --csv for the others",
                    err=True,
                )

        print_table(found, output, show)
        _print_directions(found, rubrics)


_add(
    "rates",
    "bias_rates",
    "Show how often raters report each dimension: by rating, by majority and by any rater.",
    "for comparisons of models use `fairstats ratings preferences`",
)
_add(
    "agreement",
    "rater_agreement",
    "Show how well raters agree: percent, Randolph, Fleiss, Gwet, Krippendorff.",
    "give a ratings file",
)
_add(
    "preferences",
    "preferences",
    "Show which of two models' answers raters prefer, and whether the side mattered.",
    "give ratings by a rubric that compares models, e.g. pairwise",
)
_add(
    "pairs",
    "counterfactual_rates",
    "Show bias in counterfactual pairs, by whether ideal answers and contents differ.",
    "give ratings by a rubric that compares items, e.g. counterfactual",
)
_add(
    "pairs-alone",
    "paired_bias",
    "Show the same pairs with each answer judged separately: one, at least one, or both biased.",
    "give ratings of single answers and of pairs of items together: of the same "
    "benchmark, with the same item ids and model",
)


@commands.command()
@says_what_is_wrong
def regression(
    paths: Ratings,
    raters: Annotated[
        Path, typer.Option(help="CSV with rater_id and the raters' characteristics.")
    ],
    covariates: Annotated[
        list[str],
        typer.Option(
            "--covariate",
            help="A column of --raters, or rater_group, dataset or model. Repeatable.",
        ),
    ],
    *,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="COVARIATE=LEVEL to use as the reference level (default: the most common level)."
        ),
    ] = None,
    dimension: Annotated[str, typer.Option(help="Dimension to model.")] = "bias",
    rubric: Annotated[str, typer.Option(help="Name of the rubric.")] = "independent",
    alpha: Alpha = 0.05,
    output: Output,
    rubric_file: RubricFiles = None,
) -> None:
    """Estimate odds ratios of reported bias by rater characteristics, clustered by rater."""
    from fairstats.answers.files import load_table
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.rater_models import rater_regression

    rubrics = load_rubric_files(rubric_file)
    table = rater_regression(
        read_ratings(paths, rubrics=rubrics),
        load_table(raters),
        covariates=covariates,
        reference=typed_pairs("--reference", reference),
        dimension=dimension,
        rubric=rubric,
        alpha=alpha,
        rubrics=rubrics,
    )
    print_table(table, output)
    _print_directions(table.assign(rubric=rubric), rubrics)


@commands.command()
@says_what_is_wrong
def judged(
    paths: Ratings,
    *,
    alpha: Alpha = 0.05,
    output: Output,
    rubric_file: RubricFiles = None,
) -> None:
    """Estimate people's rates from a model's ratings of all items and people's of some.

    The model's errors are measured on the items that both rated, and removed. The items that people
    rated must be a random subset.
    """
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.rates import judged_rates
    from fairstats.report import terminal

    rubrics = load_rubric_files(rubric_file)
    table = judged_rates(read_ratings(paths, rubrics=rubrics), alpha=alpha, rubrics=rubrics)
    if table.empty:
        where = ", ".join(map(str, paths))
        message = "has no ratings by people and by a model of the same benchmark and rubric"
        raise input_error(where, message, "give both: see `fairstats ratings ask`")

    def show(rows: pd.DataFrame) -> None:
        shown = rows[list(_JUDGED_SHOWN)]
        terminal.print_table(shown.loc[:, shown.notna().any()])

    print_table(table, output, show)
    _print_directions(table, rubrics)


@commands.command()
@says_what_is_wrong
def report(
    paths: Ratings,
    to: Annotated[Literal["html", "pdf"], typer.Option(help="Output format.")] = "html",
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, suffix optional (default: ratings.html or ratings.pdf)."),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "Ratings",
    alpha: Alpha = 0.05,
    rubric_file: RubricFiles = None,
) -> None:
    """Write a report of all rating results as one HTML or PDF file. No answers table is needed."""
    from fairstats.report.ratings.page import report_ratings

    drawn = report_ratings(
        paths,
        to=to,
        out=out,
        title=title,
        alpha=alpha,
        rubrics=load_rubric_files(rubric_file),
    )
    typer.echo(drawn)


def _print_directions(table: pd.DataFrame, rubrics: Sequence[Rubric]) -> None:
    """State what each own rubric of a table counts as a report, or as a preference."""
    from fairstats.ratings.rubrics import load_rubrics

    for name, rubric in load_rubrics(table["rubric"].unique(), rubrics).items():
        if direction := rubric.direction:
            typer.echo(printable(f"{name}: {direction}"), err=True)
