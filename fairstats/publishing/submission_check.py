"""Check a submission: its declaration, its answers, their screening, and its effect on a board."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fairstats._lib.formatting import capital, escape_comment, listed, p_figure, percent, quoted
from fairstats._lib.paths import AnyPath
from fairstats._lib.problems import InputError, Problem, in_lines, input_error, printable, refuse
from fairstats._lib.safe_names import same_looking
from fairstats._lib.table_text import json_text, records
from fairstats._lib.untrusted_files import FileBytes
from fairstats.answers.benchmark_checks import read_valid, same_looking_problems
from fairstats.answers.engine_frames import UNIT_COLUMNS, open_pairs
from fairstats.answers.strategies import vote_problems
from fairstats.benchmarks.declaration import BASELINE, MISSING_POLICIES, Benchmark, MissingPolicy
from fairstats.benchmarks.kinds import DIFFERENCES, KINDS
from fairstats.benchmarks.loading import by_name, load_benchmarks
from fairstats.comparisons.ranking import no_ranking, rank_ranges
from fairstats.inference._checks import check_alpha, check_choice
from fairstats.publishing.diff import verdict_changes
from fairstats.publishing.inputs import read_used, refuse_unused, refuse_without
from fairstats.release.tables import TABLES, ReleaseInputs
from fairstats.retrieval.retrievals_table import read_retrievals
from fairstats.screening.screen import SCREENING_COLUMNS, screen_opened
from fairstats.screening.screen import markdown as screening_markdown
from fairstats.submissions.declaration import SUBMISSION_FILE
from fairstats.submissions.folder import (
    ACCEPTANCE_FILE,
    Submission,
    mismatches,
    read_submission,
)

Result = Literal["ok", "look", "block", "invalid"]
#: What each result means, for the submitter and the board's keeper.
MEANINGS: Mapping[Result, str] = {
    "ok": "valid, and the checks that were possible have no questions",
    "look": "valid; screening has questions about how the answers were made",
    "block": "screening blocks these answers: explain how they were made",
    "invalid": "cannot be used: correct the problems and check it again",
}
# A page that shows them has a limit.
_MOST_LINES = 50
_BOARD = ["benchmark", "benchmark_version", "strategy"]
_PAIR = [*UNIT_COLUMNS, "attribute", "group_a", "group_b"]
_KIND_OF = {kind.difference: kind for kind in KINDS.values()}
#: Columns of `Preview.figures`, in order.
PREVIEW_COLUMNS = (
    *_PAIR,
    "metric",
    "difference",
    "ci_low",
    "ci_high",
    "cfr",
    "p_adjusted",
    "verdict",
    "verdict_reason",
)
#: Columns of `Preview.ranks`, in order; the ranks are ranges such as "2–3".
RANK_CHANGE_COLUMNS = (*_BOARD, "model", "rank_before", "rank_after", "method_note")


@dataclass(frozen=True)
class SubmissionCheck:
    """The result of checking a submission.

    If there are problems, the screening has no rows, and there is no preview.
    """

    path: Path
    submission: Submission | None
    problems: tuple[Problem, ...]
    screening: pd.DataFrame
    preview: Preview | None

    @property
    def result(self) -> Result:
        """Return the most serious finding."""
        if self.problems:
            return "invalid"
        flags = set(self.screening["flag"])
        return "block" if "block" in flags else "look" if "look" in flags else "ok"

    @property
    def lines(self) -> list[str]:
        """Return the effect on the board, one sentence per line, as plain text."""
        return [] if self.preview is None else list(_sentences(self.preview))

    def to_json(self) -> str:
        """Return everything as a JSON object."""
        declared = None if self.submission is None else self.submission.declaration
        found: dict[str, Any] = {
            "submission": printable(self.path.name),
            "result": self.result,
            "declaration": None if declared is None else declared.model_dump(mode="json"),
            "problems": [
                asdict(replace(problem, path=printable(problem.path))) for problem in self.problems
            ],
            "screening": records(self.screening),
        }
        if self.preview is not None:
            found |= {
                name: records(getattr(self.preview, name))
                for name in ("figures", "ranks", "verdicts")
            }
            found["replaced"] = list(self.preview.replaced)
            found["new"] = list(self.preview.new)
            found["added"] = list(self.preview.added)
            found["benchmarks"] = dict(self.preview.benchmarks)
        return json_text(found)

    def to_markdown(self) -> str:
        """Return a comment for a pull request, with every text of the submission escaped."""
        parts = [
            f"## Submission {escape_comment(printable(self.path.name))}: {self.result}",
            f"{escape_comment(capital(MEANINGS[self.result]))}.",
        ]
        if self.submission is not None:
            parts.append(_declared(self.submission))
        if self.problems:
            lines = in_lines(self.problems)
            parts.append("### Problems")
            parts.append("\n".join(f"- {escape_comment(line)}" for line in lines[:_MOST_LINES]))
            if len(lines) > _MOST_LINES:
                parts.append(f"... and {len(lines) - _MOST_LINES} more.")
        if len(self.screening):
            parts += ["### Screening", screening_markdown(self.screening).strip()]
        if self.preview is not None:
            parts += ["### What would change on the board"]
            parts.append("\n".join(f"- {escape_comment(line)}" for line in self.lines))
        return "\n\n".join(parts) + "\n"


def check_submission(
    folder: AnyPath,
    present: pd.DataFrame | None = None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Iterable[Benchmark] | Mapping[str, Benchmark] = (),
    accepted: Iterable[str] = (),
    submitters: Mapping[str, Sequence[str]] | None = None,
    retrievals: Iterable[Path] | None = None,
) -> SubmissionCheck:
    """Validate and screen a submission, and preview how it would change a board.

    Parameters
    ----------
    folder : path
        The submission's folder.
    present : pandas.DataFrame, optional
        The answers on the board, which screening and the preview compare with. By default, the
        board is empty.
    missing, alpha, benchmarks
        As in `fairstats.analyze`.
    accepted : iterable of str
        Names of the board's accepted submissions, which this one must not have.
    submitters : mapping of str to sequence of str, optional
        Who submitted each of the board's models.
    retrievals : iterable of Path, optional
        The board's files of retrievals. If given, answers with retrieved snippets need theirs, here
        or in the submission.

    Returns
    -------
    SubmissionCheck
        Its ``problems`` has every problem of the folder; none of them is raised.

    Raises
    ------
    InputError
        If `present` violates the schema or a benchmark's declaration.
    ValueError
        If `alpha` is not above 0 and below 0.5, or `missing` is not a policy.

    Notes
    -----
    ``result`` is ``invalid`` if the folder, the declaration or the answers have a problem. If not,
    it is the most serious flag of `fairstats.screen`: ``block``, ``look`` or ``ok``. Screening
    compares with `present`, except for answer sets that the submission would replace. The preview
    compares the estimates and rank ranges of `present` with those after the submission.

    Examples
    --------
    >>> found = check_submission("no/such/folder")
    >>> found.result, found.problems[0].message
    ('invalid', 'is not the folder of a submission')
    """
    check_alpha(alpha)
    if missing is not None:
        check_choice("missing", missing, MISSING_POLICIES)
    path = Path(os.path.normpath(folder))
    given = by_name(benchmarks)
    submission, none = None, pd.DataFrame(columns=list(SCREENING_COLUMNS))
    try:
        submission = read_submission(path)
        _refuse_accepted(submission, accepted)
        answers = read_valid(submission.answer_files, benchmarks=given)
        votes = vote_problems(answers, str(path), "submit the answers that were voted on")
        problems = [*mismatches(submission, answers), *_alike(answers, present, path), *votes]
        problems += _alike_submitters(submission, submitters or {})
        refuse(problems)
    except InputError as error:
        return SubmissionCheck(path, submission, error.problems, none, None)
    names = set(answers["benchmark"]) | (set() if present is None else set(present["benchmark"]))
    known = load_benchmarks(names, given)
    others = None if present is None or present.empty else present
    against = None if others is None else open_pairs(others, known)
    try:
        files: list[Path | FileBytes] = [*(retrievals or ()), *submission.retrieval_files]
        # Without the board's retrievals, nothing is known of those of its answers.
        own = others is None or retrievals is None
        lists = read_used(files, answers if own else pd.concat([others, answers]), known)
        if retrievals is not None:
            refuse_without(answers, lists)
        if submission.retrieval_files:
            refuse_unused(answers, read_retrievals(submission.retrieval_files), str(path))
        screening = screen_opened(open_pairs(answers, known), against).to_frame()
        changes = preview(answers, present, missing=missing, alpha=alpha, benchmarks=known)
        added, replaced = _of_known_models(submission, answers, present, submitters or {})
    except InputError as error:
        # The answers may not fit those on the board: other items, keys or clusters.
        return SubmissionCheck(path, submission, error.problems, none, None)
    changes = replace(changes, added=added, replaced=replaced)
    return SubmissionCheck(path, submission, (), screening, changes)


def _refuse_accepted(submission: Submission, accepted: Iterable[str]) -> None:
    """Refuse a submission with a record of its acceptance, or with the name of an accepted one."""
    path, name = submission.path, submission.path.absolute().name
    if submission.acceptance is not None:
        message = "is written by the keeper of a board who accepts the submission"
        raise input_error(path / ACCEPTANCE_FILE, message, "remove it")
    if name.casefold() in {one.casefold() for one in accepted}:
        message = "has the name of an accepted submission"
        raise input_error(path, message, "rename the folder of the new submission")


def _alike(answers: pd.DataFrame, present: pd.DataFrame | None, path: Path) -> list[Problem]:
    """Report submitted names that look like others on the board."""
    if present is None:
        return []
    names = [
        table[list(UNIT_COLUMNS)].drop_duplicates().assign(_path=of)
        for table, of in ((present, "<board>"), (answers, str(path)))
    ]
    return same_looking_problems(pd.concat(names))


def _alike_submitters(
    submission: Submission, submitters: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Report a submitter who looks like another one of the board."""
    by = submission.declaration.submitter
    for group in same_looking([by, *(name for names in submitters.values() for name in names)]):
        if by in group:
            message = f"looks like {next(name for name in group if name != by)!a} on the board"
            remedy = "if they are the same, write them the same way; if not, add what differs"
            path = str(submission.path / SUBMISSION_FILE)
            yield Problem(path, message, remedy, column="submitter", value=by)


