"""Files that declare successors, and the checks of the models in them."""

from __future__ import annotations

import re

import pytest

from fairstats._lib.problems import InputError
from fairstats.comparisons.successors import (
    facts_of_models,
    known_successors,
    read_overruled,
    read_successors,
    successors_of,
)


def file_of(folder, **older: str):
    path = folder / "models.toml"
    tables = (f'[models."{new}"]\nsuccessor_of = "{old}"\n' for new, old in older.items())
    path.write_text("".join(tables), encoding="utf-8")
    return path


def test_file_gives_the_older_model_of_each(tmp_path):
    path = file_of(tmp_path, B="A", C="B")
    assert read_successors(path) == {"B": "A", "C": "B"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.B]\nsuccesor_of = 'A'", "did you mean successor_of?"),
        ("[models.B]", "models.B: declares nothing; add one of successor_of, family"),
        ("[models.B]\nsuccessor_of = 4", "models.B.successor_of: has the wrong type"),
        ("[models.B]\nsuccessor_of = ''", "models.B.successor_of"),
        ("[model.B]\nsuccessor_of = 'A'", "did you mean models?"),
        ("", "the file is empty"),
    ],
)
def test_wrong_key_is_named_with_a_remedy(tmp_path, text, message):
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_successors(path)


def test_file_gives_the_reasons_for_overruled_models(tmp_path):
    path = file_of(tmp_path, B="A")
    assert read_overruled(path) == {}
    path.write_text('[overrule]\n"B-chat" = "A copy of B."\n')
    assert read_overruled(path) == {"B-chat": "A copy of B."}
    assert read_successors(path) == {}
    path.write_text("[overrule]\nB = 4\n")
    with pytest.raises(InputError, match=r"overrule\.B: has the wrong type"):
        read_overruled(path)


@pytest.mark.parametrize(
    "older", [{"A": "A"}, {"A": "B", "B": "A"}, {"A": "C", "B": "A", "C": "B"}]
)
def test_model_that_succeeds_itself_is_refused(tmp_path, older):
    with pytest.raises(InputError, match="makes the model a successor of itself") as error:
        read_successors(file_of(tmp_path, **older))
    assert len(error.value.problems) == len(older)


def test_cycle_with_known_successors_is_refused(tmp_path):
    path = file_of(tmp_path, **{"GPT-4.1": "GPT-5"})
    with pytest.raises(InputError, match="successor of itself"):
        successors_of({"GPT-4.1", "GPT-5"}, (), ["fairmedqa"], path)


def test_unknown_models_are_named_with_the_closest_one(tmp_path):
    path = file_of(tmp_path, **{"model-2": "model-l1", "other": "model-2"})
    with pytest.raises(
        InputError, match=r"model-l1 is not a model .*; did you mean model-11\?"
    ) as e:
        successors_of({"model-2", "model-11"}, (), [], path)
    assert len(e.value.problems) == 2


def test_only_successors_in_the_release_are_kept(tmp_path):
    path = file_of(tmp_path, **{"model-2": "model-1", "model-1": "model-0"})
    found = successors_of({"model-2"}, {"model-1", "model-0"}, [], path)
    assert found == {"model-2": "model-1"}


def test_known_successors_are_those_of_a_benchmark(tmp_path):
    known = known_successors(["fairmedqa", "demo"])
    assert known["Claude-4-Sonnet"] == "Claude-3.7-Sonnet"
    assert known_successors(["demo"]) == {}
    declared = file_of(tmp_path, **{"GPT-5": "GPT-5-Mini"})
    found = successors_of({"GPT-5", "GPT-5-Mini"}, (), ["fairmedqa"], declared)
    assert found == {"GPT-5": "GPT-5-Mini", "GPT-5-Mini": "GPT-4.1-Mini"}


def declared(folder, *lines: str):
    path = folder / "models.toml"
    path.write_text("\n".join(['[models."model-2"]', *lines]), encoding="utf-8")
    return path


def test_file_gives_the_facts_of_each_model(tmp_path):
    path = declared(
        tmp_path, 'family = "<b>At|as"', "open = false", 'successor_of = "model-1"', "[models.old]",
        'size = "8B"', "[models.model-1]", 'successor_of = "old"',
    )  # fmt: skip
    found = facts_of_models({"model-2", "model-1"}, {"old"}, path)
    assert found == {"model-2": {"family": "<b>At|as", "open": False}}
    assert read_successors(path) == {"model-2": "model-1", "model-1": "old"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("open = 1", "model-2.open: has the wrong type; write true or false"),
        ("open = 'yes'", "model-2.open: has the wrong type"),
        ("size = 70", "model-2.size: has the wrong type; write a text"),
        ("family = ['Atlas']", "model-2.family: has the wrong type"),
        ("licence = ''", "must be 1 to 60 printable characters"),
        (f"licence = '{'x' * 61}'", "must be 1 to 60 printable characters"),
        ("family = 'Atlas '", "without spaces around them"),
        ("family = 'At\u202elas'", "must be 1 to 60 printable characters"),
        ('licence = "MIT\\nor GPL"', "must be 1 to 60 printable characters"),
        ("license = 'MIT'", "did you mean licence?"),
    ],
)
def test_wrong_fact_is_refused(tmp_path, line, message):
    with pytest.raises(InputError, match=re.escape(message)):
        facts_of_models({"model-2"}, (), declared(tmp_path, line))


def test_facts_of_an_unknown_model_are_refused(tmp_path):
    path = declared(tmp_path, "open = true")
    with pytest.raises(InputError, match=r"model-2 is not a model .*; did you mean model-1\?"):
        facts_of_models({"model-1"}, (), path)
