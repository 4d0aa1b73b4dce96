"""Show the page of one model: its finding, and the questions that its charts answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT
from markupsafe import Markup

from fairstats._lib.formatting import (
    capital,
    escape_html,
    escape_markdown,
    level,
    listed,
    number_word,
    quoted,
)
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.benchmarks.declaration import BASELINE, POOLED
from fairstats.benchmarks.kinds import CHOICE, DIFFERENCES
from fairstats.comparisons.successors import FACTS
from fairstats.counts.answer_tables import flipping_items
from fairstats.release.contents import DEFAULT_SITE, RELEASES, Release
from fairstats.report.answer_sets import (
    AnswerSet,
    Pair,
    answer_sets,
    by_benchmark,
    missing_reasons,
    span_of,
)
from fairstats.report.board.tables import shown_fact
from fairstats.report.changed_items import bold_key, flip_table, flip_texts
from fairstats.report.charts.marks import interval
from fairstats.report.charts.rows import MOST_CHARTED, Cell, Chart, Row, chart_html, show_chart
from fairstats.report.findings import findings, ordinal, pair_note
from fairstats.report.notes import (
    noise_line,
    selection_notes,
    submission_facts,
)
from fairstats.report.page_output import (
    closed,
    download_links,
    enclosed,
    filled,
    page_root,
    read_first,
    show_html,
    show_markdown,
    show_table,
    switch,
    switch_rules,
)
from fairstats.report.pairs_table import EVERY, pairs_table
from fairstats.report.ratings.page import rating_headline, rating_scope
from fairstats.report.sections.given import frequent_letter
from fairstats.report.sections.groups import without_figure
from fairstats.report.sections.section import (
    CANNOT,
    Answer,
    Section,
    axis_of,
    by_pair,
    sections,
    set_chart,
)
from fairstats.report.sections.size import smallest_margin
from fairstats.report.sensitivity import change_of, policy_table, robustness, with_missing
from fairstats.report.tables import breakable, rows_with, written_table
from fairstats.report.words import (
    NONE,
    UNKNOWN,
    Figure,
    counted_items,
    difference_name,
    discordant_note,
    figure_of,
    gap_name,
    noun,
    option_noun,
    test_name,
    unsigned,
    words_of,
)
from fairstats.screening.findings import flag_notes

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
    title = f"# {escape_markdown(quoted(model))}"
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
                _show_choices(sets, scope=scope, depth=depth)
            with enclosed("<div>", "</div>"):
                _show_items(release, sets, scope=scope, depth=depth)
        _show_policies(release, sets, scope=scope)
        _show_history(release, sets, scope=scope, depth=depth)


def questions_html(sets: list[AnswerSet], *, scope: str, depth: int) -> str:
    """Return the sections that apply to a model's answers to one benchmark, as HTML."""
    questions = []
    for section in sections():
        applying = [not section.diagnostic and section.applies(own) for own in sets]
        if any(applying):
            about = sets[0] if section.parts else sets[applying.index(True)]
            parts = _parts(section, sets, applying, f"{scope}-{section.order}")
            key = section.key(section.parts(about)[0] if section.parts else about)
            title = section.title(about)
            questions.append({"title": title, "parts": parts, "key": key, "wide": section.wide})
    return filled("questions", questions=questions, depth=depth)


def _parts(
    section: Section, sets: list[AnswerSet], applying: list[bool], name: str
) -> list[dict[str, Any]]:
    """Return the answer and the charts of each answer set that a section is about."""
    chosen = list(zip(sets, applying, strict=True))
    if section.parts:
        chosen = [(own, True) for own in section.parts(sets[0])]
    parts = []
    for number, (own, applies) in enumerate(chosen):
        charts = section.charts(own, f"{name}-{number}") if applies else ()
        answer = section.answer(own) if applies else None
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


