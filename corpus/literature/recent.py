"""How claims of papers and code of 2025 and 2026 are judged, as in ``literature``."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import factorial, prod
from typing import Any

from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED, ClaimJudgement, Measure, figure, held
from draftproof.corpus.literature.strangers import dd_tree
from draftproof.models.battery import drawn
from draftproof.models.law import Prefix
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs.certificates.make_tree_bound import CERTIFIED_TO, largest_acceptance
from draftproof.proofs.enumeration import ONE, law_of
from draftproof.proofs.field import QQ, in_field
from draftproof.proofs.laws.reference_laws import completed, joint_law, total_variation
from draftproof.verifiers.trees import global_resolution, list_gumbel
from draftproof.verifiers.trees.optimal_transport import best_plan, law_of_drafts

Row = tuple[Any, ...]


def rows(pair: Problem) -> tuple[Row, Row]:
    """Return the first rows of target and draft over QQ."""
    exact = in_field(pair)
    return tuple(exact.target.row(())), tuple(exact.draft.row(()))


def over_one_step(right: Callable[[Row, Row], bool], says: str, pairs: Sequence[Problem] = ONE_STEP) -> ClaimJudgement:
    """Return whether something is right of the rows of every pair; says: what is seen where it is not."""
    for pair in pairs:
        if not right(*rows(pair)):
            return ClaimJudgement(REFUTED, says, pair)
    return held(len(pairs), f"{len(pairs)} pairs of models")


def reaches_the_bound(measure: Measure, problems: Sequence[Problem]) -> ClaimJudgement:
    """Return whether a rule accepts as much as any valid rule, by the certificate of the bound on trees."""
    for problem in problems:
        mine, (reached, bound) = measure(problem), largest_acceptance(problem)
        if as_float(mine - bound) > CERTIFIED_TO:
            return ClaimJudgement(REFUTED, f"E[tau] {figure(mine)}, above the bound {as_float(bound):.4f}", problem)
        if as_float(reached - mine) > CERTIFIED_TO:
            on = f"E[tau] {figure(mine)}, and a valid rule of the certificate reaches {as_float(reached):.4f}"
            return ClaimJudgement(REFUTED, on, problem)
    return held(len(problems), f"the bounds of {len(problems)} problems, certified")


# Global Resolution


ROUNDED = 1e-9
"""What the rounding of the solver's weights stays below."""


def truncated_is_lossless(sweeps: int) -> ClaimJudgement:
    """The shares as the solver left them after so many sweeps, two drafts."""
    for pair in ONE_STEP:
        if as_float(tv := left_by_the_solver(pair, 2, sweeps)) > ROUNDED:
            return ClaimJudgement(REFUTED, f"TV {as_float(tv):.4f}", drawing(pair, 2))
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs of models, to {ROUNDED}")


def left_by_the_solver(pair: Problem, count: int, sweeps: int) -> Any:
    """TV of the law whose shares are not capped: what is accepted of each token beyond what the target has."""
    p, q = rows(pair)
    return sum(max(a - b, 0) for a, b in zip(global_resolution.solved(p, q, count, sweeps)[1], p, strict=True))


def deviation_falls() -> ClaimJudgement:
    """The largest deviation over the pairs at most halves with every threefold number of sweeps."""
    sweeps = (3, 10, 30, 100)
    largest = [max((as_float(left_by_the_solver(pair, 2, n)), k) for k, pair in enumerate(ONE_STEP)) for n in sweeps]
    on = ", ".join(f"TV {tv:.2g} after {n}" for (tv, _), n in zip(largest, sweeps))
    falls = all(2 * after[0] <= before[0] for before, after in pairwise(largest))
    worst = ONE_STEP[largest[-1][1]]
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} pairs: {on} sweeps") if falls else ClaimJudgement(REFUTED, on, worst)


def overfull_set_is_the_cut(count: int) -> ClaimJudgement:
    """1 + p(H) - q(H)^n of the best of V + 1 sets is the optimum of the linear program."""

    def right(p: Row, q: Row) -> bool:
        full = global_resolution.overfull(p, q, count)
        cut = 1 + sum(p[t] for t in full) - prod([sum(q[t] for t in full)] * count, start=ONE)
        return cut == best_plan(p, q, count, "iid").accepted

    return over_one_step(right, "another optimum")


def choosing_first_is_no_loss(count: int) -> ClaimJudgement:
    """Some way of choosing one of the drafts, whose law token verification then takes for the draft's, is optimal."""

    def right(p: Row, q: Row) -> bool:
        plan, supply = best_plan(p, q, count, "iid"), law_of_drafts(q, count, "iid")
        chosen = [QQ(0)] * len(p)
        for drafts, moved in plan.moved.items():
            for x, mass in moved.items():
                chosen[x] += mass
            chosen[drafts[0]] += supply[drafts] - sum(moved.values())
        return sum(map(min, p, chosen)) == plan.accepted

    return over_one_step(right, "the choice loses acceptances")


