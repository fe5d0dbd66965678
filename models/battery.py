"""Problems that can see bugs: rows that differ by position and context, zeros, one-hot, equal, disjoint, peaked.

V = 2 hides whole classes of bugs (a residual over two tokens is a point mass), context-free models hide wrong
rows, and positive rows hide boundary errors; so the battery has all of them, from small to large.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import cycle, product
from pathlib import Path

import msgspec

from .law import ContextFree, Markov, Table
from .problem import Problem

ExactRow = tuple[Fraction, ...]

RowPair = tuple[ExactRow, ExactRow]
"""A row of the target and one of the draft."""


def normalised(weights: Sequence[int | Fraction]) -> ExactRow:
    """Return the weights over their sum."""
    total = sum(weights)
    return tuple(Fraction(w) / total for w in weights)


def generic(draw: random.Random, vocabulary: int) -> RowPair:
    target, draft = ([draw.randint(1, 9) for _ in range(vocabulary)] for _ in range(2))
    return normalised(target), normalised(draft)


def zeros(draw: random.Random, vocabulary: int) -> RowPair:
    """Return rows in which each model excludes a token of its own choice."""
    rows = []
    for _ in range(2):
        weights = [draw.randint(1, 9) for _ in range(vocabulary)]
        weights[draw.randrange(vocabulary)] = 0
        rows.append(normalised(weights))
    return rows[0], rows[1]


def one_hot_draft(draw: random.Random, vocabulary: int) -> RowPair:
    chosen = draw.randrange(vocabulary)
    return generic(draw, vocabulary)[0], normalised([int(t == chosen) for t in range(vocabulary)])


def one_hot_target(draw: random.Random, vocabulary: int) -> RowPair:
    draft, target = one_hot_draft(draw, vocabulary)
    return target, draft


def equal(draw: random.Random, vocabulary: int) -> RowPair:
    row = generic(draw, vocabulary)[0]
    return row, row


def disjoint(draw: random.Random, vocabulary: int) -> RowPair:
    """Return rows that have no token in common."""
    cut = draw.randrange(1, vocabulary)
    weights = [draw.randint(1, 9) for _ in range(vocabulary)]
    rows = [normalised([w * (t < cut) for t, w in enumerate(weights)])]
    rows.append(normalised([w * (t >= cut) for t, w in enumerate(weights)]))
    draw.shuffle(rows)
    return rows[0], rows[1]


def peaked(draw: random.Random, vocabulary: int) -> RowPair:
    """Return rows with almost all mass on one token of each model, seldom the same."""

    def row():
        top = draw.randrange(vocabulary)
        return normalised([10**6 if t == top else draw.randint(1, 9) for t in range(vocabulary)])

    return row(), row()


KINDS = {
    "generic": generic, "zeros": zeros, "one-hot-draft": one_hot_draft, "one-hot-target": one_hot_target,
    "equal": equal, "disjoint": disjoint, "peaked": peaked,
}  # fmt: skip


def _scattered(draw: random.Random, vocabulary: int, top: int) -> ExactRow:
    """Return a row whose top token has what the others leave: 0 or d 10^-e each, d from 1 to 9, e from 10 to a limit
    drawn first.
    """
    limit = draw.randint(0, 9)
    weights = [draw.randint(1, 9) * 10 ** draw.randint(0, limit) * (draw.random() < 0.9) for _ in range(vocabulary)]
    weights[top] = 0
    weights[top] = max(10**10 - sum(weights), *weights)
    return normalised(weights)


def log_odds(draw: random.Random, vocabulary: int) -> RowPair:
    """Return probabilities of every scale from 1e-10 to 1 - 1e-10, mostly with both models sure of the same token."""
    top = draw.randrange(vocabulary)
    other = top if draw.random() < 0.7 else draw.randrange(vocabulary)
    return _scattered(draw, vocabulary, top), _scattered(draw, vocabulary, other)


def near(draw: random.Random, vocabulary: int) -> RowPair:
    """Return rows that differ by 1e-9 to 1e-2 of one token's probability."""
    target = (generic if draw.random() < 0.5 else log_odds)(draw, vocabulary)[0]
    draft, (taken, given) = [*target], draw.sample(range(vocabulary), 2)
    moved = target[taken] * Fraction(draw.randint(1, 9), 10 ** draw.randint(3, 9))
    draft[taken], draft[given] = draft[taken] - moved, draft[given] + moved
    return target, tuple(draft)


def ties(draw: random.Random, vocabulary: int) -> RowPair:
    """Return probabilities that coincide: in a row, between the rows, and in what one leaves of the other."""
    target, draft = ([draw.randint(1, 2) for _ in range(vocabulary)] for _ in range(2))
    return normalised(target), normalised(draft)


SCALES = {"log-odds": log_odds, "near": near, "ties": ties}
"""Further kinds of rows, of the audit battery alone."""

LATE = "late-"
"""Prefix of a kind whose rows come only before the last draft token, behind generic ones: so they are reached often."""


def mixed(draw: random.Random, vocabulary: int) -> RowPair:
    """Return rows of a kind that is drawn afresh for every context."""
    return KINDS[draw.choice(sorted(KINDS))](draw, vocabulary)


