"""Whether the rows of published tables are possible at all, without anyone's answers."""

from __future__ import annotations

from functools import cache

import pandas as pd

from fairstats.replication.check_table import CheckedRow, check_table
from fairstats.replication.printed_tables import PUBLISHED, PublishedTable, printed_cells

#: What names a row of a published table.
ROW_COLUMNS = ("published", "row", "attribute")
#: Their verdict, and the counts behind it in words.
VERDICT_COLUMNS = ("possible", "possible_note")


@cache
def printed_verdicts() -> dict[tuple[str, ...], tuple[str, str]]:
    """Return verdict and note of each row of the tables with a known number of pairs.

    Returns
    -------
    dict
        By `ROW_COLUMNS`, the values of `VERDICT_COLUMNS`: the verdict of `fairstats.check_table`,
        and the counts in words. For FairMedQA's table 3, this takes about two seconds.
    """
    cells = printed_cells()
    return {
        key: value
        for table in PUBLISHED
        if table.pairs is not None
        for key, value in _verdicts(table, cells[cells["published"] == table.name]).items()
    }


def _verdicts(table: PublishedTable, cells: pd.DataFrame) -> dict[tuple[str, ...], tuple[str, str]]:
    rows = cells.pivot(index=list(ROW_COLUMNS), columns="column", values="printed")
    checked = check_table(rows.reset_index(drop=True), n=table.pairs)
    keys = rows.index.to_flat_index()
    return {key: (row.verdict, _note(row)) for key, row in zip(keys, checked.rows, strict=True)}


def _note(row: CheckedRow) -> str:
    found = row.judgement
    if found.missing:
        n_a, n_b, _ = found.missing[0]
        return f"e.g. {n_a} and {n_b} answers"
    return f"{found.correct[0]} and {found.correct[1]} correct" if found.correct else ""
