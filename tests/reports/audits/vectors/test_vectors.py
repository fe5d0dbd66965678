"""Test vectors: right verifiers pass them, planted bugs fail them, and what is missing is never passed."""

import hashlib
import json
import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from draftproof.models.errors import InputError
from draftproof.models.problem import problem_from
from draftproof.proofs.field import in_field
from draftproof.proofs.laws import verdict_rule
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.reports.audits.vectors.answers import GREEDY, RULES, answer, forms, thresholds, tolerances
from draftproof.reports.audits.vectors.cases import cases
from draftproof.reports.audits.vectors.judgement import (
    FAILED,
    LEFT_OUT,
    MISSING,
    NOT_REFUTED,
    PASSED,
    judge,
    results_from,
)
from draftproof.reports.audits.vectors.suite import CONVENTIONS, FLAGS, export, suite
from draftproof.reports.commands.main import main
from draftproof.verifiers.adapters.registry import engine_folder
from draftproof.verifiers.evidence import REFUTED
from draftproof.verifiers.registry import REFERENCES

FIELDS = ["thresholds", "accepted", "weights", "emitted", "raced"]


def results(answers, rules, gives=tuple(FIELDS), dtype="float64", **other):
    about = {"format": "draftproof-results-1", "vectors": suite()["digest"], "program": "test", "dtype": dtype}
    kept = {"error", *gives, *(("counts",) if "law" in gives else ())}
    of_rules = {v["id"] for part in ("vectors", "laws") for v in suite()[part] if v["rule"] in rules}
    promised = {k: {f: x for f, x in given.items() if f in kept} for k, given in answers.items() if k in of_rules}
    return {**about, "rules": list(rules), "gives": list(gives), "results": promised, **other}


def at_temperature_0(vector):
    """What a greedy request is answered: no number of its own counts."""
    n, rows = vector["drafted"], vector["target"]["numbers"][: vector["drafted"] + 1]
    best = [row.index(max(row)) for row in rows]
    kept = [x == y for x, y in zip(vector["tokens"][:n], best)]
    tau = [*kept, False].index(False)
    tokens = [*best[:tau], best[tau]]
    weights = [float(x == best[tau]) for x in range(vector["vocabulary"])]
    return {"thresholds": [*map(float, kept)], "accepted": tau, "weights": weights, "emitted": tokens, "raced": tokens}


def in_precision(vector, dtype, planted=""):
    """A right verifier in NumPy numbers of a precision, or one with a planted bug."""
    n, rule = vector["drafted"], vector["rule"]
    if rule == GREEDY and planted != "sampled":
        return at_temperature_0(vector)
    rule = "token" if rule == GREEDY else rule
    if planted in ("placeholder", "nothing drafted") and (n or planted == "nothing drafted"):
        n = max(n, 1) if planted == "nothing drafted" else vector["gamma"]
    p, q = (np.array(vector[name]["numbers"], dtype) for name in ("target", "draft"))
    tokens, numbers = vector["tokens"][:n], vector["random"]
    if planted == "bytes":
        tokens = [x % 256 for x in tokens]
    accept = np.array(numbers["accept"]["numbers"], dtype)
    noise, one = np.array(numbers["noise"]["numbers"], dtype), np.array(1, dtype)
    if planted == "float32 uniforms":
        accept = np.float32(accept)
    ratios = [p[i][x] / q[i][x] for i, x in enumerate(tokens)]
    kept = [one]
    for r in ratios:
        kept.append(kept[-1] * r if rule == "greedy-block" else min(kept[-1] * r, one))
    if rule == "token":
        h, kept = [min(r, one) for r in ratios], [one] * (n + 1)
    else:
        surplus = [np.maximum(kept[i] * p[i] - q[i], 0).sum() for i in range(n)]
        shortfall = [surplus[i] + one - kept[i] for i in range(n)]
        if rule == "greedy-block":
            shortfall = [np.maximum(q[i] - kept[i] * p[i], 0).sum() for i in range(n)]
        h = [min(surplus[i] / shortfall[i], one) if shortfall[i] > 0 else one for i in range(1, n)]
        h += [min(kept[n], one)] * bool(n)
    passes = [u < t or (planted == "at most" and u <= t) for u, t in zip(accept, h)]
    if rule == "token":
        tau = passes.index(False) if False in passes else n
    else:
        tau = max((i for i in range(1, n + 1) if passes[i - 1]), default=0)
    rest = p[tau] if tau == n else np.maximum(kept[tau] * p[tau] - q[tau], 0)
    if planted == "drops weights" and len(rest) == 1:
        rest = rest * 0
    edges = np.cumsum(rest / rest.sum())
    last = min(int(np.searchsorted(edges, numbers["last"]["numbers"], side="right")), int(np.flatnonzero(rest)[-1]))
    if planted == "at most":
        last = int(np.searchsorted(edges, numbers["last"]["numbers"]))
    race = int(np.argmax(np.where(rest > 0, rest / noise, -1)))
    head = tokens[:tau]
    given = {"thresholds": h, "accepted": tau, "weights": rest, "emitted": [*head, last], "raced": [*head, race]}
    return json.loads(json.dumps(given, default=lambda number: number.tolist()))


