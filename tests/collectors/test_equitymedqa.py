"""The released workbook's layout, with invented rows: all of its content is imported."""

from __future__ import annotations

import pandas as pd
import pytest
from fairstats_collectors.equitymedqa import import_equitymedqa

from fairstats._lib.problems import InputError
from fairstats.ratings.collection import import_tables
from fairstats.ratings.collection.import_ratings import import_ratings

DIMENSIONS = (
    "inaccuracy_for_some_axes", "not_inclusive_for_some_axes",
    "stereotypical_language_characterization", "omits_systemic_explanation",
    "failure_to_challenge", "potential_for_disproportionate", "other_bias",
)  # fmt: skip
PLURAL = tuple(d.replace("explanation", "explanations") for d in DIMENSIONS)
OMAQ = "Open-ended Medical Adversarial Queries (OMAQ)"


def flags(*true, names=DIMENSIONS):
    return {name: name in true for name in names}


def independent(question, rater, bias, *true, group="Physician", dataset=OMAQ, **more):
    who = {"question_id": question, "dataset": dataset, "rater_type": group, "rater_id": rater}
    return who | {"bias_presence": bias} | flags(*true) | more


def paired(question, rater, first, second, *true, group="Consumer"):
    who = {"question_id": question, "rater_type": group, "dataset": OMAQ, "rater_id": rater}
    more = {"Med-PaLM_answer_more_bias": first, "Med-PaLM-2_answer_more_bias": second}
    return who | more | flags(*true)


def counterfactual(one, two, rater, bias, *true, **more):
    who = {"question_1_id": one, "question_2_id": two, "rater_type": "Health equity expert"}
    who |= {"dataset": "Counterfactual Context - Manual (CC-Manual)", "rater_id": rater}
    return who | {"bias_presence": bias} | flags(*true, names=PLURAL) | more


INDEPENDENT = [
    independent(1, 11, "No bias"),
    independent(1, 12, "Minor bias", "other_bias", "failure_to_challenge"),
    independent(1, 12, "Severe bias", "inaccuracy_for_some_axes"),
    independent(2, 21, "No bias", group="Health equity expert", dataset="HealthSearchQA"),
    independent(1, 11, "Minor bias", "other_bias", dataset="HealthSearchQA"),
]
PAIRED = [
    paired(1, 31, True, False, "other_bias"),
    paired(1, 32, False, True, "omits_systemic_explanation"),
    paired(2, 31, False, False),
]
COUNTERFACTUAL = [
    counterfactual("a", "b", 41, True, "omits_systemic_explanations"),
    counterfactual("a", "b", 42, False),
]
SHEETS = {
    "Independent ratings": INDEPENDENT,
    "Paired ratings": PAIRED,
    "Counterfactual Paired ratings": COUNTERFACTUAL,
}


def workbook(path, **sheets):
    with pd.ExcelWriter(path) as writer:
        for name, rows in (SHEETS | sheets).items():
            pd.DataFrame(rows).to_excel(writer, sheet_name=name, index=False)
    return path


def taken(*paths, out):
    return import_ratings(paths, reader=import_equitymedqa, out=out)


def refused(*paths, out, match):
    with pytest.raises(InputError, match=match) as caught:
        taken(*paths, out=out)
    assert not out.exists()
    return caught.value.problems


def counts(ratings, rubric):
    rows = ratings[(ratings["rubric"] == rubric) & ratings["value"].notna()]
    return rows.groupby("dimension")["value"].value_counts().to_dict()


def test_counts_equal_those_of_the_workbook(tmp_path):
    written = taken(workbook(tmp_path / "equitymedqa_ratings.xlsx"), out=tmp_path / "in")
    ratings = written.ratings
    assert [path.name for path in written.paths] == [
        "equitymedqa_counterfactual_independent_pairwise.ratings.parquet"
    ]
    assert len(ratings) == 5 * 8 + 3 * 8 + 2 * 10
    found = counts(ratings, "independent")
    assert found["bias", "none"] == 2
    assert found["bias", "minor"] == 2
    assert found["bias", "severe"] == 1
    for dimension, present in {
        "inaccuracy": 1, "inclusion": 0, "stereotypes": 0, "structural_explanation": 0,
        "biased_premise": 1, "withholding": 0, "other": 2,
    }.items():  # fmt: skip
        assert found.get((dimension, "present"), 0) == present
        assert found[dimension, "absent"] == 5 - present
    found = counts(ratings, "pairwise")
    assert {k: v for k, v in found.items() if k[1] != "tie"} == {
        ("bias", "answer_1"): 1, ("bias", "answer_2"): 1, ("other", "answer_1"): 1,
        ("structural_explanation", "answer_2"): 1,
    }  # fmt: skip
    found = counts(ratings, "counterfactual")
    assert (found["bias", "present"], found["bias", "absent"]) == (1, 1)
    assert found["structural_explanation", "present"] == 1
    # Values that the sheet lacks are not made up.
    empty = ratings["dimension"].isin(["ideal_answers_differ", "contents_differ"])
    assert empty.sum() == 4
    assert ratings.loc[empty, "value"].isna().all()


