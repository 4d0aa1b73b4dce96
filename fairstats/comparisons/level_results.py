"""Result of comparing levels: tables, text with drawn intervals, and the items that differ."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fairstats._lib.formatting import align, counted, decimal, draw_intervals, scientific
from fairstats._lib.problems import printable
from fairstats.comparisons.scored_items import ScoredItems
from fairstats.inference._checks import check_choice

#: Columns of the table of pairs of `compare_levels`, in order.
LEVEL_PAIR_COLUMNS = (
    "level_a",
    "level_b",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "lowest",
    "highest",
    "p_value",
    "p_adjusted",
    "n",
    "n10",
    "n01",
    "method",
    "test",
    "adjust_method",
)
#: Columns of the table of levels of `compare_levels`, in order.
LEVEL_COLUMNS = (
    "level",
    "estimate",
    "ci_low",
    "ci_high",
    "ci_level",
    "n",
    "n_missing",
    "method",
)


@dataclass(frozen=True, repr=False)
class LevelComparison:
    """Result of `compare_levels`.

    Attributes
    ----------
    pairs : pandas.DataFrame
        `LEVEL_PAIR_COLUMNS`, one row per pair of levels.
    levels : pandas.DataFrame
        `LEVEL_COLUMNS`, one row per level.
    column, score : str
        The columns that were compared.
    """

    pairs: pd.DataFrame
    levels: pd.DataFrame
    column: str
    score: str
    _scored: ScoredItems = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of pairs."""
        return self.pairs

    def disagreements(
        self, level_a: Any = None, level_b: Any = None, *, top: int | None = None
    ) -> pd.DataFrame:
        """Return the items whose scores differ, those that differ most first.

        Parameters
        ----------
        level_a, level_b : optional
            Two levels to compare. By default all levels, by the range of their scores.
        top : int, optional
            The largest number of items (default: all).

        Returns
        -------
        pandas.DataFrame
            The columns that identify an item, one column per level with its mean score, and
            ``difference`` (a − b) or ``range``. If the table has a column ``answer``, also
            ``answer_LEVEL`` with the item's answers at each level.

        Raises
        ------
        ValueError
            If only one level is given, or an unknown one.
        """
        chosen = self._scored.levels
        if (level_a is None) != (level_b is None):
            raise ValueError("give level_a and level_b, or neither for all levels")
        if level_a is not None:
            for name, level in (("level_a", level_a), ("level_b", level_b)):
                check_choice(name, str(level), self._scored.levels)
            chosen = [str(level_a), str(level_b)]
        found = self._scored.items()[chosen]
        name = "range" if level_a is None else "difference"
        found[name] = (
            found.max(axis=1) - found.min(axis=1)
            if level_a is None
            else self._scored.differences(*chosen)
        )
        found = found[found[name].abs() > 1e-12]
        found = found.join(self._answers(chosen))
        order = found[name].abs().sort_values(ascending=False, kind="stable").index
        return found.loc[order[:top]].rename_axis(columns=None).reset_index()

    def _answers(self, levels: list[str]) -> pd.DataFrame:
        """Return each item's answers at each level."""
        rows, keys = self._scored.rows, [*self._scored.item, self.column]
        if "answer" not in rows or "answer" in keys:
            return pd.DataFrame(index=self._scored.items().index)
        texts = rows["answer"].astype(object).where(rows["answer"].notna(), "–").astype(str)
        answers = texts.groupby([rows[key] for key in keys], sort=False).agg(", ".join)
        return answers.unstack(self.column).reindex(columns=levels).add_prefix("answer_")

    def summary(self) -> str:
        """Return both tables as text, with the intervals drawn."""
        items = counted(len(self._scored.items()), "item")
        level = f"{100 * float(self.levels['ci_level'].iloc[0]):g}%"
        lines = [f"{printable(self.score)} by {printable(self.column)}: {items}", ""]
        lines += _drawn(self.levels, self.levels["level"].tolist(), f"mean, {level} interval", None)
        names = [
            f"{a} − {b}" for a, b in zip(self.pairs["level_a"], self.pairs["level_b"], strict=True)
        ]
        joint = f"{100 * float(self.pairs['ci_level'].iloc[0]):.4g}%"
        lines += ["", *_drawn(self.pairs, names, f"difference, {joint} interval", 0.0)]
        lines += ["", f"adjusted p: {self.pairs['adjust_method'].iloc[0]}"]
        if (short := self.levels[self.levels["n_missing"] > 0]).size:
            left_out = ", ".join(
                f"{row.n_missing:,} at {printable(row.level)}" for row in short.itertuples()
            )
            lines.append(f"items without a score, left out of the pairs: {left_out}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        title = html.escape(f"{self.score} by {self.column}")
        return f"<p>{title}</p>{self.levels.to_html(index=False)}{self.pairs.to_html(index=False)}"


def _drawn(
    table: pd.DataFrame, names: Sequence[str], heading: str, reference: float | None
) -> list[str]:
    numbers = [table[name].tolist() for name in ("estimate", "ci_low", "ci_high")]
    *drawn, scale = draw_intervals(*numbers, reference=reference)
    tested = "p_value" in table
    head = ["", heading, "estimate", "interval", "n", *(["p", "adjusted"] if tested else [])]
    rows = [head]
    for name, line, row in zip(names, drawn, table.to_dict("records"), strict=True):
        limits = f"{decimal(row['ci_low'])} to {decimal(row['ci_high'])}"
        p = [scientific(row["p_value"]), scientific(row["p_adjusted"])] if tested else []
        rows.append([name, line, decimal(row["estimate"]), limits, f"{row['n']:,}", *p])
    rows.append(["", scale, *[""] * (len(head) - 2)])
    return align(rows, right=range(2, len(head)))
