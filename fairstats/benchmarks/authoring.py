"""Propose a benchmark file from answers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairstats._lib.formatting import capital
from fairstats._lib.problems import (
    Note,
    Problem,
    first_of,
    input_error,
    keyword,
    refuse,
)
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.benchmark_files import item_lines, toml_text, toml_value
from fairstats.benchmarks.declaration import (
    BASELINE,
    NEUTRALIZED,
    ORIGINAL,
    POOLED,
    folded,
    is_number,
    numbered,
)
from fairstats.benchmarks.loading import builtin_benchmarks
from fairstats.benchmarks.refusals import (
    REFUSAL,
    bare_letter,
    is_no_answer,
    is_odd_number,
    is_refusal,
    odd_numbers,
)

#: The mark of a line that needs a person's decision.
DECIDE = "DECIDE"
#: Whole numbers within fewer are levels, more are scores. More words are replies.
MOST_LEVELS = 8
MOST_WORDS = 12
#: Of so many answers, an option that only one of them is may be a mistake.
_MANY = 100
#: A word for a refusal, such as "declined", that is more frequent is an option.
MOST_REFUSED = 0.1
# Of more groups in several spellings, the columns are named instead.
_MOST_SPELLINGS = 3
#: Above these limits, a column holds something other than groups, attributes or versions.
MOST_GROUPS = 60
MOST_ATTRIBUTES = 60
MOST_VERSIONS = 60

_HEAD = """\
# Proposed by `fairstats benchmark init` from answers. Check every line. Lines with the mark
# {decide} need your decision: correct the value below, then delete the mark.
# `fairstats benchmark check` lists the remaining marks."""

_PAIRS = """\
# {decide}: the compared pairs. Differences are first minus second, so the first group of a pair is
# the reference, e.g. the privileged group. Proposed: the first group in the answers with each
# other one ({proposed} of {possible} possible pairs). More pairs mean larger adjusted p-values."""


def propose_benchmark(
    answers: pd.DataFrame,
    *,
    stem: str | None = None,
    source: str = "<frame>",
    crossed: Mapping[str, tuple[str, str]] | None = None,
    cluster: str | None = None,
    item: str = "item",
) -> dict[str, str]:
    """Propose the files of a benchmark from answers to it.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers of one benchmark that follow the schema, as returned by `fairstats.read_answers`.
    stem : str, optional
        The files' name without suffix; by default that of the benchmark.
    source : str
        The name of the answers' file, for problems.
    crossed : Mapping[str, (str, str)], optional
        The two attributes that an attribute crosses; its groups are named ``"a+b"``.
    cluster : str, optional
        The column that holds what several items share.
    item : str
        What pages call an item that is not a vignette with a right option.

    Returns
    -------
    dict of str
        The text of each file by its name: the items with their keys and clusters, and last the
        declaration (TOML).

    Raises
    ------
    InputError
        If the answers are of several benchmarks or a built-in one, an item has two answer keys or
        clusters, an attribute has a single group, there are more groups than a person could
        declare, or the answers are neither options nor numbers.

    Examples
    --------
    >>> rows = [{"benchmark": "b", "benchmark_version": "1", "item_id": "q1", "attribute": "age",
    ...          "group": group, "answer": "A", "answer_key": "B"} for group in ("young", "old")]
    >>> files = propose_benchmark(pd.DataFrame(rows))
    >>> list(files)
    ['b.keys.jsonl', 'b.toml']
    >>> '["young", "old"]' in files["b.toml"]
    True
    """
    crossed = crossed or {}
    answers = answers.assign(answer=answers["answer"].map(bare_letter, na_action="ignore"))
    refuse(_problems(answers, source, cluster, crossed))
    kind = _proposed_kind(answers, source)
    if kind.name in ("level", "score") and (note := odd_numbers(answers["answer"].dropna())):
        warnings.warn(note, Note, stacklevel=2)
    name = str(answers["benchmark"].iloc[0])
    stem = stem or slug(name)
    columns = [
        "item_id",
        *["answer_key"] * _has_some_keys(answers),
        *([cluster] if cluster else []),
    ]
    items = answers[columns].drop_duplicates().sort_values("item_id")
    keys_file = f"{stem}.keys.jsonl"
    parts = [
        _HEAD.format(decide=DECIDE),
        *_entries(answers, name, keys_file, kind, cluster, crossed),
        *_tables(answers, kind, item, cluster),
    ]
    for attribute, rows in _by_attribute(answers):
        names = list(map(str, rows["group"].unique()))
        parts += _crossed(attribute, names, crossed.get(attribute))
    texts = {str(column): items[column].astype(str).tolist() for column in items}
    if "answer_key" in texts:
        spellings = _options_in(answers)
        texts["answer_key"] = [
            spellings.get(_read(key), key) if given else ""
            for key, given in zip(texts["answer_key"], items["answer_key"].notna(), strict=True)
        ]
    rows = [
        {column: text for column, text in zip(texts, row, strict=True) if text}
        for row in zip(*texts.values(), strict=True)
    ]
    return {keys_file: item_lines(rows), f"{stem}.toml": "\n\n".join(parts) + "\n"}


