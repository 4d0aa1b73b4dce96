"""Whether answers changed if different snippets were retrieved for the other group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats._lib.result_objects import naming_effect
from fairstats._lib.table_schemas import typed_rows
from fairstats.answers.engine_frames import NO_LETTER, UNIT_COLUMNS, open_answers
from fairstats.answers.strategies import Strategy
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.answer_tables import item_patterns
from fairstats.counts.grid import item_grid
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.inference._checks import LEAST_P, check_alpha
from fairstats.inference.clustered_answers import few_clusters_effect
from fairstats.inference.differences import partly_paired_interval
from fairstats.inference.unit_means import effective_number
from fairstats.inference.verdict import ROOM
from fairstats.metrics.accuracy import estimate_proportion
from fairstats.metrics.metric import roomy
from fairstats.retrieval.variant_lists import Lists, asked_with, open_retrievals, refuse_lacking

#: Columns of the table from `retrieval_effects`, in order.
EFFECT_COLUMNS = (
    *PAIR_COLUMNS,
    "retriever",
    "top_k",
    "of",
    "metric",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "p_value",
    "test",
    "count",
    "n",
    "method_note",
)
#: Subsets of pairs: those with a wrong answer for group a, or for b, and all pairs.
WRONG_A, WRONG_B, ALL = "wrong_a", "wrong_b", "all"
#: How the lists of two variants compare; a reordered list counts as different.
SAME, REORDERED, OTHER = "same", "reordered", "other"
#: The counted shares of all pairs; they sum to 1.
CELLS = (
    "same_snippets_same_answer",
    "same_snippets_other_answer",
    "other_snippets_same_answer",
    "other_snippets_other_answer",
)
CHANGED_SAME, CHANGED_OTHER = "changed_with_same_snippets", "changed_with_other_snippets"
CHANGE_DIFFERENCE = "change_difference"
#: The note on every difference.
NOT_CAUSAL = "an association only: items with different snippets may also differ in other ways"

_NUMBER = ("estimate", "ci_low", "ci_high", "ci_level", "p_value")
_TYPES = dict.fromkeys(_NUMBER, "float64") | dict.fromkeys(("top_k", "count", "n"), "int64")
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]
Row = dict[str, Any]


def retrieval_effects(
    answers: pd.DataFrame,
    retrievals: pd.DataFrame,
    *,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute wrong and changed answers, by whether the two variants got different snippets.

    For a counterfactual pair, let R be 1 if the two lists of snippets differ in content or order,
    and C be 1 if the two answers differ (of scores: by more than is declared to be the same). The
    estimands are the shares of the four cells of (R, C), P(C = 1 | R = 0), P(C = 1 | R = 1), and
    their difference

        P(C = 1 | R = 1) − P(C = 1 | R = 0).

    Parameters
    ----------
    answers : pandas.DataFrame
        The answers table. An answer set has no row if its strategy names no retriever, or is a
        majority vote (all variants then have one answer).
    retrievals : pandas.DataFrame
        As from `read_retrievals`. Answers to benchmarks that
        it does not include have no row.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `EFFECT_COLUMNS`: one row per metric, for each unit, pair of groups and ``of`` (pairs with a
        wrong answer for group a, with a wrong answer for b, or all). Scores, and answers without
        keys, are not wrong: they have rows for all pairs only.

        ``same_snippets_same_answer`` … ``other_snippets_other_answer``
            The shares of the four cells, over the pairs with both answers.
        ``reordered``
            The share of the same pairs with the same snippets in a different order; these count
            among the pairs with different snippets.
        ``changed_with_same_snippets``, ``changed_with_other_snippets``, ``change_difference``
            The two conditional shares and their difference.
        ``counterpart_missing``
            The share of pairs that lack the other answer (for all pairs: an answer); they are not
            in the rows above.
        ``not_retrieved``
            The share of pairs for which no variant of the item has a snippet; they are in no other
            row. It is unknown whether they were searched for.

        ``count`` and ``n`` are the numerator and denominator of a share. For the difference,
        ``count`` is 0 and ``n`` counts both kinds of pairs. If there are no pairs, or not both
        kinds, the estimate is NaN and `method_note` gives the reason.

    Raises
    ------
    InputError
        As `fairstats.analyze` and `retrieval_overlap`. Also if retrievals of a strategy's
        retriever are missing, are less deep than its k, or lack a group.

    Notes
    -----
    This is an association, not a causal effect of the snippets. An item with group-dependent
    retrieval may be longer or harder, and a model may change its answer to it without any snippet.

    Shares have Wilson's interval. The difference has Newcombe's interval for two independent
    groups, and a two-sided p-value by Fisher's exact test, unadjusted. With several samples per
    item, or declared clusters of several items, counts are divided by the design effect of few
    clusters (`few_clusters_effect`; for the difference, the larger of the two), shares have room
    for rare items (`with_room`), and there is no test. The limits of the difference are then at
    least Newcombe's from those of both shares, unless there are clusters. A missing answer is
    neither wrong nor changed, under any policy. Two variants without any retrieved snippets have
    the same snippets.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17:873-890, method 10; Fisher (1935), The Design of
    Experiments, section 21; `scipy.stats.fisher_exact`.

    Examples
    --------
    >>> sha = "0" * 64
    >>> row = dict(benchmark="demo", benchmark_version="1", item_id="demo-01")
    >>> variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female"),
    ...             ("ses", "high_income"), ("ses", "low_income"), ("baseline", "original"),
    ...             ("baseline", "neutralized")]
    >>> retrievals = pd.DataFrame([
    ...     row | dict(attribute=attribute, group=group, retriever="bm25", rank=1, score=1.0,
    ...                snippet_id=group, snippet_sha256=sha, query_sha256=str(number) * 64,
    ...                settings="-", corpus="primer", corpus_sha256=sha)
    ...     for number, (attribute, group) in enumerate(variants)])
    >>> asked = dict(model="m", strategy="plain+bm25@1", sample=0, attribute="race")
    >>> answers = pd.DataFrame([row | asked | dict(group=group, answer=answer, answer_key="C")
    ...                         for group, answer in (("white", "C"), ("black", "B"))])
    >>> table = retrieval_effects(answers, retrievals).set_index(["of", "metric"])
    >>> int(table.loc[("wrong_b", "other_snippets_other_answer"), "count"])
    1
    """
    alpha = check_alpha(alpha)
    opened = open_retrievals(retrievals, benchmarks)
    refuse_lacking(answers, opened)
    lists = {(one.benchmark.name, one.version, one.retriever): one for one in opened}
    strategies = {
        key: strategy
        for key, strategy in asked_with(answers).items()
        if not strategy.voted and (*key[:2], strategy.retriever) in lists
    }
    keys = ["benchmark", "benchmark_version", "strategy"]
    own = pd.MultiIndex.from_frame(answers[keys].astype("str")).isin(list(strategies))
    if not own.any():
        return typed_rows([], EFFECT_COLUMNS, _TYPES)
    asked = open_answers(answers[own], benchmarks)
    units = {
        name: item_grid(asked, benchmark).unit_of_item
        for name, benchmark in asked.benchmarks.items()
    }
    patterns = item_patterns(asked)
    rows = []
    for pair, pairs in patterns.groupby(list(PAIR_COLUMNS), sort=False):
        names = dict(zip(PAIR_COLUMNS, map(str, pair), strict=True))
        strategy = strategies[names["benchmark"], names["benchmark_version"], names["strategy"]]
        found = lists[names["benchmark"], names["benchmark_version"], str(strategy.retriever)]
        unit = pairs["item_id"].map(units[names["benchmark"]]).to_numpy(dtype=str)
        rows += list(_pair_rows(names, pairs, unit, strategy, found, alpha))
    return typed_rows(_in_order(rows, opened), EFFECT_COLUMNS, _TYPES)


