"""Show tables of retrieval-augmented answers, shaped like the study's tables 2 to 5."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import (
    escape_html,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats._lib.installation import resource
from fairstats.answers.strategies import read_strategy, strategy_label
from fairstats.benchmarks.declaration import PLAIN, POOLED, Benchmark
from fairstats.release.contents import Release
from fairstats.report.tables import breakable, written_table

if TYPE_CHECKING:
    from great_tables import GT

_DISPARITIES = {"dp": "DP", "eo": "EO"}
_OVERLAP = ["benchmark", "benchmark_version", "retriever", "top_k", "attribute", "measure"]
_KEYS = ["benchmark", "benchmark_version", "model", "strategy"]


def answer_sets(release: Release, name: str, version: str) -> pd.DataFrame:
    """List the answer sets of a benchmark version, with the parts of their strategies.

    Includes models with snippets in at least one set. Plain prompts come first, and sets without
    snippets before those with.
    """
    estimates = release.estimates
    own = estimates[(estimates["benchmark"] == name) & (estimates["benchmark_version"] == version)]
    sets = own[_KEYS].drop_duplicates()
    read = [read_strategy(str(strategy)) for strategy in sets["strategy"]]
    sets = sets.assign(
        prompt=[s.prompt for s in read],
        retriever=pd.Series([s.retriever for s in read], index=sets.index, dtype="str"),
        top_k=[s.top_k or 0 for s in read],
    )
    with_snippets = set(sets.loc[sets["retriever"].notna(), "model"])
    sets = sets[sets["model"].isin(with_snippets)]
    order = sets.assign(asked=sets["prompt"] != PLAIN, own=sets["retriever"].fillna(""))
    order = order.sort_values(["model", "asked", "prompt", "own", "top_k"])
    return sets.loc[order.index].reset_index(drop=True)


def scores_table(sets: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show score, overlap, DP and EO of each answer set, and the result of its majority vote.

    Parameters
    ----------
    sets : pandas.DataFrame
        `answer_sets` of one benchmark version.
    release : Release
        Holds the figures.
    name : str
        The table's id, unique on the page.
    """
    benchmark = release.benchmarks[str(sets["benchmark"].iloc[0])]
    votes = release.table("votes").set_index(_KEYS)
    ranges = release.estimates[release.estimates["metric"].isin(_DISPARITIES)]
    ranges = ranges.set_index([*_KEYS, "attribute", "metric"])
    overlap = release.table("overlap").set_index(_OVERLAP)["estimate"]
    rows = []
    for one in sets.to_dict("records"):
        key = tuple(one[column] for column in _KEYS)
        row = {
            "model": escape_html(breakable(one["model"])),
            "strategy": escape_html(_label(one)),
            "score": _score(votes.loc[key]) if key in votes.index else "",
            "vote": _vote(votes.loc[key]) if key in votes.index else "",
            "overlap": _overlap(overlap, one),
        }
        for attribute in benchmark.varied:
            for metric in _DISPARITIES:
                place = (*key, attribute.name, metric)
                row[f"{metric}-{attribute.name}"] = (
                    _range(ranges.loc[place]) if place in ranges.index else ""
                )
        rows.append(row)
    of_attributes = {
        metric: {f"{metric}-{a.name}": a.label for a in benchmark.varied} for metric in _DISPARITIES
    }
    labels = {"score": "Score, %", "vote": "Majority vote, %", "overlap": "Overlap, %"}
    for columns in of_attributes.values():
        labels |= columns
    table = written_table(
        rows,
        labels,
        name=name,
        stub="strategy",
        heading="Prompt and snippets",
        group="model",
        html=["model", "strategy", *labels],
    )
    for metric, columns in of_attributes.items():
        table = table.tab_spanner(f"{_DISPARITIES[metric]}, points", columns=list(columns))
    return table


def _label(one: dict[str, object]) -> str:
    if not isinstance(one["retriever"], str):
        return f"{strategy_label(str(one['prompt']))}, no snippets"
    return f"{strategy_label(str(one['prompt']))}, {one['retriever']}, k = {one['top_k']}"


