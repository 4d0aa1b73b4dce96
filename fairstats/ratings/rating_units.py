"""Units for summarising ratings: every dataset and group of raters, and all combined.

Judgements by persons and by models are never combined. ``pooled`` combines all datasets, or all
groups of persons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.pooling import linked_items, with_pooled
from fairstats.ratings.rubrics import Question, Rubric

#: Columns that identify a unit of the statistics of ratings.
UNIT_COLUMNS = (
    "benchmark",
    "dataset",
    "rubric",
    "model",
    "rater_kind",
    "rater_group",
    "dimension",
)
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


def unit_table(
    rows: Iterable[Mapping[str, object]], columns: tuple[str, ...], types: Mapping[str, str]
) -> pd.DataFrame:
    """Return rows as a table with these columns; those without a type are text."""
    table = pd.DataFrame(list(rows), columns=list(columns))
    return table.astype({column: types.get(column, "str") for column in columns})


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
