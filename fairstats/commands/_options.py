"""Declare the options that several commands share, and read their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairstats._lib.installation import resource
from fairstats._lib.problems import input_error, parameter, printable
from fairstats.answers import Engine
from fairstats.benchmarks.declaration import MissingPolicy
from fairstats.commands._shared import plugin, plugins

if TYPE_CHECKING:
    import pandas as pd

    from fairstats.benchmarks import declaration
    from fairstats.ratings.rubrics import Rubric

Pairs = list[str] | None
Paths = Annotated[list[Path], typer.Argument(help="Answer files, or folders of answer files.")]
Missing = Annotated[
    MissingPolicy | None,
    typer.Option(help="Policy for missing answers (default: the benchmark's policy)."),
]
BenchmarkName = Annotated[str, typer.Option(help="Name or .toml file of the benchmark.")]
Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark", help="Name or .toml file of a benchmark, if it is not built in. Repeatable."
    ),
]
BenchmarkVersion = Annotated[
    str | None,
    typer.Option(help="Version of the benchmark's vignettes (default: the only one)."),
]
Adjust = Annotated[
    Literal["holm", "hommel", "bh", "by"],
    typer.Option(help="Method for adjusting p-values for multiple tests."),
]
RubricFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--rubric-file", help="The .toml file of a rubric that is not built in. Repeatable."
    ),
]
Raters = Annotated[
    Path,
    typer.Option(
        help="CSV with rater_id, rater_group and optionally max_tasks. Use pseudonyms as ids: "
        "they are published with the ratings."
    ),
]
Limit = Annotated[
    int | None, typer.Option(help="Number of items to use, from the first (default: all).")
]
ReleaseFolder = Annotated[
    Path, typer.Option(help="Folder of a release, or the name of one in `site/`.")
]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine", help="Engine that counts the answers; duckdb and spark read only parquet."
    ),
]
MemoryLimit = Annotated[
    str, typer.Option(help="Maximum memory that DuckDB may use; it writes the rest to disk.")
]


def check_alpha(alpha: float) -> None:
    """Refuse what is probably a confidence level."""
    if not 0 < alpha < 0.5:
        remedy = "give a number above 0 and below 0.5, e.g. 0.05"
        raise input_error("--alpha", f"{alpha} is out of range", remedy)


Alpha = Annotated[
    float, typer.Option(help="Significance level: 1 − confidence level."), check_alpha
]


def load_given(benchmarks: list[str] | None) -> list[declaration.Benchmark]:
    """Load the benchmarks of ``--benchmark``; say which still have decisions to make."""
    from fairstats.benchmarks.authoring_summary import open_decisions
    from fairstats.benchmarks.loading import load_benchmark

    loaded = [load_benchmark(benchmark) for benchmark in benchmarks or []]
    for given, benchmark in zip(benchmarks or [], loaded, strict=True):
        if given.endswith(".toml") and (marked := open_decisions(benchmark)):
            several = "decisions" if marked > 1 else "decision"
            note = (
                f"{given}: {marked} {several} still marked DECIDE; see `fairstats benchmark check`"
            )
            typer.echo(printable(note), err=True)
    return loaded


def load_rubric_files(files: list[Path] | None) -> list[Rubric]:
    from fairstats.ratings.rubrics import load_rubric

    return [load_rubric(path) for path in files or []]


def check_parquet(out: Path | None) -> None:
    if out is not None and out.suffix != ".parquet":
        raise input_error(out, "must be a .parquet file", "end the name in .parquet")


def typed_pairs(option: str, texts: Pairs) -> dict[str, str]:
    """Return the pairs of an option given as NAME=VALUE any number of times."""
    pairs: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise input_error(option, f"must be NAME=VALUE, not {text!r}", "give both parts")
        if name in pairs:
            raise input_error(option, "is given twice", "keep one", value=name)
        pairs[name] = value
    return pairs


BaseUrl = Annotated[
    str | None,
    typer.Option(help="URL of an OpenAI-compatible server. Its key is read from OPENAI_API_KEY."),
]
Timeout = Annotated[
    float, typer.Option(help="Seconds to wait for a reply before repeating the request.")
]
Retries = Annotated[int, typer.Option(help="Maximum number of times to repeat a request.")]
KeepFailures = Annotated[
    bool,
    typer.Option("--keep-failures", help="Do not repeat requests that failed in an earlier run."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show what would be sent and the estimated cost. Send no request."
    ),
]


@dataclass(frozen=True)
class Requests:
    """The options for requests to a model."""

    base_url: BaseUrl = None
    max_tokens: Annotated[int | None, typer.Option(help="Maximum number of tokens in a reply.")] = (
        None
    )
    temperature: Annotated[
        float, typer.Option(help="Sampling temperature, if the service accepts one.")
    ] = 0.0
    concurrency: Annotated[int, typer.Option(help="Number of requests to run at once.")] = 8
    rpm: Annotated[
        int | None, typer.Option(help="Maximum number of requests per minute (default: no limit).")
    ] = None
    tpm: Annotated[
        int | None, typer.Option(help="Maximum number of tokens per minute (default: no limit).")
    ] = None
    price: Annotated[
        str | None,
        typer.Option(help="Price in dollars per million tokens, as PROMPT,COMPLETION."),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(help="Stop before the cost exceeds this many dollars (default: no limit)."),
    ] = None
    timeout: Timeout = 120.0
    retries: Retries = 5
    keep_failures: KeepFailures = False
    batch: Annotated[
        bool, typer.Option("--batch", help="Send the requests through the service's Batch API.")
    ] = False
    dry_run: DryRun = False

    def arguments(self) -> dict[str, Any]:
        """Return them as the functions that send requests take them."""
        price = None if self.price is None else read_price(self.price)
        return asdict(self) | {"price": price}


@contextmanager
def stoppable() -> Iterator[None]:
    """Exit with 130 if the user stops a campaign, and print its last message."""
    try:
        yield
    except KeyboardInterrupt as interrupted:
        typer.echo(str(interrupted) or "interrupted", err=True)
        raise typer.Exit(130) from None


def read_price(text: str) -> tuple[float, float]:
    """Dollars for a million tokens of prompt and of completion."""
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = -1.0
    if not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
        remedy = "write the dollars per million tokens of prompt and of completion, e.g. 2,8"
        raise input_error("--price", f"{text!r} is not a price", remedy)
    return prompt, completion


@cache
def layouts() -> str:
    """List the known formats. Typer evaluates a help text several times in each command."""
    mappings = [path.stem for path in resource("data", "importers").glob("*.toml")]
    return ", ".join(sorted({*plugins("fairstats.importers"), *mappings}))


Model = Annotated[str | None, typer.Option(help="Name of the model that gave the answers.")]
Strategy = Annotated[str | None, typer.Option(help="Prompting strategy.")]


@dataclass(frozen=True)
class TableOptions:
    """The options that describe the tables of another tool."""

    columns: Annotated[
        Pairs,
        typer.Option("--map", help="COLUMN=FIELD: fill a column from this field. Repeatable."),
    ] = None
    constants: Annotated[
        Pairs,
        typer.Option(
            "--set", help="COLUMN=VALUE: set a column to this value in every row. Repeatable."
        ),
    ] = None
    values: Annotated[
        Pairs,
        typer.Option(help="COLUMN:THEIRS=OURS: replace a value in the files by ours. Repeatable."),
    ] = None
    where: Annotated[
        Pairs, typer.Option(help="FIELD=VALUE: import only records with this value. Repeatable.")
    ] = None
    split: Annotated[
        Pairs,
        typer.Option(
            help="FIELD=TEMPLATE: split a field into others, e.g. variant={attribute}_{group}. "
            "Repeatable."
        ),
    ] = None
    wide: Annotated[
        Pairs,
        typer.Option(
            help="For tables with a column per group: the column of each group's answers, e.g. "
            "white=ColumnA,black=ColumnB or sex:male=ColumnC,female=ColumnD, or a template of "
            "these columns, e.g. {model}_{group}_answer. Repeatable."
        ),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(help="Sheet of a workbook (default: the first one).")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return them as importers take them."""
        given = {
            "columns": typed_pairs("--map", self.columns),
            "constants": typed_pairs("--set", self.constants),
            "values": _values(self.values),
            "where": typed_pairs("--where", self.where),
            "split": typed_pairs("--split", self.split),
            "wide": _wide(self.wide),
        }
        return given | ({} if self.sheet is None else {"sheet": self.sheet})


