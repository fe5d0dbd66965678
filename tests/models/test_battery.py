"""The battery covers every region that a bug can hide in, and what it covers it shows."""

import random
from fractions import Fraction
from math import log10

import pytest

from draftproof.models.battery import AUDITED, OWN_SIZES, audit_battery, by_hand, drawn, own_problems, specified
from draftproof.models.problem import as_json
from draftproof.models.regions import RATIOS, VISIBLE, cells, contexts, coverage, level, moved
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, total_variation
from draftproof.proofs.rounding.rule import rounding_allowed
from draftproof.tests.models.choosing import greedy
from draftproof.tests.models.defects import Defect, Place, bias, block_verifier, token_verifier
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact

COVERED = {problem.name: coverage(problem) for problem in audit_battery()}


def test_the_battery_covers_every_region_and_no_problem_is_superfluous():
    every = set().union(*COVERED.values())
    assert every == cells()
    for name in COVERED.keys() - {problem.name for problem in by_hand()}:
        others = set().union(*(found for other, found in COVERED.items() if other != name))
        assert others != every, f"{name} covers nothing that the others do not"


def test_what_counts_as_visible_is_more_than_rounding():
    assert all(rounding_allowed(gamma, "float64") < VISIBLE for _, gamma, *_ in AUDITED)


def at(prefix: tuple[int, ...]):
    """The place where the last token of the prefix is decided on."""
    return lambda place: place.token is not None and place.block.tokens[: place.i] == prefix


@pytest.mark.parametrize("spec", [(3, 2, "log-odds", 5), (2, 3, "generic", 1), (3, 2, "mixed", 0), (3, 2, "near", 3)])
def test_a_mistake_at_one_place_moves_the_law_as_far_as_the_bound_says(spec):
    problem, compared = specified(spec), 0
    for x, y in contexts(problem):
        for mistake, effects in (moved(x, y) if x else {}).items():
            for make, effect in zip((token_verifier, block_verifier), effects, strict=True):
                compared += effect > 0
                if mistake != "other":
                    assert bias(problem, make(Defect(at(y.prefix), mistake))) >= effect * (1 - 1e-9), (
                        y.prefix,
                        mistake,
                    )
    assert compared > 10


def test_without_a_defect_the_verifiers_that_carry_them_are_the_reference_verifiers():
    problem, nowhere = in_field(drawn(3, 2, "mixed")), Defect(lambda place: False, "accept")
    for name, make in (("token", token_verifier), ("block", block_verifier)):
        laws = [enumerated_law(problem, verifier) for verifier in (make(nowhere), reference(name))]
        assert total_variation(*laws) == 0
        assert bias(problem, make(nowhere)) == 0


def order(place: Place) -> str:
    return "<=>"[(place.p >= place.q) + (place.p > place.q)]


def share(place: Place) -> str:
    return level(min(place.p, place.q) / max(place.p, place.q), RATIOS)


REGIONS = {
    "p and q": lambda place: (level(place.p), level(place.q), order(place)),
    "p / q": lambda place: (order(place), share(place)),
    "position": lambda place: (place.block.gamma, place.i),
    "drafted token": lambda place: (len(place.target), place.token),
}
"""Regions of the decision on a draft token: the coordinates of a place."""


def of_all_cells():
    draw = random.Random("cells")
    by_region = {
        region: sorted((c for c in cells() if c[0] == region and c[-1] != "other"), key=str) for region in REGIONS
    }
    return [cell for region in REGIONS for cell in draw.sample(by_region[region], 12)]


@pytest.mark.parametrize("cell", of_all_cells(), ids=str)
def test_a_mistake_in_one_region_is_refuted_where_the_battery_covers_it(cell):
    region, *where, mistake = cell
    defect = Defect(lambda place: place.token is not None and REGIONS[region](place) == tuple(where), mistake)
    shown = [p for p in audit_battery() if cell in COVERED[p.name]]
    for make in (token_verifier, block_verifier):
        assert any(bias(problem, make(defect)) > VISIBLE for problem in shown)


def test_an_audit_draws_problems_of_its_own_from_its_seed():
    assert [*map(as_json, own_problems(1))] == [*map(as_json, own_problems(1))]
    assert all(a.target != b.target for a, b in zip(own_problems(1), own_problems(2), strict=True))
    assert [(p.vocabulary, p.gamma) for p in own_problems(7)] == [*OWN_SIZES]
    assert all(p.name.endswith("-seed7") for p in own_problems(7))


def test_the_choice_is_a_cover_with_nothing_superfluous():
    sets = {"middle": {(2,), (3,), (4,), (5,)}, "left": {(1,), (2,), (3,)}, "right": {(4,), (5,), (6,)}}
    assert sorted(greedy([(k,) for k in range(1, 7)], sets, dict.fromkeys(sets, 1.0))) == ["left", "right"]


def log_odds_of(p: Fraction) -> float:
    """log10 of p / (1 - p), within 99 of 0."""
    return log10(p / (1 - p)) if 0 < p < 1 else 99.0 if p else -99.0


def test_mistakes_in_a_window_of_p_or_of_q_one_decade_wide_are_seen_and_a_third_of_those_a_tenth_wide():
    places: dict[str, list[tuple[float, float]]] = {"accept": [], "reject": []}
    for x, y in (pair for problem in audit_battery() for pair in contexts(problem)):
        for mistake in places if x else ():
            assert x
            if min(moved(x, y)[mistake]) > VISIBLE:
                t = y.prefix[-1]
                places[mistake].append((log_odds_of(x.target[t]), log_odds_of(x.draft[t])))
    draw = random.Random("windows")
    for width, seen in ((1.0, 0.9), (0.1, 0.3)):
        for sites in places.values():
            for side in range(2):
                centres = [draw.uniform(-8.5, 8.5) for _ in range(300)]
                found = sum(any(abs(site[side] - centre) < width / 2 for site in sites) for centre in centres)
                assert found >= seen * len(centres), (width, side, found)
