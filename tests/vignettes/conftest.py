"""Shared fixtures of vignette tests: a crude measure of the released items, the commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from typer.testing import CliRunner

from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.cli import app
from fairstats.vignettes.measures import measures_frame


def _words(text: str) -> frozenset[str]:
    """Return the words of four letters or more, cut to six: enough for a crude count."""
    return frozenset(word[:6] for word in re.findall(r"[a-z]{4,}", text.lower()))


@pytest.fixture(scope="session")
def crude_leakage(shared_data: Callable[[str], Path]) -> pd.DataFrame:
    """Return, for the released items, the share of an option's words that only a variant adds."""
    vignettes = read_vignettes(shared_data("amqa/items.parquet"))
    rows = []
    for item, attribute, group, text in vignettes.variants():
        neutral = _words(item.variants["neutralized"])
        added = _words(text) - neutral
        for letter, option in item.options.items():
            words = _words(option)
            rows.append(
                {
                    "benchmark": vignettes.benchmark.name,
                    "item_id": item.item_id,
                    "attribute": attribute,
                    "group": group,
                    "measure": "leakage_overlap",
                    "option": letter,
                    "role": "key" if letter == item.answer_key else "distractor",
                    "value": len(words & added) / max(len(words), 1),
                }
            )
    return measures_frame(rows)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run ``fairstats vignettes ...``."""
    return lambda *words: CliRunner().invoke(app, ["vignettes", *map(str, words)])
