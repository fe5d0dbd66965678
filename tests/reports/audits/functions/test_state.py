"""Audits of verifiers that keep state or mind their surroundings: none is called lossless, and the calls are shown."""

import json
import shlex
from pathlib import Path

import psutil
import pytest

import draftproof
from draftproof.models.battery import drawn, toy
from draftproof.models.errors import RunFailed
from draftproof.models.related import twins
from draftproof.reports.audits.api import audit
from draftproof.reports.audits.functions import fresh_process, state
from draftproof.reports.audits.functions.audit import run_audit
from draftproof.reports.audits.functions.session import FunctionSession
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from
from draftproof.tests.reports.audited import audited, written
from draftproof.tests.reports.report_schema import validate
from draftproof.tests.subjects import stateful

pytestmark = pytest.mark.usefixtures("replayed")
PROBLEM = drawn(2, 2, "generic")
LONGER = drawn(2, 4, "generic")


def long(*values):
    return pytest.param(*values, marks=pytest.mark.long)


def _audit(name):
    problems = [PROBLEM, LONGER] if "fourth" in name else [PROBLEM]
    return audited(f"{stateful.__file__}:{name}", problems, explain=False, levels=("exact",))


@pytest.mark.parametrize("name", ["rows_by_rounded_target", long("last_rows_by_draft_tokens")])
def test_rows_remembered_are_noticed_with_the_calls_that_show_it(name):
    report = _audit(name)
    assert report.verdict == ("inconclusive" if name.startswith("last") else "refuted")
    calls = report.shown["state"]["calls"]
    one, other = calls[-2:]
    assert (one["problem"], one["draft_block"]) == (other["problem"], other["draft_block"])
    assert (one["emitted"], one["weights"]) != (other["emitted"], other["weights"])
    words = shlex.split(report.shown["state"]["replay"])
    given = [json.loads(words[i + 1]) for i, word in enumerate(words) if word == "--problem"]
    assert [p["name"] for p in given] == [PROBLEM.name, *(twin.name for twin in twins(PROBLEM))]
    for evidence in report.evidence:
        assert not evidence.refuted or evidence.claim == "optimal" or evidence.replay == report.shown["state"]["replay"]
    validate(report.as_json())


@pytest.mark.parametrize(
    "name, word",
    [
        ("after_a_thousand_calls", "state between calls"),
        ("count_of_fourth_rejections", "REJECTED changes with every repetition"),
        ("count_next_to_a_lock", "LOCKED changes with every repetition"),
        ("clock_next_year", "fresh process"),
        long("environment_by_getenv", "fresh process"),
        ("process_id", "os.getpid"),
    ],
)
def test_a_law_that_holds_here_and_now_alone_is_withdrawn(name, word):
    report = _audit(name)
    assert report.verdict == "inconclusive"
    assert any(word in text for kind, text in report.findings.items() if kind in ("state", "surroundings"))
    assert all(e.verdict == "no-evidence" and e.detail.reason for e in report.evidence)


@pytest.mark.parametrize(
    "name, verdict",
    [("quiet_logging", "holds"), long("rows_by_shape", "refuted"), long("count_of_one_token", "inconclusive")],
)  # fmt: skip
def test_of_a_long_block_given_by_hand_some_drafts_are_repeated_and_all_where_state_is_seen(name, verdict):
    report = audited(f"{stateful.__file__}:{name}", [toy(6)], explain=False, levels=("exact",), dtypes=["float64"])
    examined = {e.problem for e in report.evidence if e.claim == "lossless"}
    assert (report.verdict, len(examined)) == (verdict, 1 if verdict == "holds" else 7)
    assert ("state" in report.findings) == (verdict != "holds")


@pytest.mark.parametrize("name", [stateful.QUIET[0], *map(long, stateful.QUIET[1:])])
def test_a_right_verifier_with_a_cache_or_a_log_is_lossless(name):
    report = _audit(name)
    assert report.verdict == "holds"
    assert report.findings == {}
    assert report.subject["calls"] > 2000


