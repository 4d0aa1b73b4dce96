"""The changes of one text during processing, and the resulting text."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from fairstats.vignettes.rules.pronouns import in_case_of
from fairstats.vignettes.rules.referents import Referents
from fairstats.vignettes.rules.substitute import put_in


@dataclass(frozen=True)
class Change:
    """One change of a text, or a place that the rules leave undecided.

    Parameters
    ----------
    start, end : int
        Its position in the original text.
    old, new : str
        The old and the new text: the same if undecided.
    why : str
        What the rule detected.
    undecided : bool
        Whether a model or a person has to decide.
    """

    start: int
    end: int
    old: str
    new: str
    why: str
    undecided: bool = False


def applied(text: str, changes: Collection[Change]) -> str:
    parts, last = [], 0
    for change in changes:
        parts += [text[last : change.start], change.new]
        last = change.end
    return "".join([*parts, text[last:]])


class Edits:
    """The changes of one text during processing; the first change at a position is kept."""

    def __init__(self, text: str, attributes: Collection[str] | None) -> None:
        self.text = text
        self.referents = Referents(text)
        self._attributes = attributes
        self._changes: list[Change] = []

    def asked(self, attribute: str) -> bool:
        return self._attributes is None or attribute in self._attributes

    def claimed(self, start: int, end: int) -> bool:
        return any(start < c.end and c.start < end for c in self._changes)

    def put(self, start: int, end: int, new: str, why: str) -> None:
        if not self.claimed(start, end) and self.text[start:end] != new:
            self._changes.append(Change(start, end, self.text[start:end], new, why))

    def leave(self, start: int, end: int, why: str) -> None:
        if not self.claimed(start, end):
            word = self.text[start:end]
            self._changes.append(Change(start, end, word, word, why, undecided=True))

    def in_order(self) -> tuple[Change, ...]:
        return tuple(sorted(self._changes, key=lambda change: change.start))


_ARTICLE = re.compile(r"(?i)(?<![\w.])(an?) $")


def set_articles_right(edits: Edits) -> None:
    """Correct "a" and "an" before inserted words, and capitals after removed words."""
    text = edits.text
    changes = [c for c in edits.in_order() if not c.undecided]
    for change in changes:
        if not change.new and re.search(r"(?:^|[.?!] |\n)$", text[: change.start]):
            _capital(edits, change)
        article = _ARTICLE.search(text[: change.start])
        if article is None:
            continue
        after = applied(text[change.end :], _moved(changes, change.end))
        words = re.split(r"[\s,.]", (change.new + after).lstrip())
        if words[0] == "other":  # "a" and "other" become "another".
            edits.put(article.start(1), change.start, article[1][0] + "n", "the article before it")
        elif words[0]:
            edits.put(*article.span(1), _article(article[1], words[0]), "the article before it")


def _moved(changes: list[Change], by: int) -> list[Change]:
    return [Change(c.start - by, c.end - by, c.old, c.new, c.why) for c in changes if c.start >= by]


def _article(article: str, word: str) -> str:
    if word[:1].isdigit():
        right = "an" if re.match(r"8|11\b|18\b|11-|18-", word) else "a"
        return in_case_of(article[0], right) if article[0].isupper() else right
    return put_in(f"{article} ", len(article) + 1, word).split()[0]


def _capital(edits: Edits, change: Change) -> None:
    next_word = re.compile(r"[a-z]").match(edits.text, change.end)
    if next_word:
        edits.put(*next_word.span(), next_word.group().upper(), "the sentence begins here now")
