"""Mutants of the residual: acceptance is right, the token that replaces a rejected one is not."""

import numpy as np

from .catalogue import ZooEntry
from .parts import draw, drawable, excess, token_by_token, without

KIND = "residual"


def _replacing(target, draft, tokens, rng, weights):
    """Token verification whose replacement is drawn from weights(p, q, x)."""

    def recovers(i, x):
        return draw(rng, weights(target[i], draft[i], x), target[i])

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def softmax_of_residual(target, draft, tokens, rng):
    """Normalises the residual by a softmax, which gives mass to every token."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: np.exp(excess(p, q)))


def replacement_from_target(target, draft, tokens, rng):
    """Draws the replacement from the target itself."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: p)


def only_rejected_token_removed(target, draft, tokens, rng):
    """Subtracts the draft's row at the rejected token alone: the target without that token."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: without(p, x))


def mode_of_residual(target, draft, tokens, rng):
    """Takes the likeliest token of the residual instead of a draw from it."""

    def recovers(i, x):
        return np.argmax(excess(target[i], draft[i]))

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def nan_wins_argmax(target, draft, tokens, rng):
    """Takes log p + log(1 - q / p) + Gumbel noise: NaN where both rows are 0, and argmax returns the first NaN."""

    def recovers(i, x):
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(target[i]) + np.log1p(-np.minimum(draft[i] / target[i], 1.0))
        return np.argmax(scores + rng.gumbel(size=len(scores)))

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def paired_by_place_in_list(target, draft, tokens, rng):
    """Subtracts row from row by place in two lists, of which the draft's is sorted by probability."""
    return _replacing(target, draft, tokens, rng, lambda p, q, x: excess(p, np.sort(q)[::-1]))


def stale_buffer_subtracted(target, draft, tokens, rng):
    """Treats the draft as a point mass, right so far, but subtracts what an uninitialised row still holds."""

    def accepts(i, x):
        return rng.random() < target[i][x]

    def recovers(i, x):
        rest = without(target[i], x)
        return draw(rng, excess(rest, draft[i]), drawable(rest, target[i]))

    return token_by_token(target, draft, tokens, rng, accepts, recovers)


MUTANTS = (
    ZooEntry(
        "M10", softmax_of_residual, "softmax of the residual", KIND,
        "transformers: the residual went through softmax where it had to be divided by its sum",
        "https://github.com/huggingface/transformers/issues/28508",
    ),
    ZooEntry(
        "M11", replacement_from_target, "replacement drawn from the target, not the residual", KIND,
        "Spec-RL: at the first rejection the token is drawn from p (by design, for training)",
        "https://github.com/ShopeeLLM/Spec-RL/issues/14",
    ),
    ZooEntry(
        "M12", only_rejected_token_removed, "residual that only zeroes the rejected token", KIND,
        "EAGLE: the target was adjusted at the rejected token alone (later also xllm#2175)",
        "https://github.com/SafeAILab/EAGLE/issues/20",
    ),
    ZooEntry(
        "M13", mode_of_residual, "argmax of the residual", KIND,
        "mistral.rs: the token after a rejection was the argmax where it had to be a sample",
        "https://github.com/EricLBuehler/mistral.rs/issues/2424",
    ),
    ZooEntry(
        "M14", nan_wins_argmax, "a NaN wins the residual's argmax", KIND,
        "vllm: a NaN or zero row in the argmax over the residual yields a token that cannot be",
        "https://github.com/vllm-project/vllm/issues/45060",
    ),
    ZooEntry(
        "M15", paired_by_place_in_list, "residual of rows in different order", KIND,
        "llama.cpp, examples/speculative: candidate lists subtracted by array index (by reading; no public report)",
        "https://github.com/ggml-org/llama.cpp/blob/master/examples/speculative/speculative.cpp",
    ),
    ZooEntry(
        "M16", stale_buffer_subtracted, "stale memory in the residual of a point-mass draft", KIND,
        "sglang: draft_probs was allocated and never written, and the residual read it",
        "https://github.com/sgl-project/sglang/issues/12561",
    ),
)  # fmt: skip
