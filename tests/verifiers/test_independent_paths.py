"""Batched rules for several paths: with the same uniforms they emit what the rules' own code emits."""

import pytest
import torch

from draftproof.models.generating.several_paths import RoundedChance, tree_of_paths
from draftproof.verifiers.batched.independent_paths import STEPS, DraftPaths, by_descent, k_seq, multi_round
from draftproof.verifiers.batched.sampling import Uniforms
from draftproof.verifiers.trees.registry import tree_reference

TEXTS, GAMMA, V = 300, 3, 4


class Coupled:
    """Chance that flips with the coin of the path and depth being tested, and draws by inverse transform."""

    def __init__(self, tokens, coins, uniform):
        self.tokens, self.coins, self.uniform = tokens, coins, uniform
        self.alive, self.depth, self.tested = list(range(len(tokens))), 0, 0

    def flip(self, probability):
        path = self.alive[self.tested]
        self.tested += 1
        if self.coins[path][self.depth] >= probability:
            return False
        taken = self.tokens[path][self.depth]
        self.alive = [k for k in self.alive if self.tokens[k][self.depth] == taken]
        self.depth, self.tested = self.depth + 1, 0
        return True

    def draw(self, weights):
        point, total = self.uniform * sum(weights), 0.0
        for token, weight in enumerate(weights):
            total += weight
            if point < total:
                return token
        raise AssertionError("beyond the weights")


def draft_paths(paths, seed):
    """Context-dependent rows with zeros, peaks and equal rows, paths drawn from them, and the uniforms."""
    random = torch.Generator().manual_seed(seed)

    def rows(*shape):
        weights = torch.rand(*shape, V, generator=random, dtype=torch.float64) ** 4
        weights[torch.rand(weights.shape, generator=random) < 0.2] = 0.0
        weights[..., 0] += 1e-3
        return weights / weights.sum(-1, keepdim=True)

    tokens = torch.zeros(TEXTS, paths, GAMMA, dtype=torch.int64)
    first, last = rows(TEXTS), rows(TEXTS, V + 1, GAMMA)
    draft, target = torch.zeros(TEXTS, paths, GAMMA, V, dtype=torch.float64), rows(TEXTS, V + 1, GAMMA + 1)
    target[: TEXTS // 5, :, :GAMMA] = last[: TEXTS // 5]
    before = torch.full((TEXTS, paths), V)
    given = torch.zeros(TEXTS, paths, GAMMA + 1, V, dtype=torch.float64)
    texts = torch.arange(TEXTS)[:, None]
    for i in range(GAMMA):
        draft[:, :, i] = last[texts, before, i] if i else first[:, None]
        given[:, :, i] = target[texts, before, i]
        before = torch.stack([torch.multinomial(draft[:, k, i], 1, generator=random)[:, 0] for k in range(paths)], 1)
        tokens[:, :, i] = before
    given[:, :, GAMMA] = target[texts, before, GAMMA]
    return DraftPaths(given, draft, tokens), Uniforms(
        torch.rand(TEXTS * paths, GAMMA, generator=random, dtype=torch.float64),
        torch.rand(TEXTS * paths, 2, generator=random, dtype=torch.float64),
    )


def differing(name, step, paths, seed=0):
    """In how many texts the batched rule and the rule's code differ, and in how many all was accepted, or nothing."""
    given, chance = draft_paths(paths, seed)
    verdict, rule, count = by_descent(given, chance, step), tree_reference(name), 0
    coins = chance.acceptance.reshape(TEXTS, paths, GAMMA).tolist()
    for text in range(TEXTS):
        tokens = given.tokens[text].tolist()
        tree = tree_of_paths(given.target[text].tolist(), given.draft[text].tolist(), tokens)
        coupled = Coupled(tokens, coins[text], chance.residual[text * paths, 0].item())
        expected = rule.verify(tree, RoundedChance(coupled)).tokens(tree)
        row, tau = text * paths, int(verdict.accepted[text * paths])
        accepted = int(verdict.rows[row]) - row
        count += tuple(verdict.tokens[row, : tau + 1].tolist()) != expected
        count += tuple(tokens[accepted][:tau]) != expected[:-1]
    return count, verdict.accepted.unique().tolist()


@pytest.mark.parametrize("paths", [1, 2, 3])
@pytest.mark.parametrize("name", STEPS)
def test_each_text_emits_what_the_rule_emits_with_the_same_numbers(name, paths):
    assert differing(name, STEPS[name], paths) == (0, [0, 1, 2, 3])


def drawn_from_the_target(siblings):
    return multi_round(siblings)[0], siblings.target


def last_that_passes(siblings):
    chosen, rest = k_seq(siblings._replace(tokens=siblings.tokens.flip(1), coins=siblings.coins.flip(1)))
    return torch.where(chosen < 2, 1 - chosen, chosen), rest


@pytest.mark.parametrize(("name", "step"), [("spec-infer", drawn_from_the_target), ("k-seq", last_that_passes)])
def test_a_planted_bug_emits_something_else(name, step):
    assert differing(name, step, 2)[0] > TEXTS // 50