def _has_keys(answers: pd.DataFrame) -> bool:
    return "answer_key" in answers and bool(answers["answer_key"].notna().all())


def _has_some_keys(answers: pd.DataFrame) -> bool:
    return "answer_key" in answers and bool(answers["answer_key"].notna().any())


@dataclass(frozen=True)
class _Kind:
    """A proposed kind of answers: its entries, and the comments on them."""

    name: str
    entries: tuple[tuple[str, dict[str, Any]], ...]


def _proposed_kind(answers: pd.DataFrame, source: str) -> _Kind:
    """Propose a kind from the answers and keys, and its options or limits."""
    keyed = _has_keys(answers)
    texts = list(_options_in(answers).values())
    refused = [repr(text) for text in _refusals_in(answers["answer"].value_counts())]
    note = f"\n{DECIDE}: {first_of(refused)} counts as a refusal, not as an option." * bool(refused)
    if sentences := [repr(text) for text in texts if text.count(" ") > 2]:
        note += (
            f"\n{DECIDE}: {first_of(sentences)} is an option; if it is a refusal, remove it, and"
        )
        note += "\nimport it with --values 'status:TEXT=refused'."
    note += "".join(_rare_in(answers, texts))
    if len(texts) == 1:
        message = f"has only one answer, {texts[0]!r}, so no kind can be proposed"
        remedy = "give answers of more items or models, or write the file by hand"
        raise input_error(source, message, remedy, column="answer")
    about = f"{DECIDE}: what an answer is. {_KIND_WORDS}"
    letters = bool(texts) and all(re.fullmatch("[A-Z]", text) for text in texts)
    if letters and keyed and ("A" in texts or max(texts) <= _LAST_LETTER):
        return _Kind("choice", (_letter_options(texts, note),))
    numbers = sorted({float(text) for text in texts if is_number(text)})
    whole = all(number.is_integer() for number in numbers)
    if texts and len(numbers) == len(texts):
        if len(numbers) == 2 and not keyed:
            return _decision(texts, about, note)
        if whole and len(numbers) > 1 and numbers[-1] - numbers[0] < MOST_LEVELS:
            return _level(numbers, about, note)
        low, high = (int(end) if end.is_integer() else end for end in (numbers[0], numbers[-1]))
        entries = (
            (about, {"kind": "score"}),
            (
                f"{DECIDE}: the lowest and the highest possible score. For CFR, equal scores are\n"
                "the same answer; with same_within = 0.5 (say), scores so close are too."
                + _far_scores(numbers),
                {"limits": [low, high]},
            ),
            (f'{DECIDE}: what a higher score means, e.g. "more suitable".', {"higher": ""}),
            _WORSE,
        )
        return _Kind("score", entries)
    if texts and all(is_number(text) or is_odd_number(text) for text in texts):
        shown = first_of([repr(text) for text in texts if is_odd_number(text)])
        message = f"has numbers with a unit, a comma or a percent sign ({shown})"
        remedy = "write numbers with a decimal point and without units and signs"
        raise input_error(source, message, remedy, column="answer")
    if not 1 < len(texts) <= MOST_WORDS:
        shown = first_of([repr(text) for text in texts]) or "none"
        message = f"has {len(texts)} different short texts ({shown}), which are no options"
        remedy = f"use 2 to {MOST_WORDS} options or numbers; map answer to the column with these"
        raise input_error(source, message, remedy, column="answer")
    if keyed:
        options = sorted(texts)
        of = f"The options in the answers and keys.{note}{_order(options)}"
        return _Kind("choice", ((about, {"kind": "choice"}), (of, {"options": options})))
    return _decision(texts, about, note)


