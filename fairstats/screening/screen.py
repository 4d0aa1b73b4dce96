"""Screen answer sets: all checks, adjusted p-values, and the results as table and files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.formatting import counted, escape_comment
from fairstats._lib.model_names import models_of_snapshots
from fairstats._lib.problems import first_of
from fairstats._lib.table_text import table_csv, table_json, write_text
from fairstats.answers.engine_frames import OpenAnswers, open_pairs
from fairstats.answers.engines import check_values
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import by_name
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.screening.answer_sheets import Layout, Sheet
from fairstats.screening.copied_answers import (
    check_copied_items,
    check_copied_marks,
    check_copying,
    check_mosaic,
    check_snapshot,
)
from fairstats.screening.difficulty import check_difficulty, check_hard_items
from fairstats.screening.expected_answers import check_minority_answers
from fairstats.screening.findings import ASKING, BLOCK_LEVEL, DECLARED, Finding, not_checked
from fairstats.screening.flips_and_labels import (
    check_flip_level,
    check_labels,
    check_pair_flips,
)
from fairstats.screening.letters_and_keys import (
    MARK_COLUMN,
    REPLIES,
    check_alignment,
    check_letters,
    check_marks,
    check_replies,
    read_marks,
)
from fairstats.screening.missing_answers import (
    check_missing_by_group,
    check_resubmission,
    check_rows,
    check_samples,
    confirm_missing,
)
from fairstats.screening.panels import Panel, read_panels

_SET = ["benchmark", "benchmark_version", "model", "strategy"]
#: Columns of the table of a screening, in order.
SCREENING_COLUMNS = (
    *_SET,
    "check",
    "value",
    "reference",
    "p_value",
    "p_adjusted",
    "flag",
    "note",
)
_DTYPES = dict.fromkeys(SCREENING_COLUMNS, "str") | dict.fromkeys(
    ("value", "reference", "p_value", "p_adjusted"), "float64"
)

_Checks = tuple[Callable[[Sheet, Panel], Finding | None], ...]
_LETTER_CHECKS: _Checks = (
    check_copying,
    check_copied_items,
    check_copied_marks,
    check_mosaic,
    check_minority_answers,
    check_alignment,
    check_pair_flips,
    check_flip_level,
    check_labels,
    check_missing_by_group,
    check_letters,
    check_difficulty,
    check_hard_items,
    check_rows,
    check_resubmission,
)
#: Those for other kinds of answers. The rest needs a key, or the assumption that honest models give
#: similar answers: one that is stricter than others, or says no to all, would be accused.
_OTHER_CHECKS: _Checks = (check_missing_by_group, check_rows, check_resubmission)


def checks_of(layout: Layout) -> _Checks:
    """Return the checks of one sheet, in the order of the table."""
    return _LETTER_CHECKS if layout.has_letters else _OTHER_CHECKS


@dataclass(frozen=True)
class Screening:
    """The results of all checks of all answer sets.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per check and answer set, with `SCREENING_COLUMNS`.
    """

    table: pd.DataFrame

    @property
    def blocked(self) -> pd.DataFrame:
        """Return the rows with the flag ``block``."""
        return self.table[self.table["flag"] == "block"]

    @property
    def not_checked(self) -> pd.DataFrame:
        """Return the rows of checks that were not possible."""
        return self.table[self.table["flag"] == "not_checked"]

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table."""
        return self.table.copy()


