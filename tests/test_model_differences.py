"""Two models on the same items: exact laws against resampling and the paired tests."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.bootstrap import bootstrap
from fairstats.inference.mcnemar import mcnemar
from fairstats.model_differences import accuracy, ad, cfr, model_difference

RNG = np.random.default_rng(1)


def answered(n: int, right_a: float, right_b: float) -> np.ndarray:
    """Sums of n items of one pair, all answered once."""
    a, b = RNG.random(n) < right_a, RNG.random(n) < right_b
    one = np.ones(n, dtype=int)
    same = (a & b) | (~a & ~b & (RNG.random(n) < 0.5))
    return np.stack([a, one, b, one, same, one], axis=-1).astype(np.int64)[:, None]


OLD, NEW = answered(400, 0.8, 0.7), answered(400, 0.85, 0.82)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_the_exact_law_is_that_of_resampling_items(figure):
    found = model_difference(OLD, NEW, figure)
    assert found.ci_method == "bootstrap bca, exact"
    draws = np.random.default_rng(2).integers(0, 400, (20_000, 400))
    resampled = figure(NEW[draws].sum(axis=1)) - figure(OLD[draws].sum(axis=1))
    low, high = np.quantile(resampled, [0.025, 0.975])
    # BCa moves a limit by a fraction of the standard error.
    assert found.ci_low == pytest.approx(low, abs=0.25 * resampled.std())
    assert found.ci_high == pytest.approx(high, abs=0.25 * resampled.std())
    assert found.estimate == pytest.approx(found.new - found.old)
    assert found.ci_low < found.estimate < found.ci_high


def test_cfr_is_compared_by_mcnemars_test():
    same_old, same_new = OLD[:, 0, 4], NEW[:, 0, 4]
    n10, n01 = int((same_new > same_old).sum()), int((same_new < same_old).sum())
    found = model_difference(OLD, NEW, cfr)
    assert found.p_value == pytest.approx(float(mcnemar(n10, n01).p_value))
    both = int((same_old & same_new).sum())
    interval = bootstrap([both, n10, n01, 400 - both - n10 - n01])
    assert (found.ci_low, found.ci_high) == (interval.ci_low, interval.ci_high)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_swapping_the_models_mirrors_everything(figure):
    one, other = model_difference(OLD, NEW, figure), model_difference(NEW, OLD, figure)
    assert one.estimate == -other.estimate
    assert one.ci_low == pytest.approx(-other.ci_high, abs=1e-12)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-10)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_a_model_against_itself_shows_nothing(figure):
    found = model_difference(OLD, OLD, figure)
    assert found.estimate == 0
    assert found.ci_low <= 0 <= found.ci_high
    assert found.p_value == 1
    assert found.ci_high > 0


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_with_an_answer_missing_items_are_resampled_by_the_seed(figure):
    holes = OLD.copy()
    holes[0, 0] = [0, 0, 1, 1, 0, 0]
    one, other = (model_difference(holes, NEW, figure, n_resamples=2000) for _ in range(2))
    assert one == other
    assert one.ci_method == "bootstrap bca, 2000 resamples"
    exact = model_difference(OLD, NEW, figure)
    assert one.ci_low == pytest.approx(exact.ci_low, abs=0.015)
    assert one.ci_high == pytest.approx(exact.ci_high, abs=0.015)
    assert one.p_value >= 1 / 2001


def test_ad_over_several_pairs_is_resampled():
    found = model_difference(
        np.concatenate([OLD, OLD], axis=1), np.concatenate([NEW, NEW], axis=1), ad, n_resamples=2000
    )
    assert found.ci_method == "bootstrap bca, 2000 resamples"
    assert found.estimate == pytest.approx(model_difference(OLD, NEW, ad).estimate)


def test_two_pairs_of_an_item_are_one_item():
    twice = [np.concatenate([table, table], axis=1) for table in (OLD, NEW)]
    one, two = model_difference(OLD, NEW, accuracy), model_difference(*twice, accuracy)
    assert (one.ci_low, one.ci_high) == pytest.approx((two.ci_low, two.ci_high))
    assert one.p_value == pytest.approx(two.p_value)


def test_a_model_without_an_answer_cannot_be_compared():
    found = model_difference(OLD, np.zeros_like(OLD), accuracy)
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high, found.p_value) == (-1, 1, 1)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
@pytest.mark.parametrize("copies", [1, 2])
def test_one_item_shows_nothing_and_more_show_no_more_than_they_can(figure, copies):
    fair = np.array([[[1, 1, 1, 1, 1, 1]]])
    unfair = np.array([[[1, 1, 0, 1, 0, 1]]])
    for n in (1, 4):
        old, new = (
            np.repeat(np.repeat(side, copies, axis=1), n, axis=0) for side in (fair, unfair)
        )
        found = model_difference(old, new, figure, n_resamples=99)
        assert found.p_value >= 2.0 ** (1 - n) / (2 if figure is not ad else 1)
        assert found.ci_low <= found.estimate <= found.ci_high


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_of_ad_says_what_its_interval_says(holes, seed):
    rng = np.random.default_rng(seed)
    old = OLD[rng.permutation(400)[:150]].copy()
    new = NEW[rng.permutation(400)[:150]]
    if holes:
        old[0, 0] = [0, 0, 1, 1, 0, 0]
    p = model_difference(old, new, ad, n_resamples=999).p_value
    for alpha, excludes in ((p * 1.02 + 1e-9, True), (p * 0.98 - 1e-9, False)):
        if not 2 / 1000 < alpha < 0.98:
            continue
        found = model_difference(old, new, ad, alpha=alpha, n_resamples=999)
        assert (found.ci_low > 0 or found.ci_high < 0) == excludes
