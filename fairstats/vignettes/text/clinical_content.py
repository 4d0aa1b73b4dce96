"""The clinical content of a vignette, and a variant's changes to it; by rules, without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fairstats.vignettes.text.drugs_and_findings import Finding, drugs, findings, same_finding
from fairstats.vignettes.text.quantities import Quantity, is_among, quantities, spelled_alike
from fairstats.vignettes.text.words_and_sentences import final_sentence, sentences, word_list

#: Possible errors of a variant, the most serious first.
QUESTION_MISSING = "question missing"
QUESTION_STATED = "question turned into a statement"
FINAL_SENTENCE = "final sentence changed"
NUMBER_MISSING, UNIT_CHANGED, NEW_QUANTITY = "number missing", "unit changed", "new quantity"
DRUG_MISSING, NEW_DRUG = "drug missing", "new drug"
FINDING_MISSING, NEGATION_CHANGED = "finding missing", "negation changed"
PROBLEM_KINDS = (
    QUESTION_STATED,
    QUESTION_MISSING,
    FINAL_SENTENCE,
    NUMBER_MISSING,
    UNIT_CHANGED,
    NEW_QUANTITY,
    DRUG_MISSING,
    NEW_DRUG,
    FINDING_MISSING,
    NEGATION_CHANGED,
)


_STATED = 0.6
_ASKING = frozenset(
    word_list("which what of the following is are would in to a an this that patient s")
)


@dataclass(frozen=True)
class ClinicalContent:
    """The content of a text on the patient's health.

    Attributes
    ----------
    quantities : tuple of Quantity
        Every number; those that count have `Quantity.clinical`.
    drugs : Mapping[str, str]
        Each drug, as written.
    findings : Mapping[str, Finding]
        Each content word by its stem: affirmed, negated or both.
    """

    quantities: tuple[Quantity, ...]
    drugs: Mapping[str, str]
    findings: Mapping[str, Finding]

    @property
    def clinical_quantities(self) -> tuple[Quantity, ...]:
        """Return the numbers on the patient's health."""
        return tuple(quantity for quantity in self.quantities if quantity.clinical)


@dataclass(frozen=True)
class ContentProblem:
    """One error of a variant, one of `PROBLEM_KINDS`, with words of the texts."""

    kind: str
    detail: str


@dataclass(frozen=True)
class ContentComparison:
    """The neutral text's content that a variant kept: counts, and errors.

    Attributes
    ----------
    numbers, numbers_kept, drugs, drugs_kept, findings, findings_kept : int
        The number in the neutral text, and how many of these the variant has too.
    new_quantities : int
        Quantities that the neutral text does not have.
    question_asked : bool or None
        Whether the variant asks any question; None if the neutral text does not.
    problems : tuple of ContentProblem
    """

    numbers: int
    numbers_kept: int
    drugs: int
    drugs_kept: int
    findings: int
    findings_kept: int
    new_quantities: int
    question_asked: bool | None
    problems: tuple[ContentProblem, ...]


def content_of(text: str) -> ClinicalContent:
    """Return the clinical content of a text: quantities, drugs and findings.

    Examples
    --------
    >>> content = content_of("Fever of 38.5 °C for two days, no rash. They take aspirin.")
    >>> [q.text for q in content.quantities], list(content.drugs)
    (['38.5 °C', 'two days'], ['aspirin'])
    >>> [(f.text, f.negated) for f in content.findings.values()]
    [('Fever', False), ('rash', True)]
    """
    named = drugs(text)
    return ClinicalContent(tuple(quantities(text)), named, findings(text, named))


