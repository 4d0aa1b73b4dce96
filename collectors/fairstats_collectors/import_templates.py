"""Templates such as ``{model}_{group}_answer``: names and values that are made of several parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache

from fairstats._lib.toml_files import Fault

_PART = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
#: Matching takes a time that grows with the length to the power of the number of parts.
_MOST_PARTS = 4
_LONGEST = 200


def is_template(text: str) -> bool:
    """Return whether a text has parts in braces."""
    return _PART.search(text) is not None


def parts_of(template: str) -> tuple[str, ...]:
    """Return the names of a template's parts.

    Raises
    ------
    Fault
        If there are too many, or one is there twice.

    Examples
    --------
    >>> parts_of("{model}_{question:visit|manage}")
    ('model', 'question')
    """
    names = tuple(name for name, _ in _PART.findall(template))
    if len(names) > _MOST_PARTS or len(set(names)) < len(names):
        raise Fault(f"must have up to {_MOST_PARTS} different parts in braces", "correct it")
    return names


def matched(
    template: str, text: str, known: Mapping[str, Collection[str]] | None = None
) -> dict[str, str] | None:
    """Return the parts of a text that fits a template; None if it does not fit.

    Parameters
    ----------
    template : str
        E.g. ``"{model}_{group}"``, or with the possible values of a part:
        ``"{model}_{question:visit|manage}"``.
    text : str
        The text.
    known : Mapping[str, collection of str], optional
        The possible values of parts for which the template has none.

    Examples
    --------
    >>> matched("{model}_{group}_answer", "olmo2_7b_female_answer", {"group": ["male", "female"]})
    {'model': 'olmo2_7b', 'group': 'female'}
    >>> matched("{attribute}_{group}", "baseline") is None
    True
    """
    values = tuple((name, tuple(of)) for name, of in (known or {}).items() if of)
    found = _pattern(template, values).fullmatch(text) if len(text) <= _LONGEST else None
    names = parts_of(template)
    return None if found is None else dict(zip(names, found.groups(), strict=True))


@lru_cache(maxsize=64)
def _pattern(template: str, known: tuple[tuple[str, tuple[str, ...]], ...]) -> re.Pattern[str]:
    values = dict(known)
    pattern, end = "", 0
    for part in _PART.finditer(template):
        listed = part[2].split("|") if part[2] else values.get(part[1], ())
        # Longest first: "high" must not match the beginning of "high_income".
        options = "|".join(map(re.escape, sorted(listed, key=len, reverse=True)))
        # A model's name may hold the sign that separates the parts.
        pattern += re.escape(template[end : part.start()])
        pattern += f"({options or ('.+' if part[1] == 'model' else '.+?')})"
        end = part.end()
    return re.compile(pattern + re.escape(template[end:]))
