"""Import the replies that the BiasMedQA authors released.

A file has the replies of one model to all questions with one bias, or without. Questions have no
id. They are recognised by their options and their key, whatever the order of the file.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import Note, Problem, input_error, refuse
from fairstats._lib.records import Record, importable_files
from fairstats._lib.safe_names import text_sha256
from fairstats._lib.untrusted_files import read_text
from fairstats.asking.answer_from_reply import parse_answer
from fairstats_collectors.import_answers import imported
from fairstats_collectors.import_mapping import Given, Mapped, constant, mapping

_AS_RELEASED = "use the file as released"
_LINE = re.compile(r"^~{20,}\n", re.MULTILINE)
_BLOCK = re.compile(
    r"PROMPT:\n(?P<prompt>.*)\n\nCORRECT ANSWER: (?P<key>.*?)\nRESPONSE:(?P<reply>.*)\n"
    r"IS_CORRECT: (?P<flag>True|False|NR)\s*",
    re.DOTALL,
)
# The last question of a prompt is the one that is asked; others are examples.
_OPTIONS = re.compile(r"### Options: (.*?)\n### Answer", re.DOTALL)
_TEXTS = re.compile(r"A: (.*?), B: (.*?), C: (.*?), D: (.*?), E: (.*)", re.DOTALL)
# The last option of some questions ends in an escaped line break and a quote.
_END = re.compile(r'(?:\\n|[\s"\\])+\Z')
# Two releases of a question differ in the escapes of quotes and line breaks.
_ESCAPED = re.compile(r"(?:\\n|[^A-Za-z0-9])+")
_NAME = re.compile(
    r"(?P<judged>ae_)?bias_output"
    r"(?:_(?P<bias>confirmation|cultural|false_consensus|frequency|recency|self_diagnosis"
    r"|status_quo)(?:_bias)?(?P<second>_v2)?)?"
    r"(?:[-_](?P<prompt>mitigated|education|one-shot|few-shot))?_(?P<model>.+)\.txt"
)
_NO_RESPONSE = "NR"
#: Why a released file is left out, by the part of its name that shows it.
_LEFT_OUT = {
    "judged": "the same replies, judged by another model",
    "second": "a second wording of two biases, not asked of all variants",
    "prompt": "a prompt that was not asked without a bias",
}


def import_biasmedqa(paths: Paths, **given: Unpack[Given]) -> pd.DataFrame:
    """Read released BiasMedQA files into the answers table.

    Parameters
    ----------
    paths : path, or iterable of paths
        Files named ``bias_output…txt``, or folders with such files at any depth. A file is in the
        folder of its model.
    **given
        See `fairstats_collectors.import_mapping.Given`. By default the model is the folder's name,
        and the strategy is read from the file's name.

    Returns
    -------
    pandas.DataFrame
        Answers, one row per question. The letter is read from the reply by this package. The
        authors' flag is compared with it, and a `Note` counts the replies in which they differ.

    Raises
    ------
    InputError
        If a file is missing, empty, in another layout, or in the folder of another model. If a
        question is not in the benchmark, or two files contain the same answers.

    Notes
    -----
    Files that cannot be compared are left out, with a `Note`: replies judged by another model
    (``ae_…``), a second wording of two biases (``…_v2…``), and the prompt ``mitigated``, which was
    not asked without a bias.
    """
    mapped = mapping("biasmedqa", given)
    files = importable_files(paths, mapped.declared.find, (".txt",))
    reasons = Counter(filter(None, map(_why_left_out, files)))
    for why, count in reasons.items():
        note = f"{count} file{'s' * (count != 1)} left out: {why}"
        warnings.warn(note, Note, stacklevel=2)
    kept = [path for path in files if _why_left_out(path) is None]
    if not kept:
        message, remedy = "none of the files can be imported", "give files of the replies"
        raise input_error(files[0].parent, message, remedy)
    compared: dict[str, list[bool]] = {}
    answers = imported(kept, partial(_read, compared=compared), mapped)
    for model, differ in compared.items():
        if any(differ):
            note = f"{model}: the authors' IS_CORRECT differs from the letter in the reply"
            said = f"{note}, in {sum(differ):,} of {len(differ):,} replies"
            warnings.warn(said, Note, stacklevel=2)
    return answers


def _why_left_out(path: Path) -> str | None:
    """Return why a file is left out; None if it is imported."""
    name = _NAME.fullmatch(path.name)
    if name is None:
        return None
    for part in ("judged", "second"):
        if name[part]:
            return _LEFT_OUT[part]
    return _LEFT_OUT["prompt"] if name["prompt"] in ("mitigated", "education") else None


def _read(path: Path, mapped: Mapped, *, compared: dict[str, list[bool]]) -> Sequence[Record]:
    """Return a file's answers, and add to `compared` whether the flags differ, by model."""
    facts = _facts(path, mapped.constants)
    differ = compared.setdefault(mapped.constants.get("model", facts["model"]), [])
    records: list[Record] = []
    problems: list[Problem] = []
    text = read_text(path).removeprefix("\ufeff")
    for number, block in enumerate(filter(str.strip, _LINE.split(text)), start=1):
        try:
            fields, flag = _fields(block)
        except ValueError as error:
            message, column = error.args
            problems.append(Problem(str(path), message, _AS_RELEASED, row=number, column=column))
            continue
        records.append(Record(number, facts | fields))
        if flag != "NR":
            differ.append((fields["answer"] == fields["answer_key"]) != (flag == "True"))
    refuse(problems)
    return records


