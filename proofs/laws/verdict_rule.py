"""The one rule that judges a deviation: every comparison with what rounding can account for asks it.

Callers ask through the module, ``verdict_rule.decide``, so that another rule put in its place reaches all of them.
"""

from typing import Any

from ...verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED, EvidenceVerdict

NEVER = -1.0
"""Tolerance with which nothing holds, for what can only refute: samples."""


def decide(deviation: Any, tolerance: float, explained: float) -> EvidenceVerdict:
    """Return holds for what is rounding, refuted for more than any rounding, and no-evidence between the two.

    deviation: a total variation, a probability or a difference of E[tau]: a float or a Fraction.
    tolerance: the deviation that is rounding by every measure of it (``rounding.rounding_allowed``).
    explained: the deviation that may be rounding by one of them; at least the tolerance.
    """
    if deviation <= tolerance:
        return HOLDS
    return REFUTED if deviation > explained else NO_EVIDENCE
