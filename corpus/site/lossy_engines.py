"""Rules of engines that do not keep the target's law by design: how far the first token is from it, by temperature.

``python -m draftproof.corpus.site.survey_command --lossy`` puts the table into the survey of the page. Both are closed
forms: Medusa's two functions are called for each draft token (``medusa`` unpacked), of SGLang's thresholds the rule is
written here as its JAX kernel has it, since its CUDA kernel runs nowhere here.
"""

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from draftproof.models.battery import audit_battery
from draftproof.models.rationals import as_float

TEMPERATURES = (0.5, 0.7, 1.0, 1.3)
MOST = 16
"""Tokens of the rows that are looked at."""

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function from both rows, at their temperature, to the law of the first token."""


class LossyRow(NamedTuple):
    """A rule at one temperature: means and largest of TV and of KL(emitted || target), over ``pairs`` of rows."""

    rule: str
    temperature: float
    tv: float
    most_tv: float
    kl: float
    most_kl: float
    pairs: int


def thresholds(single: float, acc: float) -> Rule:
    """SGLang's target-only rule: x is kept where its coin is at most p(x) / acc, or where p(x) >= single."""

    def law(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        kept = np.where(p >= single, 1.0, np.minimum(p / acc, 1.0))
        emitted = q * kept
        for x in np.flatnonzero(q * (1 - kept)):
            rest = np.where(np.arange(len(p)) == x, 0.0, p)
            emitted = emitted + q[x] * (1 - kept[x]) * rest / rest.sum()
        return emitted

    return law


def pairs() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the first rows of the battery's problems, of target and draft."""
    for problem in audit_battery():
        if problem.vocabulary <= MOST:
            rows = ([as_float(w) for w in model.row(())] for model in (problem.target, problem.draft))
            p, q = map(np.array, rows)
            yield p, q


def cooled(row: np.ndarray, temperature: float) -> np.ndarray:
    """Return the row at a temperature."""
    raised = row ** (1 / temperature)
    return raised / raised.sum()


def measured(name: str, rule: Rule) -> Iterator[LossyRow]:
    """Yield a row for each temperature."""
    for temperature in TEMPERATURES:
        tvs, kls = list[float](), list[float]()
        for p, q in pairs():
            p, q = cooled(p, temperature), cooled(q, temperature)
            law = rule(p, q)
            there = law > 0
            tvs.append(float(abs(law - p).sum() / 2))
            kls.append(float((law[there] * np.log(law[there] / p[there])).sum()))
        yield LossyRow(name, temperature, fmean(tvs), max(tvs), fmean(kls), max(kls), len(tvs))


def rules() -> dict[str, Rule]:
    """By name. Raises: NotASubject without Medusa."""
    from draftproof_engines.adapters.tree_posteriors import typical_law

    return {
        "Medusa, typical acceptance at its default thresholds (.3, .09)": typical_law(),
        "SGLang, both thresholds .9": thresholds(0.9, 0.9),
        "SGLang, both thresholds .5": thresholds(0.5, 0.5),
    }


def table(rows: list[Any]) -> list[str]:
    """Return the lines of the page."""
    head = ("rule", "temperature", "TV: mean", "largest", "KL: mean", "largest", "pairs of rows")
    cells = [head, ["---"] * len(head)]
    cells += [[r.rule, f"{r.temperature:g}", *(f"{x:.2g}" for x in r[2:6]), str(r.pairs)] for r in rows]
    return ["| " + " | ".join(cell) + " |" for cell in cells]


def lossy_rows() -> list[LossyRow]:
    """Return all of them. Raises: NotASubject without Medusa."""
    return [row for name, rule in rules().items() for row in measured(name, rule)]
