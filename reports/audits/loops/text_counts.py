"""Statistics on a forged pair: texts from the start token against their exact law, and accepted tokens against E[tau]."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....proofs.field import in_field, rational
from ....proofs.laws import expected_accepted, output_law
from ....stattests.mean import mean_interval, min_detectable_mean
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Witness
from ....verifiers.lenient_token_verification import lenient_token_verification
from ....verifiers.registry import REFERENCES, Reference
from ..engines.texts import judged, text_length
from ..error_rates import BETA
from .forged_law import Known
from .session import LoopSession

SAMPLES, TOGETHER = 20_000, 2_000
"""Texts, and rows of a batch, where the command does not say."""

MOST_PATHS = 100_000
"""V^gamma (gamma + 1) V up to which E[tau] is enumerated."""


class TextCounts:
    """Texts of 2 gamma + 1 tokens behind <s>, counted; and tau of their first iterations."""

    name = "law"

    def __init__(self, session: LoopSession, known: Known, alpha: float):
        self.session, self.known, self.alpha = session, known, alpha
        gamma = session.settings["gamma"]
        self.first = gamma if isinstance(gamma, int) else gamma.first
        self.problem = self.known.windows(gamma if isinstance(gamma, int) else gamma.longest)
        self.texts: Counter = Counter()
        self.accepted: Counter = Counter()
        self.samples = session.options.samples or SAMPLES

    def run(self) -> None:
        length, together = text_length(self.problem), self.session.options.batch or TOGETHER
        for seed in self.session.seeds(1):
            done = sum(self.texts.values())
            self.session.step("the law of the first tokens", done, self.samples)
            if done >= self.samples:
                return
            rows = min(together, self.samples - done)
            found = self.session.generated([[self.session.start]] * rows, seed, length)
            self.texts.update(self.known.text(text, length) for text in found.tokens)
            self.accepted.update(found.iterations[0].accepted)

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.texts:
            return []
        law = judged(self.problem, self.texts, self.alpha, complete)
        law = replace(law, detail={**law.detail, "dtype": self.session.pair.dtype, "law": self.known.source})
        return [law, *([accepted] if complete and (accepted := self.acceptance()) else [])]

    def acceptance(self) -> Evidence | None:
        """E[tau] of the first iteration, which is known exactly, against what was accepted."""
        expected = self.expected()
        if expected is None:
            return None
        n = sum(self.accepted.values())
        found = mean_interval(self.accepted, self.first, self.alpha)
        off = not found.lower <= expected <= found.upper
        limit = min_detectable_mean(n, expected, self.first, self.alpha, BETA)
        witness = Witness(
            problem=as_json(self.problem),
            sequence="E[tau] of the first iteration",
            expected=f"{expected:.6g}",
            observed=f"{found.mean:.6g}",
        )
        return Evidence(
            claim="acceptance",
            method="mean",
            verdict=REFUTED if off else NO_EVIDENCE,
            problem=self.problem.name,
            bound=None if off else limit,
            witness=witness if off else None,
            detail={
                "dtype": self.session.pair.dtype, "calls": n, "expected_accepted": expected, "mean_accepted": found.mean,
                "interval": [found.lower, found.upper], "false_alarm_rate": self.alpha, "miss_rate": BETA,
                "detection_limit": limit,
            },
        )  # fmt: skip

    def expected(self) -> float | None:
        """E[tau] of the verifier's first block, exactly; None if that takes too long."""
        start, whole = self.session.start, self.known.problem
        if start ** (self.first + 1) * (self.first + 1) > MOST_PATHS:
            return None
        problem = Problem(whole.vocabulary, self.first, whole.target, whole.draft)

        return as_float(expected_accepted(output_law(in_field(problem), reference_of(self.session, rational))))


def reference_of(session: LoopSession, number: Callable[[Fraction], Any]) -> Reference:
    """The verifier in its exact form, for rows of such numbers."""
    if session.lenience is None:
        return REFERENCES[session.rule.name]
    verify: Any = lenient_token_verification(number(Fraction(str(session.lenience))))
    return Reference(session.rule.name, verify, "Leviathan et al. 2023, Appendix A.5")
