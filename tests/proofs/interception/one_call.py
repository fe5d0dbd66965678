"""The law of a single call: one draft token, drafted for certain."""

from draftproof.models.battery import toy
from draftproof.models.problem import problem_from
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide


def measure_one_call(sandbox, subject, *row):
    """What a subject emits where the target's row is this one, over rationals, and token 0 is always drafted."""
    problem = problem_from({"vocabulary": len(row), "gamma": 1, "target": [*row], "draft": [1, *[0] * (len(row) - 1)]})
    sandbox.load(subject, [problem])
    return measured(problem, sandbox.dtype, sandbox.law(problem))


def wide_law(sandbox, subject, problem):
    """The law of a subject on a wide problem."""
    sandbox.load(subject, [toy(1)])
    return measured_wide(problem, sandbox.dtype, sandbox.law(problem))
