"""The prompts that ask the items of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from fairstats._lib.problems import InputError, Problem
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item

#: The strategies, each with the longest reply it asks for in tokens: room for a model that writes
#: the option's text behind its letter, for two sentences before the answer's line, or for three
#: lines. ``prompts/sources.toml`` says where each comes from.
STRATEGIES = {
    "plain": 24,
    "cot": 160,
    "role": 24,
    "aware": 24,
    "few": 24,
    "counterfactual": 240,
    "adversarial": 24,
}

_TEMPLATES = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompt:
    """One variant of an item as it is asked.

    Parameters
    ----------
    item : Item
        The item.
    attribute, group : str
        What the variant is written for.
    text : str
        The whole message.
    context_sha256 : str or None
        Which snippets stand in it; None where none were looked for.
    """

    item: Item
    attribute: str
    group: str
    text: str
    context_sha256: str | None = None


def list_prompts(benchmark: Benchmark, items: Iterable[Item], strategy: str) -> list[Prompt]:
    """The prompts of these items, in their order and, within an item, that of the groups.

    Raises
    ------
    InputError
        When there is no such strategy.
    """
    template = load_prompt(strategy)
    prompts = []
    for item in items:
        options = "\n".join(f"{letter}. {text}" for letter, text in item.options.items())
        for attribute, group in benchmark.variants:
            text = template.substitute(question=item.variants[group], options=options)
            prompts.append(Prompt(item, attribute, group, text))
    return prompts


def load_prompt(strategy: str) -> Template:
    """The message of a strategy, with the placeholders ``$question`` and ``$options``.

    Raises
    ------
    InputError
        When there is no such strategy.

    Examples
    --------
    >>> sorted(load_prompt("plain").get_identifiers())
    ['options', 'question']
    """
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise InputError([Problem(f"strategy = {strategy!r}", "unknown", f"use one of {known}")])
    return load_template(strategy)


def load_template(name: str) -> Template:
    """A file of ``prompts/`` by its name."""
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8").strip())


def quoted(text: str) -> str:
    """A text from outside, each of its lines with a mark before it.

    Examples
    --------
    >>> print(quoted("One line.\\u2028Another."))
    > One line.
    > Another.
    """
    # splitlines knows every sign that some reader takes for the end of a line.
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
