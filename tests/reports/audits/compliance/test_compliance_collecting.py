"""The parts of a compliance plan: when a finished one is kept, and what is read as one."""

import json
from importlib.resources import files

import pytest

from draftproof.models import digests
from draftproof.models.digests import versions
from draftproof.models.errors import InputError
from draftproof.models.store import stored_rows
from draftproof.reports.audits.compliance import collecting
from draftproof.reports.audits.compliance.collecting import PARTS_HOLD, collect
from draftproof.reports.audits.compliance.declared import declared_files, declared_versions, undeclared
from draftproof.reports.audits.compliance.plan import Part, Requirement, load_plan
from draftproof.reports.audits.compliance.requirements import FAILED, judged
from draftproof.reports.audits.report import Report
from draftproof.tests.reports.audits.compliance.compliance_parts import got, item
from draftproof.verifiers.evidence import REFUTED

pytestmark = pytest.mark.exact


PLAN = """
[plan]
title = "t"
[[part]]
id = "a"
kind = "audit"
subject = "mine.py:f"
files = ["mine.py", "data"]
[[part]]
id = "s"
kind = "server"
url = "http://x"
target = "x"
[[requirement]]
id = "R"
statement = "s"
claim = "lossless"
parts = ["a"]
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The parts that were run of a plan in a folder; ``again()`` runs the plan."""
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "weights").write_text("1")
    (tmp_path / "plan.toml").write_text(PLAN)
    made = []

    def audited(collected, *others):
        made.append(collected.part.id)
        collected.report = got(item()).report

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    return made


def again(folder):
    return [(one.part.id, one.state) for one in collect(load_plan(folder / "plan.toml"), folder / "out")]


def test_a_finished_part_is_kept_until_a_declared_file_changes_and_a_failed_one_is_run_again(tmp_path, runs):
    assert again(tmp_path) == again(tmp_path) == [("a", "done"), ("s", "failed")]
    assert runs == ["a"]
    (tmp_path / "beside.py").write_text('"""Not declared."""')
    again(tmp_path)
    assert runs == ["a"]
    for number, name in enumerate(("mine.py", "data/deep/weights", "data/new"), 2):
        (tmp_path / name).write_text("x = 2\n")
        again(tmp_path)
        assert runs == ["a"] * number
    (tmp_path / "plan.toml").write_text(PLAN.replace("[[requirement]]", "[[requirement]]\ndtype = 'float64'"))
    again(tmp_path)
    assert runs == ["a"] * 4
    (tmp_path / "plan.toml").write_text(PLAN.replace('kind = "audit"', 'kind = "audit"\nseed = 1'))
    again(tmp_path)
    assert runs == ["a"] * 5


def test_an_edit_of_the_code_that_audits_depend_on_drops_a_part_and_one_elsewhere_drops_nothing(
    tmp_path, runs, monkeypatch
):
    package = tmp_path / "package"
    for room in ("proofs", "reports/audits", "reports/pages"):
        (package / room).mkdir(parents=True)
        (package / room / "a.py").write_text('"""Before."""')
    monkeypatch.setattr(digests, "ROOT", package)
    again(tmp_path)
    (package / "reports/pages/a.py").write_text('"""After."""')
    again(tmp_path)
    assert runs == ["a"]
    for number, room in enumerate(("proofs", "reports/audits"), 2):
        (package / room / "a.py").write_text('"""After."""')
        again(tmp_path)
        assert runs == ["a"] * number


def test_a_declared_file_that_changes_while_it_is_audited_leaves_the_part_open(tmp_path, runs, monkeypatch):
    def audited(collected, *others):
        (tmp_path / "data" / "deep" / "weights").write_text("2")
        collected.report = got(item()).report

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    part, _ = collect(load_plan(tmp_path / "plan.toml"), tmp_path / "out")
    assert (part.state, part.why) == ("failed", "data/deep/weights changed while it ran")


def test_an_interrupted_run_keeps_what_was_finished_and_a_part_that_is_gone_is_not_kept(tmp_path, runs, monkeypatch):
    def interrupted(*others):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setitem(collecting.RUNNERS, "server", interrupted)
        again(tmp_path)
    assert [row.key[0] for row in stored_rows(tmp_path / "out" / "parts.jsonl", PARTS_HOLD)] == ["a"]
    again(tmp_path)
    assert runs == ["a"]
    (tmp_path / "plan.toml").write_text(PLAN.replace('id = "a"', 'id = "b"').replace('["a"]', '["b"]'))
    again(tmp_path)
    assert [row.key[0] for row in stored_rows(tmp_path / "out" / "parts.jsonl", PARTS_HOLD)] == ["b", "s"]


def test_the_folder_of_an_older_version_is_begun_anew_and_that_is_said(tmp_path, runs, caplog):
    (tmp_path / "out" / "parts").mkdir(parents=True)
    again(tmp_path)
    assert runs == ["a"] and "parts: an older version wrote it; every part is examined again" in caplog.text


