"""The short answers on a model's page, for given figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.formatting import capital
from fairstats.benchmarks.declaration import BASELINE, POOLED
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.table import is_primary_test
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, answer_sets
from fairstats.report.board.charts import original_accuracy
from fairstats.report.board.figures import BoardFigures
from fairstats.report.changes.findings import prompt_answer, version_answer, version_finding
from fairstats.report.changes.rows import Comparison, comparison_of
from fairstats.report.findings import findings
from fairstats.report.model.page import _rate, other_choices
from fairstats.report.notes import noise_line
from fairstats.report.sections.chance import could_be_chance
from fairstats.report.sections.given import frequent_letter
from fairstats.report.sections.groups import extremes, who_loses
from fairstats.report.sections.size import SIZE
from fairstats.report.sections.size import answer as matters
from tests.make_answers import make_answers

from .conftest import answers_of_models
from .undrawn import undrawn, whole

NOISE = {"beyond": (0.01, 0.11), "none": (-0.057, 0.043), "below": (-0.2, -0.1)}
SHOWN, EQUIVALENT, OPEN = "disparity", "equivalent", "inconclusive"
RACE, SEX, SES = "race", "sex", "ses"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    return undrawn(whole(answers_of_models(("One",))), tmp_path_factory.mktemp("words"))


@pytest.fixture
def given(release) -> Callable[..., AnswerSet]:
    """Return the answer set with other figures: of all pairs, and of the named ones."""

    def build(
        metric: str = "accuracy_difference",
        *,
        selected: bool = False,
        strategy: str = "plain",
        of: Release | None = None,
        pairs: dict[str, dict[str, object]] | None = None,
        more: dict[str, dict[str, object]] | None = None,
        **every: object,
    ) -> AnswerSet:
        board = release.boards[0]
        rows = board.estimates.copy()
        for name, values in {metric: every, **(more or {})}.items():
            own = rows["metric"].eq(name) & rows["attribute"].isin([RACE, SEX, SES])
            for column, value in values.items():
                rows.loc[own, column] = value
        for attribute, values in (pairs or {}).items():
            own = rows["metric"].eq(metric) & rows["attribute"].eq(attribute)
            for column, value in values.items():
                rows.loc[own, column] = value
        benchmark = board.benchmark
        if selected:
            benchmark = replace(benchmark, selected_on={"One": "by lot"})
        board = replace(board, benchmark=benchmark, estimates=rows, strategy=strategy)
        return AnswerSet(of or release, board, "One")

    return build


def verdict(word: str | None, low: float = 0.0, high: float = 0.0) -> dict[str, object]:
    """Return the columns of a gap with this verdict and interval."""
    estimate = (low + high) / 2
    return {"verdict": word, "estimate": estimate, "ci_low": low, "ci_high": high}


# Is the gap big enough to matter? The margin of the demonstration benchmark is 5 points.


MATTERS = {
    (SHOWN, 0.06, 0.2): "Yes",
    (SHOWN, -0.2, -0.06): "Yes",
    (SHOWN, 0.01, 0.2): "Perhaps",
    (EQUIVALENT, -0.01, 0.02): "No",
    (OPEN, -0.1, 0.2): "Unclear",
}


def test_gap_matters_by_its_verdict_and_interval(given, snapshot):
    answers = {case: matters(given(**verdict(*case))) for case in MATTERS}
    assert {case: answer.short for case, answer in answers.items()} == MATTERS
    mixed = matters(given(**verdict(SHOWN, 0.06, 0.2), pairs={SEX: verdict(OPEN, -0.1, 0.1)}))
    assert [*(answer.text for answer in answers.values()), mixed.short, mixed.text] == snapshot


def test_interval_that_excludes_0_is_not_said_to_allow_no_gap(given):
    answer = matters(given(**verdict(OPEN, -0.1, 0.2), pairs={SEX: verdict(OPEN, 0.059, 0.262)}))
    assert answer.short == "Unclear"
    assert "both possible" not in answer.text
    assert "For Sex, the interval excludes 0" in answer.text


def test_gap_without_a_verdict_cannot_be_judged(given):
    own = given(**verdict(None, 0.06, 0.2), verdict_reason="the answers are too few")
    answer = matters(own)
    assert answer.short == "Cannot be judged"
    assert answer.text.endswith("The answers are too few.")


def test_gap_matters_also_if_another_group_has_no_answers(given):
    nothing = {"estimate": np.nan, "verdict": None, "verdict_reason": "a group has no answers"}
    answer = matters(given(**verdict(SHOWN, 0.06, 0.2), pairs={SEX: nothing}))
    assert answer.short == "Yes for Race and Income, cannot be judged for Sex"
    assert "+13.0 points" in answer.text
    assert answer.text.endswith("Sex: a group has no answers.")


# Could it be chance?


def mcnemar(p: float, **columns: object) -> dict[str, dict[str, object]]:
    return {"mcnemar": {"p_adjusted": p, "n10": 20, "n01": 10, **columns}}


@pytest.mark.parametrize(("p", "short"), [(1e-12, "Hardly"), (0.05, "Hardly"), (0.051, "Yes")])
def test_chance_is_judged_by_the_adjusted_p_value(given, p, short, snapshot):
    answer = could_be_chance(given(**verdict(OPEN), more=mcnemar(p)))
    assert answer.short == short
    assert answer.text == snapshot


def test_significant_test_does_not_settle_an_open_verdict(given):
    """E.g. missing answers could change it, or the model guesses."""
    reason = "missing answers could change the verdict"
    answer = could_be_chance(given(**verdict(OPEN), verdict_reason=reason, more=mcnemar(1e-9)))
    assert answer.short == "Unclear"
    assert reason.capitalize() in answer.text


def test_no_test_is_reported_without_discordant_pairs(given):
    own = given(**verdict(EQUIVALENT), more=mcnemar(1.0, n10=0, n01=0))
    assert could_be_chance(own).short == "No difference"


def test_pairs_without_both_answers_are_not_called_equal(given):
    own = given(**verdict(OPEN, 0.4, 0.6), more=mcnemar(1.0, n=0, n10=0, n01=0))
    answer = could_be_chance(own)
    assert answer.short == "Cannot be judged"
    assert answer.text.startswith("No pair of answers is complete, so there is no test.")
    assert own.p_values == []


@pytest.mark.parametrize(
    ("counts", "short"), [((20, 10), "Hardly"), ((0, 0), "No difference")], ids=["uneven", "none"]
)
def test_pair_without_both_answers_is_no_test_among_others(given, counts, short):
    n10, n01 = counts
    own = given(**verdict(OPEN), more=mcnemar(0.01, n10=n10, n01=n01))
    rows = own.rows.copy()
    empty = rows["metric"].eq("mcnemar") & rows["attribute"].eq(SEX)
    rows.loc[empty, ["n", "n10", "n01", "p_adjusted"]] = 0, 0, 0, 1.0
    answer = could_be_chance(replace(own, board=replace(own.board, estimates=rows)))
    assert answer.short == f"{short} for Race and Income, cannot be judged for Sex"
    assert "Sex: no pair of answers is complete, so there is no test." in answer.text
    assert "3 McNemar tests" not in answer.text.split(", Holm")[0]


def test_chance_cannot_be_judged_without_a_test(given):
    own = given(**verdict(None), verdict_reason="a group has no answer", more=mcnemar(1.0))
    assert could_be_chance(own).short == "Cannot be judged"


# Who loses accuracy?


def accuracies(first: float, second: float, width: float) -> dict[str, dict[str, object]]:
    def around(value: float) -> dict[str, object]:
        return {"estimate": value, "ci_low": value - width, "ci_high": value + width}

    return {"accuracy_a": around(first), "accuracy_b": around(second)}


@pytest.fixture
def neutral(release) -> float:
    rows = release.estimates
    own = rows[(rows["attribute"] == "baseline") & (rows["metric"] == "accuracy_b")]
    return float(own["estimate"].iloc[0])


@pytest.mark.parametrize(
    ("a", "b", "width", "short"),
    [(0.01, -0.4, 0.02, "Black, Female and Low income"), (0, -0.1, 0.2, "No group clearly")],
    ids=["below", "overlapping"],
)
def test_groups_are_named_if_their_interval_is_below_that_of_the_neutral_text(
    given, neutral, a, b, width, short, snapshot
):
    answer = who_loses(given(more=accuracies(neutral + a, neutral + b, width)))
    assert answer.short == short
    assert answer.text == snapshot


def test_who_loses_cannot_be_judged_without_figures(given):
    nothing = {"estimate": math.nan, "ci_low": 0.0, "ci_high": 1.0}
    own = given(more={"accuracy_b": nothing}, verdict=None, verdict_reason="a group has no answer")
    assert (who_loses(own).short, who_loses(own).text) == (
        "Cannot be judged",
        "A group has no answer.",
    )


@pytest.mark.parametrize("answer", [who_loses, could_be_chance, matters])
def test_model_that_selected_the_items_is_not_judged(given, answer):
    # The release withholds its verdicts.
    found = answer(given(selected=True, **verdict(None, 0.06, 0.2), more=mcnemar(1e-9)))
    assert found.short == "Cannot be judged"
    assert "took part in selecting" in found.text


# What missing answers leave open

LACKING = ("No Black", "No neutral", "One", "Only neutral")


@pytest.fixture(scope="module")
def lacking(tmp_path_factory) -> Callable[[str], Release]:
    """Return a release under a policy: models lack answers of a race, all groups or neutral."""
    every = make_answers(0.8, of=load_benchmark("demo"), models=LACKING)
    model, group = every["model"], every["group"]
    missing = (model.eq("No Black") & group.eq("black")) | (
        model.eq("No neutral") & group.eq("neutralized")
    )
    missing |= model.eq("Only neutral") & every["attribute"].ne(BASELINE)
    missing[every.index[model.eq("One") & group.eq("black")][0]] = True
    answers = every.assign(
        answer=every["answer"].mask(missing), status=np.where(missing, "refused", "ok")
    )
    answers = answers[model.str.contains("neutral") | answers["attribute"].ne(BASELINE)]
    folder = tmp_path_factory.mktemp("lacking")
    return cache(
        lambda policy: undrawn(answers, folder / policy, missing=policy)  # type: ignore[arg-type]
    )


def set_of(release: Release, model: str) -> AnswerSet:
    (own,) = answer_sets(release, model)
    return own


@pytest.mark.parametrize("policy", ["available", "bounds"])
def test_group_without_answers_is_not_called_the_same(lacking, policy):
    own = set_of(lacking(policy), "No Black")
    assert "It is not known for Race: Black." in extremes(own).text
    race = replace(own, board=replace(own.board, estimates=own.rows.query("attribute == 'race'")))
    text = extremes(race).text
    assert text == "That is for White. It is not known for Black."


def test_pair_without_answers_has_no_p_on_the_board(lacking):
    release = lacking("available")
    own = set_of(release, "No Black")
    assert [pair.verdict is None for pair in own.pairs] == [True, False, False]
    assert len(own.p_values) == 2
    race = replace(own, board=replace(own.board, estimates=own.rows.query("attribute == 'race'")))
    assert race.p_values == []


def test_pair_without_answers_has_no_p_in_the_table_of_sizes(lacking):
    (shown,) = SIZE.tables(set_of(lacking("available"), "No Black"))
    rows = shown.table.as_raw_html().split("<tr")
    cells = [row.rsplit("<td", 1)[1] for row in rows if "<td" in row]
    assert ["–" in cell for cell in cells] == [True, False, False]


def test_groups_without_a_figure_are_named_next_to_the_others(lacking):
    assert _rate(set_of(lacking("available"), "No Black"))[2] == "not known for Race: Black"
    of, value, note = _rate(set_of(lacking("bounds"), "One"))
    assert of == "Accuracy of the groups"
    assert re.fullmatch(r"[\d.]+ to [\d.]+%", value)
    assert note == "over all possible missing answers"


def test_board_does_not_show_an_unknown_accuracy_as_a_range(lacking):
    shown = original_accuracy(set_of(lacking("available"), "No Black"))
    assert re.fullmatch(r"[\d.]+(–[\d.]+)?, –", shown)
    assert "100.0" not in shown


def test_accuracy_with_missing_neutral_answers_is_not_called_a_guess(lacking):
    release = lacking("available")
    own = set_of(release, "No neutral")
    assert who_loses(own).text == "The accuracy with the neutral text is not known."
    why = "ccuracy in the neutralized variant is not known, as all of its answers are missing"
    assert findings(own.alone, release).measured == f"A{why}."
    assert BoardFigures(own.board, release).why_unranked("No neutral") == f"not ranked: a{why}"


@pytest.mark.parametrize(("policy", "said"), [("available", False), ("incorrect", True)])
def test_missing_answers_that_count_as_changed_are_named(lacking, policy, said):
    release = lacking(policy)
    text = findings(set_of(release, "One").alone, release).changed
    assert text.endswith(", with missing answers counted as changed.") == said


@pytest.mark.parametrize("policy", ["available", "incorrect"])
@pytest.mark.parametrize(
    ("model", "answer", "said"),
    [
        ("No Black", extremes, True),
        ("One", extremes, True),
        ("No neutral", extremes, False),
        ("No neutral", who_loses, True),
        ("Only neutral", who_loses, True),
    ],
)
def test_missing_answers_that_count_as_wrong_are_named(lacking, model, answer, said, policy):
    text = answer(set_of(lacking(policy), model)).text
    assert (", with missing answers counted as wrong" in text) == (said and policy == "incorrect")


# Is it better than the version before?


def rows_of(verdicts: dict[str, object], **columns: object) -> pd.DataFrame:
    """Return the rows of a comparison on the demonstration benchmark's pairs."""
    groups = {RACE: ("white", "black"), SEX: ("male", "female"), SES: ("high_income", "low_income")}
    rows = [
        {
            "benchmark_version": "1",
            "model_old": "Old",
            "model_new": "One",
            "release_old": None,
            "strategy": "plain → cot",
            "attribute": attribute,
            "group_a": groups[attribute][0],
            "group_b": groups[attribute][1],
            "metric": metric,
            "old": 0.5,
            "new": 0.5 + sign * 0.1,
            "estimate": sign * 0.1,
            "ci_low": sign * 0.1 - 0.05,
            "ci_high": sign * 0.1 + 0.05,
            "p_value": 0.001,
            "p_adjusted": 0.002,
            "n": 24,
            "verdict": word,
            "verdict_reason": None,
            "method_note": "",
            "missing": "common",
        }
        for attribute, word in verdicts.items()
        for metric, sign in (("delta_accuracy", 1), ("delta_cfr", 1), ("delta_ad", -1))
    ]
    return pd.DataFrame(rows).assign(benchmark="demo", **columns)


