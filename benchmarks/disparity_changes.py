"""Measure the tests of a change of AD: how often two equal models differ, and unequal ones.

An item's answers to a pair of groups are a right, b right, or neither, by cuts of a normal variable
that has the correlation 0.7 between the two models, and 0.5 between pairs. 25% and 12% of the older
and newer model's answers are discordant. ``signs`` are those of the newer model's gaps relative to
the older one's; with "spread", its gaps are twice, once and not the older one's. ``level`` is the
share of p ≤ .05; ``strict`` of p ≤ .05 / 66, as for a board of twelve models; ``before`` are the
same without sums over the larger model's signs; and ``plain`` of swaps of the absolute differences.

    python benchmarks/disparity_changes.py    # writes results/disparity_changes.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from scipy import special

from fairstats.comparisons import model_differences
from fairstats.comparisons.model_differences import ad

OUT = Path(__file__).resolve().parent / "results" / "disparity_changes.json"
DISCORDANT = 0.25, 0.12
LEVEL, STRICT = 0.05, 0.05 / 66
SIGNS = {"equal": (1, 1, 1), "opposite": (-1, -1, -1), "mixed": (1, -1, 1), "spread": (2, 1, 0)}
# Gaps of the larger model, and of the smaller one, which are compared for power.
UNEQUAL = (((0.054, 0.057, 0.041), 0.0024), ((0.05, 0.05, 0.05), 0.0), ((0.09, 0.05, 0.02), 0.01))
# Models per call, and random swaps of a comparison.
_AT_ONCE, _SWAPS = 50, 400
Design = dict[str, float | str]
Change = tuple[Sequence[float], Sequence[float]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all designs and write their rows."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file to write")
    parser.add_argument("--simulations", type=int, default=2000)
    given = parser.parse_args(arguments)
    rows = [
        design | rates(number, change, int(design["items"]), given.simulations)
        for number, (design, change) in enumerate(designs())
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{{"simulations": {given.simulations}, "designs": [\n{lines}\n]}}\n'
    given.out.write_text(text, encoding="utf-8")


def designs() -> Iterator[tuple[Design, Change]]:
    """Yield each design, and the gaps of the older and newer model."""
    for pairs, items, gap, (signs, own) in product(
        (1, 3), (50, 200, 801), (0.0, 0.02, 0.05, 0.1), SIGNS.items()
    ):
        # Without a gap, there are no signs; one pair has one; and a gap is at most 12%.
        known = signs == "equal" or (gap > 0 and (pairs == 3 or signs == "opposite"))
        if known and gap * max(own) <= DISCORDANT[1]:
            design: Design = {"pairs": pairs, "items": items, "gap": gap, "signs": signs}
            yield design, ([gap] * pairs, [gap * sign for sign in own[:pairs]])
    for items, (large, small) in product((200, 801), UNEQUAL):
        gap = round(float(np.mean(large)), 4)
        design = {"pairs": 3, "items": items, "gap": gap, "signs": f"AD {small}"}
        yield design, (large, [small] * 3)


def rates(number: int, change: Change, items: int, simulations: int) -> Design:
    """Return how often the two models are found to differ."""
    rng = np.random.default_rng([43, number])
    found: dict[str, list[npt.NDArray[np.float64]]] = {"own": [], "before": [], "plain": []}
    for _ in range(simulations // _AT_ONCE):
        models = drawn(rng, change, items)
        found["own"].append(p_values(models))
        with patch.object(model_differences, "_OF_SUMS", 0.0):
            found["before"].append(p_values(models))
        found["plain"].append(plain(rng, models))
    own, before, swaps = (np.concatenate(parts) for parts in found.values())
    shares = {"level": own <= LEVEL, "before": before <= LEVEL, "plain": swaps <= LEVEL}
    shares |= {"strict": own <= STRICT, "strict_before": before <= STRICT}
    return {name: round(float(hits.mean()), 4) for name, hits in shares.items()}


def drawn(rng: np.random.Generator, change: Change, items: int) -> npt.NDArray[np.int64]:
    """Return the sums of pairs of models, one after the other."""
    pairs = len(change[0])
    shape = (_AT_ONCE, items, pairs)
    common = np.sqrt(0.5) * (rng.standard_normal((*shape[:2], 1)) + rng.standard_normal(shape))
    models = []
    for share, gaps in zip(DISCORDANT, change, strict=True):
        value = special.ndtr(np.sqrt(0.7) * common + np.sqrt(0.3) * rng.standard_normal(shape))
        gap = np.array(gaps)
        only_b, only_a = value < (share - gap) / 2, value > 1 - (share + gap) / 2
        one = np.ones(shape, dtype=np.int64)
        columns = [~only_b, one, ~only_a, one, ~(only_a | only_b), one]
        models.append(np.stack(columns, axis=-1).astype(np.int64))
    return np.stack(models, axis=1).reshape(-1, items, pairs, 6)


def p_values(models: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the p-values of each model and the next one."""
    pairs = np.arange(len(models)).reshape(-1, 2)
    swaps = model_differences._exact_swaps(models, ad, False)
    return model_differences._over_signs(models, pairs, swaps, False)[0]


def plain(rng: np.random.Generator, models: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the p-values of random swaps of the models' absolute differences."""
    change = models[..., 0] - models[..., 2]
    old, new = change[::2], change[1::2]
    swaps = rng.integers(0, 2, (_SWAPS, models.shape[1])).astype(np.float32)
    moved = np.einsum("sn,rnp->srp", swaps, (new - old).astype(np.float32), optimize=True)
    sums = old.sum(axis=1) + moved, new.sum(axis=1) - moved
    found = np.abs(np.abs(sums[1]).sum(axis=-1) - np.abs(sums[0]).sum(axis=-1))
    seen = np.abs(np.abs(new.sum(axis=1)).sum(axis=-1) - np.abs(old.sum(axis=1)).sum(axis=-1))
    return np.asarray(((found >= seen - 0.5).sum(axis=0) + 1) / (len(swaps) + 1))


if __name__ == "__main__":
    main()
