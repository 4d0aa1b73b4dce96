"""Show the page of one model: its finding, and the questions that its charts answer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from markupsafe import Markup

from fairstats._lib.formatting import capital, escape_html, escape_markdown
from fairstats._lib.safe_names import slug as slug_of
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import Release
from fairstats.report.answer_sets import AnswerSet, answer_sets, by_benchmark
from fairstats.report.changed_items import flip_table, flip_texts
from fairstats.report.charts.rows import MOST_CHARTED, chart_html
from fairstats.report.model.head import show_head
from fairstats.report.model.history import history_of, history_plot
from fairstats.report.model.tables import (
    changing_items,
    figures_caption,
    margins_table,
    other_choices,
    smallest_margins,
)
from fairstats.report.notes import noise_line
from fairstats.report.page_output import (
    closed,
    download_links,
    enclosed,
    page_root,
    show_html,
    show_markdown,
    show_plot,
    show_table,
    switch,
    switch_rules,
)
from fairstats.report.pairs_table import EVERY, pairs_table
from fairstats.report.ratings.in_reports import rating_headline, rating_scope
from fairstats.report.sections.letters import frequent_letter
from fairstats.report.sections.section import CANNOT, Answer, Section, sections
from fairstats.report.sensitivity import policy_table, with_missing
from fairstats.report.templates import filled
from fairstats.report.words import difference_name, noun, unsigned, words_of

_UNNAMED = (
    " Groups that are not named gave the same answer as the groups that they are compared with, or "
    "no answer."
)
#: The number of changing items shown; a file contains all of them.
ITEMS_SHOWN = 10


def show_model(release: Release, slug: str) -> None:
    """Show a release's results on one model, named by its page's address."""
    model = next(name for name, own in release.slugs.items() if own == slug)
    found = by_benchmark(answer_sets(release, model))
    title = f"# {escape_markdown(model)}"
    if len(found) > 1:
        show_markdown(title)
    for number, sets in enumerate(found.values()):
        heading = f"## {escape_markdown(sets[0].benchmark.title)}" if len(found) > 1 else title
        show_head(release, sets, title=heading)
        _show_benchmark(release, sets, scope=f"model-{number}", depth=2 + (len(found) > 1))
    rated = [*rating_scope(release, model)]
    if rated:
        text = " ".join(filter(None, (rating_headline(release, model), *rated)))
        show_markdown(
            f"## What raters report\n\n{escape_markdown(text)} The figures are on the page "
            f"[Ratings]({page_root()}reports/ratings.html)."
        )


def _show_benchmark(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    """Show one benchmark's questions and tables, with the control that chooses the answer set."""
    name, controls = f"{scope}-set", ""
    several = len({own.board.version for own in sets}) > 1
    if len(sets) > 1:
        options = {
            f"s{n}": capital(own.label if several else own.prompt) for n, own in enumerate(sets)
        }
        items = words_of(sets[0].benchmark).items
        legend = f"{capital(items)} and prompt" if several else "Prompt"
        rules = switch_rules(scope, name, "set", list(options))
        controls = (
            f'<style>{rules}</style><div class="controls">'
            f"<span>{legend} for the charts and tables:</span>{switch(name, legend, options)}</div>"
        )
    with enclosed(f'<section class="model" id="{scope}">{controls}', "</section>"):
        show_html(questions_html(sets, scope=scope, depth=depth))
        _show_figures(release, sets, scope=scope, depth=depth)
        with enclosed('<div class="questions">', "</div>"):
            with enclosed("<div>", "</div>"):
                _show_choices(release, sets, scope=scope, depth=depth)
            with enclosed("<div>", "</div>"):
                _show_items(release, sets, scope=scope, depth=depth)
        _show_policies(release, sets, scope=scope)
        _show_history(release, sets, depth=depth)


def questions_html(sets: list[AnswerSet], *, scope: str, depth: int) -> str:
    """Return the sections that apply to a model's answers to one benchmark, as HTML.

    Parameters
    ----------
    sets : list of AnswerSet
        The model's answers to the benchmark; the page's control shows one of them.
    scope : str
        The id of the page's part with the sections.
    depth : int
        The level of the headings.
    """
    questions = []
    for section in sections():
        if not section.diagnostic and any(map(section.applies, sets)):
            about = sets[0] if section.parts else next(filter(section.applies, sets))
            parts = _parts(section, sets, f"{scope}-{section.order}")
            key = section.key(section.parts(about)[0] if section.parts else about)
            title = section.title(about)
            questions.append({"title": title, "parts": parts, "key": key, "wide": section.wide})
    return filled("questions", questions=questions, depth=depth)


def _parts(section: Section, sets: list[AnswerSet], name: str) -> list[dict[str, Any]]:
    """Return the answer and the charts of each answer set that a section is about."""
    chosen = section.parts(sets[0]) if section.parts else sets
    parts = []
    for number, own in enumerate(chosen):
        charts = section.charts(own, f"{name}-{number}") if section.applies(own) else ()
        answer = section.answer(own) if section.applies(own) else None
        some = not section.every_pair and charts and len(own.charted) < len(own.pairs)
        parts.append(
            {
                "set": "" if section.parts else f"s{number}",
                "lead": capital(own.version) if section.parts and len(chosen) > 1 else "",
                "answer": answer or Answer(CANNOT, "No answer could be read."),
                "charts": [Markup(chart_html(chart)) for chart in charts],
                "note": _largest(own) if some and not section.parts else "",
            }
        )
    return parts


