"""The conversions of pages by pandoc, each made once in a run of the tests for the same input.

Verifying a release draws the pages of its publication again, and starting pandoc takes longer than
a conversion. All workers share one folder of results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from fairstats._lib.atomic_files import whole_file

#: Options whose value is a file that pandoc reads.
_FILES = ("--template=", "--metadata-file=")
#: With others, the result depends on more files or on the time.
_OPTIONS = ("--standalone", "--css=", "--mathml", "--wrap=none", "--metadata=published")
_FORMATS = ("html", "html5", "typst")


def converted_once(convert: Callable[..., str], folder: Path) -> Callable[..., str]:
    """Return `pypandoc.convert_text`, but reuse stored results."""

    def converted(
        source: str,
        to: str,
        format: str | None = None,
        extra_args: Sequence[str] = (),
        outputfile: str | None = None,
        **others: object,
    ) -> str:
        options = {"format": format, "extra_args": extra_args, "outputfile": outputfile} | others
        if (
            to not in _FORMATS
            or others
            or not all(a.startswith(_FILES + _OPTIONS) for a in extra_args)
        ):
            return convert(source, to, **options)
        path = folder / _digest(source, to, str(format), extra_args)
        if not path.exists():
            text = convert(source, to, format=format, extra_args=extra_args)
            # Another worker may be reading.
            with whole_file(path) as temporary:
                temporary.write_bytes(text.encode())
        text = path.read_bytes().decode()
        if outputfile is None:
            return text
        Path(outputfile).write_bytes(text.encode())
        return ""

    return converted


def _digest(source: str, to: str, format: str, options: Sequence[str]) -> str:
    """Return a hash of everything that a conversion depends on."""
    digest = hashlib.sha256(repr((source, to, format)).encode())
    for option in options:
        name, _, value = option.partition("=")
        # The same template is in another folder for each release.
        content = Path(value).read_bytes() if option.startswith(_FILES) else value.encode()
        digest.update(repr((name, content)).encode())
    return digest.hexdigest()
