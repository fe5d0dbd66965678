"""Styles without a mechanism of their own: small problems decide them where every comparison is seen, no wide one."""

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.wide import wide
from draftproof.proofs.audit_claims import lossless, optimal
from draftproof.proofs.interception.answers import SLOW
from draftproof.proofs.interception.called_ids import INSIDE, MISSED_INSIDE
from draftproof.proofs.interception.wide_laws import BUDGET
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.laws.wide_measurement import measured_wide
from draftproof.proofs.sandbox import Sandbox
from draftproof.proofs.time_limits import ProcessorTime
from draftproof.tests.deceivers import ids
from draftproof.tests.proofs.interception.one_call import wide_law
from draftproof.tests.subjects import not_followed
from draftproof.tests.subjects import wide as subjects

pytestmark = pytest.mark.interception
SMALL, WIDE = drawn(3, 1, "generic"), wide(1103, 1)
SOON = BUDGET / 6
SUBJECTS, STYLES = subjects.__name__, not_followed.__name__


@pytest.mark.parametrize("name", not_followed.SAID)
def test_what_is_said_of_each_style(sandbox, name):
    """A wrong verifier of them never holds on the problem that shows it, and no law is given up late."""
    small, large = not_followed.SAID[name]
    sandbox.load(f"{STYLES}:{name}", [SMALL])
    law = measured(SMALL, "float64", sandbox.law(SMALL))
    assert lossless(law).verdict == small, law.reason
    spent = ProcessorTime(1e6)
    law = wide_law(sandbox, f"{STYLES}:{name}", WIDE)
    assert (lossless(law).verdict, law.known) == (large, large != not_followed.NO_LAW), law.reason
    assert not law.known or law.exactness == "by-calls"
    assert spent.spent() < SOON


def test_of_a_draw_by_chunk_and_token_the_law_is_allowed_what_its_calls_may_have_missed(sandbox):
    law = wide_law(sandbox, f"{STYLES}:two_levels", wide(32_000, 1))
    evidence = lossless(law)
    assert evidence.holds and evidence.bound > law.missed == pytest.approx(MISSED_INSIDE)
    assert evidence.detail.by_calls.confirmations == INSIDE and law.not_called > 0.5


def test_a_token_of_a_chunk_behind_which_more_numbers_are_drawn_leaves_the_law_open(sandbox):
    """Every token of pairs is called, so that nothing else is unknown."""
    law = wide_law(sandbox, f"{STYLES}:pairs_and_a_number_that_decides_nothing", wide(1003, 1))
    assert (lossless(law).verdict, law.known) == ("no-evidence", False)


def test_drafts_that_its_calls_may_have_missed_the_loss_of_are_in_the_bound_on_accepted_tokens_too(sandbox):
    law = wide_law(sandbox, f"{STYLES}:two_levels_that_drop_a_draft", wide(5003, 1))
    evidence = optimal(law)
    assert evidence.holds and evidence.bound > law.missed == pytest.approx(MISSED_INSIDE)


@pytest.mark.parametrize(("vocabulary", "moved"), [(1003, 0.0328), (32_000, 0.000713)])
def test_a_chunk_in_the_middle_whose_last_token_comes_out_as_another_is_refuted(sandbox, vocabulary, moved):
    law = wide_law(sandbox, f"{ids.__name__}:middle_parts_one_too_low", wide(vocabulary, 1))
    assert lossless(law).refuted and moved / 10 < law.total_variation < moved and not law.known


@pytest.mark.parametrize("vocabulary", [1003, 32_000])
def test_a_uniform_that_decides_again_within_what_leads_to_a_token_is_never_cleared(sandbox, vocabulary):
    law = wide_law(sandbox, f"{SUBJECTS}:by_search_and_again_within", wide(vocabulary, 1))
    assert law.lossless.refutes or not law.known


@pytest.mark.parametrize("name", ["wrong_at_an_end", "wrong_at_an_end_but_on_one_token"])
def test_what_an_end_of_a_path_changes_is_seen_with_whichever_token_is_drawn_there(sandbox, name):
    """Whether a number is a plain float is not what its law is of: the exact route has to withdraw it."""
    law = wide_law(sandbox, f"{SUBJECTS}:{name}", wide(32_000, 1))
    assert not law.known and not law.lossless.refutes, law.reason
    assert wide_law(sandbox, f"{SUBJECTS}:right_at_the_ends", wide(32_000, 1)).known


def test_a_hopeless_search_ends_early(sandbox):
    spent = ProcessorTime(1e6)
    law = wide_law(sandbox, f"{SUBJECTS}:by_accumulated_edges", wide(32_000, 1))
    assert law.out_of_scope and "likeliest paths" in law.reason
    assert spent.spent() < BUDGET


@pytest.mark.long
def test_a_call_that_is_slow_when_it_is_followed_is_not_decided_and_one_without_end_is_a_fault():
    with Sandbox(f"{SUBJECTS}:slow_where_followed", timeout=3) as sandbox:
        sandbox.start([toy(1)])
        law = measured_wide(wide(127, 1), "float64", sandbox.law(wide(127, 1)))
        assert not law.out_of_scope and law.reason.startswith(SLOW) and not law.findings
    with Sandbox(f"{SUBJECTS}:endless_where_wide", timeout=1) as sandbox:
        sandbox.start([toy(1)])
        law = measured_wide(wide(127, 1), "float64", sandbox.law(wide(127, 1)))
        assert "never-returned" in law.findings and not law.out_of_scope and not law.known
