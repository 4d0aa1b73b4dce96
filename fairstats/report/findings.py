"""State a board's results in sentences made from its figures: the headline, and its certainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fairstats._lib.formatting import (
    capital,
    level,
    listed,
    number_word,
    p_value,
    quoted,
    span,
    uncapital,
    whole_percent,
)
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import PLAIN, Attribute, Benchmark
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.comparisons.change_verdicts import PAIR
from fairstats.counts.patterns import pooled_attributes
from fairstats.estimates.eligibility import AS_WRONG
from fairstats.estimates.table import is_primary_test
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Board, Release
from fairstats.report.notes import screening_of
from fairstats.report.tables import texts_in
from fairstats.report.words import (
    difference_name,
    gap_name,
    long_unit,
    meaning,
    more_of,
    named_test,
    noun,
    signed_range,
    unsigned,
    words_of,
)
from fairstats.screening.findings import flags_of

# More differences than these are counted, not named.
_MOST_CLAUSES = 2
# More attributes than these are not named.
_MOST_NAMES = 4
# More models than these are counted, not named.
_MOST_BEST = 5


def set_label(benchmark: Benchmark, version: str, strategy: str, *, prompted: bool = True) -> str:
    """Return the readers' name of an answer set's vignettes and prompt, as plain text."""
    vignettes = benchmark.versions.get(version, version)
    return f"{vignettes}, {prompt_label(strategy)}" if prompted else vignettes


def board_label(board: Board, release: Release) -> str:
    """Return the readers' name of a board's vignettes, and of its prompt if there are others."""
    named = prompted(release, board.benchmark.name)
    return set_label(board.benchmark, board.version, board.strategy, prompted=named)


def prompted(release: Release, benchmark: str) -> bool:
    """Check whether a benchmark was asked with a prompt that has a name of its own."""
    own = release.estimates[release.estimates["benchmark"] == benchmark]
    return bool((own["strategy"] != PLAIN).any())


def prompt_label(strategy: str) -> str:
    """Return the readers' name of a prompt, e.g. ``"plain prompt"``."""
    if strategy == PLAIN:
        return "plain prompt"
    label = strategy_label(strategy)
    return f"prompt {label if label.startswith('“') else quoted(label)}"


def pair_note(benchmark: Benchmark) -> str:
    """Return the meaning of a positive difference, e.g. ``"privileged − unprivileged"``."""
    only = _only_pair(benchmark)
    return only[0].pair_label(only[1]) if only else " − ".join(benchmark.pair_terms)


def _only_pair(benchmark: Benchmark) -> tuple[Attribute, tuple[str, str]] | None:
    """Return the attribute and groups of a benchmark's only pair; None if it has several."""
    pairs = [(attribute, pair) for attribute in benchmark.varied for pair in attribute.pairs]
    return pairs[0] if len(pairs) == 1 else None


def lower_for(
    benchmark: Benchmark, attribute: str, groups: tuple[str, str], difference: float
) -> str:
    """State for which of two groups the judged figure is lower, and by how much.

    A level or score with a declared meaning is said to be higher, so the meaning can be given.
    `difference` is the figure of the first group minus that of the second.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> lower_for(load_benchmark("demo"), "race", ("white", "black"), 0.17)
    '17.0 percentage points less accurate for Black than for White'
    """
    kind, declared = benchmark.kind, benchmark.attribute(attribute)
    high, low = (declared.groups.get(group, group) for group in groups)
    if difference < 0:
        high, low = low, high
    size = f"{unsigned(kind, abs(difference))} {long_unit(kind)}"
    # Another attribute can have groups of the same names.
    shared = benchmark.pair_label(attribute, groups) != declared.pair_label(groups)
    of = f" ({declared.label})" * shared
    if benchmark.higher:
        return f"{size} higher ({benchmark.higher}) for {high} than for {low}{of}"
    return f"{size} {'less accurate' if kind == CHOICE else 'lower'} for {low} than for {high}{of}"


