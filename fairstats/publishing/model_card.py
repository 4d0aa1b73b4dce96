"""Write the fairness part of a CHAI Applied Model Card (v0.2) as XML, from a release."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from fairstats._lib.atomic_files import whole_file
from fairstats._lib.formatting import capital, level
from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_text import json_line
from fairstats.publishing.xml_text import element, xml_document
from fairstats.release.folder import open_release
from fairstats.report.audit_answer_sets import AnswerSet
from fairstats.report.audit_declarations import NOT_STATED
from fairstats.report.audit_facts import AuditFacts
from fairstats.report.audit_finding import finding, finding_in_numbers
from fairstats.report.audit_groups import groups_of, impact_ratio_of, overall_of
from fairstats.report.audit_limits import limitations
from fairstats.report.audit_scope import how_to_use, not_tested
from fairstats.report.audit_sections import model_of
from fairstats.report.crosswalk_evidence import Audit

#: The namespace of the schema, and its address.
NAMESPACE = "https://mc.chai.org/v0.2/schema.xsd"
# The card's texts are Markdown. These characters have a meaning inside a line.
_MARKS = re.compile(r"([\\`*_\[\]<>&#|~$!])")
#: A text, or the elements inside an element, in order.
Content = str | Sequence["tuple[str, Content]"]


def write_model_card(
    model: str,
    release: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    facts: AuditFacts | None = None,
) -> Path:
    """Write the fairness part of a CHAI Applied Model Card, v0.2.

    Parameters
    ----------
    model : str
        The model's name, or the last part of its page's address.
    release : path
        The release's folder.
    out : path
        The XML file to write.
    facts : AuditFacts, optional
        What the auditor declares.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        As `fairstats.release.folder.open_release`. Also if the release has no such model, or the
        file's name does not end in .xml.

    Notes
    -----
    The schema requires every part of a card. Parts that a release has no data on are "not stated".
    """
    target = Path(out)
    if target.suffix.lower() != ".xml":
        raise InputError([Problem(str(out), "is not a name for XML", "name a file ending in .xml")])
    chosen = open_release(release)
    audit = Audit(chosen, model_of(chosen, model), facts or AuditFacts())
    root = element("AppliedModelCard", {"xmlns": NAMESPACE})
    _fill(root, _card(audit))
    with whole_file(target) as building:
        building.write_text(xml_document(root), encoding="utf-8")
    return target


def _fill(parent: Element, content: Content) -> None:
    if isinstance(content, str):
        parent.text = content
        return
    for tag, inside in content:
        child = element(tag, text=inside if isinstance(inside, str) else "")
        if not isinstance(inside, str):
            _fill(child, inside)
        parent.append(child)


def _card(audit: Audit) -> Content:
    first, release = audit.first, audit.release
    snapshots = [entry["snapshot"] or "snapshot not known" for entry in first.entries]
    summary = (
        f"Fairness part only, from fairstats release {release.name}. All other parts are not "
        "stated. The figures map to the card; they certify nothing."
    )
    untested = not_tested(first, rated=False)
    mitigation = audit.declared["mitigation"] or NOT_STATED
    sources = "; ".join((first.benchmark.citation, *first.benchmark.sources))
    return [
        ("BasicInfo", _texts(("ModelName", audit.model), "ModelDeveloper", "DeveloperContact")),
        (
            "ReleaseInfo",
            _texts(
                "ReleaseStage",
                "ReleaseDate",
                ("ReleaseVersion", ", ".join(dict.fromkeys(snapshots))),
                "GlobalAvailability",
            ),
        ),
        ("ModelSummary", [*_texts(("Summary", summary)), ("Keywords", [])]),
        (
            "UsesAndDirections",
            _texts(
                "IntendedUseAndWorkflow",
                "PrimaryIntendedUsers",
                ("HowToUse", " ".join(how_to_use(first))),
                "TargetedPatientPopulation",
                ("CautionedOutOfScopeSettings", " ".join(filter(None, untested))),
            ),
        ),
        (
            "Warnings",
            _texts(
                ("KnownRisksAndLimitations", " ".join(limitations(release, audit.model))),
                ("KnownBiasesOrEthicalConsiderations", _finding(first)),
                "ClinicalRiskLevel",
            ),
        ),
        (
            "TrustIngredients",
            [
                (
                    "AISystemFacts",
                    _texts(
                        "OutcomesAndOutputs",
                        "ModelType",
                        "InputDataSource",
                        "OutputAndInputDataTypes",
                        "DevelopmentDataCharacterization",
                        ("BiasMitigationApproaches", mitigation),
                        "OngoingMaintenance",
                    ),
                ),
                (
                    "TransparencyInformation",
                    _texts(
                        "FundingSource",
                        ("StakeholdersConsulted", audit.declared["consulted"] or NOT_STATED),
                    ),
                ),
            ],
        ),
        (
            "KeyMetrics",
            [
                ("UsefulnessUsabilityEfficacy", _unstated_metric()),
                ("FairnessEquity", _fairness(audit)),
                ("SafetyReliability", _unstated_metric()),
            ],
        ),
        ("Resources", _texts("PeerReviewedPublications", "PatientConsentOrDisclosure")),
        *_texts(("Bibliography", sources)),
    ]


def _texts(*entries: str | tuple[str, str]) -> list[tuple[str, Content]]:
    """Return elements with texts; one without a text is "not stated"."""
    named = [entry if isinstance(entry, tuple) else (entry, NOT_STATED) for entry in entries]
    return [(tag, _markdown(text) or NOT_STATED) for tag, text in named]


def _unstated_metric() -> Content:
    results = [("MetricResult", [("Label", NOT_STATED), ("ValueJson", "null")])]
    rest = _texts(
        "Interpretation", "TestType", "TestingDataDescription", "ValidationProcessAndJustification"
    )
    return [*_texts("MetricGoal"), ("Results", results), *rest]


def _fairness(audit: Audit) -> Content:
    first = audit.first
    benchmark, size = first.benchmark, sum(entry["items"] for entry in first.entries)
    goal = (
        f"Accuracy differs by less than {first.margin} points between patient groups (the "
        "benchmark's equivalence margin, a convention)."
    )
    test = "Paired comparison of counterfactual vignettes, with McNemar's test and intervals."
    data = f"{first.label}: {size:,} vignettes. {benchmark.description}"
    process = (
        f"Every figure is computed from the published answers of release {audit.release.name}; "
        "`fairstats verify` recomputes them. A declared benchmark fixes margin and tests."
    )
    results: list[tuple[str, Content]] = [
        ("MetricResult", [("Label", _markdown(label)), ("ValueJson", _json(value))])
        for label, value in _results(first)
    ]
    return [
        *_texts(("MetricGoal", goal)),
        ("Results", results or [("MetricResult", [("Label", NOT_STATED), ("ValueJson", "null")])]),
        *_texts(
            ("Interpretation", f"{_finding(first)} {finding_in_numbers(first)}"),
            ("TestType", test),
            ("TestingDataDescription", data),
            ("ValidationProcessAndJustification", process),
        ),
    ]


def _finding(answers: AnswerSet) -> str:
    return capital(finding(answers).removeprefix("Finding: "))


def _results(answers: AnswerSet) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each figure with its label: groups, attributes, then pairs."""
    kind = "range" if answers.ranges else f"{level(answers.release.alpha)} interval"
    for attribute in answers.benchmark.varied:
        for group in groups_of(answers, attribute):
            label = f"Accuracy, {attribute.label}: {group.label} ({kind})"
            limits = {"estimate": group.estimate, "low": group.low, "high": group.high}
            yield label, limits | {"answers": group.n, "missing": group.missing}
        for name, row in (
            ("Accuracy over all groups", overall_of(answers, attribute)),
            ("Impact ratio", impact_ratio_of(answers, attribute)),
        ):
            if row is not None:
                yield f"{name}, {attribute.label} ({kind})", _limits(row)
    for pair in answers.pairs:
        for metric, name in (
            ("accuracy_difference", "Accuracy difference"),
            ("accuracy_ratio", "Accuracy ratio"),
            ("cfr", "Share of pairs with the same answer"),
        ):
            if metric in pair.figures.index:
                value = _limits(pair.figures.loc[metric])
                if metric == "accuracy_difference":
                    p = pair.value("mcnemar", "p_adjusted")
                    value |= {"p_adjusted": p, "verdict": pair.verdict}
                yield f"{name}, {pair.label} ({kind})", value


def _limits(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"estimate": row["estimate"], "low": row["ci_low"], "high": row["ci_high"]}


def _json(value: Mapping[str, Any]) -> str:
    """Return figures as JSON; it has neither NaN nor infinity."""
    known = {
        name: float(figure) if isinstance(figure, float) else figure
        for name, figure in value.items()
    }
    finite = {
        name: None if isinstance(figure, float) and not math.isfinite(figure) else figure
        for name, figure in known.items()
    }
    return json_line(finite)


def _markdown(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