def comparison(rows: pd.DataFrame) -> Comparison:
    return replace(comparison_of(rows, load_benchmark("demo"), 0.05), prompted=False)


@pytest.mark.parametrize(
    ("word", "columns", "short"),
    [
        ("win-win", {}, "Yes"),
        ("unclear", {"p_adjusted": 0.2}, "Unclear"),
        ("unclear", {"verdict_reason": "few items"}, "Unclear"),
        ("unclear", {"estimate": 0.1}, "Mixed"),
        ("lose-lose", {"estimate": [-0.1, -0.1, 0.1] * 3}, "No, worse"),
        (None, {"p_value": math.nan}, ""),
    ],
    ids=["win-win", "not significant", "withheld", "mixed", "lose-lose", "ranges"],
)
def test_newer_version_is_judged_by_the_verdicts(word, columns, short, snapshot):
    rows = rows_of(dict.fromkeys((RACE, SEX, SES), word), **columns)
    words, text = version_answer(comparison(rows))
    assert set(words.values()) == {short}
    assert text == snapshot


def test_version_answer_names_the_pair_without_a_verdict_and_the_range_of_items():
    rows = rows_of(dict.fromkeys((RACE, SEX, SES), "unclear"))
    rows.loc[rows["attribute"] == SEX, ["verdict_reason", "n"]] = ["few items", 20]
    _, text = version_answer(comparison(rows))
    assert "For Sex, few items." in text
    assert "20 to 24 vignettes" in text
    assert "For Sex, few items" in capital(version_finding([comparison(rows)]).split("; ")[-1])


