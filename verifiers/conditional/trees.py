"""What recursive rejection and traversal leave of the rows of a draft tree, and the law of a step's outcome in it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..trees.draft_tree import WITHOUT_REPLACEMENT
from .laws import StepLaw, Weights
from .steps import Array, PairRows, Steps, excess
from .tree_steps import TreeSteps

ROOT = 1 << 20
"""Number of rows before the last that leads to the row of the context from every node."""


class TreeLaw(StepLaw):
    """A law of (place, Y) of a rule for trees. Its coins are those of ``longest``: of a node after its children."""

    def stops(self, steps: Steps) -> Array:
        assert isinstance(steps, TreeSteps)
        coins = self.coins(steps)
        return stops_of_tree(coins, coins, steps, self.longest)

    def log_likelihood(self, steps: Steps) -> tuple[Array, Array | None]:
        """Return log Pr(place) and log Pr(Y | place), or, where equal siblings are, their sum and 0: an even mixture of
        the law where they go on together and that where the first does alone."""
        stops, tokens = super().log_likelihood(steps)
        if not isinstance(steps, TreeSteps) or steps.other is None:
            return stops, tokens
        if "apart" not in steps.kept:
            steps.kept["apart"] = replace(steps.other, emitted=np.maximum(steps.other.emitted, 0))
        others = super().log_likelihood(steps.kept["apart"])
        there = np.where(steps.other.emitted >= 0, 0.0, -np.inf)
        if tokens is None or others[1] is None:
            return np.logaddexp(stops, others[0] + there) - np.log(2), None
        return np.logaddexp(stops + tokens, others[0] + others[1] + there) - np.log(2), np.zeros_like(tokens)

    def places(self, steps: Steps) -> Array:
        place, every = steps.emitted, np.arange(steps.count)
        deepest = int(steps.depth.max(initial=0))
        for _ in range(min(self.bonus_row, deepest)):
            up = steps.above[every, np.maximum(place - 1, 0)] if steps.gamma else place
            place = np.where(steps.bonus & (place > 0), up, place)
        return place


def stops_of_tree(high: Array, low: Array, steps: TreeSteps, longest: bool) -> Array:
    """Return Pr(Y is drawn at a place), [N, G + 1], with coins of ``high`` where they come up, of ``low`` where not.

    longest: a node's coin is flipped after its children have failed; else before its children are looked at.
    """
    every, found = np.arange(steps.count), np.ones((steps.count, steps.gamma + 1))
    left, chosen = np.ones_like(found), np.zeros_like(found)
    fails = np.where(steps.drafted, 1 - low, 1.0)
    if longest:
        below = np.ones_like(left)
        for k in range(steps.gamma - 1, -1, -1):
            fails[:, k] = np.where(steps.drafted[:, k], fails[:, k] * below[:, k + 1], 1.0)
            below[every, steps.above[:, k]] *= fails[:, k]
    for k in range(steps.gamma):
        above = steps.above[:, k]
        chosen[every, steps.first[:, k + 1]] += left[every, above] * (1.0 if longest else high[:, k])
        left[every, above] *= fails[:, k]
    for k in range(steps.gamma):
        found[:, k + 1] = found[every, steps.above[:, k]] * np.minimum(chosen[:, k + 1], 1.0)
    found *= left
    if longest:
        found[:, 1:] *= high
    found[:, 1:][~steps.drafted] = 0.0
    return found


OPERATIONS = 8
"""Roundings that a coin, or what is left of an entry after one rejection, may be off by."""


class Way(NamedTuple):
    """A way of testing siblings one after the other.

    q: the row that a token is tested against: "recorded", as the step says siblings are drawn; "removed", without what
        its elder siblings took; "whole", without looking at them; "certain", a point mass.
    subtracts: what a rejection takes from the target: "row", "entry" (at the token alone) or "nothing".
    divided: whether what is left is divided by its sum. weighed: traversal's weights; renewed: after a rejection, too.
    """

    q: str = "recorded"
    subtracts: str = "row"
    divided: bool = True
    weighed: bool = False
    renewed: bool = True


class TreeWalk(NamedTuple):
    """What a way leaves of a target's row: max(p - C q, 0) / T after all children of a place were rejected.

    low, high: [N, G], bounds of each coin. least: [N, G], the least of q that is subtracted at each token.
    spent: [N, G + 1], C. total: [N, G + 1], the least that T can be. unsure: [N, G + 1], whether T may be 0.
    changes: [N, G], whether anything was subtracted. lone: [N, G], whether only the token's own entry was.
    """

    low: Array
    high: Array
    least: Array
    spent: Array
    total: Array
    unsure: Array
    changes: Array
    lone: Array


def _quotient(a: Array, b: Array, empty: Array | float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b > 0, a / np.where(b > 0, b, 1.0), empty)


def _renewed(weight: Array, surplus: Array) -> Array:
    """Return S / (S + 1 - a), and 1 for 0 / 0."""
    return 1 / (1 + _quotient(1 - weight, surplus, np.where(weight < 1, np.inf, 0.0)))


def _classes(spent: Array, target: Array, draft: Array) -> tuple[Array, Array]:
    """Return the least and the most of sum max(p - C q, 0) over tokens that are not listed, [N] each. spent: C, [N]."""
    nothing = spent <= 0
    c = 1 / np.where(nothing, 1.0, spent)
    none = np.zeros((len(spent), 0))
    rows = PairRows(none, none, none, target, draft, none, none, none, none)
    _, least, most = excess(rows, c)
    whole = target.sum(-1)
    return np.where(nothing, whole, least * spent), np.where(nothing, whole, most * spent)


def _known(steps: Steps) -> PairRows:
    """Return the rows as they are known before Y is seen."""
    if not steps.counted:
        return steps.before
    shown = np.nonzero(steps.shown)
    target, draft = steps.rows.target.copy(), steps.rows.draft.copy()
    for values in (target, draft):
        values[(*shown, steps.at_last[shown])] = 0.0
    return steps.rows._replace(target=target, draft=draft)


def removes(steps: TreeSteps, way: Way) -> bool:
    """Return whether what elder siblings took is removed from a row."""
    return way.q == "removed" or (way.q == "recorded" and steps.how == WITHOUT_REPLACEMENT)


def walk(steps: TreeSteps, way: Way, epsilon: float | None = None) -> TreeWalk:
    """Return what a way makes of every place, token by token in drawing order.

    epsilon: roundoff of each operation; None: exact, with the middle of what tokens that are not listed leave open.
    Guarantee: with an epsilon every coin and T lie within the bounds. Neither depends on Y.
    """
    key = "walk", way, epsilon
    if key in steps.kept:
        return steps.kept[key]
    rows, every, (count, places) = _known(steps), np.arange(steps.count), steps.certain.shape
    slack = np.zeros((count, places)) if epsilon is None else OPERATIONS * epsilon + rows.off
    lows, highs = rows.target * (1 - slack[..., None]), rows.target * (1 + slack[..., None])
    gone, removed = np.zeros(rows.ids.shape, dtype=bool), removes(steps, way)
    unsure = np.zeros((count, places), dtype=bool)
    spent, total, weight = (np.stack([f((count, places))] * 2) for f in (np.zeros, np.ones, np.ones))
    coins, subtracted = np.zeros((2, count, steps.gamma)), np.zeros((count, steps.gamma))
    changes, lone = np.zeros_like(steps.drafted), np.zeros_like(steps.drafted)
    for k in range(steps.gamma):
        here, above, x = steps.drafted[:, k].copy(), steps.above[:, k], steps.at_token[:, k]
        d = slack[every, above]
        low, high = lows[every, above], highs[every, above]
        q = np.where(gone[every, above], 0.0, rows.draft[every, above])
        sure = steps.certain[every, above] | (way.q == "certain")
        outside = rows.rest_target[every, above], rows.rest_draft[every, above]
        remains = q.sum(1) + outside[1].sum(1) if removed else np.ones(count)
        scale = _quotient(np.ones(count), remains, 0.0)
        here &= sure | (remains > 0)
        t, a = total[:, every, above], weight[:, every, above]
        own = np.where(sure, 1.0, q[every, x] * scale)
        up = _quotient(a[1] * high[every, x] * (1 + d), t[0] * own, (high[every, x] > 0).astype(float))
        down = _quotient(a[0] * low[every, x] * (1 - d), t[1] * own, (low[every, x] > 0).astype(float))
        up, down = np.where(unsure[every, above], 1.0, up), np.where(unsure[every, above], 0.0, down)
        coins[:, :, k] = np.where(here, np.clip([down, up], 0.0, 1.0), 0.0)
        if way.weighed:
            weight[:, here, k + 1] = coins[:, here, k]
        if way.subtracts == "nothing":
            continue
        alone = sure | (way.subtracts == "entry")
        less = np.stack([_quotient(t[0], a[1], 1.0), _quotient(t[1], a[0], np.inf)]) * scale
        less = np.minimum(less, 1e300)
        off = np.where(alone[:, None] & (np.arange(q.shape[1]) != x[:, None]), 0.0, q)
        off = np.where(sure[:, None], np.where(np.arange(q.shape[1]) == x[:, None], np.inf, 0.0), off)
        with np.errstate(invalid="ignore"):
            low = np.maximum(low - np.where(off > 0, less[1][:, None] * off * (1 + d)[:, None], 0.0), 0.0)
            high = np.maximum(high - np.where(off > 0, less[0][:, None] * off * (1 - d)[:, None], 0.0), 0.0)
        c = spent[:, every, above] + np.where(alone, 0.0, less)
        bounds = _classes(c[0], *outside), _classes(c[1], *outside)
        open_mass = d * outside[0].sum(1)
        now = np.stack([low.sum(1) + bounds[1][0] - open_mass, high.sum(1) + bounds[0][1] + open_mass])
        now = np.maximum(now, 0.0) * np.stack([1 - d, 1 + d])
        if epsilon is None:
            now[:] = now.mean(0)
        change = here & (now[1] > 0)
        unsure[every, above] |= here & (now[0] <= 0) & (now[1] > 0)
        changes[:, k], lone[:, k], subtracted[:, k] = change, alone, np.where(change & ~sure, less[0], 0.0)
        n, at = every[change], above[change]
        lows[n, at], highs[n, at], spent[:, n, at] = low[change], high[change], c[:, change]
        if way.weighed and way.renewed:
            weight[:, every[here], above[here]] = _renewed(a, _quotient(a * now, t[::-1], np.inf))[:, here]
        if way.divided:
            total[:, n, at] = now[:, change]
        if removed:
            gone[every[here], above[here], x[here]] = True
    if way.weighed:
        coins = np.where(steps.drafted, weight[:, :, 1:], 0.0)
    found = TreeWalk(coins[0], coins[1], subtracted, spent[0], total[0], unsure, changes, lone)
    steps.kept[key] = found
    return found


def left_over(steps: Steps, rows: PairRows, way: Way) -> Weights:
    """Return what is left of the target at the place where Y is drawn, after all children were rejected."""
    assert isinstance(steps, TreeSteps)
    made, every = walk(steps, way), np.arange(steps.count)
    left, gone = rows.target.copy(), np.zeros(rows.ids.shape, dtype=bool)
    for k in range(steps.gamma):
        mine, x = steps.children[:, k], steps.at_token[:, k]
        changes = mine & made.changes[:, k]
        sure = changes & (steps.certain[every, steps.emitted] | (way.q == "certain"))
        own = np.arange(left.shape[1]) == x[:, None]
        q = np.where(gone | (made.lone[:, k, None] & ~own), 0.0, rows.draft)
        left = np.where((changes & ~sure)[:, None], np.maximum(left - made.least[:, k, None] * q, 0.0), left)
        left[sure[:, None] & own] = 0.0
        if removes(steps, way):
            gone |= mine[:, None] & own
    _, rest = _classes(made.spent[every, steps.emitted], rows.rest_target, rows.rest_draft)
    return Weights(left, rest)


def tree_at_most(law: StepLaw, way: Way, steps: TreeSteps, epsilon: float, grain: float) -> tuple[Array, Array]:
    """Return bounds of log Pr(place) and log Pr(Y | place) from above, as ``rules.at_most`` does of chains.

    grain: distance of two neighbouring uniforms.
    Guarantee: no outcome is more probable under the rounded rule, whichever of equal siblings goes on.
    """
    stops, tokens = _most(law, way, steps, epsilon, grain)
    if steps.other is not None:
        others = _most(law, way, steps.other, epsilon, grain)
        better = others[0] + others[1] > stops + tokens
        stops, tokens = np.where(better, others[0], stops), np.where(better, others[1], tokens)
    return stops, tokens


def _most(law: StepLaw, way: Way, steps: TreeSteps, epsilon: float, grain: float) -> tuple[Array, Array]:
    made, every, end = walk(steps, way, epsilon), np.arange(steps.count), steps.emitted
    high = np.minimum(made.high + np.where(made.high > 0, grain, 0.0), 1.0)
    low = np.where(made.low >= 1, 1.0, np.maximum(made.low - grain, 0.0))
    stops = stops_of_tree(high, low, steps, law.longest)[every, np.maximum(end, 0)]
    rows, at = steps.rows_at(np.maximum(end, 0)), steps.at_last[every, np.maximum(end, 0)]
    slack = OPERATIONS * epsilon + rows.off
    p, q, gone = rows.target[every, at] * (1 + slack), rows.draft[every, at], np.zeros(steps.count, dtype=bool)
    for k in range(steps.gamma):
        mine = steps.children[:, k] & made.changes[:, k]
        same = steps.tokens[:, k] == steps.last
        sure = steps.certain[every, np.maximum(end, 0)] | (way.q == "certain")
        less = np.where(gone, 0.0, made.least[:, k] * q * (1 - slack))
        p = np.where(mine & ~sure, np.maximum(p - less, 0.0), np.where(mine & sure & same, 0.0, p))
        if removes(steps, way):
            gone |= steps.children[:, k] & same
    total = made.total[every, np.maximum(end, 0)]
    tokens = np.where(made.unsure[every, np.maximum(end, 0)], 1.0, _quotient(p * (1 + slack), total, 1.0))
    there = (end >= 0).astype(float)
    with np.errstate(divide="ignore"):
        return np.log(stops * there), np.log(np.minimum(tokens, 1.0))


def moved_rows(steps: Steps, name: str, places: Array) -> Steps:
    """Return steps in which one model's rows are those of other places. places: [N, G + 1].

    Only tokens that are listed at both places have their probability; the rest counts as not listed.
    """
    rows, (count, wide, width) = steps.rows, steps.rows.ids.shape
    size = steps.vocabulary + 1
    base = (np.arange(count)[:, None] * wide + np.arange(wide)) * size
    source = (base[..., None] + rows.ids + 1).reshape(-1)
    order = np.argsort(source, kind="stable")
    wanted = (base[np.arange(count)[:, None], places][..., None] + rows.ids + 1).reshape(-1)
    at = np.minimum(np.searchsorted(source[order], wanted), len(order) - 1)
    found = (source[order][at] == wanted) & (rows.ids.reshape(-1) >= 0)
    values = getattr(rows, name).reshape(-1)[order][at]
    listed = np.where(found, values, 0.0).reshape(count, wide, width)
    rest, n, place = np.zeros_like(rows.rest_target), np.arange(count)[:, None], np.arange(wide)
    own = np.where(steps.shown[n, places] & ~steps.shown, 0.0, listed[n, place, steps.at_last])
    listed[n, place, steps.at_last] = own  # what is known there only because Y came out is not taken to be known here
    known = listed.sum(-1) - np.where(steps.shown, own, 0.0)
    rest[..., -1 if name == "target" else 0] = np.maximum(1 - known, 0.0)
    return replace(steps, rows=rows._replace(**{name: listed, f"rest_{name}": rest}), counted=True)
