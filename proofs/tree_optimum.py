"""What any valid rule can accept of a problem's draft tree at most: what audits compare tree verifiers with."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..models.law import Prefix
from ..models.problem import Problem
from ..models.rationals import as_float
from .certificates.make_transport import transport_bound
from .certificates.make_tree_bound import certificate
from .field import rational
from .laws import acceptance_ccdf

CERTIFIED_TO = 1e-6
"""How far apart the two proved bounds on the largest E[tau] may be for what lies between to be optimal."""

NOT_CERTIFIED = (
    "bound not certified: the largest E[tau] of all valid rules lies between {:.9g} and {:.9g}, and so does this"
)


def largest_acceptance(problem: Problem) -> tuple[Any, Any]:
    """Two bounds on the largest E[tau] of all valid rules (``certificates.make_tree_bound``).

    Guarantee: a valid rule accepts the first, none accepts more than the second. Both are proved; that they are close
    is not.
    Raises: InputError for too many draft trees.
    """
    made = certificate(problem)
    return rational(Fraction(made["reached"])), rational(Fraction(made["bound"]))


def most_of_first_step(problem: Problem, outputs: Mapping[Prefix, Any]) -> dict[str, float]:
    """Pr(tau >= 1), and the largest that it can be for any valid rule (``certificates.make_transport``)."""
    accepted = acceptance_ccdf(outputs, problem.gamma)[1] if outputs else 0
    return {"first_accepted": as_float(accepted), "transport_bound": as_float(transport_bound(problem))}
