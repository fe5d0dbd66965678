"""The closed forms of Leviathan et al. 2023, derived from the code that runs, for all rows of a size.

The verifiers run on rows of ``Positive`` numbers, which answer a comparison only where it is proved for all values. So
the verifiers, the enumeration of their laws and its checks (each flip in [0, 1], no negative weight) run as they are,
and whatever they compare is proved on the way. Where the code branches (p < q, p < l q) the pairs of rows are split
into ``cells``. Rows on the border of a cell, zeros among them, are limits of rows inside, and the laws are continuous
up to the border: what could jump, the normalised residual, is drawn from no more often than its mass before
normalisation.

What holds for every gamma comes from one step of the code by recurrence, solved by sympy.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, NamedTuple, cast

import sympy
from sympy import QQ

from ...models.decoding import Decoded, iteration
from ...models.law import Prefix
from ...models.problem import Problem
from ...verifiers.arithmetic import minimum
from ...verifiers.draft_block import Verify
from ...verifiers.evidence import HOLDS, REFUTED
from ...verifiers.registry import reference
from ...verifiers.token_verification import token_verification
from .. import closed_forms
from ..enumeration import law_of
from ..laws.reference_laws import acceptance_ccdf, expected_accepted, total_variation
from ..proving import Proof, ProofResult
from . import lenience
from .generic_rows import cells, positive, positives

LONGEST_GAMMA = 6
"""Largest gamma for which tokens are counted on symbols."""

STEPS = 4
"""Largest gamma whose law is compared with that of gamma - 1."""

ALPHA, COST, GAMMA = sympy.symbols("alpha c gamma", positive=True)


def acceptance_rate_holds(verify: Verify = token_verification) -> bool:
    """Check that Pr(tau >= 1) = sum_x min(M_b(x), M_s(x)) = 1 - the total variation of the rows."""
    for here in cells(2) + cells(3) + cells(4):
        apart = total_variation(dict(enumerate(here.target)), dict(enumerate(here.draft)))
        if not acceptance_ccdf(here.law(1, verify), 1)[1] == here.rate == 1 - apart:
            return False
    return True


def expected_tokens_hold(verify: Verify = token_verification) -> bool:
    """Check that the closed form is E[tau + 1] of the code."""
    sizes = [(here, LONGEST_GAMMA) for here in cells(2)] + [(here, 2) for here in cells(3)]
    return all(
        expected_accepted(here.law(gamma, verify)) + 1 == closed_forms.expected_tokens(here.rate, gamma)
        for here, longest in sizes
        for gamma in range(longest + 1)
    )


def one_step_holds(verify: Verify = token_verification) -> bool:
    """Check that behind an accepted first token x, of probability min(M_b(x), M_s(x)), the law is that of gamma - 1.

    So E_gamma = 1 + alpha E_{gamma-1} and E_0 = 1. Seen up to ``STEPS``; beyond it, the loop carries nothing from one
    token to the next, so its first step is the same for every gamma.
    """
    for here in cells(2):
        shorter = here.law(0, verify)
        if shorter != dict(zip([(0,), (1,)], here.target)):
            return False
        for gamma in range(1, STEPS + 1):
            longer = here.law(gamma, verify)
            behind = {output: mass for output, mass in longer.items() if len(output) > 1}
            accepted = [minimum(p, q) for p, q in zip(here.target, here.draft)]
            if behind != {(x, *rest): a * mass for x, a in enumerate(accepted) for rest, mass in shorter.items()}:
                return False
            shorter = longer
    return True


@cache
def tokens_of_every_gamma() -> sympy.Expr:
    """Return sympy's solution of E_gamma = 1 + alpha E_{gamma-1}, E_0 = 1."""
    n, tokens = sympy.Symbol("n", integer=True, nonnegative=True), sympy.Function("E")
    solution = sympy.rsolve(tokens(n) - 1 - ALPHA * tokens(n - 1), tokens(n), {tokens(0): 1})
    return cast(sympy.Expr, sympy.sympify(solution).subs(n, GAMMA))


def every_gamma_holds(verify: Verify = token_verification) -> bool:
    """Check that the code makes the recurrence's step, and the recurrence's solution is the closed form."""
    closed = (1 - ALPHA ** (GAMMA + 1)) / (1 - ALPHA)
    return one_step_holds(verify) and sympy.simplify(tokens_of_every_gamma() - closed) == 0


class RecordingModel(NamedTuple):
    """A model that notes each row asked of it."""

    name: str
    asked: list

    def row(self, prefix: Prefix) -> tuple:
        self.asked.append(self.name)
        return (QQ(1, 2), QQ(1, 2))

    def state(self, prefix: Prefix) -> Any:
        return ()


def rows_of_an_iteration(gamma: int) -> list[str]:
    """Return whose rows one pass of the decoding loop asks for, in order; the same however chance falls."""
    orders = set()

    def program(chance):
        asked: list[str] = []
        pair = Problem(2, gamma, RecordingModel("target", asked), RecordingModel("draft", asked))
        iteration(pair, reference("token"), Decoded(), chance)
        orders.add(tuple(asked))
        return ()

    law_of(program)
    (asked,) = orders
    return list(asked)


