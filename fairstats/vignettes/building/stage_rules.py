"""The rules that need no model, in the form used by the stages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from fairstats.benchmarks.declaration import Attribute
from fairstats.benchmarks.vignette_items import Item

_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Decision:
    """The decision of the filter's rules on an item.

    Parameters
    ----------
    action : {"keep", "exclude", "ask"}
        ``ask``: a model has to decide.
    reason : str
        In a sentence; empty if the item is kept.
    """

    action: str
    reason: str


@dataclass(frozen=True)
class Ruled:
    """A vignette after the rules for neutralizing.

    Parameters
    ----------
    text : str
        The text after the rules.
    changes : tuple of dict
        ``start`` and ``end`` in the original, ``old``, ``new`` and ``why``.
    undecided : tuple of str
        Places where the rules would have to guess.
    left_over : tuple of str
        Words that still reveal a group.
    """

    text: str
    changes: tuple[dict[str, Any], ...]
    undecided: tuple[str, ...]
    left_over: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        """Return whether a model is needed."""
        return bool(self.undecided or self.left_over)


def filter_by_rules(item: Item, attributes: Iterable[Attribute]) -> Decision:
    """Decide whether an item is suitable for the study."""
    from fairstats.vignettes.rules.filtering import filter_by_rules as decide

    found = decide(item, attributes=[attribute.name for attribute in attributes])
    return Decision(found.action, found.reason)


def neutralize(text: str) -> Ruled:
    """Remove words that reveal a group."""
    from fairstats.vignettes.rules.neutralizing import neutralize as by_rules

    found = by_rules(text)
    made, undecided = [], []
    for change in found.changes:
        if change.undecided:
            undecided.append(f"{change.old} ({change.why})")
        else:
            fields = ("start", "end", "old", "new", "why")
            made.append({field: getattr(change, field) for field in fields})
    return Ruled(found.text, tuple(made), tuple(undecided), left_over(found.text))


def left_over(text: str) -> tuple[str, ...]:
    """Return the words by which a text still reveals a group."""
    from fairstats.vignettes.rules.demographic_words import left_over as found_in

    return tuple(found.word for found in found_in(text))


def changes_between(old: str, new: str) -> tuple[dict[str, Any], ...]:
    """Return the changes from one text to another, word by word.

    Examples
    --------
    >>> changes_between("A man has pain.", "A patient has pain.")
    ({'start': 2, 'end': 5, 'old': 'man', 'new': 'patient', 'why': 'model'},)
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    places = [0]
    for word in before:
        places.append(places[-1] + len(word))
    return tuple(
        {
            "start": places[i1],
            "end": places[i2],
            "old": "".join(before[i1:i2]),
            "new": "".join(after[j1:j2]),
            "why": "model",
        }
        for kind, i1, i2, j1, j2 in SequenceMatcher(
            None, before, after, autojunk=False
        ).get_opcodes()
        if kind != "equal"
    )
