"""The law of a step under each rule, each known bug and each tilt: against what the verifiers themselves emit."""

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.verifiers.conditional.mutants import BLOCK_MUTANTS, NOT_COMPARED, TOKEN_MUTANTS
from draftproof.verifiers.conditional.rules import RULES, at_most, expected_accepted
from draftproof.verifiers.conditional.steps import excess
from draftproof.verifiers.conditional.tilts import tilts
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS

from .dense import every_outcome, steps_of

pytestmark = pytest.mark.exact

PROBLEMS = (drawn(3, 2, "generic"), drawn(2, 3, "zeros", 1), drawn(4, 1, "generic", 5))


def probabilities(law, steps):
    stops, tokens = law.log_likelihood(steps)
    return np.exp(stops + tokens)


@pytest.mark.parametrize("law", [*TOKEN_MUTANTS, *BLOCK_MUTANTS], ids=lambda law: law.name)
def test_a_known_bug_has_the_law_of_its_verifier(law, emitted_by):
    name, _, variant = law.name.partition(" ")
    entry = MUTANTS[name] if not variant else next(e for e in MUTANTS[name].forms if e.function.endswith(variant))
    for problem in PROBLEMS:
        steps, cases = every_outcome(problem)
        blocks = emitted_by(entry.measured, problem)
        expected = [float(blocks[drafts].get(out, 0)) if drafts in blocks else None for drafts, out in cases]
        drafted = [k for k, value in enumerate(expected) if value is not None]
        assert drafted
        assert probabilities(law, steps)[drafted] == pytest.approx([expected[k] for k in drafted], abs=1e-12)


RIGHT = {"token": "C10", "block": "C04", "equality": "C02"}


@pytest.mark.parametrize("name", RIGHT)
def test_a_rule_has_the_law_of_its_verifier(name, emitted_by):
    for problem in PROBLEMS:
        steps, cases = every_outcome(problem)
        blocks = emitted_by(CONTROLS[RIGHT[name]].measured, problem)
        of_rule = probabilities(RULES[name], steps)
        for k, (drafts, out) in enumerate(cases):
            if drafts in blocks:
                assert of_rule[k] == pytest.approx(float(blocks[drafts].get(out, 0)), abs=1e-12)


def test_every_mutant_of_the_zoo_has_a_law_or_is_named():
    known = {law.name.partition(" ")[0] for law in (*TOKEN_MUTANTS, *BLOCK_MUTANTS)}
    assert known.isdisjoint(NOT_COMPARED) and known | set(NOT_COMPARED) == MUTANTS.keys()


def hypotheses(gamma):
    rules = [*RULES.values()]
    return [*rules, *TOKEN_MUTANTS, *BLOCK_MUTANTS, *(t for law in rules for t in tilts(law, gamma))]


def dirichlet_rows():
    rng = np.random.default_rng(5)
    return rng.dirichlet(np.full(9, 0.4), size=3), rng.dirichlet(np.full(9, 0.4), size=2)


def rows_whose_mode_is_not_listed():
    """The draft's likely tokens alone are listed: the target's mode, and the residual's, are among the others."""
    draft = np.array([*[0.3, 0.3, 0.3], *[0.1 / 6] * 6])
    target = np.array([*[0.05] * 3, *[0.85 / 6] * 6])
    return np.stack([target] * 3), np.stack([draft] * 2)


@pytest.mark.parametrize("rows", [dirichlet_rows, rows_whose_mode_is_not_listed])
@pytest.mark.parametrize("listed", [256, 3])
def test_no_hypothesis_bets_more_than_it_has(listed, rows):
    """Over all outcomes of one step its probabilities add up to at most 1, however few tokens are listed."""
    target, draft = rows()
    drafts = (4, 7)
    outcomes = [(*drafts[:tau], y) for tau in range(3) for y in range(9)]
    count = len(outcomes)
    steps = steps_of(np.tile(target, (count, 1, 1)), np.tile(draft, (count, 1, 1)), [drafts] * count, outcomes, listed)
    for law in hypotheses(2):
        stops, tokens = law.log_likelihood(steps)
        chances = np.exp(stops) if tokens is None else np.exp(stops + tokens)
        in_all = chances.sum() if tokens is not None else chances[::9].sum()
        assert in_all <= 1 + 1e-12, law.name
        if listed == 256 and law.name in RULES:
            assert in_all == pytest.approx(1, abs=1e-12), law.name


