"""Recognise the columns of a table that hold the answers of groups, and perhaps of models."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from fairstats._lib.problems import first_of, input_error
from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED, ORIGINAL, is_number
from fairstats.benchmarks.loading import MOST_OPTION
from fairstats.benchmarks.refusals import bare_letter, decimal_point, is_no_answer

#: A column with more different short texts holds names or replies, not options.
MOST_OPTIONS = 12

#: Columns that hold the groups of an attribute, and the words for its groups.
ATTRIBUTES = {
    "race": (
        "white black asian hispanic latino latina latinx caucasian indigenous arab native "
        "african_american native_american middle_eastern w b"
    ),
    "sex": "male female man woman men women boy girl m f",
    "income": "rich poor wealthy high_income low_income middle_income",
    "age": "young old elderly adult child younger older",
    "religion": "christian muslim jewish hindu buddhist atheist",
    "orientation": "straight gay heterosexual homosexual lesbian bisexual",
    "insurance": "insured uninsured privately_insured medicaid",
    "ethnicity": "",
    "gender": "transgender cisgender nonbinary non_binary",
    "ses": "",
    "nationality": "",
    "language": "",
}
_OF_WORD = {word: name for name, words in ATTRIBUTES.items() for word in words.split()}
_REFERENCES = ("original", "neutral", "neutralized", "neutralised", "baseline", "unspecified")
#: Words in names of columns that describe an answer.
_NO_ANSWERS = {
    "text", "prompt", "question", "why", "reason", "reasons", "reasoning", "rationale", "comment",
    "comments", "explanation", "note", "notes", "confidence", "certainty", "probability", "time",
    "seconds", "latency", "tokens", "cost", "date", "id", "key", "correct", "gold", "truth",
}  # fmt: skip
MODELS = re.compile(
    r"(?i)gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|olmo|phi|grok|command|kimi"
    r"|palm|meditron|model|llm|[a-z]\d"
)
SIGN = r"[\W_]+"


def plain(name: str) -> str:
    """Return a column's name in small letters, without signs.

    Examples
    --------
    >>> plain("Case_No.")
    'case no'
    """
    return re.sub(SIGN, " ", name).strip().casefold()


def texts_of(values: pd.Series) -> set[str]:
    """Return the different texts of a column, without words for a missing answer.

    Examples
    --------
    >>> sorted(texts_of(pd.Series(["Yes", "yes ", "3.0", "N/A", None])))
    ['3', 'yes']
    """
    return set(_cells(values))


def _cells(values: pd.Series) -> list[str]:
    """Return the text of each cell as options are compared, without missing answers."""
    texts = (" ".join(str(value).split()).casefold() for value in values.dropna())
    texts = (bare_letter(decimal_point(text)) for text in texts if text and not is_no_answer(text))
    return [f"{float(text):g}" if is_number(text) else text for text in texts]


def is_short(values: pd.Series) -> bool:
    """Return whether a column could hold options, levels or scores, with a few replies among them.

    Examples
    --------
    >>> is_short(pd.Series(["yes"] * 9 + ["I would see this patient again in a week."]))
    True
    """
    counts = values.dropna().astype(str).str.strip().value_counts()
    counts = counts[[not is_no_answer(str(text)) for text in counts.index]]
    if counts.empty:
        return False
    numbers = counts[[is_number(decimal_point(str(text))) for text in counts.index]].sum()
    short = [len(t) <= MOST_OPTION and t.count(" ") < 6 for t in map(str, counts.index)]
    usual = counts[short].head(MOST_OPTIONS).sum()
    return bool(max(numbers, usual) > 0.8 * counts.sum())


def answer_columns(
    table: pd.DataFrame, names: Sequence[str], source: str, *, known: bool = False
) -> list[Column]:
    """Return the columns that vary by group, and perhaps by model.

    `names` are the columns of the table that could hold answers; it has one row per item. `known`
    is whether only words for people's groups are groups.

    Raises
    ------
    InputError
        If names vary in two parts, and it is not clear which is the group.

    Examples
    --------
    >>> names = ["A: young", "A: mid", "A: old", "B: young", "B: mid", "B: old"]
    >>> table = pd.DataFrame({name: ["yes", "no", "no"] for name in names})
    >>> [column.group for column in answer_columns(table, names, "a.xlsx")][:3]
    ['young', 'mid', 'old']
    """
    short = [name for name in names if is_short(table[name])]
    texts = [name for name in names if name not in short]
    for of in (short, texts):
        if found := _known_groups(of):
            return _completed(table, found, names)
    return [] if known else _completed(table, _unknown_groups(short, source), names)


def _completed(table: pd.DataFrame, columns: list[Column], names: Sequence[str]) -> list[Column]:
    """Add the groups and models that most of these models and groups have, whatever their words."""
    for side in ("group", "frame"):
        alike: dict[object, list[Column]] = {}
        for column in _related(columns, names):
            if _holds_answers(table, column, columns):
                alike.setdefault(getattr(column, side), []).append(column)
        others = len({column.frame if side == "group" else column.group for column in columns})
        columns = columns + [c for of in alike.values() if 2 * len(of) > others for c in of]
    frames, groups = ({c.frame for c in columns}, {c.group for c in columns})
    # Cells of a model's column may be replies.
    rest = [c for c in _related(columns, names) if c.frame in frames and c.group in groups]
    return sorted([*columns, *rest], key=lambda column: names.index(column.name))


def _related(columns: Sequence[Column], names: Iterable[str]) -> list[Column]:
    """Return other columns with one of these models and another group, or the reverse."""
    frames = sorted({c.frame for c in columns}, key=lambda frame: -len("".join(frame)))
    befores, afters = {before for before, _ in frames}, {after for _, after in frames}
    groups = sorted({c.group for c in columns}, key=len, reverse=True)
    if not columns or (len(befores) > 1 and len(afters) > 1):
        return []
    found = []
    for name in sorted(set(names) - {c.name for c in columns}, key=list(names).index):
        fits = [
            Column(before, name[len(before) : len(name) - len(after)], after)
            for before, after in frames
            if re.search(r"[^\W_]", before + after)
            and len(name) > len(before + after)
            and name.startswith(before)
            and name.endswith(after)
        ]
        before, after = frames[0]
        last, first = re.search(r"[\W_]+$", before), re.match(r"[\W_]+", after)
        for group in groups:
            if len(afters) == 1 and last and name.endswith(last[0] + group + after):
                fits.append(Column(name[: -len(group + after)], group, after))
            elif len(befores) == 1 and first and name.startswith(before + group + first[0]):
                fits.append(Column(before, group, name[len(before + group) :]))
        found += [c for c in fits if not set(plain(c.name).split()) & _NO_ANSWERS][:1]
    return found


def _holds_answers(table: pd.DataFrame, column: Column, columns: Iterable[Column]) -> bool:
    """Return whether most cells of a column are answers of these columns."""
    known = [cell for one in columns for cell in _cells(table[one.name])]
    cells = _cells(table[column.name])
    # Replies to read have no words in common that would show it.
    options = {text for text in known if len(text) <= MOST_OPTION}
    numbers = [float(text) for text in options if is_number(text)]
    if len(numbers) > len(options) / 2:
        low, high = min(numbers), max(numbers)
        same = [is_number(cell) and low <= float(cell) <= high for cell in cells]
    else:
        same = [cell in options for cell in cells]
    return sum(same) > len(cells) / 2


def unclear_columns(
    table: pd.DataFrame, columns: Sequence[Column], names: Sequence[str]
) -> list[Column]:
    """Return columns that fit the answer columns in part, and could hold answers as well.

    `names` are the columns of the table that are not used.

    Examples
    --------
    >>> names = ["A: old", "A: young", "B: old"]
    >>> table = pd.DataFrame({name: ["yes", "no", "no"] for name in names})
    >>> known = [Column("A: ", "old", ""), Column("A: ", "young", "")]
    >>> [column.name for column in unclear_columns(table, known, names)]
    ['B: old']
    """
    return [
        column
        for column in _related(columns, names)
        if plain(column.group) not in _REFERENCES
        and (_holds_answers(table, column, columns) or not is_short(table[column.name]))
    ]


@dataclass(frozen=True)
class Column:
    """A column's name, in three parts: before the group, the group, and after it."""

    before: str
    group: str
    after: str

    @property
    def name(self) -> str:
        """The whole name."""
        return self.before + self.group + self.after

    @property
    def frame(self) -> tuple[str, str]:
        """The text before and after the group."""
        return self.before, self.after