def _pair_rows(
    names: Mapping[str, str],
    pairs: pd.DataFrame,
    units: Texts,
    strategy: Strategy,
    lists: Lists,
    alpha: float,
) -> Iterator[Row]:
    k = int(strategy.top_k or 0)
    snippets = np.full(len(pairs), "", dtype=object)
    for within, place in pairs.groupby("within").indices.items():
        variants = [
            lists.benchmark.variant(names["attribute"], names[side], str(within))
            for side in ("group_a", "group_b")
        ]
        kinds = {item: _kind(*(lists.first(k, item, v) for v in variants)) for item in lists.items}
        snippets[place] = pairs["item_id"].iloc[place].map(kinds).fillna("")
    snippets = snippets.astype(str)
    a, b, key = (pairs[c].to_numpy(dtype=str) for c in ("letter_a", "letter_b", "answer_key"))
    a_there, b_there = a != NO_LETTER, b != NO_LETTER
    both, changed = a_there & b_there, a != b
    if within := lists.benchmark.same_within:
        apart = np.abs(a[both].astype(np.float64) - b[both].astype(np.float64))
        changed[both] = apart > within * (1 + 1e-12)
    has_key = key != NO_LETTER
    members = {WRONG_A: has_key & a_there & (a != key), WRONG_B: has_key & b_there & (b != key)}
    if lists.benchmark.kind.name == "score" or not has_key.any():
        members = {}
    for of, own in (members | {ALL: np.ones(len(pairs), dtype=np.bool_)}).items():
        parts = snippets[own], changed[own], both[own], units[own]
        counted = _Pairs(*parts, alpha, lists.benchmark.cluster is not None)
        for metric, row in counted.rows():
            keys = {"retriever": strategy.retriever, "top_k": k, "of": of, "metric": metric}
            yield {**names, **keys, **row}


def _kind(a: tuple[str, ...], b: tuple[str, ...]) -> str:
    if a == b:
        return SAME
    return REORDERED if set(a) == set(b) else OTHER


