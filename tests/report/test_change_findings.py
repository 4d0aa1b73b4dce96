"""The sentences, charts and tables of comparisons written by hand."""

from __future__ import annotations

import math
import re

import pytest

from fairstats._lib.formatting import quoted
from fairstats.benchmarks.loading import load_benchmark
from fairstats.report.changes.findings import prompt_finding, version_answer, version_finding
from fairstats.report.changes.page import change_chart, change_table, how_to_read_changes
from fairstats.report.changes.rows import changes_of, comparisons_of_kind
from fairstats.report.charts.rows import chart_html, chart_svg

from .changes import (
    BETTER,
    SAME,
    WORSE,
    charted,
    compared,
    release_of,
    three_pairs,
    verdicts_of,
    words_of,
)

#: Better in accuracy and CFR, with an unchanged AD.
PARTLY = (*BETTER[:2], SAME[2])
SHOWN, OPEN = "disparity", "inconclusive"
HOSTILE = "<b>x</b> | $y$ {z}"


def of(rows, kind="version", **declared):
    return comparisons_of_kind(release_of(rows, **declared), kind)["demo"]


def version_sentences(*rows):
    return version_finding(of([row for own in rows for row in own]))


def named(changes, *others, **names):
    return compared(changes, *others, model_new="New-2", **names)


UNLIKE = [
    row | {"verdict": "unclear", "verdict_reason": "the questions are different"}
    for row in compared(
        *(BETTER, BETTER, BETTER),
        benchmark_version="0 → 1",
        method_note="different questions: benchmark versions 0 and 1",
    )
]
VERSIONS = {
    "two better for every pair": (compared(BETTER, BETTER, BETTER), named(BETTER, BETTER, BETTER)),
    "better for two pairs, and unclear": (compared(BETTER, SAME, BETTER), named(SAME)),
    "accuracy and CFR improved": (compared(PARTLY, PARTLY, PARTLY),),
    "unclear": (compared(SAME),),
    "worse, and better": (compared(WORSE), named(BETTER)),
    "different questions": (UNLIKE,),
    "unclear, and better with another prompt": (compared(SAME), compared(BETTER, strategy="cot")),
}


def bare(table):
    """Return a table's HTML without the columns' names in its cells."""
    return re.sub(r'<span class="cell-label.*?</span>\s*', "", table.as_raw_html())


def test_version_findings(snapshot):
    found = {name: version_sentences(*rows) for name, rows in VERSIONS.items()}
    assert found == snapshot


def test_questions_of_screening_are_next_to_the_verdict():
    rows = [row | {"n": 40} for row in compared(BETTER)]
    old, new = rows[0]["model_old"], rows[0]["model_new"]
    for asked in ([], ["other"], [old], [new, old]):
        (own,) = of(rows, questioned=asked)
        about = [name for name in (old, new) if name in asked]
        for text in (version_finding([own]), version_answer(own)[1]):
            assert ("creening has a question" in text) == bool(about)
            assert all(name in text.partition("creening has")[2] for name in about)


def test_versions_asked_different_questions_get_no_verdict():
    markup = chart_html(change_chart(of(UNLIKE), name="c"))
    assert "different questions, no verdict" in markup
    table = bare(change_table(changes_of(of(UNLIKE)), name="t")[0])
    assert table.count(">no verdict<") == 3
    assert "Not like for like" in table
    assert "<strong" not in table
    assert "win-win" not in table
    assert "var(--a)" not in markup
    assert "var(--b)" not in markup
    assert set(re.findall(r"p\xa0[^,]*, ([a-z ]+)\"", markup)) == {"different questions"}


def test_different_settings_are_named_on_the_page():
    note = "different settings: temperature 0 → 1"
    rows = compared(BETTER, method_note=note)
    table = bare(change_table(changes_of(of(rows)), name="t")[0])
    assert f"Not like for like: {note}" in table
    # The verdict stays: a setting may change nothing.
    assert "win-win" in table
    assert version_finding(of([*rows, *named(BETTER)])).endswith(
        f"Not like for like: “New-1” ({note})."
    )


def bounds(row):
    unknown = dict.fromkeys(("old", "new", "estimate", "p_adjusted", "p_pair_adjusted"), math.nan)
    return row | unknown | {"verdict": None, "missing": "bounds"}


