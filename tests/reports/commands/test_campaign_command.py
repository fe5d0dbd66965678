"""``draftproof campaign``: exit statuses, one clear line, third-party code in child processes, going on."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draftproof.models.battery import drawn
from draftproof.models.problem import as_json
from draftproof.models.store import stored_rows
from draftproof.reports.audits.campaigns.run import ThirdPartySource
from draftproof.reports.audits.subject import subject_from
from draftproof.stattests.campaign.run import plan, sample_chunk
from draftproof.tests.reports.commands.in_process import PAPER, draftproof
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.stattests import batched_subjects

pytestmark = pytest.mark.needs("numba", "joblib")


GENERIC = json.dumps(as_json(drawn(3, 2, "generic")))
BATCHED = str(Path(batched_subjects.__file__))
EVEN = ["1/300"] * 300
LARGE = json.dumps({"vocabulary": 300, "gamma": 2, "name": "large", "target": EVEN, "draft": EVEN})
# A shell's background jobs inherit an interrupt that is ignored; a user's command does not.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from draftproof.reports.commands.main import main; main()"
)
PLAIN = """
import os
import numpy as np

CALLS = []

def verify(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            rest = np.maximum(target_probs[i] - draft_probs[i], 0)
            return [*draft_tokens[:i], rng.choice(len(rest), p=rest / rest.sum())]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]

def from_the_target(target_probs, draft_probs, draft_tokens, rng):
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            return [*draft_tokens[:i], rng.choice(len(target_probs[i]), p=target_probs[i])]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]

def counts_its_calls(target_probs, draft_probs, draft_tokens, rng):
    CALLS.append(1)
    if len(CALLS) % 700 == 0:
        raise RuntimeError("tired")
    return verify(target_probs, draft_probs, draft_tokens, rng)

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
    assert "no-evidence" in done.err
    assert "E[tau]" in done.err


@pytest.mark.long
def test_the_counts_are_the_same_for_other_workers_and_other_for_another_seed():
    digests = [
        json.loads(
            campaign("block", "--problem", GENERIC, "--samples", 90_000, "--chunk", 20_000, *more, "--json", "-").out
        )["campaign"]["counts_digest"]
        for more in (["--workers", 1], ["--workers", 2], ["--workers", 1, "--seed", 1])
    ]
    assert digests[0] == digests[1] != digests[2]


# ---------------------------------------------------------------- third-party functions


def test_a_right_function_is_not_refuted_and_a_biased_one_is_with_its_witness(plain):
    arguments = ["--problem", GENERIC, "--samples", 20_000, "--workers", 1]
    assert campaign(plain("verify"), *arguments).status == 0
    done = campaign(plain("from_the_target"), *arguments, "--json", "-")
    (evidence,) = json.loads(done.out)["evidence"]
    assert (done.status, evidence["verdict"]) == (1, "refuted")
    assert evidence["detail"]["p_value"] < 1e-6
    assert evidence["witness"]["problem"]["vocabulary"] == 3
    assert "standard errors" in evidence["witness"]["why"]


@pytest.mark.long
def test_counts_of_a_function_that_keeps_state_do_not_depend_on_the_workers(plain):
    """Each chunk has a process of its own; where it has not, the calls of an earlier chunk would tell."""
    arguments = ["--problem", PAPER, "--samples", 4_000, "--chunk", 1_000, "--json", "-"]
    reports = [json.loads(campaign(plain("counts_its_calls"), *arguments, "--workers", w).out) for w in (1, 2)]
    assert reports[0]["campaign"]["counts_digest"] == reports[1]["campaign"]["counts_digest"]
    assert reports[0]["evidence"][0]["detail"]["strange"] == {"RuntimeError": [4, "tired"]}
    assert reports[0]["verdict"] == "refuted"


@pytest.mark.parametrize("batch", [pytest.param(None, marks=pytest.mark.long), 100])
def test_two_chunks_of_a_function_differ_and_one_drawn_again_does_not(plain, batch):
    """Else a campaign of a million samples would be one chunk, counted over and over."""
    name = f"{BATCHED}:block" if batch else plain("verify")
    source = ThirdPartySource(subject_from(name), drawn(3, 2, "generic"), batch=batch)
    planned = plan(source, 4000, seed=0, chunk=2000)
    first, second, again = (sample_chunk(source, planned, k)[1] for k in (0, 1, 0))
    assert first != second
    assert first == again


@pytest.mark.parametrize(("name", "status"), [("block", 0), ("lists", 0), ("one_in_twenty_is_zero", 1),
                                              ("counts_its_calls", 1)])  # fmt: skip
def test_batched_functions_are_judged_by_what_they_emit(name, status):
    done = campaign(f"{BATCHED}:{name}", "--problem", GENERIC, "--batch", 1000, "--samples", 100_000, "--workers", 1)
    assert done.status == status
    assert ("refuted" in done.out) == (status == 1)


