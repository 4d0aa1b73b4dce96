"""Get the released FairMedQA answer files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fairstats_collectors.amqa import released_archives, released_files
from fairstats_collectors.listed_files import Fetched, fetch_listed


def fetch_fairmedqa(
    out: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Fetched:
    """Copy or download every listed answer file into a folder per repository.

    Parameters and errors are those of `fairstats_collectors.listed_files.fetch_listed`.
    """
    # The file's name, without its folders in the repository or archive.
    listed = {
        Path(one.repository.split("/")[1]) / one.path.rsplit("/", 1)[-1]: one
        for one in released_files()
    }
    return fetch_listed(listed, out, archives=released_archives(), source=source, say=say)