# List matching by shared noise


def matching_bound(target: Row, draft: Row, count: int) -> Any:
    """sum_j K / (sum_i max(q_i / q_j, p_i / p_j) + (K - 1) / p_j): what the drafts match at least.

    The term of j: one draft picks j by the least of all its noises. Derived here from the scheme.
    """
    both = [j for j, (p, q) in enumerate(zip(target, draft, strict=True)) if p != 0 and q != 0]
    return sum(
        count
        / (sum(max(q / draft[j], p / target[j]) for p, q in zip(target, draft, strict=True)) + (count - 1) / target[j])
        for j in both
    )


def matches_enough(count: int) -> ClaimJudgement:
    """Pr(a draft is accepted) against the bound of the list matching lemma."""

    def right(p: Row, q: Row) -> bool:
        matched = sum(
            prod((q[x] for x in tokens), start=ONE)
            * sum(list_gumbel.given_drafts(p, q, tokens)[y] for y in set(tokens))
            for tokens in product([t for t, w in enumerate(q) if w], repeat=count)
        )
        return matched >= matching_bound(p, q, count)

    return over_one_step(right, "matches less often")


def text_under_noise(target: Row, draft: Row, noise: Sequence[Sequence[Row]], all_noise: bool) -> tuple[int, ...]:
    """Return the text of one iteration of list matching on independent paths. noise: [token's place][path][token].

    all_noise: the target goes on with the noise of every path, not only of those that have matched so far.
    """
    text, alive = [], range(len(noise[0]))
    for place in noise:
        picks = {k: least(place[k], draft) for k in alive}
        heard = range(len(place)) if all_noise else alive
        text.append(least([min(place[k][v] for k in heard) for v in range(len(target))], target))
        alive = [k for k in alive if picks[k] == text[-1]]
        if not alive:
            break
    return tuple(text)


def least(noise: Sequence[int], row: Row) -> int:
    """Return the token of the least noise / probability; ties to the smaller id."""
    return min((v for v, w in enumerate(row) if w), key=lambda v: (noise[v] / row[v], v))


def same_text_whichever_drafter(places: int, all_noise: bool) -> ClaimJudgement:
    """Two paths of that many tokens: for each noise of a small grid, three drafters, and what they have emitted.

    Each token of each path has a factor of its own, so that no two noises, over their probabilities, are equal.
    """
    target, drafters = (Fraction(1, 2),) * 2, [(Fraction(n, 4), Fraction(4 - n, 4)) for n in (1, 2, 3)]
    grid = list(product((1, 2, 5), repeat=2))
    paths = [[(a * f, b * g) for a, b in grid] for f, g in ((10, 11), (12, 13))]
    for flat in product(*paths * places):
        noise = [flat[2 * i : 2 * i + 2] for i in range(places)]
        texts = [text_under_noise(target, draft, noise, all_noise) for draft in drafters]
        shortest = min(map(len, texts))
        if len({text[:shortest] for text in texts}) > 1:
            numbers = "; ".join(" and ".join(f"({a} {b})" for a, b in place) for place in noise)
            on = " against ".join(
                f"{','.join(map(str, t))} with draft ({d[0]} {d[1]})" for t, d in zip(texts, drafters)
            )
            return ClaimJudgement(REFUTED, f"target (1/2 1/2), noise of two paths {numbers}: {on}")
    return ClaimJudgement(HOLDS, f"{len(grid) ** (2 * places)} noises, {len(drafters)} drafters")


# Block couplings of several drafts