def _largest(own: AnswerSet) -> str:
    return (
        f"the {len(own.charted)} pairs with the largest {noun(own.kind)}s, of {len(own.pairs)}; "
        "the table below has all of them"
    )


def _heading(text: str, depth: int) -> None:
    show_html(f"<h{depth}>{escape_html(text)}</h{depth}>")


def _folded(own: AnswerSet, summary: str) -> AbstractContextManager[None]:
    """Hide a table with a row per pair behind a line that opens it, if there are many pairs."""
    return closed(summary) if len(own.pairs) > MOST_CHARTED else nullcontext()


def _show_figures(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    _heading("All figures", depth)
    for number, own in enumerate(sets):
        with enclosed(f'<div data-set="s{number}">', "</div>"):
            with _folded(own, f"{len(own.pairs)} pairs"):
                show_table(
                    pairs_table(
                        [own],
                        name=f"{scope}-figures-{number}",
                        columns=EVERY,
                        every=True,
                        whole=True,
                    ),
                    caption=figures_caption(own, release),
                    css_class="estimates compact figures",
                )
            texts = [noise_line(own.rows, own.benchmark, release), frequent_letter(own)]
            for text in filter(None, texts):
                show_html(f"<p>{escape_html(text)}</p>")
    methods = f'<a href="{page_root()}reports/methods.html">formulas</a>'
    show_html(
        f'<p class="downloads">Every figure: {download_links("estimates")} · {methods}. '
        f"Answers by {'letter' if sets[0].kind == CHOICE else 'option'}: "
        f"{download_links('letters')}.</p>"
    )


def _show_choices(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    _heading("Would other choices change the verdict?", depth)
    for number, own in enumerate(sets):
        show_html(filled("answer", answer=other_choices(own), set=f"s{number}"))
    if any(smallest_margins(own)["estimate"].notna().any() for own in sets):
        kind, gap = sets[0].kind, noun(sets[0].kind)
        margin = unsigned(kind, sets[0].benchmark.equivalence_margin)
        with _folded(max(sets, key=lambda own: len(own.pairs)), "Smallest margins"):
            show_table(
                margins_table(sets, name=f"{scope}-margins"),
                caption=f"A {gap} would be equivalent only with a margin at least this wide; the "
                f"benchmark’s is ±{margin}.",
                css_class="estimates compact",
            )
    show_html(f'<p class="downloads">Every method: {download_links("sensitivity")}.</p>')


def _show_policies(release: Release, sets: list[AnswerSet], *, scope: str) -> None:
    """Show the policies for missing answers, for the answer sets with missing answers."""
    for number, own in enumerate(sets):
        missing = with_missing(own.sensitivity)
        if missing.empty:
            continue
        with (
            enclosed(f'<div data-set="s{number}">', "</div>"),
            _folded(own, "Policies for missing answers"),
        ):
            show_table(
                policy_table(missing, release, name=f"{scope}-policies-{number}"),
                caption=f"{capital(difference_name(own.kind))}s under the four policies for "
                f"missing answers, in {own.kind.unit}",
                css_class="estimates changes",
            )


def _show_items(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    """Show the number of items with changed answers, the first of them, and their text."""
    every = [own.table("flips") for own in sets]
    if all(flips.empty for flips in every):
        return
    _heading(f"Which {sets[0].benchmark.words.items} change?", depth)
    for number, own in enumerate(sets):
        flips = every[number]
        with enclosed(f'<div data-set="s{number}">', "</div>"):
            show_html(f"<p>{escape_html(changing_items(own, flips))}</p>")
            if flips.empty:
                continue
            show_table(
                flip_table(
                    flips, release, name=f"{scope}-flips-{number}", limit=ITEMS_SHOWN, headed=False
                ),
                caption=f"The first {ITEMS_SHOWN} {own.benchmark.words.items}, those that change "
                f"for most pairs first.{_bold(own)}{_UNNAMED * own.many}",
                css_class="estimates compact",
            )
            texts = flip_texts(flips, own.benchmark)
            if texts:
                with closed("Their text"):
                    show_markdown(texts)
    show_html(f'<p class="downloads">All changed answers: {download_links("flips")}.</p>')


def _bold(own: AnswerSet) -> str:
    if own.kind == CHOICE:
        return " Bold: the correct answer."
    return " Bold: the key." if own.benchmark.has_key else ""


def _show_history(release: Release, sets: list[AnswerSet], *, depth: int) -> None:
    model, benchmark = sets[0].model, sets[0].benchmark
    rows = history_of(release, model, benchmark.name)
    if rows["release"].nunique() < 2:
        return
    _heading("Over the releases", depth)
    show_plot(
        history_plot(rows, benchmark),
        name=f"history-{slug_of(benchmark.name)}",
        alt=f"{capital(difference_name(benchmark.kind))}s of {model} in each release; the figures "
        "are in its table.",
        width=7,
        height=1.0 + 1.3 * rows.groupby(["benchmark_version", "strategy"]).ngroups,
    )
