"""`fairstats vignettes run`: killed, restarted or changed in between; its output and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections import Counter

import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.building import folder
from tests.serving import Answer, chat_reply
from tests.vignettes.building.scripted import content, item, outcomes, run, says

pytestmark = pytest.mark.usefixtures("ruled")

# One of each: queried by the filter and by the neutralizing, revised, and with an invalid reply.
ITEMS = [item("one", "A doubtful 40-year-old man: he has pain."), item("two")]
ONE_AT_A_TIME = {
    f"{stage}.concurrency": 1 for stage in ("filter", "neutralize", "generate", "fuse", "validate")
}


def with_faults(request):
    """Return every kind of request: of the first round, after an invalid reply, of a revision."""
    if request.stage == "generate" and request.item == "two" and request.group == "black":
        if not request.revises:
            return chat_reply("Hm.") if not request.again else says(background="Nobody.")
        return None
    if request.stage == "filter" and not request.again:
        return chat_reply("Keep.")
    if request.stage == "fuse" and request.item == "one" and not request.revises:
        return says(vignette="They lost it.")
    return None


def test_finished_build_sends_no_request(service, build, tmp_path):
    service.script = with_faults
    build(*ITEMS)
    before, asked = content(tmp_path / "out"), len(service.requests)
    assert asked == len({(r.prompt, r.group, r.body["seed"]) for r in service.requests})
    for name in list(before):
        if name != "build.json":
            (tmp_path / "out" / name).unlink()
    build(*ITEMS)
    assert content(tmp_path / "out") == before
    assert len(service.requests) == asked
    # Another folder, the same bytes: the files do not contain times or durations.
    build(*ITEMS, out="again", **{"fuse.concurrency": 1})
    assert content(tmp_path / "again") == before


def total(service, build):
    """Return the requests of an undisturbed run."""
    service.script = with_faults
    build(*ITEMS, out="whole", **ONE_AT_A_TIME)
    asked = list(service.requests)
    service.requests.clear()
    return asked


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="has no such signal")
@pytest.mark.parametrize(
    "at", ["filter", "neutralize", "generate again", "generate revised", "fuse", "validate"]
)
def test_killed_build_continues_without_repeated_requests(
    service, write, build, start, tmp_path, at
):
    asked = total(service, build)
    whole = content(tmp_path / "whole")
    stage, _, what = at.partition(" ")
    # The last such request, so that others of the stage are stored before it.
    number = max(
        place
        for place, request in enumerate(asked)
        if request.stage == stage
        and request.again == (what == "again")
        and request.revises == (what == "revised")
    )
    reached, never = threading.Event(), threading.Event()

    def script(request):
        if len(service.requests) == number + 1 and not reached.is_set():
            time.sleep(0.1)  # earlier replies are committed meanwhile
            reached.set()
            never.wait(30)
        return with_faults(request)

    service.script = script
    path = write(ITEMS, ONE_AT_A_TIME)
    code = f"""