def _far_scores(numbers: list[float]) -> str:
    """Return comments on a lowest or highest score that may be a typing error."""
    return "".join(
        f"\n{DECIDE}: {end:g} is far from the other scores, {rest[0]:g} to {rest[-1]:g}."
        for end, nearest, rest in (
            (numbers[0], numbers[1], numbers[1:]),
            (numbers[-1], numbers[-2], numbers[:-1]),
        )
        if len(rest) > 1 and abs(end - nearest) > rest[-1] - rest[0]
    )


_WORSE = (
    f"{DECIDE}: the end that --missing incorrect gives to missing answers.",
    {"worse": "lowest"},
)
# Without the option A, letters beyond this one are short for words, such as Y and N.
_LAST_LETTER = "J"

_KIND_WORDS = """Kinds: choice (one option is right), decision
(some options are favourable), level (ordered options) or score (a number).
If you change it, add favourable for decisions, higher and worse for levels, and limits,
higher and worse for scores."""


def _order(options: Sequence[str]) -> str:
    """Return the comment on the order of words, which counts if they are levels."""
    if len(options) < 3:
        return ""
    return f"\n{DECIDE}: for levels, the order (proposed: {', '.join(numbered(options))})."


def _options_in(answers: pd.DataFrame) -> dict[str, str]:
    """Return the texts that look like options; others may be replies, which `import` reads."""
    keys = answers["answer_key"] if _has_some_keys(answers) else None
    found = answers["answer"].value_counts()
    left_out = [*_refusals_in(found), *_replies_in(found, keys)]
    found = found[[text not in left_out and not _is_absent(text) for text in found.index]]
    of_keys = pd.Series(dtype="int64") if keys is None else keys.value_counts()
    for alike in (is_number, re.compile("[A-Z]").fullmatch):
        fits = np.array([bool(alike(text)) for text in found.index], dtype=bool)
        mostly = found[fits].sum() > 0.8 * found.sum()
        if (mostly if keys is None else all(map(alike, of_keys.index))) and len(found):
            found = found[fits]
    if keys is not None and len(found) > MOST_WORDS and not all(map(is_number, found.index)):
        found = found[:0]
    return _spellings(of_keys.add(found, fill_value=0))


def _rare_in(answers: pd.DataFrame, texts: Iterable[str]) -> Iterator[str]:
    """Return a comment on each option that is a single answer of many, and no key."""
    given = answers["answer"].dropna().map(_read)
    keys = set(answers["answer_key"].dropna().map(_read)) if _has_some_keys(answers) else set()
    counts = given.value_counts()
    for text in texts:
        if counts.get(_read(text)) == 1 and _read(text) not in keys and len(given) >= _MANY:
            row = answers.loc[given.index[given == _read(text)][0]]
            yield (
                f"\n{DECIDE}: {text!r} is only one of {len(given):,} answers (item "
                f"{row['item_id']}, {row['group']}).\nIf it is a mistake, correct it, and remove "
                "the option."
            )


def _is_absent(text: str) -> bool:
    return is_no_answer(text) and not is_refusal(text)


def _refuses(text: str) -> bool:
    return is_refusal(text) or REFUSAL.search(text) is not None


