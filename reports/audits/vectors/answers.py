"""The exact answers of a rule for one draft block and given random numbers, and exact numbers in a file's forms."""

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from ....verifiers.arithmetic import residual
from ....verifiers.draft_block import Block
from ....verifiers.registry import REFERENCES

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
"""Spacing at 1 of the number types in which programs may answer."""


def float32(number: Fraction) -> float:
    """Return the float32 nearest to a rational of at least 0; rounding to float64 first could round twice."""
    (point,) = struct.unpack("<I", struct.pack("<f", float(number)))
    near = (struct.unpack("<f", struct.pack("<I", k))[0] for k in range(max(point - 1, 0), point + 2))
    return min(near, key=lambda value: abs(Fraction(value) - number))


FORMS: dict[str, Callable[[Fraction], Any]] = {
    "exact": str,
    "float64": lambda number: float(number).hex(),
    "float32": lambda number: float32(number).hex(),
    "numbers": float,
}
"""Forms of a number in a file; "numbers" are JSON numbers that every language reads as the same float64."""


def forms(values: Any) -> dict[str, Any]:
    """Return a number, or nested lists of numbers, in each of ``FORMS``; None stays None."""
    return {name: _mapped(form, values) for name, form in FORMS.items()}


def _mapped(form: Callable[[Fraction], Any], values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return [_mapped(form, value) for value in values]
    return None if values is None else _form(form, *values.as_integer_ratio())


@lru_cache(maxsize=2**16)
def _form(form: Callable[[Fraction], Any], numerator: int, denominator: int) -> Any:
    return form(Fraction(numerator, denominator))


RULES = ("token", "block", "greedy-block")

GREEDY = "greedy"
"""Name that stands for a rule in a request at temperature 0. Drafts are kept while they are the target's argmax."""


def decided(rule: str, block: Block) -> tuple[str, Block]:
    """Return the rule and the block that decide; for a greedy request, token verification at temperature 0.

    No row of such a request has two largest entries.
    """
    if rule != GREEDY:
        return rule, block
    rows = [[type(p)(p == max(row)) for p in row] for row in block.target]
    return "token", Block(rows, block.draft, block.tokens)


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
    """The result of one verification.

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


class _Decided:
    """A chance whose flips a function decides; it keeps the probabilities asked for and the weights drawn from."""

    def __init__(self, decide: Callable[[Fraction], bool]) -> None:
        self.decide, self.asked, self.weights = decide, [], ()

    def flip(self, probability: Fraction) -> bool:
        self.asked.append(Fraction(probability))
        return self.decide(probability)

    def draw(self, weights: Sequence[Fraction]) -> int:
        self.weights = tuple(map(Fraction, weights))
        return 0


def thresholds(rule: str, block: Block) -> tuple[Fraction | None, ...]:
    """Return [gamma] h_1..h_gamma of a rule on a block; None where 0/0 stands and every value gives the same law."""
    rule, block = decided(rule, block)
    forwards = rule == "token"
    chance = _Decided(lambda _: forwards)  # so that every threshold is asked for
    if block.gamma:
        REFERENCES[rule].verify(block, chance)
    asked = chance.asked if forwards else chance.asked[::-1]
    return tuple(
        None if not forwards and i < block.gamma and conditioning(rule, block, i) == 0 else h
        for i, h in enumerate(asked, 1)
    )


def survival(rule: str, block: Block, length: int) -> Fraction:
    """Return p_i, i = length; 1 for the token rule, whose residual is not scaled."""
    formulas, p = REFERENCES[rule].rule, Fraction(1)
    if formulas is not None:
        for i, x in enumerate(block.tokens[:length]):
            p = formulas.survive(p, block.target[i][x], block.draft[i][x])
    return p


def conditioning(rule: str, block: Block, length: int) -> Fraction:
    """Return S_i + 1 - p_i, the denominator of h_i in both block rules, S_i = sum_x max(p_i M_b - M_s, 0)."""
    p = survival(rule, block, length)
    return sum(residual(block.target[length], block.draft[length], p), Fraction(0)) + 1 - p


def answer(rule: str, block: Block, numbers: Numbers) -> Answer:
    """Return the answer of a rule."""
    rule, block = decided(rule, block)
    uniforms = iter(numbers.accept if rule == "token" else numbers.accept[::-1])
    chance = _Decided(lambda probability: next(uniforms, 0) < probability)
    accepted = REFERENCES[rule].verify(block, chance).accepted
    mass = sum(chance.weights)
    weights = tuple(w / mass for w in chance.weights)
    by_sum = next(y for y, edge in enumerate(accumulate(weights)) if edge > numbers.last)
    by_race = max((y for y, w in enumerate(weights) if w), key=lambda y: weights[y] / numbers.noise[y])
    prefix = block.tokens[:accepted]
    return Answer(thresholds(rule, block), accepted, weights, (*prefix, by_sum), (*prefix, by_race))


def tolerances(rule: str, block: Block, accepted: int) -> dict[str, dict[str, float]]:
    """Return how far rounding may carry thresholds and weights, by number type: 2 (3 gamma + 4 + V) max(1, p_i) epsilon
    / D.

    p_i is a product of i ratios of rounded numbers (3 roundings each), and S_i a sum of V entries in any order.
    Both errors enter h_i divided by D = S_i + 1 - p_i (the smallest of a block's; 1 for the token rule).
    They enter the weights divided by the residual's mass S_tau (1 behind a block that is accepted whole).
    This is a yardstick to first order, and no theorem.
    """
    rule, block = decided(rule, block)
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
