"""The table of a screening, what is not checked, and the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import duckdb
import numpy as np
import pandas as pd
import pypandoc
import pytest
from typer.testing import CliRunner

from fairstats import InputError, scan_answers, write_answers
from fairstats.cli import app
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.screening.findings import Finding
from fairstats.screening.screen import (
    SCREENING_COLUMNS,
    _most_extreme,
    count_flags,
    markdown,
    screen,
)
from tests.screening.frauds import moved, one_letter, random_letters, the_key
from tests.screening.honest_models import honest_panel


@pytest.fixture(scope="module")
def honest_demo(demo) -> list[pd.DataFrame]:
    return honest_panel(demo, 5, rng=np.random.default_rng(1))


def run(*words: object):
    return CliRunner().invoke(app, ["screen", *map(str, words)])


def test_table_has_one_row_per_check_and_answer_set(honest, synthetic):
    table = screen(pd.concat(honest, ignore_index=True), benchmarks=[synthetic]).to_frame()
    assert tuple(table.columns) == SCREENING_COLUMNS
    assert not table.duplicated(["model", "strategy", "check"]).any()
    assert table.groupby("model")["check"].nunique().eq(table["check"].nunique()).all()
    assert table["flag"].isin(["ok", "look", "block", "not_checked"]).all()
    # Sets that are screened together do not hide each other.
    for _, rows in table.groupby("model"):
        adjusted = adjust_pvalues(rows["p_value"])
        assert rows["p_adjusted"].to_numpy() == pytest.approx(adjusted, nan_ok=True)
    assert table["p_value"].dropna().between(0, 1).all()
    assert table["note"].str.endswith((".", "?")).all()


def test_set_without_others_is_not_cleared(honest, synthetic):
    found = screen(honest[0], benchmarks=[synthetic])
    rows = found.to_frame().set_index("check")
    unchecked = rows[rows["value"].isna()]
    assert {"copied_answers", "group_labels", "item_difficulty"} <= set(unchecked.index)
    assert set(unchecked["flag"]) == {"not_checked"}
    assert unchecked["p_value"].isna().all()
    assert unchecked["note"].str.startswith("Not checked: ").all()
    assert len(found.not_checked) == len(unchecked)
    assert rows.loc["item_alignment", "flag"] == "ok"
    assert found.blocked.empty


def test_strategies_of_one_model_are_one_model(honest, synthetic):
    """A publisher's own strategies must not serve as the other models."""
    other = [honest[1].assign(strategy=name) for name in ("plain", "cot", "few")]
    rows = screen(honest[0], pd.concat(other, ignore_index=True), benchmarks=[synthetic]).to_frame()
    note = rows.set_index("check").loc["group_labels", "note"]
    assert note.endswith("there are 1.")


def test_result_does_not_depend_on_the_order_of_rows(honest, synthetic):
    answers = pd.concat(honest[:4], ignore_index=True)
    shuffled = answers.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(
        screen(answers, benchmarks=[synthetic]).to_frame(),
        screen(shuffled, benchmarks=[synthetic]).to_frame(),
    )


def test_one_bad_sample_of_several_is_flagged(honest, synthetic, by_check):
    bad = one_letter(honest[0], honest[1], synthetic, np.random.default_rng(1)).assign(sample=1)
    answers = pd.concat([*honest, bad], ignore_index=True)
    row = by_check(screen(answers, benchmarks=[synthetic]), "Model-A").loc["letter_shares"]
    assert row["flag"] == "look"
    assert "(sample 1 of 2)" in row["note"]


