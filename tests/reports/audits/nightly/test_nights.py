"""Planted regressions raise the alarm and clean code stays quiet; the command line."""

import json
import sys
from contextlib import closing
from itertools import takewhile

import numpy as np
import pytest

from draftproof.models.battery import drawn, toy
from draftproof.models.problem import as_json
from draftproof.reports.audits.nightly.checks import CheckCounts, check_of, nightly_problems
from draftproof.reports.audits.nightly.history import History
from draftproof.reports.audits.nightly.sources import ReferenceDraws
from draftproof.reports.audits.nightly.status import status
from draftproof.stattests.eprocess import EProcess
from draftproof.stattests.goodness import goodness_of_fit
from draftproof.tests.reports.audits.nightly.parts import RIGHT, WRONG, a_check, drawn_by, night_of
from draftproof.verifiers.registry import REFERENCES

pytestmark = pytest.mark.needs("sqlalchemy")


@pytest.mark.parametrize("name", ["token", "block", "block-stream", "greedy-block"])
def test_the_draws_of_every_reference_verifier_follow_the_law_of_their_check(name):
    source = ReferenceDraws(REFERENCES[name])
    for problem in nightly_problems():
        check = check_of(problem, source.modifies_target)
        counted = check.tally(source.draw(problem, 4000, 7), 7)
        assert counted.impossible is None
        law = dict(enumerate(check.law))
        assert goodness_of_fit(dict(enumerate(counted.counts.tolist())), law).p_value > 1e-6


def test_what_is_no_output_counts_as_impossible_and_is_named():
    check = check_of(toy(1), False)
    counted = check.tally({(0, 1): 5, (1,): 3, (0, 1, 1): 1, (7,): 1, "ValueError: no": 2}, 1)
    assert counted.counts.sum() == 12
    assert counted.counts[-1] == 4
    assert counted.impossible == ("ValueError: no", 2)
    problem = drawn(3, 1, "disjoint")
    excluded = next(t for t in range(3) if problem.target.row(())[t] == 0)
    counted = check_of(problem, False).tally({(excluded, 0): 1}, 1)
    assert (counted.counts[-1], counted.impossible) == (1, (f"{excluded},0", 1))


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    """The reports after the nights of a right version, a wrong one, and a right one again; its file is wrong again."""
    folder = tmp_path_factory.mktemp("regression")
    file = folder / "subject.py"
    with closing(History.begin(str(folder / "nights.sqlite"))) as history:
        reports = []
        for day, text in enumerate((RIGHT, WRONG, RIGHT), 1):
            file.write_text(text)
            reports.append(drawn_by(history, file, day))
    file.write_text(WRONG)
    return reports


def test_an_alarm_stays_until_another_version_comes(regression):
    assert [report["state"] for report in regression] == ["quiet", "alarm", "quiet"]
    assert [check["state"] for check in regression[-1]["checks"]] == ["quiet", "alarm"]


def test_a_new_version_that_is_wrong_raises_an_alarm_at_once_with_its_smallest_witness(regression):
    report = regression[1]
    old, new = report["checks"]
    assert old["version"] != new["version"]
    assert (old["state"], old["current"], new["state"], new["current"]) == ("quiet", False, "alarm", True)
    assert report["state"] == "alarm"
    assert new["alarm_since"] == night_of(2)
    witness = new["witness"]
    assert (witness["problem"]["vocabulary"], witness["problem"]["gamma"]) == (2, 1)
    seen, of = map(int, witness["observed"].split("/"))
    assert abs(seen / of - float(witness["expected"])) > 0.02
    assert witness["replay"].startswith("draftproof audit ")


def test_a_subject_that_ends_in_the_middle_of_a_night_keeps_what_was_recorded(history, file):
    file.write_text(
        "import os\nfrom pathlib import Path\n" + RIGHT + "    \n"
        "whole = verify\n"
        "def verify(target_probs, draft_probs, draft_tokens, rng):\n"
        "    len(draft_tokens) == 2 and os._exit(3)\n"
        "    return whole(target_probs, draft_probs, draft_tokens, rng)\n"
    )
    report = drawn_by(history, file, 1, samples=200, problems=[drawn(3, 1, "generic"), drawn(3, 2, "generic")])
    (failure,) = report["failures"]
    assert failure["subject"] == f"{file}:verify" and failure["kind"] == "crash"
    assert [check["draws"] for check in report["checks"]] == [200, 0]


def test_an_alarm_stays_though_clean_nights_take_its_evidence_away(history):
    check = a_check()
    (number,) = history.enrol("someone.py:f", "sha256:00", [check])
    rng = np.random.default_rng(5)
    broken = check.law.copy()
    broken[:2] += [0.03, -0.03]
    for day, law, draws in [(1, broken, 2500), *((day, check.law, 100_000) for day in range(2, 6))]:
        history.record(number, check, night_of(day), day, CheckCounts(rng.multinomial(draws, law), None))
        (now,) = status(history)["checks"]
        assert now["state"] == "alarm"
    assert now["log_e"] < now["alarm_at"] / 2
    assert now["largest_log_e"] >= now["alarm_at"]


