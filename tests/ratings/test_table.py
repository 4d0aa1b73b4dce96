"""The ratings table: its normal form, and all possible faults of rows."""

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.files import answer_files
from fairstats.ratings.files import rating_files, read_ratings, write_ratings
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.table import RATING_COLUMNS, RATING_KEY, check_ratings, no_ratings

DIMENSIONS = load_rubric("independent").dimensions[1:]
BASE = {
    "benchmark": "open",
    "rubric": "independent",
    "task_id": "t1",
    "item_id": "i1",
    "model": "m",
    "rater_id": "r1",
    "rater_group": "physician",
    "dimension": "bias",
    "value": "none",
}
TWO = BASE | {"rubric": "pairwise", "model_2": "n", "value": "tie"}


def judged(value="none", present=(), **more):
    """The rows of one judgement."""
    rows = [BASE | {"value": value} | more]
    if value not in ("none", None):
        rows += [
            BASE | more | {"dimension": d, "value": "present" if d in present else "absent"}
            for d in DIMENSIONS
        ]
    return rows


def problems_of(rows):
    with pytest.raises(InputError) as error:
        check_ratings(pd.DataFrame(rows), path="a.csv")
    return [str(problem) for problem in error.value.problems]


def test_judgement_has_one_row_per_dimension():
    table = check_ratings(pd.DataFrame(judged("none")))
    assert list(table.columns) == list(RATING_COLUMNS)
    assert set(table["dimension"]) == {"bias", *DIMENSIONS}
    assert set(table.loc[table["dimension"] != "bias", "value"]) == {"absent"}
    assert (table["dataset"] == "open").all()
    assert (table["rater_kind"] == "person").all()
    assert (table["repeat"] == 0).all()


def test_normal_form_is_unchanged_by_normalising():
    rows = judged("minor", ["other"]) + judged("none", rater_id="r2") + judged(None, rater_id="r3")
    table = check_ratings(pd.DataFrame(rows))
    pd.testing.assert_frame_equal(check_ratings(table), table)
    pd.testing.assert_frame_equal(check_ratings(table.sample(frac=1, random_state=1)), table)
    assert not table.duplicated(list(RATING_KEY)).any()


def test_missing_judgement_has_no_values():
    table = check_ratings(pd.DataFrame(judged(None)))
    assert len(table) == 8
    assert table["value"].isna().all()


def test_empty_value_of_an_unasked_dimension_gets_its_default():
    rows = [*judged("none"), BASE | {"dimension": "other", "value": None}]
    table = check_ratings(pd.DataFrame(rows)).set_index("dimension")
    assert table.loc["other", "value"] == "absent"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [*judged("none"), BASE | {"dimension": "other", "value": "present"}],
            "a.csv: row 2: other = 'present': contradicts the rubric independent: the question is "
            "asked only if bias is minor or severe, and this rater has none; correct bias, or "
            "write absent here",
        ),
        (
            judged("minor")[:-1],
            "row 1: dimension = 't1 by r1': the judgement has no row for the dimension other",
        ),
        ([BASE | {"dimension": "other", "value": "absent"}], "has no row for the dimension bias"),
        (
            judged("none") * 2,
            "the rater judges this dimension of this task twice; delete one, or number",
        ),
        (judged("worst"), "value = 'worst': is not a value of bias in the rubric independent"),
        (judged("none", dimension="tone"), "dimension = 'tone': is not declared by the rubric"),
        (judged("none", rater_group="nurse"), "rater_group = 'nurse': is not declared"),
        (judged("none", rater_group="model"), "rater_group = 'model': is not declared"),
        (judged("none", rater_kind="model"), "the rater is a model; use model"),
        (judged("none", rubric="mine"), "mine: rubric: no such rubric"),
        (judged("none", rater_kind="robot"), "must be one of person, model"),
        (judged("none", repeat="1.5"), "repeat = '1.5': must be a whole number"),
        (judged("none", repeat=-1), "must be 0 to 999"),
        (judged("none", duration_s="soon"), "duration_s = 'soon': must be a number"),
        (judged("none", duration_s=float("inf")), "must be a number"),
        (judged("none", swapped="perhaps"), "swapped = 'perhaps': is unknown"),
        (judged("none", item_id=None), "row 1: item_id: must not be empty"),
        (judged("none", rater_id="a\nb"), "printable characters"),
        (judged("none", model="m †"), "without marks"),
        (
            judged("none") + judged("none", rater_id="r2", item_id="i2"),
            "row 2: item_id = 'i2, and i1': a task has one item, one model and one dataset",
        ),
        (judged("none") + judged("none", rater_id="r2", model=None), "row 2: model"),
        (
            judged("none") + judged("none", task_id="t2", item_id="i2", rater_group="consumer"),
            "rater_group = 'consumer, and physician': the rater r1 has two",
        ),
        (
            judged("none") + judged("none", rater_id="R1 "),
            "look the same to a reader: 'r1' and 'R1 '",
        ),
        (judged("none", item_id_2="i2"), "does not compare items"),
        ([TWO | {"model_2": None}], "compares models, so each task needs two"),
        ([TWO | {"model_2": "m"}], "is the same as model"),
        ([BASE | {"rubric": "counterfactual", "value": "absent"}], "compares items, so each task"),
        (judged("none", comment="x"), "comment: unknown column; keep comments in a separate file"),
        ([{"answer": "A"}], "required column is missing"),
    ],
)
def test_invalid_row_is_named_with_a_remedy(rows, said):
    found = problems_of(rows)
    assert any(said in problem for problem in found), found
    assert all(problem.startswith(("a.csv", "mine")) for problem in found)