def _known_groups(names: Iterable[str]) -> list[Column]:
    """Return the columns whose names hold a word for a group, with every group of each model."""
    cut = [column for name in names if (column := _cut(name))]
    frames: dict[tuple[str, str], set[str]] = {}
    for column in cut:
        frames.setdefault(column.frame, set()).add(column.group)
    cut = [column for column in cut if len(frames[column.frame]) > 1]
    cut = [column for column in cut if not _describes(column, frames)] or cut
    most = max((len(groups) for groups in frames.values()), default=0)
    # One model may lack a group, but another kind of column has other groups.
    return [column for column in cut if 2 * len(frames[column.frame]) > most]


def _describes(column: Column, frames: Iterable[tuple[str, str]]) -> bool:
    """Return whether a column describes the answers of others: gpt_confidence_white, gpt_white."""
    words = plain(" ".join(column.frame)).split()
    rest = [word for word in words if word not in _NO_ANSWERS]
    return rest != words and (not rest or rest in [plain(" ".join(of)).split() for of in frames])


def _cut(name: str) -> Column | None:
    """Cut a name at its longest run of words for groups: ``gpt4_|white_male|``."""
    words = list(re.finditer(r"[^\W_]+", name))
    best: tuple[int, int] | None = None
    for first, last in product(range(len(words)), repeat=2):
        if first > last or last - first > 3:
            continue
        start, end = words[first].start(), words[last].end()
        if attributes_of(name[start:end]) and (best is None or end - start > best[1] - best[0]):
            best = start, end
    return Column(name[: best[0]], name[best[0] : best[1]], name[best[1] :]) if best else None


