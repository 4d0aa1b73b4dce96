"""A release is verified, and whatever was changed in it is named."""

from __future__ import annotations

import hashlib
import json
import shutil

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.publishing.diff import diff_releases
from fairstats.publishing.publish import publish
from fairstats.publishing.site_folder import assemble
from fairstats.publishing.verify import verify
from fairstats.release.manifest import open_release
from fairstats.report.board.figures import BoardFigures
from tests.publishing.edited_releases import rehash
from tests.report.conftest import answers_of_models
from tests.report.reading import Markup, broken_links


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two releases: in the second a model is new, one is gone and one has other answers."""
    folder = tmp_path_factory.mktemp("verify")
    first = answers_of_models(("One", "Two"))
    second = answers_of_models(("One", "Three"))
    changed = second.index[(second["model"] == "One") & (second["group"] == "black")][:6]
    second.loc[changed, "answer"] = "D"
    second.loc[changed, "status"] = "ok"
    for name, frame in (("1", first), ("2", second)):
        frame.to_parquet(folder / f"{name}.parquet")
        publish([folder / f"{name}.parquet"], release=name, out=folder / "site", renderer="builtin")
        shutil.copytree(folder / "site" / "v", folder / f"releases-{name}")
    return folder / "site"


@pytest.fixture
def release(published, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(published / "v" / "1", tmp_path / "1")


def test_a_release_that_is_what_it_says_has_no_problem(published):
    # The pages of the newer one show what changed.
    (drawn,) = verify(published / "v" / "2")
    assert drawn.problems == ()
    one, two, site = verify(published, pages=False)
    assert (one.path.name, two.path.name) == ("1", "2")
    assert (site.path, site.problems) == (published, ())
    assert site.files > 10
    for found in (one, two):
        assert found.problems == ()
        assert found.files > 10
        assert found.rows["estimates"] == 2 * (4 * 18 + 15 + 3 * 4)
        assert found.rows["ranks"] == 2


@pytest.fixture
def drawn_before(published, monkeypatch):
    """The pages of the first release as they were drawn: drawing them again takes time."""
    pages = published / "v" / "1"

    def draw(release, folder, renderer):
        for path in [pages / name for name in ("index.html", "leaderboard.pdf", "search.json")]:
            shutil.copy(path, folder)
        shutil.copytree(pages / "reports", folder / "reports")
        return json.loads((pages / "manifest.json").read_text())["drawn_by"]

    monkeypatch.setattr("fairstats.publishing.remade_files.draw_pages", draw)
    monkeypatch.setattr("fairstats.publishing.remade_files.shutil.which", lambda program: None)


@pytest.fixture
def site(published, tmp_path):
    """A copy of the whole site to be changed."""
    return shutil.copytree(published, tmp_path / "site")


def test_every_link_of_both_releases_and_of_the_newest_leads_to_a_place_in_the_site(published):
    assert broken_links(published) == []


def test_the_page_of_releases_leads_to_the_earlier_and_to_the_newest(published):
    page = published / "v" / "2" / "reports" / "releases.html"
    links = [attributes.get("href") for _, attributes in Markup(page.read_text("utf-8")).tags]
    found = [(page.parent / link.partition("#")[0]).resolve() for link in links if link]
    for name in ("v/1/index.html", "index.html"):
        assert found.count((published / name).resolve()) == 1


def test_each_page_of_the_newest_release_has_a_redirect_in_latest(published):
    newest, latest = published / "v" / "2", published / "latest"
    pages = {path.relative_to(newest) for path in newest.rglob("*.html")}
    assert {path.relative_to(latest) for path in latest.rglob("*") if path.is_file()} == pages
    there = {latest / page: newest / page for page in pages}
    for page, target in (there | {published / "index.html": newest / "index.html"}).items():
        tags = Markup(page.read_text("utf-8")).tags
        links = [attributes["href"] for _, attributes in tags if "href" in attributes]
        (sent,) = [a["content"] for _, a in tags if a.get("http-equiv") == "refresh"]
        assert len(links) == 2  # the canonical address, and one for readers
        for link in (*links, sent.removeprefix("0; url=")):
            assert (page.parent / link).resolve() == target.resolve()


def test_the_api_of_the_newest_release_has_a_stable_address(published):
    document = json.loads((published / "api" / "latest" / "models" / "one.json").read_text("utf-8"))
    page = published / "api" / "latest" / "models" / document["page"]
    assert page.resolve() == (published / "v" / "2" / "reports" / "models" / "one.html").resolve()
    assert [path.name for path in (published / "api").iterdir()] == ["latest"]


def content(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def words_of(found) -> dict[str, str]:
    """Return the first three words about each file."""
    return {
        problem.path.rpartition("/")[2]: " ".join(problem.message.split()[:3])
        for problem in found.problems
    }


@pytest.mark.usefixtures("without_figures")
def test_what_lies_around_the_releases_is_verified_and_made_again(site, published):
    (site / "latest" / "index.html").write_text("<p>all is fair</p>")
    (site / "releases.json").unlink()
    (site / "latest" / "extra.html").write_text("x")
    *_, around = verify(site, pages=False)
    assert words_of(around) == {
        "index.html": "does not match",
        "releases.json": "is missing",
        "extra.html": "is not part",
    }
    assemble(site)
    assert content(site) == content(published)


@pytest.mark.usefixtures("without_figures")
@pytest.mark.parametrize("name", ["1", "2"])
def test_a_release_that_is_gone_is_missed(site, name):
    shutil.rmtree(site / "v" / name)
    assemble(site)
    *_, around = verify(site, pages=False)
    # The newest may be taken away: only the hash of its manifest shows it.
    said = [problem.message.partition(",")[0] for problem in around.problems]
    assert said == (["was published after 1"] if name == "1" else [])


@pytest.mark.parametrize(
    "changes",
    [
        [
            ("index.html", "</h1>", " 99.9%</h1>", "words"),
            ("reports/models/one.html", "</main>", "<script>x()</script></main>", "scripts"),
            ("reports/models/two.html", "<circle ", "<circle r='9' ", "drawings"),
            ("reports/methods.html", "<main", '<main hidden=""', None),
        ],
        [("reports/models/one.html", "<main", '<main onclick="x()"', "scripts")],
    ],
)
@pytest.mark.parametrize("drawn_by", [None, "quarto 1.2.3"])
@pytest.mark.usefixtures("drawn_before")
def test_pages_that_were_changed_with_their_hashes_are_named(release, changes, drawn_by):
    for name, old, new, _ in changes:
        text = (release / name).read_text()
        assert old in text
        (release / name).write_text(text.replace(old, new, 1))
        rehash(release)
    if drawn_by is not None:
        edit_manifest(release, drawn_by=drawn_by)
    (found,) = verify(release)
    said = {problem.path: problem.message for problem in found.problems}
    if drawn_by is None:
        expected = "does not match the tables of the release"
        assert said == {
            str(release / name): f"{expected} ({differ})" if differ else expected
            for name, *_, differ in changes
        }
    else:
        # Whoever changes a page can name another renderer in the manifest too.
        message = said.pop(str(release))
        assert message.startswith("was not verified:")
        assert "by quarto" in message
        for name, *_, differ in changes:
            assert (f"{name} ({differ})" if differ else name) in message


def edit_manifest(release, **values):
    manifest = json.loads((release / "manifest.json").read_text())
    (release / "manifest.json").write_text(json.dumps(manifest | values))


@pytest.mark.parametrize("drawn_by", [None, "quarto 1.2.3"])
@pytest.mark.usefixtures("drawn_before")
def test_a_pdf_that_was_swapped_with_its_hash_does_not_pass(release, drawn_by):
    (release / "leaderboard.pdf").write_bytes(b"%PDF-1.7 all is fair")
    rehash(release)
    if drawn_by is not None:
        edit_manifest(release, drawn_by=drawn_by)
    (found,) = verify(release)
    (problem,) = found.problems
    if drawn_by is None:
        assert problem.path.endswith("leaderboard.pdf")
        assert problem.message.startswith("does not match")
    else:
        assert problem.message.startswith("was not verified:")
        assert "leaderboard.pdf" in problem.message


def test_pages_that_are_not_drawn_again_are_listed(release):
    (release / "leaderboard.pdf").write_bytes(b"%PDF-1.7 all is fair")
    rehash(release)
    (found,) = verify(release, pages=False)
    assert found.problems == ()
    (note,) = [note for note in found.notes if "index.html" in note]
    assert note.startswith("not checked: ")
    assert "leaderboard.pdf" in note


def test_a_manifest_that_counts_otherwise_is_named(release):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["answers"][0]["missing"] = 0
    (release / "manifest.json").write_text(json.dumps(manifest))
    (found,) = verify(release)
    said = {(problem.column, problem.message) for problem in found.problems}
    assert [column for column, text in said if text.startswith("does not match")] == ["answers"]


def test_a_change_to_an_old_release_shows_in_the_next_one(site):
    """Who changes a release and its manifest has to change every later one too."""
    old = site / "v" / "1"
    (old / "leaderboard.pdf").write_text("another")
    manifest = json.loads((old / "manifest.json").read_text())
    manifest["files"]["leaderboard.pdf"] = hashlib.sha256(b"another").hexdigest()
    (old / "manifest.json").write_text(json.dumps(manifest))
    one, two, _ = verify(site, pages=False)
    assert one.problems == ()
    (problem,) = two.problems
    assert problem.message.startswith("is not the manifest that")


def test_publishing_leaves_older_releases_as_they_are(published):
    before, after = content(published.with_name("releases-1")), content(published / "v")
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)
    assert not (published / "latest" / "reports" / "models" / "two.html").exists()
    assert (published / "latest" / "reports" / "models" / "three.html").exists()


def test_a_changed_a_missing_and_an_added_file_are_named(release):
    (release / "index.html").write_text("<p>all is fair</p>")
    (release / "leaderboard.pdf").unlink()
    (release / "extra.html").write_text("x")
    (found,) = verify(release)
    assert words_of(found) == {
        "index.html": "was changed after",
        "leaderboard.pdf": "is missing",
        "extra.html": "is not part",
    }


def test_an_estimate_that_the_answers_do_not_give_is_named(release):
    estimates = pd.read_parquet(release / "downloads" / "estimates.parquet")
    row = estimates.index[(estimates["metric"] == "cfr") & (estimates["model"] == "Two")][1]
    estimates.loc[row, "estimate"] += 1e-6
    estimates.to_parquet(release / "downloads" / "estimates.parquet")
    rehash(release)
    (found,) = verify(release)
    (problem,) = found.problems
    assert (problem.row, problem.column) == (row + 1, "estimate")
    assert "Two" in problem.message
    assert "cfr" in problem.message
    assert "recomputed as" in problem.message


def test_a_verdict_and_a_rank_that_were_changed_are_named(release):
    estimates = pd.read_parquet(release / "downloads" / "estimates.parquet")
    row = estimates.index[estimates["verdict"].notna()][0]
    estimates.loc[row, "verdict"] = "fair"
    estimates.to_parquet(release / "downloads" / "estimates.parquet")
    ranks = pd.read_parquet(release / "downloads" / "ranks.parquet")
    ranks.loc[0, "rank_low"] = 9
    ranks.to_parquet(release / "downloads" / "ranks.parquet")
    rehash(release)
    (found,) = verify(release)
    assert [problem.column for problem in found.problems] == ["verdict", "rank_low"]


def test_what_is_no_release_is_refused(tmp_path):
    with pytest.raises(InputError, match="contains no release"):
        verify(tmp_path / "site")


def test_comparisons_with_earlier_releases_are_computed_again(site):
    path = site / "v" / "2" / "downloads" / "earlier_comparisons.parquet"
    table = pd.read_parquet(path)
    assert set(table["model_new"]) == {"One"}
    table["estimate"] += 0.01
    table.to_parquet(path)
    rehash(site / "v" / "2")
    _, found, _ = verify(site, pages=False)
    assert any(problem.path == str(path) for problem in found.problems)


def test_a_diff_says_what_moved_and_why(published):
    found = diff_releases(published / "v" / "1", published / "v" / "2")
    table = found.answer_sets.set_index("model")
    assert table["changed"].isna().tolist() == table["change"].isin(["gone", "new"]).tolist()
    sets = table["change"].to_dict()
    assert sets == {"One": "answers changed", "Two": "gone", "Three": "new"}
    assert set(found.figures["model"]) == {"One"}
    assert set(found.figures["why"]) == {"answers"}
    row = found.figures.query("metric == 'cfr' and attribute == 'race'").iloc[0]
    assert row["change"] == pytest.approx(row["new"] - row["old"])
    assert (found.figures["attribute"] != "sex").all()


def test_a_diff_has_the_range_of_ranks_that_the_board_prints(published):
    found = diff_releases(published / "v" / "1", published / "v" / "2").answer_sets
    for name, side in (("1", "old"), ("2", "new")):
        (board,) = open_release(published / "v" / name).boards
        figures = BoardFigures(board, open_release(published / "v" / name))
        there = found[found[f"ranked_{side}"].notna()]
        assert len(there)
        for row in there.to_dict("records"):
            assert row[f"rank_{side}"] == figures.rank(row["model"])


def test_a_release_does_not_differ_from_itself(published):
    found = diff_releases(published / "v" / "1", published / "v" / "1")
    assert set(found.answer_sets["change"]) == {"same"}
    assert found.figures.empty


def test_another_benchmark_or_method_is_the_reason_where_answers_are_the_same(release, published):
    estimates = pd.read_parquet(release / "downloads" / "estimates.parquet")
    estimates["estimate"] *= 1.5
    estimates.to_parquet(release / "downloads" / "estimates.parquet")
    rehash(release)
    assert set(diff_releases(published / "v" / "1", release).figures["why"]) == {"method"}
    toml = release / "benchmarks" / "demo.toml"
    toml.write_text(toml.read_text().replace('title = "', 'title = "New '))
    rehash(release)
    assert set(diff_releases(published / "v" / "1", release).figures["why"]) == {"benchmark"}