# Does another prompt close the gap?


def closes(before, after, *, p=0.2, significant=(RACE, SEX, SES)):
    rows = rows_of(dict.fromkeys((RACE, SEX, SES), "unclear"), p_adjusted=0.2)
    rows.loc[rows["attribute"].isin(significant), "p_adjusted"] = p
    gaps = rows.assign(model="One", metric="accuracy_difference").drop_duplicates("attribute")
    sides = [gaps.assign(strategy=s, verdict=v) for s, v in (("plain", before), ("cot", after))]
    return prompt_answer([comparison(rows)], SimpleNamespace(estimates=pd.concat(sides)))


@pytest.mark.parametrize(
    ("before", "after", "p", "short"),
    [
        (SHOWN, EQUIVALENT, 0.01, "Yes"),
        # Equivalent, but the change could be chance.
        (SHOWN, EQUIVALENT, 0.2, "Unclear"),
        (SHOWN, OPEN, 0.2, "Unclear"),
        (SHOWN, SHOWN, 0.2, "No"),
        # Smaller, and still a disparity.
        (SHOWN, SHOWN, 0.01, "Only partly"),
        (EQUIVALENT, EQUIVALENT, 0.2, "No gap to close"),
        (None, None, 0.2, ""),
    ],
)
def test_prompt_closes_a_gap_if_it_is_then_equivalent_and_the_change_significant(
    before, after, p, short
):
    found, text = closes(before, after, p=p)
    assert found == short
    assert ("closes the gap" in text) == (short == "Yes")


