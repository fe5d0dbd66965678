"""The measured law of a function or a program on one problem, in the form of ``law_report``.

A module of its own: the law of a reference verifier needs no NumPy, and starts without it.
"""

from typing import Any

from ...models.errors import RunFailed
from ...models.problem import Problem
from ...proofs.audit_claims import lossless
from ...proofs.field import rational
from ...proofs.laws.reference_laws import acceptance_ccdf, expected_accepted
from ...proofs.laws.small_measurement import measured
from ...verifiers.evidence import HOLDS, REFUTED
from .sandboxed import probe_problems, sandbox_of, with_stated_numbers
from .subject import SubjectSpec


def measured_law_report(subject: SubjectSpec, problem: Problem, timeout: float = 60.0) -> dict[str, Any]:
    """Return ``law_report``'s fields for a function or a program, in its first dtype, and how the law was measured.

    Numbers are text: a simple rational within what rounding allows (``tolerance``), else twelve digits.
    ``lossless`` and ``verdict``: as the audit's claim, by the rule and by the theorem (``rounding``: both,
    ``tolerance``: the less); null and no-evidence between the two, with the ``reason``. ``missed``: as of
    ``proofs.laws.small_law.Measurement``.
    Raises: RunFailed if it cannot be called, or no law is known.
    """
    if subject.program:
        subject = with_stated_numbers(subject, timeout=timeout)
    dtype = subject.dtypes[0]
    with sandbox_of(subject, dtype, timeout=timeout) as sandbox:
        sandbox.start(probe_problems([problem]))
        law = measured(problem, dtype, sandbox.law(problem), subject.modifies_target, subject.own_rule)
    if not law.known:
        raise RunFailed("raises", f"no distribution is known: {law.reason}")
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
