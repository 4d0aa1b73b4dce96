"""Show the leaderboard: the finding, its certainty, and the boards with charts and tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pandas as pd

from fairstats._lib.formatting import capital, counted, escape_markdown, level, listed, number_word
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Board, Release
from fairstats.report.board.charts import (
    CHOSEN,
    FLAGGED,
    PUBLISHED,
    SELECTED,
    UNRANKED,
    accuracy_chart,
    beyond_chart,
    cfr_chart,
    gap_chart,
    moves_chart,
    ratio_chart,
    shift_chart,
    shifts_of,
)
from fairstats.report.board.figures import MOST_PANELS, BoardFigures, Panel, asked_items
from fairstats.report.board.tables import (
    attribute_table,
    difference_matrix,
    matrix_caption,
    overview_table,
)
from fairstats.report.charts.rows import Chart, show_chart
from fairstats.report.findings import Findings, findings, pair_note, set_label
from fairstats.report.notes import flag_notes, screening_summary, selection_notes, submissions_table
from fairstats.report.page_output import (
    closed,
    download_links,
    enclosed,
    on_one_page,
    output_format,
    page_root,
    show_html,
    show_markdown,
    show_table,
    switch,
    switch_rules,
)
from fairstats.report.words import (
    counted_items,
    discordant_note,
    gap_name,
    higher_by,
    meaning,
    named_test,
    noun,
    words_of,
)

# More pairs than these are counted, not named.
_MOST_NAMES = 4
# More notes than these are a list.
_FEW_NOTES = 2
#: The colour of each verdict in the chart of gaps; no verdict is the empty text.
_COLOURS = {
    DISPARITY: "red: disparity",
    EQUIVALENT: "blue: equivalent",
    "": "grey: no verdict",
    INCONCLUSIVE: "grey: inconclusive",
}


def _measures(figures: BoardFigures) -> dict[str, tuple[str, Callable[..., Chart]]]:
    """Return the name and the chart of each figure that a board's kind of answers has."""
    kind, there = figures.board.benchmark.kind, set(figures.board.estimates["metric"])
    every = {
        "gap": (capital(gap_name(kind)), gap_chart, kind.difference),
        "moves": ("Direction", moves_chart, "moved_up"),
        "ratio": ("Ratio", ratio_chart, "selection_ratio"),
        "cfr": ("Same answer (CFR)", cfr_chart, "cfr"),
        "groups": (f"{capital(kind.figure)} by group", accuracy_chart, kind.rate_a),
        "beyond": ("Beyond controls", beyond_chart, "beyond_control"),
    }
    return {
        name: (label, chart) for name, (label, chart, metric) in every.items() if metric in there
    }


def show_leaderboard(release: Release) -> None:
    """Show the finding and the boards of every benchmark, the most informative first."""
    boards = groupby(release.boards, key=lambda board: board.benchmark.name)
    html = output_format() == "html"
    for number, (_, own) in enumerate(boards):
        of_benchmark = list(own)
        if number == 0 and html:
            # At the top of the page, where Quarto would move it.
            headline = findings(of_benchmark[0], release).headline
            show_markdown(f"# {escape_markdown(headline)}")
        with enclosed('<div class="benchmark">', "</div>"):
            _show_finding(of_benchmark[0], release, titled=number == 0 and html)
            _show_boards(of_benchmark, release, scope=f"boards-{number}")


def _show_finding(board: Board, release: Release, *, titled: bool) -> None:
    """Show the headline with its figures, its certainty, and what to know before reading on.

    `titled` if the headline is the page's title already.
    """
    found, benchmark = findings(board, release), board.benchmark
    day = pd.Timestamp(release.manifest["created_at"])
    items = f"{len(benchmark.answer_keys):,} items"
    if benchmark.kind != CHOICE:
        items = counted_items(benchmark, *asked_items(board, release))
    kicker = (
        f"{benchmark.title} benchmark · {items} · release {release.name}, published {day.day} "
        f"{day:%B %Y}"
    )
    entry = "{}\n:   {}\n" if output_format() == "html" else "- **{}.** {}"
    sure = "\n".join(entry.format(*map(escape_markdown, each)) for each in found.sure)
    title = "" if titled else f"## {escape_markdown(found.headline)}\n\n"
    text = escape_markdown(benchmark.read_first.strip())
    note = f"::: note\n**Read this first.** {text}\n:::\n\n" if text else ""
    show_markdown(
        f"::: kicker\n{escape_markdown(kicker)}\n:::\n\n"
        f":::: top\n::: finding\n{title}{note}"
        f"::: lede\n{escape_markdown(found.figures)}\n:::\n:::\n\n"
        f"::: sure\n**How sure are we?**\n\n{sure}\n:::\n::::"
    )


