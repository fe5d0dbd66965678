"""Judges of claims about lossy rules, declared laws, watermarks, solvers and orders: each rejects a planted change."""

import pytest

from draftproof.corpus.literature import any_order, literature_claims, lossy, recent, watermarks
from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED
from draftproof.corpus.literature.strangers import dd_tree
from draftproof.models.battery import toy
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs.field import QQ
from draftproof.proofs.laws.reference_laws import total_variation
from draftproof.verifiers.arithmetic import minimum
from draftproof.verifiers.trees import global_resolution, lossy_steps
from draftproof.verifiers.trees.lossy_steps import entropy_adaptive_step, judge_step, thresholds_step
from draftproof.verifiers.trees.registry import TREE_REFERENCES, tree_reference

pytestmark = pytest.mark.exact
HALF = (QQ(1, 2), QQ(1, 2))
SURE = [pair for pair in ONE_STEP if set(pair.draft.row(())) <= {0, 1}]
EQUAL = [pair for pair in ONE_STEP if pair.draft.row(()) == pair.target.row(())]
TREE = [drawing(toy(2), 2, 1)]

VERDICTS = [
    *((lambda rank=rank: lossy.missed_only_far_from_the_target(rank), HOLDS) for rank in (1, 2)),
    *((lambda r=r, by=by: lossy.missed_only_far_from_the_target(r, by), REFUTED)
      for r in (1, 2) for by in (1.01, 0.99)),
    (lambda: watermarks.decided_by_the_key(True), HOLDS), (lambda: watermarks.decided_by_the_key(False), REFUTED),
    (lambda: watermarks.no_key_space_has_both(3), HOLDS), (lambda: watermarks.no_key_space_has_both(2), REFUTED),
    (lambda: watermarks.one_key_for_both(SURE), HOLDS), (lambda: watermarks.one_key_for_both(EQUAL), HOLDS),
    (watermarks.one_key_for_both, REFUTED), (watermarks.two_answers_are_independent, REFUTED),
    (lambda: watermarks.texts_are_the_targets(True), HOLDS), (lambda: watermarks.texts_are_the_targets(False), REFUTED),
    (lambda: recent.same_text_whichever_drafter(1, False), HOLDS),
    (lambda: recent.same_text_whichever_drafter(2, False), REFUTED),
    (lambda: recent.reaches_the_bound(lambda p: QQ(131, 81), TREE), HOLDS),
    (lambda: recent.reaches_the_bound(lambda p: QQ(131, 81) - QQ(1, 1000), TREE), REFUTED),
    (lambda: any_order.mask_taken_out(True), HOLDS), (lambda: any_order.mask_taken_out(False), REFUTED),
    (lambda: lossy.masked_text_is_conditional([toy(2)]), REFUTED),
]  # fmt: skip
"""What a judge is asked, and its verdict: the same with a number, a key or rows for which it is another one."""


@pytest.mark.parametrize("k", range(len(VERDICTS)))
def test_a_judge_tells_the_right_question_from_the_wrong_one(k):
    judge, verdict = VERDICTS[k]
    assert judge().verdict == verdict


def less_moved(p, q, n, how, plan=recent.best_plan):
    """A plan that moves half as much is no optimum, so choosing by it is not either."""
    made = plan(p, q, n, how)
    return made._replace(moved={s: {x: w / 2 for x, w in row.items()} for s, row in made.moved.items()})


def by_the_last(per_depth, budget):
    texts = recent._trees(per_depth, budget)
    return max(texts, key=lambda tree: sum(per_depth[len(x) - 1][x[-1]] for x in tree))


def likeliest_of_the_draft(p, q, n):
    return frozenset({max(range(len(p)), key=q.__getitem__)})


def more_divergence_than_allowed(p, x, delta, peak=lossy_steps.peak):
    return peak(p, x, delta / 4)


TARGET_LAW = lambda problem, rule, law=lossy.output_law: law(lossy.in_field(toy(2)), rule)  # noqa: E731
MORE = lambda keeps: judge_step(lambda p, x: keeps(p, x) or x == 0)  # noqa: E731
SHORT = lambda p, q, n, sweeps, solve=global_resolution.solved: solve(p, q, n, min(sweeps, 10))  # noqa: E731
TOO_LARGE = lambda p, q, n, bound=recent.matching_bound: bound(p, q, n) * QQ(6, 5)  # noqa: E731
CASCADE = lambda: lossy.keeps_what_is_asked(("token",), lossy.CASCADES, [toy(2)])  # noqa: E731
WATERMARK = lambda: watermarks.lossless_over_keys(True)  # noqa: E731
BEST_FIRST = lambda: recent.best_first_has_the_most_mass(False)  # noqa: E731


def again_from_the_target(*tenths):
    """Thresholds whose last token, after all rejections, comes from the target with the siblings."""
    right = thresholds_step(*tenths)

    def step(siblings, chance):
        chosen = right(siblings, chance)
        return chosen if chosen.accepted else chosen._replace(token=chance.draw(siblings.target))

    return step


