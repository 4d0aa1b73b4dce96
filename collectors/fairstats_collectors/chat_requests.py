"""Query one model at one OpenAI-compatible service, and learn which settings it accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import canonical_json
from fairstats._lib.untrusted_files import parse_json
from fairstats.asking.models import Reply, Task
from fairstats_collectors.http_clients import http_library, redirected_to, within_deadline
from fairstats_collectors.journal import reply_key

if TYPE_CHECKING:
    import openai


_RAW_LENGTH = 1_000_000  # the answers schema takes no more
_REASON_LENGTH = 1_000
# The client repeats a request if the service reports a failure, not if the reply is unusable.
_SENSELESS_REPLIES = 3
# Of a service that was never reached: its address is wrong more often than it is busy.
_FIRST_RETRIES = 2


@dataclass(eq=False)
class Service:
    """One model at one service, and the settings that it accepts.

    Parameters
    ----------
    client : openai.AsyncOpenAI
        The client that reaches it.
    model : str
        The model's name there.
    endpoint : str
        The name of the service in a reply's key.
    settings : Mapping
        ``temperature`` and ``max_tokens``; the seed is the sample's number.
    names : Mapping
        The service's name for each setting; None if it does not accept it. A setting that is not
        listed is sent under its usual name.
    hide : callable
        Removes the key from a text.
    key_variable : str
        The source of the key, for error messages.
    """

    client: openai.AsyncOpenAI
    _: KW_ONLY
    model: str
    endpoint: str
    settings: Mapping[str, float]
    names: dict[str, str | None]
    hide: Callable[[str], str]
    key_variable: str
    #: The number of consecutive requests that failed for a reason that applies to all.
    turned_away: int = field(default=0, init=False)
    advice: str = field(default="", init=False)
    _doubles: Doubles = field(default_factory=lambda: Doubles(), init=False)

    def parameters(self, sample: int) -> dict[str, Any]:
        """Return the settings that are sent with the messages."""
        wanted = {**self.settings, "seed": sample}
        names = {setting: self.names.get(setting, setting) for setting in wanted}
        return {name: wanted[setting] for setting, name in names.items() if name is not None}

    def key(self, task: Task) -> str:
        """Return the key of the reply to a task, with the current settings."""
        return reply_key(
            model=self.model,
            endpoint=self.endpoint,
            parameters=canonical_json(self.parameters(task.sample)),
            prompt_sha256=task.prompt_sha256,
            variant=task.variant,
            sample=task.sample,
        )

    def problem(self, message: str, remedy: str) -> Problem:
        # Not the whole address, which may hold a password.
        host = urlsplit(str(self.client.base_url)).hostname
        return Problem(f"{self.model} at {host}", message, remedy)

    async def ask_first(self, task: Task, *, settle: bool) -> Reply:
        """Send one task alone, before all others.

        With `settle`, settings that the service does not accept are dropped for all requests, and
        an unreachable service is reported soon.

        Raises
        ------
        InputError
            If this request is rejected for a reason that applies to all others.
        """
        retries = min(self.client.max_retries, _FIRST_RETRIES) if settle else None
        while True:
            reply, fault = await self._ask(task, retries)
            if fault is None or not settle or not self._give_way(fault):
                break
        if fault is not None and (remedy := self._remedy(fault)):
            raise InputError([self.problem(reply.text, remedy)])
        return reply

    async def ask(self, task: Task) -> Reply:
        """Ask one task; a request that fails for good is a reply of status ``failed``."""
        reply, fault = await self._ask(task)
        advice = self._remedy(fault) if fault else None
        self.turned_away = self.turned_away + 1 if advice else 0
        self.advice = advice or ""
        return reply

    async def _ask(self, task: Task, retries: int | None = None) -> tuple[Reply, Exception | None]:
        import openai

        fault: Exception | None = None
        found: dict[str, Any] = {}
        suspect: int | None = None
        for _ in range(_SENSELESS_REPLIES):
            try:
                response = await self._post(task, retries)
            except openai.OpenAIError as error:
                # With its traceback, it would hold this frame, and itself.
                fault = error.with_traceback(None)
                break
            try:
                found, suspect = self._found(response.content, suspect)
                fault = None
                if suspect is not None:
                    await close_connection(response)
                    raise ValueError("the reply is to another request")
                # Of the request that was answered, without the waiting between retries.
                found["latency_s"] = response.elapsed.total_seconds()
                break
            except (ValueError, RecursionError) as error:
                # Not the error itself: its traceback would hold the reply.
                fault = ValueError(str(error))
        if fault:
            cause = f" ({fault.__cause__})" if fault.__cause__ else ""
            found = {"status": "failed", "text": f"{type(fault).__name__}: {fault}{cause}"}
        return self.reply(task, found), fault

    def _found(self, content: bytes, suspect: int | None) -> tuple[dict[str, Any], int | None]:
        """Return what `read` finds in a body, and whether it came before; see `Doubles`."""
        completion = _parsed(content)
        return self.read(completion), self._doubles.suspect(content, completion, suspect)

    def reply(self, task: Task, found: Mapping[str, Any]) -> Reply:
        """Return the journal's row for a task, from the facts known about it."""
        item_id, attribute, group = task.variant
        blank = dict.fromkeys(("snapshot", "latency_s", "prompt_tokens", "completion_tokens"))
        longest = _REASON_LENGTH if found["status"] == "failed" else _RAW_LENGTH
        return Reply(
            **{
                **blank,
                **found,
                "text": self.hide(_clean(found["text"]))[:longest],
                "key": self.key(task),
                "model": self.model,
                "endpoint": self.endpoint,
                "parameters": canonical_json(self.parameters(task.sample)),
                "item_id": item_id,
                "attribute": attribute,
                "variant": group,
                "sample": task.sample,
                "prompt_sha256": task.prompt_sha256,
                "collected_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )

    def body(self, task: Task) -> dict[str, Any]:
        """Return the request for a task."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": task.prompt.text}],
            **self.parameters(task.sample),
        }

    async def _post(self, task: Task, retries: int | None) -> Any:
        # This uses the client's request method, with its retries. It avoids the client's models of
        # requests and replies, which check nothing and take a third of its time.
        client = self.client if retries is None else self.client.with_options(max_retries=retries)
        kind = http_library().Response
        return await within_deadline(
            client.post("/chat/completions", cast_to=kind, body=self.body(task))
        )

    def read(self, completion: Any) -> dict[str, Any]:
        """Return the journal's columns that come from a chat completion.

        Raises
        ------
        ValueError
            If it is not one; any part may be missing or of another type.
        """
        try:
            message = completion["choices"][0]["message"]
            text, refusal = message.get("content"), message.get("refusal")
        except (AttributeError, LookupError, TypeError):
            raise ValueError("the reply is not a chat completion") from None
        status = "answered"
        if text is None and isinstance(refusal, str):
            text, status = refusal, "refused"
        elif text is not None and not isinstance(text, str):
            raise ValueError("the reply's content is not text")
        usage = completion.get("usage")
        return {
            "status": status,
            "text": text or "",
            "snapshot": _snapshot(self.hide(str(completion.get("model") or ""))),
            "prompt_tokens": _count(usage, "prompt_tokens"),
            "completion_tokens": _count(usage, "completion_tokens"),
        }

    def _give_way(self, fault: Exception) -> bool:
        """Drop or rename a setting that the service rejects; False for any other fault."""
        import openai

        if not isinstance(fault, (openai.BadRequestError, openai.UnprocessableEntityError)):
            return False
        for setting in (*self.settings, "seed"):
            name = self.names.get(setting, setting)
            # Quoted, since a vignette that the service cites may well speak of temperature.
            if name and (fault.param == name or re.search(rf"""['"`]{name}['"`]""", str(fault))):
                # Newer models of OpenAI's know this one by another name.
                other = "max_completion_tokens" if name == "max_tokens" else None
                self.names[setting] = other
                return True
        return False

    def _remedy(self, fault: Exception) -> str | None:
        """Return the remedy for a fault that affects every request; None for any other fault."""
        import openai

        if (host := redirected_to(fault)) is not None:
            return f"the service redirects to {host}; if you trust it, use that address as base_url"
        if isinstance(fault, openai.APIConnectionError):
            return "check base_url, and check that the service is running"
        if isinstance(fault, (openai.AuthenticationError, openai.PermissionDeniedError)):
            return f"check {self.key_variable}"
        if isinstance(fault, openai.NotFoundError):
            return "check the model's name and base_url"
        if isinstance(fault, openai.RateLimitError):
            return "wait, or check the account's quota"
        return None


def _parsed(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"the reply is not a chat completion (JSON: {error})") from None


def _snapshot(reported: str) -> str | None:
    """Return the model as the service reports it; a local server's file without its folder."""
    if reported.startswith(("/", "~", ".")) or "\\" in reported:
        reported = re.split(r"[\\/]", reported)[-1]
    return reported if reported.isprintable() and 0 < len(reported) <= 200 else None


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value < 2**63 else None


def _clean(text: str) -> str:
    """Text that a file can hold: JSON may bring half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


class Doubles:
    """The bodies that came so far."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._alike = False

    def suspect(self, content: bytes, completion: Any, before: int | None) -> int | None:
        """Check whether a body came before, for another request.

        `before` is the earlier result for the same request, when it was last sent.

        Returns
        -------
        int or None
            None if the body is credible. A body without an id is credible, and so is one that came
            again over another connection: such a service's replies are simply the same.
        """
        if self._alike or not completion.get("id"):
            return None
        digest = hash(content)
        if digest not in self._seen:
            self._seen.add(digest)
            return None
        self._alike = digest == before
        return None if self._alike else digest


async def close_connection(response: Any) -> None:
    """Close the connection of a response, to read no more from it."""
    stream = response.extensions.get("network_stream")
    if stream is not None:
        await stream.aclose()
