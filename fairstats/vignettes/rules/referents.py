"""Determine which person a word of a vignette refers to, if a rule can.

The patient's sex is that of the first noun with a stated age. Without an age, it is that of the
first word that reveals one. A person of the other sex is taken to be the relative mentioned most
recently.
"""

from __future__ import annotations

import re

from fairstats.vignettes.rules.pronouns import PRONOUN, is_pronoun

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
    """The persons mentioned in one text.

    Parameters
    ----------
    text : str
        A vignette.
    """

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
        own = re.compile(_NOUN.pattern).match(self._text, start)
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
