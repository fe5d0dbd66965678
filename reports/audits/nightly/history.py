"""The history of nightly checks: beginning it, adding to it, reading it."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection, insert, select, update

from ....models.errors import InputError, of_kind
from ....stattests.eprocess import LIFETIME_ALPHA
from .checks import CheckCounts, NightlyCheck, law_of
from .database import Database
from .forms import ImpossibleOutcome, WitnessForm
from .steps_checks import StepsCheck, StepsCounts
from .tables import EARLIEST_NIGHT, Batch, batches, checks, cohorts, settings

AnyCheck = NightlyCheck | StepsCheck
AnyCounts = CheckCounts | StepsCounts

LOG_E_TOLERANCE = 1e-6
"""Largest relative difference, by rounding, between the log E of a state and the one recorded with it."""

Row = TypeVar("Row")


class BatchResult(NamedTuple):
    """A result of a batch. night: the one that it counts for. log_e: after it. peak: the largest log E so far."""

    night: str
    log_e: float
    peak: float


class CheckHistory(msgspec.Struct):
    """A check as the database has it, without its e-process, and what follows from it.

    law: see ``law_of``
    log_e, peak: now, and the largest so far
    draws: of all batches
    night: the last one, "" before the first
    impossible: an outcome that the law excludes, and its count
    alarm: the night of the first alarm
    nights: date, draws, and log E after the last batch of each
    """

    id: int
    cohort: Annotated[int, msgspec.Meta(ge=1)]
    subject: str
    version: str
    name: str
    parameters: str
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
    """A set of checks of versions of subjects, each with its e-process and every batch of draws that went into it.

    Guarantee: a batch is recorded with its effect on the e-process, or not at all; several writers at once lose
    nothing (each waits for the row), and the outcome of a night does not depend on their order.
    """

    def __init__(self, database: Database, lifetime_alpha: float):
        self.database, self.lifetime_alpha = database, lifetime_alpha

    @classmethod
    @of_kind("DP210")
    def begin(cls, url: str | None, lifetime_alpha: float | None = None, wait: float = 30.0) -> "History":
        """Return a history to add to, created if there is none."""
        database = Database(url, wait)
        return cls(database, database.create(lifetime_alpha, LIFETIME_ALPHA))

    @classmethod
    @of_kind("DP210")
    def read(cls, url: str | None, wait: float = 30.0) -> "History":
        """Return an existing history. Raises: InputError if there is none."""
        database = Database(url, wait)
        return cls(database, database.open())

    def enrol(self, subject: str, version: str, wanted: Sequence[AnyCheck]) -> list[int]:
        """Return the id of each check for this version; new ones form a cohort, with its share of the budget."""
        keys = {_key(subject, version, check): check for check in wanted}
        known = select(checks.c.key, checks.c.id).where(checks.c.key.in_(list(keys)))
        with self.database.writing() as connection:
            connection.execute(select(settings).where(settings.c.name == "schema").with_for_update()).all()
            numbers = dict(connection.execute(known).all())
            new = {key: check for key, check in keys.items() if key not in numbers}
            if new:
                cohort, of_version = self._cohorts(connection) + 1, {"subject": subject, "version": version}
                connection.execute(insert(cohorts).values(number=cohort, begun=_now(), **of_version))
                rows = [
                    {**of_version, "key": key, "cohort": cohort, "name": check.name, "parameters": check.parameters,
                     "state": check.process().as_json(), "log_e": 0.0, "peak": 0.0, "draws": 0, "night": "",
                     "seen": ""} for key, check in new.items()
                ]  # fmt: skip
                connection.execute(insert(checks), rows)
                numbers = dict(connection.execute(known).all())
        return [numbers[key] for key in keys]

    def record(self, number: int, check: AnyCheck, night: str, seed: int | str, counts: AnyCounts, seconds: float = 0.0,
               environment: Mapping[str, str] | None = None) -> BatchResult:  # fmt: skip
        """Add a batch of draws to a check.

        night: a date; a batch that comes after a later night was begun counts for that one.
        seed: that its draws are made from; of recorded steps the digest of their shard.
        Raises: InputError if the same seed was recorded for the check before, or the database complains.
        """
        with self.database.writing() as connection:
            row = connection.execute(select(checks).where(checks.c.id == number).with_for_update()).one()
            drawn = self._batches(connection, [number]).get(number, [])
            before = self._check_history(_values(row), drawn, self._cohorts(connection))
            process = self._process(check, row, before.log_e)
            night = max(night, before.night)
            if night != before.night:
                process.open_night()
            counts.add_to(process)
            log_e, draws = process.log_e, counts.draws
            peak, now = max(log_e, before.peak), _now()
            batch = {
                "check_id": number, "night": night, "at": now, "seed": str(seed), "draws": draws,
                "counts": counts.counts.tolist(), "log_e": log_e, "seconds": seconds,
                "environment": dict(environment or {}),
            }  # fmt: skip
            connection.execute(insert(batches).values(batch))
            values = {"state": process.as_json(), "log_e": log_e, "peak": peak, "draws": before.draws + draws,
                      "night": night, "seen": now}  # fmt: skip
            if counts.impossible and before.impossible is None:
                values["impossible"] = {"sequence": counts.impossible[0], "count": counts.impossible[1]}
            connection.execute(update(checks).where(checks.c.id == number).values(values))
        return BatchResult(night, log_e, peak)

    def draws_of(self, number: int, seed: int) -> int:
        """Return the draws recorded for a check from a seed, 0 if it was not used yet."""
        this = (batches.c.check_id == number) & (batches.c.seed == str(seed))
        with self.database.reading() as connection:
            row = connection.execute(select(batches).where(this)).one_or_none()
        batch: Any = self._typed(Batch, number, _values(row)) if row else None
        return batch.draws if batch else 0

    def shards(self, numbers: Sequence[int]) -> dict[int, dict[str, str]]:
        """Return the shards that each of these checks of recorded steps has, digest -> file's name."""
        chosen = select(batches.c.check_id, batches.c.seed, batches.c.environment)
        found: dict[int, dict[str, str]] = {number: {} for number in numbers}
        with self.database.reading() as connection:
            for row in connection.execute(chosen.where(batches.c.check_id.in_(numbers)).order_by(batches.c.id)):
                where = self._typed(dict[str, str], row.check_id, row.environment, "environment")
                found[row.check_id][row.seed] = where.get("shard", "")
        return found

    def note_alarm(self, number: int, night: str, witness: Mapping[str, Any] | None) -> None:
        """Store when a check was first in alarm, and its witness; what is stored already stays."""
        with self.database.writing() as connection:
            this = checks.c.id == number
            connection.execute(update(checks).where(this & checks.c.alarm.is_(None)).values(alarm=night))
            if witness:
                connection.execute(update(checks).where(this & checks.c.witness.is_(None)).values(witness=witness))

    def rows(self, subject: str | None = None, version: str | None = None) -> list[CheckHistory]:
        """Return all checks, or those of one version, in the order in which they began.

        Raises: InputError if one cannot be read, or disagrees with its batches.
        """
        columns = [column for column in checks.c if column is not checks.c.state]
        chosen = select(*columns).order_by(checks.c.cohort, checks.c.id)
        if subject is not None:
            chosen = chosen.where((checks.c.subject == subject) & (checks.c.version == version))
        with self.database.reading() as connection:
            rows = connection.execute(chosen).all()
            drawn = self._batches(connection, None if subject is None else [row.id for row in rows])
            most = self._cohorts(connection)
            return [self._check_history(_values(row), drawn.get(row.id, []), most) for row in rows]

    def close(self) -> None:
        self.database.close()

    def _check_history(self, row: Mapping[str, Any], drawn: Sequence[Any], cohorts: int) -> CheckHistory:
        """Return a check and what follows from it. cohorts: their number. Raises: InputError if it is damaged, or
        disagrees with its batches."""
        number = row["id"]
        try:
            law = law_of(row["parameters"])
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
            raise self._damaged(number, "parameters") from None
        nights: dict[str, dict[str, Any]] = {}
        for batch in drawn:
            draws = nights.get(batch.night, {"draws": 0})["draws"] + batch.draws
            nights[batch.night] = {"night": batch.night, "draws": draws, "log_e": batch.log_e}
        check = self._typed(CheckHistory, number, {**row, "law": law, "nights": [*nights.values()]})
        for column, kind in (("impossible", ImpossibleOutcome), ("witness", WitnessForm)):
            if row[column] is not None:
                self._typed(kind, number, row[column], column)
        expected = {
            "cohort": min(check.cohort, cohorts), "log_e": drawn[-1].log_e if drawn else 0.0,
            "peak": max([0.0, *(batch.log_e for batch in drawn)]), "draws": sum(batch.draws for batch in drawn),
            "night": drawn[-1].night if drawn else "",
        }  # fmt: skip
        for column, value in expected.items():
            if getattr(check, column) != value:
                raise self._damaged(number, column)
        return check

    def _process(self, check: AnyCheck, row: Any, log_e: float) -> Any:
        """Return the e-process of a row, which has to give the log E that was recorded with it. Raises: InputError."""
        self._typed(check.state_type, row.id, row.state, "state")
        try:
            process = check.process(row.state)
            if math.isclose(process.log_e, log_e, rel_tol=LOG_E_TOLERANCE, abs_tol=LOG_E_TOLERANCE):
                return process
        except (ArithmeticError, LookupError, TypeError, ValueError):
            pass
        raise self._damaged(row.id, "state")

    def _batches(self, connection: Connection, numbers: Sequence[int] | None) -> dict[int, list[Any]]:
        """Return the batches of each of these checks, or of all."""
        chosen = select(batches.c.check_id, batches.c.night, batches.c.draws, batches.c.log_e).order_by(batches.c.id)
        if numbers is not None:
            chosen = chosen.where(batches.c.check_id.in_(numbers))
        by_check: dict[int, list[Any]] = {}
        for row in connection.execute(chosen):
            by_check.setdefault(row.check_id, []).append(self._typed(Batch, row.check_id, _values(row)))
        return by_check

    def _cohorts(self, connection: Connection) -> int:
        """Return the number of cohorts. Raises: InputError if they are not numbered 1, 2, ..."""
        numbers = sorted(connection.scalars(select(cohorts.c.number)))
        if numbers != list(range(1, len(numbers) + 1)):
            raise InputError(
                f"{self.database.name}: the numbers of its cohorts are damaged; nothing was changed, expected 1, 2, "
                "... without a gap"
            )
        return len(numbers)

    def _typed(self, kind: type[Row], check: int, values: Any, column: str = "") -> Row:
        """Return a value as its type. Raises: InputError that names the column of a value no nightly run writes."""
        try:
            return msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            place = re.search(r"`\$\.(\w+)", str(error))
            raise self._damaged(check, column or (place[1] if place else "row")) from None

    def _damaged(self, check: int, column: str) -> InputError:
        return InputError(
            f"{self.database.name}: check {check}: its {column} is damaged; nothing was changed, expected what a "
            "nightly run wrote (a copy of the database from before?)"
        )


def _values(row: Any) -> dict[str, Any]:
    return {str(name): value for name, value in row._mapping.items()}


def _key(subject: str, version: str, check: AnyCheck) -> str:
    return hashlib.sha256(json.dumps([subject, version, check.name, check.parameters]).encode()).hexdigest()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def checked_night(given: date | None) -> str:
    """Return a night as YYYY-MM-DD, today in UTC if none is given.

    Raises: InputError for a night before EARLIEST_NIGHT, and for one in the future: all later draws would count for it.
    """
    today = datetime.now(timezone.utc).date()
    night = given or today
    if night > today + timedelta(days=1):
        raise InputError(f"--night: {night} is still to come; expected today ({today}, UTC) or earlier")
    if night < EARLIEST_NIGHT:
        raise InputError(f"--night: {night} is not a night of a history; expected {EARLIEST_NIGHT} or later")
    return night.isoformat()
