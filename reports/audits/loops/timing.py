"""Block efficiency, and wall clock against plain decoding of the same prompts in the same session."""

from math import exp, log, sqrt
from typing import Any

from scipy.special import stdtrit

from ....models.errors import RunFailed
from ....models.generating.result import Generated, block_efficiency, wall_clock_speedup
from ....verifiers.evidence import Evidence
from .session import LoopSession

TIMED_REPEATS = 5
"""Times that the loop and plain decoding are timed."""

TIMING_SHARE = 0.9
"""Share of the run's time after which no further repeat is begun."""

CONFIDENCE = 0.95
"""Confidence of the intervals of both figures."""


class Timing:
    """A measurement of the wall clock of the loop and of plain decoding, which take turns at beginning."""

    def __init__(self, session: LoopSession):
        self.session = session
        self.pairs: list[tuple[Generated, Generated]] = []
        self.late = False

    def run(self) -> None:
        session, prompts, length = self.session, self.session.batch(), self.session.options.new_tokens
        loop, plain = session.decode, session.decode_plainly
        for repeat, seed in zip(range(TIMED_REPEATS), session.seeds("timing"), strict=False):
            self.late = session.past(TIMING_SHARE)
            if self.late:
                return
            session.step("wall clock", repeat, TIMED_REPEATS)
            try:
                first, second = (
                    decode(prompts, length, seed) for decode in ((plain, loop) if repeat % 2 else (loop, plain))
                )
            except RunFailed:
                self.late = session.past(1.0)
                if not self.late:
                    raise
                return
            self.pairs.append((second, first) if repeat % 2 else (first, second))

    def evidence(self, complete: bool) -> list[Evidence]:
        return []

    def notices(self) -> dict[str, str]:
        """Return a notice if the time was up before all repeats."""
        limit = f"--timeout {self.session.options.timeout:g}"
        done = f"{len(self.pairs)} of {TIMED_REPEATS} repeats in the time given ({limit})"
        return {"fewer repeats": f"wall clock: {done}"} if self.late else {}

    def figures(self) -> dict[str, Any]:
        """Return both figures with their intervals; nothing if nothing was measured.

        They are Student's intervals for the mean of the logarithms of the ratios, one for each repeat.
        """
        if not self.pairs:
            return {}
        runs, plain = ([pair[k] for pair in self.pairs] for k in (0, 1))
        ratios = [log(wall_clock_speedup([a], [b])) for a, b in self.pairs]
        efficiencies = [log(block_efficiency([a])) for a, _ in self.pairs]
        return {
            "block_efficiency": block_efficiency(runs),
            "block_efficiency_interval": _interval(efficiencies),
            "wall_clock_speedup": wall_clock_speedup(runs, plain),
            "wall_clock_speedup_interval": _interval(ratios),
            "confidence": CONFIDENCE,
            "repeats": len(self.pairs),
            "rows": len(runs[0].tokens),
            "tokens": sum(len(text) for run in runs for text in run.tokens),
        }


def _interval(logs: list[float]) -> list[float] | None:
    """Return the interval of a positive quantity from the logarithms of independent measurements."""
    n = len(logs)
    if n < 2:
        return None
    mean = sum(logs) / n
    error = sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1) / n) * float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return [exp(mean - error), exp(mean + error)]
