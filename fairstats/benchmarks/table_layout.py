"""Recognise the layout of a table of answers: its items, models, groups, answers and keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from fairstats._lib.formatting import counted
from fairstats._lib.problems import InputError, Problem, first_of, input_error
from fairstats.benchmarks.answer_columns import (
    ATTRIBUTES,
    Column,
    answer_columns,
    baseline_variants,
    is_short,
    plain,
    texts_of,
    unclear_columns,
)
from fairstats.benchmarks.answer_templates import Grid, describe_columns
from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.refusals import is_no_answer

#: The columns of an answer set and its sample, which can have rows of their own in any layout.
_UNITS = ("model", "strategy", "sample")
_ID = re.compile(
    r"(?:item|case|question|vignette|scenario|stay|encounter|sample|prompt|example|record|row|task)"
    r"(?: ?(?:id|no|nr|number|idx|index))?|q?id|no|nr|number|index"
)
_NAMES = {
    "model": ("model", "model name", "llm", "llm name", "system"),
    "strategy": ("strategy", "prompt strategy", "prompting strategy", "prompt type"),
    "sample": ("sample", "run", "repeat", "repetition", "replicate", "trial", "iteration"),
    "answer_key": (
        "answer key", "key", "correct", "correct answer", "correct option", "correct choice",
        "right answer", "gold", "gold answer", "gold label", "ground truth", "truth",
        "reference answer", "expected answer",
    ),
    "answer": (
        "answer", "decision", "choice", "response", "reply", "output", "prediction",
        "predicted answer", "model answer", "recommendation", "rating", "score", "level",
    ),
    "group": ("group", "variant", "demographic", "demographic group", "patient group", "persona"),
}  # fmt: skip
#: Names of answers that may also be somebody's judgement of a reply.
_JUDGED = ("recommendation", "rating", "score", "level")
#: Names of the replies that a column of answers was read from.
_REPLY = re.compile("(?:(?:raw|full|model) )?(?:answer|reply|response|output|completion)(?: raw)?")
_NO_GROUPS = ("neutral", "neutralized", "neutralised", "unspecified", "not specified", "no patient")


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
    left_out : dict of str
        The columns that are not used, and what they hold.
    values : tuple of str
        The crossed groups that mean a version without a group, such as ``none+none``, and the name
        of the baseline's variant (``--values``).
    """

    columns: dict[str, str] = field(default_factory=dict)
    wide: tuple[str, ...] = ()
    attribute: str = "group"
    crossed: tuple[str, ...] = ()
    models: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()


