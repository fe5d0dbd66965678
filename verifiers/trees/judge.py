"""Judge decoding: what a judge calls right is kept, the rest is verified token by token. Lossy."""

from collections.abc import Callable

from ..arithmetic import Row, minimum, ratio, residual
from ..chance import Chance
from .descent import Choice, Siblings, Step


def not_unlikely(p: Row, x: int) -> bool:
    """The judge of the rule ``judge``, in place of a trained one: p(x) is at least a tenth of the largest."""
    return 10 * p[x] >= max(p)


def judge_step(keeps: Callable[[Row, int], bool] = not_unlikely) -> Step:
    """Accept x if the judge keeps it, else by token verification.

    Guarantee: not valid. TV of one token = sum over the kept x with q > p of q(x) - p(x): what the judge keeps beyond
        p; where it keeps all it is TV(p, q).
    Source: Bachmann et al. 2025 (Judge Decoding), by the abstract; a judge that sees the target's row is ours.
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        (x,), (q,) = siblings.tokens, siblings.drafts
        p = siblings.target
        if keeps(p, x) or chance.flip(minimum(ratio(p[x], q[x]), 1)):
            return Choice(x, True)
        return Choice(chance.draw(residual(p, q)), False)

    return step
