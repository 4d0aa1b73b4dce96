"""Invalid arguments are refused: the error names the argument, its value and the valid values."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats
from fairstats import InputError
from fairstats._lib.result_objects import Tabular
from fairstats.counts.patterns import PATTERNS, apply_policy, complete_counts
from fairstats.estimates.item_statistics import gap_heterogeneity, item_functioning
from fairstats.estimates.logistic_regression import gee_logistic
from fairstats.estimates.sampling_noise import sampling_noise
from fairstats.estimates.specifications import compare_policies, smallest_margins
from fairstats.inference import exact_sums
from fairstats.inference.bootstrap import bootstrap_counts, interval_of_law, limit_levels
from fairstats.inference.clustered_answers import (
    design_effect,
    few_clusters_effect,
    flip_test,
    sign_flip_test,
)
from fairstats.inference.crossed_means import crossed_interval, crossed_test
from fairstats.inference.differences import (
    mean_beyond,
    mean_difference,
    partly_paired_interval,
)
from fairstats.inference.effect_sizes import partly_paired_ratio
from fairstats.inference.evalues import e_bh, mcnemar_evalue
from fairstats.inference.intersections import shrink_intersections
from fairstats.inference.intervals import square_and_add, tango, tango_limits, wilson
from fairstats.inference.item_bootstrap import bounded_mean_interval
from fairstats.inference.letters import bowker, matched_patterns, stuart_maxwell
from fairstats.inference.mcnemar import cochran_q
from fairstats.inference.multiplicity import max_t, rank_sets
from fairstats.inference.posterior import paired_posterior
from fairstats.inference.power import power_equivalence, samplesize_equivalence
from fairstats.inference.power_comparison import power_comparison, samplesize_comparison
from fairstats.inference.power_means import power_means, samplesize_means
from fairstats.inference.ppi import ppi_mean
from fairstats.inference.rating_counts import counts_of_kinds
from fairstats.inference.reliability import intraclass_correlation
from fairstats.inference.standardized_difference import standardized_difference
from fairstats.inference.unit_means import (
    mean_over_units,
    unit_mean,
    unit_mean_difference,
    unit_mean_differences,
    unit_means,
)
from fairstats.inference.variance_components import gap_components, variance_components
from fairstats.inference.weighted_kappa import weighted_kappa
from fairstats.metrics.accuracy import (
    accuracy,
    accuracy_difference,
    estimate_proportion,
    proportion,
)
from fairstats.metrics.accuracy_ratio import accuracy_ratio
from fairstats.metrics.cfr import cfr
from fairstats.metrics.cohens_h import cohens_h
from fairstats.metrics.mcnemar import mcnemar_bounds
from fairstats.metrics.same_prompt import same_prompt
from fairstats.publishing.submission_check import check_submission
from fairstats.ratings.counterfactual_rates import counterfactual_rates, paired_bias_rates
from fairstats.ratings.pooling import crossed_limits
from fairstats.ratings.preferences import preference_rates
from fairstats.ratings.rater_models import rater_regression
from fairstats.ratings.rates import judged_rates
from fairstats.ratings.table import check_ratings
from fairstats.retrieval.effects import retrieval_effects
from fairstats.retrieval.overlap import overlap_of_items, retrieval_overlap, text_overlap
from fairstats.retrieval.voting import largest_cluster, vote_counts
from tests.documented_names import documented_names
from tests.drawn_ratings import drawn_ratings
from tests.make_answers import make_answers
from tests.report.conftest import answers_of_models
from tests.retrieval_tables import retrievals_of

DEMO = fairstats.load_benchmark("demo")
BEYOND = 10**19
NAN, INF = float("nan"), float("inf")
#: Values that are not counts, as an argument or as one element of an array.
NOT_COUNTS = (-1, 0.5, NAN, INF, "3", True, BEYOND, 10**400, None, 1j, [1, [2, 3]], [1, "2"])
NOT_SHARES = (-0.1, 1.1, 80, NAN, INF, "0.5", True, None)


def answers(models: tuple[str, ...] = ("m",)) -> pd.DataFrame:
    """Return answers to two groups of one attribute; the second model is wrong more often."""
    parts = []
    for number, model in enumerate(models):
        texts = [
            key + (key if place % (3 - number) else "B" if key == "A" else "A")
            for place, key in enumerate(DEMO.answer_keys.values())
        ]
        parts.append(make_answers(texts, of=DEMO, models=[model]))
    both = pd.concat(parts, ignore_index=True)
    return both.assign(answer_raw="The answer is " + both["answer"] + ".")


def retrievals() -> pd.DataFrame:
    """Return snippets for both variants of one item of the demonstration."""
    lists = {("demo-01", "race", "white"): ["s1", "s2"], ("demo-01", "race", "black"): ["s1", "s3"]}
    return retrievals_of(lists)


LABELS = [["yes", "yes", "no"], ["no", "no", "no"], ["yes", "yes", "yes"], ["no", "yes", "no"]]


def ratings() -> pd.DataFrame:
    return drawn_ratings(items=6)


def raters() -> pd.DataFrame:
    names = sorted(ratings().loc[lambda rows: rows["rater_kind"] == "person", "rater_id"].unique())
    return pd.DataFrame({"rater_id": names, "age": np.linspace(30, 60, len(names))})


@cache
def estimates() -> pd.DataFrame:
    return fairstats.analyze(answers())


CROSSED = ([1, 1, 0, 0], [1, 1, 2, 2], ["a", "b", "a", "b"])
PAIRED = {"n11": 60, "n10": 40, "n01": 20, "n00": 40}
OWN = {"correct_a": 100, "n_a": 160, "correct_b": 80, "n_b": 160}
COUNTS = complete_counts(**PAIRED)
UNITS = ([3, 4, 5], [1] * 3, [2, 4, 3], [1] * 3)
LAW = exact_sums.discrete_law(np.arange(10.0))

#: Valid arguments of every public function that takes a level, a margin, a power, a number of
#: resamples or an option by name.
VALID: dict[Callable[..., Any], Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    fairstats.adjust_pvalues: lambda: (([0.01, 0.2],), {}),
    fairstats.agreement: lambda: ((LABELS, "krippendorff"), {}),
    fairstats.analyze: lambda: ((answers(),), {"adjust": "max_t"}),
    fairstats.bias_rates: lambda: ((ratings(),), {}),
    fairstats.bootstrap: lambda: ((1, 2, 3, 4), {"n_resamples": 99, "rng": 1}),
    bootstrap_counts: lambda: (([1, 2, 3, 4],), {"n_resamples": 99, "rng": 1}),
    bounded_mean_interval: lambda: (([0.1, 0.5, 0.7],), {}),
    check_submission: lambda: (("no/such/folder",), {}),
    fairstats.cohens_h_interval: lambda: ((), PAIRED),
    fairstats.compare: lambda: ((answers(("m",)), answers(("m-2",))), {}),
    fairstats.compare_levels: lambda: ((answers(("m", "n")), "model"), {"adjust": "holm"}),
    compare_policies: lambda: ((answers(),), {}),
    counterfactual_rates: lambda: ((ratings(),), {}),
    crossed_interval: lambda: (CROSSED, {}),
    fairstats.difference_interval: lambda: ((), PAIRED),
    e_bh: lambda: (([20, 3],), {}),
    gap_components: lambda: (([[1, 0], [0, 1], [0, -1]],), {}),
    gap_heterogeneity: lambda: ((answers(("m", "m-2")),), {}),
    gee_logistic: lambda: ((answers(),), {}),
    item_functioning: lambda: ((answers(("m", "m-2")),), {}),
    sampling_noise: lambda: ((answers(),), {}),
    shrink_intersections: lambda: (
        ([0.7, 0.8, 0.6, 0.9],),
        {
            "groups": {"race": ["a", "a", "b", "b"], "sex": ["f", "m", "f", "m"]},
            "covariance": np.diag([0.01] * 4),
        },
    ),
    judged_rates: lambda: ((ratings(),), {}),
    intraclass_correlation: lambda: (([[1, 2], [2, 2], [4, 3]],), {}),
    largest_cluster: lambda: (([[1, 0], [1, 0.1]],), {}),
    mean_over_units: lambda: (
        (np.array([0.1, 0.5, 0.7]), np.ones(3, dtype=int), np.arange(3)),
        {"limits": (0, 1), "alpha": 0.05},
    ),
    max_t: lambda: (([[1, 0], [-1, 1]],), {"rng": 1, "n_resamples": 99}),
    fairstats.mcnemar: lambda: ((), {"n10": 3, "n01": 1}),
    fairstats.minimum_detectable_difference: lambda: ((100, 0.2), {}),
    fairstats.odds_ratio: lambda: ((), {"n10": 3, "n01": 1}),
    paired_bias_rates: lambda: ((ratings(),), {}),
    paired_posterior: lambda: ((), PAIRED),
    partly_paired_interval: lambda: ((), PAIRED | OWN),
    fairstats.plot_forest: lambda: ((estimates().copy(),), {}),
    power_comparison: lambda: ((20, {1: 0.2, -1: 0.1, 2: 0.1}), {}),
    power_equivalence: lambda: ((100, 0.1, 0.1), {"margin": 0.1}),
    fairstats.power_mcnemar: lambda: ((100, 0.2, 0.1), {}),
    ppi_mean: lambda: (([1, 0, 1, NAN], [1, 0, 0, 1]), {}),
    preference_rates: lambda: ((ratings(),), {}),
    fairstats.proportion_interval: lambda: ((3, 10), {}),
    fairstats.rank_models: lambda: ((answers(("m", "m-2")),), {}),
    fairstats.rank_differences: lambda: ((answers(("m", "m-2")),), {}),
    rank_sets: lambda: (([0.9, 0.8], [[1, 0.01], [0.01, 1]]), {}),
    fairstats.risk_ratio: lambda: ((), PAIRED),
    rater_regression: lambda: ((ratings(), raters()), {"covariates": ["age"]}),
    fairstats.rating_agreement: lambda: ((ratings(),), {}),
    retrieval_effects: lambda: ((answers(), retrievals()), {}),
    retrieval_overlap: lambda: ((retrievals(),), {}),
    same_prompt: lambda: (([[2, 1], [3, 0]], [[1, 2], [3, 0]]), {}),
    samplesize_comparison: lambda: (({1: 0.3, -1: 0.1},), {}),
    samplesize_equivalence: lambda: ((0.1, 0.1), {"margin": 0.2}),
    fairstats.samplesize_mcnemar: lambda: ((0.2, 0.1), {}),
    sign_flip_test: lambda: (([1, -1, 1],), {}),
    smallest_margins: lambda: ((answers(),), {}),
    fairstats.specification_curve: lambda: ((answers(),), {}),
    tango: lambda: ((3, 1, 2, 4), {}),
    tango_limits: lambda: ((3, 1, 9), {"alpha": 0.05}),
    text_overlap: lambda: ((answers(),), {}),
    fairstats.verdict: lambda: ((0.5, -0.01, 0.01), {"margin": 0.02}),
    vote_counts: lambda: ((answers(),), {}),
    wilson: lambda: ((3, 10), {}),
    accuracy: lambda: ((3, 10), {}),
    accuracy_difference: lambda: ((COUNTS,), {}),
    accuracy_ratio: lambda: ((COUNTS,), {}),
    cfr: lambda: ((3, 10), {}),
    cohens_h: lambda: ((COUNTS,), {}),
    crossed_limits: lambda: ((np.ones(4), *np.indices((2, 2)).reshape(2, 4)), {"alpha": 0.05}),
    estimate_proportion: lambda: ((3, 10), {}),
    interval_of_law: lambda: ((LAW, 4.0, 0.0, "bca", 0.05), {}),
    limit_levels: lambda: ((0.5, 0.0, "bca", 0.05), {}),
    mcnemar_bounds: lambda: ((np.full((1, len(PATTERNS)), 3),), {}),
    matched_patterns: lambda: (([[1, 0], [0, 1]], [[1, 0], [0, 1]]), {}),
    mean_beyond: lambda: (([0.1, 0.2, 0.3],), {"limits": (0, 1)}),
    mean_difference: lambda: (([0.1, -0.2, 0.3],), {}),
    partly_paired_ratio: lambda: ((), PAIRED | OWN),
    square_and_add: lambda: (tuple(np.asarray([n]) for n in (6, 10, 4, 10, 0.2)), {"alpha": 0.05}),
    apply_policy: lambda: (([1] * len(PATTERNS), "available"), {}),
    power_means: lambda: ((50, 0.2, 1.0), {}),
    samplesize_means: lambda: ((0.2, 1.0), {}),
    few_clusters_effect: lambda: (([[2, 0], [0, 2]], [5, 5], [1, -1]), {}),
    flip_test: lambda: (([1.5, -0.5, 2],), {}),
    standardized_difference: lambda: (
        ([3, 4, 5], [9, 16, 25], [1] * 3, [2, 4, 3], [4, 16, 9], [1] * 3),
        {"limits": (1, 5)},
    ),
    unit_mean: lambda: (([3, 4, 5], [1] * 3), {"limits": (1, 5)}),
    unit_means: lambda: (([([3, 4, 5], [1] * 3, None)],), {"limits": (1, 5)}),
    unit_mean_difference: lambda: (UNITS, {"limits": (1, 5)}),
    unit_mean_differences: lambda: (([(*UNITS, None)],), {"limits": (1, 5)}),
    weighted_kappa: lambda: (([1, 2, 3, 3], [1, 2, 2, 3]), {"limits": (1, 3)}),
}
#: Not called here: parts of tested functions, which have checked their arguments.
INTERNAL = {
    *("agreement_law", "agreement_of", "coefficients_of", "compare_groups", "crossed_agreement"),
    *("design_effect_of", "flip_tests", "jackknife_parts", "normal_power", "rates_of"),
    *("law_of_sum", "unvaried_limits", "effective_tango_limits", "score_limits"),
    *(
        "contrasts",
        "kinds_of",
        "interval",
        "f_limits",
        "compare_changes",
        "of_all_pairs",
        "without_shared",
    ),
    *("stacked", "mean_differences", "with_room", "rare_share", "difference_of_means"),
    *("roomy", "roomy_contrast", "roomy_difference"),
    *("share_of_pairs", "in_clusters", "sizes_of"),
}
#: Their margin is in levels or points of a score.
IN_UNITS = {power_means, samplesize_means}
#: Publishing renders a site, so it has a separate test.
APART = {fairstats.publish}

LEVELS = {"alpha", "power", "margin"}
BAD_LEVELS = (5, -1, 0, 1, NAN, INF, "x", "0.05", True, None, [0.05, 0.1])
RESAMPLES = {"n_resamples"}
BAD_RESAMPLES = (0, -1, 2.5, NAN, "x", True, [99])
OPTIONS = {
    *("method", "missing", "adjust", "level", "repeats", "linkage", "metric"),
    *("coefficient", "kind"),
}
BAD_OPTIONS = ("nonsense", 5, ["holm"])
WALKED = LEVELS | RESAMPLES | OPTIONS | {"rng"}


def public_functions() -> Iterable[Callable[..., Any]]:
    """Return the documented names, and the functions of the statistics modules."""
    yield from documented_names().values()
    for package in ("inference", "metrics", "ratings"):
        folder = importlib.import_module(f"fairstats.{package}")
        for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            if module.name.rpartition(".")[2].startswith("_"):
                continue
            names = vars(importlib.import_module(module.name))
            for name, thing in names.items():
                own = getattr(thing, "__module__", "") == module.name
                if inspect.isfunction(thing) and own and not name.startswith("_"):
                    yield thing


def walked() -> list[tuple[Callable[..., Any], str]]:
    found = {}
    for function in public_functions():
        if inspect.isclass(function) or function.__name__ in INTERNAL or function in APART:
            continue
        for name in inspect.signature(function).parameters:
            # A metric's name is a column of a different table.
            if name in WALKED:
                found[function, name] = None
    return list(found)


def bad_values(function: Callable[..., Any], name: str) -> tuple[object, ...]:
    if name == "margin":
        optional = inspect.signature(function).parameters[name].default is None
        bad = [value for value in BAD_LEVELS[:-1] if value is not None or not optional]
        if function in IN_UNITS:
            return tuple(value for value in bad if value not in (5, 1) or value is True)
        return (*bad, [0.02, 2])
    if name in LEVELS:
        return BAD_LEVELS
    if name == "rng":
        return ("x", -1, True, 0.5)
    if name in RESAMPLES:
        return BAD_RESAMPLES
    # Several choices, each in turn.
    return BAD_OPTIONS[:-1] if function is fairstats.specification_curve else BAD_OPTIONS


def call(function: Callable[..., Any], **changed: object) -> object:
    """Call a function with valid arguments, except for the changed ones."""
    args, kwargs = VALID[function]()
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.arguments.update(changed)
    result = function(*bound.args, **bound.kwargs)
    # A generator runs only when it is read.
    return list(result) if inspect.isgenerator(result) else result


WALK = walked()
NAMES = [f"{function.__name__}-{name}" for function, name in WALK]


@pytest.mark.parametrize("function", dict.fromkeys(f for f, _ in WALK), ids=lambda f: f.__name__)
def test_valid_arguments_of_each_walked_function_are_accepted(function):
    result = call(function)
    assert not isinstance(result, Tabular) or "array(" not in repr(result)


@pytest.mark.parametrize(("function", "name"), WALK, ids=NAMES)
def test_bad_level_margin_power_resamples_or_option_is_refused_by_name(function, name):
    default = inspect.signature(function).parameters[name].default
    for value in bad_values(function, name):
        if value is None and default is None:
            continue
        with pytest.raises(ValueError, match=rf"(^|\b){name}(\[.*\])?=") as caught:
            call(function, **{name: value})
        shown = value[-1] if name == "margin" and isinstance(value, list) else value
        assert repr(shown) in str(caught.value), caught.value


@pytest.mark.usefixtures("without_pages")
def test_publish_refuses_a_bad_level_or_policy_before_it_writes(tmp_path):
    path = fairstats.write_answers(answers_of_models(("One", "Two")), tmp_path / "a.parquet")
    out = tmp_path / "site"
    for value in BAD_LEVELS:
        with pytest.raises(ValueError, match="alpha=") as caught:
            fairstats.publish(path, release="1", out=out, alpha=value)
        assert repr(value) in str(caught.value)
    for value in BAD_OPTIONS:
        with pytest.raises(ValueError, match="missing="):
            fairstats.publish(path, release="1", out=out, missing=value)
    assert not list(out.glob("v/*"))
    fairstats.publish(path, release="1", out=out)
    assert [folder.name for folder in out.glob("v/*")] == ["1"]


def shares_in_points() -> list[tuple[Callable[[], object], str]]:
    verdict = fairstats.verdict
    return [
        # The first line of each pair was once answered "equivalent", 1.0, 11, 200001 and NaN.
        (lambda: verdict(1e-9, 0.25, 0.35, margin=2), "margin=2 must be a share between 0 and 1"),
        (lambda: verdict(0.5, 0.01, -0.01, margin=0.02), "low=0.01 must not exceed high=-0.01"),
        (lambda: verdict(0.5, -0.1, 0.1, margin=0.02, alpha=5), "alpha=5 must be between"),
        (lambda: verdict(0.5, -0.1, 0.1, margin=0.02, alpha=0.5), "alpha=0.5 must be between"),
        (lambda: verdict(1.5, -0.1, 0.1, margin=0.02), "p_adjusted=1.5 must be a p-value"),
        (lambda: verdict("x", -0.1, 0.1, margin=0.02), "p_adjusted='x' must be a p-value"),
        (lambda: verdict(0.5, -25, 0.1, margin=0.02), "low=-25 must be a limit from -1 to 1"),
        (lambda: verdict(0.5, 0, [0.1, 35], margin=0.02), r"high\[1\]=35.0 must be a limit"),
        (lambda: verdict([0.5] * 3, [0, 0], 0.1, margin=0.02), r"p_adjusted \(3,\), low \(2,\)"),
        (
            lambda: fairstats.minimum_detectable_difference(100, 0.2, power=80),
            "power=80 must be between 0 and 1, e.g. 0.8",
        ),
        (lambda: fairstats.samplesize_mcnemar(0.9, 0.8), "p10=0.9 and p01=0.8 must sum"),
        (lambda: fairstats.samplesize_mcnemar(-0.1, 0.2), "p10=-0.1 must be a share"),
        (lambda: fairstats.samplesize_mcnemar([0.1], 0.2), r"p10=\[0.1\].* one number"),
        (lambda: fairstats.samplesize_mcnemar("0.1", 0.2), "p10='0.1' must be a share"),
        (lambda: fairstats.power_mcnemar(9, 0.5, [0.1, 0.6]), "p10=0.5 and p01=0.6 must sum"),
        (
            lambda: fairstats.mcnemar(n10=BEYOND, n01=1),
            "n10=10000000000000000000 must be a whole number",
        ),
        (lambda: fairstats.mcnemar(n10="3", n01=1), "n10='3' must be a whole number"),
        (lambda: fairstats.mcnemar(n10=3, n01=["1", "2"]), r"n01\[0\]='1' must be a whole number"),
        (lambda: fairstats.mcnemar(n10=[1, 2], n01=[1, 2, 3]), r"n10 \(2,\), n01 \(3,\)"),
    ]


@pytest.mark.parametrize(("refused", "message"), shares_in_points())
def test_shares_given_as_points_and_swapped_limits_are_refused(refused, message):
    with pytest.raises(ValueError, match=message):
        refused()


#: Every function that takes counts, with the names of its counts.
COUNTED: list[tuple[Callable[..., Any], dict[str, object], tuple[str, ...]]] = [
    (fairstats.mcnemar, {"n10": 3, "n01": 1}, ("n10", "n01")),
    (fairstats.odds_ratio, {"n10": 3, "n01": 1}, ("n10", "n01")),
    (fairstats.risk_ratio, PAIRED, tuple(PAIRED)),
    (tango, PAIRED, tuple(PAIRED)),
    (wilson, {"successes": 3, "n": 9}, ("successes", "n")),
    (fairstats.proportion_interval, {"successes": 3, "n": 9}, ("successes", "n")),
    (fairstats.difference_interval, PAIRED, tuple(PAIRED)),
    (fairstats.cohens_h_interval, PAIRED | OWN, (*PAIRED, *OWN)),
    (partly_paired_interval, PAIRED | OWN, (*PAIRED, *OWN)),
    (partly_paired_ratio, PAIRED | OWN, (*PAIRED, *OWN)),
    (mcnemar_evalue, {"n10": 3, "n01": 1}, ("n10", "n01")),
    (paired_posterior, PAIRED, tuple(PAIRED)),
    (power_comparison, {"n": 9, "shares": {1: 0.2}}, ("n",)),
    (power_equivalence, {"n": 9, "p10": 0.1, "p01": 0.2, "margin": 0.2}, ("n",)),
    (fairstats.power_mcnemar, {"n": 9, "p10": 0.1, "p01": 0.2}, ("n",)),
    (fairstats.minimum_detectable_difference, {"n": 9, "discordant": 0.5}, ("n",)),
    (bootstrap_counts, {"counts": [1, 2, 3, 4]}, ("counts",)),
    (fairstats.bootstrap, PAIRED, tuple(PAIRED)),
    (bounded_mean_interval, {"values": [0.5, 1], "multiplicity": [1, 2]}, ("multiplicity",)),
    (sign_flip_test, {"differences": [1, -1], "multiplicity": [1, 2]}, ("multiplicity",)),
    (cochran_q, {"patterns": [[1, 0], [0, 1]], "counts": [1, 2]}, ("counts",)),
    (
        design_effect,
        {"clusters": [[2, 0], [0, 2]], "multiplicity": [5, 5], "influence": [1, -1]},
        ("clusters", "multiplicity"),
    ),
    (bowker, {"table": [[1, 2], [3, 4]]}, ("table",)),
    (stuart_maxwell, {"table": [[1, 2], [3, 4]]}, ("table",)),
    (proportion, {"successes": 3, "n": 9}, ("successes", "n")),
    (accuracy, {"correct": 3, "n": 9}, ("n",)),
    (cfr, {"same": 3, "n": 9}, ("n",)),
    (complete_counts, PAIRED | {"same": 61}, (*PAIRED, "same")),
    (counts_of_kinds, {"categories": ["a", "b"], "counts": [[1, 2]]}, ("counts",)),
]


@pytest.mark.parametrize(("function", "valid", "names"), COUNTED)
def test_each_count_that_is_not_one_is_refused_by_name(function, valid, names):
    function(**valid)
    for name in names:
        for value in NOT_COUNTS:
            if value is None and inspect.signature(function).parameters[name].default is None:
                continue
            shape = np.shape(valid[name])
            # The same shape with one element that is not a count.
            bad = value
            if shape and not isinstance(value, list):
                bad = np.full(shape, 1, dtype=object)
                bad.flat[0] = value
            with pytest.raises(ValueError, match=rf"^{name}(\[.*\])?="):
                function(**(valid | {name: bad}))


#: Arguments that are refused only in combination, and other ranges.
REFUSED: list[tuple[Callable[..., Any], dict[str, object], str]] = [
    (wilson, {"successes": [1, 9], "n": [5, 8]}, "successes=9 must not exceed n=8"),
    (proportion, {"successes": 3, "n": 2}, "successes=3 must not exceed n=2"),
    (accuracy, {"correct": 3, "n": 2}, "successes=3 must not exceed n=2"),
    (cfr, {"same": 3, "n": 2}, "successes=3 must not exceed n=2"),
    (
        tango_limits,
        {"n10": 2, "n01": 2, "n": 3, "alpha": 0.05},
        r"n10 \+ n01=4 must not exceed n=3",
    ),
    (wilson, {"successes": 1, "n": 2, "design_effect": 0}, "design_effect=0 must be"),
    (wilson, {"successes": 1, "n": 2, "design_effect": "2"}, "design_effect='2' must be"),
    (tango, PAIRED | {"design_effect": INF}, "design_effect=inf must"),
    (
        wilson,
        {"successes": [1, 2], "n": 3, "design_effect": [1, 1, 1]},
        r"successes \(2,\), design_effect \(3,\)",
    ),
    (
        partly_paired_interval,
        PAIRED | OWN | {"n_a": 159},
        "n_a=159 must count the answers of the pairs too, 160",
    ),
    (
        partly_paired_interval,
        PAIRED | OWN | {"correct_b": 79},
        "correct_b=79 must count the correct answers of the pairs too, 80",
    ),
    (
        fairstats.cohens_h_interval,
        PAIRED | OWN | {"correct_a": 120, "n_a": 170},
        "n_a - correct_a=50 must count the wrong answers of the pairs too, 60",
    ),
    (
        fairstats.cohens_h_interval,
        PAIRED | OWN | {"correct_a": 161},
        "correct_a=161 must not exceed n_a=160",
    ),
    (complete_counts, PAIRED | {"same": 59}, "n11=60 must not exceed same=59"),
    (complete_counts, PAIRED | {"same": 101}, r"same=101 must not exceed n11 \+ n00=100"),
    (fairstats.adjust_pvalues, {"p_values": [0.1, 1.5]}, r"p_values\[1\]=1.5 must be a p-value"),
    (fairstats.adjust_pvalues, {"p_values": [0.1, "x"]}, r"p_values\[\d\]='.*' must be a p-value"),
    (fairstats.adjust_pvalues, {"p_values": [True]}, r"p_values\[0\]=True must be a p-value"),
    (
        rank_sets,
        {"estimates": [0.9, 0.8], "p_adjusted": [[1, 2], [2, 1]]},
        r"p_adjusted\[0, 1\]=2.* must be a p-value",
    ),
    (
        rank_sets,
        {"estimates": ["a", "b"], "p_adjusted": [[1, 0.5], [0.5, 1]]},
        r"estimates\[0\]='a' must be",
    ),
    (max_t, {"differences": [[NAN]], "rng": 1}, r"differences\[0, 0\]=nan must be"),
    (max_t, {"differences": [1, 2], "rng": 1}, r"shape \(items, tests\); got \(2,\)"),
    (sign_flip_test, {"differences": ["1"]}, r"differences\[0\]='1' must be"),
    (
        sign_flip_test,
        {"differences": [1, 2], "multiplicity": [1]},
        r"multiplicity must have the shape of values, \(2,\); got \(1,\)",
    ),
    (
        sign_flip_test,
        {"differences": [2**30], "multiplicity": [2**40]},
        "a sum of .differences. of at most",
    ),
    (cochran_q, {"patterns": [[2, 0]], "counts": [1]}, "patterns holds 2"),
    (cochran_q, {"patterns": [[1, 0]], "counts": [1, 2]}, r"got \(1, 2\) and \(2,\)"),
    (
        design_effect,
        {"clusters": [[2, 0]], "multiplicity": [5], "influence": [NAN, 1]},
        r"influence\[0\]=nan must be a finite number",
    ),
    (bounded_mean_interval, {"values": [50]}, r"values\[0\]=50 must be a share"),
    (bounded_mean_interval, {"values": ["x"]}, r"values\[0\]='x' must be a share"),
    (mean_beyond, {"values": [2.0], "limits": (0, 1)}, r"values\[0\]=2.0 must be"),
    (mean_beyond, {"values": [], "expected": 2, "limits": (0, 1)}, "expected=2 must be"),
    (mean_beyond, {"values": [], "limits": (1, 0)}, "two increasing numbers"),
    (mean_difference, {"differences": [2.0], "largest": 1}, r"differences\[0\]=2.0 must be"),
    (mean_difference, {"differences": [NAN]}, r"differences\[0\]=nan must be a finite number"),
    (mean_difference, {"differences": [0.1], "largest": -1}, "largest=-1 must be"),
    (mean_difference, {"differences": [0.1], "largest": "x"}, "largest='x' must be"),
    (matched_patterns, {"first": [["a"]], "second": [[1]]}, r"first\[0, 0\]='a' must be"),
    (
        matched_patterns,
        {"first": [[1]], "second": [[1, 2]]},
        r"one shape, \(items, places\); got \(1, 1\) and \(1, 2\)",
    ),
    (
        crossed_test,
        dict(zip(("values", "items", "raters"), CROSSED, strict=True)) | {"null": 50},
        "null=50 must be between 0 and 1",
    ),
    (
        crossed_interval,
        {"values": [50], "items": [1], "raters": [1]},
        r"values\[0\]=50 must be a share",
    ),
    (
        variance_components,
        {"values": ["x"], "items": [1], "raters": [1]},
        r"values\[0\]='x' must be a finite number",
    ),
    (
        variance_components,
        {"values": [1, 0], "items": [1], "raters": [1, 2]},
        r"one shape \(n,\); got \(2,\) and \(1,\)",
    ),
    (
        exact_sums.fine_sum_law,
        {"n": 2, "values": [0, 1], "probabilities": [1.5, -0.5]},
        r"probabilities\[0\]=1.5 must be a share",
    ),
    (
        exact_sums.fine_sum_law,
        {"n": 2, "values": [0, 1], "probabilities": [1.0]},
        r"one shape \(k,\); got \(2,\) and \(1,\)",
    ),
    (bootstrap_counts, {"counts": [1, 2, 3, 4], "statistic": "h"}, "statistic='h' is unknown"),
    (bootstrap_counts, {"counts": [1, 2], "statistic": ["h"]}, "statistic=.* is unknown"),
    (largest_cluster, {"embeddings": [[1, 0]], "similarity": 80}, "similarity=80 must"),
    (largest_cluster, {"embeddings": [[1, "a"]]}, r"embeddings\[0, 0\]="),
    (paired_bias_rates, {"ratings": ratings(), "aggregations": "all"}, "aggregations='a"),
    (retrieval_overlap, {"retrievals": retrievals(), "top_k": [0]}, "top_k=0 must be"),
    (retrieval_overlap, {"retrievals": retrievals(), "top_k": 5}, "top_k=5 must be a li"),
    (retrieval_overlap, {"retrievals": retrievals(), "top_k": []}, r"top_k=\[\] must be"),
    (overlap_of_items, {"retrievals": retrievals(), "top_k": ["2"]}, "top_k='2' must be at least"),
    (overlap_of_items, {"retrievals": retrievals(), "top_k": [1.5]}, "top_k=1.5 must be at least"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), REFUSED)
def test_values_outside_their_range_or_at_odds_are_refused(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)


@pytest.mark.parametrize(
    ("function", "valid", "name"),
    [
        (fairstats.power_mcnemar, {"n": 9, "p10": 0.0, "p01": 0.0}, "p10"),
        (fairstats.power_mcnemar, {"n": 9, "p10": 0.0, "p01": 0.0}, "p01"),
        (fairstats.samplesize_mcnemar, {"p10": 0.1, "p01": 0.2}, "p10"),
        (fairstats.minimum_detectable_difference, {"n": 9, "discordant": 0.5}, "discordant"),
        (power_equivalence, {"n": 9, "p10": 0, "p01": 0, "margin": 0.1}, "p10"),
        (bounded_mean_interval, {"values": [0.5]}, "values"),
    ],
)
def test_each_share_outside_0_to_1_is_refused_by_name(function, valid, name):
    function(**valid)
    for value in NOT_SHARES:
        bad = [value] if np.ndim(valid.get(name, 0)) else value
        if value is True and name == "values":
            continue  # a judgement: reported
        with pytest.raises(ValueError, match=rf"^{name}(\[0\])?=.* must be a share"):
            function(**(valid | {name: bad}))


def test_whole_numbers_of_any_kind_are_counts():
    kinds = (3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.array(3, dtype=object))
    expected = fairstats.mcnemar(n10=3, n01=1).p_value
    for three in kinds:
        assert fairstats.mcnemar(n10=three, n01=1).p_value == expected
    nullable = pd.Series([3, 3], dtype="Int64")
    assert fairstats.mcnemar(n10=nullable, n01=1).p_value.tolist() == [expected] * 2


def test_largest_counts_give_finite_results():
    most = 2**50
    for method in ("midp", "exact", "asymptotic"):
        assert 0 < float(fairstats.mcnemar(n10=most, n01=most - 9, method=method).p_value) <= 1
    assert np.isfinite(tango(most // 2, most // 4, most // 4, 0).ci_high)
    assert np.isfinite(mcnemar_evalue(n10=most, n01=most).log_e_value)
    posterior = paired_posterior(most, most, most, most, margin=0.1)
    assert -1e-6 < posterior.ci_low < posterior.ci_high < 1e-6
    assert posterior.p_within_margin == pytest.approx(1)
    assert power_equivalence(most, 0.1, 0.1, margin=0.1) == 1
    assert power_comparison(most, {1: 0.1, -1: 0.05, 2: 0.1}) == 1
    assert np.isfinite(bowker([[1, most], [most - 8, 1]]).statistic)
    assert bowker([[1, most], [most, 1]]).p_value == 1
    assert cochran_q([[1, 0, 1], [0, 1, 0]], [most, most]).p_value <= 1


def test_refusals_of_answers_are_input_errors():
    with pytest.raises(InputError):
        fairstats.analyze(answers().assign(group="nobody"))
    with pytest.raises(InputError):
        check_ratings(ratings().assign(rubric="unknown"))
