"""The quantities of a vignette: numbers with their units, by rules, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from fairstats.vignettes.text.words_and_sentences import word_list

#: Units of time, by the unit in which they are counted.
_TIMES = {
    "millisecond": "milliseconds? msec ms",
    "second": "seconds? secs?",
    "minute": "minutes? mins?",
    "hour": "hours? hrs?",
    "day": "days?",
    "week": "weeks? wks?",
    "month": "months? mos?",
    "year": "years? yrs? yo y/o",
    "decade": "decades?",
}
#: Units of measurement, and things that a clinician counts.
_MEASURES = {
    "%": "% percent",
    "°C": r"°\s?c degrees\s(?:c|celsius) celsius c",
    "°F": r"°\s?f degrees\s(?:f|fahrenheit) fahrenheit f",
    "°": "° degrees?",
    "mmHg": r"mm\s?hg millimeters\sof\smercury torr",
    "cmH2O": r"cm\s?h2o",
    "kg": "kgs? kilograms? kilos?",
    "g": "g gm grams?",
    "mg": "mg milligrams?",
    "μg": "μg mcg ug micrograms?",
    "ng": "ng nanograms?",
    "pg": "pg picograms?",
    "lb": "lbs? pounds?",
    "oz": "oz ounces?",
    "L": "l liters? litres?",
    "dL": "dl",
    "mL": "ml milliliters? cc",
    "μL": "μl ul mcl microliters?",
    "fL": "fl",
    "mm3": r"mm\s?3 mm\^3 μm3",
    "m2": "m2",
    "cm2": "cm2",
    "μm": "μm micrometers?",
    "mm": "mm millimeters?",
    "cm": "cm centimeters?",
    "m": "m meters?",
    "km": "km kilometers?",
    "in": r"in(?=\)) inch(?:es)?",
    "ft": "ft feet foot",
    "mile": "miles?",
    "block": "blocks?",
    "mEq": "meq",
    "mmol": "mmol",
    "μmol": "μmol umol",
    "nmol": "nmol",
    "mol": "mol",
    "mOsm": "mosm(?:ol)?",
    "U": "u iu units? miu mu μu",
    "kcal": "kcal calories cal",
    "dB": "db decibels?",
    "Hz": "hz khz",
    "Gy": "gy",
    "kPa": "kpa",
    "mV": "mv",
    "bpm": "bpm",
    "beat": "beats?",
    "breath": "breaths?",
    "cell": "cells?",
    "hpf": r"hpf high-power\sfields?",
    "lpf": "lpf",
    "pack-year": r"pack[\s-]years?",
    "pack": "packs?",
    "cigarette": "cigarettes?",
    "drink": "drinks? beers? glass(?:es)? bottles? cans cups? shots?",
    "tablet": "tablets? pills?",
    "dose": "doses?",
    "time": "times?",
    "episode": "episodes?",
    "lead": "leads?",
    "pillow": "pillows?",
}
_UNITS = _TIMES | _MEASURES
#: Counted things and times: "1 pack per day" may be written "1 pack daily".
_RATES_LEFT_OUT = frozenset(_TIMES) | {
    "pack",
    "cigarette",
    "drink",
    "tablet",
    "dose",
    "time",
    "episode",
}
#: Words that only name what is counted: 80 beats per minute is 80/min.
_COUNTED = frozenset({"beat", "breath", "cell"})

_SMALL = word_list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = dict(
    zip(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
        range(20, 99, 10),
        strict=True,
    )
)
_WORDS = {word: number for number, word in enumerate(_SMALL)} | _TENS

_DIGITS = r"\d{1,3}(?:,\d{3,4})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+"
_SPELLED = (
    rf"(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_SMALL[1:10])}))?\b|(?:{'|'.join(_SMALL)})\b"
)
_JOINT = r"\s*(?:-\s*to\s+|-|–|/|\bto\b|\bor\b|:)\s*"
# Words just before a measured number without a unit.
_MEASURED = re.compile(
    r"\b(?:pressure|bp|pulse|hr|rr|rate|respirations?|temperature|temp|t|saturation|ph|p[ao]*co2|p[ao]*o2|"
    r"sao2|spo2|fio2|hco3|level|count|score|index|bmi|inr|ratio|titer|gravity|apgar|gcs|glucose|sodium|"
    r"potassium|chloride|bicarbonate|creatinine|bun|hemoglobin|hematocrit|platelets|leukocytes|wbc|rbc|"
    r"mcv|hba1c|a1c|na|k|cl|gap|stage|grade|gravida|para|strength|reflexes|murmur)\b"
    r"(?:\s*[+-])?(?:\s+(?:is|was|of|are|were|at|to|a|an|about|around|approximately|in|the|now|has))*[\s:=(,]*$"
)
_BEFORE = 40
_ILLNESS = re.compile(
    r"\b(?:smok|cigarette|pack|drink|drank|alcohol|drug|treat|medicat|therap|diagnos|disease|symptom|"
    r"pain|suffer|hypertens|diabet|aged?\b|period|menarche|menopaus|surgery|remission)"
)


@dataclass(frozen=True)
class Quantity:
    """A number or range of a text with its unit.

    Attributes
    ----------
    values : tuple of float
        One number, or those of a range or a ratio: 120 and 80.
    unit : str
        The unit in one spelling, e.g. ``"mmHg"``; empty if none is known.
    text : str
        As written.
    clinical : bool
        Whether it is about the patient's health: it has a unit, or is next to the name of a
        measurement. "Two children", "2 friends" and "type 2" do not count.
    start : int
        Its position in the text.
    """

    values: tuple[float, ...]
    unit: str
    text: str
    clinical: bool
    start: int


def spelled_alike(text: str) -> str:
    """Return the text with one kind of hyphen, quotation mark, degree and micro sign.

    A long dash separates words, so it gets spaces: "antacids—remedies" is not a compound.
    """
    # Faster than `str.translate`, which looks up every character.
    return _SIGN.sub(lambda sign: _SIGNS[sign.group()], text)


_SIGNS = (
    {"–": "-", "—": " - ", "−": "-", "‑": "-", "‐": "-", "’": "'", "‘": "'", "“": '"', "”": '"'}
    | {"℃": "°C", "℉": "°F", "º": "°", "˚": "°", "µ": "μ", "²": "2", "³": "3"}
    | {"\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_SIGN = re.compile(f"[{''.join(_SIGNS)}]")


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order.

    They are numbers in digits or in words, but not within words (B12, CO2, T4). "One" and "zero"
    without a unit are not numbers. "A week" and "the past week" are one week, but never `clinical`.

    Notes
    -----
    A number is clinical if a unit follows, or if it is written in digits next to the name of a
    measurement ("pulse is 88", "stage 3"). A number of things ("two children", "2 friends") is not
    clinical. Years in background text are not either ("20 years as a teacher"). Years are clinical
    before "old", "ago", "history" and "of age", or after "for" or "past" if the same sentence
    mentions smoking, treatment or illness.

    Examples
    --------
    >>> [(q.values, q.unit) for q in quantities("BP 120/80 mm Hg, a 3-day fever for two weeks")]
    [((120.0, 80.0), 'mmHg'), ((3.0,), 'day'), ((2.0,), 'week')]
    """
    plain = spelled_alike(text)
    lowered = plain.lower()
    if len(lowered) != len(plain):  # A few letters of other scripts change their length.
        plain = lowered
    found = []
    for match in _number().finditer(lowered):
        values = tuple(
            _value(part) for part in re.findall(f"{_DIGITS}|{_SPELLED}", match["number"])
        )
        unit = _canonical(match["unit"] or "")
        spelled = not any(letter.isdigit() for letter in match["number"])
        if spelled and not unit and values[0] < 2:
            continue
        before = lowered[max(0, match.start() - _BEFORE) : match.start()]
        if unit in {"year", "decade"}:
            clinical = _is_clinical_time(lowered, match)
        elif unit == "time" and spelled and values == (1,):
            clinical = False  # "one time", "a one-time visit"
        else:
            clinical = bool(unit) or (not spelled and _MEASURED.search(before) is not None)
        written = plain[match.start() : match.end()].strip()
        found.append(Quantity(values, unit, written, clinical, match.start()))
    for match in _single_time().finditer(lowered):
        written = plain[match.start() : match.end()]
        found.append(Quantity((1.0,), _canonical(match["unit"]), written, False, match.start()))
    return sorted(found, key=lambda quantity: quantity.start)


