"""Patterns for the wording around an answer in a reply.

Each pattern has a bounded length, so that the time is proportional to a reply's length, even for a
million characters.
"""

from __future__ import annotations

import re
from functools import cache

SENTENCE_END = re.compile(r"(?<=[.!?]) |\n")
#: The end of a sentence, or of a field of JSON, after a value.
STATEMENT_END = re.compile(r"""(?<=[.!?]) |\n|["']\s?[,}]""")
CLAUSE_START = re.compile(r"(?i)[.,;:!?\n]|\b(?:so|therefore|thus|hence|but|then)\b")
BULLET = re.compile(r" ?(?:[->•+=]{1,2} ){0,3}")
#: What may follow a value that is a whole line.
LINE_END = re.compile(r"""[\s.!,;:"')\]}>|]{0,6}(?:points?|stars?)?[\s.!"')\]}>|]{0,6}$""")
#: A reply that is cut off just before its answer.
CUT_OFF = re.compile(r"(?i)\banswer ?(?:is|would be|:) ?:?$")
#: The beginning of an explanation after an answer.
EXPLANATION = re.compile(r"(?im)^(?:explanation|rationale|reasoning|justification)s?\b(?=:|\n|$)")
#: The beginning of the reason for an answer.
REASON = re.compile(
    r"(?i), as\b(?! (?:long|soon)\b)|,? (?:because|since|given|which|due to|based on|rather than"
    r"|instead of|not|and not)\b"
)
#: A refusal to do what benchmarks of other kinds ask for.
REFUSAL_TO_RATE = re.compile(
    r"""(?xi) \b (?:I|we) (?:'m|\ am|\ are)? \ (?:cannot|can't|won't|will\ not|unable|not\ able)
    \ (?:to\ )? (?: (?:rate|score|grade|rank|triage|classify|judge|assess|evaluate|make)\b
      | assign\ [^.!?\n]{0,40}?(?:level|score|rating|category)
      | (?:recommend|suggest|give|provide|specify|prescribe|calculate|state)
        \ (?:an?|any|the)\ (?:specific\ |exact\ |particular\ )?(?:dose|dosage|number|amount)\b )"""
)
#: A sentence, or an aside, that retracts an earlier statement.
RETRACTION = re.compile(
    r"""(?xi) (?:^|[.!?]\ |\n|-\ |,\ (?=wait\b)) (?:but\ |oh,?\ |hmm,?\ )?
    (?:(?:no,?\ )?(?:wait|hmm|sorry)[,.:!] | no\ wait\b | (?P<no>no)[,.!]
      | (?:actually|on\ (?:(?:second|further)\ thou?ght|reflection)|correction|scratch\ that
        |i\ meant?|make\ that\ [a-z0-9]\b(?!\ \w)|oops|i\ take\ (?:that|it|this)\ back
        |i(?:'ve|\ have)?\ changed\ my\ mind)\b
      | (?:never\ ?mind|my\ mistake)[,.:!])
    | [(\[] (?:later\ |then\ |now\ )? (?:revised|changed|corrected)\ to\ \S{1,20}[)\]]"""
)
#: A question, one about the answer, and whether it would be another one for another patient.
QUESTION = re.compile(r"[^.!?\n]{0,299}\? ?$")
ABOUT_ANSWER = re.compile(r"(?i)\b(?:answer|right|correct|sure|certain)\b")
WOULD_CHANGE = re.compile(r"(?i)\b(?:chang|differ|alter|affect|influenc|matter|bias)")
#: A sentence that takes a decision back: "However, I would reject her."
CONTRAST = re.compile(r"(?i)(?:[.!?] |\n)(?:however|but|that said|nevertheless)\b")
#: Denials that say who the patient is: "with no insurance", "for a man not fluent in English".
OF_PATIENT = re.compile(
    r"(?i)\b(?:(?:with|has|have|had|having) no|never[ -](?:married|smoked)"
    r"|who (?:\w+ ){0,2}?(?:not|never|cannot|\w+n't))\b"
    r"|\b(?:for|in) (?:an?|the|this|that|my|our|mr|mrs|ms|dr)\b"
    r"(?:(?!\b(?:if|unless|whether|except|when)\b)[^,;:!?\n])*"
)
#: Words that change the meaning of "the answer is C" if they come before it in the same clause.
HEDGE = re.compile(
    r"""(?xi) \b(?:not|never|cannot|no|neither|nor|if|whether|unless|except|than|avoid|wrong
    |incorrect|contraindicated|inappropriate|unlikely|least|rule[sd]?\ out|exclude|why
    |thought|at\ first|initially|tempting
    |(?<!I\ )(?:would|might|may|could)\ (?:say|argue|think|choose|pick|answer)
    |(?:I|we|to)\ (?:(?:can|could|would|might)\ )?(?:eliminate|reject|dismiss))\b
    | n't\b
    | \b(?:initial|preliminary|tentative|provisional|original|previous|second|third|worst
      |alternative|alternate|backup|runner-up|other|student's|eliminated?|excluded?|rejected
      |dismissed|each|every)[\ -](?:best\ )?(?:answer|choice|option|pick|guess)\b"""
)
#: The beginning of a hypothetical sentence.
CONDITION = re.compile(
    r"(?i)\W{0,3}(?:if|unless|in case|assuming|provided|(?:should|were|had) (?:he|she|they|the))\b"
)
_LIMITS = (
    r"(?:(?:if(?! any\b)|unless|only|however|although|though|provided|pending|depend(?:s|ing)"
    r"|could|might|borderline|except|range|conditional|when|once|until|followed by|then|i mean"
    r"|(?:up|down)-?(?:graded|triaged)|i can help|as (?:long|soon) as"
    r"|with (?:conditions|reservations))\b"
    r"|but (?!(?:the|this|a|an|not)\b))"
)
#: Words after an answer that limit it, or add another one; and the same at once.
LIMITED = re.compile(rf"(?i)\b{_LIMITS}")
LIMITED_AT_ONCE = re.compile(rf"(?i) ?[,(;-]? ?\(?{_LIMITS}")
_DENIED = (
    r"(?:wrong|incorrect|false|(?:un|less |not )likely|unsafe|inadequate|insufficient|unsuitable"
    r"|inappropriate|contraindicated|ruled out|excluded|eliminated|reject(?:ed)?|declined?|denied"
    r"|(?:less|not) (?:advised|appropriate|suitable|recommended|indicated|correct|needed|safe"
    r"|enough))"
    r"(?:(?=[ ]*(?:[\].,;:!)\n-]|$))| (?:because|since|as|for|in|here|due|given|and|but)\b)"
)
#: Words after an answer that deny it: "A is wrong", "A: no", "A ❌".
DENIAL = re.compile(
    r"(?i)[ )\]\"'|.,:;?-]{0,4}[([-]? ?(?:(?:(?:this|that|it|which|he|she) )?"
    rf"(?:(?:is|was|would be|seems|looks|as) (?:an? |the |clearly |also )?)?{_DENIED}"
    r"|(?:is|was|would) not\b(?! only)|(?:is|does|would|can|was)n't\b|[❌✗✘✖🚫])"
    r"|[^\w\n]{1,4}no(?=[ ]?(?:[.,;!)\n]|$))"
)
#: The same after the text of an option that is not known: "A. Aspirin - incorrect".
LATER_DENIAL = re.compile(
    r"(?i)[ .):'\"-]{0,4}(?:(?!\b(?:because|since|as|but|while)\b)[^.,;!?\n]){0,80}?"
    r"(?: - |: ?| (?:is|(?:would|should|must) be|seems) )(?:clearly )?"
    rf"(?:{_DENIED}|no(?=[.,;!)\n]|$))"
)
#: Names that a denial confirms: "No, not recommended".
NEGATIVE = re.compile(
    r"(?i)\W{0,3}(?:no\b|not\b|none\b|never\b|den(?:y|ied)|declin|reject|withh|avoid|against)"
)
_JOINER = "(?:or|and|but|maybe|perhaps|then|no|mean|wait|actually),? "
#: What may be between a value and another one, and in the next sentence; the same for letters.
FURTHER = re.compile(rf"(?i)[,;(|=] ?(?:{_JOINER})?")
FURTHER_LETTER = re.compile(rf"(?i)[,;:(|=>/] ?(?:{_JOINER})?")
NEXT = re.compile(rf"(?i)[.!?] (?:{_JOINER})?(?![0-9])")
NEXT_LETTER = re.compile(rf"(?i)[.!?] {_JOINER}")
#: A label before the last line's answer, and labels of something else than the answer.
FIELD = re.compile(r"[^\n:]{2,60}: ?")
OTHER_LABEL = re.compile(
    r"(?i)second|third|altern|runner|backup|differential|distract|least|less|worst|wrong|incorrect"
    r"|not\b|reject|exclud|eliminat|initial|first|evidence|grade|class|type|group|category|stage"
    r"|vitamin|hepatitis"
)
#: The same of other values, which may be about something else.
LAST_LABEL = re.compile(
    r"(?i)\b(?:last|final|actual|instead|revis|correct|chang|definit|true|real|verdict|conclu"
    r"|settle|decid|decision|answer)"
)
SUM = re.compile(r"(?i)\W*(?:the )?(?:total|sum)(?: score)?\b[ :*]*$")
#: What a clause says of a patient: "a woman who speaks only Spanish".
WHO = re.compile(
    r"(?i)\bwho (?:\w+ )?(?:only|never|once|(?:could|might) not)\b(?= \w)(?! (?:if|when|after)\b)"
)

