"""Whether the two sides of a comparison were asked the same, and under the same conditions."""

from __future__ import annotations

from fairstats._lib.formatting import quoted
from fairstats._lib.model_names import names_model, snapshot_key, snapshots_in
from fairstats._lib.problems import input_error, keyword
from fairstats.benchmarks.declaration import MissingPolicy
from fairstats.comparisons.change_verdicts import AnswerSet
from fairstats.counts.grid import NOT_ASKED
from fairstats.counts.settings import PROMPT, different_settings
from fairstats.estimates.eligibility import SELECTED
from fairstats.estimates.same_variants import DIFFERENT, SAME, flip_marks, same_flips


def different_questions(old: AnswerSet, new: AnswerSet, allowed: bool) -> str:
    """Refuse answers to different questions, or return a note on the difference."""
    names = [side.unit["benchmark"] for side in (old, new)]
    if names[0] != names[1]:
        value, remedy = " and ".join(names), "compare answers to the same benchmark"
        raise input_error("<new>", "different benchmarks", remedy, column="benchmark", value=value)
    versions = [side.unit["benchmark_version"] for side in (old, new)]
    if versions[0] == versions[1]:
        return ""
    value = " and ".join(versions)
    if not allowed:
        raise input_error(
            "<new>",
            "the two versions of the benchmark have different questions",
            f"compare answers to the same version, or set {keyword('allow_different_items', True)}",
            column="benchmark_version",
            value=value,
        )
    return f"different questions: benchmark versions {value}"


def different_items(old: AnswerSet, new: AnswerSet, allowed: bool) -> str:
    """Refuse answers to different items, or return a note on the difference."""
    alone = [old.asked - new.asked, new.asked - old.asked]
    if not any(alone):
        return ""
    found = ", ".join(
        f"{len({item for _, item in own})}{' items' * (place == 0)} only for "
        f"{quoted(side.unit['model'])}"
        for place, (own, side) in enumerate(zip(alone, (old, new), strict=True))
    )
    if not allowed:
        raise input_error(
            "<new>",
            f"the models answered different items: {found}",
            f"keep only the shared items, or set {keyword('allow_different_items', True)}",
            column="item_id",
            value=", ".join(sorted({item for own in alone for _, item in own})[:3]),
        )
    return f"different items: {found}"


def unlike_settings(old: AnswerSet, new: AnswerSet) -> str:
    """Return a note on the settings in which two answer sets differ; empty if none does.

    Snapshots differ between models, and prompts between strategies and between items.
    """
    skip, sides = [], (old, new)
    if old.unit["model"] != new.unit["model"]:
        skip.append("snapshot")
    if old.unit["strategy"] != new.unit["strategy"] or old.asked != new.asked:
        skip.append(PROMPT)
    values = [dict(side.settings.values) for side in sides]
    for own, side in zip(values, sides, strict=True):
        asked = (side.grid.answers != NOT_ASKED).sum(axis=2)
        own["samples"] = (str(asked.max(initial=0)),)
    return different_settings(*values, skip=skip)


def same_snapshot(old: AnswerSet, new: AnswerSet) -> str:
    """Return why one is no newer version: both state a snapshot. Empty if they share none.

    Two models may both state a text that names no model, such as a date.
    """
    models = [side.unit["model"] for side in (old, new)]
    stated = [
        {snapshot_key(one): one for text in own for one in snapshots_in(text)}
        for own in (side.settings.values.get("snapshot", ()) for side in (old, new))
    ]
    both = [one for key, one in stated[1].items() if key in stated[0]]
    if models[0] != models[1]:
        both = [one for one in both if names_model(one, models)]
    return f"both state snapshot {quoted(*both)}: no newer version" if both else ""


def shown_by_flips(old: AnswerSet, new: AnswerSet, policy: MissingPolicy, alpha: float) -> str:
    """Return a sentence on what the flips show about the versions, or an empty text.

    Flips are judged for one declared version too, but reported only if they contradict it. They are
    not judged if the benchmark declares no ``same_variants_odds_ratio``.
    """
    benchmark = old.grid.benchmark
    versions = [side.unit["benchmark_version"] for side in (old, new)]
    undeclared = [v for v in dict.fromkeys(versions) if v not in benchmark.versions]
    smallest = benchmark.same_variants_odds_ratio
    if smallest is None:
        return f"{benchmark.name} does not declare {', '.join(undeclared)}" if undeclared else ""
    flips = (flip_marks(side.grid, policy) for side in (old, new))
    found = same_flips(*flips, smallest_same=smallest, alpha=alpha)
    if versions[0] == versions[1] and not undeclared:
        if found.verdict != DIFFERENT:
            return ""
        return f"the same version is declared; judged by changes of answer: {found.sentence()}"
    declared = f"{benchmark.name} does not declare {', '.join(undeclared)}; " if undeclared else ""
    return f"{declared}judged by changes of answer: {found.sentence()}"


def why_no_verdict(old: AnswerSet, new: AnswerSet, questions: str, flips: str) -> str:
    """Return why a comparison gets no verdict; empty if it can get one."""
    sides = old, new
    if any(side.grid.selecting[side.place] for side in sides):
        return f"a {SELECTED}"
    for side in sides:
        if mixed := side.settings.mixed:
            return str(mixed)
    if questions:
        return "the questions are different"
    declared = (side.unit["benchmark_version"] in side.grid.benchmark.versions for side in sides)
    if not all(declared) and SAME not in flips:
        return "the benchmark does not declare the version"
    if DIFFERENT in flips:
        return "the changes of answer contradict the declared version"
    if any(new.units.get(item, unit) != unit for item, unit in old.units.items()):
        return "items are in other clusters in the answers of the other model"
    return ""
