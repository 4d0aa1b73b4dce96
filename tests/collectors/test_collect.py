from __future__ import annotations

import hashlib
import json
import logging
import time
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from fairstats_collectors.collect import collect

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.asking.item_prompts import STRATEGIES, VALUE_STRATEGIES, load_prompt
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from tests.serving import Service, chat_reply, only_loopback, send_answer, served

KEY = "sk-planted-0123456789abcdef"
PROMPTS = Path(__file__).parents[2] / "fairstats" / "asking" / "prompts"
TOML = """
name = "small"
title = "Small"
description = "For tests."
options = ["A", "B", "C"]
items_file = "items.jsonl"
missing = "available"
equivalence_margin = 0.05
sources = []
licence = "none"
citation = "none"
[versions]
1 = "the one"
[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]
[attributes.baseline]
label = "Baseline"
groups = { original = "Original", neutralized = "Neutralized" }
pairs = [["original", "neutralized"]]
"""
GROUPS = ["white", "black", "original", "neutralized"]
ITEMS: list[dict[str, Any]] = [
    {
        "item_id": f"item-{number}",
        "options": {"C": "Surgery", "A": "Aspirin", "B": "Rest"},
        "answer_key": key,
        "variants": {group: f"Vignette {number} {group} $5 {{x}}" for group in GROUPS},
    }
    for number, key in enumerate("BAC", start=1)
]

Answer = tuple[int, Any]


def reply(content: Any = "B", **more: Any) -> Answer:
    status, body = chat_reply(content, tokens=(7, 2))
    return status, body | more


def fault(status: int, message: str, **more: Any) -> Answer:
    return status, {"error": {"message": message, "type": "x", "param": None, "code": None} | more}


class Chat(Service):
    """A chat completions service that follows a script."""

    script: Callable[[str, int], Answer] = staticmethod(lambda prompt, times: reply())
    # Retry at once: the client waits as long as this header states.
    headers: ClassVar[dict[str, str]] = {"retry_after_ms": "1"}

    def prompts(self) -> list[str]:
        return [request["messages"][0]["content"] for request in self.requests]

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        assert handler.path == "/v1/chat/completions"
        with self.lock:
            self.requests.append(json.loads(content))
            prompt = self.requests[-1]["messages"][0]["content"]
            times = self.prompts().count(prompt)
        answer = self.script(prompt, times)
        send_answer(handler, answer, **(self.headers if answer[0] != 200 else {}))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    only_loopback(monkeypatch, KEY)
    with served(Chat()) as server:
        yield server


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return write_benchmark(tmp_path)


def write_benchmark(
    folder: Path, toml: str = TOML, items: list[dict[str, Any]] | None = None
) -> Benchmark:
    """Return a benchmark of `items`, which may be faulty: it is loaded before they are changed."""
    write_items(folder, ITEMS)
    (folder / "small.toml").write_text(toml)
    benchmark = load_benchmark(folder / "small.toml")
    if items is not None:
        write_items(folder, items)
    return benchmark


def write_items(folder: Path, items: list[dict[str, Any]]) -> None:
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))


@pytest.fixture
def run(service: Chat, benchmark: Benchmark, tmp_path: Path) -> Callable[..., pd.DataFrame]:
    def collected(**options: Any) -> pd.DataFrame:
        options = {"model": "tiny", "base_url": service.url, "progress": False} | options
        return read_answers(collect(benchmark, out=tmp_path / "out", **options))

    return collected


Run = Callable[..., pd.DataFrame]


def nothing_written(tmp_path: Path) -> bool:
    return not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_rows_are_ordered_by_item_and_group(service: Chat, run: Run) -> None:
    def script(prompt: str, times: int) -> Answer:
        time.sleep(0.001 * (hash(prompt) % 20))
        return reply("B" if "black" in prompt else "Answer: C" if "white" in prompt else "Hm.")

    service.script = script
    answers = run(concurrency=8)
    found = [tuple(row) for row in answers[["item_id", "attribute", "group"]].to_numpy()]
    assert found == [
        (f"item-{number}", attribute, group)
        for number in (1, 2, 3)
        for attribute, group in [
            ("race", "white"),
            ("race", "black"),
            ("baseline", "original"),
            ("baseline", "neutralized"),
        ]
    ]
    assert answers["answer"].fillna("-").tolist() == ["C", "B", "-", "-"] * 3
    assert answers["status"].tolist() == ["ok", "ok", "unparsed", "unparsed"] * 3
    assert answers["answer_key"].tolist() == ["B"] * 4 + ["A"] * 4 + ["C"] * 4
    assert answers["answer_raw"].tolist()[:3] == ["Answer: C", "B", "Hm."]


