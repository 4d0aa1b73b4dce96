"""A rater's form: one HTML file that runs from disk and saves the choices."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

from fairstats._lib.formatting import escape_html
from fairstats._lib.safe_names import slug
from fairstats.ratings.collection.judgements import MAX_COMMENT
from fairstats.ratings.collection.texts import Shown
from fairstats.ratings.files import EXPORT_FORMAT
from fairstats.ratings.rubrics import Rubric

#: The version of the export format, for `fairstats.ratings.collection.exported_forms`.
EXPORT_VERSION = 1


def form_html(rubric: Rubric, rater_id: str, assignment: str, handed: Mapping[str, Shown]) -> str:
    """Return the form of one rater.

    Parameters
    ----------
    rubric : Rubric
        The rubric with the questions.
    rater_id, assignment : str
        The rater, and the assignment.
    handed : Mapping[str, Shown]
        The texts of each task by id, in the order in which they are rated.

    Returns
    -------
    str
        HTML with embedded style, script and texts. Its policy allows only this script and loads
        nothing. Texts are data that the script inserts only as text.
    """
    data = {
        "format": EXPORT_FORMAT,
        "version": EXPORT_VERSION,
        "assignment": assignment,
        "rater_id": rater_id,
        "rubric": rubric.name,
        "file": f"{slug(rater_id)}_{assignment}",
        "questions": [
            {
                "dimension": question.dimension,
                "label": question.label,
                "question": question.question,
                "choices": [{"value": c.value, "label": c.label} for c in question.choices],
                "asked_if": question.asked_if,
            }
            for question in rubric.questions
        ],
        "tasks": [
            {"task_id": task_id, "above": list(texts.above.items()),
             "beside": [list(column.items()) for column in texts.beside]}
            for task_id, texts in handed.items()
        ],
    }  # fmt: skip
    template, style, script = _parts()
    return template.substitute(
        title=escape_html(rubric.title),
        rater=escape_html(rater_id),
        instructions=escape_html(rubric.instructions),
        tasks=len(handed),
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        most=MAX_COMMENT,
        style=style,
        data=_json_in_html(data),
        script=script,
    )


@cache
def _parts() -> tuple[Template, str, str]:
    folder = Path(__file__).parent
    template, style, script = (
        (folder / f"form.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    return Template(template), style, script


def _policy_hash(text: str) -> str:
    """Return the hash of a script or style for a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json_in_html(data: object) -> str:
    r"""Return JSON that no embedded text can terminate.

    Examples
    --------
    >>> _json_in_html("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
