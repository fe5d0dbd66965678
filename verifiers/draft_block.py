"""What a verifier is given and what it gives back."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Row = Sequence[Any]
"""A probability row over the vocabulary: V numbers, of any exact or float type."""


class Block(NamedTuple):
    """A draft block with the rows of both models along its path.

    target: [gamma + 1] rows, M_b(. | c, X^i) for i = 0..gamma
    draft:  [gamma] rows, M_s(. | c, X^i) for i = 0..gamma-1
    tokens: [gamma] draft tokens X_1..X_gamma

    Source: Sun et al. 2025, Definition 1.
    """

    target: Sequence[Row]
    draft: Sequence[Row]
    tokens: tuple[int, ...]

    @property
    def gamma(self) -> int:
        return len(self.tokens)


class Verdict(NamedTuple):
    """tau, the number of draft tokens kept, and Y, the token that follows them."""

    accepted: int
    token: int

    def tokens(self, block: Block) -> tuple[int, ...]:
        """X^tau, Y: the tau + 1 tokens that one iteration adds to the text."""
        return (*block.tokens[: self.accepted], self.token)


Verify = Callable[[Block, Any], Verdict]
"""verify(block, chance) -> Verdict: all that a draft verification algorithm is."""
