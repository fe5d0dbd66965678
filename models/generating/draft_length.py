"""How many tokens to draft: a fixed number, or the best one for the acceptance rate and the costs measured so far.

gamma depends on the iterations before alone: given these, a lossless verifier is lossless for whatever gamma it is.
"""

from dataclasses import dataclass
from itertools import accumulate

from ..errors import InputError
from .result import Iteration


@dataclass(frozen=True)
class Adaptive:
    """A draft length that follows measurements: Leviathan's best gamma for the acceptance rate and the cost ratio
    measured so far.

    longest: gamma is 1 to this.
    first: gamma of the first iteration.
    cost: c, the time of one draft step over that of one target step; None to measure it. With a measured c the text
        depends on the clock: a seed gives the same text again only with a given c.
    """

    longest: int = 8
    first: int = 4
    cost: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.longest:
            given = f"first {self.first} and longest {self.longest}"
            raise InputError(f"adaptive gamma: {given}, expected 1 <= first <= longest")
        if self.cost is not None and not self.cost > 0:
            raise InputError(f"adaptive gamma: cost {self.cost}, expected a positive number or none")


class DraftLength:
    """A draft length for each iteration: a given number, or that of ``Adaptive``.

    alpha = (1 + accepted) / (2 + tried), a draft token being tried if all before it were accepted: the mean of
    independent, identical acceptances under a uniform prior, so never 0 or 1. c = seconds a draft step over seconds a
    target step, sums over all iterations.
    """

    def __init__(self, settings: int | Adaptive):
        self.settings = settings
        self.accepted = self.tried = self.steps = self.calls = 0
        self.draft_seconds = self.target_seconds = 0.0

    @property
    def alpha(self) -> float:
        return (1 + self.accepted) / (2 + self.tried)

    def cost(self, given: float | None) -> float:
        """Return c: the given one, or the measured one."""
        return (self.draft_seconds / self.steps) / (self.target_seconds / self.calls) if given is None else given

    def gamma(self) -> int:
        """Return how many tokens to draft next."""
        if isinstance(self.settings, int):
            return self.settings
        adaptive = self.settings
        return best_gamma(self.alpha, self.cost(adaptive.cost), adaptive.longest) if self.calls else adaptive.first

    def observe(self, iteration: Iteration) -> None:
        """Take what an iteration accepted, and how long it took."""
        for tau in iteration.accepted:
            self.accepted += tau
            self.tried += min(tau + 1, iteration.gamma)
        self.steps += iteration.gamma
        self.calls += 1
        self.draft_seconds += iteration.draft_seconds
        self.target_seconds += iteration.target_seconds


def best_gamma(alpha: float, cost: float, longest: int) -> int:
    """Return the gamma in 1..longest with the largest wall-time factor, the smallest of equals.

    E[tau + 1] / (gamma c + 1), E[tau + 1] = 1 + alpha + ... + alpha^gamma.
    Source: Leviathan et al. 2023, Theorem 3.8 and Section 3.5; ``proofs.closed_forms`` has it exactly, with 0 allowed.
    """
    tokens = [*accumulate(alpha**n for n in range(longest + 1))]
    return max(range(1, longest + 1), key=lambda gamma: tokens[gamma] / (gamma * cost + 1))
