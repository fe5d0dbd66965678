"""The rules for draft trees as laws of a step, and known bugs of them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT
from .laws import Draw, StepLaw, Weights, from_residual, from_target
from .rules import FINE, LATTICE, from_argmax, is_argmax
from .steps import Array, PairRows, Steps
from .tree_steps import TreeSteps
from .trees import ROOT, TreeLaw, Way, left_over, moved_rows, tree_at_most, walk


def _tests(way: Way) -> Callable[[Steps], Array]:
    """Return the coins of a way of testing siblings."""

    def accept(steps: Steps) -> Array:
        assert isinstance(steps, TreeSteps)
        made = walk(steps, way)
        return (made.low + made.high) / 2

    return accept


def _leaves(way: Way) -> Draw:
    """Return the draw from what a way leaves of the target."""
    return lambda steps, rows: left_over(steps, rows, way)


def _by(way: Way, name: str, title: str) -> TreeLaw:
    left = _leaves(way)
    return TreeLaw(name, title, _tests(way), left, way.weighed, left if way.weighed else from_target)


WAYS = {
    "spec-infer": Way(), "without-replacement": Way("removed"), "naive": Way("certain"), "top-tokens": Way("certain"),
    "traversal": Way(weighed=True),
}  # fmt: skip
"""How each rule tests siblings."""

TREE_RULES: dict[str, StepLaw] = {
    "spec-infer": _by(WAYS["spec-infer"], "spec-infer", "recursive rejection"),
    "without-replacement": _by(WAYS["without-replacement"], "without-replacement",
                               "recursive rejection by the eldest sibling's row, less what was rejected"),
    "naive": _by(WAYS["naive"], "naive", "equality with a sample of the target"),
    "top-tokens": _by(WAYS["top-tokens"], "top-tokens", "recursive rejection of tokens that were not drawn"),
    "traversal": _by(WAYS["traversal"], "traversal", "traversal verification"),
    "greedy": TreeLaw("greedy", "equality with the target's most probable token", is_argmax, from_argmax,
                      bonus=from_argmax),
}  # fmt: skip
"""The rules by their names in ``verifiers.trees.registry``; greedy by that of chains."""

TREE_NAMES = (*(name for name in TREE_RULES if name != "greedy"),)
"""Rules that a recording can claim beside those for chains."""

ON_TREES = {"token": "spec-infer", "block": "traversal", "equality": "naive"}
"""Rules for chains -> what they are on a tree."""

ON_CHAINS = {"spec-infer": "token", "without-replacement": "token", "naive": "equality", "top-tokens": "equality",
             "traversal": "block"}  # fmt: skip
"""Rules for trees -> what they are on a chain."""


def tree_bounds(law: StepLaw, steps: TreeSteps, epsilon: float) -> tuple[Array, Array]:
    """Return ``trees.tree_at_most`` of a rule by its name. Greedy steps are judged without bets: it has no coins."""
    if law.name not in WAYS:
        stops, tokens = law.log_likelihood(steps)
        assert tokens is not None
        return stops, tokens
    return tree_at_most(law, WAYS[law.name], steps, epsilon, LATTICE if epsilon > FINE else 0.0)


def _without_siblings(last: bool) -> Draw:
    """Return the target without all siblings, or without the last one alone."""

    def draw(steps: Steps, rows: PairRows) -> Weights:
        assert isinstance(steps, TreeSteps)
        left = rows.target.copy()
        for k in range(steps.gamma):
            youngest = ~steps.children[:, k + 1 :].any(1)
            n = np.flatnonzero(steps.children[:, k] & (youngest | (not last)))
            left[n, steps.at_token[n, k]] = 0.0
        return Weights(left, rows.rest_target.sum(-1))

    return draw


def _counted_twice(steps: Steps) -> Array:
    """Return coins against the target's mass on the siblings so far, equal ones twice."""
    every, mass, coins = np.arange(steps.count), np.zeros((steps.count, steps.gamma + 1)), np.zeros_like(steps.p)
    for k in range(steps.gamma):
        left = 1 - mass[every, steps.above[:, k]]
        coins[:, k] = np.divide(steps.p[:, k], left, out=np.ones(steps.count), where=left > 0)
        mass[every, steps.above[:, k]] += steps.p[:, k]
    return coins


def _draft_of_the_parent(steps: Steps) -> Steps:
    places = np.concatenate([np.zeros((steps.count, 1), dtype=int), steps.above], axis=1)
    return moved_rows(steps, "draft", places)


def _target_by_depth(steps: Steps) -> Steps:
    return moved_rows(steps, "target", steps.depth)


_ALONE, _ENTRY, _WHOLE = Way(subtracts="nothing"), Way(subtracts="entry"), Way("whole")
_SAMPLES, _UNEVEN, _STALE = Way("certain", "nothing"), Way(divided=False), Way(weighed=True, renewed=False)


def _mutants() -> dict[str, tuple[StepLaw, str]]:
    rule = TREE_RULES["spec-infer"]
    laws = (
        (_by(_ENTRY, "T01", "target adjusted at the rejected token alone"), ""),
        (replace(_by(_WHOLE, "T02", "a node verified by the draft row of its parent"),
                 change=_draft_of_the_parent), IID),
        (_by(_WHOLE, "T03", "a sibling verified by the row of its elder"), WITHOUT_REPLACEMENT),
        (replace(rule, name="T05", title="target rows by depth, not by node", change=_target_by_depth), ""),
        (replace(rule, name="T06", title="last token from the row after the context", bonus_row=ROOT), ""),
        (replace(rule, name="T07", title="token after all rejections from the target, not the residual",
                 replace=from_target), ""),
        (replace(_by(_ALONE, "T08", "each sibling tested as if it were the only one"), replace=from_residual), IID),
        (replace(_by(_SAMPLES, "T09", "a sample of the target for each sibling"), replace=_without_siblings(True)), ""),
        (TreeLaw("T10", "equal siblings counted twice", _counted_twice, _without_siblings(False)), IID),
        (_by(_STALE, "T11", "weight of a node unchanged after its children failed"), ""),
        (replace(_by(_ALONE, "residual not updated", "each sibling tested against the target as it was at first"),
                 replace=from_target), ""),
        (_by(_UNEVEN, "residual not divided", "residual not divided by its sum before the next sibling"), ""),
    )  # fmt: skip
    return {law.name: (law, how) for law, how in laws}


TREE_MUTANTS = _mutants()
"""Known bugs by name, each with the way of drawing siblings on which alone it is one; "" for all."""

TREES_NOT_COMPARED = ("T04", "T12")
"""Mutants of the zoo without a law here: they keep paths of another tree, which refutes at once."""


def tree_mutants(how: str) -> list[StepLaw]:
    """Return the known bugs that are bugs where siblings are drawn so."""
    return [law for law, only in TREE_MUTANTS.values() if only in ("", how)]


def on_trees(rule: str) -> str | None:
    """Return what a rule is called on trees; None if it has no law there."""
    name = ON_TREES.get(rule, rule)
    return name if name in TREE_RULES else None


def on_chains(rule: str) -> str:
    """Return what a rule is called on chains."""
    return ON_CHAINS.get(rule, rule)


def same_law(rule: str, how: str) -> frozenset[str]:
    """Return the rules whose law given trees is that of a rule, where siblings are drawn so."""
    point = {"naive", "top-tokens"}
    rejecting = {"spec-infer", "without-replacement"}
    groups = [point | rejecting] if how == TOP else [point, rejecting if how == WITHOUT_REPLACEMENT else set[str]()]
    return frozenset({rule}.union(*(group for group in groups if rule in group)))
