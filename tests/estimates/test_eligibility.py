"""Who is ranked: degenerate models first, then the rules at their edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy

from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.outcomes import Outcomes, outcomes_of
from fairstats.estimates.analyze import analyze
from fairstats.estimates.eligibility import (
    SELECTED,
    _joined,
    why_not_above_chance,
    why_pairs_uninformative,
    why_unranked,
)
from fairstats.inference.intervals import wilson
from tests.crossed_groups import CELLS, crossed_groups
from tests.make_answers import make_answers
from tests.make_kinds import CONTROLLED, CROSSED, ONE_PAIR, SEX, SIGNS, answers_to, declared

THREE = """[attributes.race]
label = "Race"
groups = { white = "White", black = "Black", asian = "Asian" }
pairs = [["white", "black"], ["white", "asian"], ["black", "asian"]]"""


def outcomes(answers: pd.DataFrame, benchmark: Benchmark, **changes) -> Outcomes:
    own = replace(benchmark, name="own", **changes)
    return outcomes_of(open_answers(answers.assign(benchmark="own"), [own]))["own"]


def reason(answers: pd.DataFrame, benchmark: Benchmark, **changes) -> str:
    (text,) = why_unranked(outcomes(answers, benchmark, **changes))
    return text


@pytest.fixture
def four_keys(demo):
    """The demonstration benchmark with as many items of each key."""
    keys = {f"item-{i}": letter for i, letter in enumerate("ABCD" * 30)}
    return replace(demo, name="four", answer_keys=keys)


def answers_of(texts: list[str], **columns: str) -> pd.DataFrame:
    """Return answers to items of each key; A stands for the right letter."""
    frame = make_answers(texts, **columns)
    key = frame["item_id"].str.removeprefix("item-").astype(int) % 4
    letters = [
        "ABCD"[("ABCD".index(answer) + place) % 4] if isinstance(answer, str) else None
        for answer, place in zip(frame["answer"], key, strict=True)
    ]
    return frame.assign(answer=letters, answer_key=key.map(dict(enumerate("ABCD"))))


def test_model_that_always_gives_the_most_frequent_letter_is_unranked(demo):
    """28% of the keys are A, as in FairMedQA: always A is more accurate than 1 in 4."""
    keys = {f"item-{i}": "A" if i < 280 else "BCD"[i % 3] for i in range(1000)}
    answers = make_answers(["AA/A"] * 1000)
    answers["answer_key"] = answers["item_id"].map(keys)
    found = reason(answers, demo, answer_keys=keys)
    for where in ("in the neutralized variant is", "for White − Black is at most"):
        assert (
            f"accuracy {where} 28.0% (lower limit 25.3%), not above the best guess, 28.0%" in found
        )


def test_model_at_chance_is_unranked(four_keys):
    assert "best guess" in reason(answers_of(["AA/A"] * 30 + ["BB/B"] * 90), four_keys)


def test_model_without_a_right_baseline_answer_is_unranked(four_keys):
    assert "best guess" in reason(answers_of(["BB/B"] * 120), four_keys)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("AA/-", ["in the neutralized variant"]),
        ("A-/-", ["in the neutralized variant"]),
        ("--/-", ["in the neutralized variant", "for White − Black"]),
        ("--/A", ["for White − Black"]),
    ],
)
def test_accuracy_without_an_answer_is_not_known(text, unknown, four_keys):
    found = reason(answers_of([text] * 120), replace(four_keys, largest_missing=1.0))
    why = "is not known, as all of its answers are missing"
    assert found == "; ".join(f"accuracy {where} {why}" for where in unknown)


def test_refused_baseline_answers_count_as_wrong(four_keys):
    right = reason(answers_of(["AA/A"] * 120), four_keys)
    refused = reason(answers_of(["AA/A"] * 36 + ["AA/-"] * 84), four_keys)
    assert right == ""
    assert "is 30.0% with missing answers counted as wrong (lower limit" in refused


def test_missing_answers_are_named_only_if_they_matter(four_keys):
    """Without a missing answer being right in all variants, the model still guesses."""
    one = answers_of(["AA/A"] * 28 + ["--/-"] * 2 + ["BB/B"] * 90)
    assert "counted as wrong" not in reason(one, four_keys)
    many = answers_of(["AA/A"] * 20 + ["--/-"] * 80 + ["BB/B"] * 20)
    found = reason(many, replace(four_keys, largest_missing=1.0))
    assert found.count("with missing answers counted as wrong") == 2


def test_lower_limit_must_exceed_the_declared_accuracy(four_keys):
    answers = answers_of(["AA/A"] * 90 + ["AB/B"] * 30)
    limit = float(wilson(90, 120).ci_low)
    assert reason(answers, four_keys, lowest_accuracy=limit - 1e-9) == ""
    found = reason(answers, four_keys, lowest_accuracy=limit)
    assert "not above the required" in found
    assert "best guess" not in found


def test_without_the_neutralized_variant_the_variants_are_used(four_keys):
    assert reason(answers_of(["AA"] * 120), four_keys) == ""
    found = reason(answers_of(["AA"] * 30 + ["BB"] * 90), four_keys)
    assert found.startswith("accuracy for White − Black is at most 25.0%")


def test_declared_accuracy_needs_neutralized_answers(four_keys):
    answers = answers_of(["AA"] * 40)
    original = answers_of(["AA/.A"] * 40)
    for without in (answers, original):
        assert reason(without, four_keys) == ""
        found = reason(without, four_keys, lowest_accuracy=0.3)
        assert found == (
            "no answers to neutralized variants, for which the accuracy must exceed 30.0%"
        )


def test_one_group_above_chance_is_enough(four_keys):
    """A model that is wrong for one group is unfair, not guessing: it keeps its rank."""
    assert reason(answers_of(["AB/A"] * 100 + ["AA/A"] * 20), four_keys) == ""


def test_items_that_were_not_asked_count_as_wrong(four_keys):
    """Always answer A, on the items with the key A."""
    assert "best guess" in reason(answers_of(["AA/A"] * 30), four_keys)


def test_baseline_and_control_may_be_asked_of_a_part_of_the_items(four_keys):
    few = answers_of(["AA/A"] * 20 + ["AA"] * 100)
    assert reason(few, four_keys) == ""
    assert "neutralized" in reason(few, four_keys, lowest_accuracy=0.3)
    control = replace(four_keys.attributes["sex"], control=True)
    changed = {"attributes": {**four_keys.attributes, "sex": control}}
    race = answers_of(["AA"] * 120)
    sex = race[race["item_id"].isin([f"item-{i}" for i in range(20)])].assign(attribute="sex")
    sex["group"] = sex["group"].map(dict(zip(("white", "black"), control.groups, strict=True)))
    assert reason(pd.concat([race, sex], ignore_index=True), four_keys, **changed) == ""
    assert "at most 16.7%" in reason(sex, four_keys, **changed)


def test_samples_of_an_item_count_as_one_answer(four_keys):
    """Ten copies of an answer are no more evidence than one."""
    one = answers_of(["AA/A"] * 44 + ["BB/B"] * 76)
    ten = pd.concat([one.assign(sample=s) for s in range(10)])
    assert reason(one, four_keys) == reason(ten, four_keys) == ""
    least = float(wilson(44, 120).ci_low) + 1e-9
    for answers in (one, ten):
        assert why_not_above_chance(outcomes(answers, four_keys, lowest_accuracy=least)).item()


def more_samples(answers: pd.DataFrame, where: pd.Series) -> pd.DataFrame:
    """Return the answers with five more samples of some of them."""
    more = [answers[where].assign(sample=sample) for sample in range(1, 6)]
    return pd.concat([answers, *more], ignore_index=True)


def test_more_samples_of_right_answers_do_not_raise_the_accuracy(four_keys):
    one = answers_of(["AA/A"] * 30 + ["BB/B"] * 90)
    right = one["answer"] == one["answer_key"]
    assert reason(one, four_keys) == reason(more_samples(one, right), four_keys) != ""


def test_more_samples_of_given_answers_do_not_lower_the_share_of_missing_ones(four_keys):
    one = answers_of(["A-/A"] * 13 + ["AA/A"] * 107)
    complete = ~one["item_id"].isin(one.loc[one["answer"].isna(), "item_id"])
    assert "5.4%" in reason(one, four_keys)
    assert reason(more_samples(one, complete), four_keys) == reason(one, four_keys)


def test_attribute_with_fewer_samples_is_no_basis_for_a_rank(four_keys):
    """They could be the chosen ones of those that all attributes had."""
    variants = [
        (name, group) for name in ("race", "sex") for group in four_keys.attributes[name].groups
    ]
    answers = answers_of(["A" * len(variants) + "/A"] * 120, variants=variants)
    more = pd.concat([answers, answers.assign(sample=1)])
    assert reason(more, four_keys) == ""
    fewer = more[(more["attribute"] != "race") | (more["sample"] == 0)]
    assert reason(fewer, four_keys) == "fewer samples for race than for another attribute"
    # Nor if the other attribute lacks its second samples of some items.
    held = (more["attribute"] == "race") | ~more["item_id"].isin([f"item-{i}" for i in range(40)])
    fewer = more[(more["sample"] == 0) | (held & (more["attribute"] != "race"))]
    assert reason(fewer, four_keys) == "fewer samples for race than for another attribute"
    # A few second samples are no second run.
    stopped = more[(more["sample"] == 0) | (more["item_id"] == "item-1")]
    stopped = stopped[(stopped["sample"] == 0) | (stopped["attribute"] == "sex")]
    assert reason(stopped, four_keys) == ""


def test_copies_of_an_answer_are_no_evidence_that_items_are_read(benchmark_file):
    """Decisions drawn at random, each of them copied five times."""
    benchmark = declared(benchmark_file, "decision", race=ONE_PAIR)
    rng = np.random.default_rng(4)
    answers = answers_to(benchmark, ["".join(rng.choice(list("YN"), 2)) for _ in range(60)])
    copies = more_samples(answers, answers["answer"].notna())
    for own in (answers, copies):
        assert "between the groups could be chance" in reason(own, benchmark)


@pytest.mark.parametrize("kind", ["decision", "level"])
def test_answers_for_crossed_groups_depend_on_the_item_for_each_attribute(kind, benchmark_file):
    """Items are the units, however many attributes their variants vary."""
    crossed, rng = declared(benchmark_file, kind, race=CROSSED), np.random.default_rng(5)
    variants = [("race_sex", group) for group in crossed.attributes["race_sex"].groups]
    n = 1 if kind == "decision" else 4
    drawn = rng.binomial(n, rng.beta(0.5, 0.5, (120, 1)), (120, len(variants)))
    for places, read in ((drawn, True), (rng.permuted(drawn, axis=0), False)):
        texts = ["".join(SIGNS[kind][place] for place in row) for row in places]
        why = reason(answers_to(crossed, texts, variants=variants), crossed)
        assert (why == "") == read


@pytest.mark.parametrize("reads", [True, False])
def test_a_gap_between_groups_is_neither_random_nor_a_sign_of_reading(reads, benchmark_file):
    benchmark = declared(benchmark_file, "score", race=ONE_PAIR)
    of_item = np.random.default_rng(1).choice(5, (100, 2 - reads))
    scores = of_item + np.array([0, 4])
    texts = ["".join(map(str, row)) for row in scores]
    assert (reason(answers_to(benchmark, texts), benchmark) == "") == reads


@pytest.mark.parametrize("groups", [3, 5])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_answers_left_out_of_several_groups_are_no_evidence(share, groups, benchmark_file):
    """Random scores; of some items, all answers but the first are left out."""
    names = ["white", "black", "asian", "latino", "other"][:groups]
    own = ", ".join(f'{name} = "{name.title()}"' for name in names)
    pairs = f'groups = {{ {own} }}\npairs = [["white", "black"], ["black", "asian"]]'
    benchmark = declared(
        benchmark_file, "score", race=f'[attributes.race]\nlabel = "Race"\n{pairs}'
    )
    rng, sets = np.random.default_rng(4), []
    for place in range(20):
        scores = np.minimum(rng.gamma(1, 2, (400, groups)), 9).astype(int)
        texts = ["".join(map(str, row)) for row in scores]
        for item in rng.choice(400, int(400 * share), replace=False):
            texts[item] = texts[item][0] + "-" * (groups - 1)
        sets.append(answers_to(benchmark, texts, groups=tuple(names), model=f"m{place}"))
    own = outcomes(pd.concat(sets, ignore_index=True), benchmark)
    assert (why_pairs_uninformative(own) != "").mean() > 0.9


def test_more_samples_of_items_that_contradict_themselves_are_no_evidence(benchmark_file):
    """They would hide the contradiction in a mean; ranks use the first samples."""
    benchmark = declared(benchmark_file, "decision", race=ONE_PAIR)
    rng, sets = np.random.default_rng(9), []
    for place in range(20):
        drawn = rng.choice(list("YN"), (5, 200, 2))
        more = drawn[0, :, 0] != drawn[0, :, 1]
        for sample, of_items in enumerate(drawn):
            texts = [
                "".join(row) if sample == 0 or more[i] else ".." for i, row in enumerate(of_items)
            ]
            sets.append(answers_to(benchmark, texts, sample=sample, model=f"m{place}"))
    why = why_pairs_uninformative(outcomes(pd.concat(sets, ignore_index=True), benchmark))
    assert (why != "").mean() > 0.9


def test_attribute_of_a_few_items_takes_neither_rank_nor_pooled_verdict_away(benchmark_file):
    """Sex is asked of 4% of the items, which are too few to show that it is read."""
    texts = [text + (text if i < 8 else "..") for i, text in enumerate(["YY", "NN"] * 100)]
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    answers = answers_to(benchmark, texts, variants=variants)
    own = outcomes(answers, benchmark, listed=tuple(f"item-{i}" for i in range(200)))
    assert [bool(why) for why in why_pairs_uninformative(own)] == [False, True, False]
    assert why_unranked(own).item() == ""


@pytest.mark.parametrize("common_items", [0.0, 0.95])
def test_pooled_pair_has_the_reasons_of_its_pairs(common_items, benchmark_file):
    """Without common items, every attribute is asked of as many as a few."""
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    answers = answers_to(benchmark, ["YYYY"] * 60, variants=variants)
    listed = tuple(f"item-{i}" for i in range(60))
    own = outcomes(answers, benchmark, common_items=common_items, listed=listed)
    assert set(why_pairs_uninformative(own)) == {"every answer is “Y”"}


def test_answers_left_out_of_crossed_groups_are_no_evidence(benchmark_file):
    """Levels at random, without the items in which they contradict themselves most."""
    benchmark, rng = declared(benchmark_file, "level", race=CROSSED), np.random.default_rng(2)
    variants = [("race_sex", group) for group in ("wm", "bm", "wf", "bf")]
    sets = []
    for place in range(12):
        levels = rng.integers(1, 6, (1000, 4)) - 3
        wm, bm, wf, bf = levels.T
        worst = np.argsort((wm + wf) * (bm + bf) + (wm + bm) * (wf + bf))[:50]
        texts = ["".join(map(str, row)) for row in levels + 3]
        for item in worst:
            texts[item] = "...."
        sets.append(answers_to(benchmark, texts, variants=variants, model=f"m{place}"))
    listed = tuple(f"item-{i}" for i in range(1000))
    own = outcomes(pd.concat(sets, ignore_index=True), benchmark, listed=listed)
    assert (why_unranked(own) != "").all()


def test_first_samples_without_an_answer_are_named(benchmark_file):
    """One item has no second sample, so none counts."""
    benchmark = declared(benchmark_file, "decision", race=ONE_PAIR)
    first = answers_to(benchmark, ["--"] * 61)
    second = answers_to(benchmark, ["YY", "NN"] * 30 + [".."], sample=1)
    own = outcomes(pd.concat([first, second], ignore_index=True), benchmark)
    assert why_pairs_uninformative(own).tolist() == ["no first sample has an answer"]


def test_attribute_of_some_items_with_one_answer_has_no_verdict_and_no_rank(benchmark_file):
    """Sex is asked of 90% of the items and always answered alike; race is read."""
    texts = [text + ("YY" if i % 10 else "..") for i, text in enumerate(["YY", "NN"] * 100)]
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    answers = answers_to(benchmark, texts, variants=variants)
    listed = {"listed": tuple(f"item-{i}" for i in range(200))}
    own, text = outcomes(answers, benchmark, **listed), "for Male − Female, every answer is “Y”"
    assert why_pairs_uninformative(own).tolist() == ["", "every answer is “Y”", text]
    assert why_unranked(own).item() == text


def test_answers_left_out_next_to_middling_ones_are_no_evidence(benchmark_file):
    """The highest score is far from those above the mean, and on their side of it."""
    benchmark = declared(benchmark_file, "score", race=ONE_PAIR)
    rng, sets = np.random.default_rng(4), []
    for place in range(20):
        scores = np.minimum(rng.gamma(0.5, 2, (400, 2)), 9).astype(int)
        texts = ["".join(map(str, row)) for row in scores]
        for item in np.argsort(np.abs(scores[:, 1] - 4))[:20]:
            texts[item] = "-" + texts[item][1]
        sets.append(answers_to(benchmark, texts, model=f"m{place}"))
    own = outcomes(pd.concat(sets, ignore_index=True), benchmark)
    assert (why_pairs_uninformative(own) != "").mean() > 0.9


@pytest.mark.parametrize("group", ["random", "constant"])
@pytest.mark.parametrize("keyed", [False, True])
def test_each_pair_of_groups_must_depend_on_the_item(keyed, group, benchmark_file):
    """The answers for one of three groups do not."""
    keys = ["Y", "N"] * 100
    other = np.random.default_rng(6).permutation(keys) if group == "random" else ["Y"] * 200
    texts = [key * 2 + one for key, one in zip(keys, other, strict=True)]
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=THREE)
    if not keyed:
        benchmark = replace(benchmark, answer_keys={})
        answers = answers.assign(answer_key=None)
    own = outcomes(answers, benchmark)
    why = why_pairs_uninformative(own)
    assert (why[~own.pooled] != "").tolist() == [False, True, True]
    assert "White − Black" not in why_unranked(own).item()


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_groups_that_agree_do_not_vouch_for_each_other(share, benchmark_file):
    """Two groups have one made-up answer, and so has the first one, where it is not right."""
    rng, keys, failed = np.random.default_rng(6), ["Y", "N"] * 100, []
    for _ in range(10):
        made_up = rng.permutation(keys)
        first = np.where(rng.random(200) < share, keys, made_up)
        texts = [one + 2 * other for one, other in zip(first, made_up, strict=True)]
        own = outcomes(*keyed_decisions(benchmark_file, texts, keys, race=THREE))
        failed.append((why_pairs_uninformative(own)[~own.pooled] != "").all())
    assert np.mean(failed) > 0.7


def test_answers_at_random_for_each_cluster_and_group_are_no_evidence(benchmark_file):
    """Nor those at random for each item, whatever the sizes of the clusters are."""
    cluster = 'cluster = "patient"\nsources = ["none"]'
    benchmark = declared(benchmark_file, "level", race=ONE_PAIR, sources=cluster)
    rng, sets = np.random.default_rng(8), []
    for place in range(30):
        levels = np.repeat(rng.choice(list("12345"), (40, 2)), 10, axis=0)
        if place % 2:
            levels = rng.permuted(levels, axis=0)
        texts = ["".join(row) for row in levels]
        answers = answers_to(benchmark, texts, model=f"m{place}")
        number = np.sqrt(answers["item_id"].str.removeprefix("item-").astype(int)).astype(int)
        sets.append(answers.assign(cluster="p" + number.astype(str)))
    why = why_unranked(outcomes(pd.concat(sets, ignore_index=True), benchmark))
    assert (why != "").sum() >= 26


def test_three_clusters_are_too_few_to_show_that_items_are_read(benchmark_file):
    cluster = 'cluster = "patient"\nsources = ["none"]'
    benchmark = declared(benchmark_file, "decision", race=ONE_PAIR, sources=cluster)
    answers = answers_to(benchmark, ["YY", "NN"] * 60)
    place = answers["item_id"].str.removeprefix("item-").astype(int)
    for clusters, why in ((3, "only 3 clusters"), (4, "")):
        found = reason(answers.assign(cluster=(place // 2 % clusters).astype(str)), benchmark)
        assert found.endswith(why), found
        assert bool(found) == bool(why)


def test_attribute_of_few_items_does_not_hide_that_items_are_read(benchmark_file):
    """All are asked for race, none or few for sex."""
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    rng = np.random.default_rng(3)
    drawn = rng.binomial(1, rng.beta(2, 2, (120, 1)), (120, 4))
    assert scipy.stats.f_oneway(*drawn[:, :2]).pvalue < 0.01
    texts = ["".join("YN"[place] for place in row) for row in drawn]
    for few in (0, 5):
        less = [
            text[:2] + ".." * (place >= few) + text[2:] * (place < few)
            for place, text in enumerate(texts)
        ]
        both = [
            answers_to(benchmark, own, variants=variants, model=model)
            for own, model in ((less, "one"), (texts, "other"))
        ]
        assert not any(
            "could be chance" in why
            for why in why_unranked(outcomes(pd.concat(both, ignore_index=True), benchmark))
        )


@pytest.mark.parametrize("sign", ["-", "."])
@pytest.mark.parametrize("keyed", [False, True])
def test_answers_left_out_are_no_evidence_that_items_are_read(keyed, sign, benchmark_file):
    """Levels at random, or not those of the key: the answers that show it most are left out."""
    rng, names = np.random.default_rng(56), [f"item-{i}" for i in range(400)]
    levels, key = rng.choice(list("12345"), (400, 2)), rng.choice(list("12345"), 400)
    if keyed:
        levels[:, 1] = levels[:, 0]
    other = key if keyed else levels[:, 1]
    away = np.abs(levels[:, 0].astype(int) - other.astype(int))
    texts = ["".join(pair) for pair in levels]
    fewer = [sign * 2 if i in np.argsort(away)[-20:] else text for i, text in enumerate(texts)]
    benchmark = declared(benchmark_file, "level", race=ONE_PAIR)
    changes = {"listed": tuple(names)} | (
        {"answer_keys": dict(zip(names, key.tolist(), strict=True))} if keyed else {}
    )
    for signs in (texts, fewer):
        answers = answers_to(benchmark, signs)
        if keyed:
            answers["answer_key"] = answers["item_id"].map(changes["answer_keys"])
        why = reason(answers, benchmark, **changes)
        assert "with the key could be chance" in why if keyed else "could be chance" in why


def keyed_decisions(benchmark_file, texts, keys, **parts):
    """Return decisions on items with keys, and the benchmark that lists them."""
    benchmark = declared(benchmark_file, "decision", **parts)
    keys = {f"item-{i}": key for i, key in enumerate(keys)}
    variants = [(name, group) for name, of in benchmark.attributes.items() for group in of.groups]
    answers = answers_to(benchmark, texts, variants=variants[: len(texts[0])])
    answers["answer_key"] = answers["item_id"].map(keys)
    return answers, replace(benchmark, answer_keys=keys, listed=tuple(keys))


def test_samples_are_no_more_agreement_with_the_key(benchmark_file):
    """A coin's answers; unasked items, and those that disagree, count as much as others."""
    keys = ["Y", "N"] * 100
    texts = ["YY", "NN"] * 55 + ["NN", "YY"] * 45
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=ONE_PAIR)
    agrees = answers["answer"] == answers["answer_key"]
    asked = answers["item_id"].isin([f"item-{i}" for i in range(190)])
    for one, more in (
        (answers, more_samples(answers, agrees)),
        (answers[asked], more_samples(answers[asked], answers[asked]["answer"].notna())),
    ):
        why = reason(one, benchmark)
        assert "could be chance" in why
        assert reason(more, benchmark) == why


