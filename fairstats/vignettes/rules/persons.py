"""Find the patient of a vignette, and the person that a word refers to, by a few readable rules.

A rule that would have to guess returns no result; `find_mention` then gives the reason.

The patient's sex is that of the first noun with a stated age. Without an age, it is that of the
first word that reveals one. A person of the other sex is taken to be the relative mentioned most
recently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairstats.vignettes.rules.pronouns import PRONOUN, is_pronoun

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
    """The position for a descriptor of the patient, before the noun or the words of the age."""

    start: int
    age: float | None


@dataclass(frozen=True)
class NotFound:
    """The reason why there is no mention to use."""

    reason: str


def find_mention(text: str) -> Mention | NotFound:
    """Find the first mention of the patient.

    There is none if a vignette mentions several possible patients.

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


_ARTICLE = re.compile(r"(?i)\b(an?) $")
# "a European", "a uniformed", "a Ukrainian", but "an unidentified".
_SOUNDS_CONSONANT = re.compile(r"(?i)eu|uni(?![dmn])|u(?:s[ae]|kr|ru|gan|t[^t])|one\b")


def put_in(text: str, start: int, words: str) -> str:
    """Insert words for a group into a text, and correct the article before them.

    Examples
    --------
    >>> put_in("A patient has pain.", 2, "Asian")
    'An Asian patient has pain.'
    >>> put_in("An 80-year-old individual has pain.", 15, "Black")
    'An 80-year-old Black individual has pain.'
    """
    before = text[:start]
    article = _ARTICLE.search(before)
    if article:
        vowel = words[0].lower() in "aeiou" and not _SOUNDS_CONSONANT.match(words)
        right = article[1][0] + ("n" if vowel else "")
        before = before[: article.start(1)] + right + " "
    return f"{before}{words} {text[start:]}"


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


_SEX_OF = {
    "male": (
        "man|boy|male|gentleman|guy|lad|father|dad|daddy|husband|boyfriend|son|brother|grandfather|grandpa"
        "|uncle|nephew|stepfather|stepson|stepbrother|grandson|fiancé|policeman|waiter|businessman"
    ),
    "female": (
        "woman|girl|female|lady|mother|mom|mommy|mum|wife|girlfriend|daughter|sister|grandmother|grandma"
        "|aunt|niece|stepmother|stepdaughter|stepsister|granddaughter|fiancée|policewoman|waitress"
    ),
}
_NOUN = re.compile(
    rf"(?i)(?<!\w)(?:(?P<male>{_SEX_OF['male']})|(?P<female>{_SEX_OF['female']}))(?!\w)"
)
_PERSON_NOUN = r"(?:man|boy|male|gentleman|guy|lad|woman|girl|female|lady)"
# Only adjectives come between an age and its noun: no article, no verb, no "and".
_OLD = (
    r"[- ]old\b(?:,? (?!(?:and|or|an?|the|his|her|another|is|was|has|with|who|by|of|to|in|on|from"
    r"|for)\b)[\w-]+){0,5}?,? "
)
_AGED = re.compile(rf"(?i){_OLD}(?P<noun>{_PERSON_NOUN})\b")
_AGED_BEFORE = re.compile(rf"(?i){_OLD}$")
_NO_PATIENT = re.compile(
    r"(?i)\b(?:another|other|unknown|second|young|older|unidentified|strange) (?:[\w-]+ )?$"
)
#: Neutral words for a person of the other sex after the first mention.
_NEUTRAL = {
    **dict.fromkeys(("mother", "mom", "mommy", "mum", "father", "dad", "daddy"), "parent"),
    **dict.fromkeys(("stepmother", "stepfather"), "stepparent"),
    **dict.fromkeys(("wife", "husband", "boyfriend", "girlfriend", "fiancé", "fiancée"), "partner"),
    **dict.fromkeys(("son", "daughter"), "child"),
    **dict.fromkeys(("brother", "sister"), "sibling"),
    **dict.fromkeys(("grandmother", "grandfather", "grandma", "grandpa"), "grandparent"),
    **dict.fromkeys(("grandson", "granddaughter"), "grandchild"),
    **dict.fromkeys(("man", "woman"), "person"),
}
#: The word with which each kind of relative refers to the patient.
_PATIENT_OF = {
    "partner": r"husband|wife|boyfriend|girlfriend",
    "parent": r"son|daughter|boy|girl",
    "stepparent": r"stepson|stepdaughter|son|daughter|boy|girl",
    "grandparent": r"grandson|granddaughter",
    "child": r"mother|father|mom|dad",
    "sibling": r"brother|sister",
}
_FIRST_PARENT = {
    **dict.fromkeys(("mother", "mom", "mommy", "mum"), "female"),
    **dict.fromkeys(("father", "dad", "daddy"), "male"),
}


