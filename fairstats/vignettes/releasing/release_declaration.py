"""The declaration of a released benchmark: notes, and every model that took part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fairstats.benchmarks.declaration import BASELINE, NEUTRALIZED
from fairstats.vignettes.building.built_benchmark import Built
from fairstats.vignettes.review.decisions import ACCEPTED, EDITED
from fairstats.vignettes.review.rounds import Review
from fairstats.vignettes.rules.groups import ORIGINAL

#: The role of each stage's model in the selection.
_PART = {
    "filter": "decided which items were kept",
    "neutralize": "wrote neutral texts if the rules could not decide",
    "generate": "wrote the backgrounds",
    "fuse": "put the backgrounds into the vignettes",
}
_VALIDATED = {
    "as intended": "answered the variants; only variants with the intended answer were kept",
    "sound": "answered the variants; its answers were recorded but not used for selection",
}
_KEEP = {
    "as intended": "Only variants with the intended answer of the validation model were kept, so "
    "the items were selected to show a disparity.",
    "sound": "All variants that passed the structural checks were kept, whatever the validation "
    "model answered.",
}


def declaration(
    review: Review,
    version: str,
    released: Sequence[str],
    decided: pd.DataFrame | None,
    sources: Mapping[str, str],
) -> dict[str, Any]:
    """Return the content of the benchmark's file.

    Parameters
    ----------
    review : Review
        The review with its build.
    version : str
        The version of the set of variants.
    released : sequence of str
        The items.
    decided : pandas.DataFrame or None
        The reviewers' decisions; None without a review.
    sources : Mapping[str, str]
        The source files of the release, with their hashes.
    """
    built = review.built
    declared = built.declared
    made = f"{len(released)} of {source_items(built)} source items"
    notes = [_KEEP[declared["keep"]], *_directions(declared)]
    if decided is None:
        notes.insert(0, "NOT REVIEWED: the variants of these items have not been judged.")
        made += ", not reviewed"
    else:
        raters = {rater for one in review.rounds for _, rater in one.handed_out.key}
        own = decided[decided["item_id"].isin(released)]
        edited = int((own["decision"] == EDITED).sum())
        notes.append(
            f"{len(raters)} reviewers took part. Of the {len(own)} variants of these items they "
            f"accepted {int((own['decision'] == ACCEPTED).sum())} unchanged and {edited} edited."
        )
        made += ", reviewed"
    hashes = ", ".join(f"{name} (sha256 {sha})" for name, sha in sources.items())
    return {
        "name": built.name,
        "title": declared["title"] + ("" if decided is not None else " (not reviewed)"),
        "description": declared.get("description") or declared["title"],
        "options": list(declared["options"]),
        "items_file": f"{built.name}.jsonl",
        "missing": "available",
        "equivalence_margin": 0.02,
        "sources": [f"built with fairstats from {hashes}"],
        "licence": declared["licence"],
        "citation": declared["citation"],
        "notes": notes,
        "versions": {version: made},
        "selected_on": selected_on(declared),
        "attributes": {
            name: {key: one[key] for key in ("label", "groups", "pairs", "crosses", "levels")
                   if one.get(key)}
            for name, one in declared["attributes"].items()
        } | {BASELINE: _baseline()},
    }  # fmt: skip


def selected_on(declared: Mapping[str, Any]) -> dict[str, str]:
    """Return every model that affected which items were kept, with its role.

    Examples
    --------
    >>> agents = {stage: {"model": "m", "snapshot": "m-1"} for stage in ("generate", "fuse")}
    >>> selected_on({"keep": "sound", "agents": {"filter": {"model": "none"}, **agents}})
    {'m': 'wrote the backgrounds; put the backgrounds into the vignettes (m-1)'}
    """
    parts: dict[str, list[str]] = {}
    snapshots: dict[str, list[str]] = {}
    for stage, agent in declared["agents"].items():
        if not took_part(agent):
            continue
        model = agent["model"]
        part = _VALIDATED[declared["keep"]] if stage == "validate" else _PART.get(stage, stage)
        parts.setdefault(str(model), []).append(part)
        if agent.get("snapshot") and agent["snapshot"] not in snapshots.setdefault(str(model), []):
            snapshots[str(model)].append(str(agent["snapshot"]))
    return {
        model: "; ".join(own)
        + (f" ({', '.join(snapshots[model])})" if snapshots.get(model) else "")
        for model, own in parts.items()
    }


def is_substitution(declared: Mapping[str, Any]) -> bool:
    """Return whether only the words for a group were inserted, without a background."""
    return declared.get("generator") == "substitute"


def took_part(agent: Mapping[str, Any]) -> bool:
    """Return whether a stage has a model and queried it: a null endpoint was never queried."""
    asked = agent.get("endpoint", "unknown") is not None
    return agent.get("model") not in (None, "", "none") and asked


def _directions(declared: Mapping[str, Any]) -> list[str]:
    if is_substitution(declared):
        return ["Only the words for a group were inserted; no background was written."]
    wanted = [
        f"{attribute} {group}: {direction}"
        for attribute, groups in declared.get("directions", {}).items()
        for group, direction in groups.items()
    ]
    return [f"The backgrounds were requested in these directions: {'; '.join(wanted)}."] * bool(
        wanted
    )


def _baseline() -> dict[str, Any]:
    labels = {ORIGINAL: "Original", NEUTRALIZED: "Neutralized"}
    return {"label": "Baseline", "groups": labels, "pairs": [[ORIGINAL, NEUTRALIZED]]}


def source_items(built: Built) -> int:
    """Return the number of items at the start of the build."""
    return len({str(one["item_id"]) for one in built.filtered} | {*built.items})
