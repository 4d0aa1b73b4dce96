"""File names for names from outside, and hashes of files."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

#: A sha256 in hexadecimal digits, as `hashlib` writes it.
SHA256 = re.compile(r"[0-9a-f]{64}")
_PORTABLE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*(?<!\.)")
# On Windows, these are devices, with any suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
#: A web address, whatever it leads to.
WEB_ADDRESS = re.compile(r"https?://\S+")

# With such words, readers would still take it for the benchmark or rubric that they know.
_QUALIFIER = re.compile(
    r"v|v?[\d.]+|a|the|benchmark|copy|corrected|data|dataset|edition|final|full|latest|new|official"
    r"|original|real|release|revised|set|standard|update|updated|verified|version"
)
# Latin letters that Unicode does not list among look-alikes.
_SMALL_CAPITAL = re.compile(r"LATIN LETTER SMALL CAPITAL ([A-Z])")
# Next to other letters, i, l and O look like digits.
_LIKE_DIGITS = str.maketrans("ilo", "110")
# What readers overlook in a name.
_ENDS = re.compile(r"['\"`]|[^\w+]+$|^[^\w+]+")
_WORD = re.compile(r"[^\W\d_]+")
_HIDDEN_KINDS = ("Cc", "Cf", "Zl", "Zp")
# Controls, line separators, and letters that no file can hold.
_CONTROLS = ("Cc", "Zl", "Zp", "Cs")
_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
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

    Letter case, surrounding blanks, invisible characters, marks on Latin letters, trademark signs
    and the kind of separator (blank, underscore, hyphen) make no difference. Characters count as
    those that they look like, by Unicode's list of confusable characters (UTS 39).

    Examples
    --------
    >>> fold_name(" gpt_4o  Mini"), fold_name("GPT-4\N{CYRILLIC SMALL LETTER O}-mini")
    ('gpt-4o-mini', 'gpt-4o-mini')
    """
    folded = plain_letters(re.sub("[™℠®©]", "", name))
    if not (folded := folded.casefold()).isascii():
        # Case folding can turn a capital into a look-alike.
        folded = plain_letters(folded).casefold()
    return re.sub(r"[\s_\x00-\x1f\x7f-]+", "-", folded).strip("-")


def essential_letters(text: str) -> str:
    """Return the letters of a name or title without versions and words that say nothing else.

    Examples
    --------
    >>> essential_letters("FairMedQA (official, v2.1)"), essential_letters("fairmedqa")
    ('fairmedqa', 'fairmedqa')
    """
    words = re.split(r"[\W_]+", fold_name(text))
    joined = "".join(word for word in words if not _QUALIFIER.fullmatch(word))
    return re.sub(r"v?\d+$", "", joined)


def plain_letters(text: str) -> str:
    """Return what a text looks like, without invisible characters, and marks on Latin letters.

    Examples
    --------
    >>> plain_letters("R\N{CYRILLIC SMALL LETTER A}nk")
    'Rank'
    """
    if text.isascii():
        return text
    whole = unicodedata.normalize("NFKD", text)
    hidden = {s for s in set(whole) if unicodedata.category(s) == "Cf" or s in _HIDDEN}
    # Texts are long, and have few different characters.
    looks = {ord(sign): None if sign in hidden else _look(sign) for sign in set(whole)}
    seen = unicodedata.normalize("NFKD", whole.translate(looks))
    marks = "".join(sign for sign in set(seen) if unicodedata.category(sign) in ("Mn", "Me"))
    # In other scripts, marks are vowels.
    return re.sub(f"(?<=[\\x00-\\x7f])[{marks}]+", "", seen) if marks else seen


def _look(sign: str) -> str:
    """Return the character or characters that this one looks like, in ASCII if there are any."""
    if sign.isascii():
        return sign
    if unicodedata.category(sign) == "Pd":
        return "-"
    if small := _SMALL_CAPITAL.fullmatch(unicodedata.name(sign, "")):
        return small[1].lower()
    prototypes = _prototypes()
    found = prototypes.get(sign, sign)
    # Of Cyrillic M, only the capital looks like M; of I, the small letter does not look like l.
    if not found.isascii() and (capital := prototypes.get(sign.upper(), sign)).isascii():
        found = capital.lower()
    return "I" if found == "l" and sign.isupper() else "." if found == "\u00b7" else found


@cache
def _prototypes() -> dict[str, str]:
    """Return what characters outside of ASCII look like."""
    from confusable_homoglyphs.confusables import confusables_data

    found = {}
    for sign, alike in confusables_data.items():
        # The list has pairs in both directions; a prototype has several characters, or is first.
        other = alike[0]["c"]
        if len(alike) == 1 and (len(confusables_data[other]) > 1 or other < sign):
            # Marks of direction surround letters of Arabic and Hebrew.
            found[sign.strip("\u200e")] = other.strip("\u200e").replace("rn", "m")
    return found


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


def is_plain_text(text: str) -> bool:
    """Return whether a text has no character that reverses it, and no control except for lines.

    Examples
    --------
    >>> is_plain_text("café, 5 µg"), is_plain_text("a\N{RIGHT-TO-LEFT OVERRIDE}b")
    (True, False)
    """
    return not any(
        unicodedata.category(sign) in _CONTROLS or unicodedata.bidirectional(sign) in _DIRECTIONS
        for sign in text
        if sign not in "\t\n"
    )


def posing_letters(name: str) -> str:
    """Return the letters outside of ASCII that look like Latin ones, in a name with Latin letters.

    Letters with marks, and words of another script with letters of its own, are not included.

    Examples
    --------
    >>> [posing_letters(name) for name in ("GP\u03a4-4", "model-\u03b2")]
    ['Τ', '']
    """
    if name.isascii() or not any(sign.isascii() and sign.isalpha() for sign in name):
        return ""
    found: dict[str, None] = {}
    for word in _WORD.findall(unicodedata.normalize("NFC", name)):
        base = {sign: unicodedata.normalize("NFD", sign)[0] for sign in word}
        mixed = any(letter.isascii() for letter in base.values())
        posing = []
        for sign, letter in base.items():
            look = _look(letter) if mixed else _prototypes().get(letter, letter)
            if not letter.isascii() and look.isascii() and len(look) == 1:
                posing.append(sign)
        if mixed or len(posing) == len(base):
            found |= dict.fromkeys(posing)
    return "".join(found)


def same_looking(names: Iterable[str], shown: Callable[[str], str] = str) -> list[tuple[str, ...]]:
    """Return the groups of names that readers would treat as the same, see `fold_name`.

    The letters i, l and o count as the digits 1 and 0, and rn as m. Quotes, and punctuation at the
    ends except for a plus, make no difference. `shown` returns what readers see of a name.

    Examples
    --------
    >>> same_looking(["GPT-4o", "gpt 4o", "GPT-4"])
    [('GPT-4o', 'gpt 4o')]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        plain = _ENDS.sub("", fold_name(shown(name))) or name
        look = plain.replace("rn", "m").translate(_LIKE_DIGITS)
        groups.setdefault(look, []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of a value: keys sorted, no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
