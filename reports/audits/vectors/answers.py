"""What a rule gives for one draft block and given random numbers, exactly: the reference verifiers' own code decides."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from ....verifiers.arithmetic import residual
from ....verifiers.draft_block import Block
from ....verifiers.registry import REFERENCES
from .forms import EPSILON

RULES = ("token", "block", "greedy-block")


class Numbers(NamedTuple):
    """The random numbers of one verification.

    accept: [gamma] uniforms; X_1..X_i passes if accept[i-1] < h_i.
    last: a uniform; the token is the first whose running sum of weights exceeds last * (sum of all).
    noise: [V] exponential noise for the same draw by a race: the token is the argmax of weights / noise.
    """

    accept: tuple[Fraction, ...]
    last: Fraction
    noise: tuple[Fraction, ...]


class Answer(NamedTuple):
    """What a verification gives.

    thresholds: [gamma] h_1..h_gamma; None where every value gives the same law (0/0).
    accepted: tau.
    weights: [V] the law of the last token, normalised.
    emitted, raced: X^tau and the last token, by ``last`` and by ``noise``.
    """

    thresholds: tuple[Fraction | None, ...]
    accepted: int
    weights: tuple[Fraction, ...]
    emitted: tuple[int, ...]
    raced: tuple[int, ...]


class _Forced:
    """A chance of which every flip falls in the same way: all thresholds are asked for, in the verifier's order."""

    def __init__(self, way: bool) -> None:
        self.way, self.asked = way, []

    def flip(self, probability: Fraction) -> bool:
        self.asked.append(Fraction(probability))
        return self.way

    def draw(self, weights: Sequence[Fraction]) -> int:
        return 0


class _Scripted:
    """A chance whose flips are decided by given uniforms, in the verifier's order; the weights drawn from are kept."""

    def __init__(self, uniforms: Sequence[Fraction]) -> None:
        self._uniforms, self.weights = iter(uniforms), ()

    def flip(self, probability: Fraction) -> bool:
        return next(self._uniforms, 0) < probability

    def draw(self, weights: Sequence[Fraction]) -> int:
        self.weights = tuple(map(Fraction, weights))
        return 0


def thresholds(rule: str, block: Block) -> tuple[Fraction | None, ...]:
    """[gamma] h_1..h_gamma of a rule on a block; None where 0/0 stands and every value gives the same law."""
    forwards, chance = rule == "token", _Forced(rule == "token")
    if block.gamma:
        REFERENCES[rule].verify(block, chance)
    asked = chance.asked if forwards else chance.asked[::-1]
    whole = [True] * (block.gamma - 1) + [False]
    return tuple(
        None if inner and not forwards and conditioning(rule, block, i) == 0 else h
        for i, (h, inner) in enumerate(zip(asked, whole), 1)
    )


def survival(rule: str, block: Block, length: int) -> Fraction:
    """p_i, i = length: 1 for the token rule, whose residual is not scaled."""
    formulas, p = REFERENCES[rule].rule, Fraction(1)
    if formulas is not None:
        for i, x in enumerate(block.tokens[:length]):
            p = formulas.survive(p, block.target[i][x], block.draft[i][x])
    return p


def conditioning(rule: str, block: Block, length: int) -> Fraction:
    """S_i + 1 - p_i, the denominator of h_i in both block rules, S_i = sum_x max(p_i M_b - M_s, 0)."""
    p = survival(rule, block, length)
    return sum(residual(block.target[length], block.draft[length], p), Fraction(0)) + 1 - p


def answer(rule: str, block: Block, numbers: Numbers) -> Answer:
    """The answer of a rule."""
    uniforms = numbers.accept if rule == "token" else numbers.accept[::-1]
    chance = _Scripted(uniforms)
    accepted = REFERENCES[rule].verify(block, chance).accepted
    total = sum(chance.weights)
    weights = tuple(w / total for w in chance.weights)
    by_sum = next(y for y, edge in enumerate(accumulate(weights)) if edge > numbers.last)
    by_race = max((y for y, w in enumerate(weights) if w), key=lambda y: weights[y] / numbers.noise[y])
    prefix = block.tokens[:accepted]
    return Answer(thresholds(rule, block), accepted, weights, (*prefix, by_sum), (*prefix, by_race))


def tolerances(rule: str, block: Block, accepted: int) -> dict[str, dict[str, float]]:
    """How far rounding may carry thresholds and weights, by number type: 2 (3 gamma + 4 + V) max(1, p_i) epsilon / D.

    p_i is a product of i ratios of rounded numbers (3 roundings each), S_i a sum of V entries in any order; both errors
    enter h_i divided by D = S_i + 1 - p_i (the smallest of a block's; 1 for the token rule), the weights by the residual's
    mass S_tau (1 behind a block that is accepted whole). A count of roundings, to first order, of numbers and not of a law:
    a yardstick, no theorem of proofs/mechanized.
    """
    gamma, vocabulary = block.gamma, len(block.target[0])
    inner = [] if rule == "token" else [conditioning(rule, block, i) for i in range(1, gamma)]
    least = min((d for d in inner if d), default=Fraction(1))
    largest = max([survival(rule, block, i) for i in range(gamma + 1)])
    rest = Fraction(1)
    if accepted < gamma:
        kept = survival(rule, block, accepted)
        rest = sum(residual(block.target[accepted], block.draft[accepted], kept), Fraction(0))
    scale = 2 * (3 * gamma + 4 + vocabulary) * float(max(Fraction(1), largest))
    divided = {"thresholds": float(min(least, 1)), "weights": float(min(rest, 1))}
    return {name: {dtype: scale * e / by for dtype, e in EPSILON.items()} for name, by in divided.items()}
