"""Boxes around parts of a page: elements that the style sheet dresses, on paper typst's blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairstats.report.page_output import output_format, show_html, show_markdown


@contextmanager
def box(name: str) -> Iterator[None]:
    """Put the output of the context into a box.

    Parameters
    ----------
    name : str
        The element's class, and the function of the typst template.
    """
    _show_raw(f'<div class="{name}">', f"#{name}[")
    yield
    _show_raw("</div>", "]")


@contextmanager
def columns() -> Iterator[Callable[[], None]]:
    """Show two columns next to each other; call the yielded function to begin the second."""
    _show_raw('<div class="two"><div>', "#two-columns[")
    yield lambda: _show_raw("</div><div>", "][")
    _show_raw("</div></div>", "]")


@contextmanager
def on_one_page() -> Iterator[None]:
    """Keep the output of the context on one page, on paper; it must not be longer."""
    if output_format() == "html":
        yield
    else:
        with box("on-one-page"):
            yield


def pieces(name: str, *texts: str) -> str:
    """Return texts next to each other, as Markdown.

    Parameters
    ----------
    name : str
        The element's class, and the function of the typst template, which takes each text.
    *texts : str
        Markdown without paragraphs.
    """
    if output_format() == "html":
        return f"[{' '.join(f'[{text}]{{.piece}}' for text in texts)}]{{.{name}}}"
    return f"`#{name}[`{{=typst}}{'`][`{=typst}'.join(texts)}`]`{{=typst}}"


def _show_raw(html: str, typst: str) -> None:
    if output_format() == "html":
        show_html(html)
    else:
        show_markdown(f"```{{=typst}}\n{typst}\n```")
