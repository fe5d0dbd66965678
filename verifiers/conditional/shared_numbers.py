"""Known bugs that use a random number twice, as laws of a step: how the second use depends on the first."""

import numpy as np

from .laws import StepLaw, Weights
from .rules import ratio_capped
from .steps import EDGES, Array, PairRows, Steps, excess


def _before(steps: Steps) -> PairRows:
    """Return the rows from which Y was drawn as they are known before Y is seen, [N, ...]."""
    return PairRows(*(values[np.arange(steps.count), steps.emitted] for values in steps.before))


def _shown(steps: Steps) -> tuple[Array, Array]:
    """Return in which steps Y is listed only because it came out, and where, [M] each."""
    every = np.arange(steps.count)
    chosen = np.flatnonzero(steps.shown[every, steps.emitted])
    return chosen, steps.at_last[chosen, steps.emitted[chosen]]


def _completed(listed: Array, total: Array) -> Weights:
    """Return the weights with what is left of a total that does not depend on Y."""
    return Weights(listed, np.maximum(total - listed.sum(-1), 0.0))


def _mass_below(ids: Array, values: Array, rest: Array, tokens: Array, vocabulary: int) -> Array:
    """Return the mass of the ids below each token, [..., T]; what is not listed is taken to lie evenly.

    ids, values: [..., K]. rest: [...]. tokens: [..., T].
    """
    below = np.where(ids >= 0, values, 0.0)[..., None, :] * (ids[..., None, :] < tokens[..., :, None])
    return below.sum(-1) + rest[..., None] * tokens / vocabulary


def _own_interval(steps: Steps) -> Array:
    """Return the coins of a test with the uniform that drew the token: u q lies behind the mass of smaller ids."""
    rows = PairRows(*(values[:, :-1] for values in steps.before))
    rest = rows.rest_draft.sum(-1)
    below = _mass_below(rows.ids, rows.draft, rest, steps.tokens[:, :, None], steps.vocabulary)[..., 0]
    coins = ratio_capped(steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.where(steps.q > 0, np.clip((coins - below) / steps.q, 0.0, 1.0), coins)
    open_share = np.minimum(rest, 1.0)  # where this interval lies is known but for what is not listed
    return np.where(coins < 1, (1 - open_share) * same + open_share * coins, 1.0)


def _rejecting_uniform(steps: Steps, rows: PairRows) -> Weights:
    """Return the replacement that the rejecting uniform, even on ratio..1, finds on the residual's cumulative sum."""
    before, (chosen, at) = _before(steps), _shown(steps)
    known, _, most = excess(before)
    total = np.maximum(known.sum(-1) + most, 1e-300)
    own = np.maximum(rows.target - rows.draft, 0.0) / total[:, None]
    ids = np.maximum(rows.ids, 0)
    start = np.empty_like(own)
    order = np.argsort(before.ids, axis=-1, kind="stable")
    sums = np.cumsum(np.take_along_axis(known, order, -1), axis=-1)
    np.put_along_axis(start, order, sums - np.take_along_axis(known, order, -1), -1)
    start = (start + most[:, None] * ids / steps.vocabulary) / total[:, None]
    tokens = ids[chosen, at][:, None]
    below = _mass_below(before.ids[chosen], known[chosen], most[chosen], tokens, steps.vocabulary)
    start[chosen, at] = below[:, 0] / total[chosen]
    ratio = np.concatenate([steps.ratio, np.ones((steps.count, 1))], axis=1)[np.arange(steps.count), steps.emitted]
    found = np.maximum(np.minimum(start + own, 1.0) - np.maximum(start, ratio[:, None]), 0.0)
    inside = found.copy()
    inside[chosen, at] = 0.0
    sums = np.maximum(inside.sum(-1) + most / total, 1e-300)
    open_share = (most / total)[:, None]
    return _completed((1 - open_share) * found / sums[:, None] + open_share * own, np.ones(steps.count))


def _second_race(steps: Steps, rows: PairRows) -> Weights:
    """Return who wins the race for the replacement with the noise of the race that the drafted token has won.

    No token y arrives before q(y) / residual(y) times that winner's time (see the zoo's ``noise_shared_with_draft``). A
    class of tokens that are not listed runs as one.
    """
    before, (chosen, at) = _before(steps), _shown(steps)
    q = np.concatenate([before.draft, before.rest_draft], axis=-1)
    rate = np.maximum(np.concatenate([before.target, before.rest_target], axis=-1) - q, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        handicap = np.where(rate > 0, q / rate, np.inf)
    order = np.argsort(handicap, axis=-1, kind="stable")
    r, d, q = (np.take_along_axis(values, order, -1) for values in (rate, handicap, q))
    rates = np.cumsum(r, axis=-1)
    with np.errstate(invalid="ignore"):
        started = np.where(r > 0, 1 / (1 + (rates - r) * d - (np.cumsum(q, axis=-1) - q)), 0.0)
    decided = np.maximum(started - np.pad(started[:, 1:], ((0, 0), (0, 1))), 0.0)
    shares = np.divide(decided, rates, out=np.zeros_like(rates), where=rates > 0)
    wins = np.empty_like(rate)
    np.put_along_axis(wins, order, np.cumsum(shares[:, ::-1], axis=-1)[:, ::-1], -1)
    weights = rate * wins
    listed = weights[:, : rows.ids.shape[-1]].copy()
    p, q = rows.target[chosen, at], rows.draft[chosen, at]
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(p > 0, np.searchsorted(EDGES, p / q, side="right"), 0)
    listed[chosen, at] = np.maximum(p - q, 0.0) * wins[chosen, rows.ids.shape[-1] + place]
    return _completed(listed, weights.sum(-1))


SHARED_NUMBERS = (
    StepLaw("M24", "the rejecting uniform also draws the replacement", ratio_capped, _rejecting_uniform),
    StepLaw("M26", "draft and replacement share their Gumbel noise", ratio_capped, _second_race),
    StepLaw("M27", "draft sampler and verifier start from one state", _own_interval),
)
"""Bugs of token verification that use a random number twice."""