def test_metadata_is_stored_with_an_answer(
    service: Chat, benchmark: Benchmark, tmp_path: Path
) -> None:
    path = collect(
        benchmark, model="Tiny/Model", out=tmp_path / "out", base_url=service.url, progress=False
    )
    assert path.parent == tmp_path / "out"
    assert path.name.startswith("small-1-tiny-model")
    assert path.name.endswith("-plain.parquet")
    answers = read_answers(path)
    row = answers.iloc[0]
    expected = {
        "benchmark": "small",
        "benchmark_version": "1",
        "model": "Tiny/Model",
        "snapshot": "tiny-2026-01-01",
        "strategy": "plain",
        "sample": 0,
        "collector": "chat",
        "temperature": 0,
        "seed": 0,
        "max_tokens": STRATEGIES["plain"],
        "prompt_tokens": 7,
        "completion_tokens": 2,
    }
    assert row[list(expected)].to_dict() == expected
    assert 0 <= row["latency_s"] < 10
    assert row["collected_at"].endswith("Z")
    since = pd.Timestamp.now("UTC") - pd.Timestamp(row["collected_at"])
    assert abs(since) < pd.Timedelta(minutes=5)
    sent = {hashlib.sha256(prompt.encode()).hexdigest() for prompt in service.prompts()}
    assert sent == set(answers["prompt_sha256"])
    assert len(sent) == len(answers)


def test_requests_contain_the_prompt_and_settings(service: Chat, run: Run) -> None:
    run(strategy="cot", max_tokens=33, limit=1, concurrency=1)
    request = service.requests[0]
    (message,) = request.pop("messages")
    assert request == {"model": "tiny", "temperature": 0, "seed": 0, "max_tokens": 33}
    assert message["role"] == "user"
    prompt = message["content"]
    # Dollar signs and braces in a vignette are text; options are in the benchmark's order.
    assert "Vignette 1 white $5 {x}" in prompt
    assert "A. Aspirin\nB. Rest\nC. Surgery" in prompt
    assert len(service.requests) == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_placeholder_occurs_once_in_a_prompt(strategy: str) -> None:
    template = load_prompt(strategy)
    assert template.template.count("$question") == template.template.count("$options") == 1
    assert template.template == template.template.strip()
    sources = tomllib.loads((PROMPTS / "sources.toml").read_text())
    assert sources[strategy]["source"]
    # The folder has no other text, and only the strategies with a text file.
    known = {*STRATEGIES, *(f"{name}-value" for name in VALUE_STRATEGIES), "excerpts", "rating"}
    assert {path.stem for path in PROMPTS.glob("*.txt")} == known == set(sources)
    assert len({load_prompt(name).template for name in STRATEGIES}) == len(STRATEGIES)


@pytest.mark.parametrize(
    "passing",
    [fault(500, "busy"), fault(429, "slow down"), fault(503, "later")],
    ids=["500", "429", "503"],
)
def test_temporary_faults_are_retried(service: Chat, run: Run, passing: Answer) -> None:
    service.script = lambda prompt, times: passing if times == 1 else reply()
    answers = run(limit=1)
    assert set(answers["status"]) == {"ok"}
    assert len(service.requests) == 8


def test_identical_replies_are_accepted(service: Chat, run: Run) -> None:
    service.script = lambda prompt, times: reply(id="1")
    answers = run(concurrency=1)
    assert set(answers["status"]) == {"ok"}
    # The second one was requested twice, to check for a repetition of the first reply.
    assert len(service.requests) == 13


