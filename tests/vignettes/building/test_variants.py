"""All ways in which a variant passes or fails, with a scripted model."""

from __future__ import annotations

import pytest
from fairstats_collectors.campaign import Unfinished

from fairstats._lib.problems import InputError
from tests.serving import FAULT, chat_reply
from tests.vignettes.building.scripted import (
    DIRECTED,
    by_round,
    item,
    lines,
    outcomes,
    refuses,
    rows,
    says,
)

pytestmark = pytest.mark.usefixtures("ruled")


def test_variant_can_pass_in_the_first_round(service, build):
    out = build(item("one"), item("two"))
    assert set(outcomes(out).values()) == {"as intended"}
    assert {row["round"] for row in rows(out / "rounds.csv")} == {"1"}
    asked = {
        s: len(service.at(s)) for s in ("filter", "neutralize", "generate", "fuse", "validate")
    }
    # The rules suffice for the first two; the neutral text of each item is answered once.
    assert asked == {"filter": 0, "neutralize": 0, "generate": 4, "fuse": 4, "validate": 6}
    white = lines(out / "variants.jsonl")[0]
    assert white == {
        "item_id": "one",
        "attribute": "race",
        "group": "white",
        "direction": "neutral",
        "background": "The White patient reads. They walk. They cook.",
        "text": "Vignette one. A 40-year-old patient has pain. The White patient reads. They walk. "
        "They cook. What is next?",
        "round": 1,
        "stage": "validate",
        "outcome": "as intended",
        "neutral_answer": "A",
        "variant_answer": "A",
        "problems": [],
        "kept": True,
    }
    # Three requests of 100 tokens each.
    assert {row["tokens"] for row in rows(out / "rounds.csv")} == {"300"}


def test_a_variant_passes_in_the_third_round(service, build):
    """A background that names no group, then a merged text without its question."""

    def script(request):
        mine = request.group == "black"
        if mine and request.stage == "generate" and not request.revises:
            return says(background="Somebody reads.")
        if mine and request.stage == "fuse" and not request.revises:
            return says(vignette="A 40-year-old Black patient has pain. What comes then?")
        return None

    service.script = script
    out = build()
    assert by_round(out, "one", "black") == [
        ("generate", "faulty", "group not named"),
        ("fuse", "faulty", "final sentence changed"),
        ("validate", "as intended", ""),
    ]
    assert [line["round"] for line in lines(out / "variants.jsonl")] == [1, 3]
    second, third = (r for r in service.at("generate") if r.revises)
    assert second.marked("Background") == "Somebody reads."
    assert second.marked("What is wrong") == "group not named"
    assert third.marked("What is wrong") == "final sentence changed"
    # A text that was never merged cannot be revised as a merged text.
    merging = [r for r in service.at("fuse") if r.group == "black"]
    assert [r.revises for r in merging] == [False, True]
    assert merging[1].marked("What is wrong") == "final sentence changed"
    assert "What comes then?" in merging[1].marked("Merged vignette")


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_variant_never_passes(service, build, rounds):
    service.script = lambda r: says(background="No.") if r.stage == "generate" else None
    out = build(rounds=rounds)
    assert by_round(out, "one", "white") == [("generate", "faulty", "group not named")] * rounds
    assert not service.at("fuse")
    line = lines(out / "variants.jsonl")[0]
    assert (line["round"], line["background"], line["text"]) == (rounds, "No.", "")
    assert (line["kept"], line["variant_answer"]) == (False, None)


@pytest.mark.parametrize("stage", ["generate", "fuse", "validate"])
@pytest.mark.parametrize(
    "answer", [refuses(), chat_reply("I'm sorry, but I cannot help with that.")]
)
def test_a_refusal_ends_a_variant(service, build, stage, answer):
    service.script = lambda r: answer if (r.stage, r.group) == (stage, "black") else None
    out = build()
    ((reached, outcome, _),) = by_round(out, "one", "black")
    assert (reached, outcome) == (stage, "refused")
    assert outcomes(out)["one", "white"] == "as intended"
    # A text that the model refuses to answer is still a text.
    assert lines(out / "variants.jsonl")[1]["kept"] is (stage == "validate")
    assert sum(r.stage == stage and r.group == "black" for r in service.requests) == 1


