"""The decoding loop with several draft paths for each text: a row of the batch for each path, and a rule for trees.

All rows of a text hold the same text. After each iteration they go on with the keys and values of the path that was accepted.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...verifiers.batched.emitted import Emitted, emitted
from ...verifiers.chance import Chance
from ...verifiers.trees.draft_tree import CONTEXT, Drafting, DraftTree
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference
from ..errors import InputError
from .loop import DecodingLoop
from .loop_verifiers import Drafted, LoopVerifier
from .result import Generated, Iteration
from .settings import LoopSettings, must_be_whole

MOST_PATHS = 16


def generate_by_paths(
    target: Any,
    draft: Any,
    prompts: Sequence[Sequence[int]],
    rule: str | TreeReference,
    paths: int = 2,
    *,
    chance: Sequence[Chance] | None = None,
    device: str | None = None,
    loop: "type[SeveralPaths] | None" = None,
    **settings: Any,
) -> Generated:
    """Continue the prompts by speculative decoding with independent draft paths.

    target, draft, prompts, device, settings: as of ``loop.generate``.
    rule: a rule for trees, or its name in ``verifiers.trees.registry``.
    paths: K, drafted for each text and verified together.
    chance: one source for each prompt, for the exact law; by default streams seeded by ``seed``.
    loop: a subclass of ``SeveralPaths``.
    Guarantee: each text follows the target's law under the settings, up to rounding, for a lossless rule.
    Raises: InputError as ``generate``, and for a rule that is not made for independent paths.
    Source: Sun et al. 2023 (SpecTr); Miao et al. 2024 (SpecInfer).
    """
    must_be_whole("paths", paths, 1, MOST_PATHS)
    chosen = TREE_REFERENCES.get(rule) if isinstance(rule, str) else rule
    if chosen is None:
        raise InputError(f"no rule for trees {rule!r}; expected one of {', '.join(TREE_REFERENCES)}")
    checked = LoopSettings(**settings)
    if not chosen.is_for(Drafting((paths, *[1] * (checked.longest_gamma - 1)))):
        raise InputError(f"{chosen.name}: it is for {chosen.meant_for}; expected a rule for {paths} independent paths")
    return (loop or SeveralPaths)(target, draft, prompts, chosen, paths, checked, chance, device).run()


class RoundedChance:
    """Chance for rules that compute in floats: what rounding has carried out of its range is taken back to its end."""

    def __init__(self, chance: Chance):
        self.chance = chance

    def flip(self, probability: Any) -> bool:
        return self.chance.flip(min(max(probability, 0.0), 1.0))

    def draw(self, weights: Sequence[Any]) -> int:
        return self.chance.draw([max(weight, 0.0) for weight in weights])


class SeveralPaths(DecodingLoop):
    """One run over a batch of texts with K rows each."""

    def __init__(self, target: Any, draft: Any, prompts: Sequence[Sequence[int]], rule: TreeReference, paths: int,
                 settings: LoopSettings, chance: Sequence[Chance] | None = None, device: str | None = None):  # fmt: skip
        rows = [prompt for prompt in prompts for _ in range(paths)]
        chances = None if chance is None else [one for one in chance for _ in range(paths)]
        unused = LoopVerifier(rule.name, lambda drafted, chances: self.verified(drafted))
        super().__init__(target, draft, rows, unused, settings, chances, device)
        self.rule, self.paths = rule, paths
        self.result.lossy = "" if rule.lossless else rule.source
        self.accepted_row: list[int] = []

    def run(self) -> Generated:
        """As of a single path; each text is in the result once."""
        result, every = super().run(), slice(None, None, self.paths)
        result.tokens = result.tokens[every]
        result.iterations = [self._once(each) for each in result.iterations]
        return result

    def _once(self, each: Iteration) -> Iteration:
        every = slice(None, None, self.paths)
        rows = tuple(row // self.paths for row in each.rows[every])
        return each._replace(rows=rows, accepted=each.accepted[every], added=each.added[every])

    def verified(self, drafted: Drafted) -> Emitted:
        """The verdict on the tree of each text, for all of its rows."""
        target, draft, tokens, _ = self.in_doubles(drafted)
        self.accepted_row, accepted, last = [], [], []
        for first in range(0, len(tokens), self.paths):
            rows = slice(first, first + self.paths)
            tree = tree_of_paths(target[rows].tolist(), draft[rows].tolist(), tokens[rows].tolist())
            node, token = self.rule.verify(tree, RoundedChance(self.chances.of_row(first)))
            depth, path = (0, 0) if node == CONTEXT else (node // self.paths + 1, node % self.paths)
            self.accepted_row += [first + path] * self.paths
            accepted += [depth] * self.paths
            last += [token] * self.paths
        device = tokens.device
        whole = torch.tensor(last, device=device)[:, None]
        return emitted(tokens[self.accepted_row], torch.tensor(accepted, device=device), whole)

    @staticmethod
    def in_doubles(drafted: Drafted) -> Drafted:
        """The rows as probabilities in float64."""
        return drafted._replace(target=drafted.target.double(), draft=drafted.draft.double()).probabilities()

    def continue_with(self, rows: list[int]) -> None:
        """Give all rows of a text the keys and values of its accepted path, then as of a single path."""
        if rows:
            for cached in self.caches.values():
                cached.select(self.accepted_row)
        super().continue_with(rows)


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
