"""Honest sets are never blocked and seldom asked about, whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.screening.copied_answers import check_copying
from fairstats.screening.screen import checks_of
from tests.screening.honest_models import boards


def flags_of(**at) -> list[dict[str, str]]:
    """Return the flags of each honest set that has one, by check."""
    rng, found = np.random.default_rng(7), []
    for panel in boards(draws=4, candidates=5, rng=rng, **at):
        for sheet in panel.screened:
            made = [check(sheet, panel) for check in checks_of(panel.layout)]
            own = [finding for finding in made if finding is not None]
            adjusted = adjust_pvalues([finding.p_value for finding in own])
            flags = {f.check: f.flag(float(p)) for f, p in zip(own, adjusted, strict=True)}
            found.append({c: flag for c, flag in flags.items() if flag in ("look", "block")})
    return [one for one in found if one]


@pytest.mark.parametrize("models", [3, 6])
@pytest.mark.parametrize("accuracy", [(0.95, 0.98), (0.85, 0.92), (0.48, 0.55)])
def test_set_beside_much_better_or_worse_models_is_not_asked_about(models, accuracy):
    assert not flags_of(n=200, options=4, models=models, accuracy=accuracy, noise=0.0)


@pytest.mark.parametrize("options", [2, 5])
def test_noisy_set_is_not_asked_about(options):
    assert not flags_of(n=200, options=options, models=6, accuracy=(0.75, 0.85), noise=0.6)


@pytest.mark.parametrize("kind", ["decision", "level", "score"])
def test_sets_of_other_kinds_are_not_asked_about(kind):
    assert not flags_of(n=50, options=5, models=3, accuracy=(0.5, 0.9), noise=0.3, kind=kind)


def test_two_weak_models_beside_strong_ones_share_wrong_letters_honestly():
    """Strong models do not show which wrong letters are popular."""
    at = {"n": 801, "options": 5, "models": 6, "accuracy": (0.95, 0.98)}
    # In this draw of benchmarks/screening.py two of 20 sets were asked about.
    rng, flags = np.random.default_rng([2026, 95, 6, 801, 5, 0]), []
    for panel in boards(**at, noise=0.0, draws=4, candidates=5, rng=rng):
        for sheet in panel.screened:
            found = check_copying(sheet, panel)
            flags.append(found.flag(found.p_value))
    assert set(flags) == {"ok"}
