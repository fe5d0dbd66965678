"""How far floating point can move the law of a reference rule for trees, as proved in Coq, in closed form.

Counted here, and not in Coq: how often a transport plan is changed, the law of drafts, and that SpecHub makes a plan.

The operations are those of ``verifiers/trees``, followed one by one under the standard model. u: half of epsilon.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ...models.problem import Problem
from ...models.rationals import as_float
from ...verifiers.arithmetic import ratio
from ...verifiers.trees.draft_tree import CONTEXT, WITHOUT_REPLACEMENT, Drafting
from ..laws.tree_laws import Chosen
from .token_and_block import SURE, ExactRows, both, growth, problem_bound, running_sum_bound, sum_error


class TreeSize(NamedTuple):
    """A size on which a bound depends.

    vocabulary: V. levels: nodes at each depth, [gamma]. unit: u. lattice: spacing of the uniforms that decide coins.
    off: o, the relative error of the rows' entries. last_draw: of a look-up among V weights.
    problem: with the rows in use.
    """

    vocabulary: int
    levels: tuple[int, ...]
    unit: float
    lattice: float
    off: float
    last_draw: float
    problem: Problem

    @property
    def of_rows(self) -> float:
        """Return nu, the error of given rows and of rows divided by their sum."""
        return max(self.off, sum_error(self.unit, self.vocabulary - 1))


def tree_size(problem: Problem, unit: float, lattice: float, off: float, last_draw: float = 0.0) -> TreeSize:
    """Return the size of a problem's tree."""
    return TreeSize(problem.vocabulary, levels_of(problem.tree), unit, lattice, off, last_draw, problem)


def own_bound(rule: str, problem: Problem, epsilon: float, lattice: float, off: float = 0.0) -> float:
    """Return the total variation by which rounding can move the law of one of ``THEOREMS`` on this problem.

    Siblings of nodes with one text are looked at together; sums in order; the last token, and a choice among drafts,
    are looked up in a running sum by uniforms of this spacing. Infinite where a sum has no bound.
    """
    unit, tree = epsilon / 2, problem.tree
    if tree.how == WITHOUT_REPLACEMENT:
        for _ in range(max(tree.children) - 1):
            off = both(off, sum_error(unit, problem.vocabulary - 1))
    last_draw = running_sum_bound(problem.vocabulary, unit, lattice)
    size = tree_size(problem, unit, lattice, off, last_draw)
    try:
        bound = THEOREMS[rule](size)
    except OverflowError:
        return math.inf
    return bound * (1 + SURE) if 0 <= bound < math.inf else math.inf


def levels_of(drafting: Drafting) -> tuple[int, ...]:
    """Return how many nodes stand at each depth."""
    level, found = [CONTEXT], []
    if drafting.parents is None:
        return tuple(math.prod(drafting.children[: i + 1]) for i in range(len(drafting.children)))
    while level := [n for n, parent in enumerate(drafting.parents) if parent in level]:
        found.append(len(level))
    return tuple(found)


def inverse(error: float) -> float:
    """Return the error of 1 / x. Source: ProblemRounding.v, ``rel_inv``, whose hypothesis is an error below 1."""
    return error / (1 - error) if error < 1 else math.inf


def _sibling(size: TreeSize, nu: float) -> tuple[float, float, float]:
    """Return the errors of a sibling's coin, of the weights it leaves, and of the row. Source: TreeRounding.v."""
    u = size.unit
    coin = both(both(both(nu, inverse(nu)), u), u)
    weights = (1 + u) * (both(nu, u) + nu) + u
    return coin, weights, 2 * (weights + u * (1 + weights))


def multi_round_bound(size: TreeSize) -> float:
    """Return sum over depths of (n_i sibling + factor + o) + o + lambda. Source: ``multi_round_rounding``.

    factor: what all entries of a row are off together counts where a sibling is accepted, which is once a depth.
    """
    return _multi_round(size, size.off)


def chosen_bound(size: TreeSize) -> float:
    """Return ``multi_round_bound`` for tokens that are sure, o = nu: what is left of one may be more than 1. Source:
    ``chosen_rounding``.
    """
    return _multi_round(size, size.of_rows)


def _multi_round(size: TreeSize, off: float) -> float:
    u, factor = size.unit, both(off, inverse(size.of_rows))
    sibling = (1 + factor) * (size.lattice + u) + 2 * both(u, u)
    return sum(n * sibling + factor + off for n in size.levels) + off + size.last_draw


