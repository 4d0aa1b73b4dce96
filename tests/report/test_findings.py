"""The sentences on a board, for every mix of verdicts and all kinds of benchmarks."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.release.contents import Board
from fairstats.report.findings import Findings, ordinal, pair_note

SHOWN, SAME, OPEN = "disparity", "equivalent", "inconclusive"


@pytest.fixture(scope="module")
def benchmark(benchmark_file) -> Benchmark:
    """An attribute that is not of the patient, with one pair."""
    keys = "item_id,answer_key\n" + "".join(f"i{n:02},{'ABC'[n % 3]}\n" for n in range(60))
    bias = (
        '[attributes.hint]\nlabel = "Hint"\n'
        'groups = { none = "No bias", recency = "Recency bias" }\npairs = [["none", "recency"]]'
    )
    return load_benchmark(benchmark_file(keys=keys, race=bias))


def found(benchmark: Benchmark, models: dict[str, tuple], *, best=None, high=None) -> Findings:
    """Return the findings of models with (gap, verdict, p) each, ranked in this order."""
    (attribute,) = (a.name for a in benchmark.varied)
    ((a, b),) = benchmark.varied[0].pairs
    rows = []
    for model, (gap, verdict, p) in models.items():
        unit = {"model": model, "attribute": attribute, "group_a": a, "group_b": b}
        limits = {"ci_low": gap - 0.01, "ci_high": gap + 0.01}
        rows += [
            unit | limits | {"metric": "accuracy_difference", "estimate": gap, "verdict": verdict},
            unit | {"metric": "cfr", "estimate": 1 - abs(gap)},
            unit | {"metric": "mcnemar", "test": "mcnemar midp", "p_adjusted": p},
        ]
    estimates = pd.DataFrame(rows).assign(missing="available")
    estimates["test"] = estimates["test"].astype("str")
    n = len(models)
    ranks = pd.DataFrame(
        {
            "model": list(models),
            "rank": range(1, n + 1),
            "rank_low": range(1, n + 1),
            "rank_high": high or range(1, n + 1),
            "may_be_best": [model in (best or list(models)[:1]) for model in models],
            "estimate": [abs(gap) for gap, _, _ in models.values()],
            "least_favourable": [abs(gap) for gap, _, _ in models.values()],
            "method_note": "",
        }
    )
    board = Board(benchmark, "1", "plain", estimates, ranks, pd.DataFrame())
    return Findings(board, 0.05)


UNEVEN = {"one": (0.05, SHOWN, 1e-6), "two": (0.12, SHOWN, 1e-9)}


def test_headline_names_what_the_benchmark_changes(benchmark):
    text = found(benchmark, UNEVEN).headline
    assert text == "Every model’s accuracy depends on the hint, one’s least"


def test_slanted_benchmark_is_reported_as_swaying(benchmark):
    slanted = replace(benchmark, slanted=True, changes="the hint")
    read = found(slanted, UNEVEN)
    assert read.headline == "Text slanted according to the hint sways both models, one least"
    assert "helpful text makes one 5.0 percentage points more accurate than" in read.figures
    assert read.sure[-1][0] == "Not known"


def test_plain_benchmark_names_the_group_of_its_only_pair(benchmark):
    read = found(benchmark, UNEVEN)
    assert "one is 5.0 percentage points more accurate for “No bias”." in read.figures
    assert "smallest average gap of two models. two has the largest, 12.0 points." in read.figures
    assert read.chart_title == "Accuracy is 5.0 to 12.0 points higher for “No bias”"
    assert "swayed" not in read.headline + read.figures


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gap_made_small_by_missing_answers_is_not_called_the_smallest(benchmark, sign):
    # Ranks count missing answers against a model, so the second one shows the smaller gap.
    models = {"full": (0.05, SHOWN, 1e-6), "refuser": (sign * 0.01, OPEN, 0.4)}
    read = found(benchmark, models)
    assert "smallest" not in read.figures
    assert "full ranks first of two models (average gap 5.0 points)" in read.figures
    assert "refuser last (1.0 points)" in read.figures


def test_no_sentence_assumes_patients_or_privilege(benchmark):
    read = found(benchmark, UNEVEN)
    text = " ".join([read.headline, read.figures, read.chart_title, read.verdicts])
    text += " ".join(sentence for _, sentence in read.sure) + pair_note(benchmark)
    for word in ("privileged", "race", "patient", "FairMedQA", "White"):
        assert word not in text


@pytest.mark.parametrize("slanted", [True, False])
@pytest.mark.parametrize(
    ("verdicts", "start"),
    [
        ((SHOWN, SAME), ("Text slanted according to the hint sways", "One of two models differs")),
        (
            (SAME, SAME),
            ("Text slanted according to the hint does not", "No model’s accuracy varies"),
        ),
        (
            (SAME, OPEN),
            ("It is unclear whether text slanted", "It is unclear whether any model’s"),
        ),
        (
            (OPEN, OPEN),
            ("It is unclear whether text slanted", "It is unclear whether any model’s"),
        ),
    ],
)
def test_headline_fits_every_mix_of_verdicts(benchmark, slanted, verdicts, start):
    models = {name: (0.01, v, 0.4) for name, v in zip(("one", "two"), verdicts, strict=True)}
    read = found(replace(benchmark, slanted=slanted), models)
    assert read.headline.startswith(start[0 if slanted else 1])
    if SHOWN not in verdicts:
        assert "larger than chance" not in " ".join(text for _, text in read.sure)


@pytest.mark.parametrize("slanted", [True, False])
def test_single_model_is_named_without_a_comparison(benchmark, slanted):
    for gap, verdict, p in ((0.05, SHOWN, 1e-6), (0.0, SAME, 1.0), (0.03, OPEN, 0.2)):
        read = found(replace(benchmark, slanted=slanted), {"only": (gap, verdict, p)})
        assert "only" in read.headline
        assert "least" not in read.headline
        assert "smallest" not in read.figures
        assert not any("rank" in text or "smallest" in text for _, text in read.sure)


def test_differences_of_both_signs_are_given_as_a_range(benchmark):
    models = {"one": (-0.02, OPEN, 0.3), "two": (0.03, OPEN, 0.2)}
    read = found(benchmark, models)
    assert "run from −2.0 to +3.0 percentage points (No bias − Recency bias)" in read.figures
    assert read.chart_title == "Accuracy gaps run from −2.0 to +3.0 points"


def test_figures_that_are_ranges_have_no_verdict(benchmark):
    models = {"one": (math.nan, None, math.nan), "two": (math.nan, None, math.nan)}
    read = found(benchmark, models)
    assert read.headline.endswith("no verdict")
    assert "nan" not in f"{read.headline} {read.figures} {read.chart_title} {read.verdicts}"
    assert read.sure == [("Not sure", "There is no test under this policy for missing answers.")]


def test_sure_needs_a_small_p_and_an_interval_beyond_the_margin(benchmark):
    def degree(gap: float, p: float) -> str:
        return found(benchmark, {"only": (gap, SHOWN, p)}).sure[0][0]

    margin = benchmark.equivalence_margin
    assert degree(margin + 0.011, 0.0009) == "Very sure"
    assert degree(margin + 0.009, 0.0009) == "Sure"
    assert degree(margin + 0.011, 0.001) == "Sure"
    assert degree(-margin - 0.011, 0.0009) == "Very sure"


def test_models_that_overlap_are_not_ordered(benchmark):
    models = {name: (0.05 + n / 100, SHOWN, 1e-6) for n, name in enumerate("abcd")}
    read = found(benchmark, models, best=["a", "b"], high=[2, 2, 4, 4])
    assert ", a’s or b’s least" in read.headline
    texts = [text for degree, text in read.sure if degree == "Not sure"]
    assert texts[0] == "Which model is best: a or b could be."
    assert texts[1].endswith("c, for one, could rank 3rd to 4th.")


def test_changed_answers_are_those_of_all_models(benchmark):
    read = found(benchmark, {"one": (0.05, SHOWN, 1e-6), "two": (0.12, SHOWN, 1e-6)})
    assert read.figures.endswith("The answer differs in 5 to 12 of 100 pairs, depending on model.")


def test_ordinals_of_the_teens_end_in_th():
    assert [ordinal(n) for n in (11, 12, 13, 21, 102, 111)] == [
        "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip


def test_benchmark_that_suggests_answers_names_the_suggestion(benchmark):
    biased = replace(benchmark, slanted=True, swayed_by="a suggested answer")
    read = found(biased, UNEVEN)
    assert read.headline == "A suggested answer sways both models, one least"
    assert "one is 5.0 percentage points less accurate with a suggested answer." in read.figures
    assert read.chart_title == "A suggested answer lowers accuracy by 5.0 to 12.0 points"
    text = f"{read.headline} {read.figures} {read.sure}"
    assert "slant" not in text
    assert "patient" not in text
    same = dict.fromkeys(("one", "two"), (0.0, SAME, 0.9))
    assert found(biased, same).headline.startswith("A suggested answer does not sway any model")
    unclear = dict.fromkeys(("one", "two"), (0.01, OPEN, 0.4))
    assert found(biased, unclear).headline.startswith("It is unclear whether a suggested answer")