def test_every_night_of_a_history_is_a_fresh_start(history):
    """What is recorded is the e-process with a start each night, which is another one than that of a single night."""
    check = a_check()
    (number,) = history.enrol("someone.py:f", "sha256:00", [check])
    fresh, single = EProcess(check.law), EProcess(check.law)
    rng = np.random.default_rng(6)
    for day in range(1, 5):
        fresh.open_night()
        for part in range(2):
            counts = rng.multinomial(500, check.law)
            recorded = history.record(number, check, night_of(day), 10 * day + part, CheckCounts(counts, None))
            fresh.add(counts)
            single.add(counts)
    assert recorded.log_e == pytest.approx(fresh.log_e, abs=1e-12)
    assert abs(fresh.log_e - single.log_e) > 0.01


def test_a_verifier_that_emits_the_impossible_is_in_alarm_after_one_draw(history, file):
    file.write_text("def verify(target_probs, draft_probs, draft_tokens, rng):\n    return [9]\n")
    (check,) = drawn_by(history, file, 1, samples=100)["checks"]
    assert (check["state"], check["log_e"]) == ("alarm", "inf")
    assert check["impossible"] == {"sequence": "9", "count": 100}
    assert check["witness"]["expected"] == "0"


def test_watch_comes_before_alarm_and_calms_down(history):
    check = a_check()
    (number,) = history.enrol("someone.py:f", "sha256:00", [check])
    rng = np.random.default_rng(3)
    broken = check.law.copy()
    broken[:2] += [0.012, -0.012]

    def after(law, day):
        history.record(number, check, night_of(day), day, CheckCounts(rng.multinomial(300, law), None))
        return status(history)["checks"][0]["state"]

    days = iter(range(1, 300))
    states = list(takewhile(lambda state: state == "quiet", (after(broken, day) for day in days)))
    assert len(states) < 200  # the state that ended them was taken too
    assert status(history)["checks"][0]["state"] == "watch"
    assert next((state for day in days if (state := after(check.law, day)) != "watch"), "never calm") == "quiet"


def test_without_sqlalchemy_it_says_what_to_install(nightly, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    assert nightly("status")[::2] == (2, "draftproof: sqlalchemy not found; install draftproof[nightly] (DP301)\n")


def test_a_night_from_the_command_line_its_status_and_an_alarm(tmp_path, file, nightly):
    on_toy = "--problem", json.dumps(as_json(toy(1)))
    first = nightly("run", "token", "greedy-block", "--samples", 500, "--html", "page.html", *on_toy)
    assert first.status == 0, first.err
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert nightly("run", "token", "--samples", 500, *on_toy).status == 0
    done = nightly("status", "--json", "-")
    report = json.loads(done.out)
    assert {check["subject"]: check["draws"] for check in report["checks"]} == {"token": 1000, "greedy-block": 500}
    assert report["state"] == "quiet" and "nightly   QUIET: " in done.err
    file.write_text(WRONG)
    done = nightly("run", f"{file}:verify", "--samples", 3000, *on_toy)
    assert done.status == 1 and "nightly   ALARM: " in done.out and "  Witness " in done.out
    assert nightly("status").status == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status",), "begins a history"),
        (("run", "nonsense"), "is not a subject"),
        (("run", "token", "--night", "yesterday"), "'yesterday' does not match the format '%Y-%m-%d'"),
        (("run", "token", "--night", "2999-01-01"), "still to come"),
        (("run", "token", "--night", "0001-01-01", "--html", "nothing.html"), "expected 2000-01-01 or later"),
        (("run", "token", "--subject-version", "7"), "not one of draftproof's own verifiers"),
        (("run", "a:b", "c:d", "--subject-version", "7"), "expected one SUBJECT"),
        (("run", "a:b", "--subject-version", "7\n8"), "is not a version"),
        (("run", "token", "--lifetime-alpha", "0.5"), "--lifetime-alpha"),
        (("run", "token", "--wait", "nan"), "'nan' is not a finite number"),
        (("run", "token", "--memory", "1e300"), "--memory"),
        (("run", "token", "--db", ":memory:"), "is in memory only"),
        (("run", "token", "--db", "nothing://x"), "expected a file or a URL"),
        (("run", "token", "--db", "no/such/folder/x.sqlite"), "cannot be opened"),
        (("run", "token", "--db", "report.json", "--json", "report.json"), "named by both"),
        (("run", "token", "--db", "postgresql://me:s3cret@127.0.0.1:1/x", "--wait", "1"), "127.0.0.1"),
        (("run", "token", "--problem", json.dumps(as_json(drawn(4, 5, "equal")))), "too many for a nightly check"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(tmp_path, arguments, message, nightly):
    done = nightly(*arguments)
    assert (done.status, len(done.lines)) == (2, 1)
    assert message in done.err and "s3cret" not in done.err + done.out
    assert [path for path in tmp_path.iterdir() if path.suffix != ".sqlite"] == []
