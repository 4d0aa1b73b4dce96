"""Read and write answer files.

One row is one answer of one model to one variant of one item; `fairstats.answers.schema` describes
the columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet
from pyarrow.fs import LocalFileSystem

from fairstats._lib import untrusted_files
from fairstats._lib.atomic_files import whole_file
from fairstats._lib.installation import resource
from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import InputError, Problem, collected, input_error, refuse
from fairstats._lib.safe_names import digest, unique_slugs
from fairstats._lib.untrusted_files import refuse_links
from fairstats._lib.untrusted_tables import load_csv, load_jsonl, load_parquet
from fairstats.answers.schema import ANSWERS, KEY_COLUMNS
from fairstats.answers.schema_checks import check_answers, duplicate_problems
from fairstats.benchmarks.declaration import Benchmark

SUFFIXES = (".parquet", ".csv", ".jsonl")
#: An answer set has a single value in each of these columns.
_SET_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy")
#: Suffix of a file of retrievals, which may be in a folder of answers.
RETRIEVALS_SUFFIX = ".retrievals.parquet"
#: Suffixes of files of ratings, and of raters' comments.
RATINGS_SUFFIX = ".ratings.parquet"
#: Suffix of a file with measures of vignettes.
MEASURES_SUFFIX = ".measures.parquet"
COMMENTS_SUFFIX = ".comments.csv"
#: Maximum number of rows named per column that does not follow from the benchmark.
_MOST_ROWS = 100
#: The word for the shipped answers, wherever files are named and none has this name.
EXAMPLE = "example"
#: Of a site, the folder of its releases; of a release, the folder of its data, and its manifest.
RELEASES, DOWNLOADS, MANIFEST = "v", "downloads", "manifest.json"
#: Suffixes of files in a folder of answers that are no answers.
NO_ANSWERS = (RETRIEVALS_SUFFIX, RATINGS_SUFFIX, MEASURES_SUFFIX, COMMENTS_SUFFIX)


def read_answers(
    source: Paths, *, benchmark: Benchmark | None = None, snapshot: str | None = None
) -> pd.DataFrame:
    """Read answers from a file, several files or a folder.

    Parameters
    ----------
    source : path, or iterable of paths
        Parquet, CSV or JSON Lines (``.parquet``, ``.csv``, ``.jsonl``). A folder means all such
        files in it, at any depth; it must not contain symbolic links to files or folders. An empty
        CSV cell is a null.
    benchmark : Benchmark, optional
        The benchmark of the answers. It fills required columns that a file lacks: its name, its
        only version, the attribute that has the group, and each item's key if it has one. Strategy
        is then ``plain``, sample is 0, and status is ``ok`` or, without an answer, ``unparsed``. So
        a file needs only ``model``, ``item_id``, ``group`` and ``answer``. A column with the name
        of its cluster is the column ``cluster``.
    snapshot : str, optional
        Keep only the answers of this exact version of a model. Files of other versions may then
        have the same model name.

    Returns
    -------
    pandas.DataFrame
        The rows of all files in the order of the paths, with columns in schema order. Optional
        columns that are in no file are left out.

    Raises
    ------
    InputError
        If a file is missing, empty or unreadable, exceeds a limit of
        `fairstats._lib.untrusted_files` or violates the schema, or if two rows (in one file or in
        two) have the same key. Its ``problems`` name each file, row, column and value.

    See Also
    --------
    write_answers : the inverse for parquet.
    fairstats.answers.benchmark_checks.validate_answers : checks against the declarations.
    """
    frames: list[pd.DataFrame] = []
    problems: list[Problem] = []
    paths = answer_files(source)
    for path in paths:
        with collected(problems):
            frames.append(read_answer_file(path, benchmark=benchmark))
    if snapshot is not None and not problems:
        frames, problems = _of_snapshot(frames, snapshot)
    refuse(problems or duplicate_problems(frames, [str(path) for path in paths]))
    # Else memory that reading no longer needs is kept: 100 MB of 600 for the answers of 200 models.
    pyarrow.default_memory_pool().release_unused()
    return join_answers(frames)


def _of_snapshot(
    frames: list[pd.DataFrame], snapshot: str
) -> tuple[list[pd.DataFrame], list[Problem]]:
    """Return the rows of a snapshot, or the problem that there are none."""
    names = [frame.get("snapshot", pd.Series(index=frame.index, dtype="str")) for frame in frames]
    own = [frame[name.eq(snapshot)] for frame, name in zip(frames, names, strict=True)]
    if any(len(frame) for frame in own):
        return own, []
    return own, [no_such_snapshot(snapshot, pd.concat(names))]


def no_such_snapshot(snapshot: str, there: Iterable[str]) -> Problem:
    """Return the problem that no answer is of a snapshot, with those that there are."""
    names = sorted({name for name in there if not pd.isna(name)})
    remedy = f"use one of {', '.join(names[:20])}" if names else "these answers name no snapshot"
    message = "there are no such answers"
    return Problem("<answers>", message, remedy, column="snapshot", value=snapshot)


def read_answer_file(
    path: AnyPath, *, benchmark: Benchmark | None = None, repeated: bool = False
) -> pd.DataFrame:
    """Read and check the answers of one file, or of `fairstats._lib.untrusted_files.FileBytes`.

    With `repeated`, the same answer may be there twice.
    """
    table = load_table(path)
    if benchmark is not None:
        table = _with_declared_columns(table, benchmark, path=os.fspath(path))
    return check_answers(table, path=os.fspath(path), repeated=repeated)


def _with_declared_columns(table: pd.DataFrame, benchmark: Benchmark, *, path: str) -> pd.DataFrame:
    """Fill the required columns that a table lacks and that follow from the benchmark.

    A column that follows for some rows only is refused: an item or a group that the benchmark does
    not have, a group of several attributes, or a benchmark of several versions.
    """
    columns: dict[str, object] = {"benchmark": benchmark.name, "strategy": "plain", "sample": 0}
    problems: list[Problem] = []
    if "benchmark_version" not in table:
        if len(benchmark.versions) > 1:
            versions = ", ".join(benchmark.versions)
            message = f"is missing, and {benchmark.name} has the versions {versions}"
            problems.append(Problem(path, message, "add it", column="benchmark_version"))
        columns["benchmark_version"] = next(iter(benchmark.versions))
    if "attribute" not in table and "group" in table:
        attributes: dict[str, list[str]] = {}
        for attribute, group in benchmark.variants:
            attributes.setdefault(group, []).append(attribute)
        known = {group: names[0] for group, names in attributes.items() if len(names) == 1}
        shared = {group: names for group, names in attributes.items() if len(names) > 1}
        columns["attribute"] = table["group"].map(known)
        for row, group in _first(table["group"], set(known)):
            if names := shared.get(group):
                message = f"is a group of {' and '.join(names)}"
                remedy = "add the column attribute"
            else:
                message = f"is no group of {benchmark.name}"
                remedy = f"use one of {', '.join(attributes)}"
            problems.append(Problem(path, message, remedy, row=row, column="group", value=group))
    if benchmark.cluster in table and "cluster" not in table:
        table = table.rename(columns={benchmark.cluster: "cluster"})
    if benchmark.has_key and "answer_key" not in table and "item_id" in table:
        # Numbers in a CSV column of ids are read as numbers.
        items = table["item_id"].astype("str")
        columns["answer_key"] = items.map(dict(benchmark.answer_keys))
        for row, item in _first(items, set(benchmark.items)):
            message = f"is no item of {benchmark.name}, so its key is not known"
            remedy = "correct it, or add the column answer_key"
            problems.append(Problem(path, message, remedy, row=row, column="item_id", value=item))
    if "status" not in table and "answer" in table:
        columns["status"] = table["answer"].notna().map({True: "ok", False: "unparsed"})
    refuse(problems)
    return table.assign(**{name: v for name, v in columns.items() if name not in table})


def _first(values: pd.Series, known: set[str]) -> list[tuple[int, str]]:
    """Return the first row of each value that is not known, counted from 1."""
    # The schema reports empty cells.
    unknown = values[~values.isin(known)].dropna().drop_duplicates()
    rows = values.reset_index(drop=True)
    return [(int(rows.eq(v).argmax()) + 1, str(v)) for v in unknown.head(_MOST_ROWS)]


def example_answers() -> pd.DataFrame:
    """Return the shipped answers: 12 released models on the GPT-written variants of FairMedQA.

    Returns
    -------
    pandas.DataFrame
        102,528 answers in the schema of `answers_schema`, with letters, keys and snapshots but
        without texts: 801 items in 8 variants, answered with the prompt ``plain``; those of
        GPT-5-Mini also with four other prompts.

    See Also
    --------
    read_answers : reads files; ``read_answers("example")`` gives these answers too.

    Notes
    -----
    The letters are those that the authors' files hold, read as ``fairstats import amqa`` reads
    them. ``data/LICENCES.md`` names the files.

    The variants were written to help the model for one group and to mislead it for the other. So a
    difference shows how easily a model is swayed, not a rate of bias in practice.

    References
    ----------
    .. [1] Xiao, Y., et al. (2025). AMQA: an adversarial dataset for benchmarking bias of LLMs in
       medicine and healthcare. arXiv:2505.19562. Versions 1 (AMQA) and 2 (FairMedQA).

    Examples
    --------
    >>> answers = example_answers()
    >>> answers["model"].nunique(), answers.groupby(["model", "strategy"]).ngroups
    (12, 16)
    >>> int(answers["answer"].isna().sum())
    340
    """
    return read_answers(EXAMPLE)


def join_answers(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Join checked answers, with the columns in the schema's order."""
    joined = pd.concat(frames, ignore_index=True)
    return joined[[column for column in ANSWERS.columns if column in joined]]


