"""Screen answer sets: all checks, with p-values adjusted over checks and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.engine_frames import open_pairs
from fairstats.answers.schema_checks import check_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import by_name
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.screening.alignment import check_alignment
from fairstats.screening.copying import check_copied_items, check_copying
from fairstats.screening.difficulty import check_difficulty, check_hard_items
from fairstats.screening.findings import NOT_CHECKED, Finding, Flag
from fairstats.screening.group_labels import check_labels
from fairstats.screening.letter_shares import check_chance, check_letters
from fairstats.screening.missing_answers import (
    check_missing_by_group,
    check_missing_by_item,
    with_replies,
)
from fairstats.screening.mosaic import check_mosaic
from fairstats.screening.other_models import Panel
from fairstats.screening.pair_flips import check_flip_level, check_pair_flips
from fairstats.screening.records import (
    MARK_COLUMN,
    check_marks,
    check_replies,
    check_resubmission,
    check_rows,
    read_marks,
    replies_without_letter,
)
from fairstats.screening.sheets import Sheet, Sheets, read_sheets

#: Columns of the table of a screening, in order.
SCREENING_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
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

#: The checks of one sheet, in the order of the table.
_SHEET_CHECKS: tuple[Callable[[Sheet, Panel], Finding | None], ...] = (
    check_copying,
    check_copied_items,
    check_mosaic,
    lambda sheet, panel: check_alignment(sheet, panel.sheets.layout),
    check_pair_flips,
    check_flip_level,
    check_labels,
    lambda sheet, panel: check_missing_by_group(sheet, panel.sheets.layout),
    check_missing_by_item,
    lambda sheet, panel: check_letters(sheet, panel.sheets.layout),
    lambda sheet, panel: check_chance(sheet, panel.sheets.layout),
    check_difficulty,
    check_hard_items,
    lambda sheet, panel: check_rows(sheet, panel.sheets),
    lambda sheet, panel: check_resubmission(sheet, panel.sheets),
)


@dataclass(frozen=True)
class ScreenedSet:
    """One check of one answer set.

    Attributes
    ----------
    benchmark, benchmark_version, model, strategy : str
        The answer set.
    finding : Finding
        The result of the check.
    p_adjusted : float
        Its p-value, adjusted over all checks and answer sets; NaN if there is none.
    """

    benchmark: str
    benchmark_version: str
    model: str
    strategy: str
    finding: Finding
    p_adjusted: float

    @property
    def flag(self) -> Flag:
        """Return the flag."""
        return self.finding.flag(self.p_adjusted)

    @property
    def note(self) -> str:
        """Return the finding in a sentence, and what may explain it if it is flagged."""
        explanation = self.finding.explanation if self.flag != "ok" else ""
        return f"{self.finding.note} {explanation}".rstrip()


@dataclass(frozen=True)
class Screening:
    """The results of all checks of all answer sets, in the order of the table."""

    results: tuple[ScreenedSet, ...]

    @property
    def blocked(self) -> tuple[ScreenedSet, ...]:
        """Return the results with the flag ``block``."""
        return tuple(one for one in self.results if one.flag == "block")

    @property
    def not_checked(self) -> tuple[ScreenedSet, ...]:
        """Return the checks that were not possible."""
        return tuple(one for one in self.results if one.finding.note.startswith(NOT_CHECKED))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per check and answer set, with `SCREENING_COLUMNS`."""
        rows = [
            (
                one.benchmark,
                one.benchmark_version,
                one.model,
                one.strategy,
                one.finding.check,
                one.finding.value,
                one.finding.reference,
                one.finding.p_value,
                one.p_adjusted,
                one.flag,
                one.note,
            )
            for one in self.results
        ]
        return pd.DataFrame(rows, columns=list(SCREENING_COLUMNS)).astype(_DTYPES)


