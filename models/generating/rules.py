"""Verifiers as the loop calls them: batched, or one block at a time; lossless, or lossy by name."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...verifiers.batched.block_verification import block_verification
from ...verifiers.batched.emitted import Emitted, emitted
from ...verifiers.batched.greedy_block_verification import greedy_block_verification
from ...verifiers.batched.rows import BatchRows, Excess, rows_of
from ...verifiers.batched.token_verification import token_verification
from ...verifiers.draft_block import Block
from ...verifiers.registry import REFERENCES, Reference
from ..errors import InputError
from .randomness import Chances


class Drafted(NamedTuple):
    """A batch of draft blocks with the rows of both models.

    target: [B, gamma + 1, V]; draft: [B, gamma, V]; tokens: [B, gamma].
    logits: whether the rows are logarithms of probabilities, up to a constant a row, or probabilities.
    """

    target: Tensor
    draft: Tensor
    tokens: Tensor
    logits: bool = True

    def rows(self) -> BatchRows:
        return rows_of(self.target, self.draft, self.tokens, logits=self.logits)

    def probabilities(self) -> "Drafted":
        """The same with probabilities."""
        if not self.logits:
            return self
        return Drafted(self.target.softmax(-1), self.draft.softmax(-1), self.tokens, False)


class Rule(NamedTuple):
    """A verifier for the loop.

    modifies_target: True if its loop is Algorithm 6, which carries a modified target.
    lossy: what is given up, for a rule that is not lossless; else empty.
    """

    name: str
    verify: Callable[[Drafted, Chances], Emitted]
    modifies_target: bool = False
    lossy: str = ""


def batched(verify: Callable[[BatchRows, Any], Any]) -> Callable[[Drafted, Chances], Emitted]:
    """A batched verifier of ``verifiers.batched``."""

    def verified(drafted: Drafted, chances: Chances) -> Emitted:
        given = verify(drafted.rows(), chances.uniforms(drafted.tokens))
        return given if isinstance(given, Emitted) else given[0]  # greedy block verification adds a modification

    return verified


def one_by_one(verify: Callable[[Block, Any], Any]) -> Callable[[Drafted, Chances], Emitted]:
    """A verifier of one block, ``verify(block, chance)``, for the rows of the batch in turn."""

    def verified(drafted: Drafted, chances: Chances) -> Emitted:
        target, draft, tokens, _ = drafted.probabilities()
        found = [
            verify(Block(p, q, tuple(x)), chances.of_row(row))
            for row, (p, q, x) in enumerate(zip(target.tolist(), draft.tolist(), tokens.tolist(), strict=True))
        ]
        accepted, last = torch.tensor(found, device=tokens.device).unbind(1)
        return emitted(tokens, accepted, last[:, None])

    return verified


class Lenient:
    """Rows under which ``token_verification`` is lenient: the draft's probability counts l-fold in the ratios.

    The residual stays as it is (see ``verifiers.lenient_token_verification``, the reference).
    """

    def __init__(self, rows: BatchRows, lenience: float):
        self._rows, self.tokens, self._gain = (
            rows,
            rows.tokens,
            -torch.tensor(lenience, dtype=torch.float64).log().item(),
        )

    def log_ratios(self) -> Tensor:
        return self._rows.log_ratios() + self._gain

    def excess(self, at: Tensor, kept: Tensor) -> Excess:
        return self._rows.excess(at, kept)


def lenient(lenience: float) -> Rule:
    """Lenient token verification, lossy for l < 1. Source: Leviathan et al. 2023, Appendix A.5.

    Raises: InputError if the lenience is outside (0, 1].
    """
    if not 0 < lenience <= 1:
        raise InputError(f"lenience {lenience}: expected a number above 0 and at most 1")

    def verify(rows: BatchRows, uniforms: Any) -> Emitted:
        return token_verification(Lenient(rows, lenience), uniforms)  # type: ignore[arg-type]

    return Rule("lenient-token", batched(verify), lossy=f"lenience {lenience:g}" if lenience < 1 else "")


BATCHED = {
    "token": Rule("token", batched(token_verification)),
    "block": Rule("block", batched(block_verification)),
    "greedy-block": Rule("greedy-block", batched(greedy_block_verification), modifies_target=True),
}


def rule_of(verifier: str | Reference | Rule) -> Rule:
    """The rule of that name, on tensors where there is one; a ``Reference`` verifies one block at a time.

    Raises: InputError with the known names.
    """
    if isinstance(verifier, Rule):
        return verifier
    if isinstance(verifier, str) and verifier in BATCHED:
        return BATCHED[verifier]
    given = REFERENCES.get(verifier) if isinstance(verifier, str) else verifier
    if not isinstance(given, Reference):
        known = ", ".join(dict.fromkeys((*BATCHED, *REFERENCES)))
        raise InputError(f"no verifier {verifier!r}; expected one of {known}, a Reference or a Rule")
    return Rule(given.name, one_by_one(given.verify), given.modifies_target)
