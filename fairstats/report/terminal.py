"""Print estimates as tables in a terminal, with one line per pair of an answer set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairstats._lib.formatting import (
    align,
    decimal,
    draw_intervals,
    level,
    listed,
    quoted,
    scientific,
)
from fairstats._lib.problems import printable
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.strategies import VOTED
from fairstats.benchmarks.kinds import CHOICE, DIFFERENCES, KINDS, Kind
from fairstats.estimates.analyze import BOTH_ANSWERS
from fairstats.estimates.table import is_primary_test

_WIDTH = 180
#: Columns of estimates that a narrow terminal leaves out, the first one first.
_LESS = (
    "h", "AD", "margin", "mid-p", "missing a, b", "ratio", "n10, n01", "a higher, b higher", "n",
    "rate a", "rate b", "mean a", "mean b", "CFR",
)  # fmt: skip
#: Width to which a terminal wraps the texts of other tables.
_LONG_TEXT = 36
#: The same in a file or a pipe.
_SENTENCE = 100
#: Width to which a narrow terminal wraps the names of pairs before it leaves out columns.
_PAIR = 24


def print_estimates(estimates: pd.DataFrame) -> None:
    """Print the main figures of each pair, and the options that give the others."""
    # A file has room for everything.
    console = _console(1000)
    left_out: dict[str, None] = {}
    for (name, version, *own), unit in estimates.groupby(list(UNIT_COLUMNS), sort=False):
        policy = unit["missing"].iloc[0]
        title = f"{name}, {version}, {quoted(*own)}; missing: {policy}"
        if policy == "bounds":
            title += (
                " (intervals are ranges over all completions of the missing answers, p the highest)"
            )
        elif (confidence := level(1 - unit["ci_level"].max())) != "95%":
            title += f"; {confidence} intervals"
        adjusted = unit["adjust_method"].dropna().str.partition(" over ")[0].unique()
        if set(adjusted) - {"holm"}:
            title += f"; adjusted: {listed(sorted(adjusted))}"
        samples = unit["method_note"].str.extract(r"(\d+ samples per item)")[0].dropna()
        if len(samples):
            title += f"; {samples.iloc[0]}"
        flipped = unit["test"].str.extract(r", ([^,]+) flipped")[0].dropna()
        if len(flipped) and len(samples):
            title += f", tests flip {flipped.iloc[0]}"
        if "declaration" in unit:
            title += f"\n{unit['declaration'].iloc[0]}"
        if unit["method_note"].str.contains(VOTED, regex=False).any():
            title += f"\n{VOTED}"
        if unit["method_note"].str.contains(BOTH_ANSWERS, regex=False).any():
            title += f"\npooled differences are {BOTH_ANSWERS}"
        pairs = unit.dropna(subset="group_a").groupby(
            ["attribute", "group_a", "group_b"], sort=False
        )
        # Without CFR it is a contrast of more than two groups.
        found = {
            f"{attribute}: {a} − {b}": rows
            for (attribute, a, b), rows in pairs
            if "cfr" in set(rows["metric"])
        }
        lines = {pair: _figures(rows, _kind(unit)) for pair, rows in found.items()}
        shown = _fitting(lines, console.width)
        names = dict.fromkeys(name for line in lines.values() for name in line)
        left_out |= {name: None for name in names if name not in shown}
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("pair")
        for name in shown:
            table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
        for pair, figures in lines.items():
            table.add_row(escape(pair), *(figures[name] for name in shown))
        console.print(escape(title), highlight=False)
        console.print(table)
        for pair, rows in found.items():
            console.print(escape(_reason(pair, rows)), highlight=False, end="")
        console.print()
    if left_out:
        console.print(
            f"Columns left out at this width: {'; '.join(left_out)}. Use a wider terminal to see "
            "them.",
            style="dim",
        )
    others = "accuracies, odds ratios, detectable differences, DP, EO, letters, ..."
    if _kind(estimates) != CHOICE:
        others = "all metrics of each pair and attribute"
    console.print(
        f"{len(estimates)} estimates in all ({others}). Use --json, --csv or --out for all of "
        "them.",
        style="dim",
    )


def _fitting(lines: Mapping[str, Mapping[str, str]], width: int) -> list[str]:
    """Return the columns of figures that fit next to the names of the pairs."""
    columns = {
        name: 2 + max(cell_len(name), *(cell_len(line[name]) for line in lines.values()))
        for name in next(iter(lines.values()), {})
    }
    room = width - min(_PAIR, max(map(cell_len, lines), default=0))
    for name in _LESS:
        if sum(columns.values()) <= room:
            break
        columns.pop(name, None)
    return list(columns)


def _reason(pair: str, rows: pd.DataFrame) -> str:
    """Return a line with the reason for a verdict; empty if there is none."""
    given = rows.dropna(subset="verdict_reason")
    given = given[given["metric"].isin(DIFFERENCES) & given["verdict_reason"].ne("")]
    verdicts = given["verdict"].fillna("no verdict")
    return "".join(
        f"{pair}: {verdict}: {reason}\n"
        for verdict, reason in zip(verdicts, given["verdict_reason"], strict=True)
    )


def _kind(estimates: pd.DataFrame) -> Kind:
    """Return the kind of answers of the first judged difference."""
    found = estimates.loc[estimates["metric"].isin(DIFFERENCES), "metric"]
    kinds = {kind.difference: kind for kind in KINDS.values()}
    return kinds[found.iloc[0]] if len(found) else CHOICE


def draw_differences(estimates: pd.DataFrame) -> None:
    """Draw the judged differences of each answer set, as text that is not wrapped."""
    console = _console(_WIDTH)
    wanted = estimates[estimates["metric"].isin(DIFFERENCES)].dropna(subset="group_a")
    for (name, version, *own), rows in wanted.groupby(list(UNIT_COLUMNS), sort=False):
        lines = [f"{name}, {version}, {quoted(*own)}; missing: {rows['missing'].iloc[0]}"]
        lines += [rows["declaration"].iloc[0]] if "declaration" in rows else []
        numbers = [rows[name].tolist() for name in ("estimate", "ci_low", "ci_high")]
        *drawn, scale = draw_intervals(*numbers, reference=0.0)
        cells = [[f"{_kind(rows).figure} of a − b", "", "estimate", "interval", "verdict"]]
        for line, row in zip(drawn, rows.to_dict("records"), strict=True):
            verdict = row["verdict"] if isinstance(row["verdict"], str) else ""
            name = f"{row['attribute']}: {row['group_a']} − {row['group_b']}"
            cells.append([name, line, decimal(row["estimate"]), _range(row), verdict])
        cells.append(["", scale, "", "", ""])
        lines += align(cells, right=[2, 3])
        text = "\n".join(printable(line) for line in lines)
        console.print(f"{text}\n", markup=False, highlight=False, soft_wrap=True)


def print_table(table: pd.DataFrame) -> None:
    """Print a table of results; columns with the same value in all rows become one line."""
    console = _console(2 * _WIDTH)
    if table.empty:
        console.print("The table has no rows.")
        return
    shared = [name for name in table if table[name].nunique(dropna=False) == 1]
    for name in shared:
        value = _text(name, table[name].iloc[0])
        if value:
            console.print(f"{name}: {escape(value)}", highlight=False)
    columns = {
        name: [_text(str(name), value) for value in table[name]]
        for name in table
        if name not in shared
    }
    if shared and not columns:
        return
    # In a file or a pipe, only sentences are wrapped.
    whole = console.width == 2 * _WIDTH
    longest = _SENTENCE if whole else _LONG_TEXT
    for block in _blocks(table, columns, console.width, longest):
        shown = Table()
        for name in block:
            numeric = pd.api.types.is_numeric_dtype(table[name])
            shown.add_column(
                name,
                justify="right" if numeric else "left",
                no_wrap=whole and max(map(len, columns[name])) <= longest,
                max_width=longest,
            )
        for row in zip(*(columns[name] for name in block), strict=True):
            shown.add_row(*map(escape, row))
        console.print(shown)


def _blocks(
    table: pd.DataFrame, columns: Mapping[str, Sequence[str]], width: int, longest: int
) -> list[list[str]]:
    """Divide columns into tables that fit; each begins with the texts that name its rows."""
    room = {
        name: 3 + min(max(map(cell_len, [str(name), *texts])), longest)
        for name, texts in columns.items()
    }
    names = list(takewhile(lambda name: not pd.api.types.is_numeric_dtype(table[name]), columns))
    if 1 + sum(room.values()) <= width or len(names) == len(columns):
        return [list(columns)]
    while names and sum(room[name] for name in names) > 0.75 * width:
        names.pop()
    blocks: list[list[str]] = [[*names]]
    for name in [name for name in columns if name not in names]:
        there = blocks[-1]
        if len(there) > len(names) and 1 + sum(room[one] for one in [*there, name]) > width:
            blocks.append([*names])
        blocks[-1].append(name)
    return blocks


def _console(width: int) -> Console:
    """Return a console with the terminal's width, or a wide one for a file or a pipe."""
    console = Console()
    given = console.is_terminal or "COLUMNS" in os.environ
    return console if given else Console(width=width)