def test_what_one_check_saw_is_said_even_if_the_next_one_ends_the_audit(monkeypatch):
    def seen(_):
        yield state.Difference("it was another one")

    def crashed(_):
        raise RunFailed("crash", "it crashed")

    monkeypatch.setattr(state, "CHECKS", [state.StateCheck("", "", check) for check in (seen, crashed)])
    report = audit(f"{stateful.__file__}:quiet_cache_by_rows", [PROBLEM], explain=False, levels=("exact",))
    assert (report.verdict, report.findings["state"]) == ("error", "it was another one")


def test_the_documentation_shows_the_table_of_surroundings_and_what_is_compared():
    page = Path(draftproof.__file__).parent / "docs" / "state.md"
    if not page.is_file():
        pytest.skip("the documentation is in the repository, not in the wheel")
    for check in state.CHECKS:
        assert f"| {check.surroundings} | {check.comparison} |" in page.read_text()


READS = """
import os
from draftproof.tests.subjects.wide import by_search

def verify(target_probs, draft_probs, draft_tokens, rng):
    {}
    return by_search(target_probs, draft_probs, draft_tokens, rng)
"""


@pytest.mark.parametrize("line, taken", [("pass", True), ("len(target_probs[0]) > 2 and os.getenv('SETTING')", False)])
def test_the_fresh_process_is_begun_ahead_unless_variables_are_read_later(line, taken, monkeypatch):
    made, used = [], []

    class Noted(fresh_process.Elsewhere):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

        def ask(self, work):
            used.append(self)
            return super().ask(work)

    monkeypatch.setattr(fresh_process, "Elsewhere", Noted)
    monkeypatch.setattr(state, "Elsewhere", Noted)
    before = {*psutil.Process().children(recursive=True)}
    report = audit(written(READS.format(line)), [toy(1), drawn(3, 2, "generic")], jobs=2, explain=False)
    ahead = made[0]
    assert (used.count(ahead) > 1) == taken and (report.verdict == "holds") == taken
    assert ahead.variables == {} and (taken or made[-1].variables == {"SETTING": "1"})
    assert all(one.ended for one in made if one in used) and {*psutil.Process().children(recursive=True)} == before


def test_the_process_begun_ahead_ends_with_an_audit_that_refutes_or_is_ended(monkeypatch):
    before = {*psutil.Process().children(recursive=True)}
    wrong = written(READS.format("if len(target_probs[0]) > 2: return [0]"))
    assert audit(wrong, [toy(1), drawn(3, 2, "generic")], jobs=2, explain=False).verdict == "refuted"

    def progress(stage, done, total):
        if stage == problems[1].name:
            raise KeyboardInterrupt

    problems = [toy(1), drawn(3, 2, "generic")]
    settings = AuditSettings(problems=problems, jobs=2, progress=progress)
    assert run_audit(subject_from(written(READS.format("pass")), None, ("float64",)), settings).interrupted
    assert {*psutil.Process().children(recursive=True)} == before


COUNTS = """
from draftproof.tests.subjects.wide import by_search

made = 0

def verify(target_logits, draft_logits, draft_tokens, rng):
    global made
    made += 1
    return [0] if made > 10**7 else by_search(exp(target_logits), exp(draft_logits), draft_tokens, rng)

def exp(rows):
    import numpy as np
    rows = np.exp(rows)
    return rows / rows.sum(-1, keepdims=True)
"""


def test_what_a_function_of_logits_keeps_is_looked_at():
    report = audit(written(COUNTS, "verify"), [toy(1), drawn(3, 2, "generic")], explain=False)
    assert report.subject["convention"]["called_by"] == ["logits"]
    assert report.verdict == "inconclusive" and any("made changes" in text for text in report.findings.values())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_ends_after_the_first_law_is_met_by_the_next_problem(jobs, monkeypatch):
    problems, laws = [toy(1), drawn(3, 2, "generic"), drawn(2, 2, "generic")], []
    whole = FunctionSession.measure

    def ends(session, problem, *given):
        law = whole(session, problem, *given)
        if not laws:
            session.sandbox.kill()
        laws.append(problem.name)
        return law

    monkeypatch.setattr(FunctionSession, "measure", ends)
    report = audit(written(READS.format("pass")), problems, jobs=jobs, explain=False)
    assert report.failure["message"].startswith(f"on problem {problems[1].name}") and laws[-1] == problems[2].name
