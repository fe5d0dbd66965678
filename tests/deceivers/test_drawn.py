"""Deceivers drawn by program: what their laws show, what is known of them independently, and right twins of their
code."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest

from draftproof.benchmarks import deceivers
from draftproof.benchmarks.drawn_deceivers.drawn import LEAST, drawn, written
from draftproof.benchmarks.drawn_deceivers.examined import (
    CLEARED,
    OUTSIDE,
    REFUTED,
    examined,
    outcome_of_laws,
    sandbox,
    unrefuted,
)
from draftproof.benchmarks.drawn_deceivers.ordinary import Rows, ordinary
from draftproof.benchmarks.drawn_deceivers.styles import STYLES, source
from draftproof.models.battery import toy
from draftproof.models.law import Table
from draftproof.models.problem import Problem
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.laws.small_measurement import measured
from draftproof.tests.choices import long_unless
from draftproof.tests.deceivers.catalogue import DRAWN
from draftproof.verifiers.evidence import HOLDS

pytestmark = pytest.mark.interception


def as_problem(rows: Rows) -> Problem:
    """Rows that depend on the position alone, in exact numbers."""

    def table(given, longest):
        exact = [[Fraction(float(p)) for p in row] for row in given]
        summed = [tuple(p / sum(row) for p in row) for row in exact]
        ids = range(len(given[0]))
        return Table({x: summed[len(x)] for n in range(longest + 1) for x in product(ids, repeat=n)}, "rows")

    draft = table(rows.draft, rows.gamma - 1)
    return Problem(len(rows.target[0]), rows.gamma, table(rows.target, rows.gamma), draft, "ordinary")


def cases():
    """Every entry of the catalogue; all but the first of a precision for ``make deceivers``."""
    return [
        pytest.param(dtype, number, id=f"{dtype}-{number}", marks=[pytest.mark.deceiver] if k > 0 else [])
        for dtype, numbers in DRAWN.items()
        for k, number in enumerate(numbers)
    ]


@pytest.mark.parametrize(("dtype", "number"), cases())
def test_a_drawn_deceiver_is_refuted(dtype, number):
    if dtype != "float64":
        pytest.importorskip("torch")
    assert drawn(number, dtype).variation >= LEAST
    assert examined(dtype, number)[0] == REFUTED


@pytest.mark.parametrize("number", long_unless([3, 13, 21, 33, 38, 50, 57, 58, 90, 98, 103, 113], range(30, 60)))
def test_what_is_known_of_a_drawn_one_is_what_its_law_shows(number, tmp_path):
    """At gamma = 1 and for block verification the total variation itself, else no more than that."""
    one = drawn(number)
    if "torch" in one.style:
        pytest.importorskip("torch")
    problem = as_problem(ordinary(one.condition.vocabulary, one.condition.gamma, one.seed, one.condition.ids))
    box = sandbox("float64")
    box.load(written(number, "float64", tmp_path), [toy(1)])
    evidence = lossless(measured(problem, "float64", box.law(problem)))
    assert evidence.refuted and evidence.total_variation >= one.variation * (1 - 1e-4)
    if problem.gamma == 1 or one.wrong.rule == "block":
        assert evidence.total_variation == pytest.approx(one.variation, rel=1e-3)


RARE = {"scalar torch", "scalar torch, in float32", "vectorised torch", "block rule, torch in float32"}
"""Styles of which others have the form, and others the precision or the library."""


@pytest.mark.parametrize(
    "style", [pytest.param(style, marks=[pytest.mark.long] if style in RARE else []) for style in STYLES]
)
def test_the_verifier_without_the_mistake_is_right(style, tmp_path):
    """In each style, with each way of drawing: so a refutation is of the mistake."""
    if "torch" in style:
        pytest.importorskip("torch")
    form, problem = STYLES[style], as_problem(ordinary(3, 2, 1))
    for k, sampler in enumerate(form.samplers):
        file = tmp_path / f"right_{k}.py"
        file.write_text(source(form, sampler, "", "", "", "Right."))
        box = sandbox(form.precisions[0])
        box.load(f"{file}:verify", [toy(1)])
        evidence = lossless(measured(problem, form.precisions[0], box.law(problem)))
        assert evidence.verdict == HOLDS, (sampler, evidence.why_undecided)


def test_what_no_problem_shows_is_a_false_clear_unless_no_position_was_decided(tmp_path):
    """Number 2 is wrong at position 6 alone, and right on a problem whose models agree there."""
    one = drawn(2)
    assert one.wrong.where == "i == 6"
    subject = written(2, "float64", tmp_path)
    assert outcome_of_laws(one, subject, "float64", [wide(8, 6)])[0] == OUTSIDE

    def held(decided):
        detail = SimpleNamespace(vocabulary=8, gamma=8, decided=decided)
        return SimpleNamespace(detail=detail, bound=1e-14, problem="p")

    assert unrefuted(one, [held([[0, 7]])], {})[0] == OUTSIDE
    assert unrefuted(one, [held([[0, 6]])], {})[0] == unrefuted(one, [held(None)], {})[0] == CLEARED


def test_an_id_that_no_problem_drafted_is_not_part_of_the_scope():
    """Number 659 in bfloat16 is wrong where 29,999 was drafted; reports say how many ids were."""
    one = drawn(659, "bfloat16")
    assert one.wrong.where == "x == 29999"

    def held(problem):
        return SimpleNamespace(detail=SimpleNamespace(vocabulary=32_000, gamma=2), bound=1e-6, problem=problem)

    assert unrefuted(one, [held("wide-dense-V32000-gamma2")], {})[0] == OUTSIDE
    assert unrefuted(one, [held("one that is not known")], {})[0] == CLEARED


def test_the_benchmark_that_counts_them_goes_on_in_its_file(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        "sys.argv", ["deceivers.py", "--from", "7000", "--number", "1", "--file", str(tmp_path / "rows")]
    )
    counts = []
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            deceivers.main()
        assert ended.value.code == 0
        counts.append(capsys.readouterr().out.splitlines()[-1])
        monkeypatch.setattr(deceivers, "row_of", None)
    assert counts[0] == counts[1] and counts[0].startswith("1 drawn: 1 refuted")
