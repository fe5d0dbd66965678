"""What is asked of the surroundings during a call, and what is kept between calls: each seen; right verifiers do
neither."""

import pytest

from draftproof.models.battery import drawn
from draftproof.proofs.interception.outcomes import decoded_walk
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.choices import long_unless
from draftproof.tests.subjects import stateful
from draftproof.verifiers.zoo.catalogue import CONTROLS

PROBLEM = drawn(2, 1, "generic")
KEPT = {
    "count_in_a_class": "Counting.calls", "count_in_an_object": "_COUNTING", "count_in_a_default": "defaults",
    "count_in_an_attribute": "calls", "count_in_a_counter": "CALLS", "after_a_million_calls": "calls",
    "count_of_an_iterator": "NUMBERS", "ring_of_three": "CALLED_AT", "count_of_one_token": "LAST",
    "count_in_another_module": "draws.rejected", "count_next_to_a_lock": "LOCKED",
}  # fmt: skip


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox("") as sandbox:
        yield sandbox


def _calls(sandbox, name):
    """Load a subject; what it is called with on every path."""
    sandbox.load(f"{stateful.__file__}:{name}" if ":" not in name else name, [PROBLEM])
    answers = [a for a in sandbox.law(PROBLEM, walks=True) if "walks" in a]
    assert all(a["law"] for a in answers)
    return [(a["block"], decoded_walk(w)) for a in answers for w in a["walks"]]


@pytest.mark.parametrize("name", stateful.SEEN_ONLY)
def test_what_a_call_asks_of_its_surroundings_is_seen(sandbox, name):
    _calls(sandbox, name)
    reads = sandbox.surroundings()["reads"]
    assert reads, name
    assert all(read["place"].startswith("stateful.py:") for read in reads)


def test_what_is_not_noted_is_shown_by_moved_surroundings_or_named_as_a_blind_spot(sandbox):
    with Sandbox(f"{stateful.__file__}:{stateful.MOVED[0]}", elsewhere={}) as there:
        there.start([PROBLEM])
        for name in stateful.MOVED:
            calls = [(0, block, walk) for block, walk in _calls(sandbox, name)]
            assert not sandbox.surroundings()["reads"], name
            there.load(f"{stateful.__file__}:{name}", [PROBLEM])
            assert [w.shown for w in there.again([PROBLEM], calls)] != [walk.shown for *_, walk in calls], name
    for name in stateful.UNSEEN:
        _calls(sandbox, name)
        assert not sandbox.surroundings()["reads"], name


OFTEN = {"count_in_a_class", "after_a_million_calls", "ring_of_three", "count_next_to_a_lock"}


@pytest.mark.parametrize("name", long_unless(KEPT, OFTEN))
def test_what_changes_with_every_repetition_of_a_call_is_named(sandbox, name):
    calls = _calls(sandbox, name)
    kept = sandbox.kept(PROBLEM, calls, len(calls))
    assert any(KEPT[name] in one for one in kept), kept


@pytest.mark.parametrize("name", [*stateful.QUIET, CONTROLS["C02"].target])
def test_caches_that_settle_logging_and_controls_are_not_blamed(sandbox, name):
    calls = _calls(sandbox, name)
    about = sandbox.surroundings()
    assert (about["reads"], sandbox.kept(PROBLEM, calls, len(calls))) == ([], [])
    assert about["calls"] > 20
