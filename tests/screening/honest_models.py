"""Draw answer sets of honest models from item response theory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np
import pandas as pd

from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import KINDS
from fairstats.benchmarks.loading import load_benchmark
from fairstats.counts.grid import MISSING
from fairstats.inference.multiplicity import adjust_pvalues
from fairstats.screening.answer_sheets import Codes, Layout, Sheet
from fairstats.screening.findings import Flag
from fairstats.screening.panels import Panel
from fairstats.screening.screen import checks_of

LETTERS = "ABCDEFGHIJ"
#: A model that prefers a letter this much gives it nearly always where it does not know better.
STRONGEST_HABIT = 3.0
#: The share of wrong keys, if there are any.
WRONG_KEYS = 0.03


@dataclass(frozen=True)
class Items:
    """Items with a key, their difficulty, and what sways all models on each variant.

    Attributes
    ----------
    layout : Layout
        Items, keys and variants as screening sees them.
    difficulty : ndarray, shape (items, 1)
        On the logit scale.
    sway : ndarray, shape (items, variants)
        Added to every model's ability on a variant; times how easily the model is swayed.
    appeal : ndarray, shape (items, 1, options)
        Popularity of wrong letters on the scale of the Gumbel distribution.
    """

    layout: Layout
    difficulty: np.ndarray
    sway: np.ndarray
    appeal: np.ndarray


def draw_items(benchmark: Benchmark, *, rng: np.random.Generator) -> Items:
    """Draw difficulties, and what sways models: the second groups of pairs to a wrong letter."""
    names, options = tuple(benchmark.answer_keys), benchmark.options
    key = np.array([options.index(benchmark.answer_keys[name]) for name in names], dtype=np.int8)
    n, variants = len(names), benchmark.variants
    side = {
        (attribute.name, group): sign
        for attribute in benchmark.varied
        for pair in attribute.pairs
        for group, sign in zip(pair, (1, -1), strict=True)
    }
    for one in benchmark.varied:
        for group, levels in one.levels.items() if one.crosses and not one.pairs else ():
            own = zip(one.crosses, levels, strict=True)
            side[one.name, group] = sum(side.get(level, 0) for level in own)
    direction = np.array([side.get(variant, 0) for variant in variants])
    sway = direction * rng.gamma(1.5, 0.6, (n, 1)) + rng.normal(0, 0.5, (n, len(variants)))
    appeal = rng.normal(0, 1.2, (n, 1, len(options)))
    return Items(Layout(benchmark, "1", names, key), rng.normal(0, 1.5, (n, 1)), sway, appeal)


def simulated_benchmark(n: int, options: int, *, rng: np.random.Generator) -> Benchmark:
    """Return the demonstration's declaration with so many items and options, without texts."""
    letters = LETTERS[:options]
    keys = {f"item-{number:04}": str(rng.choice(list(letters))) for number in range(n)}
    demo = load_benchmark("demo")
    return replace(
        demo, name="simulated", options=tuple(letters), answer_keys=keys, items_file=None
    )


def draw_letters(
    items: Items,
    accuracy: float,
    *,
    noise: float = 0.0,
    missing: float = 0.0,
    direction: bool = True,
    habit: np.ndarray | None = None,
    rng: np.random.Generator,
) -> Codes:
    """Draw the letters of one honest model.

    Parameters
    ----------
    items : Items
        The items.
    accuracy : float
        The share of variants that it answers correctly, before noise.
    noise : float
        The share of variants that are answered anew at a high temperature.
    missing : float
        The share of variants without an answer, more of them on hard items.
    direction : bool
        Whether the model is swayed as all others are, or by each variant in a way of its own.
    habit : ndarray, shape (options,), optional
        How much it prefers each letter where it does not know the answer, the right one included,
        on the scale of `Items.appeal`.
    rng : numpy.random.Generator
        The source of randomness.
    """
    n, variants = items.sway.shape
    options = items.appeal.shape[2]
    own = rng.normal(0, 0.8, (n, 1)) + rng.logistic(0, 0.6, (n, variants))
    sway = items.sway if direction else items.sway * rng.choice([-1, 1], items.sway.shape)
    latent = rng.uniform(0.6, 1.4) * sway - items.difficulty + own
    correct = latent >= np.quantile(latent, 1 - accuracy)
    again = rng.random((n, variants)) < noise
    tired = latent + rng.logistic(0, 2, (n, variants)) >= np.quantile(latent, 1 - accuracy)
    correct = np.where(again, tired, correct)
    taste = items.appeal + rng.normal(0, 0.5, (n, 1, options))
    taste = taste + rng.gumbel(0, 0.5 + 1.5 * again[:, :, None], (n, variants, options))
    if habit is None:
        taste[np.arange(n), :, items.layout.key] = -np.inf
    else:
        taste += habit
    letters = np.where(correct, items.layout.key[:, None], taste.argmax(axis=2)).astype(np.int8)
    refuses = rng.random((n, variants)) < 2 * missing / (1 + np.exp(-items.difficulty))
    return np.where(refuses, np.int8(MISSING), letters)


