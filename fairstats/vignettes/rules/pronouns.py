"""English third-person pronouns that reveal a sex.

The word after a pronoun decides its role. If that is not enough, it stays undecided.
"""

from __future__ import annotations

import re

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
_SENTENCE = re.compile(r"[^.?!]+")


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