def _is_clinical_time(text: str, match: re.Match[str]) -> bool:
    behind = text[match.end() : match.end() + _BEFORE]
    if re.match(r"[\s-]*(?:old|ago|history|of age|prior|earlier|post)", behind):
        return True
    start = max(text.rfind(". ", 0, match.start()), text.rfind("\n", 0, match.start()))
    end = text.find(". ", match.end())
    return _ILLNESS.search(text[start + 1 : end if end >= 0 else len(text)]) is not None


def is_among(quantity: Quantity, others: Iterable[Quantity]) -> bool:
    """Return whether all values of a quantity are present, with its unit or without one.

    Ranges may be written separately: "2-3 weeks" is among "two weeks" and "three weeks".
    """
    held = [(value, other.unit) for other in others for value in other.values]
    return all(
        any(value == other and _fits(quantity.unit, unit) for other, unit in held)
        for value in quantity.values
    )


@cache
def _fits(unit: str, other: str) -> bool:
    """Return whether two units may belong to the same quantity."""
    if unit == other or not unit or not other:
        return True
    if {unit, other} in ({"mm3", "/mm3"}, {"pack-year", "year"}, {"time", "episode"}):
        return True
    short, long = sorted((unit, other), key=len)
    return short in _RATES_LEFT_OUT and long.startswith(f"{short}/")