def test_ranges_are_shown_without_test_under_bounds():
    rows = [bounds(row) for row in compared(BETTER, SAME)]
    assert version_sentences(rows).endswith(
        "not judged: each change is a range, because missing answers could be anything."
    )
    chart = change_chart(of(rows), name="c")
    assert "<circle" not in "".join(cell.marks for row in chart.rows for cell in row.cells)
    cells = charted(chart_html(chart))
    assert "change −6.0 to −2.0" in cells["“Old-1” → “New-1”", "Race", "AD"]
    markup = change_table(changes_of(of(rows)), name="t")[0].as_raw_html()
    assert "−6.0 to −2.0" in markup
    assert "adjusted p" not in re.sub("<span.*?</span>", "", markup)
    prompts = [row | {"kind": "strategy", "strategy": "plain → cot"} for row in rows]
    prompts = [row | {"model_old": "New-1"} for row in prompts]
    assert prompt_finding(of(prompts, "strategy"), release_of(prompts)).endswith("no test.")
    assert "−6.0 to −2.0" in chart_html(change_chart(of(prompts, "strategy"), name="c"))


def test_unknown_figures_are_not_drawn():
    rows = [bounds(row) | {"ci_low": math.nan, "ci_high": math.nan} for row in compared(SAME)]
    rows += compared(BETTER, model_new="New-2")
    cells = charted(chart_html(change_chart(of(rows), name="c")))
    assert cells["", "“Old-1” → “New-1”", "CFR"] == "CFR: change not known points"
    assert "nan" not in chart_html(change_chart(of(rows), name="c"))
    assert version_sentences(rows).startswith("Compared with the version before, “New-2” is better")


@pytest.mark.parametrize("lowest", [0.05, 0.19, 0.21, 0.33, 0.43, 0.48, 0.59, 0.61, 0.83])
def test_labels_of_the_axes_enclose_all_marks(lowest):
    rows = [
        row | {"old": row["old"] - shift, "new": row["new"] - shift}
        for row in compared(BETTER, WORSE)
        for shift in [0 if row["metric"] == "delta_ad" else 0.65 - lowest]
    ]
    chart = change_chart(of(rows), name="c")
    for axis, metric in zip(chart.axes, ("delta_accuracy", "delta_cfr"), strict=False):
        values = [100 * row[side] for row in rows for side in ("old", "new")
                  if row["metric"] == metric]  # fmt: skip
        assert max(0, axis.low) <= axis.ticks[0] <= min(values) < 100 == axis.ticks[-1]


def test_dots_are_at_the_figures():
    rows = compared(BETTER, WORSE, SAME)
    chart = change_chart(of(rows), name="c")
    at = {(r["attribute"], r["metric"]): r for r in rows}
    for row, attribute in zip(chart.rows[1:], ("race", "sex", "ses"), strict=True):
        for axis, cell, metric in zip(
            chart.axes, row.cells, ("delta_accuracy", "delta_cfr", "delta_ad"), strict=True
        ):
            own = at[attribute, metric]
            dots = re.findall(r'<circle cx="([^"]+)"', cell.marks)
            assert dots == [axis.at(100 * own["old"]), axis.at(100 * own["new"])]
            assert cell.words == words_of(own)
    accuracy, cfr, ad = chart.axes
    assert (accuracy.low, accuracy.high, accuracy.ticks[-1]) == (cfr.low, cfr.high, 100)
    assert ad.ticks[0] == ad.low == 0
    assert ad.ticks[-1] <= 26


def prompts(*rows):
    found = []
    for own, prompt in zip(rows, ("aware", "cot", "few"), strict=False):
        found += [
            row | {"kind": "strategy", "strategy": f"plain → {prompt}", "model_old": "New-1"}
            for row in own
        ]
    return found


def prompt_sentences(rows, plain=SHOWN, other=SHOWN):
    release = release_of(rows, estimates=verdicts_of(rows, plain, other))
    return prompt_finding(comparisons_of_kind(release, "strategy")["demo"], release)


