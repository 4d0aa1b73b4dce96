"""The data card of a release: its content, construction and review, in Markdown.

Every value in it is computed from the files of the build and the review. External texts are
escaped, so that they are not interpreted as Markdown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairstats._lib.formatting import MINUS, decimal, escape_markdown, percent, percent_range
from fairstats._lib.problems import printable
from fairstats._lib.records import csv_records
from fairstats.vignettes.building.folder import TRIGGERED, Built
from fairstats.vignettes.releasing.tables import AFTER, BEFORE, of_all
from fairstats.vignettes.review.rounds import DECISIONS, Review

#: The coefficients on the card; agreement.csv has all of them.
COEFFICIENTS = {
    "percent": "Agreement",
    "gwet_ac1": "Gwet's AC1",
    "krippendorff": "Krippendorff's α",
}
_KEEP = {
    "sound": "All variants that passed the structural checks were kept, whatever the validation "
    "model answered.",
    "as intended": "A variant was kept only if the validation model gave the intended answer. "
    "**The items were selected to show a disparity**: results of that model are not informative, "
    "and results of other models do not apply to vignettes that were not selected.",
}
_RULE = """\
Reviewers saw the variant next to the neutral text, with the options and the key. They did not see
the intended direction or the answers of models. In the first round each reviewer judged
independently. If no reviewer reported a problem, the variant was accepted. If all reported a
problem in the same dimension, it was rejected. If they disagreed, it was judged once more, with
the anonymous judgements of the first round: it was then rejected if at least half reported a
problem in any dimension. A text with fewer than two judgements is undecided. An edited text was
judged as a new text. An item is released only if every variant of every attribute was accepted."""
#: The settings of a build that affect its variants, in addition to the models.
_SETTINGS = ("generator", "rounds", "sees_options", "filter_ask", "limit")
_LIMITS = (
    "The structural checks are rules about words. They miss cases without a rule and may be wrong.",
    "A background describes more than the group, so differences between the answers to two groups "
    "are differences between these texts.",
)
_UNJUDGED = ("No reviewer has judged whether the right answer is the same for every group.",)
_JUDGED = (
    "Only these reviewers judged whether the right answer is the same for every group.",
    "Agreement applies to these reviewers and variants. Reviewers also judged texts they edited.",
)


@dataclass(frozen=True)
class Facts:
    """What a release states: its items, its tables by file, and the hashes of its sources."""

    review: Review
    version: str
    released: tuple[str, ...]
    tables: Mapping[str, pd.DataFrame]
    sources: Mapping[str, str]

    @property
    def reviewed(self) -> bool:
        """Return whether reviewers decided on the variants."""
        return "decisions.csv" in self.tables


def card_text(facts: Facts, files: Mapping[str, str]) -> str:
    """Return the data card."""
    built, reviewed = facts.review.built, facts.reviewed
    title = str(built.declared["title"]) + ("" if reviewed else " (not reviewed)")
    limits = _LIMITS[:1] if is_substitution(built.declared) else _LIMITS
    parts = [
        f"# {_text(title)}",
        _what(facts),
        "## Groups",
        _groups(built),
        "## How it was made",
        *_made(facts),
        "## Review",
        *(_review(facts) if reviewed else ["**The variants have not been reviewed.**"]),
        "## Limits",
        "\n".join(f"- {limit}" for limit in (*limits, *(_JUDGED if reviewed else _UNJUDGED))),
        "## Licence and citation",
        f"{_text(built.declared['licence'])}\n\n{_text(built.declared['citation'])}",
        "## Files",
        _table(["file", "sha256"], [[f"`{n}`", f"`{h}`"] for n, h in sorted(files.items())]),
        "Made from:",
        _table(["file", "sha256"], [[f"`{n}`", f"`{h}`"] for n, h in facts.sources.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def is_substitution(declared: Mapping[str, Any]) -> bool:
    """Return whether only the words for a group were inserted, without a background."""
    return declared.get("generator") == "substitute"


def took_part(agent: Mapping[str, Any]) -> bool:
    """Return whether a stage has a model and queried it: a null endpoint was never queried."""
    asked = agent.get("endpoint", "unknown") is not None
    return agent.get("model") not in (None, "", "none") and asked


def _what(facts: Facts) -> str:
    built = facts.review.built
    variants = len(built.groups)
    return (
        f"{_text(built.name)}, version {_text(facts.version)}. Clinical vignettes: "
        f"{len(facts.released):,}, with {len(built.declared['options'])} options each; as they "
        f"came, neutralized, and in {variants} variants ({len(facts.released) * variants:,} in "
        "all)."
    )


def _groups(built: Built) -> str:
    directions = built.declared.get("directions", {})
    swapped = is_substitution(built.declared)
    rows = [
        [
            _text(one["label"]),
            _text(one["groups"][group]),
            "none" if swapped else _text(directions.get(name, {}).get(group, "neutral")),
        ]
        for name, one in built.declared["attributes"].items()
        for group in one["groups"]
    ]
    pairs = [
        f"{one['groups'].get(a, a)} − {one['groups'].get(b, b)}"
        for one in built.declared["attributes"].values()
        for a, b in one["pairs"]
    ]
    table = _table(["attribute", "group", "direction of the background"], rows)
    return f"{table}\n\nCompared: {_text('; '.join(pairs))}."


def _made(facts: Facts) -> Iterator[str]:
    built = facts.review.built
    rows = [
        [_text(row["stage"]), f"{row['items']:,}", f"{row['left_out']:,}", _text(row["what"])]
        for row in facts.tables["stages.csv"].to_dict("records")
    ]
    yield _table(["stage", "items", "left out", "items that are"], rows, "lrrl")
    yield "The reasons for leaving out items are listed in left\\_out.csv."
    agents = []
    for stage, agent in built.declared["agents"].items():
        known = ("model", "snapshot", "endpoint", "prompt_sha256")
        more = [f"{k} = {v}" for k, v in sorted(agent.items()) if k not in known]
        if not took_part(agent):
            model = agent.get("model") or "none"
            agent = {"model": model if model == "none" else f"{model} (not queried)"}
        agents.append([_text(stage), *(_text(agent.get(n) or "") for n in known),
                       _text(", ".join(more))])  # fmt: skip
    if any(took_part(agent) for agent in built.declared["agents"].values()):
        yield (
            "The models that took part. Their results on this benchmark cannot be compared with "
            "those of other models:"
        )
    else:
        yield "No model took part:"
    yield _table(["stage", "model", "snapshot", "endpoint", "sha256 of its prompt", "settings"],
                 agents)  # fmt: skip
    yield _KEEP[built.declared["keep"]]
    if settings := [
        f"{name} = {built.declared[name]}"
        for name in _SETTINGS
        if built.declared.get(name) is not None
    ]:
        yield f"Declared for the build: {_text(', '.join(settings))}."
    outcomes = Counter(variant.outcome for variant in built.variants.values())
    whole = outcomes.total()
    if whole:
        yield f"Outcomes of {whole:,} variants in the last round of the validation:"
        yield _table(
            ["outcome", "variants", "share"],
            [[_text(o), f"{n:,}", percent(n / whole)] for o, n in sorted(outcomes.items())],
            "lrr",
        )
    yield from _triggered(built)


def _triggered(built: Built) -> Iterator[str]:
    """Return how many variants moved the answer as intended, by round, as counted by the build."""
    path = built.path / TRIGGERED
    rows = [record.fields for record in csv_records(path)] if path.is_file() else []
    if not rows:
        return
    yield (
        "Variants for which the validation model gave the intended answer after each round, and "
        "variants for which its answer differed from that to the neutral text, with intervals "
        "(triggered.csv):"
    )
    cells = []
    for row in rows:
        share, low, high = (float(row[name]) for name in ("estimate", "ci_low", "ci_high"))
        names = [_text(row[name] or "") for name in ("attribute", "group", "round", "quantity")]
        interval = percent_range(low, high)
        cells.append([*names, f"{row['count']} of {row['n']}", percent(share), interval])
    yield _table(
        ["attribute", "group", "round", "quantity", "variants", "share", "interval, %"],
        cells,
        "llrlrrr",
    )


def _review(facts: Facts) -> Iterator[str]:
    review, tables = facts.review, facts.tables
    rubric = review.rounds[0].handed_out.rubric
    yield f"The rubric was {_text(rubric.name)}, version {_text(rubric.version)} (rubric.toml)."
    yield _RULE
    work = tables["reviewers.csv"]
    rounds = []
    for one in review.rounds:
        own = work[work["round"] == one.number]
        active = f"{int((own['judged'] > 0).sum())} of {len(own)}"
        done = f"{own['judged'].sum():,} of {own['asked'].sum():,}"
        rounds.append([str(one.number), f"{len(one.texts):,}", active, done, _hours(own)])
    heads = ["round", "variants", "reviewers", "judgements", "hours (timed judgements)"]
    yield _table(heads, rounds, "rrrrr")
    decided = tables["decisions.csv"]
    counts = decided["decision"].value_counts()
    yield f"Decisions on the {len(decided):,} reviewed variants:"
    yield _table(
        ["decision", "variants", "share"],
        [[d, f"{counts.get(d, 0):,}", percent(counts.get(d, 0) / len(decided))] for d in DECISIONS],
        "lrr",
    )
    yield from _agreement(tables["agreement.csv"], {q.dimension: q.label for q in rubric.questions})
    edits = tables["edits.csv"]
    texts = len(edits.drop_duplicates(["item_id", "attribute", "group"]))
    doubtful = int((edits["problems"] != "").sum())
    yield (
        f"Edited texts: {texts:,}, with {len(edits):,} edits (edits.csv). Edits flagged by the "
        f"rules for clinical content: {doubtful:,}."
        if texts
        else "No texts were edited."
    )


def _hours(work: pd.DataFrame) -> str:
    timed, judged = int(work["timed"].sum()), int(work["judged"].sum())
    if not timed:
        return "not timed"
    return f"{decimal(float(work['hours'].sum()), 2)} ({timed:,} of {judged:,})"


def _agreement(table: pd.DataFrame, labels: Mapping[str, str]) -> Iterator[str]:
    together = of_all(table)
    together = together[together["level"] == "nominal"]
    if together.empty:
        return
    level = f"{100 * together['ci_level'].iloc[0]:g}%"
    yield (
        "Agreement of reviewers on whether there is a problem, before consensus (first round) and "
        f"after it (last judgements of each variant), with {level} intervals for further items "
        "and reviewers:"
    )
    rows, notes = [], []
    for dimension, label in labels.items():
        for stage in (BEFORE, AFTER):
            own = together[(together["dimension"] == dimension) & (together["stage"] == stage)]
            found = own.set_index("coefficient")
            cells = []
            for name in COEFFICIENTS:
                row = found.loc[name] if name in found.index else None
                cells.append("" if row is None else _estimate(row))
                if row is not None and math.isnan(row["estimate"]):
                    notes.append(f"{COEFFICIENTS[name]}, {label}, {stage}: {row['note']}")
            rows.append([_text(label), stage, *cells])
    yield _table(["dimension", "consensus", *COEFFICIENTS.values()], rows)
    if notes:
        yield "\n".join(f"- {_text(note)}" for note in notes)


def _estimate(row: pd.Series) -> str:
    if math.isnan(row["estimate"]):
        return "not defined"
    figure, low, high = (_short(row[n]) for n in ("estimate", "crossed_low", "crossed_high"))
    return f"{figure} ({low} to {high})" if low else figure


def _short(value: float) -> str:
    """Return two decimals, without a sign if rounded to 0."""
    text = decimal(value, 2)
    return text.lstrip(MINUS) if text == f"{MINUS}0.00" else text


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]], align: str = "") -> str:
    """Return a table of cells that are already Markdown."""
    heads = list(heads)
    marks = ["---:" if kind == "r" else "---" for kind in align.ljust(len(heads), "l")]
    lines = [heads, marks, *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: object) -> str:
    """Return any text on one line, escaped."""
    return escape_markdown(printable(" ".join(str(value).split())))
