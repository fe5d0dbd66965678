"""Wrong by what is remembered between calls: rows, results, random numbers, counts."""

import numpy as np

from draftproof.tests.deceivers.occasions import when
from draftproof.verifiers.zoo.building_blocks import draw, drawable, excess, ratio, token_by_token

ROWS, RESULTS, CALLS = {}, {}, [0]


def remembering(key):
    """Token verification with residuals kept under key(p, q, i, tokens)."""
    kept = {}

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            row = kept.setdefault(key(target[i], draft[i], i, tokens), drawable(excess(target[i], draft[i]), target[i]))
            return draw(rng, row, row)

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


residuals_by_rounded_rows = remembering(lambda p, q, i, t: (tuple(np.round(p, 6)), tuple(np.round(q, 6))))
residuals_by_target = remembering(lambda p, q, i, t: p.tobytes())
residuals_by_first_entry = remembering(lambda p, q, i, t: (len(p), float(p[0]), float(q[0])))


def ratios_by_draft_tokens(target, draft, tokens, rng):
    """Ratios are remembered by the block: a second problem with the same tokens gets the first one's."""
    key = (len(target[0]), *map(int, tokens))
    ratios = RESULTS.setdefault(key, [ratio(target[i][x], draft[i][x]) for i, x in enumerate(tokens)])
    return token_by_token(target, draft, tokens, rng, lambda i, x: rng.random() < ratios[i])


def rows_of_the_call_before(target, draft, tokens, rng):
    """The bonus token comes from the last row of the call before, where that has the same width."""
    before = ROWS.get(len(target[0]), target[-1])
    ROWS[len(target[0])] = np.array(target[-1])
    return token_by_token(np.array([*target[:-1], before]), draft, tokens, rng)


def counting(wrong):
    """Token verification that accepts everything in the calls with wrong(n), n counted from 1 in the process."""
    calls = [0]

    def counted():
        calls[0] += 1
        return wrong(calls[0])

    return when(counted)


every_thousandth_call = counting(lambda n: n % 1000 == 0)
first_call = counting(lambda n: n == 1)


POOL = np.random.default_rng(7).random(997)


def uniforms_from_a_pool(target, draft, tokens, rng):
    """Uniforms drawn when the module was imported, used in a circle."""

    def uniform():
        CALLS[0] += 1
        return POOL[CALLS[0] % len(POOL)]

    return token_by_token(target, draft, tokens, rng, lambda i, x: uniform() < ratio(target[i][x], draft[i][x]))


SPARE = []


def uniform_kept_for_the_next_call(target, draft, tokens, rng):
    """The uniform of the last test is kept, and is the first test's in the next call."""

    def accepts(i, x):
        u = SPARE.pop() if SPARE else rng.random()
        if i == len(tokens) - 1:
            SPARE.append(u)
        return u < ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, accepts)
