"""Companions of a declared law: laws that agree with it on the problem and on all its twins differ on one of them."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

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


def cascade(rule, alpha):
    return {"cascade": {"defer": rule, "alpha": str(alpha)}}


def differs(problem, wrong):
    """Return whether a wrong law, or (text, p, q) -> row, has another row than the law behind a reachable text."""
    other = replace(problem, law=asking(**wrong).law).asked.row if isinstance(wrong, dict) else None
    reached = [()]
    for _ in range(problem.gamma):
        for text in reached:
            rows = text, problem.target.row(text), problem.draft.row(text)
            if tuple(other(text) if other else wrong(*rows)) != tuple(problem.asked.row(text)):
                return True
        reached = [(*text, t) for text in reached for t, p in enumerate(problem.asked.row(text)) if p]
    return False


def apart(p, q):
    return sum(abs(a - b) for a, b in zip(p, q)) / 2


def at_the_line(rule, alpha):
    """A cascade that defers where both sides are equal, too."""

    def row_of(text, p, q):
        least = {"chow": 1 - F(alpha), "difference": max(p) - F(alpha), "optimal": max(p) - F(alpha) * apart(p, q)}
        return p if max(q) <= least[rule] else q

    return row_of


def without_the_half(alpha):
    return lambda text, p, q: p if max(q) < max(p) - 2 * F(alpha) * apart(p, q) else q


def truncated(keep):
    """The target's row without the tokens that are not kept. keep: (row, best tokens first) -> those kept."""

    def row_of(text, p, q):
        kept = keep(p, sorted(range(len(p)), key=lambda t: (-p[t], t)))
        return tuple(p[t] / sum(p[u] for u in kept) if t in kept else F(0) for t in range(len(p)))

    return row_of


def beyond(limit):
    """Cut a nucleus where the tokens before have more than the limit, in place of as much."""
    return truncated(
        lambda p, best: [t for k, t in enumerate(best) if not k or sum(p[u] for u in best[:k]) <= F(limit)]
    )


def all_of_a_tie(count):
    return truncated(lambda p, best: [t for t in best if p[t] >= p[best[count - 1]]])


def larger(text, p, q):
    return tuple(max(a, b) / sum(map(max, p, q)) for a, b in zip(p, q))


def largest_stays(text, p, q):
    may = AFTER_1.get(",".join(map(str, text)), range(3))
    return truncated(lambda row, best: [t for t in best if t in may or row[t] == max(row)])(text, p, q)


HUNDREDTH = F(1, 100)
WRONG = [
    *((cascade(*c), cascade(c[0], F(c[1]) + step)) for c in CASCADES for step in (HUNDREDTH, -HUNDREDTH)),
    *((cascade(*c), at_the_line(*c)) for c in CASCADES),
    *((cascade(*c), cascade(other, c[1])) for c in CASCADES for other in {"chow", "difference"} - {c[0]}),
    *((cascade("optimal", alpha), without_the_half(alpha)) for alpha in ALPHAS["optimal"]),
    *((cascade(*c), lambda text, p, q, k=k: (p, q)[k]) for c in CASCADES for k in (0, 1)),
    *(({"top_p": p}, {"top_p": str(F(p) + step)}) for p in ("1/2", "3/4") for step in (HUNDREDTH, -HUNDREDTH)),
    *(({"top_p": p}, beyond(p)) for p in ("1/2", "3/4", "3/8")),
    *(({"temperature": "1/2", "top_p": p}, {"top_p": p}) for p in ("1/2", "3/4", "9/10")),
    *(
        ({"temperature": "1/2", "top_p": p}, {"temperature": "1/2", "top_p": str(F(p) + step)})
        for p in ("1/2", "9/10")
        for step in (HUNDREDTH, -HUNDREDTH)
    ),
    *(({"top_k": k}, {"top_k": k + 1}) for k in (1, 2)),
    *(({"top_k": k}, all_of_a_tie(k)) for k in (1, 2)),
    *(({"mixture": share}, {"mixture": str(F(share) + F(1, 1000))}) for share in ("1/2", "1/4")),
    ({"mixture": "1/2"}, larger),
    *(({"grammar": {"allowed": AFTER_1, "law": law}}, largest_stays) for law in ("projected", "conditional")),
]
"""A law that is asked for, and another that a verifier could follow in its place."""


@pytest.mark.parametrize(("law", "wrong"), WRONG)
def test_a_wrong_law_differs_on_a_companion(law, wrong):
    assert any(differs(companion, wrong) for companion in companions(asking(**law)))


def test_the_problem_and_its_twins_alone_would_clear_some():
    problem = asking(**cascade("optimal", "1/5"))
    for wrong in (at_the_line("optimal", "1/5"), without_the_half("1/5")):
        assert not any(differs(one, wrong) for one in (problem, *twins(problem)))


@pytest.mark.parametrize(("rule", "alpha"), [*CASCADES, ("chow", "1/5"), ("difference", "3/10"), ("optimal", "1/7")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_on_no_companion_does_the_arithmetic_decide(rule, alpha, dtype):
    """Three ways to write each rule, rows and arithmetic in one type, against the exact law."""
    a = dtype(float(F(alpha)))
    for companion in companions(asking(**cascade(rule, alpha)), SINGLE if dtype is not np.float16 else 11):
        for text in (x for n in range(companion.gamma) for x in companion.prefixes(n)):
            p, q = (
                np.array([float(x) for x in m.row(text)]).astype(dtype) for m in (companion.target, companion.draft)
            )
            share = dtype(a * dtype(0.5) * abs(p - q).sum(dtype=dtype)) if rule == "optimal" else a
            most, top = dtype(1) if rule == "chow" else p.max(), q.max()
            ways = {bool(top < dtype(most - share)), bool(dtype(top + share) < most), bool(dtype(most - top) > share)}
            deferred = companion.asked.row(text) != companion.draft.row(text)
            assert ways == {deferred} or companion.target.row(text) == companion.draft.row(text), (companion.name, text)


def test_a_problem_without_a_law_has_none_and_those_of_one_that_has_keep_size_and_law():
    assert companions(tree_problem_from(ROWS)) == []
    for law in ({"mixture": "1/2"}, {"temperature": "1/2", "top_p": "9/10"}, {"top_k": 2}):
        problem = asking(**law)
        beside = companions(problem)
        assert len(beside) >= 3 and len({p.name for p in beside}) == len(beside)
        assert all((p.vocabulary, p.gamma, p.law) == (3, 2, problem.law) for p in beside)
        assert all(tree_problem_from(as_json(p)) == p for p in beside)


def test_ties_are_known_and_not_those_beside():
    beside = companions(asking(**cascade("optimal", "1/5")))
    assert {p.name.rsplit("-", 2)[1] for p in beside} == {"tie", "near"}
    assert [on_a_tie(replace(p, gamma=1)) for p in beside] == ["-tie-" in p.name for p in beside]
    assert not on_a_tie(tree_problem_from(ROWS))