def _score(row: pd.Series) -> str:
    limits = percent_range(row["score_low"], row["score_high"])
    return f"{_figure(row['score'], '')}<br><small>{limits}</small>"


def _vote(row: pd.Series) -> str:
    """Show right votes of votes with a result, and the number left open (mostly ties)."""
    decided = row["n_right"] + row["n_wrong"]
    counts = f"{row['n_right']:,} of {decided:,}"
    if undecided := row["n"] - decided:
        counts += f"; {undecided:,} open"
    return f"{_figure(row['accuracy_vote'], '')}<br><small>{counts}</small>"


def _figure(value: float, limits: str) -> str:
    if math.isnan(value):
        return "not known"
    return f"<strong>{100 * value:.1f}</strong>" + (f" <small>{limits}</small>" if limits else "")


def _overlap(overlap: pd.Series, one: dict[str, object]) -> str:
    if not isinstance(one["retriever"], str):
        return "–"
    place = (*(one[column] for column in _OVERLAP[:4]), POOLED, "iou")
    return f"{100 * overlap.loc[place]:.1f}" if place in overlap.index else "not known"


def _range(row: pd.Series) -> str:
    limits = f"{points(row['ci_low'], signed=False)}–{points(row['ci_high'], signed=False)}"
    if math.isnan(row["estimate"]):
        return f"<small>range {limits}</small>"
    return f"<strong>{points(row['estimate'], signed=False)}</strong><br><small>{limits}</small>"


def overlap_table(overlap: pd.DataFrame, benchmark: Benchmark, *, name: str) -> GT:
    """Show overlap by retriever and k, one column per attribute (table 5's first figure)."""
    attributes = {**{a.name: a.label for a in benchmark.varied}, POOLED: "All variants"}
    rows = []
    for (retriever, top_k), own in overlap.groupby(["retriever", "top_k"], sort=True):
        settings = own["settings"].iloc[0]
        row = {"retriever": escape_html(f"{retriever}: {settings}"), "k": f"k = {top_k}"}
        figures = own.set_index(["attribute", "measure"])
        for attribute in attributes:
            row[attribute] = _share(figures.loc[(attribute, "iou")])
        pooled = figures.loc[(POOLED, "jaccard")]
        row["jaccard"] = _share(pooled)
        row["identical"] = f"{pooled['n_identical']:,} of {pooled['n']:,}"
        rows.append(row)
    labels = {**attributes, "jaccard": "Mean pairwise Jaccard", "identical": "Identical lists"}
    return written_table(
        rows,
        labels,
        name=name,
        stub="k",
        heading="Retriever",
        group="retriever",
        html=["retriever", "k", *labels],
    ).tab_spanner("Intersection over union", columns=list(attributes))


def _share(row: pd.Series) -> str:
    return _figure(row["estimate"], percent_range(row["ci_low"], row["ci_high"]))


_CELLS = {
    "other_snippets_other_answer": "Different snippets, different answer",
    "other_snippets_same_answer": "Different snippets, same answer",
    "same_snippets_other_answer": "Same snippets, different answer",
    "same_snippets_same_answer": "Same snippets, same answer",
}


