"""The recorder and its folder: what is chosen, dropped and lost, and what is said of a damaged recording."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import draftproof
from draftproof.models.errors import InputError
from draftproof.models.json_files import schema
from draftproof.models.problem import load_problem
from draftproof.models.recorded_steps import Header, Recording, _ends, parts
from draftproof.recording import Recorder, recorded
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.tests.reports.commands.in_process import draftproof as run

from .recordings import record, softmax, verifier


def test_a_step_is_read_back_as_it_was_recorded(tmp_path):
    rng = np.random.default_rng(1)
    target, draft = softmax(rng.normal(size=(3, 40))), softmax(rng.normal(size=(2, 40)))
    with Recorder(tmp_path, 40, listed=8, dtype="float64") as recorder:
        recorder.step(target, [5, 6], [5, 39], draft, request=7, place=3, slot=2)
        recorder.step(target[:1], [], [1], request=7)
    recording = Recording.open(tmp_path)
    shard = recording.read(recording.shards[0])
    [part] = parts(shard, recording.header)
    steps = part.steps
    assert steps.tokens[0].tolist() == [5, 6] and steps.emitted.tolist() == [1, 0] and steps.last.tolist() == [39, 1]
    assert steps.p[0] == pytest.approx([target[0, 5], target[1, 6]]) and steps.q[0] == pytest.approx(
        [draft[0, 5], draft[1, 6]]
    )
    listed = steps.rows.ids[0, 0]
    assert set(np.argsort(-np.maximum(target[0], draft[0]))[:8]) <= set(listed[listed >= 0])
    assert steps.rows.target.sum(-1)[0] + steps.rows.rest_target.sum(-1)[0] == pytest.approx(1)
    assert [shard.arrays[name].tolist() for name in ("request", "place", "slot")] == [[7, 7], [3, 0], [2, -1]]


def test_the_schema_of_the_header_is_that_of_its_type():
    kept = Path(draftproof.__file__).parent / "docs" / "schemas" / "recorded-steps.schema.json"
    assert json.loads(kept.read_text()) == schema(Header, "header of recorded steps")


def test_steps_are_chosen_by_a_counter_and_never_by_content(tmp_path):
    recorder = Recorder(tmp_path / "a", 10, one_of=20, seed=5)
    chosen = [recorder.chosen() for _ in range(4000)]
    again = Recorder(tmp_path / "b", 10, one_of=20, seed=5)
    assert chosen == [again.chosen() for _ in range(4000)] and 140 < sum(chosen) < 260
    for one in (recorder, again):
        one.close()
    assert not recorder.chosen()


def test_a_recorder_never_raises_and_counts_what_it_loses(tmp_path):
    recorder = Recorder(tmp_path, 10)
    recorder.step("no rows", [1], [1])
    recorder.step(np.ones((1, 11)) / 11, [], [1])
    recorder.step(np.ones((2, 10)) / 10, [99], [1])
    recorder.step(np.ones((1, 10)) / 10, [], [3])
    recorder.close()
    recorder.step(np.ones((1, 10)) / 10, [], [3])
    assert (recorder.failed, recorder.recorded) == (3, 1) and recorder.error
    assert "recording-failed" in audit_steps(tmp_path).findings


def test_two_recorders_in_one_folder_write_over_nothing(tmp_path):
    one, other = Recorder(tmp_path, 10), Recorder(tmp_path, 10)
    for recorder in (one, other):
        recorder.step(np.ones((1, 10)) / 10, [], [3])
        recorder.close()
    assert len(Recording.open(tmp_path).shards) == 2
    with pytest.raises(ValueError, match="dtype 'bf16', expected one of float64"):
        Recorder(tmp_path / "a", 10, dtype="bf16")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.01])
def test_an_entry_that_is_no_probability_is_kept_and_named(wrong, tmp_path):
    rows = np.full((1, 40), 0.025)
    rows[0, 7] = wrong  # of no drafted token, and none of the four that are listed
    with Recorder(tmp_path, 40, listed=4) as recorder:
        recorder.step(rows, [], [3])
    assert "a row of the target sums to " in audit_steps(tmp_path, "unknown").findings["unreadable"]


def test_steps_are_dropped_where_the_thread_falls_behind(tmp_path):
    recorder = Recorder(tmp_path, 50_000)
    rows = np.full((3, 50_000), 1 / 50_000)
    for _ in range(400):
        recorder.step(rows, [1, 2], [1, 2, 3])
    recorder.close()
    assert recorder.dropped > 0 and recorder.recorded + recorder.dropped == 400
    assert (
        f"{recorder.dropped:,} steps that the recorder had no time for" in audit_steps(tmp_path, "unknown").not_examined
    )


def test_a_verifier_of_the_plain_convention_records_itself(tmp_path):
    rng = np.random.default_rng(0)
    verify = recorded(verifier("M11"), tmp_path, rule="token")
    for _ in range(60):
        logits = rng.normal(size=(3, 50)) * 2
        target, draft = softmax(logits), softmax(logits[:2] + rng.normal(size=(2, 50)))
        tokens = [int(rng.choice(50, p=row)) for row in draft]
        verify(target, draft, tokens, rng)
    verify.close()
    assert verify.__wrapped__ is verifier("M11")
    report = audit_steps(tmp_path)
    assert report.verdict == "refuted" and report.steps["behaves_like"][0]["name"] == "M11"


def test_torch_tensors_are_copied_before_the_engine_writes_to_them(tmp_path):
    torch = pytest.importorskip("torch")
    rows = torch.full((2, 8), 0.125)
    with Recorder(tmp_path, 8, dtype="bfloat16") as recorder:
        recorder.step(rows.bfloat16(), torch.tensor([3]), torch.tensor([3, 1]), rows[:1])
        rows.zero_()
    recording = Recording.open(tmp_path)
    [part] = parts(recording.read(recording.shards[0]), recording.header)
    assert part.steps.p[0, 0] == 0.125 == part.steps.q[0, 0]


def test_a_killed_process_leaves_whole_shards(tmp_path):
    code = (
        "import sys, numpy as np; from draftproof.recording import Recorder\n"
        "r = Recorder(sys.argv[1], 50, shard_steps=20); rows = np.full((1, 50), .02); print(flush=True)\n"
        "while True: r.step(rows, [], [1])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while len(list(tmp_path.glob("steps-*.safetensors"))) < 3:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
    report = audit_steps(tmp_path, "unknown")
    assert report.steps["shards"] >= 3 and "unreadable" not in report.findings


def damaged(folder, how):
    shard = folder / "steps-000000.safetensors"
    header = folder / "header.json"
    if how == "cut short":
        shard.write_bytes(shard.read_bytes()[:-10])
    elif how == "of another":
        header.write_text(header.read_text().replace('"engine": ""', '"engine": "x"'))
    elif how == "no header":
        header.unlink()
    elif how == "no shard":
        shard.unlink()
    elif how == "version":
        header.write_text(header.read_text().replace('"version": 1', '"version": 9'))
    elif how == "no JSON":
        header.write_text("{")
    elif how == "rule":
        header.write_text(header.read_text().replace('"rule": "token"', '"rule": "tokens"'))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("cut short", "no shard can be read: steps-000000.safetensors: cannot be read"),
        ("of another", "steps-000000.safetensors: of another recording than header.json"),
        ("no header", "no header.json in it; expected recorded steps, or a file of JSON lines"),
        ("no shard", "no shard in it"),
        ("version", "version 9, expected 1"),
        ("no JSON", "header.json"),
        ("rule", "rule 'tokens', expected one of token, block"),
    ],
)
def test_a_damaged_recording_is_one_line(how, says, tmp_path):
    record(tmp_path, steps=10)
    damaged(tmp_path, how)
    with pytest.raises(InputError) as error:
        audit_steps(tmp_path)
    assert says in str(error.value) and "\n" not in str(error.value)


def rewritten(folder, change):
    """Change the arrays of the first shard."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    shard = folder / "steps-000000.safetensors"
    with safe_open(shard, "numpy") as file:
        arrays, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    change(arrays)
    save_file(arrays, shard, about)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda a: a.pop("ids"), "no array 'ids'"),
        (lambda a: a["draft_tokens"].__setitem__(0, 10**6), "draft_tokens has the token 1000000, expected 0..299"),
        (lambda a: a.update(emitted_offsets=a["emitted_offsets"] * 0), "emitted has"),
        (lambda a: a["draft_offsets"].__setitem__(1, 10**6), "draft_offsets does not rise"),
        (lambda a: a["settings"].__setitem__(0, 3), "settings number 3, expected -1..-1"),
        (lambda a: a.update(ids=(a["ids"] + 1) % 300), "a row does not list the step's own tokens"),
    ],
)
def test_a_damaged_shard_is_named_and_the_others_are_judged(change, says, tmp_path):
    record(tmp_path, steps=40, shard_steps=20)
    rewritten(tmp_path, change)
    report = audit_steps(tmp_path)
    assert report.steps["shards"] == 1 and report.steps["judged"]["steps"] == 20
    assert says in report.findings["unreadable"] and "steps-000000.safetensors" in report.findings["unreadable"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"temperature": "0.7"}, "temperature is '0.7', expected a number"), ({"logit_bias": [1]}, "logit_bias is [1]")],
)
def test_settings_of_another_form_are_one_line(settings, says, tmp_path):
    record(tmp_path, steps=5, settings=settings)
    with pytest.raises(InputError) as error:
        audit_steps(tmp_path)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_step_that_emits_more_than_it_may_is_named(tmp_path):
    record(tmp_path, "M47", steps=200)
    with pytest.raises(InputError, match="emitted 5 tokens of 3 drafted, expected one more at most"):
        audit_steps(tmp_path)