@cache
def answers(dtype="float64", planted=""):
    given = {}
    with np.errstate(all="ignore"):
        for vector in suite()["vectors"]:
            try:
                given[vector["id"]] = in_precision(vector, dtype, planted)
            except IndexError as error:
                given[vector["id"]] = {"error": str(error)}
    if planted == "neighbour":  # the last token of a batch stands in every row
        batches = {v["batch"]: given[v["id"]] for v in suite()["vectors"] if "batch" in v}
        for vector in suite()["vectors"]:
            if "batch" in vector:
                emitted = [*given[vector["id"]]["emitted"][:-1], batches[vector["batch"]]["emitted"][-1]]
                given[vector["id"]] = given[vector["id"]] | {"emitted": emitted}
    return given


def judged_answers(*arguments, **other):
    return judge(results_from(results(*arguments, **other)))


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


def separation(case):
    """How far the uniforms are from deciding otherwise: from thresholds other than 0 and 1, and in the last look-up."""
    known, given = thresholds(case.rule, case.block), answer(case.rule, case.block, case.numbers)
    gaps = (abs(u - h) for u, h in zip(case.numbers.accept, known) if h is not None and 0 < h < 1)
    edges = (edge for edge in accumulate(given.weights) if 0 < edge < 1)
    return min(gaps, default=1), min((abs(case.numbers.last - edge) for edge in edges), default=1)


def test_rounding_in_float32_decides_no_vector():
    for case in cases():
        known = case.rule, case.comment, case.bits
        given = next(v for v in suite()["vectors"] if (v["rule"], v["comment"], v["random"]["bits"]) == known)
        allowed = tolerances(case.rule, case.block, given["expected"]["accepted"])
        threshold, edge = separation(case)
        assert threshold > allowed["thresholds"]["float32"]
        assert edge > allowed["weights"]["float32"]
        assert all(u * 2**case.bits % 1 == 0 and 0 <= u < 1 for u in (*case.numbers.accept, case.numbers.last))


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
}


@pytest.mark.parametrize("planted", PLANTED)
def test_bugs_that_the_zoo_does_not_have_fail_the_vectors_made_for_them(planted):
    judgement = judged_answers(answers(planted=planted), (*RULES, GREEDY))
    assert judgement.verdict == "refuted"
    assert judgement.by_flag()[PLANTED[planted]][FAILED]


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


