"""Outcomes drawn from the law of a step: what a verifier with that law would have emitted on the same rows."""

from dataclasses import replace

import numpy as np

from .laws import StepLaw
from .steps import Array, Steps


def drawn(law: StepLaw, steps: Steps, generator: np.random.Generator, lumped: int = -1) -> tuple[Steps, Array]:
    """Return the steps with outcomes drawn from a law, and in which of them Y is a token that is listed, [N].

    lumped: the id that a token without probability is read as; -1: each has its own.
    Guarantee: (tau, Y) follows the law, given that Y is listed; where it is not, Y is the token that it was before.
    """
    seen = law.seen(steps)
    stops = law.stops(seen)
    edges = np.cumsum(stops, axis=1)
    tau = (generator.random(steps.count)[:, None] * edges[:, -1:] >= edges).sum(1)
    tau = np.minimum(tau, steps.lengths)
    there = replace(seen, emitted=tau)
    share(law, seen, there)
    places = law.places(there)
    rows = there.rows_at(places)
    draw = law.replace
    assert draw is not None
    bonus, other = law.bonus(there, rows), draw(there, rows)
    weights = np.where(there.bonus[:, None], bonus.listed, other.listed)
    rest = np.where(there.bonus, bonus.rest, other.rest)
    edges = np.cumsum(weights, axis=1)
    total = edges[:, -1] + rest
    u = generator.random(steps.count) * total
    listed = (u < edges[:, -1]) & (total > 0)
    at = np.minimum((u[:, None] >= edges).sum(1), weights.shape[1] - 1)
    y = np.where(listed, rows.ids[np.arange(steps.count), at], steps.last)
    if lumped >= 0:
        y = np.where(listed & (rows.target[np.arange(steps.count), at] == 0), lumped, y)
    at_last = (steps.rows.ids == y[:, None, None]).argmax(-1)
    return replace(steps, emitted=np.where(listed, tau, steps.emitted), last=y, at_last=at_last), listed


def share(law: StepLaw, steps: Steps, others: Steps) -> None:
    """Hand on what was computed of steps to those that emitted something else, if it does not depend on that."""
    others.kept.update({
        key: made for key, made in steps.kept.items()
        if key is law.accept or (isinstance(key, tuple) and key[0] == "walk")
    })  # fmt: skip
