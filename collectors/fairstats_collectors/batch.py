"""Ask through a Batch API: one file of requests goes up, and within a day one of replies is there.

The batch's number goes to the journal; starting again waits for that batch, and asks for no other
before its replies are in.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Final, TypeVar, cast

from pydantic import AfterValidator, BaseModel, StringConstraints

from fairstats._lib.problems import printable
from fairstats._lib.untrusted_files import parse_json
from fairstats.asking.models import Reply, Task
from fairstats_collectors.campaign import note_names
from fairstats_collectors.chat_requests import Service
from fairstats_collectors.http_clients import (
    MAX_REPLY_BYTES,
    has_many_parts,
    http_library,
    within_deadline,
)
from fairstats_collectors.journal import Journal

_BATCH, _MARK = "batch", "mark"
_ENDPOINT: Final = "/v1/chat/completions"
_OVER = ("completed", "failed", "expired", "cancelled")
# The limit of one OpenAI batch; the next start sends the rest.
_LARGEST = 50_000
# Each reply can have megabytes.
_KEPT_AT_ONCE = 20
_LONGEST_FAULT = 1_000


_Name = Annotated[str, StringConstraints(max_length=500), AfterValidator(printable)]


class _File(BaseModel):
    id: _Name


class _Counts(BaseModel):
    completed: int | None = None


class _Fault(BaseModel):
    message: str | None = None


class _Errors(BaseModel):
    data: list[_Fault] | None = None


class _Batch(BaseModel):
    """What a service states about a batch, as far as it is used."""

    id: _Name
    status: _Name
    request_counts: _Counts | None = None
    errors: _Errors | None = None
    output_file_id: _Name | None = None
    error_file_id: _Name | None = None
    metadata: dict[str, Any] | None = None


class _Page(BaseModel):
    data: list[_Batch]


_T = TypeVar("_T", bound=BaseModel)


async def run_batch(
    service: Service,
    journal: Journal,
    tasks: Sequence[Task],
    *,
    settle: bool,
    poll_s: float = 30,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Send these tasks in one batch, or fetch the batch of an earlier start.

    With `settle`, the first task is sent separately, to learn which settings the service
    accepts. The status is checked every `poll_s` seconds.

    Raises
    ------
    openai.OpenAIError
        If the service cannot be reached or has no such API.
    InputError
        If it rejects the first request.
    """
    async with service.client:
        number = journal.campaign().get(_BATCH) or await _orphan(service, journal)
        if not number:
            if settle:
                journal.keep([await service.ask_first(tasks[0], settle=True)])
                note_names(journal, service)
                tasks = tasks[1:]
            if not tasks:
                return
            number = await _begin(service, journal, tasks[:_LARGEST])
            say(f"batch {number}: {min(len(tasks), _LARGEST):,} requests sent")
        while (batch := await _state(service, number)).status not in _OVER:
            done = (batch.request_counts or _Counts()).completed or 0
            say(f"batch {number} is {batch.status}, {done:,} replies")
            await asyncio.sleep(poll_s)
        faults = batch.errors.data or [] if batch.errors else []
        said = "; ".join(printable(fault.message or "")[:_LONGEST_FAULT] for fault in faults[:3])
        say(service.hide(f"batch {number} is {batch.status} {said}".rstrip()))
        by_key = {service.key(task): task for task in tasks}
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                with TemporaryFile(dir=journal.path.parent) as stored:
                    await within_deadline(_fetch(service, file, stored))
                    stored.seek(0)
                    replies = _replies(service, stored, by_key)
                    while some := list(islice(replies, _KEPT_AT_ONCE)):
                        journal.keep(some)
        # Only now: replies that were not fetched are fetched by the next start.
        journal.note(_BATCH, "")


def has_batch(journal: Journal) -> bool:
    """Check whether a batch was requested and its replies are still missing."""
    campaign = journal.campaign()
    return _MARK in campaign and campaign.get(_BATCH) != ""


async def _begin(service: Service, journal: Journal, tasks: Sequence[Task]) -> str:
    lines = [
        {
            "custom_id": service.key(task),
            "method": "POST",
            "url": _ENDPOINT,
            "body": service.body(task),
        }
        for task in tasks
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    sent = ("requests.jsonl", content)
    raw: Any = await service.client.files.with_raw_response.create(file=sent, purpose="batch")
    file = _checked(_File, raw)
    # The mark is in the journal before the batch is created. If the process dies in between, the
    # next start finds the batch by its mark.
    mark = uuid.uuid4().hex
    journal.forget(_BATCH)
    journal.note(_MARK, mark)
    raw = await service.client.batches.with_raw_response.create(
        input_file_id=file.id,
        endpoint=_ENDPOINT,
        completion_window="24h",
        metadata={"mark": mark},
    )
    batch = _checked(_Batch, raw)
    journal.note(_BATCH, batch.id)
    return batch.id


async def _orphan(service: Service, journal: Journal) -> str | None:
    """Return a batch that was created but has no number in the journal."""
    campaign = journal.campaign()
    if _MARK not in campaign or _BATCH in campaign:
        return None
    page = _checked(_Page, await service.client.batches.with_raw_response.list(limit=100))
    for batch in page.data:
        if (batch.metadata or {}).get("mark") == campaign[_MARK]:
            journal.note(_BATCH, batch.id)
            return batch.id
    return None


async def _state(service: Service, number: str) -> _Batch:
    return _checked(_Batch, await service.client.batches.with_raw_response.retrieve(number))


def _checked(kind: type[_T], raw: Any) -> _T:
    """Read a reply about a batch; the client's own models check nothing."""
    import openai

    try:
        return kind.model_validate(parse_json(raw.content))
    except (ValueError, RecursionError):
        message = f"the reply is not a {kind.__name__.strip('_').lower()} of the Batch API"
    raise openai.APIError(message, raw.http_request, body=None)


async def _fetch(service: Service, file: str, stored: IO[bytes]) -> None:
    """Write a batch's file to the disk, since it may not fit into memory."""
    import openai

    try:
        async with service.client.files.with_streaming_response.content(file) as response:
            async for part in response.iter_bytes():
                stored.write(part)
        return
    except http_library().HTTPError as error:
        message = f"the replies were not received ({error})"
    raise openai.APIConnectionError(message=message, request=cast(Any, None))


def _replies(service: Service, stored: IO[bytes], tasks: Mapping[str, Task]) -> Iterator[Reply]:
    """Return the replies in a batch's file; lines that are too long are skipped.

    So are those of unknown tasks.
    """
    # The parts of a longer line are not JSON.
    for line in iter(partial(stored.readline, MAX_REPLY_BYTES), b""):
        if has_many_parts(line):
            continue
        try:
            row = parse_json(line.decode("utf-8", "replace"))
            task = tasks[row["custom_id"]]
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        yield service.reply(task, _found(service, row))


def _found(service: Service, row: Mapping[str, Any]) -> dict[str, Any]:
    response = row.get("response")
    try:
        if isinstance(response, dict) and response.get("status_code") == 200:
            return service.read(response.get("body"))
        reason = json.dumps(row.get("error") or response)
    except ValueError as error:
        reason = str(error)
    return {"status": "failed", "text": f"batch: {reason}"}
