"""Show raters' reports on open answers, and how well the raters agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd
from plotnine import ggplot

from fairstats._lib.atomic_files import temporary_folder
from fairstats._lib.formatting import (
    capital,
    counted,
    escape_markdown,
    level,
    listed,
    number_word,
    percent,
    percent_range,
    quoted,
    span,
)
from fairstats._lib.paths import AnyPath, Paths, each_path
from fairstats._lib.safe_names import file_sha256, slug
from fairstats.answers.files import write_parquet
from fairstats.benchmarks.declaration import POOLED
from fairstats.ratings.files import rating_files, read_ratings
from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric, Rubrics, copy_rubrics, load_rubrics
from fairstats.ratings.summaries import RATING_TABLES
from fairstats.release.contents import DOWNLOADS, Release
from fairstats.report.answer_sets import answer_sets
from fairstats.report.page_output import closed, prose, show_markdown, show_plot, show_table
from fairstats.report.plot_style import PLOT_WIDTH
from fairstats.report.ratings import figures
from fairstats.report.render import draw_report, report_file, write_tables
from fairstats.report.tables import files_of, labels_of, sentence

_sentence = partial(sentence, "ratings")
#: The dimension of bias of any kind.
BIAS = "bias"
#: What rubrics compare, in the order of the page.
_COMPARED = ("nothing", "models", "items")
#: The heading of the section of an audit report.
RATINGS = "What raters report"
#: The tallest plot that fits on a page, and the part of it that is not panels, in inches.
_TALLEST, _AROUND = 8.5, 0.9


@dataclass(frozen=True)
class RatedTexts:
    """Texts of one benchmark, rated by one rubric.

    With `model`, only ratings of this model's answers, and of texts without a model. Details by
    dataset or by dimension are then left to the release.
    """

    release: Release
    benchmark: str
    rubric: Rubric
    model: str | None = None

    @property
    def title(self) -> str:
        """The titles of benchmark and rubric."""
        benchmark = self.release.benchmarks.get(self.benchmark)
        return f"{benchmark.title if benchmark else self.benchmark}, {self.rubric.title.lower()}"

    @property
    def noun(self) -> str:
        """What was judged, e.g. ``"answer"``."""
        return figures.noun(self.rubric, self.rows("bias_rates"))

    def place(self, *parts: str) -> str:
        """Return the name of a part, unique on the page."""
        given = (*parts, self.benchmark, self.rubric.name)
        return slug("-".join(filter(None, given)).lower().replace(" ", "-").replace("_", "-"))

    def about(self, kind: str, *parts: str) -> str:
        """Return the caption of a table or the alternative of a plot, unique on the page."""
        text = labels_of("ratings")["captions"][kind].format(level=level(self.release.alpha))
        return f"{', '.join(filter(None, (self.title, *parts)))}: {text}"

    def rows(self, table: str) -> pd.DataFrame:
        """Return the rows of one of the release's tables, in the order of models and groups."""
        rows = self.release.table(table)
        rows = rows[(rows["benchmark"] == self.benchmark) & (rows["rubric"] == self.rubric.name)]
        models = [name for name in ("model", "model_2") if name in rows]
        groups = figures.group_order(rows["rater_group"], self.rubric)
        places = rows["rater_group"].map(groups.index)
        rows = rows.assign(place=places).sort_values([*models, "place"], kind="stable")
        if self.model is not None:
            of_model = rows[models].eq(self.model).any(axis=1)
            rows = rows[of_model | rows["model"].isna()]
        return rows.drop(columns="place")

    def parts(
        self, rows: pd.DataFrame, *, every: str = "", by_dataset: str = ""
    ) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the titles and rows of parts; those with a title are closed.

        The first part has the leading dimensions of all datasets together. The others, all
        dimensions and single datasets, are left out without a title; without `every`, each part has
        all dimensions.
        """
        first = all_datasets(rows)
        lead = rows["dimension"].isin(self.rubric.leading) if every else rows["dimension"].notna()
        parts = {"": rows[first & lead]}
        if every and (first & ~lead).any():
            parts[every] = rows[first]
        if by_dataset:
            parts[by_dataset] = rows[~first & lead]
        for title, own in parts.items():
            if len(own) and not (title and self.model is not None):
                with closed(title) if title else nullcontext():
                    yield title, own

    def show(self, source: str, rows: pd.DataFrame, *parts: str) -> None:
        """Show rows of one of the release's tables, all of them or a part."""
        show_table(
            figures.TABLES[source](rows, self.rubric, name=self.place(source, *parts)),
            caption=self.about(source, *(part.lower() for part in parts)),
            download=files_of(self.release, source),
        )

    def draw(
        self,
        draw: Callable[[pd.DataFrame, Rubric], ggplot],
        rows: pd.DataFrame,
        panels: list[str],
        *,
        tall: float,
        name: str = "",
    ) -> None:
        """Draw panels of `tall` inches, in several plots of the same scale if one is too tall."""
        ends = rows.filter(items=["ci_low", "ci_high", "crossed_low", "crossed_high"]).stack()
        rows = rows.assign(panel=panels, least=ends.min(), most=ends.max())
        number = rows.groupby("panel", sort=False).ngroup()
        if number.max() == 0 and draw is figures.rates_plot:
            rows["panel"] = ""
        for place, own in rows.groupby(number // max(1, int((_TALLEST - _AROUND) / tall))):
            drawn = list(dict.fromkeys(own["panel"]))
            show_plot(
                draw(own, self.rubric),
                name=self.place(draw.__name__, name, str(place)),
                alt=self.about(draw.__name__, name.lower(), *drawn),
                width=PLOT_WIDTH,
                height=_AROUND + tall * len(drawn),
            )
        if len(ends):
            show_markdown(prose("ratings-lines"))


def show_ratings(release: Release) -> None:
    """Show the release's ratings by benchmark and rubric."""
    for rated, ratings in sorted(
        ratings_of(release), key=lambda g: (g[0].benchmark, _COMPARED.index(g[0].rubric.compares))
    ):
        sentences = escape_markdown(
            " ".join([*bias_reported(rated), who_judged(ratings, rated.rubric)])
        )
        show_markdown(f"## {escape_markdown(rated.title)}\n\n::: lede\n{sentences}\n:::")
        show_figures(rated)
        show_markdown("### Agreement between raters")
        show_agreement(rated)
        if rated.rubric.compares != "models":
            show_disagreement(rated)


def bias_reported(rated: RatedTexts) -> list[str]:
    """State how often people report bias, one sentence per model and group of raters.

    All datasets and groups are taken together if they were pooled. Comparisons have no such rate.
    """
    if rated.rubric.compares != "nothing":
        return []
    own = rated.rows("bias_rates").query(
        "dimension == @BIAS and aggregation == 'pooled' and rater_kind == 'person'"
    )
    if rated.model is not None:
        own = own[own["model"] == rated.model]
    for column in ("dataset", "rater_group"):
        together = own[own[column] == POOLED]
        own = own if together.empty else together
    sentences = []
    for row in own[own["n_ratings"] > 0].to_dict("records"):
        limits = percent_range(row["crossed_low"], row["crossed_high"])
        others = _others(row["crossed_method"], f"{rated.noun}s")
        sure = _sentence("interval", level=level(rated.release.alpha), others=others, limits=limits)
        model = row["model"]
        whose = f"open answers of {quoted(model)}" if isinstance(model, str) else "the texts"
        words = {"share": percent(row["estimate"]), "interval": sure if limits else ""}
        ratings = counted(row["n_ratings"], "rating")
        sentences.append(_sentence("reported", ratings=ratings, whose=whose, **words))
        if row["n_missing"]:
            sentences.append(_sentence("missing", ratings=counted(row["n_missing"], "rating")))
    if sentences and (direction := rated.rubric.direction):
        sentences.append(f"{capital(direction)}.")
    return sentences


def _others(method: str, texts: str) -> str:
    """Name what the limits of a rate are for, which one rater or one item limits."""
    if "one rater" in method or "all ratings are equal" in method:
        return texts
    return "raters" if "one item" in method else f"{texts} and raters"


def _counts(ratings: pd.DataFrame, rubric: Rubric) -> dict[str, str]:
    """Count the tasks and their judgements, e.g. ``"24 answers"``, ``"72 judgements"``."""
    tasks = len(ratings[["dataset", "task_id"]].drop_duplicates())
    judged = len(ratings[["task_id", "rater_id", "repeat"]].drop_duplicates())
    noun = figures.noun(rubric, ratings)
    return {"tasks": counted(tasks, noun), "judgements": counted(judged, "judgement")}


def who_judged(ratings: pd.DataFrame, rubric: Rubric) -> str:
    """State who judged what, in a sentence."""
    parts = []
    for group in figures.group_order(ratings["rater_group"], rubric):
        own = ratings[ratings["rater_group"] == group]
        raters, label = own["rater_id"].nunique(), figures.group_label(group, rubric).lower()
        who = f"{number_word(raters)} {label}" if raters > 1 else f"one rater ({label})"
        who = who if group in rubric.rater_groups else f"the model {quoted(group)}"
        parts.append(f"{_counts(own, rubric)['judgements'].split()[0]} by {who}")
    return _sentence("judged", tasks=_counts(ratings, rubric)["tasks"], parts=listed(parts))


def show_figures(rated: RatedTexts) -> None:
    """Show raters' reports by a rubric."""
    if direction := rated.rubric.direction:
        show_markdown(f"::: small\n{escape_markdown(capital(direction))}.\n:::")
    if rated.rubric.compares == "models":
        _show_preferences(rated)
    else:
        _show_rates(rated)
        _show_pairs(rated)


def _show_rates(rated: RatedTexts) -> None:
    rates, votes = rated.rows("bias_rates"), rated.rows("rating_votes")
    for title, rows in rated.parts(rates, by_dataset="By dataset"):
        _show_rates_of(rated, rows, title)
        notes = [_other_datasets(rates, rated), _raters_per_task(votes, rated)]
        if any(notes) and not title:
            show_markdown(escape_markdown(" ".join(filter(None, notes))))
    with closed("How to read the rates"):
        words = {"level": level(rated.release.alpha), "noun": rated.noun}
        show_markdown(prose("ratings-rates", **words))


def _show_rates_of(rated: RatedTexts, rates: pd.DataFrame, part: str) -> None:
    pooled = rates[rates["aggregation"] == "pooled"]
    lines = max(1, pooled["rater_group"].nunique() * 0.7) * pooled["dimension"].nunique()
    panels = [figures.panel_label(row, pooled) for row in pooled.to_dict("records")]
    rated.draw(figures.rates_plot, pooled, panels, name=part, tall=0.35 + 0.24 * lines)
    # With many groups of raters, a row of all rates would be wider than a page.
    many = rates.loc[rates["rater_group"] != POOLED, "rater_group"].nunique() > 2
    tables = {"": pooled, "By votes": rates.drop(pooled.index)} if many else {"": rates}
    for title, rows in tables.items():
        with closed(title or "All figures"):
            rated.show("bias_rates", rows, *filter(None, (part, title)))


def _other_datasets(rates: pd.DataFrame, rated: RatedTexts) -> str:
    """Name the datasets of each group of raters, if they differ."""
    own = rates[(rates["dataset"] != POOLED) & (rates["rater_group"] != POOLED)]
    judged = {
        figures.group_label(str(group), rated.rubric): ", ".join(sorted(rows["dataset"].unique()))
        for group, rows in own.groupby("rater_group", sort=False)
    }
    if len(set(judged.values())) < 2:
        return ""
    parts = "; ".join(f"{group}: {names}" for group, names in judged.items())
    return _sentence("other datasets", parts=parts)


def _raters_per_task(votes: pd.DataFrame, rated: RatedTexts) -> str:
    """State the number of ratings per task by group, if groups or tasks differ."""
    own = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    if own["n_ratings"].nunique() < 2:
        return ""
    ends = own.groupby("rater_group", sort=False)["n_ratings"].agg(["min", "max"])
    parts = [
        f"{figures.group_label(str(group), rated.rubric)} {span(str(least), str(most))}"
        for group, least, most in ends.itertuples(name=None)
    ]
    return f"Ratings per {rated.noun}: {', '.join(parts)}."


def _show_preferences(rated: RatedTexts) -> None:
    every = {"every": "Every dimension", "by_dataset": "By dataset"}
    for title, rows in rated.parts(rated.rows("preferences"), **every):
        drawn = rows[rows["metric"].isin(figures.PREFERRED) & rows["estimate"].notna()]
        panels = [figures.judged_by(row, rows, rated.rubric) for row in drawn.to_dict("records")]
        tall = 0.35 + 0.3 * rows["dimension"].nunique()
        rated.draw(figures.preference_plot, drawn, panels, name=title, tall=tall)
        with nullcontext() if title else closed("All figures"):
            rated.show("preferences", rows, title)
    with closed("How to read preferences"):
        show_markdown(prose("ratings-preferences"))


def _show_pairs(rated: RatedTexts) -> None:
    """Show counterfactual pairs, judged as pairs and answer by answer."""
    judged = rated.rows("counterfactual_rates")
    if len(judged):
        show_markdown("### Bias in pairs of answers")
        for title, rows in rated.parts(judged, every="Every dimension"):
            rated.show("counterfactual_rates", rows, title)
    alone = rated.rows("paired_bias")
    if len(alone):
        show_markdown("### Bias in pairs whose answers were judged separately")
        rows = alone[all_datasets(alone) & (alone["dimension"] == rated.rubric.dimensions[0])]
        rated.show("paired_bias", rows)


def show_agreement(rated: RatedTexts) -> None:
    """Show coefficients of agreement and their meaning."""
    agreement = rated.rows("rater_agreement")
    if agreement.empty:
        return
    parts = rated.parts(
        agreement, every="Agreement on every dimension", by_dataset="Agreement by dataset"
    )
    for title, rows in parts:
        rated.show("rater_agreement", rows, title.removeprefix("Agreement "))
    compared = rated.rubric.compares == "models"
    what = "*which model is preferred, or neither*" if compared else "*reported or not*"
    with closed("How to read agreement"):
        show_markdown(prose("ratings-agreement", noun=rated.noun, what=what))


def show_disagreement(rated: RatedTexts) -> None:
    """Show the number of raters who report each dimension, and the most disputed tasks."""
    votes = rated.rows("rating_votes")
    # Over all groups together, the number of raters differs between tasks.
    votes = votes[all_datasets(votes) & (votes["rater_group"] != POOLED)]
    show_markdown(f"### Agreement on single {rated.noun}s")
    for usual, drawn in _usual_votes(votes, rated).groupby("n_ratings"):
        of = number_word(int(usual))
        show_markdown(_sentence("votes", of=of, noun=rated.noun))
        tall = 0.35 + 0.4 * drawn["dimension"].nunique()
        rated.draw(figures.votes_plot, drawn, list(drawn["panel"]), name=f"of {usual}", tall=tall)
    tasks = rated.rows("disagreement")
    if (tasks["n_ratings"] > 1).any():
        with closed(f"The {rated.noun}s on which raters differ most"):
            rated.show("disagreement", tasks)


def _usual_votes(votes: pd.DataFrame, rated: RatedTexts) -> pd.DataFrame:
    """Select each group's tasks with the most frequent number of ratings, if at least two."""
    parts = [votes.iloc[:0].assign(panel="", share=0.0)]
    keys = ["dataset", "model", "rater_group"]
    for (_, model, group), own in votes.groupby(keys, dropna=False, sort=False):
        tasks = own.groupby(["dimension", "n_ratings"])["n_tasks"].sum().groupby("n_ratings").max()
        usual = tasks.idxmax()
        if usual < 2:
            continue
        drawn = own[own["n_ratings"] == usual]
        on = f" on {quoted(model)}" if isinstance(model, str) else ""
        part = f"{tasks[usual]:,} of " if len(tasks) > 1 else ""
        part += counted(int(tasks.sum()), rated.noun)
        of_dimension = drawn.groupby("dimension")["n_tasks"].transform("sum")
        parts.append(
            drawn.assign(
                panel=f"{figures.group_label(str(group), rated.rubric)}{on}: {part}",
                share=100 * drawn["n_tasks"] / of_dimension,
            )
        )
    return pd.concat(parts, ignore_index=True)


def report_ratings(
    ratings: Paths,
    *,
    to: Literal["pdf", "html"] = "html",
    out: AnyPath | None = None,
    title: str = "Ratings",
    alpha: float = 0.05,
    rubrics: Rubrics = (),
) -> Path:
    """Write a report of ratings: the Ratings page of a site, with methods and hashes.

    By default it is ``ratings.html`` or ``ratings.pdf`` in the current folder. A name without the
    format's suffix gets it. If it cannot be drawn, no file is written.

    Returns
    -------
    Path
        The report.
    """
    target, paths = report_file(out or "ratings", to), each_path(ratings)
    frame = read_ratings(paths, rubrics=rubrics)
    known = load_rubrics(frame["rubric"].unique(), rubrics)
    tables = {
        name: table.make(frame, alpha=alpha, rubrics=known) for name, table in RATING_TABLES.items()
    }
    sources = rating_files(paths) or [Path(path) for path in paths]
    with temporary_folder("report") as folder:
        release = write_tables(folder, tables, title=title, alpha=alpha, sources=sources)
        write_parquet(frame, release.table_path("ratings"))
        copy_rubrics(known, folder / "rubrics")
        draw_report(release, "ratings", title=title, to=to, target=target)
    return target


def ratings_of(release: Release, model: str | None = None) -> list[tuple[RatedTexts, pd.DataFrame]]:
    """Return the ratings by benchmark and rubric: all, or those of a model's answers and texts."""
    ratings = release.ratings
    if model is not None:
        of_model = ratings[["model", "model_2"]].eq(model).any(axis=1)
        asked = {answers.benchmark.name for answers in answer_sets(release, model)}
        ratings = ratings[of_model | (ratings["model"].isna() & ratings["benchmark"].isin(asked))]
    return [
        (RatedTexts(release, str(name), release.rubrics[str(which)], model), own)
        for (name, which), own in ratings.groupby(["benchmark", "rubric"], sort=True)
    ]


def rating_headline(release: Release, model: str) -> str:
    """State how often people report bias in the model's answers; empty without ratings."""
    return " ".join(
        text for rated, _ in ratings_of(release, model) for text in bias_reported(rated)
    )


def rating_scope(release: Release, model: str) -> Iterator[str]:
    """State what was judged, and by whom, with one sentence per benchmark and rubric."""
    for rated, ratings in ratings_of(release, model):
        rubric, whose = rated.rubric, "of the benchmark, no model's answers"
        if rubric.compares == "models":
            whose = f"with {quoted(model)}"
        elif ratings[["model", "model_2"]].eq(model).any(axis=None):
            whose = f"of {quoted(model)}"
        words = {"title": rated.title, "rubric": rubric.name, "version": rubric.version}
        raters = counted(ratings["rater_id"].nunique(), "rater")
        yield _sentence("scope", **words, **_counts(ratings, rubric), raters=raters, whose=whose)


def rating_limitations(release: Release, model: str) -> Iterator[str]:
    """State the limitations of ratings."""
    if ratings_of(release, model):
        yield _sentence("limitations")


def rating_methods(release: Release, model: str) -> Iterator[str]:
    """State the methods behind the figures of ratings, as the tables name them."""
    found = ratings_of(release, model)
    methods = {m for rated, _ in found for m in rated.rows("bias_rates")["crossed_method"].dropna()}
    if methods:
        yield _sentence("methods", methods=", ".join(sorted(methods)))
    if found:
        yield _sentence("agreement")


def rating_provenance(release: Release, model: str) -> Iterator[str]:
    """Return the hash of the figures' inputs."""
    if ratings_of(release, model):
        path = release.table_path("ratings")
        yield f"sha256 of {DOWNLOADS}/{path.name}: {file_sha256(path)}"


def show_rated(release: Release, model: str) -> None:
    """Show raters' reports on the model's open answers, or on the benchmark's texts."""
    found = ratings_of(release, model)
    if found:
        show_markdown(f"# {RATINGS}")
    for (rated, _), scope in zip(found, rating_scope(release, model), strict=True):
        show_markdown(escape_markdown(scope))
        show_figures(rated)
        show_agreement(rated)
