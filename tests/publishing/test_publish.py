"""A release is whole, immutable, and says what it was made from."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace

import pandas as pd
import pytest

import fairstats.publishing.publish
from fairstats._lib import untrusted_files
from fairstats._lib.problems import InputError
from fairstats.answers.files import read_answers, write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.estimates.analyze import analyze
from fairstats.publishing.publish import publish
from fairstats.release.contents import releases_of
from fairstats.release.manifest import open_release
from fairstats.release.tables import TABLES
from tests.report.conftest import answers_of_models

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture
def source(tmp_path):
    return write_answers(answers_of_models(("One", "Two")), tmp_path / "in" / "answers.parquet")


def test_manifest_has_the_hash_of_every_file(source, tmp_path):
    published = publish(source, release="2026.11", out=tmp_path / "out")
    manifest = json.loads((published.path / "manifest.json").read_text())
    files = {
        p.relative_to(published.path).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in published.path.rglob("*")
        if p.is_file() and p.name != "manifest.json"
    }
    assert manifest["files"] == files
    assert {
        "downloads/answers.parquet",
        "downloads/estimates.parquet",
        "benchmarks/demo.toml",
    } <= files.keys()
    counted = {
        "answers": 2 * 24 * 8,
        "estimates": 2 * (4 * 18 + 15 + 3 * 4),
        "ranks": 2,
        "comparisons": 0,
        "replication": 0,
        # Four letters and the missing answers, for each group.
        "letters": 2 * 8 * 5,
    }
    assert counted.items() <= manifest["rows"].items()
    for name, rows in manifest["rows"].items():
        assert rows == len(pd.read_parquet(published.path / "downloads" / f"{name}.parquet"))
    assert manifest["libraries"]["pandas"] == pd.__version__
    assert str(tmp_path) not in (published.path / "manifest.json").read_text()


def test_stages_are_told_in_order_with_their_parts(source, tmp_path):
    told = []
    publish(source, release="2026.11", out=tmp_path / "out", watch=lambda *one: told.append(one))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == [
        "reading answers",
        "computing tables",
        "writing tables",
        "putting the site together",
    ]
    assert ("computing tables", 0, len(TABLES)) in told
    assert all(done < parts for _, done, parts in told if parts)


def test_the_estimates_follow_from_the_release_alone(source, tmp_path):
    published = publish(source, release="2026.11", out=tmp_path / "out")
    benchmark = load_benchmark(published.path / "benchmarks" / "demo.toml")
    again = analyze(
        read_answers(published.path / "downloads" / "answers.parquet"), benchmarks=[benchmark]
    )
    assert again.equals(pd.read_parquet(published.path / "downloads" / "estimates.parquet"))


def test_publishing_the_same_again_changes_nothing(source, tmp_path):
    first = publish(source, release="2026.11", out=tmp_path / "out")
    before = (first.path / "manifest.json").stat().st_mtime_ns
    second = publish(source, release="2026.11", out=tmp_path / "out")
    assert (first.new, second.new) == (True, False)
    assert (first.path / "manifest.json").stat().st_mtime_ns == before


@pytest.mark.usefixtures("few_tables")
def test_a_site_with_one_release_is_opened_as_that(source, tmp_path):
    first = publish(source, release="1", out=tmp_path / "out")
    assert open_release(tmp_path / "out").path == first.path
    publish(source, release="2", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"is a site with several releases.*v/2"):
        open_release(tmp_path / "out")
    with pytest.raises(InputError, match="contains no release"):
        open_release(tmp_path / "in")


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("changed", ["answers", "policy"])
def test_other_content_under_the_name_of_a_release_is_refused(source, tmp_path, changed):
    published = publish(source, release="2026.11", out=tmp_path / "out")
    before = {p: p.read_bytes() for p in published.path.rglob("*") if p.is_file()}
    missing = None
    if changed == "answers":
        frame = read_answers(source)
        frame.loc[frame["answer"].notna().idxmax(), ["answer", "status"]] = [None, "refused"]
        write_answers(frame, source)
    else:
        missing = "incorrect"
    with pytest.raises(InputError, match="already published with different"):
        publish(source, release="2026.11", out=tmp_path / "out", missing=missing)
    assert before == {p: p.read_bytes() for p in published.path.rglob("*") if p.is_file()}


def test_answers_with_a_problem_are_not_published(tmp_path):
    frame = answers_of_models(("One",), items=23)
    source = write_answers(frame, tmp_path / "answers.parquet")
    with pytest.raises(InputError, match="only 23 of 24 items are complete"):
        publish(source, release="2026.11", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name", ["", "../2026.11", "a/b", ".hidden", "x" * 60, "a b", "con", "NUL.1", "Latest"]
)
def test_a_release_has_a_name_that_is_a_folder(source, tmp_path, name):
    with pytest.raises(InputError, match="is not a valid release name"):
        publish(source, release=name, out=tmp_path / "out")


def test_files_that_are_too_large_together_are_not_published(tmp_path, monkeypatch):
    files = [
        write_answers(answers_of_models((name,)), tmp_path / f"{name}.parquet")
        for name in ("One", "Two")
    ]
    monkeypatch.setattr(untrusted_files, "MAX_PARQUET_ROWS", 300)
    with pytest.raises(InputError, match="more than 300 rows"):
        publish(files, release="2026.11", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_when_drawing_fails_nothing_is_left(source, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no page")

    monkeypatch.setattr(fairstats.publishing.publish, "render", fail)
    with pytest.raises(RuntimeError, match="no page"):
        publish(source, release="2026.11", out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.usefixtures("few_tables")
def test_item_ids_with_commas_and_names_with_slashes_are_published(
    tmp_path, benchmark_file, all_right
):
    keys = 'item_id,answer_key\n"case, 1",A\n"say ""b""",B\n'
    benchmark = load_benchmark(benchmark_file(keys=keys, name='name = "my/own"'))
    source = write_answers(all_right(benchmark), tmp_path / "answers.parquet")
    made = publish(source, release="r", out=tmp_path / "out", benchmarks=[benchmark])
    (copy,) = (made.path / "benchmarks").glob("*.toml")
    assert load_benchmark(copy).answer_keys == {"case, 1": "A", 'say "b"': "B"}
    assert load_benchmark(copy).name == "my/own"


