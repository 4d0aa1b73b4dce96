"""Verdicts of pairs of groups: the rule of completions by enumeration, and what has no verdict."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.eligibility import SELECTED
from fairstats.estimates.judgements import UNEQUAL_ROWS, Judgements, judge
from fairstats.inference.intervals import tango
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from tests.make_answers import make_answers

#: With the few items that can be enumerated, only generous limits allow every verdict.
ALPHA, MARGIN = 0.4, 0.7
KEYS = dict(zip(["i0", "i1", "i2", "i3", "i4", "i5", "i6"], "ABCDABC", strict=True))


def drawn_tables() -> list[list[str]]:
    """Return signs of the items: right (1), wrong (0), missing (-), not asked (..)."""
    draw = random.Random(3)
    tables: list[list[str]] = []
    while len(tables) < 60:
        most = draw.choice([["11"], ["10"], ["01", "-1"], ["00", "--"]])
        table = [draw.choice([*most * 6, "11", "10", "01", "1-", "-0", "0-", ".."]) for _ in KEYS]
        if any("." not in text for text in table) and sum(map(missing, table)) <= 6:
            tables.append(table)
    return tables


def missing(text: str) -> int:
    return text.count("-") + text.count(".")


def completions(table: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the discordant counts of every completion, over all items of the benchmark."""
    text = "".join(table).replace(".", "-")
    for signs in product("01", repeat=text.count("-")):
        left = iter(signs)
        whole = "".join(next(left) if sign == "-" else sign for sign in text)
        pairs = [whole[i : i + 2] for i in range(0, len(whole), 2)]
        yield pairs.count("10"), pairs.count("01")


TABLES = drawn_tables()


@pytest.fixture(scope="module")
def judged(demo: Benchmark) -> dict[str, Judgements]:
    """Return the judgements of all tables by policy; each table is a model and a family."""
    benchmark = replace(demo, name="own", answer_keys=KEYS, family="model")
    answers = []
    for i, table in enumerate(TABLES):
        texts = [
            text.replace("1", key).replace("0", "D" if key != "D" else "A")
            for text, key in zip(table, KEYS.values(), strict=True)
        ]
        answers.append(make_answers(texts, of=benchmark, models=[f"{i:03}"]))
    counted = outcomes_of(open_answers(pd.concat(answers, ignore_index=True), [benchmark]))
    return {
        policy: judge(counted.values(), policy, ALPHA, margin=MARGIN)
        for policy in ("available", "complete", "incorrect")
    }


@pytest.mark.parametrize("policy", ["available", "complete", "incorrect"])
def test_verdict_holds_for_every_completion(policy, judged):
    own, seen = judged[policy], []
    p, (inner_low, inner_high), found = own.p_adjusted(), own.inner, own.verdicts()
    lowest, highest = own.p_range()
    for i, table in enumerate(TABLES):
        n10, n01 = np.array(list(completions(table))).T
        limits = tango(len(KEYS) - n10 - n01, n10, n01, 0, alpha=2 * ALPHA)
        p_values = mcnemar(n10=n10, n01=n01).p_value
        differences = (n10 - n01) / len(KEYS)
        done = own.completions
        if done.is_open[i]:
            assert done.lowest[i] == pytest.approx(differences.min())
            assert done.highest[i] == pytest.approx(differences.max())
            assert done.inner_low[i] == pytest.approx(limits.ci_low.min())
            assert done.inner_high[i] == pytest.approx(limits.ci_high.max())
        assert lowest[i] == pytest.approx(min(p_values.min(), p[i]))
        assert highest[i] == pytest.approx(max(p_values.max(), p[i]))
        reach = max(-inner_low[i], inner_high[i], -limits.ci_low.min(), limits.ci_high.max())
        guesses = own.never_equivalent[i] != ""
        # Limits that reach the whole scale are inside no margin.
        exists = own.judged[i] and not guesses and reach < 1 - 1e-9
        assert own.smallest_margin[i] == pytest.approx(reach if exists else np.nan, nan_ok=True)
        inside = (limits.ci_low > -MARGIN) & (limits.ci_high < MARGIN)
        if reach < MARGIN:
            expected = INCONCLUSIVE if guesses else EQUIVALENT
        else:
            shown = max(p_values.max(), p[i]) <= ALPHA and not inside.any()
            expected = DISPARITY if shown else INCONCLUSIVE
        assert found[i] == expected, table
        seen.append((expected, bool(done.is_open[i])))
    assert {(DISPARITY, True), (EQUIVALENT, True), (INCONCLUSIVE, True)} <= set(seen)


