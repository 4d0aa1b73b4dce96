"""Import the predictions that the MIRAGE authors released.

Each file has the reply to one question. Its path names everything else, see
``data/importers/mirage.toml``.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import Note, Problem, collected, input_error, refuse
from fairstats._lib.records import Record, importable_files, json_value
from fairstats.answers.strategies import Strategy
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.benchmarks.declaration import Benchmark
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, mapping, refuse_others
from fairstats_collectors.mapping_files import read_mapping

_AS_RELEASED = "use the folder `prediction` as released"
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
    declared = read_mapping("mirage")
    files = importable_files(paths, declared.find, (".json",), _MAX_BYTES)
    records: dict[str, list[Record]] = {}
    problems: list[Problem] = []
    for number, path in enumerate(files, start=1):
        with collected(problems):
            (record,) = declared.with_parts([Record(number, {"answer_raw": _reply(path)})], path)
            records.setdefault(f"mirage-{record.fields['dataset']}", []).append(record)
    read = declared.model_copy(update={"patterns": ()})
    frames = []
    for benchmark, own in records.items():
        with collected(problems):
            mapped = mapping("mirage", {"benchmark": benchmark}, read)
            frames.append(imported([Path("mirage")], partial(_with_letters, records=own), mapped))
    refuse(_in_file(one, files) for one in problems)
    frame = pd.concat(frames, ignore_index=True)
    for (model, strategy), answers in frame.groupby(["model", "strategy"], sort=True):
        if none := int(answers["answer"].isna().sum()):
            note = f"{model}, {strategy}: {none:,} of {len(answers):,} replies have no letter"
            warnings.warn(f"{note}; the authors count them as A, or as wrong", Note, stacklevel=2)
    return frame


def _in_file(problem: Problem, files: Sequence[Path]) -> Problem:
    """Name the file: each holds one record, and is read as one row."""
    if problem.row is None:
        return problem
    return replace(problem, path=str(files[problem.row - 1]), row=None)


def _reply(path: Path) -> str | None:
    """Return the reply of a file; None if the authors received none."""
    replies = json_value(path)
    if not isinstance(replies, list):
        raise input_error(path, "is not a list of replies", _AS_RELEASED)
    if len(replies) > 1 or not all(isinstance(reply, str) for reply in replies):
        raise input_error(path, "is not a list of one reply", _AS_RELEASED)
    return replies[0] if replies else None


def _with_letters(path: Path, mapped: Mapped, *, records: Iterable[Record]) -> list[Record]:
    return [replace(one, fields=_fields(one.fields, mapped.benchmark)) for one in records]


def _fields(fields: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """Return the fields of a reply with its letter and the strategy."""
    letter, status = None, "error"
    if fields["answer_raw"] is not None:
        choice = choice_of(fields["answer_raw"]).strip()
        match = _LETTER.fullmatch(choice)
        if match and match["letter"] in benchmark.options and not _names_several(match):
            letter, status = match["letter"], "ok"
        else:
            options = _OPTIONS.get(benchmark.name, dict.fromkeys(benchmark.options, ""))
            parsed = parse_answer(choice, options)
            letter, status = parsed.letter, parsed.status
    strategy = Strategy("cot")
    if snippets := fields.get("snippets"):
        source = f"{fields['corpus']}-{fields['retriever']}".lower()
        strategy = Strategy("cot", source, int(snippets))
    return {**fields, "answer": letter, "status": status, "strategy": strategy.name}


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
