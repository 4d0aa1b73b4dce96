"""The client of an OpenAI-compatible service, and keeping its key to itself."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from fairstats._lib.problems import input_error, parameter, wrong
from fairstats._lib.untrusted_files import JSON_TEXT

if TYPE_CHECKING:
    import ssl

    import openai

T = TypeVar("T")

#: The longest reply that is read: a chat completion is kilobytes.
MAX_REPLY_BYTES = 2**20
#: The longest error. Its reason is cut to a fraction of that.
MAX_ERROR_BYTES = 2**16
#: The longest reply with embeddings: 32 texts in 8,192 dimensions.
MAX_EMBEDDINGS_BYTES = 6 * 2**20
#: The longest file of a batch's replies. It is not held in memory.
MAX_BATCH_BYTES = 512 * 2**20
#: The most texts, lists and objects in a reply. Parsed, one takes up to 60 times its bytes.
MAX_PARTS = 20_000
#: The longest time of a request with all its retries, in seconds. The client limits only the time
#: between two bytes, so a service that sends a byte now and then never reaches that limit.
DEADLINE_S = 900.0

_BLOCK = 2**16
_PART = re.compile(JSON_TEXT.pattern + rb"|[\[{]", JSON_TEXT.flags)
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
    """Return the client, and a function that removes the key from a text.

    A service may repeat the key in its errors. The function keeps the key in its closure, which
    tracebacks and reprs do not show.
    """
    import openai

    if not key and base_url is None:
        remedy = f"set it, or give the {parameter('base_url')} of a service that needs no key"
        raise input_error(key_variable, "is not set", remedy)
    if not key.isascii() or not key.isprintable() or " " in key:
        # The client's error message would show the key.
        message = "contains characters that an API key cannot contain"
        raise input_error(key_variable, message, "set it again")

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
            http_client=_limited_client(proxies=proxies),
        )
    except Exception as error:
        message = hide(f"{type(error).__name__}: {error}")
    else:
        return client, hide
    raise wrong("base_url", message, "write it in the form https://host/v1")


def http_library() -> Any:
    """Return the HTTP library that the client is built on: httpx, or its successor."""
    import openai

    for kind in openai.DefaultAsyncHttpxClient.__mro__:
        library = __import__(kind.__module__.partition(".")[0])
        if library.__name__.startswith("httpx"):
            return library
    raise AssertionError("openai is built on httpx")


def _limited_client(*, proxies: bool) -> Any:
    """Make an HTTP client that limits the size of replies and does not follow redirects.

    A reply that is too large is not requested again: the model would probably write it again, and
    it was paid for. Redirects are not followed: they would send the prompt, and the key, to another
    service. A reply is not to be compressed: a few bytes could unpack to gigabytes.
    """
    import openai

    library = http_library()
    stream_type: Any = library.AsyncByteStream

    def too_large(message: str, request: Any) -> Exception:
        # The client raises its own errors as they are, and tries again after others.
        return openai.APIError(message, request, body=None)

    class Capped(stream_type):  # type: ignore[misc]
        """The bytes of a reply, up to a limit."""

        def __init__(self, response: Any) -> None:
            self._stream, self._of = response.stream, response.request
            self._most = _longest(response)

        @property
        def elapsed(self) -> Any:
            return getattr(self._stream, "elapsed", None)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size, block = 0, bytearray()
            async for part in self._stream:
                size += len(part)
                if size > self._most:
                    raise too_large(f"the reply is longer than {self._most:,} bytes", self._of)
                # The client keeps a list of all parts, which may have one byte each.
                block += part
                if len(block) >= _BLOCK:
                    yield bytes(block)
                    block.clear()
            yield bytes(block)

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Limited(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            options["follow_redirects"] = False
            response = await super().send(request, stream=True, **options)
            try:
                encoding = response.headers.get("content-encoding", "identity")
                if encoding.strip().lower() not in ("", "identity"):
                    raise library.RemoteProtocolError(
                        f"the reply is compressed ({encoding}), although it must not be"
                    )
                response.stream = Capped(response)
                if not stream:
                    await response.aread()
                    # Before the client parses it, as it does with errors.
                    if has_many_parts(response.content):
                        message = f"the reply has more than {MAX_PARTS:,} texts, lists and objects"
                        raise too_large(message, request)
            except BaseException:
                await response.aclose()
                raise
            return response

    # A proxy of the environment does not lead to a server of this process.
    trusted = [os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if proxies]
    return Limited(
        trust_env=proxies,
        verify=_ssl_context(library, proxies, *trusted),
        headers={"Accept-Encoding": "identity"},
    )


def _longest(response: Any) -> int:
    """Return the most bytes of a reply."""
    if not response.is_success:
        return MAX_ERROR_BYTES
    path = response.request.url.path
    if path.endswith("/content"):
        return MAX_BATCH_BYTES
    return MAX_EMBEDDINGS_BYTES if path.endswith("/embeddings") else MAX_REPLY_BYTES


def has_many_parts(content: bytes) -> bool:
    """Check whether JSON has more texts, lists and objects than a reply needs, before parsing it.

    Examples
    --------
    >>> has_many_parts(b'["' + b"[" * 30_000 + b'"]'), has_many_parts(b"[" * 30_000)
    (False, True)
    """
    if sum(map(content.count, (b'"', b"[", b"{"))) <= MAX_PARTS:
        return False
    return next(islice(_PART.finditer(content), MAX_PARTS, None), None) is not None


@cache
def _ssl_context(library: Any, trust_env: bool, *trusted: str | None) -> ssl.SSLContext:
    """Read the trusted certificates once: for every client, it would take longer than a request.

    `trusted` are the variables of the environment that the context depends on.
    """
    context: ssl.SSLContext = library.create_ssl_context(trust_env=trust_env)
    return context


async def within_deadline(request: Awaitable[T]) -> T:
    """Wait for a request and its retries, but no longer than `DEADLINE_S`.

    Raises
    ------
    openai.APIConnectionError
        When the time is over.
    """
    import openai

    try:
        async with asyncio.timeout(DEADLINE_S):
            return await request
    except TimeoutError:
        message = f"no complete reply within {DEADLINE_S:g} seconds"
    raise openai.APIConnectionError(message=message, request=cast(Any, None))


def redirected_to(fault: Exception) -> str | None:
    """Return the host that a service redirects to; None for any other fault.

    Only the host: the rest of the address may hold a secret.
    """
    status = getattr(fault, "status_code", 0)
    if not 300 <= status < 400:
        return None
    location = getattr(fault, "response").headers.get("location", "")  # noqa: B009
    try:
        return urlsplit(location).hostname or "another address"
    except ValueError:
        return "an invalid address"


def endpoint_of(base_url: str) -> str:
    """Return the host and path of an address, without parts that may be secret.

    Examples
    --------
    >>> endpoint_of("https://user:password@Host.org:8000/v1/?key=secret")
    'host.org:8000/v1'
    """
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}"


def in_a_loop(run: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, even in a notebook that already runs an event loop."""
    try:
        runs_already = bool(asyncio.get_running_loop())
    except RuntimeError:
        runs_already = False
    if runs_already:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, run).result()
    else:
        asyncio.run(run)