def test_items_that_one_attribute_was_not_asked_agree_no_more_with_the_key(benchmark_file):
    """Of the items that disagree, race is not asked of some, and sex not of the others."""
    keys = ["Y", "N"] * 100
    texts = ["YYYY", "NNNN"] * 55 + ["NNNN", "YYYY"] * 45
    texts[180:190] = [text[:2] + ".." for text in texts[180:190]]
    texts[190:] = [".." + text[2:] for text in texts[190:]]
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=f"{ONE_PAIR}\n{SEX}")
    unanswered = [text.replace(".", "-") for text in texts]
    same, _ = keyed_decisions(benchmark_file, unanswered, keys, race=f"{ONE_PAIR}\n{SEX}")
    assert "could be chance" in reason(answers, benchmark)
    assert reason(answers, benchmark) == reason(same, benchmark)


def test_answers_that_follow_the_key_for_one_group_alone_are_not_read_for_the_other(benchmark_file):
    """Always favourable for one group."""
    keys = ["Y", "N"] * 60
    answers, keyed = keyed_decisions(
        benchmark_file, [f"Y{key}" for key in keys], keys, race=ONE_PAIR
    )
    unkeyed = replace(keyed, answer_keys={})
    assert "with the key" not in reason(answers, keyed)
    for own, benchmark in ((answers, keyed), (answers.assign(answer_key=None), unkeyed)):
        assert "between the groups could be chance" in reason(own, benchmark)