def import_files(
    layout: str,
    files: Iterable[Path],
    benchmark: str | None,
    facts: dict[str, str | None],
    table: TableOptions,
    **more: Any,
) -> pd.DataFrame:
    """Import files with the options of the command line.

    A format without an importer of its own is a mapping for the importer of tables.
    """
    if layout in plugins("fairstats.importers"):
        importer = plugin("fairstats.importers", layout)
    elif layout.endswith(".toml") or layout in layouts().split(", "):
        importer = partial(plugin("fairstats.importers", "table"), layout=layout)
    else:
        remedy = f"use one of: {layouts()}, or the .toml file of a mapping"
        raise input_error(layout, "is not a known format", remedy)
    given = table.arguments()
    given["constants"] = {k: v for k, v in facts.items() if v} | given["constants"]
    return importer(files, benchmark=benchmark, **given, **more)


@dataclass(frozen=True)
class Source:
    """The options for files that may be another tool's."""

    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Format of the files, if they are another tool's: {layouts()}; or the .toml file "
            "of a mapping.",
        ),
    ] = None
    model: Model = None
    strategy: Strategy = None
    table: TableOptions = TableOptions()

    def read(
        self,
        paths: list[Path],
        benchmarks: list[str] | None,
        read: Callable[[list[Path]], pd.DataFrame],
    ) -> pd.DataFrame:
        """Return the answers in files, by `read` if they are not another tool's."""
        facts = {"model": self.model, "strategy": self.strategy}
        if self.from_ is None:
            given = [name for name, value in (facts | vars(self.table)).items() if value]
            if given:
                options = ", ".join(map(parameter, given))
                remedy = "name the format of the files with --from, or remove it"
                raise input_error(options, "is used only with --from", remedy)
            return read(paths)
        if benchmarks and len(benchmarks) > 1:
            message = "is given several times with --from"
            raise input_error("--benchmark", message, "give the one that the files belong to")
        benchmark = benchmarks[0] if benchmarks else None
        return import_files(self.from_, paths, benchmark, facts, self.table)


