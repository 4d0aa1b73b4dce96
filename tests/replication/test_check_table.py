"""The checker of published tables: compared with enumeration of every table, and on real ones."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairstats import check_table
from fairstats.replication.table_readings import ROUNDINGS, TESTS

MODES = {
    "half_up": (ROUND_HALF_UP,),
    "half_even": (ROUND_HALF_EVEN,),
    "half_either": (ROUND_HALF_UP, ROUND_HALF_DOWN),
    "truncated": (ROUND_DOWN,),
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
def exact_p(n10: int, n01: int, test: str) -> Fraction | float:
    """McNemar's p, from binomial coefficients or the error function."""
    n, fewer = n10 + n01, min(n10, n01)
    if n10 == n01:
        return Fraction(1)
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
def published(value: Fraction | float, decimals: int, rounding: str) -> frozenset[Decimal]:
    """What a value may be published as."""
    if isinstance(value, Fraction):
        # Scaled, so that no division is inexact: compare 2x with whole numbers.
        twice = abs(value) * 2 * 10**decimals
        # A digit after the tie, which only tells above from below.
        near = Decimal(math.floor(twice)) + (Decimal("0.5") if twice.denominator > 1 else 0)
        scaled = near / 2 * (-1 if value < 0 else 1)
    else:
        scaled = Decimal(value) * 10**decimals
    units = {scaled.quantize(Decimal(1), mode) for mode in MODES[rounding]}
    return frozenset(one.scaleb(-decimals) + 0 for one in units)


@cache
def values_of(n: int, name: str, test: str, signed: bool) -> list:
    """A figure of every table of n pairs."""
    return [value(name, table, test, signed=signed) for table in tables_of(n)]


def explaining(row: dict[str, str], n: int, roundings=ROUNDINGS, tests=TESTS):
    """Every reading and table that gives a row, by enumeration."""
    signed = "-" in row.get("cohens_h", "")
    for rounding, test in product(roundings, tests if "p" in row else (None,)):
        left = np.arange(len(tables_of(n)))
        for name, text in row.items():
            figure = Decimal(text)
            decimals = -figure.as_tuple().exponent
            own = values_of(n, name, test if name == "p" else "", signed)
            there = {
                one: figure in published(one, decimals, rounding)
                for one in {own[place] for place in left} - {None}
            }
            left = [place for place in left if there.get(own[place], False)]
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
    found = list(explaining(row, n))
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
