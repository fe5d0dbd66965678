"""The command line as the contract has it: exit statuses, one clear line, nothing lost."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from draftproof.models.problem import Problem
from draftproof.proofs.laws.tree_laws import PASSES
from draftproof.tests.reports.commands.in_process import PAPER, draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.verifiers.registry import REFERENCES
from draftproof.verifiers.trees.registry import TREE_REFERENCES

pytestmark = pytest.mark.usefixtures("brief_audits")
FAULTS = Path(__file__).parents[2] / "subjects" / "faults.py"
WRONG = f"{FAULTS}:outside_the_vocabulary"
EQUAL = '{"vocabulary": 2, "gamma": 1, "target": ["1/2", "1/2"], "draft": ["1/2", "1/2"]}'
TREE = json.dumps({**json.loads(PAPER), "drafting": {"paths": 2}})
TABLE = (
    '{"vocabulary": 2, "gamma": 2, "draft": [1, 0], "target": {"": [1, 0], "0": [1, 0], "1": [1, 0], "0,0": [1, 0], '
    '"1,0": [0, 1], "0,1": [1, 0], "1,1": [1, 0]}}'
)
ROWS = ("--target", "1/3,2/3", "--draft", "2/3,1/3")
RIGHT = """import numpy as np
def f(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]
"""


def test_the_entry_point_is_a_program_of_its_own():
    start = "from draftproof.reports.commands.main import main; main()"
    words = [sys.executable, "-c", start, "law", "token", "--problem", PAPER]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"COLUMNS": "160"})
    assert (done.returncode, "10/9" in done.stdout) == (0, True), done.stderr
    assert draftproof("--version").out.startswith("draftproof, version")


@pytest.mark.parametrize(("words", "status"), [(("list", "mutants"), 0), (("audit", WRONG, "--problem", PAPER), 1),
                                               (("audit", "token", "--quick", "--json", "-"), 0)])  # fmt: skip
def test_a_reader_that_has_gone_does_not_change_the_exit_status(words, status):
    """``draftproof audit ... | head -1`` ended with 1, as if it were refuted."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        start = "from draftproof.reports.commands.main import main; main()"
        done = subprocess.run([sys.executable, "-c", start, *words], stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert (done.returncode, "Traceback" in done.stderr, "BrokenPipe" in done.stderr) == (status, False, False)


# ---------------------------------------------------------------- law


def test_law_prints_the_published_values_of_the_paper_example():
    done = draftproof("law", "block", *ROWS, "--gamma", 2, "--json", "-")
    assert (done.status, json.loads(done.out)) == (0, {
        "verifier": "block", "vocabulary": 2, "gamma": 2, "iterations": 1, "expected_accepted": "11/9",
        "expected_tokens": "20/9", "acceptance_ccdf": ["1", "2/3", "5/9"], "total_variation": "0", "lossless": True,
    })  # fmt: skip


def test_law_of_a_rule_for_trees_says_how_the_tree_is_drawn():
    law = json.loads(draftproof("law", "spec-infer", "--problem", TREE, "--json", "-").out)
    assert (law["acceptance_ccdf"][1], law["transport_bound"], law["lossless"]) == ("7/9", "8/9", True)


def never_replaces(drafted, chance, right):
    """A verifier of blocks or trees that emits token 0 where it accepts no draft."""
    verdict = right(drafted, chance)
    return verdict if verdict.tokens(drafted)[1:] else verdict._replace(token=0)


@pytest.mark.parametrize("name", [*REFERENCES, *(name for name, rule in TREE_REFERENCES.items() if rule.lossless)])
def test_law_is_that_of_the_code_which_runs(name, monkeypatch):
    """It was that of formulas: a wrong ``verify`` was said to be lossless."""
    where = REFERENCES if name in REFERENCES else TREE_REFERENCES
    ways = {} if name in REFERENCES else {"drafting": {"children": [1, 1], "how": where[name].drafts[0]}}
    problem = json.dumps(json.loads(PAPER) | ways)
    before = json.loads(draftproof("law", name, "--problem", problem, "--json", "-").out)
    wrong = partial(never_replaces, right=where[name].verify)
    if where[name].verify in PASSES:
        monkeypatch.setitem(PASSES, wrong, PASSES[where[name].verify])
    monkeypatch.setitem(where, name, where[name]._replace(verify=wrong))
    after = json.loads(draftproof("law", name, "--problem", problem, "--json", "-").out)
    assert (before["lossless"], after["lossless"]) == (True, False)
    assert not {"by_formulas"} & (before.keys() | after.keys())


@pytest.mark.parametrize(
    ("name", "drafting", "many"), [("spec-infer", {"children": [4, 3]}, "2^16"), ("block", None, "2^13")]
)
def test_law_says_where_it_is_that_of_formulas(name, drafting, many):
    problem = json.loads(PAPER) | ({"drafting": drafting} if drafting else {"gamma": 13})
    law = json.loads(draftproof("law", name, "--problem", json.dumps(problem), "--json", "-").out)
    assert (law["lossless"], law["by_formulas"]) == (
        True, f"{many} drafts are more than the 4,096 that the code is run on",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "drafting"), [("traversal", {"children": [3, 2]}), ("spec-infer", {"children": [3, 2]}), ("block", None)]
)
def test_where_law_is_that_of_formulas_the_code_must_give_the_same(name, drafting, monkeypatch):
    problem = json.dumps(json.loads(PAPER) | ({"drafting": drafting} if drafting else {"gamma": 9}))
    law = json.loads(draftproof("law", name, "--problem", problem, "--json", "-").out)
    assert law["lossless"] and "by_formulas" not in law
    where = REFERENCES if name in REFERENCES else TREE_REFERENCES
    wrong = partial(never_replaces, right=where[name].verify)
    if where[name].verify in PASSES:
        monkeypatch.setitem(PASSES, wrong, PASSES[where[name].verify])
    monkeypatch.setitem(where, name, where[name]._replace(verify=wrong))
    done = draftproof("law", name, "--problem", problem)
    assert (done.status, len(done.lines)) == (2, 1)
    assert f"the formulas of {name} give another distribution than its code" in done.err


