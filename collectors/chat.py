"""Ask a chat model every variant of every item, over any OpenAI-compatible service."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pandas as pd

from collectors.embedded import EMBEDDED, EMBEDDED_MODEL, serve_embedded
from collectors.items import STRATEGIES, Prompt, list_prompts, load_items
from collectors.parsing import parse_answer
from fairstats.answers import write_answers
from fairstats.benchmarks import Benchmark
from fairstats.names import slug
from fairstats.problems import InputError, Problem
from fairstats.schema import check_answers

if TYPE_CHECKING:
    import openai

_RAW_LENGTH = 1_000_000  # the answers schema takes no more
_REASON_LENGTH = 1_000
_KEY_LENGTH = 8  # a shorter "key" is a placeholder such as "EMPTY", and no secret


def collect(
    benchmark: Benchmark,
    *,
    model: str,
    out: Path,
    strategy: str = "plain",
    base_url: str | None = None,
    benchmark_version: str | None = None,
    model_name: str | None = None,
    max_tokens: int | None = None,
    concurrency: int = 2,
    limit: int | None = None,
    progress: bool = True,
) -> Path:
    """Collect a model's answers to a benchmark into one parquet file.

    Each variant of each item is asked once, in a conversation of its own, at temperature 0 and
    seed 0 where the service takes them. A request that fails for good (after the client's own
    retries) becomes a row of status ``error`` with the reason in ``answer_raw``.

    Parameters
    ----------
    benchmark : Benchmark
        What to ask; its vignettes must be shipped.
    model : str
        The model's name at the service, or ``"embedded"`` for the small model that runs here.
    out : Path
        The folder to write to.
    strategy : {"plain", "cot"}
        How to ask: for the letter only, or for a short reasoning first.
    base_url : str, optional
        The service; by default ``OPENAI_BASE_URL``, else OpenAI's own. The key comes from
        ``OPENAI_API_KEY``; a service named by its address may go without one.
    benchmark_version : str, optional
        The version of the benchmark that the items are; needed where it declares several.
    model_name : str, optional
        What to call the model in the answers, by default `model`.
    max_tokens : int, optional
        The longest reply, by default the strategy's in `STRATEGIES`.
    concurrency : int
        How many requests are under way at once. The embedded model takes one at a time.
    limit : int, optional
        Ask the first so many items only, each in all its variants.
    progress : bool
        Whether to show a progress bar on the standard error output.

    Returns
    -------
    Path
        ``<out>/<benchmark>-<version>-<model>-<strategy>.parquet``, with the rows in the order of
        the items and, within an item, of the benchmark's groups.

    Raises
    ------
    InputError
        When an argument cannot be used, the file is there already, the service cannot be reached
        or turns the first request away (key, model, quota), or answers none at all. Nothing is
        written then.
    """
    numbers = {"max_tokens": max_tokens, "concurrency": concurrency, "limit": limit}
    for argument, number in numbers.items():
        if number is not None and number < 1:
            raise _wrong(f"{argument} = {number}", "must be at least 1", "use 1 or more")
    version = _version(benchmark, benchmark_version)
    prompts = list_prompts(benchmark, load_items(benchmark)[:limit], strategy)
    here = model == EMBEDDED and base_url is None
    name = model_name or (EMBEDDED_MODEL if here else model)
    keys = [_key(prompt, benchmark.name, version, name, strategy) for prompt in prompts]
    # What could not be written is not asked. One row first, so that a bad name is told once.
    for part in (keys[:1], keys):
        check_answers(pd.DataFrame(part).assign(answer=None, status="error"), path="collect")
    path = _path(out, benchmark.name, version, name, strategy)
    with ExitStack() as stack:
        if here:
            embedded = stack.enter_context(serve_embedded())
            # It has one slot: a second request would only wait, and leave the order to chance.
            model, base_url, concurrency = embedded.model, embedded.base_url, 1
            client, hide = _client(base_url, key="", proxies=False)
        else:
            base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
            client, hide = _client(base_url, key=os.environ.get("OPENAI_API_KEY", "").strip())
        stack.enter_context(client)
        chat = _Chat(client, model, max_tokens or STRATEGIES[strategy], hide)
        replies = _replies(chat, prompts, concurrency=concurrency, progress=progress)
    if all(reply["status"] == "error" for reply in replies):
        problem = chat.problem(replies[0]["answer_raw"], "no request was answered; none was kept")
        raise InputError([problem])
    rows = [key | reply for key, reply in zip(keys, replies, strict=True)]
    return write_answers(pd.DataFrame(rows), path)


def _key(prompt: Prompt, benchmark: str, version: str, model: str, strategy: str) -> dict[str, Any]:
    """The columns of a row that are known before the model is asked."""
    return {
        "benchmark": benchmark,
        "benchmark_version": version,
        "model": model,
        "strategy": strategy,
        "item_id": prompt.item.item_id,
        "attribute": prompt.attribute,
        "group": prompt.group,
        "sample": 0,
        "answer_key": prompt.item.answer_key,
    }


def _client(
    base_url: str | None, *, key: str, proxies: bool = True
) -> tuple[openai.OpenAI, Callable[[str], str]]:
    """The client, and a function that takes the key out of a text.

    A service may echo the key in its errors. The function holds it in its closure, where no
    traceback and no repr shows it.
    """
    import openai

    if not key and base_url is None:
        remedy = "set it, or name a service that needs none with base_url"
        raise _wrong("OPENAI_API_KEY", "is not set", remedy)
    if not key.isascii() or not key.isprintable() or " " in key:
        # The client's own error would show the key.
        raise _wrong("OPENAI_API_KEY", "holds what no key can hold", "set it again")

    def hide(text: str) -> str:
        if len(key) < _KEY_LENGTH:
            return text
        return text.replace(key, "[key]").replace(repr(key)[1:-1], "[key]")

    try:
        client = openai.OpenAI(
            api_key=key or "none",
            base_url=base_url,
            # A proxy of the environment does not lead to a server of this process.
            http_client=None if proxies else openai.DefaultHttpxClient(trust_env=False),
        )
    except Exception as error:
        message = hide(f"{type(error).__name__}: {error}")
    else:
        return client, hide
    raise _wrong("base_url", message, "write it like https://host/v1")


class _Chat:
    """One model at one service, and the settings that it takes."""

    def __init__(
        self, client: openai.OpenAI, model: str, max_tokens: int, hide: Callable[[str], str]
    ) -> None:
        self.client = client
        self.model = model
        self.max_tokens = max_tokens
        self.hide = hide
        self.settings: dict[str, Any] = {"temperature": 0, "seed": 0, "max_tokens": max_tokens}

    def problem(self, message: str, remedy: str) -> Problem:
        # Not the whole address, which may hold a password.
        host = urlsplit(str(self.client.base_url)).hostname
        return Problem(f"{self.model} at {host}", message, remedy)

    def ask(self, prompt: Prompt, *, first: bool = False) -> dict[str, Any]:
        """Ask one prompt; give the columns of its row that come from the reply.

        The first prompt is asked alone: settings that the service does not take are dropped for
        all, and what turns away the first request and would turn away every other stops here.

        Raises
        ------
        InputError
            For the first prompt only.
        """
        import openai

        while True:
            try:
                reply = self._reply(prompt)
                break
            except (openai.OpenAIError, ValueError, RecursionError) as error:
                fault: Exception = error
            if first and self._give_way(fault):
                continue
            cause = f" ({fault.__cause__})" if fault.__cause__ else ""
            reason = self.hide(_clean(f"{type(fault).__name__}: {fault}{cause}"))[:_REASON_LENGTH]
            if first and (remedy := _remedy(fault)):
                raise InputError([self.problem(reason, remedy)])
            reply = {"answer": None, "status": "error", "answer_raw": reason}
            break
        return reply | {
            "prompt_sha256": hashlib.sha256(prompt.text.encode()).hexdigest(),
            "temperature": self.settings.get("temperature"),
            "max_tokens": self.max_tokens,
            "seed": self.settings.get("seed"),
            "collected_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "collector": "chat",
        }

    def _reply(self, prompt: Prompt) -> dict[str, Any]:
        response = self.client.chat.completions.with_raw_response.create(
            model=self.model,
            messages=[{"role": "user", "content": prompt.text}],
            **self.settings,
        )
        # The client does not check what it parses: any part may be missing or of another type.
        try:
            completion = response.parse()
            message = completion.choices[0].message
            text, refusal = message.content, getattr(message, "refusal", None)
        except (AttributeError, IndexError, TypeError):
            raise ValueError("what came back is not a chat completion") from None
        if text is None and isinstance(refusal, str):
            text, letter, status = refusal, None, "refused"
        elif text is None or isinstance(text, str):
            answer = parse_answer(text, prompt.item.options)
            letter, status = answer.letter, answer.status
        else:
            raise ValueError("the reply's content is not text")
        return {
            "answer": letter,
            "status": status,
            "answer_raw": self.hide(_clean(text or ""))[:_RAW_LENGTH],
            "snapshot": _snapshot(self.hide(str(completion.model or ""))),
            # Of the request that was answered, without the waiting between retries.
            "latency_s": response.elapsed.total_seconds(),
            "prompt_tokens": _count(completion.usage, "prompt_tokens"),
            "completion_tokens": _count(completion.usage, "completion_tokens"),
        }

    def _give_way(self, fault: Exception) -> bool:
        """Drop or rename the setting that the service does not take; False where it is another."""
        import openai

        if not isinstance(fault, (openai.BadRequestError, openai.UnprocessableEntityError)):
            return False
        for name in list(self.settings):
            # Quoted, since a vignette that the service cites may well speak of temperature.
            if fault.param == name or re.search(rf"""['"`]{name}['"`]""", str(fault)):
                value = self.settings.pop(name)
                if name == "max_tokens":  # newer models of OpenAI's know it by another name
                    self.settings["max_completion_tokens"] = value
                return True
        return False