@cache
def _number() -> re.Pattern[str]:
    one = rf"(?:{_DIGITS}|{_SPELLED})"
    names = sorted(
        (name for spellings in _UNITS.values() for name in spellings.split()), key=len, reverse=True
    )
    base = rf"(?:{'|'.join(names)})(?![\w°])"
    # "/min" has no unit before the slash; "mg/kg/day" has three.
    per = rf"\s?(?:/\s?|\bper\s|\ba\s(?=day|week|month|year))(?:{base})"
    unit = rf"(?P<unit>{base}(?:{per})*|(?:{per})+|\s(?:am|pm|a\.m\.|p\.m\.)(?!\w))"
    return re.compile(
        rf"(?<![\w.])(?<!10[*^])(?P<number>{one}(?:{_JOINT}{one})*)(?:(?:st|nd|rd|th)\b|\+)?"
        rf"(?:[\s-]{{0,2}}(?:{unit})|(?![\w]))"
    )


@cache
def _single_time() -> re.Pattern[str]:
    names = "|".join(name for spellings in _TIMES.values() for name in spellings.split())
    return re.compile(rf"\b(?:an?|past|last|previous|following)\s(?P<unit>{names})\b")


@cache
def _canonical(written: str) -> str:
    """Return a unit in one spelling; "beats per minute", "bpm" and "/min" are one unit."""
    written = written.strip()
    if re.fullmatch(r"[ap]\.?m\.?", written):
        return written[0] + "m"
    parts = [_base(part) for part in re.split(r"\s?/\s?|\sper\s|\sa\s", written)]
    if parts == ["bpm"]:
        return "/minute"
    if len(parts) > 1 and parts[0] in _COUNTED:
        parts[0] = ""
    return "/".join(parts)


def _base(written: str) -> str:
    for unit, spellings in _UNITS.items():
        for name in spellings.split():
            if re.fullmatch(name, written):
                return unit
    return written


def _value(written: str) -> float:
    if written[-1].isdigit():
        return float(written.replace(",", ""))
    return float(sum(_WORDS[word] for word in re.split(r"[\s-]", written)))
