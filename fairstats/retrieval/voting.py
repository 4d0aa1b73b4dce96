"""Majority vote: one answer, or one reply, for all demographic variants of an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import InputError, input_error
from fairstats._lib.result_objects import Estimate, FloatArray
from fairstats._lib.table_schemas import typed_rows
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.answers.schema import REQUIRED_COLUMNS
from fairstats.answers.strategies import MAJORITY_VOTE, read_strategy, votes_among
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.counts.grid import NOT_ASKED, Grid, IntArray, item_grid
from fairstats.inference._checks import check_alpha, check_choice, check_number, check_numbers
from fairstats.inference.intervals import wilson
from fairstats.inference.unit_means import mean_over_units, unit_mean
from fairstats.metrics.metric import roomy

#: Columns of the table from `vote_counts`, in order.
VOTE_COLUMNS = (
    *UNIT_COLUMNS,
    "items",
    "n",
    "n_unanimous",
    "n_ties",
    "n_ties_with_key",
    "n_unanswered",
    "n_right",
    "n_wrong",
    "n_right_against_most",
    "winner_share",
    "score",
    "score_low",
    "score_high",
    "accuracy_vote",
    "accuracy_vote_low",
    "accuracy_vote_high",
    "accuracy_single",
    "accuracy_gain",
    "accuracy_gain_low",
    "accuracy_gain_high",
    "ci_level",
    "ci_method",
    "method_note",
)
_ITEM = [*UNIT_COLUMNS, "item_id", "sample"]
#: Columns of the table from `majority_answer`, in order.
MAJORITY_COLUMNS = (*_ITEM, "texts", "attribute", "group", "answer_raw")
Linkage = Literal["average", "complete"]
#: A function from texts to vectors, one row per text.
Embed = Callable[[Sequence[str]], npt.ArrayLike]
#: Cosine similarity from which texts count as similar. The value is a choice and depends on the
#: embedding.
SIMILARITY = 0.8
# Rows of the grid that are voted on at a time.
_BLOCK = 2**17
OPEN_VOTE = f"{MAJORITY_VOTE}_open"

_TEXTS = (*UNIT_COLUMNS, "ci_method", "method_note")
_TYPES = {
    name: "int64" if name == "items" or name.startswith("n") else "float64"
    for name in VOTE_COLUMNS
    if name not in _TEXTS
}


def majority_vote(
    answers: pd.DataFrame, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> pd.DataFrame:
    """Let the demographic variants of each item vote on one answer for all of them.

    The vote is the most frequent letter among the answers to an item's demographic variants, for
    one model, strategy and sample.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers; existing votes are left out.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        New answers with the strategy's voted name, e.g. ``majority_vote+bm25@10``, for the same
        variants: each demographic variant has the vote. ``collector`` is ``majority_vote``; of the
        other optional columns, ``answer_key``, ``cluster`` and ``snapshot`` are kept. The
        baseline's variants do not vote and keep their answers.

    Raises
    ------
    InputError
        As `fairstats.analyze`, and if there is no answer to vote on.

    Notes
    -----
    A missing answer does not vote. If two letters are equally frequent, or all answers are missing,
    the vote is null with status ``unparsed``.

    Since all variants of an item get one answer, CFR is 1 and AD, DP and EO are 0 by construction.
    This holds if every variant has a row, under policies that leave out missing answers. So these
    metrics carry no information on the model. Accuracy and the number of ties do: see
    `vote_counts`. A release does not accept votes as answers; a separate table in it reports them.

    References
    ----------
    Wang et al. (2023), Self-Consistency Improves Chain of Thought Reasoning, ICLR, for the vote
    over several answers of a model.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            item_id="demo-01", answer_key="C", status="ok")
    >>> answers = pd.DataFrame([row | dict(attribute="race", group="white", answer="C"),
    ...                         row | dict(attribute="race", group="black", answer="B"),
    ...                         row | dict(attribute="sex", group="male", answer="C")])
    >>> majority_vote(answers)[["strategy", "answer"]].values.tolist()
    [['majority_vote', 'C'], ['majority_vote', 'C'], ['majority_vote', 'C']]
    """
    opened = open_answers(answers, benchmarks)
    names = answers["strategy"].astype("str")
    single = answers[~names.isin(votes_among(names.unique()))]
    if (single["attribute"] == BASELINE).all():
        raise _nothing_to_vote_on()
    return _with_votes(single, _vote_table(opened), MAJORITY_VOTE)


def vote_counts(
    answers: Any,
    *,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Count what a majority vote over the demographic variants of each item would give.

    There are two estimands. The accuracy of the vote is correct votes over votes without ties. The
    gain is the mean, over the same items, of 1 or 0 for the vote minus the item's share of correct
    answers.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        Answers; existing votes are left out.
    alpha : float
        1 − confidence level.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.

    Returns
    -------
    pandas.DataFrame
        `VOTE_COLUMNS`, one row per unit. Decisions, levels and scores have none.

        ``items``, ``n``
            Items, and votes: one per sample of an item.
        ``n_unanimous``
            Votes with the same letter in all available answers.
        ``n_ties``, ``n_ties_with_key``, ``n_unanswered``
            Votes without a result: two or more letters are equally frequent; the key is one of
            them; all answers are missing.
        ``n_right``, ``n_wrong``, ``n_right_against_most``
            Votes that are correct, or wrong; correct ones with less than half of the answers.
        ``winner_share``
            The mean share of the answers that gave the winning letter.
        ``score``
            The mean share of right answers per item, over all items with an answer, with limits.
            This is the usual published score of a strategy. Missing answers are left out under
            every policy.
        ``accuracy_vote``, ``accuracy_single``, ``accuracy_gain``
            Correct votes over votes with a result, the mean share of right answers to the same
            items, and the difference, with limits.

    Raises
    ------
    InputError
        As `fairstats.analyze`.

    Notes
    -----
    The limits of the accuracy are Wilson's. Those of the score and the gain, and all for clusters,
    are those of `fairstats.inference.unit_means.unit_mean`. Those of the score have room for rare
    items that all variants get wrong (`fairstats.inference.verdict.with_room`), unless items have
    clusters. With several samples of an item there are no limits, since votes on one item are not
    independent. If no vote has a result, the estimates are NaN.

    References
    ----------
    Wilson (1927), JASA 22:209-212; Efron (1987), JASA 82:171-185.

    Examples
    --------
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            item_id="demo-01", answer_key="C", attribute="race")
    >>> answers = pd.DataFrame([row | dict(group="white", answer="C"),
    ...                         row | dict(group="black", answer="B")])
    >>> vote_counts(answers)[["n", "n_ties", "n_ties_with_key", "n_right"]].values.tolist()
    [[1, 1, 1, 0]]
    """
    alpha = check_alpha(alpha)
    if isinstance(answers, pd.DataFrame) and answers.empty:
        return typed_rows([], VOTE_COLUMNS, _TYPES)
    # Votes are compared with the key.
    opened = open_answers(answers, benchmarks).choices()
    rows = []
    for own, unit, votes in _votes_of(opened):
        cluster = own.cluster[own.span(unit)][votes.row] if len(own.cluster) else None
        names = dict(zip(UNIT_COLUMNS, own.units.iloc[unit], strict=True))
        rows.append(names | _count(votes, alpha, cluster))
    return typed_rows(rows, VOTE_COLUMNS, _TYPES)


