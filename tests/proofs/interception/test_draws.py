"""The small and the wide tracer answer the same kinds of draws; nothing asks which of them it has."""

import numpy as np
import pytest

from draftproof.proofs.interception.arrays import place_in_row
from draftproof.proofs.interception.exploration import Exploration
from draftproof.proofs.interception.noise_rows import NoiseRow
from draftproof.proofs.interception.numbers import Traced
from draftproof.proofs.interception.row_draws import WideTracer
from draftproof.proofs.interception.sources import Lattice
from draftproof.proofs.interception.tracer import Tracer, in_force


@pytest.fixture
def tracers():
    both = Tracer(Exploration()), WideTracer(Exploration(), 200, [3])
    for tracer in both:
        assert tracer.begin()
    return both


def test_a_row_of_weights_is_a_path_for_each_entry_or_one_row(tracers):
    small, wide = tracers
    weights = np.array([1.0, 0.0, 3.0])
    assert small.draw_row(weights) == 0 and [float(p) for _, p in small.pending] == [0.75]
    assert weights[wide.draw_row(weights)] > 0 and not wide.pending and len(wide.rows) == 1


def test_noise_is_followed_number_by_number_or_as_a_row(tracers):
    small, wide = tracers
    assert small.noise((100,), "exponential", np.float64) is None
    assert isinstance(wide.noise((100,), "exponential", np.float64), NoiseRow)
    assert isinstance(wide.noise((2, 200), "uniform", np.float64), NoiseRow)
    assert wide.noise((4,), "exponential", np.float64) is None, "a few numbers are no row"


def test_a_uniform_is_looked_up_cut_by_cut_or_at_once(tracers):
    small, wide = tracers
    cuts = np.array([0.25, 0.5, 1.0])
    numbers = [Traced(Lattice(tracer, 53)) for tracer in tracers]
    assert small.look_up(numbers[0], lambda x: x >= cuts, lambda: cuts) is None
    index = wide.look_up(numbers[1], lambda x: x >= cuts, lambda: cuts)
    assert (wide.rows[0].weights / 2**53).tolist() == [0.25, 0.25, 0.5, 0.0]
    low, high = numbers[1].source.low / 2**53, numbers[1].source.high / 2**53
    assert (low, high) == ([0.0, 0.25, 0.5][index], [0.25, 0.5, 1.0][index])


@pytest.mark.parametrize(
    "row",
    [[0.0, 0.0, 0.25, 0.25, 0.75, 1.0, 1.0], [0.5, 0.25, 0.25, 1.0], [0.5, 0.5], [0.5], [], [-np.inf, -np.inf, 0.5]],
)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("falling", [False, True])
def test_equal_cuts_are_found_as_if_each_was_looked_at(row, side, falling):
    cuts, above = np.array(row), np.greater if side == "left" else np.greater_equal
    found = []
    for at_once in (True, False):
        tracer = WideTracer(Exploration(), 200, [3])
        assert tracer.begin()
        number = Traced(Lattice(tracer, 53))
        number = 1.0 - number if falling else number
        with in_force(tracer), np.errstate(invalid="raise"):
            passed = (
                place_in_row(number, lambda: cuts, side)
                if at_once
                else tracer.look_up(number, lambda x: above(x, cuts), lambda: cuts)
            )
        found.append((passed, tracer.rows[0].weights.tolist(), number.source.low, number.source.high))
    assert found[0] == found[1] and len(found[0][1]) == len(row) + 1
