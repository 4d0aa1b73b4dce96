"""Commands that estimate, compare, rank and check limits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.problems import in_lines, input_error, printable
from fairstats.answers import MEMORY_LIMIT
from fairstats.benchmarks.declaration import ComparisonPolicy, MissingPolicy
from fairstats.commands._options import (
    Adjust,
    Alpha,
    Benchmarks,
    EngineName,
    MemoryLimit,
    Missing,
    Paths,
    Source,
    check_alpha,
    check_parquet,
    load_given,
    typed_pairs,
)
from fairstats.commands._shared import (
    AsJson,
    Output,
    basis_of,
    print_counts,
    print_table,
    says_what_is_wrong,
    with_basis,
)

if TYPE_CHECKING:
    from fairstats.benchmarks.declaration import Benchmark

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def analyze(
    paths: Paths,
    *,
    missing: Missing = None,
    alpha: Alpha = 0.05,
    out: Annotated[
        Path | None, typer.Option(help="File to write the estimates to (.parquet).")
    ] = None,
    output: Output,
    benchmark: Benchmarks = None,
    engine: EngineName = "pandas",
    adjust: Annotated[
        Literal["holm", "hommel", "bh", "by", "max_t"],
        typer.Option(help="Method for adjusting p-values for multiple tests."),
    ] = "holm",
    memory_limit: MemoryLimit = MEMORY_LIMIT,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Equivalence margin, e.g. 0.05 for 5 points; of levels and scores, in their own "
            "unit. Else as declared."
        ),
    ] = None,
    attribute: Annotated[
        list[str] | None, typer.Option(help="Attribute whose rows are shown. Repeatable.")
    ] = None,
    chart: Annotated[
        bool, typer.Option("--chart", help="Draw the intervals of the differences between groups.")
    ] = False,
    source: Source,
) -> None:
    """Estimate all metrics and print them as a table, JSON or CSV.

    With --from, the files are another tool's, and are read as `fairstats import` reads them.
    """
    from fairstats.answers.engine_frames import open_answers
    from fairstats.answers.engines import engine_problems, scan_answers
    from fairstats.estimates.analyze import analyze as estimate
    from fairstats.estimates.analyze import rows_with
    from fairstats.report.terminal import draw_differences, print_estimates

    check_parquet(out)
    known = load_given(benchmark)
    with engine_problems(engine):
        if source.from_ is not None and engine != "pandas":
            remedy = "remove --engine, or use `fairstats import` first"
            raise input_error("--from", f"cannot use {engine}", remedy)
        scan = partial(scan_answers, engine=engine, memory_limit=memory_limit)
        answers = source.read(paths, benchmark, scan)
        if engine == "pandas":
            _say_what_is_not_declared(answers, known)
        opened = open_answers(answers, known, only_listed=True)
        _check_margin(margin, opened.benchmarks.values())
        estimates = estimate(opened, missing, alpha, adjust=adjust, benchmarks=known, margin=margin)
    try:
        estimates = rows_with(estimates, "attribute", attribute or None)
    except ValueError as error:
        raise input_error("--attribute", str(error), "correct it") from None
    if out is not None:
        from fairstats.answers.files import write_parquet

        write_parquet(estimates, out)
        typer.echo(f"{len(estimates)} estimates written to {out}", err=True)
    show = draw_differences if chart else print_estimates
    table = with_basis(estimates, known, margin, alpha=alpha)
    print_table(table, output, show)
    if engine == "pandas" and output.as_text:
        print_counts(answers, missing_only=True)


def _check_margin(margin: float | None, benchmarks: Iterable[Benchmark]) -> None:
    """Refuse a margin that is not within the largest difference of each benchmark."""
    for benchmark in benchmarks:
        if margin is not None and not 0 < margin < benchmark.span:
            remedy = "give a share: 0.05 for 5 percentage points"
            if benchmark.kind.numeric:
                remedy = f"give {benchmark.kind.unit}"
            message = f"must be between 0 and {benchmark.span:g}"
            raise input_error("--margin", message, remedy, value=f"{margin:g}")


@commands.command()
@says_what_is_wrong
def compare(
    paths: Paths,
    *,
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
    old_snapshot: Annotated[
        str | None,
        typer.Option(help="Exact version of the older model, if several have its name."),
    ] = None,
    new_snapshot: Annotated[
        str | None,
        typer.Option(help="Exact version of the newer model, if several have its name."),
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
            help="Policy for missing answers (default: common, the items that both models "
            "answered for both groups)."
        ),
    ] = None,
    alpha: Alpha = 0.05,
    adjust: Adjust = "holm",
    output: Output,
    benchmark: Benchmarks = None,
    engine: EngineName = "pandas",
    memory_limit: MemoryLimit = MEMORY_LIMIT,
) -> None:
    """Compare two versions of a model, or two strategies, on the same items.

    An item counts for a pair of groups if both models answered both variants. A pair is win-win if
    accuracy, CFR and AD all improved significantly, whatever the missing answers were. Decisions,
    levels and scores have no accuracy here: CFR and the difference between the groups decide.

    Questions without groups have one row per benchmark, with gains and losses.
    """
    from fairstats.answers.engine_frames import open_answers
    from fairstats.answers.engines import engine_problems, scan_answers
    from fairstats.comparisons.compare import answers_of_one, renamed
    from fairstats.comparisons.compare import compare as compare_answers

    wanted = (
        (old, strategy, old_version, old_snapshot),
        (new, new_strategy or strategy, new_version, new_snapshot),
    )
    if wanted[0] == wanted[1]:
        remedy = (
            "name another model, --new-strategy or --new-version. Give snapshots under one name "
            "with --old-snapshot and --new-snapshot"
        )
        raise input_error("--new", "are the answers of --old", remedy, value=new)
    known = load_given(benchmark)
    # The table names the models.
    same_name = old == new and old_snapshot != new_snapshot
    sides = []
    with engine_problems(engine):
        answers = {
            name: scan_answers(paths, engine=engine, memory_limit=memory_limit, snapshot=name)
            for name in dict.fromkeys((old_snapshot, new_snapshot))
        }
        for side, one in zip(("old", "new"), wanted, strict=True):
            own = answers_of_one(answers[one[3]], side, *one[:3])
            if same_name and one[3]:
                own = renamed(own, f"{one[0]} ({one[3]})")
            sides.append(open_answers(own, known, only_listed=True))
        table = compare_answers(
            *sides,
            missing=missing,
            alpha=alpha,
            adjust=adjust,
            allow_different_items=allow_different_items,
            benchmarks=known,
        )
    print_table(with_basis(table, known, alpha=alpha), output)
    if output.as_text and not all(map(_is_released, paths)):
        both = " and ".join(dict.fromkeys((old, new)))
        note = f"{both} are answers from your files, not from a release. "
        note += "They are not screened here; `fairstats screen` does."
        typer.echo(printable(note), err=True)


def _is_released(path: Path) -> bool:
    """Return whether answers are shipped, or in the folder of a release."""
    from fairstats.answers.files import EXAMPLE
    from fairstats.release.contents import MANIFEST

    if not path.exists():
        return str(path) == EXAMPLE
    return any((folder / MANIFEST).is_file() for folder in (path, *path.parents))


@commands.command()
@says_what_is_wrong
def rank(
    paths: Paths,
    *,
    metric: Annotated[
        Literal[
            "ad", "cfr", "accuracy", "selection_disparity", "level_disparity", "score_disparity"
        ]
        | None,
        typer.Option(
            help="Metric to rank by (default: the absolute difference between groups, for choices "
            "ad)."
        ),
    ] = None,
    missing: Missing = None,
    alpha: Annotated[
        float,
        typer.Option(help="Significance level: 1 − simultaneous confidence level."),
        check_alpha,
    ] = 0.05,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Show which models differ: one row per pair of models.")
    ] = False,
    output: Output,
    benchmark: Benchmarks = None,
    engine: EngineName = "pandas",
    memory_limit: MemoryLimit = MEMORY_LIMIT,
) -> None:
    """Rank models on the items that any of them was given, with confidence sets for the ranks.

    A model can hold the ranks from rank_low to rank_high. The best rank counts its missing answers
    against it. Models at chance, or with too many missing answers, are listed without a rank.
    """
    from fairstats.answers.engine_frames import open_answers
    from fairstats.answers.engines import engine_problems, scan_answers
    from fairstats.comparisons.ranking import rank_boards

    known = load_given(benchmark)
    with engine_problems(engine):
        answers = scan_answers(paths, engine=engine, memory_limit=memory_limit)
        ranking = rank_boards(
            open_answers(answers, known, only_listed=True),
            metric,
            missing=missing,
            alpha=alpha,
            benchmarks=known,
        )
    table = ranking.differences if pairs else ranking.ranks
    if output.as_text:
        # It is part of the note.
        table = table.drop(columns="uninformative", errors="ignore")
    print_table(with_basis(table, known, alpha=alpha), output)


def _say_what_is_not_declared(answers: Any, known: list[Benchmark]) -> None:
    """Figures can be computed of answers that no release would take; they are not to be trusted."""
    from fairstats.answers.benchmark_checks import validate_answers

    problems = validate_answers(answers, benchmarks=known)
    if problems:
        line, *more = in_lines(problems)
        typer.echo(f"does not match the benchmark's declaration: {line}", err=True)
        if more:
            typer.echo(f"... and {len(more)} more; `fairstats validate` lists them", err=True)


def _limits(
    option: str, given: list[str] | None, metric: str, value: float | None
) -> dict[str, float]:
    """Return the limits by metric; one metric has an option of its own."""
    limits = {metric: value} if value is not None else {}
    for name, text in typed_pairs(option, given).items():
        if name in limits:
            raise input_error(option, "is given twice", "keep one", value=name)
        try:
            limits[name] = float(text)
        except ValueError:
            raise input_error(option, "is not a number", "give e.g. 0.05", value=text) from None
    return limits


@commands.command()
@partial(says_what_is_wrong, code=2)
def gate(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Answer files, or folders of them; with --from, another tool's files."),
    ],
    *,
    max_ad: Annotated[
        float | None,
        typer.Option(help="AD must be below this in every pair, e.g. 0.05 for 5 points."),
    ] = None,
    largest: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            metavar="METRIC=VALUE",
            help="Figure that must be below a value in every pair, e.g. level_difference=0.1; "
            "differences count by their absolute value. Repeatable.",
        ),
    ] = None,
    smallest: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="METRIC=VALUE",
            help="Figure that must be above a value in every pair, e.g. selection_ratio=0.8. "
            "Repeatable.",
        ),
    ] = None,
    equivalent: Annotated[
        bool,
        typer.Option(
            "--equivalent",
            help="The absolute difference between groups (for choices AD) must be below the "
            "equivalence margin in every pair.",
        ),
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
        list[str] | None,
        typer.Option(
            help="Name or .toml file of the benchmark that every answer must be to. Repeatable."
        ),
    ] = None,
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
    source: Source,
    as_json: AsJson = False,
) -> None:
    """Check that answers keep limits, and exit with 0 (pass), 1 (not passed) or 2 (wrong input).

    Every declared pair of every answer set must pass every check. "Cannot tell" is not a pass.
    Reasons are too few items, missing answers or groups, and answers no better than a guess.
    """
    from fairstats._lib.table_text import json_text, records
    from fairstats.answers.files import read_answers
    from fairstats.estimates.gate import CANNOT_TELL, FAIL, PASS, gate_lines, only_to
    from fairstats.estimates.gate import gate as check
    from fairstats.estimates.limits import Limits

    answers = source.read(paths, benchmark, read_answers)
    known = load_given(benchmark)
    if known:
        only_to(answers, known)
    table = check(
        answers,
        Limits(
            largest=_limits("--max", largest, "ad", max_ad),
            smallest=_limits("--min", smallest, "cfr", min_cfr),
            equivalent=equivalent,
            margin=margin,
        ),
        attributes=attribute or (),
        missing=missing,
        alpha=alpha,
        benchmarks=known,
    )
    passed, found = int(table["result"].eq(PASS).sum()), set(table["result"])
    basis = basis_of(table, known, margin if equivalent else None, attribute, alpha=alpha)
    result = next(one for one in (FAIL, CANNOT_TELL, PASS) if one in found)
    if as_json:
        checks = {"result": result, "benchmarks": basis, "checks": records(table)}
        typer.echo(json_text(checks), nl=False)
    else:
        for name, text in basis.items():
            typer.echo(printable(f"{name}: {text}"))
        for line in gate_lines(table, known):
            typer.echo(line)
        typer.echo(f"{result}: {passed} of {len(table)} checks passed")
    if result != PASS:
        raise typer.Exit(1)