def _nothing_to_vote_on() -> InputError:
    remedy = "give answers to demographic variants that are not votes themselves"
    return input_error("<answers>", "there are no answers to vote on", remedy)


def _with_votes(single: pd.DataFrame, votes: pd.DataFrame, collector: str) -> pd.DataFrame:
    """Return the answers that voted, with the columns of their items' votes for all variants."""
    changed = [column for column in votes if column not in _ITEM]
    optional = [c for c in ("answer_key", "cluster", "snapshot") if c in single]
    columns = [*REQUIRED_COLUMNS, *(c for c in changed if c not in REQUIRED_COLUMNS), *optional]
    voted = single[columns].reset_index(drop=True)
    demographic = voted["attribute"] != BASELINE
    own = voted[_ITEM].merge(votes, on=_ITEM, how="left", validate="m:1")
    clustered = collector == OPEN_VOTE
    names = {
        name: replace(read_strategy(name), voted=True, clustered=clustered).name
        for name in voted["strategy"].unique()
    }
    return voted.assign(
        strategy=voted["strategy"].map(names),
        collector=collector,
        **{column: voted[column].mask(demographic, own[column]) for column in changed},
    )


@dataclass(frozen=True, eq=False)
class _Votes:
    """The votes of one answer set: one per item and sample, in this order.

    `row` is the item's row in the grid, `most` the number of answers with the most frequent option,
    `leaders` the number of such options, and `winner` the first of them.
    """

    row: IntArray
    sample: IntArray
    key: IntArray
    winner: IntArray
    leaders: IntArray
    most: IntArray
    answers: IntArray
    right: IntArray


