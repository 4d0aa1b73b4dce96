"""Show retrieval-augmented answers, in the order and shape of the study's tables 2 to 5."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import plotnine as p9
from great_tables import GT
from plotnine import ggplot

from fairstats._lib.formatting import (
    capital,
    decimal,
    escape_markdown,
    number_word,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
    quoted,
)
from fairstats._lib.installation import resource
from fairstats._lib.safe_names import slug
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.strategies import read_strategy, strategy_label
from fairstats.benchmarks.declaration import PLAIN, POOLED, Benchmark
from fairstats.release.contents import Release
from fairstats.report.page_output import (
    ACCENT_A,
    ACCENT_B,
    DIM,
    INK,
    NEUTRAL_DARK,
    RULE,
    closed,
    filled,
    prose,
    show_markdown,
    show_plot,
    show_table,
)
from fairstats.report.plot_style import plot_theme
from fairstats.report.tables import (
    as_label,
    breakable,
    figure_cell,
    labels_of,
    sentence,
    share,
    written_table,
)
from fairstats.retrieval.effects import ALL, WRONG_B

Row = Mapping[Any, Any]

_KEYS = [*UNIT_COLUMNS]
_LISTS = ["benchmark", "benchmark_version", "retriever", "top_k"]
_COLOURS = (ACCENT_B, ACCENT_A, INK, NEUTRAL_DARK, RULE, DIM)


def show_retrieval(release: Release) -> None:
    """Show what was retrieved, how answers compare, and the study's published tables."""
    overlap = release.table("overlap")
    if overlap.empty:
        names = sorted({str(entry["strategy"]) for entry in release.manifest["answers"]})
        if sets := [name for name in names if read_strategy(name).retriever is not None]:
            show_markdown(prose("retrieval-unrecorded", sets=escape_markdown(", ".join(sets))))
    else:
        with closed("How to read overlap, score, DP and EO"):
            show_markdown(prose("retrieval-figures"))
    for (name, version), own in overlap.groupby(["benchmark", "benchmark_version"], sort=True):
        _show_benchmark(release, str(name), str(version), own)
    show_markdown(f"## Published tables\n\n{prose('retrieval-published')}")
    captions = labels_of("retrieval")["captions"]
    with closed("Table 2: score and overlap by model, data set and strategy"):
        show_table(printed_scores(), caption=captions["table 2"])
    with closed("Tables 3 to 5: DP and EO by strategy, and by retriever and k"):
        show_table(printed_strategies(), caption=captions["tables 3 to 5"])


def _show_benchmark(release: Release, name: str, version: str, overlap: pd.DataFrame) -> None:
    benchmark, place = release.benchmarks[name], slug(f"{name}-{version}")
    title = f"{benchmark.title}, {benchmark.versions.get(version, version)}"
    captions = labels_of("retrieval")["captions"]

    def rows(table: str) -> pd.DataFrame:
        every = release.table(table)
        return every[(every["benchmark"] == name) & (every["benchmark_version"] == version)]

    def show(part: str, table: GT, download: str) -> None:
        show_table(table, caption=f"{title}: {captions[part]}", download=download)

    sets = answer_sets(release, name, version)
    show_markdown(f"## {escape_markdown(title)}\n\n::: lede\n{_summary(overlap, sets)}\n:::")
    if not sets.empty:
        show("scores", scores_table(sets, release, name=f"scores-{place}"), "votes")
    show_plot(
        overlap_plot(overlap, benchmark),
        name=f"overlap-{place}",
        alt=f"{title}: {captions['plot']}",
        width=7,
        height=2.6,
    )
    show("overlap", overlap_table(overlap, benchmark, name=f"overlap-{place}"), "overlap")
    effects = rows("retrieval_effects")
    effects = effects[effects["attribute"].isin(benchmark.varied_names)]
    if (effects["of"] == WRONG_B).any():
        show_markdown("### Wrong answers and retrieved snippets")
        with closed("Wrong answers by pair of groups"):
            show_markdown(prose("retrieval-effects"))
            table = effects_table(effects, benchmark, name=f"effects-{place}")
            show("effects", table, "retrieval_effects")
    show_markdown("### Results of a majority vote")
    show("votes", votes_table(rows("votes"), name=f"votes-{place}"), "votes")


