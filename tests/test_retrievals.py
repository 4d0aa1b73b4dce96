"""The retrievals table: what passes, and that every fault is named."""

import hashlib

import pandas as pd
import pytest

from fairstats.answers import answer_files
from fairstats.problems import InputError
from fairstats.retrievals import check_retrievals, read_retrievals, write_retrievals

HEX = hashlib.sha256(b"a").hexdigest()


@pytest.fixture
def retrievals():
    return pd.DataFrame(
        [
            {
                "benchmark": "demo",
                "benchmark_version": "1",
                "item_id": "demo-01",
                "attribute": "race",
                "group": group,
                "retriever": "bm25",
                "rank": rank,
                "snippet_id": f"s{rank}",
                "score": 3.0 / rank,
                "snippet_sha256": hashlib.sha256(f"s{rank}".encode()).hexdigest(),
                "query_sha256": HEX,
                "corpus": "primer",
                "corpus_sha256": HEX,
                "settings": "bm25",
                "text": f"s{rank}",
                "title": "",
            }
            for group in ("white", "black")
            for rank in (1, 2)
        ]
    )


def test_written_and_read_again_they_are_the_same(retrievals, tmp_path):
    path = write_retrievals(
        retrievals.sample(frac=1, random_state=1), tmp_path / "x.retrievals.parquet"
    )
    assert read_retrievals(path).equals(check_retrievals(retrievals))
    assert read_retrievals([path])["group"].tolist() == ["black", "black", "white", "white"]


def test_a_folder_of_answers_may_hold_them(retrievals, tmp_path):
    write_retrievals(retrievals, tmp_path / "x.retrievals.parquet")
    (tmp_path / "a.parquet").write_bytes(b"")
    assert [path.name for path in answer_files(tmp_path)] == ["a.parquet"]


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (1, "rank", 3, "without a gap"),
        (1, "rank", 0, "1 to 9999"),
        (1, "rank", 1, "rank"),
        (1, "snippet_id", "s1", "twice"),
        (0, "snippet_id", "", "printable"),
        (0, "snippet_id", "a\x1b[2J", "printable"),
        (0, "snippet_sha256", "0" * 64, "two texts"),
        (0, "query_sha256", "abc", "hexadecimal"),
        (0, "retriever", "BM25 <b>", "a-z"),
        (0, "corpus_sha256", "0" * 64, "corpora"),
        (0, "settings", "another k1", "settings"),
    ],
)
def test_a_fault_is_named(retrievals, row, column, value, said):
    retrievals.loc[row, column] = value
    with pytest.raises(InputError, match=said):
        check_retrievals(retrievals, path="x")


def test_a_score_that_is_no_number_is_a_fault(retrievals):
    with pytest.raises(InputError, match="score"):
        check_retrievals(retrievals.assign(score=float("nan")))


def test_other_columns_and_no_row_are_faults(retrievals, tmp_path):
    with pytest.raises(InputError, match="retrievals table"):
        check_retrievals(retrievals.assign(more=1))
    with pytest.raises(InputError, match="retrievals table"):
        check_retrievals(retrievals.drop(columns="score"))
    with pytest.raises(InputError, match="no row"):
        check_retrievals(retrievals.head(0))
    with pytest.raises(InputError, match="end it in"):
        write_retrievals(retrievals, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no such file"):
        read_retrievals(tmp_path / "x.retrievals.parquet")
    (tmp_path / "x.retrievals.parquet").write_text("no parquet")
    with pytest.raises(InputError, match="not a parquet file"):
        read_retrievals(tmp_path / "x.retrievals.parquet")


def test_files_of_two_retrievers_go_together(retrievals, tmp_path):
    first = write_retrievals(retrievals, tmp_path / "a.retrievals.parquet")
    second = write_retrievals(
        retrievals.assign(retriever="dense"), tmp_path / "b.retrievals.parquet"
    )
    assert read_retrievals([first, second])["retriever"].value_counts().to_dict() == {
        "bm25": 4,
        "dense": 4,
    }
    with pytest.raises(InputError):
        read_retrievals([first, first])
