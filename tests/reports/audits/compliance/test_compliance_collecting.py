"""The parts of a compliance plan: when a finished one is kept, and what is read as one."""

import json
from typing import Any

import pytest

from draftproof.models import digests
from draftproof.models.digests import versions
from draftproof.models.errors import InputError
from draftproof.models.store import stored
from draftproof.reports.audits.compliance import collecting
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD, collect
from draftproof.reports.audits.compliance.declared import declared_files, declared_versions, undeclared
from draftproof.reports.audits.compliance.plan import Part, Requirement, load_plan
from draftproof.reports.audits.compliance.requirements import FAILED, judged
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.compliance.compliance_parts import got, plan_text
from draftproof.tests.reports.report_parts import item, report_on
from draftproof.verifiers.evidence import REFUTED

pytestmark = pytest.mark.exact

MINE = 'kind = "audit"\nsubject = "mine.py:f"\nfiles = ["mine.py", "data"]'
SERVER = 'kind = "server"\nurl = "http://x"\ntarget = "x"'
OURS = 'kind = "audit"\nsubject = "block"'


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The parts of kind audit that were run of plans in a folder, as its names; the folder has a subject with data."""
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "weights").write_text("1")
    made = []

    def audited(job):
        made.append(job.part.id)
        return report_on(item())

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    return made


def planned(folder, *parts, **named) -> Any:
    """What the parts of a plan in a folder give, each part the text of its fields."""
    text = plan_text({f"p{number}": part for number, part in enumerate(parts)} | named)
    (folder / "plan.toml").write_text(text)
    return [*collect(load_plan(folder / "plan.toml"), folder / "out")]


def kept(folder):
    return [row.key[0] for row in stored(folder / "out" / "parts.jsonl", PARTS_HOLD).rows]


def test_a_finished_part_is_kept_until_a_declared_file_changes_and_a_failed_one_is_run_again(tmp_path, runs):
    for _ in range(2):
        assert [one.state for one in planned(tmp_path, MINE, SERVER)] == ["done", "failed"]
    (tmp_path / "beside.py").write_text('"""Not declared."""')
    planned(tmp_path, MINE)
    assert runs == ["p0"]
    for number, name in enumerate(("mine.py", "data/deep/weights", "data/new"), 2):
        (tmp_path / name).write_text("x = 2\n")
        planned(tmp_path, MINE)
        assert runs == ["p0"] * number
    planned(tmp_path, f"{MINE}\nseed = 1")
    assert runs == ["p0"] * 5


def test_an_edit_of_the_code_that_audits_depend_on_drops_a_part_and_one_elsewhere_drops_nothing(
    tmp_path, runs, monkeypatch
):
    package = tmp_path / "package"
    for room in ("proofs", "reports/audits", "reports/pages"):
        (package / room).mkdir(parents=True)
        (package / room / "a.py").write_text('"""Before."""')
    monkeypatch.setattr(digests, "ROOT", package)
    planned(tmp_path, MINE)
    for number, room in enumerate(("reports/pages", "proofs", "reports/audits"), 1):
        (package / room / "a.py").write_text('"""After."""')
        planned(tmp_path, MINE)
        assert runs == ["p0"] * number


def test_a_declared_file_that_changes_while_it_is_audited_leaves_the_part_open(tmp_path, runs, monkeypatch):
    def audited(job):
        (tmp_path / "data" / "deep" / "weights").write_text("2")
        return report_on(item())

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    (part,) = planned(tmp_path, MINE)
    assert (part.state, part.why) == ("failed", "data/deep/weights changed while it ran")


def test_an_interrupted_run_keeps_what_was_finished_and_a_part_that_is_gone_is_not_kept(tmp_path, runs, monkeypatch):
    def interrupted(job):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setitem(collecting.RUNNERS, "server", interrupted)
        planned(tmp_path, a=MINE, s=SERVER)
    assert kept(tmp_path) == ["a"]
    planned(tmp_path, a=MINE, s=SERVER)
    assert runs == ["a"]
    planned(tmp_path, b=MINE, s=SERVER)
    assert kept(tmp_path) == ["b", "s"]


def test_a_kept_part_that_was_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(collecting.RUNNERS, "audit", lambda job: report_on(item(REFUTED)))
    planned(tmp_path, OURS)
    file = tmp_path / "out" / "parts.jsonl"
    file.write_text(file.read_text().replace('"refuted"', '"holds"'))
    with pytest.raises(InputError, match="line 2 is not what was written there"):
        planned(tmp_path, OURS)


def test_a_part_that_was_kept_says_what_its_report_said(tmp_path, monkeypatch):
    """In the order of the plan's numbers, in which sentences name them: else verify would refuse what a run wrote."""
    regions = {dtype: {"rows": {"covered": 1, "of": 2}} for dtype in ("float64", "float32", "bfloat16")}
    size = {"vocabulary": 2, "gamma": 1, "smallest_probability": 0.1}
    made = report_on(*(item(detail={"dtype": dtype, **size}) for dtype in regions), regions=regions)
    monkeypatch.setitem(collecting.RUNNERS, "audit", lambda job: made)
    (part,) = planned(tmp_path, OURS)
    assert "1 of 2 in float64, 1 of 2 in float32, 1 of 2 in bfloat16" in part.report["scope"]["says"]
    assert Report.from_json(part.report).as_json()["scope"] == part.report["scope"]