def test_raters_models_and_repeats_follow_the_sheets(tmp_path):
    ratings = taken(workbook(tmp_path / "r.xlsx"), out=tmp_path / "in").ratings
    bias = ratings[ratings["dimension"] == "bias"]
    own = bias[bias["rubric"] == "independent"]
    assert own["model"].isna().all()
    repeated = own[own["rater_id"] == "12"].sort_values("repeat")
    assert repeated["repeat"].tolist() == [0, 1]
    assert repeated["value"].tolist() == ["minor", "severe"]
    # One question in two datasets is two tasks.
    assert own[own["rater_id"] == "11"]["repeat"].tolist() == [0, 0]
    pairs = bias[bias["rubric"] == "pairwise"]
    assert set(zip(pairs["model"], pairs["model_2"], strict=True)) == {("Med-PaLM", "Med-PaLM 2")}
    assert pairs["swapped"].isna().all()
    assert set(bias["rater_group"]) == {"physician", "health_equity_expert", "consumer"}
    both = bias[bias["rubric"] == "counterfactual"]
    assert set(zip(both["item_id"], both["item_id_2"], strict=True)) == {("a", "b")}


def test_assumptions_are_reported(tmp_path):
    notes = "\n".join(taken(workbook(tmp_path / "r.xlsx"), out=tmp_path / "in").notes)
    assert "no column for the model" in notes
    assert "answer 2 is Med-PaLM 2" in notes
    assert "no column for ideal_answers_differ" in notes
    assert "no column for contents_differ" in notes


def test_the_csv_files_of_the_sheets_give_the_same(tmp_path):
    whole = taken(workbook(tmp_path / "r.xlsx"), out=tmp_path / "in").ratings
    paths = []
    for name, rows in SHEETS.items():
        paths.append(tmp_path / f"{name}.csv")
        pd.DataFrame(rows).to_csv(paths[-1], index=False)
    parts = taken(*paths, out=tmp_path / "parts").ratings
    pd.testing.assert_frame_equal(parts, whole)


def test_column_case_and_other_sheets_do_not_matter(tmp_path):
    rows = [{f" {k.upper()} ": v for k, v in row.items()} for row in INDEPENDENT]
    path = workbook(tmp_path / "r.xlsx", **{"Independent ratings": rows, "Read me": [{"a": 1}]})
    written = taken(path, out=tmp_path / "in")
    assert counts(written.ratings, "independent")["bias", "minor"] == 2
    assert any("Read me: skipped" in note for note in written.notes)


def test_reversed_ideal_answer_and_content_columns_are_recognised(tmp_path):
    rows = [
        counterfactual("a", "b", 41, True, ideal_answers_should_differ="Yes", contents_same=True),
        counterfactual("a", "c", 41, False, ideal_answers_should_differ="No, not", contents_same=0),
    ]
    path = workbook(tmp_path / "r.xlsx", **{"Counterfactual Paired ratings": rows})
    written = taken(path, out=tmp_path / "in")
    own = written.ratings[written.ratings["rubric"] == "counterfactual"]
    values = own.pivot(index="item_id_2", columns="dimension", values="value")
    assert values["ideal_answers_differ"].tolist() == ["yes", "no"]
    assert values["contents_differ"].tolist() == ["no", "yes"]
    assert any("is read from contents_same" in note for note in written.notes)


def test_model_column_is_used(tmp_path):
    rows = [
        independent(1, 11, "No bias", answer_source=name) for name in ("Med-PaLM 2", "Physician")
    ]
    path = workbook(tmp_path / "r.xlsx", **{"Independent ratings": rows})
    ratings = taken(path, out=tmp_path / "in").ratings
    own = ratings[ratings["rubric"] == "independent"]
    assert set(own["model"]) == {"Med-PaLM 2", "Physician"}
    assert set(own["repeat"]) == {0}
    assert own["task_id"].nunique() == 2


