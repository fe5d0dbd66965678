"""Betting on sets: fair on lossless text at any time, ruinous for each planted bias, and not to be misused."""

import random
from itertools import product

import numpy as np
import pytest

from draftproof.models.decoding import draft_block
from draftproof.models.law import Markov
from draftproof.stattests.betting import Bets, SetBetting, bets_on, bets_on_sets
from draftproof.verifiers.chance import RandomChance
from draftproof.verifiers.registry import reference

VOCABULARY, GAMMA = 6, 3


def model(seed):
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(VOCABULARY, 0.7), size=VOCABULARY + 1)
    return Markov(tuple(rows[0]), tuple(map(tuple, rows[1:])))


TARGET, DRAFT = model(1), model(2)


def text_by(verifier, tokens, seed):
    """Text of a reference verifier with, for each token, the draft's row, its proposal and whether it was a bonus."""
    chance, text, kept = RandomChance(random.Random(seed)), (), []
    while len(text) < tokens:
        block = draft_block(TARGET, DRAFT, GAMMA, text, chance)
        for place, token in enumerate(reference(verifier).verify(block, chance).tokens(block)):
            proposed = block.tokens[place] if place < GAMMA else -1
            kept.append((TARGET.row(text), DRAFT.row(text), token, proposed, place == GAMMA))
            text = (*text, token)
    return [np.array(column) for column in zip(*kept, strict=True)]


def text_from(row_of, tokens, seed):
    """Text whose every token is drawn from row_of(target row, draft row, row before, is it a bonus position)."""
    generator, text, kept = np.random.default_rng(seed), (), []
    before = np.array(TARGET.row(()))
    for t in range(tokens):
        p, q, bonus = np.array(TARGET.row(text)), np.array(DRAFT.row(text)), t % (GAMMA + 1) == GAMMA
        token = int(generator.choice(VOCABULARY, p=row_of(p, q, before, bonus)))
        kept.append((p, q, token, bonus))
        text, before = (*text, token), p
    return [np.array(column) for column in zip(*kept, strict=True)]


def settled(bets, alpha=1e-6, slack=0.0):
    return SetBetting(list(bets), alpha, slack).observe(bets)


def test_with_slack_it_is_at_most_one_for_every_law_within_the_slack():
    row, off = np.array([0.2, 0.5, 0.3]), np.array([0.02, 0.0, -0.02])
    for moved in (row, row + off, row - off):
        total = 0.0
        for tokens in product(range(3), repeat=4):
            bets = {"x": bets_on_sets(np.tile(row, (4, 1)), np.array(tokens), np.tile([True, False, False], (4, 1)))}
            total += moved[list(tokens)].prod() * np.exp(settled(bets, slack=0.02).log_evidence)
        assert total <= 1 + 1e-12


def nucleus(p, q, before, bonus):
    order = np.argsort(-p)
    kept = np.zeros_like(p)
    kept[order] = np.where(np.cumsum(p[order]) - p[order] < 0.9, p[order], 0.0)
    return kept / kept.sum()


@pytest.mark.parametrize(
    ("family", "row_of", "steps"),
    [
        ("draft above target", lambda p, q, before, bonus: 0.8 * p + 0.2 * q, 5000),
        ("argmax", lambda p, q, before, bonus: p**1.4 / (p**1.4).sum(), 5000),
        ("tail", nucleus, 3000),
        ("bonus", lambda p, q, before, bonus: before if bonus else p, 3000),
        ("proposed", lambda p, q, before, bonus: 0.8 * p + 0.2 * np.eye(VOCABULARY)[q.argmax()], 5000),
    ],
)
def test_each_planted_bias_is_refuted_by_the_family_that_is_made_for_it(family, row_of, steps):
    for seed in range(2):
        p, q, tokens, bonus = text_from(row_of, steps, seed)
        bets = bets_on(p, tokens, q, proposed=q.argmax(axis=1), bonus=bonus)
        alone = settled({family: bets[family]})
        assert alone.refuted_at is not None
        together = settled(bets)
        assert together.refuted_at is not None
        assert together.refuted_at < steps
        assert together.family in bets
        assert together.p_value <= 1e-6


def test_betting_on_the_token_that_the_engine_itself_drafted_would_refute_a_lossless_engine():
    """Why ``proposed`` must not be coupled to the verifier's coins: Pr(x emitted | x drafted) = min(1, p/q), not p."""
    p, q, tokens, drafted, _ = text_by("token", 3000, 6)
    misused = bets_on(p, tokens, q, proposed=drafted)
    assert settled({"proposed": misused["proposed"]}).refuted_at is not None
    auditors = (q.cumsum(axis=1) < np.random.default_rng(7).random((len(q), 1))).sum(axis=1)
    fair = bets_on(p, tokens, q, proposed=auditors)
    assert settled({"proposed": fair["proposed"]}).refuted_at is None


def test_rounding_in_half_precision_is_no_bias_within_the_slack():
    """Rows known to three digits only: refuted as biased without slack, not with it; a real bias still is."""
    generator, steps = np.random.default_rng(8), 60_000
    exact = np.array([0.5, 0.3, 0.2])
    known = np.tile([0.485, 0.308, 0.207], (steps, 1))
    tokens = generator.choice(3, size=steps, p=exact)
    assert settled(bets_on(known, tokens)).refuted_at is not None
    assert settled(bets_on(known, tokens), slack=0.016).refuted_at is None
    biased = generator.choice(3, size=steps, p=[0.55, 0.25, 0.2])
    assert settled(bets_on(known, biased), slack=0.016).refuted_at is not None


def test_an_impossible_token_is_a_certain_refutation_at_its_step():
    target = np.array([[0.5, 0.5, 0.0]] * 5)
    found = settled({"zero": bets_on_sets(target, np.array([0, 1, 2, 0, 1]), target == 0)})
    assert found.refuted_at == 2
    assert found.p_value == 0
    assert settled({"zero": bets_on_sets(target, np.array([0, 1, 1, 0, 1]), target == 0)}).log_evidence == 0


def test_settling_in_parts_is_settling_at_once():
    p, q, tokens, _ = text_from(lambda p, q, before, bonus: 0.7 * p + 0.3 * q, 1500, 9)
    bets = bets_on(p, tokens, q)
    at_once, in_parts = settled(bets), SetBetting(list(bets))
    for part in (slice(0, 10), slice(10, 900), slice(900, None)):
        last = in_parts.observe({name: Bets(b.probability[part], b.hit[part]) for name, b in bets.items()})
    assert last.log_evidence == pytest.approx(at_once.log_evidence)
    assert (last.refuted_at, last.family, last.steps) == (at_once.refuted_at, at_once.family, 1500)
    assert at_once.refuted_at is not None
