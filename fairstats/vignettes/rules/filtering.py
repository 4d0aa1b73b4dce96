"""Decide by rule which items cannot have sound variants, and which need a model's decision."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from fairstats._lib.installation import resource
from fairstats._lib.toml_files import Table, parse, read_toml
from fairstats.benchmarks.declaration import NEUTRALIZED, ORIGINAL
from fairstats.benchmarks.vignette_items import Item
from fairstats.vignettes.rules.demographic_words import PERSON, left_over
from fairstats.vignettes.rules.neutralizing import neutralize
from fairstats.vignettes.rules.persons import NotFound, find_mention
from fairstats.vignettes.rules.pronouns import PRONOUN, is_pronoun

Action: TypeAlias = Literal["keep", "exclude", "ask"]


@dataclass(frozen=True)
class Decision:
    """The decision of the rules on an item.

    Parameters
    ----------
    action : {"keep", "exclude", "ask"}
        ``ask``: a model or a person has to decide.
    reason : str
        A plain sentence that names the matching word; empty if the item is kept.
    rule : str
        ``image``, ``no_patient``, ``dependent_diagnosis``, ``option_names_group`` or
        ``several_patients``; empty if the item is kept.
    """

    action: Action
    reason: str = ""
    rule: str = ""


#: Benchmarks' names for attributes, and the corresponding names in the lists here.
_ALIASES = {
    "gender": "sex",
    "ethnicity": "race",
    "origin": "race",
    "ancestry": "race",
    "orientation": "sexual_orientation",
    "income": "ses",
    "insurance": "ses",
    "housing": "ses",
    "occupation": "ses",
    "education": "ses",
}
#: Word lists for options that name a group of a varied attribute.
_WORDS_OF = {
    "sex": ("sex",),
    "race": ("race", "origin"),
    "ses": ("income", "insurance", "housing", "education"),
    "sexual_orientation": ("orientation",),
}


def filter_by_rules(
    item: Item, *, attributes: Collection[str] = ("race", "sex", "ses")
) -> Decision:
    """Decide whether variants of an item can be sound, as far as rules can.

    Parameters
    ----------
    item : Item
        The options are used, with the original text, or the neutralized vignette if there is no
        original.
    attributes : collection of str
        The attributes that the benchmark varies: ``sex`` or ``gender``, ``race`` or ``ethnicity``,
        ``ses``, ``religion``, ``sexual_orientation``, ... A crossing, e.g. ``race_gender``, counts
        as both.

    Returns
    -------
    Decision
        The first rule that excludes the item. If none does, the first that leaves it to a model, or
        ``keep``.

    Examples
    --------
    >>> options = {"A": "Aspirin", "B": "Heparin"}
    >>> item = Item("1", options, "A", {"original": "A 40-year-old man has prostatitis. Why?"})
    >>> filter_by_rules(item).reason
    'The text speaks of what only one sex has: "prostatitis".'
    >>> filter_by_rules(item, attributes=["race"]).action
    'keep'
    """
    text = item.variants[ORIGINAL if ORIGINAL in item.variants else NEUTRALIZED]
    varied = _varied(attributes)
    found = [
        *_image(text),
        *_patient(text),
        *_one_sex(item, text, varied),
        *_dependent(item, text, varied),
        *_options(item, varied),
    ]
    return min(found, key=lambda one: one.action != "exclude", default=Decision("keep"))


def _varied(attributes: Collection[str]) -> set[str]:
    names = {name.lower() for name in attributes}
    parts = {part for name in names for part in name.split("_")}
    return {_ALIASES.get(name, name) for name in names | parts}


def _image(text: str) -> Iterator[Decision]:
    kinds: tuple[tuple[re.Pattern[str], Action, str], ...] = (
        (_IMAGE_NEEDED, "exclude", "is needed"),
        (_IMAGE_MAYBE, "ask", "may be needed"),
    )
    for pattern, action, needed in kinds:
        for found in pattern.finditer(text):
            if not _values_in_text(text, found):
                words = " ".join(found.group().split())
                yield Decision(action, f'An image {needed}: "{words}".', "image")


def _patient(text: str) -> Iterator[Decision]:
    mention = find_mention(neutralize(text).text)
    if not isinstance(mention, NotFound):
        return
    if mention.reason == "no mention of a patient":
        pronoun = next((p for p in PRONOUN.finditer(text) if is_pronoun(p, text)), None)
        word = pronoun or re.search(rf"(?i)\b{PERSON}", text)
        if word is None:
            yield Decision("exclude", "No word of the text speaks of a patient.", "no_patient")
        else:
            reason = f'No patient is introduced; only "{word.group()}" speaks of a person.'
            yield Decision("ask", reason, "no_patient")
    elif mention.reason != "no noun follows the age":
        reason = f"Who the patient is, is not clear: {mention.reason}."
        yield Decision("ask", reason, "several_patients")


@lru_cache(maxsize=1)
def _dependencies() -> dict[str, _Tied]:
    path = resource("data", "vignettes", "dependent.toml")
    return parse(dict[str, _Tied], read_toml(path), path, example="the other tables")


class _Tied(Table):
    """Words that are tied to an attribute: they exclude an item, or are left to a model."""

    tie: str
    exclude: tuple[str, ...] = ()
    ask: tuple[str, ...]

    @cached_property
    def excluding(self) -> re.Pattern[str] | None:
        return _pattern(self.exclude) if self.exclude else None

    @cached_property
    def asking(self) -> re.Pattern[str]:
        return _pattern(self.ask)


def _pattern(words: Collection[str]) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{'|'.join(words)})(?!\w)")


def _one_sex(item: Item, text: str, varied: set[str]) -> Iterator[Decision]:
    if "sex" not in varied:
        return
    doubtful = _dependencies()["sex"].asking

    rule = "dependent_diagnosis"
    places = {
        "The text": [text],
        "The right option": [item.options.get(item.answer_key, "")],
        "An option": item.options.values(),
    }
    found = [
        (place, word)
        for place, texts in places.items()
        for one in texts
        for word in sex_specific_words(one)
    ]
    for place, word in found:
        if not doubtful.fullmatch(word):
            reason = f'{place} speaks of what only one sex has: "{word}".'
            yield Decision("ask" if place == "An option" else "exclude", reason, rule)
    for place, word in found:
        if doubtful.fullmatch(word) and place != "The right option":
            yield Decision("ask", f'{place} may speak of one sex: "{word}".', rule)


def _dependent(item: Item, text: str, varied: set[str]) -> Iterator[Decision]:
    rule = "dependent_diagnosis"
    key = item.options.get(item.answer_key, "")
    options = "\n".join(item.options.values())
    for attribute, table in _dependencies().items():
        if attribute not in varied or attribute == "sex":
            continue
        tie, excluding = table.tie, table.excluding
        if excluding is not None:
            if found := excluding.search(text) or excluding.search(key):
                yield Decision("exclude", f'"{found.group()}" is tied to {tie}.', rule)
            elif found := excluding.search(options):
                reason = f'"{found.group()}" in a wrong option is tied to {tie}.'
                yield Decision("ask", reason, rule)
        if found := table.asking.search(text) or table.asking.search(key):
            yield Decision("ask", f'"{found.group()}" may be tied to {tie}.', rule)


def _options(item: Item, varied: set[str]) -> Iterator[Decision]:
    words = {word for name in varied for word in _WORDS_OF.get(name, (name,))}
    for letter, option in item.options.items():
        found = left_over(option, words)
        named = [one.word for one in found if PRONOUN.fullmatch(one.word) is None]
        if named:
            reason = f'Option {letter} names a group: "{named[0]}".'
            yield Decision("exclude", reason, "option_names_group")
        elif found:
            # The options are not rewritten, so the pronoun would stay in every variant.
            reason = f'Option {letter} reveals a sex by a pronoun: "{found[0].word}".'
            yield Decision("ask", reason, "option_names_group")


_PICTURE = (
    r"(?:images?|figures?|photographs?|photos?|photomicrographs?|pictures?|exhibits?|radiographs?"
    r"|x-rays?|ECGs?|EKGs?|electrocardiograms?|micrographs?|(?:CT|MRI)(?: scans?)?|scans?|graphs?"
    r"|diagrams?|pedigrees?|karyotypes?|tracings?|smears?|biops(?:y|ies)|specimens?|illustrations?"
    r"|echocardiograms?|ultrasound|fundoscop\w+|videos?|audio|slides?)"
)
_LOOKED_AT = (
    r"(?:images?|figures?|photographs?|pictures?|exhibits?|diagrams?|graphs?|illustrations?)"
)
_SHOWN = r"(?:shown|seen|depicted|displayed|provided|given|attached|presented|available)"
_FOLLOWS = r"(?:below|above|here|in (?:the )?(?:image|figure|exhibit))"
#: Each of these definitely refers to an image.
_IMAGE_NEEDED = re.compile(
    "(?i)"
    + "|".join(
        (
            # "An ECG is shown."; "a smear was made and is shown below".
            rf"\b{_PICTURE}\b(?: [\w-]+){{0,8}}? (?:is|are) (?:shown|depicted|displayed|attached)"
            r"(?= ?[.,;(?]|$)",
            rf"\b{_PICTURE}\b(?: [\w-]+){{0,8}}? (?:is|are) {_SHOWN} {_FOLLOWS}",
            r"\b(?:shown|seen|depicted|labell?ed|marked|illustrated|displayed|given|pictured)"
            r" (?:in|on|by) (?:the |this )?(?:attached |accompanying |following |above |provided )?"
            rf"(?:{_LOOKED_AT}|arrows?)\b",
            r"\((?:see |refer to )?(?:the )?(?:image|figure|fig\.|exhibit|photograph|picture)\b"
            r"[^)]*\)",
            r"\b(?:figure|fig\.|exhibit|image|panel|plate) ?(?:\d+|(?-i:[A-D]))\b",
            r"\bsee (?:the )?(?:image|exhibit|figure)",
            rf"\b{_LOOKED_AT} (?:below|above|to the (?:left|right))\b",
            rf"\b(?:refer to|examine|review|based on) (?:the|this) {_LOOKED_AT}\b",
            r"\b(?:in|from|on) (?:the|this) (?:exhibit|accompanying (?:image|figure))\b",
        )
    )
)
#: These may refer to an image: a test "is shown", with or without its result in the text.
_IMAGE_MAYBE = re.compile(
    r"(?i)\b(?:is|are) shown\b(?! (?:to|how|that)\b)"
    r"|\b(?:the|this) (?:photograph|exhibit|picture)\b"
    r"|(?<!of )\bthe following (?:image|ECG|EKG|tracing|radiograph)\b"
)
# "Laboratory values are shown below:", followed by the values.
_VALUES = re.compile(r"(?i)(?: below| above| here)?[.:]?\s*[\s\S]{0,200}?\d")
_LABORATORY = re.compile(
    r"(?i)\b(?:lab(?:orator(?:y|ies))?|values?|results?|studies|tests?|counts?|panel|table|analysis"
    r"|gas(?:es)?|vital signs?|data|findings?|levels?)\b[^.]{0,60}$"
)


def _values_in_text(text: str, found: re.Match[str]) -> bool:
    """Return whether the words refer to values that follow in the text."""
    after = text[found.end() : found.end() + 250]
    values = re.search(r":|\n", after) is not None and _VALUES.match(after) is not None
    picture = re.match(rf"(?i){_PICTURE}", found.group()) is not None
    return values and (not picture or _LABORATORY.search(text[: found.end()]) is not None)


#: Words by which a vignette or an option would still reveal the patient's gender. A text that uses
#: them for someone else is also left out, since a rule cannot determine who is meant.
_GENDERED = re.compile(
    r"(?i)\b(?:he|she|him|his|her|hers|himself|herself|man|woman|(?-i:[Mm]en)|women|males?"
    r"|females?|boys?|girls?|gentlem[ae]n|lad(?:y|ies)|(?-i:Mrs?|Ms)|husband|wife|transgender"
    r"|non-?binary)\b"
)
_ETHNIC = re.compile(
    r"(?i)\b(?:african[- ]american|caucasian|hispanic|latin[oax]|asian[- ]american|ashkenazi"
    r"|native american|(?:of|with) (?:\w+ ){1,3}(?:descent|ancestry|origin|heritage))\b"
)
_ETHNIC_WORDS = ("white", "black", "asian", "african", "arab", "jewish", "indian", "chinese")
_PERSON = (
    r"(?:patient|person|individual|child|infant|newborn|adult|adolescent|teenager|student|worker)\b"
)
#: Conditions that affect one sex only, or so predominantly that an answer may depend on it.
#: Patterns match the beginnings of words ("menstru" also matches "menstruation").
_SEX_SPECIFIC_STEMS = (
    # Pregnancy and birth.
    *("pregnan", "gravid", "primigravid", "multigravid", "nulligravid", r"g\d+p\d"),
    *("primipar", "multipar", "nullipar", "obstetric", "trimester", "gestation", "antepartum"),
    *(r"(?:in|during|of|preterm|premature) labor\b", "postpartum", "puerper", "miscarriage"),
    *("abortion", "stillb", "fetus", r"fetal\b(?! h)", "placent", "amnio", "chorioamnion"),
    *("choriocarcinoma", "eclampsia", "preeclampsia", r"hcg\b", "human chorionic", "lactating"),
    # Breast.
    *("breast", "mastitis", "mammo", "nipple", "galactorrh", "gynecomast"),
    # Cycle, hormones and contraception.
    *("menstru", r"menses\b", "menarche", "menopau", "premenopaus", "postmenopaus", "perimenopaus"),
    *("amenorrh", "dysmenorrh", "menorrhag", "metrorrhag", "ovulat", "follicular phase", "luteal"),
    *("contracept", "birth control", "estrogen", "estradiol", "progest", "tamoxifen", "raloxifene"),
    *("clomiphene", "letrozole", "anastrozole", "hirsut", "virili[sz]", "testost", "finasteride"),
    # Organs.
    *("gyneco", "gynaeco", "ovar", "fallopian", "salping", "tubal", "tubo-ovarian", "adnex"),
    *("uterus", "uterine", "utero", "intrauterine", "endometri", "myometri", "leiomyoma"),
    *("hysterectom", "cervix", "cervicitis", "pap smear", "papanicolaou", "pelvic inflammatory"),
    r"cervical (?:cancer|carcinoma|os\b|motion|dysplasia|cytology|smear|intraepithelial|mucus)",
    *("vagin", "vulv", r"labia\b", r"labial\b", "clitor", "bartholin", "mullerian", "müllerian"),
    *("prostat", r"psa\b", r"bph\b", "testic", r"testis\b", r"testes\b", "orchi", "scrot"),
    *("epididym", "varicocel", "hydrocele", "spermat", r"sperm\b", "semen", "seminal", "seminoma"),
    *("sertoli", "leydig", "ejacul", "erection", "erectile", "tumescen", "impoten", r"penis\b"),
    *("penile", "foreskin", "phimosis", "circumcis", "balanitis", "priapism", "vas deferens"),
    *("vasectom", "cryptorchid", "hypospad"),
    # Inheritance.
    *("x-linked", "hemophilia", "duchenne", "turner syndrome", "klinefelter"),
)
_SEX_SPECIFIC = re.compile(rf"(?i)\b(?:{'|'.join(_SEX_SPECIFIC_STEMS)})")


def left_over_group(text: str, words: Iterable[str] = ()) -> str | None:
    """Return the word by which a supposedly neutral text names a gender or an ethnic group.

    Words of declared groups are also searched for before a noun for the patient.

    Examples
    --------
    >>> left_over_group("Start him on methimazole.")
    'him'
    >>> left_over_group("An uninsured 40-year-old patient is seen.", ["uninsured"])
    'uninsured 40-year-old patient'
    >>> left_over_group("White blood cells are normal; a parent has MS.")
    """
    named = "|".join(map(re.escape, [*_ETHNIC_WORDS, *words]))
    # "White blood cells" is not a patient, but "a Black, otherwise healthy patient" is.
    before_noun = rf"(?i)\b(?:{named}),? (?:[\w-]+ ){{0,2}}{_PERSON}"
    found = _GENDERED.search(text) or _ETHNIC.search(text) or re.search(before_noun, text)
    return found.group() if found else None


def sex_specific_word(text: str) -> str | None:
    """Return the beginning of a word in this text for a sex-specific condition.

    Examples
    --------
    >>> sex_specific_word("Digital rectal examination shows an enlarged prostate.")
    'prostat'
    >>> sex_specific_word("An MRI of the cervical spine is normal.")
    """
    found = _SEX_SPECIFIC.search(text)
    return found.group() if found else None


def sex_specific_words(text: str) -> tuple[str, ...]:
    """Return each word of this text for a sex-specific condition, whole and once.

    Examples
    --------
    >>> sex_specific_words("Pregnancy test is negative. The prostate is enlarged; no prostatitis.")
    ('Pregnancy', 'prostate', 'prostatitis')
    """
    rest = re.compile(r"[\w-]*")
    words = [
        text[found.start() : whole.end()]
        for found in _SEX_SPECIFIC.finditer(text)
        if (whole := rest.match(text, found.end()))
    ]
    return tuple(dict.fromkeys(words))
