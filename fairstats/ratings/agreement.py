"""Agreement between the raters of a benchmark, by unit and by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairstats.inference._checks import check_alpha, check_choice
from fairstats.inference.agreement import (
    COEFFICIENTS,
    coefficients_of,
    crossed_agreement,
)
from fairstats.inference.rating_counts import (
    Coefficient,
    IntArray,
    Level,
    counts_of_kinds,
    leave_one_out,
)
from fairstats.inference.reliability import intraclass_correlation
from fairstats.ratings.pooling import (
    CROSSED_COLUMNS,
    FIGURE_COLUMNS,
    UNIT_COLUMNS,
    WITHIN,
    Unit,
    of_one_answer,
    unit_table,
    units,
    with_all_groups,
    with_pooled,
)
from fairstats.ratings.preferences import COMPARISON_COLUMNS, preferences
from fairstats.ratings.rubrics import Rubric, Rubrics
from fairstats.ratings.table import checked_ratings

#: Columns of the table from `rating_agreement`, in order.
AGREEMENT_COLUMNS = (
    *(*COMPARISON_COLUMNS, "coefficient", "level", *FIGURE_COLUMNS, *CROSSED_COLUMNS),
    *("n_items", "n_ratings", "n_raters", "n_repeats", "note"),
)
#: Columns of the table from `disagreement`, in order.
DISAGREEMENT_COLUMNS = (
    *("benchmark", "dataset", "rubric", "model", "task_id", "item_id", "rater_kind"),
    *("rater_group", "dimension", "n_ratings", "n_reported", "n_missing", "agreement"),
)
#: Columns of the table from `rating_votes`, in order.
VOTE_COLUMNS = (*UNIT_COLUMNS, "n_ratings", "n_reported", "n_tasks")
#: Whether a rater's repeated judgements of a task are left out, or count as another rater's.
Repeats = Literal["leave_out", "as_raters"]
_ALONE = "only one rater, so agreement cannot be measured"
#: The possible preferences between two models' answers, in order.
_PREFERRED = ("the first model", "neither", "the second model")
_OF_PREFERENCES: tuple[tuple[Coefficient, Level], ...] = (
    *((c, "nominal") for c in COEFFICIENTS if c != "positive"),
    ("krippendorff", "ordinal"),
)
_OF_REPORTS: tuple[tuple[Coefficient, Level], ...] = tuple((c, "nominal") for c in COEFFICIENTS)
Parts = Iterator[tuple[IntArray, tuple[str, ...], tuple[tuple[Coefficient, Level], ...]]]


def rating_agreement(
    ratings: pd.DataFrame,
    *,
    repeats: Repeats = "leave_out",
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> pd.DataFrame:
    """Compute raters' agreement on bias, or on the preferred model: coefficients per unit.

    Each coefficient is 1 − D_o / D_e: the disagreement between two ratings of one task, relative to
    chance (`fairstats.agreement`).

    Parameters
    ----------
    ratings, rubrics
        As in `fairstats.bias_rates`.
    repeats : {"leave_out", "as_raters"}
        If a rater judges a task several times, either the first judgement with a value counts, or
        all count as if from different raters. In the latter case, raters' agreement with themselves
        is part of the result.
    alpha : float
        1 − confidence level.

    Returns
    -------
    pandas.DataFrame
        `AGREEMENT_COLUMNS`, one row per unit of `fairstats.bias_rates` and coefficient:
        ``percent``, ``positive``, ``randolph``, ``fleiss``, ``gwet_ac1`` and ``krippendorff`` of
        whether a rating reports or not. If the question is ordinal, there are two more rows for its
        values: ``krippendorff`` with ``level`` ordinal, and ``intraclass``, the ICC(A,1) of the
        tasks that all raters of the unit rated (see Notes). Further rows are per unit of
        `preference_rates` and coefficient except ``positive``. They are for the model
        that a rating prefers, or neither, in the order of the two models' names. ``ci_low`` and
        ``ci_high`` are for these raters, with independent tasks. ``crossed_low`` and
        ``crossed_high`` are for further items and further raters: quote these. ``n_items`` is the
        number of tasks with two or more ratings, and ``n_ratings`` the number of their ratings.
        ``n_raters`` have rated any task of the unit. ``n_repeats`` counts repeated ratings of a
        task by the same rater. ``note`` states why there is no estimate, or how to interpret it.

    Raises
    ------
    InputError, ValueError
        As `fairstats.bias_rates`; also for unknown `repeats`.

    Notes
    -----
    With a single rater there is no estimate. Pooled groups are compared within and between groups.
    If a distribution cannot be computed, resamples are drawn with a fixed seed, so the table is
    reproducible.

    The crossed limits are from the jackknife over two-way clusters, without a seed. Each
    coefficient is recomputed without each item and all its tasks, without each rater, and without
    each rater's ratings of each item. The remaining pairs of ratings keep their weights. With S the
    sum of squared deviations from the coefficient times (G − 1) / G for G clusters, the variance is

        V = max(S_items + S_raters − S_cells, S_items, S_raters, S_cells)

    and the limits are Wilson's for a share with that variance, on the scale from the coefficient's
    minimum, 0 or −1, to 1. They use the quantile of Student's t for Satterthwaite's degrees of
    freedom (`crossed_interval`). In ``benchmarks/agreement_coverage.py``, 95% limits
    cover Fleiss' κ, Krippendorff's α and positive agreement in 94% or more, often nearly always,
    also if rare items are reported by all raters: their upper limit has room for such items.
    They cover the other coefficients in 93% or more, but in as little as 89% if raters differ
    widely. Limits over items alone can cover as little as 28 to 43%.

    The intraclass correlation takes the grades as 0, 1, 2, ..., with equal steps. It is undefined,
    with a note, if raters rated different tasks. A rater's repeats never count. It has no limits
    (`fairstats.inference.reliability.intraclass_correlation`).

    With two raters, or one rater in every pair, differences between raters are unknown, and there
    are no crossed limits. With one item and three or more raters, they use raters alone.
    `crossed_method` records this. If leaving one out changes nothing (raters who always agree), the
    limits are Wilson's for as many items. If no two raters agree on a rare report, the limits of
    Fleiss' κ and Krippendorff's α reach at least as far as Wilson's for positive agreement. There
    are no limits if the coefficient is undefined without some item or rater, e.g. if one rater made
    all reports.

    References
    ----------
    Those of `fairstats.agreement`; MacKinnon, Nielsen & Webb (2024), Jackknife inference with
    two-way clustering, arXiv:2406.08880. Checked against pairs counted individually, leaving out
    each cluster.

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
    check_choice("repeats", repeats, get_args(Repeats))
    return agreement_of(*checked_ratings(ratings, rubrics), alpha, repeats)


