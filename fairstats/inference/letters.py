"""Tests on letters and marks: are changes symmetric, and are marks at the same places?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt
import scipy

from fairstats._lib.result_objects import FloatArray, TestResult
from fairstats.inference._checks import (
    LEAST_P,
    BoolArray,
    IntArray,
    check_alpha,
    check_counts,
    check_integers,
    check_whole,
)

#: Largest number of steps for the exact distribution of a stratum. Above it, all strata together
#: are large enough for the normal distribution.
EXACT_STEPS = 3_000_000
_EXTREME = 40.0
_LARGEST = 2**62


def bowker(table: npt.ArrayLike) -> TestResult:
    """Test symmetry (Bowker): is a change from A to B as frequent as one from B to A?

    χ² = Σ_{i<j} (n_ij − n_ji)² / (n_ij + n_ji).

    Parameters
    ----------
    table : array_like of int, shape (..., k, k)
        Pairs by the letter given to group a (rows) and to group b (columns).

    Returns
    -------
    TestResult
        One per table. One degree of freedom for each pair of letters between which an answer
        changed. Without any change, the statistic is 0 and p is 1. Rows and columns of letters that
        never occur change nothing.

    Raises
    ------
    ValueError
        For a table that is not square, or invalid counts.

    References
    ----------
    Bowker (1948), JASA 43:572-574. `statsmodels.stats.contingency_tables.SquareTable` always uses k
    (k − 1) / 2 degrees of freedom, and is undefined for letters that never change. Checked against
    it, and against R's ``mcnemar.test``, for tables in which all letters change.

    Examples
    --------
    >>> result = bowker([[10, 5], [1, 10]])
    >>> float(result.statistic.round(4)), int(result.df)
    (2.6667, 1)
    """
    # Use floating point: squares of billions do not fit into 64 bits.
    cells = _square(table).astype(np.float64)
    upper = np.triu_indices(cells.shape[-1], 1)
    there = cells[..., *upper]
    back = np.swapaxes(cells, -1, -2)[..., *upper]
    total = there + back
    statistic = ((there - back) ** 2 / np.maximum(total, 1)).sum(axis=-1)
    df = (total > 0).sum(axis=-1)
    return TestResult(np.asarray(statistic), _chi2_sf(statistic, df), "bowker", df=np.asarray(df))


def stuart_maxwell(table: npt.ArrayLike) -> TestResult:
    """Test equal margins (Stuart-Maxwell): is each letter given equally often to both groups?

    χ² = d' S⁻¹ d with d_i = n_i. − n_.i and S its covariance under equal margins,
    S_ii = n_i. + n_.i − 2 n_ii and S_ij = −(n_ij + n_ji).

    Parameters
    ----------
    table : array_like of int, shape (..., k, k)
        Pairs by the letter given to group a (rows) and to group b (columns).

    Returns
    -------
    TestResult
        One per table. The degrees of freedom are the rank of S: k − 1 if all letters are connected
        by changes. Without any change, the statistic is 0 and p is 1. Rows and columns of letters
        that never occur change nothing.

    Raises
    ------
    ValueError
        For a table that is not square, or invalid counts.

    References
    ----------
    Stuart (1955), Biometrika 42:412-416; Maxwell (1970), British Journal of Psychiatry 116:651-655.
    `statsmodels.stats.contingency_tables.SquareTable.homogeneity` fails if a letter is never given.
    Checked against it for tables without such letters, and against tests/r/tests.R.

    Examples
    --------
    >>> result = stuart_maxwell([[10, 5], [1, 10]])
    >>> float(result.statistic.round(4)), int(result.df)
    (2.6667, 1)
    """
    cells = _square(table).astype(np.float64)
    k = cells.shape[-1]
    d = cells.sum(axis=-1) - cells.sum(axis=-2)
    covariance = -(cells + np.swapaxes(cells, -1, -2))
    index = np.arange(k)
    covariance[..., index, index] = 0.0
    covariance[..., index, index] = -covariance.sum(axis=-1)
    inverse = np.linalg.pinv(covariance, hermitian=True)
    statistic = np.maximum(np.einsum("...i,...ij,...j->...", d, inverse, d), 0.0)
    df = np.linalg.matrix_rank(covariance, hermitian=True)
    statistic = np.where(df > 0, statistic, 0.0)
    return TestResult(statistic, _chi2_sf(statistic, df), "stuart_maxwell", df=np.asarray(df))


def _square(table: npt.ArrayLike) -> npt.NDArray[np.int64]:
    (cells,) = check_counts(table=table)
    if cells.ndim < 2 or cells.shape[-1] != cells.shape[-2]:
        raise ValueError(f"table must have shape (..., k, k); got {cells.shape}")
    return cells


def _chi2_sf(statistic: npt.ArrayLike, df: npt.ArrayLike) -> FloatArray:
    from scipy import stats

    df = np.asarray(df)
    p_value = np.maximum(stats.chi2.sf(statistic, np.maximum(df, 1)), LEAST_P)
    return np.where(df > 0, p_value, 1.0)


@dataclass(frozen=True)
class MatchedPatterns:
    """Result of `matched_patterns`.

    Attributes
    ----------
    matched : int
        Places with the same mark on both sides.
    expected : float
        Expected number, if the places in an item are independent.
    odds_ratio, ci_low, ci_high : float
        Factor by which a match multiplies the odds; 1 under independence. NaN, 0 or infinity if the
        margins determine it.
    ci_level : float
        The confidence level.
    p_value : float
        Two-sided: twice the smaller tail.
    method, test : str
        The method used.
    n, n_informative : int
        Items, and items in a stratum in which the number of matches can vary.
    """

    matched: int
    expected: float
    odds_ratio: float
    ci_low: float
    ci_high: float
    ci_level: float
    p_value: float
    method: str
    test: str
    n: int
    n_informative: int


@dataclass(frozen=True)
class _Stratum:
    """Items of one kind: the number with each pattern on either side, and the matches."""

    scores: IntArray
    first: IntArray
    second: IntArray

    @property
    def moments(self) -> tuple[float, float]:
        """Return mean and variance over all permutations (Hoeffding 1951)."""
        n = self.first.sum()
        rows = self.scores @ self.second / n
        columns = self.first @ self.scores / n
        mean = float(self.first @ rows) / n
        centred = self.scores - rows[:, None] - columns + mean
        square = float(self.first @ centred**2 @ self.second)
        return mean * n, square / (n - 1) if n > 1 else 0.0


def matched_patterns(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    place: int | None = None,
    alpha: float = 0.05,
) -> MatchedPatterns:
    r"""Test whether the marks of two sides are at the same places, given each item's marks.

    Items are stratified by their marks on each side, regardless of the places. Under the null
    hypothesis, the patterns of the second side are permuted over the items of a stratum. The
    statistic is the number of places with the same mark on both sides. An odds ratio ψ multiplies
    the null probability of a table of patterns with m matches by a factor proportional to ψ\
    :sup:`m`.

    Parameters
    ----------
    first, second : array_like of int, shape (items, places)
        The mark of each place; 0 if it has no mark.
    place : int, optional
        Count only matches at this place, and ignore the other marks of the first side: items are
        stratified by the marks of the second side alone.
    alpha : float
        1 − confidence level.

    Raises
    ------
    ValueError
        For arrays that do not have one shape (items, places), or are not whole, and for a place
        that they do not have.

    Notes
    -----
    Suppose that the log odds of a mark are a parameter of the item plus one of the place (Rasch's
    model). Given how many marks an item has, their places then do not depend on the item's
    parameter. So items and places may differ in how prone they are to marks, on either side. The
    test concerns only what is specific to this place of this item. An item is not informative if it
    has no mark, or the same mark everywhere, on either side that stratifies.

    The distribution is exact. Within a stratum it is multivariate hypergeometric, summed over the
    tables. The strata are combined by convolution. If a stratum needs more than `EXACT_STEPS`
    steps, or the probability of m is below the smallest number, the whole test uses the normal
    distribution with the exact mean E and variance V. The odds ratio is then Peto's
    exp((m − E) / V). The exact limits are like Clopper and Pearson's.

    With two places and one kind of mark, this is the exact Cochran-Mantel-Haenszel test over 2×2
    tables. There, the two matches on a table's diagonal count separately: the common odds ratio is
    the square of this one. With `place` only one counts, and the two odds ratios are equal.

    References
    ----------
    Mantel & Haenszel (1959), JNCI 22:719-748; Gart (1970), Biometrika 57:471-475, for the exact
    limits; Hoeffding (1951), Annals of Mathematical Statistics 22:558-566; Yusuf et al. (1985),
    Progress in Cardiovascular Diseases 27:335-371. Checked against R's ``mantelhaen.test`` with
    ``exact = TRUE`` (tests/r/matched_patterns.R) and against enumeration of all permutations.

    Examples
    --------
    >>> one = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 3
    >>> found = matched_patterns(one, one)
    >>> found.matched, found.expected, round(found.p_value, 4)
    (9, 3.0, 0.0012)
    """
    alpha = check_alpha(alpha)
    sides = [*check_integers(first=first), *check_integers(second=second)]
    if sides[0].ndim != 2 or sides[0].shape != sides[1].shape:
        raise ValueError(
            "first and second must have one shape, (items, places); "
            f"got {sides[0].shape} and {sides[1].shape}"
        )
    if place is not None:
        place = check_whole("place", place, least=0, most=sides[0].shape[1] - 1, example=0)
    strata, informative = _strata(sides[0], sides[1], place)
    first, second = (_counted(side, place) for side in sides)
    n, n_informative = len(first), int(informative.sum())
    matches = ((first == second) & (first != 0)).sum(axis=1)
    matched = int(matches.sum())
    # In all other strata, the margins determine the number of matches.
    fixed = int(matches[~informative].sum())
    moments = [stratum.moments for stratum in strata]
    expected = float(fixed + sum(mean for mean, _ in moments))
    if not strata:
        nothing = "none (the margins determine the table)"
        return MatchedPatterns(
            matched, expected, np.nan, 0.0, np.inf, 1 - alpha, 1.0, nothing, nothing, n, 0
        )
    law = np.zeros(matched + 1)
    if all(_steps(stratum) <= EXACT_STEPS for stratum in strata):
        law = reduce(np.convolve, map(_law, strata))
    # The probability of very many matches is below the smallest number.
    if law[matched - fixed] > 0:
        found = _exact(matched - fixed, law, alpha)
        names = "exact conditional", "exact permutation within strata"
    else:
        variance = sum(variance for _, variance in moments)
        found = _normal(matched - expected, variance, alpha)
        names = "Peto, normal", "permutation within strata, normal"
    odds_ratio, low, high, p_value = found
    p_value = min(1.0, max(p_value, LEAST_P))
    return MatchedPatterns(
        matched, expected, odds_ratio, low, high, 1 - alpha, p_value, *names, n, n_informative
    )


def _counted(side: IntArray, place: int | None) -> IntArray:
    """Return the marks that count: all, or those of one place."""
    return side if place is None else side[:, [place]]


def _strata(
    first: IntArray, second: IntArray, place: int | None
) -> tuple[list[_Stratum], BoolArray]:
    """Return the strata in which the number of matches can vary, and which items are in one."""
    if not first.size:
        return [], np.zeros(len(first), dtype=bool)
    marks, codes = np.unique(np.hstack([first, second]), return_inverse=True)
    coded = np.hsplit(codes.reshape(len(first), -1), 2)
    # Items of a kind have the same marks, regardless of the places.
    given = coded if place is None else coded[1:]
    kinds = _numbered(np.hstack([np.sort(side, axis=1) for side in given]), len(marks))
    sides = [
        _patterns_of_kinds(
            kinds, _counted(side, place), _numbered(_counted(codes, place), len(marks))
        )
        for side, codes in zip((first, second), coded, strict=True)
    ]
    found = {}
    for kind, ((rows, many), (columns, times)) in enumerate(zip(*sides, strict=True)):
        if len(rows) > 1 and len(columns) > 1:
            same = (rows[:, None] == columns) & (rows[:, None] != 0)
            stratum = _merged(_Stratum(same.sum(axis=2), many, times))
            if len(stratum.first) > 1 and len(stratum.second) > 1:
                found[kind] = stratum
    return list(found.values()), np.isin(kinds, list(found))


def _patterns_of_kinds(
    kinds: IntArray, side: IntArray, numbers: IntArray
) -> list[tuple[IntArray, IntArray]]:
    """Return the different patterns of each kind's items, and the number of items with each."""
    both = kinds * (numbers.max() + 1) + numbers
    _, index, counts = np.unique(both, return_index=True, return_counts=True)
    cuts = np.flatnonzero(np.diff(kinds[index])) + 1
    return list(zip(np.split(side[index], cuts), np.split(counts, cuts), strict=True))


