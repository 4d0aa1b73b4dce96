"""The checker of published tables: compared with enumeration of every table, and on real ones."""

from __future__ import annotations

import math
import time
from decimal import ROUND_DOWN, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats import check_table
from fairstats.replication.check_table import pass_rate
from fairstats.replication.table_readings import LAST, ROUNDINGS, TESTS

MODES = {
    "half_up": (ROUND_HALF_UP,),
    "half_even": (ROUND_HALF_EVEN,),
    "half_either": (ROUND_HALF_UP, ROUND_HALF_DOWN),
    "truncated": (ROUND_DOWN,),
    LAST: (ROUND_DOWN,),
}
MARGINAL = ("accuracy_a", "accuracy_b", "ad", "accuracy_difference", "cohens_h")
FIGURES = (*MARGINAL, "cfr", "p", "odds_ratio")
NAMES = ("n11", "n10", "n01", "n00_same", "n00_different")


@cache
def tables_of(n: int) -> list[tuple[int, ...]]:
    """Every table of n pairs."""
    return [
        (a, b, c, d, n - a - b - c - d)
        for a in range(n + 1)
        for b in range(n + 1 - a)
        for c in range(n + 1 - a - b)
        for d in range(n + 1 - a - b - c)
    ]


@cache
def exact_p(n10: int, n01: int, test: str) -> Fraction | float | tuple[Fraction | float, ...]:
    """McNemar's p, by binomial coefficients or the error function; several if software differs."""
    n, fewer = n10 + n01, min(n10, n01)
    if n10 == n01:
        # statsmodels and mlxtend correct balanced counts too, R does not.
        corrected = (math.erfc(1 / math.sqrt(2 * n)),) if n and test == "asymptotic_cc" else ()
        return (Fraction(1), *corrected) if corrected else Fraction(1)
    if test in ("exact", "midp"):
        tail = sum(math.comb(n, i) for i in range(fewer + 1))
        p = Fraction(2 * tail, 2**n)
        return min(p - (Fraction(math.comb(n, fewer), 2**n) if test == "midp" else 0), Fraction(1))
    distance = abs(n10 - n01) - (test == "asymptotic_cc")
    return math.erfc(distance / math.sqrt(2 * n))


@cache
def cohens_h(correct_a: int, n_a: int, correct_b: int, n_b: int) -> float:
    if correct_a * n_b == correct_b * n_a:
        return 0.0
    return 2 * math.asin(math.sqrt(correct_a / n_a)) - 2 * math.asin(math.sqrt(correct_b / n_b))


def value(name: str, table: tuple[int, ...], test: str, unpaired=(0, 0, 0, 0), signed=False):
    """A figure of a table, as a fraction if it is one; None if there is no such figure.

    `unpaired` has the right and wrong answers of group a without a partner, and those of group b.
    """
    n11, n10, n01, same, _ = table
    m = sum(table)
    n_a, n_b = m + sum(unpaired[:2]), m + sum(unpaired[2:])
    a, b = n11 + n10 + unpaired[0], n11 + n01 + unpaired[2]
    if name == "accuracy_a":
        return Fraction(a, n_a)
    if name == "accuracy_b":
        return Fraction(b, n_b)
    if name in ("ad", "accuracy_difference"):
        difference = Fraction(a, n_a) - Fraction(b, n_b)
        return abs(difference) if name == "ad" else difference
    if name == "cohens_h":
        h = cohens_h(a, n_a, b, n_b)
        return h if signed else abs(h)
    if name == "cfr":
        return Fraction(n11 + same, m)
    if name == "p":
        return exact_p(n10, n01, test)
    return Fraction(n10, n01) if n01 else None


@cache
def published(value, decimals: int, rounding: str) -> frozenset[Decimal]:
    """What a value may be published as."""
    if isinstance(value, tuple):
        return frozenset().union(*(published(one, decimals, rounding) for one in value))
    if isinstance(value, Fraction):
        # Scaled, so that no division is inexact: compare 2x with whole numbers.
        twice = abs(value) * 2 * 10**decimals
        # A digit after the tie, which only tells above from below.
        near = Decimal(math.floor(twice)) + (Decimal("0.5") if twice.denominator > 1 else 0)
        scaled = near / 2 * (-1 if value < 0 else 1)
    else:
        scaled = Decimal(value) * 10**decimals
    units = {scaled.quantize(Decimal(1), mode) for mode in MODES[rounding]}
    if rounding == LAST and scaled and scaled == round(scaled):
        units |= {scaled - (1 if scaled > 0 else -1)}
    return frozenset(one.scaleb(-decimals) + 0 for one in units)