def test_retry_waits_as_long_as_the_service_requests(service: Chat, run: Run) -> None:
    asked: list[float] = []

    def script(prompt: str, times: int) -> Answer:
        asked.append(time.monotonic())
        return (429, {}) if len(asked) == 2 else reply()

    service.script = script
    service.headers = {"retry_after": "0.8"}
    assert set(run(limit=1, concurrency=1)["status"]) == {"ok"}
    assert len(asked) == 5
    assert 0.8 <= asked[2] - asked[1] < 3


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (fault(500, "out of memory"), "out of memory"),
        (fault(400, "too long"), "too long"),
        (fault(401, "key revoked"), "key revoked"),
        ((200, b'{"choices": ['), "JSON"),
        ((200, {"choices": []}), "not a chat completion"),
        ((200, []), "not a chat completion"),
        ((200, b"<html>"), "not a chat completion"),
        (reply([1]), "not text"),
        ((200, b"[" * 100_000), ""),
    ],
    ids=["500", "400", "401", "cut", "empty", "list", "html", "parts", "deep"],
)
def test_permanent_failure_gives_an_error_row(
    service: Chat, run: Run, broken: Answer, reason: str
) -> None:
    service.script = lambda prompt, times: broken if "black" in prompt else reply()
    answers = run(limit=2)
    failed = answers[answers["group"] == "black"]
    assert set(failed["status"]) == {"error"}
    assert failed["answer"].isna().all()
    assert failed["answer_raw"].str.contains(reason, regex=False).all()
    assert failed["latency_s"].isna().all()
    assert set(answers.loc[answers["group"] != "black", "status"]) == {"ok"}


@pytest.mark.parametrize(
    ("broken", "message", "requests"),
    [
        (fault(401, "no such key"), "check OPENAI_API_KEY", 1),
        (fault(403, "not yours"), "check OPENAI_API_KEY", 1),
        (fault(404, "no model tiny"), "no model tiny.*check the model's name", 1),
        (fault(429, "insufficient_quota"), "quota", 3),
    ],
    ids=["401", "403", "404", "429"],
)
def test_refusal_of_the_first_request_stops_the_run(
    service: Chat, run: Run, tmp_path: Path, broken: Answer, message: str, requests: int
) -> None:
    service.script = lambda prompt, times: broken
    with pytest.raises(InputError, match=f"tiny at 127.0.0.1: .*{message}"):
        run()
    assert len(service.requests) == requests
    assert nothing_written(tmp_path)


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:9/v1", "localhost", "http://[", "http://user:hunter2@[::1]:9/"]
)
def test_unreachable_service_is_reported(
    service: Chat, run: Run, tmp_path: Path, base_url: str
) -> None:
    with pytest.raises(InputError, match="base_url") as raised:
        run(base_url=base_url, retries=0)
    assert "hunter2" not in str(raised.value)
    assert nothing_written(tmp_path)


def test_run_without_any_answer_writes_no_file(service: Chat, run: Run, tmp_path: Path) -> None:
    service.script = lambda prompt, times: fault(400, "Model Not Exist")
    with pytest.raises(InputError, match="Model Not Exist"):
        run()
    assert nothing_written(tmp_path)


def test_unsupported_settings_are_left_out(service: Chat, run: Run) -> None:
    def script(prompt: str, times: int) -> Answer:
        request = service.requests[-1]
        if "max_tokens" in request:
            message = "'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            return fault(400, message, param="max_tokens")
        if "temperature" in request:
            return fault(400, "Only the default (1) value is supported.", param="temperature")
        if "seed" in request:
            return fault(422, "Unknown name 'seed'")
        return reply()

    service.script = script
    answers = run(concurrency=1, max_tokens=50)
    assert set(answers["status"]) == {"ok"}
    assert len(service.requests) == 12 + 3
    assert service.requests[-1]["max_completion_tokens"] == 50
    assert answers["temperature"].isna().all()
    assert answers["seed"].isna().all()
    assert set(answers["max_tokens"]) == {50}


def test_temperature_in_a_vignette_changes_no_setting(service: Chat, run: Run) -> None:
    service.script = lambda prompt, times: (
        fault(400, "filtered: The temperature is 39 and the seed is")
        if "white" in prompt
        else reply()
    )
    assert set(run()["temperature"]) == {0}


