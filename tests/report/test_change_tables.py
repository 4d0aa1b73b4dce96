"""The pages of versions and strategies: what they say, and that names in them are harmless."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from fairstats._lib.formatting import points
from fairstats.answers.files import write_answers
from fairstats.benchmarks.declaration import load_benchmark
from fairstats.comparisons.declared import comparisons_of, successors
from fairstats.publishing.publish import publish
from fairstats.report.prose import how_to_read_changes

from .conftest import answers_of_models


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A release with two versions of one model, and one model under two strategies."""
    folder = tmp_path_factory.mktemp("changes")
    old, new = answers_of_models(("GPT-4.1",)), answers_of_models(("GPT-5",))
    better = (new["group"] == "black") & new["answer"].notna()
    new.loc[better, "answer"] = new.loc[better, "answer_key"]
    hostile = "<b>x</b> | $y$"
    plain = answers_of_models((hostile,))
    aware = answers_of_models((hostile,)).assign(strategy="aware")
    path = write_answers(pd.concat([old, new, plain, aware]), folder / "answers.parquet")
    return publish(path, release="1", out=folder / "out", renderer="builtin")


def page(published, name: str) -> str:
    return (published.path / "reports" / f"{name}.html").read_text(encoding="utf-8")


def test_every_published_change_stands_on_its_page(changed):
    table = pd.read_parquet(changed.path / "downloads" / "comparisons.parquet")
    assert table["kind"].value_counts().to_dict() == {"version": 9, "strategy": 9}
    for kind, name in (("version", "versions"), ("strategy", "strategies")):
        text = re.sub(r"<[^>]+>", " ", page(changed, name))
        for row in table[table["kind"] == kind].itertuples():
            assert points(row.estimate) in text


def test_the_lede_explains_common_pairs(changed):
    for name in ("versions", "strategies"):
        assert "An item counts if both answer sets answer both of its variants" in page(
            changed, name
        )


def test_a_version_is_named_with_the_one_before(changed):
    text = page(changed, "versions")
    assert "GPT-4.1 → GPT-5" in text
    assert "Not like for like" not in text


def test_the_same_answers_under_another_name_of_the_strategy_show_no_change(changed):
    text = page(changed, "strategies")
    assert "plain → aware" in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x</b>" not in text
    assert text.count("<small>no significant change") == 9


@pytest.mark.parametrize(
    ("family", "named"),
    [
        ("model", "the comparison"),
        ("board", "all comparisons of the board"),
        ("release", "all comparisons of the release"),
    ],
)
def test_how_to_read_changes_names_the_family_that_is_adjusted_together(family, named):
    text = how_to_read_changes(release_of(family, "available"))
    assert f"over the pairs of {named}." in text
    assert text.count("at most 0.01") == 2


def test_how_to_read_changes_promises_no_verdict_under_bounds():
    text = how_to_read_changes(release_of("board", "bounds"))
    assert "no test and no verdict" in text
    assert "win-win" not in text


def release_of(family: str, policy: str) -> SimpleNamespace:
    benchmark = replace(load_benchmark("demo"), family=family)
    return SimpleNamespace(alpha=0.01, policies=[policy], benchmarks={"demo": benchmark})


def test_a_successor_that_was_asked_other_questions_is_marked():
    old = answers_of_models(("GPT-4.1",)).assign(benchmark_version="0")
    new = answers_of_models(("GPT-5",))
    known = {"demo": load_benchmark("demo")}
    table = comparisons_of(pd.concat([old, new]), None, 0.05, known)
    assert len(table) == 9
    assert table["method_note"].str.startswith("different questions").all()
    alike = comparisons_of(pd.concat([old, new, new.assign(model="GPT-4.1")]), None, 0.05, known)
    assert (alike["method_note"] == "").all()
    assert len(alike) == 9


def test_successors_are_pairs_of_models():
    assert ("Claude-3.7-Sonnet", "Claude-4-Sonnet") in successors()
    assert all(older != newer for older, newer in successors())
