"""Which extra of the package provides a library that is not installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

#: Import names of libraries, if they differ from their names on the package index.
_IMPORTED_AS = {"quarto-cli": "quarto", "pyyaml": "yaml"}
# Collections of other extras, and extras for development only.
_COLLECTIONS = ("all", "benchmarks", "dev")


def extra_of(module: str) -> str | None:
    """Name the extra that installs a module.

    Parameters
    ----------
    module : str
        The imported name, e.g. ``"nltk.stem"``.

    Returns
    -------
    str or None
        The extra; None if no extra installs the module.

    Examples
    --------
    >>> extra_of("bm25s"), extra_of("nltk.stem"), extra_of("json")
    ('retrieval', 'audit', None)
    """
    try:
        requirements = requires("fairstats") or []
    except PackageNotFoundError:
        return None
    for requirement in requirements:
        found = re.match(r"([\w.-]+).*; *extra *== *['\"](\w+)['\"]", requirement)
        if found is None or found[2] in _COLLECTIONS:
            continue
        name = _IMPORTED_AS.get(found[1].lower(), found[1].replace("-", "_"))
        if name.lower() == module.partition(".")[0].lower():
            return found[2]
    return None


def how_to_install(module: str) -> str | None:
    """Return how to install a missing module; None if no extra provides it."""
    extra = extra_of(module)
    return None if extra is None else f"install it: pip install 'fairstats[{extra}]'"
