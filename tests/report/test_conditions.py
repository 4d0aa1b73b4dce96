"""Conditional content of pages: kept or dropped by what the release has."""

from __future__ import annotations

import json
import re

import pypandoc
import pytest

from fairstats._lib.installation import resource
from fairstats.benchmarks.loading import load_benchmark
from fairstats.metrics.registry import METRICS, metrics_table
from fairstats.report.render import _QUARTO
from fairstats.report.site_pages import benchmark_conditions, with_page_texts

from .kinds import DECLARED, declared


def kept(markdown: str, *, to: str = "html", **has: bool) -> str:
    """Return what the built-in renderer keeps of a text."""
    page = f"---\nhas: {json.dumps(has)}\n---\n\n{markdown}"
    options = [_QUARTO, "--wrap=none"]
    return pypandoc.convert_text(page, to, format="markdown", extra_args=options).strip()


@pytest.mark.parametrize(
    ("attributes", "has", "shown"),
    [
        ('.content-visible when-meta="has.a"', {"a": True}, True),
        ('.content-visible when-meta="has.a"', {"a": False}, False),
        ('.content-visible when-meta="has.a"', {}, False),
        ('.content-visible when-meta="has.a.b"', {"a": True}, False),
        ('.content-visible unless-meta="has.a"', {}, True),
        ('.content-visible when-meta="has.a" unless-meta="has.b"', {"a": True}, True),
        ('.content-visible when-meta="has.a" unless-meta="has.b"', {"a": True, "b": True}, False),
        ('.content-hidden when-meta="has.a"', {"a": True}, False),
        ('.content-hidden when-meta="has.a"', {}, True),
        ('.content-visible when-format="html"', {}, True),
        ('.content-visible when-format="typst"', {}, False),
        ('.content-hidden when-format="typst"', {}, True),
    ],
)
def test_content_is_shown_as_quarto_shows_it(attributes, has, shown):
    block = f"::: {{{attributes}}}\nPart\n:::"
    assert kept(block, **has) == ("<p>Part</p>" if shown else "")
    inline = kept(f"A [part]{{{attributes}}}", **has)
    assert re.sub("</?span>| (?=</p>)", "", inline) == ("<p>A part</p>" if shown else "<p>A</p>")


def test_conditions_may_be_nested_and_hold_in_the_pdf_too():
    text = (
        '::: {.content-visible when-meta="has.a"}\n## Part\n\n'
        '::: {.content-visible when-meta="has.b"}\nInside\n:::\n:::'
    )
    assert kept(text, a=True, b=True) == '<h2 id="part">Part</h2>\n<p>Inside</p>'
    assert "Inside" not in kept(text, a=True)
    assert kept(text, b=True) == ""
    assert "Inside" in kept(text, to="typst", a=True, b=True)


@pytest.mark.parametrize(
    ("callout", "title"),
    [
        ('::: {.callout-note title="A *title*"}\nText\n:::', "A <em>title</em>"),
        ("::: {.callout-tip}\n## A title\n\nText\n:::", "A title"),
        ("::: callout-warning\nText\n:::", "Warning"),
    ],
)
def test_a_callout_has_its_title(callout, title):
    html = kept(callout)
    assert html.startswith('<div class="callout callout-')
    assert f"<p><strong>{title}</strong></p>" in html
    assert html.count("Text") == 1
    assert "Text" in kept(callout, to="typst")


@pytest.mark.parametrize("name", DECLARED)
def test_conditions_name_the_kind_of_answers(name, tmp_path):
    benchmark = declared(name, tmp_path)
    found = benchmark_conditions([benchmark])
    assert found[benchmark.kind.name]
    assert found["shares"] != found["numbers"]
    assert (found["other"], found["choice"]) == (True, False)
    assert not found["selected"] | found["neutral"]


def test_fairmedqa_has_choices_a_baseline_and_slanted_text():
    found = benchmark_conditions([load_benchmark("fairmedqa")])
    expected = {"choice", "shares", "options", "key", "neutral", "selected", "slanted"}
    assert {name for name, there in found.items() if there} == expected


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("name", [*DECLARED, "fairmedqa"])
def test_methods_cite_every_reference_of_a_kind_and_list_every_citation(name, features, tmp_path):
    benchmark = declared(name, tmp_path) if name in DECLARED else load_benchmark(name)
    has = benchmark_conditions([benchmark]) | dict.fromkeys(
        ("samples", "comparisons", "retrieval", "ratings", "vignettes"), features
    )
    page = (resource("reports") / "methods.qmd").read_text(encoding="utf-8")
    text = kept(re.sub(r"(?s)\A---\n.*?\n---\n|```.*?```", "", page), to="plain", **has)
    listed = re.findall(r"^- +((?:\w+,? )+?)\((\d{4})\)\. ", text, re.MULTILINE)
    references = {(names.split()[0].strip(","), year) for names, year in listed}
    prose = re.sub(r"^- .*\(\d{4}\)\. .*(\n  .*)*", "", text, flags=re.MULTILINE)
    metrics = metrics_table([benchmark.kind.name], set(METRICS))
    cited = {(n, y) for n, y in re.findall(r"(\w+)(?:, \w+)*(?: and \w+)* \(?(\d{4})\b", prose)}
    assert not {(n, y) for n, y in cited - references if n[0].isupper()}
    assert not {n for n, y in references - cited if n not in metrics and n not in prose}


def test_a_template_takes_a_page_or_one_of_its_sections(tmp_path):
    (tmp_path / "reports").mkdir()
    page = (
        "---\ntitle: T\n---\n\nFirst\n\n::: x\n## One\n\nText\n\n### Below\n:::\n\n## Two\n\nEnd\n"
    )
    (tmp_path / "reports" / "a.qmd").write_text(page, encoding="utf-8")
    template = "{{reports/a.qmd#One}}|{{reports/a.qmd#Two}}|{{SLUG}}"
    assert with_page_texts(template, tmp_path) == "Text\n\n### Below|End|{{SLUG}}"
    assert with_page_texts("{{reports/a.qmd}}", tmp_path).startswith("First\n\n::: x")
