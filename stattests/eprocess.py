"""Anytime-valid evidence against a known law: Dirichlet-multinomial e-processes, restarted every night.

An e-process is a gambler's fortune that cannot be expected to grow while the law is right: E[E_t] <= 1 at every
stopping time t, so it ever reaches 1/alpha with probability at most alpha (Ville). It may be looked at after every
draw, for years.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ..models.errors import InputError
from .arguments import checked_rates, checked_size
from .cells import Law, checked_counts, checked_law
from .power import log_mean_exp, log_sum_exp

MIXTURE_DISTANCES = (0.2, 0.08, 0.03, 0.012, 0.005, 0.002)
"""Deviations (total variation) that the mixture is spread over."""

MAX_STARTS = 32
"""Starts in memory; the weight of one that is dropped is lost."""


def concentrations(cells: int, sizes: tuple[float, ...] = MIXTURE_DISTANCES) -> np.ndarray:
    """Return the concentrations whose Dirichlet priors expect deviations of the given sizes.

    c = (V - 1) / (4 δ²): a row drawn from Dirichlet(c p) has E sum_k (p'_k - p_k)² / p_k = (V - 1) / (c + 1), and
    4 δ² is the least that this sum can be at total variation δ.
    cells: V, the cells of positive probability
    sizes: δ, total variations
    """
    return np.array([max(cells - 1, 1) / (4 * size**2) for size in sizes])


def log_evidence(counts: np.ndarray, law: np.ndarray, mixture: np.ndarray | None = None) -> np.ndarray:
    """Return log E of counts against a law, averaged over the concentrations of the alternative.

    E = mean over c of Γ(c) / Γ(c + n) prod_k Γ(c p_k + x_k) / (Γ(c p_k) p_k^x_k): the probability of the draws under a
    multinomial whose law is drawn from Dirichlet(c p), over their probability under p.
    counts: [..., V], draws, n their sum
    law: [V], positive, sum 1
    mixture: concentrations c
    Shape of the result: [...].
    Guarantee: E[E] = 1 under the law, for any number of draws, and as a process in the draws a martingale.
    Source: Lindon and Malek 2022 (Dirichlet-multinomial martingale), the prior's mean at the law; the average over c is
    ours.
    """
    mixture = concentrations(len(law)) if mixture is None else mixture
    n = counts.sum(axis=-1, keepdims=True)
    logs = [_log_rise(c * law, counts).sum(axis=-1) - _log_rise(np.array([c]), n)[..., 0] for c in mixture]
    return log_mean_exp(np.stack(logs))


def log_evidence_of_rows(draws: Sequence[tuple[np.ndarray, np.ndarray]], contexts: int) -> float:
    """Return log E of draws from several rows, each from the row of the context that it comes in.

    Half the purse is bet on all contexts in turn, and an equal part of the other half on each context alone: a fault
    of one context shows, and so does one that all share.
    draws: (counts, row) of each context that came, [V] each. contexts: how many there can be.
    Guarantee: E[E] = 1 if each draw follows its row given everything before it, and as a process a martingale.
    Infinite for a draw of probability 0.
    """
    if any((counts[row <= 0] > 0).any() for counts, row in draws):
        return math.inf
    logs = [float(log_evidence(counts[row > 0], row[row > 0])) for counts, row in draws]
    alone = log_mean_exp(np.array([*logs, *[0.0] * (contexts - len(logs))]))
    return float(log_mean_exp(np.array([math.fsum(logs), alone])))


STIRLING_FROM = 20.0
"""Least argument of log Γ for which the four terms of Stirling's series used here are exact to 2e-15."""


def _log_rise(a: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return log(Γ(a + n) / (Γ(a) a^n)), for a [V] above 0 and n [..., V].

    log Γ of a large a is so large that its rounding, 1e-8 at a = 4e6, would be seen in the evidence.
    """
    large = a >= STIRLING_FROM
    rise = np.empty(n.shape)
    b, m = a[~large], n[..., ~large]
    rise[..., ~large] = gammaln(b + m) - gammaln(b) - m * np.log(b)
    b, m = a[large], n[..., large]
    rise[..., large] = (b + m - 0.5) * np.log1p(m / b) - m + _stirling_rest(b + m) - _stirling_rest(b)
    return rise


def _stirling_rest(x: np.ndarray) -> np.ndarray:
    """Return log Γ(x) less (x - 1/2) log x - x + log(2π) / 2."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x


def unspent(nights: int) -> float:
    """Return what is left of a budget of 1 after so many nights (or versions): 1 / log2(nights + 2).

    The shares unspent(t - 1) - unspent(t) are positive and add up to 1, and fall like 1 / (t log² t): as slowly as
    nearly any convergent series can, so that what begins late still has a share.
    """
    return 1 / math.log2(nights + 2)


class NightlyStarts:
    """A set of e-processes of the same evidence, one of which starts every night.

    E_t = sum over starts s of w_s E(what came since s) + unspent(t), w_s = unspent(s - 1) - unspent(s): the fortune is
    divided beforehand among one gambler for each night to come, so a law that breaks on night 181 is met by a gambler
    who has not paid for the 180 clean nights before it.
    shape: leading shape of several processes run side by side
    most: number of starts in memory
    width, kind: size and dtype of what each start keeps
    """

    def __init__(self, shape: tuple[int, ...], most: int, width: int, kind: type):
        self.most, self.night = most, 0
        self._kept = np.zeros((*shape, most, width), dtype=kind)
        self._weights = np.full((*shape, most), -np.inf)
        self._values = np.full((*shape, most), -np.inf)

    def open_night(self) -> None:
        """Begin a night: a new start takes its weight from what is unspent.

        Where all places are taken, the start with the smallest fortune makes room, and its fortune is lost: that can
        only make E smaller. The younger half of the starts stay: what began lately has had no time to show.
        """
        place = np.expand_dims(np.where(self._young(), np.inf, self._values).argmin(axis=-1), -1)
        weight = math.log(unspent(self.night) - unspent(self.night + 1))
        self.night += 1
        np.put_along_axis(self._weights, place, weight, -1)
        np.put_along_axis(self._values, place, weight, -1)
        np.put_along_axis(self._kept, place[..., None], 0, -2)

    def _young(self) -> np.ndarray:
        """Return which places hold the latest most // 2 starts: weights fall from night to night."""
        half = self.most // 2
        if not half:
            return np.zeros(self._weights.shape, dtype=bool)
        oldest = np.partition(self._weights, half - 1, axis=-1)[..., half - 1 : half]
        return (self._weights > -np.inf) & (self._weights <= oldest)

    def _since(self, kept: np.ndarray) -> np.ndarray:
        """Return log E of each start from what it keeps."""
        raise NotImplementedError

    def _value(self, used: np.ndarray) -> None:
        self._values[used] = self._weights[used] + self._since(self._kept[used])

    @property
    def excluded(self) -> Any:
        """Return whether something came that cannot."""
        raise NotImplementedError

    @property
    def log_e(self) -> Any:
        """Return log E now, by all so far."""
        left = np.full((*self._values.shape[:-1], 1), math.log(unspent(self.night)))
        logs = log_sum_exp(np.concatenate([self._values, left], axis=-1), -1)
        log_e = np.where(self.excluded, np.inf, logs)
        return float(log_e) if log_e.ndim == 0 else log_e

    def _starts(self, name: str) -> list[dict[str, Any]]:
        used = self._weights > -np.inf
        starts = zip(self._weights[used].tolist(), self._kept[used].tolist())
        return [{"weight": weight, name: kept} for weight, kept in starts]

    def _resume(self, state: Mapping[str, Any], name: str) -> None:
        self.night = state["night"]
        for place, start in enumerate(state["starts"]):
            self._weights[place], self._kept[place] = start["weight"], start[name]
        self._value(self._weights > -np.inf)


class BettingNights(NightlyStarts):
    """A test of nights of bets, with a fresh start every night: see ``NightlyStarts``.

    shares: [H], the part of the purse that each gambler has at a start, sum 1
    Guarantee: if no bet can be expected to win, given everything before it, Pr(E_t >= 1/α for any t) <= α.
    """

    def __init__(self, shares: np.ndarray, most: int = MAX_STARTS):
        super().__init__((), most, len(shares), float)
        self.shares, self.impossible = np.log(shares), 0

    def add(self, gains: np.ndarray, impossible: int = 0) -> None:
        """Settle the bets of the night that is open. gains: [H], log of what each gambler's fortune is multiplied by.

        impossible: outcomes that cannot be.
        """
        if not self.night:
            self.open_night()
        self.impossible += impossible
        used = self._weights > -np.inf
        self._kept[used] += gains
        self._value(used)

    def _since(self, kept: np.ndarray) -> np.ndarray:
        return log_sum_exp(kept + self.shares, -1)

    @property
    def excluded(self) -> bool:
        return self.impossible > 0

    def as_json(self) -> dict[str, Any]:
        """Return everything needed to go on."""
        return {"night": self.night, "most": self.most, "impossible": self.impossible, "starts": self._starts("logs")}

    @classmethod
    def from_json(cls, shares: np.ndarray, state: Mapping[str, Any]) -> "BettingNights":
        """Return the process that ``as_json`` wrote down, with the same gamblers."""
        process = cls(shares, state["most"])
        process.impossible = state["impossible"]
        process._resume(state, "logs")
        return process


class EProcess(NightlyStarts):
    """A test of nights of draws against one law, with a fresh start every night: see ``NightlyStarts``.

    law: [V], sum 1
    shape: leading shape of several processes run side by side, none by default
    most: number of starts in memory
    Guarantee: E_0 = 1 and E[E_t | past] <= E_t under the law, with equality until a start is dropped; hence
    Pr(E_t >= 1/α for any t) <= α. A draw in a cell of probability 0 makes it infinite: it cannot happen under the law.
    The order of draws within a night does not matter. Memory: most * V whole numbers.
    """

    def __init__(self, law: Law, shape: tuple[int, ...] = (), most: int = MAX_STARTS):
        self.law = np.array(list(checked_law(law).values()))
        self.impossible = np.zeros((*shape, len(self.law)), dtype=np.int64)
        """Draws in cells of probability 0."""
        self._possible = self.law > 0
        super().__init__(shape, most, int(self._possible.sum()), np.int64)

    def add(self, counts: ArrayLike) -> None:
        """Count draws of the night that is open (the first is opened by itself).

        counts: [..., V] whole numbers. Raises: InputError for counts of another shape, negative ones, or none.
        """
        fresh = np.asarray(counts)
        if fresh.shape != self.impossible.shape:
            raise InputError(f"counts of shape {fresh.shape}, expected {self.impossible.shape}")
        checked_counts(fresh.ravel())
        if not self.night:
            self.open_night()
        self.impossible += np.where(self._possible, 0, fresh)
        used = self._weights > -np.inf
        self._kept += used[..., None] * fresh[..., None, self._possible]
        self._value(used)

    def _since(self, kept: np.ndarray) -> np.ndarray:
        return log_evidence(kept, self.law[self._possible])

    @property
    def excluded(self) -> Any:
        return self.impossible.any(axis=-1)

    def as_json(self) -> dict[str, Any]:
        """Return everything needed to go on, for a single process (the law is not part of it)."""
        impossible = {str(k): int(n) for k, n in enumerate(self.impossible) if n}
        return {"night": self.night, "most": self.most, "impossible": impossible, "starts": self._starts("counts")}

    @classmethod
    def from_json(cls, law: Law, state: Mapping[str, Any]) -> "EProcess":
        """Return the process that ``as_json`` wrote down, against the same law."""
        process = cls(law, most=state["most"])
        for k, n in state["impossible"].items():
            process.impossible[int(k)] = n
        process._resume(state, "counts")
        return process


LIFETIME_ALPHA = 1e-3
"""The chance that a history of verifiers without a bug ever shows an alarm, over all checks, versions and years."""


class HolmResult(NamedTuple):
    """A decision on each check.

    alarm: [m], whether it is refuted
    threshold: [m], the log E at which it is (or was) refuted
    """

    alarm: np.ndarray
    threshold: np.ndarray


def cohort_alpha(alpha: float, number: int) -> float:
    """Return the share of the lifetime budget that the n-th cohort of checks gets, n = 1, 2, ...

    alpha (unspent(n - 1) - unspent(n)); the shares add up to alpha over endlessly many cohorts. A cohort is what
    begins together: the checks of one new version of a subject.
    """
    checked_size("number of the cohort, counted from 1,", number, 1)
    return alpha * (unspent(number - 1) - unspent(number))


def holm(peaks: np.ndarray, alpha: float) -> HolmResult:
    """Apply Holm's procedure to the anytime-valid p-values 1 / max E of the checks of one cohort.

    The k-th largest peak is refuted if it reaches (m - k + 1) / alpha and all larger ones are refuted.
    peaks: [m], the largest log E of each check so far; m is all the checks that the cohort began with
    Guarantee: with probability at least 1 - alpha no check whose law is right is ever refuted, whenever and however
    often this is asked, and whatever the dependence between checks; a refuted check stays refuted. Over cohorts with
    alpha from ``cohort_alpha`` the error rates add up to the lifetime's, even if what begins later depends on what
    was refuted before. Raises: InputError if alpha is not between 0 and 1.
    Source: Holm 1979; max E over time as a p-value: Ville's inequality.
    """
    checked_rates(alpha)
    peaks = np.asarray(peaks, dtype=float)
    alarm = np.zeros(len(peaks), dtype=bool)
    threshold = np.full(len(peaks), np.inf)
    for rank, place in enumerate(np.argsort(-peaks, kind="stable")):
        needed = math.log((len(peaks) - rank) / alpha)
        if peaks[place] < needed:
            threshold[~alarm] = needed
            break
        alarm[place], threshold[place] = True, needed
    return HolmResult(alarm, threshold)
