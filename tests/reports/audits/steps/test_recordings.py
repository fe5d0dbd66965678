"""The recorder and its folder: what is chosen, dropped and lost, and what is said of a damaged recording."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import draftproof
from draftproof.models.errors import InputError
from draftproof.models.json_files import schema
from draftproof.models.recorded_steps import Header, Recording, _ends, parts
from draftproof.recording import Recorder, recorded
from draftproof.reports.audits.steps.run import audit_steps
from draftproof.tests.refusals import one_line
from draftproof.tests.reports.commands.in_process import draftproof as run

from .recordings import greedy, record, softmax, verifier


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


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"temperature": "0.7"}, "temperature is '0.7', expected a number"), ({"logit_bias": [1]}, "logit_bias is [1]")],
)
def test_settings_of_another_form_are_one_line(settings, says, tmp_path):
    record(tmp_path, steps=5, settings=settings)
    assert says in one_line(audit_steps, tmp_path)


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


def test_tokens_that_were_kept_and_not_drafted_are_refuted(tmp_path):
    record(tmp_path, lambda target, draft, tokens, rng: [(tokens[0] + 1) % 300, 1], steps=5)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted and evidence.witness.why == "kept tokens that were not drafted"


def test_an_id_outside_the_vocabulary_is_refuted(tmp_path):
    record(tmp_path, lambda target, draft, tokens, rng: [tokens[0], 300], steps=5)
    [evidence] = [e for e in audit_steps(tmp_path).evidence if e.claim == "follows-rule"]
    assert evidence.refuted and evidence.witness.why == "emitted an id outside the vocabulary"


def test_greedy_requests_are_judged_by_the_most_probable_token(tmp_path):
    record(tmp_path / "right", greedy(), steps=50, settings={"temperature": 0})
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


KEPT = Path(draftproof.__file__).parent / "examples" / "recorded"


@pytest.mark.skipif(not KEPT.exists(), reason="the examples are not in the wheel")
def test_the_kept_recordings_are_refuted_as_published_and_not_repaired():
    published, repaired = (audit_steps(KEPT / f"vllm-{name}") for name in ("as-published", "repaired"))
    assert [e.claim for e in published.evidence if e.refuted] == ["rows"]
    assert not [e for e in repaired.evidence if e.refuted] and repaired.steps["judged"]["rows"] > 1000
    assert sum(file.stat().st_size for file in KEPT.rglob("*")) < 2e6


def test_steps_that_cannot_be_written_are_counted_raise_nothing_and_cost_no_other(tmp_path):
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
    recorder.step("no rows", [1], [1])
    recorder.step(np.ones((1, 11)) / 11, [], [1])
    recorder.step(rows, [99], [1])
    recorder.close()
    recorder.step(rows[:1], [], [3])
    assert (recorder.failed, recorder.recorded) == (10, 1) and recorder.error.startswith("ValueError: draft")
    [shard] = Recording.open(tmp_path).shards
    assert Recording.open(tmp_path).read(shard).steps == 1
    assert "recording-failed" in audit_steps(tmp_path, "unknown").findings


def test_padding_behind_the_drafted_tokens_is_left_out_with_its_rows(tmp_path):
    rng = np.random.default_rng(1)
    target, draft = softmax(rng.normal(size=(4, 40))), softmax(rng.normal(size=(3, 40)))
    with Recorder(tmp_path, 40, dtype="float64") as recorder:
        recorder.step(target, [5, -1, 7], [5, 39, -1, -1], draft, logits=np.log(target))
    recording = Recording.open(tmp_path)
    [part] = parts(recording.read(recording.shards[0]), recording.header)
    assert (part.steps.lengths.tolist(), part.steps.emitted.tolist(), recorder.failed) == ([1], [1], 0)
