"""Judges of the claims of 2025 and 2026, as in ``literature_claims``."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from draftproof.corpus.literature import any_order, lossy, recent, watermarks
from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import (
    HOLDS,
    ONE_STEP,
    PATHS,
    TWO_STEPS,
    ClaimJudgement,
    Measure,
    accepted,
    at_least,
    lossless,
    opposite,
    same_law,
)
from draftproof.corpus.literature.strangers import exponential_races, spectr_gbv
from draftproof.corpus.literature.strangers import greedy_multi_path as in_its_order
from draftproof.models.battery import toy
from draftproof.models.declared import DeclaredLaw
from draftproof.models.tree_battery import drawing, tree_battery
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.proofs.laws.tree_laws import enumerated_tree_law
from draftproof.verifiers.trees.draft_tree import HUB, IID, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.registry import TreeReference, tree_reference

WITHOUT = WITHOUT_REPLACEMENT
SMALL = lattice_pairs(2, 2, 3)
"""Pairs over two tokens, two steps: for what takes a linear program each."""

HALF = DeclaredLaw(mixture="1/2")
PAIRS = [toy(2), *lattice_pairs(2, 2, 3)]
"""The same, the example first."""


TREES = [drawing(pair, 2, 1) for pair in (toy(2), *SMALL[:40])]


def _as_drawn(name: str) -> Measure:
    return lambda problem: expected_accepted(output_law(in_field(problem), tree_reference(name)))


def coded(rule: TreeReference, drafts: int) -> ClaimJudgement:
    """Return whether a rule after public code keeps the law of one step."""
    return lossless(rule, [drawing(pair, drafts) for pair in ONE_STEP])


def as_ordered(rule: TreeReference, how: str = IID) -> Measure:
    """E[tau] of two drafts of one token, by enumeration."""
    return lambda pair: expected_accepted(enumerated_tree_law(in_field(drawing(pair, 2, how=how)), rule.verify))


IN_RACE = as_ordered(exponential_races.RULE, WITHOUT)
FOUR_TOKENS = lattice_pairs(4, 1, 3)
_SAME = [pair for pair in lattice_pairs(3, 2, 5) if pair.target == pair.draft]
THREE_TOKENS = [replace(one, draft=other.draft) for one in _SAME for other in _SAME]
"""All pairs of rows of three tokens with denominators up to 5, two steps."""


def _both(*judgements: ClaimJudgement) -> ClaimJudgement:
    """The first that is refuted, or what all of them are on."""
    refuted = [j for j in judgements if j.verdict != HOLDS]
    return refuted[0] if refuted else ClaimJudgement(HOLDS, "; ".join(j.on for j in judgements))


RECENT: dict[str, Callable[[], ClaimJudgement]] = {
    "resolution-truncated": partial(recent.truncated_is_lossless, 3),
    "resolution-deviation": recent.deviation_falls,
    "overfull-is-the-cut": lambda: _both(recent.overfull_set_is_the_cut(2), recent.overfull_set_is_the_cut(3)),
    "choosing-first": lambda: _both(recent.choosing_first_is_no_loss(2), recent.choosing_first_is_no_loss(3)),
    "optimal-steps-of-a-tree": lambda: recent.reaches_the_bound(_as_drawn("optimal-transport"), TREES),
    "matching-lemma-2": lambda: recent.matches_enough(2),
    "matching-lemma-3": lambda: recent.matches_enough(3),
    "same-token": lambda: recent.same_text_whichever_drafter(1, False),
    "same-two-tokens": lambda: recent.same_text_whichever_drafter(2, False),
    "same-two-tokens-all-noise": lambda: recent.same_text_whichever_drafter(2, True),
    "scaled-transport-on-two-paths": lambda: recent.reaches_the_bound(_as_drawn("scaled-transport"), TREES),
    "scaled-transport-on-three-paths": lambda: recent.reaches_the_bound(
        _as_drawn("scaled-transport"), [drawing(toy(2), 3, 1)]
    ),
    "scaled-transport-against-traversal": lambda: at_least(
        [*TWO_STEPS, *THREE_TOKENS], accepted("scaled-transport", 2, 1), accepted("traversal", 2, 1), (2, 1)
    ),
    "spec-hub-lossless": lambda: lossless(
        tree_reference("spec-hub"),
        [p for p in (*tree_battery(), *(drawing(pair, 2, how=HUB) for pair in ONE_STEP)) if p.tree.how == HUB],
    ),
    "blocks-without-modification": lambda: recent.coupling_is_valid_in_the_plain_loop([toy(2), *SMALL[:20]], 2),
    "blocks-of-one-token": lambda: recent.coupling_is_valid_in_the_plain_loop([toy(1), *lattice_pairs(2, 1, 4)], 2),
    "blocks-gain-by-drafts": lambda: recent.coupling_gains_by_drafts(SMALL, 3),
    "spectr-gbv-one-draft": lambda: coded(spectr_gbv.RULE, 1),
    "spectr-gbv-two-drafts": lambda: coded(spectr_gbv.RULE, 2),
    "spectr-gbv-two-tokens": lambda: lossless(spectr_gbv.RULE, [drawing(pair, 1, 1) for pair in PAIRS]),
    "spectr-gbv-terms": lambda: at_least(ONE_STEP, recent.each_draft_apart, accepted("optimal-transport", 2), (2,)),
    "capped-order-lossless": lambda: lossless(in_its_order.IN_ITS_ORDER, [p for p in tree_battery() if p.tree.paths]),
    "capped-order-as-coded": lambda: coded(in_its_order.RULE, 2),
    "capped-order-against-ratio": lambda: at_least(
        ONE_STEP, as_ordered(in_its_order.IN_ITS_ORDER), accepted("greedy-multi-path", 2), (2,)
    ),
    "capped-order-against-block": lambda: at_least(
        ONE_STEP, as_ordered(in_its_order.IN_ITS_ORDER), accepted("block"), (2,)
    ),
    "races-lossless": lambda: lossless(
        exponential_races.RULE,
        [
            *(p for p in tree_battery() if p.tree.how == WITHOUT),
            *(drawing(pair, 3, how=WITHOUT) for pair in FOUR_TOKENS),
        ],
    ),
    "races-of-one": lambda: same_law(exponential_races.RULE, "shared-gumbel", PATHS),
    "races-against-without-replacement": lambda: at_least(
        [*ONE_STEP, *FOUR_TOKENS], IN_RACE, accepted("without-replacement", 2, how=WITHOUT), (2,), WITHOUT
    ),
    "races-against-all": lambda: at_least(
        ONE_STEP, IN_RACE, accepted("optimal-transport", 2, how=WITHOUT), (2,), WITHOUT
    ),
    "best-first-mass": partial(recent.best_first_has_the_most_mass, False),
    "best-first-acceptance": partial(recent.best_first_has_the_most_mass, True),
    "best-first-lossless": recent.best_first_is_lossless,
    "any-order-lossless": any_order.any_order_is_the_joint_law,
    "any-order-calls": lambda: any_order.any_order_needs_few_calls(2),
    "any-order-calls-of-one-place": lambda: any_order.any_order_needs_few_calls(1),
    "any-order-any-order": any_order.every_order_has_one_law,
    "mask-set-to-0": partial(any_order.mask_taken_out, False),
    "mask-set-to-0-normalised": partial(any_order.mask_taken_out, True),
    "cascades": lambda: lossy.keeps_what_is_asked(("token", "block"), lossy.CASCADES, PAIRS),
    "ensemble-drafted-token": lambda: lossless(tree_reference("ensemble"), [replace(pair, law=HALF) for pair in PAIRS]),
    "ensemble-variation": lossy.ensemble_variation,
    "ensemble-text": lossy.ensemble_text_is_the_mixture,
    "masked-rows": lambda: lossy.keeps_what_is_asked(("token", "block"), lossy.MASKS, PAIRS),
    "masked-text-is-not-conditional": lambda: opposite(lossy.masked_text_is_conditional(PAIRS), "the two laws differ:"),
    "entropy-adaptive-lossless": lambda: lossless(tree_reference("entropy-adaptive"), ONE_STEP),
    "entropy-adaptive-variation": lossy.entropy_adaptive_variation,
    "cactus-rows": lambda: lossy.raised_rows_stay_near(0.1),
    "cactus-law": lambda: lossy.law_stays_near(0.1),
    "judge-lossless": lambda: lossless(tree_reference("judge"), ONE_STEP),
    "judge-variation": lossy.judge_variation,
    "typical-law": lossy.typical_is_kept_or_sampled,
    "top-n-law": lossy.top_n_is_kept_or_sampled,
    "missed-only-far-1": lambda: lossy.missed_only_far_from_the_target(1),
    "missed-only-far-2": lambda: lossy.missed_only_far_from_the_target(2),
    "no-go-3": lambda: watermarks.no_key_space_has_both(3),
    "no-go-2": lambda: watermarks.no_key_space_has_both(2),
    "pseudorandom-lossless": lambda: watermarks.lossless_over_keys(True),
    "pseudorandom-decided": lambda: watermarks.decided_by_the_key(True),
    "pseudorandom-acceptance": watermarks.accepts_as_without_keys,
    "one-generator": watermarks.one_generator_for_coin_and_replacement,
    "vllm-two-keys": lambda: watermarks.lossless_over_keys(False),
    "vllm-decided": lambda: watermarks.decided_by_the_key(False),
    "vllm-one-key": watermarks.one_key_for_both,
    "vllm-repeated-contexts": lambda: watermarks.texts_are_the_targets(False),
    "vllm-single-turn": lambda: watermarks.texts_are_the_targets(True),
    "vllm-two-answers": watermarks.two_answers_are_independent,
}
"""The judges by the names that ``claims.json`` has for them."""
