"""Verifiers with a defect drawn at random, by number: where it acts, what it does there, how often.

``drawn.py:d17`` is token verification with defect 17; the benchmark counts how many of them an audit refutes.
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio


class Place(NamedTuple):
    """Where in a call the defect may act. p, q: of the draft token x; left: the residual's mass there."""

    i: int
    gamma: int
    vocabulary: int
    x: int
    p: float
    q: float
    left: float
    ties: int


def _scale(chance: random.Random) -> float:
    """A probability, at every scale alike: from 1e-8 to 1 - 1e-8."""
    small = 10.0 ** -chance.uniform(0.3, 8)
    return small if chance.random() < 0.5 else 1 - small


def _region(chance: random.Random) -> tuple[str, str, Callable[[Place], bool]]:
    """(class, description, predicate) of the region."""
    t, k, above = _scale(chance), chance.randrange(9), chance.random() < 0.5
    width = 2 ** chance.choice((2, 3, 7, 8, 10, 15, 16, 17))
    sign, word = (1, ">") if above else (-1, "<")
    return chance.choice(
        [
            ("p", f"p {word} {t:.3g}", lambda at: sign * at.p > sign * t),
            ("q", f"q {word} {t:.3g}", lambda at: sign * at.q > sign * t),
            ("p and q", f"p and q {word} {t:.3g}", lambda at: min(sign * at.p, sign * at.q) > sign * t),
            ("ratio", f"p / q {word} {t:.3g}, below 1", lambda at: at.p < at.q and sign * at.p > sign * t * at.q),
            ("residual", f"mass of the residual < {t:.3g}", lambda at: at.left < t),
            ("position", f"position {k}", lambda at: at.i == k),
            ("length", f"gamma > {k}", lambda at: at.gamma > k),
            ("last position", f"last of more than {k}", lambda at: at.i == at.gamma - 1 >= k),
            ("id", f"id {k}", lambda at: at.x == k),
            ("id", f"id >= {width}", lambda at: at.x >= width),
            ("width", f"V > {width}", lambda at: at.vocabulary > width),
            ("ties", f"{2 + k % 2} equal entries", lambda at: at.ties >= 2 + k % 2),
        ]
    )


class Defect(NamedTuple):
    """One drawn defect.

    region: its class. where: in words. acts: whether it acts there.
    mistake: accept, reject, target (the replacement comes from it).
    size: the probability of the mistake where it acts.
    """

    region: str
    where: str
    acts: Callable[[Place], bool]
    mistake: str
    size: float


def defect(number: int) -> Defect:
    """The defect of that number; always the same."""
    chance = random.Random(f"defect {number}")
    return Defect(*_region(chance), chance.choice(("accept", "reject", "target")), 10.0 ** -chance.uniform(0, 8))


def verifier(wrong: Defect) -> Callable[..., list[int]]:
    """Token verification with the defect."""

    def verify(target: Any, draft: Any, tokens: Any, rng: Any) -> list[int]:
        for i, x in enumerate(tokens):
            p, q = target[i], draft[i]
            rest = excess(p, q)
            at = Place(i, len(tokens), len(p), x, p[x], q[x], rest.sum(), int((p == p[x]).sum()))
            chance, acts = min(ratio(at.p, at.q), 1.0), wrong.acts(at)
            if acts and wrong.mistake == "accept":
                chance += wrong.size * (1 - chance)
            if acts and wrong.mistake == "reject":
                chance *= 1 - wrong.size
            if not rng.random() < chance:
                misled = acts and wrong.mistake == "target" and rng.random() < wrong.size
                return answer(tokens[:i], draw(rng, p if misled else rest, p))
        return answer(tokens, rng.choice(len(target[-1]), p=target[-1] / np.sum(target[-1])))

    return verify


def __getattr__(name: str) -> Callable[..., list[int]]:
    if name.startswith("d") and name[1:].isdigit():
        return verifier(defect(int(name[1:])))
    raise AttributeError(name)
