"""File names for names that come from outside, and hashes of files."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

# Capitals first, then small letters. What a capital looks like can differ from its small letter:
# the Greek capital eta is an H.
_LOOK_ALIKES = str.maketrans(
    # Cyrillic
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458"
    "\u0501\u04bb\u051b\u051d"
    # Greek
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    # Latin without a dot
    "\u0131",
    "ABEKMHOPCTYXSIJabekmhopctyxsijdhqwABEZHIKMNOPTYXaeikvoptuxi",
)


def slug(name: str) -> str:
    """A file name for a name: readable, and its own for every name but for case.

    A name that the readable part does not determine gets a piece of its hash, so that adding a
    model does not move another's page.

    Examples
    --------
    >>> slug("GPT-4.1"), slug("a/../b") != slug("a-b")
    ('gpt-4.1', True)
    """
    readable = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60]
    # Names of letters, digits, dots and single hyphens come out as themselves but for case.
    plain = re.fullmatch(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*", name) and len(name) <= 60
    if plain:
        return readable
    return f"{readable or 'name'}-{digest(name)}"


def digest(name: str) -> str:
    """Eight hexadecimal digits that stand for a name."""
    return text_sha256(name)[:8]


def text_sha256(text: str) -> str:
    """The sha256 of a text as UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unique_slugs(names: Iterable[str]) -> dict[str, str]:
    """A file name for each of these names; those that differ by case alone get their digests.

    Some file systems, and readers, do not tell such names apart.
    """
    slugs = {name: slug(name) for name in names}
    shared = {text for text, count in Counter(slugs.values()).items() if count > 1}
    return {n: f"{text}-{digest(n)}" if text in shared else text for n, text in slugs.items()}


def fold_name(name: str) -> str:
    """Return a key that is the same for names that readers take for the same name.

    Letter case, surrounding blanks, invisible characters and the kind of separator (blank,
    underscore, hyphen) make no difference, and Cyrillic and Greek letters count as the Latin
    letters they look like.

    Examples
    --------
    >>> fold_name(" gpt_4o  Mini"), fold_name("GPT-4\N{CYRILLIC SMALL LETTER O}-mini")
    ('gpt-4o-mini', 'gpt-4o-mini')
    """
    text = "".join(
        "-" if unicodedata.category(sign) == "Pd" else sign
        for sign in unicodedata.normalize("NFKC", name)
        if unicodedata.category(sign) != "Cf"
    )
    folded = text.translate(_LOOK_ALIKES).casefold()
    # A capital may only become a look-alike by folding.
    return re.sub(r"[\s_\x00-\x1f\x7f-]+", "-", folded.translate(_LOOK_ALIKES)).strip("-")


class FoldedNames(Mapping[str, str]):
    """A mapping that finds a name however it is spelled, see `fold_name`.

    Iteration gives the names as declared.

    Examples
    --------
    >>> declared = FoldedNames({"GPT-4o-mini": "wrote the items"})
    >>> declared["gpt-4o-mini "], list(declared)
    ('wrote the items', ['GPT-4o-mini'])
    """

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = dict(declared)
        self._folded = {fold_name(name): value for name, value in declared.items()}

    def __getitem__(self, name: str) -> str:
        return self._declared[name] if name in self._declared else self._folded[fold_name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._declared!r})"


def named_in(names: Iterable[str], known: Container[str]) -> npt.NDArray[np.bool_]:
    """Return which of these names are in a container; `FoldedNames` finds other spellings.

    Examples
    --------
    >>> named_in(["a_1", "b"], FoldedNames({"A-1": "how"})).tolist()
    [True, False]
    """
    return np.array([name in known for name in names], dtype=np.bool_)


def has_hidden_characters(name: str) -> bool:
    """Return whether a name has blanks at its ends, or control or invisible characters.

    Examples
    --------
    >>> has_hidden_characters("model "), has_hidden_characters("my model")
    (True, False)
    """
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return name != name.strip() or any(unicodedata.category(sign) in hidden for sign in name)