def write_answers(answers: pd.DataFrame, path: AnyPath) -> Path:
    """Write answers as parquet (zstd), completely or not at all.

    The rows are checked first, written to a temporary file in the same folder, and renamed. So
    readers never see a partial file, and a failure leaves the previous file.

    Parameters
    ----------
    answers : pandas.DataFrame
        Answers in the schema of `answers_schema`.
    path : path
        The target file; the folder is created if it does not exist.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    InputError
        If a row violates the schema, there are more rows than `read_answers` reads, or the name
        does not end in ``.parquet``. Nothing is then written.
    """
    path = Path(path)
    if path.suffix != ".parquet":
        raise input_error(path, "must be a .parquet file", "end the name in .parquet")
    refuse_unreadable(answers, str(path))
    return write_parquet(check_answers(answers, path=str(path)), path)


def refuse_unreadable(answers: pd.DataFrame, path: str) -> None:
    """Refuse a table that is too large to be read again."""
    most = untrusted_files.MAX_PARQUET_ROWS, untrusted_files.MAX_PARQUET_CELLS
    if len(answers) > most[0]:
        raise InputError([untrusted_files.too_many_rows(path, most[0])])
    if answers.size > most[1]:
        raise InputError([untrusted_files.too_many_cells(path, most[1])])


