"""Recorded steps over nights: each shard counts once, what changed is named, and a wrong engine raises the alarm."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest

from draftproof.models.recorded_steps import Recording
from draftproof.reports.audits.nightly import recorded
from draftproof.reports.audits.nightly.history import History
from draftproof.reports.audits.nightly.recorded import judge_night
from draftproof.reports.audits.nightly.steps_checks import StepsCheck, _check, steps_checks
from draftproof.reports.audits.settings import silent
from draftproof.reports.audits.steps.judge import RecordingJudge
from draftproof.reports.audits.steps.progress import found_in, judge_all
from draftproof.stattests.eprocess import BettingNights, unspent
from draftproof.stattests.power import log_mean_exp
from draftproof.tests.reports.audits.steps.recordings import record
from draftproof.tests.reports.commands.in_process import draftproof as run

pytestmark = pytest.mark.needs("sqlalchemy")

NIGHTS = [f"2026-01-{day:02}" for day in range(1, 29)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Six shards of a right engine, then three of one that draws replacements from the target."""
    folder = tmp_path_factory.mktemp("recorded") / "steps"
    record(folder, steps=180, shard_steps=30)
    record(folder, "M11", steps=90, shard_steps=30, seed=1)
    return folder


class Nights:
    """A folder that grows, and its history."""

    def __init__(self, whole, place):
        self.whole, self.folder, self.db = whole, place / "steps", str(place / "nights.sqlite")
        self.folder.mkdir()
        shutil.copy(whole / "header.json", self.folder)

    def night(self, number, *shards):
        for shard in shards:
            shutil.copy(self.whole / f"steps-{shard:06}.safetensors", self.folder)
        return run("nightly", "run", f"steps:{self.folder}", "--db", self.db, "--night", NIGHTS[number],
                   "--json", self.folder.parent / "out.json", "--html", self.folder.parent / "out.html")  # fmt: skip

    @property
    def report(self):
        return json.loads((self.folder.parent / "out.json").read_text())


def test_new_shards_are_judged_once_and_an_alarm_is_explained(whole, tmp_path):
    nights = Nights(whole, tmp_path)
    assert nights.night(0, 0, 1, 2).status == 0
    assert [c["check"] for c in nights.report["checks"]] == ["follows-rule", "lossless", "drafts"]
    assert [c["draws"] for c in nights.report["checks"]][::2] == [90, 270]
    first = nights.report["checks"]
    assert nights.night(1).status == 0 and [c["log_e"] for c in nights.report["checks"]] == [c["log_e"] for c in first]
    assert nights.night(2, 3, 4, 5).status == 0 and nights.report["checks"][0]["draws"] == 180
    assert f"steps recorded in {nights.folder} (rule: token)" in nights.report["scope"]
    wrong = nights.night(3, 6, 7, 8)
    check = nights.report["checks"][0]
    assert wrong.status == 1 and check["state"] == "alarm" and check["alarm_since"] == NIGHTS[3]
    assert [night["night"] for night in check["nights"]] == [NIGHTS[0], NIGHTS[2], NIGHTS[3]]
    assert check["witness"]["problem"] and check["witness"]["replay"] == f"draftproof steps {nights.folder}"
    page = (tmp_path / "out.html").read_text()
    assert "What the recorded steps show" in page and "ALARM" in wrong.out
    assert nights.night(4).status == 1, "an alarm stays"
    assert run("nightly", "status", "--db", nights.db).status == 1


def test_what_a_killed_night_recorded_is_not_judged_again(whole, tmp_path, monkeypatch):
    nights, calls, original = Nights(whole, tmp_path), [], History.record

    def killed(*arguments):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(History, "record", killed)
        assert nights.night(0, 0, 1, 2).status == 130
    assert nights.night(0).status == 0
    after = nights.report["checks"]
    (tmp_path / "other").mkdir()
    other = Nights(whole, tmp_path / "other")
    other.night(0, 0, 1, 2)
    assert [(c["log_e"], c["draws"]) for c in after] == [(c["log_e"], c["draws"]) for c in other.report["checks"]]


def test_shards_that_changed_or_are_gone_or_cannot_be_read_are_named(whole, tmp_path):
    nights = Nights(whole, tmp_path)
    nights.night(0, 0, 1, 2)
    before = nights.report["checks"]
    (nights.folder / "steps-000000.safetensors").unlink()
    gone = nights.night(1)
    assert gone.status == 0 and "steps-000000.safetensors was judged and is missing; its results stay" in gone.out
    shutil.copy(whole / "steps-000007.safetensors", nights.folder / "steps-000001.safetensors")
    shard = shutil.copy(whole / "steps-000003.safetensors", nights.folder / "steps-000003.safetensors")
    shard.write_bytes(shard.read_bytes()[:-1])
    named = nights.night(2)
    assert named.status == 3
    assert "steps-000001.safetensors changed since it was judged; its steps do not count twice" in named.out
    assert "steps-000003.safetensors: cannot be read" in named.out
    assert [c["log_e"] for c in nights.report["checks"]] == [c["log_e"] for c in before]
    assert nights.night(3, 3).status == 3 and nights.report["checks"][0]["draws"] == 120, "it is read once it is whole"


