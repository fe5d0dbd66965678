"""Verifiers that go through a row in a loop and compare one uniform with its running sum: right ones and wrong ones."""

import itertools
import math

import numpy as np

from draftproof.tests.subjects.wide import token_verification


def _scan(weights, u, skips=None, again=False):
    """The first token whose running sum is above u. skips: a token that is passed over. again: u is asked once more."""
    total = 0.0
    for token, weight in enumerate(weights):
        total += weight
        if u < total and token != skips:
            return (token + 1) % len(weights) if again and u > 0.9 else token
    return len(weights) - 1


def _scanning(change=lambda weights: weights, uniform=lambda rng, weights: rng.random() * sum(weights), **options):
    def verify(target, draft, tokens, rng):
        pick = lambda weights: _scan(change(weights.tolist()), uniform(rng, weights.tolist()), **options)  # noqa: E731
        return token_verification(target, draft, tokens, rng, pick)

    return verify


by_scan_of_sums = _scanning()
by_scan_of_one_less = _scanning(uniform=lambda rng, weights: (1 - rng.random()) * sum(weights))
by_scan_up_to_999 = _scanning(uniform=lambda rng, weights: 0.999 * rng.random() * sum(weights))
by_scan_that_skips = _scanning(skips=40)
by_scan_that_asks_again = _scanning(again=True)
by_scan_without_the_last = _scanning(change=lambda weights: [*weights[:-40], *[0.0] * 40])


_calls = itertools.count()


def by_scan_of_other_cuts_in_each_call(target, draft, tokens, rng):
    change = lambda weights: [w * (1 + 1e-3 * (next(_calls) % 2)) for w in weights]  # noqa: E731
    return _scanning(change)(target, draft, tokens, rng)


def by_scan_of_numpy_numbers(target, draft, tokens, rng):
    def pick(weights):
        total, uniform = weights.sum() * 0, rng.random()
        for token in range(len(weights)):
            total += weights[token]
            if total > uniform:
                break
        return token

    return token_verification(target, draft, tokens, rng, lambda weights: pick(weights / weights.sum()))


def by_scan_from_the_top(target, draft, tokens, rng):
    def pick(weights):
        left, uniform = sum(weights), rng.random() * sum(weights)
        token = len(weights)
        while token and (token == len(weights) or uniform <= left):
            token -= 1
            left -= weights[token]
        return token

    return token_verification(target, draft, tokens, rng, lambda weights: pick(weights.tolist()))


def by_scan_of_a_changing_row(target, draft, tokens, rng):
    """Of what it draws from at the end, the tokens below a uniform that is used twice have less."""

    def pick(weights):
        uniform = rng.random()
        total = 0.0
        for token, weight in enumerate(weights):
            total += weight if uniform > 0.5 else weight**2
            if uniform < total:
                return token
        return len(weights) - 1

    return token_verification(target, draft, tokens, rng, lambda weights: pick((weights / weights.sum()).tolist()))


def _in_pieces(step, singles, weights, uniform):
    """The first tokens one by one, the others in pieces of so many, and within a piece by the same uniform."""
    edges = np.cumsum(weights)
    ends = [*range(1, singles + 1), *range(singles + step, len(edges), step), len(edges)]
    for start, end in itertools.pairwise([0, *ends]):
        if uniform < edges[end - 1]:
            return start + int(np.searchsorted(edges[start : end - 1], uniform, side="right"))
    return len(edges) - 1


def by_pieces(target, draft, tokens, rng):
    return token_verification(target, draft, tokens, rng, lambda w: _in_pieces(10, 0, w / w.sum(), rng.random()))


def by_single_tokens_and_pieces(target, draft, tokens, rng):
    pick = lambda w: _in_pieces(10, len(w) // 2, w / w.sum(), rng.random())  # noqa: E731
    return token_verification(target, draft, tokens, rng, pick)


def asked_again_within_a_third_of_the_tokens(target, draft, tokens, rng):
    """Of every third token the upper quarter of its uniforms gives the next one."""

    def pick(weights):
        edges, uniform = np.cumsum(weights / weights.sum()), rng.random()
        token = min(int(np.searchsorted(edges, uniform, side="right")), len(edges) - 1)
        upper = token % 3 == 1 and uniform > float(edges[token] - weights[token] / 4)
        return (token + 1) % len(edges) if upper else token

    return token_verification(target, draft, tokens, rng, pick)


def by_while(target, draft, tokens, rng):
    """A guard before the loop asks the same uniform."""

    def pick(weights):
        edges, uniform, token = [*itertools.accumulate(weights.tolist())], rng.random() * float(weights.sum()), 0
        assert uniform >= 0
        edges[-1] = math.inf
        while edges[token] <= uniform:
            token += 1
        return token

    return token_verification(target, draft, tokens, rng, pick)


def by_scan_without_a_break(target, draft, tokens, rng):
    """All tokens are gone through, also those after the one that is drawn; an error on the way is swallowed."""

    def pick(weights):
        found, total, uniform = None, 0.0, rng.random() * sum(weights)
        for token, weight in enumerate(weights):
            try:
                total += weight
                if uniform < total and found is None:
                    found = token
            except:  # noqa: E722
                pass
        return len(weights) - 1 if found is None else found

    return token_verification(target, draft, tokens, rng, lambda weights: pick(weights.tolist()))


def _sorting(factor=1.0):
    """Samplers that sort a row and divide its running sum by the sum of the row times a factor."""

    def pick(weights, rng):
        order = np.argsort(-weights, kind="stable")
        sums = np.cumsum(weights[order]) / (weights.sum() * factor)
        return order[min(np.searchsorted(sums, rng.random(), side="right"), np.count_nonzero(weights) - 1)]

    return lambda target, draft, tokens, rng: token_verification(target, draft, tokens, rng, lambda w: pick(w, rng))


by_sums_of_sorted_rows, by_sums_a_little_too_small_of_sorted_rows = _sorting(), _sorting(1 + 1e-11)


def by_search_and_again_within(target, draft, tokens, rng):
    """The next token in place of every third one, where the uniform is in the middle half of what leads to it."""

    def pick(weights):
        sums, u = np.cumsum(weights) / weights.sum(), rng.random()
        token = min(int(np.searchsorted(sums, u, side="right")), len(sums) - 1)
        middle, part = float(sums[token] - weights[token] / weights.sum() / 2), float(weights[token] / weights.sum())
        return (token + 1) % len(sums) if token % 3 == 2 and middle - part / 4 < u < middle + part / 4 else token

    return token_verification(target, draft, tokens, rng, pick)


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