def test_rows_that_do_not_sum_to_one_are_named_and_left_out(tmp_path):
    def fault(step):
        step.target = step.target * 1.1

    record(tmp_path, steps=30, fault=fault)
    report = audit_steps(tmp_path)
    assert report.steps["left_out"] == {"a row that does not sum to 1; their other rows are judged": 30}
    assert "a row of the target sums to 1.1" in report.findings["unreadable"]


@pytest.mark.parametrize("entry", [np.nan, -0.1])
def test_an_entry_that_is_no_probability_is_named_and_its_step_left_out(entry, tmp_path):
    record(tmp_path, steps=30)
    rewritten(tmp_path, lambda arrays: arrays["target"].__setitem__(0, entry))
    report = audit_steps(tmp_path)
    assert report.steps["judged"]["steps"] == 29
    assert "steps-000000.safetensors, step 0: a row of the target sums to nan" in report.findings["unreadable"]


def test_tokens_that_were_kept_and_not_drafted_are_refuted(tmp_path):
    record(tmp_path, lambda target, draft, tokens, rng: [(tokens[0] + 1) % 300, 1], steps=5)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted and evidence.witness.why == "kept tokens that were not drafted"


def test_an_id_outside_the_vocabulary_is_refuted(tmp_path):
    record(tmp_path, lambda target, draft, tokens, rng: [tokens[0], 300], steps=5)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted and evidence.witness.why == "emitted an id outside the vocabulary"


