"""Sums of wide rows are those of ``math.fsum``."""

import math

import numpy as np
import pytest

from draftproof.models.wide_rows import FEW, row_sum


@pytest.mark.parametrize("size", [0, 1, FEW, FEW + 1, 1001, 151_936])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_row_of_every_scale_has_the_sum_that_is_rounded_once(size, dtype):
    draw = np.random.default_rng(size)
    row = np.exp(8 * draw.standard_normal(size)).astype(dtype) * (draw.random(size) < 0.7)
    assert row_sum(row) == pytest.approx(math.fsum(row), rel=2.0**-52)


def test_what_a_plain_sum_loses_is_kept():
    row = np.array([1.0, *[2.0**-53] * 4096])
    assert row.cumsum()[-1] == 1.0
    assert row_sum(row) == math.fsum(row) == 1 + 2.0**-41