def effects_table(effects: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Count wrong answers for the second group by snippets and answer of the other variant."""
    benchmark = release.benchmarks[str(effects["benchmark"].iloc[0])]
    rows = []
    units = effects.groupby(["model", "strategy", "attribute", "group_a", "group_b"], sort=False)
    for (model, strategy, attribute, a, b), own in units:
        declared = benchmark.attribute(str(attribute))
        figures = own.set_index(["of", "metric"])
        wrong = {metric: figures.loc[("wrong_b", metric)] for metric in _CELLS}
        rows.append(
            {
                "set": escape_html(f"{model}, {strategy_label(str(strategy))}"),
                "pair": escape_html(f"{declared.label}: {declared.pair_label((str(a), str(b)))}"),
                "n": f"{wrong['other_snippets_other_answer']['n']:,}",
                **{metric: f"{row['count']:,}" for metric, row in wrong.items()},
                "change": _change(figures.loc[("all", "change_difference")]),
            }
        )
    labels = {
        "n": "Wrong, with both answers",
        **_CELLS,
        "change": "Changed answers, different − same snippets, points",
    }
    return written_table(
        rows,
        labels,
        name=name,
        stub="pair",
        heading="Pair",
        group="set",
        html=["set", "pair", *labels],
    )


def _change(row: pd.Series) -> str:
    if math.isnan(row["estimate"]):
        return f"<small>{escape_html(row['method_note'])}</small>"
    limits = point_range(row["ci_low"], row["ci_high"])
    p = escape_html(p_value(row["p_value"]))
    return (
        f"<strong>{points(row['estimate'])}</strong> <small>{limits}{', ' if p else ''}{p}</small>"
    )


def votes_table(votes: pd.DataFrame, *, name: str) -> GT:
    """Show a majority vote over the demographic variants, one row per answer set."""
    rows = [
        {
            "model": escape_html(breakable(row["model"])),
            "strategy": escape_html(strategy_label(row["strategy"])),
            "n": f"{row['n']:,}",
            "unanimous": f"{row['n_unanimous']:,}",
            "ties": f"{row['n_ties']:,} <small>({row['n_ties_with_key']:,} with the key)</small>",
            "none": f"{row['n_unanswered']:,}",
            "single": percent(row["accuracy_single"]),
            "vote": _figure(
                row["accuracy_vote"],
                percent_range(row["accuracy_vote_low"], row["accuracy_vote_high"]),
            ),
            "gain": "not known"
            if math.isnan(row["accuracy_gain"])
            else f"{points(row['accuracy_gain'])} "
            f"<small>{point_range(row['accuracy_gain_low'], row['accuracy_gain_high'])}</small>",
        }
        for row in votes.to_dict("records")
    ]
    labels = {
        "n": "Votes",
        "unanimous": "Unanimous",
        "ties": "Ties",
        "none": "No answer",
        "single": "Right, single answers to decided items",
        "vote": "Right, vote, %",
        "gain": "Gain, points",
    }
    return written_table(
        rows,
        labels,
        name=name,
        stub="strategy",
        heading="Prompt",
        group="model",
        html=["model", "strategy", *labels],
    )


def printed_scores() -> GT:
    """Show the study's table 2: one row per model and data set, one column per strategy."""
    from great_tables import GT

    cells = pd.read_csv(resource("data", "published", "rag_table2.csv"))
    cells["cell"] = [
        f"{score:.1f} ({overlap:.1f})"
        for score, overlap in zip(
            cells["score_percent"], cells["retrieval_overlap_percent"], strict=True
        )
    ]
    cells["strategy"] = cells["strategy"].str.replace("_", " ")
    order = list(dict.fromkeys(cells["strategy"]))
    wide = cells.pivot_table(
        index=["model", "dataset"], columns="strategy", values="cell", aggfunc="first", sort=False
    )[order].reset_index()
    return GT(wide, rowname_col="dataset", groupname_col="model", id="printed-2").tab_stubhead(
        "Data set"
    )


def printed_strategies() -> GT:
    """Show the study's tables 3 to 5: score, DP and EO by strategy, retriever and k."""
    cells = pd.read_csv(resource("data", "published", "rag_fairness.csv"))
    rows = []
    for row in cells.to_dict("records"):
        by_strategy = isinstance(row["strategy"], str)
        overlap = row["retrieval_overlap_percent"]
        rows.append(
            {
                "table": f"Table {row['table']}"
                + (f": {row['dataset']}" if isinstance(row["dataset"], str) else ""),
                "row": row["strategy"].replace("_", " ")
                if by_strategy
                else f"{row['retriever']}, k = {row['top_k']:.0f}",
                "score": f"{row['score_percent']:.1f}",
                "overlap": "–" if math.isnan(overlap) else f"{overlap:.1f}",
                "dp": f"{100 * row['dp']:.0f}",
                "eo": f"{100 * row['eo']:.0f}",
            }
        )
    labels = {"score": "Score, %", "overlap": "Overlap, %", "dp": "DP, points", "eo": "EO, points"}
    return written_table(
        rows,
        labels,
        name="printed-3",
        stub="row",
        heading="Strategy or retriever",
        group="table",
        right=[*labels],
    )