def traversal_bound(size: TreeSize) -> float:
    """Return n branch + (n + 1) eta + lambda + nu, n nodes. Source: ``traversal_rounding``."""
    u, nu, nodes = size.unit, size.of_rows, sum(size.levels)
    coin, weights, left = _sibling(size, nu)
    of_sum = weights + growth(u, size.vocabulary - 1) * (1 + weights)
    shifted = of_sum + u * (2 + of_sum)
    node = shifted + u * (1 + shifted) + u
    branch = 2 * coin + nu + 2 * node + left
    return nodes * branch + (nodes + 1) * size.lattice + size.last_draw + nu


def k_seq_bound(size: TreeSize) -> float:
    """Return sum over depths of (k (eta + coin) + 2 rest(k)) + nu + lambda, k siblings. Source: ``k_seq_rounding``."""
    u, nu = size.unit, size.off
    share = both(nu, u)
    coin = both(both(nu, inverse(share)), u)
    of_sum = both(share, growth(u, size.vocabulary - 1))
    part = both(share, inverse(of_sum))
    one_less = of_sum + u * (1 + of_sum)
    total = nu + size.last_draw
    for k in size.levels:
        power = both(growth(one_less, k), growth(u, k))
        accepted = power + u * (1 + power)
        given_up = (both(u, u) * (1 + accepted) + accepted) * (1 + part) + part
        rest = u + (1 + u) * (nu + given_up) + both(u, of_sum) + accepted
        total += k * (size.lattice + coin) + 2 * rest
    return total


