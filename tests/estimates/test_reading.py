"""Agreement by chance: degenerate answers, all permutations, and units of unequal size."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy

from fairstats.estimates.reading import chance_agreement


def p_of(a, b, units=None, sizes=None):
    units = np.arange(len(a)) if units is None else np.asarray(units)
    sizes = np.ones(len(a), dtype=int) if sizes is None else np.asarray(sizes)
    return chance_agreement(np.asarray(a, float), np.asarray(b, float), units, sizes)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([], []),
        ([1], [1]),
        ([0, 1], [0, 1]),
        ([1] * 9, [0, 1, 2] * 3),
        ([0.1 + 0.2] * 9, [0, 1, 2] * 3),
        ([0, 1, 2] * 3, [5] * 9),
    ],
)
def test_constant_answers_and_few_units_agree_by_chance(a, b):
    assert p_of(a, b) == 1
    assert p_of(a, b, sizes=[2, *[1] * (len(a) - 1)][: len(a)]) == 1


def test_p_value_is_near_that_of_all_permutations():
    rng = np.random.default_rng(5)
    for _ in range(6):
        a, b = rng.choice(5, (2, 8), p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(float)
        sums = np.array([a @ np.array(one) for one in permutations(b)])
        # Sums that are equal to the observed one count half: the approximation is continuous.
        near = np.isclose(sums, a @ b)
        exact = ((sums > a @ b) & ~near).mean() + near.mean() / 2
        assert p_of(a, b) == pytest.approx(exact, abs=0.06)


def test_direction_and_scale():
    a = np.array([0.0, 1, 2, 3, 4, 5, 6, 9])
    assert p_of(a, a) < 0.01
    assert p_of(a, -a) > 0.99
    assert p_of(a, 1000 + 7 * a) == pytest.approx(p_of(a, a))


def test_units_of_equal_size_count_by_their_means():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 20))
    units = np.repeat(np.arange(10), 2)
    means = [one.reshape(10, 2).mean(axis=1) for one in (a, b)]
    assert p_of(a, b, units) == pytest.approx(p_of(*means))
    assert p_of(a, b, sizes=[3] * 20) == pytest.approx(p_of(a, b))


def test_units_of_unequal_size_have_a_robust_variance():
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, 12))
    units = np.repeat(np.arange(5), [1, 2, 2, 3, 4])
    u = np.bincount(units, (a - a.mean()) * (b - b.mean()))
    expected = scipy.stats.t.sf(u.sum() / np.sqrt((u**2).sum()), 4)
    assert p_of(a, b, units) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", ["equal", "unequal"])
@pytest.mark.parametrize("law", ["levels", "skewed", "rare"])
def test_level_holds_for_answers_at_random(law, sizes):
    """2.5%, with a standard error of 0.35 points."""
    rng, found = np.random.default_rng(8), []
    for _ in range(2000):
        both = {
            "levels": rng.integers(0, 5, (2, 60)),
            "skewed": np.minimum(np.round(rng.gamma(1, 4, (2, 60))), 27),
            "rare": rng.random((2, 60)) < 0.1,
        }[law]
        units = np.arange(60) if sizes == "equal" else np.sqrt(np.arange(60)).astype(int)
        found.append(p_of(*both, units))
    assert np.mean(np.array(found) < 0.025) < 0.04