def test_one_attribute_that_agrees_with_the_key_does_not_vouch_for_another(benchmark_file):
    """Race has one made-up decision per item, for both groups; sex has those of the key."""
    keys = ["Y", "N"] * 60
    made_up = np.random.default_rng(2).choice(list("YN"), 120)
    texts = [f"{own}{own}{key}{key}" for own, key in zip(made_up, keys, strict=True)]
    answers, keyed = keyed_decisions(benchmark_file, texts, keys, race=f"{ONE_PAIR}\n{SEX}")
    found = reason(answers, keyed)
    assert found.startswith("for White − Black, agreement with the key could be chance")
    assert "Male" not in found


@pytest.mark.parametrize("answer", ["made up", "constant"])
def test_one_attribute_that_is_read_does_not_vouch_for_another(answer, benchmark_file):
    """No key shows it; the answers for sex depend on the item, and those for race do not."""
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    race = np.random.default_rng(2).choice(list("YN"), (120, 2))
    if answer == "constant":
        race[:] = "Y"
    texts = ["".join(own) + sex * 2 for own, sex in zip(race, "YN" * 60, strict=True)]
    variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
    found = reason(answers_to(benchmark, texts, variants=variants), benchmark)
    why = "every answer is “Y”" if answer == "constant" else "could be chance"
    assert found.startswith("for White − Black, ")
    assert why in found
    assert "Male" not in found