def boards(
    n: int,
    options: int,
    models: int,
    accuracy: tuple[float, float],
    *,
    noise: float,
    draws: int,
    candidates: int,
    kind: str = "choice",
    screened: str = "any",
    rng: np.random.Generator,
) -> Iterator[Panel]:
    """Yield panels: so many models of this accuracy, and honest candidates of any accuracy.

    Every other panel has noise; so has every other candidate. Candidates are screened against the
    panel. The first is as accurate as the panel's models. With `screened` "strong", all have an
    accuracy of 0.98 to 0.995; if "undirected", none is swayed in the direction of the panel. With
    "letters", all models, the panel's too, prefer some letter where they do not know the answer.
    With "one effect", only the first attribute sways models. With "wrong keys", 3% of the keys are
    wrong, and the candidates have an accuracy of 0.93 to 0.98 without these.
    """

    def habit() -> np.ndarray | None:
        if screened != "letters":
            return None
        return rng.uniform(0, STRONGEST_HABIT) * (np.arange(options) == rng.integers(options))

    for draw in range(draws):
        items = draw_items(simulated_benchmark(n, options, rng=rng), rng=rng)
        layout = replace(items.layout, benchmark=replace(items.layout.benchmark, kind=KINDS[kind]))
        if screened == "one effect":
            first = layout.benchmark.varied[0].name
            swayed = [name == first for name, _ in layout.benchmark.variants]
            items = replace(items, sway=items.sway * swayed)
        if screened == "wrong keys":
            wrong = rng.random(n) < WRONG_KEYS
            layout = replace(layout, key=((layout.key + wrong) % options).astype(np.int8))
        reference = [
            Sheet(
                f"panel-{number}",
                "plain",
                0,
                draw_letters(
                    items,
                    rng.uniform(*accuracy),
                    noise=noise * (draw % 2),
                    missing=0.005,
                    habit=habit(),
                    rng=rng,
                ),
            )
            for number in range(models)
        ]
        lowest = 1 / options + 0.05
        levels = [rng.uniform(*accuracy), *rng.uniform(lowest, 0.98, candidates - 1)]
        if screened == "strong":
            levels = list(rng.uniform(0.98, 0.995, candidates))
        if screened == "wrong keys":
            levels = list(rng.uniform(0.93, 0.98, candidates))
        sheets = [
            Sheet(
                f"candidate-{number}",
                "plain",
                0,
                draw_letters(
                    items,
                    level,
                    noise=noise * ((number + draw // 2) % 2),
                    missing=rng.choice([0, 0.03]),
                    direction=screened != "undirected",
                    habit=habit(),
                    rng=rng,
                ),
            )
            for number, level in enumerate(levels)
        ]
        yield Panel(layout, tuple(sheets), tuple(reference))


def flags_of(sheet: Sheet, panel: Panel) -> dict[str, Flag]:
    """Return the flags of a set by check, as `screen` gives them to a single set."""
    made = (check(sheet, panel) for check in checks_of(panel.layout))
    found = [finding for finding in made if finding is not None]
    adjusted = adjust_pvalues([finding.p_value for finding in found])
    return {one.check: one.flag(float(p)) for one, p in zip(found, adjusted, strict=True)}


def honest_panel(
    benchmark: Benchmark, models: int, *, rng: np.random.Generator, version: str = "1"
) -> list[pd.DataFrame]:
    """Draw the answers tables of honest models, most of them 70 to 90% correct."""
    items = draw_items(benchmark, rng=rng)
    rows = pd.DataFrame(
        [
            (item, *variant, key)
            for item, key in benchmark.answer_keys.items()
            for variant in benchmark.variants
        ],
        columns=["item_id", "attribute", "group", "answer_key"],
    )
    return [
        rows.assign(
            benchmark=benchmark.name,
            benchmark_version=version,
            model=f"Model-{ascii_uppercase[number]}",
            strategy="plain",
            sample=0,
            answer=np.array(benchmark.options, dtype=object)[
                draw_letters(items, rng.uniform(0.7, 0.9), rng=rng).ravel()
            ],
            status="ok",
        )
        for number in range(models)
    ]
