"""Problems of long blocks over few tokens, which decide every position of a block, together or a few at a time.

A right verifier that stops at the first rejection has gamma + 1 ways to go through a block of which every position is
decided. One that draws a coin for each position, whatever came of the others, has 2^gamma ways. So that there is a law
for those too, other problems decide a few positions at a time. A mistake can need a length and a region of the rows:
others have the rows of short blocks at two positions.
"""

import random

from .wide import WideProblem

LENGTHS = (*range(6, 18), 24, 32, 33, 64)
"""Lengths of blocks all positions of which are decided together, where that takes few ways."""

SHORTER = (4, 5)
"""Lengths of which problems of small vocabularies decide every position, few of them with rows of every region."""

LENGTHS_APART = (6, 7, 8, 9, 10, 12, 16, 17, 24, 32, 33, 64)
"""Lengths of blocks whose positions are decided a few at a time, if all together take too many ways."""

SMALL = 8
"""Vocabulary of the problems that decide a few positions at a time."""

LEAST = 3
"""Vocabulary of the problems with rows that are nearly sure: each further token takes 1/256 of that."""


def together(gamma: int) -> WideProblem:
    """Return a problem that decides every position, over two tokens of which one can be drafted."""
    live = tuple(((i + i // 3) % 2,) for i in range(gamma))
    return WideProblem(2, gamma, "likely", live, name=f"wide-positions-gamma{gamma}")


def apart(gamma: int, seed: int = 0, pairs: bool = True) -> WideProblem:
    """Return a problem that decides every position, with two tokens to draft; blocks of another length have others.

    pairs: whether each is decided together with the next one too, and two positions at each distance from gamma / 2 on,
      so that there is a multiple of every distance: code that takes the same for every k-th position shows. Which two
      is drawn from the seed.
    """
    later: list[set[int]] = [{i + 1} if pairs and i + 1 < gamma else set() for i in range(gamma)]
    draw, met = random.Random(f"positions/{gamma}/{seed}"), set()
    for distance in range(gamma - 1, (gamma - 1) // 2, -1) if pairs else ():  # the longest have the fewest places
        if distance not in met:
            places = [*range(gamma - distance)]
            first = draw.choice([i for i in places if len(later[i]) < 2] or places)
            later[first].add(first + distance)
            decided = [first, *later[first]]
            met |= {b - a for a in decided for b in decided}
    first = LENGTHS_APART.index(gamma) if gamma in LENGTHS_APART else gamma
    live = tuple(((3 * i + first) % SMALL, (3 * i + first + 1) % SMALL) for i in range(gamma))
    name = f"wide-positions-{'pairs' if pairs else 'apart'}-gamma{gamma}"
    departures = tuple(map(tuple, map(sorted, later)))
    return WideProblem(SMALL, gamma, "few", live, seed, name=name, departures=departures)


def regions(gamma: int, seed: int = 0) -> list[WideProblem]:
    """Return problems that decide two positions, drawn from the seed.

    One has rows of every region of p and q, six tokens of which can be drafted at one of the positions. The other has
    rows that are nearly sure of the token that both models expect."""
    draw = random.Random(f"regions/{gamma}/{seed}")
    decided = draw.sample(range(gamma), 2)
    agree = tuple(i for i in range(gamma) if i not in decided)
    sure = tuple((draw.randrange(LEAST),) for _ in range(gamma))
    inner = [i for i in range(1, SMALL) if i != SMALL // 3]  # the others have what is left after a rejection
    drafted = {decided[0]: draw.sample(inner, len(inner)), decided[1]: draw.sample(inner, 2)}
    live = tuple(tuple(drafted.get(i, sure[i])) for i in range(gamma))
    return [
        WideProblem(size, gamma, kind, tokens, seed, agree, name=f"wide-positions-{name}-gamma{gamma}")
        for size, kind, tokens, name in ((SMALL, "ends", live, "rows"), (LEAST, "near", sure, "sure"))
    ]
