"""The coverage of the intervals: the file compared with enumeration, and the methods page."""

from __future__ import annotations

from math import asin, comb, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.formatting import percent
from fairstats._lib.installation import resource
from fairstats.inference.differences import difference_interval
from fairstats.inference.effect_sizes import cohens_h_interval
from fairstats.inference.intervals import proportion_interval
from fairstats.report.about.methods import (
    ACCURACY,
    DEFAULTS,
    LEAST,
    MOST,
    at_largest_n,
    point_table,
    range_table,
)
from fairstats.report.page_output import prose
from tests.serving import benchmark_script

ROOT = Path(__file__).parents[1]
COVERAGE = pd.read_csv(resource("data", "coverage.csv"))


def value(column: str, **at: object) -> float:
    rows = COVERAGE
    for name, wanted in at.items():
        rows = rows[rows[name].isna() if wanted is None else rows[name] == wanted]
    assert len(rows) == 1, at
    return float(rows[column].iloc[0])


def summed(tables, probabilities, interval, truth):
    """Return coverage and mean width from a list of tables and one of their probabilities."""
    assert sum(probabilities) == pytest.approx(1, abs=1e-11)
    found = interval(*np.array(tables).T)
    coverage = width = 0.0
    limits = zip(probabilities, found.ci_low, found.ci_high, strict=True)
    for probability, low, high in limits:
        width += probability * (high - low)
        if low <= truth + 1e-12 and truth - 1e-12 <= high:
            coverage += probability
    return coverage, width


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "jeffreys"])
@pytest.mark.parametrize(("n", "p"), [(50, 0.5), (100, 0.99), (801, 0.998)])
def test_coverage_of_a_proportion(method, n, p):
    # Beyond n = 800 the powers of 1 − p underflow, but are negligible.
    probabilities = [comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1) if n - x < 100]
    tables = [(x, n) for x in range(n + 1) if n - x < 100]
    coverage, width = summed(
        tables, probabilities, lambda x, n: proportion_interval(x, n, method=method), p
    )
    at = {"estimand": "proportion", "method": method, "n": n, "p": p}
    assert value("coverage", **at) == pytest.approx(coverage, abs=1e-9)
    assert value("mean_width", **at) == pytest.approx(width, abs=1e-9)


@pytest.mark.parametrize("method", ["tango", "bonett_price", "wald", "bootstrap"])
@pytest.mark.parametrize(
    ("n", "p10", "p01"),
    [(50, 0.01, 0.002), (50, 0.1, 0.1), (50, 0.3, 0.1), (100, 0.05, 0.01), (801, 0.002, 0.002)],
)
def test_coverage_of_the_difference(method, n, p10, p01):
    tables, probabilities = [], []
    for n10 in range(n + 1):
        for n01 in range(n - n10 + 1):
            if n > 100 and n10 + n01 > 40:
                break
            concordant = n - n10 - n01
            ways = comb(n, n10) * comb(n - n10, n01)
            tables.append((0, n10, n01, concordant))
            probabilities.append(ways * p10**n10 * p01**n01 * (1 - p10 - p01) ** concordant)
    coverage, width = summed(
        tables, probabilities, lambda *cells: difference_interval(*cells, method=method), p10 - p01
    )
    at = {"estimand": "difference", "method": method, "n": n, "p10": p10, "p01": p01}
    assert value("coverage", **at) == pytest.approx(coverage, abs=1e-9)
    assert value("mean_width", **at) == pytest.approx(width, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "p10", "p01"), [(0.5, 0.05, 0.01), (0.75, 0.3, 0.1), (0.995, 0.002, 0.002)]
)
def test_coverage_of_methods_that_use_all_four_cells(p, p10, p01):
    n, p_a, p_b = 50, p + (p10 - p01) / 2, p - (p10 - p01) / 2
    p11 = p_a - p10
    p00 = 1 - p11 - p10 - p01
    tables, probabilities = [], []
    for n10 in range(n + 1):
        for n01 in range(n - n10 + 1):
            for n00 in range(n - n10 - n01 + 1):
                n11 = n - n10 - n01 - n00
                ways = comb(n, n10) * comb(n - n10, n01) * comb(n11 + n00, n00)
                tables.append((n11, n10, n01, n00))
                probabilities.append(ways * p11**n11 * p10**n10 * p01**n01 * p00**n00)
    h = 2 * asin(sqrt(p_a)) - 2 * asin(sqrt(p_b))
    for estimand, method, interval, truth in (
        ("difference", "newcombe", newcombe, p10 - p01),
        ("cohens_h", "arcsine", cohens_h_interval, h),
    ):
        coverage, width = summed(tables, probabilities, interval, truth)
        at = {"estimand": estimand, "method": method, "n": n, "p": p, "p10": p10, "p01": p01}
        assert value("coverage", **at) == pytest.approx(coverage, abs=1e-9)
        assert value("mean_width", **at) == pytest.approx(width, abs=1e-9)


