"""Betting on sets of tokens against an engine whose conditional laws are known: evidence at any time.

Before a token is seen a set A is chosen and its probability P under the target is known; the fortune is multiplied by
1 + l ([x in A] - P), which a lossless engine cannot make grow on average. Fortunes of several stakes and several
families of sets are averaged, so that E[fortune] <= 1 at every stopping time, and it ever reaches 1 / alpha with
probability at most alpha (Ville).
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from ..models.errors import InputError
from .arguments import checked_rates, log_inverse
from .power import log_mean_exp

LOG_ODDS = np.concatenate([-(2.0 ** np.arange(-6, 3)), 2.0 ** np.arange(-6, 3)])
"""Alternatives d: the odds of A are e^d times the target's. One d is within a factor 1.42 of any in 0.011..5.6."""

BELOW_1 = float(np.nextafter(1.0, 0.0))
"""Largest probability of a set that the token may miss, though the sum of its entries rounds to 1."""

STEPS_AT_ONCE = 10_000
"""Steps whose fortunes are in memory together."""


class Bets(NamedTuple):
    """A series of bets on one family of sets. P = 0 without a hit is no bet.

    probability: [T], Pr(A_t | past) under the target
    hit: [T], whether the token was in A_t
    """

    probability: np.ndarray
    hit: np.ndarray


class Fortune(NamedTuple):
    """A state of the fortune.

    log_evidence: log of the fortune now
    highest: log of the largest fortune so far
    refuted_at: the first step, from 0, at which it had reached 1 / alpha; or None
    family: the family of sets with the largest fortune at that step
    steps: number of tokens seen
    """

    log_evidence: float
    highest: float
    refuted_at: int | None
    family: str | None
    steps: int

    @property
    def p_value(self) -> float:
        """Return 1 / the highest fortune: a p-value at every time."""
        return min(1.0, exp(-max(0.0, self.highest)))

    def after(self, path: np.ndarray, alpha: float, family_at: Callable[[int], str]) -> "Fortune":
        """Return the state after further steps.

        path: [T], log of the fortune after each. family_at: gives the family with the largest fortune at a step.
        """
        crossed = np.flatnonzero(path >= log_inverse(alpha))
        refuted, family = self.refuted_at, self.family
        if refuted is None and len(crossed):
            refuted, family = self.steps + int(crossed[0]), family_at(int(crossed[0]))
        return Fortune(float(path[-1]), max(self.highest, float(path.max())), refuted, family, self.steps + len(path))


UNTOUCHED = Fortune(0.0, 0.0, None, None, 0)
"""The state before the first bet."""


