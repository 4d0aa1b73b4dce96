"""The page on screening lists every check, column and limit, and the measured rates."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import get_args

import pandas as pd

from fairstats.screening import copied_answers as copied
from fairstats.screening import (
    difficulty,
    findings,
)
from fairstats.screening import (
    expected_answers as expected,
)
from fairstats.screening import (
    flips_and_labels as flips,
)
from fairstats.screening import (
    letters_and_keys as letters,
)
from fairstats.screening.screen import SCREENING_COLUMNS, screen

ROOT = Path(__file__).parents[2]
#: The values of the column `flag`.
FLAGS = {*get_args(findings.Flag)}
PAGE = (ROOT / "docs" / "screening.md").read_text(encoding="utf-8")
RATES = (ROOT / "docs" / "screening-rates.md").read_text(encoding="utf-8")


def row_of(check: str) -> list[str]:
    (line,) = re.findall(rf"(?m)^\| `{check}` \|.*$", PAGE)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_page_lists_every_column():
    columns = PAGE.partition("| column |")[2].partition("\n\n")[0]
    assert set(SCREENING_COLUMNS) == set(re.findall(r"`(\w+)`", columns)) - FLAGS


def test_page_lists_every_check_in_the_order_of_the_table(honest, synthetic):
    given = honest[0].assign(
        correct=honest[0]["answer"] == honest[0]["answer_key"],
        answer_raw="The answer is " + honest[0]["answer"] + ".",
    )
    given = pd.concat([given, given.assign(sample=1)], ignore_index=True)
    # Other models state the same snapshot.
    given, against = (
        table.assign(snapshot="0a1b2c3d4e5f")
        for table in (given, pd.concat(honest, ignore_index=True))
    )
    checks = screen(given, against, benchmarks=[synthetic]).to_frame()["check"].tolist()
    table = PAGE.partition("## The checks")[2].partition("\n\nHow they work")[0]
    assert re.findall(r"(?m)^\| `(\w+)` \|", table) == checks


def test_page_gives_the_limits_of_the_code():
    shown = {
        "copied_answers": (
            [copied.DIFFERENT_MODELS, copied.FEW_MODELS, copied.SAME_MODEL],
            [copied.SAME_FILE, copied.SAME_FILE_ALL],
        ),
        "copied_marks": ([copied.MARKS, copied.FEW_MODELS, copied.SAME_MODEL], []),
        "copied_items": ([copied.ITEMS, copied.ITEMS_SAME_MODEL], []),
        "item_alignment": ([letters.EXCESS], [letters.EXCESS_BLOCK]),
        "minority_answers": ([expected.FEWER] * 2, []),
        "pair_flips": ([flips.ALL_PAIRS, flips.ONE_PAIR], []),
        "flip_level": ([flips.SPREAD], []),
        "letter_shares": ([letters.DIFFERENCE], []),
        "item_difficulty": ([difficulty.FOLLOWED], []),
        "hard_items": ([difficulty.HARD], []),
        "stored_replies": ([letters.DIFFERENT_REPLIES, letters.EITHER_LETTER], []),
        "stored_marks": ([letters.DISAGREE], []),
    }
    for check, limits in shown.items():
        cells = row_of(check)[4:6]
        found = [[float(n) for n in re.findall(r"\d\.\d+", cell)] for cell in cells]
        assert found == [list(part) for part in limits], check
    assert row_of("mosaic")[4].startswith(f"{copied.MOSAIC_LIMIT:.0%}")
    assert row_of("group_labels")[4].startswith("half")
    assert flips.LABELS == 0.5
    assert f"{letters.UNREAD_ODDS} times the odds of all replies" in row_of("stored_replies")[4]
    assert f"at least {flips.DOUBTFUL:.0%} as often" in PAGE
    assert f"at most {flips.MOST_DOUBTFUL:.0%} of items" in PAGE
    assert f"a probability below {expected.UNEXPECTED} count" in PAGE
    assert expected.POPULAR == 0.5
    assert f"a probability below {expected.MINORITY_BELOW}, and" in PAGE
    assert f"below {findings.LOOK_LEVEL}." in PAGE
    assert f"below {findings.BLOCK_LEVEL:.0e}.".replace("e-0", "e-") in PAGE


def test_page_has_the_tables_of_the_last_measurement():
    path = ROOT / "benchmarks" / "screening.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_screening", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    assert script.honest_table(found["honest"]) in RATES
    assert script.simulated_table(found["simulated"]) in RATES
    assert script.partial_table(found["partial"]) in RATES
