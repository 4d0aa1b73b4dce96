"""What a submitter declares: explained keys, and a problem for each wrong value."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

from fairstats._lib.problems import InputError
from fairstats.submissions.declaration import KEYS, declaration_text, empty_keys, parse_declaration
from tests.submission_files import FACTS

PATH = Path("submission.toml")
WHOLE = FACTS | {"model": "m", "files": {"a.parquet": "1" * 64}, "settings": {"temperature": 0.5}}


def problems_of(**changed) -> list[str]:
    try:
        parse_declaration({k: v for k, v in (WHOLE | changed).items() if v is not ...}, PATH)
    except InputError as error:
        return list(map(str, error.problems))
    return []


def test_written_declaration_is_read_again():
    text = declaration_text(WHOLE)
    found = parse_declaration(tomllib.loads(text), PATH)
    assert found.model_dump() == WHOLE | {"chosen_by": ""}
    assert all(f"# {about}" in text for about in KEYS.values())


def test_texts_with_quotes_and_other_scripts_are_read_again():
    values = WHOLE | {"submitter": 'Æ "Q" \\ 研究', "settings": {"a b.c": "x = 1"}}
    found = parse_declaration(tomllib.loads(declaration_text(values)), PATH)
    assert found.submitter == values["submitter"]
    assert found.settings == values["settings"]


def test_missing_values_are_written_empty_and_each_is_reported():
    declared = tomllib.loads(declaration_text({"model": "m", "prompts": {"plain": ""}}))
    with pytest.raises(InputError) as error:
        parse_declaration(declared, PATH)
    named = [problem.column for problem in error.value.problems]
    assert sorted(named) == sorted(empty_keys({"model": "m", "prompts": {"plain": ""}}))
    assert {problem.message for problem in error.value.problems} == {"is empty"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"submitter": ...}, "submitter: is missing; write it: who sends these answers"),
        ({"submitter": "  "}, "submitter: is empty"),
        ({"settings": {"a": float("nan")}}, "settings.a = 'nan': is not a number that"),
        ({"settings": {"a": float("-inf")}}, "settings.a = '-inf': is not a number that"),
        ({"settings": {"a": 10**400}}, "settings.a = '1000"),
        ({"submitter": "a\nb"}, "submitter = 'a\\nb': has characters that cannot be printed"),
        ({"submitter": "a\u202eb"}, "has characters that cannot be printed"),
        ({"provider": "x" * 501}, "provider = 'xxx"),
        ({"attempts": 0}, "attempts = '0': should be greater than or equal to 1"),
        ({"attempts": 1.5}, "attempts = '1.5': should be a valid integer"),
        ({"attempts": True}, "attempts = 'True': should be a valid integer"),
        ({"attempts": "3"}, "attempts = '3': should be a valid integer"),
        ({"attempts": 3}, "chosen_by: is empty, but there were 3 runs"),
        ({"ended": date(2026, 11, 1)}, "ended = '2026-11-01': is before 2026-11-02"),
        ({"started": "2026-11-02"}, "started = '2026-11-02': should be a valid date"),
        ({"ended": date(2999, 1, 1)}, "is in the future"),
        ({"prompts": {"plain": "abc"}}, "prompts.plain = 'abc': is not a sha256"),
        ({"prompts": {}}, "prompts: is empty"),
        ({"files": {}}, "files: is empty"),
        ({"files": {"a.parquet": "not known"}}, "files.a.parquet = 'not known': is not a sha256"),
        ({"settings": {"stop": ["a"]}}, "settings.stop = \"['a']\""),
        ({"submiter": "x"}, "submiter: unknown key; did you mean submitter?"),
    ],
)
def test_each_wrong_value_is_reported_with_its_key(changed, expected):
    (problem,) = problems_of(**changed)
    assert problem.startswith("submission.toml: ")
    assert expected in problem


def test_prompts_may_be_declared_as_not_known():
    assert problems_of(prompts={"plain": "not known"}) == []
