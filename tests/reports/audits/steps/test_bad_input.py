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
from draftproof.verifiers.conditional.form import DRAFT_ROW, NO_DRAFT_ROW, POINT_MASS

from .recordings import record, rewritten

SHARD = "steps-000000.safetensors"


def cut_short(folder):
    (folder / SHARD).write_bytes((folder / SHARD).read_bytes()[:-10])


def half(arrays):
    rows = arrays["row_offsets"][1]
    arrays["target"][:rows] /= 2
    arrays["rest_target"][0] /= 2


def entry(value):
    return lambda arrays: arrays["target"].__setitem__(0, value)


def draft_entry(value, row, known):
    def change(arrays):
        arrays["draft"][arrays["row_offsets"][row]] = value
        arrays["draft_known"][row] = known

    return change


def outside(arrays):
    arrays["ids"][0] = 300


def drafts_outside(arrays):
    arrays["draft_tokens"][0] = 10**6


def too_many(arrays):
    arrays["emitted"] = np.append(arrays["emitted"], np.zeros(4, dtype=np.int32))
    arrays["emitted_offsets"][-1] += 4


def unsigned_and_falling(arrays):
    arrays["draft_offsets"] = arrays["draft_offsets"].astype(np.uint32)
    arrays["draft_offsets"][1] = 10**6


def beyond_63_bits(arrays):
    arrays["request"] = arrays["request"].astype(np.uint64) + np.uint64(2**63)


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


FILES = {
    "a shard cut short": (cut_short, f"{SHARD}: cannot be read", 20),
    "a shard of another engine": (of_another_engine, f"{SHARD}: of another recording than header.json", 20),
    "a process killed while it wrote": (half_written, "steps-000002.safetensors: cannot be read", 40),
}
ARRAYS = {
    "a row that does not sum to one": (half, f"{SHARD}, step 0: a row of the target sums to 0.5", 39),
    "an entry that is no number": (entry(np.nan), f"{SHARD}, step 0: a row of the target sums to nan", 39),
    "an entry below 0": (entry(-0.1), f"{SHARD}, step 0: a row of the target sums to nan", 39),
    "a draft's entry that is no number": (
        draft_entry(np.nan, 1, DRAFT_ROW),
        f"{SHARD}, step 0: a row of the draft sums to nan",
        39,
    ),
    "a certain draft that is no number": (
        draft_entry(np.nan, 1, POINT_MASS),
        f"{SHARD}, step 0: a row of the draft sums to nan",
        39,
    ),
    "a certain draft below 0": (
        draft_entry(-1.0, 1, POINT_MASS),
        f"{SHARD}, step 0: a row of the draft sums to nan",
        39,
    ),
    "a draft's row that is no row where nothing is drafted": (
        draft_entry(np.nan, 3, NO_DRAFT_ROW),
        f"{SHARD}, step 0: a row of the draft sums to nan",
        39,
    ),
    "a mass below 0": (less_than_nothing, f"{SHARD}, step 0: a row of the target sums to nan", 39),
    "an id outside the vocabulary": (outside, f"{SHARD}: ids has the token 300, expected 0..299", 20),
    "a draft outside the vocabulary": (drafts_outside, "draft_tokens has the token 1000000, expected 0..299", 20),
    "more emitted than drafted plus one": (too_many, "of 3 drafted, expected one more at most", 20),
    "an array of another type": (of_another_type, f"{SHARD}: target is int32 of shape", 20),
    "an array that lacks a column": (one_column_short, "expected real numbers in 34 columns", 20),
    "an array that is missing": (lambda a: a.pop("ids"), "no array 'ids'", 20),
    "logits of listed tokens alone": (logits_without_their_rest, "one of 'logits' and 'logits_rest' alone", 20),
    "more natural tokens than listed": (more_natural_than_listed, "natural of row 3 is 1048576, expected 0 to", 20),
    "no token emitted": (lambda a: a.update(emitted_offsets=a["emitted_offsets"] * 0), "emitted has", 20),
    "places that fall": (lambda a: a["draft_offsets"].__setitem__(1, 10**6), "draft_offsets does not rise", 20),
    "unsigned places that fall": (unsigned_and_falling, "draft_offsets does not rise", 20),
    "whole numbers beyond 63 bits": (beyond_63_bits, "request has 9223372036854775808, expected less than 2^63", 20),
    "settings that are not there": (
        lambda a: a["settings"].__setitem__(0, 3),
        "settings number 3, expected -1..-1",
        20,
    ),
    "rows of other tokens": (lambda a: a.update(ids=(a["ids"] + 1) % 300), "does not list the step's own tokens", 20),
}
"""What is damaged, what is said of it, and how many of 40 steps are judged."""


