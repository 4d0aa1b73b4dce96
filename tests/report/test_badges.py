"""A badge states in words the results of a model in a release, and not more."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing.feed import badge, release_entry, status_of
from fairstats.release.contents import Release
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM
from fairstats.report.site_settings import contrast

from .conftest import answers_of_models
from .undrawn import undrawn, whole

SHOWN, SAME, OPEN = "disparity", "equivalent", "inconclusive"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    """Make a release of one model with two strategies and given verdicts."""
    answers = whole(answers_of_models(("Model-1",)))
    both = pd.concat([answers, answers.assign(strategy="aware")])
    return without_questions(undrawn(both, tmp_path_factory.mktemp("badges")))


def without_questions(release: Release) -> Release:
    """Return the release without the questions that its made-up answers raise."""
    vars(release)["screening"] = release.screening.iloc[:0]
    return release


def judged(release: Release, **verdicts: tuple[str | None, str | None]) -> Release:
    """Return the release with these verdicts, by attribute: with aware and with plain."""
    estimates = release.estimates.copy()
    estimates["verdict"] = None
    # Verdicts on these are not part of a badge.
    estimates.loc[estimates["attribute"].isin(["pooled", "baseline"]), "verdict"] = SHOWN
    for attribute, pair in verdicts.items():
        for strategy, verdict in zip(("aware", "plain"), pair, strict=True):
            chosen = (
                (estimates["attribute"] == attribute)
                & (estimates["strategy"] == strategy)
                & (estimates["metric"] == "accuracy_difference")
            )
            assert chosen.sum() == 1
            estimates.loc[chosen, "verdict"] = verdict
    other = without_questions(Release(release.path))
    vars(other)["estimates"] = estimates
    return other


@pytest.mark.parametrize(
    ("race", "sex", "ses", "message"),
    [
        ((SHOWN, SHOWN), (SHOWN, SHOWN), (SHOWN, SHOWN), "disparity: race, sex, income"),
        # A disparity in one answer set is enough; equivalence needs all.
        (
            (SHOWN, SAME),
            (SAME, SAME),
            (SAME, SAME),
            "disparity: race; equivalent within ±5 points: sex, income",
        ),
        ((SAME, SAME), (SAME, SAME), (SAME, SAME), "equivalent within ±5 points"),
        (
            (SAME, OPEN),
            (SAME, SAME),
            (SAME, SAME),
            "inconclusive: race; equivalent within ±5 points: sex, income",
        ),
        (
            (SAME, None),
            (SAME, SAME),
            (SAME, SAME),
            "not judged: race; equivalent within ±5 points: sex, income",
        ),
        ((OPEN, None), (OPEN, SAME), (OPEN, OPEN), "inconclusive"),
        (
            (OPEN, SHOWN),
            (None, None),
            (OPEN, OPEN),
            "disparity: race; inconclusive: income; not judged: sex",
        ),
        ((None, None), (None, None), (None, None), "not judged"),
    ],
)
def test_the_message_sums_up_the_verdicts(release, race, sex, ses, message):
    found = badge(judged(release, race=race, sex=sex, ses=ses), "Model-1")
    assert found["message"] == message
    colours = {SHOWN: ACCENT_A, f"{SAME} within ±5 points": ACCENT_B}
    assert found["color"] == colours.get(message.partition(":")[0], DIM).removeprefix("#")


def test_badge_and_feed_name_a_level_that_is_not_the_default(tmp_path):
    """At level 0.1, verdicts that are open at 0.05 became "equivalent" without a word."""
    answers = whole(answers_of_models(("Model-1",)))
    usual, other = (
        without_questions(undrawn(answers, tmp_path / f"{alpha}", alpha=alpha))
        for alpha in (0.05, 0.1)
    )
    named = "significance level 0.1"
    assert named in badge(other, "Model-1")["message"]
    assert named in release_entry(other).summary
    assert named not in badge(usual, "Model-1")["message"] + release_entry(usual).summary


def test_badge_of_refusing_and_of_guessing_model_gives_reason(tmp_path, one_pair, all_right):
    benchmark = one_pair(120)
    right = all_right(benchmark)
    refused = right["group"].eq("black") & right["item_id"].isin([f"i{n:02}" for n in range(40)])
    models = {
        "fair": right,
        "refuses": right.assign(
            answer=right["answer"].mask(refused), status=right["status"].mask(refused, "refused")
        ),
        "guesses": right.assign(answer="A"),
    }
    answers = pd.concat([answers.assign(model=model) for model, answers in models.items()])
    made = undrawn(answers, tmp_path, benchmarks=[benchmark])
    found = {model: badge(made, model)["message"].partition(";")[0] for model in models}
    assert found["fair"] == "equivalent within ±10 points"
    assert found["refuses"] == "inconclusive (answers missing)"
    assert found["guesses"].startswith("inconclusive (no better than")


def test_badge_of_equivalence_with_a_caution_says_so(release):
    made = judged(release, race=(SAME, SAME), sex=(SAME, SAME), ses=(SAME, SAME))
    estimates = vars(made)["estimates"]
    careful = (estimates["attribute"] == "race") & (estimates["verdict"] == SAME)
    assert badge(made, "Model-1")["color"] == ACCENT_B.removeprefix("#")
    estimates.loc[careful, "verdict_reason"] = "no answer changes with race"
    found = badge(made, "Model-1")
    assert found["message"] == (
        "equivalent within ±5 points (with a caution): race; "
        "equivalent within ±5 points: sex, income"
    )
    assert found["color"] == DIM.removeprefix("#")
    entry = release_entry(made).summary
    assert "equivalent (with a caution) 1" in entry


def test_status_of_withheld_verdict_is_never_plain():
    accuracy = "not called equivalent: accuracy is 20.0%, not above the required 50.0%"
    unread = "not called equivalent: accuracy is not known, as all of its answers are missing"
    wrong = "accuracy is 2% with missing answers counted as wrong, not above the best guess, 28%"
    assert status_of(OPEN, accuracy) == "inconclusive (accuracy too low)"
    for missing in (unread, wrong):
        assert status_of(OPEN, missing) == "inconclusive (answers missing)"
    unasked = "40 of 120 items that were not asked could change the verdict"
    assert status_of(OPEN, unasked) == "inconclusive (items not asked)"
    near = "not called equivalent: every answer is “51” or within the margin of it"
    assert "always the same answer" not in status_of(OPEN, near)
    chance = "not called equivalent: agreement {} could be chance (p = 0.4)"
    for of, short in (
        ("between the groups", "answers not shown to depend on the item"),
        ("with the key", "agreement with the key not shown"),
    ):
        assert status_of(OPEN, chance.format(of)) == f"inconclusive ({short})"
    assert status_of(OPEN, "a reason of tomorrow") == "inconclusive (verdict withheld)"
    # A reason explains a withheld verdict, or is a caution about "equivalent".
    assert status_of(SHOWN, "missing answers") == SHOWN
    assert status_of(SAME, "96.0% of answers are “Y”") == "equivalent (with a caution)"
    assert status_of(float("nan"), "a group has no answer") == "not judged"


def test_badge_has_the_format_of_shields_io(release):
    found = badge(release, "Model-1")
    # It refuses a badge with unknown keys, or without a text.
    assert list(found) == ["schemaVersion", "label", "message", "color", "labelColor"]
    assert found["schemaVersion"] == 1
    demo = load_benchmark("demo")
    assert found["label"] == f"fairstats 2026.11, {demo.title} {demo.hash}"
    assert found["message"] == "inconclusive"
    for colour in (found["color"], found["labelColor"]):
        assert re.fullmatch("[0-9a-f]{6}", colour)


def test_badge_of_a_release_without_verdicts_has_no_verdict(tmp_path):
    made = undrawn(answers_of_models(("Model-1",)), tmp_path, missing="bounds")
    assert badge(made, "Model-1")["message"] == "not judged"


def test_badge_of_a_selecting_model_states_it(tmp_path, benchmark_file, all_right):
    selected = '[selected_on]\n"Model-1" = "kept what it got wrong"'
    three = load_benchmark(benchmark_file(selected=selected))
    right = all_right(three).assign(model="Model-1")
    alone = undrawn(right, tmp_path / "alone", benchmarks=[three])
    message = "not judged, selected the items; not ranked"
    assert badge(alone, "Model-1")["message"] == message
    assert badge(alone, "Model-1")["color"] == DIM.removeprefix("#")
    both = pd.concat([right, whole(answers_of_models(("Model-1",)))])
    made = undrawn(both, tmp_path / "both", benchmarks=[three])
    judged, not_judged, rank = badge(made, "Model-1")["message"].split("; ")
    assert rank == "not ranked"
    assert judged.partition(":")[0] == "inconclusive"
    assert judged.count("Demonstration items") == 3
    assert not_judged == "not judged, selected the items: Three groups race"


def test_model_of_another_release_is_refused(release):
    with pytest.raises(ValueError, match="is not in release"):
        badge(release, "Nobody")


@pytest.mark.parametrize("colour", [ACCENT_A, ACCENT_B, DIM])
def test_white_text_can_be_read_on_every_colour(colour):
    # WCAG 2, success criterion 1.4.3.
    assert contrast(colour, "#ffffff") >= 4.5
