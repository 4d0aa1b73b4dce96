"""Two models on the same items: exact distributions against resampling and the paired tests.

For many pairs, the bound over the signs is never below the enumeration of every choice.
"""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial

from fairstats.comparisons import model_differences
from fairstats.comparisons.model_differences import (
    accuracy,
    ad,
    cfr,
    model_difference,
    model_p_values,
)
from fairstats.inference.clustered_answers import sign_flip_test
from fairstats.inference.mcnemar import mcnemar
from fairstats.inference.unit_means import unit_mean

RNG = np.random.default_rng(1)
REFERENCE = pd.read_csv(Path(__file__).parents[1] / "r" / "disparity_changes.csv")


def answered(n: int, right_a: float, right_b: float) -> np.ndarray:
    """Return the sums of n items with one pair each, all answered once."""
    a, b = RNG.random(n) < right_a, RNG.random(n) < right_b
    one = np.ones(n, dtype=int)
    same = (a & b) | (~a & ~b & (RNG.random(n) < 0.5))
    return np.stack([a, one, b, one, same, one], axis=-1).astype(np.int64)[:, None]


OLD, NEW = answered(400, 0.8, 0.7), answered(400, 0.85, 0.82)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_interval_equals_that_of_resampled_items(figure):
    found = model_difference(OLD, NEW, figure)
    assert found.method.startswith("CR2 t")
    draws = np.random.default_rng(2).integers(0, 400, (20_000, 400))
    resampled = figure(NEW[draws].sum(axis=1)) - figure(OLD[draws].sum(axis=1))
    low, high = np.quantile(resampled, [0.025, 0.975])
    # A score interval may be wider by a fraction of the standard error; AD's also allows for other
    # signs.
    slack = 0.25 if figure is not ad else 1.5
    assert found.ci_low == pytest.approx(low, abs=slack * resampled.std())
    assert found.ci_high == pytest.approx(high, abs=slack * resampled.std())
    assert found.estimate == pytest.approx(found.new - found.old)
    assert found.ci_low < found.estimate < found.ci_high


def test_cfr_is_compared_by_mcnemars_test():
    same_old, same_new = OLD[:, 0, 4], NEW[:, 0, 4]
    n10, n01 = int((same_new > same_old).sum()), int((same_new < same_old).sum())
    found = model_difference(OLD, NEW, cfr)
    assert found.p_value == pytest.approx(float(mcnemar(n10=n10, n01=n01).p_value))
    interval = unit_mean(same_new - same_old, [1] * 400, limits=(-1, 1))
    assert (found.ci_low, found.ci_high) == pytest.approx(interval.ci, abs=0.005)


@pytest.mark.parametrize(("n", "better", "worse"), [(60, 0.01, 0.005), (100, 0.02, 0.01)])
@pytest.mark.parametrize(("figure", "answers"), [(accuracy, [1, 1, 0]), (cfr, [0, 0, 1])])
def test_interval_covers_if_few_items_change(figure, answers, n, better, worse):
    """The coverage is a sum over the numbers of items that get better and worse."""
    none = np.zeros((n, 1, 6), dtype=np.int64)
    none[..., [1, 3, 5]] = 1
    covered = 0.0
    for up, down in product(range(10), repeat=2):
        old, new = none.copy(), none.copy()
        new[:up, 0, [0, 2, 4]] = answers
        old[up : up + down, 0, [0, 2, 4]] = answers
        found = model_difference(old, new, figure)
        share = [better, worse, 1 - better - worse]
        is_covered = found.ci_low <= better - worse <= found.ci_high
        covered += is_covered * multinomial.pmf([up, down, n - up - down], n, share)
    assert covered >= 0.94


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_swapping_the_models_mirrors_the_results(figure):
    one, other = model_difference(OLD, NEW, figure), model_difference(NEW, OLD, figure)
    assert one.estimate == -other.estimate
    assert one.ci_low == pytest.approx(-other.ci_high, abs=1e-12)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-10)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_model_compared_with_itself_shows_no_change(figure):
    found = model_difference(OLD, OLD, figure)
    assert found.estimate == 0
    assert found.ci_low <= 0 <= found.ci_high
    assert found.p_value == 1
    assert found.ci_high > 0


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_items_are_swapped_with_a_seed_if_an_answer_is_missing(figure):
    holes = OLD.copy()
    holes[0, 0] = [0, 0, 1, 1, 0, 0]
    one, other = (model_difference(holes, NEW, figure, n_resamples=4000) for _ in range(2))
    assert one == other
    assert "4000 random swaps" in one.test
    exact = model_difference(OLD, NEW, figure)
    assert one.ci_low == pytest.approx(exact.ci_low, abs=0.015)
    assert one.ci_high == pytest.approx(exact.ci_high, abs=0.015)
    assert one.p_value >= 1 / 4001
    assert one.p_value == pytest.approx(exact.p_value, abs=0.03)


