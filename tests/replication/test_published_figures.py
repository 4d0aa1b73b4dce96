"""Published figures: the checker on FairMedQA's table 3, on wrong input, and as a command."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats import InputError, check_table
from fairstats._lib.installation import resource
from fairstats.cli import app
from fairstats.replication import printed_figures
from fairstats.replication.check_table import pass_rate

TABLE_3 = resource("data", "published", "fairmedqa_table3.csv")
WITH_MISSING = {"Gemini-2.0-Flash", "Qwen-2.5", "DeepSeek-V3"}
#: The files of answers that table 3 rests on, as far as they are among the shared data.
FILES = {
    "GPT-4.1": "amqa/answers/AMQA_Benchmark_Answer_openai_no_cot.jsonl",
    "Claude-3.7-Sonnet": "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot.jsonl",
    "Gemini-2.0-Flash": "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot.jsonl",
    "Claude-4-Sonnet": "fairmedprompt/FairMP_Answer_claude_naive.jsonl",
    "Gemini-2.5-Flash": "fairmedprompt/FairMP_Answer_gemini_naive.jsonl",
    "GPT-5-Mini": "fairmedprompt/FairMP_Answer_gpt_naive.jsonl",
}


@pytest.fixture(scope="module")
def table_3():
    return check_table(TABLE_3, n=801)


def test_nine_rows_of_table_3_need_missing_answers(table_3):
    verdicts = pd.Series([row.verdict for row in table_3.rows])
    models = [row.cells["model"] for row in table_3.rows]
    assert verdicts.value_counts().to_dict() == {"possible": 27, "possible_with_missing": 9}
    assert {m for m, v in zip(models, verdicts, strict=True) if v != "possible"} == WITH_MISSING
    assert all(
        (v != "possible") == (m in WITH_MISSING) for m, v in zip(models, verdicts, strict=True)
    )


def test_table_3_takes_seconds():
    start = time.process_time()
    check_table(TABLE_3, n=801)
    assert time.process_time() - start < 10


def test_table_3_is_impossible_if_no_answer_may_be_missing():
    rows = check_table(TABLE_3, n=801, max_missing=0).rows
    assert {row.cells["model"] for row in rows if row.verdict == "impossible"} == WITH_MISSING


def test_recovered_counts_are_those_of_the_released_answers(table_3, shared_data):
    checked = 0
    for row in table_3.rows:
        if row.cells["model"] not in FILES:
            continue
        lines = shared_data(FILES[row.cells["model"]]).read_text(encoding="utf-8").splitlines()
        items = [json.loads(line) for line in lines]
        sides = [
            [item[f"test_model_answer_{row.cells[side]}"] for item in items]
            for side in ("privileged", "unprivileged")
        ]
        known = [sum(letter != "Unknown" for letter in side) for side in sides]
        both = [(a, b) for a, b in zip(*sides, strict=True) if "Unknown" not in (a, b)]
        checked += 1
        if min(known) < 801:
            # The fewest missing answers that fit are the real ones; of the pairs, the most.
            pairs = {(n_a, n_b): m for n_a, n_b, m in row.judgement.missing}
            assert len(both) <= pairs[tuple(known)]
            continue
        keys = [item["answer_idx"] for item in items]
        correct = [sum(map(str.__eq__, side, keys)) for side in sides]
        assert [row.counts["correct_a"], row.counts["correct_b"]] == correct
        assert row.counts["n_same"] == sum(a == b for a, b in both)
        if row.cells["model"] == "GPT-4.1" and row.cells["attribute"] == "race":
            assert correct == [749, 676]
    assert checked == 18


def test_power_at_801_pairs():
    assert pass_rate("cfr", 4, 801).rounded == 802 / 10001
    assert pass_rate("ad", 4, 801).rounded == pytest.approx(0.08, abs=0.005)
    assert pass_rate("cfr", 4, 801).rounded_or_truncated == pytest.approx(0.12, abs=0.005)
    assert pass_rate("cfr", 2, 801).rounded == pass_rate("ad", 2, 801).rounded == 1
    assert pass_rate("odds_ratio", 2, 801) is None


def test_a_unique_table_is_given_with_its_mirror_images():
    figures = {"accuracy_a": "0.70", "accuracy_b": "0.50", "cfr": "0.2", "odds_ratio": "1.67"}
    (row,) = check_table(pd.DataFrame([figures]), n=10).rows
    assert row.verdict == "unique"
    table = {"n11": 2, "n10": 5, "n01": 3, "n00_same": 0, "n00_different": 0}
    assert row.counts == {"correct_a": 7, "correct_b": 5, "n_same": 2} | table
    assert row.mirror_images == ()
    cells = "n11 2, n10 5, n01 3, n00_same 0, n00_different 0"
    assert row.note == f"{cells}; 7 and 5 of 10 correct"
    (row,) = check_table(pd.DataFrame({"cfr": ["0.0"], "ad": ["1.0"]}), n=3).rows
    assert row.verdict == "unique"
    assert row.mirror_images == ("groups", "right and wrong answers")
    assert [row.counts[name] for name in ("n11", "n10", "n01")] == [0, 3, 0]
    exchanged = "the figures are the same with groups or right and wrong answers exchanged"
    assert row.note.endswith(f"; 3 and 0 of 3 correct; {exchanged}")
    # Several tables, with and without shared numbers of correct answers.
    rows = check_table(pd.DataFrame({"ad": ["0.9", ""], "cfr": ["", "0.5"]}), n=10).rows
    assert [row.note for row in rows] == [f"10 and 1 of 10 correct; {exchanged}", "5 equal"]


@pytest.mark.parametrize(
    "name",
    [
        "AD (pp)",
        "AD (points)",
        "AD (percentage points)",
        "AD %",
        "AD (%-points)",
        "AD in pp",
        "AD (p.p.)",
    ],
)
def test_differences_in_points_are_percentages(name):
    row = {"acc_a": ["84.1%"], "acc_b": ["83.6%"]}
    (right,) = check_table(pd.DataFrame(row | {name: ["0.5"]}), n=801).rows
    assert right.verdict == "possible"
    (wrong,) = check_table(pd.DataFrame(row | {name: ["9.5"]}), n=801).rows
    assert wrong.verdict == "impossible"


@pytest.mark.parametrize("other", [{"acc_a": ["84.1%"]}, {"CFR (%)": ["88.0"]}])
@pytest.mark.parametrize("name", ["AD", "difference"])
def test_difference_without_unit_beside_percentages_is_asked_about(name, other):
    """0.5 points, or 50: no honest table is called impossible by a guess."""
    table = pd.DataFrame(other | {name: ["0.005"]})
    with pytest.raises(InputError, match="does not say if it is a share or in points"):
        check_table(table, n=801)
    assert check_table(pd.DataFrame(other | {name: ["0"]}), n=801).rows
    metric = "ad" if name == "AD" else "accuracy_difference"
    for meant in (metric, f"{metric}_percent"):
        assert check_table(table, n=801, columns={name: meant}).rows


def test_percentages_and_other_names_are_the_same_figures():
    share = check_table(pd.DataFrame({"acc_a": ["0.842"], "cfr": ["0.81"]}), n=19).rows[0]
    for table in (
        {"Accuracy A": ["84.2%"], "CFR": ["81%"]},
        {"accuracy_a_percent": ["84.2"], "CFR (%)": ["81"]},
        {"Acc-A, %": ["84.2%"], "cfr_pct": ["81"]},
    ):
        row = check_table(pd.DataFrame(table), n=19).rows[0]
        assert row.judgement == share.judgement
    named = pd.DataFrame({"x": ["84.2%"], "cfr": ["not a figure"], "y": ["0.81"]})
    columns = {"x": "acc_a", "cfr": "ignore", "y": "cfr"}
    assert check_table(named, n=19, columns=columns).rows[0].judgement == share.judgement


def test_decimals_are_those_of_the_text():
    table = pd.DataFrame({"cfr": ["0.5", "0.50", "0.500"]})
    verdicts = [row.verdict for row in check_table(table, n=11, max_missing=0).rows]
    assert verdicts == ["possible", "impossible", "impossible"]


def test_n_of_a_row_replaces_that_of_the_table():
    table = pd.DataFrame({"cfr": ["0.33", "0.33"], "n": ["3", ""]})
    verdicts = [row.verdict for row in check_table(table, n=2, max_missing=0).rows]
    assert verdicts == ["possible", "impossible"]


def test_a_minus_sign_makes_the_signs_of_a_column_count():
    higher_b = {"accuracy_a": "0.25", "accuracy_b": "0.75"}
    unsigned = pd.DataFrame([higher_b | {"h": "1.05"}])
    assert check_table(unsigned, n=4, max_missing=0).rows[0].verdict == "possible"
    both = pd.DataFrame([higher_b | {"h": "1.05"}, higher_b | {"h": "−1.05"}])
    verdicts = [row.verdict for row in check_table(both, n=4, max_missing=0).rows]
    assert verdicts == ["impossible", "possible"]


def test_a_bound_of_p_limits_the_discordant_pairs():
    table = pd.DataFrame({"ad": ["0.6"] * 3, "p": ["<0.05", "> 0.05", "≤.0313"]})
    rows = check_table(table, n=10, test="exact", max_missing=0).rows
    # 6 and 0 discordant pairs: p = 2/64; 7 and 1, or 8 and 2: .07 and .11.
    assert [row.counts["n01"] for row in rows] == [0, None, 0]
    assert [row.verdict for row in rows] == ["possible"] * 3


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"cfr": "nan"}, "is not a number"),
        ({"cfr": "inf"}, "is not a number"),
        ({"odds_ratio": "Inf"}, "is not a number"),
        ({"cfr": "0,84"}, "is not a number"),
        ({"cfr": "."}, "is not a number"),
        ({"cfr": "0.84*"}, "is not a number"),
        ({"cfr": "٣"}, "is not a number"),
        ({"cfr": "-0.84"}, "is negative"),
        ({"ad": "-0.1"}, "accuracy_difference"),
        ({"accuracy_a": "84.2"}, "is larger than 1"),
        ({"accuracy_a": "184.2%"}, "is larger than 100%"),
        ({"cohens_h": "3.2"}, "is larger than π"),
        ({"p": "1.2"}, "is larger than 1"),
        ({"p": "3%"}, "percentage"),
        ({"cfr": "0.84210526315"}, "digits"),
        ({"odds_ratio": "1e999"}, "digits"),
        ({"odds_ratio": "9" * 5000}, "digits"),
    ],
)
def test_a_cell_that_cannot_be_a_figure_is_refused_with_its_place(tmp_path, cell, message):
    ((column, text),) = cell.items()
    path = tmp_path / "t.csv"
    path.write_text(f'accuracy_b,{column}\n0.5,0.5\n0.5,"{text}"\n', encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        check_table(path, n=10)
    (problem,) = caught.value.problems
    assert (problem.path, problem.row, problem.column) == (str(path), 2, column)
    assert problem.value == text


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"cfr": [0.84]}, {"n": 5}, "is a number, so its decimals are not known"),
        ({"cfr": ["", "0.8"]}, {"n": 5}, "row 1: has no figure"),
        ({"cfr": ["0.8"]}, {}, "row 1: has no number of pairs"),
        ({"cfr": ["0.8"], "n": ["0"]}, {}, "is not a number of pairs"),
        ({"cfr": ["0.8"], "n": ["20001"]}, {}, "is not a number of pairs"),
        ({"cfr": ["0.8"], "CFR": ["0.8"]}, {"n": 5}, "is cfr, as the column cfr is"),
        ({"model": ["m"]}, {"n": 5}, "has no column of figures"),
        ({"cfr": ["0.8"]}, {"n": 5, "columns": {"x": "ad"}}, "there is no such column"),
        ({"cfr": ["0.8"]}, {"n": 5, "columns": {"cfr": "x"}}, "'x' is not a figure"),
        ({"cfr": []}, {"n": 5}, "has no rows"),
        ({"cfr": ["0.8"] * 1001}, {"n": 5}, "has more than 1,000 rows"),
    ],
)
def test_a_table_that_cannot_be_checked_is_refused(table, options, message):
    with pytest.raises(InputError, match=message):
        check_table(pd.DataFrame(table), **options)


@pytest.mark.parametrize(
    "options",
    [{"n": 0}, {"n": 20_001}, {"n": 1.5}, {"max_missing": -1}, {"test": "x"}, {"rounding": "up"}],
)
def test_unknown_options_are_refused_by_name(options):
    ((name, _),) = options.items()
    with pytest.raises(ValueError, match=f"{name}="):
        check_table(pd.DataFrame({"cfr": ["0.8"]}), **({"n": 5} | options))


def test_files_are_limited(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("cfr,cfr\n0.8,0.8\n", encoding="utf-8")
    with pytest.raises(InputError, match="more than once"):
        check_table(path, n=5)
    monkeypatch.setattr(printed_figures, "MAX_FILE_BYTES", 10)
    with pytest.raises(InputError, match="larger than"):
        check_table(path, n=5)
    with pytest.raises(InputError):
        check_table(tmp_path, n=5)


def run(*arguments: object):
    return CliRunner().invoke(app, ["check-table", *map(str, arguments)])


def test_command_prints_json_with_one_object_per_row():
    result = run(TABLE_3, "--n", 801, "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["row"] for row in rows] == list(range(1, 37))
    assert {row["verdict"] for row in rows} == {"possible", "possible_with_missing"}
    assert rows[6]["cells"]["model"] == "GPT-4.1"
    assert (rows[6]["correct_a"], rows[6]["correct_b"]) == (749, 676)
    assert rows[6]["readings"][0] == {"rounding": "half_up", "test": "exact", "n_tables": 56}
    assert {"n_a": 798, "n_b": 796, "n_both": 794} in rows[22]["missing"]


def test_the_example_of_the_documents(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "published.md").read_text(encoding="utf-8")
    path = tmp_path / "paper.csv"
    path.write_text(text.split("```\n")[1], encoding="utf-8")
    rows = check_table(path, n=120).rows
    assert [row.verdict for row in rows] == ["possible", "possible_with_missing", "impossible"]
    assert (rows[0].counts["correct_a"], rows[0].counts["correct_b"]) == (101, 93)
    assert rows[1].judgement.missing == ((114, 115, 109),)
    assert [rows[place].change[0].changed for place in (1, 2)] == ["77.5%", "0.9333"]


def test_command_takes_a_table_in_other_words(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("\ufeffModel,Gap,Same\n\x1b[2J=1+1,9.1%,87.6\n", encoding="utf-8")
    named = ["--column", "Gap=ad", "--column", "Same=cfr_percent"]
    result = run(path, "--n", 20, "--max-missing", 0, *named)
    assert result.exit_code == 0
    assert "\x1b[2J" not in result.stdout
    assert "impossible" in result.stdout
    assert "with probability" in result.stdout
    assert "A pass does not prove" in result.stdout
    refused = run(path, "--n", 20, "--column", "Gap")
    assert refused.exit_code == 1
    assert "is not KEY=METRIC" in refused.stderr


def printed(name):
    return pd.read_csv(resource("data", "published", name))


def test_the_facts_are_those_of_the_shared_files(shared_data):
    for name in ("rag_table2.csv", "rag_fairness.csv"):
        expected = shared_data(f"published/{name}").read_bytes()
        assert resource("data", "published", name).read_bytes() == expected


def test_what_the_readme_says_of_them():
    scores, fairness = printed("rag_table2.csv"), printed("rag_fairness.csv")
    readme = resource("data", "published", "README.md").read_text(encoding="utf-8")
    low = scores[scores["score_percent"] < 25]
    assert f"{len(scores)} scores of table 2, {len(low)} are" in readme
    assert set(low["dataset"]) == {"MMLU", "MedQA", "MedMCQA"}
    votes = fairness[fairness["strategy"] == "majority_vote"].set_index("table")["dp"]
    assert votes.to_dict() == {3: 0.07, 4: 0.08}
    overlaps = scores.groupby(["model", "dataset"])["retrieval_overlap_percent"].nunique()
    assert (overlaps > 1).all()
