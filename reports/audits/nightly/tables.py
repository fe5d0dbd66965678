"""The tables of a history and the types of their rows; a value that no nightly run writes fits no type."""

import json
import math
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

import sqlalchemy as sa
from msgspec import Meta, defstruct
from sqlalchemy import BigInteger, Column, Float, Integer, String, Text, TypeDecorator

TABLES_VERSION = 1
"""Version of the tables. A history of a newer version is not touched."""

EARLIEST_NIGHT, LATEST_NIGHT = date(2000, 1, 1), date(2999, 12, 31)
"""First and last night that a history may have."""

MOST_STARTS = 4096
"""Most starts that the state of an e-process may ask for: more is damage, and would fill the memory."""


def compact(value: Any) -> str:
    """Return JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


class Stored(TypeDecorator):
    """A type whose values are text in the database. read, write: convert a value from its text, and back."""

    impl, cache_ok = Text, True

    def __init__(self, read: Callable[[Any], Any] = json.loads, write: Callable[[Any], str] = compact):
        super().__init__()
        self.read, self.write = read, write

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        try:
            return None if value is None else self.read(value)
        except (ValueError, TypeError, RecursionError) as damage:
            return damage  # no field of a row has this type

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else self.write(value)


def _number(text: Any) -> float:
    if math.isnan(number := float(text)):
        raise ValueError("not a number")
    return number


def _night(text: Any) -> str:
    if not EARLIEST_NIGHT <= date.fromisoformat(text) <= LATEST_NIGHT:
        raise ValueError("no night of a history")
    return text


JSON, NIGHT = Stored(), Stored(_night, str)
NUMBER = Stored(_number, repr)
"""A number stored as text, since not every database has an infinite number."""

metadata = sa.MetaData()

settings = sa.Table(
    "draftproof_settings", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False)
)

cohorts = sa.Table(
    "draftproof_cohorts", metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("subject", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("begun", String(40), nullable=False),
)  # fmt: skip

checks = sa.Table(
    "draftproof_checks", metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # SHA-256 of subject, version, name and parameters
    Column("cohort", sa.ForeignKey("draftproof_cohorts.number"), nullable=False),
    Column("subject", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("state", JSON, nullable=False),
    Column("log_e", NUMBER, nullable=False),
    Column("peak", NUMBER, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("night", String(10), nullable=False),  # the last one, "" before the first
    Column("seen", String(40), nullable=False),  # when a batch came last
    Column("impossible", JSON),
    Column("alarm", NIGHT),  # the night it was first noted
    Column("witness", JSON),
)  # fmt: skip

batches = sa.Table(
    "draftproof_batches", metadata,
    Column("id", Integer, primary_key=True),
    Column("check_id", sa.ForeignKey("draftproof_checks.id"), nullable=False, index=True),
    Column("night", NIGHT, nullable=False),
    Column("at", String(40), nullable=False),
    Column("seed", String(40), nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("counts", JSON, nullable=False),
    Column("log_e", NUMBER, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("environment", JSON, nullable=False),
    sa.UniqueConstraint("check_id", "seed", name="draftproof_seed_once"),
)  # fmt: skip

Count = Annotated[int, Meta(ge=0)]

Batch = defstruct("Batch", [("night", str), ("draws", Count), ("log_e", float)])
"""A batch of draws, or of recorded steps, which may have none of a kind. log_e: after it."""

Start = defstruct("Start", [("weight", float), ("counts", list[Count])])
State = defstruct(
    "State",
    [("night", Count), ("most", Annotated[int, Meta(ge=1, le=MOST_STARTS)]), ("impossible", dict[str, Count]),
     ("starts", list[Start])],
)  # fmt: skip
"""The state of an e-process, as ``EProcess.as_json`` writes it."""

BetStart = defstruct("BetStart", [("weight", float), ("logs", list[float])])
BetState = defstruct(
    "BetState",
    [("night", Count), ("most", Annotated[int, Meta(ge=1, le=MOST_STARTS)]), ("impossible", Count),
     ("starts", list[BetStart])],
)  # fmt: skip
"""The state of an e-process of bets, as ``BettingNights.as_json`` writes it."""
