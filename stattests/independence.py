"""Independence of what must be independent: positions, rows of a batch, calls, steps."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import exp
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from ..models.errors import InputError
from .arguments import checked_rates, checked_size
from .monte_carlo import draws_for, monte_carlo_p
from .tails import SMALLEST_P_VALUE

MAX_OUTCOMES = 8
"""Distinct outcomes of one draw; the rest are pooled."""

E_VALUE_SHARE = 0.01
"""Share of alpha for the e-value: strong dependence is then refuted without a single random table."""

Draws = Sequence[Hashable]
"""Outcomes of draws, one after the other."""


class Independence(NamedTuple):
    """The result of a test of independence.

    statistic: G, summed over contexts
    p_value: valid at any rate
    pairs: number of pairs
    strata: number of contexts in which both draws had several outcomes
    witness: the pair of outcomes most off
    """

    statistic: float
    p_value: float
    pairs: int
    strata: int
    witness: str


def independence(
    first: Draws, second: Draws, context: Draws | None = None, alpha: float = 1e-6, seed: int = 0
) -> Independence:
    """Are two draws independent given the context?

    G = sum over contexts of 2 sum_ab x_ab log(x_ab n / (x_a x_b)), outcomes beyond the seven most frequent pooled;
    p-value from 2 / alpha random tables with the same margins in every context, fewer where they show nothing, and
    none where an e-value given the margins is enough by itself (a hundredth of alpha is reserved for it).
    first, second: [n], the pairs independent of each other
    context: [n], needed wherever the law of a draw depends on it (the prompt, the row of a batch, the position): pairs
    from different laws mixed together depend on each other. A context may not contain draws of another pair: of a text,
    ``betting`` tests the tokens given the past
    alpha, seed: rate at which the p-value decides, seed of the random tables
    Guarantee: Pr(p_value <= a) <= a if both are independent given the context, for every a, n and law; over the
    random tables and the data. Raises: InputError for different lengths or no pairs.
    Source: Fisher's conditioning on the margins; Patefield 1981 (random tables); Besag and Clifford 1991; the e-value
    by Markov's inequality.
    """
    from scipy.stats import random_table  # half a second of importing, for this alone

    checked_rates(alpha)
    context = [None] * len(first) if context is None else context
    if not (len(first) == len(second) == len(context)):
        raise InputError(f"{len(first)} and {len(second)} draws with {len(context)} contexts, expected as many of each")
    checked_size("pairs", len(first), 1)
    (a, names_a), (b, names_b), (c, names_c) = _coded(first), _coded(second), _numbered(context)
    tables = np.zeros((len(names_c), len(names_a), len(names_b)), dtype=np.int64)
    np.add.at(tables, (c, a, b), 1)
    strata = [(k, t[t.any(axis=1)][:, t.any(axis=0)]) for k, t in enumerate(tables)]
    strata = [(k, t) for k, t in strata if min(t.shape) > 1]
    if not strata:
        return Independence(0.0, 1.0, len(first), 0, "nothing to compare")
    generator = np.random.default_rng(seed)
    laws = [random_table(t.sum(axis=1), t.sum(axis=0)) for _, t in strata]

    def simulated(m: int) -> np.ndarray:
        return sum((_terms(law.rvs(m, random_state=generator)).sum(axis=(-1, -2)) for law in laws), np.zeros(m))

    statistic = float(sum(_terms(t).sum(axis=(-1, -2)) for _, t in strata))
    p_value = min(1.0, max(SMALLEST_P_VALUE, exp(min(0.0, -sum(log_e_value(t) for _, t in strata))) / E_VALUE_SHARE))
    if p_value > alpha:
        p_value = min(p_value, monte_carlo_p(statistic, simulated, draws_for(alpha))[0] / (1 - E_VALUE_SHARE), 1.0)
    terms = {k: _terms(tables[k]) for k, _ in strata}
    k = max(terms, key=lambda k: terms[k].max())
    i, j = np.unravel_index(terms[k].argmax(), terms[k].shape)
    expected = tables[k][i].sum() * tables[k][:, j].sum() / tables[k].sum()
    given = "" if names_c[k] is None else f" given {names_c[k]!r}"
    witness = f"{names_a[i]!r} with {names_b[j]!r}{given}: seen {tables[k][i, j]} times, expected {expected:.6g}"
    return Independence(statistic, p_value, len(first), len(strata), witness)


def log_e_value(table: np.ndarray) -> float:
    """log of an e-value of a table given both margins: a Jeffreys mixture for each row, over the law of independence.

    E = prod_a [Γ(c/2) / Γ(1/2)^c prod_b Γ(x_ab + 1/2) / Γ(x_a + c/2)] n! / prod_b x_b!. Given the margins every order
    of the second draws is equally likely; the mixture is one law of them given the first draws, so its probabilities of
    those orders add up to 1 at most.
    table: [rows, columns] counts. Guarantee: E[E] <= 1 under independence. Source: Krichevsky and Trofimov 1981.
    """
    half = np.full(table.shape, 0.5)
    rows = gammaln(table + half).sum(axis=1) - gammaln(half).sum(axis=1)
    rows += gammaln(half.sum(axis=1)) - gammaln((table + half).sum(axis=1))
    return float(rows.sum() + gammaln(table.sum() + 1) - gammaln(table.sum(axis=0) + 1).sum())


def _terms(tables: np.ndarray) -> np.ndarray:
    """Contribution of each cell to G; [..., rows, columns]."""
    expected = tables.sum(axis=-1, keepdims=True) * tables.sum(axis=-2, keepdims=True)
    expected = expected / tables.sum(axis=(-1, -2), keepdims=True)
    return 2 * xlogy(tables, np.divide(tables, expected, out=np.ones(tables.shape), where=expected > 0))


def _numbered(values: Draws) -> tuple[np.ndarray, list]:
    names = list(dict.fromkeys(values))
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[value] for value in values]), names


def _coded(values: Draws) -> tuple[np.ndarray, list]:
    """Numbers of the outcomes, rare ones pooled; which are rare depends on their own frequencies only."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    # Equally frequent ones by name: the order in which they came would tie the two columns together.
    ranked = [o for o, _ in sorted(Counter(values).items(), key=lambda seen: (-seen[1], repr(seen[0])))]
    if len(ranked) <= MAX_OUTCOMES:
        return _numbered(values)
    frequent = set(ranked[: MAX_OUTCOMES - 1])
    return _numbered([value if value in frequent else "others" for value in values])
