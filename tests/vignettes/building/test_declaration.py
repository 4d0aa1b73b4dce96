"""The file of a build: its valid content, and the messages for faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fairstats_collectors.ask_tasks import connect

from fairstats._lib.problems import InputError
from fairstats.benchmarks.benchmark_files import toml_text
from fairstats.vignettes.building import folder
from fairstats.vignettes.building.attempts import OUTCOMES
from fairstats.vignettes.building.declaration import STAGES, load_build
from tests.vignettes.building.scripted import DIRECTED, declared

URL = "http://127.0.0.1:1/v1"


def load(folder, changes=None):
    path = folder / "build.toml"
    path.write_text(toml_text(declared(URL, **changes or {})), encoding="utf-8")
    return load_build(path, connect)


def test_a_declaration_is_read_with_its_defaults(tmp_path):
    build = load(tmp_path, DIRECTED)
    assert (build.generator, build.keep, build.rounds) == ("agents", "sound", 3)
    assert (build.filter_ask, build.sees_options) == ("doubtful", False)
    assert build.items == tmp_path / "items.jsonl"
    assert build.description == build.title
    assert build.directions == {"white": "favourable", "black": "unfavourable"}
    assert build.attributes[0].pairs == (("white", "black"),)
    assert build.agents["fuse"].options["max_tokens"] == 2000
    assert set(load(tmp_path).directions.values()) == {"neutral"}


def test_undeclared_stages_query_no_model(tmp_path):
    build = load(tmp_path, {"filter": None, "neutralize": None, "fuse": None})
    assert [stage for stage, agent in build.agents.items() if agent.asks] == [
        "generate",
        "validate",
    ]
    assert build.filter_ask == "none"


def test_an_intersection_is_declared_as_in_a_benchmark(tmp_path):
    sex = {
        "label": "Sex",
        "groups": {"male": "Male", "female": "Female"},
        "pairs": [["male", "female"]],
        "words": {"male": ["male"], "female": ["female"]},
    }
    cells = {f"{r}_{s}": [r, s] for r in ("white", "black") for s in ("male", "female")}
    both = {
        "label": "Race and sex",
        "groups": {name: name for name in cells},
        "pairs": [["white_male", "black_female"]],
        "crosses": ["race", "sex"],
        "levels": cells,
        "words": {name: [" ".join(cell)] for name, cell in cells.items()},
    }
    build = load(tmp_path, {"attributes.sex": sex, "attributes.race_sex": both})
    assert build.attributes[2].crosses == ("race", "sex")
    with pytest.raises(InputError, match="cross two other attributes"):
        load(tmp_path, {"attributes.race_sex": both})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": None}, "name: is missing; add it"),
        ({"name": " "}, "name = ' ': must be one line of text"),
        ({"name": "a/b"}, "name = 'a/b': is not a valid file name"),
        ({"name": "demo"}, "name = 'demo': is a built-in benchmark"),
        ({"title": "two\nlines"}, ": must be one line of text"),
        ({"items": None}, "items: is missing; add it"),
        ({"itmes": "a.jsonl"}, "itmes: unknown key; did you mean items?"),
        ({"keep": "best"}, "keep = 'best': is unknown; use one of sound, as intended"),
        ({"generator": "hand"}, "generator = 'hand': is unknown"),
        ({"rounds": 4}, "rounds = '4': must be a number of rounds; use 1 to 3"),
        ({"rounds": 0}, "rounds = '0': must be"),
        ({"rounds": True}, "rounds = 'True': must be"),
        ({"attributes": None}, "attributes: is missing; add it"),
        ({"attributes": {}}, "attributes: must declare at least one"),
        ({"attributes.race.label": None}, "attributes.race.label: is missing; add it"),
        (
            {"attributes.race.groups": {"white": "White"}, "attributes.race.pairs": []},
            "two or more groups",
        ),
        ({"attributes.race.pairs": None}, "attributes.race.pairs: is missing; add it"),
        ({"attributes.race.pairs": [["white", "green"]]}, "race.pairs = 'green': unknown group"),
        ({"attributes.race.words": None}, "attributes.race.words: is missing; add it"),
        ({"attributes.race.words": {}}, "attributes.race.words.white: must name the group"),
        ({"attributes.race.words.white": []}, "attributes.race.words.white: must name"),
        ({"attributes.race.words.green": ["a"]}, "attributes.race.words.green: is not one of"),
        ({"attributes.race.directions": {"white": "up"}}, "directions.white = 'up': is unknown"),
        (
            {"attributes.race.directions": "up"},
            "attributes.race.directions: has the wrong type; write a table of texts",
        ),
        ({"attributes.race.colour": "x"}, "attributes.race.colour: unknown key; known keys: "),
        ({"attributes.race.pair": "x"}, "attributes.race.pair: unknown key; did you mean pairs?"),
        ({"attributes.race": "x"}, "attributes.race: has the wrong type; write a table"),
        (
            {"attributes.baseline": declared(URL)["attributes"]["race"]},
            "attributes.baseline: is not a valid",
        ),
        ({"filter.ask": "some"}, "filter.ask = 'some': is unknown"),
        ({"filter": {"model": "none", "ask": "all"}}, 'filter.model: ask = "all" needs a model'),
        ({"filter": "tiny"}, "filter: has the wrong type; write a table"),
        ({"fuse.model": None}, "fuse.model: is missing; add it"),
        ({"fuse.temperatur": 1}, "fuse.temperatur: unknown key; did you mean temperature?"),
        ({"fuse.temperature": "hot"}, "fuse.temperature: has the wrong type; write a number"),
        ({"fuse.price": [1]}, "fuse.price: has the wrong type; write a pair of numbers"),
        ({"fuse.base_url": "host"}, "fuse.base_url = 'host': must be an address"),
        ({"fuse.max_tokens": 0}, "fuse: max_tokens=0: must be at least 1"),
        ({"fuse.max_cost": 1.0}, "fuse: max_cost=1.0: the price of tiny is unknown"),
        ({"fuse.sees_options": True}, "fuse.sees_options: unknown key"),
        (
            {"generate.sees_options": "yes"},
            "generate.sees_options: has the wrong type; write true or false",
        ),
        ({"generate": {"model": "none"}}, "generate.model: is missing"),
        ({"generate": None}, "generate.model: is missing"),
        ({"generator": "substitute"}, 'generate: is not used with generator = "substitute"'),
        ({"validate": None}, "validate: is missing"),
        (
            {"validate": {"model": "none"}, "keep": "as intended"},
            'validate.model: keep = "as intended" needs a model\'s answers',
        ),
    ],
)
def test_fault_in_a_declaration_is_named(tmp_path, changes, said):
    with pytest.raises(InputError) as raised:
        load(tmp_path, changes)
    assert said in "\n".join(map(str, raised.value.problems))
    assert all(problem.path.endswith("build.toml") for problem in raised.value.problems)


def test_two_groups_of_one_name_are_refused(tmp_path):
    race = declared(URL)["attributes"]["race"]
    with pytest.raises(InputError, match=r"attributes\.other\.groups\.white: is already the name"):
        load(tmp_path, {"attributes.other": race})


def test_all_faults_are_reported_at_once(tmp_path):
    with pytest.raises(InputError) as raised:
        load(tmp_path, {"title": None, "rounds": 9, "fuse.rpm": "x", "attributes.race.words": None})
    assert len(raised.value.problems) == 4


def test_settings_without_effect_on_replies_do_not_change_the_hash(tmp_path):
    before = load(tmp_path).sha256
    assert load(tmp_path, {"fuse.concurrency": 2, "fuse.timeout": 9.5}).sha256 == before
    for changes in (
        {"fuse.temperature": 0.5},
        {"fuse.model": "other"},
        {"rounds": 2},
        {"filter.ask": "all"},
        {"generate.sees_options": True},
        DIRECTED,
        {"attributes.race.words.white": ["white"]},
    ):
        assert load(tmp_path, changes).sha256 != before, changes


def test_the_declaration_of_the_documents_can_be_read(tmp_path):
    text = (Path(__file__).parents[3] / "docs" / "building.md").read_text(encoding="utf-8")
    (declaration,) = re.findall(r"(?s)```toml\n(.*?)```", text)
    path = tmp_path / "build.toml"
    path.write_text(declaration, encoding="utf-8")
    build = load_build(path, connect)
    assert build.words["black"] == ("Black", "African American")
    assert [agent.model for agent in build.agents.values() if agent.asks] == [
        *["GPT-4.1"] * 3,
        "llama3.1",
    ]
    # Every column and file is described.
    files = (*folder.FILES, folder.BUILD)
    for name in (*files, *OUTCOMES, *STAGES):
        assert name in text or name.capitalize() in text, name
