"""A certificate of the largest probability with which a valid rule can accept one of the drafts of the first step.

Let S be the set of tokens drafted after the context. A valid rule's first token follows the target, and it is a draft
only if it lies in S. So the rule moves mass from the laws of S to the law of the first token, which is optimal
transport:

    maximise sum over S and x in S of w(S, x),   sum_x w(S, x) <= Pr(S),   sum_S w(S, x) <= M_b(x).

The dual is a set of tokens H: what is moved to tokens of H is at most M_b(H), and all else comes from drafts that do
not lie in H. Hence no valid rule accepts more than M_b(H) + 1 - Pr(S lies in H). A certificate has a plan w and a set H
of the same value.
"""

from typing import Any

from ...models.drafting import drafting_json
from ...models.problem import Problem, as_json
from ...verifiers.trees.optimal_transport import TransportPlan, best_plan
from ..field import in_field
from .check_transport import TRANSPORT_FORMAT


def first_plan(problem: Problem) -> TransportPlan:
    """Return the optimal plan of the first step of a problem over QQ."""
    rows = (tuple(model.row(())) for model in (problem.target, problem.draft))
    return best_plan(*rows, problem.tree.children[0], problem.tree.how)


def transport_bound(problem: Problem) -> Any:
    """Return the largest probability with which the first token can be one of the drafted ones, for any valid rule."""
    return first_plan(problem).accepted


def certificate(problem: Problem) -> dict[str, Any]:
    """Return the certificate of a problem in its JSON form; rationals as strings.

    Its value is ``transport_bound``.
    Source: Sun et al. 2023 (SpecTr), Section 3; Hu et al. 2025; Khisti et al. 2025; linear programming duality.
    """
    plan = first_plan(in_field(problem))
    return {
        "format": TRANSPORT_FORMAT,
        "problem": {**as_json(problem.tabulated()), "drafting": drafting_json(problem.tree)},
        "first_accepted": str(plan.accepted),
        "plan": {
            ",".join(map(str, drafts)): {str(x): str(w) for x, w in moved.items() if w != 0}
            for drafts, moved in plan.moved.items()
        },
        "dual_set": sorted(plan.full),
    }
