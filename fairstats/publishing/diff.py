"""Compare releases: list the changes and their reasons, and test what changed in the answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import laid_out
from fairstats._lib.table_text import hash_rows
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit, batches, count_rows
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import read_parquet
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.benchmarks.kinds import DIFFERENCES
from fairstats.comparisons.change_verdicts import judge_changes
from fairstats.comparisons.compare import (
    RELEASE_COMPARISON_COLUMNS,
    VERSION,
    answer_sets,
    compared,
    versions,
)
from fairstats.comparisons.ranking import rank_ranges
from fairstats.comparisons.successors import FACTS
from fairstats.counts.settings import MIXED, PROMPT
from fairstats.release.contents import EARLIER, Release, changed_inputs
from fairstats.release.manifest import open_release, previous_release
from fairstats.report.board.tables import shown_fact
from fairstats.screening.findings import flags_of

ANSWERS, BENCHMARK, METHOD, FAMILY = "answers", "benchmark", "method", "family"
_ROW = (*UNIT_COLUMNS, "attribute", "group_a", "group_b", "metric")
_SIDES = (
    *("snapshot", "answers", "missing", "rank", "ranked", "declared"),
    *("submitted", "questions", "overruled"),
)
_CELL = [name for name in KEY_COLUMNS if name not in UNIT_COLUMNS]
# What figures, verdicts and pages depend on, besides the answers.
_SETTINGS = ("status", *MIXED, PROMPT)
#: The columns of `ReleaseDiff.answer_sets`, in order.
SET_COLUMNS = (
    *UNIT_COLUMNS,
    "change",
    "changed",
    "benchmark_changed",
    "settings_changed",
    *(f"{name}_{side}" for name in _SIDES for side in ("old", "new")),
)
#: The columns of `earlier_comparisons`, in order.
EARLIER_COLUMNS = (*RELEASE_COMPARISON_COLUMNS, *EARLIER)
#: The columns of `ReleaseDiff.figures`, in order.
FIGURE_COLUMNS = (*_ROW, "test", "what", "old", "new", "change", "why")
#: The columns of `ReleaseDiff.verdicts`, in order.
VERDICT_COLUMNS = (*_ROW, "old", "new", "verdict_reason")
NO_VERDICT = "no verdict"
#: A pair that one of two releases does not compare, although it has the answer set.
NOT_COMPARED = "not compared"
#: The figures of a row that are compared.
_NUMBERS = ("estimate", "ci_low", "ci_high", "p_value", "p_adjusted")


@dataclass(frozen=True)
class ReleaseDiff:
    """Hold the differences between two releases.

    Attributes
    ----------
    answer_sets : pandas.DataFrame
        `SET_COLUMNS`. ``change`` is "new", "gone", "answers changed" or "same". ``changed`` is the
        number of changed answers, those of only one release included; missing for new and gone
        sets. ``benchmark_changed`` is whether the benchmark is declared differently.
        ``settings_changed`` names the columns, such as "status, temperature", in which answers
        differ that are otherwise the same. Next are the snapshot, numbers of answers and of missing
        answers, range of ranks such as "2–3", number of ranked models, declared facts of the model,
        what its submitter declared, checks of screening that ask something, and the reason for
        which screening was overruled, in both.
    figures : pandas.DataFrame
        `FIGURE_COLUMNS`: every changed figure of a row that is in both releases. ``what`` names it
        (estimate, limits, p-values). A figure that one release lacks is NaN there, and so is its
        ``change``. ``why`` is the reason: its answers changed, else its benchmark's declaration
        did, else the tests that are adjusted together (only adjusted p-values and detectable
        differences), else the method (the version of fairstats or the arguments).
    verdicts : pandas.DataFrame
        `VERDICT_COLUMNS`: each changed verdict of the answer sets in both releases. It can change
        although no figure of the pair did, since p-values are adjusted over all models. A pair that
        one of them does not have is "not compared" there. ``verdict_reason`` is the newer verdict's
        reason; missing if it has no reason.
    inputs : tuple of str
        The other inputs that differ: ratings, measures, retrievals.
    """

    answer_sets: pd.DataFrame
    figures: pd.DataFrame
    verdicts: pd.DataFrame
    inputs: tuple[str, ...] = ()


def diff_releases(old: AnyPath, new: AnyPath) -> ReleaseDiff:
    """Compare two releases.

    Parameters
    ----------
    old, new : path
        The releases' folders.

    Returns
    -------
    ReleaseDiff

    Raises
    ------
    InputError
        As `fairstats.release.manifest.open_release`.
    """
    releases = open_release(old), open_release(new)
    where = " and ".join(str(release.path) for release in releases)
    message = "one of them does not have the tables of a release"
    with laid_out(where, message, "run `fairstats verify` on both"):
        return changes(*releases)


def changes(one: Release, other: Release) -> ReleaseDiff:
    """Compare two releases; either may still be unpublished."""
    sets = _sets(one).merge(
        _sets(other), how="outer", on=list(UNIT_COLUMNS), suffixes=("_old", "_new")
    )
    change = np.select(
        [sets["hash_old"].isna(), sets["hash_new"].isna(), sets["hash_old"] == sets["hash_new"]],
        ["new", "gone", "same"],
        "answers changed",
    )
    unlike = {
        name
        for name in one.benchmarks.keys() & other.benchmarks.keys()
        if one.benchmarks[name].sha256 != other.benchmarks[name].sha256
    }
    answer_sets = sets.assign(change=change, **_changed(sets, change, one, other))
    answer_sets["benchmark_changed"] = answer_sets["benchmark"].isin(unlike)
    answer_sets = answer_sets[list(SET_COLUMNS)]
    verdicts = verdict_changes(one.estimates, other.estimates)
    figures = _figures(one, other, answer_sets)
    return ReleaseDiff(answer_sets, figures, verdicts, changed_inputs(one, other))


def _changed(
    sets: pd.DataFrame, change: npt.NDArray[np.str_], one: Release, other: Release
) -> dict[str, pd.Series]:
    """Count the changed answers of each answer set, and name the other changed columns.

    The number is missing if only one release has the set.
    """
    found = pd.Series(0, index=sets.index, dtype="Int64")
    settings = pd.Series("", index=sets.index, dtype="str")
    alone = np.isin(change, ["new", "gone"])
    found[alone] = pd.NA
    differ = (change == "answers changed") | (sets["settings_old"] != sets["settings_new"])
    if len(places := np.flatnonzero(differ & ~alone)):
        both = _answer_sets(one), _answer_sets(other)
        for place in places:
            unit = tuple(sets.loc[place, list(UNIT_COLUMNS)])
            found[place], settings[place] = _differing(*(of_release[unit] for of_release in both))
    return {"changed": found, "settings_changed": settings}


def _differing(one: nw.LazyFrame[Any], other: nw.LazyFrame[Any]) -> tuple[int, str]:
    """Count the answers of a unit that differ, or are in one of the two only.

    Of the others, name the columns that differ; one without values is like one that is not there.
    """
    columns = [*_CELL, "answer", *_SETTINGS]
    old, new = (
        _only(own, columns).collect("pandas").to_native().reindex(columns=columns)
        for own in (one, other)
    )
    merged = old.merge(new, on=_CELL, how="outer", suffixes=("_old", "_new"), indicator=True)
    same = (merged["_merge"] == "both") & ~_unlike(merged, "answer")
    others = [name for name in _SETTINGS if _unlike(merged[same], name).any()]
    return int((~same).sum()), ", ".join(others)


def _unlike(merged: pd.DataFrame, name: str) -> pd.Series:
    """Return whether the values of two columns differ; missing ones are alike."""
    old, new = (merged[f"{name}_{side}"].astype(object) for side in ("old", "new"))
    return (old != new) & ~(old.isna() & new.isna())


def _only(answers: nw.LazyFrame[Any], columns: Iterable[str]) -> nw.LazyFrame[Any]:
    """Return those of the columns that there are."""
    there = answers.collect_schema().names()
    return answers.select(name for name in columns if name in there)


def _sets(release: Release) -> pd.DataFrame:
    """Return the facts of each answer set that two releases are compared by."""
    keys = list(UNIT_COLUMNS)
    rows = [(*key, *facts) for key, facts in _facts(release).items()]
    names = ["snapshot", "answers", "missing", "settings", "hash"]
    found = pd.DataFrame(rows, columns=[*keys, *names])
    ranks = release.ranks.set_index(keys)
    board = ranks.groupby(level=["benchmark", "benchmark_version", "strategy"])
    ranks["ranked"] = board["rank"].transform("count")
    ranks["rank"] = [text or None for text in rank_ranges(ranks)]
    found = found.join(ranks[["rank", "ranked"]], on=keys)
    facts = release.model_facts
    found["declared"] = [_declared(facts.get(model, {})) for model in found["model"]]
    units = list(found[keys].itertuples(index=False, name=None))
    for name, of_unit in (
        ("submitted", _submitted(release)),
        ("questions", _questions(release)),
        ("overruled", release.overruled),
    ):
        found[name] = [of_unit.get(unit) for unit in units]
    numbers = dict.fromkeys(("answers", "missing", "ranked"), "Int64")
    texts = dict.fromkeys(
        ("snapshot", "rank", "declared", "submitted", "questions", "overruled"), "str"
    )
    return found.astype(texts | numbers)


def _submitted(release: Release) -> dict[Unit, str]:
    """Return what submitters declared that limits the trust in an answer set."""
    return {
        tuple(row[name] for name in UNIT_COLUMNS): (
            f"{row['attempts']} attempts"
            + f", chosen: {row['chosen_by']}" * bool(row["chosen_by"])
            + f"; interests: {row['conflicts']}; training data: {row['training_data']}"
        )
        for row in release.submissions.to_dict("records")
    }


def _questions(release: Release) -> dict[Unit, str]:
    """Return the checks that ask something about an answer set."""
    asking = flags_of(release.screening).groupby(list(UNIT_COLUMNS))["check"]
    return {unit: ", ".join(sorted(checks)) for unit, checks in asking}


def _declared(facts: dict[str, str | bool]) -> str | None:
    """Return the declared facts of a model, e.g. ``"7B, open"``; None without any."""
    return ", ".join(filter(None, (shown_fact(facts, fact) for fact in FACTS))) or None


def _answer_sets(release: Release) -> dict[Unit, nw.LazyFrame[Any]]:
    """Return the answers of each answer set; answers in parts stay in DuckDB."""
    keys = list(UNIT_COLUMNS)
    if not release.answers_folder.is_dir():
        sets = read_parquet(release.answers_path).groupby(keys)
        return {key: nw.from_native(own).lazy() for key, own in sets}
    frame = nw.from_native(scan_answers(release.answers_folder)).lazy()
    units = sorted({tuple(one[name] for name in keys) for one in release.manifest["answers"]})
    return {
        unit: frame.filter(*(nw.col(name) == value for name, value in zip(keys, unit, strict=True)))
        for unit in units
    }


def _facts(release: Release) -> dict[Unit, tuple[str | None, int, int, str, str]]:
    """Return snapshots, answers, missing ones and hashes of each answer set; read once."""
    return release.once(
        "facts of answers",
        lambda: {
            # Corrected keys are a change of the benchmark that lists them.
            key: _counted(own, keys=not release.benchmarks[key[0]].has_key)
            for key, own in _answer_sets(release).items()
        },
    )


def _counted(answers: nw.LazyFrame[Any], *, keys: bool) -> tuple[str | None, int, int, str, str]:
    there = [name for name in ("snapshot", "answer") if name in answers.collect_schema().names()]
    counts = count_rows(answers, there)
    snapshots = counts["snapshot"].dropna().unique() if "snapshot" in there else []
    missing = int(counts.loc[counts["answer"].isna(), "rows"].sum())
    return (
        ", ".join(sorted(snapshots)) or None,
        int(counts["rows"].sum()),
        missing,
        *_hashes(answers, keys=keys),
    )


def _hashes(answers: nw.LazyFrame[Any], *, keys: bool) -> tuple[str, str]:
    """Hash the settings of a unit, and its answers, with their keys if asked for; ignore order."""
    own = [*KEY_COLUMNS, "answer", *["answer_key"] * keys, "cluster"]
    # The other keys have one value in a unit.
    rows = _only(answers, [*own, *_SETTINGS]).sort(_CELL)
    found = hashlib.sha256(), hashlib.sha256()
    for number, part in enumerate(batches(rows, 100_000)):
        for one, columns in zip(found, ([*_CELL, *_SETTINGS], own), strict=True):
            there = [name for name in columns if name in part]
            hash_rows(one, part[there], header=number == 0)
    return found[0].hexdigest(), found[1].hexdigest()


def earlier_comparisons(release: Release) -> pd.DataFrame:
    """Compare the answers of a release with those of earlier ones, as `fairstats.compare`.

    Returns
    -------
    pandas.DataFrame
        `EARLIER_COLUMNS`, for each answer set that differs from that of the newest earlier release
        which has it, and for each model whose declared predecessor only earlier releases have.
        ``release_old`` is the earlier release, ``manifest_old`` the hash of its manifest. A
        benchmark that was declared differently is not compared.
    """
    units = sorted(_facts(release))
    waiting = set(units)
    # Models of this release are compared in its table of comparisons.
    names = {(benchmark, model) for benchmark, _, model, _ in units}
    seeking = {
        (benchmark, newer): release.successors[newer]
        for benchmark, newer in sorted(names)
        if newer in release.successors and (benchmark, release.successors[newer]) not in names
    }
    tables = []
    for before in reversed(release.earlier):
        there = {tuple(one[name] for name in UNIT_COLUMNS) for one in before.manifest["answers"]}
        pairs = [(unit, unit) for unit in units if unit in waiting & there]
        waiting -= there
        for (benchmark, newer), older in list(seeking.items()):
            own = [one for one in units if (one[0], one[2]) == (benchmark, newer)]
            old = [one for one in there if (one[0], one[2]) == (benchmark, older)]
            if found := list(versions([*own, *old], {newer: older})):
                pairs += found
                del seeking[benchmark, newer]
        tables += _compared(release, before, pairs)
    if not tables:
        return pd.DataFrame(columns=list(EARLIER_COLUMNS))
    # One family, however many earlier releases its tests are spread over.
    judged = judge_changes(pd.concat(tables, ignore_index=True), alpha=release.alpha)
    return judged[list(EARLIER_COLUMNS)]


def _compared(
    release: Release,
    before: Release,
    pairs: Sequence[tuple[Unit, Unit]],
) -> list[pd.DataFrame]:
    """Compare pairs of answer sets of an earlier and this release, if the answers differ.

    The changes are not judged yet.
    """
    alike = {
        name: own
        for name, own in release.benchmarks.items()
        if name in before.benchmarks and own.sha256 == before.benchmarks[name].sha256
    }
    pairs = [pair for pair in pairs if pair[0][0] in alike]
    if not pairs:
        return []
    facts = _facts(before), _facts(release)
    # The last one is the hash.
    pairs = [(one, other) for one, other in pairs if facts[0][one][-1] != facts[1][other][-1]]
    if not pairs:
        return []
    old, new = (
        answer_sets(nw.concat([own[unit] for unit in dict.fromkeys(units)]).to_native(), alike)
        for own, units in zip(
            map(_answer_sets, (before, release)), zip(*pairs, strict=True), strict=True
        )
    )
    missing = release.manifest["arguments"]["missing"]
    named = dict(zip(EARLIER, previous_release(before).values(), strict=True))
    return [
        compared(VERSION, old[first], new[second], missing, release.alpha).assign(**named)
        for first, second in pairs
    ]


def _figures(old: Release, new: Release, answer_sets: pd.DataFrame) -> pd.DataFrame:
    keys = [*_ROW, "test"]
    columns = [*keys, *_NUMBERS, "method_note"]
    both = old.estimates[columns].merge(new.estimates[columns], on=keys, suffixes=("_old", "_new"))
    # The note states the level that each test of the family has.
    detectable = both["metric"] == "minimum_detectable_difference"
    both["of_family"] = detectable & (both["method_note_old"] != both["method_note_new"])
    parts: list[pd.DataFrame] = []
    for what in _NUMBERS:
        sides = both.rename(columns={f"{what}_old": "old", f"{what}_new": "new"})
        sides = sides[[*keys, "old", "new", "of_family"]].assign(what=what)
        same = np.isclose(sides["old"], sides["new"], rtol=1e-9, atol=1e-12, equal_nan=True)
        if what == "p_adjusted":
            # That of the same p-value depends on the other tests, so also on other models.
            sides["of_family"] = ~sides.index.isin(parts[-1].index)
        parts.append(sides[~same])
    facts = answer_sets[[*UNIT_COLUMNS, "change", "benchmark_changed"]]
    moved = pd.concat(parts).merge(facts, on=list(UNIT_COLUMNS))
    of_family = moved["of_family"] & (old.alpha == new.alpha)
    cases = [moved["change"] == "answers changed", moved["benchmark_changed"], of_family]
    why = np.select(cases, [ANSWERS, BENCHMARK, FAMILY], METHOD)
    moved = moved.assign(change=moved["new"] - moved["old"], why=why)
    return moved[list(FIGURE_COLUMNS)].reset_index(drop=True)


def _turned(rows: pd.DataFrame, newer: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the names of each pair's groups in the order of a newer table.

    Figures keep their sign, so only verdicts can be compared.
    """
    ends = ["attribute", "group_a", "group_b"]
    order = set(newer[ends].dropna().itertuples(index=False, name=None))
    pairs = rows[ends].itertuples(index=False, name=None)
    turned = pd.Series(
        [(name, b, a) in order and (name, a, b) not in order for name, a, b in pairs],
        index=rows.index,
        dtype=bool,
    )
    first, second = rows["group_a"], rows["group_b"]
    return rows.assign(group_a=first.mask(turned, second), group_b=second.mask(turned, first))


def verdict_changes(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return the changed verdicts of answer sets that are in both, with `VERDICT_COLUMNS`."""
    keys = list(_ROW)
    before, after = (rows[rows["metric"].isin(DIFFERENCES)] for rows in (old, new))
    if "verdict_reason" not in after:
        # Older releases have no reasons.
        after = after.assign(verdict_reason=pd.Series(index=after.index, dtype="str"))
    before, after = _turned(before, after), after.fillna({"verdict": NO_VERDICT})
    both = before.fillna({"verdict": NO_VERDICT})[[*keys, "verdict"]].merge(
        after[[*keys, "verdict", "verdict_reason"]],
        on=keys,
        how="outer",
        suffixes=("_old", "_new"),
    )
    units, others = (rows[list(UNIT_COLUMNS)].drop_duplicates() for rows in (old, new))
    both = both.merge(units.merge(others))
    both = both.rename(columns={"verdict_old": "old", "verdict_new": "new"})
    both = both.fillna({"old": NOT_COMPARED, "new": NOT_COMPARED})
    return both.loc[both["old"] != both["new"], list(VERDICT_COLUMNS)].reset_index(drop=True)
