"""Comparison of the levels of any column by the mean scores of the same items."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
import scipy

from fairstats._lib.formatting import align, counted, decimal, draw_intervals, listed, scientific
from fairstats._lib.problems import InputError, input_error, parameter, printable
from fairstats._lib.result_objects import Estimate
from fairstats.inference._checks import check_alpha, check_choice, check_numbers
from fairstats.inference.clustered_answers import flip_test
from fairstats.inference.differences import MeanDifference, difference_interval, mean_difference
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.multiplicity import AdjustMethod, adjust_pvalues
from fairstats.inference.unit_means import unit_mean, unit_mean_difference
from fairstats.inference.verdict import roomy_difference
from fairstats.metrics.metric import roomy

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
_TABLE = "<scores>"
# No column of a table has this name.
_SCORE = "\0score"
_WORDS = {"true": 1, "false": 0}


def compare_levels(
    scores: Any,
    column: str,
    *,
    item: str | Sequence[str] = "item_id",
    score: str = "correct",
    match: str | Sequence[str] = (),
    levels: Iterable[Any] | None = None,
    baseline: Any = None,
    limits: tuple[float, float] | None = None,
    cluster: str | None = None,
    adjust: AdjustMethod = "holm",
    simultaneous: bool = False,
    alpha: float = 0.05,
) -> LevelComparison:
    """Compare the levels of any column by their mean scores on the same items.

    With x_ia the mean of item i's scores at level a, the estimand for a pair of levels is the mean
    of x_ia − x_ib over the items. No benchmark needs to be declared.

    Parameters
    ----------
    scores : pandas or Polars DataFrame
        One row per score. Several rows of an item at a level (samples, groups) are averaged.
    column : str
        The column whose levels are compared, e.g. ``"prompt"``, ``"model"`` or ``"temperature"``.
    item : str or sequence of str
        The columns that identify an item. Items are independent; scores of one item are not.
    score : str
        The column of scores: right or wrong (True, False, 1, 0), grades, or any numbers. An answers
        table needs no ``correct``: it is computed from ``answer`` and ``answer_key``.
    match : str or sequence of str
        Columns in which two scores must agree to be compared, e.g. ``["attribute", "group"]`` if
        some levels were not asked all groups of an item.
    levels : iterable, optional
        The levels to compare, in order (default: all, in the order of the table).
    baseline : optional
        Compare all levels only with this one: level − baseline.
    limits : (float, float), optional
        The lowest and highest possible score, e.g. (1, 5). Known for right and wrong.
    cluster : str, optional
        A column of what several items share, such as a patient. Clusters are then the independent
        units, and `limits` must be known.
    adjust : {"holm", "hommel", "bh", "by"}
        How p-values are adjusted over the pairs; see `adjust_pvalues`.
    simultaneous : bool
        Whether all intervals of pairs hold at once: each then has level 1 − alpha / pairs.
    alpha : float
        1 − confidence level.

    Returns
    -------
    LevelComparison
        ``pairs`` and ``levels`` are data frames, ``summary()`` draws their intervals, and
        ``disagreements()`` lists the items whose scores differ. In ``pairs``, ``n`` is the number
        of items with a score at both levels; ``n10`` and ``n01`` are the items that only a, and
        only b, got right. ``lowest`` and ``highest`` bound the difference over all completions of
        missing scores; NaN if scores are missing and the limits unknown.

    Raises
    ------
    InputError
        For a column that does not exist, an empty level or item, a score that is not a number or
        outside the limits, an unknown level, fewer than two levels, or levels without a common
        item.
    ValueError
        For scores that are not a data frame, limits that are not two increasing numbers, or an
        invalid option.

    Notes
    -----
    If every item has one score of 0 or 1 at each level, intervals of pairs are Tango's and p-values
    are McNemar's (mid-p). In all other cases the test flips the signs of whole items or clusters
    (`flip_test`, mid-p), as `fairstats.analyze` does for levels and scores. If two levels have
    different numbers of rows, an item's difference is not symmetric: a rare error is large in the
    mean of a few rows. p is then the larger one of this test and of a normal test with the variance
    of differences whose rows are exchanged between both levels within items. Intervals are those of
    `unit_mean_difference` if the limits are known, or Student's t (see `mean_difference` for items
    that all have one difference). Means have Wilson's interval, the exact bootstrap of
    `bounded_mean_interval` if the limits are known, or Student's t; with clusters, `unit_mean`.
    If all scores are at the ends of the scale, as right and wrong are, limits of means of several
    have room for rare items (`fairstats.inference.verdict.with_room`), unless items have clusters.
    So have those of pairs of levels with different numbers of rows, if the limits are known. Limits
    that exclude 0 stay there, if the test rejects.

    A missing score leaves its item out of the pair. If an answer can be missing because it was
    refused, this may flatter a level. Read ``lowest`` and ``highest``, or score such answers.

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908; Fagerland, Lydersen & Laake (2013), BMC Medical
    Research Methodology 13:91. Checked against evalstats 0.3.3 (tests/evalstats).

    Examples
    --------
    >>> scores = pd.DataFrame({"prompt": ["plain"] * 6 + ["cot"] * 6, "q": [*range(6)] * 2,
    ...                        "grade": [3, 2, 4, 1, 3, 2, 4, 4, 4, 3, 3, 4]})
    >>> found = compare_levels(scores, "prompt", item="q", score="grade", limits=(1, 5))
    >>> found.pairs[["level_a", "estimate", "ci_low", "ci_high"]].round(2).values.tolist()
    [['plain', -1.17, -2.2, -0.13]]
    >>> found.disagreements("plain", "cot", top=2)[["q", "plain", "cot"]].values.tolist()
    [[1.0, 2.0, 4.0], [3.0, 1.0, 3.0]]
    """
    alpha = check_alpha(alpha)
    check_choice("adjust", adjust, get_args(AdjustMethod))
    scored = scored_items(
        scores,
        column,
        item=item,
        score=score,
        match=match,
        levels=levels,
        limits=limits,
        cluster=cluster,
    )
    if baseline is None:
        pairs = list(itertools.combinations(scored.levels, 2))
    else:
        baseline = str(baseline)
        check_choice("baseline", baseline, scored.levels)
        pairs = [(level, baseline) for level in scored.levels if level != baseline]
    differences = pd.DataFrame({pair: scored.differences(*pair) for pair in pairs})
    if differences.isna().all(axis=None):
        message = "the levels have no item in common"
        remedy = f"give {parameter('item')}, the column of what all levels were scored on"
        raise input_error("<scores>", message, remedy, column=scored.item[0])
    at = alpha / len(pairs) if simultaneous else alpha
    rows = [_pair_row(scored, pair, at) for pair in pairs]
    table = pd.DataFrame(rows)
    table["p_adjusted"] = adjust_pvalues(table["p_value"], method=adjust)
    table["adjust_method"] = f"{adjust} over {counted(len(pairs), 'pair')}"
    table = table.astype({"n10": "Int64", "n01": "Int64"})
    return LevelComparison(
        table[list(LEVEL_PAIR_COLUMNS)], _level_table(scored, alpha), column, score, scored
    )


def _pair_row(scored: ScoredItems, pair: tuple[str, str], alpha: float) -> dict[str, Any]:
    both = scored.paired(*pair)
    d = both["difference"].to_numpy()
    mean = float(d.mean()) if len(d) else np.nan
    lowest, highest = scored.bounds(*pair)
    row = {
        "level_a": pair[0],
        "level_b": pair[1],
        "ci_level": 1 - alpha,
        "lowest": lowest,
        "highest": highest,
        "n": len(d),
    }
    if scored.is_binary:
        n10, n01 = int((d > 0).sum()), int((d < 0).sum())
        # Tango's interval depends only on the discordant counts and n.
        limits = difference_interval(0, n10, n01, len(d) - n10 - n01, alpha=alpha)
        return row | {
            "estimate": (n10 - n01) / len(d) if len(d) else np.nan,
            "ci_low": float(limits.ci_low),
            "ci_high": float(limits.ci_high),
            "p_value": float(mcnemar(n10=n10, n01=n01).p_value),
            "n10": n10,
            "n01": n01,
            "method": "tango",
            "test": "mcnemar midp",
        }
    by_unit = both.groupby("unit", sort=False).sum()
    found: Any = mean_difference(d, alpha=alpha)
    if scored.limits is not None:
        sizes = both.groupby("unit", sort=False).size().to_numpy()
        found = unit_mean_difference(
            by_unit["a"], sizes, by_unit["b"], sizes, limits=scored.limits, alpha=alpha
        )
    tested = flip_test(by_unit["difference"])
    p_value, test = float(tested.p_value), f"sign flip {tested.method}"
    exchanged = scored.exchange_variance(*pair)
    if exchanged > 0:
        # A rare error is large in the mean of a few rows, and small in that of many.
        p_value = max(p_value, float(scipy.special.chdtrc(1, d.sum() ** 2 / exchanged)))
        test += ", or rows exchanged within items; the larger p"
    low, high, room = float(found.ci_low), float(found.ci_high), ""
    if scored.limits is not None and (scored.has_room or exchanged > 0):
        units, span = len(by_unit), scored.limits[1] - scored.limits[0]
        low, high, room = roomy_difference(
            mean, (low, high), units=units, span=span, alpha=alpha, rejected=p_value <= alpha
        )
    return row | {
        "estimate": mean,
        "ci_low": low,
        "ci_high": high,
        "p_value": p_value,
        "n10": None,
        "n01": None,
        "method": found.method + room,
        "test": test,
    }


def _level_table(scored: ScoredItems, alpha: float) -> pd.DataFrame:
    items, rows = scored.items(), []
    for level in scored.levels:
        values = items[level].dropna()
        found = _mean(values, scored, alpha)
        row = {"level": level, "n": len(values), "n_missing": len(items) - len(values)}
        row |= {"estimate": values.mean(), "ci_low": found.ci_low, "ci_high": found.ci_high}
        rows.append(row | {"ci_level": 1 - alpha, "method": found.method})
    return pd.DataFrame(rows)[list(LEVEL_COLUMNS)]


def _mean(values: pd.Series, scored: ScoredItems, alpha: float) -> Estimate | MeanDifference:
    """Return the mean of items' scores with its interval."""
    if scored.limits is None:
        return mean_difference(values, alpha=alpha)
    if scored.clusters is not None:
        units = values.groupby(scored.clusters)
        return unit_mean(units.sum(), units.size(), limits=scored.limits, alpha=alpha)
    if scored.is_binary:
        return wilson(int(values.sum()), len(values), alpha=alpha)
    least, most = scored.limits
    span = most - least
    found = bounded_mean_interval(np.clip((values - least) / span, 0, 1), alpha=alpha)
    if scored.has_room:
        found = roomy(found, len(values), (0.0, 1.0), alpha)
    low, high = (least + span * limit for limit in found.ci)
    return replace(found, ci_low=low, ci_high=high)


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
        if level_a is None:
            name, sizes = "range", found.max(axis=1) - found.min(axis=1)
        else:
            name, sizes = "difference", self._scored.differences(*chosen)
        found[name] = sizes
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


