"""Decisions, levels and scores: two models compared, and models ranked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats import InputError, compare, load_benchmark, rank_differences, rank_models
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.comparisons.item_tallies import steps_of
from fairstats.counts.grid import grid
from tests.make_answers import make_answers
from tests.make_kinds import ONE_PAIR, SEX, SIGNS, answers_to, declared

FIGURES = ["old", "new", "estimate", "ci_low", "ci_high", "p_value", "lowest", "highest", "p_pair"]


@pytest.fixture(scope="module")
def declare(benchmark_file: Callable[..., Path]) -> Callable[..., Benchmark]:
    """Return a benchmark of White and Black, without a key, of one kind of answers."""

    def make(kind: str, **replaced: str) -> Benchmark:
        return declared(benchmark_file, kind, **{"race": ONE_PAIR} | replaced)

    return make


def compared(benchmark: Benchmark, old: list[str], new: list[str], **given: Any) -> pd.DataFrame:
    sides = (
        answers_to(benchmark, items, model=model) for items, model in ((old, "old"), (new, "new"))
    )
    return compare(*sides, benchmarks=[benchmark], **given).set_index("metric")


def drawn(kind: str, n: int, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(SIGNS[kind]), 2)) for _ in range(n)]


def twice(items: list[str]) -> list[str]:
    """Return every item and a copy of it."""
    return [text for text in items for _ in range(2)]


def in_clusters(table: pd.DataFrame, size: int = 2) -> pd.DataFrame:
    """Put items that follow each other into one cluster."""
    number = table["item_id"].str.removeprefix("item-").astype(int) // size
    return table.assign(cluster=number.astype(str))


# Two models


@pytest.mark.parametrize("kind", SIGNS)
def test_each_figure_is_that_of_its_model(kind, declare):
    benchmark, own = declare(kind), KINDS[kind]
    old, new = drawn(kind, 30, 1), drawn(kind, 30, 2)
    table = compared(benchmark, old, new)
    values = {"Y": 1, "M": 0, "N": 0} if kind == "decision" else {s: int(s) for s in SIGNS[kind]}
    for side, items in (("old", old), ("new", new)):
        a, b = np.array([[values[sign] for sign in text] for text in items]).T
        expected = {
            f"delta_{own.rate}": (a.mean() + b.mean()) / 2,
            f"delta_{own.difference}": a.mean() - b.mean(),
            "delta_cfr": np.mean([text[0] == text[1] for text in items]),
            f"delta_{own.disparity}": abs(a.mean() - b.mean()),
        }
        assert table[side].to_dict() == pytest.approx(expected)
    assert table["estimate"].tolist() == pytest.approx((table["new"] - table["old"]).tolist())
    assert (table["ci_low"] <= table["estimate"]).all()
    assert (table["ci_high"] >= table["estimate"]).all()
    assert (table["lowest"] - table["estimate"]).abs().max() < 1e-9


@pytest.mark.parametrize("kind", SIGNS)
def test_the_same_answers_show_no_change(kind, declare):
    items = drawn(kind, 20)
    table = compared(declare(kind), items, items)
    assert (table["estimate"] == 0).all()
    assert (table["p_value"] == 1).all()
    assert set(table["verdict"]) == {"unclear"}


def test_decisions_are_tested_as_choices_are(declare, demo):
    signs = [drawn("decision", 40, seed) for seed in (1, 2)]
    decision = compared(declare("decision"), *signs)
    letters = [[text.translate(str.maketrans("YMN", "ABC")) for text in own] for own in signs]
    sides = (
        make_answers(own, model=model) for own, model in zip(letters, ("old", "new"), strict=True)
    )
    choice = compare(*sides, benchmarks=[demo]).set_index("metric")
    names = {"delta_selection_rate": "delta_accuracy", "delta_cfr": "delta_cfr"}
    names["delta_selection_disparity"] = "delta_ad"
    for name, other in names.items():
        both = [
            table.loc[at, ["old", "new", "p_value"]]
            for table, at in ((decision, name), (choice, other))
        ]
        assert both[0].tolist() == pytest.approx(both[1].tolist())


@pytest.mark.parametrize("kind", ["level", "score"])
def test_swaps_of_all_units_give_the_p_value(kind, declare):
    benchmark = declare(kind)
    old, new = drawn(kind, 9, 1), drawn(kind, 9, 2)
    table = compared(benchmark, old, new)
    before, after = (np.array([int(a) - int(b) for a, b in own]) for own in (old, new))
    change = after - before
    sums = np.abs([np.dot(signs, change) for signs in itertools.product([1, -1], repeat=9)])
    far, equal = (sums > abs(change.sum())).mean(), (sums == abs(change.sum())).mean()
    p_value = table.loc[f"delta_{KINDS[kind].difference}", "p_value"]
    assert p_value == pytest.approx(far + equal / 2)


@pytest.mark.parametrize("kind", SIGNS)
def test_copies_of_items_in_a_cluster_change_nothing(kind, declare):
    old, new = drawn(kind, 25, 1), drawn(kind, 25, 2)
    items = compared(declare(kind), old, new)
    clustered = declare(kind, missing='missing = "available"\ncluster = "patient"')
    sides = [
        in_clusters(answers_to(clustered, twice(own), model=model))
        for own, model in ((old, "old"), (new, "new"))
    ]
    clusters = compare(*sides, benchmarks=[clustered]).set_index("metric")
    pd.testing.assert_frame_equal(items[FIGURES], clusters[FIGURES])
    assert set(clusters["n"]) == {50}
    alone = compare(*(one.drop(columns="cluster") for one in sides), benchmarks=[declare(kind)])
    assert (alone["p_value"].to_numpy() < clusters["p_value"].to_numpy()).any()


def test_items_in_other_clusters_of_the_other_model_give_no_verdict(declare):
    benchmark = declare("level", missing='missing = "available"\ncluster = "patient"')
    same = ["11", "33"] * 40
    cells = ["13"] * 40 + same, ["13"] * 2 + ["11"] * 38 + same
    old, new = (
        in_clusters(answers_to(benchmark, own, model=model))
        for own, model in zip(cells, ("old", "new"), strict=True)
    )
    assert set(compare(old, new, benchmarks=[benchmark])["verdict"]) == {"win-win"}
    apart = new.assign(cluster=new["item_id"])
    for sides in ((old, apart), (apart, old)):
        table = compare(*sides, benchmarks=[benchmark])
        assert set(table["verdict"]) == {"unclear"}
        assert table["verdict_reason"].str.contains("other clusters").all()


def test_items_are_matched_to_clusters_by_name(declare):
    """Each side numbers its own clusters; the items of one are not those of the other."""
    level = declare("level", missing='missing = "available"\ncluster = "patient"')
    items = drawn("level", 12)
    old = in_clusters(answers_to(level, items, model="old"))
    new = in_clusters(answers_to(level, drawn("level", 14, 3), model="new"))
    new = new[~new["item_id"].isin(["item-0", "item-1"])]
    table = compare(old, new, benchmarks=[level], allow_different_items=True)
    both = [one[one["item_id"].isin([f"item-{i}" for i in range(2, 12)])] for one in (old, new)]
    same = compare(*both, benchmarks=[level])
    columns = ["old", "new", "estimate", "ci_low", "ci_high", "p_value"]
    pd.testing.assert_frame_equal(table[columns], same[columns])


@pytest.mark.parametrize("kind", SIGNS)
def test_a_model_that_left_out_more_than_5_percent_of_the_items_does_not_win(kind, declare):
    """Those left out can be the ones in which made-up answers contradict themselves."""
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    unfair = [low + high] * 80 + [low * 2, high * 2] * 60
    fair = [low * 2, high * 2] * 100
    benchmark = replace(declare(kind), listed=tuple(f"item-{i}" for i in range(200)))
    for asked, verdict in ((192, "win-win"), (180, "unclear")):
        table = compared(benchmark, unfair, fair[:asked], allow_different_items=True)
        assert set(table["verdict"]) == {verdict}
    assert table["verdict_reason"].str.contains("10.0% of the items were not asked").all()


@pytest.mark.parametrize("kind", SIGNS)
def test_fairer_model_wins_whatever_the_missing_answers_are(kind, declare):
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    same = [low * 2, high * 2] * 40
    unfair, fair = [low + high] * 40 + same, [low + high] * 2 + [low * 2] * 38 + same
    benchmark = declare(kind)
    assert set(compared(benchmark, unfair, fair)["verdict"]) == {"win-win"}
    assert set(compared(benchmark, fair, unfair)["verdict"]) == {"lose-lose"}
    silent = [f"{low}-"] * 40 + same
    table = compared(benchmark, unfair, silent)
    assert set(table["verdict"]) == {"unclear"}
    assert (table["lowest"] < table["highest"]).all()


@pytest.mark.parametrize("kind", SIGNS)
def test_constant_model_does_not_win(kind, declare):
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    table = compared(declare(kind), [low + high] * 40 + [low * 2, high * 2] * 20, [low * 2] * 80)
    assert set(table["verdict"]) == {"unclear"}
    assert table["verdict_reason"].str.contains("every answer is").all()


@pytest.mark.parametrize("kind", SIGNS)
def test_bounds_contain_every_completion(kind, declare):
    """The missing answers of both models are at the ends in every way, or between them."""
    benchmark, (first, second, *_) = declare(kind), SIGNS[kind]
    last = SIGNS[kind][-1]
    old, new = [f"{first}-", first + last, last * 2], [f"-{last}", last * 2, f"-{first}"]
    table = compared(benchmark, old, new, missing="bounds")
    found = []
    for filled in (*itertools.product((first, last), repeat=3), [second] * 3):
        texts = "\n".join(old + new).replace("-", "{}").format(*filled).split("\n")
        found.append(compared(benchmark, texts[:3], texts[3:])["estimate"])
    every = pd.concat(found, axis=1)
    np.testing.assert_allclose(every.min(axis=1), table["ci_low"], atol=1e-12)
    np.testing.assert_allclose(every.max(axis=1), table["ci_high"], atol=1e-12)


@pytest.mark.parametrize(("worse", "end"), [("lowest", 1), ("highest", 5)])
def test_missing_answer_is_at_the_worse_end(worse, end, declare):
    level = declare("level", missing=f'missing = "incorrect"\nworse = "{worse}"')
    table = compared(level, ["31", "24", "5-"], ["31", "24", "55"], missing="incorrect")
    assert table.loc["delta_level", "old"] == pytest.approx((10 + 5 + end) / 6)
    assert table.loc["delta_level_difference", "old"] == pytest.approx((10 - 5 - end) / 3)


CELLS = ["white_men", "white_women", "black_men", "black_women"]
CROSSED = {
    "sex": '[attributes.sex]\nlabel = "Sex"\ngroups = { men = "Men", women = "Women" }\n'
    'pairs = [["men", "women"]]',
    "crossed": '[attributes.race_sex]\nlabel = "Both"\ncrosses = ["race", "sex"]\n'
    'pairs = [["white_men", "black_men"]]\n'
    f"groups = {{ {', '.join(f'{c} = {c!r}' for c in CELLS)} }}\n"
    f"levels = {{ {', '.join(f'{c} = {c.split(chr(95))}' for c in CELLS)} }}",
}


def test_groups_of_crossed_variants_are_compared(declare):
    """Race has no variants of its own: each is a group of race and of sex."""
    cells = CELLS
    level = declare("level", **CROSSED)
    four = {
        "old": ["1121", "4455", "3323", "5544", "1111", "2213", "4444", "5355"] * 2,
        "new": ["1112", "4454", "3334", "5554", "1211", "2223", "4443", "5553"] * 2,
    }
    sides = [
        answers_to(level, four[side], model=side, attribute="race_sex", groups=cells)
        for side in four
    ]
    table = compare(*sides, benchmarks=[level]).set_index(["attribute", "metric"])
    assert set(table["n"]) == {16}
    for row, side in (("old", four["old"]), ("new", four["new"])):
        values = np.array([[int(sign) for sign in text] for text in side])
        race = (values[:, :2] - values[:, 2:]).mean()
        assert table.loc[("race", "delta_level_difference"), row] == pytest.approx(race)
        assert table.loc[("sex", "delta_level_difference"), row] == pytest.approx(
            (values[:, ::2] - values[:, 1::2]).mean()
        )
    ranks = rank_models(pd.concat(sides), benchmarks=[level])
    assert ranks["rank"].notna().all()
    assert ranks.set_index("model")["estimate"].to_dict() == pytest.approx(
        {
            side: np.mean(
                [abs(table.loc[(name, "delta_level_difference"), side]) for name in ("race", "sex")]
            )
            for side in four
        }
    )


def test_a_stamp_for_one_attribute_is_no_improvement_of_that_one_alone(declare):
    """The newer model always decides alike for sex; for race it is read, and better."""
    both = declare("decision", race=f"{ONE_PAIR}\n{SEX}")
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    old = ["YNYN"] * 40 + ["NNNN"] * 80 + ["YYYY"] * 80
    new = ["YYYY"] * 40 + ["NNYY"] * 80 + ["YYYY"] * 80
    sides = [
        answers_to(both, texts, model=model, variants=variants)
        for model, texts in (("old", old), ("new", new))
    ]
    table = compare(*sides, benchmarks=[both]).drop_duplicates("attribute").set_index("attribute")
    assert table["verdict"].to_dict() == {"race": "win-win", "sex": "unclear"}
    assert table.loc["sex", "verdict_reason"] == "new answers: every answer is “Y”"


def test_crossed_groups_that_were_not_asked_are_no_improvement(declare):
    """Without the women, among whom the gap is, the newer model had none."""
    decision = declare("decision", **CROSSED)
    items = ["YYYN"] * 40 + ["NNNY"] * 5 + ["YYYY"] * 30 + ["NNNN"] * 30
    old, new = (
        answers_to(decision, items, model=name, attribute="race_sex", groups=CELLS)
        for name in ("old", "new")
    )
    table = compare(old, new[new["group"].str.endswith("_men")], benchmarks=[decision])
    race = table[table["attribute"] == "race"].set_index("metric")
    assert set(race["n"]) == {0}
    assert set(race["verdict"]) == {"unclear"}
    assert race.loc["delta_cfr", "lowest"] < 0 < race.loc["delta_cfr", "highest"]


def test_finest_scale_keeps_the_numbers(declare):
    score = declare("score")
    table = answers_to(score, ["37", "21"])
    table["answer"] = ["0.1", "0.333", "2.75", "9"]
    assert steps_of([grid(table, benchmarks=[score])["three"]]) == 9000
    old, new = table, table.assign(model="other", answer=["0.1", "0.3", "2.75", "8"])
    found = compare(old, new, benchmarks=[score]).set_index("metric")
    assert found.loc["delta_score", "old"] == pytest.approx((0.1 + 0.333 + 2.75 + 9) / 4)
    assert found.loc["delta_score_difference", "estimate"] == pytest.approx((0.033 + 1) / 2)


# Without groups

ASKED = '[attributes.question]\nlabel = "Question"\ngroups = { asked = "As asked" }\npairs = []'


def asked(benchmark: Benchmark, items: str, model: str) -> pd.DataFrame:
    texts = list(items)
    return answers_to(benchmark, texts, model=model, attribute="question", groups=["asked"])


def test_choices_without_groups_are_compared():
    medqa = load_benchmark("mirage-medqa")
    keys = list(medqa.answer_keys.values())[:20]

    def answers(model: str, wrong: int) -> pd.DataFrame:
        texts = ["AB"[key == "A"] if i < wrong else key for i, key in enumerate(keys)]
        own = {"of": medqa, "variants": [("question", "asked")], "model": model}
        return make_answers(texts, **own)

    (row,) = compare(answers("old", 8), answers("new", 2)).to_dict("records")
    assert (row["metric"], row["gains"], row["losses"]) == ("delta_accuracy", 6, 0)
    assert row["estimate"] == pytest.approx(6 / 20)
    with pytest.raises(InputError, match="is not available for questions without groups"):
        compare(answers("old", 8), answers("new", 2), allow_different_items=True)


@pytest.mark.parametrize(
    ("kind", "old", "new", "change", "moves"),
    [
        ("decision", "YYNNMY", "YYYYNY", 2 / 6, (2, 0)),
        ("level", "123451", "133442", 1 / 6, (2, 1)),
        ("score", "019351", "007354", -0.0, (1, 2)),
    ],
)
def test_other_kinds_without_groups_are_compared(kind, old, new, change, moves, declare):
    benchmark = declare(kind, race=ASKED)
    sides = (asked(benchmark, text, model) for text, model in ((old, "old"), (new, "new")))
    (row,) = compare(*sides, benchmarks=[benchmark]).to_dict("records")
    assert row["metric"] == f"delta_{KINDS[kind].rate}"
    assert row["estimate"] == pytest.approx(change)
    assert row["new"] - row["old"] == pytest.approx(change)
    assert (row["gains"], row["losses"], row["n"]) == (*moves, 6)
    assert row["lowest"] == pytest.approx(row["estimate"])
    assert row["ci_low"] <= row["estimate"] <= row["ci_high"]


@pytest.mark.parametrize("kind", SIGNS)
def test_missing_answers_without_groups_are_in_the_bounds(kind, declare):
    benchmark, low, high = declare(kind, race=ASKED), SIGNS[kind][0], SIGNS[kind][-1]
    old, new = asked(benchmark, low * 5, "old"), asked(benchmark, "-" + low * 4, "new")
    (row,) = compare(old, new, benchmarks=[benchmark], missing="bounds").to_dict("records")
    ends = sorted([0.0, (benchmark.span if kind != "decision" else -1.0) / 5])
    assert (row["lowest"], row["highest"]) == pytest.approx(tuple(ends))
    assert row["n_missing_new"] == 1
    assert high not in old["answer"].tolist()


# Ranks


def ranked(benchmark: Benchmark, **models: list[str]) -> pd.DataFrame:
    table = pd.concat([answers_to(benchmark, own, model=name) for name, own in models.items()])
    return rank_models(table, benchmarks=[benchmark]).set_index("model")


@pytest.mark.parametrize("kind", SIGNS)
def test_models_rank_by_the_absolute_difference(kind, declare):
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    same = [low * 2, high * 2] * 30
    models = {"unfair": [low + high] * 30 + same, "fair": [high + low] * 1 + [low * 2] * 29 + same}
    table = ranked(declare(kind), **models)
    assert table["rank"].to_dict() == {"fair": 1, "unfair": 2}
    assert set(table["metric"]) == {KINDS[kind].disparity}
    assert table["rank_high"]["fair"] == 1
    assert (table["estimate"] >= 0).all()
    assert table.loc["unfair", "estimate"] == pytest.approx(30 / 90 * declare(kind).span)


@pytest.mark.parametrize("kind", SIGNS)
def test_constant_model_has_no_rank(kind, declare):
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    items = [low + high] * 10 + [low * 2, high * 2] * 20
    table = ranked(declare(kind), stamp=[low * 2] * 50, reader=items, same=items)
    assert pd.isna(table.loc["stamp", "rank"])
    assert "every answer is" in table.loc["stamp", "method_note"]
    assert table.loc["reader", "rank"] == 1


@pytest.mark.parametrize("kind", SIGNS)
def test_missing_answers_count_against_a_rank(kind, declare):
    low, high = SIGNS[kind][0], SIGNS[kind][-1]
    items = [low + high] * 4 + [low * 2, high * 2] * 48
    benchmark = replace(declare(kind), largest_missing=0.5)
    silent = [f"{low}-"] * 4 + items[4:]
    table = ranked(benchmark, open=items, silent=silent)
    assert table.loc["silent", "least_favourable"] == pytest.approx(
        table.loc["open", "least_favourable"]
    )
    assert table.loc["silent", "estimate"] < table.loc["open", "estimate"]
    assert (table["rank_low"] == 1).all()


@pytest.mark.parametrize("kind", SIGNS)
def test_copies_in_clusters_change_no_rank(kind, declare):
    models = {name: drawn(kind, 30, seed) for seed, name in enumerate("abc")}
    apart = declare(kind)
    clustered = declare(kind, missing='missing = "available"\ncluster = "patient"')
    one = pd.concat([answers_to(apart, own, model=name) for name, own in models.items()])
    two = pd.concat(
        [in_clusters(answers_to(clustered, twice(own), model=name)) for name, own in models.items()]
    )
    found = [
        rank_differences(table, metric, benchmarks=[benchmark])["p_value"]
        for table, benchmark in ((one, apart), (two, clustered))
        for metric in (None, "cfr")
    ]
    pd.testing.assert_series_equal(found[0], found[2])
    pd.testing.assert_series_equal(found[1], found[3])


def test_only_metrics_of_the_kind_rank(declare):
    level = declare("level")
    with pytest.raises(ValueError, match="use level_disparity or cfr"):
        rank_models(answers_to(level, drawn("level", 10)), "accuracy", benchmarks=[level])
