"""Error rates of the tests of an audit for leakage, by simulation.

Each item has 4 or 5 options of one to three words, and each text has ``words`` of these words on
average, drawn without regard to the item. There are 100 words, equally frequent, or (``zipf``) the
r-th as frequent as 1 / r. In a share ``leaking`` of the items, the text has all words of the key
too. ``rate`` is the mean share of an option's words that a text has by chance.

Tests are those of `leakage_findings`; ``… t`` are those of Student's t, for comparison. The columns
are shares of p ≤ 0.05, and ``… covers`` the shares of limits with the true value: 0 or, if texts
leak, the mean of all estimates. Writes results/leakage_errors.csv, in 15 minutes.

    python benchmarks/leakage_errors.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from fairstats.benchmarks.loading import load_benchmark
from fairstats.inference.differences import mean_difference
from fairstats.vignettes.leakage import BY_CHANCE, OVERLAP, leakage_findings
from fairstats.vignettes.tables import DISTRACTOR, KEY

OUT = Path(__file__).resolve().parent / "results" / "leakage_errors.csv"
ITEMS = (20, 60, 100, 200, 800)
# Options of an item, words of a text, and whether words are equally frequent.
TEXTS = (*product((4, 5), (0.2, 0.5, 1.0, 2.0, 5.0), (False,)), (4, 0.5, True), (4, 2.0, True))
VOCABULARY = 100
TESTED = {
    "key": "key beyond chance",
    "distractors": "distractors beyond chance",
    "beyond": "advantage beyond chance",
    "advantage": "advantage",
    "pair": "advantage difference",
}


def main() -> None:
    """Write the shares of significant tests and the coverage of each design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=600)
    simulations = parser.parse_args().simulations
    rows = []
    designs = [(n, *text, 0.0) for n, text in product(ITEMS, TEXTS)]
    designs += [(n, 4, words, False, 0.1) for n, words in product(ITEMS, (0.2, 1.0, 5.0))]
    for design in designs:
        rows.append(errors(*design, simulations))
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(OUT, index=False, float_format="%.4f")


def errors(
    n: int, options: int, words: float, zipf: bool, leaking: float, simulations: int
) -> dict[str, float]:
    """Return the shares of significant tests of one design, and the coverage of limits."""
    rng = np.random.default_rng([71, n, options, round(10 * words), zipf, round(10 * leaking)])
    benchmark = load_benchmark("demo")
    found, student, rates = [], [], []
    while len(student) < simulations:
        # Each group of the benchmark is one simulation.
        tables = []
        for attribute in benchmark.varied:
            for group in attribute.groups:
                own, chance = drawn(rng, n, options, words, zipf, leaking)
                tables.append(measures(own, chance, attribute.name, group))
                student.append(list(by_t(own, chance)))
                rates.append(chance.mean())
        found.append(leakage_findings(pd.concat(tables, ignore_index=True), benchmark))
    rows, row = pd.concat(found), {}
    for name, quantity in TESTED.items():
        of = rows[(rows["quantity"] == quantity) & (rows["measure"] == OVERLAP)]
        truth = 0.0 if not leaking or name == "pair" else of["estimate"].mean()
        row[name] = (of["p_value"] <= 0.05).mean()
        row[f"{name} covers"] = of["ci_low"].le(truth).mul(of["ci_high"].ge(truth)).mean()
    row |= dict(zip([f"{name} t" for name in TESTED], np.mean(student, axis=0), strict=False))
    design = {"items": n, "options": options, "words": words, "zipf": int(zipf)}
    design |= {"leaking": leaking, "simulations": len(student), "rate": float(np.mean(rates))}
    return design | {name: round(float(value), 4) for name, value in row.items()}


def drawn(
    rng: np.random.Generator, n: int, options: int, words: float, zipf: bool, leaking: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the shares of each option's words in its item's text, and in all other texts."""
    frequent = 1 / np.arange(1, VOCABULARY + 1) ** float(zipf)
    frequent /= frequent.sum()

    def with_words(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        which = np.repeat(np.arange(len(numbers)), numbers)
        there = np.zeros((len(numbers), VOCABULARY))
        there[which, rng.choice(VOCABULARY, len(which), p=frequent)] = 1
        return there

    of_options = with_words(rng.integers(1, 4, n * options))
    texts = with_words(rng.poisson(words, n))
    leaks = rng.random(n) < leaking
    texts[leaks] = np.maximum(texts[leaks], of_options[::options][leaks])
    of_options /= of_options.sum(axis=1, keepdims=True)
    own = (of_options * np.repeat(texts, options, axis=0)).sum(axis=1)
    chance = (of_options @ texts.sum(axis=0) - own) / (n - 1)
    return own.reshape(n, options), chance.reshape(n, options)


def measures(
    own: npt.NDArray[np.float64], chance: npt.NDArray[np.float64], attribute: str, group: str
) -> pd.DataFrame:
    """Return shares as measures of the variants of a group. The first option is the key."""
    n, options = own.shape
    names = {"attribute": attribute, "group": group, "item_id": np.repeat(np.arange(n), options)}
    table = pd.DataFrame(names | {"role": np.tile([KEY] + [DISTRACTOR] * (options - 1), n)})
    both = (OVERLAP, own), (OVERLAP + BY_CHANCE, chance)
    return pd.concat([table.assign(measure=name, value=values.ravel()) for name, values in both])


def by_t(own: npt.NDArray[np.float64], chance: npt.NDArray[np.float64]) -> Iterator[bool]:
    """Yield whether Student's t is significant, in the order of the tests of a group."""
    beyond = own - chance
    key, distractors = beyond[:, 0], beyond[:, 1:].mean(axis=1)
    advantage = own[:, 0] - own[:, 1:].mean(axis=1)
    for values in (key, distractors, key - distractors, advantage):
        yield mean_difference(np.clip(values, -2, 2), largest=2).p_value <= 0.05


if __name__ == "__main__":
    main()