def _values(texts: Pairs) -> dict[str, dict[str, str]]:
    """Return the meanings of values, by column."""
    meant: dict[str, dict[str, str]] = {}
    for text in texts or []:
        column, colon, pair = text.partition(":")
        theirs, equals, ours = pair.rpartition("=")
        if not (column and colon and theirs and equals):
            remedy = "write it like group:W=white"
            raise input_error("--values", "must be COLUMN:THEIRS=OURS", remedy, value=text)
        if theirs in meant.setdefault(column, {}):
            raise input_error("--values", "is given twice", "keep one", value=text)
        meant[column][theirs] = ours
    return meant


def _wide(texts: Pairs) -> dict[str, str]:
    """Return the column of each group from ``[ATTRIBUTE:]GROUP=COLUMN[,GROUP=COLUMN...]`` options.

    A column's name may hold commas. A template without a group is its own name.

    Examples
    --------
    >>> _wide(["race:white=Answer, W,black=Answer, B", "male=M"])
    {'race:white': 'Answer, W', 'race:black': 'Answer, B', 'male': 'M'}
    """
    groups: dict[str, str] = {}
    for text in texts or []:
        if "{" in text.partition("=")[0]:
            groups[text] = text
            continue
        attribute = ""
        for pair in re.split(r",(?=[^,=]+=)", text):
            name, equals, column = pair.partition("=")
            prefix, colon, group = name.strip().rpartition(":")
            attribute = prefix if colon else attribute
            if not (group and equals and column):
                remedy = "write it like white=ColumnA,black=ColumnB"
                raise input_error("--wide", "must be GROUP=COLUMN", remedy, value=pair)
            full = f"{attribute}:{group}" if attribute else group
            if full in groups:
                message = "the group is given twice"
                raise input_error("--wide", message, "give it one column", value=full)
            groups[full] = column
    return groups
