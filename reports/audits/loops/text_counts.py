"""Statistics on a forged pair: texts from the start token and their exact law, accepted tokens and E[tau]."""

from collections import Counter
from dataclasses import replace

from ....models.generating.several_paths import independent_paths
from ....models.problem import as_json
from ....models.rationals import as_float
from ....proofs.field import in_field, rational
from ....proofs.laws import expected_accepted, output_law
from ....stattests.arguments import BETA
from ....stattests.mean import mean_interval, min_detectable_mean
from ....verifiers.details import MeanDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, Method
from ..engines.texts import judged, text_length
from .forged_law import ForgedLaw
from .session import LoopSession, seen

COUNTED_TEXTS, COUNTED_ROWS = 20_000, 2_000
"""Texts, and rows of a batch, where the command does not say."""

COUNTS_SHARE = 0.5
"""Share of the run's time after which no further batch is begun: the limits are those of the texts that there are."""

MAX_OUTCOMES = 100_000
"""V^gamma (gamma + 1) V up to which E[tau] is enumerated."""


class TextCounts:
    """Texts of 2 gamma + 1 tokens behind <s>, counted; and tau of their first iterations."""

    def __init__(self, session: LoopSession, forged: ForgedLaw, alpha: float):
        self.session, self.forged, self.alpha = session, forged, alpha
        self.gamma = session.settings.first_gamma
        self.problem = forged.countable(session.settings.longest_gamma)
        self.texts: Counter = Counter()
        self.accepted: Counter = Counter()
        self.samples = session.options.samples or COUNTED_TEXTS

    def run(self) -> None:
        length, batch = text_length(self.problem), self.session.options.batch or COUNTED_ROWS
        for seed in self.session.seeds("counts"):
            done = sum(self.texts.values())
            if done >= self.samples or (done and self.session.past(COUNTS_SHARE)):
                return
            self.session.step("the law of the first tokens", done, self.samples)
            written = self.session.decode([[self.forged.start]] * min(batch, self.samples - done), length, seed)
            self.texts.update(self.forged.text(text, length) for text in written.tokens)
            self.accepted.update(written.iterations[0].accepted)

    def evidence(self, complete: bool) -> list[Evidence]:
        if not self.texts:
            return []
        law = judged(self.problem, self.texts, self.alpha, complete)
        law = law.with_detail(dtype=self.session.pair.dtype, law=self.forged.source)
        expected = self.expected_accepted() if complete else None
        return [law] if expected is None else [law, self.acceptance_evidence(expected)]

    def acceptance_evidence(self, expected: float) -> Evidence:
        """E[tau] of the first iteration, which is known exactly, against what was accepted."""
        calls = sum(self.accepted.values())
        measured = mean_interval(self.accepted, self.gamma, self.alpha)
        refuted = not measured.lower <= expected <= measured.upper
        limit = min_detectable_mean(calls, expected, self.gamma, self.alpha, BETA)
        what, both = "E[tau] of the first iteration", (f"{number:.6g}" for number in (expected, measured.mean))
        witness = seen(as_json(self.problem), what, *both)
        detail = MeanDetail(
            calls=calls, expected_accepted=expected, mean_accepted=measured.mean,
            interval=[measured.lower, measured.upper], false_alarm_rate=self.alpha, miss_rate=BETA,
            detection_limit=limit,
        )  # fmt: skip
        verdict, bound = (REFUTED, None) if refuted else (NO_EVIDENCE, limit)
        name = self.problem.name
        return self.session.finding("acceptance", Method.MEAN, verdict, name, detail, witness, bound=bound)

    def expected_accepted(self) -> float | None:
        """E[tau] of the verifier's first block, exactly; None if that takes too long."""
        gamma = self.gamma
        drafts = gamma + self.session.verifier.paths - 1  # one path, and the first token of each other one
        if self.forged.start ** (drafts + 1) * (drafts + 1) > MAX_OUTCOMES:
            return None
        verifier = self.session.verifier
        drafting = independent_paths(verifier.paths, gamma) if verifier.rule else None
        first = in_field(replace(self.forged.problem, gamma=gamma, drafting=drafting))
        return as_float(expected_accepted(output_law(first, verifier.reference(rational))))