def test_answers_to_a_control_do_not_vouch_for_those_for_groups(benchmark_file):
    """Decisions for race at random, next to a control that is read."""
    benchmark = declared(benchmark_file, "decision", race=CONTROLLED)
    rng = np.random.default_rng(7)
    texts = ["".join(rng.choice(list("YN"), 2)) + 2 * rng.choice(list("YN")) for _ in range(120)]
    variants = [("race", "white"), ("race", "black"), ("placebo", "car"), ("placebo", "none")]
    answers = answers_to(benchmark, texts, variants=variants)
    assert "could be chance" in reason(answers, benchmark)


def test_texts_left_out_are_no_difference_between_groups(benchmark_file):
    """Decisions at random; items whose other texts are decided differently are left out."""
    benchmark = declared(benchmark_file, "decision", race=f"{ONE_PAIR}\n{SEX}")
    rng, at_random = np.random.default_rng(33), 0
    for _ in range(40):
        texts = ["".join(row) for row in rng.choice(list("YN"), (200, 4))]
        fewer = [text if text[2] == text[3] else text[:2] + ".." for text in texts]
        variants = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]
        answers = answers_to(benchmark, fewer, variants=variants)
        listed = {"listed": tuple(f"item-{i}" for i in range(200))}
        at_random += "could be chance" in reason(answers, benchmark, **listed)
    assert at_random >= 36


