"""The exact law of a reference verifier on one problem, in the form of the contract's ``law --json``."""

from dataclasses import replace
from functools import partial
from typing import Any

from ...models.errors import InputError
from ...models.problem import Problem
from ...proofs.certificates.make_transport import transport_bound
from ...proofs.field import in_field
from ...proofs.laws import reference_laws as laws
from ...proofs.laws.tree_laws import MOST_TREES_AS_RUN, enumerated_tree_law, formulas_for, most_trees
from ...verifiers.registry import reference
from ...verifiers.trees.registry import TREE_REFERENCES

MOST_DRAFTS_COMPARED = 2**12
"""Largest number of draft blocks or trees on which the code is run, to compare its law with that of its formulas."""


def law_report(verifier: str, problem: Problem, iterations: int = 1) -> dict[str, Any]:
    """Return the exact law of a verifier, with rationals as strings.

    total_variation: between the law of the first gamma + 1 tokens (gamma for greedy block verification, as in Lemma 8)
    and the target's, or the law that the problem declares. Each output is completed as the algorithm prescribes.

    transport_bound, of rules for trees: the largest probability with which the first token can be one of the drafted
    ones, for any valid rule.

    by_formulas: why the law is that of the verifier's formulas alone; without it the code itself was run on every
    draft, or, from ``MOST_TREES_AS_RUN`` drafts on, gave the same law in the first iteration as the formulas.
    Raises: InputError if the problem's tables stop short of a prefix that N iterations can reach, or if the formulas
        give another law than the code.
    """
    exact = in_field(problem)
    if rule := TREE_REFERENCES.get(verifier):
        chosen, by_formulas = rule, formulas_for(exact, rule) is not None
        as_run = partial(enumerated_tree_law, verify=rule.verify)
    else:
        block_rule = reference(verifier)
        by_formulas = block_rule.rule is not None and most_trees(exact) > MOST_TREES_AS_RUN
        chosen = block_rule if by_formulas else block_rule.as_run()
        as_run = partial(laws.enumerated_law, verifier=block_rule)
    once = laws.output_law(exact, chosen)
    if by_formulas and most_trees(exact) <= MOST_DRAFTS_COMPARED:
        by_formulas = False
        if as_run(exact) != once:
            raise InputError(f"{problem.name}: the formulas of {verifier} give another distribution than its code")
    law = laws.iterated_law(exact, chosen, iterations)
    length = problem.gamma if chosen.modifies_target else problem.gamma + 1
    if problem.law and (iterations > 1 or chosen.modifies_target):
        raise InputError(f'{problem.name}: a "law" is judged in one iteration, of verifiers of the plain loop')
    completed = laws.completed_after_modification(law, replace(exact, target=exact.asked), length)
    deviation = laws.total_variation(completed, laws.joint_law(exact.asked, length))
    bound = {"transport_bound": str(transport_bound(exact.as_asked))} if rule else {}
    if by_formulas:
        many = f"{exact.vocabulary}^{exact.tree.nodes} drafts"
        bound["by_formulas"] = f"{many} are more than the {MOST_DRAFTS_COMPARED:,} that the code is run on"
    bound |= {"law": problem.law.says} if problem.law else {}
    return {
        "verifier": verifier, "vocabulary": problem.vocabulary, "gamma": problem.gamma, "iterations": iterations,
        "expected_accepted": str(laws.expected_accepted(once)), "expected_tokens": str(laws.expected_tokens(law)),
        "acceptance_ccdf": [str(p) for p in laws.acceptance_ccdf(once, problem.gamma)],
        "total_variation": str(deviation), "lossless": bool(deviation == 0), **bound,
    }  # fmt: skip
