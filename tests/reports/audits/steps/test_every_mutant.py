"""Every mutant of the zoo on recorded steps, V = 2,000, gamma 4: by which step it is refuted, or why it cannot be."""

from math import log

import numpy as np
import pytest

from draftproof.reports.audits.steps.purses import SHARE
from draftproof.verifiers.zoo.catalogue import MUTANTS

from .recordings import judge_of, record, softmax

pytestmark = pytest.mark.simulation
V, GAMMA, MOST, MEDIAN = 2000, 4, 5000, 50
PARTS = (60, 500, MOST)
"""Steps that are recorded until a mutant is refuted."""


def redraft(step, sharper, noise, nucleus=1.0):
    """Give a step other rows: sharper ones, a draft that is further away, both cut to a nucleus."""
    step.logits = step.logits * sharper
    step.draft_logits = step.logits[:GAMMA] + step.rng.normal(size=step.draft_logits.shape) * noise
    step.target, step.draft = (cut(softmax(logits), nucleus) for logits in (step.logits, step.draft_logits))
    step.drafts = [int(step.rng.choice(V, p=row)) for row in step.draft]
    step.verify_target, step.verify_draft = step.target, step.draft


def cut(rows, mass):
    order = np.argsort(-rows, axis=-1)
    values = np.take_along_axis(rows, order, -1)
    kept = np.where(np.cumsum(values, axis=-1) - values < mass, values, 0.0)
    np.put_along_axis(rows, order, kept / kept.sum(-1, keepdims=True), -1)
    return rows


def peaked(step):
    redraft(step, 1.8, 1.5)


def truncated(step):
    redraft(step, 1.0, 1.5, 0.95)


OTHER_ROWS = {"M04": truncated, "M06": peaked, "M14": truncated, "M49": peaked}
"""Mutants that change next to nothing on rows without a likely token or without zeros, and rows on which they act."""

SAME = {
    "M09": "its uniform is exactly 0", "M43": "it is block verification from three tokens on",
    "M46": "its coin is exactly 1",
}  # fmt: skip
"""Mutants that are right on all such rows."""

TOO_LONG = "M47"
"""It emits more than it may: its recording cannot be read, and says so (test_recordings)."""


def bfloat16(rows):
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent)


NEAR = {
    "M44": lambda p, q: p / bfloat16(q),
    "M45": lambda p, q: p.astype(np.float16).astype(float) / np.maximum(q.astype(np.float16).astype(float), 1e-30),
}
"""Mutants whose coins, min(1, of this), are within rounding of the right ones."""


def refuted_at(name, folder):
    rule = "block" if MUTANTS[name].function.startswith("block_rule") else "token"
    for steps in PARTS:
        record(folder / str(steps), name, steps, rule, OTHER_ROWS.get(name), vocabulary=V, gamma=GAMMA)
        judge = judge_of(folder / str(steps))
        if judge.steps.fortune.refuted_at is not None:
            return judge.steps.fortune.refuted_at + 1
    return None


def test_all_are_refuted_within_5000_steps_the_median_within_50(tmp_path):
    found = {}
    for name in MUTANTS.keys() - {TOO_LONG, *SAME, *NEAR}:
        found[name] = refuted_at(name, tmp_path / name)
        print(name, found[name], flush=True)
    assert [name for name, step in found.items() if step is None] == []
    assert np.median([*found.values()]) <= MEDIAN


@pytest.mark.parametrize("name", NEAR)
def test_what_is_not_refuted_is_too_near_for_any_test(name):
    """A test of size SHARE needs log(1 / SHARE) nats on average; or an outcome that the rule excludes."""
    rng, nats, excluded = np.random.default_rng(4), [], []
    for _ in range(400):
        logits = rng.normal(size=V) * 2.5
        p, q = softmax(logits), softmax(logits + rng.normal(size=V) * 0.7)
        x = rng.choice(V, size=20, p=q)
        right, wrong = (np.minimum(ratio[x], 1.0) for ratio in (p / q, NEAR[name](p, q)))
        inside = (right < 1) & (wrong < 1) & (wrong > 0)
        a, b = wrong[inside], right[inside]
        nats += [*(a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))), *np.zeros(20 - len(a))]
        excluded += [*np.where(right == 1, 1 - wrong, 0.0)]
    coins = GAMMA * MOST
    assert coins * np.mean(nats) < log(1 / SHARE) / 3 and coins * np.mean(excluded) < 0.1
