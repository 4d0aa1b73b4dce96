"""The settings with which answer sets were made, and whether they are the same for all groups.

Settings are columns of the answers table. A missing answer has none if its request failed, so it
does not count. An empty setting is not known, and so no other value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.formatting import listed
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, count_rows
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark

#: What must not differ between the groups of an answer set, and why there is no verdict if it does.
MIXED = {
    "snapshot": "groups were answered by different snapshots of the model",
    "temperature": "groups were answered at different temperatures",
    "endpoint": "groups were answered by different endpoints",
    "max_tokens": "groups were answered with different limits of tokens",
}
#: What figures can need besides the answers for the groups, by `GroupsMetric.besides`.
BESIDES = {"controls": "controls", "neutralized": "neutralized versions"}
SAME_PROMPTS = "groups were asked with the same prompts"
PROMPT = "prompt_sha256"
# Of more values, a note gives their number.
_LISTED = 3
_KEYS = [*UNIT_COLUMNS, "attribute", "group"]


@dataclass(frozen=True)
class Settings:
    """How an answer set was made.

    Attributes
    ----------
    mixed : str
        How its groups were answered differently; empty if they were not.
    unrecorded : tuple of str
        The columns that are filled in for some groups and empty for others.
    besides : mapping of str to str
        How ``controls``, or ``neutralized`` versions, were answered differently from the groups, as
        far as is recorded.
    values : mapping of str to tuple of str
        The different values of each column that has any, sorted. Of ``prompt_sha256`` these are the
        first prompt of each variant, after its name, if the prompts of all answers are known.
    """

    mixed: str = ""
    unrecorded: tuple[str, ...] = ()
    besides: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def caution(self) -> str:
        """Return what to know before groups are called equal; empty if all settings are known."""
        if not self.unrecorded:
            return ""
        return f"{listed(self.unrecorded)}: recorded for some groups only"


def different_settings(
    old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]], *, skip: Sequence[str] = ()
) -> str:
    """Name the settings in which two answer sets differ; empty if none does.

    Examples
    --------
    >>> different_settings({"temperature": ["0.0"]}, {"temperature": ["0.0", "1.0"]})
    'different settings: temperature 0.0 → 0.0, 1.0'
    """
    parts, names = [], [name for name in dict.fromkeys([*old, *new]) if name not in skip]
    for name in (name for name in names if name in old and name in new):
        sides = old[name], new[name]
        if name == PROMPT:
            variants, other = (dict(one.rsplit(" ", 1) for one in side) for side in sides)
            if any(variants[one] != other[one] for one in variants.keys() & other):
                parts.append("prompts")
        elif sides[0] != sides[1]:
            shown = (
                ", ".join(side) if len(side) <= _LISTED else f"{len(side)} values" for side in sides
            )
            parts.append(f"{name} {' → '.join(shown)}")
    alone = [name for name in names if (name in old) != (name in new)]
    if alone:
        parts.append(f"{listed(alone)} recorded for one side only")
    return f"different settings: {', '.join(parts)}" if parts else ""


def settings_of(
    opened: OpenAnswers, benchmark: Benchmark, units: pd.DataFrame
) -> npt.NDArray[np.object_]:
    """Return the `Settings` of each answer set.

    Notes
    -----
    Groups are answered differently if the shares of a value among their filled-in answers are more
    than ``largest_missing`` apart; an update in a run changes few shares. A group is compared if
    more than this share of its answers has a value. If the shares of answers without a value are
    that far apart, the column is in `Settings.unrecorded`.
    """
    there = opened.frame.collect_schema().names()
    mixed = np.full(len(units), "", dtype=object)
    values: list[dict[str, tuple[str, ...]]] = [{} for _ in range(len(units))]
    unrecorded: list[list[str]] = [[] for _ in range(len(units))]
    besides: list[dict[str, str]] = [{} for _ in range(len(units))]
    places = {unit: place for place, unit in enumerate(units.itertuples(index=False, name=None))}
    for name in [*MIXED, PROMPT]:
        if name not in there:
            continue
        if name == PROMPT:
            table = opened.once(("rows by", name), partial(_first_prompts, opened))
        elif name in opened.cells:
            table = opened.cells[opened.cells["answer"].notna()]
        else:
            given = opened.frame.filter(~nw.col("answer").is_null())
            table = opened.once(("rows by", name), partial(count_rows, given, [*_KEYS, name]))
        own = table[table["benchmark"] == benchmark.name]
        for unit, own_values in _values(own, name):
            values[places[unit]][name] = own_values
        if not own[name].isna().any() and own[name].nunique() < 2:
            continue
        apart, blank = _apart(own[own["attribute"] != BASELINE], name, benchmark, units)
        if name != PROMPT:
            mixed[(mixed == "") & apart] = MIXED[name]
            for part, both in _besides(own, benchmark):
                differ, open_ = _apart(both, name, benchmark, units)
                for place in np.flatnonzero(differ | open_).tolist():
                    text = MIXED[name] if differ[place] else f"groups do not all state a {name}"
                    if differ[place] or part not in besides[place]:
                        besides[place][part] = f"{BESIDES[part]} and {text}"
        for place in np.flatnonzero(blank).tolist():
            unrecorded[place].append(name)
    if PROMPT in there:
        mixed[(mixed == "") & _same_prompts(opened, benchmark, units)] = SAME_PROMPTS
    found = np.empty(len(units), dtype=object)
    parts = zip(mixed, map(tuple, unrecorded), besides, values, strict=True)
    found[:] = [Settings(*one) for one in parts]
    return found


def _besides(own: pd.DataFrame, benchmark: Benchmark) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of all groups with those of controls, and of neutralized versions, as one."""
    groups = own["attribute"].isin(benchmark.varied_names)
    neutral = (own["attribute"] == BASELINE) & (own["group"] == NEUTRALIZED)
    controls = ~groups & (own["attribute"] != BASELINE)
    for part, others in (("controls", controls), ("neutralized", neutral)):
        names = own["attribute"] + " " + own["group"]
        yield part, own.assign(attribute=part, group=names)[groups | others]


