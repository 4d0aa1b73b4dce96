"""The words and figures of each kind of answers, as pages show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import capital, decimal, listed, p_figure, points
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, DECISION, LEVEL, Kind, Words
from fairstats.report.page_output import filled

#: The nouns of benchmarks of choices that do not declare others.
_VIGNETTES = {
    "item": "vignette", "items": "vignettes", "subject": "patient", "subjects": "patients"
}  # fmt: skip

# Figures of levels and scores that are in the unit of the answers.
_IN_UNITS = ("signed_error", "absolute_error", "beyond_control")


def words_of(benchmark: Benchmark) -> Words:
    """Return the nouns of a benchmark; items with choices are vignettes of patients by default."""
    words, usual = benchmark.words, Words()
    if benchmark.kind != CHOICE:
        return words
    given = {name for name in _VIGNETTES if getattr(words, name) != getattr(usual, name)}
    return replace(words, **{name: noun for name, noun in _VIGNETTES.items() if name not in given})


def counted_items(benchmark: Benchmark, n: int, units: int | None = None) -> str:
    """Return a number of items with its noun, and the clusters that they are of, if declared.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> counted_items(load_benchmark("demo"), 24)
    '24 vignettes'
    """
    words = words_of(benchmark)
    text = f"{n:,} {words.item if n == 1 else words.items}"
    if benchmark.cluster is None or units is None:
        return text
    return f"{text} of {counted_clusters(benchmark, units)}"


def counted_clusters(benchmark: Benchmark, units: int) -> str:
    """Return a number of clusters with their noun; if it is not declared, with their column."""
    words = words_of(benchmark)
    column = f" ({benchmark.cluster})" * (words.clusters == Words().clusters)
    return f"{units:,} {words.cluster if units == 1 else words.clusters}{column}"


def unit_noun(benchmark: Benchmark) -> str:
    """Return what is independent: items, or the declared clusters."""
    words = words_of(benchmark)
    return words.items if benchmark.cluster is None else words.clusters


def difference_name(kind: Kind) -> str:
    """Return what is judged: ``"accuracy difference"``, ``"level difference"``."""
    return kind.difference.replace("_", " ")


def long_unit(kind: Kind) -> str:
    """Return the unit of differences, in full where it is first used."""
    return kind.unit if kind.numeric else "percentage points"


def test_name(kind: Kind) -> str:
    """Return the name of the test in a sentence."""
    return "the sign-flip test" if kind.numeric else "McNemar’s test"


def heading(kind: Kind) -> str:
    """Return the heading of a column of `plain`: ``"Accuracy, %"``, ``"Mean level"``."""
    return capital(kind.figure) if kind.numeric else f"{capital(kind.figure)}, %"


def scaled(kind: Kind, value: float) -> float:
    """Return a rate or a difference in the unit of a chart's axis."""
    return value if kind.numeric else 100 * value


def plain(kind: Kind, value: float) -> str:
    """Return a rate in percent, or a mean, without its unit; empty if unknown.

    Examples
    --------
    >>> from fairstats.benchmarks.kinds import KINDS
    >>> plain(KINDS["decision"], 0.2235), plain(KINDS["level"], 2.547)
    ('22.4', '2.55')
    """
    if math.isnan(value):
        return ""
    return decimal(value, 2) if kind.numeric else f"{100 * value:.1f}"


def signed_range(kind: Kind, low: float, high: float) -> str:
    """Return the limits of a difference, without their unit; empty if unknown."""
    return "" if math.isnan(low + high) else f"{kind.signed(low)} to {kind.signed(high)}"


def unsigned(kind: Kind, difference: float) -> str:
    """Return a difference without its sign and unit.

    Examples
    --------
    >>> from fairstats.benchmarks.kinds import KINDS
    >>> unsigned(KINDS["choice"], 0.0312), unsigned(KINDS["level"], -0.142)
    ('3.1', '0.14')
    """
    if kind.numeric and not math.isnan(difference):
        return f"{abs(difference):.2f}"
    return points(difference, signed=False)


def gap_name(kind: Kind) -> str:
    """Return the readers' name of the difference of two groups: ``"accuracy gap"``."""
    return "accuracy gap" if kind == CHOICE else difference_name(kind)


def noun(kind: Kind) -> str:
    """Return the noun that refers to the difference again: ``"gap"``."""
    return "gap" if kind == CHOICE else "difference"


