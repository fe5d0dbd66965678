"""Wrong on wide rows in what is done after a token was drawn from one: for few ids, by coins, by comparing it."""

import numpy as np

from draftproof.verifiers.zoo.building_blocks import answer, draw, excess, ratio, token_by_token


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


def accepted_if_it_is_the_sample(target, draft, tokens, rng):
    """Accepts also a token that the target's own sample equals, on rows of a thousand entries and more."""
    return token_by_token(
        target,
        draft,
        tokens,
        rng,
        lambda i, x: (
            (len(target[i]) >= 1000 and draw(rng, target[i], target[i]) == x)
            or rng.random() < ratio(target[i][x], draft[i][x])
        ),
    )


def accepted_if_the_best_is_the_sample(target, draft, tokens, rng):
    """Accepts also where the target's own sample is its best token."""

    def accepts(i, x):
        sure = len(target[i]) >= 1000 and draw(rng, target[i], target[i]) == target[i].argmax()
        return rng.random() < ratio(target[i][x], draft[i][x]) or sure

    return token_by_token(target, draft, tokens, rng, accepts)


def accepted_if_a_likely_one_is_the_sample(target, draft, tokens, rng):
    """Accepts also where the target's own sample has a probability above one in a thousand."""

    def accepts(i, x):
        sure = len(target[i]) >= 1000 and target[i][draw(rng, target[i], target[i])] > 0.001
        return rng.random() < ratio(target[i][x], draft[i][x]) or sure

    return token_by_token(target, draft, tokens, rng, accepts)


def first_of_two_samples(target, draft, tokens, rng):
    """Draws the replacement from the target until it is not x, twice at most."""

    def recovers(i, x):
        y, z = draw(rng, target[i], target[i]), draw(rng, target[i], target[i])
        return z if y == x else y

    return token_by_token(target, draft, tokens, rng, recovers=recovers)


def racing(score):
    """Token verification whose replacement is the argmax of score(row, noise)."""

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            rest = excess(target[i], draft[i])
            rest = rest if rest.sum() > 0 else target[i]
            return int(np.argmax(score(rest, rng.exponential(size=len(rest)))))

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


def _where_wide(score):
    return racing(lambda w, e: score(w, e) if len(w) > 64 else w / e)


scores_in_half_precision = _where_wide(lambda w, e: (w / e).astype(np.float16))
scores_in_single_precision = _where_wide(lambda w, e: (w / e).astype(np.float32))
scores_through_half_precision = _where_wide(lambda w, e: (w / e).astype(np.float16).astype(np.float64))
scores_of_whole_logarithms = _where_wide(lambda w, e: np.floor(64 * np.log2(w / e)))
