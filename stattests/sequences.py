"""Two engines against each other by whole sequences: n-grams and kernels, with permutations."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ..models.errors import InputError
from .arguments import checked_rates
from .cells import MIN_EXPECTED
from .monte_carlo import draws_for, monte_carlo_p, relabelled
from .two_sample import Homogeneity, furthest

MAX_NGRAM_CELLS = 1000
"""Distinct n-grams at most; the rest are pooled."""

Sequences = Sequence[Sequence[int]]
Strata = tuple[Sequence[Hashable], Sequence[Hashable]] | None


def ngram_homogeneity(
    sequences: Sequences, others: Sequences, length: int = 2, alpha: float = 1e-6, strata: Strata = None, seed: int = 0
) -> Homogeneity:
    """Do two engines write n-grams equally often?

    chi^2 = sum over n-grams of (x - e)^2 / v, x the count in the first sample, e = sum over prompts of f T, v of
    f (1 - f) T, T the count in both samples and f the first sample's share of the sequences; n-grams rarer than 5
    expected in the smaller sample are pooled. Whole sequences change places in the permutations, since the n-grams of
    one sequence depend on each other.
    sequences, others: one a call, any lengths
    length: n of the n-grams
    alpha: rate at which the p-value decides
    strata: the prompts of both samples, if there were several; sequences change places within their prompt only
    seed: of the permutations
    Guarantee: Pr(p_value <= a) <= a if, within each stratum, sequences of both engines are exchangeable; over the
    permutations (2 / alpha of them, fewer where they show nothing) and the data.
    Raises: InputError for an empty sample, and if no sequence is as long as an n-gram.
    Source: Mantel and Haenszel 1959 (strata); Pitman 1937 (permutation); Besag and Clifford 1991.
    """
    checked_rates(alpha)
    labels, groups = _labelled(sequences, others, strata)
    grams = [
        Counter(tuple(s[i : i + length]) for i in range(len(s) - length + 1))
        for s in (list(map(int, s)) for s in (*sequences, *others))
    ]
    totals: Counter = Counter()
    for of_one in grams:
        totals += of_one
    if not totals:
        raise InputError(f"no sequence has {length} tokens or more")
    # What is pooled may not depend on which sequence is whose: it is the same in every permutation.
    smaller = min(len(sequences), len(others)) / len(labels)
    ranked = sorted(totals.items(), key=lambda seen: (-seen[1], seen[0]))[:MAX_NGRAM_CELLS]
    cells = {gram: k for k, (gram, n) in enumerate(ranked) if n * smaller >= MIN_EXPECTED}
    table = np.zeros((len(grams), len(cells) + 1))
    for unit, of_one in enumerate(grams):
        for gram, times in of_one.items():
            table[unit, cells.get(gram, len(cells))] += times
    table = table[:, table.sum(axis=0) > 0]
    share, _ = _shares(labels, groups)
    spread = np.maximum((share * (1 - share)) @ table, 1e-300)

    def statistics(is_first):
        return (((is_first - share) @ table) ** 2 / spread).sum(axis=1)

    statistic, p_value = _permuted(statistics, labels, groups, alpha, seed)
    samples = [Counter(), Counter()]
    for of_one, first in zip(grams, labels, strict=True):
        samples[0 if first else 1] += of_one
    return Homogeneity(statistic, p_value, table.shape[1], "permutation", furthest(*samples))


def hamming_kernel(blocks: np.ndarray, same: float = 0.5) -> np.ndarray:
    """k(x, y) = same^(number of positions where x and y differ), 0 < same < 1.

    blocks: [n, L] tokens, shorter ones filled up with -1. Shape of the result: [n, n].
    Guarantee: strictly positive definite over blocks of L tokens, so that every difference of laws has a positive distance.
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

    sum over prompts of n m / (n + m) [mean k(x, x') + mean k(y, y') - 2 mean k(x, y)], means over all pairs, n and m the
    numbers of sequences of the prompt.
    kernel: [n, L] blocks -> [n, n]
    sequences, others, alpha, strata, seed: as in ``ngram_homogeneity``
    Guarantee: as ``ngram_homogeneity``. Time is (n + m)^2 a permutation: for hundreds of blocks, not for millions.
    Raises: InputError for an empty sample.
    Source: Gretton, Borgwardt, Rasch, Schoelkopf, Smola 2012 (A kernel two-sample test), Eq. (5).
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
    p_value, _ = monte_carlo_p(
        statistic,
        lambda m: statistics(relabelled(labels, groups, generator, m)),
        draws_for(alpha),
        batch=max(1, min(4096, 4_000_000 // len(labels))),
    )
    return statistic, p_value


def _shares(labels, groups):
    """The share of the first sample in each sequence's stratum; what makes (label - share) a difference of means.

    A stratum of one sample alone has a scale of 0: it shows nothing.
    """
    size, first = np.bincount(groups), np.bincount(groups, weights=labels)
    scale = np.divide(
        1.0, np.sqrt(first * (size - first) / size), out=np.zeros(len(size)), where=first * (size - first) > 0
    )
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
