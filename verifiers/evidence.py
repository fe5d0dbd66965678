"""The shared words: what can be claimed of a verifier, and what was found."""

from dataclasses import dataclass, field
from typing import Any

HOLDS, REFUTED, NO_EVIDENCE, NOT_CLAIMED, ERROR = "holds", "refuted", "no-evidence", "not-claimed", "error"

CLAIMS = {
    "lossless": "X^tau, Y, completed by the target, follows the target's law (Sun et al. 2025, Eq. 7)",
    "support": "a token that the target gives probability 0 is never emitted, not even at u = 0",
    "optimal": "E[tau] equals block verification's, the largest of all valid verifiers (Theorem 2)",
}
"""The claims an audit examines."""

LOOP_CLAIMS = {
    "rows": "each block is verified with both models' rows of its own text, under the settings asked for",
    "drafts": "draft tokens are drawn from the draft's rows of their own text",
    "noise": "no random number is used twice: by two rows, streams or purposes",
    "acceptance": "E[tau] of the first iteration is the verifier's own on this pair",
}
"""What an end-to-end run examines besides."""


@dataclass
class Evidence:
    """One statement about one claim: how it was examined, on what, and what came out.

    total_variation: the deviation found, a number; bound: what could still hide (a detection limit or the
    rounding allowed); witness: where the claim fails, with the laws side by side; replay: the one command
    that shows it again.
    """

    claim: str
    method: str
    verdict: str
    problem: str | None = None
    total_variation: Any = None
    bound: Any = None
    witness: dict[str, Any] | None = None
    replay: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.verdict == HOLDS