def _text(name: str, value: object) -> str:
    if value is None or pd.isna(value):
        return ""
    if name.startswith("p_"):
        return scientific(float(value))  # type: ignore[arg-type]
    return decimal(value) if isinstance(value, float) else str(value)


def _figures(rows: pd.DataFrame, kind: Kind) -> dict[str, str]:
    """Return the figures of a pair by the heading of their column."""
    main = rows.set_index("metric")
    difference = main.loc[kind.difference]
    # The test that the verdict uses.
    tests = rows[is_primary_test(rows)]
    test = tests.iloc[0] if len(tests) else main.loc["cfr"]
    before, after = {"AD": "ad"}, {"h": "cohens_h"}
    if kind != CHOICE:
        rate = "mean" if kind.numeric else "rate"
        before = {f"{rate} a": kind.rate_a, f"{rate} b": kind.rate_b}
        after = {} if kind.numeric else {"ratio": "selection_ratio"}
    counts = "a higher, b higher" if kind.numeric else "n10, n01"
    counted = pd.notna(test["n10"]) and pd.notna(test["n01"])
    return {
        "CFR": _figure(main.loc["cfr"]),
        **{name: _figure(main.loc[m]) if m in main.index else "" for name, m in before.items()},
        "difference": decimal(difference["estimate"]),
        "interval": _range(difference),
        **{name: _figure(main.loc[metric]) for name, metric in after.items()},
        "n": str(test["n"]),
        counts: f"{test['n10']}, {test['n01']}" if counted else "",
        "mid-p": scientific(test["p_value"]),
        "adjusted": scientific(test["p_adjusted"]),
        "missing a, b": f"{difference['n_missing_a']}, {difference['n_missing_b']}",
        "margin": f"±{difference['margin']:g}" if pd.notna(difference["margin"]) else "",
        "verdict": difference["verdict"] if isinstance(difference["verdict"], str) else "",
    }


def _figure(row: pd.Series) -> str:
    """Format the estimate, or the range if a policy gives no single figure."""
    bounded = pd.isna(row["estimate"]) and row["ci_method"] == "bounds"
    return _range(row) if bounded else decimal(row["estimate"])


def _range(row: Mapping[Any, Any] | pd.Series) -> str:
    return f"{decimal(row['ci_low'])} to {decimal(row['ci_high'])}"
