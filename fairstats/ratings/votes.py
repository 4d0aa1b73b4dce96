"""How many of a task's raters report each dimension."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairstats.ratings.units import (
    UNIT_COLUMNS,
    Rubrics,
    one_answer_ratings,
    unit_table,
    units,
)

#: The columns of the table that `rating_votes` gives, in order.
VOTE_COLUMNS = (*UNIT_COLUMNS, "n_ratings", "n_reported", "n_tasks")


def rating_votes(ratings: pd.DataFrame, *, rubrics: Rubrics = ()) -> pd.DataFrame:
    """The number of tasks by how many ratings they have, and how many of these report.

    Parameters
    ----------
    ratings, rubrics
        As for `fairstats.bias_rates`.

    Returns
    -------
    pandas.DataFrame
        `VOTE_COLUMNS`, for each unit of `fairstats.bias_rates` a row a number of ratings that
        some task has and a number of reports from 0 to it, also where no task has so many.
        Ratings without a value are left out, and so are tasks without another.

    Raises
    ------
    InputError
        As `fairstats.bias_rates`.
    """
    frame, known = one_answer_ratings(ratings, rubrics)
    rows = []
    for unit in units(frame, known):
        rated = unit.rated()
        counts = rated.counts(rated.reported().astype(np.int64), 2)
        of_task = counts.sum(axis=1)
        for n in np.unique(of_task):
            tasks = np.bincount(counts[of_task == n, 1], minlength=int(n) + 1)
            rows += [
                unit.names | {"n_ratings": int(n), "n_reported": k, "n_tasks": int(tasks[k])}
                for k in range(int(n) + 1)
            ]
    return unit_table(rows, VOTE_COLUMNS, dict.fromkeys(VOTE_COLUMNS[-3:], "int64"))
