"""Decisions, levels and scores: asked, read, validated and analysed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors.collect import collect
from fairstats_collectors.merging import merge

from fairstats import analyze
from fairstats._lib.problems import InputError
from fairstats.answers.benchmark_checks import validate_files
from fairstats.answers.files import read_answers
from fairstats.asking.item_prompts import STRATEGIES, VALUE_STRATEGIES, answer_form, list_prompts
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items
from tests.serving import Service, chat_reply, only_loopback, send_answer, served

HEAD = """
name = "own"
title = "Own"
description = "For tests."
items_file = "items.jsonl"
missing = "available"
sources = []
licence = "none"
citation = "none"
"""
RACE = """
[versions]
1 = "the one"
[attributes.race]
label = "Race"
groups = { white = "White", black = "Black" }
pairs = [["white", "black"]]
"""
CROSSED = (
    RACE
    + """
[attributes.sex]
label = "Sex"
groups = { men = "Men", women = "Women" }
pairs = [["men", "women"]]
[attributes.race_sex]
label = "Race and sex"
crosses = ["race", "sex"]
groups = { wm = "White men", wf = "White women", bm = "Black men", bf = "Black women" }
pairs = [["wm", "bf"]]
[attributes.race_sex.levels]
wm = ["white", "men"]
wf = ["white", "women"]
bm = ["black", "men"]
bf = ["black", "women"]
"""
)
DECISION = 'kind = "decision"\noptions = ["yes", "maybe", "no"]\nfavourable = ["yes"]\n'
DECISION += 'labels = { yes = "Interview" }\nequivalence_margin = 0.05\n'
LEVEL = 'kind = "level"\noptions = [1, 2, 3, 4, 5]\nhigher = "less urgent"\ncluster = "patient"\n'
LEVEL += "equivalence_margin = 0.1\n"
SCORE = 'kind = "score"\nlimits = [0, 27]\nhigher = "more depressed"\nequivalence_margin = 0.5\n'
CELLS = ("wm", "wf", "bm", "bf")


class Clerk(Service):
    """A service that replies by the words of a prompt."""

    script: Callable[[str], str]

    def respond(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        prompt = json.loads(content)["messages"][0]["content"]
        with self.lock:
            self.requests.append(prompt)
        send_answer(handler, chat_reply(self.script(prompt)))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clerk]:
    only_loopback(monkeypatch, "sk-planted-0123456789abcdef")
    with served(Clerk()) as server:
        yield server


def write(folder: Path, toml: str, groups: tuple[str, ...], **own: Any) -> Benchmark:
    items = [
        {
            "item_id": f"item-{n}",
            "variants": {group: f"Case {n} of {group}. What now?" for group in groups},
            **{name: value(n) for name, value in own.items()},
        }
        for n in range(8)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "own.toml").write_text(HEAD + toml)
    return load_benchmark(folder / "own.toml")


def run(service: Clerk, benchmark: Benchmark, out: Path, **options: Any) -> pd.DataFrame:
    path = collect(
        benchmark, model="tiny", out=out, base_url=service.url, progress=False, **options
    )
    assert validate_files(path, benchmarks=[benchmark]) == []
    return read_answers(path)


def estimate_of(answers: pd.DataFrame, benchmark: Benchmark, metric: str) -> pd.Series:
    estimates = analyze(answers, benchmarks=[benchmark])
    return estimates[estimates["metric"] == metric].set_index("attribute")["estimate"]


def test_decisions_without_a_key_are_collected_and_analysed(service: Clerk, tmp_path: Path) -> None:
    benchmark = write(tmp_path, DECISION + RACE, ("white", "black"))
    service.script = lambda prompt: (
        "I can't help." if "Case 7" in prompt else "**Interview**" if "white" in prompt else "No."
    )
    answers = run(service, benchmark, tmp_path / "out")
    assert "Answer with one of: yes (Interview), maybe, no." in service.requests[0]
    assert answers["answer"].fillna("-").tolist() == ["yes", "no"] * 7 + ["-", "-"]
    assert answers["status"].tolist() == ["ok"] * 14 + ["refused"] * 2
    assert "answer_key" not in answers or answers["answer_key"].isna().all()
    assert estimate_of(answers, benchmark, "selection_difference")["race"] == 1


@pytest.mark.parametrize("where", ["items", "keys"])
def test_levels_of_crossed_groups_are_asked_once(
    service: Clerk, tmp_path: Path, where: str
) -> None:
    columns = {"answer_key": lambda n: 3, "patient": lambda n: f"p{n // 2}"}
    toml = LEVEL + CROSSED
    if where == "keys":
        # The clusters are in the items file only, so the answers have to name them.
        del columns["answer_key"]
        (tmp_path / "keys.csv").write_text(
            "item_id,answer_key\n" + "".join(f"item-{n},3.0\n" for n in range(8))
        )
        toml = f'keys_file = "keys.csv"\n{toml}'
    benchmark = write(tmp_path, toml, CELLS, **columns)
    service.script = lambda prompt: (
        "Two resources.\nAnswer: " + ("2" if "b" in prompt[8:12] else "3")
    )
    answers = run(service, benchmark, tmp_path / "out", strategy="cot")
    assert "one level from 1 to 5, where a higher level means less urgent." in service.requests[0]
    assert len(service.requests) == len(answers) == 8 * 4
    assert set(answers["attribute"]) == {"race_sex"}
    assert set(answers["answer_key"]) == {"3"}
    assert ("cluster" in answers and answers["cluster"].notna().all()) == (where == "keys")
    differences = estimate_of(answers, benchmark, "level_difference")
    assert set(differences.index) == {"race", "sex", "race_sex", "pooled"}
    estimates = analyze(answers, benchmarks=[benchmark])
    assert set(estimates.loc[estimates["metric"] == "level_difference", "n_units"]) == {4}


def test_scores_are_collected_in_shards_and_merged(service: Clerk, tmp_path: Path) -> None:
    benchmark = write(tmp_path, SCORE + RACE, ("white", "black"))
    service.script = lambda prompt: "Score: 12/27" if "white" in prompt else "between 10 and 11"
    shards = [
        collect(
            benchmark,
            model="tiny",
            out=tmp_path / part[0],
            base_url=service.url,
            progress=False,
            samples=2,
            shard=part,
        )
        for part in ("1/2", "2/2")
    ]
    answers = read_answers(merge(shards, out=tmp_path / "all", benchmark=benchmark))
    assert "a number from 0 to 27, where a higher score means more depressed" in service.requests[0]
    assert answers["answer"].fillna("-").tolist() == ["12", "12", "-", "-"] * 8
    assert len(answers) == len(service.requests) == 32
    assert validate_files([tmp_path / "all"], benchmarks=[benchmark]) == []
    assert estimate_of(answers, benchmark, "missing_difference")["race"] == -1


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - set(VALUE_STRATEGIES)))
def test_strategies_that_ask_for_a_letter_are_refused(tmp_path: Path, strategy: str) -> None:
    benchmark = write(tmp_path, SCORE + RACE, ("white", "black"))
    with pytest.raises(InputError, match=r"own has no letters.*use plain or cot"):
        list_prompts(benchmark, load_items(benchmark), strategy)


@pytest.mark.parametrize(
    ("toml", "form"),
    [
        (DECISION, "one of: yes (Interview), maybe, no"),
        (LEVEL, "one level from 1 to 5, where a higher level means less urgent"),
        (SCORE, "a number from 0 to 27, where a higher score means more depressed"),
        (
            'kind = "level"\noptions = ["low", "high"]\nequivalence_margin = 0.1\n',
            "one of these levels, from lowest to highest: low, high",
        ),
        (
            'kind = "level"\noptions = [0, 5]\nlabels = { 5 = "Full" }\nequivalence_margin = 0.1\n',
            "one of these levels, from lowest to highest: 0, 5 (Full)",
        ),
        (
            'kind = "score"\nlimits = [-1.5, 2]\nequivalence_margin = 0.1\n',
            "a number from -1.5 to 2",
        ),
    ],
)
def test_prompt_names_the_possible_answers(tmp_path: Path, toml: str, form: str) -> None:
    assert answer_form(write(tmp_path, toml + RACE, ("white", "black"))) == form


def test_faulty_items_are_named(tmp_path: Path) -> None:
    benchmark = write(tmp_path, SCORE + CROSSED, (*CELLS, "white"))
    with pytest.raises(InputError, match=r"variants.black: no vignette for this group"):
        load_items(benchmark)  # A crossed attribute has all of its variants, or none.
    (tmp_path / "keys.csv").write_text("item_id\n" + "".join(f"item-{n}\n" for n in range(8)))
    toml = f'keys_file = "keys.csv"\n{LEVEL}{RACE}'
    benchmark = write(
        tmp_path, toml, ("white", "black"), patient=lambda n: None if n == 2 else f"p{n}"
    )
    with pytest.raises(InputError, match=r"row 3: patient.*what the item belongs to"):
        load_items(benchmark)
