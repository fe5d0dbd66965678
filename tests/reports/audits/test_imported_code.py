"""A part of a plan is kept while the files that its code was seen to import are as they were, and run again where one is not."""

import json
import sys

import pytest

from draftproof.reports.audits.compliance import collecting
from draftproof.reports.audits.compliance.collecting import collect
from draftproof.reports.audits.compliance.imported_code import imported_code
from draftproof.reports.audits.compliance.plan import load_plan

MINE = """
import helper
def verify(target_probs, draft_probs, draft_tokens, rng):
    import late
    for i, x in enumerate(draft_tokens):
        if rng.random() * draft_probs[i][x] >= target_probs[i][x]:
            return [*draft_tokens[:i], rng.choice(len(target_probs[i]), p=late.residual(target_probs[i], draft_probs[i]))]
    return [*draft_tokens, rng.choice(len(target_probs[-1]), p=target_probs[-1])]
"""
LATE = """
import numpy as np
def residual(target, draft):
    left = np.maximum(np.asarray(target) - draft, 0)
    return left / left.sum()
"""
PROBLEM = '{"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PLAN = f"""
[plan]
title = "t"
[[part]]
id = "own"
kind = "audit"
subject = "mine.py:verify"
problems = ['{PROBLEM}']
[[requirement]]
id = "R"
statement = "s"
claim = "lossless"
parts = ["own"]
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The folder of a plan that was run, and what its part gave."""
    here = tmp_path_factory.mktemp("imports")
    files = {"mine.py": MINE, "helper.py": "", "late.py": LATE, "unrelated.py": "x = 1\n", "plan.toml": PLAN}
    for name, content in files.items():
        (here / name).write_text(content)
    given = []

    def audit(got, *others):
        collecting._audit(got, *others)
        given.append(got)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(collecting.RUNNERS, "audit", audit)
        (part,) = collect(load_plan(here / "plan.toml"), here / "out")
    return here, part, given[0]


@pytest.fixture
def runs_again(audited, monkeypatch):
    """Whether a run of the plan examines its part again; it then gives what it gave first."""
    here, _, first = audited

    def runs_again():
        runs = []

        def audit(got, *others):
            runs.append(got.part.id)
            got.report, got.modules = first.report, first.modules

        monkeypatch.setitem(collecting.RUNNERS, "audit", audit)
        [*collect(load_plan(here / "plan.toml"), here / "out")]
        return bool(runs)

    return runs_again


def test_a_module_that_only_a_call_imports_is_among_the_files(audited):
    _, part, _ = audited
    assert part.report["verdict"] == "lossless"
    assert part.files.keys() == {"mine.py", "helper.py", "late.py"}


def test_only_what_was_imported_or_could_take_its_place_makes_it_run_again(audited, runs_again):
    here, _, _ = audited
    assert not runs_again()
    (here / "unrelated.py").write_text("x = 2\n")
    (here / "notes.txt").write_text("not imported")
    assert not runs_again()
    for name in ("late.py", "helper.py", "mine.py"):
        (here / name).write_text((here / name).read_text() + "# changed\n")
        assert runs_again() and not runs_again(), name
    (here / "numpy.py").write_text("")
    assert runs_again() and not runs_again()
    (here / "pkg").mkdir()
    (here / "pkg" / "__init__.py").write_text("")
    assert runs_again() and not runs_again()
    (here / "helper.py").unlink()
    assert runs_again() and runs_again(), "a file that is gone is not known"
    (here / "helper.py").write_text("")


def test_what_was_kept_without_its_imports_or_with_others_is_run_again(audited, runs_again):
    here, _, _ = audited
    runs_again()
    kept = here / "out" / "parts" / "own.json"
    for seen in (None, {"files": ["mine.py"], "packages": []}):
        data = json.loads(kept.read_text())
        kept.write_text(json.dumps(data | {"imported": seen}))
        assert runs_again() and not runs_again()


def test_a_file_that_changes_while_it_is_audited_leaves_the_part_open(audited, monkeypatch):
    here, _, first = audited

    def audit(got, *others):
        got.report, got.modules = first.report, first.modules
        (here / "late.py").write_text(LATE + "# changed meanwhile\n")

    monkeypatch.setitem(collecting.RUNNERS, "audit", audit)
    (here / "mine.py").write_text(MINE + "# again\n")
    (part,) = collect(load_plan(here / "plan.toml"), here / "out")
    assert (part.state, part.why) == ("failed", "late.py changed while it ran")


def test_installed_packages_are_known_by_their_version_and_others_by_their_file(tmp_path):
    import json.decoder

    import numpy
    import pytest as installed

    (tmp_path / "mine.py").write_text("")
    files = [json.decoder.__file__, numpy.__file__, installed.__file__, collecting.__file__, __file__]
    seen = imported_code([*files, str(tmp_path / "mine.py")])
    assert seen is not None
    assert seen.files == tuple(sorted((__file__, str(tmp_path / "mine.py"))))
    assert seen.packages == ("numpy", "pytest")
    assert imported_code(None) is None
    assert imported_code([f"{tmp_path}/code.zip/mine.py"]) is None
    assert imported_code([str(next(f for f in sys.path if f.endswith("site-packages")) + "/unknown_to_pip.py")]) is None