def test_the_checkpoint_of_a_part_that_failed_stays_and_that_of_one_that_is_done_goes(tmp_path, monkeypatch):
    failure = {"kind": "timeout", "message": "stopped"}

    def campaign(job):
        job.checkpoint.write_text("draws")
        return report_on(item(), failure=failure)

    monkeypatch.setitem(collecting.RUNNERS, "campaign", campaign)
    monkeypatch.setitem(collecting.RUNNERS, "server", campaign)
    fields = 'kind = "campaign"\nsubject = "block"\nproblem = "p"\nsamples = 5'
    left = lambda: len([*(tmp_path / "out").glob("*.checkpoint")])  # noqa: E731
    assert (planned(tmp_path, fields)[0].state, left()) == ("failed", 1)
    failure = {"kind": "interrupted", "message": "interrupted"}
    with pytest.raises(KeyboardInterrupt):
        planned(tmp_path, fields)
    assert left() == 1
    failure = None
    assert (planned(tmp_path, fields)[0].state, left()) == ("done", 0)
    failure = {"kind": "timeout", "message": "another server may be there by the next run"}
    assert (planned(tmp_path, SERVER)[0].state, left()) == ("failed", 0)


@pytest.mark.parametrize(
    ("kind", "options", "declared", "absent"),
    [
        ("audit", {"subject": "mine.py:f", "problems": ["p.json", '{"vocabulary": 2}']}, ["mine.py", "p.json"], []),
        ("audit", {"subject": "gone.py:f"}, [], ["gone.py:f"]),
        ("audit", {"subject": "mine.py:f", "files": ["pkg", "numpy"]},
         ["mine.py", "pkg/deep/rule.py", "pkg/impl.py"], []),
        ("audit", {"subject": "mine.py:f", "files": ["absent"]}, ["mine.py"], ["absent"]),
        ("audit", {"subject": "mine.py:f", "files": ["linked"]}, ["linked/a", "mine.py"], ["linked"]),
        ("audit", {"exec": "python -m helper.run"}, [], ["python -m helper.run"]),
        ("audit", {"exec": "python mine.py pkg"}, ["mine.py"], []),
        ("audit", {"exec": "kernel --fast", "files": ["p.json"]}, ["p.json"], ["kernel"]),
        ("audit", {"subject": "theirs"}, [], ["theirs"]),
        ("audit", {"subject": "json.decoder:JSONDecoder"}, ["json/decoder.py"], []),
        ("engine", {"engine": "mine.py:f"}, ["mine.py"], []),
        ("server", {"url": "http://localhost:1", "target": "p.json"}, ["p.json"], ["http://localhost:1"]),
        ("e2e", {"target": "p.json", "draft": "someone/of-the-hub"}, ["p.json"], ["someone/of-the-hub"]),
        ("e2e", {"target": "pkg", "draft": "pkg", "prompts": "gone.txt"},
         ["pkg/deep/rule.py", "pkg/impl.py"], ["gone.txt"]),
        ("e2e", {"preset": "gpt2"}, [], ["gpt2"]),
        ("proofs", {}, [], []),
        ("proofs", {"run": True, "methods": ["z3"]}, [], []),
    ],
)  # fmt: skip
def test_a_part_is_valid_for_the_files_that_it_names_and_what_has_no_digest_is_said(
    kind, options, declared, absent, tmp_path, monkeypatch
):
    from draftproof.verifiers.adapters.registry import ADAPTERS, Adapter

    monkeypatch.setitem(ADAPTERS, "theirs", Adapter("theirs", "theirs.adapter:verify", (), "", "shipped by theirs 1.0"))
    (tmp_path / "mine.py").write_text("raise SystemExit\nimport beside\n")
    for name in ("beside.py", "pkg/impl.py", "pkg/deep/rule.py", "p.json", "linked/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "linked" / "there").symlink_to(tmp_path / "pkg")
    part = Part("p", kind, options)
    assert ([*declared_files(part, tmp_path)], undeclared(part, tmp_path)) == (declared, absent)
    assert declared_versions(part, tmp_path) == versions(*[n for n in options.get("files", ()) if n == "numpy"])


@pytest.mark.parametrize(
    ("kind", "options", "one"),
    [
        ("audit", {"subject": "block"}, "draftproof/verifiers/token_verification.py"),
        ("audit", {"subject": "transformers"}, "transformers/generation/utils.py"),
        ("campaign", {"subject": "block", "problem": "{}"}, "draftproof/verifiers/token_verification.py"),
        ("proofs", {"run": True}, "draftproof/proofs/mechanized/Block.v"),
        ("proofs", {"run": True, "methods": ["coq"]}, "draftproof/proofs/mechanized/_CoqProject"),
    ],
)
def test_what_draftproof_brings_has_digests_too(kind, options, one, tmp_path):
    part = Part("p", kind, options)
    assert one in declared_files(part, tmp_path) and undeclared(part, tmp_path) == []


def test_reports_are_read_with_their_older_versions_and_others_refused(tmp_path):
    good = got(item()).report
    older = got(item(REFUTED)).report | {"schema_version": "2.1"}
    whole = report_on(item(), item(problem="q"), environment=digests.environment())
    others = {
        "lie": good | {"verdict": "refuted"},
        "half": {"schema_version": "2.0"},
        "beyond": got(item(total_variation=0.7, bound=0.1)).report,
        "list": [],
        "odd": good | {"seed": "x"},
        "cut": good | {"scope": whole.as_json()["scope"], "environment": whole.environment},
    }
    for name, data in {"old": older, **others}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    (tmp_path / "text.json").write_text("{")
    names = ["old", *others, "text", "absent"]
    every = planned(tmp_path, **{name: f'kind = "report"\nfile = "{name}.json"' for name in names})
    made = {one.id: one for one in every}
    assert judged(Requirement("R", "s", "lossless", ("old",)), every).verdict == FAILED
    for name in names[1:]:
        assert (made[name].state, bool(made[name].report)) == ("failed", False), name
        assert "\n" not in made[name].why
    assert made["lie"].why.endswith("it says refuted, and its evidence says holds")
    assert made["cut"].why.endswith("scope is not what its evidence gives")


def test_an_interrupted_report_is_a_part_that_failed_and_ends_no_run(tmp_path):
    report = got(item(), failure={"kind": "interrupted", "message": "interrupted after 1 problem"}).report
    (tmp_path / "r.json").write_text(json.dumps(report | {"verdict": "error"}))
    made, rules = planned(tmp_path, 'kind = "report"\nfile = "r.json"', 'kind = "proofs"')
    assert (made.state, made.why, rules.state) == ("failed", "interrupted after 1 problem", "done")


def test_a_history_that_is_not_whole_is_a_part_that_failed(tmp_path):
    check = {
        "subject": "f", "version": "1", "current": True, "check": "c", "state": "quiet", "log_e": 0.1,
        "largest_log_e": 0.2, "alarm_at": 7.9, "watch_at": "inf", "draws": 10, "witness": None, "impossible": None,
        "detects": {"within": [{"nights": 1, "total_variation": 0.1}]},
        "nights": [{"night": "2026-11-20", "log_e": 0.1, "draws": 10}],
    }  # fmt: skip
    whole = {"checks": [check], "state": "quiet", "failures": [], "lifetime_alpha": 0.001, "scope": None}
    odd = [check | {"nights": [{"night": "x", "log_e": 1}]}, check | {"state": "good"}]
    odd += [check | {"witness": {"sequence": "1"}}, {name: check[name] for name in check if name != "alarm_at"}]
    histories = [whole, *(whole | {"checks": [one]} for one in odd), whole | {"failures": [{}]}, [], 1]
    for number, history in enumerate(histories):
        (tmp_path / f"{number}.json").write_text(json.dumps(history))
    made = planned(tmp_path, *(f'kind = "nightly"\nfile = "{number}.json"' for number in range(len(histories))))
    assert [(one.state, bool(one.history)) for one in made] == [("done", True)] + [("failed", False)] * 7
