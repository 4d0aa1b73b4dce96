"""State a board's results in sentences made from its figures: the headline, and its certainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fairstats._lib.formatting import capital, level, listed, number_word, p_value, span
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import PLAIN, POOLED, Attribute, Benchmark
from fairstats.benchmarks.kinds import CHOICE, Kind
from fairstats.estimates.table import is_primary_test
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import Board, Release
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

# More differences than these are counted, not named.
_MOST_CLAUSES = 2
# More models than these are counted, not named.
_MOST_BEST = 5


def set_label(
    benchmark: Benchmark,
    version: str,
    strategy: str,
    *,
    prompted: bool = True,
    brackets: bool = False,
) -> str:
    """Return the readers' name of an answer set's vignettes and prompt, as plain text.

    Parameters
    ----------
    benchmark : Benchmark
        The benchmark that was answered.
    version, strategy : str
        Its version, and the prompt.
    prompted : bool
        Whether to name the prompt.
    brackets : bool
        Whether the prompt is in brackets.
    """
    vignettes = benchmark.versions.get(version, version)
    if not prompted:
        return vignettes
    asked = prompt_label(strategy)
    return f"{vignettes} ({asked})" if brackets else f"{vignettes}, {asked}"


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
    return f"prompt “{strategy_label(strategy)}”"


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

    Parameters
    ----------
    benchmark : Benchmark
        Names the groups and the unit.
    attribute : str
        The attribute of the groups.
    groups : (str, str)
        The two groups.
    difference : float
        The figure of the first group minus that of the second.

    Examples
    --------
    >>> from fairstats.benchmarks.loading import load_benchmark
    >>> lower_for(load_benchmark("demo"), "race", ("white", "black"), 0.17)
    '17.0 percentage points less accurate for Black than for White'
    """
    kind, named = benchmark.kind, benchmark.attribute(attribute).groups
    high, low = (named.get(group, group) for group in groups)
    if difference < 0:
        high, low = low, high
    size = f"{unsigned(kind, abs(difference))} {long_unit(kind)}"
    if benchmark.higher:
        return f"{size} higher ({benchmark.higher}) for {high} than for {low}"
    return f"{size} {'less accurate' if kind == CHOICE else 'lower'} for {low} than for {high}"


