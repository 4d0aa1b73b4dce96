"""Write the API pages in Markdown, one per topic, from the docstrings of the public names."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairstats

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
    "inference.agreement": ("Agreement", "Measure the agreement of raters."),
    "retrieval": ("Retrieval", "Compare retrieved texts and the answers given with them."),
    "ratings": ("Ratings", "Plan, read and analyse human ratings of open answers."),
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
_NAME = re.compile(r"(?<!`)`(?:fairstats\.)?(\w+)`(?!`)")
_DOCTEST = re.compile(r"(?m)^>>> (?:.*\n)+?(?=\n|\Z)")


@dataclass(frozen=True)
class ApiPage:
    """A page of the API: its name in the navigation, and its Markdown."""

    name: str
    text: str


def api_pages() -> dict[str, ApiPage]:
    """Return the API pages by their path in the site, the list of all names first."""
    topics: dict[str, list[str]] = {folder: [] for folder in TOPICS}
    for name, module in _public().items():
        parts = module.split(".")
        folder = max(
            (f for f in TOPICS if parts[: f.count(".") + 1] == f.split(".")), key=len, default=None
        )
        if folder is None:
            raise ValueError(f"fairstats.{module} belongs to no topic; add its folder to TOPICS")
        topics[folder].append(name)
    topics = {folder: names for folder, names in topics.items() if names}
    files = {
        name: f"{folder.strip('_').replace('.', '-')}.md"
        for folder, names in topics.items()
        for name in names
    }
    pages = {f"{_FOLDER}/index.md": ApiPage("All functions", _index(topics, files))}
    for folder, names in topics.items():
        path = f"{_FOLDER}/{files[names[0]]}"
        pages[path] = ApiPage(TOPICS[folder][0], _topic(*TOPICS[folder], names, files))
    return pages


def _public() -> dict[str, str]:
    """Return the module of each public name, in the order of the package's stub."""
    stub = Path(fairstats.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if not alias.name.startswith("__")
    }


def _index(topics: dict[str, list[str]], files: dict[str, str]) -> str:
    parts = [
        "# Functions\n\nEvery public name of `fairstats`, by topic. Each function's page gives its "
        "estimand, formula, degenerate cases and source.\n"
    ]
    for folder, names in topics.items():
        parts.append(f"## {TOPICS[folder][0]}\n\n| name | purpose |\n|---|---|")
        parts += [
            f"| [`{name}`]({files[name]}#{name.lower()}) | {_first_line(name)} |" for name in names
        ]
        parts.append("")
    return "\n".join(parts)


def _topic(title: str, purpose: str, names: list[str], files: dict[str, str]) -> str:
    parts = [f"# {title}\n\n{purpose}\n"]
    parts += [_entry(name, files) for name in names]
    return "\n".join(parts)


def _first_line(name: str) -> str:
    text = inspect.getdoc(getattr(fairstats, name)) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", r"\|")


def _entry(name: str, files: dict[str, str]) -> str:
    from pdoc import docstrings

    subject = getattr(fairstats, name)
    text = docstrings.convert(inspect.getdoc(subject) or "", "numpy", Path(fairstats.__file__))
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
    return f"## {name}\n\n```python\n{_signature(name, subject)}\n```\n\n{text}\n"


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
