"""The audit: the zoo, smallest witnesses, checks, and a table of functions with what is said of each."""

import json
import shlex
from fractions import Fraction

import pytest

from draftproof import audit, check_verifier
from draftproof.corpus.site.zoo import audit_entry
from draftproof.models.battery import audit_battery, drawn, toy
from draftproof.models.problem import problem_from
from draftproof.models.wide import wide
from draftproof.proofs.interception.loading import load
from draftproof.proofs.shrink import shrink, size
from draftproof.reports.audits.functions import problems as functions
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.explanation import Explanation
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audited import audited, written
from draftproof.tests.reports.audits.functions.written import TOKEN
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS

ENTRIES = [*MUTANTS.values(), *CONTROLS.values()]
SAMPLES_THE_TARGET = TOKEN.replace("left = np.maximum(target_probs[i] - draft_probs[i], 0)", "left = target_probs[i]")
COARSE = TOKEN.replace("rng.random()", "rng.random(dtype=np.float32)")

OFTEN = "C02"
PARTS = [
    pytest.param(entry, marks=[pytest.mark.zoo] if k % 6 or (entry.name in CONTROLS and entry.name != OFTEN) else [])
    for k, entry in enumerate(ENTRIES)
]
"""Every run of the tests audits a sixth of the mutants, and a control on a sixth of the problems, ``make zoo`` all."""


@pytest.mark.parametrize("entry", PARTS, ids=lambda e: e.name)
def test_the_zoo_every_mutant_is_refuted_and_every_control_cleared(entry, monkeypatch):
    if entry.name == OFTEN:
        monkeypatch.setattr(functions, "audit_battery", lambda: audit_battery()[::6])
    report, row = audit_entry(entry)
    assert row["as_expected"], (entry.title, report.verdict, report.failure)
    assert "; quick: no wide problem" in row["scope"]


def test_the_zoo_is_large_enough_and_every_mutant_has_its_ancestor():
    assert len(MUTANTS) >= 25 and len(CONTROLS) >= 6
    assert all(e.link.startswith("https://") and e.ancestor for e in MUTANTS.values())
    assert len({load(e.target) for e in ENTRIES}) == len(ENTRIES), "a function each, and every one is there"


def test_a_right_verifier_is_lossless_has_its_price_and_gets_no_diagnosis():
    report = audited(written(TOKEN), [toy(2), drawn(3, 2, "generic")])
    assert (report.verdict, report.diagnosis, report.shown_refutation()) == ("holds", [], None)
    price = next(e for e in report.evidence if e.claim == "optimal")
    assert (price.detail.expected_accepted, price.detail.optimum) == ("10/9", "11/9")
    assert price.detail.tokens_per_call_lost == pytest.approx(1 / 9)