# ---------------------------------------------------------------- certificate

BY_SEVERAL = ("--iterations", 2)
BY_COUPLINGS = ("--of", "couplings")
APART = '{"vocabulary": 2, "gamma": 1, "target": ["1", "0"], "draft": ["0", "1"]}'


@pytest.mark.parametrize(
    ("problem", "words", "says"),
    [
        (PAPER, (), "11/9"),
        (PAPER, BY_SEVERAL, "more than 40/9 tokens in 2 iterations"),
        (PAPER, BY_COUPLINGS, "no coupling of draft and target agrees on more than 4/3"),
        (TREE, (), "with a probability above 8/9"),
        (TREE, ("--of", "trees"), "more than 131/81 tokens of a draft tree"),
        (APART, (), "accepts more than 0 tokens an iteration"),
    ],
)
def test_a_certificate_is_written_and_says_what_it_proves(problem, words, says, tmp_path):
    done = draftproof("certificate", "--problem", problem, *words, "--json", "c.json", cwd=tmp_path)
    assert done.status == 0, done.err
    done = draftproof("certificate", "--check", "c.json", "--problem", problem, cwd=tmp_path)
    assert (done.status, says in done.out) == (0, True), done.out
    other = PAPER.replace('["1/3", "2/3"]', '["1/4", "3/4"]') if problem == PAPER else PAPER
    assert draftproof("certificate", "--check", "c.json", "--problem", other, cwd=tmp_path).status == 1
    (tmp_path / "c.json").write_text((tmp_path / "c.json").read_text()[:300])
    assert "rejected: " in draftproof("certificate", "--check", "c.json", cwd=tmp_path).out


LIKELIEST = PAPER.replace('"gamma": 2', '"gamma": 2, "drafting": {"children": [1, 1], "how": "top"}')


@pytest.mark.parametrize("words", [(), BY_SEVERAL, BY_COUPLINGS], ids=str)
@pytest.mark.parametrize("drawn", [TREE, LIKELIEST])
def test_a_certificate_about_draft_blocks_is_neither_made_nor_accepted_for_other_drafts(words, drawn, tmp_path):
    """It was: for a path of the likeliest tokens with a bound that a valid rule exceeds."""
    assert draftproof("certificate", "--problem", PAPER, *words, "--json", "c.json", cwd=tmp_path).status == 0
    done = draftproof("certificate", "--check", "c.json", "--problem", drawn, cwd=tmp_path)
    assert (done.status, "rejected: it is about draft blocks, and " in done.out) == (1, True), done.out
    of = () if "--of" in words else ("--of", "verifiers")
    done = draftproof("certificate", "--problem", drawn, *words, *of, "--json", "d.json", cwd=tmp_path)
    assert done.status == 2 and "expected --of drafts" in done.err


