"""Neutral forms of pronouns that reveal a sex, and of the verbs that agree with them."""

from __future__ import annotations

import re

from fairstats.vignettes.rules.edits import Edits
from fairstats.vignettes.rules.pronouns import PRONOUN, in_case_of, is_possessive, is_pronoun
from fairstats.vignettes.rules.verb_agreement import ADVERB, coordinated_verbs, plural_verb

_JOINED = 'the verb that "and" joins to one that goes with "they"'
_AUXILIARY = ("is", "was", "has", "does")
_INVERTED = re.compile(r"(?i)\b(is|was|has|does|isn['’]t|wasn['’]t|hasn['’]t|doesn['’]t)(\s+)$")
_VERB = re.compile(rf"(?i)(?:,? {ADVERB}\b,?)*,? (?P<verb>[a-z]+(?:n['’]t)?)(?![\w'’-])")
_OWN_VERB = re.compile(
    rf"(?i) (?:{ADVERB} )*(?:is|was|has|had|can|could|will|would|does|did|may|might|must|\w+s)\b"
)


def make_pronouns_neutral(edits: Edits) -> None:
    text = edits.text
    for found in PRONOUN.finditer(text):
        if not is_pronoun(found, text):
            continue
        start, end = found.span()
        word = found.group().lower()
        forms = re.split(r" or |/", word)
        role = forms[-1] if forms[-1] in _NEUTRAL else forms[0]
        if "her" in forms and len(forms) > 1:
            role = next(form for form in forms if form != "her")  # his or her, him or her
        named = edits.referents.other_than_patient(start, word) if len(forms) == 1 else None
        if role == "her":
            possessive = is_possessive(text, start, end)
            if possessive is None:
                edits.leave(start, end, '"her" may be the object or a possessive here')
                continue
            role = "his" if possessive else "him"
        if role == "his" and re.match(r"\s*(?:$|[.,;:?!)]|\s(?:and|or|is|was|has)\b)", text[end:]):
            role = "hers"
        if named and role != "himself":
            new = named + ("'s" if role in ("his", "hers") else "")
            why = f"not the patient but {named}, who is spoken of before"
            edits.put(start, end, in_case_of(found.group(), new), why)
            continue
        new = in_case_of(found.group(), _NEUTRAL[role])
        if role in ("he", "she"):
            new += _agreement(edits, start, end)
            end += _contracted(text, end)
        edits.put(start, end, new, "a pronoun that reveals a sex")


_NEUTRAL = {
    "he": "they",
    "she": "they",
    "him": "them",
    "his": "their",
    "hers": "theirs",
    "himself": "themselves",
    "herself": "themselves",
}
_CONTRACTION = re.compile(r"(?i)['’](s|d|ll)\b")
_HAS = re.compile(
    r"(?i) (?:\w+ly |also |always |never |just )*(?:been|had|got|become|gone|taken|done)\b"
)
_MAYBE_HAS = re.compile(r"(?i) (?:\w+ly )*\w+(?:ed|en)\b")


def _contracted(text: str, end: int) -> int:
    found = _CONTRACTION.match(text, end)
    return len(found.group()) if found else 0


def _agreement(edits: Edits, start: int, end: int) -> str:
    """Correct the verbs that agree with a subject; return the contracted form."""
    text = edits.text
    if contracted := _CONTRACTION.match(text, end):
        apostrophe, kind = contracted.group()[0], contracted[1]
        after = contracted.end()
        _coordinated(edits, after)
        if kind.lower() != "s":
            return f"{apostrophe}{kind}"
        new = "ve" if _HAS.match(text, after) else "re"
        return apostrophe + in_case_of(kind if len(kind) > 1 else kind * 2, new)
    inverted = _INVERTED.search(text, max(0, start - 12), start)
    if inverted and not _OWN_VERB.match(text, end):
        plural = plural_verb(inverted[1]) or inverted[1]
        edits.put(*inverted.span(1), plural, 'the verb that goes with "they"')
        return ""
    if re.match(r"(?i) (?:and|or|nor)\b", text[end:]):
        _after_two(edits, end)
        return ""
    if (verb := _VERB.match(text, end)) is None:
        _coordinated(edits, end)
        return ""
    if plural := plural_verb(verb["verb"]):
        edits.put(verb.start("verb"), verb.end("verb"), plural, 'the verb that goes with "they"')
        # "Breathes or coughs": a word in -s joined to a verb is another verb.
        beside = re.compile(r"(?i) (?:and|or) (?P<verb>[a-z]+s)\b").match(text, verb.end())
        if (
            beside
            and verb["verb"].lower() not in _AUXILIARY
            and (other := plural_verb(beside["verb"]))
        ):
            edits.put(*beside.span("verb"), other, _JOINED)
    _coordinated(edits, verb.end(), verb["verb"])
    return ""


def _after_two(edits: Edits, end: int) -> None:
    """Handle two subjects: leave "he or his wife has"; "he and his wife have" is plural already."""
    verb = re.compile(r"(?i) (?:or|nor) (?:\w+ ){1,2}(has|is|was|does)\b").match(edits.text, end)
    if verb:
        edits.leave(*verb.span(1), 'the verb of two subjects joined by "or"')


# After these a verb has no ending: "does not smoke and drinks" would be "do not smoke and drink".
_BARE_FOLLOWS = re.compile(
    r"(?i)(?:(?:does|did|could|would|should|will|can|may|might|must)\b|cannot\b|can['’]t\b|won['’]t\b"
    r"|(?:does|did|could|would|should)n['’]t\b)"
)


def _coordinated(edits: Edits, end: int, own: str = "") -> None:
    sure, doubtful = coordinated_verbs(edits.text, end)
    bare = _BARE_FOLLOWS.match(own) is not None
    for verb in sure:
        start, stop = verb.span("verb")
        plural = plural_verb(verb["verb"])
        either = verb["before"].lower().endswith("or")
        if plural and bare and not either and plural not in ("are", "were"):
            # The denial applies only to the first verb, so repeat the pronoun.
            start = verb.end("before") + 1
            plural = f"they {edits.text[start : verb.start('verb')]}{plural}"
        if plural:
            edits.put(start, stop, plural, _JOINED)
        bare = _BARE_FOLLOWS.match(verb["verb"]) is not None
    for verb in doubtful:
        edits.leave(*verb.span("verb"), "the subject of this verb is unclear")
