"""The samples needed are the inverse of every detection limit."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from draftproof import stattests
from draftproof.stattests import samples_needed

LIMITS = {
    "min_detectable_anytime": ((16, 3), {"checks": 7}),
    "min_detectable_betting": ((0.02,), {"families": 3, "slack": 0.001}),
    "min_detectable_by_bound": ((16, 1e-4), {}),
    "min_detectable_by_law_free": ((81,), {}),
    "min_detectable_equivalence": ((16,), {}),
    "min_detectable_goodness": ((1024,), {"alpha": 1e-9}),
    "min_detectable_homogeneity": ((9,), {}),
    "min_detectable_mean": ((0.3, 4.0), {}),
    "min_detectable_sequential": (((0.7, 0.2, 0.1),), {}),
}


def test_every_limit_is_among_them():
    assert set(LIMITS) == {name for name in stattests.__all__ if name.startswith("min_detectable_")}


@pytest.mark.parametrize("name", LIMITS)
@settings(deadline=None, derandomize=True, max_examples=10)
@given(st.integers(1, 10**7))
@example(20_000)
@pytest.mark.long
def test_samples_needed_for_what_n_samples_detect_are_n(name, n):
    limit, (arguments, options) = getattr(stattests, name), LIMITS[name]
    detected = limit(n, *arguments, **options)
    needed = samples_needed(limit, detected, *arguments, **options)
    assert needed <= n
    assert limit(needed, *arguments, **options) <= detected
    # Where the limit is at its largest, or has reached the slack, more samples change nothing.
    assert needed == n or limit(needed, *arguments, **options) == pytest.approx(detected, rel=1e-9)
    if n == 20_000:
        assert needed == n


def test_one_sample_fewer_would_not_do_and_stricter_rates_need_more():
    n = samples_needed(stattests.min_detectable_goodness, 0.01, cells=5)
    assert stattests.min_detectable_goodness(n, 5) <= 0.01 < stattests.min_detectable_goodness(n - 1, 5)
    assert samples_needed(stattests.min_detectable_goodness, 0.01, cells=5, alpha=1e-9) > n
    anytime = stattests.min_detectable_anytime
    assert samples_needed(anytime, 0.03, 8, nights=4) < samples_needed(anytime, 0.03, 8) / 3.5
