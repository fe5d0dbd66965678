"""The tutorials' own commands refute the bugs that a reader is likely to have."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from draftproof.models.battery import audit_battery
from draftproof.reports.audits.functions import problems
from draftproof.reports.commands.main import cli
from draftproof.reports.pages.compliance import folder as folder_of_run
from draftproof.tests.docs import running

TUTORIALS = running.ROOT / "docs" / "tutorials"
EXAMPLE = running.ROOT / "examples" / "driven.cpp"

RESIDUAL = "rng.choice(len(residual), p=residual / residual.sum())"
IN_PYTHON = {
    "the bonus token's row is the one before": ("p=target_probs[-1])]\n", "p=target_probs[-2])]\n"),
    "the residual is not divided by its sum": (
        RESIDUAL, "min(int(np.searchsorted(np.cumsum(residual), rng.random(), side='right')), len(residual) - 1)",
    ),
    "the coin's target row has another temperature": (
        "    for i, x", "    hot = target_probs**0.9 / (target_probs**0.9).sum(-1, keepdims=True)\n    for i, x",
    ),
    "the fifth token is always accepted": ("if rng.random()", "if i != 4 and rng.random()"),
}  # fmt: skip
"""What is wrong -> the text of the tutorials' right verifier that is replaced, and what stands there then."""

IN_CPP = {
    "the bonus token's row is the one before": (
        "rest = target[accepted];", "rest = target[std::min(accepted, gamma - 1)];",
    ),
    "the coin's target row has another temperature": ("kept * target[i][x] /", "kept * std::pow(target[i][x], 0.9f) /"),
    "the fifth token is always accepted": ("if (accept[i] < h)", "if (accept[i] < h || i == 4)"),
}  # fmt: skip
OFTEN = "the fifth token is always accepted"


def planted(text, replaced):
    assert replaced[0] in text
    return text.replace(*replaced)


def written(page, file):
    """Return the file that a tutorial lets its reader write."""
    return re.search(rf":caption: {file}\n\n(.*?)```", (TUTORIALS / page).read_text(encoding="utf-8"), re.S)[1]


def command_of(page, words):
    """Return the words of the first command of a tutorial that begins with these."""
    return shlex.split(re.search(rf"^\$ draftproof ({re.escape(words)}.*)$", (TUTORIALS / page).read_text(), re.M)[1])


def run(words):
    return CliRunner().invoke(cli, words)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, brief_audits):
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("bug", IN_PYTHON)
@pytest.mark.parametrize(("page", "file"), [("verifier.md", "mine.py"), ("certify.md", "deployed.py")])
def test_a_function_with_the_bug_is_refuted(page, file, bug):
    right = written("certify.md", "deployed.py")
    text = planted(right, IN_PYTHON[bug])
    if "hot = " in text:
        text = text.replace("] >= target_probs[i][x]", "] >= hot[i][x]")
    Path(file).write_text(text)
    done = run(command_of(page, f"audit {file}:verify"))
    assert done.exit_code == 1, done.output


@pytest.mark.long
@pytest.mark.parametrize("bug", IN_CPP)
@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_a_program_with_the_bug_is_refuted(bug, tmp_path):
    (tmp_path / "driven.cpp").write_text("#include <cmath>\n" + planted(EXAMPLE.read_text(), IN_CPP[bug]))
    subprocess.run(["g++", "-O2", "-std=c++17", "-o", "driven", "driven.cpp"], check=True)
    words = [word.removesuffix(" --wrong") for word in command_of("engine.md", "audit --exec")]
    assert run(words).exit_code == 1


@pytest.mark.parametrize("bug", [OFTEN])
def test_a_document_does_not_certify_the_bug(bug, monkeypatch):
    """On three problems of five drafted tokens, without the PDF, which is drawn of the page."""
    longest = [problem for problem in audit_battery() if problem.gamma == 5][:3]
    monkeypatch.setattr(problems, "audit_battery", lambda: longest)
    monkeypatch.setattr(problems, "own_problems", lambda seed: [])
    monkeypatch.setattr(folder_of_run, "pdf", lambda page: b"")
    Path("deployed.py").write_text(planted(written("certify.md", "deployed.py"), IN_PYTHON[bug]))
    Path("plan.toml").write_text(written("certify.md", "plan.toml"))
    done = run(command_of("certify.md", "compliance run"))
    assert (
        re.search(r"^  Refuted +R1:", done.output, re.M)
        and "draftproof: met" not in Path("document/badge.svg").read_text()
    )
