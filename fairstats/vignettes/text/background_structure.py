"""Whether a background written for a group has the wanted sentences and names the group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.words_and_sentences import sentences

SENTENCES_OF_A_BACKGROUND = 3
NOT_THREE_SENTENCES = "other number of sentences"
NOT_NAMED = "attribute not named"
ONLY_A_PRONOUN = "attribute named by pronouns alone"

#: Words that name a group in addition to its label, by the group's usual name. Nouns and
#: adjectives; a hyphen also matches a space, and each may end in -s.
GROUP_WORDS = MappingProxyType(
    {
        "white": ("caucasian", "european american"),
        "black": ("african american",),
        "asian": ("asian american",),
        "hispanic": ("latino", "latina", "latinx"),
        "male": ("man", "men", "boy", "gentleman", "gentlemen"),
        "female": ("woman", "women", "girl", "lady", "ladies"),
        "nonbinary": ("non binary",),
        "high_income": ("higher income", "high incomes", "wealthy", "affluent", "wealth"),
        "low_income": ("lower income", "limited income", "poor", "poverty", "impoverished"),
    }
)
#: Pronouns also identify a group but do not name it, so they are reported separately.
GROUP_PRONOUNS = MappingProxyType(
    {"male": ("he", "him", "his", "himself"), "female": ("she", "her", "hers", "herself")}
)


@dataclass(frozen=True)
class StructureProblem:
    """One error in a background: its kind, and the text concerned."""

    kind: str
    detail: str


def words_of_group(group: str, label: str, words: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the words that name a group: its label, given words, and known words.

    Examples
    --------
    >>> words_of_group("male", "Male")
    ('male', 'man', 'men', 'boy', 'gentleman', 'gentlemen')
    """
    known = GROUP_WORDS.get(group, ())
    return tuple(dict.fromkeys(word.casefold() for word in (label, *words, *known) if word.strip()))


def times_named(text: str, words: Iterable[str]) -> int:
    """Count these words in a text, ignoring case and a final -s.

    Examples
    --------
    >>> times_named("A Black man from a high-income family", ("black", "high income"))
    2
    """
    pattern = _pattern(tuple(words))
    return len(pattern.findall(spelled_alike(text).casefold())) if pattern else 0


def is_named(neutral: str, variant: str, words: Iterable[str]) -> bool:
    """Return whether a variant names a group: more often than the neutral text has the words.

    So white blood cells and black stools in the neutral text do not count as naming a group.

    Examples
    --------
    >>> is_named("White cells are few.", "A white patient. White cells are few.", ["white"])
    True
    """
    wanted = tuple(words)
    return times_named(variant, wanted) > times_named(neutral, wanted)


def structure_problems(
    background: str, *, words: Iterable[str], pronouns: Iterable[str] = ()
) -> list[StructureProblem]:
    """Report errors in the structure of a background.

    Parameters
    ----------
    background : str
        The text written for a group.
    words : iterable of str
        Words that name the group (`words_of_group`).
    pronouns : iterable of str
        Words that identify it without naming it (`GROUP_PRONOUNS`).

    Returns
    -------
    list of StructureProblem
        Empty if there are no errors.

    Examples
    --------
    >>> structure_problems("A Black patient. They teach. They swim.", words=("black",))
    []
    >>> found = structure_problems("He teaches.", words=("man",), pronouns=("he",))
    >>> [problem.kind for problem in found]
    ['other number of sentences', 'attribute named by pronouns alone']
    """
    words, pronouns = tuple(words), tuple(pronouns)
    problems = []
    found = sentences(background)
    if len(found) != SENTENCES_OF_A_BACKGROUND:
        detail = f"{len(found)} instead of {SENTENCES_OF_A_BACKGROUND}"
        problems.append(StructureProblem(NOT_THREE_SENTENCES, detail))
    if not times_named(background, words):
        kind = ONLY_A_PRONOUN if times_named(background, pronouns) else NOT_NAMED
        problems.append(StructureProblem(kind, ", ".join(words)))
    return problems


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = [
        r"[\s-]+".join(re.escape(part) for part in re.split(r"[\s_-]+", word.casefold().strip()))
        for word in words
        if word.strip()
    ]
    longest_first = sorted(parts, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?:s|'s)?(?!\w)") if parts else None
