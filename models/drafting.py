"""How a draft tree is drawn: drafting as a program over chance."""

from collections.abc import Iterator
from typing import Any, cast

from ..verifiers.arithmetic import Row, normalised
from ..verifiers.chance import Chance
from ..verifiers.trees.draft_tree import CONTEXT, IID, TOP, WAYS, WITHOUT_REPLACEMENT, Drafting, DraftTree
from .errors import InputError
from .law import Model, Prefix

MOST_NODES = 64
"""Nodes of a tree: each way to draw it is a tree of its own."""


def single_path(gamma: int) -> Drafting:
    """A block of gamma tokens, as a tree."""
    return Drafting((1,) * gamma)


def siblings(row: Row, count: int, how: str, chance: Chance) -> Iterator[tuple[int, Row]]:
    """Up to ``count`` tokens after one text, each with the row that it was drawn from.

    Without replacement there are no more than tokens of positive probability; of the most likely ones (ties to the
    smaller id) no more than V, each with the point mass at it.
    """
    if how == TOP:
        for x in sorted(range(len(row)), key=lambda t: (-row[t], t))[:count]:
            yield x, tuple(int(t == x) for t in range(len(row)))
        return
    for _ in range(count):
        x = chance.draw(row)
        yield x, row
        if how == WITHOUT_REPLACEMENT:
            left = [0 if t == x else q for t, q in enumerate(row)]
            if sum(left) == 0:
                return
            row = tuple(normalised(left))


def draft_tree(target: Model, draft: Model, drafting: Drafting, chance: Chance, context: Prefix = ()) -> DraftTree:
    """Draw a tree behind a context, level by level, and collect the rows of both models."""
    tokens: list[int] = []
    parents: list[int] = []
    rows: list[Row] = []
    texts, level = {CONTEXT: context}, [CONTEXT]
    for count in drafting.children:
        below = []
        for parent in level:
            for x, row in siblings(tuple(draft.row(texts[parent])), count, drafting.how, chance):
                texts[len(tokens)] = (*texts[parent], x)
                below.append(len(tokens))
                tokens.append(x)
                parents.append(parent)
                rows.append(row)
        level = below
    targets = tuple(tuple(target.row(texts[n])) for n in range(CONTEXT, len(tokens)))
    return DraftTree(targets, tuple(rows), tuple(tokens), tuple(parents), drafting.how)


def most_nodes(draft: Model, drafting: Drafting) -> int:
    """N of the largest tree that can be drawn: less than ``drafting.nodes`` where a row runs out of tokens."""

    def below(text: Prefix) -> int:
        if len(text) == len(drafting.children):
            return 0
        row, count = draft.row(text), drafting.children[len(text)]
        if drafting.how == TOP:
            likely = sorted(range(len(row)), key=lambda t: (-row[t], t))[:count]
            return sum(1 + below((*text, x)) for x in likely)
        sizes = sorted((1 + below((*text, x)) for x, q in enumerate(row) if q != 0), reverse=True)
        return count * sizes[0] if drafting.how == IID else sum(sizes[:count])

    return below(())


class _Given:
    """Chance that draws given tokens, and the probability with which it would draw them."""

    def __init__(self, tokens: Prefix):
        self.tokens, self.probability = [*reversed(tokens)], 1

    def draw(self, row: Row) -> int:
        token = self.tokens.pop()
        self.probability = self.probability * row[token]
        return token


def replayed(target: Model, draft: Model, drafting: Drafting, tokens: Prefix) -> tuple[DraftTree, Any]:
    """The tree that has these tokens in drawing order, and the probability with which it is drawn.

    A tree is known by its tokens: how many siblings there are follows from the tokens before them.
    """
    given = _Given(() if drafting.how == TOP else tokens)
    return draft_tree(target, draft, drafting, cast(Chance, given)), given.probability


def drafting_from(data: Any, gamma: int, where: str) -> Drafting | None:
    """A way of drafting from its JSON form, ``{"children": [3, 2], "how": "iid"}`` or ``{"paths": 2}``; None if absent.

    Raises: InputError.
    """
    if data is None:
        return None
    forms = '{"children": [3, 2], "how": "iid"} or {"paths": 2}'
    if not isinstance(data, dict) or not (set(data) == {"paths"} or {"children"} <= set(data) <= {"children", "how"}):
        raise InputError(f"{where}: expected drafting as {forms}")
    counts = [data["paths"], *[1] * (gamma - 1)] if "paths" in data else data["children"]
    if not isinstance(counts, list) or len(counts) != gamma:
        raise InputError(f"{where}: drafting needs the number of children for each of the {gamma} depths")
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):
        raise InputError(f"{where}: a number of drafts must be a whole number of at least 1, got {counts}")
    how = data.get("how", IID)
    if how not in WAYS:
        raise InputError(f"{where}: how is {how!r}, expected {IID}, {WITHOUT_REPLACEMENT} or {TOP}")
    drafting = Drafting(tuple(counts), how)
    if drafting.nodes > MOST_NODES:
        raise InputError(f"{where}: a tree of {drafting.nodes} nodes, expected at most {MOST_NODES}")
    return drafting


def drafting_json(drafting: Drafting) -> dict[str, Any]:
    """The JSON form of a way of drafting."""
    return {"children": list(drafting.children), "how": drafting.how}
