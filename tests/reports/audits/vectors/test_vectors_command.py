"""The command draftproof vectors, and the example programs that it exports."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from draftproof.reports.audits.vectors.suite import export, suite
from draftproof.tests.reports.audits.vectors.vectors_parts import FIELDS, answers, law_answers, results
from draftproof.tests.reports.commands.in_process import draftproof
from draftproof.verifiers.adapters.registry import engine_folder


def command(*arguments):
    return draftproof("vectors", *arguments)


def test_the_command_ends_with_the_statuses_of_the_contract(tmp_path):
    file = tmp_path / "results.json"
    first = suite()["vectors"][0]["id"]

    def checked(content, *options):
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return command("check", file, *options)

    right = results(answers() | law_answers("block", "law"), ["block", "lossless"], [*FIELDS, "law"])
    status, said, _ = checked(right, "--json", tmp_path / "out.json")
    assert status == 0, said
    assert "no vector failed, of those that were answered" in said
    assert json.loads((tmp_path / "out.json").read_text())["counts"]["passed"] == 12 + len(
        [v for v in suite()["vectors"] if v["rule"] == "block"]
    )
    assert checked(right, "--require-decision")[0] == 4
    status, said, _ = checked(results({**answers(), first: {"accepted": 9}}, ["token"], ["accepted"]))
    assert status == 1
    assert f"failed {first} (Acceptance, FirstRejection" in said
    assert "expected 0, got 9" in said
    assert checked(results({}, ["token"]))[0] == 3
    for bad in ("{", "[]", '{"format": 1, "format": 2}', "[" * 100_000):
        status, _, said = checked(bad)
        assert status == 2
        assert said.startswith(f"draftproof: {file}: ") and said.count("\n") == 1
    assert command("check", tmp_path / "none.json")[0] == 2
    assert command("export", "--out", file)[0] == 2


WRONG_RUNNERS = {
    "jax": ("accept < thresholds", "accept <= thresholds"), "triton": ("* q < p)", "* q <= p)"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("package", WRONG_RUNNERS)
def test_the_runners_for_jax_and_triton_pass_and_their_wrong_twins_fail(package, tmp_path):
    file = Path(__file__).parents[4] / "examples" / f"vectors_{package}.py"
    if not file.is_file():
        pytest.skip("examples are in the repository, not in the wheel")
    folders = [str(engine_folder(package))] if find_spec(package) is None and engine_folder(package).is_dir() else []
    if find_spec(package) is None and not folders:
        pytest.skip(f"needs {package}: pip install {package}, or make engines")
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(folders)}
    export(str(tmp_path))
    source = file.read_text(encoding="utf-8")
    assert WRONG_RUNNERS[package][0] in source
    for text, expected in ((source, 0), (source.replace(*WRONG_RUNNERS[package]), 1)):
        (tmp_path / file.name).write_text(text, encoding="utf-8")
        run = [sys.executable, file.name, "vectors.json", "results.json"]
        subprocess.run(run, cwd=tmp_path, check=True, timeout=3600, env=environment)
        status, said, _ = command("check", tmp_path / "results.json")
        assert status == expected, said
        assert ("to paste below your verifier" in said) == (expected == 1)


@pytest.mark.parametrize("example", ["example.py", "example.js"])
def test_the_example_programs_pass_and_their_wrong_twins_fail(example, tmp_path):
    from shutil import which

    runs = {"example.py": sys.executable, "example.js": which("node")}[example]
    if runs is None:
        pytest.skip("needs node")
    export(str(tmp_path))
    source = (tmp_path / example).read_text()
    assert source.count("\n") < 60
    wrong = {"example.py": ("accept[accepted] < thresholds", "accept[accepted] <= thresholds"),
             "example.js": ("survival[i] * (q > 0", "(q > 0")}[example]  # fmt: skip
    assert wrong[0] in source
    for text, expected in ((source, 0), (source.replace(*wrong), 1)):
        (tmp_path / example).write_text(text)
        subprocess.run([runs, example, "vectors.json", "results.json"], cwd=tmp_path, check=True, timeout=3600)
        status, said, _ = command("check", tmp_path / "results.json")
        assert status == expected, said
