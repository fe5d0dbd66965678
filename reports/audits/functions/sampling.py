"""The statistical route of an audit: what real samples of the subject say."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....models.battery import drawn, toy
from ....models.errors import RunFailed
from ....models.law import prefix_key
from ....models.problem import Problem, as_json
from ....models.rationals import as_float
from ....proofs.interception.outcomes import decoded
from ....proofs.laws import joint_law
from ....proofs.measurement import Measurement, rounding_allowed
from ....proofs.sandbox import Sandbox
from ....stattests.completion import completed_counts
from ....stattests.explanation import most_off
from ....stattests.goodness import goodness_of_fit
from ....stattests.rounding import deviation
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence
from ..report import Report

ALPHA, BETA = 1e-6, 1e-3
"""Error rates: a false alarm in a whole audit, a miss at the detection limit of one problem."""

OWN_SAMPLES = 2000
"""Real samples that a measured law has to survive."""

Counts = dict[Any, int]


def sampled(sandbox: Sandbox, problem: Problem, count: int, seed: int, report: Report) -> Counts:
    """How often each outcome came with real random numbers.

    Raises: RunFailed if the subject stops answering; what was counted before is lost with it.
    """
    counts: Counts = {}
    if sandbox.ended:
        sandbox.start([problem, toy(1), drawn(3, 2, "generic")])
    for answer in sandbox.sample(problem, count, seed):
        for outcome, n in answer.get("counts", ()):
            counts[decoded(outcome)] = counts.get(decoded(outcome), 0) + n
        report.notice(answer.get("findings") or {})
    return counts


def contradiction(measurement: Measurement, counts: Mapping[Any, int]) -> str | None:
    """Why the measured law cannot be the subject's, if its samples say so.

    The threshold, p < 1e-12, is far below any that a right law would meet: the laws here are believed otherwise.
    """
    law = {o: as_float(p) for o, p in measurement.outcomes().items()}
    result = goodness_of_fit(counts, dict.fromkeys(counts, 0.0) | law)
    if result.impossible is not None:
        return f"real calls give {result.impossible[0]!s}, which the measured law excludes: it draws randomness from elsewhere"
    if result.p_value < 1e-12:
        return (
            f"real calls do not follow the measured law (p = {result.p_value:.1g}): it draws randomness from elsewhere"
        )
    return None


def statistical(
    subject, sandbox: Sandbox, lawless: list[Measurement], settings, report: Report, dtype: str
) -> list[Evidence]:
    """Evidence where the law cannot be had: samples of the completed tokens against the target (Lemma 2).

    Every route to a refutation of one problem has its share of that problem's rate (``deviation``), each holds at any
    sample size, so the rate of false alarms is at most ALPHA for all problems and precisions together.
    """
    ranked = sorted(lawless, key=lambda m: (m.problem.vocabulary**m.problem.gamma, m.problem.name))
    chosen = [ranked[k] for k in sorted({round(i * (len(ranked) - 1) / 5) for i in range(6)})]
    alpha = ALPHA / (len(chosen) * len(subject.dtypes))
    found: list[Evidence] = []
    for k, measurement in enumerate(chosen):
        problem = measurement.problem
        settings.progress(f"sampling {problem.name}", k, len(chosen))
        try:
            counts = sampled(sandbox, problem, settings.samples, settings.seed, report)
            evidence = goodness(measurement, counts, settings, alpha, dtype)
        except RunFailed as failure:
            report.fail(failure.kind, f"on problem {problem.name}: {failure}")
            continue
        found.append(evidence)
        if settings.stop_at_first and evidence.verdict == REFUTED:
            break
    return found


def goodness(measurement: Measurement, counts: Counts, settings, alpha: float, dtype: str) -> Evidence:
    """One problem's counts held against the target's law, with what they could have shown."""
    problem, (continued, length) = measurement.problem, measurement.completion()
    outputs = {o: n for o, n in counts.items() if measurement.is_output(o)}
    strange = {str(o): n for o, n in counts.items() if o not in outputs}
    n = sum(counts.values())
    target = measurement.in_use.target
    law = {o: as_float(p) for o, p in joint_law(target, length).items()}
    done = completed_counts(outputs, continued, length, np.random.default_rng([settings.seed, 1]))
    slack = 0.0 if dtype in ("float64", "exact") else rounding_allowed(problem.gamma, dtype)
    # Whatever came out is an outcome; the target gives probability 0 to what it does not list.
    outcomes = dict.fromkeys(done, 0.0) | law
    found = deviation(done | strange, dict.fromkeys(strange, 0.0) | outcomes, slack, alpha, BETA, strange)
    result = found.fit
    detail = {
        "samples": n,
        "statistic": result.statistic if result.impossible is None else None,
        "degrees_of_freedom": result.freedom,
        "p_value": found.p_value,
        "p_value_by": result.method,
        "total_variation_at_least": found.distance.lower,
        "total_variation_at_most": found.distance.upper,
        "rounding_allowed": slack,
        "false_alarm_rate": alpha,
        "miss_rate": BETA,
        "dtype": dtype,
        "why_not_exact": measurement.reason,
    }
    witness = None
    if found.refuted:
        if result.impossible is None:
            detail["explanation"] = str(most_off(done, outcomes))
        worst = (result.impossible or [max(outcomes, key=lambda o: abs(done.get(o, 0) / n - outcomes[o]))])[0]
        seen = result.impossible[1] if result.impossible else done.get(worst, 0)
        witness = {
            "problem": as_json(problem),
            "sequence": worst if isinstance(worst, str) else prefix_key(worst),
            "expected": f"{law.get(worst, 0.0):.6g}",
            "observed": f"{seen}/{n}",
        }
    verdict = REFUTED if found.refuted else NO_EVIDENCE
    return Evidence("lossless", "chi-square", verdict, problem.name, bound=found.limit, witness=witness, detail=detail)