@cache
def values_of(n: int, name: str, test: str, signed: bool) -> tuple[list, np.ndarray]:
    """The values of a figure, and the place among them of that of every table of n pairs."""
    places: dict = {}
    found = (value(name, table, test, signed=signed) for table in tables_of(n))
    place = [places.setdefault(one, len(places)) for one in found]
    return list(places), np.array(place)


def explaining(row: dict[str, str], n: int, roundings=ROUNDINGS, tests=TESTS):
    """Every reading and table that gives a row, by enumeration."""
    signed = "-" in row.get("cohens_h", "")
    for rounding, test in product(roundings, tests if "p" in row else (None,)):
        left = np.arange(len(tables_of(n)))
        for name, text in row.items():
            figure = Decimal(text)
            decimals = -figure.as_tuple().exponent
            values, place = values_of(n, name, test if name == "p" else "", signed)
            kinds, kind = np.unique(place[left], return_inverse=True)
            there = [
                values[k] is not None and figure in published(values[k], decimals, rounding)
                for k in kinds
            ]
            left = left[np.array(there, dtype=bool)[kind]]
        yield from ((rounding, test, tables_of(n)[place]) for place in left)


def images(table, given, signed=False):
    n11, n10, n01, same, different = table
    result = {table}
    if not {"accuracy_a", "accuracy_b"} & set(given):
        result.add((same + different, n10, n01, n11 - different, different))
    directed = {"accuracy_a", "accuracy_b", "accuracy_difference", "odds_ratio"}
    if not (directed | ({"cohens_h"} if signed else set())) & set(given):
        result |= {(a, c, b, d, e) for a, b, c, d, e in result}
    return result


def agree(row: dict[str, str], n: int) -> str:
    """Check a row against enumeration; return the verdict."""
    found = list(explaining(row, n)) or list(explaining(row, n, (LAST,)))
    checked = check_table(pd.DataFrame([row]), n=n, max_missing=0).rows[0]
    readings = {(one.rounding, one.test): one.n_tables for one in checked.judgement.readings}
    expected: dict = {}
    for rounding, test, _ in found:
        expected[rounding, test] = expected.get((rounding, test), 0) + 1
    assert readings == expected, row
    tables = {table for *_, table in found}
    if not tables:
        assert checked.verdict == "impossible", row
        return checked.verdict
    alike = images(next(iter(tables)), row, "-" in row.get("cohens_h", ""))
    assert checked.verdict == ("unique" if tables <= alike else "possible"), row
    counts = checked.counts
    if checked.verdict == "unique":
        assert tuple(counts[name] for name in NAMES) in tables
    if counts["n_same"] is not None:
        assert {table[0] + table[3] for table in tables} == {counts["n_same"]}
    correct = {(n11 + n10, n11 + n01) for n11, n10, n01, *_ in tables}
    if counts["correct_a"] is not None:
        assert (counts["correct_a"], counts["correct_b"]) in correct
        assert len(correct) <= 4
    else:
        assert len(correct) > 1
    return checked.verdict


def drawn_row(rng: np.random.Generator, n: int) -> dict[str, str]:
    """Figures of a random table, some of them changed by a few units of the last decimal."""
    table = tuple(int(count) for count in rng.multinomial(n, rng.dirichlet([1] * 5)))
    rounding, test = rng.choice(ROUNDINGS), str(rng.choice(TESTS))
    row = {}
    for name in rng.choice(FIGURES, size=rng.integers(1, 6), replace=False):
        decimals = int(rng.integers(1, 5))
        exact = value(str(name), table, test, signed=bool(rng.integers(2)))
        if exact is None:
            continue
        figure = min(published(exact, decimals, str(rounding)))
        if rng.random() < 0.15:
            figure += int(rng.integers(-2, 3)) * Decimal(1).scaleb(-decimals)
        if abs(figure) > {"cohens_h": Decimal("3.14"), "odds_ratio": 99}.get(str(name), 1):
            continue
        if figure < 0 and name not in ("cohens_h", "accuracy_difference"):
            continue
        row[str(name)] = f"{figure:f}"
    return row