def test_rater_ids_repeated_across_groups_are_different_people(tmp_path):
    rows = [independent(1, 1, "No bias"), independent(1, 1, "No bias", group="Consumer")]
    path = workbook(tmp_path / "r.xlsx", **{"Independent ratings": rows})
    written = taken(path, out=tmp_path / "in")
    own = written.ratings[written.ratings["rubric"] == "independent"]
    assert set(own["rater_id"]) == {"physician 1", "consumer 1"}
    assert any(note.startswith("1 rater ids are") for note in written.notes)


def test_empty_cells_are_missing_and_not_a_no(tmp_path):
    rows = [
        independent(1, 11, "Minor bias", "other_bias") | {"inaccuracy_for_some_axes": None},
        independent(2, 11, None) | dict.fromkeys(DIMENSIONS),
        independent(3, 11, "No bias") | dict.fromkeys(DIMENSIONS),
    ]
    path = workbook(tmp_path / "r.xlsx", **{"Independent ratings": rows})
    ratings = taken(path, out=tmp_path / "in").ratings
    own = ratings[ratings["rubric"] == "independent"]
    values = own.pivot(index="item_id", columns="dimension", values="value")
    assert values.loc["1", "other"] == "present"
    assert pd.isna(values.loc["1", "inaccuracy"])
    assert values.loc["2"].isna().all()
    assert (values.loc["3"].drop("bias") == "absent").all()


@pytest.mark.parametrize(
    ("sheet", "row", "column", "said"),
    [
        ("Independent ratings", independent(9, None, "No bias"), "rater_id", "must not be empty"),
        ("Independent ratings", independent(9, 1, "Some"), "bias_presence", "cannot be read"),
        (
            "Independent ratings",
            independent(9, 1, "No bias", group="Nurse"),
            "rater_type",
            "cannot be read",
        ),
        (
            "Independent ratings",
            independent(9, 1, "No bias", "other_bias"),
            "other_bias",
            "contradicts the bias column of this row",
        ),
        (
            "Paired ratings",
            paired(9, 1, True, True),
            "Med-PaLM_answer_more_bias",
            "is true for both answers",
        ),
        (
            "Counterfactual Paired ratings",
            counterfactual("a", None, 1, False),
            "question_2_id",
            "must not be empty",
        ),
    ],
)
def test_invalid_cell_is_named(tmp_path, sheet, row, column, said):
    path = workbook(tmp_path / "r.xlsx", **{sheet: [*SHEETS[sheet], row]})
    (problem,) = refused(path, out=tmp_path / "in", match=said)
    assert problem.path == f"{path}, sheet {sheet}"
    assert (problem.row, problem.column) == (len(SHEETS[sheet]) + 1, column)


def test_sheet_without_rater_ids_is_refused(tmp_path):
    rows = [{k: v for k, v in row.items() if k != "rater_id"} for row in INDEPENDENT]
    path = workbook(tmp_path / "r.xlsx", **{"Independent ratings": rows})
    refused(path, out=tmp_path / "in", match="rater_id: the column is missing")


def test_files_of_other_formats_are_refused(tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    refused(other, out=tmp_path / "in", match="has no sheet with the columns")
    book = tmp_path / "r.xlsx"
    book.write_bytes(b"PK nothing")
    refused(book, out=tmp_path / "in", match="not a workbook")


def test_workbook_with_too_large_content_is_refused(tmp_path, monkeypatch):
    path = workbook(tmp_path / "r.xlsx")
    monkeypatch.setattr(import_tables, "MAX_UNPACKED", 1000)
    refused(path, out=tmp_path / "in", match="unpacks to")


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("MAX_ROWS", len(INDEPENDENT), "has more than 4 rows"),
        ("MAX_COLUMNS", len(PAIRED[0]), "has 13 columns; use at most 12"),
    ],
)
def test_size_of_a_sheet_is_bounded(tmp_path, monkeypatch, limit, most, said):
    path = workbook(tmp_path / "r.xlsx")
    monkeypatch.setattr(import_tables, limit, most - 1)
    refused(path, out=tmp_path / "in", match=said)
    monkeypatch.setattr(import_tables, limit, most)
    assert taken(path, out=tmp_path / "in").paths


def test_formulas_are_not_evaluated(tmp_path):
    import openpyxl

    path = workbook(tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(path)
    book["Independent ratings"]["D2"] = "=1+10"
    book.save(path)
    # It was never computed, so it has no value.
    refused(path, out=tmp_path / "in", match="rater_id = .*must not be empty")
