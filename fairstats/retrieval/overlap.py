"""Overlap of the snippets retrieved for different groups, and of the replies to them, as texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.problems import input_error
from fairstats._lib.result_objects import Estimate
from fairstats._lib.table_schemas import typed_rows
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_answers
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, POOLED, Benchmark
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.inference._checks import check_alpha, check_whole
from fairstats.inference.item_bootstrap import STEPS, bounded_mean_interval
from fairstats.inference.unit_means import mean_over_units
from fairstats.metrics.metric import roomy
from fairstats.retrieval.variant_lists import Lists, open_retrievals

_LISTS = ("benchmark", "benchmark_version", "retriever", "top_k", "attribute")
#: Columns of the table from `retrieval_overlap`, in order.
OVERLAP_COLUMNS = (
    *_LISTS,
    "measure",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "n",
    "n_identical",
    "n_empty",
    "n_left_out",
    "settings",
    "corpus",
    "corpus_sha256",
    "method_note",
)
#: Columns of the table from `overlap_of_items`, in order.
ITEM_OVERLAP_COLUMNS = (*_LISTS, "item_id", "variants", "common", "union", "iou", "jaccard")
#: Columns of the table from `text_overlap`, in order.
TEXT_OVERLAP_COLUMNS = (
    *PAIR_COLUMNS,
    "measure",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "n",
    "n_pairs",
    "n_identical",
    "n_missing",
    "n_without_words",
)
MEASURES = ("iou", "jaccard")
ROUGE_L = "rouge_l"
#: Depths reported in addition to a table's depth; they are usual in the field.
USUAL_TOP_K = (10, 15, 20)

_WHOLE = (
    *("top_k", "n", "n_identical", "n_empty", "n_left_out", "variants", "common", "union"),
    *("n_pairs", "n_missing", "n_without_words"),
)
_NUMBER = ("estimate", "ci_low", "ci_high", "ci_level", *MEASURES)
_TYPES = dict.fromkeys(_WHOLE, "int64") | dict.fromkeys(_NUMBER, "float64")
Row = dict[str, Any]


def retrieval_overlap(
    retrievals: pd.DataFrame,
    *,
    top_k: Iterable[int] | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute the mean overlap of the snippets retrieved for the variants of an item.

    With S_1, …, S_m the sets of the first k snippets of an item's m variants, the estimand is the
    mean over items of

        iou = |S_1 ∩ … ∩ S_m| / |S_1 ∪ … ∪ S_m|
        jaccard = mean over all pairs of variants i < j of |S_i ∩ S_j| / |S_i ∪ S_j|

    Parameters
    ----------
    retrievals : pandas.DataFrame
        As from `fairstats.retrieval.retrievals_table.read_retrievals`.
    top_k : iterable of int, optional
        The values of k; by default 10, 15, 20 and the last rank of each retriever, up to the depth
        of its lists.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `OVERLAP_COLUMNS`, one row per benchmark version, retriever, k, attribute and measure. An
        attribute's row is over its groups; without variants of its own, it is over crossed ones,
        averaged over the groups of the other attribute. ``pooled`` is over all demographic variants
        of the item; ``baseline`` is separate. ``n`` is the number of items, and ``n_identical`` the
        number with identical sets, including ``n_empty`` without any retrieved snippets.
        ``n_left_out`` is the number of the benchmark's other items. The limits are those of the
        bootstrap over items, without a seed (`fairstats.inference.item_bootstrap`), with items
        resampled with all their variants. If the benchmark's file of items has clusters, they are
        those of `fairstats.inference.unit_means.unit_mean`. Clusters that only the answers have are
        unknown here, and items count as independent.

    Raises
    ------
    InputError
        If a table violates its schema or contains names that its benchmark does not declare, or its
        lists end before a requested k.
    ValueError
        For a k below 1.

    Notes
    -----
    The two measures are equal for two variants. For more variants, iou counts what all have in
    common and is lower.

    A variant without a row is one without retrieved snippets. Two such variants have the same
    context, with overlap 1. Such a variant and one with snippets have overlap 0. An item without a
    snippet for any variant is left out and counted, since a table does not show whether it was
    searched for. If a group has no snippet for any item, all items are left out, and the estimate
    is NaN. Lists shorter than k are used as they are.

    References
    ----------
    Jaccard (1912), New Phytologist 11:37-50. The interval is checked against enumeration and
    `scipy.stats.bootstrap`.

    Examples
    --------
    >>> sha = "0" * 64
    >>> found = {"white": ["s1", "s2"], "black": ["s2", "s3"]}
    >>> retrievals = pd.DataFrame([
    ...     dict(benchmark="demo", benchmark_version="1", item_id="demo-01", attribute="race",
    ...          group=group, retriever="bm25", rank=rank, snippet_id=snippet, score=1 / rank,
    ...          snippet_sha256=sha, settings="-", corpus="primer", corpus_sha256=sha,
    ...          query_sha256={"white": "1" * 64, "black": "2" * 64}[group])
    ...     for group, snippets in found.items() for rank, snippet in enumerate(snippets, 1)])
    >>> table = retrieval_overlap(retrievals)
    >>> row = table[(table["attribute"] == "race") & (table["measure"] == "iou")].iloc[0]
    >>> round(float(row["estimate"]), 3), int(row["n"]), int(row["n_left_out"])
    (0.333, 1, 23)
    """
    alpha = check_alpha(alpha)
    rows = (
        row
        for lists in open_retrievals(retrievals, benchmarks)
        for k in _depths(lists, top_k)
        for attribute in _attributes(lists)
        for row in _overlap_rows(lists, k, attribute, alpha)
    )
    return typed_rows(rows, OVERLAP_COLUMNS, _TYPES)