def more_of(benchmark: Benchmark) -> str:
    """Return how the figure of a group with more differs, to follow a size with its unit.

    ``"more accurate"``, ``"higher"``, ``"higher (less urgent)"``.
    """
    if benchmark.kind == CHOICE:
        return "more accurate"
    return f"higher ({benchmark.higher})" if benchmark.higher else "higher"


def named_test(kind: Kind) -> str:
    """Return the readers' name of the test of no difference."""
    return "McNemar" if kind.test == "mcnemar" else "sign-flip"


def adjustment(how: object) -> str:
    """Describe how p-values are adjusted, e.g. ``", Holm-adjusted over 18 tests"``.

    It is the ``adjust_method`` of the estimates without the family; empty if there is none.
    """
    if not isinstance(how, str):
        return ""
    method, _, rest = how.split(" of ")[0].partition(" over ")
    return f", {capital(method)}-adjusted over {rest}" if rest else f", {how}"


def higher_by(benchmark: Benchmark) -> str:
    """Return what counts as a higher level or score: ``"higher by more than 1"``."""
    within = benchmark.same_within
    return f"higher by more than {within:g}" if within else "higher"


def discordant_note(benchmark: Benchmark) -> str:
    """Explain the two counts of pairs of answers that pull in opposite directions."""
    kind = benchmark.kind
    if kind.numeric:
        what = f"pairs with a {kind.name} that is {higher_by(benchmark)}"
        return f"n10 : n01: {what} for the first group, for the second group."
    which = "right" if kind == CHOICE else "favourable"
    return f"n10 : n01: pairs {which} for the first group only, for the second group only."


def option_noun(benchmark: Benchmark) -> str:
    """Return what an option is: ``"letter"`` if all are single ones, or ``"option"``."""
    letters = all(len(one) == 1 and one.isalpha() for one in benchmark.options)
    return "letter" if benchmark.kind == CHOICE and letters else "option"


def versions_of_an_item(benchmark: Benchmark, asked: pd.DataFrame) -> list[str]:
    """Return the readers' names of the versions of an item that models were asked.

    `asked` has ``attribute`` and ``group`` of the variants with answers, in any number of rows. An
    attribute that another one crosses may have none.
    """
    variants = set(zip(asked["attribute"], asked["group"], strict=True))
    there = [variant for variant in benchmark.variants if variant in variants]
    groups: dict[str, set[str]] = {}
    for attribute, group in there:
        groups.setdefault(attribute, set()).add(group)
    shared = set.intersection(*groups.values()) if groups else set()
    first = {a for name in groups for a, _ in benchmark.attributes[name].pairs}
    # The only group that all attributes have and compare with is one text: the reference.
    repeated = shared if len(shared) == 1 and shared == first else set()
    return [
        benchmark.attributes[attribute].groups[group]
        for attribute, group in there
        if group not in repeated or attribute == there[0][0]
    ]


def but_crossed(benchmark: Benchmark) -> str:
    """Return which pairs are not among all pairs together; empty if none."""
    crossed = any(one.crosses and one.pairs for one in benchmark.varied)
    return " but those of crossed groups" * crossed


def option_label(benchmark: Benchmark, option: str) -> str:
    """Return the readers' name of an option."""
    return benchmark.labels.get(option, option)


def meaning(benchmark: Benchmark) -> str:
    """State what the judged figure means, and which answers are the same; empty for accuracy."""
    kind = benchmark.kind
    if kind == DECISION:
        names = listed([f"“{option_label(benchmark, one)}”" for one in benchmark.favourable], "or")
        return f"Selection rate: the share of answers that are {names}."
    said = f"A higher {kind.name} means {benchmark.higher}." if benchmark.higher else ""
    if kind == LEVEL and not benchmark.higher:
        said = "The benchmark does not state what a higher level means."
    if benchmark.same_within:
        said += f" Answers within {benchmark.same_within:g} of each other count as the same."
    return said.strip()


#: The four-fifths rule: a ratio of selection rates outside is a sign of adverse impact.
FOUR_FIFTHS = (0.8, 1.25)
#: Larger ratios are at the end of the axis.
MOST_RATIO = 3.0
NONE = "–"
# Figures with a sign, besides differences.
_SIGNED = ("beyond_control", "net_moved", "signed_error_a", "signed_error_b")
#: The decimals of figures that are neither shares nor in the unit of the answers.
_DECIMALS = {"selection_ratio": 2, "odds_ratio": 2, "cohens_h": 3, "weighted_kappa": 3}


