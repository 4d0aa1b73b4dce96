"""The answers table: its columns, in one pandera schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fairstats._lib.table_schemas import (
    NAME,
    SHA256_TEXT,
    Column,
    Rule,
    TableSchema,
    optional,
    printable,
    text_rule,
)

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
REQUIRED_COLUMNS = (*KEY_COLUMNS, "answer", "status")
#: Columns of names that readers compare; they are normalised.
NAME_COLUMNS = ("benchmark", "benchmark_version", "model", "strategy", "snapshot")
STATUSES = ("ok", "unparsed", "refused", "error")

RAW_LENGTH = 1_000_000
TOO_LONG = f"is longer than {RAW_LENGTH:,} characters"
_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII
)


def _is_time(text: str) -> bool:
    """Return whether a text is a time of the calendar, also in UTC."""
    try:
        return bool(_TIME.fullmatch(text) and datetime.fromisoformat(text).astimezone(UTC))
    except (ValueError, OverflowError):
        return False


# Pages put such marks next to names; other boards, medals. Two spaces divide columns in a terminal.
_MARK = re.compile(
    r"[†‡§¶\u20e3\u2300-\u23ff\u2500-\u27bf\u2b00-\u2bff\U0001f396\U0001f3c5\U0001f3c6"
    r"\U0001f451\U0001f51d\U0001f7e0-\U0001f7eb\U0001f947-\U0001f949]|\s\s"
    r"|[*\u204e\u2051\u2055\u2217\u22c6][\s)\]]*$"
)
#: The rule of names of models, strategies and versions. It is about characters: how pages write a
#: name keeps it from being read as a result, see `fairstats._lib.formatting.quoted`.
LABEL = printable(200, _MARK, "without marks such as † or ●, * at the end, or two spaces in a row")
# A user comes before the host: a path may contain @.
_SECRET = re.compile(r"^([^/]*//)?[^/]*@|\?")
_ENDPOINT = printable(200, _SECRET, "a host and path without a user, a password or a query")
ANSWER_LENGTH = 60
_ANSWER = text_rule(
    lambda text: 0 < len(text) <= ANSWER_LENGTH and text == text.strip() and text.isprintable(),
    f"must be an option or a number: 1 to {ANSWER_LENGTH} characters without spaces at the ends",
)
_STATUS = Rule(lambda texts: texts.isin(STATUSES), f"must be one of {', '.join(STATUSES)}")
_NOT_NEGATIVE = Rule(lambda numbers: numbers >= 0, "must not be negative")

#: The single definition of the table's columns. An answer is present exactly if ``status`` is
#: ``ok``.
ANSWERS = TableSchema(
    {
        **{name: Column("str", NAME) for name in KEY_COLUMNS if name != "sample"},
        "benchmark_version": Column("str", LABEL),
        "model": Column("str", LABEL),
        "strategy": Column("str", LABEL),
        "sample": Column("int64", _NOT_NEGATIVE),
        "answer": Column("str", _ANSWER, nullable=True),
        # Needed for kinds of answers with a right one, see `fairstats.benchmarks.kinds`.
        "answer_key": optional("str", _ANSWER),
        "status": Column("str", _STATUS),
        "snapshot": optional("str", NAME),
        "answer_raw": optional("str", Rule(lambda texts: texts.str.len() <= RAW_LENGTH, TOO_LONG)),
        "prompt_sha256": optional("str", SHA256_TEXT),
        # The snippets in the prompt, see `fairstats.retrieval.retrievals_table.context_sha256`.
        "context_sha256": optional("str", SHA256_TEXT),
        "temperature": optional("float64", _NOT_NEGATIVE),
        "max_tokens": optional("Int64", _NOT_NEGATIVE),
        "seed": optional("Int64"),
        "latency_s": optional("float64", _NOT_NEGATIVE),
        "prompt_tokens": optional("Int64", _NOT_NEGATIVE),
        "completion_tokens": optional("Int64", _NOT_NEGATIVE),
        "collected_at": optional(
            "str", text_rule(_is_time, "must be an ISO 8601 time with a UTC offset")
        ),
        "collector": optional("str", NAME),
        # Host and path of the service that answered, without parts that may be secret.
        "endpoint": optional("str", _ENDPOINT),
        # What several items share, if the benchmark declares it and does not list it.
        "cluster": optional("str", NAME),
    },
    unique=KEY_COLUMNS,
    rule=Rule(
        lambda frame: frame["answer"].notna() == (frame["status"] == "ok"),
        "must be 'ok' if and only if there is an answer",
    ),
)


def answers_schema() -> pandera.DataFrameSchema:
    """Return the pandera schema of the answers table.

    Returns
    -------
    pandera.pandas.DataFrameSchema
        Required and optional columns with their types and checks, the rule that an answer is
        present exactly if ``status`` is ``ok``, and the uniqueness of `KEY_COLUMNS`.

    Examples
    --------
    >>> sorted(name for name, column in answers_schema().columns.items() if not column.required)[:3]
    ['answer_key', 'answer_raw', 'cluster']
    """
    return ANSWERS.to_pandera()
