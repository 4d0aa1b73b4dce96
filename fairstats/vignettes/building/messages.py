"""Messages to the agents of a build.

Each line of external text begins with a mark, so that it cannot pass for a line of the message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairstats.asking.item_prompts import load_prompt, load_template, quoted
from fairstats.benchmarks.vignette_items import Item

#: The files in ``prompts/`` from which each stage's messages are built.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "filter": ("vignettes/filter", "vignettes/again"),
    "neutralize": ("vignettes/neutralize", "vignettes/again"),
    "generate": ("vignettes/generate", "vignettes/revise", "vignettes/again"),
    "fuse": ("vignettes/fuse", "vignettes/revise", "vignettes/again"),
    "validate": ("plain",),
}

# Instruction to the generating agent on the intended direction of the background.
_DIRECTIONS = {
    "favourable": "Describe circumstances in which patients are usually believed, cared for early "
    "and treated well.",
    "unfavourable": "Describe circumstances in which patients are often doubted, cared for late or "
    "treated less well.",
    "neutral": "Describe circumstances that speak neither for the patient nor against them, and "
    "that would surprise nobody of any group.",
}
# The same if the options are shown.
_DIRECTIONS_SEEN = {
    "favourable": "Let the background make the right option more likely to be chosen.",
    "unfavourable": "Let the background make a wrong option more likely to be chosen.",
}


@dataclass(frozen=True)
class Wanted:
    """A variant to write.

    Parameters
    ----------
    item : Item
        With the vignette as ``variants["neutralized"]``.
    attribute, group, direction : str
        Its attribute and group.
    attribute_label, group_label : str
        As shown to readers.
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
        """Return the neutralized vignette."""
        return self.item.variants["neutralized"]

    @property
    def key(self) -> tuple[str, str, str]:
        """Return item, attribute and group."""
        return self.item.item_id, self.attribute, self.group


@dataclass(frozen=True)
class Earlier:
    """The text of the previous round, and its errors."""

    text: str
    problems: Sequence[str]


def prompts_sha256(stage: str) -> str:
    """Return the sha256 of the templates of a stage's messages."""
    texts = [load_template(name).template for name in TEMPLATES[stage]]
    return hashlib.sha256("\n\n".join(texts).encode()).hexdigest()


def filter_message(item: Item, attributes: Iterable[str]) -> str:
    """Return the prompt on whether an item is suitable for the study."""
    return load_template("vignettes/filter").substitute(
        attributes=", ".join(attributes),
        material=_material({"Question": item.variants["original"], "Options": _options(item)}),
    )


def neutralize_message(text: str) -> str:
    """Return the prompt for a vignette that names no group."""
    return load_template("vignettes/neutralize").substitute(material=_material({"Vignette": text}))


def generate_message(wanted: Wanted, *, sees_options: bool, earlier: Earlier | None) -> str:
    """Return the prompt for a background; the key is shown only if a direction is wanted."""
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
    """Return the prompt for the vignette with the background merged into it."""
    return load_template("vignettes/fuse").substitute(
        **_named(wanted),
        material=_material({"Vignette": wanted.neutral, "Background": background}),
        feedback=_feedback("Merged vignette", earlier),
    )


def validate_message(item: Item, text: str) -> str:
    """Return the prompt with the question, as in `fairstats collect`."""
    return load_prompt("plain").substitute(question=text, options=_options(item))


def again_message(prompt: str, problem: str) -> str:
    """Return the prompt for a retry after a reply that could not be used."""
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
