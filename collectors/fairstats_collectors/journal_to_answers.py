"""Turn the journal into the answers table, and report missing replies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.problems import InputError, Problem
from fairstats.answers.files import read_answers
from fairstats.asking.answer_from_reply import parse_answer
from fairstats.asking.models import Reply, Slot, Task

_SLOT = ["item_id", "attribute", "group", "sample"]


@dataclass(frozen=True)
class Reconciliation:
    """List every expected (item, attribute, group, sample), and its outcome.

    Parameters
    ----------
    answered : int
        The number with a reply.
    failed : Mapping
        Those with a request that failed for good, and the reason.
    missing : tuple
        Those that were not sent, or have no reply yet.
    """

    answered: int
    failed: Mapping[Slot, str]
    missing: tuple[Slot, ...]

    def __str__(self) -> str:
        expected = self.answered + len(self.failed) + len(self.missing)
        return (
            f"{expected:,} expected: {self.answered:,} answered, {len(self.failed):,} failed, "
            f"{len(self.missing):,} missing"
        )


def reconcile(tasks: Iterable[Task], replies: Mapping[Slot, Reply]) -> Reconciliation:
    """Compare the expected replies with the existing ones."""
    answered, failed, missing = 0, {}, []
    for task in tasks:
        reply = replies.get(task.slot)
        if reply is None:
            missing.append(task.slot)
        elif reply.status == "failed":
            failed[task.slot] = reply.text
        else:
            answered += 1
    return Reconciliation(answered, failed, tuple(missing))


def answer_rows(
    tasks: Iterable[Task], replies: Mapping[Slot, Reply], facts: Mapping[str, str]
) -> pd.DataFrame:
    """Return the rows of the answers table, in the order of the tasks.

    Parameters
    ----------
    tasks : iterable of Task
        The expected tasks; each has its reply.
    replies : Mapping
        The reply to each task.
    facts : Mapping
        The columns that all rows share: benchmark, benchmark_version, model, strategy.
    """
    return pd.DataFrame([dict(facts) | _row(task, replies[task.slot]) for task in tasks])


def _row(task: Task, reply: Reply) -> dict[str, Any]:
    answer, status = None, "error"
    if reply.status == "refused":
        status = "refused"
    elif reply.status == "answered":
        parsed = parse_answer(reply.text, task.prompt.item.options)
        answer, status = parsed.letter, parsed.status
    parameters = json.loads(reply.parameters)
    return {
        **dict(zip(_SLOT, task.slot, strict=True)),
        "answer": answer,
        "answer_key": task.prompt.item.answer_key,
        "status": status,
        "snapshot": reply.snapshot,
        "answer_raw": reply.text,
        "prompt_sha256": reply.prompt_sha256,
        "context_sha256": task.prompt.context_sha256,
        "temperature": parameters.get("temperature"),
        "max_tokens": parameters.get("max_tokens", parameters.get("max_completion_tokens")),
        "seed": parameters.get("seed"),
        "latency_s": reply.latency_s,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "collected_at": reply.collected_at,
        "collector": "chat",
    }


def check_replaceable(path: Path, tasks: Iterable[Task], replies: Mapping[Slot, Reply]) -> None:
    """Refuse to overwrite answers that the new file would not contain.

    Parameters
    ----------
    path : Path
        The file for the answers.
    tasks : iterable of Task
        The tasks of the new file.
    replies : Mapping
        Their replies in the journal so far.

    Raises
    ------
    InputError
        If an existing row is not one of these tasks, or its reply is not in the journal.
    """
    if not path.exists():
        return
    columns = [*_SLOT, "prompt_sha256", "answer_raw"]
    there = read_answers(path)
    own = {task.slot for task in tasks}
    told = there.reindex(columns=[*columns, "status"])
    for *slot, prompt, raw, status in told.itertuples(index=False, name=None):
        reply = replies.get(tuple(slot))
        same = reply is not None and (reply.prompt_sha256, reply.text) == (prompt, raw)
        if tuple(slot) not in own or not (same or status == "error"):
            raise InputError(
                [
                    Problem(
                        str(path),
                        "already contains answers from a different campaign",
                        "delete or move the file, or write to another folder",
                    )
                ]
            )
