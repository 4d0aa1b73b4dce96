"""A reply's words without its thinking part, its markup and its runs of white space."""

from __future__ import annotations

import re
import string

# Emphasis, headings, code and check marks carry no meaning here; typographic signs, full-width
# letters and those in circles read like plain ones. Letters of other alphabets do not: a Cyrillic
# В looks like B and is the third of its own.
_SIGNS = str.maketrans(
    dict.fromkeys("*`#$✅✔☑👉🏻\ufe0f", "")
    | {"_": " ", "\r": "\n", "：": ":", "，": ",", "、": ",", "；": ";", "。": ". ", "।": ". "}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "→": "->", "⇒": "=>"}
    | dict(zip("（）［］【】「」『』《》", '()[][]""""<>', strict=True))
    | {chr(0xFF21 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
    | {chr(0x24B6 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
)

# "<b>C</b>" is a bold C and no B. What holds an answer, <answer>, is none of these.
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|br|em|strong|mark|span|div|code|pre|ul|ol|li|h[1-6])\b[^<>\n]{0,99}>"
)

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THINKING = re.compile(
    rf"""(?xi) (?P<end> </(?:{_NAMES})> | \[/THINK\] | ◁/think▷ | <\|channel\|>final<\|message\|> )
    | <(?:{_NAMES})> | \[THINK\] | ◁think▷ | <\|channel\|>(?:analysis|commentary)"""
)


def plain_text(raw: str) -> str:
    r"""The reply as the rules read it.

    Parameters
    ----------
    raw : str
        The reply as it came.

    Returns
    -------
    str
        Empty where the reply was cut off while the model was thinking.

    Examples
    --------
    >>> plain_text("<think>Is it A?</think>**Answer:**  C")
    'Answer: C'
    """
    text = _TAG.sub("", without_thinking(raw)).translate(_SIGNS)
    text = re.sub(r"\\(?:text(?:bf|rm)?|mathrm|mathbf)\{", "{", text)
    # Short runs of white space keep every pattern from searching far.
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[ \n]*", "\n", text).strip()


def without_thinking(raw: str) -> str:
    """The reply behind its thinking part; empty where it was cut off in it."""
    kept: list[str] = []
    begin, thinking = 0, False
    for mark in _THINKING.finditer(raw):
        if not thinking:
            kept.append(raw[begin : mark.start()])
        if mark["end"] and not thinking:
            kept.clear()  # the opening mark stood in the prompt
        begin, thinking = mark.end(), not mark["end"]
    if not thinking:
        kept.append(raw[begin:])
    return "\n".join(kept)
