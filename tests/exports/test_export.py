"""The list of export formats."""

from __future__ import annotations

from fairstats.exports.export import EXPORTS


def test_every_format_is_loaded_by_its_name():
    assert list(EXPORTS) == ["croissant", "eee", "hf", "latex", "xlsx"]
    assert all(callable(export.load(name)) for name, export in EXPORTS.items())
