"""The pages that compare versions and prompts, for decisions, levels and scores."""

from __future__ import annotations

import re

import pandas as pd
import pypandoc
import pytest

from fairstats.release.contents import Release
from fairstats.report.changes.page import show_strategies, show_versions
from fairstats.report.changes.rows import directed

from .kinds import FORBIDDEN, answered, declared
from .reading import tight
from .undrawn import undrawn

pytestmark = pytest.mark.usefixtures("without_screening")

NAMES = ("interviews", "urgency", "essays")
PAGES = {"versions": show_versions, "prompts": show_strategies}


@pytest.fixture(scope="module")
def releases(tmp_path_factory) -> dict[str, Release]:
    """Make a release per benchmark: the newer model, and the older one's other prompt, are fair."""
    made = {}
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        benchmark = declared(name, folder)
        old = answered(benchmark).assign(model="GPT-4.1")
        own = ["item_id", "sample"]
        first = old[old["group"] == "north"].set_index(own)["answer"]
        fair = old.assign(answer=first.reindex(pd.MultiIndex.from_frame(old[own])).to_numpy())
        fair["status"] = "ok"
        tables = [old, fair.assign(model="GPT-5", snapshot="gpt-5"), fair.assign(strategy="cot")]
        answers = pd.concat(tables, ignore_index=True)
        newer = {"GPT-5": "GPT-4.1"}
        made[name] = undrawn(answers, folder, benchmarks=[benchmark], successors=newer)
    return made


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", NAMES)
def test_page_of_each_kind(name, page, releases, drawn, snapshot):
    html = drawn(PAGES[page], releases[name])
    text = pypandoc.convert_text(html, "plain", format="html", extra_args=["--wrap=none"])
    allowed = {"patient", "patients"} if name == "urgency" else set()
    assert {found.group() for found in FORBIDDEN.finditer(text)} <= allowed
    assert not re.search(r"\b(key|right|wrong)\b", text)
    # A cluster is no reason for caution.
    assert "like for like" not in text
    assert tight(text) == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_rate_is_neither_better_nor_worse(name, releases):
    kind = releases[name].benchmarks[name].kind
    rate, cfr, gap = directed(kind).values()
    assert not re.search("[↑↓]", rate)
    assert cfr.startswith("CFR ↑")
    assert gap.startswith("Gap ↓")
