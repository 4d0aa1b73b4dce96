"""Commands that look into a gap: its items, models, choices and other columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairstats._lib.formatting import align
from fairstats._lib.problems import InputError, input_error
from fairstats.commands._options import (
    Adjust,
    Alpha,
    Benchmarks,
    Paths,
    check_parquet,
    load_given,
    typed_pairs,
)
from fairstats.commands._shared import Output, print_table, says_what_is_wrong, with_basis

if TYPE_CHECKING:
    import pandas as pd

commands = typer.Typer(
    no_args_is_help=True, help="Explore a gap: its items, its models and the choices behind it."
)


_Counting = Annotated[
    Literal["available", "complete", "incorrect"] | None,
    typer.Option(help="Policy for missing answers (default: the benchmark's policy)."),
]


@commands.command()
@says_what_is_wrong
def items(
    paths: Paths,
    *,
    missing: _Counting = None,
    test: Annotated[
        Literal["exact", "midp"], typer.Option(help="Version of the test of an item.")
    ] = "exact",
    most: Annotated[
        int | None, typer.Option(min=1, help="Number of items to show per pair (default: all).")
    ] = None,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Show which items make up the gap between two groups, over all models.

    The contributions of a pair's items add up to the mean gap of the models.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.item_statistics import item_functioning

    table = item_functioning(
        read_answers(paths),
        missing=missing,
        method=test,
        benchmarks=load_given(benchmark),
    )
    if most is not None:
        pair = ["benchmark", "benchmark_version", "attribute", "group_a", "group_b"]
        table = table.groupby(pair, sort=False).head(most)
    print_table(table, output)


@commands.command()
@says_what_is_wrong
def heterogeneity(
    paths: Paths,
    *,
    missing: _Counting = None,
    alpha: Alpha = 0.05,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Show how much each gap varies between items and between models.

    The limits same_items and new_items predict the gap of a new model.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.item_statistics import gap_heterogeneity

    table = gap_heterogeneity(
        read_answers(paths),
        missing=missing,
        alpha=alpha,
        benchmarks=load_given(benchmark),
    )
    print_table(table, output)


@commands.command()
@says_what_is_wrong
def noise(
    paths: Paths,
    *,
    missing: _Counting = None,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Show which part of each variance comes from repeated samples of the same prompt.

    The column interval_saved is the share of the interval that more samples could save at most.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.sampling_noise import sampling_noise

    table = sampling_noise(read_answers(paths), missing=missing, benchmarks=load_given(benchmark))
    print_table(table, output)


@commands.command()
@says_what_is_wrong
def policies(
    paths: Paths,
    *,
    alpha: Alpha = 0.05,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Show all metrics under each of the four policies for missing answers."""
    from fairstats.answers.files import read_answers
    from fairstats.estimates.specifications import compare_policies

    known = load_given(benchmark)
    table = compare_policies(read_answers(paths), alpha=alpha, benchmarks=known)
    if output.as_text:
        # The limits and counts of all policies would not fit next to each other.
        table = table[[c for c in table if not c.startswith(("ci_", "n_a", "n_c", "n_i"))]]
        table = table.rename(columns=lambda name: name.removeprefix("estimate_"))
    print_table(table, output)


@commands.command()
@says_what_is_wrong
def specifications(
    paths: Paths,
    *,
    by: Annotated[
        Literal["pair", "model"], typer.Option(help="Print one row per pair, or per model.")
    ] = "pair",
    margin: Annotated[
        list[float] | None,
        typer.Option(
            help="Equivalence margin, next to the benchmark's (default: 0.01, 0.02, 0.03 and "
            "0.05). Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write all specifications to (.parquet).")
    ] = None,
    alpha: Alpha = 0.05,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Print how often each verdict holds, over all combinations of policy, interval and test.

    The adjustment, the equivalence margin and the prompt are further choices.
    """
    from fairstats.answers.files import read_answers, write_parquet
    from fairstats.estimates.specifications import (
        MARGINS,
        specification_curve,
        specification_shares,
    )

    for value in margin or ():
        if not 0 < value < 1:
            remedy = "give a share between 0 and 1, e.g. 0.02 for 2 points"
            raise input_error("--margin", f"{value:g} is out of range", remedy)
    check_parquet(out)
    known = load_given(benchmark)
    table = specification_curve(
        read_answers(paths), margin=margin or MARGINS, alpha=alpha, benchmarks=known
    )
    if out is not None:
        write_parquet(table, out)
        typer.echo(f"{len(table)} rows written to {out}", err=True)
    shares = with_basis(specification_shares(table, by=by), known, alpha=alpha)
    print_table(shares, output)


@commands.command()
@says_what_is_wrong
def levels(
    paths: Annotated[
        list[Path],
        typer.Argument(help="A table of scores (.csv, .jsonl, .parquet), or folders of answers."),
    ],
    *,
    column: Annotated[
        str | None,
        typer.Option(help="Column to compare, e.g. prompt or model. Without it, all are listed."),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(help="Column that identifies an item (default: item_id). Repeatable."),
    ] = None,
    score: Annotated[
        str, typer.Option(help="Column of scores; answers need none to compare correctness.")
    ] = "correct",
    match: Annotated[
        list[str] | None,
        typer.Option(help="Column in which compared scores must agree, e.g. group. Repeatable."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=VALUE: use only these rows. Repeatable."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare all levels only with this one.")
    ] = None,
    limits: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible score, e.g. 1 5."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Column of what several items share, e.g. patient; needs --limits."),
    ] = None,
    adjust: Adjust = "holm",
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Make all intervals of differences hold at once.")
    ] = False,
    disagreements: Annotated[
        int | None,
        typer.Option(help="Show this many items whose scores differ most, not the comparison."),
    ] = None,
    alpha: Alpha = 0.05,
    output: Output,
) -> None:
    """Compare the levels of a column, such as prompts or models, on the same items.

    No benchmark is needed. The intervals of means and differences are drawn as text.
    """
    from fairstats.answers.files import load_table, read_answers
    from fairstats.comparisons.levels import compare_levels

    is_table = len(paths) == 1 and paths[0].suffix != "" and not paths[0].is_dir()
    table = load_table(paths[0]) if is_table else read_answers(paths)
    for name, value in typed_pairs("--where", where).items():
        if name not in table:
            remedy = f"choose from: {', '.join(map(str, table.columns))}"
            raise input_error("--where", "there is no such column", remedy, value=name)
        table = table[table[name].astype(str) == value]
    if column is None:
        used = [*(item or ["item_id"]), score]
        several = [name for name in table if name not in used and table[name].nunique() > 1]
        remedy = f"choose from: {', '.join(map(str, several)) or 'none'}"
        raise input_error("--column", "is missing", remedy)
    try:
        found = compare_levels(
            table,
            column,
            item=item or "item_id",
            score=score,
            match=match or (),
            baseline=baseline,
            limits=limits,
            cluster=cluster,
            adjust=adjust,
            simultaneous=simultaneous,
            alpha=alpha,
        )
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        remedy = "see `fairstats explore levels --help`"
        raise input_error("the comparison", str(error), remedy) from None
    if disagreements is not None:
        print_table(found.disagreements(top=disagreements), output, _show)
    else:
        print_table(found.pairs, output, lambda _: typer.echo(found.summary()))


def _show(table: pd.DataFrame) -> None:
    """Print all columns, also those with one value."""
    cells = [[f"{x:g}" if isinstance(x, float) else str(x) for x in row] for row in table.values]
    for line in align([list(map(str, table.columns)), *cells]):
        typer.echo(line)