def test_a_biased_verifier_is_refuted_with_a_smallest_witness_and_its_diagnosis_and_the_same_twice():
    passing = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/2", "1/2"], "draft": ["1/2", "1/2"]}, "same")
    failing = problem_from({"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}, "same")
    name = written(SAMPLES_THE_TARGET)
    report = audited(name, [passing, failing])
    assert report.verdict == "refuted"
    assert {e.problem for e in report.evidence} >= {"same", "same-2"}, "problems of one name are told apart"
    witness = report.shown_refutation().witness.problem
    assert (witness["vocabulary"], witness["gamma"]) == (2, 1)
    assert isinstance(witness["target"], list), "context-independent: nothing smaller is possible"
    assert all(Fraction(p).denominator <= 3 for p in witness["target"] + witness["draft"])
    assert [d["title"] for d in report.diagnosis] == ["replacement drawn from the target, not the residual"]
    again, first = (audit(name, [failing], dtypes=["float64"], explain=False).text() for _ in range(2))
    assert again == first


def test_the_witness_has_the_two_laws_as_rationals_and_a_biased_function_is_not_called_optimal():
    """Right acceptance, wrong replacement: E[tau] is the optimum's, which is a statement about valid verifiers."""
    report = audited(written(SAMPLES_THE_TARGET), [toy(1)], claims=("optimal",), explain=False)
    shown = {e.sequence: (e.expected, e.observed) for e in report.evidence[0].witness.laws}
    assert shown == {"0": ("1/3", "4/9"), "1": ("2/3", "5/9")}
    assert {e.verdict for e in report.evidence if e.claim == "optimal"} == {"not-claimed"}
    assert report.verdict == "inconclusive"


def test_shrinking_keeps_the_fault_and_grows_nothing():
    start, tried = drawn(4, 2, "generic"), []

    def fails(problem):
        tried.append(problem)
        return problem.target.row(()) != problem.draft.row(())

    smallest = shrink(start, fails)
    assert size(smallest) < size(start) and (smallest.vocabulary, smallest.gamma) == (2, 1)
    assert smallest.target.row(()) != smallest.draft.row(())
    assert all(sum(p.target.row(())) == 1 for p in tried)


def test_check_verifier_raises_with_the_witness_and_the_replay_command(monkeypatch):
    monkeypatch.setattr(functions, "audit_battery", lambda: [toy(2)])
    monkeypatch.setattr(functions, "own_problems", lambda seed: [])
    check_verifier(written(TOKEN))
    with pytest.raises(AssertionError, match=r"(?s)lossless is refuted\n.*Reproduce +draftproof audit"):
        check_verifier(written(SAMPLES_THE_TARGET))
    with pytest.raises(AssertionError, match="optimal is refuted"):
        check_verifier(written(TOKEN), ["optimal"])
    with pytest.raises(ValueError, match="no check 'speed'"):
        check_verifier(written(TOKEN), ["speed"])


TWO_GENERATORS = """
import torch
def f(target_probs, draft_probs, draft_tokens, generator):
    for i, x in enumerate(draft_tokens):
        if torch.rand(1, dtype=torch.float64) >= (target_probs[i, x] / draft_probs[i, x]).clamp(max=1.0):
            left = (target_probs[i] - draft_probs[i]).clamp(min=0)
            u = torch.rand(1, dtype=torch.float64, generator=generator) * left.sum()
            return [*draft_tokens[:i], (left.cumsum(0) <= u).sum()]
    return [*draft_tokens, torch.multinomial(target_probs[-1], 1, generator=generator)]
"""


@pytest.mark.needs("torch")
def test_the_generator_handed_in_and_the_global_one_are_different_streams_when_sampling():
    report = audited(written(TWO_GENERATORS), [toy(1)], array="torch", levels=("statistical",), samples=2000)
    assert report.verdict == "inconclusive"


@pytest.mark.needs("torch")
def test_the_replay_command_carries_what_it_needs():
    source = "def f(target_probs, draft_probs, draft_tokens):\n    return [int(not hasattr(target_probs, 'numel'))]\n"
    report = audited(written(source), [toy(1)], array="torch", explain=False)
    words = shlex.split(next(e.replay for e in report.evidence if e.replay))
    assert words[words.index("--array") + 1] == "torch"


def test_a_function_that_ignores_the_draft_is_lossless_and_outside_the_definition_of_acceptance():
    source = """
def f(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(row), p=row) for row in target_probs]
"""
    report = audited(written(source), [toy(2)], claims=("lossless", "optimal"), explain=False)
    optimal = next(e for e in report.evidence if e.claim == "optimal")
    assert (report.verdict, optimal.verdict) == ("holds", "not-claimed") and "Definition 1" in optimal.detail.why


def test_a_coarse_uniform_is_named_as_the_cause_and_judged_as_such_where_that_is_asked_for():
    problems = [drawn(3, 2, "generic"), wide(9, 2)]
    named = audited(written(COARSE), problems[:1], explain=False)
    assert named.verdict == "refuted"
    assert "24-bit uniform" in named.findings["coarse-uniform"]
    assert "--uniform-bits 24" in named.findings["coarse-uniform"]
    report = audited(written(COARSE), problems, uniform_bits=24, explain=False)
    assert report.verdict == "holds" and "up to the lattice of 24-bit uniforms" in report.reading
    assert Report.from_json(json.loads(report.text())).reading == report.reading
    finer = audited(written(COARSE), problems, uniform_bits=32, explain=False)
    assert finer.verdict == "refuted" and "--uniform-bits 32" in finer.shown_refutation().replay
    biased = COARSE.replace("rng.random(dtype=np.float32)", "(rng.random(dtype=np.float32) - 1e-5)", 1)
    assert audited(written(biased), problems[:1], uniform_bits=24, explain=False).verdict == "refuted"


def test_an_interruption_ends_the_audit_of_all_dtypes_and_keeps_what_was_measured(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Explanation, "run", interrupted)
    report = run_audit(
        subject_from(written(TOKEN), None, ("float64", "float32")), AuditSettings(problems=[toy(1)], jobs=1)
    )
    assert report.interrupted and report.verdict == "error"
    assert {e.dtype for e in report.evidence} == {"float64"}
    with pytest.raises(KeyboardInterrupt):
        audit(written(TOKEN), [toy(1)])


FLATTENED = (
    TOKEN
    + """def flattened(rows):
    return np.full_like(rows, 1 / rows.shape[-1])
def flat(a, b, c, rng):
    return token(flattened(a), flattened(b), c, rng)
def softmax(a, b, c, rng):
    return token(a, b, c, rng)
flat.rows_in_use = flattened
softmax.rows_in_use = lambda rows: np.exp(np.log(rows)) / np.exp(np.log(rows)).sum(-1, keepdims=True)
"""
)


def test_rows_in_use_that_are_not_those_given_are_not_believed():
    flat, softmax = (
        audited(written(FLATTENED, f), [drawn(3, 1, "generic")], explain=False) for f in ("flat", "softmax")
    )
    assert (flat.verdict, softmax.verdict) == ("refuted", "holds")
    reasons = [e.detail.reason for e in flat.evidence if e.detail.reason]
    assert reasons and all("from those it is given" in reason for reason in reasons)