@lru_cache(maxsize=1024)  # problems are values, and every audit and most tests ask for the same ones
def drawn(vocabulary: int, gamma: int, kind: str, seed: int = 0) -> Problem:
    """Draw a problem with its own pair of rows after every prefix, of the given kind, "mixed", or only late
    ("late-...").
    """
    rows = (KINDS | SCALES | {"mixed": mixed})[kind.removeprefix(LATE)]
    draw = random.Random(f"{vocabulary}/{gamma}/{kind}/{seed}")
    target, draft = {}, {}
    for length in range(gamma + 1):
        for prefix in product(range(vocabulary), repeat=length):
            early = kind.startswith(LATE) and length < gamma - 1
            target[prefix], draft_row = (generic if early else rows)(draw, vocabulary)
            if length < gamma:
                draft[prefix] = draft_row
    name = f"{kind}-V{vocabulary}-gamma{gamma}" + (f"-{seed}" if seed else "")
    return Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), name)


def aimed(vocabulary: int, gamma: int, seeds: Sequence[int]) -> Problem:
    """Return a problem that takes the verifier to the given log-odds rows before the last draft token, without a loss
    before.

    Before them the two rows are equal and nearly flat, after them one token is certain: so the ways are few.
    seeds: of the pair of rows (``log_odds_pair``) after each prefix of length gamma - 1, in order; V^(gamma - 1) at
        most, used again from the first if there are fewer.
    """
    draw = random.Random(f"aimed/{vocabulary}/{gamma}/{seeds[0]}")
    target, draft = {}, {}
    for length in range(gamma - 1):
        for prefix in product(range(vocabulary), repeat=length):
            target[prefix] = draft[prefix] = normalised([draw.randint(4, 6) for _ in range(vocabulary)])
    for prefix, seed in zip(product(range(vocabulary), repeat=gamma - 1), cycle(seeds)):
        target[prefix], draft[prefix] = log_odds_pair(vocabulary, seed)
    for prefix in product(range(vocabulary), repeat=gamma):
        certain = draw.randrange(vocabulary)
        target[prefix] = normalised([int(t == certain) for t in range(vocabulary)])
    name = f"aimed-V{vocabulary}-gamma{gamma}-{seeds[0]}"
    return Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), name)


def log_odds_pair(vocabulary: int, seed: int) -> RowPair:
    """Return the pair of rows of kind log-odds with that seed."""
    return log_odds(random.Random(f"pair/{vocabulary}/{seed}"), vocabulary)


def drawn_markov(vocabulary: int, gamma: int, kind: str = "generic", seed: int = 0) -> Problem:
    """Draw a pair of order-1 Markov models: an infinite context-dependent law from V + 1 pairs of rows."""
    rows = mixed if kind == "mixed" else KINDS[kind]
    draw = random.Random(f"markov/{vocabulary}/{gamma}/{kind}/{seed}")
    pairs = [rows(draw, vocabulary) for _ in range(vocabulary + 1)]
    target, draft = (Markov(pairs[0][k], tuple(pair[k] for pair in pairs[1:])) for k in (0, 1))
    return Problem(vocabulary, gamma, target, draft, f"markov-{kind}-V{vocabulary}-gamma{gamma}")


def toy(gamma: int) -> Problem:
    """Return the paper's example: M_b = (1/3, 2/3), M_s = (2/3, 1/3), whatever the context. Source: Eq. (2)."""
    row = Fraction(1, 3), Fraction(2, 3)
    return Problem(2, gamma, ContextFree(row), ContextFree(row[::-1]), f"paper-example-gamma{gamma}")


def exact_battery() -> Iterator[Problem]:
    """Return the problems on which the claims are checked over exact rationals: V from 2 to 5, gamma from 1 to 6."""
    for gamma in range(1, 7):
        yield toy(gamma)
    for vocabulary, longest in ((2, 4), (3, 3), (4, 2), (5, 2)):
        for gamma in range(1, longest + 1):
            for kind in KINDS:
                yield drawn(vocabulary, gamma, kind)
    for vocabulary, gamma in ((2, 5), (2, 6), (3, 4), (3, 5), (3, 6), (4, 3), (4, 4), (5, 3), (5, 4)):
        for kind in ("generic", "mixed"):
            yield drawn(vocabulary, gamma, kind)
    for vocabulary, gamma in ((2, 2), (3, 2), (2, 3), (4, 2)):
        yield drawn_markov(vocabulary, gamma)
        yield drawn_markov(vocabulary, gamma, "mixed")


Spec = tuple[int, int, str, int | tuple[int, ...]]
"""Vocabulary, gamma, kind and seed of a problem; the kind "aimed" has a seed for each pair of rows."""


def specified(spec: Spec) -> Problem:
    """Return the problem with these arguments."""
    vocabulary, gamma, kind, seed = spec
    return drawn(vocabulary, gamma, kind, seed) if isinstance(seed, int) else aimed(vocabulary, gamma, seed)


AUDITED = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=tuple[Spec, ...])
"""The smallest set of problems that covers every region of ``regions.cells``, found by
``benchmarks/choose_battery.py``."""


def by_hand() -> list[Problem]:
    """Return two problems on which a refutation can be checked by hand. They are there whatever they cover."""
    return [drawn(2, 1, "generic"), toy(2)]


def audit_battery() -> list[Problem]:
    """Return the problems that third-party code is run on: every draft block, every way its chance can fall."""
    return [*by_hand(), *map(specified, AUDITED)]


OWN_SIZES = ((2, 1), (3, 1), (6, 1), (2, 3), (3, 2), (5, 2))
"""Vocabulary and gamma of the problems that each audit draws for itself."""


def own_problems(seed: int) -> list[Problem]:
    """Draw an audit's own six small problems, with rows of every scale. The same seed gives the same ones.

    Their names carry the seed.
    """
    problems = [drawn(*size, ("log-odds", "late-log-odds")[size[1] > 1], seed) for size in OWN_SIZES]
    return [replace(p, name=f"own-V{p.vocabulary}-gamma{p.gamma}-seed{seed}") for p in problems]
