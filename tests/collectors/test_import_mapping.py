"""Importing tables with one row per item and one column per group."""

from __future__ import annotations

import json
import time
import warnings

import pandas as pd
import pytest
from fairstats_collectors import mapping_files
from fairstats_collectors.import_answers import import_table
from fairstats_collectors.mapping_files import ABSENT, found
from typer.testing import CliRunner

from fairstats._lib import untrusted_files
from fairstats._lib.problems import InputError, Note
from fairstats.answers.files import read_answers
from fairstats.cli import app

WIDE = (
    "case,Answer W,Answer B,M,F,note\n"
    "demo-01,C,The best answer is A.,C,,x\n"
    'demo-02,A,"I cannot give medical advice.",(a),B,y\n'
)
RACE = {"white": "Answer W", "black": "Answer B"}


def wide_file(folder, content=WIDE, name="wide.csv"):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def imported(path, wide, **given):
    facts = {"columns": {"item_id": "case"}, "constants": {"model": "m"}} | given
    return import_table(path, benchmark="demo", wide=wide, **facts)


def rows(answers):
    columns = ["item_id", "attribute", "group", "answer", "status"]
    table = answers[columns].astype(object)
    return [tuple(row) for row in table.where(table.notna(), None).to_numpy().tolist()]


def test_each_group_column_gives_one_answer_per_item(tmp_path):
    answers = imported(wide_file(tmp_path), RACE)
    assert rows(answers) == [
        ("demo-01", "race", "white", "C", "ok"),
        ("demo-01", "race", "black", "A", "ok"),
        ("demo-02", "race", "white", "A", "ok"),
        ("demo-02", "race", "black", None, "refused"),
    ]
    # A letter is the answer itself; all other cells are replies, which are stored.
    raw = answers["answer_raw"].astype(object).where(answers["answer_raw"].notna(), None).tolist()
    assert raw == [None, "The best answer is A.", None, "I cannot give medical advice."]
    assert answers["answer_key"].tolist() == ["C", "C", "A", "A"]


def test_wide_table_of_two_attributes_equals_the_long_one(tmp_path):
    answers = imported(wide_file(tmp_path), RACE | {"sex:male": "M", "sex:female": "F"})
    long = (
        "case,group,answer_raw\n"
        "demo-01,white,C\ndemo-01,black,The best answer is A.\n"
        "demo-01,male,C\ndemo-01,female,\n"
        'demo-02,white,A\ndemo-02,black,"I cannot give medical advice."\n'
        "demo-02,male,(a)\ndemo-02,female,B\n"
    )
    path = wide_file(tmp_path, long, "long.csv")
    same = import_table(
        path, benchmark="demo", columns={"item_id": "case"}, constants={"model": "m"}
    )
    assert rows(answers) == rows(same)


def test_values_are_explained_as_in_long_tables(tmp_path):
    path = wide_file(tmp_path, "case,W,B\ndemo-01,3,none\ndemo-02,1,x\n")
    values = {"answer": {"1": "A", "3": "C", "none": ""}}
    answers = imported(path, {"white": "W", "black": "B"}, values=values)
    assert rows(answers) == [
        ("demo-01", "race", "white", "C", "ok"),
        ("demo-01", "race", "black", None, "unparsed"),
        ("demo-02", "race", "white", "A", "ok"),
        ("demo-02", "race", "black", None, "unparsed"),
    ]


def test_group_and_answer_columns_of_a_wide_table_are_ignored(tmp_path):
    content = "case,group,answer,W,B\ndemo-01,asian,Z,C,A\n"
    answers = imported(wide_file(tmp_path, content), {"white": "W", "black": "B"})
    assert answers["group"].tolist() == ["white", "black"]


@pytest.mark.parametrize(
    ("wide", "given", "message"),
    [
        ({"wite": "Answer W"}, {}, "demo has no such group; use one of race:white"),
        ({"sex:white": "Answer W"}, {}, "demo has no such group"),
        ({"white": "M", "race:white": "F"}, {}, "the group is given twice"),
        ({"white": "M", "black": "M"}, {}, "'M' is the column of two groups"),
        ({"white": "Answer X"}, {}, "has no column 'Answer X'; use one of case, Answer W"),
        (
            RACE,
            {"columns": {"item_id": "case", "answer": "M"}},
            "given by the columns of the groups",
        ),
        (
            RACE,
            {"constants": {"model": "m", "group": "white"}},
            "given by the columns of the groups",
        ),
        (RACE, {"columns": {}}, "item_id: is missing from the record"),
    ],
)
def test_invalid_wide_columns_are_refused(tmp_path, wide, given, message):
    with pytest.raises(InputError) as caught:
        imported(wide_file(tmp_path), wide, **given)
    assert message in "\n".join(map(str, caught.value.problems))


