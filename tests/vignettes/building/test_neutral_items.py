"""The first two stages, and stopping after them."""

from __future__ import annotations

import json

import pytest

from fairstats._lib.problems import InputError
from tests.serving import FAULT, chat_reply
from tests.vignettes.building.scripted import item, lines, refuses, rows, says

pytestmark = pytest.mark.usefixtures("ruled")

CLEAR, DOUBTFUL, OUT = (
    item("clear"),
    item("open", "A doubtful patient."),
    item("out", "A pregnant patient."),
)


def decided(out):
    return {
        row["item_id"]: (row["kept"], row["decided_by"], row["reason"])
        for row in rows(out / "filtered.csv")
    }


def test_model_decides_only_doubtful_items(service, build):
    service.script = lambda r: says(decision="Exclude", reason="No\n patient.")
    assert decided(build(CLEAR, DOUBTFUL, OUT, stage="filter")) == {
        "clear": ("True", "rules", ""),
        "open": ("False", "tiny", "No patient."),
        "out": ("False", "rules", "sex-specific: pregnant"),
    }
    (request,) = service.requests
    assert "The study varies: race\n" in request.prompt
    assert request.marked("Options") == "A. Aspirin\nB. Rest\nC. Surgery"


def test_a_model_decides_all_that_the_rules_leave(service, build):
    service.script = lambda r: says(decision="exclude", reason="No.") if r.item == "clear" else None
    found = decided(build(CLEAR, DOUBTFUL, OUT, stage="filter", **{"filter.ask": "all"}))
    assert [kept for kept, _, _ in found.values()] == ["False", "True", "False"]
    assert [by for _, by, _ in found.values()] == ["tiny", "tiny", "rules"]
    assert {r.item for r in service.requests} == {"clear", "open"}


def test_doubtful_item_is_kept_with_a_note_without_a_model(service, build):
    found = decided(build(CLEAR, DOUBTFUL, stage="filter", **{"filter.ask": "none"}))
    assert found["open"] == ("True", "rules", "names a doubtful word")
    assert not service.requests


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (chat_reply("Keep it."), "unread: it is not one JSON object"),
        (says(decision="perhaps", reason="Hm."), 'unread: "decision" has to be'),
        (says(decision="keep"), 'unread: "reason" has to be there'),
        (refuses(), "refused: the service marks"),
        (FAULT, "failed: BadRequestError"),
    ],
)
def test_doubtful_item_is_dropped_without_a_verdict(service, build, answer, said):
    service.script = lambda r: answer if r.item != "clear" else None
    found = decided(build(CLEAR, DOUBTFUL, item("sure"), stage="filter", **{"filter.ask": "all"}))
    kept, by, reason = found["open"]
    assert (kept, by) == ("False", "tiny")
    assert reason.startswith("names a doubtful word;")
    assert said in reason
    # Items that the rules were sure of are kept.
    assert found["sure"][:2] == ("True", "rules")
    assert said in found["sure"][2]


def test_run_without_items_ends_with_reasons_in_the_file(service, build, tmp_path):
    with pytest.raises(InputError, match=r"filtered\.csv: no items are left"):
        build(OUT, stage="validate")
    assert decided(tmp_path / "out")["out"][0] == "False"
    assert not service.requests


def test_rules_neutralize_if_they_suffice(service, build):
    out = build(CLEAR, stage="neutralize")
    assert not service.requests
    (line,) = lines(out / "neutralized.jsonl")
    assert line["text"] == "Vignette clear. A 40-year-old patient has pain. What is next?"
    (change,) = line["changes"]
    original = CLEAR["question"]
    assert original[change["start"] : change["end"]] == change["old"] == "man"
    assert (line["kept"], line["decided_by"]) == (True, "rules")
    assert lines(out / "items.jsonl") == [
        {
            "item_id": "clear",
            "options": {"A": "Aspirin", "B": "Rest", "C": "Surgery"},
            "answer_key": "A",
            "original": original,
            "neutralized": line["text"],
        }
    ]


LEFT = item("left", "A 40-year-old man: he has pain.")


