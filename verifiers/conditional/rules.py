"""The published rules as laws of a step, and how far rounding can move them."""

from collections.abc import Callable

import numpy as np

from .laws import StepLaw, Weights
from .steps import Array, PairRows, Steps, excess, surplus_behind


def ratio_capped(steps: Steps) -> Array:
    """Return min(1, p / q). Source: Leviathan et al. 2023."""
    return np.minimum(steps.ratio, 1.0)


def survivals(steps: Steps, cap: float = 1.0) -> Array:
    """Return p_i = min(p_{i-1} p / q, cap), i = 1..G, [N, G]. Source: Sun et al. 2025, Algorithm 2, line 4."""
    survival, columns = np.ones(steps.count), []
    for column in steps.ratio.T:
        survival = np.minimum(survival * column, cap)
        columns.append(survival)
    return np.stack(columns, axis=1) if columns else np.ones((steps.count, 0))


def block_coins(steps: Steps, survival: Array, inner: Callable[[Array, Array], Array], last: Array) -> Array:
    """Return h_i, i = 1..G, [N, G]: inner(p_i, S_i) for i < gamma, ``last`` at gamma.

    survival: p_i, [N, G]. S_i = sum_x max(p_i M_b(x) - M_s(x), 0) over the row behind the i-th token.
    """
    least, most = surplus_behind(steps, survival)
    at_end = np.arange(1, steps.gamma + 1) == steps.lengths[:, None]
    return np.where(at_end, last, inner(survival, (least + most) / 2))


def share(survival: Array, surplus: Array) -> Array:
    """Return S / (S + 1 - p_i), and 1 for 0 / 0. Source: Sun et al. 2025, Eq. (5)."""
    rest = surplus + np.maximum(1 - survival, 0.0)
    return np.divide(surplus, rest, out=np.ones_like(rest), where=rest > 0)


def greedy_share(survival: Array, surplus: Array) -> Array:
    """Return min(1, S / sum_x max(M_s - p_i M_b, 0)); that sum is S - p_i + 1. Source: Sun et al. 2025, Algorithm 4."""
    lacking = np.maximum(surplus - survival + 1, 0.0)
    return np.minimum(np.divide(surplus, lacking, out=np.ones_like(lacking), where=lacking > 0), 1.0)


def block_accept(steps: Steps) -> Array:
    """Return the coins of block verification."""
    survival = survivals(steps)
    return block_coins(steps, survival, share, survival)


def greedy_block_accept(steps: Steps) -> Array:
    """Return the coins of greedy block verification."""
    survival = survivals(steps, np.inf)
    return block_coins(steps, survival, greedy_share, np.minimum(survival, 1.0))


def survival_at_end(steps: Steps, cap: float = 1.0) -> Array:
    """Return p_tau of the tokens that were emitted, [N]."""
    every = np.concatenate([np.ones((steps.count, 1)), survivals(steps, cap)], axis=1)
    return every[np.arange(steps.count), steps.emitted]


def from_block_residual(steps: Steps, rows: PairRows) -> Weights:
    """Return max(p_tau M_b - M_s, 0). Source: Sun et al. 2025, Eq. (4)."""
    listed, _, most = excess(rows, survival_at_end(steps))
    return Weights(listed, most)


def from_greedy_residual(steps: Steps, rows: PairRows) -> Weights:
    """Return max(p_tau M_b - M_s, 0), p_tau not capped. Source: Sun et al. 2025, Algorithm 4."""
    listed, _, most = excess(rows, survival_at_end(steps, np.inf))
    return Weights(listed, most)


def from_argmax(steps: Steps, rows: PairRows) -> Weights:
    """Return the target's most probable token."""
    return Weights(steps.mode(rows.target, rows), np.zeros(steps.count))


def without_rejected(steps: Steps, rows: PairRows) -> Weights:
    """Return the target's row without the token that was rejected."""
    kept = np.where(np.arange(rows.target.shape[-1]) == steps.rejected[:, None], 0.0, rows.target)
    return Weights(kept, rows.rest_target.sum(-1))


def is_argmax(steps: Steps) -> Array:
    """Return 1 where the drafted token is the target's most probable one, of equals the first, [N, G]."""
    rows, every = steps.rows, np.arange(steps.count)[:, None]
    top = np.maximum(rows.target.max(-1), rows.highest[..., 0])
    natural = np.arange(rows.ids.shape[-1]) < rows.natural[..., None]
    first = np.where(natural & (rows.target >= top[..., None]), rows.ids, steps.vocabulary).min(-1)
    earlier = first[every, steps.above] < steps.tokens
    return ((steps.p >= top[every, steps.above]) & (steps.p > 0) & ~earlier).astype(float)


