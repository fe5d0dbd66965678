"""Wide problems: what only a whole vocabulary or a long block shows is refuted; right verifiers hold."""

import re
from dataclasses import replace

import numpy as np
import pytest

from draftproof.benchmarks.choose_wide_battery import LONGER, again
from draftproof.models.battery import toy
from draftproof.models.problem import any_problem_from, load_problem
from draftproof.models.wide import exchanged, own_wide_problem, wide, wide_battery
from draftproof.proofs.audit_claims import judge, support
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.choices import long_unless
from draftproof.tests.proofs.interception.one_call import wide_law
from draftproof.tests.refusals import one_line


def judged(sandbox, name, problem):
    measurement = wide_law(sandbox, f"draftproof.tests.subjects.wide:{name}", problem)
    return measurement, judge(measurement)[0]


DENSE_DRAFT = next(problem for problem in wide_battery() if "dense-draft" in problem.name)
RIGHT = ["by_choice", "by_multinomial", "by_search", "by_method_search", "by_comparison", "by_count", "by_bisection",
         "by_choices", "by_race", "by_gumbel_of_uniforms",
         "by_noise_drawn_beforehand"]  # fmt: skip


@pytest.mark.parametrize("name", long_unless(RIGHT, {"by_choice", "by_method_search", "by_bisection"}))
def test_a_right_verifier_holds_on_wide_rows_however_it_draws(sandbox, name):
    few = (DENSE_DRAFT, own_wide_problem(1)) if name in ("by_search", "by_race") else ()
    for problem, zeros in ((wide(129, 2, "zeros"), True), (wide(32_769, 1, "dense"), False), *((p, None) for p in few)):
        measurement, evidence = judged(sandbox, name, problem)
        assert (evidence.verdict, measurement.unknown) == ("holds", 0.0), measurement.reason
        assert evidence.total_variation <= evidence.bound < 1e-11
        assert evidence.bound - measurement.looked_up < 1e-12 or "gumbel" in name
        assert measurement.called > 60
        assert zeros is None or support(measurement).detail.zeros == zeros


