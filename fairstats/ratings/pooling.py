"""Units of the statistics of ratings: every dataset and group of raters, and all combined.

Judgements by persons and by models are never combined. ``pooled`` combines all datasets, or all
groups of persons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from fairstats.benchmarks.declaration import POOLED
from fairstats.inference.crossed_means import crossed_interval
from fairstats.ratings.rubrics import Compares, Question, Rubric, Rubrics
from fairstats.ratings.table import in_normal_form

#: Columns that identify a unit of the statistics of ratings.
UNIT_COLUMNS = ("benchmark", "dataset", "rubric", "model", "rater_kind", "rater_group", "dimension")
#: An estimate with its interval, and the limits over further items and raters.
FIGURE_COLUMNS = ("estimate", "ci_low", "ci_high", "ci_level", "ci_method")
CROSSED_COLUMNS = ("crossed_low", "crossed_high", "crossed_method")
_NUMBERS = (*FIGURE_COLUMNS[:-1], *CROSSED_COLUMNS[:-1], "agreement")
#: Columns that are never pooled, in addition to the kind of raters.
WITHIN = ("benchmark", "rubric", "model")


@dataclass(frozen=True)
class Unit:
    """The ratings of one unit, in arrays of one length.

    Attributes
    ----------
    names : dict
        The values of `UNIT_COLUMNS`.
    question : Question
        The question.
    value : ndarray of int
        The index of each rating's value among the question's values; −1 if it has none.
    task, item, rater : ndarray of int
        The rating's task, item and rater, as numbers.
    """

    names: dict[str, object]
    question: Question
    value: npt.NDArray[np.int64]
    task: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    rater: npt.NDArray[np.int64]

    @property
    def n_missing(self) -> int:
        return int((self.value < 0).sum())

    def rated(self) -> Unit:
        """Return the ratings that have a value."""
        there = self.value >= 0
        arrays = (self.value, self.task, self.item, self.rater)
        return Unit(self.names, self.question, *(array[there] for array in arrays))

    def reported(self) -> npt.NDArray[np.bool_]:
        """Return whether each rating with a value reports the event of the question."""
        counts = np.array([choice.reported for choice in self.question.choices])
        return np.asarray(counts[self.value])

    def counts(self, of: npt.NDArray[np.int64], kinds: int) -> npt.NDArray[np.int64]:
        """Count the ratings of each task by kind, of shape (tasks, kinds)."""
        task = np.unique(self.task, return_inverse=True)[1]
        tasks = int(task.max()) + 1 if len(task) else 0
        cells = np.bincount(task * kinds + of, minlength=tasks * kinds)
        return np.asarray(cells.reshape(tasks, kinds), dtype=np.int64)


def of_one_answer(
    ratings: pd.DataFrame, rubrics: Mapping[str, Rubric]
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return the checked ratings by rubrics that do not compare models, and these rubrics."""
    known = {name: rubric for name, rubric in rubrics.items() if rubric.compares != "models"}
    return ratings[ratings["rubric"].isin(list(known))], known


