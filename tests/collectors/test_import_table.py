"""Importing plain tables by a mapping: every invalid cell is named, and no file is left
incomplete."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pytest
from fairstats_collectors.import_answers import import_table
from fairstats_collectors.mapping_files import ABSENT, found
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fairstats._lib import records, untrusted_files
from fairstats._lib.problems import InputError, Note, Problem
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import read_answers
from fairstats.cli import app

PLAIN = (
    "model,item_id,group,answer_raw\n"
    "m,demo-01,white,Answer: C\n"
    "m,demo-01,black,(a)\n"
    'm,demo-02,male,"A, B, or so"\n'
    "m,demo-02,female,\n"
)
WIDE = {"wide": {"white": "w", "black": "b"}, "constants": {"model": "m"}}


@pytest.fixture
def table(tmp_path):
    def write(content: str | bytes, name: str = "answers.csv", **given) -> pd.DataFrame:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return import_table(path, **{"benchmark": "demo"} | given)

    return write


def problems_of(call, *arguments, **given) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        call(*arguments, **given)
    problems = list(caught.value.problems)
    assert all(problem.remedy for problem in problems)
    return problems


def test_columns_of_the_same_name_need_no_mapping(table):
    answers = table(PLAIN)
    assert answers["answer"].astype(object).where(answers["answer"].notna(), None).tolist() == [
        "C",
        "A",
        None,
        None,
    ]
    # Values known from the benchmark are filled in.
    assert answers["attribute"].tolist() == ["race", "race", "sex", "sex"]
    assert answers["answer_key"].tolist() == ["C", "C", "A", "A"]
    assert set(answers["benchmark_version"]) == {"1"}
    assert (set(answers["strategy"]), set(answers["sample"])) == ({"plain"}, {0})


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode() + b"\n\n",
    ],
)
def test_line_ends_and_byte_order_mark_do_not_matter(table, content):
    pd.testing.assert_frame_equal(table(content), table(PLAIN))


def test_json_lines_and_csv_give_the_same_answers(table):
    rows = [
        {"model": "m", "item_id": "demo-01", "group": "white", "answer_raw": "Answer: C"},
        {"model": "m", "item_id": "demo-01", "group": "black", "answer_raw": "(a)"},
        {"model": "m", "item_id": "demo-02", "group": "male", "answer_raw": "A, B, or so"},
        {"model": "m", "item_id": "demo-02", "group": "female", "answer_raw": None},
    ]
    lines = "\ufeff" + "\r\n".join(map(json.dumps, rows))
    pd.testing.assert_frame_equal(table(lines, "a.jsonl"), table(PLAIN))


def test_a_mapping_of_columns_constants_and_values(table):
    content = (
        "llm;x,case.id,who,letter,n,skip\n"
        "m,demo-01,W,3,0,no\n"
        "m,demo-01,B,?,0,no\n"
        "m,demo-01,B,1,0,yes\n"
    )
    answers = table(
        content,
        columns={
            "model": "llm;x",
            "item_id": "case.id",
            "group": "who",
            "answer": "letter",
            "sample": "n",
        },
        constants={"strategy": "cot", "snapshot": "m-1", "seed": "3"},
        values={
            "group": {"W": "white", "B": "black"},
            "answer": {"1": "A", "2": "B", "3": "C", "?": ""},
        },
        where={"skip": "no"},
    )
    assert answers["group"].tolist() == ["white", "black"]
    assert answers["answer"].iloc[0] == "C"
    assert answers["status"].tolist() == ["ok", "unparsed"]
    assert answers[["strategy", "snapshot", "seed"]].iloc[0].tolist() == ["cot", "m-1", 3]


def test_options_are_read_with_their_texts(table):
    row = {"model": "m", "item_id": "demo-01", "group": "white", "answer_raw": "Green."}
    for options in (
        ["Red", "Blue", "Green", "Grey"],
        {"A": "Red", "B": "Blue", "C": "Green", "D": "Grey"},
    ):
        # They are others than the benchmark's, whose key shows the order.
        line = json.dumps(row | {"options": options, "answer_key": "C"})
        assert table(line, "a.jsonl")["answer"].tolist() == ["C"]
        (problem,) = problems_of(table, json.dumps(row | {"options": options}), "a.jsonl")
        assert "are not those of the benchmark" in problem.message
    # The benchmark's texts are used if the file has none.
    line = json.dumps(row | {"answer_raw": "Low serum ferritin"})
    assert table(line, "a.jsonl")["answer"].tolist() == ["C"]


SHOWN = ["Low serum ferritin", "Low serum folate", "High transferrin saturation"]
SHOWN += ["Low total iron-binding capacity"]
NEAR = ["5 mg", ".5 mg", "50 mg"]


@pytest.mark.parametrize(
    "given",
    [
        {"answer_raw": "The answer is A."},
        {"answer_raw": "A. Low serum ferritin"},
        {"answer_raw": "The answer is low serum ferritin."},
        {"answer": "Low serum ferritin"},
        {"answer_raw": "The answer is A.", "answer_key": "A"},
        {"answer": "A", "answer_key": "A"},
    ],
)
@pytest.mark.parametrize("form", ["{text}", "{letter}. {text}", "({letter}) {text}", "- {text}."])
def test_letters_of_options_in_another_order_become_the_benchmarks(table, given, form):
    texts = [form.format(letter=one, text=text) for one, text in zip("ABCD", SHOWN, strict=True)]
    row = {"model": "m", "item_id": "demo-01", "group": "white", "options": texts}
    with pytest.warns(Note, match="1 record lists the options in another order"):
        answers = table(json.dumps(row | given), "a.jsonl")
    assert answers[["answer", "answer_key"]].iloc[0].tolist() == ["C", "C"]
    # The letter in the reply is not that of the benchmark.
    replies = answers.get("answer_raw", pd.Series(dtype=str)).dropna().tolist()
    assert replies == [raw for raw in given.values() if "erum" in raw and "A." not in raw]


def test_reordered_records_of_all_files_are_counted(tmp_path):
    row = {"model": "m", "item_id": "demo-01", "options": SHOWN, "answer_raw": "The answer is A."}
    for group in ("white", "black"):
        (tmp_path / f"{group}.jsonl").write_text(json.dumps(row | {"group": group}))
    with pytest.warns(Note, match="2 records list the options in another order"):
        import_table([tmp_path / "white.jsonl", tmp_path / "black.jsonl"], benchmark="demo")


@pytest.mark.parametrize(
    ("changed", "column", "said"),
    [
        ({"answer": "A"}, "answer", "could be that of the benchmark"),
        ({"answer": "A", "answer_key": "C"}, "answer_key", "another option"),
        ({"answer": "(A)"}, "answer", "could be that of the benchmark"),
        (
            {"answer": "A", "options": [SHOWN[0], "", *SHOWN[2:]]},
            "answer",
            "could be that of the benchmark",
        ),
        ({"answer": "A", "options": "x | y"}, "options", "do not match"),
        ({"answer": "Final answer: A"}, "answer", "could be that of the benchmark"),
        ({"answer": "\\boxed{A}"}, "answer", "could be that of the benchmark"),
        ({"answer_raw": "A", "options": [*SHOWN[:2], "None", "All"]}, "options", "another order"),
        ({"answer_raw": "A", "options": [*SHOWN[:3], SHOWN[0]]}, "options", "another order"),
    ],
)
def test_letters_of_options_in_an_unclear_order_are_refused(table, changed, column, said):
    row = {"model": "m", "item_id": "demo-01", "group": "white", "options": SHOWN}
    (problem,) = problems_of(table, json.dumps(row | changed), "a.jsonl")
    assert (problem.row, problem.column) == (1, column)
    assert said in problem.message


@pytest.mark.parametrize(
    "texts",
    [
        ["<5 mm", ">5 mm", "5 mm"],
        ["S. aureus", "K. aureus", "M. aureus"],
        ["+2", "-2", "2"],
        ["AA", "Aa", "aa"],
        [".5 mg", "5 mg", "50 mg"],
        ["2 weeks", "4 weeks", "2 weeks"],
    ],
)
def test_options_that_differ_little_keep_their_order(table, benchmark_file, texts):
    rows = [
        {"model": "m", "item_id": "i1", "group": group, "answer_raw": "A", "options": texts}
        for group in ("white", "black")
    ]
    answers = table("\n".join(map(json.dumps, rows)), "a.jsonl", benchmark=str(benchmark_file()))
    assert answers["answer"].tolist() == ["A", "A"]


def test_options_that_differ_by_case_are_found_in_another_order(table, benchmark_file):
    texts = {"A": "AA", "B": "Aa", "C": "aa"}
    variants = {group: f"A case of the {group} group" for group in ("white", "black", "asian")}
    item = {"item_id": "i1", "answer_key": "A", "options": texts, "variants": variants}
    path = benchmark_file(keys_file='items_file = "items.jsonl"')
    (path.parent / "items.jsonl").write_text(json.dumps(item))
    row = {"model": "m", "item_id": "i1", "group": "white", "answer_raw": "The answer is A."}
    shown = json.dumps(row | {"options": ["aa", "AA", "Aa"]})
    assert table(shown, "a.jsonl", benchmark=str(path))["answer"].tolist() == ["C"]


@pytest.mark.parametrize("texts", [["5 mg.", ".5 mg.", "50 mg."], ["5 MG", ".5 MG", "50 MG"]])
def test_near_equal_options_may_be_written_otherwise_in_the_same_order(
    table, benchmark_file, texts
):
    item = {"item_id": "i1", "answer_key": "A", "options": dict(zip("ABC", NEAR, strict=True))}
    item["variants"] = {group: f"A {group} person" for group in ("white", "black", "asian")}
    path = benchmark_file(keys_file='items_file = "items.jsonl"')
    (path.parent / "items.jsonl").write_text(json.dumps(item))
    row = {"model": "m", "item_id": "i1", "group": "white", "answer": "A", "options": texts}
    answers = table(json.dumps(row), "a.jsonl", benchmark=str(path))
    assert answers["answer"].tolist() == ["A"]


@pytest.mark.parametrize(
    "options", [["yes", "no", "maybe"], ["a", "b", "c"], ["Zinc", "Iron", "Tin"]]
)
def test_options_that_are_words_need_no_letters(table, benchmark_file, options):
    named = f"options = {json.dumps(options)}"
    keys = "item_id,answer_key\n" + "".join(f"i{n},{one}\n" for n, one in enumerate(options))
    path = benchmark_file(keys, options=named)
    for shown in ({}, {"options": options[::-1]}):
        for column, form in (("answer", "{}"), ("answer_raw", "Answer: {}")):
            row = {"model": "m", "item_id": "i0", "group": "white", **shown}
            lines = [json.dumps(row | {column: form.format(options[0])})]
            answers = table(lines[0], "a.jsonl", benchmark=str(path))
            assert answers["answer"].tolist() == [options[0]]


@pytest.mark.parametrize(("given", "status"), [("N/A", "unparsed"), ("refused", "refused")])
def test_missing_answers_to_options_in_another_order_are_missing(table, given, status):
    row = {"model": "m", "item_id": "demo-01", "group": "white", "options": SHOWN, "answer": given}
    assert table(json.dumps(row), "a.jsonl")["status"].tolist() == [status]


def test_options_in_several_orders_need_the_benchmarks_texts(table, benchmark_file):
    rows = [
        {"model": "m", "item_id": "i1", "group": group, "answer_raw": "A", "options": options}
        for group, options in (("white", SHOWN[:3]), ("black", SHOWN[:3]), ("asian", SHOWN[2::-1]))
    ]
    lines = "\n".join(map(json.dumps, rows))
    (problem,) = problems_of(table, lines, "a.jsonl", benchmark=str(benchmark_file()))
    assert (problem.row, problem.column) == (3, "options")
    assert "items_file" in problem.remedy


def test_unreadable_reply_does_not_affect_others(table, benchmark_file):
    replies = [
        "C",
        "The diagnosis is C: vitiligo.",
        "C. It is \ud83d",
        "\x00",
        ": A",
        "(",
        None,
        "",
    ]
    rows = [
        {"model": "m", "item_id": "i1", "group": "white", "sample": n, "answer_raw": reply}
        for n, reply in enumerate(replies)
    ]
    # This benchmark ships no texts, so only letters can be read.
    answers = table("\n".join(map(json.dumps, rows)), "a.jsonl", benchmark=str(benchmark_file()))
    assert answers["answer"].astype(object).where(answers["answer"].notna(), None).tolist() == [
        *("C", "C", "C", None, "A", None, None, None)
    ]
    assert answers["answer_raw"].iloc[2] == "C. It is \ufffd"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_last_line_that_is_cut_off_is_named(encoding, tmp_path):
    path = tmp_path / "a.csv"
    text = "model,item_id,group,answer\nm,demo-01,white,A\nm,demo-01,black"
    path.write_text(text, encoding=encoding)
    with pytest.warns(
        Note, match="the last line has 3 of 4 cells; check that the file is complete"
    ):
        answers = import_table(path, benchmark="demo")
    assert answers["answer"].isna().tolist() == [False, True]
    path.write_text(text + ",\n", encoding=encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import_table(path, benchmark="demo")


BASE = {"model": "m", "item_id": "demo-01", "group": "white", "answer": "C", "sample": 0}


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        ({"group": "wite", "attribute": "race"}, "group", "unknown group"),
        ({"group": "wite"}, "group", "use values={'group': {'THEIRS': 'OURS'}}"),
        ({"attribute": "age"}, "attribute", "unknown attribute"),
        ({"item_id": "demo-99"}, "item_id", "unknown item"),
        ({"item_id": "demo-99", "answer_key": "A"}, "item_id", "unknown item"),
        ({"item_id": "x" * 10_000, "answer_key": "A"}, "item_id", "1 to 200 printable"),
        ({"benchmark_version": "2"}, "benchmark_version", "unknown version"),
        ({"answer": "Z"}, "answer", "is not an option letter"),
        ({"answer": 7}, "answer", "is not an option letter"),
        ({"answer": True}, "answer", "is not text"),
        ({"answer": None, "status": "ok"}, "status", "if and only if there is an answer"),
        ({"status": "fine"}, "status", "must be one of ok"),
        ({"answer_key": "B"}, "answer_key", "disagrees with the benchmark's key C"),
        ({"sample": "first"}, "sample", "is not a whole number"),
        ({"sample": -1}, "sample", "must not be negative"),
        ({"sample": 2**70}, "sample", "is too large"),
        ({"model": ["m"]}, "model", "is a list, not one value"),
        ({"model": {"name": "m"}}, "model", "is an object, not one value"),
        ({"model": True}, "model", "is not text"),
        ({"model": ""}, "model", "1 to 200 printable"),
        ({"model": None}, "model", "must not be empty"),
        ({"model": "m\u202e"}, "model", "1 to 200 printable"),
        ({"model": "\ud800"}, "model", "is not valid Unicode text"),
        ({"temperature": "hot"}, "temperature", "is not a number"),
        ({"collected_at": "yesterday"}, "collected_at", "ISO 8601"),
        ({"answer_raw": "x" * 1_000_001}, "answer_raw", "is longer than 1,000,000"),
    ],
)
def test_invalid_cell_is_named_by_row_and_column(table, change, column, message):
    # The faulty row is the file's third line; the first is left out.
    rows = [BASE | {"sample": 7, "use": "no"}, BASE | {"use": "yes"}]
    rows.append(BASE | {"sample": 1, "use": "yes"} | change)
    told = problems_of(table, "\n".join(map(json.dumps, rows)), "a.jsonl", where={"use": "yes"})
    assert {(problem.row, problem.column) for problem in told} == {(3, column)}
    assert message in str(told[0])
    assert len(str(told[0])) < 1500


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("content", "given", "row"),
    [
        (f"{PLAIN}Total,4,,\n", {}, "row 5: model = 'Total'"),
        ("item_id,w,b\ndemo-01,C,A\nMean:,1,0\n", WIDE, "row 2: item_id = 'Mean:'"),
    ],
)
def test_row_of_totals_is_named(table, content, given, row, checked):
    (problem,) = problems_of(table, content, checked=checked, **given)
    assert f"{row}: is a row of totals, not of answers; remove this row" in str(problem)


def test_numbers_are_valid_item_and_model_names(table):
    line = json.dumps(BASE | {"model": 7})
    assert table(line, "a.jsonl")["model"].tolist() == ["7"]


def test_record_may_lack_only_optional_fields(table):
    rows = [BASE | {"letter": "C", "who": "m"}, BASE | {"sample": 1, "who": "m"}]
    lines = "\n".join(map(json.dumps, rows))
    answers = table(lines, "a.jsonl", columns={"answer": "letter"})
    assert answers["status"].tolist() == ["ok", "unparsed"]
    del rows[1]["who"]
    lines = "\n".join(map(json.dumps, rows))
    (problem,) = problems_of(table, lines, "a.jsonl", columns={"model": "who"})
    assert (problem.row, problem.column) == (2, "model")


def test_number_is_a_name_as_a_reader_writes_it(table):
    row = BASE | {"model": 3.5, "snapshot": 4.0}
    answers = table(json.dumps(row), "a.jsonl")
    assert answers[["model", "snapshot"]].iloc[0].tolist() == ["3.5", "4"]


def test_every_faulty_row_is_reported(table):
    rows = [BASE | {"sample": n, "group": "" if n % 2 else "white"} for n in range(100)]
    told = problems_of(table, "\n".join(map(json.dumps, rows)), "a.jsonl")
    assert {problem.row for problem in told} == set(range(2, 101, 2))


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"\x80\x04\x95", "a.csv", "is a pickle, which can run any program"),
        (b"(dp0\n.", "a.pkl", "is a pickle"),
        (b"PK\x03\x04", "a.npz", "is a pickle"),
        (b"", "a.csv", "the file is empty"),
        (b"x", "a.ods", "unknown kind of file '.ods'"),
        ("model,item_id\nm\u00e9,1\n".encode("latin-1"), "a.csv", "is not UTF-8"),
        ('{"model": "m\u00e9"}'.encode("latin-1"), "a.jsonl", "row 1: line: not UTF-8 text"),
        (b"model,model\n1,2\n", "a.csv", "model: the column appears more than once"),
        (b"model,item_id\n1,2,3\n", "a.csv", "has rows with more cells than the first row"),
        (b"model,item_id\n1,2\n1,2,3\n", "a.csv", "line 3 has more cells than the first row"),
        (b"a;b;;;\n1;2;;;\n", "a.csv", "the first row names 2 of 5 columns"),
        (b'model\n"open', "a.csv", "not a CSV file"),
        (b"model,item_id\n", "a.csv", "contains no answers"),
        (b'{"model": "a", "model": "b"}', "a.jsonl", "the name 'model' appears more than once"),
        (b'{"a": {"b": 1, "b": 2}}', "a.jsonl", "more than once in one object"),
        (b"[" * 100_000, "a.jsonl", "nested too deep"),
        (b'{"a":' * 100_000, "a.jsonl", "nested too deep"),
        (b"[1]", "a.jsonl", "not a JSON object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a.jsonl", "row 1"),
        (b'{"a": 1}\n{"a"', "a.jsonl", "row 2: line: not JSON"),
        (b"\n\n", "a.jsonl", "contains no answers"),
    ],
)
def test_unreadable_files_are_reported_with_the_reason(table, content, name, message):
    (problem, *_) = problems_of(table, content, name)
    assert message in str(problem)


@pytest.mark.parametrize(
    "title", ["Study, 2026;;;", "Study 2026;;;", "Study, 2026", "Study 2026", "Study 2026\r\n"]
)
@pytest.mark.parametrize("cell", ["7,5", "7"])
def test_title_above_the_header_is_named(table, title, cell):
    content = f"{title}\r\nmodel;item_id;group;answer\r\nm;demo-01;white;{cell}\r\n"
    (problem,) = problems_of(table, content)
    assert problem.remedy.startswith("delete the rows above the header")
    assert "\\n" not in str(problem)


def test_sizes_are_limited(table, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(untrusted_files, "MAX_LINE_BYTES", 100)
        (problem,) = problems_of(table, '{"a": "' + "x" * 200 + '"}', "a.jsonl")
    assert "longer than 100 bytes" in str(problem)
    monkeypatch.setattr(records, "MAX_BYTES", 10)
    (problem,) = problems_of(table, PLAIN)
    assert "the limit of 10 bytes" in str(problem)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"benchmark": None}, "is missing"),
        ({"benchmark": "none"}, "no such benchmark"),
        ({"columns": {"modle": "m"}}, "modle: is not a column of the answers table"),
        ({"constants": {"modle": "m"}}, "modle: is not a column of the answers table"),
        ({"values": {"modle": {"m": "n"}}}, "modle: is not a column of the answers table"),
        ({"columns": {"benchmark": "b"}}, "benchmark: cannot be read from a field"),
        (
            {"columns": {"model": "llm"}},
            "model: no record has the field 'llm'; use one of model, item_id",
        ),
        ({"columns": {"answer": "lettr"}}, "answer: no record has the field 'lettr'"),
        ({"where": {"model": "other"}}, "contains no answers with model = other"),
        ({"constants": {"sample": "x"}}, "sample = 'x': is not a whole number"),
    ],
)
def test_invalid_mapping_is_reported(table, given, message):
    assert message in "\n".join(map(str, problems_of(table, PLAIN, **given)))


def test_duplicate_answers_in_two_files_are_reported(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(PLAIN)
    (problem,) = problems_of(import_table, tmp_path, benchmark="demo")
    assert "4 answers are in more" in problem.message
    (tmp_path / "b.csv").write_text(PLAIN + PLAIN.partition("\n")[2])
    assert {p.column for p in problems_of(import_table, tmp_path / "b.csv", benchmark="demo")} == {
        "key"
    }


def test_the_options_of_the_command(tmp_path):
    (tmp_path / "a.csv").write_text(PLAIN.replace("group", "who").replace("white", "W"))
    out = tmp_path / "out"
    arguments = ["import", "table", str(tmp_path / "a.csv"), "--out", str(out)]

    def run(*more: str):
        return CliRunner().invoke(app, [*arguments, *more])

    assert "is missing" in run().output
    for wrong, message in (
        (("--map", "model"), "must be NAME=VALUE"),
        (("--map", "=x"), "must be NAME=VALUE"),
        (("--map", "group=a", "--map", "group=b"), "is given twice"),
        (("--values", "group=W"), "must be COLUMN:THEIRS=OURS"),
        (("--values", "group:W=a", "--values", "group:W=b"), "is given twice"),
        (("--map", "group=who"), "use --values group:THEIRS=OURS"),
        (("--map", "group=who", "--set", "group= White"), "use --values 'group: White=white'"),
    ):
        done = run("--benchmark", "demo", *wrong)
        assert done.exit_code == 1
        assert message in done.output, wrong
    assert not out.exists()
    # A value with an equals sign in it, and one that means a missing answer.
    done = run(
        *("--set", "benchmark=demo", "--map", "group=who", "--values", "group:W=white"),
        *("--values", "group:a=b=white", "--strategy", "cot"),
    )
    assert done.exit_code == 0, done.output
    answers = read_answers(out)
    assert set(answers["strategy"]) == {"cot"}
    # Validation reports missing answers, since the rest may be in another file.
    assert all(problem.row is None for problem in validate_answers(answers))


@pytest.mark.parametrize(
    ("layout", "given", "refused"),
    [
        ("amqa", ("--map", "a=b", "--benchmark", "demo"), "--benchmark, --map"),
        ("mirage", ("--model", "m", "--set", "status=ok"), "--model, --set status"),
    ],
)
def test_layouts_with_fixed_fields_refuse_others(tmp_path, layout, given, refused):
    done = CliRunner().invoke(app, ["import", layout, "x", "--out", str(tmp_path), *given])
    assert done.exit_code == 1
    assert f"{layout}: does not accept {refused};" in done.output


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["model", "item_id", "group", "answer", "sample"]), JSON))
def test_any_record_becomes_an_answer_or_a_problem(tmp_path_factory, record):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    path.write_text(json.dumps(record) + "\n")
    problems: tuple[Problem, ...] = ()
    try:
        assert len(import_table(path, benchmark="demo")) == 1
    except InputError as error:
        problems = error.problems
    assert all(problem.row == 1 and problem.remedy for problem in problems)


@given(JSON, st.text(alphabet="a.01", max_size=8))
def test_any_field_path_can_be_looked_up(fields, path):
    value = found(fields, path)
    if value is not ABSENT and "." not in path and isinstance(fields, dict):
        assert value is fields[path]


def test_answers_table_is_unchanged_by_csv(tmp_path, all_right, demo):
    answers = all_right(demo).assign(answer_raw='Answer, said "so":\nB', temperature=0.5)
    answers.loc[3, ["answer", "status"]] = [None, "refused"]
    renamed = answers.rename(columns={"group": "who", "answer": "letter"})
    renamed.assign(who=answers["group"].str.upper()).to_csv(tmp_path / "a.csv", index=False)
    again = import_table(
        tmp_path / "a.csv",
        benchmark="demo",
        columns={"group": "who", "answer": "letter"},
        values={"group": {group.upper(): group for group in answers["group"].unique()}},
    )
    pd.testing.assert_frame_equal(again[answers.columns], answers, check_dtype=False)


def test_link_in_a_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "a.csv").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="symbolic link") as caught:
        import_table(tmp_path / "answers", benchmark="demo")
    assert "secret\n" not in str(caught.value)