@pytest.mark.parametrize("echo", ["first", "later", "reply", "model"])
def test_key_is_in_no_output(
    service: Chat,
    run: Run,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    echo: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    # The second one is at the place where the reason is cut off.
    message = f"Incorrect key Bearer {KEY}" + "x" * 900 + KEY

    def script(prompt: str, times: int) -> Answer:
        if echo == "first" or (echo == "later" and "black" in prompt):
            return fault(401, message)
        if echo == "reply":
            return reply(f"Your key is {KEY}")
        return reply(model=KEY)

    service.script = script
    said = ""
    if echo == "first":
        with pytest.raises(InputError) as raised:
            run(progress=True)
        said = str(raised.value) + repr(raised.value)
        assert "Incorrect key Bearer [key]" in said
        # It is not in the chained exceptions either.
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None
    else:
        answers = run(progress=True)
        said = answers.to_csv()
        assert "[key]" in said
        for file in (tmp_path / "out").iterdir():
            assert KEY[:10].encode() not in file.read_bytes()
    assert service.keys == {f"Bearer {KEY}"}
    assert KEY[:10] not in said + caplog.text + "".join(capfd.readouterr())


def test_invalid_key_is_not_shown(service: Chat, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-planted\nline", "sk-plantéd", "sk planted"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="OPENAI_API_KEY") as raised:
            run()
        assert "sk" not in str(raised.value)
    assert not service.requests


def test_a_local_service_needs_no_key_and_a_remote_one_does(
    service: Chat, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="OPENAI_API_KEY: is not set"):
        run(base_url=None)
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    run(base_url=None, limit=1)
    assert service.keys == {"Bearer none"}


def test_existing_answers_are_not_collected_again(service: Chat, run: Run, tmp_path: Path) -> None:
    run(limit=1)
    (file,) = (tmp_path / "out").glob("*.parquet")
    before = file.read_bytes()
    run(limit=1)
    assert file.read_bytes() == before
    assert len(service.requests) == 4
    # More items: existing answers are not requested again. Fewer items would lose some.
    assert len(run()) == 12
    assert len(service.requests) == 12
    before = file.read_bytes()
    for other in ({"limit": 1}, {"max_tokens": 99}):
        with pytest.raises(InputError, match="contains answers from a different campaign; delete"):
            run(**other)
    assert file.read_bytes() == before
    assert len(service.requests) == 12
    run(limit=1, model_name="another")
    run(limit=1, strategy="cot")
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 3


def test_answers_without_a_journal_are_not_overwritten(
    service: Chat, run: Run, tmp_path: Path
) -> None:
    run()
    (journal,) = (tmp_path / "out").glob("*.sqlite")
    journal.unlink()
    with pytest.raises(InputError, match="already contains"):
        run()
    assert len(service.requests) == 12
    assert not journal.exists()


def test_only_failed_requests_are_repeated(service: Chat, run: Run) -> None:
    service.script = lambda prompt, times: fault(400, "no") if "black" in prompt else reply()
    first = run()
    assert first["status"].tolist().count("error") == 3
    service.script = lambda prompt, times: reply()
    kept = run(keep_failures=True)
    assert kept.equals(first)
    assert len(service.requests) == 12
    again = run()
    assert set(again["status"]) == {"ok"}
    assert len(service.requests) == 15
    rest = first["group"] != "black"
    assert again[rest].equals(first[rest].astype(again.dtypes.to_dict()))


def test_a_refusal_of_the_service_and_an_empty_reply(service: Chat, run: Run) -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I'd rather not."}
    service.script = lambda prompt, times: (
        reply(choices=[{"index": 0, "finish_reason": "stop", "message": refusal}])
        if "black" in prompt
        else reply(None)
    )
    answers = run(limit=1)
    assert answers["status"].tolist() == ["unparsed", "refused", "unparsed", "unparsed"]
    assert answers["answer_raw"].tolist()[:2] == ["", "I'd rather not."]


def test_odd_replies_can_be_written(service: Chat, run: Run) -> None:
    odd = {"prompt_tokens": "many", "completion_tokens": -1}
    service.script = lambda prompt, times: (
        reply("Answer: B\n\ud800 " + "x" * 1_040_000, model="/mnt/me/tiny.gguf", usage=odd)
        if "white" in prompt
        else reply(model="a\nb", usage=None)
    )
    answers = run(limit=1)
    row = answers.iloc[0]
    assert row["answer"] == "B"
    assert len(row["answer_raw"]) == 1_000_000
    assert row["snapshot"] == "tiny.gguf"
    assert answers["snapshot"].isna().tolist() == [False, True, True, True]
    assert answers["prompt_tokens"].isna().all()
    assert answers["completion_tokens"].isna().all()


def test_progress_is_shown_only_on_the_error_output(
    service: Chat, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    service.script = lambda prompt, times: fault(400, "no") if "black" in prompt else reply()
    run(progress=False)
    assert capfd.readouterr() == ("", "")
    run(progress=True, model_name="again")
    out, err = capfd.readouterr()
    assert out == ""
    assert "12/12" in err
    assert "3 errors" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "wise"}, "use one of plain, cot, role"),
        ({"benchmark_version": "2"}, "use one of 1"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"limit": 0}, "limit=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"model_name": "a\nb"}, "must be 1 to 200"),
        ({"model": ""}, "model = ''"),
    ],
)
def test_arguments_are_checked_before_any_request(
    service: Chat, run: Run, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(**options)
    assert not service.requests
    assert nothing_written(tmp_path)


def test_folder_that_is_a_file_is_refused(service: Chat, run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="cannot be written to"):
        run()
    assert not service.requests


def test_version_is_required_if_there_are_several(tmp_path: Path, service: Chat) -> None:
    benchmark = write_benchmark(tmp_path, TOML.replace('1 = "the one"', '1 = "x"\n2 = "y"'))
    options: dict[str, Any] = {"model": "tiny", "base_url": service.url, "progress": False}
    with pytest.raises(InputError, match="use one of 1, 2"):
        collect(benchmark, out=tmp_path, **options)
    path = collect(benchmark, out=tmp_path, benchmark_version="2", **options)
    assert set(read_answers(path)["benchmark_version"]) == {"2"}


def test_benchmark_without_vignettes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without the texts of its vignettes"):
        collect(
            load_benchmark("fairmedqa"), model="tiny", out=tmp_path, benchmark_version="gpt-agent"
        )


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"item_id": None}, "item_id"),
        ({"item_id": "item-1"}, "item_id"),
        ({"options": {"A": "x", "B": "y"}}, "options"),
        ({"options": {"A": "x", "B": "y", "C": "z", "D": "w"}}, "options"),
        ({"options": ["x", "y", "z"]}, "options"),
        ({"options": {"A": "x", "B": "y", "C": " "}}, "options.C"),
        ({"answer_key": "D"}, "answer_key"),
        ({"answer_key": ["A"]}, "answer_key"),
        ({"variants": dict.fromkeys(GROUPS[1:], "x")}, "variants.white"),
        ({"variants": dict.fromkeys(GROUPS, "x") | {"black": ""}}, "variants.black"),
        ({"variants": dict.fromkeys(GROUPS, "x") | {"black": "\ud800"}}, "variants"),
        ({"variants": None}, "variants"),
    ],
)
def test_a_faulty_item_is_named(tmp_path: Path, change: dict[str, Any], column: str) -> None:
    benchmark = write_benchmark(tmp_path, items=[ITEMS[0], ITEMS[1] | change])
    with pytest.raises(InputError) as raised:
        load_items(benchmark)
    (problem,) = raised.value.problems
    assert (problem.row, problem.column) == (2, column)
    assert problem.path.endswith("items.jsonl")
    assert problem.remedy


