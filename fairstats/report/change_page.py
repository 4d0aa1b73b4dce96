"""The pages that compare versions of models, and prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairstats._lib.formatting import escape_markdown, level, points
from fairstats.benchmarks.terms import COMMON
from fairstats.comparisons.declared import STRATEGY, VERSION
from fairstats.release.contents import Release, output_format
from fairstats.report.change_charts import prompt_chart, version_chart
from fairstats.report.change_findings import how_to_read_changes, prompt_finding, version_finding
from fairstats.report.change_rows import Comparison, PairChange, comparisons_of_kind
from fairstats.report.change_tables import change_table, shared_verdict
from fairstats.report.page_output import (
    closed,
    download_links,
    show_html,
    show_markdown,
    show_table,
)
from fairstats.report.row_chart import show_chart

_TERMS = (
    "CFR is the share of vignette pairs with the same answer for both groups. AD is the accuracy "
    "gap between the groups of a pair, in percentage points."
)
_Change = tuple[Comparison, PairChange]


def show_versions(release: Release) -> None:
    """Show which models are better than the version before them."""

    def show(compared: Sequence[Comparison], number: int) -> None:
        sets = {one.set for one in compared}
        about = f"{sets.pop()}. " if len(sets) == 1 else ""
        _show_text(version_finding(compared), about, release, compared)
        show_chart(version_chart(compared, name=f"versions-{number}"), css_class="changed")
        interval = f"change in points, with its {level(release.alpha)} interval"
        marks = f"○ older version, ● newer version. Figures: {interval}"
        _show_key(release, marks, better="better", worse="worse")
        changes = [(one, pair) for one in compared for pair in one.pairs]
        _show_table(changes, release, name=f"version-changes-{number}", about="")

    _show_benchmarks(release, VERSION, show)


def show_strategies(release: Release) -> None:
    """Show whether other prompts than the plain one make gaps smaller."""

    def show(compared: Sequence[Comparison], number: int) -> None:
        vignettes = {one.vignettes for one in compared}
        about = f"{vignettes.pop()}. " if len(vignettes) == 1 else ""
        _show_text(prompt_finding(compared, release), about, release, compared)
        show_chart(prompt_chart(compared, name=f"prompts-{number}"), css_class="changed prompts")
        margin = points(compared[0].benchmark.equivalence_margin, signed=False)
        interval = f"with the {level(release.alpha)} interval of the change"
        marks = (
            f"○ AD with the plain prompt, ● with this prompt, {interval}. Figures: change in "
            f"points. Shaded: equivalence margin ({margin} points)"
        )
        _show_key(release, marks, better="smaller gap", worse="larger gap")
        changes = [(one, pair) for one in compared for pair in one.pairs]
        shown = [(one, pair) for one, pair in changes if pair.any_significant]
        about = f"The {len(shown)} of {len(changes)} comparisons with a significant change. "
        if shown:
            _show_table(shown, release, name=f"prompt-changes-{number}", about=about)

    _show_benchmarks(release, STRATEGY, show)


def _show_benchmarks(
    release: Release, kind: str, show: Callable[[Sequence[Comparison], int], None]
) -> None:
    """Show the comparisons of a kind, benchmark by benchmark."""
    compared = comparisons_of_kind(release, kind)
    for number, own in enumerate(compared.values()):
        if len(compared) > 1:
            show_markdown(f"## {escape_markdown(own[0].benchmark.title)}")
        show(own, number)
    if not compared:
        return
    if output_format() == "html":
        links = download_links("comparisons")
        show_html(f'<p class="downloads">All comparisons: {links}</p>')
    with closed("How to read the table"):
        show_markdown(how_to_read_changes(release))


def _show_text(finding: str, about: str, release: Release, compared: Sequence[Comparison]) -> None:
    """The finding, then what is the same for all rows."""
    policies = {row["missing"] for one in compared for p in one.pairs for row in p.figures.values()}
    items = ""
    if policies == {COMMON}:
        items = " A vignette counts if both sides answered it for both groups of a pair."
    show_markdown(
        f"::: lede\n{escape_markdown(finding)}\n:::\n\n"
        f"::: small\n{escape_markdown(about)}{_TERMS}{items}\n:::"
    )


def _show_key(release: Release, marks: str, *, better: str, worse: str) -> None:
    """What the signs of a chart mean."""
    if release.policies == ["bounds"]:
        show_markdown("::: small\nFigures: the range of the change, in points.\n:::")
        return
    show_markdown(
        f"::: small\n{marks}. In colour: significant changes (adjusted p at most "
        f"{release.alpha:g}), [● {better}]{{.better}}, [● {worse}]{{.worse}}.\n:::"
    )


def _show_table(changes: Sequence[_Change], release: Release, *, name: str, about: str) -> None:
    limits = "range" if release.policies == ["bounds"] else f"{level(release.alpha)} CI"
    verdict = shared_verdict(changes)
    if verdict is not None and len(changes) > 1:
        about += f"Every verdict is {verdict}. "
    show_table(
        change_table(changes, name=name, limits=limits),
        caption=f"{about}Accuracy is the mean of the two groups. Bold: significant changes.",
        css_class="estimates compact",
    )
