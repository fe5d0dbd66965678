"""Bets on tokens by their transform and by tilted rows: fair under the row, won where the law is another, and paid for
where rows drift."""

from functools import cache

import numpy as np
import pytest

from draftproof.stattests.betting import SetBetting
from draftproof.stattests.tilts import (
    ABOVE,
    DRAFT_SHARES,
    NUCLEI,
    OF_DRAFTS,
    SETS,
    TEMPERATURES,
    TILTS,
    WITH_DRAFTS,
    TiltBetting,
    allowance,
    bets_on_transform,
    excess,
    placed,
)

pytestmark = pytest.mark.exact

ROWS = np.random.default_rng(5).dirichlet(np.full(40, 0.15), size=400)
EQUAL = np.array([0.25, 0.25, 0.25, 0.25, 0.0])


def of_temperature(row, t):
    tilted = row ** (1 / t)
    return tilted / tilted.sum()


def nucleus(row, mass):
    order = np.argsort(-row)
    kept = order[: np.searchsorted(np.cumsum(row[order]), mass) + 1]
    cut = np.where(np.isin(np.arange(len(row)), kept), row, 0)
    return cut / cut.sum()


def hot(row):
    return of_temperature(row, 1.2)


@cache
def tokens_of(law):
    """Draw 3,000 tokens from law(row): their tilts, whether each was possible, and their bets on sets."""
    rng, places, transforms = np.random.default_rng(0), [], []
    for step in range(3000):
        row = ROWS[step % len(ROWS)]
        places.append(placed(row, [rng.choice(len(row), p=law(row))]))
        transforms.append(places[-1].transform(rng.random(1))[0])
    possible = np.array([place.own[0] > 0 for place in places])
    return np.hstack([place.log_tilts for place in places]), possible, bets_on_transform(np.array(transforms))


def walk(law, paid=None, slack=0.0):
    """Return the purses after tokens drawn from law(row)."""
    tilts, possible, sets = tokens_of(law)
    return TiltBetting(5e-4, paid).observe(tilts, possible), SetBetting(SETS, 5e-4, slack).observe(sets)


def test_a_tilt_is_the_ratio_of_its_row():
    row = ROWS[0]
    ratios = np.exp(placed(row, np.arange(len(row))).log_tilts)
    for k, t in enumerate(TEMPERATURES):
        assert np.allclose(ratios[k] * row, of_temperature(row, t))
    for k, mass in enumerate(NUCLEI):
        mixed = 0.1 * row + 0.9 * nucleus(row, mass)
        assert np.allclose(ratios[len(TEMPERATURES) + k] * row, mixed)


def test_a_tilt_to_the_drafts_row_is_fair_and_a_mixture_and_wins_where_draft_tokens_were_not_verified():
    row, draft = ROWS[0], ROWS[1]
    place = placed(row, np.arange(len(row)), draft)
    tilts = np.exp(place.log_tilts[len(TILTS) :])
    for ratio, share in zip(tilts, DRAFT_SHARES, strict=True):
        assert np.isclose(ratio @ row, 1) and np.allclose(ratio * row, (1 - share) * row + share * draft)
    law = 0.9 * row + 0.1 * draft
    found = excess(row, range(len(row)), law, draft)
    assert np.allclose(found.tilts, np.exp(place.log_tilts) @ law - 1) and (found.tilts[len(TILTS) :] > 0).all()
    names, rng = WITH_DRAFTS, np.random.default_rng(5)
    for drawn_from, won in ((law, True), (row, False)):
        tokens = rng.choice(len(row), size=4000, p=drawn_from)
        fortune = TiltBetting(1e-3, tilts=names).observe(place.log_tilts[:, tokens], np.full(4000, True))
        assert (fortune.refuted_at is not None) == won and (not won or fortune.family in OF_DRAFTS)


@pytest.mark.parametrize(
    ("law", "purse", "family"),
    [
        (hot, 0, "temperature 1.2 times that asked for"),
        pytest.param(lambda row: of_temperature(row, 0.85), 0, "temperature", marks=pytest.mark.long),
        (lambda row: nucleus(row, 0.9), 0, "top-p 0.9"),
        (lambda row: 0.85 * row + 0.15 / len(row), 1, "transform above 0.9"),
        pytest.param(lambda row: np.roll(row, 1) * 0.2 + row * 0.8, 1, "transform above", marks=pytest.mark.long),
    ],
)
def test_another_law_is_refuted_by_its_own_tilt_or_by_the_transform(law, purse, family):
    fortune = walk(law)[purse]
    assert fortune.refuted_at is not None
    assert str(fortune.family).startswith(family)


def test_a_token_of_probability_0_is_refuted_at_once():
    place = placed(EQUAL, [0, 4])
    fortune = TiltBetting(1e-3).observe(place.log_tilts, place.own > 0)
    assert fortune.refuted_at == 1


def test_the_excess_of_a_served_row_is_what_the_bets_would_win_there():
    row, served = ROWS[0], of_temperature(ROWS[0], 1.3)
    place = placed(row, np.arange(len(row)))
    whole = excess(row, range(len(row)), served)
    assert np.allclose(whole.tilts, np.exp(place.log_tilts) @ served - 1)
    assert np.allclose(whole.sets, place.probability_above() @ served - 1 + np.array(ABOVE))
    assert np.isclose(whole.distance, np.abs(served - row).sum() / 2)
    same = excess(row, [3, 1], row[[3, 1]])
    assert np.allclose(same.tilts, 0) and np.allclose(same.sets, 0) and np.isclose(same.distance, 0)
    top = np.argsort(-served)[:15]
    assert np.allclose(excess(row, top, served[top]).tilts, whole.tilts, atol=0.05)


def test_what_drifts_is_paid_for_and_a_fault_beyond_it_is_not():
    """A server whose rows are a temperature of 1.2 off: refuted without the allowance, not with it; one that is
    further off is."""
    paid = allowance([excess(row, range(len(row)), hot(row)) for row in ROWS], 2.0, 2.0)
    assert paid.rows == len(ROWS) and 0 < paid.distance < paid.worst
    assert walk(hot)[0].refuted_at is not None
    assert all(fortune.refuted_at is None for fortune in walk(hot, paid.tilts, paid.slack))
    hotter = walk(lambda row: of_temperature(row, 2.5), paid.tilts, paid.slack)
    assert min(fortune.refuted_at or 9999 for fortune in hotter) < 3000
