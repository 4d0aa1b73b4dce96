"""Detect questions that cannot be answered without an image."""

from __future__ import annotations

import re

_PICTURE = (
    r"(?:images?|figures?|photographs?|photos?|photomicrographs?|pictures?|exhibits?|radiographs?"
    r"|x-rays?|ECGs?|EKGs?|electrocardiograms?|micrographs?|(?:CT|MRI)(?: scans?)?|scans?|graphs?"
    r"|diagrams?|pedigrees?|karyotypes?|tracings?|smears?|biops(?:y|ies)|specimens?|illustrations?"
    r"|echocardiograms?|ultrasound|fundoscop\w+|videos?|audio|slides?)"
)
_LOOKED_AT = (
    r"(?:images?|figures?|photographs?|pictures?|exhibits?|diagrams?|graphs?|illustrations?)"
)
_SHOWN = r"(?:shown|seen|depicted|displayed|provided|given|attached|presented|available)"
_FOLLOWS = r"(?:below|above|here|in (?:the )?(?:image|figure|exhibit))"
#: Each of these definitely refers to an image.
_NEEDED = re.compile(
    "(?i)"
    + "|".join(
        (
            # "An ECG is shown."; "a smear was made and is shown below".
            rf"\b{_PICTURE}\b(?: [\w-]+){{0,8}}? (?:is|are) (?:shown|depicted|displayed|attached)"
            r"(?= ?[.,;(?]|$)",
            rf"\b{_PICTURE}\b(?: [\w-]+){{0,8}}? (?:is|are) {_SHOWN} {_FOLLOWS}",
            r"\b(?:shown|seen|depicted|labell?ed|marked|illustrated|displayed|given|pictured)"
            r" (?:in|on|by) (?:the |this )?(?:attached |accompanying |following |above |provided )?"
            rf"(?:{_LOOKED_AT}|arrows?)\b",
            r"\((?:see |refer to )?(?:the )?(?:image|figure|fig\.|exhibit|photograph|picture)\b"
            r"[^)]*\)",
            r"\b(?:figure|fig\.|exhibit|image|panel|plate) ?(?:\d+|(?-i:[A-D]))\b",
            r"\bsee (?:the )?(?:image|exhibit|figure)",
            rf"\b{_LOOKED_AT} (?:below|above|to the (?:left|right))\b",
            rf"\b(?:refer to|examine|review|based on) (?:the|this) {_LOOKED_AT}\b",
            r"\b(?:in|from|on) (?:the|this) (?:exhibit|accompanying (?:image|figure))\b",
        )
    )
)
#: These may refer to an image: a test "is shown", with or without its result in the text.
_MAYBE = re.compile(
    r"(?i)\b(?:is|are) shown\b(?! (?:to|how|that)\b)"
    r"|\b(?:the|this) (?:photograph|exhibit|picture)\b"
    r"|(?<!of )\bthe following (?:image|ECG|EKG|tracing|radiograph)\b"
)
# "Laboratory values are shown below:", followed by the values.
_VALUES = re.compile(r"(?i)(?: below| above| here)?[.:]?\s*[\s\S]{0,200}?\d")
_LABORATORY = re.compile(
    r"(?i)\b(?:lab(?:orator(?:y|ies))?|values?|results?|studies|tests?|counts?|panel|table|analysis"
    r"|gas(?:es)?|vital signs?|data|findings?|levels?)\b[^.]{0,60}$"
)


def needed_image(text: str) -> tuple[str, bool] | None:
    """Return the words that refer to an image, and whether they definitely do; None without any.

    Examples
    --------
    >>> needed_image("His ECG is shown. What is the diagnosis?")
    ('ECG is shown', True)
    >>> needed_image("Laboratory values are shown below:\\nNa+ 139 mEq/L")
    """
    for pattern, sure in ((_NEEDED, True), (_MAYBE, False)):
        for found in pattern.finditer(text):
            if not _values_in_text(text, found):
                return " ".join(found.group().split()), sure
    return None


def _values_in_text(text: str, found: re.Match[str]) -> bool:
    """Return whether the words refer to values that follow in the text."""
    after = text[found.end() : found.end() + 250]
    values = re.search(r":|\n", after) is not None and _VALUES.match(after) is not None
    picture = re.match(rf"(?i){_PICTURE}", found.group()) is not None
    return values and (not picture or _LABORATORY.search(text[: found.end()]) is not None)
