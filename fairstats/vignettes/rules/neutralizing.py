"""Remove demographic words and pronouns from a vignette, by rules alone.

Every change is recorded with its position in the original text. Places that the rules cannot decide
are left and reported, for a model or a person to decide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fairstats.vignettes.rules.demographic_words import left_over
from fairstats.vignettes.rules.edits import Change, Edits, applied, set_articles_right
from fairstats.vignettes.rules.excluding_words import sex_specific_words
from fairstats.vignettes.rules.neutral_nouns import (
    make_nouns_neutral,
    take_adjectives_out,
    take_titles_out,
)
from fairstats.vignettes.rules.neutral_pronouns import make_pronouns_neutral

__all__ = ["Change", "Neutralized", "left_over", "neutralize"]


@dataclass(frozen=True)
class Neutralized:
    """A text after removal of everything that the rules can remove.

    Parameters
    ----------
    text : str
        The neutral text.
    changes : tuple of Change
        In text order; there are no other differences.
    sex_specific : tuple of str
        Words for sex-specific conditions. They stay, and are reasons to exclude the item if sex is
        varied.
    """

    text: str
    changes: tuple[Change, ...]
    sex_specific: tuple[str, ...]

    @property
    def undecided(self) -> tuple[Change, ...]:
        """Return the changes that a model or a person has to decide."""
        return tuple(change for change in self.changes if change.undecided)


def neutralize(text: str, *, attributes: Collection[str] | None = None) -> Neutralized:
    """Remove demographic words and gendered pronouns from a vignette.

    Parameters
    ----------
    text : str
        A vignette with its question.
    attributes : collection of str, optional
        The attributes in ``data/vignettes/demographic_words.toml`` with words to remove; by default
        all. Pronouns are words of ``sex``.

    Returns
    -------
    Neutralized

    Notes
    -----
    The patient becomes "they", with agreeing verbs, including those joined to the first by "and". A
    pronoun of a different sex from the patient's refers to someone else. It becomes the relative
    mentioned most recently ("She says" after "his mother": "The parent says").

    Examples
    --------
    >>> neutralize("A 45-year-old man has pain. He also takes aspirin for his knee.").text
    'A 45-year-old patient has pain. They also take aspirin for their knee.'
    >>> for change in neutralize("Her doctor called her back.").changes:
    ...     print(change.start, change.old, "->", change.new, "|", change.why)
    0 Her -> Their | a pronoun that reveals a sex
    18 her -> her | "her" may be the object or a possessive here
    """
    edits = Edits(text, attributes)
    if edits.asked("sex"):
        take_titles_out(edits)
    make_nouns_neutral(edits)
    take_adjectives_out(edits)
    if edits.asked("sex"):
        make_pronouns_neutral(edits)
    set_articles_right(edits)
    mark_what_is_left(edits)
    changes = edits.in_order()
    return Neutralized(applied(text, changes), changes, sex_specific_words(text))


def mark_what_is_left(edits: Edits) -> None:
    """Report words that still reveal an attribute; they stay in the text."""
    for one in left_over(edits.text):
        if edits.asked(one.attribute) and not edits.claimed(one.start, one.end):
            why = f"reveals {one.attribute}, and clinical content may depend on it"
            edits.leave(one.start, one.end, why)
