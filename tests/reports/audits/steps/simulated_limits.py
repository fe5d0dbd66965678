"""The share of simulated recordings of each fault that is refuted by the limit that was computed for it.

A pilot recording of a right engine gives the limits. Recordings of the same traffic with a fault are then drawn, and
the fault's own bet is followed up to its limit. Once that bet alone has enough evidence the judge refutes: its fortune
is the mean over all hypotheses. `python -m draftproof.tests.reports.audits.steps.simulated_limits` prints the table of
docs/measurements.md.
"""

import tempfile
import time
from dataclasses import replace
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from draftproof.models.recorded_steps import Recording
from draftproof.recording import Recorder
from draftproof.reports.audits.steps.bets import Against, bets_on_steps
from draftproof.reports.audits.steps.limits import limits_of
from draftproof.reports.audits.steps.shard import steps_with_law
from draftproof.stattests.arguments import ALPHA
from draftproof.verifiers.conditional.drawing import drawn, share
from draftproof.verifiers.conditional.steps import Steps

from .recordings import softmax, verifier

LONGEST = 3_000
"""Steps of the longest recordings that are simulated."""

AT_ONCE = 2_000_000
"""Steps of simulated recordings in memory together."""


class Traffic(NamedTuple):
    """Steps of an engine.

    control: the entry of the zoo that follows the rule. least: the fewest drafted tokens; gamma: the most.
    certain: whether the draft's most probable token is drafted, as a point mass.
    """

    rule: str
    control: str
    vocabulary: int
    gamma: int
    least: int
    temperature: float = 1.0
    top_p: float = 1.0
    certain: bool = False
    dtype: str = "float64"

    def row(self, logits: np.ndarray) -> np.ndarray:
        """Return rows after temperature and top-p."""
        rows = softmax(logits, self.temperature)
        order = np.argsort(-rows, axis=-1)
        ordered = np.take_along_axis(rows, order, -1)
        ordered[np.cumsum(ordered, axis=-1) - ordered >= self.top_p] = 0
        np.put_along_axis(rows, order, ordered, -1)
        return rows / rows.sum(-1, keepdims=True)

    def record(self, folder: Path, numbers: np.ndarray, **options: int) -> Recording:
        """Record the steps with these numbers, of which each has its own rows and drafted tokens."""
        recorder = Recorder(folder, self.vocabulary, rule=self.rule, dtype=self.dtype, **options)
        verify = verifier(self.control)
        for number in numbers:
            rng = np.random.default_rng(number)
            gamma = int(rng.integers(self.least, self.gamma + 1))
            logits = rng.normal(size=(gamma + 1, self.vocabulary)) * 2.5
            other = logits[:gamma] + 0.7 * rng.normal(size=(gamma, self.vocabulary))
            target, draft = self.row(logits), self.row(other)
            if self.certain:
                draft = np.eye(self.vocabulary)[draft.argmax(-1)]
            if self.dtype != "float64":
                target, draft = target.astype(self.dtype), draft.astype(self.dtype)
            drafts = [int(np.searchsorted(np.cumsum(row), rng.random() * row.sum())) for row in draft.astype(float)]
            emitted = [int(t) for t in verify(target.copy(), draft.copy(), drafts, rng)]
            while recorder._queue.full():
                time.sleep(0.001)
            recorder.chosen()
            recorder.step(target, drafts, emitted, None if self.certain else draft)
        recorder.close()
        assert recorder.recorded == len(numbers)
        return Recording.open(folder)


TRAFFIC = {
    "V = 300, gamma 3": Traffic("token", "C10", 300, 3, 3),
    "V = 12, gamma 2": Traffic("token", "C10", 12, 2, 2),
    "V = 1,000, 1 to 5 drafted, temperature 0.6, top-p 0.9": Traffic("token", "C10", 1000, 5, 1, 0.6, 0.9),
    "equality, V = 100, gamma 4, certain drafts": Traffic("equality", "C02", 100, 4, 4, certain=True),
    "block, V = 60, gamma 4, float32": Traffic("block", "C04", 60, 4, 4, dtype="float32"),
}


POPULATION, PILOTS, RECORDINGS = 1_500, (240, 3_000), 1_000


class World:
    """A finite population of steps: pilots and simulated recordings draw their steps from it."""

    def __init__(self, traffic: Traffic, folder: Path, size: int, seed: int = 0):
        self.traffic, self.folder, self.size = traffic, folder, size
        self.generator, self.pools = np.random.default_rng(seed), dict[str, np.ndarray]()
        recording = traffic.record(folder / "all", np.arange(size), listed=traffic.vocabulary, shard_steps=256)
        self.against, self.epsilon = Against.of(traffic.rule, ""), recording.header.epsilon
        self.steps = [
            steps
            for path in recording.shards
            for steps in steps_with_law(recording.read(path), recording.header, self.against, 256, 1)
        ]
        assert sum(steps.count for steps in self.steps) == size

    def limits(self, count: int, seed: int) -> dict[str, int]:
        """Return the limits that a pilot of so many steps gives, up to LONGEST."""
        numbers = np.random.default_rng(seed).integers(self.size, size=count)
        recording = self.traffic.record(
            self.folder / f"pilot-{count}-{seed}", numbers, shard_steps=min(512, count // 2)
        )
        limits = limits_of(recording, self.against, seed)
        return {name: limit for name, limit in limits.items() if limit is not None and limit <= LONGEST}

    def share(self, name: str, steps: int, recordings: int) -> float:
        """Return the share of simulated recordings in which a fault has shown after so many steps."""
        needed, gains = log(len(self.against.names) * 4 / ALPHA), self._pool(name, 20 * steps)
        shown, at_once = 0, max(1, AT_ONCE // steps)
        for start in range(0, recordings, at_once):
            drawn_steps = self.generator.integers(len(gains), size=(min(at_once, recordings - start), steps))
            shown += int((gains[drawn_steps].cumsum(1).max(1) >= needed).sum())
        return shown / recordings

    def _pool(self, name: str, least: int) -> np.ndarray:
        """Return what outcomes of a fault add to its bet, as many on each step of the population, [n]."""
        while len(self.pools.get(name, ())) < max(least, 8 * self.size):
            more = [self._gains(name, steps) for steps in self.steps]
            self.pools[name] = np.concatenate([self.pools.get(name, np.zeros(0)), *more])
        return self.pools[name]

    def _gains(self, name: str, steps: Steps) -> np.ndarray:
        law, other = self.against.law(False), self.against.by_name[name]
        assert law
        outcomes, listed = drawn(replace(other, replace=other.replace or law.replace), steps, self.generator)
        share(law, steps, outcomes)
        bets = bets_on_steps(law, [other], outcomes, self.epsilon)
        return np.where(listed, np.where(bets.possible, bets.logs[0], np.inf), 0.0)


def main() -> None:
    for title, traffic in TRAFFIC.items():
        with tempfile.TemporaryDirectory() as folder:
            world = World(traffic, Path(folder), POPULATION)
            for count in PILOTS:
                limits = world.limits(count, seed=1)
                shares = [world.share(name, limit, RECORDINGS) for name, limit in limits.items()]
                worst = min(zip(shares, limits), default=(1.0, ""))
                print(f"| {title} | {count:,} | {len(limits)} of {len(world.against.faults)} | "
                      f"{np.mean(shares):.4f} | {worst[0]:.3f} ({worst[1]}) |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
