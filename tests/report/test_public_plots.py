"""The public plots: what they draw, in which order and colour, and what they refuse."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fairstats
from fairstats.benchmarks.declaration import POOLED
from fairstats.benchmarks.loading import load_benchmark
from fairstats.comparisons.ranking import RANK_COLUMNS
from fairstats.inference.verdict import DISPARITY
from fairstats.report.board.charts import COLOURS
from fairstats.report.findings import lower_for
from fairstats.report.public_plots import VERDICT_COLOURS
from tests.make_kinds import answers_to, declared


@pytest.fixture(scope="module")
def answers(answers_of) -> pd.DataFrame:
    """Three models, two attributes; the third has no answers for one group."""
    texts = {
        "fair": ["AA"] * 300 + ["BB"] * 60,
        "costs $1 or $2": ["AB"] * 50 + ["AA"] * 250 + ["BB"] * 60,
        "silent": ["A-"] * 300,
    }
    groups = {"race": ("white", "black"), "sex": ("male", "female")}
    tables = [
        answers_of(signs, groups=pair, attribute=name, model=model)
        for model, signs in texts.items()
        for name, pair in groups.items()
    ]
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def estimates(answers) -> pd.DataFrame:
    return fairstats.analyze(answers)


def svg(plot) -> str:
    """Return a saved plot, with texts as text."""
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        plot.save(buffer, format="svg", verbose=False)
    return buffer.getvalue().decode()


# Forest


def test_pairs_of_the_same_groups_have_the_name_of_their_attribute(benchmark_file):
    both = "\n".join(
        f'[attributes.{name}]\nlabel = "{name.title()}"\ngroups = {{ yes = "Yes", no = "No" }}\n'
        'pairs = [["yes", "no"]]'
        for name in ("insured", "disabled")
    )
    benchmark = declared(benchmark_file, "decision", attributes=both)
    read = ["YY", "NN", "MM"] * 20
    answers = pd.concat(
        answers_to(benchmark, items, attribute=name, groups=("yes", "no"))
        for name, items in {"insured": read, "disabled": ["YY"] * 60}.items()
    )
    table = fairstats.analyze(answers, benchmarks=[benchmark])
    pooled = table[table["attribute"] == POOLED]
    assert pooled["verdict_reason"].str.contains("for Disabled: Yes − No, every answer").any()
    panels = fairstats.plot_forest(table, metric="cfr", benchmarks=[benchmark]).data["pair"]
    assert {"Insured: Yes − No", "Disabled: Yes − No"} <= set(panels)
    said = lower_for(benchmark, "disabled", ("yes", "no"), 0.1)
    assert said == "10.0 percentage points lower for No than for Yes (Disabled)"


def test_forest_draws_the_differences_of_the_estimates_with_their_verdicts(estimates):
    drawn = fairstats.plot_forest(estimates).data
    rows = estimates[
        (estimates["metric"] == "accuracy_difference") & (estimates["attribute"] != "baseline")
    ]
    np.testing.assert_allclose(drawn["estimate"], 100 * rows["estimate"])
    np.testing.assert_allclose(drawn["ci_high"], 100 * rows["ci_high"])
    own = drawn[drawn["row"].str.startswith("costs")]
    assert set(own["result"]) == {DISPARITY}
    # A group without answers has a range, and no dot or verdict.
    silent = drawn[drawn["row"] == "silent"]
    assert silent["estimate"].isna().all()
    assert set(silent["result"]) == {"no verdict"}


def test_names_with_dollar_signs_are_no_formulas(estimates):
    assert "costs $1 or $2" in svg(fairstats.plot_forest(estimates))


def test_band_is_the_margin_of_the_verdicts(estimates):
    def width(plot) -> float:
        data = plot.layers[0]._data
        return float(data["xmax"].iloc[0] - data["xmin"].iloc[0])

    declared = load_benchmark("demo").equivalence_margin
    assert width(fairstats.plot_forest(estimates)) == pytest.approx(200 * declared)
    wide = replace(load_benchmark("demo"), name="wide", equivalence_margin=0.2)
    # Without it in the table, the declared one.
    bare = estimates.drop(columns="margin")
    of_wide = bare.assign(benchmark="wide")
    assert width(fairstats.plot_forest(of_wide, benchmarks=[wide])) == pytest.approx(40)
    assert width(fairstats.plot_forest(bare, margin=0.01)) == pytest.approx(2)
    with pytest.raises(ValueError, match=r"margin=0\.01 is not that of the verdicts"):
        fairstats.plot_forest(estimates, margin=0.01)


def test_colours_are_those_of_the_pages():
    for verdict, colour in COLOURS.items():
        assert VERDICT_COLOURS[verdict] == colour


# Outcomes


def test_outcomes_are_shares_of_all_pairs(answers):
    counts = fairstats.count_outcomes(answers)
    drawn = fairstats.plot_outcomes(counts).data
    np.testing.assert_allclose(drawn.groupby(["row", "pair"], observed=True)["share"].sum(), 100)
    silent = drawn[drawn["row"] == "silent"].groupby("outcome", observed=True)["share"].max()
    assert silent["answer missing"] == 100
    one = drawn[drawn["row"].str.startswith("costs") & (drawn["outcome"] == "only first correct")]
    np.testing.assert_allclose(one["share"], 100 * 50 / 360)


# Ranks


def ranks(**columns) -> pd.DataFrame:
    table = pd.DataFrame([dict.fromkeys(RANK_COLUMNS, "x")] * len(columns["model"]))
    return table.assign(
        benchmark="demo", strategy="plain", metric="ad", ci_level=0.95, may_be_best=False, **columns
    )


def test_models_are_in_the_order_of_their_ranks_from_the_top():
    table = ranks(
        model=["b", "a", "none"], rank=[2, 1, None], rank_low=[1, 1, None], rank_high=[3, 2, None]
    )
    drawn = fairstats.plot_ranks(table).data
    assert [row.split("\t")[1] for row in drawn["row"].cat.categories] == ["b", "a"]


def test_one_ranked_model_is_refused():
    table = ranks(model=["a"], rank=[1], rank_low=[1], rank_high=[1])
    with pytest.raises(ValueError, match="ranks has no board with two ranked models"):
        fairstats.plot_ranks(table)


def test_pairwise_matrix_is_antisymmetric_with_the_better_model_first():
    table = pd.DataFrame(
        {
            "benchmark": "demo", "benchmark_version": "1", "strategy": "plain", "metric": "ad",
            "model_a": ["a", "a", "b"], "model_b": ["b", "c", "c"],
            "difference": [0.05, 0.01, -0.04], "differ": [True, False, True],
        }
    )  # fmt: skip
    drawn = fairstats.plot_pairwise(table).data
    wide = drawn.pivot(index="model_a", columns="model_b", values="difference").fillna(0)
    np.testing.assert_allclose(wide, -wide.T)
    # A low AD is good: b is best.
    assert list(drawn["column"].cat.categories) == ["b", "c", "a"]
    results = drawn.set_index(["model_a", "model_b"])["result"]
    assert results["b", "a"] == "better"
    assert results["a", "b"] == "worse"
    assert results["a", "c"] == "not significant"


# Versions


def test_versions_mark_changes_by_their_good_direction(answers_of):
    old = answers_of(["AB"] * 60 + ["AA"] * 240, model="old")
    new = answers_of(["AA"] * 300, model="new")
    drawn = fairstats.plot_versions(fairstats.compare(old, new)).data
    assert set(drawn["change"]) == {"better"}
    back = fairstats.plot_versions(fairstats.compare(new, old)).data
    assert set(back["change"]) == {"worse"}
    gap = drawn.set_index("metric").loc["delta_ad"]
    assert (gap["old"], gap["new"]) == (pytest.approx(20), 0)


def test_versions_mark_changes_by_tests_and_verdicts(answers_of):
    old = answers_of(["AB"] * 5 + ["AA"] * 295, model="old")
    table = fairstats.compare(old, answers_of(["AA"] * 300, model="new"))
    # A win-win needs no adjustment for its three figures.
    assert (table["p_adjusted"].min() > 0.05, *set(table["verdict"])) == (True, "win-win")
    assert set(fairstats.plot_versions(table).data["change"]) == {"better"}
    # Two intervals exclude 0, which a family of many tests does not confirm.
    assert (table["ci_low"] * table["ci_high"] > 0).any()
    drawn = fairstats.plot_versions(table.assign(verdict="unclear")).data
    assert set(drawn["change"]) == {"no significant change"}


def test_versions_without_a_verdict_are_not_marked(answers_of):
    old = answers_of(["AB"] * 60 + ["AA"] * 240, model="old")
    table = fairstats.compare(old, answers_of(["BB"] * 225 + ["AA"] * 75, model="new"))
    assert table["p_adjusted"].max() < 0.05
    assert table["verdict_reason"].notna().all()
    assert set(fairstats.plot_versions(table).data["change"]) == {"no verdict"}


def test_versions_of_a_benchmark_have_panels_of_their_own(answers_of):
    old, new = (answers_of(["AA"] * 200, model=name) for name in ("old", "new"))
    table = fairstats.compare(old, new)
    both = pd.concat([table, table.assign(benchmark_version="2")])
    assert fairstats.plot_versions(both).data["models"].nunique() == 2
    releases = pd.concat([table.assign(release_old=one) for one in ("2026.1", None)])
    panels = set(fairstats.plot_versions(releases).data["models"])
    assert panels == {"“old” → “new”, 2026.1", "“old” → “new”"}


# Specifications


@pytest.fixture(scope="module")
def curve(answers_of) -> pd.DataFrame:
    found = answers_of(["AB"] * 40 + ["BA"] * 9 + ["AA"] * 250 + ["-A"])
    return fairstats.specification_curve(found, margin=[0.05, 0.2])


def test_specifications_are_sorted_and_each_has_one_mark_per_choice(curve):
    drawn = fairstats.plot_specification(curve).data
    upper = drawn.dropna(subset="estimate")
    assert upper["estimate"].is_monotonic_increasing
    assert len(upper) == len(curve)
    marks = drawn.dropna(subset="choice").groupby("panel", observed=True)
    # There is one prompt, so it is no panel.
    assert list(marks.groups) == ["Missing answers", "Interval", "Test", "Adjustment", "Margin"]
    assert (marks.size() == len(curve)).all()
    assert len(svg(fairstats.plot_specification(curve.iloc[::20]))) > 10_000


def test_specifications_of_several_pairs_are_refused(curve):
    both = pd.concat([curve, curve.assign(attribute="sex")])
    with pytest.raises(ValueError, match=r"has 2 pairs .* select the rows of one"):
        fairstats.plot_specification(both)


def test_pair_without_a_known_difference_is_refused(curve):
    with pytest.raises(ValueError, match="no known difference, so there is nothing to draw"):
        fairstats.plot_specification(curve.assign(estimate=np.nan))


# All plots


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("plot_forest", "analyze"),
        ("plot_outcomes", "count_outcomes"),
        ("plot_ranks", "rank_models"),
        ("plot_pairwise", "rank_differences"),
        ("plot_versions", "compare"),
        ("plot_specification", "specification_curve"),
    ],
)
def test_wrong_tables_are_refused_with_the_function_that_makes_the_right_one(name, source):
    draw = getattr(fairstats, name)
    with pytest.raises(ValueError, match=f"has no column '.*'; give the table of {source}"):
        draw(pd.DataFrame({"a": [1]}))
    with pytest.raises(TypeError, match="must be a pandas data frame"):
        draw([1])


def test_metric_without_an_interval_is_refused(estimates):
    with pytest.raises(ValueError, match="metric='p' is unknown; use accuracy"):
        fairstats.plot_forest(estimates, metric="p")


def test_plots_load_plotnine_only_when_they_draw():
    code = (
        "import sys, fairstats; fairstats.plot_forest; fairstats.plot_ranks; "
        "fairstats.plot_specification; assert not {'plotnine', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_panel_names_the_prompt_and_the_benchmark_only_if_there_are_several():
    row = {"benchmark": "demo", "benchmark_version": "1", "strategy": "plain", "model": "x",
           "metric": "ad", "rank": 1, "rank_low": 1, "rank_high": 2, "may_be_best": True,
           "ci_level": 0.95}  # fmt: skip
    board = pd.DataFrame([row, row | {"model": "y", "rank": 2}])
    other = board.assign(benchmark_version="2")
    assert set(fairstats.plot_ranks(pd.concat([board, other])).data["panel"]) == {
        "24 demonstration vignettes",
        "2",
    }
    asked = board.assign(strategy="cot")
    assert set(fairstats.plot_ranks(pd.concat([board, asked])).data["panel"]) == {
        "24 demonstration vignettes, plain",
        "24 demonstration vignettes, reasoning first",
    }
    of_another = board.assign(benchmark="another")
    assert set(fairstats.plot_ranks(pd.concat([board, of_another])).data["panel"]) == {
        "demo, 24 demonstration vignettes",
        "another, 1",
    }