@pytest.mark.parametrize("listed", [1, 2])
def test_no_tilt_of_greedy_block_verification_bets_more_than_it_has(listed):
    """Its weights p_tau M_b - M_s may be above every probability: p_tau is not capped."""
    rng = np.random.default_rng(37)
    target, draft = rng.dirichlet(np.full(5, 0.5), size=3), rng.dirichlet(np.full(5, 0.5), size=2)
    drafts = (int(rng.integers(5)), int(rng.integers(5)))
    outcomes = [(*drafts[:tau], y) for tau in range(3) for y in range(5)]
    count = len(outcomes)
    steps = steps_of(np.tile(target, (count, 1, 1)), np.tile(draft, (count, 1, 1)), [drafts] * count, outcomes, listed)
    for law in tilts(RULES["greedy-block"], 2):
        stops, tokens = law.log_likelihood(steps)
        assert tokens is None or np.exp(stops + tokens).sum() <= 1 + 1e-12, law.name


def test_few_listed_tokens_leave_the_law_of_token_verification_as_it_is():
    rng = np.random.default_rng(6)
    target, draft = rng.dirichlet(np.full(400, 0.3), size=(50, 3)), rng.dirichlet(np.full(400, 0.3), size=(50, 2))
    drafts = [(int(np.argmax(draft[n, 0])), int(np.argmax(draft[n, 1]))) for n in range(50)]
    outcomes = [
        (*drafts[n][: n % 3], int(np.argmax(target[n, n % 3] - (draft[n, n % 3] if n % 3 < 2 else 0))))
        for n in range(50)
    ]
    whole, few = (steps_of(target, draft, drafts, outcomes, listed) for listed in (400, 20))
    assert few.rows.ids.shape[-1] < 30
    exact, close = (probabilities(RULES["token"], steps) for steps in (whole, few))
    assert close == pytest.approx(exact, rel=1e-9)
    law = RULES["block"]
    exact, close = (probabilities(law, steps) for steps in (whole, few))
    assert close != pytest.approx(exact, rel=1e-9)
    assert (exact <= np.exp(sum(at_most(law, few, 0.0))) * (1 + 1e-12)).all()


def test_a_sum_over_what_is_not_listed_lies_between_its_bounds():
    rng = np.random.default_rng(7)
    target, draft = rng.dirichlet(np.full(300, 0.5), size=(40, 2)), rng.dirichlet(np.full(300, 0.5), size=(40, 1))
    steps = steps_of(target, draft, [(0,)] * 40, [(1,)] * 40, listed=10)
    rows = steps.rows_at(np.zeros(40, dtype=int))
    for c in (0.1, 0.5, 0.77, 1.0, 1.9):
        listed, least, most = excess(rows, np.full(40, c))
        whole = np.maximum(c * target[:, 0] - draft[:, 0], 0).sum(-1)
        assert (listed.sum(-1) + least <= whole + 1e-12).all() and (whole <= listed.sum(-1) + most + 1e-12).all()


@pytest.mark.parametrize("name", RULES)
def test_rounding_makes_no_outcome_less_probable(name):
    for problem in PROBLEMS:
        steps, _ = every_outcome(problem)
        for epsilon in (0.0, 2.0**-24, 2.0**-8):
            own, most = (
                np.exp(sum(pair)) for pair in (RULES[name].log_likelihood(steps), at_most(RULES[name], steps, epsilon))
            )
            assert (own <= most * (1 + 1e-12)).all()
            assert (most[own > 1e-3] < own[own > 1e-3] * (1 + 200 * epsilon + 1e-12) + 200 * epsilon).all()


def test_block_verification_is_expected_to_accept_most():
    problem = drawn(3, 3, "generic", 2)
    steps, cases = every_outcome(problem)
    weights = np.array([np.prod([float(problem.draft.row(x[:i])[x[i]]) for i in range(3)]) for x, _ in cases])
    token, block, equality = (
        weights @ expected_accepted(RULES[name], steps) for name in ("token", "block", "equality")
    )
    assert block > token > equality
