"""Descriptions for catalogues: Croissant read by its library; schema.org by its keys."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest

from fairstats.exports.catalogues import croissant, dataset_markup, write_croissant
from fairstats.exports.export import Options
from fairstats.release.contents import DOWNLOADS, Release

NO_OPTIONS = Options()


@pytest.fixture
def copied(release: Release, tmp_path) -> Release:
    shutil.copytree(release.path, tmp_path / "release")
    return Release(tmp_path / "release")


def test_croissant_library_accepts_and_reads_a_release(copied, caplog):
    mlcroissant = pytest.importorskip("mlcroissant")
    (path,) = write_croissant(copied, copied.path / DOWNLOADS, NO_OPTIONS)
    dataset = mlcroissant.Dataset(jsonld=path)
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert not caplog.records
    assert dataset.metadata.data_limitations
    read = pd.DataFrame(dataset.records("estimates"))
    assert read["estimates/estimate"].astype(float).equals(copied.estimates["estimate"])
    assert [name.decode() for name in read["estimates/model"]] == copied.estimates["model"].tolist()


def test_croissant_is_valid_in_the_layout_of_the_example(release, shared_data):
    example = json.loads(shared_data("formats/example-croissant.json").read_text())
    written = croissant(release)
    assert set(example) <= set(written)
    assert example["conformsTo"] in written["conformsTo"]
    assert set(example["@context"]) <= set(written["@context"])


def test_croissant_names_files_by_their_web_address_if_it_is_known(release):
    files = croissant(release, "https://example.org/v/2026.11/")["distribution"]
    assert files[0]["contentUrl"] == "https://example.org/v/2026.11/downloads/answers.parquet"


def test_markup_of_the_data_page_is_one_script_of_json(release):
    markup = dataset_markup(release, "../")
    text = re.fullmatch(r'<script type="application/ld\+json">(.*)</script>', markup, re.DOTALL)
    assert text is not None
    assert "<" not in text[1]
    content = json.loads(text[1])
    assert content["@type"] == "Dataset"
    assert 50 <= len(content["description"]) <= 5000
    for file in content["distribution"]:
        assert (release.path / file["contentUrl"].removeprefix("../")).is_file()