def test_a_program_names_the_conventions_that_are_not_its_own_and_their_vectors_alone_are_left_out():
    """Each convention is broken by a program that fails what rests on it, and nothing once it says so."""
    every = (*RULES, GREEDY)
    named = {name: {*about["vectors"]} for name, about in suite()["conventions"].items()}
    assert named.keys() == CONVENTIONS.keys() and all(named.values())
    broken = {name: answers() | {key: {"error": "not so here"} for key in ids} for name, ids in named.items()}
    for name, ids in named.items():
        whole, without = (judged_answers(broken[name], every, without=given) for given in ([], [name]))
        assert {j.vector for j in whole.vectors if j.status == FAILED} == ids
        assert not without.statuses()[FAILED] and without.statuses()[PASSED] == len(suite()["vectors"]) - len(ids)
    at_most = answers(planted="at most")
    assert judged_answers(at_most, RULES, without=["strict", "half-open"]).statuses()[FAILED] == 0
    assert judged_answers(at_most, RULES, without=["bonus", "padding"]).statuses()[FAILED]
    assert {v["id"] for v in suite()["vectors"] if v["rule"] == GREEDY} == named["greedy"]
    assert all(
        sorted(row)[-1] > sorted(row)[-2] for v in suite()["vectors"] if v["rule"] == GREEDY
        for row in v["target"]["numbers"][: v["drafted"] + 1]
    )  # fmt: skip


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
    """Those of form 1 as they were first published, by digest; what came later stands behind them."""
    added = {v["id"] for v in suite()["vectors"] if v["rule"] == GREEDY or v.get("batch") == "mixed-batch"}
    first = {"vectors": [v for v in suite()["vectors"] if v["id"] not in added], "laws": suite()["laws"]}
    text = json.dumps(first, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "6f4487e87b64752c"


def test_a_rule_for_uniforms_that_are_never_0_is_right_where_it_says_so():
    given = answers(planted="at most")
    judgement = judged_answers(given, RULES, open="left")
    assert judgement.statuses()[FAILED] == 0
    assert judgement.by_flag()["ZeroUniform"] == {LEFT_OUT: 9}
    assert judged_answers(given, RULES).verdict == "refuted"


@pytest.mark.parametrize("value", [float("nan"), None, "nan", "1/0", [], True, "0x1p-999999", 1e-3])
def test_a_broken_number_fails(value):
    first = suite()["vectors"][0]
    given = {first["id"]: {"thresholds": [value, *first["expected"]["thresholds"]["exact"][1:]]}}
    assert judged_answers(given, ["token"], ["thresholds"]).vectors[0].status == FAILED


def test_numbers_are_read_in_every_form_and_within_the_tolerance():
    first = suite()["vectors"][0]
    wanted, allowed = first["expected"]["thresholds"], first["tolerance"]["thresholds"]["float32"]
    for form in ("exact", "float64", "float32", "numbers"):
        assert (
            judged_answers({first["id"]: {"thresholds": wanted[form]}}, ["token"], ["thresholds"], "float32")
            .vectors[0]
            .status
            == PASSED
        )
    for off, status in ((0.9, PASSED), (1.1, FAILED)):
        values = [wanted["numbers"][0] + off * allowed, *wanted["numbers"][1:]]
        judgement = judged_answers({first["id"]: {"thresholds": values}}, ["token"], ["thresholds"], "float32")
        assert judgement.vectors[0].status == status


def law_answers(rule, kind, dtype="float64", how=lambda law: law):
    given = {}
    for vector in suite()["laws"]:
        if vector["rule"].startswith("trees-"):
            continue
        problem = in_field(problem_from(vector["problem"]))
        law = how(output_law(problem, REFERENCES[rule]))
        rng = np.random.default_rng(5)
        keys, row = [",".join(map(str, x)) for x in law], np.array([float(p) for p in law.values()])
        values = rng.multinomial(20_000, row / row.sum()).tolist() if kind == "counts" else row.tolist()
        given[vector["id"]] = {kind: dict(zip(keys, values))}
    return given


def of_laws(judgement):
    return {j.vector: j for j in judgement.vectors if j.vector.startswith("law-")}


def test_a_law_holds_exactly_and_counts_are_only_not_refuted():
    exact = of_laws(judged_answers(law_answers("block", "law"), ["block", "lossless"], ["law"]))
    assert [exact[v["id"]].status for v in suite()["laws"] if v["rule"] in ("block", "lossless")] == [PASSED] * 12
    judgement = judged_answers(law_answers("block", "counts"), ["block", "lossless"], ["law"])
    counted = [j for j in of_laws(judgement).values() if j.status != LEFT_OUT]
    assert [j.status for j in counted] == [NOT_REFUTED] * 12
    assert all("can remain unseen" in j.why for j in counted)
    assert judgement.verdict == "inconclusive"


@pytest.mark.parametrize(("kind", "before", "after"), [("law", PASSED, FAILED), ("counts", NOT_REFUTED, FAILED)])
def test_another_rule_in_the_place_of_the_one_changes_what_is_said_of_laws(kind, before, after, monkeypatch):
    name, given = next(iter(law_answers("block", kind).items()))

    def status():
        return of_laws(judged_answers({name: given}, ["block", "lossless"], ["law"]))[name].status

    assert status() == before
    monkeypatch.setattr(verdict_rule, "decide", lambda deviation, tolerance, explained: REFUTED)
    assert status() == after


@pytest.mark.parametrize("kind", ["law", "counts"])
def test_laws_of_trees_are_judged_whatever_the_rule(kind):
    """Right: accepts nothing and draws from the target. Wrong: draws from the draft."""
    trees = [vector for vector in suite()["laws"] if vector["rule"].startswith("trees-")]
    for of, verdict in (("target", "inconclusive"), ("draft", "refuted")):
        given = {}
        for vector in trees:
            row = [Fraction(p) for p in vector["problem"][of][""]]
            law = {str(x): str(p) for x, p in enumerate(row)}
            counts = {x: int(10**5 * Fraction(p)) for x, p in law.items() if Fraction(p)}
            given[vector["id"]] = {kind: law if kind == "law" else counts}
        rules = sorted({vector["rule"] for vector in trees})
        judgement = judged_answers(given, rules, ["law"])
        statuses = {j.status for j in of_laws(judgement).values() if j.status != LEFT_OUT}
        right = {PASSED} if kind == "law" else {NOT_REFUTED}
        assert (judgement.verdict, statuses) == (verdict, right if of == "target" else {FAILED})


def test_wrong_laws_and_wrong_counts_fail():
    assert judged_answers(law_answers("token", "law"), ["block"], ["law"]).verdict == "refuted"
    assert judged_answers(law_answers("token", "counts"), ["block"], ["law"]).verdict == "refuted"
    assert judged_answers(law_answers("greedy-block", "counts"), ["lossless"], ["law"]).verdict == "refuted"
    name = next(v["id"] for v in suite()["laws"] if v["flags"] == ["Lossless", "Support"])
    right = law_answers("token", "law")[name]["law"]
    for law in (
        {**right, "9": 0.0},
        {**right, "x": 0.0},
        {},
        {k: v / 2 for k, v in right.items()},
        {**right, next(iter(right)): -1},
    ):
        assert of_laws(judged_answers({name: {"law": law}}, ["lossless"], ["law"]))[name].status == FAILED
    impossible = {"law": {**right, "2": 2.0**-53}}
    found = of_laws(judged_answers({name: impossible}, ["lossless"], ["law"]))[name]
    assert found.status == FAILED
    assert "the target gives it probability 0" in found.why


def test_rounding_may_emit_what_the_target_allows_and_the_rule_does_not():
    name = "law-token-paper-example-gamma2"  # after a rejection the rule emits 1 alone
    law = law_answers("token", "law")[name]["law"]
    assert "0" not in law
    for mass, status in ((1e-16, PASSED), (2e-13, NOT_REFUTED), (1e-9, FAILED)):
        judged = of_laws(judged_answers({name: {"law": {**law, "0": mass}}}, ["token"], ["law"]))[name]
        assert judged.status == status
        assert ("by the theorem on rounding at most" in judged.why) == (status != PASSED)


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
    "an unknown field": {"extra": 1},
}


