"""The two-sample test that the benchmark compares betting with: its kernel and its estimate by hand."""

import numpy as np
import pytest

from draftproof.benchmarks.hamming_mmd import hamming_kernel, mmd

pytestmark = pytest.mark.exact


def test_the_estimate_is_that_of_its_formula_by_hand():
    kernel = hamming_kernel([0, 0, 1, 1], np.array([[1, 2], [1, 3], [1, 2], [4, 4]]))
    assert kernel.tolist() == [[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert mmd(kernel, np.array([[1.0, 0, 1, 0], [1.0, 1, 0, 0]])) == pytest.approx([-2 * 0.5 / 4, 0.5])
