"""Majority vote over open answers: the central reply of the largest group of similar replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.schema import REQUIRED_COLUMNS
from fairstats.answers.strategies import MAJORITY_VOTE, votes_among
from fairstats.benchmarks.declaration import BASELINE
from fairstats.inference._checks import check_choice, check_number, check_numbers
from fairstats.retrieval.voting import nothing_to_vote_on, voted_names

Linkage = Literal["average", "complete"]
#: A function from texts to vectors, one row per text.
Embed = Callable[[Sequence[str]], npt.ArrayLike]
#: Cosine similarity from which texts count as similar. The value is a choice and depends on the
#: embedding.
SIMILARITY = 0.8
OPEN_VOTE = f"{MAJORITY_VOTE}_open"

_ITEM = [*UNIT_COLUMNS, "item_id", "sample"]
#: Columns of the table from `majority_answer`, in order.
MAJORITY_COLUMNS = (*_ITEM, "texts", "attribute", "group", "answer_raw")


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
        clusters have equal size, or there are no vectors.

    Raises
    ------
    ValueError
        For a wrong shape, a vector that is 0 or not finite, or an unknown linkage.

    Notes
    -----
    The result is deterministic: the same vectors give the same index. A single vector is a cluster.

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

    Raises
    ------
    InputError
        If the answers have no ``answer_raw``.
    ValueError
        As `largest_cluster`, and for an embedding with a different number of texts.
    """
    if "answer_raw" not in answers:
        remedy = "vote on letters, or collect the answers with their replies"
        problem = Problem(
            "<answers>", "the answers contain no replies", remedy, column="answer_raw"
        )
        raise InputError([problem])
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
        medoid = largest_cluster(
            vectors[[place[texts[index]] for index in there]],
            similarity=similarity,
            linkage=linkage,
        )
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

    Parameters
    ----------
    answers, embed, similarity, linkage
        As in `majority_answer`.

    Returns
    -------
    pandas.DataFrame
        New answers in the form of `majority_vote`: each demographic variant has the reply
        of `majority_answer`, with its parsed letter and status, or no reply and status
        ``unparsed``. ``collector`` is ``majority_vote_open``.

    Raises
    ------
    InputError, ValueError
        As `majority_answer`; also `InputError` if there is nothing to vote on.
    """
    chosen = majority_answer(answers, embed, similarity=similarity, linkage=linkage)
    if chosen.empty:
        raise nothing_to_vote_on()
    columns = [*REQUIRED_COLUMNS, "answer_raw", *(["snapshot"] if "snapshot" in answers else [])]
    replies = chosen.drop(columns=["answer_raw", "texts"]).merge(
        answers[[*_ITEM, "attribute", "group", "answer", "status", "answer_raw"]],
        on=[*_ITEM, "attribute", "group"],
        how="left",
        validate="1:1",
    )
    single = answers[answers["strategy"].isin(chosen["strategy"])][columns].reset_index(drop=True)
    vote = single[_ITEM].merge(
        replies[[*_ITEM, "answer", "status", "answer_raw"]], on=_ITEM, how="left", validate="m:1"
    )
    demographic = single["attribute"] != BASELINE
    return single.assign(
        strategy=single["strategy"].map(voted_names(single["strategy"], clustered=True)),
        answer=single["answer"].mask(demographic, vote["answer"]),
        answer_raw=single["answer_raw"].mask(demographic, vote["answer_raw"]),
        status=single["status"].mask(demographic, vote["status"].fillna("unparsed")),
        collector=OPEN_VOTE,
    )
