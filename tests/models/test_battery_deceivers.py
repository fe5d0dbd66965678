"""Verifiers wrong in one region alone are refuted by the battery; so are nearly all that are drawn at random."""

from collections.abc import Callable, Iterable

import pytest

from draftproof.models.battery import audit_battery, own_problems
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_fraction
from draftproof.models.regions import VISIBLE
from draftproof.tests.models.defects import Defect, Place, bias, block_verifier, drawn_defect, token_verifier
from draftproof.verifiers.arithmetic import residual
from draftproof.verifiers.registry import Reference

pytestmark = pytest.mark.exact

BATTERY = sorted(audit_battery(), key=lambda problem: problem.vocabulary**problem.gamma)

THRESHOLDS = [0.5, 0.9, *(1 - 10.0**-k for k in range(2, 9))]
NEAR_ONE = [(1 - 10.0**-k, 1 - 10.0 ** -(k + 1)) for k in range(1, 6)]


def rest(place: Place) -> list:
    """The residual of token verification where a token is drawn."""
    return [*map(as_fraction, residual(place.target, place.draft))] if place.draft else []


def coin(where: Callable[[Place], bool]) -> Callable[[Place], bool]:
    return lambda place: place.token is not None and where(place)


def replacement(where: Callable[[Place], bool]) -> Callable[[Place], bool]:
    return lambda place: place.token is None and bool(place.draft) and where(place)


def repeated(place: Place) -> bool:
    return len(set(place.block.tokens)) < place.block.gamma


def coins(name, where, values, change="accept"):
    """A defect in the coin for each value: ``where(place, value)`` says where it is."""
    return {name.format(v): Defect(coin(lambda x, v=v: where(x, v)), change) for v in values}


DECEIVERS = {
    **coins("no coin where p > {}", lambda x, t: x.p > t, THRESHOLDS),
    **coins("no coin where q > {}", lambda x, t: x.q > t, THRESHOLDS),
    **coins("no coin where p and q > {}", lambda x, t: min(x.p, x.q) > t, THRESHOLDS),
    **coins("no coin where p_i > {}", lambda x, t: x.survival > t, THRESHOLDS),
    **coins("no coin where p / q in {}", lambda x, w: w[0] < x.p / x.q < w[1], NEAR_ONE),
    **coins("thrown away where p / q < 1e-{}", lambda x, k: x.p / x.q < 10.0**-k, range(1, 6), "reject"),
    **coins("thrown away where p_i < 1e-{}", lambda x, k: x.survival < 10.0**-k, range(1, 6), "reject"),
    **{
        f"residual below 1e-{k} skipped": Defect(replacement(lambda x, k=k: sum(rest(x)) < 10.0**-k), "target")
        for k in range(2, 9)
    },
    "the residual's smallest token left out": Defect(replacement(lambda x: True), "smallest dropped"),
    "the residual's largest token where two tie": Defect(
        replacement(lambda x: rest(x).count(max(rest(x))) > 1), "largest"
    ),
    "no coin where another token is as likely": Defect(
        coin(lambda x: list(x.target).count(x.target[x.token]) > 1), "accept"
    ),
    "no coin for the last id": Defect(coin(lambda x: x.token == len(x.target) - 1), "accept"),
    "no coin for the first id": Defect(coin(lambda x: x.token == 0), "accept"),
    "no coin at position 2": Defect(coin(lambda x: x.i == 2), "accept"),
    "no coin at position 5": Defect(coin(lambda x: x.i == 5), "accept"),
    "no coin where tokens repeat": Defect(coin(repeated), "accept"),
    "no coin where no token repeats in three": Defect(coin(lambda x: x.block.gamma == 3 and not repeated(x)), "accept"),
    "the most likely token where the rows are equal": Defect(
        lambda x: bool(x.draft) and list(x.target) == list(x.draft), "reject", instead="largest"
    ),
    "the bonus token without its rare ones": Defect(
        lambda x: x.token is None and not x.draft and min(filter(None, x.target)) * 10**6 < 1, "smallest dropped"
    ),
}


@pytest.mark.parametrize("name", DECEIVERS)
def test_a_verifier_that_is_wrong_in_one_region_is_refuted(name):
    for make in (token_verifier, block_verifier):
        assert shows(make(DECEIVERS[name]), BATTERY)


def shows(verifier: Reference, problems: Iterable[Problem]) -> bool:
    return any(bias(problem, verifier) > VISIBLE for problem in problems)


def test_of_the_defects_drawn_at_random_that_small_problems_can_show_the_battery_shows_nearly_all():
    others = [problem for seed in range(1, 6) for problem in own_problems(seed)]
    drawn = [drawn_defect(seed) for seed in range(60)]
    missed = [one for one in drawn if not shows(one.reference, BATTERY)]
    seen_elsewhere = [one.words for one in missed if shows(one.reference, others)]
    assert len(drawn) - len(missed) >= 36, "most of what is drawn has an effect"
    assert len(seen_elsewhere) <= 1, seen_elsewhere
