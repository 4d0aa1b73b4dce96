"""Reading vignettes: each layout, and all faults of a file."""

import shutil

import pytest

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import read_vignettes


def test_a_benchmark_that_ships_its_vignettes_is_read_by_name():
    found = read_vignettes("demo")
    assert len(found.items) == 24
    assert found.path.name == "demo.items.jsonl"
    assert len(list(found.variants())) == 24 * 6


def test_json_lines_use_the_declaration_next_to_them(tmp_path):
    declared = load_benchmark("demo")
    items = tmp_path / "mine.jsonl"
    shutil.copy(declared.items_file, items)
    with pytest.raises(InputError, match="no benchmark declares the groups of these items"):
        read_vignettes(items)
    assert len(read_vignettes(items, benchmark="demo").items) == 24
    text = declared.path.read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace('"demo', '"mine').replace("mine.items.jsonl", "mine.jsonl"), encoding="utf-8"
    )
    assert read_vignettes(items).path == items


def test_a_benchmark_without_a_neutral_vignette_is_refused(tmp_path):
    declared = load_benchmark("demo")
    text = declared.path.read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(
        text[: text.index("[attributes.baseline]")]
        .replace('"demo', '"mine')
        .replace("mine.items.jsonl", "mine.jsonl"),
        encoding="utf-8",
    )
    shutil.copy(declared.items_file, tmp_path / "mine.jsonl")
    with pytest.raises(InputError, match=r"attributes\.baseline: has no neutralized variants"):
        read_vignettes(path)


def test_a_built_in_benchmark_without_its_text_is_refused():
    with pytest.raises(InputError, match="shipped without"):
        read_vignettes("fairmedqa")


def test_the_released_items_are_read(shared_data):
    found = read_vignettes(shared_data("amqa") / "items.parquet")
    assert found.benchmark.name == "fairmedqa"
    assert len(found.items) == 801
    assert {item.item_id: item.answer_key for item in found.items} == dict(
        found.benchmark.answer_keys
    )
