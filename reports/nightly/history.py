"""The history of nightly checks: begun, added to, read."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update

from ...models.errors import InputError
from ...stattests.eprocess import EProcess
from ...stattests.holm import LIFETIME_ALPHA
from .checks import Check, Counted
from .database import Database, batches, checks, cohorts, settings


class Recorded(NamedTuple):
    """What a batch did: the night it counts for, log E after it, and the largest so far."""

    night: str
    log_e: float
    peak: float


class History:
    """Checks of versions of subjects, each with its e-process and every batch of draws that went into it.

    Guarantee: a batch is recorded with its effect on the e-process, or not at all; several writers at once lose
    nothing (each waits for the row), and the outcome of a night does not depend on their order.
    """

    def __init__(self, database: Database, lifetime_alpha: float):
        self.database, self.lifetime_alpha = database, lifetime_alpha

    @classmethod
    def begin(cls, url: str | None, lifetime_alpha: float | None = None, wait: float = 30.0) -> "History":
        """A history to add to; made if it is not there yet."""
        database = Database(url, wait)
        with database.closed_on_failure():
            return cls(database, database.create(lifetime_alpha, LIFETIME_ALPHA))

    @classmethod
    def read(cls, url: str | None, wait: float = 30.0) -> "History":
        """A history that is there. Raises: InputError if it is not."""
        database = Database(url, wait)
        with database.closed_on_failure():
            return cls(database, database.open())

    def enrol(self, subject: str, version: str, wanted: Sequence[Check]) -> list[int]:
        """The number of each check for this version; those that are new make a cohort, with its share of the budget."""
        keys = {_key(subject, version, check): check for check in wanted}
        with self.database.writing() as connection:
            connection.execute(select(settings).where(settings.c.name == "schema").with_for_update()).all()
            known = connection.execute(select(checks.c.key, checks.c.id).where(checks.c.key.in_(list(keys))))
            numbers = dict(known.all())
            new = {key: check for key, check in keys.items() if key not in numbers}
            if new:
                cohort = (connection.scalar(select(func.max(cohorts.c.number))) or 0) + 1
                begun = {"number": cohort, "subject": subject, "version": version, "begun": _now()}
                connection.execute(insert(cohorts).values(begun))
            for key, check in new.items():
                row = {
                    "key": key, "cohort": cohort, "subject": subject, "version": version, "name": check.name,
                    "parameters": check.parameters, "state": json.dumps(EProcess(check.law).as_json()), "log_e": "0.0", "peak": "0.0",
                    "draws": 0, "night": "", "seen": "",
                }  # fmt: skip
                numbers[key] = connection.execute(insert(checks).values(row)).inserted_primary_key[0]
        return [numbers[key] for key in keys]

    def record(self, number: int, check: Check, night: str, seed: int, counted: Counted, seconds: float = 0.0,
               environment: Mapping[str, str] | None = None) -> Recorded:  # fmt: skip
        """Add a batch of draws to a check.

        night: a date; a batch that comes after a later night was begun counts for that one.
        Raises: InputError if the same seed was recorded for the check before, or the database complains.
        """
        with self.database.writing() as connection:
            row = connection.execute(select(checks).where(checks.c.id == number).with_for_update()).one()
            process = EProcess.from_json(check.law, json.loads(row.state))
            night = max(night, row.night)
            if night != row.night:
                process.open_night()
            process.add(counted.counts)
            log_e = process.log_e
            peak = max(log_e, float(row.peak))
            connection.execute(
                insert(batches).values(
                    check_id=number,
                    night=night,
                    at=_now(),
                    seed=str(seed),
                    draws=int(counted.counts.sum()),
                    counts=json.dumps(counted.counts.tolist(), separators=(",", ":")),
                    log_e=repr(log_e),
                    seconds=seconds,
                    environment=json.dumps(environment or {}),
                )
            )
            impossible = row.impossible
            if counted.impossible and impossible is None:
                impossible = json.dumps({"sequence": counted.impossible[0], "count": counted.impossible[1]})
            values = {
                "state": json.dumps(process.as_json(), separators=(",", ":")), "log_e": repr(log_e),
                "peak": repr(peak), "draws": row.draws + int(counted.counts.sum()), "night": night, "seen": _now(),
                "impossible": impossible,
            }  # fmt: skip
            connection.execute(update(checks).where(checks.c.id == number).values(values))
        return Recorded(night, log_e, peak)

    def seeds(self, number: int) -> set[str]:
        """The seeds recorded for a check."""
        with self.database.reading() as connection:
            return set(connection.scalars(select(batches.c.seed).where(batches.c.check_id == number)))

    def note_alarm(self, number: int, night: str, witness: Mapping[str, Any] | None) -> None:
        """Remember when a check was first found in alarm, and the witness that was found then."""
        with self.database.writing() as connection:
            this = checks.c.id == number
            connection.execute(update(checks).where(this & checks.c.alarm.is_(None)).values(alarm=night))
            if witness:
                text = json.dumps(witness)
                connection.execute(update(checks).where(this & checks.c.witness.is_(None)).values(witness=text))

    def rows(self) -> list[Any]:
        """All checks, in the order in which they began, without the states of their e-processes."""
        columns = [column for column in checks.c if column.name != "state"]
        with self.database.reading() as connection:
            return list(connection.execute(select(*columns).order_by(checks.c.cohort, checks.c.id)))

    def nights(self) -> dict[int, list[dict[str, Any]]]:
        """For each check its nights: date, draws, and log E after the last batch of the night."""
        found: dict[int, list[dict[str, Any]]] = {}
        columns = (batches.c.check_id, batches.c.night, batches.c.draws, batches.c.log_e)
        with self.database.reading() as connection:
            for number, night, draws, log_e in connection.execute(select(*columns).order_by(batches.c.id)):
                mine = found.setdefault(number, [])
                if mine and mine[-1]["night"] == night:
                    mine[-1] |= {"draws": mine[-1]["draws"] + draws, "log_e": float(log_e)}
                else:
                    mine.append({"night": night, "draws": draws, "log_e": float(log_e)})
        return found

    def close(self) -> None:
        self.database.close()


def _key(subject: str, version: str, check: Check) -> str:
    return hashlib.sha256(json.dumps([subject, version, check.name, check.parameters]).encode()).hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def checked_night(text: str | None) -> str:
    """A date as YYYY-MM-DD, today in UTC if none is given.

    Raises: InputError for anything else, and for a night still to come: all later draws would count for it.
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
    return night.isoformat()
