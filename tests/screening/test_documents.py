"""The page on screening lists every check, column and limit, and the measured rates."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pandas as pd

from fairstats.screening import (
    copied_answers,
    difficulty,
    findings,
    missing_answers,
)
from fairstats.screening import (
    flips_and_labels as flips,
)
from fairstats.screening import (
    letters_and_keys as letters,
)
from fairstats.screening.screen import SCREENING_COLUMNS, screen

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "screening.md").read_text(encoding="utf-8")


def row_of(check: str) -> list[str]:
    (line,) = re.findall(rf"(?m)^\| `{check}` \|.*$", PAGE)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_page_lists_every_column():
    columns = PAGE.partition("| column |")[2].partition("\n\n")[0]
    assert set(SCREENING_COLUMNS) == set(re.findall(r"`(\w+)`", columns)) - {"ok", "look", "block"}


def test_page_lists_every_check_in_the_order_of_the_table(honest, synthetic):
    given = honest[0].assign(
        correct=honest[0]["answer"] == honest[0]["answer_key"],
        answer_raw="The answer is " + honest[0]["answer"] + ".",
    )
    against = pd.concat(honest, ignore_index=True)
    checks = screen(given, against, benchmarks=[synthetic]).to_frame()["check"].tolist()
    table = PAGE.partition("## The checks")[2].partition("\n\nHow they work")[0]
    assert re.findall(r"(?m)^\| `(\w+)` \|", table) == checks


def test_page_gives_the_limits_of_the_code():
    shown = {
        "copied_answers": (
            [copied_answers.DIFFERENT_MODELS, copied_answers.SAME_MODEL],
            [copied_answers.DIFFERENT_MODELS_BLOCK, copied_answers.SAME_MODEL_BLOCK],
        ),
        "copied_items": (
            [copied_answers.ITEMS, copied_answers.ITEMS_SAME_MODEL],
            [copied_answers.ITEMS_BLOCK, copied_answers.ITEMS_SAME_MODEL_BLOCK],
        ),
        "pair_flips": (
            [flips.ALL_PAIRS, flips.ONE_PAIR],
            [flips.ALL_PAIRS_BLOCK, flips.ONE_PAIR_BLOCK],
        ),
        "missing_by_item": ([missing_answers.PREDICTED], [missing_answers.PREDICTED_BLOCK]),
        "letter_shares": ([letters.DIFFERENCE], [letters.DIFFERENCE_BLOCK]),
        "accuracy_above_chance": ([letters.ABOVE_CHANCE], []),
        "item_difficulty": ([difficulty.PREDICTED], [difficulty.PREDICTED_BLOCK]),
        "hard_items": ([difficulty.HARD, difficulty.HARD_FEW_MODELS], [difficulty.HARD_BLOCK]),
        "stored_replies": (
            [letters.DIFFERENT_REPLIES],
            [letters.DIFFERENT_REPLIES_BLOCK],
        ),
    }
    for check, limits in shown.items():
        cells = row_of(check)[3:5]
        found = [[float(n) for n in re.findall(r"\d\.\d+", cell)] for cell in cells]
        assert found == [list(part) for part in limits], check
    few = f"{copied_answers.FEW_MODELS:.2f} and {copied_answers.FEW_MODELS_BLOCK:.2f}"
    assert few in PAGE
    assert row_of("mosaic")[3].startswith(f"{copied_answers.MOSAIC_LIMIT:.0%}")
    assert row_of("mosaic")[4].startswith(f"{copied_answers.MOSAIC_BLOCK:.0%}")
    assert (flips.LABELS, flips.LABELS_BLOCK) == (0.75, 0.5)
    assert f"below {findings.LOOK_LEVEL}." in PAGE
    assert f"below {findings.BLOCK_LEVEL} and" in PAGE


def test_page_has_the_tables_of_the_last_measurement():
    path = ROOT / "benchmarks" / "screening.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_screening", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    assert script.honest_table(found["honest"]) in PAGE
    assert script.partial_table(found["partial"]) in PAGE
