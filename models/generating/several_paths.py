"""The decoding loop with several draft paths for each text: a row of the batch for each path, and a rule for trees.

All rows of a text hold the same text. After each iteration they go on with the keys and values of the path that was
accepted.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...verifiers.batched.emitted import EmittedPaths
from ...verifiers.chance import Chance
from ...verifiers.trees.registry import TreeReference
from .loop import DecodingLoop
from .loop_verifiers import Drafted, LoopVerifier
from .path_verifiers import path_verifier
from .result import Generated, Iteration
from .settings import LoopSettings


def generate_by_paths(
    target: Any, draft: Any, prompts: Sequence[Sequence[int]], rule: str | TreeReference, paths: int = 2, *,
    chance: Sequence[Chance] | None = None, device: str | None = None, loop: "type[SeveralPaths] | None" = None,
    **settings: Any,
) -> Generated:  # fmt: skip
    """Continue the prompts by speculative decoding with independent draft paths.

    target, draft, prompts, device, settings: as in ``loop.generate``.
    rule: a rule for trees, or its name in ``verifiers.trees.registry``.
    paths: K, drafted for each text and verified together.
    chance: one source for each prompt, for the exact law, one tree at a time; by default streams seeded by ``seed``.
    loop: a subclass of ``SeveralPaths``.
    Guarantee: each text follows the target's law under the settings, up to rounding, for a lossless rule.
    Raises: InputError as ``generate``, and for a rule that is not made for independent paths.
    Source: Sun et al. 2023 (SpecTr); Miao et al. 2024 (SpecInfer).
    """
    checked = LoopSettings(**settings)
    verifier = path_verifier(rule, paths, checked.longest_gamma, batched=chance is None)
    return (loop or SeveralPaths)(target, draft, prompts, verifier, checked, chance, device).run()


class SeveralPaths(DecodingLoop):
    """One run over a batch of texts with K rows each. Its verifier is one of ``path_verifiers.path_verifier``."""

    def __init__(self, target: Any, draft: Any, prompts: Sequence[Sequence[int]], verifier: LoopVerifier,
                 settings: LoopSettings, chance: Sequence[Chance] | None = None, device: str | None = None,
                 before_step: Callable[[], None] = lambda: None):  # fmt: skip
        self.paths = verifier.paths
        rows = [prompt for prompt in prompts for _ in range(self.paths)]
        chances = None if chance is None else [one for one in chance for _ in range(self.paths)]
        super().__init__(target, draft, rows, verifier, settings, chances, device, before_step)
        self.accepted_rows: list[int] = []

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

    def verified(self, drafted: Drafted) -> EmittedPaths:
        """The verdict on the paths of each text, for all of its rows."""
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
