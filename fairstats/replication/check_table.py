"""Check whether published figures of paired answers can all be true, as GRIM does for means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.paths import AnyPath
from fairstats._lib.result_objects import FloatArray
from fairstats.inference._checks import check_choice, check_whole
from fairstats.inference.effect_sizes import arcsine
from fairstats.inference.mcnemar import McNemarMethod
from fairstats.replication.possible_tables import MOST_LISTED, p_values
from fairstats.replication.printed_figures import (
    MAX_DECIMALS,
    MAX_PAIRS,
    SHARES,
    PrintedRow,
    Rounding,
    read_rows,
)
from fairstats.replication.table_readings import (
    LAST,
    ROUNDINGS,
    TESTS,
    Change,
    Judgement,
    Row,
    judge,
    smallest_change,
)

#: By default, this many missing answers per group are tried, or a tenth of n if that is fewer.
MOST_MISSING, MOST_TRIED = 40, 200
_COUNTS = ("correct_a", "correct_b", "n_same", "n11", "n10", "n01", "n00_same", "n00_different")
_ANSWERED = ("n_a", "n_b", "n_both")
_FRAME_COLUMNS = ("row", "label", "n", "verdict", *_COUNTS, *_ANSWERED, "note")


@dataclass(frozen=True)
class CheckedRow:
    """The result for one row of a published table.

    Attributes
    ----------
    row : int
        The row, from 1.
    cells : mapping of str to str
        The cells that are not figures, such as the model's name.
    figures : mapping of str to str
        The published figures, by metric.
    n : int
        The number of pairs.
    most_missing : int
        The number of missing answers per group up to which the search went.
    judgement : Judgement
        The verdict, the readings that explain the row, and the counts that all tables share.
    mirror_images : tuple of str
        What may be exchanged in a table without a change of any figure: ``"groups"``, ``"right and
        wrong answers"``. Counts are then those of the image with group a, and then with right
        answers, in front.
    change : tuple of Change
        For a row that is impossible without missing answers, the smallest change of one figure that
        makes it possible; several if equally small.
    power : tuple of PassRate
        How often a random figure would pass, figure by figure.
    """

    row: int
    cells: Mapping[str, str]
    figures: Mapping[str, str]
    n: int
    most_missing: int
    judgement: Judgement
    mirror_images: tuple[str, ...]
    change: tuple[Change, ...]
    power: tuple[PassRate, ...]

    @property
    def verdict(self) -> str:
        """Return impossible, possible, unique or possible_with_missing."""
        return self.judgement.verdict

    @property
    def label(self) -> str:
        """Return the cells that are not figures, joined."""
        return ", ".join(text for text in self.cells.values() if text)

    @property
    def counts(self) -> dict[str, int | None]:
        """Return the counts that all tables share, up to mirror images; None if they differ."""
        found = self.judgement
        correct = found.correct or (None, None)
        discordant = found.discordant or (None, None)
        table = found.table or (None, *discordant, None, None)
        return dict(zip(_COUNTS, (*correct, found.same, *table), strict=True))

    @property
    def note(self) -> str:
        """Return the result in words."""
        return "; ".join(_notes(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        return {
            "row": self.row,
            "cells": dict(self.cells),
            "figures": dict(self.figures),
            "n": self.n,
            "verdict": self.verdict,
            **self.counts,
            "mirror_images": list(self.mirror_images),
            "readings": [vars(reading) for reading in self.judgement.readings],
            "missing": [dict(zip(_ANSWERED, one, strict=True)) for one in self.judgement.missing],
            "most_missing": self.most_missing,
            "change": [vars(change) for change in self.change],
            "power": [vars(rate) for rate in self.power],
            "note": self.note,
        }


@dataclass(frozen=True)
class CheckedTable:
    """The result of `check_table`."""

    rows: tuple[CheckedRow, ...]

    def power_lines(self) -> list[str]:
        """Return, for each kind of figure, a sentence on how often a random one passes."""
        rates = dict.fromkeys((rate, row.n) for row in self.rows for rate in row.power)
        lines = [
            f"A random {rate.figure} with {_count(rate.decimals, 'decimal')} is possible for "
            f"n = {n} with probability {_probability(rate.rounded)} if rounded, "
            f"{_probability(rate.rounded_or_truncated)} if rounded or truncated."
            for rate, n in rates
        ]
        return [*lines, "A pass does not prove that figures are right."]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per row of the table: verdict, shared counts, and a note in words."""
        records = []
        for row in self.rows:
            missing = (row.judgement.missing or ((None, None, None),))[0]
            answered = dict(zip(_ANSWERED, missing, strict=True))
            records.append({**vars(row), **row.counts, **answered, "verdict": row.verdict})
            records[-1] |= {"label": row.label, "note": row.note}
        table = pd.DataFrame(records, columns=list(_FRAME_COLUMNS))
        text = ("label", "verdict", "note")
        return table.astype({name: "str" if name in text else "Int64" for name in table})


