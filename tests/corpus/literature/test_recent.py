"""The claims of 2025 and 2026: each judge rejects a planted change, and agrees with laws that are found otherwise."""

import numpy as np
import pytest

from draftproof import audit
from draftproof.corpus.literature import recent
from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED, accepted, at_least, lossless, same_law
from draftproof.corpus.literature.recent_claims import FOUR_TOKENS, IN_RACE
from draftproof.corpus.literature.strangers import exponential_races, greedy_multi_path, spectr_gbv
from draftproof.models.battery import drawn, toy
from draftproof.models.tree_battery import drawing
from draftproof.proofs import claims
from draftproof.proofs.field import QQ, in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf
from draftproof.proofs.laws.tree_laws import enumerated_tree_law, tree_law
from draftproof.verifiers.trees import global_resolution, list_gumbel, spec_hub
from draftproof.verifiers.trees.descent import Choice
from draftproof.verifiers.trees.draft_tree import HUB, TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.registry import tree_reference
from draftproof.verifiers.trees.shared_gumbel import coupled

pytestmark = pytest.mark.exact


# Global Resolution


@pytest.mark.parametrize("sweeps", [1, 3])
def test_what_the_solver_leaves_is_the_deviation_of_the_law(sweeps):
    rule = tree_reference("global-resolution-truncated")
    step = global_resolution.global_resolution_step(sweeps, capped=False)
    for pair in (toy(1), drawn(3, 1, "generic"), drawn(3, 1, "peaked")):
        exact = in_field(drawing(pair, 2))
        law = tree_law(exact, rule.with_step(step))
        assert recent.left_by_the_solver(pair, 2, sweeps) == claims.lossless(exact, law).total_variation


# List matching


def test_drafts_less_likely_than_any_number_of_the_rows_type_leave_the_target():
    """Nothing but underflow brings them: in float64 they have a law, and here NaN would be drawn from."""
    p, q = np.array([0.5, 0.5], np.float32), np.array([1e-30, 1], np.float32)
    assert list_gumbel.given_drafts(tuple(p), tuple(q), (0, 0)) == [0.5, 0.5]
    for kept in (list_gumbel.given_drafts, list_gumbel.pieces):
        kept.cache_clear()  # rows that are equal are one key, whatever their type
    assert list_gumbel.given_drafts(tuple(map(float, p)), tuple(map(float, q)), (0, 0)) == [1, 0]


@pytest.mark.parametrize(("number", "tiny"), [(np.float32, 2e-39), (np.float32, 2**-128), (np.float64, 1e-310)])
def test_a_token_that_is_too_unlikely_for_the_draft_is_left_out_of_a_race_of_floats(number, tiny):
    """The draft is token 1, surely: the target's law is its row. Two such drafts gave NaN, or the token 0 never."""
    p, q = tuple(map(number, (0.875, 0.125))), tuple(map(number, (tiny, 1)))
    for drafts in ((1,), (1, 1), (0, 1)):
        assert list(map(float, list_gumbel.given_drafts(p, q, drafts))) == pytest.approx([0.875, 0.125])
    near = tuple(map(number, (0.8928, 0.1072)))
    assert list(map(float, list_gumbel.given_drafts(near, q, (1, 1)))) == pytest.approx(list(map(float, near)))


def test_with_one_draft_the_law_is_that_of_shared_noise():
    for pair in ONE_STEP[:100]:
        p, q = recent.rows(pair)
        for x in (t for t, w in enumerate(q) if w):
            assert list_gumbel.given_drafts(p, q, (x,)) == [w / q[x] for w in coupled(tuple(p), tuple(q))[x]]


# SpecHub


def test_a_pair_whose_second_draft_is_not_looked_at_is_rejected():
    rule, pairs = tree_reference("spec-hub"), [drawing(pair, 2, how=HUB) for pair in ONE_STEP]
    assert lossless(rule, pairs).verdict == HOLDS

    def first_alone(siblings, chance):
        made = spec_hub.step(siblings, chance)
        return made if made.token == siblings.tokens[0] else Choice(siblings.tokens[0], True)

    assert lossless(rule.with_step(first_alone), pairs).verdict == REFUTED
    accepts_less = rule.with_step(lambda s, c: spec_hub.step(s, c)._replace(accepted=c.flip(QQ(1, 2))))
    reached = acceptance_ccdf(tree_law(in_field(pairs[-1]), accepts_less), 1)[1]
    assert (
        reached
        < accepted("optimal-transport", 2, how=HUB)(ONE_STEP[-1])
        == accepted("spec-hub", 2, how=HUB)(ONE_STEP[-1])
    )


# Couplings of blocks


# Best-first trees


# After public code


def test_a_race_whose_order_is_forgotten_is_rejected_and_four_tokens_refute_what_three_do_not():
    def in_reverse(siblings, chance):
        return exponential_races.step(siblings._replace(tokens=siblings.tokens[::-1]), chance)

    rule, pairs = exponential_races.RULE, [drawing(pair, 2, how=WITHOUT_REPLACEMENT) for pair in ONE_STEP]
    assert lossless(rule, pairs).verdict == HOLDS
    assert lossless(rule.with_step(in_reverse), pairs).verdict == REFUTED
    other = rule.with_step(lambda s, c: exponential_races.step(s._replace(drafts=(s.target,)), c))
    assert same_law(other, "shared-gumbel", [toy(2)]).verdict == REFUTED
    assert same_law(rule, "shared-gumbel", [toy(2)]).verdict == HOLDS
    sequoia = accepted("without-replacement", 2, how=WITHOUT_REPLACEMENT)
    assert at_least(ONE_STEP, IN_RACE, sequoia).verdict == HOLDS
    judged = at_least(FOUR_TOKENS, IN_RACE, sequoia)
    assert (judged.verdict, judged.on) == (REFUTED, "18/35 against 2/3")


def test_a_rule_after_code_is_refuted_where_it_is_wrong_and_holds_where_it_is_right():
    """SpecTr-GBV's for one draft is token verification; with the ties of its order greedy multi-path is valid."""
    one = in_field(drawing(toy(1), 1))
    assert enumerated_tree_law(one, spectr_gbv.RULE.verify) == tree_law(one, tree_reference("spec-infer"))
    pairs = [drawing(pair, 2) for pair in ONE_STEP[:60]]
    assert lossless(greedy_multi_path.IN_ITS_ORDER, pairs).verdict == HOLDS
    assert lossless(greedy_multi_path.RULE, pairs).verdict == lossless(spectr_gbv.RULE, pairs).verdict == REFUTED
    unequal = [drawing(pair, 2) for pair in ONE_STEP if pair.vocabulary == 2 and pair.target != pair.draft]
    assert lossless(greedy_multi_path.RULE, unequal).verdict == HOLDS  # one token of two has the larger ratio


@pytest.mark.parametrize(
    ("module", "problem", "verdict"),
    [
        ("exponential_races", drawing(drawn(3, 1, "generic"), 2, how=WITHOUT_REPLACEMENT), "holds"),
        ("dd_tree", drawing(drawn(2, 2, "generic"), 2, 1, how=TOP), "holds"),
        ("spectr_gbv", drawing(drawn(3, 1, "generic"), 2), "refuted"),
        ("greedy_multi_path", drawing(drawn(3, 1, "ties"), 2), "refuted"),
    ],
)
def test_a_rule_after_code_is_audited_as_the_code_of_a_stranger(module, problem, verdict):
    subject = f"draftproof.corpus.literature.strangers.{module}:verify"
    report = audit(subject, dtypes=["float64"], problems=[problem], quick=True, explain=False)
    assert report.verdict == verdict


# Any-order drafts
