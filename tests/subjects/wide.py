"""Verifiers whose defects only a wide vocabulary or a long block shows, and right ones that draw in other ways."""

import bisect
import itertools
import random

import numpy as np

from draftproof.proofs.rounding.rounding_allowed import look_up_allowed, wide_rounding_allowed
from draftproof.verifiers.zoo.building_blocks import answer, draw, drawable, excess, ratio, token_by_token


def token_verification(target, draft, tokens, rng, pick):
    """pick(weights): the token drawn from weights of the last row."""
    for i, x in enumerate(tokens):
        if not rng.random() < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], pick(drawable(excess(target[i], draft[i]), target[i])))
    return answer(tokens, pick(target[-1]))


def verifying(pick):
    """Make a verifier of pick(weights, rng), which draws the last token."""

    def verify(target, draft, tokens, rng):
        with np.errstate(all="ignore"):
            return token_verification(target, draft, tokens, rng, lambda weights: int(pick(weights, rng)))

    return verify


def _edges(weights):
    edges = np.cumsum(weights)
    return edges / edges[-1]


by_choice = verifying(lambda w, rng: draw(rng, w, w))
by_multinomial = verifying(lambda w, rng: rng.multinomial(1, w).argmax())
by_search = verifying(lambda w, rng: np.searchsorted(_edges(w), rng.random(), "right"))
by_method_search = verifying(lambda w, rng: _edges(w).searchsorted(rng.random(), side="right"))
by_comparison = verifying(lambda w, rng: np.argmax(_edges(w) > rng.random()))
by_count = verifying(lambda w, rng: (rng.random(1) >= _edges(w)).sum())
by_race = verifying(lambda w, rng: np.argmax(w / rng.exponential(size=len(w))))
by_gumbel_of_uniforms = verifying(lambda w, rng: np.argmax(np.log(w) - np.log(-np.log(rng.random(len(w))))))
by_logarithm_of_uniforms = verifying(lambda w, rng: np.argmin(-np.log(rng.random(len(w))) / w))
by_logarithm_to_a_power = verifying(lambda w, rng: np.argmin(-np.log(rng.random(len(w))) / w**0.99))
by_logarithm_from_one = verifying(lambda w, rng: np.argmin(-np.log(1 - rng.random(len(w))) / w))
by_logarithm_with_a_floor = verifying(lambda w, rng: np.argmin(np.maximum(-np.log(1 - rng.random(len(w))), 1e-9) / w))
by_single_precision_noise = verifying(lambda w, rng: np.argmin(rng.standard_exponential(len(w), dtype=np.float32) / w))
by_single_precision_uniforms = verifying(lambda w, rng: np.argmin(-np.log1p(-rng.random(len(w), dtype=np.float32)) / w))
capped_race = verifying(lambda w, rng: np.argmax(w / np.minimum(rng.exponential(size=len(w)), 2.1)))
cut_to_fifty = verifying(lambda w, rng: draw(rng, np.where(w >= np.sort(w)[-50:][0], w, 0.0), w))
ids_of_eight_bits = verifying(lambda w, rng: np.int64(draw(rng, w, w)).astype(np.int8))
ids_of_sixteen_bits = verifying(lambda w, rng: np.int64(draw(rng, w, w)).astype(np.uint16))


def by_choices(target, draft, tokens):
    return token_verification(target, draft, tokens, random, lambda w: random.choices(range(len(w)), w.tolist())[0])


@verifying
def by_bisection(weights, rng):
    edges = list(itertools.accumulate(weights.tolist()))
    return min(bisect.bisect(edges, rng.random() * edges[-1]), len(edges) - 1)


@verifying
def by_accumulated_edges(weights, rng):
    edges = list(itertools.accumulate(weights.tolist()))
    return bisect.bisect_right(edges, rng.random() * edges[-1], hi=len(edges) - 1)


@verifying
def by_multinomial_of_less(weights, rng):
    """Of more than a thousand tokens the last but one is drawn a 10^7th too seldom."""
    weights = np.array(weights)
    weights[-2] *= 1 - 1e-7 * (len(weights) > 1000)
    return rng.multinomial(1, weights / weights.sum()).argmax()


@verifying
def by_sums_a_little_too_small(weights, rng):
    """Of more than a hundred tokens the last one takes 10^-10 too much."""
    edges = _edges(weights) * (1 - 1e-10 * (len(weights) > 100))
    return min((rng.random() >= edges).sum(), np.flatnonzero(weights)[-1])


@verifying
def summed_in_float16(weights, rng):
    edges = np.cumsum(weights.astype(np.float16), dtype=np.float16).astype(float)
    return min(np.searchsorted(edges, rng.random() * edges[-1], "right"), len(weights) - 1)


