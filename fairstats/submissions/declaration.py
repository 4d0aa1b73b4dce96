"""What a submitter declares about answers: the file ``submission.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from fairstats._lib.formatting import uncapital
from fairstats._lib.problems import Problem, refuse
from fairstats._lib.safe_names import SHA256
from fairstats._lib.toml_files import unknown_keys
from fairstats.benchmarks.benchmark_files import toml_text

SUBMISSION_FILE = "submission.toml"
NOT_KNOWN = "not known"
#: The most runs that can be declared. Above it, a number is a slip of the pen.
MOST_ATTEMPTS = 10_000
# Texts are shown on the board, in a table.
_LONGEST = 500


def printable_only(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed")
    return text


def _sha256(text: str) -> str:
    if not SHA256.fullmatch(text):
        raise ValueError("is not a sha256 of 64 hexadecimal digits")
    return text


def _sha256_or_unknown(text: str) -> str:
    return text if text == NOT_KNOWN else _sha256(text)


def _number_in_json(value: str | float | bool) -> str | float | bool:
    if not isinstance(value, str) and not abs(value) < 2**63:
        raise ValueError("is not a number that every reader of JSON accepts")
    return value


Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST),
    AfterValidator(printable_only),
]
Sha256 = Annotated[str, AfterValidator(_sha256)]
Setting = Annotated[Line | int | float | bool, AfterValidator(_number_in_json)]


class Declaration(BaseModel):
    """What a submitter declares about answers; the descriptions are comments in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Line = Field(description="The model's name on the board, as in the answers.")
    snapshot: Line = Field(
        description=f'The provider\'s exact version of the model, or "{NOT_KNOWN}".'
    )
    provider: Line = Field(
        description="Who ran the model: the API's provider, or your hardware and software."
    )
    started: date = Field(description="First day of the run, e.g. 2026-11-21 without quotes.")
    ended: date = Field(description="Last day of the run.")
    attempts: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] = Field(
        description="Number of complete runs that you made with this model, including this one."
    )
    chosen_by: Annotated[
        str, StringConstraints(max_length=_LONGEST), AfterValidator(printable_only)
    ] = Field(
        "",
        validate_default=True,
        description="If there were several runs: how you chose this one. If not, leave it empty.",
    )
    submitter: Line = Field(
        description="Who sends these answers: a person or an organisation. It is published."
    )
    conflicts: Line = Field(
        description='Your interests in the result, e.g. "We sell this model"; or "none".'
    )
    training_data: Line = Field(
        description="What is known about the benchmark's items in the model's training data."
    )
    settings: dict[Line, Setting] = Field(
        default_factory=dict,
        description="Settings that are not the provider's defaults, e.g. temperature = 0.",
    )
    prompts: dict[Line, Annotated[str, AfterValidator(_sha256_or_unknown)]] = Field(
        min_length=1, description=f'The sha256 of the prompts of each strategy, or "{NOT_KNOWN}".'
    )
    files: dict[Line, Sha256] = Field(
        min_length=1, description="The sha256 of each file. `fairstats submission init` writes it."
    )

    @field_validator("started", "ended")
    @classmethod
    def _not_in_future(cls, day: date) -> date:
        # A day more, for time zones ahead of this machine's.
        if day > date.today() + timedelta(days=1):
            raise ValueError("is in the future")
        return day

    @field_validator("ended")
    @classmethod
    def _not_before_start(cls, day: date, info: ValidationInfo) -> date:
        if (started := info.data.get("started")) is not None and day < started:
            raise ValueError(f"is before {started}, the first day")
        return day

    @field_validator("chosen_by")
    @classmethod
    def _choice_explained(cls, text: str, info: ValidationInfo) -> str:
        attempts = info.data.get("attempts", 1)
        if attempts > 1 and not text.strip():
            raise ValueError(f"is empty, but there were {attempts} runs")
        return text


#: The explanation of each key, in the order of the file.
KEYS = {name: str(field.description) for name, field in Declaration.model_fields.items()}
_TABLES = ("settings", "prompts", "files")


def parse_declaration(declared: Mapping[str, Any], path: Path) -> Declaration:
    """Check the content of ``submission.toml``."""
    problems = unknown_keys(declared, list(KEYS), path)
    known = {key: value for key, value in declared.items() if key in KEYS}
    try:
        declaration = Declaration(**known)
    except ValidationError as error:
        # A value that fits none of several types gives an error for each.
        found = {one["loc"][:2]: one for one in reversed(error.errors())}
        problems += [_problem(place, one, path) for place, one in reversed(found.items())]
    refuse(problems)
    return declaration


def _problem(place: tuple[int | str, ...], error: Any, path: Path) -> Problem:
    """Return a problem that pydantic found; the remedy is the explanation of the key."""
    about = KEYS[str(place[0])]
    remedy = f"write it: {uncapital(about).rstrip('.')}"
    column, value = ".".join(map(str, place)), error["input"]
    if error["type"] == "missing":
        return Problem(str(path), "is missing", remedy, column=column)
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if value in ("", {}) or (isinstance(value, str) and not value.strip()):
        message = message if place == ("chosen_by",) else "is empty"
        return Problem(str(path), message, remedy, column=column)
    return Problem(str(path), uncapital(message), remedy, column=column, value=str(value))


def declaration_text(values: Mapping[str, Any]) -> str:
    """Return the content of ``submission.toml``: each key below its explanation.

    Keys without a known value are empty, for the submitter to fill in.

    Examples
    --------
    >>> print(*declaration_text({"model": "m"}).splitlines()[:5], sep="\\n")
    # Facts about answers that are submitted to a board. Fill in the empty values.
    <BLANKLINE>
    # The model's name on the board, as in the answers.
    model = "m"
    # The provider's exact version of the model, or "not known".
    """
    lines = ["# Facts about answers that are submitted to a board. Fill in the empty values.", ""]
    for key, about in KEYS.items():
        lines += [""] if key in _TABLES else []
        empty: Any = {} if key in _TABLES else ""
        body = toml_text({key: values.get(key, empty)}).strip("\n")
        lines += [f"# {about}", body]
    return "\n".join(lines) + "\n"


def empty_keys(values: Mapping[str, Any]) -> list[str]:
    """Return the keys of a declaration that are still empty.

    Examples
    --------
    >>> empty_keys({"model": "m", "prompts": {"plain": ""}})[-3:]
    ['training_data', 'files', 'prompts.plain']
    """
    optional = ("chosen_by", "settings")
    found = [key for key in KEYS if key not in optional and values.get(key) in (None, "", {})]
    prompts = values.get("prompts") or {}
    return found + [f"prompts.{name}" for name, sha256 in prompts.items() if not sha256]
