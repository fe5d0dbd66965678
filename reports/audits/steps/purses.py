"""The bets of a whole recording: one purse for each claim, each with its share of the rate of false alarms."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np

from ....models.recorded_steps import Recording
from ....models.step_lines import PRECISE, StepLines
from ....stattests.arguments import ALPHA
from ....stattests.betting import Fortune, SetBetting
from ....stattests.eprocess import cohort_alpha
from ....stattests.tilts import SETS, TiltBetting, bets_on_transform
from .bets import ON_TOKENS, LogBets

Array = np.ndarray

CLAIMS = ("follows-rule", "lossless", "drafts", "batch")
"""Claims that are bet on: each may refute what is right at a quarter of ALPHA."""

SHARE = ALPHA / len(CLAIMS)

PATH_POINTS = 200
"""Points of the path of the evidence that are kept for its picture."""

WORST = -30.0
"""Least logarithm of a bet of one step that counts where hypotheses are compared: one odd step excludes none."""

AGAINST = 7.0
"""Logarithm of a likelihood ratio from which steps speak for the rule against a hypothesis."""

BINS = 20
"""Bins of the histogram of the transform."""


IN_FLOAT32 = 2.0**-22
"""Most that the probability of a set of tokens may be off where masses of tokens are written in float32."""


def set_off(recording: Recording) -> float:
    """Return the most that the probability of a set of tokens may be off, by how a recording's rows are written.

    Of lists of few digits each entry is off by one part in PRECISE at most, and so are their sums.
    """
    return 1 / PRECISE if isinstance(recording, StepLines) and recording.unit else IN_FLOAT32


class StepPurse:
    """The bets on steps against the rule that is claimed. names: of the hypotheses."""

    def __init__(self, names: Sequence[str], alpha: float = SHARE):
        self.names = list(names)
        self.betting = TiltBetting(alpha, tilts=self.names)
        self.scores = np.zeros(len(self.names))
        """How well each hypothesis explains the steps: the sum of its bets, none of them below WORST."""
        self.path: list[tuple[int, float]] = [(0, 0.0)]

    @property
    def fortune(self) -> Fortune:
        return self.betting.fortune

    def add(self, bets: LogBets, stride: int = 16) -> None:
        """Settle the bets of further steps."""
        self.scores += np.maximum(bets.logs, WORST).sum(1)
        for start in range(0, len(bets.possible), stride):
            part = slice(start, start + stride)
            fortune = self.betting.observe(bets.logs[:, part], bets.possible[part])
            self.path.append((fortune.steps, fortune.log_evidence))
        if len(self.path) > 2 * PATH_POINTS:
            self.path = [*self.path[:-1:2], self.path[-1]]

    def likely(self, factor: float = 20.0) -> list[str]:
        """Return the hypotheses that explain the steps within a factor of the best, the best first."""
        best = self.scores.max(initial=0.0)
        order = np.argsort(-self.scores, kind="stable")
        return [self.names[k] for k in order if best > 0 and self.scores[k] >= best - log(factor)]

    def without(self, name: str) -> bool:
        """Return whether the steps speak against a hypothesis, and for the rule, by more than chance would."""
        return bool(self.scores[self.names.index(name)] < -AGAINST)

    def as_json(self) -> dict[str, Any]:
        return {"betting": self.betting.as_json(), "scores": self.scores.tolist(), "path": self.path}

    def resume(self, kept: Mapping[str, Any]) -> None:
        self.betting.resume(kept["betting"])
        self.scores, self.path = np.array(kept["scores"]), [(step, evidence) for step, evidence in kept["path"]]


class TokenPurse:
    """The bets on tokens against the rows that are said to have drawn them.

    off: what the probability of a set may be off, for which bets on sets pay.
    """

    def __init__(self, off: float, alpha: float = SHARE):
        self.tilts = TiltBetting(alpha / 2, tilts=ON_TOKENS)
        self.sets = SetBetting(SETS, alpha / 2, off)
        self.bins = np.zeros(BINS, dtype=int)

    @property
    def fortunes(self) -> list[Fortune]:
        return [self.tilts.fortune, self.sets.fortune]

    @property
    def tokens(self) -> int:
        return self.fortunes[0].steps

    def add(self, bets: LogBets, transform: Array) -> None:
        """Settle the bets on further tokens."""
        if not len(transform):
            return
        self.tilts.observe(bets.logs, bets.possible)
        self.sets.observe(bets_on_transform(transform))
        self.bins += np.bincount(np.minimum((transform * BINS).astype(int), BINS - 1), minlength=BINS)

    @property
    def refuting(self) -> Fortune | None:
        """Return the fortune that has won first."""
        won = [f for f in self.fortunes if f.refuted_at is not None]
        return min(won, key=lambda f: f.refuted_at or 0, default=None)

    def as_json(self) -> dict[str, Any]:
        return {"tilts": self.tilts.as_json(), "sets": self.sets.as_json(), "bins": self.bins.tolist()}

    def resume(self, kept: Mapping[str, Any]) -> None:
        self.tilts.resume(kept["tilts"])
        self.sets.resume(kept["sets"])
        self.bins = np.array(kept["bins"], dtype=int)


class Groups:
    """The bets on steps, split by their place in the batch and by how many tokens they drafted.

    A group that is seen later has a smaller share of the rate of false alarms, so that all of them together keep it.
    """

    def __init__(self, names: Sequence[str]):
        self.names, self.purses = list(names), dict[tuple[str, int], StepPurse]()

    def add(self, bets: LogBets, slot: Array, length: Array) -> None:
        """Settle the bets of further steps in their groups."""
        for what, values in (("place in the batch", slot), ("drafted tokens", length)):
            for value in sorted(set(values.tolist()) - {-1}):
                chosen = values == value
                self._of(what, value).add(LogBets(bets.logs[:, chosen], bets.possible[chosen]))

    def _of(self, what: str, value: int) -> StepPurse:
        key = what, value
        if key not in self.purses:
            self.purses[key] = StepPurse(self.names, cohort_alpha(SHARE, len(self.purses) + 1))
        return self.purses[key]

    def as_json(self) -> list[Any]:
        return [[*key, purse.as_json()] for key, purse in self.purses.items()]

    def resume(self, kept: Sequence[Any]) -> None:
        for what, value, purse in kept:
            self._of(what, value).resume(purse)

    @property
    def refuted(self) -> list[tuple[str, int]]:
        """Return the groups whose bets have won."""
        return [key for key, purse in self.purses.items() if purse.fortune.refuted_at is not None]