def test_greedy_requests_are_judged_by_the_most_probable_token(tmp_path):
    def greedy(target, draft, tokens, rng):
        out = []
        for row, token in zip(target, [*tokens, -1]):
            out.append(int(row.argmax()))
            if out[-1] != token:
                break
        return out

    record(tmp_path / "right", greedy, steps=50, settings={"temperature": 0})
    assert not any(e.refuted for e in audit_steps(tmp_path / "right").evidence)
    record(tmp_path / "wrong", "C10", steps=50, settings={"temperature": 0})
    report = audit_steps(tmp_path / "wrong")
    assert report.verdict == "refuted" and report.steps["judged"]["greedy"] == 50


@pytest.mark.parametrize(
    ("request_", "place", "ends"),
    [
        ([0, 0, 0], [5, 9, 3], [False, True, True]),
        ([0, 1, 0], [5, 5, 7], [False, True, True]),
        ([0, 0, 0], [5, 5, 5], [False, False, True]),
        ([0, 0], [0, 0], [False, False]),
    ],
)
def test_a_request_may_end_with_a_step_after_which_no_place_of_it_follows(request_, place, ends):
    assert _ends({"request": np.array(request_), "place": np.array(place)}).tolist() == ends


def test_the_command_judges_and_shows_the_gain(tmp_path, monkeypatch):
    record(tmp_path / "steps", "M51", steps=150, gamma=2)
    monkeypatch.chdir(tmp_path)
    wrong = run("steps", "steps", "--jobs", 1, "--json", "out.json", "--html", "out.html", "--junit", "out.xml")
    assert wrong.status == 1 and "behaves like: last token from the row before" in " ".join(wrong.out.split())
    assert json.loads((tmp_path / "out.json").read_text())["verdict"] == "refuted"
    page = (tmp_path / "out.html").read_text()
    assert "What each rule would accept" in page and page.count("<svg") >= 4
    gain = run("steps", "steps", "--gain", "--jobs", 1)
    assert gain.status == 0 and Counter(gain.out.split())["greedy-block"] >= 1
    none = run("steps", ".")
    assert (none.status, none.err.count("\n")) == (2, 1) and "no header.json" in none.err