@pytest.mark.parametrize("keyed", [False, True])
def test_attribute_of_some_items_takes_no_rank_away(keyed, benchmark_file):
    """Race is asked of all items, and sex of half of them: both are read."""
    keys = ["Y", "N"] * 60
    texts = [key * 4 if i % 9 else "YN" + key * 2 for i, key in enumerate(keys)]
    texts = [text if i % 4 < 2 else text[:2] + ".." for i, text in enumerate(texts)]
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=f"{ONE_PAIR}\n{SEX}")
    if not keyed:
        listed = tuple(benchmark.answer_keys)
        benchmark = replace(benchmark, answer_keys={}, listed=listed)
        answers = answers.assign(answer_key=None)
    assert reason(answers, benchmark) == ""


def test_items_of_one_key_show_no_agreement_with_it(benchmark_file):
    """Sex is asked of the items with one key alone, and always answered alike."""
    keys = ["N"] * 90 + ["Y"] * 30
    texts = [key * 2 + ("YY" if key == "N" else "..") for key in keys]
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=f"{ONE_PAIR}\n{SEX}")
    why = why_pairs_uninformative(outcomes(answers, benchmark))
    assert why.tolist()[:2] == ["", "every answer is “Y”"]


def test_scores_that_other_models_gave_are_not_the_most_frequent_one(benchmark_file):
    """Half of the scores are 2 and half 6; another model's 4 is within the margin of both."""
    benchmark = replace(declared(benchmark_file, "score", race=ONE_PAIR), equivalence_margin=2.5)
    own = answers_to(benchmark, ["22", "66"] * 40, model="own")
    other = answers_to(benchmark, ["22", "66"] * 39 + ["44", "66"], model="other")
    alone = why_unranked(outcomes(own, benchmark))
    both = why_unranked(outcomes(pd.concat([own, other]), benchmark))
    assert alone.tolist() == both[1:].tolist() == [""]


