"""The audit: smallest witness, diagnosis, checks, the zoo, the first real engine."""

import json
import re
from fractions import Fraction

import pytest

from draftproof import check_verifier, law, parametrize_with_checks
from draftproof.models.battery import audit_battery, drawn, toy
from draftproof.models.errors import InputError
from draftproof.models.problem import problem_from
from draftproof.models.wide import wide
from draftproof.proofs.interception.loading import load
from draftproof.proofs.shrink import shrink, size
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions import problems as functions
from draftproof.reports.audits.functions import session
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.zoo import audit_entry
from draftproof.reports.audits.report import Report
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audits.functions.written import TOKEN
from draftproof.verifiers.zoo.catalogue import CONTROLS, MUTANTS

ENTRIES = [*MUTANTS.values(), *CONTROLS.values()]

SAMPLES_THE_TARGET = """
def f(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if rng.random() >= min(1.0, target_probs[i][x] / draft_probs[i][x]):
            return [*draft_tokens[:i], rng.choice(len(target_probs[i]), p=target_probs[i])]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
"""


@pytest.fixture
def write(tmp_path):
    def written(source, name="subject.py"):
        file = tmp_path / name
        file.write_text(source)
        (*_, function) = re.findall(r"^def (\w+)", source, re.MULTILINE)
        return f"{file}:{function}"

    return written


OFTEN = "C02"
PARTS = [
    pytest.param(entry, marks=[pytest.mark.zoo] if k % 6 or (entry.name in CONTROLS and entry.name != OFTEN) else [])
    for k, entry in enumerate(ENTRIES)
]
"""Every run of the tests audits a sixth of the mutants, and a control on a third of the problems, ``make zoo`` all."""


@pytest.mark.parametrize("entry", PARTS, ids=lambda e: e.name)
def test_the_zoo_every_mutant_is_refuted_and_every_control_cleared(entry, monkeypatch):
    monkeypatch.setattr(session, "QUICK", 3600.0)
    if entry.name == OFTEN:
        monkeypatch.setattr(functions, "audit_battery", lambda: audit_battery()[::3])
    report, row = audit_entry(entry)
    assert row["as_expected"], (entry.title, report.verdict, report.failure)
    assert "; quick: no wide problem" in row["scope"]


def test_the_zoo_is_large_enough_and_every_mutant_has_its_ancestor():
    assert len(MUTANTS) >= 25
    assert len(CONTROLS) >= 6
    assert all(e.link.startswith("https://") and e.ancestor for e in MUTANTS.values())
    assert len({load(e.target) for e in ENTRIES}) == len(ENTRIES), "a function each, and every one is there"


def test_token_verification_written_by_somebody_else_is_lossless_has_its_price_and_gets_no_diagnosis(write):
    report = audit(write(TOKEN), [toy(2), drawn(3, 2, "generic")])
    assert (report.verdict, report.diagnosis, report.smallest) == ("holds", [], None)
    price = next(e for e in report.evidence if e.claim == "optimal")
    assert (price.detail.expected_accepted, price.detail.optimum) == ("10/9", "11/9")
    assert price.detail.tokens_per_call_lost == pytest.approx(1 / 9)


