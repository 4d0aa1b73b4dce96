"""Commands that ask models, and look up what to ask them with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._asking import (
    BaseUrl,
    Batch,
    Concurrency,
    DryRun,
    KeepFailures,
    MaxCost,
    MaxTokens,
    Price,
    RequestsAMinute,
    Retries,
    Temperature,
    Timeout,
    TokensAMinute,
    read_price,
    stoppable,
)
from fairstats.commands._shared import plugin, says_what_is_wrong

commands = typer.Typer()
collecting = typer.Typer(invoke_without_command=True)
commands.add_typer(collecting, name="collect")


@collecting.callback()
@says_what_is_wrong
def collect(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Option(help="A model's name, e.g. GPT-4.1, or `embedded`.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the answers.")] = None,
    benchmark: Annotated[str, typer.Option(help="A benchmark's name or .toml.")] = "demo",
    strategy: Annotated[str, typer.Option(help="How to ask: plain, cot, ...")] = "plain",
    retrievals: Annotated[
        Path | None, typer.Option(help="Ask with snippets: what `fairstats retrieve` wrote.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="How many snippets to ask with; 10 unless told.")
    ] = None,
    base_url: BaseUrl = None,
    benchmark_version: Annotated[str | None, typer.Option(help="The set of variants.")] = None,
    model_name: Annotated[str | None, typer.Option(help="Its name in the answers.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = 0.0,
    samples: Annotated[int, typer.Option(help="How often to ask each variant.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Ask the first items only.")] = None,
    shard: Annotated[str | None, typer.Option(help="k/n: one of n parts of the items.")] = None,
    concurrency: Concurrency = 8,
    rpm: RequestsAMinute = None,
    tpm: TokensAMinute = None,
    price: Price = None,
    max_cost: MaxCost = None,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
    keep_failures: KeepFailures = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Ask a model every variant of a benchmark's items and keep the replies.

    Every reply is kept before it counts; the same command again asks only what is missing.
    """
    from fairstats.benchmarks.declaration import load_benchmark

    if context.invoked_subcommand:
        return
    if model is None or out is None:
        option = "--out" if model else "--model"
        raise InputError([Problem(option, "is not given", "see `fairstats collect --help`")])
    with stoppable():
        path = plugin("fairstats.collectors", "chat")(
            load_benchmark(benchmark),
            model=model,
            out=out,
            strategy=strategy,
            retrievals=retrievals,
            top_k=top_k,
            base_url=base_url,
            benchmark_version=benchmark_version,
            model_name=model_name,
            max_tokens=max_tokens,
            temperature=temperature,
            samples=samples,
            limit=limit,
            shard=shard,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            price=None if price is None else read_price(price),
            max_cost=max_cost,
            timeout=timeout,
            retries=retries,
            keep_failures=keep_failures,
            batch=batch,
            dry_run=dry_run,
        )
    if not dry_run:
        typer.echo(path)


@commands.command()
@says_what_is_wrong
def retrieve(
    corpus: Annotated[Path, typer.Option(help="A folder of .txt and .md, or .jsonl, .parquet.")],
    retriever: Annotated[str, typer.Option(help="bm25, dense or rrf (both, fused).")],
    out: Annotated[Path, typer.Option(help="Folder for the retrievals.")],
    benchmark: Annotated[str, typer.Option(help="A benchmark's name or .toml.")] = "demo",
    benchmark_version: Annotated[str | None, typer.Option(help="The set of variants.")] = None,
    top: Annotated[int, typer.Option(help="How many snippets for each variant.")] = 20,
    name: Annotated[
        str | None, typer.Option(help="What to call the retriever in strategies.")
    ] = None,
    embeddings: Annotated[
        str, typer.Option(help="The model of meaning: `embedded`, or its name at the service.")
    ] = "embedded",
    base_url: BaseUrl = None,
    chunk_words: Annotated[int, typer.Option(help="Words of a snippet, at most.")] = 120,
    rrf_k: Annotated[int, typer.Option(help="The constant of reciprocal rank fusion.")] = 60,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
) -> None:
    """Find the snippets of a corpus for every variant, to be asked with (collect --retrievals)."""
    from fairstats.benchmarks.declaration import load_benchmark

    found = plugin("fairstats.retrievers", "corpus")(
        load_benchmark(benchmark),
        corpus=corpus,
        retriever=retriever,
        out=out,
        benchmark_version=benchmark_version,
        top=top,
        name=name,
        embeddings=embeddings,
        base_url=base_url,
        chunk_words=chunk_words,
        rrf_k=rrf_k,
        timeout=timeout,
        retries=retries,
    )
    typer.echo(found)


@collecting.command()
@says_what_is_wrong
def merge(
    journals: Annotated[list[Path], typer.Argument(help="The journals of the parts.")],
    out: Annotated[Path, typer.Option(help="Folder for the joined journal and the answers.")],
    benchmark: Annotated[
        str | None, typer.Option(help="What was asked, where it is not built in: its .toml.")
    ] = None,
    retrievals: Annotated[
        Path | None, typer.Option(help="What was asked with, where snippets were.")
    ] = None,
) -> None:
    """Join the journals of a campaign; different replies to the same question are refused."""
    from fairstats.benchmarks.declaration import load_benchmark

    merged = plugin("fairstats.mergers", "chat")(
        journals,
        out=out,
        benchmark=load_benchmark(benchmark) if benchmark else None,
        retrievals=retrievals,
    )
    typer.echo(merged)