def _votes(grid: Grid, unit: int) -> _Votes | None:
    """Return the votes of an answer set, or None if it was asked no demographic variant."""
    columns = [place for (attribute, _), place in grid.columns.items() if attribute != BASELINE]
    parts = []
    # In blocks of rows: the places of all answers would be much larger than the votes.
    for number, block in enumerate(grid.of_unit(unit).blocks(_BLOCK)):
        part = _block_votes(block, columns)
        parts.append(replace(part, row=part.row + number * _BLOCK))
    found = _Votes(
        *(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(_Votes))
    )
    return found if len(found.row) else None


def _block_votes(grid: Grid, columns: list[int]) -> _Votes:
    """Return the votes of some rows of an answer set, none if these variants were not asked."""
    given, numbers = grid.answers[:, columns], grid.numbers[:, columns]
    row, variant, turn = np.nonzero(given != NOT_ASKED)
    answer, number = given[row, variant, turn], numbers[row, variant, turn]
    samples, place = np.unique(number, return_inverse=True)
    votes, vote = np.unique(row * len(samples) + place, return_inverse=True)
    size, there = len(grid.options), answer >= 0
    cells = vote[there] * size + answer[there]
    counts = np.bincount(cells, minlength=len(votes) * size).reshape(-1, size)
    most, asked = counts.max(axis=1), votes // max(len(samples), 1)
    key = grid.key[asked].astype(np.int64)
    return _Votes(
        asked,
        samples[votes % max(len(samples), 1)],
        key,
        counts.argmax(axis=1),
        np.where(most > 0, (counts == most[:, None]).sum(axis=1), 0),
        most,
        counts.sum(axis=1),
        np.where(key < 0, 0, counts[np.arange(len(votes)), key]),
    )


def _votes_of(opened: OpenAnswers) -> Iterator[tuple[Grid, int, _Votes]]:
    """Yield the votes of each answer set that is not itself of votes."""
    for _, benchmark in sorted(opened.benchmarks.items()):
        own = item_grid(opened, benchmark)
        voted = votes_among(own.units["strategy"].unique())
        for unit, strategy in enumerate(own.units["strategy"]):
            votes = None if strategy in voted else _votes(own, unit)
            if votes is not None:
                yield own, unit, votes


def _vote_table(opened: OpenAnswers) -> pd.DataFrame:
    """Return the vote on each item and sample, as an answer; it is null without a winner."""
    tables = []
    for own, unit, votes in _votes_of(opened):
        options = np.array([*own.options, None], dtype=object)
        answer = options[np.where(votes.leaders == 1, votes.winner, -1)]
        columns = {
            "item_id": own.items[own.span(unit)][votes.row],
            "sample": votes.sample,
            "answer": answer,
            "status": np.where(pd.isna(answer), "unparsed", "ok"),
        }
        tables.append(pd.DataFrame(columns).assign(**own.units.iloc[unit]))
    found = pd.concat(tables, ignore_index=True)[[*_ITEM, "answer", "status"]]
    return found.astype({name: "str" for name in found if name != "sample"})


def _mean_limits(
    values: FloatArray, units: IntArray | None, limits: tuple[float, float], alpha: float
) -> Estimate:
    """Return the interval of a mean over items, or over clusters of items."""
    if units is None:
        # A share of the answers to an item has few values.
        values, many = np.unique(values, return_counts=True)
        return unit_mean(values, np.ones_like(many), many, limits=limits, alpha=alpha)
    return mean_over_units(values, np.ones_like(units), units, limits=limits, alpha=alpha)


