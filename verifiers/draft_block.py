"""The input and the output of a verifier."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .arithmetic import Row


class Block(NamedTuple):
    """A draft block with the rows of both models along its path.

    target: rows M_b(. | c, X^i) for i = 0..gamma, [gamma + 1, V].
    draft: rows M_s(. | c, X^i) for i = 0..gamma-1, [gamma, V].
    tokens: draft tokens X_1..X_gamma, [gamma].
    Source: Sun et al. 2025, Definition 1.
    """

    target: Sequence[Row]
    draft: Sequence[Row]
    tokens: tuple[int, ...]

    @property
    def gamma(self) -> int:
        return len(self.tokens)


class Verdict(NamedTuple):
    """An outcome of one verification.

    accepted: tau, the number of accepted draft tokens.
    token: Y, the token that follows them.
    """

    accepted: int
    token: int

    def tokens(self, block: Block) -> tuple[int, ...]:
        """Return X^tau, Y: the tau + 1 tokens that one iteration adds to the text."""
        return (*block.tokens[: self.accepted], self.token)


Verify = Callable[[Block, Any], Verdict]
"""verify(block, chance) -> Verdict: a draft verification algorithm."""
