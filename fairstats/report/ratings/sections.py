"""Show what raters report and prefer, how well they agree, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.formatting import escape_markdown, level, number_word, span
from fairstats._lib.safe_names import slug
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.page_output import closed, show_markdown, show_plot, show_table
from fairstats.report.plot_style import PLOT_WIDTH
from fairstats.report.ratings.plots import preference_plot, rates_plot, votes_plot
from fairstats.report.ratings.tables import (
    agreement_table,
    counterfactual_table,
    disputed_table,
    group_label,
    group_order,
    noun,
    paired_bias_table,
    preference_table,
    rates_table,
)
from fairstats.report.tables import files_of, labels_of
from fairstats.report.templates import prose

if TYPE_CHECKING:
    from great_tables import GT
    from plotnine import ggplot

#: The tallest plot that fits on a page, and the part of it that is not panels, in inches.
_TALLEST, _AROUND = 8.5, 0.9


@dataclass(frozen=True)
class RatedTexts:
    """Texts of one benchmark, rated by one rubric.

    Parameters
    ----------
    release : Release
        Holds the tables.
    benchmark : str
        The benchmark's name.
    rubric : Rubric
        The rubric.
    model : str, optional
        Only ratings of this model's answers, and of texts without a model. Details by dataset or by
        dimension are then left to the release.
    """

    release: Release
    benchmark: str
    rubric: Rubric
    model: str | None = None

    def place(self, *parts: str) -> str:
        """Return the name of a part, unique on the page."""
        given = (*parts, self.benchmark, self.rubric.name)
        return slug("-".join(filter(None, given)).lower().replace(" ", "-").replace("_", "-"))

    def rows(self, table: str) -> pd.DataFrame:
        """Return the rows of one of the release's tables, in the order of models and groups."""
        rows = self.release.table(table)
        rows = rows[(rows["benchmark"] == self.benchmark) & (rows["rubric"] == self.rubric.name)]
        models = [name for name in ("model", "model_2") if name in rows]
        places = rows["rater_group"].map(group_order(rows["rater_group"], self.rubric).index)
        rows = rows.assign(place=places).sort_values([*models, "place"], kind="stable")
        if self.model is not None:
            of_model = rows[models].eq(self.model).any(axis=1)
            rows = rows[of_model | rows["model"].isna()]
        return rows.drop(columns="place")

    def parts(self, parts: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the title and the rows of each part with rows; those with a title are closed."""
        for title, rows in parts.items():
            if len(rows) and not (title and self.model is not None):
                with closed(title) if title else nullcontext():
                    yield title, rows

    def main_parts(
        self, rows: pd.DataFrame, *, every: str, by_dataset: str = ""
    ) -> Iterator[tuple[str, pd.DataFrame]]:
        """Split rows into leading dimensions of all datasets, all dimensions, single datasets."""
        first, lead = all_datasets(rows), rows["dimension"].isin(self.rubric.leading)
        parts = {"": rows[first & lead], every: rows[first & (first & ~lead).any()]}
        return self.parts(parts | ({by_dataset: rows[~first & lead]} if by_dataset else {}))

    def show(
        self, make: Callable[..., GT], source: str, rows: pd.DataFrame, part: str = ""
    ) -> None:
        """Show rows of one of the release's tables, all of them or a part."""
        text = labels_of("ratings")["captions"][source]
        where = ", ".join(filter(None, (self.benchmark, self.rubric.title.lower(), part.lower())))
        show_table(
            make(rows, self.rubric, name=self.place(source, part)),
            caption=f"{where}: {text.format(level=level(self.release.alpha))}",
            download=files_of(self.release, source),
        )

    def draw(
        self,
        draw: Callable[[pd.DataFrame, Rubric], ggplot],
        rows: pd.DataFrame,
        *,
        panels: list[str],
        alt: str,
        tall: float,
        name: str = "",
    ) -> None:
        """Draw panels of `tall` inches, in several plots of the same scale if one is too tall."""
        ends = rows.filter(items=["ci_low", "ci_high", "crossed_low", "crossed_high"]).stack()
        number = rows.groupby(panels, dropna=False, sort=False).ngroup()
        rows = rows.assign(least=ends.min(), most=ends.max(), titled=number.max() > 0)
        for place, own in rows.groupby(number // max(1, int((_TALLEST - _AROUND) / tall))):
            height = _AROUND + tall * number[own.index].nunique()
            plot = draw(own, self.rubric)
            called = self.place(draw.__name__, name, str(place))
            show_plot(plot, name=called, alt=alt, width=PLOT_WIDTH, height=height)


def show_figures(rated: RatedTexts) -> None:
    """Show raters' reports by a rubric."""
    if rated.rubric.compares == "models":
        _show_preferences(rated)
    else:
        _show_rates(rated)
        _show_pairs(rated)


def _show_rates(rated: RatedTexts) -> None:
    rates, votes = rated.rows("bias_rates"), rated.rows("rating_votes")
    first = all_datasets(rates)
    _show_rates_of(rated, rates[first], "")
    notes = [_other_datasets(rates, rated.rubric), _raters_per_task(votes, rated.rubric)]
    if any(notes):
        show_markdown(escape_markdown(" ".join(filter(None, notes))))
    for title, rows in rated.parts({"By dataset": rates[~first]}):
        _show_rates_of(rated, rows, title)
    with closed("How to read the rates"):
        words = {"level": level(rated.release.alpha), "noun": noun(rated.rubric, rates)}
        show_markdown(prose("ratings-rates", **words))


def _show_rates_of(rated: RatedTexts, rates: pd.DataFrame, part: str) -> None:
    pooled = rates[rates["aggregation"] == "pooled"]
    groups = max(1, pooled["rater_group"].nunique() * 0.7)
    rated.draw(
        rates_plot,
        pooled,
        panels=["dataset", "model"],
        name=part,
        alt="Rates by dimension and group of raters with intervals; the figures are in the table.",
        tall=0.35 + 0.24 * groups * pooled["dimension"].nunique(),
    )
    show_markdown(
        "Thin line: interval for other raters and other items of the same kind (with one rater, "
        "for other items only). Thick line: interval with all ratings treated as independent."
    )
    # With many groups of raters, a row of all rates would be wider than a page.
    many = rates.loc[rates["rater_group"] != POOLED, "rater_group"].nunique() > 2
    tables = {"": pooled, "By votes": rates.drop(pooled.index)} if many else {"": rates}
    for title, rows in tables.items():
        with closed(title or "All figures"):
            rated.show(rates_table, "bias_rates", rows, ", ".join(filter(None, (part, title))))


def _other_datasets(rates: pd.DataFrame, rubric: Rubric) -> str:
    """Name the datasets of each group of raters, if they differ."""
    own = rates[(rates["dataset"] != POOLED) & (rates["rater_group"] != POOLED)]
    judged = {
        group_label(str(group), rubric): ", ".join(sorted(rows["dataset"].unique()))
        for group, rows in own.groupby("rater_group", sort=False)
    }
    if len(set(judged.values())) < 2:
        return ""
    parts = [f"{group}: {names}" for group, names in judged.items()]
    return (
        f"The groups of raters judged different datasets ({'; '.join(parts)}). So a difference "
        "between groups may be a difference between datasets."
    )


def _raters_per_task(votes: pd.DataFrame, rubric: Rubric) -> str:
    """State the number of ratings per task by group, if groups or tasks differ."""
    own = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    if own["n_ratings"].nunique() < 2:
        return ""
    ends = own.groupby("rater_group", sort=False)["n_ratings"].agg(["min", "max"])
    parts = [
        f"{group_label(str(group), rubric)} {span(str(least), str(most))}"
        for group, least, most in ends.itertuples(name=None)
    ]
    return f"Ratings per {noun(rubric, votes)}: {', '.join(parts)}."


def _show_preferences(rated: RatedTexts) -> None:
    preferences = rated.rows("preferences")
    if preferences.empty:
        return
    parts = rated.main_parts(preferences, every="Every dimension", by_dataset="By dataset")
    for title, rows in parts:
        rated.draw(
            preference_plot,
            rows[rows["metric"].isin(["preferred", "preferred_2"])],
            panels=["dataset", "model", "model_2", "rater_group"],
            name=title,
            alt="How often raters prefer either model; the figures are in the table.",
            tall=0.35 + 0.3 * rows["dimension"].nunique(),
        )
        with nullcontext() if title else closed("All figures"):
            rated.show(preference_table, "preferences", rows, title)
    with closed("How to read preferences"):
        show_markdown(prose("ratings-preferences"))


def _show_pairs(rated: RatedTexts) -> None:
    """Show counterfactual pairs, judged as pairs and answer by answer."""
    judged = rated.rows("counterfactual_rates")
    if len(judged):
        show_markdown("### Bias in pairs of answers")
        for title, rows in rated.main_parts(judged, every="Every dimension"):
            rated.show(counterfactual_table, "counterfactual_rates", rows, title)
    alone = rated.rows("paired_bias")
    if len(alone):
        show_markdown("### Bias in pairs whose answers were judged separately")
        rows = alone[all_datasets(alone) & (alone["dimension"] == rated.rubric.dimensions[0])]
        rated.show(paired_bias_table, "paired_bias", rows)


def show_agreement(rated: RatedTexts) -> None:
    """Show coefficients of agreement and their meaning."""
    agreement = rated.rows("rater_agreement")
    if agreement.empty:
        return
    parts = rated.main_parts(
        agreement, every="Agreement on every dimension", by_dataset="Agreement by dataset"
    )
    for title, rows in parts:
        if repeats := int(rows["n_repeats"].max()):
            show_markdown(
                f"Left out: {number_word(repeats)} repeated judgement{'s' * (repeats != 1)} by the "
                "same rater. Agreement is between raters."
            )
        rated.show(agreement_table, "rater_agreement", rows, title)
    compared = rated.rubric.compares == "models"
    what = "*which model is preferred, or neither*" if compared else "*reported or not*"
    with closed("How to read agreement"):
        show_markdown(prose("ratings-agreement", noun=noun(rated.rubric, agreement), what=what))


def show_disagreement(rated: RatedTexts) -> None:
    """Show the number of raters who report each dimension, and the most disputed tasks."""
    votes = rated.rows("rating_votes")
    # Over all groups together, the number of raters differs between tasks.
    votes = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    word = f"{noun(rated.rubric, votes)}s"
    show_markdown(f"### Agreement on single {word}")
    for usual, drawn in _usual_votes(votes, rated.rubric).groupby("n_ratings"):
        show_markdown(
            f"Number of raters out of {number_word(int(usual))} who report each dimension, in % of "
            f"the {word}:"
        )
        rated.draw(
            votes_plot,
            drawn,
            panels=["panel"],
            name=str(usual),
            alt=f"Number of raters who report each dimension, in percent of the {word}",
            tall=0.35 + 0.4 * drawn["dimension"].nunique(),
        )
    tasks = rated.rows("disagreement")
    if (tasks["n_ratings"] > 1).any():
        with closed(f"The {word} on which raters differ most"):
            rated.show(disputed_table, "disagreement", tasks)


def _usual_votes(votes: pd.DataFrame, rubric: Rubric) -> pd.DataFrame:
    """Select each group's tasks with the most frequent number of ratings, if at least two."""
    parts = [votes.iloc[:0].assign(panel="", share=0.0)]
    keys = ["dataset", "model", "rater_group"]
    for (_, model, group), own in votes.groupby(keys, dropna=False, sort=False):
        tasks = own.groupby(["dimension", "n_ratings"])["n_tasks"].sum().groupby("n_ratings").max()
        usual = tasks.idxmax()
        if usual < 2:
            continue
        on = f" on {model}" if isinstance(model, str) else ""
        part = f"{tasks[usual]:,} of {tasks.sum():,}" if len(tasks) > 1 else f"{tasks[usual]:,}"
        drawn = own[own["n_ratings"] == usual]
        of_dimension = drawn.groupby("dimension")["n_tasks"].transform("sum")
        parts.append(
            drawn.assign(
                panel=f"{group_label(str(group), rubric)}{on}: {part}",
                share=100 * drawn["n_tasks"] / of_dimension,
            )
        )
    return pd.concat(parts, ignore_index=True)
