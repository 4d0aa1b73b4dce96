"""The report on vignettes: its figures are those of the findings, and texts are escaped."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from pypdf import PdfReader

from fairstats._lib.formatting import percent
from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.release.contents import Release
from fairstats.report.tables import labels_of
from fairstats.report.vignettes.page import _selection, report_vignettes, show_vignettes

from .conftest import HOSTILE, answers_of_models
from .reading import region_names, shown


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """Return the demonstration items, with text and names that are harmful unless escaped."""
    folder = tmp_path_factory.mktemp("audit")
    demo = load_benchmark("demo")
    lines = demo.items_file.read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    for number, item in enumerate(items):
        key = item["answer_key"]
        item["options"][key] += f" {HOSTILE[number % 2]} cisplatin"
        # One group's variant names the key, and the other's lacks the question.
        item["variants"]["white"] = (
            f"They read of cisplatin and {item['options'][key]}. " + item["variants"]["white"]
        )
        item["variants"]["black"] = item["variants"]["black"].rpartition(". ")[0] + "."
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    text = demo.path.read_text(encoding="utf-8").replace("demo.items.jsonl", "mine.jsonl")
    text = text.replace('name = "demo"', 'name = "mine"', 1)
    path.with_suffix(".toml").write_text(text, encoding="utf-8")
    given = answers_of_models((HOSTILE[0], HOSTILE[6])).assign(benchmark="mine")
    answers = write_answers(given, folder / "a.parquet")
    return report_vignettes(path, out=folder / "out", answers=[answers])


@pytest.fixture(scope="module")
def page(audit):
    return (audit.folder / "audit.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("p", "shown"), [(0.03, "p-value: 0.030"), (1.0, "signs of one.")])
def test_smallest_p_value_of_selection_is_named_only_if_it_says_something(p, shown):
    row = {"benchmark_version": "1", "model": "m", "strategy": "plain", "attribute": "race"}
    row |= {
        "group_a": "white",
        "group_b": "black",
        "note": "",
        "quantity": "",
        "p_value": p,
        "estimate": 0.0,
    }
    (sentence,), _ = _selection(pd.DataFrame([row]), load_benchmark("demo"), 0.05)
    assert shown in sentence


def test_every_file_is_listed_with_its_hash(audit):
    manifest = json.loads((audit.folder / "manifest.json").read_text(encoding="utf-8"))
    found = {path.name: file_sha256(path) for path in audit.folder.iterdir()}
    del found["manifest.json"]
    assert manifest["files"] == found
    assert {"audit.html", "audit.pdf", "mine.measures.parquet"} <= set(found)
    table = pd.read_parquet(audit.folder / "vignette_findings.parquet")
    assert len(table) == len(audit.audit.findings)


def test_the_first_sentence_has_the_figures_of_the_findings(audit, page):
    found = audit.audit.findings
    own = found[(found["measure"] == "leakage_overlap") & (found["group_a"] == "white")]
    key = own.loc[(own["quantity"] == "key") & (own["group_b"] == ""), "estimate"].item()
    assert key > 0.5
    plain = re.sub(r"<[^>]+>", "", page)
    assert f"{percent(key)} of the key" in plain
    more = found[(found["measure"] == "words") & (found["group_b"] == "black")].iloc[0]
    assert f"is +{more['estimate']:.1f} words (White − Black" in plain
    for question in labels_of("vignettes")["questions"].values():
        assert question["title"] in plain
    # The benchmark declares no odds ratio.
    assert "No verdict." in plain
    asks = found[(found["aspect"] == "content") & (found["measure"] == "question_asked")]
    asks = asks[asks["group_b"] == "black"]
    assert asks["estimate"].item() == 1
    assert "Not every variant asks" in plain


def test_tables_of_two_benchmarks_have_different_names(audit, tmp_path):
    demo, findings = load_benchmark("demo"), audit.audit.findings
    benchmarks = {"demo": demo, "other": replace(demo, name="other", title="Other")}
    both = pd.concat([findings.assign(benchmark=name) for name in benchmarks])
    release = SimpleNamespace(
        alpha=0.1,
        benchmarks=benchmarks,
        measures=both,
        path=tmp_path,
        table_path=Release(tmp_path).table_path,
        table=lambda name: both,
    )
    names = region_names(shown(show_vignettes, release))
    assert len(names) > 8
    assert len(set(names)) == len(names)
    assert not any("95%" in name for name in names)


def test_keys_alone_are_not_called_duplicates(audit, tmp_path):
    keys = audit.audit.findings.query("aspect == 'keys'")
    release = SimpleNamespace(
        alpha=0.05,
        benchmarks={"mine": load_benchmark("demo")},
        measures=keys.head(0),
        path=tmp_path,
        table_path=Release(tmp_path).table_path,
        table=lambda name: keys,
    )
    text = shown(show_vignettes, release)
    assert "Are keys wrong?" in text
    assert "duplicate" not in text


def test_a_planted_leak_is_flagged(audit):
    flags = audit.audit.flags
    named = flags[(flags["flag"] == "names the key") & (flags["group"] == "white")]
    assert len(named) > 12
    assert "question missing" in set(flags["flag"])


def test_texts_and_names_do_no_harm(page):
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert" in page
    # A link back to another file, which a single-file report lacks.
    assert "downloads/" not in page


def test_pdf_is_complete(audit):
    text = "".join(p.extract_text() for p in PdfReader(audit.folder / "audit.pdf").pages)
    assert "How good are the variants" in text
    assert "Is the clinical content unchanged?" in text


def test_unreadable_items_prevent_writing(tmp_path):
    shutil.copy(load_benchmark("demo").items_file, tmp_path / "mine.jsonl")
    with pytest.raises(InputError, match="no benchmark declares the groups of these items"):
        report_vignettes(tmp_path / "mine.jsonl", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        report_vignettes("demo", out=tmp_path / "file")
