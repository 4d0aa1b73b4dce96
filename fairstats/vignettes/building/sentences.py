"""The question at the end of a vignette, and text inserted before it."""

from __future__ import annotations


def before_the_question(neutral: str, background: str) -> str:
    """Insert a background, unchanged, before the final sentence of the vignette."""
    question = final_sentence(neutral)
    place = neutral.rindex(question)
    return " ".join(filter(None, [neutral[:place].rstrip(), background, neutral[place:]]))


def final_sentence(text: str) -> str:
    """Return the question at the end of a vignette."""
    from fairstats.vignettes.text.sentences import final_sentence as last_of

    return last_of(text)
