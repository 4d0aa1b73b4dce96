"""The command for continuous checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats.benchmarks.declaration import MissingPolicy
from fairstats.commands._importing import (
    From,
    Map,
    Model,
    Set,
    Strategy,
    Values,
    Where,
    Wide,
    read_given,
)
from fairstats.commands._shared import AsJson, Files, exits_on_problems, load_files

commands = typer.Typer()


@commands.command()
@exits_on_problems(2)
def gate(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Answer files, or folders of them; with --from, another tool's files."),
    ],
    max_ad: Annotated[
        float | None,
        typer.Option(help="AD must be below this in every pair, e.g. 0.05 for 5 points."),
    ] = None,
    equivalent: Annotated[
        bool,
        typer.Option("--equivalent", help="AD must be below the equivalence margin in every pair."),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="Margin of --equivalent (default: the benchmark's margin)."),
    ] = None,
    min_cfr: Annotated[
        float | None, typer.Option(help="CFR must be above this in every pair, e.g. 0.9.")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(help="Attribute to check (default: all of the benchmark). Repeatable."),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="Name or .toml file of the benchmark that every answer must be to."),
    ] = None,
    benchmark_file: Files = None,
    missing: Annotated[
        MissingPolicy | None,
        typer.Option(
            help="Policy for the figures (default: the benchmark's policy). "
            "Every policy checks the bounds over missing answers."
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(help="Level: probability that a pair beyond its limit passes the check."),
    ] = 0.05,
    from_: From = None,
    model: Model = None,
    strategy: Strategy = None,
    map_: Map = None,
    set_: Set = None,
    values: Values = None,
    where: Where = None,
    wide: Wide = None,
    as_json: AsJson = False,
) -> None:
    """Check that answers keep limits, and exit with 0 (pass), 1 (not passed) or 2 (wrong input).

    Every declared pair of every answer set must pass every check. "Cannot tell" is not a pass.
    Reasons are too few items, missing answers or groups, and answers no better than a guess.
    """
    from fairstats._lib.table_text import json_text, records
    from fairstats.benchmarks.loading import load_benchmark
    from fairstats.estimates.gate import CANNOT_TELL, FAIL, PASS, Limits, gate_lines, only_to
    from fairstats.estimates.gate import gate as check

    answers = read_given(
        paths,
        from_,
        benchmark,
        {"model": model, "strategy": strategy},
        map_=map_,
        set_=set_,
        values=values,
        where=where,
        wide=wide,
    )
    known = load_files(benchmark_file)
    if benchmark is not None:
        known.append(load_benchmark(benchmark))
        only_to(answers, known[-1])
    table = check(
        answers,
        Limits(max_ad=max_ad, equivalent=equivalent, margin=margin, min_cfr=min_cfr),
        attributes=attribute or (),
        missing=missing,
        alpha=alpha,
        benchmarks=known,
    )
    passed, found = int(table["result"].eq(PASS).sum()), set(table["result"])
    result = next(one for one in (FAIL, CANNOT_TELL, PASS) if one in found)
    if as_json:
        typer.echo(json_text({"result": result, "checks": records(table)}), nl=False)
    else:
        for line in gate_lines(table):
            typer.echo(line)
        typer.echo(f"{result}: {passed} of {len(table)} checks passed")
    if result != PASS:
        raise typer.Exit(1)
