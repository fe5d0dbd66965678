"""The command draftproof vectors, and the example programs that it exports."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

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
    large = results({"law-token-generic-V3-gamma2": {"counts": {"0": 10**400}}}, ["token"], ["law"])
    for bad in ("{", "[]", '{"format": 1, "format": 2}', "[" * 100_000, large):
        status, _, said = checked(bad)
        assert status == 2
        assert said.startswith(f"draftproof: {file}: ") and said.count("\n") == 1
    assert command("check", tmp_path / "none.json")[0] == 2
    assert command("export", "--out", file)[0] == 2


PROGRAMS = {
    "example.py": (sys.executable, "accept[accepted] < thresholds", "accept[accepted] <= thresholds"),
    "example.js": ("node", "survival[i] * (q > 0", "(q > 0"),
    "vectors_jax.py": (sys.executable, "accept < thresholds", "accept <= thresholds"),
    "vectors_triton.py": (sys.executable, "* q < p)", "* q <= p)"),
}
"""Example: what runs it, and a change of its text that makes it wrong."""
EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize(
    "example", [pytest.param(name, marks=[pytest.mark.long] * name.startswith("vectors")) for name in PROGRAMS]
)
def test_the_example_programs_pass_and_their_wrong_twins_fail(example, tmp_path):
    program, right, wrong = PROGRAMS[example]
    if which(program) is None:
        pytest.skip(f"needs {program}")
    export(str(tmp_path))
    package = example.removeprefix("vectors_").removesuffix(".py")
    if example.startswith("vectors") and find_spec(package) is None and not engine_folder(package).is_dir():
        pytest.skip(f"needs {package}: pip install {package}, or make engines")
    place = EXAMPLES if example.startswith("vectors") else tmp_path
    if not (place / example).is_file():
        pytest.skip("examples are in the repository, not in the wheel")
    source = (place / example).read_text(encoding="utf-8")
    assert right in source
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(engine_folder(package))}
    for text, expected in ((source, 0), (source.replace(right, wrong), 1)):
        (tmp_path / example).write_text(text, encoding="utf-8")
        run = [program, example, "vectors.json", "results.json"]
        subprocess.run(run, cwd=tmp_path, check=True, timeout=3600, env=environment)
        status, said, _ = command("check", tmp_path / "results.json")
        assert (status, "to paste below your verifier" in said) == (expected, expected == 1), said
