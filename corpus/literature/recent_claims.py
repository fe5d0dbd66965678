"""The claims of 2025 and 2026, as in ``literature_claims``: what each paper or code says, and its judge."""

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
    LiteratureClaim,
    Measure,
    accepted,
    at_least,
    first_rate,
    lossless,
    lossless_where_meant,
    opposite,
    same_law,
    transport,
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

SOLVER = 0.003
"""What the solver of Global Resolution loses at most of an acceptance in 100 sweeps, on these pairs."""

RESOLUTION = "Thomas and Pal 2025 (Global Resolution, 2511.15898; abstract, the shares derived here)"
LISTS = "Rowan et al. 2025 (list matching, 2506.05632; abstract, its lemma derived here)"
UNIVER = "scaled transport (derived here from the abstract of UniVer, Weng et al. 2026, 2605.04543)"
OURS = "scaled transport (orderings examined here)"
SPEC_HUB = "Sun et al. 2024 (SpecHub, 2411.05289; code at b67e1213)"
BLOCKS = "Lin et al. 2026 (SpecTr-GBV, 2604.25925; abstract)"
BLOCKS_CODE = "Lin et al. 2026 (SpecTr-GBV; junemily/SpecTr-GBV at e399f446)"
GREEDY = "Thomas and Pal 2026 (greedy multi-path; a copy of the submission's code at b3dc0a7a)"
RACES = "Kobus and Gunduz 2025 (exponential races, ERSD 2504.15475; abstract, the rule derived here)"
TREES = "Ringel and Romano 2026 (DDTree, 2604.12989; liranringel/ddtree at c96427a1; the same in mlx-vlm at 33612265)"
SUBSETS = "Guo and Ermon 2025 (any-subset decoding, 2504.20456; code at 056f3882)"


CASCADE = "Narasimhan et al. 2024 (speculative cascades; from memory)"
ENSEMBLE = "DIVERSED (2604.07622), transformers (static ensemble, w = 1/2)"
GRAMMAR = "arXiv 2605.07698 (grammars; abstract)"
EARS = "vllm#31483, vllm-ascend#7845 (EARS, tolerance 0.3; as described there)"
CACTUS = "Hao and Mou 2026 (Cactus, 2604.04987; code at 3b01b816)"
JUDGE = "Bachmann et al. 2025 (Judge Decoding), abstract"
KEPT = "Cai et al. 2024; TensorRT-LLM (one draft; the form is ours)"
ACCEPTANCE = "Sharma 2026 (2606.30265; abstract, the form derived here)"
NO_GO = "Hu and Huang 2024 (2410.20418; abstract)"
PSEUDORANDOM_CODE = "He et al. 2026 (hwq0726/watermark-tradeoff at 81bc45a3, real/accuwm/utils.py)"
PSEUDORANDOM = "He et al. 2026 (2602.01428; abstract, picks by the inverse distribution function)"
VLLM = "vLLM (watermarking at 01c268bc, of PR 56122; code of gumbel.py and spec_decode.py; the scheme, not its kernels)"

PAIR_WITH_A_HUB = first_rate("spec-hub", 2, HUB)
SYMMETRIC = "the tokens preferred are those of which the drafts have too little; no order helps on that witness"
SHARP = "the target has much of the hub: where it has little, one of the two drafts is spent on it"


def _scaled(*children: int, how: str = "iid"):
    return accepted("scaled-transport", *children, how=how)


def _univer_against(name: str, *children: int, how: str = "iid") -> ClaimJudgement:
    return at_least(TWO_STEPS, _scaled(*children, how=how), accepted(name, *children, how=how), children, how)


def _as_drawn(name: str) -> Measure:
    return lambda problem: expected_accepted(output_law(in_field(problem), tree_reference(name)))


def _trees_of(*children: int, how: str = "iid"):
    return [drawing(pair, *children, how=how) for pair in (toy(2), *SMALL[:40])]


def coded(rule: TreeReference, drafts: int) -> ClaimJudgement:
    """Return whether a rule after public code keeps the law of one step."""
    return lossless(rule, [drawing(pair, drafts) for pair in ONE_STEP])


