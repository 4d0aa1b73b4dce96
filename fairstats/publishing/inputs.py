"""Read and check the inputs of a release, and refuse answers that screening blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.problems import (
    Problem,
    input_error,
    keyword,
    parameter,
    refuse,
    wrong,
)
from fairstats._lib.safe_names import file_sha256
from fairstats._lib.untrusted_files import FileBytes, read_once
from fairstats.answers import MEMORY_LIMIT
from fairstats.answers.benchmark_checks import read_valid
from fairstats.answers.engine_frames import UNIT_COLUMNS, Unit
from fairstats.answers.files import (
    MEASURES_SUFFIX,
    RATINGS_SUFFIX,
    RETRIEVALS_SUFFIX,
    answer_files,
    files_ending,
    refuse_unreadable,
)
from fairstats.answers.schema import KEY_COLUMNS
from fairstats.answers.strategies import vote_problems
from fairstats.benchmarks.declaration import Benchmark, MissingPolicy
from fairstats.benchmarks.loading import by_name, load_benchmarks
from fairstats.inference._checks import check_alpha
from fairstats.ratings.files import read_ratings
from fairstats.ratings.rubrics import Rubrics, load_rubrics
from fairstats.ratings.table import no_ratings
from fairstats.release.manifest import ALPHAS, reason_problem
from fairstats.release.stored_answers import StoredAnswers, refuse_unread, store_answers
from fairstats.release.tables import ReleaseInputs
from fairstats.retrieval.retrievals_table import RETRIEVAL_COLUMNS, read_retrievals
from fairstats.retrieval.variant_lists import (
    asked_with,
    no_retrievals,
    open_retrievals,
    refuse_lacking,
)
from fairstats.screening.screen import screen_opened
from fairstats.submissions.folder import (
    accepted_submissions,
    is_submission,
    no_submissions,
    submission_records,
)
from fairstats.vignettes.tables import no_measures, read_measures


def read_inputs(
    answers: Paths,
    retrievals: Paths,
    ratings: Paths,
    measures: Paths,
    *,
    missing: MissingPolicy | None,
    alpha: float,
    without_retrievals: bool,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark],
    rubrics: Rubrics,
    store: Path | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> tuple[ReleaseInputs, list[dict[str, str]]]:
    """Read the inputs of a release.

    With `store`, an empty folder, the answers are stored there as parts instead of being read into
    memory, and DuckDB counts them within `memory_limit`. The other arguments are those of
    `fairstats.publishing.publish.publish`. Name and sha256 of each file are returned as well.
    """
    given = by_name(benchmarks)
    named = each_path(answers)
    retrieved = _files(named, retrievals, "retrievals", RETRIEVALS_SUFFIX)
    judged = _files(named, ratings, "ratings", RATINGS_SUFFIX)
    measured = _files(named, measures, "measures", MEASURES_SUFFIX)
    # Files of retrievals, ratings and measures may be listed among the answers.
    beside = (RETRIEVALS_SUFFIX, RATINGS_SUFFIX, MEASURES_SUFFIX)
    sources = answer_files([path for path in named if not str(path).endswith(beside)])
    if store is None:
        # Each file is read only once. A file that changes during publishing must not skip the
        # checks, or be published under the hash of other bytes.
        read = {path: read_once(path) for path in (*sources, *retrieved, *judged, *measured)}
        hashed = {path: file.sha256 for path, file in read.items()}
        records = submission_records(accepted_submissions(read))
        frame = read_valid([read[path] for path in sources], benchmarks=given)
        refuse_unreadable(frame, "<answers>")
        everything: pd.DataFrame | StoredAnswers
        everything = frame.sort_values(list(KEY_COLUMNS), ignore_index=True)
    else:
        _refuse_in_engine(sources, retrieved)
        refuse_unread(sources)
        # Only the parts are used from here on.
        hashed = {path: file_sha256(path) for path in sources}
        everything = store_answers(sources, store, benchmarks=given, memory_limit=memory_limit)
        refuse(
            Problem(str(path), "was changed while it was read", "publish again")
            for path in sources
            if file_sha256(path) != hashed[path]
        )
        read = {path: read_once(path) for path in (*judged, *measured)}
        hashed |= {path: file.sha256 for path, file in read.items()}
        records = no_submissions()
    # Only the name: the path on the publisher's machine is private.
    hashes = [{"name": path.name, "sha256": sha256} for path, sha256 in hashed.items()]
    units = everything if isinstance(everything, pd.DataFrame) else everything.units
    remedy = "remove them: the table `votes` of a release already includes them"
    refuse(vote_problems(units, ", ".join(map(str, sources)), remedy))
    known = load_benchmarks(units["benchmark"].unique().tolist(), given)
    lists = read_used([read[path] for path in retrieved], units, known)
    judgements = (
        read_ratings([read[path] for path in judged], rubrics=rubrics) if judged else no_ratings()
    )
    asked_by = load_rubrics(judgements["rubric"].unique(), rubrics)
    of_vignettes = _read_measures([read[path] for path in measured], known)
    if not without_retrievals:
        refuse_without(units, lists)
    of = ReleaseInputs(
        everything, lists, judgements, of_vignettes, records, missing, alpha, known, asked_by
    )
    return of, hashes


def _refuse_in_engine(sources: Sequence[Path], retrieved: Sequence[Path]) -> None:
    """Refuse what is only checked against answers in memory."""
    remedy = "publish without an engine"
    problems = [
        Problem(str(path), "is compared only with answers in memory", remedy) for path in retrieved
    ]
    problems += [
        Problem(str(folder), "is a submission, which is only checked in memory", remedy)
        for folder in sorted({path.parent for path in sources})
        if is_submission(folder)
    ]
    refuse(problems)


def _files(named: list[AnyPath], others: Paths, what: str, suffix: str) -> list[Path]:
    """List the files with this ending; each of the other paths must be one or have one."""
    found = list(map(Path, each_path(others)))
    for path in found:
        if not files_ending(path, suffix):
            remedy = f"give a file that ends in {suffix}, or a folder with one"
            raise input_error(path, f"contains no {what}", remedy)
    return files_ending([*named, *found], suffix)


def refuse_level(alpha: float) -> None:
    """Refuse a significance level that readers would not expect in a release."""
    low, high = ALPHAS
    if not low <= check_alpha(alpha) <= high:
        remedy = f"use {low:g} to {high:g}, e.g. 0.05"
        raise wrong("alpha", "is not allowed in a release", remedy, value=alpha)


def read_used(
    files: Sequence[Path | FileBytes], answers: pd.DataFrame, benchmarks: Mapping[str, Benchmark]
) -> pd.DataFrame:
    """Read the retrievals of a release: all that its answers used, or an empty table."""
    if not files:
        return no_retrievals()
    retrievals = read_retrievals(files)[list(RETRIEVAL_COLUMNS)]
    _refuse_others("retrievals", retrievals, benchmarks, files)
    refuse_lacking(answers, open_retrievals(retrievals, benchmarks))
    return retrievals


def _read_measures(files: list[FileBytes], benchmarks: Mapping[str, Benchmark]) -> pd.DataFrame:
    """Read the measures of the benchmarks in these answers."""
    measures = read_measures(files) if files else no_measures()
    _refuse_others("measures", measures, benchmarks, files)
    paths = ", ".join(map(str, files))
    for name, own in measures.groupby("benchmark"):
        # Every item needs all its rows: missing rows, or rows of other items, would change every
        # figure.
        leaks = own.loc[own["measure"] == "leakage_overlap", "item_id"].value_counts()
        asked = set(benchmarks[str(name)].answer_keys)
        short = set(leaks[leaks != leaks.max()].index)
        for item in sorted((asked ^ set(own["item_id"])) | (asked ^ set(leaks.index)) | short):
            message = f"is not an item of {name} with all its measures"
            remedy = "measure the items of this benchmark with `fairstats vignettes audit`"
            raise input_error(paths, message, remedy, column="item_id", value=str(item))
    return measures


def _refuse_others(
    what: str,
    table: pd.DataFrame,
    benchmarks: Mapping[str, Benchmark],
    files: Sequence[Path | FileBytes],
) -> None:
    """Refuse rows of a benchmark that no answer is to."""
    for name in sorted(set(table["benchmark"]) - set(benchmarks)):
        message = f"are {what} for a benchmark with no answers in this release"
        paths = ", ".join(map(str, files))
        raise input_error(paths, message, "remove them", column="benchmark", value=name)


def refuse_without(answers: pd.DataFrame, retrievals: pd.DataFrame) -> None:
    """Refuse answers that were generated with snippets if no retrievals identify the snippets."""
    searched = set(retrievals["benchmark"])
    lacking = [key[2] for key in asked_with(answers) if key[0] not in searched]
    if lacking:
        message = "was generated with retrieved snippets, but the retrievals file is missing"
        remedy = (
            f"give the folder with its *{RETRIEVALS_SUFFIX}, give the file with "
            f"{keyword('retrievals')}, or publish without it with "
            f"{keyword('without_retrievals', True)}. A release cannot be changed afterwards"
        )
        raise input_error("<answers>", message, remedy, column="strategy", value=lacking[0])


def refuse_unused(answers: pd.DataFrame, retrievals: pd.DataFrame, path: str) -> None:
    """Refuse retrievals that none of these answers was generated with."""
    used = {(*key[:2], strategy.retriever) for key, strategy in asked_with(answers).items()}
    given = retrievals[["benchmark", "benchmark_version", "retriever"]].astype("str")
    refuse(
        Problem(
            path,
            f"has retrievals for {benchmark}, version {version}, that no answer here names",
            "remove them, or name the strategies of these answers, e.g. plain+bm25@10",
            column="retriever",
            value=retriever,
        )
        for benchmark, version, retriever in given.drop_duplicates().itertuples(index=False)
        if (benchmark, version, retriever) not in used
    )


def refuse_blocked(
    of: ReleaseInputs, screening: pd.DataFrame, reasons: Mapping[str, str]
) -> list[dict[str, str]]:
    """Refuse answers that screening blocks, unless they are overruled.

    `reasons` are why the publisher wants to publish blocked answers of some models nevertheless.

    Returns
    -------
    list of dict
        `UNIT_COLUMNS` and the ``reason`` of each blocked answer set that is published: that of the
        publisher, else that of its submission, which was accepted although screening blocks it.

    Raises
    ------
    InputError
        If answers of another model are blocked, a named model has no blocked answers, or a reason
        is empty or too long.

    Notes
    -----
    A copy blocks the answers that it was copied from too. If the copy is overruled, the other
    answers are judged without it. The reason of a submission is for its own answer sets: another
    one of the model, e.g. to another benchmark, needs a reason of its own.
    """
    blocked = _units(blocked_sets(screening)).unique()
    accepted = of.submissions[of.submissions["overruled"] != ""]
    stated = dict(zip(_units(accepted), accepted["overruled"].map(str), strict=True))
    stated |= {unit: reasons[unit[2]] for unit in blocked if unit[2] in reasons}
    overruled = {unit: stated[unit] for unit in sorted(blocked) if unit in stated}
    remedy = (
        "ask who sent these answers how they were made. To publish them nevertheless, name the "
        f"model and your reason with {keyword('overrule')}, or under [overrule] in the file of "
        f"{parameter('models')}; the pages then show the reason"
    )
    problems = [
        Problem("<answers>", message, remedy, column="model", value=model)
        for model, message in _not_overruled(of, screening, overruled)
    ]
    problems += [
        Problem(
            parameter("overrule"),
            problem,
            "state in a sentence why these answers can be published",
            column=model,
            value=reason[:80],
        )
        for model, reason in sorted({(unit[2], reason) for unit, reason in overruled.items()})
        if (problem := reason_problem(reason))
    ]
    remedy = (
        "name only models whose answers screening blocks, here and under [overrule] in the file "
        f"of {parameter('models')}"
    )
    problems += [
        Problem(parameter("overrule"), "has no blocked answers", remedy, column="model", value=name)
        for name in sorted(set(reasons) - {unit[2] for unit in blocked})
    ]
    refuse(problems)
    columns = (*UNIT_COLUMNS, "reason")
    return [dict(zip(columns, (*unit, why), strict=True)) for unit, why in overruled.items()]


def overruling_problems(
    of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[Unit], manifest: str
) -> list[Problem]:
    """Compare the blocked answers of a release with those that its manifest overrules.

    The caller computed `screening` again; `overruled` are the answer sets that the manifest
    names.
    """
    remedy = (
        "ask the publisher how these answers were made, and for a release without them, or one "
        "that overrules these"
    )
    problems = [
        Problem(
            manifest,
            f"{message}, but the publisher did not overrule this by name",
            remedy,
            column="overruled",
            value=model,
        )
        for model, message in _not_overruled(of, screening, overruled)
    ]
    remedy = "ask the publisher for a release that names only answers that are blocked"
    blocked = _units(blocked_sets(screening))
    return problems + [
        Problem(
            manifest,
            f"the answers to {unit[0]} with strategy {unit[3]} are not blocked",
            remedy,
            column="overruled",
            value=unit[2],
        )
        for unit in sorted(set(overruled) - set(blocked))
    ]


def blocked_sets(screening: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that block a set's publication."""
    return screening[screening["flag"] == "block"]


def _not_overruled(
    of: ReleaseInputs, screening: pd.DataFrame, overruled: Collection[Unit]
) -> list[tuple[str, str]]:
    """Return the model and the reason of each block that is not overruled."""
    blocked = blocked_sets(screening)
    open_ = ~_units(blocked).isin([*overruled])
    rest = blocked[open_]
    if len(rest) < len(blocked) and len(rest):
        left_out = blocked.loc[~open_, "model"]
        others = of.without_models(left_out)
        again = screen_opened(others, whole=True, successors=of.successors).to_frame()
        rest = rest[rest["model"].isin(left_out) | _units(rest).isin(_units(blocked_sets(again)))]
    return [
        (
            str(row["model"]),
            f"the answers to {row['benchmark']} with strategy {row['strategy']} are blocked by the "
            f"check {row['check']} ({row['note'].rstrip('.')})",
        )
        for row in rest.to_dict("records")
    ]


def _units(table: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(table[list(UNIT_COLUMNS)].astype(object))