def test_the_step_that_refutes_is_written_as_a_problem(tmp_path):
    record(tmp_path / "wrong", "M11", steps=40, gamma=2)
    record(tmp_path / "right", steps=40, gamma=2)

    def judged(folder):
        return run("steps", str(tmp_path / folder), "--witness", str(tmp_path / f"{folder}.json"))

    assert judged("wrong").status == 1
    problem = load_problem(str(tmp_path / "wrong.json"))
    assert problem.vocabulary <= 4 and problem.gamma <= 2
    right = judged("right")
    assert right.status == 0 and not (tmp_path / "right.json").exists() and "no step of a chain refutes" in right.out


KEPT = Path(draftproof.__file__).parent / "examples" / "recorded"


@pytest.mark.skipif(not KEPT.exists(), reason="the examples are not in the wheel")
def test_the_kept_recordings_are_refuted_as_published_and_not_repaired():
    published, repaired = (audit_steps(KEPT / f"vllm-{name}") for name in ("as-published", "repaired"))
    assert [e.claim for e in published.evidence if e.refuted] == ["rows"]
    assert not [e for e in repaired.evidence if e.refuted] and repaired.steps["judged"]["rows"] > 1000
    assert sum(file.stat().st_size for file in KEPT.rglob("*")) < 2e6


def test_one_step_that_cannot_be_written_costs_no_other(tmp_path):
    rows = np.full((2, 10), 0.1)
    recorder = Recorder(tmp_path, 10)
    recorder.step(rows, [1], [1, 2], rows[:1])
    recorder.step(rows, [1], [2], rows)
    recorder.step(rows, [1], [2], rows[:1], parents=[1])
    recorder.step(rows, [1], [2], rows[:1], logits=rows[:1])
    recorder.step(rows, [1], [2], rows[:1], uniforms=[0.5, 0.5])
    recorder.step(rows, [1], [1, 2], rows[:1], logprobs=[-1.0])
    recorder.step(rows, [1], [2], rows[:1], settings={"rows": rows})
    recorder.step(rows, [1], [2], rows[:1], request="first")
    recorder.close()
    assert (recorder.failed, recorder.recorded) == (7, 1) and recorder.error.startswith("ValueError: draft")
    [shard] = Recording.open(tmp_path).shards
    assert Recording.open(tmp_path).read(shard).steps == 1


def test_steps_of_a_shard_that_cannot_be_written_are_counted_as_failed(tmp_path):
    recorder = Recorder(tmp_path, 10, shard_steps=3)
    recorder.folder = tmp_path / "taken away"
    for _ in range(3):
        recorder.step(np.full((1, 10), 0.1), [], [3])
    recorder.close()
    assert (recorder.failed, recorder.recorded) == (3, 0) and recorder.error


def test_padding_behind_the_drafted_tokens_is_left_out_with_its_rows(tmp_path):
    rng = np.random.default_rng(1)
    target, draft = softmax(rng.normal(size=(4, 40))), softmax(rng.normal(size=(3, 40)))
    with Recorder(tmp_path, 40, dtype="float64") as recorder:
        recorder.step(target, [5, -1, 7], [5, 39, -1, -1], draft, logits=np.log(target))
    recording = Recording.open(tmp_path)
    [part] = parts(recording.read(recording.shards[0]), recording.header)
    assert (part.steps.lengths.tolist(), part.steps.emitted.tolist(), recorder.failed) == ([1], [1], 0)