def costs_hold(target_runs: Callable[[int], int] = lambda rows: 1) -> bool:
    """Check that the closed forms are tokens over time, and operations over tokens.

    Time: the draft steps one after another, c each, then one run of the target for all the rows asked of it together.
    Operations: every row counts.

    target_runs: how many runs of the target those rows take.
    """
    m, d, c = positives(["m", "d", "c"])
    alpha = m / (m + d)
    for gamma in range(1, LONGEST_GAMMA + 1):
        asked = rows_of_an_iteration(gamma)
        drafts, rows = asked.count("draft"), asked.count("target")
        if asked != ["draft"] * drafts + ["target"] * rows:
            return False
        tokens = closed_forms.expected_tokens(alpha, gamma)
        if closed_forms.wall_time_factor(alpha, gamma, c) != tokens / (drafts * c + target_runs(rows)):
            return False
        if closed_forms.operations_factor(alpha, gamma, c) != (drafts * c + rows) / tokens:
            return False
    return True


ALPHAS = QQ(1, 10), QQ(1, 2), QQ(4, 5), QQ(9, 10)
"""Acceptance rates at which the best gamma of the code is compared."""

COSTS = QQ(1, 20), QQ(1, 5), QQ(1, 2), QQ(2)
"""Costs c of a draft step with which it is compared."""

FAR = 40
"""Largest gamma that is compared, above the best one at each of those rates and costs."""


def stopping_rule_holds(
    time: sympy.Expr = 1 + COST * GAMMA, best_gamma: Callable[[Any, Any], int] = closed_forms.best_gamma
) -> bool:
    """Check that the gain of gamma + 1 over gamma has the sign of a falling function of gamma, alpha - c at 0.

    The gain, times both times, with A = alpha^gamma > 0: alpha A (1 + c gamma) - c (1 - alpha A) / (1 - alpha). It
    falls by alpha A (1 - alpha) (1 + c gamma + c) > 0. Once it is not positive it never is again, so the first gamma
    that is not improved on is the best of all, and what ``closed_forms.best_gamma`` returns for ``ALPHAS`` and
    ``COSTS``.

    time: of an iteration, over that of a target step.
    """
    power = sympy.Symbol("A")
    factor, after = tokens_of_every_gamma() / time, {GAMMA: GAMMA + 1}
    gain = (factor.subs(after) - factor) * time * time.subs(after)
    gain = cast(sympy.Expr, sympy.together(sympy.expand(gain, power_exp=True).subs(ALPHA**GAMMA, power)))
    if sympy.cancel(gain.subs({GAMMA: 0, power: 1}) - (ALPHA - COST)) != 0:
        return False
    change = gain.subs({GAMMA: GAMMA + 1, power: ALPHA * power}, simultaneous=True) - gain
    m, d = sympy.symbols("m d")
    if not positive(change.subs(ALPHA, m / (m + d))) < 0:
        return False
    for alpha, cost in product(ALPHAS, COSTS):
        at_once = factor.subs({ALPHA: alpha, COST: cost})
        factors: list[Any] = [at_once.subs(GAMMA, gamma) for gamma in range(FAR + 1)]
        if best_gamma(alpha, cost) != factors.index(max(factors)):
            return False
    return True


def least_gain_holds(least: Callable[[Any, Any], Any] = lambda alpha, c: (1 + alpha) / (1 + c)) -> bool:
    """Check that for c < alpha one draft token makes the factor ``least``, above 1, and for c >= alpha nothing does.

    The gain of the stopping rule is alpha - c at gamma = 0 and falls.
    """
    m, d, u = positives(["m", "d", "u"])
    alpha = m / (m + d)
    cheap = alpha / (1 + u)
    factor = closed_forms.wall_time_factor(alpha, 1, cheap)
    return factor > 1 and factor == least(alpha, cheap) and stopping_rule_holds()


def _derived(claim: str, what: str, size: str, holds: Callable[[], bool]) -> Proof:
    return Proof(claim, "sympy", what, size, lambda: ProofResult(HOLDS if holds() else REFUTED))


TOKENS, TIME, LENIENCE = "tokens-per-iteration", "wall-time", "lenience"

DERIVATIONS = [
    _derived(TOKENS, "acceptance rate = 1 - total variation", "all rows, V 2..4", acceptance_rate_holds),
    _derived(TOKENS, "(1 - a^{gamma+1}) / (1 - a) from the code", "all rows, V 2, gamma 0..6; V 3, gamma 0..2",
             expected_tokens_hold),
    _derived(TOKENS, "(1 - a^{gamma+1}) / (1 - a) by recurrence", "every gamma; the code's step at V 2, gamma 1..4",
             every_gamma_holds),
    _derived(TIME, "wall-time and operations factors", "all alpha and c, gamma 1..6", costs_hold),
    _derived(TIME, "best gamma: the first not improved on", "all alpha and c, every gamma; the code at 16 pairs",
             stopping_rule_holds),
    _derived(TIME, "improvement iff alpha > c, by (1 + a) / (1 + c)", "all alpha and c, every gamma",
             least_gain_holds),
    _derived(LENIENCE, "bias = what lenience adds to acceptance", "all rows and l, V 2..3, gamma 1..2",
             lenience.bias_holds),
    _derived(LENIENCE, "no token above p / l", "all rows and l, V 2..3", lenience.bound_holds),
    _derived(LENIENCE, "no bias at l = 1, some below if the rows differ", "all rows without zeros, all l, V 2..3",
             lenience.strict_is_lossless),
    _derived(LENIENCE, "bias never falls as l falls", "all rows, all pairs of l, V 2..3", lenience.monotone),
]  # fmt: skip
"""A proof for each closed form."""
