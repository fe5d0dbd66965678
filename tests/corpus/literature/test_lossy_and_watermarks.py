"""Lossy rules, declared laws and watermarks: each judge rejects a planted change."""

import pytest

from draftproof.corpus.literature import lossy, recent, watermarks
from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED
from draftproof.models.battery import toy
from draftproof.models.rationals import as_float
from draftproof.proofs.field import QQ
from draftproof.proofs.laws.reference_laws import total_variation
from draftproof.verifiers.arithmetic import minimum
from draftproof.verifiers.trees import lossy_steps
from draftproof.verifiers.trees.lossy_steps import judge_step
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact
HALF = (QQ(1, 2), QQ(1, 2))


# Lossy rules


def test_a_formula_for_another_tolerance_is_rejected(monkeypatch):
    assert lossy.entropy_adaptive_variation().verdict == HOLDS
    from draftproof.verifiers.trees.lossy_steps import entropy_adaptive_step

    other = tree_reference("entropy-adaptive")._replace(step=entropy_adaptive_step(4))
    monkeypatch.setitem(TREE_REFERENCES, "entropy-adaptive", other)
    assert lossy.entropy_adaptive_variation().verdict == REFUTED


def test_a_judge_who_keeps_more_than_its_formula_says_is_rejected(monkeypatch):
    monkeypatch.setattr(lossy, "ONE_STEP", ONE_STEP[:60])
    assert lossy.judge_variation().verdict == HOLDS
    monkeypatch.setattr(lossy, "judge_step", lambda keeps: judge_step(lambda p, x: keeps(p, x) or x == 0))
    assert lossy.judge_variation().verdict == REFUTED


def test_a_test_of_the_row_that_is_another_one_is_rejected(monkeypatch):
    assert lossy.top_n_is_kept_or_sampled().verdict == HOLDS
    monkeypatch.setattr(lossy, "among_the_best", lambda p, x: p[x] == max(p))
    assert lossy.top_n_is_kept_or_sampled().verdict == REFUTED
    assert lossy.typical_is_kept_or_sampled().verdict == HOLDS
    monkeypatch.setattr(lossy, "is_typical", lambda p, x: True)
    assert lossy.typical_is_kept_or_sampled().verdict == REFUTED


def test_a_raised_row_is_a_row_and_half_its_chi_square_divergence_is_delta():
    for pair in ONE_STEP[:120]:
        p, _ = recent.rows(pair)
        for x in range(len(p)):
            h = lossy_steps.raised(p, x, lossy_steps.peak(p, x, 0.1))
            assert sum(h) == 1 and min(h) >= 0 and h[x] >= p[x]
            if 0 < p[x] < 1 and h[x] < 1:
                assert abs(as_float(sum((a - b) ** 2 / b for a, b in zip(h, p) if b)) / 2 - 0.1) < 1e-9


def test_a_larger_delta_is_a_larger_divergence_and_one_that_is_allowed_holds(monkeypatch):
    assert lossy.raised_rows_stay_near(0.1).verdict == REFUTED
    monkeypatch.setattr(lossy, "peak", lambda p, x, delta: lossy_steps.peak(p, x, delta / 4))
    assert lossy.raised_rows_stay_near(0.1).verdict == HOLDS


def test_a_truncated_solver_shows_with_two_drafts():
    (worst,) = lossy.worst_by_temperature(tree_reference("global-resolution-truncated"), (1,), drafts=2)
    assert 25 * worst[0] > 1 and lossy.worst_by_temperature(tree_reference("global-resolution"), (1,), drafts=2) == [
        (0, 0)
    ]


@pytest.mark.parametrize("rank", [1, 2])
def test_a_divergence_that_is_too_large_or_that_no_row_reaches_is_rejected(rank):
    assert lossy.missed_only_far_from_the_target(rank).verdict == HOLDS
    assert lossy.missed_only_far_from_the_target(rank, 1.01).verdict == REFUTED
    assert lossy.missed_only_far_from_the_target(rank, 0.99).verdict == REFUTED


# Declared laws


def test_a_verifier_of_the_target_does_not_keep_a_cascade(monkeypatch):
    pairs = [toy(2)]
    assert lossy.keeps_what_is_asked(("token", "block"), lossy.CASCADES, pairs).verdict == HOLDS
    real = lossy.output_law
    monkeypatch.setattr(lossy, "output_law", lambda problem, rule: real(toy_in_field(), rule))
    assert lossy.keeps_what_is_asked(("token",), lossy.CASCADES, pairs).verdict == REFUTED