@dataclass(frozen=True)
class _Pairs:
    """The pairs of one group of rows."""

    #: `SAME`, `REORDERED` or `OTHER`; empty for an item without snippets.
    snippets: Texts
    changed: Mask
    #: Whether both answers are present.
    answered: Mask
    #: The independent unit of each pair: its item, or its declared cluster.
    units: Texts
    alpha: float
    #: Whether units are declared clusters: differences then have no room for rare ones.
    clustered: bool = False

    def rows(self) -> Iterator[tuple[str, Row]]:
        retrieved = self.snippets != ""
        both = retrieved & self.answered
        same = both & (self.snippets == SAME)
        other = both & ~same
        cells = [
            kind & answer for kind in (same, other) for answer in (~self.changed, self.changed)
        ]
        for metric, cell in zip(CELLS, cells, strict=True):
            yield metric, self._share(cell, both)
        yield "reordered", self._share(self.snippets == REORDERED, both)
        yield CHANGED_SAME, self._share(self.changed, same)
        yield CHANGED_OTHER, self._share(self.changed, other)
        yield CHANGE_DIFFERENCE, self._difference(other, same)
        yield "counterpart_missing", self._share(~self.answered, retrieved)
        yield "not_retrieved", self._share(~retrieved, np.ones_like(retrieved))

    def _share(self, part: Mask, whole: Mask) -> Row:
        count, n = int((part & whole).sum()), int(whole.sum())
        effect = _effect(part[whole], self.units[whole], self.alpha)
        found = estimate_proportion(count, n, alpha=self.alpha, design_effect=effect)
        found = replace(found, method=naming_effect(str(found.method), effect))
        sizes = np.bincount(pd.factorize(self.units[whole])[0])
        units = effective_number(sizes) if len(sizes) < n else np.inf
        found = roomy(found, units, (0.0, 1.0), self.alpha)
        return found.to_row() | {"count": count, "method_note": "" if n else "no such pairs"}

    def _difference(self, other: Mask, same: Mask) -> Row:
        changed_other, n_other = int((self.changed & other).sum()), int(other.sum())
        changed_same, n_same = int((self.changed & same).sum()), int(same.sum())
        effect = max(
            _effect(self.changed[kind], self.units[kind], self.alpha) for kind in (other, same)
        )
        found = partly_paired_interval(
            *(0, 0, 0, 0),
            correct_a=changed_other,
            n_a=n_other,
            correct_b=changed_same,
            n_b=n_same,
            alpha=self.alpha,
            design_effect=effect,
        )
        method = naming_effect("newcombe, independent", effect)
        row = found.to_row() | {"ci_method": method, "count": 0, "n": n_other + n_same}
        if not (n_other and n_same):
            lacking = [name for name, n in ((OTHER, n_other), (SAME, n_same)) if n == 0]
            named = " and none with ".join(f"{name} snippets" for name in lacking)
            return row | {"method_note": f"no pairs with {named}, so no comparison"}

        counted = self.units[other | same]
        if len(np.unique(counted)) < len(counted):
            return (
                row
                | self._room_for(row, other, same)
                | {"method_note": f"several answers per item or cluster: no test; {NOT_CAUSAL}"}
            )
        table = [[changed_other, n_other - changed_other], [changed_same, n_same - changed_same]]
        p = float(scipy.stats.fisher_exact(table).pvalue)
        tested = {"p_value": min(max(p, LEAST_P), 1.0), "test": "fisher exact"}
        return row | tested | {"method_note": f"not adjusted; {NOT_CAUSAL}"}

    def _room_for(self, row: Row, other: Mask, same: Mask) -> Row:
        """Return limits at least as wide as those from both shares, which have room."""
        a, b = (self._share(self.changed, kind) for kind in (other, same))
        if self.clustered or not any(ROOM in str(one["ci_method"]) for one in (a, b)):
            return {}
        low, high = (
            float(np.hypot(a[end] - a["estimate"], b[opposite] - b["estimate"]))
            for end, opposite in (("ci_low", "ci_high"), ("ci_high", "ci_low"))
        )
        wide = row["estimate"] - low, row["estimate"] + high
        return {
            "ci_low": min(row["ci_low"], wide[0]),
            "ci_high": max(row["ci_high"], wide[1]),
            "ci_method": row["ci_method"] + ROOM,
        }


def _effect(successes: Mask, units: Texts, alpha: float) -> float:
    """Return the design effect of a share; 1 if each unit occurs once."""
    codes, names = pd.factorize(units)
    if len(names) == len(units):
        return 1.0
    cells = np.zeros((len(names), 2))
    np.add.at(cells, (codes, np.where(successes, 0, 1)), 1)
    share = float(successes.mean())
    return few_clusters_effect(cells, np.ones(len(names)), [1 - share, -share], alpha=alpha)


def _in_order(rows: list[Row], opened: Iterable[Lists]) -> list[Row]:
    """Sort units, with their pairs in the order of the benchmark."""
    places = {
        (lists.benchmark.name, attribute.name, *pair): place
        for lists in opened
        for place, (attribute, pair) in enumerate(
            (attribute, pair)
            for attribute in lists.benchmark.attributes.values()
            for pair in attribute.pairs
        )
    }

    def place(row: Row) -> tuple[Any, ...]:
        pair = tuple(row[name] for name in ("benchmark", "attribute", "group_a", "group_b"))
        return (*(row[name] for name in UNIT_COLUMNS), places[pair])

    return sorted(rows, key=place)
