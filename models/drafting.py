"""How a draft tree is drawn: drafting as a program over chance."""

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated, Any, Literal, cast

import msgspec

from ..verifiers.arithmetic import Row, normalised
from ..verifiers.chance import Chance
from ..verifiers.trees.draft_tree import (
    CONTEXT,
    HUB,
    IID,
    TOP,
    WITHOUT_REPLACEMENT,
    Drafting,
    DraftTree,
    drafting_by_parents,
)
from ..verifiers.trees.spec_hub import hub
from .errors import InputError
from .law import Model, Prefix

MOST_NODES = 64
"""Nodes of a tree: each way to draw it is a tree of its own."""

How = Literal["iid", "without-replacement", "top", "hub"]
Count = Annotated[int, msgspec.Meta(ge=1)]


def single_path(gamma: int) -> Drafting:
    """Return a block of gamma tokens, as a tree."""
    return Drafting((1,) * gamma)


def siblings(row: Row, count: int, how: str, chance: Chance) -> Iterator[tuple[int, Row]]:
    """Draw up to ``count`` tokens after one text, each with the row that it was drawn from.

    Without replacement there are no more than tokens of positive probability; of the most likely ones (ties to the
    smaller id) no more than V, each with the point mass at it. With a hub the second of two is that token, with the
    point mass at it, or, if the first is, another one.
    """
    if how == TOP:
        for x in sorted(range(len(row)), key=lambda t: (-row[t], t))[:count]:
            yield x, tuple(int(t == x) for t in range(len(row)))
        return
    for k in range(count):
        x = chance.draw(row)
        yield x, row
        if k + 1 == count:
            return
        if how == HUB and x != hub(row):
            row = tuple(sum(row) * int(t == hub(row)) for t in range(len(row)))
        elif how in (WITHOUT_REPLACEMENT, HUB):
            left = [0 if t == x else q for t, q in enumerate(row)]
            if sum(left) == 0:
                return
            row = tuple(normalised(left))


def draft_tree(target: Model, draft: Model, drafting: Drafting, chance: Chance, context: Prefix = ()) -> DraftTree:
    """Draw a tree behind a context, level by level or depth first, and collect the rows of both models."""
    tokens: list[int] = []
    parents: list[int] = []
    rows: list[Row] = []
    texts = {CONTEXT: context}

    def children(parent: int, place: int, depth: int) -> Iterator[tuple[int, int]]:
        """Draw the children of one node, one by one: each with its place."""
        if not (places := drafting.places(place, depth)):
            return
        drawn = siblings(tuple(draft.row(texts[parent])), len(places), drafting.how, chance)
        for (x, row), child in zip(drawn, places):  # fewer siblings where a row runs out of tokens
            texts[len(tokens)] = (*texts[parent], x)
            tokens.append(x)
            parents.append(parent)
            rows.append(row)
            yield len(tokens) - 1, child

    def all_below(parent: int, place: int, depth: int) -> None:
        for node, child in children(parent, place, depth):
            all_below(node, child, depth + 1)

    if drafting.depth_first:
        all_below(CONTEXT, CONTEXT, 0)
    level = [] if drafting.depth_first else [(CONTEXT, CONTEXT)]
    for depth in range(len(drafting.children)):
        level = [made for parent, place in level for made in children(parent, place, depth)]
    targets = tuple(tuple(target.row(texts[n])) for n in range(CONTEXT, len(tokens)))
    return DraftTree(targets, tuple(rows), tuple(tokens), tuple(parents), drafting.how)


