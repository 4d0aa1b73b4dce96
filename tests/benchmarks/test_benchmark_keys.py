"""Benchmark files: unknown keys, and the rules for ranking."""

from __future__ import annotations

import pytest

from fairstats._lib.problems import InputError
from fairstats._lib.resources import resource
from fairstats.benchmarks.loading import load_benchmark


def changed(tmp_path, old, new):
    folder = resource("data", "benchmarks")
    text = (folder / "fairmedqa.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "fairmedqa.keys.csv").write_bytes((folder / "fairmedqa.keys.csv").read_bytes())
    path = tmp_path / "changed.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("[selected_on]", "[selectd_on]", "selectd_on", "did you mean selected_on?"),
        ("missing =", "mising = 1\nmissing =", "mising", "did you mean missing?"),
        ("[versions]", "[ranking]\nlargest = 1\n[versions]", "ranking.largest", "largest_missing"),
        ('label = "Race"', 'label = "Race"\npair = []', "attributes.race.pair", "pairs"),
    ],
)
def test_unknown_key_is_refused_with_closest_known_key(tmp_path, old, new, key, remedy):
    path = changed(tmp_path, old, new)
    with pytest.raises(InputError) as caught:
        load_benchmark(path)
    (problem,) = caught.value.problems
    assert (problem.path, problem.column) == (str(path), key)
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('family = "page"', "family"),
        ("[ranking]\nlargest_missing = 5", "ranking.largest_missing"),
        ("[ranking]\nlowest_accuracy = -0.1", "ranking.lowest_accuracy"),
        ("[ranking]\ncommon_items = 95", "ranking.common_items"),
    ],
)
def test_rule_outside_its_range_is_refused(tmp_path, line, key):
    with pytest.raises(InputError) as caught:
        load_benchmark(changed(tmp_path, "[versions]", f"{line}\n[versions]"))
    assert [problem.column for problem in caught.value.problems] == [key]


@pytest.mark.parametrize("value", ['"yes"', "1"])
def test_publish_items_must_be_true_or_false(tmp_path, value):
    line = f"publish_items = {value}"
    text = (resource("data", "benchmarks") / "fairmedqa.toml").read_text(encoding="utf-8")
    assert "publish_items" not in text
    with pytest.raises(InputError, match="publish_items: has the wrong type; write true or false"):
        load_benchmark(changed(tmp_path, "[versions]", f"{line}\n[versions]"))


@pytest.mark.parametrize("value", ["1", "0.5", "-2", "true", '"2.5"', "inf", "nan"])
def test_same_variants_odds_ratio_must_be_above_1(tmp_path, value):
    path = changed(
        tmp_path, "same_variants_odds_ratio = 2.5", f"same_variants_odds_ratio = {value}"
    )
    with pytest.raises(
        InputError, match=r"same_variants_odds_ratio = .*: must be a number above 1"
    ):
        load_benchmark(path)


def test_only_fairmedqa_declares_a_same_variants_odds_ratio():
    assert load_benchmark("fairmedqa").same_variants_odds_ratio == 2.5
    for name in ("demo", "medperturb"):
        assert load_benchmark(name).same_variants_odds_ratio is None


def test_ranking_rules_have_defaults():
    benchmark = load_benchmark("fairmedqa")
    assert benchmark.family == "board"
    assert benchmark.largest_missing == 0.05
    assert benchmark.lowest_accuracy is None
    assert benchmark.common_items == 0.95


def test_chance_is_at_least_the_share_of_the_most_frequent_key():
    benchmark = load_benchmark("fairmedqa")
    keys = list(benchmark.answer_keys.values())
    assert benchmark.chance == max(keys.count(letter) for letter in "ABCD") / len(keys)
    assert benchmark.chance > 1 / 4