def agreement_of(
    ratings: pd.DataFrame,
    rubrics: Mapping[str, Rubric],
    alpha: float,
    repeats: Repeats = "leave_out",
) -> pd.DataFrame:
    """Return `rating_agreement` of checked ratings."""
    # Sort so that a rater's first judgement of a task comes first.
    ratings = ratings.sort_values("repeat", kind="stable")
    rows = [
        row | {"model_2": None}
        for unit in units(*of_one_answer(ratings, rubrics))
        for row in _rows_of(unit.rated(), repeats, _reports, alpha=alpha)
    ]
    rows += [
        row
        for unit in _preference_units(ratings, rubrics)
        for row in _rows_of(unit.rated(), repeats, _preferences, alpha=alpha)
    ]
    return unit_table(rows, AGREEMENT_COLUMNS)


def disagreement(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Return the judgements of each task's raters, to find tasks with disagreement.

    These are `DISAGREEMENT_COLUMNS`, one row per task, dimension, kind and group of raters
    (``pooled`` combines all groups of persons, if the dataset has several). ``n_ratings`` have a
    value, ``n_reported`` of these report, and ``n_missing`` have no value. ``agreement`` is the
    share of pairs of ratings that agree on whether to report; NaN with fewer than two ratings.

    Notes
    -----
    Judgements are counted: a rater's repeats of a task count separately here, as in rates.
    `rating_agreement` leaves them out.
    """
    frame, known = of_one_answer(ratings, rubrics)
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
    return unit_table(table.to_dict("records"), DISAGREEMENT_COLUMNS)


def rating_votes(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> pd.DataFrame:
    """Count the tasks by number of reports and number of ratings.

    Returns
    -------
    pandas.DataFrame
        `VOTE_COLUMNS`, one row per unit of `fairstats.bias_rates`, number of ratings of a task and
        number of reports among them, if there is such a task. All votes, and agreement with
        ``repeats="as_raters"``, can be computed from it. A rater's repeats of a task are additional
        votes.
    """
    rows = []
    for unit in (unit.rated() for unit in units(*of_one_answer(ratings, rubrics))):
        no, yes = unit.counts(unit.reported().astype(np.int64), 2).T
        kinds, many = np.unique(np.stack([no + yes, yes], -1), axis=0, return_counts=True)
        rows += [
            unit.names | {"n_ratings": n, "n_reported": reported, "n_tasks": tasks}
            for (n, reported), tasks in zip(kinds.tolist(), many.tolist(), strict=True)
        ]
    return unit_table(rows, VOTE_COLUMNS)


def _preference_units(ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> Iterator[Unit]:
    """Return the units that compare models, with the preferred model of each rating, or neither."""
    own = preferences(ratings, rubrics)
    if own.empty:
        return
    together = with_pooled(own, ("benchmark", "rubric", "model", "model_2"))
    for key, rows in together.groupby(list(COMPARISON_COLUMNS), sort=False):
        names: dict[str, object] = dict(zip(COMPARISON_COLUMNS, key, strict=True))
        question = rubrics[str(names["rubric"])].question(str(names["dimension"]))
        place = (1 - rows["prefers"]).fillna(-1).to_numpy(dtype=np.int64)
        codes = (pd.factorize(rows[f"{name}_id"])[0] for name in ("task", "item", "rater"))
        yield Unit(names, question, place, *codes)


def _rows_of(
    unit: Unit, repeats: Repeats, parts: Callable[[Unit], Parts], *, alpha: float
) -> Iterator[dict[str, Any]]:
    """Return a row per coefficient, with limits over items and raters."""
    n_raters = len(np.unique(unit.rater))
    once = np.unique(np.stack([unit.task, unit.rater], -1), axis=0, return_index=True)[1]
    shared = unit.names | {"n_raters": n_raters, "n_repeats": len(unit.value) - len(once)}
    arrays = (unit.value, unit.task, unit.item, unit.rater)
    first = Unit(unit.names, unit.question, *(array[once] for array in arrays))
    unit = first if repeats == "leave_out" else unit
    alone = repeats == "leave_out" and n_raters == 1
    for category, categories, wanted in parts(unit):
        table = counts_of_kinds(categories, unit.counts(category, len(categories)))
        left = leave_one_out(table, category, unit.task, unit.item, unit.rater)
        for found in coefficients_of(table, wanted, alpha=alpha):
            low, high, method = crossed_agreement(left, found, alpha=alpha)
            yield (shared | found.to_row()) | {
                "crossed_low": low,
                "crossed_high": high,
                "crossed_method": method,
                "n_items": found.n,
                "note": _ALONE if alone else found.note,
            }
    if parts is _reports and unit.question.level == "ordinal":
        yield _intraclass(first, alpha) | shared


def _intraclass(unit: Unit, alpha: float) -> dict[str, Any]:
    """Return the intraclass correlation of a single rating, with its grades as 0, 1, 2, ..."""
    tasks, task = np.unique(unit.task, return_inverse=True)
    raters, rater = np.unique(unit.rater, return_inverse=True)
    grades = np.full((len(tasks), len(raters)), np.nan)
    grades[task, rater] = unit.value
    found = intraclass_correlation(grades, alpha=alpha)
    return found.to_row() | {
        "coefficient": "intraclass",
        "level": "interval",
        "ci_method": f"none ({found.note})",
        "crossed_method": f"none ({found.note})",
        "n_ratings": found.n_items * found.n_raters,
    }


def _preferences(unit: Unit) -> Parts:
    yield unit.value, _PREFERRED, _OF_PREFERENCES


def _reports(unit: Unit) -> Parts:
    yield unit.reported().astype(np.int64), ("not reported", "reported"), _OF_REPORTS
    if unit.question.level == "ordinal":
        yield unit.value, unit.question.values, (("krippendorff", "ordinal"),)
