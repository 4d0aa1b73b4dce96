"""The drugs and findings of a vignette; findings are content words, affirmed or negated."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from fairstats._lib.installation import resource
from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.words_and_sentences import sentences, word_list

# Endings of generic names. Only endings that no other vignette word has: "-tide" is also in
# peptide, and "-cept" in concept. Other words with these endings are in `_NO_DRUGS`.
_ENDINGS = word_list(
    "olol alol pril sartan dipine statin fibrate semide thiazide gliptin gliflozin "
    "glitazone glutide glinide natide reotide cillin penem bactam oxacin floxacin mycin "
    "micin kacin cycline conazole nidazole bendazole fungin navir tegravir ciclovir "
    "cyclovir gravir buvir previr asvir amivir vudine quine prazole tidine setron triptan "
    "caine azepam azolam barbital oxetine triptyline pramine zosin lukast dronate dogrel "
    "xaban gatran parin teplase platin rubicin taxel tinib rafenib ciclib zomib tecan limus "
    "mab nercept tacept bercept curonium curium fentanil fentanyl codone morphone methasone "
    "cortisone predniso(?:lo)?ne metasone nisolide cinolone terol tropium phylline profen "
    "oxicam coxib afil steride peridol perazine promazine apine piprazole peridone "
    "lurasidone tropin(?:e)? grastim poetin racetam gabalin glycopyrrolate"
)
_STEM = re.compile(rf"(?:cef|ceph)[a-z]{{4,}}|[a-z]{{2,}}(?:{'|'.join(_ENDINGS)})")
# Hormones, substances measured or produced, and other words with drug-like endings.
_NO_DRUGS = re.compile(
    r".*sterol|april|cephal.*|somatostatin|follistatin|angiostatin|nystatin|atropine?|somatotropin|"
    r"(?:gonado|cortico|thyro|lacto|melano|adrenocortico|muco)tropin|vagal.*|cystatin|"
    r"(?:cyto|thymi|uri)dine|histidine"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W_]+)*")


def drugs(text: str) -> dict[str, str]:
    """Return the drugs and classes of drugs named in a text.

    Each is in the singular and in lower case, with its first written form. The longest name is
    used: "loop diuretic", not "diuretic".

    Notes
    -----
    Names come from ``data/vignettes/drugs.txt``, and from the stems of international nonproprietary
    names. Brand names are not recognised. Whether the patient takes the drug is not determined.

    References
    ----------
    World Health Organization (2018), The use of stems in the selection of International
    Nonproprietary Names (INN) for pharmaceutical substances.

    Examples
    --------
    >>> drugs("They take metoprolol and ACE inhibitors, no beta blocker.")
    {'metoprolol': 'metoprolol', 'ace inhibitor': 'ACE inhibitors', 'beta blocker': 'beta blocker'}
    """
    plain = spelled_alike(text)
    matches = list(_WORD.finditer(plain))
    words = [match.group().casefold() for match in matches]
    found: dict[str, str] = {}
    place = 0
    while place < len(words):
        word = words[place]
        step = 1
        for name, parts in _beginning_with(word):
            following = words[place : place + len(parts)]
            if len(following) == len(parts) and all(
                part in (w, _singular(w)) for part, w in zip(parts, following, strict=True)
            ):
                step = len(parts)
                start, end = matches[place].start(), matches[place + step - 1].end()
                found.setdefault(_one_spelling(name), plain[start:end])
                break
        else:
            for single, part in _stemmed(word):
                found.setdefault(single, part)
        place += step
    return found


@cache
def _stemmed(word: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a word that have a stem of generic names: in the singular, and as is."""
    parts = [(_singular(part), part) for part in word.split("-")]
    return tuple(
        (single, part)
        for single, part in parts
        if _STEM.fullmatch(single) and not _NO_DRUGS.fullmatch(single)
    )


def _one_spelling(name: str) -> str:
    return name.replace("-", " ").replace("β", "beta")


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@cache
def _beginning_with(word: str) -> tuple[tuple[str, list[str]], ...]:
    """Return the names that begin with a word, and their words."""
    by_first = _drugs_by_first_word()
    names = by_first.get(_singular(word), by_first.get(word, []))
    return tuple((name, name.split()) for name in names)


@cache
def _drugs_by_first_word() -> dict[str, list[str]]:
    """Return the names of the list by their first word, the longest first."""
    by_first = defaultdict(list)
    for line in _lines("drugs.txt"):
        by_first[line.split()[0]].append(line)
    return {
        first: sorted(names, key=lambda name: -len(name.split()))
        for first, names in by_first.items()
    }


