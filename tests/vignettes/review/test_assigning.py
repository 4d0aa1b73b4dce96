"""Assigning reviews: the content for reviewers, and rounds that cannot be assigned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairstats._lib.problems import InputError
from tests.rating_files import HOSTILE, form_data, sheet_rows
from tests.vignette_builds import BAD, FINE, LEAKS, built_folder, variants_of

ONE = ("demo-01", "race", "white")


def every_byte(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def refused(call, match, **options):
    with pytest.raises(InputError, match=match):
        call(**options)


def test_build_without_complete_items_cannot_be_reviewed(study):
    study.build(variant=lambda key: {"outcome": "faulty"} if key[2] == "male" else {})
    refused(study.assign, "no items with all variants kept")
    assert not (study.folder / "review").exists()


def test_variants_of_items_that_cannot_be_released_are_not_handed_out(study):
    faulty = ("demo-02", "sex", "female")
    study.build(variant=lambda key: {"outcome": "failed", "text": None} if key == faulty else {})
    variants = set(variants_of(study.assign()).values())
    assert {item for item, _, _ in variants} == {"demo-01", "demo-03"}
    assert len(variants) == 12


def test_only_kept_variants_are_assigned_for_review(study):
    other = ("demo-03", "ses", "low_income")
    study.build(
        keep="as intended",
        variant=lambda key: {"outcome": "not as intended"} if key == other else {},
    )
    assert {key[0] for key in variants_of(study.assign()).values()} == {"demo-01", "demo-02"}


def test_reviewer_sees_the_key_but_not_the_outcome(study):
    wanted = {"race": {"white": "favourable-xyz", "black": "unfavourable-xyz"}}
    study.build(
        directions=wanted,
        variant=lambda key: {"direction": "favourable-xyz", "variant_answer": "ZZZ"},
    )
    assigned = study.assign()
    assert assigned.groups[["raters", "load_min", "load_max"]].to_numpy().tolist() == [[4, 18, 18]]
    form = assigned.path / "forms" / "p0.html"
    (neutral, variant), *_ = (task["beside"] for task in form_data(form)["tasks"])
    assert [neutral[0][0], variant[0][0]] == ["Neutral vignette with options", "Variant"]
    assert neutral[0][1].count(" (key)") == 1
    text = form.read_text(encoding="utf-8")
    for hidden in ("demo-0", "xyz", "ZZZ", "as intended", "writer"):
        assert hidden not in text
    rows = sheet_rows(assigned.path / "sheets" / "p0.csv")
    assert {"neutral_vignette_with_options", "variant", "leakage", "comment"} <= {*rows[0]}


def test_the_same_build_and_reviewers_give_the_same_bytes(study, tmp_path):
    study.build()
    study.assign()
    first = every_byte(study.folder / "review")
    other = built_folder(tmp_path / "other")
    from fairstats.vignettes.review.assigning import assign_review

    assign_review(other, tmp_path / "raters.csv")
    assert every_byte(other / "review") == first


def test_assignments_are_not_repeated_or_overwritten(study):
    study.build()
    study.assign()
    before = every_byte(study.folder)
    refused(study.assign, "was already assigned")
    assert every_byte(study.folder) == before


@pytest.mark.parametrize(
    ("number", "options", "match"),
    [
        (4, {"replicates": 1}, "must be at least 2"),
        (3, {}, "3 raters of the group have"),
        (4, {"rubric": "pairwise"}, "not a rubric for single variants"),
        (4, {"rubric": "none"}, "no such rubric"),
    ],
)
def test_assignment_with_too_few_judgements_is_refused(study, number, options, match):
    study.build()
    refused(study.assign, match, number=number, **options)
    assert not (study.folder / "review").exists()


def test_hostile_texts_are_escaped_and_returned_unchanged(study):
    texts = dict(zip(("white", "black", "male", "female", "high_income"), HOSTILE, strict=True))
    study.build(variant=lambda key: {"text": texts[key[2]]} if key[2] in texts else {})
    assigned = study.assign()
    form = assigned.path / "forms" / "p0.html"
    assert form.read_text(encoding="utf-8").count("<script") == 2
    shown = {task["beside"][1][0][1] for task in form_data(form)["tasks"]}
    assert {*HOSTILE} <= shown
    study.judge(assigned)
    assert set(study.decided()["decision"]) == {"accepted"}


def test_a_text_that_is_too_long_is_named_by_the_build(study):
    study.build(variant=lambda key: {"text": "m" * 60_000} if key == ONE else {})
    refused(study.assign, r"variants.jsonl: row 1: text = 'm+…': must be text that is not too long")


def test_consensus_needs_a_review_and_judgements(study):
    study.build()
    refused(study.consensus, "is not under review")
    assigned = study.assign()
    refused(study.consensus, "there are no judgements; import them")
    study.judge(assigned, lambda rater, variant: FINE if rater != "P3" else None)
    refused(study.consensus, r"18 of 72 judgements are missing; .*incomplete=True")
    assert study.consensus(incomplete=True).assigned is None


def test_second_round_is_empty_if_all_agree(study):
    study.build()
    study.judge(study.assign())
    found = study.consensus()
    assert found.assigned is None
    assert found.notes[-1].startswith("no variants")
    assert not (study.folder / "review" / "round-2").exists()


def test_dry_run_reports_the_state_and_writes_no_file(study):
    study.build()
    assert study.consensus(dry_run=True).decisions["decision"].unique().tolist() == ["open"]
    study.judge(study.assign(), lambda rater, variant: LEAKS if rater == "P0" else FINE)
    before = every_byte(study.folder)
    found = study.consensus(dry_run=True)
    assert found.assigned is None
    assert found.decisions["reason"].unique().tolist() == ["reviewers disagree: answer leakage"]
    assert every_byte(study.folder) == before


def test_second_round_shows_anonymous_judgements(study):
    study.build()
    study.judge(
        study.assign(),
        lambda rater, variant: LEAKS if (rater, variant) == ("P2", ONE) else FINE,
        comment="says \n too much",
    )
    again = study.consensus().assigned
    assert variants_of(again).values().__iter__().__next__() == ONE
    assert again.groups["raters"].tolist() == [4]
    form = again.path / "forms" / "p1.html"
    (task,) = form_data(form)["tasks"]
    said = task["beside"][0][0][1]
    assert said.splitlines()[-7:] == [
        "Semantic fluency: 4 No problem",
        "Clinical consistency: 4 No problem",
        "Answer leakage: 3 To no option; 1 To the key",
        *["Comment: says too much"] * 4,
    ]
    assert "P2" not in form.read_text(encoding="utf-8")


def test_other_raters_can_judge_the_second_round(study, tmp_path):
    study.build()
    study.judge(study.assign(), lambda rater, variant: BAD if rater == "P0" else FINE)
    others = tmp_path / "others.csv"
    others.write_text("rater_id,rater_group\n" + "".join(f"X{n},physician\n" for n in range(4)))
    again = study.consensus(raters=others).assigned
    assert sorted(path.stem for path in again.path.glob("forms/*")) == ["x0", "x1", "x2", "x3"]


def test_a_text_that_changed_behind_the_reviewers_is_refused(study):
    study.build()
    study.judge(study.assign())
    path = study.folder / "variants.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["text"] = "Another text. " + rows[0]["text"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused(study.consensus, "differs from the text in round 1 of the review")


def test_a_key_that_was_changed_is_refused(study):
    study.build()
    assigned = study.assign()
    (assigned.path / "key.csv").write_text("")
    refused(study.consensus, "key.csv")
