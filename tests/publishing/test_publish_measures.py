"""A release with measures of vignettes: whole, recomputed, refused."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.vignettes.audit import measure_vignettes
from fairstats.vignettes.tables import write_measures
from tests.publishing.edited_releases import rehash

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def measures():
    return measure_vignettes(read_vignettes("demo"), benchmark_version="1")


@pytest.fixture(scope="module")
def site(demo, all_right, measures, tmp_path_factory, without_pages):
    """A site with measures; tests must not change it."""
    folder = tmp_path_factory.mktemp("measured")
    write_answers(all_right(demo), folder / "in" / "a.parquet")
    write_measures(measures, folder / "in" / "demo.measures.parquet")
    publish(folder / "in", release="1", out=folder / "site")
    return folder / "site"


def test_measures_in_the_folder_are_published_and_the_findings_recomputed(site, measures):
    release = Release(site / "v" / "1")
    pd.testing.assert_frame_equal(release.measures, measures)
    findings = release.table("vignette_findings")
    assert {"leakage", "content", "selection"} <= set(findings["aspect"])
    for found in verify(site):
        assert found.problems == ()


def test_a_changed_measure_shows(site, tmp_path):
    path = shutil.copytree(site / "v" / "1", tmp_path / "1")
    release = Release(path)
    changed = release.measures
    of_one = (changed["measure"] == "words") & (changed["group"] == "white")
    changed.loc[of_one, "value"] += 1
    write_measures(changed, release.table_path("measures"))
    assert "was changed" in str(verify(path)[0].problems[0])
    rehash(path)
    said = [str(problem) for problem in verify(path)[0].problems]
    assert any("vignette_findings" in line and "recomputed" in line for line in said)


def test_measures_may_lie_elsewhere_and_have_to_be_of_a_benchmark_that_was_asked(
    demo, all_right, measures, tmp_path
):
    answers = write_answers(all_right(demo), tmp_path / "a.parquet")
    other = write_measures(measures.assign(benchmark="mine"), tmp_path / "m" / "x.measures.parquet")
    with pytest.raises(InputError, match="no answers in this release"):
        publish(answers, release="1", out=tmp_path / "site", measures=other)
    with pytest.raises(InputError, match="contains no measures"):
        publish(answers, release="1", out=tmp_path / "site", measures=answers)
    assert not (tmp_path / "site").exists()
    own = write_measures(measures, tmp_path / "o" / "x.measures.parquet")
    release = publish(answers, release="1", out=tmp_path / "site", measures=own.parent)
    assert len(Release(release.path).measures) == len(measures)


@pytest.mark.parametrize("fault", ["cut off", "an item gone", "an item too many"])
def test_measures_that_are_not_of_these_items_whole_are_refused(
    demo, all_right, measures, tmp_path, fault
):
    answers = write_answers(all_right(demo), tmp_path / "a.parquet")
    first = measures["item_id"] == "demo-01"
    leaks = measures["measure"] == "leakage_overlap"
    wrong = {
        "cut off": measures.drop(measures.index[first & leaks][:3]),
        "an item gone": measures[~first],
        "an item too many": pd.concat([measures, measures[first].assign(item_id="demo-99")]),
    }[fault]
    path = write_measures(wrong, tmp_path / "x.measures.parquet")
    with pytest.raises(InputError, match="is not an item of demo with all its measures"):
        publish(answers, release="1", out=tmp_path / "site", measures=path)
