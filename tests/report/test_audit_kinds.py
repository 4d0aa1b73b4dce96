"""Audit reports of decisions, levels and scores: their words and figures, and their signature."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pypandoc
import pytest

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmark
from fairstats.publishing import verify_report
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES
from fairstats.report.audit_answer_sets import answer_sets
from fairstats.report.audit_document import report_model
from fairstats.screening.screen import SCREENING_COLUMNS

from .undrawn import undrawn

ITEMS = 40
_SHARED = """
title = "{title}"
description = "Cases of a test."
missing = "available"
sources = ["a test"]
licence = "none"
citation = "none"
[versions]
1 = "first version"
[attributes.origin]
label = "Origin"
pairs = [["north", "south"], ["north", "east"]]
groups = {{ north = "North", south = "South", east = "East" }}
"""
_CONTROL = """
[attributes.placebo]
label = "Placebo"
control = true
pairs = [["none", "weather"]]
groups = { none = "None", weather = "Weather" }
"""
#: The file of each benchmark before and after what all share.
DECLARED = {
    "interviews": (
        'kind = "decision"\noptions = ["yes", "maybe", "no"]\nfavourable = ["yes"]\n'
        'labels = { yes = "Interview", maybe = "Waiting list", no = "Rejection" }\n'
        "equivalence_margin = 0.05\n",
        f'{_CONTROL}[words]\nitem = "application"\nsubject = "applicant"\nsetting = "hiring"\n',
    ),
    "loans": (
        'kind = "decision"\noptions = ["grant", "refuse"]\nfavourable = ["grant"]\n'
        'equivalence_margin = 0.05\nkeys_file = "loans.csv"\n',
        "",
    ),
    "urgency": (
        'kind = "level"\noptions = [1, 2, 3, 4]\nhigher = "less urgent"\ncluster = "person"\n'
        "equivalence_margin = 0.2\n",
        '[words]\nitem = "stay"\ncluster = "patient"\nsource = "records of real stays"\n',
    ),
    "stages": (
        'kind = "level"\noptions = ["low", "middle", "high"]\nequivalence_margin = 0.2\n'
        'keys_file = "stages.csv"\n',
        "",
    ),
    "essays": (
        'kind = "score"\nlimits = [0, 20]\nsame_within = 1\nequivalence_margin = 0.5\n',
        '[words]\nitem = "essay"\nsubject = "pupil"\n',
    ),
}
KEYED = {"loans": ["grant", "refuse"], "stages": ["low", "middle", "high"]}
KEYLESS = [name for name in DECLARED if name not in KEYED]
#: Words that are about a right answer, letters or medicine. "key" is only in "There is no key".
FORBIDDEN = re.compile(
    r"\b(accura\w+|AD|correct\w*|guess\w*|letters?|vignettes?|clinical|medical|doctors?|exams?|nan"
    r"|keys|answer_key|patients?)\b",
    re.IGNORECASE,
)


def declared(name: str, folder: Path) -> Benchmark:
    before, after = DECLARED[name]
    if name in KEYED:
        keys = "".join(f"i{n},{KEYED[name][n % len(KEYED[name])]}\n" for n in range(ITEMS))
        (folder / f"{name}.csv").write_text(f"item_id,answer_key\n{keys}")
    text = f'name = "{name}"\n{before}{_SHARED.format(title=name.title())}{after}'
    (folder / f"{name}.toml").write_text(text)
    return load_benchmark(folder / f"{name}.toml")


def answered(benchmark: Benchmark) -> pd.DataFrame:
    """Return answers that are higher, or further to the first option, for the first group."""
    rng = np.random.default_rng(1)
    options = benchmark.options or tuple(str(n) for n in range(21))
    rows = []
    for n in range(ITEMS):
        level = int(rng.integers(1, len(options)))
        for attribute, group in benchmark.variants:
            for sample in range(3 if benchmark.controls else 1):
                move = (group == "south") * (rng.random() < 0.6) + (rng.random() < 0.05)
                place = max(level - int(move), 0)
                # The favourable option is the first.
                place = place if benchmark.kind.numeric else len(options) - 1 - place
                lost = benchmark.name == "essays" and group == "east" and n < 2
                rows.append(
                    {
                        "benchmark": benchmark.name,
                        "benchmark_version": "1",
                        "model": f"model-{benchmark.name}",
                        "strategy": "plain",
                        "item_id": f"i{n}",
                        "attribute": attribute,
                        "group": group,
                        "sample": sample,
                        "answer": None if lost else options[place],
                        "answer_key": benchmark.answer_keys.get(f"i{n}"),
                        "status": "unparsed" if lost else "ok",
                        "snapshot": f"{benchmark.name}-1",
                        "cluster": f"p{n // 3}" if benchmark.cluster else None,
                    }
                )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module", autouse=True)
def without_screening():
    """The checks of answers have their own tests; here they would only take time."""
    empty = pd.DataFrame({name: pd.Series(dtype="str") for name in SCREENING_COLUMNS})
    table = replace(TABLES["screening"], make=lambda of: empty)
    with mock.patch.dict(TABLES, {"screening": table}):
        yield


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    folder = tmp_path_factory.mktemp("kinds")
    benchmarks = [declared(name, folder) for name in DECLARED]
    answers = pd.concat([answered(one) for one in benchmarks], ignore_index=True)
    return undrawn(answers, folder, benchmarks=benchmarks)


@pytest.fixture(scope="module")
def text(release, tmp_path_factory):
    """Return the words of the audit of a benchmark's model, once drawn."""
    folder, found = tmp_path_factory.mktemp("html"), {}

    def words(name: str) -> str:
        if name not in found:
            file = folder / f"{name}.html"
            report_model(f"model-{name}", release.path, to="html", out=file, crosswalk=True)
            found[name] = pypandoc.convert_file(file, "plain", extra_args=["--wrap=none"])
        return found[name]

    return words