@pytest.mark.parametrize("words", [(), BY_SEVERAL, BY_COUPLINGS], ids=str)
def test_a_certificate_of_a_single_path_that_is_said_to_be_drawn_is_one_of_blocks(words, tmp_path):
    path = json.dumps(json.loads(PAPER) | {"drafting": {"paths": 1}})
    assert draftproof("certificate", "--problem", path, *words, "--json", "c.json", cwd=tmp_path).status == 0
    for same in (path, PAPER):
        done = draftproof("certificate", "--check", "c.json", "--problem", same, cwd=tmp_path)
        assert (done.status, "holds" in done.out) == (0, True), done.out


@pytest.mark.parametrize(
    ("words", "changed", "problem", "reason"),
    [
        (BY_SEVERAL, {"iterations": 12}, PAPER, "it has too many texts"),
        (BY_SEVERAL, {}, PAPER.replace('"gamma": 2', '"gamma": 18'), "it belongs to another problem"),
        ((), {}, PAPER.replace('"gamma": 2', '"gamma": 18'), "it belongs to another problem"),
    ],
)
def test_a_certificate_is_rejected_by_its_size_before_tables_are_written_out(
    words, changed, problem, reason, tmp_path, monkeypatch
):
    """They were written out first, for minutes."""
    assert draftproof("certificate", "--problem", PAPER, *words, "--json", "c.json", cwd=tmp_path).status == 0
    made = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps(made | changed))
    monkeypatch.setattr(Problem, "tabulated", lambda *_: pytest.fail("tables were written out"))
    done = draftproof("certificate", "--check", "c.json", "--problem", problem, cwd=tmp_path)
    assert (done.status, f"rejected: {reason}" in done.out) == (1, True), done.out


# ---------------------------------------------------------------- wrong use and bad input

SHORT = '{"vocabulary": 1, "gamma": 1, "target": {"": ["1"], "0": ["1"]}, "draft": {"": ["1"]}}'


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["law", "block", "--target", "0.66,0.33", "--draft", "1/2,1/2", "--gamma", "2"], "sums to 99/100 (= 0.99)"),
        (
            ["law", "block", "--problem", '{"vocabulary": 2, "gamma": 1, "target": {"": [1, 0]}, "draft": [1, 0]}'],
            'no row for the prefix "0"',
        ),
        (["law", "block", "--problem", SHORT, "--iterations", 2], 'no row for the prefix "0,0"'),
        (["law", "blok", "--problem", PAPER], "no reference verifier 'blok'; did you mean block?"),
        (["law", "block", "--problem", TREE], "block verifies a single path"),
        (["law", "block", *ROWS, "--gamma", "1000000000"], "expected int <= 200"),
        (["law", "block", *ROWS, "--gamma", "100"], "too many draft blocks"),
        (["law", "block"], "a problem is needed"),
        (["law", "block", "--problem", "missing.json"], "missing.json: cannot be read"),
        (["law", "block", "--gamma", "0"], "0 is not in the range"),
        (["law", "block", "--problem", PAPER, "--json", "/dev/full"], "cannot be written"),
        (["prove", "lema-1"], "no claim 'lema-1'; did you mean lemma-1?"),
        (["prove", "lemma-2", "--method", "sympy"], "lemma-2: no proof by sympy"),
        (["prove", "--method", "magic"], "'magic' is not one of enumeration"),
        (["forge", "--problem", PAPER], "Missing option '--out'"),
        (["forge", "--problem", PAPER, "--out", "o", "--vocabulary-size", 3], "vocabulary size 3: expected 4"),
        (["forge", "--problem", TABLE, "--out", "o"], 'target: the row after "1,0" is not the row after "0"'),
        (["certificate", "--problem", TREE, "--of", "verifiers", "--json", "t"], "expected --of drafts"),
        (["certificate", "--problem", PAPER, *BY_SEVERAL, *BY_COUPLINGS, "--json", "t"], "not about couplings"),
        (["law", "block", "--problem", LIKELIEST], "the problem draws the likeliest tokens"),
        (["certificate", "--check", "none.json"], "none.json: cannot be read"),
        (["certificate", "--check", "c.json", "--of", "verifiers"], "either --check FILE"),
        (["certificate"], "needs --problem FILE and --json FILE"),
        (["audit"], "a SUBJECT is needed"),
        (["audit", "nonsense"], "'nonsense' is not a subject"),
        (["audit", "."], ". is a folder; expected"),
        (["audit", "block", "--problem", "{}"], "the field 'vocabulary' is missing"),
        (["audit", "token", "--problem", PAPER.replace('"gamma": 2', '"gamma": 15')], "too many for an audit"),
        (["audit", "block", "--claims", "fast"], "'fast' is not one of lossless, lossless-over-keys, support"),
        (["audit", "block", "--claims", ""], "expected one or more of"),
        (["audit", "block", "--json", "/nowhere/report.json"], "cannot be written"),
        (["audit", "block", "--timeout", "nan"], "'nan' is not a finite number"),
        (["audit", "block", "--memory", "inf"], "'inf' is not a finite number"),
        (["dance"], "no command 'dance'"),
        (["list", "dances"], "is not one of"),
    ],
)
def test_wrong_use_and_bad_input_are_one_line_and_status_2(words, line, tmp_path):
    done = draftproof(*words, cwd=tmp_path)
    assert (done.status, len(done.lines)) == (2, 1)
    assert line in done.err
    assert (done.out == "" or "/dev/full" in words) and not [*tmp_path.iterdir()]