def read_parquet(path: Path, **options: Any) -> pd.DataFrame:
    """Read a parquet file of this package's own, which arrow opens itself.

    Of a file that Python opened, a thread of arrow could let go while the process ends, which then
    aborts.
    """
    return pd.read_parquet(path, filesystem=LocalFileSystem(), **options)


def write_parquet(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame as parquet (zstd) to a temporary file, and rename it."""
    # The bytes must not depend on the parts that a table was joined from: verification compares.
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    with whole_file(path) as temporary:
        pyarrow.parquet.write_table(table, temporary, compression="zstd")
    return path


def write_answer_sets(answers: pd.DataFrame, folder: AnyPath, *, add: bool = False) -> list[Path]:
    """Write answers into a folder, one file per benchmark version, model and strategy.

    With `add`, answers are added to the answer sets that are already in the folder.

    Raises
    ------
    InputError
        If a row violates the schema, or a file already exists with other answers (with `add`, with
        some of these answers). Nothing is then written.
    """
    checked = check_answers(answers)
    checked = checked[[column for column in ANSWERS.columns if column in checked]]
    slugs = {column: unique_slugs(checked[column].unique()) for column in _SET_COLUMNS}
    present = _files_of_sets(Path(folder)) if add else {}
    sets: dict[Path, pd.DataFrame] = {}
    problems: list[Problem] = []
    for key, rows in checked.groupby(list(_SET_COLUMNS), sort=True):
        name = "_".join(slugs[c][n] for c, n in zip(_SET_COLUMNS, key, strict=True))
        path, rows = Path(folder) / f"{name}.parquet", rows.reset_index(drop=True)
        if not add and path.exists() and not read_answers(path).equals(rows):
            remedy = "remove it, or choose another folder"
            problems.append(Problem(str(path), "already exists with different answers", remedy))
        there = {file: read_answers(file) for file in present.get(key, [])}
        if any(one.equals(rows) for one in there.values()):
            continue  # The same import again.
        problems += [problem for file in there for problem in _present(rows, there[file], file)]
        if add and path.exists() and path not in there:
            # The file holds another set; the names differ only by case.
            path = path.with_name(f"{name}-{digest(repr(key))}.parquet")
        if path in there:
            rows = pd.concat([there[path], rows], ignore_index=True)
        sets[path] = rows[[column for column in ANSWERS.columns if column in rows]]
    refuse(problems)
    return [write_answers(rows, path) for path, rows in sets.items()]


def _files_of_sets(folder: Path) -> dict[tuple[str, ...], list[Path]]:
    """Return the parquet files in a folder by the answer sets that they hold."""
    found: dict[tuple[str, ...], list[Path]] = {}
    for path in sorted(folder.glob("*.parquet")):
        if path.name.endswith(NO_ANSWERS):
            continue
        try:
            table = load_parquet(path)
        except InputError:
            continue  # Not an answer set; skip it.
        if set(_SET_COLUMNS) <= set(table):
            for key in table[list(_SET_COLUMNS)].drop_duplicates().itertuples(index=False):
                found.setdefault(tuple(key), []).append(path)
    return found


def _present(rows: pd.DataFrame, there: pd.DataFrame, path: Path) -> list[Problem]:
    """Return a problem if a file, with the answers `there`, has any of these answers."""
    keys = list(KEY_COLUMNS)
    known = pd.MultiIndex.from_frame(there[keys])
    again = int(pd.MultiIndex.from_frame(rows[keys]).isin(known).sum())
    if not again:
        return []
    of = ", ".join(str(rows[column].iloc[0]) for column in _SET_COLUMNS)
    message = f"already contains {again:,} of the {len(rows):,} answers of {of}"
    remedy = "import only the others, remove this file, or choose another folder"
    return [Problem(str(path), message, remedy)]


def answer_files(source: Paths) -> list[Path]:
    """Return the answer files in `source`, with folders expanded, in a stable order.

    The word ``example`` is the shipped answers, unless there is a file or folder of this name. The
    folder of a release means its answers.
    """
    paths = each_path(source)
    files: list[Path] = []
    problems: list[Problem] = []
    known = ", ".join(SUFFIXES)
    if not paths:
        problems.append(Problem("<no path>", "no files to read", "give a file or a folder"))
    for path in map(Path, paths):
        if path.is_dir():
            with collected(problems):
                inside = [p for p in _inside(path, SUFFIXES) if not p.name.endswith(NO_ANSWERS)]
                if (path / MANIFEST).is_file():
                    # The other tables of a release are no answers.
                    released = str(path / DOWNLOADS / "answers")
                    inside = [one for one in inside if str(one).startswith(released)]
                elif releases := sorted(path.glob(f"{RELEASES}/*/{MANIFEST}")):
                    remedy = f"give the folder of one, e.g. {releases[-1].parent}"
                    raise input_error(path, "is a site of releases", remedy)
                files.extend(inside)
                if not inside:
                    remedy = f"give a folder with {known} files"
                    raise input_error(path, "the folder contains no answer files", remedy)
        elif not path.exists() and str(path) == EXAMPLE:
            files.append(resource("data", "answers", "fairmedqa.parquet"))
        elif not path.exists():
            problems.append(Problem(str(path), "no such file or folder", "check the path"))
        elif path.suffix.lower() not in SUFFIXES:
            problems.append(
                Problem(str(path), f"unknown kind of file {path.suffix!r}", f"use one of {known}")
            )
        else:
            files.append(path)
    refuse(problems)
    return files


def _inside(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """List the files in a folder, at any depth, with one of these suffixes.

    Hidden files and folders are left out: whoever publishes a folder does not see them. Links to
    such files, and to folders that may contain some, are refused: their targets are not part of
    what the folder's owner shared.
    """
    every = sorted(folder.rglob("*"))
    found = [one for one in every if "/." not in f"/{one.relative_to(folder).as_posix()}"]
    named = [path for path in found if path.name.lower().endswith(suffixes)]
    refuse_links([*named, *(path for path in found if path.is_dir() and path not in named)])
    return [path for path in named if not path.is_dir()]


def files_ending(source: Paths, suffix: str) -> list[Path]:
    """Return the files with this suffix among paths and inside folders among them, each once.

    Examples
    --------
    >>> [path.name for path in files_ending(["a.parquet", "b.ratings.parquet"], RATINGS_SUFFIX)]
    ['b.ratings.parquet']
    """
    found: dict[Path, Path] = {}
    for path in map(Path, each_path(source)):
        for file in _inside(path, (suffix,)) if path.is_dir() else [path]:
            if file.name.endswith(suffix):
                found.setdefault(file.resolve(), file)
    return list(found.values())


def load_table(path: AnyPath) -> pd.DataFrame:
    """Read a parquet, CSV or JSON Lines file without changes."""
    readers: dict[str, Callable[[str | os.PathLike[str]], pd.DataFrame]]
    readers = {".parquet": load_parquet, ".csv": load_csv, ".jsonl": load_jsonl}
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        remedy = f"give a file that ends in one of {', '.join(SUFFIXES)}"
        raise input_error(path, "no such file", remedy)
    return readers[suffix](path)