@verifying
def tiles_of_eight(weights, rng):
    whole = len(weights) // 8 * 8 or len(weights)
    return draw(rng, weights[:whole], np.ones(whole))


@verifying
def last_ids_swapped(weights, rng):
    """Two tokens far up change places."""
    token, top = draw(rng, weights, weights), len(weights) - 1
    return {top: top - 1, top - 1: top}.get(token, token)


@verifying
def by_search_and_again_within(weights, rng):
    """The next token in place of every third one, where the uniform is in the middle half of what leads to it."""
    sums, u = np.cumsum(weights) / weights.sum(), rng.random()
    token = min(int(np.searchsorted(sums, u, side="right")), len(sums) - 1)
    middle, part = float(sums[token] - weights[token] / weights.sum() / 2), float(weights[token] / weights.sum())
    return (token + 1) % len(sums) if token % 3 == 2 and middle - part / 4 < u < middle + part / 4 else token


def all_at_once_but_the_last_is_kept(target, draft, tokens, rng):
    """A uniform for each drafted token and one for the last, drawn at once; of 64 drafted tokens the last is kept."""
    uniforms = rng.random(len(tokens) + 1)
    for i, x in enumerate(tokens):
        if i < 63 and not uniforms[i] < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], _place_of(uniforms[-1], drawable(excess(target[i], draft[i]), target[i])))
    return answer(tokens, _place_of(uniforms[-1], target[-1]))


def _place_of(uniform, row):
    return min(int((uniform >= np.cumsum(row)).sum()), int(np.flatnonzero(row)[-1]))


def rescaled_too_low(target, draft, tokens, rng):
    """The rejecting uniform is drawn with again, rescaled, and a 10^9th too low."""
    for i, x in enumerate(tokens):
        u, h = rng.random(), ratio(target[i][x], draft[i][x])
        if not u < h:
            edges = np.cumsum(drawable(excess(target[i], draft[i]), target[i]))
            place = np.searchsorted(edges, (u - h) / (1 - h) * (1 - 1e-9) * edges[-1], "right")
            return answer(tokens[:i], min(place, len(edges) - 1))
    return answer(tokens, draw(rng, target[-1], target[-1]))


def by_race_without_the_rejected(target, draft, tokens, rng, banned=0):
    for i, x in enumerate(tokens):
        if not rng.random() * draft[i][x] < target[i][x]:
            noise = rng.standard_exponential(len(target[i]))
            noise[(x + banned) % len(noise)] = np.inf
            return [*tokens[:i], np.argmax(np.maximum(target[i] - draft[i], 0) / noise)]
    return [*tokens, np.argmax(target[-1] / rng.standard_exponential(len(target[-1])))]


def by_race_without_the_next(target, draft, tokens, rng):
    return by_race_without_the_rejected(target, draft, tokens, rng, 1)


def by_noise_drawn_beforehand(target, draft, tokens, rng):
    noise = rng.standard_exponential(target.shape)
    for i, x in enumerate(tokens):
        if not rng.random() < ratio(target[i][x], draft[i][x]):
            return answer(tokens[:i], np.argmax(np.where(target[i] > 0, excess(target[i], draft[i]) / noise[i], -1.0)))
    return answer(tokens, np.argmin(noise / np.maximum(target, 1e-320), axis=-1)[-1])


def draft_cut_to_fifty(target, draft, tokens, rng):
    """Right where the draft has no more than fifty tokens."""
    least = np.sort(draft, axis=-1)[:, -50:][:, :1]
    return by_choice(target, np.where(draft > least, draft, 0.0), tokens, rng)


def no_coin_in_the_second_quarter(target, draft, tokens, rng):
    def kept(i, x):
        size = target.shape[-1]
        return size // 4 <= x < size // 2 or rng.random() < ratio(target[i][x], draft[i][x])

    return token_by_token(target, draft, tokens, rng, kept)


def flushed(target, draft, tokens, rng):
    target = np.where(target < 1e-7, 0.0, target)
    return by_choice(target / target.sum(axis=-1, keepdims=True), draft, tokens, rng)


def mask_of_eight_bits(target, draft, tokens, rng):
    """Which tokens are accepted is kept in the bits of a byte."""
    mask = 0
    for i, x in enumerate(tokens):
        if rng.random() < ratio(target[i][x], draft[i][x]):
            mask |= 1 << i
    return token_by_token(target, draft, tokens, rng, lambda i, x: mask & 0xFF & 1 << i)


def _nudged(weights, size):
    """Every other token of positive weight is drawn too often, the rest too seldom: TV size, in double precision."""
    weights = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    live = np.flatnonzero(weights)
    sign = np.zeros(len(weights))
    sign[live[::2]], sign[live[1::2]] = 1.0, -weights[live[::2]].sum() / weights[live[1::2]].sum()
    return weights * (1 + size * sign / weights[live[::2]].sum())


