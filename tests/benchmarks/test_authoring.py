"""A benchmark file proposed from answers can be loaded, and fits these answers."""

from __future__ import annotations

import json
import shlex
import tomllib

import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.benchmarks.authoring import MOST_GROUPS, likely_cluster, propose_benchmark
from fairstats.benchmarks.benchmark_files import write_benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app

TWELVE = tuple(f"group_{number}" for number in range(12))
HOSTILE = ('the "first"', "it's", "a\\b", "[x]", "# y", "é = 1", "pairs", "=1+1")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def answers(answers_of):
    """Return answers of one model for some groups of one attribute."""

    def build(groups, attribute="origin", **unit):
        items = ["".join("ABE"[(n + i) % 3] for i in range(len(groups))) for n in range(6)]
        unit = {"benchmark": "mine"} | unit
        return answers_of(items, groups=groups, attribute=attribute, **unit)

    return build


def proposed(frame, folder):
    return load_benchmark(
        write_benchmark(folder, propose_benchmark(frame), source=folder, items=False)
    )


@pytest.mark.parametrize("groups", [("b", "a"), TWELVE, HOSTILE])
def test_proposal_declares_what_the_answers_contain(groups, answers, tmp_path):
    frame = answers(groups)
    benchmark = proposed(frame, tmp_path)
    assert validate_answers(frame, benchmarks=[benchmark]) == []
    attribute = benchmark.attributes["origin"]
    assert tuple(attribute.groups) == groups
    assert attribute.pairs == tuple((groups[0], other) for other in groups[1:])
    assert benchmark.options == ("A", "B", "C", "D", "E")


def test_words_of_pairs_name_the_group_that_all_begin_with(answers, tmp_path):
    assert proposed(answers(("low_income", "x", "y")), tmp_path).pair_terms == (
        "low income",
        "other",
    )
    baseline = answers(("original", "neutralized"), attribute="baseline")
    control = answers(("rain", "sun"), attribute="placebo")
    frame = pd.concat([answers(("b", "a")), baseline, control])
    assert proposed(frame, tmp_path / "control").pair_terms == ("b", "other")


def test_words_of_pairs_are_general_if_attributes_begin_differently(answers, tmp_path):
    frame = pd.concat([answers(("b", "a")), answers(("m", "f"), attribute="sex")])
    assert proposed(frame, tmp_path).pair_terms == ("first", "second")


def test_proposal_calls_an_item_by_the_name_of_its_column(tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "mine.toml"
    path.write_text("Case no,young,old\n1,yes,no\n2,no,yes\n")
    assert run("benchmark", "init", path, "--out", toml).exit_code == 0
    declared = tomllib.loads(toml.read_text())
    assert declared["words"]["item"] == "case"
    assert declared["versions"] == {"1": "cases of version 1"}


def test_proposal_has_neutralized_variant_if_answers_have_a_baseline(answers, tmp_path):
    baseline = answers(("original", "neutralized"), attribute="baseline")
    frame = pd.concat([answers(("b", "a")), baseline])
    assert list(proposed(frame, tmp_path).attributes["baseline"].groups) == [
        "original",
        "neutralized",
    ]


def test_groups_that_no_answer_can_have_are_refused(answers, tmp_path):
    with pytest.raises(fairstats.InputError, match=r"groups = 'a\\nb': is not a possible name"):
        proposed(answers(("a\nb", "c")), tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"group": [f"g{n}" for n in range(MOST_GROUPS + 1)]}, "61 different groups; use at most"),
        ({"group": "one"}, "origin has a single group"),
        ({"benchmark": ["x", "y"]}, "has 2 benchmarks: x, y"),
        ({"benchmark": "demo"}, "'demo': is a built-in benchmark"),
        ({"attribute": "baseline", "group": ["original", "x"]}, "not a variant of the baseline"),
        ({"attribute": "pooled"}, "is reserved"),
        ({"answer_key": ["A", "B"]}, "'item-0': has several answer keys: A, B"),
    ],
)
def test_answers_that_determine_no_benchmark_are_refused(change, said, answers):
    frame = answers(tuple(f"g{number}" for number in range(MOST_GROUPS + 1)))
    few = {"group": ["a", "b"]} | change
    frame = frame.iloc[: len(few["group"]) if isinstance(few["group"], list) else 2]
    frame = frame.assign(item_id="item-0", **few)
    with pytest.raises(fairstats.InputError, match=said):
        propose_benchmark(frame)


