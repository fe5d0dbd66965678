"""What all commands have in common: nothing heavy is imported to say what there is, files are checked first."""

import os
import subprocess
import sys

import pytest

from draftproof import parametrize_with_checks
from draftproof.models.errors import InputError
from draftproof.reports.commands.list import LISTS
from draftproof.reports.commands.main import COMMANDS, cli

HEAVY = (
    *("numpy", "scipy", "sympy", "flint", "torch", "transformers", "matplotlib", "z3", "numba", "jinja2", "markupsafe"),
    *("rich", "jsonschema", "hypothesis", "pytest", "sqlalchemy", "joblib", "distributed", "datasets", "openvino"),
)
PAPER = '{"vocabulary": 2, "gamma": 2, "target": ["1/3", "2/3"], "draft": ["2/3", "1/3"]}'
PAIR = ("--target", "a", "--draft", "b")

WITH_BOTH_FILES = {
    "audit": ("audit", "block"),
    "engine": ("engine", "transformers"),
    "e2e": ("e2e", *PAIR),
    "nightly run": ("nightly", "run", "block"),
    "nightly status": ("nightly", "status"),
    "campaign": ("campaign", "block", "--problem", PAPER),
}
WITH_JSON = {
    **WITH_BOTH_FILES,
    "zoo": ("audit", "--zoo"),
    "law": ("law", "block", "--problem", PAPER),
    "prove": ("prove", "lemma-1"),
    "certificate": ("certificate", "--problem", PAPER),
}


def draftproof(*arguments, cwd, without=HEAVY):
    """The command where these packages cannot be imported: none of them is needed before a command's work begins."""
    start = f"import sys; sys.modules.update(dict.fromkeys({without!r})); "
    start += "from draftproof.reports.commands.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *arguments], capture_output=True, text=True, timeout=3600, cwd=cwd,
        env=os.environ | {"COLUMNS": "160"},
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_the_group_knows_each_command_by_its_name(name):
    command = cli.get_command(None, name)
    assert command.name == name
    assert command.help


def test_help_imports_no_heavy_package(tmp_path):
    done = draftproof("--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name, what in COMMANDS.items():
        assert f"  {name}" in done.stdout
        assert what in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_imports_no_heavy_package(name, tmp_path):
    done = draftproof(name, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: -c {name} ")


@pytest.mark.parametrize("what", LISTS)
def test_lists_import_no_heavy_package(what, tmp_path):
    done = draftproof("list", what, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", WITH_BOTH_FILES)
@pytest.mark.parametrize("files", [("same", "same"), ("same", "./same"), ("-", "-")], ids=" ".join)
def test_the_same_file_twice_is_refused_before_any_work(name, files, tmp_path):
    done = draftproof(*WITH_BOTH_FILES[name], "--json", files[0], "--html", files[1], cwd=tmp_path)
    place = "standard output" if files[1] == "-" else files[1]
    line = f"draftproof: {place}: named by both --json and --html; expected different files\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)
    assert not list(tmp_path.iterdir())


def test_a_campaigns_checkpoint_and_result_are_different_files(tmp_path):
    done = draftproof(*WITH_JSON["campaign"], "--json", "same", "--checkpoint", "same", cwd=tmp_path)
    line = "draftproof: same: named by both --json and --checkpoint; expected different files\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize("name", WITH_JSON)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(name, tmp_path):
    done = draftproof(*WITH_JSON[name], "--json", "nowhere/r.json", cwd=tmp_path)
    line = "draftproof: nowhere/r.json: cannot be written; expected a file in a folder that exists\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_the_table_goes_to_standard_error_where_json_takes_standard_output(tmp_path):
    done = draftproof("law", "block", "--problem", PAPER, "--json", "-", cwd=tmp_path, without=("numpy", "rich"))
    assert done.returncode == 0
    assert done.stdout.startswith("{")
    assert "expected accepted   11/9" in done.stderr


def test_proofs_without_z3_say_what_to_install(tmp_path):
    done = draftproof("prove", "lemma-1", cwd=tmp_path, without=("z3",))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "draftproof: z3 not found; install draftproof[prove]\n"


def test_other_proofs_need_no_z3(tmp_path):
    arguments = ("prove", "lemma-1", "--method", "enumeration", "--json", "rows.json")
    assert draftproof(*arguments, cwd=tmp_path, without=("z3",)).returncode == 0


def test_checks_without_pytest_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(InputError, match=r"^pytest not found; install draftproof\[test\]$"):
        parametrize_with_checks(["block"])