def toy_in_field():
    return lossy.in_field(toy(2))


def test_a_grammar_that_ends_nowhere_has_one_law():
    judged = lossy.masked_text_is_conditional([toy(2)])
    assert judged.verdict == REFUTED and judged.witness.law.grammar.law == "conditional"


def test_a_text_that_is_the_mixture_throughout_is_told_from_one_that_is_not(monkeypatch):
    assert lossy.ensemble_text_is_the_mixture().verdict == REFUTED
    monkeypatch.setattr(lossy, "output_law", lambda problem, rule: {
        (x, y): a * b for x, a in enumerate(HALF) for y, b in enumerate(HALF)})  # fmt: skip
    monkeypatch.setattr(lossy, "rows", lambda pair: (HALF, HALF))
    assert lossy.ensemble_text_is_the_mixture().verdict == HOLDS


# Watermarks


def test_every_key_is_gone_through_and_the_average_is_the_rows():
    row = (QQ(1, 3), QQ(1, 2), QQ(1, 6))
    keys = watermarks.parts(row)
    assert keys == 6 and [watermarks.pick(row, k, keys) for k in range(6)] == [0, 0, 1, 1, 1, 2]
    over = watermarks.over_keys(lambda key: {watermarks.pick(row, key, keys): QQ(1)}, range(keys))
    assert over.decided and over.law == dict(enumerate(row))
    assert not watermarks.over_keys(lambda key: {0: QQ(1, 2), 1: QQ(1, 2)}, range(2)).decided


@pytest.mark.parametrize("wrong", ["replacement", "coin"])
def test_a_scheme_that_is_not_lossless_over_keys_is_rejected(monkeypatch, wrong):
    assert watermarks.lossless_over_keys(True).verdict == HOLDS
    if wrong == "replacement":  # from the target, not from what is left of it
        monkeypatch.setattr(watermarks, "residual", lambda p, q: list(p))
    else:  # always accepted
        monkeypatch.setattr(watermarks, "minimum", lambda a, b: b if a > 0 else minimum(a, b))
    assert watermarks.lossless_over_keys(True).verdict == REFUTED


def test_a_fresh_coin_leaves_a_key_open_and_a_keyed_one_does_not():
    assert watermarks.decided_by_the_key(True).verdict == HOLDS
    assert watermarks.decided_by_the_key(False).verdict == REFUTED


def test_a_coin_that_rejects_too_often_is_rejected(monkeypatch):
    assert watermarks.accepts_as_without_keys().verdict == HOLDS
    monkeypatch.setattr(watermarks, "minimum", lambda a, b: QQ(1, 2) * minimum(a, b))
    assert watermarks.accepts_as_without_keys().verdict == REFUTED


def test_the_no_go_holds_over_three_tokens_and_not_over_two():
    assert watermarks.no_key_space_has_both(3).verdict == HOLDS
    assert watermarks.no_key_space_has_both(2).verdict == REFUTED


def test_one_key_is_no_mistake_where_the_draft_is_sure():
    sure = [pair for pair in ONE_STEP if set(pair.draft.row(())) <= {0, 1}]
    assert watermarks.one_key_for_both(sure).verdict == HOLDS
    same = [pair for pair in ONE_STEP if pair.draft.row(()) == pair.target.row(())]
    assert watermarks.one_key_for_both(same).verdict == HOLDS
    assert watermarks.one_key_for_both().verdict == REFUTED


def test_a_repeated_context_repeats_its_token_unless_it_is_drawn_anew():
    law = watermarks.text_over_keys(HALF, 3, fresh_where_repeated=False)
    assert set(law) == {(0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 0, 0), (1, 0, 1)}
    fresh = watermarks.text_over_keys(HALF, 3, fresh_where_repeated=True)
    assert set(fresh.values()) == {QQ(1, 8)} and total_variation(law, fresh) == QQ(1, 4)
    assert watermarks.texts_are_the_targets(True).verdict == HOLDS
    assert watermarks.texts_are_the_targets(False).verdict == REFUTED
    assert watermarks.two_answers_are_independent().verdict == REFUTED
