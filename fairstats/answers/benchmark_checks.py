"""Check answers against their benchmark's declaration, and report every problem."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from fairstats._lib.paths import Paths
from fairstats._lib.problems import InputError, Problem, collected, keyword, refuse
from fairstats._lib.safe_names import has_hidden_characters, posing_letters, same_looking
from fairstats.answers.engine_frames import absent_keys, not_an_answer
from fairstats.answers.files import answer_files, join_answers, read_answer_file
from fairstats.answers.schema_checks import column_problems, duplicate_problems, repeated_answers
from fairstats.answers.strategies import read_strategy, strategy_label
from fairstats.benchmarks.declaration import BASELINE, Benchmark
from fairstats.benchmarks.loading import by_name, load_benchmarks

_NAMES = ("benchmark_version", "model", "strategy")
#: Limits for listing a large table: rows per kind of problem, answer sets, groups of names.
_MOST_ROWS = 10_000
_MOST_UNITS = 1_000
_MOST_NAMES = 20
_SEVERAL_CLUSTERS = ("the item is in more than one cluster", "give each item one cluster")
_SEVERAL_KEYS = ("the item has more than one answer key", "give each item one key")
_UNIT = ["benchmark", "benchmark_version", "model", "strategy", "sample"]


def validate_files(
    source: Paths, *, benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = ()
) -> list[Problem]:
    """Return every problem of these answer files."""
    try:
        read_valid(answer_files(source), benchmarks=benchmarks)
    except InputError as error:
        return list(error.problems)
    return []


def read_valid(
    files: Iterable[str | os.PathLike[str]],
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
) -> pd.DataFrame:
    """Read answer files that have no problem, each once.

    Bytes that were read before (`FileBytes`) are used.
    """
    given = by_name(benchmarks)
    problems: list[Problem] = []
    frames: list[pd.DataFrame] = []
    names: list[str] = []
    for path in files:
        name = os.fspath(path)
        with collected(problems):
            frame = read_answer_file(path, repeated=True)
            # Rows that are there twice can have other problems besides.
            again = repeated_answers(frame, name)
            problems.extend([*again, *part_problems(frame, path=name, known=_known(frame, given))])
            if not again:
                frames.append(frame)
                names.append(name)
    problems.extend(duplicate_problems(frames, names))
    if frames:
        # A unit may be spread over files, and names in two files may look the same.
        rows = pd.concat(
            [frame.assign(_path=name) for frame, name in zip(frames, names, strict=True)],
            ignore_index=True,
        )
        problems.extend(same_looking_problems(rows))
        known = _known(rows, given)
        problems.extend(_unlike_files(rows, known))
        problems.extend(_missing_items(rows, known))
    refuse(problems)
    return join_answers(frames)


def validate_answers(
    answers: pd.DataFrame,
    *,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    path: str = "<frame>",
) -> list[Problem]:
    """Return every difference between answers and their benchmark's declaration.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers that follow the schema, as returned by `fairstats.read_answers`.
    benchmarks : iterable of Benchmark
        Benchmarks that are not built in.
    path : str
        The file name used in problems.

    Returns
    -------
    list of Problem
        Missing columns, and only these if there are any. If not: names with hidden characters, or
        that look like another name or like a name in Latin letters; an unknown benchmark, version,
        attribute, group, item or option letter; a key that differs from the benchmark's; and
        variants without a row. Empty if there are no problems. The original variants may lack rows
        if all of them do, and so may the neutralized ones.

    Examples
    --------
    >>> from fairstats import example_answers
    >>> answers = example_answers().query("model == 'GPT-4.1'")
    >>> validate_answers(answers)
    []
    >>> (problem,) = validate_answers(answers.iloc[1:])
    >>> print(problem.message.partition(" (")[0])
    only 800 of 801 items are complete
    """
    found = column_problems(answers.columns, path)
    if missing := [problem for problem in found if problem.column not in answers.columns]:
        return missing
    known = _known(answers, by_name(benchmarks))
    answers = answers.reset_index(drop=True)
    rows = answers.assign(_path=path)
    return [
        *part_problems(answers, path=path, known=known),
        *same_looking_problems(rows),
        *_missing_items(rows, known),
    ]


def _known(answers: pd.DataFrame, given: Mapping[str, Benchmark]) -> dict[str, Benchmark | None]:
    known: dict[str, Benchmark | None] = {}
    for name in answers["benchmark"].unique():
        try:
            known |= load_benchmarks([name], given)
        except InputError:
            known[name] = None
    return known


def part_problems(
    answers: pd.DataFrame, *, path: str, known: Mapping[str, Benchmark | None]
) -> list[Problem]:
    """Return the problems of rows of answers, whichever other rows there are."""
    found: list[tuple[int, Problem]] = []

    def report(rows: pd.Series, column: str, message: str, remedy: str) -> None:
        wrong = answers.index[rows]
        for index in wrong[:_MOST_ROWS]:
            cell = answers.at[index, column]
            value = None if pd.isna(cell) else str(cell)
            found.append(
                (index, Problem(path, message, remedy, row=index + 1, column=column, value=value))
            )
        if len(wrong) > _MOST_ROWS:
            more = f"{message} (in {len(wrong) - _MOST_ROWS:,} more rows)"
            found.append((wrong[-1], Problem(path, more, remedy, column=column)))

    for column in _NAMES:
        hidden = {name for name in answers[column].unique() if has_hidden_characters(str(name))}
        report(
            answers[column].isin(list(hidden)),
            column,
            "begins or ends with spaces, or contains invisible characters",
            "remove them, so that names that look the same are the same",
        )
        posing = {n: posing_letters(str(n)) for n in answers[column].unique()}
        by_letters = {name: letters for name, letters in posing.items() if letters}
        codes = _codes("".join(dict.fromkeys("".join(by_letters.values()))))
        report(
            answers[column].isin(list(by_letters)),
            column,
            f"contains letters that look like Latin letters but are not: {codes}",
            "use Latin letters",
        )
    if "context_sha256" in answers:
        plain = [n for n in answers["strategy"].unique() if not read_strategy(str(n)).retriever]
        report(
            answers["context_sha256"].notna() & answers["strategy"].isin(plain),
            "strategy",
            "names no snippets, but context_sha256 says that the prompt had some",
            "name retriever and number, e.g. plain+bm25@10",
        )
    items = answers["item_id"].unique()
    for name, benchmark in known.items():
        own = answers["benchmark"] == name
        if benchmark is None:
            remedy = f"give its declaration with {keyword('benchmarks')}"
            report(own, "benchmark", "unknown benchmark", remedy)
            continue
        report(
            own & ~answers["benchmark_version"].isin(list(benchmark.versions)),
            "benchmark_version",
            "unknown version",
            f"{name} has {', '.join(benchmark.versions)}",
        )
        attributes = list(benchmark.attributes)
        report(
            own & ~answers["attribute"].isin(attributes),
            "attribute",
            "unknown attribute",
            f"{name} has {', '.join(attributes)}",
        )
        report(
            own & answers["attribute"].isin(benchmark.only_crossed),
            "attribute",
            "has no variants of its own",
            "give the answers to the crossed groups",
        )
        for attribute in benchmark.attributes.values():
            report(
                own
                & (answers["attribute"] == attribute.name)
                & ~answers["group"].isin(list(attribute.groups)),
                "group",
                "unknown group",
                f"{name} has {', '.join(attribute.groups)} for {attribute.name}",
            )
        for column in ("answer", "answer_key"):
            if column not in answers:
                continue
            for value in answers.loc[own, column].dropna().unique():
                if benchmark.canonical(value) != value:
                    report(
                        own & (answers[column] == value), column, *not_an_answer(benchmark, value)
                    )
        if benchmark.items:
            listed = answers["item_id"].isin(set(items).intersection(benchmark.items))
            report(own & ~listed, "item_id", "unknown item", f"{name} has no such item")
        if benchmark.has_key and "answer_key" not in answers:
            found.append((-1, Problem(path, *absent_keys(benchmark), column="answer_key")))
        elif benchmark.has_key:
            # Of these items alone: a benchmark can have many more.
            known_keys = benchmark.answer_keys
            keys = answers["item_id"].map({i: known_keys[i] for i in items if i in known_keys})
            given = answers["answer_key"]
            wrong = own & keys.notna() & (given != keys)
            wrong &= given.isna() | given.isin(
                list(set(keys)) if not benchmark.options else benchmark.options
            )
            for index in answers.index[wrong][:_MOST_ROWS]:
                value = None if pd.isna(given[index]) else str(given[index])
                message = f"disagrees with the benchmark's key {keys[index]}"
                message = message if value else f"is empty; the benchmark's key is {keys[index]}"
                remedy = f"compare item {answers.at[index, 'item_id']} with {name}'s release"
                place = {"row": index + 1, "column": "answer_key", "value": value}
                found.append((index, Problem(path, message, remedy, **place)))
        if benchmark.cluster and not benchmark.clusters:
            remedy = f"write the {benchmark.cluster} of each item"
            message = f"is missing, and {name} declares the cluster {benchmark.cluster}"
            if "cluster" not in answers:
                found.append((-1, Problem(path, message, remedy, column="cluster")))
            else:
                report(own & answers["cluster"].isna(), "cluster", message, remedy)
                report(own & _differs(answers, own, "cluster"), "cluster", *_SEVERAL_CLUSTERS)
        if not benchmark.answer_keys and "answer_key" in answers:
            report(own & _differs(answers, own, "answer_key"), "answer_key", *_SEVERAL_KEYS)
    return [problem for _, problem in sorted(found, key=lambda entry: entry[0])]


def _unlike_files(rows: pd.DataFrame, known: Mapping[str, Benchmark | None]) -> Iterator[Problem]:
    """Yield clusters and keys of items that differ from those in an earlier file."""
    for name, benchmark in known.items():
        if benchmark is None:
            continue
        own = rows[rows["benchmark"] == name]
        for column, is_stated, (message, remedy) in (
            ("cluster", benchmark.cluster and not benchmark.clusters, _SEVERAL_CLUSTERS),
            ("answer_key", not benchmark.answer_keys, _SEVERAL_KEYS),
        ):
            if not is_stated or column not in own:
                continue
            cell = ["_path", "item_id", *_versions(column)]
            firsts = own.groupby(cell, sort=False)[column].first().reset_index()
            unlike = firsts[_differs(firsts, firsts["item_id"].notna(), column)]
            for path, item, value in unlike[["_path", "item_id", column]].to_numpy()[:_MOST_ROWS]:
                of_item = message.replace("the item", f"with another file, item {item}", 1)
                yield Problem(path, of_item, remedy, column=column, value=str(value))


def _versions(column: str) -> list[str]:
    """Return the columns within which an item has one value: each version can have its keys."""
    return ["benchmark_version"] if column == "answer_key" else []


def _differs(answers: pd.DataFrame, own: pd.Series, column: str) -> pd.Series:
    """Return the rows whose value differs from that of the item's first row, in a version."""
    first = answers[own].groupby([*_versions(column), "item_id"])[column].transform("first")
    # Answers to other benchmarks have no first row.
    first = first.reindex(answers.index)
    return (answers[column].notna() & (answers[column] != first)).fillna(False)


