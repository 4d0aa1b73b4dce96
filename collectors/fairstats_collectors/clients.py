"""The client of an OpenAI-compatible service, and keeping its key to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairstats_collectors.checking import wrong

if TYPE_CHECKING:
    import openai

_KEY_LENGTH = 8  # a shorter "key" is a placeholder such as "EMPTY", and no secret


def make_client(
    base_url: str | None,
    *,
    key: str,
    key_variable: str = "OPENAI_API_KEY",
    proxies: bool = True,
    timeout: float = 120,
    retries: int = 5,
) -> tuple[openai.AsyncOpenAI, Callable[[str], str]]:
    """The client, and a function that takes the key out of a text.

    A service may echo the key in its errors. The function holds it in its closure, where no
    traceback and no repr shows it.

    Raises
    ------
    InputError
        When there is no key, or the key or the address cannot be used.
    """
    import openai

    if not key and base_url is None:
        remedy = "set it, or name a service that needs none with base_url"
        raise wrong(key_variable, "is not set", remedy)
    if not key.isascii() or not key.isprintable() or " " in key:
        # The client's own error would show the key.
        raise wrong(key_variable, "holds what no key can hold", "set it again")

    def hide(text: str) -> str:
        if len(key) < _KEY_LENGTH:
            return text
        return text.replace(key, "[key]").replace(repr(key)[1:-1], "[key]")

    try:
        client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            timeout=timeout,
            max_retries=retries,
            # A proxy of the environment does not lead to a server of this process.
            http_client=None if proxies else openai.DefaultAsyncHttpxClient(trust_env=False),
        )
    except Exception as error:
        message = hide(f"{type(error).__name__}: {error}")
    else:
        return client, hide
    raise wrong("base_url", message, "write it like https://host/v1")


def endpoint_of(base_url: str) -> str:
    """Host and path of an address, without what may be secret in it.

    Examples
    --------
    >>> endpoint_of("https://user:password@Host.org:8000/v1/?key=secret")
    'host.org:8000/v1'
    """
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"


def in_a_loop(run: Coroutine[Any, Any, None]) -> None:
    """Run to the end, from a notebook too, whose own loop cannot run another."""
    try:
        runs_already = bool(asyncio.get_running_loop())
    except RuntimeError:
        runs_already = False
    if runs_already:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, run).result()
    else:
        asyncio.run(run)
