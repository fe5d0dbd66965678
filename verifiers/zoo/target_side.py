"""Mutants that verify with target rows other than those the text is to follow."""

import numpy as np

from .catalogue import ZooEntry
from .parts import draw, normalised, token_by_token, without

KIND = "wrong p"


def target_at_defaults(target, draft, tokens, rng):
    """Verifies with the target at twice its temperature, as if the request had named none."""
    return token_by_token(normalised(np.sqrt(target)), draft, tokens, rng)


def penalty_counted_twice(target, draft, tokens, rng):
    """Halves a token's target probability for every time it stands in the draft before."""
    rows = target.copy()
    for i, x in enumerate(tokens):
        rows[i + 1 :, x] /= 2
    return token_by_token(normalised(rows), draft, tokens, rng)


def target_zeroed_before_test(target, draft, tokens, rng):
    """Takes the draft token out of the target row for the residual, and only then tests it: always rejected."""
    row = without(target[0], tokens[0])
    return token_by_token(target, draft, tokens, rng, lambda i, x: row[x] > 0, lambda i, x: draw(rng, row, target[0]))


MUTANTS = (
    ZooEntry(
        "M21", target_at_defaults, "target at default temperature", KIND,
        "vllm: temperature and top-p reached the draft model only, the target ran at defaults",
        "https://github.com/vllm-project/vllm/issues/9834",
    ),
    ZooEntry(
        "M22", penalty_counted_twice, "drafted tokens penalised twice", KIND,
        "vmlx-swift: drafting and verifying both recorded the tokens in the shared penalty counts",
        "https://github.com/osaurus-ai/vmlx-swift/issues/357",
    ),
    ZooEntry(
        "M23", target_zeroed_before_test, "target zeroed in place before the test", KIND,
        "vllm-ascend: for n-gram drafts the target row was zeroed in place ahead of the accept test",
        "https://github.com/vllm-project/vllm-ascend/issues/2881",
    ),
)  # fmt: skip