def test_a_bad_part_of_many_items_is_flagged(honest, synthetic, by_check, monkeypatch):
    rng = np.random.default_rng(1)
    bad = one_letter(honest[0], honest[1], synthetic, rng)
    items = sorted(synthetic.items)
    second = bad["item_id"].isin(items[len(items) // 2 :])
    answers = pd.concat([honest[0][~second], bad[second], *honest[1:]], ignore_index=True)
    whole = screen(answers, benchmarks=[synthetic]).to_frame()
    monkeypatch.setattr("fairstats.screening.panels.PART_ITEMS", len(items) // 2)
    table = screen(answers, benchmarks=[synthetic])
    row = by_check(table, "Model-A").loc["letter_shares"]
    assert row["flag"] == "look"
    assert "(part 2 of 2)" in row["note"]
    # Each set has each check once, as without parts; the other models have no flag.
    keys = ["model", "strategy", "check"]
    pd.testing.assert_frame_equal(table.to_frame()[keys], whole[keys])
    others = table.to_frame().query("model != 'Model-A'")
    assert set(others["flag"]) <= {"ok", "not_checked"}


def test_many_samples_alike_do_not_hide_what_each_shows():
    each = Finding("flip_level", 0.5, 0.9, 1e-4, "look", "Few changes.")
    found = _most_extreme("sample", [(number, each) for number in range(1000)])
    assert found is not None
    assert found.p_value == pytest.approx(1e-4)
    # One of many is a matter of chance.
    usual = replace(each, p_value=0.9)
    found = _most_extreme("sample", [(0, each), *((number, usual) for number in range(1, 1000))])
    assert found is not None
    assert found.p_value == pytest.approx(0.1)


@pytest.mark.parametrize("other", [0.0, 1e-300, 0.5])
def test_a_part_that_blocks_is_not_hidden_by_one_to_ask_about(other):
    asked = Finding("copied_answers", 0.98, 0.9, 0.0, "look", "Alike.")
    blocked = Finding("copied_answers", 1.0, 0.9, 1e-200, "block", "The same.")
    found = _most_extreme("part", [(1, replace(asked, p_value=other)), (2, blocked), (3, None)])
    assert found is not None
    assert (found.worst, found.p_value) == ("block", 2e-200)
    # A part that could only block at a smaller p-value is not preferred.
    weak = _most_extreme("part", [(1, asked), (2, replace(blocked, p_value=0.2))])
    assert weak is not None
    assert weak.worst == "look"
    # What is declared in one part does not hide another copy in a second.
    declared = replace(asked, p_value=1e-300, worst="declared")
    found = _most_extreme("part", [(1, declared), (2, replace(asked, p_value=1e-5))])
    assert found is not None
    assert (found.worst, found.p_value) == ("look", 2e-5)


def test_checks_that_were_not_possible_are_counted_and_named(honest, synthetic):
    table = screen(honest[0], benchmarks=[synthetic]).to_frame()
    unchecked = table[table["flag"] == "not_checked"]
    assert f"; {len(unchecked)} checks were not possible (" in count_flags(unchecked)
    name = unchecked["check"].iloc[0]
    assert count_flags(unchecked.head(1)).endswith(f"; 1 check was not possible ({name})")
    assert count_flags(pd.concat([unchecked.head(1)] * 2)).endswith(f"not possible ({name})")


def test_repeated_sample_is_named_and_asked_about_only_at_a_temperature(
    honest, synthetic, by_check
):
    def row(second: pd.DataFrame, **columns: float) -> pd.Series:
        again = second.assign(model="Model-A", sample=1)
        answers = pd.concat([honest[0], again], ignore_index=True).assign(**columns)
        table = screen(answers, benchmarks=[synthetic])
        return by_check(table, "Model-A").loc["repeated_samples"]

    same = row(honest[0])
    assert (same["value"], same["flag"]) == (0.5, "ok")
    assert "hold no further information" in same["note"]
    assert row(honest[0], temperature=0.0)["flag"] == "ok"
    # Some servers refuse 0.
    assert row(honest[0], temperature=0.01)["flag"] == "ok"
    assert row(honest[0], temperature=0.7)["flag"] == "look"
    assert row(honest[1], temperature=0.7)["flag"] == "ok"
    once = screen(honest[0], benchmarks=[synthetic]).to_frame()
    assert "repeated_samples" not in set(once["check"])


@pytest.mark.parametrize(("models", "flag"), [(4, "ok"), (3, "look")])
def test_variants_that_an_item_lacks_are_not_missing(models, flag, honest, synthetic):
    """Three models could lack them by chance; nobody was asked the first item at all."""
    names = sorted(synthetic.answer_keys)
    lacking = pd.concat(honest[:models]).loc[
        lambda t: ~(t["item_id"].isin(names[:40]) & (t["group"] == "black"))
    ]
    found = screen(lacking, benchmarks=[synthetic]).to_frame()
    about_missing = found["check"].isin(["missing_rows", "missing_by_group"])
    assert set(found.loc[about_missing, "flag"]) == {flag}
    made_up = pd.concat([lacking, honest[0]]).drop_duplicates(
        ["model", "item_id", "attribute", "group"]
    )
    found = screen(made_up, benchmarks=[synthetic]).to_frame()
    about_missing = found["check"].isin(["missing_rows", "missing_by_group"])
    others = about_missing & (found["model"] != honest[0]["model"].iloc[0])
    assert set(found.loc[others, "flag"]) == {flag}
    without_item = lacking[lacking["item_id"] != names[0]]
    found = screen(without_item, benchmarks=[synthetic]).to_frame()
    assert set(found.query("check == 'missing_rows'")["flag"]) == {"look"}


def test_a_set_of_variants_that_nobody_else_was_asked_lacks_none(honest, synthetic, by_check):
    only = honest[0][honest[0]["attribute"] == "sex"]
    others = [one[one["attribute"] == "race"] for one in honest[1:4]]
    found = by_check(screen(pd.concat([only, *others]), benchmarks=[synthetic]), "Model-A")
    assert (found.loc["missing_rows", "flag"], found.loc["missing_rows", "value"]) == ("ok", 0)


def test_missing_rows_and_other_answers_under_the_same_name_are_looked_at(
    honest, synthetic, by_check
):
    whole = pd.concat(honest, ignore_index=True)
    part = honest[0].iloc[:-100]
    rows = by_check(screen(part, whole, benchmarks=[synthetic]), "Model-A")
    assert rows.loc["missing_rows", "flag"] == "look"
    assert rows.loc["missing_rows", "note"].startswith("100 of 6,400 asked variants")
    rows = by_check(screen(honest[0], whole, benchmarks=[synthetic]), "Model-A")
    assert rows.loc["resubmitted", "flag"] == "ok"
    other = random_letters(honest[0], honest[1], synthetic, np.random.default_rng(1))
    rows = by_check(screen(other, whole, benchmarks=[synthetic]), "Model-A")
    assert rows.loc["resubmitted", "flag"] == "look"
    # Another sample replaces the set too, and of several the best could be chosen.
    for again, given in (([1], [0]), ([0, 1], [0]), ([0], [0, 1])):
        now, before = (
            pd.concat([table.assign(sample=sample) for sample in samples], ignore_index=True)
            for table, samples in ((honest[0], again), (whole, given))
        )
        rows = by_check(screen(now, before, benchmarks=[synthetic]), "Model-A")
        assert rows.loc["resubmitted", "flag"] == "look"
        assert "how were they chosen" in rows.loc["resubmitted", "note"]


@pytest.mark.parametrize(
    ("snapshot", "named"),
    [
        ("gpt-4.1-2025-04-14", "GPT-4.1"),
        ("openai/GPT_4.1 2025-04-14", "GPT-4.1"),
        ("gpt-4.1", "GPT-4.1"),
        ("model-a-2026, gpt-4.1-2025-04-14", "GPT-4.1"),
        ("model-a-2026", None),
    ],
)
def test_snapshot_of_another_model_is_looked_at(honest, synthetic, by_check, snapshot, named):
    other = honest[1].assign(model="GPT-4.1", snapshot="gpt-4.1-2025-04-14")
    found = screen(honest[0].assign(snapshot=snapshot), other, benchmarks=[synthetic])
    rows = by_check(found, "Model-A")
    assert ("shared_snapshot" in rows.index) == (named is not None)
    if named is not None:
        row = rows.loc["shared_snapshot"]
        assert (row["flag"], row["value"]) == ("look", 1)
        assert row["note"].startswith(
            f"The snapshot “{snapshot.split(', ')[-1]}” is also the snapshot or the name of "
            f"“{named}”. "
        )


@pytest.mark.parametrize(
    ("snapshot", "flagged"),
    [
        ("gpt-4.1-2025-04-14", True),
        ("not known", False),
        ("v1", False),
        ("vllm-0.6.3", False),
        ("llama.cpp b3561", False),
        ("seed 42, run 2", False),
    ],
)
def test_snapshot_shared_by_two_models_is_looked_at_if_it_names_a_model(
    honest, synthetic, by_check, snapshot, flagged
):
    one, other = (answers.assign(snapshot=snapshot) for answers in honest[:2])
    rows = by_check(screen(one, other, benchmarks=[synthetic]), "Model-A")
    assert ("shared_snapshot" in rows.index) == flagged


@pytest.mark.parametrize("snapshot", ["LM Studio 0.3.5", "us-east-1"])
def test_what_all_models_state_is_where_they_were_asked(honest, synthetic, snapshot):
    answers = pd.concat(honest, ignore_index=True).assign(snapshot=snapshot)
    table = screen(answers, benchmarks=[synthetic])
    assert "shared_snapshot" not in set(table.to_frame()["check"])


def test_stored_marks_that_disagree_with_letters_are_asked_about(honest, synthetic, by_check):
    right = honest[0]["answer"] == honest[0]["answer_key"]
    flags = {}
    for name, marks in {"same": right, "text": right.astype(str), "other": ~right}.items():
        found = screen(honest[0].assign(correct=marks), benchmarks=[synthetic])
        flags[name] = by_check(found, "Model-A").loc["stored_marks", "flag"]
    # Marks may be those of a judge of the reasoning, of majorities or of another key.
    assert flags == {"same": "ok", "text": "ok", "other": "look"}


def test_stored_replies_with_other_letters_are_asked_about(honest, synthetic, by_check):
    texts = "The answer is " + honest[0]["answer"] + "."
    agree = screen(honest[0].assign(answer_raw=texts), benchmarks=[synthetic])
    assert by_check(agree, "Model-A").loc["stored_replies", "value"] == 0
    # A part of the items may have been asked so, or each reply may be the first of several.
    some = texts.where(np.arange(len(texts)) % 3 > 0, of_other_rows(texts))
    row = replies_of(honest[0].assign(answer_raw=some), synthetic)
    assert row["flag"] == "look"
    assert "majorities of several replies" in row["note"]
    assert row["note"].endswith("or were options asked in another order?")


@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
def test_majorities_stored_with_their_first_reply_do_not_block(honest, synthetic, share):
    rng = np.random.default_rng(1)
    first = honest[0]["answer"].mask(
        rng.random(len(honest[0])) < share, rng.choice(list("ABCD"), len(honest[0]))
    )
    row = replies_of(honest[0].assign(answer_raw="The answer is " + first + "."), synthetic)
    assert row["flag"] == "look"


@pytest.mark.parametrize("items", [50, 200, 800])
@pytest.mark.parametrize("share", [0.06, 0.04, 0.03, 0.026, 0.022])
def test_any_share_of_letters_changed_to_the_key_is_asked_about(honest, synthetic, items, share):
    """A share just above the limit hid that all of the letters became the key."""
    own = honest[0][honest[0]["item_id"] < f"item-{items:03}"].reset_index(drop=True)
    replies = own.assign(answer_raw="The answer is " + own["answer"] + ".")
    wrong = replies.index[replies["answer"] != replies["answer_key"]]
    rng = np.random.default_rng(items)
    changed = rng.choice(wrong, max(round(share * len(own)), 24), replace=False)
    key = replies["answer"].mask(replies.index.isin(changed), replies["answer_key"])
    assert replies_of(replies.assign(answer=key), synthetic)["flag"] == "look"


def test_answers_exchanged_between_groups_under_their_replies_are_asked_about(honest, synthetic):
    """So few letters are below the limit, and no letter is more often the key."""
    given = honest[0].assign(answer_raw="The answer is " + honest[0]["answer"] + ".")
    race = given[given["attribute"] == "race"]
    first, second = (
        race[race["group"] == group].set_index("item_id") for group in ("white", "black")
    )
    right = first["answer"].eq(first["answer_key"])
    exchanged = right.index[right & second["answer"].ne(second["answer_key"])][:40]
    assert len(exchanged) == 40
    there = race["item_id"].isin(exchanged)
    other = {"white": second["answer"], "black": first["answer"]}
    for group, answers in other.items():
        rows = race.index[there & (race["group"] == group)]
        given.loc[rows, "answer"] = answers[given.loc[rows, "item_id"]].to_numpy()
    row = replies_of(given, synthetic)
    assert row["flag"] == "look"
    assert "why do they move this gap" in row["note"]


def test_few_items_with_options_in_another_order_are_not_asked_about(honest, synthetic):
    """One of 30 items is 3% of the replies, but 1% of many items could be meant."""
    flags = []
    for first in range(0, 300, 30):
        some = honest[0]["item_id"].isin([f"item-{n:03}" for n in range(first, first + 30)])
        turned = honest[0]["item_id"] == f"item-{first + 7:03}"
        other = honest[0]["answer"].map(dict(zip("ABCD", "DCBA", strict=True)))
        shown = "The answer is " + honest[0]["answer"].mask(turned, other) + "."
        given = honest[0].assign(answer_raw=shown)[some]
        copies = [given.assign(sample=sample) for sample in range(5)]
        flags.append(replies_of(pd.concat(copies, ignore_index=True), synthetic)["flag"])
    assert set(flags) == {"ok"}


def test_options_in_reverse_order_for_a_part_of_the_items_do_not_block(honest, synthetic):
    turned = honest[0]["item_id"].str[-1].isin(list("147"))
    other = honest[0]["answer"].map(dict(zip("ABCD", "DCBA", strict=True)))
    shown = "The answer is " + honest[0]["answer"].mask(turned, other) + "."
    row = replies_of(honest[0].assign(answer_raw=shown), synthetic)
    assert row["flag"] == "look"
    assert "order" in row["note"]


def of_other_rows(texts):
    return texts.sample(frac=1, random_state=1).to_numpy()


def test_replies_to_options_in_a_shuffled_order_do_not_block(honest, synthetic, by_check):
    rng = np.random.default_rng(1)
    shown = [
        "The answer is {}.".format(
            dict(zip("ABCD", rng.permutation(list("ABCD")), strict=True))[own]
        )
        for own in honest[0]["answer"]
    ]
    found = screen(honest[0].assign(answer_raw=shown), benchmarks=[synthetic])
    row = by_check(found, "Model-A").loc["stored_replies"]
    assert row["flag"] == "look"
    assert "order" in row["note"]


def test_two_models_that_nearly_always_give_one_letter_are_no_copies(honest, synthetic, by_check):
    rng = np.random.default_rng(1)
    small = [
        honest[0].assign(
            model=f"small-{number}",
            answer=np.where(rng.random(len(honest[0])) < share, honest[0]["answer"], "A"),
        )
        for number, share in enumerate([0, 0, 0.002])
    ]
    found = screen(pd.concat([*honest, *small]), benchmarks=[synthetic])
    for one in small:
        rows = by_check(found, one["model"].iloc[0])
        assert "block" not in set(rows["flag"])
        assert rows.loc["letter_shares", "flag"] == "look"


def without_letters(given, hidden):
    """Return the answers with replies that give letters, the hidden ones stored as unparsed."""
    return given.assign(
        answer_raw="The answer is " + given["answer"] + ".",
        answer=given["answer"].mask(hidden, None),
        status=np.where(hidden, "unparsed", "ok"),
    )


@pytest.mark.parametrize(
    ("own", "status"),
    [("I cannot answer that.", "refused"), ("It depends.", "unparsed"), ("Heparin", "ok")],
)
def test_letters_of_made_up_questions_are_not_the_models(own, status, honest, synthetic):
    """Its parser stops before them, and knows the options' texts."""
    rng = np.random.default_rng(1)
    odd = rng.random(len(honest[0])) < 0.1
    made_up = rng.choice(list("ABCD"), len(odd))
    run_on = pd.Series(made_up).radd("\n\nQuestion: A man has a cough.\nAnswer: ")
    table = honest[0].assign(
        answer_raw=honest[0]["answer"].mask(odd, own) + run_on,
        answer=honest[0]["answer"].mask(odd & (status != "ok"), None),
        status=np.where(odd, status, "ok"),
    )
    assert replies_of(table, synthetic)["flag"] == "ok"


@pytest.mark.parametrize("begins", ["A 45-year-old man coughs.", "2. A man coughs.", "Q2."])
def test_letters_on_a_line_before_what_a_base_model_adds_are_the_models(begins, honest, synthetic):
    rng = np.random.default_rng(1)
    added = pd.Series(rng.choice(list("ABCD"), len(honest[0]))).radd(f"\n\n{begins}\nAnswer: ")
    replies = honest[0]["answer"] + added.where(rng.random(len(added)) < 0.1, "")
    assert replies_of(honest[0].assign(answer_raw=replies), synthetic)["flag"] == "ok"


def test_letters_of_a_list_of_options_are_not_the_models(honest, synthetic):
    """Wrong letters are stored as the key, if it is A or B: each reply has both."""
    replies = "A. No.\nB. No.\nC. No.\nD. No.\nThe answer is " + honest[0]["answer"]
    table = honest[0].assign(answer_raw=replies)
    assert replies_of(table, synthetic)["flag"] == "ok"
    changed = table["answer"].mask(table["answer_key"].isin(["A", "B"]), table["answer_key"])
    assert replies_of(table.assign(answer=changed), synthetic)["flag"] == "look"


HEADINGS = "First, a summary" + " of the case" * 10 + ".\n\nPatient: A man.\n\nAnswer: "


@pytest.mark.parametrize("form", [HEADINGS, "<think>\nQ:\n</think>"])
def test_letters_after_headings_are_those_of_the_model(form, honest, synthetic, by_check):
    """Most are stored as they are read."""
    replies = honest[0].assign(answer_raw=form + honest[0]["answer"])
    assert replies_of(replies, synthetic)["flag"] == "ok"
    wrong = replies["answer"] != replies["answer_key"]
    corrected = replies["answer"].mask(wrong, replies["answer_key"])
    assert replies_of(replies.assign(answer=corrected), synthetic)["flag"] == "look"
    hidden = wrong & (replies["group"] == "black")
    found = by_check(screen(hiding(replies, hidden), benchmarks=[synthetic]), "Model-A")
    assert set(found.loc[["stored_replies", "missing_by_group"], "flag"]) == {"look"}


def test_letters_after_a_few_words_are_not_compared_but_given(honest, synthetic, by_check):
    """Without the options' texts, the words may be one."""
    form = "Let me think.\n\nPatient: A man.\n\nAnswer: "
    replies = honest[0].assign(answer_raw=form + honest[0]["answer"])
    hidden = (replies["answer"] != replies["answer_key"]) & (replies["group"] == "black")
    found = by_check(screen(hiding(replies, hidden), benchmarks=[synthetic]), "Model-A")
    assert found.loc["stored_replies", "flag"] == "not_checked"
    assert found.loc["missing_by_group", "flag"] == "look"


def hiding(answers, hidden):
    """Store these answers as unparsed."""
    status = np.where(hidden, "unparsed", "ok")
    return answers.assign(answer=answers["answer"].mask(hidden, None), status=status)


@pytest.mark.parametrize("share", [0.06, 0.5])
def test_replies_that_a_stricter_parser_did_not_read_are_counted_apart(honest, synthetic, share):
    hidden = np.random.default_rng(1).random(len(honest[0])) < share
    row = replies_of(without_letters(honest[0], hidden), synthetic)
    assert (row["flag"], row["value"]) == ("ok", 0)
    assert row["note"].startswith(
        f"0 of {(~hidden).sum():,} stored replies give another letter than the stored one. "
        f"{hidden.sum():,} more give one, and are stored without."
    )


def test_wrong_letters_stored_as_unparsed_are_asked_about(honest, synthetic):
    wrong = honest[0]["answer"] != honest[0]["answer_key"]
    hidden = wrong & (np.random.default_rng(1).random(len(wrong)) < 0.05)
    row = replies_of(without_letters(honest[0], hidden), synthetic)
    assert (row["flag"], row["value"]) == ("look", 1)
    assert "are stored without. These letters are wrong for " in row["note"]
    # Of a model that is wrong more often in another form of reply, by three times the odds.
    rng = np.random.default_rng(2)
    hidden = rng.random(len(wrong)) < np.where(wrong, 0.12, 0.04)
    assert replies_of(without_letters(honest[0], hidden), synthetic)["flag"] == "ok"


@pytest.mark.parametrize("group", ["black", "neutralized"])
def test_unread_answers_of_one_group_are_asked_about(group, honest, synthetic, by_check):
    hidden = honest[0]["group"] == group
    found = screen(without_letters(honest[0], hidden), benchmarks=[synthetic])
    assert by_check(found, "Model-A").loc["missing_by_group", "flag"] == "look"


@pytest.mark.parametrize(
    "reply",
    ["", "Richtig ist {}", "It depends.", "{} (confidence 80%), second choice: {other}", "3"],
)
def test_replies_that_another_parser_reads_do_not_block(honest, synthetic, by_check, reply):
    other = dict(zip("ABCD", "BCDA", strict=True))
    replies = [reply.format(letter, other=other[letter]) for letter in honest[0]["answer"]]
    found = screen(honest[0].assign(answer_raw=replies), benchmarks=[synthetic])
    rows = by_check(found, "Model-A")
    assert "stored_replies" not in rows.index or rows.loc["stored_replies", "flag"] != "block"


@pytest.mark.parametrize("reply", ["I'm sorry, but I can't help with that.", ".", ""])
def test_replies_without_any_letter_are_reported_as_not_checked(honest, synthetic, by_check, reply):
    found = screen(honest[0].assign(answer_raw=reply), benchmarks=[synthetic])
    row = by_check(found, "Model-A").loc["stored_replies"]
    assert row["flag"] == "not_checked"
    assert row["note"] == "Not checked: no letter could be read in any of 6,400 stored replies."


def test_letters_whose_replies_give_two_answers_are_counted(honest, synthetic):
    own, key = honest[0]["answer"], honest[0]["answer_key"]
    both = "The answer is " + own + ". The answer is " + key + "."
    given = honest[0].assign(answer=key, answer_raw=both)
    row = replies_of(given, synthetic)
    unread = int((own != key).sum())
    assert row["value"] == 0
    assert f" {unread:,} more with a stored one give none, or more than one." in row["note"]


def test_few_letters_overwritten_with_the_key_are_looked_at(honest, synthetic):
    own, key = honest[0]["answer"], honest[0]["answer_key"]
    given = honest[0].assign(answer_raw="The answer is (" + own + ").")
    rows = given.index[(own != key) & (given["group"] == "black")][:40]
    row = replies_of(given.assign(answer=own.where(~given.index.isin(rows), key)), synthetic)
    assert (row["flag"], row["value"], row["reference"]) == ("look", 1, 0.5)
    assert row["note"].startswith(
        "40 of 6,400 stored replies give another letter than the stored one. "
        "Only the stored letter is right for 40 items, only that of the reply for 0. "
    )
    # As many letters of another run.
    rows = given.sample(40, random_state=1).index
    other = own.map(dict(zip("ABCD", "BCDA", strict=True)))
    row = replies_of(given.assign(answer=own.where(~given.index.isin(rows), other)), synthetic)
    assert (row["flag"], row["value"]) == ("ok", 40 / 6400)


def test_letters_of_a_better_parser_are_not_asked_about(honest, synthetic):
    """The reply names the stored letter too, and is read as another one."""
    own, key = honest[0]["answer"], honest[0]["answer_key"]
    given = honest[0].assign(answer_raw="The answer is (" + own + ").")
    rows = given.index[own != key][:40]
    given.loc[rows, "answer"] = key[rows]
    given.loc[rows, "answer_raw"] += " I mean " + key[rows] + "."
    assert replies_of(given, synthetic)["flag"] == "ok"


def replies_of(given, benchmark):
    table = screen(given, benchmarks=[benchmark]).to_frame()
    return table.set_index("check").loc["stored_replies"]


def test_few_wrong_marks_and_those_of_a_corrected_key_do_not_block(honest, synthetic, by_check):
    right = honest[0]["answer"] == honest[0]["answer_key"]
    corrected = honest[0]["item_id"] < "item-120"
    for marks in (right.where(right.index != 3, ~right), right ^ corrected):
        found = screen(honest[0].assign(correct=marks), benchmarks=[synthetic])
        assert by_check(found, "Model-A").loc["stored_marks", "flag"] != "block"


def test_marks_of_replies_without_a_letter_are_not_compared(honest, synthetic, by_check):
    """A judge may have marked replies in which the parser read no letter."""
    right = honest[0]["answer"] == honest[0]["answer_key"]
    unread = honest[0].index % 5 == 0
    given = honest[0].assign(
        correct=right,
        answer=honest[0]["answer"].mask(unread),
        status=honest[0]["status"].mask(unread, "unparsed"),
    )
    found = screen(given, benchmarks=[synthetic])
    assert by_check(found, "Model-A").loc["stored_marks", "flag"] == "ok"


def test_no_p_value_is_0(honest, synthetic):
    right = honest[0]["answer"] == honest[0]["answer_key"]
    replies = "The answer is " + of_other_rows(honest[0]["answer"]) + "."
    given = honest[0].assign(correct=~right, answer_raw=replies)
    found = screen(given, benchmarks=[synthetic]).to_frame()
    assert (found["p_value"].dropna() > 0).all()


def test_what_is_not_an_answers_table_is_refused():
    with pytest.raises(TypeError, match="must be a data frame, not list"):
        screen([1, 2])
    with pytest.raises(InputError, match="is not an answers table"):
        screen(pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("model", "x\u200by", "must be 1 to 200 printable characters"),
        ("model", "Mo\u0308del", "is not in Unicode normal form NFKC"),
        ("sample", -1, "must not be negative"),
        ("answer", None, "must be 'ok' if and only if there is an answer"),
    ],
)
def test_faulty_answers_in_duckdb_are_refused_as_those_in_memory(
    honest, synthetic, tmp_path, column, value, text
):
    path = tmp_path / "answers.parquet"
    faulty = honest[0].copy()
    faulty.loc[:4, column] = value
    faulty.to_parquet(path, index=False)
    with pytest.raises(InputError, match=re.escape(text)) as error:
        screen(duckdb.read_parquet(str(path)), benchmarks=[synthetic])
    assert len(error.value.problems) == 1
    if "Unicode" not in text:
        with pytest.raises(InputError, match=re.escape(text)):
            screen(faulty, benchmarks=[synthetic])


def test_answers_in_duckdb_are_screened_as_those_in_memory(honest, synthetic, tmp_path):
    samples = [honest[0].assign(sample=n, answer=honest[n]["answer"]) for n in range(3)]
    gaps = honest[3].iloc[5:].assign(benchmark_version="2")
    answers = pd.concat([*samples, *honest[1:], gaps], ignore_index=True)
    path = write_answers(answers, tmp_path / "answers.parquet")
    wanted = screen(answers, benchmarks=[synthetic]).to_frame()
    found = screen(scan_answers(path, engine="duckdb"), benchmarks=[synthetic]).to_frame()
    replies = found["check"] == "stored_replies"
    pd.testing.assert_frame_equal(found[~replies].reset_index(drop=True), wanted)
    assert set(found.loc[replies, "flag"]) == {"not_checked"}
    assert replies.sum() == len(wanted.groupby(list(SCREENING_COLUMNS[:4])))


def test_wrong_mark_is_named_with_its_row(honest_demo):
    marks = ["true", "false", "maybe"] + ["true"] * (len(honest_demo[0]) - 3)
    with pytest.raises(InputError) as caught:
        screen(honest_demo[0].assign(correct=marks))
    problem = caught.value.problems[0]
    assert (problem.row, problem.column, problem.value) == (3, "correct", "maybe")


def test_duplicate_rows_are_refused(honest_demo):
    with pytest.raises(InputError) as caught:
        screen(pd.concat([honest_demo[0], honest_demo[0]], ignore_index=True))
    assert len(caught.value.problems) == len(honest_demo[0])
    assert caught.value.problems[0].row == len(honest_demo[0]) + 1


@pytest.mark.parametrize(
    "name",
    [
        "<b>|[x](y)`",
        "<!-- <script>alert(1)</script>",
        "![x](https://example.org/a.png)",
        "``` |---| **x** ~~y~~ $z$",
        "a\nb\u2028| c |",
        "https://example.org www.example.org a@example.org",
        "@octocat #1 octo/cat#1 @octo/team",
        "&commat;octocat \\ \\| \\@octocat",
        "[^1] :smile: {{< meta x >}}",
    ],
)
def test_hostile_names_are_text_in_a_comment(name, honest_demo):
    table = screen(honest_demo[0].assign(model="M")).to_frame().assign(model=name, note=name)
    comment = pypandoc.convert_text(
        markdown(table), "html", format="gfm", extra_args=["--wrap=none"]
    )
    page = ElementTree.fromstring(f"<div>{comment}</div>")
    shown = " ".join(name.split())
    rows = page.findall(".//tbody/tr")
    assert len(rows) == table["flag"].isin(["look", "block"]).sum()
    for row in rows:
        cells = ["".join(cell.itertext()).replace("\u2060", "") for cell in row]
        assert len(cells) == 7
        assert cells[1] == f"demo / 1 / {shown} / plain"
        assert cells[6] == shown
        assert {part.tag for part in row.iter()} == {"tr", "td"}
    # GitHub looks for people and issues in the text of the page, where escapes are gone.
    assert not re.search(r"[@#]\w", "".join(page.itertext()))


def test_command_prints_json_writes_files_and_exits_with_1_only_on_block(
    honest_demo, demo, tmp_path
):
    folder = tmp_path / "honest"
    for one in honest_demo:
        write_answers(one, folder / f"{one['model'].iloc[0]}.parquet")
    bad = one_letter(honest_demo[0], honest_demo[1], demo, np.random.default_rng(1))
    path = write_answers(bad.assign(model="new"), tmp_path / "new.parquet")
    done = run(folder, "--json", "--out", tmp_path / "out")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert [tuple(row) for row in rows] == [SCREENING_COLUMNS] * len(rows)
    assert {row["flag"] for row in rows} <= {"ok", "not_checked"}
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["screening.csv", "screening.json", "screening.md"]
    assert json.loads((tmp_path / "out" / "screening.json").read_text()) == rows
    done = run(path, "--against", folder)
    assert done.exit_code == 0
    assert "letter_shares" in done.stdout
    assert ": 0 block, 1 look, 0 ok" in done.stderr
    key = the_key(honest_demo[0], honest_demo[1], demo, np.random.default_rng(1))
    next_items = moved(lambda items, rng: np.roll(items, -1))
    false = next_items(key, key, demo, np.random.default_rng(1)).assign(model="false")
    done = run(write_answers(false, tmp_path / "false.parquet"), "--against", folder)
    assert done.exit_code == 1
    # A narrow terminal breaks its name.
    assert "align" in done.stdout
    assert ": 1 block, 0 look, 0 ok" in done.stderr


def test_command_names_a_missing_file_and_answers_given_twice(honest_demo, tmp_path):
    path = write_answers(honest_demo[0], tmp_path / "a.parquet")
    done = run(path, "--against", tmp_path / "none")
    assert done.exit_code == 1
    assert "no such file or folder" in done.stderr
    done = run(tmp_path / "none.parquet")
    assert done.exit_code == 1
    assert "no such file or folder" in done.stderr


@pytest.mark.usefixtures("without_pages", "few_tables")
def test_command_compares_with_a_release(honest_demo, demo, tmp_path):
    from fairstats import publish

    answers = pd.concat(honest_demo[1:], ignore_index=True)
    publish(write_answers(answers, tmp_path / "a.parquet"), release="1", out=tmp_path / "site")
    path = write_answers(honest_demo[0], tmp_path / "new.parquet")
    done = run(path, "--against", tmp_path / "site" / "v" / "1", "--json")
    rows = {row["check"]: row for row in json.loads(done.stdout)}
    assert rows["copied_answers"]["value"] is not None
    assert done.exit_code == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.assign(answer=None, status="unparsed"),
        lambda one: one[one["attribute"] == "race"],
        lambda one: one[one["attribute"] == "baseline"],
        lambda one: one.head(1),
        lambda one: one[one["group"] != "black"],
        lambda one: one.assign(answer=one["answer_key"]),
    ],
    ids=["no answers", "one attribute", "baseline only", "one row", "no second group", "key"],
)
def test_degenerate_sets_give_a_row_per_check_and_are_not_cleared(
    change, honest, synthetic, by_check
):
    made = change(honest[5]).assign(model="new")
    made = made.assign(answer=made["answer"].astype("str").where(made["answer"].notna()))
    against = pd.concat(honest[:5], ignore_index=True)
    rows = by_check(screen(made, against, benchmarks=[synthetic]), "new")
    assert rows["p_value"].dropna().between(0, 1).all()
    assert (rows["flag"] != "ok").any()
    # An honest set is not blocked because of such a set among the others.
    others = pd.concat([*honest[1:5], made], ignore_index=True)
    rows = by_check(screen(honest[0], others, benchmarks=[synthetic]), "Model-A")
    assert "block" not in set(rows["flag"])


