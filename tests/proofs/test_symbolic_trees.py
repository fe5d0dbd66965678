"""Rules for several drafts, by z3 for all models of a size: each is proved at its smallest size, each mutant refuted."""

import pytest
import z3

from draftproof.proofs.symbolic.whole_trees import TREE_CLAIMS, TreeClaim
from draftproof.tests.proofs.tree_mutants import TREE_MUTANTS
from draftproof.verifiers.evidence import HOLDS, REFUTED
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT

pytestmark = pytest.mark.symbolic
MUTANTS = {mutant.name: mutant.verify for mutant in TREE_MUTANTS}


@pytest.mark.parametrize("claim", TREE_CLAIMS, ids=lambda c: f"{c.name}, {c.how}")
def test_a_rule_is_valid_for_all_models_of_its_smallest_size(claim):
    vocabulary, children = claim.sizes[0]
    assert claim.prove(vocabulary, children).verdict == HOLDS


@pytest.mark.parametrize(
    ("name", "how", "vocabulary", "children"),
    [
        ("sample-until-it-matches", IID, 2, (2,)),
        ("only-the-rejected-entry", IID, 3, (1,)),
        ("row-before-the-elder-was-removed", WITHOUT_REPLACEMENT, 3, (2,)),
        ("replacement-from-the-target", TOP, 2, (1,)),
        ("row-of-the-parent", IID, 2, (1, 1)),
        ("weight-not-updated", IID, 2, (1, 1)),
        ("bonus-from-the-root", IID, 2, (1,)),
        ("as-published", IID, 2, (1, 1)),
    ],
)
def test_a_mutant_is_refuted_with_a_model(name, how, vocabulary, children):
    answer = TreeClaim(name, MUTANTS[name], how, (), 60.0).prove(vocabulary, children)
    assert answer.verdict == REFUTED and isinstance(answer.model, z3.ModelRef)
