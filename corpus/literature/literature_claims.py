"""The claims of ``literature``: of each paper or public thread what it says, and how it is judged."""

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import (
    JUST_ABOVE,
    ONE_STEP,
    PATHS,
    TWO_STEPS,
    ClaimJudgement,
    LiteratureClaim,
    accepted,
    agrees_enough,
    at_least,
    best_on_single_paths,
    changed,
    choice_of_a_set,
    first_rate,
    greedy_output,
    lossless,
    lossless_where_meant,
    opposite,
    rho_of_one,
    same_law,
    transport,
    two_drafts_suffice,
)
from draftproof.corpus.literature.recent_claims import RECENT
from draftproof.models.battery import toy
from draftproof.models.tree_battery import drawing
from draftproof.verifiers.trees.descent import descend
from draftproof.verifiers.trees.draft_tree import TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.lossy_steps import thresholds_step
from draftproof.verifiers.trees.registry import tree_reference

WITHOUT = WITHOUT_REPLACEMENT


def _where_drawn(name: str, how: str, *others: int) -> ClaimJudgement:
    return lossless(tree_reference(name), [drawing(pair, *others, how=how) for pair in lattice_pairs(3, 1, 4)])


def _thresholds(how: str) -> ClaimJudgement:
    rule = changed("thresholds", tree_reference("thresholds"), verify=descend(thresholds_step(10, 10)))
    return lossless(rule, [drawing(pair, 2, how=how) for pair in ONE_STEP[:80]])


def _sure_where_all_are_drafted(k: int) -> ClaimJudgement:
    wide = [pair for pair in ONE_STEP if pair.vocabulary == k and all(pair.draft.row(()))]
    return at_least(wide, first_rate("without-replacement", k, WITHOUT), lambda pair: 1, (k,), WITHOUT)


SPEC_INFER = "Miao et al. 2024 (SpecInfer)"
SPEC_TR = "Sun et al. 2023 (SpecTr)"
SEQUOIA = "Chen et al. 2024 (Sequoia); EAGLE"
TRAVERSAL = "Weng et al. 2025 (traversal verification)"
GREEDY = "Thomas and Pal 2026 (greedy multi-path)"
HSD = "Zhou et al. 2026 (hierarchical)"

NO_ORDER = (
    "the tokens preferred are those of which the drafts have too little; the witness is symmetric, so no order helps "
    "there"
)

