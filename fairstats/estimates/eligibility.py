"""Which models a board ranks: those with enough answers that are better than guessing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from fairstats._lib.problems import first_of
from fairstats._lib.result_objects import FloatArray
from fairstats._lib.row_groups import row_keys
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, Benchmark
from fairstats.counts.missing_policies import apply_policy, missing_per_group
from fairstats.counts.outcomes import PAIR_COLUMNS, PATTERNS
from fairstats.estimates.same_variants import DIFFERENT, flips_of_items, same_flips
from fairstats.inference.intervals import wilson

_UNIT = list(UNIT_COLUMNS)
_IN_BASELINE = "accuracy in the neutralized variant"
# More pairs than these are counted, not named.
_MOST_NAMES = 4


def why_unranked(
    counts: pd.DataFrame,
    items: Mapping[tuple[str, ...], int],
    benchmark: Benchmark,
    *,
    alpha: float = 0.05,
) -> pd.Series:
    """Return the reason why a model is listed without a rank.

    Parameters
    ----------
    counts : pandas.DataFrame
        The outcome counts of one benchmark's declared pairs, see
        `fairstats.counts.outcomes.pair_counts`.
    items : mapping of (str, ...) to int
        The number of items that each unit was asked, by `UNIT_COLUMNS` and attribute.
    benchmark : Benchmark
        Declares which models are ranked: `selected_on`, `largest_missing` and `lowest_accuracy`.
    alpha : float
        1 − confidence level of the interval of accuracy.

    Returns
    -------
    pandas.Series
        A sentence without its full stop, by `UNIT_COLUMNS`; empty if the model is ranked.
    """
    guessing = why_not_above_chance(counts, items, benchmark, alpha=alpha)
    missing = _too_many_missing(counts, benchmark)
    reasons = []
    for unit, guesses in zip(guessing.index, guessing, strict=True):
        selected = unit[_UNIT.index("model")] in benchmark.selected_on
        texts = ("model took part in selecting the items" * selected, missing.get(unit), guesses)
        reasons.append("; ".join(filter(None, texts)))
    return pd.Series(reasons, index=guessing.index, dtype="str")


def why_not_above_chance(
    counts: pd.DataFrame,
    items: Mapping[tuple[str, ...], int],
    benchmark: Benchmark,
    *,
    alpha: float = 0.05,
) -> pd.Series:
    """Return the models that do not exceed the accuracy required for a rank.

    A guessing model is fair only as a coin is: its accuracy depends neither on the group nor on the
    vignette.

    Parameters
    ----------
    counts, items, benchmark, alpha
        As in `why_unranked`.

    Returns
    -------
    pandas.Series
        By `UNIT_COLUMNS`, the reason, or empty if two conditions hold. The lower limit of the
        Wilson interval of accuracy in the neutralized variant exceeds `benchmark.lowest_accuracy`,
        by default `benchmark.chance`. The lower limit for at least one group of every pair exceeds
        chance.

    Notes
    -----
    A missing answer is wrong, and so is an item that was not asked. So a model cannot reach the
    limit by leaving out questions that it cannot answer. Both groups of a pair are checked because
    a model could guess only if a group is named. Items are the independent units, so several
    samples of an item count as one answer in the interval.
    """
    accuracy, low = _accuracies(counts, items, benchmark, alpha)
    units = row_keys(counts, _UNIT)
    listed: dict[tuple[str, ...], list[str]] = {unit: [] for unit in units}
    for unit, reason in zip(units, _too_low(counts, accuracy, low, benchmark), strict=True):
        listed[unit] += [reason] if reason else []
    found = {unit: _joined(reasons) for unit, reasons in listed.items()}
    if benchmark.lowest_accuracy is not None:
        least = f"{benchmark.lowest_accuracy:.1%}"
        reason = f"no answers to neutralized variants, for which the accuracy must exceed {least}"
        for unit in set(found) - set(row_keys(counts[_of_neutralized(counts)], _UNIT)):
            found[unit] = f"{found[unit]}; {reason}" if found[unit] else reason
    index = pd.MultiIndex.from_tuples(list(found), names=_UNIT)
    return pd.Series(list(found.values()), index=index, name="reason", dtype="str")


def why_other_variants(
    patterns: pd.DataFrame, benchmark: Benchmark, *, alpha: float = 0.05
) -> dict[str, str]:
    """Return the models of a board that answered different variants from the other models.

    If answers to another version of the variants were submitted for this one, they would be ranked
    against models with a harder task.

    Parameters
    ----------
    patterns : pandas.DataFrame
        The patterns from `fairstats.counts.item_outcomes.item_patterns`, for the models of one
        board.
    benchmark : Benchmark
        If the benchmark has no ``same_variants_odds_ratio``, no model is excluded.
    alpha : float
        1 − confidence level of the odds ratio.

    Returns
    -------
    dict of str to str
        The reason by model, for models with flips that do not fit. With fewer than three models,
        the deviating one cannot be identified.

    Notes
    -----
    `fairstats.estimates.same_variants` compares a model's flips with the direction in which most
    other models flip. On FairMedQA's two boards of released answers, none of the 10 sets is
    excluded. Each one is excluded if it is submitted as answers to the other version.
    """
    ratio = benchmark.same_variants_odds_ratio
    if ratio is None:
        return {}
    flips = {
        str(model): flips_of_items(own, benchmark)
        for model, own in patterns.groupby("model", sort=True)
    }
    if len(flips) < 3:
        return {}
    marks = pd.concat(flips, names=["model"]).fillna(0)
    total = marks.groupby("item_id").sum()
    reasons = {}
    for model, own in flips.items():
        others = np.sign(total.sub(marks.loc[model], fill_value=0))
        found = same_flips(own, others, smallest_same=ratio, alpha=alpha)
        if found.verdict == DIFFERENT:
            reasons[model] = (
                "its answers change on different items from those of the other models, as if "
                "they were to "
                "other variants or changed at random "
                f"(odds ratio {found.odds_ratio:.2f}, {found.ci_low:.2f} to {found.ci_high:.2f}; "
                f"at least {ratio:g} for the same variants)"
            )
    return reasons


def _accuracies(
    counts: pd.DataFrame,
    items: Mapping[tuple[str, ...], int],
    benchmark: Benchmark,
    alpha: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the accuracy of both groups of each pair and its lower limit, over all items."""
    paired = apply_policy(counts, "incorrect")
    attributes = row_keys(counts, [*_UNIT, "attribute"])
    asked = np.array([items.get(key, 0) for key in attributes], dtype=np.int64)
    each = np.maximum(paired.n / np.maximum(asked, 1), 1.0)
    whole = np.rint(each * np.maximum(asked, len(benchmark.answer_keys))).astype(np.int64)
    nothing = (paired.n == 0) | (asked == 0)
    correct = np.where(nothing, 0, [paired.correct_a, paired.correct_b])
    low = wilson(correct, whole, alpha=alpha, design_effect=np.stack([each, each])).ci_low
    return (correct / np.maximum(whole, 1)).T, np.where(nothing, 0.0, low).T


