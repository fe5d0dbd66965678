"""Known bugs of the zoo as laws of a step: what each would have emitted on the same rows and drafted tokens."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .laws import Draw, StepLaw, Weights, from_residual, from_target
from .rules import (
    RULES,
    block_accept,
    from_argmax,
    from_block_residual,
    is_argmax,
    ratio_capped,
    share,
    survivals,
    without_rejected,
)  # fmt: skip
from .shared_numbers import SHARED_NUMBERS
from .steps import Array, PairRows, Steps, excess

TOKEN = RULES["token"]


def total(weights: Weights) -> Array:
    """Return the sum over the vocabulary, [...]."""
    return np.maximum(weights.listed.sum(-1) + weights.rest, 1e-300)


LOGS_KEPT = 8
"""Arrays whose logarithms are kept: the rows of one part of a shard are raised to many powers."""

_LOGS: list[tuple[Array, Array]] = []


def _log(values: Array) -> Array:
    """Return the logarithm of an array that nobody writes to, computed once while it is among the last asked for."""
    for known, logs in _LOGS:
        if known is values:
            return logs
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    _LOGS[:] = [(values, logs), *_LOGS[: LOGS_KEPT - 1]]
    return logs


def tempered(values: Array, mass: Array, count: Array, highest: Array, temperature: float) -> Weights:
    """Return p^(1/T): of what is not listed, the most that it can add up to.

    values: [..., K]. mass: of what is not listed, [...]; count: how many that are; highest: the largest of them.
    """
    power = 1 / temperature
    if power <= 1:
        rest = np.where(mass > 0, np.maximum(count, 1) ** (1 - power) * mass**power, 0.0)
    else:
        rest = mass * np.maximum(highest, 0.0) ** (power - 1)
    raised = power * _log(values)
    return Weights(np.exp(raised, out=raised), rest)


def target_tempered(rows: PairRows, temperature: float) -> Weights:
    """Return the target's row at another temperature."""
    return tempered(rows.target, rows.rest_target.sum(-1), rows.rest_count, rows.highest[..., 0], temperature)


def draft_tempered(rows: PairRows, temperature: float) -> Weights:
    """Return the draft's row at another temperature."""
    return tempered(rows.draft, rows.rest_draft.sum(-1), rows.rest_count, rows.highest[..., 1], temperature)


def with_target(steps: Steps, change: Callable[[PairRows], Weights], by_entry: bool = False) -> Steps:
    """Return the steps with another target. What is not listed has all that it can have.

    change: returns arrays of its own, which are written to.
    by_entry: whether what is listed of a token depends on that token's entry alone, and the rest on the rest alone.
    A row is divided by the sum that it has before Y is seen, so that coins do not depend on Y.
    """
    made = _changed(steps, change, by_entry)
    rows = _with_rest(steps.rows, made.rest / made.whole)
    target = np.divide(made.listed, made.whole[..., None], out=made.listed)
    return replace(steps, rows=rows._replace(target=target), counted=True)


def with_draft(steps: Steps, change: Callable[[PairRows], Weights], by_entry: bool = False) -> Steps:
    """Return the steps with another draft. What is not listed has all of the target and nothing of the draft."""
    made = _changed(steps, change, by_entry)
    rows = _with_rest(steps.rows, steps.before.rest_target.sum(-1))
    draft = np.divide(made.listed, made.whole[..., None], out=made.listed)
    return replace(steps, rows=rows._replace(draft=draft), counted=True)


class _Changed(NamedTuple):
    """Changed weights of rows. listed: [N, G + 1, K]. whole, rest: before Y is seen, of all and of what is not listed,
    [N, G + 1]."""

    listed: Array
    whole: Array
    rest: Array