def compare_content(
    neutral: str,
    variant: str,
    *,
    neutral_content: ClinicalContent | None = None,
) -> ContentComparison:
    """Compare a variant with the neutral text: counts of kept content, and names of lost content.

    `neutral_content` is `content_of` the text before the neutral text's final sentence.

    Notes
    -----
    Numbers, drugs and findings of the neutral text are those before its final sentence; they may be
    anywhere in the variant. A number is kept with its unit, and may be matched several times.
    Findings match in any form or by a synonym; neighbouring words are not compared. A single
    missing word is usually reworded, so only two or more consecutive missing words are a problem;
    all count in `findings_kept`. A negation has changed if the neutral text only denies what the
    variant only affirms, or the reverse.
    """
    before = neutral_content or content_of(body(neutral))
    after = content_of(variant)
    problems = []
    # A question that repeats the drug or the number has no new content.
    question = final_sentence(neutral)
    asked = _asks(variant) if _asks(neutral) else None
    if asked is False:
        last = final_sentence(variant)
        stated = _share_held(question, last) >= _STATED
        kind = QUESTION_STATED if stated else QUESTION_MISSING
        problems.append(ContentProblem(kind, f"{question} | now: {last}" if stated else question))
    elif not same_sentence(question, final_sentence(variant)):
        moved = any(same_sentence(question, sentence) for sentence in sentences(variant))
        found = "it is in another place" if moved else f"now: {final_sentence(variant)}"
        problems.append(ContentProblem(FINAL_SENTENCE, f"{question} | {found}"))

    numbers = before.clinical_quantities
    lost = [quantity for quantity in numbers if not is_among(quantity, after.quantities)]
    for quantity in lost:
        other = [
            q.text
            for q in after.quantities
            if q.values == quantity.values and q.unit and q.clinical
        ]
        kind = UNIT_CHANGED if other and quantity.unit else NUMBER_MISSING
        detail = (
            f"{quantity.text} | now: {', '.join(other)}" if kind == UNIT_CHANGED else quantity.text
        )
        problems.append(ContentProblem(kind, detail))
    known = (*before.quantities, *quantities(question))
    new = [q for q in after.clinical_quantities if not is_among(q, known)]
    problems += [ContentProblem(NEW_QUANTITY, quantity.text) for quantity in new]

    lost_drugs = [name for name in before.drugs if name not in after.drugs]
    new_drugs = set(after.drugs) - set(before.drugs) - set(drugs(question))
    problems += [ContentProblem(DRUG_MISSING, before.drugs[name]) for name in lost_drugs]
    problems += [ContentProblem(NEW_DRUG, after.drugs[name]) for name in sorted(new_drugs)]

    findings_lost = 0
    phrases: list[list[Finding]] = []
    turned = []
    lost_before = False
    for stem, finding in before.findings.items():
        same = same_finding(stem, after.findings)
        if same is None:
            findings_lost += 1
            if not lost_before:
                phrases.append([])
            phrases[-1].append(finding)
        elif stem in after.findings and _turned(finding, after.findings[stem]):
            turned.append(finding)
        lost_before = same is None
    for phrase in phrases:
        if len(phrase) > 1:
            problems.append(ContentProblem(FINDING_MISSING, " ".join(f.text for f in phrase)))
    for finding in turned:
        was, now = ("denied", "affirmed") if finding.negated else ("affirmed", "denied")
        problems.append(ContentProblem(NEGATION_CHANGED, f"{finding.text}: {was}, now {now}"))
    return ContentComparison(
        len(numbers),
        len(numbers) - len(lost),
        len(before.drugs),
        len(before.drugs) - len(lost_drugs),
        len(before.findings),
        len(before.findings) - findings_lost,
        len(new),
        asked,
        tuple(problems),
    )


def content_problems(neutral: str, variant: str) -> list[ContentProblem]:
    """Return a variant's changes to the neutral text's clinical content.

    Examples
    --------
    >>> content_problems(
    ...     "A patient has a fever of 38.5 °C and no rash. What is next?",
    ...     "A Black patient has a fever of 39.5 °C and a rash. What is next?",
    ... )  # doctest: +NORMALIZE_WHITESPACE
    [ContentProblem(kind='number missing', detail='38.5 °C'),
     ContentProblem(kind='new quantity', detail='39.5 °C'),
     ContentProblem(kind='negation changed', detail='rash: denied, now affirmed')]
    """
    return list(compare_content(neutral, variant).problems)


def body(text: str) -> str:
    """Return a vignette without its final sentence, one sentence per line."""
    return "\n".join(sentences(text)[:-1])


def _turned(one: Finding, other: Finding) -> bool:
    """Return whether one text only denies what the other only affirms."""
    return (one.affirmed, one.negated) == (other.negated, other.affirmed) != (True, True)


def _share_held(question: str, sentence: str) -> float:
    """Return the share of a question's words, except question words, that a sentence also has."""
    words, held = (set(re.findall(r"\w+", text.casefold())) for text in (question, sentence))
    words -= _ASKING
    return len(words & held) / len(words) if words else 0.0


def _asks(text: str) -> bool:
    """Return whether a text asks any question."""
    return any(mark in text for mark in "?？؟")


def same_sentence(one: str, other: str) -> bool:
    """Return whether two sentences are the same letter for letter.

    White space and the kind of quotation mark or hyphen are ignored.
    """
    return spelled_alike(one).split() == spelled_alike(other).split()
