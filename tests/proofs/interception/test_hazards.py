"""The law of an argmax over the whole range of its noise, whatever is done to the noise."""

import math
from bisect import bisect_left, bisect_right
from pathlib import Path

import numpy as np
import pytest

from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import lossless, support
from draftproof.proofs.interception.hazards import Ladder, NotMonotone
from draftproof.proofs.interception.noise_rows import levels
from draftproof.proofs.laws.small_measurement import measured
from draftproof.tests.proofs.interception.one_call import measure_one_call

pytestmark = pytest.mark.interception
FILE = Path(__file__).parents[2] / "subjects" / "noise.py"


def measure(sandbox, name, *row):
    return measure_one_call(sandbox, f"{FILE}:{name}", *row)


def first_below(cap):
    """Probability of token 0 of (.6, .4) where noise is capped: it wins its race below the cap, and all ties above."""
    return 0.6 * -math.expm1(-cap / 0.6) + math.exp(-cap / 0.6)


@pytest.mark.parametrize(
    ("name", "token_0"), [("capped", first_below(2.1)), ("capped_at_four", first_below(4)), ("of_uniforms", 2 / 3)]
)
def test_noise_that_is_not_whole_has_its_true_law(sandbox, name, token_0):
    found = measure(sandbox, name, "3/5", "2/5")
    assert as_float(found.outputs()[(0,)]) == pytest.approx(token_0, abs=1e-13)
    assert lossless(found).verdict == "refuted"


@pytest.mark.parametrize(
    ("name", "last", "deviation"),
    [
        ("floored", ["2/5"], 5.9e-4),
        ("clipped", ["2/5"], 4.0e-6),
        ("against_a_constant", ["2/5"], 0.2),
        ("with_too_large_an_epsilon", ["2/5", "0"], 1e-10),
    ],
)
def test_a_race_that_is_none_at_the_ends_of_its_noise_is_refuted(sandbox, name, last, deviation):
    found = lossless(measure(sandbox, name, "3/5", *last))
    assert found.verdict == "refuted"
    assert found.total_variation == pytest.approx(deviation, rel=0.5)


@pytest.mark.parametrize("name", ["capped_beyond_doubles", "with_epsilon", "of_powers"])
@pytest.mark.parametrize(
    "row",
    [("3/5", "2/5"), ("1/1000000000", "599999999/1000000000", "2/5"), ("1/100000", "99999/100000")],
    ids=["two", "tiny", "unlike"],
)
def test_what_no_double_can_show_is_no_deviation(sandbox, name, row):
    found = lossless(measure(sandbox, name, *row))
    assert found.verdict == "holds"
    assert found.total_variation < 1e-14
    assert found.bound < 1e-12


def test_a_law_of_levels_is_by_calls_and_says_what_may_hide_between_them(sandbox):
    found = measure(sandbox, "with_epsilon", "3/5", "2/5")
    law = lossless(found).law
    assert law.exactness == "by-calls" and 1e-4 < law.between_levels < 0.04
    assert measure(sandbox, "floored", "1", "0").between_levels < 0.04


def test_a_zero_of_the_uniform_that_makes_a_nan_win_is_a_path_of_its_own(sandbox):
    found = measure(sandbox, "nan_where_a_uniform_is_zero", "0", "3/5", "2/5")
    witness = support(found).witness
    assert witness and witness.observed == "2^-53"
    assert lossless(found).verdict == "holds"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("dtype", "coarse"), [("float32", 1e-6), ("bfloat16", 0.03), pytest.param("float16", 4e-3, marks=pytest.mark.long)]
)
def test_races_in_each_precision_of_torch(dtype, coarse, tmp_path, torch_child):
    file = tmp_path / "noisy.py"
    file.write_text(
        "import torch\n"
        "def right(target_probs, draft_probs, draft_tokens):\n"
        "    return [(target_probs[0] / torch.empty_like(target_probs[0]).exponential_()).argmax()]\n"
        "def capped(target_probs, draft_probs, draft_tokens):\n"
        "    noise = torch.empty_like(target_probs[0]).exponential_().clamp(max=0.5)\n"
        "    return [(target_probs[0] / noise).argmax()]\n"
    )
    problem = problem_from({"vocabulary": 3, "gamma": 1, "target": ["5/8", "1/4", "1/8"], "draft": ["0", "1", "0"]})
    laws = {}
    sandbox = torch_child(dtype)
    for name in ("right", "capped"):
        sandbox.load(f"{file}:{name}", [problem])
        laws[name] = lossless(measured(problem, dtype, sandbox.law(problem)))
    assert laws["right"].verdict == "holds"
    assert laws["right"].bound < coarse
    assert laws["capped"].verdict == "refuted"


