"""A certificate that block verification is optimal on one problem (Theorem 2 for one iteration).

All valid verifiers are the solutions of a linear program: a kernel K(x^gamma, o) >= 0, the joint probability of the
draft block and the emitted tokens o = (x^tau, y), with sum_o K(x^gamma, o) = M_s(x^gamma) and Eq. (7); what is
maximised is E[tau] = sum (|o| - 1) K. A certificate has a solution (block verification's kernel) and a bound that
no solution exceeds, of the same value:

    tau <= slack(x^gamma) + martingale(o)   for every block that can be drafted and every o that it allows,

where the martingale has mean zero under the target, sum_y M_b(y | c) martingale(c y) = martingale(c). A valid
verifier's output, completed, is the target's text, so the martingale's expectation is 0 and
E[tau] <= sum M_s(x^gamma) slack(x^gamma).

The closed form: a prefix x is capped if p_{i-1} M_b / M_s >= 1 at its last step, p as in Eq. (9). With
U(x) = [|x| > 0] + sum over uncapped children y of M_b(y | x) U(x y),
    slack(x^gamma) = U(()) + sum of U over the capped prefixes of x^gamma,
    martingale(o) = sum of U over the uncapped prefixes of o
                    - sum over the proper prefixes x of o of sum over uncapped y of M_b(y | x) U(x y).

Prefix by prefix (Lemma 4) a certificate names, for each x^i, the last capped length j <= i: no valid verifier has
Pr(X^i = x^i, tau >= i) above M_s(x^j) M_b(x^i | x^j), and block verification reaches it (``check`` has the argument).
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...models.errors import InputError
from ...models.law import Prefix, prefix_key
from ...models.problem import Problem, as_json
from ...verifiers.registry import reference
from ..enumeration import law_of
from ..field import QQ, in_field
from ..laws.reference_laws import joint_law
from .check import CERTIFICATE_FORMAT

MOST_CERTIFIED_BLOCKS = 65_536
"""Largest number of draft blocks of a certificate, which has a line for each block and each output."""


class Potential:
    """A problem's U over QQ, with its capped prefixes and the multipliers made of them."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.potential = lru_cache(maxsize=None)(self._potential)
        self.drift = lru_cache(maxsize=None)(self._drift)
        survival: dict[Prefix, Any] = {(): QQ(1)}  # p_i of Eq. (9)
        self.capped: dict[Prefix, bool] = {(): False}
        for length in range(problem.gamma):
            for prefix in problem.prefixes(length):
                target, draft = problem.target.row(prefix), problem.draft.row(prefix)
                for token in range(problem.vocabulary):
                    scaled = survival[prefix] * target[token]
                    longer = (*prefix, token)
                    self.capped[longer] = scaled >= draft[token]
                    survival[longer] = QQ(1) if self.capped[longer] else scaled / draft[token]

    def _potential(self, prefix: Prefix):
        return QQ(1 if prefix else 0) + self.drift(prefix)

    def _drift(self, prefix: Prefix):
        """Return sum over uncapped children y of M_b(y | x) U(x y); zero at the last step, which has no children."""
        if len(prefix) == self.problem.gamma:
            return QQ(0)
        row = self.problem.target.row(prefix)
        children = ((*prefix, token) for token in range(self.problem.vocabulary))
        return sum((row[c[-1]] * self.potential(c) for c in children if not self.capped[c]), QQ(0))

    def last_capped(self, prefix: Prefix) -> int:
        """Return the j <= |x| with M_s(x^j) M_b(x | x^j) = M_s(x) p(x): where p was last capped at 1, or 0."""
        return max((i for i in range(1, len(prefix) + 1) if self.capped[prefix[:i]]), default=0)

    def slack(self, block: Prefix) -> Any:
        """Return the multiplier of a draft block."""
        prefixes = (block[:i] for i in range(1, len(block) + 1))
        return self.potential(()) + sum((self.potential(x) for x in prefixes if self.capped[x]), QQ(0))

    def martingale(self, output: Prefix) -> Any:
        """Return the multiplier of an output of 0..gamma+1 tokens."""
        gamma = self.problem.gamma
        prefixes = [output[:i] for i in range(len(output) + 1)]
        gained = sum((self.potential(x) for x in prefixes[1:] if len(x) <= gamma and not self.capped[x]), QQ(0))
        return gained - sum((self.drift(x) for x in prefixes[:-1]), QQ(0))


def block_kernel(problem: Problem, verifier: str = "block") -> dict[Prefix, dict[Prefix, Any]]:
    """Return K(x^gamma, o) of block verification, or another verifier, for every block that can be drafted."""
    verify, kernel = reference(verifier).verify, {}
    for tokens, mass in joint_law(problem.draft, problem.gamma).items():
        block = problem.block(tokens)
        law = law_of(lambda chance, b=block: verify(b, chance).tokens(b))
        kernel[tokens] = {output: mass * p for output, p in law.items()}
    return kernel


def certificate(problem: Problem) -> dict[str, Any]:
    """Return the certificate of a problem in its JSON form; rationals as strings.

    Its value is block verification's E[tau].
    Raises: InputError for a problem of more than 65,536 draft blocks.
    Source: Sun et al. 2025, Theorem 2 and Lemma 4; linear programming duality.
    """
    if problem.vocabulary**problem.gamma > MOST_CERTIFIED_BLOCKS:
        blocks = f"{problem.name}: {problem.vocabulary}^{problem.gamma} draft blocks"
        raise InputError(f"{blocks} are too many for a certificate, expected at most {MOST_CERTIFIED_BLOCKS:,}")
    exact = in_field(problem)
    potential, kernel = Potential(exact), block_kernel(exact)
    value = sum(((len(o) - 1) * p for law in kernel.values() for o, p in law.items()), QQ(0))
    outputs = [o for n in range(1, exact.gamma + 2) for o in exact.prefixes(n)]
    return {
        "format": CERTIFICATE_FORMAT,
        "problem": as_json(replace(problem.tabulated(), drafting=None)),
        "expected_accepted": str(value),
        "verifier": {prefix_key(b): {prefix_key(o): str(p) for o, p in law.items()} for b, law in kernel.items()},
        "slack": {prefix_key(block): str(potential.slack(block)) for block in kernel},
        "martingale": {prefix_key(o): str(potential.martingale(o)) for o in outputs},
        "survival": {prefix_key(x): potential.last_capped(x) for x in outputs if len(x) <= exact.gamma},
    }