def overlap_of_items(
    retrievals: pd.DataFrame,
    *,
    top_k: Iterable[int] | None = None,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute the overlap of the snippets retrieved for the variants of each item.

    These are `ITEM_OVERLAP_COLUMNS` for each item that `retrieval_overlap` counts, which has the
    same parameters and errors: the number of ``variants``, the number of snippets in the lists of
    all of them (``common``) and of any (``union``), and both measures. For an attribute without
    variants of its own, the numbers are summed, and the measures averaged, over the groups of the
    one that it is crossed with.
    """
    rows = (
        row
        for lists in open_retrievals(retrievals, benchmarks)
        for k in _depths(lists, top_k)
        for attribute in _attributes(lists)
        for row in _item_rows(lists, k, attribute)
    )
    return typed_rows(rows, ITEM_OVERLAP_COLUMNS, _TYPES)


def usual_depths(depth: int) -> list[int]:
    """Return 10, 15 and 20, up to the depth of the lists, and the depth itself.

    Examples
    --------
    >>> usual_depths(17), usual_depths(4)
    ([10, 15, 17], [4])
    """
    return sorted({depth, *(k for k in USUAL_TOP_K if k <= depth)})


def _depths(lists: Lists, top_k: Iterable[int] | None) -> list[int]:
    if top_k is None:
        return usual_depths(lists.depth)
    if isinstance(top_k, str | int | float) or not (listed := list(top_k)):
        raise ValueError(f"top_k={top_k!r} must be a list of ranks of at least 1, e.g. [5, 10]")
    asked = sorted({check_whole("top_k", k, example=10) for k in listed})
    if asked[-1] > lists.depth:
        message = f"the lists of {lists.retriever} end at rank {lists.depth}"
        raise input_error(
            "top_k", message, "use fewer ranks, or retrieve more snippets", value=str(asked[-1])
        )
    return asked


def _attributes(lists: Lists) -> list[str]:
    names = [*lists.benchmark.varied_names, POOLED]
    return names + [BASELINE] * (BASELINE in lists.benchmark.attributes)


def _compared(lists: Lists, attribute: str) -> list[list[tuple[str, str]]]:
    """Return the variants that are compared; crossed ones for each group of the other attribute."""
    if attribute == POOLED:
        varied = lists.benchmark.varied_names
        return [[variant for variant in lists.variants if variant[0] in varied]]
    of = lists.benchmark.attributes[attribute]
    source = lists.variants_from.get(attribute, of)
    layers = source.layers(of).values()
    return [[(source.name, layer[group]) for group in of.groups] for layer in layers]


def _keys(lists: Lists, k: int, attribute: str) -> Row:
    names = (lists.benchmark.name, lists.version, lists.retriever, k, attribute)
    return dict(zip(_LISTS, names, strict=True))


def _item_rows(lists: Lists, k: int, attribute: str) -> Iterator[Row]:
    compared = _compared(lists, attribute)
    if lists.absent(chain(*compared)):
        return
    keys = _keys(lists, k, attribute)
    for item in lists.items:
        rows = [_overlap([frozenset(lists.first(k, item, one)) for one in own]) for own in compared]
        sums = {name: sum(row[name] for row in rows) for name in rows[0]}
        # Exact up to this point: equal overlaps give the same number, in any order of variants.
        means = {measure: float(sums[measure] / len(rows)) for measure in MEASURES}
        yield keys | {"item_id": item} | sums | means


def _overlap(sets: Sequence[frozenset[str]]) -> dict[str, Fraction]:
    common, union = frozenset.intersection(*sets), frozenset.union(*sets)
    shares = [_share(a & b, a | b) for a, b in combinations(sets, 2)]
    found = {"variants": len(sets), "common": len(common), "union": len(union)}
    measures = {"iou": _share(common, union), "jaccard": sum(shares) / len(shares)}
    return {name: Fraction(value) for name, value in (found | measures).items()}


def _share(common: frozenset[str], union: frozenset[str]) -> Fraction:
    # Two contexts without snippets are the same context.
    return Fraction(len(common), len(union)) if union else Fraction(1)


def _overlap_rows(lists: Lists, k: int, attribute: str, alpha: float) -> Iterator[Row]:
    items = typed_rows(_item_rows(lists, k, attribute), ITEM_OVERLAP_COLUMNS, _TYPES)
    intervals: dict[bytes, Row] = {}
    clusters = lists.benchmark.clusters
    for measure in MEASURES:
        values = items[measure].to_numpy(dtype=np.float64)
        # The measures are equal for two variants, so the expensive step runs once.
        if values.tobytes() not in intervals:
            found = _mean(items.set_index("item_id")[measure], clusters, alpha)
            intervals[values.tobytes()] = found.to_row()
        rounded = len(np.unique(values)) > 2 and not clusters
        note = f"limits: overlaps rounded to 1/{STEPS:,}" if rounded else ""
        if absent := lists.absent(chain(*_compared(lists, attribute))):
            note = f"no snippets for {', '.join(' '.join(variant) for variant in absent)}"
        yield (
            _keys(lists, k, attribute)
            | intervals[values.tobytes()]
            | {
                "measure": measure,
                "n_identical": int((items["common"] == items["union"]).sum()),
                "n_empty": int((items["union"] == 0).sum()),
                "n_left_out": len(lists.benchmark.items) - len(items),
                "settings": lists.settings,
                "corpus": lists.corpus,
                "corpus_sha256": lists.corpus_sha256,
                "method_note": note,
            }
        )


def _mean(values: pd.Series[float], clusters: Mapping[str, str], alpha: float) -> Estimate:
    """Return the mean of the items' values, with limits over items, or over clusters if listed."""
    numbers = values.to_numpy(dtype=np.float64)
    if not (clusters and len(numbers)):
        kinds, many = np.unique(numbers, return_counts=True)
        return bounded_mean_interval(kinds, many, alpha=alpha)
    # An item that is not listed is a cluster by itself.
    units = np.array([clusters.get(str(item), f"\0{item}") for item in values.index])
    once = np.ones(len(numbers), dtype=np.int64)
    found = mean_over_units(numbers, once, units, limits=(0.0, 1.0), alpha=alpha)
    return replace(found, n=np.asarray(len(numbers)))


def text_overlap(
    answers: pd.DataFrame,
    *,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute the mean ROUGE-L of the replies to the two variants of a counterfactual pair.

    With L the length of the longest common subsequence of the words of two replies of m and n
    words, ROUGE-L is the F-measure of L / m and L / n, which is 2 L / (m + n). The estimand is its
    mean over items (averaged first over an item's samples).

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers with their replies in ``answer_raw``.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `TEXT_OVERLAP_COLUMNS`, one row per unit and pair of groups that were asked. ``n`` is the
        number of items, ``n_pairs`` the number of pairs that count (one per sample), and
        ``n_identical`` the number with the same words. Left out are pairs with a missing reply
        (``n_missing``) and pairs in which neither reply has words (``n_without_words``). Limits are
        those of the bootstrap over items, without a seed (`fairstats.inference.item_bootstrap`),
        with room for rare unlike replies (`fairstats.inference.verdict.with_room`), or of
        `fairstats.inference.unit_means.unit_mean` if the benchmark declares a cluster.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if the answers have no ``answer_raw`` or have duplicates.

    Notes
    -----
    Words are those of the library rouge-score: lower-case runs of a to z and 0 to 9, without
    stemming. A reply in another script has no words. ROUGE-L measures how similarly two texts are
    written, not whether they mean the same. Replies of one letter are identical or not, as their
    answers are.

    If 2% of 15 to 200 pairs of replies are unlike, and the others nearly the same, limits cover in
    97% or more, without room in 36 to 96% (2,000 simulations each, benchmarks/overlap_coverage.py).

    References
    ----------
    Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop Text
    Summarization Branches Out; Hyyrö (2004), Bit-parallel LCS-length computation revisited, for
    the subsequence. Checked against `rouge_score.rouge_scorer`.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            item_id="demo-01", answer_key="C", attribute="race", answer=None)
    >>> answers = pd.DataFrame([row | dict(group="white", answer_raw="Give aspirin now."),
    ...                         row | dict(group="black", answer_raw="Give heparin now.")])
    >>> text_overlap(answers)["estimate"].round(3).tolist()
    [0.667]
    """
    alpha = check_alpha(alpha)
    if "answer_raw" not in answers:
        remedy = "collect the answers with their replies"
        raise input_error(
            "<answers>", "the answers contain no replies", remedy, column="answer_raw"
        )
    if answers.duplicated(list(KEY_COLUMNS)).any():
        message, remedy = "an answer appears more than once", "delete one"
        raise input_error("<answers>", message, remedy)
    opened = open_answers(answers, benchmarks)
    words = _words(answers["answer_raw"])
    rows = [
        dict(zip(PAIR_COLUMNS, (*unit, attribute.name, *pair), strict=True))
        | _pair(own, words, pair, source.layers(attribute), _clusters(own, benchmark), alpha)
        for unit, of_unit in answers.groupby(list(UNIT_COLUMNS), sort=True)
        for benchmark, attribute, source in opened.asked()
        if benchmark.name == unit[0]
        if len(own := of_unit[of_unit["attribute"] == source.name])
        for pair in attribute.pairs
    ]
    return typed_rows(rows, TEXT_OVERLAP_COLUMNS, _TYPES)


def rouge_l(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Return the ROUGE-L F-measure of two sequences of words; 0 if one is empty.

    Examples
    --------
    >>> rouge_l("a b c d".split(), "a c e".split())
    0.5714285714285714
    """
    return 2 * _common(a, b) / (len(a) + len(b)) if len(a) and len(b) else 0.0


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence.

    A column of the table of lengths is stored as the bits of one number, 0 if the length grows. So
    replies of thousands of words take negligible time.
    """
    places: dict[Hashable, int] = {}
    for place, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << place
    everything = (1 << len(a)) - 1
    column = everything
    for word in b:
        matches = column & places.get(word, 0)
        column = (column + matches | column - matches) & everything
    return len(a) - column.bit_count()


def _words(replies: pd.Series) -> dict[str, list[str]]:
    """Return the words of each distinct reply."""
    from rouge_score.tokenizers import DefaultTokenizer

    tokenizer = DefaultTokenizer(use_stemmer=False)
    return {text: tokenizer.tokenize(text) for text in replies.dropna().astype("str").unique()}


def _clusters(own: pd.DataFrame, benchmark: Benchmark) -> Mapping[str, str]:
    """Return the declared cluster of each item, from the benchmark's files or the answers."""
    if benchmark.cluster is None or benchmark.clusters or "cluster" not in own:
        return benchmark.clusters
    return dict(zip(own["item_id"].astype("str"), own["cluster"].astype("str"), strict=True))


def _pair(
    own: pd.DataFrame,
    words: Mapping[str, list[str]],
    pair: tuple[str, str],
    layers: Mapping[str, Mapping[str, str]],
    clusters: Mapping[str, str],
    alpha: float,
) -> Row:
    replies = own.set_index(["item_id", "sample"]).groupby("group")["answer_raw"]
    of = dict(iter(replies))
    none = own.iloc[:0].set_index(["item_id", "sample"])["answer_raw"]
    sides = [
        pd.concat({other: of.get(layer[group], none) for other, layer in layers.items()})
        for group in pair
    ]
    both = pd.concat(sides, axis=1, keys=["a", "b"]).sort_index()
    there = both.dropna().astype("str")
    found = [(words[a], words[b]) for a, b in zip(there["a"], there["b"], strict=True)]
    said = np.array([bool(a or b) for a, b in found], dtype=np.bool_)
    scores = pd.Series([rouge_l(a, b) for a, b in found], index=there.index, dtype="float64")[said]
    # Average over the samples of an item.
    means = scores.groupby(level="item_id").mean().clip(0.0, 1.0)
    interval = _mean(means, clusters, alpha)
    if not clusters:
        # Even if few pairs of replies are unlike, a sample may have none.
        interval = roomy(interval, len(means), (0.0, 1.0), alpha)
    return interval.to_row() | {
        "measure": ROUGE_L,
        "n_pairs": len(scores),
        "n_identical": sum(a == b for a, b in found if a),
        "n_missing": len(both) - len(there),
        "n_without_words": int((~said).sum()),
    }
