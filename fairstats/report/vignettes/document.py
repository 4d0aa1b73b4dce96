"""Audit a benchmark's variants and write the report: tables, an HTML file and a PDF."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import escape_markdown
from fairstats._lib.installation import __version__
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import MEASURES_SUFFIX, answer_files, write_parquet
from fairstats.benchmarks.benchmark_files import copy_benchmarks
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.release.contents import DOWNLOADS, MANIFEST, Release
from fairstats.release.tables import write_table
from fairstats.report.builtin_renderer import draw_document
from fairstats.report.page_output import show_markdown
from fairstats.report.site_pages import copy_pages
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
    name = vignettes.benchmark.name
    with temporary_folder("report") as temporary:
        folder, project = temporary / "audit", temporary / "pages"
        (folder / DOWNLOADS).mkdir(parents=True)
        project.mkdir()
        made = Release(folder)
        for table, called in ((audit.findings, FINDINGS), (audit.flags, FLAGS)):
            write_parquet(table, folder / DOWNLOADS / f"{called}.parquet")
            write_table(table, folder / "tables", called)
        write_measures(audit.measures, made.measures_path)
        copy_benchmarks({name: vignettes.benchmark}, folder / "benchmarks")
        manifest = {
            "release": vignettes.benchmark.title,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "fairstats": __version__,
            "arguments": {"alpha": alpha},
            "benchmark": name,
            "benchmark_version": audit.benchmark_version,
            "items": len(vignettes.items),
            "sources": [
                {"name": path.name, "sha256": file_sha256(path)}
                for path in (vignettes.path, *(answer_files(paths) if paths else []))
            ],
        }
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        copy_pages(project)
        body = (project / "reports" / "_vignettes_report.qmd").read_text(encoding="utf-8")
        title = f"How good are the variants of {vignettes.benchmark.title}?"
        drawn = tuple(folder / f"audit.{kind}" for kind in ("html", "pdf"))
        for kind, target in zip(("html", "pdf"), drawn, strict=True):
            draw_document(
                made,
                project,
                "vignettes",
                body,
                title=title,
                to=kind,  # type: ignore[arg-type]
                target=target,
            )
        given = [*drawn, *sorted((folder / "tables").iterdir())]
        files = {path.name: path for path in given}
        files[f"{slug(name)}{MEASURES_SUFFIX}"] = made.measures_path
        manifest["files"] = {called: file_sha256(path) for called, path in sorted(files.items())}
        out.mkdir(parents=True, exist_ok=True)
        for called, path in files.items():
            shutil.copyfile(path, out / called)
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (out / MANIFEST).write_text(text, encoding="utf-8")
    return AuditFiles(out, tuple(out / path.name for path in drawn), audit)


def show_head(release: Release) -> None:
    """Show the audited vignettes, and the time of the audit."""
    manifest = release.manifest
    version = manifest["benchmark_version"]
    named = f", version {escape_markdown(version)}" if version else ""
    show_markdown(
        f"::: kicker\nVignettes · {release.created_at.date()} · "
        f"{escape_markdown(manifest['release'])}{named} · {manifest['items']:,} items\n:::"
    )


def show_provenance(release: Release) -> None:
    """Show hashes, versions and arguments."""
    manifest = release.manifest
    lines = [
        *(f"{source['name']}: sha256 {source['sha256']}" for source in manifest["sources"]),
        f"alpha = {release.alpha}; fairstats {__version__}, Python {platform.python_version()}",
    ]
    listed = "\n".join(f"- {escape_markdown(line)}" for line in lines)
    show_markdown(f"## Input files and versions\n\n{listed}")