@dataclass(frozen=True)
class ScoredItems:
    """Mean scores by item (and matched columns) and level.

    Attributes
    ----------
    levels : list of str
        The levels, in order.
    item : list of str
        The columns that identify an item.
    cells : pandas.DataFrame
        One row per item and value of the matched columns, one column per level; NaN if missing.
    least, most : pandas.DataFrame
        The same, with every missing score at its lowest, and at its highest possible value.
    limits : tuple of float, or None
        The lowest and the highest possible score, if known.
    is_binary : bool
        Whether every item has at most one score at a level, each 0 or 1.
    has_room : bool
        Whether limits have room for rare items, as those of shares of several scores have.
    rows : pandas.DataFrame
        The table, with the levels that are compared.
    scores : pandas.Series
        The scores by item, matched columns and level, in long form.
    clusters : pandas.Series or None
        The cluster of each item, if items are not independent.
    """

    levels: list[str]
    item: list[str]
    cells: pd.DataFrame
    least: pd.DataFrame
    most: pd.DataFrame
    limits: tuple[float, float] | None
    is_binary: bool
    has_room: bool
    rows: pd.DataFrame
    scores: pd.Series
    clusters: pd.Series | None = None

    def items(self) -> pd.DataFrame:
        """Return the mean score of each item at each level."""
        return self._of_items(self.cells)

    def differences(self, a: str, b: str) -> pd.Series:
        """Return each item's mean difference over the cells that both levels have; NaN if none."""
        return self._of_items(self.cells[a] - self.cells[b])

    def paired(self, a: str, b: str) -> pd.DataFrame:
        """Return both means, their difference and the unit of each item with both levels."""
        there = self.cells[a].notna() & self.cells[b].notna()
        means = {name: self._of_items(self.cells[x][there]) for name, x in (("a", a), ("b", b))}
        table = pd.DataFrame(means).assign(difference=self.differences(a, b))
        table = table.dropna()
        if self.clusters is None:
            return table.assign(unit=np.arange(len(table)))
        return table.assign(unit=self.clusters.loc[table.index].to_numpy())

    def exchange_variance(self, a: str, b: str) -> float:
        """Return the variance of the sum of differences if rows are exchanged within cells.

        It is 0 if both levels have as many rows in each cell.
        """
        known = self.scores.dropna()
        known = known[known.index.get_level_values(-1).isin([a, b])]
        cell = list(range(known.index.nlevels - 1))
        n = known.groupby(level=[*cell, len(cell)]).size().unstack(-1).reindex(columns=[a, b])
        n = n.dropna()
        if (n[a] == n[b]).all():
            return 0.0
        # With ddof = 1, this is the variance over all exchanges.
        variance = known.groupby(level=cell).var().reindex(n.index) * (1 / n[a] + 1 / n[b])
        by_item = variance.groupby(level=self.item)
        return float((by_item.sum() / by_item.size() ** 2).sum())

    def bounds(self, a: str, b: str) -> tuple[float, float]:
        """Return the mean difference over all completions of the missing scores."""
        lowest = self._of_items(self.least[a] - self.most[b])
        highest = self._of_items(self.most[a] - self.least[b])
        if lowest.isna().any():
            return float("nan"), float("nan")
        return float(lowest.mean()), float(highest.mean())

    def _of_items(self, table: Any) -> Any:
        return table.groupby(level=self.item, sort=False).mean()


