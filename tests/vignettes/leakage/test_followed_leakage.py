"""Whether wrong answers follow the text: by hand, and on the answers to both sets of variants."""

import numpy as np
import pandas as pd
import pytest
from fairstats_collectors.amqa import import_amqa

from fairstats._lib.problems import InputError
from fairstats.vignettes.leakage.followed_leakage import (
    EXCESS,
    EXPECTED,
    FOLLOWED,
    OWN_TEXT,
    followed_leakage,
    versions_that_follow,
)
from fairstats.vignettes.measures import measures_frame

GROUPS = (("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female"))


def measures_of(*items):
    """Return the leakage of each item's variants: {group: {distractor: value}}; all else is 0."""
    rows = [
        {
            "benchmark": "demo",
            "item_id": f"item-{number}",
            "attribute": attribute,
            "group": group,
            "measure": "leakage_overlap",
            "option": option,
            "role": "key" if option == "A" else "distractor",
            "value": leaks.get(group, {}).get(option, 0.0),
        }
        for number, leaks in enumerate(items)
        for attribute, group in GROUPS
        for option in "ABCD"
    ]
    return measures_frame(rows)


def figures(answers, measures, group="black", **options):
    found = followed_leakage(answers, measures, **options)
    own = found[(found["group_a"] == group) & (found["model"] == "model")]
    return own.set_index("quantity")


def test_by_hand(answers_of):
    # Black's variant points to B; the letters are those for white, black and the neutralized text.
    answers = answers_of(["AB/A", "AB/B", "AB/C", "CB/B", "BC/B", "AC/A", "AA/B", "A-/B"])
    table = figures(answers, measures_of(*[{"black": {"B": 0.5, "C": 0.2}}] * 8))
    # Wrong answers for black: B, B, B, B, C, C.
    assert table.loc[FOLLOWED, ["estimate", "n"]].tolist() == [pytest.approx(4 / 6), 6]
    assert table.loc[FOLLOWED, "note"] == "4 of 6"
    # With them, wrong answers to another text: B; C; C and B; B and B.
    assert table.loc[EXPECTED, ["estimate", "n"]].tolist() == [(1 + 0 + 0.5 + 1) / 4, 4]
    assert table.loc[EXCESS, ["estimate", "n"]].tolist() == [(0 + 1 + 0.5 - 1) / 4, 4]
    assert table.loc[EXCESS, "group_b"] == "white"
    assert (table["aspect"] == "leakage").all()


def test_text_with_the_same_hint_is_not_a_comparison(answers_of):
    answers = answers_of(["BB", "BB/C"])
    table = figures(answers, measures_of(*[{"black": {"B": 0.5}, "white": {"B": 0.1}}] * 2))
    assert table.loc[EXPECTED, ["estimate", "n"]].tolist() == [0, 1]


@pytest.mark.parametrize(
    "leaks",
    [{}, {"black": {"B": 0.5, "C": 0.5}}, {"black": {"B": -0.1, "C": -0.5}}, {"black": {"A": 1}}],
)
def test_a_text_that_points_to_no_distractor_is_not_followed(leaks, answers_of):
    table = figures(answers_of(["AB/B"] * 3), measures_of(*[leaks] * 3))
    assert table.loc[[FOLLOWED, EXPECTED, EXCESS], "estimate"].isna().all()
    assert table["note"].str.contains("no wrong answers to variants that point").all()


@pytest.mark.parametrize("item", ["AA/A", "--", "A-/B", "A."])
def test_without_wrong_answers_the_table_is_empty(item, answers_of):
    found = followed_leakage(answers_of([item]), measures_of({"black": {"B": 0.5}}))
    assert found["estimate"].isna().all()
    assert found["p_value"].isna().all()
    assert (found["note"] != "").all()
    assert versions_that_follow(found) == {}


def both(answers_of, race, sex):
    """Return answers for white and black, and for male and female."""
    return pd.concat(
        [answers_of(race), answers_of(sex, groups=("male", "female"), attribute="sex")]
    )


def own_text(answers, measures, model="model"):
    found = followed_leakage(answers, measures)
    own = found[(found["quantity"] == OWN_TEXT) & (found["model"] == model)]
    assert len(own) == 1
    return own.iloc[0]


