"""The feed is Atom (RFC 4287), lists the changes, and can be at any address."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from xml.etree import ElementTree

import pandas as pd
import pytest

from fairstats.publishing.feed import FEED, FeedEntry, atom_feed, release_entry

from .conftest import answers_of_models
from .undrawn import undrawn, whole

ATOM = "{http://www.w3.org/2005/Atom}"
OLD = FeedEntry("2026.10", "2026-10-01T08:00:00+02:00", "aa", "2 models")
NEW = FeedEntry("2026.11", "2026-11-20T06:14:51+00:00", "bb", "3 models\none new")


def parsed(text: str) -> ElementTree.Element:
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<feed ')
    return ElementTree.fromstring(text.encode())


def only(parent: ElementTree.Element, name: str) -> str:
    (found,) = parent.findall(ATOM + name)
    return found.text or ""


def test_feed_follows_the_rfc():
    feed = parsed(atom_feed([OLD, NEW]))
    assert feed.tag == f"{ATOM}feed"
    entries = feed.findall(f"{ATOM}entry")
    # Sections 4.1.1 and 4.1.2: exactly one each, and an author for every entry.
    for part in (feed, *entries):
        assert only(part, "id").startswith("urn:uuid:")
        assert only(part, "title")
        assert datetime.fromisoformat(only(part, "updated")).tzinfo is not None
    (author,) = feed.findall(f"{ATOM}author")
    assert only(author, "name") == "fairstats"
    assert len({only(part, "id") for part in (feed, *entries)}) == 3
    (itself,) = [link for link in feed.findall(f"{ATOM}link") if link.get("rel") == "self"]
    assert (itself.get("href"), itself.get("type")) == (FEED, "application/atom+xml")
    for part in (feed, *entries):
        (page,) = [link for link in part.findall(f"{ATOM}link") if link.get("rel") == "alternate"]
        assert page.get("type") == "text/html"
    known = {"id", "title", "updated", "published", "author", "link", "entry", "summary", "name"}
    assert {element.tag.removeprefix(ATOM) for element in feed.iter()} - {"feed"} == known


def test_newest_release_is_first_and_dates_the_feed():
    feed = parsed(atom_feed([OLD, NEW]))
    assert [only(e, "title") for e in feed.findall(f"{ATOM}entry")] == [
        "Release 2026.11",
        "Release 2026.10",
    ]
    assert only(feed, "updated") == "2026-11-20T06:14:51+00:00"
    assert only(feed.findall(f"{ATOM}entry")[1], "updated") == "2026-10-01T06:00:00+00:00"
    assert only(feed.find(f"{ATOM}entry"), "summary") == "3 models\none new"
    assert atom_feed([OLD, NEW]) == atom_feed([NEW, OLD])


def test_a_new_release_leaves_the_ids_of_the_feed_and_of_older_entries():
    before, after = parsed(atom_feed([OLD])), parsed(atom_feed([OLD, NEW]))
    assert only(before, "id") == only(after, "id")
    ids = [only(entry, "id") for entry in after.findall(f"{ATOM}entry")]
    assert only(before.find(f"{ATOM}entry"), "id") == ids[1]
    # Fixed: a reader that has seen the release recognises it after any change of this code.
    assert ids[1] == "urn:uuid:a8e4a261-fae2-556c-bc6d-2d40dac7f59d"


def test_ids_depend_only_on_content_and_name():
    assert replace(OLD, content="ab").id != OLD.id
    assert replace(OLD, release="2026.09").id != OLD.id
    assert replace(OLD, summary="", created_at=NEW.created_at).id == OLD.id


def test_links_are_relative_to_the_feed():
    feed = parsed(atom_feed([NEW]))
    (link,) = feed.findall(f"{ATOM}entry/{ATOM}link")
    assert link.get("href") == "v/2026.11/index.html"
    assert not [name for name in feed.attrib if name.endswith("base")]


@pytest.mark.parametrize(
    "text",
    [
        "</summary><script>alert(1)</script>",
        "]]> & &amp; <![CDATA[",
        '"><img src=x>',
        "a\x00b\x1b[2J\x07\x0b\ufffe\uffff",
        "lone \udc80 surrogate",
        "tiny-🤗",
    ],
)
def test_hostile_text_is_text(text):
    feed = parsed(atom_feed([replace(NEW, summary=f"{text}\nnext")]))
    # XML 1.0, section 2.2.
    legal = "".join(c for c in text if c in "\t\n\r" or 32 <= ord(c) < 0xD800 or ord(c) >= 0xE000)
    legal = legal.replace("\ufffe", "").replace("\uffff", "")
    assert only(feed.find(f"{ATOM}entry"), "summary") == f"{legal}\nnext"
    assert {element.tag.removeprefix(ATOM) for element in feed.iter()} >= {"entry", "summary"}
    assert not [e.tag for e in feed.iter() if e.tag.removeprefix(ATOM) in ("script", "img")]


def test_an_entry_of_a_release_counts_its_verdicts(tmp_path):
    made = undrawn(whole(answers_of_models(("One", "Two"))), tmp_path)
    entry = release_entry(made)
    assert entry.created_at == made.manifest["created_at"]
    assert entry.content == made.manifest["content"]["estimates"]
    assert entry.summary.endswith("plain: 2 models; verdicts: inconclusive 6")
    assert entry.id in atom_feed([entry])


def test_entry_counts_withheld_verdicts_separately(tmp_path, one_pair, all_right):
    benchmark = one_pair(120)
    right = all_right(benchmark)
    gone = right["group"].eq("black") & right["item_id"].isin([f"i{n:02}" for n in range(40)])
    answer, status = right["answer"].mask(gone), right["status"].mask(gone, "refused")
    refusing = right.assign(model="refuses", answer=answer, status=status)
    made = undrawn(pd.concat([right, refusing]), tmp_path, benchmarks=[benchmark])
    line = release_entry(made).summary
    assert line.endswith(": inconclusive (answers missing) 1, equivalent 1")
    # Older releases have no reasons.
    del vars(made)["boards"]
    vars(made)["estimates"] = made.estimates.drop(columns="verdict_reason")
    line = release_entry(made).summary
    assert line.endswith("verdicts: inconclusive 1, equivalent 1")


def test_feed_entry_states_if_there_are_no_verdicts(tmp_path):
    made = undrawn(answers_of_models(("One",)), tmp_path, missing="bounds")
    assert release_entry(made).summary.endswith("1 model; verdicts: none")
