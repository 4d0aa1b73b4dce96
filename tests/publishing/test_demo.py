"""The demonstration: what it publishes, and that a second run takes what is there."""

from __future__ import annotations

import pytest
from fairstats_collectors.amqa import import_amqa
from fairstats_collectors.released_files import fetch_fairmedqa
from fairstats_collectors.retrieve import retrieve

import fairstats.publishing.demo
import fairstats.publishing.publish
from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers, write_answers
from fairstats.publishing.demo import demo_answers, demo_retrievals, publish_next, taken_answers
from fairstats.release.contents import Release
from tests.report.conftest import answers_of_models


@pytest.fixture
def said():
    return []


def collector(benchmark, *, model, out, strategy):
    """Stands in for the embedded model, which tests/collectors asks for real."""
    assert (benchmark.name, model) == ("demo", "embedded")
    frame = answers_of_models(("SmolLM2",)).assign(strategy=strategy)
    return write_answers(frame, out / f"demo-1-smollm2-{strategy}.parquet")


def test_model_is_asked_once(tmp_path, said):
    path = demo_answers(tmp_path, collector, say=said.append)
    assert read_answers(path)["strategy"].value_counts().to_dict() == {"plain": 192}
    assert demo_answers(tmp_path, None, say=said.append) == path
    assert sum("there already" in line for line in said) == 1


def test_what_is_shipped_is_looked_up_and_published(tmp_path, said, monkeypatch):
    monkeypatch.setattr(
        fairstats.publishing.publish, "render", lambda release, **options: "nothing"
    )
    path = demo_retrievals(tmp_path, retrieve, say=said.append)
    assert demo_retrievals(tmp_path, retrieve, say=said.append) == path
    answers = demo_answers(tmp_path, collector, say=said.append)
    made = publish_next([answers], name="demo", out=tmp_path / "out", retrievals=[path])
    overlap = Release(made.path).table("overlap").set_index(["top_k", "attribute", "measure"])
    # Words for race and income draw other snippets; were they not read, all would be the same.
    assert 0 < overlap.loc[(10, "race", "iou"), "estimate"] < 1
    assert overlap.loc[(10, "pooled", "iou"), "n"] == 24


@pytest.mark.usefixtures("few_tables")
def test_a_release_with_other_answers_gets_the_next_name(tmp_path, monkeypatch):
    def render(release, *, site, pdf, renderer):
        (site / "index.html").write_text("page")
        return "nothing"

    monkeypatch.setattr(fairstats.publishing.publish, "render", render)
    one = write_answers(answers_of_models(("One",)), tmp_path / "1.parquet")
    two = write_answers(answers_of_models(("Two",)), tmp_path / "2.parquet")
    out = tmp_path / "out"
    names = [publish_next([path], name="demo", out=out).path.name for path in (one, two, one)]
    assert names == ["demo", "demo.2", "demo"]


def test_answers_in_the_schema_are_taken_as_they_are(tmp_path, said):
    write_answers(answers_of_models(("One",)), tmp_path / "in" / "a.parquet")
    taken = taken_answers(
        tmp_path / "in",
        tmp_path / "kept",
        fetcher=fetch_fairmedqa,
        importer=import_amqa,
        say=said.append,
    )
    assert taken == [tmp_path / "in"]
    with pytest.raises(InputError, match="is not a folder"):
        taken_answers(
            tmp_path / "nowhere",
            tmp_path / "kept",
            fetcher=fetch_fairmedqa,
            importer=import_amqa,
            say=said.append,
        )


def test_released_files_are_imported_and_others_named(tmp_path, said, shared_data):
    taken = taken_answers(
        shared_data("amqa").parent,
        tmp_path / "kept",
        fetcher=fetch_fairmedqa,
        importer=import_amqa,
        say=said.append,
    )
    assert len(taken) == 15
    assert len(read_answers(taken)) == 15 * 801 * 8
    left_out = [line for line in said if line.startswith("Left out")]
    assert len(left_out) == 3
    assert any("deepseek_cot2_t.jsonl" in line for line in left_out)
