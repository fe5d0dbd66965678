"""Test vectors: right verifiers pass them, planted bugs fail them, and what is missing is never passed."""

import json
from fractions import Fraction
from importlib.resources import files
from itertools import accumulate

import numpy as np
import pytest

from draftproof.reports.audits.vectors.answers import GREEDY, RULES, answer, forms, thresholds, tolerances
from draftproof.reports.audits.vectors.cases import cases
from draftproof.reports.audits.vectors.judgement import FAILED, LEFT_OUT, MISSING, PASSED
from draftproof.reports.audits.vectors.results import results_from
from draftproof.reports.audits.vectors.suite import CONVENTIONS, FLAGS, digest_of, suite
from draftproof.tests.choices import long_unless
from draftproof.tests.refusals import one_line
from draftproof.tests.reports.audits.vectors.vectors_parts import (
    FIELDS,
    THRESHOLDS,
    WEIGHTS,
    answers,
    judged_answers,
    results,
)


def test_the_file_and_results_have_the_form_of_their_schemas():
    from jsonschema import Draft202012Validator

    schemas = [
        json.loads((files("draftproof.reports.audits.vectors") / f"{name}.schema.json").read_text())
        for name in ("vectors", "results")
    ]
    for schema in schemas:
        Draft202012Validator.check_schema(schema)
    made = suite()
    small = [v for v in made["vectors"] if v["vocabulary"] < 10][::3]
    Draft202012Validator(schemas[0]).validate({**made, "vectors": small})
    ids = [v["id"] for part in ("vectors", "laws") for v in made[part]]
    assert len(set(ids)) == len(ids)
    assert {flag for part in ("vectors", "laws") for v in made[part] for flag in v["flags"]} == FLAGS.keys()
    Draft202012Validator(schemas[1]).validate(results({v["id"]: answers()[v["id"]] for v in small}, RULES))
    broken = {**made, "vectors": [{**small[0], "tokens": [-2]}]}
    assert not Draft202012Validator(schemas[0]).is_valid(broken)


def test_rounding_in_float32_decides_no_vector():
    """Uniforms are far from deciding otherwise: from thresholds other than 0 and 1, and in the last look-up."""
    for case in cases():
        block, numbers = case.block, case.numbers
        known, given = thresholds(case.rule, block), answer(case.rule, block, numbers)
        allowed = tolerances(case.rule, block, given.accepted)
        gaps = (abs(u - h) for u, h in zip(numbers.accept, known) if h is not None and 0 < h < 1)
        edges = (edge for edge in accumulate(given.weights) if 0 < edge < 1)
        assert min(gaps, default=1) > allowed["thresholds"]["float32"]
        assert min((abs(numbers.last - edge) for edge in edges), default=1) > allowed["weights"]["float32"]
        assert all(u * 2**case.bits % 1 == 0 and 0 <= u < 1 for u in (*numbers.accept, numbers.last))


def test_every_form_of_a_number_is_the_nearest():
    twice = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)  # float64 rounds it to a tie of float32
    for number in (Fraction(1, 3), Fraction(2, 7), Fraction(0), Fraction(1), Fraction(1, 2**30), twice):
        made = forms([number])
        assert Fraction(made["exact"][0]) == number
        assert float.fromhex(made["float64"][0]) == made["numbers"][0] == float(number)
        single = np.float32(float.fromhex(made["float32"][0]))
        nearby = (np.nextafter(single, np.float32(way)) for way in (-1, 2))
        assert all(abs(Fraction(float(single)) - number) <= abs(Fraction(float(n)) - number) for n in nearby)
    assert forms([None])["exact"] == [None]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_right_verifiers_pass_every_vector_in_both_precisions(dtype):
    rules = (*RULES, GREEDY)
    judgement = judged_answers(answers(dtype), rules, dtype=dtype, bits=53 if dtype == "float64" else 24)
    assert [j for j in judgement.vectors if j.status in (FAILED, MISSING)] == []
    fine = [v for v in suite()["vectors"] if v["random"]["bits"] > 24]
    assert len(fine) == 12
    assert judgement.statuses()[PASSED] == len(suite()["vectors"]) - (0 if dtype == "float64" else 12)
    assert judgement.verdict == "inconclusive", "law vectors were left out"


