"""Show retrieval-augmented answers, in the order and shape of the study's tables 2 to 5."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairstats._lib.formatting import (
    escape_markdown,
    number_word,
    p_value,
    percent,
    percent_range,
    point_range,
    points,
)
from fairstats._lib.installation import resource
from fairstats._lib.safe_names import slug
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
    show_markdown,
    show_plot,
    show_table,
)
from fairstats.report.plot_style import plot_theme
from fairstats.report.tables import (
    breakable,
    figure_cell,
    labels_of,
    share,
    small_cell,
    written_table,
)
from fairstats.report.templates import prose

if TYPE_CHECKING:
    from great_tables import GT
    from plotnine import ggplot

Row = Mapping[Any, Any]

_DISPARITIES = {"dp": "DP", "eo": "EO"}
_KEYS = ["benchmark", "benchmark_version", "model", "strategy"]
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
    with closed("Table 2: score and overlap by model, data set and strategy"):
        show_table(printed_scores(), caption="Table 2 as published: score, % (overlap, %)")
    with closed("Tables 3 to 5: DP and EO by strategy, and by retriever and k"):
        caption = "Tables 3, 4 and 5 as published, for DeepSeek-R1-8B; DP and EO times 100"
        show_table(printed_strategies(), caption=caption)


def _show_benchmark(release: Release, name: str, version: str, overlap: pd.DataFrame) -> None:
    benchmark = release.benchmarks[name]
    sets = answer_sets(release, name, version)
    place = slug(f"{name}-{version}")
    described = benchmark.versions.get(version, version)
    named = f"{benchmark.title}, {described}"
    title = f"{escape_markdown(benchmark.title)}: {escape_markdown(described)}"
    show_markdown(f"## {title}\n\n::: lede\n{_summary(overlap, sets)}\n:::")
    if not sets.empty:
        show_table(
            scores_table(sets, release, name=f"scores-{place}"),
            caption=f"{named}: answers with and without snippets",
            download="votes",
        )
    show_plot(
        overlap_plot(overlap, benchmark),
        name=f"overlap-{place}",
        alt="Overlap of the retrieved snippets across the variants of an item, by k and retriever",
        width=7,
        height=2.6,
    )
    show_table(
        overlap_table(overlap, benchmark, name=f"overlap-{place}"),
        caption=f"{named}: overlap by retriever and k, %",
        download="overlap",
    )
    effects, votes = (
        table[(table["benchmark"] == name) & (table["benchmark_version"] == version)]
        for table in (release.table("retrieval_effects"), release.table("votes"))
    )
    effects = effects[effects["attribute"].isin([a.name for a in benchmark.varied])]
    if not effects.empty:
        show_markdown("### Wrong answers and retrieved snippets")
        with closed("Wrong answers by pair of groups"):
            show_markdown(prose("retrieval-effects"))
            show_table(
                effects_table(effects, benchmark, name=f"effects-{place}"),
                caption=f"{named}: wrong answers by snippets and answer of the other variant",
                download="retrieval_effects",
            )
    show_markdown("### Results of a majority vote")
    show_table(
        votes_table(votes, name=f"votes-{place}"),
        caption=f"{named}: votes over the demographic variants",
        download="votes",
    )


def _summary(overlap: pd.DataFrame, sets: pd.DataFrame) -> str:
    """State what was searched, and how many snippets all variants have in common."""
    corpora = escape_markdown(", ".join(sorted(overlap["corpus"].unique())))
    retrievers = overlap["retriever"].nunique()
    asked = int(sets["retriever"].notna().sum())
    text = (
        f"{number_word(retrievers).capitalize()} retriever{'s' * (retrievers > 1)} searched the "
        f"corpus *{corpora}*; {number_word(asked)} answer set"
        f"{' used' if asked == 1 else 's use'} the snippets."
    )
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    pooled = pooled.dropna(subset="estimate")
    if asked:
        # Only the lists that models were given.
        used = sets[["retriever", "top_k"]].drop_duplicates()
        pooled = pooled.merge(used, on=["retriever", "top_k"])
    if pooled.empty:
        return text
    places = dict.fromkeys([pooled["estimate"].idxmin(), pooled["estimate"].idxmax()])
    least, *most = (
        (percent(row["estimate"]), f"{escape_markdown(row['retriever'])} at k = {row['top_k']}")
        for row in pooled.loc[[*places]].to_dict("records")
    )
    return (
        f"{text} Of the snippets retrieved for any demographic variant of an item, on average "
        f"{least[0]} were retrieved for all of them with {least[1]}"
        + "".join(f", and {share} with {where}" for share, where in most)
        + "."
    )


def overlap_plot(overlap: pd.DataFrame, benchmark: Benchmark) -> ggplot:
    """Draw intersection over union against k: panels by attribute, colours by retriever.

    Parameters
    ----------
    overlap : pandas.DataFrame
        `fairstats.retrieval.overlap.retrieval_overlap` of one benchmark version.
    benchmark : Benchmark
        Gives the attributes' labels and order.
    """
    import plotnine as p9

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
    )
    sets = sets[sets["retriever"].notna().groupby(sets["model"]).transform("any")]
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
    attributes = release.benchmarks[str(sets["benchmark"].iloc[0])].varied
    estimates, overlap = release.estimates, release.table("overlap")
    ranges = estimates[estimates["metric"].isin(_DISPARITIES)]
    ranges = ranges.assign(column=ranges["metric"] + "-" + ranges["attribute"])
    pooled = overlap[(overlap["attribute"] == POOLED) & (overlap["measure"] == "iou")]
    found = sets.merge(release.table("votes"), on=_KEYS, how="left").merge(
        pooled[[*_KEYS[:2], "retriever", "top_k", "estimate"]],
        on=[*_KEYS[:2], "retriever", "top_k"],
        how="left",
    )
    rows = []
    for one in found.to_dict("records"):
        own = ranges[(ranges[_KEYS] == [one[key] for key in _KEYS]).all(axis=1)]
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
                **{row["column"]: _range(row) for row in own.to_dict("records")},
            }
        )
    columns = {
        metric: {f"{metric}-{a.name}": a.label for a in attributes} for metric in _DISPARITIES
    }
    table = written_table(
        rows,
        labels_of("retrieval")["scores"] | columns["dp"] | columns["eo"],
        name=name,
        stub="strategy",
        heading="Prompt and snippets",
        group="model",
    )
    for metric, own_columns in columns.items():
        table = table.tab_spanner(f"{_DISPARITIES[metric]}, points", columns=[*own_columns])
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
    unknown = small_cell(f"range {limits}")
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
        wrong = own[own["of"] == "wrong_b"]
        change = own[(own["of"] == "all") & (own["metric"] == "change_difference")]
        rows.append(
            {
                "set": f"{model}, {strategy_label(str(strategy))}",
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
    limits, unknown = ", ".join(filter(None, parts)), small_cell(row["method_note"])
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
                "single": percent(row["accuracy_single"]),
                "vote": figure_cell(row["accuracy_vote"], share, of=vote),
                "gain": figure_cell(row["accuracy_gain"], points, of=gain, strong=False),
            }
        )
    labels = labels_of("retrieval")["votes"]
    return written_table(rows, labels, name=name, stub="strategy", heading="Prompt", group="model")


def printed_scores() -> GT:
    """Show the study's table 2: one row per model and data set, one column per strategy."""
    from great_tables import GT

    cells = pd.read_csv(resource("data", "published", "rag_table2.csv"))
    figures = cells[["score_percent", "retrieval_overlap_percent"]].itertuples(index=False)
    cells = cells.assign(
        cell=[f"{score:.1f} ({overlap:.1f})" for score, overlap in figures],
        strategy=cells["strategy"].str.replace("_", " "),
    )
    order = cells["strategy"].unique()
    wide = cells.pivot_table("cell", ["model", "dataset"], "strategy", "first", sort=False)[order]
    table = GT(wide.reset_index(), rowname_col="dataset", groupname_col="model", id="printed-2")
    return table.tab_stubhead("Data set")


def printed_strategies() -> GT:
    """Show the study's tables 3 to 5: score, DP and EO by strategy, retriever and k."""
    from great_tables import GT

    labels = labels_of("retrieval")["printed"]
    cells = pd.read_csv(resource("data", "published", "rag_fairness.csv"))
    retriever = cells["retriever"] + ", k = " + cells["top_k"].map("{:.0f}".format)
    rows = cells.assign(
        table="Table " + cells["table"].astype(str) + (": " + cells["dataset"]).fillna(""),
        row=cells["strategy"].str.replace("_", " ").fillna(retriever),
    )[["table", "row", *labels]]
    return (
        GT(rows, rowname_col="row", groupname_col="table", id="printed-3")
        .tab_stubhead("Strategy or retriever")
        .cols_label(cases=dict(labels))
        .fmt_number(columns=["score_percent", "retrieval_overlap_percent"], decimals=1)
        .fmt_number(columns=["dp", "eo"], decimals=0, scale_by=100)
        .sub_missing(missing_text="–")
        .cols_align("right", columns=list(labels))
    )