@pytest.mark.parametrize(
    ("n", "rows"), [(1, 40), (2, 60), (4, 100), (8, 120), (10, 100), (16, 25), (30, 5)]
)
def test_verdicts_and_numbers_of_tables_equal_enumeration(n, rows):
    rng = np.random.default_rng(n)
    verdicts = [agree(row, n) for _ in range(rows) if (row := drawn_row(rng, n))]
    if 1 < n < 16:
        assert set(verdicts) == {"impossible", "possible", "unique"}


def test_one_rounding_must_explain_the_whole_row():
    # 1/8 is .12 or .13, and 5/8 is .62 or .63.
    row = {"accuracy_a": "0.12", "accuracy_b": "0.63"}
    found = check_table(pd.DataFrame([row]), n=8).rows[0].judgement.readings
    assert {one.rounding for one in found} == {"half_either"}
    for rounding in ("half_up", "half_even", "truncated"):
        checked = check_table(pd.DataFrame([row]), n=8, rounding=rounding, max_missing=0)
        assert checked.rows[0].verdict == "impossible"
    # No tie: .67 is 2/3 rounded and .33 is 1/3, but .66 is 2/3 cut off and .67 is not.
    for other, verdict in (("0.33", "possible"), ("0.34", "impossible")):
        row = {"accuracy_a": "0.67", "accuracy_b": other}
        assert check_table(pd.DataFrame([row]), n=3, max_missing=0).rows[0].verdict == verdict
    mixed = pd.DataFrame([{"accuracy_a": "0.66", "accuracy_b": "0.67"}])
    assert check_table(mixed, n=3, max_missing=0).rows[0].verdict == "impossible"


def test_figures_cut_by_software_are_possible_and_said_to_be_cut():
    # 0.74 - 0.54 is 0.19999999999999996 in binary numbers.
    figures = {"accuracy_a": 0.74, "accuracy_b": 0.54, "accuracy_difference": 0.74 - 0.54}
    row = {name: f"{math.trunc(x * 10**4) / 10**4:.4f}" for name, x in figures.items()}
    assert row["accuracy_difference"] == "0.1999"
    found = check_table(pd.DataFrame([row]), n=50, max_missing=0).rows[0]
    assert found.verdict == "possible"
    assert {one.rounding for one in found.judgement.readings} == {LAST}
    assert found.note.endswith("cut by software, not rounded")
    exact = check_table(pd.DataFrame([row | {"accuracy_difference": "0.2000"}]), n=50).rows[0]
    assert "cut" not in exact.note
    lower = check_table(
        pd.DataFrame([row | {"accuracy_difference": "0.1998"}]), n=50, max_missing=0
    )
    assert lower.rows[0].verdict == "impossible"
    cut = check_table(pd.DataFrame({"accuracy_a": ["0.66"]}), n=3, max_missing=0).rows[0]
    assert cut.note.endswith("possible if figures were cut, not rounded")
    # 14 and 15 of 23 answers: the mid-p of one pair is 0.4999999999999999.
    missing = pd.DataFrame([{"accuracy_a": "0.60", "accuracy_b": "0.65", "p": "0.49"}])
    assert check_table(missing, n=24).rows[0].verdict == "possible_with_missing"


def test_differences_of_published_accuracies_are_possible():
    # 100 and 86 of 120: 11.67 points apart, 11.6 as published.
    row = {"accuracy_a": "83.3%", "accuracy_b": "71.7%", "ad": "11.6%", "cohens_h": "0.282"}
    found = check_table(pd.DataFrame([row]), n=120).rows[0]
    assert found.verdict == "possible"
    assert (found.counts["correct_a"], found.counts["correct_b"]) == (100, 86)
    assert "possible if the authors computed ad from the published accuracies" in found.note
    both = check_table(pd.DataFrame([row | {"cohens_h": "0.280"}]), n=120).rows[0]
    assert both.judgement.computed == ("ad", "cohens_h")
    exact = check_table(pd.DataFrame([row | {"ad": "11.7%"}]), n=120).rows[0]
    assert exact.verdict == "possible"
    assert "authors" not in exact.note
    other = pd.DataFrame([row | {"ad": "11.5%"}])
    assert check_table(other, n=120, max_missing=0).rows[0].verdict == "impossible"


