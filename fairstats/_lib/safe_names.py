"""File names for names from outside, and hashes of files."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

#: A sha256 in hexadecimal digits, as `hashlib` writes it.
SHA256 = re.compile(r"[0-9a-f]{64}")
_PORTABLE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*(?<!\.)")
# On Windows, these are devices, with any suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
#: A web address, whatever it leads to.
WEB_ADDRESS = re.compile(r"https?://\S+")

# Capitals first, then small letters. A capital can look like a different Latin letter from its
# small letter: the Greek capital eta is an H.
_LOOK_ALIKES = str.maketrans(
    # Cyrillic
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458"
    "\u0501\u04bb\u051b\u051d"
    # Greek
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    # Latin without a dot, and small capitals
    "\u0131"
    "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f\u1d0d"
    "\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22",
    "ABEKMHOPCTYXSIJabekmhopctyxsijdhqwABEZHIKMNOPTYXaeikvoptuxiabcdefghijklmnoprstuvwyz",
)


# A minus sign, and dots that are no full stop.
_LOOK_ALIKE_SIGNS = str.maketrans("\u2212\u00b7\u2219\u22c5\u06d4", "-....")
# Next to other letters, l and O look like digits.
_LIKE_DIGITS = str.maketrans("lo", "10")
_HIDDEN_KINDS = ("Cc", "Cf", "Zl", "Zp")
#: Letters, marks and symbols that are blank or invisible in print, by Unicode's property
#: Default_Ignorable_Code_Point; and the braille pattern without a dot.
_HIDDEN = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)


def slug(name: str) -> str:
    """Return a file name for a name: readable, and unique for every name except for case.

    If the readable part does not determine the name, part of its hash is appended. So adding a
    model does not change another model's page.

    Examples
    --------
    >>> slug("GPT-4.1"), slug("a/../b") != slug("a-b")
    ('gpt-4.1', True)
    """
    readable = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60]
    # Names of letters, digits, dots and single hyphens do not change, except for case.
    plain = re.fullmatch(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*", name) and len(name) <= 60
    if plain:
        return readable
    return f"{readable or 'name'}-{digest(name)}"


def is_portable(name: str, longest: int = 200) -> bool:
    """Return whether every system can store a file of this name.

    Examples
    --------
    >>> [is_portable(name) for name in ("a_1.csv", "CON", "a\\\\b", "a.", ".a")]
    [True, False, False, False, False]
    """
    portable = _PORTABLE.fullmatch(name) and not _DEVICES.fullmatch(name)
    return bool(portable) and len(name) <= longest


def digest(name: str) -> str:
    """Return eight hexadecimal digits that identify a name."""
    return text_sha256(name)[:8]


def text_sha256(text: str) -> str:
    """Return the sha256 of a text as UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def declared(one: Any) -> str:
    """Return everything that a benchmark or rubric declares, independent of file locations."""
    places = ("path", "keys_file", "items_file", "of_release")
    values = {f.name: getattr(one, f.name) for f in fields(one) if f.name not in places}
    return json.dumps(values, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {f.name: getattr(value, f.name) for f in fields(value)}


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unique_slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for each of these names; names that differ only by case get their digests.

    Some file systems, and readers, do not distinguish such names.
    """
    slugs = {name: slug(name) for name in names}
    shared = {text for text, count in Counter(slugs.values()).items() if count > 1}
    return {n: f"{text}-{digest(n)}" if text in shared else text for n, text in slugs.items()}


def fold_name(name: str) -> str:
    """Return a key that is the same for names that readers would treat as the same.

    Letter case, surrounding blanks, invisible characters, strokes through letters and the kind of
    separator (blank, underscore, hyphen) make no difference. Cyrillic, Greek and other letters
    count as the Latin letters that they look like, and other dots as full stops.

    Examples
    --------
    >>> fold_name(" gpt_4o  Mini"), fold_name("GPT-4\N{CYRILLIC SMALL LETTER O}-mini")
    ('gpt-4o-mini', 'gpt-4o-mini')
    """
    text = "".join(
        "-" if unicodedata.category(sign) == "Pd" else sign
        for sign in unicodedata.normalize("NFKC", name)
        if unicodedata.category(sign) != "Cf"
        and sign not in _HIDDEN
        and not "\u0300" <= sign <= "\u036f"
    )
    folded = text.translate(_LOOK_ALIKE_SIGNS).translate(_LOOK_ALIKES).casefold()
    # Case folding can turn a capital into a look-alike.
    return re.sub(r"[\s_\x00-\x1f\x7f-]+", "-", folded.translate(_LOOK_ALIKES)).strip("-")


def normal_name(name: str) -> str:
    """Return a name in Unicode's normal form NFKC, without blanks at its ends.

    Letters with accents, wide letters and ligatures have several encodings that look the same in
    print; this is one of them. Tabs and line breaks stay: they come from a damaged file.

    Examples
    --------
    >>> normal_name(" Mode\N{FULLWIDTH LATIN SMALL LETTER L}-e\N{COMBINING ACUTE ACCENT} ")
    'Model-é'
    """
    return unicodedata.normalize("NFKC", name).strip(" ")


def is_invisible(sign: str) -> bool:
    """Return whether a character is blank or invisible in print without being a blank.

    Examples
    --------
    >>> is_invisible("\N{HANGUL FILLER}"), is_invisible(" ")
    (True, False)
    """
    return unicodedata.category(sign) in _HIDDEN_KINDS or sign in _HIDDEN


def has_hidden_characters(name: str) -> bool:
    """Return whether a name has blanks at its ends, or control or invisible characters.

    Examples
    --------
    >>> has_hidden_characters("model "), has_hidden_characters("my model")
    (True, False)
    """
    return name != name.strip() or any(map(is_invisible, name))


def posing_letters(name: str) -> str:
    """Return the letters of another script that look like Latin ones, next to Latin letters.

    A name in a single script has none, and letters that do not resemble Latin ones are not
    included.

    Examples
    --------
    >>> [posing_letters(name) for name in ("GP\u03a4-4", "model-\u03b2")]
    ['Τ', '']
    """
    letters = [sign for sign in name if sign.isalpha()]
    posing = [sign for sign in letters if not sign.isascii() and ord(sign) in _LOOK_ALIKES]
    latin = any(sign.isascii() for sign in letters)
    return "".join(dict.fromkeys(posing)) if latin else ""


def same_looking(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that readers would treat as the same, see `fold_name`.

    The letters l and o count as the digits 1 and 0.

    Examples
    --------
    >>> same_looking(["GPT-4o", "gpt 4o", "GPT-4"])
    [('GPT-4o', 'gpt 4o')]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(fold_name(name).translate(_LIKE_DIGITS), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of a value: keys sorted, no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
