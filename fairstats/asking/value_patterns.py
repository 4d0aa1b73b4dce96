"""Patterns for the wording around a decision, a level or a score in a reply.

Each has a bounded length, as in `reply_patterns`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: The nouns that name a value of each kind, the clearest first.
_NOUNS = {
    "choice": (_words("answer choice option diagnosis"),),
    "decision": (
        _words("decision recommendation recommend verdict outcome disposition judgement judgment"),
        _words("interview hire invite shortlist admit approve"),
    ),
    "level": (
        _words("level acuity esi ctas ktas triage index urgency priority category"),
        _words("score rating"),
    ),
    "score": (_words("score rating"), _words("level grade")),
}
#: Words that may be part of such a name: "final ESI level". Others make it another thing's.
MODIFIERS = frozenset(
    _words(
        "the a an my this final overall total esi triage acuity urgency severity priority "
        "emergency index appropriate correct best recommended assigned estimated suggested "
        "predicted most likely recommend candidate applicant interview interviewing hiring hire "
        "match fit suitability level score rating decision answer"
    )
)
ARTICLES = frozenset(_words("the a an my this"))
#: Words that may be just before a name without an article: "assign ESI level 3", "pain level 8".
BEFORE_NAME = frozenset(
    _words(
        "as at to of with is be assign assigned give select choose recommend recommended so thus "
        "therefore hence and for then say rate rated triage triaged classify classified called"
    )
)
#: The name of a scale in a benchmark's title: "PHQ-9".
ACRONYM = re.compile(r"(?<![\w-])[A-Z][A-Z0-9-]+(?![\w-])")
#: Names of JSON fields with the answer, and of some whose numbers are not the answer.
ANSWER_FIELDS = frozenset(_words("answer ans choice option response prediction"))
OTHER_FIELDS = frozenset(
    _words(
        "age confidence certainty probability id index number count step question item case sample "
        "run resources pain weight seed version year years hours minutes days rate pressure"
    )
)
#: Names of JSON fields that explain the answer, and words in names of what is no answer.
EXPLAINING_FIELDS = frozenset(
    _words(
        "reason reasons reasoning rationale explanation justification analysis thought thoughts "
        "thinking comment comments notes note summary"
    )
)
NO_ANSWER_FIELDS = frozenset(
    _words(
        "avoid not rejected unsafe excluded against contraindicated alternative second ruled out"
    )
)

_SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
NUMBERS_IN_WORDS = {word: number for number, word in enumerate(_SMALL)} | {
    f"{tens}-{_SMALL[ones]}" if ones else tens: 10 * place + ones
    for place, tens in enumerate(_TENS, start=2)
    for ones in range(10)
}
NUMBER_IN_WORDS = re.compile(
    rf"(?i)(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_SMALL[1:10])}))?|{'|'.join(_SMALL)})"
    r"(?![\w-])"
)
#: The scale of a number: "/5", "out of 5", "(of 5)", "on a scale from 1 to 5", "%".
SCALE = re.compile(
    r"(?i)(?: (?:points?|stars?))? ?\(?(?:/ ?|out of (?:a possible )?|of "
    r"|on an? (?:scale (?:of|from) )?(?:[0-9]{1,6} ?(?:-|to) ?)?)"
    r"(?P<highest>[0-9]{1,6})(?:-point scale)?\)?(?![\w/]|\.[0-9])| ?%"
)
#: The highest value of a scale in the name of a field: "Rating (1-5)".
NAMED_SCALE = re.compile(
    r"\((?:[^()]* )?(?:[0-9]+ ?(?:-|to) ?|/ ?|out of |of )(?P<highest>[0-9]{1,6})\)"
)
#: What makes a value less than or more than a number.
INEQUALITY = re.compile(r"(?:(?<!<)[<>≤≥~]=? ?|\b(?:less|more|greater|fewer) than )$")
#: A tag before a value: "<level>3".
TAG = re.compile(r"<[^<>\n]{1,30}> ?$")
# What may follow a value: the end of a phrase, or a reason. Not "3 mg", "3-year-old", "no fever".
AFTER_VALUE = re.compile(
    r"""[ ]?(?:$|\n) | [)\]}>";!?<|] | [,:](?![0-9]) | '(?!\w) | \.(?!\w) | [ ]-{1,2}[ ](?![0-9])
    | [ ][(|] | [ ](?:points?|stars?)(?![\w-])
    | [ ](?:because|since|as|due|given|based|for[ ]this|with[ ]regard|rather|instead|on[ ]a[ ]scale
      |is[ ](?:the[ ])?(?:most[ ]|best[ ])?(?:appropriate|correct|right|suitable|best))\b""",
    re.VERBOSE,
)
#: A range or another value, after a value.
RANGE = re.compile(r" ?(?:-|/|,) ?[0-9]| (?:-|to|or|and|versus|vs\.?) ")
#: What may be between a value and a second one, or its label.
FURTHER = re.compile(
    r"(?i) ?(?:(?P<joins>[,;(/|])|-{1,2}|:|\.{1,3}) ?"
    r"(?:(?:or|and|but|maybe|possibly|perhaps|wait,?) )?"
    r"(?:(?:esi |triage )?level )?"
)
#: What may be between a cue and the value: "a level 3", "ESI-3", quotes.
OPENING = re.compile(
    r"""(?xi) [\s"'(\[{<]{0,3} (?:(?:the|a|an|at|most\ likely|simply|clearly|option|choice)\ ){0,2}
    (?:(?:esi|triage|acuity|urgency|level|score|rating|category|priority)[ :#-]{1,2}){0,3}
    ["'(\[{<]{0,3}"""
)
#: What may be between a value and its label.
LABEL_OPENING = re.compile(r" ?[(:-] ?")
#: The beginning of a line, before a value or its noun.
LINE_START = re.compile(r"(?:^|\n)[ >•+=-]{0,8}$")
#: What may follow a value at the end of a line.
ENDING = re.compile(r"""[\s.!,;:"')\]}>|]{0,6}(?:points?|stars?)?[\s.!"')\]}>|]{0,6}$""")
#: What comes before another value that is possible, or a sum: "2; could be 3", "8 - 1 = 7".
ALTERNATIVE = re.compile(
    r"(?i)[^\n]{0,40}?(?:\b(?:(?:could|might|may)(?: also)? be|(?:up|down)graded? to|range:?)"
    r"(?: from| an?| to)?| =) "
)
#: Names that a denial confirms: "No: contraindicated".
NEGATIVE = re.compile(
    r"(?i)no\b|not\b|none\b|never\b|den(?:y|ied)|declin|reject|withh|avoid|against"
)
LIST_NUMBER = re.compile(r"(?m)^ ?[0-9]{1,3}[.)](?= |$)")
#: Words after a value that take it back in part.
CONDITIONAL = re.compile(
    r"(?i)\b(?:if|unless|or|but|only|however|although|though|provided|pending|depend\w*|could|might"
    r"|borderline|except)\b"
)
#: Words before a number in a sentence that make it something else than the answer.
DOUBT = re.compile(
    r"(?i)\b(?:between|from|consider\w*|could|might|may|possibly|perhaps|nearly|almost|around|about"
    r"|approximately|roughly|above|below|over|under|beyond|exceed\w*|borderline|previous\w*|prior"
    r"|either|was|were|had|history|against|such as|e\.g|pain|dose|dosage)\b|~"
)
#: A refusal to do what these benchmarks ask for; the general ones are `REFUSAL`.
REFUSAL_TO_RATE = re.compile(
    r"""(?xi) \b (?:I|we) (?:'m|\ am|\ are)? \ (?:cannot|can't|won't|will\ not|unable|not\ able)
    \ (?:to\ )? (?: (?:rate|score|grade|rank|triage|classify|judge|assess|evaluate|make)\b
      | assign\ [^.!?\n]{0,40}?(?:level|score|rating|category)
      | (?:recommend|suggest|give|provide|specify|prescribe|calculate|state)
        \ (?:an?|any|the)\ (?:specific\ |exact\ |particular\ )?(?:dose|dosage|number|amount)\b )"""
)
_ACT = (
    r"(?:\bI(?:'d|'ll| would| will| have)? (?:therefore |thus )?"
    r"(?:rate|score|grade|triage|classify|categori[sz]e|assign|give|choose|pick|select|say|recommend"
    r"|suggest|estimate|rank|put|go with|opt for)"
    r"|\b(?:should|would|can|will|is) (?:be )?"
    r"(?:rated|scored|graded|triaged|classified|categori[sz]ed|assigned|given))"
)
#: "I would rate the patient's acuity a 7"; "I would say yes", "should be classified as urgent".
ACTS = (
    re.compile(rf"(?i){_ACT}[ :](?:[^0-9.!?;:\n,]{{0,60}}?[ :])??(?=[\"'(]?[+-]?\.?[0-9])"),
    re.compile(
        rf"(?i){_ACT}[ :]{{1,2}}(?:(?:this|that|it|the|him|her|them) [^0-9.!?;:\n,]{{0,40}}?"
        r"\bas |as )?(?=[^\W0-9])"
    ),
)


class NounCues(NamedTuple):
    """What names a value of a kind: fields of JSON, fields of text, sentences."""

    fields: tuple[frozenset[str], ...]
    colons: tuple[re.Pattern[str], ...]
    sentence: re.Pattern[str]


@cache
def noun_cues(kind: str) -> NounCues:
    """Return the patterns with the nouns of a kind of answers, the clearest first."""
    lead = rf"(?<![\w-])(?P<lead>(?:(?:{'|'.join(sorted(MODIFIERS))}|for|patient)(?:'s)? ){{0,6}})"
    nouns = [f"{lead}(?:{'|'.join(tier)})" for tier in _NOUNS[kind]]
    # "ESI level (1-5): 3", "| Level | 3 |", "<level>3"
    colon = r"""["')]{0,2}(?: ?\([^()\n]{1,20}\))? ?(?:[:=|>]|[-=]>| -(?= )) ?"""
    of = r"of (?:this|urgency|acuity|priority|severity|the (?:patient|case|candidate|applicant))"
    stated = (
        r"""(?:[ #-]{1,2}(?=[0-9])| of (?=["'(]?[0-9])"""
        rf"|(?: (?:{of}|for|that|in|based|according|I|here)\b"
        r"(?:(?!\b(?:is|be|was)\b)[^.!?;:\n0-9]){0,80}?)?"
        r" (?:is|(?:would|should|will|must) be)[ :]{1,2}(?:therefore |thus |clearly )?)"
    )
    return NounCues(
        fields=tuple(map(frozenset, _NOUNS[kind])),
        colons=tuple(re.compile(f"(?i){noun}{colon}") for noun in nouns),
        sentence=re.compile(rf"(?i)(?:{nouns[0]}|\banswer){stated}"),
    )
