"""The overlap of retrieved snippets, and of replies: degenerate cases first, then plain Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from fairstats._lib.problems import InputError
from fairstats.answers.files import write_answers
from fairstats.benchmarks.loading import load_benchmark
from fairstats.cli import app
from fairstats.inference.intervals import wilson
from fairstats.inference.verdict import ROOM
from fairstats.retrieval.overlap import (
    ITEM_OVERLAP_COLUMNS,
    OVERLAP_COLUMNS,
    TEXT_OVERLAP_COLUMNS,
    overlap_of_items,
    retrieval_overlap,
    rouge_l,
    text_overlap,
    usual_depths,
)
from fairstats.retrieval.retrievals_table import write_retrievals
from fairstats.retrieval.variant_lists import no_retrievals, open_retrievals
from tests.make_answers import make_answers
from tests.retrieval_tables import drawn_lists, retrievals_of, sha256
from tests.serving import benchmark_script

GROUPS = {
    "race": ("white", "black"),
    "sex": ("male", "female"),
    "ses": ("high_income", "low_income"),
    "baseline": ("original", "neutralized"),
}


def lists_of(item: str, **found: tuple[str, ...]) -> dict:
    """Return the lists of one item: two texts per attribute, in which each letter is a snippet."""
    texts = dict.fromkeys(GROUPS, ("ab", "ab")) | found
    return {
        (item, attribute, group): list(text)
        for attribute, both in texts.items()
        for group, text in zip(GROUPS[attribute], both, strict=True)
    }


def row_of(table: pd.DataFrame, **keys: object) -> pd.Series:
    found = table
    for column, value in keys.items():
        found = found[found[column] == value]
    assert len(found) == 1, (keys, len(found))
    return found.iloc[0]


# Degenerate


def test_no_retrievals_give_tables_without_rows():
    for table, columns in (
        (retrieval_overlap(no_retrievals()), OVERLAP_COLUMNS),
        (overlap_of_items(no_retrievals()), ITEM_OVERLAP_COLUMNS),
    ):
        assert table.empty
        assert list(table.columns) == list(columns)
    filled = retrieval_overlap(retrievals_of(lists_of("demo-01")))
    pd.testing.assert_series_equal(retrieval_overlap(no_retrievals()).dtypes, filled.dtypes)


def test_single_item():
    row = row_of(
        retrieval_overlap(retrievals_of(lists_of("demo-01", race=("ab", "bc")))),
        attribute="race",
        measure="iou",
    )
    assert row["estimate"] == 1 / 3
    assert (row["n"], row["n_identical"], row["n_empty"], row["n_left_out"]) == (1, 0, 0, 23)
    unseen = float(wilson(0, 1).ci_high)
    assert row["ci_low"] == pytest.approx((1 - unseen) / 3)
    assert row["ci_high"] == pytest.approx((1 - unseen) / 3 + unseen)


def test_overlap_of_equal_lists_is_one(demo):
    lists = {k: v for item in demo.answer_keys for k, v in lists_of(item).items()}
    table = retrieval_overlap(retrievals_of(lists))
    assert (table["estimate"] == 1).all()
    assert (table["ci_high"] == 1).all()
    np.testing.assert_allclose(table["ci_low"], float(wilson(24, 24).ci_low))
    assert (table["n_identical"] == 24).all()
    assert table["ci_method"].str.contains("is not informative").all()


def test_variant_without_results_has_an_empty_list():
    lists = lists_of("demo-01", race=("", ""), sex=("", "ab")) | lists_of("demo-02")
    table = retrieval_overlap(retrievals_of(lists))
    race = row_of(table, attribute="race", measure="iou")
    # The same context twice.
    assert (race["estimate"], race["n"], race["n_identical"], race["n_empty"]) == (1, 2, 2, 1)
    sex = row_of(table, attribute="sex", measure="iou")
    assert (sex["estimate"], sex["n_identical"], sex["n_empty"]) == (0.5, 1, 0)
    pooled = row_of(table, attribute="pooled", measure="jaccard")
    # Three of the first item's fifteen pairs have empty lists, three have full ones.
    assert pooled["estimate"] == pytest.approx((6 / 15 + 1) / 2)
    assert row_of(table, attribute="pooled", measure="iou")["estimate"] == 0.5


def test_an_item_without_any_snippet_is_left_out_and_counted():
    lists = lists_of("demo-01") | lists_of("demo-02", race=("ab", "cd"))
    table = retrieval_overlap(retrievals_of(lists))
    assert set(table["n"]) == {2}
    assert set(table["n_left_out"]) == {22}
    assert set(overlap_of_items(retrievals_of(lists))["item_id"]) == {"demo-01", "demo-02"}


def test_a_group_that_was_not_searched_for_leaves_its_attribute_without_a_figure():
    lists = {k: v for k, v in lists_of("demo-01").items() if k[2] != "black"}
    table = retrieval_overlap(retrievals_of(lists)).set_index(["attribute", "measure"])
    for attribute in ("race", "pooled"):
        row = table.loc[(attribute, "iou")]
        assert np.isnan(row["estimate"])
        assert (row["ci_low"], row["ci_high"], row["n"], row["n_left_out"]) == (0, 1, 0, 24)
        assert row["method_note"] == "no snippets for race black"
        assert row["ci_method"] == "none (no items)"
    assert table.loc[("sex", "iou"), "estimate"] == 1


def test_lists_shorter_than_k_are_used_as_they_are():
    lists = lists_of("demo-01", race=("a", "abc"))
    table = retrieval_overlap(retrievals_of(lists), top_k=[1, 2, 3])
    found = table[(table["attribute"] == "race") & (table["measure"] == "iou")]
    assert found["estimate"].tolist() == [1, 1 / 2, 1 / 3]


def test_ranks_beyond_the_lists_are_refused():
    retrievals = retrievals_of(lists_of("demo-01"))
    with pytest.raises(InputError, match="end at rank 2"):
        retrieval_overlap(retrievals, top_k=[1, 3])
    for wrong in ([], [0]):
        with pytest.raises(ValueError, match="top_k"):
            retrieval_overlap(retrievals, top_k=wrong)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("benchmark_version", "2"),
        ("item_id", "other-01"),
        ("group", "martian"),
        ("attribute", "<b>race</b>"),
    ],
)
def test_undeclared_group_is_refused(column, value):
    retrievals = retrievals_of(lists_of("demo-01"))
    retrievals.loc[retrievals["group"] == "white", column] = value
    with pytest.raises(InputError, match="does not declare it"):
        retrieval_overlap(retrievals)


def test_unknown_benchmark_is_refused():
    with pytest.raises(InputError, match="no such benchmark"):
        retrieval_overlap(retrievals_of(lists_of("demo-01"), benchmark="../demo"))


# Valid tables


def test_usual_depths_end_with_the_length_of_the_lists():
    assert usual_depths(20) == [10, 15, 20]
    assert usual_depths(9) == [9]
    assert usual_depths(100) == [10, 15, 20, 100]


def test_order_inside_of_a_list_does_not_matter_below_its_depth():
    table = retrieval_overlap(
        retrievals_of(lists_of("demo-01", race=("abc", "cba"))), top_k=[1, 2, 3]
    )
    found = table[(table["attribute"] == "race") & (table["measure"] == "iou")]
    assert found["estimate"].tolist() == [0, 1 / 3, 1]


@pytest.mark.parametrize("k", [10, 15, 20])
def test_rows_agree_with_plain_python(demo, k):
    lists = drawn_lists(demo)
    table = retrieval_overlap(retrievals_of(lists))
    items = overlap_of_items(retrievals_of(lists), top_k=[k])
    for attribute in ("race", "sex", "ses", "baseline", "pooled"):
        of = [attribute] if attribute != "pooled" else ["race", "sex", "ses"]
        iou, jaccard = [], []
        for item in demo.answer_keys:
            sets = [set(lists[item, a, g][:k]) for a in of for g in GROUPS[a]]
            iou.append(len(set.intersection(*sets)) / len(set.union(*sets)))
            jaccard.append(
                np.mean(
                    [len(x & y) / len(x | y) for i, x in enumerate(sets) for y in sets[i + 1 :]]
                )
            )
        for measure, values in (("iou", iou), ("jaccard", jaccard)):
            row = row_of(table, top_k=k, attribute=attribute, measure=measure)
            assert row["estimate"] == pytest.approx(np.mean(values), abs=1e-12)
            drawn = stats.bootstrap(
                (values,), np.mean, n_resamples=9999, rng=1, method="BCa"
            ).confidence_interval
            np.testing.assert_allclose((row["ci_low"], row["ci_high"]), drawn, atol=0.01)
            own = items[items["attribute"] == attribute]
            np.testing.assert_allclose(own[measure], values)
            assert (row["n"], row["n_left_out"]) == (24, 0)
            assert row["n_identical"] == sum(value == 1 for value in values)


def test_two_retrievers_and_a_shuffled_table(demo):
    lists = drawn_lists(demo, depth=12)
    one, other = retrievals_of(lists), retrievals_of(drawn_lists(demo, seed=2), retriever="dense")
    both = pd.concat([one, other]).sample(frac=1, random_state=1)
    table = retrieval_overlap(both)
    assert table.groupby("retriever")["top_k"].unique().map(list).to_dict() == {
        "bm25": [10, 12],
        "dense": [10, 15, 20],
    }
    own = table[table["retriever"] == "bm25"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, retrieval_overlap(one))
    assert set(table["corpus"]) == {"primer"}
    assert set(table["corpus_sha256"]) == {sha256("primer")}
    with pytest.raises(InputError, match="end at rank 12"):
        retrieval_overlap(both, top_k=[20])


def test_iou_of_three_groups_uses_snippets_of_all(three_groups):
    lists = {
        ("i1", "race", "white"): list("ab"),
        ("i1", "race", "black"): list("bc"),
        ("i1", "race", "asian"): list("bd"),
        ("i1", "baseline", "original"): list("ab"),
        ("i1", "baseline", "neutralized"): list("ab"),
    }
    table = retrieval_overlap(retrievals_of(lists, benchmark="three"), benchmarks=[three_groups])
    assert row_of(table, attribute="race", measure="iou")["estimate"] == 1 / 4
    assert row_of(table, attribute="race", measure="jaccard")["estimate"] == pytest.approx(1 / 3)


def test_the_odd_variant_may_be_any_and_the_overlap_is_one_number(demo):
    # Six lists of ten snippets: one shares three with the others, which are equal.
    demographic = [(a, g) for a in ("race", "sex", "ses") for g in GROUPS[a]]
    lists = {}
    for place, item in enumerate(demo.answer_keys):
        lists |= {(item, *variant): list("abcdefghij") for variant in demo.variants}
        lists[(item, *demographic[place % 6])] = list("abcrstuvwx")
    expected = (10 + 5 * 3 / 17) / 15
    items = overlap_of_items(retrievals_of(lists))
    assert set(items.loc[items["attribute"] == "pooled", "jaccard"]) == {expected}
    row = row_of(retrieval_overlap(retrievals_of(lists)), attribute="pooled", measure="jaccard")
    assert row["estimate"] == pytest.approx(expected, abs=1e-15)
    unseen = float(wilson(0, 24).ci_high)
    low = expected * (1 - unseen)
    np.testing.assert_allclose((row["ci_low"], row["ci_high"]), (low, low + unseen), atol=1e-14)
    assert row["ci_method"].startswith("wilson (bootstrap bca ")
    assert row["method_note"] == ""


def test_the_mean_of_two_groups_is_their_overlap_to_the_last_digit(demo):
    items = overlap_of_items(retrievals_of(drawn_lists(demo)), top_k=range(1, 21))
    two = items[items["attribute"] != "pooled"]
    assert (two["jaccard"] == two["iou"]).all()
    assert (two["iou"] == two["common"] / two["union"]).all()


def test_the_text_of_snippets_is_of_no_account(demo):
    retrievals = retrievals_of(lists_of("demo-01", race=("ab", "bc")))
    with_text = retrievals.assign(text="<script>", title="=1+1")
    pd.testing.assert_frame_equal(retrieval_overlap(with_text), retrieval_overlap(retrievals))
    (lists,) = open_retrievals(with_text)
    assert lists.first(1, "demo-01", ("race", "black")) == ("b",)
    assert lists.first(9, "demo-24", ("race", "black")) == ()


def crossed_lists(crossed, **texts: str) -> dict:
    """Return the lists of one item, one text per crossed group."""
    names = [group for attribute, group in crossed.variants if attribute == "race_sex"]
    return {
        ("demo-01", "race_sex", group): list(texts.get(group.replace("+", "_"), "ab"))
        for group in names
    }


def test_overlap_of_crossed_groups_is_averaged_over_the_other_attribute(crossed_demo):
    lists = crossed_lists(crossed_demo, white_female="bc", black_female="cd")
    retrievals = retrievals_of(lists, benchmark="crossed")
    table = retrieval_overlap(retrievals, benchmarks=[crossed_demo])
    # Men have equal lists, women a third in common; black men and women have none.
    expected = {"race": (1 + 1 / 3) / 2, "sex": (1 / 3 + 0) / 2, "pooled": 0, "race_sex": 0}
    for attribute, value in expected.items():
        row = row_of(table, attribute=attribute, measure="iou")
        assert row["estimate"] == pytest.approx(value)
        assert (row["n"], row["n_identical"], row["method_note"]) == (1, 0, "")
    items = overlap_of_items(retrievals, benchmarks=[crossed_demo]).set_index("attribute")
    assert items.loc["race", ["variants", "common", "union"]].tolist() == [4, 3, 5]
    assert items.loc["pooled", ["variants", "common", "union"]].tolist() == [4, 0, 4]


def test_a_crossed_group_without_lists_is_named(crossed_demo):
    lists = {k: v for k, v in crossed_lists(crossed_demo).items() if k[2] != "black+male"}
    retrievals = retrievals_of(lists, benchmark="crossed")
    table = retrieval_overlap(retrievals, benchmarks=[crossed_demo])
    assert set(table["method_note"]) == {"no snippets for race_sex black+male"}
    assert table["estimate"].isna().all()


def test_replies_to_crossed_groups_are_compared(crossed_demo):
    variants = [variant for variant in crossed_demo.variants if variant[0] == "race_sex"]
    replies = {"white+male": "a b", "black+male": "a b", "white+female": "a b"}
    answers = make_answers(["AAAA"], of=crossed_demo, variants=variants)
    answers = answers.assign(answer_raw=answers["group"].map(replies).fillna("c d"))
    table = text_overlap(answers, benchmarks=[crossed_demo]).set_index("attribute")
    assert table["estimate"].to_dict() == {"race": 0.5, "sex": 0.5}
    assert table[["n", "n_pairs", "n_identical"]].values.tolist() == [[1, 2, 1]] * 2


def said(*pairs: tuple[str | None, str | None], **keys: object) -> pd.DataFrame:
    """Return the replies to two groups, item after item."""
    replies = pd.Series([text for pair in pairs for text in pair], dtype="str")
    return make_answers(["AA"] * len(pairs), answer_raw=replies, **keys)


def test_pairs_without_a_reply_or_a_word_are_left_out_and_counted():
    table = text_overlap(said(("a b", None), (None, None), ("…", "!"), ("", "好"), ("", "a b")))
    row = table.iloc[0]
    assert (row["n"], row["n_pairs"], row["n_missing"], row["n_without_words"]) == (1, 1, 2, 2)
    assert (row["estimate"], row["n_identical"]) == (0, 0)
    nothing = text_overlap(said((None, "a"), (None, "b"))).iloc[0]
    assert np.isnan(nothing["estimate"])
    assert (nothing["ci_low"], nothing["ci_high"], nothing["n"]) == (0, 1, 0)
    assert nothing["ci_method"] == "none (no items)"


def test_replies_that_are_all_the_same():
    row = text_overlap(said(*[("Give <b>aspirin</b>.", "give aspirin, B b")] * 30)).iloc[0]
    assert row["estimate"] == pytest.approx(2 * 3 / 8)
    same = text_overlap(said(*[("Give <b>aspirin</b>.", "give B aspirin b")] * 30)).iloc[0]
    assert (same["estimate"], same["n_identical"]) == (1, 30)
    assert same["ci_low"] == pytest.approx(float(wilson(30, 30).ci_low))


def test_limits_have_room_for_replies_that_are_unlike():
    alike = [("a b c", "a b c"), ("a b c d e f g h i", "a b c d e f g h")] * 15
    row = text_overlap(said(*alike)).iloc[0]
    assert row["estimate"] > 0.97
    # Of further items, 11% could have none of 30 without one.
    assert row["ci_low"] < 0.89
    assert row["ci_method"].endswith(ROOM)


def test_limits_with_room_cover_if_few_replies_are_unlike():
    law = {1.0: 0.49, 0.95: 0.49, 0.2: 0.02}
    script = benchmark_script("overlap_coverage")
    bare, room = script.of_law(np.random.default_rng(1), law, 30, 200)
    assert bare < 60
    assert room > 93


def test_answers_without_replies_or_twice_are_refused(demo):
    with pytest.raises(InputError, match="no replies"):
        text_overlap(make_answers(0.6, missing=0.05))
    answers = said(("a", "b"))
    with pytest.raises(InputError, match="more than once"):
        text_overlap(pd.concat([answers, answers]))


def test_unasked_group_leaves_all_values_missing():
    answers = said(("a", "b"), ("c", "d"))
    row = text_overlap(answers[answers["group"] == "white"]).iloc[0]
    assert (row["n"], row["n_missing"]) == (0, 2)


def test_every_score_is_the_librarys():
    # Takes a second to load, which only the worker with this test needs.
    from rouge_score.rouge_scorer import RougeScorer

    rng = np.random.default_rng(1)
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    words = np.array(["the", "patient", "Aspirin", "is", "A", "12mg", "não", "…", "x-ray"])
    pairs = [
        tuple(" ".join(rng.choice(words, rng.integers(0, 40))) for _ in range(2))
        for _ in range(120)
    ]
    for a, b in pairs:
        row = text_overlap(said((a, b))).iloc[0]
        if row["n"]:
            expected = scorer.score(a, b)["rougeL"].fmeasure
            assert row["estimate"] == pytest.approx(expected, abs=1e-12)
    table = text_overlap(said(*pairs)).iloc[0]
    scores = [scorer.score(a, b)["rougeL"].fmeasure for a, b in pairs if a + b]
    assert table["estimate"] == pytest.approx(np.mean(scores), abs=0.02)
    assert table["ci_low"] < table["estimate"] < table["ci_high"]


def test_very_long_replies_take_no_time():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 500, 20_000).tolist() for _ in range(2))
    assert 0.05 < rouge_l(a, b) < 0.5
    assert rouge_l(a, a) == 1
    assert rouge_l(a, a[::2]) == pytest.approx(2 / 3)


def test_samples_of_an_item_are_one_item():
    first, second = ("a b", "a b"), ("a b", "c d")
    answers = pd.concat([said(first, first), said(second, first, sample=1)])
    row = text_overlap(answers).iloc[0]
    assert (row["n"], row["n_pairs"], row["n_identical"]) == (2, 4, 3)
    assert row["estimate"] == pytest.approx((0.5 + 1) / 2)


@pytest.fixture(scope="module")
def patients(benchmark_file):
    """Return a benchmark with two items of each of ten patients, and its name."""
    keys = "item_id,answer_key,patient\n" + "".join(f"item-{i},A,{i % 10}\n" for i in range(20))
    missing = 'missing = "available"\ncluster = "patient"'
    return load_benchmark(benchmark_file(keys=keys, missing=missing))


def test_a_second_equal_item_of_each_patient_narrows_no_limits(patients):
    replies = [("a b", "a b"), ("a b", "c d"), ("a b", "a c"), ("a", "a")] * 2 + [("a", "b")] * 2
    unit = {"benchmark": patients.name}
    one, two = (
        text_overlap(said(*replies * copies, **unit), benchmarks=[patients]).iloc[0]
        for copies in (1, 2)
    )
    lists = {
        (f"item-{item}", "race", group): text
        for item in range(20)
        for group, text in zip(
            ("white", "black", "asian"), ("ab", "ab" if item % 2 else "cd", "ab"), strict=True
        )
    }
    whole = retrievals_of(lists, **unit)
    half = whole[whole["item_id"].isin([f"item-{item}" for item in range(10)])]
    first, both = (
        row_of(
            retrieval_overlap(own, benchmarks=[patients]), attribute="race", measure="iou", top_k=2
        )
        for own in (half, whole)
    )
    for few, many in ((one, two), (first, both)):
        assert (few["n"], many["n"]) == (10, 20)
        same = ["estimate", "ci_low", "ci_high", "ci_method"]
        assert few[same].tolist() == pytest.approx(many[same].tolist())


def test_every_unit_and_pair_has_a_row(demo):
    answers = make_answers(0.6, strategies=["plain", "cot"], missing=0.05, models=["<b>m</b>"])
    answers = answers.assign(answer_raw="The answer is " + answers["answer"])
    table = text_overlap(answers.sample(frac=1, random_state=3))
    assert tuple(table.columns) == TEXT_OVERLAP_COLUMNS
    assert table["attribute"].tolist() == ["race", "sex", "ses", "baseline"] * 2
    pd.testing.assert_frame_equal(table, text_overlap(answers))
    assert (table["n"] + table["n_missing"] == 24).all()


def test_the_command_compares_snippets_or_replies(demo, tmp_path):
    retrievals = write_retrievals(
        retrievals_of(drawn_lists(demo, depth=10)), tmp_path / "in" / "b.retrievals.parquet"
    )
    answers = make_answers(0.6, missing=0.05)
    answers = write_answers(answers.assign(answer_raw=answers["answer"]), tmp_path / "a.parquet")

    def run(*arguments: object):
        return CliRunner().invoke(app, ["rag", "overlap", *map(str, arguments)])

    for source in (retrievals, retrievals.parent):
        done = run(source, "--csv")
        assert done.exit_code == 0, done.output
        assert len(done.stdout.splitlines()) == 1 + 5 * 2
    items = run(retrievals, "--items", "--top-k", 3, "--top-k", 5, "--csv")
    assert len(items.stdout.splitlines()) == 1 + 2 * 5 * 24
    texts = run(answers, "--text", "--json")
    assert '"measure": "rouge_l"' in texts.stdout
    assert run(retrievals).exit_code == 0
    for wrong, words in (
        ((answers,), "contains no retrievals"),
        ((retrievals, "--top-k", 0), "must be at least 1"),
        ((retrievals, "--top-k", 11), "end at rank 10"),
        ((answers, "--text", "--items"), "is only for retrievals"),
        ((tmp_path / "x.retrievals.parquet",), "no such file"),
    ):
        done = run(*wrong)
        assert (done.exit_code, words in done.stderr) == (1, True), done.output
