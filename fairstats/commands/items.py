"""Commands on the items and models behind a gap."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    Files,
    Paths,
    check_alpha,
    load_files,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()

_Counting = Annotated[
    Literal["available", "complete", "incorrect"] | None,
    typer.Option(help="Policy for missing answers (default: the benchmark's policy)."),
]


@commands.command()
@says_what_is_wrong
def items(
    paths: Paths,
    missing: _Counting = None,
    test: Annotated[
        Literal["exact", "midp"], typer.Option(help="Version of the test of an item.")
    ] = "exact",
    most: Annotated[
        int | None, typer.Option(min=1, help="Number of items to show per pair (default: all).")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Show which items make up the gap between two groups, over all models.

    The contributions of a pair's items add up to the mean gap of the models.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.item_functioning import item_functioning

    table = item_functioning(
        read_answers(paths),
        missing=missing,
        method=test,
        benchmarks=load_files(benchmark_file),
    )
    if most is not None:
        pair = ["benchmark", "benchmark_version", "attribute", "group_a", "group_b"]
        table = table.groupby(pair, sort=False).head(most)
    print_table(table, as_json=as_json, as_csv=as_csv)


@commands.command()
@says_what_is_wrong
def heterogeneity(
    paths: Paths,
    missing: _Counting = None,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Show how much each gap varies between items and between models.

    The limits same_items and new_items predict the gap of a new model.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.gap_heterogeneity import gap_heterogeneity

    check_alpha(alpha)
    table = gap_heterogeneity(
        read_answers(paths),
        missing=missing,
        alpha=alpha,
        benchmarks=load_files(benchmark_file),
    )
    print_table(table, as_json=as_json, as_csv=as_csv)


@commands.command()
@says_what_is_wrong
def noise(
    paths: Paths,
    missing: _Counting = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Show which part of each variance comes from repeated samples of the same prompt.

    The column interval_saved is the share of the interval that more samples could save at most.
    """
    from fairstats.answers.files import read_answers
    from fairstats.estimates.sampling_noise import sampling_noise

    table = sampling_noise(
        read_answers(paths), missing=missing, benchmarks=load_files(benchmark_file)
    )
    print_table(table, as_json=as_json, as_csv=as_csv)
