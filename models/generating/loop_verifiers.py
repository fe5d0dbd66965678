"""Verifiers as the loop calls them: batched, or one block at a time; lossless, or lossy by name."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...verifiers.batched.emitted import Emitted, EmittedPaths, emitted
from ...verifiers.batched.rows import BatchRows, rows_of
from ...verifiers.batched.verification import block_verification, greedy_block_verification, token_verification
from ...verifiers.draft_block import Block
from ...verifiers.lenient_token_verification import lenient_token_verification
from ...verifiers.registry import REFERENCES, Reference
from ...verifiers.trees.registry import TreeReference
from ..errors import InputError
from .sampling import BatchChance


class Drafted(NamedTuple):
    """A batch of draft blocks with the rows of both models.

    target: [B, gamma + 1, V].
    draft: [B, gamma, V].
    tokens: [B, gamma].
    logits: whether the rows are logarithms of probabilities, up to a constant a row, or probabilities.
    """

    target: Tensor
    draft: Tensor
    tokens: Tensor
    logits: bool = True

    def rows(self) -> BatchRows:
        return rows_of(self.target, self.draft, self.tokens, logits=self.logits)

    def probabilities(self) -> "Drafted":
        """Return the rows as probabilities."""
        if not self.logits:
            return self
        return Drafted(self.target.softmax(-1), self.draft.softmax(-1), self.tokens, False)


class LoopVerifier(NamedTuple):
    """A verifier for the loop.

    name: that of its reference, or ``LENIENT``. verify: of a batch of blocks and its chance.
    modifies_target: whether its loop is Algorithm 6, which modifies the target for the next tokens.
    lenience: l of lenient token verification; None for the others.
    rule: the rule for trees, of a verifier of several draft paths (``several_paths.path_verifier``); None for blocks.
    paths: draft paths of a text.
    batched: whether it verifies all rows at once, with a coin for each draft token, needed or not.
    """

    name: str
    verify: Callable[[Drafted, BatchChance], Emitted | EmittedPaths]
    modifies_target: bool = False
    lenience: float | None = None
    rule: TreeReference | None = None
    paths: int = 1
    batched: bool = False

    @property
    def lossy(self) -> str:
        """Return what is given up; empty for a lossless verifier."""
        if self.rule is not None:
            return "" if self.rule.lossless else self.rule.source
        return "" if self.lenience is None or self.lenience == 1 else f"lenience {self.lenience:g}"

    def reference(self, number: Callable[[Fraction], Any] = float) -> Reference | TreeReference:
        """Return its exact form, one block or tree at a time. number: from a fraction to a number of the rows' kind."""
        if self.rule is not None:
            return self.rule
        if self.lenience is None:
            return REFERENCES[self.name]
        verify = lenient_token_verification(number(Fraction(str(self.lenience))))
        return Reference(self.name, verify, "Leviathan et al. 2023, Appendix A.5")


def all_at_once(verify: Callable[[BatchRows, Any], Any]) -> Callable[[Drafted, BatchChance], Emitted]:
    """Return a batched verifier of ``verifiers.batched``."""

    def verified(drafted: Drafted, chances: BatchChance) -> Emitted:
        given = verify(drafted.rows(), chances.uniforms(drafted.tokens))
        return given if isinstance(given, Emitted) else given[0]  # greedy block verification adds a modification

    return verified


def block_by_block(verify: Callable[[Block, Any], Any]) -> Callable[[Drafted, BatchChance], Emitted]:
    """Return a verifier of one block, ``verify(block, chance)``, for the rows of the batch in turn."""

    def verified(drafted: Drafted, chances: BatchChance) -> Emitted:
        target, draft, tokens, _ = drafted.probabilities()
        verdicts = [
            verify(Block(p, q, tuple(x)), chances.of_row(row))
            for row, (p, q, x) in enumerate(zip(target.tolist(), draft.tolist(), tokens.tolist(), strict=True))
        ]
        accepted, last = torch.tensor(verdicts, device=tokens.device).unbind(1)
        return emitted(tokens, accepted, last[:, None])

    return verified


def lenient(lenience: float) -> LoopVerifier:
    """Return lenient token verification, lossy for l < 1. Source: Leviathan et al. 2023, Appendix A.5.

    Raises: InputError if the lenience is outside (0, 1].
    """
    if not 0 < lenience <= 1:
        raise InputError(f"lenience {lenience}: expected a number above 0 and at most 1")

    verify = block_by_block(lenient_token_verification(lenience))
    return LoopVerifier(LENIENT, verify, lenience=lenience)


LENIENT = "lenient-token"

BATCHED_VERIFIERS = {
    "token": LoopVerifier("token", all_at_once(token_verification), batched=True),
    "block": LoopVerifier("block", all_at_once(block_verification), batched=True),
    "greedy-block": LoopVerifier("greedy-block", all_at_once(greedy_block_verification), True, batched=True),
}


def loop_verifier(verifier: str | Reference | LoopVerifier) -> LoopVerifier:
    """Return the verifier of that name, batched if there is one. A ``Reference`` verifies one block at a time.

    verifier: "lenient-token:L" is lenient token verification with the lenience L.
    Raises: InputError with the known names, or for a lenience that is no number or out of its range.
    """
    if isinstance(verifier, LoopVerifier):
        return verifier
    if isinstance(verifier, str):
        if verifier in BATCHED_VERIFIERS:
            return BATCHED_VERIFIERS[verifier]
        name, _, lenience = verifier.partition(":")
        if name == LENIENT:
            try:
                share = float(lenience)
            except ValueError:
                expected = f"{LENIENT}:L with a lenience L above 0 and at most 1"
                raise InputError(f"verifier {verifier!r}: expected {expected}") from None
            return lenient(share)
    given = REFERENCES.get(verifier) if isinstance(verifier, str) else verifier
    if not isinstance(given, Reference):
        known = ", ".join(dict.fromkeys((*BATCHED_VERIFIERS, *REFERENCES)))
        raise InputError(f"no verifier {verifier!r}; expected one of {known}, a Reference or a LoopVerifier")
    return LoopVerifier(given.name, block_by_block(given.verify), given.modifies_target)