_CLAIMS = [
    (SPEC_INFER, "multi-round rejection keeps the target's law", lossless_where_meant("spec-infer")),
    (SPEC_INFER, "naive sampling keeps the target's law", lossless_where_meant("naive")),
    (SPEC_INFER, "multi-round rejection accepts at least as often as naive sampling",
     lambda: at_least(ONE_STEP, first_rate("spec-infer", 2), first_rate("naive", 2), (2,))),
    (SEQUOIA, "recursive rejection without replacement keeps the target's law",
     lossless_where_meant("without-replacement")),
    (SEQUOIA, "the same for siblings that were drawn independently",
     lambda: _where_drawn("without-replacement", "iid", 2), "siblings are drawn without replacement"),
    (SEQUOIA, "without replacement accepts at least as often as with it",
     lambda: at_least(ONE_STEP, first_rate("without-replacement", 2, WITHOUT), first_rate("spec-infer", 2), (2,),
     WITHOUT)),
    (SEQUOIA, "with as many siblings as tokens a draft is always accepted", lambda: _sure_where_all_are_drafted(3)),
    (SPEC_TR, "k-SEQ keeps the target's law at rho >= rho*", lossless_where_meant("k-seq")),
    (SPEC_TR, "the same at rho = 1", rho_of_one, "1 - (1 - beta)^k <= rho beta, or a single draft"),
    (SPEC_TR, "k-SEQ accepts at least 1 - (1 - 1/k)^k of the optimum (1 - 1/e for many drafts), k = 2",
     lambda: at_least(ONE_STEP, lambda p: 4 * first_rate("k-seq", 2)(p), transport(2, 3), (2,), allowed=JUST_ABOVE)),
    (SPEC_TR, "the same, k = 3", lambda: at_least(ONE_STEP, lambda p: 27 * first_rate("k-seq", 3)(p), transport(3, 19),
             (3,), allowed=JUST_ABOVE)),
    (SPEC_TR, "k-SEQ accepts at least as often as SpecInfer's multi-round rejection",
     lambda: at_least(ONE_STEP, first_rate("k-seq", 2), first_rate("spec-infer", 2), (2,), allowed=JUST_ABOVE)),
    (SPEC_TR, "optimal transport keeps the target's law", lossless_where_meant("optimal-transport")),
    (SPEC_TR, "no rule for one step accepts more than optimal transport: multi-round rejection does not",
     lambda: at_least(ONE_STEP, transport(2), first_rate("spec-infer", 2), (2,))),
    ("Khisti et al. 2025", "two drafts are enough for Pr(accepted) = 1 if and only if p(H) >= q(H)^2 for every H",
     two_drafts_suffice),
    ("Hu et al. 2025", "the optimum is 1 + min over H of p(H) - q(H)^k", lambda: choice_of_a_set(2)),
    ("Hu et al. 2025", "the same", lambda: choice_of_a_set(3)),
    (TRAVERSAL, "traversal verification keeps the target's law", lossless_where_meant("traversal")),
    (TRAVERSAL, "on a single path it is block verification", lambda: same_law("traversal", "block", PATHS)),
    (TRAVERSAL, "it accepts at least as many tokens as recursive rejection, without replacement",
     lambda: at_least(TWO_STEPS, accepted("traversal", 2, 2, how=WITHOUT),
     accepted("without-replacement", 2, 2, how=WITHOUT), (2, 2), WITHOUT)),
    (TRAVERSAL, "the same for independent paths", lambda: at_least(TWO_STEPS, accepted("traversal", 2, 1),
             accepted("spec-infer", 2, 1), (2, 1)),
     "siblings are distinct: equal ones stay apart here, and recursive rejection goes on with all of them"),
    (TRAVERSAL, "two paths accept at least as many tokens as one does by block verification",
     lambda: at_least(TWO_STEPS, accepted("traversal", 2, 1), accepted("block"), (2, 1))),
    (GREEDY, "greedy multi-path block verification keeps the target's law", lossless_where_meant("greedy-multi-path")),
    (GREEDY, "it accepts more than block verification (measured on averages; read here as: never less)",
     lambda: at_least(ONE_STEP, accepted("greedy-multi-path", 2), accepted("block"), (2,)), NO_ORDER),
    (GREEDY, "a third path never costs accepted tokens (measured on averages)",
     lambda: at_least(ONE_STEP, accepted("greedy-multi-path", 3), accepted("greedy-multi-path", 2), (3,)), NO_ORDER),
    (GREEDY, "of all valid rules for a single path, off-path rows or not, block verification accepts most",
     best_on_single_paths),
    ("Hu and Huang 2024 (Tree Monte Carlo)", "it keeps the target's law", lossless_where_meant("tree-monte-carlo")),
    ("Hu and Huang 2024 (Tree Monte Carlo)", "it accepts at least as many tokens as token verification",
     lambda: at_least(TWO_STEPS, accepted("tree-monte-carlo", 1, 1), accepted("token"), (1, 1))),
    ("Sun et al. 2025; Thomas and Pal 2026",
     "Tree Monte Carlo accepts less than block verification (judged: the public code of its authors)",
     lambda: opposite(same_law("tree-monte-carlo", "block", PATHS), "Tree Monte Carlo and block verification have")),
    (HSD, "hierarchical decoding as its code has it keeps the target's law",
     lambda: lossless(tree_reference("hierarchical-as-published"), lattice_pairs(2, 2, 3)),
     "the joint ratio of the whole block is capped like those of its branches"),
    (HSD, "with the cap it keeps the target's law", lossless_where_meant("hierarchical")),
    (HSD, "it accepts more than block verification, and stays lossless",
     lambda: opposite(same_law("hierarchical", "block", PATHS), "capped, it and block verification have")),
    ("Daliri et al. 2024 (shared Gumbel noise)", "it keeps the target's law", lossless_where_meant("shared-gumbel")),
    ("Daliri et al. 2024 (shared Gumbel noise)", "the two sides agree with probability (1 - TV) / (1 + TV) at least",
     agrees_enough),
    ("EAGLE#183, EAGLE#221", "a deterministic top-k tree verified with q = 1 changes the law at temperature 1",
     lambda: opposite(lossless_where_meant("top-tokens")(),
     "a chosen token is drawn from a point mass, so q = 1 is right: lossless on")),
    ("mlx-swift-lm#459", "accepting a draft only if it equals a sample of the target is biased",
     lambda: opposite(lossless_where_meant("naive")(), "what is emitted is that sample: lossless on")),
    ("EAGLE#301", "verifying a tree changes greedy output",
     lambda: opposite(greedy_output(), "in exact arithmetic the greedy text comes out:"),
     "the target's rows differ between the shapes of its forward passes (rounding)"),
    ("vllm#40819", "for gamma = 2 block verification degenerates to token verification",
     lambda: same_law("block", "token", [toy(2)]), "gamma = 1, or drafts of one possible token"),
    ("vllm#40819", "the same for gamma = 1", lambda: same_law("block", "token", ONE_STEP)),
    ("SGLang (thresholds of 1)", "a coin against the summed target mass of the siblings keeps the target's law",
     lambda: _thresholds(TOP)),
    ("SGLang (thresholds of 1)", "the same for independent siblings", lambda: _thresholds("iid"),
     "siblings are distinct: equal ones are counted twice"),
]  # fmt: skip

LITERATURE = [LiteratureClaim(*claim) for claim in _CLAIMS] + RECENT
