"""The prompts for the items of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from fairstats._lib.problems import input_error
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.vignette_items import Item

#: The strategies, each with its maximum length of a reply in tokens. That is enough for the
#: option's text after its letter, for two sentences before the line with the answer, or for three
#: lines. ``prompts/sources.toml`` gives their sources.
STRATEGIES = {
    "plain": 24,
    "cot": 160,
    "role": 24,
    "aware": 24,
    "few": 24,
    "counterfactual": 240,
    "adversarial": 24,
}

#: The strategies for decisions, levels and scores; their files end in ``-value``.
VALUE_STRATEGIES = ("plain", "cot")

_TEMPLATES = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Prompt:
    """One variant of an item as a prompt.

    Without retrieval, it has no hash of the snippets in the prompt.
    """

    item: Item
    attribute: str
    group: str
    text: str
    context_sha256: str | None = None


def list_prompts(benchmark: Benchmark, items: Iterable[Item], strategy: str) -> list[Prompt]:
    """Return the prompts of these items, ordered by item and then by group.

    Raises
    ------
    InputError
        If there is no such strategy, or its prompt asks for a letter and the benchmark has another
        kind of answers.
    """
    template = load_prompt(strategy)
    form = ""
    if not benchmark.kind.needs_key:
        if strategy not in VALUE_STRATEGIES:
            message = f"its prompt asks for a letter, and {benchmark.name} has no letters"
            remedy = f"use {' or '.join(VALUE_STRATEGIES)}"
            raise input_error(f"strategy = {strategy!r}", message, remedy)
        template, form = load_template(f"{strategy}-value"), answer_form(benchmark)
    prompts = []
    for item in items:
        options = form or "\n".join(f"{letter}. {text}" for letter, text in item.options.items())
        for attribute, group in benchmark.variants:
            if group in item.variants:  # If not, its gaps come from the attribute that crosses it.
                text = template.substitute(question=item.variants[group], options=options)
                prompts.append(Prompt(item, attribute, group, text))
    return prompts


def answer_form(benchmark: Benchmark) -> str:
    """Return what a decision, a level or a score may be, to complete "Answer with …".

    Examples
    --------
    >>> from dataclasses import replace
    >>> from fairstats.benchmarks.kinds import KINDS
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> score = replace(load_benchmark("demo"), kind=KINDS["score"], limits=(0, 27), options=())
    >>> answer_form(score)
    'a number from 0 to 27'
    """
    kind, labels = benchmark.kind.name, benchmark.labels
    means = f", where a higher {kind} means {benchmark.higher}" if benchmark.higher else ""
    if kind == "score":
        low, high = benchmark.limits
        return f"a number from {low:g} to {high:g}{means}"
    listed = ", ".join(f"{o} ({labels[o]})" if o in labels else o for o in benchmark.options)
    if kind == "decision":
        return f"one of: {listed}"
    values = list(benchmark.values)
    whole = [
        str(number) for number in range(int(benchmark.limits[0]), int(benchmark.limits[1]) + 1)
    ]
    if values == whole and not labels:
        return f"one level from {values[0]} to {values[-1]}{means}"
    return f"one of these levels, from lowest to highest{means}: {listed}"


def load_prompt(strategy: str) -> Template:
    """Return the prompt template of a strategy, with placeholders ``$question`` and ``$options``.

    Examples
    --------
    >>> sorted(load_prompt("plain").get_identifiers())
    ['options', 'question']
    """
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise input_error(f"strategy = {strategy!r}", "unknown", f"use one of {known}")
    return load_template(strategy)


def load_template(name: str) -> Template:
    """Return a file of ``prompts/`` by name."""
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8").strip())


def quoted(text: str) -> str:
    """Return an external text with a mark before each line.

    Examples
    --------
    >>> print(quoted("One line.\\u2028Another."))
    > One line.
    > Another.
    """
    # splitlines recognises every sign that some reader treats as a line ending.
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
