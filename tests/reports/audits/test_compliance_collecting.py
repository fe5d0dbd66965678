"""The parts of a compliance plan: when a finished one is kept, and what is read as one."""

import json
from importlib.resources import files

import pytest

from draftproof.reports.audits.compliance import collecting
from draftproof.reports.audits.compliance.code_files import all_files_are_known, code_files
from draftproof.reports.audits.compliance.collecting import collect
from draftproof.reports.audits.compliance.plan import Part, Requirement, load_plan
from draftproof.reports.audits.compliance.requirements import FAILED, judged
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.compliance_parts import got, item
from draftproof.verifiers.evidence import REFUTED

pytestmark = pytest.mark.exact


def test_a_finished_part_is_kept_until_its_file_changes_and_a_failed_one_is_run_again(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "weights").write_text("1")
    (tmp_path / "plan.toml").write_text(
        '[plan]\ntitle = "t"\n[[part]]\nid = "a"\nkind = "audit"\nsubject = "mine.py:f"\nfiles = ["data"]\n'
        '[[part]]\nid = "s"\nkind = "server"\nurl = "http://x"\ntarget = "x"\n'
        '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\nparts = ["a"]\n'
    )
    runs = []

    def audited(collected, folder, checkpoint, progress):
        runs.append(collected.part.id)
        collected.report = got(item()).report

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)

    def run():
        return [(one.part.id, one.state) for one in collect(load_plan(tmp_path / "plan.toml"), tmp_path / "out")]

    assert run() == run() == [("a", "done"), ("s", "failed")]
    assert runs == ["a"]
    (tmp_path / "beside.py").write_text("y = 1\n")
    run()
    (tmp_path / "mine.py").write_text("x = 2\n")
    run()
    assert runs == ["a"] * 3
    (tmp_path / "out" / "parts" / "a.json").write_text("{")
    run()
    assert runs == ["a"] * 4
    (tmp_path / "data" / "deep" / "weights").write_text("2")
    run()
    assert runs == ["a"] * 5


@pytest.mark.parametrize(
    ("kind", "options", "known"),
    [
        ("audit", {"subject": "mine.py:f"}, False),
        ("audit", {"subject": "mine.py:f", "files": ["mine.py", "pkg"]}, True),
        ("audit", {"subject": "mine.py:f", "files": ["mine.py", "absent"]}, False),
        ("audit", {"exec": "python -m helper.run"}, False),
        ("audit", {"exec": "python mine.py", "files": ["pkg"]}, True),
        ("audit", {"exec": "kernel --fast", "files": ["pkg"]}, False),
        ("audit", {"subject": "mine.py:f", "files": ["linked"]}, False),
        ("audit", {"subject": "block"}, True),
        ("audit", {"subject": "batched-block"}, True),
        ("audit", {"subject": "theirs"}, False),
        ("audit", {"subject": "json.decoder:JSONDecoder"}, False),
        ("engine", {"engine": "transformers"}, True),
        ("engine", {"engine": "mine.py:f"}, False),
        ("server", {"url": "http://localhost:1", "target": "pkg"}, False),
        ("e2e", {"target": "pkg", "draft": "pkg"}, True),
        ("e2e", {"target": "pkg", "draft": "someone/of-the-hub"}, False),
        ("e2e", {"preset": "gpt2"}, False),
        ("proofs", {"run": True}, True),
    ],
)
def test_a_part_is_kept_only_where_all_its_files_are_known(kind, options, known, tmp_path, monkeypatch):
    from draftproof.verifiers.adapters.registry import ADAPTERS, Adapter

    monkeypatch.setitem(ADAPTERS, "theirs", Adapter("theirs", "theirs.adapter:verify", (), "", "shipped by theirs 1.0"))
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "impl.py").write_text("")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a").write_text("")
    (tmp_path / "linked" / "there").symlink_to(tmp_path / "pkg")
    assert all_files_are_known(Part("p", kind, options), tmp_path) is known
    own = str(options.get("subject", options.get("engine", "")))
    assert all_files_are_known(Part("p", kind, options), tmp_path, True) is (
        known or ("files" not in options and (":" in own or own == "theirs"))
    )


