"""What a check would have seen: the least deviation that so many nights turn into an alarm."""

import math
from collections.abc import Sequence
from typing import Any

from ....stattests.anytime_design import min_detectable_anytime
from ....stattests.holm import cohort_alpha

WITHIN = (1, 7)
"""Nights, the first one that deviates included."""

MISS = 1e-3
"""The probability that a deviation of that size, or a larger one, is not in alarm by then."""


def detects(law: Sequence[float], draws: int, nights: int, cohort: int, checks: int, alpha: float) -> dict[str, Any]:
    """The detection limits of a check, in the JSON form of ``status``.

    Of a deviation that begins tonight or on the next night: the total variation from which on it is an alarm within
    WITHIN nights of as many draws, in whatever direction it lies.
    law: of the cells that a draw can fall in; draws: of a night; nights: that the check has seen; cohort: its number,
    checks: its size; alpha: the lifetime error rate. A total variation of 1 says that nothing is certain to be seen.
    Guarantee: missed with probability MISS at most (``min_detectable_anytime``). The share of alpha is rounded down to a
    power of e and the night up to a power of 2, so that checks share the answer; it is too large by a few percent.
    """
    share = math.exp(math.floor(math.log(cohort_alpha(alpha, cohort))))
    begins = 1 << nights.bit_length()
    return {
        "draws_a_night": draws,
        "miss_rate": MISS,
        "within": [
            {
                "nights": within,
                "total_variation": min_detectable_anytime(draws, law, within, share, MISS, checks, begins),
            }
            for within in WITHIN
        ],
    }
