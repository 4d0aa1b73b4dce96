"""Recognise the layout of a table of answers: its items, models, groups, answers and keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import pandas as pd

from fairstats._lib.problems import InputError, Problem, first_of
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    ORIGINAL,
    is_no_answer,
    is_number,
)
from fairstats.benchmarks.loading import MOST_OPTION

#: A column with more different short texts holds names or replies, not options.
MOST_OPTIONS = 12

_ID = re.compile(
    r"(?:item|case|question|vignette|scenario|stay|encounter|sample|prompt|example|record|row|task)"
    r"(?: ?(?:id|no|nr|number|idx|index))?|q?id|no|nr|number|index"
)
_NAMES = {
    "model": ("model", "model name", "llm", "llm name", "system"),
    "strategy": ("strategy", "prompt strategy", "prompting strategy", "prompt type"),
    "sample": ("sample", "run", "repeat", "repetition", "replicate", "trial", "iteration"),
    "answer_key": (
        "answer key", "key", "correct", "correct answer", "correct option", "right answer", "gold",
        "gold answer", "gold label", "ground truth", "truth", "reference answer", "expected answer",
    ),
    "answer": (
        "answer", "decision", "choice", "response", "reply", "output", "prediction",
        "predicted answer", "model answer", "recommendation", "rating", "score", "level",
    ),
    "group": ("group", "variant", "demographic", "demographic group", "patient group", "persona"),
}  # fmt: skip
#: Columns that hold the groups of an attribute, and the words for its groups.
_ATTRIBUTES = {
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
_OF_WORD = {word: name for name, words in _ATTRIBUTES.items() for word in words.split()}
_REFERENCES = ("original", "neutral", "neutralized", "neutralised", "baseline", "unspecified")
_MODELS = re.compile(
    r"(?i)gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|olmo|phi|grok|command|kimi"
    r"|palm|meditron|model|llm|[a-z]\d"
)
_SIGN = r"[\W_]+"


@dataclass(frozen=True)
class Layout:
    """The options of `fairstats import table` that a table needs.

    Parameters
    ----------
    columns : dict
        The field of each column (``--map``).
    wide : tuple of str
        The columns that hold answers (``--wide``), for a table with one row per item.
    attribute : str
        The attribute of the groups.
    crossed : tuple of str
        The two attributes that it crosses; empty for most.
    models : bool
        Whether the table names the models.
    left_out : tuple of str
        The columns that are not used.
    """

    columns: dict[str, str] = field(default_factory=dict)
    wide: tuple[str, ...] = ()
    attribute: str = "group"
    crossed: tuple[str, ...] = ()
    models: bool = False
    left_out: tuple[str, ...] = ()


def recognise_layout(
    table: pd.DataFrame,
    *,
    columns: Mapping[str, str],
    wide: Sequence[str] = (),
    source: str = "<frame>",
) -> Layout:
    """Recognise what the columns of a table hold.

    Parameters
    ----------
    table : pandas.DataFrame
        The table as it is in the file.
    columns : Mapping[str, str]
        The fields of columns that the caller has given; they are not changed.
    wide : sequence of str
        The options for the columns that hold answers, if the caller has given them.
    source : str
        The name of the file, for problems.

    Raises
    ------
    InputError
        If the layout is ambiguous. The problem names the columns and the option to give.

    Examples
    --------
    >>> rows = [{"case_id": f"c{n}", "gpt4_white": "yes", "gpt4_black": "no",
    ...          "claude_white": "yes", "claude_black": "yes"} for n in range(3)]
    >>> found = recognise_layout(pd.DataFrame(rows), columns={})
    >>> found.columns, found.wide, found.attribute
    ({'item_id': 'case_id'}, ('{model}_{group}',), 'race')
    """
    names = [str(name) for name in table]
    table = table.set_axis(names, axis=1)
    given = dict(columns)
    given |= {n: n for n in ("item_id", "group", "model", *_NAMES) if n in table and n not in given}
    used = {part.strip() for path in given.values() for part in path.split("+")}
    free = [name for name in names if name not in used]
    long = "group" in given or (not wide and bool(_group_columns(table, free)))
    columns_of = [] if long or wide else _answer_columns(table, free, source)
    if not (columns_of or wide):
        return _long(table, free, given, source)
    answers = [column.name for column in columns_of]
    rest = [name for name in free if name not in answers]
    found: dict[str, str] = {}
    # "{model}_answer" says nothing of groups, which are then in a column.
    ungrouped = wide and not any("{group" in one or "{" not in one.split("=")[0] for one in wide)
    groups: list[str] = []
    if ungrouped and "group" not in given:
        groups = _one_or_two_groups(table, rest, source)
        found["group"] = "+".join(groups)
        rest = [name for name in rest if name not in groups]
    if "item_id" not in given:
        found["item_id"] = _item_column(table, rest, source, unique=not ungrouped)
    if "answer_key" not in given and answers:
        domain = _texts(table[answers].stack())
        for name in _named(rest, "answer_key"):
            if _texts(table[name]) <= domain:
                found["answer_key"] = name
                break
    left_out = tuple(name for name in rest if name not in found.values())
    if not columns_of:
        models = "model" in given or any("{model" in one for one in wide)
        return Layout(found, attribute=_attribute(groups), crossed=_parts(groups), models=models)
    grid = _described(columns_of, left_out, source)
    left_out += tuple(name for name in answers if name not in grid.columns)
    return Layout(
        found, grid.options, grid.attribute, grid.crossed, grid.models or "model" in given, left_out
    )


def _plain(name: str) -> str:
    return re.sub(_SIGN, " ", name).strip().casefold()


def _named(names: Iterable[str], column: str) -> list[str]:
    """Return the names that usually stand for a column, the likeliest first."""
    usual = _NAMES[column]
    found = [name for name in names if _plain(name) in usual]
    return sorted(found, key=lambda name: usual.index(_plain(name)))


def _texts(values: pd.Series) -> set[str]:
    """Return the different texts of a column, without words for a missing answer."""
    texts = {" ".join(str(value).split()).casefold() for value in values.dropna()}
    return {f"{float(t):g}" if is_number(t) else t for t in texts if t and not is_no_answer(t)}


def _is_short(values: pd.Series) -> bool:
    """Return whether a column could hold options, levels or scores."""
    counts = values.dropna().astype(str).str.strip().value_counts()
    counts = counts[[not is_no_answer(str(text)) for text in counts.index]]
    if counts.empty:
        return False
    # A few cells of a column of options may hold replies.
    usual = counts.head(MOST_OPTIONS)
    numbers = counts[[is_number(str(text)) for text in counts.index]].sum()
    short = all(len(t) <= MOST_OPTION and t.count(" ") < 6 for t in map(str, usual.index))
    return bool(numbers > 0.8 * counts.sum() or (short and usual.sum() > 0.8 * counts.sum()))


def _item_column(table: pd.DataFrame, names: Sequence[str], source: str, *, unique: bool) -> str:
    """Return the column of the items by its name, or the first one if its values are unique."""

    def fits(name: str) -> bool:
        values = table[name]
        texts = values.dropna().astype(str)
        short = bool(len(texts)) and texts.str.len().max() <= 200
        return short and not values.isna().any() and (not unique or values.is_unique)

    found = [name for name in names if _ID.fullmatch(_plain(name)) and fits(name)]
    # "id" before "case": a case may be a text.
    found.sort(key=lambda name: not _plain(name).endswith("id"))
    if not found and unique and names and fits(names[0]):
        found = [names[0]]
    if found:
        return found[0]
    message = "no column is recognised as the items' identifier"
    remedy = f"give it with --map item_id=COLUMN; the columns are {first_of(names, 12)}"
    raise InputError([Problem(source, message, remedy, column="item_id")])


def _group_columns(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that hold a group in each row, by their names."""
    found = _named(names, "group") or [name for name in names if _plain(name) in _ATTRIBUTES]
    return [name for name in found if 1 < table[name].nunique() <= max(len(table) // 2, 2)]


def _one_or_two_groups(table: pd.DataFrame, names: Sequence[str], source: str) -> list[str]:
    groups = _group_columns(table, names)
    if 0 < len(groups) < 3:
        return groups
    message = "no column is recognised as the group"
    if groups:
        message = f"several columns could be the group: {', '.join(groups)}"
    remedy = (
        "give it with --map group=COLUMN, or two that are crossed with --map group=A+B; for "
        "answers of each group in a column of its own, give --wide GROUP=COLUMN,GROUP=COLUMN; "
        f"the columns are {first_of(names, 12)}"
    )
    raise InputError([Problem(source, message, remedy, column="group")])


def _attribute(groups: Sequence[str]) -> str:
    """Return the attribute of columns of groups: their names, if they name attributes."""
    parts = [_plain(name).replace(" ", "_") for name in groups]
    return "_".join(parts) if parts and parts[0] in _ATTRIBUTES else "group"


def _parts(groups: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes that two columns of groups cross."""
    return tuple(_plain(n).replace(" ", "_") for n in groups) if len(groups) == 2 else ()


def _long(
    table: pd.DataFrame, names: Sequence[str], given: Mapping[str, str], source: str
) -> Layout:
    """Recognise a table with one row per answer."""
    found: dict[str, str] = {}
    groups = [] if "group" in given else _one_or_two_groups(table, names, source)
    if groups:
        found["group"] = "+".join(groups)
    for column in ("model", "strategy", "sample", "answer_key"):
        if column not in given and (there := _named(_rest(names, found, groups), column)):
            found[column] = there[0]
    if "answer" not in given and "answer_raw" not in given:
        there = _named(_rest(names, found, groups), "answer")
        if not there:
            message = "no column is recognised as the answer"
            remedy = (
                "give it with --map answer=COLUMN, or columns of several models with a template "
                f'such as --wide "{{model}}_answer"; the columns are {first_of(names, 12)}'
            )
            raise InputError([Problem(source, message, remedy, column="answer")])
        found["answer" if _is_short(table[there[0]]) else "answer_raw"] = there[0]
    if "item_id" not in given:
        rest = _rest(names, found, groups)
        found["item_id"] = _item_column(table, rest, source, unique=False)
    models = "model" in found or "model" in given
    order = [name for name in ("item_id", *_NAMES, "answer_raw") if name in found]
    return Layout(
        {name: found[name] for name in order},
        attribute=_attribute(groups),
        crossed=_parts(groups),
        models=models,
        left_out=tuple(_rest(names, found, groups)),
    )


def _rest(names: Iterable[str], found: Mapping[str, str], groups: Collection[str]) -> list[str]:
    return [name for name in names if name not in found.values() and name not in groups]


@dataclass(frozen=True)
class _Grid:
    """The columns that hold answers, and the options that describe them."""

    columns: list[str]
    options: tuple[str, ...]
    attribute: str
    crossed: tuple[str, ...]
    models: bool


def _answer_columns(table: pd.DataFrame, names: Sequence[str], source: str) -> list[_Column]:
    """Return the columns that vary by group, and perhaps by model."""
    keys = set(_named(names, "answer_key"))
    short = [name for name in names if name not in keys and _is_short(table[name])]
    texts = [name for name in names if name not in keys and name not in short]
    for of in (short, texts):
        if found := _known_groups(of):
            return found
    return _unknown_groups(short, source)


@dataclass(frozen=True)
class _Column:
    """A column's name, in three parts."""

    before: str
    group: str
    after: str

    @property
    def name(self) -> str:
        return self.before + self.group + self.after

    @property
    def frame(self) -> tuple[str, str]:
        return self.before, self.after


def _known_groups(names: Iterable[str]) -> list[_Column]:
    """Return the columns whose names hold a word for a group, with every group of each model."""
    cut = [column for name in names if (column := _cut(name))]
    frames: dict[tuple[str, str], set[str]] = {}
    for column in cut:
        frames.setdefault(column.frame, set()).add(column.group)
    cut = [column for column in cut if len(frames[column.frame]) > 1]
    most = max((len(groups) for groups in frames.values()), default=0)
    # One model may lack a group, but another kind of column has other groups.
    return [column for column in cut if 2 * len(frames[column.frame]) > most]


def _cut(name: str) -> _Column | None:
    """Cut a name at its longest run of words for groups: ``gpt4_|white_male|``."""
    words = list(re.finditer(r"[^\W_]+", name))
    best: tuple[int, int] | None = None
    for first, last in product(range(len(words)), repeat=2):
        if first > last or last - first > 3:
            continue
        start, end = words[first].start(), words[last].end()
        if _attributes_of(name[start:end]) and (best is None or end - start > best[1] - best[0]):
            best = start, end
    return _Column(name[: best[0]], name[best[0] : best[1]], name[best[1] :]) if best else None


def _attributes_of(group: str) -> tuple[str, ...]:
    """Return the attributes of a group's name; two for one that crosses them."""
    plain = _plain(group).replace(" ", "_")
    if plain in _OF_WORD:
        return (_OF_WORD[plain],)
    if plain in _REFERENCES:
        return ("",)
    first, _, second = plain.partition("_")
    parts = (_OF_WORD.get(first, ""), _OF_WORD.get(second, ""))
    # In "m_rich", m is a model.
    whole = min(len(first), len(second)) > 1
    return parts if whole and all(parts) and parts[0] != parts[1] else ()


def _unknown_groups(names: Sequence[str], source: str) -> list[_Column]:
    """Return the columns of the largest grid of two parts: models and unknown groups."""
    best: tuple[list[str], list[str], str] | None = None
    there = set(names)
    for name in names:
        for sign in re.finditer(_SIGN, name):
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
    by_left, by_right = (sum(map(bool, map(_MODELS.search, of))) for of in (lefts, rights))
    if by_left * len(rights) == by_right * len(lefts):
        first = f"{lefts[0]}{mark}{rights[0]}"
        message = f"the columns {first_of([first, f'{lefts[1]}{mark}{rights[1]}'])} and others vary"
        message += " in two parts, and it is not clear which is the group"
        remedy = f'give --wide "{{model}}{mark}{{group}}" or --wide "{{group}}{mark}{{model}}"'
        raise InputError([Problem(source, message, remedy)])
    if by_left * len(rights) > by_right * len(lefts):
        return [_Column(left + mark, right, "") for left in lefts for right in rights]
    return [_Column("", left, mark + right) for left in lefts for right in rights]


def _described(columns: Sequence[_Column], others: Sequence[str], source: str) -> _Grid:
    """Return the options that describe these columns, and none of the others."""
    frames = list(dict.fromkeys(column.frame for column in columns))
    groups = list(dict.fromkeys(column.group for column in columns))
    before, after, models = _frame(frames, source)
    attributes = {group: _attributes_of(group) for group in groups}
    if {ORIGINAL, NEUTRALIZED} <= set(groups):
        attributes |= dict.fromkeys((ORIGINAL, NEUTRALIZED), (BASELINE,))
    kinds = list(dict.fromkeys(kind for kind in attributes.values() if any(kind)))
    several = [kind for kind in kinds if sum(kind == own for own in attributes.values()) > 1]
    if len(kinds) > 1 and len(several) == len(kinds) and all(len(kind) == 1 for kind in kinds):
        options = tuple(_listed(kind[0], attributes, before, after) for kind in kinds)
        own = [c.name for c in columns if any(attributes[c.group])]
        return _Grid(own, options, "", (), bool(models))
    options = (_template(before, after, models, groups, others),)
    crossed = kinds[0] if len(kinds) == 1 and len(kinds[0]) == 2 else ()
    attribute = "_".join(kinds[0]) if len(kinds) == 1 else "group"
    return _Grid([c.name for c in columns], options, attribute, crossed, bool(models))


def _listed(kind: str, attributes: Mapping[str, tuple[str, ...]], before: str, after: str) -> str:
    """Return the option for the groups of one attribute: ``sex:male={model}_male,…``."""
    own = [group for group, of in attributes.items() if of == (kind,)]
    return f"{kind}:" + ",".join(f"{group}={before}{group}{after}" for group in own)


def _frame(frames: Sequence[tuple[str, str]], source: str) -> tuple[str, str, list[str]]:
    """Return the text before and after a group, with ``{model}``, and the models."""
    befores, afters = (list(dict.fromkeys(side)) for side in zip(*frames, strict=True))
    if len(befores) > 1 and len(afters) > 1:
        message = f"the columns vary before and after the group: {first_of(befores)} and "
        message += first_of(afters)
        remedy = 'give a template such as --wide "{model}_{group}_answer"'
        raise InputError([Problem(source, message, remedy)])
    if len(frames) == 1:
        before, after = frames[0]
        if len(before) > 1 and _MODELS.search(before):
            lead, model, mark = _parted([before])
            return f"{lead}{{model}}{mark}", after, model
        if len(after) > 1 and _MODELS.search(after):
            lead, model, mark = _parted([after])
            return before, f"{lead}{{model}}{mark}", model
        return before, after, []
    if len(befores) > 1:
        lead, models, mark = _parted(befores)
        return f"{lead}{{model}}{mark}", afters[0], models
    lead, models, mark = _parted(afters)
    return befores[0], f"{lead}{{model}}{mark}", models


def _parted(texts: Sequence[str]) -> tuple[str, list[str], str]:
    """Return what texts begin and end with in common, up to a sign, and the rest of each."""
    signs = [re.match(r"[\W_]*", texts[0])[0], re.search(r"[\W_]*$", texts[0])[0]]  # type: ignore[index]
    lead = signs[0] if all(text.startswith(signs[0]) for text in texts) else ""
    end = signs[1] if all(text.endswith(signs[1]) for text in texts) else ""
    return lead, [text[len(lead) : len(text) - len(end)] for text in texts], end


def _template(
    before: str, after: str, models: Sequence[str], groups: Sequence[str], others: Iterable[str]
) -> str:
    """Return the shortest template that no other column fits."""
    others = list(others)
    each = {"model": models, "group": groups}
    for limited in ((), ("group",), ("group", "model")):
        parts = {
            name: f"{{{name}:{'|'.join(of)}}}" if name in limited else f"{{{name}}}"
            for name, of in each.items()
        }
        text = f"{before}{{group}}{after}"
        pattern = re.escape(text)
        for name, of in each.items():
            fits = "|".join(map(re.escape, of)) if name in limited else ".+"
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?:{fits})")
        if not any(re.fullmatch(pattern, other) for other in others):
            break
    return text.replace("{model}", parts["model"]).replace("{group}", parts["group"])
