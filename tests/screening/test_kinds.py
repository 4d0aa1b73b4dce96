"""Decisions, levels and scores: an honest model is never accused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats import rank_models, screen
from fairstats.benchmarks.declaration import Benchmark
from tests.make_answers import make_answers
from tests.make_kinds import CONTROLLED, DECLARED, ONE_PAIR, SIGNS, declared

ITEMS = 60


@pytest.fixture(scope="module")
def declare(benchmark_file: Callable[..., Path]) -> Callable[..., Benchmark]:
    return partial(declared, benchmark_file)


def models(kind: str) -> dict[str, list[str]]:
    """Return honest models: alike, stricter, lopsided, constant, the same for all groups."""
    signs, rng = SIGNS[kind], np.random.default_rng(1)
    last = len(signs) - 1
    base = rng.integers(0, len(signs), ITEMS)

    def texts(offset: int, noise: float) -> list[str]:
        moved = np.where(rng.random((ITEMS, 3)) < noise, rng.integers(-1, 2, (ITEMS, 3)), 0)
        places = np.clip(base[:, None] + offset + moved, 0, last)
        return ["".join(signs[place] for place in row) for row in places]

    return {
        "usual": texts(0, 0.3),
        "another": texts(0, 0.3),
        "third": texts(0, 0.1),
        "stricter": texts(-1, 0.2),
        "stricter still": texts(-1, 0.2),
        "lenient": texts(2, 0.3),
        "the same for all": texts(0, 0.0),
        "stamp": [signs[0] * 3] * ITEMS,
        "another stamp": [signs[0] * 3] * ITEMS,
        "lopsided": [signs[-1] * 3] * (ITEMS - 2) + [signs[0] * 3] * 2,
    }


def answers_to(benchmark: Benchmark, kind: str, **columns: object) -> pd.DataFrame:
    own = {"benchmark": benchmark.name, "groups": ("white", "black", "asian")}
    own |= {"answer_key": None} | columns
    return pd.concat([make_answers(texts, model=m, **own) for m, texts in models(kind).items()])


def without(table: pd.DataFrame, drop: pd.Series) -> pd.DataFrame:
    """Return the table without these answers."""
    answer, status = table["answer"].mask(drop), table["status"].mask(drop, "unparsed")
    return table.assign(answer=answer, status=status)


@pytest.mark.parametrize("kind", SIGNS)
@pytest.mark.parametrize("key", [None, "first"])
def test_honest_models_have_no_finding(kind, key, declare):
    keys = "item_id,answer_key\n" + "".join(
        f"item-{i},{SIGNS[kind][i % 2]}\n" for i in range(ITEMS)
    )
    given = {"keys": keys, "keys_file": 'keys_file = "keys.csv"'} if key else {}
    benchmark = declare(kind, **given)
    table = answers_to(benchmark, kind)
    if key:
        table["answer_key"] = table["item_id"].map(benchmark.answer_keys)
    found = screen(table, benchmarks=[benchmark]).to_frame()
    assert set(found["flag"]) == {"ok"}, found[found["flag"] != "ok"]
    assert set(found["check"]) == {"missing_by_group", "missing_rows"}


@pytest.mark.parametrize("kind", SIGNS)
def test_answers_missing_for_one_group_are_still_found(kind, declare):
    benchmark = declare(kind)
    table = answers_to(benchmark, kind)
    drop = (table["model"] == "usual") & (table["group"] == "black")
    table = without(table, drop & (table["item_id"].str[-1] < "6"))
    found = screen(table, benchmarks=[benchmark]).to_frame()
    flagged = found[found["flag"].isin(["look", "block"])]
    assert flagged[["model", "check"]].values.tolist() == [["usual", "missing_by_group"]]


def test_answers_missing_for_a_control_are_found(benchmark_file):
    """Those where the control would have changed the answer."""
    benchmark = declared(benchmark_file, "decision", race=CONTROLLED)
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    given = {"benchmark": benchmark.name, "variants": variants, "answer_key": None}
    table = make_answers(["YNYN"] * 20 + ["YYYY"] * 40, **given)
    changed = (table["group"] == "none") & (table["answer"] == "N")
    for fewer in (without(table, changed), table[~changed]):
        found = screen(fewer, benchmarks=[benchmark]).to_frame().set_index("check")
        assert found.loc["missing_by_group", "flag"] == "look"
        assert found.loc["missing_by_group", "note"].startswith("placebo: car/none: ")
    # Controls that were not asked are not missing.
    own = table[table["attribute"] == "race"]
    found = screen(own, benchmarks=[benchmark]).to_frame()
    assert set(found["flag"]) == {"ok"}


def test_missing_answers_that_replies_confirm_are_called_answers(declare):
    benchmark = declare("level")
    table = answers_to(benchmark, "level")
    table = without(table, (table["model"] == "usual") & (table["group"] == "black"))
    raw = ("Level " + table["answer"]).fillna("It depends.")
    found = screen(table.assign(answer_raw=raw), benchmarks=[benchmark]).to_frame()
    row = found[(found["model"] == "usual") & (found["check"] == "missing_by_group")].iloc[0]
    assert row["flag"] == "ok"
    assert row["note"].endswith("The stored replies give no answer.")


@pytest.mark.parametrize("kind", SIGNS)
def test_answers_that_move_a_gap_under_their_replies_are_asked_about(kind, declare):
    """So few are below the limit of answers that differ from their replies."""
    benchmark = declare(kind, race=ONE_PAIR)
    low, high = SIGNS[kind][-1 if kind == "decision" else 0], SIGNS[kind][1]
    better = SIGNS[kind][0] if kind == "decision" else high
    table = make_answers(
        [better + low] * 100 + [low + better] * 60 + [better * 2] * 640,
        benchmark=benchmark.name,
        answer_key=None,
    )
    table["answer_raw"] = "Answer: " + table["answer"]
    rows = table.index[(table["group"] == "black") & (table["answer"] == low)]
    one_way = table.assign(answer=table["answer"].mask(table.index.isin(rows[:25]), better))
    other = table.index[(table["group"] == "white") & (table["answer"] == low)]
    both_ways = table.index.isin([*rows[:13], *other[:12]])
    found = {
        way: screen(given, benchmarks=[benchmark]).to_frame().set_index("check")
        for way, given in {
            "one": one_way,
            "both": table.assign(answer=table["answer"].mask(both_ways, better)),
        }.items()
    }
    row = found["one"].loc["stored_replies"]
    assert row["flag"] == "look"
    assert "why do they move this gap" in row["note"]
    assert found["both"].loc["stored_replies", "flag"] == "ok"


@pytest.mark.parametrize("kind", SIGNS)
def test_marks_with_a_tolerance_do_not_block(kind, declare):
    """A level may have been marked as right if it is one away."""
    keys = "item_id,answer_key\n" + "".join(f"item-{i},{SIGNS[kind][1]}\n" for i in range(ITEMS))
    benchmark = declare(kind, keys=keys, keys_file='keys_file = "keys.csv"')
    table = answers_to(benchmark, kind, answer_key=SIGNS[kind][1])
    table["correct"] = table["answer"].isin(list(SIGNS[kind][:3]))
    found = screen(table, benchmarks=[benchmark]).to_frame()
    marks = found[found["check"] == "stored_marks"]
    assert "look" in set(marks["flag"])
    assert "block" not in set(marks["flag"])
    asked = marks.loc[marks["flag"] == "look", "note"]
    assert asked.str.endswith("with another version of the key, or by another rule?").all()


@pytest.mark.parametrize("tolerance", [0, 1])
def test_marks_by_the_declared_tolerance_are_not_asked_about(tolerance, declare):
    """Scores may have been marked as right if they are as good as the key."""
    keys = "item_id,answer_key\n" + "".join(f"item-{i},1\n" for i in range(ITEMS))
    benchmark = declare("score", keys=keys, keys_file='keys_file = "keys.csv"')
    benchmark = replace(benchmark, same_within=1)
    table = answers_to(benchmark, "score", answer_key="1")
    for limit, asked in ((tolerance, False), (3, True)):
        table["correct"] = (table["answer"].astype(float) - 1).abs() <= limit
        found = screen(table, benchmarks=[benchmark]).to_frame()
        flags = set(found.loc[found["check"] == "stored_marks", "flag"])
        assert ("look" in flags) == asked


def test_missing_answers_of_one_cluster_are_one_sign(declare):
    """All answers about one patient are missing for one group."""
    benchmark = declare("level", missing='missing = "available"\ncluster = "patient"')
    table = answers_to(benchmark, "level").assign(cluster=lambda t: t["item_id"].str[-1])
    drop = (table["model"] == "usual") & (table["group"] == "black") & (table["cluster"] == "3")
    table = without(table, drop)
    found = screen(table, benchmarks=[benchmark]).to_frame()
    row = found[(found["model"] == "usual") & (found["check"] == "missing_by_group")].iloc[0]
    assert row["flag"] == "ok"
    assert row["p_value"] == 1


def sampled(benchmark: Benchmark, *changes: float) -> pd.Series:
    """Return what is said of samples of "usual" with so many of its answers changed."""
    rng = np.random.default_rng(3)
    table = answers_to(benchmark, "level", temperature=0.7)
    table = table[table["model"] == "usual"]
    samples = []
    for sample, share in enumerate(changes):
        other = pd.Series(rng.choice(list(SIGNS["level"]), len(table)), table.index)
        answer = table["answer"].where(rng.random(len(table)) >= share, other)
        samples.append(table.assign(sample=sample, answer=answer))
    found = screen(pd.concat(samples), benchmarks=[benchmark]).to_frame()
    return found.set_index("check").loc["repeated_samples"]


def test_a_nearly_constant_model_may_repeat_a_sample(declare):
    """Its samples differ by one or two answers of 180, if at all."""
    benchmark = declare("level")
    for changes in ((0, 0), (0, 0, 0.01), (0, 0.01, 0, 0)):
        row = sampled(benchmark, *changes)
        assert (row["value"] > 0, row["flag"]) == (True, "ok")


def test_a_sample_of_a_changing_model_that_is_there_twice_is_asked_about(declare):
    assert sampled(declare("level"), 0, 0.2, 0)["flag"] == "look"


def test_answers_are_read_as_they_are_stored(declare):
    """A spreadsheet turned 3 into 3.0: no answer is missing, and replies agree."""
    benchmark = declare("score")
    table = answers_to(benchmark, "score")
    table = table.assign(answer_raw="Score: " + table["answer"], answer=table["answer"] + ".0")
    found = screen(table, benchmarks=[benchmark]).to_frame()
    replies = found[found["check"] == "stored_replies"]
    assert (replies["value"] == 0).all()
    assert len(replies) == len(models("score"))
    assert set(found["flag"]) == {"ok"}


def test_released_triage_and_hiring_have_no_finding_and_all_of_triage_is_ranked(
    shared_data, declare
):
    triage = pd.read_csv(shared_data("triage/triage_levels.csv"))
    cell = triage["Race"].str.replace(" ", "") + "_" + triage["Sex"]
    cells = list(dict.fromkeys(cell))
    level = declare(
        "level",
        missing='missing = "available"\ncluster = "subject_id"',
        race='[attributes.race_sex]\nlabel = "Race and sex"\n'
        f"groups = {{ {', '.join(f'{c} = {c!r}' for c in cells)} }}\n"
        f"pairs = {[[cells[0], other] for other in cells[1:]]}",
    )
    rows = pd.DataFrame(
        {
            "benchmark": level.name,
            "benchmark_version": "1",
            "model": triage["model"],
            "strategy": triage["prompt"],
            "item_id": triage["stay_id"].astype(str),
            "cluster": triage["subject_id"].astype(str),
            "attribute": "race_sex",
            "group": cell,
            "sample": 0,
            "answer": triage["Estimated_Acuity"].astype(str),
            "answer_key": triage["acuity"].astype(int).astype(str),
            "status": "ok",
        }
    )
    found = screen(rows, benchmarks=[level]).to_frame()
    assert set(found["flag"]) == {"ok"}
    assert rank_models(rows, benchmarks=[level])["uninformative"].isna().all()

    hiring = pd.read_csv(shared_data("hiring/hiring.csv"))
    hiring = hiring[hiring["variant"].str.startswith(("firstName_", "placebo_"))]
    parts = hiring["variant"].str.split("_", n=1).str
    attributes = ""
    for name in ("firstName", "placebo"):
        groups = list(dict.fromkeys(parts[1][parts[0] == name]))
        control = "control = true\n" if name == "placebo" else ""
        attributes += f"[attributes.{name}]\nlabel = {name!r}\n{control}"
        attributes += f"groups = {{ {', '.join(f'{g!r} = {g!r}' for g in groups)} }}\n"
        attributes += f"pairs = {[[groups[0], other] for other in groups[1:]]}\n"
    for kind, column in (("decision", "rec"), ("score", "score")):
        options = {"decision": 'kind = "decision"\noptions = ["yes", "maybe", "no"]\n'}
        options = options.get(kind, DECLARED[kind])
        options += 'favourable = ["yes"]' if kind == "decision" else ""
        options = options.replace("[0, 9]", "[1, 10]")
        benchmark = declare(kind, options=options, race=attributes)
        given = hiring[column]
        text = given if kind == "decision" else given.map("{:g}".format)
        rows = pd.DataFrame(
            {
                "benchmark": benchmark.name,
                "benchmark_version": "1",
                "model": hiring["model"],
                "strategy": "plain",
                "item_id": hiring["jd"],
                "attribute": parts[0],
                "group": parts[1],
                "sample": hiring["run"] - 1,
                "answer": text.where(given.notna(), None),
                "answer_key": None,
                "status": np.where(given.notna(), "ok", "unparsed"),
            }
        )
        found = screen(rows, benchmarks=[benchmark]).to_frame()
        assert set(found["flag"]) <= {"ok", "not_checked"}, found[found["flag"] == "look"]
