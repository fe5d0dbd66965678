"""What an audit says of a refuted function that may be right, if it was meant in another way."""

from dataclasses import replace

import pytest

from draftproof.models.battery import drawn, toy
from draftproof.proofs.audit_claims import judge
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.functions.hints import precision_hint
from draftproof.reports.testing.checks import CheckFailed, run_check
from draftproof.tests.proofs.enumerated import wide_law
from draftproof.tests.reports.audited import audited, written
from draftproof.tests.reports.audits.functions.written import TOKEN

pytestmark = pytest.mark.interception

SOURCE = (
    TOKEN
    + """def counted(a, b, c, rng):
    tokens = token(a, b, c, rng)
    return tokens, len(tokens) - 1
def sometimes_counted(a, b, c, rng):
    tokens = token(a, b, c, rng)
    return tokens if len(tokens) > len(c) else (tokens, len(tokens) - 1)
def padded(a, b, c, rng):
    tokens = token(a, b, c, rng)
    return [*tokens, *[-1] * (len(c) + 1 - len(tokens))]
def padded_and_biased(a, b, c, rng):
    return [rng.choice(len(b[0]), p=b[0]), *[-1] * len(c)]
def rounded(a, b, c, rng):
    a, b = (np.maximum(rows.astype(np.float32), 0).astype(np.float64) for rows in (a, b))
    return token(a / a.sum(1, keepdims=True), b / b.sum(1, keepdims=True), c, rng)
def biased(a, b, c, rng):
    return [rng.choice(len(b[0]), p=b[0])]
def outside(a, b, c, rng):
    for i, x in enumerate(c):
        if rng.random() * b[i][x] >= a[i][x]:
            return [*c[:i], len(a[0])]
    return [*c, rng.choice(len(a[-1]), p=a[-1])]
def outside_if_scaled(a, b, c, rng):
    return token(a, b, c, rng) if abs(a.sum(1) - 1).max() < 1e-9 else [-1]
class Driven:
    random, array = ({"name": "u", "kind": "uniform", "shape": [], "bits": 24},), "numpy"
    def __call__(self, a, b, c, random):
        if random["u"] < 0.25:
            return [int(c[0]), 7]
        return [int(random["u"] < 0.5 * a[0][0] + 0.25)]
driven = Driven()
"""
)


def report_on(name):
    return audited(written(SOURCE, name), [toy(2), drawn(3, 1, "generic")], explain=False)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("padded", "padding", "returns -1 after the tokens; with that cut off lossless holds on all 2 problems"),
        ("padded_and_biased", "padding", "with that cut off lossless is refuted on 2 of 2"),
        ("rounded", "precision", "judge it by that, with --dtype float32"),
        ("biased", None, ""),
    ],
)
def test_a_refuted_function_gets_the_hint_that_fits_it_and_no_other(name, kind, said):
    report = report_on(name)
    hints = {"precision", "padding"} & report.findings.keys()
    assert (report.verdict, hints) == ("refuted", {kind} - {None})
    assert not kind or said in report.findings[kind]
    assert not report_on("token").findings


def test_a_token_that_never_comes_is_no_rounding_of_float32():
    (found,) = (e for e in judge(wide_law(moved=1e-6)) if e.claim == "lossless")
    assert found.refuted and precision_hint([found])
    lost = replace(found.witness, observed="0", laws=())
    assert not precision_hint([replace(found, witness=lost)])


def test_tokens_with_their_number_cannot_be_audited_and_the_number_is_named():
    report = report_on("counted")
    assert (report.verdict, report.failure["kind"]) == ("error", "convention")
    assert "a tuple of (list of length 1, int)" in report.failure["message"]
    mixed = report_on("sometimes_counted")
    assert mixed.verdict == "refuted"
    assert "audit a function that returns f(...)[0]" in str(mixed.shown_refutation().witness)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("outside", "returns 2, an id outside the vocabulary, at subject.py:{}: return [*c[:i], len(a[0])]"),
        ("driven", "returns 7, an id outside the vocabulary, at subject.py:{}: return [int(c[0]), 7]"),
        ("padded", "returns -1, an id outside the vocabulary, at subject.py:{}: return [*tokens, *[-1] * ("),
    ],
)
def test_an_id_outside_the_vocabulary_is_called_that_with_the_line_that_returns_it(name, said):
    report = report_on(name)
    line = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if line.strip().startswith(said.split("{}: ")[1]))
    assert report.findings["outside-vocabulary"].startswith(said.format(line))
    assert report.shown_refutation().witness.sequence.endswith(", outside the vocabulary")
    with pytest.raises(CheckFailed, match=rf"hint: returns \S+, an id outside the vocabulary, at subject.py:{line}"):
        run_check(report, "lossless")


def test_ids_outside_the_vocabulary_are_noticed_of_rows_that_sum_to_1_alone():
    with Sandbox("") as sandbox:
        for name, how, noticed in (("outside", {}, True), ("outside_if_scaled", {"scales": (0.9, 0.9)}, False)):
            sandbox.load(written(SOURCE, name), [toy(1)])
            answers = [*sandbox.law(toy(1), **how)]  # to their end
            assert any("outside-vocabulary" in answer.get("findings", {}) for answer in answers) is noticed
