"""A corpus: reading, splitting, and naming every fault."""

from __future__ import annotations

import hashlib
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fairstats_collectors import corpora
from fairstats_collectors.corpora import Corpus, load_corpus

from fairstats._lib.problems import InputError


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_rows(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Corpus:
    return load_corpus(write_rows(folder / "c.jsonl", rows), **options)


def words(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


@pytest.mark.parametrize("name", ["folder", "c.jsonl", "c.parquet", "c.csv", "none"])
def test_corpus_without_text_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / ".hidden.txt").write_text("not read")
        (path / "table.csv").write_text("not read")
    elif name == "c.parquet":
        pd.DataFrame({"id": [], "text": []}).to_parquet(path)
    elif name != "none":
        path.write_text("\n")
    said = {"c.csv": "is not a file of snippets", "none": "no such file"}
    with pytest.raises(InputError, match=said.get(name, "contains no text")):
        load_corpus(path)


def test_only_long_texts_are_split(tmp_path: Path) -> None:
    short, longer = words(120), words(121)
    corpus = read_rows(tmp_path, [{"id": "b", "text": longer}, {"id": "a", "text": short}])
    assert [s.snippet_id for s in corpus.snippets] == ["a", "b#1", "b#2"]
    whole, first, second = (s.text.split() for s in corpus.snippets)
    assert whole == short.split()
    assert first == longer.split()[:120]
    assert second == longer.split()[100:]


@pytest.mark.parametrize("count", [41, 60, 61, 100, 1234])
def test_chunks_overlap_by_twenty_words_and_lose_no_word(tmp_path: Path, count: int) -> None:
    corpus = read_rows(tmp_path, [{"id": "a", "text": words(count)}], chunk_words=40)
    chunks = [snippet.text.split() for snippet in corpus.snippets]
    joined = chunks[0] + [word for chunk in chunks[1:] for word in chunk[20:]]
    assert joined == words(count).split()
    assert all(one[-20:] == other[:20] for one, other in pairwise(chunks))
    assert all(20 < len(chunk) <= 40 for chunk in chunks)


def test_text_without_spaces_is_cut_too(tmp_path: Path) -> None:
    # Chinese, or a line of a megabyte: every snippet must fit into a prompt.
    corpus = read_rows(tmp_path, [{"id": "a", "text": "痛" * 30_000}])
    assert max(len(snippet.text) for snippet in corpus.snippets) == 12_000
    assert set("".join(snippet.text for snippet in corpus.snippets)) == {"痛"}


def test_hash_depends_only_on_names_titles_and_texts(tmp_path: Path) -> None:
    rows = [{"id": "b", "title": "T", "text": "two  words"}, {"id": "a", "text": "one"}]
    corpus = read_rows(tmp_path, rows)
    lines = '["a", "", "one"]\n["b", "T", "two words"]\n'
    assert corpus.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    # A different order or file type, unused fields, Windows line ends.
    pd.DataFrame(rows[::-1]).assign(more=1).to_parquet(tmp_path / "other.parquet")
    assert load_corpus(tmp_path / "other.parquet").sha256 == corpus.sha256
    windows = [rows[1], rows[0] | {"text": "two\r\nwords", "url": "x"}]
    assert read_rows(tmp_path, windows).sha256 == corpus.sha256
    for column, value in (("id", "c"), ("title", "U"), ("text", "two other words")):
        assert read_rows(tmp_path, [rows[0] | {column: value}, rows[1]]).sha256 != corpus.sha256


def test_subfolders_are_read_and_files_are_named_by_path(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".git").mkdir(parents=True)
    (tmp_path / "deep" / "a.md").write_text("\n# Chest pain #\n\nIt hurts.")
    (tmp_path / "deep" / ".git" / "c.md").write_text("hidden")
    (tmp_path / "b.TXT").write_bytes("\ufeff# no heading\r\nsecond line".encode())
    (tmp_path / "cafe\u0301.txt").write_text("an accent of its own")
    corpus = load_corpus(tmp_path)
    assert [(s.snippet_id, s.title, s.text) for s in corpus.snippets] == [
        ("b.TXT", "", "# no heading second line"),
        ("caf\u00e9.txt", "", "an accent of its own"),
        ("deep/a.md", "Chest pain #", "# Chest pain # It hurts."),
    ]
    assert corpus.name == tmp_path.stem


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights there")
@pytest.mark.parametrize("target", ["outside.txt", "outside", "gone.txt"])
def test_symbolic_links_are_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside.txt").write_text("a secret")
    (tmp_path / "outside" / "b.txt").write_text("a secret")
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("fine")
    (folder / "link.txt").symlink_to(tmp_path / target)
    with pytest.raises(InputError, match=r"link\.txt: is a symbolic link"):
        load_corpus(folder)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "x"}, "row 2: id: must be text"),
        ({"id": 7, "text": "x"}, "id = '7'"),
        ({"id": "", "text": "x"}, "id = "),
        ({"id": "a", "text": "x"}, "two snippets have this id"),
        ({"id": "c\u001b[2J", "text": "x"}, "cannot be printed"),
        ({"id": "c" * 201, "text": "x"}, "longer than 200"),
        ({"id": "c" * 200, "text": words(200)}, "too long once the chunk number"),
        ({"id": "c", "text": " \n "}, "text = "),
        ({"id": "c", "text": None}, "row 2: text: must be text"),
        ({"id": "c", "text": ["x"]}, "must be text"),
        ({"id": "c", "text": "\ud800"}, "row 2: text: is not valid Unicode text"),
        ({"id": "c", "title": 3, "text": "x"}, "title = '3'"),
        ({"id": "c", "title": "t" * 301, "text": "x"}, "longer than 300"),
    ],
)
def test_a_faulty_row_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_rows(tmp_path, [{"id": "a", "text": "fine"}, row])
    assert said in str(raised.value)
    assert "c.jsonl" in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_chunk_with_the_name_of_another_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"id = 'a#2'"):
        read_rows(tmp_path, [{"id": "a", "text": words(130)}, {"id": "a#2", "text": "x"}])


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "a"\n')
    with pytest.raises(InputError, match=r"row 1.*not JSON"):
        load_corpus(tmp_path / "c.jsonl")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="not a parquet file"):
        load_corpus(tmp_path / "c.parquet")
    pd.DataFrame({"id": ["a"], "body": ["x"]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"text.*missing or repeated"):
        load_corpus(tmp_path / "c.parquet")
    (tmp_path / "c.jsonl").unlink()
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"c\.txt.*not UTF-8"):
        load_corpus(tmp_path)
    (tmp_path / "c.txt").write_bytes(b"")
    with pytest.raises(InputError, match=r"c\.txt.*must be text"):
        load_corpus(tmp_path)


