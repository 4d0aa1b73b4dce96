"""Neutral forms of nouns, titles and adjectives that reveal a sex, relation or origin."""

from __future__ import annotations

import re

from fairstats.vignettes.rules.demographic_words import (
    PERSON,
    TITLE,
    demographic_words,
    is_abbreviation,
    is_before_person,
    neutral_word,
    replaceable,
)
from fairstats.vignettes.rules.edits import Edits
from fairstats.vignettes.rules.mentions import begins_noun
from fairstats.vignettes.rules.pronouns import in_case_of
from fairstats.vignettes.rules.verb_agreement import plural_verb


def take_titles_out(edits: Edits) -> None:
    for title in TITLE.finditer(edits.text):
        if " " not in title.group():
            edits.leave(*title.span(), "a title without a name")
            continue
        starts = re.search(r"(?:^|[.?!]\s+|\n)[\"“]?$", edits.text[: title.start()]) is not None
        new = "The patient" if starts else "the patient"
        # A full stop that ends the sentence does not belong to the name.
        end = title.end() - (title.group().endswith(".") and " " in title.group())
        edits.put(title.start(), end, new, "a title reveals a sex, and a name an origin")


_BOTH = {
    "parents": r"(?:mother and father|father and mother|mom and dad|dad and mom)",
    "siblings": r"(?:brothers? and sisters?|sisters? and brothers?)",
    "children": r"(?:sons? and daughters?|daughters? and sons?)",
    "grandparents": r"(?:grandmother and grandfather|grandfather and grandmother)",
    "parent": r"(?:mother or father|father or mother)",
    "sibling": r"(?:brother or sister|sister or brother)",
    "child": r"(?:son or daughter|daughter or son)",
}
# With milk, womb or labour, no other word than mother fits.
_BIRTH = re.compile(
    r"(?i)['’]s (?:breast|milk|womb|uter|pregnan|vagin|labor|delivery|menstru|ovar)"
)


def make_nouns_neutral(edits: Edits) -> None:
    text = edits.text
    if edits.asked("family"):
        for new, pattern in _BOTH.items():
            for both in re.finditer(rf"(?i)\b{pattern}\b", text):
                edits.put(*both.span(), in_case_of(both.group(), new), "relatives by their sex")
    for noun in replaceable().finditer(text):
        known = neutral_word(noun.group())
        if known is None or is_abbreviation(noun.group(), text):
            continue
        attribute, patient, other = known
        if not edits.asked(attribute):
            continue
        start, end = noun.span()
        if attribute == "family":
            _relative(edits, noun, patient)
            continue
        if patient == other:
            edits.put(start, end, in_case_of(noun.group(), patient), "a noun that reveals a sex")
            continue
        if owner := edits.referents.patient_as_relative(start, end):
            why = "the relative's word for the patient"
            edits.put(owner, end, in_case_of(text[owner:start], "the patient"), why)
            continue
        phrase = text[max(0, start - 60) : start]
        if re.search(r"(?i)\b(?:baby|infant|newborn|neonate|toddler|child)\s$", phrase):
            # "A newborn boy" is a newborn.
            edits.put(start - 1, end, "", "a noun that reveals a sex, next to one that does not")
            continue
        new = patient if edits.referents.is_patient(start) else other
        edits.put(start, end, in_case_of(noun.group(), new), "a noun that reveals a sex")


def _relative(edits: Edits, noun: re.Match[str], neutral: str) -> None:
    text, (start, end) = edits.text, noun.span()
    if _BIRTH.match(text, end):
        edits.leave(start, end, "the one who gave birth: no neutral word fits for sure")
        return
    if patient := edits.referents.patient_as_relative(start, end):
        # "Her husband", said by the wife of the patient.
        new = in_case_of(text[patient:start], "the patient")
        edits.put(patient, end, new, "the relative's word for the patient")
        return
    if neutral == "parent" and edits.referents.is_second_parent(noun.group()):
        neutral = "other parent"
    edits.put(start, end, in_case_of(noun.group(), neutral), "a relative by the sex")


