"""Detection limits: the step by which each fault would have refuted a rule, on the rows of a recording."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ....models.errors import InputError
from ....models.recorded_steps import Recording
from ....stattests.arguments import ALPHA, BETA
from ....verifiers.conditional.drawing import drawn, share
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.steps import Steps
from ....verifiers.conditional.tree_steps import TreeSteps
from .bets import Against, bets_on_steps
from .shard import steps_with_law

Array = np.ndarray

LIMIT_SHARDS = 4
"""Shards, spread over the recording, on whose rows the limits are computed."""

LIMIT_STEPS = 512
"""Steps of these shards on whose rows the limits are computed."""

OUTCOMES = 4_096
"""Outcomes drawn of a fault, at most."""

ROUNDS = 8
"""Outcomes drawn on each of these steps, at most: short recordings show strong faults alone."""

OUTCOMES_A_STEP = 8
"""Outcomes drawn for each step of a limit, if that is not too many: rare ones make much of a sum's deviation."""

NORMAL_MISS = 3.09
"""Standard errors of a sum that a limit allows for: BETA of one side."""


class _Gain(NamedTuple):
    """Mean and deviation of what a step adds to a bet. miss: how far below this one the true mean may be."""

    mean: float
    deviation: float
    miss: float


def limits_of(recording: Recording, against: Against, seed: int) -> dict[str, int | None]:
    """Return by which step each known fault would have refuted the rule with probability 1 - BETA; None: unknown.

    A step adds to the logarithm of a bet what it adds on the recorded rows if its outcome is drawn from the
    hypothesis. The limit allows for the error of this mean, and for the deviation of a sum, taken to be normal. Faults
    that need more steps than outcomes were drawn have none.
    Source of the constants: simulation (tests/reports/audits/steps/test_limits.py).
    """
    samples = [steps for steps in _sample(recording, against) if steps.count]
    if not samples:
        return {}
    generator, needed = np.random.default_rng(seed), log(len(against.names) * 4 / ALPHA)
    count = sum(steps.count for steps in samples)
    most = min(OUTCOMES, ROUNDS * count)
    rules = [against.law(isinstance(steps, TreeSteps)) for steps in samples]
    unlisted = [1 - drawn(law, steps, generator)[1].mean() for law, steps in zip(rules, samples) if law]
    found = dict[str, int | None]()
    for name in against.faults:
        rounds, found[name] = list[Array](), None
        others = [next((o for o in against.laws(isinstance(s, TreeSteps)) if o.name == name), None) for s in samples]
        while len(rounds) * count < most:
            gains = [
                _gains(law, other, steps, unknown, needed, recording, generator)
                if law and other
                else np.zeros(steps.count)
                for law, other, steps, unknown in zip(rules, others, samples, unlisted)
            ]
            rounds.append(np.concatenate(gains))
            gain = _estimate(np.array(rounds))
            found[name] = _steps_needed(gain, needed)
            known = 4 * gain.miss <= gain.mean and OUTCOMES_A_STEP * (found[name] or inf) <= len(rounds) * count
            if known or gain.mean + gain.miss <= needed / most:
                break
        if (found[name] or 0) > most:
            found[name] = None
    return found


def _sample(recording: Recording, against: Against) -> Iterator[Steps]:
    """Yield steps on which the rule is bet on, spread over the recording."""
    chosen = recording.shards[:: -(-len(recording.shards) // LIMIT_SHARDS)]
    for path in chosen:
        with suppress(InputError):
            shard = recording.read(path)
            one_of = max(1, shard.steps * len(chosen) // LIMIT_STEPS)
            yield from steps_with_law(shard, recording.header, against, LIMIT_STEPS, one_of)


def _gains(
    law: StepLaw, other: StepLaw, steps: Steps, unlisted: float, needed: float, recording: Recording,
    generator: np.random.Generator,
) -> Array:  # fmt: skip
    """Return what outcomes of a hypothesis add to its bet, [N].

    unlisted: how often the rule emits tokens that are not listed. If the hypothesis emits fewer, that is what one of
    them adds; if it emits more, one adds nothing.
    """
    whole = replace(other, replace=other.replace or law.replace)
    outcomes, listed = drawn(whole, steps, generator, recording.other)
    share(law, steps, outcomes)
    bets = bets_on_steps(law, [other], outcomes, recording.header.epsilon)
    share(law, outcomes, steps)
    gains = np.clip(np.where(bets.possible, bets.logs[0], needed), -needed, needed)
    rest = (~listed).mean()
    return np.where(listed, gains, min(log(rest / unlisted), 0.0) if rest and unlisted else 0.0)


def _estimate(gains: Array) -> _Gain:
    """Return the estimate from gains, [rounds, steps].

    The error is that of the means of steps: outcomes of one step are more like each other than those of different ones.
    """
    steps = gains.shape[1]
    if steps < 2:
        return _Gain(float(gains.mean()), float(gains.std()), inf)
    error = gains.mean(0).std(ddof=1) / steps**0.5
    return _Gain(float(gains.mean()), float(gains.std()), float(stdtrit(steps - 1, 1 - BETA) * error))


def _steps_needed(gain: _Gain, needed: float) -> int | None:
    """Return the least n with n m - z s sqrt(n) >= needed, and one more; None: there is none.

    m: the least that the mean may be. s: the deviation. One more: sums of few steps take few values.
    """
    least, spread = gain.mean - gain.miss, NORMAL_MISS * gain.deviation
    if least <= 1e-9:
        return None
    root = (spread + (spread**2 + 4 * least * needed) ** 0.5) / (2 * least)
    return int(np.ceil(root**2)) + 1