def _each(sets: list[AnswerSet]) -> Iterator[tuple[int, AnswerSet]]:
    """Put what is shown of each answer set into an element that the page's control shows."""
    for number, own in enumerate(sets):
        with enclosed(f'<div data-set="s{number}">', "</div>"):
            yield number, own


def _show_figures(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    _heading("All figures", depth)
    for number, own in _each(sets):
        name = f"{scope}-figures-{number}"
        with _folded(own, f"{len(own.pairs)} pairs"):
            show_table(
                pairs_table([own], name=name, columns=EVERY, every=True, whole=True),
                caption=figures_caption(own, release),
                css_class="estimates compact figures",
            )
        texts = [noise_line(own.rows, own.benchmark, release), frequent_letter(own)]
        for text in filter(None, texts):
            show_html(f"<p>{escape_html(text)}</p>")
    methods = f'<a href="{page_root()}reports/methods.html">formulas</a>'
    show_html(
        f'<p class="downloads">Every figure: {download_links("estimates")} · {methods}. '
        f"Answers by {option_noun(sets[0].benchmark)}: "
        f"{download_links('letters')}.</p>"
    )


def _show_choices(sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    _heading("Would other choices change the verdict?", depth)
    for number, own in _each(sets):
        show_html(filled("answer", answer=other_choices(own)))
        if not any(smallest_margin(pair, own) for pair in own.pairs):
            continue
        margin = unsigned(own.kind, own.benchmark.equivalence_margin)
        with _folded(own, "Smallest margins"):
            show_table(
                margins_table(own, name=f"{scope}-margins-{number}"),
                caption=f"A {noun(own.kind)} would be equivalent only with a margin at least this "
                f"wide; the benchmark’s is ±{margin}.",
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
    for number, own in _each(sets):
        flips, name = every[number], f"{scope}-flips-{number}"
        show_html(f'<p class="answer">{escape_html(changing_items(own, flips))}</p>')
        if flips.empty:
            continue
        show_table(
            flip_table(flips, release, name=name, limit=ITEMS_SHOWN, headed=False),
            caption=f"{_first(flips, own)}{bold_key(own.benchmark)}{_UNNAMED * own.many}",
            css_class="estimates compact",
        )
        if texts := flip_texts(flips, own.benchmark):
            with closed("Their text"):
                show_markdown(texts)
    show_html(f'<p class="downloads">All changed answers: {download_links("flips")}.</p>')


def _first(flips: pd.DataFrame, own: AnswerSet) -> str:
    number, items = flips["item_id"].nunique(), own.benchmark.words.items
    which = f"The first {ITEMS_SHOWN} {items}, those" if number > ITEMS_SHOWN else capital(items)
    return f"{which} that change for most pairs first."


def _show_history(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    rows = history_of(release, sets[0].model, sets[0].benchmark.name)
    if rows["release"].nunique() < 2:
        return
    _heading("Over the releases", depth)
    for number, own in _each(sets):
        with enclosed('<div class="question"><div class="over-releases">', "</div></div>"):
            for chart in history_charts(own, rows, name=f"{scope}-history-{number}"):
                show_chart(chart)


def show_head(release: Release, sets: list[AnswerSet], *, title: str) -> None:
    """Show the finding of a model's first answer set, and its key figures."""
    own = sets[0]
    found = findings(own.alone, release)
    figures, how = found.figures, own.benchmark.selected_on.get(own.model)
    if how is not None:
        figures = f"It took part in selecting the items: {how}. Its figures do not describe it."
    sent = pd.concat([one.submissions for one in sets])
    whole = own.whole
    same = _known(own, whole.figure("cfr") if whole else UNKNOWN, "%")
    box = filled(
        "key_figures",
        facts=[_rank(own), _gap(own, whole), ("Same answer (CFR)", *same), _rate(own)],
        tested=_tested(sets),
        declared=_declared(own),
        asked=[*_asked(release, sets), *selection_notes(sent)],
        command=f"fairstats report {release.slugs[own.model]} --release "
        f"{DEFAULT_SITE}/{RELEASES}/{release.name}",
        submitted=submission_facts(sent),
    )
    facts = f"````{{=html}}\n{box}\n````"
    show_markdown(
        f":::: top\n::::: finding\n{title}\n\n"
        f"::: headline\n{escape_markdown(found.headline)}.\n:::\n\n"
        f"::: lede\n{escape_markdown(figures)}\n:::\n\n"
        f"{read_first(own.benchmark.read_first)}\n:::::\n\n{facts}\n::::"
    )


# A name, a figure, and its interval or a note.
Fact = tuple[str, str, str]
_NO_ANSWERS, _WHATEVER = "no answers", "whatever the missing answers are"
_OVER_ALL = "over all possible missing answers"


def _rank(own: AnswerSet) -> Fact:
    name = f"Rank (smallest mean {noun(own.kind)})"
    ranked = own.board.ranked.set_index("model")
    if own.model not in ranked.index:
        # The reason is in the sentence next to the box.
        why = "" if own.model in own.board.why_unranked else "no figure is ranked here"
        if own.model in own.board.could_be_ranked:
            why = "the only model that could be ranked here"
        return name, "not ranked", why
    rank, low, high = ranked.loc[own.model, ["rank", "rank_low", "rank_high"]].astype(int)
    to = " or " if high == low + 1 else " to "
    could = to.join(dict.fromkeys((ordinal(low), ordinal(high))))
    value = f"{ordinal(rank)} of {len(ranked)}"
    return name, value, f"{level(own.release.alpha)} confidence: {could}"


def _gap(own: AnswerSet, whole: Pair | None) -> Fact:
    kind, name = own.kind, gap_name(own.kind)
    value, note = _known(own, whole.gap if whole else UNKNOWN, f" {kind.unit}")
    if whole and note != _NO_ANSWERS:
        note += f", {pair_note(own.benchmark)}"
        note += "; over the pairs with both answers" * whole.of_both_answers
    if whole is None or whole in own.pairs:
        return capital(name), value, note
    gaps = [pair.gap.estimate for pair in own.pairs]
    if min(gaps) < 0 < max(gaps):
        note += f"; {noun(kind)}s in both directions cancel out"
    return f"Mean {name}", value, note


def _rate(own: AnswerSet) -> Fact:
    """Return the accuracy on the original text; over the groups if that was not used."""
    kind, of = own.kind, capital(own.kind.figure)
    unit = "" if kind.numeric else "%"
    if own.original is not None:
        baseline = own.benchmark.attributes[BASELINE]
        text = baseline.groups[baseline.pairs[0][0]].lower()
        return (f"{of}, {text} text", *_known(own, own.original, unit))
    figures, note = [*own.by_group.values()], ""
    if others := without_figure(own):
        note = _OVER_ALL if own.ranged else f"not known for {others}"
    ends = [end for one in figures for end in (one.ends if own.ranged else (one.estimate,))]
    known = [end for end in ends if not math.isnan(end)]
    if not known:
        why = "only differences have ranges" if own.ranged and kind != CHOICE else _NO_ANSWERS
        return of, UNKNOWN.label, why
    return f"{of} of the {own.compared}groups", f"{span_of(known, kind)}{unit}", note


def _known(own: AnswerSet, figure: Figure, unit: str) -> tuple[str, str]:
    """Return a figure and its interval, or the range if only that is known."""
    if figure.known:
        interval = f"{level(own.release.alpha)} CI {figure.limits}"
        return f"{figure.text}{unit}", _WHATEVER if own.ranged else interval
    if own.ranged:
        return f"{figure.limits}{unit}", _OVER_ALL
    return figure.label, _NO_ANSWERS


def _declared(own: AnswerSet) -> str:
    """Return the facts that the publisher declared about the model; empty without any."""
    facts = own.release.model_facts.get(own.model, {})
    shown = {label: shown_fact(facts, fact) for fact, label in FACTS.items()}
    return " · ".join(f"{label}: {text}" for label, text in shown.items() if text)


def _asked(release: Release, sets: list[AnswerSet]) -> Iterator[str]:
    """Yield the questions of screening, to which the leaderboard's mark refers."""
    for own in sets:
        of = f"{capital(own.label)}: " if len(sets) > 1 else ""
        for note in flag_notes(own.screening, release.overruled):
            yield of + note


def _tested(sets: list[AnswerSet]) -> list[str]:
    """Return a line with the snapshots, and a line per version with the number of answers."""
    entries = [entry for one in sets for entry in one.entries]
    lines = [f"Figures above: {sets[0].label}"] if len(sets) > 1 else []
    lines.append(", ".join(snapshots_of(entries)))
    for version in dict.fromkeys(one.board.version for one in sets):
        of = [one for one in sets if one.board.version == version]
        own = [entry for entry in entries if entry["benchmark_version"] == version]
        missing, answers = (sum(entry[name] for entry in own) for name in ("missing", "answers"))
        size = answered(of[0], max(one.items for one in of), answers)
        prompts = f" ({listed(one.prompt for one in of)} prompt{'s' * (len(of) > 1)})"
        lines.append(
            f"{of[0].benchmark.title}, {of[0].version}: {size}"
            f"{prompts if of[0].prompted else ''}, "
            f"{f'{missing:,}' if missing else 'none'} missing{missing_reasons(own)}"
        )
    return lines


def history_of(release: Release, model: str, benchmark: str) -> pd.DataFrame:
    """Return a model's differences between groups in this release and earlier ones.

    The oldest release is first. A release without the model has no row.
    """
    tables = []
    for one in (*release.earlier, release):
        own = one.estimates
        chosen = (
            (own["model"] == model)
            & (own["benchmark"] == benchmark)
            & own["metric"].isin(DIFFERENCES)
            & ~own["attribute"].isin([BASELINE, POOLED])
        )
        tables.append(own[chosen].assign(release=one.name))
    return pd.concat(tables, ignore_index=True)


def history_charts(own: AnswerSet, rows: pd.DataFrame, *, name: str) -> list[Chart]:
    """Draw each pair's difference in every release with the answer set; `rows` of `history_of`."""
    rows = rows_with(rows, UNIT_COLUMNS, own.unit)
    figures = {
        pair: {
            row["release"]: figure_of(own.kind, row) for row in pair.rows(rows).to_dict("records")
        }
        for pair in own.charted
    }
    every = [figure for found in figures.values() for figure in found.values()]
    axis = axis_of(every, "history", "", band=(-own.margin, own.margin), room=0.3)

    def cell(figure: Figure) -> Cell:
        marks = interval(axis, *figure.all, label=figure.text)
        return Cell(marks, figure.written(f" {own.kind.unit}"))

    return [
        set_chart(
            own,
            f"{name}-{number}",
            f"{pair.title} in each release",
            replace(axis, label=pair.name, note=pair.note),
            [(Row(release), figure) for release, figure in found.items()],
            cell,
            heading="Release",
        )
        for number, (pair, found) in enumerate(figures.items())
    ]


_MOST_CHANGES = 4


def figures_caption(own: AnswerSet, release: Release) -> str:
    """Describe the limits and the tests in the table of all figures."""
    if own.ranged:
        limits = "In brackets: the range over all possible missing answers."
    else:
        test = capital(test_name(own.kind))
        limits = f"{level(release.alpha)} intervals in brackets. {test} is the mid-p one."
    size = "AD: absolute accuracy difference. " if own.kind == CHOICE else ""
    text = f"{capital(own.label)}. {limits} {size}CFR: share of pairs with the same answer."
    if own.whole and own.whole.of_both_answers:
        both = "over the pairs with both answers; single pairs use every answer"
        text += f" {own.whole.label}: the difference is {both}."
    if own.kind != CHOICE:
        return f"{text} {discordant_note(own.benchmark)}{_of_samples(own)}"
    if own.neutral is None:
        return text
    return f"{text} EO: AD on the items that are answered correctly with neutral text."


def _of_samples(own: AnswerSet) -> str:
    """State how the samples of a prompt are paired; empty with one sample."""
    rows = own.board.estimates
    notes = rows.loc[rows["model"] == own.model, "method_note"].dropna()
    found = notes.str.extract(r"(\d+) samples per item")[0].dropna()
    if found.empty:
        return ""
    return (
        f" Each prompt was asked {number_word(int(found.iloc[0]))} times, and every answer for one "
        "group is paired with every answer for the other."
    )


def margins_table(own: AnswerSet, *, name: str) -> GT:
    """Show the smallest margin at which each pair would be equivalent; the table's id is `name`."""
    rows = [
        {"pair": breakable(pair.name), "margin": smallest_margin(pair, own) or NONE}
        for pair in own.pairs
    ]
    labels = {"margin": f"Smallest margin, {own.kind.unit}"}
    return written_table(rows, labels, name=name, stub="pair", heading="Pair", right=["margin"])


def other_choices(own: AnswerSet) -> Answer:
    """State whether other methods, or policies for missing answers, would change a verdict."""
    found = robustness(own)
    changed = dict(found.changed)
    # The page also shows the verdict on all pairs together, for which fewer methods exist.
    whole = dict(robustness(own, [own.whole]).changed) if own.whole else {}
    changed |= whole
    words = {
        pair.name: CANNOT if pair.verdict is None else "Yes" if pair in changed else "No"
        for pair in own.pairs
    } | {pair.name: "Yes" for pair in whole}
    if set(words.values()) == {CANNOT}:
        reason = next(filter(None, (pair.reason for pair in own.pairs)), "there is no verdict")
        return Answer(CANNOT, f"{capital(reason)}.")
    said = [f"{pair.name}: {change_of(pair, rows)}." for pair, rows in changed.items()]
    if more := len(said[_MOST_CHANGES:]):
        pairs = "more pair changes" if more == 1 else "more pairs change"
        said = [*said[:_MOST_CHANGES], f"{capital(number_word(more))} {pairs} too."]
    if not said:
        same = f"The verdict is the same with {found.kept}" if found.kept else "There is one method"
        missing = ", and no answer is missing" * with_missing(own.sensitivity).empty
        said = [f"{same}{missing}."]
    for pair, rows in found.uncounted[:_MOST_CHANGES]:
        said.append(
            f"Not counted for {pair.name}: {change_of(pair, rows)}. It is unreliable if few pairs "
            f"are discordant (here {sum(pair.counts or ()):,})."
        )
    return Answer(by_pair(words), " ".join(said))


def snapshots_of(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the snapshots in entries of the manifest, each once."""
    names = dict.fromkeys(entry["snapshot"] for entry in entries)
    return [quoted(name) if name else "snapshot not known" for name in names]


def answered(own: AnswerSet, items: int, answers: int) -> str:
    """State numbers of items and answers, of a set or of several prompts."""
    return f"{counted_items(own.benchmark, items, own.units or None)}, {answers:,} answers"


def changing_items(own: AnswerSet, flips: pd.DataFrame) -> str:
    """State how many items get different answers, in a sentence."""
    of = f" of {own.items:,}" if own.items else ""
    # Answers to controls are no changes between groups.
    found = flipping_items(flips[flips["attribute"].isin(own.benchmark.varied_names)])
    items = own.benchmark.words.items
    text = f"{len(found):,}{of} {items} {'gets' if len(found) == 1 else 'get'} a different answer"
    if len(own.pairs) > 1:
        text += " for at least one pair"
        every = int((found["pairs"] == len(own.pairs)).sum())
        text += f", {every:,} for {'both' if len(own.pairs) == 2 else 'all'} pairs"
    if (flips["sample"] > 0).any():
        text += " (in at least one sample)"
    if (flips["within"] != "").any():
        text += " (for at least one group of the other attribute)"
    return f"{text}."
