"""The command line as the contract has it: exit statuses, one clear line, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from draftproof.reports.commands.certificate import command
from draftproof.tests.reports.report_schema import validate

SUBJECTS = Path(__file__).parents[2] / "subjects"
FAULTS = f"{SUBJECTS / 'faults.py'}"
PAPER = '{"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
EQUAL = '{"vocabulary": 2, "gamma": 1, "target": ["1/2", "1/2"], "draft": ["1/2", "1/2"]}'
RIGHT = """import numpy as np
def f(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]
"""


def draftproof(*arguments, cwd=None):
    start = "import sys; from draftproof.reports.commands.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)], capture_output=True, text=True, timeout=3600, cwd=cwd,
        env=os.environ | {"COLUMNS": "160"},
    )  # fmt: skip
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def test_law_prints_the_published_values_of_the_paper_example():
    done = draftproof("law", "block", "--target", "1/3,2/3", "--draft", "2/3,1/3", "--gamma", 2, "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "verifier": "block",
        "vocabulary": 2,
        "gamma": 2,
        "iterations": 1,
        "expected_accepted": "11/9",
        "expected_tokens": "20/9",
        "acceptance_ccdf": ["1", "2/3", "5/9"],
        "total_variation": "0",
        "lossless": True,
    }


@pytest.mark.parametrize(("iterations", "tokens"), [(1, "7/3"), (2, "40/9"), (3, "59/9")])
def test_law_of_greedy_block_verification_over_iterations(iterations, tokens):
    done = draftproof("law", "greedy-block", "--problem", PAPER, "--iterations", iterations, "--json", "-")
    found = json.loads(done.stdout)
    assert (found["expected_tokens"], found["total_variation"], found["lossless"]) == (tokens, "0", True)


def test_law_of_a_rule_for_trees_says_how_the_tree_is_drawn():
    tree = json.dumps({**json.loads(PAPER), "drafting": {"paths": 2}})
    done = draftproof("law", "spec-infer", "--problem", tree, "--json", "-")
    law = json.loads(done.stdout)
    assert (law["acceptance_ccdf"][1], law["transport_bound"], law["lossless"]) == ("7/9", "8/9", True)
    refused = draftproof("law", "block", "--problem", tree)
    assert refused.returncode == 2 and "block verifies a single path" in refused.stderr


def test_a_certificate_of_the_first_drafts_is_written_and_checked(tmp_path):
    tree = json.dumps({**json.loads(PAPER), "drafting": {"paths": 2}})
    done = draftproof("certificate", "--problem", tree, "--json", "t.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = draftproof("certificate", "--check", "t.json", "--problem", tree, cwd=tmp_path)
    assert done.returncode == 0 and "with a probability above 8/9" in done.stdout
    assert draftproof("certificate", "--check", "t.json", "--problem", PAPER, cwd=tmp_path).returncode == 1
    done = draftproof("certificate", "--problem", tree, "--of", "trees", "--json", "t.json", cwd=tmp_path)
    done = draftproof("certificate", "--check", "t.json", cwd=tmp_path)
    assert done.returncode == 0 and "more than 131/81 tokens of a draft tree" in done.stdout
    done = draftproof("certificate", "--problem", tree, "--of", "verifiers", "--json", "t.json", cwd=tmp_path)
    assert done.returncode == 2 and "expected --of drafts" in done.stderr


def test_law_in_words_needs_no_file():
    done = draftproof("law", "token", "--problem", PAPER)
    assert done.returncode == 0
    assert "10/9" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["law", "block", "--target", "0.66,0.33", "--draft", "1/2,1/2", "--gamma", "2"],
            "the row sums to 99/100 (= 0.99)",
        ),
        (
            ["law", "block", "--problem", '{"vocabulary": 2, "gamma": 1, "target": {"": [1, 0]}, "draft": [1, 0]}'],
            'no row for the prefix "0"',
        ),
        (["law", "blok", "--problem", PAPER], "no reference verifier 'blok'; did you mean block?"),
        (["prove", "lema-1"], "no claim 'lema-1'; did you mean lemma-1?"),
        (["law", "block"], "a problem is needed"),
        (["law", "block", "--problem", "missing.json"], "missing.json: cannot be read"),
        (["law", "block", "--gamma", "0"], "0 is not in the range"),
        (["audit"], "a SUBJECT is needed"),
        (["audit", "nonsense"], "'nonsense' is not a subject"),
        (["audit", "."], ". is a folder; expected"),
        (["audit", "block", "--problem", "{}"], "the field 'vocabulary' is missing"),
        (["audit", "block", "--claims", "fast"], "'fast' is not one of lossless, lossless-over-keys, support"),
        (["audit", "block", "--json", "/nowhere/report.json"], "cannot be written"),
        (["audit", "--zoo", "block"], "--zoo takes no subject"),
        (["dance"], "no command 'dance'"),
        (["list", "dances"], "is not one of"),
    ],
)
def test_wrong_use_and_bad_input_are_one_line_and_status_2(arguments, line, tmp_path):
    done = draftproof(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_table_that_stops_short_of_the_iterations_says_which_prefix_is_missing(tmp_path):
    table = {"vocabulary": 1, "gamma": 1, "target": {"": ["1"], "0": ["1"]}, "draft": {"": ["1"]}}
    done = draftproof("law", "block", "--problem", json.dumps(table), "--iterations", 2)
    assert done.returncode == 2
    assert 'no row for the prefix "0,0"' in done.stderr


@pytest.mark.parametrize(
    ("name", "status", "line"),
    [
        ("raises_always", 3, "raises on every call"),
        ("returns_text", 3, "returned text"),
        ("returns_nothing", 3, "returned None"),
        ("takes_four", 3, "takes 4 required arguments"),
        ("nowhere", 3, "has no attribute"),
        ("crashes", 3, "SIGSEGV"),
        ("outside_the_vocabulary", 1, "emits 2"),
        ("raises_when_rows_are_equal", 1, "ZeroDivisionError: residual is empty"),
        ("writes_to_the_target", 0, "writes to its input target_probs"),
    ],
)
def test_audits_end_with_the_status_of_the_contract(name, status, line):
    done = draftproof("audit", f"{FAULTS}:{name}", "--problem", EQUAL if "equal" in name else PAPER)
    assert done.returncode == status, done.stdout + done.stderr
    assert line in done.stdout


def test_a_subject_that_never_returns_ends_with_status_3():
    done = draftproof("audit", f"{FAULTS}:never_returns", "--timeout", "2")
    assert done.returncode == 3
    assert "a call did not return within 1 s of processor time (--timeout 2)" in done.stdout


def test_an_import_error_ends_with_status_3_in_one_line(tmp_path):
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    done = draftproof("audit", "broken.py:f", cwd=tmp_path)
    assert done.returncode == 3
    assert "cannot be imported (ModuleNotFoundError" in done.stdout


def test_what_was_finished_before_a_crash_is_reported(tmp_path):
    done = draftproof("audit", f"{FAULTS}:crashes_when_rows_are_equal", "--quick", "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.returncode == 3
    assert report["verdict"] == "error"
    assert "SIGSEGV" in report["failure"]["message"]
    assert sum(e["verdict"] == "holds" for e in report["evidence"]) > 10


def test_a_right_function_is_cleared_and_the_report_fits_its_schema(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    done = draftproof("audit", "right.py:f", "--quick", "--json", "-", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert report["verdict"] == "holds"
    assert {e["claim"] for e in report["evidence"]} == {"lossless", "support", "optimal"}
    validate(report)


@pytest.mark.long
def test_the_replay_command_of_a_refutation_refutes_again(tmp_path):
    import shlex

    done = draftproof("audit", f"{FAULTS}:outside_the_vocabulary", "--quick", "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    validate(report)
    assert done.returncode == 1
    item = next(e for e in report["evidence"] if e["verdict"] == "refuted" and e["claim"] == "lossless")
    again = draftproof(*shlex.split(item["replay"])[1:])
    assert again.returncode == 1
    assert item["witness"]["observed"] in again.stdout


def test_claims_choose_what_decides(tmp_path):
    """Token verification is lossless, and short of the optimum."""
    assert draftproof("audit", "token").returncode == 0
    assert draftproof("audit", "token", "--claims", "lossless,optimal").returncode == 1
    assert draftproof("audit", "block", "--claims", "lossless,optimal,support").returncode == 0


def test_an_inconclusive_audit_ends_with_4_only_where_a_decision_is_required(tmp_path):
    (tmp_path / "unfollowed.py").write_text(
        "import itertools, random\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    u = float(random.random())\n"
        "    edges = list(itertools.accumulate(target_probs[0]))\n"
        "    return [next((t for t, e in enumerate(edges) if u < e), len(edges) - 1)]\n"
    )
    common = ["audit", "unfollowed.py:f", "--problem", PAPER, "--samples", "2000"]
    done = draftproof(*common, "--json", "r.json", cwd=tmp_path)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (done.returncode, report["verdict"]) == (0, "inconclusive")
    sampled = next(e for e in report["evidence"] if e["method"] == "chi-square")
    assert sampled["verdict"] == "no-evidence"
    assert 0 < sampled["bound"] < 1
    assert "plain float" in sampled["detail"]["why_not_exact"]
    assert draftproof(*common, "--require-decision", cwd=tmp_path).returncode == 4


def test_the_statistical_route_refutes_what_it_can_see(tmp_path):
    (tmp_path / "unfollowed.py").write_text(
        "import random\n"
        "def f(target_probs, draft_probs, draft_tokens):\n"
        "    return [int(float(random.random()) < 0.5)]\n"
    )
    done = draftproof("audit", "unfollowed.py:f", "--problem", PAPER, cwd=tmp_path)
    assert done.returncode == 1
    assert "chi-square" in done.stdout


@pytest.mark.parametrize("what", ["verifiers", "claims", "checks", "mutants", "adapters", "presets", "problems"])
def test_list_shows_what_there_is(what):
    done = draftproof("list", what)
    assert done.returncode == 0
    expected = {
        "verifiers": "greedy-block",
        "claims": "lossless",
        "checks": "pure",
        "mutants": "M45",
        "adapters": "transformers",
        "presets": "lmsys/vicuna-7b-v1.3",
        "problems": "aimed-V3-gamma3-7",
    }
    assert expected[what] in done.stdout


def test_both_front_matters_exist():
    assert draftproof("--version").stdout.startswith("draftproof, version")
    assert "audit" in draftproof("--help").stdout


def test_a_certificate_is_written_checked_and_rejected_when_tampered_with(tmp_path):
    done = draftproof("certificate", "--problem", PAPER, "--json", "c.json", cwd=tmp_path)
    assert done.returncode == 0
    done = draftproof("certificate", "--check", "c.json", cwd=tmp_path)
    assert (done.returncode, "11/9" in done.stdout) == (0, True)
    data = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "high.json").write_text(json.dumps(data | {"expected_accepted": "4/3"}))
    (tmp_path / "cut.json").write_text(json.dumps(data)[:300])
    for name, reason in (("high.json", "not the 4/3 claimed"), ("cut.json", "cut short")):
        done = draftproof("certificate", "--check", name, cwd=tmp_path)
        assert (done.returncode, reason in done.stdout) == (1, True)
    other = PAPER.replace('["1/3", "2/3"]', '["1/4", "3/4"]')
    done = draftproof("certificate", "--check", "c.json", "--problem", other, cwd=tmp_path)
    assert (done.returncode, "another problem" in done.stdout) == (1, True)
    assert draftproof("certificate", "--check", "none.json", cwd=tmp_path).returncode == 2
    assert draftproof("certificate").returncode == 2


def test_several_iterations_are_certified_and_rejected_when_tampered_with(tmp_path):
    made = ("certificate", "--iterations", "2", "--problem", PAPER, "--json", "c.json")
    assert draftproof(*made, cwd=tmp_path).returncode == 0
    done = draftproof("certificate", "--check", "c.json", "--problem", PAPER, cwd=tmp_path)
    assert (done.returncode, "more than 40/9 tokens in 2 iterations" in done.stdout) == (0, True)
    data = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "high.json").write_text(json.dumps(data | {"expected_tokens": "5"}))
    done = draftproof("certificate", "--check", "high.json", cwd=tmp_path)
    assert (done.returncode, "not the 5 claimed" in done.stdout) == (1, True)
    done = draftproof(*made, "--of", "couplings", cwd=tmp_path)
    assert (done.returncode, "not about couplings" in done.stderr) == (2, True)


def test_one_token_in_one_iteration_is_said_in_the_singular(tmp_path):
    """Models that have nothing in common: one token a call."""
    apart = '{"vocabulary": 2, "gamma": 1, "target": ["1", "0"], "draft": ["0", "1"]}'
    made = ["--problem", apart, "--json", str(tmp_path / "c.json")]
    for more, says in (
        (["--iterations", "1"], "decodes more than 1 token in 1 iteration in expectation"),
        (["--iterations", "2"], "decodes more than 2 tokens in 2 iterations in expectation"),
        ([], "accepts more than 0 tokens an iteration"),
    ):
        assert CliRunner().invoke(command, [*made, *more]).exit_code == 0
        assert says in CliRunner().invoke(command, ["--check", made[-1]]).output


def test_a_coupling_is_certified_and_rejected_when_tampered_with(tmp_path):
    done = draftproof("certificate", "--of", "couplings", "--problem", PAPER, "--json", "c.json", cwd=tmp_path)
    assert done.returncode == 0
    done = draftproof("certificate", "--check", "c.json", cwd=tmp_path)
    assert (done.returncode, "no coupling of draft and target agrees on more than 4/3" in done.stdout) == (0, True)
    data = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "high.json").write_text(json.dumps(data | {"expected_accepted": "3/2"}))
    done = draftproof("certificate", "--check", "high.json", cwd=tmp_path)
    assert (done.returncode, "not on the 3/2 claimed" in done.stdout) == (1, True)
    (tmp_path / "sorted.json").write_text(json.dumps(data, sort_keys=True))
    assert draftproof("certificate", "--check", "sorted.json", cwd=tmp_path).returncode == 0
    assert draftproof("certificate", "--check", "c.json", "--of", "verifiers", cwd=tmp_path).returncode == 2


def test_a_token_beyond_every_vocabulary_is_a_refutation(tmp_path):
    (tmp_path / "huge.py").write_text("def f(target_probs, draft_probs, draft_tokens):\n    return [10**5000]\n")
    assert draftproof("audit", "huge.py:f", "--problem", PAPER, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["law", "block", "--target", "1/3,2/3", "--draft", "2/3,1/3", "--gamma", "1000000000"], "expected int <= 200"),
        (["law", "block", "--target", "1/3,2/3", "--draft", "2/3,1/3", "--gamma", "100"], "too many draft blocks"),
        (["audit", "token", "--problem", PAPER.replace('"gamma": 2', '"gamma": 15')], "too many for an audit"),
        (["audit", "block", "--claims", ""], "expected one or more of"),
        (["audit", "block", "--timeout", "nan"], "'nan' is not a finite number"),
        (["audit", "block", "--memory", "inf"], "'inf' is not a finite number"),
        (["law", "block", "--problem", PAPER, "--json", "/dev/full"], "cannot be written"),
    ],
)
def test_sizes_and_places_beyond_reason_are_refused(arguments, line):
    done = draftproof(*arguments)
    assert done.returncode == 2
    assert line in done.stderr
