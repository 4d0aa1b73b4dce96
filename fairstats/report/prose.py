"""Sentences whose figures come from the estimates."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import (
    escape_markdown,
    level,
    number_word,
    percent,
    point_range,
    points,
)
from fairstats._lib.safe_names import named_in
from fairstats.benchmarks.declaration import Benchmark
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN
from fairstats.release.contents import Board, Release


def board_title(board: Board) -> str:
    """The board's heading: benchmark, version and strategy."""
    description = board.benchmark.versions.get(board.version, board.version)
    return escape_markdown(f"{board.benchmark.title}: {description}, {board.strategy} strategy")


def board_caption(board: Board, release: Release) -> str:
    """What a board's table holds, in plain text."""
    items = len(board.benchmark.answer_keys)
    return (
        f"{board.benchmark.title}, version {board.version}, strategy {board.strategy}: {items:,} "
        f"vignettes. Differences nearer 0 are better, higher accuracy is better ↑; ranges are "
        f"{_limits(release)}."
    )


def _limits(release: Release) -> str:
    if release.policies == ["bounds"]:
        return "the lowest and highest value over all fill-ins of the missing answers"
    return f"{level(release.alpha)} intervals"


def board_summary(board: Board, release: Release) -> str:
    """What the board shows, in two or three sentences."""
    judged = board.estimates[
        ~named_in(board.estimates["model"], board.benchmark.selected_on)
        & board.estimates["attribute"].isin([a.name for a in board.benchmark.varied])
    ]
    models = judged["model"].nunique()
    if models == 0:
        return "Every model here took part in selecting the items: the figures say nothing of it."
    ranked = set(board.ranked["model"])
    if ranked:
        # A model that refuses or guesses must not set the range of the board.
        judged = judged[judged["model"].isin(ranked)]
        models = len(ranked)
    items = len(board.benchmark.answer_keys)
    attributes = judged["attribute"].nunique()
    kind = "ranked " if ranked and board.why_unranked else ""
    subject = f"{number_word(models)} {kind}model{'s' if models > 1 else ''}".capitalize()
    text = _who_leads(board, release) + (
        f"{subject}, {number_word(items)} vignettes, each told for the groups of "
        f"{number_word(attributes)} attribute{'s' if attributes > 1 else ''}."
    )
    differences = judged[judged["metric"] == "accuracy_difference"]
    same = _extremes(judged[judged["metric"] == "cfr"])
    known = _extremes(differences)
    if same and known:
        least, most = 100 * (1 - same[1]), 100 * (1 - same[0])
        text += (
            f" Between two tellings {_span(f'{least:.0f}', f'{most:.0f}')} answers in 100 change; "
            f"accuracy for the privileged telling less that for the other is "
            f"{_span(points(known[0]), points(known[1]))} points."
        )
    verdicts = differences["verdict"].value_counts()
    counted = [
        f"{name} {number_word(int(verdicts[name]))} time{'s' if verdicts[name] > 1 else ''}"
        for name in (SHOWN, EQUIVALENT, INCONCLUSIVE)
        if name in verdicts
    ]
    if counted:
        margin = points(board.benchmark.equivalence_margin, signed=False)
        text += (
            f" Of {number_word(len(differences))} comparison"
            f"{'s' if len(differences) > 1 else ''} at a margin of {margin} points: "
            f"{', '.join(counted)}."
        )
    return escape_markdown(text)


def _who_leads(board: Board, release: Release) -> str:
    """Name the models that may be the best, and how many have no rank."""
    ranked, unranked = board.ranked, len(board.why_unranked)
    text = ""
    if len(ranked) > 1:
        best = ranked[ranked["may_be_best"].astype(bool)]
        sure = f"{level(release.alpha)} confidence"
        if len(best) == len(ranked):
            text = f"Any of the {number_word(len(best))} ranked models may be the best ({sure}). "
        elif len(best) == 1:
            text = f"{best['model'].iloc[0]} has the smallest differences ({sure}). "
        else:
            text = f"{_and(list(best['model']))} may have the smallest differences ({sure}). "
        text += f"On average over the attributes they are {_size(board, best)}. "
    elif unranked and ranked.empty:
        text = "No model is ranked; the reason is given with each name. "
        return text
    if unranked:
        models = f"model{'s' if unranked > 1 else ''}"
        is_not = "are" if unranked > 1 else "is"
        text += f"{number_word(unranked).capitalize()} {models} {is_not} not ranked. "
    return text


