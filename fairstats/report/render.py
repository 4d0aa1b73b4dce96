"""Draw a release's pages, with Quarto where it is there or with the built-in renderer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from fairstats.report.builtin import render_builtin
from fairstats.report.context import PUBLISHED_VARIABLE, RELEASE_VARIABLE, Release
from fairstats.report.site import PDF_PAGE, stage
from fairstats.temporary_folders import temporary_folder

Renderer = Literal["auto", "quarto", "builtin"]


class RenderError(RuntimeError):
    """Raised when a page could not be drawn; the message names the page and the cause."""


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
        ``auto`` takes Quarto where it can be used.

    Returns
    -------
    str
        What drew the pages, with its version.

    Raises
    ------
    RenderError
        When Quarto is asked for and not there, or a page cannot be drawn.
    """
    # Quarto runs the cells in this Python, and needs pyyaml there.
    program = shutil.which("quarto") if find_spec("yaml") else None
    if renderer == "quarto" and program is None:
        raise RenderError(
            "Quarto cannot be used: there is no `quarto` on the path, or no pyyaml in this "
            "Python; pip install 'fairstats[quarto]' brings both, and --renderer builtin draws "
            "the same pages"
        )
    if renderer == "auto" and program is None:
        renderer = "builtin"
    with temporary_folder("pages") as project:
        pages = stage(release, project)
        if renderer == "builtin" or program is None:
            return render_builtin(release, project, pages, site=site, pdf=pdf)
        return _render_quarto(program, release, project, site=site, pdf=pdf)


def _render_quarto(program: str, release: Release, project: Path, *, site: Path, pdf: Path) -> str:
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
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return f"quarto {version}"


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise RenderError(f"{' '.join(command)} failed:\n{last}")
