"""The model's own turn in a reply: without markup, thinking and questions that it made up.

Each pattern has a bounded length, so that the time is proportional to a reply's length.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from fairstats.benchmarks.refusals import REFUSAL

# Emphasis, headings, code and check marks carry no meaning here. Typographic signs, full-width
# letters and letters in circles are read like plain ones. Letters of other alphabets are not: a
# Cyrillic В looks like B but is the third letter of its alphabet.
_SIGNS = str.maketrans(
    dict.fromkeys("*`#$✅✔☑👉🏻\ufe0f\u200b\u200c\u200d\u2060\ufeff", "")
    | {"_": " ", "\r": "\n", "：": ":", "，": ",", "、": ",", "；": ";", "。": ". ", "।": ". "}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "→": "->", "⇒": "=>"}
    | dict(zip("（）［］【】「」『』《》", '()[][]""""<>', strict=True))
    | {chr(0xFF21 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
    | {chr(0x24B6 + place): letter for place, letter in enumerate(string.ascii_uppercase)}
)

# "<b>C</b>" is a bold C and not a B. Tags around an answer, such as <answer>, are not removed.
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|br|em|strong|mark|span|div|code|pre|ul|ol|li|h[1-6])\b[^<>\n]{0,99}>"
)

# What a page does not show, or strikes out.
_HIDDEN = re.compile(
    r"(?si)<!--.{0,9999}?-->|<(?P<struck>del|strike)>[^<]{0,999}</(?P=struck)>"
    r"|(?m:^)\[//\]: #[^\n]{0,9999}"
)

# The end of a part of a reply, such as a reasoning that no name above is of.
_PART_END = re.compile(
    r"</(?!s>)\s?[\w: -]{1,40}>|\[/[A-Za-z_ ]{2,30}\]|<\|?/?[A-Za-z_]{1,30}(?:\d{1,3}|\|)>"
)
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THINKING = re.compile(
    rf"""(?xi) (?P<end> </(?:{_NAMES})> | \[/THINK\] | ◁/think▷
      | <\|channel\|>final<\|message\|> | assistantfinal )
    | <(?:{_NAMES})> | \[THINK\] | ◁think▷ | <\|channel\|>(?:analysis|commentary)"""
)

# Tokens of chat formats. The header of the model's own turn, and a beginning of text, end nothing.
_OWN_TURN = r"""
    (?: <\|(?:im_start|start_header_id|start)\|> | <start_of_turn>)\s*(?:assistant|model)\b
    | <[|｜]assistant[|｜]>"""
_HEADER = re.compile(
    rf"(?xi) \s* (?:<s>(?=\s*\[INST\]) | <bos> | <\|begin_of_text\|>)? \s* (?:{_OWN_TURN})?"
)
_TURN_TOKEN = re.compile(
    rf"""(?xi) <s>[^\n]{{0,99}}</s>  # crossed out
    | (?P<end> (?: <\|(?:im_end|eot_id|eom_id|eot|end|return|endoftext|end_of_text|end_of_turn
      |end_of_turn_token)\|> | </s> | <eos> | <end_of_turn> | <[|｜]end[▁_]of[▁_]sentence[|｜]>
      )(?!\s{{0,9}}(?:{_OWN_TURN}))
    | (?!{_OWN_TURN})(?: <\|(?:im_start|start_header_id)\|> | <start_of_turn> | \[INST\]
      | <[|｜](?:user|system)[|｜]> ))"""
)
# A line that begins another's turn, a question or a case, or separates examples.
_NEXT_TURN = re.compile(
    r"""(?xim) ^[^\w\n]{0,9} (?: user | human | instructions? | (?:next\ |new\ |user\ )?question | q
      | case | vignette | scenario | problem | exercise | example | patient
      | Frage | Fall | Benutzer | Pregunta | Caso | Usuario | Pergunta | Domanda | Utente | Cas
      | Utilisateur | Вопрос | Пользователь | 问题 | 用户 | 問題 | 질문 )
      \ ?\d{0,4} [*_ ]{0,3} (?: [:：] | [*_\s]{0,9}$ )
    | ^[ ]?\#{3,9}\s{0,9}$"""
)
# Who checks an answer may ask questions, and then correct it.
_CORRECTED = re.compile(
    r"(?i)\b(?:revised|corrected|updated|changed|new)\s+(?:answer|choice|option|score|level|decision)"
    r"[*_ ]*(?::|is\b)"
)
_FINAL = re.compile(r"(?i)\bfinal\b")
# A label of an option, or of a level, perhaps with a word before it.
_LISTED = re.compile(r"\s*(\W{0,5}(?:[^\W\d_]{2,20} )?)([A-Z]|\d{1,3})\b")
# Words in bold may be a heading.
_HEADING = re.compile(r"\s*(?:#|\*\*)\W*[^\W\d_]{2}")
# A longer line can be a vignette.
_SHORT = 100
# A line with nothing but an answer: it has few words, or begins with an option's letter.
_BARE = re.compile(r"[^\w\n]{0,4}[A-Z][^\w\s]{1,4}[^\n]*|[^\s,]+(?:[^\S\n]+[^\s,]+){0,3}")


