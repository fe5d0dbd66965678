"""The database of a history: any that SQLAlchemy knows, with its errors in one line."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, NullPool, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from ....models.errors import InputError
from . import DEFAULT_FILE
from .tables import TABLES_VERSION, metadata, settings

LOCKED = "locked by another program for {wait:g} s; {unharmed}"
READ_ONLY = "is read-only; expected a history that can be written, {unharmed}"
TWICE = "this seed was drawn before for the same check: the same draws cannot count twice; {unharmed}"
COMPLAINTS = {
    "database is locked": LOCKED, "lock timeout": LOCKED, "readonly database": READ_ONLY,
    "read-only transaction": READ_ONLY, "not a database": "is not an SQLite database; nothing was changed",
    "unable to open": "cannot be opened; expected a file in a folder that exists and can be written",
    "draftproof_seed_once": TWICE, "draftproof_batches.seed": TWICE, "": "{line}; {unharmed}",
}  # fmt: skip
"""Parts of a database's complaints, and what each means."""


# SQLAlchemy logs what is raised while it closes a connection, an interrupt too, and raises that again. Without a
# handler Python would print the traceback.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


class Database:
    """A database whose transactions are done entirely or not at all.

    url: an SQLAlchemy URL, or the name of an SQLite file
    wait: seconds to wait for another writer
    Raises: InputError in one line for every error of a database; nothing is written then.
    """

    def __init__(self, url: str | None = None, wait: float = 30.0):
        self.wait = wait
        try:
            self.url = _url(url or DEFAULT_FILE)
            self.name = self.url.render_as_string(hide_password=True)
            self._engine = sa.create_engine(self.url, connect_args=self._arguments(), poolclass=NullPool)
        except (ArgumentError, NoSuchModuleError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"--db: {_first_line(error)}; expected a file or a URL like postgresql://user@host/name"
            ) from None
        except ModuleNotFoundError as error:
            raise InputError(f"--db: {self.name} needs {error.name}; install draftproof[nightly]") from None
        self.sqlite = self._engine.dialect.name == "sqlite"
        if self.sqlite:
            event.listen(self._engine, "connect", _no_implicit_transactions)
            event.listen(self._engine, "begin", _begin)

    def _arguments(self) -> dict[str, Any]:
        if self.url.get_backend_name() == "sqlite":
            return {"timeout": self.wait}
        if self.url.get_backend_name() != "postgresql":
            return {}
        given = self.url.query.get("options", os.environ.get("PGOPTIONS", ""))
        options = [*([given] if isinstance(given, str) else given), f"-c lock_timeout={max(1, int(self.wait * 1000))}"]
        return {"options": " ".join(options).strip(), "connect_timeout": self.url.query.get("connect_timeout", 10)}

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction; on SQLite it locks the file from the start, so that no update is lost."""
        with self._errors_in_one_line(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees the history as it is at one moment."""
        whole = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        engine = self._engine.execution_options(only_reads=True, **whole)
        with self._errors_in_one_line(), engine.begin() as connection:
            yield connection

    def create(self, lifetime_alpha: float | None, default: float) -> float:
        """Create the tables if there are none, and return the lifetime error rate of the history.

        lifetime_alpha: as requested now, if it is; it cannot differ from the one that the history began with
        default: of a new history
        Raises: InputError if it differs or is not an error rate, or the tables are of a newer version.
        """
        if lifetime_alpha is not None and not 0 < lifetime_alpha < 1:
            raise InputError(f"a lifetime error rate of {lifetime_alpha}; expected a number between 0 and 1")
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(712367)")  # two writers begin at once
            if sa.inspect(connection).has_table(settings.name):
                began = self._lifetime_alpha(connection)
            else:
                metadata.create_all(connection)
                began = lifetime_alpha or default
                values = {"schema": str(TABLES_VERSION), "lifetime_alpha": repr(began)}
                connection.execute(settings.insert(), [{"name": n, "value": v} for n, v in values.items()])
        if lifetime_alpha is not None and lifetime_alpha != began:
            raise InputError(
                f"{self.name}: this history began with a lifetime error rate of {began:g}, which cannot be changed to "
                f"{lifetime_alpha:g} without losing its meaning; expected that one, or another --db"
            )
        return began

    def open(self) -> float:
        """Return the lifetime error rate of an existing history. Raises: InputError if there is none."""
        if self.sqlite and self.url.database and ":" not in self.url.database and not Path(self.url.database).exists():
            raise InputError(f"{self.url.database}: no such file; `draftproof nightly run` begins a history")
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(settings.name):
                raise InputError(f"{self.name}: no nightly history is in it; `draftproof nightly run` begins one")
            return self._lifetime_alpha(connection)

    def close(self) -> None:
        self._engine.dispose()

    def _lifetime_alpha(self, connection: Connection) -> float:
        values = dict(connection.execute(sa.select(settings.c.name, settings.c.value)).all())
        if values.get("schema") != str(TABLES_VERSION) or "lifetime_alpha" not in values:
            raise InputError(
                f"{self.name}: its tables are of version {values.get('schema')}, this draftproof knows "
                f"{TABLES_VERSION}; nothing was changed, a newer draftproof is needed"
            )
        try:
            alpha = float(values["lifetime_alpha"])
        except ValueError:
            alpha = float("nan")
        if not 0 < alpha < 1:
            raise InputError(
                f"{self.name}: its lifetime error rate {values['lifetime_alpha']!r} is damaged; nothing was changed, "
                "expected a number between 0 and 1"
            )
        return alpha

    @contextmanager
    def _errors_in_one_line(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            line, unharmed = _first_line(error.orig), "what was recorded before is unharmed"
            said = next(said for part, said in COMPLAINTS.items() if part in line)
            raise InputError(f"{self.name}: {said.format(wait=self.wait, unharmed=unharmed, line=line)}") from None
        except SQLAlchemyError as error:
            raise InputError(f"{self.name}: {_first_line(error)}") from None


def _url(text: str) -> URL:
    url = make_url(text) if "://" in text else URL.create("sqlite", database=text)
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError(f"--db: {text} is in memory only; expected a file, so that the history stays")
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgres", "postgresql") else url


def _first_line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or ["unknown error"])[0]


def _no_implicit_transactions(connection: Any, record: Any) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("only_reads") else "BEGIN IMMEDIATE")
