"""The share of specifications in which each verdict holds."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, POOLED
from fairstats.counts.outcomes import PAIR_COLUMNS
from fairstats.estimates.specifications import CHOICES, SPECIFICATION_COLUMNS
from fairstats.inference._checks import check_choice
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE

#: Columns of the table from `specification_shares` by pair, in order.
SHARE_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "attribute",
    "group_a",
    "group_b",
    "specifications",
    DISPARITY,
    EQUIVALENT,
    INCONCLUSIVE,
    "no_verdict",
    "lowest",
    "highest",
)
_KEYS = [name for name in SHARE_COLUMNS if name in PAIR_COLUMNS]


def specification_shares(
    specifications: pd.DataFrame, *, by: Literal["pair", "model"] = "pair"
) -> pd.DataFrame:
    """Compute the share of specifications in which each verdict holds.

    Parameters
    ----------
    specifications : pandas.DataFrame
        From `specification_curve`; select rows to leave out a prompt or another choice.
    by : {"pair", "model"}
        Per pair of groups, over all prompts of the model; or per model. A model's verdict in a
        specification is a disparity if any of its pairs has one, and equivalent if all pairs are
        equivalent. Baseline and pooled pairs do not count, as their answers are counted already.

    Returns
    -------
    pandas.DataFrame
        `SHARE_COLUMNS` by pair; by model, the columns of the pair and of the estimates are left
        out. The shares ``disparity``, ``equivalent``, ``inconclusive`` and ``no_verdict`` add up to
        1; ``lowest`` and ``highest`` are those of the estimates.

    Raises
    ------
    ValueError
        For an unknown `by`, or a table without a column of `specification_curve`.

    Notes
    -----
    The shares describe how far the verdict depends on the choices. They are not probabilities:
    specifications share their answers, and are not equally good.

    References
    ----------
    Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4:1208-1214.

    Examples
    --------
    >>> table = pd.DataFrame([dict.fromkeys(SPECIFICATION_COLUMNS, "x")] * 4)
    >>> table = table.assign(estimate=0.1, verdict=["disparity"] * 3 + ["inconclusive"])
    >>> specification_shares(table)[["specifications", "disparity"]].values.tolist()
    [[4.0, 0.75]]
    """
    check_choice("by", by, ("pair", "model"))
    absent = [name for name in SPECIFICATION_COLUMNS if name not in specifications.columns]
    if absent:
        raise ValueError(
            f"specifications has no column {absent[0]!r}; give the table of specification_curve"
        )
    rows, keys, columns = specifications, _KEYS, list(SHARE_COLUMNS)
    if by == "model":
        own = ~specifications["attribute"].isin([BASELINE, POOLED])
        rows, keys = _of_models(specifications[own]), list(UNIT_COLUMNS[:3])
        dropped = {"attribute", "group_a", "group_b", "lowest", "highest"}
        columns = [name for name in columns if name not in dropped]
    named = rows["verdict"].fillna("no_verdict")
    flags = {name: named.eq(name) for name in (DISPARITY, EQUIVALENT, INCONCLUSIVE, "no_verdict")}
    grouped = rows[[*keys, "estimate"]].assign(**flags).groupby(keys, sort=False)
    shares = grouped[list(flags)].mean()
    shares["specifications"] = grouped.size()
    shares["lowest"], shares["highest"] = grouped["estimate"].min(), grouped["estimate"].max()
    return shares.reset_index()[columns]


def _of_models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each model's verdict in each specification."""
    keys = [*UNIT_COLUMNS, *CHOICES]
    flags = {name: rows["verdict"].eq(name).fillna(False) for name in (DISPARITY, EQUIVALENT)}
    known = rows["verdict"].notna()
    grouped = rows[keys].assign(**flags, known=known).groupby(keys, sort=False)
    found = grouped.agg(any=(DISPARITY, "any"), all=(EQUIVALENT, "all"), known=("known", "all"))
    verdicts = np.where(found["all"], EQUIVALENT, INCONCLUSIVE)
    named = pd.Series(np.where(found["any"], DISPARITY, verdicts), index=found.index, dtype="str")
    # A pair without a verdict leaves the model without one, except next to a disparity.
    named = named.where(found["known"] | found["any"])
    return named.rename("verdict").reset_index().assign(estimate=np.nan)
