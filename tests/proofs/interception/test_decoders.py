"""Decoders called with one seed: what is fresh randomness, and what differs from call to call."""

from pathlib import Path

import pytest

from draftproof.proofs.child_process import ChildProcess
from draftproof.proofs.laws.text_laws import UNSTEADY, UNWRITTEN, text_law_from
from draftproof.proofs.time_limits import TimeLimits

SUBJECTS = Path(__file__).parents[2] / "subjects" / "seeded_decoders.py"

pytestmark = pytest.mark.engine


def laws(name, requests):
    child = ChildProcess("draftproof.proofs.interception.decoders", memory=4, limits=TimeLimits(60))
    try:
        child.send(sample=f"{SUBJECTS}:{name}", torch=False, packages=[])
        child.receive()
        for settings in requests:
            child.send(target=None, draft=None, start=2, tokens=2, gamma=1, settings=settings)
            yield text_law_from(child.receive())
    finally:
        child.end()


def law(name, **settings):
    [found] = laws(name, [settings])
    return found


def test_a_generator_made_from_the_seed_of_the_call_is_chance():
    assert law("one_generator").masses == {(0, 0): 9 / 16, (0, 1): 3 / 16, (1, 0): 3 / 16, (1, 1): 1 / 16}
    found = law("global_generator")
    assert found.masses == {(0,): 0.75, (1,): 0.25} and not found.findings


@pytest.mark.parametrize(
    ("name", "why"),
    [("two_alike", "as another generator was: both have the same random numbers"),
     ("reseeds", "and not with the seed that the call was given"),
     ("drops_the_last_bit", "and not with the seed that the call was given"),
     ("keeps_the_last_bit", "and not with the seed that the call was given")],
)  # fmt: skip
def test_two_generators_of_one_seed_and_other_seeds_are_no_chance(name, why):
    found = law(name)
    assert found.masses is None and why in found.reason and "seeded_decoders.py" in found.reason


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [("minds_its_seed", {}, "it returned different results"),
     ("floats", {}, "returned 0.7 among the tokens"),
     ("text", {}, "returned text"),
     ("no_logprobs", {"logprobs": True}, "it reports no logprobs"),
     ("one_of_two", {"n": 2}, "it yields 1 outputs for 2 requests")],
)  # fmt: skip
def test_what_a_decoder_does_with_its_seed_and_yields_in_place_of_tokens_is_no_law(name, settings, why):
    found = law(name, **settings)
    assert found.masses is None and why in found.reason


def test_numbers_hashed_from_the_seed_make_no_law_though_few_calls_agree():
    for likely in (192, 240):
        found = [*laws("hashed", [{"salt": salt, "likely": likely} for salt in range(12)])]
        assert [one.masses for one in found] == [None] * 12
    assert any("which its random numbers that are followed never give" in one.reason for one in found)


def test_an_output_of_a_real_call_that_no_followed_number_gives_withdraws_the_law():
    found = law("of_one_seed")
    assert found.masses is None and found.reason.startswith("with seed 7 it returned (2,), which")


@pytest.mark.parametrize(("name", "kept"), [("wrong_after_many_calls", "CALLS"), ("counts_next_to_a_lock", "ENGINE")])
def test_a_decoder_that_counts_its_calls_has_a_law_that_shows_nothing_holds(name, kept):
    found = law(name)
    assert found.masses == {(0,): 0.75, (1,): 0.25} and not found.known
    assert found.why_unknown.startswith("it keeps what changes with every call:") and kept in found.keeps


def test_memory_that_was_never_written_is_a_finding_with_the_values_seen():
    found = law("unwritten")
    assert found.masses is None
    assert "with memory that was never written: with seed 0 (0, 1); (0, 0)" in found.findings[UNWRITTEN]
    found = law("counts")
    assert found.masses is None and "from call to call: with seed 0 (1,); (0,)" in found.findings[UNSTEADY]
