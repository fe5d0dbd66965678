"""Mutants that look up, or write to, the wrong place."""

import numpy as np

from .catalogue import ZooEntry
from .parts import draw, excess, ratio, token_by_token

KIND = "index"


def first_token_unverified(target, draft, tokens, rng):
    """Starts the loop at the second token: the first is always accepted."""

    def accepts(i, x):
        return i == 0 or rng.random() < ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


def replacement_from_next_row(target, draft, tokens, rng):
    """Replaces a rejected token by what would follow it."""

    def recovers(i, x):
        return draw(rng, target[i + 1], target[i + 1])

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def target_rows_one_late(target, draft, tokens, rng):
    """Verifies each token with the target's row of the position after it."""
    return token_by_token(np.concatenate([target[1:], target[-1:]]), draft, tokens, rng)


def place_in_sorted_list_returned(target, draft, tokens, rng):
    """Draws from the residual sorted by weight and returns the place in that list as if it were the token."""

    def recovers(i, x):
        return draw(rng, np.sort(excess(target[i], draft[i]))[::-1], target[i])

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def draft_rows_out_of_order(target, draft, tokens, rng):
    """Tests with the draft's rows in the order that a reordered batch left them in."""
    return token_by_token(target, draft[::-1], tokens, rng)


def neighbour_overwrites(target, draft, tokens, rng):
    """Writes each request's replacement into every row of the batch, here one neighbour on the same problem.

    The row ends where a replacement stands in it, so that of the two the earlier rejection counts.
    """
    ours, theirs = (token_by_token(target, draft, tokens, rng) for _ in range(2))
    return theirs if len(theirs) < len(ours) else ours


MUTANTS = (
    ZooEntry(
        "M30", first_token_unverified, "first draft token always accepted", KIND,
        "lattice: the verify loop was shifted by one, so that the first draft was never tested",
        "https://github.com/ohdearquant/lattice/issues/243",
    ),
    ZooEntry(
        "M31", replacement_from_next_row, "replacement from the row after", KIND,
        "openvino.genai: a rejected token is replaced by a draw from its continuation's row",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4190",
    ),
    ZooEntry(
        "M32", target_rows_one_late, "target rows one position late", KIND,
        "TensorRT-LLM: verification of the dynamic tree sliced the wrong rows of logits",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/15098",
    ),
    ZooEntry(
        "M33", place_in_sorted_list_returned, "place in a sorted list returned as the token", KIND,
        "vllm-ascend: an index among reordered candidates was taken for a vocabulary id",
        "https://github.com/vllm-project/vllm-ascend/issues/16396",
    ),
    ZooEntry(
        "M34", draft_rows_out_of_order, "draft rows out of order", KIND,
        "vllm: draft probabilities were not permuted along when the batch was reordered",
        "https://github.com/vllm-project/vllm/issues/41044",
    ),
    ZooEntry(
        "M35", neighbour_overwrites, "a neighbour's replacement is written into this row", KIND,
        "flash-attention: an index over rows and columns wrote every row's token into all rows",
        "https://github.com/Dao-AILab/flash-attention/issues/2779",
    ),
)  # fmt: skip