def _remedy(fault: Exception) -> str | None:
    """What to do about a fault that every request would meet; None for any other."""
    import openai

    if isinstance(fault, openai.APIConnectionError):
        return "check base_url, and that the service runs"
    if isinstance(fault, (openai.AuthenticationError, openai.PermissionDeniedError)):
        return "check OPENAI_API_KEY"
    if isinstance(fault, openai.NotFoundError):
        return "check the model's name and base_url"
    if isinstance(fault, openai.RateLimitError):
        return "wait, or check the account's quota"
    return None


def _replies(
    chat: _Chat, prompts: list[Prompt], *, concurrency: int, progress: bool
) -> list[dict[str, Any]]:
    """The replies in the order of the prompts, however many requests run at once."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        "{task.fields[rate]:.1f}/s, {task.fields[errors]} errors",
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), disable=not progress)
    pool = ThreadPoolExecutor(concurrency)
    with bar:
        task = bar.add_task(chat.model, total=len(prompts), rate=0.0, errors=0)
        begin = time.monotonic()

        def show() -> None:
            errors = sum(reply["status"] == "error" for reply in replies)
            rate = len(replies) / (time.monotonic() - begin)
            bar.update(task, completed=len(replies), rate=rate, errors=errors)

        replies = [chat.ask(prompts[0], first=True)]
        show()
        try:
            for reply in pool.map(chat.ask, prompts[1:]):
                replies.append(reply)
                show()
        finally:
            pool.shutdown(cancel_futures=True)
    return replies


def _snapshot(reported: str) -> str | None:
    """The model as the service reports it; a local server's file without its folder."""
    if reported.startswith(("/", "~", ".")) or "\\" in reported:
        reported = re.split(r"[\\/]", reported)[-1]
    return reported if reported.isprintable() and 0 < len(reported) <= 200 else None


def _count(usage: object, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def _clean(text: str) -> str:
    """Text that a file can hold: JSON may bring half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _version(benchmark: Benchmark, version: str | None) -> str:
    known = ", ".join(benchmark.versions)
    if version is None and len(benchmark.versions) == 1:
        return next(iter(benchmark.versions))
    if version is None or version not in benchmark.versions:
        what = f"benchmark_version = {version!r}"
        raise _wrong(what, f"{benchmark.name} has several or no such", f"use one of {known}")
    return version


def _path(out: Path, *parts: str) -> Path:
    """The file to write; refuses before anything is asked where it could not be written."""
    path = Path(out) / f"{'-'.join(map(slug, parts))}.parquet"
    if path.exists():
        remedy = "delete or move it to collect again, or write to another folder"
        raise _wrong(str(path), "these answers are there already", remedy)
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise _wrong(str(folder), "cannot be written to", "name another folder")
    return path


def _wrong(where: str, message: str, remedy: str) -> InputError:
    return InputError([Problem(where, message, remedy)])
