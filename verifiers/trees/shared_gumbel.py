"""Shared randomness: draft and target pick their tokens with one Gumbel noise, and a draft is kept if both agree."""

from functools import lru_cache

from ..arithmetic import Number, Row, normalised
from ..chance import Chance
from .descent import Choice, Siblings


def agreement(target: Row, draft: Row, x: int) -> Number:
    """Pr(both pick x) = 1 / sum_y max(p(y) / p(x), q(y) / q(x)).

    Source: Daliri et al. 2024, "Coupling without Communication and Drafter-Invariant Speculative Decoding".
    """
    if target[x] == 0 or draft[x] == 0:
        return 0
    return 1 / sum(max(p / target[x], q / draft[x]) for p, q in zip(target, draft, strict=True))


def disagreement(target: Row, draft: Row, x: int, y: int) -> Number:
    """Pr(the draft picks x and the target y), x and y different.

    With E_v exponential, the draft picks the least E_v / q_v, at a time s, and the target the least E_v / p_v, at a
    time t. Both are as asked where E_x = q_x s, E_y = p_y t and every other E_v is at least max(q_v s, p_v t). For r =
    t / s that leaves
        q_x p_y integral of dr / (A(r) + B(r) r)^2 from q_y / p_y to q_x / p_x,
    A the sum of q_v with q_v > p_v r, B the sum of the other p_v: constant between the ratios q_v / p_v.
    """
    if draft[x] == 0 or target[y] == 0 or draft[y] * target[x] >= draft[x] * target[y]:
        return 0
    start = draft[y] / target[y]
    end = draft[x] / target[x] if target[x] != 0 else None
    others = [v for v in range(len(target)) if v not in (x, y)]
    inner = sorted({draft[v] / target[v] for v in others if target[v] != 0})
    inside = [r for r in inner if r > start and (end is None or r < end)]
    total = 0
    for low, high in zip([start, *inside], [*inside, end], strict=True):
        later = [v for v in others if draft[v] > target[v] * low]
        a = draft[x] + sum(draft[v] for v in later)
        b = target[y] + sum(target[v] for v in others if v not in later)
        total += (1 / (a + b * low) - (1 / (a + b * high) if high is not None else 0)) / b
    return draft[x] * target[y] * total


@lru_cache(maxsize=4096)
def given_draft(target: Row, draft: Row, x: int) -> list[Number]:
    """The law of the target's pick, given that the draft picked x, [V]."""
    picks = [agreement(target, draft, x) if y == x else disagreement(target, draft, x, y) for y in range(len(target))]
    return normalised(picks)


def step(siblings: Siblings, chance: Chance) -> Choice:
    """The target's pick under the noise with which the draft picked x; accepted if it is x.

    Guarantee: valid for a single draft; Pr(accepted) >= (1 - TV) / (1 + TV). For a seed of the noise the text is the
        same
    whichever draft is used. Source: Daliri et al. 2024.
    """
    (x,) = siblings.tokens
    y = chance.draw(given_draft(tuple(siblings.target), tuple(siblings.drafts[0]), x))
    return Choice(y, y == x)
