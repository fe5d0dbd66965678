"""What problems of each wide vocabulary, and those of long blocks, are for: their rows show it."""

import numpy as np
import pytest

from draftproof.benchmarks.choose_wide_battery import ends
from draftproof.models.long_blocks import apart, regions, together
from draftproof.models.wide import LEAST_EXCHANGED, wide_battery

BATTERY = wide_battery()
SIZES = sorted({p.vocabulary for p in BATTERY if p.vocabulary >= LEAST_EXCHANGED})


def rows_of(problem, position):
    prefix = tuple(tokens[0] for tokens in problem.live[:position])
    return problem.drafted(prefix), problem.target_row(prefix), problem.draft_row(prefix)


def after_rejections(problem):
    """What of the law at the second position the first and the last token have as replacement of a rejected one."""
    drafted, target, draft = rows_of(problem, 1)
    over = (target - draft).clip(min=0.0)
    rejected = sum(max(draft[x] - target[x], 0.0) for x in drafted)
    return rejected * over[[0, -1]] / over.sum()


@pytest.mark.parametrize("vocabulary", SIZES)
def test_neither_end_is_drafted_and_each_has_much_of_what_replaces_a_rejected_token(vocabulary):
    problem = ends(vocabulary)
    assert problem in BATTERY and not {0, vocabulary - 1} & {*problem.live[0], *problem.live[1]}
    assert after_rejections(problem).min() > 0.1
    block = tuple(tokens[0] for tokens in problem.live)
    assert problem.target_row(block)[[0, -1]].tolist() == [0.25, 0.375]


REGIONS = {
    "p < c q": lambda p, q, top: p < 0.5 * q,
    "c q < p < q": lambda p, q, top: (0.95 * q < p) & (p < q),
    "p > c": lambda p, q, top: p > 0.95,
    "q > c": lambda p, q, top: q > 0.95,
    "q < d": lambda p, q, top: q < 0.01,
    "p < d": lambda p, q, top: p < 0.01,
    "little between": lambda p, q, top: (p < q) & (q - p < 0.01),
    "rejected although the likeliest": lambda p, q, top: (p < q) & (p == top) & (p < 0.5),
    "no token is likely": lambda p, q, top: top < 0.5,
}


@pytest.mark.parametrize("region", REGIONS)
def test_a_drafted_token_lies_in_each_region_of_the_probabilities(region):
    """A mistake can need a size and a region: so each size has one of every region."""
    problem = ends(32_769)
    found = 0
    for position in range(2):
        drafted, target, draft = rows_of(problem, position)
        chosen = [*drafted]
        found += int(np.count_nonzero(REGIONS[region](target[chosen], draft[chosen], target.max())))
    assert found


@pytest.mark.parametrize("gamma", [4, 6, 17, 33, 64])
def test_rows_of_long_blocks_over_few_tokens_are_exact_in_bfloat16(gamma):
    """Rows that rounding leaves with another sum excuse so much in each decision, 0.05 of blocks of 25."""
    for problem in (together(gamma), apart(gamma), *regions(gamma)):
        rows = [problem.target_row(prefix) for n in range(gamma + 1) for prefix in problem.prefixes(n)]
        rows += [problem.draft_row(prefix) for n in range(gamma) for prefix in problem.prefixes(n)]
        parts = 256 * np.array(rows)
        assert (parts == parts.round()).all() and (parts.sum(axis=1) == 256).all() and parts.min() >= 0
        assert any((row % 2 == 1).any() for row in parts)
