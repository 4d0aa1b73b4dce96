"""Split a vignette into sentences, by rules, without a model."""

from __future__ import annotations

import re
from functools import lru_cache

from fairstats.vignettes.text.split_words import word_set

# A sentence ends at a stop, with any closing quotation marks or brackets, if white space follows.
# In scripts without spaces between sentences, it ends at the stop itself.
_STOP = re.compile(r"""[.!?…؟।]+["'”’»)\]]*(?=\s)|[。！？]+["'”’」』）]*""")
# Never the end of a sentence, whatever follows. Titles have a capital: "130 ms." is not a title.
_TITLES = word_set("Dr Mr Mrs Ms Prof St Sr Jr Rev Capt Sgt Lt Col Gen")
_ABBREVIATIONS = word_set("e.g i.e vs cf approx resp ca incl viz")
# Abbreviations only before a number: "no. 5", "fig. 2". In other cases a sentence may end with the
# word.
_NUMBERED = word_set("no nos fig figs vol pp sec ch")
_INITIAL = re.compile(r"[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]")
# Words that are more likely to begin a sentence of a vignette than to be a name.
_STARTERS = word_set(
    "a an the this these that those there it its he she they his her their we our you your "
    "i which what who whose when where why how if in on at after before during for from "
    "upon over with without while although despite since as because to of and but both no "
    "not one two examination physical laboratory serum vital temperature blood pulse "
    "patient family past medical social today given based further additional imaging "
    "treatment"
)
# A line break is inside a sentence only if the next line continues with a lower-case word.
_LINE = re.compile(r"\s*\n(?!\s*[^\W\d_A-Z][a-z\s])")


def sentences(text: str) -> list[str]:
    """Return the sentences of a vignette, in order.

    Parameters
    ----------
    text : str
        Any text; lines of laboratory values, one per line, are kept as they are.

    Returns
    -------
    list of str
        Each without surrounding white space; empty for a text without words. Joined, they contain
        the whole text except white space.

    Notes
    -----
    A full stop, exclamation mark or question mark ends a sentence under two conditions: white space
    and anything but a lower-case letter follow, and it is not part of an abbreviation, title or
    initial. A line break also ends one, unless the next line continues with a lower-case word. A
    colon does not.

    Examples
    --------
    >>> sentences('Dr. Smith notes 37.5 °C, e.g. no fever. "Why?" asks the patient. What is next?')
    ['Dr. Smith notes 37.5 °C, e.g. no fever.', '"Why?" asks the patient.', 'What is next?']
    """
    return list(_sentences(text))


@lru_cache(maxsize=20_000)
def _sentences(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for line in _LINE.split(text):
        start = 0
        for stop in _STOP.finditer(line):
            if _ends(line, start, stop):
                found.append(line[start : stop.end()].strip())
                start = stop.end()
        found.append(line[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def final_sentence(text: str) -> str:
    """Return the last sentence of a vignette, which asks the question; empty without sentences.

    Examples
    --------
    >>> final_sentence("A patient has a fever. Which drug is next?")
    'Which drug is next?'
    """
    found = sentences(text)
    return found[-1] if found else ""


def _ends(line: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether this stop ends the sentence that began at `start`."""
    behind = line[stop.end() :].lstrip().lstrip("\"'“‘«([")
    if not behind or stop.group()[0] in "。！？":
        return True
    if behind[0].islower():
        # "pH is 7.3" and "pCO2 is" also begin sentences.
        return re.match(r"p[A-Z]", behind) is not None and stop.group() == "."
    if stop.group() != ".":
        return True
    before = line[start : stop.start()].split()
    word = before[-1].lstrip("\"'“‘«([") if before else ""
    follows = re.match(r"[^\W\d_]+", behind)
    following = follows.group().casefold() if follows else ""
    if word in _TITLES or word.casefold() in _ABBREVIATIONS:
        return False
    if word.casefold() in _NUMBERED and behind[0].isdigit():
        return False
    if word.casefold() in {"a.m", "p.m"} or not _INITIAL.fullmatch(word):
        return True
    # "John A. Smith" and "the U.S. Army", but "vitamin C. The patient".
    if following in _STARTERS:
        return True
    named = len(before) > 1 and before[-2][:1].isupper()
    return not (named or "." in word)
