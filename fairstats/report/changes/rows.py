"""The comparisons of a release, pair by pair: two models, two prompts, or two releases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from fairstats._lib.formatting import capital, counted, listed, p_value, quoted
from fairstats.answers.engine_frames import UNIT_COLUMNS
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import POOLED, Benchmark
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.comparisons.change_verdicts import BETTER, PAIR
from fairstats.release.contents import Release
from fairstats.report.charts.rows import largest
from fairstats.report.findings import prompted, set_label
from fairstats.report.tables import rows_with
from fairstats.report.words import plain, signed_range
from fairstats.screening.findings import flags_of

#: The readers' names for the figures of a comparison of choices, and their meanings.
FIGURES = {
    "delta_accuracy": ("Accuracy", "mean of both groups, %"),
    "delta_cfr": ("CFR", "same answer, %"),
    "delta_ad": ("AD", "accuracy gap, points"),
}
_SETS = ["benchmark", "benchmark_version", "model_old", "model_new", "strategy", "release_old"]
_UNLIKE = "different questions"
_ARROW = " → "
# It is in the notes of clustered answers, and no reason for caution.
_UNITS = "the independent units are "


def figures_of(kind: Kind) -> Mapping[str, tuple[str, str]]:
    """Return the readers' names for the figures of a comparison, and their meanings.

    The last one is the absolute difference between the groups.
    """
    if kind == CHOICE:
        return FIGURES
    share = "" if kind.numeric else ", %"
    return {
        f"delta_{kind.rate}": (capital(kind.figure), f"both groups{share}"),
        "delta_cfr": FIGURES["delta_cfr"],
        f"delta_{kind.disparity}": ("Gap", f"absolute difference, {kind.unit}"),
    }


def directed(kind: Kind) -> dict[str, str]:
    """Return the names of the figures with the direction in which they improve, if any."""
    arrows = {1: " ↑", -1: " ↓", 0: ""}
    return {m: f"{label}{arrows[BETTER.get(m, 0)]}" for m, (label, _) in figures_of(kind).items()}


def gap_of(kind: Kind) -> str:
    """Return the readers' name of the absolute difference, inside a sentence."""
    return "AD" if kind == CHOICE else "the gap"


def written_as(metric: str, kind: Kind) -> Kind:
    """Return the kind in whose unit a figure is: CFR is a share for all of them."""
    return CHOICE if metric == "delta_cfr" else kind


def caution(note: str) -> str:
    """Return the part of a comparison's note that restricts its meaning."""
    return "; ".join(part for part in note.split("; ") if not part.startswith(_UNITS))


@dataclass(frozen=True)
class PairChange:
    """Hold the changes for one pair of groups.

    Attributes
    ----------
    pair : (str, str, str)
        The attribute and the two groups, as in the tables.
    name, groups : str
        The readers' names for the pair: by the attribute if it has only this one; and by the
        groups.
    figures : mapping
        The row of the comparisons table of each metric.
    alpha : float
        The level of significance.
    kind : Kind
        The kind of the answers.
    alike : bool
        Whether both sides answered the same questions. If not, no change is significant.
    """

    pair: tuple[str, str, str]
    name: str
    groups: str
    figures: Mapping[str, Mapping[Any, Any]]
    alpha: float
    kind: Kind
    alike: bool

    @property
    def gap(self) -> Mapping[Any, Any]:
        """Return the row of the absolute difference between the groups."""
        return self.figures[f"delta_{self.kind.disparity}"]

    def direction(self, metric: str) -> int:
        """1 for a significant improvement, −1 for a significant worsening, else 0."""
        if metric not in BETTER or not self.significant(metric):
            return 0
        return int(math.copysign(1, BETTER[metric] * self.figures[metric]["estimate"]))

    def significant(self, metric: str) -> bool:
        """Check whether a figure changed significantly, which need not be better or worse."""
        # NaN is not significant either.
        return bool(self.alike and self.figures[metric]["p_adjusted"] <= self.alpha)

    @property
    def verdict(self) -> str | None:
        """Return the verdict on the three figures together; None if it is missing."""
        return _text(self.gap["verdict"])

    @property
    def reason(self) -> str | None:
        """Return the reason why a verdict was withheld."""
        return _text(self.gap["verdict_reason"])

    @property
    def any_significant(self) -> bool:
        """Check whether a figure changed significantly."""
        return any(map(self.significant, figures_of(self.kind)))


