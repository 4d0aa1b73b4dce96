"""Agreement by chance: degenerate answers, all permutations, and units of unequal size."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy

from fairstats.estimates.reading import chance_agreement


def p_of(a, b, clusters=None):
    clusters = None if clusters is None else np.asarray(clusters)
    return chance_agreement(np.asarray(a, float), np.asarray(b, float), clusters)


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
    assert p_of(a, b, range(len(a))) == 1


def test_p_value_is_near_that_of_all_permutations():
    rng = np.random.default_rng(5)
    for _ in range(6):
        a, b = rng.choice(5, (2, 8), p=[0.4, 0.2, 0.2, 0.1, 0.1]).astype(float)
        sums = np.array([a @ np.array(one) for one in permutations(b)])
        # Sums that are equal to the observed one count half: the approximation is continuous.
        near = np.isclose(sums, a @ b)
        exact = ((sums > a @ b) & ~near).mean() + near.mean() / 2
        assert scipy.stats.pearsonr(a, b, alternative="greater").pvalue == pytest.approx(
            exact, abs=0.06
        )
        without = ((a - a.mean()) * (b - b.mean())).argmax()
        fewer = [np.delete(one, without) for one in (a, b)]
        assert p_of(a, b) == max(
            scipy.stats.pearsonr(*both, alternative="greater").pvalue for both in ((a, b), fewer)
        )


def test_direction_and_scale():
    a = np.array([0.0, 1, 2, 3, 4, 5, 6, 9])
    assert p_of(a, a) < 0.01
    assert p_of(a, -a) > 0.99
    assert p_of(a, 1000 + 7 * a) == pytest.approx(p_of(a, a))


def test_agreement_does_not_rest_on_one_item():
    rng = np.random.default_rng(3)
    a, b = rng.permuted(np.tile(np.arange(20.0), (2, 1)), axis=1)
    a[0] = b[0] = 900
    assert scipy.stats.pearsonr(a, b, alternative="greater").pvalue < 0.025 < p_of(a, b)
    assert p_of([0.0] * 50 + [1], [0.0] * 50 + [1]) == 1


def test_clusters_have_the_standard_error_of_their_weights():
    """How much the correlation changes if a cluster counts a little more, by differences."""
    rng = np.random.default_rng(7)
    place = np.repeat(np.arange(7), [1, 2, 2, 3, 4, 4, 5])
    of_cluster = rng.normal(size=7)
    a, b = (of_cluster[place] + rng.normal(size=7)[place] for _ in "ab")

    def of(use):
        def correlation(weights):
            covariance = np.cov(a[use], b[use], aweights=weights)
            return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])

        r, units = correlation(np.ones(use.sum())), np.unique(place[use])
        more = [(correlation(1 + 1e-6 * (place[use] == one)) - r) / 1e-6 for one in units]
        error = np.sqrt(len(units) / (len(units) - 1) * np.square(more).sum())
        sizes = np.unique(place[use], return_counts=True)[1]
        freedom = min(len(units) - 2, sizes.sum() ** 2 / np.square(sizes).sum() - 1)
        return scipy.stats.t.sf(r / error, freedom)

    largest = np.bincount(place, (a - a.mean()) * (b - b.mean())).argmax()
    expected = max(of(place >= 0), of(place != largest) / 2)
    assert expected > p_of(a, b)
    assert p_of(a, b, place) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("favourable", "clusters", "size"), [(3, 30, 5), (2, 20, 10), (3, 100, 3)])
def test_clusters_with_one_answer_each_agree_if_few_are_favourable(favourable, clusters, size):
    """The sums of few clusters are far from the others' and from chance."""
    place = np.repeat(np.arange(clusters), size)
    perfect = 1.0 * (place < favourable)
    assert p_of(perfect, perfect, place) < 1e-6
    noisy = np.where(np.arange(len(place)) % 7 == 3, 1 - perfect, perfect)
    assert p_of(noisy, perfect, place) < 0.025
    # One cluster alone shows nothing.
    assert p_of(1.0 * (place < 1), 1.0 * (place < 1), place) == 0.5


def test_clusters_with_one_item_of_each_kind_are_no_chance():
    clusters, answers = np.repeat(np.arange(40), 2), np.tile([0.0, 1.0], 40)
    assert p_of(answers, answers, clusters) < 1e-6


@pytest.mark.parametrize("scale", [1, 0.1, 1e6])
@pytest.mark.parametrize("a", [[0, 0, 1, 1], [0.3, 0.3, 0.7, 0.7]])
def test_clusters_without_any_agreement_agree_by_chance(a, scale):
    """The answers of each patient are balanced with one side, and never agree."""
    clusters = np.repeat(np.arange(30), 4)
    assert p_of(scale * np.tile(a, 30), scale * np.tile([0.1, 0.9, 0.1, 0.9], 30), clusters) > 0.4
    coin = np.repeat(np.random.default_rng(1).choice([0, 1], 30), 4)
    assert p_of(scale * coin, np.tile([0.1, 0.9, 0.1, 0.9], 30), clusters) > 0.4


@pytest.mark.parametrize("clusters", ["none", "unequal", "one large"])
@pytest.mark.parametrize("law", ["levels", "skewed", "rare"])
def test_level_holds_for_answers_at_random(law, clusters):
    """2.5%, with a standard error of 0.35 points."""
    rng, found = np.random.default_rng(8), []
    for _ in range(2000):
        both = {
            "levels": rng.integers(0, 5, (2, 60)),
            "skewed": np.minimum(np.round(rng.gamma(1, 4, (2, 60))), 27),
            "rare": rng.random((2, 60)) < 0.1,
        }[law]
        units = {
            "none": None,
            "unequal": np.sqrt(np.arange(60)).astype(int),
            "one large": np.maximum(np.arange(60) - 30, 0) // 2,
        }[clusters]
        if clusters == "one large":
            both = both[:, units]
        found.append(p_of(*both, units))
    assert np.mean(np.array(found) < 0.025) < 0.035