class Gamblers:
    """A set of gamblers whose fortunes can be kept and taken up again."""

    _logs: np.ndarray
    _state: Fortune

    @property
    def fortune(self) -> Fortune:
        """Return the state after the last bet."""
        return self._state

    def as_json(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {"logs": self._logs.tolist(), "fortune": list(self._state)}

    def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what ``as_json`` gave. Raises: ValueError or TypeError for another number of gamblers."""
        logs = np.array(kept["logs"], dtype=float)
        if logs.shape != self._logs.shape:
            raise ValueError(f"{logs.shape} gamblers, expected {self._logs.shape}")
        self._logs, self._state = logs, Fortune(*kept["fortune"])


class SetBetting(Gamblers):
    """A gambler for each family of sets, with one purse.

    E_t = mean over families f and alternatives d of prod over s <= t of (1 + l_s ([x_s in A_s] - P_s)),
    l_s = (P' - P_s) / (P_s (1 - P_s)), logit P' = logit P_s + d: the likelihood ratio of a coin.
    families: their names
    slack: how far the engine's own probability of a set may be from the one given (rounding in half precision, say);
    every bet pays 1 + slack |l_s| for it
    Guarantee: if every token follows its conditional law (within the slack) given the past, Pr(E_t >= 1 / alpha for any
    t) <= alpha. A_t may depend on everything before token t but on nothing that goes with it: see ``bets_on``.
    Raises: InputError for names that are missing or not different, and for a rate or slack out of range.
    Source: Ville 1939; Shafer 2021 (Testing by betting); Waudby-Smith and Ramdas 2024 (mixtures of stakes).
    """

    def __init__(self, families: Sequence[str], alpha: float = 1e-6, slack: float = 0.0):
        checked_rates(alpha)
        if not families or len(set(families)) < len(families):
            raise InputError(f"families of sets: got {list(families)!r}, expected one or more different names")
        checked_slack(slack)
        self.families, self.alpha, self.slack = tuple(families), alpha, slack
        self._logs = np.zeros((len(families), len(LOG_ODDS)))
        self._state = UNTOUCHED

    def observe(self, bets: Mapping[str, Bets]) -> Fortune:
        """Settle the bets of T further steps, the same steps for every family.

        Raises: InputError for an unknown or missing family, different lengths, or what is not a probability.
        """
        if set(bets) != set(self.families):
            raise InputError(f"bets on {sorted(bets)}, expected {sorted(self.families)}")
        rows = [_checked(bets[name], name) for name in self.families]
        if len({len(row.hit) for row in rows}) > 1:
            raise InputError("bets of different lengths, expected one for each step and family")
        for start in range(0, len(rows[0].hit), STEPS_AT_ONCE):
            part = slice(start, start + STEPS_AT_ONCE)
            self._settle(np.array([r.probability[part] for r in rows]), np.array([r.hit[part] for r in rows]))
        return self._state

    def _settle(self, probability: np.ndarray, hit: np.ndarray) -> None:
        paths = fortune_paths(self._logs, log_gains(probability, hit, self.slack))
        by_family = log_mean_exp(paths, axis=1)
        self._logs = paths[:, :, -1]
        path = log_mean_exp(by_family)
        self._state = self._state.after(path, self.alpha, lambda step: self.families[int(by_family[:, step].argmax())])


def bets_on(
    target: ArrayLike,
    tokens: ArrayLike,
    draft: ArrayLike | None = None,
    proposed: ArrayLike | None = None,
    bonus: ArrayLike | None = None,
    nucleus: float = 0.9,
) -> dict[str, Bets]:
    """Return bets on the usual sets: their probabilities, and whether the tokens fell into them.

    "argmax": the target's most probable token. "tail": outside its nucleus. "draft above target": {q > p}, if the
    draft's rows are given. "proposed": one token a step. "bonus": at bonus positions, the tokens that were more
    probable one position before (a row taken from the wrong position shows there).
    target: [T, V], conditional rows M_b(. | text so far)
    tokens: [T], as emitted
    draft: [T, V], conditional rows M_s(. | text so far)
    proposed: [T], one token a step, -1 for none
    bonus: [T], whether all gamma draft tokens before had been accepted
    Guarantee: each P is the target's own, the row divided by its sum. Whether a bet is fair is the caller's part:
    ``proposed`` must be settled without the coins that the engine verifies with: the draft's favourite, an n-gram
    match, a token that the auditor drew. The token that the engine drafted by its own chance is not admissible: given
    it, a lossless engine emits it with probability min(1, p / q) and not p, and would be refuted. ``bonus`` is fair for
    rules that are valid in one iteration (Lemma 4), not for greedy block verification.
    Raises: InputError for other shapes, rows that do not sum to 1 within 1e-4, tokens outside the vocabulary.
    Source: Sun et al. 2025, Lemma 4 (given tau >= i and X^i the next token follows the target).
    """
    rows = _rows(target, "target")
    steps, vocabulary = rows.shape
    emitted = _tokens(tokens, steps, vocabulary, "tokens", 0)
    at = np.arange(steps)
    ids = np.arange(vocabulary)
    bets = {"argmax": _bets(rows, emitted, ids == rows.argmax(axis=1)[:, None])}
    order = np.sort(rows, axis=1)[:, ::-1]
    inside = np.cumsum(order, axis=1) - order < nucleus
    least = order[at, inside.sum(axis=1) - 1]
    bets["tail"] = _bets(rows, emitted, rows < least[:, None])
    if draft is not None:
        drafts = _rows(draft, "draft")
        _checked_shape("draft", drafts, rows.shape)
        bets["draft above target"] = _bets(rows, emitted, drafts > rows)
    if proposed is not None:
        proposal = _tokens(proposed, steps, vocabulary, "proposed", -1)
        bets["proposed"] = _bets(rows, emitted, ids == proposal[:, None])
    if bonus is not None:
        at_bonus = np.asarray(bonus, dtype=bool)
        _checked_shape("bonus", at_bonus, (steps,))
        falling = np.zeros_like(rows, dtype=bool)
        falling[1:] = (rows[1:] < rows[:-1]) & at_bonus[1:, None]
        bets["bonus"] = _bets(rows, emitted, falling)
    return bets


def bets_on_sets(target: ArrayLike, tokens: ArrayLike, sets: ArrayLike) -> Bets:
    """Return bets on any sets. sets: [T, V], whether token x is in A_t. The rest is as in ``bets_on``."""
    rows, chosen = _rows(target, "target"), np.asarray(sets, dtype=bool)
    _checked_shape("sets", chosen, rows.shape)
    return _bets(rows, _tokens(tokens, len(rows), rows.shape[1], "tokens", 0), chosen)


def fortune_paths(logs: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return log of every fortune after each of T further bets. What is lost stays lost, whatever would be won later.

    logs: [...], the fortunes before
    gains: [..., T], log of the factor of each bet
    """
    with np.errstate(invalid="ignore"):
        paths = logs[..., None] + np.cumsum(gains, axis=-1)
    paths[np.isnan(paths)] = -inf
    return paths


def log_gains(probability: np.ndarray, hit: np.ndarray, slack: float) -> np.ndarray:
    """Return log of the factor of each bet, [F, D, T], from [F, T] probabilities and hits."""
    p = np.clip(probability, slack, 1 - slack)[:, None, :]
    hit = hit[:, None, :]
    off = slack + np.abs(p - probability[:, None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        claimed = expit(logit(p) + LOG_ODDS[:, None])
        gains = np.where(hit, np.log(claimed) - np.log(p), np.log1p(-claimed) - np.log1p(-p))
        stake = np.abs(claimed - p) / (p * (1 - p))
        gains -= np.log1p(np.where(off > 0, stake * off, 0.0))
    certain = (p <= 0) | (p >= 1)
    wrong = (p <= 0) & hit | (p >= 1) & ~hit
    return np.where(certain, np.where(wrong, inf, 0.0), gains)


def _bets(target: np.ndarray, tokens: np.ndarray, chosen: np.ndarray) -> Bets:
    """Return the bets on chosen tokens. A set is certain only if no token outside it is possible."""
    others_possible = ((target > 0) & ~chosen).any(axis=1)
    probability = np.where(others_possible, np.minimum((target * chosen).sum(axis=1), BELOW_1), 1.0)
    return Bets(probability, chosen[np.arange(len(tokens)), tokens])


def _checked_shape(where: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{where}: got the shape {array.shape}, expected {shape} as the target")


def _rows(values: ArrayLike, where: str) -> np.ndarray:
    rows = np.asarray(values, dtype=float)
    if rows.ndim != 2:
        raise InputError(f"{where}: got the shape {rows.shape}, expected [steps, vocabulary]")
    sums = rows.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= 1e-4) | (rows.min(axis=1) < 0))
    if len(wrong):
        row = f"row {wrong[0]} sums to {sums[wrong[0]]:.6g} with least entry {rows[wrong[0]].min():.3g}"
        raise InputError(f"{where}: {row}, expected 1 and 0 or more")
    return rows / sums[:, None]


def _tokens(values: ArrayLike, steps: int, vocabulary: int, where: str, least: int) -> np.ndarray:
    tokens = np.asarray(values)
    if tokens.shape != (steps,) or not np.issubdtype(tokens.dtype, np.integer):
        raise InputError(f"{where}: got {tokens.dtype} of shape {tokens.shape}, expected {steps} whole numbers")
    outside = np.flatnonzero((tokens < least) | (tokens >= vocabulary))
    if len(outside):
        at = outside[0]
        raise InputError(f"{where}: {tokens[at]} at step {at}, expected a token in {least}..{vocabulary - 1}")
    return tokens


def checked_slack(slack: float) -> None:
    """Check a slack. Raises: InputError unless it is 0 or more and below 0.5."""
    if not 0 <= slack < 0.5:
        raise InputError(f"slack is {slack!r}, expected 0 or more and below 0.5")


def _checked(bets: Bets, name: str) -> Bets:
    probability, hit = np.asarray(bets.probability, dtype=float), np.asarray(bets.hit, dtype=bool)
    if probability.ndim != 1 or probability.shape != hit.shape or not len(hit):
        shapes = f"probabilities of shape {probability.shape}, hits of {hit.shape}"
        raise InputError(f"{name}: {shapes}, expected one a step")
    if not ((probability >= -1e-9) & (probability <= 1 + 1e-9)).all():
        raise InputError(f"{name}: a set has the probability {probability.min():.6g} or {probability.max():.6g}")
    return Bets(np.clip(probability, 0.0, 1.0), hit)
