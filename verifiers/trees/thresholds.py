"""Verification by thresholds: a coin against the target's mass on the siblings so far, divided by a threshold."""

from ..arithmetic import minimum
from ..chance import Chance
from .descent import Choice, Siblings, Step


def thresholds_step(single: int = 10, accumulated: int = 10) -> Step:
    """One coin u for all siblings: x_i is accepted if u <= (p(x_1) + .. + p(x_i)) / accumulated or p(x_i) >= single.

    After all rejections Y ~ p without the siblings.
    single, accumulated: in tenths.
    Guarantee: with both 1 and distinct siblings valid, and the rule for chosen tokens; equal siblings are counted
        twice. Below
    1 not valid: one sibling x comes out with c = min(1, p(x) / accumulated), or 1 from ``single`` on, c - p(x) too
        often.
    Source: SGLang, tree_speculative_sampling_target_only (threshold_single, threshold_acc).
    """

    def step(siblings: Siblings, chance: Chance) -> Choice:
        p, mass = siblings.target, 0
        left = 1  # Pr(u is above all that was accepted so far)
        for x in siblings.tokens:
            mass = mass + p[x]
            above = 1 - minimum(10 * mass / accumulated, 1)
            if 10 * p[x] >= single or left == 0 or chance.flip(1 - above / left):
                return Choice(x, True)
            left = above
        return Choice(chance.draw([0 if t in siblings.tokens else w for t, w in enumerate(p)]), False)

    return step