def most_nodes(draft: Model, drafting: Drafting) -> int:
    """Return N of the largest tree that can be drawn: less than ``drafting.nodes`` where a row runs out of tokens."""

    def below(text: Prefix, node: int) -> int:
        places = drafting.places(node, len(text))
        if not places:
            return 0
        row = draft.row(text)
        if drafting.how == TOP:
            likely = sorted(range(len(row)), key=lambda t: (-row[t], t))
            return sum(1 + below((*text, x), place) for x, place in zip(likely, places))
        tokens = [x for x, q in enumerate(row) if q != 0]
        sizes = {place: [1 + below((*text, x), place) for x in tokens] for place in set(places)}
        if drafting.how == IID:
            return sum(max(sizes[place]) for place in places)
        if drafting.parents is None and drafting.how != HUB:
            return sum(sorted(sizes[0], reverse=True)[: len(places)])
        orders = permutations(range(len(tokens)), min(len(places), len(tokens)))
        if drafting.how == HUB and len(places) > 1:
            orders = (order for order in orders if tokens.index(hub(row)) in order)
        return max(sum(sizes[place][k] for k, place in zip(order, places)) for order in orders)

    return below((), CONTEXT)


class _Given:
    """A chance that draws given tokens, and the probability with which it would draw them."""

    def __init__(self, tokens: Prefix):
        self.tokens, self.probability = [*reversed(tokens)], 1

    def draw(self, row: Row) -> int:
        token = self.tokens.pop()
        self.probability = self.probability * row[token]
        return token


def replayed(target: Model, draft: Model, drafting: Drafting, tokens: Prefix) -> tuple[DraftTree, Any]:
    """Return the tree that has these tokens in drawing order, and the probability with which it is drawn.

    A tree is known by its tokens: how many siblings there are follows from the tokens before them.
    """
    given = _Given(() if drafting.how == TOP else tokens)
    return draft_tree(target, draft, drafting, cast(Chance, given)), given.probability


class DraftingForm(msgspec.Struct, forbid_unknown_fields=True):
    """A way of drafting in its JSON form: ``{"children": [3, 2], "how": "iid"}`` or ``{"paths": 2}``.

    A ragged tree has ``parents`` in place of ``children``, [-1, -1, 0] where the first of two nodes alone has a child,
    and so has one whose nodes are drawn depth first: [-1, 0, -1, 2].
    how: IID if it is not said.
    """

    children: Annotated[list[Count], msgspec.Meta(min_length=1)] | msgspec.UnsetType = msgspec.UNSET
    parents: Annotated[list[int], msgspec.Meta(min_length=1)] | msgspec.UnsetType = msgspec.UNSET
    paths: Count | msgspec.UnsetType = msgspec.UNSET
    how: How | msgspec.UnsetType = msgspec.UNSET

    def checked(self, gamma: int, where: str) -> Drafting:
        """Check a way of drafting trees of depth gamma, and return it. Raises: InputError."""
        shapes = [x for x in (self.children, self.parents, self.paths) if x is not msgspec.UNSET]
        if len(shapes) != 1 or (self.paths and self.how):
            forms = '{"children": [3, 2], "how": "iid"}, {"parents": [-1, -1, 0]} or {"paths": 2}'
            raise InputError(f"{where}: expected drafting as {forms}")
        nodes = len(self.parents or ())
        try:
            if self.parents and nodes <= MOST_NODES:
                drafting = drafting_by_parents(tuple(self.parents), self.how or IID)
            else:
                drafting = Drafting(tuple(self.children or (self.paths or 1, *[1] * (gamma - 1))), self.how or IID)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        if max(nodes, drafting.nodes) > MOST_NODES:
            raise InputError(f"{where}: a tree of {max(nodes, drafting.nodes)} nodes, expected at most {MOST_NODES}")
        if not drafting.fits:
            raise InputError(f"{where}: {max(drafting.children)} siblings with a hub, expected 1 or 2 of each node")
        if len(drafting.children) != gamma:
            raise InputError(f"{where}: a tree of depth {len(drafting.children)} where gamma is {gamma}")
        return drafting


def drafting_json(drafting: Drafting) -> dict[str, Any]:
    """Return the JSON form of a way of drafting."""
    shape = {"children": drafting.children} if drafting.parents is None else {"parents": drafting.parents}
    return {name: list(numbers) for name, numbers in shape.items()} | {"how": drafting.how}
