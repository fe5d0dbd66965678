"""Verification steps of draft trees as arrays."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..trees.draft_tree import WITHOUT_REPLACEMENT
from .steps import Array, PairRows, Steps


@dataclass(frozen=True, eq=False)
class TreeSteps(Steps):
    """N steps of trees of at most G drafted tokens. A place is 0 for the context and k + 1 behind the k-th token.

    Fields as in ``Steps``; here ``emitted`` is the place at which Y was drawn, and rows are those of all places.
    parents: [N, G], place of each token's parent; 0 behind the last token
    how: how siblings are said to be drawn, one of ``WAYS``; "" if nothing is said
    certain: [N, G + 1], whether tokens behind a place are certain and not drawn
    apart: [N, G], the parents as recorded, where siblings with one token are apart. In ``parents`` they go on together
        with the first of them, as in ``verifiers.trees.descent``.
    """

    parents: Array = None  # pyright: ignore[reportAssignmentType]
    how: str = ""
    certain: Array = None  # pyright: ignore[reportAssignmentType]
    apart: Array = None  # pyright: ignore[reportAssignmentType]

    @classmethod
    def of(cls, steps: Steps, apart: Array, how: str, certain: Array) -> "TreeSteps":
        """Return steps of trees, with the fields of others. steps: their rows may be changed."""
        (first, parents), rows, certain = firsts(apart, steps.tokens), steps.rows, certain.copy()
        goes_on, every = np.zeros((steps.count, steps.gamma + 1), dtype=bool), np.arange(steps.count)
        goes_on[every[:, None], apart] |= steps.drafted
        for k in range(1, steps.gamma + 1):  # of equal siblings, the first has the row behind which more was drafted
            n = np.flatnonzero(goes_on[:, k] & ~goes_on[every, first[:, k]])
            for values in (*rows, certain):
                values[n, first[n, k]] = values[n, k]
            goes_on[n, first[n, k]] = True
        named = {name: getattr(steps, name) for name in Steps.__dataclass_fields__}
        at_last = (rows.ids == steps.last[:, None, None]).argmax(-1)
        named |= {"at_token": found(rows.ids, parents, steps.tokens), "at_last": at_last}
        return cls(**named, parents=parents, how=how, certain=certain, apart=apart)

    @cached_property
    def other(self) -> "TreeSteps | None":
        """Return the steps in which of siblings with one token the first alone goes on; None if that is the same."""
        if (self.apart == self.parents).all():
            return None
        texts = np.full((self.count, self.gamma + 1), -1)
        n, k = np.nonzero(self.path)
        texts[n, self.depth[n, k + 1] - 1] = self.tokens[n, k]
        place = follow(self.apart, self.tokens, texts)
        return replace(self, parents=self.apart, at_token=found(self.rows.ids, self.apart, self.tokens), emitted=place)

    @property
    def above(self) -> Array:
        return self.parents

    @cached_property
    def path(self) -> Array:
        """Return which tokens lie on the path that was kept, [N, G]."""
        path, place = np.zeros_like(self.drafted), self.emitted
        for k in range(self.gamma - 1, -1, -1):
            path[:, k] = (place == k + 1) & self.drafted[:, k]
            place = np.where(path[:, k], self.parents[:, k], place)
        return path

    @cached_property
    def depth(self) -> Array:
        """Return how many tokens lead to each place, [N, G + 1]."""
        depth, every = np.zeros((self.count, self.gamma + 1), dtype=int), np.arange(self.count)
        for k in range(self.gamma):
            depth[:, k + 1] = np.where(self.drafted[:, k], depth[every, self.parents[:, k]] + 1, 0)
        return depth

    @cached_property
    def children(self) -> Array:
        """Return which tokens follow the place at which Y was drawn, [N, G]."""
        return self.drafted & (self.parents == self.emitted[:, None])

    @cached_property
    def bonus(self) -> Array:
        return np.logical_not(self.children.any(1))

    @cached_property
    def rejected(self) -> Array:
        """Return the place of the eldest token that was rejected last in the list of ``end``, [N]; -1: none was."""
        eldest = self.at_token[np.arange(self.count), self.children.argmax(1)] if self.gamma else self.emitted
        return np.where(self.bonus, -1, eldest)

    @cached_property
    def first(self) -> Array:
        """Return the place of the first sibling with the same token, [N, G + 1].

        What follows equal siblings is together only where their places are one in ``parents``.
        """
        return firsts(self.parents, self.tokens, together=False)[0]

    @cached_property
    def twice(self) -> Array:
        """Return which steps have siblings with one token, [N]."""
        return np.any((self.first[:, 1:] != np.arange(1, self.gamma + 1)) & self.drafted, axis=1)

    def part(self, chosen: Array | slice) -> "TreeSteps":
        plain = super().part(chosen)
        return TreeSteps(
            **{name: getattr(plain, name) for name in Steps.__dataclass_fields__}, parents=self.parents[chosen],
            how=self.how, certain=self.certain[chosen], apart=self.apart[chosen],
        )  # fmt: skip


def found(ids: Array, parents: Array, tokens: Array) -> Array:
    """Return the place of each drafted token in the list of its parent's row, [N, G]. ids: of the rows."""
    return (ids[np.arange(len(ids))[:, None], parents] == tokens[..., None]).argmax(-1)


