"""The HTML of every kind of table, as last checked by a person.

After an intended change, run ``pytest tests/report/test_table_snapshots.py --snapshot-update`` and
read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from great_tables import GT

from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.specifications import INTERVAL, TEST
from fairstats.release.contents import Release
from fairstats.replication.replicate import DIFFERS, NO_ANSWERS, SAME
from fairstats.report.about.releases import moved_table
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.board.figures import BoardFigures
from fairstats.report.board.tables import attribute_table, difference_matrix, overview_table
from fairstats.report.changed_items import flip_table
from fairstats.report.changes.page import change_table
from fairstats.report.changes.rows import changes_of, comparisons_of_kind
from fairstats.report.pairs_table import EVERY, pairs_table
from fairstats.report.replication.page import replication_table
from fairstats.report.sections.given import table as missing_table
from fairstats.report.sections.size import table as size_table
from fairstats.report.sensitivity import choice_table, policy_table
from tests.make_answers import make_answers

from .undrawn import undrawn

HOSTILE = "<b>x</b> & | $y$"
OLD, NEW = "GPT-4.1", "GPT-5"


@pytest.fixture(scope="module")
def benchmark(benchmark_file) -> Benchmark:
    keys = "item_id,answer_key\n" + "".join(f"i{n:02},{'ABC'[n % 3]}\n" for n in range(60))
    race = (
        '[attributes.race]\nlabel = "Race"\n'
        'groups = { white = "White", black = "Black & <b>" }\npairs = [["white", "black"]]'
    )
    return load_benchmark(benchmark_file(keys=keys, race=race))


@pytest.fixture(scope="module")
def release(benchmark, tmp_path_factory) -> Release:
    """Three models: a disparity and missing answers; a smaller gap; and no wrong answers."""
    wrong = {OLD: range(3, 28), NEW: range(3, 7), HOSTILE: ()}
    answers = make_answers(1, of=benchmark, models=list(wrong))
    own = answers[["model", "item_id", "group"]].itertuples(index=False)
    chosen = [group == "black" and int(item[1:]) in wrong[model] for model, item, group in own]
    other = answers["answer_key"].map({"A": "B", "B": "C", "C": "A"})
    answers["answer"] = answers["answer"].mask(chosen, other)
    answers["snapshot"] = answers["model"] + "-1"
    lost = (answers["model"] == OLD) & answers["item_id"].isin(["i50", "i51"])
    lost &= answers["group"] != "black"
    answers.loc[lost, ["answer", "status"]] = [None, "unparsed"]
    folder = tmp_path_factory.mktemp("snapshots")
    return undrawn(answers, folder, benchmarks=[benchmark], successors={NEW: OLD})


def first_board(release: Release) -> BoardFigures:
    return BoardFigures(release.boards[0], release)


def rows_of(release: Release, table: str, model: str) -> pd.DataFrame:
    rows = release.table(table)
    return rows[rows["model"] == model]


def moved(release: Release) -> GT:
    unit = {"benchmark": "three", "benchmark_version": "1", "model": HOSTILE, "strategy": "plain"}
    unit |= {"attribute": "race", "group_a": "white", "group_b": "black"}
    figures = [
        ("accuracy_difference", 0.0125, -0.0125, "answers"),
        ("cfr", 0.75, 1.0, "<i>method</i>"),
    ]
    table = pd.DataFrame(
        [
            unit
            | {"metric": metric, "what": "estimate", "old": old, "new": new}
            | {"change": new - old, "why": why}
            for metric, old, new, why in figures
        ]
    )
    return moved_table(table, release)


def printed(release: Release) -> GT:
    cell = {
        "row": HOSTILE,
        "model": HOSTILE,
        "model_old": None,
        "benchmark": "three",
        "attribute": "race",
        "group_a": "white",
        "group_b": "black",
        "metric": "ad",
        "explained_by": None,
        "explained_value": float("nan"),
        "released": True,
        "verdict": None,
        "possible": "possible_with_missing",
        "possible_note": "e.g. 798 & 796 answers",
    }
    cells = [
        {"column": "cfr", "printed": "0.7500", "status": SAME, "recomputed": 0.75, "difference": 0},
        {
            "column": "ad",
            "printed": "-0.1685",
            "status": DIFFERS,
            "recomputed": -0.125,
            "difference": 0.0435,
            "explained_by": "digits & <cut>",
            "explained_value": -0.16859,
        },
        {
            "column": "win_win",
            "metric": "win_win",
            "printed": "win-win",
            "status": NO_ANSWERS,
            "released": False,
            "verdict": "win-win",
        },
    ]
    return replication_table(pd.DataFrame([cell | own for own in cells]), release, name="printed")


def choices(release: Release, aspect: str) -> GT:
    rows = rows_of(release, "sensitivity", OLD)
    return choice_table(rows[rows["attribute"] == "race"], release, aspect, name="choices")


def policies(release: Release) -> GT:
    rows = rows_of(release, "sensitivity", OLD)
    return policy_table(rows[rows["attribute"].isin(["race", BASELINE])], release, name="policies")


def two_sets(release: Release) -> list[AnswerSet]:
    return [*answer_sets(release, OLD), *answer_sets(release, HOSTILE)]


def changes(release: Release) -> GT:
    compared = comparisons_of_kind(release, "version")["three"]
    return change_table(changes_of(compared), name="changes")[0]


TABLES: dict[str, Callable[[Release], GT]] = {
    "overview_table": lambda release: overview_table(first_board(release), name="board"),
    "attribute_table": lambda release: attribute_table(first_board(release), 0, name="race"),
    "difference_matrix": lambda release: difference_matrix(release.boards[0], name="differences"),
    "change_table": changes,
    "policy_table": policies,
    "choice_table of intervals": lambda release: choices(release, INTERVAL),
    "choice_table of tests": lambda release: choices(release, TEST),
    "flip_table": lambda release: flip_table(
        release.table("flips"), release, name="flips", limit=2
    ),
    "moved_table": moved,
    "replication_table": printed,
    "pairs_table": lambda release: pairs_table(answer_sets(release, OLD), name="pairs"),
    "pairs_table of two sets": lambda release: pairs_table(two_sets(release), name="pairs"),
    "pairs_table of a model's page": lambda release: pairs_table(
        answer_sets(release, OLD), name="pairs", columns=EVERY, every=True, whole=True
    ),
    "size_table": lambda release: size_table(answer_sets(release, OLD)[0])[0].table,
    "diagnostics_table": lambda release: missing_table(answer_sets(release, OLD)[0])[0].table,
}


def markup(table: GT) -> str:
    """Return a table's HTML without the styles of the library, one line per row or cell."""
    text = table.as_raw_html()
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    text = text[text.index("<table") : text.index("</table>")]
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"(?=<(tr|td|th|small|svg|rect|line)\b)", "\n", text))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_as_it_was(name, release, snapshot):
    text = markup(TABLES[name](release))
    assert "<b>x" not in text
    assert "Black & <b>" not in text
    assert text == snapshot
    # Each character of markup is escaped once.
    assert not re.findall(r"<(?![a-z/])|&(?!(amp|lt|gt|quot|#x27|#39);)", text)
    assert not re.findall(r"&amp;(amp|lt|gt|quot|#x27);", text)


def test_release_has_all_verdicts_of_the_snapshots(release):
    verdicts = release.estimates.query("metric == 'accuracy_difference' and attribute == 'race'")
    found = verdicts.set_index("model")["verdict"].to_dict()
    assert found == {OLD: "disparity", NEW: "inconclusive", HOSTILE: "equivalent"}
