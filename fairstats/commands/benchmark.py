"""Commands that propose and check benchmark files."""

from __future__ import annotations

import re
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Note, first_of, input_error, printable
from fairstats.commands._options import TableOptions, import_files, typed_pairs
from fairstats.commands._shared import print_problems, says_what_is_wrong

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.benchmarks.table_layout import Layout

commands = typer.Typer(no_args_is_help=True, help="Propose and check benchmark files.")


@commands.command()
@says_what_is_wrong
def init(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Answer files or folders; or tables of answers as `fairstats import table` reads "
            "them, with its options."
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write (default: NAME.toml in the current folder)."),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="Name of the benchmark, if the answers have several or none."),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(
            help="Name of the attribute, if the table has no such column (default: group, or the "
            "names of the columns of --map group=A+B)."
        ),
    ] = None,
    options: TableOptions,
) -> None:
    """Propose a benchmark file from answers, with comments on what you must decide.

    The layout of a table is recognised: its items, models, groups, answers and keys. Options tell
    what is not. The items are written next to the file, with their keys and clusters if the answers
    have them. Existing files with other content are not replaced.
    """
    from fairstats._lib.safe_names import slug
    from fairstats.answers.files import read_answers
    from fairstats.answers.partial_tables import complete_answers, of_benchmark
    from fairstats.answers.schema import ANSWERS
    from fairstats.benchmarks.authoring import likely_cluster, propose_benchmark
    from fairstats.benchmarks.benchmark_files import write_benchmark
    from fairstats.benchmarks.table_layout import Layout

    if out is not None and out.suffix != ".toml":
        raise input_error("--out", "must be a .toml file", "end the name in .toml", value=str(out))
    is_table = any(vars(options).values()) or not any(
        p.is_dir() or p.suffix == ".parquet" for p in paths
    )
    layout, given = Layout(), options
    if is_table:
        layout = _layout_of(paths, options)
        given = replace(
            options,
            columns=[*(options.columns or []), *map("=".join, layout.columns.items())],
            wide=[*(options.wide or []), *layout.wide],
            values=[*(options.values or []), *layout.values],
        )
    joined = typed_pairs("--map", given.columns).get("group", "").split("+")
    names = [re.sub(r"\W+", "_", name.strip().lower()).strip("_") for name in joined]
    names = list(layout.crossed) or names
    if len(names) > 1:
        attribute = attribute or "_".join(filter(None, names))
    attribute = attribute or layout.attribute
    crossed = {str(attribute): (names[0], names[1])} if len(names) == 2 else {}
    if is_table:
        table = import_files("table", paths, None, {}, given, checked=False)
        if benchmark is None and "benchmark" not in table:
            stem = paths[0].stem if out is None else out.stem
            benchmark = re.sub(r"[\W_]+", "-", stem).strip("-").lower() or "benchmark"
        answers = complete_answers(
            table,
            benchmark=benchmark,
            attribute=attribute,
            source=str(paths[0]),
            crossed=bool(crossed),
        )
    else:
        answers = read_answers(paths)
    answers = of_benchmark(answers, benchmark)
    if out is None:
        out = Path(f"{slug(str(answers['benchmark'].iloc[0]))}.toml")
    source = ", ".join(map(str, paths))
    others = [name for name in answers if name not in ANSWERS.columns]
    cluster = "cluster" if "cluster" in answers else likely_cluster(answers, others)
    field = typed_pairs("--map", options.columns).get("cluster", "cluster")
    if field != "cluster":
        # The benchmark names the column of the file.
        answers = answers.drop(columns=field, errors="ignore").rename(columns={"cluster": field})
        cluster = field
    files = propose_benchmark(
        answers,
        stem=out.stem,
        source=source,
        crossed=crossed,
        cluster=cluster,
        item=_item_word(typed_pairs("--map", given.columns).get("item_id", "")),
    )
    path = write_benchmark(out.parent, files, source=Path(source), items=False)
    typer.echo(printable(str(path)))
    for name in list(files)[:-1]:
        typer.echo(printable(str(out.parent / name)))
    if is_table:
        _print_layout(layout, answers, cluster)
    _print_decisions(path, files[out.name])
    if is_table:
        names_of = {"columns": "--map", "constants": "--set"}
        words = {"--model": ["MODEL"] * (not _names_models(answers, layout, given))}
        sheets = [given.sheet] if given.sheet else []
        words |= {
            names_of.get(name, f"--{name}"): of or []
            for name, of in (vars(given) | {"sheet": sheets}).items()
        }
        _print_next(path, paths, words)


def _layout_of(paths: list[Path], options: TableOptions) -> Layout:
    """Recognise what the options do not tell about a table."""
    from fairstats.benchmarks.table_layout import recognise_layout

    before = replace(options, columns=None, values=None, wide=None)
    with warnings.catch_warnings():
        # The table is read again.
        warnings.simplefilter("ignore", Note)
        table = import_files("table", paths, None, {}, before, checked=False)
    table = table.reset_index(drop=True)
    given = typed_pairs("--map", options.columns)
    layout = recognise_layout(table, columns=given, wide=options.wide or (), source=str(paths[0]))
    told = {value.rpartition("=")[0] for value in options.values or []}
    values = [value for value in layout.values if value.rpartition("=")[0] not in told]
    return replace(layout, values=tuple(values))


