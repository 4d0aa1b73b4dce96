"""The work of each rater."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.ratings.workload import WORKLOAD_COLUMNS, workload


def test_without_durations_and_values(ratings_of):
    found = workload(ratings_of({"t1": "-", "t2": "-"}))
    assert tuple(found.columns) == WORKLOAD_COLUMNS
    row = found.iloc[0]
    assert (row["n_judgements"], row["n_timed"], row["n_missing"]) == (2, 0, 6)
    assert np.isnan([row["duration_s"], row["median_duration_s"], row["share_reported"]]).all()


def test_by_hand(ratings_of):
    first = ratings_of({"t1": "sn", "t2": "nn", "t3": "m."}, rubric="independent", model="m")
    seconds = {"t1": 10.0, "t2": 40.0, "t3": None}
    first["duration_s"] = first["task_id"].map(seconds).astype(float)
    again = ratings_of({"t1": "n"}, rubric="independent", model="m").assign(
        repeat=1, duration_s=30.0
    )
    pairs = ratings_of({"p1": "1=", "p2": "22"}, rubric="pairwise", model="m", model_2="b")
    found = workload(pd.concat([first, again, pairs]))
    found = found.set_index(["rubric", "rater_id"])
    one = found.loc[("independent", "physician-0")]
    # Four judgements of three tasks, not a row a dimension.
    assert (one["n_judgements"], one["n_tasks"], one["n_repeats"], one["n_timed"]) == (4, 3, 1, 3)
    assert (one["duration_s"], one["median_duration_s"]) == (80, 30)
    assert (one["dimension"], one["n_ratings"], one["n_reported"]) == ("bias", 4, 2)
    assert one["share_reported"] == 0.5
    # In a comparison: how often there is a difference.
    assert found.loc[("pairwise", "physician-0"), "share_reported"] == 1
    assert found.loc[("pairwise", "physician-1"), "share_reported"] == 0.5


def test_a_rubric_without_bias_counts_all_dimensions(ratings_of):
    row = workload(ratings_of({"t1": "y", "t2": "n"})).iloc[0]
    assert (row["dimension"], row["n_ratings"], row["share_reported"]) == ("all", 6, 0.5)


def test_a_wrong_table_is_refused(ratings_of):
    with pytest.raises(InputError, match="no such rubric"):
        workload(ratings_of({"t1": "y"}).assign(rubric="unheard"))


def test_medperturb_clinicians(shared_data):
    table = pd.read_csv(shared_data("medperturb/dataset.csv"))
    ratings = pd.concat(
        [
            pd.DataFrame(
                {
                    "benchmark": "medperturb",
                    "rubric": "triage",
                    "task_id": table.index.astype(str),
                    "item_id": table.index.astype(str),
                    "rater_id": table[f"Clinician_{k}"].astype(str),
                    "rater_group": "physician",
                    "dimension": decision,
                    "value": table[f"{decision.upper()}_{k}"].map({0: "no", 1: "yes"}),
                    "duration_s": table[f"Duration_{k}"].astype(float),
                }
            )
            for k in (1, 2, 3)
            for decision in ("manage", "visit", "resource")
        ],
        ignore_index=True,
    )
    repeat = ratings.groupby(["task_id", "rater_id", "dimension"]).cumcount()
    found = workload(ratings.assign(repeat=repeat))
    assert len(found) == 17
    assert found["n_judgements"].sum() == 2400
    assert found["n_repeats"].sum() == 3
    seconds = sum(table[f"Duration_{k}"].sum() for k in (1, 2, 3))
    assert found["duration_s"].sum() == pytest.approx(seconds)