def test_group_of_two_attributes_needs_its_attribute(tmp_path, benchmark_file):
    other = (
        '[attributes.family]\nlabel = "Family"\n'
        'groups = { white = "White", black = "Black" }\npairs = [["white", "black"]]'
    )
    path = benchmark_file(baseline=other)
    table = wide_file(tmp_path, "item_id,W,B\ni1,A,B\n")
    facts = {"benchmark": str(path), "constants": {"model": "m"}}
    with pytest.raises(InputError, match="write race:white or family:white"):
        import_table(table, wide={"white": "W"}, **facts)
    answers = import_table(table, wide={"race:white": "W", "family:white": "B"}, **facts)
    assert answers["attribute"].tolist() == ["race", "family"]


def test_invalid_wide_cell_is_named_by_its_column(tmp_path):
    path = wide_file(tmp_path, WIDE.replace("demo-02,A", "demo-02,Z"))
    with pytest.raises(InputError, match=r"row 2: Answer W = 'Z': is not an option letter"):
        imported(path, RACE)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_separators_of_other_countries_are_recognised(tmp_path, separator):
    # There are more commas in the names than separators; they are in quotes.
    content = (
        'case;"Answer, W, first, last";B\ndemo-01;"C, since A, B and D are wrong";A\n;;\n'
    ).replace(";", separator)
    name = "a.tsv" if separator == "\t" else "a.csv"
    wide = {"white": "Answer, W, first, last", "black": "B"}
    assert imported(wide_file(tmp_path, content, name), wide)["answer"].tolist() == ["C", "A"]


def command(tmp_path, path, *wide, out="out", model="m"):
    options = [option for text in wide for option in ("--wide", text)]
    arguments = ["import", "table", str(path), "--benchmark", "demo", "--map", "item_id=case"]
    return CliRunner().invoke(
        app, [*arguments, "--model", model, "--out", str(tmp_path / out), *options]
    )


def test_command_takes_wide_tables_and_adds_to_the_folder(tmp_path):
    path = wide_file(tmp_path)
    done = command(tmp_path, path, "race:white=Answer W,black=Answer B")
    assert done.exit_code == 0, done.output
    # The same model's answers for another attribute, then another model's.
    done = command(tmp_path, path, "sex:male=M", "female=F")
    assert done.exit_code == 0, done.output
    done = command(tmp_path, path, "white=Answer W,black=Answer B", model="n")
    assert done.exit_code == 0, done.output
    answers = read_answers(tmp_path / "out")
    assert answers.groupby(["model", "attribute"]).size().to_dict() == {
        ("m", "race"): 4,
        ("m", "sex"): 4,
        ("n", "race"): 4,
    }
    at_once = imported(path, RACE | {"male": "M", "female": "F"})
    keys = ["item_id", "group"]
    ours = answers[answers["model"] == "m"][at_once.columns]
    pd.testing.assert_frame_equal(
        ours.sort_values(keys, ignore_index=True),
        at_once.sort_values(keys, ignore_index=True),
        check_dtype=False,
    )


def test_existing_answers_are_refused(tmp_path):
    path = wide_file(tmp_path)
    assert command(tmp_path, path, "white=Answer W,black=Answer B").exit_code == 0
    (written,) = (tmp_path / "out").iterdir()
    before = written.read_bytes()
    # The same import again changes nothing; different values for these answers are refused.
    assert command(tmp_path, path, "white=Answer W,black=Answer B").exit_code == 0
    assert written.read_bytes() == before
    for columns in ("white=Answer W", "white=M,male=F"):
        done = command(tmp_path, path, columns)
        assert done.exit_code == 1
        assert "demo, 1, m, plain" in done.output
        assert "import only the others" in done.output
        assert written.read_bytes() == before