def same_looking_problems(answers: pd.DataFrame) -> list[Problem]:
    """Report names that readers could confuse with each other, in any of the files `_path`."""
    problems = []
    for column in ("benchmark", *_NAMES):
        names = [str(name) for name in answers[column].unique()]
        groups = same_looking(names)
        if column == "strategy":
            # "cot" is shown as "reasoning first", which another strategy could be named.
            groups = list(dict.fromkeys([*groups, *same_looking(names, strategy_label)]))
        for group in groups[:_MOST_NAMES]:
            rows = answers[answers[column].isin(group)]
            shown = " and ".join(f"{name!r}{_codes(name, ' ({})')}" for name in group[:4])
            problems.append(
                Problem(
                    ", ".join(sorted(rows["_path"].unique())),
                    f"look the same to a reader: {shown}",
                    "if they are the same, write them the same way; if not, rename one",
                    column=column,
                )
            )
    return problems


def _codes(text: str, form: str = "{}") -> str:
    """Return the code points of the non-ASCII characters; empty if there are none."""
    other = dict.fromkeys(sign for sign in text if not sign.isascii())
    return form.format(", ".join(f"U+{ord(sign):04X}" for sign in other)) if other else ""


def needed_variants(
    benchmark: Benchmark, rows: pd.DataFrame, crossed: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return the variants of which each item needs a row, if these rows are of an answer set.

    `crossed` are attributes with variants of their own in other answer sets.
    """
    asked = {*zip(rows["attribute"], rows["group"], strict=True)}
    attributes = {attribute for attribute, _ in asked} | {*crossed}
    may = {BASELINE}
    # An attribute can have the variants of one that crosses it.
    for one in benchmark.varied:
        may |= {name for name in one.crosses if one.layers(benchmark.attributes[name])}
    left_out = may.difference(attributes) | benchmark.only_crossed
    return [
        variant
        for variant in benchmark.variants
        # Other figures need neither the original nor the neutralized variants.
        if variant[0] not in left_out and (variant[0] != BASELINE or variant in asked)
    ]


def _missing_items(answers: pd.DataFrame, known: Mapping[str, Benchmark | None]) -> list[Problem]:
    """Return one problem per unit with variants that lack a row."""
    problems: list[Problem] = []
    asked = answers.groupby(_UNIT[:2])["attribute"].unique()
    for keys, rows in answers.groupby(_UNIT, sort=False):
        unit = dict(zip(_UNIT, keys, strict=True))
        benchmark = known[str(unit["benchmark"])]
        if benchmark is None:
            continue
        # Variants of a crossed attribute itself are those of all models or of none.
        crossed = {name for one in benchmark.varied for name in one.crosses}
        crossed &= {*asked[keys[:2]]}
        there = rows[["item_id", "attribute", "group"]]
        variants = needed_variants(
            benchmark, there.drop_duplicates(["attribute", "group"]), crossed
        )
        # If no file lists the items, they are those of the answers.
        items_of = benchmark.items or tuple(dict.fromkeys(rows["item_id"]))
        expected = pd.MultiIndex.from_tuples(
            [(item, *variant) for item in items_of for variant in variants]
        )
        missing = expected.difference(pd.MultiIndex.from_frame(there), sort=False)
        if missing.empty:
            continue
        if len(problems) == _MOST_UNITS:
            paths = ", ".join(sorted(answers["_path"].unique()))
            message = f"has more than the {_MOST_UNITS:,} incomplete answer sets listed"
            return [*problems, Problem(paths, message, "correct these first", column="item_id")]
        items = len(items_of)
        whole = items - missing.get_level_values(0).nunique()
        item, attribute, group = missing[0]
        where = ", ".join(f"{column}={unit[column]}" for column in _UNIT[1:])
        problems.append(
            Problem(
                ", ".join(sorted(rows["_path"].unique())),
                f"only {whole} of {items} items are complete ({where}): {len(missing)} of "
                f"{len(expected)} variants have no row; the first is item {item}, {attribute}, "
                f"{group}",
                "collect the rest; an answer that cannot be obtained needs a row with its status",
                column="item_id",
            )
        )
    return problems