@dataclass(frozen=True)
class Comparison:
    """Two answer sets that are compared, the newer model or the other prompt second."""

    benchmark: Benchmark
    version: str
    old: str
    new: str
    strategy: str
    note: str
    pairs: tuple[PairChange, ...]
    #: Whether the benchmark was asked with several prompts.
    prompted: bool = True
    #: The earlier release with the answers of the older model; None if they are in this one.
    release: str | None = None
    #: The models among the two that screening has a question about.
    questioned: tuple[str, ...] = ()

    @property
    def charted(self) -> tuple[PairChange, ...]:
        """Return the pairs that charts show: of many, those whose gap changes most."""
        return tuple(largest(self.pairs, lambda pair: pair.gap["estimate"]))

    @property
    def key(self) -> tuple[str, str]:
        """Return the version of the benchmark and the strategy of the newer answers."""
        return self.version.rpartition(_ARROW)[2], self.prompt

    @property
    def prompt(self) -> str:
        """Return the other strategy of two, or the one that both models have."""
        return self.strategy.rpartition(_ARROW)[2]

    @property
    def reference(self) -> str:
        """Return the strategy that the other one is compared with; empty for two models."""
        return self.strategy.rpartition(_ARROW)[0]

    @property
    def alike(self) -> bool:
        """Check whether both sides answered the same questions."""
        return not self.note.startswith(_UNLIKE)

    @property
    def title(self) -> str:
        """Return the two models, or the model and its two prompts."""
        if not self.reference:
            return f"{self.older}{_ARROW}{quoted(self.new)}"
        prompts = _ARROW.join(map(strategy_label, self.strategy.split(_ARROW)))
        return f"{quoted(self.new)}: {prompts}"

    @property
    def older(self) -> str:
        """Return the older model, with the earlier release that its answers are in."""
        return quoted(self.old) + (f" (release {self.release})" if self.release else "")

    @property
    def before(self) -> str:
        """Name the older one in a sentence about the newer one."""
        again = self.release and self.old == self.new
        return f"its answers in release {self.release}" if again else "the version before"

    @property
    def context(self) -> str:
        """Return what both sides share: the vignettes and, for two models, the prompt."""
        names = self.benchmark.versions
        parts = [self.version] if self.version in names else self.version.split(_ARROW)
        vignettes = _ARROW.join(names.get(part, part) for part in parts)
        named = self.prompted and not self.reference
        return set_label(self.benchmark, vignettes, self.strategy, prompted=named)

    @property
    def ranged(self) -> bool:
        """Check whether changes are ranges over the missing answers, without a test."""
        return self.missing == "bounds"

    @property
    def missing(self) -> str:
        """Return the policy for missing answers."""
        return str(self.pairs[0].gap["missing"])


#: A pair of groups in a comparison: a row of a table.
Change = tuple[Comparison, PairChange]


def changes_of(compared: Iterable[Comparison]) -> list[Change]:
    """Return the changes of all pairs of all comparisons."""
    return [(one, pair) for one in compared for pair in one.pairs]


def comparisons_of_kind(
    release: Release, kind: str, *, model: str | None = None
) -> dict[str, list[Comparison]]:
    """Return the comparisons of one kind by benchmark, in the order of the table.

    `model` limits them to those with this newer model.
    """
    rows = release.all_comparisons[release.all_comparisons["kind"] == kind]
    if model is not None:
        rows = rows[rows["model_new"] == model]
    flags = flags_of(release.screening)
    flagged = set(zip(flags["benchmark"], flags["model"], strict=True))
    found: dict[str, list[Comparison]] = {}
    for (name, *_), own in rows.groupby(_SETS, sort=False, dropna=False):
        compared = comparison_of(own, release.benchmarks[str(name)], release.alpha)
        asked = prompted(release, str(name))
        both = dict.fromkeys((compared.old, compared.new))
        questioned = tuple(model for model in both if (name, model) in flagged)
        full = replace(compared, prompted=asked, questioned=questioned)
        found.setdefault(str(name), []).append(full)
    return found