#: Rows, and the verdicts on the gaps with the plain prompt and with the others.
PROMPTS = {
    "no change": (prompts(compared(SAME, SAME, SAME), compared(SAME, SAME, SAME)),),
    "no change, then unclear": (prompts(compared(SAME), compared(SAME)), SHOWN, OPEN),
    "no gap with the plain prompt": (prompts(compared(SAME)), OPEN),
    "smaller and larger": (prompts(compared(BETTER, SAME, SAME), compared(BETTER, BETTER, WORSE)),),
    "one significant change": (prompts(compared(SAME, BETTER)),),
    "closed": (prompts(compared(BETTER)), SHOWN, "equivalent"),
}


def test_prompt_findings(snapshot):
    assert {name: prompt_sentences(*given) for name, given in PROMPTS.items()} == snapshot


def test_only_significant_changes_have_a_colour():
    rows = prompts(compared(BETTER, SAME, WORSE))
    chart = change_chart(of(rows, "strategy"), name="c")
    markup = [chart_html(chart).split("<tr>")[n] for n in (-3, -2, -1)]
    colours = [set(re.findall(r"var\(--[ab]\)", row)) for row in markup]
    assert colours == [{"var(--b)"}, set(), {"var(--a)"}]


def test_chart_shades_the_gaps_within_the_margin():
    *shares, gap = change_chart(of(compared(SAME)), name="c").axes
    assert [axis.band for axis in shares] == [None, None]
    assert gap.band == (0.0, 5.0)


def test_three_pairs_and_hostile_names_are_shown():
    demo = load_benchmark("demo")
    race = three_pairs(demo)
    rows = [
        row | {"group_a": a, "group_b": b}
        for (a, b), changes in zip(race.pairs, (BETTER, SAME, WORSE), strict=True)
        for row in compared(changes, model_old=HOSTILE, model_new=HOSTILE[::-1])
    ]
    own = of(rows, attributes={**demo.attributes, "race": race})
    text = version_finding(own)
    named = [race.pair_label(race.pairs[n]) for n in (0, 1, 2)]
    assert re.findall(r"(\w+) for", text.partition(": ")[0]) == ["better", "worse", "worse"]
    assert sorted(named, key=text.index) == named
    chart = change_chart(own, name="c")
    cells = charted(chart_html(chart))
    assert {name for _, name, _ in cells} == {race.pair_label(pair) for pair in race.pairs}
    assert {heading for heading, _, _ in cells} == {f"{quoted(HOSTILE)} → {quoted(HOSTILE[::-1])}"}
    changes = [(one, pair) for one in own for pair in one.pairs]
    for markup in (
        chart_html(chart),
        chart_svg(chart),
        change_table(changes, name="t")[0].as_raw_html(),
    ):
        assert "<b>x" not in markup
        assert "<i>A" not in markup
        assert "&lt;i&gt;A" in markup


def test_shared_verdict_is_in_no_column_and_reasons_are_shown():
    def heads(rows):
        return bare(change_table(changes_of(of(rows)), name="t")[0])

    assert "Verdict" not in heads(compared(BETTER, BETTER))
    assert "Verdict" in heads(compared(BETTER, SAME))
    assert "Verdict" in heads(compared(BETTER))
    reason = "the better model is no better than a guess"
    rows = [row | {"verdict_reason": reason} for row in compared(SAME, SAME)]
    assert heads(rows).count(reason) == 2
    verdict = heads([row | {"p_pair_adjusted": 0.0123} for row in compared(BETTER)])
    assert re.search(r"win-win</td>\s*<td[^>]*><span>0\.012</span></td>", verdict)
    tiny = heads(compared(((0.1, 0.0), *BETTER[1:])))
    assert "&lt; 0.001" in tiny.replace("\xa0", " ") or "< 0.001" in tiny.replace("\xa0", " ")
    assert not re.search(r">0(\.0+)?<", tiny)


@pytest.mark.parametrize(
    ("family", "named"),
    [
        ("model", "the comparison"),
        ("board", "all comparisons of the board"),
        ("release", "all comparisons of the release"),
    ],
)
def test_how_to_read_changes_names_the_family_that_is_adjusted_together(family, named):
    text = " ".join(how_to_read_changes(release_of([], family=family)).split())
    assert f"over the pairs of {named}." in text
    assert text.count("at most 0.05") == 2


def test_how_to_read_changes_promises_no_verdict_under_bounds():
    release = release_of([])
    release.policies = ["bounds"]
    text = how_to_read_changes(release)
    assert "no test and no verdict" in text
    assert "win-win" not in text
