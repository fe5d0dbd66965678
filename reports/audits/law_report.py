"""The exact law of a reference verifier on one problem, in the form of the contract's ``law --json``."""

from dataclasses import replace
from typing import Any

from ...models.errors import InputError
from ...models.problem import Problem
from ...proofs.certificates.make_transport import transport_bound
from ...proofs.field import in_field
from ...proofs.laws import reference_laws as laws
from ...verifiers.registry import reference
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference


def law_report(verifier: str, problem: Problem, iterations: int = 1) -> dict[str, Any]:
    """Return the exact law of a verifier, with rationals as strings.

    total_variation: between the law of the first gamma + 1 tokens (gamma for greedy block verification, as in Lemma 8)
    and the target's, or the law that the problem declares. Each output is completed as the algorithm prescribes.

    transport_bound, of rules for trees: the largest probability with which the first token can be one of the drafted
    ones, for any valid rule.
    Raises: InputError if the problem's tables stop short of a prefix that N iterations can reach.
    """
    chosen = TREE_REFERENCES.get(verifier) or reference(verifier)
    exact = in_field(problem)
    once = laws.output_law(exact, chosen)
    law = laws.iterated_law(exact, chosen, iterations)
    length = problem.gamma if chosen.modifies_target else problem.gamma + 1
    if problem.law and (iterations > 1 or chosen.modifies_target):
        raise InputError(f'{problem.name}: a "law" is judged in one iteration, of verifiers of the plain loop')
    completed = laws.completed_after_modification(law, replace(exact, target=exact.asked), length)
    deviation = laws.total_variation(completed, laws.joint_law(exact.asked, length))
    bound = {"transport_bound": str(transport_bound(exact.as_asked))} if isinstance(chosen, TreeReference) else {}
    bound |= {"law": problem.law.says} if problem.law else {}
    return {
        "verifier": verifier, "vocabulary": problem.vocabulary, "gamma": problem.gamma, "iterations": iterations,
        "expected_accepted": str(laws.expected_accepted(once)), "expected_tokens": str(laws.expected_tokens(law)),
        "acceptance_ccdf": [str(p) for p in laws.acceptance_ccdf(once, problem.gamma)],
        "total_variation": str(deviation), "lossless": bool(deviation == 0), **bound,
    }  # fmt: skip
