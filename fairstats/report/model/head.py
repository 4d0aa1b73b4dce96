"""Show the head of a model's page: the finding, what to know first, and the key figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    escape_html,
    escape_markdown,
    level,
    listed,
    percent_range,
)
from fairstats.benchmarks.declaration import BASELINE
from fairstats.benchmarks.kinds import CHOICE
from fairstats.release.contents import DEFAULT_SITE, RELEASES, Release
from fairstats.report.answer_sets import UNKNOWN, AnswerSet, Figure, span_of
from fairstats.report.board.figures import asked_items
from fairstats.report.findings import findings, ordinal, pair_note
from fairstats.report.notes import submission_facts, submissions_of
from fairstats.report.page_output import show_markdown
from fairstats.report.words import (
    counted_items,
    gap_name,
    noun,
    plain,
    plain_range,
    scale_of,
    signed_range,
)


def show_head(release: Release, sets: list[AnswerSet], *, title: str) -> None:
    """Show the finding of a model's first answer set, and its key figures.

    Parameters
    ----------
    release : Release
        The release with the answer sets.
    sets : list of AnswerSet
        The model's answers to one benchmark, with the main answer set first.
    title : str
        The heading above the finding, in Markdown.
    """
    own = sets[0]
    found = findings(own.alone, release)
    note = ""
    if own.benchmark.read_first:
        text = escape_markdown(own.benchmark.read_first.strip())
        note = f"\n\n::: note\n**Read this first.** {text}\n:::"
    figures, how = found.figures, own.benchmark.selected_on.get(own.model)
    if how is not None:
        figures = f"It took part in selecting the items: {how}. Its figures do not describe it."
    facts = f"````{{=html}}\n{_facts(release, sets)}\n````"
    show_markdown(
        f":::: top\n::::: finding\n{title}\n\n"
        f"::: headline\n{escape_markdown(found.headline)}.\n:::\n\n"
        f"::: lede\n{escape_markdown(figures)}\n:::{note}\n:::::\n\n{facts}\n::::"
    )


def _facts(release: Release, sets: list[AnswerSet]) -> str:
    """Return the key figures of the first set, and the tests in all of them, as HTML."""
    own = sets[0]
    sure = level(release.alpha)
    facts = [_rank(own, sure), _gap(own, sure), _same(own, sure), _accuracy(own, sure)]
    cells = "".join(
        f"<div><dt>{escape_html(name)}</dt><dd><b>{escape_html(value)}</b> "
        f"{escape_html(note)}</dd></div>"
        for name, value, note in facts
    )
    tested = "<br>".join(escape_html(line) for line in _tested(sets))
    command = f"fairstats report {release.slugs[own.model]} "
    command += f"--release {DEFAULT_SITE}/{RELEASES}/{release.name}"
    tested += f"<br>Audit report: <code>{escape_html(command)}</code>"
    if len(sets) > 1:
        tested = f"Figures above: {escape_html(own.label)}<br>{tested}"
    tested = f'<div class="whole"><dt>Tested</dt><dd>{tested}</dd></div>'
    sent = pd.concat([submissions_of(release, one.board, own.model) for one in sets])
    if lines := submission_facts(sent):
        texts = "<br>".join(map(escape_html, lines))
        tested += f'<div class="whole"><dt>Submitted answers</dt><dd>{texts}</dd></div>'
    return f'<dl class="key-figures">{cells}{tested}</dl>'


Fact = tuple[str, str, str]


def _rank(own: AnswerSet, sure: str) -> Fact:
    name = f"Rank (smallest mean {noun(own.kind)})"
    ranked = own.board.ranked.set_index("model")
    if own.model not in ranked.index:
        # The reason is in the sentence next to the box.
        why = "" if own.model in own.board.why_unranked else "no figure is ranked here"
        return name, "not ranked", why
    if len(ranked) < 2:
        return name, "not ranked", "the only model that could be ranked here"
    row = ranked.loc[own.model]
    low, high = int(row["rank_low"]), int(row["rank_high"])
    could = (
        f"{ordinal(low)} to {ordinal(high)}"
        if high > low + 1
        else (f"{ordinal(low)} or {ordinal(high)}")
    )
    value = f"{ordinal(int(row['rank']))} of {len(ranked)}"
    return name, value, f"{sure} confidence: {ordinal(low) if low == high else could}"


def _gap(own: AnswerSet, sure: str) -> Fact:
    whole = own.whole
    several = whole is not None and whole not in own.pairs
    kind, scale = own.kind, scale_of(own.kind, own.kind.difference)
    name = gap_name(kind)
    name = f"Mean {name}" if several else capital(name)
    gap = UNKNOWN if whole is None else whole.gap
    limits = signed_range(kind, gap.low / scale, gap.high / scale)
    value, note = _fact(own, gap, kind.signed(gap.estimate / scale), limits, f" {kind.unit}", sure)
    if own.ranged or gap.known:
        note += f", {pair_note(own.benchmark)}"
    gaps = [pair.gap.estimate for pair in own.pairs]
    if several and min(gaps) < 0 < max(gaps):
        note += f"; {noun(kind)}s in both directions cancel out"
    return name, value, note


def _rate(own: AnswerSet, figure: Figure, sure: str) -> tuple[str, str]:
    kind, scale = own.kind, scale_of(own.kind, own.kind.rate_a)
    limits = plain_range(kind, figure.low / scale, figure.high / scale)
    shown = plain(kind, figure.estimate / scale)
    return _fact(own, figure, shown, limits, "" if kind.numeric else "%", sure)


def _share(own: AnswerSet, figure: Figure, sure: str) -> tuple[str, str]:
    limits = percent_range(figure.low / 100, figure.high / 100)
    return _fact(own, figure, f"{figure.estimate:.1f}", limits, "%", sure)


def _fact(
    own: AnswerSet, figure: Figure, value: str, limits: str, unit: str, sure: str
) -> tuple[str, str]:
    """Return a figure and its interval, or the range if only that is known."""
    if own.ranged and not figure.known:
        return f"{limits}{unit}", "over all possible missing answers"
    if not figure.known:
        return "not known", "no answers"
    limits = "whatever the missing answers are" if own.ranged else f"{sure} CI {limits}"
    return f"{value}{unit}", limits


def _same(own: AnswerSet, sure: str) -> Fact:
    whole = own.whole
    figure = UNKNOWN if whole is None else whole.figure("cfr")
    return ("Same answer (CFR)", *_share(own, figure, sure))


def _accuracy(own: AnswerSet, sure: str) -> Fact:
    """Return the accuracy on the original text; over the groups if that was not used."""
    baseline, of = own.benchmark.attributes.get(BASELINE), capital(own.kind.figure)
    if baseline is not None:
        first = baseline.pairs[0][0]
        figure = own.baseline(first)
        if figure is not None:
            name = f"{of}, {baseline.groups[first].lower()} text"
            return (name, *_rate(own, figure, sure))
    known = [figure.estimate for figure in own.by_group.values() if figure.known]
    if not known:
        why = "only differences have ranges" if own.ranged and own.kind != CHOICE else "no answers"
        return of, "not known", why
    unit = "" if own.kind.numeric else "%"
    return f"{of} of the groups", f"{span_of(known, own.kind)}{unit}", ""


def _tested(sets: list[AnswerSet]) -> list[str]:
    """Return a line with the snapshots, and a line per version with the number of answers."""
    entries = [(one, entry) for one in sets for entry in one.entries]
    snapshots = dict.fromkeys(entry["snapshot"] or "snapshot not known" for _, entry in entries)
    lines = [", ".join(snapshots)]
    for version in dict.fromkeys(one.board.version for one in sets):
        own = [(one, entry) for one, entry in entries if one.board.version == version]
        lines.append(_counted(own))
    return lines


def _counted(entries: list[tuple[AnswerSet, dict[str, Any]]]) -> str:
    """Return items times variants times prompts, if that equals the number of answers."""
    one = entries[0][0]
    items = {entry["items"] for _, entry in entries}
    answers = sum(entry["answers"] for _, entry in entries)
    missing = sum(entry["missing"] for _, entry in entries)
    prompts = list(dict.fromkeys(own.prompt for own, _ in entries))
    variants, most = len(one.benchmark.variants), max(items)
    text = f"{one.benchmark.title}, {one.version}: {most:,} item{'s' * (most != 1)}"
    if one.kind != CHOICE:
        units = asked_items(one.board, one.release)[1]
        counted = counted_items(one.benchmark, most, units)
        text = f"{one.benchmark.title}, {one.version}: {counted}"
    if len(items) == 1 and most * variants * len(prompts) == answers:
        text += f" × {variants} variants"
        text += f" × {len(prompts)} prompts" if len(prompts) > 1 else ""
        text += f" = {answers:,} answers"
        text += f" ({prompts[0]} prompt)" if len(prompts) == 1 else ""
    else:
        text += f", {answers:,} answers ({listed(prompts)} prompt{'s' * (len(prompts) > 1)})"
    return f"{text}, {f'{missing:,}' if missing else 'none'} missing"
