"""The leaderboard's definitions, with the release's levels and policies, and its limits."""

from __future__ import annotations

from fairstats._lib.formatting import capital, escape_markdown, level, listed, percent, quoted
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE, DECISION, Kind
from fairstats.metrics.registry import SAMPLE_METRICS
from fairstats.release.contents import Release
from fairstats.report.board.charts import SELECTED
from fairstats.report.page_output import show_markdown
from fairstats.report.tables import texts_in
from fairstats.report.words import (
    but_crossed,
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
_GUESSING = "the accuracy is too close to guessing"
_SAME = "answers are (nearly) always the same, or agree between the groups no better than by chance"


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
        f"{SELECTED} {quoted(model)} was used to select the items: {how}. It is shown but not "
        "ranked, and related models may look worse too."
        for model, how in benchmark.selected_on.items()
    ]
    return notes


def terms(release: Release) -> dict[str, str]:
    """Define the terms of the boards, as plain text."""
    facts, values = _facts(release), _values(release)
    others = [kind for kind in _kinds(release) if kind != CHOICE]
    return {
        entry["term"].format_map(own): entry["text"].format_map(own)
        for entry in texts_in("board/terms")["terms"]
        if facts[entry["if"]]
        for own in (map(_words_of, others) if entry["if"] == "others" else [values])
    }


def _kinds(release: Release) -> list[Kind]:
    return list(dict.fromkeys(b.kind for b in release.benchmarks.values()))


def _words_of(kind: Kind) -> dict[str, str]:
    """Return the words for the difference of a kind of answers."""
    named, figure = capital(difference_name(kind)), kind.figure
    return {
        "difference": named, "Figure": capital(figure), "figure": figure, "unit": long_unit(kind)
    }  # fmt: skip


def _facts(release: Release) -> dict[str, bool]:
    """Return the facts on which terms depend."""
    kinds, there = _kinds(release), set(release.estimates["metric"])
    choices, tests = CHOICE in kinds, release.policies != ["bounds"]
    others = kinds != [CHOICE]
    ranked = any(board.ranked["rank"].notna().any() for board in release.boards)
    return {
        "choices": choices,
        "no_choices": not choices,
        "others": others,
        "opportunity": choices and "eo" in there,
        "decisions": DECISION in kinds,
        "numbers": any(kind.numeric for kind in kinds),
        "controls": others and "beyond_control" in there,
        "ranges": not tests,
        "tests": tests,
        "mcnemar": tests and any(kind.test == "mcnemar" for kind in kinds),
        "sign_flip": tests and any(kind.test == "sign_flip" for kind in kinds),
        "ranks": tests and (ranked or choices),
    }


def _values(release: Release) -> dict[str, str]:
    """Return what the definitions name: levels, margins, and words of every benchmark."""
    benchmarks, kinds = list(release.benchmarks.values()), _kinds(release)
    lists = {
        "numbers": [f"{kind.name}s" for kind in kinds if kind.numeric],
        "families": sorted({TESTED_TOGETHER[b.family] for b in benchmarks}),
        "units": [unit_noun(b) for b in benchmarks if b.kind.numeric],
        "gaps": map(noun, kinds),
        "tests": map(named_test, kinds),
        "margins": sorted({f"±{b.kind.shown_margin(b.equivalence_margin)}" for b in benchmarks}),
        "useless": sorted({_GUESSING if kind == CHOICE else f"the {_SAME}" for kind in kinds}),
        "sizes": ["AD" if k == CHOICE else f"absolute {difference_name(k)}" for k in kinds],
    }
    words = {name: listed(dict.fromkeys(own), "or") for name, own in lists.items()}
    sampled = release.estimates["metric"].isin([one.name for one in SAMPLE_METRICS]).any()
    roomy = sampled or any(b.kind.numeric or b.cluster for b in benchmarks)
    return words | {
        "room": ", with room for rare items that differ as far as possible" if roomy else "",
        "alpha": f"{release.alpha:g}",
        "level": level(release.alpha),
        "equivalence": level(2 * release.alpha),
        "policies": ", ".join(release.policies),
        "but_crossed": max(map(but_crossed, benchmarks)),
        "unranked": _who_is_ranked(benchmarks),
    }


def _who_is_ranked(benchmarks: list[Benchmark]) -> str:
    """State the limits beyond which a model is shown without a rank."""
    titles: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        if benchmark.kind == CHOICE:
            least = required_accuracy(benchmark)
            reasons = [f"the lower limit of its accuracy is not above {least}"]
        else:
            reasons = [f"its {_SAME}"]
        if benchmark.largest_missing < 1:
            share = percent(benchmark.largest_missing)
            reasons.insert(0, f"more than {share} of the answers to a pair are missing")
        if benchmark.same_variants_odds_ratio is not None:
            reasons.append("its answers change on other items than those of the other models")
        titles.setdefault(", or ".join(reasons), []).append(benchmark.title)
    return " ".join(
        f"A model is not ranked{f' on {listed(on)}' * (len(titles) > 1)} if {reasons}."
        for reasons, on in titles.items()
    )


def required_accuracy(benchmark: Benchmark) -> str:
    """State the accuracy that a rank requires, compared with that of the best guess."""
    guess, declared = percent(benchmark.chance), benchmark.lowest_accuracy
    if declared is None:
        return f"{guess} (the best guess)"
    return f"{percent(declared)} (declared; the best guess: {guess})"