def test_two_pairs_of_an_item_count_as_one_item():
    twice = [np.concatenate([table, table], axis=1) for table in (OLD, NEW)]
    one, two = model_difference(OLD, NEW, accuracy), model_difference(*twice, accuracy)
    assert (one.ci_low, one.ci_high) == pytest.approx((two.ci_low, two.ci_high))
    assert one.p_value == pytest.approx(two.p_value)


def wards(rng: np.random.Generator, right_a: float, right_b: float) -> np.ndarray:
    """Return the sums of 12 wards of 3 to 14 items; of each group, up to two answers lack."""
    size = np.arange(3, 15)
    n_a, n_b = (size - rng.integers(0, 3, 12) for _ in range(2))
    n = np.minimum(n_a, n_b)
    right = rng.binomial(n_a, right_a), rng.binomial(n_b, right_b), rng.binomial(n, 0.7)
    return np.stack([right[0], n_a, right[1], n_b, right[2], n], axis=-1)[:, None]


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_all_swaps_of_twelve_unequal_clusters_are_enumerated(figure):
    """2^12 swaps are fewer than 9,999: the p-value is exact and needs no seed."""
    rng = np.random.default_rng(5)
    old, new = wards(rng, 0.95, 0.4), wards(rng, 0.9, 0.5)
    found = model_difference(old, new, figure, few_units=True, rng=1)
    assert found == model_difference(old, new, figure, few_units=True, rng=2)
    assert found.test.startswith("models swapped unit by unit, all 4096 swaps")
    changes = []
    for swapped in product([False, True], repeat=12):
        sides = [sum(two[i] for *two, i in zip(old[:, 0], new[:, 0], swapped, strict=True))]
        sides += [sum(two[1 - i] for *two, i in zip(old[:, 0], new[:, 0], swapped, strict=True))]
        (a, b, same), (a_new, b_new, same_new) = (
            [s[j] / s[j + 1] for j in (0, 2, 4)] for s in sides
        )
        change = {accuracy: a_new + b_new - a - b, cfr: same_new - same}
        # Both models' signs are clear, and the same: AD's change is that of a − b.
        changes.append(change.get(figure, (a_new - b_new) - (a - b)))
    p_value = float((np.abs(changes) >= abs(changes[0]) - 1e-12).mean())
    assert found.p_value == pytest.approx(p_value / (0.99 if figure is ad else 1), rel=1e-12)
    if figure is not ad:
        every_two = model_p_values([old, new, old], figure, few_units=True)
        assert every_two.tolist() == [found.p_value, 1, found.p_value]
    random = model_difference(old, new, figure, n_resamples=4095, few_units=True)
    assert "4095 random swaps" in random.test
    assert random.p_value == pytest.approx(found.p_value, abs=0.03)