def screen(
    answers: pd.DataFrame,
    against: pd.DataFrame | None = None,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> Screening:
    """Check answer sets for signs of copied, shifted, forced or invented answers.

    Parameters
    ----------
    answers : pandas.DataFrame
        The answer sets to check. A column ``correct`` (true or false) may be added to the columns
        of `answers_schema`; it is compared with the letters.
    against : pandas.DataFrame, optional
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
    ``p_adjusted`` is adjusted by Holm's method over all checks and sets of the call. The flag is
    ``look`` if it is below 0.01. It is ``block`` if it is below 0.001 and the value is also beyond
    a stricter limit. Limits come from released sets or are relative to other models; their
    constants are in the module of each check. So models that share errors are not flagged merely
    because they are not independent.

    Checks that compare with other models need at least three. The answers of one model with several
    strategies count once. A check that is not possible has the
    flag ``look``, without a value and p-value, and a note that begins with "Not checked". Checks of
    stored replies and marks have no row for sets without them. Checks that the benchmark makes
    impossible have no row either. With several samples, each is
    checked, and the smallest p-value is multiplied by their number.

    References
    ----------
    Wollack (1997), Applied Psychological Measurement 21:307-320, for copied answers; Hoeffding
    (1951), Annals of Mathematical Statistics 22:558-566, for shifted items; Meijer & Sijtsma
    (2001), Applied Psychological Measurement 25:107-135, for person fit; Obuchowski (1997),
    Biometrics 53:567-578, for clustered ROC curves.

    Examples
    --------
    >>> from fairstats import load_benchmark
    >>> demo = load_benchmark("demo")
    >>> row = dict(benchmark="demo", benchmark_version="1", model="m", strategy="plain", sample=0,
    ...            answer="A", status="ok")
    >>> answers = pd.DataFrame([row | dict(item_id=item, attribute=attribute, group=group,
    ...                                    answer_key=key)
    ...                         for item, key in demo.answer_keys.items()
    ...                         for attribute, group in demo.variants])
    >>> table = screen(answers).to_frame().set_index("check")
    >>> table.loc["letter_shares", ["flag", "note"]].tolist()
    ['block', 'A is 100% of the answers and 25% of the keys.']
    """
    marks = read_marks(answers) if isinstance(answers, pd.DataFrame) else None
    known = by_name(benchmarks)
    checked, declared = _checked(answers, "answers", known)
    trusted = None
    if against is not None:
        trusted, more = _checked(against, "against", known)
        declared = more | declared
    if marks is not None:
        checked = checked.assign(**{MARK_COLUMN: marks.to_numpy()})
    return screen_checked(checked, trusted, declared)


def screen_checked(
    answers: pd.DataFrame, against: pd.DataFrame | None, benchmarks: Mapping[str, Benchmark]
) -> Screening:
    """Screen answers as `screen` does, if they were checked and their benchmarks are loaded."""
    found = [
        result
        for sheets in read_sheets(answers, against, benchmarks)
        for result in _screen_version(sheets, answers)
    ]
    adjusted = adjust_pvalues([one.finding.p_value for one in found])
    return Screening(
        tuple(replace(one, p_adjusted=float(p)) for one, p in zip(found, adjusted, strict=True))
    )


def _checked(
    answers: object, name: str, known: Mapping[str, Benchmark]
) -> tuple[pd.DataFrame, dict[str, Benchmark]]:
    """Check a table against the schema and its benchmarks."""
    if not isinstance(answers, pd.DataFrame):
        remedy = "read files with fairstats.read_answers"
        raise InputError([Problem(f"<{name}>", "must be a pandas DataFrame", remedy)])
    frame = check_answers(answers.drop(columns=MARK_COLUMN, errors="ignore"), path=f"<{name}>")
    return frame, open_pairs(frame, known).benchmarks


def _screen_version(sheets: Sheets, answers: pd.DataFrame) -> Iterator[ScreenedSet]:
    """Check the answer sets of one benchmark version."""
    panel, layout = Panel(sheets), sheets.layout
    own = answers[
        (answers["benchmark"] == layout.benchmark.name)
        & (answers["benchmark_version"] == layout.version)
    ]
    rows = dict(iter(own.groupby(["model", "strategy"], sort=True)))
    for (model, strategy), of_set in rows.items():
        samples = [sheet for sheet in sheets.screened if sheet.name == (model, strategy)]
        findings = [
            _of_samples([(sheet, check(sheet, panel)) for sheet in samples])
            for check in _SHEET_CHECKS
        ]
        findings += [check_replies(of_set, layout), check_marks(of_set)]
        softer = [None if one is None else with_replies(one) for one in findings]
        # Reading the replies takes long, so only if it can make a difference.
        if softer != findings and replies_without_letter(of_set, layout):
            findings = softer
        for finding in findings:
            if finding is not None:
                yield ScreenedSet(
                    layout.benchmark.name,
                    layout.version,
                    str(model),
                    str(strategy),
                    finding,
                    np.nan,
                )


def _of_samples(found: list[tuple[Sheet, Finding | None]]) -> Finding | None:
    """Return the most extreme finding of an answer set's samples."""
    findings = [(sheet, one) for sheet, one in found if one is not None]
    if not findings:
        return None
    if len(findings) == 1:
        return findings[0][1]
    tested = [(sheet, one) for sheet, one in findings if not np.isnan(one.p_value)]
    if not tested:
        sheet, one = max(findings, key=lambda pair: pair[1].worst != "ok")
        return replace(one, note=f"{one.note} (sample {sheet.sample})")
    sheet, one = min(tested, key=lambda pair: pair[1].p_value)
    p = min(1.0, one.p_value * len(tested))
    return replace(one, p_value=p, note=f"{one.note} (sample {sheet.sample} of {len(findings)})")
