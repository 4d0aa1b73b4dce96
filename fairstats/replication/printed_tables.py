"""The published tables that are compared with recomputed values: one row per published cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fairstats._lib.installation import resource
from fairstats.comparisons.successors import known_successors

#: The benchmark with the released answers for these tables.
BENCHMARK = "fairmedqa"
CELL_COLUMNS = (
    *("published", "row", "column", "benchmark", "benchmark_version", "model_old", "model"),
    *("attribute", "group_a", "group_b", "metric", "printed"),
)


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its id, title, file in ``data/published``, and published columns.

    `metrics` gives the metric of each published column, `pairs` the number of pairs of each row if
    the paper gives it and the row has figures of one model that can be checked against it.
    """

    name: str
    title: str
    file: str
    metrics: Mapping[str, str]
    pairs: int | None = None


PUBLISHED = (
    PublishedTable(
        "fairmedqa-1",
        "FairMedQA, table 1: one model on three benchmarks",
        "fairmedqa_table1.csv",
        {"ad": "ad"},
    ),
    PublishedTable(
        "fairmedqa-2",
        "FairMedQA, table 2: a model and its next version",
        "fairmedqa_table2.csv",
        {name: name for name in ("delta_accuracy", "delta_cfr", "delta_ad", "win_win")},
    ),
    PublishedTable(
        "fairmedqa-3",
        "FairMedQA, table 3: twelve models",
        "fairmedqa_table3.csv",
        {"cfr": "cfr", "ad": "ad", "mcnemar_p": "mcnemar", "cohens_h": "cohens_h"},
        pairs=801,
    ),
    PublishedTable(
        "amqa-2",
        "AMQA, table 2: McNemar's test of five models",
        "amqa_table2.csv",
        {"p_bound": "mcnemar", "significance": "mcnemar"},
    ),
)

_TITLE = "FairMedQA"
_NAMES = {
    "newer": "model",
    "older": "model_old",
    "privileged": "group_a",
    "unprivileged": "group_b",
}
# The groups of an attribute, if the table does not print them.
_PAIRS = {
    "group_a": {"race": "white", "sex": "male", "ses": "high_income"},
    "group_b": {"race": "black", "sex": "female", "ses": "low_income"},
}
# One released file has a different name in each paper.
_ALSO_CALLED = {"Qwen-Max": "Qwen-2.5"}
_WIN_WIN = {"True": "win-win", "False": "not win-win"}


def printed_cells() -> pd.DataFrame:
    """Return every published cell of `PUBLISHED`, in published order.

    Returns
    -------
    pandas.DataFrame
        `CELL_COLUMNS`, all text. ``row`` and ``column`` name the cell as in the table.
        ``benchmark``, ``model`` and ``model_old`` use the names in the answers; if a benchmark's
        answers are unreleased, there is no such name. ``model_old`` is present only in table 2.
    """
    return pd.concat([_cells(table) for table in PUBLISHED], ignore_index=True)


def _cells(table: PublishedTable) -> pd.DataFrame:
    path = resource("data", "published", table.file)
    printed = pd.read_csv(path, dtype="str", keep_default_na=False).rename(columns=_NAMES)
    there = dict.fromkeys([*printed, "benchmark", *_PAIRS, "model_old", "win_win"])
    printed = printed.reindex(columns=list(there)).astype("str").replace({"win_win": _WIN_WIN})
    several = printed["benchmark"].notna()
    ours = ~several | (printed["benchmark"] == _TITLE)
    rows = printed.assign(
        published=table.name,
        row=printed["benchmark"]
        .fillna(printed["model"] + ", " + printed["model_old"])
        .fillna(printed["model"]),
        benchmark=printed["benchmark"].where(~ours, BENCHMARK),
        benchmark_version=_variant_set(table, printed).where(ours),
        model=printed["model"].replace(_ALSO_CALLED),
    )
    for side, groups in _PAIRS.items():
        rows[side] = rows[side].fillna(rows["attribute"].map(groups).where(ours))
    cells = rows.melt(
        id_vars=[name for name in CELL_COLUMNS if name in rows],
        value_vars=list(table.metrics),
        var_name="column",
        value_name="printed",
        ignore_index=False,
    )
    # Order the table row by row, each from left to right.
    cells = cells.sort_index(kind="stable")
    cells["metric"] = cells["column"].map(table.metrics)
    cells["column"] = cells["column"].where(~several.loc[cells.index], cells["model"])
    return cells[list(CELL_COLUMNS)].astype("str")


def _variant_set(table: PublishedTable, printed: pd.DataFrame) -> pd.Series:
    """Return the variant set on which each row is recomputed; the papers do not name it.

    This is the set that all models were asked, except for table 3's older models: their rows follow
    only from their answers to the other set. AMQA's table also uses that set: the authors' script
    reads the files of that name. Table 2 reports changes of a model, which require one set of
    questions for both versions.
    """
    version = pd.Series("gpt-agent", printed.index)
    if table.name == "fairmedqa-3":
        older = known_successors([BENCHMARK]).values()
        version = version.mask(printed["model"].isin(older), "deepseek-agent")
    return version
