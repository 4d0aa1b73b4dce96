"""A build that is killed, restarted, or changed in between."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.building import folder
from tests.serving import Answer, chat_reply
from tests.vignettes.building.conftest import Start, Write
from tests.vignettes.building.reading import content, outcomes
from tests.vignettes.building.scripted import (
    Request,
    Service,
    item,
    run,
    says,
)

pytestmark = pytest.mark.usefixtures("ruled")

# One of each: queried by the filter and by the neutralizing, revised, and with an invalid reply.
ITEMS = [item("one", "A doubtful 40-year-old man: he has pain."), item("two")]
ONE_AT_A_TIME = {
    f"{stage}.concurrency": 1 for stage in ("filter", "neutralize", "generate", "fuse", "validate")
}


def with_faults(request: Request) -> Answer | None:
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


def test_finished_build_sends_no_request(service: Service, write: Write, tmp_path: Path) -> None:
    service.script = with_faults
    build = write(ITEMS)
    run(build, out=tmp_path / "out", progress=False)
    before, asked = content(tmp_path / "out"), len(service.requests)
    assert asked == len({(r.prompt, r.group, r.body["seed"]) for r in service.requests})
    for name in list(before):
        if name != "build.json":
            (tmp_path / "out" / name).unlink()
    run(build, out=tmp_path / "out", progress=False)
    assert content(tmp_path / "out") == before
    assert len(service.requests) == asked
    # Another folder, the same bytes: the files do not contain times or durations.
    run(write(ITEMS, {"fuse.concurrency": 1}), out=tmp_path / "again", progress=False)
    assert content(tmp_path / "again") == before


def total(service: Service, write: Write, tmp_path: Path) -> list[Request]:
    """Return the requests of an undisturbed run."""
    service.script = with_faults
    run(write(ITEMS, ONE_AT_A_TIME), out=tmp_path / "whole", progress=False)
    asked = list(service.requests)
    service.requests.clear()
    return asked


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="has no such signal")
@pytest.mark.parametrize(
    "at",
    [
        *("filter", "filter again", "neutralize", "generate", "generate again"),
        *("generate revised", "fuse", "fuse revised", "validate neutral", "validate"),
    ],
)
def test_killed_build_continues_without_repeated_requests(
    service: Service, write: Write, start: Start, tmp_path: Path, at: str
) -> None:
    asked = total(service, write, tmp_path)
    whole = content(tmp_path / "whole")
    stage, _, what = at.partition(" ")
    # The last such request, so that others of the stage are stored before it.
    number = max(
        place
        for place, request in enumerate(asked)
        if request.stage == stage
        and request.again == (what == "again")
        and request.revises == (what == "revised")
        and (what != "neutral" or request.group == "neutralized")
    )
    reached, never = threading.Event(), threading.Event()

    def script(request: Request) -> Answer | None:
        if len(service.requests) == number + 1 and not reached.is_set():
            time.sleep(0.1)  # earlier replies are committed meanwhile
            reached.set()
            never.wait(30)
        return with_faults(request)

    service.script = script
    build = write(ITEMS, ONE_AT_A_TIME)
    code = f"""
from pathlib import Path
run(Path({str(build)!r}), out=Path({str(tmp_path / "out")!r}), connect=connect, progress=False)
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
    run(build, out=tmp_path / "out", progress=False)
    assert content(tmp_path / "out") == whole
    after = Counter(key(request) for request in service.requests)
    # The one request without a reply, and the requests that were not sent yet.
    assert set(before) & set(after) == {unanswered}
    assert before + after - Counter([unanswered]) == Counter(map(key, asked))


def key(request: Request) -> str:
    return json.dumps(request.body, sort_keys=True)


def test_longer_run_requests_only_the_rest(service: Service, write: Write, tmp_path: Path) -> None:
    build = write(ITEMS)
    run(build, out=tmp_path / "out", limit=1, progress=False)
    assert {item_id for item_id, _ in outcomes(tmp_path / "out")} == {"one"}
    service.requests.clear()
    run(build, out=tmp_path / "out", progress=False)
    assert {r.item for r in service.requests} == {"two"}
    assert {item_id for item_id, _ in outcomes(tmp_path / "out")} == {"one", "two"}
    with pytest.raises(InputError, match="limit = 0"):
        run(build, out=tmp_path / "out", limit=0, progress=False)


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
def test_changed_declaration_is_refused_with_the_changes(
    service: Service, write: Write, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    run(write(ITEMS), out=tmp_path / "out", progress=False)
    before = content(tmp_path / "out")
    service.requests.clear()
    with pytest.raises(InputError) as raised:
        run(write(ITEMS, changes), out=tmp_path / "out", progress=False)
    assert re.sub(r"^.*build\.json: ", "", str(raised.value.problems[0])).startswith(said)
    assert content(tmp_path / "out") == before
    assert not service.requests


def test_changed_items_are_refused(service: Service, write: Write, tmp_path: Path) -> None:
    run(write(ITEMS), out=tmp_path / "out", stage="filter", progress=False)
    with pytest.raises(InputError, match="items_sha256: was "):
        run(write([*ITEMS, item("three")]), out=tmp_path / "out", progress=False)


def test_changed_prompts_are_refused(
    service: Service, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = write(ITEMS)
    run(build, out=tmp_path / "out", stage="filter", progress=False)
    monkeypatch.setattr(folder, "prompts_sha256", lambda stage: "0" * 64)
    with pytest.raises(InputError, match=r"prompts\.filter: was "):
        run(build, out=tmp_path / "out", progress=False)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 9999, '{"declared": 1}'])
def test_foreign_file_is_refused(write: Write, tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "build.json").write_text(text)
    with pytest.raises(InputError, match=r"build\.json: is not the file of a build"):
        run(write(ITEMS), out=tmp_path / "out", progress=False)
    assert (tmp_path / "out" / "build.json").read_text() == text


def test_unknown_files_are_not_overwritten(write: Write, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "items.jsonl").write_text("mine")
    with pytest.raises(InputError, match=r"contains items\.jsonl but no build\.json"):
        run(write(ITEMS), out=tmp_path / "out", progress=False)
    assert (tmp_path / "out" / "items.jsonl").read_text() == "mine"


def test_journal_of_another_build_is_refused(
    service: Service, write: Write, tmp_path: Path
) -> None:
    run(write(ITEMS), out=tmp_path / "out", progress=False)
    for path in (tmp_path / "out").iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(InputError, match="is the journal of a campaign with"):
        run(write(ITEMS, {"rounds": 2}), out=tmp_path / "out", progress=False)


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
def test_questions_that_cannot_be_asked_are_refused(
    service: Service, write: Write, tmp_path: Path, text: str, said: str
) -> None:
    build = write(ITEMS)
    (tmp_path / "items.jsonl").write_text(text)
    with pytest.raises(InputError) as raised:
        run(build, out=tmp_path / "out", progress=False)
    assert said in str(raised.value)
    assert "/items.jsonl" in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_question_may_be_between_the_variants(
    service: Service, write: Write, tmp_path: Path
) -> None:
    row = item("one")
    row["variants"] = {"original": row.pop("question"), "neutralized": "Not read."}
    run(write([row]), out=tmp_path / "out", progress=False)
    assert set(outcomes(tmp_path / "out").values()) == {"as intended"}
