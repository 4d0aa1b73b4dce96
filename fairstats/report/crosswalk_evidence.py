"""Which parts of an audit report bear on a clause, found out from the report's data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

from fairstats._lib.formatting import counted, decimal, listed
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Release
from fairstats.report.audit_answer_sets import AnswerSet, answer_sets
from fairstats.report.audit_confidence import prompts_among
from fairstats.report.audit_declarations import declared_facts
from fairstats.report.audit_facts import FACTS, AuditFacts
from fairstats.report.audit_groups import (
    crossed,
    groups_of,
    impact_ratio_of,
    overall_of,
    small_groups,
)
from fairstats.report.audit_limits import limitations
from fairstats.report.audit_ratings import ratings_of

#: The first page has no heading of its own.
FIRST_PAGE = ""


@dataclass(frozen=True)
class Audit:
    """Hold the content of an audit report."""

    release: Release
    model: str
    facts: AuditFacts = field(default_factory=AuditFacts)

    @cached_property
    def sets(self) -> list[AnswerSet]:
        """Return the model's answer sets; the first is the one of the summary."""
        return answer_sets(self.release, self.model)

    @property
    def first(self) -> AnswerSet:
        """Return the answer set of the summary."""
        return self.sets[0]

    @cached_property
    def declared(self) -> dict[str, str]:
        """Return the declared facts; one that was not given is empty."""
        return declared_facts(self.release, self.model, self.facts)


@dataclass(frozen=True)
class Evidence:
    """Hold a part of the report.

    Attributes
    ----------
    section : str
        The heading under which it is; `FIRST_PAGE` for the summary.
    name : str
        What is missing if the report does not show it.
    find : callable
        States what an `Audit` shows; empty if it does not.
    """

    section: str
    name: str
    find: Callable[[Audit], str]


def _group_accuracy(audit: Audit) -> str:
    known = [
        group
        for attribute in audit.first.benchmark.varied
        for group in groups_of(audit.first, attribute)
        if not math.isnan(group.low)
    ]
    return (
        f"accuracy of {counted(len(known), 'group')}, with intervals and numbers" if known else ""
    )


def _overall(audit: Audit) -> str:
    found = [a for a in audit.first.benchmark.varied if overall_of(audit.first, a) is not None]
    return f"accuracy over all groups ({listed([a.label for a in found])})" if found else ""


def _impact_ratio(audit: Audit) -> str:
    rows = [impact_ratio_of(audit.first, a) for a in audit.first.benchmark.varied]
    known = [float(row["estimate"]) for row in rows if row is not None]
    known = [value for value in known if not math.isnan(value)]
    return f"accuracy ratios; the lowest impact ratio is {decimal(min(known), 3)}" if known else ""


def _intersections(audit: Audit) -> str:
    cells = sum(len(groups_of(audit.first, a)) for a in crossed(audit.first))
    return f"accuracy and number of {counted(cells, 'intersection')}" if cells else ""


def _unknown(audit: Audit) -> str:
    groups = [g for a in audit.first.benchmark.varied for g in groups_of(audit.first, a)]
    if not groups or any(group.missing is None for group in groups):
        return ""
    return f"{sum(group.missing or 0 for group in groups):,} missing answers, by group"


def _small(audit: Audit) -> str:
    if not _group_accuracy(audit):
        return ""
    small = small_groups(audit.first)
    return f"groups under 2%: {listed(small)}" if small else "no group has under 2% of the answers"


def _pairs(audit: Audit) -> str:
    known = [
        p for p in audit.first.pairs if not math.isnan(p.value("accuracy_difference", "ci_low"))
    ]
    return counted(len(known), "accuracy difference") + " with intervals" if known else ""


def _cfr(audit: Audit) -> str:
    known = [pair for pair in audit.first.pairs if not math.isnan(pair.value("cfr", "ci_low"))]
    return (
        f"how often the answer stays the same, for {counted(len(known), 'pair')}" if known else ""
    )


def _tests(audit: Audit) -> str:
    known = [p for p in audit.first.pairs if not math.isnan(p.value("mcnemar", "p_adjusted"))]
    return f"{counted(len(known), 'test')} of no difference, adjusted" if known else ""


def _verdicts(audit: Audit) -> str:
    counts = [
        (sum(pair.verdict == verdict for pair in audit.first.pairs), verdict)
        for verdict in (DISPARITY, INCONCLUSIVE, EQUIVALENT)
    ]
    named = [f"{number} {verdict}" for number, verdict in counts if number]
    return f"finding and verdicts ({', '.join(named)})" if named else ""


def _power(audit: Audit) -> str:
    known = [pair.value("minimum_detectable_difference") for pair in audit.first.pairs]
    return "" if all(map(math.isnan, known)) else "the difference that each test could detect"


