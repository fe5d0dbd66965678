"""Mutants of the acceptance test: the residual and the rows are right."""

import numpy as np

from .catalogue import ZooEntry
from .parts import answer, draw, ratio, token_by_token

KIND = "accept rule"


def accept_everything(target, draft, tokens, rng):
    """Counts every draft token as a match."""
    return answer(tokens, draw(rng, target[-1], target[-1]))


def uniform_stuck_at_zero(target, draft, tokens, rng):
    """Tests 0 * q < p: rejects nothing but what the target excludes."""
    return token_by_token(target, draft, tokens, rng, accepts=lambda i, x: 0.0 * draft[i][x] < target[i][x])


def ratio_upside_down(target, draft, tokens, rng):
    """Accepts with probability q / p, the inverse of the likelihood ratio."""

    def accepts(i, x):
        return rng.random() < ratio(draft[i][x], target[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


def uniform_in_hundredths(target, draft, tokens, rng):
    """Compares the ratio with a whole number of hundredths, 0 and 1 included."""

    def accepts(i, x):
        return np.floor(101 * rng.random()) <= 100 * ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


def measured_against_own_sample(target, draft, tokens, rng):
    """Accepts with q(x) / p(y), y being the target's own sample, which it emits where it rejects."""
    for i, x in enumerate(tokens):
        y = draw(rng, target[i], target[i])
        if not rng.random() < ratio(draft[i][x], target[i][y]):
            return answer(tokens[:i], y)
    return answer(tokens, draw(rng, target[-1], target[-1]))


def accept_if_sampled_too(target, draft, tokens, rng):
    """A second way in: a token that the target's own sample hits is accepted without the test."""

    def accepts(i, x):
        return draw(rng, target[i], target[i]) == x or rng.random() < ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


def measured_against_mode(target, draft, tokens, rng):
    """Accepts with p(x) / max p: the draft's probability does not enter."""

    def accepts(i, x):
        return rng.random() < target[i][x] / target[i].max()

    return token_by_token(target, draft, tokens, rng, accepts)


def argmax_instead_of_test(target, draft, tokens, rng):
    """Accepts what equals the target's argmax and emits the argmax otherwise; only the bonus token is sampled."""

    def accepts(i, x):
        return np.argmax(target[i]) == x

    return token_by_token(target, draft, tokens, rng, accepts, lambda i, x: np.argmax(target[i]))


def coin_of_zero_passes(target, draft, tokens, rng):
    """Tests u <= p / q: a token that the target excludes passes where the uniform is exactly 0."""

    def accepts(i, x):
        return rng.random() <= ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)


MUTANTS = (
    ZooEntry(
        "M01", accept_everything, "accepts every draft token", KIND,
        "transformers: the count of matches was wrong, so that every candidate was accepted",
        "https://github.com/huggingface/transformers/issues/28508",
    ),
    ZooEntry(
        "M02", uniform_stuck_at_zero, "the uniform is the constant 0", KIND,
        "vllm-ascend: the uniform of the test was the constant 0.0, so that nothing was rejected",
        "https://github.com/vllm-project/vllm-ascend/issues/13730",
    ),
    ZooEntry(
        "M03", ratio_upside_down, "accepts with q / p instead of p / q", KIND,
        "openvino.genai: validate_candidate has the likelihood ratio inverted (by reading; no public report found)",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490",
    ),
    ZooEntry(
        "M04", uniform_in_hundredths, "the uniform is a whole number of hundredths", KIND,
        "openvino.genai: validate_candidate draws its uniform as an integer from 0 to 100, divided by 100",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490",
    ),
    ZooEntry(
        "M05", measured_against_own_sample, "tests q(x) against p of the target's own sample", KIND,
        "openvino.genai: validate_candidate compares two tokens' probabilities, and keeps the target's own sample",
        "https://github.com/openvinotoolkit/openvino.genai/issues/4490",
    ),
    ZooEntry(
        "M06", accept_if_sampled_too, "accepts also what the target's own sample equals", KIND,
        "rtp-llm: a same-token shortcut before the test of the ratio accepts too often",
        "https://github.com/alibaba/rtp-llm/issues/1295",
    ),
    ZooEntry(
        "M07", measured_against_mode, "accepts with p(x) / max p", KIND,
        "1bit-MONSTER: the probability of the target's best token stood in for the draft's",
        "https://github.com/1bit-MONSTER/1bit-MONSTER/issues/637",
    ),
    ZooEntry(
        "M08", argmax_instead_of_test, "verifies by argmax at temperature > 0", KIND,
        "sglang: where the sampling kernel is missing, sampled requests are verified by argmax",
        "https://github.com/sgl-project/sglang/issues/39253",
    ),
    ZooEntry(
        "M09", coin_of_zero_passes, "accepts an impossible token at u = 0", KIND,
        "sglang: coin <= p / q accepts a token with p = 0 where the coin is 0, which torch.rand includes",
        "https://github.com/sgl-project/sglang/issues/35771", refutes=("support",),
    ),
)  # fmt: skip
