"""Keys that may be wrong: hand-counted cases, then the released answers."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from fairstats.answers.engine_frames import open_answers
from fairstats.vignettes.answer_keys import SHARED_WRONG, key_findings
from fairstats.vignettes.tables import FINDING_COLUMNS, FLAG_COLUMNS


def keys_of(answers):
    """Return the share of items by version, and the flagged items."""
    findings, flags = key_findings(open_answers(answers))
    assert list(findings.columns) == list(FINDING_COLUMNS)
    assert list(flags.columns) == list(FLAG_COLUMNS)
    return findings.set_index("benchmark_version")["estimate"].to_dict(), list(flags["item_id"])


def test_a_wrong_option_of_one_model_is_shared_with_no_other(models):
    assert keys_of(models(["AA/AA", "BB/BB"])) == ({"1": 0}, [])


def test_a_wrong_option_that_most_models_give_is_flagged(models):
    # Original/neutralized text, after the two variants. On the second item both have the same wrong
    # option; on the third, the two texts differ; on the fourth, half of the answers are right.
    texts = ["AA/AA", "AA/BB", "AA/BC", "AA/BB"]
    other = ["AA/AA", "AA/BB", "AA/BC", "AA/AA"]
    answers = models(texts, texts, other, other)
    assert keys_of(answers) == ({"1": 0.25}, ["item-1"])
    findings, flags = key_findings(open_answers(answers))
    assert flags.loc[0, ["flag", "attribute"]].tolist() == [SHARED_WRONG, "baseline"]
    detail, note = flags.loc[0, "detail"], findings.loc[0, "note"]
    assert re.fullmatch(r"key A: 0 of 8 .* 4 models .* B .* 8 times", detail)
    assert re.fullmatch(r"1 items; .*; 4 answer sets of 4 models, .* few", note)


def test_each_answer_set_counts_once(models):
    """A model with ten samples counted ten times."""
    wrong, right = ["AA/BB", "AA/AA"], ["AA/AA", "AA/AA"]
    one = models(wrong, wrong, right, right, right)
    first = one["model"] == "m-0"
    ten = [one[first].assign(sample=sample) for sample in range(10)]
    answers = pd.concat([one[~first], *ten], ignore_index=True)
    assert keys_of(answers) == keys_of(one) == ({"1": 0}, [])
    note = "several samples count as one answer"
    for table in (one, answers):
        findings, _ = key_findings(open_answers(table))
        assert findings.loc[0, "note"].endswith(note) == (table is answers)


def test_samples_count_with_their_shares(models):
    # Of the first item, 2/3 of one model's answers and all of the other's are wrong; of the second
    # item 1/3 and 2/3, which is not more than half.
    right, wrong, first = ["AA/AA", "AA/AA"], ["AA/BB", "AA/BB"], ["AA/BB", "AA/AA"]
    samples = [(right, first), (first, wrong), (wrong, wrong)]
    answers = pd.concat(
        [models(*own).assign(sample=number) for number, own in enumerate(samples)],
        ignore_index=True,
    )
    assert keys_of(answers) == ({"1": 0.5}, ["item-0"])
    detail = key_findings(open_answers(answers))[1].loc[0, "detail"]
    assert detail == "key A: 0.7 of 4 answers by 2 models are right, B is given 3.3 times"


def test_all_variants_count_if_the_original_was_not_asked(models):
    # Without the original, the variants of a group count together.
    assert keys_of(models(["AA", "BB", "AB"], ["AA", "BB", "AB"])) == ({"1": 1 / 3}, ["item-1"])


def test_missing_answers_do_not_count(models):
    texts = ["AA/--", "AA/B-", "AA/BB"]
    assert keys_of(models(texts, texts)) == ({"1": 1 / 3}, ["item-2"])
    assert keys_of(models(["--"], ["--"]))[1] == []


def test_versions_are_counted_separately_and_together(models):
    right = models(["AA/AA", "AA/BB"], ["AA/AA", "AA/BB"])
    wrong = models(["AA/BB", "AA/BB"], ["AA/BB", "AA/AA"], benchmark_version="0")
    shares, flagged = keys_of(pd.concat([right, wrong], ignore_index=True))
    assert shares == {"": 0.5, "0": 0.5, "1": 0.5}
    assert flagged == ["item-1"]


@pytest.mark.parametrize("share", [38 / 801])
def test_the_released_answers(released_answers, share):
    shares, flagged = keys_of(released_answers)
    assert shares[""] == pytest.approx(share)
    assert len(flagged) == 38
