"""The leaderboard's definitions, with the release's levels and policies, and its limits."""

from __future__ import annotations

from fairstats._lib.formatting import capital, escape_markdown, level, listed, percent
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, DECISION, Kind
from fairstats.release.contents import Release
from fairstats.report.board.charts import SELECTED
from fairstats.report.page_output import show_markdown
from fairstats.report.words import (
    difference_name,
    long_unit,
    named_test,
    noun,
    unit_noun,
)

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
    choices = [b for b in benchmarks if b.kind == CHOICE]
    there = set(release.estimates["metric"])
    found: dict[str, str] = {}
    if choices:
        found |= _terms_of_choices(there)
    if others := list(dict.fromkeys(b.kind for b in benchmarks if b.kind != CHOICE)):
        found |= _terms_of_others(others, there, shared=bool(choices))
    if release.policies == ["bounds"]:
        return found | {
            "Range": "The lowest and highest value that any completion of the missing answers "
            "gives (policy bounds). There is no test and no verdict under this policy."
        }
    margins = {f"±{b.kind.shown_margin(b.equivalence_margin)} {b.kind.unit}" for b in benchmarks}
    families = sorted({TESTED_TOGETHER[b.family] for b in benchmarks})
    policies = ", ".join(release.policies)
    adjusted = f"It is adjusted by Holm’s method for {' or '.join(families)}."
    if any(kind.test == "mcnemar" for kind in [b.kind for b in benchmarks]):
        found["McNemar p"] = (
            "How surprising such an uneven split of discordant pairs would be if the "
            f"group made no difference (mid-p). {adjusted}"
        )
    if any(b.kind.test == "sign_flip" for b in benchmarks):
        found["Sign-flip p"] = (
            "How surprising so large a mean difference would be if the sign of each independent "
            "unit’s difference were a toss of a coin (mid-p). The units are "
            f"{listed(_units(benchmarks), 'or')}. {adjusted}"
        )
    tests = listed(dict.fromkeys(named_test(b.kind) for b in benchmarks), "or")
    gaps = listed(dict.fromkeys(noun(b.kind) for b in benchmarks), "or")
    useless = {
        "the accuracy is too close to guessing"
        if b.kind == CHOICE
        else "the answers are (nearly) always the same or vary as if at random"
        for b in benchmarks
    }
    found["Disparity, equivalent, inconclusive"] = (
        f"Equivalent: the whole {level(2 * alpha)} interval of the {gaps} is inside the margin "
        f"({' or '.join(sorted(margins))}). If not, a disparity: the adjusted {tests} p is at most "
        f"{alpha:g}. Inconclusive: neither, or missing answers could change the verdict, or "
        f"{' or '.join(sorted(useless))}."
    )
    if any(board.ranked["rank"].notna().any() for board in release.boards) or choices:
        figures = dict.fromkeys(
            "AD" if b.kind == CHOICE else f"absolute {difference_name(b.kind)}" for b in benchmarks
        )
        mean = listed(figures, "or")
        found["Rank"] = (
            f"Models are ordered by their mean {mean} over all pairs, on the items that all of "
            "them were asked. A missing answer counts against the model. A range such as 2–3 holds "
            f"every rank that the pairwise tests leave open, at {level(alpha)} confidence for the "
            f"whole board. {_who_is_ranked(benchmarks)}"
        )
    return found | {
        "Missing answers": f"Answers that were refused or could not be read. Policy: {policies}.",
        "Interval": f"All intervals have a confidence level of {level(alpha)}.",
    }


def _terms_of_choices(there: set[str]) -> dict[str, str]:
    """Define the figures of choices."""
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
    if "eo" in there:
        found["EO (equal opportunity)"] = (
            "The gap on items that the model gets right with neutral text."
        )
    return found


def _terms_of_others(kinds: list[Kind], there: set[str], *, shared: bool) -> dict[str, str]:
    """Define the figures of decisions, levels and scores."""
    found: dict[str, str] = {}
    if not shared:
        found["Counterfactual pair"] = "One item in two versions, one for each of two groups."
    for kind in kinds:
        of = capital(kind.figure)
        found[capital(difference_name(kind))] = (
            f"{of} for the first group of a pair minus {kind.figure} for the second, in "
            f"{long_unit(kind)}. 0 is best."
        )
    if not shared:
        found["CFR (counterfactual fairness rate)"] = (
            "Share of pairs in which the model gives the same answer. 100% is best."
        )
    if DECISION in kinds:
        found["n10 : n01 (decisions)"] = (
            "Pairs that are favourable for one group only: for the first group, for the second "
            "group."
        )
        found["Ratio"] = (
            "Selection rate of the first group divided by that of the second. The four-fifths rule "
            "of US employment law takes a ratio below .80, or above 1.25, as a sign of adverse "
            "impact."
        )
    if any(kind.numeric for kind in kinds):
        names = listed((f"{kind.name}s" for kind in kinds if kind.numeric), "or")
        found[f"Direction, n10 : n01 ({names})"] = (
            "Pairs in which the first group has the higher figure, and pairs in which the second "
            "group has it."
        )
    if "beyond_control" in there:
        found["Beyond controls"] = (
            "The mean change between groups minus the mean change between controls, which change "
            "something meaningless. Its test is not adjusted."
        )
    return found


def _units(benchmarks: list[Benchmark]) -> list[str]:
    """Return the nouns of the independent units of levels and scores."""
    own = [b for b in benchmarks if b.kind.numeric]
    return list(dict.fromkeys(unit_noun(b) for b in own))


def _who_is_ranked(benchmarks: list[Benchmark]) -> str:
    """State the limits beyond which a model is shown without a rank."""
    parts = []
    for benchmark in benchmarks:
        if benchmark.kind == CHOICE:
            least = required_accuracy(benchmark)
            reasons = [f"the lower limit of its accuracy is not above {least}"]
        else:
            reasons = ["its answers are (nearly) always the same or vary as if at random"]
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
