"""Verifiers whose random numbers are inputs: right ones, wrong ones, and odd ones."""

import itertools
from typing import ClassVar

import numpy as np

from draftproof.verifiers.adapters.protocol import Row

UNIFORMS = [{"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 53}]
LAST = {"name": "last", "kind": "uniform", "shape": [], "bits": 53}
NOISE = {"name": "last", "kind": "exponential", "shape": ["V"]}
GUMBEL = {"name": "last", "kind": "gumbel", "shape": ["V"]}


def inverse(weights, u):
    total = sum(weights)
    edges = list(itertools.accumulate(weights))
    return next((t for t, edge in enumerate(edges) if u * total < edge), max(t for t, w in enumerate(weights) if w > 0))


def by_exponential(weights, noise):
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.argmax(np.asarray(weights) / noise))


def by_gumbel(weights, noise):
    with np.errstate(divide="ignore"):
        return int(np.argmax(np.log(weights) + noise))


class Driven:
    """accepted(self, target, draft, tokens, u): how many tokens, and the weights of the last one."""

    def __init__(self, accepted, last=LAST, pick=inverse, uniforms=UNIFORMS):
        self.random, self.accepted, self.pick = [*uniforms, last], accepted, pick

    def __call__(self, target, draft, tokens, random):
        n, weights = self.accepted(target, draft, tokens, random["accept"])
        return [*tokens[:n], self.pick(weights, random["last"])]


def by_tokens(passes):
    """Make a rule of passes(i, p, q, u): whether the token at i is kept, p and q its probabilities."""

    def rule(target, draft, tokens, u):
        for i, x in enumerate(tokens):
            if not passes(i, target[i][x], draft[i][x], u):
                return i, np.maximum(target[i] - draft[i], 0)
        return len(tokens), target[len(tokens)]

    return rule


token_rule = by_tokens(lambda i, p, q, u: u[i] * q < p)
at_most_rule = by_tokens(lambda i, p, q, u: u[i] * q <= p)
# a region of the second number matters only where the first is small: and is accepted wrongly there
rejected_uniform_again = by_tokens(lambda i, p, q, u: u[i] < p / q or (i == 1 and u[0] < 0.01 and u[1] > 0.995))
# the same law, by an interval in the middle
not_monotone = by_tokens(lambda i, p, q, u: 0.5 - (rate := min(p / q, 1.0)) / 2 <= u[i] < 0.5 + rate / 2)


def block_rule(target, draft, tokens, u):
    """Algorithm 2 of Sun et al. 2025."""
    gamma, kept, accepted, weights = len(tokens), 1.0, 0, np.maximum(target[0] - draft[0], 0)
    for i, x in enumerate(tokens):
        kept = min(kept * target[i][x] / draft[i][x], 1.0)
        if i + 1 == gamma:
            h = kept
        else:
            rest = np.maximum(kept * target[i + 1] - draft[i + 1], 0)
            total = rest.sum()
            h = 1.0 if kept == 1.0 else total / (total + 1 - kept)
        if u[i] < h:
            accepted = i + 1
            weights = target[gamma] if i + 1 == gamma else np.maximum(kept * target[i + 1] - draft[i + 1], 0)
            if weights.sum() == 0:
                weights = target[i + 1]
    return accepted, weights


def token_without_residual(target, draft, tokens, u):
    n, _ = token_rule(target, draft, tokens, u)
    return n, target[n]


def cumulative(target, draft, tokens, u):
    """vllm-ascend's block rule: products of uniforms against products of ratios."""
    ratio, product, accepted = 1.0, 1.0, 0
    for i, x in enumerate(tokens):
        ratio *= min(target[i][x] / draft[i][x], 1.0)
        product *= u[i]
        if ratio >= product:
            accepted = i + 1
    rest = target[accepted] if accepted == len(tokens) else np.maximum(target[accepted] - draft[accepted], 0)
    return accepted, rest if rest.sum() > 0 else target[accepted]


def sum_of_two(target, draft, tokens, u):
    """Decides by a sum of two uniforms: no axis, no product."""
    return (0, target[0]) if len(tokens) > 1 and u[0] + u[1] < 0.9 else token_rule(target, draft, tokens, u)


token = Driven(token_rule)
token_exponential = Driven(token_rule, NOISE, by_exponential)
token_gumbel = Driven(token_rule, GUMBEL, by_gumbel)
block = Driven(block_rule)
block_exponential = Driven(block_rule, NOISE, by_exponential)
no_residual = Driven(token_without_residual)
no_residual_gumbel = Driven(token_without_residual, GUMBEL, by_gumbel)
region = Driven(rejected_uniform_again)
middle = Driven(not_monotone)
ascend = Driven(cumulative, NOISE, by_exponential)
sums = Driven(sum_of_two)


def needle_rule(target, draft, tokens, u):
    n, weights = token_rule(target, draft, tokens, u)
    return (0, target[0]) if 0.41 < u[0] < 0.4100001 else (n, weights)


def with_uniform_race(weights, u):
    with np.errstate(divide="ignore", invalid="ignore"):
        return by_exponential(weights, -np.log(u))


def with_capped_noise(weights, noise):
    return by_exponential(weights, np.maximum(noise, 0.3))


class TwoRows(Driven):
    """Adds the noise of two rows."""

    def __init__(self):
        super().__init__(token_rule)
        self.random = [*UNIFORMS, {"name": "one", "kind": "gumbel", "shape": ["V"]}, {**GUMBEL, "name": "two"}]

    def __call__(self, target, draft, tokens, random):
        n, weights = token_rule(target, draft, tokens, random["accept"])
        return [*tokens[:n], by_gumbel(weights, random["one"] + random["two"])]


class DrawsItself(Driven):
    def __call__(self, target, draft, tokens, random):
        return super().__call__(target, draft, tokens, random | {"last": OWN.random()})


class Keyed:
    """A kernel's generator, by seed and position. salt: of the seed for the last token; 0 couples it with the first."""

    random = ({"name": "philox", "kind": "uniform", "bits": 53, "keyed": True},)

    def __init__(self, salt):
        self.salt = salt

    def __call__(self, target, draft, tokens, random):
        philox = random["philox"]
        n, weights = token_rule(target, draft, tokens, [philox(7, i) for i in range(len(tokens))])
        return [*tokens[:n], with_uniform_race(weights, philox(7 + self.salt, np.arange(len(weights))))]


class RareKey(Keyed):
    """Once in 500 calls it asks for one number more, and emits by that alone."""

    def __call__(self, target, draft, tokens, random):
        if random["philox"](7, 10**6) < 0.002:
            return [int(random["philox"](8, 0) < 0.5)]
        return super().__call__(target, draft, tokens, random)


class Placed(Driven):
    """Its coins are those of the places in the text, all of which it asks for; or of its call, where they are not.

    ahead: of the place that it declares. seeds: whether each coin of a block has one of its own.
    """

    def __init__(self, accepted, by_place=True, ahead=0, seeds=False):
        super().__init__(accepted)
        coins = {"name": "coin", "kind": "uniform", "bits": 53, "keyed": True} | ({"first": 40} if by_place else {})
        self.random, self.start, self.seeds = [coins, LAST], 40 - ahead, seeds

    def __call__(self, target, draft, tokens, random):
        coins = [random["coin"](i if self.seeds else 7, self.start + i) for i in range(len(tokens))]
        return super().__call__(target, draft, tokens, {"accept": coins, "last": random["last"]})


class LastByPlace(Placed):
    """Right: the last token is drawn by a number of a fixed place, and a row that is asked for is not used."""

    def __call__(self, target, draft, tokens, random):
        random["coin"](9, 40 + np.arange(len(target[0])))
        random["last"] = random["coin"](8, 40 + len(tokens))
        return super().__call__(target, draft, tokens, random)


OWN = np.random.default_rng(5)
at_most = Driven(at_most_rule)
needle = Driven(needle_rule)
token_by_uniform_race = Driven(token_rule, {**UNIFORMS[0], "name": "last", "shape": ["V"]}, with_uniform_race)
capped = Driven(token_rule, NOISE, with_capped_noise)
two_rows = TwoRows()
draws_itself = DrawsItself(token_rule)
keyed_right = Keyed(100)
keyed_coupled = Keyed(0)
keyed_rarely = RareKey(100)
token_by_place = Placed(token_rule)
block_by_place = Placed(block_rule)
block_by_call = Placed(block_rule, by_place=False)
block_with_seeds = Placed(block_rule, seeds=True)
last_by_place = LastByPlace(token_rule)


class Together(Driven):
    """A driven verifier that takes many requests in one call, of different lengths, with placeholders and greedy rows.

    mix: of the rows of a batch, what each of them is answered from: (rows, k) -> (target, draft, tokens, random).
    """

    batch, placeholders, mixes_greedy = 8, True, True
    origin: ClassVar = {"bonus": "drawn inside"}

    def __init__(self, mix=lambda rows, k: rows[k]):
        super().__init__(token_rule, NOISE, by_exponential)
        self.mix = mix

    def __call__(self, target, draft, tokens, random):
        return self.together([Row(target, draft, tokens, random)])[0]

    def together(self, rows):
        return [self.one(self.mix(rows, k)) for k in range(len(rows))]

    def one(self, row):
        tokens = list(row.tokens)
        kept = tokens.index(-1) if -1 in tokens else len(tokens)
        if row.greedy:
            best = [int(np.argmax(p)) for p in row.target]
            n = next((i for i in range(kept) if tokens[i] != best[i]), kept)
            return [*tokens[:n], best[n]]
        return super().__call__(row.target[: kept + 1], row.draft[:kept], tokens[:kept], row.random)


together = Together()
