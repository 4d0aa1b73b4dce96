"""Vignettes of a few words, invented for tests of text measures."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from fairstats.benchmarks.loading import load_benchmark
from fairstats.benchmarks.vignette_items import Item, Vignettes

NEUTRAL = "A patient has ringing in the ears after a drug. Which action explains it?"
OPTIONS = MappingProxyType(
    {
        "A": "Cross-linking of DNA",
        "B": "Generation of free radicals",
        "C": "Inhibition of proteasome",
        "D": "Drug binding",
    }
)


def item(
    name: str = "x",
    *,
    white: str = "",
    black: str = "",
    key: str = "A",
    options: Mapping[str, str] = OPTIONS,
    neutral: str = NEUTRAL,
) -> Item:
    """Return an item with two variants: the neutral text with these words before it."""
    variants = {"original": neutral, "neutralized": neutral}
    variants |= {"white": f"{white} {neutral}".strip(), "black": f"{black} {neutral}".strip()}
    return Item(name, MappingProxyType(dict(options)), key, MappingProxyType(variants))


def vignettes(*items: Item) -> Vignettes:
    """Return these items as a benchmark that varies only race."""
    demo = load_benchmark("demo")
    attributes = {name: demo.attributes[name] for name in ("baseline", "race")}
    return Vignettes(replace(demo, attributes=attributes), items, Path("x.jsonl"), "")