def test_difference_between_own_and_other_text_by_hand(answers_of):
    leaks = {"black": {"B": 0.6, "C": 0.1}, "female": {"C": 0.4}}
    # black answers B, female C: ½ (0.6 − 0 + 0.4 − 0.1). Both B: 0. black C, female B: −0.45.
    for race, sex, expected in (("AB", "AC", 0.45), ("AB", "AB", 0), ("AC", "AB", -0.45)):
        row = own_text(both(answers_of, [race], [sex]), measures_of(leaks))
        assert row["estimate"] == pytest.approx(expected)
        assert row["n"] == 1
    # White and black are the two sides of one pair, white and female of two: they are not compared.
    row = own_text(both(answers_of, ["BC"], ["BA"]), measures_of({"white": {"B": 1}}))
    assert row["estimate"] == pytest.approx(0)  # only white and male, both B
    assert own_text(both(answers_of, ["BC"], ["AA"]), measures_of(leaks))["n"] == 0
    assert own_text(both(answers_of, ["AB"], ["AA"]), measures_of(leaks))["n"] == 0


def test_exchanged_texts_change_the_sign(answers_of):
    answers = both(answers_of, ["BB", "AC", "DB"] * 4, ["CC", "AB", "BB"] * 4)
    leaks = [
        {"black": {"B": 0.6, "C": i / 20}, "female": {"C": 0.4}, "white": {"D": 0.3}}
        for i in range(12)
    ]
    other = {"black": "female", "female": "black", "white": "male", "male": "white"}
    exchanged = [{other[group]: values for group, values in item.items()} for item in leaks]
    first, second = (own_text(answers, measures_of(*given)) for given in (leaks, exchanged))
    assert first["estimate"] == pytest.approx(-second["estimate"])
    assert first["estimate"] != 0
    assert first["p_value"] == pytest.approx(second["p_value"])


def test_followed_version_is_detected(answers_of):
    leaks = [{"black": {"B": 0.5 + i / 100}, "female": {"C": 0.5}} for i in range(12)]
    following = both(answers_of, ["AB"] * 12, ["AC"] * 12)
    unrelated = both(answers_of, ["AB", "AC"] * 6, ["AC", "AB"] * 6)
    answers = pd.concat([following, unrelated.assign(benchmark_version="2")])
    found = followed_leakage(answers, measures_of(*leaks))
    assert versions_that_follow(found) == {"demo": ["1"]}
    pooled = found[(found["quantity"] == OWN_TEXT) & (found["model"] == "")]
    assert pooled["benchmark_version"].tolist() == ["1", "2"]
    opposite = both(answers_of, ["AC"] * 12, ["AB"] * 12)
    assert versions_that_follow(followed_leakage(opposite, measures_of(*leaks))) == {}


def test_models_and_samples_of_an_item_are_one(answers_of):
    answers = answers_of(["AB/C", "AC/B", "AB/B"])
    measures = measures_of(*[{"black": {"B": 0.5}}] * 3)
    single = followed_leakage(answers, measures)
    again = pd.concat([answers, answers.assign(sample=1)])
    more = pd.concat([again, again.assign(model="another")])
    several = followed_leakage(more, measures)
    for model in ("model", ""):
        first, second = (
            table[(table["quantity"] == EXCESS) & (table["model"] == model)].set_index("group_a")
            for table in (single, several)
        )
        assert first.loc["black", "n"] == second.loc["black", "n"] == 3
        assert first.loc["black", "p_value"] == pytest.approx(second.loc["black", "p_value"])


def test_missing_measures_are_reported(answers_of):
    measures = measures_of({}).assign(measure="words")
    with pytest.raises(InputError, match="no measure of leakage for demo"):
        followed_leakage(answers_of(["AB"]), measures)
    with pytest.raises(ValueError, match="alpha"):
        followed_leakage(answers_of(["AB"]), measures_of({}), alpha=1)


def test_the_released_text_is_of_the_gpt_agents_variants(shared_data, crude_leakage):
    names = [
        "amqa/answers/AMQA_Benchmark_Answer_claude_no_cot",
        "amqa/answers/AMQA_Benchmark_Answer_gemini_no_cot",
        "amqa/answers/AMQA_Benchmark_Answer_openai_mini_no_cot",
        "amqa/answers/AMQA_D2_Benchmark_Answer_claude_no_cot",
        "amqa/answers/AMQA_D2_Benchmark_Answer_gemini_no_cot",
        "amqa/answers/CPVmodel_AMQA_D2_Benchmark_Answer_openai_no_cot",
        "fairmedprompt/FairMP_Answer_gemini_naive",
    ]
    answers = import_amqa([shared_data(f"{name}.jsonl") for name in names])
    found = followed_leakage(answers, crude_leakage)
    assert versions_that_follow(found) == {"fairmedqa": ["gpt-agent"]}
    pooled = found[(found["quantity"] == OWN_TEXT) & (found["model"] == "")]
    by_version = pooled.set_index("benchmark_version")
    assert by_version.loc["deepseek-agent", "p_value"] > 0.2
    assert by_version.loc["gpt-agent", "p_value"] < 0.01
    assert np.isfinite(found.loc[found["n"] > 1, "estimate"]).all()