# ---------------------------------------------------------------- audit


@pytest.mark.parametrize(
    ("name", "status", "line"),
    [
        ("raises_always", 3, "raises on every call"),
        ("takes_four", 3, "takes 4 required arguments"),
        ("nowhere", 3, "has no attribute"),
        ("crashes", 3, "SIGSEGV"),
        ("outside_the_vocabulary", 1, "emits 2"),
        ("raises_when_rows_are_equal", 1, "ZeroDivisionError: residual is empty"),
        ("writes_to_the_target", 0, "writes to its input target_probs"),
        ("never_returns", 3, "a call did not return within 1 s of processor time (--timeout 2)"),
    ],
)
def test_audits_end_with_the_status_of_the_contract(name, status, line):
    problem = EQUAL if "equal" in name else PAPER
    done = draftproof("audit", f"{FAULTS}:{name}", "--problem", problem, "--timeout", 2 if "never" in name else 60)
    assert done.status == status, done.out + done.err
    assert line in done.out


UNFOLLOWED = """import itertools, random
def f(target_probs, draft_probs, draft_tokens):
    u = float(random.random())
    edges = list(itertools.accumulate(target_probs[0]))
    return [next((t for t, e in enumerate(edges) if u < e), len(edges) - 1)]
def halves(target_probs, draft_probs, draft_tokens):
    return [int(float(random.random()) < 0.5)]
def huge(target_probs, draft_probs, draft_tokens):
    return [10**5000]
"""


def test_what_cannot_be_followed_is_sampled_and_4_only_where_a_decision_is_required(tmp_path):
    (tmp_path / "u.py").write_text(UNFOLLOWED)
    common = ["audit", "u.py:f", "--problem", PAPER, "--samples", "2000"]
    done = draftproof(*common, "--json", "r.json", cwd=tmp_path)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (done.status, report["verdict"]) == (0, "inconclusive")
    sampled = next(e for e in report["evidence"] if e["method"] == "chi-square")
    assert sampled["verdict"] == "no-evidence" and 0 < sampled["bound"] < 1
    assert draftproof(*common, "--require-decision", cwd=tmp_path).status == 4
    done = draftproof("audit", "u.py:halves", "--problem", PAPER, cwd=tmp_path)
    assert (done.status, "chi-square" in done.out) == (1, True)
    assert draftproof("audit", "u.py:huge", "--problem", PAPER, cwd=tmp_path).status == 1, "10^5000 is no token"
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    done = draftproof("audit", "broken.py:f", cwd=tmp_path)
    assert (done.status, "cannot be imported (ModuleNotFoundError" in done.out) == (3, True)


def test_a_right_function_is_cleared_and_the_report_fits_its_schema(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    done = draftproof("audit", "right.py:f", "--quick", "--json", "-", cwd=tmp_path)
    report = json.loads(done.out)
    assert (done.status, report["verdict"]) == (0, "holds")
    assert {e["claim"] for e in report["evidence"]} == {"lossless", "support", "optimal"}
    validate(report)
