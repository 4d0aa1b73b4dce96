"""What the sections on vignettes say first, in a sentence or two; the figures stand in tables."""

from __future__ import annotations

import pandas as pd

from fairstats._lib.formatting import escape_markdown, p_value, percent, point_range, points
from fairstats.benchmarks.declaration import Benchmark
from fairstats.report.vignettes_tables import group_label, pair_label, pick

_OWN_TEXT = "leakage of the wrong option chosen, own text minus another's"
_WITHIN = "share remaining (within items)"


def leakage_sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """The pair whose groups differ most in what the added text brings in."""
    pairs = pick(rows, measure="leakage_overlap", quantity="advantage difference")
    pairs = pairs[pairs["estimate"].notna()]
    if pairs.empty:
        return "No variant adds text whose words could be held against the options."
    most = pairs.loc[pairs["estimate"].abs().idxmax()]
    attribute = str(most["attribute"])
    parts = []
    for group in (str(most["group_a"]), str(most["group_b"])):
        own = pick(rows, measure="leakage_overlap", attribute=attribute, group_a=group, group_b="")
        values = own.set_index("quantity")["estimate"]
        label = escape_markdown(group_label(benchmark, attribute, group))
        parts.append(
            f"for *{label}* {percent(values['key'])} of the key's words and "
            f"{percent(values['distractors'])} of a distractor's"
        )
    return (
        f"The text that was added brings in words of the options: {parts[0]}; {parts[1]}. The "
        f"key's advantage differs by {points(most['estimate'])} points between the two "
        f"({point_range(most['ci_low'], most['ci_high'])})"
        + (", the largest difference of all pairs." if len(pairs) > 1 else ".")
    )


def followed_sentence(rows: pd.DataFrame) -> str:
    """Which versions' wrong answers follow the text that was measured."""
    own = pick(rows, quantity=_OWN_TEXT, model="", measure="leakage_overlap")
    own = own[own["estimate"].notna()]
    if own.empty:
        return ""
    said = [
        f"answers to *{escape_markdown(row['benchmark_version'])}* "
        f"{points(row['estimate'])} points "
        f"({point_range(row['ci_low'], row['ci_high'])}; {p_value(row['p_value'])})"
        for row in own.to_dict("records")
    ]
    return (
        "Where a model is wrong on two variants of an item: how much more of its choice's words "
        "does the text bring in that it read, than the other? "
        + "; ".join(said).replace("answers", "Answers", 1)
        + ". Were the text that was measured not the one that was read, this would be 0 on average."
    )


def remaining_sentence(rows: pd.DataFrame) -> str:
    """What share of the differences remains, and of which version."""
    own = pick(rows, quantity=_WITHIN, measure="leakage_overlap")
    own = own[own["estimate"].notna()]
    if own.empty:
        return ""
    versions = ", ".join(map(escape_markdown, sorted(own["benchmark_version"].unique())))
    least, most = own["estimate"].min(), own["estimate"].max()
    above = (
        " A share above 100% is no effect of leakage: hints were placed where models were hard to "
        "move, so that among items leakage stands for difficulty. These measures do not account "
        "for the disparity, and with these items it cannot be told what leakage does to it."
        if most > 1
        else ""
    )
    return (
        f"Of the answers to *{versions}*, between {percent(least)} and {percent(most)} of a "
        "difference in accuracy remain at equal leakage of words, by model, strategy and pair."
        + above
    )


def content_sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """How many variants ask the item's question, where some do not."""
    asks = pick(rows, measure="question_asked")
    pairs = asks[(asks["group_b"] != "") & asks["estimate"].notna()]
    shares = asks[(asks["group_b"] == "")].set_index(["attribute", "group_a"])["estimate"]
    if pairs.empty or shares.ge(1).all():
        return ""
    most = pairs.loc[pairs["estimate"].abs().idxmax()]
    groups = [
        f"{percent(shares[most['attribute'], group])} of the variants for "
        f"*{escape_markdown(group_label(benchmark, most['attribute'], group))}*"
        for group in (most["group_a"], most["group_b"])
    ]
    return (
        f"**Not every variant asks a question.** Where the neutralized vignette asks one, "
        f"{groups[0]} and {groups[1]} do, a difference of {points(most['estimate'])} points "
        f"({point_range(most['ci_low'], most['ci_high'])}). Whoever asks such a variant with its "
        "options alone leaves it open what is asked."
    )


def variant_sets_sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Why there is no verdict, if the benchmark does not declare what separates the verdicts."""
    if rows.empty or benchmark.same_variants_odds_ratio is not None:
        return ""
    return (
        "**No verdict.** How many flips two models share depends on how the variants were written. "
        "The benchmark does not declare from which odds ratio on two answer sets are taken to be "
        "of the same variants (`same_variants_odds_ratio`), so the figures are given without a "
        "verdict."
    )


def items_sentence(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """What selection left behind."""
    own = pick(rows, measure="selection", quantity="selecting model minus others")
    own = own[own["estimate"].notna()]
    if own.empty:
        return ""
    most = own.loc[own["estimate"].abs().idxmax()]
    return (
        f"**Selection.** {escape_markdown(most['model'])} took part in selecting the items: its "
        f"accuracy difference is {points(most['estimate'])} points larger than that of the others "
        f"({point_range(most['ci_low'], most['ci_high'])}; "
        f"{escape_markdown(pair_label(benchmark, most.to_dict()))})."
    )
