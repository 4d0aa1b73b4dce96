"""Draw the pictures of the gallery: run the code of gallery.md.

Run from the checkout: python docs/build_gallery.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairstats

PAGE = Path(__file__).with_name("gallery.md")
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n!\[[^]]*\]\((gallery/[\w-]+\.png)\)", re.S)
_DPI = 100


def examples() -> Iterator[tuple[str, str]]:
    """Yield the code of each picture of the gallery, and the picture's path."""
    yield from _EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))


def drawn(code: str, names: dict[str, Any]) -> Any:
    """Run an example and return its last expression, the plot."""
    *first, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line of an example must be the plot")
    exec(compile(ast.Module(first, []), str(PAGE), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)


def build(folder: Path) -> list[Path]:
    """Draw every picture below a folder and return their paths."""
    names: dict[str, Any] = {"fairstats": fairstats}
    made = []
    for code, picture in examples():
        path = folder / picture
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn(code, names).save(path, dpi=_DPI, verbose=False)
        made.append(path)
    return made


if __name__ == "__main__":
    for path in build(PAGE.parent):
        sys.stdout.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")
