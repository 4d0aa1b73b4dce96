"""Commands that query models, and retrieve snippets for their prompts."""

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
        str | None, typer.Option(help="Name of the model, e.g. GPT-4.1, or `embedded`. Required.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write the answers to. Required.")
    ] = None,
    benchmark: Annotated[str, typer.Option(help="Name or .toml file of the benchmark.")] = "demo",
    strategy: Annotated[
        str,
        typer.Option(
            help="Prompting strategy: plain, cot, role, aware, few, counterfactual or adversarial."
        ),
    ] = "plain",
    retrievals: Annotated[
        Path | None,
        typer.Option(
            help="Add snippets from this file, written by `fairstats retrieve`, to the prompts."
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Number of snippets to include in each prompt (default: 10).")
    ] = None,
    base_url: BaseUrl = None,
    benchmark_version: Annotated[
        str | None,
        typer.Option(help="Version of the benchmark's vignettes (default: the only one)."),
    ] = None,
    model_name: Annotated[
        str | None,
        typer.Option(help="Name of the model in the answers (default: the value of --model)."),
    ] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = 0.0,
    samples: Annotated[
        int, typer.Option(help="Number of replies to request for each variant.")
    ] = 1,
    limit: Annotated[
        int | None, typer.Option(help="Number of items to use, from the first (default: all).")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Use part k of n of the items, given as k/n (default: all items)."),
    ] = None,
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
    """Query a model with every variant of a benchmark's items and store the replies.

    Each reply is stored as it arrives. Run the command again to request only what is missing.
    """
    from fairstats.benchmarks.loading import load_benchmark

    if context.invoked_subcommand:
        return
    if model is None or out is None:
        option = "--out" if model else "--model"
        raise InputError([Problem(option, "is missing", "see `fairstats collect --help`")])
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
    corpus: Annotated[
        Path,
        typer.Option(
            help="Folder of .txt and .md files, or a .jsonl or .parquet file of snippets."
        ),
    ],
    retriever: Annotated[str, typer.Option(help="Retriever: bm25, dense or rrf (both, fused).")],
    out: Annotated[Path, typer.Option(help="Folder to write the retrievals to.")],
    benchmark: Annotated[str, typer.Option(help="Name or .toml file of the benchmark.")] = "demo",
    benchmark_version: Annotated[
        str | None,
        typer.Option(help="Version of the benchmark's vignettes (default: the only one)."),
    ] = None,
    top: Annotated[int, typer.Option(help="Number of snippets to retrieve for each variant.")] = 20,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the retriever in the strategies (default: the value of --retriever)."
        ),
    ] = None,
    embeddings: Annotated[
        str, typer.Option(help="Embedding model: `embedded`, or its name at the service.")
    ] = "embedded",
    base_url: BaseUrl = None,
    chunk_words: Annotated[int, typer.Option(help="Maximum number of words in a snippet.")] = 120,
    rrf_k: Annotated[int, typer.Option(help="Constant k of reciprocal rank fusion.")] = 60,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
) -> None:
    """Retrieve snippets from a corpus for every variant, for use with `collect --retrievals`."""
    from fairstats.benchmarks.loading import load_benchmark

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
    journals: Annotated[list[Path], typer.Argument(help="Journals of the parts.")],
    out: Annotated[
        Path, typer.Option(help="Folder to write the merged journal and the answers to.")
    ],
    benchmark: Annotated[
        str | None, typer.Option(help="The .toml file of the benchmark, if it is not built in.")
    ] = None,
    retrievals: Annotated[
        Path | None, typer.Option(help="File of the retrievals, if the prompts included snippets.")
    ] = None,
) -> None:
    """Merge the journals of a campaign. Different replies to the same question are rejected."""
    from fairstats.benchmarks.loading import load_benchmark

    merged = plugin("fairstats.mergers", "chat")(
        journals,
        out=out,
        benchmark=load_benchmark(benchmark) if benchmark else None,
        retrievals=retrievals,
    )
    typer.echo(merged)
