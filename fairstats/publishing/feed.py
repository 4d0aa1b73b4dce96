"""The Atom feed of a site: one entry a release."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote
from xml.etree.ElementTree import Element

from fairstats.publishing.badges import STATUSES, status_of
from fairstats.publishing.xml_text import element, xml_document
from fairstats.release.contents import Release

#: The feed's own name at the root of a site.
FEED = "feed.xml"

# What the ids of all feeds and entries are derived in: changing it would make every entry new.
_NAMESPACE = uuid.UUID("b4da6b3d-1b42-49dd-8401-280ce23af2ef")
_PLACE = re.compile(r"(?!/)(?!.*//)[^\\:?#]+")


@dataclass(frozen=True)
class FeedEntry:
    """What the feed tells of one release.

    Parameters
    ----------
    release : str
        Its name.
    created_at : str
        When it was made, ISO 8601 with an offset, as its manifest says.
    content : str
        What tells its content from any other: the hash of its estimates.
    summary : tuple of str
        Lines of plain text.
    path : str
        Its page, seen from the folder that the feed lies in, e.g. ``"v/2026.11/index.html"``.
    """

    release: str
    created_at: str
    content: str
    summary: tuple[str, ...]
    path: str

    @property
    def moment(self) -> datetime:
        """When it was made, in UTC.

        Raises
        ------
        ValueError
            Where `created_at` is no moment, or of no time zone.
        """
        moment = datetime.fromisoformat(self.created_at)
        if moment.tzinfo is None:
            raise ValueError(f"created_at={self.created_at!r} has no UTC offset, e.g. +00:00")
        return moment.astimezone(UTC)

    @property
    def id(self) -> str:
        """A URN that is the same wherever and whenever the feed is written."""
        return uuid.uuid5(_NAMESPACE, f"{self.release}\n{self.content}").urn


def release_entry(release: Release, *, path: str) -> FeedEntry:
    """Count the verdicts of each board, and those that are open for a reason, in one line each.

    Parameters
    ----------
    release : Release
        The release.
    path : str
        As for `FeedEntry`.
    """
    lines = []
    for board in release.boards:
        varied = [attribute.name for attribute in board.benchmark.varied]
        rows = board.estimates[board.estimates["attribute"].isin(varied)]
        # Releases that were made before there were reasons have no such column.
        judged = rows[rows["verdict"].notna()].reindex(columns=["verdict", "verdict_reason"])
        counted = Counter(map(status_of, judged["verdict"], judged["verdict_reason"]))
        verdicts = ", ".join(
            f"{verdict} {counted[verdict]}" for verdict in STATUSES if verdict in counted
        )
        models = len(board.models)
        lines.append(
            f"{board.benchmark.title}, {board.version}, {board.strategy}: {models} "
            f"model{'' if models == 1 else 's'}; verdicts: {verdicts or 'none'}"
        )
    return FeedEntry(
        release=release.name,
        created_at=str(release.manifest["created_at"]),
        content=str(release.manifest["content"]["estimates"]),
        summary=tuple(lines),
        path=path,
    )


def atom_feed(
    entries: Iterable[FeedEntry],
    *,
    base_url: str | None = None,
    title: str = "fairstats releases",
    author: str = "fairstats",
) -> str:
    """An Atom 1.0 feed of a site's releases, the newest first.

    Parameters
    ----------
    entries : iterable of FeedEntry
        The releases, in any order.
    base_url : str, optional
        The address of the folder that the feed lies in, where it is known.
    title, author : str
        Of the feed.

    Returns
    -------
    str
        The feed as a document, to be written as `FEED` at the site's root.

    Raises
    ------
    ValueError
        Without an entry, since a feed has to have an id and a date; for two entries that are the
        same, a date that is none, a path that leads elsewhere, and a `base_url` that is no web
        address.

    Notes
    -----
    A site can lie on any host and be moved or copied, so nothing rests on its address. Ids are
    UUIDs of a release's name and content (version 5): a reader that has seen a release knows it
    again under another address, and the feed's own id is derived from its oldest release, which
    later ones do not change. Links are relative, as RFC 4287 allows, and are resolved against the
    address that the feed was read from; with `base_url` an ``xml:base`` says it, for readers that
    got the feed as a file. Texts are escaped by the XML library; characters that XML forbids are
    left out.

    References
    ----------
    Nottingham & Sayre (2005), The Atom Syndication Format, RFC 4287; Leach et al., RFC 9562.

    Examples
    --------
    >>> made = "2026-11-20T06:00:00+00:00"
    >>> entry = FeedEntry("1", made, "abc", ("two models",), "v/1/index.html")
    >>> print(atom_feed([entry]).splitlines()[-4].strip())
    <link rel="alternate" type="text/html" href="v/1/index.html" />
    """
    newest_first = sorted(entries, key=lambda entry: (entry.moment, entry.release), reverse=True)
    if not newest_first:
        raise ValueError("a feed needs at least one entry, for its id and date")
    if len({entry.id for entry in newest_first}) < len(newest_first):
        raise ValueError("two entries are for the same release")
    attributes = {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": "en"}
    if base_url is not None:
        if not re.fullmatch(r"https?://[^\s?#]+", base_url):
            raise ValueError(f"base_url={base_url!r} is not a web address of a folder")
        attributes["xml:base"] = base_url.rstrip("/") + "/"
    feed = element("feed", attributes)
    feed.append(element("id", text=uuid.uuid5(_NAMESPACE, newest_first[-1].id).urn))
    feed.append(element("title", text=title))
    feed.append(element("updated", text=_moment(newest_first[0])))
    named = element("author")
    named.append(element("name", text=author))
    feed.append(named)
    feed.append(_link("self", FEED, "application/atom+xml"))
    feed.append(_link("alternate", "index.html", "text/html"))
    for entry in newest_first:
        item = element("entry")
        item.append(element("id", text=entry.id))
        item.append(element("title", text=f"Release {entry.release}"))
        item.append(element("updated", text=_moment(entry)))
        item.append(element("published", text=_moment(entry)))
        item.append(_link("alternate", _place(entry.path), "text/html"))
        item.append(element("summary", {"type": "text"}, "\n".join(entry.summary)))
        feed.append(item)
    return xml_document(feed)


def _link(relation: str, target: str, media_type: str) -> Element:
    return element("link", {"rel": relation, "type": media_type, "href": target})


def _moment(entry: FeedEntry) -> str:
    return entry.moment.isoformat()


def _place(path: str) -> str:
    """A path below the feed's folder as a relative address."""
    if not _PLACE.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"path={path!r} points outside the site's folder; use a path below it")
    return quote(path)
