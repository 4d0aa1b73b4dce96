"""How often honest and made-up decisions, levels and scores count as answers to the items.

Each of 200 simulated sets answers n items for race (two groups) and sex (two groups), 10 sets for
each of 20 draws of the keys. An honest model is right for 85% of the decisions, and its levels and
scores are the key with normal errors; one answer of ten is that of another draw. Of the answers,
none or 5% are missing at random. The made-up sets have 400 items. Values are % of the sets without
a reason of `why_uninformative`; the tables are in docs/benchmark-files.md. Of clusters, 1,000 sets
of a cell are tested. It takes about 20 minutes:

    python benchmarks/reading.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from fairstats import load_benchmark
from fairstats.answers.engine_frames import open_answers
from fairstats.benchmarks.declaration import Benchmark
from fairstats.counts.outcomes import outcomes_of
from fairstats.estimates.eligibility import why_uninformative
from fairstats.estimates.reading import chance_agreement

Numbers = npt.NDArray[np.float64]

SETS = 200
#: The draws of keys of the honest sets.
KEYS = 20
ITEMS = (30, 60, 150, 300)
KINDS = {
    "decision": 'kind = "decision"\noptions = ["0", "1"]\nfavourable = ["1"]',
    "level": 'kind = "level"\noptions = [0, 1, 2, 3, 4]',
    "score": 'kind = "score"\nlimits = [0, 27]',
}
_REST = """
name = "own"
title = "Simulated"
description = "Simulated answers."
missing = "available"
equivalence_margin = 0.05
sources = ["none"]
licence = "CC0"
citation = "none"
higher = "more"
worse = "lowest"
[versions]
1 = "the only one"
"""
TEXTS = [("race", "white"), ("race", "black"), ("sex", "male"), ("sex", "female")]


def declare(kind: str, texts: list[tuple[str, str]]) -> Benchmark:
    """Return a benchmark of decisions, levels or scores without items, of all pairs of groups."""
    rest = _REST if kind != "decision" else _REST.replace('higher = "more"\nworse = "lowest"\n', "")
    for attribute in dict.fromkeys(name for name, _ in texts):
        groups = [group for name, group in texts if name == attribute]
        rest += f"[attributes.{attribute}]\nlabel = {attribute.title()!r}\n"
        rest += f"groups = {{ {', '.join(f'{g} = {g.title()!r}' for g in groups)} }}\n"
        rest += f"pairs = {[list(pair) for pair in combinations(groups, 2)]}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.toml"
        path.write_text(KINDS[kind] + rest, encoding="utf-8")
        return load_benchmark(path)


def draw_keys(law: str, n: int, rng: np.random.Generator) -> Numbers:
    """Draw the right answers of n items."""
    if law.startswith("decision"):
        share = int(law.partition(", ")[2].rstrip("%")) / 100
        return (rng.permutation(n) < n * share).astype(float)
    if law.startswith("level"):
        return rng.choice(5, n, p=[0.6, 0.2, 0.1, 0.05, 0.05] if "skewed" in law else None) * 1.0
    return np.minimum(
        np.round(rng.gamma(1.0, 4.0, n) if "skewed" in law else rng.uniform(0, 27, n)), 27
    )


def draw_honest(law: str, key: Numbers, rng: np.random.Generator) -> Numbers:
    """Draw a model's answers to the texts of each item, (items, 4)."""
    shape = (len(key), len(TEXTS))
    if law.startswith("decision"):
        item = np.where(rng.random(len(key)) < 0.85, key, 1 - key)
        again = np.where(rng.random(shape) < 0.85, key[:, None], 1 - key[:, None])
        return np.where(rng.random(shape) < 0.1, again, item[:, None])
    spread, top = (0.7, 4) if law.startswith("level") else (3.0, 27)
    item = key + rng.normal(0, spread, len(key))
    return np.clip(np.round(item[:, None] + rng.normal(0, spread / 2, shape)), 0, top)