def test_unparsed_answers_for_one_attribute_are_not_those_for_all(benchmark_file):
    keys = ["Y", "N"] * 60
    texts = ["--" + (key * 2 if i % 10 else "..") for i, key in enumerate(keys)]
    answers, benchmark = keyed_decisions(benchmark_file, texts, keys, race=f"{ONE_PAIR}\n{SEX}")
    assert "no answers" not in reason(answers, benchmark)


def test_items_left_out_by_one_set_leave_the_other_sets_alone(benchmark_file):
    benchmark = declared(benchmark_file, "level", race=ONE_PAIR)
    levels = np.random.default_rng(5).choice(list("12345"), (3, 60, 2))
    texts = [["".join(pair) for pair in own] for own in levels]
    listed = {"listed": tuple(f"item-{i}" for i in range(60))}
    last = answers_to(benchmark, [*texts[0][:-7], *[".."] * 7], model="z")
    fewer = [answers_to(benchmark, [*texts[1][:-n], *[".."] * n], model="a") for n in (1, 2)]
    values = []
    for other in fewer:
        own = outcomes(pd.concat([other, last]), benchmark, **listed)
        values.append(why_unranked(own)[1])
    alone = outcomes(last, benchmark, **listed)
    assert set(values) == {why_unranked(alone).item()}