@pytest.mark.parametrize(
    ("parts", "policy", "expected"),
    [
        ([["AB/AA"]], "available", {"race": "", "baseline": None}),
        ([["AB/AA"]], "bounds", {"race": "the policy bounds", "baseline": None}),
        ([["A-"], ["AB"]], "available", {"race": ""}),
        ([["A-", "A-"]], "available", {"race": "a group has no answers"}),
        ([["A-", "A-"]], "incorrect", {"race": "a group has no answers"}),
        ([["AB", "A."]], "available", {"race": UNEQUAL_ROWS}),
        # The rows are as many, though not of the same items.
        ([["A.", ".A"]], "available", {"race": ""}),
        ([["AA", "AB"], ["AB"]], "available", {"race": "items have different numbers"}),
        ([["AA", "AB"], ["AB", ".A"]], "available", {"race": UNEQUAL_ROWS}),
    ],
)
def test_pair_without_a_verdict_has_its_reason(parts, policy, expected):
    answers = pd.concat([make_answers(own, sample=i) for i, own in enumerate(parts)])
    own = judge(outcomes_of(open_answers(answers)).values(), policy)
    found = dict(zip(own.keys["attribute"], own.obstacles, strict=True))
    assert set(found) == set(expected)
    for attribute, reason in expected.items():
        assert found[attribute] is reason or str(found[attribute]).startswith(reason or "none")
        assert not reason or reason == found[attribute][: len(reason)]
    verdicts, _ = own.published
    assert [text is not None for text in verdicts] == [text == "" for text in own.obstacles]


@pytest.mark.parametrize("snapshot", [{}, {"snapshot": None}, {"snapshot": "v1"}])
def test_model_that_selected_the_items_has_no_verdict(demo, snapshot):
    answers = make_answers(["AB"] * 20, models=["chosen", "other"], benchmark="own")
    answers = answers.assign(**snapshot)
    known = replace(demo, name="own", selected_on={"chosen": "how"})
    own = judge(outcomes_of(open_answers(answers, [known])).values())
    assert own.obstacles.tolist() == [SELECTED, ""]
    verdicts, reasons = own.published
    assert verdicts.tolist() == [None, DISPARITY]
    assert reasons.tolist() == [SELECTED, None]


def test_disparity_that_a_fill_in_makes_equivalent_is_open(demo):
    """4,000 items, a difference of 5 points, and 80 pairs that could make it 3 points."""
    texts = ["AB"] * 400 + ["BA"] * 200 + ["B-"] * 80 + ["AA"] * 3320
    answers = make_answers(texts, benchmark="own")
    known = replace(demo, name="own", answer_keys={}, equivalence_margin=0.045)
    judged = judge(outcomes_of(open_answers(answers, [known])).values(), "complete")
    (found,), (reason,) = judged.published
    assert found == INCONCLUSIVE
    assert "or equivalent within ±4.5" in reason
    whole = outcomes_of(open_answers(answers.fillna({"answer": "B"}).assign(status="ok"), [known]))
    assert judge(whole.values(), "complete").published[0] == [DISPARITY]


def test_answers_to_an_undeclared_version_have_no_verdict():
    answers = make_answers(["AB"] * 40 + ["AA"] * 40, benchmark_version="easier")
    verdicts, reasons = judge(outcomes_of(open_answers(answers)).values()).published
    assert verdicts.tolist() == [None]
    assert reasons.tolist() == ["the benchmark declares no version 'easier'"]


def test_families_may_span_benchmarks(demo):
    known = [replace(demo, name=name, family="release") for name in ("one", "two")]
    tables = [(["AB"] * 12 + ["AA"] * 30, "one"), (["BA"] * 9 + ["AA"] * 30, "two")]
    answers = pd.concat([make_answers(texts, benchmark=name) for texts, name in tables])
    own = judge(outcomes_of(open_answers(answers, known)).values())
    assert own.keys["benchmark"].tolist() == ["one", "two"]
    low, high = own.p_values()
    assert own.p_adjusted().tolist() == [2 * low, high]
    assert set(own.adjusted_over) == {"holm over 2 tests of all analysed answers"}
    assert [len(part) for part in own.split(own.effect)] == [1, 1]
    assert [part.tests.tolist() for part in own.parts] == [[2], [2]]