def test_single_group_can_be_the_unchanged_version(tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "mine.toml"
    variants = ("origin,German", "origin,Turkish", "start case,As is")
    rows = [f"i{n},{v},{'yes' if n % 2 else 'no'}" for n in range(4) for v in variants]
    path.write_text("\n".join(["item_id,attribute,group,answer", *rows]))
    done = run("benchmark", "init", path, "--out", toml)
    assert done.exit_code == 1
    said = done.output.strip()
    assert "attribute start case has a single group; add the answers for the other groups" in said
    given = shlex.split(said.partition("if it is the unchanged version, use ")[2])
    assert given.count("--values") == 2
    done = run("benchmark", "init", path, "--out", toml, *given)
    assert done.exit_code == 0, done.output
    declared = tomllib.loads(toml.read_text())["attributes"]
    assert [*declared] == ["origin", "baseline"]
    # Of the baseline's pair there is nothing to decide.
    decisions = [line for line in done.output.splitlines() if "pairs, e.g." in line]
    assert [line.partition("e.g. ")[2] for line in decisions] == ['["German", "Turkish"]']


@pytest.mark.parametrize("suffix", ["parquet", "csv", "xlsx"])
def test_commands_propose_check_and_analyze(suffix, answers, tmp_path):
    frame = answers(TWELVE)
    path = tmp_path / f"answers.{suffix}"
    if suffix == "xlsx":
        frame[["item_id", "group", "answer_key", "answer"]].to_excel(path, index=False)
        options = ("--benchmark", "mine", "--attribute", "origin")
    else:
        getattr(frame, f"to_{suffix}")(path, index=False)
        options = ()
    toml = tmp_path / "new" / "mine.toml"
    done = run("benchmark", "init", path, "--out", toml, *options)
    assert done.exit_code == 0, done.output
    checked = run("benchmark", "check", toml)
    assert checked.exit_code == 0
    assert "12 groups, 11 pairs of 66" in checked.stdout
    assert "DECIDE: see lines 8, 11" in checked.stdout
    if suffix == "parquet":
        analyzed = run("analyze", path, "--benchmark", toml, "--json")
        assert analyzed.exit_code == 0
        assert '"group_11"' in analyzed.stdout


@pytest.mark.parametrize("wide", [False, True])
def test_decimal_commas_are_proposed_as_scores(wide, tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "mine.toml"
    scores = [(f"{n % 9},{n % 10}", f"{n % 7}") for n in range(40)]
    if wide:
        rows = ["item_id;young;old", *(f"i{n};{a};{b}" for n, (a, b) in enumerate(scores))]
    else:
        rows = ["item_id;group;answer"]
        rows += [
            f"i{n};{g};{x}" for n, o in enumerate(scores) for g, x in zip("ab", o, strict=True)
        ]
    path.write_text("\n".join(rows))
    done = run("benchmark", "init", path, "--out", toml)
    assert done.exit_code == 0, done.output
    declared = tomllib.loads(toml.read_text())
    largest = max(float(text.replace(",", ".")) for pair in scores for text in pair)
    assert (declared["kind"], declared["limits"]) == ("score", [0, largest])
    assert "a comma" not in done.output


@pytest.mark.parametrize(("typed", "is_far"), [("711", True), ("-60", True), ("95", False)])
def test_scores_far_from_all_others_are_pointed_out(typed, is_far, tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "mine.toml"
    rows = [f"i{n},{g},{40 + n}" for n in range(30) for g in ("low", "high")]
    path.write_text("\n".join(["item_id,group,answer", *rows, f"i30,low,{typed}"]))
    run("benchmark", "init", path, "--out", toml)
    assert (f"{typed} is far from the other scores, 40 to 69." in toml.read_text()) is is_far


def test_limits_contain_scores_with_more_digits_than_are_stored(tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "m.toml"
    scores = ["0.9941788612800804", "0.00562605067939288", "0.5", "0.7"]
    pd.DataFrame({"item_id": ["i1", "i2"], "a": scores[:2], "b": scores[2:]}).to_csv(path)
    done = run("benchmark", "init", path, "--wide", "a=a,b=b", "--out", toml)
    assert done.exit_code == 0, done.output
    done = run(
        *("import", "table", path, "--benchmark", toml, "--wide", "a=a,b=b", "--model", "M"),
        *("--out", tmp_path / "out"),
    )
    assert done.exit_code == 0, done.output
    done = run("validate", tmp_path / "out", "--benchmark", toml)
    assert done.exit_code == 0, done.output


def test_groups_that_look_alike_are_refused_with_the_option_that_makes_them_one(tmp_path):
    """The problem was that of a label, which nobody had written yet."""
    path = tmp_path / "a.csv"
    rows = [f"i{n},{g},{'yes' if n else 'no'}" for n in (0, 1, 2) for g in ("low", "high")]
    path.write_text("\n".join(["item_id,group,answer", *rows, 'i4,"Low ",yes']))
    done = run("benchmark", "init", path, "--out", tmp_path / "mine.toml")
    assert done.exit_code == 1
    assert done.output.startswith(
        f"{path}: group = 'Low ': differs from 'low' in case, blanks or _ only; make them one, "
        "e.g. with --values 'group:Low =low'"
    )
    given = ("--values", "group:Low =low", "--out", tmp_path / "mine.toml")
    assert run("benchmark", "init", path, *given).exit_code == 0


def test_many_spellings_of_groups_are_one_problem_that_names_the_columns(tmp_path):
    path = tmp_path / "a.csv"
    races, sexes = ("white", "White", "black ", "BLACK", "black"), ("man", " man", "Woman", "woman")
    rows = [f"i{n},{r},{s},{n + 1}.5" for n in range(3) for r in races for s in sexes]
    path.write_text("\n".join(["item_id,Race,Sex,answer", *rows]))
    done = run("benchmark", "init", path, "--out", tmp_path / "mine.toml")
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert "16 groups of attribute race_sex differ from others" in line
    assert "trim and lower-case the columns race and sex" in line


def test_sentence_among_the_options_is_named_as_a_possible_refusal(answers):
    cells = ["yes", "no", "I'd rather not say."] * 4
    frame = answers(("a", "b")).drop(columns="answer_key").assign(answer=cells)
    text = propose_benchmark(frame)["mine.toml"]
    assert '# DECIDE: "I\'d rather not say." is an option; if it is a refusal, remove it' in text


@pytest.mark.parametrize(("usual", "odd"), [("12345", "6"), (["yes", "no"], "yse")])
def test_option_of_a_single_row_is_asked_about(usual, odd, tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "mine.toml"
    rows = [f"i{n},{g},{usual[n % len(usual)]}" for n in range(60) for g in ("low", "high")]
    rows[71] = f"i35,high,{odd}"
    path.write_text("\n".join(["item_id,group,answer", *rows]))
    done = run("benchmark", "init", path, "--out", toml)
    assert f"DECIDE: '{odd}' is only one of 120 answers (item i35, high)" in done.output
    assert f"DECIDE: '{odd}'" in toml.read_text()
    # Twice, it is an option.
    for written in tmp_path.glob("mine.*"):
        written.unlink()
    path.write_text(
        "\n".join(["item_id,group,answer", *rows, f"i60,low,{odd}", f"i60,high,{usual[0]}"])
    )
    assert "is only one of" not in run("benchmark", "init", path, "--out", toml).output


def test_control_characters_in_a_table_are_refused_with_row_and_value(answers, tmp_path):
    path = tmp_path / "answers.csv"
    answers(("a\nb", "c\x1b[2J")).to_csv(path, index=False)
    done = run("benchmark", "init", path, "--out", tmp_path / "mine.toml")
    assert done.exit_code == 1
    assert "rows 1, 3, 5 and 3 more: group = 'a\\nb': " in done.output
    assert "\x1b" not in done.output
    assert not (tmp_path / "mine.toml").exists()


def test_init_keeps_a_file_that_was_edited(answers, tmp_path):
    path, toml = tmp_path / "answers.parquet", tmp_path / "mine.toml"
    answers(("a", "b")).to_parquet(path)
    assert run("benchmark", "init", path, "--out", toml).exit_code == 0
    edited = toml.read_text().replace("0.02\n", "0.05\n")
    toml.write_text(edited)
    done = run("benchmark", "init", path, "--out", toml)
    assert (done.exit_code, toml.read_text()) == (1, edited)
    assert "already exists with different content" in done.output
    # Of other items, all files to remove are named at once.
    frame = answers(("a", "b"))
    frame.assign(item_id=frame["item_id"] + "x").to_parquet(path)
    done = run("benchmark", "init", path, "--out", toml)
    for name in ("mine.toml", "mine.keys.jsonl"):
        assert f"{tmp_path / name}: already exists" in done.output


def test_check_lists_every_problem_with_line_and_value(answers, tmp_path):
    path, toml = tmp_path / "answers.parquet", tmp_path / "mine.toml"
    answers(("a", "b")).to_parquet(path)
    run("benchmark", "init", path, "--out", toml)
    text = toml.read_text()
    toml.write_text(
        text.replace("equivalence_margin = 0.02", "equivalence_margin = 2")
        .replace('missing = "available"', 'missing = "guess"')
        .replace('["a", "b"]', '["a", "c"]')
    )
    done = run("benchmark", "check", toml)
    lines = [line.removeprefix(f"{toml}: ") for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert len(lines) == 3
    assert "missing = 'guess': is unknown" in lines[0]
    assert "equivalence_margin = '2': must be" in lines[1]
    assert "attributes.origin.pairs = 'c': unknown group" in lines[2]
    number = text.split("\n").index("equivalence_margin = 0.02") + 1
    assert lines[1].startswith(f"line {number}: ")


SPLIT = ("--split", "variant={attribute}_{group}")
TABLES = {
    "levels": (
        "stay,patient,Race,Sex,level,acuity,model\n"
        + "".join(
            f"s{n},p{n // 2},{race},{sex},{1 + n % 4}.0,{1 + n % 3},m\n"
            for n in range(30)
            for race in ("White", "Black")
            for sex in ("Men", "Women")
        ),
        ("--map", "item_id=stay", "--map", "group=Race+Sex", "--map", "answer=level"),
    ),
    "decisions": (
        "variant,model,job,run,rec\n"
        + "".join(
            f"{variant},m,j{job},{run},{answer}\n"
            for job in range(5)
            for variant in ("placebo_rain", "base", "name_emma", "name_aisha")
            for run, answer in ((1, "Yes"), (2, "maybe"), (3, ""), (4, "no"))
        ),
        ("--map", "item_id=job", "--map", "answer=rec", "--map", "sample=run", *SPLIT),
    ),
    "scores": (
        "id,one_x_score,one_y_score,two_x_score,two_y_score\n"
        + "".join(f"i{n},{n},{n + 1},{n / 2},Unclear\n" for n in range(12)),
        ("--map", "item_id=id", "--wide", "{model}_{group}_score"),
    ),
    "choices": (
        "id,one_x_answer,one_y_answer,key\n" + "i1,A,Unclear,B\ni2,C,A,C\n",
        ("--map", "item_id=id", "--wide", "{model}_{group}_answer", "--map", "answer_key=key"),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_proposal_from_a_table_fits_what_import_reads(name, tmp_path, snapshot):
    content, options = TABLES[name]
    path, toml, out = tmp_path / "a.csv", tmp_path / "mine.toml", tmp_path / "out"
    path.write_text(content)
    of_init = options + (("--map", "answer_key=acuity") if name == "levels" else ())
    done = run("benchmark", "init", path, "--benchmark", "mine", "--out", toml, *of_init)
    assert done.exit_code == 0, done.output
    entries = [line for line in toml.read_text().splitlines() if line[:1] not in ("", "#")]
    checked = run("benchmark", "check", toml)
    assert checked.exit_code == 0
    assert (entries, checked.stdout.splitlines()[1:-1]) == snapshot
    done = run("import", "table", path, "--benchmark", toml, "--out", out, *options)
    assert done.exit_code == 0, done.output
    assert run("validate", out, "--benchmark", toml).exit_code == 0
    assert run("analyze", out, "--benchmark", toml, "--json").exit_code == 0


FORMATS = ("{}", "Level {}", "ESI-{}", "Level: {}\nBecause it is urgent.", "I would say level {}.")


@pytest.mark.parametrize(
    ("answers", "keys", "options"),
    [
        # Replies are no options; the keys are.
        ([form.format(n) for n in range(1, 6) for form in FORMATS], [1, 2, 3, 4, 5] * 5, "12345"),
        (["A", "(b)", "Answer: C", "A"], ["A", "B", "C", "A"], "ABC"),
        # Without keys, a few texts among numbers or letters are none.
        ([*map(str, [1, 2, 3, 4, 5] * 4), "n/a", "hard"], None, "12345"),
        ([*"ABAB" * 4, "I refuse"], None, "AB"),
        # Y and N are words, not the end of 25 options.
        ([*"YNNY" * 4], [*"YNYY" * 4], "NY"),
    ],
)
def test_replies_among_the_answers_are_no_options(answers, keys, options):
    rows = pd.DataFrame({"answer": answers, "item_id": [f"i{n}" for n in range(len(answers))]})
    rows = rows.assign(benchmark="mine", benchmark_version="1", attribute="age")
    if keys is not None:
        rows = rows.assign(answer_key=list(map(str, keys)))
    both = pd.concat([rows.assign(group="old"), rows.assign(group="young")])
    declared = tomllib.loads(propose_benchmark(both)["mine.toml"])["options"]
    assert declared == (list(options) if isinstance(declared[0], str) else list(map(int, options)))


@pytest.mark.parametrize(
    ("header", "cells", "said"),
    [
        ("item_id,group,answer", [f"i{n},{'ab'[n % 2]},long {n}" for n in range(30)], "has 30"),
        ("item_id,group,answer", ["i1,a,Unclear", "i1,b,"], "has 0 different short texts (none)"),
        ("item_id,group,answer", ["i1,a,yes", "i1,b,yes"], "has only one answer, 'yes', so no"),
        ("item_id,group,answer", ["i1,a,0.5", "i1,b,0.5"], "has only one answer, '0.5', so no"),
        (
            "item_id;group;answer",
            ["i1;a;1,205", "i1;b;12,125"],
            "has numbers with a unit, a comma or a percent sign ('1,205', '12,125')",
        ),
        ("item_id,group,answer", ["i1,a,10 mg", "i1,b,5"], "a percent sign ('10 mg')"),
        ("item_id,group,answer", ["i1,a,20%", "i1,b,5 %"], "or a percent sign ('20%'"),
        ("x,group,answer", ["i1,a,yes", "i1,b,no"], "item_id: no column is recognised"),
        (
            "item_id,group,answer,cluster",
            ["i1,a,yes,p1", "i1,b,no,p2"],
            "item_id = 'i1': has several clusters: p1, p2",
        ),
        (
            "item_id,group,answer,cluster",
            ["i1,a,yes,", "i1,b,no,"],
            "cluster: is empty for some items",
        ),
    ],
)
def test_table_that_determines_no_benchmark_is_refused(header, cells, said, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header, *cells]))
    given = ("--map", "cluster=cluster") if "cluster" in header else ()
    done = run(
        "benchmark", "init", path, "--benchmark", "mine", "--out", tmp_path / "m.toml", *given
    )
    assert done.exit_code == 1
    assert said in done.output


@pytest.mark.parametrize(
    ("header", "cells", "declared"),
    [
        # Spellings differ by case and blanks.
        (
            "item_id,group,answer",
            ["i1,a,See  later", "i1,b,see later", "i2,a,see later", "i2,b,Treat now"],
            ('options = ["Treat now", "see later"]', 'favourable = ["Treat now"]'),
        ),
        # A key is written as the answers are.
        (
            "item_id,group,answer,answer_key",
            ["i1,a,YES,yes", "i1,b,YES,yes", "i2,a,YES,no", "i2,b,no,no"],
            ('options = ["YES", "no"]',),
        ),
        # Items may lack a key, and a key may be an answer that no model gave.
        (
            "item_id,group,answer,answer_key",
            ["i1,a,yes,maybe", "i1,b,yes,maybe", "i2,a,no,", "i2,b,no,"],
            ('options = ["yes", "maybe", "no"]', "# The items, with the keys of 1 of 2."),
        ),
        # A few refusals are no option, many are; a rare sentence is a reply.
        (
            "item_id,group,answer",
            [
                f"i{n},{g},{'declined' if n == 1 and g == 'a' else 'yno'[n % 2 :][:1]}"
                for n in range(20)
                for g in "ab"
            ],
            ('options = ["n", "y"]', "# DECIDE: 'declined' counts as a refusal"),
        ),
        (
            "item_id,group,answer",
            [
                f"i{n},{g},{'I cannot answer' if n == 1 and g == 'a' else ('Yes', 'No')[n % 2]}"
                for n in range(20)
                for g in "ab"
            ],
            ('options = ["Yes", "No"]', "# DECIDE: 'I cannot answer' counts as a refusal"),
        ),
        (
            "item_id,group,answer",
            [
                f"i{n},{g},{('granted', 'declined', 'later')[n % 3]}"
                for n in range(20)
                for g in "ab"
            ],
            ('options = ["granted", "declined", "later"]',),
        ),
        (
            "item_id,group,answer",
            [
                f"i{n},{g},{('yes', 'no', 'I will not say')[n % 2 + (n == 1) * (g == 'a')]}"
                for n in range(80)
                for g in "ab"
            ],
            ('options = ["yes", "no"]',),
        ),
        # Being rejected is good for nobody.
        (
            "item_id,group,answer",
            ["i1,a,interview", "i1,b,reject"],
            ('options = ["interview", "reject"]', 'favourable = ["interview"]'),
        ),
    ],
)
def test_proposed_options_fit_the_answers(header, cells, declared, tmp_path):
    path, toml = tmp_path / "a.csv", tmp_path / "m.toml"
    path.write_text("\n".join([header, *cells]))
    done = run("benchmark", "init", path, "--benchmark", "mine", "--out", toml)
    assert done.exit_code == 0, done.output
    assert all(entry in toml.read_text() for entry in declared)
    assert run("benchmark", "check", toml).exit_code == 0
    keys = [json.loads(line) for line in (tmp_path / "m.keys.jsonl").read_text().splitlines()]
    given = {row.split(",")[0]: row.split(",")[3] for row in cells if row.count(",") == 3}
    found = {row["item_id"]: row.get("answer_key", "") for row in keys}
    assert {key.casefold() for key in found.values()} <= {"", *given.values()}
    assert [item for item, key in found.items() if key] == [n for n, key in given.items() if key]


@pytest.mark.parametrize(
    ("values", "columns", "found"),
    [
        ([f"p{n // 2}" for n in range(30)], ["shared"], "shared"),
        # One of each item, a few values, and texts are no clusters.
        ([f"p{n}" for n in range(30)], ["shared"], None),
        ([f"p{n % 3}" for n in range(30)], ["shared"], None),
        ([f"the text {n // 2}" for n in range(30)], ["shared"], None),
        ([None, *(f"p{n // 2}" for n in range(29))], ["shared"], None),
        ([f"p{n // 2}" for n in range(30)], [], None),
        # A number is a fact, such as an age, unless its column names what is numbered.
        ([20 + n // 2 for n in range(30)], ["shared"], None),
        ([str(20 + n // 2) for n in range(30)], ["shared"], None),
        ([20 + n // 2 for n in range(30)], ["Patient No."], "Patient No."),
        ([20 + n // 2 for n in range(30)], ["subject_id"], "subject_id"),
    ],
)
def test_likely_cluster_is_a_name_that_several_items_share(values, columns, found):
    frame = pd.DataFrame({"item_id": range(30), **dict.fromkeys(["shared", *columns], values)})
    assert likely_cluster(pd.concat([frame, frame]), columns) == found


WORDS = "item_id,group,answer,answer_key\n" + "".join(
    f"i{n},{group},{word},{word}\n"
    for n, word in enumerate(("urgent", "routine", "emergency"))
    for group in "ab"
)


def test_levels_of_words_are_stated_with_their_numbers(tmp_path):
    """Words that `init` had sorted were levels in alphabetical order, and nothing said so."""
    path, toml = tmp_path / "a.csv", tmp_path / "m.toml"
    path.write_text(WORDS)
    run("benchmark", "init", path, "--out", toml)
    proposed = toml.read_text()
    order = "1 = emergency, 2 = routine, 3 = urgent"
    assert f"# DECIDE: for levels, the order (proposed: {order})." in proposed
    levels = proposed.replace('kind = "choice"', 'kind = "level"')
    toml.write_text(levels)
    checked = run("benchmark", "check", toml).stdout
    assert f"kind level: an answer is one of {order}\n" in checked
    assert "levels are in alphabetical order" in checked
    assert "a missing answer is 1 = emergency" in checked
    assert "not declared: higher (what a higher level means)" in checked
    assert f"levels on a scale of {order}" in load_benchmark(toml).basis()
    ordered = '["emergency", "urgent", "routine"]\nhigher = "less urgent"'
    toml.write_text(levels.replace('["emergency", "routine", "urgent"]', ordered))
    checked = run("benchmark", "check", toml).stdout
    assert "1 = emergency, 2 = urgent, 3 = routine; more means less urgent" in checked
    assert "alphabetical" not in checked
    assert "not declared: higher" not in checked


def test_check_lists_every_wrong_type_and_missing_key(benchmark_file):
    path = benchmark_file(missing="missing = 3", licence='license = "CC0"')
    done = run("benchmark", "check", path)
    assert done.exit_code == 1
    assert "licence: is missing; add it" in done.stdout
    assert "missing = '3': " in done.stdout
    assert "did you mean licence?" in done.stdout


def test_commands_name_a_benchmark_with_open_decisions(answers, tmp_path):
    path, toml = tmp_path / "answers.parquet", tmp_path / "mine.toml"
    answers(("a", "b")).to_parquet(path)
    run("benchmark", "init", path, "--out", toml)
    assert "decisions still marked DECIDE" in run("validate", path, "--benchmark", toml).stderr
    toml.write_text(toml.read_text().replace("# DECIDE:", "#"))
    assert "DECIDE" not in run("validate", path, "--benchmark", toml).stderr


def test_check_refuses_items_without_the_text_of_a_group(tmp_path):
    demo = load_benchmark("demo")
    rows = [json.loads(line) for line in demo.items_file.read_text().splitlines()]
    del rows[3]["variants"]["white"]
    (tmp_path / "mine.items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    text = demo.path.read_text().replace("demo.items.jsonl", "mine.items.jsonl")
    text = text.replace('name = "demo"', 'name = "mine"').replace(demo.title, "Mine")
    (tmp_path / "mine.toml").write_text(text)
    done = run("benchmark", "check", tmp_path / "mine.toml")
    assert done.exit_code == 1
    assert "white" in done.stdout