def _changed(steps: Steps, change: Callable[[PairRows], Weights], by_entry: bool) -> _Changed:
    """Return the changed rows. Where that is enough, lists are changed once, and added up without Y."""
    now = change(steps.rows)
    if not by_entry:
        before = change(steps.before)
        return _Changed(now.listed, total(before), before.rest)
    if "rest" not in steps.kept:
        rows = steps.before
        nothing = {name: getattr(rows, name)[..., :0] for name in ("ids", "target", "draft")}
        chosen = np.nonzero(steps.shown)
        steps.kept["rest"] = rows._replace(**nothing), (*chosen, steps.at_last[chosen])
    rows, shown = steps.kept["rest"]
    rest, for_y = change(rows).rest, now.listed[shown]
    now.listed[shown] = 0.0
    whole = total(Weights(now.listed, rest))
    now.listed[shown] = for_y
    return _Changed(now.listed, whole, rest)


def _with_rest(rows: PairRows, mass: Array) -> PairRows:
    last = np.zeros_like(rows.rest_target)
    last[..., -1] = mass
    return rows._replace(rest_target=last, rest_draft=np.zeros_like(last))


def _softmax(values: Array, rows: PairRows) -> Weights:
    return Weights(np.where(rows.ids >= 0, np.exp(values), 0.0), np.exp(rows.highest.max(-1)) * rows.rest_count)


def _changed_draft(change: Callable[[PairRows], Weights]) -> Callable[[Steps], Steps]:
    return lambda steps: with_draft(steps, change, by_entry=True)


def _truncated_away(steps: Steps) -> Steps:
    """Return steps whose draft's rows have a tenth of their mass spread evenly over the vocabulary."""
    each = 0.1 / steps.vocabulary

    def change(rows: PairRows) -> Weights:
        listed = np.where(rows.ids >= 0, 0.9 * rows.draft + each, 0.0)
        return Weights(listed, 0.9 * rows.rest_draft.sum(-1) + each * rows.rest_count)

    return with_draft(steps, change, by_entry=True)


def _before_last(rows: PairRows) -> PairRows:
    return PairRows(*(values[:, :-1] for values in rows))


