"""Sampling variance: unbiased by enumeration of all samples, and exact without noise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairstats.inference.sampling_variance import (
    agreement_noise,
    proportion_noise,
    sampling_variance,
)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_noise_of_a_proportion_is_unbiased(n, p):
    answers = np.array(list(product([0, 1], repeat=n)))
    law = (p**answers * (1 - p) ** (1 - answers)).prod(axis=1)
    expected = law @ proportion_noise(answers.sum(axis=1), n)
    assert expected == pytest.approx(p * (1 - p) / n)


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 2)])
def test_noise_of_the_agreement_is_unbiased(n_a, n_b):
    of_a, of_b = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.6, 0.3])
    a, b = (np.array(list(product(range(3), repeat=n))) for n in (n_a, n_b))
    counts = [
        np.stack([(letters == letter).sum(axis=1) for letter in range(3)], axis=1)
        for letters in (a, b)
    ]
    one, other = (each.ravel() for each in np.indices((len(a), len(b))))
    law = of_a[a].prod(axis=1)[one] * of_b[b].prod(axis=1)[other]
    same = (counts[0][one] * counts[1][other]).sum(axis=1) / (n_a * n_b)
    noise = agreement_noise(counts[0][one], counts[1][other], n_a, n_b)
    assert law @ noise == pytest.approx(law @ same**2 - (law @ same) ** 2)


def test_fewer_than_two_answers_have_unknown_noise():
    assert np.isnan(proportion_noise([0, 1], [0, 1])).all()
    assert np.isnan(agreement_noise([[1, 0]], [[2, 0]], [1], [2])).all()


def test_missing_answers_that_count_agree_with_no_other():
    # Two answers of three are missing for each group.
    found = agreement_noise([[1, 0]], [[1, 0]], [3], [3])
    assert found == pytest.approx((1 / 9) ** 2)


def test_parts_are_their_true_values_on_average():
    rng = np.random.default_rng(5)
    items, samples, repeats = 60, 3, 2000
    # Half of the items are easy; the group matters for half of these.
    p = np.repeat([[0.9, 0.9, 0.3, 0.3], [0.9, 0.5, 0.3, 0.1]], items // 4, axis=1)
    parts = {"difference": [], "agreement": []}
    for _ in range(repeats):
        a, b = rng.binomial(samples, p)
        noise = proportion_noise(a, samples) + proportion_noise(b, samples)
        found = sampling_variance((a - b) / samples, noise)
        parts["difference"].append((found.variance_items, found.variance_samples))
        letters = np.stack([a, samples - a], axis=1), np.stack([b, samples - b], axis=1)
        same = (letters[0] * letters[1]).sum(axis=1) / samples**2
        sizes = np.full(items, samples)
        found = sampling_variance(same, agreement_noise(*letters, sizes, sizes))
        parts["agreement"].append((found.variance_items, found.variance_samples))
    p_a, p_b = p
    expected = np.var(p_a - p_b, ddof=1), (p * (1 - p)).sum(axis=0).mean() / samples
    assert np.mean(parts["difference"], axis=0) * items == pytest.approx(expected, rel=0.02)
    agreement = p_a * p_b + (1 - p_a) * (1 - p_b)
    items_part = np.mean(parts["agreement"], axis=0)[0] * items
    assert items_part == pytest.approx(np.var(agreement, ddof=1), rel=0.03)


def test_items_without_noise_have_the_usual_standard_error():
    values = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    found = sampling_variance(values, np.zeros(6))
    assert found.std_error == pytest.approx(values.std(ddof=1) / np.sqrt(6))
    assert (found.share_samples, found.variance_samples) == (0, 0)
    assert found.std_error_unlimited == pytest.approx(found.std_error)


def test_noise_above_the_variance_over_items_has_a_share_of_1():
    found = sampling_variance([0.5, 0.5, 0.5], [0.25] * 3)
    assert (found.share_samples, found.std_error_unlimited) == (1, 0)
    assert found.variance_items + found.variance_samples == pytest.approx(found.std_error**2)


def test_multiplicity_repeats_items():
    values, noise = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.1, 0.0])
    once = sampling_variance(np.repeat(values, [2, 3, 4]), np.repeat(noise, [2, 3, 4]))
    kinds = sampling_variance(values, noise, [2, 3, 4])
    assert kinds.std_error == pytest.approx(once.std_error)
    assert kinds.variance_items == pytest.approx(once.variance_items)
    assert kinds.n == once.n == 9


def test_no_item_one_item_and_equal_items():
    assert np.isnan(sampling_variance([], []).estimate)
    single = sampling_variance([0.5], [0.25])
    assert (single.estimate, single.n) == (0.5, 1)
    assert np.isnan([single.std_error, single.share_samples]).all()
    equal = sampling_variance([1.0, 1.0], [0.0, 0.0])
    assert equal.std_error == 0
    assert np.isnan(equal.share_samples)


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        sampling_variance([0.5, 1.0], [0.1])
