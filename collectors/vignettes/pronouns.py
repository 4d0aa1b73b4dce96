"""English pronouns of the third person, and the verbs that agree with them.

A pronoun is decided by the word that follows it. Where that does not decide, nothing is guessed.
"""

from __future__ import annotations

import re

#: "Her" is the one that stands for two: "them" or "their".
PRONOUN = re.compile(
    r"(?i)(?<![\w/])(?:he or she|she or he|he/she|she/he|s/he|his or hers?|hers? or his|his/hers?|her/his"
    r"|him or her|her or him|him/her|himself or herself|himself/herself|himself|herself|him|hers"
    r"|his|her|he|she)(?![\w])"
)
# "HER2", "HER-2/neu", "bundle of His", "His-Purkinje".
_HER2 = re.compile(r"(?i)(?:[- ]?2\b|[-/ ]?neu\b)")
_BUNDLE_AFTER = re.compile(r"(?:[- ](?:bundle|purkinje)|[-–]Purkinje| Purkinje)", re.IGNORECASE)
_BUNDLE_BEFORE = re.compile(r"(?i)\b(?:bundle|branch(?:es)?) of (?:the )?$")
_SENTENCE = re.compile(r"[^.?!]+")


def is_pronoun(found: re.Match[str], text: str) -> bool:
    """Whether what looks like a pronoun is one, and no name or abbreviation."""
    word = found.group()
    if word.lower() == "her" and _HER2.match(text, found.end()):
        return False
    if word.lower() == "his" and (
        _BUNDLE_AFTER.match(text, found.end())
        or _BUNDLE_BEFORE.search(text[max(0, found.start() - 30) : found.start()])
    ):
        return False
    if word.isupper():
        # "HE" in a text that is not in capitals is hepatic encephalopathy or a stain.
        near = text[max(0, found.start() - 30) : found.end() + 30]
        letters = [c for c in near if c.isalpha()]
        return sum(c.isupper() for c in letters) > 0.8 * len(letters)
    return True


_IRREGULAR = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "goes": "go",
    "undergoes": "undergo",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
    **{f"{verb}s": verb for verb in ("die", "lie", "tie", "untie", "vie", "ache", "cache")},
}
_NO_VERB = frozenset(
    "always sometimes perhaps afterwards besides nowadays thus besides unless this his its towards"
    " yes as plus versus years months weeks days hours minutes times besides overseas".split()
)
#: What may stand between the subject and its verb.
ADVERB = (
    r"(?:(?!(?:family|supply|apply|reply|rely|bully|fly)\b)\w+ly|also|now|often|sometimes|never|always|still|then|only|just|once"
    r"|first|last|soon|further|rather|no longer|both|either|neither|again|even|ever|already"
    r"|himself|herself|yet|too|not|otherwise|therefore|thus|currently|at times"
    r"|at first|in general|more|less|most|however)"
)


def plural_verb(verb: str) -> str | None:
    """The form of a verb after "they", for one after "he"; None where it stays as it is.

    Examples
    --------
    >>> [plural_verb(verb) for verb in ("has", "denies", "goes", "watches", "uses", "lies")]
    ['have', 'deny', 'go', 'watch', 'use', 'lie']
    >>> plural_verb("felt"), plural_verb("always"), plural_verb("discuss")
    (None, None, None)
    """
    low = verb.lower().replace("’", "'")
    if low in _NO_VERB:
        return None
    if low in _IRREGULAR:
        new = _IRREGULAR[low]
    elif len(low) < 4 or not low.endswith("s") or low.endswith(("ss", "us", "is")):
        return None
    elif low.endswith("ies"):
        new = low[:-3] + "y"
    elif low.endswith(("sses", "shes", "ches", "xes", "zzes", "oes", "cuses")):
        new = low[:-2]
    else:
        new = low[:-1]
    return in_case_of(verb, new.replace("'", "’") if "’" in verb else new)


