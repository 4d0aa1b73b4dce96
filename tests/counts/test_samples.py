"""Several samples per item: no figure may depend on how the samples are numbered."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairstats
from fairstats.answers.engine_frames import open_answers
from fairstats.counts.outcomes import count_outcomes
from fairstats.counts.patterns import PATTERNS
from tests.make_answers import make_answers

RACE, SEX = ("white", "black"), ("male", "female")
POLICIES = ("available", "complete", "incorrect", "bounds")
KEYS = ["item_id", "attribute", "group"]


def drawn(answers_of, seed: int, sizes: tuple[int, ...], *, items: int = 25) -> pd.DataFrame:
    """Answers of two attributes; an item has one of the numbers of samples in `sizes`."""
    draw = random.Random(seed)
    many = [draw.choice(sizes) for _ in range(items)]
    parts = []
    for sample in range(max(sizes)):
        for attribute, groups in (("race", RACE), ("sex", SEX)):
            texts = [
                "".join(draw.choices("AAABC-.", k=2)) + "/" + draw.choice("AAB-")
                if sample < own
                else ".."
                for own in many
            ]
            if attribute == "sex":
                texts = [text.partition("/")[0] for text in texts]
            parts.append(answers_of(texts, groups=groups, attribute=attribute, sample=sample))
    return pd.concat([part for part in parts if not part.empty], ignore_index=True)


def relabelled(answers: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the same answers, with new numbers for the samples of every variant."""
    draw = random.Random(seed)
    parts = []
    for _, own in answers.groupby(KEYS, sort=False):
        parts.append(own.assign(sample=draw.sample(range(9), len(own))))
    return pd.concat(parts, ignore_index=True)


