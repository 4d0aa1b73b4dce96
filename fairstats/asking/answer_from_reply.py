"""Read the chosen option from a model's reply, without guessing.

A reply is read by a few rules, the most explicit first. The first rule with a match decides: one
letter is the answer, and several letters are no answer. So a weaker rule never overrules or
completes a stronger one. If no rule matches, the reply stays unparsed. It is kept next to the null,
so that another parser can read it again.

A lower-case letter is an answer only if it cannot be a word: alone, in brackets or quotes, after
``option``, or before the text of its option. ``a`` is an article. Accepting only ``b`` to ``d`` in
more places would lose answers of one option more often, which would be a bias.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fairstats.asking.own_turn import is_short, own_turn, plain_text
from fairstats.asking.reply_patterns import (
    AFTER_LETTER,
    ANNOUNCED,
    BULLET,
    CLAUSE_START,
    COMBINED,
    COMPARISON,
    CONCLUDING,
    CONDITION,
    CONDITIONED,
    CUT_OFF,
    DENIAL,
    EXPLANATION,
    FIELD,
    FINAL,
    FOREIGN,
    FOREIGN_HEDGE,
    HEDGE,
    JOINED,
    LABEL,
    LATER_DENIAL,
    LEADS,
    LIMITED,
    NUMBER,
    OTHER_LABEL,
    OTHER_OPTION,
    REASON,
    RETRACTION,
    SENTENCE,
    SENTENCE_END,
    SEPARATOR,
    letter_patterns,
)
from fairstats.benchmarks.refusals import REFUSAL

Status = Literal["ok", "unparsed", "refused"]


@dataclass(frozen=True)
class ParsedAnswer:
    """The content of a reply.

    Parameters
    ----------
    letter : str or None
        The letter of the chosen option, or for other kinds of answers the option or number as it is
        stored; None if the reply names none, or several.
    status : {"ok", "unparsed", "refused"}
        ``ok`` exactly if there is a letter, option or number.
    """

    letter: str | None
    status: Status


# Words after which a reply that seems to refuse goes on to an answer.
_GOES_ON = re.compile(
    r"""(?xi) :$ | [^.]\ but\ (?!(?:I|we|as\ an)\b[^.]{0,30}(?:not|n't|unable)\b)
    | \b(?: while | although | though | however | nevertheless | nonetheless | yet | instead
    | that\ (?:being\ )?said | here\ is | here's | can\ (?:discuss|explain|share|analy[sz]e)
    | exam | exercise | educational | hypothetical )\b"""
)
UNPARSED, REFUSED = ParsedAnswer(None, "unparsed"), ParsedAnswer(None, "refused")


def parse_answer(raw: str | None, options: Mapping[str, str]) -> ParsedAnswer:
    r"""Read the chosen option from a reply.

    Returns
    -------
    ParsedAnswer
        ``ok`` with a letter of `options`; ``refused`` if the model declined to answer; ``unparsed``
        in all other cases.

    Notes
    -----
    The rules in their order: a final statement (``Answer: C``, ``\boxed{C}``, JSON); a sentence
    that names it (``the best answer is C``, ``option C is correct``, ``option C fits best``); a
    refusal that opens the reply; lines that are or begin with an option's letter (``C``, ``(C)
    text``); a refusal anywhere; an option named by its text. An option's text is no refusal, even
    if it is "I cannot help you". A reply that begins with a colon completes a prompt that ends in
    "Answer" and is read as such a statement. If no option's text is known, a letter in brackets
    after the named answer is read too ("The diagnosis is vitiligo (C)."). If texts are known, they
    have to agree with it.
    Each rule takes time proportional to the reply's length.

    Examples
    --------
    >>> options = {"A": "Aspirin", "B": "Heparin", "C": "Surgery", "D": "Observation"}
    >>> parse_answer("The best answer for a 54-year-old man is C.", options)
    ParsedAnswer(letter='C', status='ok')
    >>> parse_answer("A 54-year-old man has chest pain.", options)
    ParsedAnswer(letter=None, status='unparsed')
    >>> parse_answer("I'm sorry, but I can't give medical advice.", options).status
    'refused'
    """

    def answer_of(part: str) -> str | None:
        found = _parse(part, options)
        if found != _parse(part, dict.fromkeys(options, "")):
            # An option's text may come from a vignette that is repeated before the question.
            texts = {_bare(plain_text(words).casefold()) for words in options.values()}
            if _bare(plain_text(part).casefold()) not in texts:
                return "" if is_short(part) else None
        return said(found, part)

    return _parse(own_turn(raw or "", answer_of), options) or UNPARSED


def said(found: ParsedAnswer | None, part: str) -> str | None:
    """Return what a part of a reply says, for `own_turn`."""
    # "While I cannot give advice, I can discuss this case." goes on.
    goes_on = found == REFUSED and _GOES_ON.search(plain_text(part))
    if found is None or goes_on or (found == UNPARSED and not is_short(part)):
        return None
    return "" if found == UNPARSED else found.letter or found.status


def _parse(turn: str, options: Mapping[str, str]) -> ParsedAnswer | None:
    """Read a reply by the first rule with a match; None if there is none, or it is retracted."""
    text = plain_text(turn)
    if text.startswith(":"):
        # A completion model continues after the end of the prompt: "Answer" + ": C".
        text = f"Answer{text}"
    if not text or not options:
        return None
    reader = Reader(text, options)
    found = reader.final_statements() or reader.sentences()
    if found := found | reader.conclusions():
        found |= reader.last_line()
        return None if reader.retracted() else _decide(found)
    # Only its first sentence: "C. I cannot give medical advice, but ..." is an answer.
    # Who cannot give medical advice may still have an answer for an exam, in the last line.
    if reader.refuses(SENTENCE_END.split(text, maxsplit=1)[0]) and not reader.last_line():
        return REFUSED
    # If a reply is cut off just before its answer, it has no answer, whatever its beginning.
    if CUT_OFF.search(text, max(0, len(text) - 40)):
        return None
    if found := reader.lines():
        return None if reader.retracted() else _decide(found | reader.last_line())
    return REFUSED if reader.refuses(text) else _decide(reader.named())


def _decide(found: set[str]) -> ParsedAnswer | None:
    """Return one letter as the answer; several are a contradiction, or an echo of the options."""
    if len(found) > 1:
        return UNPARSED
    return ParsedAnswer(found.pop(), "ok") if found else None


def hedged(text: str, start: int, end: int, doubts: re.Pattern[str] | None = None) -> bool:
    """Return whether the clause of these words denies or doubts what follows."""
    before = text[max(0, start - 120) : start]
    if CONDITION.match(SENTENCE_END.split(before)[-1]):
        return True
    clause = CLAUSE_START.split(before)[-1] + text[start:end]
    return any(doubt.search(clause) for doubt in (HEDGE, doubts) if doubt)


#: Maximum distance of a list of letters or an option's text after a statement.
_REACH = 500
#: A longer line may discuss several options.
_SHORT_LINE = 60


class Reader:
    """Reads one reply by each rule.

    The text is from `fairstats.asking.own_turn.plain_text`; options are by capital letter.
    """

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        self.text = text
        # Longest first: "aspirin and heparin" is not a mention of "aspirin".
        folded = {letter: _folded(words) for letter, words in options.items()}
        self.texts = dict(sorted(folded.items(), key=lambda pair: -len(pair[1])))
        self.patterns = letter_patterns(tuple(options))
        #: Position of the last statement that was read.
        self.last = 0

    def final_statements(self) -> set[str]:
        """Return the letters of statements in the form that prompts ask for."""
        found = self._statements(FINAL, final=True)
        return found | self._statements(FOREIGN, final=True, doubts=FOREIGN_HEDGE)

    def conclusions(self) -> set[str]:
        """Return the letters of later statements under another label."""
        return self._statements(CONCLUDING, final=True, start=self.last)

    def sentences(self) -> set[str]:
        """Return the letters of sentences that name the answer."""
        found = self._statements(SENTENCE)
        for match in self.patterns.is_right.finditer(self.text):
            if not hedged(self.text, match.start(), match.end()):
                found.add(match["letter"])
                self._said_at(match.end())
        for match in self.patterns.contrast.finditer(self.text):
            found.add(match["letter"])
            self._said_at(match.end())
        found |= self._favoured()
        # Known texts are more informative: they confirm the letter or contradict it.
        return found if any(self.texts.values()) else found | self._asides()

    def _favoured(self) -> set[str]:
        """Return the options that fit best, and others that the same sentence does not rule out."""
        found: set[str] = set()
        for match in self.patterns.favoured.finditer(self.text):
            end = match.end()
            sentence = SENTENCE_END.split(self.text[end : end + _REACH], maxsplit=1)[0]
            rest = COMPARISON.split(sentence, maxsplit=1)[0]
            if sentence.endswith("?") or hedged(self.text, match.start(), end):
                continue
            if not any(doubt.search(rest) for doubt in (HEDGE, COMBINED, LIMITED)):
                found |= {
                    match["letter"],
                    *(o["letter"] for o in self.patterns.option.finditer(rest)),
                }
                self._said_at(end)
        return found

    def _asides(self) -> set[str]:
        """Return the letters after the phrases that sentences call the answer."""
        stated = (
            (match.start(), self.patterns.stated_aside.match(self.text, match.end()))
            for match in SENTENCE.finditer(self.text)
        )
        right = ((m.start(), m) for m in self.patterns.right_aside.finditer(self.text))
        found: set[str] = set()
        for start, aside in (*stated, *right):
            if aside is None or hedged(self.text, start, aside.start("phrase")):
                continue
            if any(p.search(aside["phrase"]) for p in (HEDGE, COMBINED, OTHER_OPTION)):
                continue
            found.add(aside["letter"])
            self._said_at(aside.end())
        return found

    def retracted(self) -> bool:
        """Return whether the reply later retracts the last statement that was read."""
        return RETRACTION.search(self.text, self.last) is not None

    def refuses(self, text: str) -> bool:
        """Return whether part of the reply declines to answer, in other words than an option's."""
        rest = text.casefold()
        for words in self.texts.values():
            # "I cannot help with this" may be a physician's words that the reply chooses.
            if REFUSAL.search(words):
                rest = rest.replace(_bare(words), "")
        return REFUSAL.search(rest) is not None

    def lines(self) -> set[str]:
        """Return letters at the beginning of lines, and those of options echoed within a line."""
        found: set[str] = set()
        answers, denied = False, set(self.patterns.marked.findall(self.text))
        last = self.last_line()
        # An explanation after the answer discusses the other options.
        below = EXPLANATION.search(self.text, 1)
        end = below.start() if below else len(self.text)
        # Below "Let us look at each option:", letters begin what is said of an option.
        listed = ANNOUNCED.search(self.text, 0, end)
        end = listed.start() if listed else end
        for match in self.patterns.line.finditer(self.text, 0, end):
            if letters := self._letters(match):
                found |= letters | self._second(match["letter"], match.end())
                self._said_at(match.end())
                start = match.start()
                led = LEADS.search(self.text, max(0, start - 30), max(0, start - 1))
                answers |= start == 0 or led is not None or last == letters
            elif self._taken_back(match["letter"], match.end()):
                denied.add(match["letter"])
        if found:
            for match in self.patterns.inline.finditer(self.text, 0, end):
                found |= {match["letter"]} if self._stands(match["letter"], match.end()) else set()
            labels = LABEL.finditer(self.text, 0, end)
            found |= {label["letter"] for label in labels if self._is_echo(label, end)}
        # Any other line may begin what is said of an option, if it does not rule out all others.
        found = found if answers or found | denied == self.texts.keys() else set()
        return found or self._small_letters(0, final=True, whole=True)

    def _second(self, letter: str, position: int) -> set[str]:
        """Return other letters after one, or after its option's text, in a short line."""
        position = self._after(SEPARATOR, self._after_own(letter, position))
        rest = self.text[position : position + _REACH].partition("\n")[0]
        if len(rest) > _SHORT_LINE or REASON.search(rest):
            return set()
        return {
            other["letter"]
            for other in self.patterns.second.finditer(rest)
            if not self._taken_back(other["letter"], position + other.end())
            and not hedged(rest, other.start(), other.end())
        }

    def last_line(self) -> set[str]:
        """Return the option that the last line is, perhaps with a label, and nothing else."""
        start = self.text.rfind("\n") + 1
        named = FIELD.match(self.text, start)
        if named and not OTHER_LABEL.search(named[0]) and not hedged(self.text, start, named.end()):
            start = named.end()
        elif self._is_listed(start):
            return set()
        start = self._after(BULLET, start)
        line = self.patterns.label.match(self.text, start)
        if line is None:
            own = _bare(self.text[start:].casefold())
            return {letter for letter, words in self.texts.items() if words and words == own}
        rest = self.text[self._after(SEPARATOR, line.end()) :].casefold()
        rest = _bare(rest).strip("]})")
        return {line["letter"]} if rest in ("", self.texts[line["letter"]]) else set()

    def _is_listed(self, start: int) -> bool:
        """Return whether the line that starts here is in a list of options, or of rejected ones."""
        end = max(0, start - 1)
        before = self.text[self.text.rfind("\n", 0, end) + 1 : end]
        if before.endswith(":"):
            rejected = len(before) <= _SHORT_LINE and OTHER_LABEL.search(before)
            return bool(rejected or ANNOUNCED.search(before))
        before = BULLET.sub("", before, count=1)
        label = self.patterns.label.match(before)
        named = bool(before) and _bare(before.casefold()) in self.texts.values()
        return named or (label is not None and before[label.end() : label.end() + 1] in ").:]")

    def _is_echo(self, label: re.Match[str], end: int) -> bool:
        """Return whether an option's text follows its letter before `end`: "B. Zinc"."""
        letter = label["letter"]
        return (
            letter in self.texts
            and self._is_own(letter, label.end())
            and label.end() + len(self.texts[letter]) <= end
        )

    def named(self) -> set[str]:
        """Return the option whose text the reply names, if it names only one and ends with it.

        The text alone is weak evidence: it may come from the vignette, or from an option ruled out.
        So it must be in the last sentence, whole and without a negation, or be a separate sentence.
        """
        found = self._named_in(self.text)
        # "Heparin (B)": a letter next to the text confirms or contradicts it.
        found |= {match["letter"] for match in self.patterns.aside.finditer(self.text)}
        sentences = [s for s in SENTENCE_END.split(self.patterns.aside.sub("", self.text)) if s]
        words = self.texts[min(found)] if len(found) == 1 else ""
        for sentence in sentences if words else ():
            before = self.patterns.labelled.search(sentence.casefold().partition(words)[0])
            if before and before["letter"].upper() not in found:
                return set()
            bare = _bare(sentence.casefold())
            # "He has pain 4" names no level.
            if JOINED.match(sentence.casefold().partition(words)[2]) or (
                NUMBER.fullmatch(words) and bare != words
            ):
                continue
            ends = sentence is sentences[-1] and (sentence[-1] in ".!" or bare.endswith(words))
            around = sentence.casefold().replace(words, "")
            doubted = HEDGE.search(sentence) or COMBINED.search(around)
            if bare == _bare(words) or (ends and self._named_in(sentence) and not doubted):
                return found
        return set()

    def _statements(
        self,
        cue: re.Pattern[str],
        *,
        final: bool = False,
        doubts: re.Pattern[str] | None = None,
        start: int = 0,
    ) -> set[str]:
        found: set[str] = set()
        for match in cue.finditer(self.text, start):
            if hedged(self.text, match.start(), match.end(), doubts):
                continue
            # "a" may also be an article in other languages: "A resposta é a".
            asked = final and (doubts is None or ":" in match[0] or "=" in match[0])
            if letters := self._choice(match.end(), final=asked):
                self._said_at(match.end())
                found |= letters
        return found

    def _said_at(self, position: int) -> None:
        self.last = max(self.last, position)

    def _choice(self, position: int, *, final: bool) -> set[str]:
        """Return the options that a statement names at `position`, by letter or by text."""
        if self.text.startswith("[", position):
            listed = self.text[position : position + _REACH].partition("]")[0]
            if letters := set(self.patterns.listed.findall(listed)):
                return letters
        label = self.patterns.label.match(self.text, position)
        if label and (letters := self._letters(label)):
            return letters
        if letters := self._small_letters(position, final=final):
            return letters
        rest = SENTENCE_END.split(self.text[position : position + _REACH], maxsplit=1)[0]
        opening = re.sub(r"""^(?:the |an? )?["'({]{0,2}""", "", rest.casefold())
        words = next(
            (words for words in self.texts.values() if words and opening.startswith(words)), ""
        )
        if words and not JOINED.match(opening, len(words)):
            # "Heparin, because aspirin is too weak" chooses heparin; "heparin (A)" may not.
            named = REASON.split(rest, maxsplit=1)[0]
            asides = {match["letter"] for match in self.patterns.aside.finditer(named)}
            return self._named_in(named) | asides
        return set()

    def _small_letters(self, position: int, *, final: bool, whole: bool = False) -> set[str]:
        """Return a lower-case letter at `position` that cannot be a word, and those joined to it.

        With `final`, the line may end with it. Without, the sentence has to end, since "the answer
        is a" may have been cut off. With `whole`, the reply must contain nothing else.
        """
        match = self.patterns.small.match(self.text, position)
        if not match:
            return set()
        letter, end = match["letter"].upper(), match.end()
        own = self.texts[letter]
        rest = self.text[end : end + len(own) + 5]
        labelled = re.match(r" ?[).:\-] ?", match["close"] + rest)
        before_own = bool(own and labelled and rest.lstrip(" ).:-").casefold().startswith(own))
        if whole:
            told = self.text[end:].strip(" ).:-!").casefold()
            return {letter} if not told or (before_own and told.strip(" .") == own) else set()
        stands = (
            (match["open"] and match["close"])
            or before_own
            or (match["word"] and AFTER_LETTER.match(self.text, end))
            or re.match(r" ?[.!)]? ?(?:\n|<|$)" if final else r"[.!)](?:[ \n]|$)", rest)
        )
        if not stands:
            return set()
        found = {letter}
        while further := self.patterns.small_further.match(self.text, end):
            found.add(further["letter"].upper())
            end = further.end()
        return found

    def _letters(self, match: re.Match[str]) -> set[str]:
        """Return the letters that are answers at `match`; empty if the letter begins a phrase."""
        letter, end = match["letter"], match.end()
        # "C. difficile" may be the text of option B.
        at_letter = self._option_at(match.start("letter"))
        if at_letter and len(self.texts[at_letter]) > 2:
            return {at_letter}
        joined = list(self._joined(end))
        # In "A, B or C", only C is followed by the end of an answer; in "A, B cells", not even B.
        while joined and not self._stands(joined[-1]["letter"], joined[-1].end()):
            joined.pop()
        found = {letter, *(further["letter"] for further in joined)}
        if len(found) > 1:
            return found
        end = joined[-1].end() if joined else end
        if not self._stands(letter, end) or self._taken_back(letter, end):
            return set()
        line = self.text[end : end + _REACH].partition("\n")[0]
        # "A (5%), B (85%)" gives probabilities.
        if self.patterns.likely.match(self.text, match.start("letter")):
            found |= {likely["letter"] for likely in self.patterns.likely.finditer(line)}
        # "A: B" may be "Answer: B".
        other, own = self.patterns.short.match(line), self.texts[letter]
        is_own = own and line.lstrip(":= ").casefold().startswith(own)
        after = (AFTER_LETTER, self.patterns.further)
        if other and not is_own and any(part.match(line, other.end()) for part in after):
            found.add(other["letter"])
        # A letter before another option's text contradicts itself.
        beside = self._option_at(self._after(SEPARATOR, end))
        if beside is None or self.texts[beside] == self.texts[letter]:
            return found
        return found | {beside}

    def _joined(self, end: int) -> Iterator[re.Match[str]]:
        """Yield the letters that a statement joins to the one that ends at `end`."""
        while further := self.patterns.further.match(self.text, end):
            yield further
            end = further.end()

    def _stands(self, letter: str, end: int) -> bool:
        """Return whether the letter ending at `end` is an answer, not the beginning of a phrase."""
        own = self.texts[letter]
        follows = self.text[end : end + len(own) + 5].lstrip(" .):-").casefold()
        return bool(AFTER_LETTER.match(self.text, end) or (own and follows.startswith(own)))

    def _taken_back(self, letter: str, end: int) -> bool:
        """Return whether the words after a letter, or after its option's text, deny it."""
        # '{"A": 0.1, "B": 0.9}' names options and chooses none.
        if re.match(r"""["'] ?:""", self.text[end : end + 3]):
            return True
        end = self._after_own(letter, end)
        return any(words.match(self.text, end) for words in (DENIAL, CONDITIONED, LATER_DENIAL))

    def _after_own(self, letter: str, end: int) -> int:
        """Return the end of an option's text after its letter; that of the letter without it."""
        after = self._after(SEPARATOR, end)
        return after + len(self.texts[letter]) if self._is_own(letter, after) else end

    def _after(self, signs: re.Pattern[str], position: int) -> int:
        """Return the end of signs at `position`, of which there may be none."""
        match = signs.match(self.text, position)
        return match.end() if match else position

    def _is_own(self, letter: str, position: int) -> bool:
        """Return whether the option's own text is at `position`."""
        words = self.texts[letter]
        return bool(words) and self.text[position : position + len(words)].casefold() == words

    def _option_at(self, position: int) -> str | None:
        """Return the option with its text at `position`, the longest if there are several."""
        return next((letter for letter in self.texts if self._is_own(letter, position)), None)

    def _named_in(self, text: str) -> set[str]:
        """Return the options with their whole text in `text`."""
        text = " ".join(text.casefold().split())
        found = set()
        for letter, words in self.texts.items():
            # Not within a longer word or number: "5 mg" is not in "2.5 mg".
            whole = rf"(?<![\w-])(?<!\d\.){re.escape(words)}(?![\w-])(?!\.\d)"
            if words and words in text:  # compiling a pattern takes longer than the rest
                text, times = re.subn(whole, "\0", text)
                found |= {letter} if times else set()
        return found


@lru_cache(maxsize=1024)
def _folded(words: str) -> str:
    """Return an option's text in the form of a reply: with the same quotes and spelling."""
    return " ".join(plain_text(words).casefold().split())


def _bare(text: str) -> str:
    """Return the text without quotes, brackets and punctuation around it."""
    return text.strip(" .,:;!\"'()")
