"""Each bet's mean over all outcomes of a row is at most 1: rows with ties, boundaries, zeros and rounded entries."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, fsum

import numpy as np
import pytest

from draftproof.stattests.betting import Bets, bets_on, bets_on_sets, log_gains
from draftproof.stattests.eprocess import log_evidence
from draftproof.stattests.tilts import NUCLEI, NUCLEUS_SHARE, SETS, TILTS, WITH_DRAFTS, bets_on_transform, placed

pytestmark = pytest.mark.exact

MOST = 1 + 1e-12
"""Largest mean of a bet, with the rounding of its own arithmetic."""

RANDOM = np.random.default_rng(51)


def small_denominators(vocabulary):
    """Return a row of whole numbers 0..5, which has ties, zeros and sums that meet the nuclei's masses."""
    counts = RANDOM.integers(0, 6, size=vocabulary)
    counts[RANDOM.integers(vocabulary)] += 1
    return counts / counts.sum()


def rounded(row, bits):
    """Return a row whose entries have only so many bits, as from float32 (24) or bfloat16 (8)."""
    mantissa, exponent = np.frexp(row)
    return np.ldexp(np.round(mantissa * 2**bits) / 2**bits, exponent)


def nearly_summing_to_1(row):
    """Return a row that is rounded, and scaled so that it just passes the check of its sum."""
    return row / row.sum() * (1 + 9e-5)


ROWS = {
    "uniform": [np.full(n, 1 / n) for n in range(2, 61)],
    "boundaries": [np.array([0.8, 0.1, 0.05, 0.04, 0.01]), np.array([4, 1, 4, 4, 3, 1, 5, 3]) / 25],
    "small denominators": [small_denominators(n) for n in range(2, 13) for _ in range(12)],
    "one token": [np.array([1.0]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 1e-20, 0.0]), np.array([1e-9, 1, 1e-17])],
    "float32": [RANDOM.dirichlet(np.full(20, 0.3)).astype(np.float32) for _ in range(40)],
    "bfloat16": [nearly_summing_to_1(rounded(RANDOM.dirichlet(np.full(12, 0.5)), 8)) for _ in range(40)],
    "sums of 0.99991": [row * 0.99991 for row in RANDOM.dirichlet(np.full(9, 0.4), size=20)],
}


def law_of(row):
    """Return the row divided by its exact sum."""
    return normalised(tuple(map(float, row)))


@cache
def normalised(entries):
    exact = [Fraction(p) for p in entries]
    total = sum(exact)
    return np.array([float(p / total) for p in exact])


def mean(row, log_gains_of_tokens):
    """Return the mean factor of a bet over the tokens of a row, the largest of several.

    log_gains_of_tokens: [..., V], the log of the factor for each token.
    """
    p, gains = law_of(row), np.asarray(log_gains_of_tokens, dtype=float)
    return float((p[p > 0] * np.exp(gains[..., p > 0])).sum(axis=-1).max())


def tilt_means(row, draft, place=placed):
    """Return the mean of each tilt's bet on one row."""
    logs = place(row, np.arange(len(row)), draft).log_tilts
    return {name: mean(row, one) for name, one in zip(WITH_DRAFTS, logs, strict=True)}


def set_means(row, draft):
    """Return the mean of each bet of ``betting`` on one row, in the worst of its stakes."""
    tokens, vocabulary = np.arange(len(row)), len(row)
    rows = np.tile(row, (vocabulary, 1))
    bets = bets_on(rows, tokens, np.tile(draft, (vocabulary, 1)), proposed=np.full(vocabulary, vocabulary - 1))
    at_bonus = np.arange(2 * vocabulary) % 2 == 1
    pairs = bets_on(np.where(at_bonus[:, None], row, draft), tokens.repeat(2), bonus=at_bonus)["bonus"]
    bets["bonus"] = Bets(pairs.probability[at_bonus], pairs.hit[at_bonus])
    for name, chosen in {
        "all": rows >= 0,
        "possible": rows > 0,
        "none": rows < 0,
        "even": rows * 0 + tokens % 2,
    }.items():
        bets[name] = bets_on_sets(rows, tokens, chosen)
    found = {}
    for name, bet in bets.items():
        for slack in (0.0, 0.01):
            gains = log_gains(bet.probability[None], bet.hit[None], slack)[0]
            found[f"{name}, slack {slack}"] = mean(row, gains)
    return found


