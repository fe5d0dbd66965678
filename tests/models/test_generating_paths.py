"""The decoding loop with several paths a text: exact laws on forged checkpoints, and rows of the paths' own texts."""

import pytest
import torch

from draftproof.models.battery import drawn_markov
from draftproof.models.drafting import draft_tree
from draftproof.models.errors import InputError
from draftproof.models.generating.generate import generate
from draftproof.models.generating.several_paths import tree_of_paths
from draftproof.models.problem import Problem
from draftproof.proofs.enumeration import Branching, EnumeratedChance
from draftproof.proofs.laws.text_masses import distance
from draftproof.tests.models import generating_parts as parts
from draftproof.verifiers.trees.draft_tree import Drafting

pytestmark = pytest.mark.engine
one_thread = pytest.fixture(autouse=True, scope="module")(parts.one_thread)

TWO = (drawn_markov, 2, 2)
ROUNDING = 1e-6


def off(rule, length, **settings):
    law = parts.exact_law(parts.forged(*TWO), rule, paths=2, max_new_tokens=length, **settings)
    assert sum(law.values()) == pytest.approx(1)
    return distance(law, parts.law_of_text(drawn_markov(2, 2).target, length))


@pytest.mark.parametrize(
    "rule",
    [
        "spec-infer",
        *(pytest.param(r, marks=pytest.mark.long) for r in ("k-seq", "traversal", "greedy-multi-path", "naive")),
    ],
)
def test_texts_follow_the_target_exactly(rule):
    assert off(rule, 2, gamma=1) < ROUNDING
    assert off(rule, 3, gamma=2) < ROUNDING


def test_a_lossy_rule_does_not():
    assert off("thresholds", 2, gamma=1) > 1e-3


def test_the_tree_of_paths_is_the_one_that_is_drawn():
    problem: Problem = drawn_markov(2, 2)
    tree = draft_tree(problem.target, problem.draft, Drafting((2, 1)), EnumeratedChance(Branching(1.0)))
    paths = [(tree.tokens[k], tree.tokens[2 + k]) for k in range(2)]
    target = [[problem.target.row(path[:i]) for i in range(3)] for path in paths]
    draft = [[problem.draft.row(path[:i]) for i in range(2)] for path in paths]
    made = tree_of_paths(target, draft, [*map(list, paths)])
    assert made.parents == tree.parents and made.tokens == tree.tokens
    assert tuple(made.target) == tree.target and tuple(made.draft) == tree.draft


def test_what_cannot_be_run_is_refused():
    target, draft, start = parts.forged(*TWO)
    for rule, words in (
        ("hierarchical", "a single path"),
        ("no-such", "no rule"),
        ("without-replacement", "drawn without"),
    ):
        with pytest.raises(InputError, match=words):
            generate(target, draft, [[start]], rule, paths=2)
    with pytest.raises(InputError, match="paths"):
        generate(target, draft, [[start]], "k-seq", paths=0)
    assert torch.is_inference_mode_enabled() is False
