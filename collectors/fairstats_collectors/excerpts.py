"""Ask with excerpts: the snippets that were retrieved for a variant, before its prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fairstats._lib.problems import Problem, check_numbers, input_error, refuse
from fairstats._lib.safe_names import text_sha256
from fairstats.answers.strategies import Strategy
from fairstats.asking.item_prompts import Prompt, load_template
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item
from fairstats.retrieval.retrievals_table import TEXT_COLUMNS, context_sha256, read_retrievals

_REMEDY = "retrieve again for this benchmark: fairstats rag retrieve"


@dataclass(frozen=True)
class Excerpts:
    """Hold the excerpts in a file of retrievals for the variants of a benchmark.

    Parameters
    ----------
    retriever : str
        Its name.
    top_k : int
        The maximum number of snippets in a prompt.
    corpus_sha256 : str
        The sha256 of the searched corpus.
    blocks : Mapping
        The excerpts as they appear in the prompt, by item, attribute and group. A variant without
        snippets has no entry.
    contexts : Mapping
        By the same keys, `fairstats.retrieval.retrievals_table.context_sha256`.
    """

    retriever: str
    top_k: int
    corpus_sha256: str
    blocks: Mapping[tuple[str, str, str], str]
    contexts: Mapping[tuple[str, str, str], str]

    def strategy(self, prompt: str) -> str:
        """Return the name of the strategy that combines this prompt with these excerpts."""
        return Strategy(prompt, self.retriever, self.top_k).name

    def before(self, prompts: Iterable[Prompt]) -> list[Prompt]:
        """Put the excerpts before their prompts; a prompt without snippets is not changed."""
        template = load_template("excerpts")
        nothing = context_sha256([])
        asked = []
        for prompt in prompts:
            variant = (prompt.item.item_id, prompt.attribute, prompt.group)
            text, context = prompt.text, self.contexts.get(variant, nothing)
            if block := self.blocks.get(variant):
                text = template.substitute(excerpts=block, prompt=text)
            asked.append(replace(prompt, text=text, context_sha256=context))
        return asked


def read_excerpts(
    path: Path, benchmark: Benchmark, version: str, items: Iterable[Item], *, top_k: int
) -> Excerpts:
    """Read the first snippets of each variant from a file of retrievals.

    The file was written by ``fairstats rag retrieve``; `items` are all items of the benchmark's
    version.

    Raises
    ------
    InputError
        If the file breaks the schema or lacks its texts. If it belongs to another benchmark, to
        several retrievers or to other vignettes. If a text differs from its hash, or the file has
        no such rank. Its ``problems`` name item and group.
    """
    check_numbers(top_k=top_k)
    rows = read_retrievals(path)
    _check_file(rows, path, benchmark, version, top_k)
    _check_texts(rows, path, items, benchmark)
    rows = rows[rows["rank"] <= top_k]
    variants = {
        (str(item_id), str(attribute), str(group)): found
        for (item_id, attribute, group), found in rows.groupby(
            ["item_id", "attribute", "group"], sort=False
        )
    }
    return Excerpts(
        retriever=str(rows["retriever"].iloc[0]),
        top_k=top_k,
        corpus_sha256=str(rows["corpus_sha256"].iloc[0]),
        blocks={variant: _block(found) for variant, found in variants.items()},
        contexts={
            variant: context_sha256(found["snippet_sha256"]) for variant, found in variants.items()
        },
    )


def _block(found: pd.DataFrame) -> str:
    """Number the excerpts, one paragraph each: their lines cannot look like parts of the prompt."""
    parts = []
    for number, title, text in zip(found["rank"], found["title"], found["text"], strict=True):
        head = " ".join(f"[{number}] {title}".split())
        parts.append(f"{head}\n{' '.join(text.split())}")
    return "\n\n".join(parts)


def _check_file(
    rows: pd.DataFrame, path: Path, benchmark: Benchmark, version: str, top_k: int
) -> None:
    lacking = [column for column in TEXT_COLUMNS if column not in rows]
    if lacking:
        message = "the file does not contain the texts of the snippets"
        remedy = "use the file written by `fairstats rag retrieve`"
        raise input_error(path, message, remedy, column=", ".join(lacking))
    own = {"benchmark": benchmark.name, "benchmark_version": version}
    for column in (*own, "retriever"):
        names = rows[column].unique().tolist()
        if names != [own.get(column, names[0])]:
            message = "is for a different benchmark, or from several retrievers"
            raise input_error(path, message, _REMEDY, column=column, value=", ".join(names))
    deepest = int(rows["rank"].max())
    if top_k > deepest:
        message = f"no list has {top_k} ranks"
        remedy = f"use {deepest} or fewer, or retrieve more snippets"
        raise input_error(path, message, remedy, column="rank", value=str(deepest))


def _check_texts(rows: pd.DataFrame, path: Path, items: Iterable[Item], own: Benchmark) -> None:
    """Check the texts of the snippets and of the vignettes against their hashes."""
    queries = {
        (item.item_id, attribute, group): text_sha256(item.variants[group])
        for item in items
        for attribute, group in own.variants
        if group in item.variants
    }
    texts = {text: text_sha256(text) for text in rows["text"].unique()}
    variants = zip(rows["item_id"], rows["attribute"], rows["group"], strict=True)
    asked = pd.Series([queries.get(variant) for variant in variants], index=rows.index)
    faults = {
        "query_sha256": (asked != rows["query_sha256"], "was retrieved for a different vignette"),
        "text": (
            rows["text"].map(texts) != rows["snippet_sha256"],
            "differs from the text that was retrieved",
        ),
    }
    problems = []
    for column, (wrong, message) in faults.items():
        first = rows[wrong].drop_duplicates(["item_id", "attribute", "group"]).head(20)
        for row, item_id, group in zip(first.index, first["item_id"], first["group"], strict=True):
            value = f"{item_id}, {group}"
            problems.append(
                Problem(str(path), message, _REMEDY, row=int(row) + 1, column=column, value=value)
            )
    refuse(problems)
