"""What an entry of the zoo is: a wrong verifier that descends from a real bug, or an unusual one that is right."""

from collections.abc import Callable
from typing import NamedTuple


class ZooEntry(NamedTuple):
    """A function of the plain calling convention, f(target_probs, draft_probs, draft_tokens[, rng]) -> tokens.

    name: M01.. for mutants, C01.. for controls.  kind: the class of bug (accept rule, residual, wrong q, wrong p,
    randomness, index, block rule, float).  ancestor: what went wrong where, in one line, with its link.
    refutes: the claims that an audit must refute; a control refutes none of "lossless".
    """

    name: str
    function: Callable
    title: str
    kind: str
    ancestor: str
    link: str
    refutes: tuple[str, ...] = ("lossless",)
