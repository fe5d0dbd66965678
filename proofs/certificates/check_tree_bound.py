"""The checker of certificates of draft trees: no valid rule has a larger E[tau] than one bound, and one has another.

It needs nothing but the file.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from .check import ProblemPair, Rejected, fields, given, prefix_of, rational_of, shown, table_of, tokens

TREE_BOUND_FORMAT = "draftproof-tree/2"
FIELDS = {"format", "problem", "bound", "reached", "potential", "rule"}
MOST_TREES = 65_536
"""Largest number of draft trees of a problem: each is looked at."""

MOST_NODES = 64

Texts = frozenset[tuple[int, ...]]
"""The texts of a draft tree, without the context."""

Rule = dict[Texts, dict[tuple[int, ...], Fraction]]
"""Texts of a tree -> text -> the probability with which it is accepted. What is left accepts none."""

Shape = tuple["Shape", ...]
"""The subtrees below a node, one for each child."""


class DraftedBy(NamedTuple):
    """A way of drafting trees."""

    shape: Shape
    how: str


class Enclosed(NamedTuple):
    """A bracket on the largest E[tau] of all valid rules: one has ``reached``, none has more than ``bound``."""

    reached: Fraction
    bound: Fraction


def check(text: str, problem: dict | None = None) -> Enclosed:
    """Return what a certificate proves of the largest E[tau] of all valid rules on its problem.

    problem: if given, the certificate must be one of this problem (in the JSON form of a table, with its drafting).
    Raises: Rejected, with the first thing that is wrong.
    """
    data = fields(text, TREE_BOUND_FORMAT, FIELDS)
    pair, drafting = given(data, problem, pair_and_drafting)
    claimed = rational_of(data["bound"], "bound")
    potential = table_of(data["potential"], "potential")
    if set(potential) != set(product(range(pair.vocabulary), repeat=pair.gamma + 1)):
        raise Rejected("its potential is not given for exactly the texts of gamma + 1 tokens")
    trees = texts_of_trees(pair, drafting)
    bound = bound_of(pair, trees, potential)
    if bound != claimed:
        raise Rejected(f"its bound is {shown(bound)}, not the {shown(claimed)} claimed")
    accepted, reached = accepted_by(pair, trees, _rule(data["rule"])), rational_of(data["reached"], "reached")
    if accepted != reached:
        raise Rejected(f"its rule accepts {tokens(accepted)}, not the {shown(reached)} claimed")
    return Enclosed(reached, bound)


def _rule(data: object) -> Rule:
    if not isinstance(data, dict):
        raise Rejected("rule is not a table")
    rule = {
        frozenset(prefix_of(text, "rule") for text in key.split(" ")): table_of(accepted, f"rule[{key}]")
        for key, accepted in data.items()
    }
    if len(rule) != len(data):
        raise Rejected("rule has the texts of a tree twice")
    return rule


def pair_and_drafting(problem: dict) -> tuple[ProblemPair, DraftedBy]:
    """Return the models of a problem and how its trees are drawn, of which there are few enough to look at each."""
    pair, drafting = pair_and_any_drafting(problem)
    if drafting.how != "top" and pair.vocabulary ** _nodes(drafting.shape) > MOST_TREES:
        raise Rejected(f"its draft trees are too many to look at, expected at most {MOST_TREES:,}")
    return pair, drafting


def _nodes(shape: Shape) -> int:
    return sum(1 + _nodes(subtree) for subtree in shape)


def pair_and_any_drafting(problem: dict) -> tuple[ProblemPair, DraftedBy]:
    """Return the models of a problem and how its trees are drawn."""
    pair = ProblemPair(problem, also=frozenset({"drafting"}))
    try:
        parents, how = _parents(problem["drafting"]), problem["drafting"]["how"]
        if len(problem["drafting"]) != 2:
            found = f"its problem's drafting has {sorted(problem['drafting'])}"
            raise Rejected(f"{found}, expected how and either children or parents")
    except (KeyError, TypeError):
        raise Rejected("its problem does not say how trees are drawn") from None
    depths = [0]
    for n, parent in enumerate(parents):
        if type(parent) is not int or not -1 <= parent < n:
            raise Rejected("its problem does not say how trees are drawn")
        depths.append(depths[parent + 1] + 1)
    if max(depths) != pair.gamma or how not in ("iid", "without-replacement", "top", "hub"):
        raise Rejected("its problem does not say how trees are drawn")

    def below(node: int) -> Shape:
        return tuple(below(n) for n, parent in enumerate(parents) if parent == node)

    return pair, DraftedBy(below(-1), how)


def _parents(drafting: dict) -> list[int]:
    """Return the parents of the nodes, as given or, level by level, from the number of children at each depth."""
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


def accepted_by(pair: ProblemPair, trees: dict[Texts, Fraction], rule: Rule) -> Fraction:
    """Return E[tau] of a rule that can be completed to a valid one.

    D(x) is the probability that the accepted text begins with x. After x was accepted, let the last token be y with a
    probability in proportion to M_b(y | x) D(x) - D(xy), which must not be negative; the sum over y is the probability
    that exactly x is accepted. So of what begins with x and goes on, the next token is y with probability M_b(y | x):
    Eq. (7).
    Raises: Rejected, with the first thing that is wrong with the rule.
    """
    if rule.keys() != trees.keys():
        raise Rejected("its rule is not given for exactly the trees that can be drawn")
    for texts, accepted in rule.items():
        if not accepted.keys() <= texts or any(p < 0 for p in accepted.values()) or sum(accepted.values()) > 1:
            raise Rejected("its rule accepts what was not drafted, or not with probabilities")
    levels = [begins_with(trees, rule, length) for length in range(1, pair.gamma + 1)]
    begins = {text: mass for level in levels for text, mass in level.items()}
    for text, mass in begins.items():
        if mass > pair.target[text[:-1]][text[-1]] * begins.get(text[:-1], Fraction(1)):
            raise Rejected(f"its rule accepts {','.join(map(str, text))} more often than the target allows")
    return sum(begins.values(), Fraction(0))


def begins_with(trees: dict[Texts, Fraction], rule: Rule, length: int) -> dict[tuple[int, ...], Fraction]:
    """Return the probability that the accepted text begins with each text of that length, where it is not 0."""
    law: dict[tuple[int, ...], Fraction] = {}
    for texts, accepted in rule.items():
        for text, p in accepted.items():
            if p and len(text) >= length:
                law[text[:length]] = law.get(text[:length], Fraction(0)) + trees[texts] * p
    return law


def bound_of(pair: ProblemPair, trees: dict[Texts, Fraction], potential: dict[tuple[int, ...], Fraction]) -> Fraction:
    """Return sum_T Pr(T) max over o of (|o| - 1 - Y(o)) + Y(()): a bound for every potential.

    A valid rule's output o, completed by the target, is the target's text; so E[Y(o)] is the mean of y under the
    target, Y(()), and E[tau] = E[tau - Y(o)] + Y(()). Given the tree's texts T, o is one of them, or none, and one
    token more.
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
        (mass * max(best_after[text] for text in texts | {()}) for texts, mass in trees.items()),
        Fraction(0),
    )
    return slack + expected[()]


def texts_of_trees(pair: ProblemPair, drafting: DraftedBy) -> dict[Texts, Fraction]:
    """Return the law of the set of texts that a draft tree has, without the context."""

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
                elif drafting.how == "hub" and taken and best[0] not in taken:
                    left = [Fraction(t == best[0]) for t in range(pair.vocabulary)]
                else:
                    left = [Fraction(0) if t in taken else q for t, q in enumerate(row)]
                if not any(left):
                    following[taken, texts] = following.get((taken, texts), Fraction(0)) + mass
                for token in (t for t, q in enumerate(left) if q):
                    child = (*text, token)
                    after = tuple(sorted((*taken, token))) if drafting.how in ("without-replacement", "hub") else ()
                    for more, p in below(child, subtree).items():
                        key = after, texts | {child} | more
                        following[key] = following.get(key, Fraction(0)) + mass * left[token] / sum(left) * p
            states = following
        law: dict[Texts, Fraction] = {}
        for (_, texts), mass in states.items():
            law[texts] = law.get(texts, Fraction(0)) + mass
        return law

    return below((), drafting.shape)