def _ratios(steps: Steps, target: Array, draft: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.minimum(np.where(draft > 0, target / draft, (target > 0).astype(float)), 1.0)


def _upside_down(steps: Steps) -> Array:
    return _ratios(steps, steps.q, steps.p)


LAST_BITS = 1e-6
"""Room below a threshold: the last bits of a row, float32 and divided by its sum, may depend on what came out."""


def _in_hundredths(steps: Steps) -> Array:
    return np.minimum((np.floor(100 * (ratio_capped(steps) + LAST_BITS)) + 1) / 101, 1.0)


def _own_sample(steps: Steps) -> Array:
    rows = _before_last(steps.before)
    rest = np.minimum(rows.rest_target.sum(-1), rows.rest_count * steps.q)
    return np.minimum(rows.target, steps.q[:, :, None]).sum(-1) + rest


def _less_than_rejected(steps: Steps, rows: PairRows) -> Weights:
    q = np.where(steps.rejected >= 0, rows.draft[np.arange(steps.count), np.maximum(steps.rejected, 0)], 0.0)
    rest = np.where(q >= rows.highest[:, 0], 0.0, rows.rest_target.sum(-1))
    return Weights(np.maximum(rows.target - q[:, None], 0.0), rest)


def _softmax_of_residual(steps: Steps, rows: PairRows) -> Weights:
    return _softmax(excess(rows)[0], rows)


def _mode_of_residual(steps: Steps, rows: PairRows) -> Weights:
    return Weights(steps.mode(excess(rows)[0], rows), np.zeros(steps.count))


def _stale_buffer(steps: Steps, rows: PairRows) -> Weights:
    listed, rest = without_rejected(steps, rows)
    left = np.maximum(listed - rows.draft, 0.0)
    nothing = left.sum(-1) + rest == 0
    return Weights(np.where(nothing[:, None], listed, left), rest)


def smoothed(epsilon: float) -> Draw:
    """Return the residual with an epsilon more for every token."""

    def draw(steps: Steps, rows: PairRows) -> Weights:
        listed, _, most = excess(rows)
        return Weights(np.where(rows.ids >= 0, listed + epsilon, 0.0), most + epsilon * rows.rest_count)

    return draw


def _first_accepted(steps: Steps) -> Array:
    coins = ratio_capped(steps)
    return np.where(np.arange(steps.gamma) == 0, 1.0, coins)


def _penalised(steps: Steps) -> Steps:
    """Return steps in whose rows a token has half as much for every time that it was drafted before."""

    def change(rows: PairRows) -> Weights:
        target = rows.target.copy()
        for j, tokens in enumerate(steps.tokens.T):
            drafted = (rows.ids[:, j + 1 :] == tokens[:, None, None]) & (tokens[:, None, None] >= 0)
            target[:, j + 1 :][drafted] /= 2
        return Weights(target, rows.rest_target.sum(-1))

    return with_target(steps, change, by_entry=True)


def _without_earlier(steps: Steps) -> Steps:
    """Return steps whose draft's rows lack the tokens that were drafted before; a row that has no other stays."""
    ids = steps.rows.ids
    earlier = [(steps.tokens[:, :j, None] == ids[:, j, None]).any(1) & (ids[:, j] >= 0) for j in range(steps.gamma + 1)]

    def change(rows: PairRows) -> Weights:
        left = rows.draft.copy()
        for j, same in enumerate(earlier):
            left[:, j][same] = 0.0
        rest = rows.rest_draft.sum(-1)
        empty = left.sum(-1) + rest == 0
        return Weights(np.where(empty[..., None], rows.draft, left), rest)

    return with_draft(steps, change)


def _placeholder_surplus(steps: Steps) -> Array:
    """Return h_i with the residual's mass of the row after."""
    survival = survivals(steps)
    behind = PairRows(*(np.concatenate([values[:, 2:], values[:, -1:]], axis=1) for values in steps.before))
    last = (np.arange(1, steps.gamma + 1) >= steps.lengths[:, None] - 1)[:, :, None]
    behind = behind._replace(draft=np.where(last, 0.0, behind.draft), rest_draft=np.where(last, 0.0, behind.rest_draft))
    listed, least, most = excess(behind, survival)
    inner = share(survival, listed.sum(-1) + (least + most) / 2)
    return np.where(np.arange(1, steps.gamma + 1) == steps.lengths[:, None], survival, inner)


def _without_draft_probabilities(steps: Steps) -> Array:
    at_end = np.arange(1, steps.gamma + 1) == steps.lengths[:, None]
    return np.where(at_end, np.where(steps.drafted, steps.p, 1.0).cumprod(1), 0.0)


def _last_uncapped(steps: Steps) -> Array:
    at_end = np.arange(1, steps.gamma + 1) == steps.lengths[:, None]
    return np.where(at_end, np.minimum(survivals(steps, np.inf), 1.0), block_accept(steps))


class _OneUniform(StepLaw):
    """Token verification that tests all tokens with one uniform: Pr(tau >= k) = min_{i <= k} min(1, p / q)."""

    def stops(self, steps: Steps) -> Array:
        coins = np.where(steps.drafted, self.coins(steps), 0.0)
        least = np.minimum.accumulate(np.concatenate([np.ones((steps.count, 1)), coins], axis=1), axis=1)
        return least - np.concatenate([least[:, 1:], np.zeros((steps.count, 1))], axis=1)


class _ShorterOfTwo(StepLaw):
    """Token verification of two requests with the same rows, of which the earlier rejection counts for both."""

    def stops(self, steps: Steps) -> Array:
        reached = super().stops(steps)[:, ::-1].cumsum(1)[:, ::-1] ** 2
        return reached - np.concatenate([reached[:, 1:], np.zeros((steps.count, 1))], axis=1)


def _greedy_in_plain_loop() -> StepLaw:
    return replace(RULES["greedy-block"], name="M40", title="greedy block verification in the plain loop")


def _everything(steps: Steps) -> Array:
    return np.ones((steps.count, steps.gamma))


TOKEN_MUTANTS = (
    StepLaw("M01", "accepts every draft token", _everything),
    StepLaw("M02", "the uniform is the constant 0", lambda steps: (steps.p > 0).astype(float)),
    StepLaw("M03", "accepts with q / p instead of p / q", _upside_down),
    StepLaw("M04", "the uniform is a whole number of hundredths", _in_hundredths),
    StepLaw("M05", "tests q(x) against p of the target's own sample", _own_sample, _less_than_rejected),
    StepLaw("M06", "accepts also what the target's own sample equals",
            lambda steps: steps.p + (1 - steps.p) * ratio_capped(steps)),
    StepLaw("M07", "accepts with p(x) / max p", lambda steps: steps.p / steps.before.target[:, :-1].max(-1)),
    StepLaw("M08", "verifies by argmax at temperature > 0", is_argmax, from_argmax),
    StepLaw("M10", "softmax of the residual", ratio_capped, _softmax_of_residual),
    StepLaw("M11", "replacement drawn from the target, not the residual", ratio_capped, from_target),
    StepLaw("M12", "residual that only zeroes the rejected token", ratio_capped, without_rejected),
    StepLaw("M13", "argmax of the residual", ratio_capped, _mode_of_residual),
    StepLaw("M16", "stale memory in the residual of a point-mass draft", lambda steps: steps.p, _stale_buffer),
    replace(TOKEN, name="M17", title="softmax q for tokens drawn differently",
            change=_changed_draft(lambda rows: _softmax(rows.draft, rows))),
    replace(TOKEN, name="M18", title="raw q for tokens drawn after top-k", change=_truncated_away),
    replace(TOKEN, name="M19", title="q at another temperature than the draws",
            change=_changed_draft(lambda rows: draft_tempered(rows, 0.5))),
    replace(TOKEN, name="M20", title="q of a sampler for tokens of a beam search",
            change=_changed_draft(lambda rows: draft_tempered(rows, 2.0))),
    replace(TOKEN, name="M21", title="target at default temperature",
            change=lambda steps: with_target(steps, lambda rows: target_tempered(rows, 2.0), by_entry=True)),
    replace(TOKEN, name="M22", title="drafted tokens penalised twice", change=_penalised),
    StepLaw("M23", "target zeroed in place before the test", lambda steps: np.zeros((steps.count, steps.gamma)),
            without_rejected),
    _OneUniform("M25", "one uniform for all positions", ratio_capped),
    StepLaw("M30", "first draft token always accepted", _first_accepted),
    StepLaw("M31", "replacement from the row after", ratio_capped, from_target, row=1),
    _ShorterOfTwo("M35", "a neighbour's replacement is written into this row", ratio_capped),
    replace(TOKEN, name="M49", title="one draw without replacement taken for many", change=_without_earlier),
    StepLaw("M50", "residual smoothed by an epsilon", ratio_capped, smoothed(1e-3)),
    StepLaw("M50 1e-5", "residual smoothed by an epsilon: 1e-5", ratio_capped, smoothed(1e-5)),
    StepLaw("M51", "last token from the row before", ratio_capped, bonus_row=1),
    *SHARED_NUMBERS,
)  # fmt: skip
"""Bugs of token verification."""

BLOCK_MUTANTS = (
    StepLaw("M37", "block acceptance with the token residual", block_accept, from_residual, longest=True),
    StepLaw("M38", "block rule with q = 1", _without_draft_probabilities, from_target, longest=True),
    StepLaw("M39", "residual mass of a placeholder's row", _placeholder_surplus, from_block_residual, longest=True),
    _greedy_in_plain_loop(),
    StepLaw("M41", "uncapped ratio for the whole block", _last_uncapped, from_block_residual, longest=True),
    replace(TOKEN, name="M42", title="token verification under the name of block"),
)
"""Bugs of block verification."""


NOT_COMPARED = (
    "M09", "M14", "M15", "M28", "M29", "M32", "M33", "M34", "M36", "M43", "M44", "M45", "M46",
    "M47", "M48", "M52", "M53",
)  # fmt: skip
"""Mutants of the zoo without a law here: their outcome depends on more than the rows that a recording has."""
