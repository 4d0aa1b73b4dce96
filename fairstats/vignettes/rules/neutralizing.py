"""Remove demographic words and pronouns from a vignette, by rules alone.

Every change is recorded with its position in the original text. Places that the rules cannot decide
are left and reported, for a model or a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from fairstats.vignettes.rules.demographic_words import (
    PERSON,
    TITLE,
    demographic_words,
    is_abbreviation,
    is_before_person,
    left_over,
    neutral_word,
    replaceable,
)
from fairstats.vignettes.rules.persons import Referents, begins_noun, put_in
from fairstats.vignettes.rules.pronouns import (
    ADVERB,
    PRONOUN,
    coordinated_verbs,
    in_case_of,
    is_possessive,
    is_pronoun,
    plural_verb,
)


@dataclass(frozen=True)
class Neutralized:
    """A text after removal of everything that the rules can remove."""

    text: str
    changes: tuple[Change, ...]

    @property
    def undecided(self) -> tuple[Change, ...]:
        """Return the changes that a model or a person has to decide."""
        return tuple(change for change in self.changes if change.undecided)


def neutralize(text: str, *, attributes: Collection[str] | None = None) -> Neutralized:
    """Remove demographic words and gendered pronouns from a vignette.

    `attributes` are those in ``data/vignettes/demographic_words.toml`` with words to remove, by
    default all. Pronouns are words of ``sex``.

    Notes
    -----
    The patient becomes "they", with agreeing verbs, including those joined to the first by "and". A
    pronoun of a different sex from the patient's refers to someone else. It becomes the relative
    mentioned most recently ("She says" after "his mother": "The parent says").

    Examples
    --------
    >>> neutralize("A 45-year-old man has pain. He also takes aspirin for his knee.").text
    'A 45-year-old patient has pain. They also take aspirin for their knee.'
    >>> for change in neutralize("Her doctor called her back.").changes:
    ...     print(change.start, change.old, "->", change.new, "|", change.why)
    0 Her -> Their | a pronoun that reveals a sex
    18 her -> her | "her" may be the object or a possessive here
    """
    edits = Edits(text, attributes)
    if edits.asked("sex"):
        take_titles_out(edits)
    make_nouns_neutral(edits)
    take_adjectives_out(edits)
    if edits.asked("sex"):
        make_pronouns_neutral(edits)
    set_articles_right(edits)
    for one in left_over(text):
        if edits.asked(one.attribute):
            why = f"reveals {one.attribute}, and clinical content may depend on it"
            edits.leave(one.start, one.end, why)
    changes = edits.in_order()
    return Neutralized(applied(text, changes), changes)


@dataclass(frozen=True)
class Change:
    """One change of a text, or a place that the rules leave undecided.

    Parameters
    ----------
    start, end : int
        Its position in the original text.
    old, new : str
        The old and the new text: the same if undecided.
    why : str
        What the rule detected.
    undecided : bool
        Whether a model or a person has to decide.
    """

    start: int
    end: int
    old: str
    new: str
    why: str
    undecided: bool = False


def applied(text: str, changes: Collection[Change]) -> str:
    parts, last = [], 0
    for change in changes:
        parts += [text[last : change.start], change.new]
        last = change.end
    return "".join([*parts, text[last:]])


class Edits:
    """The changes of one text during processing; the first change at a position is kept."""

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


_ARTICLE = re.compile(r"(?i)(?<![\w.])(an?) $")


def set_articles_right(edits: Edits) -> None:
    """Correct "a" and "an" before inserted words, and capitals after removed words."""
    text = edits.text
    changes = [c for c in edits.in_order() if not c.undecided]
    for change in changes:
        if not change.new and re.search(r"(?:^|[.?!] |\n)$", text[: change.start]):
            lower = re.compile(r"[a-z]").match(text, change.end)
            if lower:
                edits.put(*lower.span(), lower.group().upper(), "the sentence begins here now")
        article = _ARTICLE.search(text[: change.start])
        if article is None:
            continue
        end = change.end
        later = [
            replace(c, start=c.start - end, end=c.end - end) for c in changes if c.start >= end
        ]
        after = applied(text[end:], later)
        words = re.split(r"[\s,.]", (change.new + after).lstrip())
        if words[0] == "other":  # "a" and "other" become "another".
            edits.put(article.start(1), change.start, article[1][0] + "n", "the article before it")
        elif words[0]:
            edits.put(*article.span(1), _article(article[1], words[0]), "the article before it")


def _article(article: str, word: str) -> str:
    if word[:1].isdigit():
        right = "an" if re.match(r"8|11\b|18\b|11-|18-", word) else "a"
        return in_case_of(article[0], right) if article[0].isupper() else right
    return put_in(f"{article} ", len(article) + 1, word).split()[0]


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
        relative, why = attribute == "family", "a noun that reveals a sex"
        if relative and _BIRTH.match(text, end):
            edits.leave(start, end, "the one who gave birth: no neutral word fits for sure")
            continue
        if (relative or patient != other) and (
            owner := edits.referents.patient_as_relative(start, end)
        ):
            # "Her husband", said by the wife of the patient.
            new = in_case_of(text[owner:start], "the patient")
            edits.put(owner, end, new, "the relative's word for the patient")
            continue
        if relative:
            second = patient == "parent" and edits.referents.is_second_parent(noun.group())
            new, why = "other parent" if second else patient, "a relative by the sex"
        elif patient == other:
            new = patient
        elif re.search(r"(?i)\b(?:baby|infant|newborn|neonate|toddler|child)\s$", text[:start]):
            # "A newborn boy" is a newborn.
            edits.put(start - 1, end, "", f"{why}, next to one that does not")
            continue
        else:
            new = patient if edits.referents.is_patient(start) else other
        edits.put(start, end, in_case_of(noun.group(), new), why)


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


_JOINED = 'the verb that "and" joins to one that goes with "they"'
_AUXILIARY = ("is", "was", "has", "does")
_INVERTED = re.compile(r"(?i)\b(is|was|has|does|isn['’]t|wasn['’]t|hasn['’]t|doesn['’]t)(\s+)$")
_VERB = re.compile(rf"(?i)(?:,? {ADVERB}\b,?)*,? (?P<verb>[a-z]+(?:n['’]t)?)(?![\w'’-])")
_OWN_VERB = re.compile(
    rf"(?i) (?:{ADVERB} )*(?:is|was|has|had|can|could|will|would|does|did|may|might|must|\w+s)\b"
)


def make_pronouns_neutral(edits: Edits) -> None:
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
            suffix, end = _agreement(edits, start, end)
            new += suffix
        edits.put(start, end, new, "a pronoun that reveals a sex")


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
_HAS = re.compile(
    r"(?i) (?:\w+ly |also |always |never |just )*(?:been|had|got|become|gone|taken|done)\b"
)


def _agreement(edits: Edits, start: int, end: int) -> tuple[str, int]:
    """Correct the verbs that agree with a subject; return the contracted form and its end."""
    text = edits.text
    if contracted := _CONTRACTION.match(text, end):
        apostrophe, kind = contracted.group()[0], contracted[1]
        after = contracted.end()
        _coordinated(edits, after)
        if kind.lower() != "s":
            return contracted.group(), after
        new = "ve" if _HAS.match(text, after) else "re"
        return apostrophe + in_case_of(kind * 2, new), after
    inverted = _INVERTED.search(text, max(0, start - 12), start)
    if inverted and not _OWN_VERB.match(text, end):
        plural = plural_verb(inverted[1]) or inverted[1]
        edits.put(*inverted.span(1), plural, 'the verb that goes with "they"')
        return "", end
    if re.match(r"(?i) (?:and|or|nor)\b", text[end:]):
        # "He or his wife has" stays; "he and his wife have" is plural already.
        own = re.compile(r"(?i) (?:or|nor) (?:\w+ ){1,2}(has|is|was|does)\b").match(text, end)
        if own:
            edits.leave(*own.span(1), 'the verb of two subjects joined by "or"')
        return "", end
    if (verb := _VERB.match(text, end)) is None:
        _coordinated(edits, end)
        return "", end
    if plural := plural_verb(verb["verb"]):
        edits.put(verb.start("verb"), verb.end("verb"), plural, 'the verb that goes with "they"')
        # "Breathes or coughs": a word in -s joined to a verb is another verb.
        beside = re.compile(r"(?i) (?:and|or) (?P<verb>[a-z]+s)\b").match(text, verb.end())
        if (
            beside
            and verb["verb"].lower() not in _AUXILIARY
            and (other := plural_verb(beside["verb"]))
        ):
            edits.put(*beside.span("verb"), other, _JOINED)
    _coordinated(edits, verb.end(), verb["verb"])
    return "", end


# After these a verb has no ending: "does not smoke and drinks" would be "do not smoke and drink".
_BARE_FOLLOWS = re.compile(
    r"(?i)(?:(?:does|did|could|would|should|will|can|may|might|must)\b|cannot\b|can['’]t\b|won['’]t\b"
    r"|(?:does|did|could|would|should)n['’]t\b)"
)


def _coordinated(edits: Edits, end: int, own: str = "") -> None:
    sure, doubtful = coordinated_verbs(edits.text, end)
    bare = _BARE_FOLLOWS.match(own) is not None
    for verb in sure:
        start, stop = verb.span("verb")
        plural = plural_verb(verb["verb"])
        either = verb["before"].lower().endswith("or")
        if plural and bare and not either and plural not in ("are", "were"):
            # The denial applies only to the first verb, so repeat the pronoun.
            start = verb.end("before") + 1
            plural = f"they {edits.text[start : verb.start('verb')]}{plural}"
        if plural:
            edits.put(start, stop, plural, _JOINED)
        bare = _BARE_FOLLOWS.match(verb["verb"]) is not None
    for verb in doubtful:
        edits.leave(*verb.span("verb"), "the subject of this verb is unclear")