@pytest.mark.parametrize("n", [50, 1200])
def test_a_continuity_correction_of_balanced_counts_is_possible(n):
    # statsmodels' mcnemar(exact=False) corrects them to χ² = 1 / 20, R's mcnemar.test does not.
    row = {"ad": "0.0000", "odds_ratio": "1.0000", "p": "0.8231"}
    found = check_table(pd.DataFrame([row]), n=n, max_missing=0).rows[0]
    assert {one.test for one in found.judgement.readings} == {"asymptotic_cc"}
    assert found.judgement.discordant == (10, 10)
    for p, test in (("1.0000", "asymptotic_cc"), ("0.8231", "asymptotic"), ("0.8232", None)):
        table = pd.DataFrame([row | {"p": p}])
        verdict = check_table(table, n=n, test=test, max_missing=0).rows[0].verdict
        assert verdict == ("possible" if p == "1.0000" else "impossible")


def software_rows(n: int, decimals: int):
    """Both accuracies as Python prints them, from binary numbers."""
    for a, b in product(range(1, n + 1, 41), range(1, n + 1, 43)):
        yield {"accuracy_a": f"{a / n:.{decimals}f}", "accuracy_b": f"{b / n:.{decimals}f}"}


def test_figures_printed_by_software_are_never_impossible():
    table = pd.DataFrame(software_rows(800, 4))
    rows = check_table(table, n=800, max_missing=0).rows
    assert "impossible" not in {row.verdict for row in rows}
    # Ties make this more than a formality: one exact rule does not explain them all.
    for rounding in ("half_up", "half_even"):
        strict = check_table(table, n=800, max_missing=0, rounding=rounding).rows
        assert "impossible" in {row.verdict for row in strict}


def fits_with_missing(row, n, answered, rounding, test) -> bool:
    """Whether some answers of n_a, n_b and m pairs give a row, by enumeration."""
    n_a, n_b, m = answered
    figures = {name: Decimal(text) for name, text in row.items()}
    for table in tables_of(m):
        for a, b in product(range(n_a - m + 1), range(n_b - m + 1)):
            unpaired = (a, n_a - m - a, b, n_b - m - b)
            for name, figure in figures.items():
                exact = value(name, table, test, unpaired, "-" in row.get("cohens_h", ""))
                decimals = -figure.as_tuple().exponent
                if exact is None or figure not in published(exact, decimals, rounding):
                    break
            else:
                return True
    return False


def fewest_by_enumeration(row, n, most, rounding, test):
    for missing in range(1, 2 * most + 1):
        fits = []
        for n_a in range(n, n - most - 1, -1):
            n_b = 2 * n - missing - n_a
            if not n - most <= n_b <= n:
                continue
            for m in range(min(n_a, n_b), max(n_a + n_b - n, 1) - 1, -1):
                if fits_with_missing(row, n, (n_a, n_b, m), rounding, test):
                    fits.append((n_a, n_b, m))
                    break
        if fits:
            return fits
    return []


def test_missing_answers_equal_enumeration():
    rng, n, most = np.random.default_rng(5), 6, 2
    seen = {"impossible": 0, "possible_with_missing": 0}
    for _ in range(300):
        row = drawn_row(rng, int(rng.integers(3, 8)))
        rounding, test = str(rng.choice(ROUNDINGS)), str(rng.choice(TESTS))
        options = {"rounding": rounding, "test": test, "max_missing": most}
        if not row:
            continue
        checked = check_table(pd.DataFrame([row]), n=n, **options).rows[0]
        if checked.verdict not in seen or seen[checked.verdict] == 25:
            continue
        seen[checked.verdict] += 1
        expected = fewest_by_enumeration(row, n, most, rounding, test)
        assert sorted(checked.judgement.missing) == sorted(expected), (row, rounding, test)
    assert min(seen.values()) == 25