def newcombe(*cells):
    return difference_interval(*cells, method="newcombe")


def test_the_script_writes_the_file_again(tmp_path, monkeypatch):
    script = benchmark_script("coverage")
    # Only the smallest n: all of them take a minute.
    assert sorted(set(COVERAGE["n"])) == sorted(script.SIZES)
    monkeypatch.setattr(script, "SIZES", (50,))
    script.main(["--out", str(tmp_path / "coverage.csv")])
    header, *rows = script.OUT.read_text(encoding="utf-8").splitlines()
    of_n = [row for row in rows if row.split(",")[2] == "50"]
    assert (tmp_path / "coverage.csv").read_text(encoding="utf-8").splitlines() == [header, *of_n]


@pytest.fixture(scope="module")
def text() -> str:
    """Return the note on the page, in one line."""
    return " ".join(prose("coverage").replace("\u00a0", " ").split())


def point(row: pd.Series) -> str:
    given = {name: row[name] for name in ("n", "p", "p10", "p01") if not pd.isna(row[name])}
    return ", ".join(f"{name} = {value:g}" for name, value in given.items())


def test_page_names_every_point_of_too_low_coverage(text):
    enough = points = 0
    for estimand, method in DEFAULTS.items():
        rows = COVERAGE[(COVERAGE["estimand"] == estimand) & (COVERAGE["method"] == method)]
        below, above = rows[rows["coverage"] < LEAST], rows[rows["coverage"] > MOST]
        enough, points = enough + len(rows) - len(below), points + len(rows)
        named = [f"{percent(r['coverage'])} at {point(r)}" for _, r in below.iterrows()]
        assert f"at {len(below)} of {len(rows)} points ({'; '.join(sorted(named))})" in text
        single = rows["p10"].isna().all()
        events = above["n"] * (1 - above["p"] if single else above["p10"] + above["p01"])
        assert f"above 97.5% at {len(above)} (all with at most {events.max():.3g} expected" in text
    assert f"at {enough} of {points} points" in text
    assert f"have {COVERAGE['n'].min()} to {COVERAGE['n'].max()} pairs" in text


def test_page_states_why_wald_and_bootstrap_are_not_defaults(text):
    for method in ("wald", "bootstrap"):
        rows = COVERAGE[COVERAGE["method"] == method]
        default = COVERAGE[COVERAGE["method"] == DEFAULTS["difference"]]
        assert rows["coverage"].min() < default["coverage"].min()
        worst = rows.loc[rows["coverage"].idxmin()]
        below = (rows["coverage"] < LEAST).sum()
        assert (
            f"down to {percent(worst['coverage'])} ({point(worst)}; below 94% at {below} of "
            f"{len(rows)} points)" in text
        )


def test_tables_have_every_method_and_point():
    ranges = range_table(COVERAGE).as_raw_html()
    methods = COVERAGE[["estimand", "method"]].drop_duplicates()
    assert ranges.count("gt_stub") >= len(methods)
    for _, rows in COVERAGE.groupby(["estimand", "method"]):
        assert percent(rows["coverage"].min()) in ranges
    assert ranges.count("(default)") == len(DEFAULTS)

    paired = at_largest_n(COVERAGE)
    assert len(paired) == COVERAGE[["p10", "p01"]].dropna().drop_duplicates().shape[0]
    assert paired.notna().all(axis=None)
    expected = value("coverage", method="bootstrap", n=801, p10=0.002, p01=0.002)
    assert paired.loc[(0.002, 0.002), ("difference", "bootstrap")] == expected
    expected = value("coverage", method="newcombe", n=801, p=ACCURACY, p10=0.3, p01=0.1)
    assert paired.loc[(0.3, 0.1), ("difference", "newcombe")] == expected
    points = point_table(COVERAGE).as_raw_html()
    assert all(percent(x) in points for x in paired.to_numpy().ravel())
