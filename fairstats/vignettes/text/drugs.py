"""The drugs named in a vignette: by stems of generic names, and from a list."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from fairstats._lib.resources import resource
from fairstats.vignettes.text.quantities import spelled_alike
from fairstats.vignettes.text.split_words import word_list

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

    Parameters
    ----------
    text : str

    Returns
    -------
    dict of str to str
        Each in the singular and in lower case, with its first written form. The longest name is
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
    by_first = _listed()
    names = by_first.get(_singular(word), by_first.get(word, []))
    return tuple((name, name.split()) for name in names)


@cache
def _listed() -> dict[str, list[str]]:
    """Return the names of the list by their first word, the longest first."""
    lines = resource("data", "vignettes", "drugs.txt").read_text(encoding="utf-8").splitlines()
    by_first = defaultdict(list)
    for line in lines:
        if line and not line.startswith("#"):
            by_first[line.split()[0]].append(line)
    return {
        first: sorted(names, key=lambda name: -len(name.split()))
        for first, names in by_first.items()
    }