def _other_prompts(audit: Audit) -> str:
    others = [a for a in prompts_among(audit.first, audit.sets[1:]) if a.pairs]
    return f"the same comparisons with {counted(len(others), 'other prompt')}" if others else ""


def _changes(audit: Audit) -> str:
    rows = audit.release.comparisons
    own = rows[rows[["model_old", "model_new"]].eq(audit.model).any(axis=1)]
    return "changes from other versions or prompts of the model" if len(own) else ""


def _sensitivity(audit: Audit) -> str:
    rows = audit.first.table("sensitivity")
    return "the same figures with other methods" if len(rows) and audit.first.pairs else ""


def _missing(audit: Audit) -> str:
    if any(entry["missing"] for answers in audit.sets for entry in answers.entries):
        return "the differences under four policies for missing answers"
    return "no answers are missing"


def _screening(audit: Audit) -> str:
    rows = audit.release.screening
    return "checks for copied, shifted or invented answers" if len(rows) else ""


def _snapshot(audit: Audit) -> str:
    known = [entry["snapshot"] for answers in audit.sets for entry in answers.entries]
    return "name and exact version of the model" if known and all(known) else ""


def _ratings(audit: Audit) -> str:
    found = ratings_of(audit.release, audit.model)
    raters = sum(judged["rater_id"].nunique() for _, judged in found)
    return f"judgements of {counted(raters, 'rater')}, with their agreement" if found else ""


def _fact(name: str, audit: Audit) -> str:
    return "declared, not checked" if audit.declared[name] else ""


def _always(text: str, audit: Audit) -> str:
    return text


#: By name in data/crosswalk.toml.
EVIDENCE = {
    "attributes": Evidence(
        "Groups",
        "the tested attributes",
        lambda audit: listed([a.label for a in audit.first.benchmark.varied]),
    ),
    "group_accuracy": Evidence("Groups", "accuracy by group", _group_accuracy),
    "overall_accuracy": Evidence("Groups", "overall accuracy", _overall),
    "impact_ratio": Evidence("Groups", "impact ratio", _impact_ratio),
    "intersections": Evidence("Groups", "intersections of attributes", _intersections),
    "unknown": Evidence("Groups", "missing answers by group", _unknown),
    "small_groups": Evidence("Groups", "small groups", _small),
    "pairs": Evidence(FIRST_PAGE, "accuracy differences", _pairs),
    "cfr": Evidence(FIRST_PAGE, "changed answers", _cfr),
    "tests": Evidence(FIRST_PAGE, "tests", _tests),
    "verdicts": Evidence(FIRST_PAGE, "verdicts", _verdicts),
    "margin": Evidence(
        FIRST_PAGE,
        "equivalence margin",
        lambda audit: f"margin of ±{audit.first.margin} points, declared by the benchmark",
    ),
    "reading_note": Evidence(
        FIRST_PAGE,
        "a note on the benchmark’s limits",
        lambda audit: "how to read the benchmark" if audit.first.benchmark.read_first else "",
    ),
    "prompts": Evidence(
        FIRST_PAGE, "prompts", lambda audit: f"name of the prompt ({audit.first.prompt})"
    ),
    "statement": Evidence(
        FIRST_PAGE, "signatures", partial(_always, "a statement to sign, with lines for dates")
    ),
    "power": Evidence("Results", "detectable differences", _power),
    "other_prompts": Evidence("Other prompts and versions", "other prompts", _other_prompts),
    "changes": Evidence("Other prompts and versions", "changes between versions", _changes),
    "sensitivity": Evidence("Sensitivity", "sensitivity to the methods", _sensitivity),
    "missing_policies": Evidence("Sensitivity", "handling of missing answers", _missing),
    "screening": Evidence("Diagnostics", "screening of the answers", _screening),
    "ratings": Evidence("What raters report", "judgements of people", _ratings),
    "limits": Evidence(
        "Limits",
        "limits",
        lambda audit: counted(len(list(limitations(audit.release, audit.model))), "limit"),
    ),
    "methods": Evidence("Methods", "methods", partial(_always, "definitions and methods")),
    "size": Evidence("Provenance", "numbers", partial(_always, "numbers of vignettes and answers")),
    "sources": Evidence(
        "Provenance",
        "sources of the vignettes",
        lambda audit: "sources and licence of the vignettes" * bool(audit.first.benchmark.sources),
    ),
    "snapshot": Evidence("Provenance", "the model’s exact version", _snapshot),
    "manifest": Evidence("Provenance", "manifest", partial(_always, "hash of the manifest")),
    "downloads": Evidence(
        "Provenance", "data", partial(_always, "files, hashes and the command that checks them")
    ),
    "software": Evidence("Provenance", "software", partial(_always, "versions of the software")),
} | {
    name: Evidence("Declarations", about[:1].lower() + about[1:], partial(_fact, name))
    for name, about in FACTS.items()
}
