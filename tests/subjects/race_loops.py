"""Verifiers that race the tokens of a row in a loop in plain Python: right ones and wrong ones."""

import math

import numpy as np

from draftproof.tests.subjects.wide import token_verification


def _gumbel(p, rng):
    return math.log(p) - math.log(-math.log(rng.random()))


def _raced(score, best=-math.inf, better=lambda score, best: score > best, led=lambda score, token: score):
    """The token of the best score among those of positive weight. led: what is kept of the score of one that leads."""

    def pick(weights, rng):
        ahead, at = best, 0
        for token, p in enumerate(weights.tolist()):
            if p > 0:
                own = score(p, rng, token)
                if better(own, ahead):
                    ahead, at = led(own, token), token
        return at

    return _verifying(pick)


def _verifying(pick):
    return lambda target, draft, tokens, rng: token_verification(target, draft, tokens, rng, lambda w: pick(w, rng))


gumbel = _raced(lambda p, rng, token: _gumbel(p, rng))
gumbel_of_numpy = _raced(lambda p, rng, token: np.log(p) + rng.gumbel())
divided = _raced(lambda p, rng, token: p / rng.standard_exponential())
smallest = _raced(lambda p, rng, token: -math.log1p(-rng.random()) / p, math.inf, lambda score, best: score < best)


@_verifying
def below_the_next(weights, rng):
    best = None
    for token, p in enumerate(weights.tolist()):
        if p > 0:
            score = _gumbel(p, rng)
            if best is None or best[0] < score:
                best = score, token
    return best[1]


@_verifying
def by_max(weights, rng):
    scores = [_gumbel(p, rng) if p > 0 else -math.inf for p in weights.tolist()]
    return max(range(len(scores)), key=scores.__getitem__)


powers = _raced(lambda p, rng, token: 1.01 * math.log(p) - math.log(-math.log(rng.random())))
doubled = _raced(lambda p, rng, token: _gumbel(p * (2 if token % 64 == 7 else 1), rng))
without_the_last = _verifying(lambda weights, rng: _of_the_first(weights[:-300], rng))

# No closed law, or none that the calls bear out.
capped = _raced(lambda p, rng, token: math.log(p) - math.log(max(-math.log(rng.random()), 1e-3)))
logistic = _raced(lambda p, rng, token: math.log(p) - math.log(1 / max(rng.random(), 1e-300) - 1))
one_fixed = _raced(lambda p, rng, token: _gumbel(p, rng) * (1e-12 if token == 77 else 1) - (token == 77))
one_that_stays = _raced(
    lambda p, rng, token: _gumbel(p, rng), led=lambda score, token: score + 1 if token == 77 else score
)
by_a_margin = _raced(lambda p, rng, token: _gumbel(p, rng), led=lambda score, token: score + 0.5)


def _of_the_first(weights, rng):
    scores = [(_gumbel(p, rng), token) for token, p in enumerate(weights.tolist()) if p > 0]
    best, at = scores[0] if scores else (0.0, 0)
    for score, token in scores:
        if score > best:
            best, at = score, token
    return at


@_verifying
def one_in_turn(weights, rng):
    """The number of leaders decides."""
    best, at, leaders = -math.inf, 0, 0
    for token, p in enumerate(weights.tolist()):
        if p > 0 and (score := _gumbel(p, rng)) > best:
            best, at, leaders = score, token, leaders + 1
    return at if leaders < 10 else 0


@_verifying
def the_one_before(weights, rng):
    """Who was ahead before the winner decides."""
    best, at, before = -math.inf, 0, 0
    for token, p in enumerate(weights.tolist()):
        if p > 0 and (score := _gumbel(p, rng)) > best:
            best, at, before = score, token, at
    return before if before % 16 == 3 else at


@_verifying
def next_passed_over(weights, rng):
    """A token behind one that takes the lead is not compared."""
    best, at, passed = -math.inf, 0, False
    for token, p in enumerate(weights.tolist()):
        if p > 0:
            score = _gumbel(p, rng)
            if passed:
                passed = False
            elif score > best:
                best, at, passed = score, token, True
    return at


@_verifying
def a_close_one_before(weights, rng):
    """Who was ahead before, if nearly as good, is emitted in place of the winner after three leaders."""
    best, at, leaders = -math.inf, 0, []
    for token, p in enumerate(weights.tolist()):
        if p > 0 and (score := _gumbel(p, rng)) > best:
            leaders.append((best, at))
            best, at = score, token
    return leaders[-1][1] if len(leaders) >= 3 and leaders[-1][0] > best - 0.4 else at


@_verifying
def better_in_vain(weights, rng):
    """After three leaders a token far behind the last one has to be better by something."""
    best, at, leaders = -math.inf, 0, 0
    for token, p in enumerate(weights.tolist()):
        if p > 0:
            score = _gumbel(p, rng) - (0.4 if leaders >= 3 and token - at > 50 else 0.0)
            if score > best:
                best, at, leaders = score, token, leaders + 1
    return at


def _bent(score, token):
    """Between two levels alone, for most tokens."""
    inside = (np.minimum(np.maximum(score, 0.75), 1.9) - 0.75) / 1.15
    bent = np.minimum(score, 0.75) + inside**3 * 1.15 + (np.maximum(score, 1.9) - 1.9)
    return bent if token > 20 and token % 6 else score


bent_between_levels = _raced(
    lambda p, rng, token: _bent(-math.log1p(-rng.random()) / p, token), math.inf, lambda score, best: score < best
)


def _leaders(weights, rng):
    """Those that were ahead, one after the other."""
    best, leaders = -math.inf, [0]
    for token, p in enumerate(weights.tolist()):
        if p > 0 and (score := _gumbel(p, rng)) > best:
            best = score
            leaders.append(token)
    return leaders


def _in_two_levels(within):
    """One of twenty blocks by its weight, and a token in it."""

    def pick(weights, rng):
        size = -(-len(weights) // 20)
        masses = np.array([weights[k : k + size].sum() for k in range(0, len(weights), size)])
        start = size * _leaders(masses, rng)[-1]
        inside = weights[start : start + size]
        return start + within(inside, _leaders(inside, rng))

    return _verifying(pick)


two_levels = _in_two_levels(lambda inside, leaders: leaders[-1])
two_levels_of_a_likely_winner = _in_two_levels(
    lambda inside, leaders: leaders[-2] if len(leaders) > 3 and inside[leaders[-1]] > 0.01 else leaders[-1]
)


@_verifying
def a_floor_for_one(weights, rng):
    """It wins where all others are below it: once in four hundred draws from a row with a token of much weight."""
    best, at, floor = -math.inf, 0, math.log(weights.max()) - 1.8
    for token, p in enumerate(weights.tolist()):
        if p > 0:
            score = np.maximum(_gumbel(p, rng), floor) if token == 777 else _gumbel(p, rng)
            if score > best:
                best, at = score, token
    return at


@_verifying
def a_fallback_that_rises(weights, rng):
    """Tokens without weight have a score whose noise has the wrong sign."""
    best, at, total = -math.inf, 0, weights.sum()
    for token, p in enumerate((weights / total).tolist()):
        if p > 0 or token in (0, len(weights) - 1):
            score = _gumbel(p, rng) if p > 0 else -3 + math.log(-math.log(rng.random()))
            if score > best:
                best, at = score, token
    return at
