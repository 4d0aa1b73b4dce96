"""Commands that publish answers and show what was published."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fairstats._lib.formatting import counted, quoted
from fairstats._lib.problems import input_error, printable
from fairstats._lib.processes import Watch
from fairstats.answers import MEMORY_LIMIT, PublishingEngine
from fairstats.commands._options import (
    Alpha,
    Benchmarks,
    MemoryLimit,
    Missing,
    Pairs,
    ReleaseFolder,
    RubricFiles,
    load_given,
    load_rubric_files,
    typed_pairs,
)
from fairstats.commands._shared import Output, plugin, print_table, says_what_is_wrong
from fairstats.exports.export import EXPORTS, Options, write_export
from fairstats.publishing.serving import DEFAULT_PORT, SiteServer

commands = typer.Typer()


Renderer = Literal["auto", "quarto", "builtin"]


@contextmanager
def _watching(*, timings: bool) -> Iterator[Watch]:
    """Give what a task tells its stages to; print their times at the end if they are wanted."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    started: dict[str, float] = {}
    console = Console(stderr=True)
    # Without a thread, because pages are drawn in copies of this process.
    with Live(console=console, auto_refresh=False, transient=True) as line:

        def watch(stage: str, done: int = 0, parts: int = 0) -> None:
            started.setdefault(stage, time.perf_counter())
            if console.is_terminal:
                text = f"{stage}: {done} of {parts}" if parts else stage
                line.update(Text(f"{text} ..."), refresh=True)

        yield watch
    if timings:
        ends = [*list(started.values())[1:], time.perf_counter()]
        for (stage, start), end in zip(started.items(), ends, strict=True):
            typer.echo(f"{end - start:7.1f} s  {stage}", err=True)


@commands.command()
@says_what_is_wrong
def publish(
    answers: Annotated[list[Path], typer.Option(help="Answer file or folder. Repeatable.")],
    release: Annotated[str, typer.Option(help="Name of the release, e.g. 2026.11.")],
    out: Annotated[Path, typer.Option(help="Folder of the site, with all releases.")],
    retrievals: Annotated[
        list[Path] | None,
        typer.Option(help="Retrieval file outside the --answers folders. Repeatable."),
    ] = None,
    without_retrievals: Annotated[
        bool,
        typer.Option("--without-retrievals", help="Publish even if the retrievals are missing."),
    ] = False,
    overrule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=REASON",
            help="Publish this model's answers although screening blocks them, and state why on "
            "the pages. Repeatable.",
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="Ratings file outside the --answers folders. Repeatable."),
    ] = None,
    measures: Annotated[
        list[Path] | None,
        typer.Option(help="File of vignette measures outside the --answers folders. Repeatable."),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that declares facts about models, which model succeeds which, and "
            "reasons to overrule screening, see docs/site.md."
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(help="Folder of own pages and site.toml, see `fairstats site pages`."),
    ] = None,
    renderer: Annotated[Renderer, typer.Option(help="What draws the pages.")] = "auto",
    missing: Missing = None,
    alpha: Alpha = 0.05,
    benchmark: Benchmarks = None,
    rubric_file: RubricFiles = None,
    engine: Annotated[
        PublishingEngine,
        typer.Option(
            help="duckdb takes answers beyond memory, as parquet, and stores them in several files."
        ),
    ] = "pandas",
    memory_limit: MemoryLimit = MEMORY_LIMIT,
    timings: Annotated[
        bool, typer.Option("--timings", help="Print how long each stage took.")
    ] = False,
) -> None:
    """Publish answers as an immutable release with estimates, manifest, site and PDF."""
    from fairstats.publishing.publish import publish as publish_release

    with _watching(timings=timings) as watch:
        published = publish_release(
            answers,
            release=release,
            out=out,
            retrievals=retrievals or (),
            without_retrievals=without_retrievals,
            overrule=typed_pairs("--overrule", overrule),
            ratings=ratings or (),
            measures=measures or (),
            missing=missing,
            alpha=alpha,
            renderer=renderer,
            pages=pages,
            benchmarks=load_given(benchmark),
            rubrics=load_rubric_files(rubric_file),
            models=models,
            engine=engine,
            memory_limit=memory_limit,
            watch=watch,
        )
    if not published.new:
        typer.echo(f"{published.path} is already published with the same content")
    typer.echo(f"site: {published.index}")
    typer.echo(f"PDF:  {published.pdf}")
    _print_content(published)