def comparison_of(rows: pd.DataFrame, benchmark: Benchmark, alpha: float) -> Comparison:
    """Return a comparison from its rows of the table, at a level of significance."""
    first = rows.iloc[0]
    _, version, old, new, strategy = (str(first[name]) for name in _SETS[:-1])
    note = caution(_text(first["method_note"]) or "")
    pairs = tuple(_pair_changes(rows, benchmark, alpha, not note.startswith(_UNLIKE)))
    earlier = _text(first["release_old"])
    return Comparison(benchmark, version, old, new, strategy, note, pairs, release=earlier)


def _pair_changes(
    rows: pd.DataFrame, benchmark: Benchmark, alpha: float, alike: bool
) -> Iterable[PairChange]:
    for pair, own in rows.groupby([*PAIR], sort=False):
        name, first, second = map(str, pair)
        attribute = benchmark.attribute(name)
        groups = attribute.pair_label((first, second))
        single = len(attribute.pairs) == 1
        label = attribute.label if single else benchmark.pair_label(name, (first, second))
        figures = own.set_index("metric").to_dict("index")
        key = (name, first, second)
        yield PairChange(key, label, groups, figures, alpha, benchmark.kind, alike)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def change_text(row: Mapping[Any, Any], kind: Kind) -> str:
    """Write a change with its interval in its unit; only its range if that is all that is known."""
    limits = signed_range(kind, row["ci_low"], row["ci_high"])
    if math.isnan(row["estimate"]):
        return limits or "not known"
    return f"{kind.signed(row['estimate'])} ({limits.replace('+', '')})" if limits else "not known"


def change_words(metric: str, change: PairChange) -> str:
    """Describe a change in words, for screen readers and as a tooltip."""
    row, kind = change.figures[metric], written_as(metric, change.kind)
    levels = [plain(kind, row[side]) for side in ("old", "new")]
    from_to = f" {' to '.join(levels)}," if all(levels) else ":"
    label = figures_of(change.kind)[metric][0]
    words = f"{label}{from_to} change {change_text(row, kind)} {kind.unit}"
    if math.isnan(row["p_adjusted"]):
        return words
    words += f", adjusted {p_value(row['p_adjusted'])}"
    if metric not in BETTER:
        return words
    significance = {1: "better", -1: "worse", 0: "no significant change"}[change.direction(metric)]
    return f"{words}, {significance if change.alike else _UNLIKE}"


NEW, GONE, SAME = "new", "gone", "same"
#: The readers' names for the reasons of changed figures.
REASONS = {
    "answers": "different answers",
    "benchmark": "different benchmark file",
    "method": "different method",
    "family": "p or detectable difference adjusted for other tests",
}
_ANSWERS = {NEW: "new", GONE: "removed", SAME: "the same answers"}
#: What may differ between the two releases, with how it is written.
_SIDES = {
    "snapshot": "snapshot {}", "answers": "{} answers", "missing": "{} missing", "rank": "rank {}",
    "declared": "declared {}", "submitted": "submitter's statements {}",
    "questions": "questions of screening {}", "overruled": "reason for overruling {}",
}  # fmt: skip
#: The readers' names for columns of the answers.
_COLUMNS = {"status": "reasons for missing answers", "prompt_sha256": "prompts"}
#: What a benchmark's declaration says of files, not of items or verdicts.
_OF_FILES = ("name", "items_file", "keys_file", "path", "of_release")
#: Answer sets that the difference of two releases names.
_LISTED = 20


