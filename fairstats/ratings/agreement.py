"""How far the raters of a benchmark agree, unit by unit and task by task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fairstats.inference._checks import check_alpha
from fairstats.inference.agreement_intervals import COEFFICIENTS, Agreement, coefficients_of
from fairstats.inference.rating_counts import Coefficient, Level, counts_of_kinds
from fairstats.ratings.strata import with_all_groups
from fairstats.ratings.units import (
    UNIT_COLUMNS,
    WITHIN,
    Rubrics,
    Unit,
    one_answer_ratings,
    unit_table,
    units,
)

#: The columns of the table that `rating_agreement` gives, in order.
AGREEMENT_COLUMNS = (
    *UNIT_COLUMNS,
    "coefficient",
    "level",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "n_items",
    "n_ratings",
    "note",
)
#: The columns of the table that `disagreement` gives, in order.
DISAGREEMENT_COLUMNS = (
    "benchmark",
    "dataset",
    "rubric",
    "model",
    "task_id",
    "item_id",
    "rater_kind",
    "rater_group",
    "dimension",
    "n_ratings",
    "n_reported",
    "n_missing",
    "agreement",
)
#: The columns of the table that `rating_votes` gives, in order.
VOTE_COLUMNS = (*UNIT_COLUMNS, "n_ratings", "n_reported", "n_tasks")
_WHOLE = ("n_items", "n_ratings", "n_reported", "n_missing", "n_tasks")
_NUMBERS = ("estimate", "ci_low", "ci_high", "ci_level", "agreement")
_TYPES = dict.fromkeys(_WHOLE, "int64") | dict.fromkeys(_NUMBERS, "float64")
_OF_REPORTS: tuple[tuple[Coefficient, Level], ...] = tuple((c, "nominal") for c in COEFFICIENTS)


def rating_agreement(
    ratings: pd.DataFrame, *, alpha: float = 0.05, rubrics: Rubrics = ()
) -> pd.DataFrame:
    """How far raters agree on whether there is bias: five coefficients a unit and dimension.

    Each is 1 − D_o / D_e, the disagreement of two ratings of one task beside that by chance (see
    `fairstats.agreement`).

    Parameters
    ----------
    ratings, rubrics
        As for `fairstats.bias_rates`.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        `AGREEMENT_COLUMNS`, a row a unit of `fairstats.bias_rates` and coefficient: ``percent``,
        ``randolph``, ``fleiss``, ``gwet_ac1`` and ``krippendorff`` of whether a rating reports or
        not, and where the question is ordinal ``krippendorff`` with ``level`` ordinal of its
        values. ``n_items`` are the tasks with two or more ratings, ``n_ratings`` theirs; ``note``
        says why there is no estimate, or what it has to be read with.

    Raises
    ------
    InputError, ValueError
        As `fairstats.bias_rates`.

    Notes
    -----
    A rater's repeated judgements of a task count as those of further raters. Groups that are
    pooled agree within and between them. Resamples, where a law cannot be computed, are drawn
    with a fixed seed, so that the table is the same each time.

    References
    ----------
    Those of `fairstats.percent_agreement`, `fairstats.randolph_kappa`, `fairstats.fleiss_kappa`,
    `fairstats.gwet_ac1` and `fairstats.krippendorff_alpha`.

    Examples
    --------
    >>> ratings = pd.DataFrame([
    ...     dict(benchmark="b", rubric="triage", task_id=task, item_id=task, rater_id=rater,
    ...          rater_group="physician", dimension=dimension, value=value)
    ...     for task, values in (("t1", "yyn"), ("t2", "nnn"), ("t3", "ynn"))
    ...     for rater, sign in zip("abc", values) for value in [{"y": "yes", "n": "no"}[sign]]
    ...     for dimension in ("manage", "visit", "resource")])
    >>> table = rating_agreement(ratings)
    >>> one = table[(table["dimension"] == "manage") & (table["coefficient"] == "percent")]
    >>> one["estimate"].round(3).tolist(), one["n_items"].tolist()
    ([0.556], [3])
    """
    alpha = check_alpha(alpha)
    frame, known = one_answer_ratings(ratings, rubrics)
    rows = [
        unit.names
        | {
            "coefficient": found.coefficient,
            "level": found.level,
            "estimate": found.estimate,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "ci_level": found.ci_level,
            "ci_method": found.ci_method,
            "n_items": found.n,
            "n_ratings": found.n_ratings,
            "note": found.note,
        }
        for unit in units(frame, known)
        for found in _of_unit(unit.rated(), alpha)
    ]
    return unit_table(rows, AGREEMENT_COLUMNS, _TYPES)


def disagreement(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """What the raters of each task say: where they disagree is where to look.

    Parameters
    ----------
    ratings, rubrics
        As for `fairstats.bias_rates`.

    Returns
    -------
    pandas.DataFrame
        `DISAGREEMENT_COLUMNS`, a row a task, dimension, kind and group of raters (``pooled`` are
        all groups of persons, where the dataset has several): ``n_ratings`` with a value,
        ``n_reported`` of them that report, ``n_missing`` without one, and ``agreement``, the share
        of pairs of ratings that agree on whether to report; NaN with fewer than two.

    Raises
    ------
    InputError
        As `fairstats.bias_rates`.
    """
    frame, known = one_answer_ratings(ratings, rubrics)
    reports = [
        (rubric.name, question.dimension, value)
        for rubric in known.values()
        for question in rubric.questions
        for value in question.reported
    ]
    said = pd.MultiIndex.from_frame(frame[["rubric", "dimension", "value"]])
    marked = frame.assign(
        n_ratings=frame["value"].notna().astype("int64"),
        n_missing=frame["value"].isna().astype("int64"),
        n_reported=said.isin(reports).astype("int64"),
    )
    keys = [c for c in DISAGREEMENT_COLUMNS if c in frame]
    counts = ["n_ratings", "n_reported", "n_missing"]
    together = with_all_groups(marked[[*keys, *counts]], WITHIN)
    table = together.groupby(keys, dropna=False, sort=True)[counts].sum().reset_index()
    n, yes = table["n_ratings"].to_numpy(), table["n_reported"].to_numpy()
    agreeing, pairs = yes * (yes - 1) + (n - yes) * (n - yes - 1), n * (n - 1)
    share = np.divide(agreeing, pairs, out=np.full(len(table), np.nan), where=pairs > 0)
    table = table.assign(agreement=share)
    return unit_table(table.to_dict("records"), DISAGREEMENT_COLUMNS, _TYPES)


def rating_votes(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """How many tasks have how many reports among how many ratings.

    Parameters
    ----------
    ratings, rubrics
        As for `fairstats.bias_rates`.

    Returns
    -------
    pandas.DataFrame
        `VOTE_COLUMNS`, a row a unit of `fairstats.bias_rates`, number of ratings of a task and
        number of those that report, where there is such a task. All votes, and percent agreement,
        can be computed from it.

    Raises
    ------
    InputError
        As `fairstats.bias_rates`.
    """
    frame, known = one_answer_ratings(ratings, rubrics)
    rows = []
    for unit in (unit.rated() for unit in units(frame, known)):
        no, yes = unit.counts(unit.reported().astype(np.int64), 2).T
        kinds, many = np.unique(np.stack([no + yes, yes], -1), axis=0, return_counts=True)
        rows += [
            unit.names | {"n_ratings": n, "n_reported": reported, "n_tasks": tasks}
            for (n, reported), tasks in zip(kinds.tolist(), many.tolist(), strict=True)
        ]
    return unit_table(rows, VOTE_COLUMNS, _TYPES)


def _of_unit(unit: Unit, alpha: float) -> Iterator[Agreement]:
    reports = unit.counts(unit.reported().astype(np.int64), 2)
    table = counts_of_kinds(("not reported", "reported"), reports)
    yield from coefficients_of(table, _OF_REPORTS, alpha=alpha)
    if unit.question.level == "ordinal":
        values = unit.counts(unit.value, len(unit.question.values))
        table = counts_of_kinds(unit.question.values, values)
        wanted: list[tuple[Coefficient, Level]] = [("krippendorff", "ordinal")]
        yield from coefficients_of(table, wanted, alpha=alpha)
