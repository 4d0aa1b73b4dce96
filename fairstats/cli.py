"""The command line: each command is a few lines over the API."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from fairstats.benchmarks import MISSING_POLICIES, Benchmark, load_benchmark
from fairstats.engines import ENGINES, MEMORY_LIMIT
from fairstats.problems import InputError, Problem, in_lines

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Statistics and reports for bias benchmarks of language models in medical QA.",
)

# What `analyze` adjusts p-values by; written here, since commands load libraries when they run.
ADJUSTMENTS = ("holm", "hommel", "bh", "by", "max_t")


def _version(wanted: bool) -> None:
    if wanted:
        from fairstats import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Statistics and reports for bias benchmarks of language models in medical QA."""


P = ParamSpec("P")
R = TypeVar("R")

Paths = Annotated[list[Path], typer.Argument(help="Answer files or folders of them.")]
Missing = Annotated[
    str | None,
    typer.Option(help=f"Policy for missing answers: {', '.join(MISSING_POLICIES)}."),
]
Files = Annotated[
    list[Path] | None,
    typer.Option("--benchmark-file", help="A benchmark's .toml that is not built in; repeatable."),
]


def _says_what_is_wrong(command: Callable[P, R]) -> Callable[P, R]:
    """Print an input's problems, one a line, and exit with 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from fairstats.report.builtin import PageError
        from fairstats.report.render import RenderError

        try:
            return command(*args, **kwargs)
        except InputError as error:
            _print_problems(error.problems)
        except (RenderError, PageError) as error:
            typer.echo(str(error), err=True)
        except BrokenPipeError:
            # Whoever read the output has enough of it, as `head` has.
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            raise typer.Exit(0) from None
        except OSError as error:
            message = error.strerror or type(error).__name__
            _print_problems([Problem(str(error.filename), message, "choose another path")])
        raise typer.Exit(1)

    return run


@app.command()
@_says_what_is_wrong
def validate(paths: Paths, benchmark_file: Files = None) -> None:
    """List every problem of answer files, with row, column, value and what to do."""
    from fairstats.validation import validate_files

    problems = validate_files(paths, benchmarks=_benchmarks(benchmark_file))
    if problems:
        _print_problems(problems, err=False)
        raise typer.Exit(1)
    typer.echo("no problem found")


@app.command()
@_says_what_is_wrong
def analyze(
    paths: Paths,
    missing: Missing = None,
    alpha: Annotated[float, typer.Option(help="1 - confidence level.")] = 0.05,
    out: Annotated[Path | None, typer.Option(help="Write the estimates here (.parquet).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    benchmark_file: Files = None,
    engine: Annotated[
        str, typer.Option(help=f"Where to count: {', '.join(ENGINES)}; the last two take parquet.")
    ] = "pandas",
    adjust: Annotated[
        str, typer.Option(help=f"How p-values are adjusted: {', '.join(ADJUSTMENTS)}.")
    ] = "holm",
    memory_limit: Annotated[
        str, typer.Option(help="What DuckDB may hold in memory; it spills the rest to disk.")
    ] = MEMORY_LIMIT,
) -> None:
    """Estimate every figure and print a table, JSON or CSV."""
    from fairstats.analysis import analyze as estimate
    from fairstats.engines import engine_problems, scan_answers
    from fairstats.report.site import estimates_csv, estimates_json

    _check_policy(missing)
    _check_alpha(alpha)
    _check_one_of("--engine", engine, ENGINES)
    _check_one_of("--adjust", adjust, ADJUSTMENTS)
    with engine_problems(engine):  # type: ignore[arg-type]
        answers = scan_answers(paths, engine=engine, memory_limit=memory_limit)  # type: ignore[arg-type]
        if engine == "pandas":
            _say_what_is_not_declared(answers, benchmark_file)
        estimates = estimate(
            answers,
            missing,  # type: ignore[arg-type]
            alpha,
            adjust=adjust,  # type: ignore[arg-type]
            benchmarks=_benchmarks(benchmark_file),
        )
    if out is not None:
        if out.suffix != ".parquet":
            raise InputError(
                [Problem(str(out), "estimates are written as parquet", "end it in .parquet")]
            )
        from fairstats.answers import write_parquet

        write_parquet(estimates, out)
        typer.echo(f"{len(estimates)} estimates in {out}", err=True)
    if as_json:
        typer.echo(estimates_json(estimates), nl=False)
    elif as_csv:
        typer.echo(estimates_csv(estimates), nl=False)
    else:
        from fairstats.report.terminal import print_estimates

        print_estimates(estimates)


@app.command()
@_says_what_is_wrong
def compare(
    paths: Paths,
    old: Annotated[str, typer.Option(help="The older model's name.")],
    new: Annotated[str, typer.Option(help="The newer model's name.")],
    strategy: Annotated[str, typer.Option(help="How the models were asked.")] = "plain",
    new_strategy: Annotated[
        str | None, typer.Option(help="How the newer one was asked, if otherwise.")
    ] = None,
    old_version: Annotated[
        str | None, typer.Option(help="The benchmark version of the older model's answers.")
    ] = None,
    new_version: Annotated[
        str | None, typer.Option(help="The benchmark version of the newer model's answers.")
    ] = None,
    allow_different_items: Annotated[
        bool, typer.Option(help="Compare answers to different questions, and mark every row.")
    ] = False,
    missing: Missing = None,
    alpha: Annotated[float, typer.Option(help="1 - confidence level.")] = 0.05,
    adjust: Annotated[
        str, typer.Option(help=f"How p-values are adjusted: {', '.join(ADJUSTMENTS[:4])}.")
    ] = "holm",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    benchmark_file: Files = None,
) -> None:
    """Compare two versions of a model, or two strategies, on the same items."""
    from fairstats.answers import read_answers
    from fairstats.versions import answers_of_one
    from fairstats.versions import compare as compare_answers

    _check_policy(missing)
    _check_alpha(alpha)
    _check_one_of("--adjust", adjust, ADJUSTMENTS[:4])
    answers = read_answers(paths)
    table = compare_answers(
        answers_of_one(answers, "old", old, strategy, old_version),
        answers_of_one(answers, "new", new, new_strategy or strategy, new_version),
        missing=missing,  # type: ignore[arg-type]
        alpha=alpha,
        adjust=adjust,  # type: ignore[arg-type]
        allow_different_items=allow_different_items,
        benchmarks=_benchmarks(benchmark_file),
    )
    _print_table(table, as_json=as_json, as_csv=as_csv)


@app.command()
@_says_what_is_wrong
def rank(
    paths: Paths,
    metric: Annotated[str, typer.Option(help="What ranks: ad, cfr or accuracy.")] = "ad",
    missing: Missing = None,
    alpha: Annotated[float, typer.Option(help="1 - simultaneous confidence level.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    benchmark_file: Files = None,
) -> None:
    """Rank models: the places (rank_low to rank_high) that their answers leave possible, and tiers.

    Every model of a tier is shown to be better than every model of the next.
    """
    from fairstats.answers import read_answers
    from fairstats.ranking import rank_models

    _check_policy(missing)
    _check_alpha(alpha)
    _check_one_of("--metric", metric, ("ad", "cfr", "accuracy"))
    if missing == "bounds":
        problem = Problem("--missing", "bounds gives no figure to rank by", "name another policy")
        raise InputError([problem])
    table = rank_models(
        read_answers(paths),
        metric,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        alpha=alpha,
        benchmarks=_benchmarks(benchmark_file),
    )
    _print_table(table, as_json=as_json, as_csv=as_csv)


@app.command()
@_says_what_is_wrong
def policies(
    paths: Paths,
    alpha: Annotated[float, typer.Option(help="1 - confidence level.")] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    benchmark_file: Files = None,
) -> None:
    """Show every figure under all four policies for missing answers."""
    from fairstats.answers import read_answers
    from fairstats.policies import compare_policies

    _check_alpha(alpha)
    known = _benchmarks(benchmark_file)
    table = compare_policies(read_answers(paths), alpha=alpha, benchmarks=known)
    if not (as_json or as_csv):
        # The limits and numbers of every policy would not fit beside each other.
        table = table[[c for c in table if not c.startswith(("ci_", "n_a", "n_c", "n_i"))]]
        table = table.rename(columns=lambda name: name.removeprefix("estimate_"))
    _print_table(table, as_json=as_json, as_csv=as_csv)


@app.command()
@_says_what_is_wrong
def verify(
    path: Annotated[Path, typer.Argument(help="A release, or a folder of releases.")],
) -> None:
    """Recompute the hashes, estimates and ranks of a release, and name what differs."""
    from fairstats.verification import verify as verify_releases

    wrong = False
    for found in verify_releases(path):
        if found.problems:
            wrong = True
            _print_problems(found.problems, err=False)
        else:
            typer.echo(
                f"{found.path}: verified {found.files} files, {found.estimates:,} estimates, "
                f"{found.ranks} ranks and {found.comparisons} comparisons"
            )
    if wrong:
        raise typer.Exit(1)


@app.command()
@_says_what_is_wrong
def diff(
    old: Annotated[Path, typer.Argument(help="The older release's folder.")],
    new: Annotated[Path, typer.Argument(help="The newer release's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the figures as CSV.")] = False,
) -> None:
    """Say which answers and figures changed from one release to another, and why."""
    from fairstats.release_diff import diff_releases

    found = diff_releases(old, new)
    if as_json or as_csv:
        _print_table(found.figures, as_json=as_json, as_csv=as_csv)
        return
    _print_table(found.answer_sets, as_json=False, as_csv=False)
    if found.figures.empty:
        typer.echo("no figure moved")
    else:
        _print_table(found.figures, as_json=False, as_csv=False)


def _say_what_is_not_declared(answers: Any, benchmark_file: list[Path] | None) -> None:
    """Figures can be computed of answers that no release would take; they are not to be trusted."""
    from fairstats.validation import validate_answers

    problems = validate_answers(answers, benchmarks=_benchmarks(benchmark_file))
    if problems:
        line, *more = in_lines(problems)
        typer.echo(f"not what the benchmark declares: {line}", err=True)
        if more:
            typer.echo(f"... and {len(more)} more; `fairstats validate` names them", err=True)


def _print_table(table: Any, *, as_json: bool, as_csv: bool) -> None:
    from fairstats.report.site import estimates_csv, estimates_json

    if as_json:
        typer.echo(estimates_json(table), nl=False)
    elif as_csv:
        typer.echo(estimates_csv(table), nl=False)
    else:
        from fairstats.report.terminal import print_table

        print_table(table)


@app.command()
@_says_what_is_wrong
def publish(
    answers: Annotated[list[Path], typer.Option(help="Answer files or folders; repeatable.")],
    release: Annotated[str, typer.Option(help="The release's name, e.g. 2026.11.")],
    out: Annotated[Path, typer.Option(help="The folder of all releases.")],
    renderer: Annotated[str, typer.Option(help="auto, quarto or builtin.")] = "auto",
    missing: Missing = None,
    alpha: Annotated[float, typer.Option(help="1 - confidence level.")] = 0.05,
    benchmark_file: Files = None,
) -> None:
    """Publish answers as an immutable release: answers, estimates, manifest, site and PDF."""
    from fairstats.release import publish as publish_release

    _check_policy(missing)
    _check_alpha(alpha)
    _check_one_of("--renderer", renderer, ("auto", "quarto", "builtin"))
    published = publish_release(
        answers,
        release=release,
        out=out,
        missing=missing,  # type: ignore[arg-type]
        alpha=alpha,
        renderer=renderer,  # type: ignore[arg-type]
        benchmarks=_benchmarks(benchmark_file),
    )
    _print_published(published)


@app.command("import")
@_says_what_is_wrong
def import_answers(
    layout: Annotated[str, typer.Argument(help="The files' layout, e.g. amqa.")],
    files: Annotated[list[Path], typer.Argument(help="Files as they were released, or folders.")],
    out: Annotated[Path, typer.Option(help="Folder for the answers.")],
    model: Annotated[str | None, typer.Option(help="The model that answered.")] = None,
    snapshot: Annotated[str | None, typer.Option(help="Its exact version.")] = None,
    strategy: Annotated[str | None, typer.Option(help="How it was asked.")] = None,
    benchmark_version: Annotated[str | None, typer.Option(help="The set of variants.")] = None,
) -> None:
    """Import released answer files into the answers table, one parquet file an answer set."""
    from fairstats.answers import write_answer_sets

    importer = _plugin("fairstats.importers", layout)
    answers = importer(
        files,
        model=model,
        snapshot=snapshot,
        strategy=strategy,
        benchmark_version=benchmark_version,
    )
    for path in write_answer_sets(answers, out):
        typer.echo(path)


@app.command()
@_says_what_is_wrong
def fetch(
    name: Annotated[str, typer.Argument(help="What to get, e.g. fairmedqa.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the files from this folder instead.")
    ] = None,
) -> None:
    """Get released answer files and verify each by its sha256."""
    fetched = _plugin("fairstats.fetchers", name)(out, source=source)
    for path in fetched.files:
        typer.echo(path)
    for missing in fetched.not_found:
        typer.echo(f"not in {source}: {missing}", err=True)
    typer.echo(f"{len(fetched.files)} files verified", err=True)


@app.command()
@_says_what_is_wrong
def collect(
    model: Annotated[str, typer.Option(help="The model's name, or `embedded`.")],
    out: Annotated[Path, typer.Option(help="Folder for the answers.")],
    benchmark: Annotated[str, typer.Option(help="A benchmark's name or .toml.")] = "demo",
    strategy: Annotated[str, typer.Option(help="How to ask: plain or cot.")] = "plain",
    base_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible server; its key in OPENAI_API_KEY.")
    ] = None,
    benchmark_version: Annotated[str | None, typer.Option(help="The set of variants.")] = None,
    limit: Annotated[int | None, typer.Option(help="Ask the first items only.")] = None,
) -> None:
    """Ask a model every variant of a benchmark's items and keep the replies."""
    path = _plugin("fairstats.collectors", "chat")(
        load_benchmark(benchmark),
        model=model,
        out=out,
        strategy=strategy,
        base_url=base_url,
        benchmark_version=benchmark_version,
        limit=limit,
    )
    typer.echo(path)


