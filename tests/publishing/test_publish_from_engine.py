"""Answers beyond memory are published in parts, with the figures of answers in memory."""

from __future__ import annotations

import json
import os
import shutil

import pandas as pd
import pytest

import fairstats.release.stored_answers
from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.answer_tables import flips_of
from fairstats.publishing.publish import CHANGES, publish
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from tests.make_answers import make_answers
from tests.publishing.edited_releases import rehash
from tests.report.conftest import answers_of_models

pytest.importorskip("duckdb")


@pytest.fixture
def answers():
    # As `fairstats import` writes them.
    return answers_of_models(("One", "Two")).assign(snapshot="s-2026", collector="import table")


@pytest.fixture
def few_rows(monkeypatch):
    """Let a part have the answers of some items."""
    monkeypatch.setattr(fairstats.release.stored_answers, "PART_ROWS", 100)


def published(answers, folder, **options):
    # Two files, and rows in any order.
    (folder / "in").mkdir(exist_ok=True)
    for number, rows in enumerate((answers.iloc[::2], answers.iloc[1::2])):
        rows[::-1].to_parquet(folder / "in" / f"{number}.parquet", index=False)
    out = folder / options.get("engine", "pandas")
    return publish(folder / "in", release="1", out=out, **options).path


def problem_of(answers, folder):
    with pytest.raises(InputError) as caught:
        published(answers, folder, engine="duckdb")
    assert not (folder / "duckdb" / "v").exists()
    return str(caught.value)


# First those that draw pages: the other tests of this module draw none.


@pytest.mark.usefixtures("few_rows")
def test_release_from_an_engine_is_verified_with_its_pages(answers, tmp_path):
    answers = answers[answers["model"] == "One"]
    release = published(answers, tmp_path, engine="duckdb", renderer="builtin")
    assert [one.problems for one in verify(release)] == [()]
    described = json.loads((release / "downloads" / "croissant.json").read_text())
    kinds = {one["@id"]: one["@type"] for one in described["distribution"]}
    assert kinds["answers"] == "cr:FileSet"
    assert kinds["answers/00000.parquet"] == "cr:FileObject"


@pytest.mark.usefixtures("few_rows")
def test_many_answers_are_published_without_tables_of_items(tmp_path, monkeypatch):
    # Not those of another test: the tables of a release are made once.
    answers = answers_of_models(("Three",))
    assert not flips_of(answers, {"demo": load_benchmark("demo")}).empty
    monkeypatch.setattr("fairstats.release.tables.MOST_LISTED", len(answers) - 1)
    path = published(answers, tmp_path, engine="duckdb", renderer="builtin")
    release = Release(path)
    for name in ("flips", "item_gaps", "vignette_findings"):
        assert release.table(name).empty
    assert not release.ranks.empty
    assert not release.screening.empty
    text = (path / "reports" / "data.html").read_text(encoding="utf-8")
    assert "flips.parquet" not in text
    assert "with a row per item" in text
    assert not (path / "reports" / "vignettes.html").exists()
    assert [one.problems for one in verify(path, pages=False)] == [()]


@pytest.mark.usefixtures("without_pages", "few_rows")
def test_release_from_an_engine_has_the_content_of_one_from_memory(answers, tmp_path):
    answers.loc[answers.index[5], ["answer", "status"]] = [None, "refused"]
    stored, whole = (published(answers, tmp_path, engine=name) for name in ("duckdb", "pandas"))
    one, other = (json.loads((path / "manifest.json").read_text()) for path in (stored, whole))
    for name in ("content", "rows", "answers"):
        assert one[name] == other[name]
    parts = sorted((stored / "downloads" / "answers").iterdir())
    assert len(parts) > 2
    pd.testing.assert_frame_equal(read_answers(parts), Release(whole).table("answers"))
    items = [pd.read_parquet(part)[["model", "item_id"]].drop_duplicates() for part in parts]
    assert not pd.concat(items).duplicated().any()
    # The same again changes nothing.
    assert not publish(tmp_path / "in", release="1", out=stored.parents[1], engine="duckdb").new


@pytest.mark.usefixtures("without_pages", "local_spark")
def test_answers_that_spark_wrote_are_published_as_those_in_memory(answers, tmp_path):
    from pyspark.sql import SparkSession

    whole = published(answers, tmp_path)
    rows = SparkSession.getActiveSession().read.parquet(str(tmp_path / "in"))
    rows.repartition(3).write.partitionBy("model", "strategy").parquet(str(tmp_path / "spark"))
    out = tmp_path / "duckdb"
    stored = publish(tmp_path / "spark", release="1", out=out, engine="duckdb").path
    one, other = (json.loads((path / "manifest.json").read_text()) for path in (stored, whole))
    assert one["content"] == other["content"]


