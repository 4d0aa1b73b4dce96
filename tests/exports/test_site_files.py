"""The exports among the downloads of a published release."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO

import jsonschema

from fairstats.exports.export import EXPORTS
from fairstats.exports.site_files import SITE_FILES
from fairstats.release.contents import DOWNLOADS
from fairstats.report.about.data import show_exports
from fairstats.report.page_output import collected


def test_files_have_the_same_bytes_at_every_call(release):
    for file in SITE_FILES.values():
        assert file.made(release) == file.made(release)


def test_figures_are_valid_without_samples(release, shared_data):
    schema = json.loads(shared_data("formats/eee-eval.schema.json").read_text())
    with zipfile.ZipFile(BytesIO(SITE_FILES["eee.zip"].made(release))) as packed:
        records = [json.loads(packed.read(name)) for name in packed.namelist()]
    assert len(records) == 2
    for record in records:
        jsonschema.Draft7Validator(schema).validate(record)
        assert "detailed_evaluation_results" not in record


def test_page_links_every_file_and_has_the_markup(release):
    with collected() as parts:
        show_exports(release)
    text = "\n".join(parts)
    for name in SITE_FILES:
        assert f"{DOWNLOADS}/{name})" in text
    assert '<script type="application/ld+json">' in text


def test_every_format_is_loaded_by_its_name():
    assert list(EXPORTS) == ["croissant", "eee", "hf", "latex", "xlsx"]
    assert all(callable(export.load(name)) for name, export in EXPORTS.items())
