"""Bad input through the command line: what is whole is judged, the rest is named, one line each."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from draftproof.recording import Recorder
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.tests.reports.commands.in_process import draftproof as run

from .recordings import record
from .test_recordings import rewritten

SHARD = "steps-000000.safetensors"


def cut_short(folder):
    (folder / SHARD).write_bytes((folder / SHARD).read_bytes()[:-10])


def half(arrays):
    rows = arrays["row_offsets"][1]
    arrays["target"][:rows] /= 2
    arrays["rest_target"][0] /= 2


def outside(arrays):
    arrays["ids"][0] = 300


def too_many(arrays):
    arrays["emitted"] = np.append(arrays["emitted"], np.zeros(4, dtype=np.int32))
    arrays["emitted_offsets"][-1] += 4


def of_another_type(arrays):
    arrays["target"] = (1000 * arrays["target"]).astype(np.int32)


def one_column_short(arrays):
    arrays["rest_draft"] = arrays["rest_draft"][:, 1:].copy()


def logits_without_their_rest(arrays):
    arrays["logits"] = np.zeros_like(arrays["target"])


def more_natural_than_listed(arrays):
    arrays["natural"][3] = 2**20


def less_than_nothing(arrays):
    arrays["rest_target"][0, 3] = -0.25
    arrays["rest_target"][0, 4] += 0.25


def of_another_engine(folder):
    record(folder.parent / "other", steps=20, shard_steps=20, engine="another", seed=5)
    (folder.parent / "other" / SHARD).rename(folder / SHARD)


def half_written(folder):
    (folder / ".5f3a").write_bytes(b"\0" * 100)
    (folder / "steps-000002.safetensors").write_bytes(b"")


DAMAGE = {
    "a shard cut short": (cut_short, f"{SHARD}: cannot be read", 20),
    "a row that does not sum to one": (
        lambda folder: rewritten(folder, half), f"{SHARD}, step 0: a row of the target sums to 0.5", 39,
    ),
    "an id outside the vocabulary": (
        lambda folder: rewritten(folder, outside), f"{SHARD}: ids has the token 300, expected 0..299", 20,
    ),
    "more emitted than drafted plus one": (
        lambda folder: rewritten(folder, too_many), "of 3 drafted, expected one more at most", 20,
    ),
    "an array of another type": (
        lambda folder: rewritten(folder, of_another_type), f"{SHARD}: target is int32 of shape", 20,
    ),
    "an array that lacks a column": (
        lambda folder: rewritten(folder, one_column_short), "expected real numbers in 34 columns", 20,
    ),
    "logits of listed tokens alone": (
        lambda folder: rewritten(folder, logits_without_their_rest), "one of 'logits' and 'logits_rest' alone", 20,
    ),
    "more natural tokens than listed": (
        lambda folder: rewritten(folder, more_natural_than_listed), "natural of row 3 is 1048576, expected 0 to", 20,
    ),
    "a mass below 0": (
        lambda folder: rewritten(folder, less_than_nothing), f"{SHARD}, step 0: a row of the target sums to nan", 39,
    ),
    "a shard of another engine": (of_another_engine, f"{SHARD}: of another recording than header.json", 20),
    "a process killed while it wrote": (half_written, "steps-000002.safetensors: cannot be read", 40),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_whole_is_judged_and_the_rest_is_named(what, tmp_path):
    damage, says, judged = DAMAGE[what]
    folder = tmp_path / "steps"
    record(folder, steps=40, shard_steps=20)
    damage(folder)
    ended = run("steps", folder, "--jobs", 1, "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (ended.status, ended.err) == (0, "")
    [found] = [finding for finding in report["findings"] if finding["kind"] == "unreadable"]
    assert says in found["text"] and "\n" not in found["text"]
    assert says in " ".join(ended.out.split()), "it is on the terminal, too"
    assert report["steps"]["judged"]["steps"] == judged


HEADERS = {
    "no rule of ours": ('"rule": "tokens"', "rule 'tokens', expected one of token, block"),
    "no such type": ('"rule": "token", "dtype": "int8"', "dtype 'int8', expected one of"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_that_cannot_be_is_one_line(what, tmp_path):
    text, says = HEADERS[what]
    record(tmp_path, steps=5)
    header = tmp_path / "header.json"
    fields = json.loads(header.read_text()) | json.loads("{" + text + "}")
    header.write_text(json.dumps(fields))
    ended = run("steps", tmp_path, "--jobs", 1)
    assert (ended.status, len(ended.lines)) == (2, 1) and says in ended.err


def test_a_rule_that_the_steps_cannot_have_is_named(tmp_path):
    rows = np.full((2, 10), 0.1)
    with Recorder(tmp_path, 10, rule="token") as recorder:
        for _ in range(10):
            recorder.step(rows, [3], [3, 1], draft_known=False)
    ended = run("steps", tmp_path, "--jobs", 1, "--verbose")
    shown = " ".join(ended.out.split())
    assert ended.status == 0 and "claims token verification, and no step has what that needs" in shown
    assert "10 steps: the draft's row is not known" in shown
    record(tmp_path / "greedy", steps=30, rule="greedy")
    assert run("steps", tmp_path / "greedy", "--jobs", 1).status == 1, "sampled steps do not follow the greedy rule"


def test_a_drafted_token_without_a_row_of_the_draft_is_left_out(tmp_path):
    def no_row(arrays):
        arrays["draft_known"][:] = 0

    record(tmp_path, steps=40, shard_steps=40)
    rewritten(tmp_path, no_row)
    report = audit_steps(tmp_path)
    assert report.verdict != "refuted" and report.steps["judged"]["steps"] == 0
    assert report.steps["left_out"]["the draft's row is not known"] == 40


def test_a_rule_that_is_not_claimed_is_unknown(tmp_path):
    record(tmp_path, "M11", steps=40, rule="unknown")
    ended = run("steps", tmp_path, "--jobs", 1, "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["steps"]["rule"] == "unknown" and not report["steps"]["behaves_like"]
    assert "follows-rule" not in [evidence["claim"] for evidence in report["evidence"]]
    assert "the recording claims none (--rule)" in " ".join(report["not_examined"]) and "unknown" in ended.out


def test_a_refutation_without_a_rule_names_the_claim(tmp_path):
    with Recorder(tmp_path, 50, rule="unknown") as recorder:
        for _ in range(40):
            recorder.step(np.full((1, 50), 0.02), [], [1])
    ended = run("steps", tmp_path, "--jobs", 1)
    assert ended.status == 1 and "REFUTED: lossless, in 40 steps" in ended.out


FULL = """
import resource, signal, sys
import numpy as np
from draftproof.recording import Recorder
from draftproof.reports.audits.steps.run import audit_steps

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = Recorder(sys.argv[1], 50, rule="unknown", shard_steps=5)
rows = np.full((1, 50), 0.02)