def test_a_biased_verifier_is_refuted_with_a_smallest_witness_and_its_diagnosis_and_the_same_twice(write):
    passing = problem_from({"vocabulary": 2, "gamma": 1, "target": ["1/2", "1/2"], "draft": ["1/2", "1/2"]}, "same")
    failing = problem_from({"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}, "same")
    name = write(SAMPLES_THE_TARGET)
    report = audit(name, [passing, failing])
    assert report.verdict == "refuted"
    assert {e.problem for e in report.evidence} >= {"same", "same-2"}, "problems of one name are told apart"
    witness = report.smallest.witness.problem
    assert (witness["vocabulary"], witness["gamma"]) == (2, 1)
    assert isinstance(witness["target"], list), "context-independent: nothing smaller is possible"
    assert all(Fraction(p).denominator <= 3 for p in witness["target"] + witness["draft"])
    assert [d["title"] for d in report.diagnosis] == ["replacement drawn from the target, not the residual"]
    again, first = (audit(name, [failing], explain=False).text() for _ in range(2))
    assert again == first


def test_the_witness_has_the_two_laws_as_rationals_and_a_biased_function_is_not_called_optimal(write):
    """Right acceptance, wrong replacement: E[tau] is the optimum's, which is a statement about valid verifiers."""
    report = audit(write(SAMPLES_THE_TARGET), [toy(1)], claims=("optimal",), explain=False)
    shown = {e.sequence: (e.expected, e.observed) for e in report.evidence[0].witness.laws}
    assert shown == {"0": ("1/3", "4/9"), "1": ("2/3", "5/9")}
    assert {e.verdict for e in report.evidence if e.claim == "optimal"} == {"not-claimed"}
    assert report.verdict == "inconclusive"


@pytest.mark.long
def test_accepting_more_than_the_optimum_proves_bias_without_a_look_at_the_law(write):
    report = audit(
        write("def f(target_probs, draft_probs, draft_tokens, rng):\n"
              "    return [*draft_tokens, rng.choice(2, p=target_probs[-1])]\n"), [toy(2)])  # fmt: skip
    item = next(e for e in report.evidence if e.claim == "optimal")
    assert item.verdict == "refuted"
    assert "bias is proved" in item.detail.above
    assert "Lemma 10" in item.detail.above


def test_shrinking_keeps_the_fault_and_grows_nothing():
    start = drawn(4, 2, "generic")
    tried = []

    def fails(problem):
        tried.append(problem)
        return problem.target.row(()) != problem.draft.row(())

    smallest = shrink(start, fails)
    assert size(smallest) < size(start)
    assert (smallest.vocabulary, smallest.gamma) == (2, 1)
    assert smallest.target.row(()) != smallest.draft.row(())
    assert all(sum(p.target.row(())) == 1 for p in tried)


@pytest.mark.parametrize("name", ["token", "block", "block-stream", "greedy-block"])
def test_reference_verifiers_are_lossless_over_exact_rationals(name):
    report = run_audit(
        subject_from(name), AuditSettings(problems=[toy(2), toy(3), drawn(3, 2, "mixed"), drawn(3, 2, "zeros")])
    )
    assert report.verdict == "holds"
    assert all(e.total_variation == 0 for e in report.evidence if e.claim == "lossless")
    support = [e.verdict for e in report.evidence if e.claim == "support"]
    assert set(support) == {"holds"}


def test_check_verifier_raises_with_the_witness_and_the_replay_command(write, monkeypatch):
    monkeypatch.setattr(functions, "audit_battery", lambda: [toy(2)])
    monkeypatch.setattr(functions, "own_problems", lambda seed: [])
    check_verifier(write(TOKEN))
    with pytest.raises(AssertionError, match=r"(?s)lossless is refuted on .*replay: draftproof audit"):
        check_verifier(write(SAMPLES_THE_TARGET, "other.py"))
    with pytest.raises(AssertionError, match="optimal is refuted"):
        check_verifier(write(TOKEN), ["optimal"])
    with pytest.raises(ValueError, match="no check 'speed'"):
        check_verifier(write(TOKEN), ["speed"])


@pytest.mark.long
def test_check_verifier_sees_inputs_written_to(write):
    restoring = "draft_probs[0][0] += 0.0", "target_probs[0] *= 0.5", "target_probs[0] *= 2.0", "draft_tokens[0] += 0"
    source = TOKEN.replace("    for i, x", "".join(f"    {line}\n" for line in restoring) + "    for i, x")
    assert "inputs-written" not in audit(write(source), [toy(1)], explain=False).findings  # restored: nobody can tell
    source = TOKEN.replace("    for i, x", "    draft_tokens = draft_tokens.copy()\n    for i, x").replace(
        "    return [*draft_tokens, rng", "    target_probs[0][0] = 1.0\n    return [*draft_tokens, rng"
    )
    with pytest.raises(AssertionError, match="writes to its input target_probs"):
        check_verifier(write(source, "writes.py"), ["pure"])


def test_a_function_that_cannot_be_found_by_name_is_refused():
    with pytest.raises(InputError, match="cannot be found by name"):
        audit(lambda target_probs, draft_probs, draft_tokens: [0])


@parametrize_with_checks(["block"], ["lossless", "support", "optimal"])
def test_the_decorator_runs_each_check(check):
    check()


def test_law_from_python():
    problem = problem_from({"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]})
    assert law("block", problem)["expected_accepted"] == "11/9"
    assert json.dumps(law("token", problem))


@pytest.mark.engine
@pytest.mark.long
def test_transformers_as_published_is_lossless_short_of_the_optimum_and_leaks_at_zero():
    """Facts about the published function: lossless in each precision up to its rounding; <= at u = 0 emits a token
    of probability 0; token verification's price."""
    report = audit("transformers", [toy(2), drawn(3, 1, "disjoint"), drawn(3, 2, "generic")], explain=False)
    assert report.verdict == "holds", report.failure
    deviation = {
        dtype: max(e.total_variation for e in report.evidence if e.claim == "lossless" and e.detail.dtype == dtype)
        for dtype in ("float64", "float32", "bfloat16")
    }
    assert deviation["float64"] < 1e-15
    assert deviation["float32"] < 1e-6
    assert deviation["bfloat16"] < 0.02
    leak = {e.detail.dtype: e.witness.observed for e in report.evidence if e.claim == "support" and e.witness}
    assert leak["float64"] == "2^-53"
    assert leak["float32"] == "2^-24"
    optimal = [e for e in report.evidence if e.claim == "optimal" and e.problem == "paper-example-gamma2"]
    assert (optimal[0].detail.expected_accepted, optimal[0].detail.optimum) == ("10/9", "11/9")


# What an independent review broke.


def test_the_generator_handed_in_and_the_global_one_are_different_streams_when_sampling(write):
    pytest.importorskip("torch")
    source = """
import torch
def f(target_probs, draft_probs, draft_tokens, generator):
    for i, x in enumerate(draft_tokens):
        if torch.rand(1, dtype=torch.float64) >= (target_probs[i, x] / draft_probs[i, x]).clamp(max=1.0):
            left = (target_probs[i] - draft_probs[i]).clamp(min=0)
            u = torch.rand(1, dtype=torch.float64, generator=generator) * left.sum()
            return [*draft_tokens[:i], (left.cumsum(0) <= u).sum()]
    return [*draft_tokens, torch.multinomial(target_probs[-1], 1, generator=generator)]
"""
    report = audit(write(source), [toy(1)], array="torch", levels=("statistical",), samples=2000)
    assert report.verdict == "inconclusive"


def test_the_replay_command_carries_what_it_needs(write):
    import shlex

    pytest.importorskip("torch")
    source = (
        "def f(target_probs, draft_probs, draft_tokens):\n    return [0 if hasattr(target_probs, 'numel') else 1]\n"
    )
    report = audit(write(source), [toy(1)], array="torch", explain=False)
    words = shlex.split(next(e.replay for e in report.evidence if e.replay))
    assert words[words.index("--array") + 1] == "torch"


def test_a_function_that_ignores_the_draft_is_lossless_and_outside_the_definition_of_acceptance(write):
    source = """
def f(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(row), p=row) for row in target_probs]
"""
    report = audit(write(source), [toy(2)], claims=("lossless", "optimal"), explain=False)
    optimal = next(e for e in report.evidence if e.claim == "optimal")
    assert report.verdict == "holds"
    assert optimal.verdict == "not-claimed"
    assert "Definition 1" in optimal.detail.why


def test_a_coarse_uniform_is_named_as_the_cause(write):
    source = TOKEN.replace("rng.random()", "rng.random(dtype=np.float32)")
    report = audit(write(source), [drawn(3, 2, "generic")], explain=False)
    assert report.verdict == "refuted"
    assert "24-bit uniform" in report.findings["coarse-uniform"]
    assert "--uniform-bits 24" in report.findings["coarse-uniform"]


def test_coarse_uniforms_are_judged_as_such_where_that_is_asked_for(write):
    source = TOKEN.replace("rng.random()", "rng.random(dtype=np.float32)")
    problems = [drawn(3, 2, "generic"), wide(9, 2)]
    report = audit(write(source), problems, uniform_bits=24, explain=False)
    assert report.verdict == "holds" and "up to the lattice of 24-bit uniforms" in report.reading
    assert Report.from_json(json.loads(report.text())).reading == report.reading
    finer = audit(write(source), problems, uniform_bits=32, explain=False)
    assert finer.verdict == "refuted" and "--uniform-bits 32" in finer.shown_refutation().replay
    biased = source.replace("rng.random(dtype=np.float32)", "(rng.random(dtype=np.float32) - 1e-5)", 1)
    assert biased != source and audit(write(biased), problems[:1], uniform_bits=24, explain=False).verdict == "refuted"


def test_the_rounding_allowed_never_becomes_the_whole():
    from draftproof.proofs.rounding.rule import rounding_allowed

    assert rounding_allowed(1000, "bfloat16") <= 0.05
    assert all(rounding_allowed(gamma, "float64") <= 1e-12 for gamma in (1, 6, 60, 1000))


def test_an_interruption_ends_the_audit_of_all_dtypes_and_keeps_what_was_measured(write, monkeypatch):
    from draftproof.reports.audits.functions.explanation import Explanation

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Explanation, "run", interrupted)
    spec = subject_from(write(TOKEN), None, ("float64", "float32"))
    report = run_audit(spec, AuditSettings(problems=[toy(1)]))
    assert report.interrupted
    assert {e.dtype for e in report.evidence} == {"float64"}
    assert report.verdict == "error"
    with pytest.raises(KeyboardInterrupt):
        audit(write(TOKEN), [toy(1)])
