"""A badge for each model: what a release says of it, in a line for its own page elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from fairstats.benchmarks import Benchmark
from fairstats.inference.equivalence import EQUIVALENT, INCONCLUSIVE, SHOWN
from fairstats.report.context import Release
from fairstats.report.display import ACCENT_A, ACCENT_B, DIM, INK
from fairstats.report.xml_text import element, xml_document

NOT_JUDGED = "not judged"
SELECTED = "not judged, selected the items"
UNRANKED = "not ranked"

# In the order they are told in, and in which one of an attribute's pairs speaks for all of them.
_STATUSES = (SHOWN, INCONCLUSIVE, NOT_JUDGED, SELECTED, EQUIVALENT)
_COLOURS = {SHOWN: ACCENT_A, EQUIVALENT: ACCENT_B}
_HEIGHT, _PADDING, _RADIUS = 20, 7, 3


def badge(release: Release, model: str) -> dict[str, Any]:
    """What a release says of a model, as an endpoint of shields.io reads it.

    Parameters
    ----------
    release : Release
        The release.
    model : str
        One of its models.

    Returns
    -------
    dict
        ``schemaVersion`` 1, ``label``, ``message`` and the colours. The message names for each
        verdict the attributes it was reached for; where all have one verdict other than
        "disparity shown", the verdict alone. A model without a rank on any board is "not ranked".

    Raises
    ------
    ValueError
        For a model that is not of this release.

    Notes
    -----
    One line stands for all of the model's answer sets. An attribute's disparity is shown where it
    is for one of its pairs in one answer set: the p-values are adjusted over their family, which
    the benchmark declares. It is equivalent only where every one of
    its pairs is, and otherwise inconclusive, or not judged. Colours repeat what the words say.

    References
    ----------
    The endpoint's format: https://shields.io/badges/endpoint-badge
    """
    if model not in release.slugs:
        raise ValueError(f"model={model!r} is not of release {release.name}")
    told: dict[str, list[str]] = {}
    for name, status in _statuses(release, model):
        told.setdefault(status, []).append(name)
    ordered = [status for status in _STATUSES if status in told] or [NOT_JUDGED]
    parts = [f"{status}: {', '.join(told.get(status, []))}" for status in ordered]
    alone = len(ordered) == 1
    message = ordered[0] if alone and ordered[0] != SHOWN else "; ".join(parts)
    ranks = release.ranks.loc[release.ranks["model"] == model, "rank"]
    if len(ranks) and ranks.isna().all():
        message += f"; {UNRANKED}"
    return {
        "schemaVersion": 1,
        "label": f"fairstats {release.name}",
        "message": message,
        "color": (_COLOURS.get(ordered[0], DIM)).removeprefix("#"),
        "labelColor": INK.removeprefix("#"),
    }


def badge_svg(content: Mapping[str, Any], *, title: str) -> str:
    """A badge as a picture of its own, for where no other server shall be asked.

    Parameters
    ----------
    content : mapping
        From `badge`.
    title : str
        Whose it is; screen readers say it before the badge's own words.

    Returns
    -------
    str
        An SVG document without scripts, links or fonts of its own.
    """
    label, message = str(content["label"]), str(content["message"])
    widths = [_width(text) + 2 * _PADDING for text in (label, message)]
    split, whole = widths[0], sum(widths)
    words = f"{title}, {label}: {message}"
    root = element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(whole),
            "height": str(_HEIGHT),
            "role": "img",
            "aria-label": words,
        },
    )
    root.append(element("title", text=words))
    # Two boxes, each with round corners on its outer side alone.
    h, r = _HEIGHT, _RADIUS
    for colour, outline in (
        (
            content["labelColor"],
            f"M{split} 0v{h}H{r}a{r} {r} 0 0 1-{r}-{r}V{r}a{r} {r} 0 0 1 {r}-{r}z",
        ),
        (
            content["color"],
            f"M{split} 0v{h}H{whole - r}a{r} {r} 0 0 0 {r}-{r}V{r}a{r} {r} 0 0 0-{r}-{r}z",
        ),
    ):
        root.append(element("path", {"d": outline, "fill": f"#{colour}"}))
    left = _PADDING
    for text, width in zip((label, message), widths, strict=True):
        root.append(
            element(
                "text",
                {
                    "x": str(left),
                    "y": "14",
                    "fill": "#ffffff",
                    "font-family": "Verdana, DejaVu Sans, sans-serif",
                    "font-size": "11",
                    # The reader's font may be another: the text keeps to its place all the same.
                    "textLength": str(width - 2 * _PADDING),
                    "lengthAdjust": "spacingAndGlyphs",
                },
                text,
            )
        )
        left += width
    return xml_document(root)


def _statuses(release: Release, model: str) -> Iterator[tuple[str, str]]:
    """Each attribute that the model was asked about, in words, and its status."""
    own = release.estimates[
        (release.estimates["model"] == model)
        & (release.estimates["metric"] == "accuracy_difference")
    ]
    several = own["benchmark"].nunique() > 1
    for name, rows in own.groupby("benchmark", sort=True):
        benchmark = release.benchmarks[str(name)]
        for attribute in benchmark.varied:
            of_it = rows[rows["attribute"] == attribute.name]
            if len(of_it):
                label = _in_sentence(attribute.label)
                told = f"{benchmark.title} {label}" if several else label
                yield told, _status(of_it["verdict"], benchmark, model)


def _status(verdicts: pd.Series, benchmark: Benchmark, model: str) -> str:
    if model in benchmark.selected_on:
        return SELECTED
    there = set(verdicts.fillna(NOT_JUDGED))
    return next(status for status in _STATUSES if status in there)


def _in_sentence(label: str) -> str:
    """A label within a line: "Race" as "race", but "SES" as it is."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _width(text: str) -> int:
    """About how many pixels a text takes in Verdana of 11 pixels."""
    narrow, wide = set(" .,:;'|!()[]ijlftrI"), set("mwMW@%")
    return round(
        sum(4.2 if c in narrow else 10.2 if c in wide or c > "\u2e7f" else 7 for c in text)
    )