def test_every_faulty_item_is_named_at_once(tmp_path: Path) -> None:
    faulty = [item | {"answer_key": "Z"} for item in ITEMS]
    with pytest.raises(InputError) as raised:
        load_items(write_benchmark(tmp_path, items=faulty))
    assert [problem.row for problem in raised.value.problems] == [1, 2, 3]


def test_missing_items_and_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        load_items(write_benchmark(tmp_path, items=[]))
    benchmark = write_benchmark(tmp_path)
    (tmp_path / "items.jsonl").write_text("\n")
    with pytest.raises(InputError, match="contains no items"):
        load_items(benchmark)
    (tmp_path / "keys.csv").write_text("item_id,answer_key\n1,A\n")
    toml = TOML.replace('"items.jsonl"', '"gone.jsonl"\nkeys_file = "keys.csv"')
    with pytest.raises(InputError, match="no such file"):
        load_items(write_benchmark(tmp_path, toml))


def test_items_are_in_order_with_the_benchmarks_options(benchmark: Benchmark) -> None:
    items = load_items(benchmark)
    assert [item.item_id for item in items] == ["item-1", "item-2", "item-3"]
    assert list(items[0].options) == ["A", "B", "C"]
    assert items[0].variants["black"] == "Vignette 1 black $5 {x}"
