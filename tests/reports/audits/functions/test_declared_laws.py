"""Functions audited against a law that the problem declares: a right one holds, planted ones are refuted."""

import numpy as np
import pytest

from draftproof import audit
from draftproof.models.errors import InputError
from draftproof.models.problem import tree_problem_from

ROWS = {"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}
GRAMMAR = {"1": [0], "0,1": [0]}


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


def audited(function, **law):
    return audit(function, [tree_problem_from({**ROWS, "law": law}, "asked")], quick=True, explain=False)


def test_an_ensemble_holds_against_its_mixture_and_the_report_says_which():
    report = audited(half, mixture="1/2")
    assert report.verdict == "holds"
    assert "asked for the law: mixture with the target's share 1/2" in report.as_json()["scope"]["says"]
    assert report.evidence[0].detail.law == "mixture with the target's share 1/2"


def test_an_ensemble_with_another_weight_is_refuted_by_a_problem_that_still_declares_the_law():
    report = audited(more, mixture="1/2")
    assert report.verdict == "refuted"
    assert next(e for e in report.evidence if e.refuted).witness.problem["law"] == {"mixture": "1/2"}


def test_a_verifier_of_the_target_is_refuted_where_a_mixture_is_asked_for():
    assert audited(plain, mixture="1/2").verdict == "refuted"


def test_a_mask_has_the_projected_law_and_not_the_conditional_one():
    assert audited(masked, grammar={"allowed": GRAMMAR, "law": "projected"}).verdict == "holds"
    report = audited(masked, grammar={"allowed": GRAMMAR, "law": "conditional"})
    assert report.verdict == "refuted"


CASCADE = {"vocabulary": 3, "gamma": 1, "target": ["1/2", "3/10", "1/5"], "draft": ["1/5", "1/5", "3/5"],
           "law": {"cascade": {"defer": "optimal", "alpha": "1/5"}}}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "verdict"), [(cascade, "holds"), (without_the_half, "refuted"), (on_the_tie_too, "refuted")]
)
def test_a_cascade_is_examined_beside_its_threshold_and_on_it(function, verdict):
    """On the problem that is given and on its twins all three have one law (``tests/models/test_companions.py``)."""
    report = audit(function, [tree_problem_from(CASCADE, "asked")], explain=False)
    assert report.verdict == verdict
    of = {e.problem: e.verdict for e in report.evidence if e.claim == "lossless"}
    assert of["asked"] == "holds" and any(name.startswith("asked-tie-") for name in of)


def test_a_token_that_the_law_excludes_is_refuted_though_the_target_has_it():
    report = audit(
        plain, [tree_problem_from({**ROWS, "law": {"top_k": 1}})], claims=("support",), quick=True, explain=False
    )
    assert report.verdict == "refuted"


def test_what_modifies_the_target_is_not_judged_against_a_declared_law():
    with pytest.raises(InputError, match="modifies the target"):
        audit("greedy-block", [tree_problem_from({**ROWS, "law": {"mixture": "1/2"}})])
