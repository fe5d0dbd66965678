"""The exact law of a reference verifier on one problem, in the form of the contract's ``law --json``."""

from dataclasses import replace
from typing import Any

from ...models.errors import InputError, RunFailed
from ...models.problem import Problem
from ...proofs import laws
from ...proofs.audit_claims import lossless
from ...proofs.certificates.make_transport import transport_bound
from ...proofs.field import in_field, rational
from ...proofs.laws import acceptance_ccdf, expected_accepted
from ...proofs.measurement import measured
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference
from .sandboxed import probe_problems, sandbox_of, with_stated_numbers
from .subject import SubjectSpec


def law_report(verifier: str, problem: Problem, iterations: int = 1) -> dict[str, Any]:
    """Rationals as strings; total_variation between the law of the first gamma + 1 tokens (gamma for greedy block
    verification, as in Lemma 8) and the target's, or the law that the problem declares, each output completed as the
    algorithm prescribes.

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
        raise InputError(f"{problem.name}: a declared law is judged in one iteration, of verifiers of the plain loop")
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


def measured_law_report(subject: SubjectSpec, problem: Problem, timeout: float = 60.0) -> dict[str, Any]:
    """``law_report``'s fields for a function or a program, in the first of its dtypes, and how the law was measured.

    Numbers are text: a simple rational within what rounding allows (``tolerance``), else twelve digits.
    ``lossless`` and ``verdict``: as the audit's claim, by the rule and by the theorem (``rounding``: both,
    ``tolerance``: the less); null and no-evidence between the two, with the ``reason``. ``missed``: as of
    ``proofs.measurement.Measurement``.
    Raises: RunFailed if it cannot be called, or no law is known.
    """
    if subject.program:
        subject = with_stated_numbers(subject, timeout=timeout)
    dtype = subject.dtypes[0]
    with sandbox_of(subject, dtype, timeout=timeout) as sandbox:
        sandbox.start(probe_problems([problem]))
        law = measured(problem, dtype, sandbox.law(problem), subject.modifies_target, subject.own_rule)
    if not law.known:
        raise RunFailed("raises", f"no law is known: {law.reason}")
    emitted, judged, slack = law.outputs(), lossless(law), rational(law.tolerance)
    accepted = expected_accepted(emitted) if emitted else 0
    return {
        "verifier": subject.name, "vocabulary": problem.vocabulary, "gamma": problem.gamma, "iterations": 1,
        "expected_accepted": law.text(accepted, slack),
        "expected_tokens": law.text(accepted + sum(emitted.values()), slack),
        "acceptance_ccdf": [law.text(p, slack) for p in acceptance_ccdf(emitted, problem.gamma)],
        "total_variation": f"{judged.total_variation:.3g}",
        "lossless": {HOLDS: True, REFUTED: False}.get(judged.verdict), "verdict": judged.verdict,
        "how": law.exactness.law, "dtype": dtype, "tolerance": law.tolerance, "rounding": law.rounding,
        "missed": law.missed,
        **({"reason": judged.detail.reason} if judged.detail.reason else {}),
    }  # fmt: skip
