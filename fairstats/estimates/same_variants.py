"""Do two answer sets answer the same variants? Judged from the answers, without the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats._lib.result_objects import FloatArray, Tabular
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.counts.grid import Grid, grid
from fairstats.counts.outcomes import own_groups
from fairstats.counts.patterns import CountingPolicy, GroupAnswers, IntArray, apply_policy
from fairstats.inference._checks import check_alpha
from fairstats.inference.differences import mean_difference
from fairstats.inference.letters import MatchedPatterns, matched_patterns

SAME, DIFFERENT, CANNOT_TELL = "same variants", "different variants", "cannot tell"
#: The benchmark does not declare the odds ratio that separates the verdicts.
NO_VERDICT = "no verdict"


@dataclass(frozen=True, repr=False)
class SameVariants(Tabular):
    """Whether two answer sets are for the same variants.

    Attributes
    ----------
    verdict : str
        `SAME`, `DIFFERENT` or `CANNOT_TELL`; `NO_VERDICT` if the benchmark does not declare
        ``same_variants_odds_ratio``.
    odds_ratio, ci_low, ci_high, ci_level, ci_method, p_value, test
        From `fairstats.inference.letters`: the factor by which the same attribute of an
        item multiplies the odds of the same flip in the other set; 1 for unrelated variants.
    shared, expected : int, float
        Flips that both sets have, and the number expected for unrelated variants.
    matched, crossed : float
        The correlation of flips of the same attribute, and of different attributes of an item. The
        latter is due to the item alone.
    excess, excess_low, excess_high : float
        matched − crossed and its limits, with items resampled.
    attributes, n : int
        Attributes and items that both sets were asked.
    """

    verdict: str
    odds_ratio: float
    ci_low: float
    ci_high: float
    ci_level: float
    ci_method: str
    p_value: float
    test: str
    shared: int
    expected: float
    matched: float
    crossed: float
    excess: float
    excess_low: float
    excess_high: float
    attributes: int
    n: int

    def sentence(self) -> str:
        """Return the result in a sentence, with its figures."""
        if self.verdict == NO_VERDICT:
            why = f"{self.verdict}: the benchmark does not declare same_variants_odds_ratio"
            return why if np.isnan(self.odds_ratio) else f"{why} ({self._figures()})"
        if np.isnan(self.odds_ratio):
            return f"{self.verdict} (no informative changes of answer)"
        figures = self._figures()
        if self.verdict == DIFFERENT:
            return f"{self.verdict}, or random changes ({figures})"
        if self.verdict == CANNOT_TELL and self.ci_low > 1:
            return f"{self.verdict}, above chance but below the usual level ({figures})"
        return f"{self.verdict} ({figures})"

    def _figures(self) -> str:
        return (
            f"{self.shared} changes of answer shared, {self.expected:.1f} expected if unrelated; "
            "odds "
            f"ratio {self.odds_ratio:.2f} ({self.ci_low:.2f} to {self.ci_high:.2f}), "
            f"p = {self.p_value:.2g}"
        )


def flip_marks(grid: Grid, missing: MissingPolicy | None = None) -> pd.DataFrame:
    """Return the flips of one answer set: one row per item, one column per attribute asked.

    An attribute that only has the variants of one that crosses it has a column for each group of
    the other crossed attribute.

    A flip is 1 if only group a's answer is right, −1 if only group b's is, and 0 if both or neither
    are. It is NaN if an answer that counts is missing. With several samples, every answer of a is
    compared with every answer of b, and the group that is right more often counts.
    """
    policy = missing or grid.benchmark.missing
    counting: CountingPolicy = "incorrect" if policy == "incorrect" else "complete"
    # In blocks: the outcomes of an item need many times the bytes of its marks.
    parts = [_block_marks(block, counting) for block in grid.blocks(_BLOCK)]
    names = dict.fromkeys(name for part in parts for name in part)
    return pd.concat(parts).reindex(columns=list(names))


def _first_pairs(grid: Grid) -> dict[str, tuple[GroupAnswers, tuple[str, str]]]:
    """Return the first pair of each attribute asked; of a crossed one, with each other group."""
    found, groups = {}, own_groups(grid)
    sources = grid.benchmark.variants_from(groups)
    for attribute in grid.benchmark.varied:
        if attribute.name in sources and attribute.pairs:
            source, (a, b) = sources[attribute.name], attribute.pairs[0]
            for within, layer in source.layers(attribute).items():
                pair = layer[a], layer[b]
                name = f"{attribute.name} ({'/'.join(pair)})" if within else attribute.name
                found[name] = groups[source.name], pair
    return found


def _block_marks(grid: Grid, counting: CountingPolicy) -> pd.DataFrame:
    marks = {}
    for name, (own, pair) in _first_pairs(grid).items():
        counts = apply_policy(own.pair(pair), counting)
        marks[name] = np.full(len(grid.unit), np.nan)
        marks[name][own.rows] = np.where(counts.n > 0, np.sign(counts.n10 - counts.n01), np.nan)
    return pd.DataFrame(marks, index=pd.Index(grid.items, name="item_id"))


def same_flips(
    old: pd.DataFrame,
    new: pd.DataFrame,
    *,
    smallest_same: float | None,
    alpha: float = 0.05,
) -> SameVariants:
    """Judge flips from `flip_marks`, as `variant_sets` judges answers.

    `smallest_same` is the benchmark's ``same_variants_odds_ratio``; without it there is no verdict.
    """
    alpha = check_alpha(alpha)
    names = [name for name in old.columns if name in new.columns]
    items = old.index.intersection(new.index)
    sides = [side.reindex(index=items, columns=names).to_numpy() for side in (old, new)]
    answered = ~np.isnan(sides).any(axis=(0, 2)) & (len(names) > 0)
    one, other = (side[answered].astype(np.int64) for side in sides)
    found = matched_patterns(one, other, alpha=alpha)
    matched, crossed, differences = _correlations(one, other)
    excess = mean_difference(differences, alpha=alpha)
    return SameVariants(
        verdict=verdict_of(found, smallest_same),
        odds_ratio=found.odds_ratio,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        ci_level=found.ci_level,
        ci_method=found.method,
        p_value=found.p_value,
        test=found.test,
        shared=found.matched,
        expected=found.expected,
        matched=matched,
        crossed=crossed,
        excess=excess.estimate,
        excess_low=excess.ci_low,
        excess_high=excess.ci_high,
        attributes=len(names),
        n=len(one),
    )


def verdict_of(found: MatchedPatterns, smallest_same: float | None) -> str:
    """Judge whether flips match as those of the same variants do, see `variant_sets`."""
    if smallest_same is None:
        return NO_VERDICT
    above, below = found.ci_low > 1, found.ci_high < smallest_same
    return SAME if above and not below else DIFFERENT if below and not above else CANNOT_TELL


def unlike_others(grid: Grid, models: Sequence[Sequence[int]]) -> dict[int, str]:
    """Return why answer sets are not to the same variants as those of other models, by their place.

    `models` are the places of each model's answer sets to one version of the variants, of a
    benchmark that declares ``same_variants_odds_ratio``.

    Notes
    -----
    The usual flip of an item and attribute is the direction in which more of the other models flip,
    by at least a third of them. A set does not fit if its flips match the usual ones too seldom.
    Neither does it fit if they match too seldom with those of most of five parts of the other
    models: up to three sets of the same other variants agree with fewer than half of the parts.
    With five or more other models, a set does not fit either if its flips of one attribute match
    too seldom, with and without regard to the direction: only these answers may be to other
    variants. The attributes share the level.

    The flips of one attribute are tested given the usual flips of the item for all attributes, see
    `place` in `fairstats.inference.letters.matched_patterns`.
    """
    ratio = grid.benchmark.same_variants_odds_ratio
    attributes = list(_first_pairs(grid))
    shape = len(grid.item_names), len(attributes)
    flips, sizes = np.zeros((_PARTS, *shape)), np.zeros((_PARTS, 1, 1))

    def flips_of(unit: int) -> FloatArray:
        """Return the flips of an answer set; NaN without an answer."""
        own, found = grid.of_unit(unit), np.full(shape, np.nan)
        found[own.item] = flip_marks(own).reindex(columns=attributes)
        return found

    def unlike(
        own: FloatArray, others: IntArray, place: int | None = None
    ) -> MatchedPatterns | None:
        """Return the match with others if it is too low."""
        if place is None:
            asked, level = ~np.isnan(own).all(axis=0), _LEVEL
            own, others = own[:, asked], others[:, asked]
            # An item without a flip says nothing about where flips are.
            rows = own.any(axis=1) & ~np.isnan(own).any(axis=1)
        else:
            rows, level = ~np.isnan(own[:, place]), _LEVEL / len(attributes)
        marks = np.nan_to_num(own[rows]).astype(np.int64)
        found = matched_patterns(marks, others[rows], place=place, alpha=level)
        return found if verdict_of(found, ratio) == DIFFERENT else None

    def unlike_most(own: FloatArray, others: Sequence[IntArray]) -> MatchedPatterns | None:
        """Return a match that is too low if those with more than half of these are."""
        needed, found = len(others) // 2 + 1, 0
        for left, other in reversed([*enumerate(others)]):
            one = unlike(own, other)
            found += one is not None
            if found == needed:
                return one
            if found + left < needed:
                break
        return None

    for number, units in enumerate(models):
        flips[number % _PARTS] += np.sign(np.nansum([flips_of(unit) for unit in units], axis=0))
        sizes[number % _PARTS] += 1
    reasons = {}
    for number, units in enumerate(models):
        # Made again: those of all models would fill the memory.
        of_model = [flips_of(unit) for unit in units]
        same = np.sign(np.nansum(of_model, axis=0))
        flips[number % _PARTS] -= same
        sizes[number % _PARTS] -= 1
        usual = _direction(flips.sum(axis=0), sizes.sum())
        parts = [part for part in _direction(flips, sizes) if part.any()]
        for unit, own in zip(units, of_model, strict=True):
            found, where = unlike(own, usual) or unlike_most(own, parts), ""
            for place, name in enumerate(attributes if sizes.sum() >= _FEWEST else []):
                # A model may be swayed in the direction opposite to the usual one.
                if found is None and unlike(np.abs(own), np.abs(usual), place):
                    found, where = unlike(own, usual, place), f" for attribute {name}"
            if found is not None:
                reasons[unit] = (
                    f"its answers change on different items from those of the other models{where}, "
                    "as if they were to other variants or changed at random "
                    f"(odds ratio {found.odds_ratio:.2f}, {found.ci_low:.2f} to "
                    f"{found.ci_high:.2f}; at least {ratio:g} for the same variants)"
                )
        flips[number % _PARTS] += same
        sizes[number % _PARTS] += 1
    return reasons


def _direction(sums: FloatArray, models: npt.ArrayLike) -> IntArray:
    """Return the sign of sums over models; 0 if it is that of fewer than a third, net."""
    return np.asarray(np.sign(sums) * (3 * np.abs(sums) >= models), dtype=np.int64)


def _correlations(one: np.ndarray, other: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return mean correlations of the same and different attributes, and each item's excess.

    Attributes without a flip in one of the sets have no correlation and are left out.
    """
    if len(one) < 2:
        return np.nan, np.nan, np.empty(0)
    varies = (one.std(axis=0) > 0) & (other.std(axis=0) > 0)
    x, y = (
        (side[:, varies] - side[:, varies].mean(axis=0)) / side[:, varies].std(axis=0)
        for side in (one, other)
    )
    size = x.shape[1]
    if size == 0:
        return np.nan, np.nan, np.empty(0)
    same = (x * y).sum(axis=1)
    matched = same / size
    if size == 1:
        return float(matched.mean()), np.nan, np.empty(0)
    crossed = (x.sum(axis=1) * y.sum(axis=1) - same) / (size * (size - 1))
    return float(matched.mean()), float(crossed.mean()), matched - crossed


