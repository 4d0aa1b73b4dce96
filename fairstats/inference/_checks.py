"""Input checks shared by the statistics.

Every message names the argument, the refused value and the allowed values. The rules are stated
positively (``array >= 0``), so each of them refuses NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fairstats._lib.problems import ArgumentError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Choice = TypeVar("Choice", bound=str)

#: The largest count. Floating point is exact for whole numbers up to 2⁵³, so the sum of the four
#: counts of a paired table is still exact. A larger count is a mistake.
MOST = 2**50
#: A p-value that underflows is not 0.
LEAST_P = float(np.finfo(np.float64).tiny)
# Rounding can push a computed limit or sum slightly past the end of its scale.
_ROUNDING = 1e-9


def check_counts(**counts: npt.ArrayLike) -> list[IntArray]:
    """Return counts as integer arrays of one shape.

    Raises
    ------
    ValueError
        For a count that is negative, fractional, not finite, above `MOST` or not a number, and for
        shapes that cannot be broadcast.
    """
    must = f"be a whole number from 0 to {MOST}, e.g. 12"
    return check_shapes(**{name: _whole(name, value, 0, must) for name, value in counts.items()})


def check_integers(**values: npt.ArrayLike) -> list[IntArray]:
    """Return whole numbers, which may be negative, as integer arrays of one shape.

    Raises
    ------
    ValueError
        For a value that is fractional, not finite, beyond ±`MOST` or not a number, and for shapes
        that cannot be broadcast.
    """
    must = f"be a whole number from -{MOST} to {MOST}, e.g. -1"
    whole = {name: _whole(name, value, -MOST, must) for name, value in values.items()}
    return check_shapes(**whole)


def _whole(name: str, value: npt.ArrayLike, least: int, must: str) -> IntArray:
    # A plain number needs no arrays to be checked.
    if type(value) is int and least <= value <= MOST:
        return np.array(value, dtype=np.int64)
    array = _numbers(name, value, must)
    if array.dtype.kind in "iu" and array.size and array.min() >= least and array.max() <= MOST:
        return array.astype(np.int64)
    with np.errstate(invalid="ignore"):
        _refuse(name, array, (array >= least) & (array <= MOST) & (array == np.floor(array)), must)
    return array.astype(np.int64)


def check_parts(name: str, parts: IntArray, whole_name: str, whole: IntArray) -> None:
    """Refuse parts that exceed their whole, e.g. more successes than trials."""
    if np.any(parts > whole):
        part, total = (side[parts > whole][0] for side in np.broadcast_arrays(parts, whole))
        raise ValueError(
            f"{name}={part} must not exceed {whole_name}={total}: check the order of the arguments"
        )


def check_multiplicity(
    multiplicity: npt.ArrayLike | None, size: int, *, leading: bool = False
) -> IntArray:
    """Return how many times each of `size` elements occurs (default: once).

    With `leading`, it may have more axes before the last one.
    """
    if multiplicity is None:
        return np.ones(size, dtype=np.int64)
    (counts,) = check_counts(multiplicity=multiplicity)
    if (counts.shape[-1:] if leading else counts.shape) != (size,):
        raise ValueError(
            f"multiplicity must have the shape of values, ({size},); got {counts.shape}"
        )
    return counts


def check_numbers(
    name: str,
    value: npt.ArrayLike,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    nan: bool = False,
    booleans: bool = False,
    kind: str = "number",
    example: str = "0.5",
) -> FloatArray:
    """Return finite numbers from `low` to `high`; with `nan`, a missing number is NaN.

    With `booleans`, the values may be judgements: true if something was reported.
    """
    scale = f"finite {kind}"
    if np.isfinite(low) and np.isfinite(high):
        scale = f"{kind} from {low:g} to {high:g}"
    elif np.isfinite(low):
        scale = f"finite {kind} of at least {low:g}"
    must = f"be a {scale}{' or NaN' if nan else ''}, e.g. {example}"

    def allowed(x: FloatArray) -> BoolArray:
        return np.isfinite(x) & (x >= low) & (x <= high) | (nan & np.isnan(x))

    if booleans and np.asarray(value).dtype == bool:
        value = np.asarray(value, dtype=np.float64)
    return _floats(name, value, must, allowed)


def check_number(
    name: str,
    value: float,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    example: str = "0.5",
) -> float:
    """Return one number, checked as in `check_numbers`."""
    if np.ndim(value):
        raise ArgumentError(name, f"={_shown(value)} must be one number, e.g. {example}")
    return float(check_numbers(name, value, low=low, high=high, example=example))


def check_share(
    name: str, value: npt.ArrayLike, *, booleans: bool = False, example: str = "0.12"
) -> FloatArray:
    """Return shares or probabilities, from 0 to 1; with `booleans`, also judgements."""
    return check_numbers(
        name, value, low=0, high=1, booleans=booleans, kind="share", example=example
    )


def check_p_values(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return p-values, from 0 to 1; NaN means that the test was not possible."""
    return check_numbers(name, value, low=0, high=1, nan=True, kind="p-value", example="0.03")


