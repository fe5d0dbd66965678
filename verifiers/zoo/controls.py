"""Right verifiers with an unusual rule: an audit that refutes one of these is wrong."""

import numpy as np

from .catalogue import ZooEntry
from .parts import answer, block_by_block, draw, drawable, excess, ratio, survival, token_by_token, without

KIND = "control"


def point_mass_rule(target, draft, tokens, rng):
    """Treats a sampled draft as a point mass: accepts with p(x), else draws from p without x."""

    def recovers(i, x):
        return draw(rng, without(target[i], x), target[i])

    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() < target[i][x], recovers)


def sampler_match(target, draft, tokens, rng):
    """Samples the target at every position, and goes on as long as the draft has guessed the sample."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if y != x:
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def one_draw_for_both(target, draft, tokens, rng):
    """Decides acceptance and replacement in a single draw among V + 1 outcomes."""
    for i, x in enumerate(tokens):
        accepted = min(ratio(target[i][x], draft[i][x]), 1.0)
        rest = (1.0 - accepted) * drawable(excess(target[i], draft[i]), target[i])
        k = draw(rng, np.append(rest, accepted), target[i])
        if k < len(rest):
            return answer(tokens[:i], k)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def block_verification_in_floats(target, draft, tokens, rng):
    """Block verification, from the longest sub-block down."""
    return block_by_block(target, draft, tokens, rng)


def block_verification_as_a_stream(target, draft, tokens, rng):
    """Block verification front to back: at each step the outcome found so far is kept or replaced by a longer one."""
    kept, outcome = survival(target, draft, tokens), None
    for i in range(len(tokens) + 1):
        q = draft[i] if i < len(tokens) else np.zeros_like(target[i])
        weights = np.append(excess(target[i], q, kept[i]), 1.0 - kept[i])
        if weights.sum() > 0:
            k = draw(rng, weights, weights)
            outcome = outcome if k == len(q) else answer(tokens[:i], k)
    return outcome or answer((), draw(rng, target[0], target[0]))  # only for tokens that cannot be drafted


CONTROLS = (
    ZooEntry(
        "C01", point_mass_rule, "point-mass rule with a sampled draft", KIND,
        "vllm: reported as wrong for sampled drafts; it accepts less, and any way to choose x is lossless",
        "https://github.com/vllm-project/vllm/issues/40149", refutes=(),
    ),
    ZooEntry(
        "C02", sampler_match, "accepts what the target's own sample equals", KIND,
        "mlxcel proves it lossless, mlx-swift-lm#459 calls it biased",
        "https://github.com/lablup/mlxcel/issues/992", refutes=(),
    ),
    ZooEntry(
        "C03", one_draw_for_both, "acceptance and replacement in one draw", KIND,
        "the maximal coupling that token verification is, written as one categorical law",
        "https://arxiv.org/abs/2403.10444", refutes=(),
    ),
    ZooEntry(
        "C04", block_verification_in_floats, "block verification from the back", KIND,
        "sglang and vllm search the longest accepted sub-block in this order or the opposite one",
        "https://github.com/sgl-project/sglang/issues/36516", refutes=(),
    ),
    ZooEntry(
        "C05", block_verification_as_a_stream, "block verification as a stream", KIND,
        "the second published form of block verification (Sun et al. 2025, Appendix A)",
        "https://arxiv.org/abs/2403.10444", refutes=(),
    ),
)  # fmt: skip
