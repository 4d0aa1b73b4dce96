"""A release of answers that were asked with retrieved snippets: whole, refused, verified."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats._lib.safe_names import file_sha256
from fairstats.answers.files import write_answers
from fairstats.cli import app
from fairstats.publishing.publish import publish
from fairstats.publishing.verify import verify
from fairstats.release.contents import Release
from fairstats.release.tables import TABLES
from fairstats.retrieval.effects import retrieval_effects
from fairstats.retrieval.overlap import retrieval_overlap
from fairstats.retrieval.retrievals_table import (
    RETRIEVAL_COLUMNS,
    context_sha256,
    retrieval_files,
    write_retrievals,
)
from fairstats.retrieval.voting import majority_vote, vote_counts
from tests.make_answers import make_answers
from tests.publishing.edited_releases import rehash
from tests.retrieval_tables import drawn_lists, retrievals_of

NEW = ("overlap", "retrieval_effects", "votes")


pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def retrievals(demo):
    """To rank 12, with texts that a release must not hold."""
    lists = drawn_lists(demo, depth=12, replaced=0.03)
    return retrievals_of(lists).assign(text="<script>not for a release</script>", title="=1+1")


@pytest.fixture
def folder(demo, retrievals, tmp_path):
    return write_inputs(demo, retrievals, tmp_path)


def write_inputs(demo, retrievals, tmp_path):
    """Answers by three strategies, and retrievals in a folder below them."""
    # None missing: comparisons are then exact, and take no time.
    answers = make_answers(
        0.6, models=["Model"], strategies=["plain", "plain+bm25@10", "plain+bm25@5"]
    )
    write_answers(answers, tmp_path / "in" / "answers.parquet")
    write_retrievals(retrievals, tmp_path / "in" / "deeper" / "bm25.retrievals.parquet")
    return tmp_path / "in"


def published(source, tmp_path, **options) -> Release:
    return Release(publish(source, release="1", out=tmp_path / "out", **options).path)


@pytest.fixture(scope="module")
def made(demo, retrievals, tmp_path_factory) -> Release:
    folder = tmp_path_factory.mktemp("made")
    return published(write_inputs(demo, retrievals, folder), folder)


@pytest.fixture
def release(made, tmp_path) -> Release:
    """A copy to be changed."""
    return Release(shutil.copytree(made.path, tmp_path / "1"))


def test_without_retrievals_the_tables_have_their_columns_and_no_row(demo, tmp_path):
    source = write_answers(make_answers(0.6, missing=0.05), tmp_path / "a.parquet")
    release = published(source, tmp_path)
    for name in ("overlap", "retrieval_effects"):
        table = release.table(name)
        assert (len(table), tuple(table.columns)) == (0, TABLES[name].columns)
    assert (len(release.retrievals), tuple(release.retrievals.columns)) == (0, RETRIEVAL_COLUMNS)
    assert len(release.table("votes")) == 1
    assert release.manifest["rows"]["retrievals"] == 0
    (found,) = verify(release.path)
    assert found.problems == ()
    # A release that was made before there were retrievals has no such file.
    release.table_path("retrievals").unlink()
    assert Release(release.path).retrievals.empty


def test_the_tables_are_those_of_the_functions_and_verified(release, retrievals):
    answers = pd.read_parquet(release.answers_path)
    expected = {
        "overlap": retrieval_overlap(retrievals, top_k=[5, 10, 12]),
        "retrieval_effects": retrieval_effects(answers, retrievals),
        "votes": vote_counts(answers),
    }
    for name, table in expected.items():
        pd.testing.assert_frame_equal(release.table(name), table)
        assert len(table) > 0
    assert set(expected["votes"]["strategy"]) == {"plain", "plain+bm25@10", "plain+bm25@5"}
    effects = expected["retrieval_effects"]
    assert set(effects["strategy"]) == {"plain+bm25@10", "plain+bm25@5"}
    (found,) = verify(release.path)
    assert found.problems == ()
    assert {name: found.rows[name] for name in NEW} == {k: len(v) for k, v in expected.items()}


def test_a_release_holds_what_was_retrieved_without_its_text(release, retrievals):
    expected = retrievals[list(RETRIEVAL_COLUMNS)]
    keys = list(RETRIEVAL_COLUMNS[:7])
    pd.testing.assert_frame_equal(release.retrievals, expected.sort_values(keys, ignore_index=True))
    for file in release.path.rglob("*"):
        assert not file.is_file() or b"not for a release" not in file.read_bytes(), file
    manifest = release.manifest
    assert manifest["rows"]["retrievals"] == 24 * 8 * 12
    assert len(manifest["content"]["retrievals"]) == 64
    assert manifest["files"]["downloads/retrievals.parquet"] == file_sha256(
        release.table_path("retrievals")
    )
    assert "bm25.retrievals.parquet" in [source["name"] for source in manifest["sources"]]


def test_files_of_retrievals_can_be_named_in_any_place(folder, made):
    named = folder / "deeper" / "bm25.retrievals.parquet"
    assert retrieval_files([folder, named, folder / "answers.parquet"]) == [named]
    for source, option in (
        ([*folder.rglob("*.parquet")], ()),
        (folder, [named]),
        (folder / "answers.parquet", folder / "deeper"),
    ):
        again = publish(source, release="1", out=made.path.parents[1], retrievals=option)
        assert (again.path, again.new) == (made.path, False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[t["rank"] < 10], "end at rank 9"),
        (lambda t: t.assign(retriever="dense"), "no retrievals by bm25"),
        (lambda t: t[t["group"] != "original"], "no snippets for baseline original"),
        (lambda t: t.assign(item_id="other-" + t["item_id"]), "does not declare it"),
        (lambda t: t.assign(benchmark="fairmedqa"), "no answers in this release"),
        (lambda t: t.assign(benchmark="../<b>"), "no answers in this release"),
    ],
)
def test_retrievals_that_do_not_fit_the_answers_are_refused(
    folder, retrievals, tmp_path, change, said
):
    write_retrievals(change(retrievals), folder / "deeper" / "bm25.retrievals.parquet")
    with pytest.raises(InputError, match=said):
        published(folder, tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_file_that_holds_none_is_refused(folder, tmp_path):
    for option in (folder / "answers.parquet", [tmp_path / "nowhere"], tmp_path):
        (folder / "deeper" / "bm25.retrievals.parquet").unlink(missing_ok=True)
        with pytest.raises(InputError, match="contains no retrievals"):
            published(folder, tmp_path, retrievals=option)
    with pytest.raises(InputError, match="no such file"):
        published(folder, tmp_path, retrievals=[tmp_path / "x.retrievals.parquet"])


def test_answers_that_were_asked_with_other_snippets_are_refused(folder, retrievals, tmp_path):
    answers = pd.read_parquet(folder / "answers.parquet")
    texts = retrievals.sort_values("rank").groupby(["item_id", "attribute", "group"])
    texts = texts["snippet_sha256"].agg(list)

    def context(strategy, *variant):
        k = int(strategy.partition("@")[2] or 0)
        return context_sha256(texts[variant][:k]) if k else None

    keys = ["strategy", "item_id", "attribute", "group"]
    contexts = [context(*row) for row in answers[keys].itertuples(index=False)]
    own = answers.assign(context_sha256=contexts)
    write_answers(own, folder / "answers.parquet")
    assert published(folder, tmp_path).table("overlap").shape[0] > 0
    # The same answers, but one was asked with the snippets in another order.
    row = own.index[own["strategy"] == "plain+bm25@5"][7]
    item, group = own.loc[row, "item_id"], own.loc[row, "group"]
    own.loc[row, "context_sha256"] = context_sha256(
        texts[item, own.loc[row, "attribute"], group][4::-1]
    )
    write_answers(own, folder / "answers.parquet")
    with pytest.raises(InputError, match=f"differ from those of bm25: {item}, {group}"):
        publish(folder, release="2", out=tmp_path / "out")


@pytest.mark.parametrize("clustered", [False, True])
def test_votes_are_refused_since_their_groups_cannot_differ(folder, tmp_path, clustered):
    answers = pd.read_parquet(folder / "answers.parquet")
    votes = majority_vote(answers[answers["strategy"] == "plain"])
    if clustered:
        votes["strategy"] = "majority_vote_open"
    write_answers(votes, folder / "deeper" / "votes.parquet")
    with pytest.raises(InputError, match="majority votes"):
        publish(folder, release="1", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # The same under a name of one's own is nobody's vote.
    mine = write_answers(votes.assign(strategy="my vote"), folder / "deeper" / "votes.parquet")
    assert publish(mine, release="1", out=tmp_path / "out").new


def test_answers_may_be_published_without_what_they_were_asked_with(folder, tmp_path):
    (folder / "deeper" / "bm25.retrievals.parquet").unlink()
    command = ["publish", "--answers", str(folder), "--release", "1", "--out"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "the retrievals file is missing" in done.stderr
    assert not (tmp_path / "out").exists()
    command.insert(1, "--without-retrievals")
    done = CliRunner().invoke(app, [*command, str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    said = [line for line in done.stderr.splitlines() if "without retrievals" in line]
    assert said == [
        f"“Model”, “{strategy}”: published without retrievals"
        for strategy in ("plain+bm25@10", "plain+bm25@5")
    ]
    assert Release(tmp_path / "out" / "v" / "1").table("retrieval_effects").empty


def test_the_command_takes_retrievals_from_elsewhere(folder, tmp_path):
    elsewhere = (folder / "deeper" / "bm25.retrievals.parquet").rename(
        tmp_path / "bm25.retrievals.parquet"
    )
    command = ["publish", "--answers", str(folder), "--release", "1", "--retrievals"]
    done = CliRunner().invoke(app, [*command, str(elsewhere), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "without retrievals" not in done.output
    assert len(Release(tmp_path / "out" / "v" / "1").table("overlap")) > 0


def test_a_changed_snippet_or_figure_is_named(release):
    before = release.retrievals
    changed = before.assign(
        snippet_id=before["snippet_id"].mask(before.index < 12, "s" + before["snippet_id"])
    )
    changed.to_parquet(release.table_path("retrievals"))
    (found,) = verify(release.path)
    (problem,) = found.problems
    assert problem.message.startswith("was changed")
    rehash(release.path)
    (found,) = verify(release.path)
    assert any("overlap.parquet" in problem.path for problem in found.problems)
    before.assign(score=before["score"] * 2).to_parquet(release.table_path("retrievals"))
    rehash(release.path)
    (found,) = verify(release.path)
    assert {problem.column for problem in found.problems} == {"content"}
    before.to_parquet(release.table_path("retrievals"))
    votes = release.table("votes")
    votes.loc[0, "n_ties"] += 1
    votes.to_parquet(release.path / "downloads" / "votes.parquet")
    rehash(release.path)
    (found,) = verify(release.path)
    (problem,) = found.problems
    assert (problem.row, problem.column) == (1, "n_ties")


def test_retrievals_that_are_none_any_more_are_named(release):
    release.retrievals.drop(columns="rank").to_parquet(release.table_path("retrievals"))
    rehash(release.path)
    (found,) = verify(release.path)
    assert "is not a retrievals table" in [problem.message for problem in found.problems]
