"""Audit a benchmark's variants and write the report: tables, an HTML file and a PDF."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import counted, escape_markdown
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import MEASURES_SUFFIX, answer_files
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.release.contents import MANIFEST, Release
from fairstats.release.tables import write_table
from fairstats.report.page_output import show_markdown
from fairstats.report.separate_reports import draw_report, show_sources, write_tables
from fairstats.report.vignettes.page import FINDINGS, FLAGS
from fairstats.vignettes.audit import Audit, audit_vignettes
from fairstats.vignettes.measures import write_measures


@dataclass(frozen=True)
class AuditFiles:
    """The files of an audit.

    Parameters
    ----------
    folder : Path
        All of its files.
    pages : tuple of Path
        The report, as HTML and PDF.
    audit : Audit
        Its tables.
    """

    folder: Path
    pages: tuple[Path, ...]
    audit: Audit


def report_vignettes(
    items: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    answers: Iterable[str | os.PathLike[str]] = (),
    benchmark: str | os.PathLike[str] | Benchmark | None = None,
    benchmark_version: str | None = None,
    alpha: float = 0.05,
) -> AuditFiles:
    """Audit the variants of a benchmark and write the results.

    Parameters
    ----------
    items : path or str
        As for `fairstats.benchmarks.vignette_items.read_vignettes`.
    out : path
        A folder, which gets the report (``audit.html``, ``audit.pdf``), findings and flags as
        parquet, CSV and JSON, the measures (``*.measures.parquet``, for `fairstats.publish`) and
        ``manifest.json`` with the hashes of its inputs and of all files.
    answers : iterable of paths
        Answers of models to these items.
    benchmark : str, path or Benchmark, optional
        The declaration of the groups of an items file.
    benchmark_version : str, optional
        The set of variants of the items (default: the benchmark's only one).
    alpha : float
        1 − confidence level.

    Returns
    -------
    AuditFiles

    Raises
    ------
    InputError
        If the items or answers have a problem. Then no file is written.
    fairstats.report.builtin_renderer.PageError
        If the report cannot be drawn. Then no file is written.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError([Problem(str(out), "is not a folder", "give the path of a folder")])
    vignettes = read_vignettes(items, benchmark=benchmark)
    paths = list(answers)
    audit = audit_vignettes(vignettes, paths, benchmark_version=benchmark_version, alpha=alpha)
    audited = vignettes.benchmark
    tables = {FINDINGS: audit.findings, FLAGS: audit.flags}
    with temporary_folder("report") as folder:
        release = write_tables(
            folder,
            tables,
            title=audited.title,
            alpha=alpha,
            sources=(vignettes.path, *(answer_files(paths) if paths else [])),
            benchmark=audited.name,
            benchmark_version=audit.benchmark_version,
            items=len(vignettes.items),
        )
        for name, table in tables.items():
            write_table(table, folder / "tables", name)
        write_measures(audit.measures, release.measures_path)
        copy_benchmarks({audited.name: audited}, folder / "benchmarks")
        title = f"How good are the variants of {audited.title}?"
        drawn = [folder / "audit.html", folder / "audit.pdf"]
        draw_report(release, "vignettes", title=title, to="html", target=drawn[0])
        draw_report(release, "vignettes", title=title, to="pdf", target=drawn[1])
        files = {path.name: path for path in (*drawn, *sorted((folder / "tables").iterdir()))}
        files[f"{slug(audited.name)}{MEASURES_SUFFIX}"] = release.measures_path
        hashes = {name: file_sha256(path) for name, path in sorted(files.items())}
        out.mkdir(parents=True, exist_ok=True)
        for name, path in files.items():
            shutil.copyfile(path, out / name)
        text = json.dumps(release.manifest | {"files": hashes}, indent=1, ensure_ascii=False)
        (out / MANIFEST).write_text(f"{text}\n", encoding="utf-8")
    return AuditFiles(out, tuple(out / path.name for path in drawn), audit)


def show_head(release: Release) -> None:
    """Show the audited vignettes, and the time of the audit."""
    manifest = release.manifest
    version = manifest["benchmark_version"]
    named = f"{manifest['release']}, version {version}" if version else manifest["release"]
    show_markdown(
        f"::: kicker\nVignettes · {release.created_at.date()} · {escape_markdown(named)} · "
        f"{counted(manifest['items'], 'item')}\n:::"
    )


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    show_sources(release)
