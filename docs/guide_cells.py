"""Run the code of a guide as a notebook, and put its output into the page.

A guide is a Markdown file. Its ``python`` and ``sh`` blocks are cells, run in order in one kernel,
in a folder with the files of docs/guides. ``bash`` blocks are shown and not run.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

#: Suffixes of the files that a guide finds in its folder.
DATA = (".csv", ".toml")
_CELL = re.compile(r"(?ms)^```(python|sh)\n(.*?)^```$")
_SECONDS_A_CELL = 600
# Plots are drawings, sharp at every size. A command that fails stops the build, except for a gate,
# which exits with 1 if a limit is not kept.
_SETTINGS = """\
def run(command, shell=get_ipython(), system=get_ipython().system):
    system(command)
    if shell.user_ns["_exit_code"] and not command.startswith("fairstats gate"):
        raise RuntimeError(f"this command failed: {command}")
get_ipython().system = run
from plotnine import options
options.figure_format = "svg"
options.figure_size = (7, 3.6)
"""
_IMAGES = {"image/svg+xml": "svg", "image/png": "png"}


@dataclass
class Ran:
    """A guide with its output, as a page with the files of its plots, and as a notebook."""

    text: str
    notebook: str
    images: dict[str, bytes] = field(default_factory=dict)


def cells(text: str) -> list[tuple[str, str]]:
    """Return the language and the code of each cell of a guide."""
    return [(match[1], match[2]) for match in _CELL.finditer(text)]


def copy_data(guides: Path, folder: Path) -> None:
    """Copy the files that the guides read."""
    for path in sorted(guides.iterdir()):
        if path.suffix in DATA:
            shutil.copyfile(path, folder / path.name)


def run_guide(path: Path, data: Path) -> Ran:
    """Run a guide in an empty folder.

    Parameters
    ----------
    path : Path
        The Markdown file.
    data : Path
        The folder with the files that it reads.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.v4.new_notebook()
    end = 0
    for number, match in enumerate(_CELL.finditer(text)):
        if words := text[end : match.start()].strip():
            notebook.cells.append(nbformat.v4.new_markdown_cell(words, id=f"text-{number}"))
        code = match[2].rstrip("\n")
        if match[1] == "sh":
            code = _as_shell(code)
        notebook.cells.append(nbformat.v4.new_code_cell(code, id=f"code-{number}"))
        end = match.end()
    notebook.cells.append(nbformat.v4.new_markdown_cell(text[end:].strip(), id="text-end"))
    with tempfile.TemporaryDirectory(prefix="fairstats-guide-") as folder:
        copy_data(data, Path(folder))
        _execute(notebook, Path(folder))
        written = nbformat.writes(_tidy(notebook)).replace(folder, ".") + "\n"
    ran = Ran("", written)
    outputs = [
        "\n\n".join(filter(None, (_shown(o, ran, path.stem) for o in _merged(cell.outputs))))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    shown = iter(outputs)
    ran.text = _CELL.sub(lambda match: f"{match[0]}\n\n{next(shown)}\n", text)
    return ran


def _as_shell(code: str) -> str:
    """Return commands as IPython runs them; comments and continued lines are kept."""
    lines = re.sub(r"\\\n\s*", "", code).splitlines()
    return "\n".join(line if line.startswith("#") or not line else f"!{line}" for line in lines)


def _execute(notebook: Any, folder: Path) -> None:
    environment = {
        # The commands of this environment first.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "COLUMNS": "94",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    # The settings are in no notebook.
    first = nbformat.v4.new_code_cell(_SETTINGS)
    whole = nbformat.v4.new_notebook(cells=[first, *notebook.cells])
    client = NotebookClient(
        whole,
        kernel_name="python3",
        timeout=_SECONDS_A_CELL,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=os.environ | environment)


def _tidy(notebook: Any) -> Any:
    """Remove the times of execution, which differ from run to run."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def _merged(outputs: list[Any]) -> list[Any]:
    """Join what a cell prints, which arrives in pieces."""
    printed = "".join(o.text for o in outputs if o.output_type == "stream")
    others = [o for o in outputs if o.output_type != "stream"]
    return [nbformat.v4.new_output("stream", text=printed), *others] if printed else others


def _shown(output: Any, ran: Ran, stem: str) -> str:
    """Return an output in GitHub's Markdown, and keep the file of a plot."""
    if output.output_type == "stream":
        return _block(output.text)
    data = output.get("data", {})
    for kind, suffix in _IMAGES.items():
        if kind in data:
            name = f"{stem}-{len(ran.images) + 1}.{suffix}"
            content = data[kind]
            ran.images[name] = content.encode() if suffix == "svg" else base64.b64decode(content)
            return (
                f'<figure class="plot"><img src="{name}" alt="The plot of the code above"></figure>'
            )
    if "text/html" in data:
        table = re.sub(r'(?s)<style.*?</style>| border="1"| style="[^"]*"', "", data["text/html"])
        table = "\n".join(line.strip() for line in table.splitlines() if line.strip())
        opening = '<div class="table-wrap output" role="region" tabindex="0" aria-label="Output">'
        return f"{opening}\n{table}\n</div>"
    if "text/markdown" in data:
        return str(data["text/markdown"])
    return _block(data.get("text/plain", ""))


def _block(text: str) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    kind = "output drawn" if "│" in text or "┃" in text else "output"
    return f'<pre class="{kind}">{escape(text)}</pre>' if text else ""