def _show_boards(boards: list[Board], release: Release, *, scope: str) -> None:
    """Show all boards of a benchmark, with the controls that choose the visible parts."""
    all_figures = [BoardFigures(board, release) for board in boards]
    sets = {f"b{n}": _set_name(board) for n, board in enumerate(boards)}
    attributes = {"all": "All"} | {
        panel.key: figures.board.benchmark.attribute(panel.attribute).label
        for figures in all_figures
        for panel in figures.pairs
    }
    measures = {
        key: label for figures in all_figures for key, (label, _) in _measures(figures).items()
    }
    names = {kind: f"{scope}-{kind}" for kind in ("board", "measure", "attribute")}
    rules = [
        switch_rules(scope, names["board"], "board", list(sets)),
        switch_rules(scope, names["measure"], "measure", list(measures)),
        switch_rules(scope, names["attribute"], "attribute", list(attributes)),
        # A panel is shown with its attribute, and all of them with all attributes.
        switch_rules(scope, names["attribute"], "panel", list(attributes)[1:]),
    ]
    controls = switch(names["measure"], "Measure", measures)
    # On a phone, the panels of many pairs are shown one at a time.
    if len(attributes) > 2 or any(figures.many for figures in all_figures):
        controls += switch(names["attribute"], "Attribute", attributes)
    # The page's script adds search and download; without it, one board needs no further controls.
    items = words_of(boards[0].benchmark).items
    more = f"Other {items} and prompts, search, download" if len(sets) > 1 else "Search, download"
    legend = f"{capital(items)} and prompt"
    others = switch(names["board"], legend, sets) if len(sets) > 1 else ""
    opening = (
        f'<section class="boards" id="{scope}"><style>{chr(10).join(rules)}</style>'
        f'<div class="controls">{controls}'
        f'<details class="more"{"" if others else " hidden"}><summary>{more}</summary>{others}'
        '<div class="tools"></div></details></div>'
    )
    with enclosed(opening, "</section>"):
        for number, figures in enumerate(all_figures):
            with enclosed(f'<div data-board="b{number}">', "</div>"):
                _show_board(figures, release, name=f"{scope}-b{number}")


def _set_name(board: Board) -> str:
    """Return the name of a board's vignettes and prompt in a control."""
    version = board.benchmark.versions.get(board.version, board.version)
    return f"{capital(version)}, {strategy_label(board.strategy)}"


def _show_board(figures: BoardFigures, release: Release, *, name: str) -> None:
    board, found = figures.board, findings(figures.board, release)
    paper = output_format() != "html"
    title = escape_markdown(found.chart_title)
    if paper:
        title += f" ({escape_markdown(_set_name(board))})"
    # The chart is one picture, so this block is hardly longer than it.
    with on_one_page():
        show_markdown(f"## {title}")
        for measure, (_, chart) in _measures(figures).items():
            # Paper has room for one; the figures of the others are in the table.
            if paper and measure != "gap":
                continue
            with enclosed(f'<div data-measure="{measure}">', "</div>"):
                note = _note(measure, figures, found)
                which = "" if paper else f"{escape_markdown(_set_name(board))}\\. "
                show_markdown(f"::: small\n{which}{note}\n:::")
                show_chart(chart(figures, name=f"{name}-{measure}"))
    show_markdown(f"::: small\n{_key(figures, release)}\n:::")
    _show_unranked(board)
    _show_screening(figures)
    _show_tables(figures, release, name=name)
    _show_shifts(figures, name=name)
    if len(figures.submissions):
        with closed("Who sent these answers?"):
            show_table(
                submissions_table(figures.submissions, board.ordered, name=f"{name}-submissions"),
                caption="As declared by the submitters. Attempts: complete runs that were made, of "
                "which one is shown.",
                css_class="estimates compact",
            )
    if len(board.ranked) > 1:
        with closed("Which models differ?"):
            show_table(
                difference_matrix(board, name=f"{name}-differences"),
                caption=matrix_caption(release),
                css_class="differences",
                download="rank_differences",
            )