@app.command()
@_says_what_is_wrong
def demo(
    out: Annotated[Path, typer.Option(help="The folder of all releases.")] = Path("releases"),
    kept: Annotated[
        Path, typer.Option(help="Where collected and imported answers are kept.")
    ] = Path("answers"),
    answers: Annotated[
        Path | None, typer.Option(help="Publish these answer files instead of asking a model.")
    ] = None,
    renderer: Annotated[str, typer.Option(help="auto, quarto or builtin.")] = "auto",
) -> None:
    """Go the whole way once: the embedded model answers, the answers are published."""
    from fairstats.demo import demo_answers, publish_next, taken_answers

    _check_one_of("--renderer", renderer, ("auto", "quarto", "builtin"))
    if answers is None:
        collector = _plugin("fairstats.collectors", "chat")
        paths = demo_answers(kept / "demo", collector, say=typer.echo)
    else:
        paths = taken_answers(
            answers,
            kept / "imported",
            fetcher=_plugin("fairstats.fetchers", "fairmedqa"),
            importer=_plugin("fairstats.importers", "amqa"),
            say=typer.echo,
        )
    typer.echo("Analysing and publishing ...")
    name = "demo" if answers is None else None
    _print_published(publish_next(paths, name=name, out=out, renderer=renderer))