def test_models_that_differ_only_in_case_can_be_imported(tmp_path):
    path = wide_file(tmp_path)
    for model in ("Llama", "llama", "LLAMA"):
        done = command(tmp_path, path, "white=Answer W", model=model)
        assert done.exit_code == 0, done.output
    assert command(tmp_path, path, "white=Answer B", model="llama").exit_code == 1
    assert sorted(read_answers(tmp_path / "out")["model"].unique()) == ["LLAMA", "Llama", "llama"]


@pytest.mark.parametrize("text", ["white", "white=", "=A", "race:=A", "white=A,white=B"])
def test_option_must_be_a_pair(tmp_path, text):
    done = command(tmp_path, wide_file(tmp_path), text)
    assert done.exit_code == 1
    assert "--wide: " in done.output


def test_other_formats_refuse_wide_columns(tmp_path):
    arguments = ["import", "lm-eval", "x", "--benchmark", "demo", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*arguments, "--wide", "white=A"])
    assert done.exit_code == 1
    assert "lm-eval: does not accept --wide" in done.output


MAPPING = r"""
benchmark = "demo"
files = "visits*.csv"

[[patterns]]
text = "{id}"
pattern = 'V(?P<visit>\d+)-(?P<kind>[WB+])'

[where]
use = ["yes", "perhaps"]

[set]
item_id = "demo-{visit}"
strategy = "cot"

[map]
snapshot = ["missing", "version"]

[values.answer]
1 = "A"
3 = "C"

[answers]
first = { model = "m-1" }
second = { model = "m-2" }

[[variants]]
where = { kind = ["W", "+"] }
attribute = "race"
group = "white"

[[variants]]
where = { kind = ["B"] }
attribute = "race"
group = "black"

[[variants]]
where = { kind = ["S", "+"] }
attribute = "sex"
group = "male"
"""
VISITS = (
    "id,first,second,use,version\n"
    "V01-W,1,3,yes,v\n"
    "V01-B,3,It is B.,perhaps,v\n"
    "V02-+,A,,yes,v\n"
    "V03-W,1,1,no,v\n"
)


@pytest.fixture
def mapped(tmp_path):
    """Import the table with a changed mapping."""

    def run(table=VISITS, old="", new="", **given):
        assert old in MAPPING
        (tmp_path / "ours.v2.toml").write_text(MAPPING.replace(old, new, 1) if old else MAPPING)
        (tmp_path / "visits-1.csv").write_text(table)
        (tmp_path / "other.csv").write_text("a\n1\n")
        return import_table(tmp_path, layout=tmp_path / "ours.v2.toml", **given)

    return run


def test_no_pattern_runs_for_ever(mapped):
    pattern = "(?:(?P<kind>(?:[VWB0-9+-]+)+)*)*x"
    table = VISITS.replace("V01-W", "V" * 200, 1)
    with pytest.raises(InputError, match="does not match"):
        mapped(table, r"V(?P<visit>\d+)-(?P<kind>[WB+])", pattern)


def test_file_maps_values_variants_and_columns_of_answers(mapped):
    answers = mapped()
    table = answers[["model", "item_id", "group", "answer", "answer_raw", "status"]]
    table = table.astype(object).where(table.notna(), None)
    assert table.to_numpy().tolist() == [
        ["m-1", "demo-01", "white", "A", None, "ok"],
        ["m-2", "demo-01", "white", "C", None, "ok"],
        ["m-1", "demo-01", "black", "C", None, "ok"],
        ["m-2", "demo-01", "black", "B", "It is B.", "ok"],
        ["m-1", "demo-02", "white", "A", None, "ok"],
        ["m-1", "demo-02", "male", "A", None, "ok"],
        ["m-2", "demo-02", "white", None, None, "unparsed"],
        ["m-2", "demo-02", "male", None, None, "unparsed"],
    ]
    facts = answers[["model", "strategy", "snapshot", "collector"]].drop_duplicates()
    assert facts.to_numpy().tolist() == [
        ["m-1", "cot", "v", "ours.v2; answer 1 → A, answer 3 → C"],
        ["m-2", "cot", "v", "ours.v2; answer 3 → C"],
    ]
    assert answers["attribute"].tolist() == [*["race"] * 5, "sex", "race", "sex"]


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        ('strategy = "cot"', 'strategy = "cot"\nanswer = "{first}"', "answer"),
        ("[map]", '[map]\nanswer = "first"', "answer"),
        ("[map]", '[map]\nanswer_raw = "first"', "answer_raw"),
    ],
)
def test_one_field_is_not_the_answer_of_all_columns(mapped, old, new, column):
    """Answers for one group would be those for all, and no answer would change."""
    with pytest.raises(InputError, match="already given by the columns in `answers`") as caught:
        mapped(VISITS, old, new)
    assert [problem.column for problem in caught.value.problems] == [column]


