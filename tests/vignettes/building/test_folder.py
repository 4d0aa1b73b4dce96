"""Reading the folder of a build, and all possible faults of it."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.building.folder import read_built
from tests.vignette_builds import ATTRIBUTES, built_folder


def refused(folder, match):
    with pytest.raises(InputError, match=match):
        read_built(folder)


def test_a_build_of_no_item_can_be_read(tmp_path):
    built = read_built(built_folder(tmp_path / "build", items=0))
    assert built.items == {}
    assert built.complete == ()
    assert [one.kept for one in built.filtered.values()] == [False, False]


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
    refused(tmp_path, "build.json: has the wrong type; use the folder as")


RACE = ATTRIBUTES["race"]
DECLARATIONS = [
    ({"keep": "any"}, "keep = 'any': is unknown"),
    ({"name": "demo"}, "is a built-in benchmark"),
    ({"name": "../x"}, "is not a valid file name"),
    ({"title": 1}, "title: has the wrong type"),
    ({"options": "ABCD"}, "options: has the wrong type"),
    ({"agents": []}, "agents: has the wrong type"),
    ({"agents": {"filter": "m"}}, "agents.filter: has the wrong type"),
    ({"attributes": []}, "attributes: has the wrong type"),
    ({"attributes": {"race": None}}, "attributes.race: has the wrong type"),
    ({"attributes": {"race": RACE | {"groups": []}}}, "attributes.race.groups: has the wrong type"),
    ({"attributes": {"baseline": RACE}}, "attributes.baseline: is a reserved name"),
    ({"attributes": {"race": {"groups": {}}}}, "attributes.race.label: is missing"),
    ({"attributes": {"race": RACE | {"groups": {" x": "X"}}}}, "is not a valid name"),
    ({"attributes": {"a": RACE, "b": RACE}}, "is also a group of another attribute"),
    ({"attributes": {"a": RACE | {"groups": {"original": "O"}}}}, "group of another attribute"),
    *(
        ({name: None}, f"{name}: (is missing|has the wrong type|is unknown)")
        for name in ("name", "keep", "attributes", "options", "agents", "licence")
    ),
]
ITEMS = [
    ({"item_id": "demo-02"}, "row 2: item_id = 'demo-02': appears twice"),
    ({"item_id": " x"}, "row 1: item_id = ' x': is not a valid name"),
    ({"options": {"A": "x"}}, "options = 'A': must have the letters A, B, C, D"),
    ({"options": dict.fromkeys("ABCD", 1)}, "options.A: has the wrong type"),
    ({"answer_key": "E"}, "answer_key = 'E': must be one of the options"),
    ({"original": None}, "original: has the wrong type"),
    ({"neutralized": "\ud800"}, "neutralized: is not valid Unicode text"),
]
VARIANTS = [
    ({"item_id": "demo-09"}, "item_id = 'demo-09': is not a neutralized item"),
    ({"group": "male"}, "group = 'race, male': is not declared"),
    ({"group": "black"}, "has two variants for race, black"),
    ({"text": 3}, "text: has the wrong type"),
    ({"text": "m" * 60_000}, "must be text that is not too long"),
    ({"outcome": "fine"}, "outcome = 'fine': is unknown"),
    ({"kept": None}, "kept: has the wrong type"),
    ({"problems": "none"}, "problems: has the wrong type"),
]
FILES = [
    *(("build.json", *case) for case in DECLARATIONS),
    *(("items.jsonl", *case) for case in ITEMS),
    *(("variants.jsonl", *case) for case in VARIANTS),
    ("filtered.csv", {"kept": "perhaps"}, "row 1: kept: has the wrong type"),
    ("filtered.csv", {"item_id": None}, "row 1: item_id: has the wrong type"),
]


@pytest.mark.parametrize(("name", "changes", "match"), FILES)
def test_a_changed_file_is_refused_with_the_field(tmp_path, name, changes, match):
    """The first record of a file is changed."""
    folder = built_folder(tmp_path / "build")
    path = folder / name
    if name == "build.json":
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    elif name == "filtered.csv":
        table = pd.read_csv(path, dtype=object)
        table.loc[0, [*changes]] = [*changes.values()]
        table.to_csv(path, index=False)
    else:
        first, rest = path.read_text().split("\n", maxsplit=1)
        path.write_text(json.dumps(json.loads(first) | changes) + "\n" + rest)
    with pytest.raises(InputError, match=match) as caught:
        read_built(folder)
    if "name" not in changes:
        assert {problem.path for problem in caught.value.problems} == {str(path)}
