"""A corpus to search: a folder of texts or a file of snippets; longer texts are cut."""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairstats._lib.problems import Problem, input_error, refuse
from fairstats._lib.safe_names import text_sha256
from fairstats._lib.untrusted_files import read_json_lines, refuse_links
from fairstats._lib.untrusted_tables import load_parquet
from fairstats.benchmarks.vignette_items import is_text

#: The default maximum number of words in a snippet.
CHUNK_WORDS = 120
#: The number of words that the next chunk of a text repeats.
OVERLAP_WORDS = 20

_FEWEST_WORDS, _MOST_WORDS = 2 * OVERLAP_WORDS, 900
_SUFFIXES = (".txt", ".md")
_MOST_BYTES = 2 * 2**30
_MOST_SNIPPETS = 1_000_000
_LONGEST_NAME, _LONGEST_TITLE = 200, 300
# A script that is written without spaces has no other words than pieces of so many characters.
_WORD = re.compile(r"\S{1,100}")
_HEADING = re.compile(r"#{1,6}\s+(.*\S)")
_COLUMNS = ("id", "title", "text")


@dataclass(frozen=True)
class Snippet:
    """A piece of text that is retrieved and shown as a whole.

    Parameters
    ----------
    snippet_id : str
        Its name, unique in the corpus; ``name#2`` is the second chunk of a longer text.
    title : str
        The title of the text; empty if it has no title.
    text : str
        Its words, separated by single spaces.
    """

    snippet_id: str
    title: str
    text: str

    @property
    def searched(self) -> str:
        """Return the text that a search reads."""
        return f"{self.title} {self.text}".lstrip()

    @property
    def sha256(self) -> str:
        """Return the sha256 of the text."""
        return text_sha256(self.text)


@dataclass(frozen=True)
class Corpus:
    """Snippets, in an order that depends on their names alone.

    Parameters
    ----------
    name : str
        The name of its folder or file.
    snippets : tuple of Snippet
        Sorted by the text's name, and the chunks of a text by their number.
    """

    name: str
    snippets: tuple[Snippet, ...]

    @cached_property
    def sha256(self) -> str:
        """Return the sha256 over names, titles and texts, in order."""
        digest = hashlib.sha256()
        for snippet in self.snippets:
            row = [snippet.snippet_id, snippet.title, snippet.text]
            digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        return digest.hexdigest()


def load_corpus(path: Path, *, chunk_words: int = CHUNK_WORDS) -> Corpus:
    """Read a corpus and split its longer texts.

    Parameters
    ----------
    path : Path
        A folder; its ``.txt`` and ``.md`` files are read, including those in subfolders. Or a JSON
        Lines or parquet file with the columns ``id``, ``text`` and optionally ``title``.
    chunk_words : int
        The maximum number of words in a snippet. A longer text is split into chunks; each repeats
        the last `OVERLAP_WORDS` words of the previous one.

    Raises
    ------
    InputError
        If there is no text, or a file cannot be read or is too large. If a text or a name is empty
        or too long, or two snippets have the same name. If the folder contains a symbolic link. Its
        ``problems`` name each file, row, column and value.

    Notes
    -----
    White space becomes one space, so line ends of other systems do not matter. In a folder, a file
    is named by its path. A Markdown file has its first heading as title. Hidden files are skipped.
    """
    path = Path(path)
    if not _FEWEST_WORDS <= chunk_words <= _MOST_WORDS:
        remedy = f"use {_FEWEST_WORDS} to {_MOST_WORDS}"
        raise input_error(f"chunk_words = {chunk_words}", "is out of range", remedy)
    if path.is_dir():
        rows = list(_folder_rows(path))
    elif path.is_file():
        rows = list(_file_rows(path))
    else:
        raise input_error(path, "no such file or folder", "check the path")
    if not rows:
        remedy = f"give a folder of {', '.join(_SUFFIXES)} files, or a file of snippets"
        raise input_error(path, "the corpus contains no text", remedy)
    refuse([problem for row in rows if (problem := _fault(*row))][:20])
    texts = sorted(((_words(row["id"]), row) for _, _, row in rows), key=lambda text: text[0])
    snippets = tuple(
        Snippet(name if number is None else f"{name}#{number}", _words(row["title"] or ""), text)
        for name, row in texts
        for number, text in _chunks(row["text"], chunk_words)
    )
    _check(snippets, path)
    called = path.resolve().name if path.is_dir() else path.stem
    return Corpus(unicodedata.normalize("NFC", called), snippets)


