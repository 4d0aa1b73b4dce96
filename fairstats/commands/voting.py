"""The command that lets the variants of an item vote on one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fairstats._lib.problems import InputError, Problem
from fairstats.commands._shared import (
    Alpha,
    AsCsv,
    AsJson,
    Files,
    Paths,
    check_alpha,
    load_files,
    plugin,
    print_table,
    says_what_is_wrong,
)

commands = typer.Typer()


@commands.command()
@says_what_is_wrong
def vote(
    paths: Paths,
    out: Annotated[Path, typer.Option(help="Folder to write the voted answers to.")],
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
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    benchmark_file: Files = None,
) -> None:
    """Give all demographic variants of an item the most frequent answer among them.

    All groups then have the same answer, so the fairness metrics of a vote are perfect by
    construction. The command prints what can still differ: accuracy and the number of ties.
    """
    from fairstats.answers.files import read_answers, write_answer_sets
    from fairstats.retrieval.voting import majority_vote, open_vote, vote_counts

    check_alpha(alpha)
    if not -1 < similarity <= 1:
        message = f"{similarity} is out of range"
        raise InputError(
            [Problem("--similarity", message, "give a number above -1 and up to 1, e.g. 0.8")]
        )
    known = load_files(benchmark_file)
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
        print_table(counts, as_json=as_json, as_csv=as_csv)
    for path in write_answer_sets(voted, out):
        typer.echo(path, err=True)
