"""Answers in the wrong rows, or letters counted from the wrong start."""

from __future__ import annotations

import numpy as np
import scipy

from fairstats._lib.result_objects import FloatArray
from fairstats.screening.findings import Finding, Flag, not_checked, percent
from fairstats.screening.sheets import Layout, Sheet

ALIGNMENT = "item_alignment"
#: Agreement with a moved key, above that of unrelated answers, from which a set is blocked.
EXCESS_BLOCK = 0.1


def check_alignment(sheet: Sheet, layout: Layout) -> Finding:
    """Compare the answers with the key moved by every number of items, and with renamed letters.

    Notes
    -----
    Agreement is computed for all rotations of the items at once, from the circular correlation of
    answers and keys. Under the null hypothesis, items and keys are matched at random. The mean and
    variance of agreement are then exact (Hoeffding 1951), and its distribution is close to normal.
    If the key of one item is often that of another, such as in sorted or periodic keys, accurate
    answers agree with moved keys too. The expected agreement is then higher, see `_explained`.
    The p-value of the highest agreement is multiplied by the number of rotations and renamings.
    """
    options = layout.options
    given = (sheet.letters[:, :, None] == np.arange(options)).sum(axis=1).astype(np.float64)
    key = (layout.key[:, None] == np.arange(options)).astype(np.float64)
    n, total = len(key), given.sum()
    if n < 3 or not total:
        return not_checked(ALIGNMENT, "there are too few items or answers")
    by_shift = np.rint(_rotations(given, key)[1:])
    by_name = [float((given * np.roll(key, k, axis=1)).sum()) for k in range(1, options)]
    moved = np.concatenate([by_shift, by_name])
    expected, variance = _moments(given, key)
    renamed = [_moments(given, np.roll(key, k, axis=1)) for k in range(1, options)]
    explained = np.maximum(expected, _explained(given, key, total))
    means = np.concatenate([explained, [mean for mean, _ in renamed]])
    variances = np.concatenate([np.full(n - 1, variance), [v for _, v in renamed]])
    excess = (moved - means) / total
    z = (moved - means) / np.sqrt(np.maximum(variances, 1e-12))
    best = int(np.argmax(z))
    p = min(1.0, float(scipy.stats.norm.sf(z[best])) * len(moved))
    now = percent(float((given * key).sum() / total))
    if best < n - 1:
        lag = best + 1 if best + 1 <= n // 2 else best + 1 - n
        what = f"the key of the item {abs(lag)} {'later' if lag > 0 else 'earlier'}"
    else:
        what = f"the key with letters moved by {best - n + 2}"
    value = float(moved[best] / total)
    note = f"Agrees {percent(value)} with {what}, and {now} with the key itself."
    worst: Flag = "block" if excess[best] >= EXCESS_BLOCK else "look"
    return Finding(ALIGNMENT, value, float(means[best] / total), p, worst, note)


def _rotations(given: FloatArray, key: FloatArray) -> FloatArray:
    """Return Σ_i given[i] · key[i + k] for every k, with items in a circle."""
    product = np.conj(np.fft.rfft(given, axis=0)) * np.fft.rfft(key, axis=0)
    return np.asarray(np.fft.irfft(product.sum(axis=1), n=len(key)))


def _explained(given: FloatArray, key: FloatArray, total: float) -> FloatArray:
    """Return the agreement with each moved key that follows from the accuracy alone.

    With accuracy a, and a share r of items that have the key of the item k later, this is
    a r + (1 − a)(1 − r) / (m − 1), if wrong answers are spread evenly over m − 1 options.
    """
    n, options = key.shape
    accuracy = (given * key).sum() / total
    same = np.rint(_rotations(key, key)[1:]) / n
    return np.asarray(total * (accuracy * same + (1 - accuracy) * (1 - same) / (options - 1)))


def _moments(given: FloatArray, key: FloatArray) -> tuple[float, float]:
    """Return mean and variance of Σ_i given[i] · key[π(i)] over all permutations π."""
    n = len(key)
    mean = float(given.sum(axis=0) @ key.sum(axis=0) / n)
    a, b = given - given.mean(axis=0), key - key.mean(axis=0)
    return mean, float(((a.T @ a) * (b.T @ b)).sum() / (n - 1))
