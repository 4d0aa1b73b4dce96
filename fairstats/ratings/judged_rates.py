"""Rates of people's ratings, from a model's ratings of all items and people's of some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from fairstats.inference._checks import check_alpha
from fairstats.inference.ppi import ppi_mean
from fairstats.ratings.pooling import linked_items, with_event, with_pooled
from fairstats.ratings.rating_units import WITHIN, of_one_answer
from fairstats.ratings.rubrics import Rubrics
from fairstats.ratings.table import checked_ratings

#: Columns of the table from `judged_rates`, in order.
JUDGED_COLUMNS = (
    "benchmark",
    "dataset",
    "rubric",
    "model",
    "dimension",
    "rater_group",
    "judge",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "people_rate",
    "people_low",
    "people_high",
    "judge_rate",
    "judge_bias",
    "correlation",
    "weight",
    "n_effective",
    "n_people",
    "n_items",
    "n_not_judged",
)
_UNIT = ("benchmark", "dataset", "rubric", "model", "dimension")


def judged_rates(
    ratings: pd.DataFrame, *, alpha: float = 0.05, rubrics: Rubrics = ()
) -> pd.DataFrame:
    """Estimate rates of people's ratings from a judge's ratings of all items and people's of some.

    For each judge, the share of people's ratings that report bias, as a mean over items, by
    `ppi_mean`. The judge's errors are measured on the items that both rated, and removed.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Ratings by people and by models, as returned by `read_ratings`. Items are matched by
        ``item_id`` (and ``item_id_2``), so task ids need not be the same.
    alpha : float
        1 − confidence level.
    rubrics : iterable or mapping of Rubric
        Additional rubrics.

    Returns
    -------
    pandas.DataFrame
        `JUDGED_COLUMNS`, one row per benchmark, dataset, rubric, model, dimension, group of people
        (``pooled`` for all) and judge. ``people_rate`` with its limits uses people's ratings alone.
        ``judge_bias`` is the mean of judge − people on the ``n_people`` items that both rated, and
        ``n_items`` the number that the judge rated. ``n_not_judged`` items have ratings by people
        only, and are left out.

    Raises
    ------
    InputError
        As `bias_rates`.
    ValueError
        For an `alpha` outside (0, 1).

    Notes
    -----
    The items that people rated must be a random subset of those that the judge rated. The ratings
    of an item by several people, or by a judge several times, are averaged. Items that share a text
    in pairs count as one.

    References
    ----------
    Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453; see `ppi_mean`.

    Examples
    --------
    >>> row = dict(benchmark="b", rubric="triage")
    >>> def rated(rater, kind, group, values):
    ...     return [row | dict(task_id=f"t{i}", item_id=f"q{i}", rater_id=rater, rater_kind=kind,
    ...                        rater_group=group, dimension=dimension, value=value)
    ...             for i, sign in enumerate(values) for value in ["yes" if sign == "1" else "no"]
    ...             for dimension in ("manage", "visit", "resource")]
    >>> people = rated("p1", "person", "physician", "11010010")
    >>> judge = rated("m", "model", "model", "1111001010" * 4)
    >>> row = judged_rates(pd.DataFrame(people + judge)).iloc[0]
    >>> [round(float(row[name]), 3) for name in ("judge_rate", "people_rate", "estimate")]
    [0.6, 0.5, 0.48]
    """
    alpha = check_alpha(alpha)
    frame, known = of_one_answer(*checked_ratings(ratings, rubrics))
    frame = with_event(frame, known, about=("bias", "context"))
    frame = frame.assign(unit=linked_items(frame), model=frame["model"].fillna(""))
    rows = with_pooled(frame[frame["reported"].notna()], WITHIN)
    found = [
        dict(zip(_UNIT, key, strict=True)) | row
        for key, own in rows.groupby(list(_UNIT), sort=False)
        for row in _rows(own, alpha)
    ]
    table = pd.DataFrame(found, columns=list(JUDGED_COLUMNS))
    return table.assign(model=table["model"].astype(object).where(table["model"] != "", None))


def _rows(own: pd.DataFrame, alpha: float) -> Iterator[dict[str, Any]]:
    is_model = own["rater_kind"] == "model"
    for group, people in own[~is_model].groupby("rater_group", sort=False):
        person = people.groupby("unit")["reported"].mean()
        for judge, judged in own[is_model].groupby("rater_id", sort=False):
            other = judged.groupby("unit")["reported"].mean()
            both = person.reindex(other.index)
            found = ppi_mean(both, other, alpha=alpha)
            alone = ppi_mean(both, other * 0, alpha=alpha)
            yield found.to_row() | {
                "rater_group": group,
                "judge": judge,
                "people_rate": found.people,
                "people_low": alone.ci_low,
                "people_high": alone.ci_high,
                "judge_rate": found.judge,
                "judge_bias": found.bias,
                "n_items": found.n,
                "n_not_judged": int((~person.index.isin(other.index)).sum()),
            }
