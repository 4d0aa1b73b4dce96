"""The tables that a release and a report make of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class RatingTable:
    """One table that is made of ratings.

    Attributes
    ----------
    columns, keys : tuple of str
        Its columns, in order, and what names a row to a reader.
    make : callable
        Gives the table from ratings, with the keywords ``alpha`` and ``rubrics``.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    make: Callable[..., pd.DataFrame]


#: Every table that is made of ratings, by its name.
RATING_TABLES: Mapping[str, RatingTable] = {}
