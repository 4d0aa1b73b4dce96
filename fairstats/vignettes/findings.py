"""Results of an audit of vignettes: one row per estimate, and one row per item to check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

#: Columns of the table of findings, in order. ``aspect`` is the question (`ASPECTS`), ``measure``
#: the measure, and ``quantity`` the estimate. A row for one group has no ``group_b``. A row for a
#: pair is group a minus group b. A row without a model is about the text alone.
FINDING_COLUMNS = (
    "aspect",
    "measure",
    "quantity",
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
    "attribute",
    "group_a",
    "group_b",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "ci_method",
    "p_value",
    "test",
    "n",
    "note",
)
#: Columns of the table of flags, in order: what to check, with the text concerned.
FLAG_COLUMNS = ("aspect", "item_id", "attribute", "group", "flag", "detail")

#: The questions of an audit, in order.
ASPECTS = (
    "leakage",
    "remaining disparity",
    "wording",
    "content",
    "duplicates",
    "items",
    "variant sets",
    "benchmarking capacity",
)

_NUMBERS = ("estimate", "ci_low", "ci_high", "ci_level", "p_value")
_TYPES = dict.fromkeys(_NUMBERS, "float64") | {"n": "int64"}


def findings_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of findings as a table; missing texts are empty, missing numbers NaN, `n` 0."""
    blank = {
        name: float("nan") if name in _NUMBERS else 0 if name == "n" else ""
        for name in FINDING_COLUMNS
    }
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FINDING_COLUMNS))
    return table.astype({name: _TYPES.get(name, "str") for name in FINDING_COLUMNS})


def flags_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows of flags as a table; missing values are empty."""
    blank = dict.fromkeys(FLAG_COLUMNS, "")
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FLAG_COLUMNS))
    return table.astype("str")