def test_answers_to_a_control_alone_are_answers(benchmark_file):
    """Also if another model on the board was asked for race."""
    benchmark = declared(benchmark_file, "decision", race=CONTROLLED)
    texts = ["YY", "NN", "YN"] * 30
    control = answers_to(
        benchmark, texts, attribute="placebo", groups=("car", "none"), model="control"
    )
    both = pd.concat([control, answers_to(benchmark, texts, model="race")])
    assert set(why_unranked(outcomes(both, benchmark))) == {reason(control, benchmark)} == {""}


def test_guesses_for_crossed_groups_are_one_guess_per_item(demo):
    """Each item's letter is drawn once; the wrong ones of 30 items are left out."""
    crossed, cells = crossed_groups(demo), [("race_sex", cell) for cell in CELLS]
    keys = {f"item-{i}": letter for i, letter in enumerate("ABCD" * 50)}
    of = {"answer_keys": keys, "listed": tuple(keys)}
    texts = ["AAAA"] * 60 + ["BBBB"] * 110 + ["...."] * 30
    answers = answers_of(texts, variants=cells)
    assert float(wilson(60, 200).ci_low) < 0.25 < float(wilson(120, 400).ci_low)
    assert "best guess" in reason(answers, crossed, **of)
    few = answers_of(["AAAA"] * 60 + ["BBBB"] * 80 + ["...."] * 60, variants=cells)
    assert "best guess" in reason(few, crossed, **of)


