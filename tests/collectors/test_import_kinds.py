"""Importing decisions, levels and scores from tables as studies release them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fairstats_collectors.import_answers import import_table
from fairstats_collectors.mapping_files import matched, parts_of
from typer.testing import CliRunner

from fairstats._lib.problems import InputError, Note
from fairstats._lib.toml_files import Fault
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.files import read_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app

NAMES = (
    '[attributes.name]\nlabel = "Name"\n'
    'groups = { base = "None", emma = "Emma", aisha = "Aisha" }\n'
    'pairs = [["emma", "aisha"]]\n[attributes.school]\nlabel = "School"\n'
    'groups = { base = "None", state = "State" }\npairs = [["base", "state"]]'
)
CELLS = (
    '[attributes.race]\nlabel = "Race"\ngroups = { White = "White", Black = "Black" }\n'
    'pairs = [["White", "Black"]]\n[attributes.sex]\nlabel = "Sex"\n'
    'groups = { Men = "Men", Women = "Women" }\npairs = [["Men", "Women"]]\n'
    '[attributes.race_sex]\nlabel = "Race and sex"\ncrosses = ["race", "sex"]\npairs = []\n'
    'groups = { "White+Men" = "WM", "White+Women" = "WW", "Black+Men" = "BM", '
    '"Black+Women" = "BW" }'
)


@pytest.fixture
def benchmark_of(benchmark_file):
    """Return a benchmark without keys, of some kind and attributes."""

    def build(options, attributes=NAMES, **replaced):
        parts = {"options": options, "race": attributes, "baseline": "", "keys_file": ""}
        return load_benchmark(benchmark_file(**parts | replaced))

    return build


@pytest.fixture
def decisions(benchmark_of):
    options = 'kind = "decision"\noptions = ["yes", "maybe", "no"]\nfavourable = ["yes"]'
    return benchmark_of(options + '\nlabels = { yes = "Invite", no = "Do not invite" }')


@pytest.fixture
def levels(benchmark_of):
    kind = 'kind = "level"\noptions = [1, 2, 3, 4, 5]\ncluster = "patient"'
    return benchmark_of(kind, CELLS)


@pytest.fixture
def scores(benchmark_of):
    return benchmark_of('kind = "score"\nlimits = [0, 10]')


@pytest.fixture
def table(tmp_path):
    def write(rows, name="a.jsonl"):
        path = tmp_path / name
        path.write_text(rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows)))
        return path

    return write


ROW = {"model": "m", "item_id": "i1", "attribute": "name", "group": "emma"}


def answer_of(path, benchmark, **given):
    (row,) = import_table(path, benchmark=benchmark, **given).to_dict("records")
    return row["answer"] if row["status"] == "ok" else row["status"]


@pytest.mark.parametrize(
    ("kind", "cell", "answer"),
    [
        ("decisions", "yes", "yes"),
        ("decisions", " YES ", "yes"),
        ("decisions", "Invite", "yes"),
        ("decisions", "do NOT invite", "no"),
        ("decisions", "Unclear", "unparsed"),
        ("decisions", "", "unparsed"),
        ("decisions", None, "unparsed"),
        ("decisions", "Recommendation: maybe", "maybe"),
        ("decisions", "later", "unparsed"),
        ("scores", 7, "7"),
        ("scores", 7.0, "7"),
        ("scores", "7.50", "7.5"),
        ("scores", "n/a", "unparsed"),
    ],
)
def test_cell_of_an_answer_is_read_as_the_option_it_names(kind, cell, answer, table, request):
    benchmark = request.getfixturevalue(kind)
    assert answer_of(table([ROW | {"answer": cell}]), benchmark) == answer


def test_number_in_a_column_of_replies_is_read_as_its_text(scores, table):
    path = table([ROW | {"answer_raw": 7.5}])
    assert answer_of(path, scores) == "7.5"
    assert import_table(path, benchmark=scores)["answer_raw"].item() == "7.5"


@pytest.mark.parametrize(
    "cell", ["1 000", "1\u00a0000", "1.000,5", "1,000.5", "1'000", "1,234,567"]
)
def test_numbers_with_grouped_digits_are_counted_in_a_note(cell, scores, table):
    rows = [ROW | {"answer": cell}, ROW | {"answer": "7", "group": "aisha"}]
    with pytest.warns(Note, match=r"^1 of the missing answers hold .*grouped digits"):
        import_table(table(rows), benchmark=scores)


def test_numbers_with_a_unit_are_missing_and_counted(scores, table):
    cells = ["7", "10 mg", "7,5 mg", "7,5 mg", "n/a", "3 or 4"]
    path = table([ROW | {"item_id": f"i{n}", "answer": cell} for n, cell in enumerate(cells)])
    with pytest.warns(Note, match=r"^3 of .* \('7,5 mg', '10 mg'\).*'7,5 mg': 'NUMBER'"):
        answers = import_table(path, benchmark=scores)
    assert (answers["status"] == "ok").tolist() == [True, *[False] * 5]


CSV = "Fall;Modell;emma;aisha;Temperatur\r\n1;m;{};7;{}\r\n2;m;3;+0,25;1\r\n"
AS_GERMAN = {
    "columns": {"item_id": "Fall", "model": "Modell", "temperature": "Temperatur"},
    "wide": {"emma": "emma", "aisha": "aisha"},
}


def test_decimal_commas_are_read_in_scores_and_settings(scores, table):
    path = table(CSV.format("7,5", "0,0"), "a.csv")
    answers = import_table(path, benchmark=scores, **AS_GERMAN)
    assert answers["answer"].tolist() == ["7.5", "7", "3", "0.25"]
    assert answers["temperature"].tolist() == [0, 0, 1, 1]
    assert "answer_raw" not in answers or answers["answer_raw"].isna().all()


@pytest.mark.parametrize(
    ("cells", "column", "cell", "numbers"),
    [
        (("1,234", "0"), "emma", "1,234", ("1.234", "1234")),
        (("-12,345", "0"), "emma", "-12,345", ("-12.345", "-12345")),
        (("7", "1,000"), "temperature", "1,000", ("1.000", "1000")),
    ],
)
def test_comma_that_may_group_thousands_is_refused(cells, column, cell, numbers, scores, table):
    path = table(CSV.format(*cells), "a.csv")
    with pytest.raises(InputError) as caught:
        import_table(path, benchmark=scores, **AS_GERMAN)
    said = str(caught.value.problems[0])
    assert said.startswith(f"{path}: row 1: {column} = {cell!r}: could be {' or '.join(numbers)}; ")
    of = "temperature" if column == "temperature" else "answer"
    assert f"values={{{of!r}: {{{cell!r}: {numbers[0]!r}}}}}" in said


def test_meaning_of_a_comma_can_be_given(scores, table):
    path = table(CSV.format("1,234", "0"), "a.csv")
    answers = import_table(
        path, benchmark=scores, **AS_GERMAN, values={"answer": {"1,234": "1.234"}}
    )
    assert answers["answer"].tolist() == ["1.234", "7", "3", "0.25"]


@pytest.mark.parametrize(
    ("cell", "answer"), [("3,0", "3"), ("0,125", "0.125"), ("2,1250", "2.125"), ("0", "0")]
)
def test_comma_that_cannot_group_thousands_is_a_decimal_one(cell, answer, scores, table):
    assert answer_of(table([ROW | {"answer": cell}]), scores) == answer


def test_decimal_comma_of_a_level_is_read_only_as_one_that_is_declared(benchmark_of, table):
    levels = benchmark_of('kind = "level"\noptions = [1, 1.5, 2]')
    assert answer_of(table([ROW | {"answer": "1,5"}]), levels) == "1.5"
    with pytest.raises(InputError, match=r"answer = '1\.2': is not"):
        import_table(table([ROW | {"answer": "1,2"}]), benchmark=levels)


def test_comma_in_the_place_of_a_word_is_left_alone(decisions, table):
    assert answer_of(table([ROW | {"answer": "1,5"}]), decisions) == "unparsed"
    assert answer_of(table([ROW | {"answer": "1,234"}]), decisions) == "unparsed"


def test_cell_that_is_no_answer_is_kept_as_the_reply(decisions, table):
    (row,) = import_table(table([ROW | {"answer": "Unclear"}]), benchmark=decisions).to_dict(
        "records"
    )
    assert (row["answer_raw"], row["status"]) == ("Unclear", "unparsed")


@pytest.mark.parametrize(
    "cell", ["refused", "Refused", "declined", "declined to answer", "refusal"]
)
@pytest.mark.parametrize("given", [{}, {"values": {"answer": {"refused": "", "Refused": ""}}}])
def test_cell_with_a_word_for_a_refusal_is_refused(cell, given, decisions, table):
    (row,) = import_table(table([ROW | {"answer": cell}]), benchmark=decisions, **given).to_dict(
        "records"
    )
    assert (row["answer_raw"], row["status"]) == (cell, "refused")


def test_option_named_like_a_refusal_is_an_answer(benchmark_of, table):
    loans = benchmark_of(
        'kind = "decision"\noptions = ["granted", "declined"]\nfavourable = ["granted"]'
    )
    path = table([ROW | {"answer": "Declined"}])
    assert answer_of(path, loans) == "declined"
    assert answer_of(path, loans, values={"answer": {"Declined": ""}}) == "refused"


@pytest.mark.parametrize("row", [{"answer": "censored"}, {"answer": "", "status": "censored"}])
def test_translated_status_is_that_of_a_column_or_of_the_cell(row, decisions, table):
    values = {"status": {"censored": "refused"}}
    assert answer_of(table([ROW | row]), decisions, values=values) == "refused"


def test_status_is_read_in_other_letters_and_may_be_empty(decisions, table):
    rows = [
        ROW | {"answer": "", "status": "Refused"},
        ROW | {"answer": "yes", "status": "", "item_id": "i2"},
    ]
    answers = import_table(table(rows), benchmark=decisions)
    assert answers["status"].tolist() == ["refused", "ok"]


@pytest.mark.parametrize(
    ("cell", "values", "status"),
    [
        ("refused", {}, "refused"),
        ("declined", {"answer": {"declined": ""}}, "refused"),
        ("censored", {"status": {"censored": "refused"}}, "refused"),
        ("later", {"answer": {"later": ""}}, "unparsed"),
        ("N/A", {}, "unparsed"),
        (None, {}, "unparsed"),
    ],
)
def test_refusals_in_columns_of_groups(cell, values, status, decisions, table):
    path = table([{"model": "m", "item_id": "i1", "emma": cell, "aisha": "yes"}])
    wide = {"emma": "emma", "aisha": "aisha"}
    answers = import_table(path, benchmark=decisions, wide=wide, values=values)
    assert answers.set_index("group")["status"].to_dict() == {"emma": status, "aisha": "ok"}


@pytest.mark.parametrize("cell", ["11", 11, "-1", "1e300"])
def test_number_outside_the_limits_is_refused(cell, scores, table):
    with pytest.raises(InputError, match=r"answer = '.*': is not a possible score"):
        import_table(table([ROW | {"answer": cell}]), benchmark=scores)


def test_truth_value_needs_a_meaning(decisions, table):
    path = table([ROW | {"answer": True}])
    said = r"is not text; write it as text, or use values=\{'answer': \{'True': 'OURS'\}\}"
    with pytest.raises(InputError, match=said):
        import_table(path, benchmark=decisions)
    assert answer_of(path, decisions, values={"answer": {"True": "yes"}}) == "yes"


LONG = (
    "stay,patient,Race,Sex,acuity,level,llm\n"
    "s1,p1,White,Men,2.0,3,m\ns1,p1,White,Women,2.0,3.0,m\n"
    "s1,p1,Black,Men,2.0,2,m\ns1,p1,Black,Women,2.0,,m\n"
)
MAPPED = {"item_id": "stay", "group": "Race+Sex", "answer": "level", "model": "llm"}


def test_joined_fields_are_a_group_of_the_crossed_attribute(levels, table):
    answers = import_table(table(LONG, "a.csv"), benchmark=levels, columns=MAPPED)
    assert answers["attribute"].unique().tolist() == ["race_sex"]
    assert answers["group"].tolist()[:2] == ["White+Men", "White+Women"]
    assert answers["answer"].fillna("").tolist() == ["3", "3", "2", ""]
    assert "answer_key" not in answers
    # The column of the cluster has its name in the benchmark.
    assert answers["cluster"].unique().tolist() == ["p1"]
    assert validate_answers(answers, benchmarks=[levels]) == []


def test_cluster_is_taken_only_if_the_answers_must_have_it(levels, decisions, table):
    listed = replace(levels, clusters={"s1": "p1"}, listed=("s1",))
    answers = import_table(table(LONG, "a.csv"), benchmark=listed, columns=MAPPED)
    assert "cluster" not in answers
    path = table([ROW | {"answer": "yes", "cluster": 3}])
    assert "cluster" not in import_table(path, benchmark=decisions)
    named = import_table(path, benchmark=decisions, columns={"cluster": "cluster"})
    assert named["cluster"].tolist() == ["3"]


@pytest.mark.parametrize("field", ["Race+Age", "Race +Sex +Age"])
def test_joined_field_that_is_missing_is_named(field, levels, table):
    columns = MAPPED | {"group": field}
    with pytest.raises(InputError, match=r"no record has the field 'Race.*'; use one of stay"):
        import_table(table(LONG, "a.csv"), benchmark=levels, columns=columns)


def test_blank_part_of_joined_fields_is_named_with_its_row(levels, table):
    content = LONG.replace("Black,Men", ",Men")
    with pytest.raises(InputError) as raised:
        import_table(table(content, "a.csv"), benchmark=levels, columns=MAPPED)
    (problem,) = raised.value.problems
    assert (problem.row, problem.column) == (3, "group")
    assert "Race+Sex, and Race is empty" in problem.message


def test_field_with_a_plus_in_its_name_is_that_field(decisions, table):
    path = table([{"a+b": "i7", "a": 1, "b": 2, "answer": "no"} | ROW])
    answers = import_table(path, benchmark=decisions, columns={"item_id": "a+b"})
    assert answers["item_id"].tolist() == ["i7"]


# Several models, groups and questions in the columns of one row


WIDE = (
    "id,olmo2_7b_emma_answer,olmo2_7b_aisha_answer,r1_emma_answer,r1_aisha_answer,note\n"
    "i1,yes,Unclear,no,maybe,x\n"
)


@pytest.mark.parametrize(
    "wide",
    [
        {"{model}_{group}_answer": "{model}_{group}_answer"},
        {"emma": "{model}_emma_answer", "aisha": "{model}_aisha_answer"},
        {"name:emma": "{model}_emma_answer", "aisha": "{model:olmo2_7b|r1}_aisha_answer"},
    ],
)
def test_template_of_columns_fills_model_and_group(wide, decisions, table):
    answers = import_table(
        table(WIDE, "a.csv"), benchmark=decisions, columns={"item_id": "id"}, wide=wide
    )
    found = answers.set_index(["model", "group"])["answer"].fillna("").to_dict()
    assert found == {
        ("olmo2_7b", "emma"): "yes",
        ("olmo2_7b", "aisha"): "",
        ("r1", "emma"): "no",
        ("r1", "aisha"): "maybe",
    }


@pytest.mark.parametrize(
    ("wide", "given", "message"),
    [
        ({"{model}-{group}": "{model}-{group}"}, {}, "has no column like '{model}-{group}'"),
        ({"emma": "{model}_{model}"}, {}, "different parts in braces"),
        ({"emma": "{a}{b}{c}{d}{e}"}, {}, "up to 4 different parts in braces"),
        (
            {"emma": "{model}_emma_answer", "aisha": "r1_{x}_answer"},
            {},
            "r1_emma_answer: fits two groups",
        ),
        (
            {"{model}_{group}_answer": "{model}_{group}_answer"},
            {"constants": {"model": "m"}},
            "model: is already given by the columns of the groups",
        ),
    ],
)
def test_template_that_does_not_fit_is_refused(wide, given, message, decisions, table):
    with pytest.raises(InputError) as caught:
        import_table(
            table(WIDE, "a.csv"), benchmark=decisions, columns={"item_id": "id"}, wide=wide, **given
        )
    assert message in str(caught.value)


def test_nested_labels_of_several_questions_share_a_cluster(benchmark_of, table):
    options = 'kind = "decision"\noptions = ["yes", "no"]\nfavourable = ["yes"]'
    benchmark = benchmark_of(f'{options}\ncluster = "message"')
    rows = [
        {"message": "m1", "who": {"group": group}, "model": "m", "labels": {"visit": a, "call": b}}
        for group, a, b in (("emma", "Yes", "no"), ("aisha", "No", "no"))
    ]
    answers = import_table(
        table(rows),
        benchmark=benchmark,
        columns={"item_id": "message+question", "group": "who.group"},
        wide={"labels.{question}": "labels.{question}"},
    )
    assert answers["item_id"].tolist() == ["m1+visit", "m1+call"] * 2
    assert answers["cluster"].unique().tolist() == ["m1"]
    assert answers["answer"].tolist() == ["yes", "no", "no", "no"]


def test_known_values_decide_where_a_template_is_split():
    known = {"group": ["high", "high_income"]}
    assert matched("{group}_{x}", "high_income_a", known) == {"group": "high_income", "x": "a"}
    assert matched("{model}_{group}", "a_b_high", known) == {"model": "a_b", "group": "high"}
    assert matched("{a}.{b}", "axb") is None
    assert matched("{a}", "x" * 201) is None
    with pytest.raises(Fault):
        parts_of("{a}{a}")


# Attribute and group in one value


def split_rows(*variants):
    row = {"model": "m", "item_id": "i1", "answer": "yes"}
    return [row | {"variant": variant} for variant in variants]


SPLIT = {"variant": "{attribute}_{group}"}


def test_value_without_an_attribute_is_an_answer_for_each(decisions, table):
    path = table(split_rows("base", "name_emma", "name_aisha", "school_state"))
    answers = import_table(path, benchmark=decisions, split=SPLIT)
    assert answers[["attribute", "group"]].to_numpy().tolist() == [
        ["name", "base"],
        ["school", "base"],
        ["name", "emma"],
        ["name", "aisha"],
        ["school", "state"],
    ]
    assert validate_answers(answers, benchmarks=[decisions]) == []


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("age_old", "does not match {attribute}_{group}, and is not a group of three"),
        ("nobody", "does not match {attribute}_{group}, and is not a group of three"),
        ("name_eva", "unknown group"),
    ],
)
def test_value_that_is_no_variant_is_named_with_its_row(variant, message, decisions, table):
    path = table(split_rows("base", variant))
    with pytest.raises(InputError) as caught:
        import_table(path, benchmark=decisions, split=SPLIT)
    (problem,) = caught.value.problems
    assert (problem.row, message in problem.message) == (2, True)
    # Records that are not selected need no attribute.
    given = {"split": SPLIT, "where": {"group": "base"}}
    assert len(import_table(path, benchmark=decisions, **given)) == 2


def test_split_of_a_missing_field_is_refused(decisions, table):
    with pytest.raises(InputError, match="has no column 'variants'; use one of model"):
        import_table(
            table(split_rows("base")), benchmark=decisions, split={"variants": "{attribute}"}
        )


# A JSON file for each answer


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()

    def write(**files):
        for name, content in files.items():
            path = tmp_path / "runs" / f"{name}.json"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return tmp_path / "runs"

    return write


def one(answer, **fields):
    response = {} if answer is None else {"recommend": answer}
    return {**ROW, "run": 1, "response": response} | fields


COLUMNS = {"answer": "response.recommend", "sample": "run"}


def test_folder_of_json_files_is_one_table(folder, decisions):
    path = folder(a=one("yes"), b=one(None, run=2), c=[one("no", run=3), one("maybe", run=4)])
    answers = import_table(path, benchmark=decisions, columns=COLUMNS)
    # A failed answer may lack its field.
    assert answers["answer"].fillna("").tolist() == ["yes", "", "no", "maybe"]
    (path / "table.csv").write_text("model,item_id,attribute,group,answer\nm,i1,name,aisha,yes\n")
    # Next to tables, JSON files describe these.
    assert len(import_table(path, benchmark=decisions)) == 1


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": one("yes"), "b": one("yes")}, "b.json: row 1: key"),
        ({"a": one("yes"), "b": one("yes")}, "the same answer is in "),
        ({"a": one("yes"), "b": one("no", group="x", run=2)}, "b.json: row 1: group = 'x'"),
        ({"a": one("yes"), "b": "3"}, "b.json: is not a JSON object"),
        ({"a": one("yes"), "b": "{"}, "b.json: "),
        ({"a": one("yes"), "b": '{"a": 1, "a": 2}'}, "b.json: the name 'a' appears more than once"),
    ],
)
def test_faulty_json_file_is_named(files, message, folder, decisions):
    with pytest.raises(InputError) as caught:
        import_table(folder(**files), benchmark=decisions, columns=COLUMNS)
    assert message in str(caught.value)


def test_command_counts_empty_cells_and_cuts_long_texts_between_words(decisions, table, tmp_path):
    stray = "This one needs a long conversation with the family before anything else."
    rows = [
        ROW | {"answer": answer, "model": "a", "sample": sample}
        for sample, answer in enumerate(["yes", "", "", stray, "x" * 90])
    ]
    arguments = ["--benchmark", decisions.path, "--out", tmp_path / "out"]
    done = CliRunner().invoke(app, list(map(str, ["import", "table", table(rows), *arguments])))
    assert done.exit_code == 0, done.output
    counts = "1 answer, 0 refused, 4 unparsed (empty 2, 'This one needs a long conversation …' 1, "
    assert done.stderr.strip() == f"“a”, “plain”: {counts}'{'x' * 39}…' 1)"


def test_command_counts_the_answers_of_each_model(decisions, table, tmp_path):
    rows = [
        ROW | {"answer": answer, "model": model, "sample": sample}
        for model in ("a", "b")
        for sample, answer in enumerate(["yes", "Unclear", "Unclear", "I cannot help with that."])
    ]
    arguments = ["--benchmark", decisions.path, "--out", tmp_path / "out"]
    done = CliRunner().invoke(app, list(map(str, ["import", "table", table(rows), *arguments])))
    assert done.exit_code == 0, done.output
    counts = "1 answer, 1 refused, 2 unparsed ('Unclear' 2)"
    assert done.stderr.splitlines() == [f"“{m}”, “plain”: {counts}" for m in "ab"]
    assert len(read_answers(tmp_path / "out")) == 8
