"""The decoding loop with several draft paths for each text: a row of the batch for each path, and a rule for trees.

All rows of a text hold the same text. After each iteration they go on with the keys and values of the path that was
accepted.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...verifiers.batched.emitted import EmittedPaths, emitted_paths
from ...verifiers.batched.independent_paths import STEPS, DraftPaths, by_descent
from ...verifiers.chance import Chance
from ...verifiers.trees.draft_tree import CONTEXT, Drafting, DraftTree
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference
from ..errors import InputError
from .loop import DecodingLoop
from .loop_verifiers import Drafted, LoopVerifier
from .result import Generated, Iteration
from .sampling import BatchChance
from .settings import LoopSettings, must_be_whole

MOST_PATHS = 16
VerifyPaths = Callable[[Drafted, BatchChance], EmittedPaths]


def path_verifier(rule: str | TreeReference, paths: int, gamma: int, batched: bool = True) -> LoopVerifier:
    """Return a verifier of K independent draft paths, for ``SeveralPaths``.

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
    return LoopVerifier(chosen.name, verify, rule=chosen, paths=paths, batched=at_once)


def independent_paths(paths: int, gamma: int) -> Drafting:
    """Return K independent paths of gamma tokens, as a way of drafting."""
    return Drafting((paths, *[1] * (gamma - 1)))


def in_doubles(drafted: Drafted) -> Drafted:
    """Return the rows as probabilities in float64."""
    return drafted._replace(target=drafted.target.double(), draft=drafted.draft.double()).probabilities()


def all_at_once(name: str, paths: int) -> VerifyPaths:
    """Return a rule of ``verifiers.batched.independent_paths``."""

    def verified(drafted: Drafted, chances: BatchChance) -> EmittedPaths:
        rows = (each.unflatten(0, (-1, paths)) for each in in_doubles(drafted)[:3])
        return by_descent(DraftPaths(*rows), chances.uniforms(drafted.tokens), STEPS[name])

    return verified


def tree_by_tree(rule: TreeReference, paths: int) -> VerifyPaths:
    """Return a rule of ``verifiers.trees``, for the texts of the batch in turn."""

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
    """A chance for rules that compute in floats: it takes what rounding carried out of its range back to its end."""

    def __init__(self, chance: Chance):
        self.chance = chance

    def flip(self, probability: Any) -> bool:
        return self.chance.flip(min(max(probability, 0.0), 1.0))

    def draw(self, weights: Sequence[Any]) -> int:
        return self.chance.draw([max(weight, 0.0) for weight in weights])


def tree_of_paths(target: list[Any], draft: list[Any], tokens: list[list[int]]) -> DraftTree:
    """Return the draft tree of K paths, level by level: node i K + k is token i of path k.

    target, draft, tokens: [K, gamma + 1, V], [K, gamma, V], [K, gamma].
    """
    paths, gamma = range(len(tokens)), range(len(tokens[0]))
    return DraftTree(
        [target[0][0], *(target[k][i + 1] for i in gamma for k in paths)],
        [draft[k][i] for i in gamma for k in paths],
        tuple(tokens[k][i] for i in gamma for k in paths),
        tuple(CONTEXT if i == 0 else (i - 1) * len(paths) + k for i in gamma for k in paths),
    )


class SeveralPaths(DecodingLoop):
    """A run over a batch of texts with K rows each. Its verifier is one of ``path_verifier``."""

    def __init__(self, target: Any, draft: Any, prompts: Sequence[Sequence[int]], verifier: LoopVerifier,
                 settings: LoopSettings, chance: Sequence[Chance] | None = None, device: str | None = None,
                 before_step: Callable[[], None] = lambda: None):  # fmt: skip
        self.paths = verifier.paths
        rows = [prompt for prompt in prompts for _ in range(self.paths)]
        chances = None if chance is None else [one for one in chance for _ in range(self.paths)]
        super().__init__(target, draft, rows, verifier, settings, chances, device, before_step)
        self.accepted_rows: list[int] = []

    def run(self) -> Generated:
        """Run as a single path does. Each text is in the result once."""
        result, every = super().run(), slice(None, None, self.paths)
        result.tokens = result.tokens[every]
        result.iterations = [self._once(each) for each in result.iterations]
        return result

    def _once(self, each: Iteration) -> Iteration:
        every = slice(None, None, self.paths)
        rows = tuple(row // self.paths for row in each.rows[every])
        return each._replace(rows=rows, accepted=each.accepted[every], added=each.added[every])

    def verified(self, drafted: Drafted) -> EmittedPaths:
        """Return the verdict on the paths of each text, for all of its rows."""
        given = self.verifier.verify(drafted, self.chances)
        assert isinstance(given, EmittedPaths), "a verifier of blocks"
        self.accepted_rows = given.rows.tolist()
        return given

    def continue_with(self, rows: list[int]) -> None:
        """Give all rows of a text the keys and values of its accepted path, then as of a single path."""
        if rows:
            for cached in self.caches.values():
                cached.select(self.accepted_rows)
        super().continue_with(rows)
