"""Patterns for the wording around any answer in a reply, and around a letter.

`value_patterns` has those around a decision, level or score. Each pattern has a bounded length, so
that the time is proportional to a reply's length, even for a million characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
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

# What a denial may be of that says who the patient is: "no insurance", "never-married".
_OF_PATIENT = (
    r"(?:[ -]|[ ](?:\w+[ ]){1,2})(?:married|smoked|afford|pay|speak|read|insurance|coverage|income"
    r"|degree|diploma|education|schooling|address|housing|home|job|partner|children|family|savings"
    r"|money|english)\b"
)
# Words that change the meaning of "the answer is C" if they come before it in the same clause.
HEDGE = re.compile(
    rf"""(?xi) \b(?:(?:not|never|cannot|no)\b(?!{_OF_PATIENT})
    |neither|nor|if|whether|unless|except|than|avoid|wrong|incorrect|contraindicated|inappropriate
    |unlikely|least|rule[sd]?\ out|why
    |thought|at\ first|initially|argue|tempting|might\ say|some\ (?:would|might|may)
    |(?:I|we|to)\ (?:(?:can|could|would|might)\ )?(?:eliminate|reject|dismiss))\b
    | n't\b(?!{_OF_PATIENT})
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
    r"(?i)second|third|altern|runner|backup|differential|distract|least|less|worst|wrong|incorrect"
    r"|not\b|reject|exclud|eliminat|initial|first|evidence|grade|class|type|group|category|stage"
    r"|vitamin|hepatitis"
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
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
BULLET = re.compile(r" ?(?:[->•+=]{1,2} ){0,3}")
