"""Releasing: refusals, left-out items with reasons; and the complete process by command line."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import load_items, read_vignettes
from fairstats.cli import app
from fairstats.ratings.files import read_ratings
from fairstats.ratings.rubrics import load_rubric
from fairstats.vignettes.releasing import releasing
from fairstats.vignettes.releasing.releasing import release_vignettes
from fairstats.vignettes.review.assigning import assign_review, next_round
from fairstats.vignettes.review.importing import import_review
from tests.rating_files import HOSTILE, write_rows
from tests.vignette_builds import ATTRIBUTES, BAD, FINE, LEAKS, built_folder, hand_in, reviewers

ONE = ("demo-01", "race", "white")


def html_of(card):
    """Return a data card as rendered by code hosts."""
    import pypandoc

    return pypandoc.convert_text(card, "html", format="gfm")


@pytest.fixture
def build(tmp_path):
    return lambda **given: built_folder(tmp_path / "build", **given)


@pytest.fixture
def reviewed(tmp_path, build):
    """Write a build reviewed by four raters, with values from a function."""

    def review(says=lambda rater, variant: FINE, **given):
        folder = build(**given)
        assigned = assign_review(folder, reviewers(tmp_path / "raters.csv"))
        import_review(folder, [hand_in(assigned, tmp_path / "in", says, comment="a secret")])
        return folder

    return review


def refused(folder, tmp_path, match, **options):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=match) as caught:
        release_vignettes(folder, **{"version": "1", "out": out} | options)
    assert not out.exists()
    return caught.value.problems


def table(out, name):
    return pd.read_csv(out / name, keep_default_na=False, dtype=str)


def test_unreviewed_variants_are_refused(build, tmp_path):
    folder = build()
    refused(folder, tmp_path, "the variants have not been reviewed")
    assign_review(folder, reviewers(tmp_path / "raters.csv"))
    refused(folder, tmp_path, "the variants have not been reviewed")


def test_unreviewed_variants_are_released_only_as_such(build, tmp_path):
    made = release_vignettes(build(), version="1", out=tmp_path / "out", unreviewed=True)
    benchmark = load_benchmark(made.path)
    assert benchmark.title == "Built items (not reviewed)"
    assert benchmark.notes[0].startswith("NOT REVIEWED")
    assert benchmark.versions["1"].endswith(", not reviewed")
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("# Built items \\(not reviewed\\)\n")
    assert "have not been reviewed.**" in card
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert not names & {"decisions.csv", "agreement.csv", "rubric.toml", "ratings-1.jsonl"}
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["reviewed"] is False


def test_a_review_cannot_be_passed_over(reviewed, tmp_path):
    folder = reviewed(lambda rater, variant: BAD)
    refused(folder, tmp_path, "was reviewed; release without unreviewed=True", unreviewed=True)


def test_no_release_if_all_variants_are_rejected(reviewed, tmp_path):
    problems = refused(
        reviewed(lambda rater, variant: BAD), tmp_path, "review: rejected: all report a problem"
    )
    assert [problem.value for problem in problems][:3] == ["demo-01", "demo-02", "demo-03"]


def test_a_build_without_an_item_is_refused(build, tmp_path):
    refused(build(items=0), tmp_path, "no items are left", unreviewed=True)


def test_single_reviewer_cannot_release(reviewed, tmp_path):
    folder = reviewed(lambda rater, variant: FINE if rater == "P1" else None)
    refused(folder, tmp_path, "review: open: only one judgement this text")


def test_disputed_variants_need_the_second_round(reviewed, tmp_path):
    split = lambda rater, variant: LEAKS if (rater, variant) == ("P0", ONE) else FINE  # noqa: E731
    folder = reviewed(split)
    next_round(folder)
    made = release_vignettes(folder, version="1", out=tmp_path / "out")
    assert made.items == 2
    *where, reason = table(tmp_path / "out", "left_out.csv").iloc[0]
    assert where == ["demo-01", "review", "race", "white"]
    assert reason.startswith("open: ")


def test_each_item_is_left_out_at_its_stage_with_its_reason(reviewed, tmp_path):
    texts = {
        ("demo-02", "sex", "male"): {"text": None, "outcome": "refused"},
        ("demo-03", "race", "black"): {"outcome": "faulty", "problems": ["number missing: 45"]},
    }
    rejected = ("demo-05", "ses", "high_income")
    folder = reviewed(
        lambda rater, variant: BAD if variant == rejected else FINE,
        items=6,
        item=lambda item_id: {"neutralized": ""} if item_id == "demo-04" else {},
        variant=lambda key: texts.get(key, {}),
    )
    (folder / "neutralized.jsonl").write_text(
        '{"item_id": "demo-04", "kept": false, "reason": "still reveals a group: he"}\n'
    )
    made = release_vignettes(folder, version="1", out=tmp_path / "out")
    left_out = table(tmp_path / "out", "left_out.csv").to_numpy().tolist()
    assert [[*where, reason.rpartition(": ")[2]] for *where, reason in left_out] == [
        ["demo-02", "generate", "sex", "male", "refused"],
        ["demo-03", "validate", "race", "black", "45"],
        ["demo-04", "neutralize", "", "", "he"],
        ["demo-05", "review", "ses", "high_income",
         "clinical consistency"],
        ["out-1", "filter", "", "", "needs the image (rules)"],
        ["out-2", "filter", "", "", "no patient (sieve)"],
    ]  # fmt: skip
    counts = made.stages.set_index("stage")[["items", "left_out"]]
    assert counts.to_numpy().tolist() == [[8, 0], [6, 2], [5, 1], [4, 1], [3, 1], [2, 1]]
    assert [item.item_id for item in load_items(load_benchmark(made.path))] == [
        "demo-01",
        "demo-06",
    ]


def test_every_model_that_took_part_is_named(build, tmp_path, snapshot):
    folder = build(
        keep="as intended",
        agents={
            "filter": {"model": "sieve", "endpoint": "http://x/v1"},
            "neutralize": {"model": "unneeded", "endpoint": None},
            "generate": {"model": "writer", "snapshot": "writer-1"},
            "fuse": {"model": "writer", "snapshot": "writer-1"},
            "validate": {"model": "judge", "snapshot": "judge-2"},
        },
    )
    made = release_vignettes(folder, version="1", out=tmp_path / "out", unreviewed=True)
    benchmark = load_benchmark(made.path)
    assert dict(benchmark.selected_on) == snapshot
    assert any("selected to show a disparity" in note for note in benchmark.notes)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| neutralize | unneeded \\(not queried\\) |" in card


@pytest.mark.parametrize("version", ["", " 1", "a\nb"])
def test_a_version_has_to_be_a_name(build, tmp_path, version):
    refused(build(), tmp_path, "is not a valid version", version=version, unreviewed=True)


def test_files_are_not_overwritten_or_left_incomplete(reviewed, tmp_path, monkeypatch):
    folder = reviewed()
    out = tmp_path / "out"
    made = release_vignettes(folder, version="1", out=out)
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    release_vignettes(folder, version="1", out=out)
    with pytest.raises(InputError, match="already exists with different content"):
        release_vignettes(folder, version="2", out=out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first
    assert made.path.parent == out

    def no_card(*given, **options):
        raise OSError("no room")

    monkeypatch.setattr(releasing, "card_text", no_card)
    with pytest.raises(OSError, match="no room"):
        release_vignettes(folder, version="1", out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_hashes_are_those_of_the_files(reviewed, tmp_path):
    out = tmp_path / "out"
    release_vignettes(reviewed(), version="1", out=out)
    lines = [line.split("  ") for line in (out / "SHA256SUMS").read_text().splitlines()]
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir()}
    assert {name: sha for sha, name in lines} == {
        name: sha for name, sha in found.items() if name != "SHA256SUMS"
    }
    assert (
        subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=out, check=False)
    ).returncode == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["files"]["built.jsonl"] == found["built.jsonl"]
    assert manifest["made_from"]["variants.jsonl"] == (
        hashlib.sha256((tmp_path / "build" / "variants.jsonl").read_bytes()).hexdigest()
    )


def test_ratings_are_released_without_comments(reviewed, tmp_path):
    out = tmp_path / "out"
    folder = reviewed(lambda rater, variant: LEAKS if rater == "P3" else FINE)
    next_round(folder)
    # All variants are disputed: they cannot be released before a second round.
    refused(folder, tmp_path, "review: open")
    again = hand_in(
        next_round_of(folder), tmp_path / "second", lambda *_: FINE, comment="another secret"
    )
    import_review(folder, [again])
    release_vignettes(folder, version="1", out=out)
    rubric = load_rubric(out / "rubric.toml")
    ratings = read_ratings(out / "ratings-1.jsonl", rubrics=[rubric])
    assert len(ratings) == 18 * 4 * 3
    assert not any(b"secret" in path.read_bytes() for path in out.iterdir())
    agreement = pd.read_csv(out / "agreement.csv").set_index(
        ["stage", "dataset", "dimension", "coefficient", "level"]
    )["estimate"]
    # Among four raters' six pairs three agree on each variant; then all do.
    place = ("pooled", "leakage", "percent", "nominal")
    assert agreement["before", *place] == pytest.approx(0.5)
    assert agreement["after", *place] == 1
    card = (out / "README.md").read_text()
    assert "| Answer leakage | before | 0.50 (" in card
    assert "| Answer leakage | after | 1.00 (" in card
    assert "1.80 (72 of 72)" in card  # 72 judgements of 90 seconds, in each of two rounds
    assert "not defined" in card
    assert "No texts were edited." in card


def next_round_of(folder):
    """Return the assigned second round."""
    return SimpleNamespace(path=folder / "review" / "round-2")


def test_hostile_names_and_texts_are_unchanged(build, tmp_path):
    title = "<script>alert(1)</script> | # $x$ {{< env PATH >}}\n## Owned"
    hostile = dict(zip(("white", "black", "male", "female", "high_income"), HOSTILE, strict=True))
    folder = build(
        title=title,
        licence="[l](javascript:alert(1))",
        agents={"generate": {"model": '"m"\n[versions]\n2 = "x"', "snapshot": "|`<b>`|"}},
        variant=lambda key: {"text": hostile[key[2]]} if key[2] in hostile else {},
        attributes={
            name: one | {"label": f"<img src=x>|{name}"} for name, one in ATTRIBUTES.items()
        },
    )
    made = release_vignettes(folder, version="1", out=tmp_path / "out", unreviewed=True)
    benchmark = load_benchmark(made.path)
    assert benchmark.title == f"{title} (not reviewed)"
    assert [*benchmark.versions] == ["1"]
    assert [*benchmark.selected_on] == ['"m"\n[versions]\n2 = "x"']
    item = load_items(benchmark)[0]
    assert [item.variants[group] for group in hostile] == list(HOSTILE)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    drawn = html_of(card)
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "javascript:" not in drawn.replace("(javascript:", "")
    assert drawn.count("<h1") == 1
    assert "Owned</h2>" not in drawn
    assert drawn.count("<table") == card.count("\n| ---")


def test_review_and_release_by_command_line(build, tmp_path, run):
    """Four invented reviewers of four items: a dispute, an edit, a rejection, and a release."""
    folder = build(items=4)
    raters = reviewers(tmp_path / "raters.csv")
    leaking, unclear, lost = ONE, ("demo-02", "sex", "male"), ("demo-03", "ses", "low_income")

    def first(rater, variant):
        if variant == leaking and rater in ("P0", "P1"):
            return LEAKS
        if variant in (unclear, lost):
            return BAD
        return FINE

    done = run("review", "assign", folder, "--raters", raters)
    assert done.exit_code == 0, done.output
    assert "24 variants to judge" in done.output
    given = hand_in(SimpleNamespace(path=folder / "review" / "round-1"), tmp_path / "in", first)
    neutral = read_vignettes("demo").items[1].variants["neutralized"]
    edits = write_rows(
        tmp_path / "edits.csv",
        [dict(zip(("item_id", "attribute", "group"), unclear, strict=True))
         | {"text": f"A man is seen. {neutral}", "editor": "P2", "why": "a finding was lost"}],
    )  # fmt: skip
    done = run("review", "import", folder, given, "--edits", edits)
    assert done.exit_code == 0, done.output
    assert "96 of 96 judgements" in done.output
    done = run("review", "consensus", folder)
    assert done.exit_code == 0, done.output
    assert "2 variants to judge" in done.output
    second = SimpleNamespace(path=folder / "review" / "round-2")
    run("review", "import", folder, hand_in(second, tmp_path / "second", seconds=30))
    done = run("review", "consensus", folder, "--json", "--dry-run")
    found = json.loads(done.stdout)
    assert [row["decision"] for row in found].count("accepted") == 22
    out = tmp_path / "out"
    done = run("release", folder, "--version", "1", "--out", out)
    assert done.exit_code == 0, done.output
    assert "3 items in 8 variants" in done.output

    vignettes = read_vignettes(out / "built.toml")
    assert [item.item_id for item in vignettes.items] == ["demo-01", "demo-02", "demo-04"]
    assert vignettes.items[1].variants["male"] == f"A man is seen. {neutral}"
    assert re.findall(r"\d+", vignettes.benchmark.notes[-1]) == ["4", "18", "17", "1"]
    decided = table(out, "decisions.csv").set_index(["item_id", "attribute", "group"])["decision"]
    assert decided[leaking] == "accepted"
    assert decided[unclear] == "edited"
    assert decided[lost] == "rejected"
    card = (out / "README.md").read_text(encoding="utf-8")
    assert {tuple(line.strip("| ").split(" | ")) for line in card.splitlines()} >= {
        ("1", "24", "4 of 4", "96 of 96", "2.40 (96 of 96)"),
        ("2", "2", "4 of 4", "8 of 8", "0.07 (8 of 8)"),
        ("race", "white", "1", "as intended", "3 of 4", "75.0%", "30.0–95.0"),
    }
    assert "Edited texts: 1," in card
    for group in ("White", "Low income"):
        assert f"| {group} | neutral |" in card
    declared = tomllib.loads((out / "built.toml").read_text())
    assert declared["selected_on"]["judge"].startswith("answered the variants")

    asked = CliRunner().invoke(
        app,
        ["collect", "--benchmark", str(out / "built.toml"), "--model", "m", "--out",
         str(tmp_path / "answers"), "--base-url", "http://localhost:9/v1", "--dry-run"],
    )  # fmt: skip
    assert asked.exit_code == 0, asked.output
    assert "24" in asked.output


def test_problem_is_reported_in_one_line(tmp_path, run):
    for words in (
        ("review", "assign", tmp_path, "--raters", tmp_path / "raters.csv"),
        ("review", "import", tmp_path, tmp_path / "in"),
        ("review", "consensus", tmp_path),
        ("release", tmp_path, "--version", "1", "--out", tmp_path / "out"),
    ):
        done = run(*words)
        assert done.exit_code == 1
        assert "contains no build.json" in done.output


def test_the_card_draws_as_markdown(reviewed, tmp_path):
    release_vignettes(reviewed(), version="1", out=tmp_path / "out")
    card = Path(tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert html_of(card).count("<table") == card.count("\n| ---")


@pytest.mark.parametrize(
    "change",
    [
        {"directions": "x"},
        {"directions": {"ses": float("nan")}},
        {"attributes": {"race": {"pairs": True}}},
        {"agents": 1},
    ],
)
def test_damaged_build_is_refused(change, build, tmp_path):
    folder = build()
    path = folder / "build.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(folder, tmp_path, str(folder), unreviewed=True)


def test_a_build_of_links_or_other_texts_is_refused(build, tmp_path):
    folder = build()
    (folder / "triggered.csv").write_bytes(b"\xff\xfe\xff")
    refused(folder, tmp_path, "is not as `fairstats vignettes run`", unreviewed=True)
    (folder / "triggered.csv").unlink()
    (tmp_path / "elsewhere.csv").write_text("a,b\n1,2\n")
    (folder / "triggered.csv").symlink_to(tmp_path / "elsewhere.csv")
    refused(folder, tmp_path, "is a symbolic link", unreviewed=True)
