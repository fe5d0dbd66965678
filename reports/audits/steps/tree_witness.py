"""The step of a draft tree that speaks most against a rule, cut to what matters, as a problem for draftproof audit."""

from itertools import product
from typing import Any

import numpy as np

from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.steps import Array, PairRows
from ....verifiers.conditional.tree_steps import TreeSteps
from ....verifiers.trees.draft_tree import TOP, drafting_by_parents
from .bets import bets_on_steps
from .cut_rows import NEARLY, cut_row, whole_row

MOST_TREES = 10_000
"""Trees, at most, that a problem may draw: an audit enumerates them all."""


def tree_problem(steps: TreeSteps, rule: StepLaw, seen: StepLaw | None, epsilon: float) -> dict[str, Any]:
    """Return one step as a problem that draws its tree; empty if that is too large or was drawn in no known way.

    rule: that is claimed. seen: what explains the steps best.
    """
    certain = steps.certain[0, steps.parents[0, : steps.lengths[0]]]
    if not steps.lengths[0] or not steps.how or bool((certain != (steps.how == TOP)).any()):
        return {}
    return _problem(_window(steps, rule, seen, epsilon))


def _window(steps: TreeSteps, rule: StepLaw, seen: StepLaw | None, epsilon: float) -> TreeSteps:
    """Return the part of a tree, from as low as possible, that still speaks against the rule nearly as much.

    A rule that goes down the tree knows nothing of what lies beside its path. Traversal looks at the whole tree.
    """
    path = [int(steps.emitted[0])]
    while path[0]:
        path.insert(0, int(steps.parents[0, path[0] - 1]))
    if rule.longest:
        return steps
    whole = bets_on_steps(rule, [seen or rule], steps, epsilon)
    for first in range(len(path) - 1, -1, -1):
        part = _below(steps, path[first:])
        if not part.lengths[0]:
            continue
        bets = bets_on_steps(rule, [seen or rule], part, epsilon)
        if bets.possible[0] == whole.possible[0] and bets.logs[0, 0] >= NEARLY * whole.logs[0, 0]:
            return part
    return _below(steps, path)


def _below(steps: TreeSteps, path: list[int]) -> TreeSteps:
    """Return a step with the drafted tokens behind the places of a path alone. The first of these is its context."""
    nodes = np.flatnonzero(steps.drafted[0] & np.isin(steps.parents[0], path))
    places = np.array([path[0], *(nodes + 1)])
    number = np.zeros(steps.gamma + 1, dtype=int)
    number[places] = np.arange(len(places))
    parents = number[steps.parents[:, nodes]]
    return TreeSteps(
        steps.vocabulary, np.array([len(nodes)]), steps.tokens[:, nodes], number[steps.emitted], steps.last,
        PairRows(*(values[:, places] for values in steps.rows)), steps.at_token[:, nodes], steps.at_last[:, places],
        parents=parents, how=steps.how, certain=steps.certain[:, places], apart=parents,
    )  # fmt: skip


def _problem(steps: TreeSteps) -> dict[str, Any]:
    """Return a step as a problem.

    Behind each place the drafted tokens come first, in order. Then come the last token that was emitted, all others
    with p > q, and those with p <= q, so that sum_x max(p - q, 0) stays what it was. A text that leaves the tree has
    the rows of the place where it left.
    """
    parents, tokens = steps.parents[0, : steps.lengths[0]], steps.tokens[0]
    try:
        drafting_by_parents(tuple(int(parent) - 1 for parent in parents))
    except ValueError:
        return {}
    drafted = [list(dict.fromkeys(tokens[np.flatnonzero(parents == k)].tolist())) for k in range(len(parents) + 1)]
    wide = max(map(len, drafted))
    rows = [_cut(steps, place, drafted[place], wide) for place in range(len(parents) + 1)]
    used = [k for k in range(wide + 3) if any(row[k].any() for row in rows)]
    gamma = int(steps.depth[0].max())
    if len(used) ** max(len(parents), gamma + 1) > MOST_TREES:
        return {}
    places: dict[tuple[int, ...], int] = {(): 0}
    for text in (text for length in range(1, gamma + 1) for text in product(range(len(used)), repeat=length)):
        above, label = places[text[:-1]], used[text[-1]]
        token = drafted[above][label] if label < len(drafted[above]) else None
        below = np.flatnonzero((parents == above) & (tokens[: len(parents)] == token))
        places[text] = int(below[0]) + 1 if len(below) else above
    draws = {"parents": [int(parent) - 1 for parent in parents], "how": steps.how}
    form = {"vocabulary": len(used), "gamma": gamma, "name": "recorded-step", "drafting": draws}
    for column, (name, longest) in enumerate((("target", gamma), ("draft", gamma - 1))):
        form[name] = {
            ",".join(map(str, text)): whole_row(rows[place][used, column])
            for text, place in places.items() if len(text) <= longest
        }  # fmt: skip
    return form


def _cut(steps: TreeSteps, place: int, drafted: list[int], wide: int) -> Array:
    """Return p and q of the tokens at a place, [wide + 3, 2]. Of certain tokens q falls from one to the next."""
    last = {int(steps.last[0]): wide} if place == steps.emitted[0] else {}
    row = cut_row(steps, place, {**last, **{token: label for label, token in enumerate(drafted)}}, wide + 3)
    if steps.how == TOP:
        row[:, 1] = 0.0
        row[: max(len(drafted), 1), 1] = 0.5 ** np.arange(max(len(drafted), 1))
    return row