def test_missing_answers_of_one_group_are_asked_about_unless_replies_confirm_them(
    honest, synthetic, by_check
):
    lost = (honest[0]["group"] == "black") & (honest[0]["item_id"] < "item-150")
    rows = honest[0].assign(
        model="new",
        answer=honest[0]["answer"].where(~lost),
        status=honest[0]["status"].where(~lost, "unparsed"),
    )
    against = pd.concat(honest[1:], ignore_index=True)

    def flag(replies) -> tuple[str, str]:
        found = screen(rows.assign(answer_raw=replies), against, benchmarks=[synthetic])
        row = by_check(found, "new").loc["missing_by_group"]
        return row["flag"], row["note"]

    letters = rows["answer"].astype(object)
    assert flag(letters.where(~lost, None))[0] == "look"
    assert flag(letters.where(~lost, "The answer is B."))[0] == "look"
    confirmed = flag(letters.where(~lost, "It depends on more findings than these."))
    assert confirmed[0] == "ok"
    assert confirmed[1].endswith("give no letter.")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            0,
            "The answer never changes between the versions “sex: male/female”, but changes about "
            "12 times between other versions of the same items (0.00 times as often).",
        ),
        (
            2,
            "The answer changes 2 times between the versions “sex: male/female”, and about 13 "
            "times between other versions of the same items (0.15 times as often).",
        ),
    ],
)
def test_note_on_a_model_that_ignores_an_attribute_states_what_was_counted(
    changed, said, honest_demo
):
    answers = honest_demo[0]
    items = sorted(answers["item_id"].unique())[:changed]
    other = answers["group"].isin(["black", "low_income"])
    other |= (answers["group"] == "female") & answers["item_id"].isin(items)
    answers = answers.assign(answer=other.map({True: "B", False: "A"}).astype("str"))
    row = screen(answers).to_frame().set_index("check").loc["pair_flips"]
    assert row["flag"] == "look"
    assert row["note"] == (
        f"{said} Does the model ignore sex, or was one answer used for both versions?"
    )