KEYED = "item_id,group,answer_key,reply\ndemo-01,white,C,A\ndemo-01,black,C,B\n"
PART = """
benchmark = "demo"
[[patterns]]
text = "{answer_key}"
pattern = '(?P<letter>.)'
[map]
answer = "letter"
"""


def test_a_part_of_the_key_is_not_an_answer(tmp_path):
    """Every answer would be right."""
    table, layout = wide_file(tmp_path, KEYED, "keyed.csv"), tmp_path / "part.toml"
    layout.write_text(PART)
    facts = {"constants": {"model": "m"}}
    with pytest.raises(InputError, match="also the field of the column answer_key"):
        import_table(table, layout=layout, **facts)
    split = {"split": {"answer_key": "{letter}"}, "columns": {"answer": "letter"}}
    with pytest.raises(InputError, match="also the field of the column answer_key"):
        import_table(table, benchmark="demo", **facts, **split)
    # A text of two fields is another text, and so is the part of another field.
    for text in ("{answer_key}{reply}", "{reply}"):
        pattern = "(?:C)?(?P<letter>[AB])"
        layout.write_text(PART.replace("{answer_key}", text).replace("(?P<letter>.)", pattern))
        assert import_table(table, layout=layout, **facts)["answer"].tolist() == ["A", "B"]


def test_two_options_do_not_become_one(tmp_path):
    """A difference between groups would be gone if `refer` became `admit`."""
    table = wide_file(tmp_path, KEYED, "keyed.csv")
    facts = {"constants": {"model": "m"}, "columns": {"answer": "reply"}}
    message = "the options A and B would become one answer"
    with pytest.raises(InputError, match=message):
        import_table(table, benchmark="demo", values={"answer": {"B": "A"}}, **facts)
    with pytest.raises(InputError, match=message):
        import_table(table, benchmark="demo", values={"answer": {"B": "D", "A": "D"}}, **facts)
    # Letters may have other names, and answers may be declared missing.
    for told, answers in (({"B": "A", "A": "B"}, ["B", "A"]), ({"B": ""}, ["A", None])):
        found = import_table(table, benchmark="demo", values={"answer": told}, **facts)["answer"]
        assert found.astype(object).where(found.notna(), None).tolist() == answers


def test_two_options_of_two_files_do_not_become_one(tmp_path):
    rows = "item_id,attribute,group,reply\n"
    for name, line in (("a", "demo-01,race,white,A"), ("b", "demo-02,race,white,B")):
        (tmp_path / f"{name}.csv").write_text(f"{rows}{line}\n")
    facts = {"constants": {"model": "m"}, "columns": {"answer": "reply"}}
    with pytest.raises(InputError, match="the options A and B would become one answer"):
        import_table(tmp_path, benchmark="demo", values={"answer": {"B": "A"}}, **facts)


@pytest.mark.parametrize(
    ("column", "source", "values"),
    [
        ("answer_raw", "group+reply", {"black+B": "A", "white+A": "A"}),
        ("item_id", "item_id+group", {"demo-01+black": "demo-02", "demo-01+white": "demo-01"}),
    ],
)
def test_translated_replies_and_items_are_counted_and_kept(column, source, values, tmp_path):
    """Replies to one group were made right, and answers those to other items, unnamed."""
    table = tmp_path / "t.csv"
    table.write_text("item_id,group,reply\ndemo-01,white,A\ndemo-01,black,B\n")
    columns = {"answer" if column == "item_id" else "answer_raw": "reply"} | {column: source}
    given = {"constants": {"model": "m"}, "columns": columns, "values": {column: values}}
    with pytest.warns(Note) as notes:
        answers = import_table(table, benchmark="demo", **given)
    for text, meant in values.items():
        assert f"{column} {text!r} → {meant} (1 row)" in str(notes[0].message)
        assert f"{column} {text} → {meant}" in answers["collector"].iloc[0]


