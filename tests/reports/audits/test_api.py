"""What the package offers to Python: its settings in its signature, its types, and how a report shows itself."""

import dataclasses
import inspect
import subprocess
import sys

import pytest

import draftproof
from draftproof import Report, audit
from draftproof.models.battery import toy
from draftproof.models.errors import InputError
from draftproof.reports.audits.settings import AuditSettings
from draftproof.reports.audits.subject import subject_from


def test_every_setting_is_in_the_signature_with_its_default():
    parameters = inspect.signature(audit).parameters
    for setting in dataclasses.fields(AuditSettings):
        if setting.name not in ("problems", "progress", "refuted"):
            assert parameters[setting.name].default == setting.default, setting.name
    with pytest.raises(TypeError, match="qick"):
        audit("block", qick=True)  # pyright: ignore[reportCallIssue]


def test_every_public_name_is_there_and_typed():
    for name in draftproof.__all__:
        assert getattr(draftproof, name) is not None
    assert draftproof.Report is Report and set(draftproof.__all__) <= set(dir(draftproof))


def test_a_report_shows_itself_in_a_line_and_in_a_notebook_escaped():
    report = audit("block", [toy(1)])
    assert repr(report) == f"<Report on block: {report.reading}>"
    report.subject["name"] = "<script>alert(1)</script>"
    shown = report._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert report.verdict in shown and "speaks of" in shown


def test_a_file_without_a_function_names_those_that_it_has(tmp_path):
    file = tmp_path / "two.py"
    file.write_text("def verify(a, b, c, rng): ...\ndef other(a, b, c): ...\ndef helper(x): ...\n")
    with pytest.raises(InputError, match=rf"expected one of {file}:verify, {file}:other$"):
        subject_from(str(file))
    file.write_text("not python")
    with pytest.raises(InputError, match=r"names a file and no function; expected one of package\.module:function"):
        subject_from(str(file))


@pytest.mark.parametrize(
    ("typo", "meant"), [("blok", "did you mean block?"), ("trasformers", "did you mean transformers?")]
)
def test_a_typo_of_a_subject_gets_the_likely_meaning(typo, meant):
    with pytest.raises(InputError, match=f"{typo!r} is not a subject; {meant.replace('?', '.')}"):
        subject_from(typo)


def test_our_rules_for_trees_have_no_bfloat16():
    with pytest.raises(InputError, match="spec-infer computes in NumPy, which has no bfloat16; expected float64"):
        subject_from("spec-infer", dtypes=("bfloat16",))


def test_in_a_notebook_the_way_out_is_said():
    program = "from draftproof import audit\ndef f(a, b, c, rng): return [0]\naudit(f)\n"
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True)
    assert "put '%%writefile mine.py' first in its cell" in done.stderr.splitlines()[-1]
