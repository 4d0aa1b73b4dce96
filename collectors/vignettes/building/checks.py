"""What is wrong with a text that an agent wrote, without asking a model."""

from __future__ import annotations

from collectors.vignettes.building.messages import Wanted


def neutral_problems(before: str, after: str) -> list[str]:
    """What a neutralized text lost or added of the clinical content.

    The final question is changed rightly where it told the patient's group.
    """
    return [p for p in _content(before, after) if not p.startswith("final sentence")]


def background_problems(wanted: Wanted, background: str) -> list[str]:
    """What is wrong with a background before it is merged."""
    from fairstats.vignettes.structure import structure_problems

    return [str(p) for p in structure_problems(background, wanted.words)]


def variant_problems(wanted: Wanted, background: str, text: str) -> list[str]:
    """What is wrong with a variant."""
    return _content(wanted.neutral, text)


def _content(neutral: str, text: str) -> list[str]:
    from fairstats.vignettes.clinical_content import content_problems

    return [f"{problem.kind}: {problem.detail}" for problem in content_problems(neutral, text)]
