"""Clean sources stay quiet for years, planted deviations are found within days, and an audit ends when it can."""

import math

import numpy as np

from draftproof.stattests.anytime import sequential_test
from draftproof.stattests.bounds import total_variation_bound
from draftproof.stattests.eprocess import cohort_alpha, log_evidence, unspent
from draftproof.tests.stattests.simulated_nights import nights_to_alarm, spread, uniform

ALPHA_400 = cohort_alpha(1e-3, 1) / 400
"""What one of 400 checks has of the default lifetime budget, as the first to be refuted."""


def test_a_late_deviation_is_found_within_3_nights_and_without_restarts_it_is_not():
    law, rng = uniform(16), np.random.default_rng(7)
    broken = law.copy()
    broken[:2] += [0.02, -0.02]
    threshold = -math.log(ALPHA_400)
    with_restarts = nights_to_alarm(law, broken, threshold, runs=20, rng=rng)
    assert with_restarts.max() <= 3
    without = nights_to_alarm(law, spread(law, 0.02), threshold, runs=20, rng=rng, restarts=False, most=4)
    hardest = nights_to_alarm(law, spread(law, 0.02), threshold, runs=20, rng=rng, most=10)
    assert np.median(hardest) <= 3
    assert np.isinf(without).mean() > 0.5


def test_an_audit_ends_as_soon_as_it_can():
    law, rng = uniform(8), np.random.default_rng(9)
    clean = sequential_test(lambda n: rng.multinomial(n, law), law, bound=0.02, max_draws=10**6)
    assert not clean.refuted
    assert clean.upper <= 0.02
    assert clean.draws < 10**6
    broken = sequential_test(lambda n: rng.multinomial(n, spread(law, 0.2)), law, bound=0.02)
    assert broken.refuted
    assert broken.draws <= 5000
    out = sequential_test(lambda n: rng.multinomial(n, law), law, bound=0.001, max_draws=5000)
    assert (out.refuted, out.draws) == (False, 5000)
    assert out.upper > 0.001


def test_an_audit_that_meets_the_impossible_ends_there_and_names_it():
    found = sequential_test(lambda n: np.array([n - 3, 0, 3]), [0.5, 0.5, 0.0])
    assert found.refuted
    assert found.impossible == (2, 3)
    assert found.draws == 1000


def test_an_audit_refutes_where_the_evidence_reaches_one_in_alpha_and_not_before():
    law, counts = uniform(4), np.array([290, 230, 240, 240])
    log_e = float(log_evidence(counts, law))
    assert log_e > 0.1
    for alpha, refuted in ((math.exp(-log_e) * 1.001, True), (math.exp(-log_e) * 0.999, False)):
        assert sequential_test(lambda n: counts, law, alpha=alpha, max_draws=1000).refuted == refuted


def test_the_bound_of_an_audit_spends_its_rate_over_the_looks():
    """alpha_j = alpha (unspent(j) - unspent(j + 1)), never all of alpha at one look."""
    law, rng, alpha, seen = uniform(4), np.random.default_rng(15), 1e-3, []

    def draw(n):
        seen.append(rng.multinomial(n, law))
        return seen[-1]

    found = sequential_test(draw, law, alpha=alpha, max_draws=2000)
    assert len(seen) > 5
    shares = [alpha * (unspent(look) - unspent(look + 1)) for look in range(len(seen))]
    assert sum(shares) < alpha
    so_far = np.cumsum(seen, axis=0)
    bounds = [total_variation_bound(row, law, share).upper for row, share in zip(so_far, shares, strict=True)]
    assert found.upper == min(bounds)
    assert found.upper > min(total_variation_bound(row, law, alpha).upper for row in so_far)
