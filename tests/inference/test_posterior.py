"""The posterior of a paired difference: edges, quadrature in R, coverage by enumeration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairstats.inference.posterior import PRIORS, paired_posterior

R = pd.read_csv(Path(__file__).parents[1] / "r" / "posterior.csv")
COUNT = st.integers(0, 100_000)


def test_posterior_without_pairs_is_the_prior():
    found = paired_posterior(0, 0, 0, 0, margin=0.02)
    assert (found.estimate, found.p_a_better, found.n) == (0, 0.5, 0)
    assert found.ci_low == pytest.approx(-found.ci_high)
    assert found.ci_high > 0.8
    assert 0 < found.p_within_margin < 0.1


@pytest.mark.parametrize("prior", PRIORS)
def test_pairs_without_discordance_are_not_certainly_equal(prior):
    found = paired_posterior([1, 20, 801], 0, 0, 0, margin=0.02, prior=prior)
    assert (found.p_a_better == 0.5).all()
    assert (found.ci_low < 0).all()
    assert (found.ci_high > 0).all()
    assert (np.diff(found.p_within_margin) > 0).all()
    # 20 equal pairs are compatible with differences of several points.
    assert found.p_within_margin[1] < 0.75


def test_single_pair_proves_nothing():
    found = paired_posterior(0, 1, 0, 0)
    assert found.ci_low < 0 < found.ci_high
    assert found.p_a_better == pytest.approx(stats.beta.sf(0.5, 1.5, 0.5))
    assert np.isnan(found.p_within_margin)


def test_posterior_agrees_with_quadrature_over_the_other_variable_in_r():
    assert len(R) == 30
    for prior, rows in R.groupby("prior"):
        cells = (rows[cell] for cell in ("n11", "n10", "n01", "n00"))
        found = paired_posterior(*cells, margin=0.02, prior=[prior] * 4)
        # R's quantile function of a Beta variable with a parameter of 1/4 has fewer digits.
        atol = 1e-9 if prior >= 0.5 else 1e-6
        for value, name in (
            (found.estimate, "mean"),
            (found.ci_low, "low"),
            (found.ci_high, "high"),
            (found.p_a_better, "better"),
            (found.p_within_margin, "within"),
        ):
            np.testing.assert_allclose(value, rows[name], rtol=0, atol=atol)


@settings(deadline=None, max_examples=25)
@given(n11=COUNT, n10=COUNT, n01=COUNT, n00=COUNT)
def test_exchanging_the_groups_exchanges_the_limits(n11, n10, n01, n00):
    one = paired_posterior(n11, n10, n01, n00, margin=0.05)
    other = paired_posterior(n00, n01, n10, n11, margin=0.05)
    np.testing.assert_allclose(
        [one.ci_low, one.ci_high], [-other.ci_high, -other.ci_low], atol=1e-9
    )
    assert one.p_within_margin == pytest.approx(other.p_within_margin, abs=1e-9)
    assert one.p_a_better + other.p_a_better == pytest.approx(1)
    assert -1 <= one.ci_low < one.estimate < one.ci_high <= 1


def test_many_pairs_in_one_direction_keep_their_digits():
    # The distribution of the direction is far narrower than that of the discordance.
    found = paired_posterior(0, 1_000_000, 3, 1_000_000, margin=0.5)
    law = stats.beta(1_000_000.5 + 3.5, 1_000_001)
    assert found.ci_low == pytest.approx(law.ppf(0.025), abs=5e-6)
    assert found.ci_high == pytest.approx(law.ppf(0.975), abs=5e-6)
    huge = paired_posterior(2**49, 2**49, 2**49, 5)
    assert huge.ci_high == pytest.approx(
        stats.norm.isf(0.025) * np.sqrt(2 / 3 / 3) * 2**-24.5, rel=0.01
    )


def test_interval_of_jeffreys_prior_covers_by_enumeration():
    """With 12 pairs the mean coverage is 97%; at a single law it can be below 95%."""
    n = 12
    grid = np.indices((n + 1,) * 3).reshape(3, -1)
    cells = np.array([*grid, n - grid.sum(axis=0)])[:, grid.sum(axis=0) <= n]
    found = paired_posterior(*cells)
    rng = np.random.default_rng(1)
    covered = []
    for law in [*rng.dirichlet([4, 1, 1, 2], 200), *rng.dirichlet([9, 1, 1, 1], 200)]:
        chance = stats.multinomial.pmf(cells.T, n, law)
        difference = law[1] - law[2]
        inside = (found.ci_low <= difference) & (difference <= found.ci_high)
        covered.append(chance[inside].sum())
    assert 0.95 < np.mean(covered) < 0.98
    assert np.min(covered) > 0.88


def test_posterior_takes_tables_and_a_margin_per_table():
    one = paired_posterior([[43, 9], [4, 44]], margin=[0.05, 0.1])
    assert one.p_within_margin.shape == (2,)
    assert one.p_within_margin[0] < one.p_within_margin[1]
    assert one.prior == "Dirichlet(0.5, 0.5, 0.5, 0.5)"


@pytest.mark.parametrize(
    ("prior", "named"),
    [("flat", "'flat' is unknown"), ([1, 1], "not a Dirichlet"), ([1, 1, 0, 1], "not a Dirichlet")],
)
def test_wrong_prior_is_refused(prior, named):
    with pytest.raises(ValueError, match=named):
        paired_posterior(43, 9, 4, 44, prior=prior)


def test_wrong_margin_and_alpha_are_refused():
    with pytest.raises(ValueError, match="margin=2 must be a share"):
        paired_posterior(43, 9, 4, 44, margin=2)
    with pytest.raises(ValueError, match="alpha=5"):
        paired_posterior(43, 9, 4, 44, alpha=5)
