"""AD of many pairs: the bound over the signs is never below the enumeration of every choice."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.comparisons import disparity_changes
from fairstats.comparisons.item_swaps import ad
from fairstats.comparisons.paired_differences import model_difference, model_p_value


def sums_of(changes: np.ndarray) -> np.ndarray:
    """Return the sums of items by pair, given n10 − n01 of each."""
    one = np.ones_like(changes)
    return np.stack(
        [(changes > 0).astype(int), one, (changes < 0).astype(int), one, changes == 0, one], axis=-1
    ).astype(np.int64)


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
    monkeypatch.setattr(disparity_changes, "MOST_CHOICES", 1)
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
        model_p_value(drawn(rng, 200, [0.04] * 6), drawn(rng, 200, [-0.04] * 6), ad)
        for _ in range(40)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.1