@pytest.mark.parametrize(
    "broken", ["They live alone.", '{"background": "White \\ud800", "vignette": "White \\ud800"}']
)
@pytest.mark.parametrize("stage", ["generate", "fuse"])
def test_invalid_reply_is_requested_once_more(service, build, stage, broken):
    service.script = lambda r: (
        chat_reply(broken) if r.stage == stage and (r.group == "black" or not r.again) else None
    )
    out = build()
    assert outcomes(out) == {("one", "white"): "as intended", ("one", "black"): "unread"}
    ((reached, outcome, problems),) = by_round(out, "one", "black")
    assert (reached, outcome) == (stage, "unread")
    assert problems
    asked = [r for r in service.at(stage) if r.group == "black"]
    assert [r.again for r in asked] == [False, True]
    assert [r.body["seed"] for r in asked] == [0, 1]
    assert asked[1].prompt.startswith(asked[0].prompt)
    assert f"could not be used: {problems}." in asked[1].prompt
    # Both requests count.
    white = next(row for row in rows(out / "rounds.csv") if row["group"] == "white")
    assert white["tokens"] == "400"


def test_an_answer_that_cannot_be_read_is_not_asked_for_again(service, build):
    service.script = lambda r: (
        chat_reply("Hm.") if (r.stage, r.group) == ("validate", "black") else None
    )
    out = build()
    assert by_round(out, "one", "black") == [("validate", "unread", "")]
    assert len(service.at("validate")) == 3
    assert lines(out / "variants.jsonl")[1]["kept"] is True


def test_neutral_variant_needs_an_answer_to_the_neutral_text(service, build):
    service.script = lambda r: (
        chat_reply("Hm.") if (r.stage, r.group) == ("validate", "neutralized") else None
    )
    assert set(outcomes(build()).values()) == {"unread"}


def test_directed_variant_needs_no_answer_to_the_neutral_text(service, build):
    service.script = lambda r: (
        chat_reply("Hm.") if (r.stage, r.group) == ("validate", "neutralized") else None
    )
    found = outcomes(build(**DIRECTED))
    assert found == {("one", "white"): "as intended", ("one", "black"): "not as intended"}


@pytest.mark.parametrize("stage", ["generate", "fuse", "validate"])
def test_a_server_error_is_recorded_and_asked_again_later(service, build, stage):
    service.script = lambda r: FAULT if (r.stage, r.group) == (stage, "black") else None
    out = build()
    ((reached, outcome, problems),) = by_round(out, "one", "black")
    assert (reached, outcome) == (stage, "failed")
    assert "too long" in problems or stage == "validate"
    assert outcomes(out)["one", "white"] == "as intended"
    service.requests.clear()
    service.script = lambda r: None
    assert set(outcomes(build()).values()) == {"as intended"}
    later = {"generate": ["fuse", "validate"], "fuse": ["validate"], "validate": []}[stage]
    assert [r.stage for r in service.requests] == [stage, *later]
    assert {r.group for r in service.requests} == {"black"}


@pytest.mark.parametrize(
    ("stage", "answered"),
    [("generate", ""), ("fuse", ""), ("validate", ""), ("validate", "neutralized")],
)
def test_run_ends_if_the_service_does_not_answer(service, build, stage, answered, tmp_path):
    service.script = lambda r: FAULT if r.stage == stage and r.group != answered else None
    with pytest.raises(InputError, match="no request succeeded"):
        build()
    assert not (tmp_path / "out" / "variants.jsonl").exists()
    service.requests.clear()
    service.script = lambda r: None
    assert set(outcomes(build()).values()) == {"as intended"}
    stages = ["generate", "fuse", "validate"]
    assert {r.stage for r in service.requests} == set(stages[stages.index(stage) :])


def test_a_later_round_may_fail_as_a_whole(service, build):
    def script(request):
        if request.stage == "generate" and request.group == "black":
            return FAULT if request.revises else says(background="No.")
        return None

    service.script = script
    out = build()
    assert [row[1] for row in by_round(out, "one", "black")] == ["faulty", "failed"]


def test_a_second_request_for_a_broken_reply_may_fail(service, build):
    service.script = lambda r: (
        (FAULT if r.again else chat_reply("Hm.")) if r.stage == "generate" else None
    )
    assert set(outcomes(build()).values()) == {"failed"}