PLANTED = [
    (literature_claims.JUDGES["thresholds-of-distinct"], literature_claims, "thresholds_step", again_from_the_target),
    (lossy.judge_variation, lossy, "judge_step", MORE),
    (lossy.top_n_is_kept_or_sampled, lossy, "among_the_best", lambda p, x: p[x] == max(p)),
    (lossy.typical_is_kept_or_sampled, lossy, "is_typical", lambda p, x: True),
    (CASCADE, lossy, "output_law", TARGET_LAW),
    (WATERMARK, watermarks, "residual", lambda p, q: list(p)),  # from the target, not from what is left of it
    (WATERMARK, watermarks, "minimum", lambda a, b: b if a > 0 else minimum(a, b)),  # always accepted
    (watermarks.accepts_as_without_keys, watermarks, "minimum", lambda a, b: QQ(1, 2) * minimum(a, b)),
    (lambda: recent.overfull_set_is_the_cut(2), global_resolution, "overfull", likeliest_of_the_draft),
    (recent.deviation_falls, global_resolution, "solved", SHORT),
    (lambda: recent.choosing_first_is_no_loss(2), recent, "best_plan", less_moved),
    (lambda: recent.matches_enough(2), recent, "matching_bound", TOO_LARGE),
    (lambda: recent.coupling_gains_by_drafts([toy(1)], 2), recent, "coupling_value", lambda pair, k: 1 / k),
    (BEST_FIRST, dd_tree, "best_first", by_the_last),
    (recent.best_first_is_lossless, dd_tree, "follow", tree_reference("top-n").verify),
    (any_order.any_order_is_the_joint_law, any_order, "conditionals", lambda joint: any_order.apart),
]
"""A judge that holds, and what is replaced so that it must not."""


@pytest.mark.parametrize(("judge", "module", "name", "wrong"), PLANTED, ids=[row[2] for row in PLANTED])
def test_a_planted_change_is_rejected(monkeypatch, judge, module, name, wrong):
    monkeypatch.setattr(lossy, "ONE_STEP", ONE_STEP[:60])
    assert judge().verdict == HOLDS
    monkeypatch.setattr(module, name, wrong)
    assert judge().verdict == REFUTED


def test_a_formula_for_another_tolerance_is_rejected(monkeypatch):
    assert lossy.entropy_adaptive_variation().verdict == HOLDS
    other = tree_reference("entropy-adaptive").with_step(entropy_adaptive_step(4))
    monkeypatch.setitem(TREE_REFERENCES, "entropy-adaptive", other)
    assert lossy.entropy_adaptive_variation().verdict == REFUTED


def test_what_is_refuted_holds_where_its_reason_is_taken_away(monkeypatch):
    assert any_order.every_order_has_one_law().verdict == lossy.raised_rows_stay_near(0.1).verdict == REFUTED
    assert lossy.ensemble_text_is_the_mixture().verdict == REFUTED
    monkeypatch.setattr(any_order, "apart", any_order.conditionals(any_order.JOINTS[1]))
    monkeypatch.setattr(lossy, "peak", more_divergence_than_allowed)
    assert any_order.every_order_has_one_law().verdict == lossy.raised_rows_stay_near(0.1).verdict == HOLDS
    law = {(x, y): a * b for x, a in enumerate(HALF) for y, b in enumerate(HALF)}
    monkeypatch.setattr(lossy, "output_law", lambda problem, rule: law)
    monkeypatch.setattr(lossy, "rows", lambda pair: (HALF, HALF))
    assert lossy.ensemble_text_is_the_mixture().verdict == HOLDS


def test_a_raised_row_is_a_row_and_half_its_chi_square_divergence_is_delta():
    for pair in ONE_STEP[:120]:
        p, _ = recent.rows(pair)
        for x in range(len(p)):
            h = lossy_steps.raised(p, x, lossy_steps.peak(p, x, 0.1))
            assert sum(h) == 1 and min(h) >= 0 and h[x] >= p[x]
            if 0 < p[x] < 1 and h[x] < 1:
                assert abs(as_float(sum((a - b) ** 2 / b for a, b in zip(h, p) if b)) / 2 - 0.1) < 1e-9


def test_a_truncated_solver_shows_with_two_drafts():
    whole, truncated = (
        lossy.worst_by_temperature(tree_reference(f"global-resolution{end}"), (1,), drafts=2)
        for end in ("", "-truncated")
    )
    assert 25 * truncated[0][0] > 1 and whole == [(0, 0)]


def test_every_key_is_gone_through_and_a_repeated_context_repeats_its_token_unless_it_is_drawn_anew():
    row = (QQ(1, 3), QQ(1, 2), QQ(1, 6))
    keys = watermarks.parts(row)
    assert keys == 6 and [watermarks.pick(row, k, keys) for k in range(6)] == [0, 0, 1, 1, 1, 2]
    over = watermarks.over_keys(lambda key: {watermarks.pick(row, key, keys): QQ(1)}, range(keys))
    assert over.decided and over.law == dict(enumerate(row))
    assert not watermarks.over_keys(lambda key: dict(enumerate(HALF)), range(2)).decided
    law, fresh = (watermarks.text_over_keys(HALF, 3, fresh_where_repeated=anew) for anew in (False, True))
    assert set(law) == {(0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 0, 0), (1, 0, 1)}
    assert set(fresh.values()) == {QQ(1, 8)} and total_variation(law, fresh) == QQ(1, 4)


def test_a_rule_that_accepts_more_than_any_valid_one_does_not_reach_the_bound():
    judged = recent.reaches_the_bound(lambda problem: QQ(2), [drawing(toy(2), 2, 1)])
    assert judged.verdict == REFUTED and "above the bound" in judged.on
