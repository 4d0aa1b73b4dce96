"""Each variant's leakage of the key and of the distractors, from the table of measures."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import BASELINE
from fairstats.vignettes.measures import DISTRACTOR, KEY

#: The measures of leakage used for adjustment. Others with similar names are chance values, or for
#: fewer words.
ADJUSTED_FOR = ("leakage_overlap", "leakage_tfidf", "leakage_embedding")
#: Columns that identify a variant and measure in a table of measures.
VARIANT = ("benchmark", "measure", "item_id", "attribute", "group")


def leakage_of_options(measures: pd.DataFrame, benchmarks: Collection[str]) -> pd.DataFrame:
    """Return leakage measures of these benchmarks' demographic variants, one row per option.

    Raises
    ------
    InputError
        If there are none, or duplicates.
    """
    own = measures[
        measures["measure"].isin(ADJUSTED_FOR)
        & measures["benchmark"].isin(list(benchmarks))
        & measures["role"].isin([KEY, DISTRACTOR])
        & (measures["attribute"] != BASELINE)
    ]
    if own.empty:
        message = f"no measure of leakage for {', '.join(sorted(benchmarks))}"
        remedy = f"measure its vignettes first: {', '.join(ADJUSTED_FOR)}"
        raise InputError([Problem("<measures>", message, remedy, column="measure")])
    twice = own[own.duplicated([*VARIANT, "option"])]
    if not twice.empty:
        value = ", ".join(twice[[*VARIANT, "option"]].iloc[0])
        raise InputError([Problem("<measures>", "appears twice", "delete one", value=value)])
    return own


def leakage_of_variants(measures: pd.DataFrame, benchmarks: Collection[str]) -> pd.DataFrame:
    """Return each variant's leakage of the key, and of the distractor it leaks most.

    Parameters
    ----------
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`.
    benchmarks : collection of str
        The benchmarks to include.

    Returns
    -------
    pandas.DataFrame
        `VARIANT`, ``key`` and ``distractor``; NaN if an option's leakage is undefined.

    Raises
    ------
    InputError
        If there is no measure of their leakage, or a duplicate.
    """
    own = leakage_of_options(measures, benchmarks)
    largest = own.groupby([*VARIANT, "role"])["value"].max()
    return largest.unstack("role").reindex(columns=[KEY, DISTRACTOR]).reset_index()