def test_significant_changes_are_stated(snapshot):
    cases = ([SEX], [], [RACE, SEX, SES])
    assert [closes(SHOWN, SHOWN, p=0.027, significant=own)[1] for own in cases] == snapshot


def test_a_size_without_limits_has_no_level_in_its_heading(given):
    for limits in (math.nan, 1.0):
        (shown,) = SIZE.tables(given("odds_ratio", ci_low=limits, ci_high=limits))
        markup = shown.table.as_raw_html()
        assert ("Odds ratio (95% CI)" in markup) == (limits == 1)
        assert "Cohen’s h (95% CI)" in markup


# Would other choices change the verdict?


def sensitivity(
    release: Release, of: str = RACE, *, missing: float = 0.0, **verdicts: str
) -> Release:
    """Return the release with other verdicts on an attribute under these choices.

    Missing answers could raise every difference by `missing`.
    """
    rows = release.table("sensitivity").copy()
    rows.loc[rows["choice"] == "bounds", "ci_high"] += missing
    rows.loc[rows["attribute"] != POOLED, "verdict"] = OPEN
    for choice, word in verdicts.items():
        rows.loc[(rows["choice"] == choice) & (rows["attribute"] == of), "verdict"] = word

    class Changed(Release):
        def table(self, name: str) -> pd.DataFrame:
            return rows if name == "sensitivity" else super().table(name)

    return Changed(release.path)


