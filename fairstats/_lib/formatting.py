"""Numbers, names and intervals as text, and text in another page format."""

from __future__ import annotations

import html
import math
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from fairstats._lib.problems import printable

MINUS = "\u2212"
#: Number of characters of a drawn interval.
WIDTH = 41
# GitHub looks for people and issues after it removed the escapes. A word joiner hides them.
_REFERENCES = str.maketrans({sign: f"{sign}\u2060" for sign in "@#"})
_QUOTES = re.compile("[\"“”„‟«»‹›〝〞〟❝❞״ˮ]|['‘’‚‛′`´]{2,}")


def points(value: float, *, signed: bool = True) -> str:
    """Format a difference of proportions in percentage points.

    Examples
    --------
    >>> points(0.0911), points(-0.0049, signed=True)
    ('+9.1', '−0.5')
    """
    if math.isnan(value):
        return "not known"
    text = f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
    # A difference that rounds to 0 has no sign.
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def percent(value: float) -> str:
    """Format a proportion in percent, with one decimal.

    Examples
    --------
    >>> percent(0.8752)
    '87.5%'
    """
    return "not known" if math.isnan(value) else f"{100 * value:.1f}%"


def whole_percent(value: float) -> str:
    """Format a proportion in whole percent without the sign, never rounded to 0 or 100.

    Examples
    --------
    >>> whole_percent(0.32), whole_percent(0.0047), whole_percent(0.9953), whole_percent(0.0)
    ('32', 'less than 1', 'more than 99', '0')
    """
    text = f"{100 * value:.0f}"
    if text == "0" and value > 0:
        return "less than 1"
    return "more than 99" if text == "100" and value < 1 else text