class Noise:
    """A contestant by hand: a thousand equally likely positions, a score for each."""

    grain = 2

    def __init__(self, scores):
        self.scores, self.points = scores, len(scores)

    def rank(self, position):
        return self.scores[position]

    def hazard(self, position):
        return -math.log((self.points - position) / self.points) if position < self.points else math.inf

    def position(self, hazard):
        return min(math.ceil(self.points * -math.expm1(-hazard)), self.points - 1)


def exactly(*contestants):
    """Probabilities of coming first, by going through all scores."""
    law, ascending = [0.0] * len(contestants), [sorted(c.scores) for c in contestants]
    for score in {s for c in contestants for s in c.scores}:
        below = [bisect_left(scores, score) / len(scores) for scores in ascending]
        upto = [bisect_right(scores, score) / len(scores) for scores in ascending]
        for i in range(len(law)):
            law[i] += math.prod(below[:i]) * (upto[i] - below[i]) * math.prod(upto[i + 1 :])
    return law


@pytest.mark.parametrize(
    "scores",
    [
        [[9.0] * 300 + [5.0] * 700, [7.0] * 500 + [5.0] * 500, [6.0] * 1000],
        [[10.0 - k // 10 for k in range(1000)], [8.0 - k / 300 for k in range(1000)]],
        [[1.0] * 1000, [1.0] * 999 + [0.0]],
    ],
    ids=["ties", "stairs", "equal"],
)
def test_ladders_of_steps_and_ties_agree_with_counting(scores):
    contestants = [Noise(s) for s in scores]
    ladder = Ladder(contestants)
    assert ladder.law == pytest.approx(exactly(*contestants), abs=ladder.error + 1e-12)
    assert sum(ladder.law) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("stairs", [7, 60, 500])
@pytest.mark.parametrize("tilt", [1.0, 1.5])
def test_the_error_of_a_ladder_covers_what_it_is_wrong_by(stairs, tilt):
    """Noise in steps: the odds of two gaps may agree while the order within them is not that of chance."""
    steps = [math.floor(k * stairs / 1000) + 0.5 for k in range(1000)]
    contestants = [
        Noise([1 / s for s in steps]),
        Noise([tilt / s for s in steps]),
        Noise([2 - k / 9 for k in range(1000)]),
    ]
    ladder, truth = Ladder(contestants), exactly(*contestants)
    wrong = sum(abs(a - b) for a, b in zip(ladder.law, truth)) / 2
    assert wrong <= ladder.error + 1e-12
    assert ladder.error < 0.01


def test_a_score_that_rises_again_is_no_ladder():
    with pytest.raises(NotMonotone):
        Ladder([Noise([5.0, 4.0, 9.0, 3.0, 8.0, 2.0] * 50), Noise([6.0 - k / 50 for k in range(300)])])


def test_the_levels_of_a_wide_race_leave_no_gap_above_a_32nd_and_differ_from_race_to_race():
    races = [levels(np.arange(1.0, size)) for size in (66, 130, 1003, 32_001)]
    for race in races:
        assert np.diff(-np.expm1(-np.concatenate([[0.0], race, [np.inf]]))).max() <= 1 / 32
    assert len({race[40] for race in races}) == len(races)