def _note(measure: str, figures: BoardFigures, found: Findings) -> str:
    """Describe what a chart shows and which direction is better, in Markdown."""
    benchmark = figures.board.benchmark
    kind, limits = benchmark.kind, _limits(figures.release)
    if measure == "gap":
        better = "less swayed by the text" if benchmark.slanted else "fairer"
        margin = f"±{kind.shown_margin(benchmark.equivalence_margin)}"
        pooled = figures.pooled
        average = f"{pooled.label}: all pairs counted together. " if pooled else ""
        practical = "clinical " if kind == CHOICE else ""
        text = (
            f"{capital(gap_name(kind))} ({pair_note(benchmark)}) with {limits}. Closer to 0 is "
            f"{better}. Shaded: the equivalence margin of {margin} {kind.unit}, a convention of "
            f"this benchmark and not a {practical}threshold. {average}{_circles(figures, 'pair')}"
            f"{found.verdicts}"
        )
    elif measure == "cfr":
        whatever = ", right or wrong" if kind == CHOICE else ""
        text = (
            "CFR (counterfactual fairness rate): share of pairs with the same answer for both "
            f"groups{whatever}, with {limits}. 100% is best. {_circles(figures, 'pair')}"
        )
    elif measure == "moves":
        text = (
            f"Blue: percent of pairs in which the {kind.name} is {higher_by(benchmark)} for the "
            f"first group. Red: percent in which it is for the second. {meaning(benchmark)}"
        )
        if figures.many:
            text += " Circles: one per pair, the first percentage minus the second."
    elif measure == "ratio":
        text = (
            f"Selection rate of the first group divided by that of the second, with {limits}. 1 is "
            "equal. Shaded: from .80 to 1.25, the limits of the four-fifths rule. "
            f"{meaning(benchmark)} {_circles(figures, 'pair')}"
        )
    elif measure == "beyond":
        text = _beyond_note(figures, limits)
    else:
        text = "Blue: first group of the pair. Red: second group. The figures are first / second."
        text += f" {_circles(figures, 'group')}".rstrip()
        if figures.neutral is not None:
            text += f" The upright mark is the {kind.figure} with neutral text."
        if kind != CHOICE:
            text += f" {meaning(benchmark)}"
    return escape_markdown(text.rstrip())


def _beyond_note(figures: BoardFigures, limits: str) -> str:
    """Describe the chart of changes beyond those of controls."""
    benchmark = figures.board.benchmark
    names = listed(f"“{control.label}”" for control in benchmark.controls)
    change = (
        "absolute difference of the two answers"
        if benchmark.kind.numeric
        else "share of answers that differ"
    )
    circles = "Circles: one per attribute. " if len(figures.attributes) > MOST_PANELS else ""
    return (
        f"How far answers change between two groups, minus how far they change between the "
        f"controls ({names}), which should not matter, with {limits}. A change is the {change}. "
        f"At 0 or below, the groups change answers no more than something meaningless does. "
        f"{circles}"
    )


def _circles(figures: BoardFigures, noun: str) -> str:
    """Describe the panels that many pairs share; empty if each pair has a panel."""
    if not figures.many:
        return ""
    return f"Circles: one per {noun}, with the range of the figures. "


def _limits(release: Release) -> str:
    """Describe the limits of the release's figures."""
    if release.policies == ["bounds"]:
        return "the range over all possible missing answers"
    return f"its {level(release.alpha)} interval"


def _key(figures: BoardFigures, release: Release) -> str:
    """Return the marks that appear in the chart, in Markdown."""
    board, parts = figures.board, []
    gaps = board.estimates[
        (board.estimates["metric"] == board.benchmark.kind.difference)
        & board.estimates["attribute"].isin([a.name for a in figures.attributes])
    ]
    there = set(gaps["verdict"].fillna(""))
    kinds = [text for verdict, text in _COLOURS.items() if verdict in there]
    if len(kinds) > 1:
        parts.append(f"{capital(noun(board.benchmark.kind))}s: {', '.join(kinds)}.")
    if len(board.ranked) > 1:
        sure = level(release.alpha)
        parts.append(f"Rank: the range that the pairwise tests leave open ({sure} confidence).")
    if any(True for _ in figures.published()):
        parts.append(f"{PUBLISHED} as published: no answers were released to check it.")
    return escape_markdown(" ".join(filter(None, parts)))


def why_unranked(board: Board) -> list[str]:
    """Why models have no rank, one sentence per model, as plain text."""
    notes = []
    for model, why in board.why_unranked.items():
        mark = SELECTED if model in board.benchmark.selected_on else UNRANKED
        notes.append(f"{mark} {model} is not ranked: {why}.")
    return notes


def _show_unranked(board: Board) -> None:
    notes = [escape_markdown(note) for note in why_unranked(board)]
    if len(notes) == 1:
        show_markdown(f"::: small\n{notes[0]}\n:::")
    elif notes:
        with closed(f"Why {number_word(len(notes))} models are not ranked"):
            show_markdown("::: small\n" + "\n".join(f"- {note}" for note in notes) + "\n:::")


