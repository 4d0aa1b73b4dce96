"""Get the released BiasMedQA replies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fairstats_collectors.listed_files import (
    Fetched,
    ListedFile,
    fetch_listed,
    listed_file,
    read_list,
)


def released_replies() -> dict[Path, ListedFile]:
    """Return the listed files that can be imported, by their paths in the fetched folder.

    Each is in the folder of its model, from which `import_biasmedqa` takes the model's name.
    """
    files = map(listed_file, read_list("biasmedqa.csv"))
    return {Path(one.repository.split("/")[1], *one.path.split("/")[-2:]): one for one in files}


def fetch_biasmedqa(
    out: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Fetched:
    """Copy or download every listed file of replies into the folder of its model.

    Parameters and errors are those of `fairstats_collectors.listed_files.fetch_listed`.
    """
    return fetch_listed(released_replies(), out, source=source, say=say)