def recognise_layout(
    table: pd.DataFrame,
    *,
    columns: Mapping[str, str],
    wide: Sequence[str] = (),
    source: str = "<frame>",
) -> Layout:
    """Recognise what the columns of a table hold.

    `columns` are the fields of columns that the caller has given, which are not changed. `wide` are
    the given options for columns that hold answers.

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
    table = table.set_axis([str(name) for name in table], axis=1)
    found = _layout(table, columns, wide, source)
    group = (found.columns | {**columns}).get("group", "group")
    values = [f"group:{name}={variant}" for name, variant in _baseline(table, group).items()]
    return replace(found, values=tuple(values))


def _layout(
    table: pd.DataFrame, columns: Mapping[str, str], wide: Sequence[str], source: str
) -> Layout:
    """Recognise the columns."""
    names = list(table)
    given = dict(columns)
    own = ("item_id", "attribute", *_NAMES)
    given |= {name: name for name in own if name in table and name not in given}
    used = {part.strip() for path in given.values() for part in path.split("+")}
    free = [name for name in names if name not in used]
    rows = not wide and bool(_group_columns(table, free))
    answered = {"answer", "answer_raw"} & set(given) or _named(free, "answer")
    long = "group" in given or (rows and bool(answered))
    keys = _named(free, "answer_key")
    could = [name for name in free if name not in keys]
    columns_of = [] if long or wide else answer_columns(table, could, source, known=rows)
    if not (columns_of or wide):
        return _long(table, free, given, source)
    answers = [column.name for column in columns_of]
    # Of each option, as white=ColumnA,black=ColumnB; the columns of a template are not known.
    parts = [part.partition("=") for one in wide if "{" not in one for part in one.split(",")]
    answers += [name.strip() for _, _, name in parts if name.strip() in table]
    rest = [name for name in free if name not in answers]
    templates = "".join(one for one in wide if "{" in one)
    found = _units(rest, given | {name: "" for name in _UNITS if f"{{{name}" in templates})
    rest = [name for name in rest if name not in found.values()]
    # "{model}_answer" says nothing of groups, which are then in a column.
    ungrouped = wide and not any("{group" in one or "{" not in one.split("=")[0] for one in wide)
    groups: list[str] = []
    if ungrouped and "group" not in given:
        groups = _one_or_two_groups(table, rest, source)
        found["group"] = "+".join(groups)
        rest = [name for name in rest if name not in groups]
    if "item_id" not in given:
        by = None if ungrouped else [*found.values()]
        found["item_id"] = _item_column(table, rest, source, by=by)
    if "answer_key" not in given and answers:
        domain = texts_of(table[answers].stack())
        for name in _named(rest, "answer_key"):
            if texts_of(table[name]) <= domain:
                found["answer_key"] = name
                break
    left_out = tuple(name for name in rest if name not in found.values())
    models = "model" in given or "model" in found
    if not columns_of:
        return Layout(
            found,
            attribute=_attribute(groups),
            crossed=_parts(groups),
            models=models or "{model" in templates,
            left_out=_contents(table, left_out) if ungrouped or answers else {},
        )
    grid = describe_columns(columns_of, left_out, source)
    left_out += tuple(column.name for column in columns_of if column not in grid.columns)
    if unclear := unclear_columns(table, grid.columns, left_out):
        raise InputError([_unclear(unclear, grid, left_out, source)])
    return Layout(
        found,
        grid.options,
        grid.attribute,
        grid.crossed,
        grid.models or models,
        _contents(table, left_out, options=texts_of(table[answers].stack())),
    )


def _baseline(table: pd.DataFrame, path: str) -> dict[str, str]:
    """Return the variant of the baseline that groups mean, such as the crossed none+none."""
    names = [part.strip() for part in path.split("+")]
    if not set(names) <= set(table):
        return {}
    texts = table[names].dropna().astype(str).drop_duplicates()
    if len(names) == 1:
        found = baseline_variants(texts[names[0]].tolist())
        return {group: variant for group, variant in found.items() if group != variant}
    without = texts.map(lambda text: is_no_answer(text.strip()) or plain(text) in _NO_GROUPS)
    both = without.all(axis=1)
    # With black+none, none is a group as any other.
    if len(names) > 2 or not both.eq(without.any(axis=1)).all():
        return {}
    return {"+".join(row): NEUTRALIZED for row in texts[both].to_numpy()}


def _contents(
    table: pd.DataFrame, names: Iterable[str], options: Collection[str] = ()
) -> dict[str, str]:
    """Return what columns hold, for a user who wonders why they are not used."""

    def content(name: str) -> str:
        texts = texts_of(table[name])
        if len(texts) < 2:
            return "the same in every row" if texts else "empty"
        if texts <= set(options):
            return "answers' options, but not named as the answers are"
        return counted(len(texts), "value") if is_short(table[name]) else "texts"

    return {name: content(name) for name in names}


def _unclear(
    columns: Sequence[Column], grid: Grid, left_out: Sequence[str], source: str
) -> Problem:
    """Report columns that may hold answers, with the options that use them or leave them out."""
    rest = [name for name in left_out if name not in {column.name for column in columns}]
    both = describe_columns([*grid.columns, *columns], rest, source).options
    use, leave = (" ".join(f'--wide "{one}"' for one in of) for of in (both, grid.options))
    message = f"some columns fit the answers' {grid.options[0]} only in part, or hold other texts: "
    message += first_of([column.name for column in columns], 8)
    return Problem(source, message, f"give {use} to use them, or {leave} to leave them out")


def _named(names: Iterable[str], column: str) -> list[str]:
    """Return the names that are usually given to a column, the likeliest first."""
    usual = _NAMES[column]
    found = [name for name in names if plain(name) in usual]
    return sorted(found, key=lambda name: usual.index(plain(name)))


def _units(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that name the answer set of a row and its sample."""
    found: dict[str, str] = {}
    for column in _UNITS:
        if column not in given and (there := _named(_rest(names, found, ()), column)):
            found[column] = there[0]
    return found