def with_missing(rng: np.random.Generator, n: int, most: int) -> dict[str, str]:
    """Figures of random answers to n items, some of them missing."""
    m = n - int(rng.integers(1, most + 1))
    table = tuple(int(count) for count in rng.multinomial(m, rng.dirichlet([3, 1, 1, 1, 1])))
    alone = rng.multinomial(int(rng.integers(n - m + 1)), rng.dirichlet([1] * 4))
    rounding, test = str(rng.choice(ROUNDINGS)), str(rng.choice(TESTS))
    row = {}
    for name in rng.choice(FIGURES, size=rng.integers(2, 6), replace=False):
        exact = value(str(name), table, test, tuple(map(int, alone)), signed=True)
        if exact is not None:
            row[str(name)] = f"{min(published(exact, int(rng.integers(2, 5)), rounding)):f}"
    return row


def test_figures_of_answers_with_missing_ones_are_never_impossible():
    rng, n, most = np.random.default_rng(7), 120, 12
    rows = [row for _ in range(60) if (row := with_missing(rng, n, most))]
    checked = check_table(pd.DataFrame(rows).fillna(""), n=n, max_missing=most).rows
    verdicts = [one.verdict for one in checked]
    assert "impossible" not in verdicts
    assert verdicts.count("possible_with_missing") > 15


@pytest.mark.parametrize(
    "row",
    [
        {"p": "0.01", "ad": "0.26"},
        {"p": "0.6", "accuracy_a": "0.9", "cfr": "0.5"},
        {"p": "0.35", "accuracy_a": "0.99", "accuracy_b": "0.92"},
        {"p": "0.02", "accuracy_b": "0.37", "cfr": "0.40", "cohens_h": "0.50"},
        {"p": "0.04", "accuracy_a": "0.55", "odds_ratio": "2.60"},
    ],
)
def test_coarse_figures_are_impossible_within_seconds(row):
    started = time.process_time()
    assert check_table(pd.DataFrame([row]), n=801).rows[0].verdict == "impossible"
    # Without bounds, each takes 20 s and more.
    assert time.process_time() - started < 8


def test_the_smallest_change_equals_enumeration():
    rng, n, seen = np.random.default_rng(6), 7, 0
    for _ in range(400):
        row = drawn_row(rng, int(rng.integers(4, 9)))
        rounding, test = str(rng.choice(ROUNDINGS)), str(rng.choice(TESTS))
        if not row or seen == 40:
            continue
        options = {"rounding": rounding, "test": test, "max_missing": 0}
        checked = check_table(pd.DataFrame([row]), n=n, **options).rows[0]
        if checked.verdict != "impossible":
            continue
        seen += 1
        found = {(one.figure, one.changed, abs(one.units)) for one in checked.change}
        if not found:
            # Without any one figure, the others are still impossible, or give no number.
            for name in row:
                rest = {key: text for key, text in row.items() if key != name}
                left = list(explaining(rest, n, (rounding,), (test,))) if rest else [1]
                assert name == "odds_ratio" or not left, row
            continue
        (units,) = {step for *_, step in found}
        assert all(row[one.figure] == one.published for one in checked.change)
        for step in range(1, min(units, 60) + 1):
            fits = set()
            for name, sign in product(row, (-1, 1)):
                figure = Decimal(row[name])
                moved = figure + sign * step * Decimal(1).scaleb(figure.as_tuple().exponent)
                # An unsigned figure cannot become negative, and a sign cannot disappear.
                if moved < 0 <= figure:
                    continue
                if figure < 0 <= moved:
                    continue
                changed = row | {name: f"{moved:f}"}
                if any(explaining(changed, n, (rounding,), (test,))):
                    fits.add((name, f"{moved:f}", step))
            assert fits == (found if step == units else set()), (row, rounding, test)
    assert seen == 40


@pytest.mark.parametrize("metric", ["cfr", "ad", "accuracy_difference", "cohens_h", "p"])
def test_pass_rates_equal_enumeration(metric):
    n = 12
    for decimals in (1, 2, 3):
        exact, _ = values_of(n, metric, "exact" if metric == "p" else "", signed=False)
        largest = math.pi if metric == "cohens_h" else 1
        number = round(largest * 10**decimals) + 1
        if metric == "accuracy_difference":
            number = 2 * number - 1
        rounded = set().union(*(published(one, decimals, "half_either") for one in exact))
        cut = set().union(*(published(one, decimals, "truncated") for one in exact))
        rate = pass_rate(metric, decimals, n)
        assert rate.rounded == pytest.approx(len(rounded) / number, abs=1e-12)
        assert rate.rounded_or_truncated == pytest.approx(len(rounded | cut) / number, abs=1e-12)
