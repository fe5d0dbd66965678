"""Problems whose rows tell drafted paths apart: behind different tokens both models are sure, or are not.

A verifier may choose how many tokens it verifies by how sure the models are. Where it looks at rows that the token in
question leads to, the choice depends on that token, and the law changes.
"""

import random
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path

import msgspec

from .law import Prefix, Table
from .problem import Problem

ExactRow = tuple[Fraction, ...]

PathSpec = tuple[int, int, int]
"""Vocabulary, gamma and seed of a problem."""

MOODS = {"flat": (1, 3, 8), "mixed": (4, 20, 40, 60, 80, 96), "sure": (92, 97, 99)}
"""What rows behind a prefix are like -> by how many hundredths the largest entry is nearer to 1 than in a flat row."""

MOST_BLOCKS = 24
"""Draft blocks of a problem, about: where there are more, the draft is certain of its next tokens."""


@lru_cache(maxsize=64)  # as of ``battery.drawn``: an audit and its regions ask for the same ones
def paths(vocabulary: int, gamma: int, seed: int) -> Problem:
    """Draw a problem whose rows depend on how often the block left the draft's likeliest token, and where.

    Before, after one and after more such departures the rows have a mood of their own, drawn first. Where the draft is
    certain of a token the target mostly is, too.
    """
    draw = random.Random(f"paths/{vocabulary}/{gamma}/{seed}")
    moods = [(draw.choice([*MOODS]), draw.choice([*MOODS])) for _ in range(3)]
    open_shares = (1.0, draw.choice((0.0, 0.3, 0.6, 1.0)), draw.choice((0.0, 0.2, 0.5, 1.0)))
    agreeing = draw.choice((0.0, 0.4, 0.8))
    departures: dict[Prefix, int] = {(): 0}  # of every prefix that can be drafted
    target, draft = {}, {}
    for length in range(gamma + 1):
        blocks = sum(len(x) == length for x in departures)
        for prefix in product(range(vocabulary), repeat=length):
            likeliest = draw.randrange(vocabulary)
            other = (likeliest + (draw.random() >= agreeing) * draw.randrange(1, vocabulary)) % vocabulary
            certain = _row(vocabulary, likeliest, 100, draw)
            if prefix not in departures:
                target[prefix] = certain
                if length < gamma:
                    draft[prefix] = certain
                continue
            left = min(departures[prefix], 2)
            sure, target_sure = (draw.choice(MOODS[mood]) for mood in moods[left])
            target[prefix] = _row(vocabulary, other, target_sure, draw)
            if length == gamma:
                continue
            opened = draw.random() < open_shares[left] and (left == 0 or blocks + vocabulary <= MOST_BLOCKS)
            draft[prefix] = _row(vocabulary, likeliest, sure, draw) if opened else certain
            if not opened and draw.random() < 0.7:
                target[prefix] = certain
            for token in range(vocabulary) if opened else (likeliest,):
                departures[(*prefix, token)] = departures[prefix] + (token != likeliest)
            blocks += (vocabulary - 1) * opened
    name = f"paths-V{vocabulary}-gamma{gamma}-{seed}"
    return Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), name)


def _row(vocabulary: int, likeliest: int, sure: int, draw: random.Random) -> ExactRow:
    """Return a row whose largest entry is nearer to 1 than that of a flat row by so many hundredths.

    Drawn weights share the rest.
    """
    weights = [draw.randint(9, 11) * (t != likeliest) for t in range(vocabulary)]
    whole, rest = 100 * vocabulary, (100 - sure) * (vocabulary - 1)
    largest, shares = Fraction(whole - rest, whole), sum(weights)
    return tuple(largest if t == likeliest else Fraction(rest * w, whole * shares) for t, w in enumerate(weights))


PATHS = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=tuple[PathSpec, ...])
"""The smallest set of problems that covers every region of ``looking_ahead.cells`` that the audit battery does not,
found by ``benchmarks/choose_path_battery.py``."""


def path_battery() -> list[Problem]:
    """Return the problems of a whole audit whose rows tell drafted paths apart."""
    return [paths(*spec) for spec in PATHS]