def _item_column(
    table: pd.DataFrame, names: Sequence[str], source: str, *, by: Sequence[str] | None
) -> str:
    """Return the column of the items by its name, or the first one if it is unique `by` others."""

    def fits(name: str) -> bool:
        values = table[name]
        texts = values.dropna().astype(str)
        short = bool(len(texts)) and texts.str.len().max() <= 200
        unique = by is None or not table.duplicated([name, *by]).any()
        return short and not values.isna().any() and unique

    found = [name for name in names if _ID.fullmatch(plain(name)) and fits(name)]
    # "id" before "case": a case may be a text.
    found.sort(key=lambda name: not plain(name).endswith("id"))
    if not found and by is not None and names and fits(names[0]):
        found = [names[0]]
    if found:
        return found[0]
    message = "no column is recognised as the items' identifier"
    remedy = f"give it with --map item_id=COLUMN; the columns are {first_of(names, 12)}"
    raise input_error(source, message, remedy, column="item_id")


def _group_columns(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that hold a group in each row, by their names."""
    found = _named(names, "group") or [name for name in names if plain(name) in ATTRIBUTES]
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
    raise input_error(source, message, remedy, column="group")


def _attribute(groups: Sequence[str]) -> str:
    """Return the attribute of columns of groups: their names, if they name attributes."""
    parts = [plain(name).replace(" ", "_") for name in groups]
    return "_".join(parts) if parts and parts[0] in ATTRIBUTES else "group"


def _parts(groups: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes that two columns of groups cross."""
    return tuple(plain(n).replace(" ", "_") for n in groups) if len(groups) == 2 else ()


def _long(
    table: pd.DataFrame, names: Sequence[str], given: Mapping[str, str], source: str
) -> Layout:
    """Recognise a table with one row per answer."""
    found: dict[str, str] = {}
    groups = [] if "group" in given else _one_or_two_groups(table, names, source)
    if groups:
        found["group"] = "+".join(groups)
    found |= _units(_rest(names, found, groups), given)
    if "answer_key" not in given and (there := _named(_rest(names, found, groups), "answer_key")):
        found["answer_key"] = there[0]
    if "answer" not in given and "answer_raw" not in given:
        there = _named(_rest(names, found, groups), "answer")
        if not there:
            message = "no column is recognised as the answer"
            remedy = (
                "give it with --map answer=COLUMN, or columns of several models with a template "
                f'such as --wide "{{model}}_answer"; the columns are {first_of(names, 12)}'
            )
            raise input_error(source, message, remedy, column="answer")
        short = [name for name in there if is_short(table[name])]
        # A prediction next to replies was read from them.
        own = [name for name in short if name == there[0] or plain(name) not in _JUDGED]
        found |= {"answer": own[0]} if own else {"answer_raw": there[0]}
    if "answer_raw" not in found | {**given}:
        for name in _rest(names, found, groups):
            if _REPLY.fullmatch(plain(name)) and not is_short(table[name]):
                found["answer_raw"] = name
                break
    if "item_id" not in given:
        rest = _rest(names, found, groups)
        found["item_id"] = _item_column(table, rest, source, by=None)
    left_out = _rest(names, found, groups)
    snapshots = [name for name in (given.get("snapshot", ""),) if name in table]
    apart = _telling_apart(table, found | {**given}, [*left_out, *snapshots])
    for name in apart.keys() & snapshots:
        # Import would refuse them, as a snapshot names no model.
        raise input_error(source, _DIFFER, apart[name], column=name)
    models = "model" in found or "model" in given
    order = [name for name in ("item_id", *_NAMES, "answer_raw") if name in found]
    return Layout(
        {name: found[name] for name in order},
        attribute=_attribute(groups),
        crossed=_parts(groups),
        models=models,
        left_out=_contents(table, left_out)
        | {name: f"{_DIFFER}: {remedy}" for name, remedy in apart.items()},
    )


_DIFFER = "the rows of an answer differ in it"


def _telling_apart(
    table: pd.DataFrame, fields: Mapping[str, str], left_out: Iterable[str]
) -> dict[str, str]:
    """Return the column without which rows repeat, and how to use it; empty if there is none."""
    keys = ("item_id", "attribute", "group", *_UNITS)
    by = [part.strip() for key in keys for part in fields.get(key, "").split("+") if part]
    if not set(by) <= set(table) or not table.duplicated(by).any():
        return {}
    for name in left_out:
        # A number or a time of each row says nothing.
        few = 2 * table[name].nunique() <= len(table)
        if few and not table.duplicated([*by, name]).any():
            of = "group" if plain(name) in ATTRIBUTES else "model"
            use = f"--map {of}={'+'.join(filter(None, (fields.get(of), name)))}"
            use += f", or --map sample={name} for repeated samples" * (of == "model")
            return {name: f"give {use}"}
    return {}


def _rest(names: Iterable[str], found: Mapping[str, str], groups: Collection[str]) -> list[str]:
    return [name for name in names if name not in found.values() and name not in groups]
