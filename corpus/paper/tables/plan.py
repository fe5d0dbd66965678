"""The settings of a run of the tables, and the runs of the decoding loop that they need."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import msgspec

CELLS, CELLS_HOLD = "cells.jsonl", "tables"
"""Name of the file of a run's measured cells, and what it says its rows are of."""

PLAIN = "plain"
VERIFIERS = ("token", "block", "greedy-block")
PATH_VERIFIERS = ("k-seq", "spec-infer")
"""Rules for several draft paths: SpecTr's and SpecInfer's, by their names in ``verifiers.trees.registry``."""


class Column(NamedTuple):
    """One way to decode.

    drafter: index, 0 the best
    verifier: its name, or ``plain`` for decoding without a drafter
    gamma: draft tokens a block, 0 for ``plain``
    """

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
    """The settings.

    target, drafts, template, device, dtype: the models, see ``load_pair``
    data: sources of prompts
    prompts, seeds: how many
    gammas, temperatures: rising
    paths: draft paths of a text, of PATH_VERIFIERS
    batch: prompts decoded at once
    block_texts: of each prompt, where both verifiers see the same blocks
    threads: of torch on the CPU, None for its default

    Temperature 0 is measured with the first seed only, since no seed changes its texts. gamma = 1 is measured with
    token and block verification at the highest temperature, in any case: there the two are one rule.
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
    paths: int = 2
    batch: int = 1
    block_texts: int = 1
    threads: int | None = None

    @property
    def positive_temperatures(self) -> tuple[float, ...]:
        return tuple(t for t in self.temperatures if t > 0)

    @property
    def gammas_above_1(self) -> tuple[int, ...]:
        """The gammas at which the verifiers differ."""
        return tuple(g for g in self.gammas if g > 1)

    @property
    def block_gammas(self) -> list[int]:
        """The gammas at which both verifiers are given the same blocks."""
        return sorted({1, *self.gammas})

    @property
    def token_and_block(self) -> bool:
        """Return whether both token and block verification are measured."""
        return {"token", "block"} <= set(self.verifiers)

    @property
    def path_verifiers(self) -> tuple[str, ...]:
        """Return the verifiers that are given several draft paths of each text."""
        return tuple(name for name in self.verifiers if name in PATH_VERIFIERS)

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
        """All cells, the highest temperature first, where the verifiers differ most; a run that is cut short has every
        setting of the prompts that it came to."""
        for seed in range(self.seeds):
            for group in range(groups):
                for temperature in reversed(self.temperatures):
                    if temperature > 0 or seed == 0:
                        yield MeasurementCell(seed, group, temperature)

    def order(self, cell: MeasurementCell) -> list[Column]:
        """Return the columns of a cell, shuffled anew for each, so that no column always comes after the same one."""
        columns = self.columns(cell.temperature)
        random.Random(cell.key()).shuffle(columns)
        return columns

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> "TablesPlan":
        """Return the plan whose settings ``as_json`` wrote, with those of the run beside them."""
        return msgspec.convert(settings, cls)

    def as_json(self) -> dict[str, Any]:
        settings = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        if not self.path_verifiers:
            del settings["paths"]  # as before there were several: a stopped run goes on
        if self.block_texts == 1:
            del settings["block_texts"]
        return settings