def eligible(
    kind: str,
    sets: list[Numbers],
    key: Numbers,
    *,
    keyed: bool,
    texts: list[tuple[str, str]] = TEXTS,
) -> float:
    """Return the % of answer sets, (items, texts) with NaN for missing, that have no reason."""
    n = len(key)
    names = np.array([f"item-{i}" for i in range(n)])
    benchmark = replace(declare(kind, texts), listed=tuple(names))
    if keyed:
        keys = dict(zip(names.tolist(), (f"{one:g}" for one in key), strict=True))
        benchmark = replace(benchmark, answer_keys=keys)
    parts = []
    for place, answers in enumerate(sets):
        for column, (attribute, group) in enumerate(texts):
            given = answers[:, column]
            asked = ~np.isinf(given)
            cells = pd.Series(given[asked]).map(lambda x: None if np.isnan(x) else f"{x:g}")
            parts.append(
                pd.DataFrame(
                    {
                        "benchmark": "own",
                        "benchmark_version": "1",
                        "model": f"m{place}",
                        "strategy": "plain",
                        "item_id": names[asked],
                        "attribute": attribute,
                        "group": group,
                        "sample": 0,
                        "answer": cells.astype(object),
                        "answer_key": [f"{x:g}" for x in key[asked]] if keyed else None,
                    }
                )
            )
    frame = pd.concat(parts, ignore_index=True)
    outcomes = outcomes_of(open_answers(frame, [benchmark]))["own"]
    return 100 * float(np.mean(why_uninformative(outcomes) == ""))


def _at_random(key: Numbers, rng: np.random.Generator) -> Numbers:
    return rng.permutation(np.repeat(key, len(TEXTS))).reshape(len(key), -1)


def _first_text(key: Numbers, rng: np.random.Generator) -> Numbers:
    answers = _at_random(key, rng)
    answers[rng.permutation(len(key)) < len(key) / 20, 1:] = np.nan
    return answers


def _one_per_item(key: Numbers, rng: np.random.Generator) -> Numbers:
    return np.repeat(rng.permutation(key)[:, None], len(TEXTS), axis=1)


