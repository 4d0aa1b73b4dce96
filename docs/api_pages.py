"""Write the API pages in Markdown: figures, columns, and documented names, one page per topic.

Documented are the names that `import fairstats` offers, and those of `api_names.toml`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairstats
from fairstats.metrics.registry import metrics_table
from fairstats.publishing.json_api import described_columns

#: Title and purpose of the topics, by the folder of a name's module; the longest one counts.
TOPICS = {
    "answers": ("Answers", "Read, check and write answers."),
    "benchmarks": (
        "Benchmarks",
        "Read what a benchmark declares: items, groups, pairs and policies.",
    ),
    "counts": (
        "Outcome counts",
        "Fold answers into counts of outcomes, per pair of groups or per item.",
    ),
    "estimates": (
        "Estimates",
        "Compute every figure of a set of answers, with intervals and tests.",
    ),
    "comparisons": ("Models compared", "Compare two models or prompts, and rank several models."),
    "inference": (
        "Paired counts, intervals, tests",
        "Compute tests, intervals, effect sizes and power from the four counts of a paired table.",
    ),
    "retrieval": ("Retrieval", "Compare retrieved texts and the answers given with them."),
    "ratings": ("Ratings", "Read and analyse human ratings of open answers."),
    "screening": ("Screening", "Look for signs of copied, shifted, forced or invented answers."),
    "replication": (
        "Tables of papers",
        "Check whether the figures of a published table can be true.",
    ),
    "report": ("Plots", "Draw estimates, ranks, outcomes and specifications as plotnine objects."),
    "publishing": ("Publishing", "Publish releases, verify them and compare them."),
    "_lib": ("Errors", "What is raised for wrong input, with each problem and its remedy."),
}
_FOLDER = "api"
_NAME = re.compile(r"(?<!`)`(?:fairstats\.(?:\w+\.)*)?(\w+)`(?!`)")
_DOCTEST = re.compile(r"(?m)^>>> (?:.*\n)+?(?=\n|\Z)")


@dataclass(frozen=True)
class ApiPage:
    """A page of the API: its name in the navigation, and its Markdown."""

    name: str
    text: str


@dataclass(frozen=True)
class Documented:
    """A documented name, and the module to import it from."""

    name: str
    module: str

    @property
    def subject(self) -> Any:
        """The function or class."""
        return getattr(importlib.import_module(self.module), self.name)

    def docstring(self) -> str:
        """Return the docstring, without indentation."""
        return inspect.getdoc(self.subject) or ""

    def first_line(self) -> str:
        """Return the first sentence, for a cell of a table."""
        return " ".join(self.docstring().partition("\n\n")[0].split()).replace("|", r"\|")


def api_pages() -> dict[str, ApiPage]:
    """Return the API pages by their path in the site, the list of all functions first."""
    topics: dict[str, list[str]] = {folder: [] for folder in TOPICS}
    offered, others = offered_names(), other_names()
    for name, module in (offered | others).items():
        parts = module.split(".")[1:]
        folder = max(
            (f for f in TOPICS if parts[: f.count(".") + 1] == f.split(".")), key=len, default=None
        )
        if folder is None:
            raise ValueError(f"{module} belongs to no topic; add its folder to TOPICS")
        topics[folder].append(name)
    topics = {folder: names for folder, names in topics.items() if names}
    files = {
        name: f"{folder.strip('_').replace('.', '-')}.md"
        for folder, names in topics.items()
        for name in names
    }
    entries = {name: Documented(name, "fairstats") for name in offered}
    entries |= {name: Documented(name, module) for name, module in others.items()}
    pages = {
        f"{_FOLDER}/index.md": ApiPage("All functions", _index(topics, entries, files)),
        f"{_FOLDER}/figures.md": ApiPage("Figures and columns", _figures()),
    }
    for folder, names in topics.items():
        path = f"{_FOLDER}/{files[names[0]]}"
        pages[path] = ApiPage(
            TOPICS[folder][0], _topic(*TOPICS[folder], [entries[name] for name in names], files)
        )
    return pages


def offered_names() -> dict[str, str]:
    """Return the module of each name that `import fairstats` offers, in the stub's order."""
    stub = Path(fairstats.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.name: f"fairstats.{node.module}"
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if not alias.name.startswith("__")
    }


def other_names() -> dict[str, str]:
    """Return the module of each further documented name."""
    return tomllib.loads(Path(__file__).with_name("api_names.toml").read_text(encoding="utf-8"))


def _index(
    topics: dict[str, list[str]], entries: dict[str, Documented], files: dict[str, str]
) -> str:
    parts = [
        "# Functions\n\nEvery documented name, by topic, and where to import it from. Each entry "
        "gives the estimand, formula, degenerate cases and source.\n"
    ]
    for folder, names in topics.items():
        parts.append(f"## {TOPICS[folder][0]}\n\n| name | import from | purpose |\n|---|---|---|")
        for name in names:
            entry = entries[name]
            link = f"[`{name}`]({files[name]}#{name.lower()})"
            parts.append(f"| {link} | `{entry.module}` | {entry.first_line()} |")
        parts.append("")
    return "\n".join(parts)


def _figures() -> str:
    parts = [
        "# Figures and columns\n\nEvery figure that `fairstats.analyze` computes, and every column "
        f"of a release's tables.\n\n## Figures\n\n{metrics_table()}"
    ]
    for table, columns in described_columns().items():
        parts.append(f"## `{table}`\n\n| column | meaning |\n|---|---|")
        parts += [f"| `{name}` | {text} |" for name, text in columns.items()]
        parts.append("")
    return "\n".join(parts)


def _topic(title: str, purpose: str, entries: list[Documented], files: dict[str, str]) -> str:
    return "\n".join([f"# {title}\n\n{purpose}\n", *(_entry(entry, files) for entry in entries)])


def _entry(entry: Documented, files: dict[str, str]) -> str:
    from pdoc import docstrings

    name = entry.name
    text = docstrings.convert(entry.docstring(), "numpy", Path(fairstats.__file__))
    text = text.rstrip() + "\n"
    # Level 6 in pdoc's pages; here the third, below the name.
    text = re.sub(r"(?m)^#{6} ", "### ", text)
    text = _DOCTEST.sub(lambda match: f"```\n{match[0].rstrip()}\n```\n", text)

    def linked(match: re.Match[str]) -> str:
        other = match[1]
        if other == name or other not in files:
            return match[0]
        return f"[`{other}`]({files[other]}#{other.lower()})"

    pieces = re.split(r"(?ms)(^```.*?^```$)", text)
    text = "".join(p if p.startswith("```") else _NAME.sub(linked, p) for p in pieces)
    call = f"from {entry.module} import {name}\n\n{_signature(name, entry.subject)}"
    return f"## {name}\n\n```python\n{call}\n```\n\n{text}\n"


def _signature(name: str, subject: Any) -> str:
    """Return the call without types, which the parameters' descriptions state."""
    if inspect.isclass(subject) and issubclass(subject, BaseException):
        return f"class {name}({subject.__mro__[1].__name__})"
    empty = inspect.Parameter.empty
    signature = inspect.signature(subject)
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    bare = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    line = f"{name}{bare}"
    if len(line) <= 80:
        return line
    inside = ",\n    ".join(part.strip() for part in _separate(str(bare)[1:-1]))
    return f"{name}(\n    {inside},\n)"


def _separate(parameters: str) -> list[str]:
    """Split parameters at the commas outside brackets and quotes."""
    return re.findall(r"(?:[^,(\['\"]|\([^)]*\)|\[[^\]]*\]|'[^']*'|\"[^\"]*\")+", parameters)
