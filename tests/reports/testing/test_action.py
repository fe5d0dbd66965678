"""The GitHub Action: the commands of its steps, run by bash as GitHub runs them; and SARIF in the form that it
uploads."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

import draftproof
from draftproof.reports.audits.report import Report
from draftproof.reports.pages.sarif import sarif
from draftproof.tests.reports.golden import golden_report
from draftproof.tests.reports.typed_details import detail_by
from draftproof.verifiers.evidence import REFUTED, Evidence, Method, Witness

ROOT = Path(draftproof.__file__).parent
WRONG = """
class Verifiers:
    @staticmethod
    def wrong(target_probs, draft_probs, draft_tokens, rng):
        return [rng.choice(len(draft_probs[0]), p=draft_probs[0])]


wrong = Verifiers.wrong
"""
PROBLEM = '{"vocabulary":2,"gamma":2,"target":["1/3","2/3"],"draft":["2/3","1/3"]}'


@pytest.fixture
def action(tmp_path):
    """The action's steps in a workspace: their outputs, and the status of the last."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    if which("bash") is None:
        pytest.skip("needs bash")
    if not (ROOT / "action.yml").is_file():
        pytest.skip("action.yml is in the repository, not in the wheel")
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    given = {name: about.get("default") for name, about in steps["inputs"].items()}
    (tmp_path / "bin").mkdir()
    (tmp_path / "runner").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "bin" / "python3").write_text(
        f'#!/bin/sh\nif [ "$2" = pip ]; then echo "$@" >> {tmp_path}/installed; else exec {sys.executable} "$@"; fi\n'
    )
    for program in (tmp_path / "bin").iterdir():
        program.chmod(0o755)

    def run(**inputs):
        known = {f"inputs.{k}": v for k, v in (given | {k.replace("_", "-"): v for k, v in inputs.items()}).items()}
        known |= {"github.action_path": str(ROOT), "runner.temp": str(tmp_path / "runner")}

        def filled(text):
            return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: known.get(match[1], ""), text)

        for number, step in enumerate(steps["runs"]["steps"]):
            if "run" not in step:
                continue
            script, output = tmp_path / f"{number}.sh", tmp_path / f"{number}.output"
            script.write_text(filled(step["run"]))
            output.write_text("")
            environment = os.environ | {name: filled(value) for name, value in step.get("env", {}).items()}
            environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
            environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
                cwd=tmp_path / filled(step.get("working-directory", ".")),
                env=environment,
                capture_output=True,
                text=True,
                timeout=3600,
            )
            named = dict(line.split("=", 1) for line in output.read_text().splitlines())
            known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in named.items()}
            if done.returncode:
                break
        return step["name"], done.returncode, known

    run.folder, run.steps = tmp_path, steps["runs"]["steps"]
    return run


def test_the_action_leaves_the_report_and_ends_with_the_status_of_the_audit(action):
    (action.folder / "a b").mkdir()
    name, status, known = action(
        subject="token",
        working_directory="a b",
        install="-r needs.txt",
        options=f"--claims optimal --problem {PROBLEM}",
    )
    assert (name, status, known["steps.audit.outputs.status"]) == ("Verdict", 1, "1")
    report = Path(known["steps.audit.outputs.report"])
    assert sorted(f.name for f in report.iterdir()) == ["audit.txt", "report.html", "report.json", "report.sarif"]
    assert json.loads((report / "report.json").read_text())["verdict"] == "refuted"
    summary = (action.folder / "summary.md").read_text()
    assert "token   REFUTED: optimal does not hold" in summary and "E[tau]   11/9      10/9" in summary
    installed = (action.folder / "installed").read_text()
    assert installed == f"-m pip install --quiet --disable-pip-version-check -r needs.txt {ROOT}\n"
    (result,) = json.loads((report / "report.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("optimal", "error")
    used = [step["uses"] for step in action.steps if "uses" in step]
    assert used == ["actions/upload-artifact@v4", "github/codeql-action/upload-sarif@v3"]


@pytest.mark.long
def test_what_cannot_be_audited_and_wrong_use_fail_the_action_and_inputs_are_never_commands(action):
    name, status, known = action(subject="gone.py:verify", options=f"--problem {PROBLEM}")
    assert (name, status, known["steps.audit.outputs.sarif"]) == ("Verdict", 3, "true")
    name, status, known = action(subject="$(touch hacked); `touch hacked`", options="--nothing")
    assert (name, status) == ("Verdict", 2)
    assert "steps.audit.outputs.sarif" not in known, "a report of an earlier step is not this one's"
    assert not (action.folder / "hacked").exists()
    assert action(subject="token", options=f"--problem {PROBLEM}")[1] == 0


def well_formed(log):
    """The run of a log, which has what SARIF 2.1.0 requires of the parts that are used (oasis-tcs/sarif-spec)."""
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert (log["version"], run["tool"]["driver"]["name"], len({*ids})) == ("2.1.0", "draftproof", len(ids))
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert not re.search(r"(?<!\{)\{(?!\{)", result["message"]["text"]), "a brace stands for an argument"
        for place in result["locations"]:
            uri = place.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "")
            assert not uri.startswith("/")
    assert isinstance(run["invocations"][0]["executionSuccessful"], bool)
    return run


def report_on(*methods_and_claims):
    report = Report.begin("mine.py:Verifiers.wrong", "mine.py", ["float64"], 0)
    witness = Witness(sequence="0", expected="1/3", observed="2/3 {odd}")
    report.add(
        Evidence(claim=claim, method=Method(method), verdict=REFUTED, problem="p", witness=witness, replay="replay",
                 detail=detail_by(method))
        for method, claim in methods_and_claims
    )  # fmt: skip
    return report


def test_sarif_has_what_is_certain_and_says_of_the_rest_that_it_is_not(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a b").mkdir()
    monkeypatch.chdir(tmp_path / "a b")
    (tmp_path / "a b" / "mine.py").write_text(WRONG)
    refuted = ("driving", "lossless"), ("interception", "lossless"), ("interception", "optimal")
    run = well_formed(sarif(report_on(*refuted)))
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [("lossless", "error"), ("optimal", "note")]
    text = run["results"][0]["message"]["text"]
    assert text.endswith("0: expected 1/3, observed 2/3 {{odd}} (and on 1 more problems)")
    assert run["results"][0]["properties"]["replay"] == "replay"
    assert run["results"][0]["locations"][0]["physicalLocation"]== {
        "artifactLocation": {"uri": "a%20b/mine.py", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 4},
    }  # fmt: skip
    sampled = well_formed(sarif(report_on(("chi-square", "lossless"))))
    assert sampled["results"] == []
    assert "not certain" in sampled["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert well_formed(sarif(golden_report("broken")))["invocations"][0]["executionSuccessful"] is False
    right = well_formed(sarif(golden_report("block")))
    assert (right["results"], right["properties"]["verdict"]) == ([], "holds")
