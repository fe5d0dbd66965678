"""What is remembered of one subject is of no other: two in one process, in both orders, have the same answers."""

import json

import pytest

from draftproof.models.battery import toy
from draftproof.proofs.interception.exploration import Exploration
from draftproof.proofs.interception.tracer import Tracer, active, in_force
from draftproof.proofs.sandbox import Sandbox
from draftproof.tests.proofs.interception.children import OneForAll

PROBLEM = toy(1)
SOURCE = """
def _level(rng):
    return int(rng.integers(60))

def by_parity(target_probs, draft_probs, draft_tokens, rng):
    return [(int(rng.integers(33)) + int(rng.integers(33))) % 2]

def by_level(target_probs, draft_probs, draft_tokens, rng):
    return [int(_level(rng) < 20)]

def rejects(target_probs, draft_probs, draft_tokens, rng):
    while True:
        token = int(rng.random() * 2)
        if rng.random() < target_probs[0][token]:
            return [token]
"""
NAMES = ("by_parity", "by_level", "rejects")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("subjects") / "loops.py"
    file.write_text(SOURCE)
    return file


def _answers(box, file, names):
    """Everything that a child says of each subject, as bytes."""
    answers = {}
    for name in names:
        loaded = box.load(f"{file}:{name}", [PROBLEM])
        laws = [*box.law(PROBLEM, walks=True), *box.law(PROBLEM)]  # with its walks each path has all replays
        said = [loaded, *laws, box.surroundings(), box.calls]
        answers[name] = json.dumps(said).encode()
        box.calls = 0
    return answers


def _in_orders(kind, file):
    found = []
    for names in (NAMES, NAMES[::-1]):
        with kind("") as box:
            found.append(_answers(box, file, names))
    return found


def test_two_subjects_in_one_process_have_the_same_bytes_in_both_orders(file):
    few = file.with_name("few.py")
    few.write_text(SOURCE.replace("33", "9"))
    found = _in_orders(Sandbox, few)
    for name in NAMES:
        assert len({answers[name] for answers in found if name in answers}) == 1, name


@pytest.mark.long
def test_a_memory_that_subjects_share_is_noticed(file):
    found = _in_orders(OneForAll, file)
    unlike = [name for name in NAMES if len({answers[name] for answers in found if name in answers}) > 1]
    assert "rejects" in unlike, "after the thousand paths of by_parity it is replayed less often"


def test_one_call_is_followed_at_a_time_and_none_after_it():
    one, other = Tracer(Exploration()), Tracer(Exploration())
    with pytest.raises(KeyError), in_force(one):
        assert active() is one
        with pytest.raises(RuntimeError, match="followed already"), in_force(other):
            pass
        assert active() is one
        raise KeyError
    assert active() is None
