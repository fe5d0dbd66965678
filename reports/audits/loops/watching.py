"""A loop that is watched while it runs: what its models read, and the rows that its verifier is given.

``watched(loop, notes)`` is the loop itself, unchanged in what it does; the notes say where it deviates.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....models.generating.loop import DecodingLoop
from ....models.generating.loop_verifiers import Drafted
from ....models.generating.sampling import Warp, warp
from ....verifiers.batched.emitted import Emitted
from .forward_passes import apart, one_shot
from .noise_reuse import Noise
from .reading import Misread, Readings

DraftSeen = Callable[[Tensor, Tensor], None]


class RowSeen(NamedTuple):
    """One row that the verifier was given: whose, of which prompt, iteration and position in the text (from 0), and its
    distance in total variation from what it should have been."""

    model: str
    prompt: int
    iteration: int
    position: int
    distance: float


@dataclass
class Notes:
    """read: rows of forward passes held against their texts; misread: those that were wrong.
    rows: logits held against a pass of our own over the whole text; scores: the laws that were verified held against
    the same temperature, top-k and top-p of the same logits. drafted: told the law of the draft tokens of a block, by a
    pass of our own, and the tokens; [gamma, V] and [gamma]. noise: the random numbers that were used; draft_tokens: how
    many there were to draw. warp: that of the settings, whatever the loop makes of them; made from the loop's settings if
    it is not given. left_out: what could not be noted of this loop, and why.
    """

    drafted: DraftSeen = lambda law, tokens: None
    read: int = 0
    misread: list[Misread] = field(default_factory=list)
    rows: list[RowSeen] = field(default_factory=list)
    scores: list[RowSeen] = field(default_factory=list)
    noise: Noise = field(default_factory=Noise)
    blocks: int = 0
    warp: Warp | None = None
    draft_tokens: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def watched(loop: type[DecodingLoop], notes: Notes, rows: int = 2) -> type[DecodingLoop]:
    """The loop, with what is to be noted of each block.

    rows: of how many rows of the batch, in turn, the logits are held against a pass of our own.
    """

    class Watched(loop):  # type: ignore[valid-type, misc]
        def run(self) -> Any:
            self.readings = {name: Readings(name, cached) for name, cached in self.caches.items()}
            self.raw: dict[str, Any] = {"target": None, "draft": []}
            if notes.warp is None:
                settings = self.settings
                notes.warp = warp(settings.temperature, settings.top_k, settings.top_p)
            notes.noise.listen(self.chances)
            try:
                return super().run()
            finally:
                for readings in self.readings.values():
                    readings.remove()

        def proposal(self, logits: Tensor) -> tuple[Tensor, Tensor]:
            self.raw["draft"].append(logits)
            return super().proposal(logits)

        def target_scores(self, logits: Tensor) -> Tensor:
            self.raw["target"] = logits[..., : self.vocabulary]
            return super().target_scores(logits)

        def verified(self, drafted: Drafted) -> Emitted:
            raw = {"target": self.raw["target"], "draft": None}
            if len(self.raw["draft"]) == drafted.tokens.shape[1]:
                raw["draft"] = torch.stack(self.raw["draft"], 1)
            self.raw = {"target": None, "draft": []}
            notes.draft_tokens += drafted.tokens.numel()
            noted = Noted(self, notes, drafted, raw)
            noted.readings()
            noted.scores()
            at = notes.blocks * rows
            for row in sorted({(at + k) % len(self.open) for k in range(rows)}):
                noted.rows(row)
            given = super().verified(drafted)
            notes.blocks += 1
            notes.noise.iteration = notes.blocks
            return given

        def continue_with(self, rows: list[int]) -> None:
            if rows and len(rows) < len(self.open):
                for readings in self.readings.values():
                    readings.select(rows)
            super().continue_with(rows)

    return Watched


class Noted:
    """What is noted of one batch of blocks, before it is verified. raw: logits [B, n, V] of target and draft; None of a
    model whose logits did not pass through ``target_scores`` or ``proposal``."""

    def __init__(self, loop: Any, notes: Notes, drafted: Drafted, raw: dict[str, Tensor | None]):
        self.loop, self.notes, self.drafted, self.raw = loop, notes, drafted, raw
        self.blocks = drafted.tokens.tolist()
        self.texts = [loop.texts[row] for row in loop.open]
        for name, way in (("target", "target_scores"), ("draft", "proposal")):
            if raw[name] is None:
                notes.left_out[f"{name} rows"] = f"this loop does not hand the {name}'s logits to {way}()"

    def readings(self) -> None:
        """The target's last pass read text and block, the draft's last gamma passes the text and 0, 1, ... of it."""
        gamma = self.drafted.tokens.shape[1]
        for name, readings in self.loop.readings.items():
            lengths = [gamma] if name == "target" else list(range(gamma))
            if len(readings.calls) < len(lengths):
                self.notes.left_out.setdefault(
                    f"{name} reading",
                    f"fewer passes of the {name} were heard than a block takes, in iteration {self.notes.blocks} first",
                )
                readings.calls.clear()
                continue
            for seen, length in zip(readings.calls[-len(lengths) :], lengths, strict=True):
                for row, (text, block) in enumerate(zip(self.texts, self.blocks, strict=True)):
                    self.notes.read += 1
                    wrong = readings.misread(seen, row, text + block[:length])
                    if wrong:
                        where = name, self.loop.open[row], self.notes.blocks, len(text) + length
                        self.notes.misread.append(Misread(*where, *wrong))
            readings.calls.clear()

    def scores(self) -> None:
        """The laws to be verified are the warped logits: the same numbers, worked on in the same way."""
        given = self.drafted.probabilities()
        for name, law in (("target", given.target), ("draft", given.draft)):
            raw = self.raw[name]
            if raw is None:
                continue
            expected = self.notes.warp(raw).softmax(-1)
            distances = ((law - expected).abs().sum(-1) / 2).tolist()
            for row, found in enumerate(distances):
                self._note(self.notes.scores, name, row, found)

    def rows(self, row: int) -> None:
        """The logits of one row of the batch are those of a pass over its whole text."""
        text, block = self.texts[row], self.blocks[row]
        for name, whole in (("target", text + block), ("draft", text + block[:-1])):
            readings = self.loop.readings[name]
            if len(whole) - 1 > readings.last_position:
                return  # the block's end is beyond the context, and will be cut
            readings.paused = True
            logits = one_shot(self.loop.caches[name].model, whole, self.loop.vocabulary)[len(text) - 1 :]
            readings.paused = False
            raw = self.raw[name]
            if raw is not None:
                self._note(self.notes.rows, name, row, apart(logits, raw[row].to(logits.dtype)).tolist())
            if name == "draft":
                self.notes.drafted(self.notes.warp(logits).softmax(-1), self.drafted.tokens[row])

    def _note(self, notes: list[RowSeen], name: str, row: int, distances: list[float]) -> None:
        start = len(self.texts[row])
        for place, distance in enumerate(distances):
            notes.append(RowSeen(name, self.loop.open[row], self.notes.blocks, start + place, distance))