@dataclass(frozen=True)
class SetChange:
    """What changed for the answers of one model to one version of a benchmark with one prompt.

    Attributes
    ----------
    model, name : str
        The model, and the readers' name for the vignettes and the prompt.
    facts : mapping
        Its row of the table ``answer_set_changes``.
    verdicts : tuple of str
        The changed verdicts, in words.
    figures : mapping of str to int
        The number of changed figures, by reason.
    declared : str
        The settings that the benchmark declares differently; empty if these are not known.
    """

    model: str
    name: str
    facts: Mapping[Any, Any]
    verdicts: tuple[str, ...]
    figures: Mapping[str, int]
    declared: str = ""

    @property
    def change(self) -> str:
        """Return "new", "gone", "answers changed" or "same"."""
        return str(self.facts["change"])

    @property
    def matters(self) -> bool:
        """Check whether answers, snapshot, rank, a verdict or a figure changed."""
        return self.text != _ANSWERS[SAME]

    @property
    def text(self) -> str:
        """Return the changes as clauses, e.g. ``"other answers; rank 3–4 of 12 → 2 of 13"``."""
        return "; ".join(self.clauses())

    def clauses(self) -> Iterator[str]:
        """Yield what changed, that of the answers first."""
        # Keys and clusters can change without an answer.
        n = self.facts["changed"]
        other = f"{n:,} other answer{'s' * (n != 1)}" if n else "other keys or clusters"
        yield _ANSWERS.get(self.change) or other
        if self.change in (NEW, GONE):
            return
        told = [name for name in _SIDES if self._moved(name)]
        for name in told:
            yield _SIDES[name].format(f"{self._side(name, 'old')} → {self._side(name, 'new')}")
        if self.facts["benchmark_changed"]:
            yield f"the benchmark is declared differently{self.declared and f' ({self.declared})'}"
        # Older releases do not name them.
        settings = str(self.facts.get("settings_changed", "")).split(", ")
        others = [_COLUMNS.get(name, name) for name in settings if name not in told]
        if any(others):
            yield f"other {listed(others)}"
        yield from self.verdicts
        # Other answers have other figures.
        if self.change == SAME and self.figures:
            yield f"changed figures: {figures_by_reason(self.figures)}"

    def _moved(self, name: str) -> bool:
        old, new = (self.facts.get(f"{name}_{side}") for side in ("old", "new"))
        return old != new and not (pd.isna(old) and pd.isna(new))

    def _side(self, name: str, side: str) -> str:
        value = self.facts[f"{name}_{side}"]
        if pd.isna(value):
            return "not known" if name == "snapshot" else "none"
        if name == "rank":
            return f"{value} of {self.facts[f'ranked_{side}']}"
        return quoted(value) if isinstance(value, str) else f"{value:,}"


def figures_by_reason(counts: Mapping[Any, int]) -> str:
    """Return numbers of changed figures with the reasons, the most frequent first."""
    found = Counter(counts).most_common()
    return ", ".join(f"{count:,} ({REASONS[why]})" for why, count in found)


def set_changes(
    answer_sets: pd.DataFrame,
    verdicts: pd.DataFrame,
    figures: pd.DataFrame,
    *releases: Release,
) -> list[SetChange]:
    """Return what changed for each answer set of two releases.

    The tables are those of `fairstats.publishing.diff.ReleaseDiff`; the newer release comes first.
    """
    unit = list(UNIT_COLUMNS)
    moved = figures.groupby([*unit, "why"]).size()
    found = []
    for row in answer_sets.to_dict("records"):
        key = tuple(row[name] for name in unit)
        benchmark = _declared(key[0], releases)
        own = rows_with(verdicts, unit, key)
        changed = tuple(verdict_text(one, benchmark) for one in own.to_dict("records"))
        counts = moved.xs(key, level=unit).to_dict() if key in moved.index.droplevel("why") else {}
        name, declared = set_name(row, *releases), _declared_differently(key[0], releases)
        found.append(SetChange(row["model"], name, row, changed, counts, declared))
    return found


