"""The leaderboard's definitions, with the release's levels and policies, and its limits."""

from __future__ import annotations

from fairstats._lib.formatting import escape_markdown, level, percent
from fairstats.benchmarks.declaration import Benchmark
from fairstats.release.contents import Release
from fairstats.report.board_charts import SELECTED
from fairstats.report.page_output import show_markdown

#: The tests that a benchmark's `family` adjusts together.
TESTED_TOGETHER = {
    "model": "the pairs of one answer set",
    "board": "all pairs of the board",
    "release": "all pairs of the release",
}


def show_terms(release: Release) -> None:
    """Define every figure of the boards."""
    entries = "\n\n".join(
        f"{escape_markdown(term)}\n:   {escape_markdown(text)}"
        for term, text in terms(release).items()
    )
    show_markdown(f"## What the terms mean\n\n::: terms\n{entries}\n:::")


def show_limits(release: Release) -> None:
    """State the limits of each benchmark's figures."""
    lines = []
    for benchmark in release.benchmarks.values():
        title = f"**{escape_markdown(benchmark.title)}.** " if len(release.benchmarks) > 1 else ""
        lines += [f"- {title}{escape_markdown(note)}" for note in _notes(benchmark)]
    if lines:
        text = "\n".join(lines)
        show_markdown(f"## What these figures cannot show\n\n::: limits\n{text}\n:::")


def _notes(benchmark: Benchmark) -> list[str]:
    """Return the benchmark's notes, except the one above the first figure."""
    notes = [note for note in benchmark.notes if note != benchmark.read_first]
    notes += [
        f"{SELECTED} {model} was used to select the items: {how}. It is shown but not ranked, and "
        "related models may look worse too."
        for model, how in benchmark.selected_on.items()
    ]
    return notes


def terms(release: Release) -> dict[str, str]:
    """Define the terms of the boards, as plain text.

    Parameters
    ----------
    release : Release
        Gives the confidence level, the policies for missing answers and the benchmarks' limits.
    """
    alpha, benchmarks = release.alpha, list(release.benchmarks.values())
    found = {
        "Counterfactual pair": "One item in two versions, one for each of two groups. The question "
        "and the correct answer are the same.",
        "Accuracy gap and AD (accuracy disparity)": "Accuracy for the first group of a pair minus "
        "accuracy for the second, in percentage points. 0 is best. The chart keeps the sign, AD "
        "drops it.",
        "CFR (counterfactual fairness rate)": "Share of pairs in which the model gives the same "
        "answer letter, right or wrong. 100% is best.",
        "Discordant pairs (n10 : n01)": "Pairs that the model gets right for one group only: for "
        "the first group, for the second group.",
        "Cohen’s h": "The gap on the arcsine scale, on which gaps at different accuracies can be "
        "compared.",
    }
    if (release.estimates["metric"] == "eo").any():
        found["EO (equal opportunity)"] = (
            "The gap on items that the model gets right with neutral text."
        )
    if release.policies == ["bounds"]:
        return found | {
            "Range": "The lowest and highest value that any completion of the missing answers "
            "gives (policy bounds). There is no test and no verdict under this policy."
        }
    margins = {f"±{100 * b.equivalence_margin:g} points" for b in benchmarks}
    families = sorted({TESTED_TOGETHER[b.family] for b in benchmarks})
    policies = ", ".join(release.policies)
    return found | {
        "McNemar p": "How surprising such an uneven split of discordant pairs would be if the "
        f"group made no difference (mid-p). It is adjusted by Holm’s method for "
        f"{' or '.join(families)}.",
        "Disparity, equivalent, inconclusive": f"Equivalent: the whole {level(2 * alpha)} interval "
        f"of the gap is inside the margin ({' or '.join(sorted(margins))}). If not, a disparity: "
        f"the adjusted McNemar p is at most {alpha:g}. Inconclusive: neither, or missing answers "
        "could change the verdict, or the accuracy is too close to guessing.",
        "Rank": "Models are ordered by their mean AD over all pairs, on the items that all of them "
        "were asked. A missing answer counts against the model. A range such as 2–3 holds every "
        f"rank that the pairwise tests leave open, at {level(alpha)} confidence for the whole "
        f"board. {_who_is_ranked(benchmarks)}",
        "Missing answers": f"Answers that were refused or could not be read. Policy: {policies}.",
        "Interval": f"All intervals have a confidence level of {level(alpha)}.",
    }


def _who_is_ranked(benchmarks: list[Benchmark]) -> str:
    """State the limits beyond which a model is shown without a rank."""
    parts = []
    for benchmark in benchmarks:
        reasons = [f"the lower limit of its accuracy is not above {required_accuracy(benchmark)}"]
        if benchmark.largest_missing < 1:
            share = percent(benchmark.largest_missing)
            reasons.insert(0, f"more than {share} of the answers to a pair are missing")
        if benchmark.same_variants_odds_ratio is not None:
            reasons.append("its answers change on other items than those of the other models")
        on = f" on {benchmark.title}" if len(benchmarks) > 1 else ""
        parts.append(f"A model is not ranked{on} if {', or '.join(reasons)}.")
    return " ".join(parts)


def required_accuracy(benchmark: Benchmark) -> str:
    """State the accuracy that a rank requires, compared with that of the best guess."""
    guess, declared = percent(benchmark.chance), benchmark.lowest_accuracy
    if declared is None:
        return f"{guess} (the best guess)"
    compared = (
        "which is below the best guess," if declared < benchmark.chance else "the best guess:"
    )
    return f"{percent(declared)} (declared; {compared} {guess})"