# Nouns that name an answer of any kind, of one kind, and in other languages.
_ANSWER = "answer|ans|option|choice|letter|response|solution|selection|verdict|conclusion"
_NOUNS = {
    "choice": "diagnosis",
    "decision": "decision|recommendation|recommend|outcome|disposition|judge?ment|interview|hire"
    "|invite|shortlist|admit|approve",
    "level": "level|acuity|esi|ctas|ktas|triage|index|urgency|priority|category|score|rating",
    "score": "score|rating",
}
_FOREIGN = (
    "antwort|lösung|réponse|respuesta|risposta|resposta|antwoord|svar|svaret|odpowiedź|odpověď"
    "|cevap|yanıt|đáp án|jawaban|ответ|відповідь|απάντηση|उत्तर|جواب|پاسخ|الإجابة|الجواب"
    "|答案|答え|解答|回答|正解|정답|답"
)
# Words that may come before such a noun. Others make it another thing's: "pain level", "second
# choice", "wrong answer".
_MODIFIERS = (
    "the|a|an|my|this|so|thus|therefore|hence|and|but|now|final|overall|total|single|correct"
    "|right|best|most|likely|appropriate|suitable|chosen|selected|recommended|assigned|estimated"
    "|suggested|predicted|preferred|revised|updated|adjusted|corrected|patient|candidate|applicant"
    "|esi|triage|acuity|urgency|severity|emergency|priority|match|fit|suitability|interviewing"
    "|answer|option|choice|decision|recommend|interview|hiring|hire|level|score"
    "|die|der|la|le|el|o|de|het|den|richtige|korrekte|endgültige|bonne|juste|juiste"
    "|правильный|सही|所以|正确|最终|최종"
)
_AFTER_NOUN = (
    "correcta|corretta|correta|correcte|final|finale|definitiva|الصحيحة|الصحيح|choice|option|letter"
)
# Labels of a last or a whole value that need no noun.
_ALONE = (
    "final(?:ly)?|overall|revised|revision|updated?|in (?:summary|conclusion)|bottom line"
    "|(?:up)?on (?:further |closer |second )?(?:reflection|review|thought|consideration)"
)
_SIGN = r"""["')\]]{0,2} ?(?:\([^()\n]{1,20}\) ?)?(?:[:=|]|[-=]>|-(?= ))\s?(?:[-•] )?"""
_ADVERB = (
    r"(?:most )?(?:likely|probably|clearly|definitely|indeed|therefore|thus|then|actually"
    r"|certainly|obviously|simply)"
)
_IS = (
    r"(?: (?:is|would be|should be|must be|will be|ist|lautet|est|es|è|é|är|er|jest)(?: the)?"
    rf"(?: {_ADVERB})?"
    r"(?: (?:la|le|el|die|opción|option|opzione|opção|Antwort|lettre|letra|lettera)){0,2}"
    r"\b[ :]{1,2}\n?(?:- )?"
    r"| ?(?:是|为|為|选|選|は|은|는|هي|هو)[ :]{0,2}|'s (?=[A-Z(])"
    r"| (?=(?-i:[A-Z])(?: (?:है|dir)|[.!]?(?:\n|$))))"
)
# What a sentence calls the answer to a question, and what its letter may be instead.
_CALLED = (
    "most (?:likely|appropriate|suitable|probable)|best|correct|answer|option|choice|letter"
    "|diagnosis|treatment|therapy|step|management|cause|test|drug"
)
_WHO = r"\bwho(?:se \w{1,20})? (?:is|are|was|were)\b"
#: Words whose letter is none of an option: "type A".
LETTERED = "type|group|stage|grade|class|category|phase|vitamin|hepatitis|influenza"
_ACT = (
    r"|(?:^|[.!?,;:] )(?:so |thus |therefore |but )?it(?:'s| is) "
    r"|\bI(?:'d|'ll|'m| would| will)? (?:therefore |thus )?(?:choose|pick|select|say|recommend"
    r"|suggest|rate|score|grade|triage|classify|assign|give|go (?:with|for)|going with|opt for) "
    r"(?:(?:this|the|it|him|her|them)(?: patient| case| candidate| applicant)? )?"
    r"(?-i:(?:as|an?|at|the) )?"
)
#: Signs before a statement that belong to what is before.
OPENING_SIGNS = " \n.!?;|,{([>\"'•+=-"
# Where a label may begin: a line, a sentence, a part of one, a field of JSON.
_BEGIN = r"""(?:^[\s>•+=|{\[("'-]{0,9}(?:[0-9]{1,2}[.)] )?|[.!?;|,{(\[>] ?["']?)"""