def _refusals_in(found: pd.Series) -> list[str]:
    """Return the texts that refuse, unless they are so frequent that they are an option."""
    named = [text for text in found.index if _refuses(text)]
    others = [text for text in found.index if text not in named and not is_no_answer(text)]
    rare = found[named].sum() <= MOST_REFUSED * found.sum()
    return named if rare and len(others) > 1 else []


def _replies_in(found: pd.Series, keys: pd.Series | None) -> list[str]:
    """Return rare sentences, which are replies; keys show what the options are."""
    if keys is not None:
        return []
    return [
        text for text in found.index if text.count(" ") > 2 and found[text] < 0.01 * found.sum()
    ]


def _spellings(found: pd.Series) -> dict[str, str]:
    """Return the most frequent spelling of each answer, as it is read; ``3`` for ``3.0``."""
    kept: dict[str, str] = {}
    for text in map(str, found.sort_values(ascending=False, kind="stable").index):
        kept.setdefault(_read(text), " ".join(_as_stored(text).split()))
    return kept


def _read(text: str) -> str:
    """Return what spellings of an answer have in common; they differ by case and blanks only."""
    return " ".join(_as_stored(text).casefold().split())


def _as_stored(text: str) -> str:
    return f"{float(text):.15g}" if is_number(text) else text


def _letter_options(texts: Sequence[str], note: str) -> tuple[str, dict[str, Any]]:
    last = max(texts)
    options = [chr(code) for code in range(ord("A"), ord(last) + 1)]
    unseen = [letter for letter in options if letter not in texts]
    about = f"The option letters, up to {last}, the last one in the answers and keys."
    if unseen:
        about += f" Not in any answer or key: {', '.join(unseen)}."
    return about + note, {"options": options}


def _decision(texts: Sequence[str], about: str, note: str) -> _Kind:
    first = min(texts, key=lambda text: (bool(_BAD.match(text)), text))
    good = [text for text in texts if _GOOD.match(text)] or [first]
    options = [*good[:1], *sorted(set(texts) - set(good[:1]))]
    entries = (
        (about, {"kind": "decision"}),
        (f"The options in the answers.{note}{_order(options)}", {"options": options}),
        (f"{DECIDE}: the options that are good for the person.", {"favourable": good[:1]}),
    )
    return _Kind("decision", entries)


_GOOD = re.compile("(?i)(?:yes|true|1|accept|approve|hire|grant|recommend|admit|treat|invite)")
_BAD = re.compile("(?i)(?:no|false|0|reject|den[iy]|decline|refuse|withhold|exclude|fail)")


def _level(numbers: Sequence[float], about: str, note: str) -> _Kind:
    options = list(range(int(numbers[0]), int(numbers[-1]) + 1))
    unseen = [str(option) for option in options if option not in numbers]
    note = (f" Not in any answer or key: {', '.join(unseen)}." if unseen else "") + note
    entries = (
        (about, {"kind": "level"}),
        (f"{DECIDE}: the levels in order; add those at the ends.{note}", {"options": options}),
        (f'{DECIDE}: what a higher level means, e.g. "less urgent".', {"higher": ""}),
        _WORSE,
    )
    return _Kind("level", entries)


# Numbers in other columns are facts, such as ages.
_NUMBERED = re.compile(
    r"(?i)(?:id|no|nr|number|code|patient|subject|cluster|family|hospital|clinic|practice"
    r"|cent(?:er|re)|site|ward|unit|school|doctor|physician|stay|admission|encounter|visit|message|document)\W*$"
)


def likely_cluster(answers: pd.DataFrame, columns: Iterable[str]) -> str | None:
    """Return the column with most values that several items share, if its values are names."""
    items = answers["item_id"].nunique()
    shared: dict[str, int] = {}
    for column in (name for name in columns if name in answers):
        values = answers[["item_id", column]].drop_duplicates()
        names = values[column].dropna().astype(str).unique()
        alone = len(values) == items and not values[column].isna().any()
        short = all(len(name) <= 60 and len(name.split()) < 3 for name in names)
        short &= bool(_NUMBERED.search(str(column))) or not all(map(is_number, names))
        if alone and short and MOST_LEVELS < len(names) <= 0.7 * items:
            shared[str(column)] = len(names)
    return max(shared, key=lambda column: shared[column]) if shared else None


