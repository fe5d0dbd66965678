"""Texts of a forged pair, counted and compared with the law that the target was forged from."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import Any, NamedTuple

from ....models.errors import InputError
from ....models.forge import as_markov
from ....models.law import Markov, Prefix, prefix_key
from ....models.problem import Problem, as_json
from ....models.rationals import as_float, as_fraction
from ....proofs.field import in_field
from ....proofs.laws.reference_laws import joint_law
from ....stattests.arguments import BETA
from ....stattests.rounding import deviation
from ....verifiers.details import TextsDetail
from ....verifiers.evidence import NO_EVIDENCE, REFUTED, Evidence, LawEntry, Method, Witness
from ..completed_law import verdict_of_counts

MOST_LOG2 = 16
"""Base-2 logarithm of the number of outcomes of a window, V^(gamma + 1), that can be counted."""


class Window(NamedTuple):
    """A window of gamma + 1 consecutive tokens of the texts.

    first: the place of the first of them.
    law: their joint law, over QQ.
    counts: how often they came.
    """

    first: int
    law: Mapping[Prefix, Any]
    counts: Counter

    def shortened(self, length: int) -> tuple[Counter, dict[Prefix, float]]:
        """Return counts and law of its first tokens alone."""
        seen, law = (_summed(weights, lambda text: text[:length]) for weights in (self.counts, self.law))
        return seen, dict.fromkeys(seen, 0.0) | {text: as_float(p) for text, p in law.items()}

    def at(self, place: int) -> tuple[Counter, Counter]:
        """Return counts and law of the token at one place."""
        return _summed(self.counts, lambda text: text[place]), _summed(self.law, lambda text: text[place])


def _summed(weights: Mapping[Prefix, Any], part: Callable[[Prefix], Any]) -> Counter:
    sums: Counter = Counter()
    for text, weight in weights.items():
        sums[part(text)] += weight
    return sums


def text_length(problem: Problem) -> int:
    """Return the tokens of a text: a window of gamma + 1, and one from its last token on, by later iterations.

    Raises: InputError if a window has too many outcomes to be counted.
    """
    length = problem.gamma + 1
    if length * log2(problem.vocabulary) > MOST_LOG2:
        raise InputError(
            f"{problem.name}: {problem.vocabulary}^{length} outcomes of gamma + 1 tokens are too many to be counted; "
            f"expected at most {2**MOST_LOG2:,}"
        )
    return 2 * length - 1


def judged(problem: Problem, counts: Counter, alpha: float, complete: bool = True, lost: float = 0.0) -> Evidence:
    """Test whether texts of 2 gamma + 1 tokens follow the target's law, M_b(x_1) M_b(x_2 | x_1) ...

    The first i = 1..gamma + 1 tokens of either window are tested, and no text may have a token of probability 0.
    alpha: the rate of false alarms.
    complete: whether sampling came to its end.
    lost: bound on the probability that a text is written and not counted, which may depend on the text.
    Guarantee: refuted with probability at most alpha under the law, for independent texts. A deviation of the law of a
    window above ``bound`` is missed with probability BETA (``deviation``); ``TextsDetail.bounds`` has the bounds by the
    places of the tokens. If sampling was cut short, the time of that may depend on the texts: then only a token of
    probability 0 refutes.
    """
    length, n = problem.gamma + 1, sum(counts.values())
    target = as_markov(problem.target, problem.vocabulary, "target")
    places = [(window, k) for window in _windows(problem, target, counts) for k in range(1, length + 1)]
    each = alpha / len(places)
    tests = [deviation(*window.shortened(k), lost, each, BETA) for window, k in places]
    impossible = _impossible(target, counts)
    best = min(tests, key=lambda test: test.p_value)
    refuted = bool(impossible) or (complete and any(verdict_of_counts(test, lost) == REFUTED for test in tests))
    apart = bound = witness = bounds = None
    if refuted:
        apart = max(test.distance.lower for test in tests)
        witness = _witness(problem, [window for window, k in places if k == length], impossible, n)
    elif complete:
        limits = [min(1.0, test.limit + lost) for test in tests]
        bounds = {f"{w.first + 1}-{w.first + k}": limit for (w, k), limit in zip(places, limits)}
        bound = max(limits)
    detail = TextsDetail(
        samples=n, tokens=text_length(problem), statistic=best.fit.statistic if best.fit.impossible is None else None,
        degrees_of_freedom=best.fit.freedom, p_value=min(1.0, len(tests) * best.p_value), p_value_by=best.fit.method,
        false_alarm_rate=alpha, miss_rate=BETA, dtype="float32", total_variation_at_least=apart, bounds=bounds,
        impossible=sum(impossible.values()) if refuted else None,
    )  # fmt: skip
    return Evidence(
        claim="lossless", method=Method.CHI_SQUARE, verdict=REFUTED if refuted else NO_EVIDENCE, problem=problem.name,
        total_variation=apart, bound=bound, witness=witness, detail=detail,
    )  # fmt: skip


def _windows(problem: Problem, target: Markov, counts: Counter) -> Iterator[Window]:
    """Yield the two windows, each with its law: the second begins with the token that the first ends with."""
    length, start = problem.gamma + 1, target.start
    for first in (0, length - 1):
        seen_from = Problem(problem.vocabulary, problem.gamma, Markov(start, target.after), target)
        seen = _summed(counts, lambda text, first=first: text[first : first + length])
        yield Window(first, joint_law(in_field(seen_from).target, length), seen)
        for _ in range(length - 1):
            start = tuple(sum(p * row[t] for p, row in zip(start, target.after)) for t in range(len(start)))


def _impossible(target: Markov, counts: Counter) -> Counter:
    """Count texts up to their first token of probability 0: an id beyond V, or none, is one too."""
    impossible: Counter = Counter()
    for text, times in counts.items():
        for i, token in enumerate(text):
            row = target.row(text[:i])
            if not (0 <= token < len(row) and row[token]):
                impossible[text[: i + 1]] += times
                break
    return impossible


def _witness(problem: Problem, windows: list[Window], impossible: Counter, n: int) -> Witness:
    """Return the laws of the single token that is furthest off, and of the text that is."""
    apart, rows = -1.0, []
    for window in windows:
        for place in range(problem.gamma + 1):
            seen, law = window.at(place)
            tokens = sorted(seen.keys() | law.keys())
            here = sum(abs(seen[t] / n - as_float(law[t])) for t in tokens)
            if here > apart:
                name = f"token {window.first + place + 1}"
                apart, rows = here, [_entry(f"{name} = {t}", law[t], seen[t], n) for t in tokens]
    if impossible:
        text = max(impossible, key=lambda text: impossible[text])
        worst = _entry(prefix_key(text), 0, impossible[text], n)
    else:
        window, text = max(
            ((w, text) for w in windows for text in w.law),
            key=lambda at: abs(at[0].counts[at[1]] / n - as_float(at[0].law[at[1]])),
        )
        worst = _entry(("..., " if window.first else "") + prefix_key(text), window.law[text], window.counts[text], n)
    return Witness(**vars(worst), problem=as_json(problem), laws=(*rows, worst))


def _entry(sequence: str, expected: Any, seen: int, n: int) -> LawEntry:
    exact = str(as_fraction(expected))
    return LawEntry(sequence, exact if len(exact) <= 20 else f"{as_float(expected):.6g}", f"{seen}/{n}")