_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?[\d]*|[,;:.]")
# Words that negate the words after them, or before them.
_NEGATES = re.compile(
    r"no|not|without|denie[sd]|deny|denying|never|nor|neither|none|cannot|absence|lacks?|lacking|"
    r"unable|inability|insignificant|zero|.+n't"
)
_NEGATES_A_VERB = re.compile(r"not|never|cannot|unable|inability|.+n't")
_NEGATED_BEFORE = frozenset(["absent", "negative", "denied"])
# Words that end a negation, once a content word has been negated.
_ENDS = frozenset(
    word_list(
        "but however although though except besides which who because since while whereas yet "
        "despite after before until when if so then apart other than also positive has have had "
        "is are was were shows showed reveals revealed presents presented reports reported "
        "takes works worked begins began complains complained claims prefers aside beyond due "
        "normal intact alert oriented report requests he she they"
    )
)
# The same after a comma.
_NEW = frozenset(word_list("with his her the a an their there"))
_VERBS = frozenset(word_list("has have had is are was were shows showed reveals revealed"))
# Words between "not" and the word that it negates.
_NON = re.compile(r"\b([Nn]on)-(?=[^\W\d_])")
_OF_WHAT = frozenset(
    word_list("on in of to at from for during about that by as like with into over")
)
_NEGATES_LISTS = frozenset(word_list("denies denied deny denying absence negative absent"))
_LIGHT = frozenset(
    word_list(
        "do does did have has had been be is are was were to of any the a an in for her his their"
    )
)
_PRESENT = frozenset(
    word_list("present seen noted observed found detected appreciated identified palpable")
)
_BREAKS = frozenset(";:.")


@dataclass(frozen=True)
class Finding:
    """A content word of a vignette; it can be both affirmed and negated."""

    stem: str
    text: str
    affirmed: bool
    negated: bool


def findings(text: str, named: Mapping[str, str] | None = None) -> dict[str, Finding]:
    """Return the findings of a text by their stem.

    These are content words, except common and narrative ones (``stop_words.txt`` and
    ``narrative_words.txt`` in ``data/vignettes``), drugs and numbers.

    Notes
    -----
    A word is negated from "no", "not", "without", "denies", "absence of" and similar words to the
    end of the clause. In a list, this continues over commas: "no fever, chills, or cough" negates
    three words. If "absent" or "negative" follows, the words before it are negated too. "Nontender"
    is "tender", negated. Words added by a preposition are undetermined ("no rash on the trunk").
    The approach is that of NegEx with fewer phrases; possible and hypothetical findings count as
    affirmed.

    References
    ----------
    Chapman, Bridewell, Hanbury, Cooper & Buchanan (2001), J Biomed Inform 34:301-310 (NegEx).
    Porter (1980), Program 14:130-137 (stems).

    Examples
    --------
    >>> found = findings("A cough without fever, chills, or rash. The abdomen is nontender.")
    >>> [f.text for f in found.values() if f.affirmed]
    ['cough', 'abdomen']
    >>> [f.text for f in found.values() if f.negated]
    ['fever', 'chills', 'rash', 'nontender']
    """
    plain = spelled_alike(text)
    named = drugs(plain) if named is None else named
    of_drugs = {word for name in named.values() for word in re.findall(r"[^\W\d_]+", name.lower())}
    found: dict[str, Finding] = {}
    for sentence in sentences(plain):
        for word, stem, negated in _words(sentence):
            if word.lower() in of_drugs:
                continue
            seen = found.get(stem)
            found[stem] = Finding(
                stem,
                seen.text if seen else word,
                (seen.affirmed if seen else False) or not negated,
                (seen.negated if seen else False) or negated is not False,
            )
    return found


def same_finding(stem: str, others: Mapping[str, Finding]) -> Finding | None:
    """Return the finding that matches a stem among others, in another form or by a synonym.

    Two forms match if one is a prefix of the other with at least 4 letters: "worsen" and "worse".
    Synonyms are the lines of ``data/vignettes/synonyms.txt``.
    """
    alike = [others[stem]] if stem in others else []
    if not alike and len(stem) >= 4:
        first = stem[:4]
        alike = [
            other
            for key, other in others.items()
            if key.startswith(first)
            and len(key) >= 4
            and (key.startswith(stem) or stem.startswith(key) or _common(key, stem) >= 6)
        ]
    if not alike:
        alike = [others[key] for key in _synonyms().get(stem, ()) if key in others]
    if not alike:
        return None
    return Finding(
        stem,
        alike[0].text,
        any(other.affirmed for other in alike),
        any(other.negated for other in alike),
    )


