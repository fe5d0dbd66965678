"""Functions audited against a law that the problem declares: a right one holds, planted ones are refuted."""

import numpy as np
import pytest

from draftproof import audit
from draftproof.models.errors import InputError
from draftproof.models.problem import tree_problem_from
from draftproof.tests.reports.audited import audited

ROWS = {"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}
GRAMMAR = {"1": [0], "0,1": [0]}
CASCADE = {"vocabulary": 3, "gamma": 1, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/5", "3/5"],
           "law": {"cascade": {"defer": "optimal", "alpha": "1/5"}}}  # fmt: skip


def against(row_of):
    """Token verification against rows made of the target's, the draft's and the text so far."""

    def verify(target_probs, draft_probs, draft_tokens, rng):
        text = []
        for i, p in enumerate(target_probs):
            q = draft_probs[i] if i < len(draft_tokens) else None
            v = row_of(np.array(p), q, text)
            if q is None:
                return [*text, int(rng.choice(len(v), p=v / v.sum()))]
            x = int(draft_tokens[i])
            if rng.random() * q[x] >= v[x]:
                left = np.maximum(v - q, 0)
                return [*text, int(rng.choice(len(v), p=left / left.sum()))]
            text.append(x)
        raise AssertionError

    return verify


def mixed(share):
    return against(lambda p, q, text: p if q is None else share * p + (1 - share) * q)


def mask(p, q, text):
    p[1] = 0 if text and text[-1] == 1 else p[1]
    return p / p.sum()


def deferring(apart, strict=True):
    """The cascade that defers where max q < max p - TV / 5."""

    def row_of(p, q, text):
        if q is None:
            return p
        least = p.max() - 0.2 * apart(p, q)
        return p if q.max() < least or (q.max() == least and not strict) else np.array(q)

    return against(row_of)


half, more, plain, masked = mixed(0.5), mixed(0.6), mixed(1.0), against(mask)
cascade = deferring(lambda p, q: abs(p - q).sum() / 2)
without_the_half = deferring(lambda p, q: abs(p - q).sum())
on_the_tie_too = deferring(lambda p, q: abs(p - q).sum() / 2, strict=False)


@pytest.mark.parametrize(
    ("function", "law", "claim", "verdict"),
    [
        (half, {"mixture": "1/2"}, "lossless", "holds"),
        (more, {"mixture": "1/2"}, "lossless", "refuted"),
        (masked, {"grammar": {"allowed": GRAMMAR, "law": "projected"}}, "lossless", "holds"),
        (masked, {"grammar": {"allowed": GRAMMAR, "law": "conditional"}}, "lossless", "refuted"),
        (plain, {"top_k": 1}, "support", "refuted"),
    ],
)
def test_a_function_is_judged_by_the_law_that_is_declared(function, law, claim, verdict):
    problem = tree_problem_from({**ROWS, "law": law}, "asked")
    report = audited(function, [problem], quick=True, explain=False, claims=(claim,))
    assert report.verdict == verdict
    if function is half:
        assert "asked for the distribution: mixture with the target's share 1/2" in report.scope.says
    if function is more:
        assert report.shown_refutation().witness.problem["law"] == law


@pytest.mark.parametrize(
    ("function", "verdict"), [(cascade, "holds"), (without_the_half, "refuted"), (on_the_tie_too, "refuted")]
)
def test_a_cascade_is_examined_next_to_its_threshold_and_on_it(function, verdict):
    """On the problem that is given all three have one law (``tests/models/test_companions.py``)."""
    report = audited(function, [tree_problem_from(CASCADE, "asked")], explain=False)
    assert report.verdict == verdict
    of = {e.problem: e.verdict for e in report.evidence if e.claim == "lossless"}
    assert of["asked"] == "holds" and any(name.startswith("asked-tie-") for name in of)


def test_what_modifies_the_target_is_not_judged_against_a_declared_law():
    with pytest.raises(InputError, match="modifies the target"):
        audit("greedy-block", [tree_problem_from({**ROWS, "law": {"mixture": "1/2"}})])
