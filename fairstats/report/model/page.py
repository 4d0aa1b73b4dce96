"""Show the page of one model: its finding, and the questions that its charts answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from fairstats._lib.formatting import capital, escape_html, escape_markdown, level
from fairstats._lib.safe_names import slug as slug_of
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import Release
from fairstats.report.changed_items import flip_table, flip_texts
from fairstats.report.changes.rows import gap_of
from fairstats.report.charts.rows import MOST_CHARTED, Chart, chart_html
from fairstats.report.model.charts import (
    accuracy_chart,
    beyond_chart,
    discordant_chart,
    error_metrics,
    errors_chart,
    gap_chart,
    others_of,
    ratio_chart,
)
from fairstats.report.model.head import show_head
from fairstats.report.model.history import history_of, history_plot
from fairstats.report.model.prompts import PromptChanges, prompt_changes
from fairstats.report.model.sentences import (
    Answer,
    against_key,
    beyond_controls,
    by_group,
    could_be_chance,
    directions,
    four_fifths,
    matters,
    who_loses,
)
from fairstats.report.model.sets import AnswerSet, prompts_of, sets_of
from fairstats.report.model.tables import (
    changing_items,
    escaped,
    figures_caption,
    figures_table,
    frequent_letter,
    margins_table,
    of_set,
    other_choices,
    smallest_margins,
)
from fairstats.report.model.versions import improved, version_change
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
from fairstats.report.ratings.in_reports import rating_headline, rating_scope
from fairstats.report.sensitivity import policy_table, with_missing
from fairstats.report.words import (
    difference_name,
    gap_name,
    noun,
    option_label,
    unsigned,
    words_of,
)

_UNNAMED = (
    " Groups that are not named gave the same answer as the groups that they are compared with, or "
    "no answer."
)
#: The number of changing items shown; a file contains all of them.
ITEMS_SHOWN = 10


def show_model(release: Release, slug: str) -> None:
    """Show a release's results on one model, named by its page's address."""
    model = next(name for name, own in release.slugs.items() if own == slug)
    found = sets_of(release, model)
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
        options = {own.key: capital(own.label if several else own.prompt) for own in sets}
        items = words_of(sets[0].benchmark).items
        legend = f"{capital(items)} and prompt" if several else "Prompt"
        rules = switch_rules(scope, name, "set", list(options))
        controls = (
            f'<style>{rules}</style><div class="controls">'
            f"<span>{legend} for the charts and tables:</span>{switch(name, legend, options)}</div>"
        )
    with enclosed(f'<section class="model" id="{scope}">{controls}', "</section>"):
        questions = enumerate(_questions(release, sets, scope), start=1)
        shown = "".join(
            f'<div class="question{" wide" * wide}">'
            f"<h{depth}>{number}. {escape_html(title)}</h{depth}>{body}</div>"
            for number, (title, body, wide) in questions
        )
        show_html(f'<div class="questions">{shown}</div>')
        _show_figures(release, sets, scope=scope, depth=depth)
        with enclosed('<div class="questions">', "</div>"):
            with enclosed("<div>", "</div>"):
                _show_choices(release, sets, scope=scope, depth=depth)
            with enclosed("<div>", "</div>"):
                _show_items(release, sets, scope=scope, depth=depth)
        _show_policies(release, sets, scope=scope)
        _show_history(release, sets, depth=depth)


Question = tuple[str, str, bool]


def _questions(release: Release, sets: list[AnswerSet], scope: str) -> Iterator[Question]:
    """Return the title, answers with charts, and width (wide or not) of each question with data."""
    first, second = map(escape_html, sets[0].sides)
    sure = "lines: ranges" if sets[0].ranged else f"lines: {level(release.alpha)} intervals"
    kind = sets[0].kind
    if kind != CHOICE:
        body = _each(sets, by_group, accuracy_chart, f"{scope}-accuracy")
        yield _by_group_title(sets[0]), f"{body}{_key(sure)}", False
    elif any(own.neutral for own in sets):
        sides = [f'<i class="b"></i>{first}', f'<i class="a"></i>{second}']
        key = _key(
            *([] if all(own.many for own in sets) else sides),
            '<i class="bar"></i>neutral text',
            sure,
            "a group is named if its interval lies below that of the neutral text",
        )
        body = _each(sets, who_loses, accuracy_chart, f"{scope}-accuracy")
        yield "Who loses accuracy?", f"{body}{key}", False
    elif any(by_group(own) for own in sets):
        body = _each(sets, by_group, accuracy_chart, f"{scope}-accuracy")
        yield "How accurate is it for each group?", f"{body}{_key(sure)}", False
    if kind.numeric:
        body = _each(sets, directions, discordant_chart, f"{scope}-discordant")
        yield "In which direction do answers move?", body, False
        body = _each(sets, could_be_chance, None, f"{scope}-chance")
    else:
        body = _each(sets, could_be_chance, discordant_chart, f"{scope}-discordant")
    yield "Could it be chance?", body, False
    margin = f"±{sets[0].margin:g}"
    others = any(any(there.values()) for there in map(others_of, sets))
    key = _key(
        f'<i class="a"></i>this model, {sure}',
        *(['<i class="hollow"></i>the other models with the same prompt'] if others else []),
        f"shaded: {margin}{f' {kind.unit}' if kind.numeric else '-point'} margin, a convention of "
        "this benchmark",
    )
    body = _each(sets, matters, gap_chart, f"{scope}-gap")
    yield f"Is the {noun(kind)} big enough to matter?", f"{body}{key}", False
    yield from _questions_of_kind(sets, scope, sure)
    newer = version_change(release, sets)
    if newer is not None:
        charts = "".join(_drawn(chart) for chart in newer.charts(name=f"{scope}-version"))
        better, worse = (improved(newer.rows, release.alpha, sign=sign) for sign in (1, -1))
        found = {"dim": ~(better | worse), "b": better, "a": worse}
        words = {"dim": "", "b": ", significantly better", "a": ", significantly worse"}
        key = _key(
            f'<i class="hollow"></i>{escape_html(newer.older)}',
            *(
                f'<i class="{css}"></i>{escape_html(newer.own.model)}{words[css]}'
                for css, rows in found.items()
                if rows.any()
            ),
            "change: newer − older; ↑ higher is better, ↓ lower is better",
        )
        body = f'<p class="answer">{escaped(newer.answer())}</p>{charts}{key}'
        yield f"Is it better than {newer.older}?", body, False
    prompts = [prompt_changes(release, own) for own in prompts_of(sets)]
    known = [changes for changes in prompts if changes is not None]
    if known:
        title = "Does another prompt close the gap?"
        parts = [_prompts(c, f"{scope}-prompts-{n}", len(known) > 1) for n, c in enumerate(known)]
        yield title, "".join(parts), True


def _questions_of_kind(sets: list[AnswerSet], scope: str, sure: str) -> Iterator[Question]:
    """Return the questions that controls, a key or favourable options add."""
    there = {m for own in sets for m in own.board.estimates["metric"]}
    if "selection_ratio" in there:
        body = _each(sets, four_fifths, ratio_chart, f"{scope}-ratio")
        rule = "shaded: from .80 to 1.25, the limits of the four-fifths rule"
        yield "Is a rate below four fifths of the other?", f"{body}{_key(sure, rule)}", False
    if "beyond_control" in there:
        body = _each(sets, beyond_controls, beyond_chart, f"{scope}-beyond")
        zero = "0: groups change answers as much as controls do"
        yield "Larger than meaningless changes?", f"{body}{_key(sure, zero)}", False
    errors = [f"{metric}_a" for metric in error_metrics(sets[0].kind)]
    if errors and there.issuperset(errors):
        body = _each(sets, against_key, errors_chart, f"{scope}-errors")
        key = [] if sets[0].kind.name == "level" else [sure]
        if sets[0].kind.name == "decision":
            key += ['<i class="b"></i>true positive rate', '<i class="a"></i>false positive rate']
        yield "Which errors does it make for each group?", body + (_key(*key) if key else ""), False


def _by_group_title(own: AnswerSet) -> str:
    """Return the title of the chart of the groups' figures."""
    benchmark = own.benchmark
    if own.kind.name == "decision" and len(benchmark.favourable) == 1:
        return f"Share of “{option_label(benchmark, benchmark.favourable[0])}”, by group"
    return f"{capital(own.kind.figure)}, by group"


