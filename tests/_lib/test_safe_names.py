"""Names that look the same: one spelling when read, and reported if two are on a board."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pandas as pd
import pytest

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import fold_name, same_looking
from fairstats.answers.benchmark_checks import validate_answers, validate_files
from fairstats.answers.engines import scan_answers
from fairstats.answers.files import read_answers, write_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.publishing.publish import publish
from tests.answers.test_answers import rows, save

ACCENTED = "mod\N{LATIN SMALL LETTER E WITH ACUTE}le"
TAU = "GP\N{GREEK CAPITAL LETTER TAU}-4"
SPELLINGS = [
    (f"{ACCENTED} ", ACCENTED),
    (unicodedata.normalize("NFD", ACCENTED), ACCENTED),
    ("\N{NO-BREAK SPACE}GPT-4", "GPT-4"),
    ("\N{FULLWIDTH LATIN CAPITAL LETTER G}PT-4", "GPT-4"),
    ("\N{LATIN SMALL LIGATURE FI}ne", "fine"),
]


@pytest.fixture(scope="module")
def whole(all_right: Callable[[Benchmark], pd.DataFrame], demo: Benchmark) -> pd.DataFrame:
    return all_right(demo)


def of_names(problems: list[Problem]) -> list[Problem]:
    """Return the problems, except those of items that were not asked."""
    return [problem for problem in problems if problem.column != "item_id"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("column", ["model", "strategy", "benchmark_version", "snapshot"])
@pytest.mark.parametrize(("written", "read"), SPELLINGS)
def test_name_is_read_in_its_normal_form(suffix, column, written, read, tmp_path):
    path = save(rows({column: written}, {column: read}), tmp_path / f"a{suffix}")
    assert read_answers(path)[column].tolist() == [read, read]


def test_same_answer_under_two_spellings_is_a_duplicate(tmp_path):
    same = {"item_id": "demo-01"}
    path = save(rows(same | {"model": "m"}, same | {"model": "m "}), tmp_path / "a.csv")
    with pytest.raises(InputError, match="the same answer is in row 1"):
        read_answers(path)


def test_item_ids_are_kept_as_written(tmp_path):
    path = save(rows({"item_id": " 1"}), tmp_path / "a.csv")
    assert read_answers(path)["item_id"].tolist() == [" 1"]


def test_engine_refuses_names_in_another_spelling(tmp_path):
    rows({"model": "m "}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="normal form"):
        scan_answers(tmp_path / "a.parquet", engine="duckdb")
    write_answers(rows({"model": "m "}), tmp_path / "a.parquet")
    assert scan_answers(tmp_path / "a.parquet", engine="duckdb").df()["model"].tolist() == ["m"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-4", TAU),
        ("GPT-4", "GPT-4\N{HANGUL FILLER}"),
        ("GPT-4", "GPT 4"),
        ("GPT-4", "gpt-4"),
        ("GPT-4", "GPT\N{MINUS SIGN}4"),
        ("GPT-4", "GPT\N{EM DASH}4"),
        ("GPT-4", "GPT-4\N{COMBINING LONG STROKE OVERLAY}"),
        ("GPT-4.1", "GPT-4\N{MIDDLE DOT}1"),
        ("GPT-4.1", "GPT-4.l"),
        ("GPT-4.1", "GPT-4.I"),
        ("GPT-4.1", "\ua4d6\ua4d1\ua4d4-4.1"),  # Lisu
        ("GPT-4.1", "\u13c0\u13e2\u13a2-4.1"),  # Cherokee
        ("GPT-4.1", "\N{LATIN SMALL LETTER SCRIPT G}PT-4.1"),
        ("GPT-4.1", "GPT\N{MODIFIER LETTER MINUS SIGN}4.1"),
        ("GPT-4.1", "GPT-4\N{LISU LETTER TONE MYA TI}1"),
        ("GPT-4.1", "GPT-4.1\N{COMBINING ENCLOSING CIRCLE}"),
        ("GPT-4.1", "GP\N{LATIN CAPITAL LETTER T WITH DOT ABOVE}-4.1"),
        ("Gemini", "Gernini"),
        ("MINI", "M\N{CYRILLIC CAPITAL LETTER BYELORUSSIAN-UKRAINIAN I}NI"),
        ("model", "\N{CYRILLIC SMALL LETTER EM}odel"),
        ("GPT-4o", "GPT-40"),
        ("cot", "\N{CYRILLIC SMALL LETTER ES}\N{CYRILLIC SMALL LETTER O}t"),
    ],
)
def test_names_that_look_the_same_are_reported_across_files(one, other, whole, tmp_path):
    column = "strategy" if "cot" in one else "model"
    write_answers(whole.assign(**{column: one}), tmp_path / "a.parquet")
    assert validate_files(tmp_path) == []
    write_answers(whole.assign(**{column: other}), tmp_path / "b.parquet")
    problem = next(p for p in validate_files(tmp_path) if "look the same" in p.message)
    assert problem.column == column
    assert problem.path == f"{tmp_path / 'a.parquet'}, {tmp_path / 'b.parquet'}"
    assert "rename one" in problem.remedy


def test_code_points_of_look_alike_letters_are_named(whole):
    both = pd.concat([whole.assign(model="GPT-4"), whole.assign(model=TAU)])
    posing, same = of_names(validate_answers(both))[0], of_names(validate_answers(both))[-1]
    assert "U+03A4" in posing.message
    assert "U+03A4" in same.message


@pytest.mark.parametrize(
    "name",
    [
        *("GPT-4", "\N{GREEK SMALL LETTER BETA}-model", "\N{CJK UNIFIED IDEOGRAPH-901A} Max"),
        *("СОРЕ-2", "Jais-العربية", "Bjørn-7B", "Việt-7B", "カタカナ-7B", "Русская-7B"),
    ],
)
def test_name_in_one_script_is_valid(name, whole):
    assert validate_answers(whole.assign(model=name)) == []


SMALL = "G\N{LATIN LETTER SMALL CAPITAL P}T-4"


@pytest.mark.parametrize(
    "name", [TAU, SMALL, "GPT-4\N{HANGUL FILLER}", "GPT-4\N{VARIATION SELECTOR-1}"]
)
def test_model_name_that_imitates_another_is_a_problem(name, whole):
    problems = of_names(validate_answers(whole.assign(model=name)))
    assert {problem.column for problem in problems} == {"model"}


def test_models_that_look_the_same_are_not_published(whole, tmp_path):
    write_answers(whole.assign(model="GPT-4"), tmp_path / "a.parquet")
    write_answers(whole.assign(model=TAU), tmp_path / "b.parquet")
    with pytest.raises(InputError) as caught:
        publish(tmp_path, release="1", out=tmp_path / "out")
    assert any("look the same" in problem.message for problem in caught.value.problems)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "sign", ["\N{HANGUL FILLER}", "\N{COMBINING GRAPHEME JOINER}", "\N{BRAILLE PATTERN BLANK}"]
)
def test_invisible_letters_do_not_change_a_name(sign):
    assert fold_name(f"GPT{sign}-4") == "gpt-4"


@pytest.mark.parametrize(
    ("name", "same"),
    [
        *(("GPT\u20114o", True), ("GPT-4\u03bf", True), ("G\u0420T-4o", True), ("gpt-4O", True)),
        *(("GPT--4o", True), ("GPT-4o.", True), ("GPT-4o'", True), ("GPT-4o ()", True)),
        *(("(GPT-4o)", True), ("GPT-4o+", False), ("GPT-4o-mini", False), ("GPT-4o (2)", False)),
    ],
)
def test_look_alike_names_are_the_same(name, same):
    assert same_looking(["GPT-4o", name]) == ([("GPT-4o", name)] if same else [])
