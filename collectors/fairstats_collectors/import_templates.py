"""Templates such as ``{model}_{group}_answer``, and patterns: texts that are made of several parts.

Both are matched by RE2, through Arrow, in a time that is proportional to the length of the text.
Templates and patterns come from mapping files, which may be from anybody, and `re` could take
for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache

import pyarrow
import pyarrow.compute

from fairstats._lib.toml_files import Fault

_PART = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
_MOST_PARTS = 4
_LONGEST = 200
#: The longest text that is matched with a pattern; paths have up to 4,096 characters.
_LONGEST_WITH_PATTERN = 5_000


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
    names = parts_of(template)
    found = _matched(_pattern(template, values), text) if len(text) <= _LONGEST else None
    return None if found is None else dict(zip(names, found.values(), strict=True))


def named_parts(pattern: str, text: str) -> dict[str, str] | None:
    r"""Return the named groups of a regular expression that fits a whole text; None if none fits.

    Groups that are not part of the match are empty, and so are those of no text.

    Raises
    ------
    Fault
        If it is not a regular expression of RE2, or has groups without a name or of one name.

    Examples
    --------
    >>> named_parts(r"(?P<kind>[a-z]+)-(?:[0-9]|(?P<sign>[+]))", "b-2")
    {'kind': 'b', 'sign': ''}
    >>> named_parts("(?:[a-z]+)+", "a" * 1000 + "-") is None
    True
    """
    return _matched(pattern, text) if len(text) <= _LONGEST_WITH_PATTERN else None


# Many records have the same few values.
@lru_cache(maxsize=1024)
def _matched(pattern: str, text: str) -> dict[str, str] | None:
    try:
        match = pyarrow.compute.extract_regex(pyarrow.scalar(text), pattern=f"^(?:{pattern})$")
    except pyarrow.ArrowInvalid as error:
        message = str(error).removeprefix("Invalid regular expression: ")
        raise Fault(f"is not a regular expression ({message})", "correct it") from None
    names = [one.name for one in match.type]
    if len(set(names)) < len(names):
        raise Fault("has two groups of one name", "give each another name")
    return dict(match.as_py()) if match.is_valid else None


@lru_cache(maxsize=64)
def _pattern(template: str, known: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    values = dict(known)
    pattern, end = "", 0
    for number, part in enumerate(_PART.finditer(template)):
        listed = part[2].split("|") if part[2] else values.get(part[1], ())
        # Longest first: "high" must not match the beginning of "high_income".
        options = "|".join(map(re.escape, sorted(listed, key=len, reverse=True)))
        # A model's name may hold the sign that separates the parts.
        pattern += re.escape(template[end : part.start()])
        pattern += f"(?P<p{number}>{options or ('.+' if part[1] == 'model' else '.+?')})"
        end = part.end()
    return pattern + re.escape(template[end:])