def asked_for_some_pairs(models: np.ndarray, asked: list[int]) -> np.ndarray:
    """Return sums as if only the first `asked[j]` items had been asked for pair j."""
    left = np.arange(models.shape[1])[:, None] < np.array(asked)
    return np.where(left[..., None], models, 0)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_items_asked_for_different_pairs_are_swapped_in_all_ways(figure):
    """12, 9 and 5 of 12 items were asked for a pair; the figure is computed again independently."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        drawn = sums_of(rng.choice([-1, 0, 0, 1, 1], (2, 12, 3)))
        old, new = asked_for_some_pairs(drawn, [12, 9, 5])
        swapped = np.array(list(product([False, True], repeat=12)))[..., None, None]
        sides = [np.where(swapped, *two).sum(axis=1) for two in ((new, old), (old, new))]
        changes = figure(sides[1]) - figure(sides[0])
        far = np.abs(changes) - abs(changes[0])
        mid_p = float((far > 1e-12).mean() + (np.abs(far) < 1e-12).mean() / 2)
        found = model_p_values([old, new], figure)[0]
        if figure is ad:
            # AD's test uses the signed differences, and the largest p-value over their signs.
            assert found >= min(_signed_mid_p(old, new, swapped), 1)
        else:
            assert found == pytest.approx(1 if changes[0] == 0 else mid_p, rel=1e-9)


def _signed_mid_p(old: np.ndarray, new: np.ndarray, swapped: np.ndarray) -> float:
    """Return the mid-p of the swaps with the observed signs, which are one of the choices."""
    turned = []
    for side in (old, new):
        total = side.sum(axis=0)
        signs = np.where(total[:, 0] * total[:, 3] > total[:, 2] * total[:, 1], 1, -1)
        turned.append((side[..., 0] - side[..., 2]) * signs / total[:, 1])
    sums = np.where(swapped[..., 0, 0], -1, 1) @ (turned[1] - turned[0]).sum(axis=1)
    far = np.abs(sums) - abs(sums[0])
    return float((far > 1e-12).mean() + (np.abs(far) < 1e-12).mean() / 2)


@pytest.mark.parametrize("figure", [accuracy, cfr])
def test_rounded_weights_of_pairs_barely_change_the_p_value(figure):
    """801, 643 and 331 items have no common multiple small enough to compute with."""
    rng = np.random.default_rng(12)
    shares = ([0.06, 0.88, 0.06], [0.1, 0.84, 0.06])
    drawn = np.stack([sums_of(rng.choice([-1, 0, 1], (801, 3), p=p)) for p in shares])
    old, new = asked_for_some_pairs(drawn, [801, 643, 331])
    swaps = np.where(rng.random((40_000, 801)) < 0.5, 1.0, -1.0)
    columns = [4] if figure is cfr else [0, 2]
    change = ((new - old)[..., columns].sum(axis=-1) / old[..., 5].sum(axis=0)).sum(axis=1)
    p = float((np.abs(swaps @ change) >= abs(change.sum())).mean())
    assert model_p_values([old, new], figure)[0] == pytest.approx(p, abs=4 * np.sqrt(p / 40_000))


def one_by_one(old: np.ndarray, new: np.ndarray, weights: list[int]) -> float:
    """Return AD's p-value with every choice of signs tested by itself."""
    changes = [(side[..., 0] - side[..., 2]) * weights for side in (old, new)]
    evidence = []
    for own in np.concatenate(changes, axis=1).T:
        p = float(sign_flip_test(own, method="exact").p_value) / 2
        evidence.append((1 if own.sum() > 0 else -1, p if own.sum() else 1.0))
    found = []
    for signs in product([1, -1], repeat=len(evidence)):
        of_old, of_new = np.array(signs).reshape(2, -1)
        p = float(sign_flip_test(changes[1] @ of_new - changes[0] @ of_old).p_value)
        against = [p for sign, (seen, p) in zip(signs, evidence, strict=True) if sign != seen]
        found.append(min([p / 0.89, *(len(evidence) * q / 0.01 for q in against)]))
    return min(max(found), sum_bound(*changes), 1.0)


def sum_bound(*changes: np.ndarray) -> float:
    """Return the bound of the observed sum of the larger model, with any signs of the other."""
    small, large = sorted(changes, key=lambda change: np.abs(change.sum(axis=0)).sum())
    total = large @ np.sign(large.sum(axis=0))
    every = product([1, -1], repeat=large.shape[1])
    most = max(float(sign_flip_test(total - small @ np.array(signs)).p_value) for signs in every)
    return 2 ** large.shape[1] * most / 0.1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [[1, 1], [1, 2]])
