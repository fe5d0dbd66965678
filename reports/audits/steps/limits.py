"""Detection limits: the step by which each fault would have refuted a rule, on the rows of a recording."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import log

import numpy as np

from ....models.errors import InputError
from ....models.recorded_steps import Recording
from ....stattests.arguments import ALPHA
from ....verifiers.conditional.drawing import drawn, share
from ....verifiers.conditional.laws import StepLaw
from ....verifiers.conditional.steps import Steps
from ....verifiers.conditional.tree_steps import TreeSteps
from .bets import Against, bets_on_steps
from .shard import steps_with_law

Array = np.ndarray

LIMIT_SHARDS = 4
"""Shards, spread over the recording, on whose rows the limits are computed."""

LIMIT_STEPS = 256
"""Steps of these shards on whose rows the limits are computed."""

DRAWS = 2, 32
"""Outcomes drawn on each of these rows, fewest and most. Long recordings show weaker faults, which need more."""

NORMAL_MISS = 3.09
"""Standard errors of a sum that a limit allows for: BETA of one side."""


def limits_of(recording: Recording, against: Against, judged: int, seed: int) -> dict[str, int | None]:
    """Return by which step each hypothesis would have refuted the rule with a probability near 1 - BETA; None: unknown.

    A step adds to the logarithm of a bet what it adds on the recorded rows if its outcome is drawn from the
    hypothesis. The sum is taken to be normal, and the error of its estimated mean is allowed for.
    judged: number of steps that were judged. Faults that need many times as many have no limit.
    """
    samples = [steps for steps in _sample(recording, against) if steps.count]
    if not samples:
        return {}
    generator, needed = np.random.default_rng(seed), log(len(against.names) * 4 / ALPHA)
    epsilon, times = recording.header.epsilon, int(np.clip(judged // LIMIT_STEPS, *DRAWS))
    rules = [against.law(isinstance(steps, TreeSteps)) for steps in samples]
    unlisted = [1 - drawn(law, steps, generator)[1].mean() for law, steps in zip(rules, samples) if law]
    found = dict[str, int | None]()
    for name in against.names:
        seen, found[name] = np.zeros(0), None
        others = [next((o for o in against.laws(isinstance(s, TreeSteps)) if o.name == name), None) for s in samples]
        for _ in range(times):
            gains = [
                _gains(law, other, steps, unknown, needed, epsilon, generator)
                if law and other
                else np.zeros(steps.count)
                for law, other, steps, unknown in zip(rules, others, samples, unlisted)
            ]
            seen = np.concatenate([seen, *gains])
            mean, miss = seen.mean(), NORMAL_MISS * seen.std() / len(seen) ** 0.5
            if 4 * miss <= mean or mean + miss <= needed / (times * LIMIT_STEPS):
                break
        found[name] = _steps_needed(seen, needed)
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
    law: StepLaw, other: StepLaw, steps: Steps, unlisted: float, needed: float, epsilon: float,
    generator: np.random.Generator,
) -> Array:  # fmt: skip
    """Return what outcomes of a hypothesis add to its bet, [N].

    unlisted: how often the rule emits tokens that are not listed. If the hypothesis emits fewer, that is what one of
    them adds; if it emits more, one adds nothing.
    """
    outcomes, listed = drawn(replace(other, replace=other.replace or law.replace), steps, generator)
    share(law, steps, outcomes)
    bets = bets_on_steps(law, [other], outcomes, epsilon)
    share(law, outcomes, steps)
    gains = np.clip(np.where(bets.possible, bets.logs[0], needed), -needed, needed)
    rest = (~listed).mean()
    return np.where(listed, gains, min(log(rest / unlisted), 0.0) if rest and unlisted else 0.0)


def _steps_needed(gains: Array, needed: float) -> int | None:
    """Return the least n with n m - z s sqrt(n + n^2 / S) >= needed, of S gains; None: there is none.

    m, s: their mean and deviation; the mean itself is off by s / sqrt(S).
    """
    m, variance = float(gains.mean()), NORMAL_MISS**2 * float(gains.var())
    least = m**2 - variance / len(gains)
    if m <= 1e-9 or least <= 0:
        return None
    middle = m * needed + variance / 2
    return int(np.ceil((middle + max(middle**2 - least * needed**2, 0.0) ** 0.5) / least))
