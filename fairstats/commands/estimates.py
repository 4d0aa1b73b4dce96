"""Commands that estimate, compare and rank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import InputError, Problem, in_lines
from fairstats.answers import MEMORY_LIMIT, Engine
from fairstats.benchmarks.declaration import ComparisonPolicy
from fairstats.commands._importing import (
    From,
    Map,
    Model,
    Set,
    Strategy,
    Values,
    Where,
    Wide,
    import_files,
    refuse_import_options,
)
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    Files,
    Missing,
    Paths,
    check_alpha,
    load_files,
    print_table,
    says_what_is_wrong,
)

if TYPE_CHECKING:
    from fairstats.benchmarks.declaration import Benchmark

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def analyze(
    paths: Paths,
    missing: Missing = None,
    alpha: Alpha = 0.05,
    out: Annotated[
        Path | None, typer.Option(help="File to write the estimates to (.parquet).")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
    engine: Annotated[
        Engine,
        typer.Option(help="Engine that counts the answers; duckdb and spark read only parquet."),
    ] = "pandas",
    adjust: Annotated[
        Literal["holm", "hommel", "bh", "by", "max_t"],
        typer.Option(help="Method for adjusting p-values for multiple tests."),
    ] = "holm",
    memory_limit: Annotated[
        str, typer.Option(help="Maximum memory that DuckDB may use; it writes the rest to disk.")
    ] = MEMORY_LIMIT,
    margin: Annotated[
        float | None,
        typer.Option(help="Equivalence margin, e.g. 0.05 for 5 points; else as declared."),
    ] = None,
    attribute: Annotated[
        list[str] | None, typer.Option(help="Attribute whose rows are shown. Repeatable.")
    ] = None,
    chart: Annotated[
        bool, typer.Option("--chart", help="Draw the intervals of the accuracy differences.")
    ] = False,
    from_: From = None,
    benchmark: Annotated[
        str | None, typer.Option(help="With --from: name or .toml file of the benchmark.")
    ] = None,
    model: Model = None,
    strategy: Strategy = None,
    map_: Map = None,
    set_: Set = None,
    values: Values = None,
    where: Where = None,
    wide: Wide = None,
) -> None:
    """Estimate all metrics and print them as a table, JSON or CSV.

    With --from, the files are another tool's, and are read as `fairstats import` reads them.
    """
    from fairstats.answers.engines import engine_problems, scan_answers
    from fairstats.benchmarks.loading import load_benchmark
    from fairstats.estimates.analyze import analyze as estimate
    from fairstats.estimates.analyze import rows_with
    from fairstats.report.terminal import draw_differences, print_estimates

    check_alpha(alpha)
    if margin is not None and not 0 < margin < 1:
        message, remedy = "must be between 0 and 1", "give a share: 0.05 for 5 percentage points"
        raise InputError([Problem("--margin", message, remedy, value=f"{margin:g}")])
    known = load_files(benchmark_file)
    facts = {"model": model, "strategy": strategy}
    mapped = {"map_": map_, "set_": set_, "values": values, "where": where, "wide": wide}
    with engine_problems(engine):
        if from_ is None:
            refuse_import_options(benchmark=benchmark, **facts, **mapped)
            answers = scan_answers(paths, engine=engine, memory_limit=memory_limit)
        else:
            if engine != "pandas":
                remedy = "remove --engine, or use `fairstats import` first"
                raise InputError([Problem("--from", f"cannot use {engine}", remedy)])
            answers = import_files(from_, paths, benchmark, facts, **mapped)
            if benchmark is not None:
                known.append(load_benchmark(benchmark))
        if engine == "pandas":
            _say_what_is_not_declared(answers, known)
        estimates = estimate(
            answers, missing, alpha, adjust=adjust, benchmarks=known, margin=margin
        )
    try:
        estimates = rows_with(estimates, "attribute", attribute or None)
    except ValueError as error:
        raise InputError([Problem("--attribute", str(error), "correct it")]) from None
    if out is not None:
        if out.suffix != ".parquet":
            raise InputError(
                [Problem(str(out), "must be a .parquet file", "end the name in .parquet")]
            )
        from fairstats.answers.files import write_parquet

        write_parquet(estimates, out)
        typer.echo(f"{len(estimates)} estimates written to {out}", err=True)
    show = draw_differences if chart else print_estimates
    print_table(estimates, as_json=as_json, as_csv=as_csv, show=show)


@commands.command()
@says_what_is_wrong
def compare(
    paths: Paths,
    old: Annotated[str, typer.Option(help="Name of the older model.")],
    new: Annotated[str, typer.Option(help="Name of the newer model.")],
    strategy: Annotated[str, typer.Option(help="Prompting strategy.")] = "plain",
    new_strategy: Annotated[
        str | None,
        typer.Option(help="Prompting strategy of the newer model (default: same as --strategy)."),
    ] = None,
    old_version: Annotated[
        str | None, typer.Option(help="Benchmark version of the older model's answers.")
    ] = None,
    new_version: Annotated[
        str | None, typer.Option(help="Benchmark version of the newer model's answers.")
    ] = None,
    allow_different_items: Annotated[
        bool,
        typer.Option(
            help="Compare answers to different items or versions, and mark every row. "
            "Different versions get no verdict."
        ),
    ] = False,
    missing: Annotated[
        ComparisonPolicy | None,
        typer.Option(
            help="Policy for missing answers (default: common, the pairs that both models "
            "answered)."
        ),
    ] = None,
    alpha: Alpha = 0.05,
    adjust: Annotated[
        Literal["holm", "hommel", "bh", "by"],
        typer.Option(help="Method for adjusting p-values for multiple tests."),
    ] = "holm",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Compare two versions of a model, or two strategies, on the same items.

    An item counts for a pair of groups if both models answered both variants. A pair is win-win if
    accuracy, CFR and AD all improved significantly, whatever the missing answers were.

    Questions without groups are compared by accuracy: one row per benchmark, with gains and losses.
    """
    from fairstats.answers.files import read_answers
    from fairstats.comparisons.compare import compare as compare_answers
    from fairstats.comparisons.compared_sets import answers_of_one
    from fairstats.comparisons.without_groups import compare_correctness, without_groups

    check_alpha(alpha)
    answers = read_answers(paths)
    known = load_files(benchmark_file)
    sides = (
        answers_of_one(answers, "old", old, strategy, old_version),
        answers_of_one(answers, "new", new, new_strategy or strategy, new_version),
    )
    if without_groups({*sides[0]["benchmark"], *sides[1]["benchmark"]}, known):
        if allow_different_items:
            remedy = "remove it; both sides need answers to the same questions"
            message = "is not available for questions without groups"
            raise InputError([Problem("--allow-different-items", message, remedy)])
        table = compare_correctness(
            *sides, missing=missing, alpha=alpha, adjust=adjust, benchmarks=known
        )
    else:
        table = compare_answers(
            *sides,
            missing=missing,
            alpha=alpha,
            adjust=adjust,
            allow_different_items=allow_different_items,
            benchmarks=known,
        )
    print_table(table, as_json=as_json, as_csv=as_csv)


