"""Take the demographic words and the pronouns out of a vignette, by rules alone.

Every change is kept with its place in the given text. What the rules cannot decide they leave, and
say so; a model or a person decides it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from collectors.vignettes.demographic_words import (
    BEFORE_PERSON,
    PERSON,
    TITLE,
    demographic_words,
    is_abbreviation,
    left_over,
    neutral_word,
    replaceable,
)
from collectors.vignettes.mentions import begins_noun
from collectors.vignettes.pronouns import (
    ADVERB,
    PRONOUN,
    coordinated_verbs,
    in_case_of,
    is_possessive,
    is_pronoun,
    plural_verb,
)
from collectors.vignettes.referents import Referents
from collectors.vignettes.screening import sex_specific_words
from collectors.vignettes.substitute import put_in


@dataclass(frozen=True)
class Change:
    """One change of a text, or a place where the rules leave it to somebody else.

    Parameters
    ----------
    start, end : int
        Its place in the text as given.
    old, new : str
        What stood there and what stands there now: the same where it is undecided.
    why : str
        What the rule saw.
    undecided : bool
        Whether a model or a person has to decide.
    """

    start: int
    end: int
    old: str
    new: str
    why: str
    undecided: bool = False


@dataclass(frozen=True)
class Neutralized:
    """A text without what the rules could take out of it.

    Parameters
    ----------
    text : str
        The neutral text.
    changes : tuple of Change
        In the order of the text; nothing else differs.
    sex_specific : tuple of str
        Words for what only one sex has. They stay, and are reasons to exclude the item where sex
        is varied.
    """

    text: str
    changes: tuple[Change, ...]
    sex_specific: tuple[str, ...]

    @property
    def undecided(self) -> tuple[Change, ...]:
        """What a model or a person has to decide."""
        return tuple(change for change in self.changes if change.undecided)


def neutralize(text: str, *, attributes: Collection[str] | None = None) -> Neutralized:
    """Take demographic words and gendered pronouns out of a vignette.

    Parameters
    ----------
    text : str
        A vignette with its question.
    attributes : collection of str, optional
        The attributes of ``data/vignettes/demographic_words.toml`` whose words go; by default all
        of them. Pronouns are words of ``sex``.

    Returns
    -------
    Neutralized

    Notes
    -----
    The patient is "they", with the verbs that agree, also those that "and" joins to the first. A
    pronoun of the other sex than the patient's is no pronoun for the patient: it becomes the
    relative who was named last ("She says" after "his mother": "The parent says").

    Examples
    --------
    >>> neutralize("A 45-year-old man has pain. He also takes aspirin for his knee.").text
    'A 45-year-old patient has pain. They also take aspirin for their knee.'
    >>> for change in neutralize("Her doctor called her back.").changes:
    ...     print(change.start, change.old, "->", change.new, "|", change.why)
    0 Her -> Their | a pronoun that tells a sex
    18 her -> her | "her" may be the object or a possessive here
    """
    edits = _Edits(text, attributes)
    if edits.asked("sex"):
        _titles(edits)
    _nouns(edits)
    _adjectives(edits)
    if edits.asked("sex"):
        _pronouns(edits)
    _articles(edits)
    _marks(edits)
    changes = edits.in_order()
    return Neutralized(_applied(text, changes), changes, sex_specific_words(text))


def _applied(text: str, changes: Collection[Change]) -> str:
    parts, last = [], 0
    for change in changes:
        parts += [text[last : change.start], change.new]
        last = change.end
    return "".join([*parts, text[last:]])


class _Edits:
    """The changes of one text while they are collected; the first to claim a place keeps it."""

    def __init__(self, text: str, attributes: Collection[str] | None) -> None:
        self.text = text
        self.referents = Referents(text)
        self._attributes = attributes
        self._changes: list[Change] = []

    def asked(self, attribute: str) -> bool:
        return self._attributes is None or attribute in self._attributes

    def claimed(self, start: int, end: int) -> bool:
        return any(start < c.end and c.start < end for c in self._changes)

    def put(self, start: int, end: int, new: str, why: str) -> None:
        if not self.claimed(start, end) and self.text[start:end] != new:
            self._changes.append(Change(start, end, self.text[start:end], new, why))

    def leave(self, start: int, end: int, why: str) -> None:
        if not self.claimed(start, end):
            word = self.text[start:end]
            self._changes.append(Change(start, end, word, word, why, undecided=True))

    def in_order(self) -> tuple[Change, ...]:
        return tuple(sorted(self._changes, key=lambda change: change.start))


def _titles(edits: _Edits) -> None:
    for title in TITLE.finditer(edits.text):
        if " " not in title.group():
            edits.leave(*title.span(), "a title without a name")
            continue
        starts = re.search(r"(?:^|[.?!]\s+|\n)[\"“]?$", edits.text[: title.start()]) is not None
        new = "The patient" if starts else "the patient"
        # A full stop that ends the sentence is no part of the name.
        end = title.end() - (title.group().endswith(".") and " " in title.group())
        edits.put(title.start(), end, new, "a title tells a sex, a name an origin")


_BOTH = {
    "parents": r"(?:mother and father|father and mother|mom and dad|dad and mom)",
    "siblings": r"(?:brothers? and sisters?|sisters? and brothers?)",
    "children": r"(?:sons? and daughters?|daughters? and sons?)",
    "grandparents": r"(?:grandmother and grandfather|grandfather and grandmother)",
    "parent": r"(?:mother or father|father or mother)",
    "sibling": r"(?:brother or sister|sister or brother)",
    "child": r"(?:son or daughter|daughter or son)",
}
# The mother of whom milk, womb or labor is told is one whom no other word fits.
_BIRTH = re.compile(r"(?i)['’]s (?:breast|milk|womb|uter|pregnan|vagin|labor|delivery|menstru|ovar)")
_YEAR_OLD = re.compile(r"(?i)[- ](?:year|month|week|day|hour)s?[- ]old\b")


def _nouns(edits: _Edits) -> None:
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
            edits.put(start, end, in_case_of(noun.group(), patient), "a noun that tells a sex")
            continue
        if owner := edits.referents.patient_as_relative(start, end):
            why = "the relative's word for the patient"
            edits.put(owner, end, in_case_of(text[owner:start], "the patient"), why)
            continue
        phrase = text[max(0, start - 60) : start]
        if re.search(r"(?i)\b(?:baby|infant|newborn|neonate|toddler|child)\s$", phrase):
            # "A newborn boy" is a newborn.
            edits.put(start - 1, end, "", "a noun that tells a sex, beside one that does not")
            continue
        new = patient if edits.referents.is_patient(start) else other
        edits.put(start, end, in_case_of(noun.group(), new), "a noun that tells a sex")


def _relative(edits: _Edits, noun: re.Match[str], neutral: str) -> None:
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


def _adjectives(edits: _Edits) -> None:
    """Leave adjectives like "Hispanic" out before a noun for a person."""
    text = edits.text
    for words in demographic_words().values():
        if words.drop is None or not edits.asked(words.attribute):
            continue
        for word in words.drop.finditer(text):
            start, end = word.span()
            person = re.compile(BEFORE_PERSON, re.IGNORECASE).match(text, end) is not None
            if words.attribute == "sex":
                _male_or_female(edits, word)
            elif person and not _joined(text, start, end):
                _drop(edits, start, end, f"tells {words.attribute} before a noun for a person")
            elif person:
                edits.leave(start, end, f"tells {words.attribute}, joined to another word")
            elif words.always and words.always.fullmatch(word.group()):
                if re.search(r"(?i)(?:year|month|week|day)s?[- ]old,? $", text[:start]):
                    why = f"tells {words.attribute}, in place of a noun for the patient"
                    edits.put(start, end, "patient", why)


def _joined(text: str, start: int, end: int) -> bool:
    """Whether leaving the word out would leave an "and" or a hyphen without its partner."""
    return re.match(r"-|/| (?:and|or)\b", text[end:]) is not None or re.search(
        r"(?:-|/|\b(?:and|or) )$", text[:start]
    ) is not None


def _drop(edits: _Edits, start: int, end: int, why: str) -> None:
    # With the comma and the space after it; at the start of a sentence the next word is capital.
    after = re.compile(r",? ").match(edits.text, end)
    end = after.end() if after else end
    edits.put(start, end, "", why)


def _male_or_female(edits: _Edits, word: re.Match[str]) -> None:
    text, (start, end) = edits.text, word.span()
    if re.match(r"(?i)[- ](?:pattern|to-(?:fe)?male|genital|circumci|hypogonad|sex\b|gender\b)", text[end:]):
        edits.leave(start, end, "tells a sex, and belongs to what follows")
    elif _joined(text, start, end):
        edits.leave(start, end, "tells a sex, joined to another word")
    elif begins_noun(text, end) and not _ends_clause(text, start, end):
        _drop(edits, start, end, "tells a sex before a noun")
    elif re.search(r"(?i)\b(?:infant|newborn|neonate|baby|child|adolescent|adult|teenager) $", text[:start]):
        edits.put(start - 1, end, "", "tells a sex, beside a noun that does not")
    elif re.search(r"(?i)(?:\b(?:an?|the|this|old|\w+),?|old \w+) $", text[:start]):
        new = "patient" if edits.referents.is_patient(start) else "person"
        edits.put(start, end, in_case_of(word.group(), new), "a noun that tells a sex")
    else:
        edits.leave(start, end, "tells a sex, and no noun follows")


_SINGULAR = re.compile(r"(?i)(?:\b(?:an?|the|this|that)|[- ]old)(?:,? [\w-]+){0,3},? $")


def _ends_clause(text: str, start: int, end: int) -> bool:
    """Whether a verb in -s or an adverb follows, and so no noun: "the male reports"."""
    word = re.compile(r" ([\w'’-]+)").match(text, end)
    if word is None:
        return True
    if re.match(rf"(?i){PERSON}", word[1]):
        return False
    verb = plural_verb(word[1]) is not None and _SINGULAR.search(text[:start]) is not None
    return verb or word[1].endswith("ly")


_JOINED = 'the verb that "and" joins to one that goes with "they"'
_AUXILIARY = ("is", "was", "has", "does")
_INVERTED = re.compile(r"(?i)\b(is|was|has|does|isn['’]t|wasn['’]t|hasn['’]t|doesn['’]t)(\s+)$")
_VERB = re.compile(rf"(?i)(?:,? {ADVERB}\b,?)*,? (?P<verb>[a-z]+(?:n['’]t)?)(?![\w'’-])")
_OWN_VERB = re.compile(
    rf"(?i) (?:{ADVERB} )*(?:is|was|has|had|can|could|will|would|does|did|may|might|must|\w+s)\b"
)


def _pronouns(edits: _Edits) -> None:
    text = edits.text
    for found in PRONOUN.finditer(text):
        if not is_pronoun(found, text):
            continue
        start, end = found.span()
        word = found.group().lower()
        forms = re.split(r" or |/", word)
        role = forms[-1] if forms[-1] in _NEUTRAL else forms[0]
        if "her" in forms and len(forms) > 1:
            role = next(form for form in forms if form != "her")  # his or her, him or her
        named = edits.referents.other_than_patient(start, word) if len(forms) == 1 else None
        if role == "her":
            possessive = is_possessive(text, start, end)
            if possessive is None:
                edits.leave(start, end, '"her" may be the object or a possessive here')
                continue
            role = "his" if possessive else "him"
        if role == "his" and re.match(r"\s*(?:$|[.,;:?!)]|\s(?:and|or|is|was|has)\b)", text[end:]):
            role = "hers"
        if named and role != "himself":
            new = named + ("'s" if role in ("his", "hers") else "")
            why = f"not the patient but {named}, who is spoken of before"
            edits.put(start, end, in_case_of(found.group(), new), why)
            continue
        new = in_case_of(found.group(), _NEUTRAL[role])
        if role in ("he", "she"):
            new += _agreement(edits, start, end)
            end += _contracted(text, end)
        edits.put(start, end, new, "a pronoun that tells a sex")


_NEUTRAL = {
    "he": "they",
    "she": "they",
    "him": "them",
    "his": "their",
    "hers": "theirs",
    "himself": "themselves",
    "herself": "themselves",
}
_CONTRACTION = re.compile(r"(?i)['’](s|d|ll)\b")
_HAS = re.compile(r"(?i) (?:\w+ly |also |always |never |just )*(?:been|had|got|become|gone|taken|done)\b")
_MAYBE_HAS = re.compile(r"(?i) (?:\w+ly )*\w+(?:ed|en)\b")


def _contracted(text: str, end: int) -> int:
    found = _CONTRACTION.match(text, end)
    return len(found.group()) if found else 0


def _agreement(edits: _Edits, start: int, end: int) -> str:
    """Set the verbs right that go with a subject; what it is contracted to is returned."""
    text = edits.text
    if contracted := _CONTRACTION.match(text, end):
        apostrophe, kind = contracted.group()[0], contracted[1]
        after = contracted.end()
        _coordinated(edits, after)
        if kind.lower() != "s":
            return f"{apostrophe}{kind}"
        new = "ve" if _HAS.match(text, after) else "re"
        return apostrophe + in_case_of(kind if len(kind) > 1 else kind * 2, new)
    if inverted := _INVERTED.search(text, max(0, start - 12), start):
        if not _OWN_VERB.match(text, end) and (new := plural_verb(inverted[1])):
            edits.put(inverted.start(1), inverted.end(1), new, "the verb that goes with \"they\"")
            return ""
    if re.match(r"(?i) (?:and|or|nor)\b", text[end:]):
        _after_two(edits, end)
        return ""
    if (verb := _VERB.match(text, end)) is None:
        return ""
    if new := plural_verb(verb["verb"]):
        edits.put(verb.start("verb"), verb.end("verb"), new, 'the verb that goes with "they"')
        # "Breathes or coughs": beside a verb in -s another one, whichever it is.
        beside = re.compile(r"(?i) (?:and|or) (?P<verb>[a-z]+s)\b").match(text, verb.end())
        if beside and verb["verb"].lower() not in _AUXILIARY and (other := plural_verb(beside["verb"])):
            edits.put(*beside.span("verb"), other, _JOINED)
    _coordinated(edits, verb.end())
    return ""


def _after_two(edits: _Edits, end: int) -> None:
    """ "He or his wife has" is left; "he and his wife have" is plural already."""
    verb = re.compile(r"(?i) (?:or|nor) (?:\w+ ){1,2}(has|is|was|does)\b").match(edits.text, end)
    if verb:
        edits.leave(*verb.span(1), "the verb of two subjects joined by \"or\"")


def _coordinated(edits: _Edits, end: int) -> None:
    sure, doubtful = coordinated_verbs(edits.text, end)
    for verb in sure:
        if new := plural_verb(verb["verb"]):
            edits.put(verb.start("verb"), verb.end("verb"), new, _JOINED)
    for verb in doubtful:
        edits.leave(*verb.span("verb"), "whose verb this is cannot be told")


_ARTICLE = re.compile(r"(?i)(?<![\w.])(an?) $")


def _articles(edits: _Edits) -> None:
    """Set "a" and "an" right before a word that came there, and capitals where a word left."""
    text = edits.text
    changes = [c for c in edits.in_order() if not c.undecided]
    for change in changes:
        after = _applied(text[change.end :], _moved(changes, change.end))
        following = (change.new + after).lstrip()
        if not change.new and re.search(r"(?:^|[.?!] |\n)$", text[: change.start]):
            _capital(edits, change)
        article = _ARTICLE.search(text[: change.start])
        if article is None or not following:
            continue
        first = re.split(r"[\s,.]", following)[0]
        if first.startswith("other"):
            right, why = article[1][0] + "nother", '"another" before "other"'
            edits.put(article.start(1), change.start + len("other "), right + " ", why)
            continue
        edits.put(*article.span(1), _article(article[1], first), "the article before it")


def _moved(changes: list[Change], by: int) -> list[Change]:
    return [
        Change(c.start - by, c.end - by, c.old, c.new, c.why) for c in changes if c.start >= by
    ]


def _article(article: str, word: str) -> str:
    if word[:1].isdigit():
        right = "an" if re.match(r"8|11\b|18\b|11-|18-", word) else "a"
        return in_case_of(article[0], right) if article[0].isupper() else right
    return put_in(f"{article} ", len(article) + 1, word).split()[0]


def _capital(edits: _Edits, change: Change) -> None:
    next_word = re.compile(r"[a-z]").match(edits.text, change.end)
    if next_word:
        edits.put(*next_word.span(), next_word.group().upper(), "the sentence begins here now")


def _marks(edits: _Edits) -> None:
    """What still tells an attribute stays, and is said to be left."""
    for one in left_over(edits.text):
        if edits.asked(one.attribute) and not edits.claimed(one.start, one.end):
            why = f"tells {one.attribute}, and clinical content may hang on it"
            edits.leave(one.start, one.end, why)