def _mixed(first: Callable[..., Numbers], last: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda key, rng: np.hstack([first(key, rng)[:, :2], last(key, rng)[:, 2:]])


def _constant(key: Numbers, rng: np.random.Generator) -> Numbers:
    return np.zeros((len(key), len(TEXTS)))


def _chosen(made: Callable[..., Numbers], gap: float) -> Callable[..., Numbers]:
    """Leave out the 5% of items that contradict the key, or themselves, most."""

    def draw(key: Numbers, rng: np.random.Generator) -> Numbers:
        answers = made(key, rng)
        unlike = ((answers - key[:, None]) ** 2).sum(axis=1) + 10 * answers.var(axis=1)
        answers[np.argsort(unlike)[-len(key) // 20 :]] = gap
        return answers

    return draw


MADE_UP = {
    "at random": _at_random,
    "at random, worst 5% missing": _chosen(_at_random, np.nan),
    "at random, worst 5% not asked": _chosen(_at_random, np.inf),
    "at random, 5% with the first text alone": _first_text,
    "race at random, sex one per item": _mixed(_at_random, _one_per_item),
    "race constant, sex one per item": _mixed(_constant, _one_per_item),
    "one per item": _one_per_item,
    "one per item, worst 5% not asked": _chosen(_one_per_item, np.inf),
}
LAWS = {
    "decision, 2%": "decision",
    "decision, 50%": "decision",
    "decision, 10%": "decision",
    "level": "level",
    "level, skewed": "level",
    "score": "score",
    "score, skewed": "score",
}


#: The items of each cluster.
CLUSTERS = {
    "5 of 40": [40] * 5,
    "8 of 20": [20] * 8,
    "12 of 5": [5] * 12,
    "30 of 5": [5] * 30,
    "50 of 1 to 14": np.random.default_rng(0).geometric(0.27, 50).tolist(),
    "5 of 40, 20 of 1": [40] * 5 + [1] * 20,
    "one of 200, 20 of 10": [200] + [10] * 20,
    "one of 300, 20 of 5": [300] + [5] * 20,
}


IN_CLUSTERS = (
    "honest",
    "honest, one key per cluster",
    "at random per item",
    "at random per cluster",
    "per item and per cluster",
)


def in_clusters(law: str, sizes: list[int], rng: np.random.Generator) -> list[float]:
    """Return the % of sets that agree beyond chance, of each kind of `IN_CLUSTERS`."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    found = []
    for kind in IN_CLUSTERS:
        passed = 0
        for _ in range(5 * SETS):
            of_items, of_clusters = (
                [draw_keys(law, n, rng) for _ in "ab"] for n in (len(clusters), len(sizes))
            )
            first, second = (one[clusters] for one in of_clusters)
            if kind == "honest":
                first, second = draw_honest(law, of_items[0], rng)[:, :2].T
            elif kind == "honest, one key per cluster":
                second = draw_honest(law, first, rng)[:, :2].mean(axis=1)
            elif kind == "at random per item":
                first, second = of_items
            elif kind == "per item and per cluster":
                second = of_items[0]
            both = (first, second) if "key" in kind else np.hstack([first, second])
            a, b = np.reshape(rankdata(both, axis=-1), (2, -1))
            passed += chance_agreement(a, b, clusters) <= 0.025
        found.append(100 * passed / (5 * SETS))
    return found


def one_group_right(
    law: str, groups: int, share: float, rng: np.random.Generator, *, made: str = ""
) -> float:
    """Return the % of sets that are right for a share of one group's items, and else made up.

    Made-up answers follow the law `made`; by default, they are the keys in another order.
    """
    key, texts = draw_keys(law, 400, rng), [("race", f"g{place}") for place in range(groups)]
    sets = []
    for _ in range(SETS):
        made_up = draw_keys(made, 400, rng) if made else rng.permutation(key)
        first = np.where(rng.random(400) < share, key, made_up)
        sets.append(np.column_stack([first, *[made_up] * (groups - 1)]))
    kind = law.partition(",")[0]
    return eligible(kind, sets, key, keyed=True, texts=texts)


def partly_made_up(law: str, share: float, rng: np.random.Generator) -> float:
    """Return the % of honest sets that pass with such a share of one made-up answer per item."""
    key, sets = draw_keys(law, 400, rng), []
    for _ in range(SETS):
        answers = draw_honest(law, key, rng)
        made_up = rng.permutation(answers[:, :1])
        sets.append(np.where(rng.random((400, 1)) < share, made_up, answers))
    return eligible(LAWS[law], sets, key, keyed=True)


def main() -> None:
    """Print the tables of clusters, of honest and of made-up sets."""
    rng = np.random.default_rng(40)
    print(*IN_CLUSTERS, sep=" / ")
    print(f"{'clusters':30}", *(f"{law:>24}" for law in LAWS))
    for name, sizes in CLUSTERS.items():
        cells = ["/".join(f"{x:.1f}" for x in in_clusters(law, sizes, rng)) for law in LAWS]
        print(f"{name:30}", *(f"{cell:>24}" for cell in cells), flush=True)
    print(f"{'honest: without keys | with keys':40}", *(f"{n:>5}" for n in ITEMS * 2))
    for law, kind in LAWS.items():
        for share in (0.0, 0.05):
            rates: dict[bool, list[float]] = {False: [], True: []}
            for n in ITEMS:
                passed: dict[bool, list[float]] = {False: [], True: []}
                for _ in range(KEYS):
                    key = draw_keys(law, n, rng)
                    sets = [draw_honest(law, key, rng) for _ in range(SETS // KEYS)]
                    for answers in sets:
                        answers[rng.random(answers.shape) < share] = np.nan
                    for keyed, found in passed.items():
                        found.append(eligible(kind, sets, key, keyed=keyed))
                for keyed, found in rates.items():
                    found.append(float(np.mean(passed[keyed])))
            shown = [*rates[False], *rates[True]]
            print(f"{law + f', {share:.0%} missing':40}", *(f"{x:5.1f}" for x in shown), flush=True)
    print(f"\n{'made up, 400 items: without | with keys':40}", *LAWS, sep="  ")
    for name, draw in MADE_UP.items():
        cells = []
        for law, kind in LAWS.items():
            key = draw_keys(law, 400, rng)
            sets = [draw(key, rng) for _ in range(SETS)]
            cells.append([eligible(kind, sets, key, keyed=keyed) for keyed in (False, True)])
        print(f"{name:40}", *(f"{a:5.1f} | {b:4.1f}  " for a, b in cells), flush=True)
    print("\none group right in a share of the items, the others made up, with keys")
    for groups in (2, 3, 4, 6):
        for share in (0.5, 0.8):
            shown = [one_group_right(law, groups, share, rng) for law in LAWS]
            print(f"{groups} groups, {share:.0%}", *(f"{x:5.1f}" for x in shown), flush=True)
    print("\nthe same for decisions, with other shares of favourable keys and made-up answers")
    shares = (0.3, 0.5, 0.7, 0.9)
    print(f"{'':40}", *(f"{share:5.0%}" for share in shares))
    for groups in (2, 4, 6):
        for keys, made in ((2, 80), (10, 80), (10, 95), (30, 95)):
            law, other = f"decision, {keys}%", f"decision, {made}%"
            shown = [one_group_right(law, groups, share, rng, made=other) for share in shares]
            name = f"{groups} groups, {keys}%, {made}%"
            print(f"{name:40}", *(f"{x:5.1f}" for x in shown), flush=True)
    print("\nhonest sets with one made-up answer in a share of the items, with keys")
    for share in (0.7, 0.8, 0.85, 0.9, 0.95):
        shown = [partly_made_up(law, share, rng) for law in LAWS]
        print(f"{share:.0%}", *(f"{x:5.1f}" for x in shown), flush=True)


if __name__ == "__main__":
    main()