def test_model_removes_words_left_by_the_rules(service, build):
    (line,) = lines(build(LEFT, stage="neutralize") / "neutralized.jsonl")
    assert "patient: they has pain." in line["text"]
    assert line["decided_by"] == "tiny"
    assert [(c["old"], c["new"]) for c in line["changes"]] == [("man", "patient"), ("he", "they")]
    # The work of the rules is not left to the model.
    assert service.requests[0].marked("Vignette").startswith("Vignette left. A 40-year-old patient")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (says(vignette="A patient: they have pain."), "number missing: 40"),
        (says(vignette="A 40-year-old: she has pain."), "still reveals a group: she"),
        (chat_reply("They have pain."), "no text of the model (unread: it is not one JSON object)"),
        (refuses(), "no text of the model (refused"),
        (FAULT, "no text of the model (failed"),
    ],
)
def test_item_is_left_out_if_its_text_lost_content(service, build, answer, said):
    service.script = lambda r: answer if r.item == "left" else None
    out = build(CLEAR, LEFT, item("other", "Now he has pain."), stage="neutralize")
    _, line, other = lines(out / "neutralized.jsonl")
    assert (line["kept"], line["decided_by"]) == (False, "rules")
    assert line["reason"].startswith("still reveals a group: he; ")
    assert said in line["reason"]
    assert "patient: he has pain." in line["text"]
    assert other["kept"]
    assert [row["item_id"] for row in lines(out / "items.jsonl")] == ["clear", "other"]


def test_undecided_harmless_word_is_kept_with_a_note(service, build):
    open_ = item("open", "An undecided word, 7 in all.")
    service.script = lambda r: says(vignette="Nothing of it.")
    (line,) = lines(build(open_, stage="neutralize") / "neutralized.jsonl")
    assert line["kept"]
    assert line["note"].startswith("undecided: her; ")
    assert line["note"].endswith(": number missing: 7")


def test_item_with_left_over_words_is_dropped_without_a_model(service, build):
    out = build(CLEAR, LEFT, stage="neutralize", neutralize=None)
    assert [row["kept"] for row in lines(out / "neutralized.jsonl")] == [True, False]
    assert not service.requests


def test_no_neutral_text_ends_the_run(build, tmp_path):
    with pytest.raises(InputError, match=r"neutralized\.jsonl: no items are left"):
        build(LEFT, stage="validate", neutralize=None)
    assert not lines(tmp_path / "out" / "items.jsonl")


def test_run_can_stop_after_a_stage_and_continue(service, build):
    items = [DOUBTFUL, LEFT]
    asked = []
    for stage in ("filter", "neutralize", "generate", "fuse", "validate"):
        out = build(*items, stage=stage)
        asked.append([r.stage for r in service.requests])
        assert (out / "variants.jsonl").exists() == (stage == "validate")
        service.requests.clear()
    assert [(len(stages), set(stages)) for stages in asked] == [
        (1, {"filter"}),
        (1, {"neutralize"}),
        (4, {"generate"}),
        (4, {"fuse"}),
        (6, {"validate"}),
    ]
    with pytest.raises(InputError, match="stage='review': is unknown"):
        build(*items, stage="review")


def test_file_names_the_models_involved(service, build):
    out = build(DOUBTFUL, stage="validate", **{"neutralize": None})
    found = json.loads((out / "build.json").read_text(encoding="utf-8"))
    agents = found["agents"]
    host = service.url.removeprefix("http://")
    for stage in ("filter", "generate", "fuse", "validate"):
        agent = agents[stage]
        assert (agent["model"], agent["snapshot"]) == ("tiny", "tiny-2026-01-01")
        assert agent["endpoint"] == host
        assert len(agent["prompt_sha256"]) == 64
    assert agents["neutralize"] == {
        "model": "none",
        "snapshot": None,
        "endpoint": None,
        "prompt_sha256": None,
    }
    assert found["attributes"]["race"]["pairs"] == [["white", "black"]]
    assert found["directions"] == {"race": {"white": "neutral", "black": "neutral"}}
    assert found["options"] == ["A", "B", "C"]
