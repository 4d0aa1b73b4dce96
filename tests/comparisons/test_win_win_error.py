"""The error rate of win-win verdicts: the script, its file and the table of the methods page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.formatting import number_word, percent
from fairstats._lib.installation import resource
from fairstats.report.about.methods import win_win_table
from fairstats.report.page_output import prose
from tests.serving import benchmark_script

ROOT = Path(__file__).parents[2]
ALPHA, ALL_THREE = 0.05, "accuracy, cfr, ad"
RATES = pd.read_csv(resource("data", "win_win_error.csv"))
FALSE = RATES[RATES["changed"] != ALL_THREE]
POWER = RATES[RATES["changed"] == ALL_THREE]


@pytest.fixture(scope="module")
def script():
    return benchmark_script("win_win_error")


def figures(cells):
    """Return twice the accuracy, CFR and AD, in thousandths."""
    n11, n10, n01, same, _ = cells
    return {"accuracy": 2 * n11 + n10 + n01, "cfr": 2 * (n11 + same), "ad": 2 * abs(n10 - n01)}


def test_declared_patterns_change_exactly_the_named_figures(script):
    old = figures(script.OLD)
    assert old == {"accuracy": 1500, "cfr": 1700, "ad": 160}
    for changed, cells in script.NEW.items():
        assert sum(cells) == 1000
        new = figures(cells)
        assert {name for name in old if new[name] != old[name]} == set(changed)
        better = {"accuracy": 1, "cfr": 1, "ad": -1}
        assert all(better[name] * (new[name] - old[name]) > 0 for name in changed)


@pytest.mark.parametrize("model", ["old", "new"])
def test_drawn_patterns_have_the_declared_shares(script, model):
    n, changed = 100_000, ("accuracy", "cfr")
    drawn = script.draw(np.random.default_rng(5), n, 1, script.NEW[changed])
    sums = drawn[:, 0, 0 if model == "old" else 1]
    cells = np.array(script.OLD if model == "old" else script.NEW[changed]) / 1000
    n11, n10, n01, same, _ = cells
    expected = np.array([n11 + n10, 1, n11 + n01, 1, n11 + same, 1])
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(sums.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


def test_answers_of_models_to_one_item_depend_on_each_other(script):
    drawn = script.draw(np.random.default_rng(5), 50_000, 1, script.OLD)[:, 0]
    flips = 1 - drawn[..., 4]
    assert np.corrcoef(flips[:, 0, 0], flips[:, 1, 0])[0, 1] == pytest.approx(0.3, abs=0.03)
    right = drawn[..., 0]
    assert np.corrcoef(right[:, 0, 0], right[:, 0, 1])[0, 1] > 0.2


def test_a_pair_with_one_large_p_value_gets_no_verdict_by_either_rule(script):
    rng = np.random.default_rng(1)
    sure = script.draw(rng, 801, 1, script.NEW["accuracy", "cfr", "ad"])
    same = sure.copy()
    same[:, :, 1] = same[:, :, 0]
    for sums, count in ((sure, 3), (same, 0)):
        table = pd.DataFrame(script._rows(sums, list(script.FIGURES)))
        found = script.verdicts(table.assign(benchmark_version="0"))
        assert {rule: wins.get("0", 0) for rule, wins in found.items()} == {
            "unadjusted": count,
            "holm": count,
        }


def test_the_script_writes_a_row_of_the_file_again(script, tmp_path, monkeypatch):
    # Power with 200 items: the cheapest row with verdicts in most trials.
    design, changed = script.DESIGNS[0], ("accuracy", "cfr", "ad")
    monkeypatch.setattr(script, "DESIGNS", (design,))
    monkeypatch.setattr(script, "NEW", {changed: script.NEW[changed]})
    script.main(["--out", str(tmp_path / "rates.csv")])
    header, row = (tmp_path / "rates.csv").read_text(encoding="utf-8").splitlines()
    lines = script.OUT.read_text(encoding="utf-8").splitlines()
    assert header == lines[0]
    assert row in lines


def test_the_file_has_every_design_with_enough_trials(script):
    expected = {
        (n, comparisons * script.PAIRS, ", ".join(changed) or "no figure")
        for n, comparisons in script.DESIGNS
        for changed in script.NEW
    }
    found = RATES[["items", "pairs", "changed"]].itertuples(index=False, name=None)
    assert set(found) == expected
    assert len(RATES) == len(expected)
    assert FALSE["trials"].min() >= 1000


def test_false_win_wins_are_within_the_level():
    error = 2 * np.sqrt(ALPHA * (1 - ALPHA) / FALSE["trials"])
    assert (FALSE["family_holm"] <= ALPHA + error).all()
    assert (FALSE["pair_unadjusted"] <= ALPHA + error).all()


def test_the_simulation_can_see_an_error_rate_above_the_level():
    many = FALSE[FALSE["pairs"] == FALSE["pairs"].max()]
    assert many["family_unadjusted_low"].max() > ALPHA


def test_limits_contain_the_rates():
    for unit in ("family", "pair"):
        for rule in ("unadjusted", "holm"):
            name = f"{unit}_{rule}"
            assert (RATES[f"{name}_low"] <= RATES[name]).all()
            assert (RATES[name] <= RATES[f"{name}_high"]).all()
            # No false win-win in the simulation is not a rate of exactly 0.
            assert (RATES[f"{name}_high"] > 0).all()


def test_too_few_trials_are_refused(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["--trials", "19"])
    assert "--trials must be a whole number of at least 20" in capsys.readouterr().err


def test_the_text_has_the_largest_rates_of_false_win_wins():
    text = " ".join(prose("win-win").split())
    assert text.startswith(f"In simulations at most {percent(FALSE['family_holm'].max())} of")
    worst = FALSE.groupby("pairs")["family_unadjusted"].max()
    rates = [f"{percent(rate)} with {number_word(pairs)}" for pairs, rate in worst.items()]
    assert f"{rates[0]} pairs and {rates[1]}." in text
    trials = [
        " or ".join(f"{n:,}" for n in sorted(own["trials"].unique(), reverse=True))
        for own in (FALSE, POWER)
    ]
    assert f"based on {trials[0]} simulated families, and power on {trials[1]}." in text


def test_table_has_every_rate():
    table = win_win_table(RATES).as_raw_html()
    for unit in ("family", "pair"):
        for rule in ("unadjusted", "holm"):
            assert all(percent(rate) in table for rate in RATES[f"{unit}_{rule}"])
    assert table.count("All three (power)") == len(POWER)
    assert "Accuracy and CFR" in table
    assert "CFR and AD" in table
    assert "No figure" in table