def as_ordered(rule: TreeReference, how: str = IID) -> Measure:
    """E[tau] of two drafts of one token, by enumeration."""
    return lambda pair: expected_accepted(enumerated_tree_law(in_field(drawing(pair, 2, how=how)), rule.verify))


IN_RACE = as_ordered(exponential_races.RULE, WITHOUT)
FOUR_TOKENS = lattice_pairs(4, 1, 3)


def _hub_trees():
    return [problem for problem in tree_battery() if problem.tree.how == HUB]


def _both(*judgements: ClaimJudgement) -> ClaimJudgement:
    """The first that is refuted, or what all of them are on."""
    refuted = [j for j in judgements if j.verdict != HOLDS]
    return refuted[0] if refuted else ClaimJudgement(HOLDS, "; ".join(j.on for j in judgements))


_RULES = [
    (RESOLUTION, "the shares, capped by the target, keep its law", lossless_where_meant("global-resolution")),
    (RESOLUTION, "(asked here) the shares as our solver left them keep the target's law (3 sweeps)",
     partial(recent.truncated_is_lossless, 3),
     "shares are scaled down to what the target has of a token: then a solver that stops early costs acceptances"),
    (RESOLUTION, "the deviation becomes as small as is asked for (by our solver)", recent.deviation_falls),
    (RESOLUTION, "with two drafts it accepts as often as any rule, to 0.003 after 100 sweeps of our solver",
     lambda: at_least(ONE_STEP, first_rate("global-resolution", 2), transport(2), (2,), allowed=SOLVER)),
    (RESOLUTION, "(asked here, of our solver) the same to 1e-6",
     lambda: at_least(ONE_STEP, first_rate("global-resolution", 2), transport(2), (2,), allowed=1e-6),
     "no set H has p(H) = q(H)^n: there weights run off, and what is lost falls like 1 / sweeps"),
    (RESOLUTION, "the max-flow is the min-cut of one of V + 1 sets, those of the smallest p / q; n = 2 and 3",
     lambda: _both(recent.overfull_set_is_the_cut(2), recent.overfull_set_is_the_cut(3))),
    (RESOLUTION, "choosing a draft and then verifying it alone (Khisti et al.) loses nothing; n = 2 and 3",
     lambda: _both(recent.choosing_first_is_no_loss(2), recent.choosing_first_is_no_loss(3))),
    (RESOLUTION, "(asked here) optimal at each step is optimal for a tree",
     lambda: recent.reaches_the_bound(_as_drawn("optimal-transport"), _trees_of(2, 1)),
     "a single step"),
    (LISTS, "it keeps the target's law", lossless_where_meant("list-gumbel")),
    (LISTS, "with one draft it is the shared noise of Daliri et al.",
     lambda: same_law("list-gumbel", "shared-gumbel", PATHS)),
    (LISTS, "Pr(a draft matches) >= sum_j K / (sum_i max(q_i / q_j, p_i / p_j) + (K - 1) / p_j), K = 2",
     lambda: recent.matches_enough(2)),
    (LISTS, "the same, K = 3", lambda: recent.matches_enough(3)),
    (LISTS, "a third draft never costs acceptances",
     lambda: at_least(ONE_STEP, first_rate("list-gumbel", 3), first_rate("list-gumbel", 2), (3,))),
    (LISTS, "it accepts at least as often as SpecInfer's rule (\"competitive\", read as: never less)",
     lambda: at_least(ONE_STEP, first_rate("list-gumbel", 2), first_rate("spec-infer", 2), (2,))),
    (LISTS, "with K drafts of one token a noise gives the same token whichever drafter is used",
     lambda: recent.same_text_whichever_drafter(1, False)),
    (LISTS, "(asked here) the same for texts of two tokens", lambda: recent.same_text_whichever_drafter(2, False),
     "the target goes on with the noise of all paths, not only of those that have matched"),
    (LISTS, "the same with the noise of all paths", lambda: recent.same_text_whichever_drafter(2, True)),
    (UNIVER, "it keeps the target's law", lossless_where_meant("scaled-transport")),
    (UNIVER, "on a single path it is block verification", lambda: same_law("scaled-transport", "block", PATHS)),
    (UNIVER, "it accepts at least as much as recursive rejection without replacement (measured on averages)",
     lambda: _univer_against("without-replacement", 2, 2, how=WITHOUT)),
    (UNIVER, "it is optimal (read as: of all valid rules), two independent paths, V = 2 and small denominators",
     lambda: recent.reaches_the_bound(_as_drawn("scaled-transport"), _trees_of(2, 1))),
    (UNIVER, "(asked here) the same for three independent paths",
     lambda: recent.reaches_the_bound(_as_drawn("scaled-transport"), [drawing(toy(2), 3, 1)]),
     "the frame is one plan a level: a rule that looks ahead goes on with the siblings that have the better children"),
    (OURS, "it accepts at least as much as optimal transport step by step, without replacement",
     lambda: _univer_against("optimal-transport", 2, 2, how=WITHOUT)),
    (OURS, "the same for independent siblings", lambda: _univer_against("optimal-transport", 2, 1)),
    (OURS, "it accepts at least as much as traversal verification, independent siblings, equal ones among them",
     lambda: at_least([*TWO_STEPS, *lattice_pairs(3, 2, 5)], _scaled(2, 1), accepted("traversal", 2, 1), (2, 1))),
    (OURS, "the same without replacement", lambda: _univer_against("traversal", 2, 1, how=WITHOUT),
     "one draft of each node goes on: what a branch leaves cannot be used by the next, as traversal does"),
    (SPEC_HUB, "it keeps the target's law",
     lambda: lossless(tree_reference("spec-hub"), [*_hub_trees(), *(drawing(pair, 2, how=HUB) for pair in ONE_STEP)])),
    (SPEC_HUB, "of all rules for pairs drawn so it accepts most",
     lambda: at_least(ONE_STEP, PAIR_WITH_A_HUB, transport(2, how=HUB), (2,), HUB)),
    (SPEC_HUB, "it accepts at least as often as recursive rejection without replacement (measured on averages)",
     lambda: at_least(ONE_STEP, PAIR_WITH_A_HUB, first_rate("without-replacement", 2, WITHOUT), (2,), WITHOUT), SHARP),
    (SPEC_HUB, "as recursive rejection of two independent drafts (measured on averages)",
     lambda: at_least(ONE_STEP, PAIR_WITH_A_HUB, first_rate("spec-infer", 2), (2,)), SHARP),
    (BLOCKS, "its coupling of blocks needs no modification of the target (read as: some valid rule accepts as much)",
     lambda: recent.coupling_is_valid_in_the_plain_loop([toy(2), *SMALL[:20]], 2), "gamma = 1"),
    (BLOCKS, "the same for gamma = 1",
     lambda: recent.coupling_is_valid_in_the_plain_loop([toy(1), *lattice_pairs(2, 1, 4)], 2)),
    (BLOCKS, "the coupling's value grows with the number of drafts", lambda: recent.coupling_gains_by_drafts(SMALL, 3)),
    (BLOCKS_CODE, "one draft of one token: it keeps the target's law", lambda: coded(spectr_gbv.RULE, 1)),
    (BLOCKS_CODE, "the same for two drafts", lambda: coded(spectr_gbv.RULE, 2),
     "one draft: two alike are tried twice, and the residual is not what was left"),
    (BLOCKS_CODE, "the same for one draft of two tokens, the target not modified afterwards, as the code has it",
     lambda: lossless(spectr_gbv.RULE, [drawing(pair, 1, 1) for pair in PAIRS]),
     "the target is modified until gamma tokens have come out, as in greedy block verification"),
    (BLOCKS_CODE, "its terms add up to the optimum of a step, sum p (1 - (1 - min(q / p, 1))^K), K = 2 (\"optimal\")",
     lambda: at_least(ONE_STEP, recent.each_draft_apart, transport(2), (2,)), "one draft"),
    (GREEDY, "with the order of its code, min(p / q, 1) and ties to the larger id, it keeps the target's law",
     lambda: lossless(in_its_order.IN_ITS_ORDER, [p for p in tree_battery() if p.tree.paths])),
    (GREEDY, "so does the code, which takes the first drawn of equal ratios", lambda: coded(in_its_order.RULE, 2),
     "no two tokens have one ratio: the cap at 1 makes them equal"),
    (GREEDY, "the cap costs no acceptances against the order by p / q (asked here)",
     lambda: at_least(ONE_STEP, as_ordered(in_its_order.IN_ITS_ORDER), first_rate("greedy-multi-path", 2), (2,)),
     "at most one token is drafted less often than the target has it"),
    (GREEDY, "two paths accept more than block verification (measured on averages; read here as: never less)",
     lambda: at_least(ONE_STEP, as_ordered(in_its_order.IN_ITS_ORDER), accepted("block"), (2,)), SYMMETRIC),
    (RACES, "it keeps the target's law, the drafts being the first of one race",
     lambda: lossless(exponential_races.RULE, [*(p for p in tree_battery() if p.tree.how == WITHOUT),
                                               *(drawing(pair, 3, how=WITHOUT) for pair in FOUR_TOKENS)])),
    (RACES, "with one draft it is the shared noise of Daliri et al. (derived here)",
     lambda: same_law(exponential_races.RULE, "shared-gumbel", PATHS)),
    (RACES, "one race accepts at least as often as token verification (\"matches state-of-the-art\", read so)",
     lambda: at_least(ONE_STEP, first_rate("shared-gumbel", 1), accepted("token"))),
    (RACES, "two drafts: as often as Sequoia's rule for them (the same)",
     lambda: at_least([*ONE_STEP, *FOUR_TOKENS], IN_RACE, first_rate("without-replacement", 2, WITHOUT), (2,), WITHOUT),
     "three tokens at most: so it is on all pairs of those"),
    (RACES, "(asked here) as often as any rule for such drafts",
     lambda: at_least(ONE_STEP, IN_RACE, transport(2, how=WITHOUT), (2,), WITHOUT)),
    (TREES, "of all trees of a size the best-first tree has the most mass under the drafter's rows",
     partial(recent.best_first_has_the_most_mass, False)),
    (TREES, "(asked here) so it accepts most of all trees of its size",
     partial(recent.best_first_has_the_most_mass, True),
     "the target's rows are the drafter's"),
    (TREES, "verified by samples of the target it keeps the target's law", recent.best_first_is_lossless),
    (SUBSETS, "texts follow the model's joint law", any_order.any_order_is_the_joint_law),
    (SUBSETS, "never more calls than tokens", lambda: any_order.any_order_needs_few_calls(2)),
    (SUBSETS, "(asked here) the same for blocks of one place", lambda: any_order.any_order_needs_few_calls(1),
     "blocks of two places or more"),
    (SUBSETS, "the law does not depend on the order (read so of \"the joint distribution\")",
     any_order.every_order_has_one_law,
     "the rows are conditionals of one law of texts; a network's are not, and then each order has a law of its own"),
    (SUBSETS, "the mask token's probability may be set to 0 before rows are compared, as the code does",
     partial(any_order.mask_taken_out, False), "the rows are normalised again"),
    (SUBSETS, "the same with rows normalised again", partial(any_order.mask_taken_out, True)),
]  # fmt: skip


