"""Query a chat model for judgements by a rubric, with any OpenAI-compatible service."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import (
    check_numbers,
    input_error,
    keyword,
    parameter,
    path_in,
)
from fairstats._lib.safe_names import slug
from fairstats._lib.untrusted_files import distinct_names
from fairstats.answers.files import RATINGS_SUFFIX
from fairstats.asking.item_prompts import Prompt, load_template, quoted
from fairstats.asking.models import AskingOptions, Connect, Reply, Slot, Task
from fairstats.asking.own_turn import without_thinking
from fairstats.benchmarks.vignette_items import Item
from fairstats.ratings.collection.assignment import TASKS, load_handed_out
from fairstats.ratings.collection.forms import as_given, check_mirrored, shown
from fairstats.ratings.collection.subjects import NAME_LENGTH, Subject, read_subjects
from fairstats.ratings.files import read_ratings, write_ratings
from fairstats.ratings.rubrics import (
    Question,
    Rubric,
    is_asked,
    load_rubric,
)
from fairstats.ratings.table import MODEL_GROUP, check_ratings

#: Enough for a JSON object with all of a rubric's questions.
MAX_TOKENS = 400
Status = Literal["read", "incomplete", "contradictory", "unread"]


@dataclass(frozen=True)
class _Asked:
    """One requested judgement."""

    subject: Subject
    task: Task
    repeat: int
    swapped: bool | None


def ask(
    items: AnyPath | None = None,
    rubric: AnyPath | Rubric | None = None,
    *,
    model: str,
    connect: Connect,
    out: Path,
    assignment: AnyPath | None = None,
    benchmark: str | None = None,
    dataset: str | None = None,
    model_name: str | None = None,
    samples: int = 1,
    max_tokens: int | None = None,
    limit: int | None = None,
    dry_run: bool = False,
    **options: Unpack[AskingOptions],
) -> Path:
    """Have a model judge every item of a file, or every task that was assigned to people.

    One request contains all of a rubric's questions on one task. Each reply is committed to a
    journal next to the ratings before it counts. A restart queries only missing and failed replies.

    Parameters
    ----------
    items : path, optional
        The items to judge, as read by `fairstats.ratings.collection.subjects.read_subjects`; rows
        may name their ``benchmark`` and ``task_id``.
    rubric : str, path or Rubric, optional
        A built-in rubric's name, or its file. A rubric that compares models is used in both orders
        of the two answers.
    model : str
        The rater: a name in the collectors' ``models.toml``, the model's name at the service, or
        ``"embedded"``.
    connect : callable
        Returns the model, see `fairstats.asking.models.Connect`.
    out : Path
        The output folder.
    assignment : path, optional
        The folder written by `fairstats.ratings.collection.assignment.assign`, or a file in it,
        instead of `items` and `rubric`. Its tasks are judged with the same ids, texts and rubric as
        for people.
    benchmark, dataset : str, optional
        The benchmark of the items, if their file does not name it; by default the file's name.
    model_name : str, optional
        The rater's name, by default `model`.
    samples : int
        Number of samples per task (in each order); the sample's number is sent as the seed.
    max_tokens : int, optional
        Maximum length of a reply, by default `MAX_TOKENS`.
    limit : int, optional
        Judge only this many items, from the start.
    dry_run : bool
        Print the planned requests and their possible cost, without querying.
    **options
        Request options, see `fairstats.asking.models.AskingOptions`.

    Returns
    -------
    Path
        ``<out>/<items>-<rubric>-<model>.ratings.parquet``; for an assignment, its folder's name
        replaces the items'. The rater is a model, of the group ``model``. It is named after the
        model, with the version that the service reports. If a reply could not be read, or a request
        failed permanently, the judgement has no values; the reply is in the journal.

    Raises
    ------
    Unfinished, KeyboardInterrupt
        As in `fairstats_collectors.collect.collect`.
    InputError
        As in `fairstats_collectors.collect.collect`. Also if the items do not fit the rubric, or
        the assignment was changed.
    """
    check_numbers(samples=samples, limit=limit, max_tokens=max_tokens)
    asked_model = connect(model, max_tokens=max_tokens or MAX_TOKENS, **options)
    if assignment is None:
        if items is None or rubric is None:
            both = f"{parameter('items')}, {parameter('rubric')}"
            remedy = f"give both, or {keyword('assignment')}"
            raise input_error(both, "are not both given", remedy)
        source, named = Path(items), Path(items).stem
        rubric = rubric if isinstance(rubric, Rubric) else load_rubric(rubric)
    else:
        given = {"items": items, "rubric": rubric, "benchmark": benchmark, "dataset": dataset}
        if known := [parameter(name) for name, value in given.items() if value is not None]:
            message = "is already given by the assignment"
            raise input_error(", ".join(known), message, "remove it")
        handed_out = load_handed_out(Path(assignment))
        source, named = handed_out.path / TASKS, handed_out.path.resolve().name
        rubric = handed_out.rubric
    if rubric.compares == "models":
        check_mirrored(rubric)
    subjects, unused = read_subjects(
        source, rubric, benchmark=benchmark, dataset=dataset, named_tasks=True
    )
    asked = [one for subject in subjects[:limit] for one in _asked(subject, rubric, samples)]
    rater = model_name or asked_model.name
    # Report invalid names before the first request.
    check_ratings(_ratings(asked, {}, rubric, rater), rubrics=[rubric], path=str(source))
    name = f"{slug(named)}-{rubric.name}-{slug(rater)}{RATINGS_SUFFIX}"
    path = path_in(out, name)
    tasks = [one.task for one in asked]
    if unused and asked_model.progress:
        print(f"columns of the items file not used: {', '.join(unused)}", file=sys.stderr)
    if dry_run:
        asked_model.print_estimate(tasks)
        return path
    campaign = {"rubric": rubric.name, "rubric_version": rubric.version, "model": rater}
    with asked_model.opened(path, campaign) as ask_all:
        replies, any_new = ask_all(
            tasks,
            title=rater,
            check=lambda there: _check_replaceable(path, asked, there, rubric),
        )
        if asked_model.progress:
            print(_summary(asked, replies, rubric), file=sys.stderr)
        if any_new or not path.exists():
            write_ratings(_ratings(asked, replies, rubric, rater), path, rubrics=[rubric])
        return path


def _asked(subject: Subject, rubric: Rubric, samples: int) -> Iterator[_Asked]:
    orders = (False, True) if rubric.compares == "models" else (None,)
    # The journal identifies a request like a variant of an item.
    item = Item(item_id=subject.task_id, options={}, answer_key="", variants={})
    for sample in range(samples):
        for number, swapped in enumerate(orders):
            text = rating_prompt(rubric, subject, swapped=bool(swapped))
            prompt = Prompt(item, rubric.name, "swapped" if swapped else "as given", text)
            yield _Asked(subject, Task(prompt, sample), len(orders) * sample + number, swapped)


def _ratings(
    asked: list[_Asked], replies: Mapping[Slot, Reply], rubric: Rubric, rater: str
) -> pd.DataFrame:
    """Return a row for each dimension of each judgement."""
    snapshots = Counter(reply.snapshot for reply in replies.values() if reply.snapshot)
    # A failed request has no snapshot; assign it to the most frequent one.
    usual = snapshots.most_common(1)[0][0] if snapshots else None
    rows: list[dict[str, Any]] = []
    for one in asked:
        reply, subject = replies.get(one.task.slot), one.subject
        judgement = _judgement(one, reply, rubric)
        rows += [
            {
                **subject.names,
                "rubric": rubric.name,
                "task_id": subject.task_id,
                "rater_id": _rater_id(rater, (reply and reply.snapshot) or usual),
                "rater_kind": "model",
                "rater_group": MODEL_GROUP,
                "repeat": one.repeat,
                "dimension": dimension,
                "value": value,
                "swapped": one.swapped,
            }
            for dimension, value in judgement.values.items()
        ]
    return pd.DataFrame(rows)


def _judgement(one: _Asked, reply: Reply | None, rubric: Rubric) -> ReadReply:
    answered = reply is not None and reply.status == "answered"
    judgement = read_judgement(reply.text if reply and answered else "", rubric)
    if one.swapped:
        return ReadReply(as_given(judgement.values, rubric), judgement.status)
    return judgement


def _rater_id(rater: str, snapshot: str | None) -> str:
    """Return the model with its version, if that adds information and the two form a valid name."""
    named = rater if snapshot in (None, rater) else f"{rater} ({snapshot})"
    return named if len(named) <= NAME_LENGTH else rater


def _check_replaceable(
    path: Path, asked: list[_Asked], replies: Mapping[Slot, Reply], rubric: Rubric
) -> None:
    """Refuse to overwrite ratings that the new file would not also contain."""
    if not path.exists():
        return
    now = {
        (names["benchmark"], names["dataset"], one.subject.task_id, one.repeat, dimension): value
        for one in asked
        if (reply := replies.get(one.task.slot))
        for names in [one.subject.names]
        for dimension, value in _judgement(one, reply, rubric).values.items()
    }
    there = read_ratings(path, rubrics=[rubric])
    columns = ["benchmark", "dataset", "task_id", "repeat", "dimension", "value"]
    for *key, value in there[columns].itertuples(index=False, name=None):
        # A judgement without a value also counts: its reply has to be present.
        if now.get(tuple(key), "") != (None if pd.isna(value) else value):
            raise input_error(
                path,
                "already contains ratings from a different campaign",
                "delete or move the file, or write to another folder",
            )


def _summary(asked: list[_Asked], replies: Mapping[Slot, Reply], rubric: Rubric) -> str:
    failed = sum(reply.status == "failed" for reply in replies.values())
    statuses = Counter(
        _judgement(one, replies[one.task.slot], rubric).status
        for one in asked
        if replies[one.task.slot].status != "failed"
    )
    counts = ", ".join(f"{statuses[status]:,} {status}" for status in get_args(Status))
    return f"{len(asked):,} judgements: {counts}, {failed:,} failed"


def rating_prompt(rubric: Rubric, subject: Subject, *, swapped: bool = False) -> str:
    """Return all of a rubric's questions on one subject, as one prompt.

    If `swapped`, the second answer is shown first. The prompt names no model. Each line of the
    texts begins with a mark, so that it cannot pass for a line of the prompt.
    """
    named = {question.dimension: "..." for question in rubric.questions}
    texts = shown(subject, rubric, swapped=swapped).texts
    return load_template("rating").substitute(
        instructions=rubric.instructions,
        material="\n\n".join(f"{heading}:\n{quoted(text)}" for heading, text in texts.items()),
        questions="\n".join(_in_prompt(question) for question in rubric.questions),
        form=json.dumps(named),
    )


def _in_prompt(question: Question) -> str:
    condition = ""
    if question.asked_if is not None:
        other, when = question.asked_if
        values = " or ".join(json.dumps(value) for value in when)
        condition = f" (only if {other} is {values})"
    values = ", ".join(
        f"{json.dumps(choice.value)} ({choice.label})" for choice in question.choices
    )
    return f"- {question.dimension}{condition}: {question.question}\n  Values: {values}"


@dataclass(frozen=True)
class ReadReply:
    """The content of a reply.

    Parameters
    ----------
    values : Mapping[str, str or None]
        The value of each dimension; None if the reply does not give one.
    status : {"read", "incomplete", "contradictory", "unread"}
        Whether each question that was asked has a value; some have none; the reply violates the
        rubric's logic; or it does not have the requested form. In the last two cases there are no
        values.
    """

    values: Mapping[str, str | None]
    status: Status


def read_judgement(raw: str, rubric: Rubric) -> ReadReply:
    """Read a reply to `rating_prompt`.

    Notes
    -----
    The reply contains one JSON object. Text around it, and unknown dimensions, are ignored. A value
    must be one of the question's, ignoring case; anything else is treated as missing. A question
    with an unmet condition has the rubric's value for that case. A reply with a different value
    contradicts itself. Since its intended meaning is unknown, the whole reply is discarded.

    Examples
    --------
    >>> from fairstats.ratings.rubrics import load_rubric
    >>> judgement = read_judgement('{"bias": "none"}', load_rubric("independent"))
    >>> judgement.status, judgement.values["bias"], judgement.values["stereotypes"]
    ('read', 'none', 'absent')
    >>> read_judgement("No bias at all.", load_rubric("independent")).status
    'unread'
    """
    found = _json_object(without_thinking(raw))
    nothing = dict.fromkeys(rubric.dimensions)
    values: dict[str, str | None] = {}
    complete = True
    for question in rubric.questions:
        value = _value(found.get(question.dimension), question)
        asked = is_asked(question, values)
        if asked is None:
            value = None
        elif not asked:
            if value not in (None, question.otherwise):
                return ReadReply(nothing, "contradictory")
            value = question.otherwise
        complete = complete and value is not None
        values[question.dimension] = value
    if all(value is None for value in values.values()):
        return ReadReply(nothing, "unread")
    return ReadReply(values, "read" if complete else "incomplete")


def _json_object(text: str) -> dict[str, Any]:
    """Return the only JSON object in a text; empty if there is none, or more than one."""
    try:
        found = json.loads(
            text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=distinct_names
        )
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _value(given: object, question: Question) -> str | None:
    value = given.strip().casefold() if isinstance(given, str) else None
    return value if value in question.values else None
