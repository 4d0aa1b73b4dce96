"""Store every reply of a collection in a journal before it counts.

A journal is an SQLite file next to the answers. A reply is identified by everything that shaped it:
the model, the endpoint, the messages, the parameters, the sample and the variant. So a second start
requests only missing replies, and replies to another question are never mistaken for these. The raw
reply is stored, not its parsed form. A journal from another machine is checked before use.

Contents of a commit
--------------------
The journal is in WAL mode with ``synchronous=FULL``: a commit is on the disk before it returns. So
neither a killed process nor a power cut loses a reply that counted, as far as the disk is reliable.
One such commit takes milliseconds, nearly all of them waiting. Replies that finish meanwhile share
the next one, in a separate thread, and requests do not wait.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fairstats._lib.problems import InputError, Problem, input_error, refuse
from fairstats._lib.safe_names import canonical_json, text_sha256
from fairstats.asking.models import Reply

FORMAT = "1"
FACTS = ("benchmark", "benchmark_version", "model", "strategy")
SUFFIX = ".journal.sqlite"
_REMEDY = "use a journal written by `fairstats collect`"
# Freed when the disk is full, to make room for the replies in progress.
_RESERVE = 4 * 2**20

TABLES = {
    "campaign": "CREATE TABLE campaign (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "replies": (
        "CREATE TABLE replies (key TEXT PRIMARY KEY, model TEXT NOT NULL, endpoint TEXT NOT NULL, "
        "parameters TEXT NOT NULL, item_id TEXT NOT NULL, attribute TEXT NOT NULL, "
        "variant TEXT NOT NULL, sample INTEGER NOT NULL, prompt_sha256 TEXT NOT NULL, "
        "status TEXT NOT NULL, text TEXT NOT NULL, snapshot TEXT, latency_s REAL, "
        "prompt_tokens INTEGER, completion_tokens INTEGER, collected_at TEXT NOT NULL) STRICT"
    ),
}


_NOTE = "INSERT OR REPLACE INTO campaign VALUES (?, ?)"
_COLUMNS = ", ".join(Reply._fields)
# A reply is never replaced; a failure is replaced by the result of the next request.
_KEEP = (
    f"INSERT INTO replies ({_COLUMNS}) VALUES ({', '.join('?' * len(Reply._fields))}) "
    "ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in Reply._fields[1:])
    + " WHERE replies.status = 'failed'"
)


def reply_key(
    *,
    model: str,
    endpoint: str,
    parameters: str,
    prompt_sha256: str,
    variant: tuple[str, str, str],
    sample: int,
) -> str:
    """Return the sha256 of everything that shaped a reply.

    The variant (item, attribute, group) is included, since two variants with the same text are
    still sent separately. One reply for both would make them agree by construction.

    Examples
    --------
    >>> asked = dict(model="m", endpoint="h/v1", prompt_sha256="0" * 64, variant=("i", "a", "g"))
    >>> one = reply_key(parameters='{"seed":0}', sample=0, **asked)
    >>> one == reply_key(parameters='{"seed":0}', sample=1, **asked)
    False
    """
    parts = [model, endpoint, parameters, prompt_sha256, list(variant), sample]
    return text_sha256(canonical_json(parts))


def _is_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("contains characters that cannot be printed")
    return text


_Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_is_printable)]
_Number = Annotated[int | float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]
_Setting = Literal["temperature", "seed", "max_tokens", "max_completion_tokens"]
_STRICT = ConfigDict(strict=True)
_PARAMETERS = TypeAdapter(dict[_Setting, _Number], config=_STRICT)
_NAME = TypeAdapter(_Name, config=_STRICT)


def _is_parameters(text: str) -> str:
    """Accept the canonical JSON of the settings that a collector sends."""
    if canonical_json(_PARAMETERS.validate_json(text)) != text:
        raise ValueError("is not canonical JSON")
    return text


class _StoredReply(BaseModel):
    """The content of a `Reply` that `fairstats collect` wrote."""

    model_config = _STRICT

    key: str
    model: _Name
    endpoint: _Name
    parameters: Annotated[str, Field(max_length=200), AfterValidator(_is_parameters)]
    item_id: _Name
    attribute: _Name
    variant: _Name
    sample: _Count
    prompt_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    status: Literal["answered", "refused", "failed"]
    text: Annotated[str, Field(max_length=1_000_000)]
    snapshot: _Name | None
    latency_s: _Number | None
    prompt_tokens: _Count | None
    completion_tokens: _Count | None
    collected_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


def _fault(reply: Reply) -> str | None:
    """Return the column of a reply that cannot be right; None if all can."""
    try:
        _StoredReply.model_validate(reply._asdict())
    except ValidationError as error:
        return str(error.errors()[0]["loc"][0])
    key = reply_key(
        model=reply.model,
        endpoint=reply.endpoint,
        parameters=reply.parameters,
        prompt_sha256=reply.prompt_sha256,
        variant=(reply.item_id, reply.attribute, reply.variant),
        sample=reply.sample,
    )
    return None if reply.key == key else "key"


def schema_of(database: sqlite3.Connection) -> dict[str, str]:
    """Return a database's whole schema by name: tables, and code that would run by itself."""
    return dict(
        database.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    )


