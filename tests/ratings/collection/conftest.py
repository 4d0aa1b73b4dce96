"""An assignment, in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairstats.ratings.collection.assignment import Assigned, assign
from tests.rating_files import COMPARES, item_rows, rater_rows, write_rows


@pytest.fixture
def handed(tmp_path: Path) -> Callable[..., Assigned]:
    """An assignment of numbered items to numbered raters."""

    def build(
        rubric: str = "independent",
        *,
        items: int | list[dict[str, Any]] = 6,
        raters: list[dict[str, Any]] | None = None,
        out: str = "study",
        **options: Any,
    ) -> Assigned:
        rows = item_rows(items, compares=COMPARES[rubric]) if isinstance(items, int) else items
        people = rater_rows(physician=4) if raters is None else raters
        return assign(
            write_rows(tmp_path / "items.csv", rows),
            write_rows(tmp_path / "raters.csv", people),
            rubric=rubric,
            out=tmp_path / out,
            **{"benchmark": "study"} | options,
        )

    return build
