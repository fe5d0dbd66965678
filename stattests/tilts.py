"""Bets on tokens whose conditional rows are known: their probability integral transform, and rows that are tilted.

A token x of a row p has the transform u = p{more probable than x} + U p(x), U uniform: uniform on 0..1 if x is drawn
from p, whatever the row is. Sets of u are bet on by ``betting.SetBetting``. A tilt is a row q of another law that a
faulty engine may have: of another temperature, truncated to a nucleus, or in part the draft's; its bet multiplies the
fortune by q(x) / p(x), of which the mean under p is 1.
"""

from collections.abc import Sequence
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..models.errors import InputError
from .arguments import checked_rates
from .betting import UNTOUCHED, Bets, Fortune, Gamblers, fortune_paths
from .power import log_mean_exp

TEMPERATURES = (0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.5)
"""Tilts q = p^(1/T), normalised: T over the temperature that was asked for."""

NUCLEI = (0.8, 0.9, 0.95, 0.99)
"""Tilts to the fewest tokens whose mass reaches this, with NUCLEUS_SHARE of q; the rest of it is p."""

NUCLEUS_SHARE = 0.9

TILTS = tuple([f"temperature {t:g} times that asked for" for t in TEMPERATURES] + [f"top-p {m:g}" for m in NUCLEI])

DRAFT_SHARES = (0.03, 0.1, 0.3)
"""Tilts to the draft's row by this share, where its row is known: draft tokens that were not verified."""

OF_DRAFTS = tuple(f"{share:.0%} of the draft's row" for share in DRAFT_SHARES)

WITH_DRAFTS = TILTS + OF_DRAFTS
"""The tilts where the draft's row is known, in the order of ``Placed.log_tilts``."""

ABOVE = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Sets {u > c} of the transform, which have the probability 1 - c."""

SETS = tuple(f"transform above {c:g}" for c in ABOVE)

RARE = 1e-7
"""Tokens below this are looked at for a nucleus only where the others do not reach its mass."""


class Placed(NamedTuple):
    """A set of tokens at their places in a row.

    above: mass of what is more probable, of equals what has the smaller id, [n]. own: p(x), [n].

    log_tilts: log q(x) / p(x), of TILTS, or of WITH_DRAFTS where the draft's row is given, [tilts, n].
    """

    above: np.ndarray
    own: np.ndarray
    log_tilts: np.ndarray

    def transform(self, uniforms: np.ndarray) -> np.ndarray:
        """Return u of each token. uniforms: [n], the auditor's own."""
        return np.clip(self.above + uniforms * self.own, 0.0, 1.0)

    def probability_above(self) -> np.ndarray:
        """Return Pr(u > c | x) for c of ABOVE, [len(ABOVE), n]."""
        ends = (self.above + self.own)[None] - np.array(ABOVE)[:, None]
        return np.clip(ends / np.maximum(self.own, 1e-300), 0.0, 1.0)


def placed(row: np.ndarray, tokens: Sequence[int] | np.ndarray, draft: np.ndarray | None = None) -> Placed:
    """Return the places of tokens in a row.

    row, draft: [V], probabilities. tokens: [n].
    Raises: InputError for a row that does not sum to 1 within 1e-4, or a token outside of it.
    """
    p, at = np.asarray(row, dtype=np.float64), np.asarray(tokens)
    total = p.sum()
    if p.ndim != 1 or not abs(total - 1) <= 1e-4 or p.min() < 0:
        raise InputError(f"row of shape {p.shape} sums to {total:.6g}, expected 1 and no entry below 0")
    if len(at) and not (at.min() >= 0 and at.max() < len(p)):
        raise InputError(f"tokens {at.min()} to {at.max()}, expected 0 to {len(p) - 1}")
    p = p / total
    own = p[at]
    above, rank = np.empty(len(at)), np.empty(len(at), dtype=int)
    for k, (token, probability) in enumerate(zip(at, own)):
        more, equal = p > probability, p[:token] == probability
        above[k] = p[more].sum() + p[:token][equal].sum()
        rank[k] = np.count_nonzero(more) + np.count_nonzero(equal)
    with np.errstate(divide="ignore"):
        logs, log_own = np.log(p), np.log(own)
    tilts = []
    for t in TEMPERATURES:
        with np.errstate(invalid="ignore"):
            tilted = (1 / t - 1) * log_own - log(np.exp(logs / t).sum())
        tilts.append(np.where(own > 0, tilted, 0.0))
    for nucleus in _nuclei(p):
        inside = rank < nucleus.tokens
        tilts.append(np.log(1 - NUCLEUS_SHARE + NUCLEUS_SHARE * inside / nucleus.mass))
    if draft is not None:
        q = np.asarray(draft, dtype=np.float64)
        if q.shape != p.shape or not abs(q.sum() - 1) <= 1e-4 or q.min() < 0:
            raise InputError(f"row of the draft of shape {q.shape} sums to {q.sum():.6g}, expected {p.shape} and 1")
        ratio = np.divide(q[at] / q.sum(), own, out=np.ones_like(own), where=own > 1e-300)
        tilts += [np.log1p(share * (ratio - 1)) for share in DRAFT_SHARES]
    return Placed(above, own, np.array(tilts).reshape(len(tilts), len(at)))


class _Nucleus(NamedTuple):
    """A nucleus: the first so many tokens by probability, equals by their id, and their mass."""

    tokens: int
    mass: float


