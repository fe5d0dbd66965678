"""A certificate of Lemma 10: no coupling of the models agrees on more tokens than greedy block verification accepts.

Eq. (40) is an optimal transport problem. Over couplings of X^gamma ~ M_s^gamma and Y^gamma ~ M_b^gamma, maximise the
expected length of the longest common prefix, sum_l Pr(X^l = Y^l). A certificate has a coupling and two potentials,

    common prefix of x and y <= draft_potential(x) + target_potential(y)   for all blocks x, y,

so that no coupling exceeds sum M_s(x) draft_potential(x) + sum M_b(y) target_potential(y). The closed form: give each
prefix to the model that is less likely to produce it,

    draft_potential(x) = #{l : M_s(x^l) < M_b(x^l)},   target_potential(y) = #{l : M_b(y^l) <= M_s(y^l)},

whose value is sum_l sum_x min(M_b(x^l), M_s(x^l)). The coupling is greedy block verification itself: its draft block,
and the first gamma tokens of its output, continued by the modified target (Algorithms 4 and 5, Lemma 8).
"""

from dataclasses import replace
from itertools import accumulate
from operator import mul
from typing import Any

from ...models.decoding import Decoded, starts_in_force
from ...models.errors import InputError
from ...models.law import Model, Prefix, prefix_key
from ...models.problem import Problem, as_json
from ...verifiers.registry import reference
from ..claims import coupling_bound
from ..field import QQ, in_field
from ..laws.reference_laws import completed_after_modification
from .check_coupling import COUPLING_FORMAT, MOST_COUPLED_BLOCKS
from .make import block_kernel


def greedy_coupling(problem: Problem) -> dict[Prefix, dict[Prefix, Any]]:
    """Return Pr(X^gamma = x, Y^gamma = y) of greedy block verification, for every block x that can be drafted."""
    greedy, coupling = reference("greedy-block"), {}
    for block, outputs in block_kernel(problem, greedy.name).items():
        states = {Decoded(o, starts_in_force(problem, greedy, Decoded(), o)): p for o, p in outputs.items()}
        coupling[block] = completed_after_modification(states, problem, problem.gamma)
    return coupling


def certificate(problem: Problem) -> dict[str, Any]:
    """Return the certificate of a problem in its JSON form; rationals as strings.

    Its value is greedy block verification's E[tau] = sum_l sum_x min(M_b(x^l), M_s(x^l)).
    Raises: InputError for a problem of more than 4096 blocks (all pairs of blocks are looked at).
    Source: Sun et al. 2025, Eq. (40), Lemma 9, Lemma 10; Kantorovich duality.
    """
    if problem.vocabulary**problem.gamma > MOST_COUPLED_BLOCKS:
        blocks = f"{problem.name}: {problem.vocabulary}^{problem.gamma} blocks"
        raise InputError(f"{blocks} are too many for a coupling, expected at most {MOST_COUPLED_BLOCKS:,}")
    exact = in_field(problem)
    draft_potential, target_potential = {}, {}
    for x in exact.prefixes(exact.gamma):
        pairs = list(zip(_joint(exact.target, x), _joint(exact.draft, x)))
        draft_potential[x] = sum(q < p for p, q in pairs)
        target_potential[x] = sum(p <= q for p, q in pairs)
    coupling = greedy_coupling(exact)
    return {
        "format": COUPLING_FORMAT,
        "problem": as_json(replace(problem.tabulated(), drafting=None)),
        "expected_accepted": str(sum(coupling_bound(exact).values(), QQ(0))),
        "coupling": {prefix_key(x): {prefix_key(y): str(p) for y, p in law.items()} for x, law in coupling.items()},
        "draft_potential": {prefix_key(x): str(f) for x, f in draft_potential.items()},
        "target_potential": {prefix_key(y): str(g) for y, g in target_potential.items()},
    }


def _joint(model: Model, x: Prefix) -> list:
    """Return [M(x^1), ..., M(x^gamma)]."""
    return list(accumulate((model.row(x[:i])[token] for i, token in enumerate(x)), mul))
