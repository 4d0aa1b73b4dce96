"""What is wrong with a text that an agent wrote, without asking a model."""

from __future__ import annotations

from fairstats.vignettes.building.messages import Wanted
from fairstats.vignettes.building.rules import left_over
from fairstats.vignettes.building.sentences import before_the_question, final_sentence

# An option is pointed to where so large a share of its words is brought in.
_SHARE = 0.5


def neutral_problems(before: str, after: str) -> list[str]:
    """What a neutralized text lost or added of the clinical content.

    The final question may be another only where it told somebody's group itself.
    """
    from fairstats.vignettes.text.clinical_content import FINAL_SENTENCE

    found = _content(before, after)
    if left_over(final_sentence(before)):
        return [problem for problem in found if not problem.startswith(FINAL_SENTENCE)]
    return found


def background_problems(wanted: Wanted, background: str) -> list[str]:
    """What is wrong with a background, before it is merged by anybody.

    Three sentences that name the group, that leave the clinical content as it is where they are
    put in, and that bring in no option's words.
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
        # What an unfinished last sentence does to the question is not the question's fault.
        *(problem for problem in content if not problem.startswith(of_the_question)),
        *leaking_problems(wanted, background),
    ]


def variant_problems(wanted: Wanted, text: str) -> list[str]:
    """What is wrong with a variant: its question, its group, its content, an option's words."""
    from fairstats.vignettes.text.background_structure import NOT_NAMED, is_named, words_of_group

    words = words_of_group(wanted.group, wanted.group_label, wanted.words)
    named = [] if is_named(wanted.neutral, text, words) else [f"{NOT_NAMED}: {', '.join(words)}"]
    return [*_content(wanted.neutral, text), *named, *leaking_problems(wanted, text)]


def leaking_problems(wanted: Wanted, text: str) -> list[str]:
    """The options of which a text brings in half of the words or more.

    Notes
    -----
    Words are stems of content words; what the neutral text says, or what names the group, is not
    brought in. Right and wrong options count alike, and only the words at fault are named:
    whoever revises the text has seen neither options nor key.
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