def _show_screening(figures: BoardFigures) -> None:
    """Show what the screening of the answers found, and which were chosen among several runs."""
    rows, overruled = figures.screening, figures.release.overruled
    notes = [f"{FLAGGED} {note}" for note in flag_notes(rows, overruled)]
    notes += [f"{CHOSEN} {note}" for note in selection_notes(figures.submissions)]
    few = notes if len(notes) <= _FEW_NOTES else []
    if text := escape_markdown(" ".join(filter(None, [screening_summary(rows), *few]))):
        show_markdown(f"::: small\n{text}\n:::")
    if len(few) < len(notes):
        with closed("What the marks mean"):
            listed = "\n".join(f"- {escape_markdown(note)}" for note in notes)
            show_markdown(f"::: small\n{listed}\n:::")


def _show_tables(figures: BoardFigures, release: Release, *, name: str) -> None:
    board = figures.board
    which = set_label(board.benchmark, board.version, board.strategy)
    if len(release.benchmarks) > 1:
        which = f"{board.benchmark.title}, {which}"
    kind, their = board.benchmark.kind, _limits(release).replace("its", "their")
    shown = "AD" if kind == CHOICE else capital(f"{noun(kind)}s")
    limits = f"{capital(which)}. {shown} and CFR with {their}."
    if kind == CHOICE:
        caption = (
            f"{limits} McNemar p: how surprising such an uneven split of right answers "
            f"would be if both versions had the same effect{_adjusted(figures)}."
        )
    else:
        caption = (
            f"{limits} {capital(named_test(kind))} p: how surprising such differences would be if "
            f"the groups made none{_adjusted(figures)}."
        )
    with enclosed('<div data-attribute="all">', "</div>"):
        show_table(
            overview_table(figures, name=f"{name}-all"),
            caption=caption,
            css_class="estimates compact",
        )
    for number, attribute in enumerate(figures.attributes):
        pairs = _pairs_of(figures.of(number))
        with enclosed(f'<div data-attribute="a{number}">', "</div>"):
            show_table(
                attribute_table(figures, number, name=f"{name}-a{number}"),
                caption=f"{attribute.label}: {pairs}. {limits} {discordant_note(board.benchmark)}",
                css_class="estimates compact",
            )
    if output_format() == "html":
        pdf = f'<a href="{page_root()}leaderboard.pdf">PDF</a>'
        show_html(
            f'<p class="downloads">All figures: {download_links("estimates")}. Ranks: '
            f"{download_links('ranks')}. Leaderboard as {pdf}.</p>"
        )


def _pairs_of(panels: list[Panel]) -> str:
    """Name the pairs of an attribute, or count them if there are many; the rows name them."""
    if len(panels) <= _MOST_NAMES:
        return ", ".join(panel.note for panel in panels)
    return f"{len(panels)} pairs of groups"


def _adjusted(figures: BoardFigures) -> str:
    """State how many tests the p-values are adjusted over; empty if the numbers differ."""
    texts = figures.board.estimates.loc[
        figures.board.estimates["attribute"].isin([a.name for a in figures.attributes]),
        "adjust_method",
    ]
    counts = texts.dropna().str.extract(r"^holm over (\d+) tests")[0].unique()
    return f", Holm-adjusted over {counted(int(counts[0]), 'test')}" if len(counts) == 1 else ""


def _show_shifts(figures: BoardFigures, *, name: str) -> None:
    """Show which group's text changes accuracy, compared with the neutral text."""
    shifts = shifts_of(figures)
    if shifts is None or len(figures.board.models) < 2:
        return
    benchmark: Benchmark = figures.board.benchmark
    whole = figures.overview[0]
    both = [values for (_, panel), values in shifts.items() if panel == whole]
    losing = sum(-second > first for first, second in both)
    first, second = benchmark.pair_terms
    n = len(both)
    models = f"{number_word(losing)} of {number_word(n)} model{'s' * (n > 1)}"
    title = "Where the gap comes from"
    if losing == n:
        models = "the model" if n == 1 else f"all {number_word(n)} models"
        title = f"Most of the gap is accuracy lost by the {second} group"
    named = (first, second) != ("first", "second")
    one, other = (f" ({term})" if named else "" for term in (first, second))
    text = (
        f"Accuracy minus that with neutral text, in points. The second group of a pair{other} "
        f"loses more than the first{one} gains in {models}. Blue: first group. Red: second "
        "group. These are differences of published accuracies, without an interval."
    )
    with on_one_page():
        show_markdown(f"## {escape_markdown(title)}\n\n::: small\n{escape_markdown(text)}\n:::")
        show_chart(shift_chart(figures, shifts, name=f"{name}-shift"))
