"""The level of each whole test by simulation: a right source is refuted at any time no more often than alpha says."""

import numpy as np
import pytest
from scipy.stats import binom

from draftproof.stattests.anytime import sequential_test
from draftproof.stattests.betting import SetBetting, bets_on
from draftproof.stattests.eprocess import EProcess, holm
from draftproof.stattests.tilts import (
    NUCLEI,
    NUCLEUS_SHARE,
    SETS,
    TILTS,
    WITH_DRAFTS,
    TiltBetting,
    bets_on_transform,
    placed,
)
from draftproof.tests.stattests.test_fair_bets import ROWS, law_of

pytestmark = pytest.mark.exact

ALPHA, TOKENS, NIGHTS = 0.05, 300, 10
BOUNDARY = ROWS["boundaries"][1]
TURNS = [np.full(8, 1 / 8), BOUNDARY, *[row for row in ROWS["small denominators"] if len(row) == 8][:6]]
"""Rows of a text, in turn; each token's also depends on whether the token before was even."""


def texts(runs, seed, turns=TURNS, length=TOKENS):
    """Yield right texts: which row each token is drawn from, and the tokens."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        places, token, tokens = [], 0, []
        for t in range(length):
            places.append((t + token % 2) % len(turns))
            token = int(rng.choice(8, p=law_of(turns[places[-1]])))
            tokens.append(token)
        yield np.array(places), np.array(tokens)


def by_sets(runs):
    """Return how often the bets on all usual sets refute."""
    alarms, rng = 0, np.random.default_rng(1)
    for places, tokens in texts(runs, 2):
        rows = np.array(TURNS)[places]
        bets = bets_on(
            rows,
            tokens,
            np.roll(rows, 1, axis=1),
            proposed=rng.integers(8, size=TOKENS),
            bonus=np.arange(TOKENS) % 4 == 3,
        )
        alarms += SetBetting(list(bets), ALPHA).observe(bets).refuted_at is not None
    return alarms


def by_tilts(runs, turns=TURNS, length=TOKENS, place=placed):
    """Return how often the bets on tilts, or those on sets of the transform, refute, each at ALPHA / 2."""
    every = [place(row, np.arange(8), np.roll(row, 1)) for row in turns]
    alarms, rng = 0, np.random.default_rng(3)
    for places, tokens in texts(runs, 4, turns, length):
        logs, above, own = (np.array([getattr(each, name) for each in every]) for name in ("log_tilts", "above", "own"))
        logs, above, own = logs[places, :, tokens].T, above[places, tokens], own[places, tokens]
        transform = np.clip(above + rng.random(length) * own, 0, 1)
        tilts = TiltBetting(ALPHA / 2, tilts=WITH_DRAFTS).observe(logs, own > 0)
        sets = SetBetting(SETS, ALPHA / 2).observe(bets_on_transform(transform))
        alarms += tilts.refuted_at is not None or sets.refuted_at is not None
    return alarms


def by_draws(runs):
    """Return how often a test that stops as soon as it can refutes."""
    rng, law = np.random.default_rng(5), law_of(BOUNDARY)
    return sum(sequential_test(lambda n: rng.multinomial(n, law), law, alpha=ALPHA, max_draws=4000).refuted
               for _ in range(runs))  # fmt: skip


def by_nights(runs):
    """Return how often one of three checks is in alarm on any night, by Holm's procedure."""
    rng, law, alarms = np.random.default_rng(6), law_of(BOUNDARY), 0
    for _ in range(runs):
        checks, peaks = [EProcess(list(law), most=8) for _ in range(3)], np.full(3, -np.inf)
        for _ in range(NIGHTS):
            for k, check in enumerate(checks):
                check.open_night()
                check.add(rng.multinomial(200, law))
                peaks[k] = max(peaks[k], check.log_e)
        alarms += holm(peaks, ALPHA).alarm.any()
    return alarms


def nuclei_by_two_sums(*arguments):
    """Return places whose bets on nuclei take their mass from another sum than the one that says who is inside."""
    place, ends = placed(*arguments), np.cumsum(np.sort(arguments[0])[::-1])
    for k, mass in enumerate(NUCLEI, len(TILTS) - len(NUCLEI)):
        kept = ends[min(np.searchsorted(ends, mass), len(ends) - 1)]
        place.log_tilts[k] = np.log(1 - NUCLEUS_SHARE + NUCLEUS_SHARE * (place.above < mass) / kept)
    return place


@pytest.mark.parametrize(("alarms", "runs"), [(by_sets, 100), (by_tilts, 100), (by_draws, 50), (by_nights, 20)])
def test_a_right_source_is_refuted_no_more_often_than_stated_whenever_one_stops(alarms, runs):
    assert alarms(runs) <= binom.isf(1e-6, runs, ALPHA)


def test_bets_that_gain_on_average_refute_a_right_source_more_often():
    assert by_tilts(12, [BOUNDARY], 2000, nuclei_by_two_sums) > binom.isf(1e-6, 12, ALPHA)
    assert by_tilts(12, [BOUNDARY], 2000) <= binom.isf(1e-6, 12, ALPHA)