def _declared_differently(name: str, releases: Sequence[Release]) -> str:
    """Name the settings of a benchmark that differ, with both margins."""
    found = [one.benchmarks[name] for one in releases if name in one.benchmarks]
    if len(found) < 2:
        return ""
    new, old = found
    margins = [f"±{one.kind.shown_margin(one.equivalence_margin)}" for one in (old, new)]
    words = {"equivalence_margin": f"margin {' → '.join(margins)}", "listed": "items"}
    own = [one.name for one in fields(Benchmark) if one.name not in _OF_FILES]
    changed = [one for one in own if getattr(old, one) != getattr(new, one)]
    changed.sort(key=lambda one: one != "equivalence_margin")
    return ", ".join(words.get(one, one.replace("_", " ")) for one in changed)


def _declared(name: str, releases: Sequence[Release]) -> Benchmark | None:
    return next((one.benchmarks[name] for one in releases if name in one.benchmarks), None)


def verdict_text(row: Mapping[Any, Any], benchmark: Benchmark | None) -> str:
    """Write a changed verdict, e.g. ``"Race: disparity → inconclusive (few items)"``."""
    pair = f"{row['group_a']} − {row['group_b']}"
    groups = row["group_a"], row["group_b"]
    if (
        benchmark is not None
        and row["attribute"] in (*benchmark.attributes, POOLED)
        # An older release may declare other groups.
        and set(groups) <= benchmark.attribute(row["attribute"]).groups.keys()
    ):
        pair = benchmark.pair_name(row["attribute"], groups)
    reason = row["verdict_reason"]
    note = f" ({reason})" if isinstance(reason, str) and reason else ""
    return f"{pair}: {row['old']} → {row['new']}{note}"


def set_name(row: Mapping[Any, Any], *releases: Release) -> str:
    """Name the vignettes of an answer set, and its prompt if there are several."""
    name, version = row["benchmark"], row["benchmark_version"]
    benchmark = _declared(name, releases)
    if benchmark is None:
        # Only the previous release declares it, which may not be there.
        return f"{name} {version}, {strategy_label(row['strategy'])}"
    named = any(prompted(one, name) for one in releases)
    label = set_label(benchmark, version, row["strategy"], prompted=named)
    others = {title for one in releases for title in _version_titles(one, besides=name)}
    alike = benchmark.versions.get(version, version) in others
    return f"{benchmark.title}: {label}" if alike else label


def _version_titles(release: Release, *, besides: str) -> Iterator[str]:
    for name, benchmark in release.benchmarks.items():
        if name != besides:
            yield from benchmark.versions.values()


def diff_lines(
    changed: Sequence[SetChange], *, inputs: Sequence[str] = (), every: bool = False
) -> Iterator[str]:
    """Yield what changed between two releases, a line per changed answer set, the verdicts first.

    `inputs` are other inputs that changed, such as ratings: their figures are not compared. Without
    `every`, at most 20 answer sets that changed are named.
    """
    shown = [one for one in changed if every or one.matters]
    kept = [one for one in shown if one.change not in (NEW, GONE)]
    kept = sorted(kept, key=lambda one: (not one.verdicts, one.change == SAME))
    most = len(changed) if every else _LISTED
    yield from (f"{quoted(one.model)}, {one.name}: {one.text}" for one in kept[:most])
    for change in (NEW, GONE):
        names = [f"{quoted(one.model)}, {one.name}" for one in shown if one.change == change]
        more = [f"{len(names) - most} more"] if len(names) > most else []
        if names:
            yield f"{_ANSWERS[change]}: {'; '.join([*names[:most], *more])}"
    if len(kept) > most:
        yield f"{len(kept) - most} more answer sets changed; --all lists them"
    if same := len(changed) - len(shown):
        alike = "with the same answers, rank, verdicts and figures"
        yield f"{counted(same, 'answer set')} {alike}"
    counts = Counter[str]()
    for one in changed:
        counts.update(one.figures)
    how = "" if every else "; --all, --csv or --json lists them"
    last = f"changed figures: {figures_by_reason(counts)}{how}" if counts else "no figure changed"
    yield f"{last}; other {listed(inputs)}" if inputs else last
