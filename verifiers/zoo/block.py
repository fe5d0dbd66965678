"""Mutants of block verification."""

import numpy as np

from .catalogue import ZooEntry
from .parts import (
    UNCAPPED,
    answer,
    block_by_block,
    draw,
    excess,
    ratio,
    share,
    survival,
    token_by_token,
)

KIND = "block rule"


def products_of_uniforms(target, draft, tokens, rng):
    """Compares products of capped ratios with products of uniforms; keeps up to the last that passes."""
    legal = np.cumprod([min(ratio(target[i][x], draft[i][x]), 1.0) for i, x in enumerate(tokens)])
    passed = np.flatnonzero(legal >= np.cumprod(rng.random(len(tokens))))
    end = int(passed[-1]) + 1 if len(passed) else 0
    rest = excess(target[end], draft[end]) if end < len(tokens) else target[end]
    return answer(tokens[:end], draw(rng, rest, target[end]))


def block_with_token_residual(target, draft, tokens, rng):
    """Accepts by the block and replaces from the residual of a single token."""
    return block_by_block(target, draft, tokens, rng, weights=lambda i: excess(target[i], draft[i]))


def block_without_draft_probabilities(target, draft, tokens, rng):
    """Puts q = 1 for every token, as if a draft without probabilities had them."""
    return block_by_block(target, np.ones_like(draft), tokens, rng)


def surplus_of_placeholder_row(target, draft, tokens, rng):
    """Takes the residual's mass in h_i from the row after, and at the end from that of a draft that is not there."""
    kept = survival(target, draft, tokens)
    rows = np.concatenate([draft[1:], np.zeros_like(draft[:1])])

    def accept(i):
        return share(excess(target[i + 1], rows[i], kept[i]).sum(), 1.0 - kept[i])

    return block_by_block(target, draft, tokens, rng, kept, accept=accept)


def greedy_block_in_plain_loop(target, draft, tokens, rng):
    """Greedy block verification without the change of the target that has to follow it."""
    kept = survival(target, draft, tokens, UNCAPPED)

    def accept(i):
        shortfall = excess(draft[i], kept[i] * target[i]).sum()
        return excess(target[i], draft[i], kept[i]).sum() / shortfall if shortfall > 0 else 1.0

    return block_by_block(target, draft, tokens, rng, kept, accept=accept)


def last_ratio_uncapped(target, draft, tokens, rng):
    """Branch-wise capped ratios for every sub-block but the whole, which is accepted by the plain product."""
    return block_by_block(target, draft, tokens, rng, last=survival(target, draft, tokens, UNCAPPED)[-1])


def token_rule_under_the_name_of_block(target, draft, tokens, rng):
    """Token verification: right, but not the block verification that was asked for."""
    return token_by_token(target, draft, tokens, rng)


def block_rule_from_three_tokens_on(target, draft, tokens, rng):
    """Block verification for gamma >= 3 and token verification below, where it is held to be the same."""
    return (block_by_block if len(tokens) >= 3 else token_by_token)(target, draft, tokens, rng)


MUTANTS = (
    ZooEntry(
        "M36", products_of_uniforms, "cumulative ratios against cumulative uniforms", KIND,
        "vllm-ascend: cumprod(min(p/q, 1)) >= cumprod(u), with the residual of a single token",
        "https://github.com/vllm-project/vllm-ascend/issues/7807",
    ),
    ZooEntry(
        "M37", block_with_token_residual, "block acceptance with the token residual", KIND,
        "vllm-ascend: the recovered token came from the same residual whether or not the block rule was on",
        "https://github.com/vllm-project/vllm-ascend/issues/7808",
    ),
    ZooEntry(
        "M38", block_without_draft_probabilities, "block rule with q = 1", KIND,
        "vllm-ascend: the block rule ran on n-gram drafts, whose missing probabilities were set to 1",
        "https://github.com/vllm-project/vllm-ascend/issues/7603",
    ),
    ZooEntry(
        "M39", surplus_of_placeholder_row, "residual mass of a placeholder's row", KIND,
        "vllm: with placeholders in the draft, the block rule took the residual's mass from a placeholder's row",
        "https://github.com/vllm-project/vllm/issues/50939",
    ),
    ZooEntry(
        "M40", greedy_block_in_plain_loop, "greedy block verification in the plain loop", KIND,
        "the paper's own warning: Algorithm 4 in the loop of Algorithm 3 is not valid (Appendix C)",
        "https://arxiv.org/abs/2403.10444",
    ),
    ZooEntry(
        "M41", last_ratio_uncapped, "uncapped ratio for the whole block", KIND,
        "Hierarchical Speculative Decoding: the code's final joint ratio lacks the cap of its other steps",
        "https://github.com/ZhouYuxuanYX/Hierarchical-Speculative-Decoding",
    ),
    ZooEntry(
        "M42", token_rule_under_the_name_of_block, "token verification under the name of block", KIND,
        "vllm-ascend: use_block_verification was accepted and silently ignored",
        "https://github.com/vllm-project/vllm-ascend/issues/15673", refutes=("optimal",),
    ),
    ZooEntry(
        "M43", block_rule_from_three_tokens_on, "block rule only for three tokens and more", KIND,
        "vllm: the block rule is gated to blocks of three and more, the rest being held to be equal",
        "https://github.com/vllm-project/vllm/issues/40819", refutes=("optimal",),
    ),
)  # fmt: skip
