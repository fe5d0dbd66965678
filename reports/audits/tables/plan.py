"""What is measured: the settings of a run, and the runs of the decoding loop that they ask for."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ....models.errors import InputError

PLAIN = "plain"
VERIFIERS = ("token", "block", "greedy-block")
FORMAT, VERSION = "draftproof tables", 1


class Column(NamedTuple):
    """One way to decode: by which drafter (0 the best), verifier and gamma; ``plain`` has gamma 0."""

    drafter: int
    verifier: str
    gamma: int


class MeasurementCell(NamedTuple):
    """What is measured at a time: every column on the same prompts, with one seed, at one temperature.

    seed: index of the seed
    group: index of the prompts decoded together
    temperature: 0 or above
    """

    seed: int
    group: int
    temperature: float

    def key(self) -> str:
        """What seeds and orders are derived from. Its text must not change: stopped runs go on from their records."""
        return f"Cell(seed={self.seed}, group={self.group}, temperature={self.temperature})"


@dataclass(frozen=True)
class TablesPlan:
    """The settings. gammas, temperatures: rising; seeds: how many; prompts: how many; batch: prompts decoded at once.

    Temperature 0 is measured with the first seed only, since no seed changes its texts. gamma = 1 is measured with token
    and block verification at the highest temperature, in any case: there the two are one rule.
    """

    target: str
    drafts: tuple[str, ...]
    template: str = "{prompt}"
    device: str = "cpu"
    dtype: str = "float32"
    data: tuple[str, ...] = ("embedded",)
    prompts: int = 36
    new_tokens: int = 64
    gammas: tuple[int, ...] = (4, 6, 8)
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.6, 1.0)
    seeds: int = 3
    verifiers: tuple[str, ...] = VERIFIERS
    batch: int = 1
    threads: int | None = None

    @property
    def warm(self) -> tuple[float, ...]:
        """The temperatures above 0."""
        return tuple(t for t in self.temperatures if t > 0)

    @property
    def long(self) -> tuple[int, ...]:
        """The gammas at which the rules differ."""
        return tuple(g for g in self.gammas if g > 1)

    def drafters(self) -> range:
        return range(len(self.drafts))

    def columns(self, temperature: float) -> list[Column]:
        """Plain decoding once for each drafter, so that its time is taken as often."""
        gammas = dict.fromkeys(self.gammas, self.verifiers)
        if temperature == max(self.temperatures):
            gammas.setdefault(1, tuple(v for v in self.verifiers if v in ("token", "block")))
        return [
            Column(drafter, verifier, gamma)
            for drafter in self.drafters()
            for gamma, verifiers in {0: (PLAIN,), **gammas}.items()
            for verifier in verifiers
        ]

    def cells(self, groups: int) -> Iterator[MeasurementCell]:
        """All cells; a run that is cut short has every setting of the prompts that it came to."""
        for seed in range(self.seeds):
            for group in range(groups):
                for temperature in self.temperatures:
                    if temperature > 0 or seed == 0:
                        yield MeasurementCell(seed, group, temperature)

    def order(self, cell: MeasurementCell) -> list[Column]:
        """The columns of a cell, shuffled anew for each, so that no column always comes after the same one."""
        columns = self.columns(cell.temperature)
        random.Random(cell.key()).shuffle(columns)
        return columns

    def as_json(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def require_same_settings(before: dict[str, Any], now: dict[str, Any], where: str) -> None:
    """Raises InputError that names the first setting in which a folder's measurements differ from what is asked."""
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            raise InputError(
                f"{where}: was measured with {name} {told(before.get(name))}, and {told(now.get(name))} is asked for; "
                "expected the same settings, or another folder"
            )


def told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
