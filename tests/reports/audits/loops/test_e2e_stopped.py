"""What stops an end-to-end run, what is in the report then, and bad input in one line."""

import itertools
import json

import pytest
import torch

from draftproof.models.errors import RunFailed
from draftproof.reports.audits.loops import forged_law, session
from draftproof.reports.audits.loops.block_inputs import BlockInputs
from draftproof.reports.audits.loops.drift import DriftMeasurement
from draftproof.reports.audits.loops.options import LoopOptions
from draftproof.reports.audits.loops.session import LoopSession
from draftproof.reports.audits.loops.written_texts import WrittenTexts
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.loops.e2e_parts import briefly, command, examined, words_of
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects.wrong_loops import wrong_loop

pytestmark = pytest.mark.needs("transformers")

engine = pytest.mark.engine
brief = pytest.fixture(autouse=True)(briefly)


def after(calls, error):
    """A method that raises at one of its calls."""

    def wrapped(method):
        count = [0]

        def called(self, *arguments, **named):
            count[0] += 1
            if count[0] > calls:
                raise error
            return method(self, *arguments, **named)

        return called

    return wrapped


LOOPS = "draftproof.tests.subjects.wrong_loops"
OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 2 GiB\nand more"


@engine
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [(torch.cuda.OutOfMemoryError(OUT_OF_MEMORY), 3, "memory"), (KeyboardInterrupt(), 130, "interrupted")],
    ids=["gpu", "ctrl-c"],
)
def test_what_was_measured_before_a_run_was_stopped_is_in_the_report(
    trained, monkeypatch, tmp_path, error, status, kind
):
    monkeypatch.setattr(WrittenTexts, "take", after(20, error)(WrittenTexts.take))
    file = tmp_path / "report.json"
    done, out, err = command(*words_of(trained), "--json", file)
    assert done == status, out
    report = json.loads(file.read_text())
    validate(report)
    assert (report["verdict"], report["failure"]["kind"]) == ("error", kind)
    assert "\n" not in report["failure"]["message"]
    methods = {(item["claim"], item["method"]): item for item in report["evidence"]}
    assert ("rows", "reading") in methods
    assert methods["lossless", "betting"]["detail"]["texts"] == 20
    assert report["block_efficiency"] is None
    if kind == "interrupted":
        said = f"draftproof: interrupted after {len(methods) + 2} findings (none refutes); they are in {file}"
        assert err.strip().splitlines()[-1] == said


@engine
def test_counts_that_were_cut_short_refute_only_what_is_impossible(forged, monkeypatch):
    run = forged_law.TextCounts.run

    def interrupted(self):
        monkeypatch.setattr(LoopSession, "decode", after(1, KeyboardInterrupt())(LoopSession.decode))
        run(self)

    monkeypatch.setattr(forged_law.TextCounts, "run", interrupted)
    monkeypatch.setattr(forged_law, "COUNTED_ROWS", 500)
    monkeypatch.setattr(forged_law.TextCounts, "samples", 10_000, raising=False)
    report = examined(forged, **wrong_loop("L12"))
    assert report.failure["kind"] == "interrupted"
    law = [item for item in report.evidence if item.method == "chi-square"]
    assert [item.verdict for item in law] == ["no-evidence"]
    assert law[0].bound is None


@pytest.mark.parametrize(
    ("clock", "processor", "spent"),
    [(100.0, 100.0, 100.0), (700.0, 100.0, 100.0), (1000.0, 0.0, 100.0), (100.0, 400.0, 100.0)],
    ids=["idle", "busy", "waiting", "threads"],
)
def test_a_busy_machine_does_not_end_a_run(monkeypatch, clock, processor, spent):
    """Seconds of processor time count, of several threads those by the clock, and one in ten of those in any case."""
    given = LoopSession.__new__(LoopSession)
    given.began = given.used = 0.0
    monkeypatch.setattr(session, "monotonic", lambda: clock)
    monkeypatch.setattr(session, "process_time", lambda: processor)
    assert given.spent == spent


@engine
def test_a_run_whose_time_ends_among_its_texts_says_what_it_has_with_a_wider_limit(trained, monkeypatch):
    """A clock that goes on by 10 ms at every look, of which each iteration and each draft token takes one."""
    report = {}
    for samples, timeout in ((24, 1000.0), (100_000, 4.0)):
        looks = itertools.count(0, 0.01)
        monkeypatch.setattr(session, "monotonic", lambda looks=looks: next(looks))
        monkeypatch.setattr(session, "process_time", itertools.count(0, 1000).__next__)
        report[samples] = examined(trained, samples=samples, timeout=timeout)
        assert next(looks) < 1.02 * timeout
        assert (report[samples].failure, report[samples].verdict) == (None, "inconclusive")
    bets = {n: next(e for e in r.evidence if (e.claim, e.method) == ("lossless", "betting")) for n, r in report.items()}
    assert 0 < bets[100_000].detail.texts < 24 == bets[24].detail.texts
    assert bets[100_000].bound > bets[24].bound
    said = report[100_000].findings
    assert f"{bets[100_000].detail.texts} of 100000 outputs" in said["fewer texts"]
    assert set(said) - set(report[24].findings) <= {"fewer texts", "fewer repeats"}
    assert "fewer texts" not in report[24].findings


LACKED = {
    "drift, and all that needs it": (DriftMeasurement, False), "rows, texts, wall clock": (BlockInputs, True),
    "texts, wall clock": (WrittenTexts, False),
}  # fmt: skip
"""What a run says it lacked: the part in which its time ends, and whether that was done."""