def test_translated_answers_are_counted_and_kept(tmp_path):
    rows = ["A", "refused", "no idea", "refused"]
    lines = [f"demo-{i:02},race,white,{text}" for i, text in enumerate(rows, start=1)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["item_id,attribute,group,reply", *lines, ""]))
    facts = {"constants": {"model": "m"}, "columns": {"answer": "reply"}}
    told = {"refused": "A", "no idea": "", "A": "A"}
    with pytest.warns(Note) as notes:
        answers = import_table(table, benchmark="demo", values={"answer": told}, **facts)
    assert [str(note.message) for note in notes] == [
        "translated: answer 'no idea' → missing (1 row), answer 'refused' → A (2 rows)"
    ]
    assert set(answers["collector"]) == {"table; answer no idea → missing, answer refused → A"}


def test_translations_are_kept_with_the_answers_of_their_model_only(tmp_path):
    """All models of a sheet had the translation of one cell of one of them."""
    table = tmp_path / "t.csv"
    rows = ["one,W,A", "one,black,A", "two,white,A", "two,black,?"]
    table.write_text("\n".join(["item_id,model,group,answer", *(f"demo-01,{row}" for row in rows)]))
    values = {"answer": {"?": ""}, "group": {"W": "white"}}
    with pytest.warns(Note, match=r"^translated: answer '\?' → missing \(1 row\), group 'W'"):
        answers = import_table(table, benchmark="demo", values=values)
    assert answers.groupby("model")["collector"].unique().map(list).to_dict() == {
        "one": ["table"],
        "two": ["table; answer ? → missing"],
    }


def test_it_is_told_which_answers_are_those_of_a_group(tmp_path):
    """A second run for White patients as answers for Black ones passed a gate without a word."""
    sets = [(race, run) for race in ("white", "black") for run in "01"]
    rows = [f"demo-{i:02},{race},{run},A" for i in (1, 2) for race, run in sets]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["item_id,race,run,answer", *rows, ""]))
    layouts = {
        "values": """[map]
group = "race+run"
[values.group]
"white+0" = "white"
"white+1" = "black"
""",
        "set": """[set]
group = "{race}{run}"
[values.group]
white0 = "white"
white1 = "black"
""",
        "variants": """[[variants]]
where = { race = "white", run = "0" }
attribute = "race"
group = "white"
[[variants]]
where = { race = "white", run = "1" }
attribute = "race"
group = "black"
""",
    }
    told = {
        "values": ["translated: group 'white+1' → black (2 rows)"],
        "set": ["translated: group 'white+1' → black (2 rows)"],
        "variants": ["translated: group 'race = white, run = 1' → black (2 rows)"],
    }
    for name, text in layouts.items():
        layout = tmp_path / f"{name}.toml"
        where = "" if name == "variants" else '[where]\nrace = "white"\n'
        layout.write_text(f'benchmark = "demo"\n{where}{text}')
        with pytest.warns(Note) as notes:
            import_table(table, layout=layout, constants={"model": "m"})
        only = ["only records with race = white"] * bool(where)
        assert [str(note.message) for note in notes] == [*only, *told[name]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"values": {"snapshot": {"s2": "s1"}, "temperature": {"1": "0"}}},
            "translated: snapshot 's2' → s1 (1 row), temperature '1' → 0 (1 row)",
        ),
        (
            {"constants": {"model": "m", "snapshot": "s1", "temperature": "0"}},
            "not read, as the mapping says otherwise: snapshot and temperature",
        ),
        (
            {"columns": {"snapshot": "item_id", "temperature": "zero"}},
            "not read, as the mapping says otherwise: snapshot and temperature",
        ),
    ],
)
def test_a_note_names_settings_that_are_not_those_of_the_file(tmp_path, given, said):
    table = tmp_path / "t.csv"
    table.write_text(
        "item_id,group,answer,snapshot,temperature,zero\n"
        "demo-01,white,A,s1,0,0\ndemo-01,black,B,s2,1,0\n"
    )
    with pytest.warns(Note) as notes:
        import_table(table, **{"benchmark": "demo", "constants": {"model": "m"}} | given)
    assert said in [str(note.message) for note in notes]