def _by_attribute(answers: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(n), rows) for n, rows in answers.groupby("attribute", sort=False)]


def _problems(
    answers: pd.DataFrame, source: str, cluster: str | None, crossed: Mapping[str, tuple[str, str]]
) -> Iterator[Problem]:
    def problem(message: str, remedy: str, column: str, value: str | None = None) -> Problem:
        return Problem(source, message, remedy, column=column, value=value)

    names = answers["benchmark"].unique().tolist()
    if len(names) != 1:
        remedy = "give the answers of one benchmark"
        yield problem(f"has {len(names)} benchmarks: {first_of(names)}", remedy, "benchmark")
    elif names[0] in builtin_benchmarks():
        remedy = "use the built-in file, or rename the benchmark in the answers"
        yield problem("is a built-in benchmark", remedy, "benchmark", names[0])
    for column, most in (("attribute", MOST_ATTRIBUTES), ("benchmark_version", MOST_VERSIONS)):
        if (count := answers[column].nunique()) > most:
            remedy = f"use at most {most}; check that the column is the right one"
            yield problem(f"has {count:,} different values", remedy, column)
            return
    for column, noun in (("answer_key", "answer key"), (cluster or "", "cluster")):
        keys = answers[["item_id", column]].drop_duplicates() if column in answers else answers[:0]
        for item in keys.loc[keys["item_id"].duplicated(), "item_id"].unique()[:20]:
            found = sorted(map(str, keys.loc[keys["item_id"] == item, column].fillna("none")))
            remedy = f"correct the {noun}s, or give different questions different item ids"
            said = f"has several {noun}s: {', '.join(found)}"
            yield problem(said, remedy.replace("answer keys", "keys"), "item_id", str(item))
    if cluster in answers and answers[cluster].isna().any():
        yield problem("is empty for some items", "fill it in, or name another column", str(cluster))
    varied = [name for name in answers["attribute"].unique() if name != BASELINE]
    if not varied:
        remedy = "add the answers for the attribute that is varied"
        yield problem("has only the baseline", remedy, "attribute")
    if POOLED in varied:
        remedy = "use another name"
        yield problem("is reserved for all attributes together", remedy, "attribute", POOLED)
    for name, rows in _by_attribute(answers):
        spelled: dict[str, list[str]] = {}
        for group in rows["group"].value_counts().index:
            alike = re.sub(r" ?\+ ?", "+", folded(_label(group)))
            spelled.setdefault(alike, []).append(group)
        if (count := len(spelled)) > MOST_GROUPS:
            remedy = f"use at most {MOST_GROUPS}; check that the column holds the patients' groups"
            yield problem(f"attribute {name} has {count:,} different groups", remedy, "group")
        elif count < 2 and name != BASELINE:
            remedy = "add the answers for the other groups, or remove these"
            group = rows["group"].iloc[0]
            if len(varied) > 1:
                meant = {"attribute": {name: BASELINE}, "group": {group: ORIGINAL}}
                given = (keyword("values", {column: text}) for column, text in meant.items())
                remedy += f"; if it is the unchanged version, use {' '.join(given)}"
            yield problem(f"attribute {name} has a single group", remedy, "group", group)
        elif name == BASELINE and (others := set(rows["group"]) - {ORIGINAL, NEUTRALIZED}):
            remedy = f"use {ORIGINAL} and {NEUTRALIZED}, or another name for the attribute"
            yield problem("is not a variant of the baseline", remedy, "group", min(others))
        more = {other: first for first, *others in spelled.values() for other in others}
        if len(more) > _MOST_SPELLINGS:
            other, first = next(iter(more.items()))
            message = f"{len(more)} groups of attribute {name} differ from others in case, blanks "
            message += f"or _ only, such as {other!r} and {first!r}"
            columns = (
                f"columns {' and '.join(crossed[name])}" if name in crossed else "group column"
            )
            remedy = f"write each in one way: trim and lower-case the {columns} of the table"
            yield problem(message, remedy, "group")
            continue
        for group, first in more.items():
            message = f"differs from {first!r} in case, blanks or _ only"
            remedy = f"make them one, e.g. with {keyword('values', {'group': {group: first}})}"
            yield problem(message, remedy, "group", group)