def _size(board: Board, best: pd.DataFrame) -> str:
    """The mean differences of the best models, with those that missing answers could hide."""
    means, worst = best["estimate"], best["least_favourable"]
    size = _span(*(points(value, signed=False) for value in (means.min(), means.max())))
    hidden = worst > means
    if not any(points(a) != points(b) for a, b in zip(means[hidden], worst[hidden], strict=True)):
        return f"{size} points"
    # A model that refuses makes its own figure small; its rank follows the other one.
    counted = set(board.estimates["missing"]) == {"incorrect"}
    given = "if missing answers are counted as wrong" if counted else "on the given answers"
    most, against = points(worst.max(), signed=False), "it" if len(best) == 1 else "them"
    return f"{size} points {given}, up to {most} if the missing answers were against {against}"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def model_summary(release: Release, model: str) -> str:
    """What is said of one model: its first answer set in two sentences, then the others."""
    first, *others = [
        _set_summary(release, board, model) for board in release.boards if model in board.models
    ]
    text = f"::: lede\n{escape_markdown(first)}\n:::"
    if others:
        text += "\n\nAlso asked:\n\n" + "\n".join(f"- {escape_markdown(o)}" for o in others)
    return text


def _set_summary(release: Release, board: Board, model: str) -> str:
    """One answer set in two sentences: what differs, and what is said of it."""
    rows = board.estimates[
        (board.estimates["model"] == model)
        & board.estimates["attribute"].isin([a.name for a in board.benchmark.varied])
    ]
    differences = rows[rows["metric"] == "accuracy_difference"]
    same = rows[rows["metric"] == "cfr"]["estimate"]
    where = f"{board.benchmark.title}, {board.version}, {board.strategy}"
    # Of what is known in part only, neither the largest nor the least can be named.
    if differences.empty or differences["estimate"].isna().any() or same.isna().any():
        return f"{where}: not every figure is known as one number; see the table."
    largest = differences.loc[differences["estimate"].abs().idxmax()]
    attribute = board.benchmark.attributes[largest["attribute"]]
    limits = f"{level(release.alpha)} interval " + point_range(
        largest["ci_low"], largest["ci_high"]
    )
    if largest["ci_method"] == "bounds":
        limits = "whatever the missing answers were"
    text = (
        f"{where}: {_span(percent(same.min()), percent(same.max()))} of the pairs get the same "
        f"answer, and the largest accuracy difference is {points(largest['estimate'])} points "
        f"({attribute.pair_label((largest['group_a'], largest['group_b']))}, {limits})."
    )
    if model in board.benchmark.selected_on:
        return (
            f"{text} {model} took part in selecting the items "
            f"({board.benchmark.selected_on[model]}): these figures say nothing of its bias."
        )
    if model in board.why_unranked:
        text += f" It is not ranked: {board.why_unranked[model]}."
    margin = points(board.benchmark.equivalence_margin, signed=False)
    verdicts = differences["verdict"].value_counts()
    counted = [f"{name} in {number_word(int(count))}" for name, count in verdicts.items()] or [
        "no verdict is given"
    ]
    return (
        f"{text} Of {number_word(len(differences))} comparison{'s' * (len(differences) > 1)} at a "
        f"margin of {margin} points: {', '.join(counted)}."
    )


def reading_notes(benchmark: Benchmark) -> str:
    """What a reader of this benchmark's figures has to know, as a list."""
    return "\n".join(f"- {escape_markdown(note)}" for note in benchmark.notes)


