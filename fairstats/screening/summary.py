"""A screening as text, and as files in a folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.formatting import escape_comment
from fairstats._lib.table_text import table_csv, table_json, write_text
from fairstats.screening.screen import Screening

_SET = ["benchmark", "benchmark_version", "model", "strategy"]


def count_flags(table: pd.DataFrame) -> str:
    """Return how many answer sets have each flag as their most serious one.

    Examples
    --------
    >>> sets = pd.DataFrame({"benchmark": "b", "benchmark_version": "1", "model": list("mmn"),
    ...                      "strategy": "plain", "flag": ["ok", "look", "ok"]})
    >>> count_flags(sets)
    '2 answer sets: 0 block, 1 look, 1 ok'
    """
    flags = [set(rows["flag"]) for _, rows in table.groupby(_SET)]
    block = sum("block" in one for one in flags)
    look = sum("look" in one and "block" not in one for one in flags)
    sets = f"{len(flags)} answer set{'s' * (len(flags) != 1)}"
    return f"{sets}: {block} block, {look} look, {len(flags) - block - look} ok"


def flagged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not "ok", those that block first."""
    rows = table[table["flag"] != "ok"]
    return rows.sort_values("flag", kind="stable", ignore_index=True)


def markdown(table: pd.DataFrame) -> str:
    """Return the flagged rows as Markdown, e.g. for a comment on a submission."""
    lines = [f"**{count_flags(table)}**", ""]
    rows = flagged(table)
    if len(rows):
        lines += ["| flag | answer set | check | value | limit | adjusted p | note |"]
        lines += ["|---|---|---|--:|--:|--:|---|"]
    for row in rows.to_dict("records"):
        name = " / ".join(str(row[column]) for column in _SET)
        figures = [_figure(row[column]) for column in ("value", "reference", "p_adjusted")]
        cells = [
            row["flag"],
            escape_comment(name),
            row["check"],
            *figures,
            escape_comment(str(row["note"])),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", f"{len(table)} checks. A flag is a reason to ask, not a proof."]
    return "\n".join(lines) + "\n"


def _figure(value: object) -> str:
    return "" if pd.isna(value) else f"{value:.2g}"


def write_screening(screening: Screening, folder: Path) -> list[Path]:
    """Write ``screening.csv``, ``screening.json`` and ``screening.md``, each completely or not.

    Parameters
    ----------
    screening : Screening
        The results.
    folder : path
        The folder; created if it does not exist. Earlier files of these names are replaced.

    Returns
    -------
    list of pathlib.Path
    """
    table = screening.to_frame()
    texts = {"csv": table_csv(table), "json": table_json(table), "md": markdown(table)}
    paths = []
    for suffix, text in texts.items():
        path = folder / f"screening.{suffix}"
        with whole_file(path) as temporary:
            write_text(text, temporary)
        paths.append(path)
    return paths