@commands.command()
@says_what_is_wrong
def report(
    model: Annotated[str, typer.Argument(help="Name of the model, or the address of its page.")],
    release: ReleaseFolder,
    to: Annotated[Literal["pdf", "html"], typer.Option(help="Output format.")] = "pdf",
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write, suffix optional (default: named after release and model)."
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="PKCS#12 file (.p12) of the key and certificate that sign the PDF."),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(help="TOML file of what the auditor declares, see docs/crosswalk.md."),
    ] = None,
    crosswalk: Annotated[
        bool,
        typer.Option("--crosswalk", help="Append what NIST AI 600-1 asks of such a report."),
    ] = False,
) -> None:
    """Write the audit report of one model, for signature.

    With --sign, FAIRSTATS_PASSPHRASE decrypts the key.
    """
    from fairstats.report.audit.document import ON_PAGE_1, AuditFacts, read_facts, report_model

    declared = read_facts(facts) if facts else AuditFacts()
    signer: Callable[[bytes], bytes] | None = None
    if sign is not None:
        if to != "pdf":
            message, remedy = "only a PDF can be signed", "use --to pdf, or leave out --sign"
            raise input_error("--sign", message, remedy)
        from fairstats.publishing.report_signature import passphrase, report_signer

        signer = report_signer(sign, passphrase=passphrase())
    written = report_model(
        model, release, to=to, out=out, crosswalk=crosswalk, facts=declared, sign=signer
    )
    typer.echo(written)
    if sign is not None and (left := [name for name in ON_PAGE_1 if not getattr(declared, name)]):
        text = f"page 1 does not state: {', '.join(left)}; declare them in the file of --facts"
        typer.echo(text, err=True)


@commands.command()
@says_what_is_wrong
def diff(
    old: Annotated[Path, typer.Argument(help="Folder of the older release.")],
    new: Annotated[Path, typer.Argument(help="Folder of the newer release.")],
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also print every answer set and changed figure.")
    ] = False,
    output: Output,
) -> None:
    """Show which answers, ranks, verdicts and figures changed between two releases, and why.

    --json and --csv print the changed figures.
    """
    from fairstats.publishing.diff import diff_releases
    from fairstats.release.manifest import open_release
    from fairstats.report.changes.rows import diff_lines, set_changes

    found = diff_releases(old, new)
    if not output.as_text:
        print_table(found.figures, output)
        return
    releases = open_release(new), open_release(old)
    changed = set_changes(found.answer_sets, found.verdicts, found.figures, *releases)
    for line in diff_lines(changed, inputs=found.inputs, every=every):
        typer.echo(printable(line))
    if every and len(found.figures):
        print_table(found.figures)


