"""The claims of ``claims.json``: of each paper or public thread what it says, where, and how it is judged."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import (
    JUST_ABOVE,
    ONE_STEP,
    PATHS,
    TWO_STEPS,
    ClaimJudgement,
    ClaimSource,
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
LOSSLESS = (
    "spec-infer", "naive", "without-replacement", "k-seq", "optimal-transport", "traversal", "greedy-multi-path",
    "tree-monte-carlo", "hierarchical", "shared-gumbel", "global-resolution", "list-gumbel", "scaled-transport",
)  # fmt: skip
"""Rules that keep the target's law on every problem that they are meant for."""


def _where_drawn(name: str, how: str, *others: int) -> ClaimJudgement:
    return lossless(tree_reference(name), [drawing(pair, *others, how=how) for pair in lattice_pairs(3, 1, 4)])


def _thresholds(how: str) -> ClaimJudgement:
    rule = changed("thresholds", tree_reference("thresholds"), verify=descend(thresholds_step(10, 10)))
    return lossless(rule, [drawing(pair, 2, how=how) for pair in ONE_STEP[:80]])


def _sure_where_all_are_drafted(k: int) -> ClaimJudgement:
    wide = [pair for pair in ONE_STEP if pair.vocabulary == k and all(pair.draft.row(()))]
    return at_least(wide, first_rate("without-replacement", k, WITHOUT), lambda pair: 1, (k,), WITHOUT)


JUDGES: dict[str, Callable[[], ClaimJudgement]] = {
    **{f"{name}-lossless": lossless_where_meant(name) for name in LOSSLESS},
    "spec-infer-against-naive": lambda: at_least(ONE_STEP, first_rate("spec-infer", 2), first_rate("naive", 2), (2,)),
    "without-replacement-on-iid": lambda: _where_drawn("without-replacement", "iid", 2),
    "without-replacement-against-spec-infer": lambda: at_least(
        ONE_STEP, first_rate("without-replacement", 2, WITHOUT), first_rate("spec-infer", 2), (2,), WITHOUT
    ),
    "all-tokens-drafted": lambda: _sure_where_all_are_drafted(3),
    "k-seq-at-rho-1": rho_of_one,
    "k-seq-share-2": lambda: at_least(
        ONE_STEP, lambda p: 4 * first_rate("k-seq", 2)(p), transport(2, 3), (2,), allowed=JUST_ABOVE
    ),
    "k-seq-share-3": lambda: at_least(
        ONE_STEP, lambda p: 27 * first_rate("k-seq", 3)(p), transport(3, 19), (3,), allowed=JUST_ABOVE
    ),
    "k-seq-against-spec-infer": lambda: at_least(
        ONE_STEP, first_rate("k-seq", 2), first_rate("spec-infer", 2), (2,), allowed=JUST_ABOVE
    ),
    "optimal-transport-against-spec-infer": lambda: at_least(ONE_STEP, transport(2), first_rate("spec-infer", 2), (2,)),
    "two-drafts-suffice": two_drafts_suffice,
    "set-of-2": lambda: choice_of_a_set(2),
    "set-of-3": lambda: choice_of_a_set(3),
    "traversal-on-a-path": lambda: same_law("traversal", "block", PATHS),
    "traversal-against-without-replacement": lambda: at_least(
        TWO_STEPS,
        accepted("traversal", 2, 2, how=WITHOUT),
        accepted("without-replacement", 2, 2, how=WITHOUT),
        (2, 2),
        WITHOUT,
    ),
    "traversal-against-spec-infer": lambda: at_least(
        TWO_STEPS, accepted("traversal", 2, 1), accepted("spec-infer", 2, 1), (2, 1)
    ),
    "traversal-against-block": lambda: at_least(TWO_STEPS, accepted("traversal", 2, 1), accepted("block"), (2, 1)),
    "two-paths-against-block": lambda: at_least(ONE_STEP, accepted("greedy-multi-path", 2), accepted("block"), (2,)),
    "a-third-path": lambda: at_least(
        ONE_STEP, accepted("greedy-multi-path", 3), accepted("greedy-multi-path", 2), (3,)
    ),
    "block-is-best": best_on_single_paths,
    "tree-monte-carlo-against-token": lambda: at_least(
        TWO_STEPS, accepted("tree-monte-carlo", 1, 1), accepted("token"), (1, 1)
    ),
    "tree-monte-carlo-below-block": lambda: opposite(
        same_law("tree-monte-carlo", "block", PATHS), "Tree Monte Carlo and block verification have"
    ),
    "hierarchical-as-published-lossless": lambda: lossless(
        tree_reference("hierarchical-as-published"), lattice_pairs(2, 2, 3)
    ),
    "hierarchical-against-block": lambda: opposite(
        same_law("hierarchical", "block", PATHS), "capped, it and block verification have"
    ),
    "shared-gumbel-agrees": agrees_enough,
    "top-tokens-biased": lambda: opposite(
        lossless_where_meant("top-tokens")(),
        "a chosen token is drawn from a point mass, so q = 1 is right: lossless on",
    ),
    "naive-biased": lambda: opposite(lossless_where_meant("naive")(), "what is emitted is that sample: lossless on"),
    "greedy-output": lambda: opposite(greedy_output(), "in exact arithmetic the greedy text comes out:"),
    "block-is-token-2": lambda: same_law("block", "token", [toy(2)]),
    "block-is-token-1": lambda: same_law("block", "token", ONE_STEP),
    "thresholds-of-distinct": lambda: _thresholds(TOP),
    "thresholds-of-iid": lambda: _thresholds("iid"),
    **RECENT,
}
"""The judges by the names that ``claims.json`` has for them."""

LITERATURE = msgspec.json.decode(Path(__file__).with_name("claims.json").read_bytes(), type=tuple[ClaimSource, ...])
