"""What must not matter is noticed where it does: the order of ids, rows that do not sum to 1."""

import pytest

from draftproof.models.related import relatives
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.problems import ORIGINALS, restated_problems
from draftproof.reports.audits.functions.relations import Relations
from draftproof.reports.audits.functions.session import FunctionSession
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from

TOKEN = """
import numpy as np
def f(target_probs, draft_probs, draft_tokens, rng):
    p, q = (np.array(rows) / np.sum(rows, axis=1, keepdims=True) for rows in (target_probs, draft_probs))
    {first}
    for i, x in enumerate(draft_tokens):
        if not rng.random() < min(1.0, p[i][x] / q[i][x]):
            left = np.maximum(p[i] - q[i], 0)
            return [*draft_tokens[:i], rng.choice(len(left), p=left / left.sum())]
    return [*draft_tokens, rng.choice(len(p[-1]), p=p[-1])]
"""
IGNORES_THE_DRAFT = "if p[0][0] > p[0][-1]: return [rng.choice(len(p[0]), p=p[0])]"


def _examined(tmp_path, source):
    file = tmp_path / "subject.py"
    file.write_text(source)
    subject = subject_from(f"{file}:f")
    report = Report.begin(subject.name, subject.source, subject.dtypes, 0)
    problems = [p for p in restated_problems() if p.gamma == 1]
    with Sandbox(subject.target) as sandbox:
        session = FunctionSession(subject, "float64", problems, AuditSettings(), report, sandbox)
        session.start()
        session.laws += map(session.measure, problems)
        Relations(session, wanted=True).run()
    return report, [lossless(law) for law in session.laws]


def test_a_verifier_that_normalises_its_rows_says_so_and_nothing_else_is_noticed(tmp_path):
    report, laws = _examined(tmp_path, TOKEN.format(first=""))
    assert report.findings.keys() == {"scaling"}
    assert report.findings["scaling"].count("no matter") == 3
    assert not any(e.refuted for e in laws)


def test_a_lossless_verifier_that_minds_the_order_of_ids_is_noticed_and_not_refuted(tmp_path):
    report, laws = _examined(tmp_path, TOKEN.format(first=IGNORES_THE_DRAFT))
    assert "ids in the opposite order has another law" in report.findings["relation"]
    assert not any(e.refuted for e in laws)


def test_rows_taken_as_they_are_are_a_finding(tmp_path):
    report, _ = _examined(
        tmp_path, TOKEN.format(first="p, q = target_probs, draft_probs").replace("p=p[-1]", "p=p[-1] / p[-1].sum()")
    )
    assert "TV" in report.findings["scaling"]


def test_a_verifier_that_takes_the_last_id_for_padding_is_refuted_on_a_restated_problem(tmp_path):
    _, laws = _examined(tmp_path, TOKEN.format(first="p[:, 3:] = 0; p /= p.sum(axis=1, keepdims=True)"))
    assert {e.problem for e in laws if e.refuted} >= {"generic-V3-gamma1-of-6", "generic-V3-gamma1-of-64"}


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
