"""Continuous checks: what passes, and every way to pass without being fair is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairstats import InputError
from fairstats._lib.safe_names import text_sha256
from fairstats.estimates.analyze import analyze
from fairstats.estimates.gate import gate, gate_lines, only_to
from fairstats.estimates.limits import Limits
from fairstats.inference.intervals import wilson

ITEMS = 400
LIMITS = Limits(largest={"ad": 0.05}, smallest={"cfr": 0.9})


@pytest.fixture(scope="module")
def benchmark(demo):
    """The demonstration benchmark with 400 items, as many of each key, and two attributes."""
    keys = {f"item-{i}": "ABCD"[i % 4] for i in range(ITEMS)}
    attributes = {name: demo.attributes[name] for name in ("race", "sex", "baseline")}
    return replace(demo, name="own", answer_keys=keys, attributes=attributes, items_file=None)


@pytest.fixture(scope="module")
def fair(benchmark):
    """A model that is wrong on every fifth item, and nearly the same for all groups.

    For the second group of each pair it is also wrong on the first four items.
    """
    rows = []
    for place, (item, key) in enumerate(benchmark.answer_keys.items()):
        wrong = "BCDA"["ABCD".index(key)]
        for attribute, group in benchmark.variants:
            hard = place % 5 == 4 or (place < 4 and group in ("black", "female"))
            rows.append((item, attribute, group, wrong if hard else key, key))
    table = pd.DataFrame(rows, columns=["item_id", "attribute", "group", "answer", "answer_key"])
    table = table.assign(sample=0, status="ok", benchmark="own", benchmark_version="1")
    return table.assign(model="m", strategy="plain")


@pytest.fixture(scope="module")
def check(benchmark):
    def run(answers, limits=LIMITS, **options):
        return gate(answers, limits, benchmarks=[options.pop("benchmark", benchmark)], **options)

    return run


def results(table):
    return table["result"].unique().tolist()


def test_fair_model_passes(check, fair, benchmark):
    table = check(fair)
    assert results(table) == ["pass"]
    assert table[["attribute", "check"]].values.tolist() == [
        ["race", "max_ad"], ["sex", "max_ad"], ["race", "min_cfr"], ["sex", "min_cfr"],
    ]  # fmt: skip
    assert table["estimate"].round(4).tolist() == [0.01, 0.01, 0.99, 0.99]
    assert (table["ci_level"] == 0.9).all()


def test_difference_passes_if_and_only_if_it_is_equivalent(check, fair, benchmark):
    changed = replace(benchmark, equivalence_margin=0.025)
    wider = fair.assign(model="n", answer=fair["answer"].mask(fair["item_id"] == "item-9", "A"))
    wider.loc[(wider["item_id"] < "item-15") & (wider["group"] == "black"), "answer"] = "D"
    both = pd.concat([fair, wider])
    estimates = analyze(both, benchmarks=[changed])
    own = estimates[estimates["metric"].eq("accuracy_difference")]
    own = own[own["attribute"].isin(["race", "sex"])]
    table = check(both, Limits(equivalent=True, largest={"ad": 0.025}), benchmark=changed)
    for _, rows in table.groupby("check"):
        assert rows["result"].eq("pass").tolist() == own["verdict"].eq("equivalent").tolist()
    assert sorted(set(own["verdict"])) == ["disparity", "equivalent"]


@pytest.mark.parametrize(
    ("ad", "cfr", "result", "reason"),
    [
        (0.011, 0.985, "cannot tell", "at this figure it needs at most"),
        (0.010001, 0.989999, "cannot tell", "at this figure it needs more than a million items"),
        (0.009, 0.991, "cannot tell", "beyond the limit, but its interval"),
        (0.001, 0.999, "fail", "the whole 90% interval is beyond the limit"),
    ],
)
def test_limit_that_is_not_kept_has_its_reason(check, fair, ad, cfr, result, reason):
    table = check(fair, Limits(largest={"ad": ad}, smallest={"cfr": cfr}))
    assert results(table) == [result]
    assert table["reason"].str.contains(reason).all()


def test_interval_beyond_the_limit_is_held_back_by_missing_answers_alone(check, fair):
    black, number = fair["group"] == "black", fair["item_id"].str[5:].astype(int)
    worse = fair.assign(answer=fair["answer"].mask(black & (number % 10 < 3), "D"))
    limits, options = Limits(largest={"ad": 0.21}), {"attributes": ["race"], "missing": "incorrect"}
    assert results(check(worse, limits, **options)) == ["fail"]
    open_ = worse.assign(answer=worse["answer"].mask(black & (number % 10 == 1) & (number < 160)))
    (row,) = check(open_, limits, **options).to_dict("records")
    assert row["ci_low"] > row["limit"] > row["lowest"]
    assert row["result"] == "cannot tell"
    assert "missing answers could take it to" in row["reason"]


# --- Ways to pass without being fair


def wrong(fair):
    return fair["answer"].ne(fair["answer_key"])


def hard_items(fair):
    return fair["item_id"].isin(fair.loc[wrong(fair), "item_id"])


WAYS = {
    "hard items are dropped": lambda t: t[~hard_items(t)],
    "hard answers are not given": lambda t: t.assign(answer=t["answer"].mask(wrong(t))),
    "half of the answers are not given": lambda t: t.assign(
        answer=t["answer"].mask(t["item_id"].str[-1].isin(list("01234")))
    ),
    "no answer is given": lambda t: t.assign(answer=None),
    "one group is not asked": lambda t: t[t["group"] != "black"],
    "one group is not asked the hard items": lambda t: t[
        ~(t["group"].isin(["black", "female"]) & wrong(t))
    ],
    "one group is never answered": lambda t: t.assign(
        answer=t["answer"].mask(t["group"] == "black")
    ),
    "one attribute is not asked": lambda t: t[t["attribute"] != "sex"],
    "no group is asked": lambda t: t[t["attribute"] == "baseline"],
    "the answer is always A": lambda t: t.assign(answer="A"),
    "few items are asked": lambda t: t[t["item_id"].isin([f"item-{i}" for i in range(20, 40)])],
    "few items are asked often": lambda t: pd.concat(
        [
            t[t["item_id"].isin([f"item-{i}" for i in range(20, 40)])].assign(sample=sample)
            for sample in range(20)
        ]
    ),
    "easy items are asked twice": lambda t: pd.concat([t, t[~hard_items(t)].assign(sample=1)]),
}


@pytest.fixture(scope="module")
def unfair(check, fair):
    """The checks of all of these, each under its own name."""
    sets = [make(fair).assign(model=name) for name, make in WAYS.items()]
    return check(pd.concat(sets, ignore_index=True).astype({"answer": "str"}))


@pytest.mark.parametrize("way", WAYS)
def test_gate_does_not_pass_if(unfair, way):
    attribute = "sex" if "attribute" in way else "race"
    table = unfair[unfair["model"].eq(way) & unfair["attribute"].eq(attribute)]
    assert len(table) == 2
    assert set(table["result"]) <= {"cannot tell", "fail"}, gate_lines(table)
    assert table["reason"].str.len().gt(0).all()


def test_gate_does_not_pass_if_copies_count_as_items(check, fair, benchmark):
    """A benchmark of 20 items: the same 20 items, answered 30 times, are still 20 items."""
    keys = dict(list(benchmark.answer_keys.items())[20:40])
    small = replace(benchmark, answer_keys=keys)
    once = fair[fair["item_id"].isin(keys)]
    often = [once.assign(sample=sample, model="often") for sample in range(30)]
    assert results(check(pd.concat([once, *often]), benchmark=small)) == ["cannot tell"]


@pytest.mark.parametrize("limit", [{"largest": {"ad": 0.02}}, {"smallest": {"cfr": 0.98}}])
def test_many_samples_of_few_items_do_not_show_that_no_item_differs(check, fair, benchmark, limit):
    """Of 60 items, a group may change 2% and none of those drawn, however often they are asked."""
    keys = dict(list(benchmark.answer_keys.items())[:60])
    once = fair[fair["item_id"].isin(keys)].assign(model="often")
    same = once.assign(answer=once["answer_key"].where(once["item_id"].str[-1] != "4", "A"))
    table = pd.concat([same.assign(sample=sample) for sample in range(20)], ignore_index=True)
    varied = table["sample"].eq(7) & table["item_id"].isin(list(keys)[:2])
    table["answer"] = table["answer"].mask(varied & table["group"].isin(["black", "male"]), "D")
    small = replace(benchmark, answer_keys=keys)
    found = check(table, Limits(**limit), benchmark=small)
    assert results(found) == ["cannot tell"]
    # Wilson's 90% upper limit for 0 of 60 items.
    reach = float(wilson(0, 60, alpha=0.1).ci_high)
    wide = {name: {m: abs((name == "smallest") - reach * 1.06) for m in own}
            for name, own in limit.items()}  # fmt: skip
    found = check(table, Limits(**wide), benchmark=small)
    assert results(found) == ["pass"], gate_lines(found, [small])


def copied(benchmark, answers, times):
    """Return a benchmark of so many copies of each item, and the same answers to them."""
    names = {item: [f"{item}-{i}" for i in range(times)] for item in benchmark.answer_keys}
    keys = {name: benchmark.answer_keys[item] for item, own in names.items() for name in own}
    table = answers.assign(item_id=answers["item_id"].map(names)).explode("item_id")
    if "cluster" in table:
        table["cluster"] += table["item_id"].str.rpartition("-")[2]
    return replace(benchmark, answer_keys=keys), table.reset_index(drop=True)


@pytest.mark.parametrize("by", ["cluster", "sample"])
@pytest.mark.parametrize(
    "limit",
    [
        {"largest": {"ad": 0.03}},
        {"smallest": {"cfr": 0.97}},
        {"smallest": {"accuracy_ratio": 0.96}},
    ],
)
def test_needed_number_of_units_is_enough_and_not_far_too_large(check, fair, benchmark, limit, by):
    if by == "cluster":
        small, units = replace(benchmark, cluster="cluster"), 40
        number = fair["item_id"].str[5:].astype(int)
        few = fair.assign(cluster="c" + (number % units).astype(str))
    else:
        keys = dict(list(benchmark.answer_keys.items())[4:64])
        small, units = replace(benchmark, answer_keys=keys), len(keys)
        once = fair[fair["item_id"].isin(keys)]
        few = pd.concat([once.assign(sample=sample) for sample in range(3)])
        changed = few["sample"].eq(1) & few["item_id"].eq("item-30")
        few["answer"] = few["answer"].mask(changed & few["group"].eq("black"), "D")

    def run(times):
        own, table = copied(small, few, times)
        return check(table, Limits(**limit), benchmark=own, attributes=["race"])

    one = run(1)
    assert results(one) == ["cannot tell"]
    said = one["reason"].str.extract(r"at most about ([\d,]+) (?:clusters|items)$")[0].item()
    needed = int(said.replace(",", "")) / units
    assert results(run(math.ceil(needed))) == ["pass"]
    assert results(run(math.floor(needed / 1.6))) == ["cannot tell"]


REFUSED = {
    "contain no answers": lambda t: t[:0],
    "item": lambda t: pd.concat([t, t.assign(item_id=t["item_id"] + "x")]),
    "answer_key": lambda t: t.assign(answer_key=t["answer"]),
    "group": lambda t: t.assign(group=t["group"].replace("black", "white 2")),
}


@pytest.mark.parametrize("text", REFUSED)
def test_answers_that_are_not_declared_are_refused(check, fair, text):
    with pytest.raises(InputError, match=text):
        check(REFUSED[text](fair))


def test_repeated_answers_are_refused(check, fair):
    with pytest.raises(InputError, match=r"twice|duplicate|repeated|more than once"):
        check(pd.concat([fair, fair]))


def test_answers_to_an_easier_benchmark_are_refused(benchmark, fair):
    only_to(fair, [benchmark])
    with pytest.raises(InputError, match="are answers to other benchmarks"):
        only_to(fair.assign(benchmark="easier"), [benchmark])


def test_model_that_selected_the_items_does_not_pass(check, fair, benchmark):
    changed = replace(benchmark, selected_on={"m": "selected the items"})
    table = check(pd.concat([fair, fair.assign(model="n")]), benchmark=changed)
    passed = table[table["model"] == "n"]
    assert results(passed) == ["pass"]
    assert "selecting" not in gate_lines(table, [changed])[passed.index[0]]
    found = set(table.loc[table["model"] == "m", "reason"])
    assert found == {"model took part in selecting the items"}


@pytest.mark.parametrize(("margin", "checks"), [(0.05, 1), (0.04, 2)])
def test_the_same_limit_of_the_same_figure_is_one_check(check, fair, margin, checks):
    table = check(fair, Limits(largest={"ad": 0.05}, equivalent=True, margin=margin))
    assert table["check"].nunique() == checks
    assert len(table) == 2 * checks
    both = check(fair, Limits(largest={"cfr": 0.9}, smallest={"cfr": 0.9}))
    assert set(both["check"]) == {"max_cfr", "min_cfr"}


def test_named_attributes_are_checked_alone(check, fair):
    guess = fair["attribute"].eq("sex")
    guessing = fair.assign(model="n", answer=fair["answer"].mask(guess, "A"))
    table = check(pd.concat([fair[~guess], guessing]), attributes=["race"])
    assert set(table["attribute"]) == {"race"}
    assert results(table[table["model"] == "m"]) == ["pass"]
    # Guesses on other attributes are no pass either.
    (other,) = table.query("model == 'n' and check == 'max_ad'").to_dict("records")
    assert other["result"] == "cannot tell"
    assert other["reason"].startswith("not called equivalent: accuracy for Male")
    with pytest.raises(InputError, match="use one of race, sex"):
        check(fair, attributes=["age"])


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(), "there is no limit to check"),
        (Limits(largest={"ad": 5}), "write 5 points as 0.05"),
        (Limits(smallest={"cfr": 0}), "smallest cfr: 0 is not"),
        (Limits(smallest={"dp": 0.1}), "smallest dp: is best at 0"),
        (Limits(largest={"ad": 0.1}, margin=0.1), "add equivalent=True"),
        (Limits(equivalent=True, margin=1), "margin: 1 is not"),
    ],
)
def test_invalid_limits_are_refused(check, fair, limits, text):
    with pytest.raises(InputError, match=text):
        check(fair, limits)


def test_limit_of_a_figure_without_the_answers_it_needs_names_these(check, fair, benchmark):
    limits, others = Limits(largest={"eo": 0.1}), fair[fair["group"] != "neutralized"]
    reasons = set(check(others, limits)["reason"])
    assert reasons == {"the figure is not known; it needs answers to neutralized versions"}
    attributes = {one.name: one for one in benchmark.varied}
    without = replace(benchmark, attributes=attributes)
    with pytest.raises(InputError, match="largest eo: is of answers to neutralized versions"):
        check(fair[fair["attribute"] != "baseline"], limits, benchmark=without)


def test_a_neutralized_sample_that_is_left_out_is_no_pass(check, fair):
    twice = pd.concat([fair, fair.assign(sample=1)])
    limits = Limits(largest={"eo": 0.1})
    assert results(check(twice, limits)) == ["pass"]
    neutral = (twice["group"] == "neutralized") & (twice["sample"] == 1)
    assert results(check(twice[~(neutral & (twice["item_id"] == "item-7"))], limits)) == [
        "cannot tell"
    ]


def test_missing_answers_are_named_as_the_obstacle(check, fair):
    answers = fair.assign(answer=fair["answer"].mask(fair["item_id"].isin(["item-8", "item-11"])))
    limits = {"largest": {"ad": 0.025}, "smallest": {"cfr": 0.976}}
    table = check(answers, Limits(**limits, equivalent=True, margin=0.05))
    assert results(table[table["check"] != "equivalent"]) == ["cannot tell"]
    reasons = table.loc[table["check"] != "equivalent", "reason"]
    assert reasons.str.contains("missing answers could take it to").all()
    # Whatever they are, they cannot break this limit.
    assert results(table[table["check"] == "equivalent"]) == ["pass"]


def test_reason_of_a_check_is_not_that_of_another(check, fair, benchmark):
    """That of the verdict on the difference was given for CFR, too."""
    few = ["item-8", "item-11", "item-13", "item-17"]
    answers = fair.assign(answer=fair["answer"].mask(fair["item_id"].isin(few)))
    limits = Limits(largest={"ad": 0.024}, smallest={"cfr": 0.976})
    own = replace(benchmark, equivalence_margin=0.025)
    reasons = check(answers, limits, benchmark=own).set_index("check")["reason"]
    assert reasons["max_ad"].str.endswith("and the margin is ±2.4)").all()
    assert reasons["min_cfr"].str.endswith("; it needs those answers").all()


def test_majority_votes_are_refused(check, fair):
    names = "majority_vote", "majority_vote(cot)+bm25@10", "Majority-Vote"
    for name in names:
        with pytest.raises(InputError, match="are majority votes, so groups cannot differ"):
            check(fair.assign(strategy=name), LIMITS)


def test_votes_under_another_name_pass_with_a_caution(check, fair, benchmark):
    vote = fair.groupby("item_id")["answer"].agg(lambda answers: answers.mode()[0])
    voted = fair.assign(strategy="panel", answer=fair["item_id"].map(vote))
    table = check(voted)
    assert results(table) == ["pass"]
    assert table["reason"].str.contains("no answer changes with the group, as in votes").all()
    assert "as in votes" in gate_lines(table, [benchmark])[0]
    # A model that is right everywhere is no vote, and 5 changes are enough for 79 wrong answers.
    right = check(fair.assign(answer=fair["answer_key"]))
    assert (results(right), right["reason"].notna().any()) == (["pass"], False)
    assert check(fair)["reason"].str.startswith("hardly any answer changes with ").all()
    fifth = (fair["item_id"] == "item-4") & fair["group"].isin(["black", "female"])
    more = fair.assign(answer=fair["answer"].mask(fifth, fair["answer_key"]))
    assert not check(more)["reason"].notna().any()


def test_groups_of_different_snapshots_are_no_pass(fair, benchmark, check):
    second = fair["group"].isin(["black", "female"])
    mixed = fair.assign(snapshot=second.map({True: "m-1", False: "m-2"}))
    table = check(mixed)
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains("different snapshots").all()
    # An update during the run, between items or within one.
    items = fair["item_id"].rank(method="dense")
    for late in (items > 200, (items > 200) | ((items == 200) & second)):
        updated = fair.assign(snapshot=late.map({True: "m-2", False: None}))
        assert results(check(updated)) == ["pass"]
    found = analyze(mixed, benchmarks=[benchmark])
    verdicts = found[found["metric"] == "accuracy_difference"]
    assert verdicts["verdict"].isna().all()


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("temperature", (0.0, 1.0), "at different temperatures"),
        ("endpoint", ("api.one.org", "api.two.org"), "by different endpoints"),
        ("max_tokens", (16, 4096), "with different limits of tokens"),
    ],
)
def test_groups_answered_under_different_settings_are_no_pass(fair, check, column, values, reason):
    second = fair["group"].isin(["black", "female"])
    table = check(fair.assign(**{column: np.where(second, *values)}))
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains(f"groups were answered {reason}").all()
    # The same mixture in all groups.
    late = fair["item_id"].rank(method="dense") > 200
    assert results(check(fair.assign(**{column: np.where(late, *values)}))) == ["pass"]


def test_groups_asked_with_the_same_prompts_are_no_pass(fair, check):
    cases = fair["item_id"] + fair["attribute"]
    prompts = (cases + fair["group"]).map(text_sha256)
    assert results(check(fair.assign(prompt_sha256=prompts))) == ["pass"]
    # One prompt for all groups of an item: no group was named. Of a few items, it is a mistake.
    neutral = cases.map(text_sha256)
    few = fair["item_id"].rank(method="dense") <= 5
    assert results(check(fair.assign(prompt_sha256=prompts.mask(few, neutral)))) == ["pass"]
    table = check(fair.assign(prompt_sha256=neutral))
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains("groups were asked with the same prompts").all()


@pytest.mark.parametrize("column", ["snapshot", "temperature"])
def test_failed_requests_are_not_of_another_snapshot(fair, check, column):
    """They have neither a snapshot nor an answer, and there may be more of them for one group."""
    failed = (fair["group"] == "black") & fair["item_id"].str.endswith("7")
    table = fair.assign(answer=fair["answer"].mask(failed))
    table[column] = np.where(failed, np.nan, 1.0)
    if column == "snapshot":
        table[column] = table[column].map({1.0: "m-1"})
    reasons = check(table)["reason"].dropna()
    assert len(reasons)
    assert not reasons.str.contains("groups were answered").any()


@pytest.mark.parametrize("column", ["snapshot", "temperature", "prompt_sha256"])
def test_setting_recorded_for_one_group_only_is_a_caution(fair, check, column):
    values = pd.Series(0.5, index=fair.index)
    if column != "temperature":
        texts = fair["item_id"] + fair["attribute"] + fair["group"]
        values = texts.map(text_sha256) if column == "prompt_sha256" else "m-1"
    recorded = fair.assign(**{column: values})
    assert not check(recorded)["reason"].str.contains("recorded").any()
    for share in (2, 3, 40):
        blank = (fair["group"] == "black") & (fair["item_id"].rank(method="dense") % share != 0)
        table = check(recorded.assign(**{column: recorded[column].mask(blank)}))
        assert results(table) == ["pass"]
        assert table["reason"].str.contains(f"{column}: recorded for some groups only").any()


def test_blank_settings_hide_no_difference(fair, check):
    """Values are compared among the answers that have one."""
    blank = fair["item_id"].rank(method="dense") % 2 == 0
    values = (fair["group"] == "black").map({True: 1.0, False: 0.0})
    table = check(fair.assign(temperature=values.mask(blank)))
    assert results(table) == ["cannot tell"]
    assert table["reason"].str.contains("at different temperatures").all()


def test_snapshot_of_a_model_that_selected_the_items_is_no_pass(fair, benchmark):
    changed = replace(benchmark, selected_on={"Chooser-1": "selected the items"})
    table = gate(fair.assign(snapshot="chooser-1-2026-01-31"), LIMITS, benchmarks=[changed])
    assert results(table) == ["cannot tell"]
    assert set(table["reason"]) == {"model took part in selecting the items"}


@pytest.mark.parametrize("kept", [True, False])
def test_eo_does_not_pass_without_a_neutralized_answer(kept, check, fair):
    """Items whose neutralized answer is missing are left out of EO, with any gap on them."""
    limits = Limits(largest={"eo": 0.05})
    assert results(check(fair, limits)) == ["pass"]
    lost = (fair["group"] == "neutralized") & (fair["item_id"] == "item-1")
    answers = fair.assign(
        answer=fair["answer"].mask(lost, None), status=fair["status"].mask(lost, "unparsed")
    )
    assert results(check(answers if kept else fair[~lost], limits)) == ["cannot tell"]