def steps(count):
    for _ in range(count):
        recorder.step(rows, [], [1])

steps(5)
import time
while recorder.recorded < 5: time.sleep(0.01)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
steps(10)
while recorder.failed < 10: time.sleep(0.01)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
steps(5)
recorder.close()
print(recorder.recorded, recorder.failed)
"""


def test_a_disk_that_is_full_stops_no_engine_and_is_counted(tmp_path):
    words = [sys.executable, "-c", FULL, tmp_path]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "10 10\n", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "header.json", "steps-000000.safetensors", "steps-000001.safetensors", "steps-000002.safetensors",
    ]  # fmt: skip
    shown = " ".join(run("steps", tmp_path, "--jobs", 1).out.split())
    assert "10 steps could not be recorded: OSError" in shown and "File too large" in shown


def test_a_recorder_goes_on_behind_shards_that_were_moved_away(tmp_path):
    record(tmp_path, steps=40, shard_steps=20)
    (tmp_path / SHARD).unlink()
    record(tmp_path, steps=20, shard_steps=20)
    assert sorted(file.name for file in tmp_path.glob("steps-*")) == [
        "steps-000001.safetensors", "steps-000002.safetensors",
    ]  # fmt: skip


KILLED = """
import sys
import time
import numpy as np
from draftproof.recording import Recorder
from draftproof.reports.audits.steps.run import audit_steps

recorder = Recorder(sys.argv[1], 50, rule="unknown", shard_steps=5)
rows = np.full((1, 50), 0.02)
draw = np.random.default_rng(int(sys.argv[2]))
while True:
    recorder.step(rows, [], [int(draw.integers(50))])
"""


def test_a_process_that_is_killed_while_it_writes_leaves_whole_shards(tmp_path):
    for kill in range(1, 4):
        before = len([*tmp_path.glob("steps-*")])
        with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path, str(kill)]) as child:
            while len([*tmp_path.glob("steps-*")]) < before + 3 * kill and child.poll() is None:
                time.sleep(0.001)
            child.kill()
        assert child.returncode == -signal.SIGKILL
    ended = run("steps", tmp_path, "--jobs", 1, "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    shards = len([*tmp_path.glob("steps-*")])
    assert ended.status == 0 and not report["findings"] and shards >= 18
    assert report["steps"]["judged"]["emitted"] == 5 * shards == 5 * report["steps"]["shards"]
