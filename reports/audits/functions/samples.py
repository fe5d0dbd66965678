"""Samples of a function that has no exact law, compared with the target's law."""

from ....models.errors import RunFailed
from ....models.problem import size_of
from ....proofs.laws.small_law import Measurement
from ....proofs.rounding.rounding_allowed import sampling_slack
from ....stattests.arguments import ALPHA, BETA
from ....verifiers.details import SamplesDetail
from ....verifiers.evidence import REFUTED, Evidence, Method
from ..completed_law import Counts, completed_law, verdict_of_counts
from .session import FunctionSession

MOST_PROBLEMS = 6
"""Problems without a law that are sampled, from the smallest to the largest."""


class Samples:
    """A part of an audit: samples of the completed tokens against the target's law (Lemma 2).

    Guarantee: a lossless subject is refuted with probability at most ALPHA, all problems and dtypes together: every
    route to a refutation of one problem has its share of that problem's rate, at any number of samples.
    """

    def __init__(self, session: FunctionSession):
        self.session = session
        self.judged: list[Evidence] = []

    def run(self) -> None:
        session = self.session
        lawless = [m for m in session.laws if not m.known and not m.out_of_scope]
        if not lawless or "statistical" not in session.settings.levels:
            return
        ranked = sorted(lawless, key=lambda m: (m.problem.drafts, m.problem.name))
        last, steps = len(ranked) - 1, MOST_PROBLEMS - 1
        chosen = [ranked[k] for k in sorted({round(i * last / steps) for i in range(MOST_PROBLEMS)})]
        alpha = ALPHA / (len(chosen) * len(session.subject.dtypes))
        for k, measurement in enumerate(chosen):
            problem = measurement.problem
            session.settings.progress(f"sampling {problem.name}", k, len(chosen))
            try:
                counts = session.sample(problem, session.settings.samples)
            except RunFailed as failure:
                session.failed(failure, f"on problem {problem.name}")
                continue
            self.judged.append(goodness(measurement, counts, alpha, session.settings.seed))
            if session.settings.stop_at_first and self.judged[-1].refuted:
                break

    def evidence(self, complete: bool) -> list[Evidence]:
        return [self.session.with_replay(e) for e in self.judged]


def goodness(measurement: Measurement, counts: Counts, alpha: float, seed: int) -> Evidence:
    """Compare one problem's counts with the target's law, and say what they could have shown.

    alpha: the rate of false alarms of this problem.
    seed: of the completion.
    """
    problem, dtype = measurement.problem, measurement.dtype
    law = completed_law(problem, measurement.modifies_target, measurement.in_use)
    sequences, malformed = law.completed(counts, seed)
    slack = sampling_slack(measurement.in_use, dtype, measurement.modifies_target)
    deviation = law.deviation(sequences, malformed, slack, alpha)
    fit = deviation.fit
    detail = SamplesDetail(
        samples=sum(counts.values()), statistic=fit.statistic if fit.impossible is None else None,
        degrees_of_freedom=fit.freedom, p_value=deviation.p_value, p_value_by=fit.method,
        total_variation_at_least=deviation.distance.lower, total_variation_at_most=deviation.distance.upper,
        rounding_allowed=slack, false_alarm_rate=alpha, miss_rate=BETA, dtype=dtype, why_not_exact=measurement.reason,
        **size_of(problem),
    )  # fmt: skip
    verdict = verdict_of_counts(deviation, slack)
    witness = law.witness(sequences, malformed, fit) if verdict == REFUTED else None
    return Evidence(
        claim="lossless", method=Method.CHI_SQUARE, verdict=verdict, problem=problem.name, bound=deviation.limit,
        witness=witness, detail=detail,
    )  # fmt: skip