def coupling_value(pair: Problem, paths: int) -> float:
    """The largest E of the longest prefix that a block of the target shares with one of the drafts, over all couplings.

    Over the multisets of drafted blocks and the blocks of the target, by HiGHS.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    exact = in_field(pair)
    drafts, targets = (list(joint_law(m, pair.gamma).items()) for m in (exact.draft, exact.target))
    drawn_sets = []
    for chosen in combinations_with_replacement(drafts, paths):
        orders = factorial(paths) // prod(factorial(chosen.count(c)) for c in dict.fromkeys(chosen))
        drawn_sets.append(([x for x, _ in chosen], orders * prod(as_float(w) for _, w in chosen)))
    worth = [max(_shared(x, y) for x in blocks) for blocks, _ in drawn_sets for y, _ in targets]
    n, m = len(drawn_sets), len(targets)
    places = [(row, i * m + j) for i, j in product(range(n), range(m)) for row in (i, n + j)]
    matrix = coo_matrix((np.ones(len(places)), tuple(zip(*places))), shape=(n + m, n * m))
    right = [w for _, w in drawn_sets] + [as_float(w) for _, w in targets]
    return -float(linprog(-np.array(worth, float), A_eq=matrix.tocsr(), b_eq=right, method="highs").fun)


def _shared(x: Prefix, y: Prefix) -> int:
    return next((i for i, (a, b) in enumerate(zip(x, y)) if a != b), len(x))


def coupling_is_valid_in_the_plain_loop(pairs: Sequence[Problem], paths: int) -> ClaimJudgement:
    """Return whether some valid rule of the plain loop accepts as much as the coupling of blocks."""
    for pair in pairs:
        problem = drawing(pair, paths, *[1] * (pair.gamma - 1))
        value, bound = coupling_value(pair, paths), as_float(largest_acceptance(problem)[1])
        if value > bound + CERTIFIED_TO:
            on = f"the coupling's E[tau] is {value:.4f}, of valid rules at most {bound:.4f}"
            return ClaimJudgement(REFUTED, on, problem)
    return held(len(pairs), f"{len(pairs)} pairs of models")


def coupling_gains_by_drafts(pairs: Sequence[Problem], most: int) -> ClaimJudgement:
    """The coupling's value with 1, 2, .. drafts never falls."""
    for pair in pairs:
        values = [coupling_value(pair, k) for k in range(1, most + 1)]
        if any(after < before - CERTIFIED_TO for before, after in pairwise(values)):
            return ClaimJudgement(REFUTED, f"{values}", pair)
    return held(len(pairs), f"{len(pairs)} pairs of models, up to {most} drafts")


# Best-first trees


def _trees(per_depth: Sequence[Row], budget: int) -> list[tuple[Prefix, ...]]:
    """Return every tree of so many nodes."""
    texts = [x for n in range(1, len(per_depth) + 1) for x in product(range(len(per_depth[0])), repeat=n)]
    return [tree for tree in combinations(texts, budget) if all(len(x) == 1 or x[:-1] in tree for x in tree)]


def _places(pair: Problem) -> tuple[list[Row], list[Row]]:
    """Return a row of target and draft for each place: those along the smallest ids."""
    exact = in_field(pair)
    target, draft = ([tuple(m.row((0,) * n)) for n in range(pair.gamma)] for m in (exact.target, exact.draft))
    return target, draft


DISTINCT = [
    drawn(*sizes, "generic", seed) for sizes, seeds in (((2, 2), 6), ((3, 2), 4), ((2, 3), 2)) for seed in range(seeds)
]
"""Pairs whose rows differ from place to place, without ties between texts."""


def best_first_has_the_most_mass(by_target: bool) -> ClaimJudgement:
    """Judge that no tree of up to four nodes has more mass under the drafter's rows, or under the target's."""
    examined = 0
    for pair in DISTINCT:
        target, draft = _places(pair)
        judge = target if by_target else draft
        for budget in range(1, 5):
            mine = sum(dd_tree.mass(judge, x) for x in dd_tree.best_first(draft, budget))
            most = max(sum(dd_tree.mass(judge, x) for x in tree) for tree in _trees(draft, budget))
            examined += 1
            if mine < most:
                on = f"a tree of {budget}: {as_float(mine):.4f} against {as_float(most):.4f} accepted tokens"
                return ClaimJudgement(REFUTED, on, pair)
    return ClaimJudgement(HOLDS, f"{examined} trees, each against all of its size")


def best_first_is_lossless() -> ClaimJudgement:
    """The tree, which the draft's rows alone decide, verified by samples of the target."""
    for pair in DISTINCT:
        exact, (_, draft) = in_field(pair), _places(pair)
        tree = dd_tree.drafted(exact.target.row, draft, 4)
        law = law_of(lambda chance, t=tree: dd_tree.follow(t, chance).tokens(t))
        length = pair.gamma + 1
        if total_variation(completed(law, exact.target, length), joint_law(exact.target, length)) != 0:
            return ClaimJudgement(REFUTED, "another law", pair)
    return ClaimJudgement(HOLDS, f"{len(DISTINCT)} trees")


# Rules of single steps, by formulas


def each_draft_apart(pair: Problem, count: int = 2) -> Any:
    """The sum of p (1 - (1 - min(q / p, 1))^K): what SpecTr-GBV accepts in one step, by the terms of its code."""
    p, q = rows(pair)
    return sum(a * (1 - (1 - min(b / a, ONE)) ** count) for a, b in zip(p, q) if a)
