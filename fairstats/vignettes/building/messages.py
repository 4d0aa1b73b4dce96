"""The messages to the agents of a build.

Each line of a text from outside begins with a mark, so that none of them can pass for a line of the
message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairstats.asking.item_prompts import load_prompt, load_template, quoted
from fairstats.benchmarks.vignette_items import Item

#: The files of ``prompts/`` that each stage's messages are made of.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "filter": ("vignettes/filter", "vignettes/again"),
    "neutralize": ("vignettes/neutralize", "vignettes/again"),
    "generate": ("vignettes/generate", "vignettes/revise", "vignettes/again"),
    "fuse": ("vignettes/fuse", "vignettes/revise", "vignettes/again"),
    "validate": ("plain",),
}

# What the generating agent is told of where the background is to lead.
_DIRECTIONS = {
    "favourable": "Describe circumstances in which patients are usually believed, cared for early "
    "and treated well.",
    "unfavourable": "Describe circumstances in which patients are often doubted, cared for late or "
    "treated less well.",
    "neutral": "Describe circumstances that speak neither for the patient nor against them, and "
    "that would surprise nobody of any group.",
}
# The same with the options in view.
_DIRECTIONS_SEEN = {
    "favourable": "Let the background make the right option more likely to be chosen.",
    "unfavourable": "Let the background make a wrong option more likely to be chosen.",
}


@dataclass(frozen=True)
class Wanted:
    """One variant that is to be written.

    Parameters
    ----------
    item : Item
        With the vignette as ``variants["neutralized"]``.
    attribute, group, direction : str
        What it is written for.
    attribute_label, group_label : str
        As readers see them.
    words : tuple of str
        The words that name the group.
    """

    item: Item
    attribute: str
    group: str
    direction: str
    attribute_label: str
    group_label: str
    words: tuple[str, ...]

    @property
    def neutral(self) -> str:
        """The neutralized vignette."""
        return self.item.variants["neutralized"]

    @property
    def key(self) -> tuple[str, str, str]:
        """Item, attribute and group."""
        return self.item.item_id, self.attribute, self.group


@dataclass(frozen=True)
class Earlier:
    """What was written in the round before, and what is wrong with it."""

    text: str
    problems: Sequence[str]


def prompts_sha256(stage: str) -> str:
    """The sha256 of the templates of a stage's messages."""
    texts = [load_template(name).template for name in TEMPLATES[stage]]
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()


def filter_message(item: Item, attributes: Iterable[str]) -> str:
    """Ask whether an item is fit for the study."""
    return load_template("vignettes/filter").substitute(
        attributes=", ".join(attributes),
        material=_material({"Question": item.variants["original"], "Options": _options(item)}),
    )


def neutralize_message(text: str) -> str:
    """Ask for a vignette that names no group."""
    return load_template("vignettes/neutralize").substitute(material=_material({"Vignette": text}))


def generate_message(wanted: Wanted, *, sees_options: bool, earlier: Earlier | None) -> str:
    """Ask for a background; only one that is to lead somewhere may see the key."""
    texts = {"Vignette": wanted.neutral}
    direction = _DIRECTIONS[wanted.direction]
    if sees_options:
        texts["Options"] = _options(wanted.item)
        if wanted.direction in _DIRECTIONS_SEEN:
            direction += " " + _DIRECTIONS_SEEN[wanted.direction]
            texts["The right option"] = wanted.item.answer_key
    return load_template("vignettes/generate").substitute(
        **_named(wanted),
        direction=direction,
        material=_material(texts),
        feedback=_feedback("Background", earlier),
    )


def fuse_message(wanted: Wanted, background: str, *, earlier: Earlier | None) -> str:
    """Ask for the vignette with the background in it."""
    return load_template("vignettes/fuse").substitute(
        **_named(wanted),
        material=_material({"Vignette": wanted.neutral, "Background": background}),
        feedback=_feedback("Merged vignette", earlier),
    )


def validate_message(item: Item, text: str) -> str:
    """Ask the question, as `fairstats collect` does."""
    return load_prompt("plain").substitute(question=text, options=_options(item))


def again_message(prompt: str, problem: str) -> str:
    """Ask once more what got a reply that could not be used."""
    return load_template("vignettes/again").substitute(prompt=prompt, problem=problem)


def _named(wanted: Wanted) -> dict[str, str]:
    return {
        "attribute": wanted.attribute_label.lower(),
        "group": wanted.group_label,
        "words": ", ".join(f'"{word}"' for word in wanted.words),
    }


def _options(item: Item) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in item.options.items())


def _feedback(what: str, earlier: Earlier | None) -> str:
    if earlier is None:
        return ""
    texts = {what: earlier.text, "What is wrong": "\n".join(earlier.problems)}
    material = _material({heading: text for heading, text in texts.items() if text})
    return "\n" + load_template("vignettes/revise").substitute(material=material) + "\n"


def _material(texts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{heading}:\n{quoted(text)}" for heading, text in texts.items())