def _of_known_models(
    submission: Submission,
    answers: pd.DataFrame,
    present: pd.DataFrame | None,
    submitters: Mapping[str, Sequence[str]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the answer sets of models that the board has: new ones, and those to be replaced."""
    if present is None:
        return (), ()
    keys, by = list(UNIT_COLUMNS), submission.declaration.submitter
    there = set(present[keys].itertuples(index=False, name=None))
    added, replaced = [], []
    for key in sorted(set(answers[keys].itertuples(index=False, name=None))):
        benchmark, version, model, strategy = key
        others = submitters.get(model, ())
        whose = f"submitted by {listed(others)}" if others else "without a submission"
        whose += f"; these are from {by}"
        if {*others} == {by}:
            whose = "the submitter has the same name"
        if key in there:
            replaced.append(f"{' / '.join(key)} ({whose})")
        elif (present["model"] == model).any():
            name = f"{quoted(strategy)} on {benchmark}, {version}, to {quoted(model)}"
            added.append(f"{name} ({whose})")
    return tuple(added), tuple(replaced)


def _declared(submission: Submission) -> str:
    """Return what the submitter declares, as a Markdown table."""
    declared = submission.declaration
    facts = {
        "Model": f"{quoted(declared.model)}, snapshot {quoted(declared.snapshot)}",
        "Run by": declared.provider,
        "Run": f"{declared.started} to {declared.ended}",
        "Attempts": str(declared.attempts),
        "Chosen by": declared.chosen_by,
        "Settings": ", ".join(f"{key} = {value}" for key, value in declared.settings.items()),
        "Submitter": declared.submitter,
        "Conflicts of interest": declared.conflicts,
        "Training data": declared.training_data,
    }
    rows = [f"| {name} | {escape_comment(value)} |" for name, value in facts.items() if value]
    return "\n".join(["| Declared | |", "|---|---|", *rows])


def _sentences(found: Preview) -> Iterator[str]:
    """State what would change, the submitted answers first."""
    for name in found.replaced:
        yield f"Replaces the answers of {name}."
    for name in found.added:
        yield f"Adds {name}."
    for name in found.new:
        yield f"The board has no other answers to {name}."
    for name, basis in found.benchmarks.items():
        yield f"{name}: {basis}."
    several = found.figures["benchmark"].nunique() > 1

    def of(row: Mapping[Hashable, Any]) -> str:
        return f"{row['benchmark']}: " * several

    def own(row: Mapping[Hashable, Any]) -> str:
        return quoted(str(row["model"]), str(row["strategy"]))

    for row in found.figures.to_dict("records"):
        kind = _KIND_OF[row["metric"]]
        limits = kind.shown_range(row["ci_low"], row["ci_high"]).removesuffix(f" {kind.unit}")
        value = "" if pd.isna(row["difference"]) else kind.signed(row["difference"])
        p = p_figure(row["p_adjusted"])
        verdict = row["verdict"] if isinstance(row["verdict"], str) else "no verdict"
        # Next to "equivalent", the reason is a caution.
        if isinstance(row["verdict_reason"], str):
            verdict += f" ({row['verdict_reason']})"
        yield (
            f"{of(row)}{own(row)}, {row['attribute']} {row['group_a']} − "
            f"{row['group_b']}: gap {value} ({limits}) {kind.unit}, CFR {percent(row['cfr'])}"
            f"{f', adjusted p {p}' if p else ''}: {verdict}."
        )
    for row in found.ranks.to_dict("records"):
        note = f" ({row['method_note']})" if row["method_note"] else ""
        after = f"{row['rank_after'] or 'none'}{note}"
        before = "new" if row["rank_before"] is None else f"before: {row['rank_before'] or 'none'}"
        which = f"{own(row)} ({row['benchmark_version']})"
        yield f"{of(row)}Rank of {which}: {after}; {before}."
    for row in found.verdicts.to_dict("records"):
        pair = f"{row['attribute']} {row['group_a']} − {row['group_b']}"
        yield (f"{of(row)}Verdict on {own(row)}, {pair}: {row['old']} before, {row['new']} after.")
    if found.verdicts.empty:
        yield "No verdict on another model changes."


@dataclass(frozen=True)
class Preview:
    """How a submission would change a board.

    Attributes
    ----------
    figures : pandas.DataFrame
        `PREVIEW_COLUMNS`, one row per pair of groups of the submitted answer sets.
    ranks : pandas.DataFrame
        `RANK_CHANGE_COLUMNS`: the submitted sets, and each other model with a changed range. A
        range is empty if the model has no rank, and None before if it was not on the board.
    verdicts : pandas.DataFrame
        `fairstats.publishing.diff.VERDICT_COLUMNS`: changed verdicts on other models, whose
        p-values are adjusted together with the new ones.
    new : tuple of str
        The benchmarks of the submission that no other answers on the board are to.
    benchmarks : mapping of str to str
        What verdicts rest on, by benchmark: declaration, margin and unusual thresholds.
    added : tuple of str
        The new answer sets of models that the board has, and who submitted the others.
    replaced : tuple of str
        The answer sets on the board that the submission would replace, and who submitted them.
    """

    figures: pd.DataFrame
    ranks: pd.DataFrame
    verdicts: pd.DataFrame
    new: tuple[str, ...]
    benchmarks: Mapping[str, str]
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


def preview(
    submitted: pd.DataFrame,
    present: pd.DataFrame | None,
    *,
    missing: MissingPolicy | None = None,
    alpha: float = 0.05,
    benchmarks: Mapping[str, Benchmark],
) -> Preview:
    """Compute the estimates and ranks of a board with and without submitted answers.

    The answers `present` on the board are None if it is empty.
    """
    keys = list(UNIT_COLUMNS)
    new = pd.MultiIndex.from_frame(submitted[keys].drop_duplicates())
    before, after = None, submitted
    alone = sorted(
        set(submitted["benchmark"]).difference([] if present is None else present["benchmark"])
    )
    if present is not None:
        present = present[present["benchmark"].isin(submitted["benchmark"].unique())]
    if present is not None and len(present):
        after = pd.concat([without_sets(present, submitted), submitted], ignore_index=True)
        before = ReleaseInputs.of_answers(present, missing, alpha, benchmarks)
    tables = ReleaseInputs.of_answers(after, missing, alpha, benchmarks)
    estimates = _estimates(tables)
    own = pd.MultiIndex.from_frame(estimates[keys]).isin(new)
    verdicts = verdict_changes(
        estimates[:0] if before is None else _estimates(before), estimates[~own]
    )
    ranks = _rank_changes(_ranks(before), _ranks(tables), new)
    names = sorted(submitted["benchmark"].unique())
    bases = {name: benchmarks[name].basis(alpha=alpha) for name in names}
    return Preview(_figures(estimates[own]), ranks, verdicts, tuple(alone), bases)


def without_sets(answers: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return answers without those of the answer sets that are in another table."""
    keys = list(UNIT_COLUMNS)
    sets = pd.MultiIndex.from_frame(others[keys].drop_duplicates())
    return answers[~pd.MultiIndex.from_frame(answers[keys]).isin(sets)]


def _estimates(of: ReleaseInputs) -> pd.DataFrame:
    return TABLES["estimates"].make(of)


def _figures(estimates: pd.DataFrame) -> pd.DataFrame:
    rows = estimates[(estimates["attribute"] != BASELINE) & estimates["group_a"].notna()]
    rows = rows[rows["metric"].isin([*DIFFERENCES, "cfr"])].set_index(_PAIR)
    gaps = rows[rows["metric"] != "cfr"]
    shares = rows.loc[rows["metric"] == "cfr", "estimate"].rename("cfr")
    table = gaps.rename(columns={"estimate": "difference"}).join(shares).reset_index()
    return table[list(PREVIEW_COLUMNS)]


def _ranks(of: ReleaseInputs | None) -> pd.DataFrame:
    """Return the range of ranks and the note of each model, by board and model."""
    table = no_ranking().ranks if of is None else TABLES["ranks"].make(of)
    columns = [*_BOARD, "model", "rank", "method_note"]
    return table.assign(rank=rank_ranges(table))[columns].set_index([*_BOARD, "model"])


def _rank_changes(before: pd.DataFrame, after: pd.DataFrame, new: pd.MultiIndex) -> pd.DataFrame:
    both = after.join(before["rank"].rename("rank_before"), how="left").reset_index()
    both = both.rename(columns={"rank": "rank_after"})
    both["rank_before"] = (
        both["rank_before"].astype(object).where(both["rank_before"].notna(), None)
    )
    own = pd.MultiIndex.from_frame(both[list(UNIT_COLUMNS)]).isin(new)
    changed = own | (both["rank_before"] != both["rank_after"]).to_numpy()
    return both.loc[changed, list(RANK_CHANGE_COLUMNS)].reset_index(drop=True)