def test_it_is_told_which_columns_are_those_of_a_group(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("item_id,white_0,white_1,Answer Black\ndemo-01,A,A,B\ndemo-02,B,B,C\n")
    facts = {"benchmark": "demo", "constants": {"model": "m"}}
    with pytest.warns(Note, match="^translated: group 'white_1' → black \\(2 rows\\)$"):
        import_table(table, wide={"white": "white_0", "black": "white_1"}, **facts)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        import_table(table, wide={"white": "white_0", "black": "Answer Black"}, **facts)


def test_it_is_told_that_several_models_become_one(tmp_path):
    table = tmp_path / "t.csv"
    rows = ["a,demo-01,white,A", "b,demo-01,black,A"]
    table.write_text("\n".join(["model,item_id,group,answer", *rows, ""]))
    with pytest.warns(Note, match="^model 'm' is a and b in the files$"):
        import_table(table, benchmark="demo", constants={"model": "m"})
    with pytest.warns(Note, match="^model 'm' is a and b in the files$"):
        import_table(table, benchmark="demo", values={"model": {"a": "m", "b": "m"}})


def test_it_is_told_if_answers_are_from_several_fields(tmp_path):
    rows = [{"item_id": f"demo-{i:02}", "group": "white", "reply": "A"} for i in (1, 2)]
    rows[1]["hint"] = "B"
    table, layout = tmp_path / "t.jsonl", tmp_path / "hints.toml"
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    layout.write_text('benchmark = "demo"\n[map]\nanswer = ["hint", "reply"]\n')
    with pytest.warns(Note, match=r"^answers are from reply \(1 row\) and hint \(1 row\)$"):
        import_table(table, layout=layout, constants={"model": "m"})


def test_keys_of_another_name_are_not_answers(tmp_path, demo):
    """A perfect model has such answers too, but no other field could be its answers."""
    items = [*demo.answer_keys.items()]
    cases = {
        "gold,reply": [f"{key},{'ABCD'[i % 4]}" for i, (_, key) in enumerate(items)],
        "gold,remark": [f"{key},fine" for _, key in items],
    }
    facts = {"constants": {"model": "m", "attribute": "race", "group": "white"}}
    for header, cells in cases.items():
        lines = [f"{item},{cell}" for (item, _), cell in zip(items, cells, strict=True)]
        # The check is over all files.
        for place in (0, 1):
            text = "\n".join([f"item_id,{header}", *lines[place::2], ""])
            (tmp_path / f"{place}.csv").write_text(text)
        given = {"benchmark": "demo", "columns": {"answer": "gold"}, **facts}
        if header == "gold,reply":
            with pytest.raises(InputError, match="the answers could be in reply"):
                import_table(tmp_path, **given)
        else:
            with pytest.warns(Note, match="all 24 answers are the key; check that gold is not"):
                import_table(tmp_path, **given)


def test_settings_of_the_caller_take_precedence(mapped):
    answers = mapped(
        constants={"strategy": "plain"}, values={"answer": {"3": "D"}}, where={"use": "perhaps"}
    )
    assert answers[["strategy", "answer"]].to_numpy().tolist() == [["plain", "D"], ["plain", "B"]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[where]", "[wher]", "wher: unknown key; did you mean where?"),
        ("strategy =", "stratgy =", "set.stratgy: is not a column of the answers table"),
        ("[values.answer]", "[values.letter]", "values.letter: is not a column"),
        ("snapshot =", "snap =", "map.snap: is not a column of the answers table"),
        ("[WB+]", "[WB", "is not a regular expression (missing ]: [WB"),
        ("[WB+]", "(" * 2000, "is not a regular expression"),
        ("[WB+]", r"(?:W)\1", "is not a regular expression (invalid escape sequence"),
        ("(?P<kind>[WB+])", "([WB+])", "contains unnamed groups"),
        ("(?P<kind>", "(?P<visit>", "has two groups of one name"),
        ("[WB+]", "a{1,9999}", "is not a regular expression (invalid repetition size"),
        *(
            ('"visits*.csv"', name, "must be names in the given folder")
            for name in ('"/etc/*"', '"../*"', '""', '"."', '["a.csv", "b/../../c"]')
        ),
        ('attribute = "race"', "attribute = 1", "variants[0].attribute: has the wrong type"),
        ('group = "white"', "", "variants[0].group: is missing"),
        ('benchmark = "demo"', "", "benchmark: is missing"),
        ('benchmark = "demo"', "[[", "is not valid TOML"),
        ("first = {", "third = {", "has no column 'third'; use one of id, first"),
        ('"visits*.csv"', '"*.xlsx"', "the folder contains no such file"),
    ],
)
def test_faulty_mapping_is_named(mapped, old, new, message):
    with pytest.raises(InputError) as caught:
        mapped(old=old, new=new)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("V01-B", "V01-X", r"row 2: id = 'V01-X': does not match V(?P<visit>\d+)-(?P<kind>[WB+])"),
        ("V02", "V99", "row 3: item_id = 'demo-99': unknown item"),
        ("V02-+,A", "V02-+,Z", "row 3: first = 'Z': is not an option letter"),
        ("id,first", "key,first", "row 1: id = '': does not match"),
        ("V01-B,3", "V01-W,3", "row 2: key"),
    ],
)
def test_faulty_row_is_named_by_its_column_in_the_file(mapped, old, new, message):
    with pytest.raises(InputError) as caught:
        mapped(VISITS.replace(old, new))
    assert message in str(caught.value)


