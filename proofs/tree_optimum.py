"""What any valid rule can accept of a problem's draft tree at most: what audits hold tree verifiers against."""

from fractions import Fraction
from typing import Any

from ..models.problem import Problem
from ..models.rationals import as_float
from .certificates.make_transport import transport_bound
from .certificates.make_tree_bound import certificate
from .field import rational
from .laws import acceptance_ccdf
from .measurement import Measurement


def largest_acceptance(problem: Problem) -> tuple[Any, Any]:
    """Two bounds on the largest E[tau] of all valid rules (``certificates.make_tree_bound``).

    Guarantee: a valid rule accepts the first, none accepts more than the second. Both are proved; that they are close is not.
    Raises: InputError for too many draft trees.
    """
    made = certificate(problem)
    return rational(Fraction(made["reached"])), rational(Fraction(made["bound"]))


def most_of_first_step(measurement: Measurement) -> dict[str, float]:
    """Pr(tau >= 1), and the largest that it can be for any valid rule (``certificates.make_transport``)."""
    accepted = acceptance_ccdf(measurement.outputs(), measurement.problem.gamma)[1] if measurement.outputs() else 0
    return {"first_accepted": as_float(accepted), "transport_bound": as_float(transport_bound(measurement.in_use))}
