"""Sentences of the audit report that follow from facts about an answer set."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from fairstats._lib.formatting import capital
from fairstats.benchmarks.kinds import CHOICE, KINDS
from fairstats.inference.verdict import INCONCLUSIVE
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.findings import unknown_in_practice
from fairstats.report.words import unit_noun, where, words_of

_CLAUSES = Path(__file__).with_name("clauses.toml")
#: With fewer independent items or clusters, the report warns that one of them can change a result.
FEW_UNITS = 20


def clauses(
    part: str, own: AnswerSet, facts: Mapping[str, bool] | None = None, /, **values: str
) -> list[str]:
    """Return the sentences of a part of `clauses.toml` that hold for an answer set.

    Parameters
    ----------
    part : str
        The part.
    own : AnswerSet
        The answer set.
    facts : mapping, optional
        More facts that the sentences depend on.
    **values : str
        More values that they name.
    """
    known, named = _facts(own) | dict(facts or {}), _values(own) | values
    entries = tomllib.loads(_CLAUSES.read_text(encoding="utf-8"))[part]
    return [
        entry["text"].format_map(named)
        for entry in entries
        if all(_holds(fact, known) for fact in entry.get("if", []))
    ]


def _holds(fact: str, known: Mapping[str, bool]) -> bool:
    return known[fact.removeprefix("not ")] != fact.startswith("not ")


def _facts(own: AnswerSet) -> dict[str, bool]:
    benchmark, verdicts = own.benchmark, {pair.verdict for pair in own.pairs}
    return {
        "judged": not verdicts <= {None},
        "open": bool(verdicts & {INCONCLUSIVE, None}),
        "unclear": INCONCLUSIVE in verdicts,
        "slanted": benchmark.slanted,
        "controls": bool(benchmark.controls),
        **{f"{kind}s": own.kind.name == kind for kind in KINDS},
        "written": own.kind == CHOICE and not words_of(benchmark).source,
        "key": benchmark.has_key,
        "clustered": benchmark.cluster is not None,
        "few units": bool(own.pairs) and 0 < own.units < FEW_UNITS,
    }


def _values(own: AnswerSet) -> dict[str, str]:
    benchmark, words = own.benchmark, words_of(own.benchmark)
    return {
        "items": words.items,
        "Items": capital(words.items),
        "cluster": words.cluster,
        "clusters": words.clusters,
        "n": f"{own.units:,}",
        "units": unit_noun(benchmark),
        "margin": own.shown_margin,
        "subjects": words.subjects,
        "source": words.source or "test material",
        "where": where(benchmark),
        "slant": benchmark.swayed_by or "slanted text",
        "unknown": unknown_in_practice(benchmark),
    }