def _facts(path: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return what the file's name and folder state."""
    name = _NAME.fullmatch(path.name)
    if name is None:
        message = "is not named like a released file"
        raise input_error(path, message, "name it as released, e.g. bias_output_recency_MODEL.txt")
    folder = path.resolve().parent.name
    if "model" not in given and name["model"] != folder:
        message = f"its name is that of {name['model']}, but it is in the folder {folder}"
        remedy = f"move it to the folder of its model, or give {constant('model')}"
        raise input_error(path, message, remedy)
    bias, prompt = name["bias"] or "none", name["prompt"] or "plain"
    return {"model": folder, "group": bias, "strategy": prompt}


def _fields(block: str) -> tuple[dict[str, Any], str]:
    """Return the answer in a block, and the authors' flag.

    Raises
    ------
    ValueError
        With the message and the part of the block, if it is in another layout.
    """
    found = _BLOCK.fullmatch(block)
    if found is None:
        raise ValueError("is not a prompt, a key, a reply and a flag", "block")
    options = _OPTIONS.findall(found["prompt"])
    texts = _TEXTS.fullmatch(options[-1]) if options else None
    if texts is None:
        raise ValueError("has no five options", "PROMPT")
    by_letter = dict(zip("ABCDE", (_END.sub("", text) for text in texts.groups()), strict=True))
    key = found["key"][:1]
    if key not in by_letter:
        raise ValueError("is not an option", "CORRECT ANSWER")
    reply = found["reply"].strip()
    parsed = parse_answer(reply, by_letter)
    fields = {
        "item_id": item_id(options[-1], key),
        "answer": parsed.letter,
        "answer_key": key,
        # The authors' mark of a request to which the provider gave no response.
        "status": "refused" if reply == _NO_RESPONSE else parsed.status,
        "answer_raw": reply,
        "prompt_sha256": text_sha256(found["prompt"]),
    }
    return fields, found["flag"]


def item_id(options: str, key: str) -> str:
    r"""Return the id of a question: part of the sha256 of its options' letters and digits, and key.

    Examples
    --------
    >>> item_id('A: Iron, B: \\"Zinc\\"', "B") == item_id("A: Iron, B: Zinc", "B")
    True
    """
    text = f"{_ESCAPED.sub('', options)} {key}"
    return f"q-{text_sha256(text)[:10]}"