_LAWS = [
    (CASCADE, "token and block verification of a cascade's rows keep the cascade's law, by every rule of deferral",
     lambda: lossy.keeps_what_is_asked(("token", "block"), lossy.CASCADES, PAIRS)),
    (ENSEMBLE, "each token that a draft is verified for follows the mixture",
     lambda: lossless(tree_reference("ensemble"), [replace(pair, law=HALF) for pair in PAIRS])),
    (ENSEMBLE, "(ours) its first token is (1 - w) TV(p, q) off the target", lossy.ensemble_variation),
    (ENSEMBLE, "the whole text follows the mixture (read so of \"static ensemble verification\")",
     lossy.ensemble_text_is_the_mixture,
     "the token after a whole block is drawn from the mixture too, for which the draft's "
     "row is needed there"),
    (GRAMMAR, "masked speculative decoding has the law of masked decoding, projected row by row",
     lambda: lossy.keeps_what_is_asked(("token", "block"), lossy.MASKS, PAIRS)),
    (GRAMMAR, "that is not the target's law given that the grammar takes the text",
     lambda: opposite(lossy.masked_text_is_conditional(PAIRS), "the two laws differ:")),
    (EARS, "no accuracy regression (read as: the target's law)",
     lambda: lossless(tree_reference("entropy-adaptive"), ONE_STEP), "tolerance 0, or a target that is sure"),
    (EARS, "(ours) its first token is off by the sum over q > p of min(q - p, t q), t = tolerance (1 - max p)",
     lossy.entropy_adaptive_variation),
    (CACTUS, "each raised row is within KL delta of the target (delta 0.1)", lambda: lossy.raised_rows_stay_near(0.1),
     "to second order: delta is half the chi-square divergence"),
    (CACTUS, "so is the law of what comes out", lambda: lossy.law_stays_near(0.1), "the same"),
    (CACTUS, "it accepts at least as often as token verification",
     lambda: at_least(ONE_STEP, first_rate("cactus", 1), accepted("token"))),
    (JUDGE, "(asked here: the paper gives the guarantee up) what a judge keeps is still the target's",
     lambda: lossless(tree_reference("judge"), ONE_STEP),
     "it keeps no token that is drafted more often than the target has it"),
    (JUDGE, "(ours) its first token is off by the sum over kept x with q > p of q - p, whatever the judge",
     lossy.judge_variation),
    (KEPT, "typical acceptance has the law q(x) [x is typical] + q(the others) p(x)", lossy.typical_is_kept_or_sampled),
    (KEPT, "relaxed acceptance has that law, of the tokens among the best n", lossy.top_n_is_kept_or_sampled),
    (ACCEPTANCE, "q's likeliest token is not p's only if KL(p || q) >= p1 log(p1 / m) + p2 log(p2 / m), m their mean",
     lambda: lossy.missed_only_far_from_the_target(1)),
    (ACCEPTANCE, "the same of p's two likeliest (relaxed, top-m), m the mean of those above it and of the next",
     lambda: lossy.missed_only_far_from_the_target(2)),
]  # fmt: skip

