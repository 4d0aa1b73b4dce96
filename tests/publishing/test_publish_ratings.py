"""A release with ratings: whole, refused, verified; and one without."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.ratings.files import write_ratings
from fairstats.ratings.rubrics import load_rubric
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.ratings.table import check_ratings
from fairstats.release.contents import Release
from tests.drawn_ratings import drawn_ratings
from tests.publishing.edited_releases import rehash

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def ratings():
    """Every rubric, of one dataset and two models: enough for a row in every table."""
    drawn = drawn_ratings(items=6).assign(dataset="open")
    return check_ratings(drawn[drawn["model_2"] != "Model-3"])


@pytest.fixture(scope="module")
def published(demo, all_right, ratings, tmp_path_factory, without_pages):
    """A folder with answers and ratings, and their site; tests must not change it."""
    folder = tmp_path_factory.mktemp("rated")
    write_answers(all_right(demo), folder / "in" / "a.parquet")
    write_ratings(ratings, folder / "in" / "a.ratings.parquet")
    (folder / "in" / "a.comments.csv").write_text("task_id,comment\nt1,secret words\n")
    publish(folder / "in", release="1", out=folder / "site")
    return folder


@pytest.fixture
def folder(published, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(published, tmp_path / "rated")


def test_ratings_in_the_folder_are_published_with_every_table_and_without_comments(
    published, ratings
):
    release = Release(published / "site" / "v" / "1")
    pd.testing.assert_frame_equal(release.ratings, ratings)
    assert set(release.rubrics) == {"independent", "pairwise", "counterfactual"}
    for name, table in RATING_TABLES.items():
        found = release.table(name)
        assert list(found.columns) == list(table.columns)
        assert len(found) > 0, name
        assert not found.duplicated(list(table.keys)).any(), name
        assert (release.path / "downloads" / f"{name}.csv").exists()
    whole = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in release.path.rglob("*")
        if path.is_file()
    )
    assert "secret words" not in whole
    for found in verify(published / "site"):
        assert found.problems == ()


def test_without_ratings_the_tables_have_no_row(demo, all_right, tmp_path):
    answers = write_answers(all_right(demo), tmp_path / "a.parquet")
    release = Release(publish(answers, release="1", out=tmp_path / "site").path)
    assert release.ratings.empty
    assert all(release.table(name).empty for name in RATING_TABLES)
    assert all(found.problems == () for found in verify(tmp_path / "site"))


def test_a_rubric_of_ones_own_is_kept_with_the_release(demo, all_right, tmp_path):
    text = load_rubric("triage").path.read_text(encoding="utf-8").replace('"triage"', '"mine"')
    (tmp_path / "mine.toml").write_text(text)
    rubric = load_rubric(tmp_path / "mine.toml")
    rows = [
        {
            "benchmark": "demo",
            "rubric": "mine",
            "task_id": "t",
            "item_id": "i",
            "rater_id": "r",
            "rater_group": "physician",
            "dimension": dimension,
            "value": "yes",
        }
        for dimension in rubric.dimensions
    ]
    answers = write_answers(all_right(demo), tmp_path / "a.parquet")
    path = write_ratings(pd.DataFrame(rows), tmp_path / "m.ratings.parquet", rubrics=[rubric])
    with pytest.raises(InputError, match="no such rubric"):
        publish(answers, release="1", out=tmp_path / "site", ratings=path)
    assert not (tmp_path / "site" / "v").exists()
    made = publish(answers, release="1", out=tmp_path / "site", ratings=path, rubrics=[rubric])
    assert set(Release(made.path).rubrics) == {"mine"}
    assert verify(made.path)[0].problems == ()


def test_a_rating_that_was_changed_later_is_named(folder):
    path = folder / "site" / "v" / "1"
    release = Release(path)
    changed = release.ratings
    row = changed[
        (changed["rubric"] == "counterfactual") & (changed["dimension"] == "contents_differ")
    ].index[0]
    changed.loc[row, "value"] = {"yes": "no", "no": "yes"}[changed.at[row, "value"]]
    write_ratings(changed, folder / "new.ratings.parquet").replace(release.table_path("ratings"))
    assert "ratings.parquet" in str(verify(path)[0].problems[0])
    # With a manifest that was changed to fit, the figures give it away.
    rehash(path)
    told = [str(problem) for problem in verify(path)[0].problems]
    assert any("bias_rates" in problem and "recomputed as" in problem for problem in told)


def test_ratings_that_are_wrong_stop_a_release(folder, ratings):
    broken = ratings.copy()
    broken.loc[0, "value"] = "perhaps"
    broken.to_parquet(folder / "in" / "a.ratings.parquet")
    with pytest.raises(InputError, match="is not a value of"):
        publish(folder / "in", release="1", out=folder / "new")
    assert not (folder / "new" / "v").exists()
