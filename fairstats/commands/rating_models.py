"""Commands on who rates: regression on demographics, raters' errors, and planning a study."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import POOLED
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
from fairstats.commands.rating_figures import Ratings

if TYPE_CHECKING:
    import pandas as pd

commands = typer.Typer()

#: The columns of `judged` in a terminal; --json and --csv give all of them.
_JUDGED_SHOWN = (
    "rubric", "dataset", "model", "rater_group", "dimension", "judge", "judge_rate", "judge_bias",
    "estimate", "ci_low", "ci_high", "people_rate", "people_low", "people_high", "correlation",
    "n_people", "n_items",
)  # fmt: skip


@commands.command()
@says_what_is_wrong
def regression(
    paths: Ratings,
    raters: Annotated[
        Path, typer.Option(help="CSV with rater_id and the raters' characteristics.")
    ],
    covariate: Annotated[
        list[str],
        typer.Option(help="A column of --raters, or rater_group, dataset or model. Repeatable."),
    ],
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="COVARIATE=LEVEL to use as the reference level (default: the most common level)."
        ),
    ] = None,
    dimension: Annotated[str, typer.Option(help="Dimension to model.")] = "bias",
    rubric: Annotated[str, typer.Option(help="Name of the rubric.")] = "independent",
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Estimate odds ratios of reported bias by rater characteristics, clustered by rater."""
    from fairstats.answers.files import load_table
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.rater_models import rater_regression

    check_alpha(alpha)
    rubrics = load_rubric_files(rubric_file)
    references = {}
    for text in reference or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(
                [Problem("--reference", f"{text!r} is not COVARIATE=LEVEL", "give both parts")]
            )
        references[name] = value
    table = rater_regression(
        read_ratings(paths, rubrics=rubrics),
        load_table(raters),
        covariates=covariate,
        reference=references,
        dimension=dimension,
        rubric=rubric,
        alpha=alpha,
        rubrics=rubrics,
    )
    print_table(table, as_json=as_json, as_csv=as_csv)


