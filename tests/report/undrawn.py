"""Releases without pages, for tests of the data: drawing takes time."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest

import fairstats.publishing.publish
from fairstats.answers.files import RETRIEVALS_SUFFIX, write_answers
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES
from fairstats.report.site_pages import PAGES
from fairstats.retrieval.retrievals_table import write_retrievals

from .changes import declared_successors

#: Tables that leaderboards, the pages of models and audit reports do not read.
_UNREAD = {"vignette_findings", "item_gaps", "votes", "overlap", "retrieval_effects"}


def undrawn(
    answers: pd.DataFrame,
    folder: Path,
    *,
    retrievals: pd.DataFrame | None = None,
    every: bool = False,
    successors: dict[str, str] | None = None,
    **options: Any,
) -> Release:
    """Publish answers as a release with an empty site; options as for `fairstats.publish`.

    `successors` gives the older model of each newer one.

    The release lacks tables that few pages read, and the files that are not pages, unless `every`
    is true.
    """

    def render(release, *, site, pdf, renderer, watch):
        assert site.is_dir()
        return "nothing"

    source = write_answers(answers, folder / "in" / "answers.parquet")
    if retrievals is not None:
        write_retrievals(retrievals, source.with_name(f"all{RETRIEVALS_SUFFIX}"))
    tables: Any = TABLES
    # Restores their order too, which pages show.
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(tables):
        patch.setattr(fairstats.publishing.publish, "render", render)
        if not every:
            for name in ("write_documents", "assemble"):
                patch.setattr(fairstats.publishing.publish, name, lambda *_: None)
        for name in () if every else _UNREAD.union(RATING_TABLES):
            del tables[name]
        options = {"release": "2026.11"} | options
        if successors:
            options["models"] = declared_successors(folder, **successors)
        return Release(
            fairstats.publishing.publish.publish(source.parent, out=folder / "out", **options).path
        )


def contents(release: Release) -> list[str]:
    """Return the pages of a release, as named in its navigation."""
    return [page.text for page in PAGES if page.has_content(release)]


def whole(answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers with none missing: ranks and comparisons are then exact and fast."""
    missing = answers["answer"].isna()
    return answers.assign(
        answer=answers["answer"].mask(missing, "A"), status=answers["status"].mask(missing, "ok")
    )
