"""Statistics and reports for bias benchmarks of language models in medical question answering.

The names below are imported when they are first used: ``import fairstats`` loads none of the
libraries behind them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairstats._lib.problems import InputError as InputError
    from fairstats._lib.problems import Problem as Problem
    from fairstats.answers.engines import scan_answers as scan_answers
    from fairstats.answers.files import read_answers as read_answers
    from fairstats.answers.files import write_answers as write_answers
    from fairstats.answers.schema import answers_schema as answers_schema
    from fairstats.answers.validation import validate_answers as validate_answers
    from fairstats.benchmarks.declaration import Benchmark as Benchmark
    from fairstats.benchmarks.declaration import load_benchmark as load_benchmark
    from fairstats.comparisons.compare import compare as compare
    from fairstats.comparisons.ranking import rank_differences as rank_differences
    from fairstats.comparisons.ranking import rank_models as rank_models
    from fairstats.counts.by_item import item_patterns as item_patterns
    from fairstats.counts.item_kinds import count_items as count_items
    from fairstats.counts.outcomes import count_outcomes as count_outcomes
    from fairstats.estimates.analyze import analyze as analyze
    from fairstats.estimates.logistic_regression import gee_logistic as gee_logistic
    from fairstats.estimates.policy_table import compare_policies as compare_policies
    from fairstats.inference.agreement.coefficients import fleiss_kappa as fleiss_kappa
    from fairstats.inference.agreement.coefficients import gwet_ac1 as gwet_ac1
    from fairstats.inference.agreement.coefficients import krippendorff_alpha as krippendorff_alpha
    from fairstats.inference.agreement.coefficients import percent_agreement as percent_agreement
    from fairstats.inference.agreement.coefficients import positive_agreement as positive_agreement
    from fairstats.inference.agreement.coefficients import randolph_kappa as randolph_kappa
    from fairstats.inference.agreement.intraclass import (
        intraclass_correlation as intraclass_correlation,
    )
    from fairstats.inference.bootstrap import bootstrap as bootstrap
    from fairstats.inference.bounded_mean import bounded_mean_interval as bounded_mean_interval
    from fairstats.inference.cluster_bootstrap import cluster_bootstrap as cluster_bootstrap
    from fairstats.inference.cluster_bootstrap import mean_interval as mean_interval
    from fairstats.inference.cochran import cochran_q as cochran_q
    from fairstats.inference.crossed_means import crossed_interval as crossed_interval
    from fairstats.inference.crossed_means import pigeonhole_bootstrap as pigeonhole_bootstrap
    from fairstats.inference.effect_sizes import cohens_h_interval as cohens_h_interval
    from fairstats.inference.effect_sizes import odds_ratio as odds_ratio
    from fairstats.inference.equivalence import verdict as verdict
    from fairstats.inference.intervals import proportion_interval as proportion_interval
    from fairstats.inference.intervals import wilson as wilson
    from fairstats.inference.letter_symmetry import bowker as bowker
    from fairstats.inference.letter_symmetry import stuart_maxwell as stuart_maxwell
    from fairstats.inference.mcnemar import mcnemar as mcnemar
    from fairstats.inference.multiplicity import adjust_pvalues as adjust_pvalues
    from fairstats.inference.multiplicity import max_t as max_t
    from fairstats.inference.paired_intervals import difference_interval as difference_interval
    from fairstats.inference.paired_intervals import (
        partly_paired_interval as partly_paired_interval,
    )
    from fairstats.inference.power import (
        minimum_detectable_difference as minimum_detectable_difference,
    )
    from fairstats.inference.power import power_mcnemar as power_mcnemar
    from fairstats.inference.power import samplesize_mcnemar as samplesize_mcnemar
    from fairstats.inference.ranks import rank_sets as rank_sets
    from fairstats.inference.sign_flip import design_effect as design_effect
    from fairstats.inference.sign_flip import sign_flip_test as sign_flip_test
    from fairstats.inference.tango import tango as tango
    from fairstats.inference.variance_components import variance_components as variance_components
    from fairstats.publishing.diff import diff_releases as diff_releases
    from fairstats.publishing.publish import publish as publish
    from fairstats.publishing.verify import verify as verify
    from fairstats.ratings.agreement import rating_agreement as rating_agreement
    from fairstats.ratings.bradley_terry import bradley_terry as bradley_terry
    from fairstats.ratings.counterfactual import counterfactual_rates as counterfactual_rates
    from fairstats.ratings.dawid_skene import dawid_skene as dawid_skene
    from fairstats.ratings.files import read_ratings as read_ratings
    from fairstats.ratings.files import write_ratings as write_ratings
    from fairstats.ratings.pilot import design_from as design_from
    from fairstats.ratings.planner import plan_agreement as plan_agreement
    from fairstats.ratings.planner import plan_ratings as plan_ratings
    from fairstats.ratings.preferences import preference_rates as preference_rates
    from fairstats.ratings.rater_models import rater_regression as rater_regression
    from fairstats.ratings.rates import bias_rates as bias_rates
    from fairstats.ratings.rubrics import load_rubric as load_rubric
    from fairstats.ratings.separately_judged import paired_bias_rates as paired_bias_rates
    from fairstats.retrieval.effects import retrieval_effects as retrieval_effects
    from fairstats.retrieval.open_voting import largest_cluster as largest_cluster
    from fairstats.retrieval.overlap import retrieval_overlap as retrieval_overlap
    from fairstats.retrieval.reply_overlap import text_overlap as text_overlap
    from fairstats.retrieval.retrievals_table import read_retrievals as read_retrievals
    from fairstats.retrieval.voting import majority_vote as majority_vote
    from fairstats.retrieval.voting import vote_counts as vote_counts

__version__ = "0.1.0"

_HOMES = {
    "Benchmark": "fairstats.benchmarks.declaration",
    "InputError": "fairstats._lib.problems",
    "Problem": "fairstats._lib.problems",
    "adjust_pvalues": "fairstats.inference.multiplicity",
    "analyze": "fairstats.estimates.analyze",
    "answers_schema": "fairstats.answers.schema",
    "bias_rates": "fairstats.ratings.rates",
    "bootstrap": "fairstats.inference.bootstrap",
    "bounded_mean_interval": "fairstats.inference.bounded_mean",
    "bowker": "fairstats.inference.letter_symmetry",
    "bradley_terry": "fairstats.ratings.bradley_terry",
    "cluster_bootstrap": "fairstats.inference.cluster_bootstrap",
    "cochran_q": "fairstats.inference.cochran",
    "cohens_h_interval": "fairstats.inference.effect_sizes",
    "compare": "fairstats.comparisons.compare",
    "compare_policies": "fairstats.estimates.policy_table",
    "count_items": "fairstats.counts.item_kinds",
    "count_outcomes": "fairstats.counts.outcomes",
    "counterfactual_rates": "fairstats.ratings.counterfactual",
    "crossed_interval": "fairstats.inference.crossed_means",
    "dawid_skene": "fairstats.ratings.dawid_skene",
    "design_effect": "fairstats.inference.sign_flip",
    "design_from": "fairstats.ratings.pilot",
    "diff_releases": "fairstats.publishing.diff",
    "difference_interval": "fairstats.inference.paired_intervals",
    "fleiss_kappa": "fairstats.inference.agreement.coefficients",
    "gee_logistic": "fairstats.estimates.logistic_regression",
    "gwet_ac1": "fairstats.inference.agreement.coefficients",
    "intraclass_correlation": "fairstats.inference.agreement.intraclass",
    "item_patterns": "fairstats.counts.by_item",
    "krippendorff_alpha": "fairstats.inference.agreement.coefficients",
    "largest_cluster": "fairstats.retrieval.open_voting",
    "load_benchmark": "fairstats.benchmarks.declaration",
    "load_rubric": "fairstats.ratings.rubrics",
    "majority_vote": "fairstats.retrieval.voting",
    "max_t": "fairstats.inference.multiplicity",
    "mcnemar": "fairstats.inference.mcnemar",
    "mean_interval": "fairstats.inference.cluster_bootstrap",
    "minimum_detectable_difference": "fairstats.inference.power",
    "odds_ratio": "fairstats.inference.effect_sizes",
    "paired_bias_rates": "fairstats.ratings.separately_judged",
    "partly_paired_interval": "fairstats.inference.paired_intervals",
    "percent_agreement": "fairstats.inference.agreement.coefficients",
    "pigeonhole_bootstrap": "fairstats.inference.crossed_means",
    "plan_agreement": "fairstats.ratings.planner",
    "plan_ratings": "fairstats.ratings.planner",
    "positive_agreement": "fairstats.inference.agreement.coefficients",
    "power_mcnemar": "fairstats.inference.power",
    "preference_rates": "fairstats.ratings.preferences",
    "proportion_interval": "fairstats.inference.intervals",
    "publish": "fairstats.publishing.publish",
    "randolph_kappa": "fairstats.inference.agreement.coefficients",
    "rank_differences": "fairstats.comparisons.ranking",
    "rank_models": "fairstats.comparisons.ranking",
    "rank_sets": "fairstats.inference.ranks",
    "rater_regression": "fairstats.ratings.rater_models",
    "rating_agreement": "fairstats.ratings.agreement",
    "read_answers": "fairstats.answers.files",
    "read_ratings": "fairstats.ratings.files",
    "read_retrievals": "fairstats.retrieval.retrievals_table",
    "retrieval_effects": "fairstats.retrieval.effects",
    "retrieval_overlap": "fairstats.retrieval.overlap",
    "samplesize_mcnemar": "fairstats.inference.power",
    "scan_answers": "fairstats.answers.engines",
    "sign_flip_test": "fairstats.inference.sign_flip",
    "stuart_maxwell": "fairstats.inference.letter_symmetry",
    "tango": "fairstats.inference.tango",
    "text_overlap": "fairstats.retrieval.reply_overlap",
    "validate_answers": "fairstats.answers.validation",
    "variance_components": "fairstats.inference.variance_components",
    "verdict": "fairstats.inference.equivalence",
    "verify": "fairstats.publishing.verify",
    "vote_counts": "fairstats.retrieval.voting",
    "wilson": "fairstats.inference.intervals",
    "write_answers": "fairstats.answers.files",
    "write_ratings": "fairstats.ratings.files",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairstats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
