"""One rule decides between rounding, no evidence and refuted; another in its place changes what every judge says."""

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import draftproof
from draftproof.models.rationals import as_float
from draftproof.proofs.audit_claims import judge, refuted, verdict
from draftproof.proofs.diagnosis import diagnose
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import verdict_rule
from draftproof.proofs.laws.reference_laws import joint_law
from draftproof.reports.audits.campaigns.run import Judge
from draftproof.reports.audits.functions.hints import precision_hint
from draftproof.reports.audits.functions.relations import other_law
from draftproof.reports.audits.functions.samples import goodness
from draftproof.reports.audits.functions.wide_cells import goodness as wide_goodness
from draftproof.reports.audits.functions.wide_laws import other_law_backwards
from draftproof.reports.audits.measured_law import measured_law_report
from draftproof.reports.audits.subject import subject_from
from draftproof.stattests.campaign.tally import Outcomes, Tally
from draftproof.tests.proofs.enumerated import PROBLEM, WIDE, impossible_law, law_of, planted, wide_law
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.zoo.catalogue import MUTANTS

pytestmark = pytest.mark.exact

ROOT = Path(draftproof.__file__).parent


@pytest.mark.parametrize(
    ("deviation", "verdict"),
    [(0.0, HOLDS), (1e-9, HOLDS), (1.5e-9, NO_EVIDENCE), (2e-9, NO_EVIDENCE), (2.1e-9, REFUTED), (1.0, REFUTED)],
)
def test_rounding_holds_more_than_any_rounding_refutes_and_between_nothing_is_decided(deviation, verdict):
    assert verdict_rule.decide(deviation, 1e-9, 2e-9) == verdict


def counts_of(problem):
    law = {o: as_float(p) for o, p in joint_law(in_field(problem).target, problem.gamma + 1).items()}
    n = np.random.default_rng(0).multinomial(10_000, [*law.values()])
    return Counter(dict(zip(law, n.tolist(), strict=True)))


def tally_of(problem):
    tally = Tally(Outcomes(problem.vocabulary, problem.gamma + 1))
    for tokens, n in counts_of(problem).items():
        tally.count(tokens, n)
    return tally


JUDGES = {
    "lossless": lambda: verdict(law_of(), "lossless"),
    "support": lambda: verdict(law_of(), "support"),
    "optimal": lambda: verdict(law_of(), "optimal"),
    "an impossible token": lambda: refuted(impossible_law(), "support"),
    "evidence": lambda: [e.verdict for e in judge(law_of(verifier="token"))],
    "lossless, wide": lambda: verdict(wide_law(), "lossless"),
    "support, wide": lambda: verdict(wide_law(), "support"),
    "optimal, wide": lambda: verdict(wide_law(), "optimal"),
    "samples": lambda: goodness(law_of(reason="none"), counts_of(PROBLEM), 1e-6, 0).verdict,
    "samples, wide": lambda: (
        wide_goodness(wide_law(reason="none"), {(t,): 1 for t in range(WIDE.vocabulary)}, 1e-6, 0).verdict
    ),
    "a campaign": lambda: Judge(PROBLEM).evidence(tally_of(PROBLEM)).verdict,
    "relations": lambda: other_law(law_of(), law_of(moved=0.1), range(PROBLEM.vocabulary)),
    "relations, wide": lambda: other_law_backwards(wide_law(), wide_law(moved=1e-4)),
    "state": lambda: law_of().agrees_with(law_of()),
    "diagnosis": lambda: diagnose([law_of(moved=0.1)], [MUTANTS["M01"]], lambda entry, same: same),
    "a hint": lambda: precision_hint([judge(law_of(moved=1e-8))[0]]),
    "law": lambda: measured_law_report(subject_from("draftproof.tests.subjects.regions:right"), PROBLEM)["verdict"],
}


@pytest.mark.parametrize("judge_of", JUDGES)
def test_every_judge_asks_the_rule(judge_of, monkeypatch):
    before = JUDGES[judge_of]()
    monkeypatch.setattr(verdict_rule, "decide", planted)
    assert JUDGES[judge_of]() != before


def comparisons(tree):
    """Comparisons of what a law's rounding can account for."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr in ("tolerance", "explained")
    ]


def test_nobody_compares_with_a_tolerance_besides_the_rule():
    files = [*(ROOT / "proofs").rglob("*.py"), *(ROOT / "reports").rglob("*.py")]
    assert {file.name: found for file in files if (found := comparisons(ast.parse(file.read_text("utf-8"))))} == {}
    assert comparisons(ast.parse("refuted = law.total_variation > law.explained")) == [1]
