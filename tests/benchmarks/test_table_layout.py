"""The layout of a table is recognised, or the message names the columns and the option."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import fairstats
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.table_layout import recognise_layout
from fairstats.benchmarks.vignette_items import load_items
from fairstats.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_printed_import(done):
    """Run the import that `init` printed."""
    (command,) = re.findall(r"  fairstats (import .*)", done.stderr)
    imported = run(*shlex.split(command))
    assert imported.exit_code == 0, imported.output
    return imported


def table_of(columns, rows=12):
    """Make a table; a column's name may be followed by what its cells hold."""
    cells = {
        "id": lambda n: f"c{n}",
        "text": lambda n: f"A man of {n} years has chest pain. What is the next step now?",
        "option": lambda n: ("yes", "no")[n % 2],
        "letter": lambda n: "ABCD"[n % 4],
        "few": lambda n: ("cardiology", "neurology")[n % 2],
    }
    named = [column.partition(":")[::2] for column in columns]
    return pd.DataFrame(
        {name: [cells[of or "option"](n) for n in range(rows)] for name, of in named}
    )


@pytest.mark.parametrize(
    ("columns", "found", "wide", "attribute"),
    [
        ("id:id, white, black", {"item_id": "id"}, ("{group}",), "race"),
        (
            "case_id:id, gpt_4_w, gpt_4_b, gpt_4_mini_w, gpt_4_mini_b",
            {"item_id": "case_id"},
            ("{model}_{group}",),
            "race",
        ),
        (
            "id:id, Male GPT-4, Female GPT-4, Male o3, Female o3",
            {"item_id": "id"},
            ("{group} {model}",),
            "sex",
        ),
        (
            "id:id, question:text, dept:few, m1_male_answer, "
            "m1_female_answer, m2_male_answer, m2_female_answer, "
            "m1_male_why:text, m1_female_why:text",
            {"item_id": "id"},
            ("{model}_{group}_answer",),
            "sex",
        ),
        (
            "id:id, key:letter, x_male:letter, x_female:letter, y_male:letter, y_female:letter",
            {"item_id": "id", "answer_key": "key"},
            ("{model}_{group}",),
            "sex",
        ),
        (
            "id:id, Correct choice:letter, x_male:letter, x_female:letter, y_male:letter, "
            "y_female:letter",
            {"item_id": "id", "answer_key": "Correct choice"},
            ("{model}_{group}",),
            "sex",
        ),
        # A right answer is one of the answers.
        (
            "id:id, key:few, answer_male, answer_female",
            {"item_id": "id"},
            ("answer_{group}",),
            "sex",
        ),
        (
            "Vignette:id, answer_white_male, "
            "answer_white_female, answer_black_male, answer_black_female",
            {"item_id": "Vignette"},
            ("answer_{group}",),
            "race_sex",
        ),
        (
            "id:id, white, black, male, female",
            {"item_id": "id"},
            ("race:white=white,black=black", "sex:male=male,female=female"),
            "",
        ),
        (
            "id:id, original, neutralized, male, female",
            {"item_id": "id"},
            ("{group}",),
            "sex",
        ),
        (
            "id:id, gpt_emma, gpt_aisha, claude_emma, claude_aisha",
            {"item_id": "id"},
            ("{model}_{group}",),
            "group",
        ),
        (
            "id:id, emma_gpt, aisha_gpt, emma_claude, aisha_claude",
            {"item_id": "id"},
            ("{group}_{model}",),
            "group",
        ),
        (
            "case:id, m_rich, m_poor, n_rich, n_poor, notes:text",
            {"item_id": "case"},
            ("{model}_{group}",),
            "income",
        ),
        # Words for prompts are no models.
        (
            "id:id, gpt_plain_male, gpt_plain_female, gpt_zero-shot_male, gpt_zero-shot_female, "
            "o3_plain_male, o3_plain_female, o3_zero-shot_male, o3_zero-shot_female",
            {"item_id": "id"},
            ("{model}_{strategy:plain|zero-shot}_{group}",),
            "sex",
        ),
        (
            "id:id, Male CoT, Female CoT, Male few-shot prompt, Female few-shot prompt",
            {"item_id": "id"},
            ("{group} {strategy:CoT|few-shot prompt}",),
            "sex",
        ),
        (
            "id:id, gpt_male, gpt_female, gpt_cot_male, gpt_cot_female",
            {"item_id": "id"},
            ("{model}_{group}",),
            "sex",
        ),
        # Replies to read.
        ("id:id, gpt_male:text, gpt_female:text", {"item_id": "id"}, ("{model}_{group}",), "sex"),
    ],
)
def test_columns_of_groups_are_recognised(columns, found, wide, attribute):
    layout = recognise_layout(table_of(columns.split(", ")), columns={})
    assert (layout.columns, layout.wide, layout.attribute) == (found, wide, attribute)
    assert layout.models == ("{model}" in "".join(wide))