def assert_same_figures(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_estimates_do_not_depend_on_sample_numbers(sizes, answers_of, seed):
    answers = drawn(answers_of, seed, sizes, items=12)
    counted = [open_answers(own, ()) for own in (answers, relabelled(answers, seed))]
    for policy in POLICIES:
        assert_same_figures(*(fairstats.analyze(own, policy) for own in counted))


@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
def test_joint_adjustment_does_not_depend_on_sample_numbers(sizes, answers_of):
    answers = drawn(answers_of, 1, sizes)
    one, other = (
        fairstats.analyze(a, adjust="max_t", n_resamples=199)
        for a in (answers, relabelled(answers, 2))
    )
    assert_same_figures(one, other)


@pytest.mark.parametrize("metric", ["ad", "cfr", "accuracy"])
def test_ranks_do_not_depend_on_sample_numbers(metric, answers_of):
    answers = pd.concat(
        drawn(answers_of, seed, (3,)).assign(model=f"model-{seed}") for seed in (1, 2, 3)
    )
    shuffled = pd.concat(relabelled(own, 4) for _, own in answers.groupby("model"))
    one, other = (fairstats.rank_models(a, metric) for a in (answers, shuffled))
    assert_same_figures(one, other)


def test_different_items_can_be_compared_with_any_sample_numbers(answers_of):
    old, new = (drawn(answers_of, seed, (3,)).assign(model=f"m{seed}") for seed in (1, 2))
    one = fairstats.compare(old, new, n_resamples=199)
    other = fairstats.compare(relabelled(old, 3), relabelled(new, 4), n_resamples=199)
    assert_same_figures(one, other)


@pytest.fixture(scope="module")
def three_samples(answers_of, three_groups) -> pd.DataFrame:
    """Three groups, up to three samples of an item, answers and rows missing."""
    draw = random.Random(5)
    groups = tuple(three_groups.attributes["race"].groups)
    many = [draw.choice((1, 2, 3)) for _ in range(20)]
    parts = [
        answers_of(
            [
                "".join(draw.choices("AABC-", k=3)) + "/" + draw.choice("AAB-")
                if sample < own
                else "..."
                for own in many
            ],
            groups=groups,
            benchmark="three",
            sample=sample,
        )
        for sample in range(3)
    ]
    return pd.concat(parts, ignore_index=True)


def test_three_groups_do_not_depend_on_sample_numbers(three_samples, three_groups):
    counted = [
        open_answers(own, [three_groups]) for own in (three_samples, relabelled(three_samples, 1))
    ]
    for policy in POLICIES:
        assert_same_figures(*(fairstats.analyze(own, policy) for own in counted))


def answers_by_item(answers: pd.DataFrame, attribute: str, group: str) -> dict[str, list]:
    own = answers[(answers["attribute"] == attribute) & (answers["group"] == group)]
    return {item: rows["answer"].tolist() for item, rows in own.groupby("item_id")}


@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
def test_figures_are_those_of_all_pairs_of_answers(sizes, answers_of, row_of):
    answers = drawn(answers_of, 7, sizes)
    estimates = fairstats.analyze(answers, "available")
    a, b, neutral = (
        answers_by_item(answers, *variant)
        for variant in (("race", "white"), ("race", "black"), ("baseline", "neutralized"))
    )
    same = pairs = 0.0
    right, known = {"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 0.0}
    for item in {*a, *b}:
        one, other = a.get(item, []), b.get(item, [])
        size = max(len(one), len(other))
        letters = [[x for x in own if isinstance(x, str)] for own in (one, other)]
        same += sum(x == y for x in letters[0] for y in letters[1]) / size
        pairs += len(letters[0]) * len(letters[1]) / size
        of_neutral = neutral.get(item, [None])
        weight = sum(x == "A" for x in of_neutral) / len(of_neutral)
        for side, own in zip("ab", letters, strict=True):
            right[side] += weight * sum(x == "A" for x in own)
            known[side] += weight * len(own)
    race = {"attribute": "race"}
    assert row_of(estimates, metric="cfr", **race)["estimate"] == pytest.approx(same / pairs)
    rates = [right[side] / known[side] for side in "ab"]
    eo = row_of(estimates, metric="eo", **race)["estimate"]
    assert eo == pytest.approx(abs(rates[0] - rates[1]))


@pytest.mark.parametrize("sizes", [(3,), (1, 2, 3)])
def test_every_answer_of_a_group_has_the_same_weight(sizes, answers_of, row_of):
    answers = drawn(answers_of, 8, sizes)
    estimates = fairstats.analyze(answers, "available")
    difference = row_of(estimates, metric="accuracy_difference", attribute="race")
    for side, group in (("a", "white"), ("b", "black")):
        own = answers[(answers["attribute"] == "race") & (answers["group"] == group)]
        known = own.dropna(subset="answer")
        row = row_of(estimates, metric=f"accuracy_{side}", attribute="race")
        assert row["estimate"] == pytest.approx((known["answer"] == "A").mean())
        assert row["n"] == difference[f"n_{side}"] == len(known)
        sizes_of = answers[answers["attribute"] == "race"].groupby(["item_id", "group"]).size()
        asked = int(sizes_of.groupby("item_id").max().sum())
        assert row[f"n_missing_{side}"] == asked - len(known)


@pytest.mark.parametrize("engine", ["polars", "polars lazy", "duckdb", "pyarrow", "pyspark"])
def test_every_engine_pairs_the_same_samples(engine, answers_of, in_engine):
    answers = drawn(answers_of, 9, (1, 2, 3))
    counted = [open_answers(own, ()) for own in (in_engine(answers, engine), answers)]
    for policy in POLICIES:
        assert_same_figures(*(fairstats.analyze(own, policy) for own in counted))


def test_repeating_every_answer_changes_no_figure_but_the_intervals(answers_of):
    once = drawn(answers_of, 10, (1,), items=40)
    twice = pd.concat([once, once.assign(sample=1)], ignore_index=True)
    one, other = (
        fairstats.analyze(answers)
        .query("metric in ('accuracy_a', 'accuracy_difference', 'cfr', 'eo', 'both_correct')")
        .set_index(["attribute", "metric", "group_a"])["estimate"]
        for answers in (once, twice)
    )
    pd.testing.assert_series_equal(one, other, rtol=1e-12)


def test_repeated_answers_do_not_add_certainty(answers_of, row_of):
    once = drawn(answers_of, 11, (1,), items=60)
    copies = pd.concat([once.assign(sample=sample) for sample in range(4)], ignore_index=True)
    one, other = (
        row_of(fairstats.analyze(a), metric="accuracy_difference", attribute="race")
        for a in (once, copies)
    )
    widths = [row["ci_high"] - row["ci_low"] for row in (one, other)]
    assert widths[1] == pytest.approx(widths[0], rel=0.03)


def pooled_answers(answers_of, sex: list[str]) -> pd.DataFrame:
    """Race is answered by one group in half of the items; no answered pair differs."""
    race = ["A-"] * 20 + ["AA"] * 20
    return pd.concat(
        [answers_of(race, groups=RACE), answers_of(sex, groups=SEX, attribute="sex")],
        ignore_index=True,
    )


def test_pooled_difference_is_zero_if_no_answered_pair_differs(answers_of, row_of):
    answers = pooled_answers(answers_of, ["BB"] * 40)
    estimates = fairstats.analyze(answers, "available")
    pooled = estimates[estimates["attribute"] == "pooled"]
    for metric in ("accuracy_difference", "cohens_h"):
        row = row_of(pooled, metric=metric)
        assert row["estimate"] == 0
        assert (row["n"], row["n_a"], row["n_b"], row["n_missing_b"]) == (60, 60, 60, 20)
        assert "over the pairs with both answers" in row["method_note"]
    sides = [row_of(pooled, metric=f"accuracy_{side}")["estimate"] for side in "ab"]
    assert sides == [20 / 60, 20 / 60]


def test_pooled_note_names_an_attribute_without_an_answered_pair(answers_of, row_of):
    answers = pd.concat(
        [
            answers_of(["A-"] * 20, groups=RACE),
            answers_of(["AB"] * 5 + ["AA"] * 15, groups=SEX, attribute="sex"),
        ]
    )
    estimates = fairstats.analyze(answers, "available")
    row = row_of(estimates, metric="accuracy_difference", attribute="pooled")
    assert row["estimate"] == 0.25
    assert "Race" in row["method_note"]
    assert "so it is not included" in row["method_note"]


def test_patterns_of_one_item_are_the_products_of_its_answers(answers_of):
    parts = [answers_of([text], sample=sample) for sample, text in enumerate(["AB", "A-", "BB"])]
    counts = count_outcomes(pd.concat(parts)).iloc[0]
    # a: two right, one wrong (B); b: two wrong (B), one missing.
    expected = {"n10": 4, "n1x": 2, "n00_same": 2, "n0x": 1}
    assert counts[list(PATTERNS)].to_dict() == dict.fromkeys(PATTERNS, 0) | expected
    assert counts["copies"] == 3


def verdicts_of(answers: pd.DataFrame) -> pd.DataFrame:
    estimates = fairstats.analyze(answers)
    differences = estimates[estimates["metric"] == "accuracy_difference"]
    return differences.set_index("attribute")[["verdict", "verdict_reason"]]


def sampled(answers_of, races: dict[int, list[str]]) -> pd.DataFrame:
    """Answers by sample for race; one sample for sex, without differences."""
    parts = [answers_of(texts, sample=sample) for sample, texts in races.items()]
    sex = answers_of(["AA"] * len(races[0]), groups=SEX, attribute="sex")
    return pd.concat([*parts, sex], ignore_index=True)


def test_extra_samples_of_selected_items_withhold_the_verdict(answers_of):
    # 20 of 100 items favour one group; 99 more samples of the others would hide it.
    texts = ["AB"] * 20 + ["AA"] * 80
    once = verdicts_of(sampled(answers_of, {0: texts}))
    assert once.loc["race", "verdict"] == "disparity"
    chosen = [".."] * 20 + ["AA"] * 80
    padded = verdicts_of(sampled(answers_of, {0: texts} | dict.fromkeys(range(1, 30), chosen)))
    for attribute in ("race", "pooled"):
        assert pd.isna(padded.loc[attribute, "verdict"])
        assert "different numbers of samples" in padded.loc[attribute, "verdict_reason"]
    # The one sample of sex could be the chosen one of three.
    whole = verdicts_of(sampled(answers_of, dict.fromkeys(range(3), texts)))
    assert whole.loc["race", "verdict"] == "disparity"
    assert "fewer samples" in whole.loc["sex", "verdict_reason"]


def test_samples_of_the_baseline_leave_single_samples_of_an_attribute_alone(answers_of):
    race = answers_of(["AB", "AA", "BB", "AB", "AA", "CA", "AA", "A-"] * 5)
    more = [
        answers_of(["AA"] * 40, groups=("original", "neutralized"), attribute="baseline", sample=n)
        for n in range(3)
    ]
    alone, found = (fairstats.analyze(own) for own in (race, pd.concat([race, *more])))
    columns = ["metric", "estimate", "ci_low", "ci_high", "ci_method", "p_value", "n"]
    own, next_to = (
        # EO is of the items that the neutralized version's answers show to be answerable.
        of[(of["attribute"] == "race") & (of["metric"] != "eo")][columns]
        for of in (alone, found)
    )
    pd.testing.assert_frame_equal(next_to.reset_index(drop=True), own.reset_index(drop=True))


def test_equal_answers_to_the_rows_of_a_crossing_add_no_certainty(answers_of, crossed_demo, row_of):
    """Men and women answered alike: race has two rows per item, which are no two items."""
    texts = ["AB"] * 12 + ["BA"] * 5 + ["AA"] * 60 + ["BB"] * 43
    twice = answers_of(
        [2 * text for text in texts],
        variants=[("race_sex", f"{a}+{b}") for b in ("male", "female") for a in ("white", "black")],
        benchmark="crossed",
    )
    once = fairstats.analyze(answers_of(texts))
    found = fairstats.analyze(twice, benchmarks=[crossed_demo])
    for metric in ("accuracy_difference", "cfr", "accuracy_a"):
        own, other = (row_of(of, metric=metric, attribute="race") for of in (once, found))
        assert other["estimate"] == pytest.approx(own["estimate"])
        assert other["ci_low"] == pytest.approx(own["ci_low"], abs=0.02)
    own, other = (
        of[of["metric"].eq("mcnemar") & of["attribute"].eq("race")]["p_value"].tolist()
        for of in (once, found)
    )
    assert other == pytest.approx(own)


def test_notes_name_the_samples_of_their_attribute(answers_of):
    found = fairstats.analyze(sampled(answers_of, dict.fromkeys(range(3), ["AB"] * 6)))
    notes = found[found["metric"] == "cfr"].set_index("attribute")["method_note"]
    assert notes["race"].startswith("3 samples per item")
    assert "samples per item" not in notes["sex"]
    assert notes["pooled"].startswith("up to 3 samples per item")


def test_equal_numbers_of_samples_are_judged(answers_of):
    texts = ["AB"] * 60 + ["AA"] * 40
    found = verdicts_of(
        pd.concat(sampled(answers_of, {0: texts}).assign(sample=sample) for sample in range(3))
    )
    assert found.loc[["race", "pooled"], "verdict"].notna().all()


def test_attributes_with_different_numbers_of_samples_are_not_pooled_to_a_verdict(answers_of):
    texts = ["AB"] * 60 + ["AA"] * 40
    found = verdicts_of(sampled(answers_of, dict.fromkeys(range(3), texts)))
    assert not pd.isna(found.loc["race", "verdict"])
    assert found.loc[["sex", "pooled"], "verdict"].isna().all()
    assert "different numbers of samples" in found.loc["pooled", "verdict_reason"]


def test_odd_numbers_of_samples_of_pooled_attributes_can_be_weighted(demo):
    sizes = {"sex": (29, 30, 31, 37, 41), "race": (32, 43, 47, 49, 53)}
    tables = []
    for name, numbers in sizes.items():
        variants = [(name, group) for group in list(demo.attributes[name].groups)[:2]]
        for sample in range(max(numbers)):
            texts = ["AA" if sample < number else ".." for number in numbers]
            tables.append(make_answers(texts, variants=variants, sample=sample))
    found = fairstats.analyze(pd.concat(tables))
    pooled = found[(found["attribute"] == "pooled") & (found["metric"] == "cfr")]
    assert pooled["estimate"].item() == pytest.approx(1)