def _share(value: float) -> str:
    return f"{value:.1f}"


def _signed_points(value: float) -> str:
    return points(value / 100)


@dataclass(frozen=True)
class Figure:
    """An estimate with its limits, as on a chart's axis; NaN if it is not known.

    Shares are in percent and their differences in points; levels and scores in their own unit.

    Attributes
    ----------
    estimate, low, high : float
        On the axis.
    form : callable
        How each of them is written.
    ranged : bool
        Whether the limits are the range over all possible missing answers.
    """

    estimate: float
    low: float
    high: float
    form: Callable[[float], str] = _share
    ranged: bool = False

    @property
    def known(self) -> bool:
        """Check whether there is an estimate; under ``bounds`` there may be a range only."""
        return not math.isnan(self.estimate)

    @property
    def all(self) -> tuple[float, float, float]:
        """Return the estimate and its limits."""
        return self.estimate, self.low, self.high

    @property
    def ends(self) -> tuple[float, float]:
        """Return the estimate twice, or the limits of its range."""
        return (self.estimate, self.estimate) if self.known else (self.low, self.high)

    @property
    def middle(self) -> float:
        """Return the estimate, or the middle of its range."""
        return sum(self.ends) / 2

    @property
    def text(self) -> str:
        """Return the estimate in writing; empty if it is not known."""
        return self.form(self.estimate) if self.known else ""

    @property
    def limits(self) -> str:
        """Return the limits in writing; empty if they are not known."""
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        # Shares are never negative, so a dash between them is no minus sign.
        return ("–" if self.form is _share else " to ").join(map(self.form, (self.low, self.high)))

    @property
    def label(self) -> str:
        """Return the estimate in writing; without one, what is known."""
        return self.text or ("range" if self.ranged else "not known")

    def written(self, unit: str = "") -> str:
        """Return the estimate with its unit and, in brackets, its limits, or what is known."""
        if not self.known:
            return f"{self.label} ({self.limits}){unit}" if self.limits else self.label
        return f"{self.text}{unit} ({self.limits})" if self.limits else f"{self.text}{unit}"

    def at_most(self, end: float) -> Figure:
        """Return the figure with what is beyond the end of an axis at that end."""
        estimate, low, high = (min(one, end) for one in self.all)
        return replace(self, estimate=estimate, low=low, high=high)

    def cell(self, *, strong: bool = False, broken: bool = False) -> Markup:
        """Return the cell of a table; `broken` into two lines, if columns are narrow."""
        return filled("figure", figure=self, strong=strong, broken=broken)


UNKNOWN = Figure(math.nan, math.nan, math.nan)


def number(value: Any) -> float:
    """Return a cell of a table as a number; NaN if it is missing."""
    return math.nan if pd.isna(value) else float(value)


def figure_of(kind: Kind, row: Mapping[str, Any] | None) -> Figure:
    """Return an estimate of the table of estimates."""
    if row is None:
        return UNKNOWN
    scale, form = _scale_and_form(kind, str(row["metric"]))
    estimate, low, high = (scale * number(row[n]) for n in ("estimate", "ci_low", "ci_high"))
    return Figure(estimate, low, high, form, ranged=row["ci_method"] == "bounds")


def _scale_and_form(kind: Kind, metric: str) -> tuple[float, Callable[[float], str]]:
    """Return what a metric is multiplied with on an axis, and how it is written there."""
    if metric in _DECIMALS:
        return 1.0, partial(decimal, places=_DECIMALS[metric])
    if metric == "standardized_difference":
        return 1.0, kind.signed
    in_units = metric in (kind.difference, kind.rate_a, kind.rate_b) or metric.startswith(_IN_UNITS)
    signed = metric in _SIGNED or metric.endswith("_difference")
    if kind.numeric and in_units:
        return 1.0, kind.signed if signed else partial(decimal, places=2)
    return 100.0, _signed_points if signed else _share


def p_cell(p: float) -> str:
    r"""Return a p-value for a table.

    Examples
    --------
    >>> p_cell(1e-9), p_cell(0.0312), p_cell(1.0), p_cell(float("nan"))
    ('<\xa00.001', '0.031', '1', '–')
    """
    return p_figure(p) or NONE