def point_range(low: float, high: float) -> str:
    """Format the limits of a difference in points, e.g. ``+6.9 to +11.5``."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{points(low)} to {points(high)}"


def percent_range(low: float, high: float) -> str:
    """Format the limits of a proportion in percent, e.g. ``85.0–89.6``."""
    return "" if math.isnan(low) or math.isnan(high) else f"{100 * low:.1f}–{100 * high:.1f}"


def p_value(p: float) -> str:
    r"""Format a p-value as in papers, with non-breaking spaces.

    Near 0.05, it has more digits: a rounded one would not show on which side it is.

    Examples
    --------
    >>> p_value(1.8e-15), p_value(0.0312), p_value(0.0503), p_value(1.0)
    ('p\xa0<\xa00.001', 'p\xa0=\xa00.031', 'p\xa0=\xa00.0503', 'p\xa0=\xa01')
    """
    if math.isnan(p):
        return ""
    digits = f"{p:.3f}" if round(p, 3) != 0.05 else f"{p:.4g}"
    text = "< 0.001" if p < 0.001 else "= 1" if p == 1 else f"= {digits}"
    return f"p {text}".replace(" ", "\u00a0")


def p_figure(p: float) -> str:
    r"""A p-value for a column of p-values, without its "p =".

    Examples
    --------
    >>> p_figure(1.8e-15), p_figure(0.0312)
    ('<\xa00.001', '0.031')
    """
    return p_value(p).removeprefix("p\u00a0").removeprefix("=\u00a0")


def decimal(value: float, places: int = 4) -> str:
    """Format a number with a fixed number of decimals and a true minus sign."""
    if math.isnan(value):
        return ""
    return f"{value:.{places}f}".replace("-", MINUS).replace("inf", "∞")


def scientific(value: float) -> str:
    """Format a p-value with three significant digits, never 0.

    Examples
    --------
    >>> scientific(1.8485e-15), scientific(0.0312)
    ('1.85e−15', '0.0312')
    """
    return "" if math.isnan(value) else f"{value:.3g}".replace("-", MINUS)


def escape_html(text: str) -> str:
    """Escape text for HTML, as content or attribute value."""
    return html.escape(text, quote=True)


def escape_markdown(text: str) -> str:
    """Escape every ASCII punctuation mark, so that pandoc reads the text literally.

    Quarto looks for its shortcodes later, in the text after parsing. An invisible word joiner
    prevents a name from being one.
    """
    text = text.replace("{{<", "{\u2060{<").replace(">}}", ">}\u2060}")
    marks = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    return "".join(f"\\{c}" if c in marks else c for c in text)


def escape_comment(text: str) -> str:
    """Escape a text for one line of a comment on GitHub, e.g. a cell of a table."""
    return escape_markdown(" ".join(text.split())).translate(_REFERENCES)


def level(alpha: float) -> str:
    """Format a confidence level in percent, never rounded to 100.

    Examples
    --------
    >>> level(0.05), level(1e-9)
    ('95%', '99.9999%')
    """
    # Six digits are shown: a level between 99.9999 and 100 is rounded down.
    return f"{min(100 * (1 - alpha), 99.9999):g}%"


def own_level(alpha: float) -> str:
    """Name a significance level that is not the default; empty for 0.05.

    Examples
    --------
    >>> own_level(0.1), own_level(0.05)
    ('significance level 0.1 (default: 0.05)', '')
    """
    return "" if alpha == 0.05 else f"significance level {alpha:g} (default: 0.05)"


def number_word(n: int) -> str:
    """Return small numbers as words, for prose.

    Examples
    --------
    >>> number_word(3), number_word(801)
    ('three', '801')
    """
    words = (
        "no", "one", "two", "three", "four", "five", "six",
        "seven", "eight", "nine", "ten", "eleven", "twelve",
    )  # fmt: skip
    return words[n] if 0 <= n < len(words) else f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "pair"), counted(1273, "item")
    ('1 pair', '1,273 items')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def over_tests(method: str, n: int) -> str:
    """Return how many tests p-values are adjusted over, in words.

    Examples
    --------
    >>> over_tests("holm", 1), over_tests("holm", 19900)
    ('holm over 1 test', 'holm over 19900 tests')
    """
    return f"{method} over {n} test{'s' * (n != 1)}"


def listed(names: Iterable[str], word: str = "and") -> str:
    """Join names as a sentence lists them.

    Examples
    --------
    >>> listed(["race"]), listed(["race", "sex", "income"], "or")
    ('race', 'race, sex or income')
    """
    *first, last = (*names,) or ("",)
    return f"{', '.join(first)} {word} {last}" if first else last


def quoted(*names: str) -> str:
    """Return names, each in quotation marks that it cannot close.

    Next to other text, names of models, prompts and snapshots are written like this. What a
    submitter calls a model can then not be read as its rank or verdict.

    Examples
    --------
    >>> print(quoted('GPT" has rank 1, "X', "plain (equivalent)"))
    “GPT’ has rank 1, ’X”, “plain (equivalent)”
    """
    return ", ".join(f"“{_QUOTES.sub('’', name)}”" for name in names)


def span(low: str, high: str) -> str:
    """Two figures as a range, or one if they read the same.

    Examples
    --------
    >>> span("8.2", "10.4"), span("8.2", "8.2")
    ('8.2 to 10.4', '8.2')
    """
    return low if low == high else f"{low} to {high}"


def capital(text: str) -> str:
    """Return the text with a capital first letter; `str.capitalize` would change the others."""
    return f"{text[:1].upper()}{text[1:]}"


def uncapital(text: str) -> str:
    """Return the text with a small first letter, to follow others; an abbreviation keeps its own.

    Examples
    --------
    >>> uncapital("First name"), uncapital("SES")
    ('first name', 'SES')
    """
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def draw_intervals(
    estimates: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    reference: float | None = None,
    width: int = WIDTH,
) -> list[str]:
    """Draw intervals on a common scale: ``├──●──┤``, with ``┊`` or ``┼`` at the reference.

    A limit that is NaN is not drawn, and an infinite one ends in ``─``. The last line is the scale,
    which includes the reference.

    Examples
    --------
    >>> print(*draw_intervals([0.1, 0], [0, -0.2], [0.2, 0.2], reference=0, width=21), sep="\\n")
              ├────●────┤
    ├─────────●─────────┤
    −0.2000        0.2000
    """
    shown = [
        x for x in (*estimates, *lows, *highs, reference) if x is not None and math.isfinite(x)
    ]
    least, most = min(shown, default=0.0), max(shown, default=1.0)
    if least == most:
        least, most = least - 0.5, most + 0.5

    def scaled(x: float) -> int:
        return round((min(max(x, least), most) - least) / (most - least) * (width - 1))

    zero = None if reference is None else scaled(reference)

    def place(x: float) -> int:
        # Only the reference itself is drawn in its place.
        if zero is None or x == reference:
            return scaled(x)
        return max(scaled(x), zero + 1) if x > (reference or 0) else min(scaled(x), zero - 1)

    lines = []
    for estimate, low, high in zip(estimates, lows, highs, strict=True):
        line = [" "] * width
        if zero is not None:
            line[zero] = "┊"
        if not (math.isnan(low) or math.isnan(high)):
            line[place(low) : place(high) + 1] = "─" * (place(high) - place(low) + 1)
            if zero is not None and place(low) < zero < place(high):
                line[zero] = "┼"
            for limit, end in ((low, "├"), (high, "┤")):
                if math.isfinite(limit):
                    line[place(limit)] = end
        if math.isfinite(estimate):
            line[place(estimate)] = "●"
        lines.append("".join(line).rstrip())
    ends = decimal(least), decimal(most)
    return [*lines, f"{ends[0]}{ends[1]:>{max(width - len(ends[0]), 1)}}"]


def align(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines of text; columns in `right` are aligned to the right.

    Examples
    --------
    >>> align([["plain", "0.5"], ["few", "12"]], right=[1])
    ['plain  0.5', 'few     12']
    """
    from rich.cells import cell_len

    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        blanks = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        padded = [
            blank + cell if place in right else cell + blank
            for place, (cell, blank) in enumerate(zip(row, blanks, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


#: The exit code of pandoc when its memory is used up.
_HEAP_EXHAUSTED = 251
#: The most memory of pandoc, and the longest time. A few kilobytes of Markdown or a template can
#: be written to take any amount of both.
_MOST_MEMORY_MB, _MOST_SECONDS = 4096, 900.0


def convert(
    text: str,
    *,
    source: str,
    target: str,
    options: Sequence[str] = (),
    out: Path | None = None,
    memory: int = _MOST_MEMORY_MB,
    seconds: float = _MOST_SECONDS,
) -> str:
    """Return text in another of pandoc's formats; empty if it is written to `out`.

    A RuntimeError says that pandoc failed, or needed more megabytes of memory or more seconds.
    """
    import pypandoc

    command = [pypandoc.get_pandoc_path(), f"--from={source}", f"--to={target}", *options]
    command += [] if out is None else [f"--output={out}"]
    command += ["+RTS", f"-M{memory}m", "-RTS"]
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"pandoc takes longer than {seconds:g} seconds") from None
    if done.returncode == _HEAP_EXHAUSTED:
        raise RuntimeError(f"pandoc needs more than {memory:,} MB of memory")
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()
