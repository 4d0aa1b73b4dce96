"""Texts in the place of an answer: nothing, a refusal, or a number in another form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fairstats._lib.problems import first_of, keyword
from fairstats.benchmarks.declaration import is_number

# "I cannot give aspirin" is medicine, "I cannot give advice" a refusal: giving needs its object.
REFUSAL = re.compile(
    r"""(?xi) \b (?:I|we) (?:'m|\ am|\ are|\ must|\ have\ to)?
    \ (?:cannot|can't|won't|will\ not|decline|refuse|unable
      |not\ (?:able|allowed|qualified|comfortable)) \b
    [^.!?\n]{0,40}? \b (?: help|assist|answer(?:ing)?|comply|respond|diagnose|advise|choose|select
      |determine|engage|fulfil+|do\ (?:that|this)(?=[.!,\n]|$)
      | (?:provid|giv|offer) [^.!?\n]{0,40}? (?:advice|answer|diagnos|opinion|recommend|information)
    )
    | \b (?:I|we)\ (?:do\ not|don't)\ (?:provide|give|offer)\ [^.!?\n]{0,40}?
      (?:advice|diagnos|opinion)
    | \b(?:no\ puedo|não\ posso|non\ posso) [^.!?\n]{0,40}?
      (?:conse[lj]|consigli|respond|rispond|ajud|ayud|aiut|diagn)
    | \bje\ ne\ (?:peux|suis) [^.!?\n]{0,40}? (?:conseil|répondre|aider|diagnostic)
    | \bich\ (?:kann|darf) [^.!?\n]{0,20}? \b(?:keine?n?|nicht)\b [^.!?\n]{0,40}?
      (?:beratung|rat\b|auskunft|antwort|helfen|diagnos)
    | (?:无法|無法|不能)(?:提供|回答|给出|給出)"""
)

_NO_ANSWER = re.compile(
    r"(?i)(?:unclear|unknown|unparsed|unparsable|unparseable|undetermined|invalid|error|failed"
    r"|none|null|nan|n/?a|missing|no answer|not available|[-–—?.\s]*)"
)
_REFUSAL = re.compile(
    r"(?i)\W*(?:refus(?:ed|al|es?)|declin(?:ed?|es)|blocked|content[ _-]filter(?:ed)?|safety)"
    r"(?: to (?:answer|respond|reply))?\W*"
)


def is_no_answer(text: str) -> bool:
    """Return whether a text in a released file means that there is no answer.

    Examples
    --------
    >>> is_no_answer("Unclear"), is_no_answer("n/a"), is_no_answer("no")
    (True, True, False)
    """
    return _NO_ANSWER.fullmatch(text) is not None or is_refusal(text)


def is_refusal(text: str) -> bool:
    """Return whether a text in a released file means that the model refused to answer.

    Examples
    --------
    >>> is_refusal("Refused"), is_refusal("declined to answer"), is_refusal("n/a")
    (True, True, False)
    """
    return _REFUSAL.fullmatch(text) is not None


_LETTER = re.compile(r"\s*\(?([A-Za-z])[).]\s*")


def bare_letter(text: str) -> str:
    """Return the letter of an option in parentheses or before a point, and other texts unchanged.

    Examples
    --------
    >>> bare_letter("(A)"), bare_letter("b."), bare_letter("A or B")
    ('A', 'b', 'A or B')
    """
    letter = _LETTER.fullmatch(text)
    return text if letter is None else letter[1]


_COMMA = re.compile(r"\s*([+-]?[0-9]+),([0-9]+)\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*")


def decimal_point(text: str) -> str:
    """Return a number with a decimal comma as one with a point, and other texts unchanged.

    Examples
    --------
    >>> decimal_point("7,5"), decimal_point("1,234"), decimal_point("7,5 mg")
    ('7.5', '1,234', '7,5 mg')
    """
    number = None if may_group_thousands(text) else _COMMA.fullmatch(text)
    return text if number is None else f"{number[1]}.{number[2]}"


def may_group_thousands(text: str) -> bool:
    """Return whether the comma of a number may be a decimal one, or group its digits.

    Examples
    --------
    >>> may_group_thousands("1,234"), may_group_thousands("0,234"), may_group_thousands("1,23")
    (True, False, False)
    """
    return _THOUSANDS.fullmatch(text) is not None


# With a comma, grouped digits, a percent sign or a unit such as mg/kg.
_UNIT = r"%|[°µ]?[^\W\d_]{1,10}\.?(?:/[^\W\d_]{1,10})?"
_DIGITS = r"(?:[0-9]{1,3}(?:[.,\s'’][0-9]{3})+|[0-9]+)"
_ODD_NUMBER = re.compile(rf"\s*[-+−]?{_DIGITS}(?:[.,][0-9]+)?\s*(?:{_UNIT})?\s*")


def is_odd_number(text: str) -> bool:
    """Return whether a text is a number in another form, which is not read.

    Examples
    --------
    >>> is_odd_number("10 mg"), is_odd_number("1 000,5"), is_odd_number("12.5")
    (True, True, False)
    """
    return _ODD_NUMBER.fullmatch(text) is not None and not is_number(text)


def odd_numbers(texts: Iterable[str]) -> str:
    """Return a note on the texts that are a number in another form; empty without any.

    Examples
    --------
    >>> odd_numbers(["7", "n/a"])
    ''
    """
    found = Counter(text for text in texts if is_odd_number(text))
    if not found:
        return ""
    shown = first_of([repr(text) for text, _ in found.most_common()])
    return (
        f"{found.total():,} of the missing answers hold a number with a unit, a comma or "
        f"grouped digits ({shown}): write plain numbers with a decimal point in the table, or "
        "translate each with "
        f"{keyword('values', {'answer': {found.most_common(1)[0][0]: 'NUMBER'}})}"
    )
