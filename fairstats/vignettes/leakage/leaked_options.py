"""What each variant leaks of the key and of the distractors, from the table of measures."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.terms import BASELINE
from fairstats.vignettes.measures import DISTRACTOR, KEY

#: The measures of leakage that differences are adjusted for; others of like names are what chance
#: alone gives, or the same of fewer words.
ADJUSTED_FOR = ("leakage_overlap", "leakage_tfidf", "leakage_embedding")
#: What names a variant in a table of measures, with the measure.
VARIANT = ("benchmark", "measure", "item_id", "attribute", "group")


def leakage_of_options(measures: pd.DataFrame, benchmarks: Collection[str]) -> pd.DataFrame:
    """The measures of leakage of these benchmarks' demographic variants, one row an option.

    Raises
    ------
    InputError
        Where there is none, or one appears twice.
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
    """What each variant leaks: of the key, and of the distractor it leaks most of.

    Parameters
    ----------
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`.
    benchmarks : collection of str
        Of which benchmarks.

    Returns
    -------
    pandas.DataFrame
        `VARIANT`, ``key`` and ``distractor``; NaN where an option's leakage is not defined.

    Raises
    ------
    InputError
        Where there is no measure of leakage of them, or one appears twice.
    """
    own = leakage_of_options(measures, benchmarks)
    largest = own.groupby([*VARIANT, "role"])["value"].max()
    return largest.unstack("role").reindex(columns=[KEY, DISTRACTOR]).reset_index()
