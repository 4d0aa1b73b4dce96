"""Quadratically weighted kappa: degenerate cases, then statsmodels and a jackknife by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from fairstats.inference.weighted_kappa import weighted_kappa

LEVELS = (1, 5)


def of_table(table, **options):
    a, b = (index.ravel() for index in np.indices(np.shape(table)))
    limits = (0, len(table) - 1)
    return weighted_kappa(a, b, counts=np.ravel(table), limits=limits, **options)


@pytest.mark.parametrize("level", [1, 3, 5])
def test_constant_levels_have_no_kappa(level):
    found = weighted_kappa([level] * 30, [level] * 30, limits=LEVELS)
    assert np.isnan(found.estimate)
    assert found.ci == (-1, 1)


@pytest.mark.parametrize("other", [[1, 2, 3, 4], [5, 5, 5, 4]])
def test_one_constant_group_leaves_kappa_unknown(other):
    for pair in ((other, [3] * 4), ([3] * 4, other)):
        found = weighted_kappa(*pair, limits=LEVELS)
        assert found.estimate == 0
        assert found.ci == (-1, 1)


@pytest.mark.parametrize("n", [5, 300])
def test_opposite_levels_have_the_widest_limits(n):
    levels = 1.0 + np.arange(n) % 5
    found = weighted_kappa(levels, 6 - levels, limits=(1, 5))
    assert found.estimate == pytest.approx(-1)
    assert found.ci == (-1, 1)


def test_one_unit_or_none_has_the_widest_limits():
    one = weighted_kappa([1, 2, 3], [1, 2, 4], ["x"] * 3, limits=LEVELS)
    none = weighted_kappa([], [], limits=LEVELS)
    assert one.ci == none.ci == (-1, 1)
    assert (one.n, none.n) == (1, 0)
    assert np.isnan(none.estimate)


def test_variation_in_one_unit_leaves_kappa_unknown():
    found = weighted_kappa([3] * 20 + [1], [3] * 20 + [1], limits=LEVELS)
    assert found.estimate == 1
    assert found.ci == (-1, 1)


@pytest.mark.parametrize("differing", [12, 200])
def test_limits_far_from_all_scores_cost_no_agreement(differing):
    rng = np.random.default_rng(1)
    key = rng.integers(0, 29, 200)
    given = key.copy()
    given[:differing] = rng.integers(0, 29, differing) if differing < 99 else (key + 1) % 29
    near, *far = (
        weighted_kappa(given, key, limits=limits)
        for limits in ((0, 28), (0, 1e3), (0, 1e6), (-1e9, 1e9))
    )
    for found in far:
        assert found.estimate == pytest.approx(float(near.estimate))
        assert found.ci == pytest.approx(near.ci, abs=0.03)


@pytest.mark.parametrize("n", [10, 50, 190])
def test_perfect_agreement_is_not_certain(n):
    levels = np.tile([1, 2, 3, 4, 5], n // 5)
    found = weighted_kappa(levels, levels, limits=LEVELS)
    z2 = stats.norm.isf(0.025) ** 2
    # At most Wilson's share of the pairs differs by the whole span.
    assert found.estimate == 1
    assert found.ci_high == 1
    assert found.ci_low == pytest.approx(max(1 - z2 / (n + z2) * 16 / 4, -1))


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_statsmodels(seed):
    table = np.random.default_rng(seed).integers(0, 60, (4, 4)) + np.diag([60] * 4)
    found, expected = of_table(table), cohens_kappa(table, wt="quadratic")
    assert found.method == "jackknife, wilson t"
    assert found.estimate == pytest.approx(expected.kappa)
    half = (found.ci_high - found.ci_low) / 2
    assert half == pytest.approx(stats.norm.isf(0.025) * expected.std_kappa, rel=0.01)


def test_interval_of_units_is_wilsons_with_the_jackknife_variance():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    a = rng.integers(1, 6, len(units))
    b = np.clip(a + rng.integers(-1, 2, len(units)), 1, 5)

    def kappa(kept):
        x, y = a[kept], b[kept]
        return 1 - ((x - y) ** 2).mean() / ((x[:, None] - y) ** 2).mean()

    whole, left = kappa(units >= 0), np.array([kappa(units != k) for k in range(12)])
    variance = 11 / 12 * ((left - whole) ** 2).sum()
    found = weighted_kappa(a, b, units, limits=LEVELS)
    assert found.estimate == pytest.approx(whole)
    assert found.method == "jackknife, wilson t"
    t = stats.t.isf(0.025, 11)
    for limit in found.ci:
        # Wilson's limits p solve (p̂ − p)² = t² V p (1 − p) / (p̂ (1 − p̂)).
        p, share = (limit + 1) / 2, (whole + 1) / 2
        expected = t**2 * variance / 4 * p * (1 - p) / (share * (1 - share))
        assert (share - p) ** 2 == pytest.approx(expected)


def test_single_pairs_as_units_and_as_counts_agree():
    a, b, counts = [1, 2, 3, 3, 5], [1, 2, 3, 4, 3], [5, 9, 8, 4, 1]
    found = weighted_kappa(a, b, counts=counts, limits=LEVELS)
    long = [np.repeat(x, counts) for x in (a, b)]
    other = weighted_kappa(*long, units=np.arange(27), limits=LEVELS)
    assert found.ci == pytest.approx(other.ci)
    assert found.n == other.n == 27


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 2, st.integers(0, 4)), max_size=25))
def test_limits_contain_kappa_and_ignore_who_is_first(pairs):
    a, b, units = (np.array([pair[i] for pair in pairs]) for i in range(3))
    found = weighted_kappa(a, b, units, limits=LEVELS)
    other = weighted_kappa(6 - b, 6 - a, units, limits=LEVELS)
    assert -1 <= found.ci_low <= found.ci_high <= 1
    assert found.ci_high - found.ci_low > 0
    if not np.isnan(found.estimate):
        assert found.ci_low - 1e-9 <= found.estimate <= found.ci_high + 1e-9
        assert other.estimate == pytest.approx(float(found.estimate))
    assert other.ci == pytest.approx(found.ci)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": [0, 2]}, r"a\[0\]=0 must be"),
        ({"b": [1]}, "one shape"),
        ({"units": [1]}, "units"),
        ({"counts": [1, -1]}, "counts"),
        ({"limits": (5, 1)}, "limits"),
    ],
)
def test_refusals_name_the_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        weighted_kappa(**({"a": [1, 2], "b": [1, 3], "limits": LEVELS} | arguments))
