"""``draftproof campaign``: exit statuses, one clear line, third-party code in child processes, going on."""

import json
import signal
import subprocess
import sys
import time

import pytest

from draftproof.models.battery import drawn
from draftproof.models.problem import as_json
from draftproof.models.store import stored
from draftproof.tests.choices import long_unless
from draftproof.tests.reports.audits.nightly.parts import RIGHT, WRONG
from draftproof.tests.reports.commands.in_process import PAPER, draftproof
from draftproof.tests.reports.report_schema import validate

pytestmark = pytest.mark.needs("joblib")


GENERIC = json.dumps(as_json(drawn(3, 2, "generic")))
EVEN = ["1/300"] * 300
LARGE = json.dumps({"vocabulary": 300, "gamma": 2, "name": "large", "target": EVEN, "draft": EVEN})
# A shell's background jobs inherit an interrupt that is ignored; a user's command does not.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from draftproof.reports.commands.main import main; main()"
)
PLAIN = f"""
import os
{RIGHT}
{WRONG.replace("verify", "from_the_target")}
CALLS = []

def seldom_no_token(target_probs, draft_probs, draft_tokens, rng):
    return [99] if rng.random() < 0.01 else verify(target_probs, draft_probs, draft_tokens, rng)

def crashes(target_probs, draft_probs, draft_tokens, rng):
    CALLS.append(1)
    if len(CALLS) == 700:
        os.abort()
    return verify(target_probs, draft_probs, draft_tokens, rng)

def always_raises(target_probs, draft_probs, draft_tokens, rng):
    raise ValueError("never")
"""


def campaign(*arguments, cwd=None):
    return draftproof("campaign", *arguments, cwd=cwd)


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "mine.py").write_text(PLAIN)
    return lambda name: f"{tmp_path / 'mine.py'}:{name}"


@pytest.mark.parametrize("name", ["token", "block", "block-stream", "greedy-block"])
def test_a_reference_is_not_refuted_and_says_what_it_could_have_seen(name):
    done = campaign(name, "--problem", PAPER, "--samples", 100_000, "--workers", 1, "--json", "-")
    report = json.loads(done.out)
    (evidence,) = report["evidence"]
    assert (done.status, report["verdict"], evidence["verdict"]) == (0, "inconclusive", "no-evidence")
    assert report["campaign"]["samples"] == sum(report["campaign"]["counts"].values()) == 100_000
    validate(report)
    assert 0 < evidence["detail"]["detection_limit"] < 0.05
    assert evidence["total_variation"] < evidence["bound"] < 0.02
    accepted = evidence["detail"]["accepted"]
    expected = {"token": 10 / 9, "greedy-block": 4 / 3}.get(name, 11 / 9)
    assert accepted["interval"][0] < expected < accepted["interval"][1]
    assert (accepted["optimum"], accepted["cap"]) == pytest.approx((11 / 9, 4 / 3))
    assert "UNDECIDED: " in done.err and "E[tau]" in done.err


# ---------------------------------------------------------------- third-party functions


@pytest.mark.parametrize(("name", "options", "status"), [
    ("verify", [], 0), ("from_the_target", [], 1), ("seldom_no_token", ["--dtype", "float32"], 1)])  # fmt: skip
def test_functions_are_judged_by_what_they_emit(plain, name, options, status):
    arguments = ["--problem", GENERIC, *options, "--samples", 10_000, "--workers", 1, "--json", "-"]
    done = campaign(plain(name), *arguments)
    (evidence,) = json.loads(done.out)["evidence"]
    assert (done.status, evidence["verdict"]) == (status, "refuted" if status else "no-evidence")
    assert not status or evidence["witness"]["problem"]["vocabulary"] == 3


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("missing", "has no attribute 'missing'"),
        ("always_raises", "raises on every call: ValueError: never"),
        ("crashes", "the process ended (killed by SIGABRT)"),
    ],
)
def test_a_function_that_cannot_be_sampled_is_one_line_and_status_3(plain, name, line):
    done = campaign(plain(name), "--problem", PAPER, "--samples", 2_000, "--workers", 1)
    assert (done.status, len(done.lines)) == (3, 1)
    assert line in done.err


# ---------------------------------------------------------------- interruptions


def waiting_for(file, process, chunks):
    while True:
        assert process.poll() is None, process.communicate()
        rows = stored(file, "a sampling campaign").rows
        if rows and rows[-1].row["below"] >= chunks:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("sent", long_unless([signal.SIGINT, signal.SIGTERM], {signal.SIGINT}))
def test_ctrl_c_and_a_cancelled_job_keep_the_checkpoint_and_say_how_to_go_on(tmp_path, sent):
    file = tmp_path / "campaign.json"
    arguments = ["block", "--problem", PAPER, "--checkpoint", file, "--workers", 2, "--samples", 10**12]
    words = [sys.executable, "-c", START, "campaign", *map(str, arguments)]
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            waiting_for(file, process, 1)
            process.send_signal(sent)
            _, err = process.communicate(timeout=3600)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.strip().startswith("draftproof: interrupted after ")
    assert f"samples; they are in {file}, and the same command resumes from there" in err
    assert "Traceback" not in err
    assert stored(file, "a sampling campaign").rows[-1].row["below"] >= 1
    other = campaign(*arguments, "--seed", 1)
    assert other.status == 2
    assert "was begun with seed 0, and 1 is asked for" in other.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--samples", 0], "no samples to draw (n = 0); expected at least 1"),
        (["--workers", 0], "0 is not in the range x>=1"),
        (["--cluster", "spark://a:1"], "cluster 'spark://a:1' is not known; expected dask://HOST:PORT"),
        (["--cluster", "dask://a:1", "--workers", 2], "give --workers or --cluster, not both"),
        (["--array", "list"], "--array and --dtype are for third-party functions"),
        (["--problem", "missing.json"], "missing.json: cannot be read"),
        (["--checkpoint", "/nowhere/campaign.json"], "cannot be written"),
        (
            ["--problem", LARGE],
            "large: 300^3 sequences of 3 tokens are too many for a campaign; expected at most 131,072",
        ),
    ],
)
def test_wrong_use_and_bad_input_are_one_line_and_status_2(arguments, line, tmp_path):
    done = campaign("block", *([] if "--problem" in arguments else ["--problem", PAPER]), *arguments, cwd=tmp_path)
    assert (done.status, len(done.lines), done.out) == (2, 1, "")
    assert done.err.startswith("draftproof: ") and line in done.err