def _nudged_verification(target, draft, tokens, rng, looked_up, pick):
    """The last token's law is moved by twice what is allowed. looked_up: (type, bits) of a running sum; None: a
    race."""
    vocabulary = target.shape[-1]
    allowed = wide_rounding_allowed(len(tokens), target.dtype.name, vocabulary)
    if looked_up is None:
        allowed += max(2e-13, 8 * np.finfo(target.dtype).eps)  # the resolution of a race
    else:
        allowed += look_up_allowed(np.full(vocabulary, 1 / vocabulary), *looked_up)
    return token_verification(target, draft, tokens, rng, lambda w: pick(_nudged(w, 2 * allowed)))


def nudged_choice(target, draft, tokens, rng):
    pick = lambda w: rng.choice(len(w), p=w / w.sum())  # noqa: E731
    return _nudged_verification(target, draft, tokens, rng, ("float64", 53), pick)


def nudged_race(target, draft, tokens, rng):
    return _nudged_verification(target, draft, tokens, rng, None, lambda w: np.argmax(w / rng.exponential(size=len(w))))


def nudged_search(target, draft, tokens, rng):
    def pick(weights):
        return np.searchsorted(_edges(weights.astype(target.dtype)), rng.random(), "right")

    return _nudged_verification(target, draft, tokens, rng, (target.dtype.name, 53), pick)


def _remembering(key):
    """Token verification with residuals remembered by key(row) of both rows of the position."""
    kept = {}

    def verify(target, draft, tokens, rng):
        def recovers(i, x):
            name = (len(target[i]), key(target[i]), key(draft[i]), int(x))
            rest = kept.setdefault(name, drawable(excess(target[i], draft[i]), target[i]))
            return draw(rng, rest, rest)

        return token_by_token(target, draft, tokens, rng, recovers=recovers)

    return verify


residuals_by_whole_rows = _remembering(lambda row: row.tobytes())
residuals_by_every_64th = _remembering(lambda row: row[::64].tobytes())
residuals_by_the_end = _remembering(lambda row: row[-32:].tobytes())
residuals_by_sum = _remembering(lambda row: round(float(row.sum()), 14))
residuals_by_the_largest = _remembering(lambda row: (int(row.argmax()), float(row.max())))


def slow_where_followed(target, draft, tokens, rng):
    while type(rng.random()) is not float:
        pass
    return by_choice(target, draft, tokens, rng)


def endless_where_wide(target, draft, tokens, rng):
    while len(target[0]) > 100:
        pass
    return by_choice(target, draft, tokens, rng)


def with_a_filler_at(place, filler):
    """The token after a rejection at one place is looked for among those that are not the filler, a reserved id."""

    def verify(target, draft, tokens, rng):
        for i, x in enumerate(tokens):
            if not rng.random() * draft[i][x] < target[i][x]:
                left = np.maximum(target[i] - draft[i], 0)
                token = int(rng.choice(len(left), p=left / left.sum()))
                return [*tokens[:i].tolist(), 0 if i == place and token == filler else token]
        return [*tokens.tolist(), int(rng.choice(target.shape[1], p=target[-1]))]

    return verify


filler_at_the_first, filler_at_the_second = (with_a_filler_at(place, 128_002) for place in (0, 1))


def by_choice_that_an_unused_bonus_decides(target, draft, tokens, rng):
    """Where the bonus token, drawn first, is one in a hundred, a rejected one is replaced by the target's."""
    vocabulary = target.shape[1]
    bonus = rng.choice(vocabulary, p=target[-1])
    for i, x in enumerate(tokens):
        if not rng.random() * draft[i][x] < target[i][x]:
            left = np.maximum(target[i] - draft[i] * (not 0.3 * vocabulary <= bonus < 0.31 * vocabulary), 0)
            return [*tokens[:i].tolist(), int(rng.choice(vocabulary, p=left / left.sum()))]
    return [*tokens.tolist(), int(bonus)]


def _at_an_end(kind=None, but=lambda token: False):
    """At the first number that rejects, of the kind that is plain, the token after the drawn one is emitted."""

    def verify(target, draft, tokens, rng):
        x, u = tokens[0], rng.random()
        if u * draft[0][x] < target[0][x]:
            return [x, int(rng.choice(len(target[1]), p=target[1]))]
        residual = np.maximum(target[0] - draft[0], 0)
        token = int(rng.choice(len(residual), p=residual / residual.sum()))
        first = type(u) is kind and u * draft[0][x] - target[0][x] < 1e-12
        return [(token + 1) % len(residual) if first and not but(token) else token]

    return verify


right_at_the_ends = _at_an_end()
wrong_at_an_end = _at_an_end(float)
wrong_at_an_end_but_on_one_token = _at_an_end(float, lambda token: token == 19_776)  # with which the path is walked
