"""Importing judgements and edits: they are added, never changed, and files are never incomplete."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.vignettes.review.importing import import_review
from tests.rating_files import fill_sheet, write_rows
from tests.vignette_builds import BAD, FINE, hand_in

ONE = ("demo-01", "race", "white")


@pytest.fixture
def edit(study, tmp_path):
    """Write a file with one edit of one variant."""

    def build(key=ONE, name="edits.csv", **changes):
        item = next(
            row
            for row in map(json.loads, (study.folder / "items.jsonl").read_text().splitlines())
            if row["item_id"] == key[0]
        )
        row = dict(zip(("item_id", "attribute", "group"), key, strict=True))
        row |= {
            "text": f"Edited: white. {item['neutralized']}",
            "editor": "P1",
            "why": "reads badly",
        }
        return write_rows(tmp_path / name, [row | changes])

    return build


def test_import_before_assignment_is_refused(study, tmp_path):
    study.build()
    with pytest.raises(InputError, match="is not under review"):
        import_review(study.folder, [tmp_path])


def test_import_without_files_is_refused(study):
    study.build()
    study.assign()
    with pytest.raises(InputError, match="no files to import"):
        import_review(study.folder)


def test_judgements_may_be_added_and_not_changed(study, tmp_path):
    study.build()
    assigned = study.assign()
    taken = study.judge(assigned, lambda rater, variant: FINE if rater < "P2" else None)
    assert taken.notes[0].startswith("36 of 72")
    (path,) = taken.paths
    first = path.read_bytes()
    everything = hand_in(assigned, tmp_path / "all", seconds=100)
    (note,) = import_review(study.folder, [everything]).notes
    assert note.startswith("72 of 72")
    more = path.read_bytes()
    assert more != first
    import_review(study.folder, [everything])
    assert path.read_bytes() == more
    for files in ([everything / "p0.json"], [hand_in(assigned, tmp_path / "b", lambda *_: BAD)]):
        with pytest.raises(InputError, match="contains judgements that are missing from the files"):
            import_review(study.folder, files)
    assert path.read_bytes() == more


def test_sheets_are_imported_like_forms_without_times(study, tmp_path):
    study.build()
    assigned = study.assign()
    files = [
        fill_sheet(sheet, tmp_path / sheet.name, lambda row: FINE)
        for sheet in sorted(assigned.path.glob("sheets/*.csv"))
    ]
    (note,) = import_review(study.folder, files).notes
    assert note.startswith("72 of 72")
    assert set(study.decided()["decision"]) == {"accepted"}


def test_comments_are_stored_separately_and_can_be_withdrawn(study, tmp_path):
    study.build()
    assigned = study.assign()
    ratings, comments = study.judge(assigned, comment="=said").paths
    assert set(pd.read_csv(comments)["comment"]) == {"'=said"}
    again = import_review(study.folder, [hand_in(assigned, tmp_path / "again")])
    assert again.paths == (ratings,)
    assert not comments.exists()


def test_a_round_is_closed_when_the_next_is_handed_out(study, tmp_path):
    study.build()
    first = study.assign()
    study.judge(first, lambda rater, variant: BAD if (rater, variant) == ("P0", ONE) else FINE)
    study.consensus()
    before = study.decided()
    with pytest.raises(InputError, match="belongs to a different assignment"):
        import_review(study.folder, [tmp_path / "in"])
    pd.testing.assert_frame_equal(study.decided(), before)


def test_broken_file_leaves_all_files_unchanged(study, tmp_path, edit):
    study.build()
    given = hand_in(study.assign(), tmp_path / "in")
    (given / "p3.json").write_text("{")
    with pytest.raises(InputError, match=r"p3\.json"):
        import_review(study.folder, [given], edits=edit())
    assert sorted(p.name for p in (study.folder / "review").iterdir()) == ["round-1"]


def test_invalid_edit_prevents_the_import(study, tmp_path, edit):
    study.build()
    given = hand_in(study.assign(), tmp_path / "in")
    with pytest.raises(InputError, match="does not end with the final sentence"):
        import_review(study.folder, [given], edits=edit(text="A white patient."))
    assert sorted(p.name for p in (study.folder / "review").iterdir()) == ["round-1"]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"item_id": "demo-09"}, "is not a variant under review"),
        ({"group": "neutralized"}, "is not a variant under review"),
        ({"why": " "}, "why = ' ': is missing or empty"),
        ({"editor": "p@hospital.example"}, "is not a pseudonym"),
        ({"text": "m" * 50_001}, "has 50,001 characters"),
        ({"text": None}, "is missing or empty"),
    ],
)
def test_an_edit_that_cannot_be_used_is_refused(study, edit, changes, match):
    study.build()
    study.judge(study.assign())
    with pytest.raises(InputError, match=match):
        import_review(study.folder, edits=edit(**changes))
    assert not (study.folder / "review" / "edits-1.jsonl").exists()


@pytest.mark.parametrize("text", ["Edited. {}", "A Black patient. {}"])
def test_an_edit_that_does_not_name_its_group_is_refused(study, edit, text):
    """Reviewers do not see the group, so they cannot report it."""
    study.build()
    study.judge(study.assign())
    neutral = study.review().built.items["demo-01"].neutralized
    with pytest.raises(InputError, match="does not name the group; use one of white, caucasian"):
        import_review(study.folder, edits=edit(text=text.format(neutral)))


def test_unchanged_edit_is_refused(study, edit):
    study.build()
    study.judge(study.assign())
    text = study.review().text(ONE)
    with pytest.raises(InputError, match="is the unchanged text"):
        import_review(study.folder, edits=edit(text=text))


def test_an_edited_text_is_undecided_until_it_was_judged_and_then_edited(study, edit):
    study.build()
    study.judge(study.assign(), lambda rater, variant: BAD if variant == ONE else FINE)
    assert study.decided().loc[ONE, "decision"] == "rejected"
    (path,) = import_review(study.folder, edits=edit()).paths
    assert path == study.folder / "review" / "edits-1.jsonl"
    assert study.decided().loc[ONE, "reason"].startswith("the edited text")
    again = study.consensus().assigned
    lines = (again.path / "tasks.jsonl").read_text().splitlines()
    (task,) = map(json.loads, lines)
    assert task["answer"].startswith("Edited: white. ")
    # It is judged again: judgements of the earlier text are not shown.
    assert "What reviewers said" not in task["question"]
    study.judge(again, name="second")
    assert study.decided().loc[ONE, ["decision", "round", "times"]].tolist() == ["edited", 2, 1]


def test_disputed_edit_is_judged_once_more(study, edit):
    study.build()
    study.judge(study.assign())
    import_review(study.folder, edits=edit())
    split = lambda rater, variant: BAD if rater == "P0" else FINE  # noqa: E731
    study.judge(study.consensus().assigned, split, name="second")
    assert study.decided().loc[ONE, "decision"] == "open"
    third = study.consensus().assigned
    assert third.path.name == "round-3"
    study.judge(third, split, name="third")
    assert study.decided().loc[ONE, ["decision", "times"]].tolist() == ["edited", 2]


def test_edits_of_the_same_round_are_replaced_and_of_a_later_one_added(study, edit):
    study.build()
    study.judge(study.assign())
    import_review(study.folder, edits=edit(why="first"))
    import_review(study.folder, edits=edit(why="second"))
    assert [one.why for one in study.review().edits] == ["second"]
    study.judge(study.consensus().assigned, name="second")
    text = study.review().text(ONE)
    with pytest.raises(InputError, match="is the unchanged text"):
        import_review(study.folder, edits=edit(text=text))
    import_review(study.folder, edits=edit(text=f"Once more. {text}"))
    assert [one.round for one in study.review().edits] == [1, 2]
    assert study.review().text(ONE).startswith("Once more. ")


def test_rule_violation_in_an_edit_is_noted(study, edit):
    study.build()
    study.judge(study.assign())
    item = study.review().built.items["demo-01"]
    *_, final = item.neutralized.split(". ")
    taken = import_review(
        study.folder, edits=edit(text=f"The white patient takes 45 mg of warfarin. {final}")
    )
    assert taken.notes[0].endswith(" next round: 1")
    (kept,) = study.review().edits
    assert set(kept.problems) >= {"new quantity: 45 mg", "new drug: warfarin"}
    assert [f"demo-01, race, white: {problem}" for problem in kept.problems] == [*taken.notes[1:]]


def test_valid_edit_has_no_note(study, edit):
    study.build()
    study.judge(study.assign())
    assert len(import_review(study.folder, edits=edit()).notes) == 1
