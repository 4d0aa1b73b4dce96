"""Words that reveal a demographic attribute, and their replacements in a neutral vignette."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic import Field

from fairstats._lib.installation import resource
from fairstats._lib.toml_files import Table, parse, read_toml
from fairstats.vignettes.rules.pronouns import PRONOUN, is_pronoun

#: Nouns for a person; before them, an adjective like "white" describes a person.
PERSON = (
    r"(?:patients?|persons?|people|individuals?|child(?:ren)?|infants?|newborns?|neonates?|bab(?:y|ies)"
    r"|toddlers?|adults?|adolescents?|teenagers?|students?|workers?|partners?|spouses?|siblings?"
    r"|friends?|famil(?:y|ies)|parents?|couple|population|drivers?|farmers?|smokers?|nurses?"
    r"|veterans?|immigrants?|refugees?|m[ae]n|wom[ae]n|males?|females?|boys?|girls?|lad(?:y|ies)"
    r"|gentlem[ae]n|guys?|mothers?|fathers?|husbands?|wi(?:fe|ves)|(?:girl|boy)friends?|sons?"
    r"|daughters?|brothers?|sisters?)\b"
)
#: A few more adjectives may come between: "a Black, otherwise healthy, 40-year-old patient".
_BETWEEN = (
    r"(?:,? (?!(?:blood|cells?|matter|and|or|with|to|the|a|an|in|on|of|for|by|from)\b)[\w-]+){0,3}?"
)
_BEFORE_PERSON = re.compile(rf"(?i){_BETWEEN},? {PERSON}(?! (?:cells?|chromatids?))")
_AND = re.compile(r"(?i)(?:,| and| or|, or|, and) ")
# These do not reveal a sex.
_PAIR = re.compile(r"(?i)(?:aunts?|nieces?) or (?:uncle|nephew)s?\b")
# "Daughter cells", "Sister Mary Joseph nodule": words of biology and names, not relatives.
_NO_RELATIVE = r"(?! (?:cells?|chrom\w+|nucle\w+|Mary|study)\b)"
#: An abbreviation in capitals is not one of these words: "MEN 2A", "MS".
_IN_CAPITALS = frozenset({"MEN", "SIR", "LAD", "MUM", "MOM", "SON", "SONS"})


@dataclass(frozen=True)
class Found:
    """A word that reveals an attribute, as written, with its position in the text."""

    start: int
    end: int
    word: str
    attribute: str


@dataclass(frozen=True)
class Words:
    """The words of one attribute; see ``data/vignettes/demographic_words.toml``."""

    attribute: str
    replace: dict[str, str]
    drop: re.Pattern[str] | None
    always: re.Pattern[str] | None
    mark: re.Pattern[str] | None


class _Words(Table):
    replace: dict[str, str] = Field(default_factory=dict)
    drop: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    mark: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def demographic_words() -> dict[str, Words]:
    """Return the words of every attribute, by its name."""
    path = resource("data", "vignettes", "demographic_words.toml")
    tables = parse(dict[str, _Words], read_toml(path), path, example="the other tables")
    return {
        name: Words(
            attribute=name,
            replace=_with_plurals(table.replace),
            drop=_pattern([*table.always, *table.drop]),
            always=_pattern(table.always),
            mark=_pattern(table.mark),
        )
        for name, table in tables.items()
    }


def _with_plurals(replace: dict[str, str]) -> dict[str, str]:
    plurals = {
        f"{word}s": "|".join(
            "children" if new == "child" else f"{new}s" for new in neutral.split("|")
        )
        for word, neutral in replace.items()
        if " or " not in neutral and not word.endswith(("s", "man", "woman", "men", "lady"))
    }
    return plurals | replace


def _pattern(words: Collection[str]) -> re.Pattern[str] | None:
    # The longest first: of "south asian" and "asian", the first match is used.
    ordered = "|".join(sorted(words, key=len, reverse=True))
    return re.compile(rf"(?i)(?<![\w-])(?:{ordered})(?!\w)") if words else None


def is_before_person(text: str, end: int) -> bool:
    """Return whether the adjective that ends here precedes a noun for a person.

    Examples
    --------
    >>> is_before_person("White blood cells", 5), is_before_person("Black or white patients", 5)
    (False, True)
    """
    if _BEFORE_PERSON.match(text, end):
        return True
    # "Black or Hispanic patients": the next adjective decides for both.
    joined = _AND.match(text, end)
    for table in demographic_words().values() if joined else ():
        if table.drop and joined and (word := table.drop.match(text, joined.end())):
            return is_before_person(text, word.end())
    return False


@lru_cache(maxsize=1)
def replaceable() -> re.Pattern[str]:
    """Return the pattern of any word with a neutral form: a relative, or a man or woman."""
    words = [word for table in demographic_words().values() for word in table.replace]
    ordered = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.compile(rf"(?i)(?<!\w)(?:{ordered})(?!\w)(?!-(?!in-law|year)){_NO_RELATIVE}")


def neutral_word(word: str) -> tuple[str, str, str] | None:
    """Return a word's attribute, its neutral form for the patient, and that for anybody else."""
    for table in demographic_words().values():
        if neutral := table.replace.get(word.lower()):
            patient, _, other = neutral.partition("|")
            return table.attribute, patient, other or patient
    return None


def is_abbreviation(word: str, text: str) -> bool:
    """Return whether this is an abbreviation in capitals spelt like a word: "MEN" in "MEN 2A"."""
    return word in _IN_CAPITALS and not text.isupper()


def left_over(text: str, attributes: Collection[str] | None = None) -> list[Found]:
    """Return every word and pronoun of a text that reveals a demographic attribute.

    They are in text order, of all attributes or of these.

    Examples
    --------
    >>> [(f.start, f.word, f.attribute) for f in left_over("A Hispanic patient lost her job.")]
    [(2, 'Hispanic', 'race'), (24, 'her', 'sex')]
    >>> left_over("White blood cells are normal; the bundle of His is intact; HER2 is positive.")
    []
    """
    found: dict[tuple[int, int], Found] = {}
    for one in _found(text):
        if attributes is None or one.attribute in attributes:
            found.setdefault((one.start, one.end), one)
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    # Report a word inside a longer match once: "homeless shelter" and "shelter".
    kept: list[Found] = []
    for one in ordered:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _found(text: str) -> Iterator[Found]:
    for pronoun in PRONOUN.finditer(text):
        if is_pronoun(pronoun, text):
            yield Found(*pronoun.span(), pronoun.group(), "sex")
    for title in TITLE.finditer(text):
        yield Found(*title.span(), title.group(), "sex")
    for noun in replaceable().finditer(text):
        known = neutral_word(noun.group())
        pair = any(p.start() <= noun.start() < p.end() for p in _PAIR.finditer(text))
        if known and not pair and not is_abbreviation(noun.group(), text):
            yield Found(*noun.span(), noun.group(), known[0])
    for table in demographic_words().values():
        for pattern in (table.always, table.mark):
            for word in pattern.finditer(text) if pattern else ():
                if not is_abbreviation(word.group(), text):
                    yield Found(*word.span(), word.group(), table.attribute)
        if table.drop:
            for word in table.drop.finditer(text):
                before = is_before_person(text, word.end())
                # "Male" and "female" reveal a sex in any position.
                if before or table.attribute == "sex":
                    yield Found(*word.span(), word.group(), table.attribute)


#: "Mr. Smith", but not "MS" or "MR".
TITLE = re.compile(r"\b(?:Mrs?|Ms|Miss)\b\.?(?= [A-Z])(?: [A-Z][\w-]*\.?)?")
