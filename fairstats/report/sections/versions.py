"""Answer the questions of a model's page about the previous version."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fairstats._lib.formatting import capital, level, listed, number_word, p_value
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.comparisons.change_verdicts import BETTER, LOSE_LOSE, WIN_WIN
from fairstats.comparisons.compare import VERSION
from fairstats.release.contents import Release, plain_first
from fairstats.report.answer_sets import AnswerSet, Pair
from fairstats.report.changes.rows import (
    caution,
    comparisons_of_kind,
    directed,
    gap_of,
    prompted,
    written_as,
)
from fairstats.report.changes.tables import change_table
from fairstats.report.charts.marks import axis_over, dot, line
from fairstats.report.charts.rows import Cell, Chart, Row
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM
from fairstats.report.sections.section import CANNOT, Answer, Mark, Section, Shown, by_pair
from fairstats.report.words import counted_items, plain, scaled, signed_range

_PAIR = ["attribute", "group_a", "group_b"]


def compared_figures(kind: Kind) -> dict[str, str]:
    """Return the figures that are compared, as the charts name them."""
    gap = f"delta_{kind.disparity}"
    units = dict.fromkeys(directed(kind), ", %") | {gap: f", {kind.unit}"}
    if kind.numeric:
        units[f"delta_{kind.rate}"] = ""
    return {metric: f"{label}{units[metric]}" for metric, label in directed(kind).items()}


@dataclass(frozen=True)
class VersionChange:
    """Compare a model with the previous version.

    Parameters
    ----------
    own : AnswerSet
        The answers of the newer model.
    rows : pandas.DataFrame
        Their comparison, from `fairstats.comparisons.compare.comparisons_of`.
    """

    own: AnswerSet
    rows: pd.DataFrame

    @property
    def older(self) -> str:
        """Return the name of the previous version, with the earlier release that has it."""
        older = str(self.rows["model_old"].iloc[0])
        return f"{older} (release {self.release})" if self.release else older

    @property
    def release(self) -> str | None:
        """Return the earlier release that has the older answers; None if it is this one."""
        release = self.rows["release_old"].iloc[0]
        return release if isinstance(release, str) else None

    def answer(self) -> Answer:
        """State whether the newer model is better."""
        alpha, words = self.own.release.alpha, {}
        better, worse = improved(self.rows, alpha), improved(self.rows, alpha, sign=-1)
        for pair in self.own.pairs:
            own = of_pair(self.rows, pair)
            verdict = own["verdict"].iloc[0] if len(own) else None
            if not isinstance(verdict, str):
                word = CANNOT
            elif verdict in (WIN_WIN, LOSE_LOSE):
                word = "Yes" if verdict == WIN_WIN else "No, worse"
            elif own["verdict_reason"].notna().any():
                word = "Unclear"
            else:
                up, down = better[own.index].any(), worse[own.index].any()
                word = "Mixed" if up and down else "Partly" if up else "No" if down else "Unclear"
            words[pair.name] = word
        return Answer(by_pair(words), " ".join(self._sentences(better, worse)))

    def _sentences(self, better: pd.Series, worse: pd.Series) -> list[str]:
        kind, alpha = self.own.kind, self.own.release.alpha
        judged = self.rows["metric"].isin(BETTER)
        n = int(judged.sum())
        if self.rows["p_value"].isna().all():
            text = "Each change is a range, because missing answers could be anything."
            return [text, *self._notes()]
        adjusted = f"adjusted p at most {alpha:g}"
        if better[judged].all():
            largest = p_value(self.rows.loc[judged, "p_adjusted"].max()).replace("=", "≤")
            more = "more accurate, more consistent" if kind == CHOICE else "more consistent"
            text = f"It is {more} and has smaller gaps"
            return [f"{text} ({self._with}, adjusted {largest}).", *self._notes()]
        counts = [(int(better.sum()), "better"), (int(worse.sum()), "worse")]
        named = [
            f"{number_word(count)} {'is' if count == 1 else 'are'} significantly {word}"
            for count, word in counts
            if count
        ]
        found = listed(named) if named else "none is significant"
        figures = "accuracy, CFR and AD" if kind == CHOICE else f"CFR and {gap_of(kind)}"
        text = f"Of {number_word(n)} changes in {figures}, {found}"
        return [f"{text} ({self._with}, {adjusted}).", *self._notes()]

    @property
    def _with(self) -> str:
        items = counted_items(self.own.benchmark, int(self.rows["n"].max()))
        asked = prompted(self.own.release, self.own.benchmark.name)
        return f"{self.own.prompt} prompt, {items}" if asked else items

    def _notes(self) -> list[str]:
        """Why the comparison is open, or not like for like."""
        notes = map(caution, self.rows["method_note"].dropna())
        texts = [*self.rows["verdict_reason"].dropna(), *notes]
        return [f"{capital(text)}." for text in dict.fromkeys(filter(None, texts))]

    def charts(self, *, name: str) -> list[Chart]:
        """Draw one chart per figure, from the older to the newer model.

        Parameters
        ----------
        name : str
            The charts' name, unique on the page.
        """
        figures = compared_figures(self.own.kind)
        return [self._chart(metric, f"{name}-{metric}", title) for metric, title in figures.items()]

    def _chart(self, metric: str, name: str, title: str) -> Chart:
        of_metric = self.rows[self.rows["metric"] == metric]
        benchmark = self.own.benchmark
        kind = written_as(metric, benchmark.kind)
        limits = (0.0, 100.0)
        if kind.numeric:
            gap = metric == f"delta_{kind.disparity}"
            limits = (0.0, benchmark.span) if gap else benchmark.limits
        axis = axis_over(
            [scaled(kind, value) for value in pd.concat([of_metric["old"], of_metric["new"]])],
            key=metric,
            label="",
            note=title,
            room=0.04,
            lead=0.04,
            limits=limits,
            signed=False,
            unit="%" if title.endswith("%") else "",
        )
        rows = []
        for pair in self.own.charted:
            for _, row in of_pair(of_metric, pair).iterrows():
                text = change_text(row, kind)
                old, new = scaled(kind, row["old"]), scaled(kind, row["new"])
                better, worse = (
                    improved(row.to_frame().T, self.own.release.alpha, sign=sign).all()
                    for sign in (1, -1)
                )
                colour = ACCENT_B if better else ACCENT_A if worse else DIM
                marks = line(axis, old, new, colour=colour)
                marks += dot(axis, old, colour=DIM, hollow=True) + dot(axis, new, colour=colour)
                said = f"change {text}"
                if not (pd.isna(old) or pd.isna(new)):
                    said = f"{plain(kind, row['old'])} to {plain(kind, row['new'])}, {said}"
                if not pd.isna(row["p_adjusted"]):
                    said += f", adjusted {p_value(row['p_adjusted'])}"
                rows.append(Row(pair.name, (Cell(marks, said),), (text,)))
        caption = f"{title}: {self.older} and {self.own.model}"
        heads = (f"Change, {kind.unit}",)
        return Chart(name, caption, "Pair", (axis,), tuple(rows), heads, height=24)


def version_change(own: AnswerSet, *, again: bool = False) -> VersionChange | None:
    """Compare a model with its previous version; None if the release has none.

    Parameters
    ----------
    own : AnswerSet
        One of the model's answer sets of a benchmark. That of the plain prompt is compared, if
        there is one.
    again : bool
        Whether to compare this answer set with the model's answers in an earlier release instead.
    """
    rows = comparisons(own.release, VERSION, own)
    rows = rows[rows["metric"].isin(compared_figures(own.kind)) & (rows["model_new"] == own.model)]
    rows = plain_first(rows[(rows["model_old"] == own.model) == again])
    for keys, of_set in rows.groupby(["benchmark_version", "strategy"], sort=False):
        # "a → b" if the two models answered different vignettes.
        version, strategy = str(keys[0]).rpartition(" → ")[2], keys[1]
        for one in [own] if again else own.siblings():
            if (one.board.version, one.board.strategy) == (version, strategy):
                return VersionChange(one, of_set)
    return None


def _of(own: AnswerSet) -> VersionChange:
    change = version_change(own)
    assert change is not None
    return change


def _parts(own: AnswerSet) -> list[AnswerSet]:
    change = version_change(own)
    return [change.own] if change else []


def version_key(newer: VersionChange) -> list[Mark]:
    """Return the marks of the charts of a comparison of versions."""
    own, alpha = newer.own, newer.own.release.alpha
    better, worse = (improved(newer.rows, alpha, sign=sign) for sign in (1, -1))
    found = {"dim": ~(better | worse), "b": better, "a": worse}
    words = {"dim": "", "b": ", significantly better", "a": ", significantly worse"}
    return [
        Mark(newer.older, "hollow"),
        *(Mark(f"{own.model}{words[css]}", css) for css, rows in found.items() if rows.any()),
        Mark("change: newer − older; ↑ higher is better, ↓ lower is better"),
    ]


def change_tables(own: AnswerSet, kind: str) -> list[Shown]:
    """Return the table of a model's changes from other versions, or from other prompts."""
    compared = comparisons_of_kind(own.release, kind).get(own.benchmark.name, [])
    changes = [(one, pair) for one in compared if one.new == own.model for pair in one.charted]
    if not changes:
        return []
    limits = "range" if own.ranged else f"{level(own.release.alpha)} CI"
    table = change_table(changes, name=f"changes-{kind}", limits=limits)
    return [Shown(table, "Changes of all figures. Bold: significant changes")]