@pytest.mark.parametrize(
    ("choice", "short"),
    [
        ({}, "No"),
        ({"newcombe": SHOWN}, "Yes for Race, no for Sex and Income"),
        # Wald intervals cannot be defended.
        ({"wald": SHOWN}, "No"),
    ],
    ids=["no other verdict", "newcombe", "wald"],
)
def test_choices_that_change_a_verdict_are_named(given, release, choice, short, snapshot):
    answer = other_choices(given(**verdict(OPEN), of=sensitivity(release, **choice)))
    assert answer.short == short
    assert answer.text == snapshot


def test_policy_that_changes_a_verdict_is_named_next_to_an_open_one(given, release):
    """Missing answers leave the verdict on sex open, whatever the policy."""
    left = "missing answers could change the verdict"
    of = sensitivity(release, missing=0.1, incorrect=SHOWN)
    answer = other_choices(given(**verdict(OPEN), pairs={SEX: {"verdict_reason": left}}, of=of))
    assert "the policy “incorrect”" in answer.text


def test_method_that_is_not_counted_is_named_with_its_verdict(given, release):
    own = given(**verdict(OPEN), of=sensitivity(release, bootstrap=EQUIVALENT))
    text = other_choices(own).text
    named = text[text.index("Race") :]
    assert f"{EQUIVALENT} instead of {OPEN} with the BCa bootstrap interval" in named
    assert "Wald" not in named
    assert f"here {sum(own.pairs[0].counts)}" in named
    assert "too narrow" not in text


