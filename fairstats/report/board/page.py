"""Show the leaderboard: the finding, its certainty, and the boards with charts and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import pandas as pd
from markupsafe import Markup

from fairstats._lib.formatting import capital, counted, escape_markdown, level, number_word, quoted
from fairstats.benchmarks.declaration import Attribute, Benchmark
from fairstats.benchmarks.kinds import CHOICE
from fairstats.estimates.analyze import COMMON_GROUP
from fairstats.estimates.judgements import CANCEL_OUT
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Board, Release
from fairstats.report.board.charts import (
    CHOSEN,
    FLAGGED,
    PUBLISHED,
    SELECTED,
    SIGNED_MEAN,
    UNRANKED,
    limits_note,
    measures_of,
)
from fairstats.report.board.figures import ENDS, BoardFigures, asked_items, is_long
from fairstats.report.board.tables import (
    attribute_table,
    difference_matrix,
    matrix_caption,
    model_filters,
    overview_table,
)
from fairstats.report.charts.rows import show_chart
from fairstats.report.findings import board_label, findings, unknown_in_practice
from fairstats.report.notes import (
    screening_summary,
    selection_notes,
    submissions_table,
)
from fairstats.report.page_output import (
    closed,
    download_links,
    enclosed,
    filled,
    on_one_page,
    output_format,
    page_root,
    read_first,
    show_html,
    show_markdown,
    show_table,
    switch,
    switch_rules,
)
from fairstats.report.words import (
    adjustment,
    counted_items,
    discordant_note,
    named_test,
    noun,
    words_of,
)
from fairstats.screening.findings import flag_notes, flags_of

_SUBMISSIONS = (
    "As declared by the submitters. Attempts: complete runs that were made, of which one is shown."
)
# More pairs than these are counted, not named.
_MOST_NAMES = 4
# More notes than these are a list, and of more models than these, only a count.
_FEW_NOTES, _MOST_LISTED = 2, 10
# More models than these do not fit into the matrix.
_MOST_COMPARED = 25
#: The page with all models of long boards.
ALL_MODELS = "reports/all-models.html"
#: The colour of each verdict in the chart of gaps; no verdict is the empty text.
_COLOURS = {
    DISPARITY: "red: disparity",
    EQUIVALENT: "blue: equivalent",
    "": "grey: no verdict",
    INCONCLUSIVE: "grey: inconclusive",
}


def show_leaderboard(release: Release) -> None:
    """Show the finding and the boards of every benchmark, the most informative first."""
    html = output_format() == "html"
    for number, of_benchmark in enumerate(_by_benchmark(release)):
        if number == 0 and html:
            # At the top of the page, where Quarto would move it.
            headline = findings(of_benchmark[0], release).headline
            show_markdown(f"# {escape_markdown(headline)}")
        with enclosed('<div class="benchmark">', "</div>"):
            _show_finding(of_benchmark[0], release, titled=number == 0 and html)
            _show_boards(of_benchmark, release, scope=f"boards-{number}")


def show_all_models(release: Release) -> None:
    """Show the boards of each benchmark with a long one, with the rows of all models."""
    for number, of_benchmark in enumerate(_by_benchmark(release)):
        if any(map(is_long, of_benchmark)):
            with enclosed('<div class="benchmark">', "</div>"):
                _show_boards(of_benchmark, release, scope=f"boards-{number}", every=True)


def _by_benchmark(release: Release) -> list[list[Board]]:
    groups = groupby(release.boards, key=lambda board: board.benchmark.name)
    return [list(own) for _, own in groups]


def _show_finding(board: Board, release: Release, *, titled: bool) -> None:
    """Show the headline with its figures, its certainty, and what to know before reading on.

    `titled` if the headline is the page's title already.
    """
    found, benchmark = findings(board, release), board.benchmark
    day = pd.Timestamp(release.manifest["created_at"])
    items = counted_items(benchmark, *asked_items(board, release))
    kicker = (
        f"{benchmark.title} benchmark · {items} · release {release.name}, published {day.day} "
        f"{day:%B %Y}"
    )
    entry = "{}\n:   {}\n" if output_format() == "html" else "- **{}.** {}"
    known = [*found.sure, *([] if benchmark.slanted else [("Not known", _not_shown(benchmark))])]
    sure = "\n".join(entry.format(*map(escape_markdown, each)) for each in known)
    title = "" if titled else f"## {escape_markdown(found.headline)}"
    lede = f"::: lede\n{escape_markdown(found.figures)}\n:::"
    finding = "\n\n".join(filter(None, (title, read_first(benchmark.read_first), lede)))
    show_markdown(
        f"::: kicker\n{escape_markdown(kicker)}\n:::\n\n"
        f":::: top\n::: finding\n{finding}\n:::\n\n"
        f"::: sure\n**How sure are we?**\n\n{sure}\n:::\n::::"
    )


def _not_shown(benchmark: Benchmark) -> str:
    """State what the figures of a benchmark do not show."""
    text = f"{capital(unknown_in_practice(benchmark))}."
    if not benchmark.has_key:
        text += f" Whether a difference is an error: the {words_of(benchmark).items} have no key."
    return text


def _show_boards(boards: list[Board], release: Release, *, scope: str, every: bool = False) -> None:
    """Show all boards of a benchmark, with the controls that choose the visible parts.

    `every` shows all models of long boards.
    """
    all_figures = [BoardFigures(board, release, every) for board in boards]
    sets = {f"b{n}": figures.label for n, figures in enumerate(all_figures)}
    attributes, measures = {"all": "All"}, dict[str, str]()
    for figures in all_figures:
        for panel in figures.panels:
            attributes[panel.key] = figures.board.benchmark.attribute(panel.attribute).label
        measures |= {key: measure.label for key, measure in measures_of(figures).items()}
    items = words_of(boards[0].benchmark).items
    options = {
        "measure": ("Measure", measures),
        "attribute": ("Attribute", attributes),
        "board": (f"{capital(items)} and prompt", sets),
    }
    rules = [
        switch_rules(scope, f"{scope}-{key}", key, [*own]) for key, (_, own) in options.items()
    ]
    # A panel is shown with its attribute, and all of them with all attributes.
    rules.append(switch_rules(scope, f"{scope}-attribute", "panel", [*attributes][1:]))
    shown = {
        "measure": True,
        # On a phone, the panels of many pairs are shown one at a time.
        "attribute": len(attributes) > 2 or any(figures.many for figures in all_figures),
        "board": len(sets) > 1,
    }
    switches = {
        key: Markup(switch(f"{scope}-{key}", *own)) for key, own in options.items() if shown[key]
    }
    style = Markup("\n".join(rules))
    filters = model_filters(all_figures, release)
    opening = filled(
        "board_controls",
        scope=scope,
        rules=style,
        switches=switches,
        items=items,
        filters=filters,
        # Readers look for a model of many by its name.
        open=any(map(is_long, boards)),
    )
    with enclosed(opening, "</section>"):
        for number, figures in enumerate(all_figures):
            with enclosed(f'<div data-board="b{number}">', "</div>"):
                _show_board(figures, release, name=f"{scope}-b{number}")


def _show_board(figures: BoardFigures, release: Release, *, name: str) -> None:
    board, found = figures.board, findings(figures.board, release)
    paper = output_format() != "html"
    title = escape_markdown(found.chart_title)
    if paper:
        title += f" ({escape_markdown(figures.label)})"
    # The chart is one picture, so this block is hardly longer than it.
    with on_one_page():
        show_markdown(f"## {title}")
        if figures.shortened and not paper:
            _show_shortened(figures)
        for key, measure in measures_of(figures).items():
            # Paper has room for one; the figures of the others are in the table.
            if paper and key != "gap":
                continue
            with enclosed(f'<div data-measure="{key}">', "</div>"):
                which = "" if paper else f"{figures.label}. "
                _show_small(f"{which}{measure.note}")
                with _first_rows(figures, f"{name}-{key}"):
                    show_chart(measure.draw(figures, measure, f"{name}-{key}"))
    _show_small(_key(figures, release))
    if paper and figures.shortened:
        _show_small(
            f"Shown are the first {ENDS} and the last {ENDS} models in order of rank. The site has "
            f"all {len(figures.sets)}, and estimates.csv has every figure."
        )
    _show_unranked(figures)
    _show_cautions(figures)
    _show_screening(figures)
    _show_tables(figures, release, name=name)
    if len(figures.submissions) and not (paper and figures.shortened):
        table, models = f"{name}-submissions", [own.model for own in figures.rows]
        with closed("Who sent these answers?"), _first_rows(figures, table):
            show_table(
                submissions_table(figures.submissions, models, name=table),
                caption=_SUBMISSIONS,
                css_class="estimates compact",
            )
    if 1 < len(board.ranked) <= _MOST_COMPARED:
        with closed("Which models differ?"):
            show_table(
                difference_matrix(board, name=f"{name}-differences"),
                caption=matrix_caption(release),
                css_class="differences",
                download="rank_differences",
            )
    elif len(board.ranked) > 1:
        differing, pairs = int(board.differences["differ"].sum()), len(board.differences)
        _show_small(f"{differing:,} of {pairs:,} pairs of models differ.")
        if not paper:
            links = {"rank_differences": Markup(download_links("rank_differences"))}
            show_html(filled("downloads", links=links, pdf=""))


@contextmanager
def _first_rows(figures: BoardFigures, name: str) -> Iterator[None]:
    """Link from the following table to that with all models, if it lacks some of a long board."""
    if output_format() != "html" or not is_long(figures.board):
        yield
        return
    # The page's script takes the other rows from the part of this name on the other page.
    part = f"{name}-part"
    with enclosed(f'<div id="{part}">', "</div>"):
        yield
        if figures.shortened:
            _show_shortened(figures, f"{page_root()}{ALL_MODELS}#{part}")


def _show_shortened(figures: BoardFigures, href: str = "") -> None:
    """State how many models are shown; below a table, with the address of that of all models."""
    shown, models = len(figures.rows), len(figures.sets)
    ranked = not figures.board.ranked.empty
    show_html(filled("first_rows", shown=shown, models=models, ranked=ranked, href=href))


def _show_small(text: str) -> None:
    show_markdown(f"::: small\n{escape_markdown(text)}\n:::")


def _key(figures: BoardFigures, release: Release) -> str:
    """Explain the marks that appear in the chart."""
    board, parts = figures.board, []
    there = {pair.verdict or "" for pair in figures.gaps}
    kinds = [text for verdict, text in _COLOURS.items() if verdict in there]
    if len(kinds) > 1:
        parts.append(f"{capital(noun(board.benchmark.kind))}s: {', '.join(kinds)}.")
    wholes = [own.whole for own in figures.sets if own.whole]
    if any(COMMON_GROUP in str(whole.difference["method_note"]) for whole in wholes):
        parts.append(f"{SIGNED_MEAN}s are not judged: one group is part of several pairs.")
    if any(whole.reason.endswith(CANCEL_OUT) for whole in wholes):
        parts.append(f"{SIGNED_MEAN}s are not called equivalent: {CANCEL_OUT}.")
    if len(board.ranked) > 1:
        sure = level(release.alpha)
        parts.append(f"Rank: the range that the pairwise tests leave open ({sure} confidence).")
    elif release.policies == ["bounds"]:
        parts.append("There are no ranks, because figures are ranges.")
    parts.append(f"{board.benchmark.title}: {board.benchmark.basis(alpha=release.alpha)}.")
    if any(True for _ in figures.published()):
        parts.append(f"{PUBLISHED} as published: no answers were released to check it.")
    return " ".join(parts)


def why_unranked(board: Board) -> list[str]:
    """Why models have no rank, one sentence per model, as plain text."""
    notes = []
    for model, why in board.why_unranked.items():
        mark = SELECTED if model in board.benchmark.selected_on else UNRANKED
        notes.append(f"{mark} {quoted(model)} is not ranked: {why}.")
    return notes


def _show_notes(summary: str, notes: list[str], *, few: int) -> None:
    """Show notes in one paragraph; more than a few are a list, which is closed at first."""
    if 0 < len(notes) <= few:
        _show_small(" ".join(notes))
    elif notes:
        with closed(summary):
            items = "\n".join(f"- {escape_markdown(note)}" for note in notes)
            show_markdown(f"::: small\n{items}\n:::")


def _show_unranked(figures: BoardFigures) -> None:
    notes = why_unranked(figures.board)
    n = len(notes)
    if n > _MOST_LISTED:
        # The rows of the chart have the reason of each.
        reasons = Counter(map(figures.why_unranked, figures.board.why_unranked))
        notes = [f"{counted(many, 'model')}: {why}." for why, many in reasons.most_common()]
    _show_notes(f"Why {number_word(n)} models are not ranked", notes, few=1)


def _show_cautions(figures: BoardFigures) -> None:
    """Show what to know before equal groups of a model are called fair."""
    rows = figures.board.estimates
    rows = rows[rows["verdict"].eq(EQUIVALENT) & rows["verdict_reason"].notna()]
    told = rows[["model", "verdict_reason"]].drop_duplicates("model").itertuples(index=False)
    notes = [f"{quoted(model)}: {reason}." for model, reason in told]
    _show_notes("Cautions about models with equivalent groups", notes, few=2)


def _show_screening(figures: BoardFigures) -> None:
    """Show what the screening of the answers found, and which were chosen among several runs."""
    rows, overruled = figures.screening, figures.release.overruled
    notes = [f"{FLAGGED} {note}" for note in flag_notes(flags_of(rows), overruled)]
    notes += [f"{CHOSEN} {note}" for note in selection_notes(figures.submissions)]
    summary = screening_summary(rows)
    if len(notes) <= _FEW_NOTES:
        summary, notes = " ".join(filter(None, [summary, *notes])), []
    if summary:
        _show_small(summary)
    if len(notes) > _MOST_LISTED:
        models = counted(len(figures.flagged | figures.chosen), "model")
        notes = [f"{FLAGGED} or {CHOSEN}: {models}. The page of each model states why."]
    _show_notes("What the marks mean", notes, few=0)


def _show_tables(figures: BoardFigures, release: Release, *, name: str) -> None:
    board = figures.board
    which = board_label(board, release)
    if len(release.benchmarks) > 1:
        which = f"{board.benchmark.title}, {which}"
    kind, its = board.benchmark.kind, limits_note(release)
    shown = "AD" if kind == CHOICE else capital(f"{noun(kind)}s")
    limits = f"{capital(which)}. {shown} and CFR with {its.replace('its', 'their')}."
    # A mean size of many gaps has no limits.
    sizes = f"{capital(which)}. The mean size of AD, and CFR with {its}."
    whole = sizes if kind == CHOICE and figures.many else limits
    of, there = ("an uneven split of right answers", "both versions had the same effect")
    if kind != CHOICE:
        of, there = "differences", "the groups made none"
    caption = (
        f"{whole} {capital(named_test(kind))} p: how surprising such {of} would be if {there}"
        f"{_adjusted(figures)}."
    )
    tables = {"all": (overview_table(figures, name=f"{name}-all"), caption)}
    paper = output_format() != "html"
    for number, attribute in enumerate([] if paper and figures.shortened else figures.attributes):
        text = f"{attribute.label}: {_pairs_of(attribute)}. {limits} "
        table = attribute_table(figures, number, name=f"{name}-a{number}")
        tables[f"a{number}"] = (table, text + discordant_note(board.benchmark))
    for key, (table, text) in tables.items():
        with (
            enclosed(f'<div data-attribute="{key}">', "</div>"),
            _first_rows(figures, f"{name}-{key}"),
        ):
            show_table(table, caption=text, css_class="estimates compact")
    if not paper:
        names = {"All figures": "estimates", "Ranks": "ranks"}
        links = {label: Markup(download_links(table)) for label, table in names.items()}
        show_html(filled("downloads", links=links, pdf=f"{page_root()}leaderboard.pdf"))


def _pairs_of(attribute: Attribute) -> str:
    """Name the pairs of an attribute, or count them if there are many; the rows name them."""
    if len(attribute.pairs) <= _MOST_NAMES:
        return ", ".join(map(attribute.pair_label, attribute.pairs))
    return f"{len(attribute.pairs)} pairs of groups"


def _adjusted(figures: BoardFigures) -> str:
    """State how the p-values are adjusted; empty if in several ways."""
    estimates, varied = figures.board.estimates, [a.name for a in figures.attributes]
    rows = estimates[estimates["attribute"].isin(varied)]
    said = set(map(adjustment, rows["adjust_method"].dropna()))
    return said.pop() if len(said) == 1 else ""
