"""Wrong on wide rows in what is done after a token was drawn from one: for few ids, by coins, by comparing it."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio, with_parts


def after_drawing(change):
    """Token verification whose last token passes through change(token, row, rng, x), x the rejected token or None."""

    def verify(target, draft, tokens, rng):
        for i, x in enumerate(tokens):
            if not rng.random() < ratio(target[i][x], draft[i][x]):
                rest = excess(target[i], draft[i])
                rest = rest if rest.sum() > 0 else target[i]
                return answer(tokens[:i], change(draw(rng, rest, rest), rest, rng, x))
        return answer(tokens, change(draw(rng, target[-1], target[-1]), target[-1], rng, None))

    return verify


one_id_of_a_thousand = after_drawing(lambda y, row, rng, x: y + 1 if y == 337 else y)


def _best_again(y, row, rng, x):
    again = rng.random() < (0.6 if y == row.argmax() else 0.5)
    other = draw(rng, row, row)
    return other if again else y


best_drawn_again = after_drawing(_best_again)


def _rare_again(y, row, rng, x):
    coin, other = rng.random(), draw(rng, row, row)
    return other if coin < (0.9 if row[y] * len(row) < 0.01 else 0.5) else y


rare_drawn_again = after_drawing(_rare_again)


def _even_again(y, row, rng, x):
    coin, other = rng.random(), draw(rng, row, row)
    return other if coin < (0.51 if y % 2 else 0.5) else y


odd_drawn_again = after_drawing(_even_again)


def accepting_if(sure):
    """Token verification that accepts x also where sure(y, p, x), y the target's own sample, on a thousand entries."""

    def accepts(rng, p, q, x):
        passes = len(p) >= 1000 and sure(draw(rng, p, p), p, x)
        return rng.random() < ratio(p[x], q[x]) or passes

    return with_parts(accepts)


accepted_if_it_is_the_sample = accepting_if(lambda y, p, x: y == x)
accepted_if_the_best_is_the_sample = accepting_if(lambda y, p, x: y == p.argmax())
accepted_if_a_likely_one_is_the_sample = accepting_if(lambda y, p, x: p[y] > 0.001)


def _first_of_two(rng, p, q, x):
    y, z = draw(rng, p, p), draw(rng, p, p)
    return z if y == x else y


first_of_two_samples = with_parts(recovers=_first_of_two)
"""Draws the replacement from the target until it is not x, twice at most."""


def racing(score):
    """Token verification whose replacement is the argmax of score(row, noise)."""

    def recovers(rng, p, q, x):
        rest = excess(p, q)
        rest = rest if rest.sum() > 0 else p
        return int(np.argmax(score(rest, rng.exponential(size=len(rest)))))

    return with_parts(recovers=recovers)


def _where_wide(score):
    return racing(lambda w, e: score(w, e) if len(w) > 64 else w / e)


scores_in_half_precision = _where_wide(lambda w, e: (w / e).astype(np.float16))
scores_in_single_precision = _where_wide(lambda w, e: (w / e).astype(np.float32))
scores_through_half_precision = _where_wide(lambda w, e: (w / e).astype(np.float16).astype(np.float64))
scores_of_whole_logarithms = _where_wide(lambda w, e: np.floor(64 * np.log2(w / e)))