@pytest.mark.parametrize(
    ("name", "batch", "line"),
    [
        ("fails", 100, "fails on its first call: ValueError: out of [red]luck[/]"),
        ("one_row", 100, "returned 1 rows for 100 blocks, expected one row of tokens a block"),
        ("missing", 100, "has no attribute 'missing'"),
        ("always_raises", None, "raises on every call: ValueError: never"),
        ("crashes", None, "the process ended (killed by SIGABRT)"),
    ],
)
def test_a_function_that_cannot_be_sampled_is_one_line_and_status_3(plain, name, batch, line):
    subject, more = (f"{BATCHED}:{name}", ["--batch", batch]) if batch else (plain(name), [])
    done = campaign(subject, "--problem", PAPER, *more, "--samples", 2_000, "--workers", 1)
    assert (done.status, len(done.lines)) == (3, 1)
    assert line in done.err


# ---------------------------------------------------------------- interruptions


def waiting_for(file, process, chunks):
    while True:
        assert process.poll() is None, process.communicate()
        rows = stored_rows(file, "a sampling campaign")
        if rows and rows[-1].row["below"] >= chunks:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
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
    assert stored_rows(file, "a sampling campaign")[-1].row["below"] >= 1
    other = campaign(*arguments, "--seed", 1)
    assert other.status == 2
    assert "was begun with seed 0, and 1 is asked for" in other.err


def test_a_finished_campaign_is_shown_again_from_its_checkpoint(tmp_path):
    arguments = ["block", "--problem", PAPER, "--samples", 50_000, "--checkpoint", tmp_path / "campaign.json",
                 "--workers", 1, "--json", tmp_path / "report.json"]  # fmt: skip
    reports = []
    for _ in range(2):
        assert campaign(*arguments).status == 0
        reports.append(json.loads((tmp_path / "report.json").read_text()))
    assert [report["campaign"]["resumed"] for report in reports] == [0, 50_000]
    assert reports[0]["campaign"]["counts"] == reports[1]["campaign"]["counts"]
    assert reports[0]["evidence"] == reports[1]["evidence"]


# ---------------------------------------------------------------- wrong use and bad input


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["block", "--problem", PAPER, "--samples", 0], "no samples to draw (n = 0); expected at least 1"),
        (["block", "--problem", PAPER, "--cluster", "spark://a:1"], "cluster 'spark://a:1' is not known"),
        (["block", "--problem", PAPER, "--cluster", "dask://a:1", "--workers", 2], "either --workers, or --cluster"),
        (["block", "--problem", PAPER, "--batch", 4], "--batch, --array and --dtype are for third-party functions"),
        (["a:b", "--problem", PAPER, "--batch", 4, "--array", "list"], "--batch gives arrays"),
        (["block"], "Missing option '--problem'"),
        (["blok", "--problem", PAPER], "'blok' is not a subject"),
        (["block", "--problem", "missing.json"], "missing.json: cannot be read"),
        (["block", "--problem", PAPER, "--checkpoint", "/nowhere/campaign.json"], "cannot be written"),
        (
            ["block", "--problem", '{"vocabulary": 40, "gamma": 3, "target": [1], "draft": [1]}'],
            "expected 40 probabilities",
        ),
        (
            ["block", "--problem", LARGE],
            "large: 300^3 sequences of 3 tokens are too many for a campaign; expected at most 131,072",
        ),
    ],
)
def test_wrong_use_and_bad_input_are_one_line_and_status_2(arguments, line, tmp_path):
    done = campaign(*arguments, cwd=tmp_path)
    assert (done.status, len(done.lines), done.out) == (2, 1, "")
    assert done.err.startswith("draftproof: ") and line in done.err


@pytest.mark.parametrize("wrong", ["return [99]", "raise ValueError('no')"])
def test_what_is_no_tokens_is_refuted_in_every_precision(tmp_path, wrong):
    (tmp_path / "s.py").write_text(f"{PLAIN}\ndef seldom(target_probs, draft_probs, draft_tokens, rng):\n"
                                   f"    if rng.random() < 0.01:\n        {wrong}\n"
                                   "    return verify(target_probs, draft_probs, draft_tokens, rng)\n")  # fmt: skip
    done = campaign(
        tmp_path / "s.py:seldom", "--problem", PAPER, "--samples", 5000, "--dtype", "float32", "--workers", 1
    )
    assert done.status == 1, done.out


def test_tied_outcomes_do_not_refute_a_right_verifier():
    problem = json.dumps({"vocabulary": 8, "gamma": 3, "target": ["1/8"] * 8,
                          "draft": ["1/4", "1/4", "1/8", "1/8", "1/16", "1/16", "1/16", "1/16"]})  # fmt: skip
    assert campaign("token", "--problem", problem, "--samples", 20_000, "--workers", 1).status == 0
