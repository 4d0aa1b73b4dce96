"""Read an agent's reply strictly, without guessing."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairstats._lib.untrusted_json import distinct_names
from fairstats.asking.reply_patterns import REFUSAL, SENTENCE_END
from fairstats.asking.reply_text import plain_text, without_thinking

# A vignette has a few hundred words; a much longer reply is from a model that does not stop.
_LONGEST = 20_000
# Control characters, halves of surrogate pairs (which no file can store), line separators that
# readers treat differently, and characters that change the text direction.
_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}
_TURNS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


class BrokenReply(ValueError):
    """Raised for a reply that does not have the requested form; describes the error."""


class Refused(ValueError):
    """Raised for a reply that declines the request."""


@dataclass(frozen=True)
class Verdict:
    """The decision of the filter's model on an item."""

    keep: bool
    reason: str


def read_verdict(raw: str) -> Verdict:
    """Read a reply to ``prompts/vignettes/filter.txt``.

    Raises
    ------
    BrokenReply, Refused
        If it does not have the required form.

    Examples
    --------
    >>> read_verdict('{"decision": "exclude", "reason": "It is about pregnancy."}')
    Verdict(keep=False, reason='It is about pregnancy.')
    """
    found = _object(raw)
    decision = _text(found, "decision").casefold()
    if decision not in ("keep", "exclude"):
        raise BrokenReply('"decision" has to be "keep" or "exclude"')
    return Verdict(decision == "keep", " ".join(_text(found, "reason").split()))


def read_text(name: str) -> Callable[[str], str]:
    """Return a reader of replies that contain one text under this name.

    Examples
    --------
    >>> read_text("background")('Here it is: {"background": "They live alone."}')
    'They live alone.'
    """

    def read(raw: str) -> str:
        return _text(_object(raw), name)

    return read


def _object(raw: str) -> dict[str, Any]:
    """Return the only JSON object of a reply; text around it is ignored."""
    text = without_thinking(raw)
    try:
        # A line break within a text is invalid JSON, but is accepted as a line break.
        found = json.loads(
            text[text.index("{") : text.rindex("}") + 1],
            object_pairs_hook=distinct_names,
            strict=False,
        )
    except (ValueError, RecursionError):
        if REFUSAL.search(SENTENCE_END.split(plain_text(raw), maxsplit=1)[0]):
            raise Refused("declined") from None
        raise BrokenReply("it is not one JSON object") from None
    if not isinstance(found, dict):
        raise BrokenReply("it is not one JSON object")
    return found


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BrokenReply(f'"{name}" has to be there, and has to be a text')
    if len(value) > _LONGEST:
        raise BrokenReply(f'"{name}" is too long')
    if any(_is_no_text(sign) for sign in value):
        raise BrokenReply(f'"{name}" holds signs that are no text')
    return value.strip()


def _is_no_text(sign: str) -> bool:
    return sign not in "\n\t" and (unicodedata.category(sign) in _NO_TEXT or sign in _TURNS)
