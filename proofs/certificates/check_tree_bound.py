"""The checker of certificates of draft trees: an upper bound on E[tau] of every valid rule. It needs nothing but the file."""

from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from .check import ProblemPair, Rejected, fields, rational_of, shown, table_of

TREE_BOUND_FORMAT = "draftproof-tree/1"
FIELDS = {"format", "problem", "bound", "potential"}
MOST_TREES = 65_536
"""Every draft tree is looked at."""

MOST_NODES = 64

Texts = frozenset[tuple[int, ...]]


Shape = tuple["Shape", ...]
"""The subtrees below a node, one for each child."""


class DraftedBy(NamedTuple):
    """shape: of the tree, as the subtrees below the context; how: iid, without-replacement or top."""

    shape: Shape
    how: str


def check(text: str, problem: dict | None = None) -> Fraction:
    """The bound that a certificate proves: no valid rule has a larger E[tau] on its problem.

    problem: if given, the certificate must be one of this problem (in the JSON form of a table, with its drafting).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, TREE_BOUND_FORMAT, FIELDS)
    pair, drafting = pair_and_drafting(data["problem"])
    if problem is not None and pair_and_drafting(problem) != (pair, drafting):
        raise Rejected("it belongs to another problem")
    claimed = rational_of(data["bound"], "bound")
    potential = table_of(data["potential"], "potential")
    if set(potential) != set(product(range(pair.vocabulary), repeat=pair.gamma + 1)):
        raise Rejected("its potential is not given for exactly the texts of gamma + 1 tokens")
    bound = bound_of(pair, drafting, potential)
    if bound != claimed:
        raise Rejected(f"its bound is {shown(bound)}, not the {shown(claimed)} claimed")
    return claimed


def pair_and_drafting(problem: dict) -> tuple[ProblemPair, DraftedBy]:
    """The models of a problem and how its trees are drawn."""
    pair = ProblemPair(problem)
    try:
        parents, how = _parents(problem["drafting"]), problem["drafting"]["how"]
    except (KeyError, TypeError):
        raise Rejected("its problem does not say how trees are drawn") from None
    depths = [0]
    for n, parent in enumerate(parents):
        if type(parent) is not int or not -1 <= parent < n:
            raise Rejected("its problem does not say how trees are drawn")
        depths.append(depths[parent + 1] + 1)
    if max(depths) != pair.gamma or how not in ("iid", "without-replacement", "top"):
        raise Rejected("its problem does not say how trees are drawn")
    if pair.vocabulary ** len(parents) > MOST_TREES:
        raise Rejected(f"its draft trees are too many to look at, expected at most {MOST_TREES:,}")

    def below(node: int) -> Shape:
        return tuple(below(n) for n, parent in enumerate(parents) if parent == node)

    return pair, DraftedBy(below(-1), how)


def _parents(drafting: dict) -> list[int]:
    """The parents of the nodes, as given or, level by level, from the number of children at each depth."""
    if "parents" in drafting:
        if len(drafting["parents"]) > MOST_NODES:
            raise Rejected("its draft trees are of too many nodes")
        return list(drafting["parents"])
    parents, level = [], [-1]
    for count in drafting["children"]:
        if type(count) is not int or not 1 <= count <= MOST_NODES or len(level) * count > MOST_NODES:
            raise Rejected("its problem does not say how trees are drawn, or of too many nodes")
        parents += [node for node in level for _ in range(count)]
        level = list(range(len(parents) - len(level) * count, len(parents)))
    return parents


def bound_of(pair: ProblemPair, drafting: DraftedBy, potential: dict[tuple[int, ...], Fraction]) -> Fraction:
    """sum_T Pr(T) max over o of (|o| - 1 - Y(o)) + Y(()): a bound for every potential.

    A valid rule's output o, completed by the target, is the target's text; so E[Y(o)] is the mean of y under the target, Y(()),
    and E[tau] = E[tau - Y(o)] + Y(()). Given the tree's texts T, o is one of them, or none, and one token more.
    """
    expected = dict(potential)
    for length in range(pair.gamma, -1, -1):
        for text in product(range(pair.vocabulary), repeat=length):
            row = pair.target[text]
            expected[text] = sum((p * expected[(*text, t)] for t, p in enumerate(row)), Fraction(0))
    best_after = {
        text: max(len(text) - expected[(*text, t)] for t in range(pair.vocabulary))
        for length in range(pair.gamma + 1)
        for text in product(range(pair.vocabulary), repeat=length)
    }
    slack = sum(
        (mass * max(best_after[text] for text in texts | {()}) for texts, mass in _trees(pair, drafting).items()),
        Fraction(0),
    )
    return slack + expected[()]


def _trees(pair: ProblemPair, drafting: DraftedBy) -> dict[Texts, Fraction]:
    """The law of the set of texts that a draft tree has, without the context."""

    @cache
    def below(text: tuple[int, ...], shape: Shape) -> dict[Texts, Fraction]:
        if not shape:
            return {frozenset(): Fraction(1)}
        row = pair.draft[text]
        best = sorted(range(pair.vocabulary), key=lambda t: (-row[t], t))
        states: dict[tuple[tuple[int, ...], Texts], Fraction] = {((), frozenset()): Fraction(1)}
        for k, subtree in enumerate(shape):
            following: dict[tuple[tuple[int, ...], Texts], Fraction] = {}
            for (taken, texts), mass in states.items():
                if drafting.how == "top":
                    left = [Fraction(k < len(best) and t == best[k]) for t in range(pair.vocabulary)]
                else:
                    left = [Fraction(0) if t in taken else q for t, q in enumerate(row)]
                if not any(left):
                    following[taken, texts] = following.get((taken, texts), Fraction(0)) + mass
                for token in (t for t, q in enumerate(left) if q):
                    child = (*text, token)
                    after = tuple(sorted((*taken, token))) if drafting.how == "without-replacement" else ()
                    for more, p in below(child, subtree).items():
                        key = after, texts | {child} | more
                        following[key] = following.get(key, Fraction(0)) + mass * left[token] / sum(left) * p
            states = following
        law: dict[Texts, Fraction] = {}
        for (_, texts), mass in states.items():
            law[texts] = law.get(texts, Fraction(0)) + mass
        return law

    return below((), drafting.shape)
