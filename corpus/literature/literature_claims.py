"""The claims of ``claims.json``: of each paper or public thread what it says, where, and how it is judged."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from draftproof.corpus.literature.lattice import lattice_pairs
from draftproof.corpus.literature.literature import (
    ONE_STEP,
    PATHS,
    ClaimJudgement,
    ClaimSource,
    accepted,
    agrees_enough,
    at_least,
    best_on_single_paths,
    changed,
    choice_of_a_set,
    greedy_output,
    lossless,
    lossless_where_meant,
    opposite,
    ordering,
    rho_of_one,
    same_law,
    two_drafts_suffice,
)
from draftproof.corpus.literature.recent_claims import RECENT
from draftproof.models.battery import toy
from draftproof.models.tree_battery import drawing
from draftproof.verifiers.trees.descent import descend
from draftproof.verifiers.trees.draft_tree import TOP, WITHOUT_REPLACEMENT
from draftproof.verifiers.trees.lossy_steps import thresholds_step
from draftproof.verifiers.trees.registry import tree_reference


def _thresholds(how: str) -> ClaimJudgement:
    rule = changed("thresholds", tree_reference("thresholds"), verify=descend(thresholds_step(10, 10)))
    # Of two tokens both are among two distinct drafts, and nothing is drawn after a rejection.
    pairs = [pair for pair in ONE_STEP if pair.vocabulary == 3 or how != TOP]
    return lossless(rule, [drawing(pair, 2, how=how) for pair in pairs[:80]])


def _sure_where_all_are_drafted() -> ClaimJudgement:
    wide = [pair for pair in ONE_STEP if pair.vocabulary == 3 and all(pair.draft.row(()))]
    how = WITHOUT_REPLACEMENT
    return at_least(wide, accepted("without-replacement", 3, how=how), lambda pair: 1, (3,), how)


JUDGES: dict[str, Callable[[], ClaimJudgement]] = {
    "without-replacement-on-iid": lambda: lossless(
        tree_reference("without-replacement"), [drawing(pair, 2) for pair in lattice_pairs(3, 1, 4)]
    ),
    "all-tokens-drafted": _sure_where_all_are_drafted,
    "k-seq-at-rho-1": rho_of_one,
    "two-drafts-suffice": two_drafts_suffice,
    "set-of-2": lambda: choice_of_a_set(2),
    "set-of-3": lambda: choice_of_a_set(3),
    "block-is-best": best_on_single_paths,
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
        lossless_where_meant("top-tokens"),
        "a chosen token is drawn from a point mass, so q = 1 is right: lossless on",
    ),
    "naive-biased": lambda: opposite(lossless_where_meant("naive"), "what is emitted is that sample: lossless on"),
    "greedy-output": lambda: opposite(greedy_output(), "in exact arithmetic the greedy text comes out:"),
    "block-is-token-2": lambda: same_law("block", "token", [toy(2)]),
    "block-is-token-1": lambda: same_law("block", "token", ONE_STEP),
    "thresholds-of-distinct": lambda: _thresholds(TOP),
    "thresholds-of-iid": lambda: _thresholds("iid"),
    **RECENT,
}
"""The judges by the names that ``claims.json`` has for them."""

LITERATURE = msgspec.json.decode(Path(__file__).with_name("claims.json").read_bytes(), type=tuple[ClaimSource, ...])


def judgement(judge: str) -> ClaimJudgement:
    """Judge by one of ``JUDGES``, or by what the text says: ``RULE lossless``, ``RULE = RULE`` or an ``ordering``.

    Raises: ValueError for another text; KeyError for an unknown rule.
    """
    if known := JUDGES.get(judge):
        return known()
    if judge.endswith(" lossless"):
        return lossless_where_meant(judge.removesuffix(" lossless"))
    if " = " in judge:
        one, other = judge.split(" = ")
        return same_law(one, other, PATHS)
    return ordering(judge)
