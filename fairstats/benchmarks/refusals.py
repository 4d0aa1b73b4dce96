"""Texts in the place of an answer: nothing, a word for a refusal, or a refusal in a sentence."""

from __future__ import annotations

import re

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
