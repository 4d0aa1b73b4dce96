"""What an audit of vignettes finds: one row an estimate, and one row an item to look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

#: The columns of the table of findings, in order. ``aspect`` is the question (`ASPECTS`),
#: ``measure`` what was measured, ``quantity`` which figure of it. A row of one group has no
#: ``group_b``, a row of a pair is of group a minus group b; a row without a model says something of
#: the text alone.
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
#: The columns of the table of flags, in order: what to look at by eye, with the text at fault.
FLAG_COLUMNS = ("aspect", "item_id", "attribute", "group", "flag", "detail")

#: The questions that an audit asks, in the order it answers them.
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
    """Rows of findings as a table; texts that are left out are empty, numbers NaN, `n` 0."""
    blank = {
        name: float("nan") if name in _NUMBERS else 0 if name == "n" else ""
        for name in FINDING_COLUMNS
    }
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FINDING_COLUMNS))
    return table.astype({name: _TYPES.get(name, "str") for name in FINDING_COLUMNS})


def flags_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of flags as a table; what is left out is empty."""
    blank = dict.fromkeys(FLAG_COLUMNS, "")
    table = pd.DataFrame([blank | dict(row) for row in rows], columns=list(FLAG_COLUMNS))
    return table.astype("str")
