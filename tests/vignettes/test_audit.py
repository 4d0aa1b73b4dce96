"""The whole audit: with and without answers, and its refusals."""

from dataclasses import replace

import pandas as pd
import pytest

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.audit import audit_findings, audit_vignettes
from fairstats.vignettes.tables import ASPECTS, FINDING_COLUMNS, no_measures

KEYS = list(FINDING_COLUMNS[: FINDING_COLUMNS.index("estimate")])


@pytest.fixture(scope="module")
def vignettes():
    return read_vignettes("demo")


@pytest.fixture(scope="module")
def audit(vignettes):
    return audit_vignettes(vignettes)


@pytest.fixture(scope="module")
def answers(demo, all_right, tmp_path_factory):
    """Return answers of two models; the second one is unrelated to the texts."""
    folder = tmp_path_factory.mktemp("answers")
    right = all_right(demo)
    other = right.assign(model="other")
    wrong = other["item_id"].isin(["demo-01", "demo-02"]) & other["group"].eq("black")
    other.loc[wrong, "answer"] = other.loc[wrong, "answer_key"].map(
        {"A": "B", "B": "C", "C": "D", "D": "A"}
    )
    write_answers(right, folder / "right.parquet")
    write_answers(other, folder / "other.parquet")
    return folder


def test_no_measures_and_no_answers_give_no_findings():
    assert audit_findings(no_measures()).empty


def test_audit_without_answers(audit):
    assert set(audit.findings["aspect"]) <= set(ASPECTS)
    assert audit.benchmark_version == "1"
    assert not audit.findings.duplicated(KEYS).any()
    assert not (audit.findings["p_value"] == 0).any()


def test_audit_with_answers_has_every_aspect(vignettes, answers):
    audit = audit_vignettes(vignettes, [answers])
    assert set(audit.findings["aspect"]) == set(ASPECTS)
    assert not audit.findings.duplicated(KEYS).any()
    assert not (audit.findings["p_value"] == 0).any()
    given = pd.concat([pd.read_parquet(p) for p in sorted(answers.glob("*.parquet"))])
    again = audit_findings(audit.measures, given.reset_index(drop=True))
    pd.testing.assert_frame_equal(audit.findings, again)


@pytest.mark.parametrize("missing", ["bounds", "complete", "incorrect"])
def test_every_policy_gives_a_table(audit, answers, missing):
    given = pd.read_parquet(answers / "other.parquet")
    # One attribute is enough.
    tables = (table[table["attribute"] == "race"] for table in (audit.measures, given))
    found = audit_findings(*tables, missing=missing)
    assert "selection" in set(found["aspect"])


def test_variants_equal_to_the_neutral_text_do_not_leak(vignettes):
    same = tuple(
        replace(item, variants=dict.fromkeys(item.variants, item.variants["neutralized"]))
        for item in vignettes.items
    )
    found = audit_vignettes(replace(vignettes, items=same)).findings
    leaks = found[(found["aspect"] == "leakage") & (found["quantity"] == "advantage difference")]
    assert (leaks["estimate"] == 0).all()
    assert (leaks["p_value"] == 1).all()


def test_one_item(vignettes):
    found = audit_vignettes(replace(vignettes, items=vignettes.items[:1])).findings
    assert not (found["p_value"] == 0).any()


def test_invalid_values_are_refused(vignettes, answers, demo):
    with pytest.raises(InputError, match="is not a version of demo"):
        audit_vignettes(vignettes, benchmark_version="9")
    mine = replace(vignettes, benchmark=replace(demo, name="mine"))
    with pytest.raises(InputError, match="contain no answers to mine"):
        audit_vignettes(mine, [answers])


@pytest.mark.parametrize("gone", ["group", "attribute"])
def test_a_group_or_attribute_that_was_not_measured_is_passed_over(audit, answers, gone):
    measures = audit.measures
    value = {"group": "white", "attribute": "race"}[gone]
    given = pd.read_parquet(answers / "other.parquet")
    found = audit_findings(measures[measures[gone] != value], given)
    leaks = found[found["aspect"] == "leakage"]
    assert "sex" in set(leaks["attribute"])
    gone = leaks[leaks["group_a"] == "white"]
    assert gone["estimate"].isna().all()