def subject_of(kind: Kind, model: str) -> str:
    """Return the subject of a sentence that `lower_for` ends: the model, or its figure."""
    return quoted(model) if kind == CHOICE else f"the {kind.figure} of {quoted(model)}"


@dataclass(frozen=True)
class Findings:
    """Make the sentences of one board.

    Parameters
    ----------
    board : Board
        The board to describe.
    alpha : float
        The significance level of the release's tests.
    about : tuple of str
        The models that the sentences are about, if not those that could be ranked.
    prompted : bool
        Whether to name the prompt.
    questioned : frozenset of str
        The models whose answers screening asks about.
    """

    board: Board
    alpha: float
    about: tuple[str, ...] = ()
    prompted: bool = True
    questioned: frozenset[str] = frozenset()

    @property
    def kind(self) -> Kind:
        """Return the kind of answers, which decides the figure that sentences are about."""
        return self.board.benchmark.kind

    @cached_property
    def models(self) -> list[str]:
        """Return the models that the sentences are about: those that could be ranked."""
        if self.about:
            return list(self.about)
        if not self.board.ranks.empty:
            return self.board.could_be_ranked
        # Under bounds, models are not ranked.
        selected = self.board.benchmark.selected_on
        return [model for model in self.board.models if model not in selected]

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Their differences between groups, one row per model and pair."""
        return self._rows(self.kind.difference)

    def _rows(self, metric: str) -> pd.DataFrame:
        rows = self.board.estimates
        return rows[
            (rows["metric"] == metric)
            & rows["attribute"].isin(self.board.benchmark.varied_names)
            & rows["model"].isin(self.models)
        ]

    @property
    def _sentences(self) -> Mapping[str, Any]:
        return texts_in("findings")

    @cached_property
    def _words(self) -> dict[str, str]:
        """Return what every sentence can name."""
        benchmark, kind, n = self.board.benchmark, self.kind, len(self.models)
        text = benchmark.swayed_by or f"text slanted according to {benchmark.changes}"
        first = f"the {benchmark.pair_terms[0]} group of each pair"
        if only := _only_pair(benchmark):
            attribute, (group, _) = only
            first = f"“{attribute.groups[group]}”"
        return {
            "title": benchmark.title,
            "changes": benchmark.changes,
            "model": quoted((self.models or self.board.models)[0]),
            "every": every(n),
            "models": self._models,
            "one": self._models.removesuffix("s"),
            "whose": self._whose,
            "of": f"{number_word(n)} {self._models}",
            "text": text,
            "Text": capital(text),
            "figure": kind.figure,
            "Figure": capital(kind.figure),
            "gap": noun(kind),
            "Gap": capital(gap_name(kind)),
            "difference": difference_name(kind),
            "mean": self._mean,
            "unit": long_unit(kind),
            "short_unit": kind.unit,
            "margin": kind.shown_margin(benchmark.equivalence_margin),
            "first_group": first,
            "test": named_test(kind),
            "level": level(self.alpha),
            "alpha": f"{self.alpha:g}",
        }

    def _say(self, part: str, case: str, **values: str) -> str:
        return self._filled(self._sentences[part][case], **values)

    def _filled(self, sentence: str, **values: str) -> str:
        return sentence.format_map(self._words | values)

    @property
    def headline(self) -> str:
        """Return the finding in one sentence, without a full stop."""
        n, slanted = len(self.models), self.board.benchmark.slanted
        if n == 0:
            return self._say("headline", f"unranked{'_one' * (len(self.board.models) == 1)}")
        if self.gaps["verdict"].isna().all():
            return self._say("headline", "no_verdict")
        verdicts = self.gaps.groupby("model")["verdict"]
        uneven = int(verdicts.agg(lambda own: (own == DISPARITY).any()).sum())
        if uneven and not slanted:
            return self._who_gets_less(uneven)
        none = "none" if (self.gaps["verdict"] == EQUIVALENT).all() else "unclear"
        case = "every" if uneven == n else "some" if uneven else none
        sentences = self._sentences["headline"]["slanted" if slanted else "neutral"]
        least = self._least("{}") if uneven else ""
        return self._filled(
            sentences[case][n > 1],
            some=self._some(uneven),
            least=least,
            changes=self._changes(self.gaps[self.gaps["verdict"] != EQUIVALENT]),
        )

    def _changes(self, gaps: pd.DataFrame) -> str:
        """Name what varies in some of the gaps, as the benchmark does if that is everything."""
        varied = [attribute for attribute in self.board.benchmark.varied if attribute.pairs]
        own = [attribute.label for attribute in varied if attribute.name in set(gaps["attribute"])]
        if 0 < len(own) < len(varied) and len(own) <= _MOST_NAMES:
            return listed(map(uncapital, own), "or")
        return self.board.benchmark.changes

    def _who_gets_less(self, uneven: int) -> str:
        """State for which groups the figure is lower, by how much, and for how many models."""
        benchmark, n, kind = self.board.benchmark, len(self.models), self.kind
        shown = self.gaps[self.gaps["verdict"] == DISPARITY]
        # The largest first.
        shown = shown.loc[shown["estimate"].abs().sort_values(ascending=False).index]
        pairs = shown[[*PAIR]]
        clauses = [
            lower_for(benchmark, attribute, (a, b), float(gap))
            for (attribute, a, b), gap in zip(
                pairs.head(_MOST_CLAUSES).itertuples(index=False), shown["estimate"], strict=False
            )
        ]
        same = len(pairs.drop_duplicates()) == 1 and (shown["estimate"] > 0).nunique() == 1
        case = "every" if uneven == n else "some"
        if n == 1:
            case = "one" if len(shown) <= _MOST_CLAUSES else "one_of_many"
        elif same and uneven > 1:
            case = "same_pair" if kind == CHOICE else "same_pair_figure"
        who = f"every {self._words['one']}" if uneven == n else self._some(uneven)
        subject = subject_of(kind, self.models[0])
        # No model is named as the one with the largest difference if another one has it too.
        largest = shown.loc[_tied(shown["estimate"].abs()), "model"].unique()
        return self._filled(
            self._sentences["headline"]["lower"][case],
            Subject=subject if kind == CHOICE else capital(subject),
            clauses=", and ".join(clauses),
            shown=str(len(shown)),
            pairs=str(len(self.gaps)),
            largest=clauses[0],
            less=clauses[0].partition(f" {long_unit(kind)} ")[2],
            sizes=self._size(shown["estimate"], f" {long_unit(kind)}"),
            changes=self._changes(shown),
            who=who,
            Who=capital(who),
            whose=self._named(largest),
            differ="differs" if uneven == 1 else "differ",
            **{"is": "is" if uneven == n else "are"},
            least=self._least("{}"),
            least_figure=self._least("that of {}"),
        )

    def _some(self, count: int) -> str:
        """Return a number of the models that the sentences are about, in words."""
        return f"{number_word(count)} of {number_word(len(self.models))} {self._models}"

    @property
    def _models(self) -> str:
        """Return the noun for the models; those without a rank are on the board, too."""
        if len(self.models) == len(self.board.models):
            return "models"
        # Under bounds, no model is ranked.
        return "eligible models" if self.board.ranks.empty else "ranked models"

    @property
    def _whose(self) -> str:
        """Return whose gaps are counted, if not those of all models on the board."""
        if self._models == "models":
            return ""
        if len(self.models) > 1:
            return f" of {self._models}"
        which = "eligible model" if self.board.ranks.empty else "model that could be ranked"
        return f" of the only {which}"

    def _named(self, models: Sequence[str]) -> str:
        many = len(models) > _MOST_BEST
        return f"{len(models)} models" if many else listed(map(quoted, models))

    def _least(self, form: str) -> str:
        """Name the model, or the two, that may be the best."""
        if len(self.models) == 1 or len(self._best) > 2 or len(self._best) == len(self.models):
            return ""
        return f", {' or '.join(form.format(quoted(one)) for one in self._best)} least"

    @property
    def _best(self) -> list[str]:
        ranked = self.board.ranked
        return list(ranked.loc[ranked["may_be_best"].astype(bool), "model"])

    @property
    def figures(self) -> str:
        """Return the finding in numbers, in two or three sentences."""
        return " ".join(filter(None, (self.measured, self.changed)))

    @property
    def measured(self) -> str:
        """Return the differences in numbers, or why no model has a rank."""
        if not self.models:
            return self._unranked
        return " ".join(filter(None, (self._sizes, meaning(self.board.benchmark))))

    @property
    def _unranked(self) -> str:
        """Why no model has a rank."""
        reasons, n = sorted(set(self.board.why_unranked.values())), len(self.board.models)
        if reasons and all("best guess" in reason for reason in reasons):
            wrong = f",{AS_WRONG}," * any(AS_WRONG in reason for reason in reasons)
            case = "guess" if n == 1 else "guesses"
            return self._say("unranked", case, all=every(n), wrong=wrong)
        if len(reasons) == 1:
            return f"{capital(reasons[0])}."
        return self._say("unranked", "several", N=capital(number_word(n)))

    @property
    def _sizes(self) -> str:
        """State the first model's average difference, or the smallest and the largest of all."""
        board, first = self.board, self.models[0]
        values, known = self.gaps["estimate"], self.gaps["estimate"].dropna()
        ranged = set(board.estimates["missing"]) == {"bounds"} and len(known) < len(values)
        if ranged or known.empty:
            return self._say("sizes", "ranges" if self._limits("") else "unknown")
        case = "one" if known.min() == known.max() else "run"
        if self._by_first:
            case = self._way
        elif len(known) == 1:
            case = "only"
        unit = (board.benchmark, board.version, board.strategy)
        where = set_label(*unit, prompted=self.prompted)
        text = self._say(
            "sizes",
            case,
            Where=capital(where),
            known="known " * (len(known) < len(values)),
            only=self.kind.signed(known.iloc[0]),
            range=signed_range(self.kind, known.min(), known.max()),
            order=pair_note(board.benchmark),
            limits=self._limits("; "),
            first=quoted(first),
            subject=subject_of(self.kind, first),
            size=unsigned(self.kind, self._average_gap(first)),
            more=more_of(board.benchmark),
            spread=self._spread(first),
        )
        several = len(self.models) > 1 and not board.ranked.empty
        return f"{text} {self._compared}" if several else text

    @property
    def _way(self) -> str:
        """Return how to describe a figure that is higher for the first group of every pair."""
        benchmark = self.board.benchmark
        if benchmark.slanted and self.kind == CHOICE:
            return "swayed" if benchmark.swayed_by else "slanted"
        return "higher"

    @property
    def _by_first(self) -> bool:
        """Check whether the first group is ahead in every pair, and the first model is the best."""
        own = self.gaps[self.gaps["model"] == self.models[0]]
        # Without ranks, no model is the first or the last.
        ordered = self.kind == CHOICE or len(self.models) == 1 or not self.board.ranked.empty
        # An unclear difference is not called one.
        return ordered and self._one_way and own["verdict"].isin([DISPARITY, EQUIVALENT]).all()

    def _limits(self, before: str, model: str = "") -> str:
        """Return the range of the intervals of all differences, or of a model's."""
        own = self.gaps[self.gaps["model"] == model] if model else self.gaps
        own = own[own["estimate"].notna() | (own["missing"] == "bounds")]
        limits = signed_range(self.kind, own["ci_low"].min(), own["ci_high"].max())
        which = f"{level(self.alpha)} interval"
        if (own["missing"] == "bounds").any():
            which = "range"
        many = "" if len(own) == 1 else "s from"
        return f"{before}{which}{many} {limits}" if limits else ""

    @property
    def _compared(self) -> str:
        """Name the models with the smallest and the largest average of several ranked ones."""
        least, most = self.models[0], self.models[-1]
        average = pd.Series({model: self._average_gap(model) for model in self.models})
        counted = not (_tied(-average)[least] and _tied(average)[most])
        if counted:
            # The figures by which the models are ranked.
            average = self.board.ranked.set_index("model")["least_favourable"]
        first, last = (list(average.index[_tied(sign * average)]) for sign in (-1, 1))
        if counted:
            case = "counted"
        elif len(first) == len(self.models):
            case = "same"
        else:
            case = "that" if self._by_first and first == [least] else "named"
        fewest, largest = (
            f"{self._named(models)} {'has' if len(models) == 1 else 'have'}"
            for models in (first, last)
        )
        return self._say(
            "compared",
            case,
            fewest=fewest,
            most=largest,
            smallest=f"{unsigned(self.kind, average[least])} {self.kind.unit}",
            largest=f"{unsigned(self.kind, average[most])} {self.kind.unit}",
            spread=self._spread(most) * self._one_way,
        )

    @property
    def _one_way(self) -> bool:
        return bool((self.gaps["estimate"] > 0).all())

    @property
    def _mean(self) -> str:
        """Name what models are compared by; gaps in both directions would cancel out."""
        gap = noun(self.kind)
        crossed = " without crossed groups" * (len(self._ranking) < len(self.gaps))
        return (f"average {gap}" if self._one_way else f"mean size of the {gap}s") + crossed

    def _spread(self, model: str) -> str:
        """Return the range of a model's gaps, and that of their intervals, in brackets."""
        own = self.gaps.loc[self.gaps["model"] == model, "estimate"]
        sizes = f"{self._size(own, '')} by {self._one}" if own.nunique() > 1 else ""
        found = f"{sizes}{self._limits('; ' if sizes else '', model)}"
        return f" ({found})" if found else ""

    def _average_gap(self, model: str) -> float:
        """A model's mean size of the gaps, by which models rank."""
        own = self._ranking["model"] == model
        return float(self._ranking.loc[own, "estimate"].abs().mean())

    @property
    def _ranking(self) -> pd.DataFrame:
        """Return the gaps by which models rank: not those of crossed groups."""
        return self.gaps[self.gaps["attribute"].isin(pooled_attributes(self.board.benchmark))]

    @property
    def _one(self) -> str:
        """Name what a pair is one of: each attribute, if it has a single pair."""
        pairs = self.gaps[[*PAIR]].drop_duplicates()
        return "pair" if pairs["attribute"].duplicated().any() or len(pairs) < 2 else "attribute"

    @property
    def changed(self) -> str:
        """State how often answers change within pairs of groups; of one model, pair by pair."""
        only, *others = self.board.models
        if not (self.models or others or only in self.board.benchmark.selected_on):
            # Wrong answers, too, can depend on the group.
            return replace(self, about=(only,)).changed
        rows = self._rows("cfr")
        changed = 1 - rows["estimate"]
        if changed.empty or changed.isna().any():
            return ""
        low, high = whole_percent(changed.min()), whole_percent(changed.max())
        several = ["model"] * (len(self.models) > 1)
        several += [self._one] * (len(self.gaps) > len(self.models))
        depends = f", depending on {listed(several)}" if several and low != high else ""
        within = self.board.benchmark.same_within
        differs = f"differs by more than {within:g}" if within else "differs"
        same = 1 - self._rows("same_prompt_agreement")["estimate"].dropna()
        repeated = ""
        if len(same):
            ends = span(whole_percent(same.min()), whole_percent(same.max()))
            repeated = f" (in {ends}% if the same prompt is repeated)"
        lacking = rows["n_missing_a"].gt(0) | rows["n_missing_b"].gt(0)
        if (lacking & rows["missing"].eq("incorrect")).any():
            repeated += ", with missing answers counted as changed"
        if len(self.models) == 1 and len(changed) <= _MOST_NAMES:
            how = f"changed by more than {within:g}" if within else "changed"
            pairs = self._changed_pairs(counted=same.empty)
            return f"The answer{self._whose} {how} in {pairs}{repeated}."
        return (
            f"The answer{self._whose} {differs} in {span(low, high)}% of pairs{depends}{repeated}."
        )

    def _changed_pairs(self, *, counted: bool) -> str:
        """Name the pairs of one model, each with the number or share of changed answers."""
        rows = self._rows("cfr")
        single = ~rows["attribute"].duplicated(keep=False)
        parts = []
        for row, alone in zip(rows.itertuples(index=False), single, strict=True):
            declared, pair = self.board.benchmark, (row.group_a, row.group_b)
            name = declared.attribute(row.attribute).label
            label = uncapital(name) if alone else declared.pair_label(row.attribute, pair)
            share, n = 1 - float(row.estimate), int(row.n)
            count = round(share * n)
            many = {0: f"none of {n:,}", n: f"all {n:,}"}.get(count, f"{count:,} of {n:,}")
            # Several samples of an item are no separate pairs.
            exact = counted and abs(share * n - count) < 1e-6
            parts.append(f"{many if exact else f'{whole_percent(share)}% of'} {label} pairs")
        return listed(parts)

    def _size(self, values: pd.Series, unit: str) -> str:
        low, high = (unsigned(self.kind, value) for value in (values.min(), values.max()))
        return span(low, high) + unit

    @property
    def chart_title(self) -> str:
        """Return the title of the chart of gaps, without a full stop."""
        benchmark = self.board.benchmark
        # The chart has the models without a rank, too.
        shown = [model for model in self.board.models if model not in benchmark.selected_on]
        every_model = replace(self, about=tuple(shown))
        values = every_model.gaps["estimate"].dropna()
        if values.empty:
            return self._say("chart", "unknown")
        low, high = (self.kind.signed(value) for value in (values.min(), values.max()))
        case = "one" if low == high else "run"
        if (values > 0).all():
            case = self._way
        return self._say(
            "chart", case, low=low, high=high, size=self._size(values, f" {self.kind.unit}")
        )

    @property
    def _largest_p(self) -> str:
        rows = self._rows(self.kind.test)
        return p_value(rows.loc[is_primary_test(rows), "p_adjusted"].max()).replace("=", "≤")

    @property
    def sure(self) -> list[tuple[str, str]]:
        """Grade each conclusion's certainty: a degree and a sentence each."""
        if not self.models:
            return [("Not sure", self._say("sure", "unranked"))]
        if self.gaps["verdict"].isna().all():
            return [("Not sure", self._say("sure", "no_test"))]
        found = [*self._sure_of_gaps(), *self._sure_of_ranks()]
        if self.board.benchmark.slanted:
            unknown = f"{capital(unknown_in_practice(self.board.benchmark))}."
            if not self.board.benchmark.swayed_by:
                unknown += f" {self._say('sure', 'slanted')}"
            found.append(("Not known", unknown))
        return found

    def _sure_of_gaps(self) -> Iterator[tuple[str, str]]:
        n, limit = len(self.gaps), self.board.benchmark.equivalence_margin
        low, high = self.gaps["ci_low"], self.gaps["ci_high"]
        # An interval without 0 excludes that there is no gap.
        both = (low <= 0) & (high >= 0) & ((low < -limit) | (high > limit))
        for verdict in (DISPARITY, EQUIVALENT, INCONCLUSIVE):
            own = self.gaps["verdict"] == verdict
            if not own.any():
                continue
            case, degree, p = verdict, "Sure", ""
            if verdict == INCONCLUSIVE:
                case, degree = "possible" if both[own].all() else verdict, "Not sure"
            elif verdict == DISPARITY and own.all():
                large, p = ((low > limit) | (high < -limit)).all(), self._largest_p
                case = "large" if large else "chance"
                degree = "Very sure" if large and p.startswith("p\u00a0<") else "Sure"
            yield (
                degree,
                self._say(
                    "sure",
                    case,
                    of=some_are(int(own.sum()), n, noun(self.kind), self._whose),
                    a_disparity="a disparity" if own.sum() == 1 else "disparities",
                    each="the" if n == 1 else "every",
                    p=p,
                ),
            )

    def _sure_of_ranks(self) -> Iterator[tuple[str, str]]:
        ranked, n = self.board.ranked, len(self.models)
        if n < 2 or ranked.empty:
            return
        best, last = self._best, list(ranked.loc[ranked["rank_high"] == n, "model"])
        if len(best) == n:
            yield "Not sure", self._say("sure", "any")
            return
        many = f"{len(best)} of {n} {self._models}"
        yield (
            "Sure" if len(best) == 1 else "Not sure",
            self._say(
                "sure",
                "best" if len(best) == 1 else "several",
                best=listed(map(quoted, best), "or") if len(best) <= _MOST_BEST else many,
                and_last=f" and {quoted(last[0])} the largest" if len(last) == 1 else "",
                hidden=self._hidden(best) + self._asked_about(best),
            ),
        )
        rest = ranked[~ranked["model"].isin(best) & (ranked["rank_high"] > ranked["rank_low"])]
        if not rest.empty:
            row = rest.loc[(rest["rank_high"] - rest["rank_low"]).astype(int).idxmax()]
            ranks = f"{ordinal(int(row['rank_low']))} to {ordinal(int(row['rank_high']))}"
            yield "Not sure", self._say("sure", "rest", model=quoted(row["model"]), ranks=ranks)

    def _asked_about(self, best: list[str]) -> str:
        """State that screening asks about one of the best models: its rank may not be its own."""
        asked = [model for model in best if model in self.questioned]
        if not asked or len(best) > _MOST_BEST:
            return ""
        return self._say("sure", "asked", models=listed(map(quoted, asked)))

    def _hidden(self, best: list[str]) -> str:
        """State what missing answers could hide: a model that refuses makes its gap small."""
        rows = self.board.ranked.set_index("model").loc[best]
        given, worst = rows["estimate"], rows["least_favourable"]
        hidden = worst > given
        if (given[hidden].map(self.kind.signed) == worst[hidden].map(self.kind.signed)).all():
            return ""
        counted = "on the given answers"
        if set(self.board.estimates["missing"]) == {"incorrect"}:
            as_ = "wrong" if self.kind == CHOICE else "unfavourable"
            counted = f"with missing answers counted as {as_}"
        return self._say(
            "sure",
            "hidden",
            size=self._size(given, f" {self.kind.unit}"),
            counted=counted,
            worst=unsigned(self.kind, worst.max()),
            whom="it" if len(best) == 1 else "them",
        )


