"""Rules that follow instructions in an item's text, so that a test decides every branch.

The real rules have separate tests, and an end-to-end test here. These test how the stages use
the results of rules, also in a process that is killed.
"""

from __future__ import annotations

import re
from typing import Any

from fairstats.vignettes.building import checks, stages
from fairstats.vignettes.building.checks import Ruled, changes_between
from fairstats.vignettes.rules.filtering import Decision


def filter_by_rules(item: Any, *, attributes: Any) -> Decision:
    text = item.variants["original"]
    if "pregnant" in text:
        return Decision("exclude", "sex-specific: pregnant")
    if "doubtful" in text:
        return Decision("ask", "names a doubtful word")
    return Decision("keep")


def neutralize(text: str) -> Ruled:
    new = re.sub(r"\bman\b", "patient", text)
    undecided = ("her",) if "undecided" in text else ()
    return Ruled(new, changes_between(text, new), undecided, left_over(new))


def left_over(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\b(?:he|she|wife)\b", text))


def neutral_problems(before: str, after: str) -> list[str]:
    return [f"number missing: {n}" for n in re.findall(r"\d+", before) if n not in after]


def background_problems(wanted: Any, background: str) -> list[str]:
    return [] if wanted.words[0] in background else ["group not named"]


def final_sentence(text: str) -> str:
    return text.rpartition(". ")[2]


def variant_problems(wanted: Any, text: str) -> list[str]:
    problems = neutral_problems(wanted.neutral, text)
    if not text.endswith(final_sentence(wanted.neutral)):
        problems.append("final sentence changed")
    return problems


STUBS = {
    stages: (filter_by_rules,),
    checks: (
        *(neutralize, left_over, final_sentence),
        *(neutral_problems, background_problems, variant_problems),
    ),
}


def put_in_place(put: Any = setattr) -> None:
    for module, functions in STUBS.items():
        for function in functions:
            put(module, function.__name__, function)
