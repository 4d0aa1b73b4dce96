"""Do answers go missing, or change, more for one group?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairstats._lib.formatting import number_word
from fairstats.benchmarks.kinds import CHOICE
from fairstats.report.answer_sets import AnswerSet
from fairstats.report.figures import NONE, p_cell
from fairstats.report.sections.section import Answer, Section, Shown
from fairstats.report.tables import breakable, written_table

#: The tests of other possible problems with the answers.
DIAGNOSTICS = ("bowker", "stuart_maxwell", "missing_difference")


def _answer(own: AnswerSet) -> Answer:
    missing, whole = own.missing
    if not missing:
        return Answer("No answer is missing", "")
    p = {pair: pair.value("missing_difference", "p_value") for pair in own.pairs}
    uneven = [pair for pair, value in p.items() if value <= own.release.alpha]
    text = f"{missing:,} of {whole:,} answers are missing."
    if not uneven:
        return Answer("Not clearly", f"{text} No test of a difference is significant.")
    pairs = f"{number_word(len(uneven))} of {number_word(len(own.pairs))} pairs"
    return Answer(f"Yes, for {pairs}", f"{text} The tests are not adjusted.")


def table(own: AnswerSet) -> Shown:
    """Show the tests of missing answers and of the changes from one answer to another."""
    rows = []
    for pair in own.charted:
        sides = [pair.difference[f"n_missing_{side}"] for side in "ab"]
        rows.append(
            {"pair": breakable(pair.title)}
            | {metric: p_cell(pair.value(metric, "p_value")) for metric in DIAGNOSTICS}
            | {
                "missing": " : ".join(NONE if n != n else f"{int(n):,}" for n in sides),
                "difference": pair.figure("missing_difference").text or NONE,
            }
        )
    labels = {
        "missing": "Missing, both groups",
        "difference": "Difference, points",
        "missing_difference": "p, missing",
    }
    what = "letters" if own.kind == CHOICE else "answers"
    changed = own.kind == CHOICE or any(
        not math.isnan(pair.value("bowker", "p_value")) for pair in own.pairs
    )
    if changed:
        labels |= {
            "bowker": f"p, {what} (Bowker)",
            "stuart_maxwell": f"p, {what} (Stuart–Maxwell)",
        }
    also = f" and of the {what}" if changed else ""
    made = written_table(rows, labels, name="tests", stub="pair", heading="Pair")
    return Shown(made, f"Tests of missing answers{also}; p-values are not adjusted")


def _tables(own: AnswerSet) -> Sequence[Shown]:
    return [table(own)]


SECTION = Section(
    order=200,
    title=lambda own: "Do answers go missing more for one group?",
    answer=_answer,
    tables=_tables,
    diagnostic=True,
)
