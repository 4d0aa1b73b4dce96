"""The words of a reply, without its thinking part, markup and runs of white space."""

from __future__ import annotations

import re
import string

# Emphasis, headings, code and check marks carry no meaning here. Typographic signs, full-width
# letters and letters in circles are read like plain ones. Letters of other alphabets are not: a
# Cyrillic В looks like B but is the third letter of its alphabet.
_SIGNS = str.maketrans(
    dict.fromkeys("*`#$✅✔☑👉🏻\ufe0f", "")
    | {"_": " ", "\r": "\n", "：": ":", "，": ",", "、": ",", "；": ";", "。": ". ", "।": ". "}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "→": "->", "⇒": "=>"}
    | dict(zip("（）［］【】「」『』《》", '()[][]""""<>', strict=True))
    | {chr(0xFF21 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
    | {chr(0x24B6 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
)

# "<b>C</b>" is a bold C and not a B. Tags around an answer, such as <answer>, are not removed.
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|br|em|strong|mark|span|div|code|pre|ul|ol|li|h[1-6])\b[^<>\n]{0,99}>"
)

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THINKING = re.compile(
    rf"""(?xi) (?P<end> </(?:{_NAMES})> | \[/THINK\] | ◁/think▷ | <\|channel\|>final<\|message\|> )
    | <(?:{_NAMES})> | \[THINK\] | ◁think▷ | <\|channel\|>(?:analysis|commentary)"""
)


def plain_text(raw: str) -> str:
    r"""Return the reply in the form used by the rules.

    Parameters
    ----------
    raw : str
        The unprocessed reply.

    Returns
    -------
    str
        Empty if the reply was cut off while the model was thinking.

    Examples
    --------
    >>> plain_text("<think>Is it A?</think>**Answer:**  C")
    'Answer: C'
    """
    text = _TAG.sub("", without_thinking(raw)).translate(_SIGNS)
    text = re.sub(r"\\(?:text(?:bf|rm)?|mathrm|mathbf)\{", "{", text)
    # One spelling, in a reply as in an option's text.
    text = re.sub(r"(?i)\b(can) not\b", r"\1not", text)
    # Short runs of white space stop every pattern from searching far.
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[ \n]*", "\n", text).strip()


def without_thinking(raw: str) -> str:
    """Return the reply after its thinking part; empty if it was cut off within that part."""
    kept: list[str] = []
    begin, thinking = 0, False
    for mark in _THINKING.finditer(raw):
        if not thinking:
            kept.append(raw[begin : mark.start()])
        if mark["end"] and not thinking:
            kept.clear()  # The opening mark was in the prompt.
        begin, thinking = mark.end(), not mark["end"]
    if not thinking:
        kept.append(raw[begin:])
    return "\n".join(kept)
