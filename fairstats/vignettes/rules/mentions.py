"""Find the first mention of a vignette's patient, by a few readable rules.

A rule that would have to guess returns no result; `find_mention` then gives the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
}
_YEARS = {"year": 1.0, "month": 1 / 12, "week": 1 / 52, "day": 1 / 365, "hour": 1 / 8760}
#: "45-year-old", "six-month-old"; not "when they were 3 years old", without a following noun.
_AGE = re.compile(
    rf"(?i)\b(?P<number>\d+(?:\.\d+)?|{'|'.join(_NUMBERS)})[- ](?P<unit>{'|'.join(_YEARS)})-old\b"
)
#: Nouns for a patient that need no age, with the age that they imply.
_PATIENTS: dict[str, float | None] = {
    "patient": None,
    "person": None,
    "individual": None,
    "adult": 18,
    "adolescent": 10,
    "teenager": 13,
    "child": 1,
    "toddler": 1,
    "infant": 0,
    "newborn": 0,
    "neonate": 0,
    "baby": 0,
}
_RELATIVES = re.compile(
    r"(?i)(?:parent|mother|father|sibling|brother|sister|twin|cousin|aunt|uncle|grand\w+|spouse"
    r"|partner|husband|wife|relative|friend|roommate|neighbor|caregiver|caretaker)s?\b"
)
#: Words that may come between an age, or an article, and the noun; a descriptor follows them.
_ADJECTIVE = (
    r"(?:(?:previously|otherwise|apparently|generally|very|severely|morbidly|mildly|right|left)"
    r"[- ])?(?:healthy|well|ill|sick|obese|overweight|underweight|malnourished|homeless|unhoused"
    r"|retired|hospitalized|unconscious|unresponsive|unidentified|febrile|immunocompromised"
    r"|immunosuppressed|asymptomatic|elderly|older|young|frail|handed|diabetic|hypertensive"
    r"|hyperlipidemic|chronic|alcoholic|asthmatic|pregnant|primigravid|multigravid|nulliparous"
    r"|preterm|premature|term|single|married|known|thin|tall|short|adult|average)"
)
_ADJECTIVES = re.compile(rf"(?i)(?:,? (?:and )?{_ADJECTIVE}(?=[ ,]))*")
#: Words that cannot begin a noun phrase: after an age, they show that the noun is missing.
_NO_NOUN = re.compile(
    r"(?i)(?:is|are|was|were|be|been|being|has|have|had|does|did|can|will|would|with|without|who"
    r"|whose|whom|that|which|and|or|but|in|on|at|to|of|from|for|by|as|after|before|during|while"
    r"|because|due|following|(?!nursing|sibling)\w+(?:ed|ing)|presents|comes|came|complains|visits|undergoes"
    r"|underwent|develops|reports|arrives|returns|suffers|sustains|experiences|notices|calls|asks"
    r"|wants|requests|takes|receives|falls|fell|brought|seen|found|status|now|recently|suddenly"
    r"|currently|accidentally)\b"
)
_UNAGED = re.compile(
    rf"(?i)\b(?P<article>an?|the|this|that)(?: {_ADJECTIVE}| \w+ly){{0,5}}"
    rf" (?P<noun>{'|'.join(_PATIENTS)})\b"
)
_SEVERAL = re.compile(
    r"(?i)\b(?:(?:two|three|four|both|several|these|those|other|\d+) (?:\w+ )?patients"
    r"|(?:another|other|first|second|third|each) patient|patient (?:[A-D1-4]|one|two))\b"
)


@dataclass(frozen=True)
class Mention:
    """The position for a descriptor of the patient.

    Parameters
    ----------
    start : int
        The position in the text just before the noun, or before the other words of its age.
    age : float or None
        The patient's age in years, if mentioned.
    """

    start: int
    age: float | None


@dataclass(frozen=True)
class NotFound:
    """The reason why there is no mention to use."""

    reason: str


def find_mention(text: str) -> Mention | NotFound:
    """Find the first mention of the patient.

    Parameters
    ----------
    text : str
        A neutralized vignette.

    Returns
    -------
    Mention or NotFound
        The reason, if the vignette mentions several possible patients, or none.

    Examples
    --------
    >>> text = "A 45-year-old obese patient has pain."
    >>> text[find_mention(text).start :]
    'patient has pain.'
    >>> find_mention("A healthy 23-year-old is running.")
    NotFound(reason='no noun follows the age')
    """
    if several := _SEVERAL.search(text):
        return NotFound(f"more than one person: {_shown(several)}")
    aged = list(_AGE.finditer(text))
    unaged = _UNAGED.search(text)
    if not aged:
        if unaged is None:
            return NotFound("no mention of a patient")
        return Mention(unaged.start("noun"), _PATIENTS[unaged["noun"].lower()])
    first = aged[0]
    # The same age again is assumed to be the same person.
    if len({_AGE.sub(r"\g<number> \g<unit>", age.group()).lower() for age in aged}) > 1:
        ages = " and ".join(dict.fromkeys(_shown(age) for age in aged))
        return NotFound(f"more than one person of stated age: {ages}")
    if unaged is not None and unaged.start() < first.start():
        return NotFound(f"a person before the one of stated age: {_shown(unaged)}")
    start = _noun_start(text, first.end())
    if start is None:
        return NotFound("no noun follows the age")
    if _RELATIVES.match(text, start):
        return NotFound(f"the person of stated age is a relative: {_shown(first)}")
    return Mention(start, _age_in_years(first))


def _noun_start(text: str, end: int) -> int | None:
    """Return where the noun phrase after an age begins, after its known adjectives."""
    adjectives = _ADJECTIVES.match(text, end)
    after = end if adjectives is None else adjectives.end()
    if begins_noun(text, after):
        return after + 1
    # "A 50-year-old diabetic presents": the apparent adjective is the noun.
    last = text.rfind(" ", end, after)
    return last + 1 if last >= end and begins_noun(text, last) else None


def begins_noun(text: str, place: int) -> bool:
    """Return whether a word that can continue a noun phrase follows here."""
    word = re.compile(r"\s(?=[^\W\d_])").match(text, place)
    return word is not None and _NO_NOUN.match(text, word.end()) is None


def _age_in_years(age: re.Match[str]) -> float:
    number = age["number"].lower()
    return float(_NUMBERS.get(number, number)) * _YEARS[age["unit"].lower()]


def _shown(found: re.Match[str]) -> str:
    return " ".join(found.group().split())