@app.command()
def schema() -> None:
    """Print the columns of the answers table."""
    from fairstats.schema import answers_schema

    kinds = {"int64": "whole number", "float64": "number"}
    for name, column in answers_schema().columns.items():
        kind = kinds.get(str(column.dtype).lower(), "text")
        needed = "required" if column.required else "optional"
        checks = "; ".join(str(check.error) for check in column.checks)
        empty = ", may be empty" if column.nullable else ""
        typer.echo(f"{name:18} {kind:13} {needed}{empty:15} {checks}".rstrip())


def _benchmarks(files: list[Path] | None) -> list[Benchmark]:
    return [load_benchmark(path) for path in files or []]


def _plugin(group: str, name: str) -> Callable[..., Any]:
    """A collector by its entry point: fairstats itself imports none."""
    found = {entry.name: entry for entry in entry_points(group=group)}
    if name not in found:
        kind = group.removeprefix("fairstats.")
        remedy = f"installed {kind}: {', '.join(sorted(found)) or 'none'}"
        raise InputError([Problem(name, f"is none of the {kind}", remedy)])
    loaded: Callable[..., Any] = found[name].load()
    return loaded


def _check_policy(missing: str | None) -> None:
    if missing is not None:
        _check_one_of("--missing", missing, MISSING_POLICIES)


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 0.5:
        raise InputError([Problem("--alpha", f"{alpha} is no error rate", "below 0.5, e.g. 0.05")])


def _check_one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        remedy = f"use one of {', '.join(allowed)}"
        raise InputError([Problem(option, f"{value!r} is unknown", remedy)])


def _print_problems(problems: Any, *, err: bool = True) -> None:
    for line in in_lines(problems):
        typer.echo(line, err=err)


def _print_published(published: Any) -> None:
    if not published.new:
        typer.echo(f"{published.path} is published already, with the same content")
    typer.echo(f"site: {published.index}")
    typer.echo(f"PDF:  {published.pdf}")


if __name__ == "__main__":
    app()
