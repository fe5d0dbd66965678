"""What an audit says of a refuted function that may be right, if it was meant otherwise."""

import pytest

from draftproof import audit
from draftproof.models.battery import drawn, toy
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
"""
)


@pytest.fixture(scope="module")
def report_on(tmp_path_factory):
    file = tmp_path_factory.mktemp("hints") / "subject.py"
    file.write_text(SOURCE)
    return lambda name: audit(f"{file}:{name}", [toy(2), drawn(3, 1, "generic")], explain=False)


def test_tokens_with_their_number_cannot_be_audited_and_the_number_is_named(report_on):
    report = report_on("counted")
    assert (report.verdict, report.failure["kind"]) == ("error", "load")
    assert "a tuple of (list of length 1, int)" in report.failure["message"]
    mixed = report_on("sometimes_counted")
    assert mixed.verdict == "refuted"
    assert "audit a function that returns f(...)[0]" in str(mixed.shown_refutation().witness)


def test_padding_is_refuted_and_it_is_said_whether_the_tokens_before_it_are_right(report_on):
    right, wrong = report_on("padded"), report_on("padded_and_biased")
    assert (right.verdict, wrong.verdict) == ("refuted", "refuted")
    assert (
        "returns -1 after the tokens; with that cut off lossless holds on all 2 problems" in right.findings["padding"]
    )
    assert "with that cut off lossless is refuted on 2 of 2" in wrong.findings["padding"]


def test_rounding_to_float32_in_float64_is_refuted_and_the_dtype_to_judge_it_by_is_named(report_on):
    report = report_on("rounded")
    assert report.verdict == "refuted"
    assert "judge it by that, with --dtype float32" in report.findings["precision"]
    assert not {"precision", "padding"} & report_on("biased").findings.keys()
    assert not report_on("token").findings
