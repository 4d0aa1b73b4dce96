"""Error rate of the win-win verdict, by simulation: writes data/win_win_error.csv.

Each trial draws the answers of both models of 1 or 6 comparisons to the same items, for 3 pairs of
groups. An answer pattern (both right, only a, only b, both wrong with the same letter or with
different ones) is drawn in two steps from normal variables:

- the first, of an item's difficulty, says whether both answers are right, the answer changes, or
  both are wrong and the same. 60% of its variance is shared by all answers to the item, 30% by the
  models' answers to one pair of its variants, 2% by a model's answers to the item;
- the second says who is right if the answer changes. The models share 80% of its variance.

The models' changed answers then have a correlation of 0.3, as in the released FairMedQA answers.
The cut points are quantiles, so each model's accuracy, CFR and AD are exactly those declared below,
whatever is shared. The older models have accuracy 0.75, CFR 0.85 and AD 0.08, near the released
answers. What changes in the newer models changes much, because a false win-win is most frequent if
the other figures are sure to pass their tests.

A trial is judged by `judge_changes` twice: with each pair as a family (``unadjusted``: all three
p-values of the pair are at most alpha), and with all pairs of the trial as one (``holm``). The
limits of a share of trials are Wilson's; those of a share of pairs are the exact bootstrap's over
trials. Six comparisons take half of the trials. "All three" is power and takes a tenth.

    python benchmarks/win_win_error.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from fairstats.comparisons.change_verdicts import WIN_WIN, judge_changes
from fairstats.comparisons.item_tallies import each_pattern, sums_of
from fairstats.comparisons.model_differences import (
    accuracy,
    ad,
    cfr,
    model_p_values,
)
from fairstats.counts.patterns import PATTERNS
from fairstats.inference.intervals import wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval

OUT = Path(__file__).resolve().parents[1] / "data" / "win_win_error.csv"
TRIALS = 2000
ALPHA = 0.05

FIGURES = {"accuracy": accuracy, "cfr": cfr, "ad": ad}
KINDS = ("n11", "n10", "n01", "n00_same", "n00_different")
# In thousandths, in the order of KINDS.
OLD = (680, 110, 30, 170, 10)
#: The newer models' patterns, by the figures that improve.
NEW: dict[tuple[str, ...], tuple[int, ...]] = {
    (): OLD,
    ("accuracy",): (780, 110, 30, 70, 10),
    ("accuracy", "cfr"): (800, 90, 10, 100, 0),
    ("accuracy", "ad"): (775, 75, 75, 75, 0),
    ("cfr", "ad"): (725, 30, 20, 225, 0),
    ("accuracy", "cfr", "ad"): (825, 30, 20, 125, 0),
}
PAIRS = 3
#: Items, and comparisons of two models.
DESIGNS = ((200, 1), (801, 1), (801, 6))

# Shares of the variance: of the item, of its variants for a pair, of a model on the item.
OF_ITEM, OF_VARIANTS, OF_MODEL = 0.6, 0.3, 0.02
OF_DIRECTION = 0.8

IntArray = npt.NDArray[np.int64]
Row = dict[str, object]


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file to write")
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials with three pairs")
    given = parser.parse_args(arguments)
    if given.trials < 20:
        parser.error("--trials must be a whole number of at least 20")
    rows = [
        rates(n_items, comparisons, changed, given.trials)
        for (n_items, comparisons), changed in product(DESIGNS, NEW)
    ]
    pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.5f", lineterminator="\n")


def rates(n_items: int, comparisons: int, changed: tuple[str, ...], trials: int) -> Row:
    """Return the rates of win-win verdicts in one design, by both rules."""
    if comparisons > 1:
        trials //= 2
    if len(changed) == len(FIGURES):
        trials //= 10
    rng = np.random.default_rng([2026, n_items, comparisons, *NEW[changed]])
    # The tests of unchanged figures come first, because most pairs fail there.
    order = sorted(FIGURES, key=lambda name: name in changed)
    pairs = comparisons * PAIRS
    wins: dict[str, list[int]] = {"unadjusted": [], "holm": []}
    for start in range(0, trials, 100):
        these = range(start, min(start + 100, trials))
        tables = [
            pd.DataFrame(_rows(draw(rng, n_items, comparisons, NEW[changed]), order)).assign(
                benchmark_version=str(trial)
            )
            for trial in these
        ]
        table = pd.concat(tables, ignore_index=True)
        for rule, found in verdicts(table).items():
            wins[rule] += [found.get(str(trial), 0) for trial in these]
    row: Row = {
        "items": n_items,
        "pairs": pairs,
        "changed": ", ".join(changed) or "no figure",
        "trials": trials,
    }
    for rule, each in wins.items():
        many = np.array(each)
        count = int((many > 0).sum())
        family = wilson(count, trials, alpha=ALPHA)
        share = bounded_mean_interval(many / pairs, alpha=ALPHA)
        row |= {
            f"family_{rule}": count / trials,
            f"family_{rule}_low": float(family.ci_low),
            f"family_{rule}_high": float(family.ci_high),
            f"pair_{rule}": float(share.estimate),
            f"pair_{rule}_low": float(share.ci_low),
            f"pair_{rule}_high": float(share.ci_high),
        }
    return row


def draw(
    rng: np.random.Generator, n_items: int, comparisons: int, new: tuple[int, ...]
) -> IntArray:
    """Draw what each item adds to the sums.

    The shape is (items, comparisons, old and new, pairs, 6).
    """
    of_models = (n_items, comparisons, 2, PAIRS)

    def shared(*shape: int) -> npt.NDArray[np.float64]:
        return rng.standard_normal((n_items, *shape))

    rest = 1 - OF_ITEM - OF_VARIANTS - OF_MODEL
    difficulty = np.sqrt(OF_ITEM) * shared(1, 1, 1)
    difficulty = difficulty + np.sqrt(OF_VARIANTS) * shared(1, 1, PAIRS)
    difficulty = difficulty + np.sqrt(OF_MODEL) * shared(comparisons, 2, 1)
    difficulty = difficulty + np.sqrt(rest) * rng.standard_normal(of_models)
    direction = np.sqrt(OF_DIRECTION) * shared(1, 1, PAIRS)
    direction = direction + np.sqrt(1 - OF_DIRECTION) * rng.standard_normal(of_models)

    n11, n10, n01, same, different = np.array([OLD, new]).T[:, :, None] / 1000
    changes = n10 + n01 + different
    place = {name: PATTERNS.index(name) for name in KINDS}
    who = np.where(
        direction < stats.norm.ppf(n10 / changes),
        place["n10"],
        np.where(
            direction < stats.norm.ppf((n10 + different) / changes),
            place["n00_different"],
            place["n01"],
        ),
    )
    pattern = np.where(
        difficulty < stats.norm.ppf(n11),
        place["n11"],
        np.where(difficulty < stats.norm.isf(same), who, place["n00_same"]),
    )
    return sums_of(each_pattern(), "complete")[pattern]


def _rows(sums: IntArray, order: Sequence[str]) -> Iterator[Row]:
    """Test all pairs of one trial; the rows are those that `judge_changes` takes."""
    for comparison, pair in np.ndindex(sums.shape[1], sums.shape[3]):
        old, new = (sums[:, comparison, model, [pair]] for model in (0, 1))
        named: Row = {
            "benchmark": "simulated",
            "model_old": f"old {comparison}",
            "model_new": f"new {comparison}",
            "strategy": "plain",
            "attribute": f"attribute {pair}",
            "group_a": "a",
            "group_b": "b",
            "no_verdict": "",
            "guessing_old": "",
            "guessing_new": "",
            "judged": True,
        }
        for figures in _tests(old, new, order):
            yield named | figures


def _tests(old: IntArray, new: IntArray, order: Sequence[str]) -> Iterator[Row]:
    """Test the three figures of a pair, as far as a verdict needs it."""
    p_values: dict[str, float] = {}
    for name in order:
        p_values[name] = float(model_p_values([old, new], FIGURES[name])[0])
        if p_values[name] > ALPHA:
            # The pair gets no verdict whatever its other tests give, and Holm's adjustment of
            # smaller p-values does not depend on how far above alpha its own is.
            unknown = {"estimate": 0.0, "lowest": -1.0, "highest": 1.0, "may_win": False}
            unknown |= {"p_value": p_values[name], "p_worst": p_values[name]}
            yield from ({"metric": f"delta_{each}"} | unknown for each in FIGURES)
            return
    for name, figure in FIGURES.items():
        change = float(figure(new.sum(axis=0)) - figure(old.sum(axis=0)))
        # No answer is missing, so the bounds are the estimate.
        bounds = dict.fromkeys(("estimate", "lowest", "highest"), change)
        tested = dict.fromkeys(("p_value", "p_worst"), p_values[name])
        yield {"metric": f"delta_{name}", "may_win": True} | bounds | tested


def verdicts(table: pd.DataFrame) -> Mapping[str, Mapping[str, int]]:
    """Count the win-win pairs of each trial, by both rules."""
    trial = ["benchmark_version"]
    pair = [*trial, "model_old", "attribute"]
    possible = table[table["may_win"]]
    if possible.empty:
        return {"unadjusted": {}, "holm": {}}
    alone = possible.assign(family=possible[pair].agg(" ".join, axis=1))
    together = table[table["benchmark_version"].isin(possible["benchmark_version"])]
    together = together.assign(family=together["benchmark_version"])
    found = {}
    for rule, rows in (("unadjusted", alone), ("holm", together)):
        judged = judge_changes(rows, alpha=ALPHA)
        won = judged[judged["verdict"] == WIN_WIN].drop_duplicates(pair)
        found[rule] = {str(name): int(n) for name, n in won.groupby(trial[0]).size().items()}
    return found


if __name__ == "__main__":
    main()
