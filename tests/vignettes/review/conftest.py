"""A review from assignment to consensus, in one call each."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fairstats.vignettes.building.folder import read_built
from fairstats.vignettes.review.assigning import assign_review, next_round
from fairstats.vignettes.review.importing import import_review
from fairstats.vignettes.review.rounds import decisions, read_review
from tests.vignette_builds import built_folder, hand_in, reviewers


@pytest.fixture
def study(tmp_path: Path) -> SimpleNamespace:
    """A build, with short names for its review steps."""
    folder = tmp_path / "build"

    def build(**given):
        built_folder(folder, **given)

    def assign(number=4, **options):
        return assign_review(folder, reviewers(tmp_path / "raters.csv", number), **options)

    def judge(assigned, says=None, name="in", **options):
        given = hand_in(assigned, tmp_path / name, **({"says": says} if says else {}), **options)
        return import_review(folder, [given])

    def decided():
        return decisions(read_review(read_built(folder))).set_index(
            ["item_id", "attribute", "group"]
        )

    return SimpleNamespace(
        folder=folder,
        build=build,
        assign=assign,
        judge=judge,
        decided=decided,
        consensus=lambda **options: next_round(folder, **options),
        review=lambda: read_review(read_built(folder)),
    )
