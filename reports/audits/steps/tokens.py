"""Tokens of recorded steps: bets on those that came out and were drafted, and their reported logprobs."""

from typing import Any, NamedTuple

import numpy as np

from ....models.recorded_steps import Header, Shard, StepsPart
from ....verifiers.conditional.steps import PairRows, Steps
from ....verifiers.conditional.tree_steps import TreeSteps, elder_mass, sibling_rows
from ....verifiers.trees.draft_tree import IID, WITHOUT_REPLACEMENT
from .bets import LogBets, bets_on_tokens, transforms

Array = np.ndarray


class Tokens(NamedTuple):
    """T tokens of steps, in the order of the steps and of the text.

    n: [T], their step. place: [T], whose row they follow. at: [T], where they are in its list.
    """

    n: Array
    place: Array
    at: Array

    def chosen(self, which: Array) -> "Tokens":
        """Return some of them."""
        return Tokens(*(values[which] for values in self))


def emitted_tokens(steps: Steps) -> Tokens:
    """Return the tokens that came out."""
    every = np.arange(steps.count)
    (n, k), end = np.nonzero(steps.path), steps.emitted
    order = np.argsort(np.concatenate([n, every]), kind="stable")  # the last one stands behind those that were kept
    place = np.concatenate([steps.above[n, k], end])
    at = np.concatenate([steps.at_token[n, k], steps.at_last[every, end]])
    return Tokens(np.concatenate([n, every])[order], place[order], at[order])


class BetsOnTokens(NamedTuple):
    """Bets on tokens, the transform of each, and the step of each, by its place in the shard."""

    bets: LogBets
    transform: Array
    step: Array


def bet_on_texts(
    part: StepsPart, sampled: Array, good: Array, known: Array, header: Header, generator: Any
) -> BetsOnTokens:
    """Bet on every emitted token under the target's rows.

    sampled: [N], whether to bet on a step. good, known: [N, G + 1], of which places the row is one, and of which the
    draft's row is known.
    Guarantee: whether a token is bet on depends on nothing that comes after it.
    """
    tokens = emitted_tokens(part.steps)
    tokens = tokens.chosen(sampled[tokens.n] & good[tokens.n, tokens.place])
    rows = PairRows(*(values[tokens.n, tokens.place] for values in part.steps.rows))
    return _bets(part, "target", tokens, rows, good, known, header, generator)


def bet_on_drafts(
    part: StepsPart, sampled: Array, good: Array, known: Array, header: Header, generator: Any
) -> BetsOnTokens:
    """Bet on every drafted token under the row that it was drawn from, as ``bet_on_texts`` does."""
    steps = part.steps
    drawn = steps.drafted & sampled[:, None]
    if isinstance(steps, TreeSteps):
        drawn &= steps.how in (IID, WITHOUT_REPLACEMENT)
    n, k = np.nonzero(drawn & (good & known)[np.arange(steps.count)[:, None], steps.above])
    rows = PairRows(*(values[n, steps.above[n, k]] for values in steps.rows))
    rows = sibling_rows(steps, n, k) if isinstance(steps, TreeSteps) else rows
    tokens = Tokens(n, steps.above[n, k], steps.at_token[n, k])
    elders = elder_mass(steps)[n, k] if isinstance(steps, TreeSteps) and steps.how == IID else None
    return _bets(part, "draft", tokens, rows, good, known, header, generator, elders)


def _bets(
    part: StepsPart, mine: str, tokens: Tokens, rows: PairRows, good: Array, known: Array, header: Header,
    generator: Any, elders: Array | None = None,
) -> BetsOnTokens:  # fmt: skip
    steps, (n, place, at) = part.steps, tokens
    every = np.arange(len(n))
    other = getattr(rows, "draft" if mine == "target" else "target")[every, at]
    other = np.where(known[n, place], other, np.nan)
    earlier = steps.above[n, np.maximum(place - 1, 0)] if steps.gamma else place
    same = steps.rows.ids[n, earlier] == rows.ids[every, at][:, None]
    values = np.where(same, getattr(steps.rows, mine)[n, earlier], 0.0).sum(-1)
    before = np.where((place > 0) & good[n, earlier] & same.any(-1), values, np.nan)
    bets = bets_on_tokens(rows, mine, at, other, before, header.epsilon, header.vocabulary, elders)
    return BetsOnTokens(bets, transforms(rows, mine, at, generator.random(len(n))), part.places[n])


def joined_bets(parts: list[BetsOnTokens], hypotheses: int) -> tuple[LogBets, Array]:
    """Return the bets of several parts and their transforms, in the order of the recording."""
    order = np.argsort(np.concatenate([np.zeros(0, dtype=int), *(part.step for part in parts)]), kind="stable")
    transform = np.concatenate([np.zeros(0), *(part.transform for part in parts)])
    bets = LogBets.joined([part.bets for part in parts], hypotheses)
    return LogBets(bets.logs[:, order], bets.possible[order]), transform[order]


def logprobs_off(shard: Shard, part: StepsPart, good: Array) -> Array:
    """Return reported logprobs less those of the target's rows, [L]; nan where none was reported.

    good: [N, G + 1], of which places the row is one: tokens of others are left out.
    """
    n, place, at = emitted_tokens(part.steps)
    compared = good[n, place]
    if "logprobs" not in shard.arrays:
        return np.full(int(compared.sum()), np.nan)
    first = np.searchsorted(n, n)
    reported = shard.arrays["logprobs"][shard.arrays["emitted_offsets"][part.places[n]] + np.arange(len(n)) - first]
    with np.errstate(divide="ignore"):
        return (reported - np.log(part.steps.rows.target[n, place, at]))[compared]


def excluded(steps: Steps, known: Array) -> Array:
    """Return which steps drafted a token that the draft's row cannot draw, [N]. known: as of ``bet_on_texts``."""
    zero = steps.q <= 0
    if isinstance(steps, TreeSteps) and steps.how == WITHOUT_REPLACEMENT:
        zero |= steps.first[:, 1:] != np.arange(1, steps.gamma + 1)
    drawn = steps.drafted & known[np.arange(steps.count)[:, None], steps.above]
    return np.any(drawn & zero, axis=1)
