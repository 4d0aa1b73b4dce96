"""Read stored replies again with the current parser, and report changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import Problem, input_error, keyword, refuse
from fairstats._lib.untrusted_files import read_json_lines
from fairstats.answers.files import answer_files, read_answers, write_answer_sets
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.asking.answer_from_reply import read_reply
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmarks
from fairstats_collectors.import_answers import options_of

_UNIT = ["benchmark", "benchmark_version", "model", "strategy"]
_GROUP = [*_UNIT, "attribute", "group"]

#: The columns of `Reparsed.changes`.
CHANGE_COLUMNS = (
    *KEY_COLUMNS,
    "from_answer",
    "from_status",
    "to_answer",
    "to_status",
    "answer_raw",
)


@dataclass(frozen=True)
class Reparsed:
    """Hold answers that were read again from their stored replies.

    `changes` has `CHANGE_COLUMNS`; rows that could not be read again are unchanged.
    """

    answers: pd.DataFrame
    changes: pd.DataFrame

    def moves(self) -> pd.DataFrame:
        """Count the answers by old and new answer (or status): ``from``, ``to``, ``rows``.

        Unchanged answers have no row.
        """
        said = pd.DataFrame(
            {
                "from": _said(self.changes["from_answer"], self.changes["from_status"]),
                "to": _said(self.changes["to_answer"], self.changes["to_status"]),
            }
        )
        return said.value_counts(sort=False).rename("rows").reset_index()

    def groups(self) -> pd.DataFrame:
        """Count the answers of each unit's groups that were readable, before and now.

        ``rows``; of these ``without_raw`` (no stored reply) and ``errors`` (a failed request),
        which are left unchanged; ``parsed_before``, ``parsed_now`` and ``changed``.
        """
        keys = list(KEY_COLUMNS)
        changed = pd.MultiIndex.from_frame(self.changes[keys])
        rows = self.answers[[*keys, "answer", "status"]].assign(
            rows=1,
            without_raw=_kept(self.answers).isna() & (self.answers["status"] != "error"),
            errors=self.answers["status"] == "error",
            parsed_now=self.answers["answer"].notna(),
            changed=pd.MultiIndex.from_frame(self.answers[keys]).isin(changed),
        )
        before = self.changes[keys].assign(_before=self.changes["from_answer"].notna())
        rows = rows.merge(before, on=keys, how="left")
        rows["parsed_before"] = rows["_before"].where(rows["changed"], rows["parsed_now"])
        counts = ["rows", "without_raw", "errors", "parsed_before", "parsed_now", "changed"]
        return rows.groupby(_GROUP, sort=False)[counts].sum().astype("int64").reset_index()


def reparse_answers(
    answers: pd.DataFrame,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    items: AnyPath | None = None,
    letters_only: bool = False,
) -> Reparsed:
    """Read the replies in ``answer_raw`` again.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers that follow the schema.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in, or that replace built-in ones.
    items : path, optional
        A JSON Lines file with ``item_id`` and ``options``, for a benchmark of letters without its
        items' text. Decisions, levels and scores need no texts.
    letters_only : bool
        Read only letters, without the options' texts. Answers that give an option's text are then
        lost.

    Raises
    ------
    InputError
        If a benchmark is unknown, the options' texts are required but missing, or an item of the
        answers is not among them.

    Notes
    -----
    Two kinds of row are left unchanged: rows without a stored reply, and rows of status ``error``.
    In these, ``answer_raw`` contains the reason, not a reply.
    """
    answers = answers.reset_index(drop=True)
    raw = _kept(answers)
    again = raw.notna() & (answers["status"] != "error")
    known = load_benchmarks(answers["benchmark"].unique().tolist(), benchmarks)
    options = {
        (name, item): texts
        for name, benchmark in known.items()
        if benchmark.kind.needs_key and (again & (answers["benchmark"] == name)).any()
        for item, texts in _options(benchmark, items, letters_only).items()
    }
    letters: list[str | None] = (
        answers["answer"].astype(object).where(answers["answer"].notna(), None).tolist()
    )
    statuses: list[str] = answers["status"].tolist()
    problems = []
    for row in answers.index[again]:
        name, item = str(answers.at[row, "benchmark"]), str(answers.at[row, "item_id"])
        if known[name].kind.needs_key and (name, item) not in options:
            message = f"{name} has no answer options for this item"
            remedy = f"give a file with its options: {keyword('items')}"
            faulty = Problem("<answers>", message, remedy)
            problems.append(replace(faulty, row=row + 1, column="item_id", value=item))
            continue
        parsed = read_reply(str(raw[row]), known[name], options.get((name, item)))
        letters[row], statuses[row] = parsed.letter, str(parsed.status)
    refuse(problems)
    new = answers.assign(
        answer=pd.Series(letters, index=answers.index, dtype=answers["answer"].dtype),
        status=pd.Series(statuses, index=answers.index, dtype=answers["status"].dtype),
    )
    before, now = (_said(frame["answer"], frame["status"]) for frame in (answers, new))
    compared = answers[list(KEY_COLUMNS)].assign(
        from_answer=answers["answer"],
        from_status=answers["status"],
        to_answer=new["answer"],
        to_status=new["status"],
        answer_raw=raw,
    )
    changes = compared[before != now]
    return Reparsed(new, changes[list(CHANGE_COLUMNS)].reset_index(drop=True))


def reparse(
    source: Sequence[str | os.PathLike[str]],
    out: AnyPath,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    items: AnyPath | None = None,
    letters_only: bool = False,
) -> tuple[Reparsed, list[Path]]:
    """Read the replies of answer files again, and write the answers to new files.

    Parameters
    ----------
    source : sequence of paths
        Answer files, or folders of them.
    out : path
        The folder for the new files, one for each answer set; not the old ones' folder.
    benchmarks, items, letters_only
        As for `reparse_answers`.

    Returns
    -------
    Reparsed, list of pathlib.Path
        The changes, and the files.

    Raises
    ------
    InputError
        As `reparse_answers`. Also if a file cannot be read, or `out` is the old files' folder or
        has other answers already. Then no file is written.
    """
    folder = Path(out).resolve()
    files = {path.resolve() for path in answer_files(source)}
    inside = any(Path(path).is_dir() and Path(path).resolve() in folder.parents for path in source)
    if inside or any(folder in path.parents for path in files):
        # Reading one folder would also read the other, and find each answer twice.
        message = "contains the answers to read, or is in their folder"
        raise input_error(out, message, "choose a separate folder")
    reparsed = reparse_answers(
        read_answers(source), benchmarks=benchmarks, items=items, letters_only=letters_only
    )
    return reparsed, write_answer_sets(reparsed.answers, out)


def _kept(answers: pd.DataFrame) -> pd.Series:
    if "answer_raw" in answers:
        return answers["answer_raw"]
    return pd.Series(None, index=answers.index, dtype="str")


def _said(letters: pd.Series, statuses: pd.Series) -> pd.Series:
    """Return the answer if there is one, else the reason why it is missing."""
    return letters.where(letters.notna(), statuses)


def _options(
    benchmark: Benchmark, items: AnyPath | None, letters_only: bool
) -> dict[str, dict[str, str]]:
    """Return the options of each item: its letters and their texts."""
    if letters_only:
        return {item: dict.fromkeys(benchmark.options, "") for item in benchmark.answer_keys}
    path = benchmark.items_file if items is None else Path(items)
    if path is None:
        message = f"{benchmark.name} is shipped without the texts of its options"
        remedy = (
            f"give {keyword('items')}, a JSON Lines file with item_id and options, or parse "
            f"letters only with {keyword('letters_only', True)}"
        )
        raise input_error(benchmark.path, message, remedy)
    if not path.is_file():
        raise input_error(path, "no such file", "check the path")
    found: dict[str, dict[str, str]] = {}
    problems = []
    for number, row in enumerate(read_json_lines(path), start=1):
        item, texts = row.get("item_id"), options_of(row.get("options"), benchmark)
        if not isinstance(item, str) or item in found:
            message, remedy = "is not text, or appears twice", "give each item once"
            faulty = Problem(str(path), message, remedy, column="item_id", value=str(item))
        elif texts is None:
            message = "do not match the benchmark's options"
            remedy = f"give one text to each of {', '.join(benchmark.options)}"
            value = str(row.get("options"))
            faulty = Problem(str(path), message, remedy, column="options", value=value)
        else:
            found[item] = texts
            continue
        problems.append(replace(faulty, row=number))
    refuse(problems)
    return found