def test_a_copy_of_a_shard_does_not_count_twice(whole, tmp_path):
    nights = Nights(whole, tmp_path)
    nights.night(0, 0)
    shutil.copy(nights.folder / "steps-000000.safetensors", nights.folder / "steps-000001.safetensors")
    nights.night(1)
    assert nights.report["checks"][0]["draws"] == 30


def test_a_folder_that_is_no_recording_is_one_line(tmp_path):
    ended = run("nightly", "run", f"steps:{tmp_path}", "--db", tmp_path / "nights.sqlite")
    assert (ended.status, len(ended.lines)) == (2, 1) and "no header.json in it" in ended.err


class OfAnOlderVersion(StepsCheck):
    """A check whose bets are the first of those that are made now."""

    def counts(self, found):
        every = super().counts(found)
        return every._replace(counts=every.counts[: len(self.gamblers)])


def older_checks(recording):
    bets = [(check.name, check.gamblers[:20]) for check in steps_checks(recording)]
    return [OfAnOlderVersion(*_check(recording, name, some, np.full(20, 1 / 20))) for name, some in bets]


def test_a_history_of_a_version_with_fewer_bets_is_kept_and_its_alarm_stays(whole, tmp_path, monkeypatch):
    nights = Nights(whole, tmp_path)
    with monkeypatch.context() as older:
        older.setattr(recorded, "steps_checks", older_checks)
        assert nights.night(0, 0, 6, 7, 8).status == 1
    before = nights.report["checks"]
    assert [c["state"] for c in before] == ["alarm", "quiet", "quiet"]
    (nights.folder / "steps-000008.safetensors").unlink()
    assert nights.night(1, 1).status == 1, "the alarm stays"
    after = nights.report["checks"]
    assert after[:3] == before
    assert [c["cohort"] for c in after] == [1, 1, 1, 2, 2, 2] and after[3]["draws"] == 120


@pytest.mark.parametrize(
    ("rule", "claims"),
    [
        ("token", ["follows-rule", "lossless", "drafts"]),
        ("greedy-block", ["follows-rule", "drafts"]),
        ("unknown", ["lossless", "drafts"]),
    ],
)
def test_a_rule_that_is_not_claimed_is_not_guessed(rule, claims, tmp_path):
    record(tmp_path, steps=5, rule=rule)
    assert [check.name for check in steps_checks(Recording.open(tmp_path))] == claims


def test_the_bets_of_one_night_are_those_of_the_audit(tmp_path):
    record(tmp_path, steps=90, shard_steps=30)
    recording = Recording.open(tmp_path)
    judge = judge_all(RecordingJudge(recording))
    tokens = [log_mean_exp(np.array([f.log_evidence for f in p.fortunes])) for p in (judge.texts, judge.drafts)]
    for check, evidence in zip(steps_checks(recording), (judge.steps.fortune.log_evidence, *tokens), strict=True):
        process = check.process()
        for path in recording.shards:
            check.counts(found_in(recording, "token", 0, path)).add_to(process)
        one = np.exp(process.log_e) - unspent(1)
        assert np.log(one / (1 - unspent(1))) == pytest.approx(evidence, abs=1e-6)
        assert process.as_json() == check.process(process.as_json()).as_json()


def test_bets_have_a_fresh_start_every_night():
    process = BettingNights(np.array([0.5, 0.5]))
    for _ in range(30):
        process.open_night()
        process.add(np.array([-3.0, -np.inf]))
    assert process.log_e < 0
    process.open_night()
    process.add(np.array([30.0, 0.0]))
    assert process.log_e > 20, "thirty nights of losses are not paid for"
    process.add(np.zeros(2), impossible=1)
    assert process.log_e == np.inf
    assert BettingNights.from_json(np.array([0.5, 0.5]), process.as_json()).log_e == np.inf


def test_nights_of_fair_bets_do_not_win():
    rng, high = np.random.default_rng(0), 0
    for _ in range(300):
        process, peak = BettingNights(np.full(3, 1 / 3)), 0.0
        for _ in range(10):
            process.open_night()
            x = rng.random(20)
            process.add(np.array([np.log(np.where(x < 0.5, 1 + d, 1 - d)).sum() for d in (0.1, 0.4, 0.8)]))
            peak = max(peak, process.log_e)
        high += peak >= np.log(20)
    assert high <= 300 * 0.05 + 4 * (300 * 0.05) ** 0.5


def test_what_is_read_of_a_shard_is_judged_by_the_rule_of_the_header(whole, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(recorded, "found_in", lambda *arguments: asked.append(arguments[1]) or found_in(*arguments))
    with closing(History.begin(str(tmp_path / "nights.sqlite"))) as history:
        judge_night(history, f"steps:{whole}", NIGHTS[0], silent, [])
    assert set(asked) == {"token"}
