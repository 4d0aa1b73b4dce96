"""Import reviewers' files: judgements of a round, and edited texts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, keyword, refuse
from fairstats._lib.records import SEPARATORS, Record, csv_records, importable_files
from fairstats.benchmarks.benchmark_files import item_lines
from fairstats.ratings.collection.import_ratings import import_ratings
from fairstats.ratings.collection.subjects import MAX_TEXT, is_name
from fairstats.vignettes.building.agents import Key
from fairstats.vignettes.building.checks import is_named, words_of_group
from fairstats.vignettes.building.folder import KEY, read_built
from fairstats.vignettes.review.rounds import (
    STEM,
    Edit,
    Review,
    edits_file,
    ratings_files,
    read_review,
    round_folder,
)
from fairstats.vignettes.text.clinical_content import content_problems
from fairstats.vignettes.text.words_and_sentences import final_sentence

EDIT_COLUMNS = (*KEY, "text", "editor", "why")


@dataclass(frozen=True)
class TakenIn:
    """Result of an import."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]


def import_review(
    folder: AnyPath,
    files: Iterable[AnyPath] = (),
    *,
    edits: AnyPath | None = None,
) -> TakenIn:
    """Import judgements of the last assigned round, and edits of texts.

    Parameters
    ----------
    folder : path
        The folder of the build.
    files : iterable of paths
        Exports of forms and filled sheets, or folders of them; include all files of this round.
    edits : path, optional
        CSV with `EDIT_COLUMNS`, one row per variant with a rewritten text.

    Raises
    ------
    InputError
        If nothing was assigned, a file cannot be used, an earlier imported judgement is missing or
        changed, or an edit is for an unknown variant or loses the final sentence. Nothing is then
        written.

    Notes
    -----
    Judgements can be added as they arrive, by giving all files again, until the next round is
    assigned, since that round is based on them. The same holds for edits, which replace those
    imported after the same round. Results of the rules for clinical content in an edited text are
    recorded for reviewers to judge.
    """
    review = read_review(read_built(Path(folder)))
    if not review.rounds:
        remedy = "assign it with `fairstats vignettes review assign`"
        raise input_error(folder, "is not under review", remedy)
    paths = [Path(path) for path in files]
    if not paths and edits is None:
        remedy = f"give files, or {keyword('edits')}"
        raise input_error("<no path>", "no files to import", remedy)
    checked = None if edits is None else _checked_edits(review, Path(edits))
    written: list[Path] = []
    notes: list[str] = []
    if paths:
        written, notes = _take_in(review, paths)
    if checked is not None:
        path = edits_file(Path(folder), review.rounds[-1].number)
        with whole_file(path) as temporary:
            lines = item_lines(edit.model_dump(exclude={"round"}) for edit in checked)
            temporary.write_text(lines, encoding="utf-8", newline="")
        written.append(path)
        notes.append(f"edited texts to be judged in the next round: {len(checked):,}")
        notes += [f"{', '.join(e.key)}: {p}" for e in checked for p in e.problems]
    return TakenIn(tuple(written), tuple(notes))


def _take_in(review: Review, paths: list[Path]) -> tuple[list[Path], list[str]]:
    last = review.rounds[-1]
    folder = review.built.path
    finals = ratings_files(folder, last.number)
    with tempfile.TemporaryDirectory() as temporary:
        taken = import_ratings(
            paths, out=temporary, assignment=round_folder(folder, last.number), name=STEM
        )
        if last.ratings is not None:
            both = last.ratings.merge(taken.ratings.drop(columns="duration_s"))
            if len(both) < len(last.ratings):
                message = "contains judgements that are missing from the files or differ from them"
                remedy = "give all files of the round, or remove it to replace it by these files"
                raise input_error(finals[0], message, remedy)
        # Comments first: ratings without them could be mistaken for a complete import.
        new = {path.name: path for path in taken.paths}
        for final in reversed(finals):
            if final.name in new:
                with whole_file(final) as beside:
                    beside.write_bytes(new[final.name].read_bytes())
            else:
                final.unlink(missing_ok=True)
    return [final for final in finals if final.is_file()], list(taken.notes)


def _checked_edits(review: Review, path: Path) -> list[Edit]:
    (path,) = importable_files(path, None, (".csv",))
    problems: list[Problem] = []
    found: dict[Key, Edit] = {}
    # Edits of this round are replaced, so compare them with the text before them.
    number = review.rounds[-1].number
    earlier = Review(
        review.built, review.rounds, tuple(e for e in review.edits if e.round < number)
    )
    for record in csv_records(path, separators=SEPARATORS):
        wrong = list(_wrong_edit(record, earlier, found))
        problems += [
            Problem(
                str(path),
                message,
                remedy,
                row=record.row,
                column=column,
                value=record.fields.get(column),
            )
            for column, message, remedy in wrong
        ]
        if not wrong:
            row = record.fields
            key = (row["item_id"], row["attribute"], row["group"])
            neutral = review.built.items[key[0]].neutralized
            faults = [f"{one.kind}: {one.detail}" for one in content_problems(neutral, row["text"])]
            values = {name: row[name] for name in EDIT_COLUMNS}
            found[key] = Edit(**values, problems=faults, round=number)
    if not found and not problems:
        problems.append(Problem(str(path), "contains no edits", "remove it"))
    refuse(problems)
    return sorted(found.values(), key=lambda edit: review.keys.index(edit.key))


def _words(review: Review, key: Key) -> tuple[str, ...]:
    """Return the words that name a variant's group."""
    _, attribute, group = key
    declared = review.built.declared
    label = declared["attributes"][attribute]["groups"][group]
    return words_of_group(group, label, declared.get("words", {}).get(group, ()))


def _wrong_edit(
    record: Record, review: Review, seen: dict[Key, Edit]
) -> Iterator[tuple[str, str, str]]:
    row = record.fields
    lacking = [name for name in EDIT_COLUMNS if not (row.get(name) or "").strip()]
    for name in lacking:
        yield name, "is missing or empty", f"give {', '.join(EDIT_COLUMNS)}"
    if lacking:
        return
    key = (row["item_id"], row["attribute"], row["group"])
    if key not in review.keys:
        yield "item_id", "is not a variant under review", "give item, attribute and group of one"
    elif key in seen:
        yield "item_id", "appears twice", "give only the last text"
    elif row["text"] == review.text(key):
        yield "text", "is the unchanged text", "remove it"
    elif not is_named(
        review.built.items[key[0]].neutralized, row["text"], words := _words(review, key)
    ):
        # Reviewers do not see which group a text is for.
        yield "text", "does not name the group", f"use one of {', '.join(words)}"
    elif not row["text"].endswith(final := final_sentence(review.built.items[key[0]].neutralized)):
        yield (
            "text",
            "does not end with the final sentence",
            f"end it exactly with: {final}",
        )
    if len(row["text"]) > MAX_TEXT:
        yield "text", f"has {len(row['text']):,} characters", f"give at most {MAX_TEXT:,}"
    if not is_name(row["editor"]) or "@" in row["editor"]:
        yield "editor", "is not a pseudonym", "use the rater_id, as it is published"