def _chunks(text: str, size: int) -> Iterator[tuple[int | None, str]]:
    """Return the chunks of a text with their numbers; a short text is not split."""
    text = _words(text)
    spans = [match.span() for match in _WORD.finditer(text)]
    if len(spans) <= size:
        yield None, text
        return
    step = size - OVERLAP_WORDS
    for number, first in enumerate(range(0, len(spans) - OVERLAP_WORDS, step), start=1):
        last = min(first + size, len(spans)) - 1
        yield number, text[spans[first][0] : spans[last][1]]


# A row of a corpus and its source: the file, the row's number in it, and the row's content.
_Row = tuple[Path, int | None, dict[str, Any]]


def _folder_rows(folder: Path) -> Iterator[_Row]:
    """Return the texts of a folder; refuse symbolic links, which may lead to private files."""
    files, linked, size = [], [], 0
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        texts = [n for n in names if n.lower().endswith(_SUFFIXES) and not n.startswith(".")]
        for name in (*folders, *texts):
            file = Path(parent, name)
            if file.is_symlink():
                linked.append(file)
            elif name in texts and file.is_file():
                files.append(file)
                size += file.stat().st_size
    refuse_links(linked[:20])
    _check_size(folder, size)
    for file in files:
        try:
            text = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise input_error(file, f"not UTF-8 text ({error})", "save it as UTF-8") from None
        # macOS stores accented letters in file names as two characters.
        name = unicodedata.normalize("NFC", file.relative_to(folder).as_posix())
        heading = _HEADING.match(text.lstrip()) if file.suffix.lower() == ".md" else None
        yield file, None, {"id": name, "title": heading[1] if heading else "", "text": text}


def _file_rows(path: Path) -> Iterator[_Row]:
    _check_size(path, path.stat().st_size)
    if path.suffix.lower() == ".jsonl":
        rows = read_json_lines(path)
    elif path.suffix.lower() == ".parquet":
        rows = _parquet_rows(path)
    else:
        raise input_error(path, "is not a file of snippets", "use a folder, .jsonl or .parquet")
    for number, row in enumerate(rows, start=1):
        yield path, number, {column: row.get(column) for column in _COLUMNS}


def _parquet_rows(path: Path) -> list[dict[str, Any]]:
    frame = load_parquet(path, _COLUMNS)
    for column in ("id", "text"):
        if list(frame.columns).count(column) != 1:
            remedy = "give the file the columns id and text, and optionally title"
            raise input_error(path, "the column is missing or repeated", remedy, column=column)
    frame = frame[[column for column in _COLUMNS if column in frame]].astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def _fault(path: Path, number: int | None, row: dict[str, Any]) -> Problem | None:
    """Describe the problem of a row."""
    for column, longest in (("id", _LONGEST_NAME), ("title", _LONGEST_TITLE), ("text", None)):
        value = row[column]
        if column == "title" and value in (None, ""):
            continue
        if not is_text(value):
            message, remedy = "must be text and must not be empty", "fill it in, or delete the row"
            if isinstance(value, (int, float)):
                message, remedy = "is a number, not text", "put it in quotes"
        elif longest and len(_words(value)) > longest:
            message, remedy = f"is longer than {longest} characters", "shorten it"
        elif column == "id" and not _words(value).isprintable():
            message, remedy = "contains characters that cannot be printed", "use another name"
        else:
            continue
        told = None if value is None else str(value)[:200]
        return Problem(str(path), message, remedy, row=number, column=column, value=told)
    return None


def _check(snippets: tuple[Snippet, ...], path: Path) -> None:
    """Refuse a corpus that cannot be searched."""
    if len(snippets) > _MOST_SNIPPETS:
        message = f"has {len(snippets):,} snippets; the limit is {_MOST_SNIPPETS:,}"
        raise input_error(path, message, "use a smaller corpus")
    counts = Counter(snippet.snippet_id for snippet in snippets)
    twice = ("two snippets have this id", "give each its own id")
    too_long = ("is too long once the chunk number is added", "shorten it")
    faulty = [(name, twice) for name, count in counts.items() if count > 1]
    faulty += [(name, too_long) for name in counts if len(name) > _LONGEST_NAME]
    refuse(Problem(str(path), *said, column="id", value=n) for n, said in faulty[:20])


def _check_size(path: Path, size: int) -> None:
    if size > _MOST_BYTES:
        message = f"is {size / 2**30:.1f} GiB; the limit is {_MOST_BYTES / 2**30:.0f}"
        raise input_error(path, message, "use a smaller corpus")


def _words(text: str) -> str:
    return " ".join(text.split())