@commands.command()
@says_what_is_wrong
def demo(
    out: Annotated[Path, typer.Option(help="The site's folder, with all releases.")] = Path("site"),
    kept: Annotated[
        Path, typer.Option(help="Where collected and imported answers are kept.")
    ] = Path("answers"),
    answers: Annotated[
        Path | None,
        typer.Option(help="Publish the answers in this folder instead of the shipped ones."),
    ] = None,
    renderer: Annotated[Renderer, typer.Option(help="What draws the pages.")] = "auto",
) -> None:
    """Run the whole pipeline once with the embedded model, then publish a real leaderboard."""
    from fairstats.answers.files import EXAMPLE, read_answers
    from fairstats.publishing.demo import (
        demo_answers,
        demo_retrievals,
        next_steps,
        publish_next,
        taken_answers,
    )

    board = [Path(EXAMPLE)]
    if answers is not None:
        board = taken_answers(
            answers,
            kept / "imported",
            fetcher=plugin("fairstats.fetchers", "fairmedqa"),
            importer=plugin("fairstats.importers", "amqa"),
            say=typer.echo,
        )
    # Before the model is queried, to report unreadable files at once.
    models = read_answers(board)["model"].nunique()
    collector = plugin("fairstats.collectors", "chat")
    retriever = plugin("fairstats.retrievers", "corpus")
    shown = [demo_answers(kept / "demo", collector, say=typer.echo)]
    retrieved = [demo_retrievals(kept / "demo", retriever, say=typer.echo)]
    typer.echo("Publishing these answers ...")
    publish_next(shown, name="demo", out=out, retrievals=retrieved, renderer=renderer)
    what, name = ("released answers", "fairmedqa") if answers is None else ("answers", None)
    typer.echo(f"Publishing the {what} of {counted(models, 'model')} ...")
    published = publish_next(board, name=name, out=out, renderer=renderer)
    typer.echo(f"\nOpen {published.index} in a browser (leaderboard as PDF: {published.pdf}).")
    typer.echo("Commands to try next:")
    for line in next_steps(_program(), published, board):
        typer.echo(line)


def _program() -> str:
    """Return the command that runs this program again, from the same folder."""
    called = sys.argv[0]
    found = shutil.which(Path(called).name)
    return Path(called).name if found and Path(found).samefile(called) else called


def _print_content(published: Any) -> None:
    """Print the benchmarks published together: their p-values are adjusted together."""
    from fairstats.answers.strategies import read_strategy
    from fairstats.release.contents import Release
    from fairstats.report.site_pages import PAGES

    release = Release(published.path)
    for name, rows in release.estimates.groupby("benchmark"):
        typer.echo(f"{name}: {counted(rows['model'].nunique(), 'model')}")
    retrieved = set(release.retrievals["benchmark"])
    for entry in release.manifest["answers"]:
        asked = read_strategy(entry["strategy"]).retriever
        if asked is not None and entry["benchmark"] not in retrieved:
            own = quoted(entry["model"], entry["strategy"])
            typer.echo(f"{own}: published without retrievals", err=True)
    listed = [page for page in PAGES if page.in_navigation]
    if without := [page.text for page in listed if not page.has_content(release)]:
        typer.echo(f"pages left out (no content in this release): {', '.join(without)}")


@commands.command(name="export")
@says_what_is_wrong
def export_release(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(EXPORTS)}.")],
    release: ReleaseFolder,
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    table: Annotated[
        str | None,
        typer.Option(
            help="For latex and xlsx: a table of the release, e.g. estimates "
            "(default: the tables on its pages)."
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(help="For latex and xlsx: only this page, e.g. index.html."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="For a --table: its columns, e.g. model,metric,estimate.")
    ] = None,
    where: Annotated[
        Pairs,
        typer.Option(metavar="COLUMN=VALUE", help="For a --table: only these rows. Repeatable."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="For croissant and hf: web address of the release's folder."),
    ] = None,
    dataset: Annotated[
        Pairs,
        typer.Option(
            metavar="BENCHMARK=DATASET",
            help="For hf: a benchmark's dataset on the Hub, e.g. mine=organisation/name. "
            "Repeatable.",
        ),
    ] = None,
) -> None:
    """Export a release for other tools, or its tables for a paper.

    The release is checked against its manifest first. The same release gives the same files.
    """
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    datasets = typed_pairs("--dataset", dataset)
    options = Options(table, page, names, typed_pairs("--where", where), url, datasets)
    for path in write_export(format_, release, out, options):
        typer.echo(path)


@commands.command()
@says_what_is_wrong
def serve(
    site: Annotated[Path, typer.Argument(help="Folder of the site (the one with index.html).")],
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65535)
    ] = DEFAULT_PORT,
) -> None:
    """Preview a site in a browser on this machine. Stop with Ctrl-C."""
    with SiteServer(site, port=port) as server:
        try:
            typer.echo(f"{server.address} serves {site}; press Ctrl-C to stop")
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped")
