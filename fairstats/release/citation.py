"""Citation of a release."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairstats._lib.safe_names import WEB_ADDRESS
from fairstats._lib.table_text import yaml_text
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release

#: The author of a release that does not name one.
PUBLISHER = "The publishers of this release"


def citation_cff(
    release: Release, *, publisher: str = PUBLISHER, title: str = "", licence: str = ""
) -> str:
    """Return the citation of a release as a Citation File Format 1.2.0 file (CITATION.cff).

    `publisher` is its author. `title` and `licence` are those of the site; empty if not stated. The
    text is JSON, which is YAML in which no text is parsed as another type.

    References
    ----------
    Druskat et al. (2021), Citation File Format 1.2.0, doi:10.5281/zenodo.5171937.
    """
    benchmarks = release.benchmarks.values()
    content = {
        "cff-version": "1.2.0",
        "message": "If you publish figures from this release, please cite it by name.",
        "type": "dataset",
        "title": f"{title}. {release_title(release)}" if title else release_title(release),
        # The key `license` takes SPDX identifiers only, and a publisher may state any licence.
        **({"abstract": f"Licence: {licence}"} if licence else {}),
        "version": release.name,
        "date-released": str(pd.Timestamp(release.manifest["created_at"]).date()),
        "authors": [{"name": publisher}],
        "identifiers": [
            {
                "type": "other",
                "value": f"sha256:{release.manifest['content']['estimates']}",
                "description": "sha256 of the estimates, as in manifest.json",
            }
        ],
        "references": [
            {
                "type": "software",
                "title": "fairstats",
                "version": str(release.manifest["fairstats"]),
                "authors": [{"name": "The fairstats maintainers"}],
                "license": "GPL-3.0-or-later",
            },
            *map(_reference, benchmarks),
        ],
    }
    return yaml_text(content)


def release_title(release: Release) -> str:
    """Return the title of a release for citations, which names its benchmarks."""
    titles = ", ".join(benchmark.title for benchmark in release.benchmarks.values())
    return f"Leaderboard of {titles}: answers and estimates"


def web_addresses(benchmark: Benchmark) -> list[str]:
    """Return the sources of a benchmark that are web addresses."""
    return [source for source in benchmark.sources if WEB_ADDRESS.fullmatch(source)]


def _reference(benchmark: Benchmark) -> dict[str, Any]:
    """Return a benchmark's reference as declared in its file, including any authors."""
    addresses = web_addresses(benchmark)
    return {
        "type": "data",
        "title": benchmark.title,
        "authors": [{"name": f"The authors of {benchmark.title}"}],
        "notes": f"Cite as: {benchmark.citation}. Licence: {benchmark.licence}",
    } | ({"url": addresses[0]} if addresses else {})
