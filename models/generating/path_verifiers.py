"""Rules for trees as the loop calls them for several draft paths: batched, or one tree at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...verifiers.batched.emitted import EmittedPaths, emitted_paths
from ...verifiers.batched.independent_paths import STEPS, DraftPaths, by_descent
from ...verifiers.chance import Chance
from ...verifiers.trees.draft_tree import CONTEXT, Drafting, DraftTree
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference
from ..errors import InputError
from .loop_verifiers import Drafted, LoopVerifier
from .randomness import BatchChance
from .settings import must_be_whole

MOST_PATHS = 16
VerifyPaths = Callable[[Drafted, BatchChance], EmittedPaths]


def path_verifier(rule: str | TreeReference, paths: int, gamma: int, batched: bool = True) -> LoopVerifier:
    """A verifier of K independent draft paths, for ``several_paths.SeveralPaths``.

    rule: a rule for trees, or its name in ``verifiers.trees.registry``.
    paths, gamma: K, and the tokens of the longest block.
    batched: all texts at once, for the rules that have a batched form (``verifiers.batched.independent_paths``).
    Raises: InputError for a rule that is not made for independent paths.
    """
    must_be_whole("paths", paths, 1, MOST_PATHS)
    chosen = TREE_REFERENCES.get(rule) if isinstance(rule, str) else rule
    if chosen is None:
        raise InputError(f"no rule for trees {rule!r}; expected one of {', '.join(TREE_REFERENCES)}")
    if not chosen.is_for(independent_paths(paths, gamma)):
        raise InputError(f"{chosen.name}: it is for {chosen.meant_for}; expected a rule for {paths} independent paths")
    at_once = batched and chosen.name in STEPS and chosen is TREE_REFERENCES[chosen.name]
    verify = all_at_once(chosen.name, paths) if at_once else tree_by_tree(chosen, paths)
    return LoopVerifier(chosen.name, verify, rule=chosen, paths=paths)


def independent_paths(paths: int, gamma: int) -> Drafting:
    """K independent paths of gamma tokens, as a way of drafting."""
    return Drafting((paths, *[1] * (gamma - 1)))


def in_doubles(drafted: Drafted) -> Drafted:
    """The rows as probabilities in float64."""
    return drafted._replace(target=drafted.target.double(), draft=drafted.draft.double()).probabilities()


def all_at_once(name: str, paths: int) -> VerifyPaths:
    """A rule of ``verifiers.batched.independent_paths``."""

    def verified(drafted: Drafted, chances: BatchChance) -> EmittedPaths:
        rows = (each.unflatten(0, (-1, paths)) for each in in_doubles(drafted)[:3])
        return by_descent(DraftPaths(*rows), chances.uniforms(drafted.tokens), STEPS[name])

    return verified


def tree_by_tree(rule: TreeReference, paths: int) -> VerifyPaths:
    """A rule of ``verifiers.trees``, for the texts of the batch in turn."""

    def verified(drafted: Drafted, chances: BatchChance) -> EmittedPaths:
        target, draft, tokens, _ = in_doubles(drafted)
        outcomes = []
        for first in range(0, len(tokens), paths):
            rows = slice(first, first + paths)
            tree = tree_of_paths(target[rows].tolist(), draft[rows].tolist(), tokens[rows].tolist())
            node, token = rule.verify(tree, RoundedChance(chances.of_row(first)))
            depth, path = (0, 0) if node == CONTEXT else (node // paths + 1, node % paths)
            outcomes.append((depth, path, token))
        accepted, path, last = torch.tensor(outcomes, device=tokens.device).unbind(1)
        return emitted_paths(tokens, accepted, path, last[:, None])

    return verified


class RoundedChance:
    """Chance for rules that compute in floats: what rounding has carried out of its range is taken back to its end."""

    def __init__(self, chance: Chance):
        self.chance = chance

    def flip(self, probability: Any) -> bool:
        return self.chance.flip(min(max(probability, 0.0), 1.0))

    def draw(self, weights: Sequence[Any]) -> int:
        return self.chance.draw([max(weight, 0.0) for weight in weights])


def tree_of_paths(target: list[Any], draft: list[Any], tokens: list[list[int]]) -> DraftTree:
    """The draft tree of K paths, level by level: node i K + k is token i of path k.

    target, draft, tokens: [K, gamma + 1, V], [K, gamma, V], [K, gamma].
    """
    paths, gamma = range(len(tokens)), range(len(tokens[0]))
    return DraftTree(
        [target[0][0], *(target[k][i + 1] for i in gamma for k in paths)],
        [draft[k][i] for i in gamma for k in paths],
        tuple(tokens[k][i] for i in gamma for k in paths),
        tuple(CONTEXT if i == 0 else (i - 1) * len(paths) + k for i in gamma for k in paths),
    )
