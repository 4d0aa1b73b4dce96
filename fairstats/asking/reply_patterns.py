"""Patterns for the wording around an answer in a reply.

Answers are letters, decisions, levels or scores. Each pattern has a bounded length, so that the
time is proportional to a reply's length, even for a million characters.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

CUT_OFF = re.compile(r"(?i)\banswer ?(?:is|would be|:) ?:?$")
SENTENCE_END = re.compile(r"(?<=[.!?]) |\n")

# A sentence, or an aside, that retracts an earlier statement.
RETRACTION = re.compile(
    r"""(?xi) (?:^|[.!?]\ |\n|-\ ) (?:but\ |oh,?\ |hmm,?\ )?
    (?:(?:wait|hmm|sorry|no)[,.:!]
      | (?:actually|on\ (?:second\ thou?ght|reflection)|correction|scratch\ that|i\ meant?)\b)
    | [(\[] (?:later\ |then\ |now\ )? (?:revised|changed|corrected)\ to\ \S{1,20}[)\]]"""
)

#: The beginning of an explanation after an answer.
EXPLANATION = re.compile(r"(?im)^(?:explanation|rationale|reasoning|justification)s?\b(?=:|\n|$)")
#: The beginning of the reason for a choice.
REASON = re.compile(r"(?i),? (?:as|because|since|which|due to|rather than|instead of)\b")

#: Words that combine an option with something else, so that it was not chosen alone.
COMBINED = re.compile(r"(?i)\b(?:combination of|both|plus|together with|in addition to)\b")
#: What joins another drug or test to the one before, so that it was not chosen alone.
JOINED = re.compile(r"(?i) ?[+&/]| (?:and|plus|or|followed by|then|in combination with)\b")

# Words that change the meaning of "the answer is C" if they come before it in the same clause.
HEDGE = re.compile(
    r"""(?xi) \b(?:not|never|cannot|neither|nor|no|if|whether|unless|except|than|avoid|wrong
    |incorrect|contraindicated|inappropriate|unlikely|least|rule[sd]?\ out|why
    |thought|at\ first|initially|argue|tempting|might\ say|some\ (?:would|might|may)
    |(?:I|we|to)\ (?:(?:can|could|would|might)\ )?(?:eliminate|reject|dismiss))\b | n't\b
    | \b(?:initial|preliminary|tentative|provisional|original|draft|previous|second|third|worst
      |alternative|alternate|backup|runner-up|distractor|other|student's|eliminated?|excluded?
      |rejected|dismissed|each|every)[\ -](?:best\ )?(?:answer|choice|option|pick|guess)\b"""
)
#: The beginning of a hypothetical sentence.
CONDITION = re.compile(r"(?i)\W{0,3}(?:if|unless|in case|assuming|provided)\b")
CLAUSE_START = re.compile(r"(?i)[.,;:!?\n]|\b(?:so|therefore|thus|hence|but|then)\b")

_NOUN = r"answer|option|choice|letter|diagnosis|treatment|therapy|step|management|cause|test|drug"
# With a colon, it is the final statement that the prompts ask for; JSON has one too.
FINAL = re.compile(
    r"""(?xi) \b(?:answer|ans|option|choice|letter) ["')]{0,2} \ ?(?:[:=]|[-=]>|-(?=\ ))\s?
    | \b(?:solution|conclusion|response|verdict|selection)[:]\s?
    | \b(?:answer|choice)\ is\ (?:clear|obvious)[:]\s?
    | \bfinal\ answer\ is\b[ :]{0,2}
    | <(?:final\ )?answer>\s?
    | ^(?:the\ |final\ )?answer(?:\ (?:choice\ |option\ )?|\n)(?=\W{0,2}[A-Z]\W{0,3}$)
    | ^(?:final\ )?answer\n(?=[(\["']?(?-i:[A-Z])[).:\]])
    | <(?:choice|option|response|output)>\s?
    | \\boxed(?=\{)""",
    re.MULTILINE,
)
_ADVERB = (
    r"(?:most\ )?(?:likely|probably|clearly|definitely|indeed|therefore|thus|then|actually"
    r"|certainly|obviously|simply)"
)
# From the noun to the first "is": the letter must follow at once. The gap does not cross
# the end of a sentence or another noun, so a long reply is searched once and not once per noun.
# "Option A is aspirin" only describes an option.
SENTENCE = re.compile(
    rf"""(?xi) \b(?:{_NOUN})\b (?!\ ["'(]?(?-i:[A-HJ-Z])\b)
      (?: (?!\b(?:is|be|{_NOUN})\b) (?:[^.!?;:\n]|\.(?=\d)) ){{0,100}}?
      \b(?:is|(?:would|should|must|will)\ be)\b[ :]{{0,2}}\n? (?:{_ADVERB}\ )?
    | \banswer's\ (?:{_ADVERB}\ )?
    | (?:^|[.!?,;:]\ |\n|\b(?:so|thus|hence|therefore|but)\ )
      it(?:'s|\ is|\ must\ be)\ (?:{_ADVERB}\ )?
    | \bmy\ (?:pick|guess|vote|selection)\ (?:is|would\ be)[ :]{{1,2}}
    | (?:\b I (?:'d|'ll|'m|\ would|\ will|\ am)?\ (?:(?:therefore|thus)\ )?|(?:^|\n))
      (?:choose|pick|select|say|go\ (?:with|for)|going\ with|opt\ for|proceed\ (?:with|to))[ ]
    | \b(?:therefore|thus|hence|so)[,:]\ (?=[(\["']{{0,2}}[A-Z][)\]"']{{0,2}}[.!]?(?:\n|$))""",
)

# The label of a last or a revised value, or of the whole: "Revised:", "On reflection:", "Overall
# score:". It counts if no other statement follows, as a "Score: 7" before it may be that of a part.
CONCLUDING = re.compile(
    r"""(?xi) (?: ^[->•+=# ]{0,5} (?:[0-9]{1,2}[.)]\ )? | (?<=[.!?;]\ ) )
    (?:(?:my|the|so|thus|now|and|but)\ ){0,2}
    (?: final(?:ly)? | revis(?:ed|ion) | updated? | adjust(?:ed|ment) | amend(?:ed|ment)
      | reconsidered | overall
      | (?:on|after|upon)\ (?:further\ |closer\ |second\ |self-?)?
        (?:reflection|review|reconsideration|consideration|thought|critique)
      | in\ (?:summary|conclusion) | bottom\ line | conclusion | verdict
      | (?:corrected | correction | modified | changed | total | composite | combined | weighted
        | aggregate | actual | definitive | conclusive)
        (?=(?:\ \w{1,20}){0,2}\ (?:answer|choice|option|letter|decision|recommendation|verdict
          |level|score|rating|grade)\b) )
    (?:\ (?:esi|triage|acuity|urgency|answer|choice|option|letter|decision|recommendation|verdict
      |judge?ment|level|score|rating|grade|fit|match|value|result|assessment|suitability)){0,3}
    ["')]{0,2} \ ?(?:[:=]|[-=]>)\s?""",
    re.MULTILINE,
)
#: A label before an answer.
FIELD = re.compile(r"[^\n:]{2,60}: ?")
#: A label of something else than the answer: "Second best: B", "Level of evidence: A".
OTHER_LABEL = re.compile(
    r"(?i)second|third|altern|runner|backup|differential|distract|least|less|worst|wrong|not\b|reject"
    r"|exclud|eliminat|initial|first|evidence|grade|class|type|group|category|stage|vitamin|hepatitis"
)
#: The probability that a reply gives to a value: "A (5%), B (85%)", "A: 0.05".
PROBABILITY = re.compile(
    r" ?[(:=-]{0,2} ?"
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,3})? ?%|(?:0?\.[0-9]{1,4}|[01]\.0{1,4})(?![0-9]))\)?"
)

# The word for answer, and words that may come between it and the letter, in other languages.
# Languages written without spaces have no word boundaries.
FOREIGN = re.compile(
    r"""(?xi) (?: \b(?:antwort|lösung|réponse|respuesta|risposta|resposta|antwoord|svar|svaret
        |odpowiedź|odpověď|cevap|yanıt|đáp\ án|jawaban|ответ|відповідь|απάντηση|उत्तर|جواب|پاسخ
        |الإجابة|الجواب) (?:\ (?:الصحيحة|الصحيح|correcta|corretta|correta|correcte
        |final|finale|definitiva))?
      | 答案|答え|解答|回答|正解|정답|답 )
    (?: \ ?[:=]\s? | \ ?-\ | \ ?(?:是|为|為|选|選|は|은|는|هي|هو)[ :]{0,2}
      | \b(?:(?!\b(?:ist|est|es|è|é|is|är|er|to|jest)\b)[^.!?;:\n]){0,60}?
        \b(?:ist|lautet|est|es|è|é|is|är|er|to|jest)\b[ :]{1,2}
        (?:(?-i:die|la|le|el|a|o|de|opción|option|opzione|opção|alternativa|Antwort|lettre|letra
        |lettera)\ ){0,2}
      | \ (?=[A-Z](?:\ (?:है|'|dir)|[.!\n]|$)) )"""
)
# Denials and doubts in other languages.
FOREIGN_HEDGE = re.compile(
    r"(?i)\b(?:nicht|kein\w*|falsche?\w*|wenn|falls|pas|ne|si|no|non|não|nao|se|niet|inte|ikke|nie"
    r"|incorrect[ao]|errad[ao]|sbagliat[ao]|fausse|mauvaise|не|если|неправильный|yanlış)\b"
    r"|n'|不|错误|錯誤|如果|誤|오답|ليس|नहीं|गलत"
)

_RIGHT = (
    rf"(?:the |my )?(?:(?:single |one )?(?:correct|right|best|most likely|most appropriate)"
    rf"(?: next| first| initial)? (?:{_NOUN})|answer|correct|right"
    rf"|(?:best|better|most likely|most appropriate)(?=[.,;!\n]|$))"
)
_IS_RIGHT = rf" (?i:(?:is|seems to be|must be) (?:{_RIGHT})\b(?! (?:if|only|unless|when|for)\b))"

# "I think option C fits best", "option C best explains the findings": favoured over all others.
_FITS = r"(?:fits|suits|matches|explains|describes|addresses|reflects|aligns with|corresponds to)"
_MOST = (
    r"most (?:likely|appropriate|suitable|reasonable|plausible|consistent|fitting|accurate|probable"
    r"|sensible|logical|compatible)"
)
_FAVOURED = (
    rf" (?i:(?:clearly |probably )?(?:best|most (?:closely|accurately|directly)) {_FITS}"
    rf"|{_FITS} (?:[^.,!?;:\n]{{1,60}} )?(?:best|most closely)"
    rf"|(?:is|seems|looks|appears|sounds|(?:would|should|seems to|appears to) be) (?:clearly )?"
    rf"(?:the )?(?:best|right|correct|{_MOST})|makes (?:the )?most sense)\b"
)
_IN_MY_VIEW = (
    r"(?i:\bI (?:would |'d |do |strongly |personally )?"
    r"(?:think|believe|feel|suspect|say|suggest|conclude) (?:that )?(?:the )?)"
)
#: What ends the description of the favoured option, and begins a reason or a comparison.
COMPARISON = re.compile(
    r"(?i),? (?:as|because|since|given|due to|rather than|instead of|compared (?:with|to)|and not"
    r"|not|over|unlike)\b"
)
#: What takes a favour back or limits it.
LIMITED = re.compile(r"(?i)\b(?:only|when|provided|assuming|avoided|reserved|once|until)\b")

#: Words that add another option to the phrase before a letter: "vitiligo or eczema (C)".
OTHER_OPTION = re.compile(r"(?i)\b(?:or|unlike|like|versus|vs|over)\b")
_PHRASE = r"(?P<phrase>[^.,;:!?()\n]{1,100})"


class LetterPatterns(NamedTuple):
    """The patterns that contain the option letters; letters are case-sensitive, words are not."""

    label: re.Pattern[str]
    line: re.Pattern[str]
    inline: re.Pattern[str]
    likely: re.Pattern[str]
    short: re.Pattern[str]
    further: re.Pattern[str]
    aside: re.Pattern[str]
    stated_aside: re.Pattern[str]
    right_aside: re.Pattern[str]
    labelled: re.Pattern[str]
    is_right: re.Pattern[str]
    favoured: re.Pattern[str]
    option: re.Pattern[str]
    contrast: re.Pattern[str]
    listed: re.Pattern[str]
    second: re.Pattern[str]
    marked: re.Pattern[str]
    small: re.Pattern[str]
    small_further: re.Pattern[str]


@lru_cache(maxsize=32)
def letter_patterns(letters: tuple[str, ...]) -> LetterPatterns:
    """Return the patterns for these option letters."""
    any_of = "|".join(map(re.escape, letters))
    # In Japanese, Korean and Chinese a particle follows without a space; "C型" is not a letter.
    letter = rf"(?P<letter>{any_of})(?:(?!\w)|(?=です|だ|である|입니다|이다|项|項))"
    word = r"(?i:(?:the )?(?:option|choice|letter|answer) )?"
    joined = r"(?:[,/&+;]|and|or|oder|und|ou|et|o|u|y|e|of|en|или|и|或|和|と|또는)"
    small = "|".join(re.escape(name.lower()) for name in letters if name.lower() != name)
    return LetterPatterns(
        label=re.compile(rf"{word}[\[({{<'\"]{{0,3}}{letter}"),
        line=re.compile(rf"^[->•+= ]{{0,5}}{word}[\[({{<'\"]{{0,3}}{letter}", re.MULTILINE),
        # "A: no. B: no. C: yes", "(A) no (B) yes": statements on options in one line.
        inline=re.compile(
            rf"(?:(?<=[.;,!?] )\(?|\((?=(?:{any_of})\)[: ]{{1,2}}(?i:yes|no|true|false)\b))"
            rf"{letter}(?=[:).])"
        ),
        # "A (5%), B (85%)"
        likely=re.compile(rf"(?<!\w){letter}\)?(?={PROBABILITY.pattern})"),
        # What follows the first letter of "A: B" and of "A: Option B".
        short=re.compile(rf"[:=] ?{word}\(?{letter}"),
        # "A or B", "A, B and C", "A/B": further letters of one statement.
        further=re.compile(rf"['\")]{{0,2}} ?\(?{joined} ?(?:and |or )?\(?{letter}"),
        aside=re.compile(rf" \((?i:option )?{letter}\)"),
        # "The diagnosis is vitiligo (C).", from after "is"; "Angiography (C) is the best step."
        stated_aside=re.compile(rf"{_PHRASE} \((?i:option )?{letter}\)(?=[.!]?(?:\n|$)|[.!] )"),
        right_aside=re.compile(
            rf"(?:^|(?<=[.!?] )){_PHRASE} \((?i:option )?{letter}\){_IS_RIGHT}", re.MULTILINE
        ),
        labelled=re.compile(rf"(?<!\w)(?P<letter>{any_of}|{small or any_of})[).:] ?$"),
        # A bare letter may end a name ("vitamin C is best"), so the statement opens a clause.
        is_right=re.compile(
            rf"(?:^|[.!?,;:] "
            rf"|(?i:\b(?:so|thus|hence|therefore|that|only|option|choice|letter|answer) ))"
            rf"[('\"]{{0,2}}{letter}[)'\"]{{0,2}}(?: \([^)\n]{{0,100}}\))?" + _IS_RIGHT,
            re.MULTILINE,
        ),
        favoured=re.compile(
            rf"(?:(?:^|(?<=[.!?,;:] )|(?i:\b(?:so|thus|hence|therefore) ))(?i:the )?"
            rf"(?i:option|choice|answer) |{_IN_MY_VIEW}(?i:(?:option|choice|answer) )?)"
            rf"[('\"]{{0,2}}{letter}[)'\"]{{0,2}}(?: \([^)\n]{{0,100}}\))?{_FAVOURED}",
            re.MULTILINE,
        ),
        option=re.compile(rf"(?i:\b(?:option|choice|answer)s? )[('\"]{{0,2}}{letter}"),
        contrast=re.compile(
            rf"(?i:\bnot (?:option )?)[('\"]{{0,2}}(?:{any_of})[)'\"]{{0,2}},? "
            rf"(?i:but (?:rather |instead )?(?:option )?)"
            rf"[('\"]{{0,2}}{letter}[)'\"]{{0,2}}(?=[.,;!\n]|$)"
        ),
        # ["A", "C"]
        listed=re.compile(rf"(?<!\w)(?:{any_of})(?!\w)"),
        # "A, maybe C", "A (first), C (second)"
        second=re.compile(
            rf"(?:[,;:|.] ?|(?<!\w)\(|\b"
            rf"(?i:then|maybe|possibly|perhaps|alternatively|or|but|no|mean|for) )"
            rf"{letter}(?!['-])"
        ),
        marked=re.compile(rf"[❌✗✘✖🚫] ?\(?({any_of})(?!\w)"),
        small=re.compile(
            rf"(?P<word>(?i:(?:the )?(?:option|choice|letter) ))?(?P<open>[\[({{'\"]{{0,3}})"
            rf"(?P<letter>{small or '(?!)'})(?!\w)(?P<close>[\])}}'\"]{{0,3}})"
        ),
        small_further=re.compile(
            rf"\W{{0,3}}(?:and|or|[,/&+]) ?\W{{0,2}}(?P<letter>{small})(?!\w)"
        ),
    )


# What may follow a letter that is an answer and not the beginning of a phrase ("A 54-year-old",
# "B cells", "D-dimer", "C. difficile", "A. K. is a ..."). Dots: not before a small letter or
# another initial.
AFTER_LETTER = re.compile(
    r"""[ ]?(?:$|\n) | [)\]}>",;:!<|] | '(?!\w) | \.(?!\w|[ ]?(?:[a-z]|[A-Z]\.)) | [ ]?-{1,2}[ ]
    | [ ][(|] | です|だ|である|입니다|이다|项|項 | [ ](?:है|dir)
    | [ ](?:because|since|as|which|due|but|for|rather|instead|and[ ]not|not|over
      |[Ee]xplanation|[Rr]eason\w{0,3})\b """,
    re.VERBOSE,
)
_DENIED = (
    r"(?:wrong|incorrect|false|(?:un|less |not )likely|unsafe|inadequate|insufficient|unsuitable"
    r"|inappropriate|contraindicated|ruled out|excluded|eliminated|rejected"
    r"|(?:less|not) (?:appropriate|suitable|recommended|indicated|correct|needed|safe|enough))"
    r"(?:(?=[ ]*(?:[\].,;:!)\n-]|$))| (?:because|since|as|for|in|here|due|given|and|but)\b)"
)
#: Words after an option that deny it: "A is wrong", "A: no", "A ❌".
DENIAL = re.compile(
    r"(?i)[ )\]\"'|.,:;?-]{0,4}[([-]? ?(?:(?:(?:this|that|it|which|he|she) )?"
    rf"(?:(?:is|was|would be|seems|looks) (?:an? |the |clearly |also )?)?{_DENIED}"
    r"|(?:is|was|would) not\b(?! only)|(?:is|does|would|can|was)n't\b|[❌✗✘✖🚫])"
    r"|[^\w\n]{1,4}no(?=[ ]?(?:[.,;!)\n]|$))"
)
#: The same after the text of an option that is not known: "A. Aspirin - incorrect".
LATER_DENIAL = re.compile(
    r"(?i)(?:(?!\b(?:because|since|as|but|while)\b)[^.,;!?\n]){0,80}?"
    rf"(?: - |: ?| (?:is|would be|seems) )(?:clearly )?{_DENIED}"
)
#: Words after an option that make it a condition, or only the first: "A, if", "A, then".
CONDITIONED = re.compile(
    r"(?i) ?[,(;:-]? ?\(?(?:but )?(?:only (?:if|after|when)|if|unless|provided|assuming|depending"
    r"|when|once|as (?:long|soon) as|conditional|with (?:conditions|reservations))\b"
    r"|,? (?:(?:and|first,) )?then\b| followed by\b"
)
#: A line that announces a discussion of each option: "Let us look at the options:".
ANNOUNCED = re.compile(
    r"(?im)^(?=[^\n]*\b(?:options|choices|levels|diagnoses|possibilities|differentials?|each|every"
    r"|analysis|evaluation|consider\w*|evaluat(?:e|ing)|analy[sz](?:e|ing)|look(?:ing)? at)\b)"
    r"[^\n]{0,200}(?<!\bis)(?<!\bbe)(?<!answer)(?<!choose)(?<!select)(?<!diagnosis):$"
)
#: What leads to an answer on the next line: "The most likely diagnosis is:".
LEADS = re.compile(r"(?i)(?::|\b(?:is|be|are|therefore|thus|hence|so),?) ?$")
#: The letter of an option before its text: "B. Zinc".
LABEL = re.compile(r"\b(?P<letter>\w)[).:] ?")
SEPARATOR = re.compile(r"[ .):\-'\"]{0,4}")


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

NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
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
BULLET = re.compile(r" ?(?:[->•+=]{1,2} ){0,3}")
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
