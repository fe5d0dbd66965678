"""Two samples where the law of neither source is known: independent draws, or whole sequences of two engines."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ..models.errors import InputError
from .arguments import checked_rates
from .cells import MIN_EXPECTED, Counts, checked_counts, pooled
from .goodness import BOUND_METHOD, MIN_SIMULATED_ALPHA, MONTE_CARLO_METHOD
from .monte_carlo import draws_for, monte_carlo_p, relabelled
from .tails import hypergeometric_tail, likelihood_ratio

Sequences = Sequence[Sequence[int]]
Strata = tuple[Sequence[Hashable], Sequence[Hashable]] | None


class Homogeneity(NamedTuple):
    """The result of a test of two samples.

    statistic: G, chi^2 or the squared distance, as the test says
    p_value: valid at any rate
    cells: number of cells after pooling, of blocks for ``mmd``
    method: "bound", "monte-carlo" or "permutation"
    witness: what differs most
    """

    statistic: float
    p_value: float
    cells: int
    method: str
    witness: str


def homogeneity(
    counts: Counts, other: Counts, alpha: float = 1e-6, method: str | None = None, seed: int = 0
) -> Homogeneity:
    """Do two samples of independent draws come from one law?

    G = 2 sum over cells and samples of x log(x / e), e from the margins; outcomes that expect less than 5 in the
    smaller sample pooled, rarest first, no other outcome among them. p-value given both margins: at alpha of 1e-3 and
    more from 2 / alpha random tables, below that from Chernoff's bound with the exact generating function.
    counts, other: outcome -> times seen
    method: "bound" or "monte-carlo", by alpha if not given
    Guarantee: Pr(p_value <= a) <= a if both follow one law, whatever it is, for every a and any sample sizes.
    Raises: InputError if either sample is empty or its counts are broken.
    Source: Fisher's conditioning on the margins; Hoeffding 1965; ``tails``.
    """
    checked_rates(alpha)
    if method not in (None, MONTE_CARLO_METHOD, BOUND_METHOD):
        raise InputError(f"method is {method!r}, expected {MONTE_CARLO_METHOD} or {BOUND_METHOD}")
    counts, other = checked_counts(counts), checked_counts(other, where="the other counts")
    n, m = sum(counts.values()), sum(other.values())
    together = Counter(counts) + Counter(other)
    mixed = {outcome: times / (n + m) for outcome, times in together.items()}
    cells = pooled(counts, mixed, MIN_EXPECTED * max(1.0, n / m))
    totals = np.array([sum(together[o] for o in group) for group in cells.outcomes])

    def statistics(tables: np.ndarray) -> np.ndarray:
        first, second = totals * (n / (n + m)), totals * (m / (n + m))
        return likelihood_ratio(tables, first) + likelihood_ratio(totals - tables, second)

    statistic = float(statistics(cells.observed))
    method = method or (MONTE_CARLO_METHOD if alpha >= MIN_SIMULATED_ALPHA else BOUND_METHOD)
    if len(totals) == 1:
        p_value = 1.0
    elif method == MONTE_CARLO_METHOD:
        draw = np.random.default_rng(seed).multivariate_hypergeometric
        p_value, _ = monte_carlo_p(statistic, lambda m: statistics(draw(totals, n, size=m)), draws_for(alpha))
    else:
        p_value = hypergeometric_tail(statistic, n, totals)
    return Homogeneity(statistic, p_value, len(totals), method, furthest(counts, other))


def furthest(counts: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> str:
    """The outcome whose shares of the two samples are furthest apart, in words."""
    n, m = sum(counts.values()), sum(other.values())

    def apart(outcome: Hashable) -> float:
        x, y = counts.get(outcome, 0), other.get(outcome, 0)
        if not x + y:
            return 0.0
        e, f = (x + y) * n / (n + m), (x + y) * m / (n + m)
        return float(xlogy(x, x / e) + xlogy(y, y / f))

    worst = max(counts.keys() | other.keys(), key=lambda o: (apart(o), str(o)))
    return f"{worst!r} was seen {counts.get(worst, 0)} of {n} and {other.get(worst, 0)} of {m} times"


def hamming_kernel(blocks: np.ndarray, same: float = 0.5) -> np.ndarray:
    """k(x, y) = same^(number of positions where x and y differ), 0 < same < 1.

    blocks: [n, L] tokens, shorter ones filled up with -1. Shape of the result: [n, n].
    Guarantee: strictly positive definite over blocks of L tokens, so that every difference of laws has a positive
    distance.
    Source: a product of the kernels [x = y] + same [x != y], each strictly positive definite.
    """
    return same ** (blocks[:, None, :] != blocks[None, :, :]).sum(axis=2)


def prefix_kernel(blocks: np.ndarray) -> np.ndarray:
    """k(x, y) = length of the common prefix of x and y, over L.

    blocks: [n, L]. Shape of the result: [n, n].
    Guarantee: strictly positive definite over blocks of L tokens (a sum over lengths of [first l tokens equal], the
    last of which is the identity).
    """
    return np.logical_and.accumulate(blocks[:, None, :] == blocks[None, :, :], axis=2).mean(axis=2)


def mmd(
    sequences: Sequences,
    others: Sequences,
    kernel: Callable[[np.ndarray], np.ndarray] = hamming_kernel,
    alpha: float = 1e-6,
    strata: Strata = None,
    seed: int = 0,
) -> Homogeneity:
    """Do two engines write the same blocks, by maximum mean discrepancy?

    sum over prompts of n m / (n + m) [mean k(x, x') + mean k(y, y') - 2 mean k(x, y)], means over all pairs, n and m
    the numbers of sequences of the prompt.
    kernel: [n, L] blocks -> [n, n]
    sequences, others: one a call, any lengths
    strata: the prompts of both samples, if there were several; sequences change places within their prompt only
    seed: of the permutations
    Guarantee: Pr(p_value <= a) <= a if, within each stratum, sequences of both engines are exchangeable; over the
    permutations (2 / alpha of them, fewer where they show nothing) and the data. Time is (n + m)^2 a permutation: for
    hundreds of blocks, not for millions.
    Raises: InputError for an empty sample.
    Source: Gretton, Borgwardt, Rasch, Schoelkopf, Smola 2012 (A kernel two-sample test), Eq. (5); Pitman 1937
    (permutation); Besag and Clifford 1991.
    """
    checked_rates(alpha)
    labels, groups = _labelled(sequences, others, strata)
    longest = max(len(s) for s in (*sequences, *others))
    blocks = np.array([[*map(int, s), *[-1] * (longest - len(s))] for s in (*sequences, *others)]).reshape(-1, longest)
    gram = kernel(blocks) * (groups[:, None] == groups)
    share, scale = _shares(labels, groups)

    def statistics(is_first):
        weights = (is_first - share) * scale
        return ((weights @ gram) * weights).sum(axis=1)

    statistic, p_value = _permuted(statistics, labels, groups, alpha, seed)
    gap = gram @ ((labels - share) * scale)
    odd = int(np.abs(gap).argmax())
    written = ",".join(str(t) for t in blocks[odd] if t >= 0)
    witness = f"blocks like {written} come {'more' if gap[odd] > 0 else 'less'} often in the first sample"
    return Homogeneity(statistic, p_value, len(blocks), "permutation", witness)


def _permuted(statistics, labels, groups, alpha, seed):
    generator = np.random.default_rng(seed)
    statistic = float(statistics(labels[None])[0])
    batch = max(1, min(4096, 4_000_000 // len(labels)))
    p_value, _ = monte_carlo_p(
        statistic, lambda m: statistics(relabelled(labels, groups, generator, m)), draws_for(alpha), batch=batch
    )
    return statistic, p_value


def _shares(labels, groups):
    """The share of the first sample in each sequence's stratum; what makes (label - share) a difference of means.

    A stratum of one sample alone has a scale of 0: it shows nothing.
    """
    size, first = np.bincount(groups), np.bincount(groups, weights=labels)
    both = first * (size - first) / size
    scale = np.divide(1.0, np.sqrt(both), out=np.zeros(len(size)), where=both > 0)
    return (first / size)[groups], scale[groups]


def _labelled(sequences, others, strata):
    for name, sample in (("the first sample", sequences), ("the other sample", others)):
        if not len(sample):
            raise InputError(f"{name} has no sequences")
    labels = np.concatenate([np.ones(len(sequences)), np.zeros(len(others))])
    if strata is None:
        return labels, np.zeros(len(labels), dtype=int)
    names = [*strata[0], *strata[1]]
    if (len(strata[0]), len(strata[1])) != (len(sequences), len(others)):
        raise InputError(f"{len(names)} strata, expected one for each of {len(labels)} sequences")
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return labels, np.array([number[name] for name in names])
