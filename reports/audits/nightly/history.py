"""The history of nightly checks: begun, added to, read."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from ....models.errors import InputError
from ....stattests.eprocess import EProcess
from ....stattests.holm import LIFETIME_ALPHA
from . import stored_values
from .checks import CheckCounts, NightlyCheck, law_of
from .database import Database, batches, checks, cohorts, settings
from .stored_values import EARLIEST_NIGHT


class BatchResult(NamedTuple):
    """night: the one that the batch counts for
    log_e: after the batch
    peak: the largest log E so far
    """

    night: str
    log_e: float
    peak: float


class _Batch(NamedTuple):
    night: str
    draws: int
    log_e: float


class CheckHistory(NamedTuple):
    """What the database has of a check besides its e-process.

    law: see ``law_of``
    log_e, peak: now, and the largest so far
    draws: of all batches
    night: the last one, "" before the first
    impossible: an outcome that the law excludes, and its count
    alarm: the night of the first alarm
    nights: date, draws, and log E after the last batch of each
    """

    id: int
    cohort: int
    subject: str
    version: str
    name: str
    parameters: dict[str, Any]
    law: tuple[float, ...]
    log_e: float
    peak: float
    draws: int
    night: str
    impossible: dict[str, Any] | None
    alarm: str | None
    witness: dict[str, Any] | None
    nights: list[dict[str, Any]]


class History:
    """Checks of versions of subjects, each with its e-process and every batch of draws that went into it.

    Guarantee: a batch is recorded with its effect on the e-process, or not at all; several writers at once lose
    nothing (each waits for the row), and the outcome of a night does not depend on their order.
    """

    def __init__(self, database: Database, lifetime_alpha: float):
        self.database, self.lifetime_alpha = database, lifetime_alpha

    @classmethod
    def begin(cls, url: str | None, lifetime_alpha: float | None = None, wait: float = 30.0) -> "History":
        """A history to add to, created if there is none."""
        database = Database(url, wait)
        with database.closed_on_failure():
            return cls(database, database.create(lifetime_alpha, LIFETIME_ALPHA))

    @classmethod
    def read(cls, url: str | None, wait: float = 30.0) -> "History":
        """An existing history. Raises: InputError if there is none."""
        database = Database(url, wait)
        with database.closed_on_failure():
            return cls(database, database.open())

    def enrol(self, subject: str, version: str, wanted: Sequence[NightlyCheck]) -> list[int]:
        """The id of each check for this version; the new ones form a cohort, with its share of the budget."""
        keys = {_key(subject, version, check): check for check in wanted}
        known = select(checks.c.key, checks.c.id).where(checks.c.key.in_(list(keys)))
        with self.database.writing() as connection:
            connection.execute(select(settings).where(settings.c.name == "schema").with_for_update()).all()
            numbers = dict(connection.execute(known).all())
            new = {key: check for key, check in keys.items() if key not in numbers}
            if new:
                cohort = self._cohorts(connection) + 1
                version_of = {"subject": subject, "version": version}
                connection.execute(insert(cohorts).values(number=cohort, begun=_now(), **version_of))
                rows = [
                    {**version_of, "key": key, "cohort": cohort, "name": check.name, "parameters": check.parameters,
                     "state": json.dumps(EProcess(check.law).as_json()), "log_e": "0.0", "peak": "0.0", "draws": 0,
                     "night": "", "seen": ""} for key, check in new.items()
                ]  # fmt: skip
                connection.execute(insert(checks), rows)
                numbers = dict(connection.execute(known).all())
        return [numbers[key] for key in keys]

    def record(self, number: int, check: NightlyCheck, night: str, seed: int, counts: CheckCounts, seconds: float = 0.0,
               environment: Mapping[str, str] | None = None) -> BatchResult:  # fmt: skip
        """Add a batch of draws to a check.

        night: a date; a batch that comes after a later night was begun counts for that one.
        Raises: InputError if the same seed was recorded for the check before, or the database complains.
        """
        with self.database.writing() as connection:
            row = connection.execute(select(checks).where(checks.c.id == number).with_for_update()).one()
            before = self._check_history(
                row, self._batches(connection, [number]).get(number, []), self._cohorts(connection)
            )
            process = self._read(row, "state", lambda text: stored_values.parse_process(check, text, before.log_e))
            night = max(night, row.night)
            if night != row.night:
                process.open_night()
            process.add(counts.counts)
            log_e = process.log_e
            peak = max(log_e, before.peak)
            draws = int(counts.counts.sum())
            batch = {
                "check_id": number, "night": night, "at": _now(), "seed": str(seed), "draws": draws,
                "counts": json.dumps(counts.counts.tolist(), separators=(",", ":")), "log_e": repr(log_e),
                "seconds": seconds, "environment": json.dumps(environment or {}),
            }  # fmt: skip
            connection.execute(insert(batches).values(batch))
            impossible = row.impossible
            if counts.impossible and impossible is None:
                impossible = json.dumps({"sequence": counts.impossible[0], "count": counts.impossible[1]})
            values = {
                "state": json.dumps(process.as_json(), separators=(",", ":")), "log_e": repr(log_e),
                "peak": repr(peak), "draws": row.draws + draws, "night": night, "seen": _now(),
                "impossible": impossible,
            }  # fmt: skip
            connection.execute(update(checks).where(checks.c.id == number).values(values))
        return BatchResult(night, log_e, peak)

    def draws_of(self, number: int, seed: int) -> int:
        """The draws recorded for a check from a seed, 0 if it was not used yet."""
        this = (batches.c.check_id == number) & (batches.c.seed == str(seed))
        with self.database.reading() as connection:
            row = connection.execute(select(batches.c.check_id.label("id"), batches.c.draws).where(this)).one_or_none()
        return self._read(row, "draws", lambda number: stored_values.require_int(number, 1)) if row else 0

    def note_alarm(self, number: int, night: str, witness: Mapping[str, Any] | None) -> None:
        """Store when a check was first in alarm, and its witness; what is stored already stays."""
        with self.database.writing() as connection:
            this = checks.c.id == number
            connection.execute(update(checks).where(this & checks.c.alarm.is_(None)).values(alarm=night))
            if witness:
                text = json.dumps(witness)
                connection.execute(update(checks).where(this & checks.c.witness.is_(None)).values(witness=text))

    def rows(self, subject: str | None = None, version: str | None = None) -> list[CheckHistory]:
        """All checks, or those of one version, in the order in which they began.

        Raises: InputError if one cannot be read, or disagrees with its batches.
        """
        chosen = select(checks).order_by(checks.c.cohort, checks.c.id)
        if subject is not None:
            chosen = chosen.where((checks.c.subject == subject) & (checks.c.version == version))
        with self.database.reading() as connection:
            rows = connection.execute(chosen).all()
            drawn = self._batches(connection, None if subject is None else [row.id for row in rows])
            most = self._cohorts(connection)
            return [self._check_history(row, drawn.get(row.id, []), most) for row in rows]

    def _check_history(self, row: Any, drawn: Sequence[_Batch], most: int) -> CheckHistory:
        """most: the number of cohorts. Raises: InputError if it is damaged."""
        last = drawn[-1] if drawn else _Batch("", 0, 0.0)
        columns = {
            "cohort": lambda number: stored_values.require_int(number, 1, most),
            "parameters": stored_values.parse_json,
            "log_e": lambda text: stored_values.require_equal(last.log_e, stored_values.parse_number(text)),
            "peak": lambda text: stored_values.require_equal(max([0.0, *(batch.log_e for batch in drawn)]), stored_values.parse_number(text)),
            "draws": lambda number: stored_values.require_equal(sum(batch.draws for batch in drawn), stored_values.require_int(number)),
            "night": lambda text: stored_values.require_equal(last.night, text),
            "impossible": lambda text: stored_values.require_fields(stored_values.parse_json(text), sequence=str, count=int),
            "alarm": lambda text: None if text is None else stored_values.parse_night(text),
            "witness": lambda text: stored_values.require_fields(
                stored_values.parse_json(text), problem=dict, sequence=str, expected=str, observed=str, replay=str
            ),
        }  # fmt: skip
        values = {name: self._read(row, name, reader) for name, reader in columns.items()}
        values |= {name: self._read(row, name, stored_values.require_text) for name in ("subject", "version", "name")}
        law = self._read(row, "parameters", law_of)
        nights: list[dict[str, Any]] = []
        for night, draws, log_e in drawn:
            if nights and nights[-1]["night"] == night:
                nights[-1] = {"night": night, "draws": nights[-1]["draws"] + draws, "log_e": log_e}
            else:
                nights.append({"night": night, "draws": draws, "log_e": log_e})
        return CheckHistory(id=row.id, law=law, nights=nights, **values)

    def _batches(self, connection: Connection, numbers: Sequence[int] | None) -> dict[int, list[_Batch]]:
        """The batches of each of these checks, or of all."""
        chosen = select(batches.c.check_id.label("id"), batches.c.night, batches.c.draws, batches.c.log_e)
        if numbers is not None:
            chosen = chosen.where(batches.c.check_id.in_(numbers))
        by_check: dict[int, list[_Batch]] = {}
        columns = {
            "night": stored_values.parse_night,
            "draws": lambda number: stored_values.require_int(number, 1),
            "log_e": stored_values.parse_number,
        }
        for row in connection.execute(chosen.order_by(batches.c.id)):
            batch = _Batch(**{name: self._read(row, name, reader) for name, reader in columns.items()})
            by_check.setdefault(row.id, []).append(batch)
        return by_check

    def _cohorts(self, connection: Connection) -> int:
        """Their number. Raises: InputError if they are not numbered 1, 2, ..."""
        numbers = sorted(connection.scalars(select(cohorts.c.number)))
        if numbers != list(range(1, len(numbers) + 1)):
            raise InputError(
                f"{self.database.name}: the numbers of its cohorts are damaged; nothing was changed, expected 1, 2, ... "
                "without a gap"
            )
        return len(numbers)

    def _read(self, row: Any, column: str, reader: Callable[[Any], Any]) -> Any:
        try:
            return reader(getattr(row, column))
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            raise InputError(
                f"{self.database.name}: check {row.id}: its {column} is damaged; nothing was changed, expected what a "
                "nightly run wrote (a copy of the database from before?)"
            ) from None

    def close(self) -> None:
        self.database.close()


def _key(subject: str, version: str, check: NightlyCheck) -> str:
    return hashlib.sha256(json.dumps([subject, version, check.name, check.parameters]).encode()).hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def checked_night(text: str | None) -> str:
    """A date as YYYY-MM-DD, today in UTC if none is given.

    Raises: InputError for anything else, for a night before EARLIEST_NIGHT, and for one in the future: all later draws
    would count for it.
    """
    today = datetime.now(timezone.utc).date()
    if text is None:
        return today.isoformat()
    try:
        night = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise InputError(f"--night: {text!r} is not a date; expected YYYY-MM-DD") from None
    if night > today + timedelta(days=1):
        raise InputError(f"--night: {text} is still to come; expected today ({today}, UTC) or earlier")
    if night < EARLIEST_NIGHT:
        raise InputError(f"--night: {text} is not a night of a history; expected {EARLIEST_NIGHT} or later")
    return night.isoformat()
