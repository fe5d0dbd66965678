"""Operations that are monotone by name and not by value, and thresholds that look alike."""

from pathlib import Path

import pytest

from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.field import QQ
from draftproof.proofs.interception.places import constant_key
from draftproof.tests.proofs.interception.one_call import measure_one_call

pytestmark = pytest.mark.interception
FILE = Path(__file__).parents[2] / "subjects" / "chains.py"


def measure(sandbox, name, *row):
    return measure_one_call(sandbox, f"{FILE}:{name}", *row)


def test_a_product_that_wraps_around_is_not_taken_for_monotone(sandbox):
    """Each whole number is a path of its own, as NumPy multiplies it."""
    found = measure(sandbox, "wraps_around", "2/5", "3/5")
    assert found.known and found.outputs() == {(0,): QQ(2, 5), (1,): QQ(3, 5)}


def test_thresholds_that_print_alike_are_two(sandbox):
    found = measure(sandbox, "thresholds_that_print_alike", "9/16", "3/8", "1/16")
    both = 0.25 * (0.25 + 1e-9)
    assert as_float(found.outputs()[(2,)]) == pytest.approx(both, abs=1e-15)
    assert as_float(found.outputs()[(1,)]) == pytest.approx(0.5 + 1e-9 - 2 * both, abs=1e-15)


@pytest.mark.parametrize("row", [("1/3", "2/3"), ("1", "0")])
def test_a_right_chain_is_cleared(sandbox, row):
    assert lossless(measure(sandbox, "logarithms_of_two_libraries", *row)).verdict == "holds"


def test_constants_have_one_key_if_they_are_the_same_to_the_bit():
    import numpy as np

    third = 1 / 3
    alike = [third, np.float64(third), np.array(third), np.longdouble(1) / 3, np.float32(third), np.array([third])]
    assert len({constant_key(c) for c in alike}) == len(alike)
    assert constant_key(np.array(third)) == constant_key(np.array(third))
    assert constant_key(np.array(third)) != constant_key(np.array(third + 1e-15))
    assert constant_key(2**53) != constant_key(2**53 + 1)
    assert constant_key([]) != constant_key([])
