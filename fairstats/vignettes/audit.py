"""Audit a benchmark's variants: measure their text, and estimate the consequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import input_error, refuse, wrong
from fairstats.answers.benchmark_checks import validate_files
from fairstats.answers.engine_frames import OpenAnswers, open_answers
from fairstats.answers.files import read_answers
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.benchmarks.loading import by_name, load_benchmarks
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.estimates.same_variants import variant_sets
from fairstats.inference._checks import check_alpha
from fairstats.vignettes.added_text import added_text_findings, added_text_measures
from fairstats.vignettes.answer_keys import key_findings
from fairstats.vignettes.content import content_findings, content_flags, content_measures
from fairstats.vignettes.duplicates import (
    duplicate_findings,
    duplicate_flags,
    duplicate_measures,
)
from fairstats.vignettes.leakage import leakage_findings, leakage_flags, leakage_measures
from fairstats.vignettes.selection import selection_findings, selection_flags
from fairstats.vignettes.tables import check_measures, findings_frame
from fairstats.vignettes.variant_sets import variant_set_findings, variant_set_flags

#: Every two of 200 answer sets are 19,900 pairs, far more than is needed to judge a set.
MOST_COMPARED = 20


@dataclass(frozen=True)
class Audit:
    """Result of an audit of vignettes.

    Parameters
    ----------
    measures : pandas.DataFrame
        `fairstats.vignettes.tables.MEASURE_COLUMNS`: measures of each variant.
    findings : pandas.DataFrame
        `fairstats.vignettes.tables.FINDING_COLUMNS`: estimates from the measures and from
        answers.
    flags : pandas.DataFrame
        `fairstats.vignettes.tables.FLAG_COLUMNS`: texts for a person to check.
    benchmark_version : str
        The measured set of variants; empty if unknown.
    """

    measures: pd.DataFrame
    findings: pd.DataFrame
    flags: pd.DataFrame
    benchmark_version: str


def audit_vignettes(
    vignettes: Vignettes,
    answers: Iterable[AnyPath] = (),
    *,
    benchmark_version: str | None = None,
    alpha: float = 0.05,
) -> Audit:
    """Measure the variants of a benchmark, and estimate the findings, with answers if given.

    Parameters
    ----------
    vignettes : Vignettes
        From `fairstats.benchmarks.vignette_items.read_vignettes`.
    answers : iterable of paths
        Files or folders of answers to these items.
    benchmark_version : str, optional
        The set of variants (default: the benchmark's version, if there is only one).
    alpha : float
        1 − confidence level.

    Raises
    ------
    InputError
        If the benchmark does not have this version, or the answers have a problem or are for
        another benchmark.

    Examples
    --------
    >>> from fairstats.benchmarks.vignette_items import read_vignettes
    >>> audit = audit_vignettes(read_vignettes("demo"))
    >>> sorted(set(audit.findings["aspect"]))
    ['added text', 'content', 'duplicates', 'leakage']
    """
    alpha = check_alpha(alpha)
    benchmark = vignettes.benchmark
    version = _version(benchmark, benchmark_version)
    known = {benchmark.name: benchmark}
    given = _answers(list(answers), benchmark)
    opened = None if given is None else open_answers(given, known)
    measures = measure_vignettes(vignettes, benchmark_version=version)
    findings = _of_text(measures, known, alpha)
    flags = [
        leakage_flags(vignettes, measures),
        content_flags(vignettes),
        duplicate_flags(vignettes, measures),
    ]
    if opened is not None:
        told, seen = _of_answers(opened, None, alpha)
        findings, flags = [*findings, *told], [*flags, *seen]
    return Audit(measures, _joined(findings), pd.concat(flags, ignore_index=True), version)


def measure_vignettes(vignettes: Vignettes, *, benchmark_version: str = "") -> pd.DataFrame:
    """Compute all measures of the variants' text, as one table of measures."""
    tables = [
        leakage_measures(vignettes),
        added_text_measures(vignettes),
        content_measures(vignettes),
        duplicate_measures(vignettes),
    ]
    measures = pd.concat(tables, ignore_index=True)
    return check_measures(measures.assign(benchmark_version=benchmark_version))


def audit_findings(
    measures: pd.DataFrame,
    answers: Any = None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Compute `fairstats.vignettes.tables.FINDING_COLUMNS` from measures, and from answers.

    The options are those of `fairstats.analyze`.
    """
    given = by_name(benchmarks)
    known = load_benchmarks(measures["benchmark"].unique().tolist(), given)
    findings = _of_text(measures, known, alpha)
    if answers is not None and not (isinstance(answers, pd.DataFrame) and answers.empty):
        findings += _of_answers(open_answers(answers, given), missing, alpha)[0]
    return _joined(findings)


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    there = [table for table in tables if len(table)]
    return pd.concat(there, ignore_index=True) if there else findings_frame(())


def _of_text(
    measures: pd.DataFrame, benchmarks: Mapping[str, Benchmark], alpha: float
) -> list[pd.DataFrame]:
    """Return findings from the measures of each benchmark."""
    tables = []
    for name, benchmark in benchmarks.items():
        own = measures[measures["benchmark"] == name]
        tables += [
            leakage_findings(own, benchmark, alpha=alpha),
            added_text_findings(own, benchmark, alpha=alpha),
            content_findings(own, benchmark, alpha=alpha),
            duplicate_findings(own, alpha=alpha),
        ]
    return tables


def _of_answers(
    opened: OpenAnswers, missing: MissingPolicy | None, alpha: float
) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
    """Return findings and flags from choices alone: on keys, selection and versions."""
    opened = opened.choices()
    if not opened.benchmarks:
        return [], []
    keys, shared_wrong = key_findings(opened, alpha=alpha)
    known = opened.benchmarks
    selection = selection_findings(opened, missing=missing, alpha=alpha, benchmarks=known)
    pairs = variant_sets(opened, missing=missing, alpha=alpha, benchmarks=known, most=MOST_COMPARED)
    findings = [keys, selection, variant_set_findings(pairs)]
    flags = [shared_wrong, selection_flags(selection, alpha=alpha), variant_set_flags(pairs)]
    return findings, flags


def _version(benchmark: Benchmark, given: str | None) -> str:
    declared = list(benchmark.versions)
    if given is None:
        return declared[0] if len(declared) == 1 else ""
    if given not in declared:
        message = f"is not a version of {benchmark.name}"
        remedy = f"use one of {', '.join(declared)}"
        raise wrong("benchmark_version", message, remedy, value=given)
    return given


def _answers(paths: Sequence[AnyPath], benchmark: Benchmark) -> pd.DataFrame | None:
    """Return the answers to the benchmark in these files."""
    if not paths:
        return None
    known = {benchmark.name: benchmark}
    refuse(validate_files(paths, benchmarks=known))
    answers = read_answers(paths)
    own = answers[answers["benchmark"] == benchmark.name].reset_index(drop=True)
    if own.empty:
        named = ", ".join(sorted(map(str, answers["benchmark"].unique())))
        message, remedy = f"contain no answers to {benchmark.name}", "give answers to it"
        where = ", ".join(map(str, paths))
        raise input_error(where, message, remedy, column="benchmark", value=named)
    return own
