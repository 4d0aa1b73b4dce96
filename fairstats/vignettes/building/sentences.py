"""The question at the end of a vignette, and what is put before it."""

from __future__ import annotations


def before_the_question(neutral: str, background: str) -> str:
    """The vignette with a background, as it stands, before its final sentence."""
    question = final_sentence(neutral)
    place = neutral.rindex(question)
    return " ".join(filter(None, [neutral[:place].rstrip(), background, neutral[place:]]))


def final_sentence(text: str) -> str:
    """The question at the end of a vignette."""
    from fairstats.vignettes.text.sentences import final_sentence as last_of

    return last_of(text)