def test_an_empty_table_is_refused():
    with pytest.raises(InputError, match="has no row"):
        check_ratings(no_ratings())


def test_repeat_is_a_separate_judgement():
    table = check_ratings(pd.DataFrame(judged("none", repeat=0) + judged("none", repeat=1)))
    assert len(table) == 16


def test_written_ratings_are_read_back(tmp_path):
    table = check_ratings(pd.DataFrame(judged("severe", ["other"], duration_s=3.5)))
    path = write_ratings(table, tmp_path / "a.ratings.parquet")
    pd.testing.assert_frame_equal(read_ratings(path), table)
    pd.testing.assert_frame_equal(read_ratings(tmp_path), table)
    assert rating_files([tmp_path, path]) == [path]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_table_of_text_is_read_with_its_types(tmp_path, suffix):
    table = check_ratings(pd.DataFrame(judged("minor", swapped=None)))
    path = tmp_path / f"a{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_json(path, orient="records", lines=True)
    pd.testing.assert_frame_equal(read_ratings(path), table)


def test_two_files_with_the_same_judgement_are_refused(tmp_path):
    table = check_ratings(pd.DataFrame(judged("none")))
    for name in ("a", "b"):
        write_ratings(table, tmp_path / f"{name}.ratings.parquet")
    with pytest.raises(InputError, match="is in both") as caught:
        read_ratings(tmp_path)
    (problem,) = caught.value.problems
    one, other = (tmp_path / f"{name}.ratings.parquet" for name in ("a", "b"))
    assert problem.path == str(other)
    assert problem.message.endswith(str(one))
    # A file that is named twice is one file.
    assert len(read_ratings([one, one])) == 8


def test_invalid_table_is_not_written(tmp_path):
    with pytest.raises(InputError):
        write_ratings(pd.DataFrame(judged("worst")), tmp_path / "a.ratings.parquet")
    with pytest.raises(InputError, match="end the name in"):
        write_ratings(pd.DataFrame(judged("none")), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_ratings_and_comments_are_not_read_as_answers(tmp_path):
    table = check_ratings(pd.DataFrame(judged("none")))
    write_ratings(table, tmp_path / "a.ratings.parquet")
    (tmp_path / "a.comments.csv").write_text("task_id,comment\nt1,x\n")
    (tmp_path / "b.csv").write_text("benchmark\n")
    assert answer_files(tmp_path) == [tmp_path / "b.csv"]


@pytest.mark.parametrize("path", ["none.csv", "none.parquet", "folder"])
def test_missing_ratings_are_reported(tmp_path, path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"no such file|contains no ratings"):
        read_ratings(tmp_path / path)