WRONG = {
    "summed_in_float16": (wide(32_000, 1), 0.05),
    "cut_to_fifty": (wide(1003, 2), 0.05),
    "flushed": (wide(32_767, 1, "tails"), 1e-8),
    "tiles_of_eight": (wide(9, 2), 1e-6),
    "ids_of_eight_bits": (wide(129, 2), 1e-6),
    "ids_of_sixteen_bits": (wide(65_537, 1), 1e-6),
    "last_ids_swapped": (wide(32_769, 1), 1e-8),
    "mask_of_eight_bits": (wide(9, 9, "zeros"), 1e-3),
    "draft_cut_to_fifty": (DENSE_DRAFT, 1e-3),
    "no_coin_in_the_second_quarter": (own_wide_problem(3), 1e-3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_defect_of_width_is_refuted_and_replays_from_its_specification(sandbox, name):
    problem, least = WRONG[name]
    _, evidence = judged(sandbox, name, problem)
    assert evidence.refuted and evidence.total_variation > least
    assert evidence.witness and any_problem_from(dict(evidence.witness.problem)) == problem


@pytest.mark.parametrize("size", LONGER, ids=str)
def test_longer_blocks_over_wide_rows_decide_their_last_position(sandbox, size):
    problem = again(*size)
    right, _ = judged(sandbox, "by_choice", problem)
    assert problem in wide_battery() and right.known and right.lossless.verdict == "holds"
    law = wide_law(sandbox, "draftproof.tests.subjects.long_blocks:from_three_tokens_over_more_than_eight", problem)
    assert law.known and law.lossless.refutes == (size[0] > 8), law.reason


@pytest.mark.parametrize("name", ["filler_at_the_first", "filler_at_the_second"])
def test_a_reserved_id_that_is_lost_after_a_rejection_at_one_place_is_refuted(sandbox, name):
    """Held once: over the largest vocabularies special ids took turns over rows of different places."""
    _, evidence = judged(sandbox, name, wide(128_256, 2))
    assert evidence.refuted


def test_few_ids_are_called_where_the_problem_says_so(sandbox):
    few = again(32_000, 5)
    assert few.few_ids and not again(5003, 4).few_ids
    called = [judged(sandbox, "by_choice", problem)[0].called for problem in (few, replace(few, few_ids=False))]
    assert called[0] < called[1] / 5


@pytest.mark.parametrize("key", long_unless(["every_64th", "the_end", "sum", "the_largest"], {"the_end", "sum"}))
def test_a_cache_that_knows_a_row_by_a_part_of_it_takes_another_one_for_it_at_every_vocabulary(sandbox, key):
    wides = wide(300, 1), wide(1003, 1), wide(32_768, 1, "zeros"), wide(50_257, 1, "ties")
    sandbox.load(f"draftproof.tests.subjects.wide:residuals_by_{key}", [toy(1)])
    for problem in wides:
        here, there = (judge(measured_wide(p, "float64", sandbox.law(p)))[0] for p in (problem, exchanged(problem)))
        assert (here.verdict, there.verdict) == ("holds", "refuted"), problem.name


def test_a_race_whose_noise_is_capped_has_no_closed_law(sandbox):
    """The small problems refute it. On rows without a probable token noise of 2.1 never wins, and the law is right."""
    measurement, evidence = judged(sandbox, "capped_race", wide(129, 2))
    assert evidence.verdict == "no-evidence" and measurement.reason and "not a race" in measurement.reason


@pytest.mark.parametrize(
    "problem",
    long_unless([wide(257, 2, "tails"), wide(1003, 2), wide(151_936, 1)], [wide(257, 2, "tails")]),
    ids=lambda p: p.name,
)
def test_a_race_of_uniforms_is_won_by_tokens_of_every_probability(sandbox, problem):
    """A token of probability 1e-15 wins where all other noise is large: its own has to be a point of the lattice."""
    for name in ("by_logarithm_of_uniforms", "by_logarithm_from_one"):
        measurement, evidence = judged(sandbox, name, problem)
        assert (evidence.verdict, measurement.unknown, measurement.reason) == ("holds", 0.0, None)
    measurement, evidence = judged(sandbox, "by_logarithm_with_a_floor", problem)
    assert evidence.verdict == "no-evidence" and measurement.reason and "not a race" in measurement.reason
    measurement, evidence = judged(sandbox, "by_logarithm_to_a_power", problem)
    assert evidence.verdict == "refuted" and evidence.total_variation > 1e-6


@pytest.mark.parametrize(
    "name", long_unless(["by_single_precision_noise", "by_single_precision_uniforms"], {"by_single_precision_noise"})
)
def test_noise_of_numpy_in_single_precision_has_steps_that_a_whole_vocabulary_sees(name):
    """Each of V numbers is 0 with probability 2^-24 and more, and then wins whatever its weight: TV 0.003 here."""
    with Sandbox(f"draftproof.tests.subjects.wide:{name}", dtype="float32") as child:
        child.start([toy(1)])
        measurement = measured_wide(wide(151_936, 1), "float32", child.law(wide(151_936, 1)))
    assert judge(measurement)[0].verdict == "no-evidence"
    assert measurement.reason and "known only to within 0.04" in measurement.reason


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            '{"vocabulary": 9, "gamma": 1, "wide": {"kind": "dens", "live": [[0]]}}',
            "wide.kind: invalid enum value 'dens'",
        ),
        ('{"vocabulary": 9, "gamma": 1, "wide": {"kind": "dense", "live": [[9]]}}', "different tokens below 9"),
        ('{"vocabulary": 9, "gamma": 2, "wide": {"kind": "dense", "live": [[0]]}}', "2 lists of tokens"),
        (
            '{"vocabulary": 9, "gamma": 1, "wide": {"kind": "dense", "live": [[]]}}',
            r"wide.live\[0\]: expected array of length >= 1",
        ),
        ('{"vocabulary": 9, "gamma": 1, "wide": {"live": [[0]]}}', "the field 'kind' is missing"),
        ('{"vocabulary": 1e9, "gamma": 1, "wide": {"kind": "dense", "live": [[0]]}}', "vocabulary: expected int, got"),
        ('{"vocabulary": 9, "gamma": 1, "target": [], "wide": {}}', "unknown field 'target'"),
    ],
)
def test_a_bad_specification_is_one_clear_line(spec, says):
    assert re.search(says, one_line(load_problem, spec, any_problem_from))


@pytest.mark.parametrize("problem", [wide(9, 2), wide(129, 2)], ids=lambda p: p.name)
def test_noise_of_a_token_that_must_not_win_is_written_over(sandbox, problem):
    measurement, evidence = judged(sandbox, "by_race_without_the_rejected", problem)
    assert (evidence.verdict, measurement.unknown, measurement.reason) == ("holds", 0.0, None)
    measurement, evidence = judged(sandbox, "by_race_without_the_next", problem)
    assert evidence.verdict == "refuted" and evidence.total_variation > 1e-5


def test_the_total_variation_of_the_frontier_is_that_of_the_completed_law(sandbox):
    """On a row small enough to write out both laws."""
    problem = wide(8, 2, seed=3)
    measurement, evidence = judged(sandbox, "last_ids_swapped", problem)
    law: dict = {}
    for prefix, row in measurement.emitted.items():
        for token, mass in enumerate(row):
            law[(*prefix, token)] = law.get((*prefix, token), 0.0) + mass
    apart = 0.0
    for x in np.ndindex(8, 8, 8):
        target = completed = 1.0
        rows = [problem.target_row(x[:i]) for i in range(3)]
        target = np.prod([rows[i][x[i]] for i in range(3)])
        completed = sum(law.get(x[: n + 1], 0.0) * np.prod([rows[i][x[i]] for i in range(n + 1, 3)]) for n in range(3))
        apart += abs(target - completed) / 2
    assert evidence.total_variation == pytest.approx(apart, rel=1e-12)
