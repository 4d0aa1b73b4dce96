"""The list of snippets for each variant, and whether it matches the answers' strategies.

Shared by the statistics of retrieval: the retrievals table, checked against its benchmarks'
declarations, and each variant's snippet ids by rank.

Answers name a retriever and a k. Those from ``fairstats collect`` also identify the snippets in the
prompt by ``context_sha256``, which has to match. Other answers are linked to a list only by the
retriever's name, the depth of its lists, and the groups with lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fairstats._lib.problems import Problem, refuse
from fairstats.answers.strategies import Strategy, read_strategy
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.loading import load_benchmarks
from fairstats.retrieval.retrievals_table import (
    LIST_COLUMNS,
    RETRIEVAL_COLUMNS,
    check_retrievals,
    context_sha256,
)

#: Columns that identify the lists of one retriever.
RETRIEVER_COLUMNS = ("benchmark", "benchmark_version", "retriever")

_TYPES = dict.fromkeys(RETRIEVAL_COLUMNS, "str") | {"rank": "int64", "score": "float64"}
_ASKED = ["benchmark", "benchmark_version", "strategy"]


@dataclass(frozen=True)
class Lists:
    """The lists of one retriever for the variants of one version of a benchmark.

    Attributes
    ----------
    benchmark : Benchmark
        The benchmark.
    version, retriever, settings, corpus, corpus_sha256 : str
        The version; the retriever and its settings; the corpus and its sha256.
    depth : int
        The last rank in any of the lists.
    found : mapping of (str, str, str) to tuple of str
        The snippet ids of each item, attribute and group, by rank; a variant without snippets is
        absent.
    texts : mapping of (str, str, str) to tuple of str
        The sha256 of their texts, in the same form.
    """

    benchmark: Benchmark
    version: str
    retriever: str
    corpus: str
    corpus_sha256: str
    settings: str
    depth: int
    found: Mapping[tuple[str, str, str], tuple[str, ...]]
    texts: Mapping[tuple[str, str, str], tuple[str, ...]]

    @property
    def items(self) -> list[str]:
        """Return the benchmark's items with a snippet for at least one variant.

        For other items, the table does not show whether they were searched for.
        """
        there = {item for item, _, _ in self.found}
        return [item for item in self.benchmark.items if item in there]

    @cached_property
    def variants_from(self) -> dict[str, Attribute]:
        """Return `Benchmark.variants_from`, as if all attributes were asked that may have lists."""
        there = {attribute for _, attribute, _ in self.found}
        every = self.benchmark.variants_from(self.benchmark.attributes)
        return every | self.benchmark.variants_from(there)

    @property
    def variants(self) -> list[tuple[str, str]]:
        """Return the variants of the attributes that have some of their own."""
        own = [source for name, source in self.variants_from.items() if source.name == name]
        return [(one.name, group) for one in own for group in one.groups]

    def absent(self, variants: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return those of these variants (attribute, group) without a snippet for any item."""
        there = {(attribute, group) for _, attribute, group in self.found}
        return [variant for variant in variants if variant not in there]

    def first(self, k: int, item: str, variant: tuple[str, str]) -> tuple[str, ...]:
        """Return the first k snippets of a variant, or fewer if fewer were found."""
        return self.found.get((item, *variant), ())[:k]


def no_retrievals() -> pd.DataFrame:
    """Return a retrievals table without rows."""
    return pd.DataFrame(columns=list(RETRIEVAL_COLUMNS)).astype(_TYPES)


