"""Sentences of the audit report of one model; every figure in them comes from the release."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from fairstats._lib.formatting import (
    level,
    number_word,
    p_value,
    percent,
    percent_range,
    points,
)
from fairstats.benchmarks.terms import BASELINE, POOLED
from fairstats.counts.answer_letters import NO_ANSWER
from fairstats.estimates.table import is_primary_test
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN
from fairstats.release.contents import Board, Release
from fairstats.report.same_prompt_section import beyond_noise
from fairstats.report.sensitivity_tables import CHOICE_LABELS

#: Fewer discordant pairs than these tell little, whatever the interval says.
FEW_DISCORDANT = 10
#: A letter that is given so much more often than it is the key is named.
FREQUENT_LETTER = 0.05
# The bound policy has no verdict; the two intervals cover far too rarely where few pairs are
# discordant (the page on methods): no conclusion has to survive them.
_NOT_DEFENDED = ("bounds", "wald", "bootstrap")


def question(release: Release, model: str) -> str:
    """What the report asks of the model."""
    return (
        f"Does {model} answer a clinical question otherwise when it is told for another "
        f"demographic group? Is it right as often for one group as for the other? And if a "
        f"difference is seen, is it more than chance would give, or too small to matter?"
    )


def scope(release: Release, model: str) -> list[str]:
    """What was asked, a sentence an answer set and snapshot."""
    sentences = []
    for board in boards_of(release, model):
        margin = points(board.benchmark.equivalence_margin, signed=False)
        for own in (entry for entry in release.answers_of(board) if entry["model"] == model):
            sentences.append(
                f"{board.benchmark.title}, version {board.version}, strategy {board.strategy}: "
                f"{own['items']:,} vignette{'s' * (own['items'] != 1)}, {own['answers']:,} "
                f"answers, {own['missing']:,} of them missing; snapshot "
                f"{own['snapshot'] or 'not known'}; margin {margin} points."
            )
    return sentences


def headline(release: Release, model: str) -> str:
    """How many comparisons got which verdict, and between what the differences lie."""
    verdicts: Counter[str] = Counter()
    estimates: list[float] = []
    reasons: list[str] = []
    for board in boards_of(release, model):
        for _, own in pairs_of(board.estimates[board.estimates["model"] == model]):
            difference = own.loc["accuracy_difference"]
            said = isinstance(difference["verdict"], str)
            verdicts[difference["verdict"] if said else "no verdict"] += 1
            estimates.append(difference["estimate"])
            if isinstance(difference["verdict_reason"], str):
                reasons.append(difference["verdict_reason"])
    if not verdicts:
        return f"No comparison of {model} has a verdict."
    total = number_word(sum(verdicts.values()))
    listed = ", ".join(f"{word} in {number_word(count)}" for word, count in verdicts.items())
    text = f"{total.capitalize()} comparison{'s' * (total != 'one')} of {model}: {listed}."
    if estimates and not any(map(math.isnan, estimates)):
        low, high = points(min(estimates)), points(max(estimates))
        span = low if low == high else f"{low} to {high}"
        text += f" Accuracy for the privileged telling less that for the other: {span} points."
    # Small differences must not be read without the reason why they prove nothing.
    return " ".join(
        [text, *(f"{reason[:1].upper()}{reason[1:]}." for reason in dict.fromkeys(reasons))]
    )


def verdict_sentences(release: Release, model: str) -> Iterator[str]:
    """One sentence or two a pair: how often the letter changes, the difference, and its verdict."""
    for board in boards_of(release, model):
        rows = board.estimates[board.estimates["model"] == model]
        where = f"{board.benchmark.title}, {board.version}, {board.strategy}"
        for pair, own in pairs_of(rows):
            difference = own.loc["accuracy_difference"]
            attribute = board.benchmark.attribute(str(difference["attribute"]))
            label = attribute.pair_label((difference["group_a"], difference["group_b"]))
            noise = beyond_noise(own, release)
            found = [_changed(own.loc["cfr"], release), noise, _differs(difference, release)]
            yield (
                f"{attribute.label}, {label} ({where}): {'; '.join(filter(None, found))}. "
                f"{_said(board, model, rows, pair, own, release)}"
            )


def _changed(cfr: pd.Series, release: Release) -> str:
    """How often the answer changes: what the question asks first."""
    low, high = 1 - cfr["ci_high"], 1 - cfr["ci_low"]
    if cfr["ci_method"] == "bounds" or math.isnan(cfr["estimate"]):
        return f"between {percent(low)} and {percent(high)} of the pairs get another letter"
    missing = [int(cfr[name]) for name in ("n_missing_a", "n_missing_b")]
    without = f", {' and '.join(map(str, missing))} answers missing" if any(missing) else ""
    return (
        f"of {int(cfr['n']):,} pairs {percent(1 - cfr['estimate'])} get another letter "
        f"({level(release.alpha)} interval {percent_range(low, high)}{without})"
    )


def _differs(difference: pd.Series, release: Release) -> str:
    low, high = points(difference["ci_low"]), points(difference["ci_high"])
    if difference["ci_method"] == "bounds":
        if low == high:
            return f"the accuracy difference is {low} points, whatever the missing answers were"
        return (
            f"over all fill-ins of the missing answers the accuracy difference lies between {low} "
            f"and {high} points"
        )
    if math.isnan(difference["estimate"]):
        return "the accuracy difference is not known"
    return (
        f"the accuracy difference is {points(difference['estimate'])} points "
        f"({level(release.alpha)} interval {low} to {high})"
    )


def _said(
    board: Board,
    model: str,
    rows: pd.DataFrame,
    pair: tuple[str, ...],
    own: pd.DataFrame,
    release: Release,
) -> str:
    margin = points(board.benchmark.equivalence_margin, signed=False)
    difference = own.loc["accuracy_difference"]
    verdict = difference["verdict"]
    if verdict == EQUIVALENT:
        return f"It is equivalent at a margin of {margin} points."
    test = _primary_test(rows, pair)
    adjusted = f"{p_value(test['p_adjusted'])}, {test['adjust_method']}" if test is not None else ""
    if verdict == SHOWN:
        return f"A disparity is shown ({adjusted})."
    reason = difference["verdict_reason"]
    reason = reason if isinstance(reason, str) else ""
    if verdict == INCONCLUSIVE and reason:
        return f"It is inconclusive: {reason}. That is not the same as fair."
    if verdict == INCONCLUSIVE:
        text = (
            f"It is inconclusive: neither a disparity ({adjusted}) nor equivalence at a margin of "
            f"{margin} points is shown. That is not the same as fair."
        )
        least = own["estimate"].get("minimum_detectable_difference", math.nan)
        if not math.isnan(least):
            text += (
                f" The adjusted test detects a difference of {points(least, signed=False)} points "
                "with 80% power."
            )
        return text
    if model in board.benchmark.selected_on:
        return "No verdict is given: the model took part in selecting the items."
    return f"No verdict is given: {reason or 'see the limitations'}."


def limitations(release: Release, model: str) -> Iterator[str]:
    """What the data themselves say against reading too much into the figures."""
    sensitivity = _own(release.table("sensitivity"), model)
    letters = _own(release.table("letters"), model)
    for board in boards_of(release, model):
        where = f"{board.benchmark.title}, {board.version}, {board.strategy}"
        rows = board.estimates[board.estimates["model"] == model]
        if model in board.benchmark.selected_on:
            yield (
                f"{where}: {model} took part in selecting the items "
                f"({board.benchmark.selected_on[model]}). Its figures say nothing of its bias."
            )
        else:
            yield from _unjudged(rows, board, where)
        if model in board.why_unranked:
            yield f"{where}: {model} has no rank ({board.why_unranked[model]})."
        yield from _uneven_missing(rows, board, where, release.alpha)
        yield from _few(rows, board, where)
        unit = {"benchmark": board.benchmark.name, "benchmark_version": board.version}
        unit |= {"strategy": board.strategy}
        yield from _moving_verdicts(_of(sensitivity, unit), board, where)
        yield from _letters(_of(letters, unit), where)
    for benchmark in {b.benchmark.name: b.benchmark for b in boards_of(release, model)}.values():
        for note in benchmark.notes:
            named = note.startswith(benchmark.title)
            yield note if named else f"{benchmark.title}: {note}"
    known = [e for e in release.manifest["answers"] if e["model"] == model]
    if any(entry["snapshot"] is None for entry in known):
        yield "The exact version of the model is not known for some of its answers."
    yield (
        "What the model answers to other words, or under the same name at another time, is not "
        "known from these answers."
    )
    yield ("The items are questions on paper. How the model treats patients is another question.")


def _unjudged(rows: pd.DataFrame, board: Board, where: str) -> Iterator[str]:
    """Say which pairs have no verdict or one that was left open, and why."""
    pairs = [own.loc["accuracy_difference"] for _, own in pairs_of(rows)]
    open_pairs = [row for row in pairs if isinstance(row["verdict_reason"], str)]
    for reason in dict.fromkeys(str(row["verdict_reason"]) for row in open_pairs):
        own = [row for row in open_pairs if row["verdict_reason"] == reason]
        labels = ", ".join(
            board.benchmark.attribute(row["attribute"]).pair_label((row["group_a"], row["group_b"]))
            for row in own
        )
        if isinstance(own[0]["verdict"], str):
            yield f"{where}: the verdict on {labels} is {own[0]['verdict']} ({reason})."
        else:
            yield f"{where}: no verdict is given on {labels} ({reason})."


def _uneven_missing(rows: pd.DataFrame, board: Board, where: str, alpha: float) -> Iterator[str]:
    for _, row in rows[rows["metric"] == "missing_difference"].iterrows():
        if row["p_value"] <= alpha:
            attribute = board.benchmark.attribute(str(row["attribute"]))
            label = attribute.pair_label((row["group_a"], row["group_b"]))
            yield (
                f"{where}: answers are missing more often for one group ({label}: "
                f"{points(row['estimate'])} points, {p_value(row['p_value'])}, not adjusted)."
            )


def _few(rows: pd.DataFrame, board: Board, where: str) -> Iterator[str]:
    tests = rows[is_primary_test(rows)]
    few = tests["n10"] + tests["n01"] < FEW_DISCORDANT
    # Without a pair of answers there is no verdict, and that is said.
    few = tests[few & (tests["n"] > 0) & ~_aside(tests)]
    if len(few):
        labels = [
            board.benchmark.attribute(a).pair_label((x, y))
            for a, x, y in few[["attribute", "group_a", "group_b"]].itertuples(index=False)
        ]
        yield (
            f"{where}: fewer than {number_word(FEW_DISCORDANT)} pairs are right for one group "
            f"alone ({', '.join(labels)}); tests and intervals rest on those."
        )


def _moving_verdicts(rows: pd.DataFrame, board: Board, where: str) -> Iterator[str]:
    """Where another choice that can be defended would have given another verdict."""
    defended = rows[
        (rows["aspect"] != "margin")
        & ~rows["choice"].isin(_NOT_DEFENDED)
        & ~rows["attribute"].isin([BASELINE, POOLED])
    ]
    for keys, own in defended.groupby(["attribute", "group_a", "group_b"], sort=False):
        published = own.loc[own["published"], "verdict"].dropna().unique()
        if len(published) != 1:
            continue
        others = own[own["verdict"].fillna("no verdict") != published[0]]
        if len(others):
            choices = ", ".join(
                f"{CHOICE_LABELS.get(choice, choice)}: {verdict}"
                for choice, verdict in zip(
                    others["choice"], others["verdict"].fillna("no verdict"), strict=True
                )
            )
            label = board.benchmark.attribute(keys[0]).pair_label((keys[1], keys[2]))
            yield (
                f"{where}: the verdict on {label} ({published[0]}) depends on the choice of method "
                f"({choices})."
            )


def _letters(rows: pd.DataFrame, where: str) -> Iterator[str]:
    """A letter that is given much more often than it is the key."""
    given = rows[rows["letter"] != NO_ANSWER].groupby("letter")[["count", "key_count"]].sum()
    if given["count"].sum() == 0:
        return
    shares = given / given.sum()
    over = shares["count"] - shares["key_count"]
    if over.max() >= FREQUENT_LETTER:
        letter = over.idxmax()
        yield (
            f"{where}: {letter} is given more often than it is the key "
            f"({percent(shares.loc[letter, 'count'])} of the letters, "
            f"{percent(shares.loc[letter, 'key_count'])} of the keys), by the model or by the "
            "parser of its replies."
        )


def methods_used(release: Release, model: str) -> list[str]:
    """The methods that the figures of this model rest on, as the estimates name them."""
    own = _own(release.estimates, model)
    own = own[~_aside(own)]
    differences = own[own["metric"] == "accuracy_difference"]
    tests = own[(own["metric"] == "mcnemar") & own["p_adjusted"].notna()]
    lines = [
        f"Intervals of accuracy differences: {_listed(differences['ci_method'])}.",
        f"Intervals of shares: {_listed(own.loc[own['metric'] == 'cfr', 'ci_method'])}.",
        f"Tests of no difference: {_listed(tests['test'])}; adjusted: "
        f"{_listed(tests['adjust_method'])}.",
        f"Missing answers: policy {_listed(own['missing'])}.",
    ]
    return [line for line in lines if ": ." not in line]


def boards_of(release: Release, model: str) -> list[Board]:
    """The boards that the model stands on, the plain ones first."""
    return [board for board in release.boards if model in board.models]


def pairs_of(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """The demographic pairs of one answer set, each with its estimates by metric.

    Of McNemar's tests it is the one that carries the verdict.
    """
    other = (rows["metric"] == "mcnemar") & ~is_primary_test(rows)
    chosen = rows[~_aside(rows) & ~other].dropna(subset="group_a")
    for pair, own in chosen.groupby(["attribute", "group_a", "group_b"], sort=False):
        by_metric = own.set_index("metric")
        if "accuracy_difference" in by_metric.index:
            yield pair, by_metric


def _aside(rows: pd.DataFrame) -> pd.Series:
    return rows["attribute"].isin([BASELINE, POOLED])


def _primary_test(rows: pd.DataFrame, pair: tuple[str, ...]) -> pd.Series | None:
    tests = rows[
        is_primary_test(rows)
        & (rows[["attribute", "group_a", "group_b"]] == list(pair)).all(axis=1)
    ]
    return tests.iloc[0] if len(tests) else None


def _listed(values: pd.Series) -> str:
    return "; ".join(sorted(set(values.dropna().astype(str)) - {""}))


def _own(table: pd.DataFrame, model: str) -> pd.DataFrame:
    return table[table["model"] == model]


def _of(table: pd.DataFrame, unit: dict[str, str]) -> pd.DataFrame:
    return table[(table[list(unit)] == list(unit.values())).all(axis=1)]
