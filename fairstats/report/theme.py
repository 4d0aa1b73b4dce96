"""The pages' style sheet, from their SCSS theme.

The built-in renderer has no Sass. So the theme uses only a part of SCSS that Sass reads the same
way: comments, and global variables. The rest is CSS, nested rules included.
"""

from __future__ import annotations

import re
from pathlib import Path

from fairstats._lib.problems import InputError, Problem

_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=[\s;{}]))//[^\n]*", re.DOTALL | re.MULTILINE)
_VARIABLE = re.compile(r"^\$([\w-]+)[ \t]*:([^;{}]*?)(!default)?[ \t]*;", re.MULTILINE)
_USE = re.compile(r"#\{[ \t]*\$([\w-]+)[ \t]*\}|\$([\w-]+)")
_SASS_ONLY = re.compile(
    r"@(use|forward|import|function|mixin|include|extend|if|else|each|for|while)\b"
)


def style_sheet(theme: Path) -> str:
    """Return the CSS of an SCSS theme.

    Parameters
    ----------
    theme : Path
        The theme, with its variables before their use.

    Raises
    ------
    InputError
        When the theme uses a variable that it does not define, or a rule of Sass.

    Examples
    --------
    >>> import tempfile
    >>> theme = Path(tempfile.mkdtemp()) / "theme.scss"
    >>> _ = theme.write_text("$ink: #123 !default; // text\\nbody { color: $ink; --ink: #{$ink} }")
    >>> print(style_sheet(theme), end="")
    body { color: #123; --ink: #123 }
    """
    text = _COMMENT.sub("", theme.read_text(encoding="utf-8"))
    if rule := _SASS_ONLY.search(text):
        remedy = "use variables and plain CSS only: the built-in renderer has no Sass"
        raise InputError([Problem(str(theme), f"has the Sass rule {rule[0]}", remedy)])
    values: dict[str, str] = {}

    def used(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in values:
            message, remedy = f"uses ${name}, which it does not define", f"add ${name}: …; above"
            raise InputError([Problem(str(theme), message, remedy)])
        # As in Sass, text that #{} puts in loses its quotes.
        return values[name] if match[2] else re.sub("[\"']", "", values[name])

    for name, value, default in _VARIABLE.findall(text):
        if not (default and name in values):
            values[name] = _USE.sub(used, value.strip())
    rules = _USE.sub(used, _VARIABLE.sub("", text))
    return "\n".join(line for line in rules.splitlines() if line.strip()) + "\n"