def _nuclei(p: np.ndarray) -> list[_Nucleus]:
    """Return the fewest tokens that reach each mass of NUCLEI.

    Rounding of the running sums may decide where a nucleus ends. Its mass is the sum of just the tokens that are
    counted, so the mean of its bet is 1 wherever it ends.
    """
    likely = p[p > RARE]
    order = np.sort(likely if likely.sum() > max(NUCLEI) else p)[::-1]
    ends = np.minimum(np.searchsorted(np.cumsum(order), NUCLEI), len(order) - 1) + 1
    return [_Nucleus(int(end), float(order[:end].sum())) for end in ends]


class DriftExcess(NamedTuple):
    """A difference that a served row makes to the bets on the row that is known.

    tilts: E'[q(x) / p(x)] - 1, [tilts]. sets: Pr'(u > c) - (1 - c), [len(ABOVE)].
    distance: total variation of the two rows as far as they are known.
    """

    tilts: np.ndarray
    sets: np.ndarray
    distance: float


def excess(row: np.ndarray, tokens: Sequence[int], served: ArrayLike, draft: np.ndarray | None = None) -> DriftExcess:
    """Return the excess of a served row of which some tokens are known. Its other mass lies as the known row has it.

    row, draft: [V], as known. tokens: the most probable ones served. served: their probabilities.
    """
    at, q = placed(row, tokens, draft), np.asarray(served, dtype=float)
    moved, left, rest = q - at.own, 1 - q.sum(), 1 - at.own.sum()
    scale = max(left, 0.0) / rest if rest > 1e-9 else 1.0
    tops = np.exp(at.log_tilts)
    tilts = (tops @ q) + scale * (1 - tops @ at.own) - 1
    hits = at.probability_above()
    sets = (hits @ q) + scale * (1 - np.array(ABOVE) - hits @ at.own) - (1 - np.array(ABOVE))
    return DriftExcess(tilts, sets, float(np.abs(moved).sum() + abs(left - rest)) / 2)


class Allowance(NamedTuple):
    """A price that bets pay for each token. tilts: a share of the fortune. slack: of the probability of a set.

    rows: that it was measured on. distance: their mean total variation. worst: the largest.
    """

    tilts: np.ndarray
    slack: float
    rows: int
    distance: float
    worst: float


def allowance(measured: Sequence[DriftExcess], margin: float, errors: float) -> Allowance:
    """Return so many times the mean excess, plus so many of its standard errors, or 0 if that is less.

    Of a set both signs count: it is bet on in both directions. It is an estimate, whose own error no rate of false
    alarms includes.
    Raises: InputError for fewer than two rows.
    """
    if len(measured) < 2:
        raise InputError(f"drift of {len(measured)} rows; expected 2 or more")

    def most(values: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, margin * mean + errors * values.std(axis=0, ddof=1) / len(values) ** 0.5)

    tilts, sets = (np.array([getattr(one, name) for one in measured]) for name in ("tilts", "sets"))
    distances = np.array([one.distance for one in measured])
    slack = float(most(sets, np.abs(sets.mean(0))).max())
    return Allowance(most(tilts, tilts.mean(0)), slack, len(measured), float(distances.mean()), float(distances.max()))


class TiltBetting(Gamblers):
    """A gambler for each tilt, with one purse: E_t = mean over tilts of prod_s (q_s(x_s) / p_s(x_s)) / (1 + a).

    allowed: a of each tilt, what the rows that are served may be off by. tilts: their names.
    Guarantee: Pr(E_t >= 1 / alpha for any t) <= alpha, if every token follows its row given the past. If tokens follow
    another row, it holds as long as at every t the mean of log E'[q / p] so far is at most log(1 + a) for every tilt.
    Raises: InputError for a rate out of range, or an allowance below 0. Source: Ville 1939.
    """

    def __init__(self, alpha: float, allowed: np.ndarray | None = None, tilts: Sequence[str] = TILTS):
        checked_rates(alpha)
        allowed = np.zeros(len(tilts)) if allowed is None else np.asarray(allowed, dtype=float)
        if allowed.shape != (len(tilts),) or not (allowed >= 0).all():
            raise InputError(f"allowances {allowed}, expected {len(tilts)} of at least 0")
        self.alpha, self.tilts, self._price = alpha, tilts, np.log1p(allowed)
        self._logs, self._state = np.zeros(len(tilts)), UNTOUCHED

    def observe(self, log_tilts: np.ndarray, possible: np.ndarray) -> Fortune:
        """Settle T bets. log_tilts: [tilts, T]. possible: [T], whether p(x) > 0; what is not wins outright."""
        if not len(possible):
            return self._state
        gains = np.where(possible, log_tilts - self._price[:, None], inf)
        paths = fortune_paths(self._logs, gains)
        self._logs = paths[:, -1]
        path = log_mean_exp(paths)
        self._state = self._state.after(path, self.alpha, lambda step: self.tilts[int(paths[:, step].argmax())])
        return self._state

    @property
    def fortunes(self) -> dict[str, float]:
        """Return log of the fortune of each gambler."""
        return dict(zip(self.tilts, self._logs.tolist()))


def bets_on_transform(transform: np.ndarray) -> dict[str, Bets]:
    """Return bets on the sets {u > c}, by the names in SETS. transform: [T]."""
    return {name: Bets(np.full(len(transform), 1 - c), transform > c) for name, c in zip(SETS, ABOVE)}


def p_value(fortunes: Sequence[Fortune], shares: Sequence[float] | None = None) -> float:
    """Return the p-value of several purses. shares: theirs of the rate of false alarms; None for equal ones."""
    shares = shares or [1 / len(fortunes)] * len(fortunes)
    return min(1.0, *(exp(-max(0.0, f.highest)) / share for f, share in zip(fortunes, shares, strict=True)))