def check_limits(low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the limits of differences of shares; NaN is a limit that could not be computed."""

    def allowed(x: FloatArray) -> BoolArray:
        return np.isnan(x) | (np.abs(x) <= 1 + _ROUNDING)

    must = "be a limit from -1 to 1, e.g. 0.02 for 2 percentage points"
    low, high = check_shapes(
        low=np.clip(_floats("low", low, must, allowed), -1, 1),
        high=np.clip(_floats("high", high, must, allowed), -1, 1),
    )
    if np.any(swapped := low > high):
        raise ValueError(
            f"low={low[swapped][0]} must not exceed high={high[swapped][0]}: "
            "are the limits swapped?"
        )
    return low, high


def check_margin(margin: npt.ArrayLike) -> FloatArray:
    """Return equivalence margins, shares between 0 and 1."""
    must = "be a share between 0 and 1, e.g. 0.02 for 2 percentage points"
    return _floats("margin", margin, must, lambda x: (x > 0) & (x < 1))


def check_design_effect(design_effect: npt.ArrayLike) -> FloatArray:
    """Return design effects, finite and above 0."""
    must = "be positive and finite, e.g. 1.0 if answers are independent"
    return _floats("design_effect", design_effect, must, lambda x: (x > 0) & np.isfinite(x))


def check_alpha(alpha: float, *, below: float = 1) -> float:
    """Return an error rate in (0, 1), or below a stricter bound."""
    return check_between("alpha", alpha, high=below, example="0.05")


def check_power(power: float) -> float:
    """Return a power in (0, 1)."""
    return check_between("power", power, example="0.8")


def check_between(name: str, value: float, *, high: float = 1, example: str) -> float:
    """Return one number strictly between 0 and `high`."""
    must = f"be between 0 and {high:g}, e.g. {example}"
    return _one(name, value, must, lambda x: (x > 0) & (x < high))


def check_whole(
    name: str, value: int, *, least: int = 1, most: int = MOST, example: int = 9999
) -> int:
    """Return one whole number from `least` to `most`."""
    bound = f"at least {least}" if most == MOST else f"from {least} to {most}"
    must = f"be {bound} and whole, e.g. {example}"
    return int(_one(name, value, must, lambda x: (x >= least) & (x <= most) & (x == np.floor(x))))


def check_choice(name: str, value: Choice, choices: Iterable[str]) -> Choice:
    """Return an option, refusing unknown ones."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        listed = f"{', '.join(known[:-1])} or {known[-1]}" if len(known) > 1 else known[0]
        raise ArgumentError(name, f"={value!r} is unknown; use {listed}")
    return value


def check_resampling(
    n_resamples: int, rng: np.random.Generator | int | None
) -> np.random.Generator:
    """Return the random number generator for resampling."""
    if rng is None:
        raise ValueError(
            "resampling needs rng=, e.g. rng=1, so that the interval can be recomputed"
        )
    check_whole("n_resamples", n_resamples)
    try:
        if isinstance(rng, bool | str | float):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ValueError(
            f"rng={rng!r} must be a seed of at least 0 or a numpy.random.Generator, e.g. 1"
        ) from None


def _numbers(name: str, value: npt.ArrayLike, must: str) -> npt.NDArray[Any]:
    """Return an array of integers or floating-point numbers, refusing text and booleans."""
    try:
        array = np.asarray(value)
    except ValueError:  # Rows of different lengths.
        must = f"{must}, in an array of one shape"
        raise ArgumentError(name, f"={_shown(value)} must {must}") from None
    if array.dtype == object:
        array = _of_objects(name, array, must)
    if array.size and array.dtype.kind not in "iuf":
        _refuse(name, array, np.zeros(array.shape, dtype=bool), must)
    return array.astype(np.float64) if not array.size else array


def _floats(
    name: str, value: npt.ArrayLike, must: str, allowed: Callable[[FloatArray], BoolArray]
) -> FloatArray:
    given = _numbers(name, value, must)
    array = given.astype(np.float64)
    # Show the value as it was given: 2, not 2.0.
    _refuse(name, given, allowed(array), must)
    return array


def _one(
    name: str, value: npt.ArrayLike, must: str, allowed: Callable[[FloatArray], BoolArray]
) -> float:
    if isinstance(value, float) and allowed(np.float64(value)):
        return value
    if np.ndim(value):
        raise ArgumentError(name, f"={_shown(value)} must be one number and {must}")
    return float(_floats(name, value, must, allowed))


def _of_objects(name: str, array: npt.NDArray[Any], must: str) -> npt.NDArray[Any]:
    """Return numbers given as Python objects, e.g. from a nullable column."""
    kinds = (int, float, np.integer, np.floating)
    there = np.array(
        [isinstance(cell, kinds) and not isinstance(cell, bool) for cell in array.ravel()],
        dtype=bool,
    ).reshape(array.shape)
    _refuse(name, array, there, must)
    # A float cannot hold a whole number of 400 digits; it is refused as too large below.
    cells = [float(cell) if abs(cell) < 1e300 else np.inf for cell in array.ravel()]
    return np.array(cells, dtype=np.float64).reshape(array.shape)


def _refuse(
    name: str, array: npt.NDArray[Any], allowed: npt.NDArray[np.bool_] | np.bool_, must: str
) -> None:
    if np.all(allowed):
        return
    place = tuple(int(i) for i in np.argwhere(~np.atleast_1d(allowed))[0])
    cell = array[place] if array.ndim else array[()]
    cell = cell.item() if isinstance(cell, np.generic) else cell
    at = f"[{', '.join(map(str, place))}]" if array.ndim else ""
    raise ArgumentError(name, f"{at}={_shown(cell)} must {must}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_shapes(**arrays: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return arrays broadcast to one shape; the error names every argument and its shape."""
    if len({array.shape for array in arrays.values()}) == 1:
        return list(arrays.values())
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes must fit each other; got {shapes}") from None