# 1 − confidence level of the odds ratios by which answer sets do not fit.
_LEVEL = 0.05
# Rows of the grid whose flips are computed at a time.
_BLOCK = 2**17
# The other models of a version are divided into so many parts: up to three sets of other variants
# agree with fewer than half of them.
_PARTS = 5
# With fewer other models, one set of other variants among them can make an honest set's flips of
# one attribute look unlike theirs.
_FEWEST = 5
#: Columns of the table from `variant_sets`, in order.
VARIANT_SET_COLUMNS = (
    "benchmark",
    "benchmark_version_a",
    "model_a",
    "strategy_a",
    "benchmark_version_b",
    "model_b",
    "strategy_b",
    "declared",
    *SameVariants.__dataclass_fields__,
)
#: The declared relation of two versions.
ONE_VERSION, TWO_VERSIONS, UNDECLARED = "one version", "two versions", "undeclared"


def variant_sets(
    answers: Any,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    most: int | None = None,
) -> pd.DataFrame:
    """Judge of every two answer sets of a benchmark whether they are for the same variants.

    Parameters
    ----------
    answers : pandas or Polars frame, DuckDB relation, PySpark DataFrame
        The answers table.
    missing : {"available", "complete", "incorrect", "bounds"}, optional
        By default the benchmark's. Under ``incorrect``, a missing answer is wrong. Under the other
        policies, an item with a missing answer in either set is left out.
    alpha : float
        1 − confidence level, per pair, without adjustment.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.
    most : int, optional
        Compare each set only with so many sets of each version: those with the most flips, which
        say most about the variants. By default, it is compared with all.

    Returns
    -------
    pandas.DataFrame
        `VARIANT_SET_COLUMNS`: one row per two answer sets. ``declared`` is `ONE_VERSION`,
        `TWO_VERSIONS`, or `UNDECLARED` if the benchmark does not name the version of one of them.

    Notes
    -----
    A flip is an item and attribute for which only one group's answer is right. Models share flips
    because they share items. If they also share the variants' text, a flip for race in one model
    predicts one for race in the other, more than one for sex.

    The test permutes the sets' patterns of flips over items with the same flips in each set,
    regardless of the attribute: see `fairstats.inference.letters`. Items may differ in
    how prone they are to flips. Let r be the benchmark's ``same_variants_odds_ratio``. The verdict
    is "same variants" if the lower limit of the odds ratio is above 1 and the upper limit is not
    below r. It is "different variants" if the upper limit is below r and the lower limit is not
    above 1. In all other cases it is "cannot tell".

    How far models share flips depends on the benchmark's variants. So r is derived from answers to
    that benchmark (docs/benchmark-files.md), and without r there is no verdict. The test takes two
    attributes. If an attribute has several pairs of groups, the first declared pair counts. With
    several samples of an item, the group that is right more often counts. If an attribute only has
    the variants of one that crosses it, its flips with each group of the other crossed attribute
    count as those of an attribute.

    FairMedQA declares 2.5. Its 15 released answer sets form 61 pairs of the same version, with a
    smallest odds ratio of 2.47. All 61 are judged the same. Of 44 pairs across versions, none is
    judged the same, 35 are judged different, and 9 are undecided. If r is derived from the pairs
    without either model, all verdicts but two of these are the same. FairMedQA's variants are
    adversarial, and their text causes the flips. If variants differ by little more than a word,
    most flips are chance, and two sets of the same variants may look different.
    """
    rows = []
    for _, own in sorted(grid(answers, benchmarks=benchmarks).items()):
        benchmark = own.benchmark
        units = list(own.units.itertuples(index=False, name=None))
        flips = [flip_marks(own.of_unit(unit), missing) for unit in range(len(units))]
        compared = _most_flips(own.units["benchmark_version"], flips, most)
        sets = zip(units, flips, compared, strict=True)
        for (unit_a, one, one_of), (unit_b, other, other_of) in combinations(sets, 2):
            if not (one_of or other_of):
                continue
            found = same_flips(
                one, other, smallest_same=benchmark.same_variants_odds_ratio, alpha=alpha
            )
            versions = unit_a[1], unit_b[1]
            declared = ONE_VERSION if versions[0] == versions[1] else TWO_VERSIONS
            if not benchmark.versions.keys() >= {*versions}:
                declared = UNDECLARED
            sides = (*unit_a, *unit_b[1:], declared)
            keys = dict(zip(VARIANT_SET_COLUMNS, sides, strict=False))
            rows.append(keys | found.to_row())
    return pd.DataFrame(rows, columns=list(VARIANT_SET_COLUMNS))


def _most_flips(
    versions: pd.Series, flips: Sequence[pd.DataFrame], most: int | None
) -> npt.NDArray[np.bool_]:
    """Return which sets are among those of their version with the most flips."""
    number = pd.Series([float(np.nansum(np.abs(marks))) for marks in flips])
    ranks = number.groupby(versions.to_numpy()).rank(method="first", ascending=False)
    return np.asarray(ranks <= (len(flips) if most is None else most))
