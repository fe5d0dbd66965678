"""A loop that is observed while it runs: what its models read, and the rows that its verifier is given."""

from collections.abc import Callable
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
from .model_inputs import InputRecorder, Misread, RandomNumberLog


class RowDistance(NamedTuple):
    """A row that the verifier was given.

    model: "target" or "draft".
    prompt, iteration, position: place of the row; positions in a text count from 0.
    distance: total variation from what it should have been.
    """

    model: str
    prompt: int
    iteration: int
    position: int
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
    draft_tokens: int = 0
    unobserved: dict[str, str] = field(default_factory=dict)


def observed(loop: type[DecodingLoop], observations: Observations, rows: int = 2) -> type[DecodingLoop]:
    """Return the loop, unchanged in what it does, with observations of each block.

    rows: how many rows of the batch, in turn, have their logits compared with a pass of our own.
    """

    class Observed(loop):
        def run(self) -> Generated:
            self.recorders = {name: InputRecorder(cached) for name, cached in self.caches.items()}
            self.target_logits: Tensor | None = None
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
            self.target_logits = logits[..., : self.vocabulary]
            return super().target_scores(logits)

        def verified(self, drafted: Drafted) -> Emitted | EmittedPaths:
            complete = len(self.draft_logits) == drafted.tokens.shape[1]
            logits = {"target": self.target_logits, "draft": torch.stack(self.draft_logits, 1) if complete else None}
            self.target_logits, self.draft_logits = None, []
            observations.draft_tokens += drafted.tokens.numel()
            block = BlockObserver(self, observations, drafted, logits)
            block.compare_inputs()
            block.compare_laws()
            first = observations.blocks * rows
            for row in sorted({(first + k) % len(self.open) for k in range(rows)}):
                block.compare_rows(row)
            emitted = super().verified(drafted)
            observations.blocks += 1
            observations.numbers.iteration = observations.blocks
            return emitted

    return Observed


class BlockObserver:
    """An observer of one batch of blocks, before it is verified.

    logits: [B, n, V] of target and draft; None for a model whose logits did not pass through ``target_scores`` or
        ``proposal``.
    """

    def __init__(self, loop: Any, observations: Observations, drafted: Drafted, logits: dict[str, Tensor | None]):
        self.loop, self.observations, self.drafted, self.logits = loop, observations, drafted, logits
        self.blocks = drafted.tokens.tolist()
        self.texts = [loop.texts[row] for row in loop.open]
        self.warp: Warp = observations.warp or loop.warp
        for name, method in (("target", "target_scores"), ("draft", "proposal")):
            if logits[name] is None:
                observations.unobserved[f"{name} rows"] = f"this loop does not hand the {name}'s logits to {method}()"

    def compare_inputs(self) -> None:
        """Compare what was read: text and block by the target's last pass, text and 0, 1, ... by the draft's."""
        gamma, observations = self.drafted.tokens.shape[1], self.observations
        for name, recorder in self.loop.recorders.items():
            lengths = [gamma] if name == "target" else list(range(gamma))
            passes = recorder.passes[-len(lengths) :]
            recorder.passes.clear()
            if len(passes) < len(lengths):
                why = f"fewer passes of the {name} were recorded than a block takes"
                observations.unobserved.setdefault(
                    f"{name} reading", f"{why}, in iteration {observations.blocks} first"
                )
                continue
            for inputs, length in zip(passes, lengths, strict=True):
                for row, (text, block) in enumerate(zip(self.texts, self.blocks, strict=True)):
                    observations.passes += 1
                    difference = recorder.difference(inputs, row, text + block[:length])
                    if difference:
                        place = self.prompt(row), observations.blocks, len(text) + length
                        observations.misread.append(Misread(name, *place, *difference))

    def compare_laws(self) -> None:
        """Compare the laws to be verified with the warped logits: the same numbers, worked on in the same way."""
        drafted = self.drafted.probabilities()
        for name, law in (("target", drafted.target), ("draft", drafted.draft)):
            logits = self.logits[name]
            if logits is not None:
                for row, distances in enumerate(((law - self.warp(logits).softmax(-1)).abs().sum(-1) / 2).tolist()):
                    self._add(self.observations.laws, name, row, distances)

    def compare_rows(self, row: int) -> None:
        """Compare the logits of one row of the batch with those of a pass over its whole text."""
        text, block = self.texts[row], self.blocks[row]
        for name, whole in (("target", text + block), ("draft", text + block[:-1])):
            recorder = self.loop.recorders[name]
            if len(whole) - 1 > recorder.last_position:
                return  # the block's end is beyond the context, and will be cut
            recorder.paused = True
            expected = full_pass(self.loop.caches[name].model, whole, self.loop.vocabulary)[len(text) - 1 :]
            recorder.paused = False
            logits = self.logits[name]
            if logits is not None:
                distances = row_distance(expected, logits[row].to(expected.dtype)).tolist()
                self._add(self.observations.rows, name, row, distances)
            if name == "draft":
                self.observations.on_block(self.warp(expected).softmax(-1), self.drafted.tokens[row])

    def _add(self, rows: list[RowDistance], name: str, row: int, distances: list[float]) -> None:
        start = len(self.texts[row])
        for place, distance in enumerate(distances):
            rows.append(RowDistance(name, self.prompt(row), self.observations.blocks, start + place, distance))

    def prompt(self, row: int) -> int:
        """Return the number of the prompt after which a row of the batch is written."""
        return self.loop.open[row] // self.loop.verifier.paths