@commands.command()
@says_what_is_wrong
def rank(
    paths: Paths,
    metric: Annotated[
        Literal["ad", "cfr", "accuracy"], typer.Option(help="Metric to rank by.")
    ] = "ad",
    missing: Missing = None,
    alpha: Annotated[
        float, typer.Option(help="Significance level: 1 − simultaneous confidence level.")
    ] = 0.05,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Show which models differ: one row per pair of models.")
    ] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Rank models on the items that all of them were given, with confidence sets for the ranks.

    A model can hold the ranks from rank_low to rank_high. The best rank counts its missing answers
    against it. Models at chance, or with too many missing answers, are listed without a rank.
    """
    from fairstats.answers.files import read_answers
    from fairstats.comparisons.ranking import rank_boards

    check_alpha(alpha)
    if missing == "bounds":
        problem = Problem(
            "--missing", "bounds gives no single estimate to rank by", "choose another policy"
        )
        raise InputError([problem])
    ranking = rank_boards(
        read_answers(paths),
        metric,
        missing=missing,
        alpha=alpha,
        benchmarks=load_files(benchmark_file),
    )
    table = ranking.differences if pairs else ranking.ranks
    print_table(table, as_json=as_json, as_csv=as_csv)


@commands.command()
@says_what_is_wrong
def policies(
    paths: Paths,
    alpha: Alpha = 0.05,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Show all metrics under each of the four policies for missing answers."""
    from fairstats.answers.files import read_answers
    from fairstats.estimates.policy_table import compare_policies

    check_alpha(alpha)
    known = load_files(benchmark_file)
    table = compare_policies(read_answers(paths), alpha=alpha, benchmarks=known)
    if not (as_json or as_csv):
        # The limits and counts of all policies would not fit next to each other.
        table = table[[c for c in table if not c.startswith(("ci_", "n_a", "n_c", "n_i"))]]
        table = table.rename(columns=lambda name: name.removeprefix("estimate_"))
    print_table(table, as_json=as_json, as_csv=as_csv)


def _say_what_is_not_declared(answers: Any, known: list[Benchmark]) -> None:
    """Figures can be computed of answers that no release would take; they are not to be trusted."""
    from fairstats.answers.benchmark_checks import validate_answers

    problems = validate_answers(answers, benchmarks=known)
    if problems:
        line, *more = in_lines(problems)
        typer.echo(f"does not match the benchmark's declaration: {line}", err=True)
        if more:
            typer.echo(f"... and {len(more)} more; `fairstats validate` lists them", err=True)