@pytest.mark.parametrize("what", BAD)
def test_bad_results_are_refused_in_one_line(what):
    with pytest.raises(InputError) as refused:
        results_from(results(answers(), ["token"]) | BAD[what])
    assert "\n" not in str(refused.value)


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["draftproof", "vectors", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "160")
    with pytest.raises(SystemExit) as ended:
        main()
        raise SystemExit(0)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_the_command_ends_with_the_statuses_of_the_contract(tmp_path, monkeypatch, capsys):
    file = tmp_path / "results.json"
    first = suite()["vectors"][0]["id"]

    def checked(content, *options):
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return command(monkeypatch, capsys, "check", file, *options)

    right = results(answers() | law_answers("block", "law"), ["block", "lossless"], [*FIELDS, "law"])
    status, said, _ = checked(right, "--json", tmp_path / "out.json")
    assert status == 0, said
    assert "no vector failed, of those that were answered" in said
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["passed"] == 12 + len(
        [v for v in suite()["vectors"] if v["rule"] == "block"]
    )
    assert checked(right, "--require-decision")[0] == 4
    status, said, _ = checked(results({**answers(), first: {"accepted": 9}}, ["token"], ["accepted"]))
    assert status == 1
    assert f"failed {first} (Acceptance, FirstRejection" in said
    assert "expected 0, got 9" in said
    assert checked(results({}, ["token"]))[0] == 3
    for bad in ("{", "[]", '{"format": 1, "format": 2}', "[" * 100_000):
        status, _, said = checked(bad)
        assert status == 2
        assert said.startswith(f"draftproof: {file}: ") and said.count("\n") == 1
    assert command(monkeypatch, capsys, "check", tmp_path / "none.json")[0] == 2
    assert command(monkeypatch, capsys, "export", "--out", file)[0] == 2


