"""What a check can see: the smallest deviation that becomes an alarm within some nights."""

import math
from collections.abc import Sequence
from typing import Any

from ....stattests.anytime import min_detectable_anytime
from ....stattests.eprocess import cohort_alpha

NIGHT_HORIZONS = (1, 7)
"""Nights until the alarm, the first deviating one included."""

MISS_RATE = 1e-3
"""Probability that a deviation at the limit or above is not in alarm by then."""


def detection_limits(
    law: Sequence[float], draws: int, nights: int, cohort: int, checks: int, alpha: float
) -> dict[str, Any]:
    """Return the total variation, in any direction, that becomes an alarm within NIGHT_HORIZONS nights, as JSON.

    law: probabilities of the sequences
    draws: of each night
    nights: that the check has seen; the deviation begins tonight or on the next one
    cohort: number of the check's cohort
    checks: in that cohort
    alpha: lifetime error rate
    A total variation of 1 means that no deviation is certain to be detected.
    Guarantee: missed with probability MISS_RATE at most (``min_detectable_anytime``). The share of alpha is rounded
    down to a power of e and the night up to a power of 2, so that checks share the answer; it is too large by a few
    percent.
    """
    share = math.exp(math.floor(math.log(cohort_alpha(alpha, cohort))))
    begins = 1 << nights.bit_length()
    within = [
        {"nights": n, "total_variation": min_detectable_anytime(draws, law, n, share, MISS_RATE, checks, begins)}
        for n in NIGHT_HORIZONS
    ]
    return {"draws_a_night": draws, "miss_rate": MISS_RATE, "within": within}