def test_parquet_of_other_types_is_named_or_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1.5, None], "text": ["x", "y"], "title": [None, "t"]})
    frame.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"id = '?1\.5"):
        load_corpus(tmp_path / "c.parquet")
    frame.assign(id=["a", "b"]).to_parquet(tmp_path / "c.parquet")
    titles = [snippet.title for snippet in load_corpus(tmp_path / "c.parquet").snippets]
    assert titles == ["", "t"]


@pytest.mark.parametrize("chunk_words", [0, 39, 901, -5])
def test_invalid_length_is_refused(tmp_path: Path, chunk_words: int) -> None:
    with pytest.raises(InputError, match="use 40 to 900"):
        read_rows(tmp_path, [{"id": "a", "text": "x"}], chunk_words=chunk_words)


def test_too_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(number), "text": "some words"} for number in range(3)]
    monkeypatch.setattr(corpora, "_MOST_SNIPPETS", 2)
    with pytest.raises(InputError, match="3 snippets; the limit is 2"):
        read_rows(tmp_path, rows)
    monkeypatch.setattr(corpora, "_MOST_BYTES", 10)
    with pytest.raises(InputError, match="GiB; the limit is"):
        read_rows(tmp_path, rows)
    (tmp_path / "c.jsonl").rename(tmp_path / "c.txt")
    with pytest.raises(InputError, match="GiB; the limit is"):
        load_corpus(tmp_path)
