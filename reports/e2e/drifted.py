"""Drift between passes of different shapes, and what it allows: measured first, and apart from the loop under test."""

from typing import Any

from ...models.generating.evidence_passes import Drift, drift
from .session import Session

TEXTS = 4
"""Texts that are read in every shape, written by plain decoding."""

ROOM = 4.0
"""How many times the largest drift seen a single row or gap may be off, and the mean of all rows the mean drift."""

SLACK = 2.0
"""The same for the probability of a set on which is bet: every token pays for it, and one that is off by more gains
next to nothing."""

LEAST = 64 * 2.0**-23
"""Total variation that the rounding of a softmax in float32 is granted in any case."""

WIDEST = 0.25
"""Total variation beyond which nothing is called drift."""


class Drifts:
    """found: for target and draft the drift of each shape. Texts of this pair as plain decoding writes them."""

    def __init__(self, run: Session):
        self.run = run
        self.found: dict[str, list[Drift]] = {}

    def go(self) -> None:
        run = self.run
        run.step("drift", 0, 1)
        prompts = run.batch(TEXTS)
        written = run.plainly(prompts, next(run.seeds(3)), run.options.new_tokens)
        texts = [prompt + tokens for prompt, tokens in zip(prompts, written.tokens, strict=True)]
        gamma = run.settings["gamma"]
        block = (gamma if isinstance(gamma, int) else gamma.longest) + 1
        models = {"target": run.pair.target, "draft": run.pair.draft}
        self.found = {name: drift(model, texts, block, run.pair.vocabulary, run.warp) for name, model in models.items()}

    def allowed(self, model: str) -> tuple[float, float]:
        """Total variation that a row, and the mean of the rows, of this model may be off by."""
        raw = [each.total_variation for each in self.found[model]]
        return tuple(min(WIDEST, ROOM * max(each[name] for each in raw) + LEAST) for name in ("max", "mean"))  # type: ignore[return-value]

    @property
    def slack(self) -> float:
        """What the probability of a set may be off by, as sampled."""
        return min(WIDEST, SLACK * max(each.warped["max"] for part in self.found.values() for each in part) + LEAST)

    @property
    def tie(self) -> float:
        """Gaps of two logits of the target below this are ties."""
        return ROOM * max(each.gap for each in self.found["target"]) + LEAST

    def told(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [each._asdict() for each in part] for name, part in self.found.items()}
