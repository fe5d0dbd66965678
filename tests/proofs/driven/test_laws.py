"""Laws of verifiers whose random numbers are inputs: exact, confirmed by random requests, or not claimed."""

import math

import numpy as np
import pytest

from draftproof.models.battery import drawn, toy
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.driven import laws, layout, subjects
from draftproof.proofs.driven.answers import PLAINLY, answers
from draftproof.proofs.driven.coordinates import Uniform
from draftproof.proofs.driven.declared import declared
from draftproof.proofs.driven.partition import Partition
from draftproof.proofs.driven.products import Products
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.time_limits import TimeLimits
from draftproof.tests.refusals import one_line
from draftproof.tests.subjects import driven
from draftproof.verifiers.adapters.calling_convention import NotASubject

pytestmark = [pytest.mark.interception, pytest.mark.usefixtures("fewer_confirmations")]
PROBLEMS = [toy(2), drawn(3, 2, "zeros")]


def subject_of(function, dtype="float64", timeout=30.0):
    return subjects.DrivenObject(function, "it", None, dtype, TimeLimits(timeout))


def measure(function, problem, dtype="float64", **request):
    return measured(problem, dtype, answers(subject_of(function, dtype), problem, PLAINLY | request))


def test_the_random_requests_depend_on_the_seed():
    given = []
    for seed in (1, 1, 2):
        asked = set()
        recording = driven.Driven(lambda *rows, asked=asked: asked.add(float(rows[-1][0])) or driven.token_rule(*rows))
        measured(toy(1), "float64", answers(subject_of(recording), toy(1), PLAINLY | {"seed": seed}))
        given.append(asked)
    assert given[0] == given[1] and len(given[0] - given[2]) > 400


@pytest.mark.parametrize("name", ["token", "token_exponential", "token_gumbel", "token_by_uniform_race", "middle"])
def test_the_law_of_a_right_token_verifier_is_exact(name):
    for problem in PROBLEMS:
        measurement = measure(getattr(driven, name), problem)
        lossless, support, _ = judge(measurement)
        assert measurement.exactness == "driven"
        assert lossless.holds and support.holds
        assert lossless.method == "driving"
        assert lossless.total_variation < measurement.tolerance < 1e-12
        assert measurement.missed < lossless.bound < 0.02


def test_it_is_said_what_each_number_decides():
    accept = ("accept[0]", "accept[1]")
    small, large = (f"thresholds, {which} numbers accept more" for which in ("small", "large"))
    assert measure(driven.token_exponential, toy(2)).numbers == dict.fromkeys(accept, small) | {"last": "a race"}
    reflected = driven.Driven(lambda *rows: driven.token_rule(*rows[:-1], 1 - rows[-1]))
    assert measure(reflected, toy(2)).numbers == dict.fromkeys(accept, large) | {"last": "thresholds"}
    assert set(measure(driven.middle, toy(1)).numbers["accept[0]"].split(" and ")) == {small, large}
    ascending = measure(driven.ascend, toy(2))
    assert ascending.numbers["accept[1]"] == "products" and judge(ascending)[0].refuted
    certain = drawn(3, 1, "disjoint")  # nothing is accepted there, and the residual is one token
    assert measure(driven.token, certain).numbers == {"accept[0]": "nothing", "last": "nothing"}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_block_verification_driven_reaches_the_optimum(dtype):
    """The paper's example: E[tau] = 11/9."""
    lossless, support, optimal = judge(measure(driven.block_exponential, toy(2), dtype))
    assert lossless.holds and support.holds and optimal.holds
    assert float(optimal.detail.optimum.split("/")[0]) == 11 or dtype == "float32"


@pytest.mark.parametrize(
    ("name", "deviation", "requests"),
    [("no_residual", 1 / 9, 600), ("no_residual_gumbel", 1 / 9, 600), ("region", 0.01 * 0.005 * 2 / 3, 8192)],
)
def test_wrong_twins_are_refuted_by_what_they_deviate(name, deviation, requests):
    measurement = measure(getattr(driven, name), toy(2), confirmations=requests)
    lossless = judge(measurement)[0]
    assert lossless.refuted and lossless.witness
    assert lossless.total_variation == pytest.approx(deviation, abs=1e-12)


def test_the_closed_form_of_products_is_that_of_arrival_times():
    row = Products(Partition([Uniform(24)] * 3, [0, 1, 2]), [0, 1, 2])
    row.thresholds = [0.1, 0.4]
    assert math.fsum(map(row.mass, row.cells())) == pytest.approx(1, abs=1e-14)
    below = [cell for cell in row.cells() if cell[1] == 2]  # u_1 u_2 <= 0.1
    assert math.fsum(map(row.mass, below)) == pytest.approx(0.1 * (1 - math.log(0.1)), abs=1e-14)
    generator = np.random.default_rng(0)
    products = np.cumprod(generator.random((20_000, 3)), axis=1)
    both = np.mean((products[:, 0] > 0.4) & (products[:, 2] <= 0.1))
    wanted = [cell for cell in row.cells() if cell[0] == 0 and cell[2] == 2]
    assert math.fsum(map(row.mass, wanted)) == pytest.approx(both, abs=0.012)
    for cell in row.cells():
        assert row.cell(row.inside(cell, (0, 0, 0)))[0] == cell


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sums", "more than one number at a time"),
        ("two_rows", "more than one row of noise"),
        ("capped", "does not decide by a race"),
        ("draws_itself", "answered differently"),
    ],
)
def test_what_has_no_law_in_a_known_form_gets_none(name, reason):
    measurement = measure(getattr(driven, name), drawn(3, 2, "generic"))
    assert not measurement.known
    assert reason in measurement.reason
    assert judge(measurement)[0].verdict == "no-evidence"