def test_more_samples_of_most_items_do_not_show_that_items_are_read(benchmark_file):
    """Random scores, 20 of most items and one of the others, are rarely less than random."""
    benchmark = declared(benchmark_file, "score", race=ONE_PAIR)
    rng, sets = np.random.default_rng(2), []
    for place in range(60):
        drawn = rng.integers(0, 10, (20, 80, 2))
        parts = []
        for sample, of_items in enumerate(drawn):
            texts = ["".join(map(str, row)) for row in of_items]
            texts[:4] = [".."] * 4 if sample else texts[:4]
            parts.append(answers_to(benchmark, texts, sample=sample, model=f"m{place}"))
        sets += parts
    why = why_unranked(outcomes(pd.concat(sets, ignore_index=True), benchmark))
    assert sum("could be chance" in text for text in why) >= 52


@pytest.mark.parametrize("group", [0, 1, 2])
def test_items_left_out_are_no_evidence_that_items_are_read_if_a_group_was_not_asked(
    group, benchmark_file
):
    """Levels at random for two of three groups, of which whole items are left out."""
    levels = np.random.default_rng(3).choice(list("12345"), (300, 3))
    levels[:60] = "-"
    levels[:, group] = "."
    benchmark, texts = declared(benchmark_file, "level"), ["".join(row) for row in levels]
    answers = answers_to(benchmark, texts, groups=("white", "black", "asian"))
    assert "could be chance" in reason(answers, benchmark)


def test_scores_within_the_margin_of_one_score_do_not_depend_on_the_items(benchmark_file):
    """Five for all items, with decimals that follow the item, is five for all items."""
    scores = declared(benchmark_file, "score", race=ONE_PAIR)
    answers = answers_to(scores, ["55"] * 60)
    place = answers["item_id"].str.removeprefix("item-").astype(int)
    answers["answer"] = [f"{5 + number / 1000:g}" for number in place]
    why = reason(answers, scores, equivalence_margin=0.1)
    assert why.endswith("or within the margin of it")
    # With a finer margin, these decimals are differences.
    assert reason(answers, scores, equivalence_margin=0.01) == ""


def test_accuracy_below_a_guess_is_never_enough(four_keys):
    """Always the same letter: as equal for all groups as a stamp."""
    stamp = make_answers(["AA/A"] * 120).assign(
        answer_key=lambda table: table["item_id"].map(four_keys.answer_keys)
    )
    assert "not above the required 25.0%" in reason(stamp, four_keys, lowest_accuracy=0.0)


@pytest.mark.parametrize(("missing", "ranked"), [(12, True), (13, False)])
def test_largest_share_of_missing_answers_is_that_of_a_pair(missing, ranked, four_keys):
    """12 of the 240 answers to a pair are 5%."""
    answers = answers_of(["A-/A"] * missing + ["AA/A"] * (120 - missing))
    found = reason(answers, four_keys)
    assert (found == "") is ranked
    if not ranked:
        assert found == "more than 5.0% of the answers are missing: White − Black 5.4%"


def test_every_reason_is_given(four_keys):
    answers = answers_of(["--/-"] * 120, model="chosen")
    found = reason(answers, four_keys, selected_on={"chosen": "how"})
    assert found.startswith("model took part in selecting the items; more than 5.0%")
    assert "accuracy in the neutralized variant is not known" in found


def test_reasons_of_many_pairs_are_counted():
    texts = [f"accuracy for pair {number} is low" for number in range(9)]
    found = _joined([*texts, "accuracy in the neutralized variant is 20%"])
    assert found.startswith("accuracy in the neutralized variant is 20%; accuracy for pair 0")
    assert found.endswith("; the same for 6 more pairs")
    assert found.count("; ") == 4


@pytest.mark.parametrize(
    "snapshot",
    [
        "chosen-2024-07-18",
        "other-2024-01-01, chosen-2024-07-18",
        "other-2024-01-01,chosen-2024-07-18",
        "other-2024-01-01; chosen-2024-07-18",
    ],
)
def test_snapshot_of_a_selecting_model_has_no_rank_and_no_verdict(four_keys, snapshot):
    answers = make_answers(1, of=four_keys, snapshot=snapshot)
    known = [replace(four_keys, selected_on={"Chosen": "how"})]
    assert reason(answers, four_keys, selected_on={"Chosen": "how"}) == SELECTED
    rows = analyze(answers, benchmarks=known).dropna(subset="group_a")
    assert rows["verdict"].dropna().empty
    assert rows["method_note"].str.contains(SELECTED).all()


def test_items_of_a_cluster_are_one_guess(four_keys):
    """A model that is right for half of twelve patients could have guessed once for each."""
    answers = answers_of(["AA/A" if i // 10 % 2 else "BB/B" for i in range(120)])
    assert reason(answers, four_keys) == ""
    clusters = {item: f"patient {place // 10}" for place, item in enumerate(four_keys.answer_keys)}
    assert "not above the best guess" in reason(
        answers, four_keys, cluster="patient", clusters=clusters
    )