@commands.command()
@says_what_is_wrong
def errors(
    paths: Ratings,
    dimension: Annotated[str, typer.Option(help="Dimension to model.")] = "bias",
    benchmark: Annotated[str | None, typer.Option(help="Benchmark, if there are several.")] = None,
    rubric: Annotated[str | None, typer.Option(help="Rubric, if there are several.")] = None,
    rater_kind: Annotated[
        Literal["person", "model"],
        typer.Option(help="Kind of rater: persons or models, never both."),
    ] = "person",
    items: Annotated[
        bool,
        typer.Option(
            "--items", help="Print the categories of the items, not the errors of the raters."
        ),
    ] = False,
    smoothing: Annotated[float, typer.Option(help="Number of ratings to add to each cell.")] = 0.0,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Estimate each rater's error rates by true category, with Dawid and Skene's model."""
    from fairstats.ratings.dawid_skene import dawid_skene
    from fairstats.ratings.files import read_ratings

    ratings = read_ratings(paths, rubrics=load_rubric_files(rubric_file))
    ratings = ratings[(ratings["rater_kind"] == rater_kind) & (ratings["dimension"] == dimension)]
    where = ", ".join(map(str, paths))
    for option, value in (("benchmark", benchmark), ("rubric", rubric)):
        ratings = ratings if value is None else ratings[ratings[option] == value]
        several = ratings[option].unique()
        if len(several) > 1:
            message = f"contains several: {', '.join(several)}"
            raise InputError([Problem(where, message, f"choose one with --{option}")])
    if ratings.empty:
        message = "contains no such ratings"
        raise InputError([Problem(where, message, "see `fairstats ratings validate`")])
    try:
        found = dawid_skene(ratings, dimension=dimension, smoothing=smoothing)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        remedy = "see `fairstats ratings errors --help`"
        raise InputError([Problem(where, str(error), remedy)]) from None
    print_table(found.items if items else found.raters, as_json=as_json, as_csv=as_csv)
    if found.note:
        typer.echo(found.note, err=True)


@commands.command()
@says_what_is_wrong
def plan(
    width: Annotated[float, typer.Option(help="Target width of the interval of the rate.")],
    rate: Annotated[float | None, typer.Option(help="Expected rate.")] = None,
    pilot: Annotated[
        list[Path] | None,
        typer.Option(
            help="Pilot ratings, to estimate the rate and the variances of items and raters."
        ),
    ] = None,
    dimension: Annotated[str, typer.Option(help="Dimension of the pilot to use.")] = "bias",
    rubric: Annotated[
        str | None, typer.Option(help="Rubric of the pilot to use, if it has several.")
    ] = None,
    raters_per_item: Annotated[int, typer.Option(help="Number of raters per item.")] = 3,
    item_icc: Annotated[
        float | None, typer.Option(help="Share of the variance between items.")
    ] = None,
    rater_icc: Annotated[
        float | None, typer.Option(help="Share of the variance between raters.")
    ] = None,
    raters: Annotated[int | None, typer.Option(help="Number of raters available.")] = None,
    ratings_per_rater: Annotated[
        int | None, typer.Option(help="Number of items that each rater judges.")
    ] = None,
    judge_correlation: Annotated[
        float | None,
        typer.Option(help="Correlation of a judge with people. Plans how many items people rate."),
    ] = None,
    judged_items: Annotated[
        int | None, typer.Option(help="With --judge-correlation: items that the judge rates.")
    ] = None,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Plan how many items and raters are needed for an interval of a given width."""
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.pilot import design_from
    from fairstats.ratings.planner import plan_ratings

    check_alpha(alpha)
    if pilot:
        rubrics = load_rubric_files(rubric_file)
        design = design_from(read_ratings(pilot, rubrics=rubrics), rubrics=rubrics)
        whole = _whole(design, dimension, rubric, ", ".join(map(str, pilot)))
        rate = float(whole["rate"]) if rate is None else rate
        item_icc = _known(whole["item_icc"]) if item_icc is None else item_icc
        rater_icc = _known(whole["rater_icc"]) if rater_icc is None else rater_icc
    if rate is None:
        raise InputError([Problem("--rate", "is missing", "give it, or give --pilot")])
    if judge_correlation is not None or judged_items is not None:
        given = [
            option
            for option, value in (("--raters", raters), ("--ratings-per-rater", ratings_per_rater))
            if value is not None
        ]
        if given:
            remedy = "plan a judge or raters, not both"
            raise InputError([Problem(given[0], "is not used with --judge-correlation", remedy)])
        table = _plan_judged(rate, width, judge_correlation, judged_items, alpha)
        print_table(table, as_json=as_json, as_csv=as_csv)
        return
    try:
        found = plan_ratings(
            rate=rate,
            width=width,
            raters_per_item=raters_per_item,
            item_icc=item_icc or 0.0,
            rater_icc=rater_icc,
            n_raters=raters,
            ratings_per_rater=ratings_per_rater,
            alpha=alpha,
        )
    except ValueError as error:
        said = str(error).replace("n_raters", "--raters").replace("_per_", "-per-")
        said = re.sub(r"\b(ratings-per-rater|raters-per-item)\b", r"--\1", said)
        remedy = "see `fairstats ratings plan --help`"
        raise InputError([Problem("the plan", said, remedy)]) from None
    table = found.to_frame()
    whole = ("n_items", "n_raters", "n_ratings", "raters_per_item", "least_raters")
    table = table.astype(dict.fromkeys(whole, "Int64"))
    print_table(table, as_json=as_json, as_csv=as_csv)
    if math.isnan(float(found.n_items)):
        least = float(found.least_raters)
        typer.echo(
            f"{raters} raters are too few for any number of items; use at least {least:.0f}",
            err=True,
        )


def _plan_judged(
    rate: float, width: float, correlation: float | None, items: int | None, alpha: float
) -> pd.DataFrame:
    """Return the plan of how many items people rate if a judge rates all."""
    from fairstats.ratings.judge_planner import plan_judged

    for option, value in (("--judge-correlation", correlation), ("--judged-items", items)):
        if value is None:
            raise InputError([Problem(option, "is missing", "give both, or neither")])
    assert correlation is not None
    assert items is not None
    try:
        found = plan_judged(
            rate=rate, width=width, correlation=correlation, n_items=items, alpha=alpha
        )
    except ValueError as error:
        said = str(error).replace("n_items", "--judged-items")
        remedy = "see `fairstats ratings plan --help`"
        raise InputError([Problem("the plan", said, remedy)]) from None
    if math.isnan(float(found.n_people)):
        typer.echo("even all items are too few for this width; add items", err=True)
    return found.to_frame().astype({"n_people": "Int64", "n_people_alone": "Int64"})


@commands.command()
@says_what_is_wrong
def judged(
    paths: Ratings,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    rubric_file: RubricFiles = None,
) -> None:
    """Estimate people's rates from a model's ratings of all items and people's of some.

    The model's errors are measured on the items that both rated, and removed. The items that people
    rated must be a random subset.
    """
    from fairstats.ratings.files import read_ratings
    from fairstats.ratings.judged_rates import judged_rates
    from fairstats.report import terminal

    check_alpha(alpha)
    rubrics = load_rubric_files(rubric_file)
    table = judged_rates(read_ratings(paths, rubrics=rubrics), alpha=alpha, rubrics=rubrics)
    if table.empty:
        where = ", ".join(map(str, paths))
        message = "has no ratings by people and by a model of the same benchmark and rubric"
        remedy = "give both: see `fairstats ratings ask`"
        raise InputError([Problem(where, message, remedy)])

    def show(rows: pd.DataFrame) -> None:
        shown = rows[list(_JUDGED_SHOWN)]
        terminal.print_table(shown.loc[:, shown.notna().any()])

    print_table(table, as_json=as_json, as_csv=as_csv, show=show)


def _whole(design: pd.DataFrame, dimension: str, rubric: str | None, where: str) -> pd.Series:
    """Return a pilot's figures for a dimension, with all datasets and groups together."""
    own = design[(design["dimension"] == dimension) & (design["rater_kind"] == "person")]
    if rubric is not None:
        own = own[own["rubric"] == rubric]
    if own.empty:
        which = "dimension" if rubric is None else f"rubric {rubric} and dimension"
        message = f"has no ratings by people for the {which} {dimension}"
        raise InputError([Problem(where, message, "choose another with --dimension or --rubric")])
    several = own[["benchmark", "rubric"]].drop_duplicates()
    if len(several) > 1:
        named = "; ".join(f"{row.benchmark}, {row.rubric}" for row in several.itertuples())
        remedy = "choose one with --rubric, or give only one file"
        raise InputError([Problem(where, f"contains several studies: {named}", remedy)])
    for column in ("dataset", "rater_group"):
        if (own[column] == POOLED).any():
            own = own[own[column] == POOLED]
    found = own.iloc[0]
    typer.echo(
        f"from the pilot: {found['benchmark']}, {found['rubric']}, {dimension}, dataset "
        f"{found['dataset']}, raters {found['rater_group']}",
        err=True,
    )
    return found


def _known(share: float) -> float:
    """Return a share of the variance, or 0 if the pilot does not give it."""
    return 0.0 if share != share else float(share)