@pytest.mark.parametrize("what", [*FILES, *ARRAYS])
def test_what_is_whole_is_judged_and_the_rest_is_named(what, tmp_path):
    change, says, judged = (FILES | ARRAYS)[what]
    folder = tmp_path / "steps"
    record(folder, steps=40, shard_steps=20)
    if what in FILES:
        change(folder)
    else:
        rewritten(folder, change)
    ended = run("steps", folder, "--jobs", 1, "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (ended.status, ended.err) == (0, "")
    [found] = [finding for finding in report["findings"] if finding["kind"] == "unreadable"]
    assert says in found["text"] and "\n" not in found["text"]
    assert says in " ".join(ended.out.split()), "it is on the terminal, too"
    assert report["steps"]["judged"]["steps"] == judged


def test_unsigned_numbers_are_read_as_others(tmp_path):
    record(tmp_path, steps=40)
    reports = []
    for kind in (np.int64, np.uint64, np.uint32):

        def change(arrays, kind=kind):
            for name in ("draft_offsets", "emitted_offsets", "row_offsets", "request", "place", "draft_tokens", "ids"):
                arrays[name] = arrays[name].astype(kind)

        rewritten(tmp_path, change)
        ended = run("steps", tmp_path, "--jobs", 1, "--json", tmp_path / "report.json")
        report = json.loads((tmp_path / "report.json").read_text())
        assert (ended.status, report["steps"]["judged"]["steps"]) == (0, 40)
        reports.append((report["evidence"], report["steps"]))
    assert reports[0] == reports[1] == reports[2]


def header(**fields):
    def change(folder):
        file = folder / "header.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | fields))

    return change


USELESS = {
    "no rule of ours": (header(rule="tokens"), "rule 'tokens', expected one of token, block"),
    "no such type": (header(dtype="int8"), "dtype 'int8', expected one of"),
    "another version": (header(version=9), "version 9, expected 1"),
    "another engine": (header(engine="x"), f"{SHARD}: of another recording than header.json"),
    "no JSON": (lambda folder: (folder / "header.json").write_text("{"), "header.json"),
    "no header": (
        lambda folder: (folder / "header.json").unlink(),
        "no header.json in it; expected recorded steps, or a file of JSON lines",
    ),
    "no shard": (lambda folder: (folder / SHARD).unlink(), "no shard in it"),
    "its one shard cut short": (cut_short, f"no shard can be read: {SHARD}: cannot be read"),
}


@pytest.mark.parametrize("what", USELESS)
def test_a_recording_of_which_nothing_can_be_judged_is_one_line(what, tmp_path):
    change, says = USELESS[what]
    record(tmp_path, steps=10)
    change(tmp_path)
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
    for kill in (1, 3):
        before = len([*tmp_path.glob("steps-*")])
        with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path, str(kill)]) as child:
            while len([*tmp_path.glob("steps-*")]) < before + 3 * kill and child.poll() is None:
                time.sleep(0.001)
            child.kill()
        assert child.returncode == -signal.SIGKILL
    ended = run("steps", tmp_path, "--jobs", 1, "--json", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    shards = len([*tmp_path.glob("steps-*")])
    assert ended.status == 0 and not report["findings"] and shards >= 12
    assert report["steps"]["judged"]["emitted"] == 5 * shards == 5 * report["steps"]["shards"]