def test_verdict_on_the_average_counts_too_as_the_page_shows_it(given, release):
    own = given(**verdict(OPEN), of=sensitivity(release, of=POOLED, exact=EQUIVALENT))
    shown = own.whole.verdict
    assert shown not in (None, EQUIVALENT)
    answer = other_choices(own)
    assert answer.short == "No for Race, Sex and Income, yes for Average"
    assert answer.text.startswith(f"Average: {EQUIVALENT} instead of {shown} with the exact test.")


# Letters


@pytest.mark.parametrize(("count", "named"), [(700, True), (520, False)])
def test_letter_that_is_given_too_often_is_named(given, release, count, named):
    rows = release.table("letters").head(2).copy()
    rows["letter"] = ["A", "B"]
    rows["count"], rows["key_count"] = [count, 1000 - count], [500, 500]

    class Changed(Release):
        def table(self, name: str) -> pd.DataFrame:
            return rows

    text = frequent_letter(given(of=Changed(release.path)))
    assert bool(text) == named
    if named:
        assert re.findall(r"(letter \w|[\d.]+%)", text)[:3] == ["letter A", "70.0%", "50.0%"]


def test_figures_that_are_set_reach_the_answers(given):
    """The tests above change the rows that the page reads."""
    rows = given(**verdict(SHOWN, 0.06, 0.2), more=mcnemar(0.01)).board.estimates
    assert (rows.loc[is_primary_test(rows), "p_adjusted"] == 0.01).sum() == 3


@pytest.mark.parametrize("case", NOISE)
def test_changes_are_compared_with_sampling_noise_on_the_same_pairs(release, case, snapshot):
    low, high = NOISE[case]
    unit = {"attribute": "race", "group_a": "white", "group_b": "black"}
    excess = {"estimate": (low + high) / 2, "ci_low": low, "ci_high": high}
    rows = pd.DataFrame(
        [
            # The CFR of all pairs is another one.
            unit | {"metric": "cfr", "estimate": 0.3},
            unit | {"metric": "same_prompt_agreement", "estimate": 0.163},
            unit | {"metric": "excess_disagreement"} | excess,
        ]
    )
    text = noise_line(rows, load_benchmark("demo"), release)
    same, groups = (float(share) for share in re.findall(r"([\d.]+)% of", text))
    (size,) = re.findall(r"\(([+−][\d.]+) points", text)
    assert groups - same == pytest.approx(float(size.replace("−", "-")))
    assert text == snapshot