def stored_replies(database: sqlite3.Connection) -> list[Reply]:
    """Return every reply and failure in a journal's database, unchanged."""
    return [Reply._make(row) for row in database.execute(f"SELECT {_COLUMNS} FROM replies")]


class Journal(AbstractContextManager["Journal"]):
    """An open journal, which no other process can write to meanwhile.

    Parameters
    ----------
    path : Path
        The file; created if missing.
    campaign : Mapping
        The facts of the campaign (benchmark, version, model, strategy, ...). An existing journal
        must have the same.

    Raises
    ------
    InputError
        If the file cannot be written, belongs to another campaign, is not a journal, or is in use.
    """

    def __init__(self, path: Path, campaign: Mapping[str, str]) -> None:
        self.path = path
        self._reserve = path.with_name(f"{path.name}.reserve")
        campaign = {"format": FORMAT, **campaign}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Replies arrive from the thread that commits, one at a time.
            self._database = sqlite3.connect(
                path, isolation_level=None, timeout=1, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._problem(error) from None
        try:
            self._open(campaign)
        except (OSError, sqlite3.Error, UnicodeError) as error:
            problem = self._problem(error)
            self._database.close()
            if isinstance(error, OSError):
                self._reserve.unlink(missing_ok=True)
            raise problem from None
        except BaseException:
            self._database.close()
            raise

    def _open(self, campaign: Mapping[str, str]) -> None:
        execute = self._database.execute
        # Held until the end, and given up by the system when the process is killed.
        execute("PRAGMA locking_mode = EXCLUSIVE")
        # A hostile file's schema must not run any code.
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("BEGIN IMMEDIATE")
        found = schema_of(self._database)
        if not found:
            for table in TABLES.values():
                execute(table)
            self._database.executemany("INSERT INTO campaign VALUES (?, ?)", campaign.items())
        elif found != TABLES:
            message = "is not a journal of this version of fairstats"
            raise input_error(self.path, message, "move it, or use another folder")
        execute("COMMIT")
        own = self.campaign()
        for name, value in campaign.items():
            if own.get(name) != value:
                message = f"is the journal of a campaign with {name} = {own.get(name)!r}"
                raise input_error(self.path, message, "use another folder", value=value)
        with self._reserve.open("wb") as file:
            # Compressible data might reserve no space. File systems compress shorter blocks.
            file.write(os.urandom(2**18) * (_RESERVE // 2**18))
            os.fsync(file.fileno())

    def campaign(self) -> dict[str, str]:
        """Return the known facts of the campaign, by name."""
        return dict(self._database.execute("SELECT name, value FROM campaign"))

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the campaign."""
        self._with_room(lambda: self._commit(_NOTE, [(name, value)]))

    def forget(self, name: str) -> None:
        """Drop a fact about the campaign."""
        self._database.execute("DELETE FROM campaign WHERE name = ?", (name,))

    def keep(self, replies: Iterable[Reply]) -> None:
        """Commit replies; they are on the disk when this returns.

        Raises
        ------
        sqlite3.Error
            If they cannot be written; then none of them is. On a full disk, the reserved space is
            freed first.
        """
        replies = list(replies)
        self._with_room(lambda: self._commit(_KEEP, replies))

    def _with_room(self, commit: Callable[[], None]) -> None:
        """Commit; if that fails, try once more with the reserved space."""
        try:
            commit()
        except sqlite3.Error:
            if not self._reserve.exists():
                raise
            self._reserve.unlink()
            commit()

    def _commit(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany(statement, rows)
            self._database.execute("COMMIT")
        except BaseException:
            # A full disk may have rolled it back already.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @property
    def has_reserve(self) -> bool:
        """Check that the disk has not been full so far."""
        return self._reserve.exists()

    def replies(self) -> dict[str, Reply]:
        """Return every reply and failure by its key."""
        try:
            found = {reply.key: reply for reply in stored_replies(self._database)}
        except (sqlite3.Error, UnicodeError) as error:
            raise self._problem(error) from None
        for text in {reply.parameters for reply in found.values()}:
            try:
                _PARAMETERS.validate_json(text)
            except ValidationError:
                raise self.not_ours("parameters", text) from None
        return found

    @property
    def has_replies(self) -> bool:
        """Check whether any request succeeded."""
        other = "SELECT EXISTS (SELECT 1 FROM replies WHERE status <> 'failed')"
        try:
            return bool(self._database.execute(other).fetchone()[0])
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def close(self) -> None:
        """Write everything into the one file, and release it."""
        with suppress(OSError):
            self._reserve.unlink(missing_ok=True)
        self._database.close()

    def discard(self) -> None:
        """Close and remove an empty journal."""
        self.close()
        self.path.unlink(missing_ok=True)

    def not_ours(self, column: str, value: str) -> InputError:
        """Return the error of a value that this program does not write."""
        message, remedy = "was not written by `fairstats collect`", "use another folder"
        return input_error(self.path, message, remedy, column=column, value=value)

    def _problem(self, error: Exception) -> InputError:
        said = str(error)
        if "locked" in said:
            message, remedy = "is in use by another run", "wait for that run to end, or stop it"
        elif isinstance(error, sqlite3.DatabaseError) and "not a database" in said:
            message, remedy = "is not a journal", "move it, or use another folder"
        else:
            message, remedy = (
                f"cannot be written to ({said})",
                "free some space, or use another folder",
            )
        return input_error(self.path, message, remedy)

    def __exit__(self, *error: object) -> None:
        self.close()


def read_journal(path: Path) -> tuple[dict[str, str], list[Reply]]:
    """Return the facts of a journal's campaign, and every reply in it.

    The journal is not written to.

    Raises
    ------
    InputError
        If it is not a journal, is damaged or in use, or has a row that `fairstats collect` would
        not have written. This includes a row with a key that does not match its content. Each such
        row is named.
    """
    if not path.is_file():
        raise input_error(path, "no such file", "check the path")
    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=1)) as database:
            # A hostile file's schema must not run any code.
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            if schema_of(database) != TABLES:
                raise input_error(path, "is not a journal of this version of fairstats", _REMEDY)
            (damage,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if damage != "ok":
                raise input_error(path, f"is damaged ({damage})", _REMEDY)
            campaign = dict(database.execute("SELECT name, value FROM campaign"))
            replies = stored_replies(database)
    except (sqlite3.Error, UnicodeError) as error:
        said = "is in use by another run" if "locked" in str(error) else f"cannot be read ({error})"
        raise input_error(path, said, _REMEDY) from None
    problems = [
        Problem(str(path), "is missing from the journal", _REMEDY, column=name)
        for name in FACTS
        if not _is_name(campaign.get(name))
    ]
    if campaign.get("format") != FORMAT:
        problems.append(Problem(str(path), "is a journal of another version of fairstats", _REMEDY))
    for number, reply in enumerate(replies, start=1):
        if column := _fault(reply):
            value = str(getattr(reply, column))
            message = "was not written by `fairstats collect`"
            problems.append(
                Problem(str(path), message, _REMEDY, row=number, column=column, value=value)
            )
    refuse(problems)
    return campaign, replies


def _is_name(value: object) -> bool:
    try:
        _NAME.validate_python(value)
    except ValidationError:
        return False
    return True