def _count(own: _Votes, alpha: float, units: IntArray | None) -> dict[str, Any]:
    decided, answered = own.leaders == 1, own.answers > 0
    vote_right = own.winner[decided] == own.key[decided]
    single = own.right[decided] / own.answers[decided]
    score = own.right[answered] / own.answers[answered]
    tie = own.leaders > 1
    items = len(np.unique(own.row))
    n_right = int(vote_right.sum())
    row: dict[str, Any] = {
        "items": items,
        "n": len(own.row),
        "n_unanimous": int(((own.most == own.answers) & answered).sum()),
        "n_ties": int(tie.sum()),
        "n_ties_with_key": int((tie & (own.right == own.most)).sum()),
        "n_unanswered": int((~answered).sum()),
        "n_right": n_right,
        "n_wrong": len(vote_right) - n_right,
        "n_right_against_most": int((vote_right & (single < 0.5)).sum()),
        "score": _mean(score),
        "winner_share": _mean(own.most[decided] / own.answers[decided]),
        "accuracy_vote": _mean(vote_right.astype(np.float64)),
        "accuracy_single": _mean(single),
        "accuracy_gain": _mean(vote_right - single),
        "ci_level": 1 - alpha,
    }
    if len(own.row) > items:
        return row | {"ci_method": "none", "method_note": "several samples per item: no interval"}
    with_result, with_answer = (None if units is None else units[at] for at in (decided, answered))
    accuracy = wilson(n_right, len(vote_right), alpha=alpha)
    if with_result is not None:
        accuracy = _mean_limits(vote_right.astype(np.float64), with_result, (0.0, 1.0), alpha)
    gain = _mean_limits(vote_right - single, with_result, (-1.0, 1.0), alpha)
    of_items = _mean_limits(score, with_answer, (0.0, 1.0), alpha)
    if units is None and own.answers.max(initial=0) > 1:
        of_items = roomy(of_items, max(len(score), 1), (0.0, 1.0), alpha)
    return row | {
        "score_low": float(of_items.ci_low),
        "score_high": float(of_items.ci_high),
        "accuracy_vote_low": float(accuracy.ci_low),
        "accuracy_vote_high": float(accuracy.ci_high),
        "accuracy_gain_low": float(gain.ci_low),
        "accuracy_gain_high": float(gain.ci_high),
        "ci_method": f"score: {of_items.method}; accuracy: {accuracy.method}; gain: {gain.method}",
        "method_note": "" if len(vote_right) else "no vote has a result",
    }


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def largest_cluster(
    embeddings: npt.ArrayLike, *, similarity: float = SIMILARITY, linkage: Linkage = "average"
) -> int | None:
    """Return the medoid of the largest cluster of vectors.

    Clusters are from agglomerative clustering by cosine distance, cut at 1 − `similarity`. The
    medoid is the member with the highest mean cosine similarity to the members.

    Parameters
    ----------
    embeddings : array_like of float, shape (n, d)
        One vector per text, of any non-zero length.
    similarity : float
        In (−1, 1]: the similarity at which clusters are cut.
    linkage : {"average", "complete"}
        Whether the mean or the lowest similarity between two clusters has to reach it.

    Returns
    -------
    int or None
        The index of the medoid; the first if two are equally central. None if the two largest
        clusters have equal size, or there are no vectors. The same vectors give the same index.

    Raises
    ------
    ValueError
        For a wrong shape, a vector that is 0 or not finite, or an unknown linkage.

    References
    ----------
    Kaufman & Rousseeuw (1990), Finding Groups in Data; `scipy.cluster.hierarchy`.

    Examples
    --------
    >>> largest_cluster([[1, 0], [0, 1], [0.1, 1]])
    1
    >>> largest_cluster([[1, 0], [0, 1]]) is None
    True
    """
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as agglomerate
    from scipy.spatial.distance import squareform

    vectors = check_numbers("embeddings", embeddings)
    check_choice("linkage", linkage, get_args(Linkage))
    similarity = check_number("similarity", similarity, low=-1, high=1, example="0.8")
    if similarity == -1:
        raise ValueError(f"similarity={similarity!r} must be above -1, e.g. 0.8")
    if vectors.size == 0:
        return None
    if vectors.ndim != 2:
        raise ValueError(f"embeddings must have shape (n, d); got {vectors.shape}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("an embedding is 0 or not finite, so it has no direction")
    if len(vectors) == 1:
        return 0
    unit = vectors / lengths
    cosine = np.clip(unit @ unit.T, -1.0, 1.0)
    distance = squareform(1 - cosine, checks=False)
    # Equal texts may differ in the last digit, for any cut.
    clusters = fcluster(agglomerate(distance, linkage), 1 - similarity + 1e-9, "distance")
    names, sizes = np.unique(clusters, return_counts=True)
    largest = names[sizes == sizes.max()]
    if len(largest) > 1:
        return None
    members = np.flatnonzero(clusters == largest[0])
    central = cosine[np.ix_(members, members)].mean(axis=1)
    return int(members[np.flatnonzero(central >= central.max() - 1e-12)[0]])


def majority_answer(
    answers: pd.DataFrame,
    embed: Embed,
    *,
    similarity: float = SIMILARITY,
    linkage: Linkage = "average",
) -> pd.DataFrame:
    """Return the reply that represents most replies to the demographic variants of each item.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers with their replies in ``answer_raw``; existing votes are left out.
    embed : callable
        Returns a vector for each text in a list; each distinct text is embedded once.
    similarity, linkage
        As in `largest_cluster`.

    Returns
    -------
    pandas.DataFrame
        `MAJORITY_COLUMNS`, one row per item and sample of each unit: the number of non-empty
        replies (``texts``), and the medoid reply of their largest cluster, with its variant. These
        are null if the two largest clusters have equal size, or there are no replies.
    """
    if "answer_raw" not in answers:
        message = "the answers contain no replies"
        remedy = "vote on letters, or collect the answers with their replies"
        raise input_error("<answers>", message, remedy, column="answer_raw")
    names = answers["strategy"].astype("str")
    voted = names.isin(votes_among(names.unique()))
    rows = answers[(answers["attribute"] != BASELINE) & ~voted]
    rows = rows.sort_values([*_ITEM, "attribute", "group"], ignore_index=True)
    texts = rows["answer_raw"].astype("str").fillna("").str.strip()
    distinct = sorted(set(texts) - {""})
    vectors = np.asarray(embed(distinct), dtype=np.float64) if distinct else np.empty((0, 1))
    if vectors.ndim != 2 or len(vectors) != len(distinct):
        raise ValueError(f"embed returned shape {vectors.shape} for {len(distinct)} texts")
    place = {text: number for number, text in enumerate(distinct)}
    found = []
    for item, own in rows.groupby(_ITEM, sort=True):
        there = [index for index in own.index if texts[index]]
        own_vectors = vectors[[place[texts[index]] for index in there]]
        medoid = largest_cluster(own_vectors, similarity=similarity, linkage=linkage)
        row = None if medoid is None else rows.loc[there[medoid]]
        said = [None, None, None] if row is None else [row[c] for c in MAJORITY_COLUMNS[-3:]]
        found.append([*item, len(there), *said])
    table = pd.DataFrame(found, columns=list(MAJORITY_COLUMNS))
    whole = dict.fromkeys(("sample", "texts"), "int64")
    return table.astype(dict.fromkeys(MAJORITY_COLUMNS, "str") | whole)


def open_vote(
    answers: pd.DataFrame,
    embed: Embed,
    *,
    similarity: float = SIMILARITY,
    linkage: Linkage = "average",
) -> pd.DataFrame:
    """Give the demographic variants of each item the reply that represents most of them.

    Returns
    -------
    pandas.DataFrame
        New answers in the form of `majority_vote`: each demographic variant has the reply
        of `majority_answer`, with its parsed letter and status, or no reply and status
        ``unparsed``. ``collector`` is ``majority_vote_open``.
    """
    chosen = majority_answer(answers, embed, similarity=similarity, linkage=linkage)
    if chosen.empty:
        raise _nothing_to_vote_on()
    where = [*_ITEM, "attribute", "group"]
    replies = chosen[where].merge(
        answers[[*where, "answer", "status", "answer_raw"]], on=where, how="left", validate="1:1"
    )
    votes = replies.drop(columns=["attribute", "group"])
    votes["status"] = votes["status"].fillna("unparsed")
    return _with_votes(answers[answers["strategy"].isin(chosen["strategy"])], votes, OPEN_VOTE)