def firsts(parents: Array, tokens: Array, together: bool = True) -> tuple[Array, Array]:
    """Return the place of the first sibling with each token, [N, G + 1], and parents that are such places, [N, G].

    together: whether what follows equal siblings counts as siblings; else parents stay as they are.
    """
    every, merged = np.arange(len(tokens)), parents.copy()
    first = np.tile(np.arange(tokens.shape[1] + 1), (len(tokens), 1))
    for k in range(tokens.shape[1]):
        merged[:, k] = first[every, parents[:, k]] if together else parents[:, k]
        same = (merged[:, :k] == merged[:, k, None]) & (tokens[:, :k] == tokens[:, k, None]) & (tokens[:, :k] >= 0)
        if k:
            first[:, k + 1] = np.where(same.any(1), same.argmax(1) + 1, k + 1)
    return first, merged


def follow(parents: Array, tokens: Array, texts: Array) -> Array:
    """Return the place that a text leads to, of equal siblings by the first, [N]; -1 where it is not in the tree.

    texts: [N, at least one more than its length], -1 behind its end
    """
    every, place, length = np.arange(len(tokens)), np.zeros(len(tokens), dtype=int), np.zeros(len(tokens), dtype=int)
    for k in range(tokens.shape[1]):
        wanted = texts[every, length]
        on = (parents[:, k] == place) & (tokens[:, k] == wanted) & (wanted >= 0)
        place, length = np.where(on, k + 1, place), length + on
    return np.where(texts[every, length] >= 0, -1, place)


def sibling_rows(steps: TreeSteps, n: Array, k: Array) -> PairRows:
    """Return the rows from which tokens were drawn, [T, ...]: without replacement less what elder siblings took.

    n, k: [T], their steps, and their places in those.
    """
    rows = PairRows(*(values[n, steps.above[n, k]] for values in steps.rows))
    if steps.how != WITHOUT_REPLACEMENT:
        return rows
    draft = rows.draft.copy()
    for j in range(steps.gamma):
        elder = np.flatnonzero((j < k) & (steps.above[n, np.minimum(j, k)] == steps.above[n, k]))
        draft[elder, steps.at_token[n[elder], j]] = 0.0
    left = draft.sum(-1) + rows.rest_draft.sum(-1)
    left = np.where(left > 0, left, 1.0)
    highest = rows.highest.copy()
    highest[:, 1] /= left
    return rows._replace(draft=draft / left[:, None], rest_draft=rows.rest_draft / left[:, None], highest=highest)


def elder_mass(steps: TreeSteps) -> Array:
    """Return the draft's mass of each token's elder siblings, [N, G]; infinite for a token that is one of theirs."""
    every, mass = np.arange(steps.count), np.zeros((steps.count, steps.gamma + 1))
    elders, again = np.zeros_like(steps.q), steps.first[:, 1:] != np.arange(1, steps.gamma + 1)
    for k in range(steps.gamma):
        elders[:, k] = np.where(again[:, k], np.inf, mass[every, steps.above[:, k]])
        mass[every, steps.above[:, k]] += np.where(again[:, k], 0.0, steps.q[:, k])
    return elders