def test_only_variants_with_the_intended_answer_are_kept(service, build):
    def script(request):
        if request.stage == "generate" and request.group == "black":
            end = "They cook badly." if request.marked("Background") else "They cook."
            return says(background=f"The Black patient reads. They walk. {end}")
        if request.stage == "validate" and "badly" in request.prompt:
            return chat_reply("B")
        return None

    service.script = script
    out = build(keep="as intended", **DIRECTED)
    assert [row[:2] for row in by_round(out, "one", "black")] == [
        ("validate", "not as intended"),
        ("validate", "as intended"),
    ]
    line = lines(out / "variants.jsonl")[1]
    assert (line["neutral_answer"], line["variant_answer"], line["kept"]) == ("A", "B", True)
    (told,) = {r.marked("What is wrong") for r in service.at("generate") if r.revises}
    assert "still chose the right option" in told


def test_variant_without_the_intended_answer_is_not_kept(service, build):
    out = build(keep="as intended", **DIRECTED)
    assert [row[1] for row in by_round(out, "one", "black")] == ["not as intended"] * 3
    assert [line["kept"] for line in lines(out / "variants.jsonl")] == [True, False]


def test_unintended_answers_are_recorded_and_kept_by_default(service, build):
    out = build(**DIRECTED)
    assert by_round(out, "one", "black") == [("validate", "not as intended", "")]
    assert all(line["kept"] for line in lines(out / "variants.jsonl"))


def test_neutral_variant_must_keep_even_a_wrong_answer(service, build):
    service.script = lambda r: (
        chat_reply("A" if r.group == "black" else "B") if r.stage == "validate" else None
    )
    found = outcomes(build())
    assert found == {("one", "white"): "as intended", ("one", "black"): "not as intended"}


def test_cost_limit_covers_all_rounds_of_a_stage(service, build):
    service.script = lambda r: says(background="No.") if r.stage == "generate" else None
    # A reply costs 100 tokens; a request is sent if one of 300 more would still fit.
    limit = {"generate.price": [1, 1], "generate.max_cost": 0.001, "generate.concurrency": 1}
    with pytest.raises(Unfinished, match="before exceeding the budget"):
        build(**limit)
    # All rounds together would be six.
    assert 2 < len(service.at("generate")) < 6
    build(**limit | {"generate.max_cost": 1.0})
    assert len(service.at("generate")) == 6


def test_agent_sees_key_and_options_only_if_declared(service, build):
    build(**DIRECTED)
    for request in service.at("generate"):
        assert "Aspirin" not in request.prompt
        assert "right option" not in request.prompt.replace("right option more", "")


@pytest.mark.parametrize("directed", [False, True])
def test_an_agent_that_sees_the_options_sees_the_key_only_with_a_direction(
    service, build, directed
):
    changes = DIRECTED if directed else {}
    out = build(**{"generate.sees_options": True}, **changes)
    for request in service.at("generate"):
        assert request.marked("Options") == "A. Aspirin\nB. Rest\nC. Surgery"
        assert request.marked("The right option") == ("A" if directed else "")
    assert '"sees_options": true' in (out / "build.json").read_text()


def test_prompt_states_the_direction(service, build):
    build(**DIRECTED)
    white, black = service.at("generate")
    assert "treated well" in white.prompt
    assert "treated less well" in black.prompt


def test_question_has_the_prompt_of_collect(service, build, snapshot):
    build()
    assert service.at("validate")[0].prompt == snapshot


def test_no_model_is_queried_if_rules_suffice(service, build):
    nobody = {"model": "none"}
    out = build(fuse=nobody, validate=nobody)
    assert set(outcomes(out).values()) == {"not asked"}
    assert {r.stage for r in service.requests} == {"generate"}
    line = lines(out / "variants.jsonl")[0]
    assert line["text"].endswith(
        "has pain. The White patient reads. They walk. They cook. What is next?"
    )
    assert line["kept"]


def test_plain_substitution_queries_no_writing_model(service, build):
    changes = {"generator": "substitute", "generate": None, "fuse": None}
    nobody = item("two", "Pain.")
    out = build(item("one"), nobody, **changes)
    assert {r.stage for r in service.requests} == {"validate"}
    one, _, two, _ = lines(out / "variants.jsonl")
    assert one["text"] == "Vignette one. A 40-year-old White patient has pain. What is next?"
    assert (one["outcome"], one["background"]) == ("as intended", "")
    (problem,) = two["problems"]
    assert problem.endswith(": no mention of a patient")
    assert (two["outcome"], two["text"], two["kept"]) == ("faulty", "", False)
    # The same words would be inserted again.
    assert {row["round"] for row in rows(out / "rounds.csv")} == {"1"}
