"""Reading the folder of a build, and all possible faults of it."""

from __future__ import annotations

import json

import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.building.built_benchmark import read_built
from tests.vignette_builds import ATTRIBUTES, built_folder


def refused(folder, match):
    with pytest.raises(InputError, match=match):
        read_built(folder)


def test_a_build_of_no_item_can_be_read(tmp_path):
    built = read_built(built_folder(tmp_path / "build", items=0))
    assert built.items == {}
    assert built.complete == ()
    assert [one["kept"] for one in built.filtered] == [False, False]


def test_built_benchmark_is_read(tmp_path):
    built = read_built(built_folder(tmp_path / "build"))
    assert built.name == "built"
    assert list(built.items) == ["demo-01", "demo-02", "demo-03"]
    assert built.complete == ("demo-01", "demo-02", "demo-03")
    assert built.groups[:3] == (("race", "white"), ("race", "black"), ("sex", "male"))
    assert built.kept(("demo-01", "race", "white"))
    assert not built.kept(("demo-09", "race", "white"))


@pytest.mark.parametrize(
    "changes", [{"kept": False}, {"text": None, "kept": True}, {"text": "", "outcome": "failed"}]
)
def test_item_with_a_dropped_variant_is_incomplete(tmp_path, changes):
    one = ("demo-02", "ses", "high_income")
    folder = built_folder(tmp_path / "build", variant=lambda key: changes if key == one else {})
    assert read_built(folder).complete == ("demo-01", "demo-03")


def test_kept_variants_count_with_any_answer(tmp_path):
    said = lambda key: {"outcome": "unread"}  # noqa: E731
    assert len(read_built(built_folder(tmp_path / "build", variant=said)).complete) == 3


@pytest.mark.parametrize("name", ["items.jsonl", "variants.jsonl", "filtered.csv"])
def test_a_missing_file_is_named(tmp_path, name):
    folder = built_folder(tmp_path / "build")
    (folder / name).unlink()
    refused(folder, f"{name}: no such file")


def test_other_folder_is_refused(tmp_path):
    refused(tmp_path, r"contains no build.json; give the folder")
    refused(tmp_path / "none", "contains no build.json")
    (tmp_path / "build.json").write_text("[]")
    refused(tmp_path, "must be an object")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"keep": "any"}, "keep = 'any': is unknown"),
        ({"name": "demo"}, "is a built-in benchmark"),
        ({"name": "../x"}, "is not a valid file name"),
        ({"title": 1}, "title: must be text"),
        ({"options": "ABCD"}, "options: must be a list of letters"),
        ({"agents": []}, "agents: must be a table of stages"),
        ({"agents": {"filter": "m"}}, "agents: must be a table of stages"),
        ({"attributes": []}, "must be an attribute with groups"),
        ({"attributes": {"race": None}}, r"attributes\.race: must be an attribute with groups"),
        ({"attributes": {"baseline": ATTRIBUTES["race"]}}, "must be an attribute with groups"),
        ({"attributes": {"race": {"groups": {}}}}, "needs label and pairs"),
        (
            {"attributes": {"a": ATTRIBUTES["race"], "b": ATTRIBUTES["race"]}},
            "group of another attribute",
        ),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(tmp_path, changes, match):
    folder = built_folder(tmp_path / "build", items=0)
    path = folder / "build.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    refused(folder, match)


@pytest.mark.parametrize("name", ["name", "keep", "attributes", "options", "agents", "licence"])
def test_a_declaration_that_lacks_something_is_refused(tmp_path, name):
    folder = built_folder(tmp_path / "build", items=0)
    path = folder / "build.json"
    declared = json.loads(path.read_text())
    del declared[name]
    path.write_text(json.dumps(declared))
    refused(folder, f"{name}: is missing")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"item_id": "demo-02"},
            "row 2: item_id = 'demo-02': is not a valid name",
        ),
        ({"item_id": " x"}, "is not a valid name"),
        ({"options": {"A": "x"}}, "must have the letters A, B, C, D"),
        ({"options": dict.fromkeys("ABCD", 1)}, "must contain only text"),
        ({"answer_key": "E"}, "must be one of the options"),
        ({"original": None}, "original: must be text"),
        ({"neutralized": "\ud800"}, "neutralized: is not valid Unicode text"),
    ],
)
def test_an_item_that_cannot_be_used_is_refused(tmp_path, changes, match):
    folder = built_folder(
        tmp_path / "build", item=lambda item_id: changes if item_id == "demo-01" else {}
    )
    refused(folder, match)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"item_id": "demo-09"}, "is not a neutralized item"),
        ({"group": "male"}, "group = 'race, male': is not declared"),
        ({"group": "black"}, "has two variants for race, black"),
        ({"text": 3}, "text: must be text that is not too long"),
        ({"outcome": "fine"}, "outcome = 'fine': must be one of as intended"),
        ({"kept": None}, "kept: must be true or false"),
        ({"problems": "none"}, "must be a list"),
    ],
)
def test_a_variant_that_cannot_be_used_is_refused(tmp_path, changes, match):
    one = ("demo-01", "race", "white")
    folder = built_folder(tmp_path / "build", variant=lambda key: changes if key == one else {})
    refused(folder, match)


def test_unclear_filter_line_is_refused(tmp_path):
    folder = built_folder(tmp_path / "build")
    (folder / "filtered.csv").write_text("item_id,kept\ndemo-01,perhaps\n")
    refused(folder, "kept = 'perhaps': must have item_id and kept")
