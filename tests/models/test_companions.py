"""Companions of a declared law: laws that agree with it on the problem and on all its twins differ on one of them."""

from fractions import Fraction as F

import numpy as np
import pytest

from draftproof.models import companions as module
from draftproof.models.companions import SINGLE, companions, on_a_tie
from draftproof.models.problem import as_json, tree_problem_from
from draftproof.models.related import twins

pytestmark = pytest.mark.exact
ROWS = {"vocabulary": 3, "gamma": 2, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/5", "3/5"]}
ALPHAS = {"chow": ("1/2", "1/4"), "difference": ("0", "1/4"), "optimal": ("1/5", "1/3", "1/2", "3/10")}
CASCADES = [(rule, alpha) for rule, alphas in ALPHAS.items() for alpha in alphas]
AFTER_1 = {"1": [0], "2": [1, 2]}


def asking(**law):
    return tree_problem_from({**ROWS, "law": law})


def cascade(rule, alpha, **rows):
    return tree_problem_from({**ROWS, **rows, "law": {"cascade": {"defer": rule, "alpha": alpha}}})


def seen(problems, row_of):
    """Whether some reachable text of one of the problems is followed by another row than the law's.

    row_of: (text, target's row, draft's row) -> row.
    """
    for problem in problems:
        reached = [()]
        for _ in range(problem.gamma):
            for text in reached:
                if row_of(text, problem.target.row(text), problem.draft.row(text)) != problem.asked.row(text):
                    return True
            reached = [(*text, t) for text in reached for t, p in enumerate(problem.asked.row(text)) if p]
    return False


def deferring(rule, alpha, apart=lambda p, q: sum(abs(a - b) for a, b in zip(p, q)) / 2, strict=True):
    """The row of a cascade as written, right for the default arguments."""

    def row_of(text, p, q):
        least = {"chow": 1 - F(alpha), "difference": max(p) - F(alpha), "optimal": max(p) - F(alpha) * apart(p, q)}
        return p if max(q) < least[rule] or (not strict and max(q) == least[rule]) else q

    return row_of


@pytest.mark.parametrize(("rule", "alpha"), CASCADES)
def test_every_wrong_cascade_differs_on_a_companion(rule, alpha):
    problem = cascade(rule, alpha)
    beside = companions(problem)
    assert not seen([problem, *twins(problem), *beside], deferring(rule, alpha))
    assert seen(beside, deferring(rule, alpha, strict=False)), "<="
    for step in (F(1, 100), -F(1, 100)):
        assert seen(beside, deferring(rule, F(alpha) + step)), "another alpha"
    for other in {"chow", "difference"} - {rule}:
        assert seen(beside, deferring(other, alpha)), other
    if rule == "optimal":
        assert seen(beside, deferring(rule, alpha, lambda p, q: sum(abs(a - b) for a, b in zip(p, q)))), "no half"
        wide = cascade(rule, alpha, vocabulary=4, target=["1/4"] * 4, draft=["1/4"] * 4)
        largest = deferring(rule, alpha, lambda p, q: max(abs(a - b) for a, b in zip(p, q)))
        assert seen(companions(wide), largest), "of three tokens it is the same law"
    for wrong in (lambda text, p, q: p, lambda text, p, q: q):
        assert seen(beside, wrong)


@pytest.mark.parametrize(("rule", "alpha"), [*CASCADES, ("chow", "1/5"), ("difference", "3/10"), ("optimal", "1/7")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_on_no_companion_does_the_arithmetic_decide(rule, alpha, dtype):
    """Three ways to write each rule, rows and arithmetic in one type, against the exact law."""
    problem, a = cascade(rule, alpha), dtype(float(F(alpha)))
    for companion in companions(problem, SINGLE if dtype is not np.float16 else 11):
        for text in (x for n in range(companion.gamma) for x in companion.prefixes(n)):
            p, q = (
                np.array([float(x) for x in m.row(text)]).astype(dtype) for m in (companion.target, companion.draft)
            )
            apart, most, top = dtype(0.5) * abs(p - q).sum(dtype=dtype), p.max(), q.max()
            share = {"chow": a, "difference": a, "optimal": dtype(a * apart)}[rule]
            most = dtype(1) if rule == "chow" else most
            ways = {bool(top < dtype(most - share)), bool(dtype(top + share) < most), bool(dtype(most - top) > share)}
            deferred = companion.asked.row(text) != companion.draft.row(text)
            assert ways == {deferred} or companion.target.row(text) == companion.draft.row(text), (companion.name, text)


def truncated(keep):
    """The target's row without the tokens that are not kept. keep: (row, best tokens first) -> those kept."""

    def row_of(text, p, q):
        best = sorted(range(len(p)), key=lambda t: (-p[t], t))
        kept = keep(p, best)
        total = sum(p[t] for t in kept)
        return tuple(p[t] / total if t in kept else F(0) for t in range(len(p)))

    return row_of


def up_to(limit, inclusive):
    def keep(p, best):
        before, kept = F(0), []
        for t in best:
            if kept and (before > limit if inclusive else before >= limit):
                break
            kept, before = [*kept, t], before + p[t]
        return kept

    return keep


@pytest.mark.parametrize("limit", ["1/2", "3/4", "3/8"])
def test_wrong_cuts_of_top_p_differ_on_a_companion(limit):
    beside = companions(asking(top_p=limit))
    assert not seen(beside, truncated(up_to(F(limit), False)))

    def with_all_of_a_tie(p, best):
        kept = up_to(F(limit), False)(p, best)
        return [t for t in best if p[t] >= p[kept[-1]]]

    for wrong in (up_to(F(limit), True), up_to(F(limit) + F(1, 100), False), up_to(F(limit) - F(1, 100), False),
                  with_all_of_a_tie):  # fmt: skip
        assert seen(beside, truncated(wrong))


@pytest.mark.parametrize("limit", ["1/2", "3/4", "9/10"])
def test_wrong_cuts_of_top_p_after_a_temperature_differ_on_a_companion(limit):
    def squared(cut):
        return lambda text, p, q: cut(text, [x * x / sum(y * y for y in p) for x in p], q)

    beside = companions(asking(temperature="1/2", top_p=limit))
    assert not seen(beside, squared(truncated(up_to(F(limit), False))))
    for wrong in (F(limit) + F(1, 100), F(limit) - F(1, 100)):
        assert seen(beside, squared(truncated(up_to(wrong, False))))
    assert seen(beside, truncated(up_to(F(limit), False))), "no temperature"


@pytest.mark.parametrize("count", [1, 2])
def test_wrong_cuts_of_top_k_differ_on_a_companion(count):
    beside = companions(asking(top_k=count))
    assert not seen(beside, truncated(lambda p, best: best[:count]))
    later = truncated(lambda p, best: sorted(range(3), key=lambda t: (-p[t], -t))[:count])
    tied = truncated(lambda p, best: [t for t in best if p[t] >= p[best[count - 1]]])
    for wrong in (later, tied, truncated(lambda p, best: best[: count + 1])):
        assert seen(beside, wrong)


def test_wrong_mixtures_differ_on_a_companion():
    def mixed(share):
        return lambda text, p, q: tuple(share * a + (1 - share) * b for a, b in zip(p, q))

    def geometric(text, p, q):
        top = [max(a, b) for a, b in zip(p, q)]
        return tuple(x / sum(top) for x in top)

    for share in (F(1, 2), F(1, 4)):
        beside = companions(asking(mixture=str(share)))
        assert not seen(beside, mixed(share))
        assert seen(beside, mixed(share + F(1, 1000))) and seen(beside, geometric)


def masked(allowed, skip):
    def row_of(text, p, q):
        key = ",".join(map(str, text))
        kept = [t for t in range(3) if t in allowed.get(key, range(3)) or skip(p, t)]
        return tuple(p[t] / sum(p[u] for u in kept) if t in kept else F(0) for t in range(3))

    return row_of


@pytest.mark.parametrize("law", ["projected", "conditional"])
def test_masks_rule_out_the_largest_token_of_both_models(law):
    beside = companions(asking(grammar={"allowed": AFTER_1, "law": law}))
    for rows in ("target", "draft"):
        assert any(
            getattr(problem, rows).row((1,)).index(max(getattr(problem, rows).row((1,)))) != 0 for problem in beside
        )
    wrong = masked(AFTER_1, lambda p, t: p[t] == max(p))
    assert seen(beside, wrong), "the largest token stays"
    assert seen(beside, masked(AFTER_1, lambda p, t: False)) is (law == "conditional")


def test_a_problem_without_a_law_has_none_and_those_of_one_that_has_keep_size_and_law():
    assert companions(tree_problem_from(ROWS)) == []
    for law in ({"mixture": "1/2"}, {"temperature": "1/2", "top_p": "9/10"}, {"top_k": 2}):
        problem = asking(**law)
        beside = companions(problem)
        assert len(beside) >= 3 and len({p.name for p in beside}) == len(beside)
        assert all((p.vocabulary, p.gamma, p.law) == (3, 2, problem.law) for p in beside)
        assert all(tree_problem_from(as_json(p)) == p for p in beside)


def test_ties_are_known_and_not_those_beside():
    beside = companions(cascade("optimal", "1/5"))
    assert {p.name.rsplit("-", 2)[1] for p in beside} == {"tie", "near"}
    first = [module.replace(p, gamma=1) for p in beside]
    assert [on_a_tie(p) for p in first] == ["-tie-" in p.name for p in beside]
    assert not on_a_tie(tree_problem_from(ROWS))
