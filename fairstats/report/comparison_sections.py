"""Show comparisons of two models' answers, and of answers to two items."""

from __future__ import annotations

from contextlib import nullcontext

from fairstats.ratings.pooling import all_datasets
from fairstats.ratings.rubrics import Rubric
from fairstats.release.contents import Release
from fairstats.report.comparison_tables import (
    counterfactual_table,
    paired_bias_table,
    preference_plot,
    preference_table,
)
from fairstats.report.page_output import closed, show_markdown, show_table
from fairstats.report.ratings_parts import (
    caption_of,
    files_of,
    main_parts,
    own_rows,
    show_panels,
    shown_parts,
)

_PREFERENCES = (
    "Raters report which answer has more bias. The other one is preferred. The first interval and "
    "the first p-value are for other raters and items. In parentheses, the interval treats all "
    "ratings as independent, and the p-value exchanges the sides of whole comparisons by these "
    "raters. No p-value is adjusted. A dimension that was not asked, because no answer had more "
    "bias, counts as neither. **Position** is how much more often raters preferred the answer "
    "shown first, whichever model it was from."
)


def show_preferences(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show which of two models raters prefer."""
    preferences = own_rows(release, "preferences", name, rubric, model)
    if preferences.empty:
        return
    parts = main_parts(preferences, rubric, every="Every dimension", by_dataset="By dataset")
    for number, title, rows in shown_parts(parts, model):
        show_panels(
            preference_plot,
            rows[rows["metric"].isin(["preferred", "preferred_2"])],
            rubric,
            panels=["dataset", "model", "model_2", "rater_group"],
            name=f"preferences-{place}-{number}",
            alt="How often raters prefer either model; the figures are in the table.",
            tall=0.35 + 0.3 * rows["dimension"].nunique(),
        )
        with nullcontext() if title else closed("All figures"):
            show_table(
                preference_table(rows, rubric, name=f"preferences-{place}-{number}"),
                caption=caption_of(
                    name,
                    rubric,
                    "which answer raters prefer because it has less bias. Intervals: for other "
                    "raters and items, and (all independent)",
                    title,
                ),
                download=files_of(release, "preferences"),
            )
    with closed("How to read preferences"):
        show_markdown(_PREFERENCES)


def show_pairs(
    release: Release, name: str, rubric: Rubric, *, place: str, model: str | None = None
) -> None:
    """Show counterfactual pairs, judged as pairs and answer by answer."""
    judged = own_rows(release, "counterfactual_rates", name, rubric, model)
    if len(judged):
        show_markdown("### Bias in pairs of answers")
        parts = main_parts(judged, rubric, every="Every dimension", by_dataset=None)
        for number, title, rows in shown_parts(parts, model):
            show_table(
                counterfactual_table(rows, rubric, name=f"pairs-{place}-{number}"),
                caption=caption_of(
                    name,
                    rubric,
                    "pairs with reported bias, by whether ideal answers and contents differ. "
                    "Intervals: for other pairs and raters, and (all independent)",
                    title,
                ),
                download=files_of(release, "counterfactual_rates"),
            )
    alone = own_rows(release, "paired_bias", name, rubric, model)
    if len(alone):
        show_markdown("### Bias in pairs whose answers were judged separately")
        alone = alone[all_datasets(alone) & (alone["dimension"] == rubric.dimensions[0])]
        show_table(
            paired_bias_table(alone, rubric, name=f"paired-{place}"),
            caption=caption_of(
                name,
                rubric,
                "pairs with bias reported in one answer alone, one or more, or both. Intervals: "
                "for other pairs and these raters, and (all independent)",
            ),
            download=files_of(release, "paired_bias"),
        )