RULES = {
    law.name: law
    for law in (
        StepLaw("token", "token verification", ratio_capped),
        StepLaw("block", "block verification", block_accept, from_block_residual, longest=True),
        StepLaw("greedy-block", "greedy block verification", greedy_block_accept, from_greedy_residual, longest=True),
        StepLaw("equality", "equality with a sample of the target", lambda steps: steps.p, without_rejected),
        StepLaw("greedy", "equality with the target's most probable token", is_argmax, from_argmax, bonus=from_argmax),
    )
}
"""The rules by the name that a recording claims."""

SUBTRACTS = frozenset(("token", "block", "greedy-block"))
"""Rules whose replacement is drawn from a difference, in which rounding is as large as its terms."""


LATTICE = 2.0**-24
"""Distance of two neighbouring uniforms in float32."""

FINE = 2.0**-40
"""Unit roundoff from which an engine's uniforms are taken to be float32."""


def at_most(law: StepLaw, steps: Steps, epsilon: float) -> tuple[Array, Array]:
    """Return bounds of log Pr(tau) and log Pr(Y | tau) from above, [N] each, where every operation rounds by epsilon.

    A coin of token verification may be off by 4 epsilon of itself, one of block verification by 4 G epsilon and that
    much of 1 (it is a difference of sums); a weight p - q by as much of p and of q. Rows whose sums are off 1 by more
    may be used as they are, and a uniform of a coarser type lies on a lattice of 2^-24. What the tokens that are not
    listed leave open is allowed for. A coin of 0 stays, and one of token verification that is 1 whatever is allowed.
    Guarantee: no outcome is more probable under the rounded rule, so that a bet against these bounds is fair.
    """
    (low, high), every, tau = coin_bounds(law, steps, epsilon), np.arange(steps.count), steps.emitted
    place = np.arange(1, steps.gamma + 1)
    came_up = (place == tau[:, None]) if law.longest else (place <= tau[:, None])
    failed = (place > tau[:, None]) if law.longest else (place == tau[:, None] + 1)
    stops = np.where(came_up, high, 1.0).prod(1) * np.where(failed & steps.drafted, 1 - low, 1.0).prod(1)
    tokens = law.tokens(steps)
    assert tokens is not None
    tokens = tokens * (1 + 4 * epsilon + steps.end.off)
    if law.name in SUBTRACTS:
        rows, survival = steps.end, survival_at_end(steps, np.inf if law.name == "greedy-block" else 1.0)
        survival = survival if law.longest else np.ones(steps.count)
        listed, least, _ = excess(rows, survival)
        total, at = listed.sum(-1) + least, steps.at_last[every, tau]
        scale = 4 * epsilon * (max(1, steps.gamma) if law.longest else 1) + rows.off
        p, q = survival * rows.target[every, at], rows.draft[every, at]
        weight = np.maximum(p * (1 + scale) - q * (1 - scale), 0.0)
        moved = np.divide(weight, total, out=np.ones(steps.count), where=total > weight)
        tokens = np.where(steps.bonus, tokens, moved)
    with np.errstate(divide="ignore"):
        return np.log(stops), np.log(np.minimum(tokens, 1.0))


def coin_bounds(law: StepLaw, steps: Steps, epsilon: float) -> tuple[Array, Array]:
    """Return the least and the most that rounding leaves of coins, [N, G] each: see ``at_most``."""
    sums = steps.rows.off[:, :-1]
    sums = np.cumsum(sums, axis=1) + steps.rows.off[:, 1:] if law.longest else sums
    off = 4 * epsilon * (max(1, steps.gamma) if law.longest else 1) + _open(law, steps) + sums
    grain = LATTICE if epsilon > FINE else 0.0
    coins, added = law.coins(steps), off if law.longest else grain
    high = np.minimum(coins * (1 + off) + np.where(coins > 0, added + grain, 0.0), 1.0)
    sure = (coins >= 1) & ((steps.ratio >= 1 + off) if law.name == "token" else not law.longest)
    return np.where(sure, 1.0, np.maximum(coins * (1 - off) - added - grain, 0.0)), high


def _open(law: StepLaw, steps: Steps) -> Array:
    """Return how far a coin can be from what it is taken for, since not all tokens are listed, [N, G]."""
    if not law.longest:
        return np.zeros((steps.count, steps.gamma))
    survival = survivals(steps, np.inf if law.name == "greedy-block" else 1.0)
    least, most = surplus_behind(steps, survival)
    whole = least + 1 - survival
    if law.name == "greedy-block":
        whole = np.minimum(least, np.maximum(whole, 0.0))
    width = 2 * (most - least)
    return np.divide(width, whole, out=np.where(width > 0, 1.0, 0.0), where=whole > width)


def expected_accepted(law: StepLaw, steps: Steps) -> Array:
    """Return E[tau] given the drafted tokens and the rows, [N]."""
    return (law.stops(steps) * steps.depth).sum(1)
