"""Races of noise in which not every token takes part: a rejected one is left out, or has hardly any weight."""

from itertools import product

import numpy as np
import pytest

from draftproof.models.battery import audit_battery, drawn, toy
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.driven.answers import answers
from draftproof.proofs.driven.subjects import DrivenObject
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.time_limits import TimeLimits
from draftproof.tests.choices import long_unless
from draftproof.tests.subjects import driven

pytestmark = [pytest.mark.interception, pytest.mark.usefixtures("fewer_confirmations")]


def uniform(bits):
    return {"name": "last", "kind": "uniform", "shape": ["V"], "bits": bits}


HAZARDS = {"exponential": lambda e: e, "gumbel": lambda g: np.exp(-g), "uniform": lambda u: -np.log(u)}
NOISE = {"exponential": driven.NOISE, "gumbel": driven.GUMBEL, "uniform": uniform(53)}


def first(weights, hazards):
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.argmax(weights / hazards))


def compressed(weights, hazards, x):
    left = [t for t in range(len(weights)) if t != x]
    return left[first(weights[left], hazards[left])]


def masked(weights, hazards, x):
    return first(np.where(np.arange(len(weights)) == x, 0.0, weights), hazards)


def masked_by_a_number(weights, hazards, x):
    """A weight of 2e-22 beside those of the others."""
    with np.errstate(divide="ignore"):
        scores = np.maximum(np.log(weights), -50) - np.log(hazards)
    scores[x] = -50
    return int(np.argmax(scores))


def without_another(weights, hazards, x):
    weights = weights.copy()
    weights[np.argmin(np.where(weights > 0, weights, np.inf))] = 0
    return first(weights, hazards) if weights.any() else x


RACES = (compressed, masked, masked_by_a_number)


class Racing:
    """Token verification with a race of what is left for the last token."""

    def __init__(self, race, noise="exponential", weights=lambda p, q: np.maximum(p - q, 0), **number):
        self.random, self.race, self.weights = [*driven.UNIFORMS, {**NOISE[noise], **number}], race, weights
        self.hazards = HAZARDS[noise]

    def __call__(self, target, draft, tokens, random):
        hazards = self.hazards(random["last"])
        for i, x in enumerate(tokens):
            if random["accept"][i] * draft[i][x] >= target[i][x]:
                return [*tokens[:i], self.race(self.weights(target[i], draft[i]), hazards, x)]
        return [*tokens, first(target[len(tokens)], hazards)]


def judged(racing, problem, dtype="float64"):
    measurement = measured(problem, dtype, answers(DrivenObject(racing, "it", None, dtype, TimeLimits(30.0)), problem))
    return measurement, *judge(measurement)[:2]


@pytest.mark.parametrize(("race", "noise"), long_unless([*product(RACES, NOISE)], [*zip(RACES, NOISE)]))
def test_a_race_without_the_rejected_token_has_its_law(race, noise):
    for problem in (toy(2), drawn(3, 2, "zeros"), drawn(5, 1, "generic")):
        measurement, lossless, support = judged(Racing(race, noise), problem)
        assert lossless.holds and support.holds, measurement.reason
        assert lossless.total_variation < measurement.tolerance < 1e-12


@pytest.mark.parametrize("noise", long_unless(NOISE, {"exponential"}))
@pytest.mark.parametrize(
    ("race", "weights", "problem"),
    [
        (lambda weights, hazards, x: x, None, toy(2)),
        (without_another, None, drawn(4, 2, "generic")),
        (compressed, lambda p, q: p, drawn(4, 2, "generic")),
        (masked, lambda p, q: p - q / 2, drawn(4, 2, "generic")),
    ],
)
def test_a_race_of_other_weights_or_without_another_token_is_refuted(race, weights, problem, noise):
    measurement, lossless, _ = judged(Racing(race, noise, **{"weights": weights} if weights else {}), problem)
    assert measurement.known and lossless.refuted


@pytest.mark.parametrize(("dtype", "bits"), long_unless([("float64", 53), ("float32", 24)], {("float32", 24)}))
def test_uniforms_as_noise_run_races_over_rows_as_uneven_as_the_batterys(dtype, bits):
    """Their hazards are from 2^-bits to bits log 2: a row of 0.999 and 0.001 was none of theirs."""
    for problem in (p for p in audit_battery()[::8] if p.vocabulary < 5):
        measurement, lossless, support = judged(Racing(masked, "uniform", bits=bits), problem, dtype)
        assert lossless.holds and support.holds, (problem.name, measurement.reason)


def test_noise_below_a_floor_runs_no_race():
    for floor in (0.3, 0.05):
        racing = Racing(lambda weights, hazards, x, floor=floor: first(weights, np.maximum(hazards, floor)))
        measurement, lossless, _ = judged(racing, drawn(3, 2, "generic"))
        assert not measurement.known and lossless.verdict == "no-evidence"
        assert "does not decide by a race" in measurement.reason
