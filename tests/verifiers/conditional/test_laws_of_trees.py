"""The law of a step of a draft tree under each rule and known bug: against what the verifiers themselves emit."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from draftproof.models.battery import drawn
from draftproof.models.drafting import draft_tree
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing, ragged
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.reports.audits.steps import bets
from draftproof.tests.verifiers.conditional.dense import pair_rows
from draftproof.verifiers.conditional.sparse import LISTED, reduced
from draftproof.verifiers.conditional.steps import Steps
from draftproof.verifiers.conditional.tilts import tilts
from draftproof.verifiers.conditional.tree_rules import (
    TREE_MUTANTS,
    TREE_RULES,
    TREES_NOT_COMPARED,
    WAYS,
    tree_bounds,
    tree_mutants,
)  # fmt: skip
from draftproof.verifiers.conditional.tree_steps import TreeSteps, firsts, follow
from draftproof.verifiers.trees.draft_tree import IID, TOP, WITHOUT_REPLACEMENT, DraftTree
from draftproof.verifiers.trees.registry import TREE_REFERENCES
from draftproof.verifiers.zoo.catalogue import TREE_CONTROLS
from draftproof.verifiers.zoo.catalogue import TREE_MUTANTS as ZOO

pytestmark = pytest.mark.exact

SMALL, ZEROS, PAIR = drawn(3, 2, "generic"), drawn(3, 2, "zeros"), drawn(2, 2, "generic")
PROBLEMS = [
    drawing(SMALL, 2, 1, how=IID), drawing(ZEROS, 2, 2, how=WITHOUT_REPLACEMENT),
    drawing(drawn(3, 1, "generic"), 3, how=TOP),
    drawing(drawn(3, 1, "generic", 3), 3, how=IID), drawing(drawn(3, 1, "generic"), 3, how=WITHOUT_REPLACEMENT),
    drawing(SMALL, 2, 1, how=WITHOUT_REPLACEMENT),
    ragged(PAIR, -1, -1, 1, how=IID), ragged(PAIR, -1, 0, -1, 2, how=IID), drawing(SMALL, 2, 2, how=TOP),
    drawing(drawn(2, 2, "equal"), 2, 1, how=IID),
]  # fmt: skip


def float_of(number):
    return float(number) if isinstance(number, float) else as_float(number)


def trees_of(problem):
    """Every tree that can be drawn."""
    problem = in_field(problem)
    return [*law_of(lambda chance: draft_tree(problem.target, problem.draft, problem.tree, chance))]


def rows_of(tree):
    """Return the rows of the target and of the draft, as floats."""
    target = np.array([[float_of(p) for p in row] for row in tree.target])
    draft = np.zeros_like(target)
    for parent, row in reversed([*zip(tree.parents, tree.draft)]):
        draft[parent + 1] = [float_of(q) for q in row]
    return target, draft


def steps_of_trees(trees, texts, how, listed=LISTED):
    """Return steps of trees, each with what came out."""
    gamma, count = max(len(tree.tokens) for tree in trees), len(trees)
    vocabulary = len(trees[0].target[0])
    tokens, parents = np.full((count, gamma), -1), np.zeros((count, gamma), dtype=int)
    emitted, certain = np.full((count, gamma + 1), -1), np.full((count, gamma + 1), how == TOP)
    both, kept = [], {}
    for n, (tree, text) in enumerate(zip(trees, texts)):
        size = len(tree.tokens)
        tokens[n, :size], parents[n, :size] = tree.tokens, np.array(tree.parents) + 1
        emitted[n, : len(text) - 1] = text[:-1]
        if id(tree) not in kept:
            kept[id(tree)] = rows_of(tree)
        target, draft = kept[id(tree)]
        every = listed >= vocabulary and (target > 0).all()  # then every token is listed, whatever came out
        key = id(tree), frozenset(() if every else text)
        if key not in kept:
            kept[key] = reduced(target, draft, [*tree.tokens, *text], listed)
        both.append(kept[key])
    rows = pair_rows(both, gamma + 1)
    lengths, last = np.array([len(tree.tokens) for tree in trees]), np.array([text[-1] for text in texts])
    place = follow(firsts(parents, tokens)[1], tokens, emitted)
    assert (place >= 0).all()
    at_last = (rows.ids == last[:, None, None]).argmax(-1)
    steps = Steps(vocabulary, lengths, tokens, place, last, rows, np.zeros_like(tokens), at_last)
    return TreeSteps.of(steps, parents, how, certain)


def emitted_under(verify, tree, chance):
    return verify(tree, chance).tokens(tree)


KEPT = {}


def every_outcome(problem):
    """Return the steps of a problem's trees, each with every text that it can emit, and the trees and the texts."""
    if id(problem) not in KEPT:
        cases = []
        for tree in trees_of(problem):
            paths = {(), *(tree.path(n) for n in range(len(tree.tokens)))}
            cases += [(tree, (*path, y)) for path in sorted(paths) for y in range(problem.vocabulary)]
        KEPT[id(problem)] = steps_of_trees(*zip(*cases), problem.tree.how), cases
    return KEPT[id(problem)]