@pytest.mark.parametrize(
    ("kind", "options", "absent"),
    [
        ("audit", {"subject": "mine.py:f"}, []),
        ("audit", {"subject": "gone.py:f"}, ["gone.py:f"]),
        ("audit", {"subject": "mine.py:f", "files": ["mine.py", "pkg", "numpy"]}, []),
        ("audit", {"subject": "mine.py:f", "files": ["absent"]}, ["absent"]),
        ("audit", {"subject": "mine.py:f", "files": ["linked"]}, ["linked"]),
        ("audit", {"exec": "python -m helper.run"}, ["python -m helper.run"]),
        ("audit", {"exec": "python mine.py"}, []),
        ("audit", {"exec": "kernel --fast", "files": ["pkg"]}, ["kernel"]),
        ("audit", {"subject": "block"}, []),
        ("audit", {"subject": "batched-block"}, []),
        ("audit", {"subject": "theirs"}, ["theirs"]),
        ("audit", {"subject": "json.decoder:JSONDecoder"}, []),
        ("engine", {"engine": "transformers"}, []),
        ("engine", {"engine": "mine.py:f"}, []),
        ("server", {"url": "http://localhost:1", "target": "pkg"}, ["http://localhost:1"]),
        ("e2e", {"target": "pkg", "draft": "pkg"}, []),
        ("e2e", {"target": "pkg", "draft": "someone/of-the-hub"}, ["someone/of-the-hub"]),
        ("e2e", {"target": "pkg", "draft": "pkg", "prompts": "gone.txt"}, ["gone.txt"]),
        ("e2e", {"preset": "gpt2"}, ["gpt2"]),
        ("campaign", {"subject": "block", "problem": "{}"}, []),
        ("proofs", {"run": True}, []),
    ],
)
def test_what_a_part_names_without_a_digest_is_said(kind, options, absent, tmp_path, monkeypatch):
    from draftproof.verifiers.adapters.registry import ADAPTERS, Adapter

    monkeypatch.setitem(ADAPTERS, "theirs", Adapter("theirs", "theirs.adapter:verify", (), "", "shipped by theirs 1.0"))
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "impl.py").write_text("")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a").write_text("")
    (tmp_path / "linked" / "there").symlink_to(tmp_path / "pkg")
    assert undeclared(Part("p", kind, options), tmp_path) == absent


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
    assert made["lie"].why.endswith("it says refuted, and its evidence says holds")


def test_the_files_of_a_part_are_those_that_it_names_and_nothing_is_imported(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit\nimport beside\n")
    for name in ("beside.py", "pkg/impl.py", "pkg/deep/rule.py", "target/config.json", "target/shards/1", "p.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    def names(kind, **options):
        return [*declared_files(Part("a", kind, options), tmp_path)]

    assert names("audit", subject="mine.py:f", problems=["p.json", '{"vocabulary": 2}']) == ["mine.py", "p.json"]
    assert names("audit", exec="python mine.py pkg", files=["pkg"]) == ["mine.py", "pkg/deep/rule.py", "pkg/impl.py"]
    assert names("e2e", target="target", draft="gone") == ["target/config.json", "target/shards/1"]
    assert "draftproof/verifiers/token_verification.py" in names("audit", subject="token")
    assert "transformers/generation/utils.py" in names("audit", subject="transformers")
    assert names("audit", subject="json.decoder:JSONDecoder") == ["json/decoder.py"]
    named = Part("a", "audit", {"subject": "mine.py:f", "files": ["mine.py", "numpy", "no-such-package"]})
    assert declared_versions(named, tmp_path) == versions("numpy")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"run": True}, {"Block.v", "Makefile", "_CoqProject"}),
        ({"run": True, "methods": ["coq"]}, {"Block.v"}),
        ({"run": True, "methods": ["z3"]}, set()),
        ({}, set()),
    ],
)
def test_proofs_that_coq_is_to_run_depend_on_its_sources(options, names, tmp_path):
    found = declared_files(Part("rules", "proofs", options), tmp_path)
    assert {f"draftproof/proofs/mechanized/{name}" for name in names} <= found.keys()
    assert bool(found) == bool(names)


def planned(folder, *parts):
    """What the parts of a plan in a folder give, each part the text of its fields."""
    text = "".join(f'[[part]]\nid = "p{number}"\n{fields}\n' for number, fields in enumerate(parts))
    required = '[[requirement]]\nid = "R"\nstatement = "s"\nclaim = "lossless"\n'
    (folder / "plan.toml").write_text(f'[plan]\ntitle = "t"\n{text}{required}')
    return [*collect(load_plan(folder / "plan.toml"), folder / "out")]


def test_a_kept_part_that_was_changed_is_refused(tmp_path, monkeypatch):
    runs, wrong = [], got(item(REFUTED)).report

    def audited(collected, *others):
        runs.append(collected.part.id)
        collected.report = wrong

    monkeypatch.setitem(collecting.RUNNERS, "audit", audited)
    planned(tmp_path, 'kind = "audit"\nsubject = "block"')
    kept = tmp_path / "out" / "parts.jsonl"
    kept.write_text(kept.read_text().replace('"refuted"', '"holds"'))
    with pytest.raises(InputError, match="line 2 is not what was written there"):
        planned(tmp_path, 'kind = "audit"\nsubject = "block"')
    kept.unlink()
    (last,) = planned(tmp_path, 'kind = "audit"\nsubject = "block"')
    assert (runs, last.report["evidence"][0]["verdict"]) == (["p0"] * 2, REFUTED)


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
    assert Report.from_json(part.report).as_json()["scope"] == part.report["scope"]


def test_the_checkpoint_of_a_part_that_failed_stays_and_that_of_one_that_is_done_goes(tmp_path, monkeypatch):
    failure = {"kind": "timeout", "message": "stopped"}

    def campaign(collected, folder, checkpoint, progress):
        checkpoint.write_text("draws")
        collected.report = got(item(), failure=failure).report

    monkeypatch.setitem(collecting.RUNNERS, "campaign", campaign)
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
