"""Defects in one region: verifiers that have them, and the exact bias of each.

Drawn at random, as source texts, they are in ``benchmarks/drawn_deceivers/drawn.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float, as_fraction
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import completed, enumerated_law, joint_law, total_variation
from draftproof.verifiers.arithmetic import minimum, ratio, residual
from draftproof.verifiers.block_verification import accept, survive
from draftproof.verifiers.chance import Chance
from draftproof.verifiers.draft_block import Block, Verdict
from draftproof.verifiers.registry import Reference


@dataclass(frozen=True)
class Place:
    """Where a verifier decides on draft token i = 1..gamma, or (token None) draws what comes after i tokens.

    survival: p_i. target, draft: the rows before the token, lists or arrays; after the block the draft's is None.
    """

    block: Any
    i: int
    token: int | None
    survival: Any
    target: Any
    draft: Any


@dataclass(frozen=True)
class Defect:
    """A mistake at some places.

    where: the places. mistake: of the coin, a name of ``regions``, or of the draw, a name of ``DRAWS``.
    instead: of ``DRAWS``, what is drawn from after the coin's mistake.
    """

    where: Callable[[Place], bool]
    mistake: str
    instead: str = ""

    def decides(self, place: Place, chance: Chance, coin: Any) -> bool:
        """Return whether the draft token is kept; ``coin`` is the probability that it should have."""
        wrong = {"accept": 1, "reject": 0, "other": 0}.get(self.mistake)
        return chance.flip(wrong if wrong is not None and self.where(place) else coin)

    def draws(self, place: Place, chance: Chance, weights: list) -> int:
        """The token that comes after the kept ones."""
        if not sum(weights):
            weights = list(place.target)
        drawn_from = DRAWS.get(self.instead or self.mistake)
        return chance.draw(drawn_from(place, weights) if drawn_from and self.where(place) else weights)


def _without_smallest(place: Place, weights: list) -> list:
    smallest = min(w for w in weights if w)
    return [0 if w == smallest else w for w in weights] if len(set(filter(None, weights))) > 1 else weights


def _largest(place: Place, weights: list) -> list:
    best = max(range(len(weights)), key=weights.__getitem__)
    return [int(k == best) for k in range(len(weights))]


DRAWS = {
    "target": lambda place, weights: list(place.target),
    "largest": _largest,
    "smallest dropped": _without_smallest,
}
"""Mistakes with a draw: what is drawn from instead."""

ALL = Fraction(1)


def token_verifier(defect: Defect) -> Reference:
    """Token verification with the defect."""

    def verify(block: Block, chance: Chance) -> Verdict:
        for i, x in enumerate(block.tokens):
            p, q = block.target[i][x], block.draft[i][x]
            coin = minimum(ratio(p, q), 1)
            place = Place(block, i + 1, x, as_fraction(coin), block.target[i], block.draft[i])
            if not defect.decides(place, chance, coin):
                rest = residual(block.target[i], block.draft[i])
                here = Place(block, i, None, ALL, block.target[i], block.draft[i])
                return Verdict(i, defect.draws(here, chance, rest))
        here = Place(block, block.gamma, None, ALL, block.target[-1], None)
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
                place = Place(block, i, x, as_fraction(survival[i]), block.target[i - 1], block.draft[i - 1])
            if place is None or defect.decides(place, chance, accept(survival[i], sum(rest), block.target[i], draft)):
                here = Place(
                    block, i, None, as_fraction(survival[i]), block.target[i], draft if i < block.gamma else None
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
