"""English pronouns that reveal a sex, and the verbs that agree with them and with "they".

The word after a pronoun decides its role. If that is not enough, it stays undecided.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache

from fairstats._lib.installation import resource

#: Only "her" has two roles: "them" or "their".
PRONOUN = re.compile(
    r"(?i)(?<![\w/])(?:he or she|she or he|he/she|she/he|s/he|his or hers?|hers? or his|his/hers?"
    r"|her/his|him or her|her or him|him/her|himself or herself|himself/herself|himself|herself|him"
    r"|hers|his|her|he|she)(?![\w])"
)
# "HER2", "HER-2/neu", "bundle of His", "His-Purkinje".
_HER2 = re.compile(r"(?i)(?:[- ]?2\b|[-/ ]?neu\b)")
_BUNDLE_AFTER = re.compile(r"(?:[- ](?:bundle|purkinje)|[-–]Purkinje| Purkinje)", re.IGNORECASE)
_BUNDLE_BEFORE = re.compile(r"(?i)\b(?:bundle|branch(?:es)?) of (?:the )?$")


def is_pronoun(found: re.Match[str], text: str) -> bool:
    """Return whether an apparent pronoun is one, and not a name or an abbreviation."""
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


def in_case_of(old: str, new: str) -> str:
    """Return a word in the letter case of the word that it replaces."""
    if old.isupper() and sum(c.isalpha() for c in old) > 1:
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


#: After "her", these show that it is not a possessive: it ends its phrase.
_ENDS_PHRASE = re.compile(
    r"(?i)\s*(?:$|[.,;:?!)\]\"”]|\s(?:to|for|with|in|on|at|from|by|into|onto|as|because|when|whenever"
    r"|while|if|who|that|what|how|why|where|whether|during|after|before|and|but|or|than|about|since|until|of|off|over"
    r"|under|out|up|down|through|without|within|against|is|was|has|had|will|would|can|could|may"
    r"|should|must|does|did|the|an?|this|these|those|some|any|it|there|here|again|away|alone|not"
    r"|unconscious|unresponsive|awake|asleep|dead|unable|feel|go|be|have|do|also|twice|every|lying"
    r"|sitting|wandering|screaming|standing|immediately|regularly|tried|try|get|take)\b(?!-))"
)
#: After some verbs, these leave it undecided: "call her back", "watch her walk".
_OPEN = re.compile(r"(?i)\s(?:back|home|better|well|sleep|work|walk|being|\w+ing)\b")
_TAKES_MORE = re.compile(
    r"(?i)\b(?:ma[dk]e|let|help|see|saw|seen|watch|hear|heard|find|found|notice|notic|keep|kept|w[ao]ken?|call"
    r"|bring|brought|send|sent|drive|dr[io]ven?|took|taken?|leave|left|carry|carri|escort|remember|get|got)"
    r"(?:s|d|ed|es|ing)?\s+$"
)


def is_possessive(text: str, start: int, end: int) -> bool | None:
    """Return whether the "her" here is a possessive; None if the neighbouring words do not decide.

    Examples
    --------
    >>> text = "Her arm hurts. They told her to rest, found her lying and called her back."
    >>> [is_possessive(text, m.start(), m.end()) for m in re.finditer("(?i)her(?= )", text)]
    [True, False, False, None]
    """
    if _ENDS_PHRASE.match(text, end):
        return False
    if _OPEN.match(text, end):
        return None if _TAKES_MORE.search(text[max(0, start - 15) : start]) else True
    return True


@lru_cache(maxsize=3)
def _verbs(kind: str) -> frozenset[str]:
    path = resource("data", "vignettes", "verbs.toml")
    return frozenset(tomllib.loads(path.read_text(encoding="utf-8"))[kind].split())


_IRREGULAR = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "goes": "go",
    "undergoes": "undergo",
    "focuses": "focus",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
    **{f"{verb}s": verb for verb in ("die", "lie", "tie", "untie", "vie", "ache", "cache")},
}
#: Words that may come between the subject and its verb.
ADVERB = (
    r"(?:(?!(?:family|supply|apply|reply|rely|bully|fly)\b)\w+ly|also|now|often|sometimes|never|always|still|then|only|just|once"
    r"|first|last|soon|further|rather|no longer|both|either|neither|again|even|ever|already"
    r"|himself|herself|yet|too|not|otherwise|therefore|thus|currently|at times"
    r"|at first|in general|more|less|most|however)"
)


def plural_verb(verb: str) -> str | None:
    """Return the form of a verb after "they", given that after "he"; None if it does not change.

    Examples
    --------
    >>> [plural_verb(verb) for verb in ("has", "denies", "goes", "watches", "uses", "lies")]
    ['have', 'deny', 'go', 'watch', 'use', 'lie']
    >>> plural_verb("felt"), plural_verb("always"), plural_verb("discuss")
    (None, None, None)
    """
    low = verb.lower().replace("’", "'")
    if low in _verbs("no_verbs"):
        return None
    if low in _IRREGULAR:
        new = _IRREGULAR[low]
    elif len(low) < 4 or not low.endswith("s") or low.endswith(("ss", "us", "is")):
        return None
    elif low.endswith("ies"):
        new = low[:-3] + "y"
    elif low.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        new = low[:-2]
    else:
        new = low[:-1]
    return in_case_of(verb, new.replace("'", "’") if "’" in verb else new)


#: Verbs that may also belong to a thing mentioned in between.
_ANYTHINGS_VERB = ("is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't")
_DOES_AS_PERSON = re.compile(
    r"(?i)(?:does not|doesn['’]t) (?:recall|remember|know|think|smoke|drink|use|take|exercise)\b"
)
_COORDINATED = re.compile(
    rf"(?i)(?P<before>,? (?:and|or|but|nor|yet)|,(?: then)?) (?:{ADVERB},? )*"
    r"(?P<verb>[a-z]+s|[a-z]+n['’]t)\b(?!['’-])"
)
#: Words that begin another clause, with verbs that may have another subject.
_OTHER_CLAUSE = re.compile(
    r"(?i)\b(?:(?<!\bduring )(?<!\bafter )(?<!\bat )(?<!\bof )(?<!\bin )(?<!\bsince )that"
    r"|which|who|whom|whose|because|where|if|although|though|(?:when|whenever|while|since)"
    r"(?! \w+ing\b)|is|are|was|were|has|have|had|does|do|did|can|could|will|would"
    r"|should|may|might|must|it|they|he|she|patient|this|there)\b"
    r"|(?<!(?:with|from) (?:his|her) )(?<!(?:by|to|of) (?:his|her) )"
    r"\b(?:mother|father|wife|husband|son|daughter|brother|sister|parents?)\b"
    r"|[;:]"
)
# The next pronoun has separate verbs.
_CLAUSE_END = re.compile(r"(?i)[?!\n]|\.(?=\s|$|[\"”])|\bs?he\b")
#: The pronoun's verb group: "has also been having", "does not exercise".
_VERB_GROUP = re.compile(rf"(?i)(?: (?:{ADVERB}|not|been|had|have|has|be|being|able))+\b")


def coordinated_verbs(text: str, start: int) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Return the verbs joined by "and" to a pronoun's verb, up to the end of its sentence.

    `start` is where the pronoun's verb ends. The first list is of those that belong to the pronoun,
    the second of those that may belong to something mentioned in between.

    Examples
    --------
    >>> text = "He has pain that is dull and was worse and takes it."
    >>> sure, doubtful = coordinated_verbs(text, 6)
    >>> [verb["verb"] for verb in sure], [verb["verb"] for verb in doubtful]
    (['takes'], ['was'])
    """
    ends = _CLAUSE_END.search(text, start)
    stop = ends.start() if ends else len(text)
    if group := _VERB_GROUP.match(text, start):
        start = group.end()
    sure: list[re.Match[str]] = []
    doubtful: list[re.Match[str]] = []
    last = start
    for found in _COORDINATED.finditer(text, start, stop):
        verb = found["verb"].lower()
        comma_only = found["before"].startswith(",") and len(found["before"].split()) == 1
        between = _OTHER_CLAUSE.search(text, last, found.start())
        clear = between is None
        if comma_only and not clear:
            continue
        # "Smokes and drinks", "no longer drinks": not a noun, whatever follows.
        beside = text[last : found.start()] == "" or found.start("verb") > found.end("before") + 1
        beside = beside and (verb in _verbs("persons") or verb in _ANYTHINGS_VERB)
        if not beside and not _is_verb_here(text, found):
            continue
        of_person = verb in _verbs("persons") or _DOES_AS_PERSON.match(text, found.start("verb"))
        if clear or (of_person and not _names_relative(between)):
            sure.append(found)
            last = found.end()
        else:
            doubtful.append(found)
    return sure, doubtful


# Words that follow a plural noun, and not a verb in -s.
_AFTER_NOUN = re.compile(
    r"(?i)\s*(?:$|[.,;:?!)\]]|\s(?:of|that|which|who|and|or|are|were|have|had|include|show|do|did|due|prior)\b)"
)
# Before these, a word in -s is always a verb.
_OBJECT = re.compile(r"(?i) (?:an?|the|his|her|their|him|this|no|any|it|himself|herself)\b")


def _is_verb_here(text: str, found: re.Match[str]) -> bool:
    verb = found["verb"].lower()
    if verb in ("reports", "states", "notes", "claims") and text.startswith(" that", found.end()):
        return True
    if verb in _verbs("persons") or verb in _ANYTHINGS_VERB:
        return verb not in _verbs("nouns_too") or _AFTER_NOUN.match(text, found.end()) is None
    return plural_verb(verb) is not None and _OBJECT.match(text, found.end()) is not None


def _names_relative(between: re.Match[str] | None) -> bool:
    return (
        between is not None
        and re.fullmatch(
            r"(?i)mother|father|wife|husband|son|daughter|brother|sister|parents?|they|patient|[;:]",
            between.group(),
        )
        is not None
    )