@engine
@pytest.mark.parametrize("lacked", LACKED)
def test_a_run_whose_time_ends_before_its_texts_is_inconclusive_and_says_what_it_lacked(
    trained, monkeypatch, tmp_path, lacked
):
    """The clock stops the run before its first text is whole: what holds until then clears nothing."""
    part, done = LACKED[lacked]
    run, over, past = part.run, [], LoopSession.past

    def out_of_time(self):
        if done:
            run(self)
        over.append(True)
        self.session.check_time()

    monkeypatch.setattr(part, "run", out_of_time)
    monkeypatch.setattr(LoopSession, "past", lambda self, share: bool(over) or past(self, share))
    file = tmp_path / "report.json"
    decision = [] if part is DriftMeasurement else ["--require-decision"]  # nothing at all is never status 0
    status, out, _ = command(*words_of(trained), "--json", file, *decision)
    report = json.loads(file.read_text())
    validate(report)
    assert (status, report["verdict"], report["failure"]) == (4, "inconclusive", None), out
    verdicts = {item["verdict"] for item in report["evidence"] if item["method"] != "betting"}
    assert verdicts == ({"holds"} if part is not DriftMeasurement else set())
    said = next(f["text"] for f in report["findings"] if f["kind"] == "out of time")
    assert said == f"not done within 600 s (--timeout); not examined, or in part: {lacked}"
    assert said in " ".join(out.split())
    assert verdicts or report["not_examined"] == ["anything: there is no evidence"]
    assert Report.from_json(report).verdict == "inconclusive"


@engine
def test_drift_is_measured_on_as_many_texts_as_there_is_time_for():
    given = session.LoopSession.__new__(session.LoopSession)
    given.options = LoopOptions(target="a", draft="b", timeout=60.0)
    part = DriftMeasurement(given)
    assert [part.affordable(4, seconds, True) for seconds in (0.0, 1.0, 2.5, 60.0)] == [4, 4, 3, 2]


@engine
def test_the_clock_is_looked_at_before_each_draft_token(forged, monkeypatch):
    run = session.open_session(LoopOptions(**{**forged, "gamma": "64", "timeout": 60.0}))
    seconds = iter(range(int(run.began), int(run.began) + 10_000, 20))  # each look finds 20 s gone
    monkeypatch.setattr(session, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(session, "process_time", itertools.count(run.used, 1000).__next__)
    with pytest.raises(RunFailed, match="not done within 60 s"):
        run.decode(run.batch(1), 1)
    drafted = (next(seconds) - int(run.began)) // 20
    assert drafted < 8


@engine
def test_an_interrupt_while_loading_leaves_no_file_and_claims_no_findings(trained, monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "load_pair", interrupted)
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("as before")
    done = command(*words_of(trained), "--json", new, "--html", old)
    assert (done.status, done.lines) == (130, ["draftproof: interrupted"])
    assert not new.exists()
    assert old.read_text() == "as before"


# ---------------------------------------------------------------- bad input


@engine
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "EMPTY"}, "not a checkpoint, it has no config.json; expected what save_pretrained writes"),
        ({"draft": "OTHER"}, "the tokenizers differ: id 0 is '<s>'"),
        ({"drafter": "3"}, "drafter 3: one of a preset's; expected --preset with it"),
        ({"json": "-", "html": "-"}, "standard output: named by both --json and --html; expected different files"),
        ({"new-tokens": "48"}, "tokens and 48 to come; expected at most 48, the context of"),
        ({"dtype": "int8"}, "dtype 'int8': expected one of float32, bfloat16, float16, float64"),
        ({"verifier": "lenient-token"}, "verifier 'lenient-token': expected lenient-token:L"),
        ({"loop": "nowhere.py:L99"}, "nowhere.py"),
        ({"loop": f"{LOOPS}:L99"}, "has no attribute 'L99'"),
        ({"loop": f"{LOOPS}:OneShort"}, "expected a subclass of draftproof.models.generating.loop.DecodingLoop"),
        ({"loop": f"{LOOPS}:L15"}, "expected a subclass of DecodingLoop for this"),
        ({"loop": f"{LOOPS}:L06", "verifier": "spec-infer", "paths": 2}, "expected a subclass of SeveralPaths"),
        ({"paths": 2}, "no rule for trees 'block'"),
        ({"verifier": "hierarchical", "paths": 2}, "expected a rule for 2 independent paths"),
        ({"eos": "100000"}, "eos 100000: expected a token, 0 to "),
        ({"prompts": "nowhere.jsonl"}, "nowhere.jsonl: no such prompts; expected a JSON Lines file or one of embedded"),
        (
            {"json": "nowhere/report.json"},
            "nowhere/report.json: cannot be written; expected a file in a folder that exists",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_bad_input_is_one_line_and_status_2(trained, forged, tmp_path, options, message):
    places = {"EMPTY": str(tmp_path), "OTHER": forged["draft"]}
    given = {**trained, **{name: places.get(value, value) for name, value in options.items()}}
    if "new-tokens" in options:
        given.pop("new_tokens")
    status, _, err = command(*words_of(given))
    assert status == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["--new-tokens", 0], ["--timeout", "nan"], ["--drafter", -1], ["--temperature", "hot"]], ids=str
)
def test_wrong_use_is_status_2(words):
    assert command("--target", "a", "--draft", "b", *words)[0] == 2
