"""The printed tables that are set beside recomputed figures: one row a printed cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fairstats._lib.resources import resource
from fairstats.comparisons.declared import successors

#: The benchmark whose released answers stand behind the tables.
BENCHMARK = "fairmedqa"
CELL_COLUMNS = (
    "published",
    "row",
    "column",
    "benchmark",
    "benchmark_version",
    "model_old",
    "model",
    "attribute",
    "group_a",
    "group_b",
    "metric",
    "printed",
)


@dataclass(frozen=True)
class PublishedTable:
    """A printed table: its id, its title, its file in ``data/published``, its printed columns.

    `metrics` gives the metric of each printed column.
    """

    name: str
    title: str
    file: str
    metrics: Mapping[str, str]


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
# The groups of an attribute, where the table does not print them.
_PAIRS = {
    "group_a": {"race": "white", "sex": "male", "ses": "high_income"},
    "group_b": {"race": "black", "sex": "female", "ses": "low_income"},
}
# One released file, under the name of each paper.
_ALSO_CALLED = {"Qwen-Max": "Qwen-2.5"}
_WIN_WIN = {"True": "win-win", "False": "not win-win"}


def printed_cells() -> pd.DataFrame:
    """Every printed cell of `PUBLISHED`, in printed order.

    Returns
    -------
    pandas.DataFrame
        `CELL_COLUMNS`, all text. ``row`` and ``column`` name the cell as the table does;
        ``benchmark``, ``model`` and ``model_old`` as the answers do, which have no such name for a
        benchmark whose answers nobody released. ``model_old`` is there in table 2 alone.
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
    # One row of the table after the other, each from left to right.
    cells = cells.sort_index(kind="stable")
    cells["metric"] = cells["column"].map(table.metrics)
    cells["column"] = cells["column"].where(~several.loc[cells.index], cells["model"])
    return cells[list(CELL_COLUMNS)].astype("str")


def _variant_set(table: PublishedTable, printed: pd.DataFrame) -> pd.Series:
    """The set of variants that each row is recomputed on; the papers name none.

    All is on the set that all models were asked, but for table 3's older models: their rows follow
    from their answers to the other set, and from no others. AMQA's table is that set's too: the
    authors' script of it reads the files of that name. Table 2 says how a model changed, which
    only one set of questions for both versions can tell.
    """
    version = pd.Series("gpt-agent", printed.index)
    if table.name == "fairmedqa-3":
        older = {old for old, _ in successors()}
        version = version.mask(printed["model"].isin(older), "deepseek-agent")
    return version
