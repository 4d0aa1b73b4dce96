"""The published tables of a release: each a function of the release's inputs, and its files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fairstats._lib.processes import Watch, cores, give_memory_back, in_copy, unwatched
from fairstats._lib.table_text import table_csv, write_text
from fairstats.answers.engine_frames import UNIT_COLUMNS, OpenAnswers, open_answers
from fairstats.answers.files import write_parquet
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.comparisons.compare import RELEASE_COMPARISON_COLUMNS, comparisons_of
from fairstats.comparisons.ranking import (
    RANK_COLUMNS,
    RANK_DIFFERENCE_COLUMNS,
    Ranking,
    no_ranking,
    rank_boards,
)
from fairstats.counts.answer_tables import FLIP_COLUMNS, LETTER_COLUMNS, flips_of, letters_of
from fairstats.counts.patterns import PAIR_COLUMNS
from fairstats.estimates.analyze import analyze
from fairstats.estimates.item_statistics import ITEM_FUNCTIONING_COLUMNS, released_items
from fairstats.estimates.specifications import SENSITIVITY_COLUMNS, sensitivity_of
from fairstats.estimates.table import ESTIMATE_COLUMNS
from fairstats.ratings.rubrics import Rubric
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.ratings.table import no_ratings
from fairstats.release.contents import formats_of
from fairstats.release.stored_answers import StoredAnswers
from fairstats.replication.replicate import REPLICATION_COLUMNS, replicate
from fairstats.retrieval.effects import EFFECT_COLUMNS, retrieval_effects
from fairstats.retrieval.overlap import OVERLAP_COLUMNS, retrieval_overlap, usual_depths
from fairstats.retrieval.variant_lists import RETRIEVER_COLUMNS, asked_with, no_retrievals
from fairstats.retrieval.voting import VOTE_COLUMNS, vote_counts
from fairstats.screening.screen import SCREENING_COLUMNS, screen_opened
from fairstats.submissions.folder import no_submissions
from fairstats.vignettes.audit import audit_findings
from fairstats.vignettes.tables import FINDING_COLUMNS, no_measures

#: For a second process, on a board of any size: what takes about half of the time.
_APART = ("replication", "sensitivity", "item_gaps", "vignette_findings")
#: The most answers of a release with tables about single items: these are as long as the answers.
MOST_LISTED = 5_000_000
#: Fewer answers take less time than a second process; more take too much memory twice.
_FEWEST, _MOST = 10_000, 5_000_000
_COMPUTING = "computing tables"


@dataclass(frozen=True)
class ReleaseInputs:
    """The inputs of a release's tables.

    Attributes
    ----------
    answers : pandas.DataFrame or StoredAnswers
        Its answers, in memory or not.
    retrievals : pandas.DataFrame
        Their retrieved snippets, `fairstats.retrieval.retrievals_table.RETRIEVAL_COLUMNS`; empty if
        no retrievals were given.
    ratings : pandas.DataFrame
        Raters' judgements, `fairstats.ratings.table.RATING_COLUMNS`; empty if none were given.
    measures : pandas.DataFrame
        Measures of vignettes, `fairstats.vignettes.tables.MEASURE_COLUMNS`; empty if there are
        none.
    submissions : pandas.DataFrame
        Who sent in which answers, `fairstats.submissions.folder.SUBMISSION_COLUMNS`; empty if the
        publisher added all of them.
    missing : {"available", "complete", "incorrect", "bounds"} or None
        The policy for missing answers; None for the one declared by each benchmark.
    alpha : float
        1 − confidence level.
    benchmarks : mapping of str to Benchmark
        The benchmarks of the answers, by name.
    rubrics : mapping of str to Rubric
        The rubrics of the ratings, by name.
    successors : mapping of str to str
        The older model of each newer one, see `fairstats.comparisons.successors`.
    model_facts : mapping
        What was declared about models, see `fairstats.comparisons.successors.facts_of_models`.
    """

    answers: pd.DataFrame | StoredAnswers
    retrievals: pd.DataFrame
    ratings: pd.DataFrame
    measures: pd.DataFrame
    submissions: pd.DataFrame
    missing: MissingPolicy | None
    alpha: float
    benchmarks: Mapping[str, Benchmark]
    rubrics: Mapping[str, Rubric]
    successors: Mapping[str, str] = field(default_factory=dict)
    model_facts: Mapping[str, Mapping[str, str | bool]] = field(default_factory=dict)

    @classmethod
    def of_answers(
        cls,
        answers: pd.DataFrame,
        missing: MissingPolicy | None,
        alpha: float,
        benchmarks: Mapping[str, Benchmark],
    ) -> ReleaseInputs:
        """Return the inputs of a release of answers alone."""
        nothing = (no_retrievals(), no_ratings(), no_measures(), no_submissions())
        own = {str(name): benchmarks[name] for name in answers["benchmark"].unique()}
        return cls(answers, *nothing, missing, alpha, own, {})

    @cached_property
    def opened(self) -> OpenAnswers:
        """Return the answers, checked and counted once for all tables."""
        return open_answers(self.frame, self.benchmarks)

    @property
    def lists_items(self) -> bool:
        """Return whether the tables about single items are computed."""
        return len(self.answers) <= MOST_LISTED

    @property
    def frame(self) -> Any:
        """Return the answers as a data frame, in memory or in an engine."""
        return self.answers if isinstance(self.answers, pd.DataFrame) else self.answers.frame

    @cached_property
    def units(self) -> pd.DataFrame:
        """Return `UNIT_COLUMNS` of each answer set."""
        if isinstance(self.answers, pd.DataFrame):
            return self.answers[list(UNIT_COLUMNS)].drop_duplicates(ignore_index=True)
        return self.answers.units

    def without_models(self, models: Collection[str]) -> OpenAnswers:
        """Return the answers of the other models."""
        import narwhals as nw

        kept = nw.from_native(self.frame).lazy().filter(~nw.col("model").is_in([*models]))
        return open_answers(kept.to_native(), self.benchmarks)

    @cached_property
    def ranking(self) -> Ranking:
        """Return ranks and comparisons of each board; empty if the policy gives ranges."""
        policies = {name: self.missing or one.missing for name, one in self.benchmarks.items()}
        ranked = [name for name, policy in policies.items() if policy != "bounds"]
        if not ranked:
            return no_ranking()
        answers: OpenAnswers = self.opened
        if len(ranked) < len(policies):
            answers = answers.only(ranked)
        policy = None if self.missing == "bounds" else self.missing
        return rank_boards(answers, missing=policy, alpha=self.alpha, benchmarks=self.benchmarks)


Make = Callable[[ReleaseInputs], pd.DataFrame]


@dataclass(frozen=True)
class ReleaseTable:
    """One table of a release.

    `keys` are the columns that identify a row for readers.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    make: Make