def test_file_with_name_of_built_in_benchmark_is_refused(source, tmp_path, demo):
    file = tmp_path / "generous.toml"
    wide = replace(demo, equivalence_margin=0.5, path=file)
    for given in ([wide], {"demo": wide}):
        with pytest.raises(InputError) as caught:
            publish(source, release="r", out=tmp_path / "out", benchmarks=given)
        (problem,) = caught.value.problems
        assert problem.path == str(file)
        assert (problem.column, problem.value) == ("name", "demo")
        assert problem.remedy.startswith("choose another name")
    assert not (tmp_path / "out").exists()
    publish(source, release="r", out=tmp_path / "out", benchmarks=[demo])


def test_file_with_other_keys_and_name_of_built_in_is_refused(source, tmp_path, demo):
    text = demo.path.read_text(encoding="utf-8")
    (tmp_path / "benchmarks").mkdir()
    file = tmp_path / "benchmarks" / "demo.toml"
    file.write_text(text, encoding="utf-8")
    items = demo.keys_file.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "benchmarks" / demo.keys_file.name).write_text(
        "".join(items[:-1]), encoding="utf-8"
    )
    with pytest.raises(InputError, match="choose another name"):
        publish(source, release="r", out=tmp_path / "out", benchmarks=[load_benchmark(file)])


@pytest.mark.parametrize("alpha", [1e-9, 0.0009, 0.11, 0.4])
def test_level_that_no_reader_expects_is_refused(source, tmp_path, alpha):
    with pytest.raises(InputError, match=r"alpha=.*use 0\.001 to 0\.1"):
        publish(source, release="r", out=tmp_path / "out", alpha=alpha)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("few_tables")
def test_of_two_publications_at_once_one_waits_for_the_other(source, tmp_path):
    """The same release is made once; another one stands after it."""
    other = write_answers(answers_of_models(("Three",)), tmp_path / "3.parquet")
    found = {}

    def run(name, path, release):
        found[name] = publish(path, release=release, out=tmp_path / "out")

    jobs = (("a", source, "1"), ("b", source, "1"), ("c", other, "2"))
    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted([found["a"].new, found["b"].new]) == [False, True]
    assert found["c"].new
    releases = releases_of(tmp_path / "out")
    assert sorted(release.name for release in releases) == ["1", "2"]
    assert releases[0].manifest["previous"] is None
    assert releases[1].manifest["previous"]["release"] == releases[0].name
    assert len(list((tmp_path / "out" / "v").iterdir())) == 2


def test_names_that_differ_by_case_alone_are_refused(source, tmp_path):
    publish(source, release="2026.11a", out=tmp_path / "out")
    other = write_answers(answers_of_models(("Three",)), tmp_path / "3.parquet")
    with pytest.raises(InputError, match="only in upper and lower case"):
        publish(other, release="2026.11A", out=tmp_path / "out")


def test_a_clock_that_runs_behind_makes_no_release(source, tmp_path):
    first = publish(source, release="1", out=tmp_path / "out")
    manifest = json.loads((first.path / "manifest.json").read_text())
    manifest["created_at"] = "2999-01-01T00:00:00.000+00:00"
    (first.path / "manifest.json").write_text(json.dumps(manifest))
    other = write_answers(answers_of_models(("Three",)), tmp_path / "3.parquet")
    with pytest.raises(InputError, match="is older than release 1"):
        publish(other, release="2", out=tmp_path / "out")