def transform_means(row):
    """Return the mean of each bet on the transform: the token is in the set for a share of the auditor's numbers."""
    chance = placed(row, np.arange(len(row))).probability_above()
    fair = bets_on_transform(np.zeros(1))
    found = {}
    for k, name in enumerate(SETS):
        inside = fsum(p * share for p, share in zip(law_of(row), chance[k], strict=True))
        won, lost = (log_gains(fair[name].probability[None], np.array([[hit]]), 0.0)[0, :, 0] for hit in (True, False))
        found[name] = float((inside * np.exp(won) + (1 - inside) * np.exp(lost)).max())
    return found


def evidence_mean(row, draws):
    """Return the mean of the e-process's evidence over all texts of so many draws."""
    p = law_of(row)
    p = p[p > 0]
    texts = list(product(range(len(p)), repeat=draws))
    counts = np.array([np.bincount(text, minlength=len(p)) for text in texts])
    return fsum(p[list(text)].prod() * exp(value) for text, value in zip(texts, log_evidence(counts, p)))


def drafts_of(row):
    """Return a draft's row for a target's: shifted by one, so that ties and zeros meet other entries."""
    return np.roll(row, 1)


@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_gains_on_average_while_tokens_follow_their_row(kind):
    for row in ROWS[kind]:
        means = tilt_means(row, drafts_of(row)) | set_means(row, drafts_of(row)) | transform_means(row)
        assert max(means.values()) <= MOST, (row, {name: value for name, value in means.items() if value > MOST})


@pytest.mark.parametrize("kind", ROWS)
def test_the_evidence_of_an_e_process_is_1_on_average(kind):
    for row in ROWS[kind]:
        for draws in (1, 2) if len(row) < 13 else (1,):
            assert evidence_mean(row, draws) <= MOST, row


def nuclei_by_two_summations(row):
    """Return the tilts' means if ``above`` decides who is inside, and another sum how much that is."""
    place, ends = placed(row, np.arange(len(row)), drafts_of(row)), np.cumsum(np.sort(row)[::-1])
    for k, mass in enumerate(NUCLEI, len(TILTS) - len(NUCLEI)):
        kept = ends[min(np.searchsorted(ends, mass), len(row) - 1)]
        place.log_tilts[k] = np.log(1 - NUCLEUS_SHARE + NUCLEUS_SHARE * (place.above < mass) / kept)
    return {name: mean(row, one) for name, one in zip(WITH_DRAFTS, place.log_tilts)}


def draft_as_given(row):
    """Return the mean of a tilt to a draft's row that is not divided by its sum."""
    place, draft = placed(row, np.arange(len(row))), drafts_of(row)
    return {"draft": mean(row, np.log1p(0.3 * (draft / place.own - 1)))}


def certain_by_rounding(row):
    """Return the mean of a bet on the most probable token, whose probability is taken as it was rounded."""
    bet = Bets(np.full(len(row), row.max()), np.arange(len(row)) == row.argmax())
    return {"argmax": mean(row, log_gains(bet.probability[None], bet.hit[None], 0.0)[0])}


@pytest.mark.parametrize(
    ("wrong", "row", "least"),
    [
        (nuclei_by_two_summations, np.full(20, 0.05), 1.05),
        (nuclei_by_two_summations, ROWS["boundaries"][1], 1.13),
        (draft_as_given, ROWS["bfloat16"][0], 1 + 1e-5),
        (certain_by_rounding, np.array([1.0, 1e-20]), np.inf),
    ],
)
def test_a_bet_that_gains_on_average_is_found_out(wrong, row, least):
    assert max(wrong(row).values()) >= least
