"""Drift between passes of different shapes, and what it allows: measured first, and apart from the loop under test."""

from typing import Any

from ....models.generating.caches import CachedModel
from ....verifiers.evidence import Evidence
from .forward_passes import Drift, drift
from .session import LoopSession

TEXTS = 4
"""Texts that are read in every shape, written by plain decoding."""

ROOM = 4.0
"""How many times the largest drift seen a single row or gap may be off, and the mean of all rows the mean drift."""

SLACK = 2.0
"""The same for the probability of a set on which is bet: every token pays for it, and one that is off by more gains
next to nothing."""

LEAST = 64 * 2.0**-23
"""Total variation that the rounding of a softmax in float32 is granted in any case."""

ULPS = 2.0
"""Units in the last place of the largest logit that each logit may be off by in any case: with d of them together, a gap
by 2 d, and total variation by tanh(d / 2) <= d / 2."""

SHORTEST = 32
"""Tokens that texts have at least, and three blocks: what is read in one chunk does not drift."""

WIDEST = 0.25
"""Total variation of drift, with its room, beyond which rows are not judged at all."""


class Drifts:
    """found: for target and draft the drift of each shape. Texts of this pair as plain decoding writes them."""

    def __init__(self, session: LoopSession):
        self.session = session
        self.found: dict[str, list[Drift]] = {}

    def run(self) -> None:
        session = self.session
        session.step("drift", 0, 1)
        gamma = session.settings["gamma"]
        block = (gamma if isinstance(gamma, int) else gamma.longest) + 1
        prompts, together, seeds = session.batch(TEXTS), session.rows > 1, session.seeds(3)
        length = self.length(max(map(len, prompts)), block, together)
        batches = [prompts] if together else [[prompt] for prompt in prompts]
        texts = []
        for batch in batches:
            written = session.plainly(batch, next(seeds), length, eos=())
            texts += [prompt + tokens for prompt, tokens in zip(batch, written.tokens, strict=True)]
        models = {"target": session.pair.target, "draft": session.pair.draft}
        for name, model in models.items():
            self.found[name] = drift(model, texts, block, session.pair.vocabulary, session.warp, together)

    def length(self, prompt: int, block: int, together: bool) -> int:
        """Tokens to write: as many as the loop, at the least; more than that only as the context has room."""
        new, target = self.session.options.new_tokens, self.session.pair.target
        room = self.session.pair.context or 2**62
        if together:
            room = min(room, CachedModel(target, 1).window)
        return max(new, min(max(SHORTEST, 3 * block), room - prompt))

    def allowed(self, model: str) -> tuple[float, float]:
        """Total variation that a row, and the mean of the rows, of this model may be off by; above WIDEST it says nothing."""
        found = self.found[model]
        least = ULPS / 2 * max(each.rounding for each in found)
        most, mean = (max(each.total_variation[name] for each in found) for name in ("max", "mean"))
        return max(ROOM * most + LEAST, least), max(ROOM * mean + LEAST, least)

    @property
    def paid(self) -> float:
        """What the probability of a set may be off by, as sampled; above WIDEST bets say nothing."""
        found = [each for part in self.found.values() for each in part]
        least = ULPS / 2 * max(each.rounding for each in found)
        return max(SLACK * max(each.warped["max"] for each in found) + LEAST, least)

    @property
    def slack(self) -> float:
        """What bets pay."""
        return min(WIDEST, self.paid)

    @property
    def wide(self) -> bool:
        """Whether bets say nothing."""
        return self.paid > WIDEST

    @property
    def tie(self) -> float:
        """Gaps of two logits of the target below this are ties."""
        found = self.found["target"]
        return max(ROOM * max(each.gap for each in found) + LEAST, 2 * ULPS * max(each.rounding for each in found))

    def evidence(self, complete: bool) -> list[Evidence]:
        """None: drift is no part of the verdict."""
        return []

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [each._asdict() for each in part] for name, part in self.found.items()}
