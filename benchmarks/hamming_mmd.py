"""Model-equality testing's two-sample test: the MMD of completions with a Hamming kernel, by permutation.

Source: Gao, Liang, Guestrin 2024, Model equality testing: which model is this API serving?
"""

from collections.abc import Sequence

import numpy as np

PERMUTATIONS = 1999


def hamming_kernel(prompts: Sequence[int], texts: np.ndarray) -> np.ndarray:
    """k(x, y) = 1[same prompt] * the share of places at which x and y have the same token. texts: [n, L], padded."""
    prompts = np.asarray(prompts)
    kernel = np.zeros((len(texts), len(texts)))
    for prompt in np.unique(prompts):
        at = np.flatnonzero(prompts == prompt)
        kernel[np.ix_(at, at)] = (texts[at][:, None] == texts[at][None]).mean(-1)
    return kernel


def mmd(kernel: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The unbiased estimate of MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y), of each row of a batch of labels.

    first: [B, n], 1.0 for x and 0.0 for y.
    """
    off = kernel - np.diag(np.diag(kernel))
    second = 1 - first
    n, m = first.sum(-1), second.sum(-1)
    within = [((labels @ off) * labels).sum(-1) / (k * (k - 1)) for labels, k in ((first, n), (second, m))]
    return within[0] + within[1] - 2 * ((first @ off) * second).sum(-1) / (n * m)


def permutation_p_value(prompts: Sequence[int], texts: np.ndarray, first: np.ndarray, seed: int = 0) -> float:
    """Of "both are of one law", by PERMUTATIONS of the labels within each prompt.

    p = (1 + how many permutations have an MMD as large) / (1 + PERMUTATIONS): at most alpha with probability at most
    alpha for two samples of one law.
    """
    prompts, labels = np.asarray(prompts), np.asarray(first, dtype=float)
    drawn, many = np.random.default_rng(seed), np.repeat(labels[None], PERMUTATIONS + 1, 0)
    for prompt in np.unique(prompts):
        at = np.flatnonzero(prompts == prompt)
        many[1:, at] = drawn.permuted(many[1:, at], axis=1)
    found = mmd(hamming_kernel(prompts, texts), many)
    return float((found >= found[0] - 1e-12).sum() / len(found))