def check_table(
    table: AnyPath | pd.DataFrame,
    *,
    n: int | None = None,
    columns: Mapping[str, str] | None = None,
    test: McNemarMethod | None = None,
    rounding: Rounding | None = None,
    max_missing: int | None = None,
) -> CheckedTable:
    """Check whether the published figures of each row can all be true of n pairs of answers.

    Each row is compared with all tables (n11, n10, n01, n00 with the same letter, n00 with
    different letters) of whole numbers that sum to n. The search is complete.

    Parameters
    ----------
    table : path of a CSV file, or pandas.DataFrame of texts
        One row per pair of groups. Decimals are counted in the text, so zeros at the end matter.
        Columns are recognised by name: ``accuracy_a``, ``accuracy_b``, ``ad`` (unsigned),
        ``accuracy_difference`` (a − b), ``cfr``, ``cohens_h`` (a − b if signed), ``p`` (McNemar),
        ``odds_ratio`` (n10 / n01) and ``n``, also by usual other names such as ``acc_a`` or
        ``mcnemar_p``. Cells may be percentages, ``84.2%``; in a column named ``…_percent`` or
        ``…_points`` they are. Next to percentages, a difference without a unit is refused, unless
        `columns` names it. A cell may be a bound, ``<0.0001``, or empty.
    n : int, optional
        The number of pairs, from 1 to 20,000, for rows without their own.
    columns : mapping of str to str, optional
        Metrics of further columns; ``"ignore"`` for a column that is not a figure.
    test : {"exact", "midp", "asymptotic", "asymptotic_cc"}, optional
        The version of McNemar's test (see `mcnemar`). By default, each is tried. For
        ``asymptotic_cc`` with n10 = n01, p is 1 as in R, or corrected too, as in statsmodels.
    rounding : {"half_up", "half_even", "half_either", "truncated", "truncated_either"}, optional
        How figures were rounded. ``half_either``: an exact tie may go either way, as in most
        software, which rounds the nearest binary number. ``truncated_either``: for the same reason,
        an exact figure may be cut one unit too low. By default, each is tried, this one last.
    max_missing : int, optional
        The highest number of missing answers in a group to try. By default, a tenth of n, at most
        40.

    Returns
    -------
    CheckedTable
        The verdict of a row is ``unique`` if exactly one table gives all figures, up to the
        `mirror_images` that no figure distinguishes; ``possible`` if several do;
        ``possible_with_missing`` if none does, but numbers of missing answers exist under which the
        figures are possible; ``impossible`` if not.

    Raises
    ------
    InputError
        If the file cannot be read, a column is unknown or duplicate, a row has no figure or no n,
        or a cell is not a figure in its range; with row, column and value.
    ValueError
        If an option is unknown.

    Notes
    -----
    One way of rounding and one version of the test must explain all figures of a row. A row that
    needs two is impossible, except for ties under ``half_either``. If nothing else explains AD, a
    difference or h, they may have been computed from the published accuracies, and the note says
    so: 83.3% and 71.7% of 120 are 11.6 points apart as published, 11.7 as counts.

    With missing answers, the policy is ``available``: CFR, p and odds ratio are of the pairs with
    both answers, and accuracies, AD and h of each group's answers. The fewest missing answers are
    reported. More may be true.

    A sign of h is used only if a cell of its column has a minus sign.

    A pass does not prove that figures are right. `PassRate` gives the probability that a random
    figure passes. With n = 801, it is .08 for a share with four decimals, and 1 with two. With
    missing answers nearly every row is possible, if enough of them are tried.

    References
    ----------
    Brown & Heathers (2017), Social Psychological and Personality Science 8:363-369 (GRIM). Nuijten,
    Hartgerink, van Assen, Epskamp & Wicherts (2016), Behavior Research Methods 48:1205-1226
    (statcheck). Both check figures of a paper against each other, without its data. This search was
    checked against enumeration of all tables for n ≤ 30.

    Examples
    --------
    >>> table = pd.DataFrame({"cfr": ["0.8752", "0.8755"], "ad": ["0.0911", "0.0911"],
    ...                       "cohens_h": ["0.2970", "0.2970"]})
    >>> checked = check_table(table, n=801)
    >>> checked.to_frame()[["verdict", "correct_a", "correct_b"]]
                     verdict  correct_a  correct_b
    0               possible        749        676
    1  possible_with_missing       <NA>       <NA>
    >>> checked.rows[1].change[0].changed
    '0.8752'
    """
    tests = TESTS if test is None else (check_choice("test", test, TESTS),)
    known = (*ROUNDINGS, LAST)
    roundings = ROUNDINGS if rounding is None else (check_choice("rounding", rounding, known),)
    if n is not None:
        n = check_whole("n", n, most=MAX_PAIRS, example=801)
    if max_missing is not None:
        check_whole("max_missing", max_missing, least=0, most=MOST_TRIED, example=MOST_MISSING)
    rows = read_rows(table, n=n, columns=columns or {})
    return CheckedTable(tuple(_checked(row, tests, roundings, max_missing) for row in rows))