from pathlib import Path
run(Path({str(path)!r}), out=Path({str(tmp_path / "out")!r}), connect=connect, progress=False)
"""
    child = start(code, tmp_path / "said")
    assert reached.wait(60)
    assert child.end_by(signal.SIGKILL) == -signal.SIGKILL
    never.set()
    assert not (tmp_path / "out" / "variants.jsonl").exists()
    before = Counter(key(request) for request in service.requests)
    assert len(service.requests) == number + 1
    unanswered = key(service.requests[-1])
    service.requests.clear()
    service.script = with_faults
    build(*ITEMS, **ONE_AT_A_TIME)
    assert content(tmp_path / "out") == whole
    after = Counter(key(request) for request in service.requests)
    # The one request without a reply, and the requests that were not sent yet.
    assert set(before) & set(after) == {unanswered}
    assert before + after - Counter([unanswered]) == Counter(map(key, asked))


def key(request):
    return json.dumps(request.body, sort_keys=True)


def test_longer_run_requests_only_the_rest(service, build, tmp_path):
    build(*ITEMS, limit=1)
    assert {item_id for item_id, _ in outcomes(tmp_path / "out")} == {"one"}
    service.requests.clear()
    build(*ITEMS)
    assert {r.item for r in service.requests} == {"two"}
    assert {item_id for item_id, _ in outcomes(tmp_path / "out")} == {"one", "two"}
    with pytest.raises(InputError, match="limit=0"):
        build(*ITEMS, limit=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fuse.model": "other"}, 'fuse.model: was "tiny" in the earlier run, but is now "other"'),
        (
            {"fuse.temperature": 0.7},
            "fuse.temperature: was not set in the earlier run, but is now 0.7",
        ),
        ({"rounds": 1}, "rounds: was 3 in the earlier run, but is now 1"),
        (
            {"neutralize": None},
            'neutralize.model: was "tiny" in the earlier run, but is now "none"',
        ),
        (
            {"attributes.race.words.white": ["white"]},
            'attributes.race.words.white: was ["White"] in the earlier run, but is now ["white"]',
        ),
    ],
)
def test_changed_declaration_is_refused_with_the_changes(service, build, tmp_path, changes, said):
    build(*ITEMS)
    before = content(tmp_path / "out")
    service.requests.clear()
    with pytest.raises(InputError) as raised:
        build(*ITEMS, **changes)
    assert re.sub(r"^.*build\.json: ", "", str(raised.value.problems[0])).startswith(said)
    assert content(tmp_path / "out") == before
    assert not service.requests


def test_changed_items_are_refused(service, build, tmp_path):
    build(*ITEMS, stage="filter")
    with pytest.raises(InputError, match="items_sha256: was "):
        build(*ITEMS, item("three"))


def test_changed_prompts_are_refused(service, build, tmp_path, monkeypatch):
    build(*ITEMS, stage="filter")
    monkeypatch.setattr(folder, "prompts_sha256", lambda stage: "0" * 64)
    with pytest.raises(InputError, match=r"prompts\.filter: was "):
        build(*ITEMS)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 9999, '{"declared": 1}'])
def test_foreign_file_is_refused(build, tmp_path, text):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "build.json").write_text(text)
    with pytest.raises(InputError, match=r"build\.json: is not the file of a build"):
        build(*ITEMS)
    assert (tmp_path / "out" / "build.json").read_text() == text


def test_unknown_files_are_not_overwritten(build, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "items.jsonl").write_text("mine")
    with pytest.raises(InputError, match=r"contains items\.jsonl but no build\.json"):
        build(*ITEMS)
    assert (tmp_path / "out" / "items.jsonl").read_text() == "mine"


def test_journal_of_another_build_is_refused(service, build, tmp_path):
    build(*ITEMS)
    for path in (tmp_path / "out").iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(InputError, match="is the journal of a campaign with"):
        build(*ITEMS, rounds=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("[1]\n", "not a JSON object"),
        ('{"item_id": "a"}\n', "no text, neither here"),
        ('{"item_id": "a", "options": {"A": "x"}, "answer_key": "A"}\n', "question"),
        (
            '{"item_id": "a", "options": {"A": "x"}, "answer_key": "A", "question": "\\ud800"}\n',
            "question",
        ),
        (
            '{"item_id": "a", "options": {"A": "x"}, "answer_key": "B", "question": "Why?"}\n',
            "answer_key = 'B': is not one of the option letters",
        ),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(service, write, tmp_path, text, said):
    path = write(ITEMS)
    (tmp_path / "items.jsonl").write_text(text)
    with pytest.raises(InputError) as raised:
        run(path, out=tmp_path / "out", progress=False)
    assert said in str(raised.value)
    assert "/items.jsonl" in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_question_may_be_between_the_variants(service, build, tmp_path):
    row = item("one")
    row["variants"] = {"original": row.pop("question"), "neutralized": "Not read."}
    build(row)
    assert set(outcomes(tmp_path / "out").values()) == {"as intended"}


def test_the_shares_by_round_are_printed(service, write, run, tmp_path):
    build = write([item("one")])
    result = run("run", build, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "as intended" in result.stdout
    assert "every group" in result.stdout
    assert str(tmp_path / "out" / "variants.jsonl") in result.stdout.replace("\n", "")
    assert "2 of 2 kept (2 as" in result.stderr
    assert "filter: 1 of 1" in result.stderr


def test_a_run_stops_after_a_stage(service, write, run, tmp_path):
    build = write([item("one"), item("two")])
    result = run("run", build, "--out", tmp_path / "out", "--stage", "neutralize", "--limit", 1)
    assert result.exit_code == 0, result.output
    assert "items.jsonl" in result.stdout
    assert "neutralize: 1 of 1" in result.stderr
    assert not service.requests


def test_problems_are_printed_one_per_line(write, run, tmp_path):
    build = write([item("one")], {"rounds": 7, "title": None})
    result = run("run", build, "--out", tmp_path / "out")
    assert result.exit_code == 1
    named = [line.split(": ")[1] for line in result.stderr.splitlines()]
    assert named == ["title", "rounds = '7'"]
    assert not (tmp_path / "out").exists()


def test_dry_run_sends_and_writes_nothing(service, write, run, tmp_path):
    items = [
        item("one"),
        item("two", "A doubtful man: he has pain."),
        item("three", "A pregnant man: he has pain."),
    ]
    changes = {"generate.price": [1, 1], "fuse": None}
    result = run("run", write(items, changes), "--out", tmp_path / "out", "--dry-run")
    assert result.exit_code == 0, result.output
    said = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
    assert said["filter (tiny)"].startswith("1 requests, about ")
    assert said["neutralize (tiny)"].startswith("1 requests")
    assert said["generate (tiny)"].startswith("4 requests")
    assert "at most 1,200 completion tokens" in said["generate (tiny)"]
    assert said["fuse"] == "no requests"
    assert said["validate (tiny)"].startswith("6 requests")
    assert "up to 3 rounds" in result.stdout
    assert not service.requests
    assert not (tmp_path / "out").exists()


def test_failures_are_kept_if_requested(service, write, run, tmp_path):
    fault: Answer = (400, {"error": {"message": "no", "type": "x", "param": None, "code": None}})
    service.script = lambda r: fault if (r.stage, r.group) == ("generate", "black") else None
    build = write([item("one")])
    assert run("run", build, "--out", tmp_path / "out").exit_code == 0
    before = content(tmp_path / "out")
    service.requests.clear()
    assert run("run", build, "--out", tmp_path / "out", "--keep-failures").exit_code == 0
    assert not service.requests
    assert content(tmp_path / "out") == before


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another signal there")
@pytest.mark.parametrize("stage", ["filter", "generate", "fuse", "validate"])
def test_interrupted_run_shows_how_to_continue(service, write, start, tmp_path, stage):
    items = [item(f"n{number}", "A doubtful man.") for number in range(3)]
    build = write(items, {f"{stage}.concurrency": 1})
    reached, on = threading.Event(), threading.Event()

    def script(request):
        # The first request of a stage is sent alone; the others wait with the second one.
        if request.stage == stage and len(service.at(stage)) == 2 and not reached.is_set():
            reached.set()
            on.wait(30)
        return None

    service.script = script
    out = tmp_path / "out"
    code = f"fairstats.cli.app(['vignettes', 'run', {str(build)!r}, '--out', {str(out)!r}])"
    child = start(code, tmp_path / "said")
    assert reached.wait(60)
    threading.Timer(0.3, on.set).start()
    ended = child.end_by(signal.SIGINT)
    said = (tmp_path / "said").read_text()
    assert ended == 130, said
    assert "run it again to continue" in " ".join(said.split())
    asked = [json.dumps(r.body) for r in service.requests]
    run(build, out=out, progress=False)
    after = [json.dumps(r.body) for r in service.requests[len(asked) :]]
    # The requests in progress were completed and stored.
    assert not set(asked) & set(after)
