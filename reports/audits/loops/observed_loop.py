"""A loop that is observed while it runs: what its models read, and the rows that its verifier is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....models.generating.loop import DecodingLoop
from ....models.generating.loop_verifiers import Drafted
from ....models.generating.result import Generated
from ....models.generating.sampling import Warp
from ....verifiers.batched.emitted import Emitted, EmittedPaths
from .forward_passes import full_pass, row_distance
from .model_inputs import InputRecorder, Misread, RandomNumberLog, RowPlace


class RowDistance(NamedTuple):
    """A row that the verifier was given. distance: total variation from what it should have been."""

    place: RowPlace
    distance: float


@dataclass
class Observations:
    """A record of what was observed of a loop.

    on_block: called with the law that the draft tokens of a block should have, [gamma, V], by a pass of our own, and
        with the tokens, [gamma].
    warp: that of the settings asked for, whatever the loop makes of them; None for the loop's own.
    passes: how many rows of forward passes were compared with their texts.
    misread: those that were wrong.
    rows: the loop's logits compared with a pass of our own over the whole text.
    laws: the laws that were verified compared with the warped logits.
    numbers: the random numbers that were used.
    blocks: how many batches of blocks were verified.
    verified: how many blocks were, of each text its own.
    draft_tokens: how many had to be drawn.
    unobserved: what could not be observed of this loop, and why.
    """

    on_block: Callable[[Tensor, Tensor], None] = lambda law, tokens: None
    warp: Warp | None = None
    passes: int = 0
    misread: list[Misread] = field(default_factory=list)
    rows: list[RowDistance] = field(default_factory=list)
    laws: list[RowDistance] = field(default_factory=list)
    numbers: RandomNumberLog = field(default_factory=RandomNumberLog)
    blocks: int = 0
    verified: int = 0
    draft_tokens: int = 0
    unobserved: dict[str, str] = field(default_factory=dict)

    def compare_inputs(self, loop: Any, blocks: Sequence[list[int]]) -> None:
        """Compare what was read: text and block by the target's last pass, text and 0, 1, ... by the draft's."""
        gamma = len(blocks[0])
        for name, recorder in loop.recorders.items():
            lengths = [gamma] if name == "target" else list(range(gamma))
            passes = recorder.passes[-len(lengths) :]
            recorder.passes.clear()
            if len(passes) < len(lengths):
                why = f"fewer passes of the {name} were recorded than a block takes, in iteration {self.blocks} first"
                self.unobserved.setdefault(f"{name} reading", why)
                continue
            for inputs, length in zip(passes, lengths, strict=True):
                for row, block in enumerate(blocks):
                    self.passes += 1
                    text = loop.texts[loop.open[row]]
                    difference = recorder.difference(inputs, row, text + block[:length])
                    if difference:
                        self.misread.append(Misread(self.place(loop, name, row, length), *difference))

    def compare_laws(self, loop: Any, drafted: Drafted, logits: dict[str, Tensor]) -> None:
        """Compare the laws to be verified with the warped logits: the same numbers, worked on in the same way."""
        made, warp = drafted.probabilities(), self.warp or loop.warp
        for name, law in (("target", made.target), ("draft", made.draft)):
            if name in logits:
                distances = (law - warp(logits[name]).softmax(-1)).abs().sum(-1) / 2
                for row, of_row in enumerate(distances):
                    self.laws += self._at_places(loop, name, row, of_row)

    def compare_rows(self, loop: Any, row: int, drafted: Drafted, logits: dict[str, Tensor]) -> None:
        """Compare the logits of one row of the batch with those of a pass over its whole text."""
        text, block = loop.texts[loop.open[row]], drafted.tokens[row].tolist()
        for name, whole in (("target", text + block), ("draft", text + block[:-1])):
            recorder = loop.recorders[name]
            if len(whole) - 1 > recorder.last_position:
                return  # the block's end is beyond the context, and will be cut
            recorder.paused = True
            expected = full_pass(loop.caches[name].model, whole, loop.vocabulary)[len(text) - 1 :]
            recorder.paused = False
            if name in logits:
                distances = row_distance(expected, logits[name][row].to(expected.dtype))
                self.rows += self._at_places(loop, name, row, distances)
            if name == "draft":
                self.on_block((self.warp or loop.warp)(expected).softmax(-1), drafted.tokens[row])

    def _at_places(self, loop: Any, name: str, row: int, distances: Tensor) -> list[RowDistance]:
        return [RowDistance(self.place(loop, name, row, k), one) for k, one in enumerate(distances.tolist())]

    def place(self, loop: Any, name: str, row: int, further: int) -> RowPlace:
        """Return the place of a row: so many tokens behind the text of a row of the batch."""
        prompt = loop.open[row] // loop.verifier.paths
        return RowPlace(name, prompt, self.blocks, len(loop.texts[loop.open[row]]) + further)


def observed(loop: type[DecodingLoop], observations: Observations, rows: int = 2) -> type[DecodingLoop]:
    """Return the loop, unchanged in what it does, with observations of each block.

    rows: how many rows of the batch, in turn, have their logits compared with a pass of our own.
    """

    class Observed(loop):
        def run(self) -> Generated:
            self.recorders = {name: InputRecorder(cached) for name, cached in self.caches.items()}
            self.target_logits: dict[str, Tensor] = {}
            self.draft_logits: list[Tensor] = []
            observations.numbers.attach(self.chances)
            try:
                return super().run()
            finally:
                for recorder in self.recorders.values():
                    recorder.remove()

        def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
            self.draft_logits.append(logits)
            return super().proposal(logits)

        def target_scores(self, logits: Tensor) -> Tensor:
            self.target_logits = {"target": logits[..., : self.vocabulary]}
            return super().target_scores(logits)

        def verified(self, drafted: Drafted) -> Emitted | EmittedPaths:
            logits = self.target_logits
            if len(self.draft_logits) == drafted.tokens.shape[1]:
                logits["draft"] = torch.stack(self.draft_logits, 1)
            self.target_logits, self.draft_logits = {}, []
            for name, method in (("target", "target_scores"), ("draft", "proposal")):
                if name not in logits:
                    why = f"this loop does not hand the {name}'s logits to {method}()"
                    observations.unobserved[f"{name} rows"] = why
            observations.verified += len(drafted.tokens) // self.verifier.paths
            observations.draft_tokens += drafted.tokens.numel()
            observations.compare_inputs(self, drafted.tokens.tolist())
            observations.compare_laws(self, drafted, logits)
            first = observations.blocks * rows
            for row in sorted({(first + k) % len(self.open) for k in range(rows)}):
                observations.compare_rows(self, row, drafted, logits)
            emitted = super().verified(drafted)
            observations.blocks += 1
            observations.numbers.iteration = observations.blocks
            return emitted

    return Observed
