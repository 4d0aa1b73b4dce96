"""The text of a problem, and how many problems a message shows."""

from __future__ import annotations

import pytest

from fairstats._lib.problems import InputError, Problem, in_lines


def test_a_problem_names_file_row_column_value_and_remedy():
    problem = Problem(
        "a.csv", "no such group", "use one of: white, black", row=3, column="group", value="wite"
    )
    said = "a.csv: row 3: group = 'wite': no such group; use one of: white, black"
    assert str(problem) == said


def test_unknown_parts_are_left_out():
    assert str(Problem("a.csv", "empty", "fill it")) == "a.csv: empty; fill it"
    said = str(Problem("a.csv", "empty", "fill it", column="group"))
    assert said == "a.csv: group: empty; fill it"


def test_a_long_value_is_cut_and_its_control_characters_are_not_printed():
    said = str(
        Problem(
            "a.csv", "too long", "cut it", row=1, column="model", value="\x1b[2J\n" + "x" * 5000
        )
    )
    assert len(said) < 400
    assert said.isprintable()
    assert "…" in said


@pytest.mark.parametrize(("length", "shown"), [(240, "x" * 240), (241, "x" * 239 + "…")])
def test_value_is_cut_beyond_240_characters(length, shown):
    said = str(Problem("a.csv", "too long", "cut it", column="model", value="x" * length))
    assert said == f"a.csv: model = '{shown}': too long; cut it"


def test_a_hostile_column_name_is_cut_and_its_control_characters_are_not_printed():
    said = str(Problem("a.csv", "unknown column", "drop it", column="\x1b[2J\n" + "x" * 5000))
    assert len(said) < 400
    assert said.isprintable()


def test_an_error_shows_the_first_problems_and_keeps_all():
    problems = [Problem("a.csv", f"fault {i}", "correct it", row=i) for i in range(1, 26)]
    error = InputError(problems)
    assert error.problems == tuple(problems)
    assert str(error).splitlines()[0] == str(problems[0])
    assert len(str(error).splitlines()) == 11
    assert str(error).endswith("... and 15 more")
    assert isinstance(error, ValueError)


def test_error_with_all_problems_does_not_mention_more():
    assert str(InputError([Problem("a", "b", "c")])) == "a: b; c"


def test_many_problems_with_one_remedy_are_not_all_listed():
    """A column that tells rows apart may be unused, and then every row repeats another one."""
    twice = [
        Problem("a.csv", f"the same answer is in row {i}", "delete one", row=i + 1, column="key")
        for i in range(1, 3002)
    ]
    other = Problem("a.csv", "empty", "fill it", column="group")
    *lines, last, more = in_lines([*twice, other])
    assert lines == [str(problem) for problem in twice[:10]]
    assert last == str(other)
    assert more == "a.csv: key: 2,991 more like these; delete one"
