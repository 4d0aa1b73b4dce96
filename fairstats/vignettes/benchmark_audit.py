"""Audit a benchmark's variants: measure their text, and estimate the consequences."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.benchmark_checks import validate_files
from fairstats.answers.engine_frames import OpenAnswers, answers_where, open_answers
from fairstats.answers.files import read_answers
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.benchmarks.loading import by_name, load_benchmarks
from fairstats.benchmarks.vignette_items import Vignettes
from fairstats.estimates.same_variants import variant_sets
from fairstats.inference._checks import check_alpha
from fairstats.vignettes.content_measures import (
    CONTENT_MEASURES,
    content_findings,
    content_flags,
    content_measures,
)
from fairstats.vignettes.duplicates import (
    DUPLICATE_MEASURES,
    duplicate_findings,
    duplicate_flags,
    duplicate_measures,
)
from fairstats.vignettes.findings import findings_frame
from fairstats.vignettes.items.balanced_items import balanced_items
from fairstats.vignettes.items.differences_by_question import differences_by_question
from fairstats.vignettes.items.disparity_capacity import ADVERSARIAL, benchmarking_capacity
from fairstats.vignettes.items.item_findings import item_findings
from fairstats.vignettes.items.item_statistics import item_flags, item_statistics
from fairstats.vignettes.items.remaining_disparity import remaining_disparity
from fairstats.vignettes.items.selection_effects import selection_findings, selection_flags
from fairstats.vignettes.items.variant_set_findings import variant_set_findings, variant_set_flags
from fairstats.vignettes.leakage.followed_leakage import followed_leakage, versions_that_follow
from fairstats.vignettes.leakage.leakage_flags import leakage_flags
from fairstats.vignettes.leakage.leakage_measures import leakage_measures
from fairstats.vignettes.leakage.leakage_summary import leakage_findings
from fairstats.vignettes.leakage.leakage_vectors import Embed
from fairstats.vignettes.measures import check_measures
from fairstats.vignettes.wording import WORDING_MEASURES, wording_findings, wording_measures


class _Options(TypedDict):
    missing: MissingPolicy | None
    alpha: float
    benchmarks: Mapping[str, Benchmark]


@dataclass(frozen=True)
class Audit:
    """Result of an audit of vignettes.

    Parameters
    ----------
    measures : pandas.DataFrame
        `fairstats.vignettes.measures.MEASURE_COLUMNS`: measures of each variant.
    findings : pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`: estimates from the measures and from
        answers.
    flags : pandas.DataFrame
        `fairstats.vignettes.findings.FLAG_COLUMNS`: texts for a person to check.
    benchmark_version : str
        The measured set of variants; empty if unknown.
    """

    measures: pd.DataFrame
    findings: pd.DataFrame
    flags: pd.DataFrame
    benchmark_version: str


def audit_vignettes(
    vignettes: Vignettes,
    answers: Iterable[str | os.PathLike[str]] = (),
    *,
    benchmark_version: str | None = None,
    substitution: Iterable[str | os.PathLike[str]] = (),
    substitution_benchmark: Benchmark | None = None,
    embed: Embed | None = None,
    alpha: float = 0.05,
) -> Audit:
    """Measure the variants of a benchmark and estimate the consequences, with answers if given.

    Parameters
    ----------
    vignettes : Vignettes
        From `fairstats.benchmarks.vignette_items.read_vignettes`.
    answers : iterable of paths
        Files or folders of answers to these items.
    benchmark_version : str, optional
        The set of variants. By default the benchmark's only version. If it has several, the version
        is inferred from answers, if possible
        (`fairstats.vignettes.leakage.followed_leakage.versions_that_follow`).
    substitution : iterable of paths
        Answers of the same models to variants that differ only in the group's words, for
        `fairstats.vignettes.items.disparity_capacity.benchmarking_capacity`.
    substitution_benchmark : Benchmark, optional
        The benchmark of those answers.
    embed : callable, optional
        Maps n texts to n vectors of length 1, for semantic similarity.
    alpha : float
        1 − confidence level.

    Returns
    -------
    Audit

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
    ['content', 'duplicates', 'leakage', 'wording']
    """
    alpha = check_alpha(alpha)
    benchmark = vignettes.benchmark
    version = _version(benchmark, benchmark_version)
    given = _answers(list(answers), benchmark)
    measures = measure_vignettes(vignettes, benchmark_version=version, embed=embed)
    flags = [
        leakage_flags(vignettes, measures),
        content_flags(vignettes),
        duplicate_flags(vignettes),
    ]
    known = {benchmark.name: benchmark}
    opened = _opened(given, known)
    findings = _of_text(measures, opened, known, None, alpha)
    plain = _answers(list(substitution), substitution_benchmark or benchmark)
    if given is not None and plain is not None:
        swapped = {benchmark.name: benchmark}
        if substitution_benchmark is not None:
            swapped[substitution_benchmark.name] = substitution_benchmark
        for _, of_version in given.groupby("benchmark_version", sort=True):
            kinds = {"substitution": plain, ADVERSARIAL: of_version}
            compared = benchmarking_capacity(kinds, alpha=alpha, benchmarks=swapped)
            # Estimates from the adversarial answers alone are already included.
            findings.append(compared[compared["measure"].str.contains("substitution")])
    if opened is not None:
        told, seen = _of_items(opened, None, alpha)
        findings, flags = [*findings, *told], [*flags, *seen]
    return Audit(measures, _joined(findings), pd.concat(flags, ignore_index=True), version)


def measure_vignettes(
    vignettes: Vignettes, *, benchmark_version: str = "", embed: Embed | None = None
) -> pd.DataFrame:
    """Compute all measures of the variants' text, as one table of measures."""
    tables = [
        leakage_measures(vignettes, embed=embed),
        content_measures(vignettes),
        wording_measures(vignettes),
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
    """Compute findings from measures, and from answers to the measured benchmarks.

    Parameters
    ----------
    measures : pandas.DataFrame
        From `measure_vignettes`, for any number of benchmarks.
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame, optional
        Answers; those to other benchmarks are used for findings that need no measures.
    missing, alpha, benchmarks
        As in `fairstats.analyze`.

    Returns
    -------
    pandas.DataFrame
        `fairstats.vignettes.findings.FINDING_COLUMNS`.
    """
    given = by_name(benchmarks)
    known = load_benchmarks(measures["benchmark"].unique().tolist(), given)
    opened = _opened(answers, given)
    findings = _of_text(measures, opened, known, missing, alpha)
    if opened is not None:
        findings += _of_items(opened, missing, alpha)[0]
    return _joined(findings)


def _opened(answers: Any, benchmarks: Mapping[str, Benchmark]) -> OpenAnswers | None:
    """Return the answers, opened once; None if there are none."""
    if answers is None or (isinstance(answers, pd.DataFrame) and answers.empty):
        return None
    return open_answers(answers, benchmarks)


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    there = [table for table in tables if len(table)]
    return pd.concat(there, ignore_index=True) if there else findings_frame(())


def _of_text(
    measures: pd.DataFrame,
    answers: OpenAnswers | None,
    benchmarks: Mapping[str, Benchmark],
    missing: MissingPolicy | None,
    alpha: float,
) -> list[pd.DataFrame]:
    """Return findings from the measures of each benchmark, with the answers to it."""
    tables = []
    for name, benchmark in benchmarks.items():
        own = measures[measures["benchmark"] == name]
        tables += [
            leakage_findings(own, benchmark, alpha=alpha),
            *_of_answers(own, answers, benchmark, missing, alpha),
            content_findings(_named(own, CONTENT_MEASURES), benchmark, alpha=alpha),
            wording_findings(_named(own, WORDING_MEASURES), benchmark, alpha=alpha),
            duplicate_findings(_named(own, DUPLICATE_MEASURES), alpha=alpha),
        ]
    return tables


def _of_items(
    opened: OpenAnswers, missing: MissingPolicy | None, alpha: float
) -> tuple[list[pd.DataFrame], list[pd.DataFrame]]:
    """Return findings and flags from answers alone: on items, selection and versions."""
    options: _Options = {"missing": missing, "alpha": alpha, "benchmarks": opened.benchmarks}
    statistics = item_statistics(opened, **options)
    selection = selection_findings(opened, **options)
    pairs = variant_sets(opened, **options)
    findings = [
        item_findings(opened, statistics, **options),
        selection,
        variant_set_findings(pairs),
    ]
    flags = [
        item_flags(statistics),
        selection_flags(selection, alpha=alpha),
        variant_set_flags(pairs),
    ]
    return findings, flags


def _named(measures: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return measures[measures["measure"].isin(names)]


def _of_answers(
    measures: pd.DataFrame,
    answers: OpenAnswers | None,
    benchmark: Benchmark,
    missing: MissingPolicy | None,
    alpha: float,
) -> Iterator[pd.DataFrame]:
    """Return findings from answers on the leakage of a benchmark's variants."""
    if answers is None or benchmark.name not in answers.benchmarks:
        return
    own = answers_where(answers, benchmark=benchmark.name)
    known = {benchmark.name: benchmark}
    followed = followed_leakage(own, measures, benchmarks=known, alpha=alpha)
    yield followed
    versions = sorted(set(measures["benchmark_version"]) - {""})
    if not versions:
        versions = versions_that_follow(followed, alpha=alpha).get(benchmark.name, [])
    yield remaining_disparity(
        own, measures, versions=versions, benchmarks=known, missing=missing, alpha=alpha
    )
    yield differences_by_question(
        own, measures, benchmark, versions=versions, missing=missing, alpha=alpha
    )
    for version in versions:
        answered = own[own["benchmark_version"] == version]
        if len(answered):
            yield benchmarking_capacity(
                {ADVERSARIAL: answered},
                balanced=balanced_items(measures, benchmark),
                missing=missing,
                alpha=alpha,
                benchmarks=known,
            )


def _version(benchmark: Benchmark, given: str | None) -> str:
    declared = list(benchmark.versions)
    if given is None:
        return declared[0] if len(declared) == 1 else ""
    if given not in declared:
        message = f"is not a version of {benchmark.name}"
        remedy = f"use one of {', '.join(declared)}"
        raise InputError([Problem("--benchmark-version", message, remedy, value=given)])
    return given


def _answers(paths: Sequence[str | os.PathLike[str]], benchmark: Benchmark) -> pd.DataFrame | None:
    """Return the answers to the benchmark in these files."""
    if not paths:
        return None
    known = {benchmark.name: benchmark}
    if problems := validate_files(paths, benchmarks=known):
        raise InputError(problems)
    answers = read_answers(paths)
    own = answers[answers["benchmark"] == benchmark.name].reset_index(drop=True)
    if own.empty:
        named = ", ".join(sorted(map(str, answers["benchmark"].unique())))
        message, remedy = f"contain no answers to {benchmark.name}", "give answers to it"
        where = ", ".join(map(str, paths))
        raise InputError([Problem(where, message, remedy, column="benchmark", value=named)])
    return own