def screen(
    answers: Any,
    against: Any = None,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> Screening:
    """Check answer sets for signs of copied, shifted, forced or invented answers.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answer sets to check. A column ``correct`` (true or false) may be added to the columns
        of `answers_schema`; it is compared with the letters. Stored replies and marks are read only
        in a pandas frame.
    against : pandas or Polars frame, DuckDB relation, PySpark DataFrame, optional
        Trusted answer sets, e.g. of a release, from which the usual answers are estimated. By
        default, these are the other sets among `answers`. Copies are looked for in both.
    benchmarks : iterable of Benchmark
        Additional benchmarks, or replacements for built-in ones.

    Returns
    -------
    Screening
        One result per check and answer set; see its ``to_frame``. Sets of different benchmark
        versions are not compared.

    Raises
    ------
    InputError
        If the answers violate the schema (e.g. duplicate rows) or the benchmark's declaration.

    Notes
    -----
    ``value`` is what a check measures, and ``reference`` is the limit that honest sets keep.
    ``p_value`` tests one-sidedly if the value is beyond this limit, with the item as the unit.
    ``p_adjusted`` is adjusted by Holm's method over all checks of the set. The flag is
    ``look`` if it is below 0.01: the note then ends with a question to whoever made the answers.
    ``block`` is for what no honest process produces, at an adjusted p-value below 1e-9: one file
    under two models' names, and answers in the rows of other items. Limits come from released sets
    or are relative to other models; their constants are in the module of each check. So models that
    share errors are not flagged merely because they are not independent.

    Checks that compare with other models need at least three. The answers of one model with several
    strategies count once. A check that is not possible has the flag ``not_checked``, without a
    value and p-value. It asks for nothing, and clears nothing. Checks of stored replies, marks
    and several samples have no row for sets without them. Checks that the benchmark makes
    impossible have no row either. A snapshot has a row only if another model states it, too.
    Decisions, levels and scores have only the checks of missing answers, rows, replies, marks and
    snapshots. In the others, a model that is stricter than others, or that seldom varies its
    answers, would look like a copy or a forgery. With several samples, each is checked, and their
    p-values are combined by Simes' test. So is each part of more than 16,384 items.

    References
    ----------
    Wollack (1997), Applied Psychological Measurement 21:307-320, for copied answers; Hoeffding
    (1951), Annals of Mathematical Statistics 22:558-566, for shifted items; Meijer & Sijtsma
    (2001), Applied Psychological Measurement 25:107-135, for person fit; Obuchowski (1997),
    Biometrics 53:567-578, for clustered ROC curves.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("model == 'GPT-4.1'")
    >>> table = screen(answers).to_frame().set_index("check")
    >>> table.loc["letter_shares", ["flag", "note"]].tolist()
    ['ok', 'B is 24% of the answers and 23% of the keys.']
    >>> constant = screen(answers.assign(answer="A")).to_frame().set_index("check")
    >>> constant.loc["letter_shares", "flag"]
    'look'
    """
    known = by_name(benchmarks)
    marks = read_marks(answers) if isinstance(answers, pd.DataFrame) else None
    trusted = None if against is None else _opened(against, "against", known)
    return screen_opened(_opened(answers, "answers", known, marks), trusted)


def screen_opened(
    opened: OpenAnswers,
    against: OpenAnswers | None = None,
    *,
    whole: bool = False,
    successors: Mapping[str, str] | None = None,
) -> Screening:
    """Screen answers as `screen` does, after they were checked.

    An engine does not read stored replies, unless the frame is `whole`: then there are none.
    Agreement with a declared predecessor, or another model of its line, has the flag ``declared``,
    and asks for nothing, unless the answers are those of one file.
    """
    recorded = _recorded(opened, whole=whole)
    shared = _shared_snapshots(opened, against)
    found = [
        (names, finding)
        for panels in read_panels(opened, against, successors)
        for names, finding in _screen_version(panels, recorded, shared)
    ]
    # Each set by itself: a submitter could hide one among many.
    rows = []
    for names, pairs in groupby(found, key=itemgetter(0)):
        own = [finding for _, finding in pairs]
        adjusted = adjust_pvalues([one.p_value for one in own])
        rows += [names | _row(one, float(p)) for one, p in zip(own, adjusted, strict=True)]
    return Screening(pd.DataFrame(rows, columns=list(SCREENING_COLUMNS)).astype(_DTYPES))


def _row(finding: Finding, p_adjusted: float) -> dict[str, Any]:
    """Return the columns of a finding; the note of a flagged one ends with a question."""
    flag = finding.flag(p_adjusted)
    question = finding.question if flag in ASKING else ""
    return {
        "check": finding.check,
        "value": finding.value,
        "reference": finding.reference,
        "p_value": finding.p_value,
        "p_adjusted": p_adjusted,
        "flag": flag,
        "note": f"{finding.note} {question}".rstrip(),
    }


def _opened(
    answers: Any, name: str, known: Mapping[str, Benchmark], marks: pd.Series | None = None
) -> OpenAnswers:
    """Check a table against the schema, and open it."""
    if isinstance(answers, pd.DataFrame):
        checked = check_answers(
            answers.drop(columns=MARK_COLUMN, errors="ignore"), path=f"<{name}>"
        )
        given = {} if marks is None else {MARK_COLUMN: marks.to_numpy()}
        return open_pairs(checked.assign(**given), known)
    opened = open_pairs(answers, known)
    check_values(opened.frame.to_native())
    return opened


def _recorded(opened: OpenAnswers, *, whole: bool) -> dict[Hashable, pd.DataFrame] | None:
    """Return the rows of each answer set, if something else was recorded with its answers.

    Returns None if the engine does not read it.
    """
    frame = opened.frame.to_native()
    columns = {"answer_raw", "temperature", MARK_COLUMN}
    if not isinstance(frame, pd.DataFrame):
        return {} if whole else None
    if columns.isdisjoint(frame.columns):
        return {}
    return dict(iter(frame.groupby(_SET)))


def _shared_snapshots(
    opened: OpenAnswers, against: OpenAnswers | None
) -> dict[Hashable, Finding | None]:
    """Return the finding on the snapshots of each answer set that states any."""
    named = [
        table.cells.reindex(columns=[*_SET, "snapshot"]).drop_duplicates()
        for table in (opened, against)
        if table is not None
    ]
    models = models_of_snapshots(
        (model, None if pd.isna(snapshot) else snapshot)
        for table in named
        for model, snapshot in zip(table["model"], table["snapshot"], strict=True)
    )
    return {
        key: check_snapshot(key[2], rows["snapshot"], models)
        for key, rows in named[0].dropna(subset="snapshot").groupby(_SET)
    }


def _screen_version(
    panels: Iterator[Panel],
    recorded: Mapping[Hashable, pd.DataFrame] | None,
    shared: Mapping[Hashable, Finding | None],
) -> Iterator[tuple[dict[str, str], Finding]]:
    """Yield the key columns and the findings of each answer set of one benchmark version."""
    nothing = pd.DataFrame(columns=["answer"])
    found: dict[tuple[str, str, str, str], list[list[Finding | None]]] = {}
    known = {} if recorded is None else recorded
    for panel in panels:
        layout = panel.layout
        for name in dict.fromkeys(sheet.name for sheet in panel.screened):
            key = (layout.benchmark.name, layout.version, *name)
            samples = [sheet for sheet in panel.screened if sheet.name == name]
            findings = [
                _most_extreme("sample", [(sheet.sample, check(sheet, panel)) for sheet in samples])
                for check in checks_of(layout)
            ]
            findings.append(check_samples(samples, known.get(key, nothing), layout))
            found.setdefault(key, []).append(findings)
        # Freed before the next part is read.
        del panel, samples
    for key, parts in found.items():
        rows = known.get(key, nothing)
        *findings, repeated = (
            _most_extreme("part", [*enumerate(one, 1)]) for one in zip(*parts, strict=True)
        )
        findings += [check_replies(rows, layout), check_marks(rows, layout)]
        if recorded is None:
            why = "only pandas reads stored replies, which can also explain missing answers"
            findings.append(not_checked(REPLIES, why))
        findings += [repeated, shared.get(key)]
        for finding in confirm_missing(findings, rows, layout):
            if finding is not None:
                yield dict(zip(_SET, key, strict=True)), finding


def _most_extreme(of: str, found: Sequence[tuple[int, Finding | None]]) -> Finding | None:
    """Return the most extreme finding of an answer set's samples, or parts of items."""
    findings = [(number, one) for number, one in found if one is not None]
    if not findings:
        return None
    if len(findings) == 1:
        return findings[0][1]
    tested = [(number, one) for number, one in findings if not np.isnan(one.p_value)]
    if not tested:
        order = ("ok", "not_checked", "look", "block")
        number, one = max(findings, key=lambda pair: order.index(pair[1].worst))
        return replace(one, note=f"{one.note} ({of} {number})")

    def place(pair: tuple[int, Finding]) -> tuple[bool, bool, float]:
        # A part that blocks by itself is not hidden by one that is only asked about, and neither is
        # hidden by one that is declared.
        one = pair[1]
        blocks = one.worst == "block" and one.p_value < BLOCK_LEVEL
        return not blocks, one.worst == DECLARED, one.p_value

    number, one = min(tested, key=place)
    # Simes' test: samples of one model depend on each other positively. By Bonferroni's method,
    # many samples alike would hide what each of them shows.
    values = sorted(other.p_value for _, other in tested if other.worst in ("block", one.worst))
    p = min(1.0, *(len(tested) * p / rank for rank, p in enumerate(values, 1)))
    return replace(one, p_value=p, note=f"{one.note} ({of} {number} of {len(findings)})")


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
    sets = counted(len(flags), "answer set")
    missing = table[table["flag"] == "not_checked"]
    text = f"{sets}: {block} block, {look} look, {len(flags) - block - look} ok"
    if missing.empty:
        return text
    checks = "check was" if len(missing) == 1 else "checks were"
    names = first_of(missing["check"].unique(), 6)
    return f"{text}; {len(missing)} {checks} not possible ({names})"


def flagged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that ask for something, those that block first."""
    rows = table[table["flag"].isin(ASKING)]
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
    """Write ``screening.csv``, ``.json`` and ``.md``, each completely or not; return their paths.

    Earlier files of these names are replaced.
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
