"""The gate for decisions, levels and scores: limits on any figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from fairstats import InputError, analyze
from fairstats.benchmarks.declaration import Benchmark
from fairstats.estimates.gate import gate, gate_lines
from fairstats.estimates.limits import Limits
from fairstats.inference.intervals import wilson
from tests.make_kinds import CONTROLLED, CROSSED, ONE_PAIR, PLACEBO, SIGNS, answers_to, declared

ITEMS = 400
#: Limits that the fair model keeps, by metric, and their side.
LARGEST = {
    "decision": {"selection_difference": 0.05, "demographic_parity": 0.05, "cohens_h": 0.2},
    "level": {"level_difference": 0.2, "moved_up": 0.1, "net_moved": 0.1},
    "score": {"score_difference": 0.4, "moved_down": 0.1, "standardized_difference": 0.3},
}
SMALLEST = {
    "decision": {"cfr": 0.9, "selection_ratio": 0.8},
    "level": {"cfr": 0.9, "weighted_kappa": 0.8},
    "score": {"cfr": 0.9},
}


@pytest.fixture(scope="module")
def declare(benchmark_file: Callable[..., Path]) -> Callable[[str], Benchmark]:
    def make(kind: str) -> Benchmark:
        items = tuple(f"item-{i}" for i in range(ITEMS))
        return replace(declared(benchmark_file, kind, race=ONE_PAIR), listed=items)

    return make


def fair(kind: str) -> list[str]:
    """Return answers that depend on the item, and in six items on the group."""
    signs = SIGNS[kind]
    texts = [signs[i % len(signs)] * 2 for i in range(ITEMS)]
    for place in range(6):
        texts[place] = signs[0] + signs[1]
    return texts


def checked(benchmark: Benchmark, answers: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    return gate(answers, limits, benchmarks=[benchmark])


def results(table: pd.DataFrame) -> list[str]:
    return table["result"].unique().tolist()


def limits_of(kind: str) -> Limits:
    return Limits(largest=LARGEST[kind], smallest=SMALLEST[kind])


@pytest.mark.parametrize("kind", SIGNS)
def test_benchmark_without_listed_items_cannot_pass(kind, declare):
    # Items left out are not found then: these answers pass if the items are listed.
    benchmark = replace(declare(kind), listed=())
    table = checked(benchmark, answers_to(benchmark, fair(kind)), limits_of(kind))
    assert set(table["result"]) == {"cannot tell"}
    assert table["reason"].str.contains("does not list its items").all()


@pytest.mark.parametrize("kind", SIGNS)
def test_fair_model_passes(kind, declare):
    benchmark = declare(kind)
    table = checked(benchmark, answers_to(benchmark, fair(kind)), limits_of(kind))
    assert set(table["result"]) == {"pass"}, gate_lines(table, [benchmark])
    assert len(table) == len(LARGEST[kind]) + len(SMALLEST[kind])
    assert (table["lowest"] == table["ci_low"]).all()


def hard(kind: str, text: str) -> list[str]:
    return [text if place < 6 else one for place, one in enumerate(fair(kind))]


def ways(kind: str) -> dict[str, list[str]]:
    """Return ways to pass without being fair."""
    first, last = SIGNS[kind][0], SIGNS[kind][-1]
    unfair = [first + last] * 60 + fair(kind)[60:]
    return {
        "answers to differing items are missing": [f"{first}-"] * 60 + fair(kind)[60:],
        "differing items are not asked": ["."] * 60 + fair(kind)[60:],
        "every answer is the same": [first * 2] * ITEMS,
        "no answer is given": ["--"] * ITEMS,
        "one group is not answered": [text[0] + "-" for text in fair(kind)],
        "answers differ": unfair,
    }


@pytest.mark.parametrize("kind", SIGNS)
@pytest.mark.parametrize("way", ways("level"))
def test_gate_does_not_pass_if(way, kind, declare):
    benchmark = declare(kind)
    answers = answers_to(benchmark, [text.replace(".", "..") for text in ways(kind)[way]])
    table = checked(benchmark, answers, limits_of(kind))
    judged = table[~table["check"].isin(["max_moved_down", "max_moved_up"])]
    assert "pass" not in set(judged["result"]), gate_lines(table, [benchmark])
    assert table.loc[table["result"] != "pass", "reason"].str.len().gt(0).all()


@pytest.mark.parametrize("kind", SIGNS)
def test_equivalent_uses_the_margin_and_unit_of_the_kind(kind, declare):
    benchmark = declare(kind)
    answers = answers_to(benchmark, fair(kind))
    table = checked(benchmark, answers, Limits(equivalent=True))
    row = (
        analyze(answers, benchmarks=[benchmark]).set_index("metric").loc[benchmark.kind.difference]
    )
    assert (table["result"][0] == "pass") == (row["verdict"] == "equivalent")
    assert table["limit"].tolist() == [row["margin"]]
    line, _ = gate_lines(table, [benchmark])
    assert benchmark.kind.unit in line
    with pytest.raises(InputError, match="margin: "):
        checked(benchmark, answers, Limits(equivalent=True, margin=benchmark.span))


@pytest.mark.parametrize("kind", SIGNS)
def test_no_completion_is_outside_the_limits(kind, declare):
    """Missing answers are filled in at random, and at the ends."""
    benchmark, signs = declare(kind), SIGNS[kind]
    benchmark = replace(benchmark, listed=(), largest_missing=0.5)
    texts = fair(kind)[:60]
    holes = list(texts)
    holes[::9] = ["-" + text[1] for text in texts[::9]]
    holes[1::7] = [text[0] + "-" for text in texts[1::7]]
    limits = limits_of(kind)
    table = checked(benchmark, answers_to(benchmark, holes), limits).set_index("check")
    known = table[table["lowest"].notna()]
    assert {f"max_{benchmark.kind.difference}", "min_cfr"} < set(known.index)
    rng = np.random.default_rng(1)
    for draw in range(5):
        options = {0: signs[0], 1: signs[-1]}.get(draw)
        filled = [
            "".join((options or rng.choice(list(signs))) if sign == "-" else sign for sign in text)
            for text in holes
        ]
        found = checked(benchmark, answers_to(benchmark, filled), limits).set_index("check")
        found = found.loc[known.index]
        assert (found["ci_low"] >= known["lowest"] - 1e-9).all()
        assert (found["ci_high"] <= known["highest"] + 1e-9).all()


def test_ratio_is_limited_in_both_directions(declare):
    decision = declare("decision")
    for texts in (["YN"] * 60, ["NY"] * 60):
        answers = answers_to(decision, texts + ["YY", "NN"] * 170)
        table = checked(decision, answers, Limits(smallest={"selection_ratio": 0.9}))
        assert table["result"].tolist() == ["fail"]
        assert table["estimate"].tolist() == pytest.approx([170 / 230])


def test_limit_on_a_standardized_difference_leaves_room_for_rare_items(declare):
    """Without room, it passed in 14 to 29% if 1 or 2% of scores differ by most of the scale."""
    benchmark = replace(declare("score"), listed=tuple(f"item-{i}" for i in range(80)))
    texts = ["45", "54", "33", "55"] * 20
    answers = answers_to(benchmark, texts)
    table = checked(benchmark, answers, Limits(largest={"standardized_difference": 0.2}))
    assert table["has_room"].all()
    assert table["result"].tolist() == ["cannot tell"]
    scores = np.array([[int(sign) for sign in text] for text in texts], dtype=float)
    deviation = np.sqrt(2 * 80 * scores.var(axis=0).mean() / 158)
    share = float(wilson(0, 80, alpha=0.1).ci_high)
    assert table["ci_high"].item() == pytest.approx(share * 9 / deviation)


@pytest.mark.parametrize(
    ("metric", "keyed", "limit"),
    [
        ("score_a", 80, 4.4),
        ("absolute_error_a", 80, 0.25),
        ("absolute_error_a", 20, 0.9),
        ("absolute_error_difference", 80, 0.7),
        ("signed_error_b", 80, 0.25),
    ],
)
def test_limits_on_scores_and_errors_leave_room_for_rare_items(metric, keyed, limit, declare):
    """Without room, up to 45% passed at the limit."""
    names = [f"item-{i}" for i in range(80)]
    texts = ["45", "54", "33", "55"] * 20
    keys = {name: text[0] for name, text in zip(names[:keyed], texts, strict=False)}
    benchmark = replace(
        declare("score"), listed=tuple(names), answer_keys=MappingProxyType(keys), worse="highest"
    )
    answers = answers_to(benchmark, texts)
    answers["answer_key"] = answers["item_id"].map(keys).astype("str")
    row = checked(benchmark, answers, Limits(largest={metric: limit})).iloc[0]
    assert row["has_room"]
    assert row["result"] == "cannot tell"
    share = float(wilson(0, keyed, alpha=0.1).ci_high)
    assert row["ci_high"] >= row["estimate"] + share * (9 - row["estimate"]) - 1e-9


@pytest.mark.parametrize("changed", [0, 4, 8, 12])
def test_limit_on_a_ratio_leaves_room_for_rare_clusters(changed, declare):
    benchmark = replace(
        declare("decision"), listed=tuple(f"item-{i}" for i in range(120)), cluster="cluster"
    )
    texts = ["YY", "NN"] * 60
    for place in range(changed):
        texts[place * (120 // changed)] = ("YN", "NY")[place % 2]
    answers = answers_to(benchmark, texts)
    number = answers["item_id"].str.removeprefix("item-").astype(int)
    answers["cluster"] = "c" + (7 * number % 12).astype(str)
    table = checked(benchmark, answers, Limits(smallest={"selection_ratio": 0.8}))
    assert table["result"].tolist() == ["cannot tell"]
    assert table["has_room"].all()
    # As many of one cluster as Wilson's limit allows could be selected in one group only.
    share = float(wilson(0, 12, alpha=0.1).ci_high)
    rate = (1 - share) * 0.5
    assert table["ci_low"].item() <= rate / (rate + share) + 1e-9


@pytest.mark.parametrize("name", ["selection_ratio", "odds_ratio", "impact_ratio"])
def test_largest_ratio_is_refused_as_the_inverse_would_pass(name, declare):
    decision = declare("decision")
    with pytest.raises(InputError, match=f"largest {name}: is a ratio.*smallest={{'{name}': 0.8}}"):
        Limits(largest={name: 1.25}).checks(decision)


def test_figure_without_an_interval_is_no_pass(declare):
    """The odds ratio has none for clustered answers."""
    decision = declare("decision")
    answers = answers_to(decision, fair("decision"))
    twice = pd.concat([answers, answers.assign(sample=1)])
    for least in (0.5, 2):
        table = checked(decision, twice, Limits(smallest={"odds_ratio": least}))
        assert table["result"].tolist() == ["cannot tell"]
        assert "no interval" in table["reason"].item()


def test_attribute_without_answers_is_no_pass(benchmark_file):
    decision = declared(benchmark_file, "decision", race=CONTROLLED)
    control = answers_to(decision, fair("decision"), attribute="placebo", groups=("car", "none"))
    limits = Limits(largest={"selection_disparity": 0.05})
    table = gate(control, limits, benchmarks=[decision], attributes=["race"])
    assert table["result"].tolist() == ["cannot tell"]


def test_limit_of_an_interaction_is_refused(declare):
    with pytest.raises(InputError, match="declare pairs of the crossed groups"):
        Limits(largest={"interaction": 0.1}).checks(declare("decision"))


def test_whole_attributes_have_one_check(declare):
    decision = declare("decision")
    texts = fair("decision")
    limits = Limits(largest={"demographic_parity": 0.05})
    table = checked(decision, answers_to(decision, texts), limits)
    assert table[["group_a", "result"]].values.tolist() == [[None, "pass"]]
    line, about = gate_lines(table, [decision])
    assert about == "in brackets: 90% intervals, for every completion of the missing answers"
    assert "race: demographic parity difference 1.5 points" in line
    missing = checked(decision, answers_to(decision, [*texts[:-1], "Y-"]), limits)
    line, about = gate_lines(missing, [decision])
    assert "without missing answers" in line
    assert about == "in brackets: 90% intervals"
    assert missing["result"].tolist() == ["cannot tell"]


def test_lines_name_groups_as_they_are(declare):
    level = declare("level")
    table = checked(level, answers_to(level, fair("level")), Limits(largest={"moved_up": 0.1}))
    line, _ = gate_lines(table.replace({"white": "White_Men", "black": "Black_Men"}), [level])
    assert "White_Men higher 0.0%" in line


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"largest": {"level_difference": 4}}, "level_difference: 4 is not between 0 and 4"),
        (
            {"largest": {"ad": 0.1}},
            r"ad: is for choices, and three has levels; use largest={'level_difference': 'LIMIT'}",
        ),
        ({"smallest": {"accuracy_ratio": 0.8}}, "smallest accuracy_ratio: is for choices"),
        ({"largest": {"too_high_a": 0.1}}, "no figure of the answers"),
        ({"largest": {"sign_flip": 0.1}}, "is no such figure"),
        ({"largest": {"color": 0.1}}, "is no such figure"),
        ({"smallest": {"level_difference": 0.1}}, "limit its absolute value"),
        ({"smallest": {"cfr": float("nan")}}, "cfr: nan is not a finite number"),
    ],
)
def test_limits_that_cannot_be_checked_are_refused(limits, text, declare):
    level = declare("level")
    with pytest.raises(InputError, match=text):
        checked(level, answers_to(level, fair("level")), Limits(**limits))


@pytest.mark.parametrize("kind", ["level", "score"])
def test_limit_on_a_difference_of_means_leaves_room_for_rare_large_ones(kind, declare):
    benchmark = replace(declare(kind), listed=tuple(f"item-{i}" for i in range(60)))
    answers = answers_to(benchmark, ["12"] * 15 + ["54"] * 15 + ["11", "33", "55"] * 10)
    # Wilson's 90% upper limit for 0 of 60 items that differ by the whole scale.
    reach = benchmark.span * float(wilson(0, 60, alpha=0.1).ci_high)
    for share, result in ((0.97, "cannot tell"), (1.03, "pass")):
        limits = Limits(largest={benchmark.kind.difference: share * reach})
        assert checked(benchmark, answers, limits)["result"].tolist() == [result]


@pytest.mark.parametrize("kind", SIGNS)
def test_a_layer_of_crossed_groups_that_was_not_asked_is_missing(kind, benchmark_file):
    """Women's answers differ by race, men's do not."""
    items = tuple(f"item-{i}" for i in range(ITEMS))
    benchmark = replace(declared(benchmark_file, kind, race=CROSSED), listed=items)
    signs = SIGNS[kind]
    texts = [signs[i % len(signs)] * 3 + signs[(i + 1) % len(signs)] for i in range(ITEMS)]
    variants = [("race_sex", group) for group in benchmark.attributes["race_sex"].groups]
    answers = answers_to(benchmark, texts, variants=variants)
    men = answers[answers["group"].str.endswith("m")]
    for own, result in ((answers, "fail"), (men, "cannot tell")):
        table = gate(
            own, Limits(smallest={"cfr": 0.9}), attributes=["race"], benchmarks=[benchmark]
        )
        assert table["result"].tolist() == [result]
    verdicts = analyze(men, benchmarks=[benchmark]).query("attribute == 'race'")["verdict"].dropna()
    assert set(verdicts) == {"inconclusive"}


THREE_GROUPS = ONE_PAIR.replace('black = "Black"', 'black = "Black", asian = "Asian"')


@pytest.mark.parametrize(
    ("metric", "attributes", "variant"),
    [
        ("demographic_parity", THREE_GROUPS, ("race", "asian")),
        ("selection_difference_simultaneous", THREE_GROUPS, ("race", "asian")),
        ("beyond_control", CONTROLLED, ("placebo", "none")),
    ],
)
def test_missing_answers_that_a_figure_needs_do_not_pass(
    metric, attributes, variant, benchmark_file
):
    """The answers of the compared pair are all there."""
    items = tuple(f"item-{i}" for i in range(ITEMS))
    benchmark = replace(declared(benchmark_file, "decision", race=attributes), listed=items)
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    texts = [SIGNS["decision"][i % 3] * len(variants) for i in range(ITEMS)]
    answers = answers_to(benchmark, texts, variants=variants)
    limits = Limits(largest={metric: 0.1})
    (row,) = checked(benchmark, answers, limits).to_dict("records")
    assert (row["result"], row["estimate"]) == ("pass", 0)
    at = (answers["attribute"] == variant[0]) & (answers["group"] == variant[1])
    lost = answers.assign(
        status=answers["status"].mask(at & (answers["item_id"] == "item-1"), "unparsed")
    )
    lost["answer"] = lost["answer"].where(lost["status"] == "ok", None)
    for fewer in (lost, answers[~at | (answers["item_id"] != "item-1")]):
        assert set(checked(benchmark, fewer, limits)["result"]) == {"cannot tell"}


def test_control_that_was_not_asked_is_no_pass(benchmark_file):
    """The control that is left out changes no answer, the other one as many as race."""
    attributes = (
        CONTROLLED + "\n\n" + PLACEBO.replace("placebo", "words").replace("Placebo", "Words")
    )
    benchmark = declared(benchmark_file, "decision", race=attributes)
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    texts = [("YNYNYY", "NNNNNN", "YYYYYY")[i % 3] for i in range(ITEMS)]
    answers = answers_to(benchmark, texts, variants=variants)
    limits = Limits(largest={"beyond_control": 0.1})
    assert results(checked(benchmark, answers, limits)) == ["fail"]
    fewer = answers[answers["attribute"] != "words"]
    assert results(checked(benchmark, fewer, limits)) == ["cannot tell"]
    # Nor is it a pass if another model was asked all.
    both = pd.concat([answers.assign(model="whole"), fewer])
    assert sorted(results(checked(benchmark, both, limits))) == ["cannot tell", "fail"]


def test_samples_of_a_control_left_out_for_both_versions_are_no_pass(benchmark_file):
    benchmark = declared(benchmark_file, "decision", race=CONTROLLED)
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    texts = ["YN"[i % 2] * len(variants) for i in range(ITEMS)]
    answers = pd.concat([answers_to(benchmark, texts, variants=variants, sample=n) for n in (0, 1)])
    limits = Limits(largest={"beyond_control": 0.1})
    assert results(checked(benchmark, answers, limits)) == ["pass"]
    left_out = (answers["attribute"] == "placebo") & (answers["sample"] == 1)
    for items in (["item-7"], answers["item_id"]):
        fewer = answers[~(left_out & answers["item_id"].isin(items))]
        assert results(checked(benchmark, fewer, limits)) == ["cannot tell"]


@pytest.mark.parametrize(("column", "value"), [("temperature", 1.5), ("snapshot", "other-9")])
def test_controls_answered_in_another_way_are_no_pass(column, value, benchmark_file):
    """Noise from a higher temperature would hide a change with the group."""
    benchmark = declared(benchmark_file, "decision", race=CONTROLLED)
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    answers = answers_to(benchmark, ["YYNY", "NNYY"] * (ITEMS // 2), variants=variants)
    limits = Limits(largest={"beyond_control": 0.1})
    same = answers.assign(**{column: {"temperature": 0.0, "snapshot": "one-1"}[column]})
    assert results(checked(benchmark, same, limits)) == ["pass"]
    stated = same.assign(**{column: same[column].where(same["attribute"] == "placebo", None)})
    assert results(checked(benchmark, stated, limits)) == ["cannot tell"]
    own = same[column].mask(same["attribute"] == "placebo", value)
    table = checked(benchmark, same.assign(**{column: own}), limits)
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains("controls and groups were answered").all()
    rows = analyze(same.assign(**{column: own}), benchmarks=[benchmark]).set_index("metric")
    assert "controls and groups" in rows.loc["beyond_control", "method_note"]


def test_each_pair_keeps_the_limit_beyond_controls(benchmark_file):
    """The second pair changes beyond it, and the mean of both does not."""
    race = THREE_GROUPS.replace('["white", "black"]]', '["white", "black"], ["white", "asian"]]')
    benchmark = declared(benchmark_file, "decision", race=f"{race}\n\n{PLACEBO}")
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    texts = ["YYNYY" if i % 5 == 0 else "YNY"[i % 3] * 5 for i in range(ITEMS)]
    table = checked(
        benchmark,
        answers_to(benchmark, texts, variants=variants),
        Limits(largest={"beyond_control": 0.14}),
    )
    assert table[["group_b", "result"]].values.tolist() == [["black", "pass"], ["asian", "fail"]]


def test_items_that_were_not_asked_may_lack_one_groups_answers(declare):
    benchmark = declare("decision")
    answers = answers_to(benchmark, fair("decision"))
    refused = answers["item_id"].isin([f"item-{i}" for i in range(10)])
    limits = Limits(largest={"missing_difference": 0.02})
    assert results(checked(benchmark, answers, limits)) == ["pass"]
    table = checked(benchmark, answers[~refused], limits)
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains("it needs those answers").all()


@pytest.mark.parametrize("share", [0.05, 0.06])
@pytest.mark.parametrize("kind", ["level", "score"])
def test_random_answers_pass_no_limit_whatever_items_are_left_out(kind, share, benchmark_file):
    rng, names = np.random.default_rng(86), [f"item-{i}" for i in range(1000)]
    signs = rng.choice(list(SIGNS[kind]), (len(names), 2))
    first, second = np.vectorize(SIGNS[kind].index)(signs).T
    agreement = (first - first.mean()) * (second - second.mean())
    kept = sorted(np.argsort(agreement)[int(share * len(names)) :])
    benchmark = declared(benchmark_file, kind, race=ONE_PAIR)
    benchmark = replace(benchmark, listed=tuple(names))
    answers = answers_to(benchmark, ["".join(pair) for pair in signs])
    asked = answers[answers["item_id"].isin([names[i] for i in kept])]
    span = benchmark.limits[1] - benchmark.limits[0]
    for limits in (
        Limits(equivalent=True, margin=0.25 * span),
        Limits(largest={"net_moved": 0.25}),
    ):
        table = checked(benchmark, asked, limits)
        assert results(table) == ["cannot tell"]
        expected = "could be chance" if share == 0.05 else "6.0% of the items were not asked"
        assert table["reason"].str.contains(expected).all()


@pytest.mark.parametrize("first", ["white", "black"])
def test_simultaneous_limits_are_of_pairs_in_their_declared_order(first, benchmark_file):
    second = {"white": "black", "black": "white"}[first]
    race = THREE_GROUPS.replace('["white", "black"]', f'["{first}", "{second}"]')
    benchmark = declared(benchmark_file, "decision", race=race)
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [("race", group) for group in benchmark.attributes["race"].groups]
    answers = answers_to(
        benchmark, [("YNN", "NNN", "YYY")[i % 3] for i in range(ITEMS)], variants=variants
    )
    table = checked(benchmark, answers, Limits(largest={"selection_difference_simultaneous": 0.1}))
    assert table[["group_a", "result"]].values.tolist() == [[first, "fail"]]


@pytest.mark.parametrize("texts", [["YNN", "NNN", "YYY"], ["NYY", "NNN", "YYY"]])
def test_simultaneous_limits_are_of_differences_in_either_direction(texts, benchmark_file):
    benchmark = declared(benchmark_file, "decision", race=THREE_GROUPS)
    benchmark = replace(benchmark, listed=tuple(f"item-{i}" for i in range(ITEMS)))
    variants = [("race", group) for group in benchmark.attributes["race"].groups]
    answers = answers_to(benchmark, [texts[i % 3] for i in range(ITEMS)], variants=variants)
    table = checked(benchmark, answers, Limits(largest={"selection_difference_simultaneous": 0.1}))
    assert table["result"].tolist() == ["fail"]
    assert "33.5 points" in gate_lines(table, [benchmark])[0]