@pytest.mark.parametrize("name", DECLARED)
def test_report_of_each_kind(name, text, snapshot):
    # What follows has times, versions and hashes, or is the same for all models.
    body = text(name).partition("\nDeclarations\n")[0]
    body = re.sub(r"fairstats release 2026.11 · .*|[0-9a-f]{32}", "…", body)
    assert re.sub(r"-{3,}| {2,}", "  ", body) == snapshot


@pytest.mark.parametrize("name", KEYLESS)
def test_no_word_of_right_answers_without_a_key(name, text):
    words = text(name).replace("[]", "")
    said = [found.group() for found in FORBIDDEN.finditer(words)]
    # Words that the benchmark declares.
    allowed = {"patient", "patients"} if name == "urgency" else set()
    assert set(said) <= allowed
    assert re.findall(r".{12}\bkey\b", words) == ["There is no key"]
    assert re.findall(r"\S+ \bright\b", words) == ["be right"]


@pytest.mark.parametrize("name", KEYED)
def test_answers_are_compared_with_the_key_if_there_is_one(name, text):
    assert "There is no key" not in text(name)
    assert "Answers compared with the key, by group" in text(name)


@pytest.mark.parametrize("name", DECLARED)
def test_pairs_are_those_of_the_varied_attributes(name, release):
    (answers,) = answer_sets(release, f"model-{name}")
    assert [pair.groups for pair in answers.pairs] == [("north", "south"), ("north", "east")]
    assert answers.units == (14 if name == "urgency" else ITEMS)


@pytest.mark.parametrize("name", ["interviews", "urgency", "essays"])
def test_report_of_each_kind_verifies(name, release, tmp_path, monkeypatch):
    # The release has no pages that could be drawn again, but the report can be.
    monkeypatch.setattr(verify_report, "verify", without_pages)
    pdf = report_model(f"model-{name}", release.path, to="pdf", out=tmp_path / "report.pdf")
    _, found = verify_report.verify_report(pdf, release.path)
    assert found.problems == ()


def without_pages(path, *, expect, pages):
    return verify(path, expect=expect, pages=False)
