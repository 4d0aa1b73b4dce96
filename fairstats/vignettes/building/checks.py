"""The rules and checks of a build that need no model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from fairstats.vignettes.building.agents import Wanted
from fairstats.vignettes.rules import demographic_words, neutralizing
from fairstats.vignettes.text.background_structure import (
    GROUP_PRONOUNS,
    NOT_NAMED,
    is_named,
    structure_problems,
    words_of_group,
)
from fairstats.vignettes.text.clinical_content import (
    FINAL_SENTENCE,
    QUESTION_MISSING,
    QUESTION_STATED,
    content_problems,
)
from fairstats.vignettes.text.words_and_sentences import content_stems, final_sentence

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
# An option is pointed to if at least this share of its words is added.
_SHARE = 0.5


@dataclass(frozen=True)
class Ruled:
    """A vignette after the rules for neutralizing.

    Parameters
    ----------
    text : str
        The text after the rules.
    changes : tuple of dict
        ``start`` and ``end`` in the original, ``old``, ``new`` and ``why``.
    undecided : tuple of str
        Places where the rules would have to guess.
    left_over : tuple of str
        Words that still reveal a group.
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


def background_problems(wanted: Wanted, background: str) -> list[str]:
    """Return the errors of a background, before it is merged.

    It must have three sentences that name the group. When inserted, it must leave the clinical
    content unchanged, and it must not add an option's words.
    """
    content = _content(wanted.neutral, before_the_question(wanted.neutral, background))
    pronouns = GROUP_PRONOUNS.get(wanted.group, ())
    built = structure_problems(background, words=_words(wanted), pronouns=pronouns)
    of_the_question = (FINAL_SENTENCE, QUESTION_MISSING, QUESTION_STATED)
    return [
        *(f"{problem.kind}: {problem.detail}" for problem in built),
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