def _entries(
    answers: pd.DataFrame,
    name: str,
    keys_file: str,
    kind: _Kind,
    cluster: str | None,
    crossed: Collection[str],
) -> Iterator[str]:
    items, options = answers["item_id"].nunique(), _options_in(answers)
    missing = sum(not isinstance(t, str) or _read(t) not in options for t in answers["answer"])
    yield _entry("The name in the answers' column benchmark.", name=name)
    yield _entry(f"{DECIDE}: the title on pages.", title=name)
    yield _entry(
        f"{DECIDE}: one or two sentences for readers.", description=f"{items:,} items of {name}."
    )
    for about, entry in kind.entries:
        yield _entry(about, **entry)
    about = "items"
    if _has_keys(answers):
        about = "key of each item, from the answers' column answer_key"
    elif _has_some_keys(answers):
        keyed = answers.loc[answers["answer_key"].notna(), "item_id"].nunique()
        about = f"items, with the keys of {keyed:,} of {items:,}"
    yield _entry(f"The {about}.", keys_file=keys_file)
    if cluster is not None:
        yield _entry(
            f"{DECIDE}: what several items share, such as a patient. Items with the same value\n"
            f"count as one independent unit. {answers[cluster].nunique():,} values for {items:,} "
            "items.",
            cluster=cluster,
        )
    yield _entry(
        f"{DECIDE}: how missing answers count: available, complete, incorrect or bounds.\n"
        f"{missing:,} of {len(answers):,} answers are missing, refused or replies to read.",
        missing="available",
    )
    yield _margin(kind)
    yield _entry(f"{DECIDE}: where the items come from, e.g. a URL.", sources=[])
    yield _entry(f"{DECIDE}: the licence of the items.", licence="Not stated")
    yield _entry(f"{DECIDE}: how to cite the items.", citation="Not stated")
    yield _entry("Tests that are adjusted together: model, board or release.", family="board")
    yield _entry(
        f"{DECIDE}: true if the text for the first group of each pair was written to help,\n"
        "and that for the second to mislead, a model.",
        slanted=False,
    )
    yield _entry(
        f'{DECIDE}: words for the two groups of every pair, e.g. ["privileged", "unprivileged"].',
        pair_terms=_pair_terms(answers, crossed),
    )
    yield _entry(
        f"{DECIDE}: what the results cannot show. The first note is shown above them.", notes=[]
    )


def _pair_terms(answers: pd.DataFrame, crossed: Collection[str]) -> list[str]:
    """Return words for the groups of a pair; the first one's name if all pairs begin with it."""
    varied = [
        (name, rows)
        for name, rows in _by_attribute(answers)
        if name != BASELINE and not _CONTROL.search(name)
    ]
    firsts = {str(rows["group"].iloc[0]) for _, rows in varied}
    # A crossing's pairs are those of its two attributes.
    alike = len(firsts) == 1 and not any(name in crossed for name, _ in varied)
    only = firsts.pop().replace("_", " ").strip() if alike else ""
    return [only, "other"] if only not in ("", "other") else ["first", "second"]


def _margin(kind: _Kind) -> str:
    about = f"{DECIDE}: the equivalence margin. {{}} difference within ± this counts as\nequivalent"
    after = "Choose it before you look at results."
    if kind.name == "level":
        about = f"{about} (0.1: a tenth of a level). {after}"
        return _entry(about.format("A mean"), equivalence_margin=0.1)
    if kind.name == "score":
        (low, high) = kind.entries[1][1]["limits"]
        margin = float(f"{(high - low) / 20:.1g}")
        about = f"{about}, in points of the score. {after}"
        return _entry(about.format("A mean"), equivalence_margin=margin)
    figure = "An accuracy" if kind.name == "choice" else "A selection rate's"
    about = f"{about} (0.02: 2 percentage points). {after}"
    return _entry(about.format(figure), equivalence_margin=0.02)


