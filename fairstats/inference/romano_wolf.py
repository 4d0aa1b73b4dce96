"""Romano and Wolf's step-down adjustment of tests of mean differences on the same items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_choice, check_numbers, check_resampling
from fairstats.inference.multiplicity import MaxTResult, at_least, step_down

Resampling = Literal["flip", "bootstrap"]

# Smaller differences are rounding error.
_ROUNDING = 1e-12
# Number of random numbers drawn at a time, which limits the memory.
_AT_ONCE = 4_000_000


def romano_wolf(
    differences: npt.ArrayLike,
    *,
    resampling: Resampling = "flip",
    n_resamples: int = 9999,
    rng: np.random.Generator | int,
) -> MaxTResult:
    """Adjust tests of mean differences on the same items by Romano and Wolf's step-down method.

    The tests are ordered by |t|, t = mean(d) / √(s² / n). Each is compared with the resampled
    maximum over itself and the tests after it. This controls the probability of any false rejection
    and uses the correlation of the tests, so it rejects more than Holm's method.

    Parameters
    ----------
    differences : array_like of float, shape (items, tests)
        Each item's difference in each test; NaN if the item is not part of a test.
    resampling : {"flip", "bootstrap"}
        ``"flip"`` gives all differences of an item a random sign. ``"bootstrap"`` draws items with
        replacement and centres t at the observed mean.
    n_resamples : int
        Number of resamples.
    rng : numpy.random.Generator or int
        Generator or seed.

    Returns
    -------
    MaxTResult
        ``statistic`` is t: 0 if all differences of a test are 0, and infinite if they all have
        another value. ``p_value`` is unadjusted. A p-value is at least 1 / (n_resamples + 1).

    Raises
    ------
    ValueError
        For differences that are not numbers of shape (items, tests), an unknown resampling, an
        `n_resamples` that is not a whole number of at least 1, or an `rng` that is neither a seed
        nor a generator.

    Notes
    -----
    With ``"flip"``, the unadjusted p-value is that of Fisher's test by signs. It is exact (up to
    simulation) if d has a symmetric distribution under the null hypothesis, e.g. if the two levels
    can be exchanged. Over all pairs of three or more levels, the flips preserve the correlations,
    but not the whole joint distribution, so the adjustment is approximate. For whole numbers and
    items in all tests, it is `max_t`: Σ d / √(Σ d²) orders flips as \\|t\\| does.

    With ``"bootstrap"``, no symmetry is needed, but many items are. In simulations of 15 to 150
    items without a difference, flips rejected in at most 6% of 600 runs at the level of 5%. The
    bootstrap also did, but hardly ever for skewed scores or a rare event
    (``benchmarks/romano_wolf_level.py``). A resample in which a test has no variance counts as at
    least as extreme. If all n differences of a test have one value other than 0, the bootstrap is
    not informative. Its p-values are then at least 2 / 2ⁿ times the number of tests.

    References
    ----------
    Romano & Wolf (2005), JASA 100:94-108; Romano & Wolf (2016), Statistics & Probability Letters
    113:38-40, for the p-values. Checked against enumeration of all signs, `max_t`, and the
    bootstrap of evalstats 0.3.3 (tests/evalstats).

    Examples
    --------
    >>> d = np.random.default_rng(1).normal([0.5, 0.4, 0.0], 1, size=(40, 3))
    >>> romano_wolf(d, rng=1).p_adjusted.round(3)
    array([0.001, 0.033, 0.206])
    """
    check_choice("resampling", resampling, get_args(Resampling))
    generator = check_resampling(n_resamples, rng)
    d = check_numbers("differences", differences, nan=True)
    if d.ndim != 2:
        raise ValueError(f"differences must have shape (items, tests); got {d.shape}")
    if not len(d):
        d = np.full((1, d.shape[1]), np.nan)
    # NaN would not be equal to itself.
    kinds, many = np.unique(np.where(np.isnan(d), np.inf, d), axis=0, return_counts=True)
    there = np.isfinite(kinds)
    kinds = np.where(there, kinds, 0.0)
    sums = _Sums(many @ there, many @ kinds, many @ kinds**2)
    # On a common scale, neither squares nor rounding depend on the unit of the scores.
    unit = np.sqrt(np.where(sums.squares > 0, sums.squares / np.maximum(sums.n, 1), 1.0))
    kinds = kinds / unit
    sums = _Sums(sums.n, sums.total / unit, sums.squares / unit**2)
    statistic = sums.t()
    size = np.minimum(np.abs(statistic), np.finfo(np.float64).max)
    resampled = np.vstack(
        list(
            _flipped(kinds, many, sums, n_resamples, generator)
            if resampling == "flip"
            else _redrawn(kinds, there, many, sums, n_resamples, generator)
        )
    )
    alone = (1 + at_least(resampled, size).sum(axis=0)) / (n_resamples + 1)
    adjusted = step_down(size, resampled)
    if resampling == "bootstrap":
        least = np.where(np.isinf(statistic), np.minimum(2.0 ** (1 - sums.n), 1.0), 0.0)
        alone = np.maximum(alone, least)
        adjusted = np.maximum(adjusted, np.minimum(least * len(size), 1.0))
    return MaxTResult(statistic, alone, adjusted, n_resamples)


class _Sums:
    """Number, sum and sum of squares of the differences of each test."""

    def __init__(self, n: FloatArray, total: FloatArray, squares: FloatArray) -> None:
        self.n, self.total, self.squares = n, total, squares

    def t(self) -> FloatArray:
        """Return t: 0 if the sum is 0, infinite if only the variance is."""
        n = np.maximum(self.n, 1)
        spread = self.squares - self.total**2 / n
        spread = np.where(spread > _ROUNDING * np.maximum(self.squares, 1), spread, 0.0)
        total = np.where(np.abs(self.total) > _ROUNDING * n, self.total, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = total / np.sqrt(spread * n / np.maximum(n - 1, 1))
        return np.where(total == 0, 0.0, found)


def _flipped(
    kinds: FloatArray,
    many: npt.NDArray[np.int64],
    sums: _Sums,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield |t| for random signs of the items."""
    for rows in _batches(n_resamples, len(many)):
        signs = 2 * rng.binomial(many, 0.5, (rows, len(many))) - many
        yield np.abs(_Sums(sums.n, signs @ kinds, sums.squares).t())


def _redrawn(
    kinds: FloatArray,
    there: npt.NDArray[np.bool_],
    many: npt.NDArray[np.int64],
    sums: _Sums,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Yield |t| of the centred differences for items drawn with replacement."""
    items = int(many.sum())
    centred = np.where(there, kinds - sums.total / np.maximum(sums.n, 1), 0.0)
    for rows in _batches(n_resamples, len(many)):
        drawn = rng.multinomial(items, many / max(items, 1), rows).astype(np.float64)
        yield np.abs(_Sums(drawn @ there, drawn @ centred, drawn @ centred**2).t())


def _batches(n_resamples: int, kinds: int) -> Iterator[int]:
    most = max(_AT_ONCE // max(kinds, 1), 1)
    for start in range(0, n_resamples, most):
        yield min(most, n_resamples - start)
