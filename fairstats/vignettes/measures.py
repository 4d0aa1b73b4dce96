"""What is measured of each variant: numbers without a word of the vignettes' text.

They are what findings are estimated from, and what a release can hold where the text itself may
not be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

#: The columns of a table of measures, in order. One row a variant and measure, or a variant,
#: measure and option; never twice.
MEASURE_COLUMNS = (
    "benchmark",
    "item_id",
    "attribute",
    "group",
    "measure",
    "option",
    "role",
    "value",
)
#: What an option is to its item; empty where a measure is not of an option.
KEY, DISTRACTOR, NO_OPTION = "key", "distractor", ""

_DTYPES = dict.fromkeys(MEASURE_COLUMNS, "str") | {"value": "float64"}


def measures_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of measures as a table; an option and its role may be left out.

    Examples
    --------
    >>> row = dict(benchmark="demo", item_id="demo-01", attribute="race", group="white",
    ...            measure="words", value=61)
    >>> measures_frame([row])[["measure", "option", "value"]].values.tolist()
    [['words', '', 61.0]]
    """
    empty = {"option": NO_OPTION, "role": NO_OPTION}
    table = pd.DataFrame([empty | dict(row) for row in rows], columns=list(MEASURE_COLUMNS))
    return table.astype(_DTYPES)
