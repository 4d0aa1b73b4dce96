"""Compute vectors of texts with the embedded model or a service, and store each before use."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fairstats._lib.problems import InputError, Problem
from fairstats_collectors.http_clients import endpoint_of, in_a_loop, make_client, within_deadline
from fairstats_collectors.journal import schema_of

#: The file of vectors next to the results that use them. Its name differs from a journal's, to make
#: `collect merge folder/*.sqlite` skip it.
CACHE = "embeddings.sqlite3"

_TABLE = (
    "CREATE TABLE vectors (model TEXT, endpoint TEXT, sha256 TEXT, vector BLOB NOT NULL, "
    "PRIMARY KEY (model, endpoint, sha256)) STRICT"
)
_BATCH = 64  # texts a request
_CONCURRENCY = 4
_WIDEST = 65_536
_SAY_S = 5

Array = NDArray[np.float32]
Keep = Callable[[Sequence[str], Array], None]


@dataclass(frozen=True)
class Embedder:
    """A model that turns texts into vectors.

    Parameters
    ----------
    model, endpoint : str
        Its name and address.
    ask : callable
        Called with texts, and with a function that accepts some of them with their vectors. It must
        have passed on all of them when it returns.
    """

    model: str
    endpoint: str
    ask: Callable[[Sequence[str], Keep], None]


def embedded_embedder() -> Embedder:
    """Return the model that runs on this machine."""
    from fairstats_collectors.minilm import MODEL, embed

    def ask(texts: Sequence[str], keep: Keep) -> None:
        for some in _batches(texts):
            keep(some, embed(some))

    return Embedder(MODEL, "embedded", ask)


def service_embedder(
    model: str, *, base_url: str | None, key: str, timeout: float = 120, retries: int = 5
) -> Embedder:
    """Return a model of an OpenAI-compatible service, by its ``/embeddings``.

    Raises
    ------
    InputError
        If there is no key, or the key or the address cannot be used. A query raises it if the
        service cannot be reached, rejects a request, or sends invalid vectors.
    """
    client, hide = make_client(base_url, key=key, timeout=timeout, retries=retries)
    address = str(client.base_url)

    async def run(batches: Iterator[list[str]], keep: Keep) -> None:
        # A client belongs to the loop of its first use, and each call has a separate loop.
        client, _ = make_client(address, key=key, timeout=timeout, retries=retries)

        async def work() -> None:
            for some in batches:
                body = {"model": model, "input": some, "encoding_format": "float"}
                reply: Any = await within_deadline(
                    client.post("/embeddings", cast_to=object, body=body)
                )
                keep(some, _vectors(reply, len(some)))

        async with client:
            await asyncio.gather(*(work() for _ in range(_CONCURRENCY)))

    def ask(texts: Sequence[str], keep: Keep) -> None:
        import openai

        try:
            return in_a_loop(run(_batches(texts), keep))
        except openai.OpenAIError as error:
            message = hide(f"{type(error).__name__}: {error}")[:1000]
        except (ValueError, RecursionError) as error:  # JSON's among them
            message = hide(f"the reply contains no valid embeddings ({error})")[:1000]
        # Outside the handler, to keep the service's unfiltered message out of tracebacks.
        remedy = "fix the cause, then run the command again: it requests only what is missing"
        # Not the whole address, which may hold a password.
        host = urlsplit(address).hostname
        raise InputError([Problem(f"{model} at {host}", message, remedy)])

    return Embedder(model, hide(endpoint_of(address)), ask)


def embed_kept(
    texts: Sequence[str],
    embedder: Embedder,
    cache: Path,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Array:
    """Return the vectors of texts; stored ones are not requested again.

    Parameters
    ----------
    texts : sequence of str
        n texts.
    embedder : Embedder
        The model for the other vectors.
    cache : Path
        The file of stored vectors, by model, endpoint and the text's sha256.
    say : callable
        Called with progress messages.

    Returns
    -------
    numpy.ndarray of float32, shape (n, d)
        Each has length 1.

    Raises
    ------
    InputError
        As the embedder's; also if the file cannot be used or has vectors of another dimension.
    """
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    asked = embedder.model, embedder.endpoint
    with _open(cache) as database:
        found = "SELECT vector FROM vectors WHERE model = ? AND endpoint = ? AND sha256 = ?"

        def kept(sha256: str) -> bytes | None:
            row = database.execute(found, (*asked, sha256)).fetchone()
            return row[0] if row else None

        own = dict(zip(hashes, texts, strict=True))
        missing = [text for sha256, text in own.items() if kept(sha256) is None]
        done, said = 0, time.monotonic()

        def keep(some: Sequence[str], vectors: Array) -> None:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)",
                [
                    (*asked, hashlib.sha256(text.encode()).hexdigest(), vector.tobytes())
                    for text, vector in zip(some, vectors.astype("<f4"), strict=True)
                ],
            )
            database.execute("COMMIT")
            nonlocal done, said
            done += len(some)
            if time.monotonic() - said > _SAY_S:
                said = time.monotonic()
                say(f"{done:,} of {len(missing):,} texts embedded by {embedder.model}")

        if missing:
            embedder.ask(missing, keep)
        vectors = [kept(sha256) or b"" for sha256 in hashes]
    if len({len(vector) for vector in vectors}) != 1 or len(vectors[0]) % 4:
        message = f"the vectors of {embedder.model} differ in length"
        raise InputError(
            [Problem(str(cache), message, "delete the file, and use one model under this name")]
        )
    stacked = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(texts), -1)
    return stacked.astype(np.float32)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file of vectors; as in the journal, a commit is on the disk when it returns."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(
            sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        ) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            if not (there := schema_of(database)):
                database.execute(_TABLE)
            database.execute("COMMIT")
            if there not in ({}, {"vectors": _TABLE}):
                raise sqlite3.DatabaseError("it contains other tables")
            yield database
    except (OSError, sqlite3.Error) as error:
        message = f"cannot store vectors ({error})"
        raise InputError(
            [Problem(str(path), message, "free some disk space, or move or delete the file")]
        ) from None


def _vectors(reply: Any, count: int) -> Array:
    """Return the vectors in a service's reply, in the order of the texts, with length 1.

    Raises
    ------
    ValueError
        If they are not valid vectors.
    """
    try:
        rows = sorted(reply["data"], key=lambda row: row["index"])
        places = [row["index"] for row in rows]
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        raise ValueError("unexpected JSON") from None
    if places != list(range(count)) or vectors.ndim != 2 or not 0 < vectors.shape[1] <= _WIDEST:
        raise ValueError(f"expected {count} of the same length")
    # Divide by the largest part first, to keep the length within the range of a number.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not (np.isfinite(largest) & (largest > 0)).all():
        raise ValueError("one is zero or contains a value that is not a number")
    vectors = vectors / largest
    scaled: Array = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    return (list(texts[first : first + _BATCH]) for first in range(0, len(texts), _BATCH))
