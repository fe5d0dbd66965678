"""Wrong only at some positions, lengths, repetitions, or for some blocks."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import (
    answer,
    block_by_block,
    draw,
    excess,
    ratio,
    survivals,
    token_by_token,
)


def unverified(where):
    """Token verification that accepts without a coin where(i, tokens)."""

    def verify(target, draft, tokens, rng):
        return token_by_token(
            target, draft, tokens, rng, lambda i, x: where(i, tokens) or rng.random() < ratio(target[i][x], draft[i][x])
        )

    return verify


ninth_and_later = unverified(lambda i, t: i >= 8)
mask_of_8_bits = unverified(lambda i, t: np.uint8((1 << i) & 0xFF) == 0)
mask_of_32_bits = unverified(lambda i, t: np.uint32((1 << i) & 0xFFFFFFFF) == 0)
repeated_token = unverified(lambda i, t: i > 0 and t[i] == t[i - 1])
three_of_a_kind = unverified(lambda i, t: i >= 2 and t[i] == t[i - 1] == t[i - 2])
one_block_only = unverified(lambda i, t: [*t] == [0, 1, 0])


def bonus_from_the_row_before(target, draft, tokens, rng):
    """From three draft tokens on, the bonus token comes from the last row but one."""
    ends = token_by_token(target, draft, tokens, rng)
    return ends if len(ends) <= len(tokens) or len(tokens) < 3 else answer(tokens, draw(rng, target[-2], target[-2]))


def block_of_four(target, draft, tokens, rng):
    """Block verification whose surviving probability starts again at 1 after four tokens; right up to four."""
    p = survivals(target, draft, tokens)
    for i in range(4, len(tokens)):
        x = tokens[i]
        p[i + 1] = min((p[i] if i > 4 else 1.0) * ratio(target[i][x], draft[i][x]), 1.0)
    return block_by_block(target, draft, tokens, rng, p)


def eighth_row_overwritten(target, draft, tokens, rng):
    """A buffer of eight rows, used in a circle."""
    rows = np.array([target[i if i < 8 else i - 8] for i in range(len(target))])
    return token_by_token(rows, draft, tokens, rng)


def where_wide(wrong):
    """Token verification that is right on less than a thousand tokens, else wrong(target, draft, tokens, rng)."""

    def verify(target, draft, tokens, rng):
        return (wrong if len(target[0]) > 1000 else token_by_token)(target, draft, tokens, rng)

    return verify


def _stale_draft_row(target, draft, tokens, rng):
    last = len(tokens) - 1

    def recovers(i, x):
        return draw(rng, excess(target[i], draft[i - (0 < i == last)]), target[i])

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


wide_third = where_wide(unverified(lambda i, t: i == 2))
wide_thrice = where_wide(three_of_a_kind)
wide_fourth_refused = where_wide(
    lambda target, draft, tokens, rng: token_by_token(
        target, draft, tokens, rng, lambda i, x: i != 3 and rng.random() < ratio(target[i][x], draft[i][x])
    )
)
wide_bonus_from_the_row_before = where_wide(bonus_from_the_row_before)
wide_stale_draft_row = where_wide(_stale_draft_row)
wide_probable = where_wide(
    lambda target, draft, tokens, rng: token_by_token(
        target, draft, tokens, rng, lambda i, x: target[i][x] > 0.9 or rng.random() < ratio(target[i][x], draft[i][x])
    )
)
gamma_of_twenty = unverified(lambda i, t: len(t) == 20)