def comparisons(release: Release, kind: str, own: AnswerSet) -> pd.DataFrame:
    rows = release.all_comparisons
    return rows[(rows["kind"] == kind) & (rows["benchmark"] == own.benchmark.name)]


def of_pair(rows: pd.DataFrame, pair: Pair) -> pd.DataFrame:
    """Return the rows of one pair of groups."""
    return rows[(rows[_PAIR] == [pair.attribute, *pair.groups]).all(axis=1)]


def improved(rows: pd.DataFrame, alpha: float, *, sign: int = 1) -> pd.Series:
    """Return the changes that are significantly better; with the sign −1, significantly worse."""
    direction = rows["metric"].map(BETTER) * sign * rows["estimate"]
    return (rows["p_adjusted"] <= alpha) & (direction > 0)


def change_text(row: pd.Series, kind: Kind) -> str:
    """Return a change with its limits, without the unit."""
    # A line may break between the two, not inside the limits.
    limits = signed_range(kind, row["ci_low"], row["ci_high"]).replace(" ", "\u00a0")
    estimate = "" if pd.isna(row["estimate"]) else f"{kind.signed(row['estimate'])} "
    return f"{estimate}({limits})" if limits else estimate or "not known"


SECTION = Section(
    order=90,
    title=lambda own: f"Is it better than {_of(own).older}?",
    answer=lambda own: _of(own).answer(),
    applies=lambda own: version_change(own) is not None,
    charts=lambda own, name: _of(own).charts(name=name),
    key=lambda own: version_key(_of(own)),
    tables=lambda own: change_tables(own, VERSION),
    parts=_parts,
)
