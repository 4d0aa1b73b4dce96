"""The manifest's counts of answers: of items, and why answers are missing."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats.publishing.verify import _fact_problems
from fairstats.release.manifest import answer_summary
from fairstats.release.stored_answers import _added_up, summary_of
from fairstats.report.answer_sets import missing_reasons
from fairstats.report.board.tables import _missing


@pytest.fixture
def entries(answers_of):
    """Return the entries of answers with two refusals, a failure and an unreadable reply."""
    answers = answers_of(["AB", "AB", "AB", "AB"], groups=("white", "black"), attribute="race")
    answers.loc[:3, "answer"] = None
    answers.loc[:3, "status"] = ["refused", "refused", "error", "unparsed"]
    return answer_summary(answers)


def _older(entry):
    return {name: value for name, value in entry.items() if name not in ("refused", "failed")}


def test_manifest_counts_the_reasons(entries):
    (entry,) = entries
    assert [entry[name] for name in ("missing", "refused", "failed")] == [4, 2, 1]
    assert missing_reasons(entries) == " (2 refused, 1 empty or unreadable, 1 failed request)"


def test_reasons_are_left_out_if_the_release_does_not_state_them(entries):
    assert missing_reasons(map(_older, entries)) == ""
    assert missing_reasons([]) == ""
    assert missing_reasons([{"missing": 0, "refused": 0, "failed": 0}]) == ""


def test_items_are_counted_once_whoever_read_or_gave_their_answers(answers_of):
    """Two runs, of which one was corrected, and a set whose items are stored in two parts."""
    one = answers_of(["AB"] * 40, groups=("white", "black"), attribute="race")
    runs = [one.assign(collector="table"), one.assign(sample=1, collector="table; read again")]
    answers = pd.concat(runs, ignore_index=True)
    counted = [(entry["items"], entry["set_items"]) for entry in answer_summary(answers)]
    assert counted == [(40, 40), (40, 40)]
    first = answers["item_id"].isin(answers["item_id"].unique()[:10])
    later = answers[~first].assign(collector="table")
    parts = _added_up([summary_of(answers[first]), summary_of(later)])
    assert parts["items"].tolist() == [40, 10]
    assert parts["set_items"].tolist() == [40, 40]


@pytest.mark.parametrize(("refused", "cell"), [(0, "10.0%"), (5, "10.0% (5.0% refused)")])
def test_board_shows_the_share_of_refusals(refused, cell):
    assert _missing(SimpleNamespace(missing=(10, 100), refused=refused)) == cell


def test_release_without_reasons_is_verified_and_wrong_reasons_are_not(entries, tmp_path):
    def problems(change):
        changed = [change(dict(entry)) for entry in entries]
        release = SimpleNamespace(manifest={"answers": changed}, path=tmp_path)
        return list(_fact_problems(release, {"answers": [dict(entry) for entry in entries]}))

    assert problems(lambda entry: entry) == problems(_older) == []
    assert len(problems(lambda entry: entry | {"refused": 0})) == 1