def own_turn(raw: str, answer_of: Callable[[str], str | None]) -> str:
    r"""Return the reply after its thinking, and without what follows the model's own turn.

    Base models run on into a next question, which they make up, and tokens of chat formats may be
    left in a reply. A token that ends the turn, or begins another's, ends the reply, unless the
    reply begins with it: then it holds its prompt. The first line that begins with a name such as
    ``User:``, ``Question:`` or ``Case:``, or is ``###``, ends the reply only after a single line of
    few words, or of an option, with an answer, or after a single line that refuses. A heading, a
    question, or the first of several options that are discussed is none. So a reply that repeats
    the question first, reasons with questions, or corrects its answer stays whole. If such a line
    follows more text with an answer, and the whole has another one, it is open whose that is:
    nothing is returned.

    `answer_of` reads a part of the reply. It returns None if there is no answer, and an empty text
    if there is one that it cannot tell, such as two letters: then nothing is returned either.

    Examples
    --------
    >>> last = lambda part: part.strip()[-1:]
    >>> own_turn("C\nQuestion: Which drug?\nAnswer: A", last)
    'C\n'
    >>> own_turn("It is the drug that I would choose: C\nQuestion: Which drug?\nAnswer: A", last)
    ''
    >>> own_turn("It depends.<|im_end|>\nAnswer: A", last)
    'It depends.'
    """
    text = without_thinking(raw)
    header = _HEADER.match(text)
    begin = header.end() if header else 0
    end = next((m.start() for m in _TURN_TOKEN.finditer(text, begin) if m["end"]), len(text))
    if text[begin:end].strip():
        text = text[:end]
    line = _NEXT_TURN.search(text)
    if line is None or _CORRECTED.search(text, line.start()):
        return text
    before, after = text[: line.start()], text[line.end() :]
    is_heading = before.rstrip(" *_\n").endswith((":", "?")) or _is_listed(before, after)
    own = None if is_heading else answer_of(before)
    if not own:
        return text if own is None else ""
    # Who asks a question to check an answer may have another one in the end.
    if line[0].strip(" #\n") and _FINAL.search(after) and not _FINAL.search(before):
        return text if answer_of(text) == own else ""
    refuses = is_short(before) and REFUSAL.search(plain_text(before))
    if not _HEADING.match(before) and (refuses or _BARE.fullmatch(before.strip())):
        return before
    return text if answer_of(text) in (own, None) else ""


def _is_listed(before: str, after: str) -> bool:
    """Return whether a line begins a discussion of options: a later one comes before its own."""
    first = _LISTED.match(before)
    if first is None or len(before.strip()) < 3:
        return False
    lead, label = first.groups()
    kind = r"\d{1,3}" if label.isdigit() else "[A-Z]"
    found = re.search(rf"(?m)^[^\S\n]{{0,9}}{re.escape(lead)}({kind})\b", after)
    return found is not None and (len(found[1]), found[1]) > (len(label), label)


def before_next_turn(raw: str) -> str:
    """Return what comes before a line that may begin a made-up question; empty without one."""
    text = without_thinking(raw)
    line = _NEXT_TURN.search(text)
    return text[: line.start()].strip() if line else ""


def is_short(part: str) -> bool:
    """Return whether a part of a reply is a single line, too short to be a vignette."""
    line = part.strip()
    return 0 < len(line) <= _SHORT and "\n" not in line


def plain_text(raw: str) -> str:
    r"""Return the reply in the form used by the rules; empty if it was cut off during the thinking.

    Examples
    --------
    >>> plain_text("<think>Is it A?</think>**Answer:**  C")
    'Answer: C'
    """
    shown = _HIDDEN.sub("", without_thinking(raw))
    text = _PART_END.sub("\n", _TAG.sub("", shown)).translate(_SIGNS)
    text = re.sub(r"\\(?:text(?:bf|rm)?|mathrm|mathbf)\{", "{", text)
    # One spelling, in a reply as in an option's text.
    text = re.sub(r"(?i)\b(can) not\b", r"\1not", text)
    # Short runs of white space stop every pattern from searching far.
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n[ \n]*", "\n", text).strip()


def without_thinking(raw: str) -> str:
    """Return the reply after its thinking part; empty if it was cut off within that part."""
    kept: list[str] = []
    begin, thinking = 0, False
    for mark in _THINKING.finditer(raw):
        if not thinking:
            kept.append(raw[begin : mark.start()])
        if mark["end"] and not thinking:
            kept.clear()  # The opening mark was in the prompt.
        begin, thinking = mark.end(), not mark["end"]
    if not thinking:
        kept.append(raw[begin:])
    return "\n".join(kept)