def _numbered(rows: IntArray, base: int) -> IntArray:
    """Return the place of each row among the different ones, in order; numbers are below `base`."""
    numbers, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        if size * base > _LARGEST:
            _, numbers = np.unique(numbers, return_inverse=True)
            size = len(rows)
        numbers, size = numbers * base + column, size * base
    return np.asarray(np.unique(numbers, return_inverse=True)[1])


def _merged(stratum: _Stratum) -> _Stratum:
    """Merge patterns with the same matches."""
    rows, first = _summed(stratum.scores, stratum.first)
    columns, second = _summed(rows.T, stratum.second)
    # Keep the smaller set of patterns as the state.
    if len(second) > len(first):
        return _Stratum(columns, second, first)
    return _Stratum(columns.T, first, second)


def _summed(rows: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    totals: dict[tuple[int, ...], int] = {}
    for row, count in zip(map(tuple, rows.tolist()), counts.tolist(), strict=True):
        totals[row] = totals.get(row, 0) + count
    return np.array(list(totals)), np.array(list(totals.values()))


def _steps(stratum: _Stratum) -> float:
    """Return an upper bound of the number of steps of `_law`."""
    states = float(np.prod(stratum.second[:-1] + 1.0))
    free = len(stratum.second) - 1
    ways = [float(scipy.special.binom(many + free, free)) for many in stratum.first[:-1]]
    length = float(stratum.first @ stratum.scores.max(axis=1)) + 1
    return length * sum(
        min(states, before) * own for before, own in zip([1.0, *ways], ways, strict=False)
    )


def _law(stratum: _Stratum) -> FloatArray:
    """Return the probability of each number of matches, from 0."""
    # The largest counts last: that needs the fewest steps, and more strata are the same.
    rows, columns = (np.argsort(side, kind="stable") for side in (stratum.first, stratum.second))
    scores = stratum.scores[np.ix_(rows, columns)]
    return _known_law(
        tuple(map(tuple, scores.tolist())),
        tuple(stratum.first[rows].tolist()),
        tuple(stratum.second[columns].tolist()),
    )


# Pairs of many answer sets have the same small strata again and again.
@lru_cache(maxsize=1 << 14)
def _known_law(
    of_patterns: tuple[tuple[int, ...], ...], of_rows: tuple[int, ...], of_columns: tuple[int, ...]
) -> FloatArray:
    """Return `_law` of these scores and counts."""
    scores, first, second = (np.array(one) for one in (of_patterns, of_rows, of_columns))
    log_shares = np.log(second / second.sum())
    radix = np.concatenate([[1], np.cumprod(second[:-1] + 1)])
    # Fill the table row by row. A state is what remains of the columns' totals, with the law of the
    # matches so far. Drawn with the columns' shares, the rows have their law under permutation,
    # given that they sum to the columns' totals.
    remaining, laws = second[None, :], np.ones((1, 1))
    for row, many in zip(scores[:-1], first[:-1], strict=True):
        ways = _allocations(second, int(many))
        factorials = scipy.special.gammaln(ways + 1.0).sum(axis=1)
        weights = np.exp(scipy.special.gammaln(many + 1.0) - factorials + ways @ log_shares)
        fits = np.ones((len(remaining), len(ways)), dtype=bool)
        for left, taken in zip(remaining.T, ways.T, strict=True):
            fits &= taken <= left[:, None]
        state, way = np.nonzero(fits)
        codes = (remaining @ radix)[state] - (ways @ radix)[way]
        _, index, target = np.unique(codes, return_index=True, return_inverse=True)
        laws = _moved(laws, state, target, (ways @ row)[way], weights[way])
        remaining = remaining[state[index]] - ways[way[index]]
    # The last row takes what remains.
    factorials = scipy.special.gammaln(remaining + 1.0).sum(axis=1)
    weights = np.exp(scipy.special.gammaln(first[-1] + 1.0) - factorials + remaining @ log_shares)
    every = np.arange(len(laws))
    law = _moved(laws, every, np.zeros_like(every), remaining @ scores[-1], weights)[0]
    return law / law.sum()


def _moved(
    laws: FloatArray, state: IntArray, target: IntArray, gained: IntArray, weights: FloatArray
) -> FloatArray:
    """Return each target's sum of the states' laws, weighted and moved by the matches gained."""
    length = laws.shape[1] + int(gained.max())
    # Most numbers of matches are impossible in most states: go through the others.
    of_state, matches = np.nonzero(laws)
    possible = np.bincount(of_state, minlength=len(laws))
    last = np.cumsum(possible)
    each = possible[state]
    ends = np.cumsum(each)
    entry = np.arange(ends[-1]) + np.repeat(last[state] - ends, each)
    places = np.repeat(target * length + gained, each) + matches[entry]
    parts = np.repeat(weights, each) * laws[laws != 0][entry]
    size = (int(target.max()) + 1) * length
    moved: FloatArray = np.bincount(places, weights=parts, minlength=size).astype(np.float64)
    return moved.reshape(-1, length)


def _allocations(columns: IntArray, many: int) -> IntArray:
    """Return every way to take `many` from the columns."""
    sizes = (np.minimum(columns[:-1], many) + 1).tolist()
    grid = np.indices(sizes).reshape(len(sizes), -1).T
    last = many - grid.sum(axis=1)
    fits = (last >= 0) & (last <= columns[-1])
    return np.column_stack([grid[fits], last[fits]]).astype(np.int64)


def _exact(matched: int, law: FloatArray, alpha: float) -> tuple[float, float, float, float]:
    """Return estimate, limits and p-value from the distribution under independence."""
    values = np.flatnonzero(law)
    with np.errstate(divide="ignore"):
        log_law = np.log(law[values])

    def tilted(log_odds: float) -> FloatArray:
        logs = log_law + log_odds * values
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def upper(log_odds: float) -> float:
        return float(tilted(log_odds)[values >= matched].sum())

    def lower(log_odds: float) -> float:
        return float(tilted(log_odds)[values <= matched].sum())

    def mean(log_odds: float) -> float:
        return float(tilted(log_odds) @ values)

    lowest, highest = matched == values[0], matched == values[-1]
    estimate = 0.0 if lowest else np.inf if highest else _odds(lambda x: mean(x) - matched)
    low = 0.0 if lowest else _odds(lambda x: upper(x) - alpha / 2)
    high = np.inf if highest else _odds(lambda x: alpha / 2 - lower(x))
    if lowest and highest:
        estimate = np.nan
    return estimate, low, high, 2 * min(upper(0.0), lower(0.0))


def _odds(rising: Callable[[float], float]) -> float:
    """Return the root of an increasing function of the log odds."""
    log_odds = scipy.optimize.brentq(rising, -_EXTREME, _EXTREME, xtol=1e-12)
    return float(np.exp(log_odds))


def _normal(excess: float, variance: float, alpha: float) -> tuple[float, float, float, float]:
    z, deviation = scipy.stats.norm.isf(alpha / 2), np.sqrt(variance)
    estimate, low, high = (
        float(np.exp(np.clip((excess + side * deviation) / variance, -_EXTREME, _EXTREME)))
        for side in (0.0, -z, z)
    )
    return estimate, low, high, float(2 * scipy.stats.norm.sf(abs(excess) / deviation))
