"""Outcomes of calls between the child process and its parent."""

import json

import pytest

from draftproof.proofs.interception.outcomes import Raised, decoded, encoded

pytestmark = pytest.mark.interception


@pytest.mark.parametrize(
    ("outcome", "known_as"),
    [
        ((0,), (0,)),
        ((3, -1, 2**63 - 1), (3, -1, 2**63 - 1)),
        ([1, 2], (1, 2)),
        (Raised("ValueError", "p: negative"), "ValueError: p: negative"),
        (Raised("KeyError", ""), "KeyError: "),
    ],
)
def test_an_outcome_arrives_as_it_was_sent(outcome, known_as):
    assert decoded(json.loads(json.dumps(encoded(outcome)))) == known_as
    assert known_as == (str(outcome) if isinstance(outcome, Raised) else tuple(outcome))


@pytest.mark.parametrize("data", [None, 3, {}, {"error": "ValueError"}, {"error": "a", "message": "b", "more": "c"}])
def test_what_is_no_outcome_is_refused(data):
    with pytest.raises(TypeError):
        decoded(data)
