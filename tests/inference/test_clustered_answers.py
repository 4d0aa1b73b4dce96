"""Clustered answers: flips against enumeration, variance of repeated samples against R."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference import clustered_answers
from fairstats.inference.clustered_answers import (
    agreement_noise,
    design_effect,
    few_clusters_effect,
    flip_test,
    proportion_noise,
    sampling_variance,
    sign_flip_test,
)
from fairstats.inference.mcnemar import mcnemar

REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "cluster_mcnemar.csv")


@pytest.mark.parametrize("case", sorted(REFERENCE["case"].unique()))
def test_sign_flips_agree_with_enumeration(case):
    rows = REFERENCE[REFERENCE["case"] == case]
    for method, column in (
        ("exact", "exact_p"),
        ("midp", "midp_p"),
        ("asymptotic", "obuchowski_p"),
    ):
        found = sign_flip_test(rows["difference"], rows["count"], method=method).p_value
        expected = rows[column].iloc[0]
        # Without any difference R's quotient is NA, and p is 1.
        assert found == pytest.approx(1.0 if np.isnan(expected) else expected, abs=1e-10)


@given(n10=st.integers(0, 200), n01=st.integers(0, 200), n00=st.integers(0, 50))
def test_one_answer_an_item_is_mcnemars_test(n10, n01, n00):
    for method in ("midp", "exact"):
        found = sign_flip_test([1, -1, 0], [n10, n01, n00], method=method).p_value
        assert found == float(mcnemar(n10=n10, n01=n01, method=method).p_value)


def mid_and_exact_p(differences, counts) -> tuple[float, float]:
    """Return both p-values by whole numbers: in how many ways the flips give each sum."""
    ways = {0: 1}
    for d, many in zip(map(abs, differences), counts, strict=True):
        longer: dict[int, int] = {}
        for total, number in ways.items():
            for heads in range(many + 1):
                at = total + d * (2 * heads - many)
                longer[at] = longer.get(at, 0) + number * comb(many, heads)
        ways = longer
    observed = abs(sum(d * many for d, many in zip(differences, counts, strict=True)))
    beyond = sum(number for total, number in ways.items() if abs(total) > observed)
    at = sum(number for total, number in ways.items() if abs(total) == observed)
    whole = 2 ** sum(counts)
    mid = Fraction(2 * beyond + at, 2 * whole)
    return float(mid) if observed else 1.0, float(Fraction(beyond + at, whole))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("largest", [1, 2, 6, 40])
def test_many_tests_at_once_are_as_accurate_as_whole_numbers(seed, largest):
    rng = np.random.default_rng(seed)
    differences = rng.integers(-largest, largest + 1, 5) * rng.choice([1, 3])
    counts = rng.integers(0, rng.choice([2, 12]), (8, 5))
    # No difference; one item; all in one direction; a common factor that other tests lack.
    special = [np.zeros(5), np.eye(5)[0], 12 * (differences > 0), 12 * (differences % 2 == 0)]
    counts = np.vstack([counts, special]).astype(np.int64)
    mid, exact = (sign_flip_test(differences, counts, method=m).p_value for m in ("midp", "exact"))
    expected = [mid_and_exact_p(differences.tolist(), own.tolist()) for own in counts]
    np.testing.assert_allclose(np.column_stack([mid, exact]), expected, rtol=1e-12)


def test_the_smallest_p_values_keep_their_digits():
    differences, counts = [3, 1, -1, -3], [[200, 300, 20, 5], [240, 1, 0, 0], [300, 300, 1, 0]]
    found = sign_flip_test(differences, counts).p_value
    expected = [mid_and_exact_p(differences, own)[0] for own in counts]
    assert max(expected) < 1e-70
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_each_of_several_tests_is_that_test_alone():
    differences = [2, -2, 1, -1]
    counts = np.array([[9, 4, 5, 1], [0, 0, 0, 0], [30_000, 29_900, 30_000, 30_000], [3, 3, 0, 0]])
    for method in ("midp", "exact", "asymptotic"):
        found = sign_flip_test(differences, counts[:, None], method=method)
        alone = [sign_flip_test(differences, own, method=method) for own in counts]
        assert found.p_value.shape == (4, 1)
        np.testing.assert_allclose(found.p_value[:, 0], [one.p_value for one in alone], rtol=1e-13)
        assert found.statistic[:, 0].tolist() == [one.statistic for one in alone]
    assert sign_flip_test(differences, counts).method == "midp or asymptotic"
    assert sign_flip_test(differences, counts[:0]).p_value.shape == (0,)


def test_long_sums_are_approximated_and_reported():
    found = sign_flip_test([2, -2, 1, -1], [30_000, 29_900, 30_000, 30_000])
    assert found.method == "asymptotic"
    assert 0 < found.p_value < 1
    assert sign_flip_test([], []).p_value == 1
    with pytest.raises(ValueError, match=r"differences\[0\]=0.5 must be a whole number"):
        sign_flip_test([0.5])
    with pytest.raises(ValueError, match="use midp, exact or asymptotic"):
        sign_flip_test([1], method="chi2")


def test_a_design_effect_is_1_for_single_answers_and_the_size_for_copies():
    single = design_effect(np.eye(3), [5, 6, 9], [1.1, -0.5, -0.2777777])
    assert single == pytest.approx(1, abs=1e-12)
    n = 400
    copies = design_effect(3 * np.eye(2), [n, n], [1, -1])
    assert copies == pytest.approx(3 * (3 * 2 * n - 1) / (3 * 2 * n) * 2 * n / (2 * n - 1))


def test_a_design_effect_agrees_with_statsmodels_cluster_robust_variance():
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    share = rng.beta(2, 1, 60)
    sizes = rng.integers(1, 6, 60)
    right = rng.binomial(sizes, share)
    items = np.repeat(np.arange(60), sizes)
    outcome = np.concatenate([[1] * r + [0] * (s - r) for r, s in zip(right, sizes, strict=True)])
    fit = sm.OLS(outcome, np.ones(len(outcome))).fit(
        cov_type="cluster",
        cov_kwds={"groups": items, "use_correction": True, "df_correction": False},
    )
    n, p = len(outcome), outcome.mean()
    found = design_effect(np.column_stack([right, sizes - right]), np.ones(60), [1 - p, -p])
    # statsmodels multiplies by (n − 1) / (n − 1) more for the one parameter.
    robust, independent = fit.bse[0] ** 2, outcome.var(ddof=1) / n
    assert found == pytest.approx(robust / independent, rel=1e-10)


def test_without_any_influence_the_answers_of_an_item_count_as_one():
    assert design_effect([[5, 0, 0]], [80], [0, 1, -1]) == 5
    assert design_effect([[5, 1, 0]], [1], [0, 1, -1]) == 6


def test_samples_that_balance_out_are_not_more_than_independent_ones():
    assert design_effect([[1, 1]], [50], [1, -1]) == 1


def test_a_common_factor_does_not_matter():
    one, other = sign_flip_test([1, -1], [10, 2]), sign_flip_test([20_000, -20_000], [10, 2])
    assert other.p_value == one.p_value
    mixed, scaled = sign_flip_test([1, 2, -1], [9, 4, 5]), sign_flip_test([3, 6, -3], [9, 4, 5])
    assert (mixed.p_value, 3 * mixed.statistic) == (scaled.p_value, scaled.statistic)


def test_a_p_value_is_never_0():
    for method in ("midp", "exact", "asymptotic"):
        assert sign_flip_test([1], [5000], method=method).p_value > 0
        assert sign_flip_test([1, 2], [3000, 900], method=method).p_value > 0
        assert mcnemar(n10=5000, n01=0, method=method).p_value > 0


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


def flipped(differences, method):
    """Return the p-value from all signs, by exact fractions."""
    d = [Fraction(x) for x in differences]
    observed = abs(sum(d))
    sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in all_signs(len(d))]
    reached = sum(x >= observed for x in sums)
    equal = sum(x == observed for x in sums) if method == "midp" and observed else 0
    return float(Fraction(reached, len(sums)) - Fraction(equal, 2 * len(sums)))


def all_signs(n):
    return product((-1, 1), repeat=n)


@pytest.mark.parametrize("method", ["midp", "exact"])
@pytest.mark.parametrize("denominator", [1, 4, 7, 100])
def test_flips_of_fractions_agree_with_enumeration(denominator, method):
    rng = np.random.default_rng(denominator)
    for _ in range(20):
        whole = rng.integers(-250, 400, rng.integers(1, 10))
        found = flip_test(whole / denominator, method=method)
        assert found.p_value == pytest.approx(flipped(whole.tolist(), method), abs=1e-12)
        assert found.method == method
        assert found.statistic == pytest.approx(whole.sum() / denominator)


@pytest.mark.parametrize("method", ["midp", "exact"])
def test_flips_of_irrational_numbers_go_through_all_signs(method):
    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        d = rng.standard_normal(size) + 0.5
        found = flip_test(d, method=method)
        assert found.p_value == pytest.approx(flipped(d.tolist(), method), abs=1e-12)
        assert found.method == f"{method}, all signs"


def test_rounded_flips_are_near_all_signs(monkeypatch):
    rng = np.random.default_rng(2)
    samples = [rng.standard_normal(14) + 0.4 for _ in range(20)]
    exact = [flip_test(d).p_value for d in samples]
    monkeypatch.setattr(clustered_answers, "MOST_ENUMERATED", 0)
    for d, expected in zip(samples, exact, strict=True):
        found = flip_test(d)
        assert found.method == "midp, rounded"
        assert found.p_value == pytest.approx(expected, rel=0.01, abs=4 / 2**14)


def test_few_units_are_never_compared_with_chi2():
    rng = np.random.default_rng(3)
    for size in (10, 17, 20, 50, 1000):
        for d in (rng.standard_normal(size), rng.integers(1, 10**6, size) / 1000):
            assert "asymptotic" not in flip_test(d).method


def test_many_real_numbers_are_compared_with_chi2():
    d = np.random.default_rng(4).standard_normal(2000) + 0.03
    found = flip_test(d)
    assert found.method == "asymptotic"
    expected = stats.chi2.sf(d.sum() ** 2 / (d**2).sum(), 1)
    assert found.p_value == pytest.approx(expected)


def test_flips_of_whole_numbers_are_the_sign_flip_test():
    d, many = [2, 1, -1, 0], [[0, 7, 1, 3], [3, 4, 1, 0], [0, 0, 0, 9]]
    for method in ("midp", "exact"):
        found, expected = flip_test(d, many, method=method), sign_flip_test(d, many, method=method)
        np.testing.assert_allclose(found.p_value, expected.p_value, rtol=1e-12)
        np.testing.assert_allclose(found.statistic, expected.statistic)


@pytest.mark.parametrize("d", [[], [0.0, 0.0], [0.1, 0.2, -0.3], [1e300, -1e300], [1.5, -1.5]])
def test_flips_without_a_sum_have_p_1(d):
    assert tuple(flip_test(d)) == (0.0, 1.0)


def test_flip_p_value_is_never_0():
    assert 0 < flip_test([0.25], [10_000]).p_value < 1e-300
    assert 0 < flip_test(np.full(10_000, np.pi) + np.arange(10_000) / np.e).p_value < 1e-300


@given(st.lists(st.floats(-100, 100, allow_subnormal=False), max_size=30), st.floats(1e-6, 1e6))
def test_flips_depend_on_neither_scale_nor_order_nor_direction(d, factor):
    p = flip_test(d).p_value
    assert 0 < p <= 1
    assert flip_test(d[::-1]).p_value == pytest.approx(p, rel=1e-6)
    assert flip_test([-x for x in d]).p_value == pytest.approx(p, rel=1e-6)
    if len(d) <= 16:
        assert flip_test([x * factor for x in d]).p_value == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("d", [[np.nan], [np.inf], ["1"]])
def test_flip_test_refuses_numbers_that_are_not_finite(d):
    with pytest.raises(ValueError, match="differences"):
        flip_test(d)


@pytest.mark.parametrize("size", [1, 4])
def test_few_equal_clusters_use_students_quantile(size):
    psi = np.array([1.0, -1.0, 0.0])
    patterns = size * np.eye(3, dtype=int)
    many = np.array([9, 7, 4])
    influence = psi - 0.1
    expected = design_effect(patterns, many, influence)
    expected *= (stats.t.isf(0.05, 19) / stats.norm.isf(0.05)) ** 2
    found = few_clusters_effect(patterns, many, influence, alpha=0.1)
    # 16 of 20 clusters differ from the median one; the rest of the weight is 2^−16.
    assert found == pytest.approx(expected, rel=1e-4)


def test_few_clusters_effect_nears_the_design_effect_with_many():
    clusters, many = [[2, 0], [0, 2], [1, 1]], np.array([4, 4, 2])
    excess = [
        few_clusters_effect(clusters, many * times, [1, -1])
        / design_effect(clusters, many * times, [1, -1])
        for times in (1, 10, 1000)
    ]
    assert excess[0] > 1.2
    assert excess == sorted(excess, reverse=True)
    assert excess[2] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("sizes", [[3] * 10, [1, 2, 10, 4]])
def test_clusters_without_influence_count_as_one_answer_by_size(sizes):
    clusters = np.outer(sizes, [1, 0])
    found = few_clusters_effect(clusters, np.ones(len(sizes), int), [0.0, 1.0])
    assert found == pytest.approx(np.square(sizes).sum() / np.sum(sizes))


def test_one_discordant_pair_does_not_show_independence():
    clusters, many = [[5, 0], [4, 1]], [29, 1]
    influence = np.array([0, 1]) - 1 / 150
    plain = design_effect(clusters, many, influence)
    found = few_clusters_effect(clusters, many, influence)
    assert plain == pytest.approx(1, abs=0.05)
    assert found > 3


@pytest.mark.parametrize("answers", [1, 1000])
def test_few_clusters_effect_does_not_jump_where_the_median_cluster_changes(answers):
    """With fewer than 20 items in the first ward, wards without a difference are the minority."""
    sizes = np.array([20, 14, 11, 9, 8, 8, 18, 16, 12, 10, 8, 6])
    found = []
    for more in range(-8, 9):
        differ = answers * np.array([0] * 6 + [8, 3, 2, 2, 1, 1])
        alike = answers * sizes - differ
        alike[0] += more
        cells = np.column_stack([alike, differ])
        influence = np.array([0, 1]) - differ.sum() / cells.sum()
        found.append(few_clusters_effect(cells, np.ones(12, int), influence))
    # The effect rises by 1 to 2% per item, and by a thousandth of that with 1,000 times as many.
    assert np.abs(np.diff(np.log(found))).max() < 0.03 / answers


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=12), st.integers(1, 3))
def test_few_clusters_effect_is_between_the_design_effect_and_the_number(clusters, copies):
    cells = np.array(clusters)
    total = cells.sum(axis=0)
    ones = np.ones(len(cells), int)
    influence = np.array([1, -1, 0]) - (total[0] - total[1]) / max(total.sum(), 1)
    found = few_clusters_effect(cells, ones, influence, copies=copies)
    least = design_effect(cells, ones, influence, copies=copies)
    assert found >= min(least, max(total.sum() / copies, 1)) * (1 - 1e-9)
    assert found <= max(total.sum() / copies, least, 1) * (1 + 1e-9)


def test_single_cluster_has_the_design_effect():
    assert few_clusters_effect([[3, 4]], [1], [4, -3]) == design_effect([[3, 4]], [1], [4, -3]) == 7


@pytest.mark.parametrize("method", ["midp", "exact"])
def test_one_test_of_many_steps_is_the_same_as_among_many_tests(method):
    """One test adds up all sums; many tests are computed by Cauchy's integral."""
    d = np.random.default_rng(8).integers(-400, 500, 90)
    alone = sign_flip_test(d, method=method).p_value
    together = sign_flip_test(d, np.ones((200, 90), dtype=int), method=method).p_value
    np.testing.assert_allclose(together, alone, rtol=1e-11)
    assert 0.01 < alone < 0.5