def _summary(overlap: pd.DataFrame, sets: pd.DataFrame) -> str:
    """State what was searched, and how many snippets all variants have in common."""
    asked = int(sets["retriever"].notna().sum())
    text = sentence(
        "retrieval",
        "searched",
        retrievers=capital(_number(overlap["retriever"].nunique(), "retriever")),
        corpora=escape_markdown(", ".join(sorted(overlap["corpus"].unique()))),
        sets=_number(asked, "answer set"),
    )
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    pooled = pooled.dropna(subset="estimate")
    if asked:
        # Only the lists that models were given.
        pooled = pooled.merge(sets[["retriever", "top_k"]].drop_duplicates())
    if pooled.empty:
        return text
    ends = dict.fromkeys([pooled["estimate"].idxmin(), pooled["estimate"].idxmax()])
    shares = " to ".join(
        f"{percent(row['estimate'])} ({escape_markdown(row['retriever'])}, k = {row['top_k']})"
        for row in pooled.loc[[*ends]].to_dict("records")
    )
    return f"{text} {sentence('retrieval', 'common', shares=shares)}"


def _number(n: int, noun: str) -> str:
    return f"{number_word(n)} {noun}{'s' * (n != 1)}"


def overlap_plot(overlap: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Draw intersection over union against k: panels by attribute, colours by retriever."""
    labels = {**{a.name: a.label for a in benchmark.varied}, POOLED: "All variants"}
    rows = overlap[(overlap["measure"] == "iou") & overlap["attribute"].isin(list(labels))]
    rows = rows.dropna(subset="estimate")
    rows = rows.assign(
        panel=pd.Categorical(rows["attribute"].map(labels), list(labels.values())),
        **100 * rows[["estimate", "ci_low", "ci_high"]],
    )
    retrievers = sorted(rows["retriever"].unique())
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(retrievers)}
    apart = p9.position_dodge(width=1.2)
    plot = (
        p9.ggplot(rows, p9.aes("top_k", "estimate", color="retriever"))
        + p9.geom_linerange(p9.aes(ymin="ci_low", ymax="ci_high"), size=0.7, position=apart)
        + p9.geom_point(size=1.6, position=apart)
        + p9.facet_wrap("panel", nrow=1)
        + p9.scale_color_manual(colours)
        + p9.scale_x_continuous(breaks=sorted(rows["top_k"].unique()))
        + p9.scale_y_continuous(limits=(0, 100))
        + p9.labs(x="k, snippets per vignette", y="in common, %", color="")
        + plot_theme()
        + p9.theme(panel_grid_major_y=p9.element_line(color=RULE, size=0.4))
    )
    # A line needs two values of k.
    return plot + p9.geom_line(size=0.5, position=apart) if rows["top_k"].nunique() > 1 else plot


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
        other=[s.prompt != PLAIN for s in read],
    )
    sets = sets[sets["retriever"].notna().groupby(sets["model"]).transform("any")]
    order = ["model", "other", "prompt", "retriever", "top_k"]
    return sets.sort_values(order, na_position="first", ignore_index=True)


def scores_table(sets: pd.DataFrame, release: Release, *, name: str) -> GT:
    """Show score, overlap, DP and EO of each answer set, and the result of its majority vote."""
    attributes = release.benchmarks[str(sets["benchmark"].iloc[0])].varied
    spanners = {
        label: {f"{metric}-{a.name}": a.label for a in attributes}
        for metric, label in labels_of("retrieval")["disparities"].items()
    }
    estimates, overlap = release.estimates, release.table("overlap")
    column = estimates["metric"] + "-" + estimates["attribute"]
    ranges = estimates.assign(column=column).set_index(_KEYS)
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    found = sets.merge(release.table("votes"), on=_KEYS, how="left").merge(
        pooled[[*_LISTS, "estimate"]], on=_LISTS, how="left"
    )
    rows = []
    for one in found.to_dict("records"):
        own = ranges.loc[[tuple(one[key] for key in _KEYS)]]
        retrieved = isinstance(one["retriever"], str)
        snippets = f"{one['retriever']}, k = {one['top_k']}" if retrieved else "no snippets"
        limits = percent_range(one["score_low"], one["score_high"])
        rows.append(
            {
                "model": breakable(one["model"]),
                "strategy": f"{strategy_label(one['prompt'])}, {snippets}",
                "score": figure_cell(one["score"], share, limits),
                "vote": figure_cell(one["accuracy_vote"], share, _votes(one)),
                "overlap": figure_cell(one["estimate"], share, strong=False) if retrieved else "–",
                **{
                    row["column"]: _range(row)
                    for row in own[own["metric"].isin(["dp", "eo"])].to_dict("records")
                },
            }
        )
    labels = labels_of("retrieval")["scores"]
    for columns in spanners.values():
        labels = labels | columns
    heading = "Prompt and snippets"
    table = written_table(rows, labels, name=name, stub="strategy", heading=heading, group="model")
    for label, columns in spanners.items():
        table = table.tab_spanner(as_label(label), columns=[*columns])
    return table


def _votes(row: Row) -> str:
    """Count right votes of votes with a result, and the number left open (mostly ties)."""
    decided = row["n_right"] + row["n_wrong"]
    undecided = row["n"] - decided
    return f"{row['n_right']:,.0f} of {decided:,.0f}" + (
        f"; {undecided:,.0f} open" if undecided else ""
    )


def _range(row: Row) -> str:
    limits = "–".join(points(row[name], signed=False) for name in ("ci_low", "ci_high"))
    unknown = filled("small_cell", text=f"range {limits}")
    return figure_cell(row["estimate"], partial(points, signed=False), limits, unknown=unknown)


def overlap_table(overlap: pd.DataFrame, benchmark: Benchmark, *, name: str) -> GT:
    """Show overlap by retriever and k, one column per attribute (table 5's first figure)."""
    attributes = {**{a.name: a.label for a in benchmark.varied}, POOLED: "All variants"}
    rows = []
    for (retriever, top_k), own in overlap.groupby(["retriever", "top_k"], sort=True):
        cells = {
            (row["measure"], row["attribute"]): figure_cell(
                row["estimate"], share, of=percent_range(row["ci_low"], row["ci_high"])
            )
            for row in own.to_dict("records")
        }
        pooled = own[(own["measure"] == "jaccard") & (own["attribute"] == POOLED)].iloc[0]
        rows.append(
            {
                "retriever": f"{retriever}: {own['settings'].iloc[0]}",
                "k": f"k = {top_k}",
                **{attribute: cells["iou", attribute] for attribute in attributes},
                "jaccard": cells["jaccard", POOLED],
                "identical": f"{pooled['n_identical']:,} of {pooled['n']:,}",
            }
        )
    labels = {**attributes, "jaccard": "Mean pairwise Jaccard", "identical": "Identical lists"}
    return written_table(
        rows, labels, name=name, stub="k", heading="Retriever", group="retriever"
    ).tab_spanner("Intersection over union", columns=list(attributes))


def effects_table(effects: pd.DataFrame, benchmark: Benchmark, *, name: str) -> GT:
    """Count wrong answers for the second group by snippets and answer of the other variant."""
    rows = []
    units = effects.groupby(["model", "strategy", "attribute", "group_a", "group_b"], sort=False)
    for (model, strategy, attribute, a, b), own in units:
        declared = benchmark.attribute(str(attribute))
        wrong = own[own["of"] == WRONG_B]
        if wrong.empty:
            continue
        change = own[(own["of"] == ALL) & (own["metric"] == "change_difference")]
        rows.append(
            {
                "set": f"{quoted(str(model))}, {strategy_label(str(strategy))}",
                "pair": f"{declared.label}: {declared.pair_label((str(a), str(b)))}",
                "n": f"{wrong['n'].iloc[0]:,}",
                **dict(zip(wrong["metric"], wrong["count"].map("{:,}".format), strict=True)),
                "change": _change(change.iloc[0]),
            }
        )
    labels = labels_of("retrieval")["effects"]
    return written_table(rows, labels, name=name, stub="pair", heading="Pair", group="set")


def _change(row: pd.Series) -> str:
    parts = (point_range(row["ci_low"], row["ci_high"]), p_value(row["p_value"]))
    limits, unknown = ", ".join(filter(None, parts)), filled("small_cell", text=row["method_note"])
    return figure_cell(row["estimate"], points, of=limits, unknown=unknown)


def votes_table(votes: pd.DataFrame, *, name: str) -> GT:
    """Show a majority vote over the demographic variants, one row per answer set."""
    counts = ["n", "n_unanimous", "n_unanswered"]
    rows = []
    for row in votes.to_dict("records"):
        key = f"({row['n_ties_with_key']:,} with the key)"
        vote = percent_range(row["accuracy_vote_low"], row["accuracy_vote_high"])
        gain = point_range(row["accuracy_gain_low"], row["accuracy_gain_high"])
        rows.append(
            {
                "model": breakable(row["model"]),
                "strategy": strategy_label(row["strategy"]),
                **{count: f"{row[count]:,}" for count in counts},
                "ties": figure_cell(row["n_ties"], "{:,}".format, of=key, strong=False),
                "single": share(row["accuracy_single"]),
                "vote": figure_cell(row["accuracy_vote"], share, of=vote),
                "gain": figure_cell(row["accuracy_gain"], points, of=gain, strong=False),
            }
        )
    labels = labels_of("retrieval")["votes"]
    return written_table(rows, labels, name=name, stub="strategy", heading="Prompt", group="model")


def printed_scores() -> GT:
    """Show the study's table 2: one row per model and data set, one column per strategy."""
    cells = pd.read_csv(resource("data", "published", "rag_table2.csv"))
    rows = [
        {"model": model, "dataset": dataset}
        | {
            row["strategy"]: f"{row['score_percent']:.1f} ({row['retrieval_overlap_percent']:.1f})"
            for row in own.to_dict("records")
        }
        for (model, dataset), own in cells.groupby(["model", "dataset"], sort=False)
    ]
    labels = {name: name.replace("_", " ") for name in cells["strategy"].unique()}
    return written_table(
        rows, labels, name="printed-2", stub="dataset", heading="Data set", group="model"
    )


def printed_strategies() -> GT:
    """Show the study's tables 3 to 5: score, DP and EO by strategy, retriever and k."""
    labels = labels_of("retrieval")["printed"]
    cells = pd.read_csv(resource("data", "published", "rag_fairness.csv"))
    retriever = cells["retriever"] + ", k = " + cells["top_k"].map("{:.0f}".format)
    rows = cells.assign(
        table="Table " + cells["table"].astype(str) + (": " + cells["dataset"]).fillna(""),
        row=cells["strategy"].str.replace("_", " ").fillna(retriever),
        dp=cells["dp"].map(lambda value: decimal(100 * value, 0)),
        eo=cells["eo"].map(lambda value: decimal(100 * value, 0)),
        **{c: cells[c].map(lambda value: decimal(value, 1) or "–") for c in list(labels)[:2]},
    )
    heading, right = "Strategy or retriever", list(labels)
    return written_table(
        rows, labels, name="printed-3", stub="row", heading=heading, group="table", right=right
    )
