"""Block efficiency, and wall clock against plain decoding of the same prompts in the same run."""

from math import exp, log, sqrt
from typing import Any

from scipy.stats import t

from ....models.generating.efficiency import block_efficiency, wall_clock_speedup
from ....models.generating.result import Generated
from ....verifiers.evidence import Evidence
from .session import Session

REPEATS = 5
CONFIDENCE = 0.95


class Timed:
    """The loop and plain decoding in turns, the one that begins changing; nothing else runs between them."""

    name = "wall clock"

    def __init__(self, run: Session):
        self.run = run
        self.pairs: list[tuple[Generated, Generated]] = []

    def go(self) -> None:
        run, prompts = self.run, self.run.batch()
        length = run.options.new_tokens
        for repeat, seed in zip(range(REPEATS), run.seeds(5), strict=False):
            run.step("wall clock", repeat, REPEATS)
            if repeat % 2:
                plain = run.plainly(prompts, seed, length)
                self.pairs.append((run.generated(prompts, seed, length), plain))
            else:
                ours = run.generated(prompts, seed, length)
                self.pairs.append((ours, run.plainly(prompts, seed, length)))

    def evidence(self, complete: bool) -> list[Evidence]:
        return []

    def told(self) -> dict[str, Any]:
        """Both figures with their intervals; nothing where nothing was measured.

        Student's interval for the mean of the logarithms of the ratios, one for each repeat.
        """
        if not self.pairs:
            return {}
        ours, plain = ([pair[k] for pair in self.pairs] for k in (0, 1))
        ratios = [log(wall_clock_speedup([a], [b])) for a, b in self.pairs]
        efficiencies = [log(block_efficiency([a])) for a, _ in self.pairs]
        return {
            "block_efficiency": block_efficiency(ours),
            "block_efficiency_interval": _interval(efficiencies),
            "wall_clock_speedup": wall_clock_speedup(ours, plain),
            "wall_clock_speedup_interval": _interval(ratios),
            "confidence": CONFIDENCE,
            "repeats": len(self.pairs),
            "rows": len(ours[0].tokens),
            "tokens": sum(len(text) for run in ours for text in run.tokens),
        }


def _interval(logs: list[float]) -> list[float] | None:
    """Of a positive quantity, from the logarithms of independent measurements."""
    n = len(logs)
    if n < 2:
        return None
    mean = sum(logs) / n
    error = sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1) / n) * float(t.ppf((1 + CONFIDENCE) / 2, n - 1))
    return [exp(mean - error), exp(mean + error)]