_WATERMARKS = [
    (NO_GO, "no picks decided by key and row alone, one key for both sides, accept as often as without keys, V >= 3",
     lambda: watermarks.no_key_space_has_both(3)),
    (NO_GO, "(asked here) the same, V = 2", lambda: watermarks.no_key_space_has_both(2), "three tokens or more"),
    (PSEUDORANDOM, "with keys for draft, coin and replacement the target's law is kept over keys (lossless-over-keys)",
     lambda: watermarks.lossless_over_keys(True)),
    (PSEUDORANDOM, "a key decides the token", lambda: watermarks.decided_by_the_key(True)),
    (PSEUDORANDOM, "it accepts as often as without keys", watermarks.accepts_as_without_keys),
    (PSEUDORANDOM_CODE, "coin and replacement's Gumbel noise by generators of one seed, as in the code, keep it",
     watermarks.one_generator_for_coin_and_replacement,
     "each has a seed of its own: else the noise of token 1 is the coin"),
    (VLLM, "with two keys and a coin of the request's seed the target's law is kept over keys (picks as above)",
     lambda: watermarks.lossless_over_keys(False)),
    (VLLM, "(asked here) a key decides the token", lambda: watermarks.decided_by_the_key(False),
     "the coin has a key too (2602.01428)"),
    (VLLM, "(asked here) one key for drafts and replacements would do", watermarks.one_key_for_both,
     "two keys, as it has"),
    (VLLM, "texts follow the target over keys, contexts of one token, `deduplicate_contexts` \"none\"",
     lambda: watermarks.texts_are_the_targets(False), "a context that comes again is drawn without the watermark"),
    (VLLM, "the same with \"single_turn\", its default", lambda: watermarks.texts_are_the_targets(True)),
    (VLLM, "(asked here) two answers to one prompt are independent, by default (one key for all requests)",
     watermarks.two_answers_are_independent,
     "requests have keys of their own, or begin without the watermark, as with \"all\""),
]  # fmt: skip

RECENT = [LiteratureClaim(*claim) for claim in (*_RULES, *_LAWS, *_WATERMARKS)]