PLANTED = {
    "at most": "ZeroUniform",
    "placeholder": "Placeholder",
    "nothing drafted": "NothingDrafted",
    "neighbour": "RaggedBatch",
    "bytes": "WideVocabulary",
    "drops weights": "OneToken",
    "float32 uniforms": "LargestUniform",
    "sampled": "GreedyRequest",
    "accepts from position 7 on": "LongBlock",
    "the target's token at positions 6 and 7": "LongBlock",
    "no threshold below 1/1000": "Acceptance",
    "no weight below 1/10000": "Residual",
    "the bonus token from the top 256": "WideVocabulary",
}


@pytest.mark.parametrize("planted", long_unless(PLANTED, [*PLANTED][::2]))
def test_bugs_that_the_zoo_does_not_have_fail_the_vectors_made_for_them(planted):
    judgement = judged_answers(answers(planted=planted), (*RULES, GREEDY))
    assert judgement.verdict == "refuted"
    assert judgement.by_flag()[PLANTED[planted]][FAILED]


@pytest.mark.parametrize("gives", [FIELDS, ["accepted", "emitted"]])
@pytest.mark.parametrize("planted", [*THRESHOLDS, *WEIGHTS])
def test_a_bug_far_inside_a_block_or_a_row_fails_a_vector_of_each_rule(planted, gives):
    for rule in RULES:
        judgement = judged_answers(answers(planted=planted), [rule], gives)
        assert judgement.by_flag()[PLANTED[planted]][FAILED], rule


def test_what_is_missing_is_not_passed():
    given = answers()
    whole = judged_answers(given, ["token"])
    first = suite()["vectors"][0]["id"]
    without = judged_answers({k: v for k, v in given.items() if k != first}, ["token"])
    assert (without.vectors[0].status, without.verdict) == (MISSING, "error")
    assert without.statuses()[PASSED] == whole.statuses()[PASSED] - 1
    one_answer = judged_answers({**given, first: {"accepted": given[first]["accepted"]}}, ["token"])
    assert (one_answer.vectors[0].status, one_answer.verdict) == (MISSING, "error")
    failed = judged_answers({**given, first: {"error": "segmentation fault"}}, ["token"])
    assert (failed.vectors[0].status, failed.verdict) == (FAILED, "refuted")
    assert judged_answers({}, ["token"]).verdict == "error"
    assert judged_answers(given, ["token"], ["law"]).verdict == "error"


def test_a_flag_is_not_passed_by_answers_in_which_its_bug_would_not_show():
    by_flag = judged_answers(answers(), RULES, ["accepted"]).by_flag()
    flagged = {flag: sum(flag in v["flags"] for v in suite()["vectors"]) for flag in ("Residual", "LongestSubBlock")}
    assert by_flag["Residual"] == {LEFT_OUT: flagged["Residual"]}
    assert by_flag["LongestSubBlock"] == {PASSED: flagged["LongestSubBlock"]}
    coarse = judged_answers(answers(), ["token"], bits=24).by_flag()
    assert coarse["LargestUniform"] == {PASSED: 2, LEFT_OUT: 16}


@pytest.mark.parametrize("name", long_unless(CONVENTIONS, [*CONVENTIONS][::2]))
def test_a_convention_that_is_not_the_programs_leaves_out_what_rests_on_it_and_nothing_else(name):
    """It is broken by a program that fails what rests on it, and by nothing once the program says so."""
    ids = {*suite()["conventions"][name]["vectors"]}
    broken = answers() | {key: {"error": "not so here"} for key in ids}
    whole, without = (judged_answers(broken, (*RULES, GREEDY), without=given) for given in ([], [name]))
    assert ids and {j.vector for j in whole.vectors if j.status == FAILED} == ids
    assert not without.statuses()[FAILED] and without.statuses()[PASSED] == len(suite()["vectors"]) - len(ids)


def test_a_rule_for_other_uniforms_is_right_where_it_says_so_alone():
    given = answers(planted="at most")
    assert judged_answers(given, RULES).verdict == "refuted"
    assert judged_answers(given, RULES, without=["bonus", "padding"]).statuses()[FAILED]
    left = judged_answers(given, RULES, open="left")
    for judgement in (left, judged_answers(given, RULES, without=["strict", "half-open"])):
        assert judgement.statuses()[FAILED] == 0
    assert left.by_flag()["ZeroUniform"] == {LEFT_OUT: 9}


