"""The estimates of each pair of groups in one row, as a paper prints them."""

from __future__ import annotations

import pandas as pd

from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.table import PRIMARY_TEST, is_primary_test

_INTERVAL = {"estimate": "", "ci_low": "_low", "ci_high": "_high"}
# Columns of the wide table by metric.
_METRICS = {"accuracy_difference": "difference", "cfr": "cfr", "cohens_h": "cohens_h"}
_KEYS = list(PAIR_COLUMNS)

#: The columns of `publication_table`, in order.
PUBLICATION_COLUMNS = (
    *_KEYS,
    "n",
    "accuracy_a",
    "accuracy_b",
    *(f"difference{end}" for end in _INTERVAL.values()),
    "p_value",
    "p_adjusted",
    *(f"cfr{end}" for end in _INTERVAL.values()),
    *(f"cohens_h{end}" for end in _INTERVAL.values()),
    "verdict",
    "verdict_reason",
    "margin",
    "ci_level",
    "missing",
    "method_note",
)
_JUDGED = ("n", "verdict", "verdict_reason", "margin", "ci_level", "missing", "method_note")
_NEEDED = ("accuracy_a", "accuracy_b", *_METRICS, "mcnemar")


def publication_table(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the main estimates of each pair of groups in one row.

    Parameters
    ----------
    estimates : pandas.DataFrame
        The table from `analyze`, or some of its rows: each model, attribute or policy may be left
        out, but no metric that the table shows.

    Returns
    -------
    pandas.DataFrame
        One row per pair, with columns `PUBLICATION_COLUMNS`, in the order of the estimates:
        `accuracy_a`, `accuracy_b`; `difference` (a − b), `cfr` and `cohens_h`, each with its limits
        (``_low``, ``_high``); the p-value of McNemar's mid-p test and its adjusted value; `n`, the
        number of pairs of answers of the difference; the verdict and its reason; and how the
        difference was judged: the margin, the level of the intervals, the policy for missing
        answers and notes. Shares are between 0 and 1. What was not estimated is NaN; the baseline
        pair has no verdict.

    Raises
    ------
    ValueError
        If a column or a metric is missing, or a pair has two rows of a metric.

    Examples
    --------
    >>> from fairstats import analyze, example_answers
    >>> answers = example_answers().query("attribute == 'race' and model in ['GPT-4o', 'GPT-4.1']")
    >>> table = publication_table(analyze(answers))
    >>> table[["model", "accuracy_a", "accuracy_b", "difference", "cfr", "verdict"]].round(3)
         model  accuracy_a  accuracy_b  difference    cfr    verdict
    0  GPT-4.1       0.923       0.774       0.149  0.804  disparity
    1   GPT-4o       0.912       0.727       0.186  0.777  disparity
    """
    needed = {*_KEYS, *_INTERVAL, *_JUDGED, "metric", "test", "p_value", "p_adjusted"}
    if missing := sorted(needed - set(estimates)):
        raise ValueError(
            f"estimates lacks the column {missing[0]}: give the table from fairstats.analyze"
        )
    counted = estimates[estimates["missing"] != "bounds"]
    absent = [name for name in _NEEDED if name not in set(counted["metric"])]
    if len(counted) and absent:
        raise ValueError(f"estimates lacks {absent[0]}: leave metrics= out of fairstats.analyze")
    differences = estimates[estimates["metric"] == "accuracy_difference"]
    wide = differences.set_index(_KEYS)[list(_JUDGED)]
    for metric, name in _METRICS.items():
        own = _by_pair(estimates[estimates["metric"] == metric], metric)
        for column, end in _INTERVAL.items():
            wide[name + end] = own[column].reindex(wide.index)
    tests = _by_pair(estimates[is_primary_test(estimates)], PRIMARY_TEST)
    for column in ("p_value", "p_adjusted"):
        wide[column] = tests[column].reindex(wide.index).astype("float64")
    for name in ("accuracy_a", "accuracy_b"):
        wide[name] = _by_pair(estimates[estimates["metric"] == name], name)["estimate"]
    return wide.reset_index()[list(PUBLICATION_COLUMNS)]


def _by_pair(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    twice = rows.duplicated(_KEYS)
    if twice.any():
        pair = " · ".join(rows.loc[twice, _KEYS].iloc[0].astype("str"))
        raise ValueError(
            f"{pair} has two rows of {name}: give the estimates of one analysis and one policy"
        )
    return rows.set_index(_KEYS)