def law_of_drafts_off(size: TreeSize, k: int) -> float:
    """Return the error of the probability of a set of k independent drafts: products of k numbers, and their sum."""
    orders = math.comb(k - 1, min((k - 1) // 2, size.vocabulary - 1))  # that give one set of n tokens, n <= V
    return both(both(growth(both(size.off, size.unit), k), size.unit), growth(size.unit, 1 + orders))


def transport_bound(size: TreeSize) -> float:
    """Return sum over depths of 2 (nu + m u .. + e + m u .. + kappa) + nu + lambda. Source:
    ``transport_plan_rounding``.

    m: augmentations; each empties a supply, a room, or what is moved along an edge, an edge at most V times, because
    augmenting paths are the shortest. e: of the law of independent drafts: products of k numbers, and their sum.
    kappa: of a look-up among the drafts and none of them, twice because it counts the sum of absolute differences.
    """
    u, nu, total = size.unit, size.off, size.off + size.last_draw
    for k in size.levels:
        kappa = 2 * running_sum_bound(min(k, size.vocabulary) + 1, u, size.lattice)
        total += 2 * (_plan(size, k, nu) + kappa)
    return total


def _plan(size: TreeSize, k: int, nu: float, emptied: int = 1) -> float:
    """Return what a plan for k siblings and rows off by nu leaves of both: the m and the e of ``transport_bound``.

    emptied: numbers of each set of drafts that an augmentation may empty, its supply or what it may give.
    """
    sets = [(n, math.comb(size.vocabulary, n)) for n in range(1, min(k, size.vocabulary) + 1)]
    made = growth(size.unit, size.vocabulary + sum(many * (emptied + n * size.vocabulary) for n, many in sets))
    of_law = law_of_drafts_off(size, k)
    return both(nu, made) + both(of_law, made) if of_law < 1 else math.inf


def scaled_transport_bound(size: TreeSize) -> float:
    """Return sum over depths of 2 t + u + eta + 2 D + lambda, + nu + lambda + eta. Source:
    ``scaled_transport_rounding``.

    D: of what the plan leaves of a weighted row, as in ``transport_bound``; the choice among the drafts times their
    weight, a quotient of two sums, within kappa of what is moved. t: of m, a - m and 1 - m, each a difference. The
    theorem takes any plan that is made by augmentations, optimal or not, if it depends on the text, its weight and the
    siblings alone: so it holds of the plan that the rule chooses, whose last flow is made anew.
    """
    u, total = size.unit, size.off + size.last_draw + size.lattice
    for k in size.levels:
        n = min(k, size.vocabulary)
        weight = both(both(growth(u, n - 1), inverse(growth(u, n))), u)
        left = _plan(size, k, both(size.off, u), emptied=2) + weight + 2 * running_sum_bound(n, u, size.lattice)
        error = left + growth(u, size.vocabulary - 1) * (1 + left)
        for _ in range(2):
            error += u * (1 + error)
        total += 2 * error + u + size.lattice + 2 * left + size.last_draw
    return total


def multi_path_bound(size: TreeSize) -> float:
    """Return block verification's bound (``problem_bound``) on the rows of the law of the choice.

    Source: ``greedy_multi_path_rounding``.

    These are sums of positive numbers, off by most at the last depth. Infinite where the quotients of two tokens lie so
    near each other that rounding may exchange them: the law is that of the order that was used.
    """
    u, problem, sums, spread = size.unit, size.problem, 0.0, 0.0
    chosen = Chosen(problem.target, problem.draft, size.levels[0])
    for _ in size.levels:
        sums, spread = both(both(both(sums, size.off), u), growth(u, size.vocabulary)), 0.0
        for _ in range(size.levels[0] - 1):
            spread = both(both(both(spread, sums), u), u)
    row = both(both(both(both(size.off, spread), u), inverse(spread)), u)
    rows = replace(problem, draft=chosen, drafting=None)
    e = both(both(size.off, inverse(size.off)), u)
    if problem.tree.paths is None or not row < 1 or not _ordered(ExactRows(rows), problem, (1 + e) * (1 + 3 * e)):
        return math.inf
    return problem_bound(rows, 2 * u, size.lattice, row, size.last_draw)


def _ordered(rows: ExactRows, problem: Problem, apart: float, prefix: tuple[int, ...] = ()) -> bool:
    """Return whether ratios of the two rows are that factor apart, after every prefix that may be chosen.

    Equal ones may be exchanged by rounding as near ones are, but for those of equal entries or rows, and of zeros.
    """
    if len(prefix) == problem.gamma:
        return True
    target, draft = (tuple(model.row(prefix)) for model in (problem.target, problem.draft))
    values = sorted((ratio(p, q), p, q) for p, q in zip(target, draft, strict=True) if p != 0 or q != 0)
    return all(
        target == draft or as_float(a) * apart < as_float(b) or (p, q) == (r, s) or p == r == 0 or q == s == 0
        for (a, p, q), (b, r, s) in pairwise(values)
    ) and all(_ordered(rows, problem, apart, (*prefix, x)) for x, _, _ in rows.drafted(prefix))


def spec_hub_bound(size: TreeSize) -> float:
    """Return ``transport_bound`` for SpecHub, by the number of its plan's augmentations. Source:
    ``transport_plan_rounding``.

    The other tokens of the pairs that end with the hub, those of the pairs that begin with it, the hub for either; and
    V in which nothing moves, for what is left of the pairs is a sum of V numbers: each of them counts as it does in
    that sum. e: of the mass of a pair that begins with the hub. kappa: of two coins, and of a pair's mass after all.
    """
    u, nu, total = size.unit, size.off, size.off + size.last_draw
    of_sum = both(nu, growth(u, size.vocabulary - 1))
    of_law = both(both(both(both(nu, nu), u), inverse(of_sum)), u)
    made = growth(u, size.vocabulary + 4)
    kappa = 3 * (u + size.lattice) + 2 * inverse(growth(u, size.vocabulary + 1))
    return total + len(size.levels) * 2 * (both(nu, made) + both(of_law, made) + kappa) if of_law < 1 else math.inf


def resolution_bound(size: TreeSize) -> float:
    """Return sum over depths of 2 (left + kappa) + nu + lambda. Source: ``resolution_rounding``.

    Of how often a token would be accepted: the law of the drafts, a product, and a sum over the sets that hold it; the
    shares are numbers like any other, whatever they should have been. kappa: of the product of a share and its scale,
    of the weights' sum, which is 1 but for what its parts are off, and of a look-up among the drafts and none of them.
    """
    u, nu, total = size.unit, size.off, size.off + size.last_draw
    for k in size.levels:
        drafts = min(k, size.vocabulary)
        sets = sum(math.comb(size.vocabulary - 1, n - 1) for n in range(1, drafts + 1))
        accepted = both(both(law_of_drafts_off(size, k), u), growth(u, sets))
        if accepted >= 1:
            return math.inf
        left = nu + (u + both(u, u)) * (1 + nu) + (u + inverse(accepted)) * (1 + both(u, nu))
        total += 2 * (left + choice_by_shares(size, drafts, k))
    return total


def choice_by_shares(size: TreeSize, drafts: int, k: int) -> float:
    """Return kappa of ``resolution_bound``."""
    u = size.unit
    shares = sum_error(u, size.vocabulary - 1)
    weights, of_row = (1 + u) * (1 + shares), both(size.off, growth(u, size.vocabulary))
    of_sum = weights - 1 + growth(u, k) * weights + of_row + u * (1 + of_row)
    return of_sum + u * (1 + shares) + 2 * running_sum_bound(drafts + 1, u, size.lattice)


def naive_bound(size: TreeSize) -> float:
    """Return (gamma + 1) (nu + lambda): each token is looked up. Source: StepRounding.v, ``naive_rounding``."""
    return (len(size.levels) + 1) * (size.off + size.last_draw)


def hierarchical_bound(size: TreeSize) -> float:
    """Return sum over depths of (coin + eta + W) + nu + lambda. Source: PathRounding.v, ``hierarchical_rounding``."""
    return hierarchical_cost(size, capped=True) + size.off + size.last_draw


def hierarchical_cost(size: TreeSize, capped: bool) -> float:
    """Return ``hierarchical_bound`` without the last token; if not capped, the whole draft's coin is the joint ratio.

    W: of the weights. A joint ratio, and the largest so far, are off by e, survivals by k.
    Source: PathRounding.v, ``published_rounding``, if not capped.
    """
    u, o, gamma = size.unit, size.off, len(size.levels)
    once, uu = both(both(o, inverse(o)), u), both(u, u)
    total, e = 0.0, 0.0
    for i in range(gamma + 1):
        k = both(both(e, inverse(e)), u)
        weights = (1 + u) * (both(both(k, o), u) + o) + u
        sums = weights + growth(u, size.vocabulary - 1) * (1 + weights)
        coin = 3 * sums + uu * (1 + 2 * sums) + u if i < gamma else k if capped else e
        total += (i > 0) * (coin + size.lattice) + (i < gamma) * weights
        e = both(both(both(both(e, once), u), u), u)
    return total


def list_matching_bound(size: TreeSize) -> float:
    """Return sum over depths of lambda + 2 both(E, u) + k o + both(o, u), + o + lambda. Source:
    ``list_matching_rounding``.

    E: of the law of the pick, a sum of positive numbers: a piece's weight, rate and clock are off by ``entry`` at most
    and K with them, for that row of the target whose p / q are exactly those computed. Each pick is drawn: lambda.
    """
    u, o, vocabulary = size.unit, size.off, size.vocabulary
    of_target, slope = both(o, u), growth(u, vocabulary - 1)
    total = o + size.last_draw
    if not of_target < 1 or not slope < 1:
        return math.inf
    entry = max(both(inverse(slope), u), both(both(both(u, u), u), slope), both(slope, both(u, u)))
    for k in size.levels:
        known = max(entry, inverse(of_target))
        for _ in range(k):
            known = both(known, u)
        law = both(inverse(known), u)
        for n in range(1, k + 1):
            of_sum = both(known, growth(u, n))
            law = both(both(both(both(both(known, law), u), growth(u, n)), inverse(of_sum)), u)
        for _ in range(k):
            law = both(both(both(entry, law), u), growth(u, vocabulary))
        law = both(both(inverse(u), both(law, growth(u, k))), u)
        total += size.last_draw + 2 * both(law, u) + k * o + of_target
    return total


def tree_monte_carlo_bound(size: TreeSize) -> float:
    """Return E + k + kappa + nu + lambda, E what all weights together are off. Source: ``tree_monte_carlo_rounding``.

    A token more: E becomes (1 + G) (E + W) + G + 2 W, W of the weights, which count a second time in what is left of
    the draft. kappa: of a look-up among V gamma + 1 weights, twice because it counts the sum of absolute differences.
    """
    u, o, gamma = size.unit, size.off, len(size.levels)
    once = both(both(o, inverse(o)), u)
    scaled = both(u, both(both(both(inverse(growth(u, size.vocabulary - 1)), u), inverse(o)), u))
    e = k = 0.0
    for _ in range(gamma):
        weights = (1 + u) * (both(both(k, o), u) + o) + u
        e = (1 + scaled) * (e + weights) + scaled + 2 * weights
        k = both(both(k, once), u)
    kappa = 2 * running_sum_bound(size.vocabulary * gamma + 1, u, size.lattice)
    return e + k + kappa + o + size.last_draw


THEOREMS: dict[str, Callable[[TreeSize], float]] = {
    "spec-infer": multi_round_bound,
    "without-replacement": multi_round_bound,
    "traversal": traversal_bound,
    "k-seq": k_seq_bound,
    "optimal-transport": transport_bound,
    "global-resolution": resolution_bound,
    "spec-hub": spec_hub_bound,
    "scaled-transport": scaled_transport_bound,
    "greedy-multi-path": multi_path_bound,
    "list-gumbel": list_matching_bound,
    "shared-gumbel": list_matching_bound,
    "naive": naive_bound,
    "top-tokens": chosen_bound,
    "hierarchical": hierarchical_bound,
    "tree-monte-carlo": tree_monte_carlo_bound,
}
"""Bounds of rounding for our own rules, by name."""
