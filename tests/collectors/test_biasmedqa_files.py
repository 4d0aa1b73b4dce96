"""The list of released BiasMedQA replies, and the folder that fetching makes of it."""

from __future__ import annotations

import hashlib
from itertools import product
from pathlib import Path

from fairstats_collectors import biasmedqa_files
from fairstats_collectors.biasmedqa import import_biasmedqa
from fairstats_collectors.biasmedqa_files import fetch_biasmedqa, released_replies

from fairstats.benchmarks.loading import load_benchmark

BLOCK = """~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
PROMPT:
### Question: Which metal?
### Options: A: Iron, B: Zinc, C: Gold, D: Tin, E: Lead
### Answer:\x20

CORRECT ANSWER: B: Zinc
RESPONSE: B
IS_CORRECT: True
"""


def test_list_has_each_importable_file_once(tmp_path):
    listed = released_replies()
    assert len({one.sha256 for one in listed.values()}) == len(listed)
    assert {len(one.commit) for one in listed.values()} == {40}
    for name in listed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(BLOCK, encoding="utf-8")
    answers = import_biasmedqa(tmp_path)
    biases = load_benchmark("biasmedqa").attributes["bias"].groups
    assert answers["model"].nunique() == 6
    variants = product(answers["model"].unique(), ("plain", "one-shot"), biases)
    found = answers[["model", "strategy", "group"]].itertuples(index=False, name=None)
    assert sorted(found) == sorted(variants)


def test_fetched_files_are_importable_in_the_folders_of_their_models(tmp_path, monkeypatch):
    rows = [
        {
            "repository": "who/Repo",
            "commit": "c0",
            "path": f"final/{model}/bias_output_{model}.txt",
            "bytes": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for model in ("m-1", "m-2", "m-3")
        for content in [BLOCK.replace("Gold", model).encode()]
    ]
    monkeypatch.setattr(biasmedqa_files, "read_list", lambda name: rows)
    source = tmp_path / "source"
    source.mkdir()
    for name, model in (("one.txt", "m-1"), ("two.txt", "m-2")):
        (source / name).write_text(BLOCK.replace("Gold", model), encoding="utf-8")
    fetched = fetch_biasmedqa(tmp_path / "out", source=source)
    assert fetched.not_found == ("Repo/m-3/bias_output_m-3.txt",)
    assert [path.relative_to(tmp_path / "out").parts[:2] for path in fetched.files] == [
        ("Repo", "m-1"),
        ("Repo", "m-2"),
    ]
    assert import_biasmedqa(tmp_path / "out")["model"].tolist() == ["m-1", "m-2"]


def test_released_files_are_found_by_their_sha256(shared_data, tmp_path):
    source: Path = shared_data("biasmedqa")
    fetched = fetch_biasmedqa(tmp_path, source=source)
    found = {path.relative_to(tmp_path / "cog-bias-med-LLMs") for path in fetched.files}
    assert found == {path.relative_to(source) for path in source.rglob("bias_output*.txt")}
    assert len(fetched.not_found) == len(released_replies()) - len(found)