def test_many_models_are_tested_as_every_two_of_them(seed, weights):
    rng = np.random.default_rng(seed)
    gaps = [(0.0, 0.02), (0.1, -0.1), (0.18, 0.12), (0.02, 0.0), (0.0, 0.0)]
    models = np.stack([drawn(rng, 240, list(gap)) for gap in gaps])
    models[4, ..., 0] = models[4, ..., 2] = 0
    # The second pair has half of the items, and so twice the weight, if weights differ.
    models[:, 240 // weights[1] :, 1] = 0
    for figure in (accuracy, cfr, ad):
        found = model_p_values(models, figure)
        for p, (old, new) in zip(found, combinations(models, 2), strict=True):
            assert p == pytest.approx(model_p_values([old, new], figure)[0], rel=1e-12)
            if figure is ad:
                assert p == pytest.approx(one_by_one(old, new, weights), rel=1e-12)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_random_swaps_are_used_for_every_two_of_many_models(figure):
    holes = OLD.copy()
    holes[0, 0] = [0, 0, 1, 1, 0, 0]
    models = [holes, NEW, OLD]
    expected = [
        model_difference(*two, figure, n_resamples=499).p_value for two in combinations(models, 2)
    ]
    assert model_p_values(models, figure, n_resamples=499).tolist() == expected
    assert len(model_p_values(models[:1], figure)) == 0


def test_model_without_answers_cannot_be_compared():
    found = model_difference(OLD, np.zeros_like(OLD), accuracy)
    assert np.isnan(found.estimate)
    assert (found.ci_low, found.ci_high, found.p_value) == (-1, 1, 1)


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
@pytest.mark.parametrize("copies", [1, 2])
def test_p_value_is_limited_by_the_number_of_items(figure, copies):
    fair = np.array([[[1, 1, 1, 1, 1, 1]]])
    unfair = np.array([[[1, 1, 0, 1, 0, 1]]])
    for n in (1, 4):
        old, new = (
            np.repeat(np.repeat(side, copies, axis=1), n, axis=0) for side in (fair, unfair)
        )
        found = model_difference(old, new, figure, n_resamples=99)
        assert found.p_value >= 2.0 ** (1 - n) / 2
        assert found.ci_low <= found.estimate <= found.ci_high


def sums_of(differences: np.ndarray) -> np.ndarray:
    """Return sums of items of one pair each; group a's answer is right if the difference is not
    negative, and b's if it is not positive."""
    one = np.ones(differences.shape, dtype=np.int64)
    a, b = differences >= 0, differences <= 0
    return np.stack([a, one, b, one, differences == 0, one], axis=-1).astype(np.int64)


def rejections(n: int, old: float, new: float, pairs: int, gap: float, trials: int) -> float:
    """Return how often two models with one AD, and so many discordant pairs, are found to
    differ."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(trials):
        models = []
        for share, shift in ((old, gap), (new, -gap)):
            p = [(share - shift) / 2, 1 - share, (share + shift) / 2]
            models.append(sums_of(rng.choice([-1, 0, 1], (n, pairs), p=p)))
        hits += model_p_values(models, ad)[0] <= 0.05
    return hits / trials


@pytest.mark.parametrize(
    ("n", "old", "new", "pairs", "gap"),
    [(200, 0.2, 0.02, 3, 0.0), (400, 0.2, 0.005, 1, 0.0), (800, 0.1, 0.1, 1, 0.05)],
)
def test_ads_level_holds_at_its_kink_and_at_opposite_signs(n, old, new, pairs, gap):
    # 120 trials at the level of .05 give more than 12 rejections with probability .013.
    assert rejections(n, old, new, pairs, gap, trials=120) <= 0.1


def test_a_larger_ad_is_shown():
    rng = np.random.default_rng(1)
    small, large = ([(s - d) / 2, 1 - s, (s + d) / 2] for s, d in ((0.06, 0.02), (0.14, 0.10)))
    old, new = (sums_of(rng.choice([-1, 0, 1], (801, 3), p=p)) for p in (small, large))
    assert model_difference(old, new, ad).p_value < 0.01
    assert model_difference(old, new, ad).ci_low > 0


def test_clear_sum_of_unclear_gaps_is_larger_than_no_gaps():
    """Each gap of 5 points is shown by one-sided p-values of only 0.0001 to 0.002."""
    gaps = ([40 + own, own, 761 - 2 * own] for own in (70, 50, 40))
    old = sums_of(
        np.stack([np.roll(np.repeat([1, -1, 0], k), 267 * p) for p, k in enumerate(gaps)], 1)
    )
    new = sums_of(np.zeros((801, 3), dtype=int))
    found = model_difference(old, new, ad)
    assert found.old == pytest.approx(40 / 801)
    changes = [side[..., 0] - side[..., 2] for side in (old, new)]
    assert found.p_value == pytest.approx(sum_bound(*changes), rel=1e-9)
    assert found.p_value < 1e-4
    holes = old.copy()
    holes[400, 0] = [0, 0, 1, 1, 0, 0]
    assert model_difference(holes, new, ad).p_value == pytest.approx(80 / 10_000)


@pytest.mark.parametrize("row", list(REFERENCE.itertuples()), ids=lambda row: f"{row.n} items")
def test_ads_p_value_is_that_of_r(row):
    sides = []
    for text in ((row.old_up, row.old_down), (row.new_up, row.new_down)):
        up, down = (np.array(own.split(), dtype=int) for own in text)
        place = (np.arange(row.n)[:, None] * 7 + 13 * np.arange(1, 4)) % 31
        sides.append(sums_of((place < up) * 1 - ((place >= up) & (place < up + down))))
    assert model_difference(*sides, ad).p_value == pytest.approx(row.p_value, rel=1e-9)


def test_sums_give_no_evidence_for_the_signs_of_a_single_pair():
    rng = np.random.default_rng(1)
    old, new = (sums_of(rng.choice([-1, 0, 1], (400, 1), p=p)) for p in ([0.1, 0.78, 0.12],) * 2)
    changes = [(side[..., 0] - side[..., 2])[:, 0] for side in (old, new)]
    most = max(float(sign_flip_test(changes[1] - sign * changes[0]).p_value) for sign in (1, -1))
    assert model_difference(old, new, ad).p_value == pytest.approx(min(most / 0.99, 1))


def test_few_items_are_judged_by_their_number():
    old = sums_of(np.zeros((800, 1), dtype=int))
    for k, mid_p in ((3, 0.125), (4, 0.0625), (6, 0.015625)):
        new = sums_of(np.repeat([1, 0], [k, 800 - k])[:, None])
        found = model_difference(old, new, ad)
        assert found.p_value == pytest.approx(mid_p / 0.99)
        hole = old.copy()
        hole[700, 0] = [0, 0, 1, 1, 0, 0]
        assert model_difference(hole, new, accuracy).p_value == pytest.approx(2 * mid_p, rel=0.2)


def test_two_differences_of_0_leave_the_interval_open():
    noisy = sums_of(np.repeat([1, -1, 0], [50, 50, 700])[:, None])
    calm = sums_of(np.zeros((800, 1), dtype=int))
    found = model_difference(noisy, calm, ad)
    assert found.estimate == 0
    assert found.p_value == 1
    assert found.ci_low < -0.01


@pytest.mark.parametrize("gaps", [(0.02, 0.02), (0.02, -0.02), (0.0, 0.01)])
def test_missing_answer_barely_moves_ads_test_if_signs_are_unclear(gaps):
    """Answers are swapped, each with the sign of its model and not of its place."""
    rng = np.random.default_rng(5)
    old, new = (
        sums_of(rng.choice([-1, 0, 1], (400, 2), p=[0.15 - gap, 0.7, 0.15 + gap])) for gap in gaps
    )
    exact = model_difference(old, new, ad)
    assert "over 16 signs" in exact.test
    hole = old.copy()
    hole[0, 0] = [0, 0, 1, 1, 0, 0]
    found = model_difference(hole, new, ad)
    assert "9999 random swaps, over 16 signs" in found.test
    assert found.p_value == pytest.approx(exact.p_value, abs=0.03)


def test_ads_p_value_can_be_arbitrarily_small():
    """200 of 800 items change from a difference of 40 points to none: the distribution is exact."""
    old = sums_of(np.repeat([1, -1, 0], [360, 40, 400])[:, None])
    new = sums_of(np.repeat([1, -1, 0], [40, 40, 720])[:, None])
    found = model_difference(old, new, ad)
    assert 0 < found.p_value < 1e-8
    swaps = float(mcnemar(n10=320, n01=0).p_value)
    # The sign of the new model's difference, 0, is open: both choices are equally hard to reject.
    assert found.p_value == pytest.approx(swaps / 0.99, rel=1e-9)


def test_ads_p_value_is_limited_by_evidence_for_the_signs():
    """The signs are opposite and barely shown: equal sizes cannot be excluded."""
    old = sums_of(np.repeat([1, 0], [6, 794])[:, None])
    new = sums_of(np.repeat([0, -1], [700, 100])[:, None])
    found = model_difference(old, new, ad)
    assert found.estimate == pytest.approx(94 / 800)
    assert found.p_value < 1e-10
    same = sums_of(np.repeat([0, -1], [794, 6])[:, None])
    assert model_difference(old, same, ad).p_value > 0.9


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 30])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_interval_excludes_zero_only_if_the_test_rejects(figure, n, share):
    fair = np.array([[[1, 1, 1, 1, 1, 1]]])
    unfair = np.array([[[1, 1, 0, 1, 0, 1]]])
    changed = round(share * n)
    old = np.repeat(fair, n, axis=0)
    new = np.concatenate([np.repeat(unfair, changed, axis=0), old[changed:]])
    found = model_difference(old, new, figure)
    if not found.ci_low <= 0 <= found.ci_high:
        assert found.p_value <= 0.05
    if n <= 4:
        assert (found.ci_low, found.ci_high) == (-1, 1)
        assert found.method.startswith("none")


def test_random_swaps_report_their_smallest_p_value():
    holes = OLD.copy()
    holes[0, 0] = [0, 0, 1, 1, 0, 0]
    worse = holes.copy()
    worse[:200, 0, [2, 4]] = 0
    found = model_difference(holes, worse, accuracy, n_resamples=199)
    assert found.p_value == pytest.approx(1 / 200)
    assert "p ≤ 1/200, their floor" in found.test


def drawn(rng: np.random.Generator, n: int, gaps: list[float]) -> np.ndarray:
    """Draw items with 20% discordant answers and these gaps."""
    columns = [rng.choice([-1, 0, 1], n, p=[0.1 - gap / 2, 0.8, 0.1 + gap / 2]) for gap in gaps]
    return sums_of(np.stack(columns, axis=1))


@pytest.mark.parametrize("seed", range(8))
def test_bound_is_not_below_the_enumeration(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    old = drawn(rng, 400, [0.02, -0.02])
    new = drawn(rng, 400, [0.12, 0.16])
    enumerated = model_difference(old, new, ad)
    monkeypatch.setattr(model_differences, "MOST_CHOICES", 1)
    bounded = model_difference(old, new, ad)
    assert "bounded over the signs" in bounded.test
    # The swaps are exact there, and normal here.
    assert bounded.p_value >= 0.9 * enumerated.p_value
    assert bounded.ci_low <= enumerated.ci_low + 0.005
    assert bounded.ci_high >= enumerated.ci_high - 0.005


def test_twelve_groups_are_compared_at_once():
    rng = np.random.default_rng(1)
    old, new = drawn(rng, 801, [0.0] * 66), drawn(rng, 801, [0.15] * 66)
    found = model_difference(old, new, ad)
    assert found.p_value < 0.001
    assert 0 < found.ci_low < found.estimate < found.ci_high
    assert model_difference(old, old, ad).p_value == 1


def test_level_holds_for_many_pairs():
    rng = np.random.default_rng(2)
    p = [
        model_p_values([drawn(rng, 200, [gap] * 6) for gap in (0.04, -0.04)], ad)[0]
        for _ in range(40)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.1


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("figure", [accuracy, cfr])
def test_few_changes_in_one_direction_leave_room_for_the_other(figure, missing):
    one, right = np.ones(60, dtype=np.int64), (np.arange(60) < 45).astype(np.int64)
    old = np.stack([right, one, right, one, one, one], axis=-1)[:, None]
    new = old.copy()
    # Group b's answer to three items changes from right to wrong.
    new[:3, 0, [2, 4]] = 0
    if missing:
        # Both models lack the pair of these items.
        old[50:], new[50:] = 0, 0
    found = model_difference(old, new, figure)
    assert found.p_value > 0.1
    assert found.ci_low < found.estimate < 0 < found.ci_high


@pytest.mark.parametrize("figure", [accuracy, cfr, ad])
def test_several_samples_leave_room_for_rare_items(figure):
    rng, samples = np.random.default_rng(4), 20
    old, new = (
        np.stack([samples * a, n, samples * b, n, same, n], axis=-1)[:, None]
        for a, b in rng.binomial(samples, 0.99, (2, 2, 40))
        for n in [np.full(40, samples**2)]
        for same in [a * b + (samples - a) * (samples - b)]
    )
    without = model_difference(old, new, figure)
    found = model_difference(old, new, figure, units=40)
    # Of 40 more items, two could change in all samples.
    assert -2 / 40 < without.ci_low <= 0 <= without.ci_high < 2 / 40
    assert found.ci_low < -2 / 40
    assert found.ci_high > 2 / 40
    assert found.method == f"{without.method} with room for rare differences"
    assert found.p_value == without.p_value
    # Limits that exclude 0 stay there, as the test does.
    new[:20, :, [2, 4]] = 0
    without = model_difference(old, new, figure)
    found = model_difference(old, new, figure, units=40)
    assert found.p_value < 0.05
    stays = "ci_low" if found.estimate > 0 else "ci_high"
    assert getattr(found, stays) == getattr(without, stays) != 0
