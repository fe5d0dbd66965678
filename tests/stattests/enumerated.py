"""Every table of counts with its probability, so that rates of error are computed and not simulated."""

from itertools import combinations

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom


def tables(n, cells):
    """All counts of n draws in the cells: [M, cells]."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), dtype=int).reshape(-1, cells - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + cells - 1)])
    return np.diff(edges, axis=1) - 1


def probabilities(counts, law):
    """Their multinomial probabilities under a law: [M]."""
    logs = gammaln(counts.sum(axis=1) + 1) + (xlogy(counts, np.asarray(law)) - gammaln(counts + 1)).sum(axis=1)
    return np.exp(logs)


def most_by_chance(tries, rate):
    """The most errors in so many tries that a test of that rate makes, except once in 10,000."""
    return int(binom.isf(1e-4, tries, rate))