def scored_items(
    scores: Any,
    column: str,
    *,
    item: str | Sequence[str],
    score: str,
    match: str | Sequence[str],
    levels: Iterable[Any] | None,
    limits: tuple[float, float] | None,
    cluster: str | None,
) -> ScoredItems:
    """Read a table of scores; parameters and errors as `fairstats.compare_levels`."""
    import narwhals as nw

    try:
        frame = nw.from_native(scores, eager_only=True).to_pandas().reset_index(drop=True)
    except TypeError:
        raise ValueError(
            f"scores must be a pandas or Polars DataFrame, one row per score; got {type(scores)}"
        ) from None
    named = _names(item)
    matched = _names(match)
    if score == "correct" and score not in frame and {"answer", "answer_key"} <= set(frame):
        right = frame["answer"].eq(frame["answer_key"]).astype("float64")
        frame = frame.assign(correct=right.mask(frame["answer"].isna()))
    needed = [column, *named, *matched, *([] if cluster is None else [cluster]), score]
    for name in needed:
        if name not in frame:
            remedy = f"choose from: {', '.join(map(str, frame.columns)) or 'none'}"
            raise input_error(_TABLE, "there is no such column", remedy, column=str(name))
        if needed.count(name) > 1:
            message = "is used for two things"
            remedy = "give different columns for the levels, item, match and score"
            raise input_error(_TABLE, message, remedy, column=str(name))
    for name in needed[:-1]:
        empty = np.flatnonzero(frame[name].isna())
        if len(empty):
            message, remedy = "is empty", "fill it in, or remove the row"
            where = int(empty[0]) + 1
            raise input_error(_TABLE, message, remedy, row=where, column=name)
    frame = frame.assign(**{column: frame[column].astype(str)})
    chosen = _levels(frame[column], column, levels)
    frame = frame[frame[column].isin(chosen)]
    values = _values(frame[score])
    known = bool(values.dropna().isin([0, 1]).all())
    if limits is not None:
        limits = _checked(limits, values)
    elif known:
        limits = (0.0, 1.0)
    keys = [*named, *matched]
    table = frame[[column, *keys]].assign(**{_SCORE: values})
    by = [*keys, column]
    cells = _wide(table, by, chosen)
    least = most = cells
    if table[_SCORE].isna().any() or cells.isna().any(axis=None):
        ends = limits or (np.nan, np.nan)
        least, most = (
            _wide(table.assign(**{_SCORE: table[_SCORE].fillna(end)}), by, chosen).fillna(end)
            for end in ends
        )
        if limits is None:
            least = most = cells * np.nan
    alone = not matched and not table.duplicated(by).any()
    rows = frame.assign(**{score: values}).reset_index(drop=True)
    clusters = None
    if cluster is not None:
        if limits is None:
            raise ValueError("limits must be given with clusters, e.g. limits=(1, 5)")
        clusters = _clusters(frame, named, cluster)
    binary = known and alone and clusters is None
    # Scores at both ends of the scale, such as right and wrong, or 0 and 100.
    at_ends = limits is not None and bool(values.dropna().isin(limits).all())
    room = at_ends and not binary and clusters is None
    scored = table.set_index(by)[_SCORE]
    return ScoredItems(
        chosen, named, cells, least, most, limits, binary, room, rows, scored, clusters
    )