def attributes_of(group: str) -> tuple[str, ...]:
    """Return the attributes of a group's name; two for one that crosses them.

    Examples
    --------
    >>> attributes_of("white"), attributes_of("white_male"), attributes_of("ward")
    (('race',), ('race', 'sex'), ())
    """
    words = plain(group).replace(" ", "_")
    if words in _OF_WORD:
        return (_OF_WORD[words],)
    if words in _REFERENCES:
        return ("",)
    first, _, second = words.partition("_")
    parts = (_OF_WORD.get(first, ""), _OF_WORD.get(second, ""))
    # In "m_rich", m is a model.
    whole = min(len(first), len(second)) > 1
    return parts if whole and all(parts) and parts[0] != parts[1] else ()


def baseline_variants(groups: Collection[str]) -> dict[str, str]:
    """Return the variant of the baseline that each of these groups names next to people's groups.

    Examples
    --------
    >>> baseline_variants(["baseline", "white", "black"]), baseline_variants(["baseline", "car"])
    ({'baseline': 'original'}, {})
    """
    if sum(any(attributes_of(group)) for group in groups) < 2:
        return {}
    names = {group: plain(group) for group in groups if attributes_of(group) == ("",)}
    first = next((name for name in (ORIGINAL, BASELINE) if name in names.values()), "")
    found = {group: ORIGINAL if name == first else NEUTRALIZED for group, name in names.items()}
    return found if len(set(found.values())) == len(found) else {}


def _unknown_groups(names: Sequence[str], source: str) -> list[Column]:
    """Return the columns of the largest grid of two parts: models and unknown groups."""
    best: tuple[list[str], list[str], str] | None = None
    there = set(names)
    for name in names:
        for sign in re.finditer(SIGN, name):
            left, mark, right = name[: sign.start()], sign[0], name[sign.end() :]
            if not (left and right):
                continue
            rights = [n[len(left + mark) :] for n in names if n.startswith(left + mark)]
            lefts = [n[: -len(mark + right)] for n in names if n.endswith(mark + right)]
            rights = [r for r in rights if all(one + mark + r in there for one in lefts)]
            size = len(lefts) * len(rights)
            if min(len(lefts), len(rights)) > 1 and (
                best is None or size > len(best[0]) * len(best[1])
            ):
                best = lefts, rights, mark
    if best is None:
        return []
    lefts, rights, mark = best
    by_left, by_right = (sum(map(bool, map(MODELS.search, of))) for of in (lefts, rights))
    if by_left * len(rights) == by_right * len(lefts):
        first = f"{lefts[0]}{mark}{rights[0]}"
        message = f"the columns {first_of([first, f'{lefts[1]}{mark}{rights[1]}'])} and others vary"
        message += " in two parts, and it is not clear which is the group"
        remedy = f'give --wide "{{model}}{mark}{{group}}" or --wide "{{group}}{mark}{{model}}"'
        raise input_error(source, message, remedy)
    if by_left * len(rights) > by_right * len(lefts):
        return [Column(left + mark, right, "") for left in lefts for right in rights]
    return [Column("", left, mark + right) for left in lefts for right in rights]
