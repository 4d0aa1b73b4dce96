"""Decide by rule which items cannot have sound variants, and which need a model's decision."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from fairstats._lib.resources import resource
from fairstats._lib.toml_files import Table, parse, read_toml
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.rules.demographic_words import PERSON, left_over
from fairstats.vignettes.rules.excluding_words import sex_specific_words
from fairstats.vignettes.rules.groups import ORIGINAL
from fairstats.vignettes.rules.images import needed_image
from fairstats.vignettes.rules.mentions import NotFound, find_mention
from fairstats.vignettes.rules.neutralizing import neutralize
from fairstats.vignettes.rules.pronouns import PRONOUN, is_pronoun


@dataclass(frozen=True)
class Decision:
    """The decision of the rules on an item.

    Parameters
    ----------
    action : {"keep", "exclude", "ask"}
        ``ask``: a model or a person has to decide.
    reason : str
        A plain sentence that names the matching word; empty if the item is kept.
    rule : str
        ``image``, ``no_patient``, ``dependent_diagnosis``, ``option_names_group`` or
        ``several_patients``; empty if the item is kept.
    """

    action: Literal["keep", "exclude", "ask"]
    reason: str = ""
    rule: str = ""


#: Benchmarks' names for attributes, and the corresponding names in the lists here.
_ALIASES = {
    "gender": "sex",
    "ethnicity": "race",
    "origin": "race",
    "ancestry": "race",
    "orientation": "sexual_orientation",
    "income": "ses",
    "insurance": "ses",
    "housing": "ses",
    "occupation": "ses",
    "education": "ses",
}
#: Word lists for options that name a group of a varied attribute.
_WORDS_OF = {
    "sex": ("sex",),
    "race": ("race", "origin"),
    "ses": ("income", "insurance", "housing", "education"),
    "sexual_orientation": ("orientation",),
}


def filter_by_rules(
    item: Item, *, attributes: Collection[str] = ("race", "sex", "ses")
) -> Decision:
    """Decide whether variants of an item can be sound, as far as rules can.

    Parameters
    ----------
    item : Item
        The options are used, with the original text, or the neutralized vignette if there is no
        original.
    attributes : collection of str
        The attributes that the benchmark varies: ``sex`` or ``gender``, ``race`` or ``ethnicity``,
        ``ses``, ``religion``, ``sexual_orientation``, ... A crossing, e.g. ``race_gender``, counts
        as both.

    Returns
    -------
    Decision
        The first rule that excludes the item. If none does, the first that leaves it to a model, or
        ``keep``.

    Examples
    --------
    >>> options = {"A": "Aspirin", "B": "Heparin"}
    >>> item = Item("1", options, "A", {"original": "A 40-year-old man has prostatitis. Why?"})
    >>> filter_by_rules(item).reason
    'The text speaks of what only one sex has: "prostatitis".'
    >>> filter_by_rules(item, attributes=["race"]).action
    'keep'
    """
    text = item.variants[ORIGINAL if ORIGINAL in item.variants else NEUTRALIZED]
    varied = _varied(attributes)
    found = [
        *_image(text),
        *_patient(text),
        *_one_sex(item, text, varied),
        *_dependent(item, text, varied),
        *_options(item, varied),
    ]
    for kind in ("exclude", "ask"):
        for decision in found:
            if decision.action == kind:
                return decision
    return Decision("keep")


def _varied(attributes: Collection[str]) -> set[str]:
    names = {name.lower() for name in attributes}
    parts = {part for name in names for part in name.split("_")}
    return {_ALIASES.get(name, name) for name in names | parts}


def _image(text: str) -> Iterator[Decision]:
    if found := needed_image(text):
        words, sure = found
        if sure:
            yield Decision("exclude", f'An image is needed: "{words}".', "image")
        else:
            yield Decision("ask", f'An image may be needed: "{words}".', "image")


def _patient(text: str) -> Iterator[Decision]:
    mention = find_mention(neutralize(text).text)
    if not isinstance(mention, NotFound):
        return
    if mention.reason == "no mention of a patient":
        pronoun = next((p for p in PRONOUN.finditer(text) if is_pronoun(p, text)), None)
        word = pronoun or re.search(rf"(?i)\b{PERSON}", text)
        if word is None:
            yield Decision("exclude", "No word of the text speaks of a patient.", "no_patient")
        else:
            reason = f'No patient is introduced; only "{word.group()}" speaks of a person.'
            yield Decision("ask", reason, "no_patient")
    elif mention.reason != "no noun follows the age":
        reason = f"Who the patient is, is not clear: {mention.reason}."
        yield Decision("ask", reason, "several_patients")


@lru_cache(maxsize=1)
def _dependencies() -> dict[str, _Tied]:
    path = resource("data", "vignettes", "dependent.toml")
    return parse(dict[str, _Tied], read_toml(path), path, example="the other tables")


class _Tied(Table):
    """Words that are tied to an attribute: they exclude an item, or are left to a model."""

    tie: str
    exclude: tuple[str, ...] = ()
    ask: tuple[str, ...]

    @cached_property
    def excluding(self) -> re.Pattern[str] | None:
        return _pattern(self.exclude) if self.exclude else None

    @cached_property
    def asking(self) -> re.Pattern[str]:
        return _pattern(self.ask)


def _pattern(words: Collection[str]) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{'|'.join(words)})(?!\w)")


def _one_sex(item: Item, text: str, varied: set[str]) -> Iterator[Decision]:
    if "sex" not in varied:
        return
    doubtful = _dependencies()["sex"].asking

    def words_of(read: str) -> tuple[list[str], list[str]]:
        words = sex_specific_words(read)
        unsure = [word for word in words if doubtful.fullmatch(word)]
        return [word for word in words if word not in unsure], unsure

    rule, what = "dependent_diagnosis", "speaks of what only one sex has"
    key = item.options.get(item.answer_key, "")
    for read, place in ((text, "text"), (key, "right option")):
        sure, _ = words_of(read)
        if sure:
            yield Decision("exclude", f'The {place} {what}: "{sure[0]}".', rule)
    for option in item.options.values():
        sure, _ = words_of(option)
        if sure:
            yield Decision("ask", f'An option {what}: "{sure[0]}".', rule)
    for read, place in ((text, "text"), *((option, "option") for option in item.options.values())):
        _, unsure = words_of(read)
        if unsure:
            article = "The" if place == "text" else "An"
            yield Decision("ask", f'{article} {place} may speak of one sex: "{unsure[0]}".', rule)


def _dependent(item: Item, text: str, varied: set[str]) -> Iterator[Decision]:
    rule = "dependent_diagnosis"
    key = item.options.get(item.answer_key, "")
    options = "\n".join(item.options.values())
    for attribute, table in _dependencies().items():
        if attribute not in varied or attribute == "sex":
            continue
        tie, excluding = table.tie, table.excluding
        if excluding is not None:
            if found := excluding.search(text) or excluding.search(key):
                yield Decision("exclude", f'"{found.group()}" is tied to {tie}.', rule)
            elif found := excluding.search(options):
                reason = f'"{found.group()}" in a wrong option is tied to {tie}.'
                yield Decision("ask", reason, rule)
        if found := table.asking.search(text) or table.asking.search(key):
            yield Decision("ask", f'"{found.group()}" may be tied to {tie}.', rule)


def _options(item: Item, varied: set[str]) -> Iterator[Decision]:
    words = {word for name in varied for word in _WORDS_OF.get(name, (name,))}
    for letter, option in item.options.items():
        found = left_over(option, words)
        named = [one.word for one in found if PRONOUN.fullmatch(one.word) is None]
        if named:
            reason = f'Option {letter} names a group: "{named[0]}".'
            yield Decision("exclude", reason, "option_names_group")
        elif found:
            # The options are not rewritten, so the pronoun would stay in every variant.
            reason = f'Option {letter} reveals a sex by a pronoun: "{found[0].word}".'
            yield Decision("ask", reason, "option_names_group")
