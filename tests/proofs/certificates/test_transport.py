"""The bound on what any valid rule accepts at the first step: certified exactly, rejected when changed."""

from itertools import combinations

import pytest

from draftproof.models.tree_battery import tree_battery
from draftproof.proofs.certificates.make_transport import transport_bound
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import acceptance_ccdf
from draftproof.proofs.laws.tree_laws import tree_law
from draftproof.verifiers.trees.draft_tree import IID
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.certificate
FIRST_STEPS = [p for p in tree_battery() if p.gamma == 1]


def test_no_lossless_rule_is_above_the_bound_and_a_lossy_one_is():
    above = set()
    for problem in map(in_field, FIRST_STEPS):
        for name, rule in TREE_REFERENCES.items():
            if rule.is_for(problem.tree) and acceptance_ccdf(tree_law(problem, rule), 1)[1] > transport_bound(problem):
                above.add(name)
    assert above and not any(tree_reference(name).lossless for name in above)


@pytest.mark.parametrize("problem", [p for p in FIRST_STEPS if p.tree.how == IID], ids=lambda p: p.name)
def test_the_choice_of_a_set_has_the_same_optimum(problem):
    """1 + min over H of p(H) - Pr(all drafts in H), which is q(H)^k for independent drafts."""
    exact = in_field(problem)
    p, q = exact.target.row(()), exact.draft.row(())
    sets = [h for n in range(len(p) + 1) for h in combinations(range(len(p)), n)]
    least = min(sum(p[t] for t in h) - sum(q[t] for t in h) ** problem.tree.children[0] for h in sets)
    assert transport_bound(exact) == 1 + least
