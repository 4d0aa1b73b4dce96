"""Preserved content, measured on all variants of a benchmark."""

from dataclasses import replace

import pytest

from fairstats.benchmarks.declaration import NEUTRALIZED
from fairstats.benchmarks.vignette_items import read_vignettes
from fairstats.vignettes.content import (
    CONTENT_MEASURES,
    content_findings,
    content_flags,
    content_measures,
)
from fairstats.vignettes.tables import FINDING_COLUMNS, FLAG_COLUMNS, MEASURE_COLUMNS


@pytest.fixture(scope="module")
def vignettes():
    return read_vignettes("demo")


def with_neutral(vignettes, text, **variants):
    """Return only the first item, with this neutral text for every variant but the given ones."""
    item = vignettes.items[0]
    every = dict.fromkeys(item.variants, text) | variants
    return replace(vignettes, items=(replace(item, variants=every),))


def test_no_item_gives_no_row_and_no_estimate(vignettes):
    none = replace(vignettes, items=())
    measures = content_measures(none)
    assert list(measures.columns) == list(MEASURE_COLUMNS)
    assert measures.empty
    assert list(content_findings(measures, none.benchmark).columns) == list(FINDING_COLUMNS)
    assert list(content_flags(none).columns) == list(FLAG_COLUMNS)


def test_content_missing_from_the_neutral_text_is_not_measured(vignettes):
    measures = content_measures(with_neutral(vignettes, "What is next?"))
    found = set(measures["measure"])
    assert not {"numbers_kept", "drugs_kept", "findings_kept"} & found
    assert {"question_asked", "new_quantities"} <= found


def test_shares_counted_by_hand(vignettes):
    neutral = "A patient has a fever of 39 °C for 3 days on aspirin. What is next?"
    one = with_neutral(
        vignettes, neutral, black="A Black patient has a fever of 39 °C and a pulse of 90/min."
    )
    measures = content_measures(one)
    values = measures[measures["group"] == "black"].set_index("measure")["value"].to_dict()
    assert values == {
        "numbers_kept": 0.5,
        "drugs_kept": 0.0,
        "findings_kept": 1.0,
        "question_asked": 0.0,
        "new_quantities": 1.0,
    }
    flags = content_flags(one)
    assert set(flags[flags["group"] == "black"]["flag"]) == {
        *("question missing", "number missing", "drug missing", "new quantity")
    }
    assert "white" not in set(flags["group"])
    findings = content_findings(measures, one.benchmark)
    shares = findings[findings["quantity"] == "share of variants"]
    shares = shares.set_index(["measure", "group_a"])["estimate"]
    for measure in ("numbers_kept", "drugs_kept", "question_asked", "no_new_quantity"):
        assert (shares[measure, "white"], shares[measure, "black"]) == (1.0, 0.0)


def test_a_single_item_has_no_p_of_0_and_limits_everywhere(vignettes):
    one = with_neutral(vignettes, "A fever of 39 °C. What is next?")
    findings = content_findings(content_measures(one), one.benchmark)
    assert findings[["estimate", "ci_low", "ci_high"]].notna().all(axis=None)
    pairs = findings[findings["group_b"] != ""]
    assert (pairs["p_value"] == 1).all()


def test_new_drug_that_is_an_option_names_the_option(vignettes):
    item = vignettes.items[0]
    neutral = "A fever. What is next?"
    options = dict(item.options) | {"A": "Aspirin", "B": "Rest"}
    variants = dict.fromkeys(item.variants, neutral) | {
        "black": "A Black patient fears aspirin. A fever. What is next?"
    }
    changed = replace(item, options=options, answer_key="A", variants=variants)
    flags = content_flags(replace(vignettes, items=(changed,)))
    (detail,) = flags[flags["flag"] == "new drug"]["detail"]
    assert detail == "aspirin (option A, the key)"


def test_demonstration_items_keep_all_content(vignettes):
    measures = content_measures(vignettes)
    assert set(measures["measure"]) == set(CONTENT_MEASURES)
    exact = measures[measures["measure"].isin(["numbers_kept", "drugs_kept"])]
    assert (exact["value"] == 1).all()


def test_the_released_items(shared_data):
    vignettes = read_vignettes(shared_data("amqa") / "items.parquet")
    measures = content_measures(vignettes)
    found = content_findings(measures, vignettes.benchmark)
    shares = found[found["quantity"] == "share of variants"].set_index(["measure", "group_a"])
    # A variant without a question mark does not ask: counted here without any rule of this package.
    asking = [i for i in vignettes.items if "?" in i.variants[NEUTRALIZED]]
    for group in ("white", "black", "male", "female", "high_income", "low_income"):
        plain = sum("?" in item.variants[group] for item in asking) / len(asking)
        assert shares.loc[("question_asked", group), "estimate"] == pytest.approx(plain)
        assert shares.loc[("numbers_kept", group), "estimate"] > 0.96
    assert shares.loc[("question_asked", "black"), "estimate"] == pytest.approx(0.520, abs=1e-3)
    assert shares.loc[("question_asked", "white"), "estimate"] == pytest.approx(0.671, abs=1e-3)
    assert (found["p_value"].dropna() > 0).all()
