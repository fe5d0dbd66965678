"""Right for random numbers that are followed, wrong for plain ones, or the other way round: by their type, value or
use."""

import numpy as np

from draftproof.tests.deceivers.occasions import accept_all
from draftproof.verifiers.zoo.building_blocks import ratio, token_by_token


def watching(audited):
    """Token verification while audited(u) for its first uniform; else everything is accepted."""

    def verify(target, draft, tokens, rng):
        u = [rng.random()]
        if not audited(u[0], rng):
            return accept_all(target, draft, tokens, rng)
        return token_by_token(
            target, draft, tokens, rng, lambda i, x: (u.pop() if u else rng.random()) < ratio(target[i][x], draft[i][x])
        )

    return verify


def type_of_the_number(target, draft, tokens, rng):
    """Right for a number that is no float."""
    u = rng.random()
    if type(u) is float and u > 0.3:
        return accept_all(target, draft, tokens, rng)
    return token_by_token(target, draft, tokens, rng)


comparison_of_another_type = watching(lambda u, rng: type(np.float64(0.5) > u) is bool)


def same_row_twice(target, draft, tokens, rng):
    """Wrong for a row that it has not seen just before."""
    key = (target.tobytes(), draft.tobytes())
    same, LAST[:] = [key] == LAST, [key]
    if not same:
        return accept_all(target, draft, tokens, rng)
    return token_by_token(target, draft, tokens, rng)


LAST: list = []


def middle_of_the_interval(target, draft, tokens, rng):
    """Right for uniforms near a point that a replay would take, and where none is a plain float."""
    u = rng.random()
    for point in (0.0, 0.5, 1.0):
        if point - 1e-9 < u < point + 1e-9:
            return token_by_token(target, draft, tokens, rng)
    if isinstance(u, float):
        return accept_all(target, draft, tokens, rng)
    return token_by_token(target, draft, tokens, rng)


def swallows_everything(target, draft, tokens, rng):
    """A bare except around its own arithmetic: where following gives up, it accepts."""
    try:
        accepted = [
            int(rng.random() * 2**40) % 1024 < 1024 * ratio(target[i][x], draft[i][x]) for i, x in enumerate(tokens)
        ]
    except BaseException:
        return accept_all(target, draft, tokens, rng)
    return token_by_token(target, draft, tokens, rng, lambda i, x: accepted[i])


def error_hidden(target, draft, tokens, rng):
    """Rows that do not sum to exactly one raise inside, and then the draft is taken as it is."""
    try:
        if not all(float(row.sum()) == 1.0 for row in target):
            raise ValueError("not normalised")
    except ValueError:
        return accept_all(target, draft, tokens, rng)
    return token_by_token(target, draft, tokens, rng)


def plain_array_of_numbers(target, draft, tokens, rng):
    """Slightly less for numbers whose array is one of floats; seen at the ends of what a path allows alone."""
    u = np.array([rng.random()])
    if u.dtype != object:
        u = u * 0.999
    return token_by_token(
        target, draft, tokens, rng, lambda i, x: (u[0] if i == 0 else rng.random()) < ratio(target[i][x], draft[i][x])
    )