def _item_word(column: str) -> str:
    """Return what an item is by the name of its column: a case for "Case no"."""
    named = re.match(r"(?i)(case|question|scenario|stay|encounter|visit|letter)(?![a-z])", column)
    return named[1].lower() if named else "item"


def _names_models(answers: pd.DataFrame, layout: Layout, given: TableOptions) -> bool:
    texts = [*(given.columns or []), *(given.constants or []), *(given.wide or [])]
    named = any(text.startswith("model=") or "{model" in text for text in texts)
    return named or layout.models or set(answers["model"]) != {"model"}


def _print_layout(layout: Layout, answers: pd.DataFrame, cluster: str | None) -> None:
    """Print what each column was taken for, so that a mistake is seen."""
    parts = [f"{column} = {name}" for column, name in layout.columns.items()]
    left_out = dict(layout.left_out)
    if cluster in left_out:
        del left_out[cluster]
        parts.append(f"cluster = {cluster}")
    parts += [f"answers in the columns {template}" for template in layout.wide]
    texts = [value.replace(":", " ", 1).rpartition("=") for value in layout.values]
    parts += [f"{text} = {name} (the baseline)" for text, _, name in texts]
    if parts:
        typer.echo(printable(f"Recognised: {'; '.join(parts)}"), err=True)
    counts = {
        "item": answers["item_id"].nunique(),
        "model": answers["model"].nunique(),
        "prompt": answers["strategy"].nunique(),
        "group": len(answers[["attribute", "group"]].drop_duplicates()),
    }
    shown = ", ".join(counted(count, noun) for noun, count in counts.items())
    names = answers["attribute"].unique()
    named = "" if list(names) != ["group"] else " (--attribute gives it another name)"
    typer.echo(f"Read: {shown}; attribute {', '.join(names)}{named}", err=True)
    if left_out:
        left = first_of([f"{name} ({holds})" for name, holds in left_out.items()], 8)
        remedy = (
            "Give answers with --wide, and other fields with --map, e.g. --map answer_key=FIELD, "
            "or --map answer_raw=FIELD for the replies that the answers were read from."
        )
        typer.echo(printable(f"Not used: {left}. {remedy}"), err=True)


_WEIGHTY = re.compile(
    r"(?:kind|options|favourable|limits|higher|missing|equivalence_margin|cluster|control) ="
    r"|# DECIDE: .* is only one of"
)


def _print_decisions(path: Path, text: str) -> None:
    """Print the values that were proposed and need a decision, with their lines."""
    from fairstats.benchmarks.declaration import NEUTRALIZED

    lines = text.split("\n")
    typer.echo(
        f"Decide the lines with the mark DECIDE in {printable(str(path))}, above all:", err=True
    )
    for number, line in enumerate(lines, start=1):
        if _WEIGHTY.match(line):
            typer.echo(printable(f"  line {number}: {line}"), err=True)
        # Of the baseline there is no other pair.
        elif line == "pairs = [" and f'"{NEUTRALIZED}"' not in lines[number]:
            typer.echo(
                printable(f"  line {number}: pairs, e.g. {lines[number].strip(' ,')}"), err=True
            )


def _print_next(path: Path, paths: list[Path], options: dict[str, list[str]]) -> None:
    """Print the commands that fit the same file."""
    folder = f"answers/{path.stem}"
    words = ["fairstats", "import", "table", *map(str, paths), "--benchmark", str(path)]
    for option, values in options.items():
        for value in values:
            words += [option, value]
    typer.echo("Then run:", err=True)
    typer.echo(f"  fairstats benchmark check {shlex.quote(str(path))}", err=True)
    typer.echo(printable(f"  {shlex.join([*words, '--out', folder])}"), err=True)
    publish = ["fairstats", "publish", "--answers", folder, "--benchmark", str(path)]
    typer.echo(
        printable(f"  {shlex.join([*publish, '--release', '1', '--out', 'site'])}"), err=True
    )
    if options["--model"]:
        typer.echo("Replace MODEL by the model's name.", err=True)


@commands.command()
@says_what_is_wrong
def check(
    file: Annotated[Path, typer.Argument(help="The benchmark's .toml file.")],
) -> None:
    """Check a benchmark file: list every problem, or summarise what it declares."""
    from fairstats.benchmarks.authoring_summary import located, summary
    from fairstats.benchmarks.loading import load_benchmark
    from fairstats.benchmarks.vignette_items import load_items

    try:
        benchmark = load_benchmark(file)
        if benchmark.items_file is not None:
            load_items(benchmark)
    except InputError as error:
        print_problems(located(error.problems, file), err=False)
        raise typer.Exit(1) from None
    for line in summary(benchmark):
        typer.echo(printable(line))
