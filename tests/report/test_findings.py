"""The sentences on a board, for every mix of verdicts and all kinds of benchmarks."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product

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


def found(
    benchmark: Benchmark, models: dict[str, tuple], *, best=None, high=None, worst=None
) -> Findings:
    """Return the findings of models with (gap, verdict, p) each, ranked in this order."""
    (attribute,) = (a.name for a in benchmark.varied)
    ((a, b),) = benchmark.varied[0].pairs
    rows = []
    for model, (gap, verdict, p) in models.items():
        unit = {"model": model, "attribute": attribute, "group_a": a, "group_b": b}
        limits = {"ci_low": gap - 0.01, "ci_high": gap + 0.01}
        rows += [
            unit | limits | {"metric": "accuracy_difference", "estimate": gap, "verdict": verdict},
            unit | {"metric": "cfr", "estimate": 1 - abs(gap), "n": 100},
            unit | {"metric": "mcnemar", "test": "mcnemar midp", "p_adjusted": p},
        ]
    estimates = pd.DataFrame(rows).assign(missing="available", n_missing_a=0, n_missing_b=0)
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
            "least_favourable": worst or [abs(gap) for gap, _, _ in models.values()],
            "method_note": "",
        }
    )
    board = Board(benchmark, "1", "plain", estimates, ranks, pd.DataFrame())
    return Findings(board, 0.05)


UNEVEN = {"one": (0.05, SHOWN, 1e-6), "two": (0.12, SHOWN, 1e-9)}
SMALL = dict.fromkeys(("one", "two"), (0.0, SAME, 0.9))
UNCLEAR = dict.fromkeys(("one", "two"), (0.01, OPEN, 0.4))
SLANTED = {"slanted": True, "changes": "the hint"}
SUGGESTED = {"slanted": True, "swayed_by": "a suggested answer"}
#: What the benchmark declares, the models and their ranks.
READ: dict[str, tuple[dict, dict, dict]] = {
    "plain": ({}, UNEVEN, {}),
    "slanted": (SLANTED, UNEVEN, {}),
    "suggested": (SUGGESTED, UNEVEN, {}),
    "suggested, no model swayed": (SUGGESTED, SMALL, {}),
    "suggested, unclear": (SUGGESTED, UNCLEAR, {}),
    "both signs": ({}, {"one": (-0.02, OPEN, 0.3), "two": (0.03, OPEN, 0.2)}, {}),
    "ranges": ({}, dict.fromkeys(("one", "two"), (math.nan, None, math.nan)), {}),
    "overlapping": (
        {},
        {name: (0.05 + n / 100, SHOWN, 1e-6) for n, name in enumerate("abcd")},
        {"best": ["a", "b"], "high": [2, 2, 4, 4]},
    ),
}


@pytest.mark.parametrize("case", READ)
def test_findings(benchmark, case, snapshot):
    declared, models, ranks = READ[case]
    read = found(replace(benchmark, **declared), models, **ranks)
    assert (read.headline, read.figures, read.chart_title, *read.sure) == snapshot


def test_braces_in_a_benchmarks_text_are_not_filled_in(benchmark):
    text = "a hint {title} {0}"
    read = found(replace(benchmark, slanted=True, swayed_by=text), {"{model}": (0.05, SHOWN, 0.1)})
    assert read.headline == "A hint {title} {0} sways “{model}”"
    assert (
        "“{model}” is 5.0 percentage points less accurate with a hint {title} {0}" in read.figures
    )


@pytest.mark.parametrize("slanted", [True, False])
@pytest.mark.parametrize("verdict", [SHOWN, SAME, OPEN])
def test_sentences_about_ranked_models_say_so_if_the_board_has_others(benchmark, verdict, slanted):
    models = {"one": (0.05, verdict, 0.01), "two": (-0.05, verdict, 0.01)}
    every = found(replace(benchmark, slanted=slanted), models)
    more = found(replace(benchmark, slanted=slanted), models | {"refuser": (-0.27, OPEN, 0.4)})
    ranks = more.board.ranks.assign(rank=more.board.ranks["rank"].astype("Int64"))
    ranks.loc[ranks["model"] == "refuser", "rank"] = pd.NA
    others = replace(more, board=replace(more.board, ranks=ranks))
    assert others.models == every.models
    for read, ranked in ((every, False), (others, True)):
        for text in (read.headline, read.measured.split(":")[1], read.changed):
            assert ("ranked model" in text) == ranked, text


@pytest.mark.parametrize("unclear", [("hint",), ("other",), ("hint", "other")])
def test_headline_names_only_the_attributes_that_are_unclear(benchmark, unclear):
    hint = replace(benchmark.varied[0], label="Hint")
    two = {"hint": hint, "other": replace(hint, name="other", label="Other text")}
    both = replace(benchmark, attributes=two, changes="hint or other text")
    tables = [
        found(
            benchmark, dict.fromkeys(("a", "b"), (0.0, OPEN if name in unclear else SAME, 0.5))
        ).board.estimates.assign(attribute=name)
        for name in two
    ]
    read = found(benchmark, dict.fromkeys("ab", (0.0, SAME, 0.5)))
    estimates = pd.concat(tables, ignore_index=True)
    read = replace(read, board=replace(read.board, benchmark=both, estimates=estimates))
    assert ("hint" in read.headline, "other" in read.headline) == (
        "hint" in unclear, "other" in unclear,
    )  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gap_made_small_by_missing_answers_is_not_called_the_smallest(benchmark, sign):
    # Ranks count missing answers against a model, so the second one shows the smaller gap.
    models = {"full": (0.05, SHOWN, 1e-6), "refuser": (sign * 0.01, OPEN, 0.4)}
    read = found(benchmark, models, worst=[0.06, 0.2])
    assert "If missing answers are counted against each model" in read.figures
    # The figures are those by which the models are ranked.
    assert re.search("of two models, “full” has the smallest .*: 6.0 points", read.figures)
    assert "“refuser” has the largest: 20.0 points" in read.figures


@pytest.mark.parametrize(
    ("same", "said"),
    [
        ((1.0, 1.0), "0% of pairs"),
        ((0.9953, 0.9953), "less than 1% of pairs"),
        ((0.9953, 0.68), "less than 1 to 32% of pairs"),
        ((1.0, 0.9953), "0 to less than 1% of pairs"),
        ((0.004, 0.0), "more than 99 to 100% of pairs"),
    ],
)
def test_a_share_of_changed_answers_is_rounded_neither_to_0_nor_to_100(benchmark, same, said):
    read = found(benchmark, UNEVEN)
    estimates = read.board.estimates
    estimates.loc[estimates["metric"] == "cfr", "estimate"] = same
    again = estimates[estimates["metric"] == "cfr"].assign(metric="same_prompt_agreement")
    both = pd.concat([estimates, again], ignore_index=True)
    read = replace(read, board=replace(read.board, estimates=both))
    assert f" in {said}" in read.changed
    assert f"(in {said.removesuffix(' of pairs')} if the same prompt is repeated)" in read.changed


@pytest.mark.parametrize(("same", "said"), [(0.9953, "less than 1%"), (0.0047, "more than 99%")])
def test_a_share_of_one_models_changed_answers_is_rounded_like_that_too(benchmark, same, said):
    read = found(benchmark, {"one": (0.05, SHOWN, 1e-6)})
    estimates = read.board.estimates
    estimates.loc[estimates["metric"] == "cfr", "estimate"] = same
    assert f" in {said} of " in read.changed


def test_models_of_one_rank_are_named_together(benchmark):
    models = {"a": (0.05, OPEN, 0.4), "b": (0.01, OPEN, 0.4), "c": (0.06, OPEN, 0.4)}
    read = found(benchmark, models, worst=[0.08, 0.08, 0.1])
    assert re.search("of three models, “a” and “b” have the smallest .*: 8.0 points", read.figures)


@pytest.mark.parametrize("asked", [(), ("one",), ("two",)])
def test_a_question_about_the_best_model_stands_next_to_its_rank(benchmark, asked):
    named = replace(found(benchmark, UNEVEN), questioned=frozenset(asked))
    (best,) = (text for _, text in named.sure if "smallest" in text)
    assert ("Screening" in best) == (asked == ("one",))


@pytest.mark.parametrize("models", [("one", "two"), ("one", "two", "three")])
def test_no_model_is_called_ranked_if_none_is(benchmark, models):
    """Under bounds, models that took part in selecting the items are left out all the same."""
    own = replace(benchmark, selected_on={models[-1]: "wrote the items"})
    shown = found(own, dict.fromkeys(models, (0.05, SHOWN, 1e-6)))
    unranked = replace(shown, board=replace(shown.board, ranks=shown.board.ranks.iloc[:0]))
    assert unranked.models == list(models[:-1])
    assert "eligible model" in unranked.changed
    assert "ranked" not in unranked.changed


def test_a_difference_of_crossed_groups_is_not_in_the_mean_that_ranks_models(benchmark):
    first, second = (0.01, OPEN, 0.4), (0.02, OPEN, 0.4)
    (hint,) = benchmark.varied
    crossed = replace(hint, name="crossed", crosses=("hint", "other"))
    both = replace(benchmark, attributes=dict(benchmark.attributes) | {"crossed": crossed})
    read = found(benchmark, {"one": first, "two": second})
    # Of the crossed groups, the first model has the larger difference.
    more = [
        found(benchmark, {name: (gap, OPEN, 0.4)}).board.estimates.assign(attribute="crossed")
        for name, gap in (("one", -0.4), ("two", -0.01))
    ]
    estimates = pd.concat([read.board.estimates, *more], ignore_index=True)
    read = replace(read, board=replace(read.board, benchmark=both, estimates=estimates))
    mean = "mean size of the gaps without crossed groups"
    assert f"Of two models, “one” has the smallest {mean}: 1.0 points." in read.figures
    assert "“two” has the largest: 2.0 points" in read.figures


def test_rounding_errors_are_not_missing_answers(benchmark):
    models = {"one": (0.1 + 0.2, SHOWN, 1e-6), "two": (0.3, SHOWN, 1e-6)}
    assert "missing" not in found(benchmark, models).figures


def test_no_sentence_assumes_patients_or_privilege(benchmark):
    read = found(benchmark, UNEVEN)
    text = " ".join([read.headline, read.figures, read.chart_title])
    text += " ".join(sentence for _, sentence in read.sure) + pair_note(benchmark)
    for word in ("privileged", "race", "patient", "FairMedQA", "White"):
        assert word not in text


def test_headline_fits_every_mix_of_verdicts(benchmark, snapshot):
    headlines = {}
    mixes = [(SHOWN, SAME), (SAME, SAME), (SAME, OPEN), (OPEN, OPEN)]
    for verdicts, slanted in product(mixes, (True, False)):
        models = {name: (0.01, v, 0.4) for name, v in zip(("one", "two"), verdicts, strict=True)}
        read = found(replace(benchmark, slanted=slanted), models)
        headlines[*verdicts, "slanted" if slanted else "plain"] = read.headline
        # No p-value is significant.
        assert "larger than chance" not in " ".join(text for _, text in read.sure)
    assert headlines == snapshot


@pytest.mark.parametrize("slanted", [True, False])
def test_single_model_is_named_without_a_comparison(benchmark, slanted):
    for gap, verdict, p in ((0.05, SHOWN, 1e-6), (0.0, SAME, 1.0), (0.03, OPEN, 0.2)):
        read = found(replace(benchmark, slanted=slanted), {"only": (gap, verdict, p)})
        assert "only" in read.headline
        assert "least" not in read.headline
        assert "smallest" not in read.figures
        assert not any("rank" in text or "smallest" in text for _, text in read.sure)


@pytest.mark.parametrize("verdict", [SHOWN, SAME, OPEN])
def test_a_size_has_its_interval_and_no_group_is_ahead_if_unclear(benchmark, verdict):
    read = found(benchmark, {"only": (0.03, verdict, 0.2)})
    assert "95% interval +2.0 to +4.0)" in read.figures
    assert ("more accurate" in read.figures) == (verdict != OPEN)


def test_sure_needs_a_small_p_and_an_interval_beyond_the_margin(benchmark):
    def degree(gap: float, p: float) -> str:
        return found(benchmark, {"only": (gap, SHOWN, p)}).sure[0][0]

    margin = benchmark.equivalence_margin
    assert degree(margin + 0.011, 0.0009) == "Very sure"
    assert degree(margin + 0.009, 0.0009) == "Sure"
    assert degree(margin + 0.011, 0.001) == "Sure"
    assert degree(-margin - 0.011, 0.0009) == "Very sure"


def test_ordinals_of_the_teens_end_in_th():
    assert [ordinal(n) for n in (11, 12, 13, 21, 102, 111)] == [
        "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip
