"""The exact law of unmodified functions, whatever way they draw."""

from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.models.battery import drawn
from draftproof.models.problem import problem_from
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import judge, lossless, support
from draftproof.proofs.laws.small_measurement import measured

pytestmark = pytest.mark.interception
FILE = Path(__file__).parents[2] / "subjects" / "draws.py"
FAULTS = FILE.with_name("faults.py")

ROWS = {
    "plain": ["21/100", "47/100", "32/100"],
    "zero-first": ["0", "63/100", "37/100"],
    "zero-last": ["63/100", "37/100", "0"],
    "one-hot": ["0", "1", "0"],
}


def one_draw(row):
    """A problem with one draft block, so that the law is that of one call."""
    return problem_from({"vocabulary": 3, "gamma": 1, "target": row, "draft": ["0", "1", "0"]})


def names(group):
    """Names of the functions of a group, read from the file's text: importing it here would draw real numbers."""
    body = FILE.read_text().split(f"\n{group} = (", 1)[1].split(")", 1)[0]
    return [name.strip() for name in body.replace("\n", " ").split(",") if name.strip()]


def measure(sandbox, name, problem, file=FILE):
    sandbox.load(f"{file}:{name}", [problem, drawn(3, 1, "generic")])
    return measured(problem, "float64", sandbox.law(problem))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(
    ("name", "exactness"),
    [(n, "exact") for n in names("EXACT")]
    + [(n, "lattice") for n in names("LATTICE")]
    + [(n, "by-calls") for n in names("RACES")],
)
def test_every_way_of_drawing_is_followed(sandbox, name, exactness, row):
    found = measure(sandbox, name, one_draw(ROWS[row]))
    assert found.known, found.reason
    if row == "plain":
        assert found.exactness == exactness
    law = found.outputs()
    assert sum(law.values()) == 1
    lattice = 2.0**-24 if "single" in name else 2.0**-52
    stated = found.explained - max(found.rounding.values())
    for token, p in enumerate(ROWS[row]):
        assert as_float(law.get((token,), 0)) == pytest.approx(float(Fraction(p)), abs=lattice + stated)


@pytest.mark.parametrize("name", names("WHOLE"))
def test_each_value_of_a_whole_number_is_a_path(sandbox, name):
    found = measure(sandbox, name, one_draw(ROWS["plain"]))
    assert found.exactness == "exact"
    assert found.paths == {"remainder_of_a_whole_number": 400}.get(name, 100)
    for token, p in enumerate(ROWS["plain"]):
        assert as_float(found.outputs()[(token,)]) == pytest.approx(float(Fraction(p)), abs=2.0**-52)


@pytest.mark.parametrize("name", names("ENDLESS"))
def test_loops_without_a_bound_have_a_law_with_what_is_left_of_them_beside_it(sandbox, name):
    found = measure(sandbox, name, one_draw(ROWS["plain"]))
    assert found.known, found.reason
    assert found.exactness == "resolution"
    assert found.explained - max(found.rounding.values()) < 2.0**-45
    assert lossless(found).verdict == "holds"


LOOPS = """
import random
def slow(target_probs, draft_probs, draft_tokens):
    while random.random() < 0.999:
        pass
    return [0]
def nested(target_probs, draft_probs, draft_tokens):
    rounds = 0
    while random.random() < 0.995:
        while random.random() < 0.5:
            pass
        rounds += 1
        if rounds > 300:
            return [1]
    return [0 if random.random() < target_probs[0][0] else 1]
def hardly_ever_ends(target_probs, draft_probs, draft_tokens):
    while random.random() > 1e-4:
        pass
    return [0 if random.random() < target_probs[0][0] else 1]
def hardly_ever_goes_on(target_probs, draft_probs, draft_tokens):
    while random.random() < 2.0**-53 and random.random() < 2.0**-53:
        pass
    return [0 if random.random() < target_probs[0][0] else 1]
def changes_its_mind(target_probs, draft_probs, draft_tokens):
    for _ in range(12):
        if random.random() < 0.5:
            return [0 if random.random() < target_probs[0][0] else 1]
    return [1]
def swallows(target_probs, draft_probs, draft_tokens):
    while True:
        try:
            while random.random() < 0.5:
                pass
            return [0 if random.random() < target_probs[0][0] else 1]
        except BaseException:
            return [1]
"""


def test_loops_that_converge_slowly_or_change_are_not_cleared(sandbox, tmp_path):
    file = tmp_path / "loops.py"
    file.write_text(LOOPS)
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/4", "3/4"], "draft": ["0", "1"]})
    slow = measure(sandbox, "slow", problem, file)
    assert not slow.known
    assert "draws without bound" in str(slow.reason)
    nested = measure(sandbox, "nested", problem, file)
    assert not nested.known, (
        "another behaviour after 300 rounds of a loop with a loop within it has a probability of 0.2"
    )
    assert lossless(measure(sandbox, "hardly_ever_goes_on", problem, file)).holds
    before = sandbox.calls
    assert not measure(sandbox, "hardly_ever_ends", problem, file).known
    assert sandbox.calls - before < 100, (
        "that it has no law is seen from how seldom it ends, without walking its rounds"
    )
    changing = lossless(measure(sandbox, "changes_its_mind", problem, file))
    assert changing.verdict == "refuted"
    assert changing.total_variation == pytest.approx(2.0**-12 / 4)
    assert lossless(measure(sandbox, "swallows", problem, file)).verdict == "holds"


def test_two_decisions_on_one_uniform_have_their_true_joint_law(sandbox, tmp_path):
    """accept iff u < 1/2, then the same u below 3/4: given rejection u is uniform on [1/2, 1)."""
    file = tmp_path / "reuse.py"
    file.write_text(
        "import random\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    u = random.random()\n"
        "    if u < 0.5:\n"
        "        return [0]\n"
        "    return [1 if u < 0.75 else 2]\n"
    )
    found = measure(sandbox, "f", one_draw(["1/2", "1/4", "1/4"]), file)
    assert {o: Fraction(str(p)) for o, p in found.outputs().items()} == {
        (0,): Fraction(1, 2),
        (1,): Fraction(1, 4),
        (2,): Fraction(1, 4),
    }
    assert "reuse.py:4, then reuse.py:6" in found.findings["uniform-reused"]


@pytest.mark.parametrize("coin", ["u * u < 0.25", "4 * u * (1 - u) < 0.5", "u + (1 - u) < 0.5"])
def test_a_uniform_that_meets_itself_is_not_followed(sandbox, tmp_path, coin):
    found = measure(sandbox, "f", one_draw(["1/2", "1/4", "1/4"]), _of_a_coin(tmp_path, coin))
    assert not found.known and "two random numbers meet in one expression" in found.reason


def _of_a_coin(folder, coin):
    """A file with a function that emits 0 where the coin says so, else 1."""
    file = folder / "coin.py"
    body = f"    u = random.random()\n    return [0 if {coin} else 1]\n"
    file.write_text(f"import random\ndef f(target_probs, draft_probs, draft_tokens):\n{body}")
    return file


def test_a_less_or_equal_at_zero_shows_its_two_to_the_minus_53(sandbox, tmp_path):
    file = tmp_path / "zero.py"
    file.write_text(
        "import random\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    return [0 if random.random() <= target_probs[0][0] else 1]\n"
    )
    problem = problem_from({"vocabulary": 2, "gamma": 1, "target": ["0", "1"], "draft": ["1", "0"]})
    found = measure(sandbox, "f", problem, file)
    assert Fraction(str(found.outputs()[(0,)])) == Fraction(1, 2**53)
    assert support(found).verdict == "refuted"
    assert support(found).witness.observed == "2^-53"
    assert lossless(found).verdict == "holds"


UNFOLLOWED = {
    "turned_into_a_float": "plain float",
    "product_of_uniforms": "accumulate",
    "normal_noise": "normal",
    "asks_for_the_type": "with plain random numbers",
    "draws_until_it_likes": "draws without bound",
    "not_monotone": "rises and falls",
    "two_races_with_one_noise": "used twice",
    "reads_the_system_entropy": "os.urandom",
    "counts_its_calls": "returned different results",
}


@pytest.mark.parametrize("name", UNFOLLOWED)
def test_what_cannot_be_followed_says_why_and_claims_nothing(sandbox, name):
    found = measure(sandbox, name, drawn(3, 1, "generic"), FAULTS)
    assert not found.known
    assert UNFOLLOWED[name] in found.reason
    assert {e.verdict for e in judge(found)} == {"no-evidence"}


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("reseeds_random", "reseeds", "random.seed at faults.py"),
        ("reseeds_numpy", "reseeds", "numpy.random.seed at faults.py"),
        ("seeded_generator_in_the_call", "reseeds", "default_rng(seed) at faults.py"),
        ("counts_its_calls", "state", "keeps state between calls"),
        ("writes_to_the_target", "inputs-written", "target_probs"),
        ("decides_twice_with_one_uniform", "uniform-reused", "decides at two places"),
        ("two_races_with_one_noise", "noise-used-twice", "decides again"),
        ("compares_with_nan", "nan", "NaN"),
    ],
)
def test_faults_are_noticed(sandbox, name, kind, text):
    found = measure(sandbox, name, drawn(3, 1, "generic"), FAULTS)
    findings = {**found.findings}
    assert text in findings[kind]


@pytest.mark.parametrize(
    ("name", "observed"),
    [("outside_the_vocabulary", "1/4"), ("too_many_tokens", "1"), ("raises_when_rows_are_equal", "1")],
)
def test_what_is_no_token_sequence_counts_as_deviation(sandbox, name, observed):
    found = lossless(measure(sandbox, name, drawn(3, 1, "equal"), FAULTS))
    assert found.verdict == "refuted"
    assert found.witness.expected == "0"
    if name != "too_many_tokens":
        assert found.witness.observed == observed


@pytest.mark.parametrize("name", ["reseeds_random", "reseeds_numpy", "seeded_generator_in_the_call"])
def test_random_numbers_that_are_the_same_in_every_call_are_no_chance(sandbox, name):
    found = measure(sandbox, name, drawn(3, 1, "generic"), FAULTS)
    assert lossless(found).verdict == "refuted"
    assert set(map(len, found.blocks.values())) == {1}