def _tables(answers: pd.DataFrame, kind: _Kind, item: str, cluster: str | None) -> Iterator[str]:
    versions = sorted(map(str, answers["benchmark_version"].unique()))
    noun = "vignettes" if kind.name == "choice" else f"{item}s"
    words = {} if kind.name == "choice" else {"item": item, "subject": "person"}
    called = ["an item and the person it describes: stay, patient"] if words else []
    # A name that takes a plural in s.
    if cluster != "cluster" and re.fullmatch(r"[a-z]{2,}[a-rt-xz]", cluster or ""):
        words["cluster"] = str(cluster)
        called.append("what several items share: ward")
    if words:
        yield _entry(f"{DECIDE}: what pages call {'; and '.join(called)}.", words=words)
    yield _entry(
        f"{DECIDE}: each version in the answers' column benchmark_version, as words that follow\n"
        "'On the' in a sentence: GPT-written vignettes.",
        versions={version: f"{noun} of version {version}" for version in versions},
    )
    yield _entry(
        f"{DECIDE}: models that took part in writing or selecting the items, each with its role.\n"
        'They get no verdict and no rank. For example: "Model 1" = "wrote the variants"',
        selected_on={},
    )


def _crossed(name: str, groups: Sequence[str], crosses: tuple[str, str] | None) -> Iterator[str]:
    """Yield an attribute, after the two that it crosses if its groups are named a+b."""
    parts = [re.split(r"[+_]", group) for group in groups]
    if crosses is None or any(len(part) != 2 for part in parts):
        yield _attribute(name, groups)
        return
    for place, attribute in enumerate(crosses):
        yield _attribute(attribute, list(dict.fromkeys(part[place] for part in parts)))
    about = (
        f"Each variant is a group of {crosses[0]} and of {crosses[1]}. With pairs = [], only the\n"
        f"pairs of these are compared; add pairs of {name} to compare its groups too."
    )
    label = f"{_label(crosses[0])} and {crosses[1]}"
    table = {"label": label, "crosses": list(crosses), "pairs": []}
    labels = {group: _label(re.sub("[+_]", " / ", group)) for group in groups}
    yield (
        f"{_comment(about)}\n"
        + toml_text({"attributes": {name: table | {"groups": labels}}}).strip()
    )


def _attribute(name: str, groups: Sequence[str]) -> str:
    if name == BASELINE:
        groups = [ORIGINAL, NEUTRALIZED]
    first, *others = groups
    # One pair per line: all pairs on a line would be too long to read.
    pairs = [f"  {toml_value([first, other])}," for other in others]
    possible = len(groups) * (len(groups) - 1) // 2
    about = _PAIRS.format(decide=DECIDE, proposed=len(pairs), possible=possible)
    table: dict[str, Any] = {"label": _label(name)}
    control = [f"{DECIDE}: a control differs in nothing that could matter."] * bool(
        _CONTROL.search(name)
    )
    return "\n".join(
        [
            _comment(f"{DECIDE}: the attribute's name for readers."),
            toml_text({"attributes": {name: table}}).strip("\n"),
            *(f"{_comment(line)}\ncontrol = true" for line in control),
            "# Answers to one of these two variants suffice." if name == BASELINE else about,
            "pairs = [",
            *pairs,
            "]",
            "",
            _comment(f"{DECIDE}: the groups' names for readers."),
            toml_text(
                {"attributes": {name: {"groups": {group: _label(group) for group in groups}}}}
            ).strip("\n"),
        ]
    )


_CONTROL = re.compile("(?i)placebo|control|paraphras|noop|reword")


def _label(name: str) -> str:
    """Return a name for readers, e.g. ``"High income"`` for ``"high_income"``."""
    return capital(name.replace("_", " ").strip() or name)


def _entry(about: str, **value: Any) -> str:
    return f"{_comment(about)}\n{toml_text(value).strip()}"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.split("\n"))
