"""Commands on answers with retrieved snippets: retrieve, measure overlap, vote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fairstats._lib.problems import input_error
from fairstats.commands._options import (
    Alpha,
    BaseUrl,
    BenchmarkName,
    Benchmarks,
    BenchmarkVersion,
    Paths,
    Retries,
    Timeout,
    load_given,
)
from fairstats.commands._shared import Output, plugin, print_table, says_what_is_wrong

commands = typer.Typer(
    no_args_is_help=True, help="Retrieve snippets, measure their overlap, and vote over variants."
)


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
    benchmark: BenchmarkName = "demo",
    benchmark_version: BenchmarkVersion = None,
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


@commands.command()
@says_what_is_wrong
def overlap(
    paths: Annotated[
        list[Path], typer.Argument(help="Retrieval files, or answer files with --text.")
    ],
    *,
    text: Annotated[
        bool, typer.Option("--text", help="Compare the replies in answer files (ROUGE-L).")
    ] = False,
    top_k: Annotated[
        list[int] | None,
        typer.Option(help="Number of snippets of each list to compare. Repeatable."),
    ] = None,
    items: Annotated[
        bool, typer.Option("--items", help="Print one row per item (retrievals only).")
    ] = False,
    alpha: Alpha = 0.05,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Measure how much of the retrieved text is the same for all variants of an item."""
    from fairstats.answers.files import read_answers
    from fairstats.retrieval.overlap import overlap_of_items, retrieval_overlap, text_overlap
    from fairstats.retrieval.retrievals_table import read_retrievals, retrieval_files

    known = load_given(benchmark)
    if text and (top_k or items):
        option = "--top-k" if top_k else "--items"
        raise input_error(option, "is only for retrievals", "remove it, or remove --text")
    if any(k < 1 for k in top_k or ()):
        raise input_error("--top-k", "must be at least 1", "give a number of snippets")
    if text:
        table = text_overlap(read_answers(paths), alpha=alpha, benchmarks=known)
    else:
        files = retrieval_files(paths)
        for path in paths:
            if not retrieval_files(path):
                remedy = "give a file of `fairstats rag retrieve`, or add --text for answer files"
                raise input_error(path, "contains no retrievals", remedy)
        retrievals = read_retrievals(files)
        if items:
            table = overlap_of_items(retrievals, top_k=top_k or None, benchmarks=known)
        else:
            table = retrieval_overlap(
                retrievals, top_k=top_k or None, alpha=alpha, benchmarks=known
            )
    print_table(table, output)


@commands.command()
@says_what_is_wrong
def vote(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder to write the voted answers to.")],
    *,
    open_answers: Annotated[
        bool,
        typer.Option(
            "--open", help="Vote on free-text replies with the same meaning, not on letters."
        ),
    ] = False,
    embedder: Annotated[str, typer.Option(help="Embedding model for --open.")] = "embedded",
    similarity: Annotated[
        float,
        typer.Option(
            help="Cosine similarity from which replies have the same meaning, for --open."
        ),
    ] = 0.8,
    linkage: Annotated[
        Literal["average", "complete"],
        typer.Option(help="Linkage for clustering replies, for --open."),
    ] = "average",
    alpha: Alpha = 0.05,
    output: Output,
    benchmark: Benchmarks = None,
) -> None:
    """Give all demographic variants of an item the most frequent answer among them.

    All groups then have the same answer, so the fairness metrics of a vote are perfect by
    construction. The command prints what can still differ: accuracy and the number of ties.
    """
    from fairstats.answers.files import read_answers, write_answer_sets
    from fairstats.retrieval.voting import majority_vote, open_vote, vote_counts

    if not -1 < similarity <= 1:
        message = f"{similarity} is out of range"
        raise input_error("--similarity", message, "give a number above -1 and up to 1, e.g. 0.8")
    known = load_given(benchmark)
    answers = read_answers(paths)
    if open_answers:
        voted = open_vote(
            answers,
            plugin("fairstats.embedders", embedder),
            similarity=similarity,
            linkage=linkage,
        )
    else:
        voted = majority_vote(answers, benchmarks=known)
        counts = vote_counts(answers, alpha=alpha, benchmarks=known)
        print_table(counts, output)
    for path in write_answer_sets(voted, out):
        typer.echo(path, err=True)