def test_a_failure_comes_with_code_that_shows_it(capsys):
    """The smallest failing vector as Python: run with a right verifier it prints what is expected, with a wrong not."""
    from draftproof.reports.audits.vectors.example import verify

    code = judged_answers(answers(planted="at most"), ["token"]).code()
    assert code.startswith("# token-") and code.count("\n") < 12
    printed = []
    exec(code, {"verify": verify, "print": printed.append})
    expected = json.loads(code.partition("# expected ")[2].replace("'", '"'))
    assert {name: printed[0][name] for name in expected} == expected
    assert judged_answers(answers(), ["token"]).code() == ""


def test_earlier_vectors_keep_their_ids_and_contents():
    made = suite()
    assert digest_of({"vectors": made["vectors"][:247], "laws": made["laws"]}) == "ecd8b260369d448d"
    assert made["digest"] == "4d6702ea562b3f4d", "what is new stands behind them, and another digest here"


@pytest.mark.parametrize("value", [float("nan"), None, "nan", "1/0", [], True, "0x1p-999999", 1e-3])
def test_a_broken_number_fails(value):
    first = suite()["vectors"][0]
    given = {first["id"]: {"thresholds": [value, *first["expected"]["thresholds"]["exact"][1:]]}}
    assert judged_answers(given, ["token"], ["thresholds"]).vectors[0].status == FAILED


def test_weights_that_cancel_fail_though_their_share_of_the_sum_is_no_float():
    first = suite()["vectors"][0]
    given = {first["id"]: {"weights": ["1e300", "-1e300", "1e-999"]}}
    judged = judged_answers(given, ["token"], ["weights"]).vectors[0]
    assert judged.status == FAILED and judged.why.endswith("got 1e300")


def test_numbers_are_read_in_every_form_and_within_the_tolerance():
    first = suite()["vectors"][0]
    wanted, allowed = first["expected"]["thresholds"], first["tolerance"]["thresholds"]["float32"]
    rest = wanted["numbers"][1:]
    given = [(wanted[form], PASSED) for form in ("exact", "float64", "float32", "numbers")]
    given += [([wanted["numbers"][0] + off * allowed, *rest], said) for off, said in ((0.9, PASSED), (1.1, FAILED))]
    for values, status in given:
        judgement = judged_answers({first["id"]: {"thresholds": values}}, ["token"], ["thresholds"], "float32")
        assert judgement.vectors[0].status == status


LAW = "law-token-generic-V3-gamma2"
BAD = {
    "not these vectors": {"vectors": "0" * 16},
    "another format": {"format": "wycheproof"},
    "no program": {"program": ""},
    "a precision without tolerances": {"dtype": "bfloat16"},
    "another end": {"open": "both"},
    "a lattice that no vector has": {"bits": 8},
    "an unknown rule": {"rules": ["typical"]},
    "no rule": {"rules": []},
    "an unknown answer": {"gives": ["speed"]},
    "an unknown id": {"results": {"token-0": {}}},
    "an unknown field of an answer": {"results": {"token-1": {"tau": 1}}},
    "an answer under a rule that is not claimed": {"results": {"block-1": {"accepted": 1}}},
    "an answer that is not promised": {"gives": ["accepted"], "results": {"token-1": {"accepted": 1, "emitted": [9]}}},
    "no results": {"results": [1]},
    "a number of many digits": {"results": {"token-1": {"thresholds": ["9" * 401]}}},
    "a number with a large exponent": {"results": {"token-1": {"weights": ["1e99999999"]}}},
    "a number with a small exponent": {"results": {"token-1": {"weights": ["1E-9_999_999"]}}},
    "a probability that is no float": {"gives": ["law"], "results": {LAW: {"law": {"0,0,0": "9" * 399}}}},
    "a count that is no float": {"gives": ["law"], "results": {LAW: {"counts": {"0": 10**400}}}},
    "more counts than floats add up": {"gives": ["law"], "results": {LAW: {"counts": {"0": 2**53 + 1}}}},
    "an unknown field": {"extra": 1},
}


@pytest.mark.parametrize("what", BAD)
def test_bad_results_are_refused_in_one_line(what):
    assert one_line(results_from, results(answers(), ["token"]) | BAD[what])
