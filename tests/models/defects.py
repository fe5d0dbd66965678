"""Verifiers that are wrong in one region and right elsewhere, as programs over chance, and the exact bias of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.enumeration import ONE
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import completed, enumerated_law, joint_law, total_variation
from draftproof.verifiers.arithmetic import minimum, ratio, residual
from draftproof.verifiers.block_verification import accept, survive
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.draft_block import Block, Verdict
from draftproof.verifiers.registry import Reference


@dataclass(frozen=True)
class Place:
    """Where a verifier decides on draft token i = 1..gamma, or (token None) draws what comes after i tokens.

    before, survival: p_{i-1} and p_i. rows: of both models before the token (after the block the draft's is None).
    """

    block: Block
    i: int
    token: int | None
    before: Any
    survival: Any
    target: Any
    draft: Any

    @property
    def p(self) -> Any:
        return self.target[self.token]

    @property
    def q(self) -> Any:
        return self.draft[self.token]


@dataclass(frozen=True)
class Defect:
    """where: the places at which the mistake is made. mistake: a name of ``regions`` or of ``DRAWS``. share: how often."""

    where: Callable[[Place], bool]
    mistake: str
    share: Any = ONE

    def decides(self, place: Place, chance: Chance, coin: Any) -> bool:
        """Whether the draft token is kept."""
        wrong = {"accept": 1, "reject": 0, "other": 0}.get(self.mistake)
        if wrong is not None and self.where(place):
            coin += (wrong - coin) * self.share
        return chance.flip(coin)

    def draws(self, place: Place, chance: Chance, weights: list) -> int:
        """The token that comes after the kept ones."""
        if not sum(weights):
            weights = list(place.target)
        if self.mistake in DRAWS and self.where(place):
            wrong = DRAWS[self.mistake](place, weights)
            if self.share == 1 or chance.flip(self.share):
                weights = wrong
        return chance.draw(weights)


def _without_smallest(place: Place, weights: list) -> list:
    smallest = min(w for w in weights if w)
    return [0 if w == smallest else w for w in weights] if len(set(filter(None, weights))) > 1 else weights


DRAWS = {
    "target": lambda place, weights: list(place.target),
    "draft": lambda place, weights: list(place.draft or weights),
    "largest": lambda place, weights: [
        int(k == max(range(len(weights)), key=weights.__getitem__)) for k in range(len(weights))
    ],
    "smallest dropped": _without_smallest,
    "flat": lambda place, weights: [int(w > 0) for w in weights],
}
"""Mistakes with a draw: what is drawn from instead."""


def token_verifier(defect: Defect) -> Reference:
    """Token verification with the defect."""

    def verify(block: Block, chance: Chance) -> Verdict:
        for i, x in enumerate(block.tokens):
            p, q = block.target[i][x], block.draft[i][x]
            coin = minimum(ratio(p, q), 1)
            place = Place(block, i + 1, x, 1, coin, block.target[i], block.draft[i])
            if not defect.decides(place, chance, coin):
                rest = residual(block.target[i], block.draft[i])
                here = Place(block, i, None, 1, 1, block.target[i], block.draft[i])
                return Verdict(i, defect.draws(here, chance, rest))
        here = Place(block, block.gamma, None, 1, 1, block.target[-1], None)
        return Verdict(block.gamma, defect.draws(here, chance, list(block.target[-1])))

    return Reference("token with a defect", verify, "")


def block_verifier(defect: Defect) -> Reference:
    """Block verification with the defect."""

    def verify(block: Block, chance: Chance) -> Verdict:
        survival: list[Any] = [1]
        for i, x in enumerate(block.tokens):
            survival.append(survive(survival[i], block.target[i][x], block.draft[i][x]))
        for i in range(block.gamma, -1, -1):
            draft = block.draft[i] if i < block.gamma else [0] * len(block.target[i])
            rest = residual(block.target[i], draft, survival[i])
            place = None
            if i:
                x = block.tokens[i - 1]
                place = Place(block, i, x, survival[i - 1], survival[i], block.target[i - 1], block.draft[i - 1])
            if place is None or defect.decides(place, chance, accept(survival[i], sum(rest), block.target[i], draft)):
                here = Place(
                    block, i, None, survival[i], survival[i], block.target[i], draft if i < block.gamma else None
                )
                return Verdict(i, defect.draws(here, chance, rest))
        raise AssertionError("unreachable")

    return Reference("block with a defect", verify, "")


def bias(problem: Problem, verifier: Reference) -> float:
    """The exact total variation between what is emitted, completed by the target, and the target's law."""
    exact = in_field(problem)
    length = problem.gamma + 1
    emitted = completed(enumerated_law(exact, verifier), exact.target, length)
    return as_float(total_variation(emitted, joint_law(exact.target, length)))