@pytest.mark.usefixtures("without_pages", "few_rows")
def test_releases_in_parts_are_compared_as_those_in_one_file(answers, tmp_path):
    changed = answers.copy()
    one = changed.index[changed["model"] == "One"]
    changed.loc[one[:60], "answer"] = changed.loc[one[:60], "answer"].map(
        {"A": "B", "B": "A", "C": "D", "D": "C"}
    )
    (tmp_path / "in").mkdir()
    answers.to_parquet(tmp_path / "in" / "0.parquet", index=False)
    for engine in ("pandas", "duckdb"):
        publish(tmp_path / "in", release="1", out=tmp_path / engine, engine=engine)
    changed.to_parquet(tmp_path / "in" / "0.parquet", index=False)
    tables = {}
    for engines in (("pandas", "pandas"), ("pandas", "duckdb"), ("duckdb", "duckdb")):
        site = shutil.copytree(tmp_path / engines[0], tmp_path / "-".join(engines))
        release = publish(tmp_path / "in", release="2", out=site, engine=engines[1]).path
        tables[engines] = [
            pd.read_parquet(release / "downloads" / f"{name}.parquet").drop(
                columns="manifest_old", errors="ignore"
            )
            for name in CHANGES
        ]
    whole, *others = tables.values()
    assert whole[0]["change"].tolist() == ["answers changed", "same"]
    assert whole[0]["changed"].tolist() == [int(answers.loc[one[:60], "answer"].notna().sum()), 0]
    assert len(whole[-1])
    for found in others:
        for one, other in zip(whole, found, strict=True):
            pd.testing.assert_frame_equal(one, other)


@pytest.mark.usefixtures("without_pages", "few_rows")
def test_changed_answers_in_parts_are_found(answers, tmp_path):
    release = published(answers, tmp_path, engine="duckdb")
    part = release / "downloads" / "answers" / "00001.parquet"
    rows = pd.read_parquet(part)
    changed = rows["answer"].map({"A": "B", "B": "A"}).fillna(rows["answer"])
    rows.assign(answer=changed).to_parquet(part, index=False)
    rehash(release)
    (found,) = verify(release, pages=False)
    assert any("estimates" in problem.path for problem in found.problems)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="is not a regular file"):
        publish(tmp_path / "a.parquet", release="1", out=tmp_path / "out", engine="duckdb")


@pytest.mark.usefixtures("without_pages", "few_rows")
def test_problems_of_answers_beyond_memory_are_named(answers, tmp_path):
    first = answers.index[0]
    item = answers.loc[first, "item_id"]
    for changed, message in (
        (pd.concat([answers, answers.iloc[[0]].assign(snapshot="s-2025")]), "the same answer"),
        (answers.drop(first), "1 of 192 variants have no row"),
        (answers.assign(answer_raw="A"), "answer_raw: is not read by an engine"),
        (answers.replace({"item_id": {item: "other"}}), "unknown item"),
        (answers.replace({"model": {"One": "two"}}), "look the same to a reader"),
        (answers.assign(strategy="majority_vote"), "are majority votes"),
    ):
        assert message in problem_of(changed, tmp_path)


@pytest.mark.usefixtures("without_pages")
def test_groups_that_no_crossing_can_compare_need_variants_in_any_engine(benchmark_file, tmp_path):
    """White men and black women are no gap of race, nor of sex."""
    race = '[attributes.race]\nlabel = "Race"\npairs = [["w", "b"]]\ngroups = { w = "W", b = "B" }'
    sex = '[attributes.sex]\nlabel = "Sex"\npairs = [["m", "f"]]\ngroups = { m = "M", f = "F" }'
    both = (
        '[attributes.both]\nlabel = "Both"\npairs = [["w+m", "b+f"]]\ncrosses = ["race", "sex"]\n'
    )
    both += 'groups = { "w+m" = "White men", "b+f" = "Black women" }'
    benchmark = load_benchmark(benchmark_file(race=race, baseline=f"{sex}\n{both}"))
    answers = make_answers(["AB"] * 3, of=benchmark, attribute="both", groups=("w+m", "b+f"))
    for engine in ("pandas", "duckdb"):
        with pytest.raises(InputError, match="have no row"):
            published(answers, tmp_path, engine=engine, benchmarks=[benchmark])