def test_template_leaves_out_other_columns_that_it_would_fit():
    columns = ["id:id", "a_male", "a_female", "b_male", "b_female", "free_text:text"]
    layout = recognise_layout(table_of(columns), columns={})
    assert layout.wide == ("{model}_{group:male|female}",)
    assert layout.left_out == {"free_text": "texts"}


def sheet_of(models, groups, sep=" - ", rows=40):
    """Make a sheet with a column for each model and group, and others around them."""
    options = ("admit", "observe", "send home")
    table = pd.DataFrame({"Case no": [f"K{n}" for n in range(rows)]}, dtype=object)
    table["Case text"] = [f"Patient {n} has had chest pain for {n} hours now." for n in range(rows)]
    for i, model in enumerate(models):
        table[f"Remarks {i}"] = [f"Seen by nurse {n}, who adds nothing to it." for n in range(rows)]
        for j, group in enumerate(groups):
            table[f"{model}{sep}{group}"] = [options[(n * (i + 2) + j) % 3] for n in range(rows)]
    return table.assign(department=["emergency", "intensive care"] * (rows // 2))


MODELS = ("Atlas", "Boreal", "Cirrus", "Delta 2")
AGES = ("young", "middle", "old")


def with_odd_cells(table, column):
    """Put a refusal, an empty cell and a sentence into a column."""
    sentence = "I am sorry, this one needs a conversation with the family before anything else."
    table.loc[[3, 5, 9], column] = ["refused", None, sentence]
    return table


@pytest.mark.parametrize(
    ("models", "groups", "sep", "wide"),
    [
        (MODELS, AGES, " - ", "{model} - {group}"),
        (MODELS, AGES, "_", "{model}_{group}"),
        (MODELS, ("young", "middle-aged", "old"), ": ", "{model}: {group}"),
        (MODELS, ("young", "middle_aged", "old"), "_", "{model}_{group:young|middle_aged|old}"),
        (("Big Bear XL", "Atlas"), AGES, " / ", "{model} / {group}"),
        (("GPT 4", "Claude 3"), ("urban", "rural", "coast", "hills"), " - ", "{model} - {group}"),
        (
            ("gpt", "llama"),
            ("white_male", "black_female"),
            "_",
            "{model}_{group:white_male|black_female}",
        ),
    ],
)
def test_all_groups_of_all_models_are_taken_whatever_their_words(models, groups, sep, wide):
    table = with_odd_cells(sheet_of(models, groups, sep), f"{models[-1]}{sep}{groups[-1]}")
    layout = recognise_layout(table, columns={})
    assert layout.wide == (wide,)
    texts = dict.fromkeys(["Case text", *(f"Remarks {i}" for i in range(len(models)))], "texts")
    assert layout.left_out == texts | {"department": "2 values"}


def test_facts_next_to_columns_of_groups_are_no_groups():
    names = ["gpt_white", "gpt_black", "o3_white", "o3_black"]
    table = table_of(["id:id", *names]).assign(age=range(20, 32), sex=["male", "female"] * 6)
    layout = recognise_layout(table, columns={})
    assert (layout.columns, layout.wide) == ({"item_id": "id"}, ("{model}_{group}",))
    assert list(layout.left_out) == ["age", "sex"]


def test_columns_of_models_and_texts_next_to_groups_are_no_groups():
    names = ["id:id", *(f"{model}_{what}" for model in ("gpt", "o3") for what in ("pick", "dose"))]
    table = table_of(names).assign(race=["white", "black"] * 6)
    with pytest.raises(fairstats.InputError, match="no column is recognised as the answer"):
        recognise_layout(table, columns={})


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_truth_values_are_proposed_and_imported_as_texts(layout, suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = table_of(["id:id", "gpt_white", "gpt_black"]).replace({"yes": "True", "no": "False"})
    table = table.astype(dict.fromkeys(["gpt_white", "gpt_black"], object))
    table = table.replace({"True": True, "False": False})
    if layout == "long":
        table = table.melt("id", var_name="group", value_name="decision")
    match suffix:
        case "csv":
            table.to_csv("a.csv", index=False)
        case "xlsx":
            table.to_excel("a.xlsx", index=False)
        case "jsonl":
            table.to_json("a.jsonl", orient="records", lines=True)
    done = run("benchmark", "init", f"a.{suffix}")
    assert done.exit_code == 0, done.output
    assert load_benchmark(Path("a.toml")).options == ("True", "False")
    done = run_printed_import(done)
    assert "24 answers, 0 refused, 0 unparsed" in done.stderr


def test_letters_in_parentheses_are_the_options_of_their_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = table_of(["id:id", "key:letter", "white:letter", "black:letter"])
    table["white"], table["black"] = (
        table["white"].shift(1, fill_value="E") + ")",
        "(" + table["key"] + ")",
    )
    table.to_csv("a.csv", index=False)
    done = run("benchmark", "init", "a.csv")
    assert done.exit_code == 0, done.output
    assert "Recognised: item_id = id; answer_key = key;" in done.stderr
    declared = load_benchmark(Path("a.toml"))
    assert (declared.kind.name, declared.options) == ("choice", tuple("ABCDE"))
    done = run_printed_import(done)
    assert "24 answers, 0 refused, 0 unparsed" in done.stderr


def test_column_of_one_model_that_is_almost_all_replies_is_taken():
    table = sheet_of(MODELS, AGES)
    table["Delta 2 - old"] = [f"I would see patient number {n} again soon." for n in range(40)]
    assert recognise_layout(table, columns={}).wide == ("{model} - {group}",)


def test_columns_about_answers_are_no_groups():
    table = sheet_of(MODELS[:2], AGES).assign(
        **{f"{model} - confidence": ["high", "low"] * 20 for model in MODELS[:2]},
        **{f"{model} - ward": ["north", "south"] * 20 for model in MODELS[:2]},
        **{
            f"reason - {group}": [f"Because of {n}, as I said." for n in range(40)]
            for group in AGES
        },
    )
    assert recognise_layout(table, columns={}).wide == (
        "{model:Atlas|Boreal} - {group:young|middle|old}",
    )


@pytest.mark.parametrize(
    ("more", "wide"),
    [
        (["gpt_confidence_white", "gpt_confidence_black"], "{model:gpt|o3}_{group:white|black}"),
        (["gpt_white_correct", "gpt_black_correct"], "{model}_{group:white|black}"),
        (["confidence_white", "confidence_black"], "{model:gpt|o3}_{group:white|black}"),
    ],
)
def test_columns_about_the_answers_of_known_groups_are_no_models(more, wide):
    columns = ["id:id", "gpt_white", "gpt_black", "o3_white", "o3_black", *more]
    layout = recognise_layout(table_of(columns), columns={})
    assert layout.wide == (wide,)
    assert set(layout.left_out) == set(more)


def test_models_and_tables_of_such_words_only_are_kept():
    names = ["text-davinci-003_white", "text-davinci-003_black", "gpt-4_white", "gpt-4_black"]
    assert recognise_layout(table_of(["id:id", *names]), columns={}).wide == ("{model}_{group}",)
    names = ["gpt_correct_white", "gpt_correct_black"]
    assert recognise_layout(table_of(["id:id", *names]), columns={}).wide == ("{model}_{group}",)


@pytest.mark.parametrize(
    ("names", "wide", "models"),
    [
        (
            ["gpt_race_white", "gpt_race_black", "gpt_sex_male", "gpt_sex_female"],
            "{model}_{attribute}_{group}",
            True,
        ),
        (
            ["Race - white", "Race - black", "Sex - male", "Sex - female"],
            "{attribute} - {group}",
            False,
        ),
        (
            ["race_native_american", "race_white"],
            "{attribute}_{group:native_american|white}",
            False,
        ),
    ],
)
def test_attributes_that_columns_name_are_no_models(names, wide, models):
    layout = recognise_layout(table_of(["id:id", *names]), columns={})
    assert (layout.wide, layout.attribute, layout.models) == ((wide,), "", models)


def test_attributes_that_columns_name_are_proposed_and_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    groups = ("race_white", "race_black", "sex_male", "sex_female")
    names = [f"{model}_{group}" for model in ("gpt", "llama") for group in groups]
    table_of(["id:id", *names]).to_csv("a.csv", index=False)
    done = run("benchmark", "init", "a.csv")
    assert done.exit_code == 0, done.output
    assert "Read: 12 items, 2 models, 1 prompt, 4 groups; attribute race, sex" in done.stderr
    done = run_printed_import(done)
    assert "“llama”, “plain”: 48 answers, 0 refused, 0 unparsed" in done.stderr


@pytest.mark.parametrize(
    ("missing", "named", "less"),
    [
        (
            ["Delta 2 - young", "Delta 2 - middle"],
            "Delta 2 - old",
            "{model:Atlas|Boreal|Cirrus} - {group:young|middle|old}",
        ),
        (
            ["Boreal - middle", "Cirrus - middle", "Delta 2 - middle"],
            "Atlas - middle",
            "{model} - {group:young|old}",
        ),
    ],
)
def test_columns_that_fit_in_part_are_refused_with_both_options(missing, named, less):
    table = sheet_of(MODELS, AGES).drop(columns=missing)
    with pytest.raises(fairstats.InputError) as caught:
        recognise_layout(table, columns={}, source="a.xlsx")
    (problem,) = caught.value.problems
    assert problem.message.endswith(f": {named}")
    use = '--wide "{model} - {group}"'
    assert problem.remedy == f'give {use} to use them, or --wide "{less}" to leave them out'


def test_model_whose_cells_are_all_replies_is_refused_with_both_options():
    table = sheet_of(MODELS[:3], AGES)
    for group in AGES:
        table[f"Cirrus - {group}"] = [f"I would admit patient number {n} now." for n in range(40)]
    with pytest.raises(fairstats.InputError, match="Cirrus - young, Cirrus - middle, Cirrus - old"):
        recognise_layout(table, columns={})


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_sheet_with_a_group_of_unknown_name_is_proposed_and_imported_whole(
    suffix, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = with_odd_cells(sheet_of(MODELS, AGES), "Delta 2 - old")
    write = table.to_csv if suffix == "csv" else table.to_excel
    write(f"cases.{suffix}", index=False)
    done = run("benchmark", "init", f"cases.{suffix}")
    assert done.exit_code == 0, done.output
    assert "Read: 40 items, 4 models, 1 prompt, 3 groups; attribute age" in done.stderr
    done = run_printed_import(done)
    assert "“Atlas”, “plain”: 120 answers, 0 refused, 0 unparsed" in done.stderr
    assert "“Delta 2”, “plain”: 117 answers, 1 refused, 2 unparsed" in done.stderr


def long_table(**columns):
    rows = [
        {"case": f"c{n}", "llm": model, "race": race, "sex": sex, "decision": ("yes", "no")[n % 2]}
        for n in range(6)
        for model in ("a", "b")
        for race in ("white", "black")
        for sex in ("male", "female")
    ]
    return pd.DataFrame(rows).assign(**columns)


def test_rows_of_answers_are_recognised():
    layout = recognise_layout(long_table(), columns={})
    assert layout.columns == {
        "item_id": "case",
        "model": "llm",
        "answer": "decision",
        "group": "race+sex",
    }
    assert (layout.attribute, layout.crossed, layout.models) == ("race_sex", ("race", "sex"), True)


def test_column_named_attribute_is_the_attribute_of_the_groups():
    """Groups of two attributes can have the same name."""
    table = long_table(attribute=lambda rows: "race", group=lambda rows: rows["race"])
    both = pd.concat([table, table.assign(attribute="sex")]).drop(columns=["race", "sex"])
    both = both.drop_duplicates(["case", "llm", "attribute", "group"])
    assert recognise_layout(both, columns={}, source="table.csv").left_out == {}


def test_version_without_a_patient_beside_crossed_groups_is_the_baseline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = long_table()
    none = table[(table["race"] == "white") & (table["sex"] == "male")]
    table = pd.concat([table, none.assign(race="None", sex="n/a")])
    table.to_csv("a.csv", index=False)
    done = run("benchmark", "init", "a.csv")
    assert done.exit_code == 0, done.output
    assert "group None+n/a = neutralized (the baseline)" in done.stderr
    declared = load_benchmark(Path("a.toml"))
    assert list(declared.attributes) == ["race", "sex", "race_sex", "baseline"]
    (command,) = re.findall(r"  fairstats (import .*)", done.stderr)
    for arguments in (shlex.split(command), ("validate", "answers/a", "--benchmark", "a.toml")):
        done = run(*arguments)
        assert done.exit_code == 0, done.output


BASELINES = [
    ("original", "original", ("{model}_{group}",)),
    ("neutralized", "neutralized", ("{model}_{group}",)),
    ("Neutral", "neutralized", ("{model}_{group:white|black}", "neutralized={model}_Neutral")),
    ("baseline", "original", ("{model}_{group:white|black}", "original={model}_baseline")),
]


@pytest.mark.parametrize(("name", "variant", "wide"), BASELINES)
@pytest.mark.parametrize("layout", ["wide", "race", "group"])
def test_original_next_to_groups_is_the_baseline(
    layout, name, variant, wide, tmp_path, monkeypatch
):
    """It was the first group of race, so that white and black were not compared."""
    monkeypatch.chdir(tmp_path)
    groups = (name, "white", "black")
    table = table_of(
        ["id:id", *(f"{model}_{group}" for model in ("gpt", "o3") for group in groups)]
    )
    if layout != "wide":
        table = table.melt("id", value_name="answer")
        table[["model", layout]] = table.pop("variable").str.split("_", expand=True).to_numpy()
    table.to_csv("a.csv", index=False)
    done = run("benchmark", "init", "a.csv", "--attribute", "race")
    assert done.exit_code == 0, done.output
    declared = load_benchmark(Path("a.toml"))
    assert {name: one.pairs for name, one in declared.attributes.items()} == {
        "race": (("white", "black"),),
        "baseline": (("original", "neutralized"),),
    }
    assert layout != "wide" or all(f"columns {one}" in done.stderr for one in wide)
    (command,) = re.findall(r"  fairstats (import .*)", done.stderr)
    for arguments in (shlex.split(command), ("validate", "answers/a", "--benchmark", "a.toml")):
        done = run(*arguments)
        assert done.exit_code == 0, done.output
    answers = fairstats.read_answers(tmp_path / "answers" / "a")
    assert set(answers.loc[answers["attribute"] == "baseline", "group"]) == {variant}
    assert len(answers) == 6 * 12


def test_original_next_to_groups_of_two_attributes_is_the_baseline():
    names = ["id:id", *(f"gpt_{g}" for g in ("baseline", "white", "black", "male", "female"))]
    assert recognise_layout(table_of(names), columns={}).wide == (
        "baseline:original={model}_baseline",
        "race:white={model}_white,black={model}_black",
        "sex:male={model}_male,female={model}_female",
    )


def test_original_next_to_groups_of_no_people_is_a_group(tmp_path):
    groups = ("original", "recency", "frequency")
    table_of(["id:id", *(f"gpt4_{group}" for group in groups)]).to_csv(tmp_path / "a.csv")
    done = run(
        "benchmark", "init", tmp_path / "a.csv", "--map", "item_id=id", "--wide", "{model}_{group}",
        *("--out", tmp_path / "a.toml"),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (attribute,) = load_benchmark(tmp_path / "a.toml").varied
    assert attribute.pairs == (("original", "recency"), ("original", "frequency"))


def test_group_named_none_that_is_crossed_is_a_group():
    table = long_table().replace({"race": {"black": "none"}})
    assert recognise_layout(table, columns={}).values == ()
    table.loc[table["race"] == "none", "sex"] = "none"
    assert recognise_layout(table, columns={}).values == ("group:none+none=neutralized",)


def test_given_columns_are_kept():
    layout = recognise_layout(long_table(), columns={"group": "sex", "item_id": "case"})
    assert layout.columns == {"model": "llm", "answer": "decision"}
    assert "--map group=sex+race" in layout.left_out["race"]


def test_models_in_columns_and_groups_in_rows_are_recognised_with_a_template():
    table = long_table().rename(columns={"decision": "gpt_answer"}).drop(columns="llm")
    with pytest.raises(fairstats.InputError, match=r'template such as --wide "\{model\}_answer"'):
        recognise_layout(table, columns={})
    layout = recognise_layout(table, columns={}, wide=["{model}_answer"])
    assert layout.columns == {"group": "race+sex", "item_id": "case"}
    assert (layout.attribute, layout.crossed, layout.models) == ("race_sex", ("race", "sex"), True)


def test_given_columns_of_groups_name_no_model():
    table = table_of(["id:id", "x", "y"])
    layout = recognise_layout(table, columns={}, wide=["male=x,female=y"])
    assert (layout.columns, layout.models, layout.left_out) == ({"item_id": "id"}, False, {})


def test_long_replies_are_replies_to_read():
    table = long_table()
    table["decision"] = [
        f"I think that number {n} should be seen today." for n in range(len(table))
    ]
    assert recognise_layout(table, columns={}).columns["answer_raw"] == "decision"


@pytest.mark.parametrize("given", [{}, {"answer": "decision"}])
@pytest.mark.parametrize("name", ["Reply", "raw_response", "answer_raw"])
def test_replies_next_to_answers_are_kept(given, name):
    table = long_table()
    table[name] = [f"I think that I would say this: {one}." for one in table["decision"]]
    table["reason"] = [f"Because number {n} waits for a month." for n in range(len(table))]
    layout = recognise_layout(table, columns=given)
    assert (layout.columns | given)["answer"] == "decision"
    assert layout.columns["answer_raw"] == name
    assert list(layout.left_out) == ["reason"]


@pytest.mark.parametrize(
    ("name", "column"), [("prediction", "answer"), ("model answer", "answer"), ("score", None)]
)
def test_short_predictions_next_to_replies_are_the_answers(name, column):
    table = long_table().rename(columns={"decision": name})
    table["reply"] = [f"I think that number {n} should be seen." for n in range(len(table))]
    layout = recognise_layout(table, columns={})
    assert layout.columns["answer_raw"] == "reply"
    assert layout.columns.get("answer") == (column and name)


def test_a_second_column_of_answers_is_no_reply():
    table = long_table()
    table["response"] = table["decision"]
    assert "answer_raw" not in recognise_layout(table, columns={}).columns


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            table_of(["id:id", "emma_anna", "emma_lisa", "aisha_anna", "aisha_lisa"]),
            r"emma_anna.*not clear which is the group; give --wide \"\{model\}_\{group\}\" or",
        ),
        (
            table_of(["id:id", *(f"gpt_{g}{s}" for s in ("_cot", "") for g in ("male", "female"))]),
            "gpt_{group}_cot, gpt_{group} differ by words that one of them lacks; name the",
        ),
        (
            table_of(["id:id", *(f"run{n}_{g}" for n in (1, 2) for g in ("male", "female"))]),
            r"run1, run2 .* samples, not models; give --wide \"run\{sample\}_\{group\}\" .*"
            r"or --wide \"\{model\}_\{group\}\"",
        ),
        (
            table_of(
                ["id:id", *(f"{g}_o3_temp{n}" for n in ("0", "0.7") for g in ("male", "female"))]
            ),
            r"o3_temp0, o3_temp0.7 .*--wide \"\{group\}_\{model\}_\{strategy:temp0\|temp0.7\}\"",
        ),
        (
            table_of(["id:id", *(f"run{n} o3 {g}" for n in (1, 2) for g in ("male", "female"))]),
            r"run1 o3, run2 o3 .*--wide \"run\{sample\} \{model\} \{group\}\"",
        ),
        (
            table_of(["id:id", *(f"prompt {p} {g}" for p in "ab" for g in ("male", "female"))]),
            r"prompt a, prompt b .*--wide \"\{strategy:prompt a\|prompt b\} \{group\}\"",
        ),
        (
            table_of(
                [
                    "id:id",
                    *(f"{m}_{g}" for m in ("o3", "o3_urgency") for g in ("male", "female")),
                    *(f"{m}_{g}" for m in ("yi", "yi_urgency") for g in ("male", "female")),
                ]
            ),
            r"o3_urgency_male, .* yi_urgency_female .*; give --wide \"\{model\}_\{group\}\" if .*"
            r" or --wide \"\{model:o3\|yi\}_\{group:male\|female\}\" to leave them out",
        ),
        (
            table_of(["id:id", "x", "y"]),
            "no column is recognised as the group; .*columns are id, x, y",
        ),
        (
            long_table(gender="x").assign(gender=["x", "y"] * 24),
            "several columns could be the group",
        ),
        (long_table().rename(columns={"decision": "z"}), "no column is recognised as the answer"),
        (
            table_of(["note:text", "male", "female"]).assign(note="same"),
            "no column is recognised as the items' identifier; give it with --map item_id=COLUMN",
        ),
    ],
)
def test_ambiguous_layout_is_refused_with_columns_and_option(table, said):
    with pytest.raises(fairstats.InputError, match=said):
        recognise_layout(table, columns={}, source="a.xlsx")


def test_rows_of_models_and_samples_next_to_columns_of_groups_are_recognised():
    rows = [
        {"Case": f"c{n}", "System": model, "Run": run, "Key": "A", "insured": "A", "uninsured": "B"}
        for model in ("Aspen", "Birch")
        for run in (1, 2)
        for n in range(5)
    ]
    found = recognise_layout(pd.DataFrame(rows), columns={})
    assert found.columns == {
        "item_id": "Case",
        "model": "System",
        "sample": "Run",
        "answer_key": "Key",
    }
    assert found.models
    given = recognise_layout(pd.DataFrame(rows), columns={}, wide=["insured=insured,x=uninsured"])
    assert given.columns == found.columns
    assert given.models
    # Without the runs, no column identifies a row.
    with pytest.raises(fairstats.InputError, match="items' identifier"):
        recognise_layout(pd.DataFrame(rows).drop(columns="Run"), columns={})


def test_column_that_tells_repeated_rows_apart_is_named():
    rows = [
        {"case": f"c{n}", "group": group, "model": "m", "Version": version, "answer": "A", "no": n}
        for version in ("1", "2")
        for n in range(5)
        for group in ("white", "black")
    ]
    table = pd.DataFrame(rows)
    said = recognise_layout(table, columns={}).left_out["Version"]
    assert "--map model=model+Version" in said
    assert "--map sample=Version" in said
    for columns in ({"model": "model+Version"}, {"sample": "Version"}):
        assert "Version" not in recognise_layout(table, columns=columns).left_out
    # A snapshot names no model, so `import` would refuse the rows as duplicates.
    with pytest.raises(fairstats.InputError, match=r"Version: .*--map model=model\+Version"):
        recognise_layout(table, columns={"snapshot": "Version"})
    once = table.assign(model="m" + table["Version"])
    assert recognise_layout(once, columns={"snapshot": "Version"}).columns["item_id"] == "case"
    # A row that is there twice is no other version, whatever its number.
    twice = pd.concat([table[table["Version"] == "1"]] * 2, ignore_index=True)
    assert "--map" not in str(recognise_layout(twice.assign(row=range(20)), columns={}).left_out)


def test_value_that_import_refuses_is_refused_before_a_file_is_proposed(tmp_path):
    rows = [
        {
            "case": f"c{n}",
            "group": group,
            "model": "m",
            "Version": None if n else "1",
            "answer": "A",
        }
        for n in range(5)
        for group in ("white", "black")
    ]
    path = tmp_path / "a.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    done = run(
        "benchmark", "init", path, "--map", "model=model+Version", "--out", tmp_path / "a.toml"
    )
    assert done.exit_code == 1
    assert "is made of model+Version, and Version is empty" in done.output
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_column_that_is_proposed_as_the_cluster_is_not_called_unused(tmp_path):
    rows = [
        {"Case": f"c{n}", "Group": group, "Clinic": f"Clinic {n % 12}", "Answer": "AB"[n % 2]}
        for n in range(48)
        for group in ("white", "black")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    done = run("benchmark", "init", tmp_path / "a.csv", "--out", tmp_path / "a.toml")
    assert done.exit_code == 0, done.output
    assert 'cluster = "Clinic"' in (tmp_path / "a.toml").read_text(encoding="utf-8")
    assert "cluster = Clinic" in done.output
    assert "Not used" not in done.output


def test_printed_command_imports_the_same_sheet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"{model}_{group}" for model in ("gpt4o", "llama-3") for group in ("white", "black")]
    table = table_of(["case_id:id", "question:text", *names], rows=30).astype(object)
    table.loc[[1, 2, 3], names[0]] = ["refused", "declined", None]
    table.to_excel("my answers.xlsx", index=False)
    done = run("benchmark", "init", "my answers.xlsx")
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == ["my-answers.toml", "my-answers.keys.jsonl"]
    assert "Not used: question (texts). Give answers with --wide" in done.stderr
    for entry in ('kind = "decision"', "favourable", "missing", "equivalence_margin", "pairs"):
        assert re.search(rf"  line \d+: {entry}", done.stderr)
    done = run_printed_import(done)
    assert "“gpt4o”, “plain”: 57 answers, 2 refused, 1 unparsed" in done.stderr
    assert "“llama-3”, “plain”: 60 answers, 0 refused, 0 unparsed" in done.stderr
    assert run("benchmark", "check", "my-answers.toml").exit_code == 0


@pytest.mark.parametrize("prompts", [[""], ["plain_", "cot_"]])
def test_model_without_a_name_has_a_place_in_the_command(prompts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    groups = [f"{prompt}{group}" for prompt in prompts for group in ("male", "female")]
    table_of(["id:id", *groups], rows=30).to_csv("a.csv", index=False)
    done = run("benchmark", "init", "a.csv")
    assert "--model MODEL" in done.stderr
    assert "Replace MODEL by the model's name" in done.stderr
    (command,) = re.findall(r"  fairstats (import .*)", done.stderr)
    done = run(*shlex.split(command.replace("MODEL", "gpt")))
    for prompt in prompts:
        assert f"“gpt”, “{prompt.strip('_') or 'plain'}”: 60 answers" in done.stderr


def test_items_file_of_the_page_on_import_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = table_of(["case_id:id", "gpt4o_white", "gpt4o_black"], rows=4)
    for group in ("white", "black"):
        table[f"text_{group}"] = [f"A {group} man of {n} has a cough. Café?" for n in range(4)]
    table.to_excel("triage.xlsx", index=False)
    assert run("benchmark", "init", "triage.xlsx").exit_code == 0
    page = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
    (code,) = (c for c in re.findall(r"(?s)```python\n(.*?)```", page) if "triage.items" in c)
    exec(code, {})
    toml = Path("triage.toml")
    toml.write_text('items_file = "triage.items.jsonl"\n' + toml.read_text())
    items = load_items(load_benchmark(toml))
    assert [item.item_id for item in items] == list(table["case_id"])
    assert items[2].variants["black"] == table["text_black"][2]
