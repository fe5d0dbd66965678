"""Every position of long blocks is decided: a mistake that acts there alone is refuted, or lies outside the scope."""

from pathlib import Path

import pytest

from draftproof.models.battery import toy
from draftproof.models.long_blocks import LENGTHS, LENGTHS_APART, together
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.wide_laws import LIKELIEST, laws_of_long_blocks
from draftproof.reports.audits.positions import decided_positions
from draftproof.tests.deceivers import long_blocks
from draftproof.tests.proofs.test_decided import decides

pytestmark = pytest.mark.interception
DECEIVERS = Path(long_blocks.__file__)
RIGHT = DECEIVERS.parents[1] / "subjects" / "long_blocks.py"


@pytest.fixture(scope="module")
def box():
    with Sandbox("", timeout=120) as shared:
        yield shared


def examined(box, name, file=DECEIVERS):
    """The laws on long blocks up to one that refutes."""
    box.load(f"{file}:{name}", [toy(1)])
    laws = []
    for law in laws_of_long_blocks(lambda problem, paths: _measured(box, problem, paths), 0):
        laws.append(law)
        if law.lossless.refutes:
            break
    return laws


def _measured(box, problem, paths):
    return measured_wide(problem, "float64", box.law(problem, paths=paths))


def scope_of(laws):
    return decided_positions(e for law in laws for e in judge(law))


SLOW = {"ring_of_24", "last_of_chunks_of_21"}  # others of chunks and rings take a fraction of their time
CLEARED_ONCE = ["shared_by_pairs", *(name for name in long_blocks.PLANTED if "far_pair" not in name)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in CLEARED_ONCE]
)
def test_classes_of_mistakes_that_were_cleared_once_are_refuted(box, name):
    *before, last = examined(box, name)
    assert last.lossless.refutes and all(law.known for law in before)


@pytest.mark.parametrize(
    ("style", "whole"), [("steps", LENGTHS), pytest.param("vector", (6, 7, 8), marks=pytest.mark.long)]
)
def test_right_verifiers_hold_with_all_positions_together_or_each_with_its_neighbour(box, style, whole):
    laws = examined(box, style, RIGHT)
    assert all(law.known and law.lossless.verdict == "holds" for law in laws), [law.reason for law in laws]
    positions = scope_of(laws)
    assert all(decides(positions, gamma, range(gamma)) for gamma in whole)
    assert all(decides(positions, gamma, {k, k + 1}) for gamma in LENGTHS_APART for k in range(gamma - 1))
    assert 64 in whole or not decides(positions, 64, {0, 1, 2, 3, 4})


@pytest.mark.parametrize(("name", "refuted"), [("far_pair", True), ("far_pair_of_blocks", True), ("forwards", False)])
def test_a_number_that_is_used_again_at_any_two_positions_shows_among_the_likeliest_ways(box, name, refuted):
    """Positions 5 and 58 of 64, which no problem decides together: all is accepted, or nothing is, too often."""
    box.load(f"{DECEIVERS if refuted else RIGHT}:{name}", [toy(1)])
    law = _measured(box, together(64), LIKELIEST)
    assert not law.known and law.lossless.refutes is refuted and law.paths == LIKELIEST