_AGE = re.compile(r"(?i)(?:year|month|week|day)s?[- ]old,? $")


def take_adjectives_out(edits: Edits) -> None:
    """Remove adjectives like "Hispanic" before a noun for a person."""
    text = edits.text
    for words in demographic_words().values():
        if words.drop is None or not edits.asked(words.attribute):
            continue
        for word in words.drop.finditer(text):
            start, end = word.span()
            person = is_before_person(text, end)
            if words.attribute == "sex":
                _male_or_female(edits, word)
            elif person and not _joined(text, start, end):
                _drop(edits, start, end, f"reveals {words.attribute} before a noun for a person")
            elif person:
                edits.leave(start, end, f"reveals {words.attribute}, joined to another word")
            elif (
                words.always and words.always.fullmatch(word.group()) and _AGE.search(text[:start])
            ):
                why = f"reveals {words.attribute}, in place of a noun for the patient"
                edits.put(start, end, "patient", why)


def _joined(text: str, start: int, end: int) -> bool:
    """Return whether removing the word would leave an "and" or a hyphen without its partner."""
    return (
        re.match(r"-|/| (?:and|or)\b", text[end:]) is not None
        or re.search(r"(?:-|/|\b(?:and|or) )$", text[:start]) is not None
    )


def _drop(edits: Edits, start: int, end: int, why: str) -> None:
    # With the following comma and space. At the start of a sentence, capitalise the next word.
    after = re.compile(r",? ").match(edits.text, end)
    end = after.end() if after else end
    edits.put(start, end, "", why)


_BOTH_SEXES = re.compile(r"(?i)(?:-|/| (?:and|or|to) )(?:fe)?male\b")
_BOTH_SEXES_BEFORE = re.compile(
    r"(?i)\bmale(?:-|/| (?:and|or|to) )$|\bfemale(?:-|/| (?:and|or|to) )$"
)


def _male_or_female(edits: Edits, word: re.Match[str]) -> None:
    text, (start, end) = edits.text, word.span()
    if re.match(
        r"(?i)[- ](?:pattern|to-(?:fe)?male|genital|circumci|hypogonad|sex\b|gender\b)", text[end:]
    ):
        edits.leave(start, end, "reveals a sex, and belongs to the next words")
    elif _BOTH_SEXES.match(text, end) or _BOTH_SEXES_BEFORE.search(text[:start]):
        edits.leave(start, end, "reveals a sex, joined to another word")
    elif begins_noun(text, end) and not _ends_clause(text, start, end):
        _drop(edits, start, end, "reveals a sex before a noun")
    elif re.search(
        r"(?i)\b(?:infant|newborn|neonate|baby|child|adolescent|adult|teenager) $", text[:start]
    ):
        edits.put(start - 1, end, "", "reveals a sex, next to a noun that does not")
    elif re.search(r"(?i)(?:\b(?:an?|the|this|old|\w+),?|old \w+) $", text[:start]):
        new = "patient" if edits.referents.is_patient(start) else "person"
        edits.put(start, end, in_case_of(word.group(), new), "a noun that reveals a sex")
    else:
        edits.leave(start, end, "reveals a sex, and no noun follows")


_SINGULAR = re.compile(r"(?i)(?:\b(?:an?|the|this|that)|[- ]old)(?:,? [\w-]+){0,3},? $")


def _ends_clause(text: str, start: int, end: int) -> bool:
    """Return whether a verb in -s or an adverb follows, and so no noun: "the male reports"."""
    word = re.compile(r" ([\w'’-]+)").match(text, end)
    if word is None:
        return True
    if re.match(rf"(?i){PERSON}", word[1]):
        return False
    verb = plural_verb(word[1]) is not None and _SINGULAR.search(text[:start]) is not None
    return verb or word[1].endswith("ly")
