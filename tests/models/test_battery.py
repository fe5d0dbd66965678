"""The battery covers every region that a bug can hide in, and what it covers it shows."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from draftproof.benchmarks.choose_battery import cells
from draftproof.benchmarks.cover_battery import computed
from draftproof.models.battery import AUDITED, OWN_SIZES, audit_battery, by_hand, drawn, own_problems, specified
from draftproof.models.looking_ahead import AHEAD
from draftproof.models.looking_ahead import cells as cells_ahead
from draftproof.models.path_rows import path_battery
from draftproof.models.problem import as_json
from draftproof.models.rationals import as_fraction
from draftproof.models.regions import KEPT, VISIBLE, contexts, coverage, effects_on, kept_problems, moved
from draftproof.models.regions import cells as all_cells
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, total_variation
from draftproof.proofs.rounding.rounding_allowed import rounding_allowed
from draftproof.tests.models.defects import Defect, Place, bias, block_verifier, token_verifier
from draftproof.verifiers.arithmetic import residual
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact


@pytest.fixture(scope="module")
def covered():
    """Cells that each problem of the battery covers."""
    return {problem.name: set(coverage(problem)) for problem in audit_battery()}


def test_what_is_kept_of_their_effects_is_what_they_are():
    assert json.loads(KEPT.read_bytes()) == json.loads(json.dumps(computed()))
    one = kept_problems()[0]
    planted = replace(drawn(2, 1, "equal"), name=one.name)
    assert coverage(one) != coverage(planted) == {c: x for c, x in effects_on(planted).items() if x > VISIBLE}


def test_the_battery_covers_every_region_and_no_problem_is_superfluous(covered):
    here = {name: {cell for cell in found if not cell[0].startswith(AHEAD)} for name, found in covered.items()}
    every = set().union(*here.values())
    assert every == cells()
    for name in here.keys() - {problem.name for problem in by_hand()}:
        others = set().union(*(found for other, found in here.items() if other != name))
        assert others != every, f"{name} covers nothing that the others do not"


def test_with_the_path_battery_it_covers_every_decision_that_looks_ahead_and_no_problem_is_superfluous(covered):
    on_paths = {problem.name: {c for c in coverage(problem) if c[0].startswith(AHEAD)} for problem in path_battery()}
    every = set(cells_ahead())
    known = {cell for found in covered.values() for cell in found if cell[0].startswith(AHEAD)}
    assert known.union(*on_paths.values()) == every < all_cells()
    for name in on_paths:
        others = known.union(*(found for other, found in on_paths.items() if other != name))
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


def rest(place: Place) -> list:
    """The residual of token verification where a token is drawn."""
    return [*map(as_fraction, residual(place.target, place.draft))] if place.draft else []


def replacement(where: Callable[[Place], bool]) -> Callable[[Place], bool]:
    return lambda place: place.token is None and bool(place.draft) and where(place)


DRAWN_WRONG = {
    **{
        f"residual below 1e-{k} skipped": Defect(replacement(lambda x, k=k: sum(rest(x)) < 10.0**-k), "target")
        for k in (2, 5, 8)
    },
    "the residual's smallest token left out": Defect(replacement(lambda x: True), "smallest dropped"),
    "the residual's largest token where two tie": Defect(
        replacement(lambda x: rest(x).count(max(rest(x))) > 1), "largest"
    ),
    "the most likely token where the rows are equal": Defect(
        lambda x: bool(x.draft) and list(x.target) == list(x.draft), "reject", instead="largest"
    ),
    "the bonus token without its rare ones": Defect(
        lambda x: x.token is None and not x.draft and min(filter(None, x.target)) * 10**6 < 1, "smallest dropped"
    ),
}


@pytest.mark.parametrize("name", DRAWN_WRONG)
def test_a_verifier_that_draws_wrongly_in_one_region_is_refuted(name):
    """Mistakes with coins move the law as far as the bound says, on a problem for each region."""
    smallest_first = sorted(audit_battery(), key=lambda problem: problem.vocabulary**problem.gamma)
    for make in (token_verifier, block_verifier):
        assert any(bias(problem, make(DRAWN_WRONG[name])) > VISIBLE for problem in smallest_first)


def test_an_audit_draws_problems_of_its_own_from_its_seed():
    assert [*map(as_json, own_problems(1))] == [*map(as_json, own_problems(1))]
    assert all(a.target != b.target for a, b in zip(own_problems(1), own_problems(2), strict=True))
    assert [(p.vocabulary, p.gamma) for p in own_problems(7)] == [*OWN_SIZES]
    assert all(p.name.endswith("-seed7") for p in own_problems(7))