def subject_of(kind: Kind, model: str) -> str:
    """Return the subject of a sentence that `lower_for` ends: the model, or its figure."""
    return model if kind == CHOICE else f"the {kind.figure} of {model}"


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
        The models that the sentences are about, if not the ranked ones.
    prompted : bool
        Whether to name the prompt.
    """

    board: Board
    alpha: float
    about: tuple[str, ...] = ()
    prompted: bool = True

    @property
    def kind(self) -> Kind:
        """Return the kind of answers, which decides the figure that sentences are about."""
        return self.board.benchmark.kind

    @cached_property
    def models(self) -> list[str]:
        """Return the models that the sentences are about: the ranked ones, best first."""
        if self.about:
            return list(self.about)
        if self.board.why_unranked or not self.board.ranked.empty:
            return list(self.board.ranked["model"])
        # Under bounds, models are not ranked.
        selected = self.board.benchmark.selected_on
        return [model for model in self.board.models if model not in selected]

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Their differences between groups, one row per model and pair."""
        return self._rows(self.kind.difference)

    def _rows(self, metric: str) -> pd.DataFrame:
        varied = [attribute.name for attribute in self.board.benchmark.varied]
        rows = self.board.estimates
        return rows[
            (rows["metric"] == metric)
            & rows["attribute"].isin(varied)
            & rows["model"].isin(self.models)
        ]

    @property
    def headline(self) -> str:
        """Return the finding in one sentence, without a full stop."""
        benchmark, n = self.board.benchmark, len(self.models)
        if n == 0:
            one = len(self.board.models) == 1
            who = self.board.models[0] if one else "No model"
            return f"{who} {'cannot' if one else 'can'} be ranked on {benchmark.title}"
        if self.gaps["verdict"].isna().all():
            return f"No verdict on how answers vary with {benchmark.changes}"
        verdicts = self.gaps.groupby("model")["verdict"]
        uneven = int(verdicts.agg(lambda own: (own == DISPARITY).any()).sum())
        even = bool((self.gaps["verdict"] == EQUIVALENT).all())
        if benchmark.slanted:
            return self._swayed(uneven, even)
        return self._unequal(uneven, even)

    def _swayed(self, uneven: int, even: bool) -> str:
        changes, n = self.board.benchmark.changes, len(self.models)
        text = capital(self.board.benchmark.swayed_by) or f"Text slanted according to {changes}"
        if uneven == n:
            who = self.models[0] if n == 1 else f"{_every(n)} models"
            return f"{text} sways {who}{self._least('{}')}"
        if uneven:
            return f"{text} sways {self._some(uneven)}"
        who = self.models[0] if n == 1 else "any model"
        if even:
            start = f"{text} does not sway {who}"
            return f"{start} by more than {self._margin}"
        return f"It is unclear whether {text[0].lower()}{text[1:]} sways {who}"

    def _unequal(self, uneven: int, even: bool) -> str:
        changes, n, figure = self.board.benchmark.changes, len(self.models), self.kind.figure
        if uneven:
            return self._who_gets_less(uneven)
        # A possessive after a digit would become a prime on paper.
        whose = f"the {figure} of {self.models[0]}" if n == 1 else f"any model’s {figure}"
        if even and n == 1:
            return f"{capital(whose)} does not vary with {changes} by more than {self._margin}"
        if even:
            return f"No model’s {figure} varies with {changes} by more than {self._margin}"
        return f"It is unclear whether {whose} depends on {changes}"

    def _who_gets_less(self, uneven: int) -> str:
        """State for which groups the figure is lower, by how much, and for how many models."""
        benchmark, n, kind = self.board.benchmark, len(self.models), self.kind
        shown = self.gaps[self.gaps["verdict"] == DISPARITY]
        pairs = shown[["attribute", "group_a", "group_b"]]
        # The largest first.
        order = shown["estimate"].abs().sort_values(ascending=False).index
        clauses = {
            row: lower_for(benchmark, *_groups(pairs.loc[row]), float(shown.loc[row, "estimate"]))
            for row in order[:_MOST_CLAUSES]
        }
        if n == 1 and len(shown) <= _MOST_CLAUSES:
            subject = subject_of(kind, self.models[0])
            subject = subject if kind == CHOICE else capital(subject)
            return f"{subject} is {', and '.join(clauses.values())}"
        largest = clauses[order[0]]
        if n == 1:
            text = (
                f"The {kind.figure} of {self.models[0]} differs between groups in {len(shown)} of "
            )
            return f"{text}{len(self.gaps)} pairs; the largest difference: {largest}"
        who, verb = ("Every model", "is") if uneven == n else (capital(self._some(uneven)), "are")
        verb = "is" if uneven == 1 else verb
        signs = (shown["estimate"] > 0).nunique()
        if len(pairs.drop_duplicates()) == 1 and signs == 1 and uneven > 1:
            _, _, less = largest.partition(f" {long_unit(kind)} ")
            sizes = self._size(shown["estimate"], f" {long_unit(kind)}")
            start = f"{who} {verb} {less}"
            if kind != CHOICE:
                whose = "every model" if uneven == n else self._some(uneven)
                start = f"The {kind.figure} of {whose} is {less}"
            return f"{start}, by {sizes}{self._least('{}')}"
        # No model is named as the one with the largest difference if another one has it too.
        whose = self._named(list(shown.loc[_tied(shown["estimate"].abs()), "model"].unique()))
        depends = f"{who.replace('Every model', 'Every model’s')} {kind.figure} depends on"
        text = f"{depends} {benchmark.changes}{self._least('that of {}')}"
        if uneven < n:
            verb = "differs" if uneven == 1 else "differ"
            text = f"{who} {verb} in {kind.figure} with {benchmark.changes}"
        return f"{text}; the largest {noun(kind)}: {whose}, {largest}"

    def _some(self, count: int) -> str:
        """Return a number of the models that the sentences are about, in words."""
        return f"{number_word(count)} of {number_word(len(self.models))} {self._models}"

    @property
    def _models(self) -> str:
        """Return the noun for the models; those without a rank are on the board, too."""
        return "models" if len(self.models) == len(self.board.models) else "ranked models"

    def _named(self, models: list[str]) -> str:
        return listed(models) if len(models) <= _MOST_BEST else f"{len(models)} models"

    def _least(self, form: str) -> str:
        """Name the model, or the two, that may be the best."""
        best = [form.format(model) for model in self._best]
        if len(self.models) == 1 or len(best) > 2 or len(best) == len(self.models):
            return ""
        return f", {' or '.join(best)} least"

    @property
    def _best(self) -> list[str]:
        ranked = self.board.ranked
        return list(ranked.loc[ranked["may_be_best"].astype(bool), "model"])

    @property
    def _margin(self) -> str:
        """The equivalence margin with its unit."""
        margin = self.kind.shown_margin(self.board.benchmark.equivalence_margin)
        return f"{margin} {self.kind.unit}"

    @property
    def _points(self) -> str:
        return self.kind.shown_margin(self.board.benchmark.equivalence_margin)

    @property
    def figures(self) -> str:
        """Return the finding in numbers, in two or three sentences."""
        if not self.models:
            return self._unranked
        means = meaning(self.board.benchmark)
        return " ".join(filter(None, (self._sizes, means, self._changed)))

    @property
    def _unranked(self) -> str:
        """Why no model has a rank."""
        reasons = sorted(set(self.board.why_unranked.values()))
        if reasons and all("best guess" in reason for reason in reasons):
            n = len(self.board.models)
            if n == 1:
                return "Its accuracy is too close to guessing to judge it."
            return f"The accuracy of {_every(n)} models is too close to guessing to judge them."
        if len(reasons) == 1:
            return f"{capital(reasons[0])}."
        count = number_word(len(self.board.models)).capitalize()
        return f"{count} models were tested. The reason is given with each name below."

    @property
    def _sizes(self) -> str:
        """State the differences of the models with the smallest and the largest average."""
        values, benchmark = self.gaps["estimate"], self.board.benchmark
        if values.isna().any():
            return "Each figure is a range, because missing answers could be anything."
        board = self.board
        where = set_label(
            benchmark, board.version, board.strategy, prompted=self.prompted, brackets=True
        )
        least, most = self.models[0], self.models[-1]
        all_higher = bool((values > 0).all())
        unit = f" {long_unit(self.kind)}"
        # Without ranks, no model is the first or the last.
        unordered = self.kind != CHOICE and self.board.ranked.empty and len(self.models) > 1
        if not all_higher or unordered:
            name = difference_name(self.kind)
            what = f"{name}s run from {signed_range(self.kind, values.min(), values.max())}{unit}"
            if len(values) == 1:
                what = f"the {name} is {self.kind.signed(values.iloc[0])}{unit}"
            text = f"On the {where}, {what} ({pair_note(benchmark)})."
        elif benchmark.slanted and self.kind == CHOICE:
            size, spread = self._average(least, unit)
            if benchmark.swayed_by:
                less = f"{size} less accurate with {benchmark.swayed_by}{spread}"
                text = f"On the {where}, {least} is {less}."
            else:
                more = f"{size} more accurate than misleading text{spread}"
                text = f"On the {where}, helpful text makes {least} {more}."
        else:
            size, spread = self._average(least, unit)
            who = subject_of(self.kind, least)
            what = f"{who} is {size} {more_of(benchmark)} for {self._first_group}"
            text = f"On the {where}, {what}{spread}."
        if len(self.models) == 1 or self.board.ranked.empty:
            return text
        units = f" {self.kind.unit}"
        of = f"{number_word(len(self.models))} {self._models}"
        average = pd.Series({model: self._average_gap(model) for model in self.models})
        (smallest, _), (largest, spread) = (self._average(m, units) for m in (least, most))
        mean = self._mean
        if average[least] > average.min() or average[most] < average.max():
            # Ranks count missing answers against a model; the averages shown do not.
            return (
                f"{text} If missing answers are counted against each model, {least} ranks first of "
                f"{of} ({mean} {smallest}) and {most} last ({largest})."
            )
        first, last = (list(average.index[_tied(sign * average)]) for sign in (-1, 1))
        if len(first) == len(self.models):
            every = f"{_every(len(first))} {self._models}"
            return f"{text} The {mean} is the same for {every}: {smallest}."
        has = "has" if len(first) == 1 else "have"
        smallest_of = f"the smallest {mean} of {of}"
        if all_higher and first == [least]:
            text += f" That is {smallest_of}."
        else:
            text += f" {self._named(first)} {has} {smallest_of}, {smallest}."
        has = "has" if len(last) == 1 else "have"
        return f"{text} {self._named(last)} {has} the largest, {largest}{spread * all_higher}."

    @property
    def _mean(self) -> str:
        """Name what models are compared by; gaps in both directions would cancel out."""
        gap = noun(self.kind)
        one_way = bool((self.gaps["estimate"] > 0).all())
        return f"average {gap}" if one_way else f"mean size of the {gap}s"

    def _average(self, model: str, unit: str) -> tuple[str, str]:
        """A model's average gap, and its range over the pairs."""
        own = self.gaps.loc[self.gaps["model"] == model, "estimate"]
        mean = unsigned(self.kind, self._average_gap(model)) + unit
        if own.nunique() == 1:
            return mean, ""
        by = "attribute" if self.gaps["attribute"].nunique() > 1 else "pair"
        return mean, f" ({self._size(own, '')} by {by})"

    def _average_gap(self, model: str) -> float:
        """A model's average gap, as its chart shows it."""
        own = self.gaps.loc[self.gaps["model"] == model, "estimate"]
        rows = self.board.estimates
        pooled = rows.loc[
            (rows["metric"] == self.kind.difference)
            & (rows["attribute"] == POOLED)
            & (rows["model"] == model),
            "estimate",
        ]
        # With missing answers it differs slightly from the mean of the pairs.
        # Gaps in both directions cancel there, so the mean of their sizes is given instead.
        one_way = bool((own > 0).all()) and len(pooled) == 1 and pooled.notna().all()
        return float(pooled.iloc[0] if one_way else own.abs().mean())

    @property
    def _changed(self) -> str:
        """State how often answers change between the two groups of a pair."""
        changed = 100 * (1 - self._rows("cfr")["estimate"])
        if changed.empty or changed.isna().any():
            return ""
        low, high = f"{changed.min():.0f}", f"{changed.max():.0f}"
        several = [name for name in ("model", "attribute") if self.gaps[name].nunique() > 1]
        if self.kind != CHOICE and "attribute" not in several:
            several += ["groups"] * (self.gaps["group_b"].nunique() > 1)
        depends = f", depending on {listed(several)}" if several and low != high else ""
        within = self.board.benchmark.same_within
        differs = f"differs by more than {within:g}" if within else "differs"
        return f"The answer {differs} in {span(low, high)} of 100 pairs{depends}."

    @property
    def _first_group(self) -> str:
        benchmark = self.board.benchmark
        if only := _only_pair(benchmark):
            attribute, (first, _) = only
            return f"“{attribute.groups[first]}”"
        return f"the {benchmark.pair_terms[0]} group of each pair"

    def _size(self, values: pd.Series, unit: str) -> str:
        low, high = (unsigned(self.kind, value) for value in (values.min(), values.max()))
        return span(low, high) + unit

    @property
    def chart_title(self) -> str:
        """Return the title of the chart of gaps, without a full stop."""
        values, kind, benchmark = self.gaps["estimate"], self.kind, self.board.benchmark
        name = capital(gap_name(kind))
        if values.empty or values.isna().any():
            return f"{name} between groups"
        if not (values > 0).all():
            low, high = (kind.signed(value) for value in (values.min(), values.max()))
            if low == high:
                return f"{name}: {low} {kind.unit}"
            return f"{name}s run from {low} to {high} {kind.unit}"
        size = self._size(values, f" {kind.unit}")
        if kind == CHOICE and benchmark.swayed_by:
            return f"{capital(benchmark.swayed_by)} lowers accuracy by {size}"
        if kind == CHOICE and benchmark.slanted:
            return f"The slant of the text moves accuracy by {size}"
        return f"{capital(kind.figure)} is {size} higher for {self._first_group}"

    @property
    def _largest_p(self) -> str:
        rows = self._rows(self.kind.test)
        p = rows.loc[is_primary_test(rows), "p_adjusted"].max()
        return p_value(p).replace("=", "≤") if p >= 0.001 else p_value(p)

    @property
    def sure(self) -> list[tuple[str, str]]:
        """Grade each conclusion's certainty: a degree and a sentence each."""
        if not self.models:
            return [("Not sure", "Anything about differences: no model here qualifies for a rank.")]
        if self.gaps["verdict"].isna().all():
            return [("Not sure", "There is no test under this policy for missing answers.")]
        found = [*self._sure_of_gaps(), *self._sure_of_ranks()]
        if self.board.benchmark.swayed_by:
            found.append(("Not known", "How often questions in practice contain such text."))
        elif self.board.benchmark.slanted:
            found.append(
                (
                    "Not known",
                    f"How often real {words_of(self.board.benchmark).subjects} would be treated "
                    "differently. The effect of the group cannot be separated from that of the "
                    "slant.",
                )
            )
        return found

    def _sure_of_gaps(self) -> list[tuple[str, str]]:
        verdicts, n = self.gaps["verdict"], len(self.gaps)
        margin = f"±{self._points}-point margin"
        if self.kind.numeric:
            margin = f"margin of ±{self._margin}"
        gap, test = noun(self.kind), named_test(self.kind)
        if (verdicts == DISPARITY).all():
            limit = self.board.benchmark.equivalence_margin
            outside = (self.gaps["ci_low"] > limit) | (self.gaps["ci_high"] < -limit)
            every = _of(n, n, gap)
            text = f"{every} larger than chance would give: adjusted {test} {self._largest_p}"
            if outside.all():
                interval = "the" if n == 1 else "every"
                text += f", and {interval} {level(self.alpha)} interval is outside the {margin}"
            very = outside.all() and self._largest_p.startswith("p\u00a0<")
            return [("Very sure" if very else "Sure", f"{text}.")]
        shown, small, unclear = (
            int((verdicts == v).sum()) for v in (DISPARITY, EQUIVALENT, INCONCLUSIVE)
        )
        found = []
        if shown:
            p = f"adjusted {test} p at most {self.alpha:g}"
            found.append(("Sure", f"{_of(shown, n, gap)} a disparity ({p})."))
        if small:
            found.append(
                ("Sure", f"{_of(small, n, gap)} too small to matter, within the {margin}.")
            )
        if unclear:
            own = self.gaps[verdicts == INCONCLUSIVE]
            outside = (own["ci_low"] > 0) | (own["ci_high"] < 0)
            text = f"{_of(unclear, n, gap)} inconclusive"
            if not outside.any():
                text += f": no {gap} and a {gap} beyond the {margin} are both possible"
            found.append(("Not sure", f"{text}."))
        return found

    def _sure_of_ranks(self) -> list[tuple[str, str]]:
        ranked, n = self.board.ranked, len(self.models)
        if n < 2 or ranked.empty:
            return []
        best, found = self._best, []
        last = ranked[ranked["rank_high"] == n]["model"].tolist()
        if len(best) == n:
            return [("Not sure", "Which model is best: every ranked model could be.")]
        if len(best) == 1:
            text = f"{best[0]} has the smallest {self._mean}"
            text += f" and {last[0]} the largest" if len(last) == 1 else ""
            text += f" ({level(self.alpha)} confidence)."
            found.append(("Sure", text + self._hidden(best)))
        else:
            named = listed(best, "or")
            if len(best) > _MOST_BEST:
                named = f"{len(best)} of {n} {self._models}"
            text = f"Which model is best: {named} could be."
            found.append(("Not sure", text + self._hidden(best)))
        rest = ranked[~ranked["model"].isin(best)]
        wide = rest[rest["rank_high"] > rest["rank_low"]]
        if not wide.empty:
            width = (wide["rank_high"] - wide["rank_low"]).astype(int)
            row = wide.loc[width.idxmax()]
            span = f"{ordinal(int(row['rank_low']))} to {ordinal(int(row['rank_high']))}"
            text = f"The exact order of the rest. {row['model']}, for one, could rank {span}."
            found.append(("Not sure", text))
        return found

    def _hidden(self, best: list[str]) -> str:
        """State what missing answers could hide: a model that refuses makes its gap small."""
        rows = self.board.ranked.set_index("model").loc[best]
        given, worst = rows["estimate"], rows["least_favourable"]
        hidden = worst > given
        if not any(
            self.kind.signed(a) != self.kind.signed(b)
            for a, b in zip(given[hidden], worst[hidden], strict=True)
        ):
            return ""
        size = self._size(given, f" {self.kind.unit}")
        if set(self.board.estimates["missing"]) == {"incorrect"}:
            as_ = "wrong" if self.kind == CHOICE else "unfavourable"
            counted = f"with missing answers counted as {as_}"
        else:
            counted = "on the given answers"
        whom = "it" if len(best) == 1 else "them"
        return (
            f" The {self._mean} is {size} {counted}, and up to "
            f"{unsigned(self.kind, worst.max())} if the missing answers were against {whom}."
        )


def findings(board: Board, release: Release) -> Findings:
    """Return the sentences of a board of a release."""
    named = prompted(release, board.benchmark.name)
    return Findings(board, release.alpha, prompted=named)


def ordinal(n: int) -> str:
    """Return a position in a ranking as an ordinal.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = 10 < n % 100 < 14
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _groups(row: pd.Series) -> tuple[str, tuple[str, str]]:
    return str(row["attribute"]), (str(row["group_a"]), str(row["group_b"]))


def _tied(values: pd.Series) -> pd.Series:
    """Check which values are the largest one, but for rounding error."""
    return values >= values.max() - 1e-9


def _every(n: int) -> str:
    """All of several things, in words."""
    return "both" if n == 2 else f"all {number_word(n)}"


def _of(count: int, whole: int, gap: str) -> str:
    """Return the subject of a sentence about some of the gaps, with its verb."""
    if count == whole:
        every = {1: f"The {gap} is", 2: f"Both {gap}s are"}
        return every.get(whole, f"All {whole} {gap}s are")
    return f"{count} of {whole} {gap}s {'is' if count == 1 else 'are'}"
