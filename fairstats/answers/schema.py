"""The answers table: its columns, in one pandera schema."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import pandas as pd

from fairstats._lib.safe_names import SHA256

if TYPE_CHECKING:
    import pandera.pandas as pandera

#: Columns that identify an answer; no two rows of a table have the same values in them.
KEY_COLUMNS = (
    "benchmark",
    "benchmark_version",
    "model",
    "strategy",
    "item_id",
    "attribute",
    "group",
    "sample",
)
REQUIRED_COLUMNS = (*KEY_COLUMNS, "answer", "answer_key", "status")
#: Columns of names that readers compare; they are normalised.
NAME_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy", "snapshot")
STATUSES = ("ok", "unparsed", "refused", "error")

# Names are used in page titles, file names and table cells. The limit stops a hostile file from
# flooding them. Characters that control a terminal or change the text direction are not allowed in
# names. Allowed characters are those that Python calls printable.
_NAME_LENGTH = 200
RAW_LENGTH = 1_000_000
# Maximum length of a text in a problem, since there may be hundreds of them.
MOST_SHOWN = 300
TOO_LONG = f"is longer than {RAW_LENGTH:,} characters"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def text_check(valid: Callable[[str], object], error: str) -> pandera.Check:
    """Return a check that looks at each distinct text once, since a large column has few."""
    from fairstats._lib.pandera_without_spark import pa

    def rows(texts: pd.Series) -> pd.Series:
        wrong = [text for text in texts.dropna().unique() if not valid(text)]
        return ~texts.isin(wrong)

    return pa.Check(rows, error=error)


def printable_check(most: int = _NAME_LENGTH) -> pandera.Check:
    """Return a check for text that fits a page, a file name and a terminal; by default a name."""
    return text_check(
        lambda text: 0 < len(text) <= most and text.isprintable(),
        f"must be 1 to {most:,} printable characters",
    )


def sha256_check() -> pandera.Check:
    """Return a check for hexadecimal digits, as in `hashlib`."""
    return text_check(SHA256.fullmatch, "must be 64 hexadecimal digits")


@cache
def answers_schema() -> pandera.DataFrameSchema:
    """Return the pandera schema of the answers table, the single definition of its columns.

    Returns
    -------
    pandera.pandas.DataFrameSchema
        Required and optional columns with their types and checks, the rule that an answer is
        present exactly if ``status`` is ``ok``, and the uniqueness of `KEY_COLUMNS`.

    Examples
    --------
    >>> sorted(name for name, column in answers_schema().columns.items() if not column.required)[:3]
    ['answer_raw', 'collected_at', 'collector']
    """
    from fairstats._lib.pandera_without_spark import pa

    def optional(dtype: str | type, *checks: pa.Check) -> pa.Column:
        return pa.Column(dtype, list(checks), nullable=True, required=False)

    name, sha256 = printable_check(), sha256_check()
    letter = text_check(
        lambda text: len(text) == 1 and text in string.ascii_uppercase,
        "must be one capital letter, A to Z",
    )
    not_negative = pa.Check.ge(0, error="must not be negative")
    raw = pa.Check.str_length(max_value=RAW_LENGTH, error=TOO_LONG)
    return pa.DataFrameSchema(
        {
            **{column: pa.Column(str, name) for column in KEY_COLUMNS if column != "sample"},
            "sample": pa.Column("int64", not_negative),
            "answer": pa.Column(str, letter, nullable=True),
            "answer_key": pa.Column(str, letter),
            "status": pa.Column(
                str, pa.Check.isin(STATUSES, error=f"must be one of {', '.join(STATUSES)}")
            ),
            "snapshot": optional(str, name),
            "answer_raw": optional(str, raw),
            "prompt_sha256": optional(str, sha256),
            # The snippets in the prompt, see `fairstats.retrieval.retrievals_table.context_sha256`.
            "context_sha256": optional(str, sha256),
            "temperature": optional("float64", not_negative),
            "max_tokens": optional("Int64", not_negative),
            "seed": optional("Int64"),
            "latency_s": optional("float64", not_negative),
            "prompt_tokens": optional("Int64", not_negative),
            "completion_tokens": optional("Int64", not_negative),
            "collected_at": optional(
                str, text_check(_TIME.fullmatch, "must be an ISO 8601 time with a UTC offset")
            ),
            "collector": optional(str, name),
        },
        checks=pa.Check(
            lambda frame: frame["answer"].notna() == (frame["status"] == "ok"),
            name="status",
            error="must be 'ok' if and only if there is an answer",
        ),
        unique=list(KEY_COLUMNS),
        report_duplicates="exclude_first",
        strict=True,
        coerce=True,
    )


def explain(check: str) -> tuple[str, str]:
    """Return the message and the remedy of a failed check of the schema."""
    if check == "not_nullable":
        return "must not be empty", "fill it in"
    if check.startswith(("coerce_dtype", "dtype(")):
        return "has the wrong type", "see `fairstats schema`"
    return check, "correct the value"
