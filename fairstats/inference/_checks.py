"""Input checks that the statistics share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def check_counts(**counts: npt.ArrayLike) -> list[IntArray]:
    """Counts as integer arrays of one shape.

    Raises
    ------
    ValueError
        Names the argument that is negative or not whole.
    """
    arrays = []
    for name, value in counts.items():
        array = np.asarray(value)
        if array.size and not (np.all(np.isfinite(array)) and np.all(array == np.floor(array))):
            raise ValueError(f"{name} must hold whole numbers")
        if np.any(array < 0):
            raise ValueError(f"{name} must not be negative")
        arrays.append(array.astype(np.int64))
    return list(np.broadcast_arrays(*arrays))


def check_multiplicity(multiplicity: npt.ArrayLike | None, size: int) -> IntArray:
    """How many times each of `size` things stands there; by default once."""
    counts = np.ones(size, dtype=np.int64) if multiplicity is None else multiplicity
    return check_counts(multiplicity=counts)[0]


def check_resampling(
    n_resamples: int, rng: np.random.Generator | int | None
) -> np.random.Generator:
    """The source of resamples.

    Raises
    ------
    ValueError
        Without a source, or for fewer resamples than one.
    """
    if rng is None:
        raise ValueError("resampling needs rng=, e.g. rng=1: the interval has to be recomputable")
    if n_resamples < 1:
        raise ValueError(f"n_resamples={n_resamples!r} must be at least 1, e.g. 9999")
    return np.random.default_rng(rng)


def check_design_effect(design_effect: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A positive number.

    Raises
    ------
    ValueError
        When it is not positive.
    """
    array = np.asarray(design_effect, dtype=np.float64)
    if not np.all(array > 0):
        raise ValueError("design_effect must be positive")
    return array


def check_alpha(alpha: float) -> float:
    """An error rate in (0, 1).

    Raises
    ------
    ValueError
        When it is not between 0 and 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} must lie between 0 and 1, e.g. 0.05")
    return float(alpha)
