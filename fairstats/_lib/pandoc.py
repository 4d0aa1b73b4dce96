"""Convert text with pandoc."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def convert(
    text: str, *, source: str, target: str, options: Sequence[str] = (), out: Path | None = None
) -> str:
    """Return text in another of pandoc's formats; empty if it is written to `out`."""
    import pypandoc

    # The formats are known: to check them would start pandoc two more times.
    return str(
        pypandoc.convert_text(
            text,
            target,
            format=source,
            extra_args=options,
            outputfile=None if out is None else str(out),
            verify_format=False,
        )
    )