def _prompts(changes: PromptChanges, name: str, several: bool) -> str:
    """Return the answer and charts on the prompts of one version."""
    which = f"<br>{escape_html(capital(changes.plain.vignettes))}: " if several else ""
    charts = "".join(_drawn(chart) for chart in changes.charts(name=name))
    kind = changes.plain.kind
    key = _key(
        f"{gap_name(kind)} with its interval",
        "dotted line: plain prompt",
        f'<i class="b"></i>significant change of {gap_of(kind)} against the plain prompt',
        f"shaded: ±{changes.plain.margin:g}{f' {kind.unit}' if kind.numeric else '-point'} margin",
    )
    return (
        f'<p class="answer">{which}{escaped(changes.answer())}</p>'
        f'<div class="by-prompt">{charts}</div>{key}'
    )


def _each(
    sets: list[AnswerSet],
    answer: Callable[[AnswerSet], Answer | None],
    chart: Callable[..., Chart] | None,
    name: str,
) -> str:
    """Return the answer and the chart of every answer set; the control shows one of them."""
    parts = []
    for own in sets:
        given = answer(own) or Answer("Cannot be judged", _no_answer(own))
        drawn = "" if chart is None else _drawn(chart(own, name=f"{name}-{own.key}"))
        if chart in _BY_PAIR and len(own.charted) < len(own.pairs):
            drawn += _key(
                f"the {len(own.charted)} pairs with the largest {noun(own.kind)}s, of "
                f"{len(own.pairs)}; the table below has all of them"
            )
        text = f'<p class="answer">{escaped(given)}</p>{drawn}'
        parts.append(f'<div data-set="{own.key}">{text}</div>')
    return "".join(parts)