def _estimates(of: ReleaseInputs) -> pd.DataFrame:
    return analyze(of.opened, of.missing, of.alpha, benchmarks=of.benchmarks)


def _overlap(of: ReleaseInputs) -> pd.DataFrame:
    """Return the overlap at the usual k, and at those used for the answers."""
    asked = {
        (*key[:2], strategy.retriever, int(strategy.top_k or 0))
        for key, strategy in asked_with(of.units).items()
    }
    tables = []
    for key, rows in of.retrievals.groupby(list(RETRIEVER_COLUMNS), sort=True):
        own = {k for *others, k in asked if tuple(others) == key}
        top_k = own.union(usual_depths(int(rows["rank"].max())))
        tables.append(
            retrieval_overlap(rows, top_k=top_k, alpha=of.alpha, benchmarks=of.benchmarks)
        )
    return pd.concat(tables, ignore_index=True) if tables else retrieval_overlap(of.retrievals)


def _effects(of: ReleaseInputs) -> pd.DataFrame:
    # Retrievals are only published with answers in memory.
    answers = of.answers if isinstance(of.answers, pd.DataFrame) else of.units.iloc[:0]
    return retrieval_effects(answers, of.retrievals, alpha=of.alpha, benchmarks=of.benchmarks)


#: Every table of a release by name, which is also the name of its files.
TABLES: Mapping[str, ReleaseTable] = {
    "estimates": ReleaseTable(
        ESTIMATE_COLUMNS,
        (*PAIR_COLUMNS, "metric", "test"),
        _estimates,
    ),
    "ranks": ReleaseTable(
        RANK_COLUMNS,
        ("benchmark", "benchmark_version", "strategy", "model", "metric"),
        lambda of: of.ranking.ranks,
    ),
    "rank_differences": ReleaseTable(
        RANK_DIFFERENCE_COLUMNS,
        ("benchmark", "benchmark_version", "strategy", "model_a", "model_b", "metric"),
        lambda of: of.ranking.differences,
    ),
    "comparisons": ReleaseTable(
        RELEASE_COMPARISON_COLUMNS,
        ("kind", "model_old", "model_new", "strategy", "attribute", "group_a", "metric"),
        lambda of: comparisons_of(of.opened, of.missing, of.alpha, of.benchmarks, of.successors),
    ),
    "screening": ReleaseTable(
        SCREENING_COLUMNS,
        (*UNIT_COLUMNS, "check"),
        lambda of: screen_opened(of.opened, whole=True, successors=of.successors).to_frame(),
    ),
    "replication": ReleaseTable(
        REPLICATION_COLUMNS,
        ("published", "row", "column", "attribute"),
        lambda of: replicate(of.opened, of.alpha),
    ),
    "sensitivity": ReleaseTable(
        SENSITIVITY_COLUMNS,
        (*PAIR_COLUMNS, "aspect", "choice"),
        lambda of: sensitivity_of(of.opened, of.missing, of.alpha, of.benchmarks),
    ),
    "letters": ReleaseTable(
        LETTER_COLUMNS,
        (*UNIT_COLUMNS, "attribute", "group", "letter"),
        lambda of: letters_of(of.opened, of.benchmarks),
    ),
    "flips": ReleaseTable(
        FLIP_COLUMNS,
        (*PAIR_COLUMNS, "within", "item_id", "sample"),
        lambda of: flips_of(of.opened if of.lists_items else of.units[:0], of.benchmarks),
    ),
    "item_gaps": ReleaseTable(
        ITEM_FUNCTIONING_COLUMNS,
        ("benchmark_version", "attribute", "group_a", "group_b", "item_id"),
        # With the policy bounds, it has no rows.
        lambda of: released_items(of.opened, of.missing if of.lists_items else "bounds"),
    ),
    "overlap": ReleaseTable(
        OVERLAP_COLUMNS, (*RETRIEVER_COLUMNS, "top_k", "attribute", "measure"), _overlap
    ),
    "retrieval_effects": ReleaseTable(
        EFFECT_COLUMNS,
        (*PAIR_COLUMNS, "of", "metric"),
        _effects,
    ),
    "votes": ReleaseTable(
        VOTE_COLUMNS,
        UNIT_COLUMNS,
        lambda of: vote_counts(of.opened, alpha=of.alpha),
    ),
    "vignette_findings": ReleaseTable(
        FINDING_COLUMNS,
        (
            "aspect",
            "measure",
            "quantity",
            "benchmark_version",
            "model",
            "strategy",
            "attribute",
            "group_a",
            "group_b",
        ),
        lambda of: audit_findings(
            of.measures,
            of.opened if of.lists_items else None,
            missing=of.missing,
            alpha=of.alpha,
            benchmarks=of.benchmarks,
        ),
    ),
    **{
        name: ReleaseTable(
            table.columns,
            table.keys,
            lambda of, table=table: table.make(of.ratings, alpha=of.alpha, rubrics=of.rubrics),  # type: ignore[misc]
        )
        for name, table in RATING_TABLES.items()
    },
}


