"""Problems that can see bugs: rows that differ by position and context, zeros, one-hot, equal, disjoint, peaked.

V = 2 hides whole classes of bugs (a residual over two tokens is a point mass), context-free models hide wrong
rows, and positive rows hide boundary errors; so the battery has all of them, from small to large.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from .law import ContextFree, Markov, Table
from .problem import Problem

ExactRow = tuple[Fraction, ...]


def _normalised(weights) -> ExactRow:
    total = sum(weights)
    return tuple(Fraction(w, total) for w in weights)


def generic(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    target, draft = ([draw.randint(1, 9) for _ in range(vocabulary)] for _ in range(2))
    return _normalised(target), _normalised(draft)


def zeros(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    """Each model excludes a token of its own choice."""
    rows = []
    for _ in range(2):
        weights = [draw.randint(1, 9) for _ in range(vocabulary)]
        weights[draw.randrange(vocabulary)] = 0
        rows.append(_normalised(weights))
    return rows[0], rows[1]


def one_hot_draft(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    chosen = draw.randrange(vocabulary)
    return generic(draw, vocabulary)[0], _normalised([int(t == chosen) for t in range(vocabulary)])


def one_hot_target(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    draft, target = one_hot_draft(draw, vocabulary)
    return target, draft


def equal(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    row = generic(draw, vocabulary)[0]
    return row, row


def disjoint(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    """No token that both models allow."""
    cut = draw.randrange(1, vocabulary)
    weights = [draw.randint(1, 9) for _ in range(vocabulary)]
    rows = [_normalised([w * (t < cut) for t, w in enumerate(weights)])]
    rows.append(_normalised([w * (t >= cut) for t, w in enumerate(weights)]))
    draw.shuffle(rows)
    return rows[0], rows[1]


def peaked(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    """Almost all mass on one token of each model, seldom the same."""

    def row():
        top = draw.randrange(vocabulary)
        return _normalised([10**6 if t == top else draw.randint(1, 9) for t in range(vocabulary)])

    return row(), row()


KINDS = {
    "generic": generic, "zeros": zeros, "one-hot-draft": one_hot_draft, "one-hot-target": one_hot_target,
    "equal": equal, "disjoint": disjoint, "peaked": peaked,
}  # fmt: skip


def mixed(draw: random.Random, vocabulary: int) -> tuple[ExactRow, ExactRow]:
    """A kind drawn afresh for every context."""
    return KINDS[draw.choice(sorted(KINDS))](draw, vocabulary)


def drawn(vocabulary: int, gamma: int, kind: str, seed: int = 0) -> Problem:
    """A problem with its own pair of rows after every prefix, of the given kind (or "mixed")."""
    rows = mixed if kind == "mixed" else KINDS[kind]
    draw = random.Random(f"{vocabulary}/{gamma}/{kind}/{seed}")
    target, draft = {}, {}
    for length in range(gamma + 1):
        for prefix in product(range(vocabulary), repeat=length):
            target[prefix], draft_row = rows(draw, vocabulary)
            if length < gamma:
                draft[prefix] = draft_row
    name = f"{kind}-V{vocabulary}-gamma{gamma}" + (f"-{seed}" if seed else "")
    return Problem(vocabulary, gamma, Table(target, "target"), Table(draft, "draft"), name)


def drawn_markov(vocabulary: int, gamma: int, kind: str = "generic", seed: int = 0) -> Problem:
    """A pair of order-1 Markov models: an infinite context-dependent law from V + 1 pairs of rows."""
    rows = mixed if kind == "mixed" else KINDS[kind]
    draw = random.Random(f"markov/{vocabulary}/{gamma}/{kind}/{seed}")
    pairs = [rows(draw, vocabulary) for _ in range(vocabulary + 1)]
    target, draft = (Markov(pairs[0][k], tuple(pair[k] for pair in pairs[1:])) for k in (0, 1))
    return Problem(vocabulary, gamma, target, draft, f"markov-{kind}-V{vocabulary}-gamma{gamma}")


def toy(gamma: int) -> Problem:
    """The paper's example: M_b = (1/3, 2/3), M_s = (2/3, 1/3), whatever the context. Source: Eq. (2)."""
    row = Fraction(1, 3), Fraction(2, 3)
    return Problem(2, gamma, ContextFree(row), ContextFree(row[::-1]), f"paper-example-gamma{gamma}")


def exact_battery() -> Iterator[Problem]:
    """V from 2 to 5 and gamma from 1 to 6: what the claims are checked on over exact rationals."""
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


def audit_battery() -> list[Problem]:
    """What third-party code is run on, smallest first: every draft block of each, every way its chance can fall."""
    sizes = [
        (2, 1, "generic"), (2, 1, "zeros"), (3, 1, "generic"), (3, 1, "disjoint"), (2, 2, "generic"),
        (2, 2, "equal"), (4, 1, "zeros"), (5, 1, "peaked"), (3, 2, "generic"), (3, 2, "zeros"),
        (3, 2, "one-hot-draft"), (3, 2, "one-hot-target"), (3, 2, "equal"), (3, 2, "disjoint"), (3, 2, "peaked"),
        (3, 2, "mixed"), (4, 2, "generic"), (2, 4, "generic"), (3, 3, "generic"), (3, 3, "mixed"), (2, 5, "mixed"),
    ]  # fmt: skip
    problems = [drawn(*size) for size in sizes]
    problems.insert(2, toy(2))
    return problems
