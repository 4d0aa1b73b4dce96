"""Checks of a text written by an agent, without a model."""

from __future__ import annotations

from fairstats.vignettes.building.messages import Wanted
from fairstats.vignettes.building.sentences import before_the_question, final_sentence
from fairstats.vignettes.building.stage_rules import left_over

# An option is pointed to if at least this share of its words is added.
_SHARE = 0.5


def neutral_problems(before: str, after: str) -> list[str]:
    """Return the clinical content that a neutralized text lost or added.

    The final question may change only if it revealed a group.
    """
    from fairstats.vignettes.text.clinical_content import FINAL_SENTENCE

    found = _content(before, after)
    if left_over(final_sentence(before)):
        return [problem for problem in found if not problem.startswith(FINAL_SENTENCE)]
    return found


def background_problems(wanted: Wanted, background: str) -> list[str]:
    """Return the errors of a background, before it is merged.

    It must have three sentences that name the group. When inserted, it must leave the clinical
    content unchanged, and it must not add an option's words.
    """
    from fairstats.vignettes.text.background_structure import (
        GROUP_PRONOUNS,
        structure_problems,
        words_of_group,
    )
    from fairstats.vignettes.text.clinical_content import (
        FINAL_SENTENCE,
        QUESTION_MISSING,
        QUESTION_STATED,
    )

    of_the_question = (FINAL_SENTENCE, QUESTION_MISSING, QUESTION_STATED)
    content = _content(wanted.neutral, before_the_question(wanted.neutral, background))
    words = words_of_group(wanted.group, wanted.group_label, wanted.words)
    pronouns = GROUP_PRONOUNS.get(wanted.group, ())
    built = structure_problems(background, words=words, pronouns=pronouns)
    return [
        *(f"{problem.kind}: {problem.detail}" for problem in built),
        # Effects of an unfinished last sentence on the question are not errors of the question.
        *(problem for problem in content if not problem.startswith(of_the_question)),
        *leaking_problems(wanted, background),
    ]


def variant_problems(wanted: Wanted, text: str) -> list[str]:
    """Return the errors of a variant: its question, its group, its content, an option's words."""
    from fairstats.vignettes.text.background_structure import NOT_NAMED, is_named, words_of_group

    words = words_of_group(wanted.group, wanted.group_label, wanted.words)
    named = [] if is_named(wanted.neutral, text, words) else [f"{NOT_NAMED}: {', '.join(words)}"]
    return [*_content(wanted.neutral, text), *named, *leaking_problems(wanted, text)]


def leaking_problems(wanted: Wanted, text: str) -> list[str]:
    """Return the options with at least half of their words added by a text.

    Notes
    -----
    Words are stems of content words. Words in the neutral text, or that name the group, are not
    added words. Right and wrong options count equally, and only the matching words are reported:
    the agent that revises the text has seen neither options nor key.
    """
    from fairstats.vignettes.text.words import content_stems

    known = set(content_stems(" ".join([wanted.neutral, wanted.group_label, *wanted.words])))
    said = set(content_stems(text)) - known
    problems = []
    for option in wanted.item.options.values():
        own = set(content_stems(option))
        brought = said & own
        if brought and len(brought) >= _SHARE * len(own):
            said_so = ", ".join(sorted(brought))
            problems.append(f"answer leakage: words of an option: {said_so}")
    return problems


def _content(neutral: str, text: str) -> list[str]:
    from fairstats.vignettes.text.clinical_content import content_problems

    return [f"{problem.kind}: {problem.detail}" for problem in content_problems(neutral, text)]
