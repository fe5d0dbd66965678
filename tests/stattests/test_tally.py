"""Counts that do not grow with the samples: numbered outcomes, strange ones by kind, the same in any order."""

from itertools import product

import pytest

from draftproof.stattests.campaign.tally import Outcomes, Tally, tally_from

OUTCOMES = Outcomes(3, 3)


def test_every_allowed_sequence_has_a_number_of_its_own_and_comes_back_from_it():
    sequences = [s for length in (1, 2, 3) for s in product(range(3), repeat=length)]
    assert [OUTCOMES.index_of(s) for s in sequences] == list(range(OUTCOMES.size))
    assert [OUTCOMES.tokens(k) for k in range(OUTCOMES.size)] == sequences


@pytest.mark.parametrize("tokens", [(), (3,), (-1, 0), (0, 0, 0, 0)])
def test_what_no_verifier_may_emit_has_no_number(tokens):
    with pytest.raises(ValueError, match=r"is not 1 to 3 tokens of 0\.\.2"):
        OUTCOMES.index_of(tokens)


def counted(*outcomes):
    tally = Tally(OUTCOMES)
    for outcome in outcomes:
        tally.count(outcome)
    return tally


SEEN = [(0,), (1, 2), (0,), (7, 0), (9,), (0, 0, 0, 0), "ValueError: b", "ValueError: a", "OSError: c"]


def test_counts_do_not_depend_on_the_order_of_counting_or_of_adding_up():
    forwards = counted(*SEEN)
    backwards = Tally(OUTCOMES)
    for outcome in reversed(SEEN):
        backwards = backwards + counted(outcome)
    assert forwards == backwards
    assert forwards.digest() == backwards.digest()
    assert forwards != counted(*SEEN[1:]), "the planted difference: one sample less"
    assert forwards.digest() != counted(*SEEN[1:]).digest()


def test_strange_outcomes_are_counted_by_kind_with_one_example():
    tally = counted(*SEEN)
    assert tally.n == 9
    assert dict(tally.items()) == {(0,): 2, (1, 2): 1}
    assert {kind: tuple(seen) for kind, seen in tally.strange.items()} == {
        "token outside the vocabulary": (2, "7,0"),
        "too many tokens": (1, "0,0,0,0"),
        "ValueError": (2, "a"),
        "OSError": (1, "c"),
    }
    assert tally.failures == 3


@pytest.mark.parametrize("data", [{"counts": [[39, 1]], "strange": {}}, {"counts": [[0, -1]], "strange": {}}])
def test_counts_of_other_outcomes_are_refused(data):
    with pytest.raises(ValueError, match="is not of these counts"):
        tally_from(data, OUTCOMES)