def _checked(
    printed: PrintedRow,
    tests: Sequence[McNemarMethod],
    roundings: Sequence[Rounding],
    max_missing: int | None,
) -> CheckedRow:
    row = Row(printed.figures, printed.n, printed.signed_h, roundings, tests)
    missing = min(MOST_MISSING, -(-printed.n // 10)) if max_missing is None else max_missing
    found = judge(row, missing)
    possible = found.verdict in ("possible", "unique")
    rates = (
        pass_rate(metric, -figure.exponent, printed.n, tests[0])
        for metric, figure in printed.figures.items()
        if figure.relation == "="
    )
    return CheckedRow(
        row=printed.row,
        cells=printed.cells,
        figures={metric: figure.text for metric, figure in printed.figures.items()},
        n=printed.n,
        most_missing=missing,
        judgement=found,
        mirror_images=row.mirror_images if possible else (),
        change=() if possible else smallest_change(row),
        power=tuple(rate for rate in rates if rate is not None),
    )


def _probability(share: float) -> str:
    return "1" if share == 1 else f"{share:.2g}"


def _notes(row: CheckedRow) -> Iterator[str]:
    found, counts = row.judgement, row.counts
    if found.verdict == "unique":
        cells = ("n11", "n10", "n01", "n00_same", "n00_different")
        yield ", ".join(f"{name} {counts[name]}" for name in cells)
    if found.correct:
        yield f"{found.correct[0]} and {found.correct[1]} of {row.n} correct"
    if found.same is not None and found.verdict == "possible":
        yield f"{found.same} equal"
    if row.mirror_images and (found.correct or found.table):
        yield f"the figures are the same with {' or '.join(row.mirror_images)} exchanged"
    ways = {reading.rounding for reading in found.readings}
    if ways and ways <= {"truncated", LAST}:
        yield f"possible if figures were cut{' by software' * (LAST in ways)}, not rounded"
    if found.verdict == "possible_with_missing":
        numbers = (f"{a} and {b} answers, {m} pairs" for a, b, m in found.missing[:3])
        yield f"possible with {' or '.join(numbers)}"
    if found.verdict == "impossible":
        yield f"impossible with up to {_count(row.most_missing, 'missing answer')} per group"
    if found.computed:
        names = " and ".join(found.computed)
        yield f"possible if the authors computed {names} from the published accuracies"
    if row.change:
        changes = (f"{c.figure} {c.published} → {c.changed}" for c in row.change[:4])
        yield f"with all answers, the smallest change is {' or '.join(changes)}"
    elif found.verdict in ("impossible", "possible_with_missing"):
        yield "with all answers, no change of one figure suffices"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


@dataclass(frozen=True)
class PassRate:
    """The probability that a random figure is possible for n, each without the row's others.

    The random figure is uniform over all figures with these decimals in its range.

    Attributes
    ----------
    figure : str
        The metric.
    decimals : int
        Its decimals; those of the share, for a percentage.
    rounded : float
        The probability that it is the rounded value of a table.
    rounded_or_truncated : float
        The probability that it is the rounded or truncated value of a table.
    """

    figure: str
    decimals: int
    rounded: float
    rounded_or_truncated: float


@cache
def pass_rate(metric: str, decimals: int, n: int, test: McNemarMethod = "exact") -> PassRate | None:
    """Compute how often a random figure passes; None for an odds ratio, and for h and p at large n.

    An odds ratio has no largest value, so that no share of all can be given.

    Examples
    --------
    >>> round(pass_rate("cfr", 4, 801).rounded, 3), pass_rate("cfr", 2, 801).rounded
    (0.08, 1.0)
    """
    values = _values(metric, n, test)
    if values is None or not 0 <= decimals <= MAX_DECIMALS:
        return None
    scaled = values * 10.0**decimals
    # Shares are exact to far below a tie; a tie may go either way.
    nearest = np.r_[np.floor(scaled + 0.5 + 1e-9), np.ceil(scaled - 0.5 - 1e-9)]
    largest = math.pi if metric == "cohens_h" else 1.0
    number = math.floor(largest * 10**decimals + 0.5) + 1
    if metric == "accuracy_difference":
        number = 2 * number - 1
    rounded = len(np.unique(nearest))
    either = len(np.unique(np.r_[nearest, np.trunc(scaled + np.copysign(1e-9, scaled))]))
    return PassRate(metric, decimals, rounded / number, either / number)


def _values(metric: str, n: int, test: McNemarMethod) -> FloatArray | None:
    """Return every value of a figure alone; None if they are too many."""
    if metric in SHARES:
        low = -n if metric == "accuracy_difference" else 0
        return np.arange(low, n + 1) / n
    if metric == "odds_ratio" or n > MOST_LISTED:
        return None
    if metric == "p":
        values = np.unique(p_values(n, test))
        return values[~np.isnan(values)]
    angle = arcsine(np.arange(n + 1) / n)
    return np.unique(np.abs(angle[:, None] - angle))