def test_what_is_not_known_by_its_files_is_run_again(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("")
    parts = [
        ("own", 'kind = "audit"\nsubject = "mine.py:f"'),
        ("url", 'kind = "server"\nurl = "http://x"\ntarget = "x"'),
    ]
    text = "".join(f'[[part]]\nid = "{name}"\n{rest}\n' for name, rest in parts)
    required = '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\n'
    (tmp_path / "plan.toml").write_text(f'[plan]\ntitle = "t"\n{text}{required}')
    runs = []
    for kind in ("audit", "server"):
        monkeypatch.setitem(collecting.RUNNERS, kind, lambda collected, *others: runs.append(collected.part.id))
    for _ in range(2):
        [*collect(load_plan(tmp_path / "plan.toml"), tmp_path / "out")]
    assert runs == ["own", "url"] * 2


def test_reports_are_read_with_their_older_versions_and_others_refused(tmp_path):
    (tmp_path / "old.json").write_text(
        (files("draftproof.tests.reports.audits") / "reports_1_0" / "campaign.json").read_text()
    )
    good = got(item()).report
    others = {
        "lie": good | {"verdict": "refuted"},
        "half": {"schema_version": "2.0"},
        "beyond": got(item(total_variation=0.7, bound=0.1)).report,
        "list": [],
        "odd": good | {"seed": "x"},
    }
    for name, data in others.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    (tmp_path / "text.json").write_text("{")
    names = ["old", *others, "text", "absent"]
    parts = "".join(f'[[part]]\nid = "{name}"\nkind = "report"\nfile = "{name}.json"\n' for name in names)
    required = '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\n'
    (tmp_path / "plan.toml").write_text(f'[plan]\ntitle = "t"\n{parts}{required}')
    made = {one.part.id: one for one in collect(load_plan(tmp_path / "plan.toml"), tmp_path / "out")}
    assert made["old"].state == "done"
    assert judged(Requirement("R", "s", "lossless", ("old",)), made.values()).verdict == FAILED
    for name in names[1:]:
        assert (made[name].state, made[name].report) == ("failed", None), name
        assert made[name].why.startswith(f"{'' if name in others else tmp_path}") and "\n" not in made[name].why
    assert made["lie"].why == "lie.json: says refuted, and its evidence says lossless"


def test_the_files_of_a_subject_are_found_without_importing_it(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit\ndef f():\n    from pkg.impl import accept\n")
    (tmp_path / "beside.py").write_text("x = 1")
    for name, content in (
        ("pkg/__init__.py", ""), ("pkg/impl.py", "from .deep import rule"),
        ("pkg/deep/__init__.py", ""), ("pkg/deep/rule.py", ""), ("pkg/unused.py", ""), ("target/config.json", "{}"),
        ("target/shards/1", ""),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    mine = code_files(Part("a", "audit", {"subject": "mine.py:f"}), tmp_path)
    imported = {"pkg/__init__.py", "pkg/impl.py", "pkg/deep/__init__.py", "pkg/deep/rule.py"}
    assert mine.keys() == {"mine.py", "beside.py"} | imported
    assert all(file == tmp_path / name for name, file in mine.items())
    run = code_files(Part("a", "audit", {"exec": "python mine.py", "files": ["pkg"]}), tmp_path)
    assert run.keys() == mine.keys() | {"pkg/unused.py"}
    loop = Part("l", "e2e", {"target": "target", "draft": "gone"})
    assert set(code_files(loop, tmp_path)) == {"target/config.json", "target/shards/1"}
    assert "draftproof/verifiers/token_verification.py" in code_files(
        Part("t", "audit", {"subject": "token"}), tmp_path
    )
    assert code_files(Part("j", "audit", {"subject": "json.decoder:JSONDecoder"}), tmp_path).keys() == {
        "json/decoder.py"
    }


def planned(folder, *parts):
    """What the parts of a plan in a folder give, each part the text of its fields."""
    text = "".join(f'[[part]]\nid = "p{number}"\n{fields}\n' for number, fields in enumerate(parts))
    required = '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\n'
    (folder / "plan.toml").write_text(f'[plan]\ntitle = "t"\n{text}{required}')
    return [*collect(load_plan(folder / "plan.toml"), folder / "out")]


def test_a_kept_part_that_was_changed_is_run_again(tmp_path, monkeypatch):
    runs, wrong = [], got(item(REFUTED)).report

    def audited(collected, *others):
        runs.append(collected.part.id)
        collected.report = wrong

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    for content in (got(item()).report, {}, None):
        planned(tmp_path, 'kind = "audit"\nsubject = "block"')
        kept = tmp_path / "out" / "parts" / "p0.json"
        data = json.loads(kept.read_text())
        data["part"]["report"] = content
        kept.write_text(json.dumps(data))
    (last,) = planned(tmp_path, 'kind = "audit"\nsubject = "block"')
    assert (runs, last.report["evidence"][0]["verdict"]) == (["p0"] * 4, REFUTED)


def test_a_part_that_was_kept_says_what_its_report_said(tmp_path, monkeypatch):
    """In the order of the plan's numbers, in which sentences name them: else verify would refuse what a run wrote."""
    regions = {dtype: {"rows": {"covered": 1, "of": 2}} for dtype in ("float64", "float32", "bfloat16")}
    every = [
        item(detail={"dtype": dtype, "vocabulary": 2, "gamma": 1, "smallest_probability": 0.1}) for dtype in regions
    ]
    made = got(*every, regions=regions).report
    monkeypatch.setitem(collecting.RUNNERS, "audit", lambda collected, *others: setattr(collected, "report", made))
    (part,) = planned(tmp_path, 'kind = "audit"\nsubject = "block"')
    assert "1 of 2 in float64, 1 of 2 in float32, 1 of 2 in bfloat16" in part.report["scope"]["says"]
    assert Report.from_json(part.report).scope == part.report["scope"]


def test_the_checkpoint_of_a_part_that_failed_stays_and_that_of_one_that_is_done_goes(tmp_path, monkeypatch):
    failure = {"kind": "timeout", "message": "stopped"}

    def campaign(collected, folder, checkpoint, progress):
        checkpoint.write_text("draws")
        collected.report = got(item(), failure=failure).report

    monkeypatch.setitem(collecting.RUNNERS, "campaign", campaign)
    fields = 'kind = "campaign"\nsubject = "block"\nproblem = "p"\nsamples = 5'
    left = lambda: len([*(tmp_path / "out" / "parts").glob("*.checkpoint")])  # noqa: E731
    assert (planned(tmp_path, fields)[0].state, left()) == ("failed", 1)
    failure = {"kind": "interrupted", "message": "interrupted"}
    with pytest.raises(KeyboardInterrupt):
        planned(tmp_path, fields)
    assert left() == 1
    failure = None
    assert (planned(tmp_path, fields)[0].state, left()) == ("done", 0)
    failure = {"kind": "timeout", "message": "another server may be there by the next run"}
    monkeypatch.setitem(collecting.RUNNERS, "server", campaign)
    assert (planned(tmp_path, 'kind = "server"\nurl = "http://x"\ntarget = "x"')[0].state, left()) == ("failed", 0)


def test_an_interrupted_report_is_a_part_that_failed_and_ends_no_run(tmp_path):
    report = got(item(), failure={"kind": "interrupted", "message": "interrupted after 1 problem"}).report
    (tmp_path / "r.json").write_text(json.dumps(report | {"verdict": "error"}))
    made, rules = planned(tmp_path, 'kind = "report"\nfile = "r.json"', 'kind = "proofs"')
    assert (made.state, made.why, rules.state) == ("failed", "interrupted after 1 problem", "done")


CHECK = {
    "subject": "f", "version": "1", "current": True, "check": "c", "state": "quiet", "log_e": 0.1, "largest_log_e": 0.2,
    "alarm_at": 7.9, "watch_at": "inf", "draws": 10, "detects": {"within": [{"nights": 1, "total_variation": 0.1}]},
    "witness": None, "impossible": None, "nights": [{"night": "2026-11-20", "log_e": 0.1, "draws": 10}],
}  # fmt: skip


def test_a_history_that_is_not_whole_is_a_part_that_failed(tmp_path):
    whole = {"checks": [CHECK], "state": "quiet", "failures": [], "lifetime_alpha": 0.001, "scope": None}
    without = [{name: value for name, value in CHECK.items() if name != gone} for gone in CHECK]
    odd = [
        CHECK | {"nights": [{"night": "x", "log_e": 1}]},
        CHECK | {"state": "good"},
        CHECK | {"witness": {"sequence": "1"}},
    ]
    histories = [whole, *(whole | {"checks": [check]} for check in (*without, *odd)), whole | {"failures": [{}]}, [], 1]
    for number, history in enumerate(histories):
        (tmp_path / f"{number}.json").write_text(json.dumps(history))
    parts = [f'kind = "nightly"\nfile = "{number}.json"' for number in range(len(histories))]
    first, *others = planned(tmp_path, *parts)
    assert first.state == "done"
    assert [(one.state, one.history) for one in others] == [("failed", None)] * (len(histories) - 1)