def open_retrievals(
    retrievals: pd.DataFrame, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> list[Lists]:
    """Return the lists of a retrievals table, one entry per benchmark version and retriever."""
    if retrievals.empty:
        return []
    checked = check_retrievals(retrievals)
    known = load_benchmarks(checked["benchmark"].unique().tolist(), benchmarks)
    refuse(_undeclared(checked, known))
    opened = []
    for key, rows in checked.groupby(list(RETRIEVER_COLUMNS), sort=True):
        name, version, retriever = map(str, key)
        # `check_retrievals` has sorted each list by rank.
        variants = zip(*(rows[c] for c in ("item_id", "attribute", "group")), strict=True)
        found: dict[tuple[str, str, str], list[str]] = {}
        texts: dict[tuple[str, str, str], list[str]] = {}
        snippets = zip(variants, rows["snippet_id"], rows["snippet_sha256"], strict=True)
        for variant, snippet, text in snippets:
            found.setdefault(variant, []).append(snippet)
            texts.setdefault(variant, []).append(text)
        opened.append(
            Lists(
                benchmark=known[name],
                version=version,
                retriever=retriever,
                corpus=str(rows["corpus"].iloc[0]),
                corpus_sha256=str(rows["corpus_sha256"].iloc[0]),
                settings=str(rows["settings"].iloc[0]),
                depth=int(rows["rank"].max()),
                found={variant: tuple(own) for variant, own in found.items()},
                texts={variant: tuple(own) for variant, own in texts.items()},
            )
        )
    return opened


def _undeclared(retrievals: pd.DataFrame, known: Mapping[str, Benchmark]) -> Iterator[Problem]:
    lists = retrievals[list(LIST_COLUMNS)].drop_duplicates()
    for name, rows in lists.groupby("benchmark"):
        benchmark = known[str(name)]
        variants = pd.MultiIndex.from_frame(rows[["attribute", "group"]])
        unknown = {
            "benchmark_version": ~rows["benchmark_version"].isin(list(benchmark.versions)),
            "item_id": ~rows["item_id"].isin(benchmark.items),
            "group": ~variants.isin(list(benchmark.variants)),
        }
        for column, wrong in unknown.items():
            for value in rows.loc[wrong, column].unique()[:10]:
                message = f"{name} does not declare it"
                remedy = "retrieve again for the benchmark of the answers"
                yield Problem("<retrievals>", message, remedy, column=column, value=value)


def asked_with(answers: pd.DataFrame) -> dict[tuple[str, str, str], Strategy]:
    """Return the strategies that name a retriever, by benchmark, version and name.

    A strategy is the only information on retrieval in an answer: a prompt, a retriever's name and a
    k.
    """
    asked = answers[_ASKED].astype("str").drop_duplicates().sort_values(_ASKED)
    read = {key: read_strategy(key[2]) for key in asked.itertuples(index=False, name=None)}
    return {key: strategy for key, strategy in read.items() if strategy.retriever is not None}


def strategy_problems(answers: pd.DataFrame, opened: Iterable[Lists]) -> list[Problem]:
    """Return every strategy of these answers that the retrievals cannot match.

    If answers identify the snippets in their prompts by ``context_sha256``, these have to be the
    first of the lists. If they do not, a strategy without problems does not prove that these lists
    were used. Only the retriever's name, the depth of its lists and the groups with lists are
    compared.

    A strategy is not checked if there are no retrievals for its benchmark at all: answers can be
    published without retrievals.

    These are: a retriever without lists on the answers' version, lists that end before the
    strategy's k, a variant of the benchmark without a snippet for any item, and answers that used
    other snippets. An attribute without variants of its own needs none.
    """
    by_key = {(one.benchmark.name, one.version, one.retriever): one for one in opened}
    searched = {name for name, _, _ in by_key}
    problems = []
    for (name, version, strategy), asked in asked_with(answers).items():
        if name not in searched:
            continue
        lists = by_key.get((name, version, str(asked.retriever)))
        message, k = "", int(asked.top_k or 0)
        if lists is None:
            message = f"there are no retrievals by {asked.retriever} for {name}, version {version}"
        elif lists.depth < k:
            message = f"the retrievals by {asked.retriever} end at rank {lists.depth}"
        elif absent := lists.absent(lists.variants):
            named = ", ".join(" ".join(variant) for variant in absent)
            message = f"the retrievals by {asked.retriever} have no snippets for {named}"
        elif other := _asked_otherwise(answers, (name, version, strategy), lists, k):
            message = (
                f"was generated with snippets that differ from those of {asked.retriever}: {other}"
            )
        if message:
            remedy = "add the file written by `fairstats rag retrieve` for these answers"
            place = "<answers>"
            problems.append(Problem(place, message, remedy, column="strategy", value=strategy))
    return problems


def _asked_otherwise(
    answers: pd.DataFrame, unit: tuple[str, str, str], lists: Lists, k: int
) -> str:
    """Describe the first variant with an answer that used other snippets."""
    if "context_sha256" not in answers:
        return ""
    own = answers[(answers[_ASKED].astype("str") == list(unit)).all(axis=1)]
    own = own[own["context_sha256"].notna()]
    variants = list(zip(own["item_id"], own["attribute"], own["group"], strict=True))
    expected = {v: context_sha256(lists.texts.get(v, ())[:k]) for v in dict.fromkeys(variants)}
    for variant, context in zip(variants, own["context_sha256"], strict=True):
        if expected[variant] != context:
            item, _, group = variant
            return f"{item}, {group}"
    return ""


def refuse_lacking(answers: pd.DataFrame, opened: Iterable[Lists]) -> None:
    """Raise `InputError` with the `strategy_problems`, if there are any."""
    refuse(strategy_problems(answers, opened))