def unknown_in_practice(benchmark: Benchmark) -> str:
    """State what a benchmark with a built-in slant cannot show."""
    if benchmark.swayed_by:
        return "how often questions in practice contain such text"
    return f"how often real {words_of(benchmark).subjects} would be treated differently"


def findings(board: Board, release: Release) -> Findings:
    """Return the sentences of a board of a release."""
    named = prompted(release, board.benchmark.name)
    questioned = frozenset(flags_of(screening_of(release, board))["model"])
    return Findings(board, release.alpha, prompted=named, questioned=questioned)


def ordinal(n: int) -> str:
    """Return a position in a ranking as an ordinal.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = 10 < n % 100 < 14
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _tied(values: pd.Series) -> pd.Series:
    """Check which values are the largest one, but for rounding error."""
    return values >= values.max() - 1e-9


def every(n: int) -> str:
    """Return "both", or "all" with the number in words."""
    return "both" if n == 2 else f"all {number_word(n)}"


def some_are(count: int, whole: int, gap: str, whose: str = "") -> str:
    """Return the subject of a sentence about some of the gaps, with its verb."""
    if count == whole:
        subjects = {1: f"The {gap}{whose} is", 2: f"Both {gap}s{whose} are"}
        return subjects.get(whole, f"All {whole} {gap}s{whose} are")
    return f"{count} of {whole} {gap}s{whose} {'is' if count == 1 else 'are'}"