def test_a_region_that_no_request_met_is_within_the_bound():
    """Wrong with probability 1e-7, inside a leaf: not seen, and not claimed either."""
    measurement = measure(driven.needle, toy(2))
    lossless = judge(measurement)[0]
    assert lossless.holds
    assert lossless.bound > measurement.missed > 1e-7


def test_a_slow_subject_gets_fewer_requests_and_a_larger_bound_or_no_law():
    def slow(timeout):
        """By its own account a millisecond of processor time a call."""
        subject = subject_of(driven.token, timeout=timeout)
        subject.seconds = lambda: subject.calls / 1000
        return subject

    law = measured(toy(1), "float64", answers(slow(2.0), toy(1)))
    assert law.known
    assert laws.FEWEST <= law.confirmations < 1500
    assert law.missed == pytest.approx(1 - (laws.MISSED_AT / 2) ** (1 / law.confirmations))
    late = measured(toy(2), "float64", answers(slow(0.3), toy(2)))
    assert "more calls than the time allows" in late.reason


def test_a_kernels_generator_by_seed_and_position():
    right, coupled = subject_of(driven.keyed_right), subject_of(driven.keyed_coupled)
    lossless = judge(measured(toy(2), "float64", answers(right, toy(2))))[0]
    assert lossless.holds and not right.findings
    wrong = measured(toy(2), "float64", answers(coupled, toy(2)))
    assert "asked for seed 7 and position 0 2 times" in wrong.findings["key-used-twice"]
    assert not judge(wrong)[0].holds


def test_coins_of_places_that_the_next_block_asks_for_again_have_to_be_fresh():
    """Block verification has compared all of them: behind a block that is rejected at once the second is above 1/4."""
    rights = driven.token_by_place, driven.block_by_call, driven.block_with_seeds, driven.last_by_place
    for right in rights:
        law = measured(toy(2), "float64", answers(subject_of(right), toy(2)))
        assert judge(law)[0].holds and "key-asked-again" not in law.findings
    subject = subject_of(driven.block_by_place)
    law, other = (measured(p, "float64", answers(subject, p)) for p in (toy(2), toy(1)))
    lossless = judge(law)[0]
    assert judge(other)[0].holds, "a block of one token has no place behind what it emits"
    assert law.known and lossless.verdict == "no-evidence" and lossless.total_variation < 1e-12
    assert lossless.detail.reason == law.findings["key-asked-again"]
    assert lossless.detail.reason == (
        "coin at position 41 is asked for again by the block behind (1,), and is no fresh number there: at most 0.25 "
        "with probability 0, not 0.25"
    )


def test_a_key_that_is_rarely_asked_for_is_part_of_the_law():
    lossless = judge(measure(driven.keyed_rarely, toy(1)))[0]
    assert lossless.refuted
    assert lossless.total_variation == pytest.approx(0.002 * (1 / 2 - 1 / 3), abs=1e-12)


def test_a_table_gives_the_same_number_for_the_same_key_and_counts_it():
    table = layout.KeyedTable({(7, 0): 0.25}, lambda key: 0.5)
    assert table(7, 0) == 0.25
    assert list(table(np.int64(7), [0, 3])) == [0.25, 0.5]
    assert table.twice() == (7, 0)


@pytest.mark.parametrize(
    ("random", "text"),
    [
        ("no", "has to be a list of random numbers"),
        ([3], "[0]: expected object, got int"),
        ([{"name": "u", "kind": "normal", "shape": []}], "[0].kind: invalid enum value 'normal'"),
        ([{"name": "u", "kind": "uniform", "shape": ["batch"]}], "[0].shape[0]: invalid enum value 'batch'"),
        ([{"name": "u", "kind": "uniform", "shape": [0]}], "[0].shape[0]: expected int >= 1"),
        ([{"name": "u", "kind": "uniform"}], "random 'u' has no shape"),
        ([{"name": "u", "kind": "uniform", "shape": [], "bits": 64}], "[0].bits: expected int <= 53"),
        ([{"name": "u", "kind": "uniform", "shape": [], "bits": True}], "[0].bits: expected int | null, got bool"),
        ([{"name": "u", "kind": "uniform", "shape": [], "open": "both"}], "[0].open: invalid enum value 'both'"),
        ([{"name": "u", "kind": "gumbel", "shape": []}] * 2, "names 'u' twice"),
    ],
)
def test_random_numbers_that_no_request_has_are_refused(random, text):
    assert text in one_line(declared, random, "float32", error=NotASubject)
