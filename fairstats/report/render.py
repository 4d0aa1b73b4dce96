"""Draw a release's pages, with Quarto if it is available, or with the built-in renderer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.problems import RenderError
from fairstats.release.contents import Release
from fairstats.report.builtin_renderer import render_builtin
from fairstats.report.page_context import PUBLISHED_VARIABLE, RELEASE_VARIABLE
from fairstats.report.search import write_search_index
from fairstats.report.site_pages import PDF_PAGE, stage

#: The first Quarto that draws the pages; `_quarto.yml` requires it too.
_OLDEST_QUARTO = (1, 9)

Renderer = Literal["auto", "quarto", "builtin"]


def render(release: Release, *, site: Path, pdf: Path, renderer: Renderer = "auto") -> str:
    """Draw the site and the PDF of a release.

    Parameters
    ----------
    release : Release
        A folder with estimates, manifest and benchmarks.
    site : Path
        The folder for the HTML pages.
    pdf : Path
        The file for the PDF.
    renderer : {"auto", "quarto", "builtin"}
        ``auto`` uses Quarto 1.9 or newer if it is on the path, else the built-in renderer.

    Returns
    -------
    str
        The renderer of the pages, with its version.

    Raises
    ------
    RenderError
        If Quarto is required but cannot be used, or a page cannot be drawn.
    """
    # Quarto runs the cells in this Python, and needs pyyaml there.
    program = shutil.which("quarto") if renderer != "builtin" and find_spec("yaml") else None
    if renderer == "quarto" and program is None:
        raise RenderError(
            "Quarto cannot be used: there is no `quarto` on the path, or no pyyaml in this "
            "Python. Run pip install 'fairstats[quarto]' for both, or use --renderer builtin, "
            "which draws the same pages"
        )
    version = quarto_version(program) if program else ""
    if program and _parts(version) < _OLDEST_QUARTO:
        if renderer == "quarto":
            raise RenderError(
                f"Quarto {version} is too old: install 1.9 or newer, or use --renderer builtin, "
                "which draws the same pages"
            )
        program = None
    with temporary_folder("pages") as project:
        pages = stage(release, project)
        if program is None:
            drawn_by = render_builtin(release, project, pages, site=site, pdf=pdf)
        else:
            _render_quarto(program, release, project, site=site, pdf=pdf)
            drawn_by = f"quarto {version}"
    write_search_index(site)
    return drawn_by


def quarto_version(program: str) -> str:
    """Return the version that a Quarto program reports, e.g. ``1.10.18``."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; empty if it has no number."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _render_quarto(program: str, release: Release, project: Path, *, site: Path, pdf: Path) -> None:
    environment = {
        **os.environ,
        RELEASE_VARIABLE: str(release.path.resolve()),
        PUBLISHED_VARIABLE: "1",
        # The pages' cells have to run where fairstats is installed.
        "QUARTO_PYTHON": sys.executable,
    }
    _run([program, "render", "--metadata", "published:true"], project, environment)
    shutil.copytree(project / "_site", site, dirs_exist_ok=True)
    # Outside the website project: there, Quarto would add the PDF to the site.
    folder = project / "pdf"
    shutil.copytree(project / "reports", folder)
    page = folder / Path(PDF_PAGE).name
    _run([program, "render", page.name, "--to", "typst"], folder, environment)
    shutil.move(page.with_suffix(".pdf"), pdf)


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise RenderError(f"{' '.join(command)} failed:\n{last}")
