"""One model at one OpenAI-compatible service: asking it, and what it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import canonical_json
from fairstats._lib.untrusted_files import parse_json
from fairstats.asking.replies import Reply
from fairstats.asking.tasks import Task
from fairstats_collectors.clients import http_library, redirected_to, within_deadline
from fairstats_collectors.journal import reply_key
from fairstats_collectors.misdirected_replies import Doubles, close_connection

if TYPE_CHECKING:
    import openai

_RAW_LENGTH = 1_000_000  # the answers schema takes no more
_REASON_LENGTH = 1_000
# The client asks again where the service says that it failed, not where the reply makes no sense.
_SENSELESS_REPLIES = 3
# Of a service that was never reached: its address is wrong more often than it is busy.
_FIRST_RETRIES = 2


class Service:
    """One model at one service, and the settings that it takes.

    Parameters
    ----------
    client : openai.AsyncOpenAI
        How to reach it.
    model : str
        The model's name there.
    endpoint : str
        What to call the service in a reply's key.
    settings : Mapping
        ``temperature`` and ``max_tokens``; the seed is the sample's number.
    names : Mapping
        What the service calls a setting; None where it does not take it. A setting that is not
        mentioned is sent as it is.
    hide : callable
        Takes the key out of a text.
    key_variable : str
        Where the key came from, for whoever has to correct it.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        *,
        model: str,
        endpoint: str,
        settings: Mapping[str, float],
        names: Mapping[str, str | None],
        hide: Callable[[str], str],
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        self.client = client
        self.model = model
        self.endpoint = endpoint
        self.settings = dict(settings)
        self.names = dict(names)
        self.hide = hide
        self.key_variable = key_variable
        #: How many requests in a row were turned away for a reason that every other would meet.
        self.turned_away = 0
        self.advice = ""
        self._response = http_library().Response
        self._doubles = Doubles()

    def parameters(self, sample: int) -> dict[str, Any]:
        """What is sent beside the messages."""
        wanted = {**self.settings, "seed": sample}
        names = {setting: self.names.get(setting, setting) for setting in wanted}
        return {name: wanted[setting] for setting, name in names.items() if name is not None}

    def key(self, task: Task) -> str:
        """The key of the reply to a task, as it would be asked now."""
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
        """Ask one task alone, before all others.

        Where `settle`, settings that the service does not take are dropped for all, and a service
        that cannot be reached is told of soon.

        Raises
        ------
        InputError
            When what turns this request away would turn away every other.
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
                fault = error
                break
            try:
                completion = _parsed(response.content)
                found, fault = self.read(completion), None
                suspect = self._doubles.suspect(response.content, completion, suspect)
                if suspect is not None:
                    await close_connection(response)
                    raise ValueError("the reply is to another request")
                # Of the request that was answered, without the waiting between retries.
                found["latency_s"] = response.elapsed.total_seconds()
                break
            except (ValueError, RecursionError) as error:
                fault = error
        if fault:
            cause = f" ({fault.__cause__})" if fault.__cause__ else ""
            found = {"status": "failed", "text": f"{type(fault).__name__}: {fault}{cause}"}
        return self.reply(task, found), fault

    def reply(self, task: Task, found: Mapping[str, Any]) -> Reply:
        """The journal's row for a task, of what was found out about it."""
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
        """The request for a task."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": task.prompt.text}],
            **self.parameters(task.sample),
        }

    async def _post(self, task: Task, retries: int | None) -> Any:
        # The client's own request, with its retries; but not its models of what is sent and what
        # comes back, which check nothing and take a third of its time.
        client = self.client if retries is None else self.client.with_options(max_retries=retries)
        return await within_deadline(
            client.post("/chat/completions", cast_to=self._response, body=self.body(task))
        )

    def read(self, completion: Any) -> dict[str, Any]:
        """The columns of the journal that come from a chat completion.

        Raises
        ------
        ValueError
            When it is none; any part may be missing or of another type.
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
        """Drop or rename the setting that the service does not take; False where it is another."""
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
        """What to do about a fault that every request would meet; None for any other."""
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
    """The model as the service reports it; a local server's file without its folder."""
    if reported.startswith(("/", "~", ".")) or "\\" in reported:
        reported = re.split(r"[\\/]", reported)[-1]
    return reported if reported.isprintable() and 0 < len(reported) <= 200 else None


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value < 2**63 else None


def _clean(text: str) -> str:
    """Text that a file can hold: JSON may bring half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()
