"""Verification steps as arrays: drafted tokens, the rows of both models, and what was emitted.

Rows are sparse. A row lists its most probable tokens; all others are in classes by their ratio p / q, of which the
masses of both models are known. So sum_x max(c p(x) - q(x), 0) over a whole row is known without the whole row:
exactly, unless 1 / c lies inside a class, and within that class's share then.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .sparse import EDGES

Array = np.ndarray

_LOWER, _UPPER = np.concatenate([[0.0], EDGES]), np.concatenate([EDGES, [np.inf]])


class PairRows(NamedTuple):
    """Rows of both models at one place of each of N steps.

    ids: [N, K], tokens that are listed; -1 where fewer are
    target, draft: [N, K], their probabilities; 0 where fewer are listed
    rest_target, rest_draft: [N, CLASSES], masses of the tokens that are not listed
    rest_count: [N], how many are not listed
    highest: [N, 2], the largest probability among those, of the target and of the draft
    natural: [N], how many of the first tokens listed are listed for their probability, not for their part in the step
    off: [N], how far the sums of both rows were from 1 before they were divided by them
    """

    ids: Array
    target: Array
    draft: Array
    rest_target: Array
    rest_draft: Array
    rest_count: Array
    highest: Array
    natural: Array
    off: Array


@dataclass(frozen=True, eq=False)
class Steps:
    """N steps of chains of at most G drafted tokens; shorter ones are padded.

    vocabulary: V
    lengths: [N], drafted tokens of each step
    tokens: [N, G], drafted tokens X_1.., -1 behind the last
    emitted: [N], tokens that came out, less one: tau of an engine that obeys its rule
    last: [N], the last token that came out: Y
    rows: of the places 0..G, arrays [N, G + 1, ...] of ``PairRows``; the draft's row behind the last token is 0
    at_token: [N, G], place of X_{i+1} in the list of row i
    at_last: [N, G + 1], place of Y in the list of each row
    counted: whether what is not listed counts Y, too, where it is listed only because it came out
    final: [N], whether a step's request may have ended with it; None: with no step
    """

    vocabulary: int
    lengths: Array
    tokens: Array
    emitted: Array
    last: Array
    rows: PairRows
    at_token: Array
    at_last: Array
    counted: bool = False
    final: Array | None = None

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Return what was computed of these steps, by what computed it: laws share coins and weights."""
        return {}

    @property
    def count(self) -> int:
        return len(self.lengths)

    @property
    def gamma(self) -> int:
        return self.tokens.shape[1]

    @cached_property
    def drafted(self) -> Array:
        """Return which places have a drafted token, [N, G]."""
        return np.arange(self.gamma) < self.lengths[:, None]

    @property
    def above(self) -> Array:
        """Return the place behind which each token was drafted, [N, G]: of a chain its own."""
        return np.broadcast_to(np.arange(self.gamma), self.tokens.shape)

    @cached_property
    def path(self) -> Array:
        """Return which drafted tokens were kept, [N, G]."""
        return self.above < self.emitted[:, None]

    @cached_property
    def depth(self) -> Array:
        """Return how many drafted tokens lead to each place, [N, G + 1]."""
        return np.broadcast_to(np.arange(self.gamma + 1), (self.count, self.gamma + 1))

    @cached_property
    def bonus(self) -> Array:
        """Return in which steps all drafted tokens were accepted, [N]."""
        return self.emitted >= self.lengths

    @cached_property
    def cut(self) -> Array | None:
        """Return in which steps Y is the token drafted there, and its request may have ended with it, [N]; None: in
        none.
        """
        if self.final is None:
            return None
        there = (np.arange(self.gamma) == self.emitted[:, None]) & (self.tokens == self.last[:, None])
        return self.final & there.any(1)

    @cached_property
    def p(self) -> Array:
        """Return the target's probability of each drafted token, [N, G]; 0 where there is none."""
        return self._of_tokens(self.rows.target)

    @cached_property
    def q(self) -> Array:
        """Return the draft's probability of each drafted token, [N, G]; 0 where there is none."""
        return self._of_tokens(self.rows.draft)

    def _of_tokens(self, values: Array) -> Array:
        return np.where(self.drafted, values[np.arange(self.count)[:, None], self.above, self.at_token], 0.0)

    @cached_property
    def ratio(self) -> Array:
        """Return p / q of each drafted token, [N, G]: where q is 0, 1 if p is not and else 0, as our rules have it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.q > 0, self.p / self.q, (self.p > 0).astype(float))

    @cached_property
    def shown(self) -> Array:
        """Return whether Y is listed at a place only because it came out, [N, G + 1]."""
        return (self.at_last >= self.rows.natural) & ~(self.tokens == self.last[:, None]).any(1)[:, None]

    @cached_property
    def before(self) -> PairRows:
        """Return the rows as they are known before Y is seen: what is listed only because it came out is in its class.

        A coin has to be computed from these: a bet may not depend on what it is about.
        """
        rows, chosen = self.rows, np.nonzero(self.shown)
        if not len(chosen[0]):
            return rows
        entries = (*chosen, self.at_last[chosen])
        moved = {}
        p, q = rows.target[entries], rows.draft[entries]
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(p > 0, np.searchsorted(EDGES, p / q, side="right"), 0)
        for name, values in (("target", p), ("draft", q)):
            listed, rest = getattr(rows, name).copy(), getattr(rows, f"rest_{name}").copy()
            listed[entries] = 0.0
            rest[(*chosen, place)] += values
            moved |= {name: listed, f"rest_{name}": rest}
        count, highest, ids = rows.rest_count.copy(), rows.highest.copy(), rows.ids.copy()
        count[chosen] += 1
        highest[chosen] = np.maximum(highest[chosen], np.stack([p, q], axis=-1))
        ids[entries] = -1
        return rows._replace(ids=ids, rest_count=count, highest=highest, **moved)

    def mode(self, values: Array, rows: PairRows) -> Array:
        """Return 1 at the largest value of a row and 0 elsewhere, [N, K]; 0 everywhere where it may be another token's.

        values: [N, K], of rows at one place of each step. The list is taken as it is known before Y is seen.
        """
        drafted = (rows.ids[:, None, :] == self.tokens[:, :, None]).any(1) & (rows.ids >= 0)
        known = (np.arange(values.shape[-1]) < rows.natural[:, None]) | drafted
        largest = np.where(known, values, -1.0)
        others = np.maximum(np.where(known, 0.0, values).max(-1, initial=0.0), rows.highest[:, 0])
        best = largest.max(-1, initial=-1.0)
        chosen = np.arange(values.shape[-1]) == largest.argmax(-1)[:, None]
        return (chosen & (best >= others)[:, None]).astype(float)

    @cached_property
    def end(self) -> PairRows:
        """Return the rows from which Y was drawn: those at place tau, [N, ...]."""
        return self.rows_at(self.emitted)

    def rows_at(self, places: Array) -> PairRows:
        """Return the rows at these places, [N, ...]. places: [N]."""
        steps = np.arange(self.count)
        return PairRows(*(values[steps, places] for values in self.rows))

    @cached_property
    def rejected(self) -> Array:
        """Return the place of the token that was rejected in the list of ``end``, [N]; -1 where none was."""
        padded = np.concatenate([self.at_token, np.full((self.count, 1), -1)], axis=1)
        return np.where(self.bonus, -1, padded[np.arange(self.count), self.emitted])

    def part(self, chosen: Array | slice) -> "Steps":
        """Return some of the steps."""
        rows = PairRows(*(values[chosen] for values in self.rows))
        return Steps(
            self.vocabulary, self.lengths[chosen], self.tokens[chosen], self.emitted[chosen], self.last[chosen], rows,
            self.at_token[chosen], self.at_last[chosen], final=None if self.final is None else self.final[chosen],
        )  # fmt: skip


def excess(rows: PairRows, survival: Array | float = 1.0) -> tuple[Array, Array, Array]:
    """Return max(c p - q, 0) of the tokens listed, and the least and the most that it can be of all others together.

    survival: c, [...], for rows of shape [..., K]. Shapes: [..., K], [...], [...].
    Guarantee: least <= sum over the tokens not listed <= most; they are equal unless 1 / c lies inside a class.
    """
    c = np.asarray(survival, dtype=float)[..., None]
    return np.maximum(c * rows.target - rows.draft, 0.0), *_classes(c, rows.rest_target, rows.rest_draft)


def _classes(c: Array, target: Array, draft: Array) -> tuple[Array, Array]:
    """Return the least and the most of sum_x max(c p - q, 0) over classes. c: [..., 1]; others [..., CLASSES]."""
    least = np.maximum(c * target - draft, 0.0)
    with np.errstate(divide="ignore"):
        turns = 1 / c
    inside = (turns > _LOWER) & (turns < _UPPER)
    most = np.where(inside, np.maximum(c - 1 / _UPPER, 0.0) * target, least)
    return least.sum(-1), np.maximum(most, least).sum(-1)


def surplus_behind(steps: Steps, survival: Array) -> tuple[Array, Array]:
    """Return the least and the most of S_i = sum_x max(p_i M_b(x) - M_s(x), 0) over the row behind the i-th token.

    survival: p_i, [N, G]. Shapes: [N, G].
    Guarantee: neither depends on Y. What is listed only because it came out counts in its class.
    """
    rows = PairRows(*(values[:, 1:] for values in steps.rows))
    listed = np.maximum(survival[..., None] * rows.target - rows.draft, 0.0)
    target, draft = rows.rest_target, rows.rest_draft
    shown = np.nonzero(steps.shown[:, 1:])
    entries = (*shown, steps.at_last[:, 1:][shown])
    listed[entries] = 0.0
    if len(shown[0]) and not steps.counted:
        p, q = rows.target[entries], rows.draft[entries]
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(p > 0, np.searchsorted(EDGES, p / q, side="right"), 0)
        target, draft = target.copy(), draft.copy()
        target[(*shown, place)] += p
        draft[(*shown, place)] += q
    least, most = _classes(survival[..., None], target, draft)
    whole = listed.sum(-1)
    return whole + least, whole + most