#: The charts that show some of many pairs.
_BY_PAIR = (discordant_chart, gap_chart, ratio_chart)


def _no_answer(own: AnswerSet) -> str:
    return "The neutral text was not asked." if own.kind == CHOICE else "No answer could be read."


def _drawn(chart: Chart) -> str:
    return chart_html(chart)


def _key(*entries: str) -> str:
    """Return the marks of a chart, as HTML."""
    return f'<p class="key">{"".join(f"<span>{entry}</span>" for entry in entries)}</p>'


def _heading(text: str, depth: int) -> None:
    show_html(f"<h{depth}>{escape_html(text)}</h{depth}>")


def _folded(own: AnswerSet, summary: str) -> AbstractContextManager[None]:
    """Hide a table with a row per pair behind a line that opens it, if there are many pairs."""
    return closed(summary) if len(own.pairs) > MOST_CHARTED else nullcontext()


def _show_figures(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    _heading("All figures", depth)
    for own in sets:
        with enclosed(f'<div data-set="{own.key}">', "</div>"):
            with _folded(own, f"{len(own.pairs)} pairs"):
                show_table(
                    figures_table(own, name=f"{scope}-figures-{own.key}"),
                    caption=figures_caption(own, release),
                    css_class="estimates compact figures",
                )
            rows = of_set(release.estimates, own)
            texts = [noise_line(rows, own.benchmark, release), frequent_letter(own, release)]
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
    for own in sets:
        answer = escaped(other_choices(own, release))
        show_html(f'<p class="answer" data-set="{own.key}">{answer}</p>')
    if any(smallest_margins(own, release)["estimate"].notna().any() for own in sets):
        kind, gap = sets[0].kind, noun(sets[0].kind)
        margin = unsigned(kind, sets[0].benchmark.equivalence_margin)
        with _folded(max(sets, key=lambda own: len(own.pairs)), "Smallest margins"):
            show_table(
                margins_table(sets, release, name=f"{scope}-margins"),
                caption=f"A {gap} would be equivalent only with a margin at least this wide; the "
                f"benchmark’s is ±{margin}.",
                css_class="estimates compact",
            )
    show_html(f'<p class="downloads">Every method: {download_links("sensitivity")}.</p>')


def _show_policies(release: Release, sets: list[AnswerSet], *, scope: str) -> None:
    """Show the policies for missing answers, for the answer sets with missing answers."""
    for own in sets:
        missing = with_missing(of_set(release.table("sensitivity"), own))
        if missing.empty:
            continue
        with (
            enclosed(f'<div data-set="{own.key}">', "</div>"),
            _folded(own, "Policies for missing answers"),
        ):
            show_table(
                policy_table(missing, release, name=f"{scope}-policies-{own.key}"),
                caption=f"{capital(difference_name(own.kind))}s under the four policies for "
                f"missing answers, in {own.kind.unit}",
                css_class="estimates changes",
            )


def _show_items(release: Release, sets: list[AnswerSet], *, scope: str, depth: int) -> None:
    """Show the number of items with changed answers, the first of them, and their text."""
    every = {own.key: of_set(release.table("flips"), own) for own in sets}
    if all(flips.empty for flips in every.values()):
        return
    _heading(f"Which {sets[0].benchmark.words.items} change?", depth)
    for own in sets:
        flips = every[own.key]
        with enclosed(f'<div data-set="{own.key}">', "</div>"):
            show_html(f"<p>{escape_html(changing_items(own, flips))}</p>")
            if flips.empty:
                continue
            show_table(
                flip_table(
                    flips, release, name=f"{scope}-flips-{own.key}", limit=ITEMS_SHOWN, headed=False
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
