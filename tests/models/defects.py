"""Defects in one region, given or drawn at random: verifiers that have them, and the exact bias of each.

Drawn as source texts, with conditions on sizes besides, they are in ``tests/deceivers/drawn.py``.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float, as_fraction
from draftproof.models.regions import VISIBLE
from draftproof.proofs.enumeration import ONE
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

    @property
    def p(self) -> Any:
        """The target's probability of the draft token; where one is drawn, its largest."""
        return _number(max(self.target) if self.token is None else self.target[self.token])

    @property
    def q(self) -> Any:
        """The draft's."""
        return _number(max(self.draft) if self.token is None else self.draft[self.token])

    @property
    def drafted(self) -> bool:
        return self.draft is not None

    @property
    def left(self) -> float:
        """The mass of token verification's residual; -1 after the block."""
        if not self.drafted:
            return -1.0
        return as_float(sum(residual(self.target, self.draft)))

    @property
    def ties(self) -> int:
        """Tokens that the target gives as much as the draft token; 0 where one is drawn."""
        if self.token is None:
            return 0
        return sum(p == self.target[self.token] for p in self.target)

    @property
    def equal(self) -> bool:
        """Whether both models have the same row."""
        return self.drafted and all(p == q for p, q in zip(self.target, self.draft))


def _number(x: Any) -> Any:
    return x if isinstance(x, float) else as_fraction(x)


@dataclass(frozen=True)
class Defect:
    """A mistake at some places.

    where: the places. mistake: of the coin, a name of ``regions``, or of the draw, a name of ``DRAWS``. share: how
        often.
    instead: of ``DRAWS``, what is drawn from after the coin's mistake.
    """

    where: Callable[[Place], bool]
    mistake: str
    share: Any = ONE
    instead: str = ""

    def coin(self, place: Place, coin: Any) -> Any:
        """The probability to keep the draft token, where it should be ``coin``."""
        wrong = {"accept": 1, "reject": 0, "other": 0}.get(self.mistake)
        return coin + (wrong - coin) * self.share if wrong is not None and self.where(place) else coin

    def decides(self, place: Place, chance: Chance, coin: Any) -> bool:
        """Whether the draft token is kept."""
        return chance.flip(self.coin(place, coin))

    def draws(self, place: Place, chance: Chance, weights: list) -> int:
        """The token that comes after the kept ones."""
        if not sum(weights):
            weights = list(place.target)
        drawn_from = DRAWS.get(self.instead or self.mistake)
        if drawn_from and self.where(place):
            wrong = drawn_from(place, weights)
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


def window(draw: random.Random) -> tuple[float, float]:
    """An interval of probabilities, its ends uniform in log-odds between 1e-9 and 1 - 1e-9, or open to one side."""
    low, high = sorted(1 / (1 + 10 ** draw.uniform(-9, 9)) for _ in range(2))
    return draw.choice([(0, high), (low, 1), (low, high)])


def drawn_region(draw: random.Random) -> tuple[str, Callable[[Place], bool]]:
    """A region drawn at random, by name and as a condition."""
    (low, high), (least, most) = window(draw), window(draw)
    number, token, above = draw.randint(1, 5), draw.randint(-2, 4), draw.random() < 0.5
    regions: dict[str, Callable[[Place], Any]] = {
        "p": lambda x: low <= x.p <= high,
        "q": lambda x: x.drafted and low <= x.q <= high,
        "p and q": lambda x: x.drafted and low <= x.p <= high and least <= x.q <= most,
        "p / q": lambda x: x.drafted and low <= min(x.p, x.q) / max(x.p, x.q, VISIBLE) <= high and above == (x.p > x.q),
        "survival": lambda x: low <= x.survival <= high,
        "residual": lambda x: low <= x.left <= high,
        "position": lambda x: x.i == number,
        "gamma": lambda x: x.block.gamma == number,
        "id": lambda x: x.token in (token, len(x.target) + token),
        "repeats": lambda x: len(set(x.block.tokens)) < x.block.gamma,
        "equal rows": lambda x: x.equal,
        "ties": lambda x: x.ties > 1,
    }
    return draw.choice([*regions.items()])


class Drawn(NamedTuple):
    """A defect drawn at random.

    region: its name, or two. one_in: how often the mistake is made there. algorithm: token or block.
    """

    region: str
    one_in: int
    algorithm: str
    defect: Defect

    @property
    def words(self) -> str:
        return f"{self.algorithm}: {self.defect.mistake}, one in {self.one_in}, by {self.region}"

    @property
    def reference(self) -> Reference:
        """The verifier with it, as a program over chance."""
        return {"token": token_verifier, "block": block_verifier}[self.algorithm](self.defect)


def drawn_defect(seed: int) -> Drawn:
    """The defect of that seed: region (or two), mistake, size, algorithm."""
    draw = random.Random(f"defect/{seed}")
    (name, first), (other, second) = drawn_region(draw), drawn_region(draw)
    if draw.random() < 0.7:
        other, second = "", lambda place: True
    mistake, one_in = draw.choice(["accept", "reject", *DRAWS]), draw.choice([1, 1, 10, 1000, 10**6])
    algorithm = draw.choice(["token", "block"])
    defect = Defect(lambda place: bool(first(place) and second(place)), mistake, ONE / one_in)
    return Drawn(name + (f" and {other}" if other else ""), one_in, algorithm, defect)


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