def _common(one: str, other: str) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def _words(sentence: str) -> list[tuple[str, str, bool | None]]:
    """Return a sentence's content words, with stem and whether negated (None: undetermined)."""
    found: list[tuple[str, str, bool | None]] = []
    # The first word after the last comma or "and"; the first word that the trigger negates.
    piece = scope = 0
    trigger = before = ""  # The current negation, and the previous word.
    # Whether it does not determine what follows; has negated a word; ends at a comma; joins by
    # "or".
    vague = covered = listed = ored = False
    tokens = _TOKEN.findall(_NON.sub(r"\1", sentence))
    for place, token in enumerate(tokens):
        lower = token.lower()
        behind = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
        if lower in _BREAKS:
            trigger = ""
            piece = piece if lower == ":" else len(found)  # "Cocaine: negative"
        elif lower == ",":
            if listed or (trigger and not _goes_on(trigger, tokens[place + 1 :])):
                trigger = ""
            piece = len(found)
        elif _negates(lower) or (
            # "Negative for", "negative results for", "unremarkable for", "rather than"
            (lower in _NEGATED_BEFORE and {"for", "of"} & set(tokens[place + 1 : place + 3]))
            or (lower, behind) in {("unremarkable", "for"), ("rather", "than")}
        ):
            trigger, scope, covered, listed, ored = lower, len(found), False, False, False
        elif lower in _NEGATED_BEFORE or (before == "not" and lower in _PRESENT):
            if len(found) > piece:  # "fever is absent"
                found[piece:] = [(word, stem, True) for word, stem, _ in found[piece:]]
                trigger = ""
            else:  # "negative culture"
                trigger, scope, covered, listed, ored = lower, len(found), False, True, False
        elif lower == "and":
            # "Does not smoke and drinks wine", but "denies fever and chills".
            if _NEGATES_A_VERB.fullmatch(trigger):
                trigger = ""
            listed, piece = covered, len(found)
        elif lower in {"or", "nor"}:
            listed = ored = covered
        elif lower in {"longer", "same"}:
            vague = bool(trigger)  # "no longer", "not the same"
        elif trigger and covered and (lower in _ENDS or (before == "," and lower in _NEW)):
            if lower in _VERBS and piece > scope and not ored:
                # "No fever, the abdomen is soft": the abdomen is not denied.
                found[piece:] = [
                    (w, stem, w.lower().startswith("non")) for w, stem, _ in found[piece:]
                ]
            trigger = ""
        elif lower in _OF_WHAT and (len(found) > scope or (covered and lower != "of")):
            vague = True  # "no rash on the trunk" denies no trunk
        elif lower == "only":
            trigger = ""  # "not only"
        if lower in {",", "or", "nor"} or trigger == lower:
            vague = False
        if (stem := _content(lower)) is not None:
            own, stem = _negative_form(stem)
            found.append((token, stem, own or (bool(trigger) and (None if vague else True))))
        covered = covered or (bool(trigger) and lower != trigger and lower not in _LIGHT)
        before = lower
    return found


@cache
def _negates(word: str) -> bool:
    return _NEGATES.fullmatch(word) is not None


def _goes_on(trigger: str, behind: list[str]) -> bool:
    """Return whether a negation continues after a comma, as in a list that ends with "or".

    "No illness, exercises, and eats well" has none; "denies fever, cough, and rash" needs none.
    """
    joins = {"or", "nor"} | ({"and"} if trigger in _NEGATES_LISTS else set())
    for token in behind:
        if token in _BREAKS or _negates(token.lower()):
            return False
        if token.lower() in joins:
            return True
    return False


def _negative_form(stem: str) -> tuple[bool, str]:
    """Return whether a word itself means that something is absent, and what."""
    if stem in _OPPOSITES:
        return True, _OPPOSITES[stem]
    if stem.startswith("non") and len(stem) >= 7:
        return True, _stem(stem[3:])
    return False, stem


_OPPOSITES = {"afebril": "fever", "painless": "pain", "asymptomat": "symptomat"}


@cache
def _content(word: str) -> str | None:
    """Return the stem of a content word; None for any other word."""
    word = word.removesuffix("'s").rstrip("'")
    if len(word) < 3 or not word[0].isalpha() or word in _common_words():
        return None
    stem = _stem(word)
    return None if stem in _common_stems() else stem


@cache
def _stem(word: str) -> str:
    from nltk.stem.porter import PorterStemmer

    return str(PorterStemmer().stem(word))


@cache
def _common_words() -> frozenset[str]:
    return frozenset([*_listed("stop_words.txt"), *_listed("narrative_words.txt")])


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(_stem(word) for word in _listed("narrative_words.txt"))


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    """Return the stems that may replace a stem."""
    alike: dict[str, set[str]] = {}
    for line in _lines("synonyms.txt"):
        stems = {_stem(word) for word in line.split()}
        for stem in stems:
            alike.setdefault(stem, set()).update(stems - {stem})
    return {stem: frozenset(others) for stem, others in alike.items()}


def _listed(name: str) -> list[str]:
    return [word for line in _lines(name) for word in line.split()]


def _lines(name: str) -> list[str]:
    text = resource("data", "vignettes", name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
