"""The rules and checks of a build that need no model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from types import MappingProxyType
from typing import Any

from fairstats.vignettes.building.agents import Wanted
from fairstats.vignettes.rules import demographic_words, neutralizing
from fairstats.vignettes.text.clinical_content import (
    FINAL_SENTENCE,
    QUESTION_MISSING,
    QUESTION_STATED,
    content_problems,
)
from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.words_and_sentences import content_stems, final_sentence, sentences

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
# An option is pointed to if at least this share of its words is added.
_SHARE = 0.5

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
class Ruled:
    """A vignette after the rules for neutralizing.

    Undecided are places where the rules would have to guess.
    """

    text: str
    changes: tuple[dict[str, Any], ...]
    undecided: tuple[str, ...]
    left_over: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Return whether a model is needed."""
        return bool(self.undecided or self.left_over)


def neutralize(text: str) -> Ruled:
    """Remove words that reveal a group."""
    found = neutralizing.neutralize(text)
    fields = ("start", "end", "old", "new", "why")
    made = [{name: getattr(c, name) for name in fields} for c in found.changes if not c.undecided]
    undecided = tuple(f"{change.old} ({change.why})" for change in found.undecided)
    return Ruled(found.text, tuple(made), undecided, left_over(found.text))


def left_over(text: str) -> tuple[str, ...]:
    """Return the words by which a text still reveals a group."""
    return tuple(found.word for found in demographic_words.left_over(text))


def changes_between(old: str, new: str) -> tuple[dict[str, Any], ...]:
    """Return the changes from one text to another, word by word.

    Examples
    --------
    >>> changes_between("A man has pain.", "A patient has pain.")
    ({'start': 2, 'end': 5, 'old': 'man', 'new': 'patient', 'why': 'model'},)
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    places = [0]
    for word in before:
        places.append(places[-1] + len(word))
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        {
            "start": places[i1],
            "end": places[i2],
            "old": "".join(before[i1:i2]),
            "new": "".join(after[j1:j2]),
            "why": "model",
        }
        for kind, i1, i2, j1, j2 in changes
        if kind != "equal"
    )


def before_the_question(neutral: str, background: str) -> str:
    """Insert a background, unchanged, before the final sentence of the vignette."""
    place = neutral.rindex(final_sentence(neutral))
    return " ".join(filter(None, [neutral[:place].rstrip(), background, neutral[place:]]))


def neutral_problems(before: str, after: str) -> list[str]:
    """Return the clinical content that a neutralized text lost or added.

    The final question may change only if it revealed a group.
    """
    found = _content(before, after)
    if left_over(final_sentence(before)):
        return [problem for problem in found if not problem.startswith(FINAL_SENTENCE)]
    return found


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
) -> list[str]:
    """Report a background without the wanted sentences, or that does not name its group.

    `words` name the group; `pronouns` identify it without naming it.

    Examples
    --------
    >>> structure_problems("A Black patient. They teach. They swim.", words=("black",))
    []
    >>> structure_problems("He teaches.", words=("man",), pronouns=("he",))
    ['other number of sentences: 1 instead of 3', 'attribute named by pronouns alone: man']
    """
    words = tuple(words)
    problems = []
    if (count := len(sentences(background))) != SENTENCES_OF_A_BACKGROUND:
        detail = f"{count} instead of {SENTENCES_OF_A_BACKGROUND}"
        problems.append(f"{NOT_THREE_SENTENCES}: {detail}")
    if not times_named(background, words):
        kind = ONLY_A_PRONOUN if times_named(background, pronouns) else NOT_NAMED
        problems.append(f"{kind}: {', '.join(words)}")
    return problems


def background_problems(wanted: Wanted, background: str) -> list[str]:
    """Return the errors of a background, before it is merged.

    It must have three sentences that name the group. When inserted, it must leave the clinical
    content unchanged, and it must not add an option's words.
    """
    content = _content(wanted.neutral, before_the_question(wanted.neutral, background))
    pronouns = GROUP_PRONOUNS.get(wanted.group, ())
    of_the_question = (FINAL_SENTENCE, QUESTION_MISSING, QUESTION_STATED)
    return [
        *structure_problems(background, words=_words(wanted), pronouns=pronouns),
        # Effects of an unfinished last sentence on the question are not errors of the question.
        *(problem for problem in content if not problem.startswith(of_the_question)),
        *_leaking_problems(wanted, background),
    ]


def variant_problems(wanted: Wanted, text: str) -> list[str]:
    """Return the errors of a variant: its question, its group, its content, an option's words."""
    words = _words(wanted)
    named = [] if is_named(wanted.neutral, text, words) else [f"{NOT_NAMED}: {', '.join(words)}"]
    return [*_content(wanted.neutral, text), *named, *_leaking_problems(wanted, text)]


def _words(wanted: Wanted) -> tuple[str, ...]:
    return words_of_group(wanted.group, wanted.group_label, wanted.words)


def _leaking_problems(wanted: Wanted, text: str) -> list[str]:
    """Return the options with at least half of their words added by a text.

    Words are stems of content words. Words in the neutral text, or that name the group, are not
    added words. Right and wrong options count equally, and only the matching words are reported:
    the agent that revises the text has seen neither options nor key.
    """

    known = set(content_stems(" ".join([wanted.neutral, wanted.group_label, *wanted.words])))
    said = set(content_stems(text)) - known
    problems = []
    for option in wanted.item.options.values():
        own = set(content_stems(option))
        brought = said & own
        if brought and len(brought) >= _SHARE * len(own):
            problems.append(f"answer leakage: words of an option: {', '.join(sorted(brought))}")
    return problems


def _content(neutral: str, text: str) -> list[str]:
    return [f"{problem.kind}: {problem.detail}" for problem in content_problems(neutral, text)]


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = [
        r"[\s-]+".join(re.escape(part) for part in re.split(r"[\s_-]+", word.casefold().strip()))
        for word in words
        if word.strip()
    ]
    longest_first = sorted(parts, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?:s|'s)?(?!\w)") if parts else None
