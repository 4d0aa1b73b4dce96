"""Import the predictions that the MIRAGE authors released.

Each file has the reply to one question. Its path names everything else::

    DATASET/cot/PROVIDER/MODEL/SPLIT_ID.json
    DATASET/rag_SNIPPETS/PROVIDER/MODEL/CORPUS/RETRIEVER/SPLIT_ID.json
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.json_csv_records import Paths, importable_files, json_value
from fairstats._lib.problems import InputError, Note, Problem
from fairstats.answers.benchmark_checks import validate_answers
from fairstats.answers.schema_checks import check_answers
from fairstats.answers.strategies import Strategy
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.loading import load_benchmarks
from fairstats_collectors.import_mapping import Given, refuse_others

_AS_RELEASED = "use the folder `prediction` as released"
_PROMPT = re.compile(r"cot|rag_(?P<snippets>[1-9][0-9]{0,3})")
_FILE = re.compile(r"(?:test|dev)_(?P<item>.+)\.json")
#: A prediction is a few kilobytes.
_MAX_BYTES = 2**20
_CHOICE = '"answer_choice": "'
# In this field a letter before a mark is the answer, e.g. "B. aortic stenosis".
_LETTER = re.compile(r"\(?(?P<letter>[A-D])[.:)](?P<rest>\s.*)?", re.DOTALL)
_OTHER_LETTER = re.compile(r"\b[A-D][.:)](?:\s|$)")
#: The options that are the same for all questions of a data set.
_OPTIONS = {
    "mirage-pubmedqa": {"A": "yes", "B": "no", "C": "maybe"},
    "mirage-bioasq": {"A": "yes", "B": "no"},
}


def import_mirage(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read released MIRAGE predictions into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        The folder ``prediction``, or parts of it with the folders that name the data set.
    **given
        None of the settings: paths name the data set, model and strategy.

    Returns
    -------
    pandas.DataFrame
        Answers to the benchmarks ``mirage-mmlu``, ``-medqa``, ``-medmcqa``, ``-pubmedqa`` and
        ``-bioasq``. The strategy is ``cot``, or ``cot+RETRIEVER@SNIPPETS`` with snippets. Letters
        are read by this package from the reply's ``answer_choice``. An empty list is an ``error``:
        there was no reply.

    Raises
    ------
    InputError
        If a file is in another layout, or its question is not in the data set.

    Notes
    -----
    The authors count a reply in which they find no letter as the answer A. A note gives the number
    of replies without a letter for each model and strategy.
    """
    refuse_others("mirage", given)
    files = importable_files(
        paths, lambda folder: [*folder.rglob("*.json")], (".json",), _MAX_BYTES
    )
    rows: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for path in files:
        try:
            rows.append(_facts(path) | _answer(path))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    known = load_benchmarks({row["benchmark"] for row in rows})
    answers = [
        _completed(row, known[row["benchmark"]], path)
        for row, path in zip(rows, files, strict=True)
    ]
    frame = check_answers(pd.DataFrame(answers, dtype=object), path="<predictions>")
    # A row's number says nothing to a reader: there is one file per row.
    wrong = [
        Problem(
            str(files[one.row - 1]), one.message, one.remedy, column=one.column, value=one.value
        )
        for one in validate_answers(frame, benchmarks=known)
        if one.row is not None
    ]
    if wrong:
        raise InputError(wrong)
    _say_what_has_no_letter(frame)
    return frame


def _facts(path: Path) -> dict[str, Any]:
    """Return what a file's path names."""
    parts = path.resolve().parts
    name = _FILE.fullmatch(parts[-1])
    for depth, size in ((4, 0), (6, 2)):
        if len(parts) > depth and name and (prompt := _PROMPT.fullmatch(parts[-depth])):
            snippets = prompt["snippets"]
            if (snippets is None) == (size == 0):
                source = "-".join(parts[-3:-1]).lower() if size else None
                top_k = None if snippets is None else int(snippets)
                return {
                    "benchmark": f"mirage-{parts[-depth - 1]}",
                    "item_id": name["item"],
                    "model": parts[-2 - size],
                    "strategy": Strategy("cot", source, top_k).name,
                }
    message = "is not at the path of a released prediction"
    raise InputError([Problem(str(path), message, _AS_RELEASED)])


def _answer(path: Path) -> dict[str, Any]:
    """Return the reply of a file; None if the authors received none."""
    replies = json_value(path)
    if not isinstance(replies, Sequence) or isinstance(replies, str):
        raise InputError([Problem(str(path), "is not a list of replies", _AS_RELEASED)])
    if len(replies) > 1 or not all(isinstance(reply, str) for reply in replies):
        message = "is not a list of one reply"
        raise InputError([Problem(str(path), message, _AS_RELEASED)])
    return {"answer_raw": replies[0] if replies else None}


def _completed(row: dict[str, Any], benchmark: Benchmark, path: Path) -> dict[str, Any]:
    letter: str | None = None
    status = "error"
    if row["answer_raw"] is not None:
        choice = choice_of(row["answer_raw"]).strip()
        found = _LETTER.fullmatch(choice)
        if found and found["letter"] in benchmark.options and not _names_several(found):
            letter, status = found["letter"], "ok"
        else:
            options = _OPTIONS.get(benchmark.name, dict.fromkeys(benchmark.options, ""))
            parsed = parse_answer(choice, options)
            letter, status = parsed.letter, str(parsed.status)
    key = benchmark.answer_keys.get(row["item_id"])
    if key is None:
        message = f"{benchmark.name} has no such item"
        raise InputError([Problem(str(path), message, _AS_RELEASED)])
    return row | {
        "benchmark_version": next(iter(benchmark.versions)),
        "attribute": "question",
        "group": "asked",
        "sample": 0,
        "answer": letter,
        "answer_key": key,
        "status": status,
        "collector": "mirage",
    }


def _names_several(found: re.Match[str]) -> bool:
    """Whether a second option follows, as in "A. Iron or C. Zinc"."""
    others = _OTHER_LETTER.findall(found["rest"] or "")
    return any(one[0] != found["letter"] for one in others)


def choice_of(reply: str) -> str:
    r"""Return the part of a reply that names the option.

    Many replies are JSON that was cut off or has unescaped quotes. In these it is what follows the
    last ``answer_choice``.

    Examples
    --------
    >>> choice_of('{"step_by_step_thinking": "Not A.", "answer_choice": "B. Zinc"}')
    'B. Zinc'
    >>> choice_of('{"step_by_step_thinking": "the "best" one", "answer_choice": "C"}')
    'C'
    """
    try:
        value = json.loads(reply)["answer_choice"]
    except (ValueError, LookupError, TypeError, RecursionError):
        _, found, rest = reply.rpartition(_CHOICE)
        return rest.partition('"')[0] if found else reply
    return value if isinstance(value, str) else ""


def _say_what_has_no_letter(frame: pd.DataFrame) -> None:
    for (model, strategy), own in frame.groupby(["model", "strategy"], sort=True):
        none = int(own["answer"].isna().sum())
        if none:
            note = f"{model}, {strategy}: {none:,} of {len(own):,} replies have no letter"
            warnings.warn(f"{note}; the authors count them as A, or as wrong", Note, stacklevel=3)
