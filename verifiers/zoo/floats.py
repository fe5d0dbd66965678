"""Mutants of precision: the formulas are right, the numbers are too short."""

import numpy as np

from .catalogue import ZooEntry
from .parts import ratio, token_by_token

KIND = "float"


def _bfloat16(rows):
    """The nearest numbers of 8 significant bits."""
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent)


def q_in_another_precision(target, draft, tokens, rng):
    """Tests with q rounded to bfloat16, though the tokens were drawn from the unrounded row."""
    return token_by_token(target, _bfloat16(draft), tokens, rng)


def half_precision_rows(target, draft, tokens, rng):
    """Tests in float16: small probabilities lose their digits, below 6e-8 themselves, and 0 / 0 is accepted."""
    p, q = (rows.astype(np.float16).astype(np.float64) for rows in (target, draft))

    def accepts(i, x):
        return q[i][x] == 0 or rng.random() < ratio(p[i][x], q[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


MUTANTS = (
    ZooEntry(
        "M44", q_in_another_precision, "q in another precision than the draws", KIND,
        "DeepSpec: the draft sampled from a bfloat16 softmax and the test used float32 probabilities",
        "https://github.com/deepseek-ai/DeepSpec/issues/31",
    ),
    ZooEntry(
        "M45", half_precision_rows, "acceptance in half precision", KIND,
        "mlxcel: float16 probabilities below 6e-8 vanish, and a small ratio turns into certain acceptance",
        "https://github.com/lablup/mlxcel/issues/992",
    ),
)  # fmt: skip
