"""Read a journal from another machine, and check everything in it before use."""

from __future__ import annotations

import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import canonical_json
from fairstats.asking.models import Reply
from fairstats_collectors.journal import (
    FORMAT,
    TABLES,
    parameters_of,
    reply_key,
    schema_of,
    stored_replies,
)

FACTS = ("benchmark", "benchmark_version", "model", "strategy")
_LONGEST = 1_000_000
_NAME = 200
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SETTINGS = {"temperature", "seed", "max_tokens", "max_completion_tokens"}
_REMEDY = "use a journal written by `fairstats collect`"


def read_journal(path: Path) -> tuple[dict[str, str], list[Reply]]:
    """Return the facts of a journal's campaign, and every reply in it.

    Parameters
    ----------
    path : Path
        A journal; it is not written to.

    Raises
    ------
    InputError
        If it is not a journal, is damaged or in use, or has a row that `fairstats collect` would
        not have written. This includes a row with a key that does not match its content. Each such
        row is named.
    """
    if not path.is_file():
        raise InputError([Problem(str(path), "no such file", "check the path")])
    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=1)) as database:
            # A hostile file's schema must not run any code.
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            if schema_of(database) != TABLES:
                raise InputError(
                    [Problem(str(path), "is not a journal of this version of fairstats", _REMEDY)]
                )
            (damage,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if damage != "ok":
                raise InputError([Problem(str(path), f"is damaged ({damage})", _REMEDY)])
            campaign = dict(database.execute("SELECT name, value FROM campaign"))
            replies = stored_replies(database)
    except (sqlite3.Error, UnicodeError) as error:
        said = "is in use by another run" if "locked" in str(error) else f"cannot be read ({error})"
        raise InputError([Problem(str(path), said, _REMEDY)]) from None
    problems = [
        Problem(str(path), "is missing from the journal", _REMEDY, column=name)
        for name in FACTS
        if not _is_name(campaign.get(name))
    ]
    if campaign.get("format") != FORMAT:
        problems.append(Problem(str(path), "is a journal of another version of fairstats", _REMEDY))
    for number, reply in enumerate(replies, start=1):
        if column := _fault(reply):
            value = str(getattr(reply, column))
            message = "was not written by `fairstats collect`"
            problems.append(
                Problem(str(path), message, _REMEDY, row=number, column=column, value=value)
            )
    if problems:
        raise InputError(problems)
    return campaign, replies


def _fault(reply: Reply) -> str | None:
    """Return the column of a reply that cannot be right; None if all can."""
    for name in ("model", "endpoint", "item_id", "attribute", "variant"):
        if not _is_name(getattr(reply, name)):
            return name
    checks = {
        "sample": type(reply.sample) is int and reply.sample >= 0,
        "prompt_sha256": _matches(_SHA256, reply.prompt_sha256),
        "status": reply.status in ("answered", "refused", "failed"),
        "text": isinstance(reply.text, str) and len(reply.text) <= _LONGEST,
        "snapshot": reply.snapshot is None or _is_name(reply.snapshot),
        "latency_s": reply.latency_s is None or _is_number(reply.latency_s),
        "prompt_tokens": reply.prompt_tokens is None or _is_number(reply.prompt_tokens),
        "completion_tokens": reply.completion_tokens is None or _is_number(reply.completion_tokens),
        "collected_at": _matches(_TIME, reply.collected_at),
        "parameters": _is_parameters(reply.parameters),
    }
    for column, right in checks.items():
        if not right:
            return column
    key = reply_key(
        model=reply.model,
        endpoint=reply.endpoint,
        parameters=reply.parameters,
        prompt_sha256=reply.prompt_sha256,
        variant=(reply.item_id, reply.attribute, reply.variant),
        sample=reply.sample,
    )
    return None if reply.key == key else "key"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _NAME and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_parameters(text: object) -> bool:
    """Check whether this is the canonical JSON of settings that a collector sends."""
    if not isinstance(text, str) or len(text) > _NAME:
        return False
    parameters = parameters_of(text)
    return (
        parameters is not None
        and parameters.keys() <= _SETTINGS
        and all(_is_number(value) for value in parameters.values())
        and canonical_json(parameters) == text
    )
