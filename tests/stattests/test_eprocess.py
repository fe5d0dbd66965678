"""E-processes: never worth more than 1 under the law, at any stopping time; and what they do with bad input."""

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from draftproof.stattests.eprocess import EProcess, cohort_alpha, concentrations, holm, log_evidence, unspent

LAWS = [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))]


# ---------------------------------------------------------------- exactly, over all histories of a few nights


class Fortune:
    """The e-process by its definition, over exact rationals (the floats of the budget are rationals too)."""

    def __init__(self, law, most, starts=(), night=0):
        self.law, self.most, self.starts, self.night = law, most, list(starts), night

    @property
    def worth(self):
        return sum((w * self.evidence(x) for w, x in self.starts), start=Fraction(unspent(self.night)))

    def evidence(self, counts):
        worths = [self.against(counts, Fraction(c)) for c in concentrations(len(self.law))]
        return sum(worths) / len(worths)

    def against(self, counts, c):
        """Dirichlet-multinomial over multinomial, by rising factorials."""
        likely = Fraction(1)
        for p, x in zip(self.law, counts):
            for k in range(x):
                likely *= (c * p + k) / p
        for k in range(sum(counts)):
            likely /= c + k
        return likely

    def opened(self):
        weight = Fraction(unspent(self.night)) - Fraction(unspent(self.night + 1))
        starts = list(self.starts)
        if len(starts) == self.most:
            weight += self.dropped(starts)
        return type(self)(self.law, self.most, [*starts, (weight, (0,) * len(self.law))], self.night + 1)

    def dropped(self, starts):
        """Drop the start of least worth among the older half; its weight is lost."""
        older = starts[: len(starts) - self.most // 2]
        starts.remove(min(older, key=lambda start: start[0] * self.evidence(start[1])))
        return 0

    def added(self, counts):
        starts = [(w, tuple(a + b for a, b in zip(x, counts))) for w, x in self.starts]
        return type(self)(self.law, self.most, starts, self.night)


class Production(Fortune):
    """The same game with the code that runs."""

    def __init__(self, law, most, process=None):
        super().__init__(law, most)
        self.process = process or EProcess(list(map(float, law)), most=most)
        self.night = self.process.night

    @property
    def worth(self):
        return math.exp(self.process.log_e)

    def copied(self):
        return type(self.process).from_json(list(map(float, self.law)), json.loads(json.dumps(self.process.as_json())))

    def opened(self):
        process = self.copied()
        process.open_night()
        return type(self)(self.law, self.most, process)

    def added(self, counts):
        process = self.copied()
        process.add(np.array(counts))
        return type(self)(self.law, self.most, process)


def outcomes(law, n):
    """All counts of n draws with their probabilities."""
    for x in product(range(n + 1), repeat=len(law)):
        if sum(x) == n:
            ways = Fraction(math.factorial(n))
            for p, k in zip(law, x):
                ways *= p**k / math.factorial(k)
            yield x, ways


def best(game, nights, draws=1):
    """The most that can be expected by stopping when it seems best; draws of a night depend on the night before."""
    now = game.worth
    if not nights:
        return now
    opened = game.opened()
    later = sum(p * best(opened.added(x), nights - 1, 1 + x[0] % 2) for x, p in outcomes(game.law, draws))
    return max(now, later)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("most", [1, 2, 9])
def test_no_stopping_time_makes_more_than_1_of_it_exactly(law, most):
    assert best(Fortune(law, most), 4, 2) == 1


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_the_code_that_runs_is_the_exact_process_in_every_history(law, most):
    def agree(exact, code, nights, draws):
        assert code.worth == pytest.approx(float(exact.worth), rel=1e-10)
        if nights:
            opened, again = exact.opened(), code.opened()
            assert again.worth == pytest.approx(float(opened.worth), rel=1e-10)
            for x, _ in outcomes(law, draws):
                agree(opened.added(x), again.added(x), nights - 1, 1 + x[0] % 2)

    agree(Fortune(law, most), Production(law, most), 3, 2)


class KeepsDroppedWeight(Fortune):
    def dropped(self, starts):
        least = min(starts, key=lambda start: start[0] * self.evidence(start[1]))
        starts.remove(least)
        return least[0]


class BestConcentration(Fortune):
    def evidence(self, counts):
        return max(self.against(counts, Fraction(c)) for c in concentrations(len(self.law)))


@pytest.mark.parametrize("wrong", [KeepsDroppedWeight, BestConcentration])
def test_a_process_that_cheats_is_found_out_by_the_same_count(wrong):
    assert best(wrong(LAWS[0], 1), 4, 2) > 1


# ---------------------------------------------------------------- as it is used


def test_a_state_written_down_goes_on_as_if_it_had_not_been():
    rng = np.random.default_rng(2)
    law = rng.dirichlet(np.ones(7))
    one = EProcess(law, most=4)
    other = EProcess(law, most=4)
    for _ in range(12):
        counts = rng.multinomial(500, law)
        for process in (one, other):
            process.open_night()
            process.add(counts)
        other = EProcess.from_json(law, json.loads(json.dumps(other.as_json())))
        assert one.log_e == pytest.approx(other.log_e, abs=1e-12)
    assert len(one.as_json()["starts"]) == 4


def test_a_start_of_the_last_nights_is_not_given_up_however_poor_it_is():
    """Else a deviation could lose, by one unlucky night, the gambler that would have found it."""
    law, most = np.array([0.5, 0.5]), 6
    rich, poor = [9000, 1000], [5000, 5000]
    process = EProcess(law, most=most)
    for night in range(40):
        process.open_night()
        process.add(rich if night < 34 else poor)
        lengths = sorted(sum(start["counts"]) // 10_000 for start in process.as_json()["starts"])
        assert lengths[: min(night + 1, most // 2 + 1)] == list(range(1, min(night + 1, most // 2 + 1) + 1))


def test_a_draw_that_the_law_excludes_is_infinite_evidence_and_stays_so():
    process = EProcess([0.5, 0.5, 0.0])
    process.add([40, 60, 0])
    assert process.log_e < 1
    process.add([4, 5, 1])
    assert process.log_e == math.inf
    process.open_night()
    process.add([40, 60, 0])
    again = EProcess.from_json([0.5, 0.5, 0.0], json.loads(json.dumps(process.as_json())))
    assert again.log_e == math.inf
    assert again.impossible.tolist() == [0, 0, 1]


def test_evidence_of_many_draws_keeps_its_precision():
    law = np.array([0.5, 0.3, 0.2])
    n = 10**9
    z = np.array([30000, -20000, -10000])
    counts = (n * law).astype(np.int64) + z
    normal = []
    for c in concentrations(3):
        statistic = float((z**2 / (n * law)).sum())
        normal.append(-math.log1p(n / c) + statistic / 2 * n / (n + c))
    expected = np.logaddexp.reduce(normal) - math.log(len(normal))
    assert float(log_evidence(counts, law)) == pytest.approx(expected, abs=1e-3)


# ---------------------------------------------------------------- many checks


def test_holm_refutes_as_its_definition_says():
    alpha = 0.06
    peaks = np.log(np.array([3 / alpha, 1 / alpha - 1, 2 / alpha]))
    judged = holm(peaks, alpha)
    assert judged.alarm.tolist() == [True, False, True]
    assert np.exp(judged.threshold) == pytest.approx([3 / alpha, 1 / alpha, 2 / alpha])
    assert holm(np.log([3 / alpha - 1, 2 / alpha, 1 / alpha]), alpha).alarm.tolist() == [False, False, False]
    assert holm([math.inf, 0.0], alpha).alarm.tolist() == [True, False]


def test_the_shares_of_the_budget_add_up_to_less_than_all_of_it():
    left = [Fraction(unspent(n)) for n in range(5000)]
    shares = [a - b for a, b in pairwise(left)]
    assert left[0] == 1 and all(share > 0 for share in shares) and sum(shares) == 1 - left[-1] < 1
    assert [cohort_alpha(1e-3, n + 1) for n in range(9)] == pytest.approx([1e-3 * float(share) for share in shares[:9]])