def tables_of(of: ReleaseInputs, watch: Watch = unwatched) -> dict[str, pd.DataFrame]:
    """Compute all tables of a release.

    They are in the order of `TABLES`.
    """
    many = isinstance(of.answers, pd.DataFrame) and _FEWEST <= len(of.answers) <= _MOST
    apart = _APART if many and cores() > 1 else ()
    # Opened before the process is copied: both use it.
    _ = of.opened
    with in_copy(lambda: _made(of, apart)) if apart else nullcontext(dict) as made_apart:
        here = [name for name in TABLES if name not in apart]
        made = _made(of, here, watch) | (made_apart() or {})
    # If the second process failed, e.g. for lack of memory, its tables are computed here.
    return {name: made[name] if name in made else TABLES[name].make(of) for name in TABLES}


def _made(
    of: ReleaseInputs, names: Collection[str], watch: Watch = unwatched
) -> dict[str, pd.DataFrame]:
    """Compute some of the tables."""
    made: dict[str, pd.DataFrame] = {}
    for name in names:
        watch(_COMPUTING, len(made), len(TABLES))
        made[name] = TABLES[name].make(of)
        if not isinstance(of.answers, pd.DataFrame):
            give_memory_back()
    return made


def write_table(table: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write any table of a release as ``name.parquet``, and as ``name.csv`` except flips."""
    # Use one type for texts, so that reading and writing again gives the same bytes.
    table = table.infer_objects()
    paths = [folder / f"{name}.{suffix}" for suffix in formats_of(name)]
    for path in paths:
        if path.suffix == ".csv":
            write_text(table_csv(table), path)
        else:
            write_parquet(table, path)
    return paths