def _clusters(frame: pd.DataFrame, item: list[str], cluster: str) -> pd.Series:
    """Return the cluster of each item; refuse an item in several."""
    known = frame[[*item, cluster]].drop_duplicates().set_index(item)[cluster]
    again = known.index[known.index.duplicated()]
    if len(again):
        message, remedy = "differs between the rows of an item", "give each item one cluster"
        raise input_error(_TABLE, message, remedy, column=cluster, value=str(again[0]))
    return known


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _levels(column: pd.Series, name: str, levels: Iterable[Any] | None) -> list[str]:
    present = column.unique().tolist()
    if levels is None:
        chosen = present
    else:
        chosen = [str(level) for level in ([levels] if isinstance(levels, str) else levels)]
        absent = [level for level in chosen if level not in present]
        if absent:
            remedy = f"choose from: {', '.join(present)}"
            message = "no row has this level"
            raise input_error(_TABLE, message, remedy, column=name, value=absent[0])
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) < 2:
        value = listed(chosen) or "none"
        remedy = "give scores at two levels or more, or choose another column"
        message = "has fewer than two levels"
        raise input_error(_TABLE, message, remedy, column=name, value=value)
    return chosen


def _values(column: pd.Series) -> pd.Series:
    there = column[column.notna()].astype(object)
    # A CSV file has only text.
    words = there.map(
        lambda value: _WORDS.get(value.lower(), value) if isinstance(value, str) else value
    )
    numbers = pd.to_numeric(words, errors="coerce").astype("float64")
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        message = "is not a finite number, True or False"
        remedy = "give scores as numbers, and leave missing ones empty"
        raise _cell_error(there[wrong], message, remedy)
    return numbers.reindex(column.index)


def _checked(limits: tuple[float, float], values: pd.Series) -> tuple[float, float]:
    ends = check_numbers("limits", limits, example="(1, 5)")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"limits={limits!r} must be the lowest and highest score, e.g. (1, 5)")
    low, high = map(float, ends)
    beyond = values[(values < low) | (values > high)]
    if len(beyond):
        message = f"is outside the limits {low:g} to {high:g}"
        raise _cell_error(beyond, message, "correct the score or the limits")
    return low, high


def _cell_error(wrong: pd.Series, message: str, remedy: str) -> InputError:
    """Return the error for the first of these cells; their index is the place in the table."""
    row, value = int(wrong.index[0]) + 1, str(wrong.iloc[0])
    return input_error(_TABLE, message, remedy, row=row, column=str(wrong.name), value=value)


def _wide(table: pd.DataFrame, by: list[str], levels: list[str]) -> pd.DataFrame:
    means = table.groupby(by, sort=False)[_SCORE].mean()
    return means.unstack(by[-1]).reindex(columns=levels)
