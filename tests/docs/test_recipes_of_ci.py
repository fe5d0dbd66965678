"""The recipes for CI, hooks and containers: they parse, and their commands end as the page says, run by a shell."""

import json
import os
import subprocess
import sys
from shutil import which

import pytest

from draftproof.tests.choices import long_unless
from draftproof.tests.docs import running

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
pytestmark = pytest.mark.skipif(which("bash") is None, reason="needs bash")

PAGE = running.ROOT / "docs" / "ci.md"
RIGHT = """
def verify(target_probs, draft_probs, draft_tokens, rng):
    return [rng.choice(len(target_probs[0]), p=target_probs[0])]
"""
WRONG = RIGHT.replace("target_probs[0])]", "draft_probs[0])]")


def block(caption):
    """Return the block of the page with this caption."""
    return PAGE.read_text(encoding="utf-8").split(f":caption: {caption}\n\n")[1].split("```")[0]


@pytest.fixture
def shell(tmp_path):
    """Runs a script where mine.py has a verifier: pip does nothing, and docker runs its command here."""
    programs = {
        "pip": "exit 0",
        "draftproof": f"exec {sys.executable} -m draftproof \"$@\" --problem '{json.dumps(PROBLEM)}'",
        "docker": 'while [ "$1" != sh ]; do shift; done; exec "$@"',
    }
    (tmp_path / "bin").mkdir()
    for name, script in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    def run(script, verifier):
        (tmp_path / "mine.py").write_text(verifier)
        environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        words = ["bash", "-eo", "pipefail", "-c", script]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)

    run.folder = tmp_path
    return run


PROBLEM = {"vocabulary": 2, "gamma": 1, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}


def hook():
    """Return the command of the pre-commit hook with the arguments of the page's configuration."""
    [configured] = yaml.safe_load(block(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    [known] = yaml.safe_load((running.ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert known["id"] == configured["id"] and known["pass_filenames"] is False and known["language"] == "python"
    return " ".join([known["entry"], *configured["args"]])


def gitlab():
    return "\n".join(yaml.safe_load(block(".gitlab-ci.yml"))["draftproof"]["script"])


SCRIPTS = {"pre-commit": hook, "GitLab": gitlab, "Docker": lambda: block("audit.sh")}


@pytest.mark.parametrize("recipe", long_unless(SCRIPTS, {"pre-commit"}))
def test_a_right_verifier_passes_and_a_wrong_one_fails(recipe, shell):
    script = SCRIPTS[recipe]()
    done = shell(script, RIGHT)
    assert done.returncode == 0 and "HOLDS" in done.stdout, done
    if recipe == "GitLab":
        assert {"draftproof.xml", "draftproof.html"} <= {file.name for file in shell.folder.iterdir()}
    done = shell(script, WRONG)
    assert done.returncode == 1 and "REFUTED" in done.stdout, done


def test_the_workflow_for_github_names_inputs_that_the_action_has_with_their_defaults():
    workflow, action = yaml.safe_load(block(".github/workflows/draftproof.yml")), running.ROOT / "action.yml"
    inputs = yaml.safe_load(action.read_text(encoding="utf-8"))["inputs"]
    step = workflow["jobs"]["draftproof"]["steps"][-1]
    assert step["with"].keys() == {name for name, about in inputs.items() if about.get("required")}
    page = PAGE.read_text(encoding="utf-8")
    for name in ("options", "install", "python", "require-decision", "sarif"):
        shown = f"`{inputs[name]['default']}`" if inputs[name]["default"] else ""
        assert f"| `{name}` | {shown} |".replace("|  |", "| |") in page
