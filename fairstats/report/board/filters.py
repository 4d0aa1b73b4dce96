"""Choices of a board's models: by what their publisher declared, and by missing answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fairstats.comparisons.successors import FACTS
from fairstats.release.contents import Release
from fairstats.report.board.figures import BoardFigures, is_long

#: The largest shares of missing answers to choose from.
_SHARES = (0.0, 0.01, 0.05, 0.2)
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Filter:
    """A choice of models.

    Attributes
    ----------
    label : str
        What is chosen by, as plain text.
    options : dict of str to str
        The models of each option: the names of their pages, separated by spaces. Before a name,
        the number of a board and a slash limit the choice to that board.
    """

    label: str
    options: dict[str, str]


def model_filters(boards: Sequence[BoardFigures], release: Release) -> dict[str, Filter]:
    """Return the choices among the models of a benchmark's boards, by their key.

    They are the declared facts in which models differ and, for long boards, the share of missing
    answers if models differ in it.
    """
    models = sorted({own.model for figures in boards for own in figures.sets})
    found = {}
    for fact, label in FACTS.items():
        groups = defaultdict(list)
        for model in models:
            groups[shown_fact(release.model_facts.get(model, {}), fact)].append(model)
        if len(groups) > 1:
            options = {
                text or "not declared": " ".join(release.slugs[model] for model in groups[text])
                for text in sorted(groups, key=_place)
            }
            found[fact] = Filter(label, options)
    if any(is_long(figures.board) for figures in boards):
        options = _by_missing(boards, release)
        if options:
            found["missing"] = Filter("Missing answers", options)
    return found


def shown_fact(facts: dict[str, str | bool], fact: str) -> str:
    """Return what was declared about a model, as plain text; empty if nothing was.

    Examples
    --------
    >>> shown_fact({"size": "70B", "open": True}, "open")
    'open'
    """
    value = facts.get(fact, "")
    return value if isinstance(value, str) else ("closed", "open")[value]


def _place(text: str) -> tuple[bool, float, str]:
    """Return the place of an option: numbers such as 70B by size, the empty text last."""
    number = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([KMBT]?)", text)
    size = float(number[1]) * _UNITS.get(number[2], 1) if number else 0.0
    return not text, size, text.casefold()


def _by_missing(boards: Sequence[BoardFigures], release: Release) -> dict[str, str]:
    """Return the models with at most each share of missing answers, if some have more."""
    shares = {}
    for number, figures in enumerate(boards):
        for own in figures.sets:
            missing, whole = own.missing
            shares[f"b{number}/{release.slugs[own.model]}"] = missing / whole if whole else 0.0
    options: dict[str, str] = {}
    for most in _SHARES:
        models = [name for name, share in shares.items() if share <= most]
        text = " ".join(models)
        if 0 < len(models) < len(shares) and text not in options.values():
            options["none" if most == 0 else f"at most {most:.0%}"] = text
    return options