def probabilities(law, steps):
    """Return what a law gives each outcome where equal siblings go on together."""
    stops, tokens = law.log_likelihood(replace(steps, apart=steps.parents))
    return np.exp(stops + tokens)


def apart(problem, law, cases):
    """Which cases a law speaks of: where equal siblings are kept apart it does not speak of trees with them."""

    def equal(tree):
        return len({(tree.path(n)) for n in range(len(tree.tokens))}) < len(tree.tokens)

    return [k for k, (tree, _) in enumerate(cases) if not (law.longest and equal(tree))]


@pytest.mark.parametrize("name", WAYS)
def test_a_rule_has_the_law_of_its_reference(name):
    reference, spoken_of = TREE_REFERENCES[name], 0
    for problem in PROBLEMS:
        if problem.tree.how not in reference.drafts:
            continue
        steps, cases = every_outcome(problem)
        laws = {tree: law_of(partial(emitted_under, reference.verify, tree)) for tree in dict(cases)}
        own = probabilities(TREE_RULES[name], steps)
        some = apart(problem, TREE_RULES[name], cases)
        spoken_of += len(some)
        expected = [as_float(laws[cases[k][0]].get(cases[k][1], 0)) for k in some]
        assert own[some] == pytest.approx(expected, abs=1e-12), problem.name
    assert spoken_of > 30


def test_of_equal_siblings_the_first_alone_may_go_on():
    steps, _ = every_outcome(PROBLEMS[6])
    assert steps.other is not None and (steps.other.emitted == -1).any()
    assert TREE_RULES["spec-infer"].stops(steps.other).sum(1) == pytest.approx(1, abs=1e-12)


RIGHT = {"spec-infer": "D01", "without-replacement": "D02", "top-tokens": "D03", "naive": "D04", "traversal": "D06"}
ALL_OF_ONE_LEVEL = [p for p in PROBLEMS if p.tree.how != IID or len(p.tree.children) == 1]
"""Problems in whose trees no two equal siblings go on: the zoo lets the first of them alone go on."""


def compared(law, entry, emitted_by, problems):
    outcomes = 0
    for problem in problems:
        steps, cases = every_outcome(problem)
        some = set(apart(problem, law, cases))
        if problem is PROBLEMS[0]:  # the zoo lets the first of equal siblings alone go on
            some = set(np.flatnonzero(~steps.twice))
        blocks = emitted_by(entry.measured, problem)
        own = probabilities(law, steps)
        expected = [
            as_float(blocks[tree.tokens].get(text, 0)) if tree.tokens in blocks else None for tree, text in cases
        ]
        there = [k for k, value in enumerate(expected) if value is not None and k in some]
        assert own[there] == pytest.approx([expected[k] for k in there], abs=1e-12), problem.name
        outcomes += len(there)
    return outcomes


@pytest.mark.parametrize("name", RIGHT)
def test_a_rule_has_the_law_of_its_verifier(name, emitted_by):
    meant = TREE_REFERENCES[name].drafts
    assert compared(TREE_RULES[name], TREE_CONTROLS[RIGHT[name]], emitted_by,
                    [p for p in ALL_OF_ONE_LEVEL if p.tree.how in meant]) > 20  # fmt: skip


@pytest.mark.parametrize("name", [name for name in TREE_MUTANTS if name in ZOO])
def test_a_known_bug_has_the_law_of_its_verifier(name, emitted_by):
    law, only = TREE_MUTANTS[name]
    problems = [p for p in ALL_OF_ONE_LEVEL if (only or p.tree.how) == p.tree.how and p is not PROBLEMS[5]]
    if name == "T02":
        problems = [PROBLEMS[0]]
    assert compared(law, ZOO[name], emitted_by, problems) > 20


def test_every_mutant_of_the_zoo_has_a_law_or_is_named():
    known = TREE_MUTANTS.keys() & ZOO.keys()
    assert known.isdisjoint(TREES_NOT_COMPARED) and known | set(TREES_NOT_COMPARED) == ZOO.keys()


def wide(how, rng, vocabulary=40):
    """A tree over a wider vocabulary, drawn; with its rows."""
    parents = (-1, -1, -1, 0, 0, 1, 3)
    target = rng.dirichlet(np.full(vocabulary, 0.3), size=len(parents) + 1)
    draft = rng.dirichlet(np.full(vocabulary, 0.3), size=len(parents) + 1)
    tokens, rows = [], []
    for k, parent in enumerate(parents):
        row = draft[parent + 1].copy()
        elders = [tokens[j] for j in range(k) if parents[j] == parent]
        if how != IID:
            row[elders] = 0
            row /= row.sum()
        tokens.append(int(rng.choice(vocabulary, p=row)))
        rows.append(row)
    return DraftTree(target, rows, tuple(tokens), parents, how)