WRONG_RUNNERS = {
    "jax": ("accept < thresholds", "accept <= thresholds"), "triton": ("* q < p)", "* q <= p)"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("package", WRONG_RUNNERS)
def test_the_runners_for_jax_and_triton_pass_and_their_wrong_twins_fail(package, tmp_path, monkeypatch, capsys):
    file = Path(__file__).parents[4] / "examples" / f"vectors_{package}.py"
    if not file.is_file():
        pytest.skip("examples are in the repository, not in the wheel")
    folders = [str(engine_folder(package))] if find_spec(package) is None and engine_folder(package).is_dir() else []
    if find_spec(package) is None and not folders:
        pytest.skip(f"needs {package}: pip install {package}, or make engines")
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(folders)}
    export(str(tmp_path))
    source = file.read_text(encoding="utf-8")
    assert WRONG_RUNNERS[package][0] in source
    for text, expected in ((source, 0), (source.replace(*WRONG_RUNNERS[package]), 1)):
        (tmp_path / file.name).write_text(text, encoding="utf-8")
        run = [sys.executable, file.name, "vectors.json", "results.json"]
        subprocess.run(run, cwd=tmp_path, check=True, timeout=3600, env=environment)
        status, said, _ = command(monkeypatch, capsys, "check", tmp_path / "results.json")
        assert status == expected, said
        assert ("to paste below your verifier" in said) == (expected == 1)


@pytest.mark.parametrize("example", ["example.py", "example.js"])
def test_the_example_programs_pass_and_their_wrong_twins_fail(example, tmp_path, monkeypatch, capsys):
    from shutil import which

    runs = {"example.py": sys.executable, "example.js": which("node")}[example]
    if runs is None:
        pytest.skip("needs node")
    export(str(tmp_path))
    source = (tmp_path / example).read_text()
    assert source.count("\n") < 60
    wrong = {"example.py": ("accept[accepted] < thresholds", "accept[accepted] <= thresholds"),
             "example.js": ("survival[i] * (q > 0", "(q > 0")}[example]  # fmt: skip
    assert wrong[0] in source
    for text, expected in ((source, 0), (source.replace(*wrong), 1)):
        (tmp_path / example).write_text(text)
        subprocess.run([runs, example, "vectors.json", "results.json"], cwd=tmp_path, check=True, timeout=3600)
        status, said, _ = command(monkeypatch, capsys, "check", tmp_path / "results.json")
        assert status == expected, said