class Referents:
    """The persons mentioned in one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._nouns = list(_NOUN.finditer(text))
        self._aged = _AGED.search(text)
        self._sex = self._patients_sex()
        parents = [
            _FIRST_PARENT[noun.group().lower()]
            for noun in self._nouns
            if noun.group().lower() in _FIRST_PARENT
        ]
        self._parents = tuple(dict.fromkeys(parents))

    def _patients_sex(self) -> str | None:
        if self._aged:
            return _sex_of(self._aged["noun"])
        pronouns = [p for p in PRONOUN.finditer(self._text) if is_pronoun(p, self._text)]
        single = [p for p in pronouns if not re.search(r"/| or ", p.group())]
        first = next((n for n in self._nouns if re.fullmatch(_PERSON_NOUN, n.group(), re.I)), None)
        if first and (not single or first.start() < single[0].start()):
            return _sex_of(first.group())
        return _pronoun_sex(single[0].group()) if single else None

    def is_patient(self, start: int) -> bool:
        """Return whether the noun for a man, woman, boy or girl here is the patient."""
        if self._aged and self._aged.start("noun") == start:
            return True
        before = self._text[:start]
        if _AGED_BEFORE.search(before):
            return True
        if _NO_PATIENT.search(before) and self._aged:
            return False
        own = _NOUN.match(self._text, start)
        same = own is not None and own.lastgroup == self._sex
        if re.search(r"(?i)\b(?:the|this|that)(?: [\w-]+)? $", before):
            return same or self._sex is None
        # "A man" other than the one with the stated age is someone else.
        return same and (self._aged is None or start < self._aged.start())

    def is_second_parent(self, word: str) -> bool:
        """Return whether both parents are mentioned, and this one second."""
        return len(self._parents) == 2 and _FIRST_PARENT.get(word.lower()) == self._parents[1]

    def other_than_patient(self, start: int, pronoun: str) -> str | None:
        """Return the person mentioned last before a pronoun that cannot be the patient's."""
        sex = _pronoun_sex(pronoun)
        if self._sex is None or sex == self._sex:
            return None
        for noun in reversed(self._nouns):
            word = noun.group().lower()
            if noun.start() < start and noun.lastgroup == sex and word in _NEUTRAL:
                neutral = _NEUTRAL[word]
                second = neutral == "parent" and self.is_second_parent(word)
                return f"the other {neutral}" if second else f"the {neutral}"
        return None

    def patient_as_relative(self, start: int, end: int) -> int | None:
        """Return where "her husband" begins, if a wife says it about the patient."""
        own = re.search(r"(?i)\b(his|her) $", self._text[:start])
        if own is None or _sex_of(self._text[start:end]) != self._sex:
            return None
        named = self.other_than_patient(own.start(), own[1].lower())
        kind = named.split()[-1] if named else ""
        called = _PATIENT_OF.get(kind, "(?!)")
        if re.fullmatch(called, self._text[start:end], re.IGNORECASE) is None:
            return None
        return own.start()


def _sex_of(word: str) -> str | None:
    found = _NOUN.fullmatch(word)
    return found.lastgroup if found else None


def _pronoun_sex(word: str) -> str:
    return "male" if word.lower() in ("he", "him", "his", "himself") else "female"