def ranges(release: Release) -> str:
    """What the limits beside the release's figures are."""
    if release.policies == ["bounds"]:
        return "its lowest and highest value over all fill-ins of the missing answers"
    return f"its {level(release.alpha)} interval"


def how_to_read(release: Release) -> str:
    """What the signs of the board mean, with this release's levels and policies."""
    alpha = release.alpha
    verdicts = (
        "No verdict is given under this policy. "
        if release.policies == ["bounds"]
        else f"● equivalent: the {level(2 * alpha)} interval lies inside the margin, even if the "
        "difference is not 0. ▲ disparity: not equivalent, and McNemar's mid-p is at most "
        f"{alpha:g}, Holm-adjusted over {_tested_together(release)}. ○ inconclusive: neither, or "
        "missing answers could change the verdict, or the model's accuracy is too low; "
        "the reason is given in the cell. "
    )
    return (
        "**How to read it.** A difference is the accuracy of the privileged telling (the group "
        "named first) less that of the other, in points; *same* is the counterfactual fairness "
        f"rate, the share of pairs that get the same letter; the "
        f"range beside a figure is {ranges(release)}. The shaded band is the "
        "margin inside which a difference counts as equivalent. "
        f"{verdicts}◆ marks a model that took part in selecting the items: "
        "it is listed without a rank. ◇ marks figures as a paper printed them (AD is the "
        "difference without its sign): nobody released the answers, so that nothing can be "
        "computed. Models are ranked by the mean absolute difference over the attributes, smallest "
        "first, on the items that all of them were asked. A missing answer counts against the "
        "model. A rank such as 2–3 is the range of ranks that the comparisons leave possible; all "
        f"ranges of a board hold together at {level(alpha)} confidence. {_listed(release)}"
        f"Missing answers: policy {', '.join(f'`{policy}`' for policy in release.policies)}."
    )


def _tested_together(release: Release) -> str:
    """Name the family of tests that the release's benchmarks declare."""
    families = sorted({benchmark.family for benchmark in release.benchmarks.values()})
    return " or ".join(_TESTED_TOGETHER[family] for family in families)


_TESTED_TOGETHER = {
    "model": "the pairs of one answer set",
    "board": "all pairs of the board",
    "release": "all pairs of the release",
}


def _listed(release: Release) -> str:
    """State who is listed without a rank, by the limits that each benchmark declares."""
    several = len(release.benchmarks) > 1
    text = ""
    for benchmark in release.benchmarks.values():
        where = f" on {benchmark.title}" if several else ""
        reasons = [f"the lower limit of its accuracy is not above {_required_accuracy(benchmark)}"]
        if benchmark.largest_missing < 1:
            share = percent(benchmark.largest_missing)
            reasons.insert(0, f"more than {share} of its answers to a pair's groups are missing")
        if benchmark.same_variants_odds_ratio is not None:
            reasons.append("its answers change on other items than those of the other models")
        text += f"A model is listed without a rank{where} if {', or '.join(reasons)}. "
    return escape_markdown(text)


def _required_accuracy(benchmark: Benchmark) -> str:
    """The accuracy that a rank requires, compared with that of the best guess."""
    guess, declared = percent(benchmark.chance), benchmark.lowest_accuracy
    if declared is None:
        return f"{guess} (the best guess)"
    compared = (
        "which is below the best guess," if declared < benchmark.chance else "the best guess:"
    )
    return f"{percent(declared)} (declared; {compared} {guess})"


def how_to_read_changes(release: Release) -> str:
    """Explain the words of a table of changes, with this release's level."""
    if release.policies == ["bounds"]:
        return (
            "**How to read it.** A range holds every change that the missing answers allow. "
            "This policy gives no test and no verdict."
        )
    alpha = f"{release.alpha:g}"
    families = sorted({benchmark.family for benchmark in release.benchmarks.values()})
    named = " or ".join(_FAMILIES[family] for family in families)
    return (
        "**How to read it.** *Better* and *worse* mark a figure with a significant change: its "
        f"Holm-adjusted p-value is at most {alpha}. ▲ win-win: accuracy and CFR are higher and AD "
        "is lower. ▼ lose-lose: all three changed for the worse. A pair's p-value is the largest "
        f"of its three, Holm-adjusted over the pairs of {named}. A verdict needs a p-value of at "
        f"most {alpha} and three intervals that exclude 0. Whatever the missing answers were, the "
        "three changes must keep their direction. The better model must also answer better than a "
        "guess. ○ not shown: at least one condition is not met. Answers to different questions "
        "are marked and get no verdict, because a change may come from the questions."
    )


