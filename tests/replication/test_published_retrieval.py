"""The printed figures of retrieval-augmented answers are what their README says of them."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.resources import resource


def printed(name: str) -> pd.DataFrame:
    return pd.read_csv(resource("data", "published", name))


def test_the_facts_are_those_of_the_shared_files(shared_data):
    for name in ("rag_table2.csv", "rag_fairness.csv"):
        expected = shared_data(f"published/{name}").read_bytes()
        assert resource("data", "published", name).read_bytes() == expected


def test_what_the_readme_says_of_them():
    scores, fairness = printed("rag_table2.csv"), printed("rag_fairness.csv")
    readme = resource("data", "published", "README.md").read_text(encoding="utf-8")
    low = scores[scores["score_percent"] < 25]
    assert f"Of the {len(scores)} scores of table 2, {len(low)} are below" in readme
    assert set(low["dataset"]) == {"MMLU", "MedQA", "MedMCQA"}
    votes = fairness[fairness["strategy"] == "majority_vote"].set_index("table")["dp"]
    assert votes.to_dict() == {3: 0.07, 4: 0.08}
    overlaps = scores.groupby(["model", "dataset"])["retrieval_overlap_percent"].nunique()
    assert (overlaps > 1).all()
