"""Write the Atom feed of a site, with one entry per release."""

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

#: The file name of the feed at the root of a site.
FEED = "feed.xml"

# The namespace for the ids of all feeds and entries. A change would make every entry new.
_NAMESPACE = uuid.UUID("b4da6b3d-1b42-49dd-8401-280ce23af2ef")
_PLACE = re.compile(r"(?!/)(?!.*//)[^\\:?#]+")


@dataclass(frozen=True)
class FeedEntry:
    """Describe one release for the feed.

    Parameters
    ----------
    release : str
        Its name.
    created_at : str
        When it was made, ISO 8601 with an offset, as in its manifest.
    content : str
        The hash of its estimates, which identifies its content.
    summary : tuple of str
        Lines of plain text.
    path : str
        Its page, relative to the feed's folder, e.g. ``"v/2026.11/index.html"``.
    """

    release: str
    created_at: str
    content: str
    summary: tuple[str, ...]
    path: str

    @property
    def moment(self) -> datetime:
        """Return the time of creation, in UTC.

        Raises
        ------
        ValueError
            If `created_at` is not a valid time, or has no time zone.
        """
        moment = datetime.fromisoformat(self.created_at)
        if moment.tzinfo is None:
            raise ValueError(f"created_at={self.created_at!r} has no UTC offset, e.g. +00:00")
        return moment.astimezone(UTC)

    @property
    def id(self) -> str:
        """Return a URN that does not depend on when or where the feed is written."""
        return uuid.uuid5(_NAMESPACE, f"{self.release}\n{self.content}").urn


def release_entry(release: Release, *, path: str) -> FeedEntry:
    """Make the feed entry of a release, with one line per board.

    Each line counts the models and the verdicts. Inconclusive verdicts are counted by reason.

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
        # Older releases have no such column.
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
    """Return an Atom 1.0 feed of a site's releases, newest first.

    Parameters
    ----------
    entries : iterable of FeedEntry
        The releases, in any order.
    base_url : str, optional
        The address of the feed's folder, if it is known.
    title, author : str
        Of the feed.

    Returns
    -------
    str
        The feed as a document, to be written as `FEED` at the site's root.

    Raises
    ------
    ValueError
        If there is no entry, since a feed must have an id and a date. Also if two entries are the
        same or a date is not valid. Also if a path leads out of the folder, or `base_url` is not a
        web address.

    Notes
    -----
    A site can be on any host, and can be moved or copied, so the feed does not depend on its
    address. Ids are UUIDs of a release's name and content (version 5), so a reader recognises a
    known release under another address. The feed's id is derived from its oldest release, which
    later ones do not change. Links are relative, as RFC 4287 allows, and are resolved against the
    address that the feed was read from. With `base_url`, an ``xml:base`` gives that address to
    readers that got the feed as a file. Texts are escaped by the XML library; characters that XML
    forbids are left out.

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
    """Return a path below the feed's folder as a relative address."""
    if not _PLACE.fullmatch(path) or ".." in path.split("/"):
        raise ValueError(f"path={path!r} points outside the site's folder; use a path below it")
    return quote(path)