@pytest.mark.parametrize("listed", [256, 4])
@pytest.mark.parametrize("how", [IID, WITHOUT_REPLACEMENT, TOP])
def test_no_hypothesis_bets_more_than_it_has(how, listed):
    """Over all outcomes of one step its probabilities add up to at most 1, however few tokens are listed."""
    tree = wide(how, np.random.default_rng(0))
    texts = [(*path, y) for path in sorted({(), *map(tree.path, range(len(tree.tokens)))}) for y in range(40)]
    steps = steps_of_trees([tree] * len(texts), texts, how, listed)
    for law in [*TREE_RULES.values(), *tree_mutants(how), *tilts(TREE_RULES["spec-infer"], 7),
                *tilts(TREE_RULES["traversal"], 7)]:  # fmt: skip
        if law.longest and steps.twice.any():
            continue
        stops, tokens = law.log_likelihood(steps)
        in_all = np.exp(stops[::40]).sum() if tokens is None else np.exp(stops + tokens).sum()
        assert in_all <= 1 + 1e-9, law.name
        if listed == 256 and law.name in WAYS:
            assert in_all == pytest.approx(1, abs=1e-9), law.name


@pytest.mark.parametrize("name", WAYS)
def test_rounding_makes_no_outcome_less_probable(name):
    law = TREE_RULES[name]
    for problem in PROBLEMS:
        steps, _ = every_outcome(problem)
        for epsilon in (0.0, 2.0**-24, 2.0**-8):
            own, most = probabilities(law, steps), np.exp(sum(tree_bounds(law, steps, epsilon)))
            assert (own <= most * (1 + 1e-12) + 1e-15).all()
            large = own > 1e-2
            assert (
                epsilon > 1e-3 or (most[large] < own[large] * (1 + 1e4 * epsilon + 1e-9) + 1e4 * epsilon).mean() > 0.9
            )


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("how", [IID, WITHOUT_REPLACEMENT])
def test_few_listed_tokens_leave_the_law_within_its_bounds(name, how):
    law = TREE_RULES[name]
    for seed in range(2):
        tree = wide(how, np.random.default_rng(seed), 100)
        texts = [(*tree.path(n), y) for n in range(-1, len(tree.tokens)) for y in range(0, 100, 11)]
        whole, few = (steps_of_trees([tree] * len(texts), texts, how, listed) for listed in (256, 20))
        if law.longest and whole.twice.any():
            continue
        assert (probabilities(law, whole) <= np.exp(sum(tree_bounds(law, few, 0.0))) * (1 + 1e-9)).all()
        close = np.exp(sum(tree_bounds(law, whole, 0.0)))
        assert close == pytest.approx(probabilities(law, whole), rel=1e-9, abs=1e-12)


def bet_means(name, problem, epsilon=0.0):
    """Return the mean of each bet against a rule on each tree of a problem, the largest over the trees."""
    law, reference = TREE_RULES[name], TREE_REFERENCES[name]
    steps, cases = every_outcome(problem)
    laws = {tree: law_of(partial(emitted_under, reference.verify, tree)) for tree in dict(cases)}
    chances = np.array([as_float(laws[tree].get(text, 0)) for tree, text in cases])
    found = bets.bets_on_steps(law, bets.tree_hypotheses(name, problem.tree.how), steps, epsilon)
    won = np.where(chances > 0, np.exp(np.where(found.possible, found.logs, np.inf)), 0.0) * chances
    spoken_of, trees = set(apart(problem, law, cases)), {}
    for k, (tree, _) in enumerate(cases):
        if k in spoken_of:
            trees.setdefault(tree, []).append(k)
    return max((float(won[:, some].sum(1).max()) for some in trees.values()), default=0.0)


@pytest.mark.parametrize("name", WAYS)
def test_no_bet_on_a_tree_gains_on_average_under_its_rule(name):
    """On rows with zeros, with ties, and equal rows of both models; equal siblings are merged or kept apart."""
    for problem in PROBLEMS:
        if problem.tree.how in TREE_REFERENCES[name].drafts:
            assert bet_means(name, problem) <= 1 + 1e-12, problem.name


def test_a_bet_on_trees_that_gains_on_average_is_found_out(monkeypatch):
    monkeypatch.setattr(bets, "tree_bounds", lambda law, *rest: tree_bounds(TREE_RULES["naive"], *rest))
    assert bet_means("spec-infer", PROBLEMS[0]) > 1.01
