"""What must not matter is noticed where it does: the order of ids, rows that do not sum to 1."""

import pytest

from draftproof.models.related import relatives
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.problems import ORIGINALS, restated_problems
from draftproof.reports.audits.functions.relations import Relations
from draftproof.tests.reports.audited import written
from draftproof.tests.reports.audits.functions.sessions import session_of

TOKEN = """
import numpy as np
def f(target_probs, draft_probs, draft_tokens, rng):
    p, q = (np.array(rows) / np.sum(rows, axis=1, keepdims=True) for rows in (target_probs, draft_probs))
    {first}
    for i, x in enumerate(draft_tokens):
        if not rng.random() < min(1.0, p[i][x] / q[i][x]):
            left = np.maximum(p[i] - q[i], 0)
            return [*draft_tokens[:i], rng.choice(len(left), p=left / left.sum())]
    return [*draft_tokens, rng.choice(len(p[-1]), p=p[-1] / p[-1].sum())]
"""
IGNORES_THE_DRAFT = "if p[0][0] > p[0][-1]: return [rng.choice(len(p[0]), p=p[0])]"
LAST_IS_PADDING = "p[:, 3:] = 0; p /= p.sum(axis=1, keepdims=True)"


@pytest.mark.parametrize(
    ("first", "findings", "refuted"),
    [
        ("", {"scaling": "no matter; target x 1.0000001, draft x 1: no matter; "}, set()),
        (IGNORES_THE_DRAFT, {"scaling": "", "relation": "ids in the opposite order has another output"}, set()),
        ("p, q = target_probs, draft_probs", {"scaling": "TV"}, set()),
        (LAST_IS_PADDING, None, {"generic-V3-gamma1-of-6", "generic-V3-gamma1-of-64"}),
    ],
    ids=["normalises", "order of ids", "rows as they are", "last id is padding"],
)
def test_laws_of_restated_problems_and_scaled_rows_are_compared(first, findings, refuted):
    problems = [p for p in restated_problems() if p.gamma == 1]
    with Sandbox(written(TOKEN.format(first=first))) as sandbox:
        session = session_of(sandbox, problems)
        session.start()
        session.laws += map(session.measure, problems)
        Relations(session, wanted=True).run()
    assert {law.problem.name for law in session.laws if lossless(law).refuted} >= refuted
    assert refuted or not any(lossless(law).refuted for law in session.laws)
    assert findings is None or session.report.findings.keys() == findings.keys()
    assert all(said in session.report.findings[kind] for kind, said in (findings or {}).items())


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda p: p.name)
def test_restated_problems_are_problems_with_the_rows_of_the_original_under_other_names(original):
    for relative in relatives(original):
        problem = relative.problem
        for length in range(problem.gamma + 1):
            for prefix in problem.prefixes(length):
                assert sum(problem.target.row(prefix)) == 1
                assert length == problem.gamma or sum(problem.draft.row(prefix)) == 1
        if relative.ids:
            first = problem.target.row(())
            assert [first[i] for i in relative.ids] == list(original.target.row(()))