def _first_prompts(opened: OpenAnswers) -> pd.DataFrame:
    """Count the answers of each variant with and without a prompt; there are too many prompts."""
    prompts = opened.frame.with_columns(nw.col(PROMPT).cast(nw.String))
    counted = prompts.with_columns(known=~nw.col(PROMPT).is_null()).group_by(*_KEYS, "known")
    return counted.agg(nw.col(PROMPT).min(), rows=nw.len()).collect().to_pandas()


def _values(own: pd.DataFrame, column: str) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each answer set that has values in a column, with these values."""
    if column == PROMPT:
        own = own[~own.duplicated(_KEYS, keep=False)]
        own = own.assign(**{column: own["attribute"] + " " + own["group"] + " " + own[column]})
    for unit, found in own.dropna(subset=[column]).groupby([*UNIT_COLUMNS])[column]:
        texts = {f"{one:g}" if isinstance(one, float) else str(one) for one in found}
        yield unit, tuple(sorted(texts))


def _apart(
    own: pd.DataFrame, column: str, benchmark: Benchmark, units: pd.DataFrame
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the answer sets whose groups have other values in a column, or more empty ones."""
    sets = _KEYS[:-1]
    known = own[column].notna()
    filled = own["rows"].where(known, 0).groupby([own[key] for key in _KEYS]).sum()
    filled = filled / own.groupby(_KEYS)["rows"].sum()
    blank = filled.groupby(level=sets).agg(np.ptp)
    enough = filled.index[filled > benchmark.largest_missing]
    rows = own[known].groupby([*_KEYS, column])["rows"].sum().unstack(fill_value=0)
    rows = rows.reindex(enough)
    shares = rows.div(rows.sum(axis=1), axis=0).groupby(level=sets)
    differ = (shares.max() - shares.min()).max(axis=1)
    return _many(differ, benchmark, units), _many(blank, benchmark, units)


def _many(
    shares: pd.Series[Any], benchmark: Benchmark, units: pd.DataFrame
) -> npt.NDArray[np.bool_]:
    """Return the answer sets in which the share of an attribute is more than may be missing."""
    most = shares.groupby(level=list(UNIT_COLUMNS)).max()
    found = most.reindex(pd.MultiIndex.from_frame(units)).to_numpy(dtype=float)
    return np.asarray(np.nan_to_num(found) > benchmark.largest_missing)


def _same_prompts(
    opened: OpenAnswers, benchmark: Benchmark, units: pd.DataFrame
) -> npt.NDArray[np.bool_]:
    """Return the answer sets in which groups of many items share a prompt, which then names none.

    In a control, the same prompt may be asked again.
    """
    own = opened.frame.filter(
        nw.col("benchmark") == benchmark.name,
        nw.col("attribute").is_in(benchmark.varied_names),
        ~nw.col(PROMPT).is_null(),
    )
    keys = [*UNIT_COLUMNS, "attribute"]
    groups, prompts = (
        count_rows(own.group_by(*keys, "item_id", column).agg(nw.len()), keys)
        .set_index(keys)["rows"]
        .sort_index()
        for column in ("group", PROMPT)
    )
    return _many(1 - prompts / groups, benchmark, units)
