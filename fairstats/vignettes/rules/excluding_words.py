"""Identify items that cannot have sound variants."""

from __future__ import annotations

import re
from collections.abc import Iterable

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

    Parameters
    ----------
    text : str
        A vignette, or an option.
    words : iterable of str
        The words of declared groups, which are also searched for before a noun for the patient.

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
