"""Words that are never right in a text for users, each with the right word."""

from __future__ import annotations

import re

#: Regular expressions, ignoring case, and their replacements.
WRONG = {
    r"\btellings?\b": "variant, version of the vignette",
    r"\btold\b": "given, shown; unless specified",
    r"\bstands?\b": "is in, is listed on, represents",
    r"\bbeside\b": "next to, compared with; besides",
    r"\bheld against\b": "compared with",
    r"\bat hand\b": "available",
    r"\bless (?:that|the)\b": "minus",
    r"\bdisparity shown\b": "disparity",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\blest\b": "in case",
    r"\bthereby\b": "so",
    r"\bnor\b": "and not",
    r"\bof another\b": "another model's, for a different benchmark",
    r"\bas printed\b": "as published",
    r"\d\s%": "95%, without a space",
    # "There is no", "is no longer" and "is no better than" are right.
    r"(?<!there )\b(?:is|are) no\b(?! (?:longer|more|fewer|better|worse|larger|smaller)\b)": (
        "is not a, must be a; there is no"
    ),
}

#: Legitimate uses, which are allowed, and the reasons.
ALLOWED = {
    "stand-alone": "the usual word for a file that needs no others",
}

_WRONG = re.compile("|".join(WRONG), re.IGNORECASE)
_ALLOWED = re.compile("|".join(map(re.escape, ALLOWED)), re.IGNORECASE)


def wrong_words(text: str) -> list[str]:
    """Return every wrong word or phrase of a text, in order, with the words around it.

    Examples
    --------
    >>> wrong_words("Keep the answers that are at hand.")
    ['at hand: Keep the answers that are at hand.']
    >>> wrong_words("There is no stand-alone file.")
    []
    """
    line = _ALLOWED.sub("·", " ".join(text.split()))
    return [
        f"{found.group()}: {line[max(found.start() - 40, 0) : found.end() + 40].strip()}"
        for found in _WRONG.finditer(line)
    ]