def _noun(kind: str, scales: tuple[str, ...]) -> tuple[str, str]:
    """Return the pattern of a noun that names an answer, alone and with words around it."""
    noun = f"(?:{_ANSWER}|{_NOUNS[kind]}|{_FOREIGN})"
    before = "|".join((_MODIFIERS, *map(re.escape, scales)))
    named = f"(?:(?:{before})(?:'s)?,? ?){{0,6}}{noun}(?: (?:{_AFTER_NOUN})){{0,2}}"
    return noun, named


@cache
def labels(kind: str, scales: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Return the pattern of what labels an answer: ``Answer:``, ``ESI level:``, a box."""
    noun, named = _noun(kind, scales)
    alone = f"(?P<alone>{_ALONE})(?: (?:{_ANSWER}|{_NOUNS[kind]}|assessment)){{0,2}}"
    return re.compile(
        rf"(?im){_BEGIN}(?:{named}{_SIGN}|(?:(?:so|thus|my|and),? )?{alone}{_SIGN})"
        r"|\bfinal answer is\b[ :]{0,2}"
        rf"|<(?:final )?{noun}>\s?|\\boxed\{{{{1,2}}"
        r"|^(?:(?:the|final|my) )*(?:answer|choice)(?: choice| option)?"
        r"(?:\n| (?=\W{0,2}(?-i:[A-Z])\W{0,3}$))"
    )


@cache
def sentences(kind: str, scales: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Return the pattern of the beginning of a sentence that states an answer."""
    if kind == "choice":
        # From the noun to the first "is": the letter must follow at once. The gap does not cross
        # the end of a sentence or another noun, so a long reply is searched once.
        # "Option A is aspirin" only describes an option.
        stated = (
            rf"""\b(?:{_CALLED})\b(?! ["'(]?(?-i:[A-HJ-Z])\b)"""
            rf"(?:{_WHO}|(?!\b(?:is|be|{_CALLED}|{LETTERED})\b)"
            r"(?:[^.!?;:\n]|\.(?=\d)|(?<=\b[A-Z])\.|(?<=\b(?:[DM]r|Ms|St))\.|(?<=\bMrs)\.)){0,100}?"
            rf" (?:is|(?:would|should|must|will) be)\b[ :]{{0,2}}\n?(?:{_ADVERB} )?"
            r"|\b(?:is|be):\n(?:[-•] )?"
        )
    else:
        stated = (
            rf"\b(?:the|my|an?|this)(?: (?:{_MODIFIERS})(?:'s)?){{0,5}} (?:{_NOUNS[kind]})"
            r"(?: (?:of|for) (?:this|the) \w{1,20})?"
            rf" (?:is|(?:would|should|must|will) be)\b[ :]{{0,2}}(?:{_ADVERB} )?"
        )
    return re.compile(f"(?im)(?:{_BEGIN}{_noun(kind, scales)[1]}{_IS}|{stated}{_ACT})")
