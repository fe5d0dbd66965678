"""The types of a history's JSON form, as far as pages and documents show it."""

from datetime import date
from typing import Any, Literal

import msgspec

Number = float | Literal["inf"]


class LimitForm(msgspec.Struct):
    nights: int
    total_variation: float


class DetectsForm(msgspec.Struct):
    within: list[LimitForm]


class WitnessForm(msgspec.Struct):
    """A witness, with the least that it has."""

    problem: dict[str, Any]
    sequence: str
    expected: str
    observed: str
    replay: str


class ImpossibleOutcome(msgspec.Struct):
    """An outcome that the law excludes."""

    sequence: str
    count: int


class NightForm(msgspec.Struct):
    night: date
    log_e: Number


class CheckForm(msgspec.Struct):
    subject: str
    version: str
    check: str
    state: str
    current: bool
    log_e: Number
    largest_log_e: Number
    alarm_at: Number
    watch_at: Number
    draws: int
    detects: DetectsForm | None
    witness: WitnessForm | None
    impossible: ImpossibleOutcome | None
    nights: list[NightForm]


class FailureForm(msgspec.Struct):
    subject: str
    message: str


class StatusForm(msgspec.Struct):
    """A history, as far as pages and documents show it."""

    state: str
    lifetime_alpha: float
    checks: list[CheckForm]
    failures: list[FailureForm]
