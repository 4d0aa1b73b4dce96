"""The retrievals table: valid tables, and every fault is named."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.files import answer_files
from fairstats.retrieval.retrievals_table import check_retrievals, read_retrievals, write_retrievals

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
                "query_sha256": hashlib.sha256(group.encode()).hexdigest(),
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


def test_folder_of_answers_may_contain_retrievals(retrievals, tmp_path):
    write_retrievals(retrievals, tmp_path / "x.retrievals.parquet")
    (tmp_path / "a.parquet").write_bytes(b"")
    assert [path.name for path in answer_files(tmp_path)] == ["a.parquet"]


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (1, "rank", 3, "without gaps"),
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
        (1, "score", float("inf"), "must be a finite number"),
        (1, "score", float("-inf"), "must be a finite number"),
        (
            1,
            "score",
            np.nextafter(3.0, 4),
            "score = '3.0000000000000004 of demo-01, white': .*rise",
        ),
        (1, "query_sha256", "0" * 64, "0 of demo-01, white': the list has two queries"),
        (1, "rank", 1.7, "row 2: rank = '1.7': must be a whole number; number the snippets"),
        (1, "rank", "2.5", "row 2: rank = '2.5': must be a whole number"),
        (1, "rank", float("inf"), "rank"),
        (1, "rank", None, "rank"),
        (1, "rank", [2], "rank"),
    ],
)
def test_a_fault_is_named(retrievals, row, column, value, said):
    if column in ("rank", "score"):
        retrievals[column] = retrievals[column].astype("object")
    retrievals.at[row, column] = value
    with pytest.raises(InputError, match=said):
        check_retrievals(retrievals, path="x")


def test_non_numeric_score_is_a_fault(retrievals):
    with pytest.raises(InputError, match="score"):
        check_retrievals(retrievals.assign(score=float("nan")))


def problems_of(retrievals) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as raised:
        check_retrievals(retrievals)
    return [(problem.column, problem.message) for problem in raised.value.problems]


def test_equal_scores_and_other_rank_types_are_valid(retrievals):
    assert (check_retrievals(retrievals.assign(score=0.0))["score"] == 0).all()
    falling = check_retrievals(retrievals.assign(score=-1.0 * retrievals["rank"]))
    assert falling["score"].tolist() == [-1, -2, -1, -2]
    for kind in ("float64", "str", "Int64", "int8"):
        checked = check_retrievals(retrievals.astype({"rank": kind}))
        assert checked.equals(check_retrievals(retrievals))


def test_scores_rise_inside_of_a_list_only(retrievals):
    # In the order of the table, the second list starts higher than the first one ends.
    assert check_retrievals(retrievals)["score"].tolist() == [3, 1.5, 3, 1.5]
    one_list = retrievals["group"] == "black"
    risen = retrievals.assign(score=retrievals["score"].mask(one_list, retrievals["rank"] + 0.0))
    ((column, message),) = problems_of(risen)
    assert column == "score"
    assert "must not rise" in message


def test_variant_has_one_query_for_all_retrievers(retrievals):
    other = retrievals.assign(retriever="dense")
    assert len(check_retrievals(pd.concat([retrievals, other]))) == 8
    said = ("query_sha256", "another retriever used a different query for this variant")
    changed = other.assign(query_sha256=other["query_sha256"].str[::-1])
    assert problems_of(pd.concat([retrievals, changed])) == [said]
    # In another version, or about another item, it is a different variant.
    for column in ("benchmark_version", "item_id", "benchmark"):
        check_retrievals(pd.concat([retrievals, changed.assign(**{column: "other"})]))


@pytest.mark.parametrize(
    "change",
    [
        lambda black: black.assign(snippet_id=["s1", "s3"], snippet_sha256=[HEX, HEX[::-1]]),
        lambda black: black.assign(snippet_id=["s2", "s1"], snippet_sha256=[HEX[::-1], HEX]),
        # Shorter, or longer.
        lambda black: black.head(1),
        lambda black: pd.concat(
            [black, black.tail(1).assign(rank=3, snippet_id="s3", snippet_sha256=HEX)]
        ),
    ],
)
def test_a_retriever_has_one_list_for_a_query(retrievals, change):
    same = retrievals.assign(
        query_sha256=HEX, snippet_sha256=[HEX, HEX[::-1]] * 2, text="", title=""
    )
    # If two variants have the same text, they share a list; this is valid.
    assert len(check_retrievals(same)) == 4
    white, black = (same[same["group"] == group] for group in ("white", "black"))
    black = change(black)
    said = ("query_sha256", "this retriever has a different list for the same query")
    assert problems_of(pd.concat([white, black])) == [said]
    # With another retriever, version or query, the list may differ.
    check_retrievals(pd.concat([white, black.assign(retriever="dense")]))
    check_retrievals(pd.concat([white, black.assign(benchmark_version="2")]))
    check_retrievals(pd.concat([white, black.assign(query_sha256="0" * 64)]))


def test_other_columns_and_empty_tables_are_faults(retrievals, tmp_path):
    with pytest.raises(InputError, match="retrievals table"):
        check_retrievals(retrievals.assign(more=1))
    with pytest.raises(InputError, match="retrievals table"):
        check_retrievals(retrievals.drop(columns="score"))
    with pytest.raises(InputError, match="no row"):
        check_retrievals(retrievals.head(0))
    with pytest.raises(InputError, match="end the name in"):
        write_retrievals(retrievals, tmp_path / "x.parquet")
    write_retrievals(retrievals, tmp_path / "there.retrievals.parquet")
    with pytest.raises(InputError, match=r"is a folder; give a file in it: there\.retr"):
        read_retrievals(tmp_path)
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(InputError, match="create one with `fairstats rag retrieve`"):
        read_retrievals(tmp_path / "x.jsonl")
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
    # Answers of two models can be asked with the same lists, but not with others of this name.
    assert read_retrievals([first, first]).equals(read_retrievals(first))
    other = retrievals.assign(snippet_id=retrievals["snippet_id"] + "-b")
    third = write_retrievals(other, tmp_path / "c.retrievals.parquet")
    with pytest.raises(InputError):
        read_retrievals([first, third])
