"""Verifiers drawn by program that choose how many tokens to verify: wrong ones, which look at rows that later tokens
lead to, are refuted, right ones hold."""

from functools import cache

import pytest

from draftproof.benchmarks.drawn_deceivers.drawn import LEAST
from draftproof.benchmarks.drawn_deceivers.widths import FloatRows, drawn_width, total_variation
from draftproof.models.battery import audit_battery, own_problems, toy
from draftproof.models.path_rows import path_battery
from draftproof.models.problem import Problem
from draftproof.models.regions import VISIBLE
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured

pytestmark = pytest.mark.interception

DRAWN, RIGHT = 100, 40
"""Numbers that are drawn."""

AT_LEAST = 95
"""Wrong ones of those that an audit refutes."""


@cache
def problems(quick: bool = False) -> dict[str, tuple[Problem, FloatRows]]:
    """The problems of an audit on which a width can be chosen, those with fewer draft blocks first."""
    every = [*audit_battery(), *own_problems(0), *([] if quick else path_battery())]
    return {p.name: (p, FloatRows.of(p)) for p in sorted(every, key=lambda p: p.drafts) if p.gamma > 1}


def shown_on(number: int, quick: bool = False) -> Problem | None:
    """The first problem on which token verification of so many tokens has another law."""
    width = drawn_width(number).width
    return next((p for p, rows in problems(quick).values() if total_variation(rows, width) > VISIBLE), None)


def judged(sandbox, subject, problem):
    sandbox.load(subject, [toy(1)])
    return lossless(measured(problem, "float64", sandbox.law(problem)))


def numbers(count: int, at_once: int):
    return [pytest.param(n, marks=[] if n < at_once else pytest.mark.deceiver) for n in range(count)]


@pytest.mark.parametrize("number", numbers(DRAWN, 6))
def test_a_width_chosen_by_rows_that_later_tokens_lead_to_is_refuted_by_its_law(sandbox, number, tmp_path):
    """The law of its code says what the sum over all blocks says, which follows no code."""
    one, problem = drawn_width(number), shown_on(number)
    assert one.variation >= LEAST
    if problem is None:
        pytest.skip("no problem of an audit shows it: counted below")
    evidence = judged(sandbox, one.written(tmp_path), problem)
    assert evidence.refuted
    if "block rule" not in one.title:
        wrong = total_variation(problems()[problem.name][1], one.width)
        assert evidence.total_variation == pytest.approx(wrong, rel=1e-6)


@pytest.mark.parametrize(
    ("number", "every"), [(0, 6), *(pytest.param(n, 1, marks=pytest.mark.deceiver) for n in range(RIGHT))]
)
def test_a_width_that_is_known_before_the_token_is_drafted_holds(sandbox, number, every, tmp_path):
    subject = drawn_width(number, right=True).written(tmp_path)
    for problem, _ in [*problems().values()][::every]:
        assert judged(sandbox, subject, problem).holds, problem.name


@pytest.mark.parametrize(
    ("count", "right", "least"), [(15, 6, 14), pytest.param(DRAWN, RIGHT, AT_LEAST, marks=pytest.mark.deceiver)]
)
def test_few_wrong_widths_are_cleared_and_no_right_one_is_off(count, right, least):
    assert sum(shown_on(number) is not None for number in range(count)) >= least
    for number in range(right):
        width = drawn_width(number, right=True).width
        assert max(total_variation(rows, width) for _, rows in problems().values()) < VISIBLE


@pytest.mark.deceiver
def test_a_quick_audit_refutes_fewer():
    """It has none of the path battery, and says so; ``docs/deceivers.md`` has the number."""
    assert sum(shown_on(number, quick=True) is not None for number in range(DRAWN)) == 75
