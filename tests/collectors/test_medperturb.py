"""MedPerturb's release: a small file of the same format, every fault, and the real one by hand."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from fairstats_collectors.import_answers import import_table
from fairstats_collectors.medperturb import import_medperturb, medperturb_keys

from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.analyze import analyze

#: The models' names, by the beginning of their columns.
MODELS = {
    "GPT4": "GPT-4",
    "LLAMA3": "Llama-3-8B",
    "LLAMA3-70": "Llama-3-70B",
    "PALMYRA-MED": "Palmyra-Med",
}
RELEASED = "medperturb/dataset.csv"
DECISIONS = ("MANAGE", "VISIT", "RESOURCE")


def row(context_id: str, dataset_id: str, *, dataset: str = "askadoc", **fields: str) -> dict:
    clinicians = {f"Clinician_{n}": str(100 + n) for n in (1, 2, 3)}
    durations = {f"Duration_{n}": f"{10 * n}.5" for n in (1, 2, 3)}
    decided = {f"{d}_{n}": "0" for d in DECISIONS for n in (1, 2, 3)}
    answered = {f"{model}_{d}": "0" for model in MODELS for d in DECISIONS}
    first = {
        "dataset": dataset,
        "dataset_id": dataset_id,
        "context_id": context_id,
        "original_patient_gender": "F",
        "clinical_context": "Text,\n<b>in</b> lines",
    }
    return first | clinicians | durations | decided | answered | fields


def medperturb_answers(paths, **given) -> pd.DataFrame:
    return import_table(paths, layout="medperturb", **given)


MESSAGE = [row("N75", "1"), row("2-N75", "2"), row("3-N75", "3"), row("4-N75", "4")]


@pytest.fixture
def released(tmp_path: Path) -> Callable[[list[dict]], Path]:
    def write(rows: list[dict]) -> Path:
        path = tmp_path / "dataset.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def test_each_text_has_the_id_of_its_original(released):
    rows = [
        *MESSAGE,
        row("5-17", "5", dataset="oncqa"),
        row("v-17", "1", dataset="conversational"),
        row("s-17", "3", dataset="conversational"),
    ]
    items = import_medperturb(released(rows)).drop_duplicates("task_id").set_index("task_id")
    assert items["item_id"].to_dict() == {
        "N75": "N75",
        "2-N75": "N75",
        "3-N75": "N75",
        "4-N75": "N75",
        "5-17": "17",
        "v-17": "v-17",
        "s-17": "v-17",
    }


def test_clinician_with_two_rows_is_a_repeat(released):
    twice = row("N75", "1", Clinician_3="101", MANAGE_1="1", MANAGE_3="0")
    ratings = import_medperturb(released([twice]))
    of_manage = ratings[ratings["dimension"] == "manage"]
    found = of_manage[["rater_id", "repeat", "value", "duration_s"]].to_numpy().tolist()
    assert found == [["101", 0, "yes", 10.5], ["101", 1, "no", 30.5], ["102", 0, "no", 20.5]]


def test_groups_are_the_gender_of_the_text(released):
    # The patient is a woman, so the swapped text is about a man.
    rows = [row("N75", "1", GPT4_VISIT="1"), *MESSAGE[1:]]
    answers = medperturb_answers(released(rows))
    own = answers[(answers["model"] == "GPT-4") & (answers["item_id"] == "N75-visit")]
    found = {(r["attribute"], r["group"]): r["answer"] for r in own.to_dict("records")}
    assert found == {
        ("gender", "female"): "A",
        ("baseline", "original"): "A",
        ("gender", "male"): "B",
        ("baseline", "neutralized"): "B",
    }
    assert len(answers) == 4 * 3 * 4


def test_two_of_three_make_the_key(released):
    path = released([row("N75", "1", MANAGE_1="1", MANAGE_3="1", VISIT_2="1"), *MESSAGE[1:]])
    assert medperturb_keys(path).to_numpy().tolist() == [
        ["N75-manage", "A"],
        ["N75-visit", "B"],
        ["N75-resource", "B"],
    ]


#: A change of a row, what is said of it, and which of ratings, keys and answers say it.
FAULTS = [
    ({"dataset": "usmle"}, "'usmle 2 2-N75': does not match", "rka"),
    ({"dataset_id": "6"}, "'askadoc 6 2-N75': does not match", "rka"),
    ({"context_id": "N75"}, "'askadoc 2 N75': does not match", "rka"),
    ({"context_id": "2-"}, "'askadoc 2 2-': does not match", "rka"),
    ({"context_id": ""}, "does not match", "rka"),
    ({"original_patient_gender": "X"}, "original_patient_gender = 'X': does not match", "rka"),
    ({"MANAGE_2": "2"}, "MANAGE_2 = '2': must be 0 or 1", "rk"),
    ({"MANAGE_2": ""}, "must be 0 or 1", "rk"),
    ({"PALMYRA-MED_VISIT": "yes"}, "PALMYRA-MED_VISIT = 'yes': does not match [01]", "rka"),
    ({"PALMYRA-MED_VISIT": ""}, "PALMYRA-MED_VISIT = '': does not match [01]", "rka"),
    ({"Clinician_1": ""}, "does not name a clinician", "rk"),
    ({"Duration_3": "soon"}, "must be a number of seconds", "rk"),
    ({"Duration_3": "-1"}, "must be a number of seconds", "rk"),
    ({"Duration_3": "inf"}, "must be a number of seconds", "rk"),
]


@pytest.mark.parametrize(("changed", "said", "by"), FAULTS)
def test_content_outside_the_release_is_named(released, changed, said, by):
    path = released([MESSAGE[0], MESSAGE[1] | changed])
    readers = {"r": import_medperturb, "k": medperturb_keys, "a": medperturb_answers}
    for reader in by:
        with pytest.raises(InputError) as caught:
            readers[reader](path)
        assert said in str(caught.value)
        assert caught.value.problems[0].row == 2


def test_duplicate_text_is_named(released):
    path = released([MESSAGE[0], MESSAGE[0]])
    with pytest.raises(InputError, match="context_id = 'N75': appears twice"):
        import_medperturb(path)
    with pytest.raises(InputError, match="row 2: key"):
        medperturb_answers(path)


def test_files_of_other_formats_are_refused(released, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        import_medperturb(tmp_path / "none.csv")
    lacking = [{name: v for name, v in MESSAGE[0].items() if "VISIT" not in name}]
    with pytest.raises(InputError, match="VISIT_3: required column is missing"):
        import_medperturb(released(lacking))
    with pytest.raises(InputError, match="GPT4_VISIT = '': does not match"):
        medperturb_answers(released(lacking))
    path = tmp_path / "dataset.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="the file is empty"):
        import_medperturb(path)


def test_unusable_medperturb_answers_are_refused(released):
    with pytest.raises(InputError, match="unknown item; medperturb has no such item"):
        medperturb_answers(released([row("N999", "1")]))
    with pytest.raises(InputError, match="contains no answers with dataset = askadoc or oncqa"):
        medperturb_answers(released([row("v-17", "1", dataset="conversational")]))
    path = released(MESSAGE)
    with pytest.raises(InputError, match="more than one of the files"):
        medperturb_answers([path, path])
    with pytest.raises(InputError, match="no files to import"):
        medperturb_answers([])


def test_all_released_ratings_are_imported(shared_data):
    path = shared_data(RELEASED)
    ratings = import_medperturb(path)
    table = pd.read_csv(path, dtype={"context_id": str}).set_index("context_id")
    assert len(ratings) == 800 * 3 * 3
    assert ratings["task_id"].nunique() == 800
    assert ratings["item_id"].nunique() == 200
    assert ratings["rater_id"].nunique() == 17
    assert ratings.groupby("item_id")["task_id"].nunique().value_counts().to_dict() == {
        3: 100,
        5: 100,
    }
    assert set(ratings.loc[ratings["repeat"] == 1, "task_id"]) == {"s-230", "s-643", "s-1202"}
    assert (ratings["repeat"] == 1).sum() == 9
    for decision in DECISIONS:
        own = ratings[ratings["dimension"] == decision.lower()]
        yes = own["value"].eq("yes").groupby(own["task_id"]).sum()
        theirs = table[[f"{decision}_{n}" for n in (1, 2, 3)]].sum(axis=1)
        pd.testing.assert_series_equal(
            yes, theirs.sort_index(), check_names=False, check_index_type=False
        )
    seconds = ratings[ratings["dimension"] == "visit"]["duration_s"].sum()
    assert seconds == pytest.approx(table[[f"Duration_{n}" for n in (1, 2, 3)]].to_numpy().sum())


def test_shipped_keys_equal_those_of_the_release(shared_data):
    keys = medperturb_keys(shared_data(RELEASED))
    shipped = load_benchmark("medperturb").answer_keys
    assert dict(keys.itertuples(index=False, name=None)) == dict(shipped)
    assert len(shipped) == 300


def test_the_released_answers_give_the_flips_that_the_file_shows(shared_data, row_of):
    path = shared_data(RELEASED)
    answers = medperturb_answers(path)
    assert len(answers) == 4 * 300 * 4
    assert not validate_answers(answers)
    estimates = analyze(answers)
    table = pd.read_csv(path, dtype={"context_id": str})
    table = table[table["dataset"] != "conversational"].set_index("context_id")
    for column, model in MODELS.items():
        for attribute, prefix in (("gender", "2-"), ("baseline", "3-")):
            same = right_a = right_b = 0
            for name in table.index[table["dataset_id"] == 1]:
                for decision in DECISIONS:
                    pair = [
                        table.at[text, f"{column}_{decision}"] for text in (name, prefix + name)
                    ]
                    if attribute == "gender" and table.at[name, "original_patient_gender"] == "F":
                        pair.reverse()
                    votes = sum(table.at[name, f"{decision}_{n}"] for n in (1, 2, 3))
                    same += pair[0] == pair[1]
                    right_a += pair[0] == (votes >= 2)
                    right_b += pair[1] == (votes >= 2)
            of = {"model": model, "attribute": attribute}
            assert row_of(estimates, metric="cfr", **of)["estimate"] == same / 300
            assert row_of(estimates, metric="accuracy_a", **of)["estimate"] == right_a / 300
            assert row_of(estimates, metric="accuracy_b", **of)["estimate"] == right_b / 300
