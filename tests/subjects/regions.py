"""Wrong verifiers whose bug acts only where the two models have rows of a certain kind; right everywhere else."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import drawn_from, excess, with_parts, with_rows


def _keeping(decided):
    """Make token verification without a coin where decided(p, q, x) is not None, for the rows p and q."""

    def accepts(rng, p, q, x):
        kept = decided(p, q, x)
        return rng.random() * q[x] < p[x] if kept is None else kept

    return with_parts(accepts)


right, thrown_away_everywhere = _keeping(lambda p, q, x: None), _keeping(lambda p, q, x: False)
no_coin_for_a_sure_target = _keeping(lambda p, q, x: True if p[x] > 1 - 1e-8 else None)
no_coin_where_both_are_sure = _keeping(lambda p, q, x: True if min(p[x], q[x]) > 0.999 else None)
no_coin_for_nearly_equal = _keeping(lambda p, q, x: True if np.isclose(p[x], q[x], rtol=1e-6, atol=0) else None)
rare_tokens_never_kept = _keeping(lambda p, q, x: False if p[x] < 1e-8 else None)

small_residual_skipped = with_parts(
    recovers=drawn_from(lambda p, q, x: rest if (rest := excess(p, q)).sum() > 1e-7 else p)
)
small_weights_skipped = with_parts(
    recovers=drawn_from(lambda p, q, x: np.where((rest := excess(p, q)) < 1e-7, 0, rest))
)
largest_where_rows_are_equal = with_parts(
    lambda rng, p, q, x: not (p == q).all() and rng.random() * q[x] < p[x],
    drawn_from(lambda p, q, x: (p == p.max()).astype(float) if (p == q).all() else excess(p, q)),
)


def _too_willing(share):
    return with_rows(lambda target, tokens: (target * (1 + share)).astype(target.dtype))


half_a_millionth_too_willing, two_millionths_too_willing = _too_willing(5e-7), _too_willing(2e-6)
