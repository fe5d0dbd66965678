"""What an end-to-end run is asked for; needs no torch."""

import shlex

import pytest

from draftproof.models.errors import InputError
from draftproof.reports.audits.loops.options import LoopOptions


def test_the_replay_command_says_what_is_not_the_usual():
    options = LoopOptions(
        "a b", "c", gamma="8", verifier="token", temperature=0.0, top_k=3, seed=7, eos=0, loop="a.py:Loop"
    )
    assert shlex.split(options.command()) == [
        *("draftproof", "e2e", "--target", "a b", "--draft", "c", "--verifier", "token", "--gamma", "8"),
        *("--temperature", "0.0", "--top-k", "3", "--eos", "0", "--seed", "7", "--loop", "a.py:Loop"),
    ]
    assert LoopOptions(preset="trained").command() == "draftproof e2e --preset trained --gamma 4"


@pytest.mark.parametrize("options", [{"target": "a"}, {}, {"target": "a", "draft": "b", "preset": "gpt2"}])
def test_a_pair_is_named_in_one_of_two_ways(options):
    with pytest.raises(InputError, match="a pair is needed: --target and --draft, or --preset"):
        LoopOptions(**options)


def test_adaptive_gamma_may_have_a_given_cost():
    assert LoopOptions("a", "b", gamma="adaptive").draft_length().cost is None
    assert LoopOptions("a", "b", gamma="adaptive:0.25").draft_length().cost == 0.25
    assert LoopOptions("a", "b", gamma="6").draft_length() == 6
    for gamma, message in (
        ("two", "gamma 'two': expected a whole number of at least 1, adaptive, or adaptive:C"),
        ("adaptive:0", "adaptive gamma: cost 0.0, expected a positive number or none"),
    ):
        with pytest.raises(InputError, match=message):
            LoopOptions("a", "b", gamma=gamma).settings()