def in_case_of(old: str, new: str) -> str:
    """A word in the letter case of the one that it replaces."""
    if old.isupper() and sum(c.isalpha() for c in old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


#: Verbs whose subject is a person: after "and" they go with the pronoun, whatever stands between.
_PERSONS_VERB = (
    "admits appears avoids chews claims comments complains consumes continues denies describes drinks eats"
    " endorses enjoys exercises experiences expresses feels gets goes insists lists lives mentions"
    " notes notices plans prefers recalls refuses remembers reports requests resides responds says"
    " seems sees sleeps smokes speaks spends states stops takes tells tends thinks travels tries"
    " undergoes uses visits wakes walks wants watches wears weighs wishes wonders works worries"
    " attends believes breathes develops follows keeps knows loses makes needs performs plays reads"
    " receives returns runs sits starts attributes becomes begins finds gives has hears leaves"
    " presents pulls rates repeats shows stares withdraws lies cries jumps looks moves turns falls"
    " asks answers agrees comes dies demonstrates exhibits maintains holds"
).split()
#: Verbs that may as well go with a thing that was named in between.
_ANYTHINGS_VERB = "is was has does isn't wasn't hasn't doesn't".split()
_COORDINATED = re.compile(
    rf"(?i)(?P<before>,? (?:and|or|but|nor|yet)|,(?: then)?) (?:{ADVERB},? )*"
    rf"(?P<verb>{'|'.join(sorted({*_PERSONS_VERB, *_ANYTHINGS_VERB}, key=len, reverse=True))})\b(?!['’])"
)
#: What begins another clause, whose verbs may have another subject.
_OTHER_CLAUSE = re.compile(
    r"(?i)\b(?:that|which|who|whom|whose|because|when|whenever|while|where|if|although|though|since|as|"
    r"is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|may|might|must|it|they"
    r"|he|she|patient|this|there|mother|father|wife|husband|son|daughter|brother|sister|parents?)\b"
    r"|[;:]"
)
_END = re.compile(r"[?!\n]|\.(?=\s|$|[\"”])")


def coordinated_verbs(text: str, start: int) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The verbs that "and" joins to the one of a pronoun, up to the end of its sentence.

    Parameters
    ----------
    text : str
        The whole text.
    start : int
        Where the pronoun's own verb ends.

    Returns
    -------
    tuple of lists
        Those that go with the pronoun, and those that may go with something named in between.

    Examples
    --------
    >>> sure, doubtful = coordinated_verbs("He has pain that is dull and was worse and takes it.", 6)
    >>> [verb["verb"] for verb in sure], [verb["verb"] for verb in doubtful]
    (['takes'], ['was'])
    """
    ends = _END.search(text, start)
    stop = ends.start() if ends else len(text)
    sure: list[re.Match[str]] = []
    doubtful: list[re.Match[str]] = []
    last = start
    for found in _COORDINATED.finditer(text, start, stop):
        verb = found["verb"].lower()
        comma_only = found["before"].startswith(",") and len(found["before"].split()) == 1
        # ", but" is followed by a clause of its own; ", takes" by one of a list of verbs.
        between = _OTHER_CLAUSE.search(text, last, found.start())
        clear = between is None
        if comma_only and (verb in _ANYTHINGS_VERB or not clear or verb == "states"):
            continue
        # "Smokes and drinks", "no longer drinks": no noun, whatever follows.
        beside = text[last : found.start()] == "" or found.start("verb") > found.end("before") + 1
        if not beside and not _is_verb_here(text, found):
            continue
        if clear:
            sure.append(found)
            last = found.end()
        elif verb in _PERSONS_VERB and verb not in _ANYTHINGS_VERB and not _names_relative(between):
            sure.append(found)
            last = found.end()
        else:
            doubtful.append(found)
    return sure, doubtful


_NOUNS_TOO = frozenset(
    "drinks experiences exercises feels notes plans plays reports requests runs shows states stops visits walks"
    " watches works wishes starts looks rates reads sees falls moves turns tries claims comments lists needs"
    " uses holds answers".split()
)
# A verb's object, complement or adverb; a noun is followed by another kind of word.
_AFTER_VERB = re.compile(
    r"(?i) (?:an?|the|his|her|their|that|no|any|some|\d|to|in|as|at|on|up|about|for|with|only|very|well"
    r"|there|this|these|those|feeling|having|being|occasional|many|several|one|two|three|four|five|six"
    r"|\w+ly|alcohol|cigarettes|marijuana|cocaine|tobacco|when|out|from|anxious|tired|pain|like|back|over)\b"
)


def _is_verb_here(text: str, found: re.Match[str]) -> bool:
    verb = found["verb"].lower()
    return verb not in _NOUNS_TOO or _AFTER_VERB.match(text, found.end()) is not None


def _names_relative(between: re.Match[str] | None) -> bool:
    return between is not None and re.fullmatch(
        r"(?i)mother|father|wife|husband|son|daughter|brother|sister|parents?|it|they|patient|there|[;:]",
        between.group(),
    ) is not None


#: After "her" these say that it is no possessive: it ends its phrase.
_ENDS_PHRASE = re.compile(
    r"(?i)\s*(?:$|[.,;:?!)\]\"”]|\s(?:to|for|with|in|on|at|from|by|into|onto|as|because|when|whenever"
    r"|while|if|who|that|whether|during|after|before|and|but|or|than|about|since|until|of|off|over"
    r"|under|out|up|down|through|without|within|against|is|was|has|had|will|would|can|could|may"
    r"|should|must|does|did|the|an?|this|these|those|some|any|it|there|here|again|away|alone|not"
    r"|unconscious|unresponsive|awake|asleep|dead|unable|feel|go|be|have|do|also|twice|every|lying"
    r"|sitting|wandering|screaming|standing|immediately|regularly|tried|try|get|take)\b(?!-))"
)
#: After "her" these leave it open: "call her back", "her back".
_OPEN = re.compile(r"(?i)\s(?:back|home|better|well|sleep|work|walk|being|talking|walking|crying)\b")
_PREPOSITION = re.compile(
    r"(?i)\b(?:to|for|with|in|on|at|from|by|into|of|about|off|over|under|down|through|and|is|was|across)\s+$"
)


def is_possessive(text: str, start: int, end: int) -> bool | None:
    """Whether the "her" at this place is a possessive; None where its neighbours do not say.

    Examples
    --------
    >>> text = "Her arm hurts. They told her to rest, found her lying and called her back."
    >>> [is_possessive(text, m.start(), m.end()) for m in re.finditer("(?i)her(?= )", text)]
    [True, False, False, None]
    """
    if _ENDS_PHRASE.match(text, end):
        return False
    if _OPEN.match(text, end):
        # "In her back", "from her home": a noun follows a preposition.
        before = text[max(0, start - 12) : start]
        return True if _PREPOSITION.search(before) or text[start].isupper() else None
    return True