#: What a benchmark's `family` adjusts together, in the words of the page.
_FAMILIES = {
    "model": "the comparison",
    "board": "all comparisons of the board",
    "release": "all comparisons of the release",
}


def benchmark_card(benchmark: Benchmark) -> str:
    """Where a benchmark comes from, in Markdown."""
    versions = "\n".join(
        f"    - {escape_markdown(f'{name}: {text}')}" for name, text in benchmark.versions.items()
    )
    selected = "; ".join(f"{model} ({how})" for model, how in benchmark.selected_on.items())
    selected = escape_markdown(selected or "none")
    margin = points(benchmark.equivalence_margin, signed=False)
    lines = [
        f"- **Items**: {len(benchmark.answer_keys):,}, options {', '.join(benchmark.options)}",
        f"- **Variants of an item**: {len(benchmark.variants)}",
        f"- **Attributes**: {escape_markdown(_attributes(benchmark))}",
        f"- **Versions**:\n{versions}",
        f"- **Missing answers**: policy `{benchmark.missing}`",
        f"- **Equivalence margin**: {margin} points",
        f"- **Tests adjusted together**: {_TESTED_TOGETHER[benchmark.family]}",
        f"- **Ranked models**: at most {percent(benchmark.largest_missing)} of the answers to a "
        "pair's groups missing; lower limit of accuracy above "
        f"{escape_markdown(_required_accuracy(benchmark))}",
        f"- **Items that all ranked models must share**: {percent(benchmark.common_items)}",
        f"- **Models that took part in selecting the items**: {selected}",
        f"- **Source**: {escape_markdown(', '.join(benchmark.sources))}",
        f"- **Licence**: {escape_markdown(benchmark.licence)}",
        f"- **Cite**: {escape_markdown(benchmark.citation)}",
    ]
    return f"{escape_markdown(benchmark.description)}\n\n" + "\n".join(lines)


def _attributes(benchmark: Benchmark) -> str:
    """Each attribute with its pairs, the privileged group first."""
    return "; ".join(
        f"{attribute.label} ({', '.join(attribute.pair_label(pair) for pair in attribute.pairs)})"
        for attribute in benchmark.attributes.values()
    )


def citation(release: Release) -> str:
    """How to cite a release, and the benchmarks that its answers are to, in Markdown."""
    year = release.created_at.year
    own = (
        f"fairstats, release {release.name} ({year}). Estimates made with fairstats "
        f"{release.manifest['fairstats']}; sha256 of the answers: "
        f"{release.manifest['content']['answers']}."
    )
    cited = [own, *(benchmark.citation for benchmark in release.benchmarks.values())]
    return "\n".join(f"- {escape_markdown(text)}" for text in cited)


def _extremes(rows: pd.DataFrame) -> tuple[float, float] | None:
    """The lowest and highest figure; a figure that is a range counts with its limits."""
    ranged = rows["ci_method"] == "bounds"
    low = rows["estimate"].fillna(rows["ci_low"].where(ranged)).dropna()
    high = rows["estimate"].fillna(rows["ci_high"].where(ranged)).dropna()
    return (float(low.min()), float(high.max())) if len(low) else None


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def kicker(release: Release) -> str:
    """The line above a page's title."""
    titles = sorted({benchmark.title for benchmark in release.benchmarks.values()})
    day = pd.Timestamp(release.manifest["created_at"]).date()
    return escape_markdown(f"{', '.join(titles)} · release {release.name} · {day}")