def test_unknown_format_is_named(tmp_path):
    with pytest.raises(InputError, match="medpertub: is not a known mapping; use one of biasmedqa"):
        import_table(tmp_path, layout="medpertub")
    arguments = ["import", "medpertub", str(tmp_path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert "use one of: amqa, biasmedqa, eee" in done.output


@pytest.mark.parametrize(
    ("path", "value"), [("runs.0.reply", "A"), ("runs.1", "B"), ("a.b", "C"), ("a.b.c", "D")]
)
def test_path_leads_through_objects_and_lists(path, value):
    assert found({"runs": [{"reply": "A"}, "B"], "a.b": "C", "a": {"b": {"c": "D"}}}, path) == value


@pytest.mark.parametrize("path", ["runs.2", "runs.-1", "runs.²", "runs.1.reply", "other"])
def test_path_to_nothing_finds_no_value(path):
    assert found({"runs": ["A", "B"]}, path) is ABSENT


@pytest.mark.parametrize(
    ("given", "column"),
    [
        ({"columns": {"answer": "gold", "answer_key": "gold"}}, "answer"),
        ({"columns": {"answer_raw": "gold", "answer_key": "gold"}}, "answer_raw"),
        # Without a mapping, the key is in the field of its own name.
        ({"columns": {"answer": "answer_key"}}, "answer"),
        ({"columns": {"answer_key": "answer"}}, "answer"),
        ({"columns": {"answer_key": "W"}, "wide": {"white": "W"}}, "answer"),
    ],
)
def test_a_field_cannot_be_answer_and_key(tmp_path, given, column):
    content = "item_id,model,group,answer,answer_key,gold,W\ndemo-01,m,white,A,C,C,C\n"
    wide = given.get("wide", {})
    if wide:
        content = content.replace("group,answer,", "g,a,")
    if given["columns"].get("answer_raw"):
        content = content.replace(",answer,", ",reply,")
    path = wide_file(tmp_path, content)
    with pytest.raises(InputError) as caught:
        import_table(path, benchmark="demo", **given)
    (problem,) = caught.value.problems
    assert (problem.path, problem.column) == (str(path), column)
    assert "answer_key" in problem.message
    assert "with" in problem.remedy


def test_an_answer_of_two_groups_is_refused(tmp_path):
    group = '[[variants]]\nwhere = {}\nattribute = "{}"\ngroup = "{}"\n'.replace("= {}", "= {{}}")
    path = wide_file(tmp_path, "item_id,model,answer\ndemo-01,m,A\n")
    shared = wide_file(
        tmp_path, group.format("race", "white") + group.format("sex", "male"), "shared.toml"
    )
    answers = import_table(path, layout=shared, benchmark="demo")
    assert answers[["attribute", "group"]].values.tolist() == [["race", "white"], ["sex", "male"]]
    twice = wide_file(
        tmp_path, group.format("race", "white") + group.format("race", "black"), "twice.toml"
    )
    with pytest.raises(InputError, match="is an answer to two groups of race") as caught:
        import_table(path, layout=twice, benchmark="demo")
    (problem,) = caught.value.problems
    assert (problem.path, problem.row, problem.value) == (str(path), 1, "black")


# Mappings and files from anybody


NAMES = ", ".join(f'"{number}"' for number in range(900))
#: Few steps for each of many records, or many steps for each of few.
SLOW = {
    "names": (f"map.answer = [{NAMES}]", '{"a": 1}\n', 25_000),
    "keys": (f"map.answer_key = [{NAMES}]", '{"item_id": "demo-01", "answer": "A"}\n', 25_000),
    "texts": (f'patterns = [{{ text = [{NAMES}], pattern = ".*" }}]', '{"a": 1}\n', 25_000),
    "pattern": (
        'patterns = [{ text = "{a}{line}", pattern = "%s(?P<b>.*)" }]' % ("(?:.{0,30}){0,30}" * 30),
        '{"a": "%s"}\n' % ("x" * 4_900),
        500,
    ),
}


@pytest.mark.parametrize("case", SLOW)
def test_file_that_takes_long_with_a_mapping_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.setattr(mapping_files, "MOST_SECONDS", 0.1)
    declared, line, number = SLOW[case]
    (tmp_path / "slow.toml").write_text(declared)
    lines = (line.replace("}", f', "line": "{one}"}}') for one in range(number))
    (tmp_path / "a.jsonl").write_text("".join(lines))
    started = time.thread_time()
    with pytest.raises(InputError, match=r"takes more than 0\.1 seconds with this mapping"):
        import_table(tmp_path / "a.jsonl", layout=tmp_path / "slow.toml", benchmark="demo")
    assert time.thread_time() - started < 20


def test_problems_of_records_are_listed_up_to_a_limit(tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n" * 3_000)
    with pytest.raises(InputError) as caught:
        import_table(tmp_path / "a.jsonl", benchmark="demo")
    assert 1_000 <= len(caught.value.problems) < 1_010


NESTED = "".join(f"(?P<p{number}>" for number in range(100)) + ".*" + ")" * 100
#: A text is in each part of a pattern, or in several columns.
REPEATED = (
    f'patterns = [{{ text = "{{a}}", pattern = "{NESTED}" }}]',
    'set = { model = "{a}{a}", snapshot = "{a}{a}", endpoint = "{a}{a}" }',
)


@pytest.mark.parametrize("declared", REPEATED)
def test_texts_that_a_mapping_repeats_have_a_limit(declared, tmp_path, monkeypatch):
    monkeypatch.setattr(mapping_files, "MAX_TEXT_MEMORY", 10**6)
    (tmp_path / "long.toml").write_text(declared)
    known = {"group": "white", "answer": "A", "a": "x" * 4_000}
    lines = (json.dumps(known | {"item_id": f"demo-{n:02}"}) + "\n" for n in range(1, 21))
    lines = (line for line in list(lines) * 5)
    (tmp_path / "a.jsonl").write_text("".join(lines))
    with pytest.raises(InputError, match="more than 1,000,000 bytes of memory with this mapping"):
        import_table(tmp_path / "a.jsonl", layout=tmp_path / "long.toml", benchmark="demo")


def test_text_of_many_fields_is_refused(tmp_path):
    (tmp_path / "long.toml").write_text(f'set = {{ model = "{"{a}" * 11}" }}')
    (tmp_path / "a.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="must have up to 10 fields in braces"):
        import_table(tmp_path / "a.jsonl", layout=tmp_path / "long.toml", benchmark="demo")


def test_answer_of_a_group_does_not_hold_the_columns_of_others(tmp_path, monkeypatch):
    """The number of values would be the square of the number of columns."""
    columns = [f"m{number}" for number in range(90)]
    answers = ", ".join(f'{c} = {{ model = "{c}", group = "white" }}' for c in columns)
    (tmp_path / "wide.toml").write_text(f"answers = {{ {answers} }}")
    rows = [f"demo-{number:02}{',A' * 90}\n" for number in (1, 2, 3)]
    path = wide_file(tmp_path, f"item_id,{','.join(columns)}\n{''.join(rows)}")
    monkeypatch.setattr(untrusted_files, "MAX_VALUES", 5_000)
    assert len(import_table(path, layout=tmp_path / "wide.toml", benchmark="demo")) == 270