def _of_neutralized(counts: pd.DataFrame) -> pd.Series:
    """Return which pairs compare with the neutralized variant."""
    neutral = counts["group_a"].eq(NEUTRALIZED) | counts["group_b"].eq(NEUTRALIZED)
    return counts["attribute"].eq(BASELINE) & neutral


def _joined(reasons: Sequence[str]) -> str:
    """Join the reasons of an answer set; of many, the first ones, that of the baseline included."""
    texts = list(reasons)
    if len(texts) <= _MOST_NAMES:
        return "; ".join(texts)
    # Stable, so that other pairs stay in order.
    texts.sort(key=lambda text: not text.startswith(_IN_BASELINE))
    shown, more = texts[:_MOST_NAMES], len(texts) - _MOST_NAMES
    return "; ".join([*shown, f"the same for {more} more pair{'s' * (more > 1)}"])


def _too_low(
    counts: pd.DataFrame, accuracies: FloatArray, lows: FloatArray, benchmark: Benchmark
) -> Iterator[str]:
    """Return, pair by pair, why accuracy is not above the requirement; empty if it is."""
    least = benchmark.chance if benchmark.lowest_accuracy is None else benchmark.lowest_accuracy
    # If a benchmark requires less than chance in the baseline, it requires no more elsewhere.
    of_groups = min(least, benchmark.chance)
    needed = "the best guess," if benchmark.lowest_accuracy is None else "the required"
    pairs = row_keys(counts, ("attribute", "group_a", "group_b"))
    for (attribute, *groups), accuracy, low in zip(pairs, accuracies, lows, strict=True):
        if attribute != BASELINE:
            side, limit = int(low.argmax()), of_groups
        elif NEUTRALIZED in groups:
            side, limit = groups.index(NEUTRALIZED), least
        else:
            yield ""
            continue
        if low[side] > limit:
            yield ""
        elif attribute == BASELINE:
            yield (
                f"{_IN_BASELINE} is {accuracy[side]:.1%} (lower limit "
                f"{low[side]:.1%}), not above {needed} {least:.1%}"
            )
        else:
            label = benchmark.attributes[attribute].pair_label((groups[0], groups[1]))
            yield (
                f"accuracy for {label} is at most {accuracy[side]:.1%} (lower limit "
                f"{low[side]:.1%}), not above the best guess, {of_groups:.1%}"
            )


def _too_many_missing(counts: pd.DataFrame, benchmark: Benchmark) -> dict[tuple[str, ...], str]:
    """Return the pairs with too many missing answers, by unit."""
    missing_a, missing_b = missing_per_group(counts)
    n = np.sum([counts[name].to_numpy() for name in PATTERNS], axis=0)
    shares = (missing_a + missing_b) / np.maximum(2 * n, 1)
    varied = {attribute.name: attribute for attribute in benchmark.varied}
    over: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for (*unit, name, a, b), share in zip(row_keys(counts, PAIR_COLUMNS), shares, strict=True):
        if name in varied and share > benchmark.largest_missing:
            text = f"{varied[name].pair_label((a, b))} {share:.1%}"
            over.setdefault(tuple(unit), []).append((share, text))
    limit = f"more than {benchmark.largest_missing:.1%} of the answers are missing: "
    found = {}
    for unit_, pairs in over.items():
        # Of many pairs, name those with most missing answers.
        if len(pairs) > _MOST_NAMES:
            pairs.sort(key=lambda pair: -pair[0])
        found[unit_] = limit + first_of([text for _, text in pairs], _MOST_NAMES)
    return found
