"""The Atom feed of a site, with one entry per release, and a badge for each model."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import pandas as pd

from fairstats._lib.formatting import counted, own_level, uncapital
from fairstats.answers.strategies import strategy_label
from fairstats.benchmarks.declaration import Benchmark
from fairstats.benchmarks.kinds import DIFFERENCES
from fairstats.estimates.eligibility import ALONE, AS_WRONG
from fairstats.inference.verdict import DISPARITY, EQUIVALENT, INCONCLUSIVE
from fairstats.release.contents import RELEASES, Release
from fairstats.report.notes import selected_runs
from fairstats.report.page_output import ACCENT_A, ACCENT_B, DIM, INK
from fairstats.screening.findings import flags_of

#: The file name of the feed at the root of a site.
FEED = "feed.xml"

# The namespace for the ids of all feeds and entries. A change would make every entry new.
_NAMESPACE = uuid.UUID("b4da6b3d-1b42-49dd-8401-280ce23af2ef")
NOT_JUDGED = "not judged"
SELECTED = "not judged, selected the items"
UNRANKED = "not ranked"

# A part of a reason for an inconclusive verdict, and its short form. The first match counts: a
# model that guesses with all answers comes early, because more answers would not help it.
_REASONS = {
    "is not known, as": "answers missing",
    AS_WRONG: "answers missing",
    "best guess": "no better than a guess",
    "within the margin of it": "all answers within the margin of one",
    "every answer is": "always the same answer",
    "no decision is favourable": "always the same answer",
    "unlike the most frequent": "nearly always the same answer",
    "between the groups could be chance": "answers not shown to depend on the item",
    "could be chance": "agreement with the key not shown",
    "not called equivalent": "accuracy too low",
    "equivalence is open": "too few items for equivalence",
    "not asked": "items not asked",
    "missing answers": "answers missing",
    # The pairs and the answers of each group differ only if answers are missing.
    "own answers": "answers missing",
    "": "verdict withheld",
}
# Missing answers come late: a part of a reason that names them can be the last to match.
_SHORT = [*dict.fromkeys(reversed(_REASONS.values()))][::-1]
_WITHHELD = tuple(f"{INCONCLUSIVE} ({short})" for short in _SHORT)
_CAREFUL = f"{EQUIVALENT} (with a caution)"
#: The order of the message. An attribute's status is the first of its pairs' statuses here.
STATUSES = (DISPARITY, *_WITHHELD, INCONCLUSIVE, NOT_JUDGED, SELECTED, _CAREFUL, EQUIVALENT)
_COLOURS = {DISPARITY: ACCENT_A, EQUIVALENT: ACCENT_B}
# XML 1.0, section 2.2: the other characters are forbidden, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class FeedEntry:
    """Describe one release for the feed.

    Attributes
    ----------
    release : str
        Its name.
    created_at : str
        When it was made, ISO 8601 with an offset, as in its manifest.
    content : str
        The hash of its estimates, which identifies its content.
    summary : str
        Lines of plain text.
    """

    release: str
    created_at: str
    content: str
    summary: str

    @property
    def moment(self) -> datetime:
        """Return the time of creation, in UTC."""
        return datetime.fromisoformat(self.created_at).astimezone(UTC)

    @property
    def id(self) -> str:
        """Return a URN that does not depend on when or where the feed is written."""
        return uuid.uuid5(_NAMESPACE, f"{self.release}\n{self.content}").urn


def release_entry(release: Release) -> FeedEntry:
    """Make the feed entry of a release, with one line per board.

    Each line names what the verdicts rest on, and counts the models and the verdicts. Inconclusive
    verdicts are counted by reason.
    """
    lines = []
    for board in release.boards:
        rows = board.estimates[board.estimates["attribute"].isin(board.benchmark.varied_names)]
        # Older releases have no such column.
        judged = rows[rows["verdict"].notna()].reindex(columns=["verdict", "verdict_reason"])
        counts = Counter(map(status_of, judged["verdict"], judged["verdict_reason"]))
        verdicts = ", ".join(f"{one} {counts[one]}" for one in STATUSES if one in counts)
        basis = board.benchmark.basis(alpha=release.alpha)
        lines.append(
            f"{board.benchmark.title} ({basis}), {board.version}, "
            f"{strategy_label(board.strategy)}: {counted(len(board.models), 'model')}; "
            f"verdicts: {verdicts or 'none'}"
        )
    return FeedEntry(
        release=release.name,
        created_at=str(release.manifest["created_at"]),
        content=str(release.manifest["content"]["estimates"]),
        summary="\n".join(lines),
    )


def atom_feed(
    entries: Iterable[FeedEntry],
    *,
    title: str = "fairstats",
    author: str = "fairstats",
    rights: str = "",
) -> str:
    """Return an Atom 1.0 feed of a site's releases, newest first.

    There is at least one entry. `rights` is the licence; empty if not stated.

    Notes
    -----
    A site can be on any host, and can be moved or copied, so the feed does not depend on its
    address. Ids are UUIDs of a release's name and content (version 5), so a reader recognises a
    known release under another address. The feed's id is derived from its oldest release, which
    later ones do not change. Links are relative, as RFC 4287 allows, and are resolved against the
    address that the feed was read from. Texts are escaped by the XML library; characters that XML
    forbids are left out.

    References
    ----------
    Nottingham & Sayre (2005), The Atom Syndication Format, RFC 4287; Leach et al., RFC 9562.

    Examples
    --------
    >>> entry = FeedEntry("1", "2026-11-20T06:00:00+00:00", "abc", "two models")
    >>> print(atom_feed([entry]).splitlines()[-4].strip())
    <link rel="alternate" type="text/html" href="v/1/index.html" />
    """
    newest_first = sorted(entries, key=lambda entry: (entry.moment, entry.release), reverse=True)
    feed = Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": "en"})
    _add(feed, "id", uuid.uuid5(_NAMESPACE, newest_first[-1].id).urn)
    _add(feed, "title", f"{title} releases")
    _add(feed, "updated", newest_first[0].moment.isoformat())
    _add(_add(feed, "author"), "name", author)
    if rights:
        _add(feed, "rights", rights)
    _add(feed, "link", rel="self", type="application/atom+xml", href=FEED)
    _add(feed, "link", rel="alternate", type="text/html", href="index.html")
    for entry in newest_first:
        item = _add(feed, "entry")
        _add(item, "id", entry.id)
        _add(item, "title", f"Release {entry.release}")
        _add(item, "updated", entry.moment.isoformat())
        _add(item, "published", entry.moment.isoformat())
        page = f"{RELEASES}/{quote(entry.release)}/index.html"
        _add(item, "link", rel="alternate", type="text/html", href=page)
        _add(item, "summary", entry.summary, type="text")
    indent(feed)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(feed, encoding="unicode")}\n'


def _add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """Add an element with a text, without the characters that XML forbids."""
    made = SubElement(parent, tag, attributes)
    made.text = _FORBIDDEN.sub("", text) or None
    return made


def badge(release: Release, model: str) -> dict[str, Any]:
    """Return a model's results as a badge, in the endpoint format of shields.io.

    Returns
    -------
    dict
        ``schemaVersion`` 1, ``label``, ``message`` and the colours. The label names the benchmarks
        and the hashes of their declarations. The message names the attributes of each verdict. If
        all have the same verdict other than "disparity", it gives the verdict alone. An
        inconclusive verdict has its reason, if there is one; "equivalent" has the margin, and
        states if there is a caution. A model without a rank on any board is "not ranked". Questions
        of screening are counted. Runs that were chosen among several are named, and so is a
        significance level other than 0.05.

    Raises
    ------
    ValueError
        If the model is not in this release.

    Notes
    -----
    One line represents all of the model's answer sets. An attribute has a disparity if one of its
    pairs has one in one answer set. This is valid because p-values are adjusted over their family,
    which the benchmark declares. An attribute is equivalent only if every pair is; if not, it is
    inconclusive or not judged. If inconclusive pairs have several reasons, the first in `STATUSES`
    is given. Colours repeat the words.

    References
    ----------
    The endpoint's format: https://shields.io/badges/endpoint-badge
    """
    if model not in release.slugs:
        raise ValueError(f"model={model!r} is not in release {release.name}")
    told: dict[tuple[str, str], list[str]] = {}
    for name, status, words in _statuses(release, model):
        told.setdefault((status, words), []).append(name)
    ordered = sorted(told, key=lambda key: STATUSES.index(key[0])) or [(NOT_JUDGED, NOT_JUDGED)]
    first, alone = ordered[0][0], len(ordered) == 1
    parts = [f"{key[1]}: {', '.join(told.get(key, []))}" for key in ordered]
    message = ordered[0][1] if alone and first != DISPARITY else "; ".join(parts)
    ranks = release.ranks[release.ranks["model"] == model]
    ranks = ranks[~ranks["method_note"].fillna("").str.startswith(ALONE)]
    if len(ranks) and ranks["rank"].isna().all():
        message += f"; {UNRANKED}"
    questions = flags_of(release.screening[release.screening["model"] == model])
    if len(questions):
        message += f"; screening has {counted(len(questions), 'question')}"
    sent = release.submissions
    if len(selected_runs(sent[sent["model"] == model])):
        message += "; chosen among several runs"
    if unusual := own_level(release.alpha):
        message += f"; {unusual}"
    return {
        "schemaVersion": 1,
        "label": ", ".join([f"fairstats {release.name}", *_declarations(release, model)]),
        "message": message,
        "color": _COLOURS.get(first, DIM).removeprefix("#"),
        "labelColor": INK.removeprefix("#"),
    }


def _declarations(release: Release, model: str) -> list[str]:
    """Return the title and hash of each benchmark that the model answered."""
    answers = release.manifest["answers"]
    names = {entry["benchmark"] for entry in answers if entry["model"] == model}
    asked = [release.benchmarks[name] for name in sorted(names)]
    return [f"{benchmark.title} {benchmark.hash}" for benchmark in asked]


def _statuses(release: Release, model: str) -> Iterator[tuple[str, str, str]]:
    """Return the label, status and status text of each attribute in the model's answers."""
    own = release.estimates[
        (release.estimates["model"] == model) & release.estimates["metric"].isin(DIFFERENCES)
    ]
    several = own["benchmark"].nunique() > 1
    for name, rows in own.groupby("benchmark", sort=True):
        benchmark = release.benchmarks[str(name)]
        for attribute in benchmark.varied:
            of_it = rows[rows["attribute"] == attribute.name]
            if len(of_it):
                label = uncapital(attribute.label)
                told = f"{benchmark.title} {label}" if several else label
                status = _status(of_it, benchmark, model)
                kind = benchmark.kind
                margin = f" within ±{kind.shown_margin(benchmark.equivalence_margin)}"
                yield told, status, status.replace(EQUIVALENT, EQUIVALENT + margin)


def _status(rows: pd.DataFrame, benchmark: Benchmark, model: str) -> str:
    if model in benchmark.selected_on:
        return SELECTED
    there = set(map(status_of, rows["verdict"], rows["verdict_reason"]))
    return next(status for status in STATUSES if status in there)


def status_of(verdict: object, reason: object) -> str:
    """Return the status of one pair: its verdict, with the short reason or "with a caution".

    It is one of `STATUSES`; "not judged" without a verdict.

    Examples
    --------
    >>> status_of("inconclusive", "missing answers could change the verdict")
    'inconclusive (answers missing)'
    >>> status_of("inconclusive", None)
    'inconclusive'
    """
    if not isinstance(verdict, str):
        return NOT_JUDGED
    if verdict == DISPARITY or not isinstance(reason, str) or not reason:
        return verdict
    if verdict == EQUIVALENT:
        return _CAREFUL
    short = next(short for part, short in _REASONS.items() if part in reason)
    return f"{INCONCLUSIVE} ({short})"