def units(frame: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> Iterator[Unit]:
    """Return the units of checked ratings: datasets, groups, dimensions in order; pooled last."""
    numbered = frame[[*UNIT_COLUMNS]].assign(
        value=_places(frame, rubrics),
        # Pairs that share an item count as one item, in either order of the items.
        item=linked_items(frame),
        # A unit has one benchmark and rubric, in which task names are unique.
        **{name: pd.factorize(frame[f"{name}_id"])[0] for name in ("task", "rater")},
    )
    together = with_pooled(numbered, WITHIN)
    found = together.groupby(list(UNIT_COLUMNS), dropna=False, sort=False, observed=True)
    for key in sorted(found.indices, key=lambda key: _order(key, rubrics)):
        rows = found.indices[key]
        names = dict(zip(UNIT_COLUMNS, key, strict=True))
        names["model"] = None if pd.isna(names["model"]) else names["model"]
        question = rubrics[str(names["rubric"])].question(str(names["dimension"]))
        arrays = (together[c].to_numpy()[rows] for c in ("value", "task", "item", "rater"))
        yield Unit(names, question, *arrays)


def unit_table(rows: Iterable[Mapping[str, object]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Return rows as a table with these columns, typed by their names."""
    table = pd.DataFrame(list(rows), columns=list(columns))
    return table.astype({name: _type(name) for name in columns})


def _type(column: str) -> str:
    if column.startswith("n_") or column == "count":
        return "int64"
    if column == "reported":
        return "bool"
    return "float64" if column in _NUMBERS else "str"


def _places(frame: pd.DataFrame, rubrics: Mapping[str, Rubric]) -> npt.NDArray[np.int64]:
    places = np.full(len(frame), -1, dtype=np.int64)
    groups = frame.groupby(["rubric", "dimension"], sort=False).indices
    values = frame["value"].astype(object).to_numpy()
    for (name, dimension), rows in groups.items():
        index = pd.Index(rubrics[name].question(dimension).values, dtype=object)
        places[rows] = index.get_indexer(values[rows])
    return places


def _order(key: tuple[object, ...], rubrics: Mapping[str, Rubric]) -> tuple[object, ...]:
    benchmark, dataset, rubric, model, _, group, dimension = key
    asked = rubrics[str(rubric)]
    groups = [*asked.rater_groups, POOLED]
    return (
        benchmark,
        rubric,
        "" if pd.isna(model) else str(model),
        dataset == POOLED,
        dataset,
        # A model that judges forms a separate group.
        groups.index(str(group)) if group in groups else len(groups),
        str(group),
        asked.dimensions.index(str(dimension)),
    )


#: Columns within which the ratings of all datasets are combined.
_WHOSE = ("benchmark", "rubric", "model", "model_2", "rater_kind")


def ratings_comparing(
    ratings: pd.DataFrame,
    compares: Compares,
    rubrics: Rubrics = (),
) -> tuple[pd.DataFrame, dict[str, Rubric]]:
    """Return the ratings by rubrics with this kind of comparison, and the rubrics by name."""
    checked, known = in_normal_form(ratings, rubrics)
    own = {name: rubric for name, rubric in known.items() if rubric.compares == compares}
    return checked[checked["rubric"].isin(list(own))], own


def with_pooled(
    ratings: pd.DataFrame, within: Iterable[str] = ("benchmark", "rubric")
) -> pd.DataFrame:
    """Return the rows, plus copies for all datasets and all groups of persons combined.

    If there are several datasets, their rows also appear under the dataset ``pooled``. If a dataset
    has several groups of persons, their rows also appear under the group ``pooled``. Groups of
    models are not pooled: each is a separate judge. Nor are the columns of `within`.

    Raises
    ------
    InputError
        If a dataset or a group of raters is itself named ``pooled``.
    """
    # Pool groups last, so that those of all datasets are pooled too.
    together = _once_more(ratings, ratings, "dataset", [*within, "rater_kind"])
    return with_all_groups(together, within)


def all_datasets(table: pd.DataFrame) -> pd.Series:
    """Return which rows of a table are for all datasets combined, or for the only one."""
    pooled = table["dataset"] == POOLED
    whose = [table[c].fillna("") for c in _WHOSE if c in table]
    return pooled | ~pooled.groupby(whose).transform("any")


def with_all_groups(ratings: pd.DataFrame, within: Iterable[str]) -> pd.DataFrame:
    """Add copies of the ratings for all groups of persons combined, if there are several."""
    persons = ratings[ratings["rater_kind"] == "person"]
    return _once_more(ratings, persons, "rater_group", [*within, "rater_kind", "dataset"])


def _once_more(
    ratings: pd.DataFrame, rows: pd.DataFrame, column: str, unit: list[str]
) -> pd.DataFrame:
    several = rows.groupby(unit, dropna=False)[column].transform("nunique") > 1
    return pd.concat([ratings, rows[several].assign(**{column: POOLED})], ignore_index=True)


def with_event(
    frame: pd.DataFrame, rubrics: Mapping[str, Rubric], *, about: Iterable[str] = ("bias",)
) -> pd.DataFrame:
    """Return the rows of dimensions of bias, with the estimated event.

    They are in the order of the rubrics' questions, with ``reported``: 1 or 0, NaN without a
    judgement.
    """
    parts = []
    for name, rubric in rubrics.items():
        for question in rubric.questions:
            if question.about not in about:
                continue
            rows = frame[(frame["rubric"] == name) & (frame["dimension"] == question.dimension)]
            reported = rows["value"].isin(question.reported).astype("float64")
            parts.append(rows.assign(reported=reported.where(rows["value"].notna())))
    if not parts:
        return frame.iloc[:0].assign(reported=np.nan)
    return pd.concat(parts, ignore_index=True)


def in_order(
    table: pd.DataFrame, columns: Iterable[str], dimensions: Iterable[str]
) -> pd.DataFrame:
    """Sort rows by these columns, with dimensions in this order; stable in all else."""
    places = {name: place for place, name in enumerate(dimensions)}
    return table.sort_values(
        list(columns),
        key=lambda column: column.map(places) if column.name == "dimension" else column,
        kind="stable",
        ignore_index=True,
    )


def without_empty_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return unnamed models as missing; for grouping they were empty texts."""
    return table.assign(model=table["model"].astype(object).where(table["model"] != "", None))


def linked_items(
    rows: pd.DataFrame, within: Iterable[str] = ("benchmark", "rubric", "model")
) -> npt.NDArray[np.int64]:
    """Return the number of each row's set of items, with the items of a pair in one set.

    Judgements on a and b are not independent of judgements on a and c, in either order of the
    items. All pairs that are connected by shared items belong to one set.

    Numbers are from 0. Items are the same only if the columns `within` are also the same. Without a
    second item (null, or no such column), a row has a single item.

    Examples
    --------
    >>> pairs = pd.DataFrame({"item_id": list("abcdx"), "item_id_2": ["b", "c", None, "e", "d"]})
    >>> linked_items(pairs, []).tolist()
    [0, 0, 0, 1, 1]
    """
    own = [*within, "item_id"]
    first = rows[own]
    second = first
    if "item_id_2" in rows:
        either = rows["item_id_2"].where(rows["item_id_2"].notna(), rows["item_id"])
        second = first.assign(item_id=either)
    # With dtype object, equal names match even if the two columns have different types.
    ends = pd.concat([first, second], ignore_index=True).astype({"item_id": object})
    item = ends.groupby(own, sort=False, dropna=False).ngroup().to_numpy(dtype=np.int64)
    one, other = item.reshape(2, len(rows))
    size = int(item.max(initial=-1)) + 1
    if not size:
        return one
    links = scipy.sparse.coo_array((np.ones(len(rows)), (one, other)), shape=(size, size))
    return np.asarray(
        scipy.sparse.csgraph.connected_components(links, directed=False)[1][one], dtype=np.int64
    )


def crossed_limits(
    values: npt.NDArray[Any],
    items: npt.NDArray[np.int64],
    raters: npt.NDArray[Any],
    *,
    alpha: float,
    least: float = 0.0,
) -> dict[str, Any]:
    """Return the `crossed_interval` of a mean of ratings between `least` and 1, by column.

    `least` is −1 for a difference. An item may be a set from `linked_items`.
    """
    span = 1 - least
    found = crossed_interval((values - least) / span, items, raters, alpha=alpha)
    limits = (least + span * limit for limit in found.ci)
    return dict(zip(CROSSED_COLUMNS, (*limits, found.method), strict=True))
