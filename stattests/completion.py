"""Counts of completed tokens from counts of emitted tokens (Lemma 2), continued by our own draws."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ..models.law import Model, Prefix
from ..models.rationals import as_float


def completed_counts(
    counts: Mapping[Prefix, int], target: Model, length: int, generator: np.random.Generator
) -> Counter:
    """Continue each emitted sequence with tokens drawn from the target until it has ``length`` tokens.

    If the verifier is lossless the result is a sample of the target's joint law. Equal prefixes are continued
    together, so the time depends on their number and not on the number of samples.
    """
    done: Counter = Counter()
    open_: Counter = Counter()
    for output, n in counts.items():
        (done if len(output) >= length else open_)[output[:length]] += n
    while open_:
        prefix, n = open_.popitem()
        row = np.array([as_float(p) for p in target.row(prefix)])
        for token, m in enumerate(generator.multinomial(n, row / row.sum())):
            if m:
                longer = (*prefix, token)
                (done if len(longer) == length else open_)[longer] += int(m)
    return done
